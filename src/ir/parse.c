/* SPDX-License-Identifier: Apache-2.0
 *
 * parse.c - text form -> graph (grammar: docs/ir.md). One pass over the tokens, no recursion; every
 * node is checked and typed as soon as it is read, so a graph that comes out is a verified one.
 * Failures name line and column.
 */
#include "ir/parse.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_EDGES = 1024, MAX_NODES = 1 << 20 };

typedef struct parser {
    ir_lexer lx;
    ir_graph *g;
    ir_header *header;
    const char *names[MAX_EDGES]; /* output_names */
    size_t n_names;
    bool has_names;
    ir_arg args[IR_MAX_ARGS]; /* of the call being read */
} parser;

/* ---- first line: #[version = "1", constants = "..."] ---- */
static cgc_status parse_header_field(parser *p)
{
    ir_lexer *lx = &p->lx;
    bool version = ir_lex_is_name(lx, "version");
    if (!version && !ir_lex_is_name(lx, "constants"))
        return ir_lex_fail(lx, "version or constants");
    TRY(ir_lex_next(lx));
    TRY(ir_lex_expect(lx, '='));
    if (lx->tok.kind != IR_TOK_STRING)
        return ir_lex_fail(lx, "a string in quotes");
    if (!version) {
        p->header->constants = lx->tok.text;
    } else if (strcmp(lx->tok.text, "1") != 0) {
        diag_info info = {.setting = "version",
                          .found = lx->tok.text,
                          .wanted = "\"1\"",
                          .cure = "read the file with the release that wrote it, or a later one"};
        return diag(lx->ctx, CGC_E_FORMAT, info, "the graph text has an unknown format version");
    } else {
        p->header->present = true;
    }
    return ir_lex_next(lx);
}

static cgc_status parse_header(parser *p)
{
    bool more = true, taken;
    TRY(ir_lex_accept(&p->lx, '#', &taken));
    if (!taken)
        return CGC_OK;
    TRY(ir_lex_expect(&p->lx, '['));
    while (more) {
        TRY(parse_header_field(p));
        TRY(ir_lex_accept(&p->lx, ',', &more));
    }
    if (!p->header->present)
        return ir_lex_fail(&p->lx, "version = \"1\"");
    return ir_lex_expect(&p->lx, ']');
}

/* ---- parameters ---- */
static cgc_status parse_dims(parser *p, ir_type *t)
{
    ir_lexer *lx = &p->lx;
    bool more = true;
    TRY(ir_lex_expect(lx, '('));
    while (more && !ir_lex_is(lx, ')')) {
        if (lx->tok.kind != IR_TOK_INT)
            return ir_lex_fail(lx, "a dimension");
        if (t->rank == IR_MAX_RANK)
            return ir_lex_fail(lx, "')': a tensor has at most 8 dimensions");
        t->dims[t->rank++] = lx->tok.i;
        TRY(ir_lex_next(lx));
        TRY(ir_lex_accept(lx, ',', &more));
    }
    return ir_lex_expect(lx, ')');
}

/* Tensor[(1, 3, 8, 8), float32] */
static cgc_status parse_type(parser *p, ir_type *t)
{
    ir_lexer *lx = &p->lx;
    *t = (ir_type){0};
    TRY(ir_lex_expect_name(lx, "Tensor"));
    TRY(ir_lex_expect(lx, '['));
    TRY(parse_dims(p, t));
    TRY(ir_lex_expect(lx, ','));
    if (lx->tok.kind != IR_TOK_NAME || !ir_dtype_by_name(lx->tok.text, &t->dtype))
        return ir_lex_fail(lx, "an element type such as float32 or int8");
    TRY(ir_lex_next(lx));
    return ir_lex_expect(lx, ']');
}

static ir_value *find_input(const ir_graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_inputs; i++)
        if (strcmp(g->inputs[i]->name, name) == 0)
            return g->inputs[i];
    return NULL;
}

static cgc_status parse_param(parser *p)
{
    ir_lexer *lx = &p->lx;
    ir_token place = lx->tok;
    ir_type type;
    if (find_input(p->g, place.text))
        return ir_lex_fail(lx, "a name that no other parameter has");
    if (p->g->n_inputs == MAX_EDGES)
        return ir_lex_fail(lx, "at most 1024 parameters");
    TRY(ir_lex_next(lx));
    TRY(ir_lex_expect(lx, ':'));
    TRY(parse_type(p, &type));
    cgc_status status =
        ir_type_check(lx->ctx, &type, (diag_info){.setting = place.text}, "a parameter");
    if (status != CGC_OK) {
        ir_lex_append_place(lx, &place);
        return status;
    }
    (void)ir_add_input(p->g, place.text, &type);
    return CGC_OK;
}

