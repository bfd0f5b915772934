/* SPDX-License-Identifier: Apache-2.0
 *
 * supported.h - can this CPU, under this operating system, run the AVX-512 VNNI kernels? CPUID
 * itself is asked, because __builtin_cpu_supports says no under compilers whose runtime library
 * never fills its table (zig cc).
 */
#ifndef CCL_X86_AVX512VNNI_SUPPORTED_H
#define CCL_X86_AVX512VNNI_SUPPORTED_H

#include <cpuid.h>

static inline int ccl_has_avx512vnni(void)
{
    const unsigned f_bw_vl = 1u << 16 | 1u << 30 | 1u << 31, fma = 1u << 12, osxsave = 1u << 27,
                   vnni = 1u << 11;
    const unsigned states = 0xe6; /* SSE, AVX and the three of AVX-512 are saved by the system */
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (osxsave | fma)) != (osxsave | fma))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & states) != states || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    return (b & f_bw_vl) == f_bw_vl && (c & vnni) != 0;
}

#endif
