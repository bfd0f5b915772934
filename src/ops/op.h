/* SPDX-License-Identifier: Apache-2.0
 *
 * op.h - what an operator is: one op_info per line of ops.def, defined in src/ops/<c_name>.c.
 *
 * An operator file holds, in this order: its attribute table, infer (checks operands and
 * attributes, sets result types), eval (the meaning: calls kernels of ccl/ on row-major tensors),
 * and its figures (macs). How a target runs it is not here but in plan/ and emit/.
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
    OP_ATTR_POSITIONAL = 2, /* printed without a name, after the operands (qnn.quantize) */
    OP_ATTR_REQUIRED = 4    /* no default: leaving it out is an error */
};

/* One row of an attribute table; rows stand in printing order. */
typedef struct op_attr {
    const char *name;
    op_attr_type type;
    int32_t flags;
    const char *def; /* default as attribute text ("[1, 1]", "0", "\"int8\""); NULL when REQUIRED */
    int32_t n_ints;  /* INTS: how many; 0 = any number */
    int64_t lo, hi;  /* range of INT and each of INTS */
    const char *meaning;
} op_attr;

typedef struct op_input {
    const char *name;
    bool optional; /* may be left out; printed with its name when keyword */
    bool keyword;  /* printed and parsed as name=value (bias of qlinear_conv2d) */
} op_input;

enum { OP_MAX_RESULTS = 8 };
#define OP_LENGTH(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

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
    /* What programs call (kernels.def), by the element type of operand 0; NULL = no such kernel. */
    const char *kernel_s8, *kernel_f32;
    /* A function of each element of operand 0 alone, called as ccl_<kernel_f32>(x, y, count,
     * attributes...) with every attribute a float, in the order of the table. Passes may make it a
     * table of int8 values; programs need no line of their own for it. */
    bool elementwise;
} op_info;

typedef enum op_id {
#define OP(c_name, name, meaning) OP_##c_name,
#include "ops/ops.def"
#undef OP
    OP_COUNT
} op_id;
/* The three texts of ops.def, so that an operator's file need not repeat them. */
#define OP(c_name, name, meaning)                                                                  \
    extern const op_info op_##c_name;                                                              \
    extern const char op_name_##c_name[], op_c_name_##c_name[], op_meaning_##c_name[];
#include "ops/ops.def"
#undef OP
#define OP_IDENTITY(c) .name = op_name_##c, .c_name = op_c_name_##c, .meaning = op_meaning_##c

const op_info *op_by_id(op_id id);
const op_info *op_by_name(const char *name); /* NULL if unknown */
op_id op_id_of(const op_info *op);
/* "error: unknown operator 'x' ...; nearest: a, b, c" */
cgc_status op_unknown(cgc_ctx *ctx, const char *name, const char *layer);
static inline bool op_is(const ir_node *n, op_id id)
{
    return n->op == op_by_id(id);
}

/* ---- helpers that several operators share (op_util.c, op_check.c) ---- */
enum {
    OP_MAX_WINDOW = 65536, /* range of kernel sizes, strides, dilations and padding */
    OP_MAX_CHANNELS = 1 << 24
};
/* Rows of attribute tables that several operators share. */
#define OP_ATTR_STRIDES                                                                            \
    {"strides", OP_ATTR_INTS, 0, "[1, 1]", 2, 1, OP_MAX_WINDOW, "step in rows, columns"}
#define OP_ATTR_DILATION                                                                           \
    {"dilation",                                                                                   \
     OP_ATTR_INTS,                                                                                 \
     0,                                                                                            \
     "[1, 1]",                                                                                     \
     2,                                                                                            \
     1,                                                                                            \
     OP_MAX_WINDOW,                                                                                \
     "distance of taps in rows, columns"}
#define OP_ATTR_PADDING(flags)                                                                     \
    {"padding",                                                                                    \
     OP_ATTR_INTS,                                                                                 \
     flags,                                                                                        \
     "[0, 0, 0, 0]",                                                                               \
     4,                                                                                            \
     0,                                                                                            \
     OP_MAX_WINDOW,                                                                                \
     "top, left, bottom, right"}
#define OP_ATTR_CEIL_MODE {"ceil_mode", OP_ATTR_BOOL, 0, "False", 0, 0, 1, "round output sizes up"}
#define OP_ATTR_OUT_DTYPE                                                                          \
    {"out_dtype", OP_ATTR_STRING, OP_ATTR_ALWAYS, "\"int8\"", 0, 0, 0, "element type of the result"}
#define OP_ATTR_KERNEL(name)                                                                       \
    {name,          OP_ATTR_INTS,   OP_ATTR_ALWAYS | OP_ATTR_REQUIRED, NULL, 2, 1,                 \
     OP_MAX_WINDOW, "rows, columns"}
#define OP_ATTR_A_SCALE(name)                                                                      \
    {name, OP_ATTR_SCALE, OP_ATTR_ALWAYS | OP_ATTR_REQUIRED, NULL, 0, 0, 0, "scale"}
#define OP_ATTR_A_ZERO_POINT(name)                                                                 \
    {name, OP_ATTR_ZERO_POINT, OP_ATTR_ALWAYS | OP_ATTR_REQUIRED, NULL, 0, -128, 127, "zero point"}
