/* SPDX-License-Identifier: Apache-2.0
 *
 * add_s8 - dequantize both operands, add in float32, quantize (docs/numerics.md, rule 5): two
 * products, one sum and one division, each rounded once, never contracted.
 */
#include "ccl.h"
#include "requant.h"

void ccl_add_s8(const ccl_add_params *p, const int8_t *a, const int8_t *b, int8_t *y, int32_t count)
{
    const ccl_add_params q = *p;
    for (int32_t i = 0; i < count; i++) {
        const float fa = ccl_dequantize(a[i], q.a_scale, q.a_zp);
        const float fb = ccl_dequantize(b[i], q.b_scale, q.b_zp);
        const float sum = fa + fb;
        y[i] = ccl_quantize(sum, q.y_scale, q.y_zp, q.lo, q.hi);
    }
}
