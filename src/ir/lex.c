/* SPDX-License-Identifier: Apache-2.0
 *
 * lex.c - text of the graph form -> tokens with line and column (grammar: docs/ir.md). The text is
 * copied so that a NUL ends every scan; a NUL inside it is refused.
 */
#include "ir/parse.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int column_of(const ir_lexer *lx, const char *at)
{
    return (int)(at - lx->line_start) + 1;
}

static cgc_status fail_here(ir_lexer *lx, const char *at, const char *what)
{
    return diag(lx->ctx, CGC_E_FORMAT, (diag_info){0}, "line %d, column %d of the %s: %s",
                (int)lx->line, column_of(lx, at), lx->what, what);
}

cgc_status ir_lex_fail(ir_lexer *lx, const char *wanted)
{
    return ir_lex_fail_at(lx, &lx->tok, wanted);
}

cgc_status ir_lex_fail_at(ir_lexer *lx, const ir_token *t, const char *wanted)
{
    int shown = t->length > 40 ? 40 : (int)t->length;
    const char *found = t->kind == IR_TOK_END
                            ? "the end of the text"
                            : arena_printf(&lx->ctx->arena, "'%.*s'", shown, t->start);
    diag_info info = {.found = found, .wanted = wanted};
    return diag(lx->ctx, CGC_E_FORMAT, info, "line %d, column %d of the %s: syntax error",
                (int)t->line, (int)t->column, lx->what);
}

void ir_lex_append_place(const ir_lexer *lx, const ir_token *place)
{
    diag_append(lx->ctx, "  at: line %d, column %d of the %s", (int)place->line, (int)place->column,
                lx->what);
}

