/* SPDX-License-Identifier: Apache-2.0
 *
 * iss_run.c - iss_run [--race] [--array N] PROGRAM.elf: simulates one program and prints what iss.h says about
 * the run as one JSON object; tests/test_iss.py reads it. Exit status 0 unless the file could not be loaded.
 */
#include "base/base.h"
#include "iss.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 };

static int print_run(iss_machine *m, bool race)
{
    iss_stop stop;
    iss_stats s;
    if (race)
        iss_set_race_detector(m, 1, 0);
    if (iss_run(m, 4000000000u, &stop) != CGC_OK)
        return 1;
    iss_get_stats(m, &s);
    printf("{\"reason\": %d, \"code\": %lu, \"layer\": %lu, \"symbol\": \"%s\", \"message\": "
           "\"%s\",\n",
           (int)stop.reason, (unsigned long)stop.code, (unsigned long)stop.layer, stop.symbol,
           stop.message);
    printf(" \"cycles\": %llu, \"instructions\": %llu, \"macs\": %llu, \"races\": [",
           (unsigned long long)s.cycles, (unsigned long long)s.instructions,
           (unsigned long long)s.macs);
    for (int32_t i = 0; i < iss_race_count(m); i++) {
        iss_race r;
        iss_race_get(m, i, &r);
        printf("%s[\"%s\", \"%s\", %d]", i ? ", " : "", r.first, r.second, (int)r.space);
    }
    printf("]}\n");
    return 0;
}

static int run_file(cgc_ctx *ctx, const cgc_hw *hw, const char *path, bool race)
{
    FILE *f = fopen(path, "rb");
    char *data = malloc(MOST_BYTES);
    const size_t bytes = f && data ? fread(data, 1, MOST_BYTES, f) : 0;
    iss_machine *m = iss_new(ctx, hw);
    int status = 1;
    if (f)
        fclose(f);
    if (m && iss_load_elf(m, data, bytes) == CGC_OK) {
        status = print_run(m, race);
    } else {
        cgc_error e;
        cgc_ctx_error(ctx, &e);
        fprintf(stderr, "%s\n", e.message);
    }
    iss_free(m);
    free(data);
    return status;
}

int main(int argc, char **argv)
{
    cgc_ctx *ctx = cgc_ctx_new();
    cgc_hw hw;
    bool race = false;
    const char *path = NULL;
    if (!ctx)
        return 1;
    hw_init(&hw, ctx);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--race") == 0)
            race = true;
        else if (strcmp(argv[i], "--array") == 0 && i + 1 < argc)
            hw.array_size = (int32_t)strtol(argv[++i], NULL, 10);
        else
            path = argv[i];
    }
    const int status = path ? run_file(ctx, &hw, path, race) : 2;
    cgc_ctx_free(ctx);
    return status;
}
