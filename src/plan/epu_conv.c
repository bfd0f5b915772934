/* SPDX-License-Identifier: Apache-2.0
 *
 * epu_conv.c - convolution and dense layers on the array: a view as images of windows, then the
 * cheapest tiling of
 * conv2d_pixel (a lane is an output pixel) and of conv2d_channel (a lane is an output channel).
 * Costs are the closed forms of docs/machine.md; a tiling is taken only if its LRM buffers and one
 * piece of its weights fit. Sums need no care here: the overflow pass has proved them.
 */
#include "plan/epu.h"

enum {
    SCALAR_UNIT = 50,     /* scalar cycles to set up a unit, measured on emitted programs */
    SCALAR_RUN = 40,      /* ... and one run of accumulators */
    SCALAR_STORE = 40,    /* ... and one requantization and store */
    PIECE_BYTES = 65536,  /* small sets are joined to pieces of about this size */
    MERGED_CHANNELS = 512 /* groups are joined up to this many input channels */
};

static bool flattens(const plan_window *w)
{
    return w->kh == 1 && w->kw == 1 && w->stride_h == 1 && w->stride_w == 1 && w->pad[0] == 0 &&
           w->pad[1] == 0 && w->pad[2] == 0 && w->pad[3] == 0;
}

/* Joins m groups to one whose weights are zero between different groups. */
static epu_view merge_groups(const epu_view *v, int32_t m)
{
    epu_view t = *v;
    t.merge = m;
    t.groups /= m;
    t.cin *= m;
    t.cout *= m;
    return t;
}

bool epu_view_of(const plan_step *s, epu_view *out)
{
    plan_window w;
    if (!plan_window_of(s, &w))
        return false;
    epu_view v = {.images = w.in.n,
                  .h = w.in.h,
                  .w = w.in.w,
                  .oh = w.out.h,
                  .ow = w.out.w,
                  .kh = w.kh,
                  .kw = w.kw,
                  .stride_h = w.stride_h,
                  .stride_w = w.stride_w,
                  .dil_h = w.dil_h,
                  .dil_w = w.dil_w,
                  .pad_top = w.pad[0],
                  .pad_left = w.pad[1],
                  .groups = w.groups,
                  .merge = 1,
                  .cin = w.in.c / w.groups,
                  .cout = w.out.c / w.groups};
    if (flattens(&w)) { /* pixels are independent rows of channels: one long image */
        v.w = v.ow = w.in.n * w.in.h * w.in.w;
        v.images = v.h = v.oh = 1;
    }
    v.pixels = v.oh * v.ow;
    v.in_pixel = w.in.c;
    v.in_row = v.in_pixel * v.w;
    v.in_image = v.in_row * v.h;
    v.out_pixel = w.out.c;
    v.out_image = v.out_pixel * v.pixels;
    *out = v;
    return true;
}

/* ---- cutting the sum ---- */

static int32_t padded(const cgc_hw *hw, int64_t bytes)
{
    return (int32_t)(epu_ceil(bytes, hw->macs_per_pe) * hw->macs_per_pe);
}

/* A cut: parts of at most kh rows, kw columns, c channels. */
typedef struct cut {
    int32_t kh, kw, c, n;
    int32_t row_bytes; /* all parts of one window */
    int32_t max_bytes;
    int64_t score;
} cut;

static void measure_cut(const cgc_hw *hw, const epu_view *v, cut *k)
{
    k->n = 0;
    k->row_bytes = k->max_bytes = 0;
    for (int32_t y = 0; y < v->kh; y += k->kh)
        for (int32_t x = 0; x < v->kw; x += k->kw)
            for (int32_t c = 0; c < v->cin; c += k->c) {
                const int32_t kh = epu_min(k->kh, v->kh - y), kw = epu_min(k->kw, v->kw - x);
                const int32_t bytes = kh * padded(hw, (int64_t)kw * epu_min(k->c, v->cin - c));
                k->row_bytes += bytes;
                k->max_bytes = bytes > k->max_bytes ? bytes : k->max_bytes;
                k->n++;
            }
    /* a part costs about three steps of loading and storing sums, per pixel and output channel */
    k->score = k->row_bytes / hw->macs_per_pe + 3 * (int64_t)k->n;
}

