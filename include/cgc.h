/* SPDX-License-Identifier: Apache-2.0
 *
 * cgc.h - the whole public interface of the compiler.
 *
 * A context (cgc_ctx) owns diagnostics and options; a graph (cgc_graph) owns its nodes and
 * constants; a program (cgc_program) is one compiled source tree that can be built and run.
 * Words: x_new/x_free make and destroy a heap handle (free(NULL) is allowed); x_get borrows,
 * valid until the owner is freed. No function aborts: every fallible one returns a cgc_status,
 * and cgc_ctx_error() then describes the first failure. A context and what was made from it are
 * used by one thread at a time; separate contexts are independent.
 *
 * The part between the two cffi markers is also the declaration text of the Python binding.
 */
#ifndef CGC_H
#define CGC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

typedef int32_t cgc_status; /* 0 = ok, else a code of src/base/status.def */

typedef struct cgc_ctx cgc_ctx;
typedef struct cgc_graph cgc_graph;
typedef struct cgc_hw cgc_hw;
typedef struct cgc_program cgc_program;

/* Element types, in the order of src/ir/dtype.def. */
typedef int32_t cgc_dtype;

/* A dense row-major (C order) tensor that the caller owns. bytes must equal the product of dims
 * times the element size. For outputs the caller allocates data from cgc_*_output_type(). */
typedef struct cgc_tensor {
    cgc_dtype dtype;
    int32_t rank; /* 0..8 */
    int64_t dims[8];
    void *data;
    size_t bytes;
} cgc_tensor;

/* The first failure since the last call of cgc_ctx_clear. Strings are "" when they do not apply
 * and are valid until the next call on the context. */
typedef struct cgc_error {
    cgc_status code;
    const char *id;      /* stable identifier, for example "E_SHAPE" */
    const char *message; /* the whole text, one line and then hints */
    const char *layer;   /* module path of the user's layer */
    const char *op;      /* operator name */
    const char *setting; /* the setting or attribute at fault */
    const char *found;
    const char *wanted;
    const char *cure;
} cgc_error;

/* ---- context ---- */
cgc_ctx *cgc_ctx_new(void); /* NULL only when out of memory */
void cgc_ctx_free(cgc_ctx *ctx);
void cgc_ctx_clear(cgc_ctx *ctx); /* forgets the recorded failure and the notes */
void cgc_ctx_error(const cgc_ctx *ctx, cgc_error *out_error);
/* Options are "name", "value" pairs: "strict" 0|1; "dump" comma list of pass names or "all"
 * (the graph after each goes to the log); "verbose" 0|1. */
cgc_status cgc_ctx_set_option(cgc_ctx *ctx, const char *name, const char *value);
/* What the compiler did that the user should know (scalar-core operators, float layers,
 * approximations): one sentence each, in order. */
int32_t cgc_ctx_note_count(const cgc_ctx *ctx);
const char *cgc_ctx_note_get(const cgc_ctx *ctx, int32_t index);
const char *cgc_version(void);

/* ---- element types and operators ---- */
cgc_dtype cgc_dtype_from_name(const char *name); /* -1 if unknown */
const char *cgc_dtype_name(cgc_dtype dtype);
size_t cgc_dtype_bytes(cgc_dtype dtype);
int32_t cgc_op_count(void);
const char *cgc_op_name(int32_t op);    /* name in the text form, for example "nn.relu" */
const char *cgc_op_meaning(int32_t op); /* one line */

/* Evaluates one operator on tensors, exactly as the interpreter would: this is what the PyTorch
 * modules call. attrs is attribute text as in the printed form, for example
 * "padding=[1, 1, 1, 1], x_scale=0.5f"; an attribute that takes one value per channel may name an
 * operand as input[i], with i counted in inputs; such operands follow the operator's own.
 * With outputs == NULL only out_types is filled (shape inference). */
cgc_status cgc_op_eval(cgc_ctx *ctx, const char *op, const char *attrs, const cgc_tensor *inputs,
                       int32_t n_inputs, cgc_tensor *outputs, int32_t n_outputs);
