/* SPDX-License-Identifier: Apache-2.0
 *
 * border.h - images with a border of constant bytes around them, as emitted host programs keep
 * them: filling the border, copying an image into one, and the two ways in which an int8 is
 * stored (as it is, or XOR 0x80).
 */
#ifndef CCL_BORDER_H
#define CCL_BORDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct ccl_bordered {
    int32_t n, h, w;                  /* images and pixels without the border */
    int32_t top, left, bottom, right; /* pixels of border */
    int32_t pixel_bytes;
} ccl_bordered;

/* base: first byte of the buffer, border included. Right border and the next row's left border
 * are neighbours. */
static inline void ccl_fill_border(void *base, const ccl_bordered *b, int32_t value)
{
    const size_t pixel = (size_t)b->pixel_bytes, row = pixel * (size_t)(b->left + b->w + b->right);
    uint8_t *p = (uint8_t *)base;
    for (int32_t n = 0; n < b->n; n++) {
        const size_t first = row * (size_t)b->top + pixel * (size_t)b->left;
        memset(p, value, first);
        p += first;
        for (int32_t y = 0; y + 1 < b->h; y++) {
            p += pixel * (size_t)b->w;
            memset(p, value, pixel * (size_t)(b->right + b->left));
            p += pixel * (size_t)(b->right + b->left);
        }
        p += pixel * (size_t)b->w;
        const size_t last = row * (size_t)b->bottom + pixel * (size_t)b->right;
        memset(p, value, last);
        p += last;
    }
}

static inline void ccl_flip(void *data, size_t bytes)
{
    uint8_t *p = (uint8_t *)data;
    for (size_t i = 0; i < bytes; i++)
        p[i] ^= 0x80u;
}

/* Rows of x (row_bytes and image_bytes apart) into the inside of a bordered buffer; flip: XOR
 * 0x80. */
static inline void ccl_copy_inside(const void *x, size_t x_row, size_t x_image, void *base,
                                   const ccl_bordered *b, int32_t flip)
{
    const size_t pixel = (size_t)b->pixel_bytes, row = pixel * (size_t)(b->left + b->w + b->right);
    const size_t image = row * (size_t)(b->top + b->h + b->bottom), bytes = pixel * (size_t)b->w;
    for (int32_t n = 0; n < b->n; n++) {
        const uint8_t *from = (const uint8_t *)x + (size_t)n * x_image;
        uint8_t *to =
            (uint8_t *)base + (size_t)n * image + (size_t)b->top * row + (size_t)b->left * pixel;
        for (int32_t y = 0; y < b->h; y++, from += x_row, to += row) {
            memcpy(to, from, bytes);
            if (flip)
                ccl_flip(to, bytes);
        }
    }
}

#endif
