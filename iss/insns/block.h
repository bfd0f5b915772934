/* SPDX-License-Identifier: Apache-2.0
 *
 * block.h - the block per lane (ccl_block) shared by ald and ast: rows of one lane between OCM and LRM.
 */
#ifndef EPU_BLOCK_H
#define EPU_BLOCK_H

#include "insns/epu.h"

static inline int block_check(epu *e, const ccl_block *b, uint32_t lanes)
{
    return epu_check(e, lanes <= (uint32_t)e->lanes, "more lanes than PEs") &&
           epu_check(e,
                     b->rows >= 0 && b->row_bytes >= 0 &&
                         (int64_t)b->rows * b->row_bytes <= e->lrm_size,
                     "block is negative or above lrm_size");
}

/* Lane l's rows from OCM to LRM (load) or back. */
static inline int block_lane(epu *e, const ccl_block *b, int64_t ocm, int8_t *lrm, int load)
{
    int32_t r;
    for (r = 0; r < b->rows; r++) {
        uint8_t *row = epu_ocm(e, ocm + (int64_t)r * b->row_stride, (uint64_t)b->row_bytes, !load);
        int8_t *local = lrm + (int64_t)r * b->row_bytes;
        if (!row)
            return 0;
        if (load)
            memcpy(local, row, (size_t)b->row_bytes);
        else
            memcpy(row, local, (size_t)b->row_bytes);
    }
    return 1;
}

#endif
