/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kernels.c - every portable kernel against loops written here from docs/numerics.md alone:
 * random shapes, extremes, odd sizes, ties, NaN and infinities. Rounding here is the C library's
 * nearbyintf, and every float step goes through a volatile, so neither requant.h nor a compiler's
 * contraction can be wrong on both sides.
 */
#include "ccl.h"
#include "check.h"
#include "random.h"
#include "requant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float rounded(float v) /* keeps the compiler from contracting across it */
{
    volatile float r = v;
    return r;
}

static int8_t ref_round(float v, int zp, int lo, int hi)
{
    if (v != v)
        return (int8_t)lo;
    const double r = (double)nearbyintf(v) + zp;
    return (int8_t)(r < lo ? lo : r > hi ? hi : r);
}

static int8_t ref_requantize(int64_t acc, float m, int zp, int lo, int hi)
{
    return ref_round(rounded((float)acc * m), zp, lo, hi);
}

/* ---- rounding ---- */
static void check_round(float v)
{
    for (int zp = -128; zp <= 127; zp += 51) {
        CHECK(ccl_round_clamp(v, zp, -128, 127) == ref_round(v, zp, -128, 127));
        CHECK(ccl_round_clamp(v, zp, zp, 100 > zp ? 100 : zp) ==
              ref_round(v, zp, zp, 100 > zp ? 100 : zp));
    }
}

static void test_rounding(void)
{
    for (int k = -600; k <= 600; k++) {
        const float v = (float)k * 0.5f; /* every other one is a tie */
        check_round(v);
        check_round(nextafterf(v, INFINITY));
        check_round(nextafterf(v, -INFINITY));
    }
    const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 4194304.5f, 0.0f, -0.0f, 1e-40f};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        check_round(odd[i]);
    CHECK(ccl_quantize(NAN, 0.5f, 3, -128, 127) == -128);
    CHECK(ccl_quantize(INFINITY, 0.5f, 3, -128, 127) == 127);
    CHECK(ccl_quantize(-INFINITY, 0.5f, 3, -128, 127) == -128);
    for (int i = 0; i < 200000; i++) {
        const float x = random_float(-9.0f, 9.0f), s = random_scale();
        const int zp = random_int(-128, 127);
        CHECK(ccl_quantize(x, s, zp, -128, 127) == ref_round(rounded(x / s), zp, -128, 127));
    }
}

/* ---- windows ---- */
static ccl_window2d random_window(int max_k, int max_dil)
{
    ccl_window2d w = {0};
    do {
        w.n = random_int(1, 2);
        w.h = random_int(1, 11);
        w.w = random_int(1, 13);
        w.kh = random_int(1, max_k);
        w.kw = random_int(1, max_k);
        w.stride_h = random_int(1, 3);
        w.stride_w = random_int(1, 3);
        w.dil_h = random_int(1, max_dil);
        w.dil_w = random_int(1, max_dil);
        w.pad_top = random_int(0, w.kh - 1);
        w.pad_left = random_int(0, w.kw - 1);
        w.oh = (w.h + w.pad_top + random_int(0, w.kh - 1) - w.dil_h * (w.kh - 1) - 1);
        w.ow = (w.w + w.pad_left + random_int(0, w.kw - 1) - w.dil_w * (w.kw - 1) - 1);
        w.oh = w.oh < 0 ? 0 : w.oh / w.stride_h + 1;
        w.ow = w.ow < 0 ? 0 : w.ow / w.stride_w + 1;
    } while (w.oh < 1 || w.ow < 1);
    return w;
}

/* Row-major NHWC position of a tap, or -1 in the padding. */
static int tap(const ccl_window2d *w, int n, int oy, int ox, int ky, int kx)
{
    const int iy = oy * w->stride_h - w->pad_top + ky * w->dil_h;
    const int ix = ox * w->stride_w - w->pad_left + kx * w->dil_w;
    if (iy < 0 || ix < 0 || iy >= w->h || ix >= w->w)
        return -1;
    return ((n * w->h + iy) * w->w + ix) * w->c;
}

/* Calls f for each output element with its coordinates. */
#define FOR_OUTPUTS(w, channels)                                                                   \
    for (int n = 0, i = 0; n < (w).n; n++)                                                         \
        for (int oy = 0; oy < (w).oh; oy++)                                                        \
            for (int ox = 0; ox < (w).ow; ox++)                                                    \
                for (int o = 0; o < (channels); o++, i++)
