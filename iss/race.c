/* SPDX-License-Identifier: Apache-2.0
 *
 * race.c - the race detector: vector clocks over the five queues and the scalar core, and for every byte of DDR, OCM,
 * LRM and the accumulators its last write and last reads. An access that is not ordered after a conflicting one is a
 * race whatever the simulated times are. Order: scalar core before what it issues, operations of one queue,
 * post before wait, swait and drain. LRM is tracked once for all PEs: lanes always begin at 0, so two
 * accesses to one LRM address always meet in PE 0.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    UNITS = ISS_QUEUES,
    LINE = 64,
    PAGE = 4096,
    PAGE_LINES = PAGE / LINE,
    MOST_RACES = 1024,
    SPACES = 4
};

typedef struct clock_vector {
    uint32_t at[UNITS];
} clock_vector;

/* Who did it: the index-th operation of a unit. Number 0 is nobody. */
typedef struct record {
    uint32_t unit, index, pc;
} record;

typedef struct cell {
    uint32_t write, reads[UNITS]; /* numbers of records */
} cell;

typedef struct line {
    cell all;    /* every byte, while bytes is NULL */
    cell *bytes; /* [LINE] */
} line;

typedef struct event_clocks {
    clock_vector *posts; /* posts[i]: what is complete when the event has counted i + 1 */
    size_t count, cap;
} event_clocks;

typedef struct wait_count {
    uint64_t runs, ordering;
} wait_count;

typedef struct race_entry {
    uint32_t first, second; /* records */
    uint32_t address;
    int32_t space;
    char first_place[256], second_place[256];
} race_entry;

struct race {
    bool stop_at_first, no_memory;
    clock_vector clocks[UNITS];
    event_clocks events[EPU_EVENTS];
    record *records;
    size_t n_records, cap_records;
    uint32_t *scalar_records; /* per instruction of the text: its latest record */
    wait_count *waits;        /* per instruction of the text */
    uint32_t current;         /* record whose accesses are being noted */
    line **pages[SPACES];
    size_t n_pages[SPACES];
    race_entry *races;
    int32_t n_races, cap_races;
};

static const char *const unit_names[UNITS] = {"DMI", "DMO", "ALD", "AST", "ARR", "scalar core"};
static const char *const space_names[SPACES] = {"DDR", "OCM", "LRM", "accumulators"};

static void join(clock_vector *a, const clock_vector *b)
{
    for (int i = 0; i < UNITS; i++)
        a->at[i] = a->at[i] > b->at[i] ? a->at[i] : b->at[i];
}

static uint32_t new_record(struct race *r, uint32_t unit, uint32_t index, uint32_t pc)
{
    if (r->n_records == r->cap_records) {
        const size_t cap = r->cap_records ? r->cap_records * 2 : 1024;
        record *p = cap < UINT32_MAX ? realloc(r->records, cap * sizeof *p) : NULL;
        if (!p) {
            r->no_memory = true;
            return 0;
        }
        r->records = p;
        r->cap_records = cap;
        if (r->n_records == 0)
            r->records[r->n_records++] = (record){0}; /* number 0 */
    }
    r->records[r->n_records] = (record){unit, index, pc};
    return (uint32_t)r->n_records++;
}

static bool ordered(const struct race *r, uint32_t earlier)
{
    const record *e = &r->records[earlier];
    return r->clocks[r->records[r->current].unit].at[e->unit] >= e->index;
}

static bool known(const struct race *r, uint32_t first, uint32_t second, int space)
{
    for (int32_t i = r->n_races - 1; i >= 0; i--) {
        const race_entry *e = &r->races[i];
        if (e->space == space && r->records[e->first].pc == r->records[first].pc &&
            r->records[e->second].pc == r->records[second].pc)
            return true;
    }
    return false;
}

/* A pair of places is listed once. */
static void report(iss_machine *m, uint32_t earlier, int space, uint32_t offset)
{
    static const uint32_t bases[SPACES] = {CCL_DDR_BASE, CCL_OCM_BASE, 0, 0};
    struct race *r = m->race;
    if (r->n_races == MOST_RACES || known(r, earlier, r->current, space))
        return;
    if (r->n_races == r->cap_races) {
        const int32_t cap = r->cap_races ? r->cap_races * 2 : 16;
        race_entry *p = realloc(r->races, (size_t)cap * sizeof *p);
        if (!p) {
            r->no_memory = true;
            return;
        }
        r->races = p;
        r->cap_races = cap;
    }
    race_entry *e = &r->races[r->n_races++];
    *e = (race_entry){
        .first = earlier, .second = r->current, .address = bases[space] + offset, .space = space};
    iss_place(m, r->records[earlier].pc, e->first_place, sizeof e->first_place);
    iss_place(m, r->records[r->current].pc, e->second_place, sizeof e->second_place);
}

/* One access to everything that a cell stands for. */
static void see(iss_machine *m, cell *c, int space, uint32_t offset, bool write)
{
    struct race *r = m->race;
    if (c->write && c->write != r->current && !ordered(r, c->write))
        report(m, c->write, space, offset);
    if (!write) {
        c->reads[r->records[r->current].unit] = r->current;
        return;
    }
    for (int u = 0; u < UNITS; u++) {
        if (c->reads[u] && c->reads[u] != r->current && !ordered(r, c->reads[u]))
            report(m, c->reads[u], space, offset);
        c->reads[u] = 0;
    }
    c->write = r->current;
}

