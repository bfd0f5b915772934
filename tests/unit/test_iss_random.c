/* SPDX-License-Identifier: Apache-2.0
 *
 * test_iss_random.c - the timing specification of docs/machine.md a second time, cycle by cycle: random programs on
 * random machines must take the same cycles, with the same account of each queue, as the simulator's closed form. Also:
 * layers add up to the run, the run is never below its roofline, and times never change a value.
 */
#include "iss_asm.h"

enum {
    STEPS = 250,
    PROGRAMS = 120,
    EVENTS = 8,
    OCM_BYTES = 1 << 16,
    PORT_NONE = 0,
    PORT_DDR,
    PORT_LRM
};
typedef enum kind { OPERATION, POST, WAIT, SWAIT, DRAIN, FILLER, MARK } kind;

typedef struct step {
    kind kind;
    uint32_t queue, event, count; /* FILLER: count cycles; MARK: layer */
    uint64_t cost, macs, ddr;
    int port;
    uint32_t f3, f2, x[3];
} step;

static cgc_ctx *ctx;
static cgc_hw hw;
static prog p;
static step steps[STEPS];
static uint32_t descriptors[STEPS][9];
static uint64_t seed;

static uint32_t below(uint32_t n)
{
    return rnd_below(&seed, n);
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* ---- random programs ---- */
static void random_machine(void)
{
    static const int32_t bytes[4] = {1, 8, 16, 64};
    hw_init(&hw, ctx);
    hw.array_size = 1 + (int32_t)below(4);
    hw.macs_per_pe = 4 * (1 + (int32_t)below(4));
    hw.lrm_size = 1024;
    hw.ocm_size = OCM_BYTES;
    hw.ddr_bytes_per_cycle = bytes[below(4)];
    hw.arr_port_bytes = bytes[below(4)];
    hw.ddr_burst = 1 << below(8);
    hw.ddr_latency = (int32_t)below(3) * 50;
    hw.queue_depth = 1 + (int32_t)below(8);
    hw.unit_overhead = (int32_t)below(6);
}

static void random_operation(step *s, int i)
{
    const uint32_t lanes = (uint32_t)(hw.array_size * hw.array_size),
                   overhead = (uint32_t)hw.unit_overhead;
    const uint32_t a = below(60), b = 1 + below(12), ocm = ASM_OCM + 64 * below(400),
                   data = ASM_DATA + (uint32_t)i * 36;
    s->queue = below(5);
    switch (s->queue) {
    case ISS_Q_DMI:
    case ISS_Q_DMO:
        s->port = PORT_DDR;
        s->ddr = (uint64_t)b * ceil_div(a, (uint64_t)hw.ddr_burst) * (uint64_t)hw.ddr_burst;
        s->cost = ceil_div(s->ddr, (uint64_t)hw.ddr_bytes_per_cycle);
        memcpy(descriptors[i],
               (uint32_t[9]){ocm, ASM_DDR + 100 * below(100), a, b, 1, 64, 0, 70, 0}, 36);
        if (s->queue == ISS_Q_DMO) {
            const uint32_t t = descriptors[i][0];
            descriptors[i][0] = descriptors[i][1];
            descriptors[i][1] = t;
        }
        s->f2 = s->queue;
        s->x[0] = data;
        return;
    case ISS_Q_ALD:
    case ISS_Q_AST:
        s->port = PORT_LRM;
        s->cost = overhead + ceil_div((uint64_t)lanes * a * b, (uint64_t)hw.arr_port_bytes);
        memcpy(descriptors[i], (uint32_t[4]){16, b, a, 80}, 16);
        s->f3 = 1;
        s->f2 = s->queue == ISS_Q_ALD ? 1 : 2;
        memcpy(s->x, (uint32_t[3]){data, ocm, pair(below(300), lanes)}, 12);
        return;
    default:
        s->macs = (uint64_t)lanes * b * (a / 4) * (uint64_t)hw.macs_per_pe;
        s->cost = overhead + (uint64_t)b * (a / 4);
        s->f3 = 2;
        s->f2 = below(2);
        memcpy(s->x, (uint32_t[3]){ocm, pair(a / 4, b), below(300)}, 12);
        return;
    }
}

static void random_program(void)
{
    uint32_t posted[EVENTS] = {0}, layer = 0;
    memset(steps, 0, sizeof steps);
    for (int i = 0; i < STEPS; i++) {
        step *s = &steps[i];
        const uint32_t what = below(20);
        s->event = below(EVENTS);
        if (what < 8) {
            random_operation(s, i);
        } else if (what < 12) { /* an event belongs to queue event % 5 */
            *s = (step){.kind = POST, .queue = s->event % 5, .event = s->event, .f3 = 6};
            memcpy(s->x, (uint32_t[3]){s->queue, s->event, 0}, 12);
            posted[s->event]++;
        } else if (what < 17) {
            *s = (step){.kind = WAIT, .queue = below(5), .event = s->event, .f3 = 6, .f2 = 1};
            s->count = posted[s->event] - below(posted[s->event] > 2 ? 2 : 1);
            memcpy(s->x, (uint32_t[3]){s->queue, s->event, s->count}, 12);
        } else if (what == 17) {
            *s = (step){.kind = SWAIT, .event = s->event, .f3 = 7};
            s->count = posted[s->event];
            memcpy(s->x, (uint32_t[3]){s->event, s->count, 0}, 12);
        } else if (what == 18) {
            *s = (step){.kind = below(3) ? MARK : DRAIN, .f3 = 7};
            s->f2 = s->kind == MARK ? 3 : 1;
            s->x[0] = s->count = ++layer;
        } else {
            *s = (step){.kind = FILLER, .count = below(200)};
        }
    }
}

static void assemble(void)
{
    p.n = 0;
    for (int i = 0; i < STEPS; i++) {
        const step *s = &steps[i];
        if (s->kind == FILLER)
            for (uint32_t k = 0; k < s->count; k++)
                put(&p, 0x13);
        else
            array3(&p, s->f3, s->f2, s->x[0], s->x[1], s->x[2]);
    }
    leave(&p);
}

/* ---- the specification, cycle by cycle ---- */
typedef struct entry {
    const step *s;
    uint64_t issued;    /* in the queue from this cycle on */
    uint64_t requested; /* DMA: when its request went out + 1, 0 = not yet */
    uint64_t end;       /* when running or done */
    bool running, done;
    int port_order;
} entry;

typedef struct ticker {
    uint64_t t, busy[6], stall[6][5];
    entry queues[5][STEPS];
    int issued[5], head[5];
    int port_issued[3], port_done[3]; /* operations per port: grants go in issue order */
    uint32_t counts[EVENTS];
    int at, phase; /* of the scalar core's list; cycles spent on the current one */
} ticker;

typedef struct micro {
    kind kind;
    const step *s;
} micro;

static micro micros[STEPS * 201 + 3];

static ticker k;

static bool queues_empty(void)
{
    for (int q = 0; q < 5; q++)
        if (k.head[q] < k.issued[q])
            return false;
    return true;
}

static bool scalar_ended(void)
{
    return micros[k.at].kind == WAIT;
}

static void finish_operations(void)
{
    for (int q = 0; q < 5; q++) {
        entry *e = &k.queues[q][k.head[q]];
        if (k.head[q] < k.issued[q] && e->running && e->end == k.t) {
            e->done = true;
            k.head[q]++;
            if (e->s->kind == POST)
                k.counts[e->s->event]++;
            k.port_done[e->s->port]++;
        }
    }
}

/* A DMA request leaves when the operation is in its queue and every wait before it in the queue is met. */
static void send_requests(void)
{
    for (int q = 0; q < 2; q++) {
        bool met = true;
        for (int i = k.head[q]; i < k.issued[q]; i++) {
            entry *e = &k.queues[q][i];
            if (e->issued > k.t)
                break;
            if (e->s->kind == WAIT && k.counts[e->s->event] < e->s->count)
                met = false;
            if (e->s->kind == OPERATION && met && !e->requested)
                e->requested = k.t + 1;
        }
    }
}

/* Why the head cannot start now; -1 if it can. */
static int obstacle(int q, const entry *e)
{
    if (k.head[q] == k.issued[q] || e->issued > k.t)
        return ISS_STALL_IDLE;
    if (e->s->kind == WAIT && k.counts[e->s->event] < e->s->count)
        return ISS_STALL_WAIT;
    if (e->s->port == PORT_DDR &&
        (!e->requested || k.t < e->requested - 1 + (uint64_t)hw.ddr_latency))
        return ISS_STALL_LATENCY;
    if (e->s->port != PORT_NONE && k.port_done[e->s->port] != e->port_order)
        return ISS_STALL_PORT;
    return -1;
}

/* Operations without duration end in the cycle in which they start, so a cycle settles in rounds. */
static void start_operations(void)
{
    for (bool again = true; again;) {
        again = false;
        send_requests();
        for (int q = 0; q < 5; q++) {
            entry *e = &k.queues[q][k.head[q]];
            if (k.head[q] < k.issued[q] && e->running)
                continue;
            if (obstacle(q, e) >= 0)
                continue;
            e->running = true;
            e->end = k.t + (e->s->kind == OPERATION ? e->s->cost : 1);
            again = again || e->end == k.t;
        }
        if (again)
            finish_operations();
    }
}

static void account(void)
{
    for (int q = 0; q < 5; q++) {
        const entry *e = &k.queues[q][k.head[q]];
        if (k.head[q] < k.issued[q] && e->running)
            k.busy[q]++;
        else
            k.stall[q][obstacle(q, e)]++;
    }
}

/* One cycle of the scalar core; steps that take no time now are passed at once. */
static void scalar_cycle(void)
{
    for (;; k.at++, k.phase = 0) {
        const micro *u = &micros[k.at];
        const step *s = u->s;
        if (u->kind == MARK)
            continue;
        if (u->kind == FILLER) {
            k.busy[5]++;
            k.at++;
            return;
        }
        if (u->kind == OPERATION) { /* or post or wait: an entry of a queue */
            const int q = (int)s->queue, oldest = k.issued[q] - hw.queue_depth;
            if (oldest >= 0 && !k.queues[q][oldest].done) {
                k.stall[5][ISS_STALL_FULL]++;
                return;
            }
            k.queues[q][k.issued[q]++] = (entry){
                .s = s, .issued = k.t + 1, .port_order = s->port ? k.port_issued[s->port]++ : 0};
            k.busy[5]++;
            k.at++;
            return;
        }
        if (u->kind == WAIT) /* the end: nothing happens any more */
            return;
        if (k.phase++ == 0) { /* swait and drain take one cycle, then wait */
            k.busy[5]++;
            return;
        }
        if (u->kind == SWAIT ? k.counts[s->event] < s->count : !queues_empty()) {
            k.stall[5][ISS_STALL_WAIT]++;
            return;
        }
    }
}

/* The scalar core's work in units of one cycle; WAIT ends the list. */
static void make_micros(void)
{
    int n = 0;
    for (int i = 0; i < STEPS; i++) {
        const step *s = &steps[i];
        const uint32_t fill = s->kind == FILLER ? s->count : 6;
        for (uint32_t c = 0; c < fill; c++)
            micros[n++] = (micro){FILLER, NULL};
        if (s->kind == OPERATION || s->kind == POST || s->kind == WAIT)
            micros[n++] = (micro){OPERATION, s};
        else if (s->kind != FILLER)
            micros[n++] = (micro){s->kind, s};
    }
    for (int c = 0; c < 2; c++) /* the end of the program */
        micros[n++] = (micro){FILLER, NULL};
    micros[n] = (micro){WAIT, NULL};
}

static void tick(void)
{
    memset(&k, 0, sizeof k);
    make_micros();
    for (;; k.t++) {
        finish_operations();
        start_operations();
        if (scalar_ended() && queues_empty())
            return;
        account();
        if (scalar_ended())
            k.stall[5][ISS_STALL_IDLE]++;
        else
            scalar_cycle();
    }
}

/* ---- comparison ---- */
static void compare(int number, const iss_stats *s)
{
    bool same = s->cycles == k.t;
    for (int q = 0; q < 6; q++) {
        same = same && s->busy[q] == k.busy[q];
        for (int r = 0; r < ISS_STALLS; r++)
            same = same && s->stall[q][r] == k.stall[q][r];
    }
    if (same)
        return;
    check_failures++;
    printf("program %d: %llu cycles, cycle by cycle %llu\n", number, (unsigned long long)s->cycles,
           (unsigned long long)k.t);
    for (int q = 0; q < 6; q++) {
        printf("  queue %d busy %llu/%llu stalls", q, (unsigned long long)s->busy[q],
               (unsigned long long)k.busy[q]);
        for (int r = 0; r < ISS_STALLS; r++)
            printf(" %llu/%llu", (unsigned long long)s->stall[q][r],
                   (unsigned long long)k.stall[q][r]);
        printf("\n");
    }
}

static void check_sums(const iss_machine *m, const iss_stats *s)
{
    uint64_t macs = 0, ddr = 0, cycles = 0, layer_macs = 0, layer_busy = 0;
    for (int q = 0; q < 6; q++) {
        uint64_t sum = s->busy[q];
        for (int r = 0; r < ISS_STALLS; r++)
            sum += s->stall[q][r];
        CHECK(sum == s->cycles);
    }
    for (int i = 0; i < STEPS; i++) {
        macs += steps[i].macs;
        ddr += steps[i].ddr;
    }
    CHECK(s->macs == macs && s->ddr_read_bytes + s->ddr_write_bytes == ddr);
    CHECK(s->cycles >= macs / (uint64_t)(hw.array_size * hw.array_size * hw.macs_per_pe));
    CHECK(s->cycles >= ddr / (uint64_t)hw.ddr_bytes_per_cycle);
    for (int32_t i = 0; i < iss_layer_count(m); i++) {
        iss_stats l;
        iss_get_layer_stats(m, i, &l);
        cycles += l.cycles;
        layer_macs += l.macs;
        layer_busy += l.busy[ISS_Q_ARR];
    }
    CHECK(cycles == s->cycles && layer_macs == macs && layer_busy == s->busy[ISS_Q_ARR]);
}

static void run_program(uint8_t *out_memory, iss_stats *out_stats)
{
    uint64_t fill = seed;
    static uint8_t memory[2 * OCM_BYTES];
    iss_machine *m = asm_machine(ctx, &hw, &p);
    for (int i = 0; i < 2 * OCM_BYTES; i++)
        memory[i] = (uint8_t)rnd(&fill);
    CHECK(iss_write(m, ASM_OCM, memory, OCM_BYTES) == CGC_OK &&
          iss_write(m, ASM_DDR, memory + OCM_BYTES, OCM_BYTES) == CGC_OK &&
          iss_write(m, ASM_DATA, descriptors, sizeof descriptors) == CGC_OK);
    const iss_stop stop = asm_run(m);
    CHECK(stop.reason == ISS_EXIT);
    if (stop.reason != ISS_EXIT)
        printf("%s\n", stop.message);
    CHECK(iss_read(m, ASM_OCM, out_memory, OCM_BYTES) == CGC_OK &&
          iss_read(m, ASM_DDR, out_memory + OCM_BYTES, OCM_BYTES) == CGC_OK);
    iss_get_stats(m, out_stats);
    check_sums(m, out_stats);
    iss_free(m);
}

int main(void)
{
    static uint8_t memory[2][2 * OCM_BYTES];
    iss_stats s;
    ctx = cgc_ctx_new();
    if (!ctx)
        return 1;
    for (int i = 0; i < PROGRAMS && check_failures < 5; i++) {
        seed = 1000 + (uint64_t)i;
        random_machine();
        random_program();
        assemble();
        run_program(memory[0], &s);
        tick();
        compare(i, &s);
        /* Another machine in time, the same in values. */
        const cgc_hw old = hw;
        hw.ddr_latency = 1000 - old.ddr_latency;
        hw.queue_depth = 9 - old.queue_depth;
        hw.unit_overhead = 50;
        for (int n = 0; n < STEPS; n++)
            if (steps[n].kind == OPERATION && steps[n].port != PORT_DDR)
                steps[n].cost += (uint64_t)(hw.unit_overhead - old.unit_overhead);
        run_program(memory[1], &s);
        CHECK(memcmp(memory[0], memory[1], sizeof memory[0]) == 0);
        tick();
        compare(i, &s);
    }
    cgc_ctx_free(ctx);
    return check_done();
}