#define FOR_TAPS(w)                                                                                \
    for (int ky = 0; ky < (w).kh; ky++)                                                            \
        for (int kx = 0; kx < (w).kw; kx++)

/* ---- convolution ---- */
static void random_groups(ccl_window2d *w, int32_t *oc, int32_t *groups)
{
    const int kind = random_int(0, 3);
    *groups = kind == 0 ? random_int(1, 4) : kind == 1 ? random_int(1, 40) : 1;
    w->c = *groups * (kind == 1 ? 1 : random_int(1, 9));
    *oc = *groups * (kind == 1 ? random_int(1, 2) : random_int(1, 7));
}

static void test_conv2d_s8(int round)
{
    ccl_conv2d_params p = {.win = random_window(random_int(1, 8), 2)};
    random_groups(&p.win, &p.oc, &p.groups);
    const int cg = p.win.c / p.groups, og = p.oc / p.groups, k = p.win.kh * p.win.kw * cg;
    int8_t *x = random_bytes(p.win.n * p.win.h * p.win.w * p.win.c, round % 5 == 0);
    int8_t *w = random_bytes(p.oc * k, round % 5 == 0);
    int32_t *bias = random_ints(p.oc, -100000, 100000), *w_zp = random_ints(p.oc, -128, 127);
    float *m = random_floats(p.oc, 1e-5f, 0.02f);
    p.x_zp = round % 7 == 0 ? -128 : random_int(-128, 127);
    p.bias = round % 3 ? bias : NULL;
    p.w_zp = round % 4 == 0 ? w_zp : NULL;
    p.rq = (ccl_requant){m, random_int(-128, 127), -128, 127};
    if (round % 2)
        p.rq.lo = p.rq.y_zp;
    int8_t *y = random_bytes(p.win.n * p.win.oh * p.win.ow * p.oc, 0);
    ccl_conv2d_s8(&p, x, w, y);
    int wrong = 0;
    FOR_OUTPUTS(p.win, p.oc)
    {
        int64_t sum = p.bias ? bias[o] : 0;
        FOR_TAPS(p.win)
        {
            const int at = tap(&p.win, n, oy, ox, ky, kx);
            for (int c = 0; c < cg && at >= 0; c++)
                sum +=
                    (int64_t)(x[at + o / og * cg + c] - p.x_zp) *
                    (w[(o * p.win.kh + ky) * p.win.kw * cg + kx * cg + c] - (p.w_zp ? w_zp[o] : 0));
        }
        wrong += y[i] != ref_requantize(sum, m[o], p.rq.y_zp, p.rq.lo, p.rq.hi);
    }
    CHECK(wrong == 0);
    free_all();
}

/* Sums in the written order; contracted as a compiler must not. */
static float ref_mul_add(float a, float b, float sum, bool contract)
{
    return contract ? fmaf(a, b, sum) : rounded(sum + rounded(a * b));
}

static int conv2d_f32_differences(const ccl_conv2d_f32_params *p, const float *x, const float *w,
                                  const float *y, bool contract)
{
    const int cg = p->win.c / p->groups, og = p->oc / p->groups;
    int wrong = 0;
    FOR_OUTPUTS(p->win, p->oc)
    {
        float sum = p->bias ? p->bias[o] : 0.0f;
        FOR_TAPS(p->win)
        {
            const int at = tap(&p->win, n, oy, ox, ky, kx);
            for (int c = 0; c < cg && at >= 0; c++)
                sum = ref_mul_add(x[at + o / og * cg + c],
                                  w[(o * p->win.kh + ky) * p->win.kw * cg + kx * cg + c], sum,
                                  contract);
        }
        wrong += memcmp(&sum, &y[i], sizeof sum) != 0;
    }
    return wrong;
}

static int test_conv2d_f32(int round)
{
    ccl_conv2d_f32_params p = {.win = random_window(4, 2)};
    random_groups(&p.win, &p.oc, &p.groups);
    const int k = p.win.kh * p.win.kw * p.win.c / p.groups;
    float *x = random_floats(p.win.n * p.win.h * p.win.w * p.win.c, -2.0f, 2.0f);
    float *w = random_floats(p.oc * k, -2.0f, 2.0f);
    p.bias = round % 3 ? random_floats(p.oc, -1.0f, 1.0f) : NULL;
    float *y = random_floats(p.win.n * p.win.oh * p.win.ow * p.oc, 0.0f, 1.0f);
    ccl_conv2d_f32(&p, x, w, y);
    CHECK(conv2d_f32_differences(&p, x, w, y, false) == 0);
    const int contracted = conv2d_f32_differences(&p, x, w, y, true);
    free_all();
    return contracted;
}

