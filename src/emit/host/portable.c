/* SPDX-License-Identifier: Apache-2.0
 *
 * portable.c - the portable function of each int8 layer: the reference kernel of ccl/ref, called
 * once for a whole tensor, or row by row where the result lies inside a border. A bordered input
 * is given to a convolution as a larger image whose edge pixels hold the zero point and so add
 * nothing.
 */
#include "emit/host/host.h"

static const char *const type_names[] = {"float", "int8_t"};

static const char *pointer_type(const plan_buffer *b)
{
    return type_names[b->dtype == IR_int8];
}

static void put_pointer(host_emit *e, const char *name, const plan_buffer *b,
                        const char *expression, bool write)
{
    const char *type = pointer_type(b), *space = write ? "" : "const ";
    str_printf(e->c, "    %s%s *%s = (%s%s *)(%svoid *)(%s);\n", space, type, name, space, type,
               space, expression);
}

/* Pointer x (first byte of the buffer) and y (first pixel), and y's border. */
static void put_edges(host_emit *e, const plan_step *s)
{
    const host_view x = host_view_of(e, s->inputs[0]), y = host_view_of(e, s->output);
    put_pointer(e, "x", s->inputs[0], x.base, false);
    put_pointer(e, "y", s->output, y.inside, true);
    host_put_fill_border(e, s->output, y.base, s->output->border_value);
}

/* The window of one call. by_row: one output row per call, whose pad_top the loop sets. */
static void put_window(host_emit *e, const plan_window *w, const plan_buffer *x, bool by_row)
{
    str_printf(e->c,
               "{.n = %d, .h = %d, .w = %d, .c = %d, .oh = %d, .ow = %d, .kh = %d, .kw = %d,\n"
               "                .stride_h = %d, .stride_w = %d, .pad_top = %d, .pad_left = %d, "
               ".dil_h = %d, "
               ".dil_w = %d}",
               by_row ? 1 : w->in.n, w->in.h + x->border[0] + x->border[2],
               w->in.w + x->border[1] + x->border[3], w->in.c, by_row ? 1 : w->out.h, w->out.w,
               w->kh, w->kw, w->stride_h, w->stride_w, w->pad[0] - x->border[0],
               w->pad[1] - x->border[1], w->dil_h, w->dil_w);
}

/* for each image and output row: set pad_top and call; win: "p.win" or "win". */
static void put_row_calls(host_emit *e, const plan_step *s, const char *win, const char *call)
{
    const plan_buffer *x = s->inputs[0], *y = s->output;
    plan_window w;
    plan_window_of(s, &w);
    str_printf(e->c,
               "    for (int32_t n = 0; n < %d; n++) {\n        for (int32_t row = 0; row < %d; "
               "row++) {\n",
               y->dims.n, y->dims.h);
    str_printf(e->c, "            %s.pad_top = %d - row * %d;\n", win, w.pad[0] - x->border[0],
               w.stride_h);
    str_printf(e->c, "            %s x + n * %lld, ", call,
               (long long)(x->image_bytes / (int64_t)ir_dtype_bytes(x->dtype)));
    if (op_is(s->node, OP_qlinear_conv2d))
        str_put(e->c, "w, ");
    str_printf(e->c, "y + n * %lld + row * %lld);\n        }\n    }\n", (long long)y->image_bytes,
               (long long)y->row_bytes);
}

static void put_requant(host_emit *e, const plan_step *s, int32_t channels)
{
    const ir_node *n = s->node;
    const char *w_zp = host_put_zero_points(e, n, channels), *bias = host_put_bias(e, n, "int32_t");
    const char *m = host_put_multipliers(e, n, channels);
    str_printf(e->c, "        .x_zp = %d,\n        .w_zp = %s,\n        .bias = %s,\n",
               (int)ir_int(n, "x_zero_point"), w_zp, bias);
    str_printf(e->c,
               "        .rq = {.m = %s,\n               .y_zp = %d, .lo = %d, .hi = %d},\n    };\n",
               m, (int)ir_int(n, "y_zero_point"), (int)ir_int(n, "clamp_min"),
               (int)ir_int(n, "clamp_max"));
}

static cgc_status need_constant_weights(host_emit *e, const plan_step *s)
{
    for (int32_t i = 1; i < s->node->n_inputs; i++)
        if (s->node->inputs[i] && s->node->inputs[i]->kind != IR_VALUE_CONSTANT)
            return diag(e->p->ctx, CGC_E_OP, ir_where(s->node, NULL),
                        "weights and bias must be constants of the graph");
    return CGC_OK;
}

