/* SPDX-License-Identifier: Apache-2.0
 *
 * prove.c - one model, the same inputs, every engine: counts output bytes that differ from the interpreter's. Where
 * some do, a traced run of that engine and a traced interpretation of the lowered graph name the first layer (in
 * execution order) whose value differs, the index and both values.
 */
#include "run/run.h"

#include "passes/pass.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ENGINES = 32, ENGINE_MAX_BYTES = 64 };

typedef struct proof {
    cgc_program *p;
    cgc_graph *graph;
    arena *a;
    const ir_tensor *inputs;
    ir_tensor *expected, *found; /* outputs */
    ir_tensor *by_node; /* result 0 of each node of the lowered graph, by id; NULL until needed */
    int32_t n_nodes;
    str text;
} proof;

/* ---- comparing ---- */

/* Differing bytes; *out_elem is the first element with one, or -1. */
static int64_t count_differing(const ir_tensor *a, const ir_tensor *b, int64_t *out_elem)
{
    const unsigned char *x = a->data, *y = b->data;
    size_t n = ir_type_bytes(&a->type), elem = ir_dtype_bytes(a->type.dtype);
    int64_t count = 0;
    *out_elem = -1;
    for (size_t i = 0; i < n; i++) {
        if (x[i] == y[i])
            continue;
        if (count++ == 0)
            *out_elem = (int64_t)(i / elem);
    }
    return count;
}

static void put_element(str *s, const ir_tensor *t, int64_t i)
{
    const char *at = (const char *)t->data + (size_t)i * ir_dtype_bytes(t->type.dtype);
    int64_t wide = 0;
    int32_t word = 0;
    int16_t half = 0;
    float f = 0;
    switch (t->type.dtype) {
    case IR_float32:
        memcpy(&f, at, sizeof f);
        memcpy(&word, at, sizeof word);
        str_printf(s, "%.9g (0x%08" PRIx32 ")", (double)f, (uint32_t)word);
        return;
    case IR_int64:
        memcpy(&wide, at, sizeof wide);
        break;
    case IR_int32:
        memcpy(&word, at, sizeof word);
        wide = word;
        break;
    case IR_int16:
        memcpy(&half, at, sizeof half);
        wide = half;
        break;
    case IR_int8:
        wide = *(const int8_t *)at;
        break;
    default:
        wide = *(const uint8_t *)at;
    }
    str_printf(s, "%" PRId64, wide);
}

static void put_index(str *s, const ir_type *t, int64_t i)
{
    int64_t index[IR_MAX_RANK];
    for (int32_t d = t->rank - 1; d >= 0; d--) {
        index[d] = i % t->dims[d];
        i /= t->dims[d];
    }
    str_put(s, "[");
    for (int32_t d = 0; d < t->rank; d++)
        str_printf(s, "%s%" PRId64, d ? ", " : "", index[d]);
    str_put(s, "]");
}

static void put_difference(proof *f, const char *engine, const ir_tensor *expected,
                           const ir_tensor *found, int64_t i)
{
    str_put(&f->text, " at ");
    put_index(&f->text, &expected->type, i);
    str_put(&f->text, ": interp ");
    put_element(&f->text, expected, i);
    str_printf(&f->text, ", %s ", engine);
    put_element(&f->text, found, i);
    str_put(&f->text, "\n");
}

/* ---- expected values ---- */

static ir_tensor *new_outputs(proof *f)
{
    ir_tensor *t = arena_array(f->a, (size_t)f->p->n_outputs, sizeof *t);
    for (int32_t i = 0; i < f->p->n_outputs; i++) {
        t[i].type = f->p->outputs[i].type;
        t[i].data = arena_alloc(f->a, ir_type_bytes(&t[i].type) + 1);
    }
    return t;
}

static cgc_status check_graph(const proof *f)
{
    const cgc_program *p = f->p;
    bool same =
        f->graph->n_inputs == (size_t)p->n_inputs && f->graph->n_outputs == (size_t)p->n_outputs;
    for (int32_t i = 0; same && i < p->n_inputs; i++)
        same = ir_type_equal(&f->graph->inputs[i]->type, &p->inputs[i].type) &&
               ir_type_equal(&f->inputs[i].type, &p->inputs[i].type);
    for (int32_t i = 0; same && i < p->n_outputs; i++)
        same = ir_type_equal(&f->graph->outputs[i]->type, &p->outputs[i].type);
    if (same)
        return CGC_OK;
    return diag(p->ctx, CGC_E_TYPE,
                (diag_info){.wanted = "the graph that the program was compiled from"},
                "inputs or outputs of graph and program '%s' differ", p->module);
}

static void keep_result(void *ud, const ir_node *n, const ir_tensor *results)
{
    proof *f = ud;
    if (n->id < 0 || n->id >= f->n_nodes)
        return;
    size_t bytes = ir_type_bytes(&results[0].type);
    ir_tensor *t = &f->by_node[n->id];
    t->type = results[0].type;
    t->data = arena_alloc(f->a, bytes + 1);
    memcpy(t->data, results[0].data, bytes);
}

