/* SPDX-License-Identifier: Apache-2.0
 * cmd_print.c - cgc print MODEL.cgc|TREE: the graph's text form, as it is or after the passes. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* Fails; an unknown pass is a fault of the command line. */
static int fail_passes(const cli_session *s, const cli_args *args)
{
    cgc_error e;
    cgc_ctx_error(s->ctx, &e);
    if (strcmp(e.setting, "last") == 0)
        return cli_usage(args, "--passes: there is no pass '%s'; wanted all, %s", e.found,
                         e.wanted);
    return cli_fail(s->ctx);
}

static int print(cli_session *s, const cli_args *args)
{
    const char *passes = cli_get(args, "--passes", NULL), *text;
    if (passes && cgc_graph_run_passes(s->graph, strcmp(passes, "all") == 0 ? "" : passes) != 0)
        return fail_passes(s, args);
    if (cgc_graph_print(s->graph, cli_get(args, "--layers", NULL) != NULL, &text) != 0)
        return cli_fail(s->ctx);
    fputs(text, stdout);
    return CLI_OK;
}

int cmd_print(int argc, char **argv)
{
    static const cli_option options[] = {
        CLI_MODEL_OPTIONS, {"--layers", false}, {"--passes", true}, {NULL, false}};
    cli_args args;
    cli_session s;
    if (!cli_parse(argc, argv, options, 1, &args))
        return CLI_ERROR;
    if (!cli_session_open(&s, &args) || !cli_load(&s, &args, args.positional[0], false))
        return cli_session_close(&s, CLI_ERROR);
    return cli_session_close(&s, print(&s, &args));
}
