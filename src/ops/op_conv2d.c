/* SPDX-License-Identifier: Apache-2.0
 *
 * op_conv2d.c - geometry, shape checks and figures of contrib.epu.qlinear_conv2d and nn.conv2d.
 */
#include "ops/op_conv2d.h"

ccl_window2d op_conv2d_window(const ir_node *n, const ir_type *x)
{
    const int64_t *k = ir_ints(n, "kernel_size");
    return op_window(n, x, k[0], k[1]);
}

static cgc_status check_groups(cgc_ctx *ctx, const ir_node *n, int64_t channels, const char *which)
{
    const int64_t groups = ir_int(n, "groups");
    if (channels % groups == 0)
        return CGC_OK;
    diag_info info = ir_where(n, "groups");
    info.found = arena_printf(&ctx->arena, "%lld groups for %lld %s channels", (long long)groups,
                              (long long)channels, which);
    info.wanted = "groups that divide the channels";
    return diag(ctx, CGC_E_ATTR, info, "groups does not divide the %s channels", which);
}

cgc_status op_conv2d_infer(cgc_ctx *ctx, const ir_node *n, ir_dtype dtype, ir_dtype bias,
                           ir_type *out)
{
    TRY(op_check_input(ctx, n, 0, 4, dtype));
    TRY(op_check_input(ctx, n, 1, 4, dtype));
    const ir_type *x = &n->inputs[0]->type;
    const int64_t channels = ir_int(n, "channels"), *k = ir_ints(n, "kernel_size");
    TRY(check_groups(ctx, n, x->dims[1], "input"));
    TRY(check_groups(ctx, n, channels, "output"));
    TRY(op_check_dim(ctx, n, 1, 0, channels, "channels"));
    TRY(op_check_dim(ctx, n, 1, 1, x->dims[1] / ir_int(n, "groups"), "input channels / groups"));
    TRY(op_check_dim(ctx, n, 1, 2, k[0], "kernel_size"));
    TRY(op_check_dim(ctx, n, 1, 3, k[1], "kernel_size"));
    if (op_has_input(n, 2)) {
        TRY(op_check_input(ctx, n, 2, 1, bias));
        TRY(op_check_dim(ctx, n, 2, 0, channels, "channels"));
    }
    const ccl_window2d w = op_conv2d_window(n, x);
    TRY(op_check_window(ctx, n, &w));
    const int64_t dims[4] = {w.n, channels, w.oh, w.ow};
    return op_result(ctx, n, dtype, 4, dims, out);
}

int64_t op_conv2d_macs(const ir_node *n)
{
    const ir_type *w = &n->inputs[1]->type;
    return ir_type_elems(&n->results[0]->type) * w->dims[1] * w->dims[2] * w->dims[3];
}
