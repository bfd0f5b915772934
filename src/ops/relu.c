/* SPDX-License-Identifier: Apache-2.0
 *
 * relu.c - x < 0 ? 0 : x on float32 of any shape; NaN stays NaN.
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "x"}};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    const ir_type *x = &n->inputs[0]->type;
    TRY(op_check_dtype(g->ctx, n, 0, IR_float32));
    return op_result(g->ctx, n, IR_float32, x->rank, x->dims, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)ctx;
    (void)n;
    ccl_relu_f32(in[0].data, out[0].data, (int32_t)ir_type_elems(&in[0].type));
    return CGC_OK;
}

const op_info op_relu = {
    OP_IDENTITY(relu), .inputs = inputs, .n_inputs = OP_LENGTH(inputs), .n_results = 1,
    .infer = infer,    .eval = eval,     .kernel_f32 = "relu_f32",      .elementwise = true,
};
