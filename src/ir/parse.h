/* SPDX-License-Identifier: Apache-2.0
 *
 * parse.h - what the readers of the text form share: tokens (lex.c), attribute values
 * (parse_attr.c). Internal to src/ir. Nothing here recurses, so no text can exhaust the stack.
 */
#ifndef CGC_IR_PARSE_H
#define CGC_IR_PARSE_H

#include "ops/op.h"

typedef enum ir_token_kind {
    IR_TOK_END,
    IR_TOK_PUNCT,      /* one of ( ) [ ] { } < > , ; : = # */
    IR_TOK_NAME,       /* identifier, may contain dots: nn.relu, True */
    IR_TOK_GLOBAL,     /* @main */
    IR_TOK_VALUE_NAME, /* %x or %"any text": text is the name */
    IR_TOK_VALUE_ID,   /* %3 or %3.1: i and result */
    IR_TOK_STRING,     /* text is what stands between the quotes, escapes resolved */
    IR_TOK_INT,        /* i, and f as float32 */
    IR_TOK_FLOAT       /* f */
} ir_token_kind;

typedef struct ir_token {
    ir_token_kind kind;
    const char *start; /* in the source, for messages */
    size_t length;
    int32_t line, column; /* from 1 */
    char punct;
    const char *text;
    int64_t i;
    int32_t result; /* of %3.1; -1 for %3 */
    float f;
} ir_token;

typedef struct ir_lexer {
    cgc_ctx *ctx;
    arena *a;                          /* for names and strings */
    const char *what;                  /* "graph text", "attribute text" */
    const char *at, *end, *line_start; /* *end == 0 */
    int32_t line;
    ir_token tok; /* the next one, not yet taken */
} ir_lexer;

/* Copies the text into a; reads the first token. */
cgc_status ir_lex_init(ir_lexer *lx, cgc_ctx *ctx, arena *a, const char *text, size_t bytes);
cgc_status ir_lex_next(ir_lexer *lx);
bool ir_lex_is(const ir_lexer *lx, char punct);
bool ir_lex_is_name(const ir_lexer *lx, const char *name);
/* Takes the punctuation if it is there. */
cgc_status ir_lex_accept(ir_lexer *lx, char punct, bool *out_taken);
cgc_status ir_lex_expect(ir_lexer *lx, char punct);
cgc_status ir_lex_expect_name(ir_lexer *lx, const char *name);
/* CGC_E_FORMAT: "line 3, column 9 of the graph text: expected <wanted>, found 'x'". */
cgc_status ir_lex_fail(ir_lexer *lx, const char *wanted);
cgc_status ir_lex_fail_at(ir_lexer *lx, const ir_token *t, const char *wanted);
/* Adds the place to a failure that another part reported. */
void ir_lex_append_place(const ir_lexer *lx, const ir_token *place);

typedef enum ir_literal_kind {
    IR_LIT_INT,
    IR_LIT_FLOAT,
    IR_LIT_BOOL,
    IR_LIT_STRING,
    IR_LIT_INTS,
    IR_LIT_CONSTANT,   /* meta[relay.Constant][i] */
    IR_LIT_INPUT,      /* input[i] */
    IR_LIT_VALUE_NAME, /* %x */
    IR_LIT_VALUE_ID    /* %3, %3.1 */
} ir_literal_kind;

typedef struct ir_arg { /* one argument of a call: name=literal or literal */
    const char *name;   /* NULL: positional */
    ir_token place;     /* its first token */
    ir_literal_kind kind;
    int64_t i;
    float f;
    const char *text;
    const int64_t *ints;
    int32_t n_ints;
    int32_t result;
} ir_arg;

enum { IR_MAX_ARGS = 96, IR_MAX_INTS = 64 };

cgc_status ir_parse_arg(ir_lexer *lx, ir_arg *out);
/* Sets the attribute that the argument names, or for name NULL the next POSITIONAL one that is
 * not in *given (bit i = row i). */
cgc_status ir_apply_arg(ir_graph *g, ir_node *n, const ir_arg *arg, uint64_t *given);
/* The default of a row as a value; not set for a REQUIRED row. */
void ir_attr_default(cgc_ctx *ctx, arena *a, const op_attr *row, ir_attr *out);
/* Kind, range and count of attribute i of n. */
cgc_status ir_attr_check(ir_graph *g, const ir_node *n, int32_t i);

/* First line of a saved file. */
typedef struct ir_header {
    bool present;
    const char *constants; /* checksum of the constants' data, NULL if not given */
} ir_header;
cgc_status ir_parse_text(cgc_ctx *ctx, const char *text, size_t bytes, const ir_tensor *constants,
                         size_t n_constants, ir_header *out_header, ir_graph **out);
/* Constants in order of first use; *out_n of them, in a. */
ir_value **ir_used_constants(const ir_graph *g, arena *a, size_t *out_n);

#endif
