/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ir.c - the graph parser over any bytes. What parses must verify, survive a copy, and print
 * to a text that parses and prints to itself; what does not parse must leave a message.
 */
#include "fuzz.h"
#include "ir/parse.h"

#include <string.h>

static int8_t bytes[4096];
static int32_t words[64];
static float floats[64];

/* Shapes that operators of the corpus want: weights, biases, tables, per-channel scales and zero
 * points. */
static ir_tensor constants[] = {
    {{IR_int8, 4, {8, 3, 3, 3}}, bytes}, {{IR_int32, 1, {8}}, words},
    {{IR_int8, 2, {4, 8}}, bytes},       {{IR_int32, 1, {4}}, words},
    {{IR_float32, 1, {8}}, floats},      {{IR_float32, 1, {4}}, floats},
    {{IR_int8, 1, {256}}, bytes},        {{IR_float32, 4, {2, 1, 2, 2}}, floats},
    {{IR_float32, 2, {4, 8}}, floats},   {{IR_float32, 0, {0}}, floats}};
enum { N_CONSTANTS = sizeof constants / sizeof constants[0] };

static void fill_constants(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (int8_t)(i * 31);
    for (int i = 0; i < 64; i++) {
        words[i] = i % 100 - 50;
        floats[i] = 0.25f + (float)i;
    }
}

static const char *print(const ir_graph *g, arena *a)
{
    str s;
    str_init(&s, a);
    ir_print(g, true, &s);
    return s.data;
}

static void check_graph(cgc_ctx *ctx, ir_graph *g)
{
    arena a;
    size_t n;
    ir_graph *again = NULL;
    arena_init(&a, ctx);
    REQUIRE(ir_verify(g) == CGC_OK);
    const char *text = print(g, &a);
    ir_value **used = ir_used_constants(g, &a, &n);
    ir_tensor *kept = arena_array(&a, n, sizeof *kept);
    for (size_t i = 0; i < n; i++)
        kept[i] = (ir_tensor){used[i]->type, (void *)(uintptr_t)used[i]->data};
    REQUIRE(ir_parse(ctx, text, strlen(text), kept, n, &again) == CGC_OK);
    REQUIRE(strcmp(print(again, &a), text) == 0);
    ir_graph *copy = ir_clone(g);
    ir_renumber(copy);
    REQUIRE(ir_verify(copy) == CGC_OK);
    REQUIRE(strcmp(print(copy, &a), text) == 0);
    ir_graph_free(copy);
    ir_graph_free(again);
    arena_deinit(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cgc_ctx *ctx = cgc_ctx_new();
    ir_graph *g = NULL;
    cgc_error e;
    fill_constants();
    if (ir_parse(ctx, (const char *)data, size, constants, N_CONSTANTS, &g) == CGC_OK)
        check_graph(ctx, g);
    else
        REQUIRE(g == NULL);
    cgc_ctx_error(ctx, &e);
    REQUIRE((g == NULL) == (e.code != CGC_OK) && (g != NULL) == (e.message[0] == '\0'));
    ir_graph_free(g);
    cgc_ctx_free(ctx);
    return 0;
}
