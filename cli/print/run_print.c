/* ronde run's table: nccl-tests' columns, and what is needed to run the same again. See run.h. */
#include "cli/cmd/run.h"
#include "cli/options/tune_options.h"
#include "run_nccl_tests.h"
#include "table.h"

#include "ronde/bind.h"
#include "ronde/cuda.h"
#include "ronde/hw.h"
#include "ronde/warmup.h"

#include <inttypes.h>
#include <string.h>

/* Columns: five of the request, then seven out of place and seven in place. */
#define REQUEST_COLUMNS 5u
#define RESULT_COLUMNS 6u
#define COLUMNS (REQUEST_COLUMNS + 2 * RESULT_COLUMNS)

static const struct ronde_column columns[COLUMNS] = {
    {"size", "(B)", 12},    {"count", "(elements)", 12},
    {"type", "", 8},        {"redop", "", 6},
    {"root", "", 6},        {"time", "(us)", 9},
    {"min", "(us)", 9},     {"p95", "(us)", 9},
    {"algbw", "(GB/s)", 7}, {"busbw", "(GB/s)", 7},
    {"#wrong", "", 6},      {"time", "(us)", 9},
    {"min", "(us)", 9},     {"p95", "(us)", 9},
    {"algbw", "(GB/s)", 7}, {"busbw", "(GB/s)", 7},
    {"#wrong", "", 6},
};

static const struct ronde_table wide = {columns, COLUMNS, 2};

/* The same for a terminal of 100 characters: the placements below each other, and which it is. */
#define NARROW_COLUMNS (REQUEST_COLUMNS + 1 + RESULT_COLUMNS)

static const struct ronde_column narrow_columns[NARROW_COLUMNS] = {
    {"size", "(B)", 11},    {"count", "(elements)", 11},
    {"type", "", 8},        {"redop", "", 5},
    {"root", "", 4},        {"place", "", 5},
    {"time", "(us)", 8},    {"min", "(us)", 8},
    {"p95", "(us)", 8},     {"algbw", "(GB/s)", 7},
    {"busbw", "(GB/s)", 7}, {"#wrong", "", 6},
};

static const struct ronde_table narrow = {narrow_columns, NARROW_COLUMNS, 1};

/* Every backend has something above it that says what is right. */
static const char *reference_text(const struct ronde_run_session *session)
{
    if (!ronde_target_moves_data(&session->target))
        return "nothing: no data is moved";
    if (!session->options->check)
        return "nothing (-c 0)";
    return session->target.backend == &ronde_backend_host ? "the collective's definition"
                                                          : "host, bit for bit";
}

/* Which processors this rank, or the threads of this process, may use. */
static void print_binding(const struct ronde_run_session *session)
{
    char cpus[128];
    ronde_bind_text(cpus, sizeof cpus);
    if (ronde_run_is_unbound(session))
        fprintf(session->sink.file, "# not bound\n");
    else if (session->comm)
        fprintf(session->sink.file, "# rank %u on processors %s\n", ronde_comm_rank(session->comm),
                cpus);
    else if (strcmp(session->engine, ronde_backend_cpu.name) == 0)
        fprintf(session->sink.file, "# threads bound to cores\n");
}

/* On devices: which messages carry flags with their data, which is the backend's choice. */
static void print_lines(const struct ronde_run_session *session)
{
    const struct ronde_machine *machine = &session->target.machine;
    const uint64_t pays_bytes = machine->lines_up_to_bytes;
    if (pays_bytes > 0)
        fprintf(session->sink.file,
                "# lines (data with flags, NCCL's LL) up to %" PRIu64 " B; they pay up to %" PRIu64
                " by NCCL's model of %s, %s\n",
                pays_bytes < RONDE_CUDA_LINES_MOST_BYTES ? pays_bytes : RONDE_CUDA_LINES_MOST_BYTES,
                pays_bytes, machine->product, machine->has_device_links ? "NVLink" : "PCIe");
}

/* The first line: what runs. In a contest every size may have another schedule. */
static void print_subject(const struct ronde_run_session *session)
{
    FILE *file = session->sink.file;
    const struct ronde_compile_request *request = &session->request;
    fprintf(file, "# ronde %s: %s %s, %u ranks, backend %s", RONDE_VERSION,
            ronde_collective_text(request->collective),
            session->is_autotuned ? "auto" : request->algorithm, request->ranks, session->engine);
    if (!session->is_autotuned)
        fprintf(file, ", schedule %016" PRIx64, session->given->hash);
    fputc('\n', file);
}

/* A number that was asked for, or the rule. */
static void print_effort(const struct ronde_run_session *session)
{
    FILE *file = session->sink.file;
    if (session->options->warmups == RONDE_NONE)
        fprintf(file, "# warm-up until stable, %u to %u runs", RONDE_WARMUP_LEAST,
                RONDE_WARMUP_MOST);
    else
        fprintf(file, "# %u warm-ups", session->options->warmups);
    fprintf(file, ", %u iterations; time is the median; checked against %s\n#\n",
            session->options->iterations, reference_text(session));
}

