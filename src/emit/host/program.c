/* SPDX-License-Identifier: Apache-2.0
 *
 * program.c - plan -> the host program's files: interface header, internal header, portable
 * layers with the entry points, AVX-512 VNNI layers, weights, and each layer's facts for the
 * manifest. The order of layers is written out once per variant, as two lists of calls that a
 * reader can follow.
 */
#include "emit/host/host.h"

#include <string.h>

static const char *const vnni = "avx512vnni";
#define VNNI_FOLDER "x86_avx512vnni"

static void put_interface(host_emit *e)
{
    const char *m = e->p->module;
    str *s = &emit_add(e->t, arena_printf(e->a, "%s.h", m))->text;
    str_printf(s, "/* Interface of the program %s. Generated: changes are lost.\n", m);
    str_put(s, " * Weights are the bytes of weights_host.bin at a multiple of 64; the arena is the "
               "caller's, 64-byte\n"
               " * aligned, and keeps nothing between runs. Re-entrant. */\n");
    str_printf(s, "#ifndef CCL_PROGRAM_%s_H\n#define CCL_PROGRAM_%s_H\n\n#include <stddef.h>\n\n",
               m, m);
    str_put(s, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    const ir_graph *g = e->p->graph;
    for (size_t i = 0; i < g->n_inputs; i++)
        str_printf(s, "/* inputs[%zu]: %s, %s */\n", i, emit_comment(e->a, g->inputs[i]->name),
                   host_type_text(e->a, &g->inputs[i]->type));
    for (size_t i = 0; i < g->n_outputs; i++)
        str_printf(s, "/* outputs[%zu]: %s, %s */\n", i, emit_comment(e->a, g->output_names[i]),
                   host_type_text(e->a, &g->outputs[i]->type));
    str_printf(s, "size_t %s_arena_bytes(void);\nsize_t %s_weights_bytes(void);\n", m, m);
    str_printf(s,
               "/* A traced build calls it after each layer with the layer's output as it lies in "
               "memory. */\n"
               "typedef void (*%s_trace)(void *ud, int layer, const void *data);\n",
               m);
    str_put(s, "/* variant: \"\" = best for this CPU, \"ref\" = portable C");
    str_put(s, host_plan_of(e->p)->has_vnni ? ", \"avx512vnni\".\n" : ".\n");
    str_put(s, " * Returns 0; 1: the floating-point environment is not as required; 2: unknown or "
               "unusable variant. */\n");
    str_printf(s,
               "int %s_run(const void *weights, void *arena, const void *const *inputs, void "
               "*const *outputs,\n"
               "    const char *variant, %s_trace trace, void *ud);\n\n",
               m, m);
    str_put(s, "/* The same functions under names that do not depend on the model. */\n"
               "typedef struct ccl_program {\n    size_t (*arena_bytes)(void);\n    size_t "
               "(*weights_bytes)(void);\n"
               "    int (*run)(const void *weights, void *arena, const void *const *inputs, void "
               "*const *outputs,\n"
               "        const char *variant, void (*trace)(void *ud, int layer, const void *data), "
               "void *ud);\n"
               "} ccl_program;\nconst ccl_program *ccl_program_get(void);\n\n");
    str_put(s, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* Prototypes of all layers, for both C files. */
static void put_layers_header(host_emit *e)
{
    const char *m = e->p->module;
    str *s = &emit_add(e->t, arena_printf(e->a, "%s_host.h", m))->text;
    str_printf(s, "/* The layers of %s, shared by its C files. Generated: changes are lost. */\n",
               m);
    str_printf(s, "#ifndef CCL_HOST_%s_H\n#define CCL_HOST_%s_H\n\n#include <stdint.h>\n\n", m, m);
    str_printf(s,
               "typedef struct %s_memory {\n    const uint8_t *weights;\n    uint8_t *arena;\n"
               "    const void *const *in;\n    void *const *out;\n} %s_memory;\n\n",
               m, m);
    for (size_t i = 0; i < e->p->n_steps; i++) {
        const plan_step *step = e->p->steps[i];
        const host_step *h = host_step_of(step);
        str_printf(s, "void %s(const %s_memory *m);\n", host_function(e, step, ""), m);
        if (h->vnni)
            str_printf(s, "void %s(const %s_memory *m);\n", host_function(e, step, "_avx512vnni"),
                       m);
        if (h->fused)
            str_printf(s, "void %s(const %s_memory *m);\n",
                       host_function(e, step, "_sum_avx512vnni"), m);
    }
    if (host_plan_of(e->p)->has_vnni)
        str_printf(s, "\nint %s_environment_%s(void);\n", m, vnni);
    str_put(s, "\n#endif\n");
}

/* ---- the lists of calls ---- */

static void put_call(host_emit *e, const plan_step *s, const char *suffix)
{
    str_printf(e->c, "    %s(m);\n", host_function(e, s, suffix));
}

static void put_trace(host_emit *e, const plan_step *s, bool in_vnni)
{
    const plan_buffer *y = s->output;
    if (in_vnni && host_is_unsigned(e->p, y))
        str_printf(e->c, "    TRACE_FLIPPED(%d, %s, %lld);\n", s->layer, host_view_of(e, y).base,
                   (long long)y->bytes);
    else
        str_printf(e->c, "    TRACE(%d, %s);\n", s->layer, host_view_of(e, y).base);
}

static void put_flip(host_emit *e, const plan_buffer *b)
{
    const plan_buffer *base = host_base(b);
    str_printf(e->c, "    ccl_flip(m->arena + %lld, %lld);\n", (long long)base->offset,
               (long long)base->bytes);
}

static bool seen_before(const plan_step *s, int32_t k)
{
    for (int32_t i = 0; i < k; i++)
        if (s->inputs[i] && host_base(s->inputs[i]) == host_base(s->inputs[k]))
            return true;
    return false;
}

/* A portable layer among VNNI ones: what it reads becomes int8 for the while, what it writes
 * becomes q XOR 0x80. */
static void put_portable_call(host_emit *e, const plan_step *s)
{
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t k = 0; k < IR_MAX_INPUTS; k++) {
            const plan_buffer *b = s->inputs[k];
            const bool needed = b && host_is_unsigned(e->p, b) && !seen_before(s, k);
            if (needed && (pass == 0 || host_base(b)->last >= s->layer))
                put_flip(e, b);
        }
        if (pass == 0)
            put_call(e, s, "");
    }
    if (host_is_unsigned(e->p, s->output))
        put_flip(e, s->output);
}

static void put_vnni_list(host_emit *e)
{
    for (size_t i = 0; i < e->p->n_steps; i++) {
        const plan_step *s = e->p->steps[i];
        const host_step *h = host_step_of(s);
        if (!h->vnni) {
            put_portable_call(e, s);
        } else if (h->fused) {
            str_put(e->c, "#ifndef CCL_TRACE\n");
            put_call(e, s, "_sum_avx512vnni");
            str_put(e->c, "#else\n");
            put_call(e, s, "_avx512vnni");
        } else {
            put_call(e, s, "_avx512vnni");
        }
        put_trace(e, s, true);
        if (h->fused_into)
            str_put(e->c, "#endif\n");
    }
}

static void put_list(host_emit *e, const char *variant)
{
    const char *m = e->p->module;
    str_printf(e->c, "\nstatic void run_%s(const %s_memory *m, %s_trace trace, void *ud)\n{\n",
               variant, m, m);
    str_put(e->c, "    (void)trace;\n    (void)ud;\n");
    if (variant == vnni) {
        put_vnni_list(e);
    } else {
        for (size_t i = 0; i < e->p->n_steps; i++) {
            put_call(e, e->p->steps[i], "");
            put_trace(e, e->p->steps[i], false);
        }
    }
    str_put(e->c, "}\n");
}

static void put_trace_macros(host_emit *e)
{
    str_put(
        e->c,
        "\n#ifdef CCL_TRACE\n"
        "#define TRACE(layer, data) do { if (trace) trace(ud, layer, data); } while (0)\n"
        "/* Stored as q XOR 0x80. */\n"
        "#define TRACE_FLIPPED(layer, data, bytes) \\\n"
        "    do { ccl_flip(data, bytes); TRACE(layer, data); ccl_flip(data, bytes); } while (0)\n"
        "#else\n#define TRACE(layer, data) ((void)0)\n#define TRACE_FLIPPED(layer, data, bytes) "
        "((void)0)\n"
        "#endif\n");
}

static void put_entry_points(host_emit *e)
{
    const char *m = e->p->module;
    const bool fast = host_plan_of(e->p)->has_vnni;
    str_printf(e->c, "\nsize_t %s_arena_bytes(void)\n{\n    return %lld;\n}\n", m,
               (long long)e->p->arena_bytes);
    str_printf(e->c, "\nsize_t %s_weights_bytes(void)\n{\n    return %zu;\n}\n", m, e->weights.len);
    str_put(e->c, "\nstatic int same_text(const char *a, const char *b)\n{\n    while (*a && *a == "
                  "*b) {\n        a++;\n"
                  "        b++;\n    }\n    return *a == *b;\n}\n");
    str_printf(e->c,
               "\nint %s_run(const void *weights, void *arena, const void *const *inputs, void "
               "*const *outputs,\n"
               "    const char *variant, %s_trace trace, void *ud)\n{\n",
               m, m);
    str_printf(e->c,
               "    const %s_memory memory = {(const uint8_t *)weights, (uint8_t *)arena, inputs, "
               "outputs};\n",
               m);
    str_put(e->c, "    if (!ccl_environment_ok())\n        return 1;\n");
    if (fast)
        str_printf(e->c,
                   "#ifdef __x86_64__\n    if ((same_text(variant, \"\") || same_text(variant, "
                   "\"%s\")) &&\n"
                   "        ccl_has_%s()) {\n"
                   "        if (!%s_environment_%s())\n            return 1;\n"
                   "        run_%s(&memory, trace, ud);\n        return 0;\n    }\n#endif\n",
                   vnni, vnni, m, vnni, vnni);
    str_put(
        e->c,
        "    if (!same_text(variant, \"\") && !same_text(variant, \"ref\"))\n        return 2;\n"
        "    run_ref(&memory, trace, ud);\n    return 0;\n}\n");
    str_printf(
        e->c,
        "\nconst ccl_program *ccl_program_get(void)\n{\n"
        "    static const ccl_program program = {%s_arena_bytes, %s_weights_bytes, %s_run};\n"
        "    return &program;\n}\n",
        m, m, m);
}

static cgc_status put_portable_file(host_emit *e)
{
    const char *m = e->p->module;
    e->c = &emit_add(e->t, arena_printf(e->a, "%s_host.c", m))->text;
    str_printf(
        e->c,
        "/* Host program %s: portable layers and entry points. Generated: changes are lost.\n"
        " * Images lie channels last; some have a border of their zero point around them. */\n",
        m);
    str_printf(e->c,
               "#include \"%s.h\"\n#include \"%s_host.h\"\n\n#include \"kernels/border.h\"\n"
               "#include \"kernels/ccl.h\"\n#include \"kernels/environment.h\"\n",
               m, m);
    if (host_plan_of(e->p)->has_vnni)
        str_put(e->c, "#ifdef __x86_64__\n#include \"x86_avx512vnni/supported.h\"\n#endif\n");
    for (size_t i = 0; i < e->p->n_steps; i++)
        TRY(host_put_portable(e, e->p->steps[i]));
    return CGC_OK;
}

static void put_vnni_file(host_emit *e)
{
    const char *m = e->p->module;
    e->c = &emit_add(e->t, arena_printf(e->a, "%s_host_%s.c", m, vnni))->text;
    str_printf(
        e->c,
        "/* Host program %s: layers for CPUs with AVX-512 VNNI. Generated: changes are lost.\n"
        " * Bytes that convolutions read are stored as q XOR 0x80; the values are those of "
        "%s_host.c. */\n",
        m, m);
    str_printf(e->c,
               "#include \"%s_host.h\"\n\n#include \"kernels/border.h\"\n"
               "#include \"kernels/environment.h\"\n",
               m);
    static const struct {
        const char *name, *arch;
    } kernels[] = {
#define KERNEL(name, arch, precondition) {#name, #arch},
#include "kernels.def"
#undef KERNEL
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].arch, VNNI_FOLDER) == 0)
            str_printf(e->c, "#include \"" VNNI_FOLDER "/%s.h\"\n", kernels[i].name);
    str_printf(e->c,
               "\n/* This file has its own compiler flags. */\nint %s_environment_%s(void)\n{\n"
               "    return ccl_environment_ok();\n}\n",
               m, vnni);
    for (size_t i = 0; i < e->p->n_steps; i++)
        if (host_step_of(e->p->steps[i])->vnni)
            host_put_vnni(e, e->p->steps[i]);
}

