/* SPDX-License-Identifier: Apache-2.0
 *
 * build.c - makes a product of an emitted tree with its own build.sh, and knows when that is not needed: the product is
 * newer than every source, and either it was made with the same compiler and flags (kept beside it in a .settings file)
 * or it is newer than that file, which means that the user built it by hand.
 */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SETTINGS_MAX_BYTES = 1 << 16 };

static const char *const build_words[RUN_KINDS] = {"host", "epu_host", "iss"};

run_stamp run_stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return (run_stamp){0};
    return (run_stamp){(long long)st.st_dev, (long long)st.st_ino, (long long)st.st_mtim.tv_sec,
                       (long long)st.st_mtim.tv_nsec};
}

static bool later(run_stamp a, run_stamp b)
{
    return a.sec != b.sec ? a.sec > b.sec : a.nsec > b.nsec;
}

static bool is_source(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".c") || !strcmp(dot, ".h") || !strcmp(dot, ".sh") ||
                   !strcmp(dot, ".ld") || !strcmp(dot, ".S"));
}

/* Latest change of a source file in folder and, one level down, in its folders but build/. */
static run_stamp newest_source(arena *a, const char *folder, int depth)
{
    run_stamp newest = {0};
    size_t n;
    const char **names = dir_list(a, folder, &n);
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.' || !strcmp(names[i], "build"))
            continue;
        const char *path = arena_printf(a, "%s/%s", folder, names[i]);
        struct stat st;
        run_stamp m = {0};
        if (is_source(names[i]))
            m = run_stamp_of(path);
        else if (depth < 3 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            m = newest_source(a, path, depth + 1);
        if (later(m, newest))
            newest = m;
    }
    return newest;
}

static const char *product_path(cgc_program *p, run_kind kind, bool traced)
{
    const char *t = traced ? "_trace" : "";
    switch (kind) {
    case RUN_HOST:
        return arena_printf(&p->arena, "%s/lib%s_host%s.so", p->build_path, p->module, t);
    case RUN_EPU_HOST:
        return arena_printf(&p->arena, "%s/lib%s_epu_host%s.so", p->build_path, p->module, t);
    default: /* the simulator sees the marks of the plain program */
        return arena_printf(&p->arena, "%s/%s.elf", p->build_path, p->module);
    }
}

static const char *compiler_variable(run_kind kind)
{
    return kind < RUN_ISS ? "CC" : "ZIG";
}

/* The compiler command: what the caller asked for, else the environment's, else "" for build.sh's default. */
static const char *compiler(const cgc_program *p, run_kind kind)
{
    const char *env = getenv(compiler_variable(kind));
    if (p->settings[kind].cc[0])
        return p->settings[kind].cc;
    return env ? env : "";
}

static const char *user_cache(arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        return arena_printf(a, "%s/opencgc/zig", cache);
    return home && home[0] == '/' ? arena_printf(a, "%s/.cache/opencgc/zig", home) : "";
}

/* Variables of build.sh. The cache of the cross compiler holds its runtime library, which takes seconds to build: it is
 * shared by all programs of the user. */
static const char *const *build_environment(cgc_program *p, run_kind kind, bool traced, arena *a)
{
    const char **env = arena_array(a, 6, sizeof *env), *python = getenv("OPENCGC_PYTHON");
    int32_t n = 0;
    env[n++] = arena_printf(a, "%s=%s", compiler_variable(kind), compiler(p, kind));
    env[n++] = arena_printf(a, "CFLAGS=%s", p->settings[kind].flags);
    env[n++] = traced ? "TRACE=1" : "TRACE=";
    if (python && python[0]) /* the one with ziglang */
        env[n++] = arena_printf(a, "PYTHON=%s", python);
    if (!getenv("ZIG_GLOBAL_CACHE_DIR") && user_cache(a)[0])
        env[n++] = arena_printf(a, "ZIG_GLOBAL_CACHE_DIR=%s", user_cache(a));
    return env;
}

static bool same_settings(cgc_program *p, const char *path, const char *settings, arena *a)
{
    char *old;
    size_t bytes;
    return path_exists(path) &&
           file_read(p->ctx, a, path, SETTINGS_MAX_BYTES, &old, &bytes) == CGC_OK &&
           strcmp(old, settings) == 0;
}

static bool is_fresh(cgc_program *p, const char *product, const char *settings_path,
                     const char *settings, arena *a)
{
    run_stamp made = run_stamp_of(product), stamp = run_stamp_of(settings_path);
    if (!made.sec || !later(made, newest_source(a, p->source_path, 0)))
        return false;
    return !stamp.sec || later(made, stamp) || same_settings(p, settings_path, settings, a);
}

static cgc_status make(cgc_program *p, run_kind kind, const char *const *env, arena *a)
{
    const char *word = kind == RUN_ISS ? "epu" : build_words[kind];
    const char *argv[] = {"sh", arena_printf(a, "%s/build.sh", p->source_path), word, NULL};
    const char *text = "";
    int code = 0;
    if (!path_exists(argv[1]))
        return diag(p->ctx, CGC_E_FILE,
                    (diag_info){.found = argv[1], .cure = "compile the model again"},
                    "the program has no build.sh");
    log_line(p->ctx, "sh %s %s", argv[1], word);
    TRY(run_spawn(a, argv, env, &text, &code));
    if (code == 0)
        return CGC_OK;
    const char *cc = strchr(env[0], '=') + 1;
    diag_info info = {.setting = compiler_variable(kind),
                      .found = cc[0] ? cc : "the default of build.sh"};
    info.wanted = kind == RUN_ISS ? "clang for RISC-V (pip install ziglang)" : "a C compiler";
    info.cure = kind == RUN_ISS
                    ? "set OPENCGC_PYTHON to a Python that has ziglang, or ZIG to the whole command"
                    : "set CC to a working compiler";
    return diag(p->ctx, CGC_E_BUILD, info, "'sh %s %s' failed with exit status %d:\n%s", argv[1],
                word, code, text);
}

cgc_status run_build(cgc_program *p, run_kind kind, bool traced, const char **out_path,
                     bool *out_rebuilt)
{
    arena *a = &p->work;
    arena_reset(a);
    const char *product = product_path(p, kind, traced);
    const char *stamp = arena_printf(a, "%s.settings", product);
    const char *settings = arena_printf(a, "%s\n%s\n", compiler(p, kind), p->settings[kind].flags);
    *out_path = product;
    *out_rebuilt = false;
    if (is_fresh(p, product, stamp, settings, a))
        return CGC_OK;
    *out_rebuilt = true;
    run_product_drop(&p->products[kind]);
    TRY(make(p, kind, build_environment(p, kind, traced, a), a));
    if (!path_exists(product))
        return diag(p->ctx, CGC_E_BUILD, (diag_info){.wanted = product},
                    "build.sh did not make its product");
    return file_write(p->ctx, stamp, settings, strlen(settings));
}
