/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.c - public functions that build, print, read and write graphs. Each enters the context,
 * calls one static function that does the work, and leaves. A failed addition leaves the graph as
 * it was.
 */
#include "ops/op.h"

#include <string.h>

enum { MAX_EDGES = 1024 };

cgc_graph *cgc_graph_new(cgc_ctx *ctx)
{
    CGC_ENTER(ctx, NULL);
    cgc_graph *g = ir_graph_new(ctx);
    CGC_LEAVE(ctx);
    return g;
}

void cgc_graph_free(cgc_graph *graph)
{
    ir_graph_free(graph);
}

static cgc_status bad_argument(cgc_ctx *ctx, const char *what, const char *found,
                               const char *wanted)
{
    diag_info info = {.found = found, .wanted = wanted};
    return diag(ctx, CGC_E_ARGUMENT, info, "%s", what);
}

/* ---- inputs and constants ---- */
typedef struct new_input {
    const char *name;
    cgc_dtype dtype;
    int32_t rank;
    const int64_t *dims;
} new_input;

static cgc_status make_type(cgc_ctx *ctx, cgc_dtype dtype, int32_t rank, const int64_t *dims,
                            const char *what, ir_type *out)
{
    *out = (ir_type){.dtype = (ir_dtype)dtype, .rank = rank};
    if (rank > 0 && rank <= IR_MAX_RANK) {
        if (!dims)
            return bad_argument(ctx, "a shape is NULL", NULL, "one number per dimension");
        memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
    }
    return ir_type_check(ctx, out, (diag_info){0}, what);
}

static cgc_status check_name(cgc_ctx *ctx, const char *what, const char *name)
{
    if (name && utf8_valid(name, strlen(name)))
        return CGC_OK;
    return bad_argument(ctx, arena_printf(&ctx->arena, "the name of a graph %s is unusable", what),
                        name ? NULL : "NULL", "UTF-8 text");
}

static cgc_status add_input(ir_graph *g, const new_input *in, cgc_value *out_value)
{
    ir_type type;
    TRY(check_name(g->ctx, "input", in->name));
    TRY(make_type(g->ctx, in->dtype, in->rank, in->dims,
                  arena_printf(&g->ctx->arena, "graph input '%s'", in->name), &type));
    for (size_t i = 0; i < g->n_inputs; i++)
        if (strcmp(g->inputs[i]->name, in->name) == 0)
            return bad_argument(g->ctx, "two graph inputs have the same name", in->name,
                                "unique names");
    if (g->n_inputs == MAX_EDGES)
        return bad_argument(g->ctx, "too many graph inputs", NULL, "at most 1024");
    (void)ir_add_input(g, in->name, &type);
    *out_value = (cgc_value)g->n_values - 1;
    return CGC_OK;
}

cgc_status cgc_graph_add_input(cgc_graph *graph, const char *name, cgc_dtype dtype, int32_t rank,
                               const int64_t *dims, cgc_value *out_value)
{
    CGC_ENTER(graph->ctx, CGC_E_NOMEM);
    cgc_status status = add_input(graph, &(new_input){name, dtype, rank, dims}, out_value);
    CGC_LEAVE(graph->ctx);
    return status;
}

static cgc_status take_constant(cgc_ctx *ctx, const cgc_tensor *t, const char *what, ir_tensor *out)
{
    TRY(make_type(ctx, t->dtype, t->rank, t->dims, what, &out->type));
    size_t bytes = ir_type_bytes(&out->type);
    out->data = t->data;
    if (t->data && t->bytes == bytes)
        return CGC_OK;
    return bad_argument(ctx, arena_printf(&ctx->arena, "%s has the wrong size", what),
                        t->data ? arena_printf(&ctx->arena, "%zu bytes", t->bytes) : "no data",
                        arena_printf(&ctx->arena, "%zu bytes for %s", bytes,
                                     ir_type_text(&ctx->arena, &out->type)));
}

static cgc_status add_constant(ir_graph *g, const cgc_tensor *tensor, cgc_value *out_value,
                               int32_t *out_index)
{
    ir_tensor t;
    if (!tensor)
        return bad_argument(g->ctx, "a constant is NULL", NULL, "a tensor");
    TRY(take_constant(g->ctx, tensor, "a constant", &t));
    const ir_value *v = ir_add_constant(g, &t.type, t.data);
    *out_value = (cgc_value)g->n_values - 1;
    *out_index = v->index;
    return CGC_OK;
}

cgc_status cgc_graph_add_constant(cgc_graph *graph, const cgc_tensor *tensor, cgc_value *out_value,
                                  int32_t *out_index)
{
    CGC_ENTER(graph->ctx, CGC_E_NOMEM);
    cgc_status status = add_constant(graph, tensor, out_value, out_index);
    CGC_LEAVE(graph->ctx);
    return status;
}

/* ---- nodes and outputs ---- */
typedef struct new_node {
    const char *op, *attrs, *layer;
    const cgc_value *inputs;
    int32_t n_inputs;
} new_node;

