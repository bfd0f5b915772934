/* SPDX-License-Identifier: Apache-2.0
 *
 * pack.c - constants of the graph -> weights_host.bin, in the order in which each kernel reads
 * them. Pieces start at multiples of 64 bytes and are followed by enough bytes that prefetching
 * ahead stays harmless.
 */
#include "emit/host/host.h"
#include "ops/op.h"

#include <string.h>

enum { BLOB_ALIGN = 64 };

const char *host_put_data(host_emit *e, const void *data, size_t bytes, const char *ctype)
{
    const size_t at = emit_blob(&e->weights, data, bytes, BLOB_ALIGN);
    if (strcmp(ctype, "uint8_t") == 0)
        return arena_printf(e->a, "m->weights + %zu", at);
    return arena_printf(e->a, "(const %s *)(const void *)(m->weights + %zu)", ctype, at);
}

const char *host_put_value(host_emit *e, const ir_value *v, const char *ctype)
{
    return host_put_data(e, v->data, ir_type_bytes(&v->type), ctype);
}

const char *host_put_ohwi(host_emit *e, const ir_value *weight, const char *ctype)
{
    const int64_t *d = weight->type.dims;
    const size_t elem = ir_dtype_bytes(weight->type.dtype);
    void *w = arena_alloc(e->a, ir_type_bytes(&weight->type));
    op_nchw_to_nhwc(weight->data, w, d[0], d[1], d[2], d[3], elem);
    return host_put_data(e, w, ir_type_bytes(&weight->type), ctype);
}

const char *host_put_multipliers(host_emit *e, const ir_node *n, int32_t channels)
{
    float *m = arena_array(e->a, (size_t)channels, sizeof *m);
    for (int32_t c = 0; c < channels; c++)
        m[c] = op_multiplier(ir_float(n, "x_scale"), ir_scale(n, "w_scale", c),
                             ir_float(n, "y_scale"));
    return host_put_data(e, m, (size_t)channels * sizeof *m, "float");
}

const char *host_put_zero_points(host_emit *e, const ir_node *n, int32_t channels)
{
    int32_t *zp = arena_array(e->a, (size_t)channels, sizeof *zp);
    bool any = false;
    for (int32_t c = 0; c < channels; c++) {
        zp[c] = ir_zero_point(n, "w_zero_point", c);
        any = any || zp[c] != 0;
    }
    return any ? host_put_data(e, zp, (size_t)channels * sizeof *zp, "int32_t") : "NULL";
}

const char *host_put_bias(host_emit *e, const ir_node *n, const char *ctype)
{
    return n->n_inputs > 2 && n->inputs[2] ? host_put_value(e, n->inputs[2], ctype) : "NULL";
}

/* Strides in elements of v's dims as aligned to the dims of out (numpy's broadcasting). */
static void spread_strides(const ir_type *v, const ir_type *out, int64_t stride[IR_MAX_RANK])
{
    int64_t step = 1;
    memset(stride, 0, IR_MAX_RANK * sizeof *stride);
    for (int32_t i = 0; i < v->rank; i++) {
        const int32_t from = v->rank - 1 - i, to = out->rank - 1 - i;
        stride[to] = v->dims[from] == 1 ? 0 : step;
        step *= v->dims[from];
    }
}

const char *host_put_spread(host_emit *e, const ir_value *v, const plan_buffer *out,
                            const char *ctype)
{
    const ir_type *t = &out->value->type;
    const size_t elem = ir_dtype_bytes(v->type.dtype);
    const int64_t count = ir_type_elems(t);
    int64_t stride[IR_MAX_RANK];
    spread_strides(&v->type, t, stride);
    char *plain = arena_array(e->a, (size_t)count, elem), *data = plain;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at = 0;
        for (int32_t d = t->rank - 1; d >= 0; d--) {
            at += rest % t->dims[d] * stride[d];
            rest /= t->dims[d];
        }
        memcpy(plain + (size_t)i * elem, (const char *)v->data + (size_t)at * elem, elem);
    }
    if (out->layout == PLAN_NHWC) {
        data = arena_array(e->a, (size_t)count, elem);
        op_nchw_to_nhwc(plain, data, out->dims.n, out->dims.c, out->dims.h, out->dims.w, elem);
    }
    return host_put_data(e, data, (size_t)count * elem, ctype);
}

/* ---- blocks of the VNNI convolution (ccl/x86_avx512vnni/conv2d_s8.h) ---- */

typedef struct packer {
    const ir_node *n;
    const host_conv *c;
    int8_t *w;            /* OHWI, minus the zero point */
    int32_t *sum;         /* of the weights of each output channel */
    int32_t k, run_bytes; /* weights of a channel; of a run */
} packer;

