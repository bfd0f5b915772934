/* SPDX-License-Identifier: Apache-2.0
 *
 * epu_flat.c - add and table on the array (elements in memory order, a run of them per lane),
 * quantize and dequantize (a pixel per lane, float32 planes in DDR or OCM on one side, int8 NHWC
 * on the other).
 * Invariant: lanes * bytes per lane covers a tensor exactly, so no lane reads or writes beyond it.
 */
#include "plan/epu.h"
#include "requant.h"

#include <math.h>

enum {
    SCALAR_TILE = 90, /* scalar cycles per tile, measured on emitted programs */
    TABLE_BYTES = 256,
    STAGE_BYTES = 32768 /* of one stage buffer in OCM, where LRM and OCM allow */
};

/* ---- add, table ---- */

/* Whether times factor gives the bytes of the division for every pair of operands. */
static bool factor_is_exact(const ir_node *n, float factor)
{
    const float as = ir_float(n, "a_scale"), bs = ir_float(n, "b_scale"),
                ys = ir_float(n, "y_scale");
    const int32_t az = (int32_t)ir_int(n, "a_zero_point"), bz = (int32_t)ir_int(n, "b_zero_point");
    const int32_t yz = (int32_t)ir_int(n, "y_zero_point");
    const int32_t lo = (int32_t)ir_int(n, "clamp_min"), hi = (int32_t)ir_int(n, "clamp_max");
    for (int32_t a = -128; a <= 127; a++)
        for (int32_t b = -128; b <= 127; b++) {
            const float sum = ccl_dequantize((int8_t)a, as, az) + ccl_dequantize((int8_t)b, bs, bz);
            if (ccl_round_clamp(sum * factor, yz, lo, hi) != ccl_quantize(sum, ys, yz, lo, hi))
                return false;
        }
    return true;
}

/* The reciprocal of y_scale or a float beside it, if one is exact (rule 5); else 0. */
static float exact_factor(const ir_node *n)
{
    const float inverse = 1.0f / ir_float(n, "y_scale");
    const float tries[] = {inverse, nextafterf(inverse, 0.0f), nextafterf(inverse, INFINITY)};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        if (factor_is_exact(n, tries[i]))
            return tries[i];
    return 0.0f;
}

/* element: cycles of one addition on one lane of the float unit. */
static int64_t tile_cycles(const cgc_hw *hw, bool add, int64_t element, int64_t lanes,
                           int64_t block)
{
    const int64_t s = hw->unit_overhead;
    const int64_t arr =
        4 + s + (add ? epu_ceil(block * element, hw->fp_lanes) : epu_ceil(block, hw->alu_lanes));
    const int64_t port = (add ? 3 : 2) * epu_port_cycles(hw, lanes * block);
    return epu_max(epu_max(arr, port), SCALAR_TILE);
}

const char *epu_plan_flat(plan *p, const plan_step *s, epu_step *e)
{
    const cgc_hw *hw = &p->hw;
    const bool add = op_is(s->node, OP_qnn_add);
    epu_flat *f = &e->u.flat;
    f->elements = ir_type_elems(&s->node->results[0]->type);
    const int32_t room = hw->lrm_size - (add ? 0 : TABLE_BYTES), buffers = add ? 6 : 4;
    const int64_t most = room / buffers, pes = hw_pes(hw);
    f->factor = add ? exact_factor(s->node) : 0.0f;
    const int64_t element = f->factor != 0.0f ? 8 : 7 + hw->fp_div_cycles;
    int64_t best = -1;
    for (int64_t block = 1; block <= most && block <= f->elements; block++) {
        if (f->elements % block)
            continue;
        const int64_t lanes = f->elements / block, tiles = epu_ceil(lanes, pes);
        /* nothing overlaps the first load and the last store */
        const int64_t ends = (add ? 3 : 2) * epu_port_cycles(hw, epu_min(lanes, pes) * block);
        const int64_t cycles =
            ends + tiles * tile_cycles(hw, add, element, epu_min(lanes, pes), block);
        if (best >= 0 && cycles >= best)
            continue;
        best = cycles;
        f->block = (int32_t)block;
        f->lanes = lanes;
        f->tiles = (int32_t)tiles;
    }
    if (best < 0)
        return arena_printf(p->arena,
                            "needs %d bytes of LRM for its table and buffers, the array has %d",
                            (add ? 0 : TABLE_BYTES) + buffers, hw->lrm_size);
    f->lrm_table = 0;
    f->lrm_a = add ? 0 : TABLE_BYTES;
    f->lrm_b = f->lrm_a + 2 * f->block;
    f->lrm_out = add ? f->lrm_b + 2 * f->block : f->lrm_b;
    e->units = f->tiles;
    e->ticks = 1;
    e->cycles = best;
    return NULL;
}

