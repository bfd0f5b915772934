/* SPDX-License-Identifier: Apache-2.0
 *
 * vnni_conv.c - the AVX-512 VNNI function of a convolution or dense layer: loops over channel
 * blocks, rows and columns around the register tile of ccl/x86_avx512vnni/conv2d_s8.h. All sizes
 * are literals. Invariant: every output pixel lies in exactly one tile.
 */
#include "emit/host/host.h"

enum { PREFETCH_FROM_BYTES = 256 << 10, PREFETCH_AHEAD_BYTES = 8192, FULL_LANES = 16 };

/* What one function prints: where it reads and writes. */
typedef struct conv_text {
    const plan_step *s;
    const host_conv *c;
    const plan_step *sum;         /* the add done here, or NULL */
    const plan_buffer *x, *y, *r; /* r: the other operand of the sum */
    int64_t block_bytes;
} conv_text;

static conv_text text_of(const plan_step *s, bool fused)
{
    const host_step *h = host_step_of(s);
    conv_text k = {.s = s, .c = &h->conv, .sum = fused ? h->fused : NULL};
    k.x = h->conv.copy ? h->conv.copy : s->inputs[0];
    k.y = k.sum ? k.sum->output : s->output;
    k.r = k.sum ? k.sum->inputs[1 - h->sum_operand] : NULL;
    return k;
}

static void put_out(host_emit *e, const char *name, const ir_node *n, const plan_buffer *y)
{
    str_printf(e->c, ".%s = {.zp = %d, .lo = %d, .hi = %d, .is_signed = %d}", name,
               (int)ir_int(n, "y_zero_point"), (int)ir_int(n, "clamp_min"),
               (int)ir_int(n, "clamp_max"), !host_is_unsigned(e->p, y));
}

static void put_sum(host_emit *e, const conv_text *k)
{
    const ir_node *add = k->sum->node;
    const host_sum *sum = &host_step_of(k->sum)->sum;
    const int32_t conv = host_step_of(k->s)->sum_operand;
    static const char *const forms[] = {"CCL_SUM_FMA", "CCL_SUM_RECIPROCAL", "CCL_SUM_DIVIDE"};
    str_printf(e->c,
               ",\n        .has_sum = 1, .r_first = %d, .r_pixel = %lld, .r_row = %lld, .r_signed "
               "= %d, .r_zp = %d,\n",
               conv, (long long)k->r->pixel_bytes, (long long)k->r->row_bytes,
               !host_is_unsigned(e->p, k->r),
               (int)ir_int(add, conv ? "a_zero_point" : "b_zero_point"));
    str_printf(e->c, "        .sum = {%s, %s, %s, %s},\n        ", forms[sum->form],
               emit_f32(e->a, sum->ka), emit_f32(e->a, sum->kb), emit_f32(e->a, sum->ky));
    put_out(e, "out", add, k->y);
}

/* The tile of the larger pieces and full blocks; the others are written as differences from it. */
static void put_tile(host_emit *e, const conv_text *k, int32_t lanes, int32_t channels)
{
    const plan_window *w = &k->c->win;
    const bool stream = k->block_bytes * (w->out.c / HOST_TILE_CHANNELS) >= PREFETCH_FROM_BYTES;
    str_printf(e->c,
               "    const ccl_tile tile = {\n        .pixels = %d, .row_pixels = %d, .vectors = "
               "%d, .channels = %d,\n",
               k->c->cols.size[0] * k->c->rows.size[0], k->c->cols.size[0], lanes / FULL_LANES,
               channels);
    str_printf(e->c, "        .x_pixel = %lld, .x_row = %lld, .tap_rows = %d, .x_tap_row = %lld,\n",
               (long long)(w->stride_w * k->x->pixel_bytes),
               (long long)(w->stride_h * k->x->row_bytes), w->kh,
               (long long)(w->dil_h * k->x->row_bytes));
    str_printf(e->c,
               "        .runs = %d, .x_run = %lld, .steps = %d, .y_pixel = %lld, .y_row = %lld, "
               ".ahead = %d,\n        ",
               k->c->runs, (long long)(w->dil_w * k->x->pixel_bytes), k->c->steps,
               (long long)k->y->pixel_bytes, (long long)k->y->row_bytes,
               stream ? PREFETCH_AHEAD_BYTES : 0);
    put_out(e, "conv", k->s->node, k->y);
    if (k->sum) {
        put_sum(e, k);
    } else {
        str_put(e->c, ",\n        ");
        put_out(e, "out", k->s->node, k->y);
    }
    str_put(e->c, ",\n    };\n");
}

/* "tile", "tile_1", "last", "last_1": pieces of size[piece] in full or last blocks. */
static const char *tile_name(host_emit *e, bool last, int32_t piece)
{
    return arena_printf(e->a, "%s%s", last ? "last" : "tile", piece ? "_small" : "");
}