static line *line_at(struct race *r, int space, uint32_t offset)
{
    const size_t page = offset / PAGE;
    if (page >= r->n_pages[space]) {
        r->no_memory = true; /* cannot happen: pages cover each space */
        return NULL;
    }
    line **p = &r->pages[space][page];
    if (!*p)
        *p = calloc(PAGE_LINES, sizeof **p);
    if (!*p) {
        r->no_memory = true;
        return NULL;
    }
    return *p + offset % PAGE / LINE;
}

static bool split(struct race *r, line *l)
{
    l->bytes = malloc(LINE * sizeof *l->bytes);
    if (!l->bytes) {
        r->no_memory = true;
        return false;
    }
    for (int i = 0; i < LINE; i++)
        l->bytes[i] = l->all;
    return true;
}

/* n bytes of one line from byte "from" on. */
static void see_line(iss_machine *m, line *l, int space, uint32_t offset, uint32_t n, bool write)
{
    const uint32_t from = offset % LINE;
    if (!l->bytes && n == LINE) {
        see(m, &l->all, space, offset, write);
        return;
    }
    if (!l->bytes && !split(m->race, l))
        return;
    for (uint32_t i = 0; i < n; i++)
        see(m, &l->bytes[from + i], space, offset + i, write);
    if (write && n == LINE) { /* all the same again */
        l->all = l->bytes[0];
        free(l->bytes);
        l->bytes = NULL;
    }
}

static void touch(epu *e, int space, uint32_t offset, uint32_t bytes, int write)
{
    iss_machine *m = e->owner;
    while (bytes > 0) {
        const uint32_t room = LINE - offset % LINE, n = bytes < room ? bytes : room;
        line *l = line_at(m->race, space, offset);
        if (!l)
            return;
        see_line(m, l, space, offset, n, write != 0);
        offset += n;
        bytes -= n;
    }
}

static bool make_pages(iss_machine *m, struct race *r)
{
    const uint64_t bytes[SPACES] = {CCL_DDR_MAX_BYTES, m->array.ocm_bytes, (uint64_t)m->hw.lrm_size,
                                    (uint64_t)m->hw.num_acc * 4};
    for (int s = 0; s < SPACES; s++) {
        r->n_pages[s] = (size_t)((bytes[s] + PAGE - 1) / PAGE);
        r->pages[s] = calloc(r->n_pages[s], sizeof *r->pages[s]);
        if (!r->pages[s])
            return false;
    }
    return true;
}

bool race_new(iss_machine *m, bool stop_at_first)
{
    struct race *r = calloc(1, sizeof *r);
    m->race = r;
    if (!r || !make_pages(m, r)) {
        race_free(m);
        return false;
    }
    r->stop_at_first = stop_at_first;
    r->clocks[ISS_Q_SCALAR].at[ISS_Q_SCALAR] = 1;
    m->array.touch = touch;
    return true;
}

static void free_pages(struct race *r, int space)
{
    for (size_t i = 0; r->pages[space] && i < r->n_pages[space]; i++) {
        line *p = r->pages[space][i];
        for (int k = 0; p && k < PAGE_LINES; k++)
            free(p[k].bytes);
        free(p);
    }
    free(r->pages[space]);
}

void race_free(iss_machine *m)
{
    struct race *r = m->race;
    m->race = NULL;
    m->array.touch = NULL;
    if (!r)
        return;
    for (int s = 0; s < SPACES; s++)
        free_pages(r, s);
    for (int i = 0; i < EPU_EVENTS; i++)
        free(r->events[i].posts);
    free(r->records);
    free(r->scalar_records);
    free(r->waits);
    free(r->races);
    free(r);
}

/* After any step: out of memory and, if wanted, the first race stop the run. */
static bool go_on(iss_machine *m, uint32_t pc)
{
    struct race *r = m->race;
    if (r->no_memory)
        return iss_no_memory(m, pc, "no memory for the race detector");
    if (!r->stop_at_first || r->n_races == 0)
        return true;
    const race_entry *e = &r->races[0];
    iss_fault(m, ISS_RACE, pc, e->address, "race");
    (void)snprintf(m->message, sizeof m->message,
                   "race on %s 0x%08x in layer %u: %s at %s and %s at %s are not ordered",
                   space_names[e->space], e->address, m->array.layer,
                   unit_names[r->records[e->first].unit], e->first_place,
                   unit_names[r->records[e->second].unit], e->second_place);
    return false;
}

bool race_issue(iss_machine *m, uint32_t queue, uint32_t pc)
{
    struct race *r = m->race;
    clock_vector *q = &r->clocks[queue], *scalar = &r->clocks[ISS_Q_SCALAR];
    join(q, scalar);
    q->at[queue]++;
    scalar->at[ISS_Q_SCALAR]++; /* what the scalar core does from now on is later */
    r->current = new_record(r, queue, q->at[queue], pc);
    return r->current != 0 || go_on(m, pc);
}

