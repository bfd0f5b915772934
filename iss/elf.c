/* SPDX-License-Identifier: Apache-2.0
 *
 * elf.c - a RISC-V ELF file -> memory, decoded text, symbols. The file is untrusted: every offset is checked against
 * the file, every segment against the memory map. A copy of the file stays with the machine for names and lines.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ELF_HEADER = 52,
    ELF_EXEC = 2,
    ELF_RISCV = 243,
    ELF_FLAG_RVC = 1,
    ELF_PT_LOAD = 1,
    ELF_PF_X = 1,
    ELF_PROGRAM = 32,
    ELF_SECTION = 40,
    ELF_SHT_SYMTAB = 2,
    ELF_SYMBOL = 16,
    ELF_SHF_COMPRESSED = 0x800,
    ELF_MOST_HEADERS = 4096
};
#define ELF_MAX_BYTES ((size_t)256 << 20)

static uint32_t u32_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t u16_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static bool inside(const iss_elf *elf, uint64_t offset, uint64_t bytes)
{
    return offset <= elf->bytes && bytes <= elf->bytes - offset;
}

static cgc_status malformed(iss_machine *m, const char *what)
{
    diag_info info = {.wanted = "a statically linked RISC-V ELF32 executable",
                      .cure =
                          "link with the program's link.ld and without compressed instructions"};
    return diag(m->ctx, CGC_E_FORMAT, info, "ELF file: %s", what);
}

static cgc_status check_header(iss_machine *m, const uint8_t *d, size_t bytes)
{
    if (bytes < ELF_HEADER || memcmp(d, "\177ELF", 4) != 0)
        return malformed(m, "no ELF header");
    if (d[4] != 1 || d[5] != 1)
        return malformed(m, "not 32-bit little-endian");
    if (u16_at(d + 16) != ELF_EXEC || u16_at(d + 18) != ELF_RISCV)
        return malformed(m, "not a RISC-V executable");
    if (u32_at(d + 36) & ELF_FLAG_RVC)
        return malformed(m, "uses compressed instructions");
    if (u16_at(d + 42) != ELF_PROGRAM || (u16_at(d + 48) != 0 && u16_at(d + 46) != ELF_SECTION))
        return malformed(m, "unexpected header sizes");
    return CGC_OK;
}

static cgc_status load_segment(iss_machine *m, const uint8_t *p)
{
    const uint32_t offset = u32_at(p + 4), address = u32_at(p + 8);
    const uint32_t file_bytes = u32_at(p + 16), bytes = u32_at(p + 20), flags = u32_at(p + 24);
    if (file_bytes > bytes || !inside(&m->elf, offset, file_bytes))
        return malformed(m, "a segment lies outside the file");
    if (bytes == 0)
        return CGC_OK;
    uint8_t *to = iss_memory(m, address, bytes);
    if (!to) {
        diag_info info = {.wanted = "segments inside RAM (0x80000000), OCM or DDR",
                          .cure = "link with the program's link.ld"};
        return diag(m->ctx, CGC_E_LIMIT, info,
                    "ELF file: segment of %u bytes at 0x%08x is outside the memory map", bytes,
                    address);
    }
    memcpy(to, m->elf.data + offset, file_bytes);
    memset(to + file_bytes, 0, bytes - file_bytes);
    if (!(flags & ELF_PF_X) || address < CCL_RAM_BASE)
        return CGC_OK;
    /* Text is one range from the lowest to the highest executable segment. */
    const uint32_t first = address & ~3u, end = address + (bytes & ~3u);
    const uint32_t old_end = m->code_base + m->code_count * 4;
    const uint32_t base = m->code_count && m->code_base < first ? m->code_base : first;
    m->code_count = ((m->code_count && old_end > end ? old_end : end) - base) / 4;
    m->code_base = base;
    return CGC_OK;
}

static bool same(const iss_elf *elf, size_t at, const char *name)
{
    const size_t n = strlen(name) + 1;
    return inside(elf, at, n) && memcmp(elf->data + at, name, n) == 0;
}

static void keep_section(iss_elf *elf, const uint8_t *s, size_t names)
{
    const size_t name = names + u32_at(s), offset = u32_at(s + 16), bytes = u32_at(s + 20);
    if (!inside(elf, offset, bytes) || (u32_at(s + 8) & ELF_SHF_COMPRESSED))
        return;
    if (u32_at(s + 4) == ELF_SHT_SYMTAB) {
        elf->symtab = offset;
        elf->symtab_bytes = bytes;
    } else if (same(elf, name, ".strtab")) {
        elf->strtab = offset;
        elf->strtab_bytes = bytes;
    } else if (same(elf, name, ".debug_line")) {
        elf->line = offset;
        elf->line_bytes = bytes;
    } else if (same(elf, name, ".debug_str")) {
        elf->str = offset;
        elf->str_bytes = bytes;
    } else if (same(elf, name, ".debug_line_str")) {
        elf->line_str = offset;
        elf->line_str_bytes = bytes;
    }
}

