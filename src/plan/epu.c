/* SPDX-License-Identifier: Apache-2.0
 *
 * epu.c - lowered graph -> plan of the EPU program: which steps run on the array, in which
 * mapping, and where everything lies in OCM. What the array cannot take runs its portable kernel
 * on the scalar core, with the reason in the step and in a note.
 * OCM: activations from its start by lifetime (plan_memory); the rest is a ring for weights
 * (epu_stream.c).
 */
#include "plan/epu.h"

#include <string.h>

enum { OCM_ALIGN = 64 };

const plan_buffer *epu_input(const plan_step *s, int32_t k)
{
    const epu_step *e = epu_of(s);
    return k < 2 && e->stage_in[k] ? e->stage_in[k] : s->inputs[k];
}

const plan_buffer *epu_output(const plan_step *s)
{
    const epu_step *e = epu_of(s);
    return e->stage_out ? e->stage_out : s->output;
}

/* ---- what keeps a step off the array, apart from sizes ---- */

static bool is_constant(const ir_value *v)
{
    return v && v->kind == IR_VALUE_CONSTANT;
}

const char *epu_conv_obstacle(plan *p, const plan_step *s)
{
    const ir_node *n = s->node;
    if (!is_constant(n->inputs[1]))
        return "its weights are computed by the program";
    if (n->n_inputs > 2 && n->inputs[2] && !is_constant(n->inputs[2]))
        return "its bias is computed by the program";
    if (!s->inputs[0])
        return "its input is a constant";
    const ir_type *t = &n->inputs[1]->type;
    const int64_t rows = t->dims[0], row = ir_type_elems(t) / rows;
    const int8_t *w = n->inputs[1]->data;
    for (int64_t o = 0; o < rows; o++) {
        const int32_t zp = ir_zero_point(n, "w_zero_point", o);
        for (int64_t i = 0; zp != 0 && i < row; i++)
            if (w[o * row + i] - zp < -128 || w[o * row + i] - zp > 127)
                return arena_printf(p->arena, "weights less their zero point %d leave int8", zp);
    }
    return NULL;
}

static const char *add_obstacle(const plan_step *s)
{
    const ir_node *n = s->node;
    for (int32_t k = 0; k < 2; k++)
        if (ir_type_elems(&n->inputs[k]->type) != ir_type_elems(&n->results[0]->type))
            return "one operand is broadcast";
    if (!s->inputs[0] && !s->inputs[1])
        return "both operands are constants";
    return NULL;
}

/* NULL if some mapping may take the step. */
static const char *obstacle(plan *p, const plan_step *s)
{
    const ir_node *n = s->node;
    if (!n)
        return s->inputs[0] && s->inputs[0]->layout == s->output->layout ? "copy of a graph output"
                                                                         : "change of layout";
    switch (op_id_of(n->op)) {
    case OP_qlinear_conv2d:
    case OP_qlinear_dense:
        return epu_conv_obstacle(p, s);
    case OP_qnn_add:
        return add_obstacle(s);
    case OP_table:
        return is_constant(n->inputs[1]) ? NULL : "its table is computed by the program";
    case OP_max_pool2d:
        return s->output->dtype == IR_int8 ? NULL : "float32 layer";
    case OP_qnn_avg_pool2d:
        return NULL;
    case OP_quantize:
    case OP_dequantize:
        return s->inputs[0] ? NULL : "its operand is a constant";
    default:
        return "float32 layer";
    }
}

/* ---- buffers ---- */

static bool in_ddr(const plan_buffer *b)
{
    return b && b->space != PLAN_ARENA;
}

/* Copies in OCM of what an array step reads from DDR or writes to it. Float planes are staged by parts. */
static void add_stages(plan *p, plan_step *s)
{
    epu_step *e = epu_of(s);
    const bool q = op_is(s->node, OP_quantize), dq = op_is(s->node, OP_dequantize);
    for (int32_t k = 0; k < 2 && !q; k++)
        if (in_ddr(s->inputs[k]))
            e->stage_in[k] = plan_add_scratch(p, s, s->inputs[k]->bytes);
    if (in_ddr(s->output) && !dq)
        e->stage_out = plan_add_scratch(p, s, s->output->bytes);
}

static int64_t live_bytes(const plan *p, int32_t step)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const plan_buffer *b = p->buffers[i];
        if (b->space == PLAN_ARENA && !b->alias_of && b->first >= 0 && b->first <= step &&
            b->last >= step)
            sum += b->bytes;
    }
    return sum;
}

