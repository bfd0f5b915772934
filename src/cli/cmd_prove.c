/* SPDX-License-Identifier: Apache-2.0
 * cmd_prove.c - cgc prove MODEL.cgc|TREE: every engine against the interpreter; exit status 0 only if no byte
 * differs. */
#include "cli/cli.h"

#include <stdio.h>

static int prove(cli_session *s, const cli_args *args)
{
    cli_tensors in;
    int64_t differing = 0;
    const char *text;
    if (!cli_inputs(s, args, &in))
        return CLI_ERROR;
    cgc_status status = cgc_prove(s->graph, s->program, cli_get(args, "--engines", ""), in.t, in.n,
                                  &differing, &text);
    cli_tensors_free(&in);
    if (status != 0)
        return cli_fail(s->ctx);
    fputs(text, stdout);
    return differing == 0 ? CLI_OK : CLI_DIFFERENT;
}

int cmd_prove(int argc, char **argv)
{
    static const cli_option options[] = {
        CLI_MODEL_OPTIONS, CLI_INPUT_OPTIONS, {"--engines", true}, {NULL, false}};
    cli_args args;
    cli_session s;
    if (!cli_parse(argc, argv, options, 1, &args))
        return CLI_ERROR;
    if (!cli_session_open(&s, &args) || !cli_load(&s, &args, args.positional[0], true))
        return cli_session_close(&s, CLI_ERROR);
    return cli_session_close(&s, prove(&s, &args));
}
