/* SPDX-License-Identifier: Apache-2.0
 *
 * scalar.c - layers that the array does not take: the same function that the portable host program
 * has, run by the scalar core on OCM and DDR, between the layers before (all complete) and the
 * layers after.
 */
#include "emit/epu/epu_emit.h"
#include "emit/host/host.h"

static bool is_usable(const plan_step *s)
{
    for (int32_t i = 0; i < IR_MAX_INPUTS; i++)
        if (s->inputs[i])
            return true;
    return false;
}

/* The layer's function, printed by the host emitter: its constants go to the scalar part of the weights. */
static cgc_status put_kernel(epu_emit *e, plan_step *s)
{
    host_emit *h = e->scalar;
    host_step facts = {.kernel = ""};
    void *detail = s->detail;
    const char *text = s->text;
    h->c = e->c;
    s->detail = &facts;
    s->text = arena_printf(e->a, "scalar core: %s", s->reason);
    const cgc_status status = host_put_portable(h, s);
    s->detail = detail;
    s->text = text;
    return status;
}

cgc_status epu_put_scalar(epu_emit *e, plan_step *s)
{
    const epu_step *d = epu_of(s);
    if (!is_usable(s))
        return diag(e->p->ctx, CGC_E_OP,
                    (diag_info){.layer = s->name, .op = s->node ? s->node->op->name : "relayout"},
                    "a layer without activations has no EPU lowering");
    TRY(put_kernel(e, s));
    str_put(e->c, "\n");
    epu_put_head(e, s);
    if (e->step > 0)
        epu_line(e, "store_now(s);");
    epu_line(e, "ccl_mark(%d);", s->layer);
    epu_line(e, "weights_ahead(s, %du);", d->first_tick);
    if (e->step > 0)
        epu_line(e, "ccl_swait(E_LAYER, %du); /* every layer before is complete */", e->step);
    epu_line(e, "%s_%s(&s->memory);", e->p->module, s->function);
    epu_line(e, "ccl_post(CCL_AST, E_LAYER);");
    e->depth = 0;
    epu_line(e, "}");
    return CGC_OK;
}
