/* SPDX-License-Identifier: Apache-2.0
 *
 * ccl.h - the compute kernels: what every engine calls and what a hand-written kernel may use.
 *
 * Contract of every kernel: C99, no libc, no allocation, no globals, re-entrant; the same inputs give the
 * same bytes in every variant, which is what ccl/ref/<kernel>.c says. Images are NHWC, convolution weights
 * OHWI (per group: [oc][kh][kw][ic/groups]); sizes are int32 and every tensor is below 2^31 bytes.
 * Pointers never alias unless said. Rules of numbers: docs/numerics.md.
 */
#ifndef CCL_H
#define CCL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Window geometry shared by convolution and pooling. */
typedef struct ccl_window2d {
    int32_t n, h, w, c; /* input */
    int32_t oh, ow;     /* output extents */
    int32_t kh, kw;
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left; /* bottom and right follow from oh, ow */
    int32_t dil_h, dil_w;
} ccl_window2d;

typedef struct ccl_requant { /* int32 sum -> int8 (rule 4) */
    const float *m;          /* [channels] multiplier float32(float32(xs*ws)/ys) */
    int32_t y_zp, lo, hi;    /* clamp to lo..hi after adding y_zp; -128 <= lo <= hi <= 127 */
} ccl_requant;

typedef struct ccl_conv2d_params {
    ccl_window2d win;
    int32_t oc, groups;
    int32_t x_zp;        /* also the value of padding */
    const int32_t *w_zp; /* [oc] or NULL for zeros */
    const int32_t *bias; /* [oc] or NULL */
    ccl_requant rq;
} ccl_conv2d_params;
/* y[n][oh][ow][oc] */
void ccl_conv2d_s8(const ccl_conv2d_params *p, const int8_t *x, const int8_t *w, int8_t *y);

typedef struct ccl_dense_params {
    int32_t rows, in, units; /* x[rows][in], w[units][in], y[rows][units] */
    int32_t x_zp;
    const int32_t *w_zp, *bias; /* [units] or NULL */
    ccl_requant rq;
} ccl_dense_params;
void ccl_dense_s8(const ccl_dense_params *p, const int8_t *x, const int8_t *w, int8_t *y);

typedef struct ccl_add_params { /* rule 5: dequantize both, add, quantize */
    float a_scale, b_scale, y_scale;
    int32_t a_zp, b_zp, y_zp, lo, hi;
} ccl_add_params;
void ccl_add_s8(const ccl_add_params *p, const int8_t *a, const int8_t *b, int8_t *y,
                int32_t count);

/* Padding never wins: windows are cut to the input; an empty window cannot occur (checked at compile time). */
void ccl_max_pool2d_s8(const ccl_window2d *p, const int8_t *x, int8_t *y);
void ccl_max_pool2d_f32(const ccl_window2d *p, const float *x, float *y);

typedef struct ccl_avg_pool2d_params {
    ccl_window2d win;
    /* For count_include_pad with ceil mode: cells beyond are not counted. */
    int32_t pad_bottom, pad_right;
    int32_t count_include_pad, divisor_override; /* 0 = none */
    float x_scale, y_scale;
    int32_t x_zp, y_zp, lo, hi;
} ccl_avg_pool2d_params;
/* Rule 7: M = float32(float32(x_scale/count)/y_scale) with the count of each window. */
void ccl_avg_pool2d_s8(const ccl_avg_pool2d_params *p, const int8_t *x, int8_t *y);
/* Scales, zero points and clamp are unused. */
void ccl_avg_pool2d_f32(const ccl_avg_pool2d_params *p, const float *x, float *y);

/* table[q + 128] */
void ccl_table_s8(const int8_t table[256], const int8_t *x, int8_t *y, int32_t count);
void ccl_quantize_s8(const float *x, int8_t *y, int32_t count, float scale, int32_t zp);
void ccl_dequantize_s8(const int8_t *x, float *y, int32_t count, float scale, int32_t zp);

typedef struct ccl_conv2d_f32_params {
    ccl_window2d win;
    int32_t oc, groups;
    const float *bias; /* [oc] or NULL */
} ccl_conv2d_f32_params;
void ccl_conv2d_f32(const ccl_conv2d_f32_params *p, const float *x, const float *w, float *y);
void ccl_dense_f32(int32_t rows, int32_t in, int32_t units, const float *x, const float *w,
                   const float *bias, float *y);
void ccl_relu_f32(const float *x, float *y, int32_t count); /* x < 0 ? 0 : x */
void ccl_clip_f32(const float *x, float *y, int32_t count, float lo, float hi);
void ccl_add_f32(const float *a, const float *b, float *y, int32_t count);
/* x[outer][channels][inner] * scale[c] + shift[c], two roundings */
void ccl_channel_affine_f32(const float *x, const float *scale, const float *shift, float *y,
                            int32_t outer, int32_t channels, int32_t inner);
/* Layout: src[n][c][h*w] <-> dst[n][h*w][c] of elements of elem bytes (1 or 4). */
void ccl_nchw_to_nhwc(const void *src, void *dst, int32_t n, int32_t c, int32_t hw, int32_t elem);
void ccl_nhwc_to_nchw(const void *src, void *dst, int32_t n, int32_t c, int32_t hw, int32_t elem);

#ifdef __cplusplus
}
#endif
#endif
