/* SPDX-License-Identifier: Apache-2.0
 *
 * dequantize_s8 - float32(x - zp) * scale (docs/numerics.md, rule 3).
 */
#include "ccl.h"
#include "requant.h"

void ccl_dequantize_s8(const int8_t *x, float *y, int32_t count, float scale, int32_t zp)
{
    for (int32_t i = 0; i < count; i++)
        y[i] = ccl_dequantize(x[i], scale, zp);
}
