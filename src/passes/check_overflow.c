/* SPDX-License-Identifier: Apache-2.0
 *
 * check_overflow.c - proves from the actual weights, zero points and biases that no int32 sum of a
 * convolution or dense layer can overflow, whatever the input and the order of its products, or
 * refuses with the layer's name. The rounding of a sum above 2^24 to float32 is part of the meaning
 * (docs/numerics.md, rule 4) and no fault.
 */
#include "passes/pass.h"

static cgc_status check(ir_graph *g, const ir_node *n)
{
    const ir_value *w = n->inputs[1], *bias = n->n_inputs > 2 ? n->inputs[2] : NULL;
    if (bias && bias->kind != IR_VALUE_CONSTANT) {
        diag_info info = ir_where(n, "bias");
        info.wanted = "a constant";
        return diag(g->ctx, CGC_E_OVERFLOW, info,
                    "the bias is computed, so nothing bounds the int32 sums");
    }
    const void *weights = w->kind == IR_VALUE_CONSTANT ? w->data : NULL;
    const op_accumulator a = op_accumulator_of(g->ctx, n, weights, bias ? bias->data : NULL);
    return op_check_accumulator(g->ctx, n, &a);
}

cgc_status pass_check_overflow(ir_graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (op_is(g->nodes[i], OP_qlinear_conv2d) || op_is(g->nodes[i], OP_qlinear_dense))
            TRY(check(g, g->nodes[i]));
    return CGC_OK;
}
