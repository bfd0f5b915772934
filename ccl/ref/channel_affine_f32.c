/* SPDX-License-Identifier: Apache-2.0
 *
 * channel_affine_f32 - x[outer][channels][inner] * scale[c] + shift[c]; the product is rounded
 * before the sum.
 */
#include "ccl.h"
#include "requant.h"

void ccl_channel_affine_f32(const float *x, const float *scale, const float *shift, float *y,
                            int32_t outer, int32_t channels, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
            const float a = scale[c], b = shift[c];
            for (int32_t i = 0; i < inner; i++) {
                const float product = x[i] * a;
                y[i] = ccl_settle(product + b);
            }
        }
    }
}
