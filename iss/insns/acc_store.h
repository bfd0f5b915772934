/* SPDX-License-Identifier: Apache-2.0 */
/* int32 LRM[lrm + 4*o] = acc[o]. */
#ifndef EPU_ACC_STORE_H
#define EPU_ACC_STORE_H

#include "insns/epu.h"

static inline void insn_acc_store(epu *e, uint32_t lrm, uint32_t no)
{
    int32_t l;
    if (!epu_acc(e, no, 0) || !epu_lrm(e, lrm, (uint64_t)no * 4, 1))
        return;
    for (l = 0; l < e->lanes; l++)
        memcpy(epu_lane(e, l) + lrm, epu_accs(e, l), (size_t)no * 4);
    EPU_COST(e, EPU_HW(e, unit_overhead) + no);
}

#endif
