/* SPDX-License-Identifier: Apache-2.0
 *
 * stats.c - figures of the run and of each layer. A layer's figures are what the totals grew by between its marks.
 * Its cycles are the growth of the completion of ARR and the scalar core: a transfer or load asked for in a layer
 * may serve a later one, whose array then waits for it. Time after the last operation of a queue counts as idle and
 * goes to the last layer, so layers add up to the run.
 */
#include "machine.h"

#include <stdlib.h>

/* a += b - c for every counter; peaks are not sums. */
static void add_growth(iss_stats *a, const iss_stats *b, const iss_stats *c)
{
    a->cycles += b->cycles - c->cycles;
    a->instructions += b->instructions - c->instructions;
    a->macs += b->macs - c->macs;
    a->starved += b->starved - c->starved;
    a->ddr_read_bytes += b->ddr_read_bytes - c->ddr_read_bytes;
    a->ddr_write_bytes += b->ddr_write_bytes - c->ddr_write_bytes;
    for (int q = 0; q < ISS_QUEUES; q++) {
        a->busy[q] += b->busy[q] - c->busy[q];
        a->ops[q] += b->ops[q] - c->ops[q];
        for (int s = 0; s < ISS_STALLS; s++)
            a->stall[q][s] += b->stall[q][s] - c->stall[q][s];
    }
}

/* The scalar core is busy whenever it does not stall. */
void stats_settle(iss_machine *m)
{
    iss_stats *t = &m->total;
    uint64_t stalls = 0;
    for (int s = 0; s < ISS_STALLS; s++)
        stalls += t->stall[ISS_Q_SCALAR][s];
    t->busy[ISS_Q_SCALAR] = m->time.now - stalls;
    t->ops[ISS_Q_SCALAR] = m->instructions;
    t->instructions = m->instructions;
    t->cycles = time_computed(m);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool grow_layers(iss_machine *m, uint32_t layer)
{
    int32_t cap = m->cap_layers ? m->cap_layers : 64;
    while (cap <= (int32_t)layer)
        cap *= 2;
    if (cap > m->cap_layers) {
        iss_stats *p = realloc(m->layers, (size_t)cap * sizeof *p);
        if (!p)
            return false;
        memset(p + m->cap_layers, 0, (size_t)(cap - m->cap_layers) * sizeof *p);
        m->layers = p;
        m->cap_layers = cap;
    }
    if (m->n_layers <= (int32_t)layer)
        m->n_layers = (int32_t)layer + 1;
    return true;
}

bool stats_end_layer(iss_machine *m, uint32_t layer)
{
    epu *e = &m->array;
    if (!grow_layers(m, layer))
        return false;
    stats_settle(m);
    iss_stats *l = &m->layers[layer];
    add_growth(l, &m->total, &m->at_mark);
    l->ocm_peak_bytes = larger(l->ocm_peak_bytes, e->ocm_peak);
    l->lrm_peak_bytes = larger(l->lrm_peak_bytes, e->lrm_peak);
    m->total.ocm_peak_bytes = larger(m->total.ocm_peak_bytes, e->ocm_peak);
    m->total.lrm_peak_bytes = larger(m->total.lrm_peak_bytes, e->lrm_peak);
    m->at_mark = m->total;
    e->ocm_peak = e->lrm_peak = 0;
    if (m->mark_fn)
        m->mark_fn(m->mark_ud, m, layer);
    return true;
}

void stats_end_run(iss_machine *m)
{
    const uint64_t end = time_completed(m);
    for (int q = 0; q < CCL_QUEUES; q++)
        m->total.stall[q][ISS_STALL_IDLE] += end - m->time.queues[q].end;
    m->total.stall[ISS_Q_SCALAR][ISS_STALL_IDLE] += end - m->time.now;
    m->time.now = end;
    (void)stats_end_layer(
        m, m->array.layer); /* out of memory: totals stay right, the layer is missing */
}

void iss_get_stats(const iss_machine *m, iss_stats *out_total)
{
    *out_total = m->total;
}

int32_t iss_layer_count(const iss_machine *m)
{
    return m->n_layers;
}

void iss_get_layer_stats(const iss_machine *m, int32_t layer, iss_stats *out_stats)
{
    *out_stats = layer >= 0 && layer < m->n_layers ? m->layers[layer] : (iss_stats){0};
}
