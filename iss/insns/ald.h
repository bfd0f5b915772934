/* SPDX-License-Identifier: Apache-2.0 */
/* A block per lane from OCM; with lane_stride 0 one block for all lanes. */
#ifndef EPU_ALD_H
#define EPU_ALD_H

#include "insns/block.h"

static inline void insn_ald(epu *e, const ccl_block *b, uint32_t ocm, uint32_t pair_lrm_lanes)
{
    const uint32_t lrm = EPU_LOW(pair_lrm_lanes), lanes = EPU_HIGH(pair_lrm_lanes);
    const uint32_t read_lanes = b->lane_stride == 0 && lanes > 0 ? 1 : lanes;
    uint64_t bytes;
    uint32_t l;
    if (!block_check(e, b, lanes))
        return;
    bytes = (uint64_t)b->rows * (uint64_t)b->row_bytes;
    EPU_COST(e, EPU_HW(e, unit_overhead) + EPU_CEIL(read_lanes * bytes, EPU_HW(e, arr_port_bytes)));
    if (lanes == 0 || bytes == 0 || !epu_lrm(e, lrm, bytes, 1))
        return;
    for (l = 0; l < read_lanes; l++)
        if (!block_lane(e, b, (int64_t)ocm + (int64_t)l * b->lane_stride,
                        epu_lane(e, (int32_t)l) + lrm, 1))
            return;
    for (; l < lanes; l++)
        memcpy(epu_lane(e, (int32_t)l) + lrm, epu_lane(e, 0) + lrm, (size_t)bytes);
}

#endif
