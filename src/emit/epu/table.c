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
    const epu_flat *f = &epu_of(s)->u.flat;
    epu_put_comment(
        e, s,
        arena_printf(e->a,
                     "table at %d, elements at %d, results at %d, two buffers of %d bytes each",
                     f->lrm_table, f->lrm_a, f->lrm_out, f->block));
    put_load(e, s, f);
    epu_put_head(e, s);
    epu_put_flat_tile_begin(e, s, f);
    epu_line(e, "ccl_lut(%du, %du + at, CCL_PAIR(%du + at, %d));", f->lrm_table, f->lrm_a,
             f->lrm_out, f->block);
    epu_put_flat_tile_end(e, s, f);
    return CGC_OK;
}
