/* SPDX-License-Identifier: Apache-2.0
 *
 * host_conv.c - register tiles of the AVX-512 VNNI convolution: which layers it can do with the
 * same bytes as the portable kernel, and how the output plane is cut into tiles without a ragged
 * one. Decided from the layer's exact shape and weights; nothing is decided at run time.
 */
#include "plan/host.h"

#include <math.h>

enum { SMALLEST_GROUP_INPUT = 4, SMALLEST_GROUP_OUTPUT = 16 };

/* Values beyond this could leave int32 when rounded (2^31) together with a zero point. */
#define ROUND_LIMIT 1.0e9

host_split host_split_of(int32_t n, int32_t most)
{
    const int32_t pieces = (n + most - 1) / most;
    const int32_t small = n / pieces, larger = n % pieces;
    if (larger == 0)
        return (host_split){{small, 0}, {pieces, 0}};
    return (host_split){{small + 1, small}, {larger, pieces - larger}};
}

/* Wide planes are cut into pieces of columns, one row each; narrow ones join whole rows. */
static void choose_tiles(int32_t oh, int32_t ow, host_conv *c)
{
    c->cols = host_split_of(ow, HOST_TILE_PIXELS);
    const int32_t rows = c->cols.count[0] + c->cols.count[1] > 1 ? 1 : HOST_TILE_PIXELS / ow;
    c->rows = host_split_of(oh, rows < 1 ? 1 : rows);
}

/* Weights of one output channel; k of them, minus the zero point. */
static bool channel_fits(const ir_node *n, int64_t channel, const int8_t *w, int64_t k)
{
    const int32_t w_zp = ir_zero_point(n, "w_zero_point", channel);
    const int32_t x_zp = (int32_t)ir_int(n, "x_zero_point");
    const double far = x_zp + 128 > 127 - x_zp ? x_zp + 128 : 127 - x_zp;
    double sum = 0;
    for (int64_t i = 0; i < k; i++) {
        const int32_t v = w[i] - w_zp;
        if (v < -128 || v > 127)
            return false;
        sum += v < 0 ? -v : v;
    }
    sum *= far;
    if (n->n_inputs > 2 && n->inputs[2])
        sum += fabs((double)((const int32_t *)n->inputs[2]->data)[channel]);
    const float m = op_multiplier(ir_float(n, "x_scale"), ir_scale(n, "w_scale", channel),
                                  ir_float(n, "y_scale"));
    return sum * (double)m < ROUND_LIMIT;
}

static bool weights_fit(const ir_node *n, const plan_window *w)
{
    const ir_value *weight = n->inputs[1];
    if (weight->kind != IR_VALUE_CONSTANT ||
        (n->n_inputs > 2 && n->inputs[2] && n->inputs[2]->kind != IR_VALUE_CONSTANT))
        return false;
    const int64_t k = ir_type_elems(&weight->type) / w->out.c;
    for (int64_t c = 0; c < w->out.c; c++)
        if (!channel_fits(n, c, (const int8_t *)weight->data + c * k, k))
            return false;
    return true;
}

bool host_conv_plan(const plan_step *s, host_conv *out)
{
    host_conv c = {.copy = NULL};
    if (!s->node || !(op_is(s->node, OP_qlinear_conv2d) || op_is(s->node, OP_qlinear_dense)))
        return false;
    if (!s->inputs[0] || !plan_window_of(s, &c.win) || !weights_fit(s->node, &c.win))
        return false;
    plan_window *w = &c.win;
    if (op_is(s->node, OP_qlinear_dense)) { /* rows are the pixels of one image */
        w->in = (plan_dims){1, w->in.c, 1, w->in.n};
        w->out = (plan_dims){1, w->out.c, 1, w->out.n};
    }
    const int32_t group_input = w->in.c / w->groups;
    c.group_channels = w->out.c / w->groups;
    if (w->groups > 1 &&
        (group_input < SMALLEST_GROUP_INPUT || c.group_channels < SMALLEST_GROUP_OUTPUT))
        return false;
    const bool contiguous = w->groups == 1 && w->dil_w == 1;
    c.runs = contiguous ? 1 : w->kw;
    c.steps = ((contiguous ? w->kw : 1) * group_input + 3) / 4;
    choose_tiles(w->out.h, w->out.w, &c);
    *out = c;
    return true;
}
