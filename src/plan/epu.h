/* SPDX-License-Identifier: Apache-2.0
 *
 * epu.h - what plan_epu decides for each step of the EPU program: how the work is cut into units
 * that fit local memory (LRM), which pieces of weights it needs in on-chip memory (OCM) and when,
 * and what it should cost. The emitters in emit/epu/ print these structs; they decide nothing.
 * plan_step.detail is an epu_step, plan.detail an epu_program.
 *
 * Units. A step's work is a fixed sequence of units; unit u begins with an issue point for
 * weights, then the load of unit u + 1 is issued, then unit u is computed, with more issue points
 * on the way (epu_step.ticks in all).
 * Pieces. Weights, constants and tables come from weights_epu.bin in pieces, one DMA each, in the
 * order of their first use; epu_stream.c places them in OCM and fixes the issue point of each.
 */
#ifndef CGC_PLAN_EPU_H
#define CGC_PLAN_EPU_H

#include "plan/plan.h"

enum { EPU_CONST_BYTES = 8 /* {int32 bias; float m} */, EPU_TABLE_BYTES = 256 };

/* ---- convolution and dense ---- */

/* A window problem with the strides of its tensors; `pixels` are the output pixels of an image. */
typedef struct epu_view {
    int32_t images, h, w, oh, ow, pixels;
    int32_t kh, kw, stride_h, stride_w, dil_h, dil_w, pad_top, pad_left;
    int32_t groups, cin, cout; /* channels of one group */
    int32_t merge; /* groups of the operator that one group here joins, zeros between them */
    int64_t in_pixel, in_row, in_image, out_pixel, out_image; /* bytes */
} epu_view;

/* Part of the sum over a window: ky0.. x kx0.. x c0.., rows padded to macs_per_pe. */
typedef struct epu_part {
    int32_t ky0, kh, kx0, kw, c0, c;
    int32_t bytes;  /* of one window or of one output channel's weights */
    int32_t offset; /* of the part in the weights of one set, for one output channel: times block */
} epu_part;

/* A set is a block of output channels of one group: constants [block], then per part rows
 * [block][bytes].
 * conv2d_pixel:   unit = (set, image, tile of N pixels, part); lanes are pixels.
 * conv2d_channel: lanes are the output channels of a set. One part: unit = set, over all images
 * and pixels.
 * Several: unit = (set, image, tile of pixels, part), sums of the tile in LRM. */
typedef struct epu_conv {
    epu_view v;
    int32_t block, blocks, sets;
    epu_part *parts;
    int32_t n_parts, part_bytes /* largest */, row_bytes /* all parts */;
    int32_t tile, tiles; /* pixels of a tile; tiles of an image */
    int32_t run;         /* output channels (pixel) or pixels (channel) per accumulator load */
    /* conv2d_pixel: pixels after the tiles, one output channel per PE, tail_run at a time; 0 = none */
    int32_t tail, tail_run;
    int32_t buffers; /* 2, or 1: no overlap of load and computation */
    /* conv2d_pixel: rows of the window follow each other without gaps, one load each */
    bool packed;
    /* offsets; buffer b of in at lrm_in + b*part_bytes */
    int32_t lrm_in, lrm_sums, lrm_out, lrm_const;
    int32_t out_bytes; /* of one output buffer in LRM (two of them) */
    int64_t set_bytes; /* in a piece, padded */
    /* 0: every unit has pieces of its own: columns of at most column_bytes of its rows */
    int32_t sets_per_piece, column_bytes;
} epu_conv;

/* ---- everything else ---- */

/* add, table: elements = lanes * block; tiles of N lanes. */
typedef struct epu_flat {
    int64_t elements;
    int32_t block; /* bytes per lane */
    int64_t lanes;
    int32_t tiles, lrm_a, lrm_b, lrm_out, lrm_table;
    /* add: what replaces the division by y_scale with the same bytes; 0 = nothing does */
    float factor;
} epu_flat;

/* quantize, dequantize: planes [images][planes][pixels] of float32 beside [images][pixels][planes]
 * of int8; a lane is a pixel with `slice` planes. Planes in DDR pass through two stage buffers of
 * `stage` pixels in OCM. */
typedef struct epu_planes {
    int32_t images, planes;
    int64_t pixels;
    int32_t slice, slices;
    int32_t stage, stages; /* pixels of a stage; stages of one image and slice */
    bool staged;
    int32_t lrm_f32, lrm_s8; /* two buffers each */
} epu_planes;

/* max_pool2d, avg_pool2d: a lane takes `run` output pixels side by side and `slice` channels.
 * Whole-image averages (global): a lane is a channel; parts of the image are multiplied by ones. */
typedef struct epu_pool {
    epu_view v; /* cin = cout = channels, groups = 1 */
    int32_t run, slice, slices;
    int32_t win_bytes;     /* window of a lane in LRM */
    int32_t blocks, tiles; /* lanes of an image; tiles of N lanes */
    int32_t lrm_in, lrm_out, lrm_const, out_bytes;
    bool global;
    int32_t taps, part, parts; /* global: taps of the image, bytes of a part, parts */
    bool counts_vary;          /* avg: one constant per output pixel */
    int32_t n_consts;
} epu_pool;

