/* SPDX-License-Identifier: Apache-2.0
 *
 * build_files.c - build.sh of an emitted tree: which sources make which target, and the flags
 * without which the bytes would differ (docs/numerics.md, rule 6). POSIX sh; each result appears
 * under its name by one rename.
 */
#include "emit/emit.h"

#include <string.h>

static const char *const head =
    "#!/bin/sh\n"
    "# Builds this program:  sh build.sh host | epu | epu_host\n"
    "#   CC      compiler for this machine (default: cc, else python3 -m ziglang cc)\n"
    "#   ZIG     compiler for the EPU's RISC-V core (default: python3 -m ziglang cc)\n"
    "#   CFLAGS  more flags for either;  TRACE=1  calls a hook after each layer, results end in "
    "_trace\n"
    "#   ZIG_GLOBAL_CACHE_DIR  cache of the cross compiler (default: build/zig-cache), may be "
    "shared\n"
    "set -eu\n"
    "cd \"$(dirname \"$0\")\"\n"
    "ROOT=$PWD\n";

static const char *const body =
    "PYTHON=${PYTHON:-python3}\n"
    "ZIG=${ZIG:-$PYTHON -m ziglang cc}\n"
    "if [ -z \"${CC:-}\" ]; then\n"
    "    if command -v cc >/dev/null 2>&1; then CC=cc; else CC=\"$PYTHON -m ziglang cc\"; fi\n"
    "fi\n"
    "CFLAGS=${CFLAGS:-}\n"
    "SUFFIX=\n"
    "if [ \"${TRACE:-0}\" = 1 ]; then SUFFIX=_trace; CFLAGS=\"$CFLAGS -DCCL_TRACE\"; fi\n"
    "export ZIG_GLOBAL_CACHE_DIR=\"${ZIG_GLOBAL_CACHE_DIR:-$ROOT/build/zig-cache}\"\n"
    "export ZIG_LOCAL_CACHE_DIR=\"${ZIG_LOCAL_CACHE_DIR:-$ZIG_GLOBAL_CACHE_DIR}\"\n"
    "# Same bytes everywhere: no contraction, no fast math.\n"
    "NUMERIC=-ffp-contract=off\n"
    "HOST=\"-std=c99 -O3 -fPIC $NUMERIC -I$ROOT/kernels -I$ROOT/kernels/epu\"\n"
    "VNNI='-mavx512f -mavx512bw -mavx512vl -mavx512vnni -mprefer-vector-width=512'\n"
    "EPU=\"-target riscv32-freestanding-none -mcpu=generic_rv32+m+f-c-a-d -mabi=ilp32f -std=c99 "
    "-O2 -g\n"
    "    -fomit-frame-pointer -ffreestanding -fno-sanitize=undefined -ffunction-sections "
    "-fdata-sections\n"
    "    -Wl,--gc-sections $NUMERIC -I$ROOT/kernels -I$ROOT/kernels/epu\"\n"
    "\n"
    "mkdir -p build\n"
    "WORK=build/.work-$$\n"
    "rm -rf \"$WORK\" # of a build that was killed\n"
    "mkdir \"$WORK\"\n"
    "trap 'rm -rf \"$ROOT/$WORK\"' EXIT\n"
    "trap 'exit 130' INT TERM\n"
    "\n"
    "# compile FLAGS SOURCES...: objects in the work folder\n"
    "compile() {\n"
    "    flags=$1\n"
    "    shift\n"
    "    (cd \"$WORK\" && for source in \"$@\"; do\n"
    "        object=$(echo \"$source\" | tr / _).o\n"
    "        $CC $HOST $flags $CFLAGS -c \"$ROOT/$source\" -o \"$object\" || exit 1\n"
    "    done)\n"
    "}\n"
    "# Two jobs: the vector layers take as long as everything else.\n"
    "host() {\n"
    "    vector=\n"
    "    if [ -n \"$HOST_VNNI\" ] && $CC -E -dM -x c /dev/null | grep -q '__x86_64__ 1'; then\n"
    "        compile \"$VNNI\" $HOST_VNNI &\n"
    "        vector=$!\n"
    "    fi\n"
    "    compile '' $HOST_SOURCES $KERNELS\n"
    "    if [ -n \"$vector\" ]; then wait \"$vector\"; fi\n"
    "    link \"lib${MODULE}_host$SUFFIX.so\"\n"
    "    if [ -z \"$SUFFIX\" ] && [ -f \"${MODULE}_main.c\" ]; then\n"
    "        compile '' \"${MODULE}_main.c\"\n"
    "        $CC -o \"$WORK/out\" \"$WORK\"/*.o\n"
    "        mv \"$WORK/out\" \"build/${MODULE}_host\"\n"
    "    fi\n"
    "}\n"
    "epu_host() {\n"
    "    compile '' $EPU_SOURCES $KERNELS $EPU_HOST_KERNELS\n"
    "    link \"lib${MODULE}_epu_host$SUFFIX.so\"\n"
    "}\n"
    "link() {\n"
    "    $CC -shared -Wl,-Bsymbolic -o \"$WORK/out\" \"$WORK\"/*.o\n"
    "    mv \"$WORK/out\" \"build/$1\"\n"
    "}\n"
    "epu() {\n"
    "    $ZIG $EPU $CFLAGS -T link.ld -o \"$WORK/out\" $EPU_SOURCES $KERNELS $EPU_KERNELS\n"
    "    mv \"$WORK/out\" \"build/$MODULE$SUFFIX.elf\"\n"
    "}\n"
    "\n"
    "case ${1:-} in\n"
    "host | epu | epu_host) \"$1\" ;;\n"
    "*)\n"
    "    echo 'usage: sh build.sh host | epu | epu_host' >&2\n"
    "    exit 2\n"
    "    ;;\n"
    "esac\n";

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static bool is_source(const emit_file *f, const char *folder)
{
    return strncmp(f->name, folder, strlen(folder)) == 0 &&
           (ends_with(f->name, ".c") || ends_with(f->name, ".S"));
}

