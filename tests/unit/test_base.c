/* SPDX-License-Identifier: Apache-2.0
 *
 * test_base.c - arenas, text, message form, JSON, files and folders, hardware description.
 */
#include "base/hw.h"
#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *message(cgc_ctx *ctx)
{
    cgc_error e;
    cgc_ctx_error(ctx, &e);
    return e.message;
}

static void test_arena(cgc_ctx *ctx)
{
    arena a;
    arena_init(&a, ctx);
    for (size_t n = 0; n < 300; n++) {
        size_t bytes = n * n * 3;
        unsigned char *p = arena_alloc(&a, bytes), *q = arena_alloc(&a, 1);
        bool zero = (uintptr_t)p % 64 == 0 && (uintptr_t)q % 64 == 0;
        for (size_t i = 0; i < bytes; i++)
            zero = zero && p[i] == 0;
        CHECK(zero);
        memset(p, 0xff, bytes);
        *q = 0xff;
        if (n % 50 == 49)
            arena_reset(&a);
    }
    size_t cap = 0;
    int *list = NULL;
    for (int i = 0; i < 1000; i++) {
        list = arena_grow(&a, list, &cap, (size_t)i + 1, sizeof *list);
        list[i] = i;
    }
    CHECK(cap >= 1000 && list[0] == 0 && list[999] == 999);
    CHECK_STR(arena_printf(&a, "%s-%d", "a", 5), "a-5");
    CHECK_STR(arena_strndup(&a, "abcdef", 3), "abc");
    CHECK_STR(text_count(&a, 1, "tile"), "1 tile");
    CHECK_STR(text_count(&a, 0, "tile"), "0 tiles");
    CHECK(text_distance("kitten", "sitting") == 3 && text_distance("", "abc") == 3);
    str s;
    str_init(&s, &a);
    CHECK_STR(s.data, "");
    for (int i = 0; i < 500; i++)
        str_printf(&s, "%03d,", i);
    CHECK(s.len == 2000 && strlen(s.data) == 2000 && strcmp(s.data + 1996, "499,") == 0);
    arena_deinit(&a);
}

/* Too large a request comes back as NOMEM through the entry, and what was guarded is released. */
static int released;
static void count_release(void *object)
{
    released += *(int *)object;
}

static cgc_status exhaust(cgc_ctx *ctx, guard *g, int *weight)
{
    CGC_ENTER(ctx, CGC_E_NOMEM);
    guard_push(ctx, g, count_release, weight);
    (void)arena_array(&ctx->arena, SIZE_MAX / 2, 4);
    CGC_LEAVE(ctx);
    return CGC_OK;
}

static cgc_status outer(cgc_ctx *ctx)
{
    static int one = 1, ten = 10;
    guard g1, g2, dropped;
    CGC_ENTER(ctx, CGC_E_NOMEM);
    guard_push(ctx, &g1, count_release, &ten);
    guard_push(ctx, &dropped, count_release, &ten);
    guard_drop(ctx, &dropped);
    cgc_status status = exhaust(ctx, &g2, &one);
    CGC_LEAVE(ctx);
    return status;
}

static void test_nomem(cgc_ctx *ctx)
{
    CHECK(outer(ctx) == CGC_E_NOMEM);
    CHECK(released == 1); /* the inner call's object only */
    CHECK(ctx->guards == NULL && ctx->entry == NULL);
    CHECK_STR(message(ctx), "error[E_NOMEM] out of memory");
    cgc_ctx_clear(ctx);
    size_t v;
    CHECK(!mul_size(SIZE_MAX, 2, &v) && mul_size(3, 4, &v) && v == 12 &&
          mul_size(SIZE_MAX, 0, &v) && v == 0);
    CHECK(!add_size(SIZE_MAX, 1, &v) && add_size(1, 2, &v) && v == 3);
}

