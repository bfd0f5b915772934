/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c - lowered graph -> plan of the host program: kernels, borders, byte storage of the VNNI
 * variant, residual adds fused into convolutions, memory. Invariant: whatever the variant, a
 * buffer has one place and one shape; a border is only given to buffers whose readers all
 * understand it.
 */
#include "plan/host.h"

#include <string.h>

enum { ARENA_ALIGN = 64 };

static const char *kernel_name(const plan_step *s)
{
    if (!s->node)
        return "relayout";
    const op_info *op = s->node->op;
    const char *kernel = s->node->inputs[0]->type.dtype == IR_int8 ? op->kernel_s8 : op->kernel_f32;
    return kernel ? kernel : "";
}

/* ---- which steps have a VNNI function ---- */

static bool add_fits(const plan_step *s, host_step *h)
{
    const plan_buffer *a = s->inputs[0], *b = s->inputs[1];
    return a && b && a->layout == b->layout && a->layout == s->output->layout &&
           ir_type_equal(&a->value->type, &b->value->type) &&
           ir_type_equal(&a->value->type, &s->output->value->type) &&
           host_sum_plan(s->node, &h->sum);
}

/* All windows have the same divisor, so that the multiplier is one constant. */
static bool avg_pool_fits(const plan_step *s)
{
    const ir_node *n = s->node;
    plan_window w;
    if (!plan_window_of(s, &w) || ir_bool(n, "ceil_mode"))
        return false;
    const bool padded = w.pad[0] || w.pad[1] || w.pad[2] || w.pad[3];
    if (padded && !ir_bool(n, "count_include_pad") && ir_int(n, "divisor_override") == 0)
        return false;
    const double most =
        255.0 * w.kh * w.kw * (double)ir_float(n, "x_scale") / (double)ir_float(n, "y_scale");
    return (int64_t)w.kh * w.kw < 1 << 22 && most < 1.0e9;
}

static bool quantize_fits(const plan_step *s)
{
    const plan_buffer *x = s->inputs[0];
    return x && x->layout == PLAN_PLAIN && s->output->layout == PLAN_NHWC &&
           ir_float(s->node, "scale") > 0;
}

static void choose_kernel(plan *p, plan_step *s)
{
    host_step *h = arena_alloc(p->arena, sizeof *h);
    s->detail = h;
    h->kernel = kernel_name(s);
    if (!s->node)
        return;
    const bool s8 = s->inputs[0] && s->inputs[0]->dtype == IR_int8;
    if (op_is(s->node, OP_qlinear_conv2d) || op_is(s->node, OP_qlinear_dense))
        h->vnni = host_conv_plan(s, &h->conv);
    else if (op_is(s->node, OP_qnn_add))
        h->vnni = add_fits(s, h);
    else if (op_is(s->node, OP_max_pool2d))
        h->vnni = s8;
    else if (op_is(s->node, OP_qnn_avg_pool2d))
        h->vnni = s8 && avg_pool_fits(s);
    else if (op_is(s->node, OP_quantize))
        h->vnni = quantize_fits(s);
}

/* ---- borders ---- */

static bool has_alias(const plan *p, const plan_buffer *b)
{
    if (b->alias_of)
        return true;
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i]->alias_of == b)
            return true;
    return false;
}

/* Pixels beyond the image that the windows of a convolution touch: top, left, bottom, right. */
static void border_needed(const plan_window *w, int32_t need[4])
{
    need[0] = w->pad[0];
    need[1] = w->pad[1];
    need[2] = (w->out.h - 1) * w->stride_h + (w->kh - 1) * w->dil_h + 1 - w->pad[0] - w->in.h;
    need[3] = (w->out.w - 1) * w->stride_w + (w->kw - 1) * w->dil_w + 1 - w->pad[1] - w->in.w;
    need[2] = need[2] < 0 ? 0 : need[2];
    need[3] = need[3] < 0 ? 0 : need[3];
}

static bool is_padded(const plan_window *w)
{
    int32_t need[4];
    border_needed(w, need);
    return need[0] || need[1] || need[2] || need[3];
}

