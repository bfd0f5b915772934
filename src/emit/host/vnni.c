/* SPDX-License-Identifier: Apache-2.0
 *
 * vnni.c - the AVX-512 function of the layers around the convolutions: input quantization,
 * residual add alone, pooling. Each is one call of a kernel of ccl/x86_avx512vnni per image or
 * row, with literal parameters.
 */
#include "emit/host/host.h"

static int is_signed(const host_emit *e, const plan_buffer *b)
{
    return !host_is_unsigned(e->p, b);
}

static void put_out(host_emit *e, const plan_buffer *y, int zp, int lo, int hi)
{
    str_printf(e->c, ".out = {.zp = %d, .lo = %d, .hi = %d, .is_signed = %d}", zp, lo, hi,
               is_signed(e, y));
}

static void put_border(host_emit *e, const plan_step *s)
{
    const plan_buffer *y = s->output;
    host_put_fill_border(e, y, host_view_of(e, y).base,
                         is_signed(e, y) ? y->border_value : y->border_value + 128);
}

static const char *bytes_of(host_emit *e, const plan_buffer *b, bool write)
{
    return arena_printf(e->a, "%s(%s)", write ? "(uint8_t *)" : "(const uint8_t *)",
                        host_view_of(e, b).inside);
}

static void put_add(host_emit *e, const plan_step *s)
{
    static const char *const forms[] = {"CCL_SUM_FMA", "CCL_SUM_RECIPROCAL", "CCL_SUM_DIVIDE"};
    const ir_node *n = s->node;
    const host_sum *sum = &host_step_of(s)->sum;
    const plan_buffer *a = s->inputs[0], *b = s->inputs[1], *y = s->output;
    str_printf(e->c,
               "    const ccl_add_bytes p = {\n"
               "        .a_signed = %d, .a_zp = %d, .b_signed = %d, .b_zp = %d, .sum = {%s, %s, "
               "%s, %s},\n        ",
               is_signed(e, a), (int)ir_int(n, "a_zero_point"), is_signed(e, b),
               (int)ir_int(n, "b_zero_point"), forms[sum->form], emit_f32(e->a, sum->ka),
               emit_f32(e->a, sum->kb), emit_f32(e->a, sum->ky));
    put_out(e, y, (int)ir_int(n, "y_zero_point"), (int)ir_int(n, "clamp_min"),
            (int)ir_int(n, "clamp_max"));
    str_put(e->c, ",\n    };\n");
    put_border(e, s);
    str_printf(e->c, "    const uint8_t *a = %s, *b = %s;\n    uint8_t *y = %s;\n",
               bytes_of(e, a, false), bytes_of(e, b, false), bytes_of(e, y, true));
    if (!host_has_border(a) && !host_has_border(b) && !host_has_border(y)) {
        str_printf(e->c, "    ccl_add_row(&p, a, b, y, %lld);\n",
                   (long long)ir_type_elems(&y->value->type));
        return;
    }
    str_printf(
        e->c,
        "    for (int32_t n = 0; n < %d; n++)\n        for (int32_t row = 0; row < %d; row++)\n"
        "            ccl_add_row(&p, a + n * %lld + row * %lld, b + n * %lld + row * %lld,\n"
        "                        y + n * %lld + row * %lld, %d);\n",
        y->dims.n, y->dims.h, (long long)a->image_bytes, (long long)a->row_bytes,
        (long long)b->image_bytes, (long long)b->row_bytes, (long long)y->image_bytes,
        (long long)y->row_bytes, y->dims.w * y->dims.c);
}

/* The multiplier of rule 7, in its order of roundings. */
static float average_multiplier(const ir_node *n, const plan_window *w)
{
    const int64_t divisor = ir_int(n, "divisor_override");
    const float count = (float)(divisor ? divisor : (int64_t)w->kh * w->kw);
    const float per_value = ir_float(n, "x_scale") / count;
    return per_value / ir_float(n, "y_scale");
}

