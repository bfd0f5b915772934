/* SPDX-License-Identifier: Apache-2.0
 *
 * qlinear_dense.c - int8 matrix product with weights [units, in]: exact int32 sums plus bias, then
 * one multiplier per unit, rounding, zero point and clamp (docs/numerics.md, rule 4).
 */
#include "ops/op_dense.h"

static const op_input inputs[] = {
    {.name = "x"},
    {.name = "weight"},
    {.name = "bias", .optional = true},
};
static const op_attr attrs[] = {
    OP_ATTR_UNITS,
    OP_ATTR_A_SCALE("x_scale"),
    OP_ATTR_A_ZERO_POINT("x_zero_point"),
    OP_ATTR_A_SCALE("w_scale"),
    {"w_zero_point", OP_ATTR_ZERO_POINT, 0, "0", 0, -128, 127, "zero point of the weights"},
    OP_ATTR_A_SCALE("y_scale"),
    OP_ATTR_A_ZERO_POINT("y_zero_point"),
    OP_ATTR_OUT_DTYPE,
    OP_ATTR_CLAMP,
};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    TRY(op_dense_infer(g->ctx, n, IR_int8, IR_int32, out_types));
    return op_check_requant(g->ctx, n, ir_int(n, "units"));
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const int32_t units = (int32_t)ir_int(n, "units");
    const int64_t k = in[1].type.dims[1];
    const op_accumulator sums = op_accumulator_of(ctx, n, in[1].data, in[2].data);
    TRY(op_check_accumulator(ctx, n, &sums));
    const ccl_dense_params p = {
        .rows = (int32_t)(ir_type_elems(&in[0].type) / k),
        .in = (int32_t)k,
        .units = units,
        .x_zp = ir_zero_point(n, "x_zero_point", 0),
        .w_zp = sums.w_zp,
        .bias = in[2].data,
        .rq = {.m = op_multipliers(ctx, n, units),
               .y_zp = ir_zero_point(n, "y_zero_point", 0),
               .lo = (int32_t)ir_int(n, "clamp_min"),
               .hi = (int32_t)ir_int(n, "clamp_max")},
    };
    ccl_dense_s8(&p, in[0].data, in[1].data, out[0].data);
    return CGC_OK;
}

const op_info op_qlinear_dense = {
    OP_IDENTITY(qlinear_dense),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_s8 = "dense_s8",
    .macs = op_dense_macs,
};