/* Channels of each of n equal parts, whole broadcast steps where that is possible. */
static int32_t channels_of(const cgc_hw *hw, const epu_view *v, int32_t n)
{
    const int32_t c = (int32_t)epu_ceil(v->cin, n);
    return c >= hw->macs_per_pe ? epu_min(padded(hw, c), v->cin) : c;
}

/* The best cut into parts of at most limit bytes; false if even one step is too much. */
static bool best_cut(const cgc_hw *hw, const epu_view *v, int64_t limit, cut *out)
{
    bool found = false;
    for (int32_t rows = 1; rows <= v->kh; rows++) {
        for (int32_t whole = 0; whole < 2; whole++) {
            for (int32_t n = 1; n <= v->cin; n = n < 64 ? n + 1 : n * 2) {
                cut k = {.kh = (int32_t)epu_ceil(v->kh, rows),
                         .kw = whole ? v->kw : 1,
                         .c = channels_of(hw, v, n)};
                if (k.kh * (int64_t)padded(hw, (int64_t)k.kw * k.c) > limit)
                    continue;
                measure_cut(hw, v, &k);
                if (!found || k.score < out->score)
                    *out = k;
                found = true;
                break; /* more channel parts only cost more */
            }
        }
    }
    return found;
}

static void set_set_bytes(epu_conv *c)
{
    const int64_t bytes = (int64_t)c->block * (EPU_CONST_BYTES + c->row_bytes);
    c->set_bytes = epu_ceil(bytes, EPU_CONST_BYTES) * EPU_CONST_BYTES;
}

static void make_parts(plan *p, const cut *k, int32_t block, epu_conv *c)
{
    const epu_view *v = &c->v;
    c->parts = arena_array(p->arena, (size_t)k->n, sizeof *c->parts);
    c->n_parts = 0;
    int32_t offset = 0;
    for (int32_t y = 0; y < v->kh; y += k->kh)
        for (int32_t x = 0; x < v->kw; x += k->kw)
            for (int32_t ch = 0; ch < v->cin; ch += k->c) {
                epu_part *t = &c->parts[c->n_parts++];
                *t = (epu_part){.ky0 = y,
                                .kh = epu_min(k->kh, v->kh - y),
                                .kx0 = x,
                                .kw = epu_min(k->kw, v->kw - x),
                                .c0 = ch,
                                .c = epu_min(k->c, v->cin - ch),
                                .offset = offset};
                t->bytes = t->kh * padded(&p->hw, (int64_t)t->kw * t->c);
                offset += t->bytes;
            }
    c->row_bytes = offset;
    c->part_bytes = k->max_bytes;
    c->block = block;
    c->blocks = (int32_t)epu_ceil(v->cout, block);
    c->sets = c->blocks * v->groups;
    set_set_bytes(c);
}

/* ---- cost ---- */

/* Array cycles of all runs over n outputs of one part. */
static int64_t runs_cycles(const cgc_hw *hw, int64_t n, int32_t run, int64_t steps, bool load,
                           bool store)
{
    const int64_t runs = epu_ceil(n, run), s = hw->unit_overhead;
    return runs * s + n * steps + (load ? runs * s + n : 0) + (store ? runs * s + n : 0);
}

/* Steps of the broadcast in part i. */
static int64_t part_steps(const cgc_hw *hw, const epu_conv *c, int32_t i)
{
    return c->parts[i].bytes / hw->macs_per_pe;
}

