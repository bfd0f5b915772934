/* SPDX-License-Identifier: Apache-2.0
 *
 * conv2d_channel.c - convolution and dense with one output channel per PE: weights, bias and
 * multiplier of the lane's channel in local memory, loaded one unit ahead; windows broadcast
 * straight from the NHWC tensor in OCM. A sum that is too long for local memory is cut into parts,
 * and the sums of a tile of pixels wait in local memory between them.
 */
#include "emit/epu/epu_emit.h"

/* Units of a set. */
static int32_t set_units(const epu_conv *c)
{
    return c->n_parts > 1 ? c->v.images * c->tiles * c->n_parts : 1;
}

static void put_load_piece(epu_emit *e, const epu_conv *c, int32_t first_piece)
{
    const int32_t n = c->sets_per_piece, units = set_units(c);
    if (c->sets > n)
        epu_line(e, "const uint32_t piece = %du + unit / %du;", first_piece, n * units);
    else
        epu_line(e, "const uint32_t piece = %du;", first_piece);
    epu_line(e, "const uint32_t w = pieces[piece].ocm%s;",
             n > 1 ? arena_printf(e->a, " + set %% %du * %lldu", n, (long long)c->set_bytes) : "");
}

static void put_load_free(epu_emit *e, const epu_conv *c, int32_t units)
{
    const int32_t per_piece = c->sets_per_piece * set_units(c);
    if (per_piece > 1 && per_piece < units)
        epu_line(e, "if (unit %% %du == %du || unit == %du)", per_piece, per_piece - 1, units - 1);
    else if (per_piece > 1)
        epu_line(e, "if (unit == %du)", units - 1);
    epu_line(e, "%sccl_post(CCL_ALD, E_FREE_ALD);", per_piece > 1 ? "    " : "");
}

/* LRM offset of the set's constants. */
static const char *constants_at(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const int32_t first = epu_of(s)->first_constant;
    if (c->sets == 1)
        return arena_printf(e->a, "%du", c->lrm_const + first * EPU_CONST_BYTES);
    return arena_printf(e->a, "%du + %s %% 2u * %du", c->lrm_const, first ? "(set + 1u)" : "set",
                        EPU_CONST_BYTES);
}

/* Columns of a part, and of all parts. */
static int32_t columns_of(const epu_conv *c, int32_t part)
{
    return (int32_t)epu_ceil(c->parts[part].bytes, c->column_bytes);
}

static int32_t set_columns(const epu_conv *c)
{
    int32_t n = 0;
    for (int32_t i = 0; i < c->n_parts; i++)
        n += columns_of(c, i);
    return n;
}

/* Sets that lie whole in a piece: one load of the unit's rows. */
static void put_load_rows(epu_emit *e, const plan_step *s, const epu_conv *c, const char *to)
{
    const epu_step *d = epu_of(s);
    const int32_t units = set_units(c);
    put_load_piece(e, c, d->first_piece);
    epu_line(e, "ccl_wait(CCL_ALD, E_WEIGHTS, piece + 1u);");
    if (units > 1)
        epu_line(e, "if (unit %% %du == 0)", units);
    epu_line(e, "%sccl_ald(&constant, w, CCL_PAIR(%s, lanes));", units > 1 ? "    " : "",
             constants_at(e, s, c));
    if (c->n_parts > 1)
        epu_line(
            e,
            "const ccl_block row = {.lane_stride = (int32_t)rows[k].bytes, .rows = 1, .row_bytes = "
            "(int32_t)rows[k].bytes};");
    else
        epu_put_block(e, "row", (epu_block){c->row_bytes, 1, c->row_bytes, c->row_bytes});
    epu_line(e, "ccl_ald(&row, w + %s, CCL_PAIR(%s, lanes));",
             c->n_parts > 1 ? "rows[k].at" : arena_printf(e->a, "%du", c->block * EPU_CONST_BYTES),
             to);
    epu_line(e, "ccl_post(CCL_ALD, E_LOADED);");
    put_load_free(e, c, d->units);
}

/* Table of each part's row length and first column, for put_load_columns. */
static void put_column_table(epu_emit *e, const epu_conv *c)
{
    int32_t n = 0;
    epu_line(e, "static const struct { uint32_t bytes, piece; } rows[%d] = {", c->n_parts);
    for (int32_t i = 0; i < c->n_parts; i++) {
        epu_line(e, "    {%d, %d},", c->parts[i].bytes, n);
        n += columns_of(c, i);
    }
    epu_line(e, "};");
}