static cgc_status check_activations(plan *p)
{
    if (p->arena_bytes <= p->hw.ocm_size)
        return CGC_OK;
    size_t worst = 0;
    for (size_t i = 1; i < p->n_steps; i++)
        if (live_bytes(p, (int32_t)i) > live_bytes(p, (int32_t)worst))
            worst = i;
    const plan_step *s = p->steps[worst];
    diag_info info = {
        .layer = s->name, .op = s->node ? s->node->op->name : "relayout", .setting = "ocm_size"};
    info.found = arena_printf(p->arena, "%d bytes", p->hw.ocm_size);
    info.wanted = arena_printf(p->arena, "%lld bytes (%lld live in this layer)",
                               (long long)p->arena_bytes, (long long)live_bytes(p, (int32_t)worst));
    info.cure = "choose a target with more OCM, or a smaller batch or image";
    return diag(p->ctx, CGC_E_FIT, info, "the activations do not fit OCM");
}

/* ---- mappings ---- */

/* Both convolution mappings; the cheaper one. */
static const char *map_conv(plan *p, plan_step *s, int64_t room)
{
    epu_step pixel = *epu_of(s), channel = *epu_of(s);
    const char *why = epu_plan_pixel(p, s, room, &pixel);
    const char *why_channel = epu_plan_channel(p, s, room, &channel);
    if (why && why_channel)
        return why;
    const bool take_pixel = !why && (why_channel || pixel.cycles <= channel.cycles);
    *epu_of(s) = take_pixel ? pixel : channel;
    s->mapping = take_pixel ? PLAN_MAP_conv2d_pixel : PLAN_MAP_conv2d_channel;
    s->text = epu_text_conv(p, s);
    return NULL;
}

static const char *map_step(plan *p, plan_step *s, int64_t room)
{
    static const struct {
        op_id op;
        plan_mapping_id mapping;
    } mappings[] = {
#define MAPPING(name, op, unit, meaning) {OP_##op, PLAN_MAP_##name},
#include "plan/mappings.def"
#undef MAPPING
    };
    const op_id id = op_id_of(s->node->op);
    if (id == OP_qlinear_conv2d || id == OP_qlinear_dense)
        return map_conv(p, s, room);
    const char *why = NULL;
    if (id == OP_qnn_add || id == OP_table)
        why = epu_plan_flat(p, s, epu_of(s));
    else if (id == OP_max_pool2d || id == OP_qnn_avg_pool2d)
        why = epu_plan_pool(p, s, room, epu_of(s));
    for (size_t i = 0; i < sizeof mappings / sizeof *mappings && !why; i++)
        if (mappings[i].op == id)
            s->mapping = mappings[i].mapping;
    if (!why)
        s->text = epu_text_other(p, s);
    return why;
}

static cgc_status go_scalar(plan *p, plan_step *s, const char *why)
{
    epu_step *e = epu_of(s);
    *e = (epu_step){.cycles = 0};
    s->mapping = PLAN_MAP_scalar;
    s->reason = why;
    return note(p->ctx,
                (diag_info){.layer = s->name,
                            .op = s->node ? s->node->op->name : "relayout",
                            .found = why,
                            .wanted = "the array"},
                "runs on the scalar core: %s", why);
}

static cgc_status prepare(plan *p, const char **out_why)
{
    for (size_t i = 0; i < p->n_steps; i++) {
        plan_step *s = p->steps[i];
        s->detail = arena_alloc(p->arena, sizeof(epu_step));
        out_why[i] = obstacle(p, s);
        if (out_why[i])
            continue;
        if (op_is(s->node, OP_quantize) || op_is(s->node, OP_dequantize))
            out_why[i] = epu_plan_planes(p, s, epu_of(s));
        if (!out_why[i])
            add_stages(p, s);
    }
    TRY(plan_memory(p, OCM_ALIGN));
    return check_activations(p);
}

cgc_status plan_epu(ir_graph *graph, const cgc_hw *hw, const char *module, plan **out)
{
    plan *p;
    TRY(plan_build(graph, PLAN_EPU, module, &p));
    p->hw = *hw;
    p->detail = arena_alloc(p->arena, sizeof(epu_program));
    const char **why = arena_array(p->arena, p->n_steps + 1, sizeof *why);
    TRY(prepare(p, why));
    for (size_t i = 0; i < p->n_steps; i++) {
        plan_step *s = p->steps[i];
        const int64_t room = hw->ocm_size - epu_activation_end(p, (int32_t)i, (int32_t)i);
        if (!why[i])
            why[i] = map_step(p, s, room);
        if (why[i])
            TRY(go_scalar(p, s, why[i]));
    }
    epu_overlap(p);
    TRY(epu_stream(p));
    *out = p;
    return CGC_OK;
}
