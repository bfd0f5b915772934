/* SPDX-License-Identifier: Apache-2.0
 *
 * conv2d_s8 - int8 convolution, NHWC x OHWI -> NHWC: exact int32 sum of (x - x_zp) * (w - w_zp)
 * plus bias, requantized (docs/numerics.md, rule 4). Padding is x_zp, so padded positions add
 * exactly nothing and are skipped. The sums are integers, so their order is free: four output
 * channels by two pixels at a time, over the longest runs that are contiguous in both operands. The
 * subtraction of x_zp in 16 bits is what lets compilers use a 16-bit multiply-add.
 */
#include "ccl.h"
#include "requant.h"

enum { CONV2D_S8_OCS = 4, CONV2D_S8_DW_CHANNELS = 32, CONV2D_S8_DW_TAPS = 49 };

typedef struct conv2d_s8_span { /* taps of one axis that lie inside the image: lo <= k < hi */
    int32_t lo, hi;
} conv2d_s8_span;

static conv2d_s8_span conv2d_s8_taps(int32_t start, int32_t k, int32_t dil, int32_t extent)
{
    conv2d_s8_span s = {0, k};
    while (s.lo < k && start + s.lo * dil < 0)
        s.lo++;
    while (s.hi > s.lo && start + (s.hi - 1) * dil >= extent)
        s.hi--;
    return s;
}

/* acc[0..3] and acc[4..7] += products of two pixels' runs with four channels' weights. */
static void conv2d_s8_dot2(const int8_t *x0, const int8_t *x1, const int8_t *const w[CONV2D_S8_OCS],
                           int32_t n, int16_t zp, int32_t *acc)
{
    const int8_t *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
    for (int32_t k = 0; k < n; k++) {
        const int16_t a = (int16_t)(x0[k] - zp), b = (int16_t)(x1[k] - zp);
        s0 += a * w0[k];
        s1 += a * w1[k];
        s2 += a * w2[k];
        s3 += a * w3[k];
        t0 += b * w0[k];
        t1 += b * w1[k];
        t2 += b * w2[k];
        t3 += b * w3[k];
    }
    acc[0] += s0;
    acc[1] += s1;
    acc[2] += s2;
    acc[3] += s3;
    acc[4] += t0;
    acc[5] += t1;
    acc[6] += t2;
    acc[7] += t3;
}

static void conv2d_s8_dot1(const int8_t *x, const int8_t *const w[CONV2D_S8_OCS], int32_t n,
                           int16_t zp, int32_t *acc)
{
    const int8_t *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int32_t k = 0; k < n; k++) {
        const int16_t a = (int16_t)(x[k] - zp);
        s0 += a * w0[k];
        s1 += a * w1[k];
        s2 += a * w2[k];
        s3 += a * w3[k];
    }
    acc[0] += s0;
    acc[1] += s1;
    acc[2] += s2;
    acc[3] += s3;
}

static int32_t conv2d_s8_sum(const int8_t *x, int32_t n, int16_t zp)
{
    int32_t s = 0;
    for (int32_t k = 0; k < n; k++)
        s += x[k] - zp;
    return s;
}

/* Four output channels (fewer at the end of a group: the last one repeats) of one image. */
typedef struct conv2d_s8_block {
    const ccl_conv2d_params *p;
    const int8_t *x; /* image, at the group's first channel */
    const int8_t *w[CONV2D_S8_OCS];
    int8_t *y;         /* image, at the first output channel */
    int32_t oc, count; /* first channel, how many of the four count */
    int32_t cg;        /* input channels of the group */
} conv2d_s8_block;

/* Sums of pixels ox and, if two, ox + 1; x_sum gets the sum of (x - x_zp), which weight zero points
 * need. */
static void conv2d_s8_sums(const conv2d_s8_block *b, int32_t oy, int32_t ox, int two, int32_t *acc,
                           int32_t *x_sum)
{
    const ccl_conv2d_params *p = b->p;
    const ccl_window2d *g = &p->win;
    const int16_t zp = (int16_t)p->x_zp;
    const int32_t y0 = oy * g->stride_h - g->pad_top, x0 = ox * g->stride_w - g->pad_left;
    const conv2d_s8_span ys = conv2d_s8_taps(y0, g->kh, g->dil_h, g->h);
    const conv2d_s8_span xs = conv2d_s8_taps(x0, g->kw, g->dil_w, g->w);
    const int whole = p->groups == 1 && g->dil_w == 1; /* taps of a row are one run */
    const int32_t runs = whole ? (xs.hi > xs.lo ? 1 : 0) : xs.hi - xs.lo;
    const int32_t len = whole ? (xs.hi - xs.lo) * b->cg : b->cg;
    for (int32_t ky = ys.lo; ky < ys.hi; ky++) {
        for (int32_t r = 0; r < runs; r++) {
            const int32_t kx = xs.lo + r;
            const int8_t *x = b->x + ((y0 + ky * g->dil_h) * g->w + x0 + kx * g->dil_w) * g->c;
            const int8_t *w[CONV2D_S8_OCS];
            for (int32_t j = 0; j < CONV2D_S8_OCS; j++)
                w[j] = b->w[j] + (ky * g->kw + kx) * b->cg;
            if (two)
                conv2d_s8_dot2(x, x + g->stride_w * g->c, w, len, zp, acc);
            else
                conv2d_s8_dot1(x, w, len, zp, acc);
            if (p->w_zp) {
                x_sum[0] += conv2d_s8_sum(x, len, zp);
                if (two)
                    x_sum[1] += conv2d_s8_sum(x + g->stride_w * g->c, len, zp);
            }
        }
    }
}

