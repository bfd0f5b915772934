/* SPDX-License-Identifier: Apache-2.0 */
/* Calls main and ends the simulation with its result. */
    .section .text.start, "ax"
    .globl _start
_start:
    lui sp, 0x81000
    call main
    li a7, 93
    ecall
    .size _start, . - _start
