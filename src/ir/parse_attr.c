/* SPDX-License-Identifier: Apache-2.0
 *
 * parse_attr.c - arguments of a call as text ("0.5f, units=4, w_scale=meta[relay.Constant][2]") ->
 * attributes of a node, checked against the operator's table. The graph parser and the API share
 * it.
 */
#include "ir/parse.h"

#include <string.h>

/* ---- literals ---- */
/* "[i]" behind meta[relay.Constant] or input. */
static cgc_status parse_index(ir_lexer *lx, ir_arg *arg)
{
    TRY(ir_lex_expect(lx, '['));
    if (lx->tok.kind != IR_TOK_INT || lx->tok.i < 0 || lx->tok.i > INT32_MAX)
        return ir_lex_fail(lx, "an index");
    arg->i = lx->tok.i;
    TRY(ir_lex_next(lx));
    return ir_lex_expect(lx, ']');
}

static cgc_status parse_word(ir_lexer *lx, ir_arg *arg)
{
    const char *word = lx->tok.text;
    if (strcmp(word, "True") == 0 || strcmp(word, "False") == 0) {
        arg->kind = IR_LIT_BOOL;
        arg->i = word[0] == 'T';
        return ir_lex_next(lx);
    }
    if (strcmp(word, "input") == 0) {
        arg->kind = IR_LIT_INPUT;
        TRY(ir_lex_next(lx));
        return parse_index(lx, arg);
    }
    if (strcmp(word, "meta") != 0)
        return ir_lex_fail(lx, "a value: a number, True, False, a string, a list, "
                               "meta[relay.Constant][i], or name=value");
    arg->kind = IR_LIT_CONSTANT;
    TRY(ir_lex_next(lx));
    TRY(ir_lex_expect(lx, '['));
    TRY(ir_lex_expect_name(lx, "relay.Constant"));
    TRY(ir_lex_expect(lx, ']'));
    return parse_index(lx, arg);
}

static cgc_status parse_ints(ir_lexer *lx, ir_arg *arg)
{
    int64_t ints[IR_MAX_INTS];
    bool more = true;
    arg->kind = IR_LIT_INTS;
    TRY(ir_lex_expect(lx, '['));
    while (more && !ir_lex_is(lx, ']')) {
        if (lx->tok.kind != IR_TOK_INT)
            return ir_lex_fail(lx, "an integer");
        if (arg->n_ints == IR_MAX_INTS)
            return ir_lex_fail(lx, "']': a list has at most 64 integers");
        ints[arg->n_ints++] = lx->tok.i;
        TRY(ir_lex_next(lx));
        TRY(ir_lex_accept(lx, ',', &more));
    }
    int64_t *copy = arena_array(lx->a, (size_t)arg->n_ints, sizeof *copy);
    if (arg->n_ints)
        memcpy(copy, ints, (size_t)arg->n_ints * sizeof *copy);
    arg->ints = copy;
    return ir_lex_expect(lx, ']');
}

static cgc_status parse_literal(ir_lexer *lx, ir_arg *arg)
{
    const ir_token *t = &lx->tok;
    arg->i = t->i;
    arg->f = t->f;
    arg->text = t->text;
    arg->result = t->result;
    switch (t->kind) {
    case IR_TOK_INT:
        arg->kind = IR_LIT_INT;
        break;
    case IR_TOK_FLOAT:
        arg->kind = IR_LIT_FLOAT;
        break;
    case IR_TOK_STRING:
        arg->kind = IR_LIT_STRING;
        break;
    case IR_TOK_VALUE_NAME:
        arg->kind = IR_LIT_VALUE_NAME;
        break;
    case IR_TOK_VALUE_ID:
        arg->kind = IR_LIT_VALUE_ID;
        break;
    case IR_TOK_NAME:
        return parse_word(lx, arg);
    default:
        return ir_lex_is(lx, '[') ? parse_ints(lx, arg) : ir_lex_fail(lx, "a value");
    }
    return ir_lex_next(lx);
}

