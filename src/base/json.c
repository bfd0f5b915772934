/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c - strict JSON reader (RFC 8259) for hardware descriptions, manifests and safetensors
 * headers, and the string writer. Text -> tree in an arena. Refused with line and column: trailing
 * text, comments, trailing commas, bad UTF-8, lone surrogates, NUL in strings, a key given twice,
 * more than MAX_DEPTH levels or MAX_NODES values.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_NODES = 4000000 };

typedef struct reader {
    cgc_ctx *ctx;
    arena *a;
    const char *start, *at, *end; /* *end == 0 */
    int32_t nodes;
} reader;

static cgc_status fail_at(reader *r, enum cgc_status_code code, const char *what)
{
    int line = 1;
    const char *first = r->start;
    for (const char *p = r->start; p < r->at; p++) {
        if (*p == '\n') {
            line++;
            first = p + 1;
        }
    }
    return diag(r->ctx, code, (diag_info){0}, "JSON line %d, column %d: %s", line,
                (int)(r->at - first) + 1, what);
}

static cgc_status bad(reader *r, const char *what)
{
    return fail_at(r, CGC_E_FORMAT, what);
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* Four hex digits at r->at, -1 if not. */
static int32_t hex4(const reader *r)
{
    int32_t v = 0;
    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = r->at[i];
        int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

static void put_utf8(str *s, int32_t code)
{
    char b[4];
    size_t n = 0;
    if (code < 0x80) {
        b[n++] = (char)code;
    } else if (code < 0x800) {
        b[n++] = (char)(0xc0 | (code >> 6));
        b[n++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        b[n++] = (char)(0xe0 | (code >> 12));
        b[n++] = (char)(0x80 | ((code >> 6) & 0x3f));
        b[n++] = (char)(0x80 | (code & 0x3f));
    } else {
        b[n++] = (char)(0xf0 | (code >> 18));
        b[n++] = (char)(0x80 | ((code >> 12) & 0x3f));
        b[n++] = (char)(0x80 | ((code >> 6) & 0x3f));
        b[n++] = (char)(0x80 | (code & 0x3f));
    }
    str_putn(s, b, n);
}

/* "uXXXX" behind a backslash, with its low surrogate if it has one. */
static cgc_status read_unicode(reader *r, str *s)
{
    r->at++;
    int32_t code = hex4(r);
    if (code < 0)
        return bad(r, "\\u needs four hexadecimal digits");
    r->at += 4;
    if (code >= 0xd800 && code <= 0xdbff) {
        if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
            return bad(r, "a high surrogate without its low one");
        r->at += 2;
        int32_t low = hex4(r);
        if (low < 0xdc00 || low > 0xdfff)
            return bad(r, "a high surrogate without its low one");
        r->at += 4;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return bad(r, "a low surrogate without its high one");
    }
    if (code == 0)
        return bad(r, "a string may not contain NUL");
    put_utf8(s, code);
    return CGC_OK;
}

static cgc_status read_escape(reader *r, str *s)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    r->at++;
    if (*r->at == 'u')
        return read_unicode(r, s);
    const char *found = *r->at ? strchr(from, *r->at) : NULL;
    if (!found)
        return bad(r, "unknown escape in a string");
    str_putn(s, to + (found - from), 1);
    r->at++;
    return CGC_OK;
}

static cgc_status read_string(reader *r, const char **out)
{
    str s;
    str_init(&s, r->a);
    r->at++;
    for (;;) {
        const char *run = r->at;
        while (r->at < r->end && (unsigned char)*r->at >= 0x20 && *r->at != '"' && *r->at != '\\')
            r->at++;
        if (!utf8_valid(run, (size_t)(r->at - run)))
            return bad(r, "a string is not UTF-8");
        str_putn(&s, run, (size_t)(r->at - run));
        if (r->at >= r->end)
            return bad(r, "a string without its end");
        if (*r->at == '"')
            break;
        if (*r->at != '\\')
            return bad(r, "a control character in a string");
        TRY(read_escape(r, &s));
    }
    r->at++;
    *out = s.data;
    return CGC_OK;
}

static size_t count_digits(const char *p)
{
    size_t n = 0;
    while (p[n] >= '0' && p[n] <= '9')
        n++;
    return n;
}

static cgc_status read_number(reader *r, json *v)
{
    const char *p = r->at;
    p += *p == '-';
    size_t n = count_digits(p);
    if (n == 0 || (n > 1 && *p == '0'))
        return bad(r, "a malformed number");
    p += n;
    if (*p == '.') {
        n = count_digits(p + 1);
        if (n == 0)
            return bad(r, "a malformed number");
        p += 1 + n;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        n = count_digits(p);
        if (n == 0)
            return bad(r, "a malformed number");
        p += n;
    }
    if (parse_f64(r->at, &v->number) != (size_t)(p - r->at))
        return bad(r, "a number with too many digits");
    if (v->number - v->number != 0.0)
        return bad(r, "a number beyond the range of float64");
    v->kind = JSON_NUMBER;
    r->at = p;
    return CGC_OK;
}

static bool take_word(reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static cgc_status check_keys(reader *r, const json *object)
{
    const char **keys = arena_array(r->a, (size_t)object->count, sizeof *keys);
    size_t n = 0;
    for (const json *c = object->child; c; c = c->next)
        keys[n++] = c->key;
    if (n > 1)
        qsort((void *)keys, n, sizeof *keys, compare_keys);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(keys[i - 1], keys[i]) == 0)
            return bad(r, arena_printf(r->a, "the key \"%.100s\" is given twice", keys[i]));
    }
    return CGC_OK;
}

static cgc_status read_value(reader *r, int depth, json *v);

/* "key": in front of an object's value. */
static cgc_status read_key(reader *r, const char **out_key)
{
    if (r->at >= r->end || *r->at != '"')
        return bad(r, "expected a key in quotes");
    TRY(read_string(r, out_key));
    skip_space(r);
    if (r->at >= r->end || *r->at != ':')
        return bad(r, "expected ':' behind a key");
    r->at++;
    return CGC_OK;
}

static cgc_status read_children(reader *r, int depth, json *parent)
{
    char close = parent->kind == JSON_ARRAY ? ']' : '}';
    json **link = &parent->child;
    r->at++;
    skip_space(r);
    if (*r->at == close) {
        r->at++;
        return CGC_OK;
    }
    for (;;) {
        const char *key = NULL;
        skip_space(r);
        if (parent->kind == JSON_OBJECT)
            TRY(read_key(r, &key));
        json *child = arena_alloc(r->a, sizeof *child);
        child->key = key;
        TRY(read_value(r, depth + 1, child));
        *link = child;
        link = &child->next;
        parent->count++;
        skip_space(r);
        if (*r->at != ',')
            break;
        r->at++;
    }
    if (r->at >= r->end || *r->at != close)
        return bad(r, parent->kind == JSON_ARRAY ? "expected ',' or ']'" : "expected ',' or '}'");
    r->at++;
    return parent->kind == JSON_OBJECT ? check_keys(r, parent) : CGC_OK;
}

static cgc_status read_value(reader *r, int depth, json *v)
{
    if (depth > MAX_DEPTH)
        return fail_at(r, CGC_E_LIMIT, "values nest too deep");
    if (++r->nodes > MAX_NODES)
        return fail_at(r, CGC_E_LIMIT, "too many values");
    skip_space(r);
    switch (*r->at) {
    case '{':
        v->kind = JSON_OBJECT;
        return read_children(r, depth, v);
    case '[':
        v->kind = JSON_ARRAY;
        return read_children(r, depth, v);
    case '"':
        v->kind = JSON_STRING;
        return read_string(r, &v->string);
    default:
        break;
    }
    if (take_word(r, "true")) {
        v->kind = JSON_BOOL;
        v->boolean = true;
        return CGC_OK;
    }
    if (take_word(r, "false")) {
        v->kind = JSON_BOOL;
        return CGC_OK;
    }
    if (take_word(r, "null"))
        return CGC_OK;
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'))
        return read_number(r, v);
    return bad(r, r->at >= r->end ? "unexpected end" : "expected a value");
}

cgc_status json_parse(cgc_ctx *ctx, arena *a, const char *text, size_t bytes, json **out)
{
    char *copy = arena_strndup(a, text, bytes); /* the NUL behind it ends every scan */
    reader r = {.ctx = ctx, .a = a, .start = copy, .at = copy, .end = copy + bytes};
    *out = arena_alloc(a, sizeof **out);
    TRY(read_value(&r, 0, *out));
    skip_space(&r);
    return r.at == r.end ? CGC_OK : bad(&r, "unexpected text behind the value");
}

const json *json_get(const json *object, const char *key)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const json *c = object->child; c; c = c->next)
        if (strcmp(c->key, key) == 0)
            return c;
    return NULL;
}

void json_put_string(str *s, const char *text)
{
    str_put_quoted(s, text, "u00");
}