/* ---- dense ---- */
static void test_dense_s8(int round)
{
    ccl_dense_params p = {
        random_int(1, 5), random_int(1, 300), random_int(1, 21), 0, NULL, NULL, {0}};
    int8_t *x = random_bytes(p.rows * p.in, round % 5 == 0);
    int8_t *w = random_bytes(p.units * p.in, round % 5 == 0);
    p.x_zp = random_int(-128, 127);
    p.bias = round % 3 ? random_ints(p.units, -100000, 100000) : NULL;
    p.w_zp = round % 4 == 0 ? random_ints(p.units, -128, 127) : NULL;
    p.rq = (ccl_requant){random_floats(p.units, 1e-5f, 0.02f), random_int(-128, 127), -100, 101};
    int8_t *y = random_bytes(p.rows * p.units, 0);
    ccl_dense_s8(&p, x, w, y);
    for (int i = 0; i < p.rows * p.units; i++) {
        const int r = i / p.units, u = i % p.units;
        int64_t sum = p.bias ? p.bias[u] : 0;
        for (int k = 0; k < p.in; k++)
            sum +=
                (int64_t)(x[r * p.in + k] - p.x_zp) * (w[u * p.in + k] - (p.w_zp ? p.w_zp[u] : 0));
        CHECK(y[i] == ref_requantize(sum, p.rq.m[u], p.rq.y_zp, p.rq.lo, p.rq.hi));
    }
    free_all();
}

static int test_dense_f32(int round)
{
    const int rows = random_int(1, 20), in = random_int(1, 200), units = random_int(1, 21);
    int contracted = 0;
    float *x = random_floats(rows * in, -2.0f, 2.0f), *w = random_floats(units * in, -2.0f, 2.0f);
    float *bias = round % 3 ? random_floats(units, -1.0f, 1.0f) : NULL;
    float *y = random_floats(rows * units, 0.0f, 1.0f);
    ccl_dense_f32(rows, in, units, x, w, bias, y);
    for (int i = 0; i < rows * units; i++) {
        const int r = i / units, u = i % units;
        float sum = bias ? bias[u] : 0.0f, fused = sum;
        for (int k = 0; k < in; k++) {
            sum = ref_mul_add(x[r * in + k], w[u * in + k], sum, false);
            fused = ref_mul_add(x[r * in + k], w[u * in + k], fused, true);
        }
        CHECK(memcmp(&sum, &y[i], sizeof sum) == 0);
        contracted += memcmp(&fused, &y[i], sizeof sum) != 0;
    }
    free_all();
    return contracted;
}

/* ---- add: all 65,536 pairs ---- */
/* Pairs that a contracted sum gets wrong; random operands hardly ever show them. */
static int test_add_s8(ccl_add_params p)
{
    static int8_t a[65536], b[65536], y[65536];
    int wrong = 0, contracted = 0;
    for (int i = 0; i < 65536; i++) {
        a[i] = (int8_t)(i / 256 - 128);
        b[i] = (int8_t)(i % 256 - 128);
    }
    ccl_add_s8(&p, a, b, y, 65536);
    for (int i = 0; i < 65536; i++) {
        const float na = (float)(a[i] - p.a_zp), nb = (float)(b[i] - p.b_zp);
        const float fa = rounded(na * p.a_scale), fb = rounded(nb * p.b_scale);
        const int8_t plain = ref_round(rounded(rounded(fa + fb) / p.y_scale), p.y_zp, p.lo, p.hi);
        const float left = fmaf(na, p.a_scale, fb), right = fmaf(nb, p.b_scale, fa);
        wrong += y[i] != plain;
        contracted += plain != ref_round(rounded(left / p.y_scale), p.y_zp, p.lo, p.hi) ||
                      plain != ref_round(rounded(right / p.y_scale), p.y_zp, p.lo, p.hi);
    }
    CHECK(wrong == 0);
    return contracted;
}

