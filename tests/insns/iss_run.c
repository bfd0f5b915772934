/* SPDX-License-Identifier: Apache-2.0
 *
 * iss_run.c - iss_run [--race] [--waits] [--set NAME=VALUE]... PROGRAM.elf: simulates one program and prints what
 * iss.h says about the run as one JSON object; tests read it. --waits: one run per wait, swait and
 * drain of the text, with that one replaced by a no-op, under the race detector. Exit status 0 unless the
 * file could not be loaded.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 64 << 20, NOP = 0x13 };

typedef struct program {
    cgc_ctx *ctx;
    cgc_hw *hw;
    uint8_t *data;
    size_t bytes;
} program;

/* NULL after a message. */
static iss_machine *load(const program *p)
{
    iss_machine *m = iss_new(p->ctx, p->hw);
    if (m && iss_load_elf(m, p->data, p->bytes) == CGC_OK)
        return m;
    cgc_error e;
    cgc_ctx_error(p->ctx, &e);
    fprintf(stderr, "%s\n", e.message);
    iss_free(m);
    return NULL;
}

static void print_races(const iss_machine *m)
{
    printf("\"races\": [");
    for (int32_t i = 0; i < iss_race_count(m); i++) {
        iss_race r;
        iss_race_get(m, i, &r);
        printf("%s[\"%s\", \"%s\", %d]", i ? ", " : "", r.first, r.second, (int)r.space);
    }
    printf("]");
}

static bool run(iss_machine *m, bool race, iss_stop *out_stop)
{
    if (race)
        iss_set_race_detector(m, 1, 0);
    return iss_run(m, 4000000000u, out_stop) == CGC_OK;
}

static void print_run(const iss_machine *m, const iss_stop *stop)
{
    iss_stats s;
    iss_get_stats(m, &s);
    printf("{\"reason\": %d, \"code\": %lu, \"layer\": %lu, \"symbol\": \"%s\", \"message\": "
           "\"%s\",\n",
           (int)stop->reason, (unsigned long)stop->code, (unsigned long)stop->layer, stop->symbol,
           stop->message);
    printf(" \"cycles\": %llu, \"instructions\": %llu, \"macs\": %llu, ",
           (unsigned long long)s.cycles, (unsigned long long)s.instructions,
           (unsigned long long)s.macs);
    print_races(m);
}

static bool is_wait(uint32_t word)
{
    const uint32_t opcode = word & 127u, f3 = word >> 12 & 7u, f2 = word >> 25 & 3u;
    return opcode == 0x0b && ((f3 == 6 && f2 == 1) || (f3 == 7 && f2 < 2)); /* wait, swait, drain */
}

static uint32_t u32_at(const program *p, size_t at)
{
    uint32_t v;
    memcpy(&v, p->data + at, 4);
    return v;
}

/* Where the file holds the word at pc; the file was loaded, so its headers are good. */
static size_t file_offset(const program *p, uint32_t pc)
{
    size_t found = 0;
    for (uint32_t i = 0; i < (u32_at(p, 44) & 0xffffu); i++) {
        const size_t h = u32_at(p, 28) + 32 * (size_t)i;
        if (u32_at(p, h) == 1 && pc - u32_at(p, h + 8) < u32_at(p, h + 16))
            found = u32_at(p, h + 4) + (pc - u32_at(p, h + 8));
    }
    return found;
}

/* The run without the wait at pc, which lies at byte "at" of the file. */
static bool print_without(const program *p, const iss_machine *whole, uint32_t pc, size_t at)
{
    uint32_t word;
    const uint32_t nop = NOP;
    uint64_t runs, ordering;
    iss_stop stop;
    char place[256];
    memcpy(&word, p->data + at, 4);
    memcpy(p->data + at, &nop, 4);
    iss_machine *m = load(p);
    memcpy(p->data + at, &word, 4);
    if (!m || !run(m, true, &stop)) {
        iss_free(m);
        return false;
    }
    iss_wait_get(whole, pc, &runs, &ordering);
    iss_place(whole, pc, place, sizeof place);
    printf("  {\"place\": \"%s\", \"runs\": %llu, \"ordering\": %llu, \"reason\": %d, ", place,
           (unsigned long long)runs, (unsigned long long)ordering, (int)stop.reason);
    print_races(m);
    printf("}");
    iss_free(m);
    return true;
}

static bool print_waits(const program *p, const iss_machine *whole)
{
    bool first = true;
    printf(",\n \"waits\": [\n");
    for (uint32_t i = 0; i < whole->code_count; i++) {
        uint32_t word;
        const uint32_t pc = whole->code_base + 4 * i;
        memcpy(&word, whole->ram + (pc - CCL_RAM_BASE), 4);
        if (!is_wait(word))
            continue;
        const size_t at = file_offset(p, pc);
        if (!first)
            printf(",\n");
        first = false;
        if (!print_without(p, whole, pc, at))
            return false;
    }
    printf("]");
    return true;
}

static int simulate(const program *p, bool race, bool waits)
{
    iss_stop stop;
    iss_machine *m = load(p);
    if (!m || !run(m, race || waits, &stop)) {
        iss_free(m);
        return 1;
    }
    print_run(m, &stop);
    const bool good = !waits || print_waits(p, m);
    printf("}\n");
    iss_free(m);
    return good ? 0 : 1;
}

static bool set_parameter(program *p, char *text)
{
    char *value = strchr(text, '=');
    if (!value)
        return false;
    *value++ = 0;
    return cgc_hw_set(p->hw, text, strtod(value, NULL)) == CGC_OK;
}

static bool read_file(program *p, const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    p->data = malloc(MOST_BYTES);
    p->bytes = f && p->data ? fread(p->data, 1, MOST_BYTES, f) : 0;
    if (f)
        (void)fclose(f);
    return p->bytes > 0;
}

int main(int argc, char **argv)
{
    program p = {.ctx = cgc_ctx_new()};
    bool race = false, waits = false, good = p.ctx != NULL;
    const char *path = NULL;
    p.hw = good ? cgc_hw_new(p.ctx) : NULL;
    for (int i = 1; good && i < argc; i++) {
        if (strcmp(argv[i], "--race") == 0)
            race = true;
        else if (strcmp(argv[i], "--waits") == 0)
            waits = true;
        else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc)
            good = set_parameter(&p, argv[++i]);
        else
            path = argv[i];
    }
    const int status = good && p.hw && read_file(&p, path) ? simulate(&p, race, waits) : 2;
    free(p.data);
    cgc_hw_free(p.hw);
    cgc_ctx_free(p.ctx);
    return status;
}