static void put_pool(host_emit *e, const plan_step *s)
{
    const ir_node *n = s->node;
    const bool average = op_is(n, OP_qnn_avg_pool2d);
    const plan_buffer *x = s->inputs[0], *y = s->output;
    plan_window w;
    plan_window_of(s, &w);
    str_printf(
        e->c,
        "    const ccl_pool p = {\n"
        "        .h = %d, .w = %d, .c = %d, .oh = %d, .ow = %d, .kh = %d, .kw = %d,\n"
        "        .stride_h = %d, .stride_w = %d, .pad_top = %d, .pad_left = %d, .dil_h = %d, "
        ".dil_w = %d,\n"
        "        .x_pixel = %lld, .x_row = %lld, .y_pixel = %lld, .y_row = %lld, .x_signed = %d",
        w.in.h, w.in.w, w.in.c, w.out.h, w.out.w, w.kh, w.kw, w.stride_h, w.stride_w, w.pad[0],
        w.pad[1], w.dil_h, w.dil_w, (long long)x->pixel_bytes, (long long)x->row_bytes,
        (long long)y->pixel_bytes, (long long)y->row_bytes, is_signed(e, x));
    if (average)
        str_printf(e->c, ",\n        .x_zp = %d, .m = %s", (int)ir_int(n, "x_zero_point"),
                   emit_f32(e->a, average_multiplier(n, &w)));
    str_put(e->c, ",\n        ");
    put_out(e, y, average ? (int)ir_int(n, "y_zero_point") : 0,
            average ? (int)ir_int(n, "clamp_min") : -128,
            average ? (int)ir_int(n, "clamp_max") : 127);
    str_put(e->c, ",\n    };\n");
    put_border(e, s);
    str_printf(e->c,
               "    for (int32_t n = 0; n < %d; n++)\n        ccl_%s_pool2d(&p, %s + n * %lld, %s "
               "+ n * %lld);\n",
               w.in.n, average ? "avg" : "max", bytes_of(e, x, false), (long long)x->image_bytes,
               bytes_of(e, y, true), (long long)y->image_bytes);
}

static void put_quantize(host_emit *e, const plan_step *s)
{
    const plan_buffer *x = s->inputs[0], *y = s->output;
    const plan_dims *d = &y->dims;
    str_printf(e->c,
               "    const ccl_quantize_planes p = {\n        .c = %d, .h = %d, .w = %d, .y_row = "
               "%lld, .scale = %s,\n        ",
               d->c, d->h, d->w, (long long)y->row_bytes,
               emit_f32(e->a, ir_float(s->node, "scale")));
    put_out(e, y, (int)ir_int(s->node, "zero_point"), -128, 127);
    str_put(e->c, ",\n    };\n");
    put_border(e, s);
    str_printf(e->c,
               "    const float *x = (const float *)(const void *)(%s);\n    uint8_t *y = %s;\n"
               "    for (int32_t n = 0; n < %d; n++)\n"
               "        ccl_quantize_image(&p, x + n * %lld, m->arena + %lld, y + n * %lld);\n",
               host_view_of(e, x).base, bytes_of(e, y, true), d->n, (long long)d->c * d->h * d->w,
               (long long)host_step_of(s)->scratch->offset, (long long)y->image_bytes);
}

void host_put_vnni(host_emit *e, const plan_step *s)
{
    if (op_is(s->node, OP_qlinear_conv2d) || op_is(s->node, OP_qlinear_dense)) {
        host_put_vnni_conv(e, s);
        return;
    }
    const bool fused = host_step_of(s)->fused_into != NULL;
    if (fused)
        str_put(e->c, "\n#ifdef CCL_TRACE /* otherwise the convolution before does it */");
    host_put_layer_comment(e, s, "");
    host_put_function_begin(e, s, "_avx512vnni");
    if (op_is(s->node, OP_qnn_add))
        put_add(e, s);
    else if (op_is(s->node, OP_quantize))
        put_quantize(e, s);
    else
        put_pool(e, s);
    str_put(e->c, fused ? "}\n#endif\n" : "}\n");
}
