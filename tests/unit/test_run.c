/* SPDX-License-Identifier: Apache-2.0
 *
 * test_run.c - the runner over a tree written here by hand: a table over an image, its output in a bordered NHWC
 * buffer.
 * Checks building, rebuilding, running, layer values, prove's blame on a program made wrong, and refused manifests.
 */
#include "check.h"

#include "base/base.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { C = 2, H = 3, W = 4, N = C * H * W };

static char root[256];

static const char manifest[] =
    "{\"format\": 1, \"module\": \"m\", \"hw\": {\"array_size\": 8},\n"
    " \"inputs\": [{\"name\": \"x\", \"dtype\": \"int8\", \"shape\": "
    "[1,2,3,4], \"ddr\": 1073741824}],\n"
    " \"outputs\": [{\"name\": \"out_0\", \"dtype\": \"int8\", "
    "\"shape\": [1,2,3,4], \"ddr\": 1073741888}],\n"
    " \"weights_ddr\": 1073741952, \"weights_bytes\": 0, \"ddr_bytes\": 4096,\n"
    " \"layers\": [{\"id\": 1, \"name\": \"block.act\", \"op\": "
    "\"contrib.epu.table\", \"value\": \"%0\",\n"
    "   \"dtype\": \"int8\", \"shape\": [1,2,3,4], \"macs\": 0,\n"
    "   \"host\": {\"kernel\": \"table_s8\", \"layout\": \"nhwc\", "
    "\"border\": [1,2,1,1], \"row_bytes\": 16}}]}\n";

/* -DWRONG=i makes element i (NHWC order) of the layer wrong. */
static const char program[] =
    "#include <stddef.h>\n"
    "typedef void (*hook)(void *, int, const void *);\n"
    "static size_t arena(void) { return 5 * 16; }\n"
    "static size_t weights(void) { return 256; }\n"
    "#ifndef WRONG\n#define WRONG -1\n#endif\n"
    "static int run(const void *w, void *a, const void *const *in, void *const *out, const char "
    "*variant,\n"
    "               hook trace, void *ud)\n"
    "{\n"
    "    const signed char *t = w, *x = in[0]; signed char *y = out[0], *b = a;\n"
    "    if (variant[0] && variant[0] != 'r') return 2;\n"
    "    for (int c = 0; c < 2; c++) for (int i = 0; i < 12; i++) {\n"
    "        signed char *at = b + (i / 4 + 1) * 16 + (i % 4 + 2) * 2 + c;\n"
    "        *at = (signed char)(t[x[c * 12 + i] + 128] ^ (i * 2 + c == WRONG));\n"
    "        y[c * 12 + i] = *at;\n"
    "    }\n"
    "    if (trace) trace(ud, 1, a);\n"
    "    return 0;\n"
    "}\n"
    "static const struct { size_t (*a)(void), (*w)(void); void *run; } e = {arena, weights, run};\n"
    "const void *ccl_program_get(void) { return &e; }\n";

static const char build_sh[] =
    "cd \"$(dirname \"$0\")\" && mkdir -p build && echo x >> build/count\n"
    "[ \"$TRACE\" = 1 ] && t=_trace || t=\n"
    "exec $CC -std=c99 -shared -fPIC $CFLAGS -o build/libm_$1$t.so m_host.c\n";

static void put(const char *name, const void *data, size_t bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, bytes, f) == bytes);
    if (f)
        fclose(f);
}

