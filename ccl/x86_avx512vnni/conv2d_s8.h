/* SPDX-License-Identifier: Apache-2.0
 *
 * conv2d_s8.h - AVX-512 VNNI convolution: one register tile of output pixels x 32 (or 16) output
 * channels, from bordered NHWC images and packed weights to requantized bytes, with an optional
 * fused residual add.
 *
 * The emitted layer function writes the loops over channel blocks, rows and columns and gives
 * every field of ccl_tile as a literal, so that the compiler removes what a layer does not use.
 * Activations are unsigned: a byte u stands for the int8 value u - 128 (q XOR 0x80); the packed
 * bias holds bias - (x_zp + 128) * sum(w), and a border holds x_zp + 128, so the sums need no
 * correction. Same bytes as ccl/ref (docs/numerics.md, rules 4 and 5): the planner proves that
 * no sum times its multiplier reaches 2^31 before it chooses this file.
 *
 * A block of packed weights, 64-byte aligned: bias int32 [16 * vectors], m float32 [16 *
 * vectors], then [tap row][run][step][16 * vectors][4] int8; vectors 2 keeps its channels in
 * pair order: lane i of vector j is channel 8 * (i / 4) + 4 * j + i % 4, so that packing to 16
 * bits restores the order.
 */
#ifndef CCL_X86_AVX512VNNI_CONV2D_S8_H
#define CCL_X86_AVX512VNNI_CONV2D_S8_H

#include "vector.h"

enum { CCL_TILE_PIXELS = 14 }; /* 2 accumulators each, 2 weights and 1 pixel: 31 of 32 registers */

typedef struct ccl_tile {
    int32_t pixels, row_pixels; /* output pixels of the tile; of each of its rows */
    int32_t vectors,
        channels; /* vectors of 16 output channels; channels stored, the rest is padding */
    int32_t x_pixel, x_row; /* bytes between inputs of neighbouring output pixels, of output rows */
    int32_t tap_rows, x_tap_row; /* tap rows, bytes from one to the next */
    int32_t runs, x_run;    /* runs of contiguous bytes in a tap row, bytes from one to the next */
    int32_t steps;          /* 4 bytes each, in a run */
    int32_t y_pixel, y_row; /* bytes */
    int32_t ahead;          /* bytes of weights to fetch ahead into L2, 0 = none */
    ccl_out conv;           /* the convolution's own zero point and clamp */
    int32_t has_sum;        /* a residual add follows: */
    int32_t r_first, r_pixel, r_row, r_signed,
        r_zp; /* r_first: the residual is operand a, else b */
    ccl_sum sum;
    ccl_out out; /* of the result */
} ccl_tile;

/* int32 sums -> float32 value of the convolution's int8 result minus its zero point. */
CCL_INLINE __m512 ccl_tile_int8(__m512 v, ccl_out o)
{
    v = _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    v = _mm512_max_ps(v, _mm512_set1_ps((float)(o.lo - o.zp)));
    return _mm512_min_ps(v, _mm512_set1_ps((float)(o.hi - o.zp)));
}

CCL_INLINE __m512i ccl_tile_sum(const ccl_tile *t, __m512 v, __m512i residual)
{
    const __m512 q = ccl_tile_int8(v, t->conv), r = _mm512_cvtepi32_ps(residual);
    return t->r_first ? ccl_sum32(r, q, t->sum) : ccl_sum32(q, r, t->sum);
}

CCL_INLINE void ccl_tile_store32(const ccl_tile *t, __m512i a0, __m512i a1, const float *m,
                                 const uint8_t *r, uint8_t *y)
{
    __m512 v0 = _mm512_mul_ps(_mm512_cvtepi32_ps(a0), _mm512_load_ps(m));
    __m512 v1 = _mm512_mul_ps(_mm512_cvtepi32_ps(a1), _mm512_load_ps(m + 16));
    __m512i q0, q1;
    if (t->has_sum) {
        ccl_widen32(ccl_load32(r, t->channels), t->r_signed, t->r_zp, &q0, &q1);
        q0 = ccl_tile_sum(t, v0, q0);
        q1 = ccl_tile_sum(t, v1, q1);
    } else {
        q0 = ccl_round32(v0);
        q1 = ccl_round32(v1);
    }
    ccl_store32(y, ccl_bytes32(q0, q1, t->out), t->channels);
}

