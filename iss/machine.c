/* SPDX-License-Identifier: Apache-2.0
 *
 * machine.c - the public functions of iss.h: a machine, its memories, the run. The scalar core's RAM is given
 * whole; DDR grows to what is used.
 */
#include "machine.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

bool iss_fault(iss_machine *m, iss_reason reason, uint32_t pc, uint32_t address, const char *text)
{
    if (m->stop.reason != ISS_RUNNING)
        return false;
    char place[256];
    uint32_t offset;
    m->stop = (iss_stop){.reason = reason, .pc = pc, .address = address, .layer = m->array.layer};
    m->stop.symbol = elf_symbol(m, pc, &offset);
    m->stop.message = m->message;
    iss_place(m, pc, place, sizeof place);
    if (text)
        (void)snprintf(m->message, sizeof m->message, "%s (0x%08x) in layer %u at %s", text,
                       address, m->array.layer, place);
    else
        (void)snprintf(m->message, sizeof m->message, "exit at %s", place);
    return false;
}

bool iss_no_memory(iss_machine *m, uint32_t pc, const char *text)
{
    m->out_of_memory = true;
    return iss_fault(m, ISS_LIMIT, pc, 0, text);
}

static int grow_ddr(epu *e, uint64_t bytes)
{
    uint64_t size = e->ddr_bytes ? e->ddr_bytes : 1u << 16;
    while (size < bytes)
        size *= 2;
    size = size > CCL_DDR_MAX_BYTES ? CCL_DDR_MAX_BYTES : size;
    uint8_t *p = realloc(e->ddr, (size_t)size);
    if (!p)
        return 0;
    memset(p + e->ddr_bytes, 0, (size_t)size - e->ddr_bytes);
    e->ddr = p;
    e->ddr_bytes = (uint32_t)size;
    return 1;
}

uint8_t *iss_memory(iss_machine *m, uint32_t address, uint32_t bytes)
{
    epu *e = &m->array;
    if (address - CCL_RAM_BASE < CCL_RAM_BYTES && bytes <= CCL_RAM_BYTES - (address - CCL_RAM_BASE))
        return m->ram + (address - CCL_RAM_BASE);
    if (address - CCL_OCM_BASE < e->ocm_bytes && bytes <= e->ocm_bytes - (address - CCL_OCM_BASE)) {
        const uint64_t end = (uint64_t)(address - CCL_OCM_BASE) + bytes;
        e->ocm_peak = end > e->ocm_peak ? end : e->ocm_peak;
        return e->ocm + (address - CCL_OCM_BASE);
    }
    const uint32_t offset = address - CCL_DDR_BASE;
    if (offset < CCL_DDR_MAX_BYTES && bytes <= CCL_DDR_MAX_BYTES - offset &&
        ((uint64_t)offset + bytes <= e->ddr_bytes || grow_ddr(e, (uint64_t)offset + bytes)))
        return e->ddr + offset;
    return NULL;
}

static bool make_memories(iss_machine *m)
{
    epu *e = &m->array;
    const size_t lanes = (size_t)hw_pes(&m->hw), lrm = (size_t)m->hw.lrm_size,
                 accs = (size_t)m->hw.num_acc;
    *e = (epu){.lanes = (int32_t)lanes,
               .macs_per_pe = m->hw.macs_per_pe,
               .lrm_size = m->hw.lrm_size,
               .num_acc = m->hw.num_acc,
               .ocm_bytes = (uint32_t)m->hw.ocm_size,
               .hw = &m->hw,
               .grow_ddr = grow_ddr,
               .owner = m};
    m->ram = calloc(CCL_RAM_BYTES, 1);
    m->array_memory = calloc(lanes * accs * 4 + lanes * lrm + accs * lrm, 1);
    e->ocm = calloc(e->ocm_bytes, 1);
    if (!m->ram || !m->array_memory || !e->ocm)
        return false;
    e->acc = m->array_memory;
    e->lrm = (int8_t *)m->array_memory + lanes * accs * 4;
    e->scratch = e->lrm + lanes * lrm;
    return true;
}

static iss_machine *new_machine(cgc_ctx *ctx, const cgc_hw *hw)
{
    if (hw_check(ctx, hw) != CGC_OK)
        return NULL;
    iss_machine *m = calloc(1, sizeof *m);
    if (m) {
        m->ctx = ctx;
        m->hw = *hw;
    }
    if (!m || !make_memories(m)) {
        iss_free(m);
        diag_info info = {.cure = "use a smaller machine or free memory"};
        (void)diag(ctx, CGC_E_NOMEM, info, "no memory for the simulated machine");
        return NULL;
    }
    return m;
}

