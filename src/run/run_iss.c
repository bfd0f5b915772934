/* SPDX-License-Identifier: Apache-2.0
 *
 * run_iss.c - runs the EPU program on the simulator: ELF, weights and inputs into memory; outputs, figures
 * and (for a traced run) each layer's output out of it. A fault of the program becomes CGC_E_FAULT with layer,
 * function and reason.
 */
#include "run/run.h"

#include <string.h>

/* Minutes of simulated scalar code: a program that runs longer hangs. */
#define MAX_INSTRUCTIONS ((uint64_t)200000000000)

typedef struct trace_state {
    cgc_program *p;
    char *buffer; /* as large as the largest layer output in memory */
    cgc_status status;
} trace_state;

static void on_mark(void *ud, iss_machine *m, uint32_t ended)
{
    trace_state *s = ud;
    const run_layer *layer = ended <= INT32_MAX ? run_layer_by_id(s->p, (int32_t)ended) : NULL;
    if (!layer || !layer->epu.present || s->status != CGC_OK)
        return;
    s->status =
        iss_read(m, layer->epu.address, s->buffer, run_place_bytes(&layer->epu, &layer->type));
    if (s->status == CGC_OK)
        run_trace_put(s->p, layer, &layer->epu, s->buffer);
}

static char *trace_buffer(cgc_program *p)
{
    size_t most = 1;
    for (int32_t i = 0; i < p->n_layers; i++) {
        size_t bytes = run_place_bytes(&p->layers[i].epu, &p->layers[i].type);
        most = bytes > most ? bytes : most;
    }
    return arena_alloc(&p->result, most);
}

static const char *reason_word(iss_reason reason)
{
    static const char *const words[] = {
        "is still running",   "left with a code", "used an illegal instruction",
        "used a bad address", "waits for ever",   "has a race",
        "ran for too long"};
    return (size_t)reason < sizeof words / sizeof words[0] ? words[reason] : "stopped";
}

static cgc_status fault(cgc_program *p, const iss_machine *m, const iss_stop *stop)
{
    const run_layer *layer = run_layer_by_id(p, (int32_t)stop->layer);
    arena *a = &p->result;
    diag_info info = {.layer = layer ? layer->name : NULL, .op = layer ? layer->op : NULL};
    /* The message holds the place: function, offset, file and line. */
    info.found =
        stop->message && stop->message[0] ? stop->message : arena_printf(a, "pc 0x%08x", stop->pc);
    if (stop->reason == ISS_EXIT)
        info.found = arena_printf(a, "exit code %u", stop->code);
    if (stop->reason == ISS_RACE && iss_race_count(m) > 0) {
        iss_race race;
        iss_race_get(m, 0, &race);
        info.found = arena_printf(a, "%s and %s at 0x%08x", race.first, race.second, race.address);
        info.wanted = "an order between them by queue, post and wait";
    }
    return diag(p->ctx, CGC_E_FAULT, info, "the simulated program %s", reason_word(stop->reason));
}

static cgc_status fill_memory(cgc_program *p, iss_machine *m, const run_product *product,
                              const ir_tensor *inputs)
{
    TRY(iss_load_elf(m, product->image, product->image_bytes));
    TRY(iss_write(m, p->weights_ddr, product->weights, product->weights_bytes));
    for (int32_t i = 0; i < p->n_inputs; i++)
        TRY(iss_write(m, p->inputs[i].ddr, inputs[i].data, ir_type_bytes(&inputs[i].type)));
    return CGC_OK;
}

static void keep_figures(cgc_program *p, const iss_machine *m)
{
    const size_t n = (size_t)p->n_layers + 1;
    if (!p->per_layer)
        p->per_layer = arena_array(&p->arena, n, sizeof *p->per_layer);
    memset(p->per_layer, 0, n * sizeof *p->per_layer);
    int32_t known = iss_layer_count(m);
    for (int32_t i = 0; i <= p->n_layers && i < known; i++)
        iss_get_layer_stats(m, i, &p->per_layer[i]);
    iss_get_stats(m, &p->total);
    p->simulated = true;
}

static cgc_status simulate(cgc_program *p, iss_machine *m, trace_state *trace, ir_tensor *outputs)
{
    iss_stop stop;
    memset(&stop, 0, sizeof stop);
    TRY(iss_run(m, MAX_INSTRUCTIONS, &stop));
    if (trace)
        TRY(trace->status);
    if (stop.reason != ISS_EXIT || stop.code != 0)
        return fault(p, m, &stop);
    for (int32_t i = 0; i < p->n_outputs; i++)
        TRY(iss_read(m, p->outputs[i].ddr, outputs[i].data, ir_type_bytes(&outputs[i].type)));
    keep_figures(p, m);
    return CGC_OK;
}

cgc_status run_on_iss(cgc_program *p, const run_engine *engine, bool traced,
                      const ir_tensor *inputs, ir_tensor *outputs)
{
    run_product *product;
    TRY(run_product_get(p, RUN_ISS, false, &product));
    trace_state trace = {p, traced ? trace_buffer(p) : NULL, CGC_OK};
    iss_free(p->machine);
    p->machine = NULL;
    iss_machine *m = p->machine = iss_new(p->ctx, &p->hw);
    if (!m)
        return p->ctx->error.code ? p->ctx->error.code : CGC_E_NOMEM;
    if (engine->race)
        iss_set_race_detector(m, 1, 1);
    if (traced)
        iss_set_mark_hook(m, on_mark, &trace);
    cgc_status s = fill_memory(p, m, product, inputs);
    if (s == CGC_OK)
        s = simulate(p, m, traced ? &trace : NULL, outputs);
    p->machine = NULL;
    iss_free(m);
    return s;
}
