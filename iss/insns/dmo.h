/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copy OCM to DDR. */
#ifndef EPU_DMO_H
#define EPU_DMO_H

#include "insns/dma.h"

static inline void insn_dmo(epu *e, const ccl_dma *d)
{
    dma_copy(e, d, 0);
}

#endif
