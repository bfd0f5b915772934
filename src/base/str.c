/* SPDX-License-Identifier: Apache-2.0
 *
 * str.c - growable text in an arena, UTF-8 check, checked sizes. Invariant: data is NUL-terminated
 * and len does not count the NUL.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

static char empty[1] = "";

void str_init(str *s, arena *a)
{
    *s = (str){.a = a, .data = empty, .len = 0, .cap = 0};
}

/* Room for n more bytes and the NUL. */
static void reserve(str *s, size_t n)
{
    size_t need;
    if (!add_size(s->len, n, &need) || !add_size(need, 1, &need)) {
        ctx_nomem(s->a->ctx);
        return;
    }
    if (need > s->cap) {
        size_t cap = s->cap;
        s->data = arena_grow(s->a, s->data, &cap, need < 64 ? 64 : need, 1);
        s->cap = cap;
    }
}

void str_putn(str *s, const char *text, size_t n)
{
    if (n == 0)
        return;
    reserve(s, n);
    memcpy(s->data + s->len, text, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void str_put(str *s, const char *text)
{
    str_putn(s, text, strlen(text));
}

void str_printf(str *s, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n > 0) {
        reserve(s, (size_t)n);
        (void)vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void str_put_quoted(str *s, const char *text, const char *control)
{
    str_put(s, "\"");
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            str_printf(s, "\\%c", c);
        else if (c == '\n')
            str_put(s, "\\n");
        else if (c < 0x20 || c == 0x7f)
            str_printf(s, "\\%s%02x", control, c);
        else
            str_putn(s, p, 1);
    }
    str_put(s, "\"");
}

/* Bytes of the sequence that starts with c and the smallest code point that may be written so; 0
 * if c starts none. */
static size_t utf8_length(unsigned char c, uint32_t *out_bits, uint32_t *out_least)
{
    if (c < 0x80) {
        *out_bits = c;
        *out_least = 1; /* NUL is not text here */
        return 1;
    }
    if ((c & 0xe0) == 0xc0) {
        *out_bits = c & 0x1f;
        *out_least = 0x80;
        return 2;
    }
    if ((c & 0xf0) == 0xe0) {
        *out_bits = c & 0x0f;
        *out_least = 0x800;
        return 3;
    }
    *out_bits = c & 0x07;
    *out_least = 0x10000;
    return (c & 0xf8) == 0xf0 ? 4 : 0;
}

bool utf8_valid(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint32_t code, least;
        size_t length = utf8_length((unsigned char)text[i], &code, &least);
        if (length == 0 || length > n - i)
            return false;
        for (size_t k = 1; k < length; k++) {
            unsigned char c = (unsigned char)text[i + k];
            if ((c & 0xc0) != 0x80)
                return false;
            code = code << 6 | (c & 0x3fu);
        }
        if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
        i += length;
    }
    return true;
}

bool mul_size(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

const char *text_count(arena *a, int64_t n, const char *thing)
{
    return arena_printf(a, "%lld %s%s", (long long)n, thing, n == 1 ? "" : "s");
}

enum { LONGEST_NAME = 64 };

int text_distance(const char *a, const char *b)
{
    int row[LONGEST_NAME + 1];
    const size_t na = strnlen(a, LONGEST_NAME), nb = strnlen(b, LONGEST_NAME);
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            const int change = diagonal + (a[i - 1] != b[j - 1]);
            const int drop = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < drop ? change : drop;
        }
    }
    return row[nb];
}

const char *text_nearest(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    int least = ((int)strnlen(name, LONGEST_NAME) + 2) / 3;
    for (size_t i = 0; i < n; i++) {
        const int d = text_distance(name, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}