cgc_status cgc_op_infer(cgc_ctx *ctx, const char *op, const char *attrs, const cgc_tensor *inputs,
                        int32_t n_inputs, cgc_tensor *out_types, int32_t n_outputs);

/* ---- graph ---- */
cgc_graph *cgc_graph_new(cgc_ctx *ctx);
void cgc_graph_free(cgc_graph *graph);
/* A value of a graph: a graph input, a constant or one result of a node. */
typedef int32_t cgc_value;
cgc_status cgc_graph_add_input(cgc_graph *graph, const char *name, cgc_dtype dtype, int32_t rank,
                               const int64_t *dims, cgc_value *out_value);
/* Copies the data. *out_index is the i of meta[relay.Constant][i]. */
cgc_status cgc_graph_add_constant(cgc_graph *graph, const cgc_tensor *tensor, cgc_value *out_value,
                                  int32_t *out_index);
/* attrs: attribute text as printed; a per-channel attribute names meta[relay.Constant][i].
 * layer: module path of the user's layer, "" if none. The node is checked and its result types are
 * inferred at once. Results are *out_first, *out_first + 1, ... */
cgc_status cgc_graph_add_node(cgc_graph *graph, const char *op, const cgc_value *inputs,
                              int32_t n_inputs, const char *attrs, const char *layer,
                              cgc_value *out_first);
/* Names may be NULL: then out_0, out_1, ... */
cgc_status cgc_graph_set_outputs(cgc_graph *graph, const cgc_value *values,
                                 const char *const *names, int32_t n);
cgc_status cgc_graph_verify(cgc_graph *graph);
int32_t cgc_graph_input_count(const cgc_graph *graph);
int32_t cgc_graph_output_count(const cgc_graph *graph);
const char *cgc_graph_input_name(const cgc_graph *graph, int32_t i);
const char *cgc_graph_output_name(const cgc_graph *graph, int32_t i);
/* dtype, rank, dims and bytes; data is NULL. */
cgc_status cgc_graph_input_type(const cgc_graph *graph, int32_t i, cgc_tensor *out_type);
cgc_status cgc_graph_output_type(const cgc_graph *graph, int32_t i, cgc_tensor *out_type);
cgc_status cgc_graph_value_type(const cgc_graph *graph, cgc_value value, cgc_tensor *out_type);
/* Text form. layers != 0 adds layer="..." to each node (what save() writes). The string is owned by
 * the graph and valid until the next print or the graph's end. */
cgc_status cgc_graph_print(cgc_graph *graph, int32_t layers, const char **out_text);
/* constants gives meta[relay.Constant][i] for i < n; may be NULL when the text uses none. */
cgc_status cgc_graph_parse(cgc_ctx *ctx, const char *text, const cgc_tensor *constants, int32_t n,
                           cgc_graph **out_graph);
/* <path> holds the text with a format version, <path without .cgc>.safetensors the constants. Both are
 * written to temporary names and renamed. */
cgc_status cgc_graph_save(cgc_graph *graph, const char *path);
cgc_status cgc_graph_load(cgc_ctx *ctx, const char *path, cgc_graph **out_graph);
/* Runs the passes up to and including the named one (src/passes/passes.def; "" = all); the graph is
 * rewritten in place. */
cgc_status cgc_graph_run_passes(cgc_graph *graph, const char *last);
/* The interpreter: the meaning of a graph. inputs/outputs in graph order, types must match. */
cgc_status cgc_graph_interpret(cgc_graph *graph, const cgc_tensor *inputs, int32_t n_inputs,
                               cgc_tensor *outputs, int32_t n_outputs);

