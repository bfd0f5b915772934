/* SPDX-License-Identifier: Apache-2.0
 *
 * test_iss_cycles.c - cycles of micro programs, each worked out by hand from docs/machine.md with the default
 * parameters (isa/hwconfig.def); the sums stand beside the programs.
 */
#include "iss_asm.h"

typedef struct run {
    iss_stop stop;
    iss_stats stats;
} run;

static cgc_ctx *ctx;
static cgc_hw hw;
static prog p;

static void begin(void)
{
    p.n = 0;
    hw_init(&hw, ctx);
}

/* DATA[i] = words[i]. */
static run finish(const uint32_t *words, size_t n)
{
    run r = {0};
    leave(&p);
    iss_machine *m = asm_machine(ctx, &hw, &p);
    if (!m)
        return r;
    CHECK(iss_write(m, ASM_DATA, words, n * 4) == CGC_OK);
    r.stop = asm_run(m);
    CHECK(r.stop.reason == ISS_EXIT);
    if (r.stop.reason != ISS_EXIT)
        printf("%s\n", r.stop.message);
    iss_get_stats(m, &r.stats);
    iss_free(m);
    return r;
}

#define CHECK_U64(found, wanted)                                                                   \
    do {                                                                                           \
        const unsigned long long found_ = (found), wanted_ = (wanted);                             \
        if (found_ != wanted_) {                                                                   \
            check_failures++;                                                                      \
            printf("%s:%d: %s: found %llu, wanted %llu\n", __FILE__, __LINE__, #found, found_,     \
                   wanted_);                                                                       \
        }                                                                                          \
    } while (0)

static void test_scalar(void)
{
    begin();
    put(&p, addi(A0, ZERO, 5)); /* 1 */
    CHECK_U64(finish(NULL, 0).stats.cycles, 1 + 2);

    begin();
    li(&p, A0, ASM_DATA);       /* 2 */
    put(&p, lw(A1, A0, 0));     /* 1 */
    put(&p, addi(A2, A1, 1));   /* 1 + 1 load-use */
    put(&p, lw(A1, A0, 0));     /* 1 */
    put(&p, addi(A2, A0, 1));   /* 1: other register */
    put(&p, addi(A2, A1, 1));   /* 1: one later */
    put(&p, lw(A1, A0, 0));     /* 1 */
    put(&p, sw(A1, A0, 4));     /* 1 + 1 */
    put(&p, lw(ZERO, A0, 0));   /* 1 */
    put(&p, addi(A2, ZERO, 1)); /* 1: x0 is never waited for */
    CHECK_U64(finish(NULL, 0).stats.cycles, 2 + 9 + 2 + 2);

    begin();
    put(&p, addi(A0, ZERO, 3));       /* 1 */
    put(&p, addi(A0, A0, -1));        /* 3 times 1 */
    put(&p, b_type(-4, ZERO, A0, 1)); /* bne: 2 taken (1 + 2), 1 not (1) */
    CHECK_U64(finish(NULL, 0).stats.cycles, 1 + 3 + 2 * 3 + 1 + 2);

    begin();
    li(&p, A0, ASM_DATA);             /* 2 */
    put(&p, addi(A2, ZERO, 2));       /* 1 */
    put(&p, lw(A1, A0, 0));           /* 1, once */
    put(&p, addi(A2, A2, -1));        /* loop head reads no loaded register */
    put(&p, b_type(-4, ZERO, A2, 1)); /* 2 * 1 + (1 + 2) + 1 */
    put(&p, lw(A3, A0, 0));           /* 1 */
    put(&p, j_type(4, ZERO));         /* jump to the next: 1 + 2 */
    put(&p, addi(A4, A3, 0));         /* 1: the jump stands between */
    CHECK_U64(finish(NULL, 0).stats.cycles, 2 + 1 + 1 + 2 + 4 + 1 + 3 + 1 + 2);

    begin();                  /* a jump to a word that uses what the word before it loads */
    li(&p, A0, ASM_DATA);     /* 2 */
    put(&p, j_type(8, ZERO)); /* 1 + 2 */
    put(&p, lw(A1, A0, 0));   /* skipped */
    put(&p, addi(A2, A1, 0)); /* 1, not 2 */
    CHECK_U64(finish(NULL, 0).stats.cycles, 2 + 3 + 1 + 2);

    begin();
    put(&p, r_type(1, A0, A0, 0, A1, 0x33)); /* mul 3 */
    put(&p, r_type(1, A0, A0, 4, A1, 0x33)); /* div 33 */
    put(&p, r_type(0, 0, 0, 0, 0, 0x53));    /* fadd 4 */
    put(&p, r_type(0x0c, 0, 0, 0, 0, 0x53)); /* fdiv 20 */
    put(&p, r_type(0x10, 0, 0, 0, 0, 0x53)); /* fsgnj 1 */
    CHECK_U64(finish(NULL, 0).stats.cycles, 3 + 33 + 4 + 20 + 1 + 2);

    begin();
    li(&p, A0, ASM_OCM);      /* 2 */
    put(&p, lw(A1, A0, 0));   /* 1 + 4 */
    put(&p, sw(ZERO, A0, 0)); /* 1 + 4 */
    li(&p, A0, ASM_DDR);      /* 2 */
    put(&p, lw(A1, A0, 0));   /* 1 + 20 */
    CHECK_U64(finish(NULL, 0).stats.cycles, 2 + 5 + 5 + 2 + 21 + 2);
}

