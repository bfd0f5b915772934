/* SPDX-License-Identifier: Apache-2.0
 *
 * tensors.c - inputs of a run from .npy files or a seed, outputs to stdout and .npy files. The same seed gives the same
 * inputs on every machine.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOWN_VALUES = 10 };

/* SplitMix64: one 64-bit step, well mixed. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* float32: uniform in [-1, 1); integers: all bytes; bool: 0 or 1. */
static void fill_random(cgc_tensor *t, uint64_t *state)
{
    const char *type = cgc_dtype_name(t->dtype);
    if (strcmp(type, "float32") == 0) {
        float *f = t->data;
        for (size_t i = 0; i < t->bytes / sizeof *f; i++)
            f[i] = (float)((int32_t)(next_random(state) >> 40) - (1 << 23)) / (float)(1 << 23);
        return;
    }
    unsigned char mask = strcmp(type, "bool") == 0 ? 1 : 255;
    for (size_t i = 0; i < t->bytes; i++)
        ((unsigned char *)t->data)[i] = (unsigned char)(next_random(state) >> 56) & mask;
}

static int32_t count_of(const cli_session *s, bool input)
{
    if (s->program)
        return input ? cgc_program_input_count(s->program) : cgc_program_output_count(s->program);
    return input ? cgc_graph_input_count(s->graph) : cgc_graph_output_count(s->graph);
}

static const char *name_of(const cli_session *s, bool input, int32_t i)
{
    if (s->program)
        return input ? cgc_program_input_name(s->program, i)
                     : cgc_program_output_name(s->program, i);
    return input ? cgc_graph_input_name(s->graph, i) : cgc_graph_output_name(s->graph, i);
}

static cgc_status type_of(const cli_session *s, bool input, int32_t i, cgc_tensor *t)
{
    if (s->program)
        return input ? cgc_program_input_type(s->program, i, t)
                     : cgc_program_output_type(s->program, i, t);
    return input ? cgc_graph_input_type(s->graph, i, t) : cgc_graph_output_type(s->graph, i, t);
}

/* Names and types; data is NULL. */
static bool read_ports(cli_session *s, bool input, cli_tensors *out)
{
    memset(out, 0, sizeof *out);
    int32_t n = count_of(s, input);
    if (n > CLI_MAX_TENSORS) {
        fprintf(stderr, "error: the model has %d tensors, the command takes %d\n", (int)n,
                CLI_MAX_TENSORS);
        return false;
    }
    for (int32_t i = 0; i < n; i++) {
        out->names[i] = name_of(s, input, i);
        if (type_of(s, input, i, &out->t[i]) != 0) {
            cli_fail(s->ctx);
            return false;
        }
        out->t[i].data = NULL;
        out->n++;
    }
    return true;
}

void cli_tensors_free(cli_tensors *t)
{
    for (int32_t i = 0; i < t->n; i++)
        free(t->t[i].data);
    memset(t, 0, sizeof *t);
}

static bool allocate(cgc_tensor *t)
{
    t->data = calloc(t->bytes ? t->bytes : 1, 1);
    if (!t->data)
        fprintf(stderr, "error: out of memory\n");
    return t->data != NULL;
}

/* "out_0 float32[1, 4]" */
static void print_type(FILE *to, const char *name, const cgc_tensor *t)
{
    fprintf(to, "%s %s[", name, cgc_dtype_name(t->dtype));
    for (int32_t d = 0; d < t->rank; d++)
        fprintf(to, "%s%lld", d ? ", " : "", (long long)t->dims[d]);
    fputs("]", to);
}

static void print_input(const cli_tensors *inputs, int32_t i)
{
    fputs("the model's input: ", stderr);
    print_type(stderr, inputs->names[i], &inputs->t[i]);
    fputs("\n", stderr);
}

