/* SPDX-License-Identifier: Apache-2.0
 *
 * machine.h - private to iss/: the state of one simulated machine and the functions between its files.
 * Function happens when an instruction issues; time is kept beside it and never changes a value. A guest
 * fault is recorded in machine->stop and ends the run; it is no error of the simulator.
 */
#ifndef ISS_MACHINE_H
#define ISS_MACHINE_H

#include "base/base.h"
#include "iss.h"

#define EPU_SIMULATOR
#include "insns/epu.h"

typedef enum iss_op {
#define RV(name, match, mask, immediate, flags, cost) ISS_OP_##name,
#include "rv32.def"
#undef RV
    ISS_OP_COUNT
} iss_op;

/* One predecoded instruction. rd 32 is a sink for x0. */
typedef struct iss_code {
    uint8_t op; /* iss_op */
    uint8_t rd, rs1, rs2, rs3;
    uint8_t rm; /* float rounding mode; array instruction: funct3 * 4 + funct2; CSR: immediate */
    uint16_t load_use; /* cycles in cost that vanish when a jump leads here */
    int32_t imm;
    uint32_t cost; /* cycles, load-use of the instruction before included */
} iss_code;

/* Scalar core. */
typedef struct iss_cpu {
    uint32_t x[33], f[32];
    uint32_t pc;
    uint32_t frm, fflags; /* flags of the host's float unit are added when they are read */
    bool started;
} iss_cpu;

typedef struct iss_queue {
    uint64_t end;      /* completion of the last operation */
    uint64_t ready;    /* latest event time waited for */
    uint64_t ring[64]; /* completion of the last queue_depth operations */
    uint32_t ring_at;
} iss_queue;

/* times[i]: when the event has counted i + 1. Grows without moving what race clocks mean. */
typedef struct iss_event {
    uint64_t *times;
    size_t count, cap;
} iss_event;

typedef struct iss_span {
    uint64_t from, to;
} iss_span;

typedef struct iss_time {
    uint64_t now;      /* scalar core */
    uint64_t port_end; /* OCM-LRM port */
    uint64_t ddr_end;
    iss_queue queues[CCL_QUEUES];
    iss_event events[EPU_EVENTS];
    iss_span for_dmi[64]; /* latest spans in which ALD, ARR or the scalar core waited for DMI */
    uint32_t for_dmi_at;
} iss_time;

typedef struct iss_elf { /* own copy of the file; offsets are checked */
    uint8_t *data;
    size_t bytes;
    uint32_t entry;
    size_t symtab, symtab_bytes, strtab, strtab_bytes;
    size_t line, line_bytes, str, str_bytes, line_str, line_str_bytes; /* .debug_* */
} iss_elf;

struct race;

struct iss_machine {
    cgc_ctx *ctx;
    cgc_hw hw;
    epu array;
    uint8_t *ram;
    void *array_memory;
    iss_cpu cpu;
    iss_time time;
    iss_elf elf;
    uint32_t code_base, code_count; /* instructions from code_base on */
    iss_code *code;
    uint64_t instructions, max_instructions;
    iss_stop stop;
    char message[768];
    /* Statistics: totals so far, their value at the last mark, and per layer. */
    iss_stats total, at_mark, *layers;
    int32_t n_layers, cap_layers;
    uint64_t completed_at_mark, ocm_peak, lrm_peak;
    iss_mark_fn mark_fn;
    void *mark_ud;
    bool out_of_memory; /* the run cannot go on */
    struct race *race;  /* NULL: off */
};

/* machine.c */
/* Records the first fault; text may be NULL. Always returns false. */
bool iss_fault(iss_machine *m, iss_reason reason, uint32_t pc, uint32_t address, const char *text);
/* Ends the run for good; ISS_LIMIT is its reason. Always returns false. */
bool iss_no_memory(iss_machine *m, uint32_t pc, const char *text);
/* bytes behind a guest address (RAM, OCM, DDR), NULL if not all of them lie in one memory. */
uint8_t *iss_memory(iss_machine *m, uint32_t address, uint32_t bytes);

/* elf.c: symbols and files; lines.c: .debug_line */
cgc_status elf_load(iss_machine *m, const uint8_t *data, size_t bytes);
const char *elf_symbol(const iss_machine *m, uint32_t pc, uint32_t *out_offset); /* "" if none */
/* Writes "file:line" of pc, or "" if there is no record of it. */
void lines_find(const iss_elf *elf, uint32_t pc, char *out, size_t out_bytes);
/* "symbol+0x10 (file:line)" */
void iss_place(const iss_machine *m, uint32_t pc, char *out, size_t out_bytes);

/* decode.c */
void decode_range(iss_machine *m);
/* cpu.c: runs until the stop is set. */
void cpu_run(iss_machine *m);

/* fpu.c: float32 on bit patterns; flags go to cpu->fflags or stay in the host's unit until fpu_collect. */
uint32_t fpu_arith(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t b, uint32_t c, uint32_t rm);
uint32_t fpu_compare(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t b);
uint32_t fpu_min_max(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t b);
uint32_t fpu_classify(uint32_t a);
uint32_t fpu_to_int(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t rm);
uint32_t fpu_from_int(iss_cpu *cpu, iss_op op, uint32_t a, uint32_t rm);
bool fpu_mode_usable(const iss_cpu *cpu, uint32_t rm, bool arithmetic);
void fpu_collect(iss_cpu *cpu); /* host flags -> cpu->fflags */
void fpu_forget(void);          /* drops flags that array operations raised */

/* array.c: one array instruction. false: stopped. */
bool array_exec(iss_machine *m, const iss_code *c, uint32_t pc);

/* timing.c */
void time_issue(iss_machine *m, uint32_t queue); /* one cycle of the scalar core, FULL */
void time_operation(iss_machine *m, uint32_t queue, uint64_t cost);
bool time_post(iss_machine *m, uint32_t queue, uint32_t event); /* false: out of memory */
void time_wait(iss_machine *m, uint32_t queue, uint32_t event, uint32_t count);
void time_scalar_wait(iss_machine *m, uint64_t until);
uint64_t time_event(const iss_machine *m, uint32_t event, uint32_t count);
uint64_t time_completed(const iss_machine *m);
uint64_t time_computed(const iss_machine *m); /* scalar core and ARR only */

/* stats.c */
void stats_settle(iss_machine *m);                    /* totals up to now */
bool stats_end_layer(iss_machine *m, uint32_t layer); /* false: out of memory */
void stats_end_run(iss_machine *m);

/* race.c: all do nothing when the detector is off. false: stopped. */
bool race_new(iss_machine *m, bool stop_at_first);
void race_free(iss_machine *m);
bool race_issue(iss_machine *m, uint32_t queue,
                uint32_t pc);   /* before the body: its accesses follow */
bool race_done(iss_machine *m); /* after the body */
bool race_post(iss_machine *m, uint32_t queue, uint32_t event, uint32_t pc);
bool race_wait(iss_machine *m, uint32_t unit, uint32_t event, uint32_t count, uint32_t pc);
bool race_drain(iss_machine *m, uint32_t pc);
bool race_scalar_access(iss_machine *m, uint32_t address, uint32_t bytes, bool write, uint32_t pc);

#endif
