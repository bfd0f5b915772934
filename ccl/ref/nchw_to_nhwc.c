/* SPDX-License-Identifier: Apache-2.0
 *
 * nchw_to_nhwc - src[n][c][hw] -> dst[n][hw][c] of elements of 1 or 4 bytes. Tiles of 16 x 16 keep
 * both sides in the cache.
 */
#include "ccl.h"

enum { NCHW_TO_NHWC_TILE = 16 };

#define NCHW_TO_NHWC_TILES(name, type)                                                             \
    static void name(const type *src, type *dst, int32_t c, int32_t hw)                            \
    {                                                                                              \
        for (int32_t c0 = 0; c0 < c; c0 += NCHW_TO_NHWC_TILE) {                                    \
            const int32_t c1 = c - c0 < NCHW_TO_NHWC_TILE ? c : c0 + NCHW_TO_NHWC_TILE;            \
            for (int32_t p0 = 0; p0 < hw; p0 += NCHW_TO_NHWC_TILE) {                               \
                const int32_t p1 = hw - p0 < NCHW_TO_NHWC_TILE ? hw : p0 + NCHW_TO_NHWC_TILE;      \
                for (int32_t p = p0; p < p1; p++)                                                  \
                    for (int32_t k = c0; k < c1; k++)                                              \
                        dst[p * c + k] = src[k * hw + p];                                          \
            }                                                                                      \
        }                                                                                          \
    }
NCHW_TO_NHWC_TILES(nchw_to_nhwc_8, uint8_t)
NCHW_TO_NHWC_TILES(nchw_to_nhwc_32, uint32_t)

void ccl_nchw_to_nhwc(const void *src, void *dst, int32_t n, int32_t c, int32_t hw, int32_t elem)
{
    for (int32_t i = 0; i < n; i++) {
        if (elem == 1)
            nchw_to_nhwc_8((const uint8_t *)src + i * c * hw, (uint8_t *)dst + i * c * hw, c, hw);
        else
            nchw_to_nhwc_32((const uint32_t *)src + i * c * hw, (uint32_t *)dst + i * c * hw, c,
                            hw);
    }
}