static void put_variant(host_emit *e, const char *name, const char *of, const host_conv *c,
                        int32_t piece)
{
    const int32_t cols = c->cols.count[1] ? c->cols.size[piece] : c->cols.size[0];
    const int32_t rows = c->rows.count[1] ? c->rows.size[piece] : c->rows.size[0];
    str_printf(e->c, "    ccl_tile %s = %s;\n    %s.pixels = %d;\n    %s.row_pixels = %d;\n", name,
               of, name, cols * rows, name, cols);
}

static bool has_small(const host_conv *c)
{
    return c->cols.count[1] > 0 || c->rows.count[1] > 0;
}

static void put_tiles(host_emit *e, const conv_text *k)
{
    const int32_t full = k->c->group_channels / HOST_TILE_CHANNELS,
                  rest = k->c->group_channels % HOST_TILE_CHANNELS;
    const int32_t rest_lanes = rest <= FULL_LANES ? FULL_LANES : HOST_TILE_CHANNELS;
    put_tile(e, k, full ? HOST_TILE_CHANNELS : rest_lanes, full ? HOST_TILE_CHANNELS : rest);
    if (has_small(k->c))
        put_variant(e, tile_name(e, false, 1), "tile", k->c, 1);
    if (!full || !rest)
        return;
    str_printf(e->c, "    ccl_tile last = tile;\n    last.vectors = %d;\n    last.channels = %d;\n",
               rest_lanes / FULL_LANES, rest);
    if (has_small(k->c))
        put_variant(e, tile_name(e, true, 1), "last", k->c, 1);
}

/* Rows from..to in steps of rows, columns in both sizes: calls of the tiles. */
static void put_rows(host_emit *e, const conv_text *k, bool last, int32_t row_piece)
{
    const host_conv *c = k->c;
    const plan_window *w = &c->win;
    const int32_t from = row_piece ? c->rows.count[0] * c->rows.size[0] : 0;
    const int32_t to = from + c->rows.count[row_piece] * c->rows.size[row_piece];
    if (from == to)
        return;
    str_printf(e->c, "        for (int32_t row = %d; row < %d; row += %d) {\n", from, to,
               c->rows.size[row_piece]);
    int32_t col = 0;
    for (int32_t piece = 0; piece < 2; piece++) {
        const int32_t end = col + c->cols.count[piece] * c->cols.size[piece];
        if (col == end)
            continue;
        const char *tile = tile_name(e, last, piece > row_piece ? piece : row_piece);
        str_printf(e->c, "            for (int32_t col = %d; col < %d; col += %d)\n", col, end,
                   c->cols.size[piece]);
        str_printf(e->c, "                ccl_conv2d_tile(&%s, xb + row * %lld + col * %lld, wb, ",
                   tile, (long long)(w->stride_h * k->x->row_bytes),
                   (long long)(w->stride_w * k->x->pixel_bytes));
        if (k->sum)
            str_printf(e->c, "rb + row * %lld + col * %lld,\n                                ",
                       (long long)k->r->row_bytes, (long long)k->r->pixel_bytes);
        else
            str_put(e->c, "NULL, ");
        str_printf(e->c, "yb + row * %lld + col * %lld);\n", (long long)k->y->row_bytes,
                   (long long)k->y->pixel_bytes);
        col = end;
    }
    str_put(e->c, "        }\n");
}

/* The body for one block: channel, weights are C expressions of its first channel (in the group)
 * and weights. */
static void put_block(host_emit *e, const conv_text *k, bool last, const char *channel,
                      const char *weights)
{
    str_printf(e->c, "        const uint8_t *wb = %s;\n        uint8_t *yb = yg + %s;\n", weights,
               channel);
    if (k->sum)
        str_printf(e->c, "        const uint8_t *rb = rg + %s;\n", channel);
    put_rows(e, k, last, 0);
    put_rows(e, k, last, 1);
}

static void put_blocks(host_emit *e, const conv_text *k)
{
    const host_conv *c = k->c;
    const int32_t full = c->group_channels / HOST_TILE_CHANNELS,
                  rest = c->group_channels % HOST_TILE_CHANNELS;
    if (full) {
        str_printf(e->c, "    for (int32_t block = 0; block < %d; block++) {\n", full);
        put_block(e, k, false, arena_printf(e->a, "block * %d", HOST_TILE_CHANNELS),
                  arena_printf(e->a, "wg + block * %lld", (long long)k->block_bytes));
        str_put(e->c, "    }\n");
    }
    if (rest) {
        str_put(e->c, "    {\n");
        put_block(e, k, full > 0, arena_printf(e->a, "%d", full * HOST_TILE_CHANNELS),
                  arena_printf(e->a, "wg + %lld", (long long)(full * k->block_bytes)));
        str_put(e->c, "    }\n");
    }
}

