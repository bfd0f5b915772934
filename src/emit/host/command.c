/* SPDX-License-Identifier: Apache-2.0
 *
 * command.c - <module>_main.c: the program as a command that reads raw files and writes raw files,
 * so that it can be tried and timed without writing C. Prints nothing but errors and times.
 */
#include "emit/host/host.h"

static const char *const body =
    "#define COUNT(a) (sizeof(a) / sizeof *(a))\n"
    "\n"
    "static void *take(size_t bytes)\n"
    "{\n"
    "    /* Aligned by hand: the block lasts until the process ends. */\n"
    "    char *p = (char *)malloc(bytes + 64);\n"
    "    return p ? (void *)(p + (64 - (size_t)p % 64)) : NULL;\n"
    "}\n"
    "\n"
    "static int read_file(const char *path, void *data, size_t bytes)\n"
    "{\n"
    "    FILE *f = fopen(path, \"rb\");\n"
    "    const int good = f && data && fread(data, 1, bytes, f) == bytes && fgetc(f) == EOF;\n"
    "    if (f)\n"
    "        fclose(f);\n"
    "    if (!good)\n"
    "        fprintf(stderr, \"%s: not a file of %lu bytes\\n\", path, (unsigned long)bytes);\n"
    "    return good;\n"
    "}\n"
    "\n"
    "static int write_file(const char *path, const void *data, size_t bytes)\n"
    "{\n"
    "    FILE *f = fopen(path, \"wb\");\n"
    "    const int written = f && fwrite(data, 1, bytes, f) == bytes;\n"
    "    const int good = f && fclose(f) == 0 && written;\n"
    "    if (!good)\n"
    "        fprintf(stderr, \"%s: cannot be written\\n\", path);\n"
    "    return good;\n"
    "}\n"
    "\n"
    "static int usage(const char *name)\n"
    "{\n"
    "    fprintf(stderr,\n"
    "            \"usage: %s [--variant NAME] [--repeat N] weights_host.bin INPUT... "
    "OUTPUT...\\n\"\n"
    "            \"raw row-major files: %lu inputs, %lu outputs\\n\",\n"
    "            name, (unsigned long)COUNT(input_bytes), (unsigned long)COUNT(output_bytes));\n"
    "    return 2;\n"
    "}\n"
    "\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    const ccl_program *program = ccl_program_get();\n"
    "    const void *inputs[COUNT(input_bytes)];\n"
    "    void *outputs[COUNT(output_bytes)];\n"
    "    const char *variant = \"\";\n"
    "    long repeat = 1;\n"
    "    int at = 1, code = 0;\n"
    "    for (; at + 1 < argc && argv[at][0] == '-' && argv[at][1] == '-'; at += 2) {\n"
    "        if (strcmp(argv[at], \"--variant\") == 0)\n"
    "            variant = argv[at + 1];\n"
    "        else if (strcmp(argv[at], \"--repeat\") == 0)\n"
    "            repeat = strtol(argv[at + 1], NULL, 10);\n"
    "        else\n"
    "            return usage(argv[0]);\n"
    "    }\n"
    "    if (argc - at != (int)(1 + COUNT(inputs) + COUNT(outputs)))\n"
    "        return usage(argv[0]);\n"
    "    void *weights = take(program->weights_bytes()), *arena = take(program->arena_bytes());\n"
    "    if (!arena || !read_file(argv[at++], weights, program->weights_bytes()))\n"
    "        return 1;\n"
    "    for (size_t i = 0; i < COUNT(inputs); i++) {\n"
    "        void *data = take(input_bytes[i]);\n"
    "        inputs[i] = data;\n"
    "        if (!read_file(argv[at++], data, input_bytes[i]))\n"
    "            return 1;\n"
    "    }\n"
    "    for (size_t i = 0; i < COUNT(outputs); i++)\n"
    "        if (!(outputs[i] = take(output_bytes[i])))\n"
    "            return 1;\n"
    "    const clock_t start = clock();\n"
    "    for (long i = 0; i < repeat && code == 0; i++)\n"
    "        code = program->run(weights, arena, inputs, outputs, variant, NULL, NULL);\n"
    "    if (repeat > 1)\n"
    "        printf(\"%.4f ms\\n\", 1e3 * (double)(clock() - start) / (double)CLOCKS_PER_SEC / "
    "(double)repeat);\n"
    "    if (code != 0) {\n"
    "        fprintf(stderr, \"%s\\n\", code == 1 ? \"the floating-point environment is not as "
    "required\"\n"
    "                                         : \"no such variant, or not on this CPU\");\n"
    "        return 1;\n"
    "    }\n"
    "    for (size_t i = 0; i < COUNT(outputs); i++)\n"
    "        if (!write_file(argv[at++], outputs[i], output_bytes[i]))\n"
    "            return 1;\n"
    "    return 0;\n"
    "}\n";

void host_put_command(host_emit *e)
{
    const ir_graph *g = e->p->graph;
    if (g->n_inputs == 0 || g->n_outputs == 0) /* nothing to name on a command line */
        return;
    str *s = &emit_add(e->t, arena_printf(e->a, "%s_main.c", e->p->module))->text;
    str_printf(s, "/* The program %s as a command. Generated: changes are lost. */\n",
               e->p->module);
    str_printf(s, "#include \"%s.h\"\n\n", e->p->module);
    str_put(s,
            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n\n");
    str_put(s, "static const size_t input_bytes[] = {");
    for (size_t i = 0; i < g->n_inputs; i++)
        str_printf(s, "%s%zu", i ? ", " : "", ir_type_bytes(&g->inputs[i]->type));
    str_put(s, "};\nstatic const size_t output_bytes[] = {");
    for (size_t i = 0; i < g->n_outputs; i++)
        str_printf(s, "%s%zu", i ? ", " : "", ir_type_bytes(&g->outputs[i]->type));
    str_put(s, "};\n");
    str_put(s, body);
}