static cgc_status parse_output_names(parser *p)
{
    ir_lexer *lx = &p->lx;
    bool more = true;
    p->has_names = true;
    TRY(ir_lex_next(lx));
    TRY(ir_lex_expect(lx, '='));
    TRY(ir_lex_expect(lx, '['));
    while (more && !ir_lex_is(lx, ']')) {
        if (lx->tok.kind != IR_TOK_STRING)
            return ir_lex_fail(lx, "an output's name in quotes");
        for (size_t i = 0; i < p->n_names; i++)
            if (strcmp(p->names[i], lx->tok.text) == 0)
                return ir_lex_fail(lx, "a name that no other output has");
        if (p->n_names == MAX_EDGES)
            return ir_lex_fail(lx, "at most 1024 outputs");
        p->names[p->n_names++] = lx->tok.text;
        TRY(ir_lex_next(lx));
        TRY(ir_lex_accept(lx, ',', &more));
    }
    return ir_lex_expect(lx, ']');
}

static cgc_status parse_params(parser *p)
{
    ir_lexer *lx = &p->lx;
    bool more = true;
    TRY(ir_lex_expect(lx, '('));
    while (more && !ir_lex_is(lx, ')')) {
        if (lx->tok.kind == IR_TOK_VALUE_NAME && !p->has_names)
            TRY(parse_param(p));
        else if (ir_lex_is_name(lx, "output_names") && !p->has_names)
            TRY(parse_output_names(p));
        else
            return ir_lex_fail(lx, "%name: Tensor[...] or, last, output_names=[...]");
        TRY(ir_lex_accept(lx, ',', &more));
    }
    return ir_lex_expect(lx, ')');
}

/* ---- values ---- */
static int compare_id(const void *key, const void *node)
{
    int32_t id = *(const int32_t *)key, other = (*(const ir_node *const *)node)->id;
    return (id > other) - (id < other);
}

/* While a text is read, a node's id is the number that it has there; they only grow. */
static ir_value *find_result(const ir_graph *g, const ir_arg *arg)
{
    int32_t id = (int32_t)arg->i;
    ir_node *const *at =
        g->n_nodes ? bsearch(&id, (const void *)g->nodes, g->n_nodes, sizeof *g->nodes, compare_id)
                   : NULL;
    if (!at)
        return NULL;
    bool single = (*at)->n_results == 1;
    if (single ? arg->result >= 0 : arg->result < 0 || arg->result >= (*at)->n_results)
        return NULL;
    return (*at)->results[single ? 0 : arg->result];
}

static bool is_value(const ir_arg *arg)
{
    return arg->kind == IR_LIT_VALUE_NAME || arg->kind == IR_LIT_VALUE_ID ||
           arg->kind == IR_LIT_CONSTANT;
}

static cgc_status find_value(parser *p, const ir_arg *arg, ir_value **out)
{
    ir_graph *g = p->g;
    *out = NULL;
    if (arg->kind == IR_LIT_VALUE_NAME)
        *out = find_input(g, arg->text);
    else if (arg->kind == IR_LIT_VALUE_ID)
        *out = find_result(g, arg);
    else if (arg->i < (int64_t)g->n_constants)
        *out = g->constants[arg->i];
    if (*out)
        return CGC_OK;
    const ir_token *t = &arg->place;
    int shown = t->length > 60 ? 60 : (int)t->length;
    diag_info info = {.found = arena_printf(&g->ctx->arena, "'%.*s'", shown, t->start),
                      .wanted =
                          arg->kind == IR_LIT_CONSTANT
                              ? arena_printf(&g->ctx->arena, "an index below %zu", g->n_constants)
                              : "a parameter or the result of an earlier line"};
    return diag(g->ctx, CGC_E_FORMAT, info,
                "line %d, column %d of the %s: a value that is not there", (int)t->line,
                (int)t->column, p->lx.what);
}

/* ---- calls ---- */
typedef struct call {
    const char *op_name, *layer;
    const op_info *op;
    ir_token place; /* of the operator; of the argument at fault after a failure */
    ir_arg *args;
    int32_t n_args;
    ir_value *inputs[IR_MAX_INPUTS];
    int32_t n_inputs; /* highest given + 1 */
    bool is_operand[IR_MAX_ARGS];
} call;

static cgc_status parse_call_args(parser *p, call *c)
{
    ir_lexer *lx = &p->lx;
    bool more = true;
    c->layer = "";
    c->args = p->args;
    TRY(ir_lex_expect(lx, '('));
    while (more && !ir_lex_is(lx, ')')) {
        if (c->n_args == IR_MAX_ARGS)
            return ir_lex_fail(lx, "')': a call has at most 96 arguments");
        ir_arg *arg = &c->args[c->n_args];
        TRY(ir_parse_arg(lx, arg));
        if (arg->name && strcmp(arg->name, "layer") == 0 && arg->kind == IR_LIT_STRING)
            c->layer = arg->text;
        else
            c->n_args++;
        TRY(ir_lex_accept(lx, ',', &more));
    }
    return ir_lex_expect(lx, ')');
}

