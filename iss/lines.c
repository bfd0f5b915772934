/* SPDX-License-Identifier: Apache-2.0
 *
 * lines.c - .debug_line (DWARF 2 to 5): address -> "file:line". Nothing is kept: a look-up runs the line programs
 * from the start, which costs about a millisecond and happens only for faults and race reports. The section is
 * untrusted: a cursor that would leave its unit ends the look-up without a result.
 */
#include "machine.h"

#include <stdio.h>

typedef struct cursor {
    const uint8_t *at, *end;
    bool bad;
} cursor;

enum {
    FORM_BLOCK2 = 3,
    FORM_BLOCK4,
    FORM_DATA2,
    FORM_DATA4,
    FORM_DATA8,
    FORM_STRING,
    FORM_BLOCK,
    FORM_BLOCK1,
    FORM_DATA1,
    FORM_STRP = 0x0e,
    FORM_UDATA = 0x0f,
    FORM_DATA16 = 0x1e,
    FORM_LINE_STRP = 0x1f
};
enum { CONTENT_PATH = 1 };

typedef struct unit {
    uint32_t version, min_length, line_range, opcode_base;
    int32_t line_base;
    const uint8_t *opcode_lengths; /* [opcode_base - 1] */
    cursor files;                  /* at the file table; version 5: at its format */
    cursor program;
} unit;

typedef struct row {
    uint32_t address, file;
    int64_t line;
} row;

typedef struct found {
    uint32_t pc;
    bool hit;
    uint32_t file;
    int64_t line;
} found;

static uint64_t take(cursor *c, size_t n)
{
    uint64_t v = 0;
    if (n > (size_t)(c->end - c->at)) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        v |= i < 8 ? (uint64_t)c->at[i] << (8 * i) : 0;
    c->at += n;
    return v;
}

static uint64_t take_uleb(cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint64_t b = take(c, 1);
        if (shift < 64)
            v |= (b & 127u) << shift;
        if (!(b & 128u))
            return v;
    }
}

static int64_t take_sleb(cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint64_t b = take(c, 1);
        if (shift < 64)
            v |= (b & 127u) << shift;
        if (b & 128u)
            continue;
        if ((b & 64u) && shift + 7 < 64)
            v |= ~(uint64_t)0 << (shift + 7);
        return (int64_t)v;
    }
}

static const char *take_string(cursor *c)
{
    const uint8_t *end = c->at < c->end ? memchr(c->at, 0, (size_t)(c->end - c->at)) : NULL;
    const char *s = (const char *)c->at;
    if (!end) {
        c->bad = true;
        c->at = c->end;
        return "";
    }
    c->at = end + 1;
    return s;
}

static const char *string_in(const iss_elf *elf, size_t section, size_t bytes, uint64_t at)
{
    if (at >= bytes)
        return "";
    const char *s = (const char *)elf->data + section + at;
    return memchr(s, 0, bytes - (size_t)at) ? s : "";
}

/* One entry's value; its text if it is a string, else "". */
static const char *take_form(const iss_elf *elf, cursor *c, uint64_t form)
{
    switch (form) {
    case FORM_STRING:
        return take_string(c);
    case FORM_LINE_STRP:
        return string_in(elf, elf->line_str, elf->line_str_bytes, take(c, 4));
    case FORM_STRP:
        return string_in(elf, elf->str, elf->str_bytes, take(c, 4));
    case FORM_UDATA:
        (void)take_uleb(c);
        return "";
    case FORM_DATA1:
    case FORM_DATA2:
    case FORM_DATA4:
    case FORM_DATA8:
    case FORM_DATA16:
        (void)take(c, form == FORM_DATA1   ? 1
                      : form == FORM_DATA2 ? 2
                      : form == FORM_DATA4 ? 4
                      : form == FORM_DATA8 ? 8
                                           : 16);
        return "";
    case FORM_BLOCK:
        (void)take(c, (size_t)take_uleb(c));
        return "";
    case FORM_BLOCK1:
        (void)take(c, (size_t)take(c, 1));
        return "";
    case FORM_BLOCK2:
        (void)take(c, (size_t)take(c, 2));
        return "";
    case FORM_BLOCK4:
        (void)take(c, (size_t)take(c, 4));
        return "";
    default:
        c->bad = true;
        return "";
    }
}

/* Version 5: the path of entry "wanted" of a table (past its end: ""); the cursor ends behind the table. */
static const char *entry_path(const iss_elf *elf, cursor *c, uint64_t wanted)
{
    const char *path = "";
    const uint64_t n_formats = take(c, 1);
    const cursor formats = *c;
    for (uint64_t i = 0; i < 2 * n_formats; i++)
        (void)take_uleb(c);
    const uint64_t count = take_uleb(c);
    if (n_formats == 0)
        return path;
    for (uint64_t i = 0; i < count && !c->bad; i++) {
        cursor f = formats;
        for (uint64_t k = 0; k < n_formats && !c->bad; k++) {
            const uint64_t content = take_uleb(&f), form = take_uleb(&f);
            const uint8_t *before = c->at;
            const char *s = take_form(elf, c, form);
            if (c->at == before) /* an entry without bytes could repeat for ever */
                c->bad = true;
            if (content == CONTENT_PATH && i == wanted)
                path = s;
        }
    }
    return path;
}

