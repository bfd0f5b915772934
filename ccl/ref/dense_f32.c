/* SPDX-License-Identifier: Apache-2.0
 *
 * dense_f32 - float32 matrix product x[rows][in] * w[units][in]: bias (or +0) first, then k
 * ascending, each product rounded before it is added (docs/numerics.md, rule 9). Vectors run over
 * units, never over the sum: a piece of the weights is turned to [k][unit] on the stack.
 */
#include "ccl.h"
#include "requant.h"

enum { DENSE_F32_UNITS = 8, DENSE_F32_K = 64, DENSE_F32_ROWS = 16 };

typedef struct dense_f32_block { /* up to 16 rows by up to 8 units */
    float acc[DENSE_F32_ROWS][DENSE_F32_UNITS];
    float wt[DENSE_F32_K][DENSE_F32_UNITS];
} dense_f32_block;

/* Adds the products k0 .. k0 + n - 1; lanes past the last unit hold zeros and are never stored. */
static void dense_f32_piece(dense_f32_block *b, const float *x, int32_t rows, int32_t in, int32_t n)
{
    for (int32_t r = 0; r < rows; r++) {
        for (int32_t k = 0; k < n; k++) {
            const float v = x[r * in + k];
            for (int32_t j = 0; j < DENSE_F32_UNITS; j++) {
                const float product = v * b->wt[k][j];
                b->acc[r][j] += product;
            }
        }
    }
}

static void dense_f32_turn(dense_f32_block *b, const float *w, int32_t units, int32_t in, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        for (int32_t j = 0; j < DENSE_F32_UNITS; j++)
            b->wt[k][j] = j < units ? w[j * in + k] : 0.0f;
}

void ccl_dense_f32(int32_t rows, int32_t in, int32_t units, const float *x, const float *w,
                   const float *bias, float *y)
{
    dense_f32_block b;
    for (int32_t u = 0; u < units; u += DENSE_F32_UNITS) {
        const int32_t nu = units - u < DENSE_F32_UNITS ? units - u : DENSE_F32_UNITS;
        for (int32_t r = 0; r < rows; r += DENSE_F32_ROWS) {
            const int32_t nr = rows - r < DENSE_F32_ROWS ? rows - r : DENSE_F32_ROWS;
            for (int32_t i = 0; i < nr; i++)
                for (int32_t j = 0; j < DENSE_F32_UNITS; j++)
                    b.acc[i][j] = bias && j < nu ? bias[u + j] : 0.0f;
            for (int32_t k = 0; k < in; k += DENSE_F32_K) {
                const int32_t nk = in - k < DENSE_F32_K ? in - k : DENSE_F32_K;
                dense_f32_turn(&b, w + u * in + k, nu, in, nk);
                dense_f32_piece(&b, x + r * in + k, nr, in, nk);
            }
            for (int32_t i = 0; i < nr; i++)
                for (int32_t j = 0; j < nu; j++)
                    y[(r + i) * units + u + j] = ccl_settle(b.acc[i][j]);
        }
    }
}
