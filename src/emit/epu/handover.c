/* SPDX-License-Identifier: Apache-2.0
 *
 * handover.c - the last unit of a convolution asks for the first loads of the layer after it
 * (epu_step.handed), where its own next loads would stand. Variable `next` of the printed text
 * counts them.
 */
#include "emit/epu/epu_emit.h"

const plan_step *epu_handed_next(const epu_emit *e)
{
    const size_t i = (size_t)e->step + 1;
    const plan_step *next = i < e->p->n_steps ? e->p->steps[i] : NULL;
    return next && epu_of(next)->handed ? next : NULL;
}

int32_t epu_load_calls(const plan_step *s)
{
    const epu_conv *c = &epu_of(s)->u.conv;
    if (s->mapping == PLAN_MAP_conv2d_pixel || c->sets_per_piece)
        return 1;
    return (int32_t)epu_ceil(c->part_bytes, c->column_bytes);
}

/* The load function takes the number of a column of weights (conv2d_channel.c). */
static bool takes_column(const plan_step *s)
{
    return s->mapping == PLAN_MAP_conv2d_channel && epu_of(s)->u.conv.sets_per_piece == 0;
}

void epu_put_handed_prototype(epu_emit *e)
{
    const plan_step *next = epu_handed_next(e);
    if (next)
        str_printf(e->c, "\nstatic void %s_load(const state *s, uint32_t unit%s);\n",
                   next->function, takes_column(next) ? ", uint32_t column" : "");
}

static void put_call(epu_emit *e, const plan_step *next)
{
    if (epu_load_calls(next) > 1)
        epu_line(e, "%s_load(s, 0, next++);", next->function);
    else
        epu_line(e, "%s_load(s, 0%s);", next->function, takes_column(next) ? ", 0" : "");
}

void epu_put_handover_begin(epu_emit *e, const plan_step *s, bool always)
{
    const plan_step *next = epu_handed_next(e);
    const int32_t units = epu_of(s)->units;
    if (!next)
        return;
    if (epu_load_calls(next) > 1)
        epu_line(e, "uint32_t next = 0; /* first loads of layer %d asked for */", next->layer);
    if (!always)
        epu_begin(e, "if (unit == %du) /* the last unit asks for the first load of layer %d */",
                  units - 1, next->layer);
    epu_line(e, "ccl_wait(CCL_ALD, E_DONE, s->done + %du);", units - 1);
    if (epu_of(next)->handed_results)
        epu_line(e, "ccl_wait(CCL_ALD, E_STORED, s->stored + %du);", epu_of(next)->handed_results);
    if (epu_load_calls(next) == 1)
        put_call(e, next);
    if (!always)
        epu_end(e);
}

void epu_put_handover(epu_emit *e, const plan_step *s, const char *word, int32_t times)
{
    const plan_step *next = epu_handed_next(e);
    if (!next || epu_load_calls(next) == 1)
        return;
    const char *last = arena_printf(e->a, "unit == %du && ", epu_of(s)->units - 1);
    for (int32_t i = 0; i < times; i++) {
        epu_line(e, "%s (%snext < %du)", word, epu_of(s)->units > 1 ? last : "",
                 epu_load_calls(next));
        e->depth++;
        put_call(e, next);
        e->depth--;
    }
}
