/* SPDX-License-Identifier: Apache-2.0
 *
 * args.c - command line -> cli_args, by the option table of the command. Options may stand anywhere; "--" ends them.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int cli_usage(const cli_args *args, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "cgc %s: ", args->command);
    vfprintf(stderr, format, list);
    fputs("\n", stderr);
    va_end(list);
#define COMMAND(name, usage, meaning)                                                              \
    if (strcmp(args->command, #name) == 0)                                                         \
        fprintf(stderr, "usage: cgc " #name " %s\n", usage);
#include "cli/commands.def"
#undef COMMAND
    return CLI_ERROR;
}

static const cli_option *find_option(const cli_option *options, const char *name, size_t n)
{
    for (const cli_option *o = options; o->name; o++) {
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    }
    return NULL;
}

/* One option at argv[*i], as --name value or --name=value. */
static bool take_option(cli_args *out, int argc, char **argv, int *i, const cli_option *options)
{
    const char *word = argv[*i];
    size_t n = strcspn(word, "=");
    const cli_option *o = find_option(options, word, n);
    if (!o || (word[n] && !o->value)) {
        cli_usage(out, "unknown option %s", word);
        return false;
    }
    const char *value = word[n] ? word + n + 1 : "";
    if (o->value && !word[n]) {
        if (*i + 1 >= argc) {
            cli_usage(out, "%s wants a value", o->name);
            return false;
        }
        value = argv[++*i];
    }
    if (out->n_given == CLI_MAX_OPTIONS) {
        cli_usage(out, "too many options");
        return false;
    }
    out->given[out->n_given].name = o->name;
    out->given[out->n_given++].value = value;
    return true;
}

bool cli_parse(int argc, char **argv, const cli_option *options, int n_positional, cli_args *out)
{
    bool only_positional = false;
    memset(out, 0, sizeof *out);
    out->command = argv[0];
    for (int i = 1; i < argc; i++) {
        if (!only_positional && strcmp(argv[i], "--") == 0) {
            only_positional = true;
        } else if (!only_positional && argv[i][0] == '-' && argv[i][1]) {
            if (!take_option(out, argc, argv, &i, options))
                return false;
        } else if (out->n_positional == n_positional) {
            cli_usage(out, "unexpected argument '%s'", argv[i]);
            return false;
        } else {
            out->positional[out->n_positional++] = argv[i];
        }
    }
    if (out->n_positional == n_positional)
        return true;
    cli_usage(out, "an argument is missing");
    return false;
}

const char *cli_get(const cli_args *args, const char *name, const char *otherwise)
{
    for (int i = args->n_given - 1; i >= 0; i--) {
        if (strcmp(args->given[i].name, name) == 0)
            return args->given[i].value;
    }
    return otherwise;
}
