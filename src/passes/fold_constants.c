/* SPDX-License-Identifier: Apache-2.0
 *
 * fold_constants.c - a node whose operands are all constants is evaluated by the operator's own
 * meaning and becomes constants.
 */
#include "passes/pass.h"

static bool foldable(const ir_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] && n->inputs[i]->kind != IR_VALUE_CONSTANT)
            return false;
    return n->n_inputs > 0;
}

static cgc_status fold(ir_graph *g, ir_node *n)
{
    ir_tensor in[IR_MAX_INPUTS] = {0}, out[OP_MAX_RESULTS] = {0};
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i])
            in[i] = (ir_tensor){n->inputs[i]->type, (void *)(uintptr_t)n->inputs[i]->data};
    for (int32_t i = 0; i < n->n_results; i++) {
        out[i].type = n->results[i]->type;
        out[i].data = arena_alloc(&g->ctx->scratch, ir_type_bytes(&out[i].type));
    }
    TRY(n->op->eval(g->ctx, n, in, out));
    for (int32_t i = 0; i < n->n_results; i++)
        ir_replace_uses(g, n->results[i], ir_add_constant(g, &out[i].type, out[i].data));
    ir_remove(g, n);
    scratch_reset(g->ctx);
    return CGC_OK;
}

cgc_status pass_fold_constants(ir_graph *g)
{
    for (size_t i = 0; i < g->n_nodes;) {
        if (foldable(g->nodes[i]))
            TRY(fold(g, g->nodes[i]));
        else
            i++;
    }
    return CGC_OK;
}
