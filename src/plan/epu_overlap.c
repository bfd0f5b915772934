/* SPDX-License-Identifier: Apache-2.0
 *
 * epu_overlap.c - the seam between two layers: where in LRM a layer puts its buffers so that its
 * first load can run while the layer before still computes its last unit, and how many results of
 * that layer the first load has to wait for.
 * Invariant: what is loaded early meets nothing that the layer before still uses then; everything
 * else of the layer waits until the layer before is complete.
 */
#include "plan/epu.h"

enum { MOST_RANGES = 8, LRM_ALIGN = 16 };

typedef struct ranges { /* [at, at + bytes) in LRM */
    int32_t at[MOST_RANGES], bytes[MOST_RANGES], n;
} ranges;

static void add(ranges *r, int32_t at, int32_t bytes)
{
    r->at[r->n] = at;
    r->bytes[r->n++] = bytes;
}

static bool disjoint(const ranges *a, const ranges *b)
{
    for (int32_t i = 0; i < a->n; i++)
        for (int32_t k = 0; k < b->n; k++)
            if (a->at[i] < b->at[k] + b->bytes[k] && b->at[k] < a->at[i] + a->bytes[i])
                return false;
    return true;
}

static bool is_conv(const plan_step *s)
{
    return s->mapping == PLAN_MAP_conv2d_pixel || s->mapping == PLAN_MAP_conv2d_channel;
}

static bool is_flat(const plan_step *s)
{
    return s->mapping == PLAN_MAP_add || s->mapping == PLAN_MAP_table;
}

static bool is_pool(const plan_step *s)
{
    const bool pool = s->mapping == PLAN_MAP_max_pool2d || s->mapping == PLAN_MAP_avg_pool2d;
    return pool && !epu_of(s)->u.pool.global;
}

/* ---- ranges ---- */

/* Input buffer of a unit, the constants beside it, and tables: what its load writes. */
static void add_loaded(const plan_step *s, int32_t buffer, int32_t constant, ranges *r)
{
    const epu_step *e = epu_of(s);
    if (is_conv(s)) {
        const epu_conv *c = &e->u.conv;
        add(r, c->lrm_in + (c->buffers == 2 ? buffer : 0) * c->part_bytes, c->part_bytes);
        add(r,
            c->lrm_const + (s->mapping == PLAN_MAP_conv2d_channel ? constant * EPU_CONST_BYTES : 0),
            EPU_CONST_BYTES);
    } else if (is_flat(s)) {
        const epu_flat *f = &e->u.flat;
        add(r, f->lrm_a + buffer * f->block, f->block);
        if (s->mapping == PLAN_MAP_add)
            add(r, f->lrm_b + buffer * f->block, f->block);
        else
            add(r, f->lrm_table, EPU_TABLE_BYTES);
    } else {
        const epu_pool *f = &e->u.pool;
        add(r, f->lrm_in + buffer * f->win_bytes, f->win_bytes);
        add(r, f->lrm_const, 2 * EPU_CONST_BYTES);
    }
}

/* What array operations write: sums and results. */
static void add_computed(const plan_step *s, ranges *r)
{
    const epu_step *e = epu_of(s);
    if (is_conv(s)) {
        const epu_conv *c = &e->u.conv;
        add(r, c->lrm_sums, c->lrm_out - c->lrm_sums + 2 * c->out_bytes);
    } else if (is_flat(s)) {
        add(r, e->u.flat.lrm_out, 2 * e->u.flat.block);
    } else {
        add(r, e->u.pool.lrm_out, 2 * e->u.pool.out_bytes);
    }
}

/* In use once all loads and all units but the last are over. */
static ranges late_ranges(const plan *p, const plan_step *s)
{
    const epu_step *e = epu_of(s);
    ranges r = {.n = 0};
    if (is_conv(s) || is_flat(s) || is_pool(s)) {
        const int32_t sets = is_conv(s) ? e->u.conv.sets : 1;
        add_loaded(s, (e->units - 1 + e->first_buffer) % 2, (sets - 1 + e->first_constant) % 2, &r);
        add_computed(s, &r);
    } else if (s->mapping == PLAN_MAP_quantize || s->mapping == PLAN_MAP_dequantize) {
        add(&r, 0, 10 * e->u.planes.slice);
    } else {
        add(&r, 0, p->hw.lrm_size);
    }
    return r;
}

