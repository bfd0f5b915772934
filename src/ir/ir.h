/* SPDX-License-Identifier: Apache-2.0
 *
 * ir.h - the graph: values, nodes, attributes, its text form, its verifier.
 *
 * A graph is one function @main in static single assignment. Tensors are logical and row-major
 * (images are NCHW, weights OIHW); physical layout is decided later, by plan/. Nodes are kept in an
 * order in which every operand precedes its use. Nothing here knows what an operator means: names,
 * attributes and result types come from ops/.
 */
#ifndef CGC_IR_H
#define CGC_IR_H

#include "base/base.h"

enum { IR_MAX_RANK = 8, IR_MAX_INPUTS = 16 };

typedef enum ir_dtype {
#define DTYPE(name, bytes, ctype, st) IR_##name,
#include "ir/dtype.def"
#undef DTYPE
    IR_DTYPE_COUNT
} ir_dtype;

typedef struct ir_type {
    ir_dtype dtype;
    int32_t rank;
    int64_t dims[IR_MAX_RANK];
} ir_type;
/* Product of dims; 1 for rank 0. Types in a graph never overflow. */
int64_t ir_type_elems(const ir_type *t);
size_t ir_type_bytes(const ir_type *t);
bool ir_type_equal(const ir_type *a, const ir_type *b);
/* Rank 0..8, every dim >= 1, below 2^31 bytes; E_TYPE otherwise. what names the value in the
 * message. */
cgc_status ir_type_check(cgc_ctx *ctx, const ir_type *t, diag_info where, const char *what);
const char *ir_type_text(arena *a, const ir_type *t); /* "Tensor[(1, 3, 8, 8), float32]" */
size_t ir_dtype_bytes(ir_dtype d);
const char *ir_dtype_name(ir_dtype d);
bool ir_dtype_by_name(const char *name, ir_dtype *out);

/* A tensor with data; row-major. */
typedef struct ir_tensor {
    ir_type type;
    void *data;
} ir_tensor;

typedef enum ir_value_kind { IR_VALUE_INPUT, IR_VALUE_CONSTANT, IR_VALUE_RESULT } ir_value_kind;
typedef struct ir_value {
    ir_value_kind kind;
    ir_type type;
    const char *name;     /* of an input, else NULL */
    const void *data;     /* of a constant: 64-byte aligned, in the graph's arena */
    struct ir_node *node; /* of a result */
    int32_t result;       /* which result of the node */
    int32_t index;        /* input number, or i of meta[relay.Constant][i] */
} ir_value;

/* Attributes: the values of one node, in the order of its op's attribute table. A scale or zero
 * point that has one value per channel is IR_ATTR_TENSOR and borrows a constant. */
typedef enum ir_attr_kind {
    IR_ATTR_INT,
    IR_ATTR_BOOL,
    IR_ATTR_FLOAT,
    IR_ATTR_INTS,
    IR_ATTR_STRING, /* out_dtype="int8" */
    IR_ATTR_TENSOR  /* one value per channel of a SCALE or ZERO_POINT */
} ir_attr_kind;
typedef struct ir_attr {
    ir_attr_kind kind;
    bool set;  /* given, or has a default; ir_infer refuses a REQUIRED attribute that is not */
    int64_t i; /* INT, BOOL */
    float f;
    const int64_t *ints;
    int32_t n_ints;
    const char *s;
    ir_value *tensor;
} ir_attr;

typedef struct ir_node {
    const struct op_info *op;
    const char *layer; /* module path of the user's layer, "" if none */
    ir_value **inputs; /* NULL for an absent optional operand before a given one */
    int32_t n_inputs;
    ir_attr *attrs; /* op->n_attrs of them */
    ir_value **results;
    int32_t n_results;
    int32_t id; /* position; renumbered by ir_graph_renumber, printed as %id for single results */
} ir_node;

struct cgc_graph {
    cgc_ctx *ctx;
    arena arena;
    ir_value **inputs;
    size_t n_inputs, cap_inputs;
    ir_value **constants;
    size_t n_constants, cap_constants;
    ir_node **nodes;
    size_t n_nodes, cap_nodes;
    ir_value **outputs;
    const char **output_names;
    size_t n_outputs;
    ir_value **values; /* handles of the public API: cgc_value indexes this */
    size_t n_values, cap_values;
    arena text_arena; /* of the last print */
    const char *text; /* last print, "" before the first */
    guard guard;      /* while a public call builds the graph */
};
typedef struct cgc_graph ir_graph;

