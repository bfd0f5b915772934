/* SPDX-License-Identifier: Apache-2.0
 *
 * conv2d_f32 - float32 convolution, NHWC x OHWI -> NHWC: bias (or +0) first, then ky, kx, ci
 * ascending, each product rounded before it is added (docs/numerics.md, rule 9); taps in the
 * padding add nothing. Vectors run over output channels, never over the sum: a piece of the weights
 * is turned to [ci][oc] on the stack.
 */
#include "ccl.h"
#include "requant.h"

enum { CONV2D_F32_OCS = 8, CONV2D_F32_CI = 64, CONV2D_F32_PIXELS = 16 };

typedef struct conv2d_f32_block { /* up to 8 channels of one group by up to 16 pixels of one row */
    const ccl_conv2d_f32_params *p;
    const float *x; /* image, at the group's first channel */
    const float *w; /* first channel's weights */
    int32_t cg, ocs, oy, ox, pixels;
    float acc[CONV2D_F32_PIXELS][CONV2D_F32_OCS];
    float wt[CONV2D_F32_CI][CONV2D_F32_OCS];
} conv2d_f32_block;

/* One tap, input channels c0 .. c0 + n - 1. Lanes past the last channel hold zeros and are never
 * stored. */
static void conv2d_f32_tap(conv2d_f32_block *b, int32_t ky, int32_t kx, int32_t c0, int32_t n)
{
    const ccl_window2d *g = &b->p->win;
    const int32_t iy = b->oy * g->stride_h - g->pad_top + ky * g->dil_h;
    const int32_t k = g->kh * g->kw * b->cg;
    const float *w = b->w + (ky * g->kw + kx) * b->cg + c0;
    for (int32_t c = 0; c < n; c++)
        for (int32_t j = 0; j < CONV2D_F32_OCS; j++)
            b->wt[c][j] = j < b->ocs ? w[j * k + c] : 0.0f;
    for (int32_t i = 0; i < b->pixels; i++) {
        const int32_t ix = (b->ox + i) * g->stride_w - g->pad_left + kx * g->dil_w;
        if (ix < 0 || ix >= g->w)
            continue;
        const float *x = b->x + (iy * g->w + ix) * g->c + c0;
        for (int32_t c = 0; c < n; c++) {
            for (int32_t j = 0; j < CONV2D_F32_OCS; j++) {
                const float product = x[c] * b->wt[c][j];
                b->acc[i][j] += product;
            }
        }
    }
}

static void conv2d_f32_pixels(conv2d_f32_block *b, const float *bias, float *y)
{
    const ccl_window2d *g = &b->p->win;
    for (int32_t i = 0; i < b->pixels; i++)
        for (int32_t j = 0; j < CONV2D_F32_OCS; j++)
            b->acc[i][j] = bias && j < b->ocs ? bias[j] : 0.0f;
    for (int32_t ky = 0; ky < g->kh; ky++) {
        const int32_t iy = b->oy * g->stride_h - g->pad_top + ky * g->dil_h;
        if (iy < 0 || iy >= g->h)
            continue;
        for (int32_t kx = 0; kx < g->kw; kx++)
            for (int32_t c = 0; c < b->cg; c += CONV2D_F32_CI)
                conv2d_f32_tap(b, ky, kx, c, b->cg - c < CONV2D_F32_CI ? b->cg - c : CONV2D_F32_CI);
    }
    for (int32_t i = 0; i < b->pixels; i++)
        for (int32_t j = 0; j < b->ocs; j++)
            y[((b->oy * g->ow) + b->ox + i) * b->p->oc + j] = ccl_settle(b->acc[i][j]);
}

/* Channels first .. first + ocs - 1, all pixels of one image. */
static void conv2d_f32_image(conv2d_f32_block *b, const float *bias, float *y)
{
    const ccl_window2d *g = &b->p->win;
    for (b->oy = 0; b->oy < g->oh; b->oy++) {
        for (b->ox = 0; b->ox < g->ow; b->ox += CONV2D_F32_PIXELS) {
            b->pixels = g->ow - b->ox < CONV2D_F32_PIXELS ? g->ow - b->ox : CONV2D_F32_PIXELS;
            conv2d_f32_pixels(b, bias, y);
        }
    }
}

void ccl_conv2d_f32(const ccl_conv2d_f32_params *p, const float *x, const float *w, float *y)
{
    const ccl_window2d *g = &p->win;
    const int32_t cg = g->c / p->groups, og = p->oc / p->groups;
    conv2d_f32_block b;
    b.p = p;
    b.cg = cg;
    for (int32_t n = 0; n < g->n; n++) {
        for (int32_t group = 0; group < p->groups; group++) {
            for (int32_t o = 0; o < og; o += CONV2D_F32_OCS) {
                const int32_t oc = group * og + o;
                b.x = x + n * g->h * g->w * g->c + group * cg;
                b.w = w + oc * g->kh * g->kw * cg;
                b.ocs = og - o < CONV2D_F32_OCS ? og - o : CONV2D_F32_OCS;
                conv2d_f32_image(&b, p->bias ? p->bias + oc : 0,
                                 y + n * g->oh * g->ow * p->oc + oc);
            }
        }
    }
}
