/* SPDX-License-Identifier: Apache-2.0
 *
 * host_net.h - random networks as graph text with constants, for tests of emitted programs:
 * residual networks, awkward shapes, many convolutions of one value, float32 layers.
 */
#ifndef HOST_NET_H
#define HOST_NET_H

#include "emit/emit.h"
#include "random.h"

#include <math.h>

enum { MAX_CONSTANTS = 128, MAX_LAYERS = 128, MAX_OUTPUTS = 16 };

typedef struct network {
    str text;
    ir_tensor constants[MAX_CONSTANTS];
    size_t n_constants;
    int next;                 /* value number */
    int outputs[MAX_OUTPUTS]; /* value numbers; none: the last value */
    int n_outputs;
    bool int8_input;
} network;

/* ---- networks ---- */

static int add_constant(network *n, ir_dtype dtype, int rank, const int64_t *dims, void *data)
{
    ir_tensor *t = &n->constants[n->n_constants];
    t->type.dtype = dtype;
    t->type.rank = rank;
    for (int i = 0; i < rank; i++)
        t->type.dims[i] = dims[i];
    t->data = data;
    return (int)n->n_constants++;
}

typedef struct value {
    int id, n, c, h, w;
    float scale;
    int zp;
} value;

static value put_quantize(network *n, const char *x, value v)
{
    v.id = n->next++;
    v.scale = 0.03f;
    v.zp = random_int(-40, 40);
    str_printf(&n->text, "  %%%d = qnn.quantize(%%%s, %gf, %d, out_dtype=\"int8\");\n", v.id, x,
               (double)v.scale, v.zp);
    return v;
}

typedef struct conv_shape {
    int oc, kh, kw, sh, sw, dh, dw, groups;
    int pad[4];
    bool relu, per_channel, bias, w_zp;
} conv_shape;

static value put_conv(network *n, value x, conv_shape s)
{
    value y = x;
    y.id = n->next++;
    y.c = s.oc;
    y.h = (x.h + s.pad[0] + s.pad[2] - (s.kh - 1) * s.dh - 1) / s.sh + 1;
    y.w = (x.w + s.pad[1] + s.pad[3] - (s.kw - 1) * s.dw - 1) / s.sw + 1;
    const int k = x.c / s.groups * s.kh * s.kw;
    const int64_t wd[4] = {s.oc, x.c / s.groups, s.kh, s.kw}, bd[1] = {s.oc};
    const int w = add_constant(n, IR_int8, 4, wd, random_bytes(s.oc * k, false));
    const int b = add_constant(n, IR_int32, 1, bd, random_ints(s.oc, -3000, 3000));
    y.scale = 0.05f;
    y.zp = s.relu ? -128 : random_int(-30, 30);
    str_printf(
        &n->text,
        "  %%%d = contrib.epu.qlinear_conv2d(%%%s, meta[relay.Constant][%d]%s, strides=[%d, %d], "
        "padding=[%d, %d, %d, %d], dilation=[%d, %d], groups=%d, channels=%d, kernel_size=[%d, "
        "%d], "
        "out_dtype=\"int8\", bias_fusion=%s, x_zero_point=%d, x_scale=%.9gf, ",
        y.id, x.id < 0 ? "x" : arena_printf(n->text.a, "%d", x.id), w,
        s.bias ? arena_printf(n->text.a, ", bias=meta[relay.Constant][%d]", b) : "", s.sh, s.sw,
        s.pad[0], s.pad[1], s.pad[2], s.pad[3], s.dh, s.dw, s.groups, s.oc, s.kh, s.kw,
        s.bias ? "True" : "False", x.zp, (double)x.scale);
    if (s.per_channel) {
        float *scale = random_floats(s.oc, 0.5f, 1.5f);
        for (int i = 0; i < s.oc; i++)
            scale[i] *= 0.03f / sqrtf((float)k);
        str_printf(&n->text, "w_zero_point=%d, w_scale=meta[relay.Constant][%d], ", s.w_zp ? 3 : 0,
                   add_constant(n, IR_float32, 1, bd, scale));
    } else {
        str_printf(&n->text, "w_zero_point=%d, w_scale=%.9gf, ", s.w_zp ? 3 : 0,
                   (double)(0.03f / sqrtf((float)k)));
    }
    str_printf(&n->text, "y_zero_point=%d, y_scale=%.9gf", y.zp, (double)y.scale);
    if (s.relu)
        str_printf(&n->text, ", clamp_min=%d", y.zp);
    str_put(&n->text, ");\n");
    return y;
}

static value put_add(network *n, value a, value b)
{
    value y = a;
    y.id = n->next++;
    y.scale = 0.07f;
    y.zp = random_int(-128, 10);
    str_printf(&n->text,
               "  %%%d = qnn.add(%%%d, %%%d, a_scale=%.9gf, a_zero_point=%d, b_scale=%.9gf, "
               "b_zero_point=%d, "
               "y_scale=%.9gf, y_zero_point=%d, clamp_min=%d);\n",
               y.id, a.id, b.id, (double)a.scale, a.zp, (double)b.scale, b.zp, (double)y.scale,
               y.zp, y.zp);
    return y;
}

