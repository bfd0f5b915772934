/* SPDX-License-Identifier: Apache-2.0
 *
 * test_iss_race.c - the race detector on a program that uses every queue: nothing with all its waits, the right pair of
 * queues and the right memory with any one wait removed, whatever the simulated times; order by drain and swait,
 * by the queue itself and by the scalar core's program order.
 */
#include "iss_asm.h"

enum { N = 64, NO_WAIT_REMOVED = -1, AT_A = 0x1000, AT_B = 0x2000, AT_C = 0x3000 };

static cgc_ctx *ctx;
static cgc_hw hw;
static prog p;
static int removed, wait_number;

/* DATA: three copies and two blocks. */
static const uint32_t data[9 * 3 + 4 * 2] = {ASM_OCM + AT_A,
                                             ASM_DDR,
                                             2048,
                                             1,
                                             1,
                                             0,
                                             0,
                                             0,
                                             0, /* 0: dmi to A */
                                             ASM_DDR + 0x8000,
                                             ASM_OCM + AT_C,
                                             1024,
                                             1,
                                             1,
                                             0,
                                             0,
                                             0,
                                             0, /* 1: dmo from C */
                                             ASM_OCM + AT_A,
                                             ASM_DDR + 4096,
                                             64,
                                             1,
                                             1,
                                             0,
                                             0,
                                             0,
                                             0, /* 2: dmi to A again */
                                             8,
                                             1,
                                             8,
                                             0, /* block: 8 bytes for each of 256 lanes */
                                             4,
                                             1,
                                             4,
                                             0};
#define AT_DMA(i) (ASM_DATA + 36u * (i))
#define AT_BLOCK(i) (ASM_DATA + 108u + 16u * (i))

static void post(uint32_t queue, uint32_t event)
{
    array3(&p, 6, 0, queue, event, 0);
}

static void wait(uint32_t queue, uint32_t event, uint32_t count)
{
    if (wait_number++ != removed)
        array3(&p, 6, 1, queue, event, count);
}

static void swait(uint32_t event, uint32_t count)
{
    if (wait_number++ != removed)
        array3(&p, 7, 0, event, count, 0);
}

static void build(int without)
{
    p.n = 0;
    removed = without;
    wait_number = 0;
    array3(&p, 0, 0, AT_DMA(0), 0, 0);
    post(ISS_Q_DMI, 0);
    wait(ISS_Q_ALD, 0, 1); /* 0 */
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_A, pair(0, 256));
    post(ISS_Q_ALD, 1);
    wait(ISS_Q_ARR, 1, 1); /* 1 */
    array3(&p, 2, 1, ASM_OCM + AT_B, pair(1, 4), 0);
    post(ISS_Q_ARR, 2);
    array3(&p, 3, 2, ASM_OCM + AT_B, pair(64, 4), 0x7f8000);
    post(ISS_Q_ARR, 5);
    wait(ISS_Q_AST, 5, 1); /* 2 */
    array3(&p, 1, 2, AT_BLOCK(1), ASM_OCM + AT_C, pair(64, 256));
    post(ISS_Q_AST, 3);
    wait(ISS_Q_DMO, 3, 1); /* 3 */
    array3(&p, 0, 1, AT_DMA(1), 0, 0);
    post(ISS_Q_DMO, 4);
    wait(ISS_Q_DMI, 1, 1); /* 4: A was read */
    array3(&p, 0, 0, AT_DMA(2), 0, 0);
    wait(ISS_Q_ALD, 2, 1); /* 5: LRM 0 was used */
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_B, pair(0, 256));
    wait(ISS_Q_ARR, 3, 1); /* 6: LRM 64 was stored */
    array3(&p, 3, 2, ASM_OCM + AT_B, pair(64, 4), 0x7f8000);
    swait(4, 1); /* 7: the result is in DDR */
    li(&p, A0, ASM_DDR + 0x8000);
    put(&p, lw(A1, A0, 0));
    put(&p, sw(A1, A0, 0));
    leave(&p);
}

static iss_machine *run(iss_stop *out_stop, bool stop_at_first)
{
    iss_machine *m = asm_machine(ctx, &hw, &p);
    CHECK(iss_write(m, ASM_DATA, data, sizeof data) == CGC_OK);
    iss_set_race_detector(m, 1, stop_at_first);
    *out_stop = asm_run(m);
    return m;
}

static const struct {
    int first, second, space;
} wanted[] = {{ISS_Q_DMI, ISS_Q_ALD, 1}, {ISS_Q_ALD, ISS_Q_ARR, 2},   {ISS_Q_ARR, ISS_Q_AST, 2},
              {ISS_Q_AST, ISS_Q_DMO, 1}, {ISS_Q_ALD, ISS_Q_DMI, 1},   {ISS_Q_ARR, ISS_Q_ALD, 2},
              {ISS_Q_AST, ISS_Q_ARR, 2}, {ISS_Q_DMO, ISS_Q_SCALAR, 0}};
