/* SPDX-License-Identifier: Apache-2.0
 *
 * type.c - element types (dtype.def) and tensor types. Invariant kept by ir_type_check: a type in a
 * graph has dims of at least 1 and fewer than 2^31 bytes, so element counts and byte counts below
 * never overflow.
 */
#include "ir/ir.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[IR_DTYPE_COUNT] = {
#define DTYPE(name, bytes, ctype, st) {#name, bytes},
#include "ir/dtype.def"
#undef DTYPE
};

size_t ir_dtype_bytes(ir_dtype d)
{
    return (unsigned)d < IR_DTYPE_COUNT ? dtypes[d].bytes : 0;
}

const char *ir_dtype_name(ir_dtype d)
{
    return (unsigned)d < IR_DTYPE_COUNT ? dtypes[d].name : "?";
}

bool ir_dtype_by_name(const char *name, ir_dtype *out)
{
    for (int32_t i = 0; i < IR_DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = (ir_dtype)i;
            return true;
        }
    }
    return false;
}

int64_t ir_type_elems(const ir_type *t)
{
    int64_t n = 1;
    for (int32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

size_t ir_type_bytes(const ir_type *t)
{
    return (size_t)ir_type_elems(t) * ir_dtype_bytes(t->dtype);
}

bool ir_type_equal(const ir_type *a, const ir_type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

const char *ir_type_text(arena *a, const ir_type *t)
{
    str s;
    str_init(&s, a);
    str_put(&s, "Tensor[(");
    for (int32_t i = 0; i < t->rank && i < IR_MAX_RANK; i++)
        str_printf(&s, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
    str_printf(&s, "), %s]", ir_dtype_name(t->dtype));
    return s.data;
}

cgc_status ir_type_check(cgc_ctx *ctx, const ir_type *t, diag_info where, const char *what)
{
    if ((unsigned)t->dtype >= IR_DTYPE_COUNT) {
        where.found = arena_printf(&ctx->arena, "%d", (int)t->dtype);
        where.wanted = "an element type of src/ir/dtype.def";
        return diag(ctx, CGC_E_TYPE, where, "%s has an unknown element type", what);
    }
    if (t->rank < 0 || t->rank > IR_MAX_RANK) {
        where.found = arena_printf(&ctx->arena, "%d", (int)t->rank);
        where.wanted = arena_printf(&ctx->arena, "0 to %d", IR_MAX_RANK);
        return diag(ctx, CGC_E_TYPE, where, "%s has an unusable number of dimensions", what);
    }
    int64_t bytes = (int64_t)ir_dtype_bytes(t->dtype);
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 1 || t->dims[i] > INT32_MAX / bytes) {
            where.found = ir_type_text(&ctx->arena, t);
            where.wanted = "dimensions of at least 1, fewer than 2^31 bytes in all";
            return diag(ctx, CGC_E_TYPE, where, "%s has an unusable shape", what);
        }
        bytes *= t->dims[i];
    }
    return CGC_OK;
}
