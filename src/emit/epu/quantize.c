/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize.c - qnn.quantize with a pixel per PE: float32 planes come from DDR through two stage
 * buffers in OCM (or lie in OCM already), each PE takes `slice` planes of its pixel and stores
 * them side by side as int8.
 */
#include "emit/epu/epu_emit.h"

static int64_t stage_bytes(const epu_planes *f)
{
    return epu_ceil((int64_t)f->stage * f->slice * 4, 64) * 64;
}

/* Variables of unit: image, slice, stage, and first, the stage's first pixel. */
void epu_put_plane_unit(epu_emit *e, const epu_planes *f)
{
    if (f->images > 1)
        epu_line(e, "const uint32_t image = unit / %du;", f->slices * f->stages);
    if (f->slices > 1)
        epu_line(e, "const uint32_t slice = unit / %du %% %du;", f->stages, f->slices);
    if (f->stages > 1) {
        epu_line(e, "const uint32_t first = unit %% %du * %du;", f->stages, f->stage);
        epu_put_lanes(e, "pixels", f->pixels, "first", f->stage);
    } else {
        epu_line(e, "const uint32_t pixels = %lldu;", (long long)f->pixels);
    }
    if (f->planes % f->slice)
        epu_line(e, "const uint32_t planes = slice == %du ? %du : %du;", f->slices - 1,
                 f->planes % f->slice, f->slice);
    else
        epu_line(e, "const uint32_t planes = %du;", f->slice);
}

/* Offset of the unit's first float32 from the start of the planes. */
const char *epu_plane_offset(epu_emit *e, const epu_planes *f)
{
    return arena_printf(e->a, "%s%s%s", epu_term(e, "image", f->images, 4 * f->pixels * f->planes),
                        epu_term(e, "slice", f->slices, 4 * f->pixels * f->slice),
                        epu_term(e, "first", f->stages, 4));
}

/* Offset of the unit's first int8. */
const char *epu_pixel_offset(epu_emit *e, const epu_planes *f)
{
    return arena_printf(e->a, "%s%s%s", epu_term(e, "image", f->images, f->pixels * f->planes),
                        epu_term(e, "slice", f->slices, f->slice),
                        epu_term(e, "first", f->stages, f->planes));
}

/* Where the unit's float32 planes lie in OCM. */
const char *epu_stage_address(epu_emit *e, const plan_step *s, const plan_buffer *direct)
{
    const epu_planes *f = &epu_of(s)->u.planes;
    if (f->staged)
        return arena_printf(e->a, "%s + unit %% 2u * %lldu", epu_address(e, epu_of(s)->scratch),
                            (long long)stage_bytes(f));
    return arena_printf(e->a, "%s%s", epu_address(e, direct), epu_plane_offset(e, f));
}

static void put_fetch(epu_emit *e, const plan_step *s, const epu_planes *f)
{
    epu_line(e, "/* A stage of float32 planes from DDR. */");
    epu_line(e, "static void %s_fetch(const state *s, uint32_t unit)", s->function);
    str_put(e->c, "{\n");
    e->depth = 1;
    epu_put_plane_unit(e, f);
    epu_line(e, "const ccl_dma d = {.dst = %s,", epu_stage_address(e, s, NULL));
    epu_line(e, "                   .src = %s%s,", epu_address(e, s->inputs[0]),
             epu_plane_offset(e, f));
    epu_line(e,
             "                   .n0 = 4u * pixels, .n1 = planes, .n2 = 1, .dst_s1 = %lld, .src_s1 "
             "= %lld};",
             4LL * f->stage, 4LL * f->pixels);
    epu_put_wait_two_back(e, "DMI", "UNSTAGED", "unstaged", "unit");
    epu_line(e, "ccl_dmi(&d);");
    epu_line(e, "ccl_post(CCL_DMI, E_STAGED);");
    e->depth = 0;
    epu_line(e, "}\n");
}

