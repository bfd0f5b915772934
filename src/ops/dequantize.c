/* SPDX-License-Identifier: Apache-2.0
 *
 * dequantize.c - float32(q - zero_point) * scale of int8 of any shape (docs/numerics.md, rule 3).
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "x"}};
static const op_attr attrs[] = {
    {"scale", OP_ATTR_SCALE, OP_ATTR_ALWAYS | OP_ATTR_POSITIONAL | OP_ATTR_REQUIRED, NULL, 0, 0, 0,
     "scale of the operand"},
    {"zero_point", OP_ATTR_ZERO_POINT, OP_ATTR_ALWAYS | OP_ATTR_POSITIONAL | OP_ATTR_REQUIRED, NULL,
     0, -128, 127, "zero point of the operand"},
};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    const ir_type *x = &n->inputs[0]->type;
    TRY(op_check_dtype(g->ctx, n, 0, IR_int8));
    TRY(op_check_scale(g->ctx, n, "scale", 0));
    TRY(op_check_zero_point(g->ctx, n, "zero_point", 0));
    return op_result(g->ctx, n, IR_float32, x->rank, x->dims, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)ctx;
    ccl_dequantize_s8(in[0].data, out[0].data, (int32_t)ir_type_elems(&in[0].type),
                      ir_scale(n, "scale", 0), ir_zero_point(n, "zero_point", 0));
    return CGC_OK;
}

const op_info op_dequantize = {
    OP_IDENTITY(dequantize),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_s8 = "dequantize_s8",
};
