/* SPDX-License-Identifier: Apache-2.0
 *
 * safetensors.c - constants on disk. Bytes -> tensors that point into them, and back. Every number
 * of the header is checked before it is used; the ranges must tile the data without hole or
 * overlap, so nothing can hide in the file.
 */
#include "ir/safetensors.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER_BYTES = 100000000, LENGTH_BYTES = 8 };

static const char *const st_names[IR_DTYPE_COUNT] = {
#define DTYPE(name, bytes, ctype, st) st,
#include "ir/dtype.def"
#undef DTYPE
};

typedef struct range {
    uint64_t begin, end;
    const char *name;
} range;

static cgc_status bad(cgc_ctx *ctx, const char *tensor, const char *what)
{
    return diag(ctx, CGC_E_FORMAT, (diag_info){.setting = tensor}, "safetensors file: %s", what);
}

/* A non-negative integer below 2^53, or false. */
static bool read_whole(const json *v, uint64_t *out)
{
    if (v->kind != JSON_NUMBER || !(v->number >= 0.0 && v->number < 9007199254740992.0))
        return false;
    *out = (uint64_t)v->number;
    return (double)*out == v->number;
}

static cgc_status read_shape(cgc_ctx *ctx, const json *entry, ir_type *t)
{
    const json *shape = json_get(entry, "shape");
    if (!shape || shape->kind != JSON_ARRAY || shape->count > IR_MAX_RANK)
        return bad(ctx, entry->key, "shape is not a list of at most 8 dimensions");
    for (const json *d = shape->child; d; d = d->next) {
        uint64_t dim;
        if (!read_whole(d, &dim))
            return bad(ctx, entry->key, "a dimension is not a whole number");
        t->dims[t->rank++] = (int64_t)dim;
    }
    return ir_type_check(ctx, t, (diag_info){.setting = entry->key},
                         "a tensor of the safetensors file");
}

static cgc_status read_dtype(cgc_ctx *ctx, const json *entry, ir_dtype *out)
{
    const json *dtype = json_get(entry, "dtype");
    for (int32_t i = 0; dtype && dtype->kind == JSON_STRING && i < IR_DTYPE_COUNT; i++) {
        if (strcmp(dtype->string, st_names[i]) == 0) {
            *out = (ir_dtype)i;
            return CGC_OK;
        }
    }
    diag_info info = {.setting = entry->key,
                      .found = dtype && dtype->kind == JSON_STRING ? dtype->string : "nothing",
                      .wanted = "I8, U8, I16, I32, I64, F32 or BOOL"};
    return diag(ctx, CGC_E_FORMAT, info, "safetensors file: a tensor's dtype is not supported");
}

static cgc_status read_entry(cgc_ctx *ctx, const json *entry, size_t data_bytes, ir_type *type,
                             range *r)
{
    *type = (ir_type){0};
    *r = (range){.name = entry->key};
    if (entry->kind != JSON_OBJECT || entry->count != 3)
        return bad(ctx, entry->key, "an entry needs exactly dtype, shape and data_offsets");
    TRY(read_dtype(ctx, entry, &type->dtype));
    TRY(read_shape(ctx, entry, type));
    const json *offsets = json_get(entry, "data_offsets");
    if (!offsets || offsets->kind != JSON_ARRAY || offsets->count != 2 ||
        !read_whole(offsets->child, &r->begin) || !read_whole(offsets->child->next, &r->end))
        return bad(ctx, entry->key, "data_offsets is not a pair of whole numbers");
    if (r->begin > r->end || r->end > data_bytes)
        return bad(ctx, entry->key, "data_offsets lie outside the file");
    if (r->end - r->begin != ir_type_bytes(type))
        return bad(ctx, entry->key, "data_offsets do not fit shape times element size");
    return CGC_OK;
}

static int compare_ranges(const void *a, const void *b)
{
    uint64_t x = ((const range *)a)->begin, y = ((const range *)b)->begin;
    return (x > y) - (x < y);
}

static cgc_status check_tiling(cgc_ctx *ctx, range *ranges, size_t n, size_t data_bytes)
{
    uint64_t end = 0;
    if (n > 1)
        qsort(ranges, n, sizeof *ranges, compare_ranges);
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].begin != end)
            return bad(ctx, ranges[i].name, "the data has a hole or an overlap before this tensor");
        end = ranges[i].end;
    }
    return end == data_bytes ? CGC_OK : bad(ctx, NULL, "bytes behind the last tensor");
}

