/* SPDX-License-Identifier: Apache-2.0
 *
 * report.c - report.txt: where each layer runs and why, its tiles and memory, and every note of the compiler.
 * Nothing is silent: a layer on the scalar core is listed with its reason.
 */
#include "emit/emit.h"

#include <string.h>

static const char *mapping_name(plan_mapping_id id)
{
    static const char *const names[] = {
#define MAPPING(name, op, unit, meaning) #name,
#include "plan/mappings.def"
#undef MAPPING
        "scalar"};
    return names[id];
}

static void put_head(str *s, const plan *epu, const plan *host)
{
    const cgc_hw *hw = &epu->hw;
    str_printf(s, "Compile report of %s\n\n", epu->module);
    str_printf(s, "target: %d x %d PEs, %d MAC/cycle each, ", hw->array_size, hw->array_size,
               hw->macs_per_pe);
    str_printf(s, "LRM %d bytes, OCM %d bytes, DDR %d bytes/cycle\n", hw->lrm_size, hw->ocm_size,
               hw->ddr_bytes_per_cycle);
    if (hw->num_cores > 1)
        str_printf(s, "cores: %d described, 1 used (a program does not spread over cores yet)\n",
                   hw->num_cores);
    str_printf(s, "activations: OCM peak %lld bytes; host arena %lld bytes\n\n",
               (long long)epu->arena_bytes, (long long)host->arena_bytes);
}

static void put_step(str *s, const plan_step *step)
{
    str_printf(s, "%5d  %-34s %-28s %-15s %14lld  ", step->layer, step->name,
               step->node ? step->node->op->name : "relayout", mapping_name(step->mapping),
               (long long)step->macs);
    if (strncmp(step->text, step->reason, strlen(step->text)) != 0) { /* else said already */
        str_put(s, step->text);
        str_put(s, step->reason[0] ? "; " : "");
    }
    if (step->reason[0])
        str_printf(s, "scalar core: %s", step->reason);
    str_put(s, "\n");
}

cgc_status emit_report(const plan *host, const plan *epu, emit_tree *t)
{
    str *s = &emit_add(t, "report.txt")->text;
    put_head(s, epu, host);
    str_printf(s, "%5s  %-34s %-28s %-15s %14s  %s\n", "layer", "name", "operator", "mapping",
               "MACs", "tiles");
    int64_t macs = 0;
    int32_t scalar = 0;
    for (size_t i = 0; i < epu->n_steps; i++) {
        put_step(s, epu->steps[i]);
        macs += epu->steps[i]->macs;
        scalar += epu->steps[i]->mapping == PLAN_MAP_scalar;
    }
    str_printf(s, "\n%s, %lld MACs, %d on the scalar core\n",
               text_count(t->arena, (int64_t)epu->n_steps, "layer"), (long long)macs, scalar);
    const int32_t notes = cgc_ctx_note_count(t->ctx);
    if (notes)
        str_put(s, "\nNotes\n");
    for (int32_t i = 0; i < notes; i++)
        str_printf(s, "- %s\n", cgc_ctx_note_get(t->ctx, i));
    return CGC_OK;
}
