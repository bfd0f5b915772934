/* SPDX-License-Identifier: Apache-2.0
 *
 * test_op_tables.c - what is said about operators in two places is the same: the row of docs/operators.md has every
 * attribute of the table in src/ops/<op>.c, bold where it is always printed, else with its default; the kernels that
 * programs call are in ccl/kernels.def.
 */
#include "base/base.h"
#include "check.h"
#include "ops/op.h"

#include <stdlib.h>

enum { MAX_DOC = 1 << 16, MAX_ROW = 4096 };
static char doc[MAX_DOC];

/* "| name | operands | attributes |" without the first two columns; "" if there is none. */
static void read_row(const char *name, char row[MAX_ROW])
{
    char start[128];
    (void)snprintf(start, sizeof start, "\n| %s | ", name);
    const char *at = strstr(doc, start);
    row[0] = '\0';
    if (!at || !strstr(at + strlen(start), " | "))
        return;
    at = strstr(at + strlen(start), " | ");
    (void)snprintf(row, MAX_ROW, "%.*s", (int)strcspn(at, "\n"), at);
}

static void check_attr(const op_info *op, const op_attr *a, const char *row)
{
    char wanted[256];
    if (a->flags & OP_ATTR_POSITIONAL)
        (void)snprintf(wanted, sizeof wanted, "%s", a->name);
    else if (a->flags & OP_ATTR_ALWAYS)
        (void)snprintf(wanted, sizeof wanted, "**%s**", a->name);
    else
        (void)snprintf(wanted, sizeof wanted, "%s (%s", a->name, a->def ? a->def : "");
    if (!strstr(row, wanted)) {
        printf("docs/operators.md: the row of %s has no '%s'\n", op->name, wanted);
        check_failures++;
    }
}

static bool is_kernel(const char *name)
{
    static const char *const names[] = {
#define KERNEL(name, arch, precondition) #name,
#include "kernels.def"
#undef KERNEL
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

int main(void)
{
    static char path[4096], row[MAX_ROW];
    const char *end = strstr(__FILE__, "tests/unit/test_op_tables.c");
    if (!end)
        return 77; /* compiled without the path of its source */
    (void)snprintf(path, sizeof path, "%.*sdocs/operators.md", (int)(end - __FILE__), __FILE__);
    FILE *f = fopen(path, "r");
    CHECK(f);
    if (!f)
        return check_done();
    doc[fread(doc, 1, MAX_DOC - 1, f)] = '\0';
    (void)fclose(f);
    for (int i = 0; i < OP_COUNT; i++) {
        const op_info *op = op_by_id((op_id)i);
        read_row(op->name, row);
        if (!row[0]) {
            printf("docs/operators.md: no row for %s\n", op->name);
            check_failures++;
        }
        for (int32_t k = 0; k < op->n_attrs; k++) {
            check_attr(op, &op->attrs[k], row);
            CHECK(!op->elementwise || op->attrs[k].type == OP_ATTR_FLOAT);
        }
        CHECK(!op->kernel_s8 || is_kernel(op->kernel_s8));
        CHECK(!op->kernel_f32 || is_kernel(op->kernel_f32));
        CHECK(!op->elementwise || op->kernel_f32);
    }
    return check_done();
}
