/* SPDX-License-Identifier: Apache-2.0 */
/* acc[o] = int32 LRM[lrm + 4*o]. */
#ifndef EPU_ACC_LOAD_H
#define EPU_ACC_LOAD_H

#include "insns/epu.h"

static inline void insn_acc_load(epu *e, uint32_t lrm, uint32_t no)
{
    int32_t l;
    if (!epu_acc(e, no, 1) || !epu_lrm(e, lrm, (uint64_t)no * 4, 0))
        return;
    for (l = 0; l < e->lanes; l++)
        memcpy(epu_accs(e, l), epu_lane(e, l) + lrm, (size_t)no * 4);
    EPU_COST(e, EPU_HW(e, unit_overhead) + no);
}

#endif
