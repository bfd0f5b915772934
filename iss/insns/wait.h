/* SPDX-License-Identifier: Apache-2.0 */
/* In a queue: later operations start after the event has counted; the posts must come earlier in the program. */
#ifndef EPU_WAIT_H
#define EPU_WAIT_H

#include "insns/epu.h"

static inline void insn_wait(epu *e, uint32_t queue, uint32_t event, uint32_t count)
{
    if (!epu_check(e, queue < CCL_QUEUES && event < EPU_EVENTS, "no such queue or event"))
        return;
    if (count > e->events[event])
        epu_fail(e, EPU_DEADLOCK, event, "wait for a count that no earlier post reaches");
    EPU_COST(e, 1);
}

#endif
