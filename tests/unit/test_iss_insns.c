/* SPDX-License-Identifier: Apache-2.0
 *
 * test_iss_insns.c - what every array instruction computes: random operands and memory through a guest program on the
 * simulator and through the host body, against the plain reference model below, written from isa/isa.def and
 * ccl_epu.h. The model's float arithmetic is double rounded once to float, which is exact for one operation.
 */
#include "iss_asm.h"

#include "epu/ccl_epu_host.c"

#include <math.h>

enum { SIZE = 3, LANES = SIZE * SIZE, LRM = 1024, ACCS = 16, OCM = 65536, TRIALS = 60 };
/* OCM: initial LRM, free data, dump of LRM, dump of accumulators. */
enum { AT_LRM = 0, AT_DATA = 0x3000, DATA_BYTES = 0x5000, AT_DUMP = 0x8000, AT_ACC = 0xb000 };

static int M;
static struct {
    int8_t lrm[LANES][LRM];
    int32_t acc[LANES][ACCS];
    uint8_t ocm[OCM], ddr[65536];
} ref;
static uint64_t seed = 12345;
static cgc_ctx *ctx;
static cgc_hw hw;

static uint32_t below(uint32_t n)
{
    return rnd_below(&seed, n);
}

static int between(int lo, int hi)
{
    return lo + (int)below((uint32_t)(hi - lo + 1));
}

static float random_scale(void)
{
    return ldexpf(1.0f + (float)below(1u << 23) / 8388608.0f, between(-6, 3));
}

/* ---- the reference ---- */
static int8_t ref_round(double v, int zp, int lo, int hi)
{
    double r = floor(v);
    if (v != v)
        return (int8_t)lo;
    if (v - r > 0.5 || (v - r == 0.5 && fmod(r, 2.0) != 0.0))
        r += 1.0;
    r += zp;
    return (int8_t)(r < lo ? lo : r > hi ? hi : r);
}

static int8_t ref_requantize(int32_t sum, float m, int zp, int lo, int hi)
{
    const float s = (float)sum;
    return ref_round((double)(float)((double)s * (double)m), zp, lo, hi);
}

static float ref_dequantize(int q, float scale, int zp)
{
    return (float)((double)(q - zp) * (double)scale);
}

static int8_t ref_quantize(float x, float scale, int zp, int lo, int hi)
{
    return ref_round((double)(float)((double)x / (double)scale), zp, lo, hi);
}

/* Byte i of the window of pixel p, rows padded to M. */
static int ref_window(const ccl_window *w, int p, int i)
{
    const int row = (w->kw * w->c + M - 1) / M * M, y = i / row, in_row = i % row;
    if (in_row >= w->kw * w->c)
        return (int8_t)w->fill;
    const int x = in_row / w->c, c = in_row % w->c;
    const int iy = p / w->ow * w->stride_y - w->pad_y + (w->ky0 + y) * w->dil_y;
    const int ix = p % w->ow * w->stride_x - w->pad_x + x * w->dil_x;
    if (iy < 0 || iy >= w->h || ix < 0 || ix >= w->w)
        return (int8_t)w->fill;
    return (int8_t)ref.ocm[(int)(w->base - ASM_OCM) + iy * w->row_bytes + ix * w->pixel_bytes + c];
}

static int ref_window_bytes(const ccl_window *w)
{
    return w->kh * ((w->kw * w->c + M - 1) / M * M);
}

/* ---- random operands: one instruction ---- */
typedef struct op {
    uint32_t f3, f2, x[3];
    union {
        ccl_dma dma;
        ccl_window window;
        ccl_block block;
        ccl_taps taps;
        ccl_binary binary;
        ccl_scale scale;
        uint32_t words[20];
    } d; /* at ASM_DATA when x[0] says so */
} op;

