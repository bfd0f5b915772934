/* SPDX-License-Identifier: Apache-2.0
 * op_dense.h - what the int8 and the float32 matrix product share: shape checks and figures. */
#ifndef CGC_OP_DENSE_H
#define CGC_OP_DENSE_H

#include "ccl.h"
#include "ops/op.h"

#define OP_ATTR_UNITS                                                                              \
    {"units", OP_ATTR_INT,     OP_ATTR_ALWAYS | OP_ATTR_REQUIRED,      NULL, 0,                    \
     1,       OP_MAX_CHANNELS, "length of the result's last dimension"}

/* x [..., in], weight [units, in], bias [units]; sets the result [..., units]. */
cgc_status op_dense_infer(cgc_ctx *ctx, const ir_node *n, ir_dtype dtype, ir_dtype bias,
                          ir_type *out);
int64_t op_dense_macs(const ir_node *n);

#endif
