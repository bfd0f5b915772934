/* SPDX-License-Identifier: Apache-2.0
 *
 * reshape.c - the same elements in row-major order under other dims.
 */
#include "ops/op.h"

#include <string.h>

static const op_input inputs[] = {{.name = "x"}};
static const op_attr attrs[] = {
    {"newshape", OP_ATTR_INTS, OP_ATTR_ALWAYS | OP_ATTR_REQUIRED, NULL, 0, 1, INT32_MAX,
     "dims of the result; no -1"},
};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    const ir_attr *shape = ir_attr_get(n, "newshape");
    const ir_type *x = &n->inputs[0]->type;
    if (shape->n_ints <= IR_MAX_RANK) {
        TRY(op_result(g->ctx, n, x->dtype, shape->n_ints, shape->ints, out_types));
        if (ir_type_elems(out_types) == ir_type_elems(x))
            return CGC_OK;
    }
    diag_info info = ir_where(n, "newshape");
    info.found = arena_printf(&g->ctx->arena, "%d dimensions for %s", shape->n_ints,
                              ir_type_text(&g->ctx->arena, x));
    info.wanted = arena_printf(&g->ctx->arena, "%lld elements in at most %d dimensions",
                               (long long)ir_type_elems(x), IR_MAX_RANK);
    return diag(g->ctx, CGC_E_ATTR, info, "newshape does not keep the number of elements");
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)ctx;
    (void)n;
    memcpy(out[0].data, in[0].data, ir_type_bytes(&in[0].type));
    return CGC_OK;
}

const op_info op_reshape = {
    OP_IDENTITY(reshape),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
};
