/* SPDX-License-Identifier: Apache-2.0 */
/* In a queue: the event counts one more when everything before it in the queue is complete. */
#ifndef EPU_POST_H
#define EPU_POST_H

#include "insns/epu.h"

static inline void insn_post(epu *e, uint32_t queue, uint32_t event)
{
    if (!epu_check(e, queue < CCL_QUEUES && event < EPU_EVENTS, "no such queue or event"))
        return;
    /* Counts of two queues would mix in an order that only time decides. */
    if (!epu_check(e, e->posters[event] == 0 || e->posters[event] == queue + 1,
                   "event is posted by another queue already"))
        return;
    e->posters[event] = queue + 1;
    e->events[event]++;
    EPU_COST(e, 1);
}

#endif
