/* SPDX-License-Identifier: Apache-2.0
 *
 * attr.c - attributes of a node by name. A node has one ir_attr per row of its operator's table, in
 * that order. A name that the table lacks reads as zero and writes nothing.
 */
#include "ops/op.h"

#include <string.h>

enum { MAX_INTS = 64 }; /* more than any table declares */
static const int64_t zero_ints[MAX_INTS];
static const ir_attr zero_attr = {.ints = zero_ints, .s = ""};

static ir_attr *find(const ir_node *n, const char *name)
{
    for (int32_t i = 0; i < n->op->n_attrs; i++)
        if (strcmp(n->op->attrs[i].name, name) == 0)
            return &n->attrs[i];
    return NULL;
}

ir_attr *ir_attr_get(const ir_node *n, const char *name)
{
    ir_attr *a = find(n, name);
    return a ? a : (ir_attr *)(uintptr_t)&zero_attr;
}

int64_t ir_int(const ir_node *n, const char *name)
{
    return ir_attr_get(n, name)->i;
}

bool ir_bool(const ir_node *n, const char *name)
{
    return ir_attr_get(n, name)->i != 0;
}

float ir_float(const ir_node *n, const char *name)
{
    return ir_attr_get(n, name)->f;
}

const int64_t *ir_ints(const ir_node *n, const char *name)
{
    const int64_t *ints = ir_attr_get(n, name)->ints;
    return ints ? ints : zero_ints;
}

const char *ir_string(const ir_node *n, const char *name)
{
    const char *s = ir_attr_get(n, name)->s;
    return s ? s : "";
}

void ir_set_int(ir_node *n, const char *name, int64_t v)
{
    ir_attr *a = find(n, name);
    if (a)
        *a = (ir_attr){.kind = IR_ATTR_INT, .set = true, .i = v};
}

void ir_set_bool(ir_node *n, const char *name, bool v)
{
    ir_attr *a = find(n, name);
    if (a)
        *a = (ir_attr){.kind = IR_ATTR_BOOL, .set = true, .i = v};
}

void ir_set_float(ir_node *n, const char *name, float v)
{
    ir_attr *a = find(n, name);
    if (a)
        *a = (ir_attr){.kind = IR_ATTR_FLOAT, .set = true, .f = v};
}

void ir_set_ints(ir_graph *g, ir_node *n, const char *name, const int64_t *v, int32_t count)
{
    ir_attr *a = find(n, name);
    if (!a)
        return;
    int64_t *copy = arena_array(&g->arena, (size_t)count, sizeof *copy);
    if (count)
        memcpy(copy, v, (size_t)count * sizeof *copy);
    *a = (ir_attr){.kind = IR_ATTR_INTS, .set = true, .ints = copy, .n_ints = count};
}

/* Element c of a per-channel constant; 0 where there is none. */
static const void *element(const ir_attr *a, ir_dtype dtype, int64_t c)
{
    const ir_value *v = a->tensor;
    if (!v || !v->data || v->type.dtype != dtype || c < 0 || c >= ir_type_elems(&v->type))
        return NULL;
    return (const char *)v->data + (size_t)c * ir_dtype_bytes(dtype);
}

float ir_scale(const ir_node *n, const char *name, int64_t c)
{
    const ir_attr *a = ir_attr_get(n, name);
    if (a->kind != IR_ATTR_TENSOR)
        return a->f;
    const float *p = element(a, IR_float32, c);
    return p ? *p : 0.0f;
}

int32_t ir_zero_point(const ir_node *n, const char *name, int64_t c)
{
    const ir_attr *a = ir_attr_get(n, name);
    if (a->kind != IR_ATTR_TENSOR)
        return (int32_t)a->i;
    const int32_t *p = element(a, IR_int32, c);
    return p ? *p : 0;
}