static void test_adds(void)
{
    int contracted = 0;
    for (int round = 0; round < 40; round++) {
        ccl_add_params p = {random_scale(), random_scale(), random_scale(), 0, 0, 0, -128, 127};
        p.a_zp = random_int(-128, 127);
        p.b_zp = random_int(-128, 127);
        p.y_zp = random_int(-128, 127);
        if (round % 3 == 0)
            p.lo = p.y_zp;
        if (round % 4 == 0) /* sums on ties, where the last bit decides */
            p.y_scale = p.a_scale = p.b_scale * 3.0f;
        contracted += test_add_s8(p);
    }
    /* Known operands: dequantized sums that lie on a tie only when each product is rounded first.
     */
    CHECK(contracted > 0);
}

/* ---- pools ---- */
static bool any_empty(const ccl_window2d *w)
{
    FOR_OUTPUTS(*w, 1)
    {
        int filled = 0;
        (void)i;
        (void)o;
        FOR_TAPS(*w)
        filled += tap(w, n, oy, ox, ky, kx) >= 0;
        if (!filled)
            return true;
    }
    return false;
}

static void test_max_pool(int round)
{
    ccl_window2d w;
    do {
        w = random_window(4, 2);
        w.c = random_int(1, 40);
    } while (any_empty(&w));
    const int in = w.n * w.h * w.w * w.c, out = w.n * w.oh * w.ow * w.c;
    int8_t *x = random_bytes(in, round % 5 == 0), *y = random_bytes(out, 0);
    float *fx = random_floats(in, -2.0f, 2.0f), *fy = random_floats(out, 0.0f, 1.0f);
    if (round % 2)
        fx[random_int(0, in - 1)] = NAN;
    ccl_max_pool2d_s8(&w, x, y);
    ccl_max_pool2d_f32(&w, fx, fy);
    FOR_OUTPUTS(w, w.c)
    {
        int best = -1000, nan = 0;
        float f = -INFINITY;
        FOR_TAPS(w)
        {
            const int at = tap(&w, n, oy, ox, ky, kx);
            if (at < 0)
                continue;
            best = x[at + o] > best ? x[at + o] : best;
            nan += fx[at + o] != fx[at + o];
            f = fmaxf(f, fx[at + o]);
        }
        CHECK(y[i] == best);
        CHECK(nan ? fy[i] != fy[i] : fy[i] == f);
    }
    free_all();
}

/* Divisor of PyTorch's average pool: the window cut at the far padding, or at the image. */
static int average_count(const ccl_avg_pool2d_params *p, int oy, int ox)
{
    const ccl_window2d *w = &p->win;
    int count = 0;
    if (p->divisor_override)
        return p->divisor_override;
    FOR_TAPS(*w)
    {
        const int iy = oy * w->stride_h - w->pad_top + ky, ix = ox * w->stride_w - w->pad_left + kx;
        const bool inside = iy >= 0 && ix >= 0 && iy < w->h && ix < w->w;
        count +=
            p->count_include_pad ? iy < w->h + p->pad_bottom && ix < w->w + p->pad_right : inside;
    }
    return count;
}

static void test_avg_pool(int round)
{
    ccl_avg_pool2d_params p = {
        .x_scale = random_scale(), .y_scale = random_scale(), .lo = -128, .hi = 127};
    do {
        p.win = random_window(5, 1);
        p.win.c = random_int(1, 140);
    } while (any_empty(&p.win));
    const ccl_window2d *w = &p.win;
    p.pad_bottom = random_int(0, w->kh - 1);
    p.pad_right = random_int(0, w->kw - 1);
    p.count_include_pad = round % 2;
    p.divisor_override = round % 5 == 0 ? random_int(1, 9) : 0;
    p.x_zp = random_int(-128, 127);
    p.y_zp = random_int(-128, 127);
    const int in = w->n * w->h * w->w * w->c, out = w->n * w->oh * w->ow * w->c;
    int8_t *x = random_bytes(in, round % 7 == 0), *y = random_bytes(out, 0);
    float *fx = random_floats(in, -2.0f, 2.0f), *fy = random_floats(out, 0.0f, 1.0f);
    ccl_avg_pool2d_s8(&p, x, y);
    ccl_avg_pool2d_f32(&p, fx, fy);
    FOR_OUTPUTS(*w, w->c)
    {
        int64_t sum = 0;
        float f = 0.0f;
        const float count = (float)average_count(&p, oy, ox);
        FOR_TAPS(*w)
        {
            const int at = tap(w, n, oy, ox, ky, kx);
            sum += at < 0 ? 0 : x[at + o] - p.x_zp;
            f = at < 0 ? f : rounded(f + fx[at + o]);
        }
        const float m = rounded(rounded(p.x_scale / count) / p.y_scale);
        CHECK(y[i] == ref_requantize(sum, m, p.y_zp, p.lo, p.hi));
        CHECK(fy[i] == rounded(f / count));
    }
    free_all();
}