static ccl_window random_window(int most_bytes)
{
    ccl_window w;
    do {
        w = (ccl_window){.h = between(1, 6),
                         .w = between(1, 6),
                         .stride_y = between(1, 3),
                         .stride_x = between(1, 3),
                         .pad_y = between(0, 2),
                         .pad_x = between(0, 2),
                         .dil_y = between(1, 2),
                         .dil_x = between(1, 2),
                         .ky0 = between(0, 2),
                         .kh = between(1, 4),
                         .kw = between(1, 4),
                         .c = between(1, 20),
                         .fill = between(-128, 127),
                         .ow = between(1, 5)};
    } while (ref_window_bytes(&w) > most_bytes);
    w.pixel_bytes = w.c + between(0, 5);
    w.row_bytes = w.pixel_bytes * w.w + between(0, 9);
    w.base = ASM_OCM + AT_DATA + below(1000);
    return w;
}

static int8_t *data_at(uint32_t ocm)
{
    return (int8_t *)&ref.ocm[ocm - ASM_OCM];
}

static void op_ald_window(op *o)
{
    const int lanes = between(0, LANES), first = between(0, 7);
    o->d.window = random_window(500);
    const int n = ref_window_bytes(&o->d.window), lrm = between(0, LRM - n);
    *o = (op){1, 0, {ASM_DATA, (uint32_t)first, pair((uint32_t)lrm, (uint32_t)lanes)}, o->d};
    for (int l = 0; l < lanes; l++)
        for (int i = 0; i < n; i++)
            ref.lrm[l][lrm + i] = (int8_t)ref_window(&o->d.window, first + l, i);
}

static void op_block(op *o, bool load)
{
    const int rows = between(0, 5), bytes = between(0, 30), lanes = between(0, LANES);
    const int lrm = between(0, LRM - rows * bytes);
    const uint32_t ocm = ASM_OCM + AT_DATA + 2000 + below(1000);
    o->d.block = (ccl_block){below(3) ? between(-100, 200) : 0, rows, bytes, between(-40, 60)};
    *o = (op){1, load ? 1 : 2, {ASM_DATA, ocm, pair((uint32_t)lrm, (uint32_t)lanes)}, o->d};
    for (int l = 0; l < lanes; l++)
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < bytes; i++) {
                int8_t *far =
                    data_at(ocm) + l * o->d.block.lane_stride + r * o->d.block.row_stride + i;
                int8_t *near = &ref.lrm[l][lrm + r * bytes + i];
                *(load ? near : far) = *(load ? far : near);
            }
}

static void op_ald(op *o)
{
    op_block(o, true);
}

static void op_ast(op *o)
{
    op_block(o, false);
}

static void add_to(int32_t *acc, int64_t v, bool first)
{
    *acc = (int32_t)(uint32_t)((first ? 0 : (int64_t)*acc) + v);
}

static void op_mac_weights(op *o)
{
    const int k = between(0, 8), no = between(0, ACCS), lrm = between(0, LRM - k * M);
    const bool first = below(2);
    const uint32_t ocm = ASM_OCM + AT_DATA + below(1000);
    *o = (op){2, first, {ocm, pair((uint32_t)k, (uint32_t)no), (uint32_t)lrm}, o->d};
    for (int l = 0; l < LANES; l++)
        for (int a = 0; a < no; a++) {
            int64_t s = 0;
            for (int i = 0; i < k * M; i++)
                s += ref.lrm[l][lrm + i] * data_at(ocm)[a * k * M + i];
            add_to(&ref.acc[l][a], s, first);
        }
}

static void op_mac_window(op *o)
{
    const int no = between(0, ACCS), pixel = between(0, 9);
    const bool first = below(2);
    o->d.window = random_window(600);
    const int n = ref_window_bytes(&o->d.window), lrm = between(0, LRM - n);
    *o = (op){2, 2 + first, {ASM_DATA, (uint32_t)pixel, pair((uint32_t)lrm, (uint32_t)no)}, o->d};
    for (int l = 0; l < LANES; l++)
        for (int a = 0; a < no; a++) {
            int64_t s = 0;
            for (int i = 0; i < n; i++)
                s += ref.lrm[l][lrm + i] * ref_window(&o->d.window, pixel + a, i);
            add_to(&ref.acc[l][a], s, first);
        }
}