static int64_t pixel_tile_cycles(const cgc_hw *hw, const epu_conv *c, int64_t lanes)
{
    const bool sums = c->n_parts > 1 && c->block > c->run;
    const int64_t runs = epu_ceil(c->block, c->run);
    int64_t total = 0;
    for (int32_t i = 0; i < c->n_parts; i++) {
        const epu_part *t = &c->parts[i];
        const bool last = i + 1 == c->n_parts;
        int64_t arr = 4 + runs_cycles(hw, c->block, c->run, part_steps(hw, c, i), sums && i > 0,
                                      sums && !last);
        int64_t port = epu_port_cycles(hw, lanes * t->kh * t->kw * t->c) +
                       (c->packed ? (t->kh - 1) * hw->unit_overhead : 0);
        int64_t scalar = SCALAR_UNIT + runs * SCALAR_RUN;
        if (last) {
            arr += c->block + runs * hw->unit_overhead;
            port += epu_port_cycles(hw, lanes * c->block);
            scalar += SCALAR_STORE;
        }
        total += c->buffers == 2 ? epu_max(epu_max(arr, port), scalar) : arr + port;
    }
    return total;
}

static int64_t channel_run_cycles(const cgc_hw *hw, const epu_conv *c, int32_t i, int64_t n,
                                  bool sums)
{
    const bool last = i + 1 == c->n_parts;
    int64_t arr = runs_cycles(hw, n, c->run, part_steps(hw, c, i), sums && i > 0, sums && !last);
    int64_t scalar = epu_ceil(n, c->run) * SCALAR_RUN;
    if (last) {
        arr += n + epu_ceil(n, c->run) * (hw->unit_overhead + 2);
        scalar += epu_ceil(n, c->run) * SCALAR_STORE;
    }
    return epu_max(arr, scalar);
}

static int64_t channel_cycles(const cgc_hw *hw, const epu_conv *c)
{
    const bool sums = c->n_parts > 1;
    int64_t total = 0;
    for (int32_t i = 0; i < c->n_parts; i++) {
        const int64_t load = epu_port_cycles(hw, (int64_t)c->block * c->parts[i].bytes);
        if (!sums) {
            const int64_t all = c->v.images * channel_run_cycles(hw, c, i, c->v.pixels, false);
            total += c->buffers == 2 ? epu_max(all, load) : all + load;
            continue;
        }
        const int64_t store =
            i + 1 == c->n_parts ? epu_port_cycles(hw, (int64_t)c->block * c->tile) : 0;
        const int64_t work = SCALAR_UNIT + channel_run_cycles(hw, c, i, c->tile, true);
        total += (int64_t)c->v.images * c->tiles *
                 (c->buffers == 2 ? epu_max(work, load + store) : work + load);
    }
    return total * c->sets;
}

/* ---- conv2d_pixel ---- */

static void set_pieces(const epu_conv *c, int64_t room, int32_t *out_sets)
{
    const int64_t want = epu_max(1, epu_max(PIECE_BYTES, c->set_bytes) / c->set_bytes);
    const int64_t fits = epu_max(1, room / c->set_bytes);
    *out_sets = epu_min(epu_min(want, fits), c->sets);
}

/* Pixels left over after the last full tile go to one output channel per PE where that is cheaper. */
static void choose_tail(const plan *p, epu_conv *c)
{
    const cgc_hw *hw = &p->hw;
    const int32_t lanes = hw_pes(hw), rest = c->v.pixels % lanes;
    c->tail = 0;
    if (rest == 0 || c->tiles < 2 || c->n_parts != 1 || c->packed || c->buffers != 2 ||
        c->sets != 1 || c->v.images != 1)
        return;
    const int64_t passes = epu_ceil(c->block, lanes), steps = part_steps(hw, c, 0);
    const int64_t tail =
        passes * (rest * (steps + 4) +
                  epu_port_cycles(hw, (int64_t)epu_min(c->block, lanes) * c->row_bytes) / 2);
    if (passes > 1 || tail >= pixel_tile_cycles(hw, c, rest) || rest > c->block)
        return;
    c->tail = rest;
    c->tail_run = epu_min(epu_min(hw->num_acc, rest), c->block);
    c->tiles--;
}

