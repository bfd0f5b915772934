/* SPDX-License-Identifier: Apache-2.0
 *
 * mac.h - the multiply-accumulate of every lane with a broadcast operand, shared by the four mac instructions:
 * acc[lane][o] (+)= sum over i < bytes of LRM[lane][lrm + i] * b[o][i].
 * Both operands are widened to int16 per chunk so that compilers vectorise the dot product; a chunk's
 * sum fits int32 (512 * 2^14 = 2^23), only the accumulator wraps.
 */
#ifndef EPU_MAC_H
#define EPU_MAC_H

#include "insns/epu.h"

enum { MAC_CHUNK = 512 };

static inline void mac_widen(const int8_t *from, int16_t *to, uint32_t n)
{
    uint32_t i;
    for (i = 0; i < n; i++)
        to[i] = from[i];
}

static inline int32_t mac_dot(const int16_t *a, const int16_t *b, uint32_t n)
{
    int32_t s = 0;
    uint32_t i;
    for (i = 0; i < n; i++)
        s += (int32_t)a[i] * (int32_t)b[i];
    return s;
}

/* n elements of each of no broadcast rows, widened, at rows of MAC_CHUNK. */
static inline void mac_lane(const int16_t *a, const int16_t *b, uint32_t n, uint32_t no,
                            int32_t *acc)
{
    uint32_t o;
    for (o = 0; o < no; o++)
        acc[o] = epu_wrap_add(acc[o], mac_dot(a, b + o * MAC_CHUNK, n));
}

/* b has no rows of bytes each. lrm range and no were checked. */
static inline void mac_broadcast(epu *e, uint32_t lrm, uint32_t bytes, const int8_t *b, uint32_t no)
{
    int16_t wide_b[EPU_MAX_ACC * MAC_CHUNK], wide_a[MAC_CHUNK];
    uint32_t from, o;
    int32_t lane;
    for (from = 0; from < bytes; from += MAC_CHUNK) {
        const uint32_t n = bytes - from < MAC_CHUNK ? bytes - from : MAC_CHUNK;
        for (o = 0; o < no; o++)
            mac_widen(b + (size_t)o * bytes + from, wide_b + o * MAC_CHUNK, n);
        for (lane = 0; lane < e->lanes; lane++) {
            mac_widen(epu_lane(e, lane) + lrm + from, wide_a, n);
            mac_lane(wide_a, wide_b, n, no, epu_accs(e, lane));
        }
    }
}

static inline void mac_clear(epu *e, uint32_t no)
{
    int32_t lane;
    for (lane = 0; lane < e->lanes; lane++)
        memset(epu_accs(e, lane), 0, (size_t)no * sizeof(int32_t));
}

/* mac_weights and mac_weights_first. */
static inline void mac_from_weights(epu *e, uint32_t ocm, uint32_t pair_k_no, uint32_t lrm,
                                    int first)
{
    const uint32_t k = EPU_LOW(pair_k_no), no = EPU_HIGH(pair_k_no);
    const uint32_t bytes = k * (uint32_t)e->macs_per_pe;
    const uint8_t *weights;
    if (!epu_acc(e, no, 1) || !epu_lrm(e, lrm, bytes, 0))
        return;
    weights = epu_ocm(e, ocm, (uint64_t)no * bytes, 0);
    if (!weights)
        return;
    if (first)
        mac_clear(e, no);
    mac_broadcast(e, lrm, bytes, (const int8_t *)weights, no);
    e->macs = (uint64_t)e->lanes * no * bytes;
    EPU_COST(e, EPU_HW(e, unit_overhead) + (uint64_t)no * k);
}

#include "insns/window.h"

/* mac_window and mac_window_first. */
static inline void mac_from_window(epu *e, const ccl_window *w, uint32_t first_pixel,
                                   uint32_t pair_lrm_no, int first)
{
    const uint32_t lrm = EPU_LOW(pair_lrm_no), no = EPU_HIGH(pair_lrm_no);
    uint32_t bytes, o;
    if (!window_check(e, w) || !epu_acc(e, no, 1))
        return;
    bytes = (uint32_t)((uint64_t)w->kh * window_row_bytes(e, w));
    if (!epu_lrm(e, lrm, bytes, 0))
        return;
    for (o = 0; o < no; o++)
        if (!window_gather(e, w, (uint64_t)first_pixel + o, e->scratch + (size_t)o * bytes))
            return;
    if (first)
        mac_clear(e, no);
    mac_broadcast(e, lrm, bytes, e->scratch, no);
    e->macs = (uint64_t)e->lanes * no * bytes;
    EPU_COST(e, EPU_HW(e, unit_overhead) + (uint64_t)no * (bytes / (uint32_t)e->macs_per_pe));
}

#endif
