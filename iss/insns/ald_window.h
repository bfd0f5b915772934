/* SPDX-License-Identifier: Apache-2.0 */
/* Lane l takes the window of output pixel first_pixel + l. */
#ifndef EPU_ALD_WINDOW_H
#define EPU_ALD_WINDOW_H

#include "insns/window.h"

static inline void insn_ald_window(epu *e, const ccl_window *w, uint32_t first_pixel,
                                   uint32_t pair_lrm_lanes)
{
    const uint32_t lrm = EPU_LOW(pair_lrm_lanes), lanes = EPU_HIGH(pair_lrm_lanes);
    uint32_t l;
    if (!window_check(e, w) || !epu_check(e, lanes <= (uint32_t)e->lanes, "more lanes than PEs"))
        return;
    EPU_COST(e, EPU_HW(e, unit_overhead) +
                    EPU_CEIL((uint64_t)lanes * (uint64_t)w->kh * (uint64_t)w->kw * (uint64_t)w->c,
                             EPU_HW(e, arr_port_bytes)));
    if (lanes == 0 || !epu_lrm(e, lrm, (uint64_t)w->kh * window_row_bytes(e, w), 1))
        return;
    for (l = 0; l < lanes; l++)
        if (!window_gather(e, w, (uint64_t)first_pixel + l, epu_lane(e, (int32_t)l) + lrm))
            return;
}

#endif
