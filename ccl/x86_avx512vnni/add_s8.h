/* SPDX-License-Identifier: Apache-2.0
 *
 * add_s8.h - AVX-512 sum of two int8 tensors (docs/numerics.md, rule 5) in a form that the
 * planner has shown to be exact for these scales. Every field of the parameters is a literal in
 * the emitted program.
 */
#ifndef CCL_X86_AVX512VNNI_ADD_S8_H
#define CCL_X86_AVX512VNNI_ADD_S8_H

#include "vector.h"

typedef struct ccl_add_bytes {
    int32_t a_signed, a_zp, b_signed, b_zp;
    ccl_sum sum;
    ccl_out out;
} ccl_add_bytes;

CCL_INLINE __m256i ccl_add32(const ccl_add_bytes *p, __m256i a, __m256i b)
{
    __m512i a0, a1, b0, b1;
    ccl_widen32(a, p->a_signed, p->a_zp, &a0, &a1);
    ccl_widen32(b, p->b_signed, p->b_zp, &b0, &b1);
    a0 = ccl_sum32(_mm512_cvtepi32_ps(a0), _mm512_cvtepi32_ps(b0), p->sum);
    a1 = ccl_sum32(_mm512_cvtepi32_ps(a1), _mm512_cvtepi32_ps(b1), p->sum);
    return ccl_bytes32(a0, a1, p->out);
}

CCL_INLINE void ccl_add_row(const ccl_add_bytes *p, const uint8_t *a, const uint8_t *b, uint8_t *y,
                            int32_t count)
{
    int32_t i = 0;
    for (; i + 32 <= count; i += 32)
        ccl_store32(y + i, ccl_add32(p, ccl_load32(a + i, 32), ccl_load32(b + i, 32)), 32);
    if (i < count)
        ccl_store32(y + i, ccl_add32(p, ccl_load32(a + i, count - i), ccl_load32(b + i, count - i)),
                    count - i);
}

#endif
