/* SPDX-License-Identifier: Apache-2.0
 *
 * ccl_epu_host.c - the functions of ccl_epu.h in plain C: instruction bodies of iss/insns over memory that the
 * caller gives. Input: an EPU program's calls; output: the same bytes in OCM and DDR as on the machine.
 */
#include "ccl_epu.h"
#include "insns/epu.h"

static epu ccl_epu_state;
static ccl_epu_trace trace_fn;
static void *trace_ud;

static size_t lrm_bytes(const ccl_epu_config *c)
{
    return (size_t)c->array_size * (size_t)c->array_size * (size_t)c->lrm_size;
}

static size_t acc_bytes(const ccl_epu_config *c)
{
    return (size_t)c->array_size * (size_t)c->array_size * (size_t)c->num_acc * sizeof(int32_t);
}

size_t ccl_epu_bytes(const ccl_epu_config *c)
{
    if (c->array_size < 1 || c->array_size > 64 || c->macs_per_pe < 1 || c->macs_per_pe > 64 ||
        c->lrm_size < 1 || c->lrm_size > 65536 || c->num_acc < 1 || c->num_acc > EPU_MAX_ACC)
        return 0;
    return acc_bytes(c) + lrm_bytes(c) + (size_t)c->num_acc * (size_t)c->lrm_size;
}

static void end_layer(epu *e)
{
    if (trace_fn && e->layer != 0 && e->fault == EPU_OK)
        trace_fn(trace_ud, (int)e->layer);
}

int ccl_epu_open(const ccl_epu_config *c, void *memory)
{
    const size_t bytes = ccl_epu_bytes(c);
    if (bytes == 0)
        return 1;
    memset(memory, 0, bytes);
    memset(&ccl_epu_state, 0, sizeof ccl_epu_state);
    ccl_epu_state.lanes = c->array_size * c->array_size;
    ccl_epu_state.macs_per_pe = c->macs_per_pe;
    ccl_epu_state.lrm_size = c->lrm_size;
    ccl_epu_state.num_acc = c->num_acc;
    ccl_epu_state.acc = (int32_t *)memory;
    ccl_epu_state.lrm = (int8_t *)memory + acc_bytes(c);
    ccl_epu_state.scratch = ccl_epu_state.lrm + lrm_bytes(c);
    ccl_epu_state.ocm = (uint8_t *)c->ocm;
    ccl_epu_state.ocm_bytes = c->ocm_bytes;
    ccl_epu_state.ddr = (uint8_t *)c->ddr;
    ccl_epu_state.ddr_bytes = c->ddr_bytes;
    ccl_epu_state.end_layer = end_layer;
    trace_fn = 0;
    return 0;
}

int ccl_epu_close(const char **out_text)
{
    end_layer(&ccl_epu_state);
    trace_fn = 0;
    if (out_text)
        *out_text = ccl_epu_state.fault == EPU_OK ? "" : ccl_epu_state.fault_text;
    return ccl_epu_state.fault != EPU_OK;
}

void ccl_epu_set_trace(ccl_epu_trace fn, void *ud)
{
    trace_fn = fn;
    trace_ud = ud;
}

void *ccl_ptr(uint32_t address)
{
    if (address - CCL_OCM_BASE < ccl_epu_state.ocm_bytes)
        return ccl_epu_state.ocm + (address - CCL_OCM_BASE);
    if (address - CCL_DDR_BASE < ccl_epu_state.ddr_bytes)
        return ccl_epu_state.ddr + (address - CCL_DDR_BASE);
    epu_fail(&ccl_epu_state, EPU_BAD_ADDRESS, address, "address outside OCM and DDR");
    return 0;
}

/* Nonzero: no fault so far, the instruction may run. */
static int ccl_epu_begin(void)
{
    return ccl_epu_state.fault == EPU_OK;
}

#define CCL_EPU_BODIES
#include "ccl_insn.h"
