/* SPDX-License-Identifier: Apache-2.0
 *
 * writer.c - files of an emitted tree in memory, and the small pieces of C text that both
 * emitters need. Texts of the user's model reach the tree only through emit_identifier and
 * emit_comment. Deterministic: files stand in the order in which they were added.
 */
#include "emit/emit.h"

#include <math.h>
#include <string.h>

enum { COMMENT_MAX = 100 };

emit_file *emit_add(emit_tree *t, const char *name)
{
    for (size_t i = 0; i < t->n_files; i++)
        if (strcmp(t->files[i]->name, name) == 0)
            return t->files[i];
    emit_file *f = arena_alloc(t->arena, sizeof *f);
    f->name = arena_strdup(t->arena, name);
    str_init(&f->text, t->arena);
    t->files = arena_grow(t->arena, t->files, &t->cap_files, t->n_files + 1, sizeof *t->files);
    t->files[t->n_files++] = f;
    return f;
}

cgc_status emit_write(emit_tree *t, const char *folder)
{
    TRY(dir_make(t->ctx, folder));
    for (size_t i = 0; i < t->n_files; i++) {
        const emit_file *f = t->files[i];
        const char *path = arena_printf(t->arena, "%s/%s", folder, f->name);
        const char *slash = strrchr(path, '/');
        TRY(dir_make(t->ctx, arena_strndup(t->arena, path, (size_t)(slash - path))));
        TRY(file_write(t->ctx, path, f->text.data ? f->text.data : "", f->text.len));
    }
    return CGC_OK;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_keyword(const char *s)
{
    static const char *const words[] = {
        "asm",       "auto",     "bool",    "break",   "case",     "char",     "const",
        "constexpr", "continue", "default", "do",      "double",   "else",     "enum",
        "extern",    "false",    "float",   "for",     "goto",     "if",       "inline",
        "int",       "long",     "main",    "nullptr", "register", "restrict", "return",
        "short",     "signed",   "sizeof",  "static",  "struct",   "switch",   "thread_local",
        "true",      "typedef",  "typeof",  "union",   "unsigned", "void",     "volatile",
        "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(s, words[i]) == 0)
            return true;
    return false;
}

const char *emit_identifier(arena *a, const char *text)
{
    char *id = arena_strdup(a, text);
    for (char *c = id; *c; c++)
        if (!is_letter(*c) && !is_digit(*c))
            *c = '_';
    /* A leading underscore could be a reserved name. */
    if (!id[0] || is_digit(id[0]) || id[0] == '_' || is_keyword(id))
        return arena_printf(a, "v%s%s", id[0] == '_' ? "" : "_", id);
    return id;
}

const char *emit_comment(arena *a, const char *text)
{
    char *out = arena_alloc(a, COMMENT_MAX + 1);
    size_t n = 0;
    for (const char *c = text; *c && n < COMMENT_MAX; c++) {
        const char last = n ? out[n - 1] : ' ';
        char put = *c;
        if (put < ' ' || put > '~')
            put = put == '\n' || put == '\t' || put == '\r' ? ' ' : '?';
        if (put == '\\')
            put = '|';
        if ((last == '*' && put == '/') || (last == '/' && (put == '*' || put == '/')) ||
            (last == '?' && put == '?'))
            put = '.';
        out[n++] = put;
    }
    return out;
}

const char *emit_f32(arena *a, float v)
{
    if (isnan(v))
        return "(0.0f / 0.0f)";
    if (isinf(v))
        return v > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)";
    str s;
    str_init(&s, a);
    str_put_f32(&s, v);
    const bool real = strpbrk(s.data, ".e") != NULL;
    return arena_printf(a, "%s%sf", s.data, real ? "" : ".0");
}

size_t emit_blob(str *blob, const void *data, size_t bytes, size_t align)
{
    static const char zeros[64];
    while (align > 1 && blob->len % align != 0) {
        const size_t gap = align - blob->len % align;
        str_putn(blob, zeros, gap < sizeof zeros ? gap : sizeof zeros);
    }
    const size_t at = blob->len;
    str_putn(blob, data, bytes);
    return at;
}

cgc_status emit_kernel(emit_tree *t, const char *name)
{
    const emit_embedded *e = emit_embedded_files;
    while (e->name && strcmp(e->name, name) != 0)
        e++;
    if (!e->name)
        return diag(t->ctx, CGC_E_INTERNAL, (diag_info){.found = name},
                    "kernel file is not embedded");
    emit_file *f = emit_add(t, arena_printf(t->arena, "kernels/%s", name));
    if (f->text.len == 0)
        str_putn(&f->text, e->data, e->bytes);
    return CGC_OK;
}
