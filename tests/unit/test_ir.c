/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ir.c - graph, text form and files: the small conv + linear model is built through the API
 * and must print exactly as the documented example; print -> parse -> print is the identity;
 * malformed texts give messages with line, column and names.
 */
#include "check.h"
#include "ops/op.h"

#include <stdlib.h>
#include <unistd.h>

static const char *const example =
    "def @main(%x: Tensor[(1, 3, 8, 8), float32], output_names=[\"out_0\"]) {\n"
    "  %0 = qnn.quantize(%x, 0.0244795f, -5, out_dtype=\"int8\");\n"
    "  %1 = contrib.epu.qlinear_conv2d(%0, meta[relay.Constant][0], bias=meta[relay.Constant][1],\n"
    "         padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], out_dtype=\"int8\",\n"
    "         bias_fusion=True, x_zero_point=-5, x_scale=0.0244795f, w_zero_point=0,\n"
    "         w_scale=0.00149468f, y_zero_point=0, y_scale=0.0154259f);\n"
    "  %2 = qnn.dequantize(%1, 0.0154259f, 0);\n"
    "  %3 = nn.relu(%2);\n"
    "  %4 = nn.global_avg_pool2d(%3);\n"
    "  %5 = reshape(%4, newshape=[1, 8]);\n"
    "  %6 = qnn.quantize(%5, 0.00104517f, -128, out_dtype=\"int8\");\n"
    "  %7 = contrib.epu.dense(%6, meta[relay.Constant][2], meta[relay.Constant][3], units=4,\n"
    "         x_scale=0.00104517f, x_zero_point=-128, w_scale=0.00250289f,\n"
    "         y_scale=0.00218769f, y_zero_point=13, out_dtype=\"int8\");\n"
    "  qnn.dequantize(%7, 0.00218769f, 13)\n"
    "}\n";

static int8_t conv_w[8 * 3 * 3 * 3], dense_w[4 * 8];
static int32_t conv_b[8], dense_b[4];
static const cgc_tensor constants[4] = {
    {.dtype = IR_int8, .rank = 4, .dims = {8, 3, 3, 3}, .data = conv_w, .bytes = sizeof conv_w},
    {.dtype = IR_int32, .rank = 1, .dims = {8}, .data = conv_b, .bytes = sizeof conv_b},
    {.dtype = IR_int8, .rank = 2, .dims = {4, 8}, .data = dense_w, .bytes = sizeof dense_w},
    {.dtype = IR_int32, .rank = 1, .dims = {4}, .data = dense_b, .bytes = sizeof dense_b}};
/* One value per channel. */
static float scales[8] = {0.5f, 0.25f, 0.125f, 1, 2, 3, 4, 5};
static int32_t zeros[8];

static const char *message(cgc_ctx *ctx)
{
    cgc_error e;
    cgc_ctx_error(ctx, &e);
    return e.message;
}

static void ok(cgc_ctx *ctx, cgc_status status)
{
    if (status != CGC_OK)
        printf("%s\n", message(ctx));
    CHECK(status == CGC_OK);
}

static cgc_value node(cgc_ctx *ctx, cgc_graph *g, const char *op, const cgc_value *in, int32_t n,
                      const char *attrs, const char *layer)
{
    cgc_value out = -1;
    ok(ctx, cgc_graph_add_node(g, op, in, n, attrs, layer, &out));
    return out;
}

