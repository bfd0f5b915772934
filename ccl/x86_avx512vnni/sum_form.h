/* SPDX-License-Identifier: Apache-2.0
 *
 * sum_form.h - the ways in which the sum of two dequantized int8 values can be computed
 * (docs/numerics.md, rule 5). The planner tries them over all pairs of bytes and takes the first
 * that always gives the bytes of the definition. a, b: int8 values minus their zero points, as
 * float32.
 */
#ifndef CCL_X86_AVX512VNNI_SUM_FORM_H
#define CCL_X86_AVX512VNNI_SUM_FORM_H

enum {
    CCL_SUM_FMA,        /* fma(a, ka, b*kb): scales already divided by y_scale */
    CCL_SUM_RECIPROCAL, /* (a*ka + b*kb) * ky, ky = 1/y_scale */
    CCL_SUM_DIVIDE      /* (a*ka + b*kb) / ky, the definition */
};

#endif
