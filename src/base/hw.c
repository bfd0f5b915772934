/* SPDX-License-Identifier: Apache-2.0
 *
 * hw.c - hardware description: defaults, one parameter by name, and the rules over it. Names, types
 * and ranges come from isa/hwconfig.def, so a new parameter needs no line here; only rules that a
 * range cannot say stand below.
 */
#include "base/hw.h"

#include <string.h>

#define KIND_OF(type) _Generic((type){0}, int32_t: HW_I32, float: HW_F32, double: HW_F64)

const hw_param hw_params[HW_PARAM_COUNT] = {
#define PARAM(name, type, def, lo, hi, unit, meaning)                                              \
    {#name, KIND_OF(type), offsetof(struct cgc_hw, name), lo, hi, unit, meaning},
#include "hwconfig.def"
#undef PARAM
};

const hw_preset hw_presets[HW_PRESET_COUNT] = {
#define PRESET(name, array, macs, lrm, ocm, ddr) {name, array, macs, lrm, ocm, ddr},
#include "presets.def"
#undef PRESET
};

void hw_init(cgc_hw *hw, cgc_ctx *ctx)
{
    *hw = (cgc_hw){
        .ctx = ctx,
#define PARAM(name, type, def, lo, hi, unit, meaning) .name = def,
#include "hwconfig.def"
#undef PARAM
    };
}

const hw_param *hw_find(const char *name)
{
    for (int32_t i = 0; i < HW_PARAM_COUNT; i++)
        if (strcmp(hw_params[i].name, name) == 0)
            return &hw_params[i];
    return NULL;
}

/* CGC_E_TARGET for a name that is none of n known ones, with the one that may be meant. */
static cgc_status unknown(cgc_ctx *ctx, const char *kind, const char *name,
                          const char *const *known, size_t n)
{
    str names;
    str_init(&names, &ctx->arena);
    for (size_t i = 0; i < n; i++)
        str_printf(&names, "%s%s", i ? ", " : "", known[i]);
    diag_info info = {.setting = name, .wanted = names.data};
    const char *near = text_nearest(name, known, n);
    info.cure =
        near ? arena_printf(&ctx->arena, "did you mean '%s'?", near) : "use one of these names";
    return diag(ctx, CGC_E_TARGET, info, "unknown hardware %s '%s'", kind, name);
}

cgc_status hw_unknown(cgc_ctx *ctx, const char *name)
{
    const char *known[HW_PARAM_COUNT];
    for (int32_t i = 0; i < HW_PARAM_COUNT; i++)
        known[i] = hw_params[i].name;
    return unknown(ctx, "parameter", name, known, HW_PARAM_COUNT);
}

static const char *value_text(arena *a, double v)
{
    str s;
    str_init(&s, a);
    if (v >= -9e15 && v <= 9e15 && v == (double)(int64_t)v)
        str_printf(&s, "%lld", (long long)v);
    else
        str_put_f32(&s, (float)v); /* only for a message */
    return s.data;
}

double hw_value(const cgc_hw *hw, const hw_param *p)
{
    const char *at = (const char *)hw + p->offset;
    if (p->kind == HW_I32) {
        int32_t v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    if (p->kind == HW_F32) {
        float v;
        memcpy(&v, at, sizeof v);
        return (double)v;
    }
    double v;
    memcpy(&v, at, sizeof v);
    return v;
}

static cgc_status check_range(cgc_ctx *ctx, const hw_param *p, double v)
{
    bool whole =
        p->kind != HW_I32 || (v >= -2147483648.0 && v <= 2147483647.0 && v == (double)(int32_t)v);
    if (v >= p->lo && v <= p->hi && whole)
        return CGC_OK;
    diag_info info = {
        .setting = p->name,
        .found = value_text(&ctx->arena, v),
        .wanted =
            arena_printf(&ctx->arena, "%s%s to %s %s", p->kind == HW_I32 ? "a whole number, " : "",
                         value_text(&ctx->arena, p->lo), value_text(&ctx->arena, p->hi), p->unit),
        .cure = arena_printf(&ctx->arena, "give %s a value in that range, or start from a preset",
                             p->name),
    };
    return diag(ctx, CGC_E_TARGET, info, "hardware parameter %s (%s) is out of range", p->name,
                p->meaning);
}

cgc_status hw_assign(cgc_hw *hw, const hw_param *p, double v)
{
    TRY(check_range(hw->ctx, p, v));
    char *at = (char *)hw + p->offset;
    if (p->kind == HW_I32) {
        int32_t n = (int32_t)v;
        memcpy(at, &n, sizeof n);
    } else if (p->kind == HW_F32) {
        float f = (float)v;
        memcpy(at, &f, sizeof f);
    } else {
        memcpy(at, &v, sizeof v);
    }
    return CGC_OK;
}

static cgc_status bad_rule(cgc_ctx *ctx, const char *name, int32_t found, const char *wanted)
{
    diag_info info = {
        .setting = name,
        .found = arena_printf(&ctx->arena, "%d", (int)found),
        .wanted = wanted,
        .cure = arena_printf(&ctx->arena, "give %s such a value, or start from a preset", name)};
    return diag(ctx, CGC_E_TARGET, info, "hardware parameter %s makes no sense", name);
}

cgc_status hw_check(cgc_ctx *ctx, const cgc_hw *hw)
{
    for (int32_t i = 0; i < HW_PARAM_COUNT; i++)
        TRY(check_range(ctx, &hw_params[i], hw_value(hw, &hw_params[i])));
    if (hw->macs_per_pe % 4)
        return bad_rule(ctx, "macs_per_pe", hw->macs_per_pe,
                        "a multiple of 4: a step reads whole 32-bit words of local memory");
    if (hw->lrm_size % 16)
        return bad_rule(ctx, "lrm_size", hw->lrm_size, "a multiple of 16 bytes");
    if (hw->num_acc % 4)
        return bad_rule(ctx, "num_acc", hw->num_acc,
                        "a multiple of 4: results leave the accumulators as 32-bit words");
    if (hw->ocm_size % 64)
        return bad_rule(ctx, "ocm_size", hw->ocm_size, "a multiple of 64 bytes");
    if (hw->lrm_size < 8 * hw->macs_per_pe)
        return bad_rule(ctx, "lrm_size", hw->lrm_size,
                        arena_printf(&ctx->arena, "at least 8 steps of macs_per_pe bytes (%d)",
                                     8 * hw->macs_per_pe));
    if (hw->lrm_size < 4 * hw->num_acc + hw->macs_per_pe)
        return bad_rule(ctx, "lrm_size", hw->lrm_size,
                        arena_printf(&ctx->arena,
                                     "room for num_acc 32-bit words and one step (%d bytes)",
                                     4 * hw->num_acc + hw->macs_per_pe));
    if (hw->ocm_size < 4 * hw_pes(hw))
        return bad_rule(ctx, "ocm_size", hw->ocm_size,
                        arena_printf(&ctx->arena, "at least one 32-bit word per PE (%d bytes)",
                                     4 * hw_pes(hw)));
    return CGC_OK;
}

cgc_status hw_apply_preset(cgc_hw *hw, const char *name)
{
    const char *known[HW_PRESET_COUNT];
    for (int32_t i = 0; i < HW_PRESET_COUNT; i++) {
        const hw_preset *p = &hw_presets[i];
        if (strcmp(p->name, name) == 0) {
            cgc_hw fresh;
            hw_init(&fresh, hw->ctx);
            fresh.array_size = p->array_size;
            fresh.macs_per_pe = p->macs_per_pe;
            fresh.lrm_size = p->lrm_size;
            fresh.ocm_size = p->ocm_size;
            fresh.ddr_bytes_per_cycle = p->ddr_bytes_per_cycle;
            *hw = fresh;
            return hw_check(hw->ctx, hw);
        }
        known[i] = p->name;
    }
    return unknown(hw->ctx, "preset", name, known, HW_PRESET_COUNT);
}

cgc_status hw_read_json(cgc_hw *hw, const char *text, size_t bytes, arena *scratch)
{
    json *root;
    cgc_hw fresh = *hw; /* a failure leaves hw as it was */
    TRY(json_parse(hw->ctx, scratch, text, bytes, &root));
    if (root->kind != JSON_OBJECT)
        return diag(hw->ctx, CGC_E_TARGET,
                    (diag_info){.wanted = "an object {\"array_size\": 16, ...}",
                                .cure = "write parameter names and numbers; cgc isa --parameters "
                                        "lists them"},
                    "a hardware description is one JSON object");
    for (const json *c = root->child; c; c = c->next) {
        const hw_param *p = hw_find(c->key);
        if (!p)
            return hw_unknown(hw->ctx, c->key);
        if (c->kind != JSON_NUMBER)
            return diag(hw->ctx, CGC_E_TARGET,
                        (diag_info){.setting = p->name,
                                    .wanted = "a number",
                                    .cure = "write the number without quotes"},
                        "hardware parameter %s is not a number", p->name);
        TRY(hw_assign(&fresh, p, c->number));
    }
    TRY(hw_check(hw->ctx, &fresh));
    *hw = fresh;
    return CGC_OK;
}