static void test_diag(cgc_ctx *ctx)
{
    diag_info all = {"layer4.0.conv1", "contrib.epu.qlinear_conv2d",   "ocm_size", "70000 bytes",
                     "at most 65536",  "use a target with more memory"};
    CHECK(diag(ctx, CGC_E_FIT, all, "weights do not fit ocm_size of %d", 65536) == CGC_E_FIT);
    CHECK_STR(
        message(ctx),
        "error[E_FIT] layer 'layer4.0.conv1' (contrib.epu.qlinear_conv2d): weights do not fit "
        "ocm_size of 65536; found 70000 bytes, wanted at most 65536\n"
        "  cure: use a target with more memory");
    cgc_error e;
    cgc_ctx_error(ctx, &e);
    CHECK(e.code == CGC_E_FIT);
    CHECK_STR(e.id, "E_FIT");
    CHECK_STR(e.layer, "layer4.0.conv1");
    CHECK_STR(e.op, "contrib.epu.qlinear_conv2d");
    CHECK_STR(e.setting, "ocm_size");
    CHECK_STR(e.found, "70000 bytes");
    CHECK_STR(e.wanted, "at most 65536");
    CHECK_STR(e.cure, "use a target with more memory");
    /* The first failure stays. */
    CHECK(diag(ctx, CGC_E_FILE, (diag_info){0}, "second") == CGC_E_FILE);
    diag_append(ctx, "  at: %s", "here");
    CHECK(strstr(message(ctx), "memory\n  at: here") && !strstr(message(ctx), "second"));
    cgc_ctx_clear(ctx);
    CHECK_STR(message(ctx), "");
    (void)diag(ctx, CGC_E_TYPE, (diag_info){.layer = "a", .setting = "b"}, "c");
    CHECK_STR(message(ctx), "error[E_TYPE] layer 'a': b: c");
    cgc_ctx_clear(ctx);
    (void)diag(ctx, CGC_E_TYPE, (diag_info){.op = "o", .wanted = "w"}, "c");
    CHECK_STR(message(ctx), "error[E_TYPE] o: c; wanted w");
    cgc_ctx_clear(ctx);
    (void)diag(ctx, CGC_E_TYPE, (diag_info){.found = "f", .layer = ""}, "c");
    CHECK_STR(message(ctx), "error[E_TYPE] c; found f");
    cgc_ctx_clear(ctx);
    CHECK(note(ctx, (diag_info){.layer = "a", .op = "o"}, "runs on the %s core", "scalar") ==
          CGC_OK);
    CHECK(cgc_ctx_note_count(ctx) == 1);
    CHECK_STR(cgc_ctx_note_get(ctx, 0), "layer 'a' (o): runs on the scalar core");
    CHECK_STR(cgc_ctx_note_get(ctx, 1), "");
    CHECK(cgc_ctx_set_option(ctx, "strict", "1") == CGC_OK);
    CHECK(note(ctx, (diag_info){.layer = "a"}, "x") == CGC_E_STRICT);
    CHECK_STR(message(ctx), "error[E_STRICT] layer 'a': x");
    CHECK(cgc_ctx_set_option(ctx, "strict", "0") == CGC_OK);
    cgc_ctx_clear(ctx);
    CHECK(cgc_ctx_note_count(ctx) == 0);
    CHECK(cgc_ctx_set_option(ctx, "strict", "yes") == CGC_E_ARGUMENT);
    CHECK_STR(message(ctx),
              "error[E_ARGUMENT] option strict is a switch; found yes, wanted 0 or 1");
    cgc_ctx_clear(ctx);
    CHECK(cgc_ctx_set_option(ctx, "speed", "1") == CGC_E_ARGUMENT);
    cgc_ctx_clear(ctx);
    CHECK(cgc_ctx_set_option(ctx, "dump", "fold_constants,nothing") == CGC_E_ARGUMENT);
    cgc_ctx_clear(ctx);
    CHECK(cgc_ctx_set_option(ctx, "dump", "fold_constants,remove_dead") == CGC_OK);
    CHECK(cgc_ctx_set_option(ctx, "dump", "") == CGC_OK);
    CHECK_STR(status_id(CGC_E_OK), "E_OK");
    CHECK_STR(status_id(-1), "E_UNKNOWN");
}