/* The example through the API, constants added in another order than they are used. */
static cgc_graph *build(cgc_ctx *ctx)
{
    static const int64_t dims[] = {1, 3, 8, 8};
    cgc_graph *g = cgc_graph_new(ctx);
    cgc_value x, c[4], v;
    int32_t index;
    ok(ctx, cgc_graph_add_input(g, "x", IR_float32, 4, dims, &x));
    for (int i = 3; i >= 0; i--) {
        ok(ctx, cgc_graph_add_constant(g, &constants[i], &c[i], &index));
        CHECK(index == 3 - i);
    }
    v = node(ctx, g, "qnn.quantize", &x, 1, "0.0244795f, -5, out_dtype=\"int8\"", "quant");
    v = node(ctx, g, "contrib.epu.qlinear_conv2d", (cgc_value[]){v, c[0], c[1]}, 3,
             "y_zero_point=0, y_scale=0.0154259, strides=[1, 1], padding=[1, 1, 1, 1], channels=8, "
             "kernel_size=[3, 3], bias_fusion=True, x_zero_point=-5, x_scale=0.0244795f, "
             "w_zero_point=0, "
             "w_scale=0.00149468f",
             "features.0");
    v = node(ctx, g, "qnn.dequantize", &v, 1, "0.0154259f, zero_point=0", "features.0");
    v = node(ctx, g, "nn.relu", &v, 1, "", "features.1");
    v = node(ctx, g, "nn.global_avg_pool2d", &v, 1, NULL, "pool");
    v = node(ctx, g, "reshape", &v, 1, "newshape=[1, 8]", "");
    v = node(ctx, g, "qnn.quantize", &v, 1, "0.00104517f, -128", "fc");
    v = node(ctx, g, "contrib.epu.dense", (cgc_value[]){v, c[2], c[3]}, 3,
             "units=4, x_scale=0.00104517f, x_zero_point=-128, w_scale=0.00250289f, "
             "y_scale=0.00218769f, "
             "y_zero_point=13",
             "fc \"quoted\\\" \xc3\xa9\n");
    v = node(ctx, g, "qnn.dequantize", &v, 1, "0.00218769f, 13", "fc");
    ok(ctx, cgc_graph_set_outputs(g, &v, NULL, 1));
    ok(ctx, cgc_graph_verify(g));
    return g;
}

static void test_example(cgc_ctx *ctx)
{
    const char *text;
    cgc_tensor type;
    cgc_graph *g = build(ctx), *again;
    ok(ctx, cgc_graph_print(g, 0, &text));
    CHECK_STR(text, example);
    ok(ctx, cgc_graph_parse(ctx, text, constants, 4, &again));
    ok(ctx, cgc_graph_print(again, 0, &text));
    CHECK_STR(text, example);
    ok(ctx, cgc_graph_output_type(again, 0, &type));
    CHECK(type.dtype == IR_float32 && type.rank == 2 && type.dims[1] == 4 && type.bytes == 16);
    CHECK_STR(cgc_graph_input_name(again, 0), "x");
    CHECK_STR(cgc_graph_output_name(again, 0), "out_0");
    cgc_graph_free(again);
    cgc_graph_free(g);
}

/* Layers survive text; a clone and a renumbered graph print the same. */
static void test_layers(cgc_ctx *ctx)
{
    const char *text;
    char *kept;
    cgc_graph *g = build(ctx), *again;
    ok(ctx, cgc_graph_print(g, 1, &text));
    CHECK(strstr(text, "layer=\"features.0\");") != NULL);
    CHECK(strstr(text, "layer=\"fc \\\"quoted\\\\\\\" \xc3\xa9\\n\"") != NULL);
    kept = strdup(text);
    ok(ctx, cgc_graph_parse(ctx, kept, constants, 4, &again));
    ok(ctx, cgc_graph_print(again, 1, &text));
    CHECK_STR(text, kept);
    cgc_graph_free(again);
    ir_graph *copy = ir_clone(g);
    cgc_graph_free(g);
    ok(ctx, ir_verify(copy));
    ir_renumber(copy);
    ok(ctx, ir_verify(copy));
    CHECK(copy->constants[0]->type.rank == 4 && copy->constants[3]->type.dims[0] == 4);
    ok(ctx, cgc_graph_print(copy, 1, &text));
    CHECK_STR(text, kept);
    str s;
    str_init(&s, &copy->arena);
    ir_print_node(copy, copy->nodes[7], false, &s);
    CHECK(strchr(s.data, '\n') == NULL &&
          strstr(s.data, "%7 = contrib.epu.dense(%6, meta") != NULL);
    cgc_graph_free(copy);
    free(kept);
}

