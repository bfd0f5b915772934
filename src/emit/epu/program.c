/* SPDX-License-Identifier: Apache-2.0
 *
 * program.c - plan -> <module>_epu.c, weights_epu.bin, link.ld and the EPU facts of the manifest.
 * The text compiles for RISC-V (the machine) and natively over ccl_epu_host.c; docs/mappings.md
 * explains it.
 */
#include "emit/epu/epu_emit.h"
#include "emit/host/host.h"

#include <string.h>

enum { DDR_ALIGN = 64 };
static const uint32_t DDR_BASE = 0x40000000u;
static const int64_t DDR_MOST = 0x3fffffff;

/* ---- DDR ---- */

static int64_t aligned(int64_t bytes)
{
    return epu_ceil(bytes, DDR_ALIGN) * DDR_ALIGN;
}

static cgc_status map_ddr(epu_emit *e)
{
    const ir_graph *g = e->p->graph;
    int64_t at = 0;
    for (size_t i = 0; i < g->n_inputs; i++) {
        e->map.inputs[i] = DDR_BASE + (uint32_t)at;
        at = aligned(at + (int64_t)ir_type_bytes(&g->inputs[i]->type));
    }
    for (size_t i = 0; i < g->n_outputs && at <= DDR_MOST; i++) {
        e->map.outputs[i] = DDR_BASE + (uint32_t)at;
        at = aligned(at + (int64_t)ir_type_bytes(&g->outputs[i]->type));
    }
    e->map.weights = DDR_BASE + (uint32_t)at;
    e->map.bytes = (uint64_t)at;
    return CGC_OK;
}

static cgc_status check_ddr(epu_emit *e)
{
    e->map.weights_bytes = e->weights.len;
    e->map.bytes += e->weights.len;
    if ((int64_t)e->map.bytes <= DDR_MOST)
        return CGC_OK;
    diag_info info = {.setting = "DDR", .cure = "use a smaller model or batch"};
    info.found = arena_printf(e->a, "%llu bytes", (unsigned long long)e->map.bytes);
    info.wanted = arena_printf(e->a, "at most %lld bytes", (long long)DDR_MOST);
    return diag(e->p->ctx, CGC_E_FIT, info, "inputs, outputs and weights do not fit DDR");
}

/* ---- the parts of the text ---- */

static const char *const events =
    "\n/* Events; the queue that posts each stands in brackets. */\n"
    "enum {\n"
    "    E_WEIGHTS,  /* [DMI] pieces of weights in OCM */\n"
    "    E_FREE_ALD, /* [ALD] pieces that loads have read for the last time */\n"
    "    E_FREE_ARR, /* [ARR] pieces that the broadcast port has read for the last time */\n"
    "    E_LAYER,    /* [AST] layers complete */\n"
    "    E_LOADED,   /* [ALD] loads of a unit of work into local memory */\n"
    "    E_DONE,     /* [ARR] units computed: their input is no longer needed in local memory */\n"
    "    E_READY,    /* [ARR] results in local memory, where a unit has several */\n"
    "    E_STORED,   /* [AST] results in OCM */\n"
    "    E_STAGED,   /* [DMI] activations copied from DDR */\n"
    "    E_UNSTAGED, /* [ALD] such copies read for the last time */\n"
    "    E_WRITTEN   /* [DMO] results copied to DDR */\n"
    "};\n";

static const char *const state_text =
    "\n/* Posts of each event before the current layer, and the next piece of weights to ask for. "
    "*/\n"
    "typedef struct state {\n"
    "    uint32_t loaded, done, ready, stored, staged, unstaged, written;\n"
    "    uint32_t piece;\n"
    "    /* A result that is still to be stored: the event and count that it waits for, and where "
    "it goes. */\n"
    "    uint32_t store_event, store_count, store_to, store_pair;\n"
    "    ccl_block store_block;\n"
    "    int store_pending, layer_pending;\n";