static void op_acc(op *o)
{
    const uint32_t no = below(ACCS + 1), lrm = below(LRM - 64 + 1);
    const bool load = below(2);
    *o = (op){3, !load, {lrm, no, 0}, o->d};
    for (int l = 0; l < LANES; l++)
        for (uint32_t a = 0; a < no; a++) {
            if (load)
                memcpy(&ref.acc[l][a], &ref.lrm[l][lrm + 4 * a], 4);
            else
                memcpy(&ref.lrm[l][lrm + 4 * a], &ref.acc[l][a], 4);
        }
}

static uint32_t clamp_word(int zp, int lo, int hi)
{
    return ((uint32_t)zp & 255u) | ((uint32_t)lo & 255u) << 8 | ((uint32_t)hi & 255u) << 16;
}

static void op_rqs(op *o)
{
    const bool per_lane = below(2);
    const uint32_t no = below(ACCS + 1), dst = below(LRM - 15), from = below(LRM - 128);
    const uint32_t ocm = ASM_OCM + AT_DATA + 4 * below(1000);
    const int zp = between(-128, 127), lo = between(-128, 0), hi = between(0, 127);
    *o =
        (op){3, 2 + per_lane, {per_lane ? from : ocm, pair(dst, no), clamp_word(zp, lo, hi)}, o->d};
    for (int l = 0; l < LANES; l++) {
        int32_t bias;
        float m;
        memcpy(&bias, &ref.lrm[l][from], 4);
        memcpy(&m, &ref.lrm[l][from + 4], 4);
        for (uint32_t a = 0; a < no; a++) {
            if (!per_lane) {
                memcpy(&bias, data_at(ocm) + 8 * a, 4);
                memcpy(&m, data_at(ocm) + 8 * a + 4, 4);
            }
            ref.lrm[l][dst + a] =
                ref_requantize((int32_t)((uint32_t)ref.acc[l][a] + (uint32_t)bias), m, zp, lo, hi);
        }
    }
}

static void op_red(op *o)
{
    const bool sum = below(2);
    const ccl_taps t = {between(0, ACCS), between(1, 3), between(-20, 20), between(1, 3),
                        between(-20, 20)};
    const int src = between(100, LRM - 200), dst = between(0, LRM - ACCS), zp = between(-128, 127);
    o->d.taps = t;
    *o = (op){4, sum, {ASM_DATA, (uint32_t)src, (uint32_t)(sum ? zp : dst)}, o->d};
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < t.n; i++) {
            int best = -128, total = 0;
            for (int y = 0; y < t.taps_y; y++)
                for (int x = 0; x < t.taps_x; x++) {
                    const int v = ref.lrm[l][src + y * t.stride_y + x * t.stride_x + i];
                    best = v > best ? v : best;
                    total += v - zp;
                }
            if (sum)
                ref.acc[l][i] = total;
            else
                ref.lrm[l][dst + i] = (int8_t)best;
        }
}

static void op_add(op *o)
{
    const ccl_binary b = {random_scale(),     random_scale(),     random_scale(),
                          between(-128, 127), between(-128, 127), between(-128, 127),
                          between(-128, -1),  between(0, 127)};
    const uint32_t n = below(50), at_a = below(300), at_b = 400 + below(200), dst = below(LRM - 50);
    const bool scaled = below(2); /* add_scaled: times y_scale in place of the division */
    o->d.binary = b;
    *o = (op){scaled ? 5 : 4, 2, {ASM_DATA, pair(at_a, at_b), pair(dst, n)}, o->d};
    for (int l = 0; l < LANES; l++)
        for (uint32_t i = 0; i < n; i++) {
            const float x = ref_dequantize(ref.lrm[l][at_a + i], b.a_scale, b.a_zp);
            const float y = ref_dequantize(ref.lrm[l][at_b + i], b.b_scale, b.b_zp);
            const float sum = (float)((double)x + (double)y);
            const float product = (float)((double)sum * (double)b.y_scale);
            ref.lrm[l][dst + i] = scaled ? ref_quantize(product, 1.0f, b.y_zp, b.lo, b.hi)
                                         : ref_quantize(sum, b.y_scale, b.y_zp, b.lo, b.hi);
        }
}

