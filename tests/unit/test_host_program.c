/* SPDX-License-Identifier: Apache-2.0
 *
 * test_host_program.c - emitted host programs against the interpreter: random networks with the
 * awkward shapes (borders of several readers, narrow and wide planes, ragged channels, groups,
 * dilation, batches, portable layers among vector ones, residual adds that fuse and that
 * cannot). Each is compiled by build.sh, loaded, and run in every variant; outputs and, in the
 * traced build, every layer must have the same bytes.
 */
#include "check.h"
#include "emit/emit.h"
#include "interp/interp.h"
#include "passes/pass.h"
#include "plan/host.h"
#include "random.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_CONSTANTS = 64, MAX_LAYERS = 64 };

typedef struct network {
    str text;
    ir_tensor constants[MAX_CONSTANTS];
    size_t n_constants;
    int next; /* value number */
} network;

typedef struct entry {
    size_t (*arena_bytes)(void);
    size_t (*weights_bytes)(void);
    int (*run)(const void *weights, void *arena, const void *const *inputs, void *const *outputs,
               const char *variant, void (*trace)(void *ud, int layer, const void *data), void *ud);
} entry;

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
        "  %%%d = contrib.epu.qlinear_conv2d(%%%d, meta[relay.Constant][%d]%s, strides=[%d, %d], "
        "padding=[%d, %d, %d, %d], dilation=[%d, %d], groups=%d, channels=%d, kernel_size=[%d, "
        "%d], "
        "out_dtype=\"int8\", bias_fusion=%s, x_zero_point=%d, x_scale=%.9gf, ",
        y.id, x.id, w, s.bias ? arena_printf(n->text.a, ", bias=meta[relay.Constant][%d]", b) : "",
        s.sh, s.sw, s.pad[0], s.pad[1], s.pad[2], s.pad[3], s.dh, s.dw, s.groups, s.oc, s.kh, s.kw,
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

/* ---- build and run ---- */

static entry load(const char *folder, bool traced, char *error)
{
    const entry *(*get)(void);
    char command[512], path[512];
    snprintf(command, sizeof command, "%s CFLAGS='-Wall -Wextra -Werror' sh %s/build.sh host",
             traced ? "TRACE=1" : "", folder);
    snprintf(path, sizeof path, "%s/build/libnet_host%s.so", folder, traced ? "_trace" : "");
    if (system(command) != 0) {
        strcpy(error, "build.sh failed");
        return (entry){0};
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(error, 256, "%s", dlerror());
        return (entry){0};
    }
    *(void **)&get = dlsym(library, "ccl_program_get");
    return *get();
}

typedef struct traced { /* what the interpreter gave, by node */
    const plan *p;
    ir_tensor values[MAX_LAYERS];
    int differing, compared;
    const char *variant;
} traced;

static void keep_value(void *ud, const ir_node *node, const ir_tensor *results)
{
    traced *t = ud;
    for (size_t i = 0; i < t->p->n_steps; i++) {
        if (t->p->steps[i]->node != node)
            continue;
        const size_t bytes = ir_type_bytes(&results[0].type);
        t->values[i].type = results[0].type;
        t->values[i].data = arena_alloc(t->p->arena, bytes);
        memcpy(t->values[i].data, results[0].data, bytes);
    }
}

static void on_layer(void *ud, int layer, const void *data)
{
    traced *t = ud;
    const plan_step *s = t->p->steps[layer - 1];
    const plan_buffer *b = s->output;
    const ir_tensor *want = &t->values[layer - 1];
    if (!s->node || b->dtype != IR_int8)
        return;
    const plan_dims d = b->dims;
    int bad = 0;
    for (int n = 0; n < d.n; n++)
        for (int c = 0; c < d.c; c++)
            for (int y = 0; y < d.h; y++)
                for (int x = 0; x < d.w; x++) {
                    const int64_t at = n * b->image_bytes + (y + b->border[0]) * b->row_bytes +
                                       (x + b->border[1]) * b->pixel_bytes + c;
                    const int64_t plain = (((int64_t)n * d.c + c) * d.h + y) * d.w + x;
                    const int64_t i = b->layout == PLAN_NHWC ? at : plain;
                    bad += ((const int8_t *)data)[i] != ((const int8_t *)want->data)[plain];
                }
    if (bad)
        printf("%s: layer %d %s: %d bytes differ\n", t->variant, layer, s->name, bad);
    t->differing += bad;
    t->compared++;
}

