/* SPDX-License-Identifier: Apache-2.0
 * cmd_run.c - cgc run MODEL.cgc|TREE: runs it on one engine and prints its outputs. */
#include "cli/cli.h"

#include <string.h>

static int run(cli_session *s, const cli_args *args, const char *engine)
{
    cli_tensors in, out;
    if (!cli_inputs(s, args, &in))
        return CLI_ERROR;
    int code = CLI_ERROR;
    if (cli_outputs(s, &out)) {
        cgc_status status = strcmp(engine, "interp") == 0
                                ? cgc_graph_interpret(s->graph, in.t, in.n, out.t, out.n)
                                : cgc_program_run(s->program, engine, in.t, in.n, out.t, out.n);
        if (status != 0)
            cli_fail(s->ctx);
        else if (cli_show(args, &out))
            code = CLI_OK;
        cli_tensors_free(&out);
    }
    cli_tensors_free(&in);
    return code;
}

int cmd_run(int argc, char **argv)
{
    static const cli_option options[] = {CLI_MODEL_OPTIONS,
                                         CLI_INPUT_OPTIONS,
                                         {"--engine", true},
                                         {"--outputs", true},
                                         {NULL, false}};
    cli_args args;
    cli_session s;
    if (!cli_parse(argc, argv, options, 1, &args))
        return CLI_ERROR;
    const char *engine = cli_get(&args, "--engine", "interp");
    if (!cli_session_open(&s, &args) ||
        !cli_load(&s, &args, args.positional[0], strcmp(engine, "interp") != 0))
        return cli_session_close(&s, CLI_ERROR);
    return cli_session_close(&s, run(&s, &args, engine));
}
