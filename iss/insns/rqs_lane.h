/* SPDX-License-Identifier: Apache-2.0 */
/* As rqs, one {bias, m} per lane at LRM[lrm_const] for all o. */
#ifndef EPU_RQS_LANE_H
#define EPU_RQS_LANE_H

#include "insns/epu.h"

static inline void insn_rqs_lane(epu *e, uint32_t lrm_const, uint32_t pair_lrm_no, uint32_t clamp)
{
    const uint32_t lrm = EPU_LOW(pair_lrm_no), no = EPU_HIGH(pair_lrm_no);
    const int32_t zp = epu_clamp_part(clamp, 0), lo = epu_clamp_part(clamp, 1),
                  hi = epu_clamp_part(clamp, 2);
    uint32_t o;
    int32_t l;
    if (!epu_check_clamp(e, zp, lo, hi) || !epu_acc(e, no, 0) || !epu_lrm(e, lrm_const, 8, 0) ||
        !epu_lrm(e, lrm, no, 1))
        return;
    for (l = 0; l < e->lanes; l++) {
        int8_t *local = epu_lane(e, l);
        const int32_t bias = epu_load_i32(local + lrm_const);
        const float m = epu_load_f32(local + lrm_const + 4);
        for (o = 0; o < no; o++)
            local[lrm + o] = ccl_requantize(epu_wrap_add(epu_accs(e, l)[o], bias), m, zp, lo, hi);
    }
    EPU_COST(e, EPU_HW(e, unit_overhead) + no);
}

#endif
