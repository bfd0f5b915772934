/* SPDX-License-Identifier: Apache-2.0
 *
 * base.h - what every folder may use: status codes, arenas, growable strings, diagnostics.
 * Knows nothing of graphs. Out of memory is the only non-local exit: arena_alloc jumps to the
 * innermost CGC_ENTER of the public call, which returns CGC_E_NOMEM; inner code has no NULL checks.
 */
#ifndef CGC_BASE_H
#define CGC_BASE_H

#include "cgc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cgc_status_code {
#define STATUS(code, text) CGC_E_##code,
#include "base/status.def"
#undef STATUS
    CGC_STATUS_COUNT
};
#define CGC_OK CGC_E_OK

/* Returns early with any failure. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        cgc_status try_status_ = (expr);                                                           \
        if (try_status_ != CGC_OK)                                                                 \
            return try_status_;                                                                    \
    } while (0)

#if defined(__GNUC__)
#define CGC_MUST_USE __attribute__((warn_unused_result))
#define CGC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CGC_MUST_USE
#define CGC_PRINTF(fmt, args)
#endif

/* ---- arena: everything in it is freed at once; memory is zeroed ---- */
typedef struct arena {
    struct arena_block *head;
    cgc_ctx *ctx; /* whose CGC_ENTER is jumped to when memory runs out */
} arena;
void arena_init(arena *a, cgc_ctx *ctx);
void arena_deinit(arena *a);
void *arena_alloc(arena *a, size_t bytes);                    /* 64-byte aligned, zeroed */
void *arena_array(arena *a, size_t count, size_t elem_bytes); /* overflow-checked */
/* Forgets everything but keeps one block for reuse. */
void arena_reset(arena *a);
char *arena_strdup(arena *a, const char *s);
char *arena_strndup(arena *a, const char *s, size_t n);
char *arena_printf(arena *a, const char *fmt, ...) CGC_PRINTF(2, 3);
/* Grows an array made of elem_bytes elements to hold at least need; *cap is updated. Old
 * contents are copied; the old block stays in the arena. */
void *arena_grow(arena *a, void *old, size_t *cap, size_t need, size_t elem_bytes);

/* ---- growable text in an arena ---- */
typedef struct str {
    arena *a;
    char *data; /* always NUL-terminated; "" before the first append */
    size_t len, cap;
} str;
void str_init(str *s, arena *a);
void str_put(str *s, const char *text);
void str_putn(str *s, const char *text, size_t n);
/* In quotes and escaped; a control character becomes a backslash, `control` and two hexadecimal
 * digits. */
void str_put_quoted(str *s, const char *text, const char *control);
void str_printf(str *s, const char *fmt, ...) CGC_PRINTF(2, 3);
/* Shortest decimal that reads back to the same float32, without suffix ("0.0244795", "1e-05");
 * independent of the locale. */
void str_put_f32(str *s, float value);
/* Parses a decimal float (locale-free, correctly rounded to float32). Returns characters used,
 * 0 if none. */
size_t parse_f32(const char *text, float *out_value);
/* The same for float64 (JSON numbers). */
size_t parse_f64(const char *text, double *out_value);
/* Parses a decimal int64 in range. Returns characters used, 0 if none or out of range. */
size_t parse_i64(const char *text, int64_t *out_value);

/* "1 tile", "3 tiles". */
const char *text_count(arena *a, int64_t n, const char *thing);
/* The one of n names that is most like name, for "did you mean": NULL if none is (a third of the
 * letters or more would have to change). */
const char *text_nearest(const char *name, const char *const *names, size_t n);
/* Letters to change, add or drop between two words; only the first 64 of each count. */
int text_distance(const char *a, const char *b);

/* Well-formed UTF-8 without NUL. */
bool utf8_valid(const char *text, size_t n);

/* ---- checked sizes ---- */
CGC_MUST_USE bool mul_size(size_t a, size_t b, size_t *out);
CGC_MUST_USE bool add_size(size_t a, size_t b, size_t *out);

/* ---- diagnostics ---- */
/* Where and what; every field may be NULL. Text of a message:
 *   error[E_FIT] layer 'layer4.0.conv1' (contrib.epu.qlinear_conv2d): <what>; found <found>, wanted
 *   <wanted>
 *     cure: <cure>
 */
typedef struct diag_info {
    const char *layer, *op, *setting, *found, *wanted, *cure;
} diag_info;
/* Records the first failure of the context and returns code. fmt is the sentence <what>. */
cgc_status diag(cgc_ctx *ctx, enum cgc_status_code code, diag_info info, const char *fmt, ...)
    CGC_PRINTF(4, 5);
/* A sentence for the report (nothing is silent). With option strict it is a failure
 * CGC_E_STRICT. */
CGC_MUST_USE cgc_status note(cgc_ctx *ctx, diag_info info, const char *fmt, ...) CGC_PRINTF(3, 4);
/* Appends one line to the recorded failure's message on the way up ("  at: line 3, column 8"). */
void diag_append(cgc_ctx *ctx, const char *fmt, ...) CGC_PRINTF(2, 3);
/* Only with option verbose or dump. */
void log_line(cgc_ctx *ctx, const char *fmt, ...) CGC_PRINTF(2, 3);

/* What to release when memory runs out in the middle of a public call: embedded in objects that
 * own heap memory (a graph, a program). Guards of a call are dropped when it leaves in the
 * normal way. */
