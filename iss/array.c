/* SPDX-License-Identifier: Apache-2.0
 *
 * array.c - one array instruction: its operands are read, its body (iss/insns) runs at once, then its time and its
 * place in the order of events are noted. The list comes from isa/isa.def.
 */
#include "machine.h"

#include "iss_insn.inc"

enum {
    QUEUE_DMI = CCL_DMI,
    QUEUE_DMO = CCL_DMO,
    QUEUE_ALD = CCL_ALD,
    QUEUE_AST = CCL_AST,
    QUEUE_ARR = CCL_ARR,
    QUEUE_QUEUE,
    QUEUE_SCALAR
};
enum { MAX_DESCRIPTOR = 128 };

typedef struct array_insn {
    uint32_t queue, descriptor_bytes;
    void (*body)(epu *e, const void *descriptor, const uint32_t *operands);
} array_insn;

static const array_insn insns[] = {
#define ROW(name, f3, f2, queue, bytes) {QUEUE_##queue, bytes, call_##name},
    ISS_INSN_LIST(ROW)
#undef ROW
};
enum {
#define ROW(name, f3, f2, queue, bytes) INSN_##name,
    ISS_INSN_LIST(ROW)
#undef ROW
        INSN_COUNT
};

/* Two lines with one encoding do not compile. */
static uint32_t find(uint32_t functions)
{
    switch (functions) {
#define ROW(name, f3, f2, queue, bytes)                                                            \
    case (f3) * 4 + (f2):                                                                          \
        return INSN_##name;
        ISS_INSN_LIST(ROW)
#undef ROW
    default:
        return INSN_COUNT;
    }
}

static bool body_fault(iss_machine *m, uint32_t pc)
{
    static const iss_reason reasons[] = {ISS_RUNNING, ISS_ILLEGAL, ISS_ACCESS, ISS_DEADLOCK};
    const epu *e = &m->array;
    return iss_fault(m, reasons[e->fault], pc, e->fault_address, e->fault_text);
}

/* The descriptor is read by the scalar core, wherever it lies. */
static bool read_descriptor(iss_machine *m, uint32_t address, uint32_t bytes, uint32_t pc, void *to)
{
    const uint8_t *p = iss_memory(m, address, bytes);
    if (!p || bytes > MAX_DESCRIPTOR)
        return iss_fault(m, ISS_ACCESS, pc, address, "descriptor outside RAM, OCM and DDR");
    memcpy(to, p, bytes);
    if (address - CCL_RAM_BASE < CCL_RAM_BYTES)
        return true;
    m->time.now +=
        (uint64_t)(address >= CCL_DDR_BASE ? m->hw.scalar_ddr_cycles : m->hw.scalar_ocm_cycles);
    return !m->race || race_scalar_access(m, address, bytes, false, pc);
}

/* Everything the array does in a queue but post and wait. */
static bool exec_operation(iss_machine *m, const array_insn *in, const uint32_t *x, uint32_t pc)
{
    epu *e = &m->array;
    uint64_t descriptor[MAX_DESCRIPTOR / 8]; /* aligned for any descriptor */
    if (in->descriptor_bytes && !read_descriptor(m, x[0], in->descriptor_bytes, pc, descriptor))
        return false;
    if (m->race && !race_issue(m, in->queue, pc))
        return false;
    e->cost = e->macs = e->moved = 0;
    fpu_collect(&m->cpu);
    in->body(e, descriptor, x);
    fpu_forget();
    if (e->fault != EPU_OK)
        return body_fault(m, pc);
    if (m->race && !race_done(m))
        return false;
    time_issue(m, in->queue);
    time_operation(m, in->queue, e->cost);
    m->total.macs += e->macs;
    if (in->queue == CCL_DMI)
        m->total.ddr_read_bytes += e->moved;
    else if (in->queue == CCL_DMO)
        m->total.ddr_write_bytes += e->moved;
    return true;
}

static bool exec_post_wait(iss_machine *m, uint32_t insn, const uint32_t *x, uint32_t pc)
{
    insns[insn].body(&m->array, NULL, x);
    if (m->array.fault != EPU_OK)
        return body_fault(m, pc);
    time_issue(m, x[0]);
    if (insn == INSN_post) {
        if (!time_post(m, x[0], x[1]))
            return iss_no_memory(m, pc, "no memory for more posts");
        return !m->race || race_post(m, x[0], x[1], pc);
    }
    time_wait(m, x[0], x[1], x[2]);
    return !m->race || race_wait(m, x[0], x[1], x[2], pc);
}

static bool exec_scalar(iss_machine *m, uint32_t insn, uint8_t rd, const uint32_t *x, uint32_t pc)
{
    epu *e = &m->array;
    const uint32_t layer = e->layer;
    insns[insn].body(e, NULL, x);
    if (e->fault != EPU_OK)
        return body_fault(m, pc);
    switch (insn) {
    case INSN_swait:
        time_scalar_wait(m, time_event(m, x[0], x[1]));
        return !m->race || race_wait(m, ISS_Q_SCALAR, x[0], x[1], pc);
    case INSN_drain:
        time_scalar_wait(m, time_completed(m));
        return !m->race || race_drain(m, pc);
    case INSN_cycles:
        m->cpu.x[rd] = (uint32_t)m->time.now;
        m->time.now++;
        return true;
    default: /* mark */
        return stats_end_layer(m, layer) || iss_no_memory(m, pc, "no memory for more layers");
    }
}

bool array_exec(iss_machine *m, const iss_code *c, uint32_t pc)
{
    const uint32_t insn = find(c->rm);
    const uint32_t x[3] = {m->cpu.x[c->rs1], m->cpu.x[c->rs2], m->cpu.x[c->rs3]};
    m->cpu.pc = pc;
    if (insn == INSN_COUNT)
        return iss_fault(m, ISS_ILLEGAL, pc, c->rm, "unknown array instruction");
    if (insns[insn].queue == QUEUE_QUEUE)
        return exec_post_wait(m, insn, x, pc);
    if (insns[insn].queue == QUEUE_SCALAR)
        return exec_scalar(m, insn, c->rd, x, pc);
    return exec_operation(m, &insns[insn], x, pc);
}