static json *read_json(cgc_ctx *ctx, arena *a, const char *text)
{
    json *v = NULL;
    return json_parse(ctx, a, text, strlen(text), &v) == CGC_OK ? v : NULL;
}

/* One text a line would be a page. */
/* clang-format off */
static const char *const bad_json[] = {
    "", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", "-", "+1", ".5", "1e", "nul",
    "truex", "\"a", "\"\\q\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"",
    "\"\\u0000\"", "\"\t\"", "\"\xff\"", "\"\xc0\x80\"", "{\"a\":1,\"a\":2}", "1 2", "[1 2]",
    "1e999", "NaN", "// x\n1", "{\"a\" 1}", "[\"\xed\xa0\x80\"]",
};
/* clang-format on */

static void test_json(cgc_ctx *ctx)
{
    arena a;
    arena_init(&a, ctx);
    for (size_t i = 0; i < sizeof bad_json / sizeof bad_json[0]; i++) {
        CHECK(read_json(ctx, &a, bad_json[i]) == NULL);
        CHECK(strstr(message(ctx), "JSON line") != NULL);
        cgc_ctx_clear(ctx);
    }
    const json *v = read_json(
        ctx, &a,
        " {\"a\": [1, -2.5e2, true, false, null], \"b\\u00e9\\ud83d\\ude00\":\"\\\"\\n\"} ");
    CHECK(v && v->kind == JSON_OBJECT && v->count == 2);
    const json *list = json_get(v, "a");
    CHECK(list && list->count == 5 && list->child->number == 1.0 &&
          list->child->next->number == -250.0);
    CHECK(list && list->child->next->next->boolean &&
          list->child->next->next->next->next->kind == JSON_NULL);
    const json *text = json_get(v, "b\xc3\xa9\xf0\x9f\x98\x80");
    CHECK(text && strcmp(text->string, "\"\n") == 0);
    CHECK(json_get(v, "c") == NULL && json_get(list, "a") == NULL);
    str s;
    str_init(&s, &a);
    json_put_string(&s, "a\"\\\n\x01\xc3\xa9");
    CHECK_STR(s.data, "\"a\\\"\\\\\\n\\u0001\xc3\xa9\"");
    CHECK_STR(read_json(ctx, &a, s.data)->string, "a\"\\\n\x01\xc3\xa9");
    /* Depth: 64 levels pass, 100,000 do not. */
    str_init(&s, &a);
    for (int i = 0; i < 64; i++)
        str_put(&s, "[");
    for (int i = 0; i < 64; i++)
        str_put(&s, "]");
    CHECK(read_json(ctx, &a, s.data) != NULL);
    str_init(&s, &a);
    for (int i = 0; i < 100000; i++)
        str_put(&s, "[");
    CHECK(read_json(ctx, &a, s.data) == NULL);
    CHECK(strstr(message(ctx), "E_LIMIT") != NULL);
    cgc_ctx_clear(ctx);
    arena_deinit(&a);
}

static void write_small(cgc_ctx *ctx, const char *path, const char *text)
{
    CHECK(file_write(ctx, path, text, strlen(text)) == CGC_OK);
}

