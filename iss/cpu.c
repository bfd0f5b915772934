/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu.c - the scalar core: predecoded RV32IMF until something stops it. Each instruction adds its static cost;
 * taken branches, accesses to OCM and DDR and array instructions add theirs. The budget is looked at on
 * taken branches and jumps alone, which every loop has.
 */
#include "machine.h"

static uint32_t pc_of(const iss_machine *m, const iss_code *c)
{
    return m->code_base + (uint32_t)(c - m->code) * 4;
}

/* Memory outside RAM: checked, and seen by the race detector. NULL: stopped. */
static uint8_t *outside_ram(iss_machine *m, const iss_code *c, uint32_t address, uint32_t bytes,
                            bool write)
{
    uint8_t *p = iss_memory(m, address, bytes);
    if (!p) {
        iss_fault(m, ISS_ACCESS, pc_of(m, c), address,
                  write ? "store outside RAM, OCM and DDR" : "load outside RAM, OCM and DDR");
        return NULL;
    }
    if (m->race && !race_scalar_access(m, address, bytes, write, pc_of(m, c)))
        return NULL;
    return p;
}

static uint32_t divide(uint32_t a, uint32_t b)
{
    if (b == 0)
        return ~0u;
    if (a == 0x80000000u && b == ~0u)
        return a;
    return (uint32_t)((int32_t)a / (int32_t)b);
}

static uint32_t remainder_of(uint32_t a, uint32_t b)
{
    if (b == 0)
        return a;
    if (a == 0x80000000u && b == ~0u)
        return 0;
    return (uint32_t)((int32_t)a % (int32_t)b);
}

static uint32_t high_product(int64_t a, int64_t b)
{
    return (uint32_t)((uint64_t)(a * b) >> 32);
}

static uint32_t shift_right(uint32_t a, uint32_t n)
{
    return (uint32_t)((int32_t)a >> (n & 31u));
}

enum {
    CSR_FFLAGS = 1,
    CSR_FRM,
    CSR_FCSR,
    CSR_CYCLE = 0xc00,
    CSR_TIME,
    CSR_INSTRET,
    CSR_HIGH = 0x80
};

static bool csr_read(iss_machine *m, uint32_t csr, uint32_t *out)
{
    iss_cpu *cpu = &m->cpu;
    switch (csr) {
    case CSR_FFLAGS:
    case CSR_FCSR:
        fpu_collect(cpu);
        *out = cpu->fflags | (csr == CSR_FCSR ? cpu->frm << 5 : 0);
        return true;
    case CSR_FRM:
        *out = cpu->frm;
        return true;
    case CSR_CYCLE:
    case CSR_TIME:
        *out = (uint32_t)m->time.now;
        return true;
    case CSR_INSTRET:
        *out = (uint32_t)m->instructions;
        return true;
    case CSR_CYCLE + CSR_HIGH:
    case CSR_TIME + CSR_HIGH:
        *out = (uint32_t)(m->time.now >> 32);
        return true;
    case CSR_INSTRET + CSR_HIGH:
        *out = (uint32_t)(m->instructions >> 32);
        return true;
    default:
        return false;
    }
}

static bool csr_write(iss_machine *m, uint32_t csr, uint32_t v)
{
    iss_cpu *cpu = &m->cpu;
    if (csr < CSR_FFLAGS || csr > CSR_FCSR)
        return false;
    fpu_collect(cpu);
    if (csr != CSR_FRM)
        cpu->fflags = v & 31u;
    if (csr != CSR_FFLAGS)
        cpu->frm = csr == CSR_FCSR ? (v >> 5) & 7u : v & 7u;
    return true;
}

