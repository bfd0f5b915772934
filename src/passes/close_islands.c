/* SPDX-License-Identifier: Apache-2.0
 *
 * close_islands.c - dequantize -> float32 glue -> quantize becomes int8 operators with the same
 * bytes for every input (docs/numerics.md, rules 5, 7 and 13). Two steps:
 *
 * 1. Down: dequantize moves behind glue that int8 expresses exactly. relu and clip become a table
 * at the operand's own scale if all 256 values agree bit for bit; max-pool and reshape act on the
 * int8 values themselves (dequantize is monotone, so the maximum is at the same place). Every user
 * profits, whatever it is.
 * 2. Up: from each quantize, the glue in front of it is walked to its root. A dequantize: one table
 * made by evaluating the 256 values, behind the pools and reshapes. An add of two dequantized
 * values: qnn.add. An average: qnn.avg_pool2d. In the latter two a relu or clip before the quantize
 * becomes clamp_min and clamp_max, which is exact because quantize is monotone: quantize(min(max(x,
 * a), b)) = clamp(quantize(x), quantize(a), quantize(b)), and relu is the same with a = 0. A second
 * table after a rounded sum would round twice and is never made.
 *
 * Each quantize is closed by itself, so several consumers with different scales and graph outputs
 * in the middle keep their values. What stays float32 is noted with its reason.
 */
#include "passes/pass.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ENTRIES = 256, MAX_GLUE = 64 };

/* int8 value with its meaning as a float32. */
typedef struct quantized {
    ir_value *q;
    float scale;
    int32_t zero_point;
} quantized;

typedef struct island { /* glue between a root and a quantize */
    ir_graph *g;
    ir_node *at;       /* new nodes go before it */
    const char *layer; /* of the quantize */
    float scale;       /* of the result */
    int32_t zero_point;
    ir_node *glue[MAX_GLUE]; /* from the quantize upwards */
    int32_t n_glue;
    ir_value *root;
} island;

/* ---- what glue is ---- */
static bool is_clamp(const ir_node *n)
{
    return op_is(n, OP_relu) || op_is(n, OP_clip);
}

/* A sum with one constant element is a function of one value. */
static int32_t scalar_operand(const ir_node *n)
{
    for (int32_t i = 0; op_is(n, OP_add) && i < 2; i++) {
        const ir_value *c = n->inputs[i], *x = n->inputs[1 - i];
        if (c->kind == IR_VALUE_CONSTANT && ir_type_elems(&c->type) == 1 &&
            ir_type_equal(&x->type, &n->results[0]->type))
            return i;
    }
    return -1;
}

static bool is_elementwise(const ir_node *n)
{
    return n->op->elementwise || scalar_operand(n) >= 0;
}

static bool is_move(const ir_node *n)
{
    return op_is(n, OP_max_pool2d) || op_is(n, OP_reshape);
}

static bool is_average(const ir_node *n)
{
    return op_is(n, OP_avg_pool2d) || op_is(n, OP_global_avg_pool2d) ||
           op_is(n, OP_adaptive_avg_pool2d);
}

static ir_value *glue_operand(const ir_node *n)
{
    return n->inputs[scalar_operand(n) == 0 ? 1 : 0];
}

static bool dequantized(const ir_value *v, quantized *out)
{
    if (v->kind != IR_VALUE_RESULT || !op_is(v->node, OP_dequantize))
        return false;
    out->q = v->node->inputs[0];
    out->scale = ir_scale(v->node, "scale", 0);
    out->zero_point = ir_zero_point(v->node, "zero_point", 0);
    return true;
}

/* ---- evaluation of element-wise glue by the operators themselves ---- */
static cgc_status evaluate(cgc_ctx *ctx, const ir_node *n, ir_dtype from, const void *x,
                           int32_t count, void *y)
{
    ir_tensor in[2] = {{.data = NULL}, {.data = NULL}}, out = {.data = y};
    const int32_t constant = scalar_operand(n), k = constant == 0 ? 1 : 0;
    in[k].type = (ir_type){.dtype = from, .rank = 1, .dims = {count}};
    in[k].data = (void *)(uintptr_t)x;
    out.type = in[k].type;
    out.type.dtype = n->results[0]->type.dtype;
    if (constant >= 0) {
        const ir_value *c = n->inputs[constant];
        in[constant] = (ir_tensor){c->type, (void *)(uintptr_t)c->data};
    }
    return n->op->eval(ctx, n, in, &out);
}

/* Applies the element-wise glue of an island to count values in place, in the order of evaluation.
 * With pools between them every step must be monotone non-decreasing over the values as they stand:
 * *monotone says so. */