/* ---- hardware description: isa/hwconfig.def ---- */
cgc_hw *cgc_hw_new(cgc_ctx *ctx); /* the defaults */
void cgc_hw_free(cgc_hw *hw);
cgc_status cgc_hw_set(cgc_hw *hw, const char *name, double value);
cgc_status cgc_hw_get(const cgc_hw *hw, const char *name, double *out_value);
cgc_status cgc_hw_preset(cgc_hw *hw, const char *preset);  /* isa/presets.def */
cgc_status cgc_hw_load_json(cgc_hw *hw, const char *path); /* {"array_size": 16, ...} */
int32_t cgc_hw_param_count(void);
const char *cgc_hw_param_name(int32_t i);
const char *cgc_hw_param_meaning(int32_t i);
int32_t cgc_hw_preset_count(void);
const char *cgc_hw_preset_name(int32_t i);

/* ---- compile ---- */
/* Writes <build_path>/<module_name>/ (see docs/program.md) to a temporary folder and renames it.
 * The graph itself is not changed. The same graph, hw and name give the same bytes. */
cgc_status cgc_compile(cgc_graph *graph, const cgc_hw *hw, const char *module_name,
                       const char *build_path, cgc_program **out_program);
/* Opens a tree that cgc_compile wrote. */
cgc_status cgc_program_open(cgc_ctx *ctx, const char *source_path, cgc_program **out_program);
void cgc_program_free(cgc_program *program);
const char *cgc_program_source_path(const cgc_program *program);
const char *cgc_program_build_path(const cgc_program *program);
/* Runs build.sh of the tree. engine: "host" or "iss". flags: extra compiler flags or "". traced
 * builds (for prove) carry a hook after each layer. cc: the compiler command ("" = $CC or cc for
 * the host; "python3 -m ziglang cc" for iss). */
cgc_status cgc_program_build(cgc_program *program, const char *engine, const char *cc,
                             const char *flags, int32_t traced);
int32_t cgc_program_input_count(const cgc_program *program);
int32_t cgc_program_output_count(const cgc_program *program);
const char *cgc_program_input_name(const cgc_program *program, int32_t i);
const char *cgc_program_output_name(const cgc_program *program, int32_t i);
cgc_status cgc_program_input_type(const cgc_program *program, int32_t i, cgc_tensor *out_type);
cgc_status cgc_program_output_type(const cgc_program *program, int32_t i, cgc_tensor *out_type);
/* engine: "host", "host:<variant>" (kernels.def arch names, "host:ref" forces portable C),
 * "iss", "iss:race" (with the race detector), "epu_host" (the EPU text built for this machine).
 * Builds first if needed. */
cgc_status cgc_program_run(cgc_program *program, const char *engine, const cgc_tensor *inputs,
                           int32_t n_inputs, cgc_tensor *outputs, int32_t n_outputs);
/* As run, with a traced build: afterwards the value after each layer can be read back in logical
 * (row-major) order and compared with the interpreter's. */
cgc_status cgc_program_run_traced(cgc_program *program, const char *engine,
                                  const cgc_tensor *inputs, int32_t n_inputs, cgc_tensor *outputs,
                                  int32_t n_outputs);
/* The layers of the program in execution order. value: "%3", the value of the lowered graph that the layer
 * computes. layer_get borrows the value after the last traced run (data NULL: the engine does not show
 * this layer), until the next run. */
int32_t cgc_program_layer_count(const cgc_program *program);
const char *cgc_program_layer_name(const cgc_program *program, int32_t i);
const char *cgc_program_layer_value(const cgc_program *program, int32_t i);
cgc_status cgc_program_layer_get(const cgc_program *program, int32_t i, cgc_tensor *out_tensor);
/* Report of the last iss run. format: "text", "csv", "json". Valid until the next call. */
cgc_status cgc_program_report(cgc_program *program, const char *format, const char **out_text);

/* ---- prove ---- */
/* Runs every engine in the comma list ("" = all) on the inputs, counts differing output bytes against the
 * interpreter, and on a difference reruns traced builds to name the first differing layer, index and
 * both values in *out_text (owned by the program). */
cgc_status cgc_prove(cgc_graph *graph, cgc_program *program, const char *engines,
                     const cgc_tensor *inputs, int32_t n_inputs, int64_t *out_differing,
                     const char **out_text);

/* cffi: end */

#ifdef __cplusplus
}
#endif
#endif
