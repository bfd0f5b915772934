/* SPDX-License-Identifier: Apache-2.0
 *
 * conv2d_parts.c - what conv2d_pixel and conv2d_channel print alike: the parts into which the sum
 * over a window is cut, and the sets of output channels. Variables of the printed text: set,
 * image, group, k.
 */
#include "emit/epu/epu_emit.h"

void epu_put_part_table(epu_emit *e, const epu_conv *c)
{
    if (c->n_parts == 1)
        return;
    epu_line(e, "/* Parts of the sum: rows, columns and channels of the window. */");
    epu_line(
        e, "static const struct { uint32_t channel; int32_t ky0, kh, pad_x, kw, c; } parts[%d] = {",
        c->n_parts);
    for (int32_t i = 0; i < c->n_parts; i++) {
        const epu_part *t = &c->parts[i];
        epu_line(e, "    {%d, %d, %d, %d, %d, %d},", t->c0, t->ky0, t->kh,
                 c->v.pad_left - t->kx0 * c->v.dil_w, t->kw, t->c);
    }
    epu_line(e, "};");
}

void epu_put_part_weights(epu_emit *e, const epu_conv *c)
{
    if (c->n_parts == 1)
        return;
    epu_line(e, "static const struct { uint32_t at, bytes; } rows[%d] = {", c->n_parts);
    for (int32_t i = 0; i < c->n_parts; i++) {
        const epu_part *t = &c->parts[i];
        epu_line(e, "    {%lld, %d},", (long long)c->block * (EPU_CONST_BYTES + t->offset),
                 t->bytes);
    }
    epu_line(e, "};");
}

void epu_put_part_window(epu_emit *e, const plan_step *s, const epu_conv *c, const char *in)
{
    const epu_view *v = &c->v;
    if (c->n_parts > 1 || v->images > 1 || v->groups > 1)
        epu_line(e, "%sbase = %s%s%s%s;", in, epu_address(e, epu_input(s, 0)),
                 epu_term(e, "image", v->images, v->in_image),
                 epu_term(e, "group", v->groups, v->cin),
                 c->n_parts > 1 ? " + parts[k].channel" : "");
    static const char *const fields[] = {"ky0", "kh", "pad_x", "kw", "c"};
    for (int32_t i = 0; i < 5 && c->n_parts > 1; i++)
        epu_line(e, "%s%s = parts[k].%s;", in, fields[i], fields[i]);
}

const char *epu_set_channel(epu_emit *e, const epu_conv *c)
{
    if (c->blocks == 1 || c->v.cout % c->block == 0)
        return epu_term(e, "set", c->sets, c->blocks == 1 ? c->v.cout : c->block);
    if (c->v.groups == 1)
        return epu_term(e, "set", c->sets, c->block);
    return arena_printf(e->a, " + set / %du * %du + set %% %du * %du", c->blocks, c->v.cout,
                        c->blocks, c->block);
}

void epu_put_channels_of(epu_emit *e, const epu_conv *c, const char *name)
{
    const int32_t last = c->v.cout - (c->blocks - 1) * c->block;
    if (last == c->block)
        epu_line(e, "const uint32_t %s = %du;", name, c->block);
    else if (c->v.groups == 1)
        epu_line(e, "const uint32_t %s = set == %du ? %du : %du;", name, c->blocks - 1, last,
                 c->block);
    else
        epu_line(e, "const uint32_t %s = set %% %du == %du ? %du : %du;", name, c->blocks,
                 c->blocks - 1, last, c->block);
}
