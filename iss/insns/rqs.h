/* SPDX-License-Identifier: Apache-2.0 */
/* LRM[lrm + o] = requantize(acc[o] + bias[o], m[o]), constants broadcast from OCM. */
#ifndef EPU_RQS_H
#define EPU_RQS_H

#include "insns/epu.h"

static inline void insn_rqs(epu *e, uint32_t ocm, uint32_t pair_lrm_no, uint32_t clamp)
{
    const uint32_t lrm = EPU_LOW(pair_lrm_no), no = EPU_HIGH(pair_lrm_no);
    const int32_t zp = epu_clamp_part(clamp, 0), lo = epu_clamp_part(clamp, 1),
                  hi = epu_clamp_part(clamp, 2);
    const uint8_t *constants;
    uint32_t o;
    int32_t l;
    if (!epu_check_clamp(e, zp, lo, hi) || !epu_acc(e, no, 0) || !epu_lrm(e, lrm, no, 1))
        return;
    constants = epu_ocm(e, ocm, (uint64_t)no * 8, 0);
    if (!constants)
        return;
    for (o = 0; o < no; o++) {
        const int32_t bias = epu_load_i32((const int8_t *)constants + o * 8);
        const float m = epu_load_f32((const int8_t *)constants + o * 8 + 4);
        for (l = 0; l < e->lanes; l++)
            epu_lane(e, l)[lrm + o] =
                ccl_requantize(epu_wrap_add(epu_accs(e, l)[o], bias), m, zp, lo, hi);
    }
    EPU_COST(e, EPU_HW(e, unit_overhead) + no);
}

#endif
