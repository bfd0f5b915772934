/* SPDX-License-Identifier: Apache-2.0
 *
 * avg_pool2d_s8 - int8 average of each window, NHWC: exact int32 sum S of (x - x_zp), then
 * clamp(rne(float32(S) * M) + y_zp) with M = float32(float32(x_scale / count) / y_scale)
 * (docs/numerics.md, rule 7). Padding is x_zp and adds nothing; count says whether it is counted.
 * Vectors run over channels, a piece at a time.
 */
#include "avg_window.h"
#include "ccl.h"
#include "requant.h"

enum { AVG_POOL2D_S8_CHANNELS = 64 };

/* sum[c] over the window for n channels of x, which stands at the image's first pixel. */
static void avg_pool2d_s8_sum(const ccl_avg_pool2d_params *p, const ccl_avg_window *w,
                              const int8_t *x, int32_t *sum, int32_t n)
{
    const ccl_window2d *g = &p->win;
    const int32_t zp = p->x_zp;
    for (int32_t c = 0; c < n; c++)
        sum[c] = 0;
    for (int32_t iy = w->y0; iy < w->y1; iy++) {
        for (int32_t ix = w->x0; ix < w->x1; ix++) {
            const int8_t *xp = x + (iy * g->w + ix) * g->c;
            for (int32_t c = 0; c < n; c++)
                sum[c] += xp[c] - zp;
        }
    }
}

void ccl_avg_pool2d_s8(const ccl_avg_pool2d_params *p, const int8_t *x, int8_t *y)
{
    const ccl_window2d *g = &p->win;
    const int32_t pixels = g->n * g->oh * g->ow;
    for (int32_t i = 0; i < pixels; i++, y += g->c) {
        const int8_t *image = x + i / (g->oh * g->ow) * g->h * g->w * g->c;
        const ccl_avg_window w = ccl_avg_window_at(p, i / g->ow % g->oh, i % g->ow);
        const float m = p->x_scale / (float)w.count / p->y_scale;
        for (int32_t c0 = 0; c0 < g->c; c0 += AVG_POOL2D_S8_CHANNELS) {
            int32_t sum[AVG_POOL2D_S8_CHANNELS];
            const int32_t n = ccl_avg_min(g->c - c0, AVG_POOL2D_S8_CHANNELS);
            avg_pool2d_s8_sum(p, &w, image + c0, sum, n);
            for (int32_t c = 0; c < n; c++)
                y[c0 + c] = ccl_requantize(sum[c], m, p->y_zp, p->lo, p->hi);
        }
    }
}