typedef struct guard {
    struct guard *next;
    void (*release)(void *object); /* NULL: not registered, and then the context is not looked at */
    void *object;
} guard;
void guard_push(cgc_ctx *ctx, guard *g, void (*release)(void *object), void *object);
void guard_drop(cgc_ctx *ctx, guard *g); /* fine if it is not there (any more) */

/* A working arena on the stack of a function: released in every case. */
typedef struct arena_guard {
    arena arena;
    guard guard;
} arena_guard;
void arena_guard_init(arena_guard *a, cgc_ctx *ctx);
void arena_guard_deinit(arena_guard *a);

struct cgc_ctx {
    arena arena;   /* strings and diagnostics */
    arena scratch; /* reset by whoever needs a fresh one; never holds results */
    bool strict, verbose;
    bool quiet;       /* passes leave no notes: the interpreter's own lowering of a graph */
    const char *dump; /* pass names, "" none */
    cgc_error error;  /* code 0: none */
    const char **notes;
    size_t n_notes, cap_notes;
    struct ctx_entry *entry; /* innermost CGC_ENTER, NULL outside the API */
    guard *guards;           /* of the calls in progress, newest first */
    /* Test hook: the n-th allocation fails (0 = never). */
    size_t fail_at, n_allocs;
};
const char *status_id(cgc_status code); /* "E_SHAPE" */
const char *status_text(cgc_status code);
void scratch_reset(cgc_ctx *ctx);

/* First statement of a public function that may allocate; NOMEM_VALUE is returned when memory
 * runs out. Pair with CGC_LEAVE before every return (or use the wrapper pattern: public function
 * enters, calls one static function, leaves). */
#define CGC_ENTER(ctx, nomem_value)                                                                \
    ctx_entry cgc_entry_;                                                                          \
    ctx_enter((ctx), &cgc_entry_);                                                                 \
    if (setjmp(cgc_entry_.buf)) {                                                                  \
        ctx_leave((ctx), &cgc_entry_);                                                             \
        return (nomem_value);                                                                      \
    }
#define CGC_LEAVE(ctx) ctx_leave((ctx), &cgc_entry_)
typedef struct ctx_entry {
    jmp_buf buf;
    struct ctx_entry *outer;
    guard *guards; /* those of outer calls */
} ctx_entry;
void ctx_enter(cgc_ctx *ctx, ctx_entry *entry);
void ctx_leave(cgc_ctx *ctx, ctx_entry *entry);
/* Releases what was guarded since the innermost CGC_ENTER, records CGC_E_NOMEM and jumps there;
 * returns only when there is none. */
void ctx_nomem(cgc_ctx *ctx);

/* ---- files: the only place that opens one ---- */
/* Whole file into the arena, NUL-terminated; CGC_E_FILE or CGC_E_LIMIT (max_bytes) with the
 * path. */
cgc_status file_read(cgc_ctx *ctx, arena *a, const char *path, size_t max_bytes, char **out_data,
                     size_t *out_bytes);
/* Writes to a temporary name beside path, fsyncs and renames. */
cgc_status file_write(cgc_ctx *ctx, const char *path, const void *data, size_t bytes);
cgc_status dir_make(cgc_ctx *ctx, const char *path);   /* mkdir -p */
cgc_status dir_remove(cgc_ctx *ctx, const char *path); /* rm -r; fine if absent */
/* A new folder "<folder>/<prefix><pid>_<n>" of the caller's own; removes those that processes which
 * no longer run have left. */
cgc_status dir_make_temp(cgc_ctx *ctx, const char *folder, const char *prefix, const char **out);
/* Renames over an old tree: in one step where the system can, else there is a moment without a
 * tree. */
cgc_status dir_replace(cgc_ctx *ctx, const char *from, const char *to);
/* Names in a folder but . and .., sorted; none if it cannot be read. */
const char **dir_list(arena *a, const char *path, size_t *out_count);
bool path_exists(const char *path);
bool path_is_folder(const char *path);

/* ---- JSON: strict reader with depth and size limits, for HWConfig, manifests and safetensors
 * headers ---- */
typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;
typedef struct json {
    json_kind kind;
    const char *key; /* in an object */
    bool boolean;
    double number;
    const char *string;
    struct json *child; /* first of array or object */
    struct json *next;
    int32_t count; /* of children */
} json;
cgc_status json_parse(cgc_ctx *ctx, arena *a, const char *text, size_t bytes, json **out);
const json *json_get(const json *object, const char *key); /* NULL if absent */
void json_put_string(str *s, const char *text);            /* quoted and escaped */

/* ---- hardware description, fields from isa/hwconfig.def ---- */
struct cgc_hw {
    cgc_ctx *ctx;
#define PARAM(name, type, def, lo, hi, unit, meaning) type name;
#include "hwconfig.def"
#undef PARAM
};
void hw_init(cgc_hw *hw, cgc_ctx *ctx); /* defaults */
/* CGC_E_TARGET naming the parameter, its value and its range, also for combinations that make no
 * sense. */
cgc_status hw_check(cgc_ctx *ctx, const cgc_hw *hw);
static inline int32_t hw_pes(const cgc_hw *hw)
{
    return hw->array_size * hw->array_size;
}

#endif
