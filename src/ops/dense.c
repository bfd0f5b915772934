/* SPDX-License-Identifier: Apache-2.0
 *
 * dense.c - float32 matrix product with weights [units, in]: bias first, then products in the order
 * of k (docs/numerics.md, rule 9).
 */
#include "ops/op_dense.h"

static const op_input inputs[] = {
    {.name = "x"},
    {.name = "weight"},
    {.name = "bias", .optional = true},
};
static const op_attr attrs[] = {OP_ATTR_UNITS};

static cgc_status infer(ir_graph *g, const ir_node *n, ir_type *out_types)
{
    return op_dense_infer(g->ctx, n, IR_float32, IR_float32, out_types);
}

static cgc_status eval(cgc_ctx *ctx, const ir_node *n, const ir_tensor *in, ir_tensor *out)
{
    (void)ctx;
    const int64_t k = in[1].type.dims[1];
    ccl_dense_f32((int32_t)(ir_type_elems(&in[0].type) / k), (int32_t)k,
                  (int32_t)ir_int(n, "units"), in[0].data, in[1].data, in[2].data, out[0].data);
    return CGC_OK;
}

const op_info op_dense = {
    OP_IDENTITY(dense),
    .inputs = inputs,
    .n_inputs = OP_LENGTH(inputs),
    .attrs = attrs,
    .n_attrs = OP_LENGTH(attrs),
    .n_results = 1,
    .infer = infer,
    .eval = eval,
    .kernel_f32 = "dense_f32",
    .macs = op_dense_macs,
};
