/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize_s8.h - AVX-512 quantization of float32 planes (NCHW) into bytes with channels last
 * (docs/numerics.md, rule 2: a true division, NaN gives the smallest value).
 */
#ifndef CCL_X86_AVX512VNNI_QUANTIZE_S8_H
#define CCL_X86_AVX512VNNI_QUANTIZE_S8_H

#include "vector.h"

typedef struct ccl_quantize_planes {
    int32_t c, h, w;
    ptrdiff_t y_row; /* bytes */
    float scale;
    ccl_out out;
} ccl_quantize_planes;

CCL_INLINE void ccl_quantize_row(const ccl_quantize_planes *p, const float *x, uint8_t *y)
{
    const ccl_out o = p->out;
    const __m512 lo = _mm512_set1_ps((float)(o.lo - o.zp)),
                 hi = _mm512_set1_ps((float)(o.hi - o.zp));
    for (int32_t i = 0; i < p->w; i += 16) {
        const int32_t lanes = p->w - i >= 16 ? 16 : p->w - i;
        __m512 v = _mm512_maskz_loadu_ps((__mmask16)((1u << lanes) - 1), x + i);
        v = _mm512_max_ps(_mm512_div_ps(v, _mm512_set1_ps(p->scale)),
                          lo); /* NaN: the second operand */
        v = _mm512_min_ps(v, hi);
        ccl_store16(y + i, ccl_bytes16(ccl_round32(v), o), lanes);
    }
}

/* 16 pixels of three planes -> 48 bytes. */
CCL_INLINE void ccl_interleave3(const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *y)
{
    const __m128i va = ccl_load16(a, 16), vb = ccl_load16(b, 16), vc = ccl_load16(c, 16);
    const __m128i a0 = _mm_setr_epi8(0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5);
    const __m128i b0 = _mm_setr_epi8(-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1);
    const __m128i c0 = _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
    const __m128i a1 = _mm_setr_epi8(-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1);
    const __m128i b1 = _mm_setr_epi8(5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10);
    const __m128i c1 = _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1);
    const __m128i a2 =
        _mm_setr_epi8(-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1);
    const __m128i b2 =
        _mm_setr_epi8(-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1);
    const __m128i c2 =
        _mm_setr_epi8(10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15);
#define CCL_MERGE3(k)                                                                              \
    _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(va, a##k), _mm_shuffle_epi8(vb, b##k)),             \
                 _mm_shuffle_epi8(vc, c##k))
    ccl_store16(y, CCL_MERGE3(0), 16);
    ccl_store16(y + 16, CCL_MERGE3(1), 16);
    ccl_store16(y + 32, CCL_MERGE3(2), 16);
#undef CCL_MERGE3
}

CCL_INLINE void ccl_interleave_row(const ccl_quantize_planes *p, const uint8_t *planes, uint8_t *y)
{
    int32_t i = 0;
    if (p->c == 3)
        for (; i + 16 <= p->w; i += 16)
            ccl_interleave3(planes + i, planes + p->w + i, planes + 2 * p->w + i, y + 3 * i);
    for (; i < p->w; i++)
        for (int32_t c = 0; c < p->c; c++)
            y[i * p->c + c] = planes[c * p->w + i];
}

/* One image; planes: c * w bytes of working memory; y: first pixel inside any border. */
CCL_INLINE void ccl_quantize_image(const ccl_quantize_planes *p, const float *x, uint8_t *planes,
                                   uint8_t *y)
{
    for (int32_t row = 0; row < p->h; row++, y += p->y_row) {
        for (int32_t c = 0; c < p->c; c++) {
            const float *from = x + ((ptrdiff_t)c * p->h + row) * p->w;
            ccl_quantize_row(p, from, p->c == 1 ? y : planes + c * p->w);
        }
        if (p->c > 1)
            ccl_interleave_row(p, planes, y);
    }
}

#endif
