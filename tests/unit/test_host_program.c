/* SPDX-License-Identifier: Apache-2.0
 *
 * test_host_program.c - emitted host programs against the interpreter: random networks with the
 * awkward shapes (borders of several readers, narrow and wide planes, ragged channels, groups,
 * dilation, batches, portable layers among vector ones, residual adds that fuse and that
 * cannot). Each is compiled by build.sh, loaded, and run in every variant; outputs and, in the
 * traced build, every layer must have the same bytes.
 */
#include "check.h"
#include "host_net.h"
#include "interp/interp.h"
#include "passes/pass.h"
#include "plan/host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct entry {
    size_t (*arena_bytes)(void);
    size_t (*weights_bytes)(void);
    int (*run)(const void *weights, void *arena, const void *const *inputs, void *const *outputs,
               const char *variant, void (*trace)(void *ud, int layer, const void *data), void *ud);
} entry;

/* ---- build and run ---- */

static entry load(const char *folder, bool traced, char *error)
{
    const entry *(*get)(void);
    char command[512], path[512];
    snprintf(command, sizeof command, "%s -Wall -Wextra -Werror' sh %s/build.sh host",
             traced ? "TRACE=1 CFLAGS='-O1" : "CFLAGS='", folder);
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

enum { GUARD_BYTES = 64 };

typedef struct bench { /* one network, compiled */
    ir_graph *g;
    plan *p;
    const void *in[1];
    ir_tensor out[MAX_OUTPUTS];
    const char *weights;
    traced t;
} bench;

static void run_variant(const entry *e, bench *b, bool trace)
{
    const size_t bytes = e->arena_bytes();
    uint8_t *memory = aligned_alloc(64, (bytes + GUARD_BYTES + 63) / 64 * 64);
    void *out[MAX_OUTPUTS];
    memset(memory, 0x5a, bytes + GUARD_BYTES);
    for (size_t i = 0; i < b->g->n_outputs; i++) {
        out[i] = malloc(ir_type_bytes(&b->out[i].type) + GUARD_BYTES);
        memset(out[i], 0x5a, ir_type_bytes(&b->out[i].type) + GUARD_BYTES);
    }
    b->t.differing = b->t.compared = 0;
    const int code =
        e->run(b->weights, memory, b->in, out, b->t.variant, trace ? on_layer : NULL, &b->t);
    const bool absent = code == 2 && strcmp(b->t.variant, "avx512vnni") == 0;
    CHECK(absent || code == 0);
    CHECK(b->t.differing == 0);
    CHECK(!trace || absent || b->t.compared > 0);
    for (size_t i = 0; i < b->g->n_outputs; i++) {
        const size_t n = ir_type_bytes(&b->out[i].type);
        CHECK(absent || memcmp(out[i], b->out[i].data, n) == 0);
        for (size_t k = n; k < n + GUARD_BYTES; k++)
            CHECK(((uint8_t *)out[i])[k] == 0x5a);
        free(out[i]);
    }
    for (size_t k = bytes; k < bytes + GUARD_BYTES; k++)
        CHECK(memory[k] == 0x5a);
    free(memory);
}

static cgc_status compile_host(bench *b, network *n, const char *folder)
{
    cgc_ctx *ctx = n->text.a->ctx;
    TRY(ir_parse(ctx, n->text.data, n->text.len, n->constants, n->n_constants, &b->g));
    TRY(pass_run(b->g, ""));
    TRY(plan_host(b->g, "net", &b->p));
    emit_tree tree = {.ctx = ctx, .arena = b->p->arena};
    str *facts = arena_array(b->p->arena, b->p->n_steps, sizeof *facts);
    for (size_t i = 0; i < b->p->n_steps; i++)
        str_init(&facts[i], b->p->arena);
    TRY(emit_host_program(b->p, &tree, facts));
    TRY(emit_build_files(b->p, b->p, &tree));
    TRY(emit_write(&tree, folder));
    char *weights;
    size_t bytes;
    TRY(file_read(ctx, b->p->arena, arena_printf(b->p->arena, "%s/weights_host.bin", folder),
                  1 << 28, &weights, &bytes));
    b->weights = weights;
    return CGC_OK;
}

static void interpret(bench *b, network *n, int count)
{
    if (n->int8_input) {
        b->in[0] = random_bytes(count, false);
    } else {
        float *x = random_floats(count, -4.0f, 4.0f);
        x[0] = NAN;
        x[1] = INFINITY;
        b->in[0] = x;
    }
    ir_tensor in = {b->g->inputs[0]->type,
                    arena_alloc(b->p->arena, ir_type_bytes(&b->g->inputs[0]->type))};
    memcpy(in.data, b->in[0], ir_type_bytes(&in.type));
    for (size_t i = 0; i < b->g->n_outputs; i++) {
        b->out[i].type = b->g->outputs[i]->type;
        b->out[i].data = arena_alloc(b->p->arena, ir_type_bytes(&b->out[i].type));
    }
    b->t.p = b->p;
    CHECK(interp_run_lowered(b->g, &in, b->out, keep_value, &b->t) == CGC_OK);
}

static void check_network(network *n, int count, const char *folder)
{
    static const char *const variants[] = {"ref", "avx512vnni", ""};
    bench b = {.g = NULL};
    cgc_error error;
    cgc_status status = compile_host(&b, n, folder);
    cgc_ctx_error(n->text.a->ctx, &error);
    CHECK_STR(error.message, "");
    if (status != CGC_OK)
        return;
    interpret(&b, n, count);
    for (int trace = 0; trace < 2; trace++) {
        char problem[256] = "";
        entry e = load(folder, trace, problem);
        CHECK_STR(problem, "");
        if (!e.run)
            break;
        for (int i = 0; i < 3; i++) {
            b.t.variant = variants[i];
            run_variant(&e, &b, trace);
        }
        CHECK(e.run(b.weights, NULL, NULL, NULL, "sse9", NULL, NULL) == 2);
    }
    ir_graph_free(b.g);
}

typedef void (*maker)(network *n, value x, int c, int units);

static void begin_text(network *n, value x, const char *outputs)
{
    str_printf(&n->text, "def @main(%%x: Tensor[(%d, %d, %d, %d), %s]%s) {\n", x.n, x.c, x.h, x.w,
               n->int8_input ? "int8" : "float32", outputs);
}

static void one(maker make, value x, int c, int units)
{
    static int number;
    char folder[] = "/tmp/cgc_host_XXXXXX";
    cgc_ctx *ctx = cgc_ctx_new();
    network n = {.n_constants = 0};
    CHECK(mkdtemp(folder) != NULL);
    str_init(&n.text, &ctx->arena);
    make(&n, x, c, units);
    str body = n.text;
    str_init(&n.text, &ctx->arena);
    begin_text(&n, x, "");
    str_put(&n.text, body.data);
    str_put(&n.text, n.n_outputs ? "  (" : "  ");
    for (int i = 0; i < n.n_outputs; i++)
        str_printf(&n.text, "%s%%%d", i ? ", " : "", n.outputs[i]);
    str_printf(&n.text, n.n_outputs ? ")\n}\n" : "%%%d\n}\n", n.next - 1);
    const int before = check_failures;
    check_network(&n, x.n * x.c * x.h * x.w, folder);
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
    one(residual_network, (value){.n = 2, .c = 1, .h = 56, .w = 60}, 20, 33);
    one(odd_network, (value){.n = 1, .c = 3, .h = 14, .w = 14}, 32, 10);
    one(odd_network, (value){.n = 2, .c = 5, .h = 9, .w = 33}, 34, 5);
    one(many_convolutions, (value){.n = 1, .c = 12, .h = 7, .w = 7, .zp = 5, .scale = 0.05f}, 12,
        0);
    one(many_convolutions, (value){.n = 2, .c = 5, .h = 11, .w = 30, .zp = -128, .scale = 0.05f}, 5,
        0);
    one(float_network, (value){.n = 1, .c = 3, .h = 9, .w = 10}, 6, 4);
    return check_done();
}