static const char *const ahead_text =
    "\n/* Asks for the pieces of weights whose issue point has come. */\n"
    "static void issue_weights(state *s, uint32_t point)\n"
    "{\n"
    "    for (; pieces[s->piece].point <= point; s->piece++) {\n"
    "        const piece_of_weights *w = &pieces[s->piece];\n"
    "        const ccl_dma d = {.dst = w->ocm, .src = w->ddr, .n0 = w->bytes, .n1 = 1, .n2 = 1};\n"
    "        if (w->ald)\n"
    "            ccl_wait(CCL_DMI, E_FREE_ALD, w->ald);\n"
    "        if (w->arr)\n"
    "            ccl_wait(CCL_DMI, E_FREE_ARR, w->arr);\n"
    "        if (w->layer)\n"
    "            ccl_wait(CCL_DMI, E_LAYER, w->layer);\n"
    "        ccl_dmi(&d);\n"
    "        ccl_post(CCL_DMI, E_WEIGHTS);\n"
    "    }\n"
    "}\n\n"
    "/* Issue points are numbered over the whole program; see the table above. */\n"
    "static inline void weights_ahead(state *s, uint32_t point)\n"
    "{\n"
    "    if (pieces[s->piece].point <= point)\n"
    "        issue_weights(s, point);\n"
    "}\n";

static const char *const store_text =
    "\n/* Loads and stores share a port that serves them in the order of issue. So a result is "
    "stored only after the next\n"
    " * loads have been asked for: store_later keeps it, store_now issues it, layer_done ends a "
    "layer after its last. */\n"
    "static void store_now(state *s)\n"
    "{\n"
    "    if (s->store_pending) {\n"
    "        ccl_wait(CCL_AST, s->store_event, s->store_count);\n"
    "        ccl_ast(&s->store_block, s->store_to, s->store_pair);\n"
    "        ccl_post(CCL_AST, E_STORED);\n"
    "    }\n"
    "    if (s->layer_pending)\n"
    "        ccl_post(CCL_AST, E_LAYER);\n"
    "    s->store_pending = s->layer_pending = 0;\n"
    "}\n\n"
    "static inline void store_later(state *s, const ccl_block *block, uint32_t to, uint32_t pair, "
    "uint32_t event,\n"
    "                               uint32_t count)\n"
    "{\n"
    "    s->store_block = *block;\n"
    "    s->store_to = to;\n"
    "    s->store_pair = pair;\n"
    "    s->store_event = event;\n"
    "    s->store_count = count;\n"
    "    s->store_pending = 1;\n"
    "}\n\n"
    "static inline void layer_done(state *s)\n"
    "{\n"
    "    s->layer_pending = 1;\n"
    "    if (!s->store_pending)\n"
    "        store_now(s);\n"
    "}\n";

static void put_map(epu_emit *e)
{
    const plan *p = e->p;
    const epu_program *g = epu_program_of(p);
    str_printf(e->c,
               " *\n * OCM, %d bytes: activations in the first %lld, by lifetime; the rest is a "
               "ring for weights, "
               "used up to byte %lld.\n",
               p->hw.ocm_size, (long long)p->arena_bytes, (long long)g->ocm_peak);
    for (size_t i = 0; i < p->n_buffers; i++) {
        const plan_buffer *b = p->buffers[i];
        if (b->space != PLAN_ARENA || b->alias_of || b->first < 0)
            continue;
        str_printf(e->c, " *   %9lld + %-9lld layers %d to %d: %s\n", (long long)b->offset,
                   (long long)b->bytes, b->first + 1, b->last + 1,
                   b->value ? emit_comment(e->a, p->steps[b->first]->name) : "stage for DDR");
    }
    str_printf(e->c, " * DDR: inputs, outputs, then weights_epu.bin at CCL_DDR_BASE + %lu.\n",
               (unsigned long)(e->map.weights - DDR_BASE));
}

