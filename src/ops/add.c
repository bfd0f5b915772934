/* SPDX-License-Identifier: Apache-2.0
 *
 * add.c - float32 sum of two tensors that broadcast as in numpy.
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "a"}, {.name = "b"}};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    TRY(op_check_dtype(g->ctx, n, 0, IR_float32));
    TRY(op_check_dtype(g->ctx, n, 1, IR_float32));
    return op_check_broadcast(g->ctx, n, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)n;
    const ir_type *t = &out[0].type;
    ccl_add_f32(op_broadcast(ctx, &in[0], t), op_broadcast(ctx, &in[1], t), out[0].data,
                (int32_t)ir_type_elems(t));
    return CGC_OK;
}

const op_info op_add = {
    OP_IDENTITY(add), .inputs = inputs, .n_inputs = OP_LENGTH(inputs), .n_results = 1,
    .infer = infer,   .eval = eval,     .kernel_f32 = "add_f32",
};
