/* SPDX-License-Identifier: Apache-2.0
 *
 * op_check.c - the checks that operators share. Each returns CGC_OK or records one diagnostic that
 * names layer, operator, operand or attribute, what was found and what is wanted.
 */
#include "ccl.h"
#include "ops/op.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXTENT = 1 << 30 };

bool op_has_input(const ir_node *n, int32_t i)
{
    return i < n->n_inputs && n->inputs[i] != NULL;
}

static const char *type_of(cgc_ctx *ctx, const ir_node *n, int32_t input)
{
    return ir_type_text(&ctx->arena, &n->inputs[input]->type);
}

cgc_status op_check_rank(cgc_ctx *ctx, const ir_node *n, int32_t input, int32_t rank)
{
    if (n->inputs[input]->type.rank == rank)
        return CGC_OK;
    const char *name = n->op->inputs[input].name;
    diag_info info = ir_where(n, name);
    info.found = type_of(ctx, n, input);
    info.wanted = arena_printf(&ctx->arena, "%d dimensions", rank);
    info.cure = "reshape it before this operator";
    return diag(ctx, CGC_E_TYPE, info, "operand %s has the wrong number of dimensions", name);
}

cgc_status op_check_dtype(cgc_ctx *ctx, const ir_node *n, int32_t input, ir_dtype dtype)
{
    if (n->inputs[input]->type.dtype == dtype)
        return CGC_OK;
    const char *name = n->op->inputs[input].name;
    diag_info info = ir_where(n, name);
    info.found = type_of(ctx, n, input);
    info.wanted = ir_dtype_name(dtype);
    const ir_dtype found = n->inputs[input]->type.dtype;
    info.cure = dtype == IR_int8 && found == IR_float32 ? "put qnn.quantize before it"
                : dtype == IR_float32 && found == IR_int8
                    ? "put qnn.dequantize before it"
                    : "declare or store it in the wanted type";
    return diag(ctx, CGC_E_TYPE, info, "operand %s has the wrong element type", name);
}

cgc_status op_check_input(cgc_ctx *ctx, const ir_node *n, int32_t input, int32_t rank,
                          ir_dtype dtype)
{
    TRY(op_check_dtype(ctx, n, input, dtype));
    TRY(op_check_rank(ctx, n, input, rank));
    const ir_type *t = &n->inputs[input]->type;
    for (int32_t a = 0; a < rank; a++) {
        if (t->dims[a] >= 1 && t->dims[a] <= MAX_EXTENT)
            continue;
        diag_info info = ir_where(n, n->op->inputs[input].name);
        info.found = type_of(ctx, n, input);
        info.wanted = "every dimension from 1 to 2^30";
        return diag(ctx, CGC_E_TYPE, info, "operand %s has an unusable size",
                    n->op->inputs[input].name);
    }
    return CGC_OK;
}

cgc_status op_check_dim(cgc_ctx *ctx, const ir_node *n, int32_t input, int32_t axis, int64_t wanted,
                        const char *wanted_is)
{
    if (n->inputs[input]->type.dims[axis] == wanted)
        return CGC_OK;
    const char *name = n->op->inputs[input].name;
    diag_info info = ir_where(n, name);
    info.found = type_of(ctx, n, input);
    info.wanted = arena_printf(&ctx->arena, "%lld (%s)", (long long)wanted, wanted_is);
    return diag(ctx, CGC_E_TYPE, info, "dimension %d of operand %s does not fit", axis, name);
}

/* The attribute is one value, or a constant [channels] of dtype; *count gets how many values. */
static cgc_status check_values(cgc_ctx *ctx, const ir_node *n, const char *attr, int64_t channels,
                               ir_dtype dtype, int64_t *count)
{
    const ir_attr *a = ir_attr_get(n, attr);
    *count = 1;
    if (a->kind != IR_ATTR_TENSOR)
        return CGC_OK;
    const ir_type *t = &a->tensor->type;
    *count = a->tensor->data ? channels : 0;
    if (channels && t->dtype == dtype && t->rank == 1 && t->dims[0] == channels)
        return CGC_OK;
    diag_info info = ir_where(n, attr);
    info.found = ir_type_text(&ctx->arena, t);
    info.wanted = channels ? arena_printf(&ctx->arena, "one value, or Tensor[(%lld), %s]",
                                          (long long)channels, ir_dtype_name(dtype))
                           : "one value";
    info.cure = "give one value per output channel";
    return diag(ctx, CGC_E_QUANT, info, "%s has the wrong number or type of values", attr);
}