static void op_lut(op *o)
{
    const uint32_t n = below(60), table = below(LRM - 256), src = below(LRM - 60),
                   dst = below(LRM - 60);
    *o = (op){4, 3, {table, src, pair(dst, n)}, o->d};
    for (int l = 0; l < LANES; l++)
        for (uint32_t i = 0; i < n; i++)
            ref.lrm[l][dst + i] = ref.lrm[l][(int)table + 128 + ref.lrm[l][src + i]];
}

static void op_quant(op *o)
{
    const ccl_scale s = {random_scale(), between(-128, 127), between(-128, -1), between(0, 127)};
    const bool back = below(2);
    const uint32_t n = below(30), src = below(LRM - 120), dst = below(LRM - 120);
    o->d.scale = s;
    *o = (op){5, back, {ASM_DATA, src, pair(dst, n)}, o->d};
    for (int l = 0; l < LANES; l++)
        for (uint32_t i = 0; i < n; i++) {
            float x;
            if (back) {
                x = ref_dequantize(ref.lrm[l][src + i], s.scale, s.zp);
                memcpy(&ref.lrm[l][dst + 4 * i], &x, 4);
            } else {
                memcpy(&x, &ref.lrm[l][src + 4 * i], 4);
                ref.lrm[l][dst + i] = ref_quantize(x, s.scale, s.zp, s.lo, s.hi);
            }
        }
}

static void op_dma(op *o)
{
    const bool in = below(2);
    const uint32_t ocm = ASM_OCM + AT_DATA + 4000, ddr = ASM_DDR + 20000;
    const ccl_dma d = {in ? ocm : ddr,     in ? ddr : ocm,     below(50),
                       below(4),           below(4),           between(-200, 200),
                       between(-900, 900), between(-200, 200), between(-900, 900)};
    o->d.dma = d;
    *o = (op){0, !in, {ASM_DATA, 0, 0}, o->d};
    for (int i2 = 0; i2 < (int)d.n2; i2++)
        for (int i1 = 0; i1 < (int)d.n1; i1++) {
            const int to = i1 * d.dst_s1 + i2 * d.dst_s2, from = i1 * d.src_s1 + i2 * d.src_s2;
            if (in)
                memcpy(&ref.ocm[AT_DATA + 4000 + to], &ref.ddr[20000 + from], d.n0);
            else
                memcpy(&ref.ddr[20000 + to], &ref.ocm[AT_DATA + 4000 + from], d.n0);
        }
}

/* ---- the three ways ---- */
static void fill_random(void)
{
    for (int i = 0; i < OCM; i++)
        ref.ocm[i] = (uint8_t)rnd(&seed);
    for (int i = 0; i < 65536; i++)
        ref.ddr[i] = (uint8_t)rnd(&seed);
    /* Every other word a float of moderate size, so that conversions see more than clamps and NaN. */
    for (int i = 0; i + 8 <= AT_DUMP; i += 8) {
        const float f = (random_scale() - 4.0f) * (below(4) ? 1.0f : 1e-6f);
        memcpy(&ref.ocm[i + 4], &f, 4);
    }
    memset(&ref.ocm[AT_DUMP], 0, OCM - AT_DUMP);
}

static void load_reference(void)
{
    memcpy(ref.lrm, &ref.ocm[AT_LRM], sizeof ref.lrm);
    for (int l = 0; l < LANES; l++)
        memcpy(ref.acc[l], ref.lrm[l], sizeof ref.acc[l]);
}

static void dump_reference(void)
{
    memcpy(&ref.ocm[AT_DUMP], ref.lrm, sizeof ref.lrm);
    for (int l = 0; l < LANES; l++)
        memcpy(&ref.ocm[AT_ACC + l * LRM], ref.acc[l], sizeof ref.acc[l]);
}

