/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c - the cgc command: finds the command of commands.def and runs it. Exit status: 0 fine, 1
 * the engines differ, 2 an error, with one message on stderr.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

typedef struct command {
    const char *name, *usage, *meaning;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
#define COMMAND(name, usage, meaning) {#name, usage, meaning, cmd_##name},
#include "cli/commands.def"
#undef COMMAND
    {NULL, NULL, NULL, NULL}};

static void show_command(FILE *to, const command *c)
{
    fprintf(to, "  cgc %s %s\n        %s\n", c->name, c->usage, c->meaning);
}

static void show_model_options(FILE *to)
{
    fputs("\nA MODEL.cgc is what save() of a graph writes; a TREE is a folder that cgc compile "
          "wrote.\n"
          "Where a MODEL.cgc is compiled: -o DIR (default ccl_build), --name NAME, --strict,\n"
          "--hw PRESET|FILE.json and --set NAME=VALUE (cgc isa --parameters lists them).\n"
          "With every model: --verbose, --dump PASSES|all\n",
          to);
}

static void show_help(FILE *to)
{
    fprintf(to, "cgc %s - quantized neural networks to C programs\n\n", cgc_version());
    for (const command *c = commands; c->name; c++)
        show_command(to, c);
    show_model_options(to);
}

static const command *find_command(const char *name)
{
    for (const command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* Results that did not reach stdout (a full disk, a closed pipe) are an error. */
static int finish(int code)
{
    if (fflush(stdout) != 0 && code == CLI_OK) {
        fprintf(stderr, "cgc: cannot write the results\n");
        return CLI_ERROR;
    }
    return code;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--version") == 0) {
        printf("cgc %s\n", cgc_version());
        return finish(CLI_OK);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        show_help(stdout);
        return finish(CLI_OK);
    }
    const command *c = find_command(name);
    if (c && argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        show_command(stdout, c);
        show_model_options(stdout);
        return finish(CLI_OK);
    }
    if (c)
        return finish(c->run(argc - 1, argv + 1));
    if (*name)
        fprintf(stderr, "cgc: unknown command '%s'\n\n", name);
    show_help(stderr);
    return CLI_ERROR;
}
