/* SPDX-License-Identifier: Apache-2.0
 *
 * hw.c - public functions about the hardware description: thin over src/base/hw.c.
 */
#include "base/hw.h"

#include <stdlib.h>

enum { MAX_JSON_BYTES = 1 << 20 };

cgc_hw *cgc_hw_new(cgc_ctx *ctx)
{
    CGC_ENTER(ctx, NULL);
    cgc_hw *hw = malloc(sizeof *hw);
    if (hw)
        hw_init(hw, ctx);
    else
        ctx_nomem(ctx);
    CGC_LEAVE(ctx);
    return hw;
}

void cgc_hw_free(cgc_hw *hw)
{
    free(hw);
}

static cgc_status set(cgc_hw *hw, const char *name, double value)
{
    const hw_param *p = hw_find(name);
    return p ? hw_assign(hw, p, value) : hw_unknown(hw->ctx, name);
}

cgc_status cgc_hw_set(cgc_hw *hw, const char *name, double value)
{
    CGC_ENTER(hw->ctx, CGC_E_NOMEM);
    cgc_status status = set(hw, name ? name : "", value);
    CGC_LEAVE(hw->ctx);
    return status;
}

static cgc_status get(const cgc_hw *hw, const char *name, double *out_value)
{
    const hw_param *p = hw_find(name);
    if (!p)
        return hw_unknown(hw->ctx, name);
    *out_value = hw_value(hw, p);
    return CGC_OK;
}

cgc_status cgc_hw_get(const cgc_hw *hw, const char *name, double *out_value)
{
    CGC_ENTER(hw->ctx, CGC_E_NOMEM);
    cgc_status status = get(hw, name ? name : "", out_value);
    CGC_LEAVE(hw->ctx);
    return status;
}

cgc_status cgc_hw_preset(cgc_hw *hw, const char *preset)
{
    CGC_ENTER(hw->ctx, CGC_E_NOMEM);
    cgc_status status = hw_apply_preset(hw, preset ? preset : "");
    CGC_LEAVE(hw->ctx);
    return status;
}

static cgc_status load(cgc_hw *hw, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    arena_guard a;
    arena_guard_init(&a, hw->ctx);
    cgc_status status = file_read(hw->ctx, &a.arena, path, MAX_JSON_BYTES, &text, &bytes);
    if (status == CGC_OK) {
        status = hw_read_json(hw, text, bytes, &a.arena);
        if (status != CGC_OK)
            diag_append(hw->ctx, "  in: %s", path);
    }
    arena_guard_deinit(&a);
    return status;
}

cgc_status cgc_hw_load_json(cgc_hw *hw, const char *path)
{
    CGC_ENTER(hw->ctx, CGC_E_NOMEM);
    cgc_status status = load(hw, path ? path : "");
    CGC_LEAVE(hw->ctx);
    return status;
}

int32_t cgc_hw_param_count(void)
{
    return HW_PARAM_COUNT;
}

const char *cgc_hw_param_name(int32_t i)
{
    return i >= 0 && i < HW_PARAM_COUNT ? hw_params[i].name : "";
}

const char *cgc_hw_param_meaning(int32_t i)
{
    return i >= 0 && i < HW_PARAM_COUNT ? hw_params[i].meaning : "";
}

int32_t cgc_hw_preset_count(void)
{
    return HW_PRESET_COUNT;
}

const char *cgc_hw_preset_name(int32_t i)
{
    return i >= 0 && i < HW_PRESET_COUNT ? hw_presets[i].name : "";
}
