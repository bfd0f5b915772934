/* SPDX-License-Identifier: Apache-2.0
 * compile.h - graph to source tree (compile.c); src/api/program.c is the public face. */
#ifndef CGC_EMIT_COMPILE_H
#define CGC_EMIT_COMPILE_H

#include "emit/emit.h"

/* CGC_E_NAME unless name can be a C identifier and a folder. */
cgc_status compile_check_name(cgc_ctx *ctx, const char *name);
/* Writes <build_path>/<module>/ through a temporary folder; *out_path is that path, in the context's arena. */
cgc_status compile_graph(ir_graph *g, const cgc_hw *hw, const char *module, const char *build_path,
                         const char **out_path);

#endif