static cgc_status evaluate_glue(const island *s, float *values, int32_t count, bool *monotone)
{
    *monotone = true;
    for (int32_t i = s->n_glue; i-- > 0;) {
        if (is_elementwise(s->glue[i]))
            TRY(evaluate(s->g->ctx, s->glue[i], IR_float32, values, count, values));
        for (int32_t k = 1; k < count && op_is(s->glue[i], OP_max_pool2d); k++)
            *monotone = *monotone && values[k - 1] <= values[k];
    }
    return CGC_OK;
}

static cgc_status quantize_values(const island *s, ir_node *quantize, const float *values,
                                  int32_t count, int8_t *out)
{
    ir_set_float(quantize, "scale", s->scale);
    ir_set_int(quantize, "zero_point", s->zero_point);
    return evaluate(s->g->ctx, quantize, IR_float32, values, count, out);
}

/* A node for evaluation only, never in the graph. */
static ir_node *loose_node(ir_graph *g, op_id op, ir_dtype result)
{
    ir_node *n = ir_make_node(g, op_by_id(op), NULL, 0, "");
    n->results[0]->type.dtype = result;
    return n;
}

/* The 256 int8 values, and what they are as float32. */
static cgc_status all_values(ir_graph *g, const quantized *d, float out[ENTRIES])
{
    int8_t q[ENTRIES];
    ir_node *n = loose_node(g, OP_dequantize, IR_float32);
    for (int i = 0; i < ENTRIES; i++)
        q[i] = (int8_t)(i - 128);
    ir_set_float(n, "scale", d->scale);
    ir_set_int(n, "zero_point", d->zero_point);
    return evaluate(g->ctx, n, IR_int8, q, ENTRIES, out);
}

/* ---- new nodes ---- */
static cgc_status insert(ir_graph *g, ir_node *at, ir_node *n, ir_value **out)
{
    ir_insert_before(g, at, n);
    *out = n->results[0];
    return ir_infer(g, n);
}

/* table[x + 128], or x itself where the table changes nothing. */
static cgc_status insert_table(ir_graph *g, ir_node *at, const char *layer, ir_value *x,
                               const int8_t table[ENTRIES], ir_value **out)
{
    bool same = true;
    for (int i = 0; i < ENTRIES; i++)
        same = same && table[i] == i - 128;
    *out = x;
    if (same)
        return CGC_OK;
    const ir_type type = {.dtype = IR_int8, .rank = 1, .dims = {ENTRIES}};
    ir_value *inputs[2] = {x, ir_add_constant(g, &type, table)};
    return insert(g, at, ir_make_node(g, op_by_id(OP_table), inputs, 2, layer), out);
}

static cgc_status insert_dequantize(ir_graph *g, ir_node *at, const char *layer, quantized x,
                                    ir_value **out)
{
    ir_node *n = ir_make_node(g, op_by_id(OP_dequantize), &x.q, 1, layer);
    ir_set_float(n, "scale", x.scale);
    ir_set_int(n, "zero_point", x.zero_point);
    return insert(g, at, n, out);
}

/* The same operator with the same attributes on another operand (max-pool, reshape). */
static cgc_status insert_copy(ir_graph *g, ir_node *at, const ir_node *from, ir_value *x,
                              ir_value **out)
{
    ir_node *n = ir_make_node(g, from->op, &x, 1, from->layer);
    memcpy(n->attrs, from->attrs, (size_t)from->op->n_attrs * sizeof *n->attrs);
    return insert(g, at, n, out);
}

/* Pools and reshapes of an island on int8 values, in the order of evaluation. */
static cgc_status insert_moves(const island *s, ir_value *x, ir_value **out)
{
    *out = x;
    for (int32_t i = s->n_glue; i-- > 0;)
        if (is_move(s->glue[i]))
            TRY(insert_copy(s->g, s->at, s->glue[i], *out, out));
    return CGC_OK;
}

/* ---- step 1: dequantize down ---- */
/* A table at the operand's own scale that gives the same floats bit for bit, if there is one. */
static cgc_status exact_table(ir_graph *g, const ir_node *n, const quantized *d,
                              int8_t table[ENTRIES], bool *found)
{
    float grid[ENTRIES], wanted[ENTRIES];
    TRY(all_values(g, d, grid));
    TRY(evaluate(g->ctx, n, IR_float32, grid, ENTRIES, wanted));
    *found = true;
    for (int i = 0; i < ENTRIES && *found; i++) {
        int t = i; /* its own value first: several may be equal when the scale is tiny */
        for (int k = 0; k < ENTRIES && memcmp(&grid[t], &wanted[i], sizeof(float)) != 0; k++)
            t = k;
        *found = memcmp(&grid[t], &wanted[i], sizeof(float)) == 0;
        table[i] = (int8_t)(t - 128);
    }
    return CGC_OK;
}