static cgc_status check_metadata(cgc_ctx *ctx, const json *entry)
{
    if (entry->kind != JSON_OBJECT)
        return bad(ctx, entry->key, "__metadata__ is not an object");
    for (const json *c = entry->child; c; c = c->next)
        if (c->kind != JSON_STRING)
            return bad(ctx, c->key, "__metadata__ holds something else than strings");
    return CGC_OK;
}

static cgc_status read_entries(cgc_ctx *ctx, arena *a, const json *root, const char *data,
                               size_t data_bytes, st_tensor *tensors, size_t *out_count)
{
    range *ranges = arena_array(a, (size_t)root->count, sizeof *ranges);
    size_t n = 0;
    for (const json *entry = root->child; entry; entry = entry->next) {
        if (strcmp(entry->key, "__metadata__") == 0) {
            TRY(check_metadata(ctx, entry));
            continue;
        }
        st_tensor *t = &tensors[n];
        TRY(read_entry(ctx, entry, data_bytes, &t->tensor.type, &ranges[n]));
        t->name = entry->key;
        t->tensor.data = (void *)(uintptr_t)(data + ranges[n].begin);
        n++;
    }
    *out_count = n;
    return check_tiling(ctx, ranges, n, data_bytes);
}

cgc_status st_read(cgc_ctx *ctx, arena *a, const char *data, size_t bytes, st_tensor **out_tensors,
                   size_t *out_count)
{
    uint64_t header = 0;
    json *root;
    if (bytes < LENGTH_BYTES)
        return bad(ctx, NULL, "shorter than its length field");
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        header = header << 8 | (unsigned char)data[i];
    if (header > MAX_HEADER_BYTES || header > bytes - LENGTH_BYTES)
        return bad(ctx, NULL, "the header's length is beyond the file or 100 MB");
    if (header == 0 || data[LENGTH_BYTES] != '{')
        return bad(ctx, NULL, "the header does not begin with '{'");
    TRY(json_parse(ctx, a, data + LENGTH_BYTES, (size_t)header, &root));
    *out_tensors = arena_array(a, (size_t)root->count, sizeof **out_tensors);
    size_t start = LENGTH_BYTES + (size_t)header;
    return read_entries(ctx, a, root, data + start, bytes - start, *out_tensors, out_count);
}

static void put_entry(str *s, const st_tensor *t, size_t begin)
{
    const ir_type *type = &t->tensor.type;
    json_put_string(s, t->name);
    str_printf(s, ":{\"dtype\":\"%s\",\"shape\":[", st_names[type->dtype]);
    for (int32_t i = 0; i < type->rank; i++)
        str_printf(s, "%s%lld", i ? "," : "", (long long)type->dims[i]);
    str_printf(s, "],\"data_offsets\":[%zu,%zu]}", begin, begin + ir_type_bytes(type));
}

cgc_status st_write(cgc_ctx *ctx, const st_tensor *tensors, size_t count, str *out)
{
    str header;
    size_t begin = 0;
    str_init(&header, out->a);
    str_put(&header, "{\"__metadata__\":{\"format\":\"opencgc\"}");
    for (size_t width = 8; width >= 1; width /= 2) {
        for (size_t i = 0; i < count; i++) {
            const ir_type *type = &tensors[i].tensor.type;
            if (ir_dtype_bytes(type->dtype) != width)
                continue;
            str_put(&header, ",");
            put_entry(&header, &tensors[i], begin);
            begin += ir_type_bytes(type);
        }
    }
    str_put(&header, "}");
    while (header.len % LENGTH_BYTES)
        str_put(&header, " ");
    if (header.len > MAX_HEADER_BYTES)
        return diag(ctx, CGC_E_LIMIT, (diag_info){.wanted = "at most 100 MB"},
                    "too many constants for one file");
    char length[LENGTH_BYTES];
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (char)((uint64_t)header.len >> (8 * i) & 255u);
    str_putn(out, length, LENGTH_BYTES);
    str_putn(out, header.data, header.len);
    for (size_t width = 8; width >= 1; width /= 2)
        for (size_t i = 0; i < count; i++)
            if (ir_dtype_bytes(tensors[i].tensor.type.dtype) == width)
                str_putn(out, tensors[i].tensor.data, ir_type_bytes(&tensors[i].tensor.type));
    return CGC_OK;
}
