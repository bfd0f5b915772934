/* SPDX-License-Identifier: Apache-2.0
 *
 * global_avg_pool2d.c - float32 average over height and width, NCHW -> [N, C, 1, 1].
 */
#include "ops/op_average.h"

static const op_input inputs[] = {{.name = "x"}};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    TRY(op_check_input(g->ctx, n, 0, 4, IR_float32));
    const ccl_avg_pool2d_params p = op_average_regions(&n->inputs[0]->type, 1, 1);
    return op_average_result(g->ctx, n, &p, IR_float32, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)n;
    const ccl_avg_pool2d_params p = op_average_regions(&in[0].type, 1, 1);
    op_average_f32(ctx, &p, &in[0], &out[0]);
    return CGC_OK;
}

const op_info op_global_avg_pool2d = {
    OP_IDENTITY(global_avg_pool2d),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_f32 = "avg_pool2d_f32",
};
