/* SPDX-License-Identifier: Apache-2.0
 *
 * conv2d_pixel.c - convolution with one output pixel per PE: windows in local memory, loaded one
 * unit ahead; weights and constants broadcast from OCM. Pixels left after the last full tile may
 * be computed with one output channel per PE instead (epu_conv.tail): then weights are loaded as
 * one more unit and the windows are broadcast.
 */
#include "emit/epu/epu_emit.h"

/* Buffer of the weights of the tail, which is the unit after the last tile. */
static int32_t tail_at(const plan_step *s, const epu_conv *c)
{
    return c->lrm_in + (c->tiles + epu_of(s)->first_buffer) % 2 * c->part_bytes;
}

static void put_tail_load(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const epu_step *d = epu_of(s);
    epu_begin(e, "if (tile == %du)", c->tiles);
    epu_line(e,
             "/* The last %d pixels take one output channel per PE: its weights, bias and "
             "multiplier. */",
             c->tail);
    epu_put_block(e, "constant", (epu_block){EPU_CONST_BYTES, 1, EPU_CONST_BYTES, EPU_CONST_BYTES});
    epu_put_block(e, "row", (epu_block){c->row_bytes, 1, c->row_bytes, c->row_bytes});
    if (c->tiles > 1)
        epu_line(e, "ccl_wait(CCL_ALD, E_DONE, s->done + %du);", c->tiles - 1);
    epu_line(e, "ccl_wait(CCL_ALD, E_WEIGHTS, %du);", d->first_piece + 1);
    epu_line(e, "ccl_ald(&constant, pieces[%d].ocm, CCL_PAIR(%d, %d));", d->first_piece,
             c->lrm_const, c->block);
    epu_line(e, "ccl_ald(&row, pieces[%d].ocm + %du, CCL_PAIR(%d, %d));", d->first_piece,
             c->block * EPU_CONST_BYTES, tail_at(s, c), c->block);
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    epu_line(e, "return;");
    epu_end(e);
}

/* One window serves all units, as a constant of the file; else units change a variable. */
static bool is_plain(const epu_conv *c)
{
    return c->n_parts == 1 && c->sets == 1 && c->v.images == 1 && !c->packed;
}

static epu_lane_window window_of(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const int32_t fill = (int32_t)ir_int(s->node, "x_zero_point");
    const char *name = is_plain(c) ? arena_printf(e->a, "%s_in", s->function) : NULL;
    return (epu_lane_window){1, c->v.cin, fill, name};
}

/* Address of the window in the layer's function. */
static const char *window_pointer(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    return is_plain(c) ? arena_printf(e->a, "&%s_in", s->function) : "&in";
}

static const char *load_call(epu_emit *e, const plan_step *s, const epu_conv *c, const char *unit)
{
    return arena_printf(e->a, "%s_load(s, %s%s);", s->function, is_plain(c) ? "" : "&in, ", unit);
}

/* Windows of one unit into its buffer. */
static void put_load(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const epu_view *v = &c->v;
    const int64_t per_set = (int64_t)v->images * c->tiles * c->n_parts;
    const bool single = c->n_parts == 1 && c->sets == 1 && v->images == 1;
    const char *unit = single ? "tile" : "unit";
    if (is_plain(c))
        epu_put_window(e, s, v, window_of(e, s, c));
    epu_put_load_head(e, s, is_plain(c) ? "" : "ccl_window *in, ", unit);
    epu_put_part_table(e, c);
    if (c->tail)
        put_tail_load(e, s, c);
    if (c->n_parts > 1)
        epu_line(e, "const uint32_t k = unit %% %du;", c->n_parts);
    if (!single && c->tiles > 1)
        epu_line(e, "const uint32_t tile = unit / %du %% %du;", c->n_parts, c->tiles);
    if (v->images > 1)
        epu_line(e, "const uint32_t image = unit / %du %% %du;", c->n_parts * c->tiles, v->images);
    if (v->groups > 1)
        epu_line(e, "const uint32_t group = unit / %lldu;", (long long)per_set * c->blocks);
    epu_line(e, "const uint32_t first = %s;",
             c->tiles + (c->tail ? 1 : 0) > 1 ? arena_printf(e->a, "tile * %du", c->tile) : "0");
    epu_put_lanes(e, "lanes", (int64_t)v->pixels - c->tail, "first", c->tile);
    epu_put_part_window(e, s, c, "in->");
    if (c->buffers == 2)
        epu_put_wait_two_back(e, "ALD", "DONE", "done", unit);
    else
        epu_line(e, "ccl_wait(CCL_ALD, E_DONE, s->done + %s);", unit);
    const char *to = epu_buffer(e, s, unit, (epu_pair){c->lrm_in, c->part_bytes, c->buffers});
    if (c->packed) {
        epu_begin(e, "for (uint32_t row = 0; row < %du; row++) /* no gaps between rows */", v->kh);
        epu_line(e, "in->ky0 = (int32_t)row;");
        epu_line(e, "ccl_ald_window(in, first, CCL_PAIR(%s + row * %du, lanes));", to,
                 v->kw * v->cin);
        epu_end(e);
    } else {
        epu_line(e, "ccl_ald_window(%s, first, CCL_PAIR(%s, lanes));",
                 is_plain(c) ? window_pointer(e, s, c) : "in", to);
    }
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    e->depth = 0;
    epu_line(e, "}\n");
}