/* Rows without gaps: fewer steps where a row is not whole steps. The last row's load still writes whole steps. */
static bool pack_rows(const cgc_hw *hw, epu_conv *c)
{
    const epu_view *v = &c->v;
    const int32_t row = v->kw * v->cin;
    if (c->n_parts != 1 || v->kh == 1 || row % hw->macs_per_pe == 0)
        return false;
    c->packed = true;
    c->row_bytes = c->parts[0].bytes = padded(hw, (int64_t)v->kh * row);
    const int64_t last = (int64_t)(v->kh - 1) * row + padded(hw, row);
    c->part_bytes =
        (int32_t)(epu_ceil(epu_max(c->row_bytes, last), EPU_CONST_BYTES) * EPU_CONST_BYTES);
    set_set_bytes(c);
    return true;
}

/* Which tiling is tried. */
typedef struct pixel_try {
    int32_t block, buffers;
    bool sums, packed;
} pixel_try;

/* Cycles of a tiling with blocks of output channels; -1 if it does not fit. */
static int64_t try_pixel(plan *p, const epu_view *v, const pixel_try *how, int64_t room,
                         epu_conv *out)
{
    const cgc_hw *hw = &p->hw;
    const int32_t block = how->block;
    const int64_t sum_bytes = how->sums ? 4 * (int64_t)block : 0;
    /* constants of a tail and rounding of offsets take 16 bytes */
    const int64_t limit = (hw->lrm_size - 16 - 2 * (int64_t)block - sum_bytes) / how->buffers;
    cut k;
    if (limit <= 0 || !best_cut(hw, v, limit, &k))
        return -1;
    /* several parts: sums stay in the accumulators if they suffice, else in LRM */
    if (how->sums ? k.n == 1 || block <= hw->num_acc : k.n > 1 && block > hw->num_acc)
        return -1;
    epu_conv t = {.v = *v, .buffers = how->buffers, .run = epu_min(hw->num_acc, block)};
    make_parts(p, &k, block, &t);
    if (how->packed && (!pack_rows(hw, &t) || t.part_bytes > limit))
        return -1;
    if (t.set_bytes > room)
        return -1;
    t.tile = epu_min(hw_pes(hw), v->pixels);
    t.tiles = (int32_t)epu_ceil(v->pixels, t.tile);
    *out = t;
    return (int64_t)t.sets * v->images * t.tiles * pixel_tile_cycles(hw, &t, t.tile);
}

static void pixel_lrm(const plan *p, epu_conv *c)
{
    const bool sums = c->n_parts > 1 && c->block > c->run;
    c->lrm_in = 0;
    c->lrm_const = c->buffers * c->part_bytes; /* a multiple of macs_per_pe, hence of 4 */
    c->lrm_sums = c->lrm_const + EPU_CONST_BYTES;
    c->lrm_out = c->lrm_sums + (sums ? 4 * c->block : 0);
    c->out_bytes = c->block;
    (void)p;
}

/* The best block of output channels; updates *best and *c. */
static void best_pixel(plan *p, const epu_view *v, int64_t room, int64_t *best, epu_conv *c)
{
    const int32_t num_acc = p->hw.num_acc;
    for (int32_t block = v->cout;; block = (int32_t)epu_ceil(block, 2)) {
        for (int32_t i = 0; i < 8; i++) {
            const pixel_try how = {
                .block = block, .buffers = 2 - i / 4, .sums = i / 2 % 2, .packed = i % 2};
            epu_conv t;
            const int64_t cycles = try_pixel(p, v, &how, room, &t);
            if (cycles < 0 || (*best >= 0 && cycles >= *best))
                continue;
            *best = cycles;
            *c = t;
        }
        if (block == 1 || (block <= num_acc && *best >= 0))
            break;
    }
}

