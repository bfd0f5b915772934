/* SPDX-License-Identifier: Apache-2.0
 *
 * report.c - figures of the last simulation, per layer and in total, as text, CSV or JSON. Cycles, traffic and
 * stalls come from the simulator; useful multiply-accumulates, mappings and reasons from the manifest; the rest
 * is arithmetic:
 *   mac_utilization = macs / (cycles * PEs * macs_per_pe)
 *   roofline_cycles = max(macs / (PEs * macs_per_pe), DDR bytes / ddr_bytes_per_cycle), rounded up; of a layer
 *                     without DDR, as what it asks DDR for may serve a later one and be written during it
 *   bound           = ddr for a layer that waited for data from DDR in more than a tenth of its cycles, else which of
 *                     compute, ddr (of a layer: writing), array-port, scalar was busy longest
 */
#include "run/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const queue_names[ISS_QUEUES] = {"dmi", "dmo", "ald", "ast", "arr", "scalar"};
static const char *const stall_names[ISS_STALLS] = {"idle", "wait", "port", "latency", "full"};

typedef struct row {
    int32_t id;
    const char *name, *op, *mapping, *unit, *reason, *tiles, *bound;
    uint64_t macs, roofline;
    double utilization;
    const iss_stats *s;
} row;

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return b ? (a + b - 1) / b : 0;
}

/* What DMI moves while a layer runs may be for a later one, so a layer counts what it waited for instead. */
static const char *find_bound(const iss_stats *s, bool whole)
{
    static const char *const words[] = {"compute", "ddr", "array-port", "scalar"};
    const uint64_t busy[] = {s->busy[ISS_Q_ARR],
                             s->busy[ISS_Q_DMO] + (whole ? s->busy[ISS_Q_DMI] : 0),
                             s->busy[ISS_Q_ALD] + s->busy[ISS_Q_AST], s->busy[ISS_Q_SCALAR]};
    int most = 0;
    if (!whole && s->starved > s->cycles / 10)
        return words[1];
    for (int i = 1; i < 4; i++)
        most = busy[i] > busy[most] ? i : most;
    return busy[most] ? words[most] : "-";
}

static void finish_row(const cgc_hw *hw, row *r)
{
    uint64_t peak = (uint64_t)hw_pes(hw) * (uint64_t)hw->macs_per_pe;
    uint64_t compute = divide_up(r->macs, peak);
    uint64_t ddr =
        divide_up(r->s->ddr_read_bytes + r->s->ddr_write_bytes, (uint64_t)hw->ddr_bytes_per_cycle);
    r->roofline = r->id < 0 && ddr > compute ? ddr : compute;
    r->utilization = r->s->cycles ? (double)r->macs / ((double)r->s->cycles * (double)peak) : 0;
    r->bound = find_bound(r->s, r->id < 0);
}

static row layer_row(const cgc_program *p, int32_t i)
{
    row r = {.id = i, .s = &p->per_layer[i]};
    r.name = "(start)";
    r.op = r.mapping = r.unit = r.reason = r.tiles = "";
    if (i > 0) {
        const run_layer *l = &p->layers[i - 1];
        r.name = l->name[0] ? l->name : l->value;
        r.op = l->op;
        r.mapping = l->mapping;
        r.unit = l->unit;
        r.reason = l->reason;
        r.tiles = l->text;
        r.macs = (uint64_t)l->macs;
    }
    finish_row(&p->hw, &r);
    return r;
}

static row total_row(const cgc_program *p)
{
    row r = {.id = -1,
             .name = "total",
             .op = "",
             .mapping = "",
             .unit = "",
             .reason = "",
             .tiles = "",
             .s = &p->total};
    for (int32_t i = 0; i < p->n_layers; i++)
        r.macs += (uint64_t)p->layers[i].macs;
    finish_row(&p->hw, &r);
    return r;
}

/* ---- text ---- */

static const char *clipped(arena *a, const char *text, size_t width)
{
    size_t n = strlen(text);
    return n <= width ? text
                      : arena_printf(a, "%.*s~%s", (int)(width / 2), text,
                                     text + n - (width - width / 2 - 1));
}

static void put_text_row(str *s, const row *r)
{
    const iss_stats *t = r->s;
    str_printf(s,
               "%-28s %-16s %12" PRIu64 " %10" PRIu64 " %6.1f %-10s %10" PRIu64 " %10" PRIu64
               " %8" PRIu64 " %6" PRIu64,
               clipped(s->a, r->name, 28), clipped(s->a, r->mapping, 16), r->macs, t->cycles,
               100 * r->utilization, r->bound, t->ddr_read_bytes, t->ddr_write_bytes,
               t->ocm_peak_bytes, t->lrm_peak_bytes);
    const uint64_t *arr = t->stall[ISS_Q_ARR];
    str_printf(s, " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n", t->busy[ISS_Q_ARR],
               arr[ISS_STALL_IDLE], arr[ISS_STALL_WAIT], t->stall[ISS_Q_SCALAR][ISS_STALL_FULL]);
}

