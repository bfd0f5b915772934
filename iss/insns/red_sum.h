/* SPDX-License-Identifier: Apache-2.0 */
/* acc[i] = sum over taps of (int8 - zp), i < n <= num_acc. */
#ifndef EPU_RED_SUM_H
#define EPU_RED_SUM_H

#include "insns/taps.h"

static inline int32_t red_sum_one(const ccl_taps *t, const int8_t *from, uint32_t zp)
{
    uint32_t sum = 0;
    int32_t y, x;
    for (y = 0; y < t->taps_y; y++)
        for (x = 0; x < t->taps_x; x++)
            sum += (uint32_t)from[(int64_t)y * t->stride_y + (int64_t)x * t->stride_x] - zp;
    return (int32_t)sum;
}

static inline void insn_red_sum(epu *e, const ccl_taps *t, uint32_t src, uint32_t zp)
{
    int32_t l, i;
    if (!taps_check(e, t, src) || !epu_acc(e, (uint64_t)t->n, 1))
        return;
    for (l = 0; l < e->lanes; l++)
        for (i = 0; i < t->n; i++)
            epu_accs(e, l)[i] = red_sum_one(t, epu_lane(e, l) + src + i, zp);
    EPU_COST(e, EPU_HW(e, unit_overhead) +
                    EPU_CEIL((uint64_t)t->n * (uint64_t)t->taps_y * (uint64_t)t->taps_x,
                             EPU_HW(e, alu_lanes)));
}

#endif
