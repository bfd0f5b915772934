/* SPDX-License-Identifier: Apache-2.0
 *
 * max_pool2d.c - largest value of each window of an NCHW image, float32 or int8; padding never
 * wins.
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "x"}};
static const op_attr attrs[] = {
    OP_ATTR_KERNEL("pool_size"), OP_ATTR_STRIDES, OP_ATTR_PADDING(0), OP_ATTR_DILATION,
    OP_ATTR_CEIL_MODE,
};

static ccl_window2d window(const ir_node *n, const ir_type *x)
{
    const int64_t *k = ir_ints(n, "pool_size");
    return op_window(n, x, k[0], k[1]);
}

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    const ir_type *x = &n->inputs[0]->type;
    TRY(op_check_input(g->ctx, n, 0, 4, x->dtype == IR_int8 ? IR_int8 : IR_float32));
    const ccl_window2d w = window(n, x);
    TRY(op_check_window(g->ctx, n, &w));
    TRY(op_check_no_empty_window(g->ctx, n, &w));
    const int64_t dims[4] = {w.n, w.c, w.oh, w.ow};
    return op_result(g->ctx, n, x->dtype, 4, dims, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const ccl_window2d w = window(n, &in[0].type);
    const void *x = op_channels_last(ctx, &in[0]);
    void *y = op_channels_last_result(ctx, &out[0]);
    if (in[0].type.dtype == IR_int8)
        ccl_max_pool2d_s8(&w, x, y);
    else
        ccl_max_pool2d_f32(&w, x, y);
    op_channels_first(y, &out[0]);
    return CGC_OK;
}

const op_info op_max_pool2d = {
    OP_IDENTITY(max_pool2d),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_s8 = "max_pool2d_s8",
    .kernel_f32 = "max_pool2d_f32",
};
