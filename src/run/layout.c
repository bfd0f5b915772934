/* SPDX-License-Identifier: Apache-2.0
 *
 * layout.c - a layer's output as it lies in memory (NHWC with borders and gaps, or plain) -> the row-major tensor
 * that the IR means. The only place that knows both.
 */
#include "run/run.h"

#include <string.h>

size_t run_place_bytes(const run_place *place, const ir_type *type)
{
    if (!place->nhwc)
        return ir_type_bytes(type);
    int64_t rows = type->dims[2] + place->border[0] + place->border[2];
    return (size_t)(type->dims[0] * rows * place->row_bytes);
}

void run_place_read(const run_place *place, const ir_type *type, const void *memory, void *out_data)
{
    if (!place->nhwc) {
        memcpy(out_data, memory, ir_type_bytes(type));
        return;
    }
    const int64_t c = type->dims[1], h = type->dims[2], w = type->dims[3];
    const size_t elem = ir_dtype_bytes(type->dtype);
    const int64_t image = (h + place->border[0] + place->border[2]) * place->row_bytes;
    char *out = out_data;
    for (int64_t n = 0; n < type->dims[0]; n++) {
        for (int64_t k = 0; k < c; k++) {
            for (int64_t y = 0; y < h; y++) {
                const char *row = (const char *)memory + n * image +
                                  (y + place->border[0]) * place->row_bytes +
                                  place->border[1] * place->pixel_bytes + k * (int64_t)elem;
                for (int64_t x = 0; x < w; x++, out += elem)
                    memcpy(out, row + x * place->pixel_bytes, elem);
            }
        }
    }
}
