/* SPDX-License-Identifier: Apache-2.0 */
/* Low 32 bits of the cycle counter: rd of the simulator, which knows the time; 0 elsewhere. */
#ifndef EPU_CYCLES_H
#define EPU_CYCLES_H

#include "insns/epu.h"

static inline void insn_cycles(epu *e)
{
    (void)e;
    EPU_COST(e, 1);
}

#endif
