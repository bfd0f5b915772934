/* SPDX-License-Identifier: Apache-2.0
 *
 * epu.h - the state of one array of processing elements and the small interface through which the instruction
 * bodies in this folder reach it. The simulator and ccl_epu_host.c include the same bodies, so an
 * instruction has one meaning. Every access is checked: a body that gets NULL has faulted and returns with
 * nothing more done. Integer sums wrap like int32. Bodies also state their cost (EPU_COST), which only the
 * simulator (EPU_SIMULATOR defined) evaluates; values never depend on it.
 */
#ifndef EPU_H
#define EPU_H

#include "ccl_epu.h"
#include "requant.h"

#include <string.h>

enum { EPU_EVENTS = 32, EPU_MAX_ACC = 64, EPU_MAX_LAYER = 65535 };
enum { EPU_DDR, EPU_OCM, EPU_LRM, EPU_ACC }; /* spaces, as in iss_race */

typedef enum epu_fault_kind {
    EPU_OK,
    EPU_BAD_OPERAND,
    EPU_BAD_ADDRESS,
    EPU_DEADLOCK
} epu_fault_kind;

typedef struct epu {
    /* Geometry (isa/hwconfig.def). */
    int32_t lanes, macs_per_pe, lrm_size, num_acc;
    int8_t *lrm;     /* [lanes][lrm_size] */
    int32_t *acc;    /* [lanes][num_acc] */
    int8_t *scratch; /* [num_acc][lrm_size]: broadcast windows */
    uint8_t *ocm, *ddr;
    uint32_t ocm_bytes, ddr_bytes;
    uint32_t events[EPU_EVENTS];  /* posts so far, in program order */
    uint32_t posters[EPU_EVENTS]; /* 1 + the queue that posts the event, 0: none yet */
    uint32_t layer;
    /* First fault; sticky. */
    epu_fault_kind fault;
    uint32_t fault_address;
    const char *fault_text;
    /* What the last instruction did, for timing and statistics. */
    uint64_t cost, macs, moved; /* cycles, multiply-accumulates, DDR bytes in whole bursts */
    uint64_t ocm_peak, lrm_peak;
    /* Simulator only, NULL elsewhere: parameters, DDR that grows, the race detector. */
    const struct cgc_hw *hw;
    int (*grow_ddr)(struct epu *e, uint64_t bytes); /* nonzero: ddr_bytes >= bytes now */
    void (*touch)(struct epu *e, int space, uint32_t offset, uint32_t bytes, int write);
    void *owner;
    void (*end_layer)(struct epu *e); /* called by mark before the layer changes; may be NULL */
} epu;

#if defined(EPU_SIMULATOR)
#define EPU_COST(e, cycles) ((e)->cost = (uint64_t)(cycles))
#define EPU_MOVED(e, bytes) ((e)->moved = (uint64_t)(bytes))
#define EPU_HW(e, name) ((uint64_t)(e)->hw->name)
#define EPU_CEIL(a, b) (((uint64_t)(a) + (uint64_t)(b) - 1) / (uint64_t)(b))
#else
#define EPU_COST(e, cycles) ((void)0)
#define EPU_MOVED(e, bytes) ((void)0)
#endif

#define EPU_LOW(pair) ((pair) & 0xffffu)
#define EPU_HIGH(pair) ((pair) >> 16)

static inline void epu_fail(epu *e, epu_fault_kind kind, uint32_t address, const char *text)
{
    if (e->fault == EPU_OK) {
        e->fault = kind;
        e->fault_address = address;
        e->fault_text = text;
    }
}

/* bytes of OCM at a machine address; NULL after a fault. */
static inline uint8_t *epu_ocm(epu *e, int64_t address, uint64_t bytes, int write)
{
    const int64_t offset = address - (int64_t)CCL_OCM_BASE;
    if (offset < 0 || (uint64_t)offset > e->ocm_bytes || bytes > e->ocm_bytes - (uint64_t)offset) {
        epu_fail(e, EPU_BAD_ADDRESS, (uint32_t)address, "address outside OCM");
        return 0;
    }
    if ((uint64_t)offset + bytes > e->ocm_peak)
        e->ocm_peak = (uint64_t)offset + bytes;
    if (e->touch)
        e->touch(e, EPU_OCM, (uint32_t)offset, (uint32_t)bytes, write);
    return e->ocm + offset;
}

/* bytes of DDR at a machine address; NULL after a fault. Valid until the next call. */
static inline uint8_t *epu_ddr(epu *e, int64_t address, uint64_t bytes, int write)
{
    const int64_t offset = address - (int64_t)CCL_DDR_BASE;
    if (offset < 0 || bytes > CCL_DDR_MAX_BYTES || (uint64_t)offset > CCL_DDR_MAX_BYTES - bytes ||
        ((uint64_t)offset + bytes > e->ddr_bytes &&
         (!e->grow_ddr || !e->grow_ddr(e, (uint64_t)offset + bytes)))) {
        epu_fail(e, EPU_BAD_ADDRESS, (uint32_t)address, "address outside DDR");
        return 0;
    }
    if (e->touch)
        e->touch(e, EPU_DDR, (uint32_t)offset, (uint32_t)bytes, write);
    return e->ddr + offset;
}

/* Checks [offset, offset + bytes) of LRM, the same in each PE. Lane l then is epu_lane(e, l) + offset. */
static inline int epu_lrm(epu *e, uint64_t offset, uint64_t bytes, int write)
{
    if (offset > (uint64_t)e->lrm_size || bytes > (uint64_t)e->lrm_size - offset) {
        epu_fail(e, EPU_BAD_ADDRESS, (uint32_t)offset, "address outside LRM");
        return 0;
    }
    if (offset + bytes > e->lrm_peak)
        e->lrm_peak = offset + bytes;
    if (e->touch)
        e->touch(e, EPU_LRM, (uint32_t)offset, (uint32_t)bytes, write);
    return 1;
}

static inline int8_t *epu_lane(epu *e, int32_t lane)
{
    return e->lrm + (size_t)lane * (size_t)e->lrm_size;
}

/* Checks accumulators 0..count-1. Those of lane l then are epu_accs(e, l). */
static inline int epu_acc(epu *e, uint64_t count, int write)
{
    if (count > (uint64_t)e->num_acc) {
        epu_fail(e, EPU_BAD_OPERAND, (uint32_t)count, "more accumulators than num_acc");
        return 0;
    }
    if (e->touch)
        e->touch(e, EPU_ACC, 0, (uint32_t)count * 4, write);
    return 1;
}

static inline int32_t *epu_accs(epu *e, int32_t lane)
{
    return e->acc + (size_t)lane * (size_t)e->num_acc;
}

static inline int epu_check(epu *e, int good, const char *text)
{
    if (!good)
        epu_fail(e, EPU_BAD_OPERAND, 0, text);
    return good;
}

static inline int32_t epu_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t epu_load_i32(const int8_t *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline float epu_load_f32(const int8_t *p)
{
    float v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* zp, lo, hi of a clamp as ccl_round_clamp wants them. */
static inline int epu_check_clamp(epu *e, int32_t zp, int32_t lo, int32_t hi)
{
    return epu_check(e, zp >= -128 && zp <= 127 && lo >= -128 && lo <= hi && hi <= 127,
                     "zero point or clamp is not int8, or the clamp is empty");
}

static inline int32_t epu_clamp_part(uint32_t clamp, int part)
{
    const int32_t v = (int32_t)((clamp >> (8 * part)) & 255u);
    return v < 128 ? v : v - 256;
}

#endif
