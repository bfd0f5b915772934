/* SPDX-License-Identifier: Apache-2.0
 *
 * avg_pool2d_f32 - float32 average of each window, NHWC: sum row by row from +0, then one division
 * by float32(count). Padding adds nothing; count says whether it is counted. Vectors run over
 * channels, a piece at a time.
 */
#include "ccl.h"
#include "requant.h"

enum { AVG_POOL2D_F32_CHANNELS = 64 };

typedef struct avg_pool2d_f32_window { /* the part of one window inside the image, and its divisor
                                        */
    int32_t y0, y1, x0, x1, count;
} avg_pool2d_f32_window;

static int32_t avg_pool2d_f32_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* With count_include_pad the window is counted up to the far padding, not beyond it (ceil mode). */
static avg_pool2d_f32_window avg_pool2d_f32_cut(const ccl_avg_pool2d_params *p, int32_t oy,
                                                int32_t ox)
{
    const ccl_window2d *g = &p->win;
    avg_pool2d_f32_window w;
    w.y0 = oy * g->stride_h - g->pad_top;
    w.x0 = ox * g->stride_w - g->pad_left;
    w.y1 = avg_pool2d_f32_min(w.y0 + g->kh, g->h + p->pad_bottom);
    w.x1 = avg_pool2d_f32_min(w.x0 + g->kw, g->w + p->pad_right);
    w.count = (w.y1 - w.y0) * (w.x1 - w.x0);
    w.y0 = w.y0 < 0 ? 0 : w.y0;
    w.x0 = w.x0 < 0 ? 0 : w.x0;
    w.y1 = avg_pool2d_f32_min(w.y1, g->h);
    w.x1 = avg_pool2d_f32_min(w.x1, g->w);
    if (p->divisor_override)
        w.count = p->divisor_override;
    else if (!p->count_include_pad)
        w.count = (w.y1 - w.y0) * (w.x1 - w.x0);
    return w;
}

/* sum[c] over the window for n channels of x, which stands at the image's first pixel. */
static void avg_pool2d_f32_sum(const ccl_avg_pool2d_params *p, const avg_pool2d_f32_window *w,
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
        const avg_pool2d_f32_window w = avg_pool2d_f32_cut(p, i / g->ow % g->oh, i % g->ow);

        for (int32_t c0 = 0; c0 < g->c; c0 += AVG_POOL2D_F32_CHANNELS) {
            float sum[AVG_POOL2D_F32_CHANNELS];
            const int32_t n = avg_pool2d_f32_min(g->c - c0, AVG_POOL2D_F32_CHANNELS);
            avg_pool2d_f32_sum(p, &w, image + c0, sum, n);
            for (int32_t c = 0; c < n; c++)
                y[c0 + c] = ccl_settle(sum[c] / (float)w.count);
        }
    }
}
