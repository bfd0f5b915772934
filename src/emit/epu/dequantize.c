/* SPDX-License-Identifier: Apache-2.0
 *
 * dequantize.c - qnn.dequantize with a pixel per PE: each PE takes `slice` int8 channels of its
 * pixel and stores them as float32 into planes, which go to DDR through two stage buffers in OCM
 * (or stay in OCM).
 */
#include "emit/epu/epu_emit.h"

static void put_tile(epu_emit *e, const plan_step *s, const epu_planes *f)
{
    const int64_t pes = hw_pes(&e->p->hw);
    epu_begin(e, "for (uint32_t p = 0; p < pixels; p += %lldu, tile++)", (long long)pes);
    epu_line(e, "const uint32_t lanes = pixels - p < %lldu ? pixels - p : %lldu;", (long long)pes,
             (long long)pes);
    epu_line(e, "const uint32_t from = %du + tile %% 2u * %du, to = tile %% 2u * %du;", f->lrm_s8,
             f->slice, 4 * f->slice);
    epu_put_wait_two_back(e, "ALD", "DONE", "done", "tile");
    epu_line(e, "ccl_ald(&in, %s%s + p * %du, CCL_PAIR(from, lanes));",
             epu_address(e, epu_input(s, 0)), epu_pixel_offset(e, f), f->planes);
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + tile + 1u);");
    epu_put_wait_two_back(e, "ARR", "STORED", "stored", "tile");
    epu_line(e, "ccl_dequant(&scale, from, CCL_PAIR(to, planes));");
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    epu_line(e, "ccl_wait(CCL_AST, E_DONE, s->done + tile + 1u);");
    epu_line(e, "ccl_ast(&out, stage + 4u * p, CCL_PAIR(to, lanes));");
    epu_line(e, "ccl_post(CCL_AST, E_STORED);");
    epu_end(e);
}

/* The stage to DDR. */
static void put_write(epu_emit *e, const plan_step *s, const epu_planes *f)
{
    epu_line(e, "const ccl_dma d = {.dst = %s%s, .src = stage,", epu_address(e, s->output),
             epu_plane_offset(e, f));
    epu_line(e,
             "                   .n0 = 4u * pixels, .n1 = planes, .n2 = 1, .dst_s1 = %lld, .src_s1 "
             "= %lld};",
             4LL * f->pixels, 4LL * f->stage);
    epu_line(e, "ccl_wait(CCL_DMO, E_STORED, s->stored + tile);");
    epu_line(e, "ccl_dmo(&d);");
    epu_line(e, "ccl_post(CCL_DMO, E_WRITTEN);");
}

cgc_status epu_put_dequantize(epu_emit *e, const plan_step *s)
{
    const epu_step *d = epu_of(s);
    const epu_planes *f = &d->u.planes;
    const ir_node *n = s->node;
    epu_put_comment(e, s,
                    arena_printf(e->a, "2 x %d float32 at 0, 2 x %d int8 at %d", f->slice, f->slice,
                                 f->lrm_s8));
    epu_put_head(e, s);
    epu_line(e, "static const ccl_scale scale = {.scale = %s, .zp = %d, .lo = -128, .hi = 127};",
             emit_f32(e->a, ir_float(n, "scale")), (int)ir_int(n, "zero_point"));
    epu_line(e, "uint32_t tile = 0;");
    epu_put_start(e, s, false);
    epu_begin(e, "for (uint32_t unit = 0; unit < %du; unit++)", d->units);
    epu_put_plane_unit(e, f);
    epu_line(e, "const uint32_t stage = %s;", epu_stage_address(e, s, s->output));
    epu_line(e,
             "const ccl_block in = {.lane_stride = %d, .rows = 1, .row_bytes = (int32_t)planes};",
             f->planes);
    epu_line(e,
             "const ccl_block out = {.lane_stride = 4, .rows = (int32_t)planes, .row_bytes = 4, "
             ".row_stride = %lld};",
             4LL * (f->staged ? f->stage : f->pixels));
    epu_line(e, "weights_ahead(s, %du + unit * %du);", d->first_tick + 1, d->ticks);
    if (f->staged)
        epu_put_wait_two_back(e, "AST", "WRITTEN", "written", "unit");
    put_tile(e, s, f);
    if (f->staged)
        put_write(e, s, f);
    epu_end(e);
    if (f->staged) {
        epu_line(e, "s->written += %du;", d->units);
        epu_line(e, "ccl_wait(CCL_AST, E_WRITTEN, s->written);");
    }
    epu_put_end(e, s, &(epu_posts){.loaded = "tile", .done = "tile", .stored = "tile"});
    return CGC_OK;
}
