/* SPDX-License-Identifier: Apache-2.0
 *
 * op_table.c - the table of operators made from ops.def: by number, by name, and the nearest names
 * of one that does not exist.
 */
#include "ops/op.h"

#include <string.h>

#define OP(c_name, name, meaning)                                                                  \
    const char op_name_##c_name[] = name, op_c_name_##c_name[] = #c_name,                          \
               op_meaning_##c_name[] = meaning;
#include "ops/ops.def"
#undef OP

static const op_info *const table[OP_COUNT] = {
#define OP(c_name, name, meaning) &op_##c_name,
#include "ops/ops.def"
#undef OP
};

enum { NEAREST = 3 };

const op_info *op_by_id(op_id id)
{
    return table[id];
}

const op_info *op_by_name(const char *name)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

op_id op_id_of(const op_info *op)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (table[i] == op)
            return (op_id)i;
    return OP_COUNT;
}

/* Distance to the whole name, or to its part behind the last dot where that is nearer. */
static int name_distance(const char *name, const op_info *op)
{
    const char *tail = strrchr(name, '.'), *op_tail = strrchr(op->name, '.');
    const int whole = text_distance(name, op->name);
    const int part = text_distance(tail ? tail + 1 : name, op_tail ? op_tail + 1 : op->name) + 1;
    return whole < part ? whole : part;
}

cgc_status op_unknown(cgc_ctx *ctx, const char *name, const char *layer)
{
    bool taken[OP_COUNT] = {false};
    str cure;
    str_init(&cure, &ctx->arena);
    str_put(&cure, "use a supported operator; nearest:");
    for (int k = 0; k < NEAREST; k++) {
        int best = -1, best_distance = 0;
        for (int i = 0; i < OP_COUNT; i++) {
            const int d = name_distance(name, table[i]);
            if (!taken[i] && (best < 0 || d < best_distance)) {
                best = i;
                best_distance = d;
            }
        }
        taken[best] = true;
        str_printf(&cure, "%s %s", k ? "," : "", table[best]->name);
    }
    diag_info info = {.layer = layer, .op = name, .found = name, .cure = cure.data};
    info.wanted = "an operator of the list that 'cgc ops' prints";
    return diag(ctx, CGC_E_OP, info, "unknown operator '%s'", name);
}
