/* SPDX-License-Identifier: Apache-2.0 */
/* Operations from here on belong to the layer. */
#ifndef EPU_MARK_H
#define EPU_MARK_H

#include "insns/epu.h"

static inline void insn_mark(epu *e, uint32_t layer)
{
    if (!epu_check(e, layer <= EPU_MAX_LAYER, "layer above 65535"))
        return;
    if (e->end_layer)
        e->end_layer(e);
    e->layer = layer;
    EPU_COST(e, 0);
}

#endif