/* Once per proof: the values of the lowered graph, node by node. */
static cgc_status expect_layers(proof *f)
{
    cgc_program *p = f->p;
    if (f->by_node)
        return CGC_OK;
    cgc_graph_free(p->lowered);
    p->lowered = NULL;
    p->lowered = ir_clone(f->graph);
    const bool quiet = p->ctx->quiet; /* its notes were given when it was compiled */
    p->ctx->quiet = true;
    const cgc_status lowered = pass_run(p->lowered, "");
    p->ctx->quiet = quiet;
    TRY(lowered);
    ir_renumber(p->lowered);
    f->n_nodes = (int32_t)p->lowered->n_nodes;
    f->by_node = arena_array(f->a, p->lowered->n_nodes + 1, sizeof *f->by_node);
    return interp_run_lowered(p->lowered, f->inputs, new_outputs(f), keep_result, f);
}

/* ---- the first layer that differs ---- */

/* What a layer should hold: a node's result or, after a change of layout, a graph input. NULL if unknown. */
static const ir_tensor *expected_of(const proof *f, const run_layer *l)
{
    const ir_tensor *t = NULL;
    int64_t id;
    if (l->value[0] == '%' && parse_i64(l->value + 1, &id) > 0 && id >= 0 && id < f->n_nodes)
        t = &f->by_node[id];
    for (int32_t i = 0; !t && i < f->p->n_inputs; i++)
        t = strcmp(f->p->inputs[i].name, l->value) == 0 ? &f->inputs[i] : NULL;
    return t && t->data && ir_type_equal(&t->type, &l->type) ? t : NULL;
}

static cgc_status blame_layer(proof *f, const char *engine, const char *traced_engine)
{
    cgc_program *p = f->p;
    int64_t elem;
    TRY(expect_layers(f));
    TRY(run_program(p, traced_engine, true, f->inputs, f->found));
    int32_t compared = 0;
    for (int32_t i = 0; i < p->n_layers; i++) {
        const run_layer *l = &p->layers[i];
        const ir_tensor *expected = p->seen[i] ? expected_of(f, l) : NULL;
        if (!expected)
            continue;
        compared++;
        if (count_differing(expected, &p->values[i], &elem) == 0)
            continue;
        str_printf(&f->text, "  first in layer %d '%s' (%s, %s)", (int)l->id, l->name, l->op,
                   l->value);
        put_difference(f, engine, expected, &p->values[i], elem);
        return CGC_OK;
    }
    str_printf(&f->text, "  no difference in the %d layers of the traced run of %s\n",
               (int)compared, traced_engine);
    return CGC_OK;
}

/* ---- engines ---- */

static cgc_status compare_engine(proof *f, const char *engine, int64_t *out_differing)
{
    cgc_program *p = f->p;
    int64_t differing = 0, total = 0, first = -1;
    int32_t first_output = 0;
    TRY(run_program(p, engine, false, f->inputs, f->found));
    for (int32_t i = 0; i < p->n_outputs; i++) {
        int64_t elem, n = count_differing(&f->expected[i], &f->found[i], &elem);
        if (differing == 0 && n > 0) {
            first = elem;
            first_output = i;
        }
        differing += n;
        total += (int64_t)ir_type_bytes(&f->found[i].type);
    }
    str_printf(&f->text, "%-16s %" PRId64 " of %" PRId64 " bytes differ\n", engine, differing,
               total);
    *out_differing += differing;
    if (differing == 0)
        return CGC_OK;
    str_printf(&f->text, "  output '%s'", p->outputs[first_output].name);
    put_difference(f, engine, &f->expected[first_output], &f->found[first_output], first);
    /* A race would stop the traced run; here the values are wanted. */
    return blame_layer(f, engine, strcmp(engine, "iss:race") == 0 ? "iss" : engine);
}

/* All engines of the program. A variant that this CPU cannot run is said, not failed. */
static cgc_status prove_all(proof *f, int64_t *out_differing)
{
    cgc_program *p = f->p;
    for (int32_t i = 0; i < p->n_variants; i++) {
        const char *engine = arena_printf(f->a, "host:%s", p->variants[i]);
        const cgc_error before = p->ctx->error;
        cgc_status s = compare_engine(f, engine, out_differing);
        if (s != CGC_E_ARGUMENT || before.code != CGC_OK || i == 0) {
            TRY(s);
            continue;
        }
        p->ctx->error = before;
        str_printf(&f->text, "%-16s not run: this CPU cannot\n", engine);
    }
    TRY(compare_engine(f, "epu_host", out_differing));
    return compare_engine(f, "iss:race", out_differing);
}

static cgc_status prove_listed(proof *f, const char *engines, int64_t *out_differing)
{
    for (const char *at = engines; *at;) {
        size_t n = strcspn(at, ",");
        const char *engine = arena_strndup(f->a, at, n);
        if (n > 0 && strcmp(engine, "interp") != 0)
            TRY(compare_engine(f, engine, out_differing));
        at += n + (at[n] == ',');
    }
    return CGC_OK;
}

cgc_status run_prove(cgc_graph *graph, cgc_program *p, const char *engines, const ir_tensor *inputs,
                     int64_t *out_differing)
{
    proof f = {.p = p, .graph = graph, .a = &p->proof, .inputs = inputs};
    *out_differing = 0;
    p->text = "";
    arena_reset(&p->proof);
    str_init(&f.text, f.a);
    TRY(check_graph(&f));
    f.expected = new_outputs(&f);
    f.found = new_outputs(&f);
    TRY(interp_run(graph, inputs, f.expected));
    TRY(engines[0] ? prove_listed(&f, engines, out_differing) : prove_all(&f, out_differing));
    str_printf(&f.text, "differing bytes: %" PRId64 "\n", *out_differing);
    p->text = f.text.data;
    return CGC_OK;
}
