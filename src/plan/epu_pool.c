/* SPDX-License-Identifier: Apache-2.0
 *
 * epu_pool.c - max and average pooling on the array. A lane takes `run` output pixels side by side
 * (their windows overlap, so they are loaded once) and a slice of the channels. An average over
 * whole images instead gives each lane a channel and multiplies the pixels by ones, which sums any
 * number of them.
 */
#include "avg_window.h"
#include "ops/op_average.h"
#include "plan/epu.h"

enum { SCALAR_TILE = 90, SCALAR_OP = 25 /* scalar cycles per tile and per array operation */ };

static int32_t padded(const cgc_hw *hw, int64_t bytes)
{
    return (int32_t)(epu_ceil(bytes, hw->macs_per_pe) * hw->macs_per_pe);
}

/* Columns of the input under `run` output pixels. */
static int32_t columns(const epu_view *v, int32_t run)
{
    return (run - 1) * v->stride_w + v->kw;
}

static int64_t pool_cycles(const cgc_hw *hw, const epu_view *v, bool max, epu_pool *f)
{
    const int64_t pes = hw_pes(hw), lanes = epu_min(f->blocks, pes), taps = (int64_t)v->kh * v->kw;
    const int64_t load = epu_port_cycles(hw, lanes * v->kh * columns(v, f->run) * f->slice);
    const int64_t store = epu_port_cycles(hw, lanes * f->run * f->slice);
    const int64_t ops = max ? 1 : epu_ceil(f->slice, hw->num_acc);
    const int64_t s = hw->unit_overhead;
    const int64_t one =
        ops * s + epu_ceil(f->slice * taps, hw->alu_lanes) + (max ? 0 : ops * s + f->slice);
    const int64_t scalar = SCALAR_TILE + f->run * ops * SCALAR_OP * (max ? 1 : 2);
    const int64_t tile = epu_max(epu_max(load + store, f->run * one), scalar);
    return (int64_t)v->images * f->slices * epu_ceil(f->blocks, pes) * tile;
}

static bool pool_fits(const cgc_hw *hw, const epu_view *v, epu_pool *f)
{
    f->win_bytes = v->kh * padded(hw, (int64_t)columns(v, f->run) * f->slice);
    f->out_bytes = f->run * f->slice;
    return 2 * (int64_t)f->win_bytes + 2 * (int64_t)f->out_bytes + 2 * EPU_CONST_BYTES + 8 <=
           hw->lrm_size;
}

/* Tries every run that divides a row and every slice that divides the channels. */
static int64_t best_pool(const cgc_hw *hw, const epu_view *v, bool max, bool runs, epu_pool *out)
{
    int64_t best = -1;
    for (int32_t run = 1; run <= (runs ? v->ow : 1); run++) {
        if (v->ow % run)
            continue;
        for (int32_t slices = 1; slices <= v->cin; slices++) {
            if (v->cin % slices)
                continue;
            epu_pool f = {.run = run, .slice = v->cin / slices, .slices = slices};
            f.blocks = v->pixels / run;
            if (!pool_fits(hw, v, &f))
                continue;
            const int64_t cycles = pool_cycles(hw, v, max, &f);
            if (best >= 0 && cycles >= best)
                continue;
            best = cycles;
            *out = f;
        }
    }
    return best;
}

float epu_average_multiplier(const plan_step *s, int32_t pixel)
{
    const ccl_avg_pool2d_params a = op_average_params(s->node, &s->node->inputs[0]->type);
    const int32_t count = ccl_avg_window_at(&a, pixel / a.win.ow, pixel % a.win.ow).count;
    const float scale = ir_float(s->node, "x_scale") / (float)count;
    return scale / ir_float(s->node, "y_scale");
}

static bool counts_vary(const plan_step *s, const plan_window *w)
{
    const ccl_avg_pool2d_params a = op_average_params(s->node, &s->node->inputs[0]->type);
    const int32_t first = ccl_avg_window_at(&a, 0, 0).count;
    for (int32_t y = 0; y < w->out.h; y++)
        for (int32_t x = 0; x < w->out.w; x++)
            if (ccl_avg_window_at(&a, y, x).count != first)
                return true;
    return false;
}

static bool is_global(const plan_window *w)
{
    return w->out.h == 1 && w->out.w == 1 && w->kh == w->in.h && w->kw == w->in.w &&
           w->pad[0] == 0 && w->pad[1] == 0;
}