static void run_variant(const entry *e, traced *t, const char *weights, const float *x,
                        const ir_tensor *want, bool trace)
{
    const size_t bytes = ir_type_bytes(&want->type);
    void *memory = aligned_alloc(64, (e->arena_bytes() + 64) / 64 * 64), *y = malloc(bytes);
    memset(memory, 0x5a, e->arena_bytes());
    const void *in[1] = {x};
    void *out[1] = {y};
    t->differing = t->compared = 0;
    const int code = e->run(weights, memory, in, out, t->variant, trace ? on_layer : NULL, t);
    if (code == 2 && strcmp(t->variant, "avx512vnni") == 0) {
        printf("this CPU has no AVX-512 VNNI\n");
    } else {
        CHECK(code == 0);
        CHECK(memcmp(y, want->data, bytes) == 0);
        CHECK(t->differing == 0);
        CHECK(!trace || t->compared > 3);
    }
    free(memory);
    free(y);
}

static void check_network(network *n, value x, const char *folder)
{
    cgc_ctx *ctx = cgc_ctx_new();
    ir_graph *g = NULL;
    plan *p = NULL;
    cgc_status status = ir_parse(ctx, n->text.data, n->text.len, n->constants, n->n_constants, &g);
    if (status == CGC_OK)
        status = pass_run(g, "");
    if (status == CGC_OK)
        status = plan_host(g, "net", &p);
    emit_tree tree = {.ctx = ctx, .arena = p ? p->arena : NULL};
    str facts[MAX_LAYERS];
    for (size_t i = 0; p && i < p->n_steps; i++)
        str_init(&facts[i], p->arena);
    if (status == CGC_OK)
        status = emit_host_program(p, &tree, facts);
    if (status == CGC_OK)
        status = emit_build_files(p, p, &tree);
    if (status == CGC_OK)
        status = emit_write(&tree, folder);
    cgc_error error;
    cgc_ctx_error(ctx, &error);
    CHECK_STR(error.message, "");
    if (status != CGC_OK)
        return;
    const size_t count = (size_t)(x.n * x.c * x.h * x.w);
    float *data = random_floats((int)count, -4.0f, 4.0f);
    data[0] = NAN;
    data[1] = INFINITY;
    ir_tensor in = {g->inputs[0]->type, data}, out = {g->outputs[0]->type, NULL};
    out.data = arena_alloc(p->arena, ir_type_bytes(&out.type));
    traced t = {.p = p};
    CHECK(interp_run_lowered(g, &in, &out, keep_value, &t) == CGC_OK);
    char *weights;
    size_t bytes;
    CHECK(file_read(ctx, p->arena, arena_printf(p->arena, "%s/weights_host.bin", folder), 1 << 28,
                    &weights, &bytes) == CGC_OK);
    char problem[256] = "";
    for (int trace = 0; trace < 2; trace++) {
        entry e = load(folder, trace, problem);
        CHECK_STR(problem, "");
        if (!e.run)
            break;
        CHECK(e.weights_bytes() == bytes);
        static const char *const variants[] = {"ref", "avx512vnni", ""};
        for (int i = 0; i < 3; i++) {
            t.variant = variants[i];
            run_variant(&e, &t, weights, data, &out, trace);
        }
        t.variant = "sse9";
        CHECK(e.run(weights, NULL, NULL, NULL, t.variant, NULL, NULL) == 2);
    }
    ir_graph_free(g);
    cgc_ctx_free(ctx);
}

static void one(void (*make)(network *n, value x, int c, int units), value x, int c, int units)
{
    static int number;
    char folder[] = "/tmp/cgc_host_XXXXXX";
    cgc_ctx *ctx = cgc_ctx_new();
    network n = {.n_constants = 0};
    CHECK(mkdtemp(folder) != NULL);
    str_init(&n.text, &ctx->arena);
    str_printf(&n.text,
               "def @main(%%x: Tensor[(%d, %d, %d, %d), float32], output_names=[\"y\"]) {\n", x.n,
               x.c, x.h, x.w);
    make(&n, x, c, units);
    str_printf(&n.text, "  %%%d\n}\n", n.next - 1);
    const int before = check_failures;
    check_network(&n, x, folder);
    if (check_failures != before)
        printf("network %d in %s\n%s", number, folder, n.text.data);
    else
        CHECK(dir_remove(ctx, folder) == CGC_OK);
    number++;
    cgc_ctx_free(ctx);
    free_all();
}

int main(void)
{
    one(residual_network, (value){.n = 1, .c = 3, .h = 32, .w = 32}, 16, 10);
    one(residual_network, (value){.n = 1, .c = 3, .h = 56, .w = 60}, 32, 40);
    one(residual_network, (value){.n = 2, .c = 1, .h = 29, .w = 37}, 20, 33);
    one(odd_network, (value){.n = 1, .c = 3, .h = 14, .w = 14}, 32, 10);
    one(odd_network, (value){.n = 2, .c = 5, .h = 9, .w = 33}, 34, 5);
    return check_done();
}
