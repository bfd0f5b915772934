/* SPDX-License-Identifier: Apache-2.0 */
/* LRM[dst + i] = max over taps, int8, i ascending. */
#ifndef EPU_RED_MAX_H
#define EPU_RED_MAX_H

#include "insns/taps.h"

static inline int8_t red_max_one(const ccl_taps *t, const int8_t *from)
{
    int8_t best = -128;
    int32_t y, x;
    for (y = 0; y < t->taps_y; y++)
        for (x = 0; x < t->taps_x; x++) {
            const int8_t v = from[(int64_t)y * t->stride_y + (int64_t)x * t->stride_x];
            best = v > best ? v : best;
        }
    return best;
}

static inline void insn_red_max(epu *e, const ccl_taps *t, uint32_t src, uint32_t dst)
{
    int32_t l, i;
    if (!taps_check(e, t, src) || !epu_lrm(e, dst, (uint64_t)t->n, 1))
        return;
    for (l = 0; l < e->lanes; l++)
        for (i = 0; i < t->n; i++)
            epu_lane(e, l)[dst + (uint32_t)i] = red_max_one(t, epu_lane(e, l) + src + i);
    EPU_COST(e, EPU_HW(e, unit_overhead) +
                    EPU_CEIL((uint64_t)t->n * (uint64_t)t->taps_y * (uint64_t)t->taps_x,
                             EPU_HW(e, alu_lanes)));
}

#endif
