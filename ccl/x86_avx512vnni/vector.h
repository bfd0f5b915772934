/* SPDX-License-Identifier: Apache-2.0
 *
 * vector.h - what the AVX-512 VNNI kernels share: the dot product, loads, and the way from
 * float32 to bytes.
 *
 * Only for programs compiled with -mavx512f -mavx512bw -mavx512vl -mavx512vnni and
 * -ffp-contract=off. Bytes written obey docs/numerics.md: callers prove that every value given
 * to ccl_round32 stays below 2^31 in magnitude.
 */
#ifndef CCL_X86_AVX512VNNI_VECTOR_H
#define CCL_X86_AVX512VNNI_VECTOR_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "sum_form.h"

#define CCL_INLINE static inline __attribute__((always_inline))

typedef int32_t ccl_i32_any __attribute__((may_alias, aligned(1)));

/* acc += sum of 4 products u8 * s8 per lane. In assembly, because gcc and clang both spill
 * accumulators when they schedule the intrinsic. */
#define CCL_DOT(acc, u8, s8) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u8), "v"(s8))

/* Makes a number unknown to the compiler: gcc spills when it unrolls a loop around CCL_DOT
 * completely. */
#define CCL_HIDE(n) __asm__("" : "+r"(n))

/* 4 bytes at p in every lane. */
CCL_INLINE __m512i ccl_spread4(const uint8_t *p)
{
    return _mm512_set1_epi32(*(const ccl_i32_any *)(const void *)p);
}

/* How bytes leave: rne(v) + zp clamped to lo..hi (int8 values), as int8 or XOR 0x80. */
typedef struct ccl_out {
    int32_t zp, lo, hi;
    int32_t is_signed; /* 1: int8, 0: q XOR 0x80 */
} ccl_out;

/* Two vectors of int32 in pair order (see ccl_pair_channel) -> 32 bytes in channel order. */
CCL_INLINE __m256i ccl_bytes32(__m512i q0, __m512i q1, ccl_out o)
{
    const int32_t shift = o.is_signed ? 0 : 128;
    __m512i q = _mm512_packs_epi32(q0, q1);
    if (o.zp + shift != 0)
        q = _mm512_adds_epi16(q, _mm512_set1_epi16((short)(o.zp + shift)));
    q = _mm512_max_epi16(q, _mm512_set1_epi16((short)(o.lo + shift)));
    if (o.hi != 127)
        q = _mm512_min_epi16(q, _mm512_set1_epi16((short)(o.hi + shift)));
    return o.is_signed ? _mm512_cvtsepi16_epi8(q) : _mm512_cvtusepi16_epi8(q);
}

/* One vector of int32 -> 16 bytes. */
CCL_INLINE __m128i ccl_bytes16(__m512i q, ccl_out o)
{
    const int32_t shift = o.is_signed ? 0 : 128;
    /* Clamped first: q + zp must not wrap. */
    q = _mm512_max_epi32(q, _mm512_set1_epi32(o.lo - o.zp));
    q = _mm512_min_epi32(q, _mm512_set1_epi32(o.hi - o.zp));
    q = _mm512_add_epi32(q, _mm512_set1_epi32(o.zp + shift));
    return _mm512_cvtepi32_epi8(q);
}

/* Round to nearest even; the program has checked the rounding mode at its start. */
CCL_INLINE __m512i ccl_round32(__m512 v)
{
    return _mm512_cvtps_epi32(v);
}

/* Loads and stores of the first n of 32 (16) bytes; n is a literal after inlining. */
CCL_INLINE __m256i ccl_load32(const uint8_t *p, int32_t n)
{
    if (n >= 32)
        return _mm256_loadu_si256((const __m256i *)(const void *)p);
    return _mm256_maskz_loadu_epi8((__mmask32)((1ull << n) - 1), p);
}

CCL_INLINE __m128i ccl_load16(const uint8_t *p, int32_t n)
{
    if (n >= 16)
        return _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1), p);
}

CCL_INLINE void ccl_store32(uint8_t *p, __m256i v, int32_t n)
{
    if (n >= 32)
        _mm256_storeu_si256((__m256i *)(void *)p, v);
    else
        _mm256_mask_storeu_epi8(p, (__mmask32)((1ull << n) - 1), v);
}

CCL_INLINE void ccl_store16(uint8_t *p, __m128i v, int32_t n)
{
    if (n >= 16)
        _mm_storeu_si128((__m128i *)(void *)p, v);
    else
        _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), v);
}

/* 32 bytes in channel order -> two vectors of int32 in pair order, int8 values minus zp. */
CCL_INLINE void ccl_widen32(__m256i b, int32_t is_signed, int32_t zp, __m512i *q0, __m512i *q1)
{
    __m512i w = is_signed ? _mm512_cvtepi8_epi16(b) : _mm512_cvtepu8_epi16(b);
    const int32_t base = is_signed ? zp : zp + 128;
    if (base != 0)
        w = _mm512_sub_epi16(w, _mm512_set1_epi16((short)base));
    if (is_signed || base != 0) {
        /* Sign-extends each word in the upper half of a dword. */
        *q0 = _mm512_srai_epi32(_mm512_unpacklo_epi16(w, w), 16);
        *q1 = _mm512_srai_epi32(_mm512_unpackhi_epi16(w, w), 16);
    } else {
        *q0 = _mm512_unpacklo_epi16(w, _mm512_setzero_si512());
        *q1 = _mm512_unpackhi_epi16(w, _mm512_setzero_si512());
    }
}

CCL_INLINE __m512i ccl_widen16(__m128i b, int32_t is_signed, int32_t zp)
{
    const __m512i w = is_signed ? _mm512_cvtepi8_epi32(b) : _mm512_cvtepu8_epi32(b);
    const int32_t base = is_signed ? zp : zp + 128;
    return base != 0 ? _mm512_sub_epi32(w, _mm512_set1_epi32(base)) : w;
}

/* Sum of two dequantized values divided by y_scale, see sum_form.h. */
typedef struct ccl_sum {
    int32_t form;
    float ka, kb, ky;
} ccl_sum;

/* a, b: int8 values minus their zero points, as float32. */
CCL_INLINE __m512i ccl_sum32(__m512 a, __m512 b, ccl_sum s)
{
    const __m512 ka = _mm512_set1_ps(s.ka), kb = _mm512_set1_ps(s.kb), ky = _mm512_set1_ps(s.ky);
    __m512 v;
    if (s.form == CCL_SUM_FMA)
        return ccl_round32(_mm512_fmadd_ps(a, ka, _mm512_mul_ps(b, kb)));
    v = _mm512_add_ps(_mm512_mul_ps(a, ka), _mm512_mul_ps(b, kb));
    return ccl_round32(s.form == CCL_SUM_RECIPROCAL ? _mm512_mul_ps(v, ky) : _mm512_div_ps(v, ky));
}

#endif
