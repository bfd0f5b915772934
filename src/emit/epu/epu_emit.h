/* SPDX-License-Identifier: Apache-2.0
 *
 * epu_emit.h - shared by the files that print the EPU program: the text being written,
 * weights_epu.bin, and the pieces of C that the functions of all layers are made of. Nothing is
 * decided here; see src/plan/epu.h.
 *
 * The printed program counts posts of its events in a struct `state`: each layer waits for counts
 * relative to those at its start and adds its own posts at its end (epu_put_end).
 */
#ifndef CGC_EMIT_EPU_H
#define CGC_EMIT_EPU_H

#include "emit/emit.h"
#include "plan/epu.h"

typedef struct epu_emit {
    plan *p;
    emit_tree *t;
    arena *a;
    str *c;                   /* the C text being written */
    str weights;              /* weights_epu.bin: pieces, then constants of scalar layers */
    struct host_emit *scalar; /* prints scalar layers and collects their constants */
    int64_t scalar_at;        /* bytes of the pieces; scalar constants follow, aligned */
    emit_epu_map map;
    int32_t depth; /* of the block being written */
    int32_t step;  /* index of the step being written */
} epu_emit;

/* ---- text.c ---- */
/* One line at the current depth. */
void epu_line(epu_emit *e, const char *fmt, ...) CGC_PRINTF(2, 3);
/* "... {" and one level deeper; "}" and one level up. */
void epu_begin(epu_emit *e, const char *fmt, ...) CGC_PRINTF(2, 3);
void epu_end(epu_emit *e);
/* for (uint32_t name = 0; name < count; name++) {   or nothing for count 1 (then name is not declared). */
void epu_loop(epu_emit *e, const char *name, int64_t count);
void epu_loop_end(epu_emit *e, int64_t count);
/* "name * times + " or "" for count 1; to be followed by more terms. */
const char *epu_term(epu_emit *e, const char *name, int64_t count, int64_t times);
/* Machine address of a buffer as C text. */
const char *epu_address(epu_emit *e, const plan_buffer *b);
uint32_t epu_address_of(const epu_emit *e, const plan_buffer *b);
/* const uint32_t lanes = ...: how many of `total` are left from `first` on, at most `most`. */
void epu_put_lanes(epu_emit *e, const char *name, int64_t total, const char *first, int64_t most);
/* static const ccl_block name = {...}; */
typedef struct epu_block {
    int64_t lane_stride, rows, row_bytes, row_stride;
} epu_block;
void epu_put_block(epu_emit *e, const char *name, epu_block b);
/* ccl_window in = {...}: the view's window, with `run` output pixels side by side as one (1 = plain)
 * and c bytes of each input pixel. */
typedef struct epu_lane_window {
    int32_t run, c, fill;
    const char *file; /* name of a constant of the file instead, or NULL */
} epu_lane_window;
void epu_put_window(epu_emit *e, const plan_step *s, const epu_view *v, epu_lane_window w);
/* "CCL_CLAMP(zp, lo, hi)" of a node with y_zero_point, clamp_min, clamp_max. */
const char *epu_clamp(epu_emit *e, const ir_node *n);

/* Comment and head of a layer's functions. */
void epu_put_comment(epu_emit *e, const plan_step *s, const char *lrm);
/* static void <function>(state *s) { */
void epu_put_head(epu_emit *e, const plan_step *s);
/* Mark, issue point, staging of operands that lie in DDR, waits for the layer before. by_arr: the
 * broadcast port reads activations, so its queue waits as well. */
void epu_put_start(epu_emit *e, const plan_step *s, bool by_arr);
/* After the load of unit 0: later loads wait for the layer before, if that load did not. */
void epu_put_first_loaded(epu_emit *e, const plan_step *s);
/* Before the first result is written to local memory: the same for the array. condition: C text, "" = always. */
void epu_put_settle(epu_emit *e, const plan_step *s, const char *condition);
/* LRM offset of the unit's buffer out of a pair (or of the only one). */
typedef struct epu_pair {
    int32_t at, bytes, buffers;
} epu_pair;
const char *epu_buffer(epu_emit *e, const plan_step *s, const char *unit, epu_pair b);
/* How many posts of each event the layer made, as C text; NULL = none. */
typedef struct epu_posts {
    const char *loaded, *done, *ready, *stored;
} epu_posts;
void epu_put_end(epu_emit *e, const plan_step *s, const epu_posts *posts);

