/* SPDX-License-Identifier: Apache-2.0
 *
 * table.c - int8 of any shape through a table of 256 entries: table[x + 128].
 */
#include "ccl.h"
#include "ops/op.h"

static const op_input inputs[] = {{.name = "x"}, {.name = "table"}};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    const ir_type *x = &n->inputs[0]->type;
    TRY(op_check_dtype(g->ctx, n, 0, IR_int8));
    TRY(op_check_input(g->ctx, n, 1, 1, IR_int8));
    TRY(op_check_dim(g->ctx, n, 1, 0, 256, "one entry per int8 value"));
    return op_result(g->ctx, n, IR_int8, x->rank, x->dims, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)ctx;
    (void)n;
    ccl_table_s8(in[1].data, in[0].data, out[0].data, (int32_t)ir_type_elems(&in[0].type));
    return CGC_OK;
}

const op_info op_table = {
    OP_IDENTITY(table), .inputs = inputs, .n_inputs = OP_LENGTH(inputs), .n_results = 1,
    .infer = infer,     .eval = eval,     .kernel_s8 = "table_s8",
};