typedef struct epu_step {
    int64_t cycles; /* estimate */
    /* issue points: 1 before the first load, then at most `ticks` per unit, one of them at its start */
    int32_t units, ticks;
    int32_t first_tick; /* number of the first, counted over the program from 1 */
    int64_t ddr_cycles; /* own transfers of activations */
    int32_t first_piece, n_pieces;
    plan_buffer *stage_in[2]; /* OCM copies of operands that lie in DDR, or NULL */
    plan_buffer *stage_out;   /* OCM copy of an output that lies in DDR, or NULL */
    plan_buffer *scratch;     /* stage buffers of epu_planes */
    /* Seam with the layer before (epu_overlap.c). */
    bool early;   /* the first load need not wait until the layer before is complete */
    bool settled; /* nor need the first result */
    /* early: newest results of the layer before that the first load (channel mapping: the first
     * run) can do without; -1 = it reads none of them */
    int32_t spare;
    /* early: the layer before issues the first load in its last unit, after so many of its results */
    bool handed;
    int32_t handed_results;
    int32_t first_buffer, first_constant; /* which of a pair of buffers comes first */
    union {
        epu_conv conv;
        epu_flat flat;
        epu_planes planes;
        epu_pool pool;
    } u;
} epu_step;

/* ---- weights in pieces ---- */
typedef struct epu_piece {
    int32_t step; /* index of its step */
    int32_t first_unit, last_unit;
    bool by_arr;             /* last read by the broadcast port (ARR); else by loads (ALD) */
    int32_t set, sets, part; /* conv: which sets; part -1 = all. add: set = operand */
    int32_t column;          /* conv with a part: first byte of each row */
    int64_t bytes, ddr,
        ocm;       /* ddr: from the start of weights_epu.bin; ocm: from the start of OCM */
    int32_t tick;  /* issue point, counted over the program from 1 */
    int32_t order; /* how many pieces its queue has freed when it is freed */
    int32_t wait_ald, wait_arr, wait_layer; /* counts that its DMA waits for; 0 = none */
} epu_piece;

typedef struct epu_program {
    epu_piece *pieces;
    size_t n_pieces, cap_pieces;
    int64_t weights_bytes; /* of the pieces; constants of scalar steps follow */
    int64_t ocm_peak;
    int64_t cycles; /* estimate */
} epu_program;

static inline epu_step *epu_of(const plan_step *s)
{
    return s->detail;
}
static inline epu_program *epu_program_of(const plan *p)
{
    return p->detail;
}
static inline int64_t epu_ceil(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
static inline int32_t epu_min(int64_t a, int64_t b)
{
    return (int32_t)(a < b ? a : b);
}
static inline int64_t epu_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Cycles of a load or store of bytes, all lanes together. */
static inline int64_t epu_port_cycles(const cgc_hw *hw, int64_t bytes)
{
    return hw->unit_overhead + epu_ceil(bytes, hw->arr_port_bytes);
}

/* Highest end of the activations that live in any of steps first..last. */
int64_t epu_activation_end(const plan *p, int32_t first, int32_t last);
/* Where operand k of an array step lies in OCM, and its result: the stage if there is one. */
const plan_buffer *epu_input(const plan_step *s, int32_t k);
const plan_buffer *epu_output(const plan_step *s);
/* Steps that read DDR or OCM as the scalar core and so must be alone. */
static inline bool epu_is_scalar(const plan_step *s)
{
    return s->mapping == PLAN_MAP_scalar;
}

/* A mapping planner fills e for the step. room: bytes of OCM for pieces. Returns NULL, or the
 * reason why the mapping cannot take the step (needs, has). Sets e->cycles. */
const char *epu_plan_pixel(plan *p, const plan_step *s, int64_t room, epu_step *e);
const char *epu_plan_channel(plan *p, const plan_step *s, int64_t room, epu_step *e);
const char *epu_plan_flat(plan *p, const plan_step *s, epu_step *e);
const char *epu_plan_planes(plan *p, plan_step *s, epu_step *e);
const char *epu_plan_pool(plan *p, const plan_step *s, int64_t room, epu_step *e);
/* M of an average pool for one output pixel of an image (rule 7). */
float epu_average_multiplier(const plan_step *s, int32_t pixel);
/* One line for comments and the report. */
const char *epu_text_conv(plan *p, const plan_step *s);
const char *epu_text_other(plan *p, const plan_step *s);

/* Why an operand keeps the step off the array (zero points that cannot be folded), or NULL. */
const char *epu_conv_obstacle(plan *p, const plan_step *s);
bool epu_view_of(const plan_step *s, epu_view *out);
/* Places each step's LRM buffers so that its first load overlaps the step before, if possible. */
void epu_overlap(plan *p);
/* Pieces of all steps in order of use: places in OCM, issue points, waits; CGC_E_FIT if one does
 * not fit. */
cgc_status epu_stream(plan *p);

#endif