/* Each unit has its own pieces: one column of its rows. */
static void put_load_column(epu_emit *e, const plan_step *s, const epu_conv *c, const char *to)
{
    const epu_step *d = epu_of(s);
    const bool parts = c->n_parts > 1;
    const char *bytes = parts ? "rows[k].bytes" : arena_printf(e->a, "%du", c->row_bytes);
    epu_line(e, "const uint32_t piece = %du%s%s + column;", d->first_piece,
             epu_term(e, "set", c->sets, set_columns(c)), parts ? " + rows[k].piece" : "");
    epu_line(e,
             "const uint32_t at = column * %du, left = %s - at, width = left < %du ? left : %du;",
             c->column_bytes, bytes, c->column_bytes, c->column_bytes);
    epu_line(e, "const ccl_block part = {.lane_stride = (int32_t)width, .rows = 1, .row_bytes = "
                "(int32_t)width};");
    epu_line(e, "uint32_t w = pieces[piece].ocm;");
    epu_line(e, "ccl_wait(CCL_ALD, E_WEIGHTS, piece + 1u);");
    epu_begin(e, parts ? "if (k == 0 && column == 0)" : "if (column == 0)");
    epu_line(e, "ccl_ald(&constant, w, CCL_PAIR(%s, lanes));", constants_at(e, s, c));
    epu_line(e, "w += %du;", c->block * EPU_CONST_BYTES);
    epu_end(e);
    epu_line(e, "ccl_ald(&part, w, CCL_PAIR(%s + at, lanes));", to);
    epu_line(e, "ccl_post(CCL_ALD, E_FREE_ALD);");
    epu_line(e, "if (left <= %du)", c->column_bytes);
    epu_line(e, "    ccl_post(CCL_ALD, E_LOADED);");
}

/* Weights of one unit into its buffer; constants with the first unit of a set. */
static void put_load(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const epu_step *d = epu_of(s);
    const int32_t units = set_units(c);
    epu_put_load_head(e, s, "", c->sets_per_piece ? "unit" : "unit, uint32_t column");
    if (c->sets_per_piece)
        epu_put_part_weights(e, c);
    else if (c->n_parts > 1)
        put_column_table(e, c);
    epu_put_block(e, "constant", (epu_block){EPU_CONST_BYTES, 1, EPU_CONST_BYTES, EPU_CONST_BYTES});
    if (c->n_parts > 1)
        epu_line(e, "const uint32_t k = unit %% %du;", c->n_parts);
    if (c->sets > 1)
        epu_line(e, "const uint32_t set = unit%s;",
                 units > 1 ? arena_printf(e->a, " / %du", units) : "");
    epu_put_channels_of(e, c, "lanes");
    if (!c->sets_per_piece) {
        epu_line(e, "if (unit == %du || column * %du >= %s)", d->units, c->column_bytes,
                 c->n_parts > 1 ? "rows[k].bytes" : arena_printf(e->a, "%du", c->row_bytes));
        epu_line(e, "    return;");
    }
    const char *to = epu_buffer(e, s, "unit", (epu_pair){c->lrm_in, c->part_bytes, c->buffers});
    const char *first = c->sets_per_piece ? "" : "column == 0";
    if (c->buffers == 2)
        epu_line(e, "if (unit > 1u%s%s)", first[0] ? " && " : "", first);
    else if (first[0])
        epu_line(e, "if (%s)", first);
    epu_line(e, "%sccl_wait(CCL_ALD, E_DONE, s->done + unit%s);",
             c->buffers == 2 || first[0] ? "    " : "", c->buffers == 2 ? " - 1u" : "");
    if (c->sets_per_piece)
        put_load_rows(e, s, c, to);
    else
        put_load_column(e, s, c, to);
    e->depth = 0;
    epu_line(e, "}\n");
}

