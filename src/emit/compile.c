/* SPDX-License-Identifier: Apache-2.0
 *
 * compile.c - graph -> source tree: passes, both plans, both emitters, then one rename. Nothing is
 * written under the final name until everything has succeeded; the caller's graph is not changed.
 */
#include "emit/compile.h"

#include "passes/pass.h"

#include <string.h>

enum { MODULE_NAME_MAX = 64 };

/* Names of the program's functions and types begin with the module's; "ccl_" is the kernels'. */
static bool usable_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > MODULE_NAME_MAX || (name[0] >= '0' && name[0] <= '9'))
        return false;
    if (strncmp(name, "ccl_", strlen("ccl_")) == 0)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

cgc_status compile_check_name(cgc_ctx *ctx, const char *name)
{
    if (usable_name(name))
        return CGC_OK;
    return diag(ctx, CGC_E_NAME,
                (diag_info){.setting = "module_name",
                            .found = name[0] ? name : "an empty name",
                            .wanted =
                                "letters, digits and '_', at most 64, not starting with a digit or "
                                "'ccl_'",
                            .cure = "give a plain name and choose the folder with build_path"},
                "module name is unusable");
}

static str *new_texts(arena *a, size_t n)
{
    str *s = arena_array(a, n ? n : 1, sizeof *s);
    for (size_t i = 0; i < n; i++)
        str_init(&s[i], a);
    return s;
}

static cgc_status emit_all(plan *host, plan *epu, emit_tree *t)
{
    str *host_facts = new_texts(t->arena, host->n_steps);
    str *epu_facts = new_texts(t->arena, epu->n_steps);
    emit_epu_map map = {.bytes = 0};
    TRY(emit_host_program(host, t, host_facts));
    TRY(emit_epu_program(epu, t, epu_facts, &map));
    TRY(emit_build_files(host, epu, t));
    TRY(emit_manifest(host, epu, host_facts, epu_facts, &map, t));
    return emit_report(host, epu, t);
}

/* g is lowered in place; both plans live in its arena. */
static cgc_status make_tree(ir_graph *g, const cgc_hw *hw, const char *module, emit_tree *t)
{
    plan *host, *epu;
    if (g->n_inputs > IR_MAX_INPUTS || g->n_outputs > IR_MAX_INPUTS)
        return diag(g->ctx, CGC_E_LIMIT,
                    (diag_info){.wanted = "at most 16 graph inputs and 16 outputs",
                                .cure = "split the model, or concatenate inputs"},
                    "the graph has %zu inputs and %zu outputs", g->n_inputs, g->n_outputs);
    TRY(pass_run(g, ""));
    TRY(plan_host(g, module, &host));
    TRY(plan_epu(g, hw, module, &epu));
    return emit_all(host, epu, t);
}

static cgc_status write_tree(ir_graph *original, emit_tree *t, const char *module,
                             const char *folder, const char *final_path)
{
    cgc_ctx *ctx = t->ctx;
    TRY(emit_write(t, folder));
    TRY(ir_save(original, arena_printf(t->arena, "%s/%s.cgc", folder, module)));
    TRY(dir_make(ctx, arena_printf(t->arena, "%s/build", folder)));
    return dir_replace(ctx, folder, final_path);
}

/* A tree being written, removed when memory runs out. */
typedef struct partial {
    guard guard;
    cgc_ctx *ctx;
    const char *folder; /* NULL before it is made */
} partial;

static void remove_partial(void *object)
{
    const partial *p = object;
    if (!p->folder)
        return;
    cgc_status ignored = dir_remove(p->ctx, p->folder); /* the first error is the one to report */
    (void)ignored;
}

cgc_status compile_graph(ir_graph *g, const cgc_hw *hw, const char *module, const char *build_path,
                         const char **out_path)
{
    cgc_ctx *ctx = g->ctx;
    TRY(compile_check_name(ctx, module));
    TRY(hw_check(ctx, hw));
    TRY(ir_verify(g));
    const char *final_path = arena_printf(&ctx->arena, "%s/%s", build_path, module);
    const char *prefix = arena_printf(&ctx->arena, ".%s.partial-", module);
    partial unfinished = {.ctx = ctx};
    guard_push(ctx, &unfinished.guard, remove_partial, &unfinished);
    ir_graph *lowered = ir_clone(g);
    emit_tree tree = {.ctx = ctx, .arena = &lowered->arena};
    cgc_status status = make_tree(lowered, hw, module, &tree);
    if (status == CGC_OK)
        status = dir_make(ctx, build_path);
    if (status == CGC_OK)
        status = dir_make_temp(ctx, build_path, prefix, &unfinished.folder);
    if (status == CGC_OK) {
        status = write_tree(g, &tree, module, unfinished.folder, final_path);
        if (status != CGC_OK)
            remove_partial(&unfinished);
    }
    cgc_graph_free(lowered);
    guard_drop(ctx, &unfinished.guard);
    *out_path = final_path;
    return status;
}