cgc_status ir_parse_arg(ir_lexer *lx, ir_arg *out)
{
    *out = (ir_arg){.place = lx->tok};
    if (lx->tok.kind == IR_TOK_NAME) {
        const char *p = lx->at + strspn(lx->at, " \t\r\n");
        if (*p == '=') {
            out->name = lx->tok.text;
            TRY(ir_lex_next(lx));
            TRY(ir_lex_expect(lx, '='));
        }
    }
    return parse_literal(lx, out);
}

/* ---- literal -> attribute ---- */
static const char *wanted_text(arena *a, const op_attr *row)
{
    const char *range = row->lo || row->hi ? arena_printf(a, " from %lld to %lld",
                                                          (long long)row->lo, (long long)row->hi)
                                           : "";
    switch (row->type) {
    case OP_ATTR_INT:
        return arena_printf(a, "an integer%s", range);
    case OP_ATTR_BOOL:
        return "True or False";
    case OP_ATTR_FLOAT:
        return "a float32 number such as 0.5f";
    case OP_ATTR_INTS:
        return row->n_ints ? arena_printf(a, "a list of %d integers%s", (int)row->n_ints, range)
                           : arena_printf(a, "a list of integers%s", range);
    case OP_ATTR_STRING:
        return "a string in quotes";
    case OP_ATTR_SCALE:
        return "a finite float32 above 0, or a float32 constant of one per channel";
    case OP_ATTR_ZERO_POINT:
        return "an integer from -128 to 127, or an int32 constant of one per channel";
    }
    return "";
}

static cgc_status bad_attr(ir_graph *g, const ir_node *n, const op_attr *row, const char *found)
{
    diag_info info = ir_where(n, row->name);
    info.found = found;
    info.wanted = wanted_text(&g->ctx->arena, row);
    return diag(g->ctx, CGC_E_ATTR, info, "attribute %s (%s) is unusable", row->name, row->meaning);
}

static const char *literal_text(arena *a, const ir_arg *arg)
{
    return arena_strndup(a, arg->place.start, arg->place.length > 60 ? 60 : arg->place.length);
}

/* The constant that a per-channel attribute names, or, for the evaluation of one operator, the
 * operand. */
static cgc_status resolve_constant(ir_graph *g, const ir_node *n, const op_attr *row,
                                   const ir_arg *arg, ir_value **out)
{
    bool call = arg->kind == IR_LIT_INPUT;
    size_t count = call ? g->n_inputs : g->n_constants;
    *out = NULL;
    if (arg->i < (int64_t)count)
        *out = call ? g->inputs[arg->i] : g->constants[arg->i];
    if (*out)
        return CGC_OK;
    diag_info info = ir_where(n, row->name);
    info.found = arena_printf(&g->ctx->arena, call ? "input[%lld]" : "meta[relay.Constant][%lld]",
                              (long long)arg->i);
    info.wanted = count ? arena_printf(&g->ctx->arena, "an index below %zu", count)
                        : "one value: there are none";
    return diag(g->ctx, CGC_E_ATTR, info, "attribute %s names a constant that is not there",
                row->name);
}

/* Whether a literal of this kind can become an attribute of this type, and the attribute. */
static bool convert(arena *a, const op_attr *row, const ir_arg *arg, ir_attr *out)
{
    bool number = arg->kind == IR_LIT_INT || arg->kind == IR_LIT_FLOAT;
    *out = (ir_attr){.set = true};
    switch (row->type) {
    case OP_ATTR_INT:
    case OP_ATTR_ZERO_POINT:
        out->kind = IR_ATTR_INT;
        out->i = arg->i;
        return arg->kind == IR_LIT_INT;
    case OP_ATTR_BOOL:
        out->kind = IR_ATTR_BOOL;
        out->i = arg->i;
        return arg->kind == IR_LIT_BOOL;
    case OP_ATTR_FLOAT:
    case OP_ATTR_SCALE:
        out->kind = IR_ATTR_FLOAT;
        out->f = arg->f;
        return number;
    case OP_ATTR_STRING:
        out->kind = IR_ATTR_STRING;
        if (arg->kind == IR_LIT_STRING)
            out->s = arena_strdup(a, arg->text);
        return arg->kind == IR_LIT_STRING;
    case OP_ATTR_INTS:
        break;
    }
    out->kind = IR_ATTR_INTS;
    if (arg->kind == IR_LIT_INTS) {
        int64_t *ints = arena_array(a, (size_t)arg->n_ints, sizeof *ints);
        if (arg->ints && arg->n_ints)
            memcpy(ints, arg->ints, (size_t)arg->n_ints * sizeof *ints);
        out->ints = ints;
        out->n_ints = arg->n_ints;
    }
    return arg->kind == IR_LIT_INTS;
}

