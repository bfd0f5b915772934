/* SPDX-License-Identifier: Apache-2.0
 *
 * eval.c - public functions that give values: one operator on tensors, a graph's passes and its
 * interpretation. A single operator is a graph of one node that lives for the call; its operands
 * are the caller's memory.
 */
#include "interp/interp.h"
#include "passes/pass.h"

#include <string.h>

/* ---- tensors of the caller ---- */
static cgc_status check_tensor(cgc_ctx *ctx, const cgc_tensor *t, bool data, diag_info info,
                               const char *what, ir_type *out)
{
    *out = (ir_type){.dtype = (ir_dtype)t->dtype, .rank = t->rank};
    if (t->dtype < 0 || t->dtype >= IR_DTYPE_COUNT) {
        info.found = arena_printf(&ctx->arena, "%d", (int)t->dtype);
        info.wanted = "a number that cgc_dtype_from_name gives";
        return diag(ctx, CGC_E_ARGUMENT, info, "%s has an unknown element type", what);
    }
    if (t->rank >= 0 && t->rank <= IR_MAX_RANK)
        memcpy(out->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
    TRY(ir_type_check(ctx, out, info, what));
    if (data && (!t->data || t->bytes != ir_type_bytes(out))) {
        info.found = t->data ? arena_printf(&ctx->arena, "%zu bytes", t->bytes) : "no data";
        info.wanted = arena_printf(&ctx->arena, "%zu bytes for %s", ir_type_bytes(out),
                                   ir_type_text(&ctx->arena, out));
        return diag(ctx, CGC_E_ARGUMENT, info, "%s has the wrong size", what);
    }
    return CGC_OK;
}

static cgc_status check_count(cgc_ctx *ctx, diag_info info, const char *what, int32_t found,
                              size_t wanted)
{
    if (found >= 0 && (size_t)found == wanted)
        return CGC_OK;
    info.found = arena_printf(&ctx->arena, "%d", (int)found);
    info.wanted = arena_printf(&ctx->arena, "%zu", wanted);
    return diag(ctx, CGC_E_ARGUMENT, info, "the number of %s is wrong", what);
}

/* The tensor must have exactly the type wanted. */
static cgc_status take_tensor(cgc_ctx *ctx, const cgc_tensor *t, const ir_type *wanted,
                              diag_info info, const char *what, ir_tensor *out)
{
    TRY(check_tensor(ctx, t, true, info, what, &out->type));
    out->data = t->data;
    if (ir_type_equal(&out->type, wanted))
        return CGC_OK;
    info.found = ir_type_text(&ctx->arena, &out->type);
    info.wanted = ir_type_text(&ctx->arena, wanted);
    return diag(ctx, CGC_E_TYPE, info, "%s has the wrong type", what);
}

/* ---- one operator ---- */
/* Arguments of a public call; op and attrs only for one operator. */
typedef struct call {
    const char *op, *attrs;
    const cgc_tensor *inputs;
    int32_t n_inputs;
    cgc_tensor *outputs;
    int32_t n_outputs;
    bool run; /* evaluate into outputs; else write their types */
} call;

/* Operands of the operator itself: those before the first that an attribute names. */
static int32_t count_operands(const ir_node *n, int32_t n_inputs)
{
    for (int32_t i = 0; i < n->op->n_attrs; i++) {
        const ir_value *v = n->attrs[i].tensor;
        if (v && v->kind == IR_VALUE_INPUT && v->index < n_inputs)
            n_inputs = v->index;
    }
    return n_inputs;
}

enum { MAX_OPERANDS = 2 * IR_MAX_INPUTS }; /* the operator's own and those of attributes */

static cgc_status add_operands(ir_graph *g, const call *c, ir_value *values[MAX_OPERANDS])
{
    diag_info info = {.op = c->op};
    if (c->n_inputs < 0 || c->n_inputs > MAX_OPERANDS || (c->n_inputs && !c->inputs)) {
        info.found = arena_printf(&g->ctx->arena, "%d", (int)c->n_inputs);
        info.wanted = arena_printf(&g->ctx->arena, "0..%d, and where they are", MAX_OPERANDS);
        return diag(g->ctx, CGC_E_ARGUMENT, info, "the number of operands is unusable");
    }
    for (int32_t i = 0; i < c->n_inputs; i++) {
        ir_type type;
        const char *name = arena_printf(&g->arena, "operand %d", (int)i);
        TRY(check_tensor(g->ctx, &c->inputs[i], c->run, info, name, &type));
        values[i] = ir_add_input(g, name, &type);
        values[i]->data = c->inputs[i].data; /* where per-channel attributes read */
    }
    return CGC_OK;
}

static cgc_status finish_node(ir_graph *g, const call *c, ir_node *n)
{
    TRY(ir_parse_attrs(g, n, c->attrs ? c->attrs : ""));
    n->n_inputs = count_operands(n, c->n_inputs);
    TRY(ir_infer(g, n));
    return check_count(g->ctx, ir_where(n, NULL), "results", c->n_outputs, (size_t)n->n_results);
}

static cgc_status evaluate(cgc_ctx *ctx, const call *c, const ir_node *n)
{
    ir_tensor in[IR_MAX_INPUTS] = {0}, out[OP_MAX_RESULTS] = {0};
    for (int32_t i = 0; i < n->n_inputs; i++)
        in[i] = (ir_tensor){.type = n->inputs[i]->type, .data = c->inputs[i].data};
    for (int32_t i = 0; i < n->n_results; i++)
        TRY(take_tensor(ctx, &c->outputs[i], &n->results[i]->type, ir_where(n, NULL), "the result",
                        &out[i]));
    return n->op->eval(ctx, n, in, out);
}

static cgc_status call_in(ir_graph *g, const call *c)
{
    const char *name = c->op ? c->op : "";
    const op_info *op = op_by_name(name);
    if (!op)
        return op_unknown(g->ctx, name, "");
    ir_value *values[MAX_OPERANDS];
    TRY(add_operands(g, c, values));
    ir_node *n = ir_make_node(g, op, values, c->n_inputs, "");
    TRY(finish_node(g, c, n));
    if (c->run)
        return evaluate(g->ctx, c, n);
    for (int32_t i = 0; c->outputs && i < n->n_results; i++) {
        const ir_type *t = &n->results[i]->type;
        cgc_tensor *o = &c->outputs[i];
        o->dtype = (cgc_dtype)t->dtype;
        o->rank = t->rank;
        memcpy(o->dims, t->dims, sizeof o->dims);
        o->bytes = ir_type_bytes(t);
    }
    return CGC_OK;
}

static cgc_status call_op(cgc_ctx *ctx, const call *c)
{
    CGC_ENTER(ctx, CGC_E_NOMEM);
    ir_graph *g = ir_graph_new(ctx);
    const cgc_status status = call_in(g, c);
    scratch_reset(ctx);
    ir_graph_free(g);
    CGC_LEAVE(ctx);
    return status;
}

cgc_status cgc_op_eval(cgc_ctx *ctx, const char *op, const char *attrs, const cgc_tensor *inputs,
                       int32_t n_inputs, cgc_tensor *outputs, int32_t n_outputs)
{
    const call c = {op, attrs, inputs, n_inputs, outputs, n_outputs, outputs != NULL};
    return call_op(ctx, &c);
}

cgc_status cgc_op_infer(cgc_ctx *ctx, const char *op, const char *attrs, const cgc_tensor *inputs,
                        int32_t n_inputs, cgc_tensor *out_types, int32_t n_outputs)
{
    const call c = {op, attrs, inputs, n_inputs, out_types, n_outputs, false};
    return call_op(ctx, &c);
}

/* ---- a graph ---- */
cgc_status cgc_graph_run_passes(cgc_graph *graph, const char *last)
{
    cgc_ctx *ctx = graph->ctx;
    CGC_ENTER(ctx, CGC_E_NOMEM);
    const cgc_status status = pass_run(graph, last ? last : "");
    scratch_reset(ctx);
    CGC_LEAVE(ctx);
    return status;
}

typedef struct edges { /* the caller's tensors, in graph order */
    arena memory;
    guard guard;
    ir_tensor *in, *out;
} edges;

static void release_edges(void *object)
{
    arena_deinit(&((edges *)object)->memory);
}

static cgc_status interpret(ir_graph *g, edges *e, const call *c)
{
    cgc_ctx *ctx = g->ctx;
    diag_info none = {0}, info = {0};
    e->in = arena_array(&e->memory, g->n_inputs, sizeof *e->in);
    e->out = arena_array(&e->memory, g->n_outputs, sizeof *e->out);
    TRY(check_count(ctx, none, "inputs", c->n_inputs, g->n_inputs));
    TRY(check_count(ctx, none, "outputs", c->n_outputs, g->n_outputs));
    for (size_t i = 0; i < g->n_inputs; i++) {
        info.setting = g->inputs[i]->name;
        TRY(take_tensor(ctx, &c->inputs[i], &g->inputs[i]->type, info, "the input", &e->in[i]));
    }
    for (size_t i = 0; i < g->n_outputs; i++) {
        info.setting = g->output_names[i];
        TRY(take_tensor(ctx, &c->outputs[i], &g->outputs[i]->type, info, "the output", &e->out[i]));
    }
    return interp_run(g, e->in, e->out);
}

static cgc_status interpret_call(ir_graph *g, const call *c)
{
    edges e = {0};
    CGC_ENTER(g->ctx, CGC_E_NOMEM);
    arena_init(&e.memory, g->ctx);
    guard_push(g->ctx, &e.guard, release_edges, &e);
    const cgc_status status = interpret(g, &e, c);
    scratch_reset(g->ctx);
    guard_drop(g->ctx, &e.guard);
    release_edges(&e);
    CGC_LEAVE(g->ctx);
    return status;
}

cgc_status cgc_graph_interpret(cgc_graph *graph, const cgc_tensor *inputs, int32_t n_inputs,
                               cgc_tensor *outputs, int32_t n_outputs)
{
    const call c = {
        .inputs = inputs, .n_inputs = n_inputs, .outputs = outputs, .n_outputs = n_outputs};
    return interpret_call(graph, &c);
}
