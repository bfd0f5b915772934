/* SPDX-License-Identifier: Apache-2.0
 *
 * safetensors.h - reader and writer of the safetensors format: 8 bytes header length, a JSON
 * header, the tensors' bytes without holes.
 */
#ifndef CGC_IR_SAFETENSORS_H
#define CGC_IR_SAFETENSORS_H

#include "ir/ir.h"

typedef struct st_tensor {
    const char *name;
    ir_tensor tensor; /* data points into the file's bytes: any alignment */
} st_tensor;

/* Checks the whole file: header size, types, that ranges tile the data exactly, dims times
 * element size. The result lies in a. */
cgc_status st_read(cgc_ctx *ctx, arena *a, const char *data, size_t bytes, st_tensor **out_tensors,
                   size_t *out_count);
/* Appends a file. Larger element types come first, so every tensor is aligned to its element. */
cgc_status st_write(cgc_ctx *ctx, const st_tensor *tensors, size_t count, str *out);

#endif