bool race_done(iss_machine *m)
{
    return go_on(m, m->cpu.pc);
}

bool race_post(iss_machine *m, uint32_t queue, uint32_t event, uint32_t pc)
{
    struct race *r = m->race;
    event_clocks *e = &r->events[event];
    join(&r->clocks[queue], &r->clocks[ISS_Q_SCALAR]);
    r->clocks[ISS_Q_SCALAR].at[ISS_Q_SCALAR]++;
    if (e->count == e->cap) {
        const size_t cap = e->cap ? e->cap * 2 : 64;
        clock_vector *p = realloc(e->posts, cap * sizeof *p);
        if (!p) {
            r->no_memory = true;
            return go_on(m, pc);
        }
        e->posts = p;
        e->cap = cap;
    }
    e->posts[e->count] = r->clocks[queue];
    if (e->count > 0)
        join(&e->posts[e->count], &e->posts[e->count - 1]);
    e->count++;
    return true;
}

static bool covers(const clock_vector *a, const clock_vector *b)
{
    for (int i = 0; i < UNITS; i++)
        if (a->at[i] < b->at[i])
            return false;
    return true;
}

/* Counts of the wait at pc, NULL without memory for them. */
static wait_count *count_wait(iss_machine *m, uint32_t pc)
{
    struct race *r = m->race;
    if (!r->waits)
        r->waits = calloc((size_t)m->code_count + 1, sizeof *r->waits);
    if (!r->waits)
        return NULL;
    wait_count *w = &r->waits[(pc - m->code_base) / 4];
    w->runs++;
    return w;
}

/* A unit learns what the event's count stands for. */
bool race_wait(iss_machine *m, uint32_t unit, uint32_t event, uint32_t count, uint32_t pc)
{
    struct race *r = m->race;
    wait_count *w = count_wait(m, pc);
    if (!w)
        return iss_no_memory(m, pc, "no memory for the race detector");
    /* Posts from before the detector was switched on are not known; the run then began without it. */
    if (count == 0 || count > r->events[event].count)
        return true;
    const clock_vector *met = &r->events[event].posts[count - 1];
    if (!covers(&r->clocks[unit], met))
        w->ordering++;
    join(&r->clocks[unit], met);
    return true;
}

void iss_wait_get(const iss_machine *m, uint32_t pc, uint64_t *out_runs, uint64_t *out_ordering)
{
    const uint32_t i = (pc - m->code_base) / 4;
    const bool known_place = m->race && m->race->waits && i < m->code_count;
    *out_runs = known_place ? m->race->waits[i].runs : 0;
    *out_ordering = known_place ? m->race->waits[i].ordering : 0;
}

bool race_drain(iss_machine *m, uint32_t pc)
{
    clock_vector *scalar = &m->race->clocks[ISS_Q_SCALAR], all = *scalar;
    wait_count *w = count_wait(m, pc);
    if (!w)
        return iss_no_memory(m, pc, "no memory for the race detector");
    for (int q = 0; q < CCL_QUEUES; q++)
        join(&all, &m->race->clocks[q]);
    if (!covers(scalar, &all))
        w->ordering++;
    *scalar = all;
    return true;
}

/* One record per place of the text between two issues. */
static uint32_t scalar_record(iss_machine *m, uint32_t pc)
{
    struct race *r = m->race;
    const uint32_t index = r->clocks[ISS_Q_SCALAR].at[ISS_Q_SCALAR];
    if (!r->scalar_records)
        r->scalar_records = calloc((size_t)m->code_count + 1, sizeof *r->scalar_records);
    if (!r->scalar_records) {
        r->no_memory = true;
        return 0;
    }
    uint32_t *latest = &r->scalar_records[(pc - m->code_base) / 4];
    if (*latest == 0 || r->records[*latest].index != index)
        *latest = new_record(r, ISS_Q_SCALAR, index, pc);
    return *latest;
}

bool race_scalar_access(iss_machine *m, uint32_t address, uint32_t bytes, bool write, uint32_t pc)
{
    struct race *r = m->race;
    r->current = scalar_record(m, pc);
    if (r->current) {
        if (address >= CCL_DDR_BASE)
            touch(&m->array, EPU_DDR, address - CCL_DDR_BASE, bytes, write);
        else
            touch(&m->array, EPU_OCM, address - CCL_OCM_BASE, bytes, write);
    }
    return go_on(m, pc);
}

int32_t iss_race_count(const iss_machine *m)
{
    return m->race ? m->race->n_races : 0;
}

void iss_race_get(const iss_machine *m, int32_t i, iss_race *out_race)
{
    *out_race = (iss_race){.first = "", .second = ""};
    if (i < 0 || i >= iss_race_count(m))
        return;
    const struct race *r = m->race;
    const race_entry *e = &r->races[i];
    *out_race = (iss_race){.first = e->first_place,
                           .second = e->second_place,
                           .first_queue = (int32_t)r->records[e->first].unit,
                           .second_queue = (int32_t)r->records[e->second].unit,
                           .address = e->address,
                           .space = e->space};
}
