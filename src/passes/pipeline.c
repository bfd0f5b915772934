/* SPDX-License-Identifier: Apache-2.0
 *
 * pipeline.c - runs the passes of passes.def in order, verifies the graph after each and logs it on
 * request.
 */
#include "passes/pass.h"

#include <string.h>

typedef struct pass_info {
    const char *name;
    cgc_status (*run)(ir_graph *g);
} pass_info;

static const pass_info passes[] = {
#define PASS(name, meaning) {#name, pass_##name},
#include "passes/passes.def"
#undef PASS
};
enum { PASS_COUNT = sizeof passes / sizeof passes[0] };

/* Whether the comma list names the pass, or is "all". */
static bool listed(const char *list, const char *name)
{
    const size_t n = strlen(name);
    if (!list)
        return false;
    if (strcmp(list, "all") == 0)
        return true;
    for (const char *at = list; *at;) {
        const size_t len = strcspn(at, ",");
        if (len == n && memcmp(at, name, n) == 0)
            return true;
        at += len + (at[len] == ',');
    }
    return false;
}

static void dump(ir_graph *g, const char *name)
{
    str text;
    if (!listed(g->ctx->dump, name))
        return;
    str_init(&text, &g->ctx->scratch);
    ir_print(g, true, &text);
    log_line(g->ctx, "after %s:\n%s", name, text.data);
}

static cgc_status unknown(cgc_ctx *ctx, const char *name)
{
    str names;
    str_init(&names, &ctx->arena);
    for (int i = 0; i < PASS_COUNT; i++)
        str_printf(&names, "%s%s", i ? ", " : "", passes[i].name);
    const diag_info info = {.setting = "last", .found = name, .wanted = names.data};
    return diag(ctx, CGC_E_ARGUMENT, info, "there is no pass '%s'", name);
}

cgc_status pass_run(ir_graph *g, const char *last)
{
    int end = *last ? 0 : PASS_COUNT;
    for (int i = 0; i < PASS_COUNT; i++)
        if (strcmp(passes[i].name, last) == 0)
            end = i + 1;
    if (!end)
        return unknown(g->ctx, last);
    TRY(ir_verify(g));
    for (int i = 0; i < end; i++) {
        TRY(passes[i].run(g));
        ir_renumber(g);
        TRY(ir_verify(g));
        dump(g, passes[i].name);
        scratch_reset(g->ctx);
    }
    return CGC_OK;
}
