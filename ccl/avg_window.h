/* SPDX-License-Identifier: Apache-2.0
 *
 * avg_window.h - the cells of one window of an average pool that lie inside the image, and how many
 * cells its divisor counts. The float32 and the int8 kernel and the planner take them from here.
 */
#ifndef CCL_AVG_WINDOW_H
#define CCL_AVG_WINDOW_H

#include "ccl.h"

typedef struct ccl_avg_window {
    int32_t y0, y1, x0, x1; /* rows y0 <= y < y1, columns x0 <= x < x1 */
    int32_t count;
} ccl_avg_window;

static inline int32_t ccl_avg_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* With count_include_pad the window is counted up to the far padding, not beyond it (ceil mode). */
static inline ccl_avg_window ccl_avg_window_at(const ccl_avg_pool2d_params *p, int32_t oy,
                                               int32_t ox)
{
    const ccl_window2d *g = &p->win;
    ccl_avg_window w;
    w.y0 = oy * g->stride_h - g->pad_top;
    w.x0 = ox * g->stride_w - g->pad_left;
    w.y1 = ccl_avg_min(w.y0 + g->kh, g->h + p->pad_bottom);
    w.x1 = ccl_avg_min(w.x0 + g->kw, g->w + p->pad_right);
    w.count = (w.y1 - w.y0) * (w.x1 - w.x0);
    w.y0 = w.y0 < 0 ? 0 : w.y0;
    w.x0 = w.x0 < 0 ? 0 : w.x0;
    w.y1 = ccl_avg_min(w.y1, g->h);
    w.x1 = ccl_avg_min(w.x1, g->w);
    if (p->divisor_override)
        w.count = p->divisor_override;
    else if (!p->count_include_pad)
        w.count = (w.y1 - w.y0) * (w.x1 - w.x0);
    return w;
}

#endif