static const char *file_name(const iss_elf *elf, const unit *u, uint32_t file)
{
    cursor c = u->files;
    if (u->version >= 5)
        return entry_path(elf, &c, file);
    for (uint32_t i = 1; !c.bad; i++) {
        const char *name = take_string(&c);
        if (*name == 0)
            break;
        if (i == file)
            return name;
        (void)take_uleb(&c);
        (void)take_uleb(&c);
        (void)take_uleb(&c);
    }
    return "";
}

/* Header of the unit at c; c moves behind the unit. */
static bool read_unit(const iss_elf *elf, cursor *c, unit *u)
{
    const uint64_t length = take(c, 4);
    if (c->bad || length > (uint64_t)(c->end - c->at)) /* 64-bit DWARF (0xffffffff) ends here too */
        return false;
    cursor h = {c->at, c->at + length, false};
    c->at += length;
    u->version = (uint32_t)take(&h, 2);
    if (u->version < 2 || u->version > 5)
        return false;
    if (u->version >= 5)
        (void)take(&h, 2); /* sizes of addresses and segments */
    const uint64_t header = take(&h, 4);
    if (h.bad || header > (uint64_t)(h.end - h.at))
        return false;
    u->program = (cursor){h.at + header, h.end, false};
    h.end = h.at + header;
    u->min_length = (uint32_t)take(&h, 1);
    if (u->version >= 4)
        (void)take(&h, 1); /* operations per instruction */
    (void)take(&h, 1);     /* is_stmt */
    u->line_base = (int8_t)take(&h, 1);
    u->line_range = (uint32_t)take(&h, 1);
    u->opcode_base = (uint32_t)take(&h, 1);
    u->opcode_lengths = h.at;
    if (u->opcode_base == 0 || u->line_range == 0)
        return false;
    (void)take(&h, u->opcode_base - 1);
    if (u->version >= 5)
        (void)entry_path(elf, &h, UINT64_MAX);
    else
        while (*take_string(&h))
            ;
    u->files = h;
    return !h.bad;
}

/* Rows [last, next) of one sequence: does pc lie between? Rows without a line keep the one before. */
static void see_row(found *f, row *last, const row *next, bool *started)
{
    if (*started && f->pc >= last->address && f->pc < next->address && last->line > 0) {
        f->hit = true;
        f->file = last->file;
        f->line = last->line;
    }
    const row before = *last;
    *last = *next;
    if (*started && next->line == 0) {
        last->line = before.line;
        last->file = before.file;
    }
    *started = true;
}

/* 0: go on; 1: sequence ended. */
static bool extended(cursor *c, row *r)
{
    const uint64_t n = take_uleb(c);
    if (c->bad || n == 0 || n > (uint64_t)(c->end - c->at)) {
        c->bad = true;
        return false;
    }
    cursor in = {c->at, c->at + n, false};
    c->at += n;
    const uint64_t opcode = take(&in, 1);
    if (opcode == 2)
        r->address = (uint32_t)take(&in, 4);
    return opcode == 1;
}

static void standard(const unit *u, cursor *c, uint32_t opcode, row *r)
{
    switch (opcode) {
    case 2:
        r->address += (uint32_t)take_uleb(c) * u->min_length;
        break;
    case 3:
        r->line = (int32_t)((uint32_t)r->line + (uint32_t)take_sleb(c));
        break;
    case 4:
        r->file = (uint32_t)take_uleb(c);
        break;
    case 8:
        r->address += (255u - u->opcode_base) / u->line_range * u->min_length;
        break;
    case 9:
        r->address += (uint32_t)take(c, 2);
        break;
    default: /* others do not move address or line */
        for (uint32_t i = 0; i < u->opcode_lengths[opcode - 1] && !c->bad; i++)
            (void)take_uleb(c);
        break;
    }
}

static void run_unit(unit *u, found *f)
{
    const row first = {0, 1, 1};
    row r = first, last = first;
    bool started = false;
    cursor *c = &u->program;
    while (c->at < c->end && !c->bad && !f->hit) {
        const uint32_t opcode = (uint32_t)take(c, 1);
        if (opcode >= u->opcode_base) {
            const uint32_t a = opcode - u->opcode_base;
            r.address += a / u->line_range * u->min_length;
            r.line = (int32_t)((uint32_t)r.line +
                               (uint32_t)(u->line_base + (int32_t)(a % u->line_range)));
            see_row(f, &last, &r, &started);
        } else if (opcode == 1) {
            see_row(f, &last, &r, &started);
        } else if (opcode != 0) {
            standard(u, c, opcode, &r);
        } else if (extended(c, &r)) {
            see_row(f, &last, &r, &started);
            r = last = first;
            started = false;
        }
    }
}

void lines_find(const iss_elf *elf, uint32_t pc, char *out, size_t out_bytes)
{
    out[0] = 0;
    if (!elf->line_bytes)
        return;
    cursor c = {elf->data + elf->line, elf->data + elf->line + elf->line_bytes, false};
    while (c.at < c.end && !c.bad) {
        unit u;
        found f = {.pc = pc};
        if (!read_unit(elf, &c, &u))
            return;
        run_unit(&u, &f);
        if (!f.hit)
            continue;
        const char *path = file_name(elf, &u, f.file);
        const char *slash = strrchr(path, '/');
        (void)snprintf(out, out_bytes, "%.100s:%d", slash ? slash + 1 : path, (int)f.line);
        return;
    }
}
