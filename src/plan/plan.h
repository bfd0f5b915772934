/* SPDX-License-Identifier: Apache-2.0
 *
 * plan.h - the layer plan: a lowered graph as a list of steps over buffers in memory, for one target. Both emitters
 * print what stands here and decide nothing themselves.
 *
 * Physical layout: every rank-4 tensor inside the program is NHWC, others are plain row-major; graph inputs and
 * outputs are plain at the edges. Where an operator needs the other layout plan_build puts a relayout step
 * (a reshape whose bytes do not move is an alias, not a step). A quantize or dequantize between a plain graph
 * edge and an NHWC tensor does the transposition itself.
 */
#ifndef CGC_PLAN_H
#define CGC_PLAN_H

#include "ops/op.h"

typedef enum plan_target { PLAN_HOST, PLAN_EPU } plan_target;
typedef enum plan_layout { PLAN_PLAIN, PLAN_NHWC } plan_layout;
typedef enum plan_space {
    PLAN_INPUT,    /* a graph input, as the caller gives it (EPU: in DDR) */
    PLAN_OUTPUT,   /* a graph output, as the caller takes it (EPU: in DDR) */
    PLAN_CONSTANT, /* weights file */
    PLAN_ARENA     /* host: arena; EPU: OCM */
} plan_space;

typedef enum plan_mapping_id {
#define MAPPING(name, op, unit, meaning) PLAN_MAP_##name,
#include "plan/mappings.def"
#undef MAPPING
    PLAN_MAP_scalar, /* the ref kernel on the scalar core (EPU), or any kernel (host) */
    PLAN_MAP_COUNT
} plan_mapping_id;

/* Logical 4-D view of a value: rank-4 NCHW as it is; others as n = product of all but the last dim, c = last dim,
 * h = w = 1 (rank 0: all 1). */
typedef struct plan_dims {
    int32_t n, c, h, w;
} plan_dims;

typedef struct plan_buffer {
    int32_t id;
    const ir_value *value;
    ir_dtype dtype;
    plan_dims dims;
    plan_layout layout;
    plan_space space;
    int32_t index; /* INPUT, OUTPUT: which */
    /* Zero-point border around each image in pixels [top, left, bottom, right], host only; zeros elsewhere. */
    int32_t border[4];
    int32_t border_value;
    int64_t pixel_bytes, row_bytes, image_bytes; /* strides, border included */
    int64_t bytes;
    int32_t first, last; /* steps that write it first and read it last */
    /* From the start of its space; set by plan_memory (ARENA) or the emitter (others). */
    int64_t offset;
    struct plan_buffer *alias_of; /* same memory (reshape that moves nothing), else NULL */
} plan_buffer;

/* Convolution, dense and pooling as one window problem. dense: h = w = kh = kw = 1. */
typedef struct plan_window {
    plan_dims in, out;
    int32_t kh, kw, stride_h, stride_w, dil_h, dil_w, groups;
    int32_t pad[4]; /* top, left, bottom, right */
} plan_window;

typedef struct plan_step {
    int32_t layer;        /* id in marks, manifest and reports; from 1 */
    const ir_node *node;  /* NULL for a relayout */
    const char *name;     /* layer path; for nameless nodes op and value, unique in the program */
    const char *function; /* C identifier of its function, unique */
    plan_buffer *inputs[IR_MAX_INPUTS]; /* activations; NULL where the operand is a constant */
    plan_buffer *output;
    int64_t macs;
    plan_mapping_id mapping;
    const char *reason; /* why it runs on the scalar core, "" on the array */
    const char *text;   /* one line about tiles and chunks for comments and the report */
    void *detail;       /* the mapping's own struct (plan/epu_*.h, plan/host_*.h) */
} plan_step;

typedef struct plan {
    cgc_ctx *ctx;
    arena *arena; /* of the lowered graph */
    ir_graph *graph;
    plan_target target;
    cgc_hw hw; /* EPU only */
    const char *module;
    plan_buffer **buffers;
    size_t n_buffers, cap_buffers;
    plan_step **steps;
    size_t n_steps, cap_steps;
    int64_t arena_bytes; /* peak of PLAN_ARENA after plan_memory */
    void *detail;        /* the target's own whole-program data */
} plan;

/* Steps and buffers with layouts, aliases and lifetimes; no addresses, no mapping. graph has been through
 * the passes. */
cgc_status plan_build(ir_graph *graph, plan_target target, const char *module, plan **out);
/* Places PLAN_ARENA buffers by lifetime (greedy by size, then first fit), align bytes each, and returns the peak. */
cgc_status plan_memory(plan *p, int64_t align);
bool plan_window_of(const plan_step *s, plan_window *out); /* false: the op has no window */
plan_dims plan_dims_of(const ir_type *t);
/* Scratch memory that lives during one step, placed like an activation. */
plan_buffer *plan_add_scratch(plan *p, plan_step *s, int64_t bytes);

/* host.c: borders, kernels, register tiles. */
cgc_status plan_host(ir_graph *graph, const char *module, plan **out);
/* epu.c: mapping per step, tiles to LRM, OCM plan, weight stream. */
cgc_status plan_epu(ir_graph *graph, const cgc_hw *hw, const char *module, plan **out);

#endif