/* Descriptor of one row of 100 bytes: two bursts of 64 = 128 bytes = 8 cycles. */
static const uint32_t one_row[9] = {ASM_OCM, ASM_DDR, 100, 1, 1, 0, 0, 0, 0};

static void test_dma(void)
{
    begin();
    li(&p, A0, ASM_DATA);                   /* now 2 */
    put(&p, array_word(0, 0, 0, A0, 0, 0)); /* dmi: issue at 3, data from 203, end 211 */
    run r = finish(one_row, 9);
    CHECK_U64(r.stats.cycles, 211);
    CHECK_U64(r.stats.busy[ISS_Q_DMI], 8);
    CHECK_U64(r.stats.stall[ISS_Q_DMI][ISS_STALL_IDLE], 3);
    CHECK_U64(r.stats.stall[ISS_Q_DMI][ISS_STALL_LATENCY], 200);
    CHECK_U64(r.stats.ddr_read_bytes, 128);
    CHECK_U64(r.stats.busy[ISS_Q_SCALAR], 5);
    CHECK_U64(r.stats.stall[ISS_Q_SCALAR][ISS_STALL_IDLE], 206);

    begin(); /* the second latency hides behind the first transfer; DMO then waits for DDR */
    li(&p, A0, ASM_DATA);
    li(&p, A1, ASM_DATA + 36);
    put(&p, array_word(0, 0, 0, A0, 0, 0)); /* issue 5: data 205..213 */
    put(&p, array_word(0, 0, 0, A0, 0, 0)); /* issue 6: data 213..221 */
    put(&p, array_word(0, 1, 0, A1, 0,
                       0)); /* dmo, issue 7: latency to 207, DDR free at 221: 221..229 */
    uint32_t both[18];
    memcpy(both, one_row, 36);
    memcpy(both + 9, (const uint32_t[9]){ASM_DDR, ASM_OCM, 100, 1, 1, 0, 0, 0, 0}, 36);
    r = finish(both, 18);
    CHECK_U64(r.stats.cycles, 229);
    CHECK_U64(r.stats.stall[ISS_Q_DMI][ISS_STALL_LATENCY], 200);
    CHECK_U64(r.stats.stall[ISS_Q_DMO][ISS_STALL_LATENCY], 200);
    CHECK_U64(r.stats.stall[ISS_Q_DMO][ISS_STALL_PORT], 14);
    CHECK_U64(r.stats.ddr_write_bytes, 128);

    begin(); /* rows: 3 x 2 rows of 65 bytes = 6 * 128 bytes = 48 cycles */
    li(&p, A0, ASM_DATA);
    put(&p, array_word(0, 0, 0, A0, 0, 0));
    r = finish((const uint32_t[9]){ASM_OCM, ASM_DDR, 65, 3, 2, 65, 200, 100, 1000}, 9);
    CHECK_U64(r.stats.cycles, 203 + 48);
    CHECK_U64(r.stats.ddr_read_bytes, 768);
}