static bool csr_exec(iss_machine *m, const iss_code *c)
{
    const uint32_t csr = (uint32_t)c->imm;
    const bool from_register =
        c->op == ISS_OP_csrrw || c->op == ISS_OP_csrrs || c->op == ISS_OP_csrrc;
    const uint32_t v = from_register ? m->cpu.x[c->rs1] : c->rs1;
    const bool swap = c->op == ISS_OP_csrrw || c->op == ISS_OP_csrrwi;
    const bool clear = c->op == ISS_OP_csrrc || c->op == ISS_OP_csrrci;
    uint32_t old = 0;
    bool good = csr_read(m, csr, &old);
    if (good && (swap || c->rs1 != 0))
        good = csr_write(m, csr, swap ? v : clear ? old & ~v : old | v);
    if (!good)
        return iss_fault(m, ISS_ILLEGAL, pc_of(m, c), csr, "unknown or read-only control register");
    m->cpu.x[c->rd] = old;
    return true;
}

static bool float_exec(iss_machine *m, const iss_code *c)
{
    iss_cpu *cpu = &m->cpu;
    const uint32_t a = cpu->f[c->rs1], b = cpu->f[c->rs2];
    const iss_op op = (iss_op)c->op;
    const bool converts = op == ISS_OP_fcvt_w_s || op == ISS_OP_fcvt_wu_s ||
                          op == ISS_OP_fcvt_s_w || op == ISS_OP_fcvt_s_wu;
    if (!fpu_mode_usable(cpu, c->rm, !converts))
        return iss_fault(m, ISS_ILLEGAL, pc_of(m, c), c->rm,
                         "rounding mode is invalid or not simulated");
    if (op == ISS_OP_fcvt_w_s || op == ISS_OP_fcvt_wu_s)
        cpu->x[c->rd] = fpu_to_int(cpu, op, a, c->rm);
    else if (converts)
        cpu->f[c->rd] = fpu_from_int(cpu, op, cpu->x[c->rs1], c->rm);
    else
        cpu->f[c->rd] = fpu_arith(cpu, op, a, b, cpu->f[c->rs3], c->rm);
    return true;
}

/* ecall, ebreak and unknown words. */
static void stop_exec(iss_machine *m, const iss_code *c)
{
    const uint32_t *x = m->cpu.x;
    if (c->op == ISS_OP_ecall && x[17] == 93) {
        iss_fault(m, ISS_EXIT, pc_of(m, c), 0, NULL);
        m->stop.code = x[10];
    } else if (c->op == ISS_OP_ecall) {
        iss_fault(m, ISS_ILLEGAL, pc_of(m, c), x[17], "unknown system call");
    } else if (c->op == ISS_OP_ebreak) {
        iss_fault(m, ISS_ILLEGAL, pc_of(m, c), 0, "ebreak");
    } else {
        iss_fault(m, ISS_ILLEGAL, pc_of(m, c), (uint32_t)c->imm,
                  (uint32_t)(c - m->code) < m->code_count ? "unknown instruction"
                                                          : "ran off the end of the text");
    }
}

static void bad_jump(iss_machine *m, const iss_code *c, uint32_t target)
{
    iss_fault(m, ISS_ACCESS, pc_of(m, c), target,
              target & 3u ? "jump to an address that is no multiple of 4"
                          : "jump outside the program text");
}

#define A x[c->rs1]
#define B x[c->rs2]
#define SA ((int32_t)x[c->rs1])
#define SB ((int32_t)x[c->rs2])
#define IMM ((uint32_t)c->imm)
#define SET(op, value)                                                                             \
    case ISS_OP_##op:                                                                              \
        x[c->rd] = (value);                                                                        \
        break;
#define BRANCH(op, condition)                                                                      \
    case ISS_OP_##op:                                                                              \
        if (!(condition))                                                                          \
            break;                                                                                 \
        target = pc_of(m, c) + IMM;                                                                \
        goto jump;
/* p = the bytes of an access; RAM is the fast case. */
#define ACCESS(address_, bytes, write)                                                             \
    address = (address_);                                                                          \
    if (address - CCL_RAM_BASE <= CCL_RAM_BYTES - (bytes)) {                                       \
        p = m->ram + (address - CCL_RAM_BASE);                                                     \
    } else {                                                                                       \
        m->time.now = now;                                                                         \
        p = outside_ram(m, c, address, bytes, write);                                              \
        if (!p)                                                                                    \
            goto stop;                                                                             \
        now += address >= CCL_DDR_BASE ? ddr_cycles : ocm_cycles;                                  \
    }
