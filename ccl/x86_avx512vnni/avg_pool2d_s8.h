/* SPDX-License-Identifier: Apache-2.0
 *
 * avg_pool2d_s8.h - AVX-512 average pooling of int8 images, NHWC, vectors over channels
 * (docs/numerics.md, rule 7). The divisor is the same for all windows, so that the multiplier m
 * is one constant; padding adds nothing. The planner has shown that |sum| * m stays far below
 * 2^31.
 */
#ifndef CCL_X86_AVX512VNNI_AVG_POOL2D_S8_H
#define CCL_X86_AVX512VNNI_AVG_POOL2D_S8_H

#include "pool2d.h"

CCL_INLINE void ccl_avg_pixel(const ccl_pool *p, ccl_taps_1d ys, ccl_taps_1d xs, const uint8_t *x,
                              uint8_t *y)
{
    const int32_t taps = (ys.hi - ys.lo) * (xs.hi - xs.lo),
                  base = p->x_signed ? p->x_zp : p->x_zp + 128;
    for (int32_t c = 0; c < p->c; c += 16) {
        const int32_t lanes = p->c - c >= 16 ? 16 : p->c - c;
        __m512i sum = _mm512_set1_epi32(-base * taps);
        for (int32_t ky = ys.lo; ky < ys.hi; ky++) {
            const uint8_t *row = x + (ys.start + ky * p->dil_h) * p->x_row + c;
            for (int32_t kx = xs.lo; kx < xs.hi; kx++) {
                const __m128i b = ccl_load16(row + (xs.start + kx * p->dil_w) * p->x_pixel, lanes);
                sum = _mm512_add_epi32(sum, p->x_signed ? _mm512_cvtepi8_epi32(b)
                                                        : _mm512_cvtepu8_epi32(b));
            }
        }
        sum = ccl_round32(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(p->m)));
        ccl_store16(y + c, ccl_bytes16(sum, p->out), lanes);
    }
}

/* One image; x, y: its first pixel inside any border. The loop stands in max_pool2d_s8.h too: its
 * pixel must be inlined with constant parameters, which a call through a pointer does not promise. */
CCL_INLINE void ccl_avg_pool2d(const ccl_pool *p, const uint8_t *x, uint8_t *y)
{
    for (int32_t oy = 0; oy < p->oh; oy++) {
        const ccl_taps_1d ys =
            ccl_taps_inside(oy * p->stride_h - p->pad_top, p->kh, p->dil_h, p->h);
        for (int32_t ox = 0; ox < p->ow; ox++) {
            const ccl_taps_1d xs =
                ccl_taps_inside(ox * p->stride_w - p->pad_left, p->kw, p->dil_w, p->w);
            ccl_avg_pixel(p, ys, xs, x, y + oy * p->y_row + ox * p->y_pixel);
        }
    }
}

#endif
