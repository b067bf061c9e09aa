/* The readers of traces on arbitrary bytes: what they accept must become rows that make sense. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "formats/traces/source.h"

#include "ronde/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Memory that a trace may ask for; beyond it the refusal is NO_MEMORY. */
#define HEAP_BYTES_MAX ((size_t)64 << 20)

/* Decoded bytes of a gzip file that are looked at. */
#define DECODED_MAX ((size_t)16 << 20)

static bool is_number(double value)
{
    return isfinite(value) && (value >= 0 || value == -1);
}

static bool has_rank(const struct ronde_explain_row *row, uint32_t rank)
{
    for (uint32_t r = 0; r < row->rank_count; r++)
        if (row->ranks[r] == rank)
            return true;
    return rank == RONDE_TRACE_NONE;
}

static void check_rows(const struct ronde_explanation *found, struct fuzz_verdict *verdict)
{
    const struct ronde_explain_row *rows = found->rows.items;
    for (uint32_t r = 0; r < found->rows.count; r++) {
        const struct ronde_explain_row *row = &rows[r];
        verdict->runs++;
        if (!is_number(row->time_us) || !is_number(row->p90_us) || !is_number(row->waiting_us) ||
            !is_number(row->busbw_GBps) || !is_number(row->late_share) || row->late_share > 1 ||
            row->time_us > row->p90_us || (row->calls > 0) != (row->time_us >= 0))
            fuzz_complain(verdict, "row %u has numbers that make no sense", r);
        if (!has_rank(row, row->late_rank) || row->calls + row->unknown == 0)
            fuzz_complain(verdict, "row %u of nothing, or of a rank that is not in its group", r);
    }
}

/* One kind of trace. */
static void try_format(const char *text, size_t bytes, enum ronde_trace_format format,
                       struct fuzz_verdict *verdict)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    heap.limit_bytes = HEAP_BYTES_MAX;
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_traces traces;
    struct ronde_explanation found = {.mem = &mem};
    struct ronde_error error = {0};
    ronde_traces_open(&traces, &mem);
    enum ronde_status status =
        ronde_traces_add_text(&traces, text, bytes, "input_3", format, &error);
    if (status == RONDE_OK)
        status = ronde_traces_join(&traces, &error);
    if (status == RONDE_OK)
        status = ronde_explain(&traces, RONDE_TRACE_NONE, &mem, &found, &error);
    if (status == RONDE_OK) {
        verdict->is_accepted = true;
        check_rows(&found, verdict);
    } else if ((status != RONDE_BAD_INPUT && status != RONDE_NO_MEMORY) || error.message[0] == '\0') {
        fuzz_complain(verdict, "%s: '%s' with \"%.400s\"", ronde_trace_format_text(format),
                      ronde_status_text(status), error.message);
    }
    ronde_explanation_close(&found);
    ronde_traces_close(&traces);
    fuzz_expect_no_leak(verdict, &heap);
}

/* What gzip files decode to is tried as traces, too. */
static bool decode(const unsigned char *data, size_t bytes, char *to, size_t *out_bytes,
                   struct fuzz_verdict *verdict)
{
    struct gzip *gzip = NULL;
    FILE *file = fmemopen((void *)data, bytes, "rb");
    struct ronde_error error = {0};
    enum ronde_status status = RONDE_OK;
    size_t got = 1;
    *out_bytes = 0;
    if (file) {
        status = gzip_open(&gzip, file, "input", NULL, &error);
        while (status == RONDE_OK && got > 0 && *out_bytes < DECODED_MAX) {
            status = gzip_read(gzip, (unsigned char *)to + *out_bytes, DECODED_MAX - *out_bytes,
                               &got, &error);
            *out_bytes += got;
        }
        if (status != RONDE_OK && ((status != RONDE_BAD_INPUT && status != RONDE_UNAVAILABLE) ||
                                   error.message[0] == '\0'))
            fuzz_complain(verdict, "gzip: '%s'", ronde_status_text(status));
    }
    gzip_close(gzip);
    if (file)
        fclose(file);
    return status == RONDE_OK;
}

void fuzz_traces(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    static char decoded[DECODED_MAX];
    const char *text = (const char *)data;
    memset(out_verdict, 0, sizeof *out_verdict);
    if (bytes > 2 && data[0] == 0x1f && data[1] == 0x8b) {
        if (!decode(data, bytes, decoded, &bytes, out_verdict))
            return;
        text = decoded;
    }
    for (unsigned f = 0; f < RONDE_TRACE_FORMAT_COUNT; f++)
        try_format(text, bytes, (enum ronde_trace_format)f, out_verdict);
}
