/* SPDX-License-Identifier: Apache-2.0
 *
 * nhwc_to_nchw - src[n][hw][c] -> dst[n][c][hw] of elements of 1 or 4 bytes: the same move as
 * nchw_to_nhwc with c and hw exchanged, kept in a file of its own so that a program can take one
 * without the other.
 */
#include "ccl.h"

enum { NHWC_TO_NCHW_TILE = 16 };

#define NHWC_TO_NCHW_TILES(name, type)                                                             \
    static void name(const type *src, type *dst, int32_t c, int32_t hw)                            \
    {                                                                                              \
        for (int32_t c0 = 0; c0 < c; c0 += NHWC_TO_NCHW_TILE) {                                    \
            const int32_t c1 = c - c0 < NHWC_TO_NCHW_TILE ? c : c0 + NHWC_TO_NCHW_TILE;            \
            for (int32_t p0 = 0; p0 < hw; p0 += NHWC_TO_NCHW_TILE) {                               \
                const int32_t p1 = hw - p0 < NHWC_TO_NCHW_TILE ? hw : p0 + NHWC_TO_NCHW_TILE;      \
                for (int32_t k = c0; k < c1; k++)                                                  \
                    for (int32_t p = p0; p < p1; p++)                                              \
                        dst[k * hw + p] = src[p * c + k];                                          \
            }                                                                                      \
        }                                                                                          \
    }
NHWC_TO_NCHW_TILES(nhwc_to_nchw_8, uint8_t)
NHWC_TO_NCHW_TILES(nhwc_to_nchw_32, uint32_t)

void ccl_nhwc_to_nchw(const void *src, void *dst, int32_t n, int32_t c, int32_t hw, int32_t elem)
{
    for (int32_t i = 0; i < n; i++) {
        if (elem == 1)
            nhwc_to_nchw_8((const uint8_t *)src + i * c * hw, (uint8_t *)dst + i * c * hw, c, hw);
        else
            nhwc_to_nchw_32((const uint32_t *)src + i * c * hw, (uint32_t *)dst + i * c * hw, c,
                            hw);
    }
}