static void put_tile(epu_emit *e, const plan_step *s, const epu_planes *f)
{
    const int64_t pes = hw_pes(&e->p->hw);
    epu_begin(e, "for (uint32_t p = 0; p < pixels; p += %lldu, tile++)", (long long)pes);
    epu_line(e, "const uint32_t lanes = pixels - p < %lldu ? pixels - p : %lldu;", (long long)pes,
             (long long)pes);
    epu_line(e, "const uint32_t from = tile %% 2u * %du, to = %du + tile %% 2u * %du;",
             4 * f->slice, f->lrm_s8, f->slice);
    epu_put_wait_two_back(e, "ALD", "DONE", "done", "tile");
    epu_line(e, "ccl_ald(&in, stage + 4u * p, CCL_PAIR(from, lanes));");
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + tile + 1u);");
    epu_put_wait_two_back(e, "ARR", "STORED", "stored", "tile");
    epu_line(e, "ccl_quant(&scale, from, CCL_PAIR(to, planes));");
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    epu_line(e, "ccl_wait(CCL_AST, E_DONE, s->done + tile + 1u);");
    epu_line(e, "ccl_ast(&out, %s%s + p * %du, CCL_PAIR(to, lanes));",
             epu_address(e, epu_output(s)), epu_pixel_offset(e, f), f->planes);
    epu_line(e, "ccl_post(CCL_AST, E_STORED);");
    epu_end(e);
}

cgc_status epu_put_quantize(epu_emit *e, const plan_step *s)
{
    const epu_step *d = epu_of(s);
    const epu_planes *f = &d->u.planes;
    const ir_node *n = s->node;
    epu_put_comment(e, s,
                    arena_printf(e->a, "2 x %d float32 at 0, 2 x %d int8 at %d", f->slice, f->slice,
                                 f->lrm_s8));
    if (f->staged)
        put_fetch(e, s, f);
    epu_put_head(e, s);
    epu_line(e, "static const ccl_scale scale = {.scale = %s, .zp = %d, .lo = -128, .hi = 127};",
             emit_f32(e->a, ir_float(n, "scale")), (int)ir_int(n, "zero_point"));
    epu_line(e, "uint32_t tile = 0;");
    epu_put_start(e, s, false);
    if (f->staged) {
        if (e->step > 0)
            epu_line(e, "ccl_wait(CCL_DMI, E_LAYER, %du); /* nothing uses the stages any more */",
                     e->step);
        epu_line(e, "%s_fetch(s, 0);", s->function);
    }
    epu_begin(e, "for (uint32_t unit = 0; unit < %du; unit++)", d->units);
    epu_put_plane_unit(e, f);
    epu_line(e, "const uint32_t stage = %s;", epu_stage_address(e, s, s->inputs[0]));
    epu_line(e,
             "const ccl_block in = {.lane_stride = 4, .rows = (int32_t)planes, .row_bytes = 4, "
             ".row_stride = %lld};",
             4LL * (f->staged ? f->stage : f->pixels));
    epu_line(e,
             "const ccl_block out = {.lane_stride = %d, .rows = 1, .row_bytes = (int32_t)planes};",
             f->planes);
    epu_line(e, "weights_ahead(s, %du + unit * %du);", d->first_tick + 1, d->ticks);
    if (f->staged) {
        epu_line(e, "if (unit + 1u < %du)", d->units);
        epu_line(e, "    %s_fetch(s, unit + 1u);", s->function);
        epu_line(e, "ccl_wait(CCL_ALD, E_STAGED, s->staged + unit + 1u);");
    }
    put_tile(e, s, f);
    if (f->staged)
        epu_line(e, "ccl_post(CCL_ALD, E_UNSTAGED);");
    epu_end(e);
    if (f->staged) {
        epu_line(e, "s->staged += %du;", d->units);
        epu_line(e, "s->unstaged += %du;", d->units);
    }
    epu_put_end(e, s, &(epu_posts){.loaded = "tile", .done = "tile", .stored = "tile"});
    return CGC_OK;
}