static void put_conv(host_emit *e, const plan_step *s)
{
    plan_window w;
    plan_window_of(s, &w);
    const bool by_row = host_has_border(s->output);
    put_edges(e, s);
    str_printf(e->c, "    const int8_t *w = %s;\n", host_put_ohwi(e, s->node->inputs[1], "int8_t"));
    str_printf(e->c, "    %sccl_conv2d_params p = {\n        .win = ", by_row ? "" : "const ");
    put_window(e, &w, s->inputs[0], by_row);
    str_printf(e->c, ",\n        .oc = %d, .groups = %d,\n", w.out.c, w.groups);
    put_requant(e, s, w.out.c);
    if (by_row)
        put_row_calls(e, s, "p.win", "ccl_conv2d_s8(&p,");
    else
        str_put(e->c, "    ccl_conv2d_s8(&p, x, w, y);\n");
}

static void put_dense(host_emit *e, const plan_step *s)
{
    plan_window w;
    plan_window_of(s, &w);
    put_edges(e, s);
    str_printf(e->c,
               "    const ccl_dense_params p = {\n        .rows = %d, .in = %d, .units = %d,\n",
               w.in.n, w.in.c, w.out.c);
    put_requant(e, s, w.out.c);
    str_printf(e->c, "    ccl_dense_s8(&p, x, %s, y);\n",
               host_put_value(e, s->node->inputs[1], "int8_t"));
}

static void put_max_pool(host_emit *e, const plan_step *s)
{
    plan_window w;
    plan_window_of(s, &w);
    const bool by_row = host_has_border(s->output);
    put_edges(e, s);
    str_printf(e->c, "    %sccl_window2d win =\n        ", by_row ? "" : "const ");
    put_window(e, &w, s->inputs[0], by_row);
    str_put(e->c, ";\n");
    if (by_row)
        put_row_calls(e, s, "win", "ccl_max_pool2d_s8(&win,");
    else
        str_put(e->c, "    ccl_max_pool2d_s8(&win, x, y);\n");
}

static void put_avg_pool(host_emit *e, const plan_step *s)
{
    const ir_node *n = s->node;
    plan_window w;
    plan_window_of(s, &w);
    const bool by_row = host_has_border(s->output);
    put_edges(e, s);
    str_printf(e->c, "    %sccl_avg_pool2d_params p = {\n        .win = ", by_row ? "" : "const ");
    put_window(e, &w, s->inputs[0], by_row);
    str_printf(e->c,
               ",\n        .pad_bottom = %d, .pad_right = %d, .count_include_pad = %d, "
               ".divisor_override = %d,\n"
               "        .x_scale = %s, .y_scale = %s, .x_zp = %d, .y_zp = %d, .lo = %d, .hi = "
               "%d,\n    };\n",
               w.pad[2], w.pad[3], ir_bool(n, "count_include_pad"),
               (int)ir_int(n, "divisor_override"), emit_f32(e->a, ir_float(n, "x_scale")),
               emit_f32(e->a, ir_float(n, "y_scale")), (int)ir_int(n, "x_zero_point"),
               (int)ir_int(n, "y_zero_point"), (int)ir_int(n, "clamp_min"),
               (int)ir_int(n, "clamp_max"));
    if (by_row)
        put_row_calls(e, s, "p.win", "ccl_avg_pool2d_s8(&p,");
    else
        str_put(e->c, "    ccl_avg_pool2d_s8(&p, x, y);\n");
}

/* ---- element-wise ---- */

static bool any_border(const plan_step *s)
{
    bool any = host_has_border(s->output);
    for (int32_t i = 0; i < IR_MAX_INPUTS; i++)
        any = any || (s->inputs[i] && host_has_border(s->inputs[i]));
    return any;
}

/* "x + n * 1 + row * 2" for a buffer inside the loops over images and rows. */
static const char *row_of(host_emit *e, const char *name, const plan_buffer *b, bool by_row)
{
    const int64_t elem = (int64_t)ir_dtype_bytes(b->dtype);
    return by_row
               ? arena_printf(e->a, "%s + n * %lld + row * %lld", name,
                              (long long)(b->image_bytes / elem), (long long)(b->row_bytes / elem))
               : name;
}

