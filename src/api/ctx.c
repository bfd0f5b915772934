/* SPDX-License-Identifier: Apache-2.0
 *
 * ctx.c - public functions about the context, its options and notes, element types and the list of
 * operators.
 */
#include "ops/op.h"
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

#ifndef CGC_VERSION
#define CGC_VERSION "0.0.0-dev"
#endif

struct options { /* what outlives cgc_ctx_clear */
    cgc_ctx ctx;
    arena dump;
};

cgc_ctx *cgc_ctx_new(void)
{
    struct options *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    arena_init(&o->ctx.arena, &o->ctx);
    arena_init(&o->ctx.scratch, &o->ctx);
    arena_init(&o->dump, &o->ctx);
    o->ctx.dump = "";
    return &o->ctx;
}

void cgc_ctx_free(cgc_ctx *ctx)
{
    if (!ctx)
        return;
    struct options *o = (struct options *)ctx;
    arena_deinit(&ctx->arena);
    arena_deinit(&ctx->scratch);
    arena_deinit(&o->dump);
    free(o);
}

void cgc_ctx_clear(cgc_ctx *ctx)
{
    ctx->error = (cgc_error){0};
    ctx->notes = NULL;
    ctx->n_notes = ctx->cap_notes = 0;
    arena_reset(&ctx->arena);
}

void cgc_ctx_error(const cgc_ctx *ctx, cgc_error *out_error)
{
    *out_error = ctx->error;
    if (ctx->error.code == CGC_OK) {
        out_error->id = "";
        out_error->message = out_error->layer = out_error->op = out_error->setting = "";
        out_error->found = out_error->wanted = out_error->cure = "";
    }
}

static bool known_pass(const char *name, size_t n)
{
    static const char *const names[] = {
#define PASS(name, meaning) #name,
#include "passes/passes.def"
#undef PASS
        "all"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == n && strncmp(names[i], name, n) == 0)
            return true;
    return false;
}

static cgc_status set_dump(cgc_ctx *ctx, const char *value)
{
    for (const char *p = value; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        if (!known_pass(p, n)) {
            diag_info info = {.setting = "dump", .found = value};
            info.wanted = "\"all\" or a comma list of pass names: "
#define PASS(name, meaning) #name " "
#include "passes/passes.def"
#undef PASS
                ;
            return diag(ctx, CGC_E_ARGUMENT, info, "option dump names an unknown pass");
        }
        p += n;
    }
    arena *a = &((struct options *)ctx)->dump;
    arena_reset(a);
    ctx->dump = "";
    ctx->dump = arena_strdup(a, value);
    return CGC_OK;
}

static cgc_status set_switch(cgc_ctx *ctx, const char *name, const char *value, bool *out)
{
    if (strcmp(value, "0") == 0 || strcmp(value, "1") == 0) {
        *out = value[0] == '1';
        return CGC_OK;
    }
    diag_info info = {.setting = name, .found = value, .wanted = "0 or 1"};
    return diag(ctx, CGC_E_ARGUMENT, info, "option %s is a switch", name);
}

static cgc_status set_option(cgc_ctx *ctx, const char *name, const char *value)
{
    if (strcmp(name, "strict") == 0)
        return set_switch(ctx, name, value, &ctx->strict);
    if (strcmp(name, "verbose") == 0)
        return set_switch(ctx, name, value, &ctx->verbose);
    if (strcmp(name, "dump") == 0)
        return set_dump(ctx, value);
    diag_info info = {.setting = name, .wanted = "strict, verbose or dump"};
    return diag(ctx, CGC_E_ARGUMENT, info, "unknown option '%s'", name);
}

cgc_status cgc_ctx_set_option(cgc_ctx *ctx, const char *name, const char *value)
{
    CGC_ENTER(ctx, CGC_E_NOMEM);
    cgc_status status = set_option(ctx, name ? name : "", value ? value : "");
    CGC_LEAVE(ctx);
    return status;
}

int32_t cgc_ctx_note_count(const cgc_ctx *ctx)
{
    return (int32_t)ctx->n_notes;
}

const char *cgc_ctx_note_get(const cgc_ctx *ctx, int32_t index)
{
    return index >= 0 && (size_t)index < ctx->n_notes ? ctx->notes[index] : "";
}

const char *cgc_version(void)
{
    return CGC_VERSION;
}

/* ---- element types and operators ---- */
cgc_dtype cgc_dtype_from_name(const char *name)
{
    ir_dtype d;
    return name && ir_dtype_by_name(name, &d) ? (cgc_dtype)d : -1;
}

const char *cgc_dtype_name(cgc_dtype dtype)
{
    return dtype >= 0 && dtype < IR_DTYPE_COUNT ? ir_dtype_name((ir_dtype)dtype) : "";
}

size_t cgc_dtype_bytes(cgc_dtype dtype)
{
    return dtype >= 0 && dtype < IR_DTYPE_COUNT ? ir_dtype_bytes((ir_dtype)dtype) : 0;
}

int32_t cgc_op_count(void)
{
    return OP_COUNT;
}

const char *cgc_op_name(int32_t op)
{
    return op >= 0 && op < OP_COUNT ? op_by_id((op_id)op)->name : "";
}

const char *cgc_op_meaning(int32_t op)
{
    return op >= 0 && op < OP_COUNT ? op_by_id((op_id)op)->meaning : "";
}
