/* SPDX-License-Identifier: Apache-2.0
 *
 * conv.c - a 3x3 convolution with 8 input and 16 output channels on the array, fed from DDR and written back there,
 * with every queue in use. run_conv fills DDR itself and returns a hash of the result, on the simulator as on the host.
 * Macros leave one wait out each.
 */
#include "ccl_epu.h"

enum { SIDE = 12, CIN = 8, COUT = 16, K = 9 * CIN / 8, TILE = 16 };
enum { LOADED, WINDOWS, SUMS, STORED, DONE };
#define X CCL_OCM_BASE
#define W (CCL_OCM_BASE + 0x1000u)
#define Q (CCL_OCM_BASE + 0x2000u)
#define Y (CCL_OCM_BASE + 0x3000u)
#define FAR_X CCL_DDR_BASE
#define FAR_Y (CCL_DDR_BASE + 0x4000u)

static const ccl_dma in = {X, FAR_X, 0x3000, 1, 1, 0, 0, 0, 0};
static const ccl_dma out = {FAR_Y, Y, SIDE * SIDE * COUT, 1, 1, 0, 0, 0, 0};
static const ccl_window window = {.base = X,
                                  .h = SIDE,
                                  .w = SIDE,
                                  .pixel_bytes = CIN,
                                  .row_bytes = SIDE * CIN,
                                  .stride_y = 1,
                                  .stride_x = 1,
                                  .pad_y = 1,
                                  .pad_x = 1,
                                  .dil_y = 1,
                                  .dil_x = 1,
                                  .kh = 3,
                                  .kw = 3,
                                  .c = CIN,
                                  .fill = -3,
                                  .ow = SIDE};
static const ccl_block row = {COUT, 1, COUT, 0};

static void fill(void)
{
    int8_t *x = ccl_ptr(FAR_X), *w = ccl_ptr(FAR_X + 0x1000u);
    uint32_t *q = ccl_ptr(FAR_X + 0x2000u);
    for (int i = 0; i < SIDE * SIDE * CIN; i++)
        x[i] = (int8_t)(i * 37 + i / 11);
    for (int i = 0; i < COUT * 9 * CIN; i++)
        w[i] = (int8_t)(i * 29 + i / 7);
    for (int i = 0; i < COUT; i++) {
        q[2 * i] = (uint32_t)(i * 321 - 2000);
        q[2 * i + 1] = 0x3a83126fu + (uint32_t)i * 0x1000u; /* about 0.001 */
    }
}

/* Tiles of one output pixel per PE. */
static void tile(uint32_t n)
{
    const uint32_t first = n * TILE, at = (n & 1u) * 128u;
#ifndef WITHOUT_WAIT_SUMS
    ccl_wait(CCL_ALD, SUMS, n ? n - 1 : 0); /* the windows of tile n - 2 are used up */
#endif
    ccl_ald_window(&window, first, CCL_PAIR(at, TILE));
    ccl_post(CCL_ALD, WINDOWS);
    ccl_wait(CCL_ARR, WINDOWS, n + 1);
    ccl_mac_weights_first(W, CCL_PAIR(K, COUT), at);
    ccl_wait(CCL_ARR, STORED, n);
    ccl_rqs(Q, CCL_PAIR(256, COUT), CCL_CLAMP(5, -100, 100));
    ccl_post(CCL_ARR, SUMS);
#ifndef WITHOUT_WAIT_RESULT
    ccl_wait(CCL_AST, SUMS, n + 1);
#endif
    ccl_ast(&row, Y + first * COUT, CCL_PAIR(256, TILE));
    ccl_post(CCL_AST, STORED);
}

uint32_t run_conv(void)
{
    uint32_t hash = 2166136261u;
    fill();
    ccl_mark(1);
    ccl_dmi(&in);
    ccl_post(CCL_DMI, LOADED);
    ccl_wait(CCL_ALD, LOADED, 1);
    ccl_wait(CCL_ARR, LOADED, 1);
    for (uint32_t n = 0; n < SIDE * SIDE / TILE; n++)
        tile(n);
#ifdef DEADLOCK
    ccl_wait(CCL_DMO, STORED, 100);
#endif
    ccl_wait(CCL_DMO, STORED, SIDE * SIDE / TILE);
    ccl_dmo(&out);
    ccl_post(CCL_DMO, DONE);
#ifndef WITHOUT_WAIT_DONE
    ccl_swait(DONE, 1);
#endif
    const uint8_t *y = ccl_ptr(FAR_Y);
    for (int i = 0; i < SIDE * SIDE * COUT; i++)
        hash = (hash ^ y[i]) * 16777619u;
    return hash;
}
