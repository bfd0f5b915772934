/* SPDX-License-Identifier: Apache-2.0
 *
 * max_pool2d_s8 - largest value of each window, NHWC. Windows are cut to the input; the caller has
 * made sure that none is empty. Vectors run over channels. max_pool2d_f32 is the same loop with another
 * element type and another comparison; as a macro of both it would be harder to read than twice.
 */
#include "ccl.h"

static void max_pool2d_s8_pixel(const ccl_window2d *p, const int8_t *x, int32_t oy, int32_t ox,
                                int8_t *y)
{
    const int32_t y0 = oy * p->stride_h - p->pad_top, x0 = ox * p->stride_w - p->pad_left;
    int first = 1;
    for (int32_t ky = 0; ky < p->kh; ky++) {
        const int32_t iy = y0 + ky * p->dil_h;
        if (iy < 0 || iy >= p->h)
            continue;
        for (int32_t kx = 0; kx < p->kw; kx++) {
            const int32_t ix = x0 + kx * p->dil_w;
            if (ix < 0 || ix >= p->w)
                continue;
            const int8_t *xp = x + (iy * p->w + ix) * p->c;
            if (first) {
                for (int32_t c = 0; c < p->c; c++)
                    y[c] = xp[c];
                first = 0;
                continue;
            }
            for (int32_t c = 0; c < p->c; c++) {
                const int8_t v = xp[c], m = y[c];
                y[c] = v > m ? v : m;
            }
        }
    }
}

void ccl_max_pool2d_s8(const ccl_window2d *p, const int8_t *x, int8_t *y)
{
    for (int32_t n = 0; n < p->n; n++) {
        const int8_t *image = x + n * p->h * p->w * p->c;
        for (int32_t oy = 0; oy < p->oh; oy++)
            for (int32_t ox = 0; ox < p->ow; ox++, y += p->c)
                max_pool2d_s8_pixel(p, image, oy, ox, y);
    }
}
