/* SPDX-License-Identifier: Apache-2.0
 *
 * test_nomem.c - running out of memory anywhere between building a graph and writing its program:
 * the n-th allocation fails, for every n up to DENSE and then in growing steps. Each time the call
 * returns CGC_E_NOMEM, nothing leaks (under AddressSanitizer), no folder is left half-written, and
 * the context works again afterwards.
 */
#include "base/base.h"
#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

enum { DENSE = 400, STEPS = 40 };

static int8_t weights[8 * 3 * 3 * 3];
static int32_t bias[8];
static float image[3 * 8 * 8], result[8 * 8 * 8];

/* Conv, relu, residual add between dequantize and quantize: what the passes have to close. */
static const char *const text =
    "def @main(%x: Tensor[(1, 3, 8, 8), float32]) {\n"
    "  %0 = qnn.quantize(%x, 0.02f, -5);\n"
    "  %1 = contrib.epu.qlinear_conv2d(%0, meta[relay.Constant][0], bias=meta[relay.Constant][1],\n"
    "         padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], bias_fusion=True,\n"
    "         x_zero_point=-5, x_scale=0.02f, w_zero_point=0, w_scale=0.001f, y_zero_point=3,\n"
    "         y_scale=0.01f, layer=\"conv\");\n"
    "  %2 = qnn.dequantize(%1, 0.01f, 3);\n"
    "  %3 = nn.relu(%2);\n"
    "  %4 = add(%2, %3);\n"
    "  %5 = qnn.quantize(%4, 0.02f, 0);\n"
    "  qnn.dequantize(%5, 0.02f, 0)\n"
    "}\n";

typedef struct handles {
    cgc_graph *graph;
    cgc_hw *hw;
    cgc_program *program;
} handles;

static cgc_status whole_way(cgc_ctx *ctx, const char *folder, handles *h)
{
    const cgc_tensor constants[] = {
        {.dtype = 0, .rank = 4, .dims = {8, 3, 3, 3}, .data = weights, .bytes = sizeof weights},
        {.dtype = 3, .rank = 1, .dims = {8}, .data = bias, .bytes = sizeof bias}};
    const cgc_tensor x = {
        .dtype = 5, .rank = 4, .dims = {1, 3, 8, 8}, .data = image, .bytes = sizeof image};
    cgc_tensor y = {
        .dtype = 5, .rank = 4, .dims = {1, 8, 8, 8}, .data = result, .bytes = sizeof result};
    h->hw = cgc_hw_new(ctx);
    if (!h->hw)
        return CGC_E_NOMEM;
    TRY(cgc_hw_preset(h->hw, "cx-nano"));
    TRY(cgc_graph_parse(ctx, text, constants, 2, &h->graph));
    TRY(cgc_op_eval(ctx, "nn.relu", "", &y, 1, &y, 1));
    TRY(cgc_graph_interpret(h->graph, &x, 1, &y, 1));
    TRY(cgc_compile(h->graph, h->hw, "m", folder, &h->program));
    return cgc_graph_run_passes(h->graph, "");
}

/* Entries of the folder but the finished program's. */
static int leftovers(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
             strcmp(e->d_name, "m") != 0;
    if (dir)
        (void)closedir(dir);
    return n;
}

/* True when the n-th allocation was never reached. */
static bool attempt(size_t n, const char *folder)
{
    cgc_ctx *ctx = cgc_ctx_new();
    handles h = {NULL, NULL, NULL};
    cgc_error e;
    ctx->fail_at = n;
    cgc_status status = whole_way(ctx, folder, &h);
    ctx->fail_at = 0;
    cgc_ctx_error(ctx, &e);
    CHECK(status == CGC_OK || status == CGC_E_NOMEM);
    CHECK_STR(e.message, status == CGC_OK ? "" : "error[E_NOMEM] out of memory");
    CHECK(ctx->entry == NULL && ctx->guards == NULL);
    CHECK(leftovers(folder) == 0);
    cgc_program_free(h.program);
    cgc_graph_free(h.graph);
    cgc_hw_free(h.hw);
    arena a;
    arena_init(&a, ctx);
    CHECK(dir_remove(ctx, arena_printf(&a, "%s/m", folder)) == CGC_OK);
    arena_deinit(&a);
    cgc_ctx_free(ctx);
    return status == CGC_OK;
}

int main(void)
{
    char in_memory[] = "/dev/shm/cgc_test_nomem_XXXXXX", on_disk[] = "/tmp/cgc_test_nomem_XXXXXX";
    char *folder = mkdtemp(in_memory); /* hundreds of trees are written and synced */
    size_t n = 1, tried = 0;
    if (!folder)
        folder = mkdtemp(on_disk);
    if (!folder)
        return 1;
    for (size_t i = 0; i < sizeof weights; i++)
        weights[i] = (int8_t)(i * 37);
    for (; !attempt(n, folder) && check_failures < 20; tried++)
        n += n < DENSE ? 1 : n / STEPS;
    printf("%zu failures in %zu allocations\n", tried, n);
    CHECK(tried > 100 && rmdir(folder) == 0);
    return check_done();
}
