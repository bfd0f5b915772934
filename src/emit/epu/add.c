/* SPDX-License-Identifier: Apache-2.0
 *
 * add.c - qnn.add with a run of elements per PE, in memory order.
 */
#include "emit/epu/epu_emit.h"

/* Where operand k begins: an activation, or a constant that is a piece of weights. */
static const char *operand(epu_emit *e, const plan_step *s, int32_t k)
{
    if (s->inputs[k])
        return epu_address(e, epu_input(s, k));
    return arena_printf(e->a, "pieces[%d].ocm", epu_of(s)->first_piece);
}

static void put_load(epu_emit *e, const plan_step *s, const epu_flat *f)
{
    const epu_step *d = epu_of(s);
    epu_put_load_head(e, s, "", "tile");
    epu_put_block(e, "part", (epu_block){f->block, 1, f->block, f->block});
    epu_line(e, "const uint32_t first = tile * %lldu;", (long long)hw_pes(&e->p->hw));
    epu_put_lanes(e, "lanes", f->lanes, "first", hw_pes(&e->p->hw));
    epu_put_wait_two_back(e, "ALD", "DONE", "done", "tile");
    if (d->n_pieces)
        epu_line(e, "ccl_wait(CCL_ALD, E_WEIGHTS, %du); /* one operand is a constant */",
                 d->first_piece + 1);
    epu_line(e, "ccl_ald(&part, %s + first * %du, CCL_PAIR(%s, lanes));", operand(e, s, 0),
             f->block, epu_buffer(e, s, "tile", (epu_pair){f->lrm_a, f->block, 2}));
    epu_line(e, "ccl_ald(&part, %s + first * %du, CCL_PAIR(%s, lanes));", operand(e, s, 1),
             f->block, epu_buffer(e, s, "tile", (epu_pair){f->lrm_b, f->block, 2}));
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    if (d->n_pieces) {
        epu_line(e, "if (tile == %du)", f->tiles - 1);
        epu_line(e, "    ccl_post(CCL_ALD, E_FREE_ALD);");
    }
    e->depth = 0;
    epu_line(e, "}\n");
}

static void put_scales(epu_emit *e, const ir_node *n, float factor)
{
    if (factor != 0.0f)
        epu_line(
            e,
            "/* y_scale is a factor: for all 65536 pairs the same bytes as the division by %s. */",
            emit_f32(e->a, ir_float(n, "y_scale")));
    epu_line(e, "static const ccl_binary sum = {.a_scale = %s, .b_scale = %s, .y_scale = %s,",
             emit_f32(e->a, ir_float(n, "a_scale")), emit_f32(e->a, ir_float(n, "b_scale")),
             emit_f32(e->a, factor != 0.0f ? factor : ir_float(n, "y_scale")));
    epu_line(
        e,
        "                               .a_zp = %d, .b_zp = %d, .y_zp = %d, .lo = %d, .hi = %d};",
        (int)ir_int(n, "a_zero_point"), (int)ir_int(n, "b_zero_point"),
        (int)ir_int(n, "y_zero_point"), (int)ir_int(n, "clamp_min"), (int)ir_int(n, "clamp_max"));
}

void epu_put_flat_tile_begin(epu_emit *e, const plan_step *s, const epu_flat *f)
{
    const epu_step *d = epu_of(s);
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
}

void epu_put_flat_tile_end(epu_emit *e, const plan_step *s, const epu_flat *f)
{
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    epu_line(e,
             "store_later(s, &part, %s + first * %du, CCL_PAIR(%du + at, lanes), E_DONE, s->done + "
             "tile + 1u);",
             epu_address(e, epu_output(s)), f->block, f->lrm_out);
    epu_end(e);
    const char *n = arena_printf(e->a, "%du", f->tiles);
    epu_put_end(e, s, &(epu_posts){.loaded = n, .done = n, .stored = n});
}

cgc_status epu_put_add(epu_emit *e, const plan_step *s)
{
    const epu_flat *f = &epu_of(s)->u.flat;
    epu_put_comment(
        e, s,
        arena_printf(e->a, "operands at %d and %d, results at %d, two buffers of %d bytes each",
                     f->lrm_a, f->lrm_b, f->lrm_out, f->block));
    put_load(e, s, f);
    epu_put_head(e, s);
    put_scales(e, s->node, f->factor);
    epu_put_flat_tile_begin(e, s, f);
    epu_line(e, "ccl_add%s(&sum, CCL_PAIR(%du + at, %du + at), CCL_PAIR(%du + at, %d));",
             f->factor != 0.0f ? "_scaled" : "", f->lrm_a, f->lrm_b, f->lrm_out, f->block);
    epu_put_flat_tile_end(e, s, f);
    return CGC_OK;
}
