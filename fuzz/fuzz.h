/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz.h - what the fuzz targets share. Each fuzz_<reader>.c gives LLVMFuzzerTestOneInput: with
 * clang's libFuzzer it searches, with replay.c it runs the files of fuzz/corpus/<reader> once
 * (ctest). A broken promise traps.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond))                                                                               \
            __builtin_trap();                                                                      \
    } while (0)

#endif