/* ---- building (graph.c) ---- */
ir_graph *ir_graph_new(cgc_ctx *ctx);
void ir_graph_free(ir_graph *g); /* NULL is allowed */
ir_value *ir_add_input(ir_graph *g, const char *name, const ir_type *type);
/* Copies the bytes; data may be NULL for zeros. */
ir_value *ir_add_constant(ir_graph *g, const ir_type *type, const void *data);
/* Makes a node with default attributes; results have no type until ir_infer. Not yet in
 * g->nodes. */
ir_node *ir_make_node(ir_graph *g, const struct op_info *op, ir_value *const *inputs,
                      int32_t n_inputs, const char *layer);
void ir_append(ir_graph *g, ir_node *n);
void ir_insert_before(ir_graph *g, ir_node *at, ir_node *n);
void ir_remove(ir_graph *g, ir_node *n);
/* Every use of from (node operands, attributes, graph outputs) becomes to. */
void ir_replace_uses(ir_graph *g, ir_value *from, ir_value *to);
/* Number of uses by nodes and graph outputs. */
int32_t ir_use_count(const ir_graph *g, const ir_value *v);
/* The only node that uses v, or NULL if there are more or fewer uses or v is a graph output. */
ir_node *ir_only_user(const ir_graph *g, const ir_value *v);
/* Node ids by position, and constants in order of first use, as ir_print numbers them; unused
 * constants come last. */
void ir_renumber(ir_graph *g);
void ir_set_outputs(ir_graph *g, ir_value *const *values, const char *const *names, size_t n);
/* Deep copy into a new graph (what cgc_compile works on). */
ir_graph *ir_clone(ir_graph *g);

/* ---- attributes by name, which must be in the op's table: of a wrong name the accessors give zero
 * and the setters do nothing ---- */
ir_attr *ir_attr_get(const ir_node *n, const char *name);
int64_t ir_int(const ir_node *n, const char *name);
bool ir_bool(const ir_node *n, const char *name);
float ir_float(const ir_node *n, const char *name);
/* At least as many as the table declares. */
const int64_t *ir_ints(const ir_node *n, const char *name);
const char *ir_string(const ir_node *n, const char *name);
/* INT and scalar ZERO_POINT. */
void ir_set_int(ir_node *n, const char *name, int64_t v);
void ir_set_bool(ir_node *n, const char *name, bool v);
void ir_set_float(ir_node *n, const char *name, float v);
void ir_set_ints(ir_graph *g, ir_node *n, const char *name, const int64_t *v, int32_t count);
/* A SCALE / ZERO_POINT attribute expanded for channel c (the scalar, or element c). */
float ir_scale(const ir_node *n, const char *name, int64_t c);
int32_t ir_zero_point(const ir_node *n, const char *name, int64_t c);

/* ---- types and verification (verify.c) ---- */
/* Checks operands and attributes through the op and sets result types. */
cgc_status ir_infer(ir_graph *g, ir_node *n);
/* Whole graph: order, uses, types, unique names. */
cgc_status ir_verify(ir_graph *g);
/* Diagnostic info naming the node's layer and op. */
diag_info ir_where(const ir_node *n, const char *setting);

/* ---- text form (print.c, parse.c; grammar in docs/ir.md) ---- */
void ir_print(const ir_graph *g, bool layers, str *out);
/* One line with the numbers that the graph has now, for comments and traces. */
void ir_print_node(const ir_graph *g, const ir_node *n, bool layers, str *out);
cgc_status ir_parse(cgc_ctx *ctx, const char *text, size_t bytes, const ir_tensor *constants,
                    size_t n_constants, ir_graph **out);
/* Parses attribute text ("a=1, b=[2, 3]") onto a node; per-channel values are resolved through
 * constants of g by meta[relay.Constant][i], or through inputs of the call by input[i]. */
cgc_status ir_parse_attrs(ir_graph *g, ir_node *n, const char *text);

/* ---- files (save.c, safetensors.c) ---- */
cgc_status ir_save(ir_graph *g, const char *path);
cgc_status ir_load(cgc_ctx *ctx, const char *path, ir_graph **out);

#endif
