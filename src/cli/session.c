/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c - the handles that a command works with: context, hardware, and from a path the graph and, where asked for,
 * the compiled program. A folder with a manifest is a program that was compiled before.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cli_fail(const cgc_ctx *ctx)
{
    cgc_error e;
    cgc_ctx_error(ctx, &e);
    fprintf(stderr, "%s\n", e.message && e.message[0] ? e.message : "error: unknown failure");
    return CLI_ERROR;
}

static bool checked(const cli_session *s, cgc_status status)
{
    if (status != 0)
        cli_fail(s->ctx);
    return status == 0;
}

/* --set name=value */
static bool set_parameter(cli_session *s, const cli_args *args, const char *text)
{
    char name[64];
    const char *equals = strchr(text, '=');
    char *end = NULL;
    size_t n = equals ? (size_t)(equals - text) : 0;
    double value = equals ? strtod(equals + 1, &end) : 0;
    if (n == 0 || n >= sizeof name || end == equals + 1 || *end) {
        cli_usage(args, "--set wants name=number, not '%s'", text);
        return false;
    }
    memcpy(name, text, n);
    name[n] = '\0';
    return checked(s, cgc_hw_set(s->hw, name, value));
}

static bool read_hw(cli_session *s, const cli_args *args)
{
    const char *hw = cli_get(args, "--hw", NULL);
    if (hw) {
        size_t n = strlen(hw);
        bool file = n > 5 && strcmp(hw + n - 5, ".json") == 0;
        if (!checked(s, file ? cgc_hw_load_json(s->hw, hw) : cgc_hw_preset(s->hw, hw)))
            return false;
    }
    for (int i = 0; i < args->n_given; i++) {
        if (strcmp(args->given[i].name, "--set") == 0 &&
            !set_parameter(s, args, args->given[i].value))
            return false;
    }
    return true;
}

static bool set_options(cli_session *s, const cli_args *args)
{
    const char *dump = cli_get(args, "--dump", NULL);
    if (cli_get(args, "--strict", NULL) && !checked(s, cgc_ctx_set_option(s->ctx, "strict", "1")))
        return false;
    if (cli_get(args, "--verbose", NULL) && !checked(s, cgc_ctx_set_option(s->ctx, "verbose", "1")))
        return false;
    return !dump || checked(s, cgc_ctx_set_option(s->ctx, "dump", dump));
}

bool cli_session_open(cli_session *s, const cli_args *args)
{
    memset(s, 0, sizeof *s);
    s->ctx = cgc_ctx_new();
    s->hw = s->ctx ? cgc_hw_new(s->ctx) : NULL;
    if (!s->hw) {
        cli_usage(args, "out of memory");
        return false;
    }
    return set_options(s, args) && read_hw(s, args);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* File name without folders and ending. */
static size_t stem(const char *path, char *out, size_t room)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t start = n;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (n - start > 4 && strncmp(path + n - 4, ".cgc", 4) == 0)
        n -= 4;
    size_t count = n - start < room - 1 ? n - start : room - 1;
    memcpy(out, path + start, count);
    out[count] = '\0';
    return count;
}

/* A module name from the file's: what is not a letter, digit or '_' becomes '_'. */
static void module_name(const char *path, char *out, size_t room)
{
    size_t n = stem(path, out, room);
    for (size_t i = 0; i < n; i++) {
        char c = out[i];
        bool digit = c >= '0' && c <= '9';
        if (!(digit && i > 0) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
            out[i] = '_';
    }
}

static bool load_tree(cli_session *s, const cli_args *args, const char *path)
{
    static const char *const of_compile[] = {"--hw", "--set", "--name", "-o"};
    for (size_t i = 0; i < sizeof of_compile / sizeof of_compile[0]; i++) {
        if (cli_get(args, of_compile[i], NULL)) {
            cli_usage(args, "%s is for a MODEL.cgc: the program in '%s' is compiled already",
                      of_compile[i], path);
            return false;
        }
    }
    char name[256];
    stem(path, name, sizeof name);
    int n = snprintf(s->path, sizeof s->path, "%s/%s.cgc", path, name);
    if (n < 0 || (size_t)n >= sizeof s->path) {
        cli_usage(args, "the path is too long");
        return false;
    }
    return checked(s, cgc_program_open(s->ctx, path, &s->program)) &&
           checked(s, cgc_graph_load(s->ctx, s->path, &s->graph));
}

bool cli_load(cli_session *s, const cli_args *args, const char *path, bool need_program)
{
    char name[256];
    if (is_folder(path))
        return load_tree(s, args, path);
    if (!checked(s, cgc_graph_load(s->ctx, path, &s->graph)))
        return false;
    if (!need_program)
        return true;
    module_name(path, name, sizeof name);
    return checked(s, cgc_compile(s->graph, s->hw, cli_get(args, "--name", name),
                                  cli_get(args, "-o", "ccl_build"), &s->program));
}

int cli_session_close(cli_session *s, int code)
{
    if (s->ctx && code == CLI_OK) {
        for (int32_t i = 0; i < cgc_ctx_note_count(s->ctx); i++)
            fprintf(stderr, "%s\n", cgc_ctx_note_get(s->ctx, i));
    }
    cgc_program_free(s->program);
    cgc_graph_free(s->graph);
    cgc_hw_free(s->hw);
    cgc_ctx_free(s->ctx);
    return code;
}
