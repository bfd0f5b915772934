/* SPDX-License-Identifier: Apache-2.0
 * cmd_isa.c - cgc isa: the array instructions (isa/isa.def), or with an option the hardware
 * description that a preset or file gives (isa/hwconfig.def). */
#include "cli/cli.h"

#include <stdio.h>

static const struct {
    const char *name, *queue, *operands, *cost, *meaning;
    int funct3, funct2;
} insns[] = {
#define INSN(name, funct3, funct2, queue, op1, op2, op3, cost, meaning)                            \
    {#name, #queue, #op1 ", " #op2 ", " #op3, cost, meaning, funct3, funct2},
#include "isa.def"
#undef INSN
};

static const struct {
    double lo, hi;
    const char *unit;
} ranges[] = {
#define PARAM(name, type, def, lo, hi, unit, meaning) {lo, hi, unit},
#include "hwconfig.def"
#undef PARAM
};

static int show_parameters(cli_session *s)
{
    printf("%-20s  %10s %-9s  %-19s  %s\n", "parameter", "value", "unit", "range", "meaning");
    for (int32_t i = 0; i < cgc_hw_param_count(); i++) {
        double value;
        if (cgc_hw_get(s->hw, cgc_hw_param_name(i), &value) != 0)
            return cli_fail(s->ctx);
        printf("%-20s  %10.10g %-9s  %6.10g to %-9.10g  %s\n", cgc_hw_param_name(i), value,
               ranges[i].unit, ranges[i].lo, ranges[i].hi, cgc_hw_param_meaning(i));
    }
    printf("presets:");
    for (int32_t i = 0; i < cgc_hw_preset_count(); i++)
        printf(" %s", cgc_hw_preset_name(i));
    printf("\n");
    return CLI_OK;
}

static int show_insns(void)
{
    printf("opcode custom-0 (0x0b), R4 format; funct3.funct2, name, queue, operands\n"
           "in cycles: s = unit_overhead, M = macs_per_pe; ports and waits come on top "
           "(docs/machine.md)\n");
    for (size_t i = 0; i < sizeof insns / sizeof insns[0]; i++)
        printf("%d.%d  ccl_%-17s %-6s  (%s)\n     %s\n     cycles: %s\n", insns[i].funct3,
               insns[i].funct2, insns[i].name, insns[i].queue, insns[i].operands, insns[i].meaning,
               insns[i].cost);
    return CLI_OK;
}

int cmd_isa(int argc, char **argv)
{
    static const cli_option options[] = {
        {"--parameters", false}, {"--hw", true}, {"--set", true}, {NULL, false}};
    cli_args args;
    cli_session s;
    if (!cli_parse(argc, argv, options, 0, &args))
        return CLI_ERROR;
    if (!args.n_given)
        return show_insns();
    if (!cli_session_open(&s, &args))
        return cli_session_close(&s, CLI_ERROR);
    return cli_session_close(&s, show_parameters(&s));
}
