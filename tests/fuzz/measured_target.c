/* The readers of measurements, tables and nccl-tests logs, on arbitrary bytes. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "ronde/published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Readers take a path: a file without a name in memory has one. Everything a log may lack follows from the input. */
static enum ronde_status read_bytes(const unsigned char *data, size_t bytes,
                                    const struct ronde_mem *mem, struct ronde_published *out,
                                    struct ronde_error *error)
{
    char path[64];
    const int file = memfd_create("measured", 0);
    const struct ronde_published_request request = {.path = path,
                                                    .folder = "/nonexistent",
                                                    .system = bytes % 2 ? "system" : NULL,
                                                    .has_collective = bytes % 3 == 0,
                                                    .collective = RONDE_ALL_REDUCE,
                                                    .ranks = bytes % 5 == 0 ? 8 : 0};
    *out = (struct ronde_published){.mem = mem};
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes)
        return ronde_fail(error, RONDE_IO, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const enum ronde_status status = ronde_published_open(&request, mem, out, error);
    close(file);
    return status;
}

static void check_row(const struct ronde_published *table, const struct ronde_published_row *row,
                      struct fuzz_verdict *verdict)
{
    const struct ronde_nccl_call *call = &row->call;
    /* A row without a time is kept, and not scored; one whose ranks are not equally many on its nodes is not predicted. */
    const bool has_time = row->measured_us > 0;
    if (!isfinite(row->measured_us) || row->measured_us < 0 ||
        (!has_time && row->state <= RONDE_PUBLISHED_FITTED) || call->ranks == 0 ||
        call->bytes == 0 || row->line == 0 || row->system >= table->system_count ||
        (ronde_published_is_predicted(row) && call->ranks % call->nodes != 0))
        fuzz_complain(verdict, "line %u: %g us, %llu bytes, %u ranks on %u nodes", row->line,
                      row->measured_us, (unsigned long long)call->bytes, call->ranks, call->nodes);
}

/* Any rows can be scored on any machine; what it can run has a time. */
static void predict(struct ronde_published *table, struct fuzz_verdict *verdict)
{
    struct ronde_nccl_constants constants;
    struct ronde_published_score score;
    struct ronde_error error = {0};
    const struct ronde_nccl_machine machine = {.name = "fuzz",
                                               .generation = RONDE_NCCL_HOPPER,
                                               .link = RONDE_NODE_SWITCH,
                                               .gpus = 8,
                                               .sockets = 2,
                                               .nics = 8,
                                               .nvlink_GBps = 450,
                                               .nic_GBps = 50};
    if (ronde_nccl_constants_read(NULL, &constants, &error) != RONDE_OK) {
        fuzz_complain(verdict, "constants: %s", error.message);
        return;
    }
    for (uint32_t s = 0; s < table->system_count; s++) {
        ronde_published_describe(table, s, &machine, &constants);
        ronde_published_predict(table, s, &constants);
        if (ronde_published_score_of(table, s, &score, &error) != RONDE_OK)
            fuzz_complain(verdict, "score: %s", error.message);
    }
    for (size_t r = 0; r < table->count; r++) {
        const struct ronde_published_row *row = &table->rows[r];
        check_row(table, row, verdict);
        if (row->state != RONDE_PUBLISHED_PREDICTED)
            continue;
        verdict->runs++;
        if (!isfinite(row->predicted_us) || row->predicted_us <= 0)
            fuzz_complain(verdict, "line %u: predicted %g us", row->line, row->predicted_us);
    }
}

void fuzz_measured(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_published table;
    struct ronde_error error = {0};
    memset(out_verdict, 0, sizeof *out_verdict);
    const enum ronde_status status = read_bytes(data, bytes, &mem, &table, &error);
    out_verdict->is_accepted = status == RONDE_OK;
    if (status == RONDE_OK)
        predict(&table, out_verdict);
    else if ((status != RONDE_BAD_INPUT && status != RONDE_UNAVAILABLE) || error.message[0] == '\0')
        fuzz_complain(out_verdict, "'%s' with \"%s\"", ronde_status_text(status), error.message);
    ronde_published_close(&table);
    fuzz_expect_no_leak(out_verdict, &heap);
}