static void put_queues(str *s, const iss_stats *t)
{
    str_printf(s, "\n%-8s %12s %12s", "unit", "operations", "busy");
    for (int k = 0; k < ISS_STALLS; k++)
        str_printf(s, " %12s", stall_names[k]);
    str_put(s, "   (busy + stalls = cycles)\n");
    for (int q = 0; q < ISS_QUEUES; q++) {
        str_printf(s, "%-8s %12" PRIu64 " %12" PRIu64, queue_names[q], t->ops[q], t->busy[q]);
        for (int k = 0; k < ISS_STALLS; k++)
            str_printf(s, " %12" PRIu64, t->stall[q][k]);
        str_put(s, "\n");
    }
}

static void put_text_notes(const cgc_program *p, str *s)
{
    const char *title = "\nOn the scalar core:\n";
    for (int32_t i = 0; i < p->n_layers; i++) {
        const run_layer *l = &p->layers[i];
        if (!l->reason[0])
            continue;
        str_printf(s, "%s  %s (%s): %s\n", title, l->name[0] ? l->name : l->value, l->op,
                   l->reason);
        title = "";
    }
    if (p->hw.num_cores > 1)
        str_printf(s, "\n%d of %d cores are not used: programs use one so far.\n",
                   (int)p->hw.num_cores - 1, (int)p->hw.num_cores);
}

static void report_text(const cgc_program *p, str *s)
{
    const cgc_hw *hw = &p->hw;
    const row total = total_row(p);
    str_printf(s, "%s on %dx%d PEs, %d MACs each, %d B LRM, %d B OCM, DDR %d B/cycle\n\n",
               p->module, (int)hw->array_size, (int)hw->array_size, (int)hw->macs_per_pe,
               (int)hw->lrm_size, (int)hw->ocm_size, (int)hw->ddr_bytes_per_cycle);
    str_printf(s, "%-28s %-16s %12s %10s %6s %-10s %10s %10s %8s %6s %9s %9s %9s %9s\n", "layer",
               "mapping", "MACs", "cycles", "util%", "bound", "DDR read", "DDR write", "OCM peak",
               "LRM pk", "arr busy", "arr idle", "arr wait", "core full");
    for (int32_t i = 0; i <= p->n_layers; i++) {
        if (i == 0 && p->per_layer[0].cycles == 0)
            continue;
        const row r = layer_row(p, i);
        put_text_row(s, &r);
    }
    put_text_row(s, &total);
    put_queues(s, &p->total);
    str_printf(s,
               "\ncycles %" PRIu64 " (%.1f us, %.1f inferences/s at %d MHz); roofline %" PRIu64
               " cycles; MAC utilization %.1f %%; DDR %" PRIu64 " bytes; %" PRIu64
               " scalar instructions\n",
               p->total.cycles, (double)p->total.cycles / (double)hw->clock_mhz,
               p->total.cycles ? 1e6 * (double)hw->clock_mhz / (double)p->total.cycles : 0,
               (int)hw->clock_mhz, total.roofline, 100 * total.utilization,
               p->total.ddr_read_bytes + p->total.ddr_write_bytes, p->total.instructions);
    put_text_notes(p, s);
}

/* ---- CSV: one row per layer, the total last ---- */

static void put_csv_text(str *s, const char *text)
{
    str_put(s, "\"");
    for (; *text; text++)
        str_printf(s, *text == '"' ? "\"%c" : "%c", *text);
    str_put(s, "\",");
}

static void put_csv_row(str *s, const row *r)
{
    const iss_stats *t = r->s;
    str_printf(s, "%d,", (int)r->id);
    const char *const words[] = {r->name,  r->op,    r->mapping, r->unit,
                                 r->tiles, r->bound, r->reason};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        put_csv_text(s, words[i]);
    str_printf(s,
               "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
               ",%" PRIu64 ",%" PRIu64,
               r->macs, t->cycles, r->roofline, r->utilization, t->ddr_read_bytes,
               t->ddr_write_bytes, t->ocm_peak_bytes, t->lrm_peak_bytes, t->instructions);
    for (int q = 0; q < ISS_QUEUES; q++) {
        str_printf(s, ",%" PRIu64 ",%" PRIu64, t->ops[q], t->busy[q]);
        for (int k = 0; k < ISS_STALLS; k++)
            str_printf(s, ",%" PRIu64, t->stall[q][k]);
    }
    str_put(s, "\n");
}

