/* SPDX-License-Identifier: Apache-2.0
 *
 * save.c - a graph on disk: <path> holds the text form with a version line and layers, <path
 * without .cgc>.safetensors the constants as constant_0, constant_1, ... The version line carries a
 * checksum of the constants' file, so that two files of different saves (a crash between the two
 * renames, a copied half) are not taken for one graph.
 */
#include "ir/parse.h"
#include "ir/safetensors.h"

#include <string.h>

enum { MAX_TEXT_BYTES = 256 << 20 };
#define MAX_TENSOR_BYTES ((size_t)1 << 33)

static const char *tensors_path(arena *a, const char *path)
{
    size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".cgc") == 0)
        n -= 4;
    return arena_printf(a, "%.*s.safetensors", (int)n, path);
}

/* FNV-1a over 64 bits: finds mixed-up files and flipped bits, not malice. */
static const char *checksum(arena *a, const char *data, size_t bytes)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)data[i]) * 1099511628211u;
    return arena_printf(a, "fnv1a64:%016llx", (unsigned long long)h);
}

static cgc_status save(ir_graph *g, arena *a, const char *path)
{
    size_t n;
    str text, file;
    ir_value **used = ir_used_constants(g, a, &n);
    st_tensor *tensors = arena_array(a, n, sizeof *tensors);
    for (size_t i = 0; i < n; i++) {
        tensors[i].name = arena_printf(a, "constant_%zu", i);
        tensors[i].tensor =
            (ir_tensor){.type = used[i]->type, .data = (void *)(uintptr_t)used[i]->data};
    }
    if (path_is_folder(path)) /* known before the constants are written */
        return diag(g->ctx, CGC_E_FILE,
                    (diag_info){.setting = "path",
                                .found = "a folder",
                                .wanted = "a file name",
                                .cure = "name the file, for example model.cgc"},
                    "cannot write %s", path);
    str_init(&file, a);
    str_init(&text, a);
    TRY(st_write(g->ctx, tensors, n, &file));
    str_printf(&text, "#[version = \"1\", constants = \"%s\"]\n", checksum(a, file.data, file.len));
    ir_print(g, true, &text);
    TRY(file_write(g->ctx, tensors_path(a, path), file.data, file.len));
    return file_write(g->ctx, path, text.data, text.len);
}

cgc_status ir_save(ir_graph *g, const char *path)
{
    arena_guard a;
    arena_guard_init(&a, g->ctx);
    cgc_status status = ir_verify(g);
    if (status == CGC_OK)
        status = save(g, &a.arena, path);
    arena_guard_deinit(&a);
    return status;
}

/* Tensors named constant_0 ... constant_<n-1>, put in that order. */
static cgc_status order_tensors(cgc_ctx *ctx, arena *a, const st_tensor *tensors, size_t n,
                                ir_tensor **out)
{
    ir_tensor *ordered = arena_array(a, n, sizeof *ordered);
    for (size_t i = 0; i < n; i++) {
        int64_t index = -1;
        const char *name = tensors[i].name, *digits = name + 9;
        if (strncmp(name, "constant_", 9) == 0 && parse_i64(digits, &index) != strlen(digits))
            index = -1;
        if (index < 0 || index >= (int64_t)n || ordered[index].data) {
            diag_info info = {.found = name,
                              .wanted = arena_printf(a, "constant_0 to constant_%zu", n - 1)};
            return diag(ctx, CGC_E_FORMAT, info, "the constants' file holds an unexpected tensor");
        }
        ordered[index] = tensors[i].tensor;
    }
    *out = ordered;
    return CGC_OK;
}

static cgc_status load(cgc_ctx *ctx, arena *a, const char *path, ir_graph **out)
{
    char *text, *file;
    size_t text_bytes, file_bytes, n;
    st_tensor *tensors;
    ir_tensor *ordered = NULL;
    ir_header header;
    const char *tensors_file = tensors_path(a, path);
    TRY(file_read(ctx, a, path, MAX_TEXT_BYTES, &text, &text_bytes));
    TRY(file_read(ctx, a, tensors_file, MAX_TENSOR_BYTES, &file, &file_bytes));
    TRY(st_read(ctx, a, file, file_bytes, &tensors, &n));
    TRY(order_tensors(ctx, a, tensors, n, &ordered));
    TRY(ir_parse_text(ctx, text, text_bytes, ordered, n, &header, out));
    const char *found = checksum(a, file, file_bytes);
    if (!header.constants || strcmp(header.constants, found) == 0)
        return CGC_OK;
    diag_info info = {
        .found = found,
        .wanted = header.constants,
        .cure = "copy both files of one save; or, if you changed the constants on purpose, remove "
                "constants = ... from the first line"};
    cgc_status status = diag(ctx, CGC_E_FORMAT, info, "'%s' and '%s' belong to different saves",
                             path, tensors_file);
    ir_graph_free(*out); /* last: the header's text lies in it */
    *out = NULL;
    return status;
}

cgc_status ir_load(cgc_ctx *ctx, const char *path, ir_graph **out)
{
    arena_guard a;
    arena_guard_init(&a, ctx);
    *out = NULL;
    cgc_status status = load(ctx, &a.arena, path, out);
    arena_guard_deinit(&a);
    if (status != CGC_OK)
        diag_append(ctx, "  in: %s", path);
    return status;
}
