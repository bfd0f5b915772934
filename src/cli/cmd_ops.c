/* SPDX-License-Identifier: Apache-2.0
 * cmd_ops.c - cgc ops: the operators of the graph form and what they mean, from src/ops/ops.def. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

int cmd_ops(int argc, char **argv)
{
    static const cli_option options[] = {{NULL, false}};
    cli_args args;
    if (!cli_parse(argc, argv, options, 0, &args))
        return CLI_ERROR;
    int width = 0;
    for (int32_t i = 0; i < cgc_op_count(); i++) {
        int n = (int)strlen(cgc_op_name(i));
        width = n > width ? n : width;
    }
    for (int32_t i = 0; i < cgc_op_count(); i++)
        printf("%-*s  %s\n", width, cgc_op_name(i), cgc_op_meaning(i));
    return CLI_OK;
}
