/* SPDX-License-Identifier: Apache-2.0
 *
 * clip.c - min(max(x, a_min), a_max) on float32 of any shape; NaN stays NaN.
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "x"}};
static const op_attr attrs[] = {
    {"a_min", OP_ATTR_FLOAT, OP_ATTR_ALWAYS | OP_ATTR_REQUIRED, NULL, 0, 0, 0, "smallest result"},
    {"a_max", OP_ATTR_FLOAT, OP_ATTR_ALWAYS | OP_ATTR_REQUIRED, NULL, 0, 0, 0, "largest result"},
};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    const ir_type *x = &n->inputs[0]->type;
    TRY(op_check_dtype(g->ctx, n, 0, IR_float32));
    if (!(ir_float(n, "a_min") <= ir_float(n, "a_max"))) { /* also true for NaN */
        diag_info info = ir_where(n, "a_min");
        info.found = arena_printf(&g->ctx->arena, "a_min %g, a_max %g",
                                  (double)ir_float(n, "a_min"), (double)ir_float(n, "a_max"));
        info.wanted = "a_min at most a_max";
        return diag(g->ctx, CGC_E_ATTR, info, "the bounds are the wrong way round");
    }
    return op_result(g->ctx, n, IR_float32, x->rank, x->dims, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)ctx;
    ccl_clip_f32(in[0].data, out[0].data, (int32_t)ir_type_elems(&in[0].type), ir_float(n, "a_min"),
                 ir_float(n, "a_max"));
    return CGC_OK;
}

const op_info op_clip = {
    OP_IDENTITY(clip),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_f32 = "clip_f32",
    .elementwise = true,
};