static void put_top(epu_emit *e)
{
    const plan *p = e->p;
    str_printf(
        e->c,
        "/* %s: EPU program. Target: %d x %d PEs, %d MAC/cycle each, LRM %d bytes, OCM %d bytes.\n"
        " *\n * One function per layer: the scalar core issues operations to queues that run on "
        "their own; waits and\n"
        " * posts of events order them. Input is loaded into local memory (LRM) one unit of work "
        "ahead.\n",
        p->module, p->hw.array_size, p->hw.array_size, p->hw.macs_per_pe, p->hw.lrm_size,
        p->hw.ocm_size);
    put_map(e);
    str_put(e->c,
            " */\n#include \"kernels/ccl.h\"\n#include \"kernels/epu/ccl_epu.h\"\n\n"
            "#include <stddef.h>\n\n"
            "#if defined(__riscv)\nvoid *memcpy(void *to, const void *from, size_t bytes);\n#else\n"
            "#include <string.h>\n#endif\n");
    str_put(e->c, events);
}

static void put_pieces(epu_emit *e)
{
    const epu_program *g = epu_program_of(e->p);
    str_put(e->c, "\n/* Pieces of weights, constants and tables, in the order of their use. Each "
                  "goes from ddr to ocm once\n"
                  " * the program is at its issue point and the events in its last columns have "
                  "counted so far: what was\n"
                  " * in its place before is then no longer needed. */\n"
                  "typedef struct piece_of_weights {\n"
                  "    uint32_t point, ddr, ocm, bytes;\n"
                  "    uint32_t ald, arr, layer; /* E_FREE_ALD, E_FREE_ARR, E_LAYER; 0 = nothing "
                  "to wait for */\n"
                  "} piece_of_weights;\n");
    str_printf(e->c, "static const piece_of_weights pieces[%zu] = {\n", g->n_pieces + 1);
    for (size_t i = 0; i < g->n_pieces; i++) {
        const epu_piece *w = &g->pieces[i];
        str_printf(e->c,
                   "    {%d, CCL_DDR_BASE + %lluu, CCL_OCM_BASE + %lldu, %lld, %d, %d, %d}, /* "
                   "%zu: layer %d */\n",
                   w->tick,
                   (unsigned long long)(e->map.weights - DDR_BASE) + (unsigned long long)w->ddr,
                   (long long)w->ocm, (long long)w->bytes, w->wait_ald, w->wait_arr, w->wait_layer,
                   i, w->step + 1);
    }
    str_put(e->c, "    {0xffffffffu, 0, 0, 0, 0, 0, 0},\n};\n");
}

static bool any_scalar(const plan *p)
{
    for (size_t i = 0; i < p->n_steps; i++)
        if (epu_is_scalar(p->steps[i]))
            return true;
    return false;
}

static void put_memory_type(epu_emit *e)
{
    str_printf(e->c,
               "\n/* Memory as the kernels of the scalar core see it. */\n"
               "typedef struct %s_memory {\n"
               "    uint8_t *arena; /* OCM */\n"
               "    const uint8_t *weights;\n"
               "    const void *in[%zu];\n"
               "    void *out[%zu];\n"
               "} %s_memory;\n",
               e->p->module, e->p->graph->n_inputs ? e->p->graph->n_inputs : 1,
               e->p->graph->n_outputs, e->p->module);
}

static void put_state(epu_emit *e, bool scalar)
{
    if (scalar)
        put_memory_type(e);
    str_put(e->c, state_text);
    if (scalar)
        str_printf(e->c, "    %s_memory memory;\n", e->p->module);
    str_put(e->c, "} state;\n");
    str_put(e->c, ahead_text);
    str_put(e->c, store_text);
}

static cgc_status put_layers(epu_emit *e)
{
    static cgc_status (*const put[])(epu_emit *, const plan_step *) = {
#define MAPPING(name, op, unit, meaning) epu_put_##name,
#include "plan/mappings.def"
#undef MAPPING
    };
    for (size_t i = 0; i < e->p->n_steps; i++) {
        plan_step *s = e->p->steps[i];
        e->step = (int32_t)i;
        e->depth = 0;
        epu_put_handed_prototype(e);
        TRY(epu_is_scalar(s) ? epu_put_scalar(e, s) : put[s->mapping](e, s));
    }
    return CGC_OK;
}

