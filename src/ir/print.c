/* SPDX-License-Identifier: Apache-2.0
 *
 * print.c - graph -> text form (grammar: docs/ir.md). Operands stay on a node's first line;
 * attributes follow, and a new line begins where the next one would pass column 88. Constants are
 * numbered in order of first use, so that print -> parse -> print gives the same text.
 */
#include "ir/parse.h"

#include <string.h>

enum { LINE_COLUMNS = 88 };

typedef struct printer {
    const ir_graph *g;
    str *out;
    bool layers;
    const int32_t *numbers; /* by index of a constant; NULL: the index itself */
    size_t line_start;      /* of the present line, in out */
    size_t columns;         /* SIZE_MAX: never break a line */
} printer;

static bool plain_name(const char *name)
{
    if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_'))
        return false;
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ==
           '\0';
}

static void put_f32(str *s, float v)
{
    str_put_f32(s, v);
    if (v - v == 0.0f)
        str_put(s, "f");
}

static void put_value(const printer *p, str *s, const ir_value *v)
{
    if (v->kind == IR_VALUE_INPUT) {
        str_put(s, "%");
        if (plain_name(v->name))
            str_put(s, v->name);
        else
            str_put_quoted(s, v->name, "x");
    } else if (v->kind == IR_VALUE_CONSTANT) {
        str_printf(s, "meta[relay.Constant][%d]",
                   (int)(p->numbers ? p->numbers[v->index] : v->index));
    } else if (v->node->n_results > 1) {
        str_printf(s, "%%%d.%d", (int)v->node->id, (int)v->result);
    } else {
        str_printf(s, "%%%d", (int)v->node->id);
    }
}

