/* SPDX-License-Identifier: Apache-2.0
 *
 * manifest.c - manifest.json: what runners and reports need to know of an emitted program (docs/program.md).
 * Deterministic: keys in a fixed order, no paths, no time.
 */
#include "emit/emit.h"

static void put_shape(str *s, const ir_type *t)
{
    str_put(s, "[");
    for (int32_t i = 0; i < t->rank; i++)
        str_printf(s, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    str_put(s, "]");
}

static void put_edge(str *s, const char *name, const ir_type *t, uint32_t ddr)
{
    str_put(s, "{\"name\": ");
    json_put_string(s, name);
    str_printf(s, ", \"dtype\": \"%s\", \"shape\": ", ir_dtype_name(t->dtype));
    put_shape(s, t);
    str_printf(s, ", \"ddr\": %lu}", (unsigned long)ddr);
}

static void put_hw(str *s, const cgc_hw *hw)
{
    const char *sep = "";
#define PARAM(name, type, def, lo, hi, unit, meaning)                                              \
    str_printf(s, "%s\"%s\": %ld", sep, #name, (long)hw->name);                                    \
    sep = ", ";
#include "hwconfig.def"
#undef PARAM
}

static void put_edges(str *s, const ir_graph *g, const emit_epu_map *map)
{
    str_put(s, " \"inputs\": [");
    for (size_t i = 0; i < g->n_inputs; i++) {
        str_put(s, i ? ",\n  " : "\n  ");
        put_edge(s, g->inputs[i]->name, &g->inputs[i]->type, map->inputs[i]);
    }
    str_put(s, "],\n \"outputs\": [");
    for (size_t i = 0; i < g->n_outputs; i++) {
        str_put(s, i ? ",\n  " : "\n  ");
        put_edge(s, g->output_names[i], &g->outputs[i]->type, map->outputs[i]);
    }
    str_put(s, "],\n");
}

static void put_value(str *s, const plan_step *step)
{
    const ir_value *v = step->output->value;
    if (v->kind == IR_VALUE_RESULT)
        str_printf(s, "\"%%%d\"", v->node->id);
    else
        json_put_string(s, v->name ? v->name : "");
}

static void put_facts(str *s, const char *key, const str *facts)
{
    if (facts && facts->len)
        str_printf(s, ",\n   \"%s\": %s", key, facts->data);
}

static void put_layer(str *s, const plan_step *step, const str *host, const str *epu)
{
    str_printf(s, "{\"id\": %d, \"name\": ", step->layer);
    json_put_string(s, step->name);
    str_put(s, ", \"op\": ");
    json_put_string(s, step->node ? step->node->op->name : "relayout");
    str_put(s, ", \"value\": ");
    put_value(s, step);
    const ir_type *type = &step->output->value->type;
    str_printf(s, ", \"dtype\": \"%s\", \"shape\": ", ir_dtype_name(type->dtype));
    put_shape(s, type);
    str_printf(s, ", \"macs\": %lld", (long long)step->macs);
    put_facts(s, "epu", epu);
    put_facts(s, "host", host);
    str_put(s, "}");
}

cgc_status emit_manifest(const plan *host, const plan *epu, const str *host_layers,
                         const str *epu_layers, const emit_epu_map *map, emit_tree *t)
{
    str *s = &emit_add(t, "manifest.json")->text;
    str_put(s, "{\"format\": 1, \"module\": ");
    json_put_string(s, epu->module);
    str_put(s, ",\n \"hw\": {");
    put_hw(s, &epu->hw);
    str_put(s, "},\n");
    put_edges(s, epu->graph, map);
    str_printf(s, " \"weights_ddr\": %lu, \"weights_bytes\": %llu, \"ddr_bytes\": %llu,\n",
               (unsigned long)map->weights, (unsigned long long)map->weights_bytes,
               (unsigned long long)map->bytes);
    str_put(s, " \"layers\": [");
    for (size_t i = 0; i < epu->n_steps; i++) {
        str_put(s, i ? ",\n  " : "\n  ");
        put_layer(s, epu->steps[i], i < host->n_steps ? &host_layers[i] : NULL, &epu_layers[i]);
    }
    str_put(s, "]}\n");
    return CGC_OK;
}