static void test_files(cgc_ctx *ctx)
{
    char root[] = "/tmp/cgc_test_base_XXXXXX";
    char *data;
    size_t bytes;
    CHECK(mkdtemp(root) != NULL);
    arena a;
    arena_init(&a, ctx);
    const char *deep = arena_printf(&a, "%s/a/b/c", root),
               *file = arena_printf(&a, "%s/a/b/c/f", root);
    CHECK(dir_make(ctx, deep) == CGC_OK && dir_make(ctx, deep) == CGC_OK && path_exists(deep));
    write_small(ctx, file, "one");
    write_small(ctx, file, "three");
    CHECK(file_read(ctx, &a, file, 5, &data, &bytes) == CGC_OK && bytes == 5 &&
          strcmp(data, "three") == 0);
    CHECK(file_read(ctx, &a, file, 4, &data, &bytes) == CGC_E_LIMIT);
    cgc_ctx_clear(ctx);
    CHECK(file_read(ctx, &a, deep, 100, &data, &bytes) == CGC_E_FILE);
    cgc_ctx_clear(ctx);
    CHECK(file_write(ctx, arena_printf(&a, "%s/none/f", root), "x", 1) == CGC_E_FILE);
    CHECK(strstr(message(ctx), "cannot write") != NULL && strstr(message(ctx), "none/f") != NULL);
    cgc_ctx_clear(ctx);
    CHECK(dir_make(ctx, arena_printf(&a, "%s/sub", file)) == CGC_E_FILE);
    cgc_ctx_clear(ctx);
    /* A link to outside is removed, not followed. */
    const char *outside = arena_printf(&a, "%s/outside", root);
    write_small(ctx, outside, "keep");
    CHECK(symlink(outside, arena_printf(&a, "%s/a/link", root)) == 0);
    const char *fresh = arena_printf(&a, "%s/fresh", root), *old = arena_printf(&a, "%s/a", root);
    CHECK(dir_make(ctx, fresh) == CGC_OK);
    write_small(ctx, arena_printf(&a, "%s/new", fresh), "new");
    CHECK(dir_replace(ctx, fresh, old) == CGC_OK);
    CHECK(!path_exists(fresh) && path_exists(arena_printf(&a, "%s/new", old)) &&
          !path_exists(deep));
    CHECK(path_exists(outside));
    /* Own folders for all who ask; what a process that has ended left is removed. */
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    const char *left = arena_printf(&a, "%s/.m.%ld_0/sub", root, (long)child), *one, *two;
    CHECK(dir_make(ctx, left) == CGC_OK);
    CHECK(dir_make_temp(ctx, root, ".m.", &one) == CGC_OK && !path_exists(left));
    CHECK(dir_make_temp(ctx, root, ".m.", &two) == CGC_OK);
    CHECK(strcmp(one, two) != 0 && path_exists(one) && path_exists(two));
    CHECK(rmdir(one) == 0 && rmdir(two) == 0);
    size_t n;
    const char **names = dir_list(&a, root, &n);
    CHECK(n == 2 && strcmp(names[0], "a") == 0 && strcmp(names[1], "outside") == 0);
    CHECK(dir_list(&a, "/nothing/there", &n) == NULL && n == 0);
    CHECK(dir_remove(ctx, old) == CGC_OK && dir_remove(ctx, old) == CGC_OK && !path_exists(old));
    CHECK(dir_remove(ctx, outside) == CGC_OK);
    CHECK(rmdir(root) == 0); /* no temporary file is left */
    arena_deinit(&a);
}

/* hw is a preset with 16 MACs; what a file does not say, or an unusable file, leaves it. */
static void test_hw_json(cgc_ctx *ctx, cgc_hw *hw)
{
    char path[] = "/tmp/cgc_test_hw_XXXXXX";
    CHECK(close(mkstemp(path)) == 0);
    write_small(ctx, path, "{\"array_size\": 4, \"ocm_size\": 65536}");
    CHECK(cgc_hw_load_json(hw, path) == CGC_OK && hw->array_size == 4 && hw->ocm_size == 65536);
    CHECK(hw->macs_per_pe == 16); /* what the file does not say stays */
    static const char *const bad[] = {"[]",
                                      "{\"array_size\": \"4\"}",
                                      "{\"size\": 4}",
                                      "{\"array_size\": 4, \"lrm_size\": 999}",
                                      "{\"array_size\": 1e9}",
                                      "{\"array_size\": 4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_small(ctx, path, bad[i]);
        CHECK(cgc_hw_load_json(hw, path) != CGC_OK && hw->array_size == 4 && hw->lrm_size == 4096);
        CHECK(strstr(message(ctx), path) != NULL);
        cgc_ctx_clear(ctx);
    }
    CHECK(remove(path) == 0);
}

