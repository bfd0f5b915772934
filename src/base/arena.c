/* SPDX-License-Identifier: Apache-2.0
 *
 * arena.c - memory that is freed all at once. Blocks come from malloc; a piece is 64-byte aligned
 * and zeroed. Running out of memory jumps to the innermost CGC_ENTER (ctx_nomem), so a returned
 * pointer is never NULL inside the API. Under AddressSanitizer whatever is not handed out is
 * poisoned, so that an overrun inside a block is found.
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 64, BLOCK_BYTES = 65536, LARGE_BYTES = 16384 };

struct arena_block {
    struct arena_block *next;
    unsigned char *data; /* first aligned byte */
    size_t used, size;   /* bytes from data */
};

void arena_init(arena *a, cgc_ctx *ctx)
{
    a->head = NULL;
    a->ctx = ctx;
}

static void free_block(struct arena_block *b)
{
    UNPOISON(b->data, b->size);
    free(b);
}

void arena_deinit(arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;
        free_block(a->head);
        a->head = next;
    }
}

void arena_reset(arena *a)
{
    struct arena_block *keep = NULL;
    while (a->head) {
        struct arena_block *b = a->head;
        a->head = b->next;
        if (!keep && b->size == BLOCK_BYTES)
            keep = b;
        else
            free_block(b);
    }
    if (keep) {
        keep->next = NULL;
        keep->used = 0;
        POISON(keep->data, keep->size);
        a->head = keep;
    }
}

/* A new block with size usable bytes, or NULL. Fresh pages of a large block are zero already. */
static struct arena_block *new_block(size_t size)
{
    size_t total;
    if (!add_size(size, sizeof(struct arena_block) + ALIGN, &total))
        return NULL;
    struct arena_block *b = calloc(1, total);
    if (!b)
        return NULL;
    uintptr_t first = (uintptr_t)(b + 1);
    b->data = (unsigned char *)(b + 1) + (ALIGN - first % ALIGN) % ALIGN;
    b->size = size;
    POISON(b->data, b->size);
    return b;
}

/* A large piece has a block of its own behind the head, which stays open for small ones. */
static void *alloc_large(arena *a, size_t size)
{
    struct arena_block *b = new_block(size);
    if (!b)
        return NULL;
    b->used = size;
    if (a->head) {
        b->next = a->head->next;
        a->head->next = b;
    } else {
        a->head = b;
    }
    return b->data;
}

static void *alloc_small(arena *a, size_t size)
{
    struct arena_block *b = a->head;
    if (!b || b->size - b->used < size) {
        b = new_block(BLOCK_BYTES);
        if (!b)
            return NULL;
        b->next = a->head;
        a->head = b;
    }
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

void *arena_alloc(arena *a, size_t bytes)
{
    cgc_ctx *ctx = a->ctx;
    void *p = NULL;
    size_t size;
    bool fail = ctx->fail_at != 0 && ++ctx->n_allocs == ctx->fail_at;
    if (!fail && add_size(bytes ? bytes : 1, ALIGN - 1, &size)) {
        size -= size % ALIGN;
        p = size > LARGE_BYTES ? alloc_large(a, size) : alloc_small(a, size);
    }
    if (!p) {
        ctx_nomem(ctx);
        return NULL;
    }
    UNPOISON(p, bytes);
    if (size <= LARGE_BYTES)
        memset(p, 0, bytes); /* a block kept by arena_reset is not zero any more */
    return p;
}

void *arena_array(arena *a, size_t count, size_t elem_bytes)
{
    size_t bytes;
    if (!mul_size(count, elem_bytes, &bytes)) {
        ctx_nomem(a->ctx);
        return NULL;
    }
    return arena_alloc(a, bytes);
}

char *arena_strndup(arena *a, const char *s, size_t n)
{
    size_t bytes;
    if (!add_size(n, 1, &bytes)) {
        ctx_nomem(a->ctx);
        return NULL;
    }
    char *copy = arena_alloc(a, bytes);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

char *arena_strdup(arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = arena_alloc(a, n > 0 ? (size_t)n + 1 : 1);
    if (n > 0)
        (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

void *arena_grow(arena *a, void *old, size_t *cap, size_t need, size_t elem_bytes)
{
    if (need <= *cap)
        return old;
    size_t new_cap = *cap ? *cap : 8;
    while (new_cap < need)
        new_cap = new_cap > SIZE_MAX / 2 ? need : new_cap * 2;
    void *p = arena_array(a, new_cap, elem_bytes);
    if (*cap)
        memcpy(p, old, *cap * elem_bytes);
    *cap = new_cap;
    return p;
}