static value put_max_pool(network *n, value x, int k, int stride, int pad)
{
    value y = x;
    y.id = n->next++;
    y.h = (x.h + 2 * pad - k) / stride + 1;
    y.w = (x.w + 2 * pad - k) / stride + 1;
    str_printf(&n->text,
               "  %%%d = nn.max_pool2d(%%%d, pool_size=[%d, %d], strides=[%d, %d], padding=[%d, "
               "%d, %d, %d]);\n",
               y.id, x.id, k, k, stride, stride, pad, pad, pad, pad);
    return y;
}

static value put_global_average(network *n, value x)
{
    value y = x;
    y.id = n->next++;
    y.h = y.w = 1;
    y.scale = 0.02f;
    y.zp = random_int(-128, 0);
    str_printf(&n->text,
               "  %%%d = qnn.avg_pool2d(%%%d, pool_size=[%d, %d], x_scale=%.9gf, x_zero_point=%d, "
               "y_scale=%.9gf, "
               "y_zero_point=%d);\n",
               y.id, x.id, x.h, x.w, (double)x.scale, x.zp, (double)y.scale, y.zp);
    return y;
}

static value put_table(network *n, value x)
{
    const int64_t d[1] = {256};
    value y = x;
    y.id = n->next++;
    str_printf(&n->text, "  %%%d = contrib.epu.table(%%%d, meta[relay.Constant][%d]);\n", y.id,
               x.id, add_constant(n, IR_int8, 1, d, random_bytes(256, false)));
    return y;
}

static void put_head(network *n, value x, int units)
{
    const int64_t wd[2] = {units, x.c}, bd[1] = {units};
    const int w = add_constant(n, IR_int8, 2, wd, random_bytes(units * x.c, false));
    const int b = add_constant(n, IR_int32, 1, bd, random_ints(units, -3000, 3000));
    const int id = n->next;
    n->next += 3;
    str_printf(&n->text, "  %%%d = reshape(%%%d, newshape=[%d, %d]);\n", id, x.id, x.n, x.c);
    str_printf(&n->text,
               "  %%%d = contrib.epu.dense(%%%d, meta[relay.Constant][%d], "
               "meta[relay.Constant][%d], units=%d, "
               "x_scale=%.9gf, x_zero_point=%d, w_scale=0.002f, y_scale=0.05f, y_zero_point=3, "
               "out_dtype=\"int8\");\n",
               id + 1, id, w, b, units, (double)x.scale, x.zp);
    str_printf(&n->text, "  %%%d = qnn.dequantize(%%%d, 0.05f, 3);\n", id + 2, id + 1);
}

static conv_shape square(int oc, int k, int stride, int pad, bool relu)
{
    return (conv_shape){
        oc,   k,    k, stride, stride, 1, 1, 1, {pad, pad, pad, pad}, relu, random_int(0, 1),
        true, false};
}

/* ---- float32 layers ---- */

static value put_float(network *n, value x, const char *call)
{
    x.id = n->next++;
    str_printf(&n->text, "  %%%d = %s;\n", x.id, call);
    return x;
}

static int add_floats(network *n, int rank, const int64_t *dims)
{
    int count = 1;
    for (int i = 0; i < rank; i++)
        count *= (int)dims[i];
    return add_constant(n, IR_float32, rank, dims, random_floats(count, -0.6f, 0.6f));
}

static value put_float_conv(network *n, value x, int oc, int stride, bool bias)
{
    const int64_t wd[4] = {oc, x.c, 3, 3}, bd[1] = {oc};
    const int w = add_floats(n, 4, wd), b = add_floats(n, 1, bd);
    char call[256];
    snprintf(
        call, sizeof call,
        "nn.conv2d(%%%d, meta[relay.Constant][%d]%s%s, strides=[%d, %d], padding=[1, 1, 1, 1], "
        "channels=%d, kernel_size=[3, 3])",
        x.id, w, bias ? ", bias=meta[relay.Constant]" : "",
        bias ? arena_printf(n->text.a, "[%d]", b) : "", stride, stride, oc);
    x.c = oc;
    x.h = (x.h - 1) / stride + 1;
    x.w = (x.w - 1) / stride + 1;
    return put_float(n, x, call);
}