static int32_t used_bytes(const plan_step *s)
{
    const epu_step *e = epu_of(s);
    if (is_conv(s))
        return e->u.conv.lrm_out + 2 * e->u.conv.out_bytes;
    if (is_flat(s))
        return e->u.flat.lrm_out + 2 * e->u.flat.block;
    return e->u.pool.lrm_out + 2 * e->u.pool.out_bytes;
}

static void shift(const plan_step *s, int32_t by)
{
    epu_step *e = epu_of(s);
    int32_t *conv[] = {&e->u.conv.lrm_in, &e->u.conv.lrm_sums, &e->u.conv.lrm_out,
                       &e->u.conv.lrm_const};
    int32_t *flat[] = {&e->u.flat.lrm_a, &e->u.flat.lrm_b, &e->u.flat.lrm_out,
                       &e->u.flat.lrm_table};
    int32_t *pool[] = {&e->u.pool.lrm_in, &e->u.pool.lrm_out, &e->u.pool.lrm_const, NULL};
    int32_t **fields = is_conv(s) ? conv : is_flat(s) ? flat : pool;
    for (int32_t i = 0; i < 4 && fields[i]; i++)
        *fields[i] += by;
}

/* ---- results of the layer before ---- */

/* Results of a layer, where each completes the next bytes of its output; 0 if it is not so. With a
 * tail the results after `body` complete run pixels each. */
typedef struct progress {
    int32_t results, body;
    int64_t body_bytes, tail_bytes;
} progress;

static progress conv_progress(const plan_step *s)
{
    const epu_conv *c = &epu_of(s)->u.conv;
    progress g = {.results = 0};
    if (c->sets != 1 || c->v.images != 1)
        return g;
    if (s->mapping == PLAN_MAP_conv2d_pixel) {
        g.body = c->tiles;
        g.body_bytes = c->tile * c->v.out_pixel;
        g.tail_bytes = c->tail_run * c->v.out_pixel;
        g.results = c->tiles + (c->tail ? (int32_t)epu_ceil(c->tail, c->tail_run) : 0);
    } else if (c->n_parts == 1 || c->tiles == 1) {
        g.body = g.results = (int32_t)epu_ceil(c->v.pixels, c->run);
        g.body_bytes = c->run * c->v.out_pixel;
    }
    return g;
}

static progress progress_of(const plan *p, const plan_step *s)
{
    const epu_step *e = epu_of(s);
    const int64_t pes = hw_pes(&p->hw);
    progress g = {.results = 0};
    if (is_conv(s))
        return conv_progress(s);
    if (is_flat(s)) {
        g.body = g.results = e->units;
        g.body_bytes = pes * e->u.flat.block;
    } else if (is_pool(s) && e->u.pool.slices == 1 && e->u.pool.v.images == 1) {
        g.body = g.results = e->units;
        g.body_bytes = pes * e->u.pool.run * e->u.pool.v.out_pixel;
    } else if (s->mapping == PLAN_MAP_quantize && e->u.planes.slices == 1 &&
               e->u.planes.images == 1 &&
               (e->u.planes.stages == 1 || e->u.planes.stage % pes == 0)) {
        g.body = g.results = (int32_t)epu_ceil(e->u.planes.pixels, pes);
        g.body_bytes = pes * e->u.planes.planes;
    }
    return g;
}

/* How many of the newest results are not needed for the first `bytes` of the output. */
static int32_t results_to_spare(const progress *g, int64_t bytes)
{
    if (g->results == 0)
        return 0;
    int64_t needed = epu_ceil(bytes, g->body_bytes);
    if (needed > g->body)
        needed = g->tail_bytes ? g->body + epu_ceil(bytes - g->body * g->body_bytes, g->tail_bytes)
                               : g->results;
    return needed < g->results ? g->results - (int32_t)needed : 0;
}

/* Bytes of an input image up to the last row that output pixels 0..last touch. */
static int64_t window_reach(const epu_view *v, int32_t last)
{
    const int64_t row =
        (int64_t)(last / v->ow) * v->stride_h - v->pad_top + (int64_t)(v->kh - 1) * v->dil_h;
    const int64_t rows = row + 1 < 0 ? 0 : row + 1 > v->h ? v->h : row + 1;
    return rows * v->in_row;
}

