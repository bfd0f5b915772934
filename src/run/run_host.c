/* SPDX-License-Identifier: Apache-2.0
 *
 * run_host.c - calls an emitted program that was built for this machine: the host program, or the EPU text
 * over the plain C body of its instructions. Inputs and outputs are the caller's row-major memory.
 */
#include "run/run.h"

enum { EXIT_ENVIRONMENT = 1, EXIT_VARIANT = 2 }; /* docs/program.md */

typedef struct hook_state {
    cgc_program *p;
    run_kind kind;
} hook_state;

static void on_layer(void *ud, int id, const void *data)
{
    const hook_state *s = ud;
    const run_layer *layer = run_layer_by_id(s->p, id);
    if (!layer)
        return;
    run_place place = s->kind == RUN_HOST ? layer->host : layer->epu;
    run_trace_put(s->p, layer, &place, data);
}

static const char *variant_list(cgc_program *p, arena *a)
{
    str s;
    str_init(&s, a);
    for (int32_t i = 0; i < p->n_variants; i++)
        str_printf(&s, "%shost:%s", i ? ", " : "", p->variants[i]);
    return s.data;
}

static cgc_status explain(cgc_program *p, const run_engine *e, int code)
{
    if (code == EXIT_ENVIRONMENT)
        return diag(
            p->ctx, CGC_E_FAULT,
            (diag_info){
                .wanted = "round to nearest, no contraction, no flush to zero",
                .cure =
                    "build without -ffast-math and restore the floating-point mode of the process"},
            "the program found a floating-point environment in which its numbers would differ");
    if (code == EXIT_VARIANT)
        return diag(p->ctx, CGC_E_ARGUMENT,
                    (diag_info){.setting = "engine",
                                .found = e->variant,
                                .wanted = variant_list(p, &p->text_arena)},
                    "the program has no such variant, or this CPU cannot run it");
    return diag(p->ctx, CGC_E_FAULT, (diag_info){0}, "the program returned %d", code);
}

cgc_status run_on_host(cgc_program *p, const run_engine *engine, bool traced,
                       const ir_tensor *inputs, ir_tensor *outputs)
{
    run_product *product;
    TRY(run_product_get(p, engine->kind, traced, &product));
    const void **in = arena_array(&p->result, (size_t)p->n_inputs, sizeof *in);
    void **out = arena_array(&p->result, (size_t)p->n_outputs, sizeof *out);
    for (int32_t i = 0; i < p->n_inputs; i++)
        in[i] = inputs[i].data;
    for (int32_t i = 0; i < p->n_outputs; i++)
        out[i] = outputs[i].data;
    hook_state state = {p, engine->kind};
    int code = product->entry->run(product->weights, product->memory, in, out, engine->variant,
                                   traced ? on_layer : NULL, &state);
    return code == 0 ? CGC_OK : explain(p, engine, code);
}
