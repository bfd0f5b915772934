/* SPDX-License-Identifier: Apache-2.0
 *
 * cli.h - what the commands share. A command is int cmd_<name>(argc, argv) with argv[0] its name, one line in
 * commands.def and one file; results go to stdout, everything else to stderr.
 */
#ifndef CGC_CLI_H
#define CGC_CLI_H

#include "cgc.h"

#include <stdbool.h>

enum { CLI_OK = 0, CLI_DIFFERENT = 1, CLI_ERROR = 2 }; /* exit status */
enum { CLI_MAX_TENSORS = 64, CLI_MAX_OPTIONS = 64, CLI_MAX_POSITIONAL = 4 };

#define COMMAND(name, usage, meaning) int cmd_##name(int argc, char **argv);
#include "cli/commands.def"
#undef COMMAND

/* ---- arguments (args.c) ---- */
typedef struct cli_option { /* of a command; the table ends with name NULL */
    const char *name;       /* "--hw" */
    bool value;             /* takes one */
} cli_option;
typedef struct cli_args {
    const char *command;
    const char *positional[CLI_MAX_POSITIONAL];
    int n_positional;
    struct {
        const char *name, *value;
    } given[CLI_MAX_OPTIONS];
    int n_given;
} cli_args;
/* False after a message: unknown option, missing value, or another number of positional arguments. */
bool cli_parse(int argc, char **argv, const cli_option *options, int n_positional, cli_args *out);
/* Value of the last --name given ("" for one without a value), else otherwise. */
const char *cli_get(const cli_args *args, const char *name, const char *otherwise);
/* Prints "cgc <command>: <text>" and returns CLI_ERROR. */
int cli_usage(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the context's error and returns CLI_ERROR. */
int cli_fail(const cgc_ctx *ctx);

/* ---- a model or a tree (session.c) ---- */
typedef struct cli_session {
    cgc_ctx *ctx;
    cgc_hw *hw;
    cgc_graph *graph;
    cgc_program *program;
    char path[4096]; /* scratch for file names */
} cli_session;
/* Options of every command that loads a model: --hw, --set (repeated), --strict, --verbose, --dump, --name, -o. */
#define CLI_MODEL_OPTIONS                                                                          \
    {"--hw", true}, {"--set", true}, {"--strict", false}, {"--verbose", false}, {"--dump", true},  \
        {"--name", true},                                                                          \
    {                                                                                              \
        "-o", true                                                                                 \
    }
bool cli_session_open(cli_session *s, const cli_args *args); /* false after a message */
/* path: MODEL.cgc, or the folder of a compiled program. need_program: compile a model to -o (default
 * ccl_build) under --name (default: from the file name). */
bool cli_load(cli_session *s, const cli_args *args, const char *path, bool need_program);
int cli_session_close(cli_session *s, int code); /* prints notes if code is 0; returns code */

/* ---- tensors (tensors.c) ---- */
typedef struct cli_tensors {
    cgc_tensor t[CLI_MAX_TENSORS];
    const char *names[CLI_MAX_TENSORS];
    int32_t n;
} cli_tensors;
/* Inputs of the session's graph or program from --inputs name=FILE.npy (repeated) and --random SEED for the rest. */
#define CLI_INPUT_OPTIONS                                                                          \
    {"--inputs", true},                                                                            \
    {                                                                                              \
        "--random", true                                                                           \
    }
bool cli_inputs(cli_session *s, const cli_args *args, cli_tensors *out);
bool cli_outputs(cli_session *s, cli_tensors *out); /* allocated, zero */
void cli_tensors_free(cli_tensors *t);
/* One line per output; with --outputs DIR also DIR/<name>.npy. */
bool cli_show(const cli_args *args, const cli_tensors *outputs);

/* ---- .npy files (npy.c): C order, the IR's element types, below 2 GB ---- */
/* type: what is wanted; data is allocated. NULL, or what is wrong. */
const char *npy_read(const char *path, cgc_tensor *type);
const char *npy_write(const char *path, const cgc_tensor *t); /* temporary name, then renamed */

#endif
