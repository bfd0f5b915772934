/* SPDX-License-Identifier: Apache-2.0
 *
 * engine.c - one door to the three runners: engine name and tensors are checked here against the program, so runners
 * may trust them. A run empties what the last one left (figures, values).
 */
#include "run/run.h"

#include <string.h>

cgc_status run_engine_parse(cgc_ctx *ctx, const char *name, run_engine *out)
{
    *out = (run_engine){RUN_HOST, "", false};
    if (strcmp(name, "host") == 0)
        return CGC_OK;
    if (strncmp(name, "host:", 5) == 0 && name[5]) {
        out->variant = name + 5;
        return CGC_OK;
    }
    out->kind = RUN_EPU_HOST;
    if (strcmp(name, "epu_host") == 0)
        return CGC_OK;
    out->kind = RUN_ISS;
    out->race = strcmp(name, "iss:race") == 0;
    if (out->race || strcmp(name, "iss") == 0)
        return CGC_OK;
    return diag(ctx, CGC_E_ARGUMENT,
                (diag_info){.setting = "engine",
                            .found = name,
                            .wanted = "host, host:<variant>, epu_host, iss or iss:race; "
                                      "interp runs a graph",
                            .cure = "name one of them"},
                "a program has no such engine");
}

static cgc_status check_tensors(cgc_program *p, const char *what, const run_port *ports, int32_t n,
                                const ir_tensor *t)
{
    for (int32_t i = 0; i < n; i++) {
        if (!ir_type_equal(&ports[i].type, &t[i].type))
            return diag(p->ctx, CGC_E_TYPE,
                        (diag_info){.setting = ports[i].name,
                                    .found = ir_type_text(&p->result, &t[i].type),
                                    .wanted = ir_type_text(&p->result, &ports[i].type),
                                    .cure = "give a tensor of that shape and element type"},
                        "%s %d of program '%s' has another type", what, (int)i, p->module);
        if (!t[i].data && ir_type_bytes(&t[i].type) > 0)
            return diag(p->ctx, CGC_E_ARGUMENT, (diag_info){.setting = ports[i].name},
                        "%s %d has no data", what, (int)i);
    }
    return CGC_OK;
}

cgc_status run_program(cgc_program *p, const char *engine, bool traced, const ir_tensor *inputs,
                       ir_tensor *outputs)
{
    run_engine e;
    arena_reset(&p->result);
    p->values = NULL;
    TRY(run_engine_parse(p->ctx, engine, &e));
    TRY(check_tensors(p, "input", p->inputs, p->n_inputs, inputs));
    TRY(check_tensors(p, "output", p->outputs, p->n_outputs, outputs));
    if (traced)
        run_trace_begin(p);
    cgc_status s = e.kind == RUN_ISS ? run_on_iss(p, &e, traced, inputs, outputs)
                                     : run_on_host(p, &e, traced, inputs, outputs);
    if (s != CGC_OK)
        p->values = NULL;
    return s;
}
