/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ops.c - single operators through the public API: values on a hand-computed case each, result types, the
 * message of every check, and that repeated calls keep no memory.
 */
#include "cgc.h"
#include "base/base.h"
#include "check.h"
#include "ir/ir.h"

#include <stdlib.h>
#include <sys/resource.h>

static cgc_ctx *ctx;

static cgc_tensor tensor(ir_dtype dtype, int rank, const int *dims, void *data)
{
    cgc_tensor t = {.dtype = (cgc_dtype)dtype, .rank = rank, .data = data};
    t.bytes = ir_dtype_bytes(dtype);
    for (int i = 0; i < rank; i++) {
        t.dims[i] = dims[i];
        t.bytes *= (size_t)dims[i];
    }
    return t;
}

#define DIMS(...)                                                                                  \
    (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), (const int[])                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static cgc_status eval(const char *op, const char *attrs, const cgc_tensor *in, int n,
                       cgc_tensor out)
{
    cgc_ctx_clear(ctx);
    return cgc_op_eval(ctx, op, attrs, in, n, &out, 1);
}

static const char *message(void)
{
    cgc_error e;
    cgc_ctx_error(ctx, &e);
    return e.message;
}

/* ---- values ---- */
static void test_conv_values(void)
{
    int8_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, w[4] = {1, -1, 2, 3}, y[8];
    int32_t bias[2] = {10, -20}, zero_points[2] = {0, 1};
    float scales[2] = {0.5f, 0.25f};
    const cgc_tensor in[5] = {
        tensor(IR_int8, DIMS(1, 2, 2, 2), x),   tensor(IR_int8, DIMS(2, 2, 1, 1), w),
        tensor(IR_int32, DIMS(2), bias),        tensor(IR_float32, DIMS(2), scales),
        tensor(IR_int32, DIMS(2), zero_points),
    };
    const char *attrs = "channels=2, kernel_size=[1, 1], bias_fusion=True, x_scale=1f, "
                        "x_zero_point=1, w_scale=input[3], w_zero_point=input[4], y_scale=1f, "
                        "y_zero_point=2";
    CHECK(eval("contrib.epu.qlinear_conv2d", attrs, in, 5, tensor(IR_int8, DIMS(1, 2, 2, 2), y)) ==
          CGC_OK);
    /* channel 0: ((x0-1)*1 + (x1-1)*-1 + 10) * 0.5 + 2 = (-4 + 10) * 0.5 + 2; channel 1:
     * ((x0-1)*(2-1) + (x1-1)*(3-1) - 20) * 0.25 + 2 = (-12, -9, -6, -3) * 0.25 + 2, ties to even */
    const int8_t wanted[8] = {5, 5, 5, 5, -1, 0, 0, 1};
    CHECK(memcmp(y, wanted, sizeof y) == 0);
    /* Without a bias the per-channel operands follow directly. */
    const cgc_tensor no_bias[3] = {in[0], in[1], in[3]};
    const char *short_attrs = "channels=2, kernel_size=[1, 1], x_scale=1f, x_zero_point=1, "
                              "w_scale=input[2], w_zero_point=0, y_scale=1f, y_zero_point=2";
    CHECK(eval("contrib.epu.qlinear_conv2d", short_attrs, no_bias, 3,
               tensor(IR_int8, DIMS(1, 2, 2, 2), y)) == CGC_OK);
    CHECK(y[0] == 0 && y[4] == 5); /* -4 * 0.5 + 2; 12 * 0.25 + 2 */
}

