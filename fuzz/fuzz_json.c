/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_json.c - the JSON reader over any bytes, alone and as a hardware description. A string that
 * was read must be written to text that reads back to it; a hardware description that was accepted
 * must pass its check.
 */
#include "base/hw.h"
#include "fuzz.h"

#include <string.h>

static void check_strings(cgc_ctx *ctx, arena *a, const json *v)
{
    for (; v; v = v->next) {
        const char *texts[2] = {v->key, v->string};
        for (int i = 0; i < 2; i++) {
            str s;
            json *again = NULL;
            if (!texts[i])
                continue;
            str_init(&s, a);
            json_put_string(&s, texts[i]);
            REQUIRE(json_parse(ctx, a, s.data, s.len, &again) == CGC_OK);
            REQUIRE(again->kind == JSON_STRING && strcmp(again->string, texts[i]) == 0);
        }
        check_strings(ctx, a, v->child);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cgc_ctx *ctx = cgc_ctx_new();
    arena a;
    json *v = NULL;
    cgc_hw hw;
    arena_init(&a, ctx);
    hw_init(&hw, ctx);
    if (json_parse(ctx, &a, (const char *)data, size, &v) == CGC_OK)
        check_strings(ctx, &a, v);
    else
        REQUIRE(ctx->error.code != CGC_OK);
    cgc_ctx_clear(ctx);
    if (hw_read_json(&hw, (const char *)data, size, &a) == CGC_OK)
        REQUIRE(hw_check(ctx, &hw) == CGC_OK);
    arena_deinit(&a);
    cgc_ctx_free(ctx);
    return 0;
}
