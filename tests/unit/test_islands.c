/* SPDX-License-Identifier: Apache-2.0
 *
 * test_islands.c - closing float islands keeps every byte: random graphs of dequantize, relu, clip, max-pool, reshape,
 * add and quantize, with values used several times and outputs in the middle, are evaluated operator by operator as
 * they stand and again after the passes. Averages have their meaning from rule 7 of docs/numerics.md; they are held
 * against the graph in which every quantization stands written out.
 */
#include "check.h"
#include "interp/interp.h"
#include "passes/pass.h"
#include "random.h"

#include <math.h>

enum { MAX_VALUES = 64, MAX_OUTPUTS = 8, MAX_BYTES = 4096 };

static cgc_ctx ctx;

typedef struct pool { /* float32 values of a graph under construction */
    ir_graph *g;
    ir_value *v[MAX_VALUES];
    int n;
} pool;

static ir_node *make(ir_graph *g, op_id op, ir_value *a, ir_value *b)
{
    ir_value *inputs[2] = {a, b};
    return ir_make_node(g, op_by_id(op), inputs, b ? 2 : 1, "");
}

static ir_value *append(ir_graph *g, ir_node *n)
{
    CHECK(ir_infer(g, n) == CGC_OK);
    ir_append(g, n);
    return n->results[0];
}

static ir_value *affine(ir_graph *g, op_id op, ir_value *x, float scale, int zero_point)
{
    ir_node *n = make(g, op, x, NULL);
    ir_set_float(n, "scale", scale);
    ir_set_int(n, "zero_point", zero_point);
    return append(g, n);
}

static ir_value *window(ir_graph *g, op_id op, ir_value *x)
{
    const int64_t *d = x->type.dims;
    const int k = random_int(1, d[2] < 3 || d[3] < 3 ? 1 : 3), pad = random_int(0, k / 2);
    const int64_t size[2] = {k, k}, pads[4] = {pad, pad, 0, pad};
    const int64_t strides[2] = {random_int(1, 2), random_int(1, 2)};
    ir_node *n = make(g, op, x, NULL);
    ir_set_ints(g, n, "pool_size", size, 2);
    ir_set_ints(g, n, "strides", strides, 2);
    ir_set_ints(g, n, "padding", pads, 4);
    if (op == OP_avg_pool2d)
        ir_set_bool(n, "count_include_pad", random_int(0, 1));
    return append(g, n);
}

static ir_value *clip(ir_graph *g, ir_value *x)
{
    const float lo = random_float(-3.0f, 1.0f);
    ir_node *n = make(g, OP_clip, x, NULL);
    ir_set_float(n, "a_min", random_int(0, 1) ? 0.0f : lo);
    ir_set_float(n, "a_max", random_float(1.0f, 6.0f));
    return append(g, n);
}

static ir_value *reshape(ir_graph *g, ir_value *x)
{
    const int64_t *d = x->type.dims, shape[4] = {d[0], d[1], d[3], d[2]};
    ir_node *n = make(g, OP_reshape, x, NULL);
    ir_set_ints(g, n, "newshape", shape, 4);
    return append(g, n);
}

/* Another value of the same shape, or the same again. */
static ir_value *partner(const pool *p, const ir_value *x)
{
    for (int tries = 0; tries < 8; tries++) {
        ir_value *y = p->v[random_int(0, p->n - 1)];
        if (ir_type_equal(&y->type, &x->type))
            return y;
    }
    return p->v[0];
}

static ir_value *add_scalar(ir_graph *g, ir_value *x)
{
    const ir_type one = {.dtype = IR_float32, .rank = 1, .dims = {1}};
    const float c = random_float(-1.0f, 1.0f);
    ir_value *constant = ir_add_constant(g, &one, &c);
    return append(g,
                  random_int(0, 1) ? make(g, OP_add, x, constant) : make(g, OP_add, constant, x));
}

static ir_value *requantize(ir_graph *g, ir_value *x)
{
    const float scale = random_scale();
    const int zero_point = random_int(0, 3) ? random_int(-128, 127) : -128;
    ir_value *q = affine(g, OP_quantize, x, scale, zero_point);
    const bool tied = random_int(0, 1);
    return affine(g, OP_dequantize, q, tied ? scale : random_scale(),
                  tied ? zero_point : random_int(-128, 127));
}

/* quantize, a 1x1 convolution, dequantize: a producer that clamps can move into. */
static ir_value *convolution(ir_graph *g, ir_value *x)
{
    const int channels = (int)x->type.dims[1];
    const ir_type type = {.dtype = IR_int8, .rank = 4, .dims = {channels, channels, 1, 1}};
    const float scale = random_scale(), y_scale = random_scale();
    const int64_t kernel[2] = {1, 1};
    ir_value *weight = ir_add_constant(g, &type, random_bytes(channels * channels, false));
    ir_node *n = make(g, OP_qlinear_conv2d, affine(g, OP_quantize, x, scale, -7), weight);
    ir_set_int(n, "channels", channels);
    ir_set_ints(g, n, "kernel_size", kernel, 2);
    ir_set_float(n, "x_scale", scale);
    ir_set_int(n, "x_zero_point", -7);
    ir_set_float(n, "w_scale", 0.01f);
    ir_set_int(n, "w_zero_point", 0);
    ir_set_float(n, "y_scale", y_scale);
    ir_set_int(n, "y_zero_point", 5);
    free_all();
    return affine(g, OP_dequantize, append(g, n), y_scale, 5);
}

