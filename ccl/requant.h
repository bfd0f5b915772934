/* SPDX-License-Identifier: Apache-2.0
 *
 * requant.h - the only rounding in the product (docs/numerics.md, rules 2 to 7), and its only NaN. Everything
 * that turns a float32 into an integer includes this file: kernels, compiler, simulator, emitted programs.
 * Needs round-to-nearest-even float32 arithmetic without contraction (-ffp-contract=off) and without flush
 * to zero; uses no libm.
 */
#ifndef CCL_REQUANT_H
#define CCL_REQUANT_H

#include <stdint.h>

/* 1.5 * 2^23: adding and subtracting it rounds |v| < 2^22 to an integer, ties to even. */
#define CCL_RNE_MAGIC 12582912.0f

/* clamp(rne(v) + zp, lo, hi) for any float v; -128 <= lo <= hi <= 127, zp in -128..127.
 * Clamping before rounding is exact because the bounds are integers and rne is monotone; NaN takes
 * lo, because every comparison with it is false. */
static inline int8_t ccl_round_clamp(float v, int32_t zp, int32_t lo, int32_t hi)
{
    const float l = (float)(lo - zp), h = (float)(hi - zp);
    v = v > l ? v : l;
    v = v < h ? v : h;
    v = v + CCL_RNE_MAGIC;
    v = v - CCL_RNE_MAGIC;
    return (int8_t)((int32_t)v + zp);
}

/* Rule 4: int32 sum to int8. */
static inline int8_t ccl_requantize(int32_t acc, float m, int32_t zp, int32_t lo, int32_t hi)
{
    return ccl_round_clamp((float)acc * m, zp, lo, hi);
}

/* Rule 2: true division. */
static inline int8_t ccl_quantize(float x, float scale, int32_t zp, int32_t lo, int32_t hi)
{
    return ccl_round_clamp(x / scale, zp, lo, hi);
}

/* Rule 3. */
static inline float ccl_dequantize(int8_t q, float scale, int32_t zp)
{
    return (float)((int32_t)q - zp) * scale;
}

/* Rule 9: what a float32 operator stores. Which NaN an operation gives differs from machine to machine
 * (sign and payload), so every NaN that arithmetic makes is this one. */
static inline float ccl_settle(float v)
{
    static const union {
        uint32_t bits;
        float value;
    } nan = {0x7fc00000u};
    return v == v ? v : nan.value;
}

#endif
