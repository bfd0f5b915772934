/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_safetensors.c - the safetensors reader over any bytes. Every tensor that it accepts is read
 * to its last byte; written again and read again, names, types and bytes are the same.
 */
#include "fuzz.h"
#include "ir/safetensors.h"

#include <string.h>

static const st_tensor *find(const st_tensor *tensors, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(tensors[i].name, name) == 0)
            return &tensors[i];
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cgc_ctx *ctx = cgc_ctx_new();
    arena a;
    st_tensor *tensors, *again;
    size_t n, n_again;
    arena_init(&a, ctx);
    if (st_read(ctx, &a, (const char *)data, size, &tensors, &n) == CGC_OK) {
        str s;
        str_init(&s, &a);
        REQUIRE(st_write(ctx, tensors, n, &s) == CGC_OK);
        REQUIRE(st_read(ctx, &a, s.data, s.len, &again, &n_again) == CGC_OK && n_again == n);
        for (size_t i = 0; i < n; i++) {
            const ir_tensor *t = &tensors[i].tensor;
            const st_tensor *other = find(again, n, tensors[i].name);
            REQUIRE(other && ir_type_equal(&other->tensor.type, &t->type));
            REQUIRE(memcmp(other->tensor.data, t->data, ir_type_bytes(&t->type)) == 0);
        }
    } else {
        REQUIRE(ctx->error.code != CGC_OK);
    }
    arena_deinit(&a);
    cgc_ctx_free(ctx);
    return 0;
}
