/* SPDX-License-Identifier: Apache-2.0
 *
 * pack.c - constants of the graph -> the pieces of weights_epu.bin, byte for byte as DMA brings
 * them to OCM. Convolution and dense: per set {bias, M} of each output channel, then per part of
 * the sum the rows of its output channels, in window order and padded with zeros to whole
 * broadcast steps. Biases hold the zero point's share of the sum, -x_zp * sum(w), modulo 2^32 as
 * the accumulators count.
 */
#include "emit/epu/epu_emit.h"

#include <string.h>

enum { PIECE_ALIGN = 64 };

/* A convolution's weights as the array sees them. */
typedef struct packer {
    const epu_emit *e;
    const ir_node *n;
    const epu_conv *c;
    const int8_t *w;   /* OIHW; of one group of the operator: [cout][cin][kh][kw] */
    int32_t cin, cout; /* of one group of the operator */
} packer;

/* Weight of output channel o (counted over all) at window place ky, kx and channel ch of the joined group. */
static int32_t weight_at(const packer *k, int32_t o, int32_t ch, int32_t ky, int32_t kx)
{
    const epu_view *v = &k->c->v;
    const int32_t group = o / k->cout, joined = group / v->merge;
    if (ch / k->cin != group - joined * v->merge)
        return 0; /* between different groups of the operator */
    const int64_t at = (((int64_t)o * k->cin + ch % k->cin) * v->kh + ky) * v->kw + kx;
    return k->w[at] - ir_zero_point(k->n, "w_zero_point", o);
}

static void pack_row(const packer *k, const epu_part *t, int32_t o, char *row)
{
    const int32_t line = k->c->packed ? t->kw * t->c : t->bytes / t->kh;
    for (int32_t y = 0; y < t->kh; y++)
        for (int32_t x = 0; x < t->kw; x++)
            for (int32_t ch = 0; ch < t->c; ch++)
                row[y * line + x * t->c + ch] =
                    (char)weight_at(k, o, t->c0 + ch, t->ky0 + y, t->kx0 + x);
}

static int32_t folded_bias(const packer *k, int32_t o)
{
    const epu_view *v = &k->c->v;
    const int64_t row = (int64_t)k->cin * v->kh * v->kw;
    int64_t sum = 0, bias = 0;
    for (int64_t i = 0; i < row; i++)
        sum += k->w[o * row + i] - ir_zero_point(k->n, "w_zero_point", o);
    if (k->n->n_inputs > 2 && k->n->inputs[2])
        bias = ((const int32_t *)k->n->inputs[2]->data)[o];
    const uint32_t wrapped =
        (uint32_t)((uint64_t)bias - (uint64_t)(ir_int(k->n, "x_zero_point") * sum));
    int32_t out;
    memcpy(&out, &wrapped, sizeof out);
    return out;
}

static void put_constant(char *at, int32_t bias, float m)
{
    memcpy(at, &bias, sizeof bias);
    memcpy(at + sizeof bias, &m, sizeof m);
}

/* Output channels of a set: first, and how many are real. */
static int32_t set_first(const epu_conv *c, int32_t set, int32_t *out_count)
{
    const int32_t first = set % c->blocks * c->block;
    *out_count = epu_min(c->block, c->v.cout - first);
    return set / c->blocks * c->v.cout + first;
}

static void pack_constants(const packer *k, int32_t set, char *out)
{
    int32_t count;
    const int32_t first = set_first(k->c, set, &count);
    for (int32_t i = 0; i < count; i++)
        put_constant(out + i * EPU_CONST_BYTES, folded_bias(k, first + i),
                     op_multiplier(ir_float(k->n, "x_scale"), ir_scale(k->n, "w_scale", first + i),
                                   ir_float(k->n, "y_scale")));
}

static void pack_part(const packer *k, int32_t set, const epu_part *t, char *out)
{
    int32_t count;
    const int32_t first = set_first(k->c, set, &count);
    for (int32_t i = 0; i < count; i++)
        pack_row(k, t, first + i, out + (int64_t)i * t->bytes);
}

