/* SPDX-License-Identifier: Apache-2.0
 *
 * iss.h - the instruction set simulator: runs an RV32IMF ELF with the array instructions of isa/isa.def, gives
 * values, cycles and per-layer figures. Function happens in program order when an instruction issues; time is
 * closed-form (docs/machine.md); values never depend on time. A guest fault is a result, not an error.
 */
#ifndef ISS_H
#define ISS_H

#include "cgc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct iss_machine iss_machine;

typedef enum iss_reason {
    ISS_RUNNING,
    ISS_EXIT,     /* ecall with a7 = 93; code = a0 */
    ISS_ILLEGAL,  /* unknown instruction or unusable operand */
    ISS_ACCESS,   /* address outside the memory map */
    ISS_DEADLOCK, /* a wait for a count that no earlier post reaches */
    ISS_RACE,     /* two unordered conflicting accesses (race detector on) */
    ISS_LIMIT     /* instruction budget used up, or no memory for the simulator */
} iss_reason;

typedef struct iss_stop {
    iss_reason reason;
    uint32_t code;
    uint32_t pc;
    uint32_t address;
    uint32_t layer;
    const char *symbol;  /* function of the ELF that pc lies in, or "" */
    const char *message; /* one sentence; with file:line when the ELF has line records */
} iss_stop;

/* Queues of ccl_epu.h plus the scalar core, in this order. */
enum { ISS_Q_DMI, ISS_Q_DMO, ISS_Q_ALD, ISS_Q_AST, ISS_Q_ARR, ISS_Q_SCALAR, ISS_QUEUES };
/* Why a unit did not work: stalls of iss_stats, in this order. busy + sum of stalls = cycles for each queue. */
enum {
    ISS_STALL_IDLE,    /* nothing issued yet */
    ISS_STALL_WAIT,    /* an event */
    ISS_STALL_PORT,    /* OCM-LRM port or DDR taken by another queue */
    ISS_STALL_LATENCY, /* DDR latency not hidden */
    ISS_STALL_FULL,    /* scalar core: the queue it issues to is full */
    ISS_STALLS
};

typedef struct iss_stats {
    uint64_t cycles; /* whole run; of one layer: growth of the completion of ARR and scalar core */
    uint64_t instructions; /* scalar */
    uint64_t macs; /* useful slots are the program's affair: these are lanes*no*k*M as issued */
    uint64_t busy[6];
    uint64_t stall[6][5];
    /* Cycles without work for ARR while it, ALD or the scalar core waited for DMI. */
    uint64_t starved;
    uint64_t ops[6];
    uint64_t ddr_read_bytes, ddr_write_bytes; /* as transferred, whole bursts */
    uint64_t ocm_peak_bytes, lrm_peak_bytes;  /* highest offset touched + 1 */
} iss_stats;

/* hw is copied. NULL on failure (ctx has the error). */
iss_machine *iss_new(cgc_ctx *ctx, const cgc_hw *hw);
void iss_free(iss_machine *m);
/* Once per machine. Loads PT_LOAD segments; CGC_E_FORMAT or CGC_E_LIMIT for a malformed or unsuitable file. */
cgc_status iss_load_elf(iss_machine *m, const void *data, size_t bytes);
cgc_status iss_write(iss_machine *m, uint32_t address, const void *data, size_t bytes);
cgc_status iss_read(const iss_machine *m, uint32_t address, void *data, size_t bytes);
/* Conflicting unordered accesses stop the run (see iss_race_get for continuing mode). */
void iss_set_race_detector(iss_machine *m, int on, int stop_at_first);
/* Called at each mark and at the end with the layer that has just ended, after all its effects. */
typedef void (*iss_mark_fn)(void *ud, iss_machine *m, uint32_t ended_layer);
void iss_set_mark_hook(iss_machine *m, iss_mark_fn fn, void *ud);
/* max_instructions of this call, looked at on taken branches; 0: no limit. After ISS_LIMIT a further call goes on;
 * after any other stop it gives the same stop again. */
cgc_status iss_run(iss_machine *m, uint64_t max_instructions, iss_stop *out_stop);
void iss_get_stats(const iss_machine *m, iss_stats *out_total);
int32_t iss_layer_count(const iss_machine *m); /* highest mark + 1 */
void iss_get_layer_stats(const iss_machine *m, int32_t layer, iss_stats *out_stats);
/* Races found so far: both places as "symbol+offset (file:line)". */
typedef struct iss_race {
    const char *first, *second;
    int32_t first_queue, second_queue;
    uint32_t address;
    int32_t space; /* 0 DDR, 1 OCM, 2 LRM, 3 accumulators */
} iss_race;
int32_t iss_race_count(const iss_machine *m);
void iss_race_get(const iss_machine *m, int32_t i, iss_race *out_race);
/* With the race detector on: how often the wait, swait or drain at pc ran, and how many of these runs ordered
 * anything that was not ordered before; zeros for other places. */
void iss_wait_get(const iss_machine *m, uint32_t pc, uint64_t *out_runs, uint64_t *out_ordering);

#ifdef __cplusplus
}
#endif
#endif