/* ald of 1 row of 40 bytes for 256 lanes: 4 + 10240/64 = 164 cycles; mac k 5, no 16: 4 + 80 = 84. */
static const uint32_t block40[4] = {40, 1, 40, 0};

static void issue_ald(void)
{
    array3(&p, 1, 1, ASM_DATA, ASM_OCM, pair(0, 256)); /* 6 + 1 */
}

static void issue_mac(void)
{
    array3(&p, 2, 1, ASM_OCM, pair(5, 16), 0);
}

static void post_event(uint32_t queue, uint32_t event)
{
    array3(&p, 6, 0, queue, event, 0);
}

static void wait_event(uint32_t queue, uint32_t event, uint32_t count)
{
    array3(&p, 6, 1, queue, event, count);
}

static void test_array(void)
{
    begin();
    issue_ald(); /* issue 7: 7..171 */
    issue_mac(); /* issue 14: 14..98: another queue, no wait */
    run r = finish(block40, 4);
    CHECK_U64(r.stats.cycles, 171);
    CHECK_U64(r.stats.busy[ISS_Q_ALD], 164);
    CHECK_U64(r.stats.busy[ISS_Q_ARR], 84);
    CHECK_U64(r.stats.macs, 256 * 16 * 40);
    CHECK_U64(r.stats.lrm_peak_bytes, 40);
    CHECK_U64(r.stats.ocm_peak_bytes, 256 * 40);

    begin();
    issue_ald();                 /* issue 7: 7..171 */
    post_event(ISS_Q_ALD, 3);    /* issue 14: 171..172 */
    wait_event(ISS_Q_ARR, 3, 1); /* issue 21: 172..173 */
    issue_mac();                 /* issue 28: 173..257 */
    array3(&p, 7, 1, 0, 0, 0);   /* drain: 6 + 1, then 257 */
    r = finish(block40, 4);
    CHECK_U64(r.stats.cycles, 257 + 2);
    CHECK_U64(r.stats.stall[ISS_Q_ARR][ISS_STALL_IDLE], 21 + 2);
    CHECK_U64(r.stats.stall[ISS_Q_ARR][ISS_STALL_WAIT], 172 - 21);
    CHECK_U64(r.stats.busy[ISS_Q_ARR], 85);
    CHECK_U64(r.stats.busy[ISS_Q_ALD], 165);
    CHECK_U64(r.stats.stall[ISS_Q_SCALAR][ISS_STALL_WAIT], 257 - 35);
    CHECK_U64(r.stats.busy[ISS_Q_SCALAR], 37);

    begin();     /* load and store share their port in issue order */
    issue_ald(); /* 7..171 */
    array3(&p, 1, 2, ASM_DATA, ASM_OCM, pair(0, 256)); /* ast, issue 14: 171..335 */
    r = finish(block40, 4);
    CHECK_U64(r.stats.cycles, 335);
    CHECK_U64(r.stats.stall[ISS_Q_AST][ISS_STALL_IDLE], 14);
    CHECK_U64(r.stats.stall[ISS_Q_AST][ISS_STALL_PORT], 157);

    begin(); /* a full queue holds the scalar core: 9th mac waits for the 1st */
    hw.queue_depth = 8;
    li(&p, A0, ASM_OCM);
    li(&p, A1, pair(5, 16));
    li(&p, A2, 0); /* now 6 */
    for (int i = 0; i < 9; i++)
        put(&p, array_word(2, 0, 0, A0, A1, A2)); /* issues 7..14; first 7..91; 9th at 91 + 1 */
    r = finish(NULL, 0);
    CHECK_U64(r.stats.stall[ISS_Q_SCALAR][ISS_STALL_FULL], 91 - 14);
    CHECK_U64(r.stats.cycles, 7 + 9 * 84);

    begin();                                /* swait */
    issue_ald();                            /* 7..171 */
    post_event(ISS_Q_ALD, 31);              /* 171..172 */
    array3(&p, 7, 0, 31, 1, 0);             /* 20 + 1, until 172 */
    put(&p, array_word(7, 2, A5, 0, 0, 0)); /* cycles: 172, 1 cycle */
    li(&p, A4, ASM_DATA);
    put(&p, addi(A0, A5, 0));
    r = finish(block40, 4);
    CHECK_U64(r.stop.code, 172);
    CHECK_U64(r.stats.cycles, 172 + 1 + 2 + 1 + 2);
}

