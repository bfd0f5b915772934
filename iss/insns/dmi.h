/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copy DDR to OCM. */
#ifndef EPU_DMI_H
#define EPU_DMI_H

#include "insns/dma.h"

static inline void insn_dmi(epu *e, const ccl_dma *d)
{
    dma_copy(e, d, 1);
}

#endif
