/* SPDX-License-Identifier: Apache-2.0
 *
 * iss_asm.h - a small assembler for tests of the simulator: words -> an ELF file in memory -> a finished run. Written
 * from the RISC-V manual and isa/isa.def's numbers, sharing nothing with iss/.
 */
#ifndef ISS_ASM_H
#define ISS_ASM_H

#include "base/base.h"
#include "check.h"
#include "iss.h"

#include <stdlib.h>

enum { ASM_MAX = 1 << 17, ASM_HEADER = 52 + 32, ASM_BASE = (int)0x80000000 };
#define ASM_DATA 0x80400000u /* descriptors and scratch of tests, above the text */
#define ASM_OCM 0x10000000u
#define ASM_DDR 0x40000000u

enum { ZERO, RA, SP, GP, TP, T0, T1, T2, S0, S1, A0, A1, A2, A3, A4, A5, A6, A7 };

typedef struct prog {
    uint32_t words[ASM_MAX];
    uint32_t n;
} prog;

static inline void put(prog *p, uint32_t w)
{
    if (p->n < ASM_MAX)
        p->words[p->n++] = w;
}

static inline uint32_t r_type(uint32_t f7, uint32_t rs2, uint32_t rs1, uint32_t f3, uint32_t rd,
                              uint32_t op)
{
    return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static inline uint32_t i_type(int32_t imm, uint32_t rs1, uint32_t f3, uint32_t rd, uint32_t op)
{
    return ((uint32_t)imm & 0xfffu) << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static inline uint32_t s_type(int32_t imm, uint32_t rs2, uint32_t rs1, uint32_t f3, uint32_t op)
{
    const uint32_t v = (uint32_t)imm;
    return (v >> 5 & 127u) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | (v & 31u) << 7 | op;
}

static inline uint32_t b_type(int32_t imm, uint32_t rs2, uint32_t rs1, uint32_t f3)
{
    const uint32_t v = (uint32_t)imm;
    return (v >> 12 & 1u) << 31 | (v >> 5 & 63u) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 |
           (v >> 1 & 15u) << 8 | (v >> 11 & 1u) << 7 | 0x63u;
}

static inline uint32_t j_type(int32_t imm, uint32_t rd)
{
    const uint32_t v = (uint32_t)imm;
    return (v >> 20 & 1u) << 31 | (v >> 1 & 1023u) << 21 | (v >> 11 & 1u) << 20 |
           (v >> 12 & 255u) << 12 | rd << 7 | 0x6fu;
}

static inline uint32_t addi(uint32_t rd, uint32_t rs1, int32_t imm)
{
    return i_type(imm, rs1, 0, rd, 0x13);
}

static inline uint32_t lw(uint32_t rd, uint32_t rs1, int32_t imm)
{
    return i_type(imm, rs1, 2, rd, 0x03);
}

static inline uint32_t sw(uint32_t rs2, uint32_t rs1, int32_t imm)
{
    return s_type(imm, rs2, rs1, 2, 0x23);
}

/* Two instructions, two cycles, whatever v is. */
static inline void li(prog *p, uint32_t rd, uint32_t v)
{
    put(p, ((v + 0x800u) & 0xfffff000u) | rd << 7 | 0x37u);
    put(p, addi(rd, rd, (int32_t)(v << 20) >> 20));
}

static inline uint32_t array_word(uint32_t f3, uint32_t f2, uint32_t rd, uint32_t rs1, uint32_t rs2,
                                  uint32_t rs3)
{
    return rs3 << 27 | f2 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x0bu;
}

/* Six cycles of li and the array instruction over A0, A1, A2. */
static inline void array3(prog *p, uint32_t f3, uint32_t f2, uint32_t a, uint32_t b, uint32_t c)
{
    li(p, A0, a);
    li(p, A1, b);
    li(p, A2, c);
    put(p, array_word(f3, f2, 0, A0, A1, A2));
}

static inline uint32_t pair(uint32_t low, uint32_t high)
{
    return low | high << 16;
}

static inline void leave(prog *p) /* two cycles */
{
    put(p, addi(A7, ZERO, 93));
    put(p, 0x73);
}

static inline void put_u32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

/* The ELF file of p; caller frees. */
static inline uint8_t *asm_elf(const prog *p, size_t *out_bytes)
{
    const size_t bytes = ASM_HEADER + (size_t)p->n * 4;
    uint8_t *d = calloc(bytes, 1);
    const uint32_t header[13] = {
        0x464c457fu, 0x00010101u,     0, 0, 2u | 243u << 16, 1, (uint32_t)ASM_BASE, 52, 0,
        0,           52u | 32u << 16, 1, 0};
    const uint32_t segment[8] = {
        1, ASM_HEADER, (uint32_t)ASM_BASE, (uint32_t)ASM_BASE, p->n * 4, p->n * 4, 5, 4};
    if (!d)
        return NULL;
    for (int i = 0; i < 13; i++)
        put_u32(d + 4 * i, header[i]);
    for (int i = 0; i < 8; i++)
        put_u32(d + 52 + 4 * i, segment[i]);
    for (uint32_t i = 0; i < p->n; i++)
        put_u32(d + ASM_HEADER + (size_t)i * 4, p->words[i]);
    *out_bytes = bytes;
    return d;
}

/* A machine with p loaded, ready to get its data. */
static inline iss_machine *asm_machine(cgc_ctx *ctx, const cgc_hw *hw, const prog *p)
{
    size_t bytes;
    uint8_t *elf = asm_elf(p, &bytes);
    iss_machine *m = iss_new(ctx, hw);
    CHECK(elf && m && iss_load_elf(m, elf, bytes) == CGC_OK);
    free(elf);
    return m;
}

static inline iss_stop asm_run(iss_machine *m)
{
    iss_stop stop = {0};
    CHECK(iss_run(m, 100000000, &stop) == CGC_OK);
    return stop;
}

/* Deterministic numbers. */
static inline uint32_t rnd(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static inline uint32_t rnd_below(uint64_t *state, uint32_t n)
{
    return rnd(state) % n;
}

#endif