static bool per_channel(const op_attr *row)
{
    return row->type == OP_ATTR_SCALE || row->type == OP_ATTR_ZERO_POINT;
}

static cgc_status assign(ir_graph *g, ir_node *n, int32_t i, const ir_arg *arg)
{
    const op_attr *row = &n->op->attrs[i];
    bool constant = arg->kind == IR_LIT_CONSTANT || arg->kind == IR_LIT_INPUT;
    if (constant && per_channel(row)) {
        ir_attr a = {.kind = IR_ATTR_TENSOR, .set = true};
        TRY(resolve_constant(g, n, row, arg, &a.tensor));
        n->attrs[i] = a;
    } else {
        ir_attr a;
        if (!convert(&g->arena, row, arg, &a))
            return bad_attr(g, n, row, literal_text(&g->ctx->arena, arg));
        n->attrs[i] = a;
    }
    return ir_attr_check(g, n, i);
}

/* Row of the argument's name, or of the next positional attribute; -1 if there is none. */
static int32_t find_row(const ir_node *n, const ir_arg *arg, uint64_t given)
{
    for (int32_t i = 0; i < n->op->n_attrs; i++) {
        const op_attr *row = &n->op->attrs[i];
        if (arg->name ? strcmp(row->name, arg->name) == 0
                      : (row->flags & OP_ATTR_POSITIONAL) && !(given >> i & 1))
            return i;
    }
    return -1;
}

static cgc_status no_such_attr(ir_graph *g, const ir_node *n, const ir_arg *arg)
{
    cgc_ctx *ctx = g->ctx;
    str names;
    str_init(&names, &ctx->arena);
    for (int32_t i = 0; i < n->op->n_attrs; i++)
        str_printf(&names, "%s%s", i ? ", " : "", n->op->attrs[i].name);
    diag_info info = ir_where(n, arg->name);
    info.wanted =
        names.len ? arena_printf(&ctx->arena, "one of %s", names.data) : "no attribute at all";
    if (arg->name)
        return diag(ctx, CGC_E_ATTR, info, "unknown attribute '%s'", arg->name);
    info.found = literal_text(&ctx->arena, arg);
    return diag(ctx, CGC_E_ATTR, info, "a value without an attribute's name");
}

cgc_status ir_apply_arg(ir_graph *g, ir_node *n, const ir_arg *arg, uint64_t *given)
{
    int32_t i = find_row(n, arg, *given);
    if (i < 0 || i >= 64)
        return no_such_attr(g, n, arg);
    if (*given >> i & 1)
        return diag(g->ctx, CGC_E_ATTR, ir_where(n, arg->name), "attribute %s is given twice",
                    arg->name);
    *given |= (uint64_t)1 << i;
    return assign(g, n, i, arg);
}

cgc_status ir_parse_attrs(ir_graph *g, ir_node *n, const char *text)
{
    ir_lexer lx = {.what = "attribute text"};
    uint64_t given = 0;
    bool more = true;
    TRY(ir_lex_init(&lx, g->ctx, &g->arena, text, strlen(text)));
    while (more && lx.tok.kind != IR_TOK_END) {
        ir_arg arg;
        TRY(ir_parse_arg(&lx, &arg));
        cgc_status status = ir_apply_arg(g, n, &arg, &given);
        if (status != CGC_OK) {
            ir_lex_append_place(&lx, &arg.place);
            return status;
        }
        TRY(ir_lex_accept(&lx, ',', &more));
    }
    return lx.tok.kind == IR_TOK_END ? CGC_OK : ir_lex_fail(&lx, "',' or the end");
}

void ir_attr_default(cgc_ctx *ctx, arena *a, const op_attr *row, ir_attr *out)
{
    ir_lexer lx = {.what = "default of an attribute"};
    ir_arg arg;
    *out = (ir_attr){0};
    if (!row->def)
        return;
    if (ir_lex_init(&lx, ctx, a, row->def, strlen(row->def)) != CGC_OK ||
        ir_parse_arg(&lx, &arg) != CGC_OK || !convert(a, row, &arg, out))
        *out =
            (ir_attr){0}; /* a malformed table reads as "missing": ir_infer names the attribute */
}

