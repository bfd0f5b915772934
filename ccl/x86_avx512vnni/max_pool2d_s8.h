/* SPDX-License-Identifier: Apache-2.0
 *
 * max_pool2d_s8.h - AVX-512 max pooling of int8 images, NHWC, vectors over channels. Windows are
 * cut to the image; none is empty (checked at compile time).
 */
#ifndef CCL_X86_AVX512VNNI_MAX_POOL2D_S8_H
#define CCL_X86_AVX512VNNI_MAX_POOL2D_S8_H

#include "pool2d.h"

CCL_INLINE void ccl_max_pixel(const ccl_pool *p, ccl_taps_1d ys, ccl_taps_1d xs, const uint8_t *x,
                              uint8_t *y)
{
    for (int32_t c = 0; c < p->c; c += 64) {
        const __mmask64 mask = p->c - c >= 64 ? ~0ull : (1ull << (p->c - c)) - 1;
        /* Order is the same for both storages once a signed byte is flipped. */
        const __m512i flip = _mm512_set1_epi8((char)-128);
        __m512i best = _mm512_setzero_si512();
        for (int32_t ky = ys.lo; ky < ys.hi; ky++) {
            const uint8_t *row = x + (ys.start + ky * p->dil_h) * p->x_row + c;
            for (int32_t kx = xs.lo; kx < xs.hi; kx++) {
                __m512i v =
                    _mm512_maskz_loadu_epi8(mask, row + (xs.start + kx * p->dil_w) * p->x_pixel);
                if (p->x_signed)
                    v = _mm512_xor_si512(v, flip);
                best = _mm512_max_epu8(best, v);
            }
        }
        if (p->out.is_signed)
            best = _mm512_xor_si512(best, flip);
        _mm512_mask_storeu_epi8(y + c, mask, best);
    }
}

/* One image; x, y: its first pixel inside any border. */
CCL_INLINE void ccl_max_pool2d(const ccl_pool *p, const uint8_t *x, uint8_t *y)
{
    for (int32_t oy = 0; oy < p->oh; oy++) {
        const ccl_taps_1d ys =
            ccl_taps_inside(oy * p->stride_h - p->pad_top, p->kh, p->dil_h, p->h);
        for (int32_t ox = 0; ox < p->ow; ox++) {
            const ccl_taps_1d xs =
                ccl_taps_inside(ox * p->stride_w - p->pad_left, p->kw, p->dil_w, p->w);
            ccl_max_pixel(p, ys, xs, x, y + oy * p->y_row + ox * p->y_pixel);
        }
    }
}

#endif