static void put_copy(host_emit *e, const conv_text *k)
{
    const plan_buffer *from = k->s->inputs[0], *to = k->c->copy;
    if (!to)
        return;
    str_printf(e->c, "    const ccl_bordered copy = %s;\n", host_bordered(e, to));
    str_printf(e->c, "    ccl_copy_inside(%s, %lld, %lld, m->arena + %lld, &copy, %d);\n",
               host_view_of(e, from).inside, (long long)from->row_bytes,
               (long long)from->image_bytes, (long long)to->offset, !host_is_unsigned(e->p, from));
    if (host_has_border(to))
        str_printf(e->c, "    ccl_fill_border(m->arena + %lld, &copy, %d);\n",
                   (long long)to->offset, (to->border_value + 128) & 255);
}

/* xg, wg, yg, rg: pointers of one image and group. */
static void put_group_pointers(host_emit *e, const conv_text *k, const char *weights)
{
    const plan_window *w = &k->c->win;
    const int64_t start = k->x->offset + (k->x->border[0] - w->pad[0]) * k->x->row_bytes +
                          (k->x->border[1] - w->pad[1]) * k->x->pixel_bytes;
    const int32_t rest = k->c->group_channels % HOST_TILE_CHANNELS,
                  full = k->c->group_channels / HOST_TILE_CHANNELS;
    const int32_t rest_lanes = rest == 0 ? 0 : rest <= FULL_LANES ? FULL_LANES : HOST_TILE_CHANNELS;
    const long long group_weights =
        full * k->block_bytes + k->block_bytes / HOST_TILE_CHANNELS * rest_lanes;
    const bool images = w->in.n > 1, groups = w->groups > 1;
    if (images)
        str_printf(e->c, "    for (int32_t n = 0; n < %d; n++) {\n", w->in.n);
    if (groups)
        str_printf(e->c, "    for (int32_t group = 0; group < %d; group++) {\n", w->groups);
    const char *x_group = groups ? arena_printf(e->a, " + group * %d", w->in.c / w->groups) : "";
    const char *y_group = groups ? arena_printf(e->a, " + group * %d", k->c->group_channels) : "";
#define IMAGE(buffer)                                                                              \
    (images ? arena_printf(e->a, " + n * %lld", (long long)(buffer)->image_bytes) : "")
    str_printf(e->c, "    const uint8_t *xb = m->arena + %lld%s%s;\n", (long long)start,
               IMAGE(k->x), x_group);
    str_printf(e->c, "    const uint8_t *wg = %s%s;\n", weights,
               groups ? arena_printf(e->a, " + group * %lld", group_weights) : "");
    str_printf(e->c, "    uint8_t *yg = (uint8_t *)(%s)%s%s;\n", host_view_of(e, k->y).inside,
               IMAGE(k->y), y_group);
    if (k->sum)
        str_printf(e->c, "    const uint8_t *rg = (const uint8_t *)(%s)%s%s;\n",
                   host_view_of(e, k->r).inside, IMAGE(k->r), y_group);
#undef IMAGE
}

static void put_function(host_emit *e, const conv_text *k, const char *weights)
{
    const plan_step *s = k->s;
    const char *what =
        k->sum ? arena_printf(e->a, "%s: %s", s->text, emit_comment(e->a, k->sum->name)) : s->text;
    host_put_layer_comment(e, s, what);
    host_put_function_begin(e, s, k->sum ? "_sum_avx512vnni" : "_avx512vnni");
    put_tiles(e, k);
    put_copy(e, k);
    host_put_fill_border(e, k->y, host_view_of(e, k->y).base,
                         host_is_unsigned(e->p, k->y) ? k->y->border_value + 128
                                                      : k->y->border_value);
    put_group_pointers(e, k, weights);
    put_blocks(e, k);
    if (k->c->win.in.n > 1)
        str_put(e->c, "    }\n");
    if (k->c->win.groups > 1)
        str_put(e->c, "    }\n");
    str_put(e->c, "}\n");
}

void host_put_vnni_conv(host_emit *e, const plan_step *s)
{
    int64_t block_bytes;
    const char *weights = host_put_vnni_blocks(e, s, &block_bytes);
    const bool fused = host_step_of(s)->fused != NULL;
    if (fused)
        str_put(e->c, "\n#ifdef CCL_TRACE /* each layer alone */");
    conv_text k = text_of(s, false);
    k.block_bytes = block_bytes;
    put_function(e, &k, weights);
    if (!fused)
        return;
    str_put(e->c, "#else");
    k = text_of(s, true);
    k.block_bytes = block_bytes;
    put_function(e, &k, weights);
    str_put(e->c, "#endif\n");
}
