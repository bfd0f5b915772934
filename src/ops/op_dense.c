/* SPDX-License-Identifier: Apache-2.0
 *
 * op_dense.c - shape checks and figures of contrib.epu.dense and nn.dense.
 */
#include "ops/op_dense.h"

cgc_status op_dense_infer(cgc_ctx *ctx, const ir_node *n, ir_dtype dtype, ir_dtype bias,
                          ir_type *out)
{
    const ir_type *x = &n->inputs[0]->type;
    TRY(op_check_input(ctx, n, 0, x->rank > 1 ? x->rank : 1, dtype));
    TRY(op_check_input(ctx, n, 1, 2, dtype));
    const int64_t units = ir_int(n, "units");
    TRY(op_check_dim(ctx, n, 1, 0, units, "units"));
    TRY(op_check_dim(ctx, n, 1, 1, x->dims[x->rank - 1], "last dimension of x"));
    if (op_has_input(n, 2)) {
        TRY(op_check_input(ctx, n, 2, 1, bias));
        TRY(op_check_dim(ctx, n, 2, 0, units, "units"));
    }
    int64_t dims[IR_MAX_RANK];
    for (int32_t a = 0; a < x->rank; a++)
        dims[a] = a == x->rank - 1 ? units : x->dims[a];
    return op_result(ctx, n, dtype, x->rank, dims, out);
}

int64_t op_dense_macs(const ir_node *n)
{
    return ir_type_elems(&n->results[0]->type) * n->inputs[1]->type.dims[1];
}