static ir_value *random_op(pool *p)
{
    ir_value *x = p->v[random_int(p->n > 3 ? p->n - 3 : 0, p->n - 1)], *y;
    switch (random_int(0, 10)) {
    case 0:
    case 1:
        return append(p->g, make(p->g, OP_relu, x, NULL));
    case 2:
        return clip(p->g, x);
    case 3:
        return window(p->g, OP_max_pool2d, x);
    case 4:
        return reshape(p->g, x);
    case 5:
    case 6:
        y = partner(p, x);
        if (ir_type_equal(&y->type, &x->type))
            return append(p->g, make(p->g, OP_add, x, y));
        return append(p->g, make(p->g, OP_relu, x, NULL));
    case 7:
        return add_scalar(p->g, x);
    case 8:
        return convolution(p->g, x);
    default:
        return requantize(p->g, x);
    }
}

static ir_graph *random_graph(void)
{
    pool p = {.g = ir_graph_new(&ctx)};
    const ir_type type = {.dtype = IR_int8,
                          .rank = 4,
                          .dims = {1, random_int(1, 3), random_int(2, 6), random_int(2, 6)}};
    ir_value *outputs[MAX_OUTPUTS];
    int n_outputs = 0;
    for (int i = 0; i < 2; i++) {
        ir_value *x = ir_add_input(p.g, i ? "b" : "a", &type);
        p.v[p.n++] = affine(p.g, OP_dequantize, x, random_scale(), random_int(-128, 127));
    }
    for (int i = random_int(1, 12); i > 0; i--) {
        ir_value *v = random_op(&p);
        p.v[p.n++] = v;
    }
    outputs[n_outputs++] =
        affine(p.g, OP_quantize, p.v[p.n - 1], random_scale(), random_int(-128, 127));
    for (int i = random_int(0, 3); i > 0; i--) {
        ir_value *v = p.v[random_int(0, p.n - 1)];
        outputs[n_outputs++] =
            random_int(0, 1) ? v
                             : affine(p.g, OP_quantize, v, random_scale(), random_int(-128, 127));
    }
    ir_set_outputs(p.g, outputs, NULL, (size_t)n_outputs);
    return p.g;
}

/* ---- comparison ---- */
typedef struct results {
    ir_tensor t[MAX_OUTPUTS];
    _Alignas(4) char data[MAX_OUTPUTS][MAX_BYTES];
} results;

static void evaluate(ir_graph *g, const ir_tensor *inputs, results *r)
{
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < g->n_outputs; i++) {
        r->t[i] = (ir_tensor){g->outputs[i]->type, r->data[i]};
        CHECK(ir_type_bytes(&r->t[i].type) <= MAX_BYTES);
    }
    CHECK(interp_run_lowered(g, inputs, r->t, NULL, NULL) == CGC_OK);
}

static void random_inputs(const ir_graph *g, ir_tensor *inputs, int round)
{
    for (size_t i = 0; i < g->n_inputs; i++) {
        const int count = (int)ir_type_elems(&g->inputs[i]->type);
        inputs[i] = (ir_tensor){g->inputs[i]->type, random_bytes(count, round % 4 == 0)};
    }
}

static void show(ir_graph *g)
{
    str s;
    str_init(&s, &ctx.scratch);
    ir_print(g, false, &s);
    printf("%s\n", s.data);
}

static int differing(const ir_graph *g, const results *a, const results *b)
{
    int n = 0;
    for (size_t i = 0; i < g->n_outputs; i++)
        n += memcmp(a->data[i], b->data[i], ir_type_bytes(&g->outputs[i]->type)) != 0;
    return n;
}

static int count_ops(const ir_graph *g, op_id op)
{
    int n = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        n += op_is(g->nodes[i], op);
    return n;
}

/* Runs both graphs on a few inputs; lowered, wanted: the same interface. */
static void check_same(ir_graph *lowered, ir_graph *wanted, int seed)
{
    static results a, b;
    for (int round = 0; round < 6; round++) {
        ir_tensor inputs[2];
        random_inputs(wanted, inputs, round);
        evaluate(wanted, inputs, &a);
        evaluate(lowered, inputs, &b);
        free_all();
        if (differing(wanted, &a, &b)) {
            CHECK(!"lowered and written graph differ");
            printf("seed %d\n", seed);
            show(wanted);
            show(lowered);
            return;
        }
    }
}

