/* SPDX-License-Identifier: Apache-2.0 */
/* acc[o] = LRM times broadcast weights of OCM. */
#ifndef EPU_MAC_WEIGHTS_FIRST_H
#define EPU_MAC_WEIGHTS_FIRST_H

#include "insns/mac.h"

static inline void insn_mac_weights_first(epu *e, uint32_t ocm, uint32_t pair_k_no, uint32_t lrm)
{
    mac_from_weights(e, ocm, pair_k_no, lrm, 1);
}

#endif
