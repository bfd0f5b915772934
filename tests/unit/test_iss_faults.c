/* SPDX-License-Identifier: Apache-2.0
 *
 * test_iss_faults.c - guest faults are results with their place: bad addresses, unusable operands, unknown words,
 * deadlocks, the budget; malformed ELF files are refused; encodings of both instruction lists do not overlap.
 */
#include "iss_asm.h"

static cgc_ctx *ctx;
static cgc_hw hw;
static prog p;

/* Runs p after data was put at ASM_DATA. The message of the last run stays readable in text. */
static char text[1024];

static iss_stop run_with(const void *data, size_t bytes)
{
    leave(&p);
    iss_machine *m = asm_machine(ctx, &hw, &p);
    iss_stop stop = {0};
    if (!m)
        return stop;
    CHECK(iss_write(m, ASM_DATA, data, bytes) == CGC_OK);
    stop = asm_run(m);
    (void)snprintf(text, sizeof text, "%s", stop.message);
    iss_stats s;
    iss_get_stats(m, &s);
    for (int q = 0; q < ISS_QUEUES; q++) { /* the account holds after faults too */
        uint64_t sum = s.busy[q];
        for (int k = 0; k < ISS_STALLS; k++)
            sum += s.stall[q][k];
        CHECK(sum == s.cycles);
    }
    iss_free(m);
    return stop;
}

static iss_stop one_array(uint32_t f3, uint32_t f2, uint32_t a, uint32_t b, uint32_t c,
                          const void *data, size_t bytes)
{
    p.n = 0;
    array3(&p, f3, f2, a, b, c);
    return run_with(data, bytes);
}

#define EXPECT(stop_, reason_, words)                                                              \
    do {                                                                                           \
        const iss_stop s_ = (stop_);                                                               \
        if (s_.reason != (reason_) || !strstr(text, words)) {                                      \
            check_failures++;                                                                      \
            printf("%s:%d: reason %d: %s\n", __FILE__, __LINE__, (int)s_.reason, text);            \
        }                                                                                          \
    } while (0)

static void test_scalar(void)
{
    p.n = 0;
    li(&p, A0, 0x20000000);
    put(&p, lw(A1, A0, 4));
    iss_stop s = run_with(NULL, 0);
    EXPECT(s, ISS_ACCESS, "load outside RAM, OCM and DDR (0x20000004)");
    CHECK(s.pc == 0x80000008u && s.address == 0x20000004u);

    p.n = 0;
    li(&p, A0, 0x10400000 - 2); /* the end of OCM */
    put(&p, sw(A1, A0, 0));
    EXPECT(run_with(NULL, 0), ISS_ACCESS, "store outside");

    p.n = 0;
    li(&p, A0, 0x80fffffe); /* the end of RAM */
    put(&p, sw(A1, A0, 0));
    EXPECT(run_with(NULL, 0), ISS_ACCESS, "store outside");

    p.n = 0;
    put(&p, 0xffffffffu);
    s = run_with(NULL, 0);
    EXPECT(s, ISS_ILLEGAL, "unknown instruction (0xffffffff)");

    p.n = 0;
    put(&p, i_type(0x7c0, 0, 2, A0, 0x73));
    EXPECT(run_with(NULL, 0), ISS_ILLEGAL, "control register (0x000007c0)");

    p.n = 0;
    put(&p, i_type(0xc00, A0, 1, A0, 0x73)); /* cycle is read-only */
    EXPECT(run_with(NULL, 0), ISS_ILLEGAL, "control register");

    p.n = 0;
    put(&p, i_type(2, 6, 5, 0, 0x73));    /* frm = 6 */
    put(&p, r_type(0, 0, 0, 7, 0, 0x53)); /* fadd, dynamic mode */
    EXPECT(run_with(NULL, 0), ISS_ILLEGAL, "rounding mode");

    p.n = 0;
    put(&p, r_type(0, 0, 0, 5, 0, 0x53)); /* reserved mode */
    EXPECT(run_with(NULL, 0), ISS_ILLEGAL, "unknown instruction");

    p.n = 0;
    put(&p, i_type(0x100, ZERO, 0, RA, 0x67));
    s = run_with(NULL, 0);
    EXPECT(s, ISS_ACCESS, "jump outside the program text (0x00000100)");
    CHECK(s.pc == 0x80000000u);

    p.n = 0;
    put(&p, j_type(6, ZERO));
    EXPECT(run_with(NULL, 0), ISS_ACCESS, "no multiple of 4");

    p.n = 0;
    put(&p, addi(A7, ZERO, 64));
    put(&p, 0x73);
    EXPECT(run_with(NULL, 0), ISS_ILLEGAL, "system call");

    p.n = 0;
    put(&p, 0x00100073);
    EXPECT(run_with(NULL, 0), ISS_ILLEGAL, "ebreak");
}

