/* SPDX-License-Identifier: Apache-2.0
 *
 * qnn_avg_pool2d.c - int8 average over windows of an NCHW image: exact integer sum, one multiplier
 * per window count (docs/numerics.md, rule 7).
 */
#include "ops/op_average.h"

static const op_input inputs[] = {{.name = "x"}};
static const op_attr attrs[] = {
    OP_ATTR_AVERAGE,
    OP_ATTR_A_SCALE("x_scale"),
    OP_ATTR_A_ZERO_POINT("x_zero_point"),
    OP_ATTR_A_SCALE("y_scale"),
    OP_ATTR_A_ZERO_POINT("y_zero_point"),
    OP_ATTR_CLAMP,
};

static ccl_avg_pool2d_params params(const ir_node *n, const ir_type *x)
{
    ccl_avg_pool2d_params p = op_average_params(n, x);
    p.x_scale = ir_scale(n, "x_scale", 0);
    p.y_scale = ir_scale(n, "y_scale", 0);
    p.x_zp = ir_zero_point(n, "x_zero_point", 0);
    p.y_zp = ir_zero_point(n, "y_zero_point", 0);
    p.lo = (int32_t)ir_int(n, "clamp_min");
    p.hi = (int32_t)ir_int(n, "clamp_max");
    return p;
}

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    TRY(op_check_input(g->ctx, n, 0, 4, IR_int8));
    TRY(op_check_scale(g->ctx, n, "x_scale", 0));
    TRY(op_check_zero_point(g->ctx, n, "x_zero_point", 0));
    TRY(op_check_scale(g->ctx, n, "y_scale", 0));
    TRY(op_check_zero_point(g->ctx, n, "y_zero_point", 0));
    TRY(op_check_clamp(g->ctx, n));
    const ccl_avg_pool2d_params p = params(n, &n->inputs[0]->type);
    TRY(op_average_result(g->ctx, n, &p, IR_int8, out_types));
    /* The largest and the smallest divisor give the smallest and the largest multiplier. */
    const int32_t most = p.divisor_override ? p.divisor_override : p.win.kh * p.win.kw;
    const int32_t least = p.divisor_override ? p.divisor_override : 1;
    TRY(op_check_multiplier(g->ctx, n, p.x_scale / (float)most / p.y_scale, 0));
    return op_check_multiplier(g->ctx, n, p.x_scale / (float)least / p.y_scale, 0);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const ccl_avg_pool2d_params p = params(n, &in[0].type);
    const void *x = op_channels_last(ctx, &in[0]);
    void *y = op_channels_last_result(ctx, &out[0]);
    ccl_avg_pool2d_s8(&p, x, y);
    op_channels_first(y, &out[0]);
    return CGC_OK;
}

const op_info op_qnn_avg_pool2d = {
    OP_IDENTITY(qnn_avg_pool2d),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_s8 = "avg_pool2d_s8",
};