cgc_status op_check_scale(cgc_ctx *ctx, const ir_node *n, const char *attr, int64_t channels)
{
    int64_t count;
    TRY(check_values(ctx, n, attr, channels, IR_float32, &count));
    for (int64_t c = 0; c < count; c++) {
        const float s = ir_scale(n, attr, c);
        if (s >= FLT_MIN && s <= FLT_MAX)
            continue;
        diag_info info = ir_where(n, attr);
        info.found = arena_printf(&ctx->arena, "%g", (double)s);
        info.wanted = "a normal float32 above 0";
        info.cure = "calibrate again with data that reaches this layer";
        return diag(ctx, CGC_E_QUANT, info, "%s of channel %lld is unusable", attr, (long long)c);
    }
    return CGC_OK;
}

cgc_status op_check_zero_point(cgc_ctx *ctx, const ir_node *n, const char *attr, int64_t channels)
{
    int64_t count;
    TRY(check_values(ctx, n, attr, channels, IR_int32, &count));
    for (int64_t c = 0; c < count; c++) {
        const int32_t z = ir_zero_point(n, attr, c);
        if (z >= -128 && z <= 127)
            continue;
        diag_info info = ir_where(n, attr);
        info.found = arena_printf(&ctx->arena, "%d", z);
        info.wanted = "-128..127";
        return diag(ctx, CGC_E_QUANT, info, "%s of channel %lld is unusable", attr, (long long)c);
    }
    return CGC_OK;
}

cgc_status op_check_multiplier(cgc_ctx *ctx, const ir_node *n, float m, int64_t channel)
{
    if (m >= FLT_MIN && m <= FLT_MAX)
        return CGC_OK;
    diag_info info = ir_where(n, "y_scale");
    info.found = arena_printf(&ctx->arena, "multiplier %g", (double)m);
    info.wanted = "a normal float32 above 0";
    info.cure = "calibrate again with data that reaches this layer";
    return diag(ctx, CGC_E_QUANT, info,
                "the scales of channel %lld combine to an unusable multiplier", (long long)channel);
}

cgc_status op_check_requant(cgc_ctx *ctx, const ir_node *n, int64_t channels)
{
    TRY(op_check_out_int8(ctx, n));
    TRY(op_check_scale(ctx, n, "x_scale", 0));
    TRY(op_check_zero_point(ctx, n, "x_zero_point", 0));
    TRY(op_check_scale(ctx, n, "w_scale", channels));
    TRY(op_check_zero_point(ctx, n, "w_zero_point", channels));
    TRY(op_check_scale(ctx, n, "y_scale", 0));
    TRY(op_check_zero_point(ctx, n, "y_zero_point", 0));
    TRY(op_check_clamp(ctx, n));
    const ir_attr *ws = ir_attr_get(n, "w_scale");
    const int64_t count = ws->kind != IR_ATTR_TENSOR ? 1 : ws->tensor->data ? channels : 0;
    const float xs = ir_scale(n, "x_scale", 0), ys = ir_scale(n, "y_scale", 0);
    for (int64_t c = 0; c < count; c++) {
        const float s = ir_scale(n, "w_scale", c);
        const float product = xs * s; /* a subnormal product would lose bits before the division */
        TRY(op_check_multiplier(ctx, n, product < FLT_MIN ? product : op_multiplier(xs, s, ys), c));
    }
    return CGC_OK;
}

cgc_status op_check_out_int8(cgc_ctx *ctx, const ir_node *n)
{
    const char *s = ir_string(n, "out_dtype");
    if (s && strcmp(s, "int8") == 0)
        return CGC_OK;
    diag_info info = ir_where(n, "out_dtype");
    info.found = s ? s : "";
    info.wanted = "\"int8\"";
    info.cure = "set quantize_output=True for this layer, calibrate and freeze again";
    return diag(ctx, CGC_E_ATTR, info, "the result of this operator is int8");
}

cgc_status op_check_clamp(cgc_ctx *ctx, const ir_node *n)
{
    const int64_t lo = ir_int(n, "clamp_min"), hi = ir_int(n, "clamp_max");
    if (lo <= hi)
        return CGC_OK;
    diag_info info = ir_where(n, "clamp_min");
    info.found = arena_printf(&ctx->arena, "%lld", (long long)lo);
    info.wanted = arena_printf(&ctx->arena, "at most clamp_max = %lld", (long long)hi);
    return diag(ctx, CGC_E_ATTR, info, "clamp_min is above clamp_max");
}

cgc_status op_check_window(cgc_ctx *ctx, const ir_node *n, const ccl_window2d *w)
{
    if (w->oh >= 1 && w->ow >= 1)
        return CGC_OK;
    diag_info info = ir_where(n, "padding");
    info.found = arena_printf(&ctx->arena, "input %d x %d, window %d x %d, dilation %d x %d", w->h,
                              w->w, w->kh, w->kw, w->dil_h, w->dil_w);
    info.wanted = "an input with its padding at least as large as the window";
    info.cure = "use a larger input, more padding or a smaller window";
    return diag(ctx, CGC_E_TYPE, info, "no window fits into the input");
}

