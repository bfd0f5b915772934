/* SPDX-License-Identifier: Apache-2.0
 *
 * host_sum.c - the cheapest exact form of a residual add: every candidate is evaluated for all
 * 65,536 pairs of int8 operands and compared with the definition (docs/numerics.md, rule 5).
 * Only enumeration finds the one pair in which a reciprocal rounds differently, so nothing here
 * samples.
 */
#include "plan/host.h"
#include "requant.h"

#include <math.h>

/* The vector kernels round before they clamp, so every value must fit an int32 together with its
 * zero point. */
#define SUM_LIMIT 1.0e9f

typedef struct add_attrs {
    float a_scale, b_scale, y_scale;
    int32_t a_zp, b_zp, y_zp, lo, hi;
} add_attrs;

static add_attrs attrs_of(const ir_node *n)
{
    return (add_attrs){.a_scale = ir_float(n, "a_scale"),
                       .b_scale = ir_float(n, "b_scale"),
                       .y_scale = ir_float(n, "y_scale"),
                       .a_zp = (int32_t)ir_int(n, "a_zero_point"),
                       .b_zp = (int32_t)ir_int(n, "b_zero_point"),
                       .y_zp = (int32_t)ir_int(n, "y_zero_point"),
                       .lo = (int32_t)ir_int(n, "clamp_min"),
                       .hi = (int32_t)ir_int(n, "clamp_max")};
}

/* ka, kb, ky of a form; products are exact to one rounding as in the kernels. */
static host_sum constants_of(const add_attrs *p, int32_t form)
{
    host_sum s = {.form = form, .ka = p->a_scale, .kb = p->b_scale, .ky = p->y_scale};
    if (form == CCL_SUM_FMA) {
        s.ka = (float)((double)p->a_scale / (double)p->y_scale);
        s.kb = (float)((double)p->b_scale / (double)p->y_scale);
    } else if (form == CCL_SUM_RECIPROCAL) {
        s.ky = 1.0f / p->y_scale;
    }
    return s;
}

/* What the kernel rounds, for operands minus zero points. */
static float value_of(const host_sum *s, float a, float b)
{
    if (s->form == CCL_SUM_FMA)
        return fmaf(a, s->ka, b * s->kb);
    const float pa = a * s->ka, pb = b * s->kb, sum = pa + pb;
    return s->form == CCL_SUM_RECIPROCAL ? sum * s->ky : sum / s->ky;
}

static bool form_is_exact(const add_attrs *p, const host_sum *s)
{
    for (int32_t qa = -128; qa <= 127; qa++) {
        for (int32_t qb = -128; qb <= 127; qb++) {
            const float da = ccl_dequantize((int8_t)qa, p->a_scale, p->a_zp);
            const float db = ccl_dequantize((int8_t)qb, p->b_scale, p->b_zp);
            const float sum = da + db;
            const int8_t want = ccl_quantize(sum, p->y_scale, p->y_zp, p->lo, p->hi);
            const float v = value_of(s, (float)(qa - p->a_zp), (float)(qb - p->b_zp));
            if (!(fabsf(v) < SUM_LIMIT) || ccl_round_clamp(v, p->y_zp, p->lo, p->hi) != want)
                return false;
        }
    }
    return true;
}

bool host_sum_plan(const ir_node *add, host_sum *out)
{
    const add_attrs p = attrs_of(add);
    for (int32_t form = CCL_SUM_FMA; form <= CCL_SUM_DIVIDE; form++) {
        *out = constants_of(&p, form);
        if (form_is_exact(&p, out))
            return true;
    }
    return false;
}