static void put_memory(epu_emit *e)
{
    const ir_graph *g = e->p->graph;
    epu_line(e, "s.memory.arena = (uint8_t *)ccl_ptr(CCL_OCM_BASE);");
    epu_line(e, "s.memory.weights = (const uint8_t *)ccl_ptr(CCL_DDR_BASE + %lluu);",
             (unsigned long long)(e->map.weights - DDR_BASE) +
                 (unsigned long long)(e->scalar->weights.len ? aligned(e->scalar_at) : 0));
    for (size_t i = 0; i < g->n_inputs; i++)
        epu_line(e, "s.memory.in[%zu] = ccl_ptr(CCL_DDR_BASE + %luu);", i,
                 (unsigned long)(e->map.inputs[i] - DDR_BASE));
    for (size_t i = 0; i < g->n_outputs; i++)
        epu_line(e, "s.memory.out[%zu] = ccl_ptr(CCL_DDR_BASE + %luu);", i,
                 (unsigned long)(e->map.outputs[i] - DDR_BASE));
}

static void put_run(epu_emit *e, bool scalar)
{
    str_put(
        e->c,
        "\n/* All layers; on return every result is in DDR. */\nstatic void run_layers(void)\n{\n");
    e->depth = 1;
    epu_line(e, "state s = {0};");
    if (scalar)
        put_memory(e);
    for (size_t i = 0; i < e->p->n_steps; i++)
        epu_line(e, "%s(&s);", e->p->steps[i]->function);
    epu_line(e, "store_now(&s);");
    epu_line(e, "ccl_drain();");
    e->depth = 0;
    epu_line(e, "}");
}

/* ---- entries ---- */

static const char *const riscv_entry =
    "\n#if defined(__riscv)\n"
    "/* Stack from link.ld; the end is an exit call with the result of ccl_main. */\n"
    "__asm__(\".section .text.start, \\\"ax\\\"\\n\"\n"
    "        \".globl _start\\n\"\n"
    "        \"_start:\\n\"\n"
    "        \"    la sp, stack_top\\n\"\n"
    "        \"    call ccl_main\\n\"\n"
    "        \"    li a7, 93\\n\"\n"
    "        \"    ecall\\n\"\n"
    "        \".text\\n\");\n"
    "int ccl_main(void);\n"
    "int ccl_main(void)\n"
    "{\n"
    "    run_layers();\n"
    "    return 0;\n"
    "}\n"
    "#else\n";

static const char *const environment_text =
    "\n/* Rounding to nearest even, no contraction, no flush to zero. */\n"
    "static int numbers_are_sound(void)\n"
    "{\n"
    "    volatile float a = 1.000244140625f, b = 1.00048828125f, big = 16777216.0f, one = 1.0f;\n"
    "    volatile float three = 3.0f, tiny = 1.17549435e-38f, half = 0.5f;\n"
    "    volatile float contracted = a * a - b, down = big + one, up = big + three, small = tiny * "
    "half;\n"
    "    return contracted == 0.0f && down == big && up == 16777220.0f && small > 0.0f;\n"
    "}\n";

static void put_native_memory(epu_emit *e)
{
    const cgc_hw *hw = &e->p->hw;
    str_printf(e->c,
               "\n/* The same program on this machine: the arena holds OCM, DDR and the array's "
               "own memory. */\n"
               "enum { OCM_BYTES = %d, DDR_BYTES = %llu, WEIGHTS_BYTES = %zu };\n\n"
               "static ccl_epu_config configuration(uint8_t *ocm, uint8_t *ddr)\n{\n"
               "    const ccl_epu_config c = {%d, %d, %d, %d, ocm, ddr, OCM_BYTES, DDR_BYTES};\n"
               "    return c;\n}\n",
               hw->ocm_size, (unsigned long long)aligned((int64_t)e->map.bytes + 1), e->weights.len,
               hw->array_size, hw->macs_per_pe, hw->lrm_size, hw->num_acc);
    str_printf(e->c,
               "\nsize_t %s_arena_bytes(void)\n{\n"
               "    static uint8_t none; /* sizes alone matter here */\n"
               "    const ccl_epu_config c = configuration(&none, &none);\n"
               "    return (size_t)OCM_BYTES + DDR_BYTES + ccl_epu_bytes(&c);\n}\n",
               e->p->module);
    str_printf(e->c, "\nsize_t %s_weights_bytes(void)\n{\n    return WEIGHTS_BYTES;\n}\n",
               e->p->module);
}

