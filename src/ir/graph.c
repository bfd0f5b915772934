/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.c - building and rewriting a graph. The graph itself and everything in it lie in its own
 * arena; removed nodes stay there unused until the graph is freed. Nothing here checks meaning
 * (verify.c does).
 */
#include "ir/parse.h"
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

static void release(void *object)
{
    ir_graph *g = object;
    arena_deinit(&g->arena);
    arena_deinit(&g->text_arena);
    free(g);
}

ir_graph *ir_graph_new(cgc_ctx *ctx)
{
    bool fail = ctx->fail_at != 0 && ++ctx->n_allocs == ctx->fail_at;
    ir_graph *g = fail ? NULL : calloc(1, sizeof *g);
    if (!g) {
        ctx_nomem(ctx);
        return NULL;
    }
    g->ctx = ctx;
    arena_init(&g->arena, ctx);
    arena_init(&g->text_arena, ctx);
    g->text = "";
    guard_push(ctx, &g->guard, release, g);
    return g;
}

void ir_graph_free(ir_graph *g)
{
    if (!g)
        return;
    guard_drop(g->ctx,
               &g->guard); /* outside a public call this does nothing: the context may be gone */
    release(g);
}

#define PUSH(g, list, n, cap, item)                                                                \
    do {                                                                                           \
        (g)->list =                                                                                \
            arena_grow(&(g)->arena, (void *)(g)->list, &(g)->cap, (g)->n + 1, sizeof *(g)->list);  \
        (g)->list[(g)->n++] = (item);                                                              \
    } while (0)

static ir_value *new_value(ir_graph *g, ir_value_kind kind)
{
    ir_value *v = arena_alloc(&g->arena, sizeof *v);
    v->kind = kind;
    PUSH(g, values, n_values, cap_values, v);
    return v;
}

ir_value *ir_add_input(ir_graph *g, const char *name, const ir_type *type)
{
    ir_value *v = new_value(g, IR_VALUE_INPUT);
    v->name = arena_strdup(&g->arena, name);
    v->type = *type;
    v->index = (int32_t)g->n_inputs;
    PUSH(g, inputs, n_inputs, cap_inputs, v);
    return v;
}

ir_value *ir_add_constant(ir_graph *g, const ir_type *type, const void *data)
{
    size_t bytes = ir_type_bytes(type);
    void *copy = arena_alloc(&g->arena, bytes);
    if (data)
        memcpy(copy, data, bytes);
    ir_value *v = new_value(g, IR_VALUE_CONSTANT);
    v->type = *type;
    v->data = copy;
    v->index = (int32_t)g->n_constants;
    PUSH(g, constants, n_constants, cap_constants, v);
    return v;
}

ir_node *ir_make_node(ir_graph *g, const struct op_info *op, ir_value *const *inputs,
                      int32_t n_inputs, const char *layer)
{
    ir_node *n = arena_alloc(&g->arena, sizeof *n);
    n->op = op;
    n->layer = arena_strdup(&g->arena, layer ? layer : "");
    n->n_inputs = n_inputs;
    n->inputs = arena_array(&g->arena, (size_t)n_inputs, sizeof *n->inputs);
    if (n_inputs)
        memcpy(n->inputs, inputs, (size_t)n_inputs * sizeof *n->inputs);
    n->attrs = arena_array(&g->arena, (size_t)op->n_attrs, sizeof *n->attrs);
    for (int32_t i = 0; i < op->n_attrs; i++)
        ir_attr_default(g->ctx, &g->arena, &op->attrs[i], &n->attrs[i]);
    n->n_results = op->n_results;
    n->results = arena_array(&g->arena, (size_t)op->n_results, sizeof *n->results);
    for (int32_t i = 0; i < n->n_results; i++) {
        n->results[i] = new_value(g, IR_VALUE_RESULT);
        n->results[i]->node = n;
        n->results[i]->result = i;
    }
    return n;
}

void ir_append(ir_graph *g, ir_node *n)
{
    n->id = (int32_t)g->n_nodes;
    PUSH(g, nodes, n_nodes, cap_nodes, n);
}

/* Position of n, or n_nodes. Ids are right unless the graph was edited, so that place is tried
 * first. */