/* Multiply `no` pixels from p on; sums of the tile that begins at `first` wait in LRM between the parts. */
static void put_multiply(epu_emit *e, const plan_step *s, const epu_conv *c, const char *no)
{
    const char *from = epu_buffer(e, s, "unit", (epu_pair){c->lrm_in, c->part_bytes, c->buffers});
    if (c->n_parts == 1) {
        epu_line(e, "ccl_mac_window_first(&in, p, CCL_PAIR(%s, %s));", from, no);
        epu_put_settle(e, s, "result == 0");
        return;
    }
    epu_begin(e, "if (k == 0)");
    epu_line(e, "ccl_mac_window_first(&in, p, CCL_PAIR(%s, %s));", from, no);
    e->depth--;
    epu_begin(e, "} else");
    epu_line(e, "ccl_acc_load(%du + 4u * (p - first), %s);", c->lrm_sums, no);
    epu_line(e, "ccl_mac_window(&in, p, CCL_PAIR(%s, %s));", from, no);
    epu_end(e);
    epu_put_settle(e, s, "unit == 0 && p == first");
    epu_begin(e, "if (k < %du)", c->n_parts - 1);
    epu_line(e, "ccl_acc_store(%du + 4u * (p - first), %s);", c->lrm_sums, no);
    epu_line(e, "continue;");
    epu_end(e);
}

static void put_result(epu_emit *e, const plan_step *s, const epu_conv *c, const char *no)
{
    const epu_view *v = &c->v;
    const char *constant = constants_at(e, s, c);
    epu_line(e, "const uint32_t to = %du + result %% 2u * %du;", c->lrm_out, c->out_bytes);
    epu_line(e,
             "const ccl_block out = {.lane_stride = 1, .rows = (int32_t)%s, .row_bytes = 1, "
             ".row_stride = %lld};",
             no, (long long)v->out_pixel);
    epu_line(e, "if (result > 1u) /* the result before the last has left its buffer */");
    epu_line(e, "    ccl_wait(CCL_ARR, E_STORED, s->stored + result - 1u);");
    epu_line(e, "ccl_rqs_lane(%s, CCL_PAIR(to, %s), %s);", constant, no, epu_clamp(e, s->node));
    epu_line(e, "ccl_post(CCL_ARR, E_READY);");
    epu_line(e,
             "store_later(s, &out, %s%s%s%s, CCL_PAIR(to, lanes), E_READY, s->ready + ++result);",
             epu_address(e, epu_output(s)), epu_term(e, "image", v->images, v->out_image),
             epu_term(e, "p", 2, v->out_pixel), epu_set_channel(e, c));
}

/* How many of the calls of a unit's load come before each run: spread, so that the queue of loads
 * is never so full that the scalar core cannot feed the array. 0: the load is one call. */
static int32_t loads_per_run(const epu_conv *c, int32_t calls)
{
    if (calls == 1)
        return 0;
    const int64_t runs = epu_ceil(c->n_parts > 1 ? c->tile : (int64_t)c->v.pixels, c->run);
    return (int32_t)epu_ceil(calls, runs * (c->n_parts > 1 ? 1 : c->v.images));
}

/* The pixels of a tile, `run` at a time. */
static void put_pixels(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const bool tiled = c->n_parts > 1 && c->tiles > 1;
    const int32_t pixels = c->v.pixels;
    const bool exact =
        (tiled ? c->tile : pixels) % c->run == 0 && (!tiled || pixels % c->tile == 0);
    const char *no = exact ? arena_printf(e->a, "%du", c->run) : "no";
    const char *end = arena_printf(e->a, "%du", pixels);
    if (tiled) {
        epu_put_lanes(e, "pixels", pixels, "first", c->tile);
        end = "first + pixels";
    }
    epu_begin(e, "for (uint32_t p = %s; p < %s; p += %du)", c->n_parts > 1 ? "first" : "0", end,
              c->run);
    epu_line(e, "weights_ahead(s, ++at);");
    for (int32_t i = 0; i < loads_per_run(c, epu_load_calls(s)) && c->buffers == 2; i++)
        epu_line(e, "%s_load(s, unit + 1u, column++);", s->function);
    const plan_step *next = epu_handed_next(e);
    if (next)
        epu_put_handover(e, s, "if", loads_per_run(c, epu_load_calls(next)));
    epu_line(e, "store_now(s);");
    if (!exact)
        epu_line(e, "const uint32_t no = %s - p < %du ? %s - p : %du;", end, c->run, end, c->run);
    put_multiply(e, s, c, no);
    put_result(e, s, c, no);
    epu_end(e);
}

static void put_unit_begin(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    const epu_step *d = epu_of(s);
    epu_line(e, "uint32_t at = %du + unit * %du;", d->first_tick + 1, d->ticks);
    epu_line(e, "weights_ahead(s, at);");
    if (c->buffers == 2 && epu_load_calls(s) == 1) {
        epu_line(e, "if (unit + 1u < %du)", d->units);
        epu_line(e, "    %s_load(s, unit + 1u%s);", s->function, c->sets_per_piece ? "" : ", 0");
    } else if (c->buffers == 2) {
        epu_line(e, "uint32_t column = 0; /* of the next unit's weights */");
    }
    if (c->buffers == 2)
        epu_put_handover_begin(e, s, d->units == 1);
    epu_line(e, "ccl_wait(CCL_ARR, E_LOADED, s->loaded + unit + 1u);");
}

