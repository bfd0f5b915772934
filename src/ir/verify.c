/* SPDX-License-Identifier: Apache-2.0
 *
 * verify.c - result types of one node, and the invariants of a whole graph: every operand is a
 * graph input, a constant of the graph or the result of an earlier node; types are what the
 * operators infer; names are unique.
 */
#include "ir/parse.h"

#include <stdlib.h>
#include <string.h>

diag_info ir_where(const ir_node *n, const char *setting)
{
    return (diag_info){.layer = n->layer, .op = n->op->name, .setting = setting};
}

static cgc_status check_operands(ir_graph *g, const ir_node *n)
{
    const op_info *op = n->op;
    if (n->n_inputs > op->n_inputs) {
        diag_info info = ir_where(n, NULL);
        info.found = arena_printf(&g->ctx->arena, "%d", (int)n->n_inputs);
        info.wanted = arena_printf(&g->ctx->arena, "at most %d", (int)op->n_inputs);
        return diag(g->ctx, CGC_E_ARGUMENT, info, "too many operands");
    }
    for (int32_t i = 0; i < op->n_inputs; i++) {
        const ir_value *v = i < n->n_inputs ? n->inputs[i] : NULL;
        if (!v && !op->inputs[i].optional)
            return diag(g->ctx, CGC_E_ARGUMENT, ir_where(n, op->inputs[i].name),
                        "operand %s is missing", op->inputs[i].name);
    }
    return CGC_OK;
}

static cgc_status infer_types(ir_graph *g, const ir_node *n, ir_type *types)
{
    TRY(check_operands(g, n));
    for (int32_t i = 0; i < n->op->n_attrs; i++)
        TRY(ir_attr_check(g, n, i));
    memset(types, 0, OP_MAX_RESULTS * sizeof *types);
    TRY(n->op->infer(g, n, types));
    for (int32_t i = 0; i < n->n_results; i++)
        TRY(ir_type_check(g->ctx, &types[i], ir_where(n, NULL), "the result"));
    return CGC_OK;
}

cgc_status ir_infer(ir_graph *g, ir_node *n)
{
    ir_type types[OP_MAX_RESULTS];
    TRY(infer_types(g, n, types));
    for (int32_t i = 0; i < n->n_results; i++)
        n->results[i]->type = types[i];
    return CGC_OK;
}

/* A fault of whoever built the graph, with the place. */
static cgc_status broken(ir_graph *g, const ir_node *n, const char *what)
{
    return diag(g->ctx, CGC_E_INTERNAL, n ? ir_where(n, NULL) : (diag_info){0},
                "the graph is inconsistent: %s", what);
}

/* Whether v may be used by the node at position at (ids are positions here). */
static bool available(const ir_graph *g, const ir_value *v, size_t at)
{
    size_t i = (size_t)v->index;
    switch (v->kind) {
    case IR_VALUE_INPUT:
        return i < g->n_inputs && g->inputs[i] == v;
    case IR_VALUE_CONSTANT:
        return i < g->n_constants && g->constants[i] == v;
    case IR_VALUE_RESULT:
        i = (size_t)v->node->id;
        return i < at && g->nodes[i] == v->node && v->result < v->node->n_results &&
               v->node->results[v->result] == v;
    }
    return false;
}

static cgc_status verify_node(ir_graph *g, ir_node *n, size_t at)
{
    ir_type types[OP_MAX_RESULTS];
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k] && !available(g, n->inputs[k], at))
            return broken(g, n, "an operand is not defined before its use");
    for (int32_t k = 0; k < n->op->n_attrs; k++) {
        const ir_value *v = n->attrs[k].tensor;
        if (v && (v->kind != IR_VALUE_CONSTANT || !available(g, v, at)))
            return broken(g, n, "an attribute names a constant that is not in the graph");
    }
    TRY(infer_types(g, n, types));
    for (int32_t k = 0; k < n->n_results; k++)
        if (!ir_type_equal(&types[k], &n->results[k]->type))
            return broken(g, n, "a result has another type than its operator infers");
    return CGC_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* names is sorted in place. */
static cgc_status unique_names(ir_graph *g, const char **names, size_t n, const char *what)
{
    if (n > 1)
        qsort((void *)names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++) {
        if (!utf8_valid(names[i], strlen(names[i])))
            return diag(g->ctx, CGC_E_ARGUMENT, (diag_info){0},
                        "the name of a graph %s is not UTF-8", what);
        if (i && strcmp(names[i - 1], names[i]) == 0)
            return diag(g->ctx, CGC_E_ARGUMENT,
                        (diag_info){.found = names[i], .wanted = "unique names"},
                        "two graph %ss have the same name", what);
    }
    return CGC_OK;
}

static cgc_status verify_edges(ir_graph *g)
{
    size_t most = g->n_inputs > g->n_outputs ? g->n_inputs : g->n_outputs;
    const char **names = arena_array(&g->ctx->scratch, most, sizeof *names);
    for (size_t i = 0; i < g->n_inputs; i++) {
        TRY(ir_type_check(g->ctx, &g->inputs[i]->type, (diag_info){.setting = g->inputs[i]->name},
                          "a graph input"));
        names[i] = g->inputs[i]->name;
    }
    TRY(unique_names(g, names, g->n_inputs, "input"));
    if (g->n_outputs == 0)
        return diag(g->ctx, CGC_E_ARGUMENT, (diag_info){.wanted = "at least one"},
                    "the graph has no output");
    for (size_t i = 0; i < g->n_outputs; i++) {
        if (!g->outputs[i] || !available(g, g->outputs[i], g->n_nodes))
            return broken(g, NULL, "an output is not defined");
        names[i] = g->output_names[i];
    }
    return unique_names(g, names, g->n_outputs, "output");
}

cgc_status ir_verify(ir_graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i]->id = (int32_t)i;
    for (size_t i = 0; i < g->n_nodes; i++)
        TRY(verify_node(g, g->nodes[i], i));
    return verify_edges(g);
}
