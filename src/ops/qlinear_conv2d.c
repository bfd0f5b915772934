/* SPDX-License-Identifier: Apache-2.0
 *
 * qlinear_conv2d.c - int8 convolution, NCHW x OIHW: exact int32 sums plus bias, then one multiplier
 * per output channel, rounding, zero point and clamp (docs/numerics.md, rule 4). Padding is
 * x_zero_point.
 */
#include "ops/op_conv2d.h"

static const op_input inputs[] = {
    {.name = "x"},
    {.name = "weight"},
    {.name = "bias", .optional = true, .keyword = true},
};
static const op_attr attrs[] = {
    OP_ATTR_CONV2D,
    OP_ATTR_OUT_DTYPE,
    {"bias_fusion", OP_ATTR_BOOL, OP_ATTR_ALWAYS, "False", 0, 0, 1, "a bias is given"},
    OP_ATTR_A_ZERO_POINT("x_zero_point"),
    OP_ATTR_A_SCALE("x_scale"),
    OP_ATTR_A_ZERO_POINT("w_zero_point"),
    OP_ATTR_A_SCALE("w_scale"),
    OP_ATTR_A_ZERO_POINT("y_zero_point"),
    OP_ATTR_A_SCALE("y_scale"),
    OP_ATTR_CLAMP,
};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    TRY(op_conv2d_infer(g->ctx, n, IR_int8, IR_int32, out_types));
    if (ir_bool(n, "bias_fusion") != op_has_input(n, 2)) {
        diag_info info = ir_where(n, "bias_fusion");
        info.found = ir_bool(n, "bias_fusion") ? "True without a bias" : "False with a bias";
        info.wanted = "True with a bias, False without";
        return diag(g->ctx, CGC_E_ATTR, info, "bias_fusion does not fit the operands");
    }
    return op_check_requant(g->ctx, n, ir_int(n, "channels"));
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const int32_t oc = (int32_t)ir_int(n, "channels");
    const op_accumulator sums = op_accumulator_of(ctx, n, in[1].data, in[2].data);
    TRY(op_check_accumulator(ctx, n, &sums));
    const ccl_conv2d_params p = {
        .win = op_conv2d_window(n, &in[0].type),
        .oc = oc,
        .groups = (int32_t)ir_int(n, "groups"),
        .x_zp = ir_zero_point(n, "x_zero_point", 0),
        .w_zp = sums.w_zp,
        .bias = in[2].data,
        .rq = {.m = op_multipliers(ctx, n, oc),
               .y_zp = ir_zero_point(n, "y_zero_point", 0),
               .lo = (int32_t)ir_int(n, "clamp_min"),
               .hi = (int32_t)ir_int(n, "clamp_max")},
    };
    const void *x = op_channels_last(ctx, &in[0]), *w = op_channels_last(ctx, &in[1]);
    void *y = op_channels_last_result(ctx, &out[0]);
    ccl_conv2d_s8(&p, x, w, y);
    op_channels_first(y, &out[0]);
    return CGC_OK;
}

const op_info op_qlinear_conv2d = {
    OP_IDENTITY(qlinear_conv2d),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_s8 = "conv2d_s8",
    .macs = op_conv2d_macs,
};
