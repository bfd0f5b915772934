/* SPDX-License-Identifier: Apache-2.0
 *
 * environment.h - is floating-point arithmetic as docs/numerics.md requires it, in this file's
 * compiler flags and at this moment? Round to nearest even, no contraction of a * b + c, no
 * flushing of subnormals. The operands are chosen so that each violation changes a result; they
 * are volatile so that nothing is computed by the compiler.
 */
#ifndef CCL_ENVIRONMENT_H
#define CCL_ENVIRONMENT_H

static inline int ccl_environment_ok(void)
{
#ifdef __FAST_MATH__ /* also lets divisions and sums be rewritten */
    return 0;
#else
    const volatile float one = 1.0f, half_ulp = 5.9604645e-08f,
                         ulp = 1.1920929e-07f;              /* 2^-24, 2^-23 */
    const volatile float a = 1.00024414f, c = -1.00048828f; /* a = 1 + 2^-12, a*a = -c + 2^-24 */
    const volatile float smallest = 1.17549435e-38f, half = 0.5f, tiny = 1.0e-40f;
    const float even_below = one + half_ulp; /* a tie goes down to 1 */
    const float odd = one + ulp;
    const float even_above = odd + half_ulp; /* a tie goes up to 1 + 2^-22 */
    const float negative = -one - half_ulp;
    const float x = a, y = a, z = c;
    const float contracted = x * y + z; /* 0 when the product is rounded first */
    const float subnormal = smallest * half, kept = tiny + tiny;
    return even_below == 1.0f && even_above == odd + ulp && negative == -1.0f &&
           contracted == 0.0f && subnormal > 0.0f && kept > 0.0f;
#endif
}

#endif
