/* SPDX-License-Identifier: Apache-2.0
 *
 * max_pool2d.c - int8 maximum over windows: a PE takes `run` output pixels side by side and a
 * slice of the channels. Cells outside the image are -128, which never wins over a cell inside.
 */
#include "emit/epu/epu_emit.h"

/* The window of a lane, and where its reduction finds taps in LRM. */
void epu_put_pool_load(epu_emit *e, const plan_step *s, const epu_pool *f)
{
    const epu_step *d = epu_of(s);
    const epu_view *v = &f->v;
    const int64_t pes = hw_pes(&e->p->hw);
    epu_put_load_head(e, s, "ccl_window *in, ", "unit");
    epu_put_pool_unit(e, f);
    epu_put_lanes(e, "lanes", f->blocks, "first", pes);
    if (v->images > 1 || f->slices > 1)
        epu_line(e, "in->base = %s%s%s;", epu_address(e, epu_input(s, 0)),
                 epu_term(e, "image", v->images, v->in_image),
                 epu_term(e, "slice", f->slices, f->slice));
    epu_put_wait_two_back(e, "ALD", "DONE", "done", "unit");
    if (d->n_pieces)
        epu_put_pool_constants(e, s, f);
    epu_line(e, "ccl_ald_window(in, first, CCL_PAIR(%s, lanes));",
             epu_buffer(e, s, "unit", (epu_pair){f->lrm_in, f->win_bytes, 2}));
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    e->depth = 0;
    epu_line(e, "}\n");
}

void epu_put_pool_first(epu_emit *e, const plan_step *s)
{
    epu_line(e, "%s_load(s, &in, 0);", s->function);
    epu_put_first_loaded(e, s);
    epu_put_settle(e, s, "");
}

void epu_put_pool_unit(epu_emit *e, const epu_pool *f)
{
    if (f->v.images > 1)
        epu_line(e, "const uint32_t image = unit / %du;", f->slices * f->tiles);
    if (f->slices > 1)
        epu_line(e, "const uint32_t slice = unit / %du %% %du;", f->tiles, f->slices);
    if (f->tiles > 1)
        epu_line(e, "const uint32_t first = unit %% %du * %lldu;", f->tiles,
                 (long long)hw_pes(&e->p->hw));
    else
        epu_line(e, "const uint32_t first = 0;");
}

void epu_put_pool_taps(epu_emit *e, const epu_pool *f, const char *n)
{
    epu_line(e,
             "%sconst ccl_taps taps = {.n = %s, .taps_y = %d, .stride_y = %d, .taps_x = %d, "
             ".stride_x = %d};",
             n[0] >= '0' && n[0] <= '9' ? "static " : "", n, f->v.kh, f->win_bytes / f->v.kh,
             f->v.kw, f->slice);
}

void epu_put_pool_unit_begin(epu_emit *e, const plan_step *s, const epu_pool *f)
{
    const epu_step *d = epu_of(s);
    epu_begin(e, "for (uint32_t unit = 0; unit < %du; unit++)", d->units);
    epu_line(e, "const uint32_t from = %s, to = %du + unit %% 2u * %du;",
             epu_buffer(e, s, "unit", (epu_pair){f->lrm_in, f->win_bytes, 2}), f->lrm_out,
             f->out_bytes);
    epu_put_pool_unit(e, f);
    epu_put_lanes(e, "lanes", f->blocks, "first", hw_pes(&e->p->hw));
    epu_line(e, "weights_ahead(s, %du + unit * %du);", d->first_tick + 1, d->ticks);
    epu_line(e, "if (unit + 1u < %du)", d->units);
    epu_line(e, "    %s_load(s, &in, unit + 1u);", s->function);
    epu_line(e, "store_now(s);");
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + unit + 1u);");
    epu_put_wait_two_back(e, "ARR", "STORED", "stored", "unit");
}

void epu_put_pool_unit_end(epu_emit *e, const plan_step *s, const epu_pool *f)
{
    const epu_view *v = &f->v;
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    epu_line(e, "store_later(s, &out, %s%s%s%s, CCL_PAIR(to, lanes), E_DONE, s->done + unit + 1u);",
             epu_address(e, epu_output(s)), epu_term(e, "image", v->images, v->out_image),
             epu_term(e, "slice", f->slices, f->slice),
             epu_term(e, "first", f->tiles, f->run * v->out_pixel));
    epu_end(e);
    const char *n = arena_printf(e->a, "%du", epu_of(s)->units);
    epu_put_end(e, s, &(epu_posts){.loaded = n, .done = n, .stored = n});
}

cgc_status epu_put_max_pool2d(epu_emit *e, const plan_step *s)
{
    const epu_pool *f = &epu_of(s)->u.pool;
    const epu_view *v = &f->v;
    epu_put_comment(e, s,
                    arena_printf(e->a,
                                 "2 x %d bytes of windows at %d, 2 x %d bytes of results at %d",
                                 f->win_bytes, f->lrm_in, f->out_bytes, f->lrm_out));
    epu_put_pool_load(e, s, f);
    epu_put_head(e, s);
    epu_put_window(e, s, v, (epu_lane_window){f->run, f->slice, -128, NULL});
    epu_put_block(e, "out", (epu_block){f->run * v->out_pixel, f->run, f->slice, v->out_pixel});
    epu_put_pool_taps(e, f, arena_printf(e->a, "%d", f->slice));
    epu_put_start(e, s, false);
    epu_put_pool_first(e, s);
    epu_put_pool_unit_begin(e, s, f);
    epu_loop(e, "r", f->run);
    epu_line(e, "ccl_red_max(&taps, from%s, to%s);",
             epu_term(e, "r", f->run, (int64_t)v->stride_w * f->slice),
             epu_term(e, "r", f->run, f->slice));
    epu_loop_end(e, f->run);
    epu_put_pool_unit_end(e, s, f);
    return CGC_OK;
}
