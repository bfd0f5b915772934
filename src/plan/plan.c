/* SPDX-License-Identifier: Apache-2.0
 *
 * plan.c - lowered graph -> steps over buffers, the part that both targets share: layouts, relayout steps,
 * aliases of reshapes that move nothing, lifetimes, and the placement of buffers in the arena.
 * Invariant: each step reads buffers that earlier steps wrote, and only the buffers it names.
 */
#include "plan/plan.h"

#include <string.h>

enum { LAYOUTS = 2 };

/* What the builder knows of one value: its buffer in each layout, where it has one. */
typedef struct value_state {
    plan_buffer *in[LAYOUTS];
} value_state;

typedef struct builder {
    plan *p;
    value_state *states; /* by slot of the value */
    const ir_value **values;
    size_t n_values, cap_values, cap_states;
} builder;

plan_dims plan_dims_of(const ir_type *t)
{
    plan_dims d = {1, 1, 1, 1};
    if (t->rank == 4) {
        d.n = (int32_t)t->dims[0];
        d.c = (int32_t)t->dims[1];
        d.h = (int32_t)t->dims[2];
        d.w = (int32_t)t->dims[3];
    } else if (t->rank > 0) {
        d.c = (int32_t)t->dims[t->rank - 1];
        int64_t rows = 1;
        for (int32_t i = 0; i + 1 < t->rank; i++)
            rows *= t->dims[i];
        d.n = (int32_t)rows;
    }
    return d;
}

static value_state *state_of(builder *b, const ir_value *v)
{
    for (size_t i = 0; i < b->n_values; i++)
        if (b->values[i] == v)
            return &b->states[i];
    arena *a = b->p->arena;
    b->values = arena_grow(a, b->values, &b->cap_values, b->n_values + 1, sizeof *b->values);
    b->states = arena_grow(a, b->states, &b->cap_states, b->n_values + 1, sizeof *b->states);
    b->values[b->n_values] = v;
    b->states[b->n_values] = (value_state){{NULL, NULL}};
    return &b->states[b->n_values++];
}

static void set_strides(plan_buffer *buf)
{
    const int64_t elem = (int64_t)ir_dtype_bytes(buf->dtype);
    const plan_dims *d = &buf->dims;
    buf->pixel_bytes = elem * d->c;
    buf->row_bytes = buf->pixel_bytes * (d->w + buf->border[1] + buf->border[3]);
    buf->image_bytes = buf->row_bytes * (d->h + buf->border[0] + buf->border[2]);
    buf->bytes = buf->image_bytes * d->n;
}

static plan_buffer *new_buffer(plan *p, const ir_value *v, plan_layout layout, plan_space space)
{
    plan_buffer *buf = arena_alloc(p->arena, sizeof *buf);
    buf->id = (int32_t)p->n_buffers;
    buf->value = v;
    buf->layout = layout;
    buf->space = space;
    buf->first = -1;
    buf->last = -1;
    if (v) {
        buf->dtype = v->type.dtype;
        buf->dims = plan_dims_of(&v->type);
        set_strides(buf);
    }
    p->buffers =
        arena_grow(p->arena, p->buffers, &p->cap_buffers, p->n_buffers + 1, sizeof *p->buffers);
    p->buffers[p->n_buffers++] = buf;
    return buf;
}

/* ---- names ---- */

static bool name_taken(const plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_steps; i++)
        if (p->steps[i]->name && strcmp(p->steps[i]->name, name) == 0)
            return true;
    return false;
}

static bool is_edge_op(const ir_node *n)
{
    return !n || op_is(n, OP_quantize) || op_is(n, OP_dequantize) || op_is(n, OP_table);
}

/* The layer path alone names the layer's main operator; what stands around it says what it is. */
static const char *step_name(const plan *p, const ir_node *n, const ir_value *v)
{
    arena *a = p->arena;
    const char *what = n ? n->op->name : "relayout";
    const char *layer = n ? n->layer : v->node ? v->node->layer : "";
    const char *base = !layer[0]       ? what
                       : is_edge_op(n) ? arena_printf(a, "%s:%s", layer, what)
                                       : layer;
    const char *name = base;
    for (int32_t i = 2; name_taken(p, name); i++)
        name = arena_printf(a, "%s#%d", base, i);
    return name;
}

/* "L3_layer1_0_conv1": unique by the layer number, never a keyword. */
static const char *step_function(const plan *p, int32_t layer, const char *name)
{
    char *id = arena_printf(p->arena, "L%d_%.80s", layer, name);
    for (char *c = id; *c; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && !(*c >= '0' && *c <= '9'))
            *c = '_';
    }
    return id;
}

