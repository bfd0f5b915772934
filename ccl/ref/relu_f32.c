/* SPDX-License-Identifier: Apache-2.0
 *
 * relu_f32 - x < 0 ? 0 : x; so NaN and -0 stay what they are, as in PyTorch.
 */
#include "ccl.h"

void ccl_relu_f32(const float *x, float *y, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
