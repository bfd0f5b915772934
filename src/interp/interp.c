/* SPDX-License-Identifier: Apache-2.0
 *
 * interp.c - the meaning of a graph: evaluates its nodes in order. Each result has an arena of its
 * own that is freed after the last use, so memory peaks at the live values of one moment. Inputs
 * and constants are read where they are.
 */
#include "interp/interp.h"

#include "passes/pass.h"

#include <string.h>

typedef struct slot { /* one result of one node */
    arena memory;
    void *data; /* NULL before its node has run and after the last use */
    size_t last_use;
} slot;

typedef struct run {
    cgc_ctx *ctx;
    ir_graph *g;
    const ir_tensor *inputs;
    arena memory; /* of slots and first_slot */
    slot *slots;
    size_t n_slots;
    size_t *first_slot; /* of each node, by id */
    guard guard;
} run;

static void release(void *object)
{
    run *r = object;
    for (size_t i = 0; i < r->n_slots; i++)
        arena_deinit(&r->slots[i].memory);
    arena_deinit(&r->memory);
}

static slot *slot_of(const run *r, const ir_value *v)
{
    return &r->slots[r->first_slot[v->node->id] + (size_t)v->result];
}

static void mark_use(run *r, const ir_value *v, size_t when)
{
    if (v && v->kind == IR_VALUE_RESULT)
        slot_of(r, v)->last_use = when;
}

/* Slots for all results, with the position of the last use of each. */
static void prepare(run *r)
{
    ir_graph *g = r->g;
    r->first_slot = arena_array(&r->memory, g->n_nodes, sizeof *r->first_slot);
    size_t n_slots = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i]->id = (int32_t)i;
        r->first_slot[i] = n_slots;
        n_slots += (size_t)g->nodes[i]->n_results;
    }
    r->slots = arena_array(&r->memory, n_slots, sizeof *r->slots);
    for (; r->n_slots < n_slots; r->n_slots++)
        arena_init(&r->slots[r->n_slots].memory, r->ctx);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const ir_node *n = g->nodes[i];
        for (int32_t k = 0; k < n->n_results; k++)
            mark_use(r, n->results[k], i);
        for (int32_t k = 0; k < n->n_inputs; k++)
            mark_use(r, n->inputs[k], i);
    }
    for (size_t i = 0; i < g->n_outputs; i++)
        mark_use(r, g->outputs[i], g->n_nodes);
}

static ir_tensor tensor_of(const run *r, const ir_value *v)
{
    ir_tensor t = {.type = v->type};
    if (v->kind == IR_VALUE_CONSTANT)
        t.data = (void *)(uintptr_t)v->data; /* operators only read their operands */
    else if (v->kind == IR_VALUE_INPUT)
        t.data = r->inputs[v->index].data;
    else
        t.data = slot_of(r, v)->data;
    return t;
}

static void drop_after(run *r, const ir_value *v, size_t when)
{
    if (!v || v->kind != IR_VALUE_RESULT || slot_of(r, v)->last_use != when)
        return;
    arena_deinit(&slot_of(r, v)->memory);
    slot_of(r, v)->data = NULL;
}

static cgc_status step(run *r, size_t i, interp_trace trace, void *ud)
{
    const ir_node *n = r->g->nodes[i];
    ir_tensor in[IR_MAX_INPUTS] = {0}, out[OP_MAX_RESULTS] = {0};
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k])
            in[k] = tensor_of(r, n->inputs[k]);
    for (int32_t k = 0; k < n->n_results; k++) {
        slot *s = slot_of(r, n->results[k]);
        s->data = arena_alloc(&s->memory, ir_type_bytes(&n->results[k]->type));
        out[k] = tensor_of(r, n->results[k]);
    }
    const cgc_status status = n->op->eval(r->ctx, n, in, out);
    scratch_reset(r->ctx);
    TRY(status);
    if (trace)
        trace(ud, n, out);
    for (int32_t k = 0; k < n->n_inputs; k++)
        drop_after(r, n->inputs[k], i);
    for (int32_t k = 0; k < n->n_results; k++)
        drop_after(r, n->results[k], i);
    return CGC_OK;
}

static cgc_status run_nodes(run *r, ir_tensor *outputs, interp_trace trace, void *ud)
{
    const ir_graph *g = r->g;
    prepare(r);
    for (size_t i = 0; i < g->n_nodes; i++)
        TRY(step(r, i, trace, ud));
    for (size_t i = 0; i < g->n_outputs; i++) {
        const ir_tensor t = tensor_of(r, g->outputs[i]);
        memcpy(outputs[i].data, t.data, ir_type_bytes(&t.type));
    }
    return CGC_OK;
}

cgc_status interp_run_lowered(ir_graph *g, const ir_tensor *inputs, ir_tensor *outputs,
                              interp_trace trace, void *ud)
{
    run r = {.ctx = g->ctx, .g = g, .inputs = inputs};
    arena_init(&r.memory, g->ctx);
    guard_push(g->ctx, &r.guard, release, &r);
    const cgc_status status = run_nodes(&r, outputs, trace, ud);
    guard_drop(g->ctx, &r.guard);
    release(&r);
    return status;
}

/* The lowering of a graph that only the interpreter sees repeats what cgc_graph_run_passes or
 * cgc_compile say, so it leaves no notes. */
static cgc_status lower_quietly(ir_graph *g)
{
    const bool quiet = g->ctx->quiet;
    g->ctx->quiet = true;
    const cgc_status status = pass_run(g, "");
    g->ctx->quiet = quiet;
    return status;
}

cgc_status interp_run(ir_graph *g, const ir_tensor *inputs, ir_tensor *outputs)
{
    ir_graph *lowered = ir_clone(g);
    cgc_status status = lower_quietly(lowered);
    if (status == CGC_OK)
        status = interp_run_lowered(lowered, inputs, outputs, NULL, NULL);
    ir_graph_free(lowered);
    return status;
}