/* Channel of lane in a block of `lanes` channels: pair order for 32. */
static int32_t lane_channel(int32_t lane, int32_t lanes)
{
    if (lanes == 16)
        return lane;
    const int32_t vector = lane / 16, i = lane % 16;
    return 8 * (i / 4) + 4 * vector + i % 4;
}

static packer packer_of(host_emit *e, const plan_step *s)
{
    const host_conv *c = &host_step_of(s)->conv;
    const plan_window *w = &c->win;
    const int32_t group_input = w->in.c / w->groups;
    packer k = {.n = s->node, .c = c, .k = group_input * w->kh * w->kw};
    k.run_bytes = (c->runs == 1 ? w->kw : 1) * group_input;
    k.w = arena_array(e->a, (size_t)w->out.c, (size_t)k.k);
    k.sum = arena_array(e->a, (size_t)w->out.c, sizeof *k.sum);
    op_nchw_to_nhwc(s->node->inputs[1]->data, k.w, w->out.c, group_input, w->kh, w->kw, 1);
    for (int32_t oc = 0; oc < w->out.c; oc++) {
        int8_t *row = k.w + (int64_t)oc * k.k;
        const int32_t zp = ir_zero_point(s->node, "w_zero_point", oc);
        for (int32_t i = 0; i < k.k; i++) {
            row[i] = (int8_t)(row[i] - zp);
            k.sum[oc] += row[i];
        }
    }
    return k;
}

/* Sums are of (u - 128 - x_zp) * w with u the stored byte: the constant part goes into the bias,
 * modulo 2^32 as the accumulators count. */
static int32_t packed_bias(const packer *k, int32_t channel)
{
    const int64_t zp = ir_int(k->n, "x_zero_point") + 128;
    int64_t bias = 0;
    if (k->n->n_inputs > 2 && k->n->inputs[2])
        bias = ((const int32_t *)k->n->inputs[2]->data)[channel];
    const uint32_t wrapped = (uint32_t)((uint64_t)bias - (uint64_t)(zp * k->sum[channel]));
    int32_t out;
    memcpy(&out, &wrapped, sizeof out);
    return out;
}

/* Weights of one channel into its lane: 4 bytes per step, zeros where a run ends inside a step. */
static void pack_lane(const packer *k, const int8_t *from, int32_t lanes, char *out)
{
    const int32_t runs = k->c->win.kh * k->c->runs;
    for (int32_t run = 0; run < runs; run++, from += k->run_bytes) {
        for (int32_t step = 0; step < k->c->steps; step++, out += 4 * lanes) {
            const int32_t left = k->run_bytes - 4 * step;
            memcpy(out, from + 4 * step, (size_t)(left < 4 ? left : 4));
        }
    }
}

/* One block: channels first .. first + count - 1 in `lanes` lanes; unused lanes stay zero. */
static void pack_block(const packer *k, int32_t first, int32_t count, int32_t lanes, char *out)
{
    int32_t *bias = (int32_t *)(void *)out;
    float *m = (float *)(void *)(out + 4 * lanes);
    for (int32_t lane = 0; lane < lanes; lane++) {
        const int32_t j = lane_channel(lane, lanes), channel = first + j;
        if (j >= count)
            continue;
        bias[lane] = packed_bias(k, channel);
        m[lane] = op_multiplier(ir_float(k->n, "x_scale"), ir_scale(k->n, "w_scale", channel),
                                ir_float(k->n, "y_scale"));
        pack_lane(k, k->w + (int64_t)channel * k->k, lanes, out + 8 * lanes + 4 * lane);
    }
}

const char *host_put_vnni_blocks(host_emit *e, const plan_step *s, int64_t *out_block_bytes)
{
    const host_step *h = host_step_of(s);
    const host_conv *c = &h->conv;
    const packer k = packer_of(e, s);
    const int64_t steps = (int64_t)c->win.kh * c->runs * c->steps;
    const int64_t full = 8 * HOST_TILE_CHANNELS + steps * 4 * HOST_TILE_CHANNELS;
    str blocks;
    str_init(&blocks, e->a);
    for (int32_t g = 0; g < c->win.groups; g++) {
        for (int32_t first = 0; first < c->group_channels; first += HOST_TILE_CHANNELS) {
            const int32_t left = c->group_channels - first;
            const int32_t count = left < HOST_TILE_CHANNELS ? left : HOST_TILE_CHANNELS;
            const int32_t lanes = count <= 16 ? 16 : HOST_TILE_CHANNELS;
            char *block = arena_alloc(e->a, (size_t)full);
            pack_block(&k, g * c->group_channels + first, count, lanes, block);
            str_putn(&blocks, block, (size_t)(full / HOST_TILE_CHANNELS * lanes));
        }
    }
    *out_block_bytes = full;
    return host_put_data(e, blocks.data, blocks.len, "uint8_t");
}