/* Operand that the argument fills: by its name, or the next one that is not a keyword; -1: none,
 * an attribute. */
static int32_t operand_index(const call *c, const ir_arg *arg, int32_t next)
{
    for (int32_t i = 0; i < c->op->n_inputs; i++) {
        const op_input *in = &c->op->inputs[i];
        if (arg->name ? strcmp(in->name, arg->name) == 0 : i >= next && !in->keyword)
            return i;
    }
    return -1;
}

/* Sorts the arguments that are values into operands. A constant beyond the operands is a
 * per-channel attribute. */
static cgc_status take_operands(parser *p, call *c)
{
    int32_t next = 0;
    for (int32_t k = 0; k < c->n_args; k++) {
        const ir_arg *arg = &c->args[k];
        int32_t i = is_value(arg) ? operand_index(c, arg, next) : -1;
        if (i < 0) {
            if (arg->kind != IR_LIT_VALUE_NAME && arg->kind != IR_LIT_VALUE_ID)
                continue;
            diag_info info = {.layer = c->layer, .op = c->op->name, .setting = arg->name};
            info.wanted =
                arena_printf(&p->lx.ctx->arena, "at most %d operands", (int)c->op->n_inputs);
            c->place = arg->place;
            return diag(p->lx.ctx, CGC_E_ARGUMENT, info, "a value that is no operand");
        }
        if (c->inputs[i]) {
            diag_info info = {
                .layer = c->layer, .op = c->op->name, .setting = c->op->inputs[i].name};
            return diag(p->lx.ctx, CGC_E_ARGUMENT, info, "operand %s is given twice",
                        c->op->inputs[i].name);
        }
        TRY(find_value(p, arg, &c->inputs[i]));
        c->is_operand[k] = true;
        if (!arg->name)
            next = i + 1;
        if (i >= c->n_inputs)
            c->n_inputs = i + 1;
    }
    return CGC_OK;
}

static cgc_status build_node(parser *p, call *c, ir_node **out)
{
    uint64_t given = 0;
    if (c->op->n_inputs > IR_MAX_INPUTS)
        return diag(p->lx.ctx, CGC_E_INTERNAL, (diag_info){.op = c->op->name},
                    "too many operands in its table");
    TRY(take_operands(p, c));
    ir_node *n = ir_make_node(p->g, c->op, c->inputs, c->n_inputs, c->layer);
    for (int32_t k = 0; k < c->n_args; k++) {
        if (c->is_operand[k])
            continue;
        if (c->args[k].kind == IR_LIT_INPUT)
            return ir_lex_fail_at(&p->lx, &c->args[k].place, "meta[relay.Constant][i] in a graph");
        ir_token place = c->place;
        c->place = c->args[k].place;
        TRY(ir_apply_arg(p->g, n, &c->args[k], &given));
        c->place = place;
    }
    *out = n;
    return ir_infer(p->g, n);
}

static cgc_status parse_call(parser *p, ir_node **out)
{
    ir_lexer *lx = &p->lx;
    call c = {.place = lx->tok};
    if (lx->tok.kind != IR_TOK_NAME)
        return ir_lex_fail(lx, "an operator");
    c.op_name = lx->tok.text;
    TRY(ir_lex_next(lx));
    TRY(parse_call_args(p, &c));
    c.op = op_by_name(c.op_name);
    cgc_status status = c.op ? build_node(p, &c, out) : op_unknown(lx->ctx, c.op_name, c.layer);
    if (status != CGC_OK && status != CGC_E_FORMAT)
        ir_lex_append_place(lx, &c.place);
    return status;
}

/* ---- body ---- */
/* %3 = call; with %3 already taken. */
static cgc_status parse_assignment(parser *p, const ir_arg *target)
{
    ir_node *n = NULL;
    int32_t last = p->g->n_nodes ? p->g->nodes[p->g->n_nodes - 1]->id : -1;
    if (target->kind != IR_LIT_VALUE_ID || target->result >= 0 || target->i <= last)
        return ir_lex_fail(&p->lx, "numbers that grow from line to line before '='");
    if (p->g->n_nodes == MAX_NODES)
        return ir_lex_fail(&p->lx, "at most 1048576 lines");
    TRY(ir_lex_expect(&p->lx, '='));
    TRY(parse_call(p, &n));
    ir_append(p->g, n);
    n->id = (int32_t)target->i; /* NOLINT(clang-analyzer-core.NullDereference): OK sets n */
    return ir_lex_expect(&p->lx, ';');
}