static void round_trip(cgc_ctx *ctx, const char *text)
{
    const cgc_tensor c[4] = {
        {.dtype = IR_int8, .rank = 4, .dims = {8, 3, 3, 3}, .data = conv_w, .bytes = sizeof conv_w},
        {.dtype = IR_int32, .rank = 1, .dims = {8}, .data = zeros, .bytes = sizeof zeros},
        {.dtype = IR_float32, .rank = 1, .dims = {8}, .data = scales, .bytes = sizeof scales},
        {.dtype = IR_int8, .rank = 0, .data = conv_w, .bytes = 1}};
    const char *printed = "";
    cgc_graph *g = NULL;
    ok(ctx, cgc_graph_parse(ctx, text, c, 4, &g));
    if (g) {
        ok(ctx, cgc_graph_print(g, 1, &printed));
        CHECK_STR(printed, text);
        ok(ctx, cgc_graph_verify(g));
    }
    cgc_graph_free(g);
    cgc_ctx_clear(ctx);
}

static void test_forms(cgc_ctx *ctx)
{
    /* Several outputs; an input twice; names that are no identifiers. */
    round_trip(ctx, "def @main(%x: Tensor[(2), float32], %\"0.a b\\\"\\x01\": Tensor[(), float32], "
                    "output_names=[\"a\", \"b\", \"c\"]) {\n"
                    "  %0 = add(%x, %\"0.a b\\\"\\x01\");\n"
                    "  %1 = nn.relu(%0);\n"
                    "  (%1, %0, %x)\n"
                    "}\n");
    /* The only output is not the last node; the output is an input; a constant as output. */
    round_trip(ctx, "def @main(%x: Tensor[(2), float32], output_names=[\"a\"]) {\n"
                    "  %0 = nn.relu(%x);\n"
                    "  %1 = nn.relu(%0);\n"
                    "  %0\n"
                    "}\n");
    round_trip(ctx, "def @main(%x: Tensor[(2), float32], output_names=[\"a\"]) {\n"
                    "  %x\n"
                    "}\n");
    round_trip(ctx, "def @main(%x: Tensor[(2), int64], output_names=[\"a\"]) {\n"
                    "  meta[relay.Constant][0]\n"
                    "}\n");
    round_trip(ctx, "def @main(%x: Tensor[(2), float32], output_names=[\"a\"]) {\n"
                    "  clip(%x, a_min=-inf, a_max=6f, layer=\"relu6\")\n"
                    "}\n");
    /* Per-channel attributes, a bias that is absent. */
    round_trip(
        ctx, "def @main(%x: Tensor[(1, 3, 8, 8), int8], output_names=[\"a\"]) {\n"
             "  contrib.epu.qlinear_conv2d(%x, meta[relay.Constant][0], padding=[1, 1, 1, 1],\n"
             "         channels=8, kernel_size=[3, 3], out_dtype=\"int8\", bias_fusion=False,\n"
             "         x_zero_point=-5, x_scale=0.0244795f, w_zero_point=meta[relay.Constant][1],\n"
             "         w_scale=meta[relay.Constant][2], y_zero_point=0, y_scale=0.0154259f,\n"
             "         clamp_min=-5, layer=\"conv\")\n"
             "}\n");
}

typedef struct bad_text {
    const char *text, *message;
} bad_text;

#define MAIN(body)                                                                                 \
    "def @main(%x: Tensor[(1, 3, 8, 8), float32], output_names=[\"o\"]) {\n" body "\n}\n"

