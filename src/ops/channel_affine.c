/* SPDX-License-Identifier: Apache-2.0
 *
 * channel_affine.c - x * scale[c] + shift[c] on float32, two roundings; channels are dimension 1:
 * what a BatchNorm that was not folded into a convolution means.
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "x"}, {.name = "scale"}, {.name = "shift"}};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    const ir_type *x = &n->inputs[0]->type;
    TRY(op_check_input(g->ctx, n, 0, x->rank == 2 ? 2 : 4, IR_float32));
    for (int32_t i = 1; i < 3; i++) {
        TRY(op_check_input(g->ctx, n, i, 1, IR_float32));
        TRY(op_check_dim(g->ctx, n, i, 0, x->dims[1], "one per channel of x"));
    }
    return op_result(g->ctx, n, IR_float32, x->rank, x->dims, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)ctx;
    (void)n;
    const ir_type *x = &in[0].type;
    const int64_t inner = x->rank == 4 ? x->dims[2] * x->dims[3] : 1;
    ccl_channel_affine_f32(in[0].data, in[1].data, in[2].data, out[0].data, (int32_t)x->dims[0],
                           (int32_t)x->dims[1], (int32_t)inner);
    return CGC_OK;
}

const op_info op_channel_affine = {
    OP_IDENTITY(channel_affine),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_f32 = "channel_affine_f32",
};
