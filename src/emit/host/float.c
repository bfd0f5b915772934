/* SPDX-License-Identifier: Apache-2.0
 *
 * float.c - the function of each float32 layer: one call of the reference kernel, whose order of
 * additions is the layer's meaning (docs/operators.md). Float buffers have no border, so a
 * tensor is one run of memory.
 */
#include "emit/host/host.h"

static void put_edges(host_emit *e, const plan_step *s)
{
    str_printf(e->c, "    const float *x = (const float *)(const void *)(%s);\n",
               host_view_of(e, s->inputs[0]).base);
    str_printf(e->c, "    float *y = (float *)(void *)(%s);\n", host_view_of(e, s->output).base);
}

static void put_window(host_emit *e, const plan_window *w)
{
    str_printf(e->c,
               "{.n = %d, .h = %d, .w = %d, .c = %d, .oh = %d, .ow = %d, .kh = %d, .kw = %d,\n"
               "                .stride_h = %d, .stride_w = %d, .pad_top = %d, .pad_left = %d, "
               ".dil_h = %d, "
               ".dil_w = %d}",
               w->in.n, w->in.h, w->in.w, w->in.c, w->out.h, w->out.w, w->kh, w->kw, w->stride_h,
               w->stride_w, w->pad[0], w->pad[1], w->dil_h, w->dil_w);
}

static long long count_of(const plan_step *s)
{
    return (long long)ir_type_elems(&s->output->value->type);
}

static void put_conv(host_emit *e, const plan_step *s, const plan_window *w)
{
    put_edges(e, s);
    str_printf(e->c, "    const float *w = %s;\n", host_put_ohwi(e, s->node->inputs[1], "float"));
    str_put(e->c, "    const ccl_conv2d_f32_params p = {\n        .win = ");
    put_window(e, w);
    str_printf(e->c,
               ",\n        .oc = %d, .groups = %d, .bias = %s,\n    };\n    ccl_conv2d_f32(&p, x, "
               "w, y);\n",
               w->out.c, w->groups, host_put_bias(e, s->node, "float"));
}

static void put_dense(host_emit *e, const plan_step *s, const plan_window *w)
{
    put_edges(e, s);
    const char *weights = host_put_value(e, s->node->inputs[1], "float");
    str_printf(e->c, "    ccl_dense_f32(%d, %d, %d, x, %s,\n                  %s, y);\n", w->in.n,
               w->in.c, w->out.c, weights, host_put_bias(e, s->node, "float"));
}

static void put_max_pool(host_emit *e, const plan_step *s, const plan_window *w)
{
    put_edges(e, s);
    str_put(e->c, "    const ccl_window2d win =\n        ");
    put_window(e, w);
    str_put(e->c, ";\n    ccl_max_pool2d_f32(&win, x, y);\n");
}

static void put_avg_pool(host_emit *e, const plan_step *s, const plan_window *w)
{
    const bool plain = op_is(s->node, OP_avg_pool2d);
    put_edges(e, s);
    str_put(e->c, "    const ccl_avg_pool2d_params p = {\n        .win = ");
    put_window(e, w);
    str_printf(e->c,
               ",\n        .pad_bottom = %d, .pad_right = %d, .count_include_pad = %d, "
               ".divisor_override = %d,\n    };\n",
               w->pad[2], w->pad[3], plain ? ir_bool(s->node, "count_include_pad") : 1,
               plain ? (int)ir_int(s->node, "divisor_override") : 0);
    str_put(e->c, "    ccl_avg_pool2d_f32(&p, x, y);\n");
}

/* Any operator whose op_info says so: its attributes are the kernel's last arguments. */
static void put_elementwise(host_emit *e, const plan_step *s, const plan_window *w)
{
    const op_info *op = s->node->op;
    (void)w;
    put_edges(e, s);
    str_printf(e->c, "    ccl_%s(x, y, %lld", op->kernel_f32, count_of(s));
    for (int32_t i = 0; i < op->n_attrs; i++)
        str_printf(e->c, ", %s", emit_f32(e->a, ir_float(s->node, op->attrs[i].name)));
    str_put(e->c, ");\n");
}

static void put_affine(host_emit *e, const plan_step *s, const plan_window *w)
{
    const plan_dims *d = &s->output->dims;
    (void)w;
    put_edges(e, s);
    str_printf(e->c, "    const float *scale = %s;\n",
               host_put_value(e, s->node->inputs[1], "float"));
    str_printf(e->c, "    const float *shift = %s;\n",
               host_put_value(e, s->node->inputs[2], "float"));
    str_printf(e->c, "    ccl_channel_affine_f32(x, scale, shift, y, %lld, %d, 1);\n",
               (long long)d->n * d->h * d->w, d->c);
}

static void put_add(host_emit *e, const plan_step *s, const plan_window *w)
{
    static const char *const names[2] = {"a", "b"};
    (void)w;
    for (int32_t i = 0; i < 2; i++) {
        const char *from = s->inputs[i]
                               ? host_view_of(e, s->inputs[i]).base
                               : host_put_spread(e, s->node->inputs[i], s->output, "uint8_t");
        str_printf(e->c, "    const float *%s = (const float *)(const void *)(%s);\n", names[i],
                   from);
    }
    str_printf(e->c, "    float *y = (float *)(void *)(%s);\n", host_view_of(e, s->output).base);
    if (host_is_broadcast(s))
        host_put_broadcast(e, s, "ccl_add_f32(");
    else
        str_printf(e->c, "    ccl_add_f32(a, b, y, %lld);\n", count_of(s));
}

static cgc_status check(host_emit *e, const plan_step *s)
{
    const ir_node *n = s->node;
    if (op_is(n, OP_add))
        return CGC_OK;
    for (int32_t i = 1; i < n->n_inputs; i++)
        if (n->inputs[i] && n->inputs[i]->kind != IR_VALUE_CONSTANT)
            return diag(e->p->ctx, CGC_E_OP, ir_where(n, NULL),
                        "weights and bias must be constants of the graph");
    return CGC_OK;
}

cgc_status host_put_portable_float(host_emit *e, const plan_step *s)
{
    static const struct {
        op_id op;
        void (*put)(host_emit *e, const plan_step *s, const plan_window *w);
    } printers[] = {{OP_conv2d, put_conv},
                    {OP_dense, put_dense},
                    {OP_max_pool2d, put_max_pool},
                    {OP_avg_pool2d, put_avg_pool},
                    {OP_global_avg_pool2d, put_avg_pool},
                    {OP_adaptive_avg_pool2d, put_avg_pool},
                    {OP_channel_affine, put_affine},
                    {OP_add, put_add}};
    void (*put)(host_emit *e, const plan_step *s, const plan_window *w) =
        s->node->op->elementwise ? put_elementwise : NULL;
    for (size_t i = 0; i < sizeof printers / sizeof *printers && !put; i++)
        if (op_is(s->node, printers[i].op))
            put = printers[i].put;
    if (!put)
        return diag(e->p->ctx, CGC_E_OP, ir_where(s->node, NULL),
                    "the operator has no host lowering");
    plan_window w = {.kh = 1};
    if (!plan_window_of(s, &w))
        w.kw = 1; /* element-wise */
    TRY(check(e, s));
    host_put_layer_comment(e, s, "");
    host_put_function_begin(e, s, "");
    put(e, s, &w);
    str_put(e->c, "}\n");
    return CGC_OK;
}