static void put_attr_value(const printer *p, str *s, const ir_attr *a)
{
    switch (a->kind) {
    case IR_ATTR_INT:
        str_printf(s, "%lld", (long long)a->i);
        break;
    case IR_ATTR_BOOL:
        str_put(s, a->i ? "True" : "False");
        break;
    case IR_ATTR_FLOAT:
        put_f32(s, a->f);
        break;
    case IR_ATTR_STRING:
        str_put_quoted(s, a->s ? a->s : "", "x");
        break;
    case IR_ATTR_TENSOR:
        if (a->tensor)
            put_value(p, s, a->tensor);
        break;
    case IR_ATTR_INTS:
        str_put(s, "[");
        for (int32_t i = 0; i < a->n_ints; i++)
            str_printf(s, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
        str_put(s, "]");
        break;
    }
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool equal_attr(const ir_attr *a, const ir_attr *b)
{
    if (a->kind != b->kind || a->tensor || b->tensor || a->n_ints != b->n_ints)
        return false;
    if (a->n_ints && memcmp(a->ints, b->ints, (size_t)a->n_ints * sizeof *a->ints) != 0)
        return false;
    if (a->kind == IR_ATTR_STRING && strcmp(a->s ? a->s : "", b->s ? b->s : "") != 0)
        return false;
    return a->i == b->i && same_bits(a->f, b->f);
}

/* Adds ", piece" on this line, or on the next where it would be too long. behind: what must
 * still follow it. */
static void put_piece(printer *p, const str *piece, const char *behind, bool first)
{
    if (first) {
        str_put(p->out, piece->data);
        return;
    }
    size_t column = p->out->len - p->line_start;
    if (p->columns != SIZE_MAX && column + 2 + piece->len + strlen(behind) > p->columns) {
        str_put(p->out, ",\n         ");
        p->line_start = p->out->len - 9;
    } else {
        str_put(p->out, ", ");
    }
    str_put(p->out, piece->data);
}

static bool must_print(const printer *p, const op_attr *row, const ir_attr *a)
{
    if ((row->flags & (OP_ATTR_ALWAYS | OP_ATTR_POSITIONAL | OP_ATTR_REQUIRED)) || !row->def)
        return true;
    ir_attr def; /* read anew: the text in the table is a default's only form */
    ir_attr_default(p->g->ctx, p->out->a, row, &def);
    return !equal_attr(a, &def);
}

static void put_operands(printer *p, const ir_node *n)
{
    bool first = true;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (!n->inputs[i])
            continue;
        if (!first)
            str_put(p->out, ", ");
        /* Behind an absent optional operand a position says nothing: the name does. */
        if (n->op->inputs[i].keyword || (i > 0 && !n->inputs[i - 1]))
            str_printf(p->out, "%s=", n->op->inputs[i].name);
        put_value(p, p->out, n->inputs[i]);
        first = false;
    }
}

/* Attributes as pieces, then the layer. end: what follows the last one on its line. */
static void put_attrs(printer *p, const ir_node *n, const char *end)
{
    arena *a = p->out->a;
    str *pieces = arena_array(a, (size_t)n->op->n_attrs + 1, sizeof *pieces);
    size_t count = 0;
    for (int32_t i = 0; i < n->op->n_attrs; i++) {
        const op_attr *row = &n->op->attrs[i];
        if (!must_print(p, row, &n->attrs[i]))
            continue;
        str *s = &pieces[count++];
        str_init(s, a);
        if (!(row->flags & OP_ATTR_POSITIONAL))
            str_printf(s, "%s=", row->name);
        put_attr_value(p, s, &n->attrs[i]);
    }
    if (p->layers && *n->layer) {
        str *s = &pieces[count++];
        str_init(s, a);
        str_put(s, "layer=");
        str_put_quoted(s, n->layer, "x");
    }
    bool first = n->n_inputs == 0;
    for (size_t i = 0; i < count; i++, first = false)
        put_piece(p, &pieces[i], i + 1 < count ? "," : end, first);
}

static void put_node(printer *p, const ir_node *n, bool assign, const char *end)
{
    p->line_start = p->out->len;
    if (p->columns != SIZE_MAX)
        str_put(p->out, "  ");
    if (assign)
        str_printf(p->out, "%%%d = ", (int)n->id);
    str_printf(p->out, "%s(", n->op->name);
    put_operands(p, n);
    put_attrs(p, n, end);
    str_put(p->out, end);
}

static void put_header(const printer *p)
{
    const ir_graph *g = p->g;
    str_put(p->out, "def @main(");
    for (size_t i = 0; i < g->n_inputs; i++) {
        put_value(p, p->out, g->inputs[i]);
        str_printf(p->out, ": %s, ", ir_type_text(p->out->a, &g->inputs[i]->type));
    }
    str_put(p->out, "output_names=[");
    for (size_t i = 0; i < g->n_outputs; i++) {
        str_put(p->out, i ? ", " : "");
        str_put_quoted(p->out, g->output_names[i], "x");
    }
    str_put(p->out, "]) {\n");
}

/* The outputs on a line of their own: one value or a tuple. */
static void put_outputs(const printer *p)
{
    const ir_graph *g = p->g;
    str_put(p->out, g->n_outputs == 1 ? "  " : "  (");
    for (size_t i = 0; i < g->n_outputs; i++) {
        str_put(p->out, i ? ", " : "");
        put_value(p, p->out, g->outputs[i]);
    }
    str_put(p->out, g->n_outputs == 1 ? "\n" : ")\n");
}

/* The only output is the only result of the last node: that node stands as the function's
 * result. */
static bool ends_in_node(const ir_graph *g)
{
    if (g->n_outputs != 1 || g->n_nodes == 0)
        return false;
    const ir_node *last = g->nodes[g->n_nodes - 1];
    return last->n_results == 1 && g->outputs[0] == last->results[0];
}

void ir_print(const ir_graph *g, bool layers, str *out)
{
    size_t n_used;
    ir_value **used = ir_used_constants(g, out->a, &n_used);
    int32_t *numbers = arena_array(out->a, g->n_constants, sizeof *numbers);
    for (size_t i = 0; i < n_used; i++)
        numbers[used[i]->index] = (int32_t)i;
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i]->id = (int32_t)i;
    printer p = {.g = g, .out = out, .layers = layers, .numbers = numbers, .columns = LINE_COLUMNS};
    bool inline_result = ends_in_node(g);
    put_header(&p);
    for (size_t i = 0; i < g->n_nodes; i++) {
        bool result = inline_result && i + 1 == g->n_nodes;
        put_node(&p, g->nodes[i], !result, result ? ")" : ");");
        str_put(out, "\n");
    }
    if (!inline_result)
        put_outputs(&p);
    str_put(out, "}\n");
}

void ir_print_node(const ir_graph *g, const ir_node *n, bool layers, str *out)
{
    printer p = {.g = g, .out = out, .layers = layers, .columns = SIZE_MAX};
    put_node(&p, n, true, ")");
}
