/* SPDX-License-Identifier: Apache-2.0 */
/* Calls main on the stack that the loader gives and ends the program with its result. */
    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    call main
    li a7, 93
    ecall
    .size _start, . - _start