/* Behind '(': values up to ')'. */
static cgc_status parse_tuple(parser *p, ir_value **outputs, size_t *n)
{
    bool more = true;
    TRY(ir_lex_expect(&p->lx, '('));
    while (more && !ir_lex_is(&p->lx, ')')) {
        ir_arg arg;
        if (*n == MAX_EDGES)
            return ir_lex_fail(&p->lx, "at most 1024 outputs");
        TRY(ir_parse_arg(&p->lx, &arg));
        if (!is_value(&arg) || arg.name)
            return ir_lex_fail(&p->lx, "only values in the result");
        TRY(find_value(p, &arg, &outputs[(*n)++]));
        TRY(ir_lex_accept(&p->lx, ',', &more));
    }
    return ir_lex_expect(&p->lx, ')');
}

/* Lines up to '}'; the last one, without ';', is the result. */
static cgc_status parse_body(parser *p, ir_value **outputs, size_t *n)
{
    ir_lexer *lx = &p->lx;
    for (;;) {
        ir_arg arg;
        if (ir_lex_is(lx, '('))
            return parse_tuple(p, outputs, n);
        if (lx->tok.kind == IR_TOK_NAME && strcmp(lx->tok.text, "meta") != 0) {
            ir_node *node = NULL;
            TRY(parse_call(p, &node));
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): OK sets node */
            if (node->n_results != 1)
                return ir_lex_fail(lx, "a name for each result: %n = ...; (%n.0, %n.1)");
            ir_append(p->g, node);
            outputs[(*n)++] = node->results[0];
            return CGC_OK;
        }
        TRY(ir_parse_arg(lx, &arg));
        if (!is_value(&arg))
            return ir_lex_fail(lx, "%n = operator(...); or the result");
        if (!ir_lex_is(lx, '='))
            return find_value(p, &arg, &outputs[(*n)++]);
        TRY(parse_assignment(p, &arg));
    }
}

static cgc_status set_outputs(parser *p, ir_value **outputs, size_t n)
{
    if (n == 0 || (p->has_names && n != p->n_names)) {
        diag_info info = {.setting = "output_names"};
        info.found = arena_printf(&p->lx.ctx->arena, "%zu outputs and %zu names", n, p->n_names);
        info.wanted = "one name per output, at least one output";
        return diag(p->lx.ctx, CGC_E_FORMAT, info, "output_names does not fit the result");
    }
    ir_set_outputs(p->g, outputs, p->has_names ? p->names : NULL, n);
    return CGC_OK;
}

static cgc_status parse_function(parser *p)
{
    ir_lexer *lx = &p->lx;
    ir_value **outputs = arena_array(lx->a, MAX_EDGES, sizeof *outputs);
    size_t n = 0;
    TRY(parse_header(p));
    TRY(ir_lex_expect_name(lx, "def"));
    if (lx->tok.kind != IR_TOK_GLOBAL || strcmp(lx->tok.text, "main") != 0)
        return ir_lex_fail(lx, "'@main'");
    TRY(ir_lex_next(lx));
    TRY(parse_params(p));
    TRY(ir_lex_expect(lx, '{'));
    TRY(parse_body(p, outputs, &n));
    TRY(ir_lex_expect(lx, '}'));
    if (lx->tok.kind != IR_TOK_END)
        return ir_lex_fail(lx, "nothing behind the function");
    for (size_t i = 0; i < p->g->n_nodes; i++)
        p->g->nodes[i]->id = (int32_t)i;
    return set_outputs(p, outputs, n);
}

static cgc_status add_constants(ir_graph *g, const ir_tensor *constants, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        TRY(ir_type_check(g->ctx, &constants[i].type, (diag_info){0},
                          arena_printf(&g->ctx->arena, "meta[relay.Constant][%zu]", i)));
        (void)ir_add_constant(g, &constants[i].type, constants[i].data);
    }
    return CGC_OK;
}

cgc_status ir_parse_text(cgc_ctx *ctx, const char *text, size_t bytes, const ir_tensor *constants,
                         size_t n_constants, ir_header *out_header, ir_graph **out)
{
    ir_graph *g = ir_graph_new(ctx);
    parser *p = arena_alloc(&g->arena, sizeof *p);
    p->g = g;
    p->header = out_header;
    p->lx.what = "graph text";
    *out_header = (ir_header){0};
    cgc_status status = add_constants(g, constants, n_constants);
    if (status == CGC_OK)
        status = ir_lex_init(&p->lx, ctx, &g->arena, text, bytes);
    if (status == CGC_OK)
        status = parse_function(p);
    if (status != CGC_OK) {
        ir_graph_free(g);
        return status;
    }
    *out = g;
    return CGC_OK;
}

cgc_status ir_parse(cgc_ctx *ctx, const char *text, size_t bytes, const ir_tensor *constants,
                    size_t n_constants, ir_graph **out)
{
    ir_header header;
    return ir_parse_text(ctx, text, bytes, constants, n_constants, &header, out);
}