static plan_step *add_step(plan *p, const ir_node *n, plan_buffer *out)
{
    plan_step *s = arena_alloc(p->arena, sizeof *s);
    s->layer = (int32_t)p->n_steps + 1;
    s->node = n;
    s->output = out;
    s->name = step_name(p, n, out->value);
    s->function = step_function(p, s->layer, s->name);
    s->mapping = PLAN_MAP_scalar;
    s->reason = "";
    s->text = "";
    s->macs = n && n->op->macs ? n->op->macs(n) : 0;
    p->steps = arena_grow(p->arena, p->steps, &p->cap_steps, p->n_steps + 1, sizeof *p->steps);
    p->steps[p->n_steps++] = s;
    return s;
}

/* ---- layouts ---- */

/* The two layouts of these dims have the same bytes. */
static bool layouts_coincide(const plan_dims *d)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a value in use has one of its buffers */
    return d->c == 1 || (int64_t)d->h * d->w == 1;
}

/* A copy step from one buffer to another of the same value. */
static void add_relayout(builder *b, plan_buffer *from, plan_buffer *to)
{
    plan_step *s = add_step(b->p, NULL, to);
    s->inputs[0] = from;
    s->text = from->layout == to->layout ? "copy" : "change of layout";
}

/* The buffer of v in the wanted layout; relayouts when v only exists in the other. NULL for constants. */
static plan_buffer *get_buffer(builder *b, const ir_value *v, plan_layout want)
{
    if (v->kind == IR_VALUE_CONSTANT)
        return NULL;
    value_state *st = state_of(b, v);
    if (st->in[want])
        return st->in[want];
    plan_buffer *have = st->in[want == PLAN_NHWC ? PLAN_PLAIN : PLAN_NHWC];
    if (v->type.rank != 4) /* one layout only */
        return have;
    plan_buffer *made;
    if (layouts_coincide(&have->dims)) {
        made = new_buffer(b->p, v, want, have->space);
        made->alias_of = have->alias_of ? have->alias_of : have;
        made->index = have->index;
    } else {
        made = new_buffer(b->p, v, want, PLAN_ARENA);
        add_relayout(b, have, made);
    }
    state_of(b, v)->in[want] = made;
    return made;
}

static plan_buffer *any_buffer(builder *b, const ir_value *v)
{
    value_state *st = state_of(b, v);
    return st->in[PLAN_NHWC] ? st->in[PLAN_NHWC] : st->in[PLAN_PLAIN];
}

static bool is_window_op(const ir_node *n)
{
    return op_is(n, OP_qlinear_conv2d) || op_is(n, OP_conv2d) || op_is(n, OP_max_pool2d) ||
           op_is(n, OP_avg_pool2d) || op_is(n, OP_qnn_avg_pool2d) ||
           op_is(n, OP_global_avg_pool2d) || op_is(n, OP_adaptive_avg_pool2d);
}

/* Layout in which the node wants its activations. Element-wise operators follow their first activation. */
static plan_layout input_layout(builder *b, const ir_node *n)
{
    if (is_window_op(n))
        return PLAN_NHWC;
    if (op_is(n, OP_dense) || op_is(n, OP_qlinear_dense))
        return PLAN_PLAIN;
    if (op_is(n, OP_channel_affine))
        return n->inputs[0]->type.rank == 4 ? PLAN_NHWC : PLAN_PLAIN;
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] && n->inputs[i]->kind != IR_VALUE_CONSTANT)
            return any_buffer(b, n->inputs[i])->layout;
    return PLAN_PLAIN;
}

static bool is_graph_output(const ir_graph *g, const ir_value *v)
{
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == v)
            return true;
    return false;
}

/* A plain result that nothing else reads goes straight to the caller. */
static plan_buffer *result_buffer(builder *b, const ir_node *n, plan_layout layout)
{
    const ir_value *v = n->results[0];
    const ir_graph *g = b->p->graph;
    if (is_graph_output(g, v) && ir_use_count(g, v) == 1 && layout == PLAN_PLAIN) {
        plan_buffer *out = new_buffer(b->p, v, PLAN_PLAIN, PLAN_OUTPUT);
        for (size_t i = 0; i < g->n_outputs; i++)
            if (g->outputs[i] == v)
                out->index = (int32_t)i;
        return out;
    }
    return new_buffer(b->p, v, layout, PLAN_ARENA);
}

static plan_layout output_layout(builder *b, const ir_node *n, plan_layout in)
{
    const ir_value *v = n->results[0];
    if (v->type.rank != 4)
        return PLAN_PLAIN;
    if (op_is(n, OP_quantize)) /* transposes itself */
        return PLAN_NHWC;
    const ir_graph *g = b->p->graph;
    if (op_is(n, OP_dequantize) && is_graph_output(g, v) && ir_use_count(g, v) == 1)
        return PLAN_PLAIN;
    return in;
}