static void put_trace(epu_emit *e)
{
    str_printf(e->c, "\ntypedef void (*%s_trace)(void *ud, int layer, const void *data);\n",
               e->p->module);
    str_printf(e->c, "typedef struct hook {\n    %s_trace trace;\n    void *ud;\n} hook;\n\n",
               e->p->module);
    str_put(e->c, "static void on_layer(void *ud, int layer)\n{\n"
                  "    static const uint32_t results[] = {0,");
    for (size_t i = 0; i < e->p->n_steps; i++)
        str_printf(e->c, "%s0x%lxu,", i % 6 == 0 ? "\n        " : " ",
                   (unsigned long)epu_address_of(e, e->p->steps[i]->output));
    str_put(e->c, "\n    };\n    const hook *h = (const hook *)ud;\n"
                  "    h->trace(h->ud, layer, ccl_ptr(results[layer]));\n}\n");
}

static void put_copies(epu_emit *e, bool in)
{
    const ir_graph *g = e->p->graph;
    for (size_t i = 0; i < (in ? g->n_inputs : g->n_outputs); i++) {
        const ir_type *t = in ? &g->inputs[i]->type : &g->outputs[i]->type;
        const unsigned long at = (in ? e->map.inputs[i] : e->map.outputs[i]) - DDR_BASE;
        if (in)
            epu_line(e, "memcpy(ddr + %luu, inputs[%zu], %zuu);", at, i, ir_type_bytes(t));
        else
            epu_line(e, "memcpy(outputs[%zu], ddr + %luu, %zuu);", i, at, ir_type_bytes(t));
    }
}

static void put_native_run(epu_emit *e)
{
    const char *m = e->p->module;
    str_printf(e->c,
               "\nint %s_run(const void *weights, void *arena, const void *const *inputs, void "
               "*const *outputs,\n"
               "        const char *variant, %s_trace trace, void *ud)\n{\n",
               m, m);
    e->depth = 1;
    epu_line(e, "uint8_t *const ocm = (uint8_t *)arena, *const ddr = ocm + OCM_BYTES;");
    epu_line(e, "const ccl_epu_config c = configuration(ocm, ddr);");
    epu_line(e, "hook h;");
    epu_line(e, "if (variant && variant[0])");
    epu_line(e, "    return 2;");
    epu_line(e, "if (!numbers_are_sound())");
    epu_line(e, "    return 1;");
    epu_line(e, "if (ccl_epu_open(&c, ddr + DDR_BYTES))");
    epu_line(e, "    return 3;");
    epu_line(e, "h.trace = trace;");
    epu_line(e, "h.ud = ud;");
    epu_line(e, "if (trace)");
    epu_line(e, "    ccl_epu_set_trace(on_layer, &h);");
    put_copies(e, true);
    epu_line(e, "memcpy(ddr + %luu, weights, WEIGHTS_BYTES);",
             (unsigned long)(e->map.weights - DDR_BASE));
    epu_line(e, "run_layers();");
    epu_line(e, "if (ccl_epu_close(0))");
    epu_line(e, "    return 3;");
    put_copies(e, false);
    epu_line(e, "return 0;");
    e->depth = 0;
    epu_line(e, "}");
    str_printf(
        e->c,
        "\ntypedef struct ccl_program {\n    size_t (*arena_bytes)(void);\n    size_t "
        "(*weights_bytes)(void);\n"
        "    int (*run)(const void *weights, void *arena, const void *const *inputs, void *const "
        "*outputs,\n"
        "               const char *variant, %s_trace trace, void *ud);\n} ccl_program;\n\n"
        "const ccl_program *ccl_program_get(void)\n{\n"
        "    static const ccl_program program = {%s_arena_bytes, %s_weights_bytes, %s_run};\n"
        "    return &program;\n}\n#endif\n",
        m, m, m, m);
}