CCL_INLINE void ccl_tile_store16(const ccl_tile *t, __m512i a, const float *m, const uint8_t *r,
                                 uint8_t *y)
{
    const __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(a), _mm512_load_ps(m));
    __m512i q;
    if (t->has_sum) {
        q = ccl_tile_sum(t, v, ccl_widen16(ccl_load16(r, t->channels), t->r_signed, t->r_zp));
    } else {
        q = ccl_round32(v);
    }
    ccl_store16(y, ccl_bytes16(q, t->out), t->channels);
}

/* Every accumulator has a name, because arrays of vectors end up in memory. */
#define CCL_FOR_PIXELS(do_)                                                                        \
    do_(0) do_(1) do_(2) do_(3) do_(4) do_(5) do_(6) do_(7) do_(8) do_(9) do_(10) do_(11) do_(12)  \
        do_(13)
#define CCL_AT(i, row, pixel)                                                                      \
    ((ptrdiff_t)((i) / t->row_pixels) * (row) + (ptrdiff_t)((i) % t->row_pixels) * (pixel))

#define CCL_TILE_INIT(i) __m512i a##i = b0, c##i = b1;
#define CCL_TILE_STEP2(i)                                                                          \
    if (t->pixels > i) {                                                                           \
        const __m512i u = ccl_spread4(p + CCL_AT(i, t->x_row, t->x_pixel));                        \
        CCL_DOT(a##i, u, b0);                                                                      \
        CCL_DOT(c##i, u, b1);                                                                      \
    }
#define CCL_TILE_STEP1(i)                                                                          \
    if (t->pixels > i) {                                                                           \
        const __m512i u = ccl_spread4(p + CCL_AT(i, t->x_row, t->x_pixel));                        \
        CCL_DOT(a##i, u, b0);                                                                      \
    }
#define CCL_TILE_STORE2(i)                                                                         \
    if (t->pixels > i)                                                                             \
        ccl_tile_store32(t, a##i, c##i, m, residual + CCL_AT(i, t->r_row, t->r_pixel),             \
                         y + CCL_AT(i, t->y_row, t->y_pixel));
#define CCL_TILE_STORE1(i)                                                                         \
    if (t->pixels > i)                                                                             \
        ccl_tile_store16(t, a##i, m, residual + CCL_AT(i, t->r_row, t->r_pixel),                   \
                         y + CCL_AT(i, t->y_row, t->y_pixel));

/* x: input of the tile's first pixel at tap (0, 0); w: its block; residual may be any pointer
 * without has_sum. */
CCL_INLINE void ccl_conv2d_tile(const ccl_tile *t, const uint8_t *x, const uint8_t *w,
                                const uint8_t *residual, uint8_t *y)
{
    const int32_t width = 64 * t->vectors;
    const float *m = (const float *)(const void *)(w + width);
    __m512i b0 = _mm512_load_si512(w);
    __m512i b1 = t->vectors > 1 ? _mm512_load_si512(w + 64) : b0;
    CCL_FOR_PIXELS(CCL_TILE_INIT)
    w += 2 * width;
    for (int32_t row = 0; row < t->tap_rows; row++) {
        for (int32_t run = 0; run < t->runs; run++) {
            const uint8_t *p = x + (ptrdiff_t)row * t->x_tap_row + (ptrdiff_t)run * t->x_run;
            int32_t steps = t->steps;
            CCL_HIDE(steps);
            for (int32_t step = 0; step < steps; step++, p += 4, w += width) {
                b0 = _mm512_load_si512(w);
                _mm_prefetch((const char *)(w + 1024), _MM_HINT_T0);
                if (t->ahead)
                    _mm_prefetch((const char *)(w + t->ahead), _MM_HINT_T1);
                if (t->vectors > 1) {
                    b1 = _mm512_load_si512(w + 64);
                    _mm_prefetch((const char *)(w + 1088), _MM_HINT_T0);
                    if (t->ahead)
                        _mm_prefetch((const char *)(w + t->ahead + 64), _MM_HINT_T1);
                    CCL_FOR_PIXELS(CCL_TILE_STEP2)
                } else {
                    CCL_FOR_PIXELS(CCL_TILE_STEP1)
                }
            }
        }
    }
    if (t->vectors > 1) {
        CCL_FOR_PIXELS(CCL_TILE_STORE2)
    } else {
        CCL_FOR_PIXELS(CCL_TILE_STORE1)
    }
}

#endif