static cgc_status push_down(ir_graph *g, ir_node *n)
{
    quantized d;
    if (!n->n_inputs || !dequantized(n->inputs[0], &d))
        return CGC_OK;
    const char *layer = n->inputs[0]->node->layer;
    ir_value *y;
    if (is_move(n)) {
        TRY(insert_copy(g, n, n, d.q, &d.q));
    } else if (is_clamp(n)) {
        int8_t table[ENTRIES];
        bool found;
        TRY(exact_table(g, n, &d, table, &found));
        if (!found)
            return CGC_OK;
        TRY(insert_table(g, n, n->layer, d.q, table, &d.q));
    } else {
        return CGC_OK;
    }
    TRY(insert_dequantize(g, n, layer, d, &y));
    ir_replace_uses(g, n->results[0], y);
    return CGC_OK;
}

/* ---- step 2: quantize up ---- */
static void walk(island *s, ir_value *v)
{
    s->n_glue = 0;
    while (v->kind == IR_VALUE_RESULT && s->n_glue < MAX_GLUE &&
           (is_elementwise(v->node) || is_move(v->node))) {
        s->glue[s->n_glue++] = v->node;
        v = glue_operand(v->node);
    }
    s->root = v;
}

/* Root is a dequantize: one table for everything element-wise. */
static cgc_status close_unary(const island *s, const quantized *d, ir_value **out)
{
    float values[ENTRIES];
    int8_t table[ENTRIES];
    bool monotone;
    TRY(all_values(s->g, d, values));
    TRY(evaluate_glue(s, values, ENTRIES, &monotone));
    if (!monotone)
        return CGC_OK;
    TRY(quantize_values(s, loose_node(s->g, OP_quantize, IR_int8), values, ENTRIES, table));
    TRY(insert_moves(s, d->q, out));
    return insert_table(s->g, s->at, s->layer, *out, table, out);
}

/* relu and clip in front of a quantize are a clamp to the values that -inf and +inf take. */
static cgc_status set_clamp(const island *s, ir_node *n)
{
    float ends[2] = {-INFINITY, INFINITY};
    int8_t bounds[2];
    bool monotone;
    TRY(evaluate_glue(s, ends, 2, &monotone));
    TRY(quantize_values(s, loose_node(s->g, OP_quantize, IR_int8), ends, 2, bounds));
    ir_set_int(n, "clamp_min", bounds[0]);
    ir_set_int(n, "clamp_max", bounds[1]);
    ir_set_float(n, "y_scale", s->scale);
    ir_set_int(n, "y_zero_point", s->zero_point);
    return CGC_OK;
}

/* Only reshape, and relu, clip and max-pool where the flags say so, stand between the root and the
 * quantize. */
static bool only_clamps(const island *s, bool clamps, bool pools)
{
    for (int32_t i = 0; i < s->n_glue; i++) {
        const ir_node *n = s->glue[i];
        const bool clamp = clamps && is_clamp(n), pool = pools && op_is(n, OP_max_pool2d);
        if (!clamp && !pool && !op_is(n, OP_reshape))
            return false;
    }
    return true;
}

/* Root is a sum of two dequantized values. A sum that is infinite both ways at once would be NaN,
 * which clamps and max-pools pass on in float32, but not in int8. */
static cgc_status close_add(const island *s, ir_value **out)
{
    ir_node *add = s->root->node;
    quantized a, b;
    if (!dequantized(add->inputs[0], &a) || !dequantized(add->inputs[1], &b))
        return CGC_OK;
    const bool finite = 255.0f * a.scale <= FLT_MAX && 255.0f * b.scale <= FLT_MAX;
    if (!only_clamps(s, finite, finite))
        return CGC_OK;
    ir_value *inputs[2] = {a.q, b.q};
    ir_node *n = ir_make_node(s->g, op_by_id(OP_qnn_add), inputs, 2, add->layer);
    ir_set_float(n, "a_scale", a.scale);
    ir_set_int(n, "a_zero_point", a.zero_point);
    ir_set_float(n, "b_scale", b.scale);
    ir_set_int(n, "b_zero_point", b.zero_point);
    TRY(set_clamp(s, n));
    TRY(insert(s->g, s->at, n, out));
    return insert_moves(s, *out, out);
}

