/* SPDX-License-Identifier: Apache-2.0
 *
 * pass.h - a pass rewrites a verified graph in place and leaves it verified. One file each, one line
 * in passes.def. The graph that went in and the one that comes out give the same bytes for every
 * input; where an average stands between a dequantize and a quantize, close_islands defines them
 * (docs/numerics.md, rule 7).
 */
#ifndef CGC_PASS_H
#define CGC_PASS_H

#include "ops/op.h"

#define PASS(name, meaning) cgc_status pass_##name(ir_graph *g);
#include "passes/passes.def"
#undef PASS

/* Runs the pipeline up to and including last ("" = all), verifying after each and logging dumps. */
cgc_status pass_run(ir_graph *g, const char *last);

#endif
