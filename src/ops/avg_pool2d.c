/* SPDX-License-Identifier: Apache-2.0
 *
 * avg_pool2d.c - float32 average over windows of an NCHW image: sum of the window row by row from
 * +0, then one division by the count, which PyTorch's count_include_pad, ceil_mode and
 * divisor_override define.
 */
#include "ops/op_average.h"

static const op_input inputs[] = {{.name = "x"}};
static const op_attr attrs[] = {OP_ATTR_AVERAGE};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    TRY(op_check_input(g->ctx, n, 0, 4, IR_float32));
    const ccl_avg_pool2d_params p = op_average_params(n, &n->inputs[0]->type);
    return op_average_result(g->ctx, n, &p, IR_float32, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const ccl_avg_pool2d_params p = op_average_params(n, &in[0].type);
    op_average_f32(ctx, &p, &in[0], &out[0]);
    return CGC_OK;
}

const op_info op_avg_pool2d = {
    OP_IDENTITY(avg_pool2d),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_f32 = "avg_pool2d_f32",
};