static const bad_text bad_texts[] = {
    {"",
     "error[E_FORMAT] line 1, column 1 of the graph text: syntax error; found the end of the text, "
     "wanted 'def'"},
    {"def @main(%x: Tensor[(1, x), float32]) {}",
     "error[E_FORMAT] line 1, column 26 of the graph text: syntax error; found 'x', wanted a "
     "dimension"},
    {MAIN("  %0 = nn.rel(%x, layer=\"a.b\");\n  %0"),
     "error[E_OP] layer 'a.b' (nn.rel): unknown operator 'nn.rel'; found nn.rel, wanted an "
     "operator of the list "
     "that 'cgc ops' prints\n  cure: use a supported operator; nearest: nn.relu, add, nn.dense\n"
     "  at: line 2, column 8 of the graph text"},
    {MAIN("  nn.relu(%y)"), "error[E_FORMAT] line 2, column 11 of the graph text: a value that is "
                            "not there; found '%y', wanted a "
                            "parameter or the result of an earlier line"},
    {MAIN("  %0 = nn.relu(%0);\n  %0"), "error[E_FORMAT] line 2, column 16 of the graph text: a "
                                        "value that is not there; found '%0', wanted a "
                                        "parameter or the result of an earlier line"},
    {MAIN("  clip(%x, a_min=0f, a_mix=1f, layer=\"act\")"),
     "error[E_ATTR] layer 'act' (clip): unknown attribute 'a_mix'; wanted one of a_min, a_max\n"
     "  at: line 2, column 22 of the graph text"},
    {MAIN("  clip(%x, a_min=0f, a_min=0f, a_max=6f)"),
     "error[E_ATTR] clip: attribute a_min is given twice\n"
     "  at: line 2, column 22 of the graph text"},
    {MAIN("  qnn.quantize(%x, 0f, 3)"),
     "error[E_ATTR] qnn.quantize: attribute scale (scale of the result) is unusable; found 0, "
     "wanted a finite float32 above 0, "
     "or a float32 constant of one per channel\n"
     "  at: line 2, column 20 of the graph text"},
    {MAIN("  qnn.quantize(%x, 0.5f, 128)"),
     "error[E_ATTR] qnn.quantize: attribute zero_point (zero point of the result) is unusable; "
     "found 128, wanted an integer "
     "from -128 to 127, or an int32 constant of one per channel\n"
     "  at: line 2, column 26 of the graph text"},
    {MAIN("  qnn.quantize(%x, 0.5f)"),
     "error[E_ATTR] qnn.quantize: attribute zero_point (zero point of the result) is missing; "
     "wanted an integer from -128 to "
     "127, or an int32 constant of one per channel\n  at: line 2, column 3 of the graph text"},
    {MAIN("  nn.relu(%x, %x)"),
     "error[E_ARGUMENT] nn.relu: a value that is no operand; wanted at most 1 operands\n"
     "  at: line 2, column 15 of the graph text"},
    {MAIN("  nn.relu()"), "error[E_ARGUMENT] nn.relu: operand x is missing\n"
                          "  at: line 2, column 3 of the graph text"},
    {MAIN("  nn.relu(meta[relay.Constant][0])"),
     "error[E_FORMAT] line 2, column 11 of the graph text: a value that is not there; found "
     "'meta', wanted an "
     "index below 0"},
    {MAIN("  (%x, %x)"),
     "error[E_FORMAT] output_names does not fit the result; found 2 outputs and 1 names, "
     "wanted one name per output, at least one output"},
    {"#[version = \"2\"]\n" MAIN("  %x"),
     "error[E_FORMAT] the graph text has an unknown format version; found 2, wanted \"1\"\n"
     "  cure: read the file with the release that wrote it, or a later one"},
    {"def @main(%x: Tensor[(1), float32], %x: Tensor[(1), float32]) { %x }",
     "error[E_FORMAT] line 1, column 37 of the graph text: syntax error; found '%x', wanted a name "
     "that no other "
     "parameter has"},
    {"def @main(%x: Tensor[(99999, 99999), float32]) { %x }",
     "error[E_TYPE] x: a parameter has an unusable shape; found Tensor[(99999, 99999), float32], "
     "wanted dimensions "
     "of at least 1, fewer than 2^31 bytes in all\n  at: line 1, column 11 of the graph text"},
    {"def @main(%x: Tensor[(0), float32]) { %x }",
     "error[E_TYPE] x: a parameter has an unusable shape; found Tensor[(0), float32], wanted "
     "dimensions of at least "
     "1, fewer than 2^31 bytes in all\n  at: line 1, column 11 of the graph text"},
    {MAIN("  \"abc"),
     "error[E_FORMAT] line 2, column 3 of the graph text: a string without its end on the same "
     "line"},
    {MAIN("  %x $"), "error[E_FORMAT] line 2, column 6 of the graph text: an unexpected character"},
};

