/* SPDX-License-Identifier: Apache-2.0
 *
 * adaptive_avg_pool2d.c - float32 average over output_size equal regions of an NCHW image.
 */
#include "ops/op_average.h"

static const op_input inputs[] = {{.name = "x"}};
static const op_attr attrs[] = {OP_ATTR_KERNEL("output_size")};

static ccl_avg_pool2d_params params(const ir_node *n, const ir_type *x)
{
    const int64_t *size = ir_ints(n, "output_size");
    return op_average_regions(x, size[0], size[1]);
}

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    TRY(op_check_input(g->ctx, n, 0, 4, IR_float32));
    const int64_t *size = ir_ints(n, "output_size"), *x = n->inputs[0]->type.dims;
    if (x[2] % size[0] != 0 || x[3] % size[1] != 0) {
        diag_info info = ir_where(n, "output_size");
        info.found =
            arena_printf(&g->ctx->arena, "[%lld, %lld] for an image of %lld x %lld",
                         (long long)size[0], (long long)size[1], (long long)x[2], (long long)x[3]);
        info.wanted = "sizes that divide the image evenly";
        info.cure = "use an input size that is a multiple of output_size at this layer";
        return diag(g->ctx, CGC_E_ATTR, info, "the regions of the average would differ in size");
    }
    const ccl_avg_pool2d_params p = params(n, &n->inputs[0]->type);
    return op_average_result(g->ctx, n, &p, IR_float32, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const ccl_avg_pool2d_params p = params(n, &in[0].type);
    op_average_f32(ctx, &p, &in[0], &out[0]);
    return CGC_OK;
}

const op_info op_adaptive_avg_pool2d = {
    OP_IDENTITY(adaptive_avg_pool2d),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_f32 = "avg_pool2d_f32",
};