static void put_loops_begin(host_emit *e, const plan_step *s, bool by_row)
{
    if (by_row)
        str_printf(e->c,
                   "    for (int32_t n = 0; n < %d; n++)\n        for (int32_t row = 0; row < %d; "
                   "row++)\n        ",
                   s->output->dims.n, s->output->dims.h);
}

static int64_t run_length(const plan_step *s, bool by_row)
{
    const plan_dims *d = &s->output->dims;
    return (int64_t)d->w * d->c * (by_row ? 1 : (int64_t)d->n * d->h);
}

static void put_add(host_emit *e, const plan_step *s)
{
    const ir_node *n = s->node;
    const bool by_row = any_border(s);
    const char *names[2] = {"a", "b"};
    const plan_buffer *in[2];
    for (int32_t i = 0; i < 2; i++) {
        const char *from;
        in[i] = s->inputs[i] ? s->inputs[i] : s->output;
        if (s->inputs[i]) {
            from = host_view_of(e, s->inputs[i]).inside;
        } else {
            from = host_put_spread(e, n->inputs[i], s->output, "uint8_t");
        }
        put_pointer(e, names[i], in[i], from, false);
    }
    const host_view y = host_view_of(e, s->output);
    put_pointer(e, "y", s->output, y.inside, true);
    host_put_fill_border(e, s->output, y.base, s->output->border_value);
    str_printf(
        e->c,
        "    const ccl_add_params p = {.a_scale = %s, .b_scale = %s, .y_scale = %s,\n"
        "                              .a_zp = %d, .b_zp = %d, .y_zp = %d, .lo = %d, .hi = %d};\n",
        emit_f32(e->a, ir_float(n, "a_scale")), emit_f32(e->a, ir_float(n, "b_scale")),
        emit_f32(e->a, ir_float(n, "y_scale")), (int)ir_int(n, "a_zero_point"),
        (int)ir_int(n, "b_zero_point"), (int)ir_int(n, "y_zero_point"), (int)ir_int(n, "clamp_min"),
        (int)ir_int(n, "clamp_max"));
    if (host_is_broadcast(s)) {
        host_put_broadcast(e, s, "ccl_add_s8(&p, ");
        return;
    }
    put_loops_begin(e, s, by_row);
    str_printf(e->c, "    ccl_add_s8(&p, %s, %s, %s, %lld);\n", row_of(e, "a", in[0], by_row),
               row_of(e, "b", in[1], by_row), row_of(e, "y", s->output, by_row),
               (long long)run_length(s, by_row));
}

static void put_table(host_emit *e, const plan_step *s)
{
    const bool by_row = any_border(s);
    const host_view x = host_view_of(e, s->inputs[0]), y = host_view_of(e, s->output);
    put_pointer(e, "x", s->inputs[0], x.inside, false);
    put_pointer(e, "y", s->output, y.inside, true);
    host_put_fill_border(e, s->output, y.base, s->output->border_value);
    str_printf(e->c, "    const int8_t *table = %s;\n",
               host_put_value(e, s->node->inputs[1], "int8_t"));
    put_loops_begin(e, s, by_row);
    str_printf(e->c, "    ccl_table_s8(table, %s, %s, %lld);\n",
               row_of(e, "x", s->inputs[0], by_row), row_of(e, "y", s->output, by_row),
               (long long)run_length(s, by_row));
}

static void put_scale_arguments(host_emit *e, const ir_node *n)
{
    str_printf(e->c, "%s, %d", emit_f32(e->a, ir_float(n, "scale")), (int)ir_int(n, "zero_point"));
}

/* Planes to channels last: one row of every plane, then the change of order. */
static void put_quantize_planes(host_emit *e, const plan_step *s)
{
    const plan_dims *d = &s->output->dims;
    str_printf(e->c, "    int8_t *planes = (int8_t *)(void *)(m->arena + %lld);\n",
               (long long)host_step_of(s)->scratch->offset);
    str_printf(e->c,
               "    for (int32_t n = 0; n < %d; n++) {\n        for (int32_t row = 0; row < %d; "
               "row++) {\n",
               d->n, d->h);
    str_printf(
        e->c,
        "            for (int32_t c = 0; c < %d; c++)\n"
        "                ccl_quantize_s8(x + ((n * %d + c) * %d + row) * %d, planes + c * %d, %d, ",
        d->c, d->c, d->h, d->w, d->w, d->w);
    put_scale_arguments(e, s->node);
    str_printf(e->c,
               ");\n            ccl_nchw_to_nhwc(planes, %s, 1, %d, %d, 1);\n        }\n    }\n",
               row_of(e, "y", s->output, true), d->c, d->w);
}

