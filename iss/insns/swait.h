/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar core waits until the event has counted; the posts must come earlier in the program. */
#ifndef EPU_SWAIT_H
#define EPU_SWAIT_H

#include "insns/epu.h"

static inline void insn_swait(epu *e, uint32_t event, uint32_t count)
{
    if (!epu_check(e, event < EPU_EVENTS, "no such event"))
        return;
    if (count > e->events[event])
        epu_fail(e, EPU_DEADLOCK, event, "wait for a count that no earlier post reaches");
    EPU_COST(e, 0);
}

#endif