/* NULL for -1, which stands for an absent optional operand. */
static cgc_status find_value(ir_graph *g, cgc_value value, ir_value **out)
{
    *out = NULL;
    if (value >= 0 && (size_t)value < g->n_values) {
        *out = g->values[value];
        return CGC_OK;
    }
    if (value == -1)
        return CGC_OK;
    return bad_argument(g->ctx, "a value is not of this graph",
                        arena_printf(&g->ctx->arena, "%d", (int)value),
                        arena_printf(&g->ctx->arena, "0 to %zu", g->n_values - 1));
}

static cgc_status check_uses(ir_graph *g, const ir_node *n)
{
    for (int32_t i = 0; i < n->op->n_attrs; i++)
        if (n->attrs[i].tensor && n->attrs[i].tensor->kind != IR_VALUE_CONSTANT)
            return diag(g->ctx, CGC_E_ATTR,
                        (diag_info){.layer = n->layer,
                                    .op = n->op->name,
                                    .found = "input[i]",
                                    .wanted = "meta[relay.Constant][i]"},
                        "attribute %s of a graph's node names a constant of the graph",
                        n->op->attrs[i].name);
    return CGC_OK;
}

static cgc_status add_node(ir_graph *g, const new_node *c, cgc_value *out_first)
{
    ir_value *inputs[IR_MAX_INPUTS];
    const char *layer = c->layer ? c->layer : "";
    const op_info *op = op_by_name(c->op ? c->op : "");
    if (!op)
        return op_unknown(g->ctx, c->op ? c->op : "", layer);
    if (!utf8_valid(layer, strlen(layer)))
        return bad_argument(g->ctx, "a layer's name is unusable", NULL, "UTF-8 text");
    if (c->n_inputs < 0 || c->n_inputs > op->n_inputs || c->n_inputs > IR_MAX_INPUTS ||
        (c->n_inputs && !c->inputs)) {
        diag_info info = {.layer = layer, .op = op->name};
        info.found = arena_printf(&g->ctx->arena, "%d", (int)c->n_inputs);
        info.wanted = arena_printf(&g->ctx->arena, "at most %d", (int)op->n_inputs);
        return diag(g->ctx, CGC_E_ARGUMENT, info, "wrong number of operands");
    }
    for (int32_t i = 0; i < c->n_inputs; i++)
        TRY(find_value(g, c->inputs[i], &inputs[i]));
    size_t before = g->n_values;
    ir_node *n = ir_make_node(g, op, inputs, c->n_inputs, layer);
    cgc_status status = ir_parse_attrs(g, n, c->attrs ? c->attrs : "");
    if (status == CGC_OK)
        status = check_uses(g, n);
    if (status == CGC_OK)
        status = ir_infer(g, n);
    if (status != CGC_OK) {
        g->n_values = before;
        return status;
    }
    ir_append(g, n);
    *out_first = (cgc_value)before;
    return CGC_OK;
}

cgc_status cgc_graph_add_node(cgc_graph *graph, const char *op, const cgc_value *inputs,
                              int32_t n_inputs, const char *attrs, const char *layer,
                              cgc_value *out_first)
{
    CGC_ENTER(graph->ctx, CGC_E_NOMEM);
    cgc_status status = add_node(graph, &(new_node){op, attrs, layer, inputs, n_inputs}, out_first);
    CGC_LEAVE(graph->ctx);
    return status;
}