/* Whether each of out windows along one axis holds at least one input element. */
static bool windows_filled(int32_t in, int32_t k, int32_t stride, int32_t pad, int32_t dil,
                           int32_t out)
{
    for (int64_t o = 0; o < out; o++) {
        const int64_t start = o * stride - pad;
        const int64_t tap = start < 0 ? (-start + dil - 1) / dil : 0;
        if (tap >= k || start + tap * dil >= in)
            return false;
    }
    return true;
}

cgc_status op_check_no_empty_window(cgc_ctx *ctx, const ir_node *n, const ccl_window2d *w)
{
    if (windows_filled(w->h, w->kh, w->stride_h, w->pad_top, w->dil_h, w->oh) &&
        windows_filled(w->w, w->kw, w->stride_w, w->pad_left, w->dil_w, w->ow))
        return CGC_OK;
    diag_info info = ir_where(n, "padding");
    info.found = arena_printf(&ctx->arena, "input %d x %d, window %d x %d, padding %d, %d", w->h,
                              w->w, w->kh, w->kw, w->pad_top, w->pad_left);
    info.wanted = "at least one input element in every window";
    info.cure = "use less padding (at most half the window)";
    return diag(ctx, CGC_E_ATTR, info, "a pooling window lies in the padding alone");
}

cgc_status op_check_broadcast(cgc_ctx *ctx, const ir_node *n, ir_type *out)
{
    const ir_type *a = &n->inputs[0]->type, *b = &n->inputs[1]->type;
    const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dims[IR_MAX_RANK] = {0};
    for (int32_t i = 0; i < rank; i++) {
        const int32_t ia = i - (rank - a->rank), ib = i - (rank - b->rank);
        const int64_t da = ia < 0 ? 1 : a->dims[ia], db = ib < 0 ? 1 : b->dims[ib];
        if (da != db && da != 1 && db != 1) {
            diag_info info = ir_where(n, n->op->inputs[1].name);
            info.found = ir_type_text(&ctx->arena, b);
            info.wanted = arena_printf(&ctx->arena, "a shape that broadcasts with %s",
                                       ir_type_text(&ctx->arena, a));
            return diag(ctx, CGC_E_TYPE, info, "the shapes of the operands do not fit together");
        }
        dims[i] = da == 1 ? db : da;
    }
    return op_result(ctx, n, a->dtype, rank, dims, out);
}

cgc_status op_result(cgc_ctx *ctx, const ir_node *n, ir_dtype dtype, int32_t rank,
                     const int64_t *dims, ir_type *out)
{
    ir_type t = {.dtype = dtype, .rank = rank};
    int64_t bytes = (int64_t)ir_dtype_bytes(dtype);
    for (int32_t a = 0; a < rank; a++) {
        t.dims[a] = dims[a];
        if (dims[a] > 0 && bytes <= INT32_MAX / dims[a]) {
            bytes *= dims[a];
            continue;
        }
        diag_info info = ir_where(n, NULL);
        info.found = arena_printf(&ctx->arena, "dimension %d of %lld", a, (long long)dims[a]);
        info.wanted = "dimensions of at least 1 and less than 2^31 bytes in all";
        return diag(ctx, CGC_E_LIMIT, info, "the result has an unusable size");
    }
    *out = t;
    return CGC_OK;
}

cgc_status op_check_accumulator(cgc_ctx *ctx, const ir_node *n, const op_accumulator *a)
{
    const int64_t reach = a->x_zp < 0 ? 127 - (int64_t)a->x_zp : 128 + (int64_t)a->x_zp;
    for (int64_t u = 0; u < a->units; u++) {
        const int64_t zp = a->w_zp ? llabs(a->w_zp[u]) : 0;
        const int64_t bias = a->bias ? llabs((long long)a->bias[u]) : 0;
        int64_t sum = bias + a->k * reach * (128 + zp);
        if (sum > INT32_MAX && a->w) { /* only then are the weights themselves worth a look */
            int64_t weights = a->k * zp;
            for (int64_t i = 0; i < a->k; i++)
                weights += abs(a->w[u * a->k + i]);
            sum = bias + weights * reach;
        }
        if (sum <= INT32_MAX)
            continue;
        diag_info info = ir_where(n, "w_scale");
        info.found = arena_printf(&ctx->arena, "up to %lld", (long long)sum);
        info.wanted = "at most 2147483647";
        info.cure = "raise w_scale of that channel, or split the layer's input channels";
        return diag(ctx, CGC_E_OVERFLOW, info,
                    "the int32 sum of output channel %lld could overflow (%lld products)",
                    (long long)u, (long long)a->k);
    }
    return CGC_OK;
}
