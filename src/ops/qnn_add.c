/* SPDX-License-Identifier: Apache-2.0
 *
 * qnn_add.c - sum of two int8 tensors that broadcast as in numpy: dequantize both, add, quantize,
 * then clamp (docs/numerics.md, rule 5).
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "a"}, {.name = "b"}};
static const op_attr attrs[] = {
    OP_ATTR_A_SCALE("a_scale"),
    OP_ATTR_A_ZERO_POINT("a_zero_point"),
    OP_ATTR_A_SCALE("b_scale"),
    OP_ATTR_A_ZERO_POINT("b_zero_point"),
    OP_ATTR_A_SCALE("y_scale"),
    OP_ATTR_A_ZERO_POINT("y_zero_point"),
    OP_ATTR_CLAMP,
};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    static const char *const scales[] = {"a_scale", "b_scale", "y_scale"};
    static const char *const zero_points[] = {"a_zero_point", "b_zero_point", "y_zero_point"};
    TRY(op_check_dtype(g->ctx, n, 0, IR_int8));
    TRY(op_check_dtype(g->ctx, n, 1, IR_int8));
    for (int i = 0; i < 3; i++) {
        TRY(op_check_scale(g->ctx, n, scales[i], 0));
        TRY(op_check_zero_point(g->ctx, n, zero_points[i], 0));
    }
    TRY(op_check_clamp(g->ctx, n));
    return op_check_broadcast(g->ctx, n, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const ir_type *t = &out[0].type;
    const ccl_add_params p = {
        .a_scale = ir_scale(n, "a_scale", 0),
        .b_scale = ir_scale(n, "b_scale", 0),
        .y_scale = ir_scale(n, "y_scale", 0),
        .a_zp = ir_zero_point(n, "a_zero_point", 0),
        .b_zp = ir_zero_point(n, "b_zero_point", 0),
        .y_zp = ir_zero_point(n, "y_zero_point", 0),
        .lo = (int32_t)ir_int(n, "clamp_min"),
        .hi = (int32_t)ir_int(n, "clamp_max"),
    };
    ccl_add_s8(&p, op_broadcast(ctx, &in[0], t), op_broadcast(ctx, &in[1], t), out[0].data,
               (int32_t)ir_type_elems(t));
    return CGC_OK;
}

const op_info op_qnn_add = {
    OP_IDENTITY(qnn_add),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_s8 = "add_s8",
};
