/* SPDX-License-Identifier: Apache-2.0
 *
 * ccl_epu_host.h - the array in plain C, for running an EPU program natively. One array at a time, used by one
 * thread. OCM, DDR and the array's own memory belong to the caller. A fault (address outside memory, unusable
 * operand, a wait that no earlier post satisfies) makes every later instruction do nothing and is returned by
 * ccl_epu_close; values never depend on time, which does not exist here (ccl_cycles gives 0).
 */
#ifndef CCL_EPU_HOST_H
#define CCL_EPU_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ccl_epu_config {
    int32_t array_size, macs_per_pe, lrm_size, num_acc; /* ranges: isa/hwconfig.def */
    void *ocm, *ddr; /* what CCL_OCM_BASE and CCL_DDR_BASE stand for */
    uint32_t ocm_bytes, ddr_bytes;
} ccl_epu_config;

/* Bytes of the array's own memory (LRM, accumulators, window buffer); 0 if the geometry is unusable. */
size_t ccl_epu_bytes(const ccl_epu_config *config);
/* memory: ccl_epu_bytes, 8-byte aligned; becomes all zero. Returns 0, or 1 if the geometry is unusable. */
int ccl_epu_open(const ccl_epu_config *config, void *memory);
/* 0, or 1 after a fault; out_text (may be NULL) gets a sentence, "" without fault. */
int ccl_epu_close(const char **out_text);
/* fn is called at each ccl_mark with the layer that ends there (not for layer 0), and at close. NULL: none.
 * Set after ccl_epu_open. */
typedef void (*ccl_epu_trace)(void *ud, int layer);
void ccl_epu_set_trace(ccl_epu_trace fn, void *ud);
/* NULL and a fault if the address is in neither memory. */
void *ccl_ptr(uint32_t address);

#ifdef __cplusplus
}
#endif
#endif
