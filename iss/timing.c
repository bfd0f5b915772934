/* SPDX-License-Identifier: Apache-2.0
 *
 * timing.c - the closed form of docs/machine.md: when an operation starts, who it waits for, and the account of it. The
 * time of each queue is cut into operations and the gaps before them; every gap gets its reasons, so busy +
 * stalls = completion for each queue at any moment.
 */
#include "machine.h"

#include <stdlib.h>

/* Accounts queue time up to "until" to a reason and returns the later of both. */
static uint64_t stall_until(iss_machine *m, uint32_t queue, int reason, uint64_t from,
                            uint64_t until)
{
    if (until <= from)
        return from;
    m->total.stall[queue][reason] += until - from;
    return until;
}

static void note_span(iss_time *t, uint64_t from, uint64_t to)
{
    t->for_dmi[t->for_dmi_at++ % (sizeof t->for_dmi / sizeof t->for_dmi[0])] = (iss_span){from, to};
}

/* The entry of the operation queue_depth before must be complete. */
void time_issue(iss_machine *m, uint32_t queue)
{
    iss_time *t = &m->time;
    iss_queue *q = &t->queues[queue];
    const uint64_t slot = q->ring[q->ring_at % (uint32_t)m->hw.queue_depth];
    if (queue == CCL_DMI && slot > t->now)
        note_span(t, t->now, slot);
    t->now = stall_until(m, ISS_Q_SCALAR, ISS_STALL_FULL, t->now, slot) + 1;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Cycles from..to in which ARR had no work because of DMI. What an operation needs is issued before it, so its waits
 * are known. Spans may overlap, which counts twice, but never more than there are. */
static uint64_t starved(const iss_time *t, uint64_t from, uint64_t to)
{
    const uint32_t kept = sizeof t->for_dmi / sizeof t->for_dmi[0];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kept && from < to; i++) {
        const iss_span *s = &t->for_dmi[(t->for_dmi_at - 1 - i) % kept];
        const uint64_t a = later(s->from, from), b = s->to < to ? s->to : to;
        sum += b > a ? b - a : 0;
    }
    return sum < to - from ? sum : to - from;
}

static void complete(iss_machine *m, uint32_t queue, uint64_t start, uint64_t cost)
{
    iss_queue *q = &m->time.queues[queue];
    if (queue == CCL_ARR && start > q->end)
        m->total.starved += starved(&m->time, q->end, start);
    q->end = start + cost;
    q->ring[q->ring_at++ % (uint32_t)m->hw.queue_depth] = q->end;
    m->total.busy[queue] += cost;
    m->total.ops[queue]++;
}

void time_operation(iss_machine *m, uint32_t queue, uint64_t cost)
{
    iss_time *t = &m->time;
    iss_queue *q = &t->queues[queue];
    uint64_t start = stall_until(m, queue, ISS_STALL_IDLE, q->end, t->now);
    uint64_t *port = NULL;
    if (queue == CCL_DMI || queue == CCL_DMO) {
        const uint64_t request = later(t->now, q->ready);
        start =
            stall_until(m, queue, ISS_STALL_LATENCY, start, request + (uint64_t)m->hw.ddr_latency);
        port = &t->ddr_end;
    } else if (queue == CCL_ALD || queue == CCL_AST) {
        port = &t->port_end;
    }
    if (port)
        start = stall_until(m, queue, ISS_STALL_PORT, start, *port);
    complete(m, queue, start, cost);
    if (port)
        *port = q->end;
}

/* times[i] is the latest completion of the first i + 1 posts, in program order. */
bool time_post(iss_machine *m, uint32_t queue, uint32_t event)
{
    iss_time *t = &m->time;
    iss_event *e = &t->events[event];
    const uint64_t start = stall_until(m, queue, ISS_STALL_IDLE, t->queues[queue].end, t->now);
    complete(m, queue, start, 1);
    if (e->count == e->cap) {
        const size_t cap = e->cap ? e->cap * 2 : 64;
        uint64_t *times = realloc(e->times, cap * sizeof *times);
        if (!times)
            return false;
        e->times = times;
        e->cap = cap;
    }
    const uint64_t before = e->count ? e->times[e->count - 1] : 0;
    e->times[e->count++] = later(before, t->queues[queue].end);
    return true;
}

uint64_t time_event(const iss_machine *m, uint32_t event, uint32_t count)
{
    return count ? m->time.events[event].times[count - 1] : 0;
}

void time_wait(iss_machine *m, uint32_t queue, uint32_t event, uint32_t count)
{
    iss_time *t = &m->time;
    iss_queue *q = &t->queues[queue];
    const uint64_t met = time_event(m, event, count);
    uint64_t start = stall_until(m, queue, ISS_STALL_IDLE, q->end, t->now);
    if (met > start && (queue == CCL_ALD || queue == CCL_ARR) &&
        m->array.posters[event] == CCL_DMI + 1)
        note_span(t, start, met);
    start = stall_until(m, queue, ISS_STALL_WAIT, start, met);
    q->ready = later(q->ready, met);
    complete(m, queue, start, 1);
}

/* swait and drain: one cycle, then until the time. */
void time_scalar_wait(iss_machine *m, uint64_t until)
{
    m->time.now = stall_until(m, ISS_Q_SCALAR, ISS_STALL_WAIT, m->time.now + 1, until);
}

uint64_t time_completed(const iss_machine *m)
{
    uint64_t t = m->time.now;
    for (int q = 0; q < CCL_QUEUES; q++)
        t = later(t, m->time.queues[q].end);
    return t;
}

uint64_t time_computed(const iss_machine *m)
{
    return later(m->time.now, m->time.queues[CCL_ARR].end);
}
