/* SPDX-License-Identifier: Apache-2.0
 *
 * decode.c - program words -> predecoded instructions with their static cost (rv32.def). A load's use by the next
 * word costs scalar_load_use more; it is part of that word's cost and taken off again when a jump leads there.
 */
#include "machine.h"

enum {
    OPERAND_D = 1,
    OPERAND_X = 2,
    OPERAND_Y = 4,
    OPERAND_E = 8,
    OPERAND_F = 16,
    OPERAND_G = 32,
    OPERAND_H = 64,
    OPERAND_R = 128
};
typedef enum imm_form { IMM_N, IMM_I, IMM_S, IMM_B, IMM_U, IMM_J, IMM_H, IMM_C } imm_form;
typedef enum cost_class {
    COST_one,
    COST_mul,
    COST_div,
    COST_fp,
    COST_fdiv,
    COST_load,
    COST_zero
} cost_class;

typedef struct op_info {
    uint32_t match, mask;
    uint8_t form, operands, cost;
} op_info;

enum {
    D = OPERAND_D,
    X = OPERAND_X,
    Y = OPERAND_Y,
    E = OPERAND_E,
    F = OPERAND_F,
    G = OPERAND_G,
    H = OPERAND_H,
    R = OPERAND_R
};
static const op_info ops[ISS_OP_COUNT] = {
#define RV(name, match, mask, immediate, operands, cost)                                           \
    {match, mask, IMM_##immediate, operands, COST_##cost},
#include "rv32.def"
#undef RV
};

static uint32_t bits(uint32_t w, int lo, int n)
{
    return (w >> lo) & ((1u << n) - 1u);
}

/* The low n bits of v as a signed number. */
static int32_t signed_bits(uint32_t v, int n)
{
    const uint32_t sign = 1u << (n - 1);
    return (int32_t)((v ^ sign) - sign);
}

static int32_t immediate(uint32_t w, imm_form form)
{
    switch (form) {
    case IMM_I:
        return signed_bits(bits(w, 20, 12), 12);
    case IMM_S:
        return signed_bits(bits(w, 25, 7) << 5 | bits(w, 7, 5), 12);
    case IMM_B:
        return signed_bits(bits(w, 31, 1) << 12 | bits(w, 7, 1) << 11 | bits(w, 25, 6) << 5 |
                               bits(w, 8, 4) << 1,
                           13);
    case IMM_U:
        return (int32_t)(w & 0xfffff000u);
    case IMM_J:
        return signed_bits(bits(w, 31, 1) << 20 | bits(w, 12, 8) << 12 | bits(w, 20, 1) << 11 |
                               bits(w, 21, 10) << 1,
                           21);
    case IMM_H:
        return (int32_t)bits(w, 20, 5);
    case IMM_C:
        return (int32_t)bits(w, 20, 12);
    case IMM_N:
        break;
    }
    return 0;
}

static uint32_t class_cost(const cgc_hw *hw, cost_class c)
{
    switch (c) {
    case COST_mul:
        return (uint32_t)hw->scalar_mul_cycles;
    case COST_div:
        return (uint32_t)hw->scalar_div_cycles;
    case COST_fp:
        return (uint32_t)hw->scalar_fp_cycles;
    case COST_fdiv:
        return (uint32_t)hw->scalar_fdiv_cycles;
    case COST_zero:
        return 0;
    case COST_one:
    case COST_load:
        break;
    }
    return 1;
}

static iss_op find(uint32_t w)
{
    for (int i = 0; i < ISS_OP_illegal; i++)
        if ((w & ops[i].mask) == ops[i].match)
            return (iss_op)i;
    return ISS_OP_illegal;
}

static iss_code decode_word(const cgc_hw *hw, uint32_t w)
{
    iss_op op = find(w);
    const uint32_t rm = bits(w, 12, 3);
    if ((ops[op].operands & R) && (rm == 5 || rm == 6))
        op = ISS_OP_illegal;
    const op_info *info = &ops[op];
    const uint32_t rd = bits(w, 7, 5);
    return (iss_code){
        .op = (uint8_t)op,
        .rd = (uint8_t)((info->operands & D) && rd == 0 ? 32 : rd),
        .rs1 = (uint8_t)bits(w, 15, 5),
        .rs2 = (uint8_t)bits(w, 20, 5),
        .rs3 = (uint8_t)bits(w, 27, 5),
        .rm = (uint8_t)(op == ISS_OP_array ? rm << 2 | bits(w, 25, 2) : rm),
        .imm = op == ISS_OP_illegal ? (int32_t)w : immediate(w, (imm_form)info->form),
        .cost = class_cost(hw, (cost_class)info->cost),
    };
}

static bool reads(const iss_code *c, uint8_t reg, bool is_float)
{
    const uint8_t o = ops[c->op].operands;
    if (is_float)
        return ((o & F) && c->rs1 == reg) || ((o & G) && c->rs2 == reg) ||
               ((o & H) && c->rs3 == reg);
    /* The third operand of an array instruction is an integer register too. */
    return ((o & X) && c->rs1 == reg) || ((o & Y) && c->rs2 == reg) ||
           (c->op == ISS_OP_array && c->rs3 == reg);
}

void decode_range(iss_machine *m)
{
    const uint8_t *text = m->ram + (m->code_base - CCL_RAM_BASE);
    for (uint32_t i = 0; i < m->code_count; i++) {
        uint32_t w;
        memcpy(&w, text + (size_t)i * 4, 4);
        iss_code *c = &m->code[i];
        *c = decode_word(&m->hw, w);
        if (i == 0 || ops[c[-1].op].cost != COST_load)
            continue;
        const bool is_float = c[-1].op == ISS_OP_flw;
        if (reads(c, c[-1].rd, is_float)) {
            c->load_use = (uint16_t)m->hw.scalar_load_use;
            c->cost += c->load_use;
        }
    }
    /* What follows the text: running on into it is a fault. */
    m->code[m->code_count] = (iss_code){.op = ISS_OP_illegal, .cost = 1};
}