static void set_border(plan_buffer *b, const int32_t border[4])
{
    memcpy(b->border, border, sizeof b->border);
    b->row_bytes = b->pixel_bytes * (b->dims.w + border[1] + border[3]);
    b->image_bytes = b->row_bytes * (b->dims.h + border[0] + border[2]);
    b->bytes = b->image_bytes * b->dims.n;
}

/* Can this step read b if b has a border of value zp? */
static bool reads_border(const plan_step *s, const plan_buffer *b, int32_t zp)
{
    plan_window w;
    if (!s->node)
        return false;
    if (op_is(s->node, OP_qlinear_conv2d))
        return plan_window_of(s, &w) && (!is_padded(&w) || ir_int(s->node, "x_zero_point") == zp);
    if (op_is(s->node, OP_table))
        return true;
    return op_is(s->node, OP_qnn_add) && s->inputs[0] && s->inputs[1] &&
           ir_type_equal(&s->inputs[0]->value->type, &s->inputs[1]->value->type) &&
           b->layout == PLAN_NHWC;
}

/* The first convolution that pads b decides the value; every reader must agree. */
static void choose_border(plan *p, plan_buffer *b)
{
    int32_t border[4] = {0};
    const ir_node *first = NULL;
    if (b->space != PLAN_ARENA || b->layout != PLAN_NHWC || b->dtype != IR_int8 || has_alias(p, b))
        return;
    for (size_t i = 0; i < p->n_steps; i++) {
        const plan_step *s = p->steps[i];
        const host_step *h = s->detail;
        if (s->output == b && !s->node)
            return; /* a change of layout writes whole tensors */
        if (s->inputs[0] != b || !h->vnni || !op_is(s->node, OP_qlinear_conv2d))
            continue;
        int32_t need[4];
        border_needed(&h->conv.win, need);
        for (int32_t k = 0; k < 4; k++)
            border[k] = need[k] > border[k] ? need[k] : border[k];
        if (!first && is_padded(&h->conv.win))
            first = s->node;
    }
    if (!first)
        return;
    const int32_t zp = (int32_t)ir_int(first, "x_zero_point");
    for (size_t i = 0; i < p->n_steps; i++)
        for (int32_t k = 0; k < IR_MAX_INPUTS; k++)
            if (p->steps[i]->inputs[k] == b && !reads_border(p->steps[i], b, zp))
                return;
    b->border_value = zp;
    set_border(b, border);
}

/* ---- storage in the VNNI variant ---- */

static bool serves(const plan_buffer *b, const host_conv *c)
{
    int32_t need[4];
    if (b->space != PLAN_ARENA)
        return false;
    border_needed(&c->win, need);
    for (int32_t k = 0; k < 4; k++)
        if (b->border[k] < need[k])
            return false;
    return true;
}

static plan_buffer *add_copy(plan *p, plan_step *s, const host_conv *c)
{
    int32_t need[4];
    border_needed(&c->win, need);
    plan_buffer *copy = plan_add_scratch(p, s, 0);
    copy->dims = c->win.in;
    copy->layout = PLAN_NHWC;
    copy->pixel_bytes = c->win.in.c;
    copy->border_value = (int32_t)ir_int(s->node, "x_zero_point");
    set_border(copy, need);
    return copy;
}

/* A VNNI convolution reads unsigned bytes inside a border, in the arena; what is not so is
 * copied first. */
static void choose_storage(plan *p)
{
    host_plan *hp = p->detail;
    for (size_t i = 0; i < p->n_steps; i++) {
        plan_step *s = p->steps[i];
        host_step *h = s->detail;
        const bool conv =
            h->vnni && (op_is(s->node, OP_qlinear_conv2d) || op_is(s->node, OP_qlinear_dense));
        hp->has_vnni = hp->has_vnni || h->vnni;
        if (!conv)
            continue;
        if (!serves(s->inputs[0], &h->conv))
            h->conv.copy = add_copy(p, s, &h->conv);
        const plan_buffer *read = h->conv.copy ? h->conv.copy : s->inputs[0];
        memcpy(h->conv.x_border, read->border, sizeof h->conv.x_border);
    }
    hp->is_unsigned = arena_array(p->arena, p->n_buffers, sizeof *hp->is_unsigned);
    for (size_t i = 0; i < p->n_steps; i++) {
        const host_step *h = p->steps[i]->detail;
        if (h->conv.steps > 0)
            hp->is_unsigned[h->conv.copy ? h->conv.copy->id
                                         : host_base(p->steps[i]->inputs[0])->id] = true;
    }
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i]->space == PLAN_ARENA && !p->buffers[i]->alias_of)
            p->buffers[i]->bytes += HOST_SLACK;
}