/* ---- checks ---- */
static cgc_status check_int(ir_graph *g, const ir_node *n, const op_attr *row, int64_t v)
{
    if ((row->lo == 0 && row->hi == 0) || (v >= row->lo && v <= row->hi))
        return CGC_OK;
    return bad_attr(g, n, row, arena_printf(&g->ctx->arena, "%lld", (long long)v));
}

static cgc_status check_float(ir_graph *g, const ir_node *n, const op_attr *row, float v)
{
    bool finite = v - v == 0.0f;
    if (row->type == OP_ATTR_SCALE ? finite && v > 0.0f : v == v)
        return CGC_OK;
    str s;
    str_init(&s, &g->ctx->arena);
    str_put_f32(&s, v);
    return bad_attr(g, n, row, s.data);
}

static cgc_status check_ints(ir_graph *g, const ir_node *n, const op_attr *row, const ir_attr *a)
{
    if (row->n_ints ? a->n_ints != row->n_ints : a->n_ints > IR_MAX_INTS)
        return bad_attr(g, n, row, arena_printf(&g->ctx->arena, "%d integers", (int)a->n_ints));
    for (int32_t i = 0; i < a->n_ints; i++)
        TRY(check_int(g, n, row, a->ints[i]));
    return CGC_OK;
}

/* Element type and rank; the operator checks the number of channels and, with it, the values. */
static cgc_status check_tensor(ir_graph *g, const ir_node *n, const op_attr *row, const ir_attr *a)
{
    ir_dtype dtype = row->type == OP_ATTR_SCALE ? IR_float32 : IR_int32;
    const ir_value *v = a->tensor;
    if (per_channel(row) && v && v->kind != IR_VALUE_RESULT && v->type.dtype == dtype &&
        v->type.rank == 1)
        return CGC_OK;
    return bad_attr(g, n, row, v ? ir_type_text(&g->ctx->arena, &v->type) : "nothing");
}

static bool kind_fits(const op_attr *row, ir_attr_kind kind)
{
    static const ir_attr_kind kinds[] = {
        [OP_ATTR_INT] = IR_ATTR_INT,       [OP_ATTR_BOOL] = IR_ATTR_BOOL,
        [OP_ATTR_FLOAT] = IR_ATTR_FLOAT,   [OP_ATTR_INTS] = IR_ATTR_INTS,
        [OP_ATTR_STRING] = IR_ATTR_STRING, [OP_ATTR_SCALE] = IR_ATTR_FLOAT,
        [OP_ATTR_ZERO_POINT] = IR_ATTR_INT};
    return kinds[row->type] == kind || (per_channel(row) && kind == IR_ATTR_TENSOR);
}

cgc_status ir_attr_check(ir_graph *g, const ir_node *n, int32_t i)
{
    const op_attr *row = &n->op->attrs[i];
    const ir_attr *a = &n->attrs[i];
    if (!a->set) {
        diag_info info = ir_where(n, row->name);
        info.wanted = wanted_text(&g->ctx->arena, row);
        return diag(g->ctx, CGC_E_ATTR, info, "attribute %s (%s) is missing", row->name,
                    row->meaning);
    }
    if (!kind_fits(row, a->kind))
        return bad_attr(g, n, row, "a value of another kind");
    switch (a->kind) {
    case IR_ATTR_INT:
        if (row->type == OP_ATTR_ZERO_POINT && (a->i < -128 || a->i > 127))
            return bad_attr(g, n, row, arena_printf(&g->ctx->arena, "%lld", (long long)a->i));
        return check_int(g, n, row, a->i);
    case IR_ATTR_FLOAT:
        return check_float(g, n, row, a->f);
    case IR_ATTR_INTS:
        return check_ints(g, n, row, a);
    case IR_ATTR_TENSOR:
        return check_tensor(g, n, row, a);
    case IR_ATTR_BOOL:
    case IR_ATTR_STRING:
        break;
    }
    return CGC_OK;
}
