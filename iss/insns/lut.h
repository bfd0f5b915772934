/* SPDX-License-Identifier: Apache-2.0 */
/* LRM[dst + i] = LRM[table + 128 + int8 LRM[src + i]], i ascending. */
#ifndef EPU_LUT_H
#define EPU_LUT_H

#include "insns/epu.h"

static inline void insn_lut(epu *e, uint32_t table, uint32_t src, uint32_t pair_dst_n)
{
    const uint32_t dst = EPU_LOW(pair_dst_n), n = EPU_HIGH(pair_dst_n);
    uint32_t i;
    int32_t l;
    if (!epu_lrm(e, table, 256, 0) || !epu_lrm(e, src, n, 0) || !epu_lrm(e, dst, n, 1))
        return;
    for (l = 0; l < e->lanes; l++) {
        int8_t *local = epu_lane(e, l);
        for (i = 0; i < n; i++)
            local[dst + i] = local[(int64_t)table + 128 + local[src + i]];
    }
    EPU_COST(e, EPU_HW(e, unit_overhead) + EPU_CEIL(n, EPU_HW(e, alu_lanes)));
}

#endif
