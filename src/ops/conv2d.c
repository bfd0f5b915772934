/* SPDX-License-Identifier: Apache-2.0
 *
 * conv2d.c - float32 convolution, NCHW x OIHW: bias first, then products in the order ky, kx, ci
 * (docs/numerics.md, rule 9). Positions in the padding add nothing.
 */
#include "ops/op_conv2d.h"

static const op_input inputs[] = {
    {.name = "x"},
    {.name = "weight"},
    {.name = "bias", .optional = true, .keyword = true},
};
static const op_attr attrs[] = {OP_ATTR_CONV2D};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    return op_conv2d_infer(g->ctx, n, IR_float32, IR_float32, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    const ccl_conv2d_f32_params p = {
        .win = op_conv2d_window(n, &in[0].type),
        .oc = (int32_t)ir_int(n, "channels"),
        .groups = (int32_t)ir_int(n, "groups"),
        .bias = in[2].data,
    };
    const void *x = op_channels_last(ctx, &in[0]), *w = op_channels_last(ctx, &in[1]);
    void *y = op_channels_last_result(ctx, &out[0]);
    ccl_conv2d_f32(&p, x, w, y);
    op_channels_first(y, &out[0]);
    return CGC_OK;
}

const op_info op_conv2d = {
    OP_IDENTITY(conv2d),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_f32 = "conv2d_f32",
    .macs = op_conv2d_macs,
};
