/* SPDX-License-Identifier: Apache-2.0
 *
 * avg_pool2d.c - int8 averages (rule 7). Windows as in max_pool2d, cells outside the image
 * being the zero point; the multiplier is one constant, or one per output pixel where divisors
 * differ. Averages over whole images give each PE a channel and multiply its pixels by ones.
 */
#include "emit/epu/epu_emit.h"

static const char *clamp_of(epu_emit *e, const plan_step *s)
{
    return epu_clamp(e, s->node);
}

/* {0, M} for the lanes: once for all, or for the output pixels of the unit. */
void epu_put_pool_constants(epu_emit *e, const plan_step *s, const epu_pool *f)
{
    const epu_step *d = epu_of(s);
    epu_line(e,
             "static const ccl_block constant = {.lane_stride = %d, .rows = 1, .row_bytes = %d};",
             f->counts_vary ? EPU_CONST_BYTES : 0, EPU_CONST_BYTES);
    const char *last =
        f->counts_vary ? arena_printf(e->a, "unit == %du", d->units - 1) : "unit == 0";
    if (!f->counts_vary)
        epu_begin(e, "if (%s)", last);
    epu_line(e, "ccl_wait(CCL_ALD, E_WEIGHTS, %du);", d->first_piece + 1);
    epu_line(e, "ccl_ald(&constant, pieces[%d].ocm%s, CCL_PAIR(%s, %s));", d->first_piece,
             f->counts_vary ? " + first * 8u" : "",
             f->counts_vary ? arena_printf(e->a, "%du + unit %% 2u * 8u", f->lrm_const)
                            : arena_printf(e->a, "%d", f->lrm_const),
             f->counts_vary ? "lanes" : arena_printf(e->a, "%d", (int)hw_pes(&e->p->hw)));
    if (f->counts_vary)
        epu_begin(e, "if (%s)", last);
    epu_line(e, "ccl_post(CCL_ALD, E_FREE_ALD);");
    epu_end(e);
}

/* ---- whole images ---- */

static void put_global_unit(epu_emit *e, const epu_pool *f)
{
    if (f->parts > 1)
        epu_line(e, "const uint32_t part = unit %% %du;", f->parts);
    if (f->slices > 1)
        epu_line(e, "const uint32_t slice = unit / %du %% %du;", f->parts, f->slices);
}

static void put_global_load(epu_emit *e, const plan_step *s, const epu_pool *f, const plan_dims *in)
{
    epu_put_load_head(e, s, "", "unit");
    put_global_unit(e, f);
    if (in->n > 1)
        epu_line(e, "const uint32_t image = unit / %du;", f->parts * f->slices);
    epu_put_lanes(e, "lanes", in->c, arena_printf(e->a, "slice * %du", f->slice), f->slice);
    epu_put_lanes(e, "pixels", f->taps, arena_printf(e->a, "part * %du", f->part), f->part);
    epu_line(e,
             "const ccl_block in = {.lane_stride = 1, .rows = (int32_t)pixels, .row_bytes = 1, "
             ".row_stride = %d};",
             in->c);
    epu_put_wait_two_back(e, "ALD", "DONE", "done", "unit");
    epu_line(e, "ccl_ald(&in, %s%s%s%s, CCL_PAIR(unit %% 2u * %du, lanes));",
             epu_address(e, epu_input(s, 0)), epu_term(e, "image", in->n, (int64_t)f->taps * in->c),
             epu_term(e, "slice", f->slices, f->slice),
             epu_term(e, "part", f->parts, (int64_t)f->part * in->c), f->part);
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    e->depth = 0;
    epu_line(e, "}\n");
}

static void put_global_body(epu_emit *e, const plan_step *s, const epu_pool *f, const plan_dims *in)
{
    const epu_step *d = epu_of(s);
    const int32_t steps = f->part / e->p->hw.macs_per_pe;
    epu_begin(e, "for (uint32_t unit = 0; unit < %du; unit++)", d->units);
    put_global_unit(e, f);
    epu_line(e, "const uint32_t from = unit %% 2u * %du, to = %du + result %% 2u;", f->part,
             f->lrm_out);
    epu_line(e, "weights_ahead(s, %du + unit * %du);", d->first_tick + 1, d->ticks);
    epu_line(e, "if (unit + 1u < %du)", d->units);
    epu_line(e, "    %s_load(s, unit + 1u);", s->function);
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + unit + 1u);");
    if (f->parts > 1) {
        epu_line(e, "if (part == 0)");
        epu_line(e, "    ccl_mac_weights_first(ones, CCL_PAIR(%d, 1), from);", steps);
        epu_line(e, "else");
        epu_line(e, "    ccl_mac_weights(ones + part * %du, CCL_PAIR(%d, 1), from);", f->part,
                 steps);
        epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
        epu_line(e, "if (part < %du)", f->parts - 1);
        epu_line(e, "    continue;");
    } else {
        epu_line(e, "ccl_mac_weights_first(ones, CCL_PAIR(%d, 1), from);", steps);
        epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    }
    epu_put_lanes(e, "lanes", in->c, arena_printf(e->a, "slice * %du", f->slice), f->slice);
    epu_put_wait_two_back(e, "ARR", "STORED", "stored", "result");
    epu_line(e, "ccl_rqs(constant, CCL_PAIR(to, 1), %s);", clamp_of(e, s));
    epu_line(e, "ccl_post(CCL_ARR, E_READY);");
    epu_line(e, "ccl_wait(CCL_AST, E_READY, s->ready + result + 1u);");
    if (in->n > 1)
        epu_line(e, "const uint32_t image = unit / %du;", f->parts * f->slices);
    epu_line(e, "ccl_ast(&out, %s%s%s, CCL_PAIR(to, lanes));", epu_address(e, epu_output(s)),
             epu_term(e, "image", in->n, in->c), epu_term(e, "slice", f->slices, f->slice));
    epu_line(e, "ccl_post(CCL_AST, E_STORED);");
    epu_line(e, "result++;");
    epu_end(e);
}