static void test_end_of_text(void)
{
    p.n = 0;
    put(&p, 0x13);
    iss_machine *m = asm_machine(ctx, &hw, &p);
    const iss_stop s = asm_run(m);
    CHECK(s.reason == ISS_ILLEGAL && strstr(s.message, "ran off the end"));
    iss_free(m);
}

static void test_limit(void)
{
    p.n = 0;
    put(&p, addi(A0, A0, 1));
    put(&p, j_type(-4, ZERO));
    iss_machine *m = asm_machine(ctx, &hw, &p);
    iss_stop s;
    CHECK(iss_run(m, 1000, &s) == CGC_OK && s.reason == ISS_LIMIT);
    iss_stats st;
    iss_get_stats(m, &st); /* so far: n additions and n taken jumps */
    CHECK(st.instructions >= 1000 && st.cycles == 2 * st.instructions);
    CHECK(iss_run(m, 1000, &s) == CGC_OK && s.reason == ISS_LIMIT); /* goes on */
    uint32_t unused;
    CHECK(iss_read(m, (uint32_t)ASM_BASE, &unused, 4) == CGC_OK);
    iss_free(m);
}

static void test_array(void)
{
    const uint32_t block[4] = {0, 1, 64, 64};
    const uint32_t window[17] = {ASM_OCM, 8, 8, 16, 128, 1, 1, 1, 1, 1, 1, 0, 3, 3, 5, 0, 8};
    uint32_t w[17];
    EXPECT(one_array(0, 2, 0, 0, 0, NULL, 0), ISS_ILLEGAL, "unknown array instruction");
    EXPECT(one_array(0, 0, 0x30000000, 0, 0, NULL, 0), ISS_ACCESS, "descriptor outside");
    EXPECT(one_array(0, 0, ASM_DATA, 0, 0,
                     (const uint32_t[9]){ASM_OCM, ASM_OCM, 1, 1, 1, 0, 0, 0, 0}, 36),
           ISS_ACCESS, "address outside DDR (0x10000000)");
    EXPECT(one_array(0, 0, ASM_DATA, 0, 0,
                     (const uint32_t[9]){ASM_DDR, ASM_DDR, 1, 1, 1, 0, 0, 0, 0}, 36),
           ISS_ACCESS, "address outside OCM (0x40000000)");
    EXPECT(one_array(0, 0, ASM_DATA, 0, 0,
                     (const uint32_t[9]){ASM_OCM, ASM_DDR, 1, 0xffffffff, 0xffffffff, 0, 0, 0, 0},
                     36),
           ISS_ILLEGAL, "2^24 rows");
    EXPECT(one_array(0, 0, ASM_DATA, 0, 0,
                     (const uint32_t[9]){ASM_OCM, ASM_DDR, 16, 2, 1, 0x400000, 0, 0, 0}, 36),
           ISS_ACCESS, "address outside OCM (0x10400000)");
    EXPECT(one_array(0, 1, ASM_DATA, 0, 0,
                     (const uint32_t[9]){0x7ffffff0, ASM_OCM, 32, 1, 1, 0, 0, 0, 0}, 36),
           ISS_ACCESS, "address outside DDR (0x7ffffff0)");
    EXPECT(one_array(1, 1, ASM_DATA, ASM_OCM, pair(0, 257), block, 16), ISS_ILLEGAL,
           "more lanes than PEs");
    EXPECT(one_array(1, 1, ASM_DATA, ASM_OCM, pair(4096 - 63, 1), block, 16), ISS_ACCESS,
           "address outside LRM");
    EXPECT(one_array(1, 1, ASM_DATA, ASM_OCM, pair(0, 1), (const int32_t[4]){0, -1, 64, 64}, 16),
           ISS_ILLEGAL, "block is negative");
    EXPECT(one_array(2, 0, ASM_OCM, pair(1, 17), 0, NULL, 0), ISS_ILLEGAL, "more accumulators");
    EXPECT(one_array(2, 0, 0x103fffff, pair(1, 1), 0, NULL, 0), ISS_ACCESS, "address outside OCM");
    EXPECT(one_array(2, 0, ASM_OCM, pair(65535, 1), 0, NULL, 0), ISS_ACCESS, "address outside LRM");
    memcpy(w, window, sizeof w);
    w[16] = 0; /* ow */
    EXPECT(one_array(1, 0, ASM_DATA, 0, pair(0, 1), w, sizeof w), ISS_ILLEGAL, "window needs");
    memcpy(w, window, sizeof w);
    w[13] = 0x7fffffff; /* kw */
    EXPECT(one_array(2, 2, ASM_DATA, 0, pair(0, 1), w, sizeof w), ISS_ILLEGAL, "window needs");
    memcpy(w, window, sizeof w);
    w[1] = w[2] = 0x7fffffff; /* a tensor larger than OCM, pixel far inside it */
    w[4] = 0x7fffffff;
    w[5] = 0x7fffffff;
    EXPECT(one_array(2, 2, ASM_DATA, 8, pair(0, 1), w, sizeof w), ISS_ACCESS,
           "address outside OCM");
    EXPECT(one_array(3, 2, ASM_OCM, pair(0, 1), 0x80807f00u, NULL, 0), ISS_ILLEGAL,
           "clamp is empty");
    EXPECT(one_array(4, 0, ASM_DATA, 0, 0, (const int32_t[5]){1, 65536, 0, 65536, 0}, 20),
           ISS_ILLEGAL, "taps need");
    EXPECT(one_array(4, 0, ASM_DATA, 0, 0, (const int32_t[5]){1, 2, -1, 1, 0}, 20), ISS_ILLEGAL,
           "before LRM");
    EXPECT(one_array(4, 1, ASM_DATA, 0, 0, (const int32_t[5]){17, 1, 0, 1, 0}, 20), ISS_ILLEGAL,
           "accumulators");
    EXPECT(one_array(4, 3, 4096 - 255, 0, pair(0, 0), NULL, 0), ISS_ACCESS, "address outside LRM");
    EXPECT(one_array(5, 0, ASM_DATA, 0, pair(0, 1), (const int32_t[4]){0x3f800000, 128, -128, 127},
                     16),
           ISS_ILLEGAL, "zero point");
    EXPECT(one_array(7, 3, 65536, 0, 0, NULL, 0), ISS_ILLEGAL, "layer above");
}