static void plan_global(plan *p, const plan_window *w, epu_step *e)
{
    const cgc_hw *hw = &p->hw;
    epu_pool *f = &e->u.pool;
    const int32_t most = (hw->lrm_size - 32) / 2 / hw->macs_per_pe * hw->macs_per_pe;
    f->global = true;
    f->taps = w->in.h * w->in.w;
    f->parts = (int32_t)epu_ceil(f->taps, most);
    f->part = padded(hw, epu_ceil(f->taps, f->parts));
    f->parts = (int32_t)epu_ceil(f->taps, f->part);
    f->run = 1;
    f->slice = epu_min(w->in.c, hw_pes(hw)); /* channels at a time */
    f->slices = (int32_t)epu_ceil(w->in.c, f->slice);
    f->n_consts = 1;
    f->lrm_in = 0;
    f->lrm_const = (int32_t)epu_ceil(2 * (int64_t)f->part, 8) * 8;
    f->lrm_out = f->lrm_const + EPU_CONST_BYTES;
    f->out_bytes = 1;
    e->units = w->in.n * f->slices * f->parts;
    e->ticks = 1;
    e->cycles = e->units * epu_max(epu_port_cycles(hw, (int64_t)f->slice * f->part), SCALAR_TILE);
}

const char *epu_plan_pool(plan *p, const plan_step *s, int64_t room, epu_step *e)
{
    const cgc_hw *hw = &p->hw;
    const bool max = op_is(s->node, OP_max_pool2d);
    plan_window w;
    epu_view v;
    if (max && s->output->dtype != IR_int8)
        return "float32 layer";
    if (!plan_window_of(s, &w) || !epu_view_of(s, &v))
        return "has no windows";
    epu_pool *f = &e->u.pool;
    /* The smallest LRM holds two steps and the constants. */
    if (!max && is_global(&w) && hw->lrm_size >= 2 * hw->macs_per_pe + 48) {
        plan_global(p, &w, e);
        f->v = v;
        return NULL;
    }
    const bool vary = !max && counts_vary(s, &w);
    const int64_t best = best_pool(hw, &v, max, v.dil_w == 1 && !vary, f);
    if (best < 0)
        return arena_printf(p->arena,
                            "a window of one channel needs %d bytes of LRM twice, the array has %d",
                            v.kh * padded(hw, v.kw), hw->lrm_size);
    f->v = v;
    f->counts_vary = vary;
    f->n_consts = vary ? v.pixels : 1;
    if (!max && (int64_t)f->n_consts * EPU_CONST_BYTES > room)
        return "the divisors of its windows do not fit OCM";
    f->tiles = (int32_t)epu_ceil(f->blocks, hw_pes(hw));
    f->lrm_in = 0;
    f->lrm_const = (int32_t)epu_ceil(2 * (int64_t)f->win_bytes, 8) * 8;
    f->lrm_out = f->lrm_const + 2 * EPU_CONST_BYTES;
    e->units = v.images * f->slices * f->tiles;
    e->ticks = 1;
    e->cycles = best;
    return NULL;
}

const char *epu_text_other(plan *p, const plan_step *s)
{
    const epu_step *e = epu_of(s);
    switch (s->mapping) {
    case PLAN_MAP_add:
    case PLAN_MAP_table:
        return arena_printf(p->arena, "%s, %s of %d elements",
                            text_count(p->arena, e->u.flat.tiles, "tile"),
                            text_count(p->arena, e->u.flat.lanes, "lane"), e->u.flat.block);
    case PLAN_MAP_quantize:
    case PLAN_MAP_dequantize:
        return arena_printf(p->arena, "%s of %s, %s per lane",
                            text_count(p->arena, e->units, "stage"),
                            text_count(p->arena, e->u.planes.stage, "pixel"),
                            text_count(p->arena, e->u.planes.slice, "channel"));
    case PLAN_MAP_max_pool2d:
    case PLAN_MAP_avg_pool2d:
        if (e->u.pool.global)
            return arena_printf(p->arena, "%d x %s, %s of %s", e->u.pool.slices,
                                text_count(p->arena, e->u.pool.slice, "channel"),
                                text_count(p->arena, e->u.pool.parts, "part"),
                                text_count(p->arena, e->u.pool.part, "pixel"));
        return arena_printf(p->arena, "%s, %s of %s per lane",
                            text_count(p->arena, e->units, "tile"),
                            text_count(p->arena, e->u.pool.run, "pixel"),
                            text_count(p->arena, e->u.pool.slice, "channel"));
    default:
        return "";
    }
}
