/* SPDX-License-Identifier: Apache-2.0
 *
 * op_util.c - what the evaluation of several operators shares: window geometry, layout moves around
 * kernels that want channels last, multipliers, broadcasting. Everything allocated lies in
 * ctx->scratch.
 */
#include "ccl.h"
#include "ops/op.h"

#include <string.h>

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

int64_t op_window_extent(int64_t in, int64_t k, int64_t stride, int64_t pad_lo, int64_t pad_hi,
                         int64_t dil, bool ceil_mode)
{
    const int64_t room = in + pad_lo + pad_hi - dil * (k - 1) - 1;
    int64_t out = floor_div(room + (ceil_mode ? stride - 1 : 0), stride) + 1;
    if (ceil_mode && (out - 1) * stride >= in + pad_lo)
        out--;
    return out;
}

void op_nchw_to_nhwc(const void *src, void *dst, int64_t n, int64_t c, int64_t h, int64_t w,
                     size_t elem)
{
    ccl_nchw_to_nhwc(src, dst, (int32_t)n, (int32_t)c, (int32_t)(h * w), (int32_t)elem);
}

void op_nhwc_to_nchw(const void *src, void *dst, int64_t n, int64_t c, int64_t h, int64_t w,
                     size_t elem)
{
    ccl_nhwc_to_nchw(src, dst, (int32_t)n, (int32_t)c, (int32_t)(h * w), (int32_t)elem);
}

/* One channel or one pixel: NCHW and NHWC are the same bytes. */
static bool same_order(const ir_type *t)
{
    return t->dims[1] == 1 || t->dims[2] * t->dims[3] == 1;
}

const void *op_channels_last(cgc_ctx *ctx, const ir_tensor *t)
{
    const int64_t *d = t->type.dims;
    if (same_order(&t->type))
        return t->data;
    void *out = arena_alloc(&ctx->scratch, ir_type_bytes(&t->type));
    op_nchw_to_nhwc(t->data, out, d[0], d[1], d[2], d[3], ir_dtype_bytes(t->type.dtype));
    return out;
}

void *op_channels_last_result(cgc_ctx *ctx, const ir_tensor *y)
{
    return same_order(&y->type) ? y->data : arena_alloc(&ctx->scratch, ir_type_bytes(&y->type));
}

void op_channels_first(const void *nhwc, ir_tensor *y)
{
    const int64_t *d = y->type.dims;
    if (nhwc != y->data)
        op_nhwc_to_nchw(nhwc, y->data, d[0], d[1], d[2], d[3], ir_dtype_bytes(y->type.dtype));
}

float op_multiplier(float x_scale, float w_scale, float y_scale)
{
    const float product = x_scale * w_scale;
    return product / y_scale;
}

const float *op_multipliers(cgc_ctx *ctx, const ir_node *n, int32_t channels)
{
    const float xs = ir_scale(n, "x_scale", 0), ys = ir_scale(n, "y_scale", 0);
    float *m = arena_array(&ctx->scratch, (size_t)channels, sizeof *m);
    for (int32_t c = 0; c < channels; c++)
        m[c] = op_multiplier(xs, ir_scale(n, "w_scale", c), ys);
    return m;
}

const int32_t *op_weight_zero_points(cgc_ctx *ctx, const ir_node *n, int32_t channels)
{
    bool any = false;
    int32_t *z = arena_array(&ctx->scratch, (size_t)channels, sizeof *z);
    for (int32_t c = 0; c < channels; c++) {
        z[c] = ir_zero_point(n, "w_zero_point", c);
        any = any || z[c] != 0;
    }
    return any ? z : NULL;
}

op_accumulator op_accumulator_of(cgc_ctx *ctx, const ir_node *n, const void *w, const void *bias)
{
    const ir_type *t = &n->inputs[1]->type;
    return (op_accumulator){
        .w = w,
        .bias = bias,
        .w_zp = op_weight_zero_points(ctx, n, (int32_t)t->dims[0]),
        .units = t->dims[0],
        .k = ir_type_elems(t) / t->dims[0],
        .x_zp = ir_zero_point(n, "x_zero_point", 0),
    };
}

struct ccl_window2d op_window(const ir_node *n, const ir_type *x, int64_t kh, int64_t kw)
{
    static const int64_t ones[2] = {1, 1}, zeros[4] = {0};
    const int64_t *stride = ones, *dil = ones, *pad = zeros;
    bool ceil_mode = false;
    for (int32_t i = 0; i < n->op->n_attrs; i++) {
        const char *name = n->op->attrs[i].name;
        if (strcmp(name, "strides") == 0)
            stride = n->attrs[i].ints;
        else if (strcmp(name, "dilation") == 0)
            dil = n->attrs[i].ints;
        else if (strcmp(name, "padding") == 0)
            pad = n->attrs[i].ints;
        else if (strcmp(name, "ceil_mode") == 0)
            ceil_mode = n->attrs[i].i != 0;
    }
    const int64_t oh =
        op_window_extent(x->dims[2], kh, stride[0], pad[0], pad[2], dil[0], ceil_mode);
    const int64_t ow =
        op_window_extent(x->dims[3], kw, stride[1], pad[1], pad[3], dil[1], ceil_mode);
    return (ccl_window2d){
        .n = (int32_t)x->dims[0],
        .c = (int32_t)x->dims[1],
        .h = (int32_t)x->dims[2],
        .w = (int32_t)x->dims[3],
        .oh = (int32_t)oh,
        .ow = (int32_t)ow,
        .kh = (int32_t)kh,
        .kw = (int32_t)kw,
        .stride_h = (int32_t)stride[0],
        .stride_w = (int32_t)stride[1],
        .pad_top = (int32_t)pad[0],
        .pad_left = (int32_t)pad[1],
        .dil_h = (int32_t)dil[0],
        .dil_w = (int32_t)dil[1],
    };
}

const void *op_broadcast(cgc_ctx *ctx, const ir_tensor *t, const ir_type *out)
{
    if (ir_type_elems(&t->type) == ir_type_elems(out))
        return t->data;
    const size_t elem = ir_dtype_bytes(t->type.dtype);
    const int32_t lead = out->rank - t->type.rank;
    int64_t step[IR_MAX_RANK] = {0},
            at[IR_MAX_RANK] = {0}; /* elements per index; 0 where repeated */
    int64_t size = 1;
    for (int32_t a = t->type.rank - 1; a >= 0; a--) {
        step[lead + a] = t->type.dims[a] == 1 ? 0 : size;
        size *= t->type.dims[a];
    }
    const int64_t count = ir_type_elems(out);
    char *dst = arena_alloc(&ctx->scratch, (size_t)count * elem);
    const char *src = t->data;
    int64_t offset = 0;
    for (int64_t i = 0; i < count; i++) {
        memcpy(dst + (size_t)i * elem, src + (size_t)offset * elem, elem);
        for (int32_t a = out->rank - 1; a >= 0; a--) { /* next index, as an odometer */
            offset += step[a];
            if (++at[a] < out->dims[a])
                break;
            offset -= step[a] * out->dims[a];
            at[a] = 0;
        }
    }
    return dst;
}
