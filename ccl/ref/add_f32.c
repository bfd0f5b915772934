/* SPDX-License-Identifier: Apache-2.0
 *
 * add_f32 - element-wise IEEE float32 sum.
 */
#include "ccl.h"
#include "requant.h"

void ccl_add_f32(const float *a, const float *b, float *y, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        y[i] = ccl_settle(a[i] + b[i]);
}