/* The many loads of packed rows are asked for when the array has work of this unit in its queue. */
static bool loads_late(const epu_conv *c)
{
    return c->packed && c->buffers == 2;
}

/* The last unit is a tile: it asks for the first load of the next layer. */
static bool hands_in_tiles(const epu_conv *c)
{
    return c->buffers == 2 && c->tail == 0;
}

/* Loads of the next layer before each of so many runs. */
static int32_t calls_per_run(const epu_emit *e, int64_t runs)
{
    const plan_step *next = epu_handed_next(e);
    return next ? (int32_t)epu_ceil(epu_load_calls(next), runs) : 0;
}

/* Multiply, and requantize after the last part, `run` output channels at a time. */
static void put_channels(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const int32_t m = e->p->hw.macs_per_pe;
    const bool parts = c->n_parts > 1, sums = parts && c->block > c->run;
    const bool ragged = c->block % c->run != 0 || c->v.cout % c->block != 0;
    const char *no = ragged ? "no" : arena_printf(e->a, "%d", c->run);
    const char *bytes = parts ? "rows[k].bytes" : arena_printf(e->a, "%du", c->row_bytes);
    epu_begin(e, "for (uint32_t o = 0; o < channels; o += %du)", c->run);
    epu_line(e, "weights_ahead(s, ++at);");
    if (hands_in_tiles(c))
        epu_put_handover(e, s, "if", calls_per_run(e, epu_ceil(c->block, c->run)));
    if (ragged)
        epu_line(e, "const uint32_t no = channels - o < %du ? channels - o : %du;", c->run, c->run);
    if (sums) {
        epu_line(e, "if (k > 0)");
        epu_line(e, "    ccl_acc_load(%du + 4u * o, %s);", c->lrm_sums, no);
    }
    const char *weights =
        parts ? "w + rows[k].at" : arena_printf(e->a, "w + %du", c->block * EPU_CONST_BYTES);
    const char *steps = parts ? arena_printf(e->a, "rows[k].bytes / %du", m)
                              : arena_printf(e->a, "%d", c->row_bytes / m);
    const char *operands =
        arena_printf(e->a, "(%s + o * %s, CCL_PAIR(%s, %s), from);", weights, bytes, steps, no);
    if (parts) {
        epu_line(e, "if (k == 0)");
        epu_line(e, "    ccl_mac_weights_first%s", operands);
        epu_line(e, "else");
        epu_line(e, "    ccl_mac_weights%s", operands);
        epu_put_settle(e, s, "unit == 0 && o == 0");
        epu_line(e, "if (k == %du)", c->n_parts - 1);
        epu_line(e, "    ccl_rqs(w + o * 8u, CCL_PAIR(to + o, %s), %s);", no,
                 epu_clamp(e, s->node));
        if (sums) {
            epu_line(e, "else");
            epu_line(e, "    ccl_acc_store(%du + 4u * o, %s);", c->lrm_sums, no);
        }
    } else {
        epu_line(e, "ccl_mac_weights_first%s", operands);
        epu_put_settle(e, s, "unit == 0 && o == 0");
        epu_line(e, "ccl_rqs(w + o * 8u, CCL_PAIR(to + o, %s), %s);", no, epu_clamp(e, s->node));
    }
    if (loads_late(c)) {
        epu_begin(e, "if (o == 0)");
        epu_line(e, "if (unit + 1u < %du)", epu_of(s)->units);
        epu_line(e, "    %s", load_call(e, s, c, "unit + 1u"));
        epu_line(e, "store_now(s);");
        epu_end(e);
    }
    epu_end(e);
}