static void alias_buffer(builder *b, const ir_value *v, plan_layout layout, plan_buffer *of)
{
    plan_buffer *buf = new_buffer(b->p, v, layout, of->space);
    buf->alias_of = of->alias_of ? of->alias_of : of;
    buf->index = of->index;
    state_of(b, v)->in[layout] = buf;
}

/* NHWC bytes stay in place when images and channels stay apart from the pixels. */
static void build_reshape(builder *b, const ir_node *n)
{
    const ir_value *from = n->inputs[0], *to = n->results[0];
    const plan_dims a = plan_dims_of(&from->type), c = plan_dims_of(&to->type);
    const bool images = from->type.rank == 4 && to->type.rank == 4 && a.n == c.n && a.c == c.c;
    plan_buffer *nhwc = from->type.rank == 4 ? state_of(b, from)->in[PLAN_NHWC] : NULL;
    if (images && nhwc)
        alias_buffer(b, to, PLAN_NHWC, nhwc);
    else
        alias_buffer(b, to, PLAN_PLAIN, get_buffer(b, from, PLAN_PLAIN));
}

static cgc_status build_node(builder *b, const ir_node *n)
{
    plan *p = b->p;
    if (n->n_results != 1)
        return diag(p->ctx, CGC_E_OP, ir_where(n, NULL),
                    "operators with several results have no lowering yet");
    if (op_is(n, OP_reshape) && n->inputs[0]->kind != IR_VALUE_CONSTANT) {
        build_reshape(b, n);
        return CGC_OK;
    }
    const plan_layout in = input_layout(b, n);
    plan_buffer *inputs[IR_MAX_INPUTS] = {NULL};
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const ir_value *v = n->inputs[i];
        if (!v || v->kind == IR_VALUE_CONSTANT)
            continue;
        /* quantize takes either layout and gives NHWC. */
        inputs[i] = op_is(n, OP_quantize) ? any_buffer(b, v) : get_buffer(b, v, in);
    }
    const plan_layout out = output_layout(b, n, in);
    plan_buffer *result = result_buffer(b, n, out);
    plan_step *s = add_step(p, n, result);
    memcpy(s->inputs, inputs, sizeof inputs);
    state_of(b, n->results[0])->in[out] = result;
    return CGC_OK;
}

/* Graph outputs that no step has written yet are copied. */
static cgc_status build_outputs(builder *b)
{
    plan *p = b->p;
    const ir_graph *g = p->graph;
    for (size_t i = 0; i < g->n_outputs; i++) {
        const ir_value *v = g->outputs[i];
        plan_buffer *from = v->kind == IR_VALUE_CONSTANT ? NULL : any_buffer(b, v);
        if (from && from->space == PLAN_OUTPUT && !from->alias_of && from->index == (int32_t)i)
            continue;
        if (!from) {
            from = new_buffer(p, v, PLAN_PLAIN, PLAN_CONSTANT);
            state_of(b, v)->in[PLAN_PLAIN] = from;
        }
        plan_buffer *out = new_buffer(p, v, PLAN_PLAIN, PLAN_OUTPUT);
        out->index = (int32_t)i;
        add_relayout(b, from, out);
    }
    return CGC_OK;
}

static void touch(plan_buffer *buf, int32_t step)
{
    plan_buffer *base = buf->alias_of ? buf->alias_of : buf;
    if (base->first < 0)
        base->first = step;
    base->last = step;
}

static void set_lifetimes(plan *p)
{
    for (size_t i = 0; i < p->n_steps; i++) {
        plan_step *s = p->steps[i];
        for (int32_t k = 0; k < IR_MAX_INPUTS; k++)
            if (s->inputs[k])
                touch(s->inputs[k], (int32_t)i);
        touch(s->output, (int32_t)i);
    }
}

cgc_status plan_build(ir_graph *graph, plan_target target, const char *module, plan **out)
{
    plan *p = arena_alloc(&graph->arena, sizeof *p);
    p->ctx = graph->ctx;
    p->arena = &graph->arena;
    p->graph = graph;
    p->target = target;
    p->module = module;
    builder b = {.p = p};
    for (size_t i = 0; i < graph->n_inputs; i++) {
        plan_buffer *buf = new_buffer(p, graph->inputs[i], PLAN_PLAIN, PLAN_INPUT);
        buf->index = (int32_t)i;
        state_of(&b, graph->inputs[i])->in[PLAN_PLAIN] = buf;
    }
    for (size_t i = 0; i < graph->n_nodes; i++)
        TRY(build_node(&b, graph->nodes[i]));
    TRY(build_outputs(&b));
    set_lifetimes(p);
    *out = p;
    return CGC_OK;
}

