/* SPDX-License-Identifier: Apache-2.0 */
/* In a queue: the event counts one more when everything before it in the queue is complete. */
#ifndef EPU_POST_H
#define EPU_POST_H

#include "insns/epu.h"

static inline void insn_post(epu *e, uint32_t queue, uint32_t event)
{
    if (!epu_check(e, queue < CCL_QUEUES && event < EPU_EVENTS, "no such queue or event"))
        return;
    e->events[event]++;
    EPU_COST(e, 1);
}

#endif