static void test_random(void)
{
    int tables = 0, sums = 0, pools = 0, clamps = 0;
    for (int seed = 0; seed < 3000 && !check_failures; seed++) {
        ir_graph *g = random_graph(), *lowered = ir_clone(g);
        CHECK(ir_verify(g) == CGC_OK);
        CHECK(pass_run(lowered, "") == CGC_OK);
        check_same(lowered, g, seed);
        tables += count_ops(lowered, OP_table);
        sums += count_ops(lowered, OP_qnn_add);
        for (size_t i = 0; i < lowered->n_nodes; i++) {
            clamps += op_is(lowered->nodes[i], OP_qlinear_conv2d) &&
                      ir_int(lowered->nodes[i], "clamp_min") > -128;
            pools += op_is(lowered->nodes[i], OP_max_pool2d) &&
                     lowered->nodes[i]->results[0]->type.dtype == IR_int8;
        }
        ir_graph_free(lowered);
        ir_graph_free(g);
        arena_reset(&ctx.arena);
        ctx.notes = NULL;
        ctx.n_notes = ctx.cap_notes = 0;
    }
    CHECK(tables > 1000 && sums > 300 && pools > 300 &&
          clamps > 100); /* the test reaches what it tests */
}

/* ---- averages ---- */
typedef struct scales {
    float x, y;
    int x_zp, y_zp;
} scales;

static ir_value *clamp_glue(ir_graph *g, ir_value *x, int kind)
{
    ir_node *n = make(g, kind == 1 ? OP_relu : OP_clip, x, NULL);
    if (!kind)
        return x;
    if (kind == 2) {
        ir_set_float(n, "a_min", 0.0f);
        ir_set_float(n, "a_max", 1.7f);
    }
    return append(g, n);
}

static ir_value *average(ir_graph *g, ir_value *x, int kind, const scales *s)
{
    const int64_t *d = x->type.dims, size[2] = {2, 1}, regions[2] = {d[2] / 2, d[3]};
    if (!s) {
        ir_node *n = make(g, kind == 0 ? OP_global_avg_pool2d : OP_adaptive_avg_pool2d, x, NULL);
        if (kind == 1)
            ir_set_ints(g, n, "output_size", regions, 2);
        return append(g, n);
    }
    ir_node *n = make(g, OP_qnn_avg_pool2d, x, NULL);
    ir_set_ints(g, n, "pool_size", kind ? size : d + 2, 2);
    if (kind)
        ir_set_ints(g, n, "strides", size, 2);
    ir_set_float(n, "x_scale", s->x);
    ir_set_float(n, "y_scale", s->y);
    ir_set_int(n, "x_zero_point", s->x_zp);
    ir_set_int(n, "y_zero_point", s->y_zp);
    return append(g, n);
}

/* The float glue as exported, or with the quantizations of rule 7 written out. */
static ir_graph *average_graph(const scales *s, const int kinds[4], bool written)
{
    ir_graph *g = ir_graph_new(&ctx);
    const ir_type type = {.dtype = IR_int8, .rank = 4, .dims = {1, 3, 6, 5}};
    ir_value *x = affine(g, OP_dequantize, ir_add_input(g, "a", &type), s->x, s->x_zp);
    x = clamp_glue(g, x, kinds[0]);
    x = clamp_glue(g, x, kinds[1]);
    if (written)
        x = affine(g, OP_quantize, x, s->x, s->x_zp);
    x = average(g, x, kinds[2], written ? s : NULL);
    if (written)
        x = affine(g, OP_dequantize, x, s->y, s->y_zp);
    x = clamp_glue(g, reshape(g, x), kinds[3]);
    x = affine(g, OP_quantize, x, s->y, s->y_zp);
    ir_set_outputs(g, &x, NULL, 1);
    return g;
}

static void test_averages(void)
{
    for (int seed = 0; seed < 300; seed++) {
        const scales s = {random_scale(), random_scale(), random_int(-128, 127),
                          random_int(-128, 127)};
        const int kinds[4] = {random_int(0, 2), random_int(0, 2), random_int(0, 1),
                              random_int(0, 2)};
        ir_graph *glue = average_graph(&s, kinds, false), *written = average_graph(&s, kinds, true);
        CHECK(pass_run(glue, "") == CGC_OK);
        CHECK(count_ops(glue, OP_qnn_avg_pool2d) == 1);
        CHECK(count_ops(glue, OP_dequantize) == 0);
        CHECK(ctx.n_notes == 0);
        check_same(glue, written, seed);
        ir_graph_free(glue);
        ir_graph_free(written);
    }
}

int main(void)
{
    arena_init(&ctx.arena, &ctx);
    arena_init(&ctx.scratch, &ctx);
    ctx.dump = "";
    test_averages();
    test_random();
    if (ctx.error.code)
        printf("%s\n", ctx.error.message);
    CHECK(ctx.error.code == CGC_OK);
    arena_deinit(&ctx.arena);
    arena_deinit(&ctx.scratch);
    return check_done();
}
