/* SPDX-License-Identifier: Apache-2.0
 * conv_guest.c - conv.c as a program of the simulator. */
#include <stdint.h>

uint32_t run_conv(void);

int main(void)
{
    return (int)run_conv();
}