const char *epu_plan_pixel(plan *p, const plan_step *s, int64_t room, epu_step *e)
{
    const cgc_hw *hw = &p->hw;
    epu_view v;
    if (!epu_view_of(s, &v))
        return "has no windows";
    int64_t best = -1;
    epu_conv *c = &e->u.conv;
    for (int32_t m = 1; m <= v.groups && (m == 1 || m * v.cin <= MERGED_CHANNELS); m++) {
        if (v.groups % m)
            continue;
        const epu_view merged = merge_groups(&v, m);
        best_pixel(p, &merged, room, &best, c);
    }
    if (best < 0)
        return arena_printf(p->arena,
                            "one window step and its sums need more than %d bytes of LRM, or the "
                            "weights of one output channel more than %lld bytes of OCM",
                            hw->lrm_size, (long long)room);
    choose_tail(p, c);
    pixel_lrm(p, c);
    set_pieces(c, room, &c->sets_per_piece);
    const int32_t per_set = v.images * c->tiles * c->n_parts;
    e->units = c->sets * per_set;
    e->ticks = 1 + (int32_t)epu_ceil(c->block, c->run);
    e->cycles = (int64_t)c->sets * v.images * c->tiles * pixel_tile_cycles(hw, c, c->tile);
    if (c->tail) {
        e->units++;
        e->cycles += (int64_t)c->tail * (part_steps(hw, c, 0) + 4);
    }
    return NULL;
}

/* ---- conv2d_channel ---- */

static int64_t channel_limit(const cgc_hw *hw, int32_t run, int64_t sum_bytes, int32_t buffers)
{
    return (hw->lrm_size - 2 * EPU_CONST_BYTES - 2 * (int64_t)run - sum_bytes - 8) / buffers;
}

/* Tilings in which the sums of `tile` pixels stay in LRM; tile 0: the whole sum at once. */
static int64_t try_channel(plan *p, const epu_view *v, int32_t tile, int64_t room, epu_conv *c)
{
    const cgc_hw *hw = &p->hw;
    const int32_t blocks = (int32_t)epu_ceil(v->cout, hw_pes(hw)),
                  block = (int32_t)epu_ceil(v->cout, blocks);
    int64_t best = -1;
    for (int32_t buffers = 2; buffers >= 1; buffers--) {
        epu_conv t = {.v = *v, .buffers = buffers, .run = epu_min(hw->num_acc, v->pixels)};
        while (t.run > 1 && 2 * t.run > hw->lrm_size / 8)
            t.run /= 2;
        cut k;
        const int64_t limit = channel_limit(hw, t.run, 4 * (int64_t)tile, buffers);
        if (limit <= 0 || !best_cut(hw, v, limit, &k) || (tile == 0) != (k.n == 1))
            continue;
        make_parts(p, &k, block, &t);
        t.tile = tile ? tile : v->pixels;
        t.tiles = (int32_t)epu_ceil(v->pixels, t.tile);
        /* Weights that are loaded once go by columns of their rows, so that small pieces follow each other; those that
         * are loaded again for each tile stay until the last. */
        const bool again = t.n_parts > 1 && (t.tiles > 1 || v->images > 1);
        t.sets_per_piece = again || t.set_bytes <= PIECE_BYTES ? 1 : 0;
        t.column_bytes = (int32_t)epu_max(PIECE_BYTES / block / 16 * 16, 16);
        const int64_t piece =
            t.sets_per_piece ? t.set_bytes : (int64_t)block * (t.part_bytes + EPU_CONST_BYTES);
        if (piece > room)
            continue;
        const int64_t cycles = channel_cycles(hw, &t);
        if (best >= 0 && cycles >= best)
            continue;
        best = cycles;
        *c = t;
    }
    return best;
}

