/* SPDX-License-Identifier: Apache-2.0
 *
 * test_passes.c - tests/passes/<pass>/<case>.ir: a graph, a line "---", and what the passes up to and including <pass>
 * make of it: the graph, its tables, notes or the error. A line "# constants: int8[8, 3, 3, 3], int32[8]" gives the
 * graph constants with values from a fixed pattern. `test_passes --update` rewrites the expectations.
 */
#include "check.h"
#include "passes/pass.h"

#include <dirent.h>
#include <stdlib.h>

enum { MAX_CONSTANTS = 8, MAX_FILES = 64, MAX_TEXT = 1 << 16, TABLE = 256 };

static cgc_ctx ctx;
static bool update;

/* ---- the constants line ---- */
/* Bytes of a fixed pattern; float32 constants are multiples of 1/8, int32 ones small. */
static void fill(ir_tensor *t, int32_t seed)
{
    const int64_t count = ir_type_elems(&t->type);
    for (int64_t i = 0; i < count; i++) {
        const int32_t v = (int32_t)((i * 37 + seed * 11) % 255) - 127;
        if (t->type.dtype == IR_int8)
            ((int8_t *)t->data)[i] = (int8_t)v;
        else if (t->type.dtype == IR_float32)
            ((float *)t->data)[i] = (float)v * 0.125f;
        else
            ((int32_t *)t->data)[i] = v * 10;
    }
}

static size_t read_constants(const char *text, ir_tensor *out)
{
    static const char mark[] = "# constants: ";
    const char *at = strstr(text, mark);
    size_t n = 0;
    for (at = at ? at + sizeof mark - 1 : NULL; at && *at && n < MAX_CONSTANTS;) {
        ir_tensor *t = &out[n];
        char name[16] = "";
        const size_t len = strcspn(at, "[");
        memcpy(name, at, len < 15 ? len : 15);
        *t = (ir_tensor){.type = {.dtype = IR_int8}};
        CHECK(ir_dtype_by_name(name, &t->type.dtype));
        for (at += len; *at == '[' || *at == ',';) {
            char *end;
            t->type.dims[t->type.rank++] = strtol(at + 1, &end, 10);
            at = end;
        }
        t->data = arena_alloc(&ctx.arena, ir_type_bytes(&t->type));
        fill(t, (int32_t)n++);
        at = at[1] == ',' ? at + 3 : NULL;
    }
    return n;
}

/* ---- what came out ---- */
static void put_table(str *s, const ir_value *v)
{
    const int8_t *t = v->data;
    bool clamps = true;
    for (int q = -128; q < 128; q++) {
        const int lo = t[0], hi = t[TABLE - 1];
        clamps = clamps && t[q + 128] == (q < lo ? lo : q > hi ? hi : q);
    }
    str_printf(s, "table %d: ", v->index);
    if (clamps)
        str_printf(s, "clamp(%d, %d)\n", t[0], t[TABLE - 1]);
    else
        str_printf(s, "-128: %d, -64: %d, 0: %d, 64: %d, 127: %d\n", t[0], t[64], t[128], t[192],
                   t[255]);
}

static void put_result(str *s, ir_graph *g, cgc_status status)
{
    if (status != CGC_OK) {
        str_printf(s, "%s\n", ctx.error.message);
        return;
    }
    ir_print(g, false, s);
    for (size_t i = 0; i < g->n_constants; i++) {
        const ir_type *t = &g->constants[i]->type;
        if (t->dtype == IR_int8 && t->rank == 1 && t->dims[0] == TABLE)
            put_table(s, g->constants[i]);
    }
    for (size_t i = 0; i < ctx.n_notes; i++)
        str_printf(s, "note: %s\n", ctx.notes[i]);
}

/* ---- one file ---- */
static void forget(void)
{
    arena_reset(&ctx.arena);
    ctx.error = (cgc_error){0};
    ctx.notes = NULL;
    ctx.n_notes = ctx.cap_notes = 0;
}

static void run_file(const char *path, const char *pass)
{
    static char text[MAX_TEXT];
    ir_tensor constants[MAX_CONSTANTS];
    FILE *f = fopen(path, "r");
    CHECK(f);
    if (!f)
        return;
    text[fread(text, 1, MAX_TEXT - 1, f)] = '\0';
    (void)fclose(f);
    char *split = strstr(text, "\n---\n"), *graph = strstr(text, "def @main");
    CHECK(split && graph && graph < split);
    if (!split || !graph)
        return;
    ir_graph *g = NULL;
    str found;
    const size_t n = read_constants(text, constants);
    cgc_status status = ir_parse(&ctx, graph, (size_t)(split + 1 - graph), constants, n, &g);
    if (status == CGC_OK)
        status = pass_run(g, pass);
    str_init(&found, &ctx.arena);
    put_result(&found, g, status);
    if (update) {
        f = fopen(path, "w");
        CHECK(f && fprintf(f, "%.*s\n---\n%s", (int)(split - text), text, found.data) > 0);
        if (f)
            (void)fclose(f);
    } else if (strcmp(found.data, split + 5) != 0) {
        printf("%s\n", path);
        CHECK_STR(found.data, split + 5);
    }
    ir_graph_free(g);
    forget();
}

/* ---- folders ---- */
static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Entries of a folder without hidden ones, sorted. */
static int list(const char *folder, char names[MAX_FILES][64])
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e && n < MAX_FILES; e = readdir(d))
        if (e->d_name[0] != '.')
            (void)snprintf(names[n++], 64, "%.60s", e->d_name);
    if (d)
        (void)closedir(d);
    if (n)
        qsort(names, (size_t)n, 64, compare);
    return n;
}

int main(int argc, char **argv)
{
    static char passes[MAX_FILES][64], cases[MAX_FILES][64];
    int files = 0;
    arena paths;
    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    const char *end = strstr(__FILE__, "unit/test_passes.c");
    if (!end)
        return 77; /* compiled without the path of its source */
    arena_init(&ctx.arena, &ctx);
    arena_init(&ctx.scratch, &ctx);
    arena_init(&paths, &ctx);
    ctx.dump = "";
    const char *root = arena_printf(&paths, "%.*spasses", (int)(end - __FILE__), __FILE__);
    const int n = list(root, passes);
    for (int i = 0; i < n; i++) {
        const char *folder = arena_printf(&paths, "%s/%s", root, passes[i]);
        const int m = list(folder, cases);
        for (int k = 0; k < m; k++, files++)
            run_file(arena_printf(&paths, "%s/%s", folder, cases[k]), passes[i]);
    }
    CHECK(files > 0);
    arena_deinit(&paths);
    arena_deinit(&ctx.arena);
    arena_deinit(&ctx.scratch);
    return check_done();
}