static void test_errors(cgc_ctx *ctx)
{
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
        cgc_graph *g = NULL;
        CHECK(cgc_graph_parse(ctx, bad_texts[i].text, NULL, 0, &g) != CGC_OK);
        CHECK(g == NULL);
        CHECK_STR(message(ctx), bad_texts[i].message);
        cgc_ctx_clear(ctx);
    }
    CHECK_STR(message(ctx), "");
}

static void test_api_errors(cgc_ctx *ctx)
{
    cgc_graph *g = build(ctx);
    const char *before, *after;
    cgc_value v;
    const int64_t dims[] = {1};
    ok(ctx, cgc_graph_print(g, 0, &before));
    char *kept = strdup(before);
    CHECK(cgc_graph_add_input(g, "x", IR_float32, 1, dims, &v) == CGC_E_ARGUMENT);
    cgc_ctx_clear(ctx);
    CHECK(cgc_graph_add_input(g, "\xff", IR_float32, 1, dims, &v) == CGC_E_ARGUMENT);
    cgc_ctx_clear(ctx);
    CHECK(cgc_graph_add_node(g, "nn.relu", (cgc_value[]){99}, 1, "", "", &v) == CGC_E_ARGUMENT);
    cgc_ctx_clear(ctx);
    CHECK(cgc_graph_add_node(g, "nn.relu", (cgc_value[]){-1}, 1, "", "", &v) == CGC_E_ARGUMENT);
    cgc_ctx_clear(ctx);
    CHECK(cgc_graph_add_node(g, "clip", (cgc_value[]){0}, 1, "a_min=1f,, a_max=2f", "l", &v) ==
          CGC_E_FORMAT);
    CHECK_STR(message(ctx),
              "error[E_FORMAT] line 1, column 10 of the attribute text: syntax error; found ',', "
              "wanted a value");
    cgc_ctx_clear(ctx);
    CHECK(cgc_graph_add_node(g, "qnn.quantize", (cgc_value[]){0}, 1, "input[0], 0", "", &v) ==
          CGC_E_ATTR);
    cgc_ctx_clear(ctx);
    CHECK(cgc_graph_set_outputs(g, (cgc_value[]){0, 0}, (const char *[]){"a", "a"}, 2) ==
          CGC_E_ARGUMENT);
    cgc_ctx_clear(ctx);
    ok(ctx, cgc_graph_print(g, 0, &after));
    CHECK_STR(after, kept);
    free(kept);
    cgc_graph_free(g);
}

static void test_edit(cgc_ctx *ctx)
{
    cgc_graph *g = build(ctx);
    ir_node *relu = g->nodes[3];
    CHECK(ir_use_count(g, relu->results[0]) == 1);
    CHECK(ir_only_user(g, relu->results[0]) == g->nodes[4]);
    CHECK(ir_only_user(g, g->outputs[0]) == NULL);
    ir_node *clip = ir_make_node(g, op_by_name("clip"), relu->inputs, 1, "new");
    ir_set_float(clip, "a_min", 0.0f);
    CHECK(ir_infer(g, clip) == CGC_E_ATTR); /* a_max was never set */
    cgc_ctx_clear(ctx);
    ir_set_float(clip, "a_max", 6.0f);
    ok(ctx, ir_infer(g, clip));
    ir_insert_before(g, relu, clip);
    ir_replace_uses(g, relu->results[0], clip->results[0]);
    ir_remove(g, relu);
    ok(ctx, ir_verify(g));
    CHECK(g->n_nodes == 9 && g->nodes[3] == clip);
    CHECK(ir_int(clip, "nothing") == 0 && ir_ints(clip, "nothing")[1] == 0 &&
          *ir_string(clip, "a_max") == '\0');
    CHECK(ir_float(clip, "a_max") == 6.0f && !ir_bool(clip, "nothing"));
    /* A node after its use is found. */
    g->nodes[3] = g->nodes[4];
    g->nodes[4] = clip;
    CHECK(ir_verify(g) == CGC_E_INTERNAL);
    cgc_graph_free(g);
    cgc_ctx_clear(ctx);
}

