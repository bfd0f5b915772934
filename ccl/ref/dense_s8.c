/* SPDX-License-Identifier: Apache-2.0
 *
 * dense_s8 - int8 matrix product x[rows][in] * w[units][in]: exact int32 sum of (x - x_zp) * (w -
 * w_zp) plus bias, requantized (docs/numerics.md, rule 4). Four units at a time share the loads of
 * a row. conv2d_s8 finishes a sum in the same way; each kernel is one file that can be taken alone.
 */
#include "ccl.h"
#include "requant.h"

enum { DENSE_S8_UNITS = 4 };

/* acc[j] = sum of (x - zp) * w[j]; acc[4] = sum of (x - zp). */
static void dense_s8_dot(const int8_t *x, const int8_t *const w[DENSE_S8_UNITS], int32_t n,
                         int16_t zp, int32_t acc[DENSE_S8_UNITS + 1])
{
    const int8_t *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t = 0;
    for (int32_t k = 0; k < n; k++) {
        const int16_t a = (int16_t)(x[k] - zp);
        s0 += a * w0[k];
        s1 += a * w1[k];
        s2 += a * w2[k];
        s3 += a * w3[k];
        t += a;
    }
    acc[0] = s0;
    acc[1] = s1;
    acc[2] = s2;
    acc[3] = s3;
    acc[4] = t;
}

void ccl_dense_s8(const ccl_dense_params *p, const int8_t *x, const int8_t *w, int8_t *y)
{
    for (int32_t u = 0; u < p->units; u += DENSE_S8_UNITS) {
        const int32_t count = p->units - u < DENSE_S8_UNITS ? p->units - u : DENSE_S8_UNITS;
        const int8_t *wp[DENSE_S8_UNITS];
        for (int32_t j = 0; j < DENSE_S8_UNITS; j++) /* past the end the last unit repeats */
            wp[j] = w + (u + (j < count ? j : count - 1)) * p->in;
        for (int32_t r = 0; r < p->rows; r++) {
            int32_t acc[DENSE_S8_UNITS + 1];
            dense_s8_dot(x + r * p->in, wp, p->in, (int16_t)p->x_zp, acc);
            for (int32_t j = 0; j < count; j++) {
                int32_t sum = acc[j];
                if (p->w_zp)
                    sum -= p->w_zp[u + j] * acc[DENSE_S8_UNITS];
                if (p->bias)
                    sum += p->bias[u + j];
                y[r * p->units + u + j] =
                    ccl_requantize(sum, p->rq.m[u + j], p->rq.y_zp, p->rq.lo, p->rq.hi);
            }
        }
    }
}