static bool costed[32]; /* by funct3 * 4 + funct2 */

/* Cost of one operation with no wait: cycles - 7 (its issue). */
static uint64_t cost_of(uint32_t f3, uint32_t f2, uint32_t a, uint32_t b, uint32_t c,
                        const uint32_t *words, size_t n)
{
    begin();
    array3(&p, f3, f2, a, b, c);
    run r = finish(words, n);
    costed[f3 * 4 + f2] = true;
    return r.stats.cycles - 7;
}

/* DMA costs are in test_dma. */
static void check_all_costed(void)
{
    static const struct {
        const char *name, *queue;
        int code;
    } insns[] = {
#define INSN(name, f3, f2, queue, ...) {#name, #queue, (f3) * 4 + (f2)},
#include "isa.def"
#undef INSN
    };
    for (size_t i = 0; i < sizeof insns / sizeof *insns; i++)
        if (!costed[insns[i].code] && insns[i].queue[0] == 'A') { /* ALD, AST, ARR */
            printf("isa.def: the cost of %s is not tested\n", insns[i].name);
            check_failures++;
        }
}

static void test_costs(void)
{
    static const uint32_t window[17] = {ASM_OCM, 8, 8, 16, 128, 1, 1, 1, 1, 1, 1, 0, 3, 3, 5, 0, 8};
    static const uint32_t taps[5] = {10, 3, 30, 3, 10};
    const uint32_t one = 0x3f800000u; /* 1.0f */
    const uint32_t binary[8] = {one, one, one, 0, 0, 0, (uint32_t)-128, 127};
    const uint32_t scale[4] = {one, 0, (uint32_t)-128, 127};
    CHECK_U64(cost_of(1, 0, ASM_DATA, 0, pair(0, 64), window, 17), 4 + 64 * 45 / 64);
    CHECK_U64(cost_of(1, 1, ASM_DATA, ASM_OCM, pair(0, 256), (const uint32_t[4]){0, 2, 40, 40}, 4),
              4 + 2);
    CHECK_U64(cost_of(1, 2, ASM_DATA, ASM_OCM, pair(0, 8), (const uint32_t[4]){80, 2, 40, 40}, 4),
              4 + 10);
    CHECK_U64(cost_of(2, 0, ASM_OCM, pair(5, 3), 0, NULL, 0), 4 + 15);
    CHECK_U64(cost_of(2, 1, ASM_OCM, pair(5, 3), 0, NULL, 0), 4 + 15);
    CHECK_U64(cost_of(2, 2, ASM_DATA, 0, pair(0, 6), window, 17),
              4 + 6 * 3 * 2); /* ceil(15 / 8) = 2 */
    CHECK_U64(cost_of(2, 3, ASM_DATA, 0, pair(0, 6), window, 17), 4 + 6 * 3 * 2);
    CHECK_U64(cost_of(3, 0, 0, 7, 0, NULL, 0), 4 + 7);
    CHECK_U64(cost_of(3, 1, 0, 7, 0, NULL, 0), 4 + 7);
    CHECK_U64(cost_of(3, 2, ASM_OCM, pair(0, 9), 0x7f8000, NULL, 0), 4 + 9);
    CHECK_U64(cost_of(3, 3, 0, pair(8, 9), 0x7f8000, NULL, 0), 4 + 9);
    CHECK_U64(cost_of(4, 0, ASM_DATA, 0, 1000, taps, 5), 4 + 23); /* ceil(90 / 4) */
    CHECK_U64(cost_of(4, 1, ASM_DATA, 0, 0, taps, 5), 4 + 23);
    CHECK_U64(cost_of(4, 2, ASM_DATA, pair(0, 100), pair(200, 10), binary, 8), 4 + 190);
    CHECK_U64(cost_of(4, 3, 0, 300, pair(600, 13), NULL, 0), 4 + 4); /* ceil(13 / 4) */
    CHECK_U64(cost_of(5, 0, ASM_DATA, 0, pair(600, 10), scale, 4), 4 + 140);
    CHECK_U64(cost_of(5, 1, ASM_DATA, 0, pair(600, 10), scale, 4), 4 + 20);
    CHECK_U64(cost_of(5, 2, ASM_DATA, pair(0, 100), pair(200, 10), binary, 8), 4 + 80);
    check_all_costed();
}