static cgc_status put_global(epu_emit *e, const plan_step *s, const epu_pool *f)
{
    const epu_step *d = epu_of(s);
    plan_window w;
    plan_window_of(s, &w);
    epu_put_comment(e, s,
                    arena_printf(e->a, "2 x %d pixels at 0, results at %d", f->part, f->lrm_out));
    put_global_load(e, s, f, &w.in);
    epu_put_head(e, s);
    epu_put_block(e, "out", (epu_block){1, 1, 1, 1});
    epu_line(e, "const uint32_t constant = pieces[%d].ocm, ones = constant + 8u;", d->first_piece);
    epu_line(e, "uint32_t result = 0;");
    epu_put_start(e, s, false);
    epu_line(e, "%s_load(s, 0);", s->function);
    epu_line(e, "weights_ahead(s, %du);", d->first_tick + 1);
    epu_line(e, "ccl_wait(CCL_ARR, E_WEIGHTS, %du);", d->first_piece + 1);
    put_global_body(e, s, f, &w.in);
    epu_line(e, "ccl_post(CCL_ARR, E_FREE_ARR);");
    const char *n = arena_printf(e->a, "%du", d->units);
    epu_put_end(e, s, &(epu_posts){.loaded = n, .done = n, .ready = "result", .stored = "result"});
    return CGC_OK;
}

/* ---- windows ---- */

static void put_sums(epu_emit *e, const plan_step *s, const epu_pool *f)
{
    const int32_t acc = e->p->hw.num_acc;
    const char *zp = arena_printf(e->a, "(uint32_t)%d", (int)ir_int(s->node, "x_zero_point"));
    const char *constant = f->counts_vary
                               ? arena_printf(e->a, "%du + unit %% 2u * 8u", f->lrm_const)
                               : arena_printf(e->a, "%du", f->lrm_const);
    const char *src = epu_term(e, "r", f->run, (int64_t)f->v.stride_w * f->slice);
    const char *dst = epu_term(e, "r", f->run, f->slice);
    epu_loop(e, "r", f->run);
    if (f->slice <= acc) {
        epu_put_pool_taps(e, f, arena_printf(e->a, "%d", f->slice));
        epu_line(e, "ccl_red_sum(&taps, from%s, %s);", src, zp);
        epu_line(e, "ccl_rqs_lane(%s, CCL_PAIR(to%s, %d), %s);", constant, dst, f->slice,
                 clamp_of(e, s));
    } else {
        epu_begin(e, "for (uint32_t c = 0; c < %du; c += %du)", f->slice, acc);
        epu_line(e, "const uint32_t n = %du - c < %du ? %du - c : %du;", f->slice, acc, f->slice,
                 acc);
        epu_put_pool_taps(e, f, "(int32_t)n");
        epu_line(e, "ccl_red_sum(&taps, from%s + c, %s);", src, zp);
        epu_line(e, "ccl_rqs_lane(%s, CCL_PAIR(to%s + c, n), %s);", constant, dst, clamp_of(e, s));
        epu_end(e);
    }
    epu_loop_end(e, f->run);
}

cgc_status epu_put_avg_pool2d(epu_emit *e, const plan_step *s)
{
    const epu_pool *f = &epu_of(s)->u.pool;
    const epu_view *v = &f->v;
    if (f->global)
        return put_global(e, s, f);
    epu_put_comment(
        e, s,
        arena_printf(
            e->a, "2 x %d bytes of windows at %d, multipliers at %d, 2 x %d bytes of results at %d",
            f->win_bytes, f->lrm_in, f->lrm_const, f->out_bytes, f->lrm_out));
    epu_put_pool_load(e, s, f);
    epu_put_head(e, s);
    epu_put_window(
        e, s, v,
        (epu_lane_window){f->run, f->slice, (int32_t)ir_int(s->node, "x_zero_point"), NULL});
    epu_put_block(e, "out", (epu_block){f->run * v->out_pixel, f->run, f->slice, v->out_pixel});
    epu_put_start(e, s, false);
    epu_put_pool_first(e, s);
    epu_put_pool_unit_begin(e, s, f);
    put_sums(e, s, f);
    epu_put_pool_unit_end(e, s, f);
    return CGC_OK;
}