#define OP_ATTR_CLAMP                                                                              \
    {"clamp_min", OP_ATTR_INT, 0, "-128", 0, -128, 127, "smallest result"},                        \
        {"clamp_max", OP_ATTR_INT, 0, "127", 0, -128, 127, "largest result"}

/* Output extent of a window: floor or ceil((in + pad_lo + pad_hi - dil*(k-1) - 1)/stride) + 1, with
 * PyTorch's rule that a ceil-mode window must start inside the input or its left pad; 0 or less
 * when no window fits. */
int64_t op_window_extent(int64_t in, int64_t k, int64_t stride, int64_t pad_lo, int64_t pad_hi,
                         int64_t dil, bool ceil_mode);
void op_nchw_to_nhwc(const void *src, void *dst, int64_t n, int64_t c, int64_t h, int64_t w,
                     size_t elem);
void op_nhwc_to_nchw(const void *src, void *dst, int64_t n, int64_t c, int64_t h, int64_t w,
                     size_t elem);
/* A rank-4 tensor with channels last, in scratch, or its own data where the order is the same (also
 * for weights: OIHW becomes OHWI). */
const void *op_channels_last(cgc_ctx *ctx, const ir_tensor *t);
/* Memory for a result with channels last, and the move to the row-major result afterwards. */
void *op_channels_last_result(cgc_ctx *ctx, const ir_tensor *y);
void op_channels_first(const void *nhwc, ir_tensor *y);
/* Multiplier M of rule 4 for channel c: float32(float32(x_scale*w_scale)/y_scale). */
float op_multiplier(float x_scale, float w_scale, float y_scale);
/* [channels] multipliers of a node with x_scale, w_scale, y_scale; [channels] weight zero points or
 * NULL when all are 0. In scratch. */
const float *op_multipliers(cgc_ctx *ctx, const ir_node *n, int32_t channels);
const int32_t *op_weight_zero_points(cgc_ctx *ctx, const ir_node *n, int32_t channels);
/* Window geometry of a convolution or pooling node (attributes strides, padding, dilation and
 * ceil_mode where the operator has them). Extents of the result are 0 or less when no window fits.
 */
struct ccl_window2d op_window(const ir_node *n, const ir_type *x, int64_t kh, int64_t kw);
/* Number of broadcast sums: copies a tensor of type t to the shape of out. */
const void *op_broadcast(cgc_ctx *ctx, const ir_tensor *t, const ir_type *out);

/* Checks. Operand i is named in the message; all return CGC_OK or record a diagnostic. */
bool op_has_input(const ir_node *n, int32_t i);
cgc_status op_check_rank(cgc_ctx *ctx, const ir_node *n, int32_t input, int32_t rank);
cgc_status op_check_dtype(cgc_ctx *ctx, const ir_node *n, int32_t input, ir_dtype dtype);
/* Rank, element type and no empty dimension. */
cgc_status op_check_input(cgc_ctx *ctx, const ir_node *n, int32_t input, int32_t rank,
                          ir_dtype dtype);
cgc_status op_check_dim(cgc_ctx *ctx, const ir_node *n, int32_t input, int32_t axis, int64_t wanted,
                        const char *wanted_is);
/* channels 0: one value only; else one value or one per channel. */
cgc_status op_check_scale(cgc_ctx *ctx, const ir_node *n, const char *attr, int64_t channels);
cgc_status op_check_zero_point(cgc_ctx *ctx, const ir_node *n, const char *attr, int64_t channels);
/* x_scale, w_scale, y_scale and zero points of a matrix operator and every multiplier normal. */
cgc_status op_check_requant(cgc_ctx *ctx, const ir_node *n, int64_t channels);
cgc_status op_check_multiplier(cgc_ctx *ctx, const ir_node *n, float m, int64_t channel);
cgc_status op_check_out_int8(cgc_ctx *ctx, const ir_node *n);
cgc_status op_check_clamp(cgc_ctx *ctx, const ir_node *n);
/* Result of a window operator: both extents at least 1. */
cgc_status op_check_window(cgc_ctx *ctx, const ir_node *n, const struct ccl_window2d *w);
/* No window without an input element (pooling). */
cgc_status op_check_no_empty_window(cgc_ctx *ctx, const ir_node *n, const struct ccl_window2d *w);
/* Numpy's broadcasting of operands 0 and 1. */
cgc_status op_check_broadcast(cgc_ctx *ctx, const ir_node *n, ir_type *out);
/* Sets *out and checks that it stays below 2^31 bytes. */
cgc_status op_result(cgc_ctx *ctx, const ir_node *n, ir_dtype dtype, int32_t rank,
                     const int64_t *dims, ir_type *out);
/* No int32 sum can overflow: for each of units rows of k weights (row-major, any order inside a
 * row) the sum of max|x - x_zp| * (|w| + |w_zp|) plus |bias| stays below 2^31. CGC_E_OVERFLOW names
 * the channel. w NULL: for any weights. */
typedef struct op_accumulator {
    const int8_t *w;
    const int32_t *bias, *w_zp; /* or NULL */
    int64_t units, k;
    int32_t x_zp;
} op_accumulator;
cgc_status op_check_accumulator(cgc_ctx *ctx, const ir_node *n, const op_accumulator *a);
/* The sums of a qlinear_conv2d or qlinear_dense node, given the data of operands 1 and 2. */
op_accumulator op_accumulator_of(cgc_ctx *ctx, const ir_node *n, const void *w, const void *bias);

#endif
