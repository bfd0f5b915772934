/* SPDX-License-Identifier: Apache-2.0
 * conv_host.c - conv.c on the host body of the array; prints its hash, or what went wrong. */
#include "ccl_epu.h"

#include <stdio.h>
#include <stdlib.h>

uint32_t run_conv(void);

int main(void)
{
    static uint8_t ocm[65536], ddr[65536];
    const ccl_epu_config config = {4, 8, 1024, 16, ocm, ddr, sizeof ocm, sizeof ddr};
    const char *text;
    void *memory = malloc(ccl_epu_bytes(&config));
    if (!memory || ccl_epu_open(&config, memory) != 0)
        return 1;
    const unsigned long hash = run_conv();
    if (ccl_epu_close(&text) != 0)
        printf("%s\n", text);
    else
        printf("%lu\n", hash);
    free(memory);
    return 0;
}