static void skip_space(ir_lexer *lx)
{
    for (;;) {
        char c = *lx->at;
        if (c == '\n') {
            lx->line++;
            lx->line_start = lx->at + 1;
        } else if (c == '/' && lx->at[1] == '/') {
            lx->at += strcspn(lx->at, "\n");
            continue;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
        lx->at++;
    }
}

/* "\xHH" at p (behind the backslash): the byte, or -1. */
static int hex_byte(const char *p)
{
    int v = 0;
    for (int i = 1; i <= 2; i++) {
        char c = p[i];
        if (is_digit(c))
            v = v * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (c - 'a' + 10);
        else
            return -1;
    }
    return v;
}

static cgc_status lex_escape(ir_lexer *lx, str *s)
{
    static const char from[] = "\"\\ntr", to[] = "\"\\\n\t\r";
    const char *p = lx->at + 1;
    char byte;
    if (*p == 'x') {
        int v = hex_byte(p);
        if (v <= 0)
            return fail_here(lx, lx->at, "\\x needs two lower-case hexadecimal digits, not 00");
        byte = (char)v;
        lx->at += 4;
    } else {
        const char *found = *p ? strchr(from, *p) : NULL;
        if (!found)
            return fail_here(lx, lx->at, "unknown escape; known: \\\" \\\\ \\n \\t \\r \\xHH");
        byte = to[found - from];
        lx->at += 2;
    }
    str_putn(s, &byte, 1);
    return CGC_OK;
}

/* A string in quotes at lx->at. */
static cgc_status lex_string(ir_lexer *lx, const char **out)
{
    const char *start = lx->at++;
    str s;
    str_init(&s, lx->a);
    for (;;) {
        const char *run = lx->at;
        while ((unsigned char)*lx->at >= 0x20 && *lx->at != '"' && *lx->at != '\\')
            lx->at++;
        str_putn(&s, run, (size_t)(lx->at - run));
        if (*lx->at == '"')
            break;
        if (*lx->at != '\\')
            return fail_here(lx, start, "a string without its end on the same line");
        TRY(lex_escape(lx, &s));
    }
    lx->at++;
    if (!utf8_valid(s.data, s.len))
        return fail_here(lx, start, "a string is not UTF-8");
    *out = s.data;
    return CGC_OK;
}

static const char *lex_word(ir_lexer *lx, bool dots)
{
    const char *start = lx->at;
    while (is_letter(*lx->at) || is_digit(*lx->at) ||
           (dots && *lx->at == '.' && is_letter(lx->at[1])))
        lx->at++;
    return arena_strndup(lx->a, start, (size_t)(lx->at - start));
}

/* %x, %"any text", %3, %3.1 */
static cgc_status lex_value(ir_lexer *lx)
{
    ir_token *t = &lx->tok;
    lx->at++;
    t->kind = IR_TOK_VALUE_NAME;
    if (*lx->at == '"')
        return lex_string(lx, &t->text);
    if (is_letter(*lx->at)) {
        t->text = lex_word(lx, false);
        return CGC_OK;
    }
    t->kind = IR_TOK_VALUE_ID;
    t->result = -1;
    size_t n = is_digit(*lx->at) ? parse_i64(lx->at, &t->i) : 0;
    if (n == 0 || t->i > INT32_MAX)
        return fail_here(lx, t->start, "'%' needs a name or a number");
    lx->at += n;
    if (*lx->at == '.' && is_digit(lx->at[1])) {
        int64_t result;
        n = parse_i64(lx->at + 1, &result);
        if (n == 0 || result >= OP_MAX_RESULTS)
            return fail_here(lx, lx->at, "no operator has so many results");
        t->result = (int32_t)result;
        lx->at += n + 1;
    }
    return CGC_OK;
}

static cgc_status lex_number(ir_lexer *lx)
{
    ir_token *t = &lx->tok;
    size_t n = parse_f32(lx->at, &t->f);
    if (n == 0)
        return fail_here(lx, lx->at, "a malformed number");
    bool whole = strspn(lx->at, "-0123456789") >= n;
    lx->at += n;
    t->kind = IR_TOK_FLOAT;
    if (*lx->at == 'f')
        lx->at++;
    else if (whole && parse_i64(t->start, &t->i) == n)
        t->kind = IR_TOK_INT;
    else if (whole)
        return fail_here(lx, t->start, "an integer beyond the range of int64");
    if (is_letter(*lx->at) || is_digit(*lx->at) || *lx->at == '.')
        return fail_here(lx, t->start, "a malformed number");
    return CGC_OK;
}

static cgc_status lex_token(ir_lexer *lx)
{
    ir_token *t = &lx->tok;
    char c = *lx->at;
    if (c == '\0') {
        t->kind = IR_TOK_END;
        return lx->at == lx->end ? CGC_OK : fail_here(lx, lx->at, "a NUL byte");
    }
    if (c == '%')
        return lex_value(lx);
    if (c == '"') {
        t->kind = IR_TOK_STRING;
        return lex_string(lx, &t->text);
    }
    if (is_digit(c) || c == '-' || c == '.')
        return lex_number(lx);
    if (c == '@' && is_letter(lx->at[1])) {
        t->kind = IR_TOK_GLOBAL;
        lx->at++;
        t->text = lex_word(lx, false);
        return CGC_OK;
    }
    if (is_letter(c)) {
        t->kind = IR_TOK_NAME;
        t->text = lex_word(lx, true);
        if (strcmp(t->text, "inf") == 0 || strcmp(t->text, "nan") == 0) {
            t->kind = IR_TOK_FLOAT;
            (void)parse_f32(t->text, &t->f);
        }
        return CGC_OK;
    }
    if (!strchr("()[]{},;:=#", c))
        return fail_here(lx, lx->at, "an unexpected character");
    t->kind = IR_TOK_PUNCT;
    t->punct = c;
    lx->at++;
    return CGC_OK;
}

cgc_status ir_lex_next(ir_lexer *lx)
{
    skip_space(lx);
    lx->tok = (ir_token){.start = lx->at, .line = lx->line, .column = column_of(lx, lx->at)};
    TRY(lex_token(lx));
    lx->tok.length = (size_t)(lx->at - lx->tok.start);
    return CGC_OK;
}

cgc_status ir_lex_init(ir_lexer *lx, cgc_ctx *ctx, arena *a, const char *text, size_t bytes)
{
    const char *copy = arena_strndup(a, text, bytes);
    lx->ctx = ctx;
    lx->a = a;
    lx->at = copy;
    lx->end = copy + bytes;
    lx->line_start = copy;
    lx->line = 1;
    return ir_lex_next(lx);
}

bool ir_lex_is(const ir_lexer *lx, char punct)
{
    return lx->tok.kind == IR_TOK_PUNCT && lx->tok.punct == punct;
}

bool ir_lex_is_name(const ir_lexer *lx, const char *name)
{
    return lx->tok.kind == IR_TOK_NAME && strcmp(lx->tok.text, name) == 0;
}

cgc_status ir_lex_accept(ir_lexer *lx, char punct, bool *out_taken)
{
    *out_taken = ir_lex_is(lx, punct);
    return *out_taken ? ir_lex_next(lx) : CGC_OK;
}

cgc_status ir_lex_expect(ir_lexer *lx, char punct)
{
    if (ir_lex_is(lx, punct))
        return ir_lex_next(lx);
    return ir_lex_fail(lx, arena_printf(&lx->ctx->arena, "'%c'", punct));
}

cgc_status ir_lex_expect_name(ir_lexer *lx, const char *name)
{
    if (ir_lex_is_name(lx, name))
        return ir_lex_next(lx);
    return ir_lex_fail(lx, arena_printf(&lx->ctx->arena, "'%s'", name));
}
