/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_clamp.c - a table that only clamps becomes clamp_min and clamp_max of the operator that
 * makes its operand, also through max-pools and reshapes (a clamp is monotone, so max(clamp(x)) =
 * clamp(max(x))); a table of a table becomes one table. Only where the value in between has no
 * other use.
 */
#include "passes/pass.h"

#include <string.h>

enum { ENTRIES = 256 };

static const int8_t *table_of(const ir_node *n)
{
    return op_is(n, OP_table) && n->inputs[1]->kind == IR_VALUE_CONSTANT ? n->inputs[1]->data
                                                                         : NULL;
}

static bool clamps(const int8_t *table, int64_t *lo, int64_t *hi)
{
    *lo = table[0];
    *hi = table[ENTRIES - 1];
    for (int q = -128; q < 128; q++) {
        const int64_t v = q < *lo ? *lo : q > *hi ? *hi : q;
        if (table[q + 128] != v)
            return false;
    }
    return true;
}

static int64_t between(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* The operator with clamp attributes behind max-pools and reshapes, if each value on the way has
 * one use. */
static ir_node *producer(const ir_graph *g, const ir_node *table)
{
    const ir_node *user = table;
    for (;;) {
        const ir_value *v = user->inputs[0];
        if (v->kind != IR_VALUE_RESULT || ir_only_user(g, v) != user)
            return NULL;
        if (!op_is(v->node, OP_max_pool2d) && !op_is(v->node, OP_reshape))
            break;
        user = v->node;
    }
    ir_node *n = user->inputs[0]->node;
    for (int32_t i = 0; i < n->op->n_attrs; i++)
        if (strcmp(n->op->attrs[i].name, "clamp_min") == 0)
            return n;
    return NULL;
}

static bool fuse(ir_graph *g, ir_node *n)
{
    const int8_t *table = table_of(n);
    int64_t lo, hi;
    if (!table || !clamps(table, &lo, &hi))
        return false;
    ir_node *p = producer(g, n);
    if (!p)
        return false;
    /* clamp(clamp(x, a, b), lo, hi) has the bounds a and b, both clamped to lo..hi. */
    ir_set_int(p, "clamp_min", between(ir_int(p, "clamp_min"), lo, hi));
    ir_set_int(p, "clamp_max", between(ir_int(p, "clamp_max"), lo, hi));
    ir_replace_uses(g, n->results[0], n->inputs[0]);
    ir_remove(g, n);
    return true;
}

static cgc_status compose(ir_graph *g, ir_node *n)
{
    const ir_value *x = n->inputs[0];
    const int8_t *outer = table_of(n);
    if (!outer || x->kind != IR_VALUE_RESULT || ir_only_user(g, x) != n)
        return CGC_OK;
    ir_node *first = x->node;
    const int8_t *inner = table_of(first);
    if (!inner)
        return CGC_OK;
    int8_t both[ENTRIES];
    for (int i = 0; i < ENTRIES; i++)
        both[i] = outer[inner[i] + 128];
    n->inputs[0] = first->inputs[0];
    n->inputs[1] = ir_add_constant(g, &n->inputs[1]->type, both);
    ir_remove(g, first);
    return ir_infer(g, n);
}

cgc_status pass_fuse_clamp(ir_graph *g)
{
    for (size_t i = 0; i < g->n_nodes;)
        if (!fuse(g, g->nodes[i]))
            i++;
    for (size_t i = 0; i < g->n_nodes; i++) {
        ir_node *n = g->nodes[i];
        const size_t before = g->n_nodes;
        TRY(compose(g, n));
        if (g->n_nodes < before) /* the inner table stood earlier */
            i--;
    }
    return CGC_OK;
}