static void put_unit(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const epu_step *d = epu_of(s);
    const char *more = arena_printf(e->a, "if (unit + 1u < %du)", d->units);
    epu_line(e, "uint32_t at = %du + unit * %du;", d->first_tick + 1, d->ticks);
    epu_line(e, "weights_ahead(s, at);");
    if (c->buffers == 2 && !loads_late(c)) {
        epu_line(e, "%s", more);
        epu_line(e, "    %s", load_call(e, s, c, "unit + 1u"));
    }
    if (hands_in_tiles(c))
        epu_put_handover_begin(e, s, d->units == 1);
    if (!loads_late(c))
        epu_line(e, "store_now(s);");
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + unit + 1u);");
    if (c->n_parts > 1)
        epu_begin(e, "if (k == %du)", c->n_parts - 1);
    epu_line(e, "if (result > 1u) /* results before the last have left their buffer */");
    epu_line(e, "    ccl_wait(CCL_ARR, E_STORED, s->stored + result - 1u);");
    if (c->n_parts > 1)
        epu_end(e);
    epu_line(e, "const uint32_t from = %s;",
             epu_buffer(e, s, "unit", (epu_pair){c->lrm_in, c->part_bytes, c->buffers}));
    put_channels(e, s, c);
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    if (hands_in_tiles(c))
        epu_put_handover(e, s, "while", 1);
    epu_line(e, "unit++;");
    if (c->buffers == 1) {
        epu_line(e, "if (unit < %du)", d->units);
        epu_line(e, "    %s", load_call(e, s, c, "unit"));
    }
}

static void put_tail(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const epu_step *d = epu_of(s);
    const int32_t run = c->tail_run;
    const int32_t first = c->tiles * c->tile;
    epu_line(e, "/* The last %d pixels: one output channel per PE, windows broadcast. */", c->tail);
    epu_line(e, "weights_ahead(s, %du);", d->first_tick + 1 + c->tiles * d->ticks);
    epu_put_handover_begin(e, s, true);
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + %du);", c->tiles + 1);
    epu_begin(e, "for (uint32_t p = %du; p < %du; p += %du)", first, c->v.pixels, run);
    epu_line(e, "const uint32_t no = %du - p < %du ? %du - p : %du;", c->v.pixels, run, c->v.pixels,
             run);
    epu_line(e, "const uint32_t to = %du + result %% 2u * %du;", c->lrm_out, c->out_bytes);
    epu_line(e,
             "const ccl_block column = {.lane_stride = 1, .rows = (int32_t)no, .row_bytes = 1, "
             ".row_stride = %lld};",
             (long long)c->v.out_pixel);
    epu_put_handover(e, s, "if", calls_per_run(e, epu_ceil(c->tail, run)) > 2 ? 2 : 1);
    epu_line(e, "store_now(s);");
    epu_line(e, "ccl_mac_window_first(%s, p, CCL_PAIR(%d, no));", window_pointer(e, s, c),
             tail_at(s, c));
    epu_line(e, "if (result > 1u)");
    epu_line(e, "    ccl_wait(CCL_ARR, E_STORED, s->stored + result - 1u);");
    epu_line(e, "ccl_rqs_lane(%du, CCL_PAIR(to, no), %s);", c->lrm_const, epu_clamp(e, s->node));
    epu_line(e, "ccl_post(CCL_ARR, E_READY);");
    epu_line(e, "store_later(s, &column, %s + p * %lldu, CCL_PAIR(to, %d), E_READY, ++s->ready);",
             epu_address(e, epu_output(s)), (long long)c->v.out_pixel, c->block);
    epu_line(e, "result++;");
    epu_end(e);
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    epu_put_handover(e, s, "while", 1);
    epu_line(e, "unit++;");
}

/* The result of a tile: `channels` bytes of each of its pixels. */
static void put_store(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const epu_view *v = &c->v;
    epu_line(e, "store_later(s, &out, %s%s%s%s, CCL_PAIR(to, lanes), E_DONE, s->done + unit);",
             epu_address(e, epu_output(s)), epu_term(e, "image", v->images, v->out_image),
             epu_term(e, "first", 2, v->out_pixel), epu_set_channel(e, c));
    epu_line(e, "result++;");
}

