/* SPDX-License-Identifier: Apache-2.0
 *
 * pool2d.h - what the AVX-512 pooling kernels share: their parameters and the part of a window
 * inside the image.
 */
#ifndef CCL_X86_AVX512VNNI_POOL2D_H
#define CCL_X86_AVX512VNNI_POOL2D_H

#include "vector.h"

typedef struct ccl_pool {
    int32_t h, w, c, oh, ow, kh, kw, stride_h, stride_w, pad_top, pad_left, dil_h, dil_w;
    ptrdiff_t x_pixel, x_row, y_pixel, y_row; /* bytes */
    int32_t x_signed, x_zp;                   /* x_zp: average only */
    float m;
    ccl_out out; /* max-pool: only is_signed */
} ccl_pool;

typedef struct
    ccl_taps_1d { /* taps lo <= k < hi of an axis lie inside the image, tap k at start + k * dil */
    int32_t start, lo, hi;
} ccl_taps_1d;

CCL_INLINE ccl_taps_1d ccl_taps_inside(int32_t start, int32_t k, int32_t dil, int32_t extent)
{
    ccl_taps_1d t = {start, 0, k};
    while (t.lo < k && start + t.lo * dil < 0)
        t.lo++;
    while (t.hi > t.lo && start + (t.hi - 1) * dil >= extent)
        t.hi--;
    return t;
}

#endif
