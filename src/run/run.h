/* SPDX-License-Identifier: Apache-2.0
 *
 * run.h - an emitted tree as something that runs: the manifest read into structs, products of build.sh, the three
 * runners (host, EPU text on the host, simulator), values layer by layer, prove and reports.
 * Files are described in docs/program.md.
 */
#ifndef CGC_RUN_H
#define CGC_RUN_H

#include "interp/interp.h"
#include "iss.h"

/* A graph input or output of the program. */
typedef struct run_port {
    const char *name;
    ir_type type;
    uint32_t ddr; /* machine address of its row-major bytes */
} run_port;

/* How a layer's output lies in memory. */
typedef struct run_place {
    bool present;
    bool nhwc;         /* else row-major */
    int32_t border[4]; /* top, left, bottom, right; NHWC only */
    int64_t pixel_bytes, row_bytes;
    uint32_t address; /* EPU: machine address of the buffer */
} run_place;

typedef struct run_layer {
    int32_t id; /* of the mark; from 1 */
    const char *name, *op;
    const char *value; /* "%3" of the lowered graph; "" for a relayout */
    ir_type type;
    int64_t macs;
    run_place host, epu;
    const char *kernel;                         /* host */
    const char *mapping, *unit, *reason, *text; /* EPU */
} run_layer;

/* The table that a shared product exports through ccl_program_get (docs/program.md). */
typedef void (*run_trace_fn)(void *ud, int layer, const void *data);
typedef struct run_entry {
    size_t (*arena_bytes)(void);
    size_t (*weights_bytes)(void);
    int (*run)(const void *weights, void *arena, const void *const *inputs, void *const *outputs,
               const char *variant, run_trace_fn trace, void *ud);
} run_entry;

/* Which file a path named at some time: another one, or a changed one, compares unequal. */
typedef struct run_stamp {
    long long device, inode, sec, nsec; /* sec 0: no such file */
} run_stamp;

typedef enum run_kind { RUN_HOST, RUN_EPU_HOST, RUN_ISS, RUN_KINDS } run_kind;

/* One loaded product, kept between runs until it is built again. */
typedef struct run_product {
    bool traced;
    void *library;          /* dlopen handle (host kinds) */
    const run_entry *entry; /* host kinds */
    char *image;            /* ELF (simulator) */
    size_t image_bytes;
    char *weights;
    size_t weights_bytes;
    void *memory; /* arena of the host kinds */
    arena arena;  /* holds image, weights and memory; initialised when loaded */
    bool loaded;
} run_product;

/* Settings of the last cgc_program_build of each kind; empty strings mean the defaults. */
typedef struct run_settings {
    const char *cc, *flags;
} run_settings;

struct cgc_program {
    cgc_ctx *ctx;
    arena arena;
    const char *module, *source_path, *build_path;
    run_stamp manifest; /* when it was opened */
    cgc_hw hw;
    run_port *inputs, *outputs;
    int32_t n_inputs, n_outputs;
    uint32_t weights_ddr;
    size_t weights_bytes; /* of weights_epu.bin */
    uint64_t ddr_bytes;
    run_layer *layers;
    int32_t n_layers;
    const char **variants; /* host */
    int32_t n_variants;
    run_settings settings[RUN_KINDS];
    run_product products[RUN_KINDS];

    /* Figures of the last simulated run; a run of another engine leaves them. */
    bool simulated;
    iss_stats total, *per_layer; /* per_layer: as layers, 0 first: what precedes the first mark */

    arena result;      /* text and values of the last run; emptied by the next */
    ir_tensor *values; /* after a traced run: as layers */
    bool *seen;        /* whether the value was recorded */
    const char *text;  /* last report or proof */
    arena text_arena;
    /* Held here so that they are freed even when memory runs out in the middle. */
    iss_machine *machine;
    ir_graph *lowered;
    arena proof;   /* expected values of the last proof */
    arena tensors; /* the caller's, as tensors of the IR, during a call */
    arena work;    /* of the function at work; emptied by the next that needs it */
};

typedef struct run_engine {
    run_kind kind;
    const char *variant; /* host: "" = best */
    bool race;           /* simulator */
} run_engine;

/* program.c: reads <source_path>/manifest.json. */
cgc_status run_open(cgc_ctx *ctx, const char *source_path, cgc_program **out);
void run_close(cgc_program *p);

/* engine.c: parses an engine name of cgc.h, checks the tensors against the program's ports and runs. */
cgc_status run_engine_parse(cgc_ctx *ctx, const char *name, run_engine *out);
cgc_status run_program(cgc_program *p, const char *engine, bool traced, const ir_tensor *inputs,
                       ir_tensor *outputs);

/* build.c */
run_stamp run_stamp_of(const char *path);
/* Makes the product with build.sh unless it is newer than every source and was made with the same settings.
 * *out_path is in p->arena; *out_rebuilt says whether build.sh ran. */
cgc_status run_build(cgc_program *p, run_kind kind, bool traced, const char **out_path,
                     bool *out_rebuilt);
/* spawn.c: runs argv with the environment of this process and extra ("NAME=value", ends with NULL). The start of
 * output and errors goes to *out_text (in a). CGC_E_BUILD when it cannot be started; else *out_exit. */
cgc_status run_spawn(arena *a, const char *const *argv, const char *const *extra,
                     const char **out_text, int *out_exit);

/* Builds if needed, loads if needed. */
cgc_status run_product_get(cgc_program *p, run_kind kind, bool traced, run_product **out);
void run_product_drop(run_product *product);

/* run_host.c, run_iss.c */
cgc_status run_on_host(cgc_program *p, const run_engine *engine, bool traced,
                       const ir_tensor *inputs, ir_tensor *outputs);
cgc_status run_on_iss(cgc_program *p, const run_engine *engine, bool traced,
                      const ir_tensor *inputs, ir_tensor *outputs);

/* layout.c: the bytes that a place occupies, and the row-major tensor in them. */
size_t run_place_bytes(const run_place *place, const ir_type *type);
void run_place_read(const run_place *place, const ir_type *type, const void *memory,
                    void *out_data);
/* trace.c: records the output of a layer; memory is where its buffer starts. */
run_layer *run_layer_by_id(const cgc_program *p, int32_t id);
void run_trace_begin(cgc_program *p);
void run_trace_put(cgc_program *p, const run_layer *layer, const run_place *place,
                   const void *memory);

/* prove.c, report.c */
cgc_status run_prove(cgc_graph *graph, cgc_program *p, const char *engines, const ir_tensor *inputs,
                     int64_t *out_differing);
cgc_status run_report(cgc_program *p, const char *format);

#endif