static void test_values(void)
{
    int8_t q[4] = {-128, 0, 5, 127}, r[4];
    float f[4] = {-1.0f, 0.25f, 0.75f, 9.0f}, g[4];
    const cgc_tensor qi = tensor(IR_int8, DIMS(4), q), fi = tensor(IR_float32, DIMS(4), f);
    cgc_tensor fo = tensor(IR_float32, DIMS(4), g), qo = tensor(IR_int8, DIMS(4), r);
    CHECK(eval("qnn.quantize", "0.5f, 3", &fi, 1, qo) == CGC_OK);
    CHECK(r[0] == 1 && r[1] == 3 && r[2] == 5 && r[3] == 21);
    CHECK(eval("qnn.dequantize", "0.5f, 3", &qi, 1, fo) == CGC_OK);
    CHECK(g[0] == -65.5f && g[2] == 1.0f);
    CHECK(eval("nn.relu", "", &fi, 1, fo) == CGC_OK);
    CHECK(g[0] == 0.0f && g[3] == 9.0f);
    CHECK(eval("clip", "a_min=0f, a_max=6f", &fi, 1, fo) == CGC_OK);
    CHECK(g[0] == 0.0f && g[1] == 0.25f && g[3] == 6.0f);
    const cgc_tensor pair[2] = {fi, tensor(IR_float32, DIMS(1), f)};
    CHECK(eval("add", "", pair, 2, fo) == CGC_OK);
    CHECK(g[0] == -2.0f && g[3] == 8.0f);
    float image[4] = {1, 2, 3, 6}, one[1];
    const cgc_tensor im = tensor(IR_float32, DIMS(1, 1, 2, 2), image);
    CHECK(eval("nn.global_avg_pool2d", "", &im, 1, tensor(IR_float32, DIMS(1, 1, 1, 1), one)) ==
          CGC_OK);
    CHECK(one[0] == 3.0f);
    CHECK(eval("nn.max_pool2d", "pool_size=[2, 2]", &im, 1,
               tensor(IR_float32, DIMS(1, 1, 1, 1), one)) == CGC_OK);
    CHECK(one[0] == 6.0f);
    CHECK(eval("reshape", "newshape=[4]", &im, 1, fo) == CGC_OK);
    CHECK(memcmp(g, image, sizeof g) == 0);
    float wide[8];
    const cgc_tensor sum[2] = {tensor(IR_float32, DIMS(1, 2, 1, 2), image),
                               tensor(IR_float32, DIMS(2, 1, 1), image)};
    CHECK(eval("add", "", sum, 2, tensor(IR_float32, DIMS(1, 2, 1, 2), wide)) == CGC_OK);
    CHECK(wide[0] == 2.0f && wide[1] == 3.0f && wide[2] == 5.0f && wide[3] == 8.0f);
}

/* ---- messages ---- */
typedef struct fault {
    const char *op, *attrs;
    int types; /* which operands: index into operands() */
    const char *wanted;
} fault;

enum { CONV, DENSE, IMAGE, VECTOR, TWO, AFFINE, TABLE };

static int operands(int kind, cgc_tensor in[4])
{
    static int8_t bytes[600000];
    static float floats[1024];
    static int32_t ints[64];
    switch (kind) {
    case CONV:
        in[0] = tensor(IR_int8, DIMS(1, 4, 5, 5), bytes);
        in[1] = tensor(IR_int8, DIMS(6, 4, 3, 3), bytes);
        in[2] = tensor(IR_int32, DIMS(6), ints);
        return 3;
    case DENSE:
        in[0] = tensor(IR_int8, DIMS(1, 600000), bytes);
        in[1] = tensor(IR_int8, DIMS(1, 600000), bytes);
        return 2;
    case IMAGE:
        in[0] = tensor(IR_float32, DIMS(1, 2, 4, 4), floats);
        return 1;
    case TWO:
        in[0] = tensor(IR_int8, DIMS(2, 3), bytes);
        in[1] = tensor(IR_int8, DIMS(2, 4), bytes);
        return 2;
    case AFFINE:
        in[0] = tensor(IR_float32, DIMS(1, 2, 4, 4), floats);
        in[1] = tensor(IR_float32, DIMS(3), floats);
        in[2] = tensor(IR_float32, DIMS(2), floats);
        return 3;
    case TABLE:
        in[0] = tensor(IR_int8, DIMS(7), bytes);
        in[1] = tensor(IR_int8, DIMS(255), bytes);
        return 2;
    default:
        in[0] = tensor(IR_float32, DIMS(3), floats);
        return 1;
    }
}

#define Q "x_scale=1f, x_zero_point=0, w_scale=1f, w_zero_point=0, y_scale=1f, y_zero_point=0"
#define C "channels=6, kernel_size=[3, 3], bias_fusion=True, "
#define A "x_scale=1f, x_zero_point=0, y_scale=1f, y_zero_point=0"

