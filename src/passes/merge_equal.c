/* SPDX-License-Identifier: Apache-2.0
 *
 * merge_equal.c - of two nodes with the same operator, operands and attributes the later one goes:
 * several consumers of one value quantize it, pool it or look it up in the same table only once.
 * Constants count as the same when their types and bytes are. The layer name of the first stays.
 */
#include "passes/pass.h"

#include <string.h>

static bool same_value(const ir_value *a, const ir_value *b)
{
    if (a == b)
        return true;
    return a && b && a->kind == IR_VALUE_CONSTANT && b->kind == IR_VALUE_CONSTANT &&
           ir_type_equal(&a->type, &b->type) &&
           memcmp(a->data, b->data, ir_type_bytes(&a->type)) == 0;
}

static bool same_attr(const ir_attr *a, const ir_attr *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case IR_ATTR_INT:
    case IR_ATTR_BOOL:
        return a->i == b->i;
    case IR_ATTR_FLOAT:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case IR_ATTR_INTS:
        return a->n_ints == b->n_ints &&
               (!a->n_ints || memcmp(a->ints, b->ints, (size_t)a->n_ints * sizeof *a->ints) == 0);
    case IR_ATTR_STRING:
        return strcmp(a->s, b->s) == 0;
    case IR_ATTR_TENSOR:
        return same_value(a->tensor, b->tensor);
    }
    return false;
}

static bool same_node(const ir_node *a, const ir_node *b)
{
    if (a->op != b->op || a->n_inputs != b->n_inputs)
        return false;
    for (int32_t i = 0; i < a->n_inputs; i++)
        if (!same_value(a->inputs[i], b->inputs[i]))
            return false;
    for (int32_t i = 0; i < a->op->n_attrs; i++)
        if (!same_attr(&a->attrs[i], &b->attrs[i]))
            return false;
    return true;
}

static bool merge(ir_graph *g, size_t at)
{
    ir_node *n = g->nodes[at];
    for (size_t i = 0; i < at; i++) {
        if (!same_node(g->nodes[i], n))
            continue;
        for (int32_t k = 0; k < n->n_results; k++)
            ir_replace_uses(g, n->results[k], g->nodes[i]->results[k]);
        ir_remove(g, n);
        return true;
    }
    return false;
}

cgc_status pass_merge_equal(ir_graph *g)
{
    for (size_t i = 0; i < g->n_nodes;)
        if (!merge(g, i))
            i++;
    return CGC_OK;
}
