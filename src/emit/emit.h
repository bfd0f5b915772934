/* SPDX-License-Identifier: Apache-2.0
 *
 * emit.h - plan -> readable C tree. Emitters write into a folder that compile.c later renames; they print what the plan
 * says. Everything a name of the user's model could break is passed through emit_identifier or emit_comment.
 */
#ifndef CGC_EMIT_H
#define CGC_EMIT_H

#include "plan/plan.h"

typedef struct emit_file { /* one text or binary file of the tree, kept in memory until written */
    const char *name;      /* relative, may contain one folder */
    str text;
} emit_file;

typedef struct emit_tree {
    cgc_ctx *ctx;
    arena *arena;
    emit_file **files;
    size_t n_files, cap_files;
} emit_tree;
emit_file *emit_add(emit_tree *t, const char *name);
cgc_status emit_write(emit_tree *t, const char *folder);

/* A C identifier for any text: letters, digits, '_' kept, others become '_'; never a keyword; unique names are the
 * caller's affair. */
const char *emit_identifier(arena *a, const char *text);
/* Safe inside a C comment on one line: no comment ends, no newlines, no trigraphs, at most 100 characters. */
const char *emit_comment(arena *a, const char *text);
/* float32 literal that reads back exactly: "0.0244795f", never "1f". */
const char *emit_f32(arena *a, float v);
/* Appends data at a multiple of align and returns its offset. */
size_t emit_blob(str *blob, const void *data, size_t bytes, size_t align);
/* Copies a kernel source or header (as embedded at build time) into kernels/ once. name as in ccl/, for example
 * "ref/conv2d_s8.c", "requant.h", "epu/ccl_epu.h". */
cgc_status emit_kernel(emit_tree *t, const char *name);
/* The files of ccl/, include/ccl.h, isa/ and iss/insns/ that programs need, embedded by cmake/embed.cmake. */
typedef struct emit_embedded {
    const char *name;
    const char *data;
    size_t bytes;
} emit_embedded;
extern const emit_embedded emit_embedded_files[]; /* ends with name NULL */

/* emit/host/program.c: <module>.h, <module>_host*.c, weights_host.bin; adds "host" facts of each layer to
 * layers[step] as JSON object text. */
cgc_status emit_host_program(plan *p, emit_tree *t, str *layers);
/* emit/epu/program.c: <module>_epu.c, weights_epu.bin, link.ld; facts likewise, and the DDR map. */
typedef struct emit_epu_map {
    uint32_t inputs[IR_MAX_INPUTS], outputs[IR_MAX_INPUTS], weights;
    uint64_t bytes, weights_bytes;
} emit_epu_map;
cgc_status emit_epu_program(plan *p, emit_tree *t, str *layers, emit_epu_map *out_map);
/* emit/build_files.c: build.sh; emit/manifest.c: manifest.json; emit/report.c: report.txt */
cgc_status emit_build_files(const plan *host, const plan *epu, emit_tree *t);
cgc_status emit_manifest(const plan *host, const plan *epu, const str *host_layers,
                         const str *epu_layers, const emit_epu_map *map, emit_tree *t);
cgc_status emit_report(const plan *host, const plan *epu, emit_tree *t);

#endif
