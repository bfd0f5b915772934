/* SPDX-License-Identifier: Apache-2.0 */
/* acc[o] += LRM times the broadcast window of pixel first_pixel + o. */
#ifndef EPU_MAC_WINDOW_H
#define EPU_MAC_WINDOW_H

#include "insns/mac.h"

static inline void insn_mac_window(epu *e, const ccl_window *w, uint32_t first_pixel,
                                   uint32_t pair_lrm_no)
{
    mac_from_window(e, w, first_pixel, pair_lrm_no, 0);
}

#endif