plan_buffer *plan_add_scratch(plan *p, plan_step *s, int64_t bytes)
{
    plan_buffer *buf = new_buffer(p, NULL, PLAN_PLAIN, PLAN_ARENA);
    buf->dtype = IR_int8;
    buf->bytes = bytes;
    buf->first = buf->last = s->layer - 1;
    return buf;
}

/* ---- windows ---- */

static void window_attrs(const ir_node *n, plan_window *w)
{
    const int64_t *stride = ir_ints(n, "strides"), *pad = ir_ints(n, "padding");
    w->stride_h = (int32_t)stride[0];
    w->stride_w = (int32_t)stride[1];
    for (int32_t i = 0; i < 4; i++)
        w->pad[i] = (int32_t)pad[i];
}

static void set_kernel(const int64_t *k, plan_window *w)
{
    w->kh = (int32_t)k[0];
    w->kw = (int32_t)k[1];
}

bool plan_window_of(const plan_step *s, plan_window *out)
{
    const ir_node *n = s->node;
    if (!n)
        return false;
    const plan_dims in = plan_dims_of(&n->inputs[0]->type), o = plan_dims_of(&n->results[0]->type);
    plan_window w = {.in = in,
                     .out = o,
                     .kh = 1,
                     .kw = 1,
                     .stride_h = 1,
                     .stride_w = 1,
                     .dil_h = 1,
                     .dil_w = 1,
                     .groups = 1};
    if (op_is(n, OP_qlinear_conv2d) || op_is(n, OP_conv2d)) {
        window_attrs(n, &w);
        set_kernel(ir_ints(n, "kernel_size"), &w);
        w.dil_h = (int32_t)ir_ints(n, "dilation")[0];
        w.dil_w = (int32_t)ir_ints(n, "dilation")[1];
        w.groups = (int32_t)ir_int(n, "groups");
    } else if (op_is(n, OP_max_pool2d) || op_is(n, OP_avg_pool2d) || op_is(n, OP_qnn_avg_pool2d)) {
        window_attrs(n, &w);
        set_kernel(ir_ints(n, "pool_size"), &w);
        if (op_is(n, OP_max_pool2d)) {
            w.dil_h = (int32_t)ir_ints(n, "dilation")[0];
            w.dil_w = (int32_t)ir_ints(n, "dilation")[1];
        }
    } else if (op_is(n, OP_global_avg_pool2d) || op_is(n, OP_adaptive_avg_pool2d)) {
        w.kh = w.stride_h = in.h / o.h;
        w.kw = w.stride_w = in.w / o.w;
    } else if (op_is(n, OP_dense) || op_is(n, OP_qlinear_dense)) {
        /* rank-4 operands are plain here: the last dim is what is summed over */
        const ir_type *t = &n->inputs[0]->type, *r = &n->results[0]->type;
        /* NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): infer gives rank >= 1 */
        const int64_t k = t->dims[t->rank - 1], units = r->dims[r->rank - 1];
        const int64_t rows = ir_type_elems(t) / k;
        w.in = (plan_dims){(int32_t)rows, (int32_t)k, 1, 1};
        w.out = (plan_dims){(int32_t)rows, (int32_t)units, 1, 1};
    } else {
        return false;
    }
    *out = w;
    return true;
}

/* ---- placement ---- */

static bool placeable(const plan_buffer *b)
{
    return b->space == PLAN_ARENA && !b->alias_of && b->first >= 0;
}

/* Larger first; ties by the earlier buffer, so that the order is total. */
static bool goes_before(const plan_buffer *a, const plan_buffer *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->id < b->id;
}

static bool lives_with(const plan_buffer *a, const plan_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Lowest offset at which buf meets no placed buffer that lives at the same time. */
static int64_t first_fit(plan_buffer *const *placed, size_t n, const plan_buffer *buf,
                         int64_t align)
{
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < n; i++) {
            const plan_buffer *o = placed[i];
            if (lives_with(o, buf) && at < o->offset + o->bytes && o->offset < at + buf->bytes) {
                at = (o->offset + o->bytes + align - 1) / align * align;
                moved = true;
            }
        }
    }
    return at;
}

cgc_status plan_memory(plan *p, int64_t align)
{
    plan_buffer **order = arena_array(p->arena, p->n_buffers, sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < p->n_buffers; i++) {
        if (!placeable(p->buffers[i]))
            continue;
        size_t k = n++;
        for (; k > 0 && goes_before(p->buffers[i], order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = p->buffers[i];
    }
    p->arena_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        order[i]->offset = first_fit(order, i, order[i], align);
        const int64_t end = order[i]->offset + order[i]->bytes;
        p->arena_bytes = end > p->arena_bytes ? end : p->arena_bytes;
    }
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i]->alias_of)
            p->buffers[i]->offset = p->buffers[i]->alias_of->offset;
    return CGC_OK;
}