/* ---- quantize, dequantize ---- */

static const plan_buffer *float_side(const plan_step *s)
{
    return op_is(s->node, OP_quantize) ? s->inputs[0] : s->output;
}

static const plan_buffer *int_side(const plan_step *s)
{
    return op_is(s->node, OP_quantize) ? s->output : s->inputs[0];
}

static bool coincide(const plan_dims *d)
{
    return d->c == 1 || (int64_t)d->h * d->w == 1;
}

static void planes_view(const plan_step *s, epu_planes *f)
{
    const plan_buffer *fs = float_side(s), *is = int_side(s);
    const plan_dims d = plan_dims_of(&s->node->results[0]->type);
    f->images = f->planes = 1;
    f->pixels = ir_type_elems(&s->node->results[0]->type);
    if (fs->layout != is->layout && !coincide(&d)) {
        f->images = d.n;
        f->planes = d.c;
        f->pixels = (int64_t)d.h * d.w;
    }
}

const char *epu_plan_planes(plan *p, plan_step *s, epu_step *e)
{
    const cgc_hw *hw = &p->hw;
    epu_planes *f = &e->u.planes;
    const bool quantize = op_is(s->node, OP_quantize);
    planes_view(s, f);
    if (f->planes > 1 && float_side(s)->layout == PLAN_NHWC)
        return "changes the layout of a float32 tensor that is NHWC";
    f->staged = float_side(s)->space != PLAN_ARENA;
    const int64_t pes = hw_pes(hw), budget = epu_min(STAGE_BYTES, hw->ocm_size / 16);
    const int64_t most_lrm = (hw->lrm_size - 8) / 10,
                  most_ocm = budget / (4 * epu_min(pes, f->pixels));
    const int64_t most = f->staged ? epu_max(1, epu_min(most_lrm, most_ocm)) : most_lrm;
    f->slices = (int32_t)epu_ceil(f->planes, most);
    f->slice = (int32_t)epu_ceil(f->planes, f->slices);
    f->slices = (int32_t)epu_ceil(f->planes, f->slice);
    const int64_t wanted = epu_max(1, budget / (4 * pes * f->slice));
    f->stage = f->staged ? epu_min(wanted * pes, f->pixels) : (int32_t)f->pixels;
    f->stages = (int32_t)epu_ceil(f->pixels, f->stage);
    f->lrm_f32 = 0;
    f->lrm_s8 = 8 * f->slice;
    const int64_t tiles = (int64_t)f->images * f->slices * epu_ceil(f->pixels, pes);
    const int64_t arr =
        4 + hw->unit_overhead +
        epu_ceil((int64_t)f->slice * (quantize ? 2 + hw->fp_div_cycles : 2), hw->fp_lanes);
    const int64_t port =
        epu_port_cycles(hw, pes * f->slice * 4) + epu_port_cycles(hw, pes * f->slice);
    if (f->staged) {
        e->scratch =
            plan_add_scratch(p, s, 2 * epu_ceil((int64_t)f->stage * f->slice * 4, 64) * 64);
        e->ddr_cycles =
            epu_ceil((int64_t)f->images * f->planes * f->pixels * 4, hw->ddr_bytes_per_cycle);
    }
    e->units = f->images * f->slices * f->stages;
    e->ticks = 1;
    e->cycles = epu_max(e->ddr_cycles, tiles * epu_max(epu_max(arr, port), SCALAR_TILE));
    return NULL;
}