static const fault faults[] = {
    {"contrib.epu.qlinear_conv2d", "channels=6, kernel_size=[3, 3], " Q, CONV,
     "bias_fusion does not fit the operands; found False with a bias"},
    {"contrib.epu.qlinear_conv2d", "channels=6, kernel_size=[3, 2], bias_fusion=True, " Q, CONV,
     "dimension 3 of operand weight does not fit; found Tensor[(6, 4, 3, 3), int8], wanted 2"},
    {"contrib.epu.qlinear_conv2d", "channels=8, kernel_size=[3, 3], bias_fusion=True, " Q, CONV,
     "dimension 0 of operand weight does not fit"},
    {"contrib.epu.qlinear_conv2d", C "groups=3, " Q, CONV, "groups does not divide the input"},
    {"contrib.epu.qlinear_conv2d", C "groups=4, " Q, CONV, "groups does not divide the output"},
    {"contrib.epu.qlinear_conv2d", C "groups=2, " Q, CONV, "dimension 1 of operand weight"},
    {"contrib.epu.qlinear_conv2d", C "dilation=[9, 9], " Q, CONV, "no window fits into the input"},
    {"contrib.epu.qlinear_conv2d", C "out_dtype=\"int32\", " Q, CONV,
     "set quantize_output=True for this layer"},
    {"contrib.epu.qlinear_conv2d", C "clamp_min=5, clamp_max=4, " Q, CONV,
     "clamp_min is above clamp_max"},
    {"contrib.epu.qlinear_conv2d",
     C "x_scale=1e-30f, x_zero_point=0, w_scale=1e-30f, w_zero_point=0, y_scale=1f, y_zero_point=0",
     CONV, "the scales of channel 0 combine to an unusable multiplier"},
    {"contrib.epu.qlinear_conv2d",
     C "x_scale=1f, x_zero_point=0, w_scale=input[2], w_zero_point=0, y_scale=1f, y_zero_point=0",
     CONV, "attribute w_scale (scale) is unusable; found Tensor[(6), int32]"},
    {"contrib.epu.dense",
     "units=1, x_scale=1f, x_zero_point=-128, w_scale=1f, w_zero_point=1, "
     "y_scale=1f, y_zero_point=0, out_dtype=\"int8\"",
     DENSE, ""}, /* all weights are 0, so this fits */
    {"contrib.epu.dense",
     "units=1, x_scale=1f, x_zero_point=-128, w_scale=1f, w_zero_point=100, "
     "y_scale=1f, y_zero_point=0",
     DENSE, "the int32 sum of output channel 0 could overflow (600000 products)"},
    {"nn.dense", "units=1", DENSE, "operand x has the wrong element type"},
    {"nn.max_pool2d", "pool_size=[5, 5]", IMAGE, "no window fits into the input"},
    {"nn.max_pool2d", "pool_size=[2, 2], padding=[2, 0, 0, 0]", IMAGE,
     "a pooling window lies in the padding alone"},
    {"nn.avg_pool2d", "pool_size=[2, 2]", VECTOR, "operand x has the wrong number of dimensions"},
    {"nn.adaptive_avg_pool2d", "output_size=[3, 2]", IMAGE,
     "the regions of the average would differ in size; found [3, 2] for an image of 4 x 4"},
    {"qnn.avg_pool2d", "pool_size=[2, 2], " A, IMAGE, "put qnn.quantize before it"},
    {"clip", "a_min=1f, a_max=0f", VECTOR, "the bounds are the wrong way round"},
    {"reshape", "newshape=[4]", VECTOR, "newshape does not keep the number of elements"},
    {"qnn.add",
     "a_scale=1f, a_zero_point=0, b_scale=1f, b_zero_point=0, y_scale=1f, y_zero_point=0", TWO,
     "the shapes of the operands do not fit together"},
    {"contrib.epu.channel_affine", "", AFFINE, "dimension 0 of operand scale does not fit"},
    {"contrib.epu.table", "", TABLE, "found Tensor[(255), int8], wanted 256"},
    {"nn.conv2", "", VECTOR, "nearest: nn.conv2d,"},
    {"aten.relu", "", VECTOR, "nearest: nn.relu,"},
    {"qnn.quantize", "0f, 0", VECTOR, "scale"},
};

static void test_faults(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const fault *f = &faults[i];
        cgc_tensor in[4], out;
        const int n = operands(f->types, in);
        cgc_ctx_clear(ctx);
        cgc_status status = cgc_op_infer(ctx, f->op, f->attrs, in, n, &out, 1);
        if (status == CGC_OK) { /* the values decide */
            out.data = malloc(out.bytes);
            status = cgc_op_eval(ctx, f->op, f->attrs, in, n, &out, 1);
            free(out.data);
        }
        if ((status == CGC_OK) != (*f->wanted == '\0') || !strstr(message(), f->wanted)) {
            CHECK(!"the message differs");
            printf("%s %s\n  [%s]\n  wanted [%s]\n", f->op, f->attrs, message(), f->wanted);
        }
    }
}