static void report_csv(const cgc_program *p, str *s)
{
    str_put(s, "id,layer,op,mapping,unit,tiles,bound,reason,macs,cycles,roofline_cycles,mac_"
               "utilization,ddr_read_bytes,"
               "ddr_write_bytes,ocm_peak_bytes,lrm_peak_bytes,instructions");
    for (int q = 0; q < ISS_QUEUES; q++) {
        str_printf(s, ",%s_ops,%s_busy", queue_names[q], queue_names[q]);
        for (int k = 0; k < ISS_STALLS; k++)
            str_printf(s, ",%s_%s", queue_names[q], stall_names[k]);
    }
    str_put(s, "\n");
    for (int32_t i = 0; i <= p->n_layers; i++) {
        const row r = layer_row(p, i);
        put_csv_row(s, &r);
    }
    const row total = total_row(p);
    put_csv_row(s, &total);
}

/* ---- JSON ---- */

static void put_json_words(str *s, const row *r)
{
    const char *const keys[] = {"layer", "op", "mapping", "unit", "tiles", "bound", "reason"};
    const char *const words[] = {r->name,  r->op,    r->mapping, r->unit,
                                 r->tiles, r->bound, r->reason};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        str_printf(s, "\"%s\": ", keys[i]);
        json_put_string(s, words[i]);
        str_put(s, ", ");
    }
}

static void put_json_row(str *s, const row *r)
{
    const iss_stats *t = r->s;
    str_printf(s, "{\"id\": %d, ", (int)r->id);
    put_json_words(s, r);
    str_printf(s,
               "\"macs\": %" PRIu64 ", \"cycles\": %" PRIu64 ", \"roofline_cycles\": %" PRIu64
               ", \"mac_utilization\": %.6f, ",
               r->macs, t->cycles, r->roofline, r->utilization);
    str_printf(s,
               "\"ddr_bytes\": %" PRIu64 ", \"ddr_read_bytes\": %" PRIu64
               ", \"ddr_write_bytes\": %" PRIu64 ", ",
               t->ddr_read_bytes + t->ddr_write_bytes, t->ddr_read_bytes, t->ddr_write_bytes);
    str_printf(s,
               "\"ocm_peak_bytes\": %" PRIu64 ", \"lrm_peak_bytes\": %" PRIu64
               ", \"instructions\": %" PRIu64,
               t->ocm_peak_bytes, t->lrm_peak_bytes, t->instructions);
    str_put(s, ", \"queues\": {");
    for (int q = 0; q < ISS_QUEUES; q++) {
        str_printf(s, "%s\"%s\": {\"ops\": %" PRIu64 ", \"busy\": %" PRIu64, q ? ", " : "",
                   queue_names[q], t->ops[q], t->busy[q]);
        for (int k = 0; k < ISS_STALLS; k++)
            str_printf(s, ", \"%s\": %" PRIu64, stall_names[k], t->stall[q][k]);
        str_put(s, "}");
    }
    str_put(s, "}}");
}

static void report_json(const cgc_program *p, str *s)
{
    const row total = total_row(p);
    str_put(s, "{\"format\": 1, \"module\": ");
    json_put_string(s, p->module);
    str_put(s, ",\n \"hw\": {");
    const char *sep = "";
#define PARAM(name, type, def, lo, hi, unit, meaning)                                              \
    str_printf(s, "%s\"%s\": %ld", sep, #name, (long)p->hw.name);                                  \
    sep = ", ";
#include "hwconfig.def"
#undef PARAM
    str_printf(s, "},\n \"cores_used\": 1,\n \"total\": ");
    put_json_row(s, &total);
    str_put(s, ",\n \"layers\": [");
    for (int32_t i = 0; i <= p->n_layers; i++) {
        const row r = layer_row(p, i);
        str_put(s, i ? ",\n  " : "\n  ");
        put_json_row(s, &r);
    }
    str_put(s, "]}\n");
}

cgc_status run_report(cgc_program *p, const char *format)
{
    p->text = "";
    if (!p->simulated)
        return diag(p->ctx, CGC_E_ARGUMENT,
                    (diag_info){.cure = "run the program with engine \"iss\" first"},
                    "there is no simulation to report");
    arena_reset(&p->text_arena);
    str s;
    str_init(&s, &p->text_arena);
    if (strcmp(format, "text") == 0)
        report_text(p, &s);
    else if (strcmp(format, "csv") == 0)
        report_csv(p, &s);
    else if (strcmp(format, "json") == 0)
        report_json(p, &s);
    else
        return diag(
            p->ctx, CGC_E_ARGUMENT,
            (diag_info){.setting = "format", .found = format, .wanted = "text, csv or json"},
            "unknown report format");
    p->text = s.data;
    return CGC_OK;
}
