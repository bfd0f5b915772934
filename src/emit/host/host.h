/* SPDX-License-Identifier: Apache-2.0
 *
 * host.h - shared by the files that print the host program: the text being written, the weights
 * blob, and how a buffer, a comment or a constant is written as C. Nothing is decided here; see
 * src/plan/host.h.
 */
#ifndef CGC_EMIT_HOST_H
#define CGC_EMIT_HOST_H

#include "emit/emit.h"
#include "plan/host.h"

typedef struct host_emit {
    plan *p;
    emit_tree *t;
    arena *a;
    str *c;      /* the C text being written */
    str weights; /* weights_host.bin */
} host_emit;

/* A shape and stride of a buffer as seen by one function: first byte inside the border, and
 * distances. */
typedef struct host_view {
    const plan_buffer *b;
    const char *base;   /* C expression of the first byte, border included */
    const char *inside; /* C expression of the first byte of the first pixel */
} host_view;

/* ---- text.c ---- */
host_view host_view_of(host_emit *e, const plan_buffer *b);
bool host_has_border(const plan_buffer *b);
/* "int8 [1, 64, 56, 56]" */
const char *host_type_text(arena *a, const ir_type *t);
/* The comment above a layer's function. what: one more line, or "". */
void host_put_layer_comment(host_emit *e, const plan_step *s, const char *what);
/* C name of a step's function: module, step, suffix ("" or "_avx512vnni"). */
const char *host_function(host_emit *e, const plan_step *s, const char *suffix);
void host_put_function_begin(host_emit *e, const plan_step *s, const char *suffix);
/* ccl_fill_border of the buffer, nothing without a border; value as stored. */
void host_put_fill_border(host_emit *e, const plan_buffer *b, const char *base, int32_t value);
/* Initialiser of a ccl_bordered. */
const char *host_bordered(host_emit *e, const plan_buffer *b);

/* ---- pack.c: constants into the blob; results are C expressions of a pointer (type included),
 * or "NULL" ---- */
const char *host_put_data(host_emit *e, const void *data, size_t bytes, const char *ctype);
const char *host_put_value(host_emit *e, const ir_value *v,
                           const char *ctype); /* a constant as it is */
/* OIHW -> OHWI, any element size. */
const char *host_put_ohwi(host_emit *e, const ir_value *weight, const char *ctype);
const char *host_put_multipliers(host_emit *e, const ir_node *n, int32_t channels);
const char *host_put_zero_points(host_emit *e, const ir_node *n, int32_t channels);
const char *host_put_bias(host_emit *e, const ir_node *n, const char *ctype);
/* A constant of any shape spread to the shape of out in its layout. */
const char *host_put_spread(host_emit *e, const ir_value *v, const plan_buffer *out,
                            const char *ctype);
/* Blocks of the VNNI convolution; block_bytes of a full block. */
const char *host_put_vnni_blocks(host_emit *e, const plan_step *s, int64_t *out_block_bytes);

/* ---- broadcast.c: an operand lies otherwise in memory than the result ---- */
bool host_is_broadcast(const plan_step *s);
/* Loops around calls of a kernel of two operands; a, b, y point to their first elements. call: its name and
 * what stands before the operands, "ccl_add_f32(". */
void host_put_broadcast(host_emit *e, const plan_step *s, const char *call);

void host_put_command(host_emit *e); /* command.c: <module>_main.c */

/* ---- the functions of layers; failures name the layer ---- */
cgc_status host_put_portable(host_emit *e, const plan_step *s);       /* portable.c, float.c */
cgc_status host_put_portable_float(host_emit *e, const plan_step *s); /* float.c */
void host_put_vnni(host_emit *e, const plan_step *s);                 /* vnni.c */
void host_put_vnni_conv(host_emit *e, const plan_step *s); /* vnni_conv.c; with its fused add */

#endif
