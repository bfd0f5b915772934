/* SPDX-License-Identifier: Apache-2.0
 *
 * host.h - what plan_host decides beyond plan.h: borders, which layers have an AVX-512 VNNI
 * function, their register tiles, which residual adds a convolution does itself, and how bytes
 * are stored in that variant.
 *
 * Two variants share buffers, offsets and borders. The portable one ("ref") stores int8
 * everywhere. The VNNI one stores a buffer that a VNNI convolution reads as q XOR 0x80
 * (host_plan.is_unsigned), border included; a layer without a VNNI function then runs between
 * two conversions in place.
 */
#ifndef CGC_PLAN_HOST_H
#define CGC_PLAN_HOST_H

#include "plan/plan.h"

#include "x86_avx512vnni/sum_form.h"

enum { HOST_TILE_PIXELS = 14, HOST_TILE_CHANNELS = 32, HOST_SLACK = 64 };

/* Exact decomposition of the output plane into register tiles: columns in pieces (wide planes)
 * or whole rows joined (narrow ones). count[i] pieces of size[i], the larger first; count[1] may
 * be 0. */
typedef struct host_split {
    int32_t size[2], count[2];
} host_split;

typedef struct host_conv {
    plan_window win;        /* of the convolution or dense layer */
    host_split cols, rows;  /* tile = one piece of columns x one piece of rows */
    int32_t x_border[4];    /* of the buffer it reads (the step's input, or its scratch copy) */
    int32_t runs, steps;    /* per tap row: contiguous runs, 4-byte steps in each */
    int32_t group_channels; /* output channels of a group */
    plan_buffer
        *copy; /* bordered copy of the input made first; NULL when the input serves as it is */
} host_conv;

/* qnn.add with constants: the cheapest exact form, shown by trying all pairs of bytes. */
typedef struct host_sum {
    int32_t form; /* CCL_SUM_* */
    float ka, kb, ky;
} host_sum;

typedef struct host_step {
    const char *kernel;     /* the portable kernel, for the manifest */
    bool vnni;              /* has an AVX-512 VNNI function */
    host_conv conv;         /* vnni convolution or dense */
    host_sum sum;           /* vnni qnn.add */
    int32_t sum_operand;    /* a convolution with fused: which operand of the add it computes */
    const plan_step *fused; /* a convolution: the qnn.add that it does itself in the VNNI variant */
    const plan_step *fused_into; /* a qnn.add: that convolution */
    plan_buffer *scratch;        /* working memory of the portable function, or NULL */
} host_step;

typedef struct host_plan {
    bool has_vnni;
    bool *is_unsigned; /* by buffer id, in the VNNI variant */
} host_plan;

static inline host_step *host_step_of(const plan_step *s)
{
    return s->detail;
}
static inline const host_plan *host_plan_of(const plan *p)
{
    return p->detail;
}
static inline const plan_buffer *host_base(const plan_buffer *b)
{
    return b->alias_of ? b->alias_of : b;
}
static inline bool host_is_unsigned(const plan *p, const plan_buffer *b)
{
    return host_plan_of(p)->is_unsigned[host_base(b)->id];
}

/* host_conv.c: can a VNNI function do this convolution or dense layer with the same bytes? Fills
 * tiles and runs. */
bool host_conv_plan(const plan_step *s, host_conv *out);
/* Splits n into the fewest pieces of at most most, sizes as equal as possible. */
host_split host_split_of(int32_t n, int32_t most);
/* host_sum.c: constants and form of a qnn.add. False: no form stays in range (the portable
 * function does it). */
bool host_sum_plan(const ir_node *add, host_sum *out);

#endif