/* --inputs name=FILE.npy */
static bool read_input(const cli_args *args, const char *text, cli_tensors *out)
{
    size_t n = strcspn(text, "=");
    for (int32_t i = 0; text[n] && i < out->n; i++) {
        if (strlen(out->names[i]) != n || strncmp(out->names[i], text, n) != 0)
            continue;
        free(out->t[i].data);
        out->t[i].data = NULL;
        const char *wrong = npy_read(text + n + 1, &out->t[i]);
        if (wrong) {
            cli_usage(args, "%s: %s", text + n + 1, wrong);
            print_input(out, i);
        }
        return !wrong;
    }
    cli_usage(args, "--inputs wants NAME=FILE.npy with an input of the model, not '%s'", text);
    for (int32_t i = 0; i < out->n; i++)
        print_input(out, i);
    return false;
}

static bool fill_inputs(const cli_args *args, cli_tensors *out)
{
    const char *seed = cli_get(args, "--random", NULL);
    char *end = NULL;
    uint64_t state = seed ? strtoull(seed, &end, 10) : 0;
    if (seed && (end == seed || *end)) {
        cli_usage(args, "--random wants a number, not '%s'", seed);
        return false;
    }
    for (int i = 0; i < args->n_given; i++) {
        if (strcmp(args->given[i].name, "--inputs") == 0 &&
            !read_input(args, args->given[i].value, out))
            return false;
    }
    for (int32_t i = 0; i < out->n; i++) {
        if (out->t[i].data)
            continue;
        if (!seed) {
            cli_usage(args, "input '%s' is missing: --inputs %s=FILE.npy, or --random SEED",
                      out->names[i], out->names[i]);
            return false;
        }
        if (!allocate(&out->t[i]))
            return false;
        fill_random(&out->t[i], &state);
    }
    return true;
}

bool cli_inputs(cli_session *s, const cli_args *args, cli_tensors *out)
{
    if (!read_ports(s, true, out))
        return false;
    if (fill_inputs(args, out))
        return true;
    cli_tensors_free(out);
    return false;
}

bool cli_outputs(cli_session *s, cli_tensors *out)
{
    bool ok = read_ports(s, false, out);
    for (int32_t i = 0; ok && i < out->n; i++)
        ok = allocate(&out->t[i]);
    if (!ok)
        cli_tensors_free(out);
    return ok;
}

static void print_value(const cgc_tensor *t, size_t i)
{
    const char *type = cgc_dtype_name(t->dtype);
    if (strcmp(type, "float32") == 0)
        printf(" %.9g", (double)((const float *)t->data)[i]);
    else if (strcmp(type, "int32") == 0)
        printf(" %d", (int)((const int32_t *)t->data)[i]);
    else if (strcmp(type, "int8") == 0)
        printf(" %d", ((const int8_t *)t->data)[i]);
    else
        printf(" 0x%02x", ((const unsigned char *)t->data)[i * cgc_dtype_bytes(t->dtype)]);
}

static void print_tensor(const char *name, const cgc_tensor *t)
{
    size_t elems = t->bytes / cgc_dtype_bytes(t->dtype);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a over the bytes: equal runs print equal lines */
    for (size_t i = 0; i < t->bytes; i++)
        hash = (hash ^ ((const unsigned char *)t->data)[i]) * 0x100000001b3u;
    print_type(stdout, name, t);
    printf(" fnv1a %016llx:", (unsigned long long)hash);
    for (size_t i = 0; i < elems && i < SHOWN_VALUES; i++)
        print_value(t, i);
    printf("%s\n", elems > SHOWN_VALUES ? " ..." : "");
}

static bool write_output(const cli_args *args, const char *folder, const char *name,
                         const cgc_tensor *t)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    const char *wrong = n < 0 || (size_t)n >= sizeof path ? "the path is too long" : NULL;
    if (!wrong && strchr(name, '/'))
        wrong = "the output's name has a slash";
    if (!wrong)
        wrong = npy_write(path, t);
    if (wrong)
        cli_usage(args, "%s: %s", path, wrong);
    return !wrong;
}

bool cli_show(const cli_args *args, const cli_tensors *outputs)
{
    const char *folder = cli_get(args, "--outputs", NULL);
    if (folder && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        cli_usage(args, "cannot make folder '%s': %s", folder, strerror(errno));
        return false;
    }
    for (int32_t i = 0; i < outputs->n; i++) {
        print_tensor(outputs->names[i], &outputs->t[i]);
        if (folder && !write_output(args, folder, outputs->names[i], &outputs->t[i]))
            return false;
    }
    return true;
}
