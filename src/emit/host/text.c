/* SPDX-License-Identifier: Apache-2.0
 *
 * text.c - the small pieces of C that every function of the host program is made of: where a
 * buffer lies, comments, function heads, borders.
 */
#include "emit/host/host.h"

host_view host_view_of(host_emit *e, const plan_buffer *b)
{
    host_view v = {.b = b};
    switch (b->space) {
    case PLAN_INPUT:
        v.base = arena_printf(e->a, "m->in[%d]", b->index);
        break;
    case PLAN_OUTPUT:
        v.base = arena_printf(e->a, "m->out[%d]", b->index);
        break;
    case PLAN_CONSTANT:
        v.base = host_put_value(e, b->value, "uint8_t");
        break;
    case PLAN_ARENA:
        v.base = arena_printf(e->a, "m->arena + %lld", (long long)b->offset);
        break;
    }
    const int64_t inner = b->border[0] * b->row_bytes + b->border[1] * b->pixel_bytes;
    v.inside =
        inner ? arena_printf(e->a, "m->arena + %lld", (long long)(b->offset + inner)) : v.base;
    return v;
}

bool host_has_border(const plan_buffer *b)
{
    return b->border[0] || b->border[1] || b->border[2] || b->border[3];
}

const char *host_type_text(arena *a, const ir_type *t)
{
    str s;
    str_init(&s, a);
    str_printf(&s, "%s [", ir_dtype_name(t->dtype));
    for (int32_t i = 0; i < t->rank; i++)
        str_printf(&s, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
    str_put(&s, "]");
    return s.data;
}

void host_put_layer_comment(host_emit *e, const plan_step *s, const char *what)
{
    const plan_buffer *x = s->inputs[0] ? s->inputs[0] : s->inputs[1];
    str_printf(e->c, "\n/* Layer %d, %s: %s\n", s->layer, emit_comment(e->a, s->name),
               s->node ? s->node->op->name : "change of layout");
    if (x)
        str_printf(e->c, " * %s -> ", host_type_text(e->a, &x->value->type));
    else
        str_put(e->c, " * ");
    str_printf(e->c, "%s", host_type_text(e->a, &s->output->value->type));
    if (what[0])
        str_printf(e->c, "\n * %s", what);
    str_put(e->c, " */\n");
}

const char *host_function(host_emit *e, const plan_step *s, const char *suffix)
{
    return arena_printf(e->a, "%s_%s%s", e->p->module, s->function, suffix);
}

void host_put_function_begin(host_emit *e, const plan_step *s, const char *suffix)
{
    str_printf(e->c, "void %s(const %s_memory *m)\n{\n", host_function(e, s, suffix), e->p->module);
}

const char *host_bordered(host_emit *e, const plan_buffer *b)
{
    return arena_printf(
        e->a,
        "{.n = %d, .h = %d, .w = %d, .top = %d, .left = %d, .bottom = %d, .right = %d, "
        ".pixel_bytes = %lld}",
        b->dims.n, b->dims.h, b->dims.w, b->border[0], b->border[1], b->border[2], b->border[3],
        (long long)b->pixel_bytes);
}

void host_put_fill_border(host_emit *e, const plan_buffer *b, const char *base, int32_t value)
{
    if (!host_has_border(b))
        return;
    str_printf(e->c, "    const ccl_bordered border = %s;\n", host_bordered(e, b));
    str_printf(e->c, "    ccl_fill_border(%s, &border, %d);\n", base, value & 255);
}
