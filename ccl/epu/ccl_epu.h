/* SPDX-License-Identifier: Apache-2.0
 *
 * ccl_epu.h - the array of processing elements as C functions (docs/machine.md).
 *
 * On RISC-V each function is one custom instruction (isa/isa.def); elsewhere ccl_epu_host.c gives the
 * same functions in plain C, so that the same program text also runs natively. The descriptors below are
 * read from memory when the instruction issues and may be changed at once afterwards. Addresses of OCM
 * and DDR are uint32_t machine addresses; LRM addresses are byte offsets, the same in each PE; lanes
 * are PEs 0..lanes-1 in row-major order. Everything is little-endian.
 */
#ifndef CCL_EPU_H
#define CCL_EPU_H

#include <stdint.h>

/* Memory map of the machine. */
#define CCL_OCM_BASE 0x10000000u
#define CCL_DDR_BASE 0x40000000u
#define CCL_DDR_MAX_BYTES 0x40000000u
#define CCL_RAM_BASE 0x80000000u /* program, stack and descriptors of the scalar core */
#define CCL_RAM_BYTES 0x01000000u

/* In-order queues; operations of different queues overlap. */
enum { CCL_DMI, CCL_DMO, CCL_ALD, CCL_AST, CCL_ARR, CCL_QUEUES };

/* 3-D strided copy between DDR and OCM: for i2 < n2, i1 < n1: copy n0 bytes from
 * src + i1*src_s1 + i2*src_s2 to dst + i1*dst_s1 + i2*dst_s2. */
typedef struct ccl_dma {
    uint32_t dst, src;
    uint32_t n0, n1, n2;
    int32_t dst_s1, dst_s2, src_s1, src_s2;
} ccl_dma;

/* Window generator: how a convolution or pooling window of an output pixel lies in an NHWC tensor in OCM.
 * Pixel p of the output is (oy, ox) = (p / ow, p % ow). The window's bytes, in order: for ky in
 * [ky0, ky0 + kh), for kx in [0, kw): c bytes from
 *   base + iy*row_bytes + ix*pixel_bytes, iy = oy*stride_y - pad_y + ky*dil_y, ix likewise,
 * or c times fill where (iy, ix) is outside h x w. After each ky the address in LRM (or in the K steps of a
 * broadcast) advances to the next multiple of macs_per_pe; bytes skipped that way are fill. */
typedef struct ccl_window {
    uint32_t base;
    int32_t h, w;
    int32_t pixel_bytes, row_bytes;
    int32_t stride_y, stride_x, pad_y, pad_x, dil_y, dil_x;
    int32_t ky0, kh, kw, c;
    int32_t fill;
    int32_t ow;
} ccl_window;

/* Block per lane: lane l, row r < rows, byte i < row_bytes is at ocm + l*lane_stride + r*row_stride + i in OCM and
 * at lrm + r*row_bytes + i in LRM. lane_stride 0 on a load: one copy for all lanes, moved once. */
typedef struct ccl_block {
    int32_t lane_stride, rows, row_bytes, row_stride;
} ccl_block;

/* Reduction over taps inside LRM: for i < n: combine src + y*stride_y + x*stride_x + i over
 * y < taps_y, x < taps_x. */
typedef struct ccl_taps {
    int32_t n, taps_y, stride_y, taps_x, stride_x;
} ccl_taps;

/* Element-wise float arithmetic on int8 (rule 5). */
typedef struct ccl_binary {
    float a_scale, b_scale, y_scale;
    int32_t a_zp, b_zp, y_zp, lo, hi;
} ccl_binary;

typedef struct ccl_scale {
    float scale;
    int32_t zp, lo, hi;
} ccl_scale;

/* Clamp of a requantization, packed: zp, lo, hi as signed bytes 0, 1, 2. */
#define CCL_CLAMP(zp, lo, hi)                                                                      \
    (((uint32_t)(zp) & 255u) | (((uint32_t)(lo) & 255u) << 8) | (((uint32_t)(hi) & 255u) << 16))
/* Two 16-bit operands in one register. */
#define CCL_PAIR(low, high) (((uint32_t)(low) & 0xffffu) | ((uint32_t)(high) << 16))

/* One function per instruction, ccl_<name>: parameters, meaning and cost are its line in isa/isa.def (cgc isa prints
 * them), bodies are iss/insns/<name>.h. */
#include "ccl_insn.h" /* generated from isa.def */

/* ccl_ptr: memory behind a machine address of OCM or DDR, for kernels of the scalar core. */
#if defined(__riscv)
static inline void *ccl_ptr(uint32_t address)
{
    return (void *)(uintptr_t)address;
}
#else
#include "ccl_epu_host.h"
#endif

#endif