static void test_types(void)
{
    int8_t x[75], w[54];
    const cgc_tensor in[2] = {tensor(IR_int8, DIMS(1, 3, 5, 5), x),
                              tensor(IR_int8, DIMS(2, 3, 3, 3), w)};
    cgc_tensor t = {0};
    CHECK(cgc_op_infer(ctx, "contrib.epu.qlinear_conv2d",
                       "channels=2, kernel_size=[3, 3], padding=[1, 0, 1, 0], strides=[2, 1], " Q,
                       in, 2, &t, 1) == CGC_OK);
    CHECK(t.dtype == IR_int8 && t.rank == 4 && t.dims[1] == 2 && t.dims[2] == 3 && t.dims[3] == 3);
    CHECK(t.bytes == 18 && !t.data);
    const cgc_tensor pooled = tensor(IR_int8, DIMS(1, 1, 5, 5), x);
    CHECK(cgc_op_infer(ctx, "nn.max_pool2d", "pool_size=[2, 2], strides=[2, 2], ceil_mode=True",
                       &pooled, 1, &t, 1) == CGC_OK);
    CHECK(t.dims[2] == 3 && t.dims[3] == 3);
    CHECK(cgc_op_infer(ctx, "nn.relu", "", in, 1, &t, 2) == CGC_E_TYPE);
    CHECK(cgc_op_infer(ctx, "nn.relu", "", NULL, 1, &t, 1) == CGC_E_ARGUMENT);
    CHECK(cgc_op_infer(ctx, "nn.relu", "", in, 100, &t, 1) == CGC_E_ARGUMENT);
    CHECK(cgc_op_infer(ctx, "nn.relu", "", in, 0, &t, 1) == CGC_E_ARGUMENT);
}

static long peak_kib(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* 128 KiB of scratch and 64 KiB of graph per call would be some 400 MiB if calls kept them. */
static void test_memory(void)
{
    const int dims[4] = {1, 16, 64, 64};
    int8_t *x = calloc(65536, 1), *y = calloc(65536, 1);
    const cgc_tensor in = tensor(IR_int8, 4, dims, x), out = tensor(IR_int8, 4, dims, y);
    long before = 0;
    for (int i = 0; i < 2000; i++) {
        CHECK(eval("nn.max_pool2d", "pool_size=[1, 1]", &in, 1, out) == CGC_OK);
        before = i == 20 ? peak_kib() : before;
    }
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory for a while */
    CHECK(peak_kib() - before < 20000);
#endif
    free(x);
    free(y);
}

/* Every allocation fails once: each call reports it, and the next one works. A sanitizer finds what leaks. */
static void test_no_memory(void)
{
    static const char text[] =
        "def @main(%q: Tensor[(1, 2, 6, 6), int8], output_names=[\"out_0\"]) {\n"
        "  %0 = qnn.dequantize(%q, 0.5f, 3);\n"
        "  %1 = nn.relu(%0);\n"
        "  %2 = nn.global_avg_pool2d(%1);\n"
        "  qnn.quantize(%2, 0.7f, -128, out_dtype=\"int8\")\n"
        "}\n";
    int8_t x[72] = {1, 2, 3}, y[72];
    const cgc_tensor in = tensor(IR_int8, DIMS(1, 2, 6, 6), x);
    cgc_tensor out = tensor(IR_int8, DIMS(1, 2, 1, 1), y);
    cgc_tensor pooled = tensor(IR_int8, DIMS(1, 2, 6, 6), y);
    cgc_graph *g = NULL;
    CHECK(cgc_graph_parse(ctx, text, NULL, 0, &g) == CGC_OK);
    for (int what = 0; what < 2; what++) {
        cgc_status status = CGC_E_NOMEM;
        size_t n = 1;
        for (; status != CGC_OK && n < 2000; n++) {
            cgc_ctx_clear(ctx);
            ctx->n_allocs = 0;
            ctx->fail_at = n;
            status =
                what ? cgc_graph_interpret(g, &in, 1, &out, 1)
                     : cgc_op_eval(ctx, "nn.max_pool2d", "pool_size=[1, 1]", &in, 1, &pooled, 1);
            CHECK(status == CGC_OK || status == CGC_E_NOMEM);
        }
        CHECK(n > 10 && n < 2000);
        ctx->fail_at = 0;
    }
    cgc_graph_free(g);
}

int main(void)
{
    ctx = cgc_ctx_new();
    test_conv_values();
    test_values();
    test_faults();
    test_types();
    test_memory();
    test_no_memory();
    cgc_ctx_free(ctx);
    return check_done();
}
