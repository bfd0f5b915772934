/* SPDX-License-Identifier: Apache-2.0
 *
 * diag.c - failures and notes: one text form for all of them (base.h). The first failure of a
 * context wins and is recorded only when all its strings are made, so that running out of memory
 * leaves no half a record.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

static const char *const status_ids[CGC_STATUS_COUNT] = {
#define STATUS(code, text) "E_" #code,
#include "base/status.def"
#undef STATUS
};
static const char *const status_texts[CGC_STATUS_COUNT] = {
#define STATUS(code, text) text,
#include "base/status.def"
#undef STATUS
};

const char *status_id(cgc_status code)
{
    return code >= 0 && code < CGC_STATUS_COUNT ? status_ids[code] : "E_UNKNOWN";
}

const char *status_text(cgc_status code)
{
    return code >= 0 && code < CGC_STATUS_COUNT ? status_texts[code] : "unknown status";
}

static bool given(const char *s)
{
    return s && *s;
}

static const char *keep(cgc_ctx *ctx, const char *s)
{
    return given(s) ? arena_strdup(&ctx->arena, s) : "";
}

static char *format(cgc_ctx *ctx, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *text = arena_alloc(&ctx->arena, n > 0 ? (size_t)n + 1 : 1);
    if (n > 0)
        (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

/* "layer 'x' (op): ", with whatever is known. A setting that the sentence does not name stands
 * before it. */
static void put_where(str *s, const diag_info *info, const char *what)
{
    if (given(info->layer))
        str_printf(s, "layer '%s'", info->layer);
    if (given(info->op))
        str_printf(s, given(info->layer) ? " (%s)" : "%s", info->op);
    if (given(info->layer) || given(info->op))
        str_put(s, ": ");
    if (given(info->setting) && !strstr(what, info->setting))
        str_printf(s, "%s: ", info->setting);
    str_put(s, what);
}

static const char *message(cgc_ctx *ctx, cgc_status code, const diag_info *info, const char *what)
{
    str s;
    str_init(&s, &ctx->arena);
    str_printf(&s, "error[%s] ", status_id(code));
    put_where(&s, info, what);
    if (given(info->found))
        str_printf(&s, "; found %s", info->found);
    if (given(info->wanted))
        str_printf(&s, "%s wanted %s", given(info->found) ? "," : ";", info->wanted);
    if (given(info->cure))
        str_printf(&s, "\n  cure: %s", info->cure);
    return s.data;
}

cgc_status diag(cgc_ctx *ctx, enum cgc_status_code code, diag_info info, const char *fmt, ...)
{
    if (ctx->error.code != CGC_OK)
        return (cgc_status)code;
    va_list ap;
    va_start(ap, fmt);
    const char *what = format(ctx, fmt, ap);
    va_end(ap);
    cgc_error e = {
        .code = (cgc_status)code,
        .id = status_id((cgc_status)code),
        .message = message(ctx, (cgc_status)code, &info, what),
        .layer = keep(ctx, info.layer),
        .op = keep(ctx, info.op),
        .setting = keep(ctx, info.setting),
        .found = keep(ctx, info.found),
        .wanted = keep(ctx, info.wanted),
        .cure = keep(ctx, info.cure),
    };
    ctx->error = e;
    return (cgc_status)code;
}

void diag_append(cgc_ctx *ctx, const char *fmt, ...)
{
    if (ctx->error.code == CGC_OK)
        return;
    va_list ap;
    va_start(ap, fmt);
    const char *line = format(ctx, fmt, ap);
    va_end(ap);
    ctx->error.message = arena_printf(&ctx->arena, "%s\n%s", ctx->error.message, line);
}

cgc_status note(cgc_ctx *ctx, diag_info info, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *what = format(ctx, fmt, ap);
    va_end(ap);
    if (ctx->strict)
        return diag(ctx, CGC_E_STRICT, info, "%s", what);
    str s;
    str_init(&s, &ctx->arena);
    put_where(&s, &info, what);
    ctx->notes = arena_grow(&ctx->arena, (void *)ctx->notes, &ctx->cap_notes, ctx->n_notes + 1,
                            sizeof *ctx->notes);
    ctx->notes[ctx->n_notes++] = s.data;
    log_line(ctx, "note: %s", s.data);
    return CGC_OK;
}
