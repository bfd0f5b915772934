/* SPDX-License-Identifier: Apache-2.0 */
/* int8 LRM[dst + i] = quantize(float LRM[src + 4*i]), i ascending. */
#ifndef EPU_QUANT_H
#define EPU_QUANT_H

#include "insns/epu.h"

static inline void insn_quant(epu *e, const ccl_scale *s, uint32_t src, uint32_t pair_dst_n)
{
    const uint32_t dst = EPU_LOW(pair_dst_n), n = EPU_HIGH(pair_dst_n);
    uint32_t i;
    int32_t l;
    if (!epu_check_clamp(e, s->zp, s->lo, s->hi) || !epu_lrm(e, src, (uint64_t)n * 4, 0) ||
        !epu_lrm(e, dst, n, 1))
        return;
    for (l = 0; l < e->lanes; l++) {
        int8_t *local = epu_lane(e, l);
        for (i = 0; i < n; i++)
            local[dst + i] = ccl_quantize(epu_load_f32(local + src + (size_t)i * 4), s->scale,
                                          s->zp, s->lo, s->hi);
    }
    EPU_COST(e, EPU_HW(e, unit_overhead) +
                    EPU_CEIL(n * (2 + EPU_HW(e, fp_div_cycles)), EPU_HW(e, fp_lanes)));
}

#endif
