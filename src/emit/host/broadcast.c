/* SPDX-License-Identifier: Apache-2.0
 *
 * broadcast.c - an element-wise layer whose operands have other shapes than its result: loops over the result in the
 * order in which it lies in memory, with a distance of 0 along every dimension that an operand repeats. The innermost
 * dimension is one kernel call where no operand repeats it.
 */
#include "emit/host/host.h"

/* Elements between neighbours along each dim of the result. */
typedef struct distances {
    int64_t d[IR_MAX_RANK];
} distances;

/* Dims of the result in the order of memory; returns how many. */
static int32_t memory_order(const plan_buffer *y, int32_t axes[IR_MAX_RANK])
{
    static const int32_t nhwc[4] = {0, 2, 3, 1};
    const int32_t rank = y->value->type.rank;
    int32_t n = 0;
    for (; n < rank && n < IR_MAX_RANK; n++)
        axes[n] = y->layout == PLAN_NHWC && rank == 4 ? nhwc[n] : n;
    return n;
}

/* A constant is spread to the result's shape, without its border. */
static distances of_constant(const plan_buffer *y)
{
    distances out = {{0}};
    int32_t axes[IR_MAX_RANK] = {0};
    int64_t step = 1;
    for (int32_t i = memory_order(y, axes) - 1; i >= 0; i--) {
        out.d[axes[i]] = step;
        step *= y->value->type.dims[axes[i]];
    }
    return out;
}

static distances of_buffer(const plan_buffer *b, const plan_buffer *y)
{
    distances out = {{0}};
    const ir_type *t = &b->value->type, *to = &y->value->type;
    const int64_t elem = (int64_t)ir_dtype_bytes(b->dtype);
    const int64_t images[4] = {b->image_bytes / elem, 1, b->row_bytes / elem,
                               b->pixel_bytes / elem};
    int64_t step = 1;
    for (int32_t i = t->rank - 1, d = to->rank - 1; i >= 0 && d >= 0; i--, d--) {
        const bool repeated = t->dims[i] != to->dims[d];
        out.d[d] = repeated ? 0 : b->layout == PLAN_NHWC && t->rank == 4 ? images[i] : step;
        step *= t->dims[i];
    }
    return out;
}

static void put_place(host_emit *e, const char *name, const distances *at, const ir_type *t,
                      const int32_t *axes, int32_t n)
{
    str_put(e->c, name);
    for (int32_t i = 0; i < n; i++)
        if (t->dims[axes[i]] > 1 && at->d[axes[i]] > 0)
            str_printf(e->c, " + i%d * %lld", axes[i], (long long)at->d[axes[i]]);
}

void host_put_broadcast(host_emit *e, const plan_step *s, const char *call)
{
    const plan_buffer *y = s->output;
    const ir_type *t = &y->value->type;
    const distances to = of_buffer(y, y);
    distances from[2];
    int32_t axes[IR_MAX_RANK] = {0};
    for (int32_t i = 0; i < 2; i++)
        from[i] = s->inputs[i] ? of_buffer(s->inputs[i], y) : of_constant(y);
    const int32_t rank = memory_order(y, axes), last = rank ? axes[rank - 1] : 0;
    const bool run = rank && to.d[last] == 1 && from[0].d[last] == 1 && from[1].d[last] == 1;
    const int32_t loops = run ? rank - 1 : rank;
    int32_t depth = 1;
    for (int32_t i = 0; i < loops; i++) {
        const int32_t d = axes[i];
        if (t->dims[d] > 1)
            str_printf(e->c, "%*sfor (int32_t i%d = 0; i%d < %lld; i%d++)\n", 4 * depth++, "", d, d,
                       (long long)t->dims[d], d);
    }
    str_printf(e->c, "%*s%s", 4 * depth, "", call);
    put_place(e, "a", &from[0], t, axes, loops);
    str_put(e->c, ", ");
    put_place(e, "b", &from[1], t, axes, loops);
    str_put(e->c, ", ");
    put_place(e, "y", &to, t, axes, loops);
    str_printf(e->c, ", %lld);\n", (long long)(run ? t->dims[last] : 1));
}

bool host_is_broadcast(const plan_step *s)
{
    for (int32_t i = 0; i < 2; i++) {
        const plan_buffer *in = s->inputs[i];
        /* A constant has no border, so its rows are not as far apart as those of a bordered result. */
        if (in ? !ir_type_equal(&in->value->type, &s->output->value->type)
               : host_has_border(s->output))
            return true;
    }
    return false;
}