/* ---- element-wise and moves ---- */
static int same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void test_elementwise(void)
{
    const int count = random_int(1, 1000), channels = random_int(1, 9), inner = random_int(1, 9);
    float *x = random_floats(count, -4.0f, 4.0f), *y = random_floats(count, 0.0f, 1.0f);
    int8_t *q = random_bytes(count, 0), *r = random_bytes(count, 0), *table = random_bytes(256, 0);
    const float scale = random_scale();
    const int zp = random_int(-128, 127);
    x[0] = NAN;
    x[count - 1] = -0.0f;
    ccl_quantize_s8(x, r, count, scale, zp);
    for (int i = 0; i < count; i++)
        CHECK(r[i] == ref_round(rounded(x[i] / scale), zp, -128, 127));
    ccl_dequantize_s8(q, y, count, scale, zp);
    for (int i = 0; i < count; i++)
        CHECK(y[i] == rounded((float)(q[i] - zp) * scale));
    ccl_table_s8(table, q, r, count);
    for (int i = 0; i < count; i++)
        CHECK(r[i] == table[q[i] + 128]);
    ccl_relu_f32(x, y, count);
    for (int i = 0; i < count; i++)
        CHECK(same_bits(y[i], x[i] < 0.0f ? 0.0f : x[i]));
    ccl_clip_f32(x, y, count, -1.0f, 2.0f);
    for (int i = 0; i < count; i++)
        CHECK(same_bits(y[i], x[i] != x[i] ? x[i] : fminf(fmaxf(x[i], -1.0f), 2.0f)));
    const int n = 2 * channels * inner;
    float *a = random_floats(n, -2.0f, 2.0f), *b = random_floats(n, -2.0f, 2.0f);
    float *z = random_floats(n, 0.0f, 1.0f);
    ccl_add_f32(a, b, z, n);
    for (int i = 0; i < n; i++)
        CHECK(z[i] == rounded(a[i] + b[i]));
    ccl_channel_affine_f32(a, b, b + channels, z, 2, channels, inner > 1 ? inner : 1);
    for (int i = 0; i < n; i++) {
        const int c = i / inner % channels;
        CHECK(z[i] == rounded(rounded(a[i] * b[c]) + b[channels + c]));
    }
    free_all();
}

static void test_layout(void)
{
    const int n = random_int(1, 3), c = random_int(1, 70), hw = random_int(1, 70);
    const int count = n * c * hw;
    int8_t *x = random_bytes(count, 0), *y = random_bytes(count, 0), *z = random_bytes(count, 0);
    float *fx = random_floats(count, -1.0f, 1.0f), *fy = random_floats(count, 0.0f, 1.0f);
    float *fz = random_floats(count, 0.0f, 1.0f);
    ccl_nchw_to_nhwc(x, y, n, c, hw, 1);
    ccl_nchw_to_nhwc(fx, fy, n, c, hw, 4);
    for (int i = 0; i < count; i++) {
        const int at = (i / (c * hw) * hw + i % hw) * c + i / hw % c;
        CHECK(y[at] == x[i] && fy[at] == fx[i]);
    }
    ccl_nhwc_to_nchw(y, z, n, c, hw, 1);
    ccl_nhwc_to_nchw(fy, fz, n, c, hw, 4);
    CHECK(memcmp(x, z, (size_t)count) == 0);
    CHECK(memcmp(fx, fz, (size_t)count * sizeof *fx) == 0);
    free_all();
}

int main(void)
{
    int contracted_conv = 0, contracted_dense = 0;
    test_rounding();
    for (int round = 0; round < 400; round++)
        test_conv2d_s8(round);
    for (int round = 0; round < 100; round++) {
        contracted_conv += test_conv2d_f32(round);
        contracted_dense += test_dense_f32(round);
        test_dense_s8(round);
        test_max_pool(round);
        test_avg_pool(round);
        test_elementwise();
        test_layout();
    }
    test_adds();
    /* The operands do tell contraction from its absence. */
    CHECK(contracted_conv > 0);
    CHECK(contracted_dense > 0);
    return check_done();
}
