/* SPDX-License-Identifier: Apache-2.0
 *
 * ctx.c - the context's inner workings: the way out when memory is exhausted, the guards that release half-made
 * objects then, scratch memory and the log. Invariant: outside a public call nomem is NULL and no guard is
 * registered.
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

void ctx_nomem(cgc_ctx *ctx)
{
    if (ctx->nomem)
        longjmp(*ctx->nomem, 1);
}

void ctx_unwind(cgc_ctx *ctx, jmp_buf *old_nomem, guard *old_guards)
{
    ctx->nomem = old_nomem;
    while (ctx->guards && ctx->guards != old_guards) {
        guard *g = ctx->guards;
        ctx->guards = g->next;
        void (*release)(void *) = g->release;
        g->release = NULL;
        release(g->object);
    }
    if (ctx->error.code == CGC_OK) { /* constant strings: there is no memory for others */
        ctx->error = (cgc_error){
            .code = CGC_E_NOMEM,
            .id = "E_NOMEM",
            .message = "error[E_NOMEM] out of memory",
            .layer = "",
            .op = "",
            .setting = "",
            .found = "",
            .wanted = "",
            .cure = "",
        };
    }
}

void ctx_leave(cgc_ctx *ctx, jmp_buf *old_nomem)
{
    ctx->nomem = old_nomem;
    if (old_nomem) /* an inner call's objects stay guarded by the outer call */
        return;
    for (guard *g = ctx->guards; g; g = g->next)
        g->release = NULL;
    ctx->guards = NULL;
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