/* NAME='file file': the sources in a folder of the tree; want_host tells _host.c files from the
 * others. */
static void put_sources(const emit_tree *t, str *s, const char *name, const char *folder,
                        bool want_host)
{
    str_printf(s, "%s='", name);
    const char *sep = "";
    for (size_t i = 0; i < t->n_files; i++) {
        const emit_file *f = t->files[i];
        if (!is_source(f, folder) || ends_with(f->name, "_host.c") != want_host)
            continue;
        str_printf(s, "%s%s", sep, f->name);
        sep = " ";
    }
    str_put(s, "'\n");
}

static bool has_file(const emit_tree *t, const char *name)
{
    for (size_t i = 0; i < t->n_files; i++)
        if (strcmp(t->files[i]->name, name) == 0)
            return true;
    return false;
}

cgc_status emit_build_files(const plan *host, const plan *epu, emit_tree *t)
{
    str *s = &emit_add(t, "build.sh")->text;
    const char *module = host->module;
    const char *vnni = arena_printf(t->arena, "%s_host_avx512vnni.c", module);
    (void)epu; /* its sources are in the tree */
    str_put(s, head);
    str_printf(s, "MODULE=%s\nHOST_SOURCES=%s_host.c\nHOST_VNNI=%s\nEPU_SOURCES=%s_epu.c\n", module,
               module, has_file(t, vnni) ? vnni : "", module);
    put_sources(t, s, "KERNELS", "kernels/ref/", false);
    put_sources(t, s, "EPU_KERNELS", "kernels/epu/", false);
    put_sources(t, s, "EPU_HOST_KERNELS", "kernels/epu/", true);
    str_put(s, body);
    return CGC_OK;
}
