/* SPDX-License-Identifier: Apache-2.0
 *
 * window.h - the window generator (ccl_window) shared by ald_window and mac_window: which bytes of an NHWC tensor
 * in OCM belong to the window of an output pixel, in which order.
 */
#ifndef EPU_WINDOW_H
#define EPU_WINDOW_H

#include "insns/epu.h"

/* Bytes from one ky to the next: kw*c up to a multiple of macs_per_pe. */
static inline uint64_t window_row_bytes(const epu *e, const ccl_window *w)
{
    const uint64_t m = (uint64_t)e->macs_per_pe;
    return ((uint64_t)w->kw * (uint64_t)w->c + m - 1) / m * m;
}

/* After this kh, kw, c and their products are 1..lrm_size and the window fits LRM at lrm. */
static inline int window_check(epu *e, const ccl_window *w)
{
    const int32_t most = e->lrm_size;
    return epu_check(e,
                     w->kh >= 1 && w->kw >= 1 && w->c >= 1 && w->ow >= 1 && w->kh <= most &&
                         w->kw <= most && w->c <= most && (int64_t)w->kw * w->c <= most &&
                         (uint64_t)w->kh * window_row_bytes(e, w) <= (uint64_t)most,
                     "window needs kh, kw, c, ow >= 1 and at most lrm_size bytes");
}

/* One tap: c bytes of pixel (iy, ix), or fill outside the tensor. */
static inline int window_tap(epu *e, const ccl_window *w, int64_t iy, int64_t ix, int8_t *to)
{
    const uint8_t *from;
    if (iy < 0 || ix < 0 || iy >= w->h || ix >= w->w) {
        memset(to, (uint8_t)w->fill, (size_t)w->c);
        return 1;
    }
    /* iy and ix are below 2^31, so neither product nor sum leaves int64. */
    from =
        epu_ocm(e, (int64_t)w->base + iy * w->row_bytes + ix * w->pixel_bytes, (uint64_t)w->c, 0);
    if (!from)
        return 0;
    memcpy(to, from, (size_t)w->c);
    return 1;
}

/* The window of output pixel p to "to" (kh * window_row_bytes bytes). 0 after a fault. */
static inline int window_gather(epu *e, const ccl_window *w, uint64_t p, int8_t *to)
{
    const uint64_t row = window_row_bytes(e, w);
    const uint64_t used = (uint64_t)w->kw * (uint64_t)w->c;
    const int64_t oy = (int64_t)(p / (uint64_t)w->ow), ox = (int64_t)(p % (uint64_t)w->ow);
    const int64_t x0 = ox * w->stride_x - w->pad_x;
    int32_t y, x;
    for (y = 0; y < w->kh; y++, to += row) {
        const int64_t iy = oy * w->stride_y - w->pad_y + ((int64_t)w->ky0 + y) * w->dil_y;
        for (x = 0; x < w->kw; x++)
            if (!window_tap(e, w, iy, x0 + (int64_t)x * w->dil_x, to + (int64_t)x * w->c))
                return 0;
        memset(to + used, (uint8_t)w->fill, (size_t)(row - used));
    }
    return 1;
}

#endif