iss_machine *iss_new(cgc_ctx *ctx, const cgc_hw *hw)
{
    CGC_ENTER(ctx, NULL);
    iss_machine *m = new_machine(ctx, hw);
    CGC_LEAVE(ctx);
    return m;
}

void iss_free(iss_machine *m)
{
    if (!m)
        return;
    race_free(m);
    for (int i = 0; i < EPU_EVENTS; i++)
        free(m->time.events[i].times);
    free(m->ram);
    free(m->array_memory);
    free(m->array.ocm);
    free(m->array.ddr);
    free(m->elf.data);
    free(m->code);
    free(m->layers);
    free(m);
}

cgc_status iss_load_elf(iss_machine *m, const void *data, size_t bytes)
{
    CGC_ENTER(m->ctx, CGC_E_NOMEM);
    cgc_status s = elf_load(m, data, bytes);
    CGC_LEAVE(m->ctx);
    return s;
}

static cgc_status check_range(iss_machine *m, uint32_t address, size_t bytes, uint8_t **out)
{
    const uint64_t peak = m->array.ocm_peak;
    *out = bytes <= UINT32_MAX ? iss_memory(m, address, (uint32_t)bytes) : NULL;
    m->array.ocm_peak = peak; /* the program's, not the runner's */
    if (*out)
        return CGC_OK;
    diag_info info = {.wanted = "a range inside RAM, OCM or DDR"};
    return diag(m->ctx, CGC_E_ARGUMENT, info,
                "%zu bytes at 0x%08x are outside the simulated memories", bytes, address);
}

cgc_status iss_write(iss_machine *m, uint32_t address, const void *data, size_t bytes)
{
    CGC_ENTER(m->ctx, CGC_E_NOMEM);
    uint8_t *p = NULL;
    cgc_status s = check_range(m, address, bytes, &p);
    CGC_LEAVE(m->ctx);
    if (s == CGC_OK && p && bytes)
        memcpy(p, data, bytes);
    return s;
}

cgc_status iss_read(const iss_machine *m, uint32_t address, void *data, size_t bytes)
{
    CGC_ENTER(m->ctx, CGC_E_NOMEM);
    uint8_t *p = NULL;
    /* DDR may grow to show zeros there; nothing that the program sees changes. */
    cgc_status s = check_range((iss_machine *)(uintptr_t)m, address, bytes, &p);
    CGC_LEAVE(m->ctx);
    if (s == CGC_OK && p && bytes)
        memcpy(data, p, bytes);
    return s;
}

void iss_set_race_detector(iss_machine *m, int on, int stop_at_first)
{
    race_free(m);
    if (on && !race_new(m, stop_at_first != 0))
        iss_no_memory(m, m->cpu.pc, "no memory for the race detector");
}

void iss_set_mark_hook(iss_machine *m, iss_mark_fn fn, void *ud)
{
    m->mark_fn = fn;
    m->mark_ud = ud;
}

/* The host's float state is the guest's while it runs: to nearest, nothing flushed, flags clear. */
static void run_with_float_state(iss_machine *m)
{
    fenv_t host;
    fegetenv(&host);
    fesetenv(FE_DFL_ENV);
    feclearexcept(FE_ALL_EXCEPT);
    cpu_run(m);
    fpu_collect(&m->cpu);
    fesetenv(&host);
}

cgc_status iss_run(iss_machine *m, uint64_t max_instructions, iss_stop *out_stop)
{
    if (!m->code) {
        CGC_ENTER(m->ctx, CGC_E_NOMEM);
        diag_info info = {.cure = "call iss_load_elf first"};
        cgc_status s = diag(m->ctx, CGC_E_ARGUMENT, info, "no program is loaded");
        CGC_LEAVE(m->ctx);
        return s;
    }
    if (m->stop.reason == ISS_LIMIT && !m->out_of_memory)
        m->stop.reason = ISS_RUNNING;
    if (m->stop.reason == ISS_RUNNING) {
        const uint64_t left = UINT64_MAX - m->instructions;
        const bool limited = max_instructions != 0 && max_instructions < left;
        m->max_instructions = limited ? m->instructions + max_instructions : UINT64_MAX;
        run_with_float_state(m);
        if (m->stop.reason != ISS_LIMIT)
            stats_end_run(m);
        else
            stats_settle(m);
    }
    *out_stop = m->stop;
    return CGC_OK;
}
