/* SPDX-License-Identifier: Apache-2.0
 *
 * epu_stream.c - the weight stream: every step's weights, constants and tables as pieces in the
 * order of their first use, and a walk over the program's issue points that gives each piece a
 * place in OCM, the earliest issue point of its DMA, and the events which that DMA must wait for.
 * OCM above the activations is used as a ring: a piece goes behind the one before it, or back to
 * the lowest address that no activation needs between now and its last use.
 * Invariants: a piece's memory is not used by anything else from its DMA to its last read; a DMA
 * waits for the reads of everything that lay in its memory before; each of those events is posted
 * earlier in the program.
 */
#include "plan/epu.h"

enum { OCM_ALIGN = 64, QUEUE_ENTRIES = 4 /* of one piece in the DMI queue */ };

/* ---- which pieces a step needs ---- */

static epu_piece *add_piece(plan *p, int32_t step, int64_t bytes)
{
    epu_program *g = epu_program_of(p);
    g->pieces = arena_grow(p->arena, g->pieces, &g->cap_pieces, g->n_pieces + 1, sizeof *g->pieces);
    epu_piece *w = &g->pieces[g->n_pieces++];
    *w = (epu_piece){.step = step, .bytes = bytes, .ddr = g->weights_bytes, .part = -1, .ocm = -1};
    w->last_unit = epu_of(p->steps[step])->units - 1;
    g->weights_bytes += epu_ceil(bytes, OCM_ALIGN) * OCM_ALIGN;
    return w;
}

static void add_set_pieces(plan *p, int32_t step, const epu_conv *c, int32_t units_of_set)
{
    const bool pixel = p->steps[step]->mapping == PLAN_MAP_conv2d_pixel;
    for (int32_t set = 0; set < c->sets; set += c->sets_per_piece) {
        const int32_t n = epu_min(c->sets_per_piece, c->sets - set);
        epu_piece *w = add_piece(p, step, n * c->set_bytes);
        w->set = set;
        w->sets = n;
        w->first_unit = set * units_of_set;
        if (set + n < c->sets) /* the last piece also serves a tail */
            w->last_unit = (set + n) * units_of_set - 1;
        w->by_arr = pixel;
    }
}

static void add_conv_pieces(plan *p, int32_t step, const epu_step *e)
{
    const epu_conv *c = &e->u.conv;
    if (c->sets_per_piece) {
        add_set_pieces(p, step, c, (e->units - (c->tail ? 1 : 0)) / c->sets);
        return;
    }
    for (int32_t unit = 0; unit < e->units; unit++) {
        const int32_t part = unit % c->n_parts, row = c->parts[part].bytes;
        for (int32_t at = 0; at < row; at += c->column_bytes) {
            const int32_t width = epu_min(c->column_bytes, row - at),
                          constants = part || at ? 0 : EPU_CONST_BYTES;
            epu_piece *w = add_piece(p, step, (int64_t)c->block * (width + constants));
            w->set = unit / c->n_parts;
            w->sets = 1;
            w->part = part;
            w->column = at;
            w->first_unit = w->last_unit = unit;
        }
    }
}

static void add_step_pieces(plan *p, int32_t step)
{
    const plan_step *s = p->steps[step];
    const epu_step *e = epu_of(s);
    switch (s->mapping) {
    case PLAN_MAP_conv2d_pixel:
    case PLAN_MAP_conv2d_channel:
        add_conv_pieces(p, step, e);
        break;
    case PLAN_MAP_table:
        add_piece(p, step, 256)->last_unit = 0;
        break;
    case PLAN_MAP_add:
        for (int32_t k = 0; k < 2; k++)
            if (!s->inputs[k])
                add_piece(p, step, e->u.flat.elements)->set = k;
        break;
    case PLAN_MAP_avg_pool2d: {
        const epu_pool *f = &e->u.pool;
        const int64_t ones = f->global ? (int64_t)f->parts * f->part : 0;
        epu_piece *w = add_piece(p, step, (int64_t)f->n_consts * EPU_CONST_BYTES + ones);
        w->by_arr = f->global;
        if (!f->global && !f->counts_vary)
            w->last_unit = 0;
        break;
    }
    default:
        break;
    }
}

static void add_pieces(plan *p)
{
    epu_program *g = epu_program_of(p);
    int32_t by_arr = 0, by_ald = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        epu_step *e = epu_of(p->steps[i]);
        e->first_piece = (int32_t)g->n_pieces;
        add_step_pieces(p, (int32_t)i);
        e->n_pieces = (int32_t)g->n_pieces - e->first_piece;
    }
    for (size_t i = 0; i < g->n_pieces; i++)
        g->pieces[i].order = g->pieces[i].by_arr ? ++by_arr : ++by_ald;
}

/* ---- placing ---- */