static void test_events(void)
{
    p.n = 0;
    array3(&p, 7, 3, 7, 0, 0); /* layer 7 */
    array3(&p, 6, 0, ISS_Q_ALD, 5, 0);
    array3(&p, 6, 1, ISS_Q_ARR, 5, 2);
    iss_stop s = run_with(NULL, 0);
    EXPECT(s, ISS_DEADLOCK, "no earlier post");
    CHECK(s.address == 5 && s.layer == 7 && s.pc == 0x80000000u + 4 * (7 + 7 + 6));

    p.n = 0;
    array3(&p, 7, 0, 3, 1, 0);
    EXPECT(run_with(NULL, 0), ISS_DEADLOCK, "no earlier post");

    p.n = 0;
    array3(&p, 6, 1, ISS_Q_ARR, 31, 0); /* a wait for 0 is met */
    EXPECT(run_with(NULL, 0), ISS_EXIT, "");

    p.n = 0;
    array3(&p, 6, 0, ISS_Q_ALD, 5, 0);
    array3(&p, 6, 0, ISS_Q_ARR, 5, 0);
    EXPECT(run_with(NULL, 0), ISS_ILLEGAL, "another queue");

    EXPECT(one_array(6, 0, 5, 0, 0, NULL, 0), ISS_ILLEGAL, "no such queue");
    EXPECT(one_array(6, 1, 0, 32, 0, NULL, 0), ISS_ILLEGAL, "no such queue or event");
    EXPECT(one_array(7, 0, 32, 0, 0, NULL, 0), ISS_ILLEGAL, "no such event");
}