/* Sections only give names and lines: what is unusable is left out. */
static void read_sections(iss_elf *elf)
{
    const uint8_t *d = elf->data;
    const uint64_t table = u32_at(d + 32), count = u16_at(d + 48), names_index = u16_at(d + 50);
    if (count == 0 || count > ELF_MOST_HEADERS || names_index >= count ||
        !inside(elf, table, count * ELF_SECTION))
        return;
    const size_t names = u32_at(d + table + names_index * ELF_SECTION + 16);
    for (uint64_t i = 0; i < count; i++)
        keep_section(elf, d + table + i * ELF_SECTION, names);
}

static cgc_status load_segments(iss_machine *m)
{
    const uint8_t *d = m->elf.data;
    const uint64_t table = u32_at(d + 28), count = u16_at(d + 44);
    if (count > ELF_MOST_HEADERS || !inside(&m->elf, table, count * ELF_PROGRAM))
        return malformed(m, "program headers lie outside the file");
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *p = d + table + i * ELF_PROGRAM;
        if (u32_at(p) == ELF_PT_LOAD)
            TRY(load_segment(m, p));
    }
    m->elf.entry = u32_at(d + 24);
    if (m->code_count == 0)
        return malformed(m, "no program text in RAM");
    if ((m->elf.entry & 3u) || (m->elf.entry - m->code_base) / 4 >= m->code_count)
        return malformed(m, "the entry point is not in the program text");
    return CGC_OK;
}

cgc_status elf_load(iss_machine *m, const uint8_t *data, size_t bytes)
{
    if (m->elf.data) {
        diag_info info = {.cure = "use a new machine"};
        return diag(m->ctx, CGC_E_ARGUMENT, info, "the machine has a program already");
    }
    TRY(check_header(m, data, bytes));
    if (bytes > ELF_MAX_BYTES)
        return malformed(m, "larger than 256 MiB");
    m->elf.data = malloc(bytes);
    if (!m->elf.data)
        return diag(m->ctx, CGC_E_NOMEM, (diag_info){0}, "no memory for the program");
    memcpy(m->elf.data, data, bytes);
    m->elf.bytes = bytes;
    TRY(load_segments(m));
    read_sections(&m->elf);
    m->code = calloc((size_t)m->code_count + 1, sizeof *m->code);
    if (!m->code)
        return diag(m->ctx, CGC_E_NOMEM, (diag_info){0}, "no memory for the program");
    decode_range(m);
    m->cpu.pc = m->elf.entry;
    m->cpu.x[2] = CCL_RAM_BASE + CCL_RAM_BYTES; /* programs may set their own stack */
    m->array.ocm_peak = 0;
    return CGC_OK;
}

/* Is s a name that a place can have? Mapping symbols ($x), local labels (.L) and data are none. */
static const char *symbol_name(const iss_elf *elf, const uint8_t *s)
{
    const size_t at = u32_at(s);
    const uint8_t type = s[12] & 15u;
    if (at >= elf->strtab_bytes || (type != 0 && type != 2) || u16_at(s + 14) == 0)
        return NULL;
    const char *name = (const char *)elf->data + elf->strtab + at;
    if (!memchr(name, 0, elf->strtab_bytes - at) || name[0] == 0 || name[0] == '$' ||
        name[0] == '.')
        return NULL;
    return name;
}

const char *elf_symbol(const iss_machine *m, uint32_t pc, uint32_t *out_offset)
{
    const iss_elf *elf = &m->elf;
    const char *best = "";
    uint32_t best_at = 0;
    for (size_t i = 0; i + ELF_SYMBOL <= elf->symtab_bytes; i += ELF_SYMBOL) {
        const uint8_t *s = elf->data + elf->symtab + i;
        const uint32_t at = u32_at(s + 4);
        if (at > pc || (*best && at < best_at) || pc - m->code_base >= m->code_count * 4)
            continue;
        const char *name = symbol_name(elf, s);
        if (name) {
            best = name;
            best_at = at;
        }
    }
    *out_offset = pc - best_at;
    return best;
}

void iss_place(const iss_machine *m, uint32_t pc, char *out, size_t out_bytes)
{
    char line[160];
    uint32_t offset;
    const char *symbol = elf_symbol(m, pc, &offset);
    lines_find(&m->elf, pc, line, sizeof line);
    if (*symbol)
        (void)snprintf(out, out_bytes, "%.80s+0x%x", symbol, offset);
    else
        (void)snprintf(out, out_bytes, "0x%08x", pc);
    const size_t used = strlen(out);
    if (*line)
        (void)snprintf(out + used, out_bytes - used, " (%s)", line);
}