typedef struct seen {
    uint32_t layers[8];
    uint64_t cycles[8];
    int n;
} seen;

static void note_layer(void *ud, iss_machine *m, uint32_t layer)
{
    seen *s = ud;
    iss_stats st;
    iss_get_layer_stats(m, (int32_t)layer, &st);
    if (s->n < 8) {
        s->layers[s->n] = layer;
        s->cycles[s->n++] = st.cycles;
    }
}

static void test_layers(void)
{
    begin();
    array3(&p, 7, 3, 2, 0, 0); /* mark 2 at 6 */
    issue_ald();               /* 13..177 */
    array3(&p, 7, 3, 5, 0, 0); /* mark 5 */
    issue_mac();               /* issue 26: 26..110, done before the load */
    array3(&p, 7, 1, 0, 0, 0);
    leave(&p);
    iss_machine *m = asm_machine(ctx, &hw, &p);
    seen s = {0};
    iss_set_mark_hook(m, note_layer, &s);
    CHECK(iss_write(m, ASM_DATA, block40, sizeof block40) == CGC_OK);
    CHECK(asm_run(m).reason == ISS_EXIT);
    CHECK(s.n == 3 && s.layers[0] == 0 && s.layers[1] == 2 && s.layers[2] == 5);
    CHECK_U64(s.cycles[0], 6);
    CHECK_U64(s.cycles[1], 13); /* 6..19: the load is no work of the array's */
    CHECK_U64(s.cycles[2], 160);
    iss_stats total, l;
    iss_get_stats(m, &total);
    CHECK_U64(total.cycles, 179);
    CHECK(iss_layer_count(m) == 6);
    iss_get_layer_stats(m, 5, &l);
    CHECK_U64(l.macs, 256 * 16 * 40);
    CHECK_U64(l.lrm_peak_bytes, 40);
    iss_free(m);
}

/* What DMI brings in for a later layer costs the layer that waits for it, and the last layer ends with the run. */
static void test_prefetch(void)
{
    begin();
    array3(&p, 7, 3, 2, 0, 0);        /* mark 2 at 6 */
    array3(&p, 0, 0, ASM_DATA, 0, 0); /* dmi: issue 13, data 213..221 */
    post_event(0, 3);                 /* 221..222 */
    wait_event(2, 3, 1);              /* ALD, issue 27: until 222, 222..223 */
    post_event(2, 4);                 /* 223..224 */
    array3(&p, 7, 3, 5, 0, 0);        /* mark 5 at 40 */
    wait_event(4, 4, 1);              /* ARR, issue 47: until 224, 224..225 */
    array3(&p, 0, 0, ASM_DATA, 0, 0); /* dmi: issue 54, data 254..262 */
    leave(&p);
    iss_machine *m = asm_machine(ctx, &hw, &p);
    CHECK(iss_write(m, ASM_DATA, one_row, sizeof one_row) == CGC_OK);
    CHECK(asm_run(m).reason == ISS_EXIT);
    iss_stats total, l[6];
    iss_get_stats(m, &total);
    for (int32_t i = 0; i < 6; i++)
        iss_get_layer_stats(m, i, &l[i]);
    CHECK_U64(l[0].cycles, 6);
    CHECK_U64(l[2].cycles, 34); /* 6..40: the scalar core; transfer and load are not its own */
    CHECK_U64(l[2].ddr_read_bytes, 128);
    CHECK_U64(l[2].starved, 0);
    CHECK_U64(l[5].cycles, 222);  /* 40..262 */
    CHECK_U64(l[5].starved, 195); /* ARR waits for ALD, which waits for DMI: 27..222 */
    CHECK_U64(total.starved, 195);
    CHECK_U64(total.cycles, 262);
    iss_free(m);
}

int main(void)
{
    ctx = cgc_ctx_new();
    if (!ctx)
        return 1;
    test_scalar();
    test_dma();
    test_array();
    test_costs();
    test_layers();
    test_prefetch();
    cgc_ctx_free(ctx);
    return check_done();
}
