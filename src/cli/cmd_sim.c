/* SPDX-License-Identifier: Apache-2.0
 * cmd_sim.c - cgc sim MODEL.cgc|TREE: simulates it and prints the report of every layer. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static int simulate(cli_session *s, const cli_args *args, const char *format)
{
    cli_tensors in, out;
    const char *text;
    if (!cli_inputs(s, args, &in))
        return CLI_ERROR;
    int code = CLI_ERROR;
    if (cli_outputs(s, &out)) {
        const char *engine = cli_get(args, "--race", NULL) ? "iss:race" : "iss";
        if (cgc_program_run(s->program, engine, in.t, in.n, out.t, out.n) != 0 ||
            cgc_program_report(s->program, format, &text) != 0) {
            cli_fail(s->ctx);
        } else {
            fputs(text, stdout);
            code = CLI_OK;
        }
        cli_tensors_free(&out);
    }
    cli_tensors_free(&in);
    return code;
}

int cmd_sim(int argc, char **argv)
{
    static const cli_option options[] = {
        CLI_MODEL_OPTIONS, CLI_INPUT_OPTIONS, {"--report", true}, {"--race", false}, {NULL, false}};
    cli_args args;
    cli_session s;
    if (!cli_parse(argc, argv, options, 1, &args))
        return CLI_ERROR;
    const char *format = cli_get(&args, "--report", "text");
    if (strcmp(format, "text") != 0 && strcmp(format, "csv") != 0 && strcmp(format, "json") != 0)
        return cli_usage(&args, "--report wants text, csv or json, not '%s'", format);
    if (!cli_session_open(&s, &args) || !cli_load(&s, &args, args.positional[0], true))
        return cli_session_close(&s, CLI_ERROR);
    return cli_session_close(&s, simulate(&s, &args, format));
}
