/* SPDX-License-Identifier: Apache-2.0
 *
 * program.c - opens an emitted tree: manifest.json (docs/program.md) -> cgc_program. Every field is checked
 * here, so that the runners can trust names, types, places and addresses; what a manifest may leave out gets
 * its documented default.
 */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

enum { MANIFEST_MAX_BYTES = 64 << 20, MAX_PORTS = 1024, MAX_LAYERS = 1 << 20, MAX_VARIANTS = 16 };

typedef struct reader {
    cgc_program *p;
    const char *path; /* of the manifest */
    const char *part; /* what is being read, for messages */
} reader;

static cgc_status malformed(const reader *r, const char *key, const char *found, const char *wanted)
{
    return diag(
        r->p->ctx, CGC_E_FORMAT,
        (diag_info){
            .setting = key, .found = found, .wanted = wanted, .cure = "compile the model again"},
        "%s in '%s' is malformed", r->part, r->path);
}

static const char *kind_word(const json *j)
{
    static const char *const words[] = {"null",     "a boolean", "a number",
                                        "a string", "a list",    "an object"};
    return j ? words[j->kind] : "nothing";
}

static cgc_status get(const reader *r, const json *o, const char *key, json_kind kind,
                      const json **out)
{
    static const char *const words[] = {"null",     "a boolean", "a number",
                                        "a string", "a list",    "an object"};
    *out = json_get(o, key);
    if (!*out || (*out)->kind != kind)
        return malformed(r, key, kind_word(*out), words[kind]);
    return CGC_OK;
}

static cgc_status get_string(const reader *r, const json *o, const char *key, const char **out)
{
    const json *j;
    TRY(get(r, o, key, JSON_STRING, &j));
    *out = arena_strdup(&r->p->arena, j->string);
    return CGC_OK;
}

static const char *optional_string(const reader *r, const json *o, const char *key)
{
    const json *j = json_get(o, key);
    return j && j->kind == JSON_STRING ? arena_strdup(&r->p->arena, j->string) : "";
}

static cgc_status to_integer(const reader *r, const json *j, const char *key, double lo, double hi,
                             int64_t *out)
{
    if (!j || j->kind != JSON_NUMBER)
        return malformed(r, key, kind_word(j), "a number");
    bool fits = j->number >= lo && j->number <= hi; /* false for NaN */
    if (!fits || j->number != (double)(int64_t)j->number)
        return malformed(r, key, "a number out of range", "an integer in range");
    *out = (int64_t)j->number;
    return CGC_OK;
}

static cgc_status get_integer(const reader *r, const json *o, const char *key, double lo, double hi,
                              int64_t *out)
{
    return to_integer(r, json_get(o, key), key, lo, hi, out);
}

static cgc_status get_address(const reader *r, const json *o, const char *key, uint32_t *out)
{
    int64_t v = 0;
    TRY(get_integer(r, o, key, 0, UINT32_MAX, &v));
    *out = (uint32_t)v;
    return CGC_OK;
}

static cgc_status read_type(const reader *r, const json *o, ir_type *out)
{
    const json *dtype, *shape;
    TRY(get(r, o, "dtype", JSON_STRING, &dtype));
    TRY(get(r, o, "shape", JSON_ARRAY, &shape));
    memset(out, 0, sizeof *out);
    int32_t d = 0;
    while (d < IR_DTYPE_COUNT && strcmp(ir_dtype_name((ir_dtype)d), dtype->string) != 0)
        d++;
    if (d == IR_DTYPE_COUNT)
        return malformed(r, "dtype", dtype->string, "an element type");
    out->dtype = (ir_dtype)d;
    if (shape->count > IR_MAX_RANK)
        return malformed(r, "shape", "too many dims", "at most 8");
    size_t bytes = ir_dtype_bytes(out->dtype);
    for (const json *j = shape->child; j; j = j->next) {
        int64_t dim = 0;
        TRY(to_integer(r, j, "shape", 0, INT32_MAX, &dim));
        out->dims[out->rank++] = dim;
        if (!mul_size(bytes, (size_t)dim, &bytes) || bytes > INT32_MAX)
            return malformed(r, "shape", "a tensor of 2 GB or more", "less");
    }
    return CGC_OK;
}

static cgc_status read_ports(reader *r, const json *root, const char *key, run_port **out,
                             int32_t *out_n)
{
    const json *list;
    r->part = key;
    TRY(get(r, root, key, JSON_ARRAY, &list));
    if (list->count > MAX_PORTS)
        return malformed(r, key, "too many", "at most 1024");
    *out_n = list->count;
    *out = arena_array(&r->p->arena, (size_t)list->count, sizeof **out);
    run_port *port = *out;
    for (const json *j = list->child; j; j = j->next, port++) {
        TRY(get_string(r, j, "name", &port->name));
        TRY(read_type(r, j, &port->type));
        TRY(get_address(r, j, "ddr", &port->ddr));
    }
    return CGC_OK;
}

