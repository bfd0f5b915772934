/* SPDX-License-Identifier: Apache-2.0
 *
 * table.c - contrib.epu.table with a run of elements per PE, in memory order; every PE holds the
 * whole table.
 */
#include "emit/epu/epu_emit.h"

static void put_load(epu_emit *e, const plan_step *s, const epu_flat *f)
{
    const epu_step *d = epu_of(s);
    epu_put_load_head(e, s, "", "tile");
    epu_put_block(e, "part", (epu_block){f->block, 1, f->block, f->block});
    epu_put_block(e, "table", (epu_block){0, 1, 256, 256});
    epu_line(e, "const uint32_t first = tile * %lldu;", (long long)hw_pes(&e->p->hw));
    epu_put_lanes(e, "lanes", f->lanes, "first", hw_pes(&e->p->hw));
    epu_begin(e, "if (tile == 0)");
    epu_line(e, "ccl_wait(CCL_ALD, E_WEIGHTS, %du);", d->first_piece + 1);
    epu_line(e, "ccl_ald(&table, pieces[%d].ocm, CCL_PAIR(%d, %d));", d->first_piece, f->lrm_table,
             (int)hw_pes(&e->p->hw));
    epu_line(e, "ccl_post(CCL_ALD, E_FREE_ALD);");
    epu_end(e);
    epu_put_wait_two_back(e, "ALD", "DONE", "done", "tile");
    epu_line(e, "ccl_ald(&part, %s + first * %du, CCL_PAIR(%s, lanes));",
             epu_address(e, epu_input(s, 0)), f->block,
             epu_buffer(e, s, "tile", (epu_pair){f->lrm_a, f->block, 2}));
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    e->depth = 0;
    epu_line(e, "}\n");
}

cgc_status epu_put_table(epu_emit *e, const plan_step *s)
{
    const epu_step *d = epu_of(s);
    const epu_flat *f = &d->u.flat;
    epu_put_comment(
        e, s,
        arena_printf(e->a,
                     "table at %d, elements at %d, results at %d, two buffers of %d bytes each",
                     f->lrm_table, f->lrm_a, f->lrm_out, f->block));
    put_load(e, s, f);
    epu_put_head(e, s);
    epu_put_block(e, "part", (epu_block){f->block, 1, f->block, f->block});
    epu_put_start(e, s, false);
    epu_line(e, "%s_load(s, 0);", s->function);
    epu_put_first_loaded(e, s);
    epu_put_settle(e, s, "");
    epu_begin(e, "for (uint32_t tile = 0; tile < %du; tile++)", f->tiles);
    epu_line(e, "const uint32_t first = tile * %lldu, at = %s;", (long long)hw_pes(&e->p->hw),
             epu_buffer(e, s, "tile", (epu_pair){0, f->block, 2}));
    epu_put_lanes(e, "lanes", f->lanes, "first", hw_pes(&e->p->hw));
    epu_line(e, "weights_ahead(s, %du + tile * %du);", d->first_tick + 1, d->ticks);
    epu_line(e, "if (tile + 1u < %du)", f->tiles);
    epu_line(e, "    %s_load(s, tile + 1u);", s->function);
    epu_line(e, "store_now(s);");
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + tile + 1u);");
    epu_put_wait_two_back(e, "ARR", "STORED", "stored", "tile");
    epu_line(e, "ccl_lut(%du, %du + at, CCL_PAIR(%du + at, %d));", f->lrm_table, f->lrm_a,
             f->lrm_out, f->block);
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    epu_line(e,
             "store_later(s, &part, %s + first * %du, CCL_PAIR(%du + at, lanes), E_DONE, s->done + "
             "tile + 1u);",
             epu_address(e, epu_output(s)), f->block, f->lrm_out);
    epu_end(e);
    const char *n = arena_printf(e->a, "%du", f->tiles);
    epu_put_end(e, s, &(epu_posts){.loaded = n, .done = n, .stored = n});
    return CGC_OK;
}
