/* SPDX-License-Identifier: Apache-2.0
 * interp.h - the meaning of a graph: walks the nodes and calls op->eval. */
#ifndef CGC_INTERP_H
#define CGC_INTERP_H
#include "ops/op.h"

/* Called after each node with its results; used by prove. */
typedef void (*interp_trace)(void *ud, const ir_node *n, const ir_tensor *results);
/* The graph is first closed (pass_run on a clone), because that is how averages inside float islands
 * get their meaning (docs/numerics.md, rule 7). outputs have data allocated by the caller. */
cgc_status interp_run(ir_graph *g, const ir_tensor *inputs, ir_tensor *outputs);
/* Runs an already lowered graph as it stands. */
cgc_status interp_run_lowered(ir_graph *g, const ir_tensor *inputs, ir_tensor *outputs,
                              interp_trace trace, void *ud);
#endif