static const ccl_block whole = {LRM, 1, LRM, 0}, accs = {LRM, 1, ACCS * 4, 0};

static void guest_program(prog *p, const op *o)
{
    p->n = 0;
    array3(p, 1, 1, ASM_DATA + 0x100, ASM_OCM + AT_LRM, pair(0, LANES));
    array3(p, 3, 0, 0, ACCS, 0);
    array3(p, o->f3, o->f2, o->x[0], o->x[1], o->x[2]);
    array3(p, 1, 2, ASM_DATA + 0x100, ASM_OCM + AT_DUMP, pair(0, LANES));
    array3(p, 3, 1, 0, ACCS, 0);
    array3(p, 1, 2, ASM_DATA + 0x200, ASM_OCM + AT_ACC, pair(0, LANES));
    leave(p);
}

static void run_guest(const op *o, const uint8_t *ocm, const uint8_t *ddr, uint8_t *out_ocm,
                      uint8_t *out_ddr)
{
    static prog p;
    guest_program(&p, o);
    iss_machine *m = asm_machine(ctx, &hw, &p);
    if (!m)
        return;
    CHECK(iss_write(m, ASM_OCM, ocm, OCM) == CGC_OK &&
          iss_write(m, ASM_DDR, ddr, 65536) == CGC_OK &&
          iss_write(m, ASM_DATA, &o->d, sizeof o->d) == CGC_OK &&
          iss_write(m, ASM_DATA + 0x100, &whole, sizeof whole) == CGC_OK &&
          iss_write(m, ASM_DATA + 0x200, &accs, sizeof accs) == CGC_OK);
    const iss_stop stop = asm_run(m);
    CHECK(stop.reason == ISS_EXIT);
    if (stop.reason != ISS_EXIT)
        printf("%s\n", stop.message);
    CHECK(iss_read(m, ASM_OCM, out_ocm, OCM) == CGC_OK &&
          iss_read(m, ASM_DDR, out_ddr, 65536) == CGC_OK);
    iss_free(m);
}

/* Encodings by name; what the queues of the array take, and whether a trial has had it. */
#define INSN(name, f3, f2, ...) IS_##name = (f3) * 4 + (f2),
enum {
#include "isa.def"
};
#undef INSN
static struct {
    const char *name, *queue;
    int code;
    bool tried;
} insns[] = {
#define INSN(name, f3, f2, queue, ...) {#name, #queue, (f3) * 4 + (f2), false},
#include "isa.def"
#undef INSN
};
enum { INSNS = sizeof insns / sizeof *insns };

static void check_all_tried(void)
{
    for (int i = 0; i < INSNS; i++) {
        const bool operation =
            strcmp(insns[i].queue, "QUEUE") != 0 && strcmp(insns[i].queue, "SCALAR") != 0;
        if (operation && !insns[i].tried) {
            printf("isa.def: %s has no case in this test\n", insns[i].name);
            check_failures++;
        }
    }
}

/* lint: long, one case per instruction */
static void call_host(const op *o)
{
    const void *d = &o->d;
    const uint32_t a = o->x[0], b = o->x[1], c = o->x[2];
    switch (o->f3 * 4 + o->f2) {
    case IS_dmi:
        ccl_dmi(d);
        break;
    case IS_dmo:
        ccl_dmo(d);
        break;
    case IS_ald_window:
        ccl_ald_window(d, b, c);
        break;
    case IS_ald:
        ccl_ald(d, b, c);
        break;
    case IS_ast:
        ccl_ast(d, b, c);
        break;
    case IS_mac_weights:
        ccl_mac_weights(a, b, c);
        break;
    case IS_mac_weights_first:
        ccl_mac_weights_first(a, b, c);
        break;
    case IS_mac_window:
        ccl_mac_window(d, b, c);
        break;
    case IS_mac_window_first:
        ccl_mac_window_first(d, b, c);
        break;
    case IS_acc_load:
        ccl_acc_load(a, b);
        break;
    case IS_acc_store:
        ccl_acc_store(a, b);
        break;
    case IS_rqs:
        ccl_rqs(a, b, c);
        break;
    case IS_rqs_lane:
        ccl_rqs_lane(a, b, c);
        break;
    case IS_red_max:
        ccl_red_max(d, b, c);
        break;
    case IS_red_sum:
        ccl_red_sum(d, b, c);
        break;
    case IS_add:
        ccl_add(d, b, c);
        break;
    case IS_lut:
        ccl_lut(a, b, c);
        break;
    case IS_quant:
        ccl_quant(d, b, c);
        break;
    case IS_dequant:
        ccl_dequant(d, b, c);
        break;
    case IS_add_scaled:
        ccl_add_scaled(d, b, c);
        break;
    default:
        CHECK(0);
        break;
    }
}

