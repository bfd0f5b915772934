/* SPDX-License-Identifier: Apache-2.0
 *
 * program.c - cgc_compile over src/emit/, cgc_program_* and cgc_prove over src/run/: argument checks,
 * tensors of the caller as tensors of the IR, and the door through which out-of-memory leaves.
 */
#include "emit/compile.h"
#include "run/run.h"

#include <string.h>

enum { MAX_TENSORS = 1024 };

cgc_status cgc_compile(cgc_graph *graph, const cgc_hw *hw, const char *module_name,
                       const char *build_path, cgc_program **out_program)
{
    cgc_ctx *ctx = graph->ctx;
    const char *path;
    *out_program = NULL;
    if (!hw)
        return diag(ctx, CGC_E_TARGET,
                    (diag_info){.cure = "give a hardware description: cgc_hw_new"},
                    "there is no target to compile for");
    CGC_ENTER(ctx, CGC_E_NOMEM);
    cgc_status s = compile_graph(graph, hw, module_name, build_path, &path);
    CGC_LEAVE(ctx);
    return s == CGC_OK ? run_open(ctx, path, out_program) : s;
}

cgc_status cgc_program_open(cgc_ctx *ctx, const char *source_path, cgc_program **out_program)
{
    return run_open(ctx, source_path, out_program);
}

void cgc_program_free(cgc_program *program)
{
    run_close(program);
}

const char *cgc_program_source_path(const cgc_program *program)
{
    return program->source_path;
}

const char *cgc_program_build_path(const cgc_program *program)
{
    return program->build_path;
}

int32_t cgc_program_input_count(const cgc_program *program)
{
    return program->n_inputs;
}

int32_t cgc_program_output_count(const cgc_program *program)
{
    return program->n_outputs;
}

const char *cgc_program_input_name(const cgc_program *program, int32_t i)
{
    return i >= 0 && i < program->n_inputs ? program->inputs[i].name : "";
}

const char *cgc_program_output_name(const cgc_program *program, int32_t i)
{
    return i >= 0 && i < program->n_outputs ? program->outputs[i].name : "";
}

static cgc_status out_of_range(cgc_ctx *ctx, const char *what, int32_t i, int32_t n)
{
    return diag(ctx, CGC_E_ARGUMENT, (diag_info){.setting = what}, "there is no %s %d of %d", what,
                (int)i, (int)n);
}

static void type_to_tensor(const ir_type *type, cgc_tensor *out)
{
    memset(out, 0, sizeof *out);
    out->dtype = (cgc_dtype)type->dtype;
    out->rank = type->rank;
    memcpy(out->dims, type->dims, sizeof out->dims);
    out->bytes = ir_type_bytes(type);
}

cgc_status cgc_program_input_type(const cgc_program *program, int32_t i, cgc_tensor *out_type)
{
    if (i < 0 || i >= program->n_inputs)
        return out_of_range(program->ctx, "input", i, program->n_inputs);
    type_to_tensor(&program->inputs[i].type, out_type);
    return CGC_OK;
}

cgc_status cgc_program_output_type(const cgc_program *program, int32_t i, cgc_tensor *out_type)
{
    if (i < 0 || i >= program->n_outputs)
        return out_of_range(program->ctx, "output", i, program->n_outputs);
    type_to_tensor(&program->outputs[i].type, out_type);
    return CGC_OK;
}

int32_t cgc_program_layer_count(const cgc_program *program)
{
    return program->n_layers;
}

const char *cgc_program_layer_name(const cgc_program *program, int32_t i)
{
    return i >= 0 && i < program->n_layers ? program->layers[i].name : "";
}

const char *cgc_program_layer_value(const cgc_program *program, int32_t i)
{
    return i >= 0 && i < program->n_layers ? program->layers[i].value : "";
}

cgc_status cgc_program_layer_get(const cgc_program *program, int32_t i, cgc_tensor *out_tensor)
{
    if (i < 0 || i >= program->n_layers)
        return out_of_range(program->ctx, "layer", i, program->n_layers);
    type_to_tensor(&program->layers[i].type, out_tensor);
    if (!program->values)
        return diag(program->ctx, CGC_E_ARGUMENT,
                    (diag_info){.cure = "call cgc_program_run_traced first"},
                    "no values of layers are kept");
    if (program->seen[i])
        out_tensor->data = program->values[i].data;
    return CGC_OK;
}

