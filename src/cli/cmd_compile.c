/* SPDX-License-Identifier: Apache-2.0
 * cmd_compile.c - cgc compile MODEL.cgc: writes the C program to <-o>/<--name>/ and prints where. */
#include "cli/cli.h"

#include <stdio.h>

int cmd_compile(int argc, char **argv)
{
    static const cli_option options[] = {CLI_MODEL_OPTIONS, {NULL, false}};
    cli_args args;
    cli_session s;
    if (!cli_parse(argc, argv, options, 1, &args))
        return CLI_ERROR;
    if (!cli_session_open(&s, &args) || !cli_load(&s, &args, args.positional[0], true))
        return cli_session_close(&s, CLI_ERROR);
    printf("%s\n", cgc_program_source_path(s.program));
    return cli_session_close(&s, CLI_OK);
}