static const char *lrm_text(epu_emit *e, const epu_conv *c)
{
    str t;
    str_init(&t, e->a);
    str_printf(&t, "%d x %d bytes of windows at %d", c->buffers, c->part_bytes, c->lrm_in);
    if (c->n_parts > 1 && c->block > c->run)
        str_printf(&t, ", sums at %d", c->lrm_sums);
    str_printf(&t, ", 2 x %d bytes of results at %d", c->out_bytes, c->lrm_out);
    return t.data;
}

/* Where the weights of a set lie, and the wait for them. */
static void put_set(epu_emit *e, const epu_conv *c, const epu_step *d)
{
    const int32_t n = c->sets_per_piece;
    const bool many = c->sets > n;
    if (many)
        epu_line(e, "const uint32_t piece = %du + set / %du;", d->first_piece, n);
    else
        epu_line(e, "const uint32_t piece = %du;", d->first_piece);
    epu_line(e, "const uint32_t w = pieces[piece].ocm%s;",
             n > 1 ? arena_printf(e->a, " + set %% %du * %lldu", n, (long long)c->set_bytes) : "");
    const bool often = n > 1 && c->sets > 1;
    if (often)
        epu_begin(e, "if (set %% %du == 0)", n);
    epu_line(e, "weights_ahead(s, %du + unit * %du);", d->first_tick + 1, d->ticks);
    epu_line(e, "ccl_wait(CCL_ARR, E_WEIGHTS, piece + 1u);");
    if (often)
        epu_end(e);
    epu_put_channels_of(e, c, "channels");
}

static void put_set_end(epu_emit *e, const epu_conv *c)
{
    const int32_t n = c->sets_per_piece;
    if (n > 1 && c->sets > n)
        epu_line(e, "if (set %% %du == %du || set == %du)", n, n - 1, c->sets - 1);
    else if (n > 1 && c->sets > 1)
        epu_line(e, "if (set == %du)", c->sets - 1);
    epu_line(e, "%sccl_post(CCL_ARR, E_FREE_ARR);", n > 1 && c->sets > 1 ? "    " : "");
}

cgc_status epu_put_conv2d_pixel(epu_emit *e, const plan_step *s)
{
    const epu_step *d = epu_of(s);
    const epu_conv *c = &d->u.conv;
    const epu_view *v = &c->v;
    epu_put_comment(e, s, lrm_text(e, c));
    put_load(e, s, c);
    epu_put_head(e, s);
    if (!is_plain(c))
        epu_put_window(e, s, v, window_of(e, s, c));
    if (c->packed)
        epu_line(e, "in.kh = 1; /* a row at a time */");
    epu_put_part_weights(e, c);
    epu_line(e, "uint32_t unit = 0, result = 0;");
    epu_put_start(e, s, false);
    if (!d->handed)
        epu_line(e, "%s", load_call(e, s, c, "0"));
    epu_put_first_loaded(e, s);
    epu_loop(e, "set", c->sets);
    put_set(e, c, d);
    epu_line(
        e,
        "const ccl_block out = {.lane_stride = %lld, .rows = 1, .row_bytes = (int32_t)channels};",
        (long long)v->out_pixel);
    epu_loop(e, "image", v->images);
    epu_loop(e, "tile", c->tiles);
    epu_line(e, "const uint32_t first = %s;",
             c->tiles > 1 ? arena_printf(e->a, "tile * %du", c->tile) : "0");
    epu_put_lanes(e, "lanes", (int64_t)v->pixels - c->tail, "first", c->tile);
    epu_line(e, "const uint32_t to = %du + result %% 2u * %du;", c->lrm_out, c->out_bytes);
    epu_loop(e, "k", c->n_parts);
    put_unit(e, s, c);
    epu_loop_end(e, c->n_parts);
    put_store(e, s, c);
    epu_loop_end(e, c->tiles);
    epu_loop_end(e, v->images);
    if (c->tail)
        put_tail(e, s, c);
    put_set_end(e, c);
    epu_loop_end(e, c->sets);
    const char *units = arena_printf(e->a, "%du", d->units);
    epu_put_end(e, s, &(epu_posts){.loaded = units, .done = "unit", .stored = "result"});
    return CGC_OK;
}