typedef struct walk {
    plan *p;
    size_t next;      /* piece to issue */
    int32_t step, at; /* issue point: step and its number within the step */
    int64_t now, ddr; /* estimated cycles: of the array, and when DDR is free */
    int64_t *ends;    /* estimated end of each piece's DMA */
    int64_t cursor;   /* OCM: end of the newest piece */
} walk;

/* Issue point of its step at which the piece must have been issued: the start of the unit that issues the read. */
static int32_t needed_at(const epu_step *e, const epu_piece *w)
{
    if (w->first_unit == 0)
        return w->by_arr ? 1 : 0;
    return 1 + (w->first_unit - (w->by_arr ? 0 : 1)) * e->ticks;
}

/* The piece must be issued at this issue point: a read of it comes before the next one. */
static bool is_due(const walk *k, const epu_piece *w)
{
    const epu_step *e = epu_of(k->p->steps[w->step]);
    if (w->step == k->step)
        return needed_at(e, w) <= k->at;
    if (w->step != k->step + 1 || !e->handed || w->first_unit > 0 || w->by_arr)
        return false;
    const epu_step *before = epu_of(k->p->steps[k->step]);
    return k->at >= 1 + (before->units - 1) * before->ticks;
}

/* The read that frees the piece has been issued before this issue point. */
static bool is_freed(const walk *k, const epu_piece *w)
{
    if (w->step != k->step)
        return w->step < k->step;
    const epu_step *e = epu_of(k->p->steps[k->step]);
    if (w->by_arr)
        return k->at >= 1 + (w->last_unit + 1) * e->ticks;
    return k->at >= 1 + w->last_unit * e->ticks; /* loads of a unit are over when it begins */
}

int64_t epu_activation_end(const plan *p, int32_t first, int32_t last)
{
    int64_t end = 0;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const plan_buffer *b = p->buffers[i];
        if (b->space == PLAN_ARENA && !b->alias_of && b->first >= 0 && b->first <= last &&
            b->last >= first)
            end = epu_max(end, b->offset + b->bytes);
    }
    return epu_ceil(end, OCM_ALIGN) * OCM_ALIGN;
}