/* Bytes of operand k that the first load reads, and (channel mapping) that the first run of the array reads. */
static int64_t first_reach(const plan *p, const plan_step *s)
{
    const epu_step *e = epu_of(s);
    const int64_t pes = hw_pes(&p->hw);
    if (is_flat(s))
        return pes * e->u.flat.block;
    if (is_pool(s))
        return window_reach(&e->u.pool.v, epu_min(pes, e->u.pool.blocks) * e->u.pool.run - 1);
    const epu_conv *c = &e->u.conv;
    return window_reach(
        &c->v, (s->mapping == PLAN_MAP_conv2d_pixel ? epu_min(c->tile, c->v.pixels) : c->run) - 1);
}

static const plan_buffer *base_of(const plan_buffer *b)
{
    return b && b->alias_of ? b->alias_of : b;
}

static bool reads_output_of(const plan_step *s, const plan_step *before)
{
    for (int32_t k = 0; k < IR_MAX_INPUTS; k++)
        if (s->inputs[k] && base_of(s->inputs[k]) == base_of(before->output))
            return true;
    return false;
}

/* ---- choice ---- */

/* Buffers at the start or the end of LRM, either of the pair first. */
static bool place_early(const plan *p, const plan_step *s, const ranges *late)
{
    epu_step *e = epu_of(s);
    const int32_t top = (p->hw.lrm_size - used_bytes(s)) / LRM_ALIGN * LRM_ALIGN;
    const bool pair = !is_conv(s) || e->u.conv.buffers == 2;
    for (int32_t i = 0; i < 8; i++) {
        const int32_t base = i < 4 ? 0 : top, buffer = i & 1, constant = i >> 1 & 1;
        ranges first = {.n = 0};
        if (buffer && !pair)
            continue;
        shift(s, base);
        add_loaded(s, buffer, constant, &first);
        if (disjoint(&first, late)) {
            ranges computed = {.n = 0};
            add_computed(s, &computed);
            e->first_buffer = buffer;
            e->first_constant = constant;
            e->settled = disjoint(&computed, late) && s->mapping != PLAN_MAP_conv2d_channel;
            return true;
        }
        shift(s, -base);
    }
    return false;
}

/* The window of a unit needs no variables, so that its load function can be called from elsewhere. */
static bool loads_plainly(const epu_conv *c)
{
    return c->n_parts == 1 && c->sets == 1 && c->v.images == 1 && !c->packed;
}

/* Whether the last unit of the convolution before can issue the first load of s. Activations must have
 * been handed to the store queue by then: all but the last two tiles of a pixel mapping have. */
static bool can_hand_over(const plan_step *before, const plan_step *s, const progress *g)
{
    epu_step *e = epu_of(s);
    const epu_conv *c = &e->u.conv;
    if (!is_conv(before) || epu_of(before)->u.conv.buffers != 2 || !is_conv(s) || c->buffers != 2)
        return false;
    if (s->mapping == PLAN_MAP_conv2d_channel)
        return true;
    if (before->mapping != PLAN_MAP_conv2d_pixel || !loads_plainly(c))
        return false;
    e->handed_results = e->spare < 0 ? 0 : g->results - e->spare;
    return e->spare < 0 || e->handed_results <= g->body - 2;
}

void epu_overlap(plan *p)
{
    for (size_t i = 1; i < p->n_steps; i++) {
        const plan_step *before = p->steps[i - 1], *s = p->steps[i];
        epu_step *e = epu_of(s);
        if (epu_is_scalar(before) || epu_of(before)->stage_out || e->stage_in[0] ||
            e->stage_in[1] || !(is_conv(s) || is_flat(s) || is_pool(s)))
            continue;
        const ranges late = late_ranges(p, before);
        const progress g = progress_of(p, before);
        if (!place_early(p, s, &late))
            continue;
        e->spare = reads_output_of(s, before) ? results_to_spare(&g, first_reach(p, s)) : -1;
        /* The last result is stored after the first load; only the channel mapping loads no activations. */
        e->early = e->spare != 0 || s->mapping == PLAN_MAP_conv2d_channel;
        e->handed = e->early && can_hand_over(before, s, &g);
    }
}
