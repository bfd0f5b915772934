/* SPDX-License-Identifier: Apache-2.0
 *
 * remove_dead.c - removes nodes whose results nobody uses, from the end, so that whole chains go at
 * once, and the constants that then have no user. Graph inputs stay: they are the interface.
 */
#include "passes/pass.h"

static bool used(const ir_graph *g, const ir_node *n)
{
    for (int32_t i = 0; i < n->n_results; i++)
        if (ir_use_count(g, n->results[i]) > 0)
            return true;
    return false;
}

cgc_status pass_remove_dead(ir_graph *g)
{
    for (size_t i = g->n_nodes; i-- > 0;)
        if (!used(g, g->nodes[i]))
            ir_remove(g, g->nodes[i]);
    size_t kept = 0;
    for (size_t i = 0; i < g->n_constants; i++) {
        ir_value *v = g->constants[i];
        if (ir_use_count(g, v) == 0)
            continue;
        v->index = (int32_t)kept;
        g->constants[kept++] = v;
    }
    g->n_constants = kept;
    ir_renumber(g);
    return CGC_OK;
}
