/* SPDX-License-Identifier: Apache-2.0
 *
 * taps.h - the reduction window inside LRM (ccl_taps) shared by red_max and red_sum.
 */
#ifndef EPU_TAPS_H
#define EPU_TAPS_H

#include "insns/epu.h"

/* Lowest and highest byte that the taps read, relative to src. */
static inline void taps_range(const ccl_taps *t, int64_t *out_lo, int64_t *out_hi)
{
    const int64_t y = (int64_t)(t->taps_y - 1) * t->stride_y,
                  x = (int64_t)(t->taps_x - 1) * t->stride_x;
    *out_lo = (y < 0 ? y : 0) + (x < 0 ? x : 0);
    *out_hi = (y > 0 ? y : 0) + (x > 0 ? x : 0) + t->n;
}

/* Checks counts and every byte read; after this n is 0..lrm_size and taps are 1..lrm_size. */
static inline int taps_check(epu *e, const ccl_taps *t, uint32_t src)
{
    int64_t lo, hi;
    if (!epu_check(e,
                   t->n >= 0 && t->n <= e->lrm_size && t->taps_y >= 1 && t->taps_x >= 1 &&
                       (int64_t)t->taps_y * t->taps_x <= e->lrm_size,
                   "taps need n >= 0, taps_y, taps_x >= 1 and at most lrm_size taps"))
        return 0;
    taps_range(t, &lo, &hi);
    if (!epu_check(e, (int64_t)src + lo >= 0, "taps begin before LRM"))
        return 0;
    return epu_lrm(e, (uint64_t)((int64_t)src + lo), (uint64_t)(hi - lo), 0);
}

#endif
