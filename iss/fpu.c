/* SPDX-License-Identifier: Apache-2.0
 *
 * fpu.c - the F extension on bit patterns. Sums, products, quotients, roots and fused products use the host's IEEE
 * float32, whose sticky flags are collected when the guest asks; conversions, comparisons, min/max and
 * classification are integer code. Every NaN result is the canonical one.
 */
#include "machine.h"

#include <fenv.h>
#include <math.h>

enum { FLAG_NX = 1, FLAG_UF = 2, FLAG_OF = 4, FLAG_DZ = 8, FLAG_NV = 16 };
enum { RNE, RTZ, RDN, RUP, RMM, DYN = 7 };
#define CANONICAL_NAN 0x7fc00000u
#define SIGN 0x80000000u
#define INFINITY_BITS 0x7f800000u

static float as_float(uint32_t v)
{
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

static uint32_t as_bits(float f)
{
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

static bool is_nan(uint32_t v)
{
    return (v & ~SIGN) > INFINITY_BITS;
}

static bool is_signalling(uint32_t v)
{
    return is_nan(v) && !(v & 0x00400000u);
}

static uint32_t mode(const iss_cpu *cpu, uint32_t rm)
{
    return rm == DYN ? cpu->frm : rm;
}

/* Arithmetic in mode RMM (ties away from zero) is not simulated: no compiler emits it. */
bool fpu_mode_usable(const iss_cpu *cpu, uint32_t rm, bool arithmetic)
{
    const uint32_t r = mode(cpu, rm);
    return r <= RMM && (r != RMM || !arithmetic);
}

/* The volatile operands keep the operation between the calls that set and read the host's float state. */
static uint32_t compute(iss_op op, uint32_t a, uint32_t b, uint32_t c)
{
    volatile float x = as_float(a), y = as_float(b), r;
    const float z = as_float(c);
    switch (op) {
    case ISS_OP_fadd:
        r = x + y;
        break;
    case ISS_OP_fsub:
        r = x - y;
        break;
    case ISS_OP_fmul:
        r = x * y;
        break;
    case ISS_OP_fdiv:
        r = x / y;
        break;
    case ISS_OP_fsqrt:
        r = sqrtf(x);
        break;
    case ISS_OP_fmadd:
        r = fmaf(x, y, z);
        break;
    case ISS_OP_fmsub:
        r = fmaf(x, y, -z);
        break;
    case ISS_OP_fnmsub:
        r = fmaf(-x, y, z);
        break;
    default: /* fnmadd */
        r = fmaf(-x, y, -z);
        break;
    }
    const uint32_t v = as_bits(r);
    return is_nan(v) ? CANONICAL_NAN : v;
}

static bool is_fused(iss_op op)
{
    return op == ISS_OP_fmadd || op == ISS_OP_fmsub || op == ISS_OP_fnmsub || op == ISS_OP_fnmadd;
}

uint32_t fpu_arith(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t b, uint32_t c, uint32_t rm)
{
    static const int host_modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    /* inf * 0 + NaN is invalid here; hosts differ. */
    if (is_fused(op)) {
        const uint32_t p = a & ~SIGN, q = b & ~SIGN;
        if ((p == INFINITY_BITS && q == 0) || (p == 0 && q == INFINITY_BITS))
            cpu->fflags |= FLAG_NV;
    }
    const uint32_t r = mode(cpu, rm);
    if (r == RNE)
        return compute(op, a, b, c);
    fesetround(host_modes[r]);
    const uint32_t v = compute(op, a, b, c);
    fesetround(FE_TONEAREST);
    return v;
}

void fpu_collect(iss_cpu *cpu)
{
    const int host = fetestexcept(FE_ALL_EXCEPT);
    cpu->fflags |=
        (uint32_t)((host & FE_INEXACT ? FLAG_NX : 0) | (host & FE_UNDERFLOW ? FLAG_UF : 0) |
                   (host & FE_OVERFLOW ? FLAG_OF : 0) | (host & FE_DIVBYZERO ? FLAG_DZ : 0) |
                   (host & FE_INVALID ? FLAG_NV : 0));
    if (host)
        feclearexcept(FE_ALL_EXCEPT);
}

void fpu_forget(void)
{
    if (fetestexcept(FE_ALL_EXCEPT))
        feclearexcept(FE_ALL_EXCEPT);
}

/* Order of non-NaN values as signed integers; -0 sorts just below +0. */
static int32_t order(uint32_t v)
{
    return (int32_t)(v & SIGN ? ~(v & ~SIGN) : v);
}

uint32_t fpu_compare(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t b)
{
    if (is_nan(a) || is_nan(b)) {
        if (op != ISS_OP_feq || is_signalling(a) || is_signalling(b))
            cpu->fflags |= FLAG_NV;
        return 0;
    }
    if (((a | b) & ~SIGN) == 0) /* zeros are equal */
        return op != ISS_OP_flt;
    if (op == ISS_OP_feq)
        return a == b;
    return op == ISS_OP_flt ? order(a) < order(b) : order(a) <= order(b);
}

uint32_t fpu_min_max(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t b)
{
    if (is_signalling(a) || is_signalling(b))
        cpu->fflags |= FLAG_NV;
    if (is_nan(a))
        return is_nan(b) ? CANONICAL_NAN : b;
    if (is_nan(b))
        return a;
    return (order(a) < order(b)) == (op == ISS_OP_fmin) ? a : b;
}

uint32_t fpu_classify(uint32_t a)
{
    const uint32_t magnitude = a & ~SIGN;
    const bool negative = (a & SIGN) != 0;
    if (is_nan(a))
        return is_signalling(a) ? 1u << 8 : 1u << 9;
    if (magnitude == INFINITY_BITS)
        return negative ? 1u << 0 : 1u << 7;
    if (magnitude >= 0x00800000u)
        return negative ? 1u << 1 : 1u << 6;
    if (magnitude != 0)
        return negative ? 1u << 2 : 1u << 5;
    return negative ? 1u << 3 : 1u << 4;
}

/* Whether a magnitude with the remainder (half: 2 * rest compared with one unit, as -1, 0, 1) rounds up. */
static bool rounds_up(uint32_t rm, bool negative, bool odd, bool inexact, int half)
{
    switch (rm) {
    case RNE:
        return half > 0 || (half == 0 && odd);
    case RDN:
        return negative && inexact;
    case RUP:
        return !negative && inexact;
    case RMM:
        return half >= 0 && inexact;
    default:
        return false;
    }
}

/* |a| rounded to an integer, at most 2^33; *out_inexact if it was none. */
static uint64_t round_magnitude(uint32_t a, uint32_t rm, bool *out_inexact)
{
    const int32_t e = (int32_t)((a >> 23) & 255u) - 150; /* value = m * 2^e */
    const uint64_t m = (a & 0x7fffffu) | ((a & INFINITY_BITS) ? 0x800000u : 0u);
    *out_inexact = false;
    if (e >= 0)
        return e > 9 ? (uint64_t)1 << 33 : m << e;
    if (e < -25) { /* below a quarter */
        *out_inexact = m != 0;
        return rounds_up(rm, (a & SIGN) != 0, false, m != 0, -1);
    }
    const uint64_t unit = (uint64_t)1 << -e, rest = m & (unit - 1);
    const int half = 2 * rest > unit ? 1 : 2 * rest == unit ? 0 : -1;
    *out_inexact = rest != 0;
    const uint64_t whole = m >> -e;
    return whole + rounds_up(rm, (a & SIGN) != 0, whole & 1u, rest != 0, half);
}

uint32_t fpu_to_int(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t rm)
{
    const bool to_signed = op == ISS_OP_fcvt_w_s;
    const uint32_t most = to_signed ? 0x7fffffffu : 0xffffffffu;
    if (is_nan(a)) {
        cpu->fflags |= FLAG_NV;
        return most;
    }
    bool inexact;
    const bool negative = (a & SIGN) != 0;
    const uint64_t v = round_magnitude(a, mode(cpu, rm), &inexact);
    const uint64_t limit = negative ? (to_signed ? 0x80000000u : 0u) : most;
    if (v > limit) {
        cpu->fflags |= FLAG_NV;
        return negative ? (to_signed ? 0x80000000u : 0u) : most;
    }
    if (inexact)
        cpu->fflags |= FLAG_NX;
    return negative ? (uint32_t)(0u - v) : (uint32_t)v;
}

uint32_t fpu_from_int(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t rm)
{
    const bool negative = op == ISS_OP_fcvt_s_w && (a & SIGN);
    uint32_t v = negative ? 0u - a : a;
    if (v == 0)
        return 0;
    int shift = 0; /* to a 24-bit mantissa: right if positive */
    while (shift < 8 && (v >> shift) >= 0x1000000u)
        shift++;
    const uint32_t rest = v & ((1u << shift) - 1u), unit = 1u << shift;
    const int half = 2 * (uint64_t)rest > unit ? 1 : 2 * (uint64_t)rest == unit ? 0 : -1;
    uint32_t mantissa = v >> shift;
    mantissa += rounds_up(mode(cpu, rm), negative, mantissa & 1u, rest != 0, half);
    if (rest)
        cpu->fflags |= FLAG_NX;
    /* A mantissa below 2^23 (small integers) is shifted up; 2^24 after rounding carries into the exponent. */
    while (mantissa < 0x800000u) {
        mantissa <<= 1;
        shift--;
    }
    return (negative ? SIGN : 0u) | (((uint32_t)(shift + 150) << 23) + (mantissa - 0x800000u));
}
