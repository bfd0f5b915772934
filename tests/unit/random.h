/* SPDX-License-Identifier: Apache-2.0
 *
 * random.h - repeatable random data for tests: a fixed seed, and arrays that free_all releases
 * together.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static void *random_arrays[256];
static int random_count;

static inline uint32_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static inline int random_int(int lo, int hi)
{
    return lo + (int)(random_bits() % (uint32_t)(hi - lo + 1));
}

static inline float random_float(float lo, float hi)
{
    return lo + (hi - lo) * ((float)(random_bits() >> 8) * 5.9604645e-08f);
}

/* Log-uniform between 0.0005 and about 0.5. */
static inline float random_scale(void)
{
    float s = random_float(0.0005f, 0.001f);
    for (int n = random_int(0, 9); n > 0; n--)
        s *= 2.0f;
    return s;
}

static inline void *random_array(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p || random_count == 256)
        abort();
    random_arrays[random_count++] = p;
    return p;
}

/* extreme: only -128 and 127. */
static inline int8_t *random_bytes(int count, bool extreme)
{
    int8_t *p = random_array((size_t)count);
    for (int i = 0; i < count; i++)
        p[i] = (int8_t)(extreme ? (random_bits() & 1 ? 127 : -128) : random_int(-128, 127));
    return p;
}

static inline int32_t *random_ints(int count, int lo, int hi)
{
    int32_t *p = random_array((size_t)count * sizeof *p);
    for (int i = 0; i < count; i++)
        p[i] = random_int(lo, hi);
    return p;
}

static inline float *random_floats(int count, float lo, float hi)
{
    float *p = random_array((size_t)count * sizeof *p);
    for (int i = 0; i < count; i++)
        p[i] = random_float(lo, hi);
    return p;
}

static inline void free_all(void)
{
    while (random_count)
        free(random_arrays[--random_count]);
}

#endif
