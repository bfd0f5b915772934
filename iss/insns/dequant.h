/* SPDX-License-Identifier: Apache-2.0 */
/* float LRM[dst + 4*i] = dequantize(int8 LRM[src + i]), i ascending. */
#ifndef EPU_DEQUANT_H
#define EPU_DEQUANT_H

#include "insns/epu.h"

static inline void insn_dequant(epu *e, const ccl_scale *s, uint32_t src, uint32_t pair_dst_n)
{
    const uint32_t dst = EPU_LOW(pair_dst_n), n = EPU_HIGH(pair_dst_n);
    uint32_t i;
    int32_t l;
    if (!epu_check_clamp(e, s->zp, -128, 127) || !epu_lrm(e, src, n, 0) ||
        !epu_lrm(e, dst, (uint64_t)n * 4, 1))
        return;
    for (l = 0; l < e->lanes; l++) {
        int8_t *local = epu_lane(e, l);
        for (i = 0; i < n; i++) {
            const float x = ccl_dequantize(local[src + i], s->scale, s->zp);
            memcpy(local + dst + (size_t)i * 4, &x, sizeof x);
        }
    }
    EPU_COST(e, EPU_HW(e, unit_overhead) + EPU_CEIL((uint64_t)n * 2, EPU_HW(e, fp_lanes)));
}

#endif