/* Every float32 operator once, between int8 layers. */
static void float_network(network *n, value x, int c, int units)
{
    const int64_t cd[1] = {c};
    arena *a = n->text.a;
    value v = put_conv(n, put_quantize(n, "x", x), square(c, 3, 1, 1, false));
    v = put_float(n, v,
                  arena_printf(a, "qnn.dequantize(%%%d, %.9gf, %d)", v.id, (double)v.scale, v.zp));
    v = put_float_conv(n, v, c, 1, true);
    const int scale = add_floats(n, 1, cd), shift = add_floats(n, 1, cd);
    v = put_float(n, v,
                  arena_printf(a,
                               "contrib.epu.channel_affine(%%%d, meta[relay.Constant][%d], "
                               "meta[relay.Constant][%d])",
                               v.id, scale, shift));
    value w = put_float(n, v, arena_printf(a, "nn.relu(%%%d)", v.id));
    w = put_float_conv(n, w, c, 1, false);
    w = put_float(n, w, arena_printf(a, "clip(%%%d, a_min=-1.5f, a_max=1.25f)", w.id));
    v = put_float(n, v, arena_printf(a, "add(%%%d, %%%d)", v.id, w.id));
    v = put_float(n, v,
                  arena_printf(a,
                               "nn.max_pool2d(%%%d, pool_size=[3, 3], strides=[1, 1], "
                               "padding=[1, 1, 1, 1])",
                               v.id));
    v = put_float(n, v,
                  arena_printf(a,
                               "nn.avg_pool2d(%%%d, pool_size=[3, 3], strides=[1, 1], "
                               "padding=[1, 1, 1, 1])",
                               v.id));
    v = put_float_conv(n, v, c, 2, true);
    v = put_float(n, v, arena_printf(a, "nn.global_avg_pool2d(%%%d)", v.id));
    v = put_float(n, v, arena_printf(a, "reshape(%%%d, newshape=[%d, %d])", v.id, x.n, c));
    const int64_t wd[2] = {units, c};
    put_float(n, v,
              arena_printf(a, "nn.dense(%%%d, meta[relay.Constant][%d], units=%d)", v.id,
                           add_floats(n, 2, wd), units));
}

/* Convolutions of random shape that all read one value: the border must serve them all, or be
 * made for one. Inputs and outputs of the program are int8. */
static void many_convolutions(network *n, value x, int c, int units)
{
    (void)units;
    n->int8_input = true;
    x.id = -1;
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        conv_shape s = square(random_int(1, 70), 1, 1, 0, random_int(0, 1));
        do {
            s.kh = random_int(1, 5);
            s.kw = random_int(1, 5);
            s.sh = random_int(1, 3);
            s.sw = random_int(1, 3);
            s.dh = random_int(1, 2);
            s.dw = random_int(1, 2);
            for (int k = 0; k < 4; k++)
                s.pad[k] = random_int(0, 3);
        } while (x.h + s.pad[0] + s.pad[2] < (s.kh - 1) * s.dh + 1 ||
                 x.w + s.pad[1] + s.pad[3] < (s.kw - 1) * s.dw + 1);
        if (random_int(0, 2) == 0 && c % 4 == 0) {
            s.groups = c / 4;
            s.oc = s.groups * random_int(1, 20);
        }
        s.per_channel = random_int(0, 1);
        n->outputs[n->n_outputs++] = put_conv(n, x, s).id;
    }
}

/* Stem, pool, two residual blocks (the second with projection), average, dense: ResNet's shape
 * at any size. */
static void residual_network(network *n, value x, int c, int units)
{
    value v = put_conv(n, put_quantize(n, "x", x), square(c, 7, 2, 3, true));
    v = put_max_pool(n, v, 3, 2, 1);
    value t = put_conv(n, put_conv(n, v, square(c, 3, 1, 1, true)), square(c, 3, 1, 1, false));
    v = put_add(n, t, v);
    t = put_conv(n, put_conv(n, v, square(2 * c, 3, 2, 1, true)), square(2 * c, 3, 1, 1, false));
    v = put_add(n, t, put_conv(n, v, square(2 * c, 1, 2, 0, false)));
    put_head(n, put_global_average(n, v), units);
}

/* Groups, depthwise, dilation, uneven padding, weight zero points, a table and pools between
 * convolutions. */
static void odd_network(network *n, value x, int c, int units)
{
    value v = put_conv(n, put_quantize(n, "x", x), square(c, 3, 1, 1, true));
    conv_shape s = square(c, 3, 1, 1, false);
    s.groups = 2;
    value a = put_conv(n, v, s);
    s = square(c, 3, 1, 1, true);
    s.groups = c;
    value b = put_conv(n, v, s);
    v = put_add(n, put_table(n, a), b);
    s = square(c + 5, 3, 1, 2, false);
    s.dh = s.dw = 2;
    s.per_channel = true;
    value d = put_conv(n, v, s);
    s = (conv_shape){c + 5, 2, 3, 1, 1, 1, 1, 1, {1, 0, 0, 2}, true, false, false, true};
    value e = put_conv(n, v, s);
    v = put_add(n, e, d);
    v = put_conv(n, put_max_pool(n, v, 2, 2, 0), square(17, 1, 1, 0, false));
    v = put_add(n, v, put_table(n, v));
    put_head(n, put_global_average(n, v), units);
}

#endif
