/* SPDX-License-Identifier: Apache-2.0
 *
 * test_number.c - decimal text to float and back: against the C library's strtof and strtod in the
 * C locale, and against properties (reads back, no shorter text does), over random bit patterns,
 * powers of two and of ten, halfway cases and a locale with a decimal comma.
 */
#include "base/base.h"
#include "check.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static cgc_ctx ctx;
static arena mem;
static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static const char *text_of(float v)
{
    str s;
    arena_reset(&mem);
    str_init(&s, &mem);
    str_put_f32(&s, v);
    return s.data;
}

static float from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Significant digits of a text. */
static int digits_of(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text >= '1' && *text <= '9') {
            n += zeros + 1;
            zeros = 0;
        } else if (*text == '0' && n) {
            zeros++;
        }
    }
    return n;
}

static void check_f32(float v)
{
    const char *text = text_of(v);
    float back = 0, libc = strtof(text, NULL);
    CHECK(parse_f32(text, &back) == strlen(text));
    CHECK(memcmp(&back, &v, sizeof v) == 0);
    CHECK(memcmp(&libc, &v, sizeof v) == 0);
    /* The C library's correctly rounded text with one digit less must not read back, or ours is
     * not shortest. */
    char shorter[64];
    int n = digits_of(text);
    if (n > 1) {
        (void)snprintf(shorter, sizeof shorter, "%.*e", n - 2, (double)v);
        float other = strtof(shorter, NULL);
        CHECK(memcmp(&other, &v, sizeof v) != 0);
    }
}

static void check_parse(const char *text)
{
    float f = 0, wanted_f = strtof(text, NULL);
    double d = 0, wanted_d = strtod(text, NULL);
    CHECK(parse_f32(text, &f) == strlen(text));
    CHECK(parse_f64(text, &d) == strlen(text));
    if (memcmp(&f, &wanted_f, sizeof f) != 0 || memcmp(&d, &wanted_d, sizeof d) != 0) {
        printf("%s: %a %a, wanted %a %a\n", text, (double)f, d, (double)wanted_f, wanted_d);
        check_failures++;
    }
}

static void test_examples(void)
{
    CHECK_STR(text_of(0.0244795f), "0.0244795");
    CHECK_STR(text_of(0.00104517f), "0.00104517");
    CHECK_STR(text_of(1.0f), "1");
    CHECK_STR(text_of(-0.5f), "-0.5");
    CHECK_STR(text_of(1e-5f), "1e-05");
    CHECK_STR(text_of(1.5e-5f), "1.5e-05");
    CHECK_STR(text_of(0.0001f), "0.0001");
    CHECK_STR(text_of(16777216.0f), "16777216");
    CHECK_STR(text_of(1e15f), "1000000000000000");
    CHECK_STR(text_of(1e16f), "1e+16");
    CHECK_STR(text_of(3.4028235e38f), "3.4028235e+38");
    CHECK_STR(text_of(from_bits(1)), "1e-45");
    CHECK_STR(text_of(0.1f), "0.1");
    CHECK_STR(text_of(0.0f), "0");
    CHECK_STR(text_of(-0.0f), "-0");
    CHECK_STR(text_of(INFINITY), "inf");
    CHECK_STR(text_of(-INFINITY), "-inf");
    CHECK_STR(text_of(NAN), "nan");
    CHECK_STR(text_of(6.0f), "6");
    CHECK_STR(text_of(1234.5f), "1234.5");
}

static void test_parse(void)
{
    static const char *const texts[] = {
        "0",
        "00012",
        "1.",
        ".5",
        "5e3",
        "1e0",
        "1E+2",
        "123456789012345678901234567890",
        "16777217",
        "16777219",
        "16777217.0000000000000000000000000000000000000000001",
        "1e-45",
        "7.006492321624085e-46",
        "7.006492321624086e-46",
        "1.1754943e-38",
        "1.17549429e-38",
        "3.4028235e38",
        "3.4028235677973366e38",
        "3.40282356779733661637539395458142568448e38",
        "1e39",
        "1e999999999",
        "1e-999999999",
        "2.2250738585072011e-308",
        "4.9e-324",
        "2.4703282292062327e-324",
        "1.7976931348623159e308",
        "9007199254740993",
        "9007199254740993.00000000000000000000000000001",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000000000001e90",
        "8.5",
        "0.1",
        "0.2",
        "0.3"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_parse(texts[i]);
    float f;
    CHECK(parse_f32("", &f) == 0 && parse_f32("e5", &f) == 0 && parse_f32("-", &f) == 0);
    CHECK(parse_f32(".", &f) == 0 && parse_f32("x1", &f) == 0 && parse_f32(" 1", &f) == 0);
    CHECK(parse_f32("1e", &f) == 1 && parse_f32("1.5f", &f) == 3 && parse_f32("0x10", &f) == 1);
    int64_t i;
    CHECK(parse_i64("-128,", &i) == 4 && i == -128);
    CHECK(parse_i64("9223372036854775807", &i) == 19 && i == INT64_MAX);
    CHECK(parse_i64("-9223372036854775808", &i) == 20 && i == INT64_MIN);
    CHECK(parse_i64("9223372036854775808", &i) == 0 && parse_i64("", &i) == 0 &&
          parse_i64("-", &i) == 0);
}

/* A text of up to 900 digits around a float32 or float64 halfway point. */
static void test_long(void)
{
    char text[1100], exact[1000];
    for (int k = 0; k < 200; k++) {
        uint32_t bits = (uint32_t)random_bits() & 0x7fffffffu;
        if (bits >= 0x7f7fffffu)
            continue;
        double half = (double)from_bits(bits) / 2 + (double)from_bits(bits + 1) / 2; /* exact */
        (void)snprintf(exact, sizeof exact, "%.*e", 780, half);
        check_parse(exact);
        char *e = strchr(exact, 'e');
        (void)snprintf(text, sizeof text, "%.*s%0*d1%s", (int)(e - exact), exact, 60, 0, e);
        check_parse(text);
    }
    memset(text, '9', 1000);
    text[1000] = '\0';
    check_parse(text);
    memset(text, '0', 1000);
    text[0] = '.';
    text[999] = '7';
    check_parse(text);
}

int main(void)
{
    arena_init(&mem, &ctx);
    test_examples();
    test_parse();
    test_long();
    for (uint32_t e = 0; e < 255;
         e++) { /* powers of two and neighbours: the uneven rounding intervals */
        check_f32(from_bits(e << 23 | 1));
        check_f32(from_bits((e << 23) + (e == 0)));
        check_f32(from_bits(e << 23 | 0x7fffffu));
    }
    for (int k = 0; k < 20000; k++) {
        uint64_t r = random_bits();
        float v = from_bits((uint32_t)r);
        if (isfinite(v) && v != 0)
            check_f32(v);
        char text[64];
        (void)snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(r >> 40),
                       (unsigned long long)(r & 0xffffff), (int)(random_bits() % 700) - 350);
        check_parse(text);
    }
    if (setlocale(LC_ALL, "de_DE.UTF-8")) {
        float f;
        CHECK_STR(text_of(0.5f), "0.5");
        CHECK(parse_f32("0.5", &f) == 3);
    }
    arena_deinit(&mem);
    return check_done();
}
