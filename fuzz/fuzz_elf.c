/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_elf.c - the simulator over any bytes: an ELF file if they begin like one, else the words of a
 * program with its data behind them. Whatever the guest does is a result: the account of each queue must hold, and
 * the race detector must change neither cycles nor values.
 */
#include "base/base.h"
#include "fuzz.h"
#include "iss.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 84, BUDGET = 500, OCM_BYTES = 4096 };

static void check_account(const iss_machine *m, const iss_stop *stop)
{
    iss_stats s;
    iss_get_stats(m, &s);
    REQUIRE(stop->symbol && stop->message);
    if (stop->reason == ISS_LIMIT)
        return;
    for (int q = 0; q < ISS_QUEUES; q++) {
        uint64_t sum = s.busy[q];
        for (int k = 0; k < ISS_STALLS; k++)
            sum += s.stall[q][k];
        REQUIRE(sum == s.cycles);
    }
}

static cgc_status run(cgc_ctx *ctx, const uint8_t *elf, size_t size, int race, iss_stats *out_stats,
                      uint8_t *out_ocm)
{
    cgc_hw hw;
    iss_stop stop;
    hw_init(&hw, ctx);
    hw.array_size = 2;
    hw.lrm_size = 256;
    hw.ocm_size = OCM_BYTES;
    iss_machine *m = iss_new(ctx, &hw);
    REQUIRE(m);
    const cgc_status s = iss_load_elf(m, elf, size);
    if (s == CGC_OK) {
        iss_set_race_detector(m, race, 0);
        REQUIRE(iss_run(m, BUDGET, &stop) == CGC_OK && stop.reason != ISS_RUNNING);
        check_account(m, &stop);
        iss_get_stats(m, out_stats);
        REQUIRE(iss_read(m, 0x10000000u, out_ocm, OCM_BYTES) == CGC_OK);
        for (int32_t i = 0; i < iss_race_count(m); i++) {
            iss_race r;
            iss_race_get(m, i, &r);
            REQUIRE(r.first && r.second && r.first_queue < ISS_QUEUES);
        }
    } else {
        REQUIRE(ctx->error.code != CGC_OK);
    }
    iss_free(m);
    cgc_ctx_clear(ctx);
    return s;
}

static void both(cgc_ctx *ctx, const uint8_t *elf, size_t size)
{
    static uint8_t ocm[2][OCM_BYTES];
    iss_stats s[2];
    if (run(ctx, elf, size, 0, &s[0], ocm[0]) != CGC_OK)
        return;
    REQUIRE(run(ctx, elf, size, 1, &s[1], ocm[1]) == CGC_OK);
    REQUIRE(s[0].cycles == s[1].cycles && s[0].instructions == s[1].instructions);
    REQUIRE(memcmp(ocm[0], ocm[1], OCM_BYTES) == 0);
}

static void put_u32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t n = (uint32_t)(size > 65536 ? 65536 : size) & ~3u;
    const uint32_t words[21] = {0x464c457fu, 0x00010101u, 0,      0,           2u | 243u << 16, 1,
                                0x80000000u, 52,          0,      0,           52u | 32u << 16, 1,
                                0,           1,           HEADER, 0x80000000u, 0x80000000u,     n,
                                n,           7,           4};
    cgc_ctx *ctx = cgc_ctx_new();
    uint8_t *elf = malloc(HEADER + (size_t)n);
    REQUIRE(ctx && elf);
    if (size >= 4 && data[0] == 0x7f) {
        both(ctx, data, size);
    } else {
        for (int i = 0; i < 21; i++)
            put_u32(elf + 4 * i, words[i]);
        memcpy(elf + HEADER, data, n);
        both(ctx, elf, HEADER + (size_t)n);
    }
    free(elf);
    cgc_ctx_free(ctx);
    return 0;
}