/* Layout fields, the same for both targets; a missing target leaves place->present false. */
static cgc_status read_place(const reader *r, const json *o, const ir_type *type, run_place *place)
{
    const char *layout;
    TRY(get_string(r, o, "layout", &layout));
    place->present = true;
    place->nhwc = strcmp(layout, "nhwc") == 0;
    if (!place->nhwc && strcmp(layout, "plain") != 0)
        return malformed(r, "layout", layout, "plain or nhwc");
    if (!place->nhwc)
        return CGC_OK;
    if (type->rank != 4)
        return malformed(r, "layout", "nhwc", "plain, as the rank is not 4");
    const json *border = json_get(o, "border");
    int32_t i = 0;
    for (const json *j = border && border->kind == JSON_ARRAY ? border->child : NULL; j && i < 4;
         j = j->next) {
        int64_t b = 0;
        TRY(to_integer(r, j, "border", 0, 65535, &b));
        place->border[i++] = (int32_t)b;
    }
    int64_t elem = (int64_t)ir_dtype_bytes(type->dtype), least = type->dims[1] * elem;
    place->pixel_bytes = least;
    if (json_get(o, "pixel_bytes"))
        TRY(get_integer(r, o, "pixel_bytes", (double)least, INT32_MAX, &place->pixel_bytes));
    least = (type->dims[3] + place->border[1] + place->border[3]) * place->pixel_bytes;
    place->row_bytes = least;
    if (json_get(o, "row_bytes"))
        TRY(get_integer(r, o, "row_bytes", (double)least, INT32_MAX, &place->row_bytes));
    size_t rows = (size_t)(type->dims[2] + place->border[0] + place->border[2]), bytes;
    if (!mul_size(rows, (size_t)place->row_bytes, &bytes) ||
        !mul_size(bytes, (size_t)type->dims[0], &bytes) || bytes > INT32_MAX)
        return malformed(r, "row_bytes", "a buffer of 2 GB or more", "less");
    return CGC_OK;
}

static cgc_status read_layer(reader *r, const json *j, int32_t id, run_layer *l)
{
    int64_t v = 0;
    r->part = "layers";
    TRY(get_integer(r, j, "id", id, id, &v));
    l->id = id;
    TRY(get_string(r, j, "name", &l->name));
    TRY(get_string(r, j, "op", &l->op));
    l->value = optional_string(r, j, "value");
    TRY(read_type(r, j, &l->type));
    TRY(get_integer(r, j, "macs", 0, 9e15, &l->macs));
    l->kernel = l->mapping = l->unit = l->reason = l->text = "";
    const json *host = json_get(j, "host"), *epu = json_get(j, "epu");
    if (host && host->kind == JSON_OBJECT) {
        TRY(read_place(r, host, &l->type, &l->host));
        l->kernel = optional_string(r, host, "kernel");
    }
    if (epu && epu->kind == JSON_OBJECT) {
        TRY(read_place(r, epu, &l->type, &l->epu));
        TRY(get_address(r, epu, "address", &l->epu.address));
        l->mapping = optional_string(r, epu, "mapping");
        l->unit = optional_string(r, epu, "unit");
        l->reason = optional_string(r, epu, "reason");
        l->text = optional_string(r, epu, "text");
    }
    return CGC_OK;
}

static cgc_status read_layers(reader *r, const json *root)
{
    cgc_program *p = r->p;
    const json *list;
    r->part = "layers";
    TRY(get(r, root, "layers", JSON_ARRAY, &list));
    if (list->count > MAX_LAYERS)
        return malformed(r, "layers", "too many", "at most 1048576");
    p->n_layers = list->count;
    p->layers = arena_array(&p->arena, (size_t)list->count, sizeof *p->layers);
    int32_t id = 1;
    for (const json *j = list->child; j; j = j->next, id++)
        TRY(read_layer(r, j, id, &p->layers[id - 1]));
    return CGC_OK;
}

