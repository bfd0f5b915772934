/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.c - the value after each layer of a traced run: what a hook saw in memory, kept row-major in p->values.
 * All memory is taken before the run, because a hook is called from inside the emitted program.
 */
#include "run/run.h"

run_layer *run_layer_by_id(const cgc_program *p, int32_t id)
{
    return id >= 1 && id <= p->n_layers ? &p->layers[id - 1] : NULL;
}

void run_trace_begin(cgc_program *p)
{
    p->values = arena_array(&p->result, (size_t)p->n_layers, sizeof *p->values);
    p->seen = arena_array(&p->result, (size_t)p->n_layers, sizeof *p->seen);
    for (int32_t i = 0; i < p->n_layers; i++) {
        p->values[i].type = p->layers[i].type;
        p->values[i].data = arena_alloc(&p->result, ir_type_bytes(&p->layers[i].type));
    }
}

void run_trace_put(cgc_program *p, const run_layer *layer, const run_place *place,
                   const void *memory)
{
    ir_tensor *v = &p->values[layer->id - 1];
    if (!place->present)
        return;
    run_place_read(place, &v->type, memory, v->data);
    p->seen[layer->id - 1] = true;
}