/* The caller's tensor as one of the IR; type and size are checked, the data is borrowed. */
static cgc_status to_ir(cgc_ctx *ctx, const char *what, int32_t i, const cgc_tensor *t,
                        ir_tensor *out)
{
    size_t bytes = 1;
    memset(out, 0, sizeof *out);
    if (t->dtype < 0 || t->dtype >= IR_DTYPE_COUNT || t->rank < 0 || t->rank > IR_MAX_RANK)
        return diag(ctx, CGC_E_ARGUMENT, (diag_info){.setting = what}, "%s %d has an unusable type",
                    what, (int)i);
    out->type.dtype = (ir_dtype)t->dtype;
    out->type.rank = t->rank;
    out->data = t->data;
    for (int32_t d = 0; d < t->rank; d++) {
        out->type.dims[d] = t->dims[d];
        if (t->dims[d] < 0 || !mul_size(bytes, (size_t)t->dims[d], &bytes))
            return diag(ctx, CGC_E_TYPE, (diag_info){.setting = what}, "%s %d has unusable dims",
                        what, (int)i);
    }
    if (!mul_size(bytes, ir_dtype_bytes(out->type.dtype), &bytes) || bytes != t->bytes)
        return diag(ctx, CGC_E_TYPE, (diag_info){.setting = what},
                    "%s %d has %zu bytes where its type has %zu", what, (int)i, t->bytes, bytes);
    return CGC_OK;
}

static cgc_status convert(cgc_program *p, const char *what, const cgc_tensor *t, int32_t n,
                          int32_t wanted, ir_tensor **out)
{
    if (n != wanted || n > MAX_TENSORS)
        return diag(p->ctx, CGC_E_ARGUMENT, (diag_info){.setting = what},
                    "program '%s' has %d %ss, not %d", p->module, (int)wanted, what, (int)n);
    *out = arena_array(&p->tensors, (size_t)n, sizeof **out);
    for (int32_t i = 0; i < n; i++)
        TRY(to_ir(p->ctx, what, i, &t[i], &(*out)[i]));
    return CGC_OK;
}

typedef struct run_call {
    const char *engine;
    bool traced;
    const cgc_tensor *inputs;
    int32_t n_inputs;
    cgc_tensor *outputs;
    int32_t n_outputs;
} run_call;

static cgc_status run_inner(cgc_program *p, const run_call *c)
{
    ir_tensor *in = NULL, *out = NULL;
    arena_reset(&p->tensors);
    TRY(convert(p, "input", c->inputs, c->n_inputs, p->n_inputs, &in));
    TRY(convert(p, "output", c->outputs, c->n_outputs, p->n_outputs, &out));
    return run_program(p, c->engine, c->traced, in, out);
}

static cgc_status run_outer(cgc_program *p, const run_call *c)
{
    CGC_ENTER(p->ctx, CGC_E_NOMEM);
    cgc_status s = run_inner(p, c);
    CGC_LEAVE(p->ctx);
    return s;
}

cgc_status cgc_program_run(cgc_program *program, const char *engine, const cgc_tensor *inputs,
                           int32_t n_inputs, cgc_tensor *outputs, int32_t n_outputs)
{
    return run_outer(program, &(run_call){engine, false, inputs, n_inputs, outputs, n_outputs});
}

cgc_status cgc_program_run_traced(cgc_program *program, const char *engine,
                                  const cgc_tensor *inputs, int32_t n_inputs, cgc_tensor *outputs,
                                  int32_t n_outputs)
{
    return run_outer(program, &(run_call){engine, true, inputs, n_inputs, outputs, n_outputs});
}

cgc_status cgc_program_build(cgc_program *program, const char *engine, const char *cc,
                             const char *flags, int32_t traced)
{
    run_engine e;
    const char *path;
    bool rebuilt;
    CGC_ENTER(program->ctx, CGC_E_NOMEM);
    cgc_status s = run_engine_parse(program->ctx, engine, &e);
    if (s == CGC_OK) {
        run_settings *set = &program->settings[e.kind];
        set->cc = arena_strdup(&program->arena, cc);
        set->flags = arena_strdup(&program->arena, flags);
        s = run_build(program, e.kind, traced != 0, &path, &rebuilt);
    }
    CGC_LEAVE(program->ctx);
    return s;
}

cgc_status cgc_program_report(cgc_program *program, const char *format, const char **out_text)
{
    *out_text = "";
    CGC_ENTER(program->ctx, CGC_E_NOMEM);
    cgc_status s = run_report(program, format);
    CGC_LEAVE(program->ctx);
    *out_text = program->text;
    return s;
}

static cgc_status prove_inner(cgc_graph *graph, cgc_program *p, const char *engines,
                              const cgc_tensor *inputs, int32_t n_inputs, int64_t *out_differing)
{
    ir_tensor *in = NULL;
    arena_reset(&p->tensors);
    TRY(convert(p, "input", inputs, n_inputs, p->n_inputs, &in));
    return run_prove(graph, p, engines, in, out_differing);
}

cgc_status cgc_prove(cgc_graph *graph, cgc_program *program, const char *engines,
                     const cgc_tensor *inputs, int32_t n_inputs, int64_t *out_differing,
                     const char **out_text)
{
    *out_text = "";
    *out_differing = 0;
    CGC_ENTER(program->ctx, CGC_E_NOMEM);
    cgc_status s = prove_inner(graph, program, engines, inputs, n_inputs, out_differing);
    CGC_LEAVE(program->ctx);
    *out_text = program->text;
    return s;
}
