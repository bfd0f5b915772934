/* SPDX-License-Identifier: Apache-2.0
 *
 * text.c - the pieces of C that the functions of the EPU program share: lines and loops,
 * addresses, descriptors, and how every layer begins and ends.
 */
#include "emit/epu/epu_emit.h"

#include <stdio.h>

/* ---- lines ---- */

static void put_indent(epu_emit *e)
{
    for (int32_t i = 0; i < e->depth; i++)
        str_put(e->c, "    ");
}

static void put_va(epu_emit *e, const char *fmt, va_list args)
{
    char text[1024];
    const int n = vsnprintf(text, sizeof text, fmt, args);
    str_putn(e->c, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

void epu_line(epu_emit *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_indent(e);
    put_va(e, fmt, args);
    va_end(args);
    str_put(e->c, "\n");
}

void epu_begin(epu_emit *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_indent(e);
    put_va(e, fmt, args);
    va_end(args);
    str_put(e->c, " {\n");
    e->depth++;
}

void epu_end(epu_emit *e)
{
    e->depth--;
    epu_line(e, "}");
}

void epu_loop(epu_emit *e, const char *name, int64_t count)
{
    if (count > 1)
        epu_begin(e, "for (uint32_t %s = 0; %s < %lldu; %s++)", name, name, (long long)count, name);
}

void epu_loop_end(epu_emit *e, int64_t count)
{
    if (count > 1)
        epu_end(e);
}

const char *epu_term(epu_emit *e, const char *name, int64_t count, int64_t times)
{
    if (count <= 1 || times == 0)
        return "";
    if (times == 1)
        return arena_printf(e->a, " + %s", name);
    return arena_printf(e->a, " + %s * %lldu", name, (long long)times);
}

/* ---- addresses and descriptors ---- */

uint32_t epu_address_of(const epu_emit *e, const plan_buffer *b)
{
    switch (b->space) {
    case PLAN_INPUT:
        return e->map.inputs[b->index];
    case PLAN_OUTPUT:
        return e->map.outputs[b->index];
    default:
        return 0x10000000u + (uint32_t)b->offset;
    }
}

const char *epu_address(epu_emit *e, const plan_buffer *b)
{
    const uint32_t at = epu_address_of(e, b);
    const bool ddr = at >= 0x40000000u;
    return arena_printf(e->a, "CCL_%s_BASE + %luu", ddr ? "DDR" : "OCM",
                        (unsigned long)(at - (ddr ? 0x40000000u : 0x10000000u)));
}

void epu_put_lanes(epu_emit *e, const char *name, int64_t total, const char *first, int64_t most)
{
    if (total <= most)
        epu_line(e, "const uint32_t %s = %lldu;", name, (long long)total);
    else if (total % most == 0)
        epu_line(e, "const uint32_t %s = %lldu;", name, (long long)most);
    else
        epu_line(e, "const uint32_t %s = %lldu - %s < %lldu ? %lldu - %s : %lldu;", name,
                 (long long)total, first, (long long)most, (long long)total, first,
                 (long long)most);
}

void epu_put_block(epu_emit *e, const char *name, epu_block b)
{
    epu_line(e,
             "static const ccl_block %s = {.lane_stride = %lld, .rows = %lld, .row_bytes = %lld, "
             ".row_stride = %lld};",
             name, (long long)b.lane_stride, (long long)b.rows, (long long)b.row_bytes,
             (long long)b.row_stride);
}

void epu_put_window(epu_emit *e, const plan_step *s, const epu_view *v, epu_lane_window w)
{
    epu_line(e, "%sccl_window %s = {", w.file ? "static const " : "", w.file ? w.file : "in");
    epu_line(e, "    .base = %s, .h = %d, .w = %d, .pixel_bytes = %lld, .row_bytes = %lld,",
             epu_address(e, epu_input(s, 0)), v->h, v->w, (long long)v->in_pixel,
             (long long)v->in_row);
    epu_line(
        e,
        "    .stride_y = %d, .stride_x = %d, .pad_y = %d, .pad_x = %d, .dil_y = %d, .dil_x = %d,",
        v->stride_h, v->stride_w * w.run, v->pad_top, v->pad_left, v->dil_h, v->dil_w);
    epu_line(e, "    .kh = %d, .kw = %d, .c = %d, .fill = %d, .ow = %d};", v->kh,
             v->kw + (w.run - 1) * v->stride_w, w.c, w.fill, v->ow / w.run);
}

const char *epu_clamp(epu_emit *e, const ir_node *n)
{
    return arena_printf(e->a, "CCL_CLAMP(%d, %d, %d)", (int)ir_int(n, "y_zero_point"),
                        (int)ir_int(n, "clamp_min"), (int)ir_int(n, "clamp_max"));
}

/* ---- layers ---- */

static void put_type(epu_emit *e, const ir_type *t)
{
    str_printf(e->c, "%s [", ir_dtype_name(t->dtype));
    for (int32_t i = 0; i < t->rank; i++)
        str_printf(e->c, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
    str_put(e->c, "]");
}

static void put_window_text(epu_emit *e, const plan_step *s)
{
    plan_window w;
    if (!plan_window_of(s, &w) || (w.kh == 1 && w.kw == 1 && w.stride_h == 1 && w.stride_w == 1))
        return;
    str_printf(e->c, ", window %d x %d, stride %d x %d, padding %d %d %d %d", w.kh, w.kw,
               w.stride_h, w.stride_w, w.pad[0], w.pad[1], w.pad[2], w.pad[3]);
    if (w.dil_h != 1 || w.dil_w != 1)
        str_printf(e->c, ", dilation %d x %d", w.dil_h, w.dil_w);
    if (w.groups != 1)
        str_printf(e->c, ", %d groups", w.groups);
}

void epu_put_comment(epu_emit *e, const plan_step *s, const char *lrm)
{
    static const char *const names[] = {
#define MAPPING(name, op, unit, meaning) #name ": " meaning,
#include "plan/mappings.def"
#undef MAPPING
        "scalar core"};
    const plan_buffer *x = s->inputs[0] ? s->inputs[0] : s->inputs[1];
    str_printf(e->c, "\n/* Layer %d, %s: %s\n * ", s->layer, emit_comment(e->a, s->name),
               s->node ? s->node->op->name : "relayout");
    if (x && x->value) {
        put_type(e, &x->value->type);
        str_put(e->c, " -> ");
    }
    put_type(e, &s->output->value->type);
    put_window_text(e, s);
    str_printf(e->c, "\n * %s", names[s->mapping]);
    if (s->text[0])
        str_printf(e->c, "\n * %s", s->text);
    if (lrm[0])
        str_printf(e->c, "\n * LRM: %s", lrm);
    str_put(e->c, " */\n");
}

void epu_put_load_head(epu_emit *e, const plan_step *s, const char *more, const char *unit)
{
    epu_line(e, "static void %s_load(const state *s, %suint32_t %s)", s->function, more, unit);
    str_put(e->c, "{\n");
    e->depth = 1;
}

void epu_put_head(epu_emit *e, const plan_step *s)
{
    epu_line(e, "static void %s(state *s)", s->function);
    str_put(e->c, "{\n");
    e->depth = 1;
}

void epu_put_wait_two_back(epu_emit *e, const char *queue, const char *event, const char *base,
                           const char *unit)
{
    epu_line(e, "if (%s > 1u)", unit);
    epu_line(e, "    ccl_wait(CCL_%s, E_%s, s->%s + %s - 1u);", queue, event, base, unit);
}

static void put_stage_in(epu_emit *e, const plan_step *s, int32_t k)
{
    const plan_buffer *from = s->inputs[k], *to = epu_of(s)->stage_in[k];
    epu_line(e, "/* Operand %d lies in DDR. */", k);
    epu_line(
        e, "static const ccl_dma stage_%d = {.dst = %s, .src = %s, .n0 = %lldu, .n1 = 1, .n2 = 1};",
        k, epu_address(e, to), epu_address(e, from), (long long)from->bytes);
    if (e->step > 0)
        epu_line(e, "ccl_wait(CCL_DMI, E_LAYER, %du); /* nothing uses that part of OCM any more */",
                 e->step);
    epu_line(e, "ccl_dmi(&stage_%d);", k);
    epu_line(e, "ccl_post(CCL_DMI, E_STAGED);");
    epu_line(e, "s->staged++;");
}

/* For the part of the output of the layer before that is needed first. */
static void put_wait_for_part(epu_emit *e, const plan_step *s, const char *queue)
{
    const epu_step *d = epu_of(s);
    if (d->spare > 0)
        epu_line(e,
                 "ccl_wait(CCL_%s, E_STORED, s->stored - %du); /* the part of its result that is "
                 "needed first */",
                 queue, d->spare);
    else if (d->spare == 0)
        epu_line(e, "ccl_wait(CCL_%s, E_LAYER, %du);", queue, e->step);
}

/* The first load runs while the layer before still computes its last unit. */
static void put_early_waits(epu_emit *e, const plan_step *s)
{
    epu_line(e, "/* The first load overlaps the end of the layer before: its local memory is free "
                "by then. */");
    if (e->step > 1)
        epu_line(e, "ccl_wait(CCL_ALD, E_LAYER, %du);", e->step - 1);
    epu_line(e, "ccl_wait(CCL_ALD, E_DONE, s->done - 1u);");
    if (s->mapping != PLAN_MAP_conv2d_channel)
        put_wait_for_part(e, s, "ALD");
}

void epu_put_start(epu_emit *e, const plan_step *s, bool by_arr)
{
    const epu_step *d = epu_of(s);
    bool staged = false;
    if (!d->early && e->step > 0)
        epu_line(e, "store_now(s);");
    if (!d->early) /* else the layer before has not stored all of its result yet */
        epu_line(e, "ccl_mark(%d);", s->layer);
    epu_line(e, "weights_ahead(s, %du);", d->first_tick);
    if (d->early) {
        if (!d->handed)
            put_early_waits(e, s);
        return;
    }
    for (int32_t k = 0; k < 2; k++) {
        if (!d->stage_in[k])
            continue;
        put_stage_in(e, s, k);
        staged = true;
    }
    for (int32_t q = 0; q < (by_arr ? 2 : 1); q++) {
        const char *queue = q ? "ARR" : "ALD";
        if (e->step > 0)
            epu_line(e, "ccl_wait(CCL_%s, E_LAYER, %du);%s", queue, e->step,
                     q ? "" : " /* the layer before is complete in OCM */");
        if (staged)
            epu_line(e, "ccl_wait(CCL_%s, E_STAGED, s->staged);", queue);
    }
}

void epu_put_first_loaded(epu_emit *e, const plan_step *s)
{
    if (!epu_of(s)->early)
        return;
    epu_line(e, "store_now(s);");
    epu_line(e, "ccl_mark(%d);", s->layer);
    epu_line(e, "ccl_wait(CCL_ALD, E_LAYER, %du); /* now the layer before is complete in OCM */",
             e->step);
    if (s->mapping == PLAN_MAP_conv2d_channel) /* here the broadcast port reads activations */
        put_wait_for_part(e, s, "ARR");
}

void epu_put_settle(epu_emit *e, const plan_step *s, const char *condition)
{
    const epu_step *d = epu_of(s);
    if (!d->early || d->settled)
        return;
    if (condition[0])
        epu_line(e, "if (%s)", condition);
    epu_line(e, "%sccl_wait(CCL_ARR, E_LAYER, %du); /* its results have left local memory */",
             condition[0] ? "    " : "", e->step);
}

const char *epu_buffer(epu_emit *e, const plan_step *s, const char *unit, epu_pair b)
{
    if (b.buffers == 1)
        return arena_printf(e->a, "%du", b.at);
    const char *which = epu_of(s)->first_buffer ? arena_printf(e->a, "(%s + 1u) %% 2u", unit)
                                                : arena_printf(e->a, "%s %% 2u", unit);
    return b.at ? arena_printf(e->a, "%du + %s * %du", b.at, which, b.bytes)
                : arena_printf(e->a, "%s * %du", which, b.bytes);
}

static void put_posts(epu_emit *e, const char *name, const char *count)
{
    if (count)
        epu_line(e, "s->%s += %s;", name, count);
}

void epu_put_end(epu_emit *e, const plan_step *s, const epu_posts *posts)
{
    const epu_step *d = epu_of(s);
    put_posts(e, "loaded", posts->loaded);
    put_posts(e, "done", posts->done);
    put_posts(e, "ready", posts->ready);
    put_posts(e, "stored", posts->stored);
    if (d->stage_out) {
        epu_line(e, "store_now(s);");
        epu_line(
            e,
            "static const ccl_dma to_ddr = {.dst = %s, .src = %s, .n0 = %lldu, .n1 = 1, .n2 = 1};",
            epu_address(e, s->output), epu_address(e, d->stage_out), (long long)s->output->bytes);
        epu_line(e, "ccl_wait(CCL_DMO, E_STORED, s->stored);");
        epu_line(e, "ccl_dmo(&to_ddr);");
        epu_line(e, "ccl_post(CCL_DMO, E_WRITTEN);");
        epu_line(e, "ccl_wait(CCL_AST, E_WRITTEN, ++s->written);");
    }
    epu_line(e, "layer_done(s);");
    e->depth = 0;
    epu_line(e, "}");
}
