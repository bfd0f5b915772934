/* SPDX-License-Identifier: Apache-2.0
 *
 * dense_window.c - an int8 dense behind the reshape of an image [n, c, h, w] -> [n, c*h*w] becomes
 * the convolution whose window is the whole image. The weight [units, c*h*w] has the bytes of
 * [units, c, h, w] already, and int32 sums do not depend on their order, so every byte stays; but
 * images lie channels last in programs, and the reshape would have to move them first. A table
 * between reshape and dense moves in front of the reshape. Float32 sums have an order: they stay.
 */
#include "passes/pass.h"

#include <string.h>

/* The reshape that flattens an image which is more than one pixel and one channel, or NULL. The
 * image must be computed: graph inputs are not channels last. */
static const ir_node *flattening(const ir_value *v)
{
    const ir_node *n = v->kind == IR_VALUE_RESULT ? v->node : NULL;
    if (!n || !op_is(n, OP_reshape) || n->inputs[0]->kind != IR_VALUE_RESULT)
        return NULL;
    const ir_type *from = &n->inputs[0]->type, *to = &v->type;
    const bool images = from->rank == 4 && to->rank == 2 && to->dims[0] == from->dims[0];
    return images && from->dims[1] > 1 && from->dims[2] * from->dims[3] > 1 ? n : NULL;
}

/* The table over the image instead of over the flattened values. */
static cgc_status table_of_image(ir_graph *g, ir_node *table, ir_value *image, ir_value **out)
{
    ir_value *const operands[] = {image, table->inputs[1]};
    ir_node *n = ir_make_node(g, table->op, operands, 2, table->layer);
    TRY(ir_infer(g, n));
    ir_insert_before(g, table, n);
    *out = n->results[0];
    return CGC_OK;
}

static void copy_attrs(const ir_node *from, ir_node *to)
{
    for (int32_t i = 0; i < to->op->n_attrs; i++)
        for (int32_t k = 0; k < from->op->n_attrs; k++)
            if (strcmp(to->op->attrs[i].name, from->op->attrs[k].name) == 0)
                to->attrs[i] = from->attrs[k];
}

static ir_value *window_weight(ir_graph *g, const ir_value *weight, const ir_type *image)
{
    ir_type t = *image;
    t.dims[0] = weight->type.dims[0];
    return ir_add_constant(g, &t, weight->data);
}

static cgc_status replace(ir_graph *g, ir_node *dense, ir_value *image)
{
    const int64_t padding[4] = {0, 0, 0, 0};
    const bool bias = dense->n_inputs > 2 && dense->inputs[2];
    ir_value *const operands[] = {image, window_weight(g, dense->inputs[1], &image->type),
                                  bias ? dense->inputs[2] : NULL};
    ir_node *conv =
        ir_make_node(g, op_by_id(OP_qlinear_conv2d), operands, bias ? 3 : 2, dense->layer);
    copy_attrs(dense, conv);
    ir_set_int(conv, "channels", dense->results[0]->type.dims[1]);
    ir_set_ints(g, conv, "kernel_size", image->type.dims + 2, 2);
    ir_set_ints(g, conv, "padding", padding, 4);
    ir_set_bool(conv, "bias_fusion", bias);
    TRY(ir_infer(g, conv));
    ir_insert_before(g, dense, conv);
    ir_node *flat = ir_make_node(g, op_by_id(OP_reshape), conv->results, 1, dense->layer);
    ir_set_ints(g, flat, "newshape", dense->results[0]->type.dims, 2);
    TRY(ir_infer(g, flat));
    ir_insert_before(g, dense, flat);
    ir_replace_uses(g, dense->results[0], flat->results[0]);
    ir_remove(g, dense);
    return CGC_OK;
}

static cgc_status try_dense(ir_graph *g, ir_node *dense)
{
    if (dense->inputs[1]->kind != IR_VALUE_CONSTANT)
        return CGC_OK;
    ir_value *x = dense->inputs[0];
    ir_node *table = x->kind == IR_VALUE_RESULT && op_is(x->node, OP_table) ? x->node : NULL;
    const ir_node *reshape = flattening(table ? table->inputs[0] : x);
    if (!reshape)
        return CGC_OK;
    ir_value *image = reshape->inputs[0];
    if (table)
        TRY(table_of_image(g, table, image, &image));
    return replace(g, dense, image);
}

cgc_status pass_dense_window(ir_graph *g)
{
    /* What replaces a node stands before the next one: step over it. */
    for (size_t i = 0; i < g->n_nodes; i++) {
        ir_node *n = g->nodes[i];
        const size_t before = g->n_nodes;
        if (op_is(n, OP_qlinear_dense))
            TRY(try_dense(g, n));
        i += g->n_nodes - before;
    }
    return CGC_OK;
}