static bool meets(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* Whether the next piece can lie at `ocm` from now on. If not, *out_up is where to try next. */
static bool is_free(const walk *k, const epu_piece *w, int64_t ocm, int64_t *out_up)
{
    const plan *p = k->p;
    const epu_program *g = epu_program_of(p);
    for (size_t i = 0; i < k->next; i++) {
        const epu_piece *o = &g->pieces[i];
        if (meets(ocm, w->bytes, o->ocm, o->bytes) && !is_freed(k, o)) {
            *out_up = epu_ceil(o->ocm + o->bytes, OCM_ALIGN) * OCM_ALIGN;
            return false;
        }
    }
    for (size_t i = 0; i < p->n_buffers; i++) {
        const plan_buffer *b = p->buffers[i];
        /* At the first issue point of a step that begins early the one before has not ended yet. */
        const bool early = k->at == 0 && epu_of(p->steps[k->step])->early;
        const int32_t now = early ? k->step - 1 : k->step;
        if (b->space == PLAN_ARENA && !b->alias_of && b->first >= 0 && b->first <= w->step &&
            b->last >= now && meets(ocm, w->bytes, b->offset, b->bytes)) {
            *out_up = epu_ceil(b->offset + b->bytes, OCM_ALIGN) * OCM_ALIGN;
            return false;
        }
    }
    return true;
}

/* Ring order first, then the lowest gap. */
static bool find_place(const walk *k, const epu_piece *w, int64_t *out)
{
    const int64_t size = k->p->hw.ocm_size;
    const int64_t low = epu_activation_end(k->p, k->step, w->step);
    int64_t up = 0, at = k->cursor + w->bytes <= size && k->cursor >= low ? k->cursor : low;
    if (at + w->bytes <= size && is_free(k, w, at, &up)) {
        *out = at;
        return true;
    }
    for (at = 0; at + w->bytes <= size; at = up)
        if (is_free(k, w, at, &up)) {
            *out = at;
            return true;
        }
    return false;
}

static void set_waits(const walk *k, epu_piece *w)
{
    const plan *p = k->p;
    const epu_program *g = epu_program_of(p);
    for (size_t i = 0; i < k->next; i++) {
        const epu_piece *o = &g->pieces[i];
        int32_t *count = o->by_arr ? &w->wait_arr : &w->wait_ald;
        if (meets(w->ocm, w->bytes, o->ocm, o->bytes) && *count < o->order)
            *count = o->order;
    }
    for (size_t i = 0; i < p->n_buffers; i++) {
        const plan_buffer *b = p->buffers[i];
        if (b->space == PLAN_ARENA && !b->alias_of && b->first >= 0 && b->last < k->step &&
            w->wait_layer <= b->last && meets(w->ocm, w->bytes, b->offset, b->bytes))
            w->wait_layer = b->last + 1;
    }
}

/* Pieces whose DMA should still be running: more of them would only fill the queue and stop the scalar core. */
static int32_t outstanding(const walk *k)
{
    int32_t n = 0;
    for (size_t i = k->next; i > 0 && k->ends[i - 1] > k->now; i--)
        n++;
    return n;
}

static bool wants(const walk *k, const epu_piece *w)
{
    const int32_t depth = k->p->hw.queue_depth / QUEUE_ENTRIES;
    if (outstanding(k) >= (depth > 2 ? depth : 2))
        return false;
    /* A step with transfers of its own goes first. */
    return epu_of(k->p->steps[k->step])->ddr_cycles == 0 || w->step <= k->step + 1;
}

static cgc_status no_place(const walk *k, const epu_piece *w)
{
    plan *p = k->p;
    const plan_step *s = p->steps[w->step];
    const int64_t room = p->hw.ocm_size - epu_activation_end(p, w->step, w->step);
    diag_info info = {
        .layer = s->name, .op = s->node ? s->node->op->name : "", .setting = "ocm_size"};
    info.found =
        arena_printf(p->arena, "%lld bytes beside the activations of the layer", (long long)room);
    info.wanted = arena_printf(p->arena, "%lld bytes", (long long)w->bytes);
    info.cure = "choose a target with more OCM";
    return diag(p->ctx, CGC_E_FIT, info, "the weights of the layer do not fit OCM");
}

/* There is no room for a piece that is due: the step does without overlap. False: it has none. */
static bool give_way(const walk *k, const epu_piece *w)
{
    epu_step *e = epu_of(k->p->steps[w->step]);
    if (e->handed) {
        e->handed = false;
        return true;
    }
    if (e->early && w->step == k->step && k->at == 0) {
        e->early = false;
        return true;
    }
    return false;
}

/* Issues pieces at the current issue point as far as they are wanted or needed and have a place. */
static cgc_status issue(walk *k)
{
    plan *p = k->p;
    epu_program *g = epu_program_of(p);
    while (k->next < g->n_pieces) {
        epu_piece *w = &g->pieces[k->next];
        const bool now = is_due(k, w);
        if (!now && !wants(k, w))
            return CGC_OK;
        int64_t at = 0;
        if (!find_place(k, w, &at)) {
            if (!now)
                return CGC_OK;
            if (!give_way(k, w))
                return no_place(k, w);
            continue;
        }
        w->ocm = at;
        set_waits(k, w);
        w->tick = epu_of(p->steps[k->step])->first_tick + k->at;
        k->cursor = epu_ceil(at + w->bytes, OCM_ALIGN) * OCM_ALIGN;
        g->ocm_peak = epu_max(g->ocm_peak, at + w->bytes);
        k->ddr = epu_max(k->ddr, k->now) + epu_ceil(w->bytes, p->hw.ddr_bytes_per_cycle);
        k->ends[k->next++] = k->ddr;
    }
    return CGC_OK;
}

/* The array waits for the pieces that the step needs up to this issue point. */
static void await(walk *k, const epu_step *e)
{
    const epu_program *g = epu_program_of(k->p);
    for (int32_t i = e->first_piece; i < e->first_piece + e->n_pieces && (size_t)i < k->next; i++)
        if (needed_at(e, &g->pieces[i]) <= k->at)
            k->now = epu_max(k->now, k->ends[i]);
}

static cgc_status walk_step(walk *k)
{
    epu_step *e = epu_of(k->p->steps[k->step]);
    const int32_t points = e->units * e->ticks;
    const int64_t start = k->now;
    k->ddr = e->ddr_cycles ? epu_max(k->ddr, k->now) + e->ddr_cycles : k->ddr;
    for (k->at = 0; k->at <= points; k->at++) {
        TRY(issue(k));
        await(k, e);
        if (points)
            k->now += e->cycles * (k->at + 1) / points - e->cycles * k->at / points;
    }
    k->now = epu_max(k->now, start + e->cycles);
    return CGC_OK;
}

cgc_status epu_stream(plan *p)
{
    epu_program *g = epu_program_of(p);
    add_pieces(p);
    walk k = {.p = p, .ends = arena_array(p->arena, g->n_pieces + 1, sizeof *k.ends)};
    int32_t tick = 1;
    for (size_t i = 0; i < p->n_steps; i++) {
        epu_step *e = epu_of(p->steps[i]);
        e->first_tick = tick;
        tick += 1 + e->units * e->ticks;
    }
    k.cursor = epu_activation_end(p, 0, 0);
    g->ocm_peak = p->arena_bytes;
    for (size_t i = 0; i < p->n_steps; i++) {
        k.step = (int32_t)i;
        TRY(walk_step(&k));
    }
    g->cycles = k.now;
    return CGC_OK;
}
