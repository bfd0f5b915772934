/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize_s8 - clamp(rne(x / scale) + zp, -128, 127) with a true division (docs/numerics.md, rule
 * 2); NaN gives -128.
 */
#include "ccl.h"
#include "requant.h"

void ccl_quantize_s8(const float *x, int8_t *y, int32_t count, float scale, int32_t zp)
{
    for (int32_t i = 0; i < count; i++)
        y[i] = ccl_quantize(x[i], scale, zp, -128, 127);
}
