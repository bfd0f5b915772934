/* SPDX-License-Identifier: Apache-2.0
 *
 * clip_f32 - min(max(x, lo), hi), written as in PyTorch: NaN stays NaN, and a zero that equals a bound
 * keeps its sign; lo <= hi.
 */
#include "ccl.h"

void ccl_clip_f32(const float *x, float *y, int32_t count, float lo, float hi)
{
    for (int32_t i = 0; i < count; i++) {
        const float v = x[i] < lo ? lo : x[i];
        y[i] = v > hi ? hi : v;
    }
}