static size_t position(const ir_graph *g, const ir_node *n)
{
    size_t id = (size_t)n->id;
    if (n->id >= 0 && id < g->n_nodes && g->nodes[id] == n)
        return id;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i] == n)
            return i;
    return g->n_nodes;
}

void ir_insert_before(ir_graph *g, ir_node *at, ir_node *n)
{
    size_t i = position(g, at);
    PUSH(g, nodes, n_nodes, cap_nodes, n);
    memmove((void *)(g->nodes + i + 1), (const void *)(g->nodes + i),
            (g->n_nodes - 1 - i) * sizeof *g->nodes);
    g->nodes[i] = n;
}

void ir_remove(ir_graph *g, ir_node *n)
{
    size_t i = position(g, n);
    if (i == g->n_nodes)
        return;
    g->n_nodes--;
    memmove((void *)(g->nodes + i), (const void *)(g->nodes + i + 1),
            (g->n_nodes - i) * sizeof *g->nodes);
}

void ir_replace_uses(ir_graph *g, ir_value *from, ir_value *to)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        ir_node *n = g->nodes[i];
        for (int32_t k = 0; k < n->n_inputs; k++)
            if (n->inputs[k] == from)
                n->inputs[k] = to;
        for (int32_t k = 0; k < n->op->n_attrs; k++)
            if (n->attrs[k].tensor == from)
                n->attrs[k].tensor = to;
    }
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == from)
            g->outputs[i] = to;
}

static int32_t node_uses(const ir_node *n, const ir_value *v)
{
    int32_t uses = 0;
    for (int32_t k = 0; k < n->n_inputs; k++)
        uses += n->inputs[k] == v;
    for (int32_t k = 0; k < n->op->n_attrs; k++)
        uses += n->attrs[k].tensor == v;
    return uses;
}

static int32_t output_uses(const ir_graph *g, const ir_value *v)
{
    int32_t uses = 0;
    for (size_t i = 0; i < g->n_outputs; i++)
        uses += g->outputs[i] == v;
    return uses;
}

int32_t ir_use_count(const ir_graph *g, const ir_value *v)
{
    int32_t uses = output_uses(g, v);
    for (size_t i = 0; i < g->n_nodes; i++)
        uses += node_uses(g->nodes[i], v);
    return uses;
}

ir_node *ir_only_user(const ir_graph *g, const ir_value *v)
{
    ir_node *user = NULL;
    if (output_uses(g, v))
        return NULL;
    for (size_t i = 0; i < g->n_nodes; i++) {
        int32_t uses = node_uses(g->nodes[i], v);
        if (uses > 1 || (uses && user))
            return NULL;
        if (uses)
            user = g->nodes[i];
    }
    return user;
}

void ir_set_outputs(ir_graph *g, ir_value *const *values, const char *const *names, size_t n)
{
    ir_value **copy = arena_array(&g->arena, n, sizeof *copy);
    const char **texts = arena_array(&g->arena, n, sizeof *texts);
    for (size_t i = 0; i < n; i++) {
        copy[i] = values[i];
        texts[i] =
            names ? arena_strdup(&g->arena, names[i]) : arena_printf(&g->arena, "out_%zu", i);
    }
    g->outputs = copy;
    g->output_names = texts;
    g->n_outputs = n;
}

/* Appends a constant that is not listed yet; listed[] is by index. */
static void list_constant(ir_value *v, bool *listed, ir_value **list, size_t *n)
{
    if (v && v->kind == IR_VALUE_CONSTANT && !listed[v->index]) {
        listed[v->index] = true;
        list[(*n)++] = v;
    }
}

ir_value **ir_used_constants(const ir_graph *g, arena *a, size_t *out_n)
{
    ir_value **list = arena_array(a, g->n_constants, sizeof *list);
    bool *listed = arena_array(a, g->n_constants, sizeof *listed);
    size_t n = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const ir_node *node = g->nodes[i];
        for (int32_t k = 0; k < node->n_inputs; k++)
            list_constant(node->inputs[k], listed, list, &n);
        for (int32_t k = 0; k < node->op->n_attrs; k++)
            list_constant(node->attrs[k].tensor, listed, list, &n);
    }
    for (size_t i = 0; i < g->n_outputs; i++)
        list_constant(g->outputs[i], listed, list, &n);
    *out_n = n;
    return list;
}