void ronde_run_print_head(const struct ronde_run_session *session)
{
    char basis[RONDE_BASIS_BYTES];
    FILE *file = session->sink.file;
    if (session->is_nccl_tests) {
        ronde_run_nccl_tests_head(session);
        return;
    }
    print_subject(session);
    fprintf(file, "# %s%s%s\n", session->machine,
            ronde_target_is_oversubscribed(&session->target, session->request.ranks)
                ? "; oversubscribed: more ranks than cores"
                : "",
            ronde_run_has_registered(session) ? "; registered buffers" : "");
    print_binding(session);
    print_lines(session);
    if (session->is_autotuned)
        fprintf(file, "# algorithms by %s\n",
                ronde_basis_text(&session->race.autotune.selector, basis));
    print_effort(session);
    if (!ronde_table_fits(&wide, session->sink.width)) {
        ronde_table_head(file, &narrow);
        return;
    }
    fprintf(file, "#%*s%*s\n", 88, "out-of-place", 58, "in-place");
    ronde_table_head(file, &wide);
}

/* Columns of one placement; without a record the collective has no such form. */
static void result_cells(const struct ronde_record *record, struct ronde_cell *cell)
{
    for (uint32_t i = 0; !record && i < RESULT_COLUMNS; i++)
        cell[i] = ronde_cell_text("N/A");
    if (!record)
        return;
    cell[0] = ronde_cell_us(record->time_ns);
    cell[1] = ronde_cell_us(record->min_ns);
    cell[2] = ronde_cell_us(record->p95_ns);
    cell[3] = ronde_cell_rate(ronde_record_algbw_GBps(record));
    cell[4] = ronde_cell_rate(ronde_record_busbw_GBps(record));
    cell[5] = record->wrong == RONDE_NOT_CHECKED ? ronde_cell_text("N/A")
                                                 : ronde_cell_integer(record->wrong);
}

/* What was asked for. */
static void request_cells(const struct ronde_record *record, struct ronde_cell *cells)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(record->collective);
    cells[0] = ronde_cell_integer(
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype));
    cells[1] = ronde_cell_integer(record->count);
    cells[2] = ronde_cell_text(ronde_dtype_text(record->dtype));
    cells[3] = ronde_cell_text(traits->reduces ? ronde_op_text(record->op) : "none");
    cells[4] = traits->has_root ? ronde_cell_integer(record->root) : ronde_cell_text("-1");
}

/* Two lines, of which the second does not say again what was asked for. */
static void print_narrow_row(FILE *file, const struct ronde_record *out_of_place,
                             const struct ronde_record *in_place)
{
    struct ronde_cell cells[NARROW_COLUMNS];
    request_cells(out_of_place ? out_of_place : in_place, cells);
    cells[REQUEST_COLUMNS] = ronde_cell_text("out");
    result_cells(out_of_place, cells + REQUEST_COLUMNS + 1);
    ronde_table_row(file, &narrow, cells);
    for (uint32_t i = 0; i < REQUEST_COLUMNS; i++)
        cells[i] = ronde_cell_text(" ");
    cells[REQUEST_COLUMNS] = ronde_cell_text("in");
    result_cells(in_place, cells + REQUEST_COLUMNS + 1);
    ronde_table_row(file, &narrow, cells);
}

void ronde_run_print_row(const struct ronde_run_session *session,
                         const struct ronde_record *out_of_place,
                         const struct ronde_record *in_place)
{
    struct ronde_cell cells[COLUMNS];
    if (session->is_nccl_tests) {
        ronde_run_nccl_tests_row(session, out_of_place, in_place);
        return;
    }
    if (!ronde_table_fits(&wide, session->sink.width)) {
        print_narrow_row(session->sink.file, out_of_place, in_place);
        return;
    }
    request_cells(out_of_place ? out_of_place : in_place, cells);
    result_cells(out_of_place, cells + REQUEST_COLUMNS);
    result_cells(in_place, cells + REQUEST_COLUMNS + RESULT_COLUMNS);
    ronde_table_row(session->sink.file, &wide, cells);
}

void ronde_run_print_verdict(const struct ronde_run_session *session)
{
    FILE *file = session->sink.file;
    if (session->is_nccl_tests) {
        ronde_run_nccl_tests_end(session);
        return;
    }
    if (!ronde_run_is_checked(session))
        fprintf(file, "# Not checked (%s)\n",
                ronde_target_moves_data(&session->target) ? "-c 0" : "no data is moved");
    else
        fprintf(file, "# Out of bounds values : %" PRIu64 " %s\n", session->wrong,
                session->wrong ? "FAILED" : "OK");
    fprintf(file, "# Avg bus bandwidth    : %g\n", session->busbw_sum / session->rows);
    if (session->most_warmups > 0)
        fprintf(file, "# Warm-up runs         : %u to %u before a measurement\n",
                session->least_warmups, session->most_warmups);
}