enum { WAITS = sizeof wanted / sizeof *wanted };

static void check_removed(int without)
{
    iss_stop stop;
    iss_race race;
    build(without);
    iss_machine *m = run(&stop, false);
    CHECK(stop.reason == ISS_EXIT);
    if (without == NO_WAIT_REMOVED) {
        CHECK(wait_number == WAITS);
        CHECK(iss_race_count(m) == 0);
    } else {
        CHECK(iss_race_count(m) >= 1);
        iss_race_get(m, 0, &race);
        if (race.first_queue != wanted[without].first ||
            race.second_queue != wanted[without].second || race.space != wanted[without].space) {
            printf("wait %d removed: %s (%d) and %s (%d) in space %d\n", without, race.first,
                   race.first_queue, race.second, race.second_queue, race.space);
            check_failures++;
        }
    }
    iss_free(m);
    if (without == NO_WAIT_REMOVED)
        return;
    m = run(&stop, true);
    CHECK(stop.reason == ISS_RACE && strstr(stop.message, "race on ") &&
          strstr(stop.message, "are not ordered"));
    CHECK(iss_race_count(m) == 1);
    iss_free(m);
}

/* The same whatever the times: a machine where the earlier operation is long over when the later one issues. */
static void test_waits(void)
{
    for (int slow = 0; slow < 2; slow++) {
        hw_init(&hw, ctx);
        if (slow) {
            hw.ddr_latency = 0;
            hw.ddr_bytes_per_cycle = 1024;
            hw.arr_port_bytes = 4096;
            hw.unit_overhead = 0;
            hw.scalar_mul_cycles = 100;
            hw.queue_depth = 1; /* each issue waits for the one before in time, which is no order */
        }
        for (int w = NO_WAIT_REMOVED; w < WAITS; w++)
            check_removed(w);
    }
}

static int races(iss_stop *out_stop)
{
    leave(&p);
    iss_machine *m = run(out_stop, false);
    const int n = iss_race_count(m);
    iss_free(m);
    return n;
}

static void test_order(void)
{
    iss_stop s;
    hw_init(&hw, ctx);

    p.n = 0; /* one queue is in order */
    array3(&p, 0, 0, AT_DMA(0), 0, 0);
    array3(&p, 0, 0, AT_DMA(0), 0, 0);
    CHECK(races(&s) == 0);

    p.n = 0; /* the scalar core's store comes before what it issues later */
    li(&p, A0, ASM_OCM + AT_A);
    put(&p, sw(A0, A0, 0));
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_A, pair(0, 256));
    CHECK(races(&s) == 0);

    p.n = 0; /* but not after what it issued earlier */
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_A, pair(0, 256));
    li(&p, A0, ASM_OCM + AT_A);
    put(&p, lw(A1, A0, 0)); /* two reads are no conflict */
    put(&p, sw(A0, A0, 0));
    CHECK(races(&s) == 1);

    p.n = 0; /* drain orders everything */
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_A, pair(0, 256));
    array3(&p, 0, 0, AT_DMA(0), 0, 0);
    put(&p, array_word(7, 1, 0, 0, 0, 0));
    li(&p, A0, ASM_OCM + AT_A);
    put(&p, sw(A0, A0, 0));
    CHECK(races(&s) == 1); /* the load and the copy before it */

    p.n = 0; /* bytes beside one another do not conflict: the copy ends where the load begins */
    array3(&p, 0, 0, AT_DMA(2), 0, 0);
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_A + 64, pair(0, 256));
    CHECK(races(&s) == 0);
    p.n = 0;
    array3(&p, 0, 0, AT_DMA(2), 0, 0);
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_A + 63, pair(0, 256));
    CHECK(races(&s) == 1);

    p.n = 0; /* an event orders what came before its post, not what came after */
    post(ISS_Q_DMI, 0);
    array3(&p, 0, 0, AT_DMA(2), 0, 0);
    array3(&p, 6, 1, ISS_Q_ALD, 0, 1);
    array3(&p, 1, 1, AT_BLOCK(0), ASM_OCM + AT_A, pair(0, 256));
    CHECK(races(&s) == 1);

    p.n = 0; /* order is transitive: DMI before ALD before ARR's broadcast of the same bytes */
    array3(&p, 0, 0, AT_DMA(2), 0, 0);
    post(ISS_Q_DMI, 0);
    array3(&p, 6, 1, ISS_Q_ALD, 0, 1);
    post(ISS_Q_ALD, 1);
    array3(&p, 6, 1, ISS_Q_ARR, 1, 1);
    array3(&p, 2, 1, ASM_OCM + AT_A, pair(1, 4), 0);
    CHECK(races(&s) == 0);
}

int main(void)
{
    ctx = cgc_ctx_new();
    if (!ctx)
        return 1;
    test_waits();
    test_order();
    cgc_ctx_free(ctx);
    return check_done();
}