static void test_hw(cgc_ctx *ctx)
{
    double v = 0;
    cgc_hw *hw = cgc_hw_new(ctx);
    CHECK(hw_check(ctx, hw) == CGC_OK);
    CHECK(cgc_hw_get(hw, "array_size", &v) == CGC_OK && v == 16.0);
    CHECK(cgc_hw_set(hw, "array_size", 8) == CGC_OK && hw->array_size == 8);
    CHECK(cgc_hw_set(hw, "array_size", 65) == CGC_E_TARGET && hw->array_size == 8);
    CHECK_STR(
        message(ctx),
        "error[E_TARGET] hardware parameter array_size (side of the square array of processing "
        "elements) is out of range; found 65, wanted a whole number, 1 to 64 PEs\n"
        "  cure: give array_size a value in that range, or start from a preset");
    cgc_ctx_clear(ctx);
    static const double unusable[] = {8.5, -1, 0, 1e300, -1e300};
    for (size_t i = 0; i < sizeof unusable / sizeof unusable[0]; i++) {
        CHECK(cgc_hw_set(hw, "array_size", unusable[i]) == CGC_E_TARGET);
        cgc_ctx_clear(ctx);
    }
    CHECK(cgc_hw_set(hw, "array_size", strtod("nan", NULL)) == CGC_E_TARGET);
    cgc_ctx_clear(ctx);
    CHECK(cgc_hw_set(hw, "speed", 1) == CGC_E_TARGET &&
          strstr(message(ctx), "macs_per_pe") != NULL &&
          strstr(message(ctx), "\n  cure: use one of these names") != NULL);
    cgc_ctx_clear(ctx);
    CHECK(cgc_hw_set(hw, "lrm_sise", 1) == CGC_E_TARGET &&
          strstr(message(ctx), "\n  cure: did you mean 'lrm_size'?") != NULL);
    cgc_ctx_clear(ctx);
    CHECK(cgc_hw_set(hw, "macs_per_pe", 6) == CGC_OK && hw_check(ctx, hw) == CGC_E_TARGET);
    CHECK(strstr(message(ctx),
                 "hardware parameter macs_per_pe makes no sense; found 6, wanted a multiple of 4"));
    cgc_ctx_clear(ctx);
    for (int32_t i = 0; i < cgc_hw_preset_count(); i++)
        CHECK(cgc_hw_preset(hw, cgc_hw_preset_name(i)) == CGC_OK);
    CHECK(cgc_hw_preset(hw, "cx-8x8x16") == CGC_OK && hw->array_size == 8 && hw->macs_per_pe == 16);
    CHECK(cgc_hw_preset(hw, "none") == CGC_E_TARGET && strstr(message(ctx), "cx-perform") != NULL);
    cgc_ctx_clear(ctx);
    CHECK(cgc_hw_preset(hw, "cx-perfrom") == CGC_E_TARGET &&
          strstr(message(ctx), "\n  cure: did you mean 'cx-perform'?") != NULL);
    cgc_ctx_clear(ctx);
    test_hw_json(ctx, hw);
    for (int32_t i = 0; i < cgc_hw_param_count(); i++)
        CHECK(cgc_hw_get(hw, cgc_hw_param_name(i), &v) == CGC_OK && *cgc_hw_param_meaning(i));
    CHECK_STR(cgc_hw_param_name(-1), "");
    cgc_hw_free(hw);
    cgc_hw_free(NULL);
}

int main(void)
{
    cgc_ctx *ctx = cgc_ctx_new();
    if (!ctx)
        return 1;
    test_arena(ctx);
    test_nomem(ctx);
    test_diag(ctx);
    test_json(ctx);
    test_files(ctx);
    test_hw(ctx);
    CHECK(cgc_dtype_from_name("int8") == 0 && cgc_dtype_from_name("int7") == -1 &&
          cgc_dtype_bytes(5) == 4);
    CHECK_STR(cgc_dtype_name(5), "float32");
    CHECK(*cgc_version() && cgc_op_count() > 10 && *cgc_op_name(0) && *cgc_op_meaning(0) &&
          !*cgc_op_name(-1));
    cgc_ctx_free(ctx);
    return check_done();
}