static void channel_lrm(epu_conv *c)
{
    const bool sums = c->n_parts > 1;
    c->lrm_in = 0;
    c->lrm_const = c->buffers * c->part_bytes;
    c->lrm_const +=
        c->lrm_const % EPU_CONST_BYTES ? EPU_CONST_BYTES - c->lrm_const % EPU_CONST_BYTES : 0;
    c->lrm_sums = c->lrm_const + 2 * EPU_CONST_BYTES;
    c->lrm_out = c->lrm_sums + (sums ? 4 * c->tile : 0);
    c->out_bytes = c->run;
}

/* The best tile of pixels, 0 being no sums in LRM; updates *best and *c. */
static void best_channel(plan *p, const epu_view *v, int64_t room, int64_t *best, epu_conv *c)
{
    for (int32_t tiles = 0; *best < 0 || tiles <= 16; tiles = tiles ? 2 * tiles : 1) {
        epu_conv t;
        const int32_t tile = tiles ? (int32_t)epu_ceil(v->pixels, tiles) : 0;
        const int64_t cycles = try_channel(p, v, tile, room, &t);
        if (cycles >= 0 && (*best < 0 || cycles < *best)) {
            *best = cycles;
            *c = t;
        }
        if (tile == 1)
            break;
    }
}

const char *epu_plan_channel(plan *p, const plan_step *s, int64_t room, epu_step *e)
{
    const cgc_hw *hw = &p->hw;
    epu_view v;
    if (!epu_view_of(s, &v))
        return "has no windows";
    epu_conv *c = &e->u.conv;
    int64_t best = -1;
    for (int32_t m = 1; m <= v.groups && (m == 1 || m * v.cin <= MERGED_CHANNELS); m++) {
        if (v.groups % m)
            continue;
        const epu_view merged = merge_groups(&v, m);
        best_channel(p, &merged, room, &best, c);
    }
    if (best < 0)
        return arena_printf(
            p->arena,
            "one step of weights and its sums need more than %d bytes of LRM, or the "
            "weights of %d output channels more than %lld bytes of OCM",
            hw->lrm_size, epu_min(v.cout, hw_pes(hw)), (long long)room);
    channel_lrm(c);
    if (c->sets_per_piece)
        set_pieces(c, room, &c->sets_per_piece);
    v = c->v;
    const bool sums = c->n_parts > 1;
    e->units = c->sets * (sums ? v.images * c->tiles * c->n_parts : 1);
    e->ticks = 1 + (sums ? (int32_t)epu_ceil(c->tile, c->run)
                         : v.images * (int32_t)epu_ceil(v.pixels, c->run));
    e->cycles = best;
    return NULL;
}

/* ---- text ---- */

const char *epu_text_conv(plan *p, const plan_step *s)
{
    const epu_conv *c = &epu_of(s)->u.conv;
    arena *a = p->arena;
    const char *tiles = text_count(a, c->v.images * c->tiles, "tile");
    const char *pixels = text_count(a, c->tile, "pixel");
    const char *channels = text_count(a, c->block, "output channel");
    str t;
    str_init(&t, a);
    if (s->mapping == PLAN_MAP_conv2d_pixel) {
        str_printf(&t, "%s of %s", tiles, pixels);
        if (c->tail)
            str_printf(&t, " and %s by channel", text_count(a, c->tail, "pixel"));
        str_printf(&t, ", %d x %s", c->sets, channels);
    } else {
        str_printf(&t, "%d x %s, %s of %s", c->sets, channels, tiles, pixels);
    }
    str_printf(&t, ", sum of %s", text_count(a, c->row_bytes, "byte"));
    if (c->n_parts > 1)
        str_printf(&t, " in %d parts of at most %d", c->n_parts, c->part_bytes);
    if (c->packed)
        str_put(&t, ", rows packed");
    return t.data;
}