static void test_files(cgc_ctx *ctx, const char *folder)
{
    char path[300], tensors[300];
    const char *text;
    (void)snprintf(path, sizeof path, "%s/m.cgc", folder);
    (void)snprintf(tensors, sizeof tensors, "%s/m.safetensors", folder);
    for (size_t i = 0; i < sizeof conv_w; i++)
        conv_w[i] = (int8_t)(i * 7);
    for (int i = 0; i < 8; i++)
        conv_b[i] = 1000 * i - 3000;
    cgc_graph *g = build(ctx), *again = NULL;
    ok(ctx, cgc_graph_save(g, path));
    ok(ctx, cgc_graph_load(ctx, path, &again));
    if (again) {
        ok(ctx, cgc_graph_print(again, 0, &text));
        CHECK_STR(text, example);
        CHECK(memcmp(again->constants[0]->data, conv_w, sizeof conv_w) == 0);
        CHECK(memcmp(again->constants[1]->data, conv_b, sizeof conv_b) == 0);
        CHECK_STR(again->nodes[1]->layer, "features.0");
    }
    cgc_graph_free(again);
    /* One flipped bit of a weight. */
    FILE *f = fopen(tensors, "r+b");
    CHECK(f && fseek(f, -1, SEEK_END) == 0 && fputc('X', f) == 'X' && fclose(f) == 0);
    CHECK(cgc_graph_load(ctx, path, &again) == CGC_E_FORMAT && again == NULL);
    CHECK(strstr(message(ctx), "belong to different saves") != NULL);
    cgc_ctx_clear(ctx);
    CHECK(remove(tensors) == 0);
    CHECK(cgc_graph_load(ctx, path, &again) == CGC_E_FILE && again == NULL);
    cgc_ctx_clear(ctx);
    cgc_graph_free(g);
    CHECK(remove(path) == 0);
}

/* Everything above with the n-th allocation failing, n = 1, 2, ... until nothing fails any more. */
static void test_nomem(const char *folder)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/n.cgc", folder);
    cgc_ctx *good = cgc_ctx_new();
    cgc_graph *source = build(good);
    ok(good, cgc_graph_save(source, path));
    size_t n = 1;
    for (bool failed = true; failed; n++) {
        cgc_ctx *ctx = cgc_ctx_new();
        cgc_graph *parsed = NULL, *loaded = NULL;
        const char *text;
        ctx->fail_at = n;
        cgc_status status = cgc_graph_parse(ctx, example, constants, 4, &parsed);
        if (status == CGC_OK)
            status = cgc_graph_print(parsed, 1, &text);
        if (status == CGC_OK)
            status = cgc_graph_save(parsed, path);
        if (status == CGC_OK)
            status = cgc_graph_load(ctx, path, &loaded);
        if (status == CGC_OK)
            status = cgc_graph_verify(loaded);
        failed = status != CGC_OK;
        if (failed) {
            CHECK(status == CGC_E_NOMEM);
            CHECK_STR(message(ctx), "error[E_NOMEM] out of memory");
        }
        ctx->fail_at = 0;
        cgc_graph_free(loaded);
        cgc_graph_free(parsed);
        cgc_ctx_free(ctx);
    }
    printf("%zu allocations failed one by one\n", n - 2);
    CHECK(n > 100);
    cgc_graph_free(source);
    cgc_ctx_free(good);
    CHECK(remove(path) == 0);
    (void)snprintf(path, sizeof path, "%s/n.safetensors", folder);
    CHECK(remove(path) == 0);
}

int main(void)
{
    char folder[] = "/tmp/cgc_test_ir_XXXXXX";
    cgc_ctx *ctx = cgc_ctx_new();
    if (!ctx || !mkdtemp(folder))
        return 1;
    test_example(ctx);
    test_layers(ctx);
    test_forms(ctx);
    test_errors(ctx);
    test_api_errors(ctx);
    test_edit(ctx);
    test_files(ctx, folder);
    test_nomem(folder);
    cgc_ctx_free(ctx);
    CHECK(rmdir(folder) == 0);
    return check_done();
}