/* ---- residual adds ---- */

static int32_t readers(const plan *p, const plan_buffer *b)
{
    int32_t n = 0;
    for (size_t i = 0; i < p->n_steps; i++)
        for (int32_t k = 0; k < IR_MAX_INPUTS; k++)
            n += p->steps[i]->inputs[k] && host_base(p->steps[i]->inputs[k]) == host_base(b);
    return n;
}

/* conv, then an add that alone reads its result: the convolution adds before it stores. The sum
 * is then written while the convolution still reads its input, so its buffer lives from that
 * step on. */
static void fuse_sums(plan *p)
{
    for (size_t i = 0; i + 1 < p->n_steps; i++) {
        plan_step *c = p->steps[i], *a = p->steps[i + 1];
        host_step *hc = c->detail, *ha = a->detail;
        if (!hc->vnni || !ha->vnni || !op_is(c->node, OP_qlinear_conv2d) ||
            !op_is(a->node, OP_qnn_add))
            continue;
        const int32_t k = a->inputs[0] == c->output ? 0 : 1;
        if (a->inputs[k] != c->output || a->inputs[1 - k] == c->output ||
            readers(p, c->output) != 1)
            continue;
        hc->fused = a;
        hc->sum_operand = k;
        ha->fused_into = c;
        plan_buffer *out = a->output->alias_of ? a->output->alias_of : a->output;
        if (out->first > (int32_t)i)
            out->first = (int32_t)i;
    }
}

/* ---- working memory of the portable functions ---- */

static void add_scratch(plan *p, plan_step *s)
{
    host_step *h = s->detail;
    const plan_buffer *x = s->inputs[0], *y = s->output;
    const plan_dims *d = &y->dims;
    if (!s->node || !x || x->layout == y->layout)
        return;
    if (op_is(s->node, OP_quantize)) /* one row of planes */
        h->scratch = plan_add_scratch(p, s, (int64_t)d->c * d->w);
    else if (op_is(s->node, OP_dequantize)) /* one image, channels last */
        h->scratch = plan_add_scratch(p, s, 4 * (int64_t)d->c * d->h * d->w);
}

static const char *describe(plan *p, const plan_step *s)
{
    const host_step *h = s->detail;
    const host_conv *c = &h->conv;
    if (!h->vnni || c->steps == 0)
        return h->fused_into ? "AVX-512: done by the convolution before" : h->vnni ? "AVX-512" : "";
    return arena_printf(
        p->arena, "AVX-512: tiles of %d x %d pixels x %d channels, %d steps of 4 bytes%s",
        c->rows.size[0], c->cols.size[0],
        c->group_channels < HOST_TILE_CHANNELS ? c->group_channels : HOST_TILE_CHANNELS,
        c->win.kh * c->runs * c->steps, h->fused ? ", then the residual add" : "");
}

cgc_status plan_host(ir_graph *graph, const char *module, plan **out)
{
    plan *p;
    TRY(plan_build(graph, PLAN_HOST, module, &p));
    p->detail = arena_alloc(p->arena, sizeof(host_plan));
    for (size_t i = 0; i < p->n_steps; i++)
        choose_kernel(p, p->steps[i]);
    for (size_t i = 0; i < p->n_buffers; i++)
        choose_border(p, p->buffers[i]);
    for (size_t i = 0; i < p->n_steps; i++)
        add_scratch(p, p->steps[i]);
    choose_storage(p);
    fuse_sums(p);
    for (size_t i = 0; i < p->n_steps; i++)
        p->steps[i]->text = describe(p, p->steps[i]);
    TRY(plan_memory(p, ARENA_ALIGN));
    *out = p;
    return CGC_OK;
}