/* All columns of a unit at once. */
static void put_whole_load(epu_emit *e, const plan_step *s, const epu_conv *c, const char *unit)
{
    if (c->sets_per_piece) {
        epu_line(e, "%s_load(s, %s);", s->function, unit);
        return;
    }
    epu_line(e, "for (uint32_t column = 0; column < %du; column++)", epu_load_calls(s));
    epu_line(e, "    %s_load(s, %s, column);", s->function, unit);
}

static void put_unit_end(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    epu_line(e, "ccl_post(CCL_ARR, E_DONE);");
    if (epu_load_calls(s) > 1 && c->buffers == 2) {
        epu_line(e, "while (column < %du)", epu_load_calls(s));
        epu_line(e, "    %s_load(s, unit + 1u, column++);", s->function);
    }
    if (c->buffers == 2)
        epu_put_handover(e, s, "while", 1);
    epu_line(e, "unit++;");
    if (c->buffers == 1) {
        epu_line(e, "if (unit < %du)", epu_of(s)->units);
        put_whole_load(e, s, c, "unit");
    }
}

static const char *lrm_text(epu_emit *e, const epu_conv *c)
{
    str t;
    str_init(&t, e->a);
    str_printf(&t, "%d x %d bytes of weights at %d, bias and multiplier at %d", c->buffers,
               c->part_bytes, c->lrm_in, c->lrm_const);
    if (c->n_parts > 1)
        str_printf(&t, ", sums at %d", c->lrm_sums);
    str_printf(&t, ", 2 x %d bytes of results at %d", c->out_bytes, c->lrm_out);
    return t.data;
}

/* One part: a unit is a set, with all images and pixels. */
static void put_whole(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    put_unit_begin(e, s, c);
    epu_loop(e, "image", c->v.images);
    epu_put_part_window(e, s, c, "in.");
    put_pixels(e, s, c);
    epu_loop_end(e, c->v.images);
    put_unit_end(e, s, c);
}

/* Several parts: a unit is one part of one tile of pixels. */
static void put_by_parts(epu_emit *e, const plan_step *s, const epu_conv *c)
{
    epu_loop(e, "image", c->v.images);
    epu_loop(e, "tile", c->tiles);
    epu_line(e, "const uint32_t first = %s;",
             c->tiles > 1 ? arena_printf(e->a, "tile * %du", c->tile) : "0");
    epu_loop(e, "k", c->n_parts);
    put_unit_begin(e, s, c);
    epu_put_part_window(e, s, c, "in.");
    put_pixels(e, s, c);
    put_unit_end(e, s, c);
    epu_loop_end(e, c->n_parts);
    epu_loop_end(e, c->tiles);
    epu_loop_end(e, c->v.images);
}

cgc_status epu_put_conv2d_channel(epu_emit *e, const plan_step *s)
{
    const epu_step *d = epu_of(s);
    const epu_conv *c = &d->u.conv;
    epu_put_comment(e, s, lrm_text(e, c));
    put_load(e, s, c);
    epu_put_head(e, s);
    epu_put_part_table(e, c);
    epu_put_window(e, s, &c->v,
                   (epu_lane_window){1, c->v.cin, (int32_t)ir_int(s->node, "x_zero_point"), NULL});
    epu_line(e, "uint32_t unit = 0, result = 0;");
    epu_put_start(e, s, true);
    if (!d->handed)
        put_whole_load(e, s, c, "0");
    epu_put_first_loaded(e, s);
    epu_loop(e, "set", c->sets);
    if (c->v.groups > 1)
        epu_line(e, "const uint32_t group = set%s;",
                 c->blocks > 1 ? arena_printf(e->a, " / %du", c->blocks) : "");
    epu_put_channels_of(e, c, "lanes");
    if (c->n_parts == 1)
        put_whole(e, s, c);
    else
        put_by_parts(e, s, c);
    epu_loop_end(e, c->sets);
    epu_put_end(
        e, s,
        &(epu_posts){.loaded = "unit", .done = "unit", .ready = "result", .stored = "result"});
    return CGC_OK;
}
