/* SPDX-License-Identifier: Apache-2.0
 *
 * op.h - what an operator is: one op_info per line of ops.def, defined in src/ops/<c_name>.c.
 *
 * An operator file holds, in this order: its attribute table, infer (checks operands and attributes,
 * sets result types), eval (the meaning: calls kernels of ccl/ on row-major tensors), and its figures
 * (macs). How a target runs it is not here but in plan/ and emit/.
 */
#ifndef CGC_OP_H
#define CGC_OP_H

#include "ir/ir.h"

typedef enum op_attr_type {
    OP_ATTR_INT,
    OP_ATTR_BOOL,
    OP_ATTR_FLOAT,
    OP_ATTR_INTS,
    OP_ATTR_STRING,
    OP_ATTR_SCALE,     /* float32 > 0, finite; scalar or one per channel */
    OP_ATTR_ZERO_POINT /* integer; scalar or one per channel */
} op_attr_type;

enum op_attr_flags {
    OP_ATTR_ALWAYS = 1,     /* printed even at its default */
    OP_ATTR_POSITIONAL = 2, /* printed as a value without a name, after the operands (qnn.quantize) */
    OP_ATTR_REQUIRED = 4    /* no default: leaving it out is an error */
};

/* One row of an attribute table; rows stand in printing order. */
typedef struct op_attr {
    const char *name;
    op_attr_type type;
    int32_t flags;
    const char *def;       /* default as attribute text ("[1, 1]", "0", "\"int8\""); NULL when REQUIRED */
    int32_t n_ints;        /* INTS: how many; 0 = any number */
    int64_t lo, hi;        /* range of INT and each of INTS */
    const char *meaning;
} op_attr;

typedef struct op_input {
    const char *name;
    bool optional; /* may be left out; printed with its name when keyword */
    bool keyword;  /* printed and parsed as name=value (bias of qlinear_conv2d) */
} op_input;

enum { OP_MAX_RESULTS = 8 };

typedef struct op_info {
    const char *name;    /* IR name */
    const char *c_name;  /* file name */
    const char *meaning; /* from ops.def */
    const op_input *inputs;
    int32_t n_inputs;
    const op_attr *attrs;
    int32_t n_attrs;
    int32_t n_results;
    /* Sets n->results[i]->type. Runs after generic checks (operand count, attribute ranges). */
    cgc_status (*infer)(ir_graph *g, const ir_node *n, ir_type *out_types);
    /* inputs[i].data are row-major and borrowed; absent optional inputs have data NULL. outputs are
     * allocated. May allocate scratch from ctx->scratch. */
    cgc_status (*eval)(cgc_ctx *ctx, const ir_node *n, const ir_tensor *inputs, ir_tensor *outputs);
    /* Multiply-accumulates of the node; NULL = 0. */
    int64_t (*macs)(const ir_node *n);
} op_info;

typedef enum op_id {
#define OP(c_name, name, meaning) OP_##c_name,
#include "ops/ops.def"
#undef OP
    OP_COUNT
} op_id;
#define OP(c_name, name, meaning) extern const op_info op_##c_name;
#include "ops/ops.def"
#undef OP

const op_info *op_by_id(op_id id);
const op_info *op_by_name(const char *name); /* NULL if unknown */
op_id op_id_of(const op_info *op);
/* "error: unknown operator 'x' ...; nearest: a, b, c" */
cgc_status op_unknown(cgc_ctx *ctx, const char *name, const char *layer);
static inline bool op_is(const ir_node *n, op_id id) { return n->op == op_by_id(id); }

/* Helpers that several operators share (op_util.c). */
/* Output extent of a window: floor or ceil((in + pad_lo + pad_hi - dil*(k-1) - 1)/stride) + 1, with
 * PyTorch's rule that a ceil-mode window must start inside the input or its left pad. */
int64_t op_window_extent(int64_t in, int64_t k, int64_t stride, int64_t pad_lo, int64_t pad_hi,
                         int64_t dil, bool ceil_mode);
void op_nchw_to_nhwc(const void *src, void *dst, int64_t n, int64_t c, int64_t h, int64_t w, size_t elem);
void op_nhwc_to_nchw(const void *src, void *dst, int64_t n, int64_t c, int64_t h, int64_t w, size_t elem);
cgc_status op_check_rank(cgc_ctx *ctx, const ir_node *n, int32_t input, int32_t rank);
cgc_status op_check_dtype(cgc_ctx *ctx, const ir_node *n, int32_t input, ir_dtype dtype);
/* Multiplier M of NUMERICS 4 for channel c: float32(float32(x_scale*w_scale)/y_scale). */
float op_multiplier(float x_scale, float w_scale, float y_scale);

#endif
