/* SPDX-License-Identifier: Apache-2.0 */
/* A block per lane to OCM, lanes in ascending order. */
#ifndef EPU_AST_H
#define EPU_AST_H

#include "insns/block.h"

static inline void insn_ast(epu *e, const ccl_block *b, uint32_t ocm, uint32_t pair_lrm_lanes)
{
    const uint32_t lrm = EPU_LOW(pair_lrm_lanes), lanes = EPU_HIGH(pair_lrm_lanes);
    uint64_t bytes;
    uint32_t l;
    if (!block_check(e, b, lanes))
        return;
    bytes = (uint64_t)b->rows * (uint64_t)b->row_bytes;
    EPU_COST(e, EPU_HW(e, unit_overhead) + EPU_CEIL(lanes * bytes, EPU_HW(e, arr_port_bytes)));
    if (lanes == 0 || bytes == 0 || !epu_lrm(e, lrm, bytes, 0))
        return;
    for (l = 0; l < lanes; l++)
        if (!block_lane(e, b, (int64_t)ocm + (int64_t)l * b->lane_stride,
                        epu_lane(e, (int32_t)l) + lrm, 0))
            return;
}

#endif
