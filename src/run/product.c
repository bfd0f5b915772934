/* SPDX-License-Identifier: Apache-2.0
 *
 * product.c - loads what build.sh made: a shared library and its table, or an ELF image, with the weights of either.
 * A loaded product serves all later runs until it is built again or another build of it (traced or not) is asked for.
 */
#include "run/run.h"

#include <dlfcn.h>
#include <string.h>

#define WEIGHTS_MAX_BYTES ((size_t)1 << 31)
#define IMAGE_MAX_BYTES ((size_t)1 << 28)
#define ARENA_MAX_BYTES ((size_t)1 << 33)

void run_product_drop(run_product *product)
{
    if (product->library)
        dlclose(product->library);
    if (product->loaded)
        arena_deinit(&product->arena);
    memset(product, 0, sizeof *product);
}

static cgc_status open_library(cgc_program *p, const char *path, run_product *out)
{
    diag_info info = {.wanted = "ccl_program_get",
                      .cure = "remove the build folder and build again"};
    out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!out->library) {
        info.found = dlerror();
        return diag(p->ctx, CGC_E_BUILD, info, "cannot load '%s'", path);
    }
    const run_entry *(*entry)(void);
    void *symbol = dlsym(out->library, "ccl_program_get");
    memcpy(&entry, &symbol, sizeof entry); /* POSIX: an object pointer holds it */
    if (!symbol)
        return diag(p->ctx, CGC_E_BUILD, info, "'%s' is not a program of this compiler", path);
    out->entry = entry();
    size_t bytes = out->entry->arena_bytes();
    if (bytes > ARENA_MAX_BYTES)
        return diag(p->ctx, CGC_E_LIMIT, (diag_info){.wanted = "at most 8 GiB"},
                    "'%s' asks for %zu bytes of memory", path, bytes);
    out->memory = arena_alloc(&out->arena, bytes ? bytes : 1);
    return CGC_OK;
}

static cgc_status load(cgc_program *p, run_kind kind, const char *path, run_product *out)
{
    const char *which = kind == RUN_HOST ? "host" : "epu";
    const char *weights = arena_printf(&out->arena, "%s/weights_%s.bin", p->source_path, which);
    TRY(file_read(p->ctx, &out->arena, weights, WEIGHTS_MAX_BYTES, &out->weights,
                  &out->weights_bytes));
    size_t wanted;
    if (kind == RUN_ISS) {
        TRY(file_read(p->ctx, &out->arena, path, IMAGE_MAX_BYTES, &out->image, &out->image_bytes));
        wanted = p->weights_bytes;
    } else {
        TRY(open_library(p, path, out));
        wanted = out->entry->weights_bytes();
    }
    if (out->weights_bytes != wanted)
        return diag(p->ctx, CGC_E_FORMAT, (diag_info){.cure = "compile the model again"},
                    "'%s' has %zu bytes; the program wants %zu", weights, out->weights_bytes,
                    wanted);
    return CGC_OK;
}

/* The manifest in memory must be the tree's: sizes of inputs and outputs come from it. */
static cgc_status check_same_tree(cgc_program *p)
{
    const run_stamp now =
        run_stamp_of(arena_printf(&p->result, "%s/manifest.json", p->source_path));
    if (memcmp(&now, &p->manifest, sizeof now) == 0)
        return CGC_OK;
    return diag(p->ctx, CGC_E_FILE, (diag_info){.setting = p->source_path, .cure = "open it again"},
                "the program was %s since it was opened", now.sec ? "compiled again" : "removed");
}

cgc_status run_product_get(cgc_program *p, run_kind kind, bool traced, run_product **out)
{
    run_product *product = &p->products[kind];
    const char *path;
    bool rebuilt;
    if (kind == RUN_ISS)
        traced = false;
    TRY(check_same_tree(p));
    TRY(run_build(p, kind, traced, &path, &rebuilt));
    *out = product;
    if (product->loaded && product->traced == traced)
        return CGC_OK;
    run_product_drop(product);
    arena_init(&product->arena, p->ctx);
    product->loaded = true;
    product->traced = traced;
    cgc_status s = load(p, kind, path, product);
    if (s != CGC_OK)
        run_product_drop(product);
    return s;
}
