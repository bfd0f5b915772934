/* SPDX-License-Identifier: Apache-2.0
 *
 * hw.h - tables over isa/hwconfig.def and isa/presets.def, and access by name (public functions:
 * src/api/hw.c).
 */
#ifndef CGC_HW_H
#define CGC_HW_H

#include "base/base.h"

typedef enum hw_kind { HW_I32, HW_F32, HW_F64 } hw_kind;

typedef struct hw_param {
    const char *name;
    hw_kind kind;
    size_t offset; /* in struct cgc_hw */
    double lo, hi;
    const char *unit, *meaning;
} hw_param;

typedef struct hw_preset {
    const char *name;
    int32_t array_size, macs_per_pe, lrm_size, ocm_size, ddr_bytes_per_cycle;
} hw_preset;

enum {
#define PARAM(name, type, def, lo, hi, unit, meaning) HW_PARAM_##name,
#include "hwconfig.def"
#undef PARAM
    HW_PARAM_COUNT,
    HW_PRESET_COUNT = 0
#define PRESET(...) +1
#include "presets.def"
#undef PRESET
};

extern const hw_param hw_params[HW_PARAM_COUNT];
extern const hw_preset hw_presets[HW_PRESET_COUNT];

const hw_param *hw_find(const char *name);             /* NULL if unknown */
cgc_status hw_unknown(cgc_ctx *ctx, const char *name); /* CGC_E_TARGET: all names, the nearest */
double hw_value(const cgc_hw *hw, const hw_param *p);
/* Checks the range and sets; a failure leaves hw as it was. Rules over several parameters:
 * hw_check. */
cgc_status hw_assign(cgc_hw *hw, const hw_param *p, double v);
/* Defaults, then the preset's values. */
cgc_status hw_apply_preset(cgc_hw *hw, const char *name);
/* {"array_size": 16, ...} over the present values, then hw_check. */
cgc_status hw_read_json(cgc_hw *hw, const char *text, size_t bytes, arena *scratch);

#endif
