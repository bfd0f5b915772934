/* SPDX-License-Identifier: Apache-2.0
 * op_conv2d.h - what the int8 and the float32 convolution share: geometry and shape checks. */
#ifndef CGC_OP_CONV2D_H
#define CGC_OP_CONV2D_H

#include "ccl.h"
#include "ops/op.h"

/* Attribute rows in printing order: strides, padding, dilation, groups, channels, kernel_size. */
#define OP_ATTR_CONV2D                                                                             \
    OP_ATTR_STRIDES, OP_ATTR_PADDING(OP_ATTR_ALWAYS), OP_ATTR_DILATION,                            \
        {"groups", OP_ATTR_INT, 0, "1", 0, 1, OP_MAX_CHANNELS, "independent groups of channels"},  \
        {"channels",      OP_ATTR_INT,      OP_ATTR_ALWAYS | OP_ATTR_REQUIRED, NULL, 0, 1,         \
         OP_MAX_CHANNELS, "output channels"},                                                      \
        OP_ATTR_KERNEL("kernel_size")

ccl_window2d op_conv2d_window(const ir_node *n, const ir_type *x);
/* Shapes of x, weight and bias against the attributes; sets the result. */
cgc_status op_conv2d_infer(cgc_ctx *ctx, const ir_node *n, ir_dtype dtype, ir_dtype bias,
                           ir_type *out);
int64_t op_conv2d_macs(const ir_node *n);

#endif
