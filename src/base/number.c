/* SPDX-License-Identifier: Apache-2.0
 *
 * number.c - decimal text to binary floating point and back, exactly. Integers of many words decide
 * every rounding, so neither the locale, nor the C library, nor the floating-point environment can
 * change a digit. Reading rounds to nearest, ties to even; writing gives the shortest decimal that
 * reads back, and of those the one closest to the value.
 */
#include "base/base.h"

#include <string.h>

/* ---- natural numbers: little-endian 32-bit words ---- */
/* The longest is a float64 literal: 800 digits (2,658 bits) or the power of ten that it is
 * divided by, 10^(800 + 344) (3,801 bits), shifted by at most 64 + 1,100 bits. */
enum { BIG_WORDS = 168, MAX_DIGITS = 800 };

typedef struct big {
    uint32_t w[BIG_WORDS];
    int32_t n; /* words in use; w[n - 1] != 0 */
} big;

static void big_set(big *b, uint64_t v)
{
    b->n = 0;
    while (v) {
        b->w[b->n++] = (uint32_t)v;
        v >>= 32;
    }
}

/* b = b*m + add */
static void big_mul_add(big *b, uint32_t m, uint32_t add)
{
    uint64_t carry = add;
    for (int32_t i = 0; i < b->n; i++) {
        carry += (uint64_t)b->w[i] * m;
        b->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        b->w[b->n++] = (uint32_t)carry;
}

static void big_mul_pow10(big *b, int32_t e)
{
    for (; e >= 9; e -= 9)
        big_mul_add(b, 1000000000u, 0);
    for (; e > 0; e--)
        big_mul_add(b, 10, 0);
}

static void big_shift_left(big *b, int32_t bits)
{
    int32_t words = bits / 32, rest = bits % 32;
    if (b->n == 0 || bits <= 0 || b->n + words >= BIG_WORDS) /* the last never: see BIG_WORDS */
        return;
    for (int32_t i = b->n - 1; i >= 0; i--)
        b->w[i + words] = b->w[i];
    memset(b->w, 0, (size_t)words * sizeof b->w[0]);
    b->n += words;
    big_mul_add(b, 1u << rest, 0);
}

static int32_t big_bits(const big *b)
{
    int32_t bits = 32 * b->n;
    if (b->n)
        for (uint32_t top = b->w[b->n - 1]; !(top & 0x80000000u); top <<= 1)
            bits--;
    return bits;
}

static int big_compare(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (int32_t i = a->n - 1; i >= 0; i--)
        if (a->w[i] != b->w[i])
            return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

/* a -= b, with a >= b */
static void big_subtract(big *a, const big *b)
{
    int64_t borrow = 0;
    for (int32_t i = 0; i < a->n; i++) {
        int64_t d = (int64_t)a->w[i] - (i < b->n ? (int64_t)b->w[i] : 0) + borrow;
        a->w[i] = (uint32_t)d;
        borrow = d < 0 ? -1 : 0;
    }
    while (a->n > 0 && a->w[a->n - 1] == 0)
        a->n--;
}

/* quotient of num / den below 2^bits; num becomes the remainder, den is shifted and back. */
static uint64_t big_divide(big *num, const big *den, int32_t bits)
{
    uint64_t q = 0;
    for (int32_t i = bits - 1; i >= 0; i--) {
        big shifted = *den;
        big_shift_left(&shifted, i);
        q <<= 1;
        if (big_compare(num, &shifted) >= 0) {
            big_subtract(num, &shifted);
            q |= 1;
        }
    }
    return q;
}

/* ---- reading ---- */
typedef struct decimal { /* digits * 10^exponent */
    big digits;
    int32_t n_digits; /* significant ones kept; 0 for zero */
    int32_t exponent;
} decimal;

typedef struct binary_format {
    int32_t mantissa_bits;  /* with the hidden one */
    int32_t least_exponent; /* of the last mantissa bit */
    int32_t most_exponent;
} binary_format;
static const binary_format format_f32 = {24, -149, 104};
static const binary_format format_f64 = {53, -1074, 971};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add_digit(decimal *d, char c)
{
    if (d->n_digits < MAX_DIGITS) {
        if (d->n_digits > 0 || c != '0') {
            big_mul_add(&d->digits, 10, (uint32_t)(c - '0'));
            d->n_digits++;
        }
        return;
    }
    /* Digits beyond can only decide between equal and greater: keep that in the last bit. */
    if (c != '0')
        d->digits.w[0] |= 1u;
    d->exponent++;
}

/* "e-05" at t: characters used, 0 if none. Huge exponents saturate. */
static size_t scan_exponent(const char *t, int32_t *out_exponent)
{
    size_t i = 1;
    if (t[0] != 'e' && t[0] != 'E')
        return 0;
    bool negative = t[i] == '-';
    if (t[i] == '-' || t[i] == '+')
        i++;
    if (!is_digit(t[i]))
        return 0;
    int32_t e = 0;
    for (; is_digit(t[i]); i++)
        e = e > 100000 ? e : e * 10 + (t[i] - '0');
    *out_exponent = negative ? -e : e;
    return i;
}

/* Unsigned decimal at t: characters used, 0 if none. */
static size_t scan_decimal(const char *t, decimal *out)
{
    enum { MAX_LENGTH = 100000 };
    size_t i = 0;
    bool any = false;
    out->digits.n = 0;
    out->n_digits = 0;
    out->exponent = 0;
    for (; is_digit(t[i]); i++, any = true) {
        if (i >= MAX_LENGTH)
            return 0;
        add_digit(out, t[i]);
    }
    if (t[i] == '.') {
        size_t point = i++;
        for (; is_digit(t[i]); i++, any = true) {
            if (i >= MAX_LENGTH)
                return 0;
            add_digit(out, t[i]);
            out->exponent--;
        }
        if (!any)
            i = point;
    }
    if (!any)
        return 0;
    int32_t e = 0;
    i += scan_exponent(t + i, &e);
    out->exponent += e;
    return i;
}

/* mantissa * 2^exponent nearest to d, ties to even; *out_exponent > format's most means
 * infinite. */
static uint64_t round_decimal(decimal *d, const binary_format *f, int32_t *out_exponent)
{
    *out_exponent = f->least_exponent;
    if (d->n_digits == 0 || d->n_digits + d->exponent < -400)
        return 0;
    if (d->n_digits + d->exponent > 400) {
        *out_exponent = f->most_exponent + 1;
        return 1;
    }
    big *num = &d->digits, den;
    big_set(&den, 1);
    if (d->exponent >= 0)
        big_mul_pow10(num, d->exponent);
    else
        big_mul_pow10(&den, -d->exponent);
    /* e such that the quotient num / (den * 2^e) has mantissa_bits or mantissa_bits + 1 bits. */
    int32_t e = big_bits(num) - big_bits(&den) - f->mantissa_bits;
    if (e < f->least_exponent)
        e = f->least_exponent;
    if (e >= 0)
        big_shift_left(&den, e);
    else
        big_shift_left(num, -e);
    uint64_t q = big_divide(num, &den, f->mantissa_bits + 1);
    bool rest = num->n != 0;
    if (q >> f->mantissa_bits) { /* one bit too many: it becomes the half */
        bool half = q & 1;
        q >>= 1;
        e++;
        q += half && (rest || (q & 1));
    } else {
        big_shift_left(num, 1);
        int c = big_compare(num, &den);
        q += c > 0 || (c == 0 && (q & 1));
    }
    if (q >> f->mantissa_bits) {
        q >>= 1;
        e++;
    }
    *out_exponent = e;
    return q;
}

/* Characters of "inf", "infinity" or "nan" at t, 0 if none. */
static size_t scan_special(const char *t, bool *out_nan)
{
    *out_nan = strncmp(t, "nan", 3) == 0;
    if (strncmp(t, "infinity", 8) == 0)
        return 8;
    return *out_nan || strncmp(t, "inf", 3) == 0 ? 3 : 0;
}

/* Bits of the value of format f with exponent_bits: sign, biased exponent, mantissa. */
static size_t parse_bits(const char *text, const binary_format *f, int32_t exponent_bits,
                         uint64_t *out_bits)
{
    size_t sign = text[0] == '-' || text[0] == '+';
    int32_t stored = f->mantissa_bits - 1;
    uint64_t negative = (uint64_t)(text[0] == '-') << (stored + exponent_bits);
    uint64_t inf = (((uint64_t)1 << exponent_bits) - 1) << stored;
    bool nan;
    size_t n = scan_special(text + sign, &nan);
    if (n) {
        *out_bits = negative | inf | (nan ? (uint64_t)1 << (stored - 1) : 0);
        return n + sign;
    }
    decimal d;
    n = scan_decimal(text + sign, &d);
    if (n == 0)
        return 0;
    int32_t e;
    uint64_t q = round_decimal(&d, f, &e);
    if (e > f->most_exponent)
        *out_bits = negative | inf;
    else if (q >> stored) /* normal: the hidden bit adds the first exponent step */
        *out_bits = negative | (((uint64_t)(e - f->least_exponent) << stored) + q);
    else
        *out_bits = negative | q;
    return n + sign;
}

size_t parse_f32(const char *text, float *out_value)
{
    uint64_t bits;
    size_t n = parse_bits(text, &format_f32, 8, &bits);
    if (n) {
        uint32_t narrow = (uint32_t)bits;
        memcpy(out_value, &narrow, sizeof narrow);
    }
    return n;
}

size_t parse_f64(const char *text, double *out_value)
{
    uint64_t bits;
    size_t n = parse_bits(text, &format_f64, 11, &bits);
    if (n)
        memcpy(out_value, &bits, sizeof bits);
    return n;
}

size_t parse_i64(const char *text, int64_t *out_value)
{
    bool negative = text[0] == '-';
    size_t i = negative || text[0] == '+';
    if (!is_digit(text[i]))
        return 0;
    uint64_t limit = (uint64_t)INT64_MAX + negative, v = 0;
    for (; is_digit(text[i]); i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (v > (limit - digit) / 10)
            return 0;
        v = v * 10 + digit;
    }
    *out_value = negative ? (int64_t)(0 - v) : (int64_t)v;
    return i;
}

/* ---- writing ---- */
/* The value m * 2^e as a fraction num / den, scaled by a power of ten so that its integer part
 * has exactly p digits; *out_point is the decimal exponent of the last of them. */
static uint64_t leading_digits(uint32_t m, int32_t e, int32_t p, int32_t *out_point, big *rest,
                               big *den)
{
    uint64_t low = 1;
    for (int32_t i = 1; i < p; i++)
        low *= 10;
    /* floor(log10(m * 2^e)) is this estimate or one more. */
    int32_t bits = 0;
    for (uint32_t t = m; t; t >>= 1)
        bits++;
    int32_t top = bits - 1 + e;
    int32_t k = (top * 30103 - (top < 0 ? 99999 : 0)) / 100000;
    for (;; k++) {
        int32_t point = k - p + 1;
        big_set(rest, m);
        big_set(den, 1);
        if (e > 0)
            big_shift_left(rest, e);
        else
            big_shift_left(den, -e);
        if (point > 0)
            big_mul_pow10(den, point);
        else
            big_mul_pow10(rest, -point);
        uint64_t q = big_divide(rest, den, 36);
        if (q < low * 10) {
            *out_point = point;
            return q;
        }
    }
}

static size_t put_digits(uint64_t v, char *out)
{
    char reversed[24];
    size_t n = 0;
    do {
        reversed[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    out[n] = '\0';
    return n;
}

/* True if q * 10^point reads back as the positive float32 value. */
static bool reads_back(uint64_t q, int32_t point, float value)
{
    decimal d = {.n_digits = 20, .exponent = point}; /* n_digits only bounds the magnitude */
    big_set(&d.digits, q);
    if (q == 0)
        return false;
    int32_t e;
    uint64_t m = round_decimal(&d, &format_f32, &e);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t got = m >> 23 ? ((uint64_t)(e + 149) << 23) + m : m;
    return e <= format_f32.most_exponent && got == bits;
}

/* Shortest digits of a positive finite value: value = digits * 10^*out_point as read back. */
static uint64_t shortest(float value, int32_t *out_point)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t m = bits & 0x7fffffu;
    int32_t e = (int32_t)(bits >> 23);
    if (e)
        m |= 0x800000u;
    e = e ? e - 150 : -149;
    uint64_t q = 0;
    for (int32_t p = 1; p <= 9; p++) {
        big rest, den;
        q = leading_digits(m, e, p, out_point, &rest, &den);
        big_shift_left(&rest, 1);
        int c = big_compare(&rest, &den);
        bool up = c > 0 || (c == 0 && (q & 1));
        if (reads_back(q + up, *out_point, value))
            return q + up;
        if (reads_back(q + !up, *out_point, value))
            return q + !up;
    }
    return q; /* not reached: 9 digits always read back */
}

/* digits * 10^point as "0.0244795", "16777216" or, outside 1e-4 <= v < 1e16, "1.5e-05". */
static void put_scaled(str *s, uint64_t q, int32_t point)
{
    char digits[24], text[64];
    while (q % 10 == 0) {
        q /= 10;
        point++;
    }
    int32_t n = (int32_t)put_digits(q, digits);
    int32_t top = n - 1 + point; /* decimal exponent of the first digit */
    if (top < -4 || top >= 16) {
        str_putn(s, digits, 1);
        if (n > 1) {
            str_put(s, ".");
            str_put(s, digits + 1);
        }
        (void)put_digits((uint64_t)(top < 0 ? -top : top), text);
        str_put(s, top < 0 ? "e-" : "e+");
        str_put(s, text[1] ? "" : "0");
        str_put(s, text);
    } else if (top < 0) {
        str_put(s, "0.");
        for (int32_t i = -1; i > top; i--)
            str_put(s, "0");
        str_put(s, digits);
    } else if (point >= 0) {
        str_put(s, digits);
        for (int32_t i = 0; i < point; i++)
            str_put(s, "0");
    } else {
        str_putn(s, digits, (size_t)(top + 1));
        str_put(s, ".");
        str_put(s, digits + top + 1);
    }
}

void str_put_f32(str *s, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        str_put(s, "nan");
        return;
    }
    if (bits >> 31)
        str_put(s, "-");
    memcpy(&value, &magnitude, sizeof magnitude);
    if (magnitude == 0x7f800000u) {
        str_put(s, "inf");
    } else if (magnitude == 0) {
        str_put(s, "0");
    } else {
        int32_t point;
        uint64_t q = shortest(value, &point);
        put_scaled(s, q, point);
    }
}
