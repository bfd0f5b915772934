/* SPDX-License-Identifier: Apache-2.0
 *
 * dma.h - the strided copy shared by dmi and dmo. A copy moves at most CCL_DDR_MAX_BYTES in at most
 * DMA_MAX_ROWS rows, so that no descriptor runs for ever.
 */
#ifndef EPU_DMA_H
#define EPU_DMA_H

#include "insns/epu.h"

enum { DMA_MAX_ROWS = 1 << 24 };

static inline int dma_check(epu *e, const ccl_dma *d)
{
    const uint64_t rows = (uint64_t)d->n1 * d->n2;
    return epu_check(e, rows <= DMA_MAX_ROWS && rows * d->n0 <= CCL_DDR_MAX_BYTES,
                     "copy of more than 2^24 rows or 2^30 bytes");
}

static inline int dma_row(epu *e, const ccl_dma *d, uint32_t i1, uint32_t i2, int to_ocm)
{
    const int64_t from = (int64_t)d->src + (int64_t)i1 * d->src_s1 + (int64_t)i2 * d->src_s2;
    const int64_t to = (int64_t)d->dst + (int64_t)i1 * d->dst_s1 + (int64_t)i2 * d->dst_s2;
    uint8_t *ocm = epu_ocm(e, to_ocm ? to : from, d->n0, to_ocm);
    uint8_t *ddr = ocm ? epu_ddr(e, to_ocm ? from : to, d->n0, !to_ocm) : 0;
    if (!ddr)
        return 0;
    memcpy(to_ocm ? ocm : ddr, to_ocm ? ddr : ocm, d->n0);
    return 1;
}

static inline void dma_copy(epu *e, const ccl_dma *d, int to_ocm)
{
    uint32_t i1, i2;
    if (!dma_check(e, d))
        return;
    EPU_MOVED(e, (uint64_t)d->n1 * d->n2 * EPU_CEIL(d->n0, EPU_HW(e, ddr_burst)) *
                     EPU_HW(e, ddr_burst));
    EPU_COST(e, EPU_CEIL(e->moved, EPU_HW(e, ddr_bytes_per_cycle)));
    if (d->n0 == 0 || d->n1 == 0)
        return;
    for (i2 = 0; i2 < d->n2; i2++)
        for (i1 = 0; i1 < d->n1; i1++)
            if (!dma_row(e, d, i1, i2, to_ocm))
                return;
}

#endif