static void run_host(const op *o, uint8_t *ocm, uint8_t *ddr)
{
    const ccl_epu_config config = {SIZE, M, LRM, ACCS, ocm, ddr, OCM, 65536};
    const char *text;
    void *memory = malloc(ccl_epu_bytes(&config));
    CHECK(memory && ccl_epu_open(&config, memory) == 0);
    ccl_ald(&whole, ASM_OCM + AT_LRM, pair(0, LANES));
    ccl_acc_load(0, ACCS);
    call_host(o);
    ccl_ast(&whole, ASM_OCM + AT_DUMP, pair(0, LANES));
    ccl_acc_store(0, ACCS);
    ccl_ast(&accs, ASM_OCM + AT_ACC, pair(0, LANES));
    CHECK(ccl_epu_close(&text) == 0);
    CHECK_STR(text, "");
    free(memory);
}

static void check_same(const op *o, const char *who, const uint8_t *ocm, const uint8_t *ddr)
{
    for (int i = 0; i < OCM; i++)
        if (ocm[i] != ref.ocm[i]) {
            printf("%s: instruction %u.%u: OCM 0x%x is %d, wanted %d\n", who, o->f3, o->f2,
                   (unsigned)i, (int8_t)ocm[i], (int8_t)ref.ocm[i]);
            check_failures++;
            return;
        }
    if (memcmp(ddr, ref.ddr, 65536) != 0) {
        printf("%s: instruction %u.%u: DDR differs\n", who, o->f3, o->f2);
        check_failures++;
    }
}

static void trial(void (*make)(op *o))
{
    static uint8_t ocm[OCM], ddr[65536], out_ocm[OCM], out_ddr[65536];
    op o = {0};
    fill_random();
    memcpy(ocm, ref.ocm, OCM);
    memcpy(ddr, ref.ddr, 65536);
    load_reference();
    make(&o);
    for (int i = 0; i < INSNS; i++)
        insns[i].tried = insns[i].tried || insns[i].code == (int)(o.f3 * 4 + o.f2);
    dump_reference();
    run_guest(&o, ocm, ddr, out_ocm, out_ddr);
    check_same(&o, "simulator", out_ocm, out_ddr);
    run_host(&o, ocm, ddr);
    check_same(&o, "host body", ocm, ddr);
}

int main(void)
{
    static void (*const makers[])(op *o) = {op_ald_window, op_ald, op_ast,   op_mac_weights,
                                            op_mac_window, op_acc, op_rqs,   op_red,
                                            op_add,        op_lut, op_quant, op_dma};
    ctx = cgc_ctx_new();
    if (!ctx)
        return 1;
    hw_init(&hw, ctx);
    hw.array_size = SIZE;
    hw.lrm_size = LRM;
    hw.num_acc = ACCS;
    hw.ocm_size = OCM;
    for (M = 4; M <= 16; M += 4) {
        hw.macs_per_pe = M;
        for (size_t k = 0; k < sizeof makers / sizeof *makers; k++)
            for (int i = 0; i < TRIALS && check_failures < 20; i++)
                trial(makers[k]);
    }
    check_all_tried();
    cgc_ctx_free(ctx);
    return check_done();
}