static cgc_status set_outputs(ir_graph *g, const cgc_value *values, const char *const *names,
                              int32_t n)
{
    if (n < 1 || n > MAX_EDGES || !values)
        return bad_argument(g->ctx, "wrong number of graph outputs",
                            arena_printf(&g->ctx->arena, "%d", (int)n), "1 to 1024");
    ir_value **outputs = arena_array(&g->arena, (size_t)n, sizeof *outputs);
    for (int32_t i = 0; i < n; i++) {
        TRY(find_value(g, values[i], &outputs[i]));
        if (!outputs[i])
            return bad_argument(g->ctx, "a graph output is not a value", "-1",
                                "a value of the graph");
        if (names)
            TRY(check_name(g->ctx, "output", names[i]));
        for (int32_t k = 0; names && k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                return bad_argument(g->ctx, "two graph outputs have the same name", names[i],
                                    "unique names");
    }
    ir_set_outputs(g, outputs, names, (size_t)n);
    return CGC_OK;
}

cgc_status cgc_graph_set_outputs(cgc_graph *graph, const cgc_value *values,
                                 const char *const *names, int32_t n)
{
    CGC_ENTER(graph->ctx, CGC_E_NOMEM);
    cgc_status status = set_outputs(graph, values, names, n);
    CGC_LEAVE(graph->ctx);
    return status;
}

cgc_status cgc_graph_verify(cgc_graph *graph)
{
    CGC_ENTER(graph->ctx, CGC_E_NOMEM);
    cgc_status status = ir_verify(graph);
    scratch_reset(graph->ctx);
    CGC_LEAVE(graph->ctx);
    return status;
}

/* ---- what a graph has ---- */
int32_t cgc_graph_input_count(const cgc_graph *graph)
{
    return (int32_t)graph->n_inputs;
}

int32_t cgc_graph_output_count(const cgc_graph *graph)
{
    return (int32_t)graph->n_outputs;
}

const char *cgc_graph_input_name(const cgc_graph *graph, int32_t i)
{
    return i >= 0 && (size_t)i < graph->n_inputs ? graph->inputs[i]->name : "";
}

const char *cgc_graph_output_name(const cgc_graph *graph, int32_t i)
{
    return i >= 0 && (size_t)i < graph->n_outputs ? graph->output_names[i] : "";
}

/* v NULL: there is no such value. */
static cgc_status give_type(const ir_graph *g, const ir_value *v, const char *what, cgc_tensor *out)
{
    CGC_ENTER(g->ctx, CGC_E_NOMEM);
    cgc_status status = CGC_OK;
    if (v) {
        *out = (cgc_tensor){.dtype = (cgc_dtype)v->type.dtype, .rank = v->type.rank};
        memcpy(out->dims, v->type.dims, sizeof out->dims);
        out->bytes = ir_type_bytes(&v->type);
    } else {
        status = bad_argument(g->ctx, what, NULL, NULL);
    }
    CGC_LEAVE(g->ctx);
    return status;
}

cgc_status cgc_graph_input_type(const cgc_graph *graph, int32_t i, cgc_tensor *out_type)
{
    const ir_value *v = i >= 0 && (size_t)i < graph->n_inputs ? graph->inputs[i] : NULL;
    return give_type(graph, v, "there is no graph input of that number", out_type);
}

cgc_status cgc_graph_output_type(const cgc_graph *graph, int32_t i, cgc_tensor *out_type)
{
    const ir_value *v = i >= 0 && (size_t)i < graph->n_outputs ? graph->outputs[i] : NULL;
    return give_type(graph, v, "there is no graph output of that number", out_type);
}

cgc_status cgc_graph_value_type(const cgc_graph *graph, cgc_value value, cgc_tensor *out_type)
{
    const ir_value *v = value >= 0 && (size_t)value < graph->n_values ? graph->values[value] : NULL;
    return give_type(graph, v, "there is no value of that number in the graph", out_type);
}

/* ---- text and files ---- */
static cgc_status print(ir_graph *g, bool layers, const char **out_text)
{
    str s;
    g->text = "";
    arena_reset(&g->text_arena);
    str_init(&s, &g->text_arena);
    ir_print(g, layers, &s);
    g->text = s.data;
    *out_text = s.data;
    return CGC_OK;
}

cgc_status cgc_graph_print(cgc_graph *graph, int32_t layers, const char **out_text)
{
    CGC_ENTER(graph->ctx, CGC_E_NOMEM);
    cgc_status status = print(graph, layers != 0, out_text);
    CGC_LEAVE(graph->ctx);
    return status;
}

static cgc_status parse(cgc_ctx *ctx, const char *text, const cgc_tensor *constants, int32_t n,
                        cgc_graph **out_graph)
{
    arena_guard a;
    cgc_status status = CGC_OK;
    if (!text || n < 0 || (n && !constants))
        return bad_argument(ctx, "cgc_graph_parse was called with NULL or a negative count", NULL,
                            NULL);
    arena_guard_init(&a, ctx);
    ir_tensor *tensors = arena_array(&a.arena, (size_t)n, sizeof *tensors);
    for (int32_t i = 0; i < n && status == CGC_OK; i++)
        status =
            take_constant(ctx, &constants[i],
                          arena_printf(&a.arena, "meta[relay.Constant][%d]", (int)i), &tensors[i]);
    if (status == CGC_OK)
        status = ir_parse(ctx, text, strlen(text), tensors, (size_t)n, out_graph);
    arena_guard_deinit(&a);
    return status;
}

cgc_status cgc_graph_parse(cgc_ctx *ctx, const char *text, const cgc_tensor *constants, int32_t n,
                           cgc_graph **out_graph)
{
    *out_graph = NULL;
    CGC_ENTER(ctx, (*out_graph = NULL, CGC_E_NOMEM)); /* it may have been set and released again */
    cgc_status status = parse(ctx, text, constants, n, out_graph);
    scratch_reset(ctx);
    CGC_LEAVE(ctx);
    return status;
}

cgc_status cgc_graph_save(cgc_graph *graph, const char *path)
{
    CGC_ENTER(graph->ctx, CGC_E_NOMEM);
    cgc_status status = ir_save(graph, path ? path : "");
    scratch_reset(graph->ctx);
    CGC_LEAVE(graph->ctx);
    return status;
}

cgc_status cgc_graph_load(cgc_ctx *ctx, const char *path, cgc_graph **out_graph)
{
    *out_graph = NULL;
    CGC_ENTER(ctx, (*out_graph = NULL, CGC_E_NOMEM)); /* it may have been set and released again */
    cgc_status status = ir_load(ctx, path ? path : "", out_graph);
    scratch_reset(ctx);
    CGC_LEAVE(ctx);
    return status;
}