/* ---- kernels and facts ---- */

static cgc_status put_kernels(host_emit *e)
{
    static const char *const shared[] = {"ccl.h", "requant.h", "avg_window.h", "border.h",
                                         "environment.h"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        TRY(emit_kernel(e->t, shared[i]));
    for (size_t i = 0; i < e->p->n_steps; i++) {
        const plan_step *s = e->p->steps[i];
        if (s->node && host_step_of(s)->kernel[0])
            TRY(emit_kernel(e->t, arena_printf(e->a, "ref/%s.c", host_step_of(s)->kernel)));
    }
    TRY(emit_kernel(e->t, "ref/nchw_to_nhwc.c"));
    TRY(emit_kernel(e->t, "ref/nhwc_to_nchw.c"));
    if (!host_plan_of(e->p)->has_vnni)
        return CGC_OK;
    for (const emit_embedded *f = emit_embedded_files; f->name; f++)
        if (strncmp(f->name, VNNI_FOLDER "/", sizeof VNNI_FOLDER) == 0)
            TRY(emit_kernel(e->t, f->name));
    return CGC_OK;
}

static void put_facts(const plan_step *s, str *out)
{
    const plan_buffer *y = s->output;
    const host_step *h = host_step_of(s);
    str_printf(out, "{\"kernel\": \"%s\", \"vnni\": %s, \"offset\": %lld, \"layout\": \"%s\"",
               h->kernel, h->vnni ? "true" : "false", (long long)y->offset,
               y->layout == PLAN_NHWC ? "nhwc" : "plain");
    if (y->layout == PLAN_NHWC)
        str_printf(out, ", \"border\": [%d,%d,%d,%d], \"row_bytes\": %lld", y->border[0],
                   y->border[1], y->border[2], y->border[3], (long long)y->row_bytes);
    str_put(out, ", \"text\": ");
    json_put_string(out, s->text);
    str_put(out, "}");
}

cgc_status emit_host_program(plan *p, emit_tree *t, str *layers)
{
    static const char tail[64];
    host_emit e = {.p = p, .t = t, .a = t->arena};
    str_init(&e.weights, e.a);
    put_interface(&e);
    put_layers_header(&e);
    host_put_command(&e);
    TRY(put_portable_file(&e));
    str *portable = e.c;
    if (host_plan_of(p)->has_vnni)
        put_vnni_file(&e);
    e.c = portable;
    put_trace_macros(&e);
    put_list(&e, "ref");
    if (host_plan_of(p)->has_vnni) {
        str_put(e.c, "\n#ifdef __x86_64__");
        put_list(&e, vnni);
        str_put(e.c, "#endif\n");
    }
    emit_blob(&e.weights, tail, sizeof tail, 64);
    put_entry_points(&e);
    TRY(put_kernels(&e));
    for (size_t i = 0; i < p->n_steps; i++)
        put_facts(p->steps[i], &layers[i]);
    str *blob = &emit_add(t, "weights_host.bin")->text;
    *blob = e.weights;
    return CGC_OK;
}