static long size_of(const char *name)
{
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", root, name);
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void make_tree(const int8_t table[256])
{
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/cgc_run_XXXXXX", tmp ? tmp : "/tmp");
    CHECK(mkdtemp(root) != NULL);
    put("manifest.json", manifest, sizeof manifest - 1);
    put("m_host.c", program, sizeof program - 1);
    put("build.sh", build_sh, sizeof build_sh - 1);
    put("weights_host.bin", table, 256);
}

static cgc_tensor image(void *data)
{
    cgc_tensor t = {.dtype = cgc_dtype_from_name("int8"), .rank = 4, .data = data, .bytes = N};
    const int64_t dims[4] = {1, C, H, W};
    memcpy(t.dims, dims, sizeof dims);
    return t;
}

static cgc_graph *make_graph(cgc_ctx *ctx, int8_t table[256])
{
    cgc_graph *g = cgc_graph_new(ctx);
    cgc_value x, t, y;
    int32_t index;
    cgc_tensor constant = {
        .dtype = image(NULL).dtype, .rank = 1, .dims = {256}, .data = table, .bytes = 256};
    const int64_t dims[4] = {1, C, H, W};
    CHECK(cgc_graph_add_input(g, "x", constant.dtype, 4, dims, &x) == 0);
    CHECK(cgc_graph_add_constant(g, &constant, &t, &index) == 0);
    const cgc_value in[2] = {x, t};
    CHECK(cgc_graph_add_node(g, "contrib.epu.table", in, 2, "", "block.act", &y) == 0);
    CHECK(cgc_graph_set_outputs(g, &y, NULL, 1) == 0);
    return g;
}

static void test_running(cgc_ctx *ctx, cgc_program *p, const int8_t *x, const int8_t *table)
{
    int8_t y[N];
    cgc_tensor in = image((void *)(uintptr_t)x), out = image(y), layer;
    CHECK(cgc_program_run(p, "host", &in, 1, &out, 1) == 0);
    for (int i = 0; i < N; i++)
        CHECK(y[i] == table[x[i] + 128]);
    CHECK(cgc_program_run(p, "host:ref", &in, 1, &out, 1) == 0);
    CHECK(size_of("build/count") == 2); /* built once */
    CHECK(cgc_program_layer_count(p) == 1);
    CHECK_STR(cgc_program_layer_name(p, 0), "block.act");
    CHECK(cgc_program_layer_get(p, 0, &layer) != 0); /* not a traced run */
    cgc_ctx_clear(ctx);
    CHECK(cgc_program_run_traced(p, "host", &in, 1, &out, 1) == 0);
    CHECK(size_of("build/count") == 4); /* another product */
    CHECK(cgc_program_layer_get(p, 0, &layer) == 0);
    CHECK(layer.data && layer.bytes == N && memcmp(layer.data, y, N) == 0); /* NCHW again */
}

static void test_refusals(cgc_ctx *ctx, cgc_program *p, int8_t *x)
{
    int8_t y[N];
    cgc_error e;
    const char *text;
    cgc_tensor in = image(x), out = image(y);
    CHECK(cgc_program_run(p, "host:mmx", &in, 1, &out, 1) != 0);
    cgc_ctx_error(ctx, &e);
    CHECK_STR(e.id, "E_ARGUMENT");
    CHECK_STR(e.found, "mmx");
    CHECK_STR(e.wanted, "host:ref");
    cgc_ctx_clear(ctx);
    CHECK(cgc_program_run(p, "gpu", &in, 1, &out, 1) != 0);
    cgc_ctx_clear(ctx);
    in.dims[3] = 2;
    in.dims[2] = 6;
    CHECK(cgc_program_run(p, "host", &in, 1, &out, 1) != 0);
    cgc_ctx_error(ctx, &e);
    CHECK_STR(e.id, "E_TYPE");
    CHECK_STR(e.setting, "x");
    CHECK_STR(e.found, "Tensor[(1, 2, 6, 2), int8]");
    CHECK_STR(e.wanted, "Tensor[(1, 2, 3, 4), int8]");
    cgc_ctx_clear(ctx);
    in = image(x);
    in.bytes--;
    CHECK(cgc_program_run(p, "host", &in, 1, &out, 1) != 0);
    cgc_ctx_clear(ctx);
    CHECK(cgc_program_report(p, "text", &text) != 0); /* nothing was simulated */
    cgc_ctx_clear(ctx);
    CHECK(cgc_program_build(p, "host", "false", "", 0) != 0);
    cgc_ctx_error(ctx, &e);
    CHECK_STR(e.id, "E_BUILD");
    CHECK_STR(e.setting, "CC");
    CHECK_STR(e.found, "false");
    cgc_ctx_clear(ctx);
    CHECK(cgc_program_build(p, "host", "cc", "-DWRONG=)", 0) != 0);
    cgc_ctx_error(ctx, &e);
    CHECK(strstr(e.message, "m_host.c") != NULL); /* the compiler's own words */
    cgc_ctx_clear(ctx);
}

static void test_prove(cgc_ctx *ctx, cgc_graph *g, cgc_program *p, int8_t *x, const int8_t *table)
{
    int64_t differing = -1;
    const char *text;
    char wanted[128];
    cgc_tensor in = image(x);
    CHECK(cgc_program_build(p, "host", "", "", 0) == 0);
    CHECK(cgc_prove(g, p, "host,host:ref", &in, 1, &differing, &text) == 0);
    CHECK(differing == 0);
    CHECK(strstr(text, "host:ref         0 of 24 bytes differ\n") != NULL);
    CHECK(strstr(text, "differing bytes: 0\n") != NULL);
    /* Element 13 in NHWC order is pixel 6 = (1, 2), channel 1; in row-major order element 18. */
    CHECK(cgc_program_build(p, "host", "", "-DWRONG=13", 0) == 0);
    CHECK(cgc_prove(g, p, "host", &in, 1, &differing, &text) == 0);
    CHECK(differing == 1);
    int right = table[x[18] + 128], wrong = right ^ 1;
    snprintf(wanted, sizeof wanted,
             "first in layer 1 'block.act' (contrib.epu.table, %%0) at [0, 1, 1, 2]: interp %d, "
             "host %d\n",
             right, wrong);
    CHECK(strstr(text, wanted) != NULL);
    if (check_failures)
        printf("%s", text);
    CHECK(cgc_prove(g, p, "gpu", &in, 1, &differing, &text) != 0);
    cgc_ctx_clear(ctx);
}

static cgc_status open_run_prove(cgc_ctx *ctx, cgc_graph *g, int8_t *x)
{
    int8_t y[N];
    int64_t differing;
    const char *text;
    cgc_program *p = NULL;
    cgc_tensor in = image(x), out = image(y);
    cgc_status s = cgc_program_open(ctx, root, &p);
    if (s == 0)
        s = cgc_program_run_traced(p, "host", &in, 1, &out, 1);
    if (s == 0) /* built by hand as wrong: the layers are compared too */
        s = cgc_prove(g, p, "host:ref", &in, 1, &differing, &text);
    cgc_program_free(p);
    return s;
}

/* The n-th allocation fails: the status says so, nothing leaks (under AddressSanitizer), and the context goes
 * on working. */
static void test_memory(cgc_ctx *ctx, cgc_graph *g, int8_t *x)
{
    size_t n = 0;
    cgc_status s = CGC_E_NOMEM;
    while (s != 0 && n++ < 5000) {
        ctx->n_allocs = 0;
        ctx->fail_at = n;
        s = open_run_prove(ctx, g, x);
        ctx->fail_at = 0;
        if (s != 0 && s != CGC_E_NOMEM)
            printf("allocation %zu: %s\n", n, ctx->error.message);
        CHECK(s == 0 || s == CGC_E_NOMEM);
        cgc_ctx_clear(ctx);
    }
    CHECK(s == 0 && n > 10);
    CHECK(open_run_prove(ctx, g, x) == 0);
}

/* Another tree in its place: the program in memory must not run it. */
static void test_replaced(cgc_ctx *ctx, cgc_program *p, int8_t *x)
{
    int8_t y[N];
    char from[512], to[512];
    cgc_error e;
    cgc_tensor in = image(x), out = image(y);
    snprintf(from, sizeof from, "%s/new", root);
    snprintf(to, sizeof to, "%s/manifest.json", root);
    put("new", manifest, sizeof manifest - 1);
    CHECK(rename(from, to) == 0);
    CHECK(cgc_program_run(p, "host", &in, 1, &out, 1) != 0);
    cgc_ctx_error(ctx, &e);
    CHECK_STR(e.id, "E_FILE");
    CHECK_STR(e.setting, root);
    cgc_ctx_clear(ctx);
}

/* Each replaces the first text by the second and must be refused. */
static void test_manifests(cgc_ctx *ctx)
{
    static const char *const changes[][2] = {
        {"\"format\": 1", "\"format\": 2"},
        {"\"module\": \"m\"", "\"module\": 3"},
        {"\"array_size\": 8", "\"array_size\": 0"},
        {"\"dtype\": \"int8\", \"shape\": [1,2,3,4], \"ddr\"",
         "\"dtype\": \"int9\", \"shape\": [1,2,3,4], \"ddr\""},
        {"[1,2,3,4]", "[1,2,3,4.5]"},
        {"[1,2,3,4]", "[1,2,3,-4]"},
        {"[1,2,3,4]", "[2000000000,2000000000,3,4]"},
        {"[1,2,3,4]", "[1,1,1,1,1,1,2,3,4]"},
        {"\"weights_ddr\": 1073741952", "\"weights_ddr\": 10737419520"},
        {"\"weights_bytes\": 0", "\"weights_bytes\": -1"},
        {"\"id\": 1", "\"id\": 2"},
        {"\"layout\": \"nhwc\"", "\"layout\": \"nchw\""},
        {"\"row_bytes\": 16", "\"row_bytes\": 13"},
        {"\"row_bytes\": 16", "\"row_bytes\": 2000000000"},
        {"\"border\": [1,2,1,1]", "\"border\": [1,-2,1,1]"},
        {"\"layers\": [", "\"layer\": ["},
        {"}]}", "}]"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char text[sizeof manifest + 64];
        const char *at = strstr(manifest, changes[i][0]);
        CHECK(at != NULL);
        if (!at)
            continue;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - manifest), manifest, changes[i][1],
                 at + strlen(changes[i][0]));
        put("manifest.json", text, strlen(text));
        cgc_program *p = NULL;
        cgc_status s = cgc_program_open(ctx, root, &p);
        if (s == 0)
            printf("accepted: %s\n", changes[i][1]);
        CHECK(s != 0 && p == NULL);
        cgc_program_free(p);
        cgc_ctx_clear(ctx);
    }
}

int main(void)
{
    int8_t table[256], x[N];
    for (int i = 0; i < 256; i++)
        table[i] = (int8_t)((i * 7 & 255) - 128);
    for (int i = 0; i < N; i++)
        x[i] = (int8_t)(i * 11 - 128);
    make_tree(table);
    setenv("CC", "cc", 0);
    cgc_ctx *ctx = cgc_ctx_new();
    cgc_graph *g = make_graph(ctx, table);
    cgc_program *p;
    CHECK(cgc_program_open(ctx, root, &p) == 0);
    if (p) {
        test_running(ctx, p, x, table);
        test_refusals(ctx, p, x);
        test_prove(ctx, g, p, x, table);
        test_memory(ctx, g, x);
        test_replaced(ctx, p, x);
    }
    cgc_program_free(p);
    test_manifests(ctx);
    cgc_graph_free(g);
    cgc_ctx_free(ctx);
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (system(command) != 0)
        printf("left %s\n", root);
    return check_done();
}
