/* SPDX-License-Identifier: Apache-2.0
 * op_average.h - what the four average operators share: attribute rows, geometry, checks. Each still has
 * its own infer and eval, as every operator file has: they differ in where the geometry comes from. */
#ifndef CGC_OP_AVERAGE_H
#define CGC_OP_AVERAGE_H

#include "ccl.h"
#include "ops/op.h"

#define OP_ATTR_AVERAGE                                                                            \
    OP_ATTR_KERNEL("pool_size"), OP_ATTR_STRIDES, OP_ATTR_PADDING(0), OP_ATTR_CEIL_MODE,           \
        {"count_include_pad", OP_ATTR_BOOL, 0, "True", 0, 0, 1, "padding counts in the divisor"},  \
        {"divisor_override",                                                                       \
         OP_ATTR_INT,                                                                              \
         0,                                                                                        \
         "0",                                                                                      \
         0,                                                                                        \
         0,                                                                                        \
         1 << 24,                                                                                  \
         "divisor of every window; 0 = none"}

/* Geometry of a node with the attributes above; scales and clamp are left zero. */
ccl_avg_pool2d_params op_average_params(const ir_node *n, const ir_type *x);
/* Geometry of oh x ow equal regions, which must divide the image. */
ccl_avg_pool2d_params op_average_regions(const ir_type *x, int64_t oh, int64_t ow);
/* Checks windows and sets the result of element type dtype. */
cgc_status op_average_result(cgc_ctx *ctx, const ir_node *n, const ccl_avg_pool2d_params *p,
                             ir_dtype dtype, ir_type *out);
/* float32 average, row-major in and out. */
void op_average_f32(cgc_ctx *ctx, const ccl_avg_pool2d_params *p, const ir_tensor *x, ir_tensor *y);

#endif
