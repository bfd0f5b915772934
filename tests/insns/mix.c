/* SPDX-License-Identifier: Apache-2.0
 *
 * mix.c - a guest program of ordinary C: sorting, CRC, primes, 64-bit arithmetic, float loops, calls through pointers.
 * main returns a hash of everything, the same on any machine with IEEE float32 and no contraction.
 */
#include <stdint.h>

enum { N = 2000 };

static uint32_t hash = 2166136261u;
static uint32_t state = 1;
static int32_t numbers[N];
static uint8_t sieve[20000];
static float matrix[3][24][24];

static void mix(uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ (v & 255u)) * 16777619u;
        v >>= 8;
    }
}

static void mix_float(float f)
{
    union {
        float f;
        uint32_t u;
    } v = {f};
    mix(v.u);
}

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 7;
}

static int by_value(int32_t a, int32_t b)
{
    return a < b;
}

static int by_digits(int32_t a, int32_t b)
{
    return a % 1000 < b % 1000 || (a % 1000 == b % 1000 && a < b);
}

static void sort(int32_t *v, int n, int (*before)(int32_t a, int32_t b))
{
    for (int gap = n / 2; gap > 0; gap /= 2)
        for (int i = gap; i < n; i++)
            for (int k = i; k >= gap && before(v[k], v[k - gap]); k -= gap) {
                const int32_t t = v[k];
                v[k] = v[k - gap];
                v[k - gap] = t;
            }
}

static void integers(void)
{
    for (int i = 0; i < N; i++)
        numbers[i] = (int32_t)next() - 10000000;
    sort(numbers, N, by_value);
    for (int i = 0; i < N; i += 7)
        mix((uint32_t)numbers[i]);
    sort(numbers, N, by_digits);
    for (int i = 0; i < N; i += 7)
        mix((uint32_t)(numbers[i] / (1 + (int32_t)(next() & 63u))));
    for (uint32_t i = 2; i < sizeof sieve; i++)
        for (uint32_t k = 2 * i; !sieve[i] && k < sizeof sieve; k += i)
            sieve[k] = 1;
    uint32_t primes = 0, crc = ~0u;
    for (uint32_t i = 2; i < sizeof sieve; i++) {
        primes += !sieve[i];
        crc ^= sieve[i];
        for (int b = 0; b < 8; b++)
            crc = crc >> 1 ^ (crc & 1u ? 0xedb88320u : 0u);
    }
    mix(primes);
    mix(crc);
    int64_t wide = 1;
    for (int i = 1; i < 300; i++) {
        wide = wide * (int64_t)(next() | 1u) + i;
        wide ^= wide >> 17;
        mix((uint32_t)(wide / (int64_t)(i * 1000003) >> 3));
        mix((uint32_t)((uint64_t)wide % (uint32_t)(i + 12345)));
    }
}

static void floats(void)
{
    float sum = 0.0f, product = 1.0f;
    for (int a = 0; a < 2; a++)
        for (int i = 0; i < 24 * 24; i++)
            matrix[a][i / 24][i % 24] = (float)((int32_t)(next() & 0xffffu) - 32768) / 777.0f;
    for (int i = 0; i < 24; i++)
        for (int k = 0; k < 24; k++)
            for (int j = 0; j < 24; j++)
                matrix[2][i][j] += matrix[0][i][k] * matrix[1][k][j];
    for (int i = 0; i < 24 * 24; i++)
        mix_float(matrix[2][i / 24][i % 24]);
    for (int i = 1; i < 3000; i++) {
        sum += 1.0f / (float)i;
        product = product * 1.01f > 1e30f ? 1e-30f : product * 1.01f;
        const float x = (float)(int32_t)(next() - 16000000u) * 0.37f;
        mix((uint32_t)(int32_t)x);
        mix((uint32_t)(x > sum) + 2 * (uint32_t)(x <= product) + 4 * (uint32_t)(x == x));
        mix_float(__builtin_sqrtf(x < 0 ? -x : x));
        mix_float((float)(uint32_t)(next() * 977u));
    }
    mix_float(sum);
    mix_float(product);
}

int main(void)
{
    integers();
    floats();
#ifdef HASH_SHIFT /* for referees that hand on eight bits of the result */
    return (int)(hash >> HASH_SHIFT & 255u);
#else
    return (int)hash;
#endif
}