static const char *const link_text =
    "/* Memory layout of the EPU program: RAM of the scalar core at CCL_RAM_BASE, stack at its "
    "end. */\n"
    "ENTRY(_start)\n"
    "MEMORY { ram (rwx) : ORIGIN = 0x80000000, LENGTH = 0x01000000 }\n"
    "SECTIONS {\n"
    "    .text : { KEEP(*(.text.start)) *(.text .text.*) } > ram\n"
    "    .rodata : { *(.rodata .rodata.* .srodata .srodata.*) } > ram\n"
    "    .data : { *(.data .data.* .sdata .sdata.*) } > ram\n"
    "    .bss (NOLOAD) : { *(.bss .bss.* .sbss .sbss.*) *(COMMON) } > ram\n"
    "    stack_top = ORIGIN(ram) + LENGTH(ram);\n"
    "}\n";

/* ---- facts ---- */

static void put_facts(epu_emit *e, const plan_step *s, str *out)
{
    static const char *const names[] = {
#define MAPPING(name, op, unit, meaning) #name,
#include "plan/mappings.def"
#undef MAPPING
        "scalar"};
    const uint32_t at = epu_address_of(e, s->output);
    const bool nhwc =
        s->output->layout == PLAN_NHWC && s->output->value && s->output->value->type.rank == 4;
    str_printf(out, "{\"mapping\": \"%s\", \"unit\": \"%s\", \"reason\": ", names[s->mapping],
               epu_is_scalar(s) ? "scalar" : "array");
    json_put_string(out, s->reason);
    str_printf(
        out, ", \"space\": \"%s\", \"address\": %lu, \"layout\": \"%s\", \"tiles\": %d, \"text\": ",
        at >= DDR_BASE ? "ddr" : "ocm", (unsigned long)at, nhwc ? "nhwc" : "plain",
        epu_of(s)->units);
    json_put_string(out, s->text);
    str_put(out, "}");
}

static cgc_status put_kernels(epu_emit *e)
{
    static const char *const always[] = {
        "ccl.h",          "requant.h",          "epu/ccl_epu.h",
        "epu/ccl_insn.h", "epu/ccl_epu_host.h", "epu/ccl_epu_host.c"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        TRY(emit_kernel(e->t, always[i]));
    for (const emit_embedded *f = emit_embedded_files; f->name; f++)
        if (strncmp(f->name, "insns/", 6) == 0)
            TRY(emit_kernel(e->t, f->name));
    return CGC_OK;
}

static cgc_status put_text(epu_emit *e, str *layers_text)
{
    const bool scalar = any_scalar(e->p);
    str body = *layers_text;
    put_top(e);
    put_pieces(e);
    put_state(e, scalar);
    str_putn(e->c, body.data, body.len);
    put_run(e, scalar);
    str_put(e->c, riscv_entry);
    str_put(e->c, environment_text);
    put_native_memory(e);
    put_trace(e);
    put_native_run(e);
    return CGC_OK;
}

cgc_status emit_epu_program(plan *p, emit_tree *t, str *layers, emit_epu_map *out_map)
{
    host_emit scalar = {.p = p, .t = t, .a = t->arena};
    epu_emit e = {.p = p, .t = t, .a = t->arena, .scalar = &scalar};
    str body;
    str_init(&e.weights, e.a);
    str_init(&scalar.weights, e.a);
    str_init(&body, e.a);
    TRY(map_ddr(&e));
    TRY(epu_pack(&e));
    e.scalar_at = (int64_t)e.weights.len;
    e.c = &body;
    TRY(put_layers(&e));
    if (scalar.weights.len)
        emit_blob(&e.weights, scalar.weights.data, scalar.weights.len, DDR_ALIGN);
    TRY(check_ddr(&e));
    e.c = &emit_add(t, arena_printf(e.a, "%s_epu.c", p->module))->text;
    TRY(put_text(&e, &body));
    str *blob = &emit_add(t, "weights_epu.bin")->text;
    str_putn(blob, e.weights.data, e.weights.len);
    str_put(&emit_add(t, "link.ld")->text, link_text);
    TRY(put_kernels(&e));
    for (size_t i = 0; i < p->n_steps; i++)
        put_facts(&e, p->steps[i], &layers[i]);
    *out_map = e.map;
    return CGC_OK;
}
