/* SPDX-License-Identifier: Apache-2.0
 *
 * op_average.c - geometry and checks that nn.avg_pool2d, nn.global_avg_pool2d,
 * nn.adaptive_avg_pool2d and qnn.avg_pool2d share: all of them are averages over windows.
 */
#include "ops/op_average.h"

ccl_avg_pool2d_params op_average_params(const ir_node *n, const ir_type *x)
{
    const int64_t *k = ir_ints(n, "pool_size"), *pad = ir_ints(n, "padding");
    ccl_avg_pool2d_params p = {.win = op_window(n, x, k[0], k[1])};
    p.pad_bottom = (int32_t)pad[2];
    p.pad_right = (int32_t)pad[3];
    p.count_include_pad = ir_bool(n, "count_include_pad");
    p.divisor_override = (int32_t)ir_int(n, "divisor_override");
    return p;
}

ccl_avg_pool2d_params op_average_regions(const ir_type *x, int64_t oh, int64_t ow)
{
    ccl_avg_pool2d_params p = {.count_include_pad = 1};
    p.win = (ccl_window2d){
        .n = (int32_t)x->dims[0],
        .c = (int32_t)x->dims[1],
        .h = (int32_t)x->dims[2],
        .w = (int32_t)x->dims[3],
        .oh = (int32_t)oh,
        .ow = (int32_t)ow,
        .kh = (int32_t)(x->dims[2] / oh),
        .kw = (int32_t)(x->dims[3] / ow),
        .dil_h = 1,
        .dil_w = 1,
    };
    p.win.stride_h = p.win.kh;
    p.win.stride_w = p.win.kw;
    return p;
}

cgc_status op_average_result(cgc_ctx *ctx, const ir_node *n, const ccl_avg_pool2d_params *p,
                             ir_dtype dtype, ir_type *out)
{
    const ccl_window2d *w = &p->win;
    TRY(op_check_window(ctx, n, w));
    TRY(op_check_no_empty_window(ctx, n, w));
    /* |sum| <= 255 * elements must fit int32, and the count must be exact as float32. */
    const int64_t elements = (int64_t)w->kh * w->kw;
    if (elements > 1 << 23) {
        diag_info info = ir_where(n, "pool_size");
        info.found = arena_printf(&ctx->arena, "%lld elements", (long long)elements);
        info.wanted = "at most 8388608 elements in a window";
        return diag(ctx, CGC_E_LIMIT, info, "the averaging window is too large");
    }
    const int64_t dims[4] = {w->n, w->c, w->oh, w->ow};
    return op_result(ctx, n, dtype, 4, dims, out);
}

void op_average_f32(cgc_ctx *ctx, const ccl_avg_pool2d_params *p, const ir_tensor *x, ir_tensor *y)
{
    const void *in = op_channels_last(ctx, x);
    void *out = op_channels_last_result(ctx, y);
    ccl_avg_pool2d_f32(p, in, out);
    op_channels_first(out, y);
}