/* static void <function>_load(const state *s, <more>uint32_t unit) {   for the loads of one unit */
void epu_put_load_head(epu_emit *e, const plan_step *s, const char *more, const char *unit);
/* ccl_wait of a queue for the buffer that unit - 2 used. */
void epu_put_wait_two_back(epu_emit *e, const char *queue, const char *event, const char *base,
                           const char *unit);

/* ---- conv2d_parts.c: what both convolution mappings print ---- */
/* Tables of the parts of the sum (nothing for one part): how each changes the window; where its weights lie. */
void epu_put_part_table(epu_emit *e, const epu_conv *c);
void epu_put_part_weights(epu_emit *e, const epu_conv *c);
/* Sets the window's base, and its part of the sum; in: "in." or "in->". */
void epu_put_part_window(epu_emit *e, const plan_step *s, const epu_conv *c, const char *in);
/* Offset of a set's first output channel, as further terms of a sum. */
const char *epu_set_channel(epu_emit *e, const epu_conv *c);
/* const uint32_t channels = how many output channels the set has; unit: "set". */
void epu_put_channels_of(epu_emit *e, const epu_conv *c, const char *name);

/* ---- quantize.c, shared with dequantize.c: the unit of a planes mapping and its offsets ---- */
void epu_put_plane_unit(epu_emit *e, const epu_planes *f);
const char *epu_plane_offset(epu_emit *e, const epu_planes *f);
const char *epu_pixel_offset(epu_emit *e, const epu_planes *f);
const char *epu_stage_address(epu_emit *e, const plan_step *s, const plan_buffer *direct);

/* ---- add.c, shared with table.c: the loop over tiles, all but its load and its instruction ---- */
void epu_put_flat_tile_begin(epu_emit *e, const plan_step *s, const epu_flat *f);
void epu_put_flat_tile_end(epu_emit *e, const plan_step *s, const epu_flat *f);

/* ---- max_pool2d.c, shared with avg_pool2d.c ---- */
void epu_put_pool_load(epu_emit *e, const plan_step *s, const epu_pool *f);
void epu_put_pool_unit(epu_emit *e, const epu_pool *f);
void epu_put_pool_taps(epu_emit *e, const epu_pool *f, const char *n);
/* The load of unit 0 and what waits after it. */
void epu_put_pool_first(epu_emit *e, const plan_step *s);
void epu_put_pool_unit_begin(epu_emit *e, const plan_step *s, const epu_pool *f);
void epu_put_pool_unit_end(epu_emit *e, const plan_step *s, const epu_pool *f);
/* avg_pool2d.c: the load of multipliers inside the printed load function. */
void epu_put_pool_constants(epu_emit *e, const plan_step *s, const epu_pool *f);

/* ---- handover.c: the first loads of the next layer in the last unit of a convolution ---- */
/* The next layer if this one asks for its first loads, else NULL. */
const plan_step *epu_handed_next(const epu_emit *e);
/* How many calls of its load function a unit of a convolution takes. */
int32_t epu_load_calls(const plan_step *s);
void epu_put_handed_prototype(epu_emit *e);
/* At the start of a unit (always: known to be the last). Loads of one call are asked for here. */
void epu_put_handover_begin(epu_emit *e, const plan_step *s, bool always);
/* Calls of a load of several, each behind `word` ("if", "while"). */
void epu_put_handover(epu_emit *e, const plan_step *s, const char *word, int32_t times);

/* ---- pack.c ---- */
/* All pieces, in the order of the plan. */
cgc_status epu_pack(epu_emit *e);

/* ---- scalar.c ---- */
cgc_status epu_put_scalar(epu_emit *e, plan_step *s);

/* ---- one file per mapping ---- */
#define MAPPING(name, op, unit, meaning) cgc_status epu_put_##name(epu_emit *e, const plan_step *s);
#include "plan/mappings.def"
#undef MAPPING

#endif