static void put_quantize(host_emit *e, const plan_step *s)
{
    put_edges(e, s);
    if (host_step_of(s)->scratch) {
        put_quantize_planes(e, s);
        return;
    }
    const bool by_row = any_border(s);
    put_loops_begin(e, s, by_row);
    str_printf(e->c, "    ccl_quantize_s8(%s, %s, %lld, ", row_of(e, "x", s->inputs[0], by_row),
               row_of(e, "y", s->output, by_row), (long long)run_length(s, by_row));
    put_scale_arguments(e, s->node);
    str_put(e->c, ");\n");
}

static void put_dequantize(host_emit *e, const plan_step *s)
{
    const plan_dims *d = &s->output->dims;
    const plan_buffer *scratch = host_step_of(s)->scratch;
    put_edges(e, s);
    if (!scratch) {
        str_printf(e->c, "    ccl_dequantize_s8(x, y, %lld, ", (long long)run_length(s, false));
        put_scale_arguments(e, s->node);
        str_put(e->c, ");\n");
        return;
    }
    const long long image = (long long)d->c * d->h * d->w;
    str_printf(e->c, "    float *last = (float *)(void *)(m->arena + %lld);\n",
               (long long)scratch->offset);
    str_printf(e->c,
               "    for (int32_t n = 0; n < %d; n++) {\n        ccl_dequantize_s8(x + n * %lld, "
               "last, %lld, ",
               d->n, image, image);
    put_scale_arguments(e, s->node);
    str_printf(e->c, ");\n        ccl_nhwc_to_nchw(last, y + n * %lld, 1, %d, %d, 4);\n    }\n",
               image, d->c, d->h * d->w);
}

/* ---- change of layout ---- */

static void put_relayout(host_emit *e, const plan_step *s)
{
    const plan_buffer *x = s->inputs[0], *y = s->output;
    const plan_dims *d = &y->dims;
    const char *from = host_view_of(e, x).base, *to = host_view_of(e, y).base;
    const size_t elem = ir_dtype_bytes(y->dtype);
    if (x->layout == y->layout || y->value->type.rank != 4)
        str_printf(e->c, "    memcpy(%s, %s, %zu);\n", to, from, ir_type_bytes(&y->value->type));
    else
        str_printf(e->c, "    %s(%s, %s, %d, %d, %d, %zu);\n",
                   y->layout == PLAN_NHWC ? "ccl_nchw_to_nhwc" : "ccl_nhwc_to_nchw", from, to, d->n,
                   d->c, d->h * d->w, elem);
}

typedef struct printer {
    op_id op;
    void (*put)(host_emit *e, const plan_step *s);
    cgc_status (*check)(host_emit *e, const plan_step *s);
} printer;

cgc_status host_put_portable(host_emit *e, const plan_step *s)
{
    static const printer printers[] = {{OP_qlinear_conv2d, put_conv, need_constant_weights},
                                       {OP_qlinear_dense, put_dense, need_constant_weights},
                                       {OP_qnn_add, put_add, NULL},
                                       {OP_qnn_avg_pool2d, put_avg_pool, NULL},
                                       {OP_table, put_table, need_constant_weights},
                                       {OP_quantize, put_quantize, NULL},
                                       {OP_dequantize, put_dequantize, NULL},
                                       {OP_max_pool2d, put_max_pool, NULL}};
    if (s->node && s->output->dtype != IR_int8 && !op_is(s->node, OP_dequantize))
        return host_put_portable_float(e, s);
    host_put_layer_comment(e, s, "");
    host_put_function_begin(e, s, "");
    if (!s->node) {
        put_relayout(e, s);
        str_put(e->c, "}\n");
        return CGC_OK;
    }
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++) {
        if (!op_is(s->node, printers[i].op))
            continue;
        if (printers[i].check)
            TRY(printers[i].check(e, s));
        printers[i].put(e, s);
        str_put(e->c, "}\n");
        return CGC_OK;
    }
    return diag(e->p->ctx, CGC_E_OP, ir_where(s->node, NULL), "the operator has no host lowering");
}
