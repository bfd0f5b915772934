/* SPDX-License-Identifier: Apache-2.0
 *
 * test_safetensors.c - constants on disk: every element type there and back, and each way in which a
 * header can lie about its data.
 */
#include "check.h"
#include "ir/safetensors.h"

#include <stdlib.h>

static cgc_ctx *ctx;
static arena mem;

/* A file of this header and n bytes 0, 1, 2, ... behind it. */
static const char *file_of(const char *header, size_t n, size_t *out_bytes)
{
    size_t length = strlen(header);
    char *data = arena_alloc(&mem, 8 + length + n);
    for (int i = 0; i < 8; i++)
        data[i] = (char)((uint64_t)length >> (8 * i) & 255);
    memcpy(data + 8, header, length);
    for (size_t i = 0; i < n; i++)
        data[8 + length + i] = (char)i;
    *out_bytes = 8 + length + n;
    return data;
}

static cgc_status read_file(const char *header, size_t n, st_tensor **out, size_t *out_count)
{
    size_t bytes;
    const char *data = file_of(header, n, &bytes);
    return st_read(ctx, &mem, data, bytes, out, out_count);
}

static void refuse(const char *header, size_t n, const char *reason)
{
    st_tensor *t;
    size_t count;
    cgc_error e;
    CHECK(read_file(header, n, &t, &count) != CGC_OK);
    cgc_ctx_error(ctx, &e);
    if (!strstr(e.message, reason))
        CHECK_STR(e.message, reason);
    cgc_ctx_clear(ctx);
}

static void test_read(void)
{
    st_tensor *t;
    size_t n;
    CHECK(read_file("{\"__metadata__\":{\"a\":\"b\"},"
                    "\"w\":{\"data_offsets\":[4,10],\"dtype\":\"I8\",\"shape\":[2,3]},"
                    "\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}  ",
                    10, &t, &n) == CGC_OK);
    CHECK(n == 2 && strcmp(t[0].name, "w") == 0 && strcmp(t[1].name, "s") == 0);
    CHECK(t[0].tensor.type.dtype == IR_int8 && t[0].tensor.type.dims[1] == 3);
    CHECK(((const char *)t[0].tensor.data)[5] == 9 && t[1].tensor.type.rank == 0);
    CHECK(read_file("{}", 0, &t, &n) == CGC_OK && n == 0);
}

#define ONE(dtype, shape, offsets)                                                                 \
    "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_refused(void)
{
    refuse(ONE("\"I8\"", "[4]", "[0,4]"), 5, "bytes behind the last tensor");
    refuse(ONE("\"I8\"", "[4]", "[1,5]"), 5, "a hole or an overlap");
    refuse(ONE("\"I8\"", "[4]", "[0,5]"), 5, "do not fit shape");
    refuse(ONE("\"I32\"", "[4]", "[0,4]"), 4, "do not fit shape");
    refuse(ONE("\"I8\"", "[4]", "[0,4]"), 3, "outside the file");
    refuse(ONE("\"I8\"", "[4]", "[4,0]"), 4, "outside the file");
    refuse(ONE("\"I8\"", "[4]", "[0]"), 4, "pair of whole numbers");
    refuse(ONE("\"I8\"", "[4]", "[0,4.5]"), 4, "pair of whole numbers");
    refuse(ONE("\"I8\"", "[-4]", "[0,4]"), 4, "not a whole number");
    refuse(ONE("\"I8\"", "[0]", "[0,0]"), 0, "unusable shape");
    refuse(ONE("\"I8\"", "[65536,65536]", "[0,4]"), 4, "unusable shape");
    refuse(ONE("\"I8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "at most 8 dimensions");
    refuse(ONE("\"BF16\"", "[2]", "[0,4]"), 4, "dtype is not supported; found BF16");
    refuse("{\"w\":{\"dtype\":\"I8\",\"shape\":[1]}}", 1, "exactly dtype, shape and data_offsets");
    refuse("{\"w\":[]}", 0, "exactly dtype, shape and data_offsets");
    refuse("{\"__metadata__\":{\"a\":1}}", 0, "something else than strings");
    refuse("[]", 0, "does not begin with '{'");
    refuse("{", 0, "JSON line 1");
    st_tensor *t;
    size_t n;
    CHECK(st_read(ctx, &mem, "\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10, &t, &n) == CGC_E_FORMAT);
    cgc_ctx_clear(ctx);
    CHECK(st_read(ctx, &mem, "abc", 3, &t, &n) == CGC_E_FORMAT);
    cgc_ctx_clear(ctx);
}

/* Every element type; written wide to narrow, so that each lies at a multiple of its size. */
static void test_write(void)
{
    st_tensor in[IR_DTYPE_COUNT], *out;
    size_t n;
    str s;
    for (int i = 0; i < IR_DTYPE_COUNT; i++) {
        in[i].name = arena_printf(&mem, "t\"%d", i);
        in[i].tensor.type = (ir_type){.dtype = (ir_dtype)i, .rank = 2, .dims = {3, 1}};
        in[i].tensor.data = arena_alloc(&mem, 64);
        memset(in[i].tensor.data, i + 1, 64);
    }
    str_init(&s, &mem);
    CHECK(st_write(ctx, in, IR_DTYPE_COUNT, &s) == CGC_OK);
    CHECK(st_read(ctx, &mem, s.data, s.len, &out, &n) == CGC_OK && n == IR_DTYPE_COUNT);
    for (size_t i = 0; i < n; i++) {
        int k = atoi(out[i].name + 2);
        const ir_tensor *t = &out[i].tensor;
        size_t bytes = ir_type_bytes(&t->type);
        CHECK_STR(out[i].name, in[k].name);
        CHECK(ir_type_equal(&t->type, &in[k].tensor.type));
        CHECK(memcmp(t->data, in[k].tensor.data, bytes) == 0);
        CHECK((size_t)((const char *)t->data - s.data) % ir_dtype_bytes(t->type.dtype) == 0);
    }
}

int main(void)
{
    ctx = cgc_ctx_new();
    if (!ctx)
        return 1;
    arena_init(&mem, ctx);
    test_read();
    test_refused();
    test_write();
    arena_deinit(&mem);
    cgc_ctx_free(ctx);
    return check_done();
}
