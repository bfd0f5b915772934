/* SPDX-License-Identifier: Apache-2.0
 *
 * avg_pool2d_f32 - float32 average of each window, NHWC: sum row by row from +0, then one division
 * by float32(count). Padding adds nothing; count says whether it is counted. Vectors run over
 * channels, a piece at a time.
 */
#include "avg_window.h"
#include "ccl.h"
#include "requant.h"

enum { AVG_POOL2D_F32_CHANNELS = 64 };

/* sum[c] over the window for n channels of x, which stands at the image's first pixel. */
static void avg_pool2d_f32_sum(const ccl_avg_pool2d_params *p, const ccl_avg_window *w,
                               const float *x, float *sum, int32_t n)
{
    const ccl_window2d *g = &p->win;
    for (int32_t c = 0; c < n; c++)
        sum[c] = 0.0f;
    for (int32_t iy = w->y0; iy < w->y1; iy++) {
        for (int32_t ix = w->x0; ix < w->x1; ix++) {
            const float *xp = x + (iy * g->w + ix) * g->c;
            for (int32_t c = 0; c < n; c++)
                sum[c] += xp[c];
        }
    }
}

void ccl_avg_pool2d_f32(const ccl_avg_pool2d_params *p, const float *x, float *y)
{
    const ccl_window2d *g = &p->win;
    const int32_t pixels = g->n * g->oh * g->ow;
    for (int32_t i = 0; i < pixels; i++, y += g->c) {
        const float *image = x + i / (g->oh * g->ow) * g->h * g->w * g->c;
        const ccl_avg_window w = ccl_avg_window_at(p, i / g->ow % g->oh, i % g->ow);
        for (int32_t c0 = 0; c0 < g->c; c0 += AVG_POOL2D_F32_CHANNELS) {
            float sum[AVG_POOL2D_F32_CHANNELS];
            const int32_t n = ccl_avg_min(g->c - c0, AVG_POOL2D_F32_CHANNELS);
            avg_pool2d_f32_sum(p, &w, image + c0, sum, n);
            for (int32_t c = 0; c < n; c++)
                y[c0 + c] = ccl_settle(sum[c] / (float)w.count);
        }
    }
}