static cgc_status read_hw(reader *r, const json *root)
{
    const json *hw;
    cgc_program *p = r->p;
    r->part = "hw";
    TRY(get(r, root, "hw", JSON_OBJECT, &hw));
    hw_init(&p->hw, p->ctx);
    int64_t v = 0;
#define PARAM(name, type, def, lo, hi, unit, meaning)                                              \
    if (json_get(hw, #name)) {                                                                     \
        TRY(get_integer(r, hw, #name, lo, hi, &v));                                                \
        p->hw.name = (type)v;                                                                      \
    }
#include "hwconfig.def"
#undef PARAM
    return hw_check(p->ctx, &p->hw);
}

/* Variant name in "<module>_host_<variant>.c", else NULL. */
static const char *variant_of(cgc_program *p, const char *file)
{
    const char *prefix = arena_printf(&p->work, "%s_host_", p->module);
    size_t n = strlen(prefix), k = strlen(file);
    if (strncmp(file, prefix, n) != 0 || k < n + 3 || strcmp(file + k - 2, ".c") != 0)
        return NULL;
    return arena_strndup(&p->arena, file + n, k - n - 2);
}

/* "ref", then the variants whose sources are in the tree, by name. */
static void find_variants(cgc_program *p)
{
    p->variants = arena_array(&p->arena, MAX_VARIANTS, sizeof *p->variants);
    p->variants[p->n_variants++] = "ref";
    size_t n;
    const char **files = dir_list(&p->work, p->source_path, &n);
    for (size_t i = 0; i < n && p->n_variants < MAX_VARIANTS; i++) {
        const char *name = variant_of(p, files[i]);
        if (name)
            p->variants[p->n_variants++] = name;
    }
}

static cgc_status read_manifest(cgc_program *p, const char *path, arena *a)
{
    char *text;
    size_t bytes;
    json *root;
    reader r = {p, path, "manifest"};
    TRY(file_read(p->ctx, a, path, MANIFEST_MAX_BYTES, &text, &bytes));
    TRY(json_parse(p->ctx, a, text, bytes, &root));
    int64_t v = 0;
    if (root->kind != JSON_OBJECT)
        return malformed(&r, "", kind_word(root), "an object");
    TRY(get_integer(&r, root, "format", 1, 1, &v));
    TRY(get_string(&r, root, "module", &p->module));
    TRY(read_hw(&r, root));
    TRY(read_ports(&r, root, "inputs", &p->inputs, &p->n_inputs));
    TRY(read_ports(&r, root, "outputs", &p->outputs, &p->n_outputs));
    r.part = "manifest";
    TRY(get_address(&r, root, "weights_ddr", &p->weights_ddr));
    TRY(get_integer(&r, root, "weights_bytes", 0, UINT32_MAX, &v));
    p->weights_bytes = (size_t)v;
    TRY(get_integer(&r, root, "ddr_bytes", 0, UINT32_MAX, &v));
    p->ddr_bytes = (uint64_t)v;
    find_variants(p);
    return read_layers(&r, root);
}

static cgc_status open_inner(cgc_program *p, const char *source_path)
{
    CGC_ENTER(p->ctx, CGC_E_NOMEM);
    size_t n = strlen(source_path);
    while (n > 1 && source_path[n - 1] == '/')
        n--;
    p->source_path = arena_strndup(&p->arena, source_path, n);
    p->build_path = arena_printf(&p->arena, "%s/build", p->source_path);
    const char *path = arena_printf(&p->arena, "%s/manifest.json", p->source_path);
    p->manifest = run_stamp_of(path);
    cgc_status s = read_manifest(p, path, &p->work);
    for (int32_t i = 0; i < RUN_KINDS; i++)
        p->settings[i] = (run_settings){"", ""};
    CGC_LEAVE(p->ctx);
    return s;
}

cgc_status run_open(cgc_ctx *ctx, const char *source_path, cgc_program **out)
{
    *out = NULL;
    cgc_program *p = calloc(1, sizeof *p);
    if (!p)
        return diag(ctx, CGC_E_NOMEM, (diag_info){0}, "out of memory");
    p->ctx = ctx;
    arena_init(&p->arena, ctx);
    arena_init(&p->result, ctx);
    arena_init(&p->text_arena, ctx);
    arena_init(&p->proof, ctx);
    arena_init(&p->tensors, ctx);
    arena_init(&p->work, ctx);
    p->text = "";
    cgc_status s = open_inner(p, source_path);
    if (s != CGC_OK) {
        run_close(p);
        return s;
    }
    *out = p;
    return CGC_OK;
}

void run_close(cgc_program *p)
{
    if (!p)
        return;
    for (int32_t i = 0; i < RUN_KINDS; i++)
        run_product_drop(&p->products[i]);
    iss_free(p->machine);
    cgc_graph_free(p->lowered);
    arena_deinit(&p->result);
    arena_deinit(&p->text_arena);
    arena_deinit(&p->proof);
    arena_deinit(&p->tensors);
    arena_deinit(&p->work);
    arena_deinit(&p->arena);
    free(p);
}