#define LOAD(op, type, to)                                                                         \
    case ISS_OP_##op: {                                                                            \
        type v;                                                                                    \
        ACCESS(A + IMM, (uint32_t)sizeof v, false)                                                 \
        memcpy(&v, p, sizeof v);                                                                   \
        to[c->rd] = (uint32_t)v;                                                                   \
        break;                                                                                     \
    }
#define LOAD_SIGNED(op, type)                                                                      \
    case ISS_OP_##op: {                                                                            \
        type v;                                                                                    \
        ACCESS(A + IMM, (uint32_t)sizeof v, false)                                                 \
        memcpy(&v, p, sizeof v);                                                                   \
        x[c->rd] = (uint32_t)(int32_t)v;                                                           \
        break;                                                                                     \
    }
#define STORE(op, type, from)                                                                      \
    case ISS_OP_##op: {                                                                            \
        const type v = (type)from[c->rs2];                                                         \
        ACCESS(A + IMM, (uint32_t)sizeof v, true)                                                  \
        memcpy(p, &v, sizeof v);                                                                   \
        break;                                                                                     \
    }

/* The one dispatch. lint: long, one case per instruction */
void cpu_run(iss_machine *m)
{
    uint32_t *const x = m->cpu.x, *const f = m->cpu.f;
    const iss_code *const code = m->code;
    const uint32_t code_base = m->code_base, code_count = m->code_count;
    const uint64_t branch_cycles = (uint64_t)m->hw.scalar_branch_cycles;
    const uint64_t ocm_cycles = (uint64_t)m->hw.scalar_ocm_cycles;
    const uint64_t ddr_cycles = (uint64_t)m->hw.scalar_ddr_cycles;
    const iss_code *c = code + (m->cpu.pc - code_base) / 4;
    uint64_t now = m->time.now, count = m->instructions;
    uint32_t target, address;
    uint8_t *p;

    for (;; c++) {
        now += c->cost;
        count++;
        switch ((iss_op)c->op) {
            SET(lui, IMM)
            SET(auipc, pc_of(m, c) + IMM)
            SET(addi, A + IMM)
            SET(slti, SA < c->imm)
            SET(sltiu, A < IMM)
            SET(xori, A ^ IMM)
            SET(ori, A | IMM)
            SET(andi, A & IMM)
            SET(slli, A << IMM)
            SET(srli, A >> IMM)
            SET(srai, shift_right(A, IMM))
            SET(add, A + B)
            SET(sub, A - B)
            SET(sll, A << (B & 31u))
            SET(slt, SA < SB)
            SET(sltu, A < B)
            SET(xor, A ^ B)
            SET(srl, A >> (B & 31u))
            SET(sra, shift_right(A, B))
            SET(or, A | B)
            SET(and, A & B)
            SET(mul, A * B)
            SET(mulh, high_product(SA, SB))
            SET(mulhsu, high_product(SA, (int64_t)B))
            SET(mulhu, (uint32_t)(((uint64_t)A * B) >> 32))
            SET(div, divide(A, B))
            SET(divu, B ? A / B : ~0u)
            SET(rem, remainder_of(A, B))
            SET(remu, B ? A % B : A)
            SET(fmv_x_w, f[c->rs1])
            SET(fclass, fpu_classify(f[c->rs1]))
            BRANCH(beq, A == B)
            BRANCH(bne, A != B)
            BRANCH(blt, SA < SB)
            BRANCH(bge, SA >= SB)
            BRANCH(bltu, A < B)
            BRANCH(bgeu, A >= B)
            LOAD_SIGNED(lb, int8_t)
            LOAD_SIGNED(lh, int16_t)
            LOAD(lw, uint32_t, x)
            LOAD(lbu, uint8_t, x)
            LOAD(lhu, uint16_t, x)
            LOAD(flw, uint32_t, f)
            STORE(sb, uint8_t, x)
            STORE(sh, uint16_t, x)
            STORE(sw, uint32_t, x)
            STORE(fsw, uint32_t, f)
        case ISS_OP_jal:
            target = pc_of(m, c) + IMM;
            x[c->rd] = pc_of(m, c) + 4;
            goto jump;
        case ISS_OP_jalr:
            target = (A + IMM) & ~1u;
            x[c->rd] = pc_of(m, c) + 4;
            goto jump;
        case ISS_OP_fence:
            break;
        case ISS_OP_fence_i:
            decode_range(m);
            break;
        case ISS_OP_csrrw:
        case ISS_OP_csrrs:
        case ISS_OP_csrrc:
        case ISS_OP_csrrwi:
        case ISS_OP_csrrsi:
        case ISS_OP_csrrci:
            m->time.now = now - c->cost;
            m->instructions = count - 1;
            if (!csr_exec(m, c))
                goto stop;
            break;
        case ISS_OP_fadd:
        case ISS_OP_fsub:
        case ISS_OP_fmul:
        case ISS_OP_fdiv:
        case ISS_OP_fsqrt:
        case ISS_OP_fmadd:
        case ISS_OP_fmsub:
        case ISS_OP_fnmsub:
        case ISS_OP_fnmadd:
        case ISS_OP_fcvt_w_s:
        case ISS_OP_fcvt_wu_s:
        case ISS_OP_fcvt_s_w:
        case ISS_OP_fcvt_s_wu:
            if (!float_exec(m, c))
                goto stop;
            break;
        case ISS_OP_fsgnj:
            f[c->rd] = (f[c->rs1] & 0x7fffffffu) | (f[c->rs2] & 0x80000000u);
            break;
        case ISS_OP_fsgnjn:
            f[c->rd] = (f[c->rs1] & 0x7fffffffu) | (~f[c->rs2] & 0x80000000u);
            break;
        case ISS_OP_fsgnjx:
            f[c->rd] = f[c->rs1] ^ (f[c->rs2] & 0x80000000u);
            break;
        case ISS_OP_fmv_w_x:
            f[c->rd] = A;
            break;
        case ISS_OP_fmin:
        case ISS_OP_fmax:
            f[c->rd] = fpu_min_max(&m->cpu, (iss_op)c->op, f[c->rs1], f[c->rs2]);
            break;
        case ISS_OP_feq:
        case ISS_OP_flt:
        case ISS_OP_fle:
            x[c->rd] = fpu_compare(&m->cpu, (iss_op)c->op, f[c->rs1], f[c->rs2]);
            break;
        case ISS_OP_array:
            m->time.now = now;
            m->instructions = count;
            if (!array_exec(m, c, pc_of(m, c)))
                goto stop_array;
            now = m->time.now;
            break;
        case ISS_OP_ecall:
        case ISS_OP_ebreak:
        case ISS_OP_illegal:
        case ISS_OP_COUNT:
            stop_exec(m, c);
            goto stop;
        }
        continue;

    jump:
        if ((target & 3u) || (target - code_base) / 4 >= code_count) {
            bad_jump(m, c, target);
            goto stop;
        }
        if (count >= m->max_instructions) {
            m->time.now = now;
            m->instructions = count;
            iss_fault(m, ISS_LIMIT, target, 0, "instruction budget used up");
            now += branch_cycles;
            now -= code[(target - code_base) / 4].load_use;
            m->cpu.pc = target;
            goto stop_limit;
        }
        c = code + (target - code_base) / 4;
        now += branch_cycles;
        now -= c->load_use;
        c--;
    }
stop:
    m->cpu.pc = pc_of(m, c);
stop_limit:
    m->time.now = now;
stop_array:
    m->instructions = count;
}