void ir_renumber(ir_graph *g)
{
    size_t used, n;
    ir_value **order = ir_used_constants(g, &g->arena, &used);
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i]->id = (int32_t)i;
    for (size_t i = 0; i < used; i++)
        order[i]->index = -1; /* marks it as placed */
    n = used;
    for (size_t i = 0; i < g->n_constants; i++)
        if (g->constants[i]->index >= 0)
            order[n++] = g->constants[i];
    for (size_t i = 0; i < n; i++)
        order[i]->index = (int32_t)i;
    g->constants = order;
    g->cap_constants = g->n_constants;
}

/* ---- copy ---- */
/* Image of each value of the old graph, by its handle (position in g->values). */
typedef struct value_map {
    const ir_value *from;
    ir_value *to;
} value_map;

static int compare_map(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const value_map *)a)->from,
              y = (uintptr_t)((const value_map *)b)->from;
    return (x > y) - (x < y);
}

typedef struct cloner {
    ir_graph *g;
    value_map *map; /* sorted by from; addresses decide no order in the result */
    size_t n;
} cloner;

static void map_value(cloner *c, const ir_value *from, ir_value *to)
{
    value_map key = {.from = from};
    value_map *m = bsearch(&key, c->map, c->n, sizeof *c->map, compare_map);
    if (m)
        m->to = to;
}

static ir_value *mapped(const cloner *c, const ir_value *from)
{
    value_map key = {.from = from};
    const value_map *m = from ? bsearch(&key, c->map, c->n, sizeof *c->map, compare_map) : NULL;
    return m ? m->to : NULL;
}

static void clone_attr(const cloner *c, const ir_attr *from, ir_attr *to)
{
    arena *a = &c->g->arena;
    *to = *from;
    if (from->s)
        to->s = arena_strdup(a, from->s);
    if (from->ints) {
        int64_t *ints = arena_array(a, (size_t)from->n_ints, sizeof *ints);
        if (from->n_ints)
            memcpy(ints, from->ints, (size_t)from->n_ints * sizeof *ints);
        to->ints = ints;
    }
    to->tensor = mapped(c, from->tensor);
}

static void clone_node(cloner *c, const ir_node *from)
{
    ir_node *n = ir_make_node(c->g, from->op, from->inputs, from->n_inputs, from->layer);
    for (int32_t k = 0; k < from->n_inputs; k++)
        n->inputs[k] = mapped(c, from->inputs[k]);
    for (int32_t k = 0; k < from->op->n_attrs; k++)
        clone_attr(c, &from->attrs[k], &n->attrs[k]);
    for (int32_t k = 0; k < from->n_results; k++) {
        n->results[k]->type = from->results[k]->type;
        map_value(c, from->results[k], n->results[k]);
    }
    ir_append(c->g, n);
}

ir_graph *ir_clone(ir_graph *g)
{
    cloner c = {.g = ir_graph_new(g->ctx), .n = g->n_values};
    c.map = arena_array(&c.g->arena, g->n_values, sizeof *c.map);
    for (size_t i = 0; i < g->n_values; i++)
        c.map[i].from = g->values[i];
    if (c.n > 1)
        qsort(c.map, c.n, sizeof *c.map, compare_map);
    for (size_t i = 0; i < g->n_inputs; i++)
        map_value(&c, g->inputs[i], ir_add_input(c.g, g->inputs[i]->name, &g->inputs[i]->type));
    for (size_t i = 0; i < g->n_constants; i++) {
        const ir_value *v = g->constants[i];
        map_value(&c, v, ir_add_constant(c.g, &v->type, v->data));
    }
    for (size_t i = 0; i < g->n_nodes; i++)
        clone_node(&c, g->nodes[i]);
    ir_value **outputs = arena_array(&c.g->arena, g->n_outputs, sizeof *outputs);
    for (size_t i = 0; i < g->n_outputs; i++)
        outputs[i] = mapped(&c, g->outputs[i]);
    ir_set_outputs(c.g, outputs, g->output_names, g->n_outputs);
    return c.g;
}