static void set_average_window(ir_graph *g, ir_node *n, const ir_node *average)
{
    const int64_t *x = average->inputs[0]->type.dims, *y = average->results[0]->type.dims;
    const int64_t size[2] = {x[2] / y[2], x[3] / y[3]};
    if (op_is(average, OP_avg_pool2d)) {
        static const char *const names[] = {"pool_size", "strides",           "padding",
                                            "ceil_mode", "count_include_pad", "divisor_override"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            *ir_attr_get(n, names[i]) = *ir_attr_get(average, names[i]);
        return;
    }
    ir_set_ints(g, n, "pool_size", size, 2);
    if (op_is(average, OP_adaptive_avg_pool2d))
        ir_set_ints(g, n, "strides", size, 2);
}

/* Root is an average (rule 7). Glue before it acts at the scale of the dequantize it begins with.
 */
static cgc_status close_average(const island *s, ir_value **out)
{
    ir_node *average = s->root->node;
    quantized d;
    island before = {.g = s->g, .at = s->at, .layer = average->layer};
    if (!only_clamps(s, true, false))
        return CGC_OK;
    walk(&before, average->inputs[0]);
    if (!only_clamps(&before, true, true) || !dequantized(before.root, &d))
        return CGC_OK;
    before.scale = d.scale;
    before.zero_point = d.zero_point;
    ir_value *x = NULL;
    TRY(close_unary(&before, &d, &x));
    if (!x)
        return CGC_OK;
    ir_node *n = ir_make_node(s->g, op_by_id(OP_qnn_avg_pool2d), &x, 1, average->layer);
    set_average_window(s->g, n, average);
    ir_set_float(n, "x_scale", d.scale);
    ir_set_int(n, "x_zero_point", d.zero_point);
    TRY(set_clamp(s, n));
    TRY(insert(s->g, s->at, n, out));
    return insert_moves(s, *out, out);
}

static cgc_status pull_up(ir_graph *g, ir_node *n)
{
    quantized d;
    ir_value *y = NULL;
    island s = {.g = g, .at = n, .layer = n->layer};
    s.scale = ir_scale(n, "scale", 0);
    s.zero_point = ir_zero_point(n, "zero_point", 0);
    walk(&s, n->inputs[0]);
    if (dequantized(s.root, &d))
        TRY(close_unary(&s, &d, &y));
    else if (s.root->kind == IR_VALUE_RESULT && op_is(s.root->node, OP_add))
        TRY(close_add(&s, &y));
    else if (s.root->kind == IR_VALUE_RESULT && is_average(s.root->node))
        TRY(close_average(&s, &y));
    if (y)
        ir_replace_uses(g, n->results[0], y);
    return CGC_OK;
}

/* ---- what stays float32 ---- */
static bool quantized_use(const ir_graph *g, const ir_value *v)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_inputs; k++)
            if (g->nodes[i]->inputs[k] == v && op_is(g->nodes[i], OP_quantize))
                return true;
    return false;
}

static cgc_status note_float(ir_graph *g, const ir_node *n)
{
    diag_info info = ir_where(n, NULL);
    quantized d;
    if (op_is(n, OP_conv2d) || op_is(n, OP_dense) || op_is(n, OP_channel_affine)) {
        info.cure = "give the layer quantization parameters (quantize_model, run_calibration)";
        return note(g->ctx, info, "computed in float32, because it has no quantization parameters");
    }
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const ir_value *v = n->inputs[i];
        if (!dequantized(v, &d))
            return note(g->ctx, info, "computed in float32, because its operand %s comes from %s",
                        n->op->inputs[i].name,
                        v->kind == IR_VALUE_INPUT      ? "a float32 input of the graph"
                        : v->kind == IR_VALUE_CONSTANT ? "a float32 constant"
                                                       : v->node->op->name);
    }
    return note(g->ctx, info, "computed in float32, because %s",
                quantized_use(g, n->results[0]) ? "no int8 operators give the same bytes"
                                                : "its result is used in float32");
}

static bool stays_float(const ir_node *n)
{
    return n->results[0]->type.dtype == IR_float32 && !op_is(n, OP_dequantize);
}

/* The list of nodes as it stands, because new ones are inserted while it is walked. */
static ir_node **snapshot(ir_graph *g, size_t *count)
{
    ir_node **list = arena_array(&g->arena, g->n_nodes, sizeof(ir_node *));
    *count = g->n_nodes;
    if (g->n_nodes)
        memcpy(list, g->nodes, g->n_nodes * sizeof(ir_node *));
    return list;
}

cgc_status pass_close_islands(ir_graph *g)
{
    size_t count;
    ir_node **nodes = snapshot(g, &count);
    for (size_t i = 0; i < count; i++)
        TRY(push_down(g, nodes[i]));
    for (size_t i = 0; i < count; i++)
        if (op_is(nodes[i], OP_quantize))
            TRY(pull_up(g, nodes[i]));
    TRY(pass_remove_dead(g));
    for (size_t i = 0; i < g->n_nodes && !g->ctx->quiet; i++)
        if (stays_float(g->nodes[i]))
            TRY(note_float(g, g->nodes[i]));
    return CGC_OK;
}