/* Loads the file with byte "at" changed. */
static cgc_status load_changed(const uint8_t *elf, size_t bytes, size_t at, uint32_t value)
{
    uint8_t *d = malloc(bytes);
    memcpy(d, elf, bytes);
    put_u32(d + at, value);
    iss_machine *m = iss_new(ctx, &hw);
    const cgc_status s = iss_load_elf(m, d, bytes);
    iss_stop stop;
    if (s != CGC_OK)
        CHECK(iss_run(m, 10, &stop) != CGC_OK || stop.reason != ISS_RUNNING);
    iss_free(m);
    free(d);
    cgc_ctx_clear(ctx);
    return s;
}

static void test_elf(void)
{
    size_t bytes;
    p.n = 0;
    leave(&p);
    uint8_t *elf = asm_elf(&p, &bytes);
    CHECK(load_changed(elf, bytes, 0, 0x464c457fu) == CGC_OK);
    CHECK(load_changed(elf, bytes, 0, 0x464c457eu) == CGC_E_FORMAT);
    CHECK(load_changed(elf, bytes, 4, 0x00010102u) == CGC_E_FORMAT);      /* 64-bit */
    CHECK(load_changed(elf, bytes, 16, 3u | 243u << 16) == CGC_E_FORMAT); /* shared object */
    CHECK(load_changed(elf, bytes, 16, 2u | 62u << 16) == CGC_E_FORMAT);  /* x86 */
    CHECK(load_changed(elf, bytes, 36, 1) == CGC_E_FORMAT);               /* compressed */
    CHECK(load_changed(elf, bytes, 24, 0x80000100u) == CGC_E_FORMAT);     /* entry */
    CHECK(load_changed(elf, bytes, 24, 0x80000002u) == CGC_E_FORMAT);
    CHECK(load_changed(elf, bytes, 28, 0xfffffff0u) == CGC_E_FORMAT);     /* program headers */
    CHECK(load_changed(elf, bytes, 52 + 4, 0xffffff00u) == CGC_E_FORMAT); /* segment offset */
    CHECK(load_changed(elf, bytes, 52 + 8, 0x00010000u) == CGC_E_LIMIT);  /* segment address */
    CHECK(load_changed(elf, bytes, 52 + 16, 0x7fffffffu) ==
          CGC_E_FORMAT); /* larger in file than in memory */
    CHECK(load_changed(elf, bytes, 52 + 20, 0x7fffffffu) == CGC_E_LIMIT); /* larger than memory */
    CHECK(load_changed(elf, bytes, 52 + 24, 6) == CGC_E_FORMAT);          /* not executable */
    CHECK(load_changed(elf, 40, 0, 0x464c457fu) == CGC_E_FORMAT);
    free(elf);
}

static void test_encodings(void)
{
    static const struct {
        const char *name;
        int code;
    } array[] = {
#define INSN(name, f3, f2, queue, a, b, c, cost, meaning) {#name, (f3) * 4 + (f2)},
#include "isa.def"
#undef INSN
    };
    static const struct {
        const char *name;
        uint32_t match, mask;
    } rv[] = {
#define RV(name, match, mask, immediate, operands, cost) {#name, match, mask},
#include "rv32.def"
#undef RV
    };
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        CHECK(array[i].code >= 0 && array[i].code < 32);
        for (size_t k = 0; k < i; k++)
            if (array[i].code == array[k].code) {
                printf("isa.def: %s and %s share an encoding\n", array[k].name, array[i].name);
                check_failures++;
            }
    }
    const size_t n = sizeof rv / sizeof *rv - 1; /* the last line is "illegal" */
    for (size_t i = 0; i < n; i++) {
        CHECK((rv[i].match & ~rv[i].mask) == 0);
        for (size_t k = 0; k < i; k++)
            if (((rv[i].match ^ rv[k].match) & rv[i].mask & rv[k].mask) == 0) {
                printf("rv32.def: %s and %s overlap\n", rv[k].name, rv[i].name);
                check_failures++;
            }
    }
}

int main(void)
{
    ctx = cgc_ctx_new();
    if (!ctx)
        return 1;
    hw_init(&hw, ctx);
    test_scalar();
    test_end_of_text();
    test_limit();
    test_array();
    test_events();
    test_elf();
    test_encodings();
    cgc_ctx_free(ctx);
    return check_done();
}