/* column_bytes of each row from w->column on, rows together. */
static void pack_column(const packer *k, const epu_piece *w, const epu_part *t, char *out)
{
    const int32_t width = epu_min(k->c->column_bytes, t->bytes - w->column);
    char *row = arena_alloc(k->e->a, (size_t)t->bytes);
    int32_t count;
    const int32_t first = set_first(k->c, w->set, &count);
    for (int32_t i = 0; i < count; i++) {
        pack_row(k, t, first + i, row);
        memcpy(out + (int64_t)i * width, row + w->column, (size_t)width);
    }
}

static void pack_conv(epu_emit *e, const plan_step *s, const epu_piece *w, char *out)
{
    const epu_conv *c = &epu_of(s)->u.conv;
    const packer k = {.e = e,
                      .n = s->node,
                      .c = c,
                      .w = s->node->inputs[1]->data,
                      .cin = c->v.cin / c->v.merge,
                      .cout = c->v.cout / c->v.merge};
    if (w->part >= 0) {
        const bool first = w->part == 0 && w->column == 0;
        if (first)
            pack_constants(&k, w->set, out);
        pack_column(&k, w, &c->parts[w->part], out + (first ? c->block * EPU_CONST_BYTES : 0));
        return;
    }
    for (int32_t set = w->set; set < w->set + w->sets; set++, out += c->set_bytes) {
        pack_constants(&k, set, out);
        for (int32_t i = 0; i < c->n_parts; i++)
            pack_part(&k, set, &c->parts[i],
                      out + (int64_t)c->block * (EPU_CONST_BYTES + c->parts[i].offset));
    }
}

static void pack_average(const plan_step *s, char *out)
{
    const epu_pool *f = &epu_of(s)->u.pool;
    const int32_t zp = (int32_t)ir_int(s->node, "x_zero_point");
    for (int32_t i = 0; i < f->n_consts; i++)
        put_constant(out + i * EPU_CONST_BYTES, f->global ? -zp * f->taps : 0,
                     epu_average_multiplier(s, i));
    if (f->global)
        memset(out + f->n_consts * EPU_CONST_BYTES, 1, (size_t)f->taps);
}

/* A constant operand of an addition, in the layout of the result. Its dimensions of 1 in front may
 * be missing. */
static void pack_operand(const plan_step *s, const epu_piece *w, char *out)
{
    const ir_value *v = s->node->inputs[w->set];
    const plan_buffer *y = s->output;
    if (y->layout == PLAN_NHWC)
        op_nchw_to_nhwc(v->data, out, y->dims.n, y->dims.c, y->dims.h, y->dims.w, 1);
    else
        memcpy(out, v->data, ir_type_bytes(&v->type));
}

cgc_status epu_pack(epu_emit *e)
{
    const epu_program *g = epu_program_of(e->p);
    for (size_t i = 0; i < g->n_pieces; i++) {
        const epu_piece *w = &g->pieces[i];
        const plan_step *s = e->p->steps[w->step];
        char *data = arena_alloc(e->a, (size_t)w->bytes);
        if (s->mapping == PLAN_MAP_table)
            memcpy(data, s->node->inputs[1]->data, 256);
        else if (s->mapping == PLAN_MAP_avg_pool2d)
            pack_average(s, data);
        else if (s->mapping == PLAN_MAP_add)
            pack_operand(s, w, data);
        else
            pack_conv(e, s, w, data);
        const size_t at = emit_blob(&e->weights, data, (size_t)w->bytes, PIECE_ALIGN);
        if ((int64_t)at != w->ddr)
            return diag(e->p->ctx, CGC_E_INTERNAL, (diag_info){.layer = s->name},
                        "piece %zu of the weights lies at %zu, planned at %lld", i, at,
                        (long long)w->ddr);
    }
    return CGC_OK;
}
