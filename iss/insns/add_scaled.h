/* SPDX-License-Identifier: Apache-2.0 */
/* LRM[dst + i] = round_clamp((dequantize(a) + dequantize(b)) * y_scale), int8, i ascending.
 * The loop stands in add.h too: a file here is the whole meaning of one instruction. */
#ifndef EPU_ADD_SCALED_H
#define EPU_ADD_SCALED_H

#include "insns/epu.h"

static inline void insn_add_scaled(epu *e, const ccl_binary *b, uint32_t pair_a_b,
                                   uint32_t pair_dst_n)
{
    const uint32_t at_a = EPU_LOW(pair_a_b), at_b = EPU_HIGH(pair_a_b);
    const uint32_t dst = EPU_LOW(pair_dst_n), n = EPU_HIGH(pair_dst_n);
    uint32_t i;
    int32_t l;
    if (!epu_check_clamp(e, b->y_zp, b->lo, b->hi) || !epu_check_clamp(e, b->a_zp, -128, 127) ||
        !epu_check_clamp(e, b->b_zp, -128, 127) || !epu_lrm(e, at_a, n, 0) ||
        !epu_lrm(e, at_b, n, 0) || !epu_lrm(e, dst, n, 1))
        return;
    for (l = 0; l < e->lanes; l++) {
        int8_t *local = epu_lane(e, l);
        for (i = 0; i < n; i++) {
            const float x = ccl_dequantize(local[at_a + i], b->a_scale, b->a_zp);
            const float y = ccl_dequantize(local[at_b + i], b->b_scale, b->b_zp);
            const float sum = x + y;
            local[dst + i] = ccl_round_clamp(sum * b->y_scale, b->y_zp, b->lo, b->hi);
        }
    }
    EPU_COST(e, EPU_HW(e, unit_overhead) + EPU_CEIL((uint64_t)n * 8, EPU_HW(e, fp_lanes)));
}

#endif
