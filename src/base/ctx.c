/* SPDX-License-Identifier: Apache-2.0
 *
 * ctx.c - the context's inner workings: the way out when memory is exhausted, the guards that
 * release half-made objects then, scratch memory and the log. Invariant: outside a public call
 * entry is NULL and no guard is registered.
 */
#include "base/base.h"

#include <stdio.h>

void guard_push(cgc_ctx *ctx, guard *g, void (*release)(void *object), void *object)
{
    g->release = release;
    g->object = object;
    g->next = ctx->guards;
    ctx->guards = g;
}

void guard_drop(cgc_ctx *ctx, guard *g)
{
    if (!g->release)
        return;
    g->release = NULL;
    for (guard **at = &ctx->guards; *at; at = &(*at)->next) {
        if (*at == g) {
            *at = g->next;
            return;
        }
    }
}

static void release_arena(void *object)
{
    arena_deinit(object);
}

void arena_guard_init(arena_guard *a, cgc_ctx *ctx)
{
    arena_init(&a->arena, ctx);
    guard_push(ctx, &a->guard, release_arena, &a->arena);
}

void arena_guard_deinit(arena_guard *a)
{
    guard_drop(a->arena.ctx, &a->guard);
    arena_deinit(&a->arena);
}

void ctx_enter(cgc_ctx *ctx, ctx_entry *entry)
{
    entry->outer = ctx->entry;
    entry->guards = ctx->guards;
    ctx->entry = entry;
}

void ctx_leave(cgc_ctx *ctx, ctx_entry *entry)
{
    ctx->entry = entry->outer;
    if (entry->outer) /* an inner call's objects stay guarded by the outer call */
        return;
    for (guard *g = ctx->guards; g; g = g->next)
        g->release = NULL;
    ctx->guards = NULL;
}

static void record_nomem(cgc_ctx *ctx)
{
    if (ctx->error.code != CGC_OK)
        return;
    ctx->error = (cgc_error){
        /* constant strings: there is no memory for others */
        .code = CGC_E_NOMEM, .id = "E_NOMEM", .message = "error[E_NOMEM] out of memory",
        .layer = "",         .op = "",        .setting = "",
        .found = "",         .wanted = "",    .cure = "",
    };
}

/* Guards may lie on the stack of the functions that are left, so they are released before the
 * jump. */
void ctx_nomem(cgc_ctx *ctx)
{
    ctx_entry *entry = ctx->entry;
    if (!entry)
        return;
    record_nomem(ctx); /* first, so that it stays when a release fails too */
    while (ctx->guards && ctx->guards != entry->guards) {
        guard *g = ctx->guards;
        void (*release)(void *) = g->release;
        ctx->guards = g->next;
        g->release = NULL;
        release(g->object);
    }
    longjmp(entry->buf, 1);
}

void scratch_reset(cgc_ctx *ctx)
{
    arena_reset(&ctx->scratch);
}

void log_line(cgc_ctx *ctx, const char *fmt, ...)
{
    if (!ctx->verbose && (!ctx->dump || !*ctx->dump))
        return;
    va_list ap;
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}