static void conv2d_s8_store(const conv2d_s8_block *b, const int32_t *acc, int32_t x_sum, int8_t *y)
{
    const ccl_requant *rq = &b->p->rq;
    for (int32_t j = 0; j < b->count; j++) {
        int32_t sum = acc[j];
        if (b->p->w_zp)
            sum -= b->p->w_zp[b->oc + j] * x_sum;
        if (b->p->bias)
            sum += b->p->bias[b->oc + j];
        y[j] = ccl_requantize(sum, rq->m[b->oc + j], rq->y_zp, rq->lo, rq->hi);
    }
}

/* All pixels of a block. Two pixels share a step when both windows lie inside the image sideways.
 */
static void conv2d_s8_image(const conv2d_s8_block *b)
{
    const ccl_window2d *g = &b->p->win;
    const int32_t reach = (g->kw - 1) * g->dil_w;
    for (int32_t oy = 0; oy < g->oh; oy++) {
        int8_t *y = b->y + oy * g->ow * b->p->oc;
        for (int32_t ox = 0; ox < g->ow;) {
            int32_t acc[2 * CONV2D_S8_OCS] = {0}, x_sum[2] = {0};
            const int32_t left = ox * g->stride_w - g->pad_left;
            const int two = ox + 1 < g->ow && left >= 0 && left + g->stride_w + reach < g->w;
            conv2d_s8_sums(b, oy, ox, two, acc, x_sum);
            conv2d_s8_store(b, acc, x_sum[0], y + ox * b->p->oc);
            if (two)
                conv2d_s8_store(b, acc + CONV2D_S8_OCS, x_sum[1], y + (ox + 1) * b->p->oc);
            ox += two ? 2 : 1;
        }
    }
}

/* Depthwise, channels c0 .. c0 + n - 1 of one image: vectors over channels, weights turned to
 * [tap][channel]. */
static void conv2d_s8_depthwise(const ccl_conv2d_params *p, const int8_t *x, const int8_t *w,
                                int8_t *y, int32_t c0, int32_t n)
{
    const ccl_window2d *g = &p->win;
    const int32_t taps = g->kh * g->kw;
    const int16_t zp = (int16_t)p->x_zp;
    int16_t wt[CONV2D_S8_DW_TAPS][CONV2D_S8_DW_CHANNELS];
    for (int32_t j = 0; j < n; j++)
        for (int32_t t = 0; t < taps; t++)
            wt[t][j] = (int16_t)(w[(c0 + j) * taps + t] - (p->w_zp ? p->w_zp[c0 + j] : 0));
    for (int32_t i = 0; i < g->oh * g->ow; i++) {
        const int32_t y0 = i / g->ow * g->stride_h - g->pad_top,
                      x0 = i % g->ow * g->stride_w - g->pad_left;
        const conv2d_s8_span ys = conv2d_s8_taps(y0, g->kh, g->dil_h, g->h);
        const conv2d_s8_span xs = conv2d_s8_taps(x0, g->kw, g->dil_w, g->w);
        int32_t acc[CONV2D_S8_DW_CHANNELS] = {0};
        for (int32_t ky = ys.lo; ky < ys.hi; ky++) {
            for (int32_t kx = xs.lo; kx < xs.hi; kx++) {
                const int8_t *xp =
                    x + ((y0 + ky * g->dil_h) * g->w + x0 + kx * g->dil_w) * g->c + c0;
                const int16_t *wp = wt[ky * g->kw + kx];
                for (int32_t j = 0; j < n; j++)
                    acc[j] += (xp[j] - zp) * wp[j];
            }
        }
        for (int32_t j = 0; j < n; j++) {
            const int32_t sum = acc[j] + (p->bias ? p->bias[c0 + j] : 0);
            y[i * p->oc + c0 + j] =
                ccl_requantize(sum, p->rq.m[c0 + j], p->rq.y_zp, p->rq.lo, p->rq.hi);
        }
    }
}

void ccl_conv2d_s8(const ccl_conv2d_params *p, const int8_t *x, const int8_t *w, int8_t *y)
{
    const ccl_window2d *g = &p->win;
    const int32_t cg = g->c / p->groups, og = p->oc / p->groups, k = g->kh * g->kw * cg;
    const int depthwise = cg == 1 && og == 1 && g->kh * g->kw <= CONV2D_S8_DW_TAPS;
    const int32_t step = depthwise ? CONV2D_S8_DW_CHANNELS : CONV2D_S8_OCS;
    const int32_t part =
        depthwise ? p->oc : og; /* a block stays inside one group, depthwise excepted */
    for (int32_t n = 0; n < g->n; n++) {
        const int8_t *xi = x + n * g->h * g->w * g->c;
        int8_t *yi = y + n * g->oh * g->ow * p->oc;
        for (int32_t base = 0; base < p->oc; base += part) {
            for (int32_t o = 0; o < part; o += step) {
                const int32_t count = part - o < step ? part - o : step;
                if (depthwise) {
                    conv2d_s8_depthwise(p, xi, w, yi, o, count);
                    continue;
                }
                conv2d_s8_block b = {.p = p, .x = xi + base / og * cg, .oc = base + o, .cg = cg};
                b.count = count;
                b.y = yi + b.oc;
                for (int32_t j = 0; j < CONV2D_S8_OCS; j++)
                    b.w[j] = w + (b.oc + (j < count ? j : count - 1)) * k;
                conv2d_s8_image(&b);
            }
        }
    }
}
