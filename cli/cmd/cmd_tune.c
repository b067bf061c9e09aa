/*
 * ronde tune: times of all algorithms on this machine, for `auto`.
 *
 * A part is one number of ranks in one round: every collective raced at every size, by the processes that the backend
 * wants, whose first writes what it measured as a table beside the result. Rounds go on while there is time; the result
 * has the medians of the parts.
 */
#include "cli/launch/job.h"
#include "cli/options/option_groups.h"
#include "cli/print/report.h"
#include "commands.h"
#include "run.h"

#include "ronde/benchmark.h"
#include "ronde/comm.h"
#include "ronde/data_files.h"
#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/measured.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** Rounds at most. */
#define RONDE_TUNE_ROUNDS 9u
/** Numbers of ranks at most. */
#define RONDE_TUNE_RANK_COUNTS 16u

/** Everything the command holds. */
struct ronde_tuning {
    const struct ronde_options *options;    /**< as typed */
    char path[RONDE_PATH_BYTES];            /**< of the result */
    uint32_t ranks[RONDE_TUNE_RANK_COUNTS]; /**< numbers of ranks that are measured */
    uint32_t rank_counts;                   /**< how many */
    struct ronde_measured *parts[RONDE_TUNE_ROUNDS][RONDE_TUNE_RANK_COUNTS]; /**< what was measured */
    uint32_t rounds;                                                         /**< that are whole */
    struct ronde_measured *old; /**< the table at the path, if it is still valid; or NULL */
};

/* One number of ranks in one round of `ronde tune`, in the processes that run it. */

/* What a part is measured with. */
struct part {
    const struct ronde_options *options; /* of one number of ranks */
    struct ronde_comm *comm;             /* of processes; NULL = ranks are threads */
    struct ronde_target target;
    const char *engine;
    struct ronde_measured table; /* what was measured */
};

static enum ronde_status open_target(struct part *part, struct ronde_error *error)
{
    struct ronde_target *target = &part->target;
    part->engine = part->options->backend.name;
    if (!part->comm)
        return ronde_target_open(part->engine, false, target, error);
    const enum ronde_status status = ronde_backend_comm.probe(&target->machine, error);
    target->backend = &ronde_backend_comm;
    target->self = part->comm;
    part->engine = ronde_transport_text(ronde_comm_transport(part->comm));
    return status;
}

/* The rows of the candidates of a race, from `first` on. */
static enum ronde_status add_rows(struct part *part, const struct ronde_choice *choice,
                                  struct ronde_error *error)
{
    struct ronde_measured *table = &part->table;
    void *block = table->rows;
    if (!ronde_mem_grow(ronde_mem_default(), &block, &table->capacity,
                        (size_t)table->row_count + choice->count, sizeof *table->rows))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u rows", choice->count);
    table->rows = block;
    for (uint32_t i = 0; i < choice->count; i++)
        table->rows[table->row_count++] =
            (struct ronde_measured_row){.collective = choice->candidates[i].request.collective,
                                        .algorithm = choice->candidates[i].request.algorithm,
                                        .ranks = choice->candidates[i].request.ranks};
    return RONDE_OK;
}

/* All algorithms at all sizes. Sizes that come to the same number of elements have the same times. */
static enum ronde_status race_sizes(struct part *part, struct ronde_race *race,
                                    const struct ronde_compile_request *request,
                                    struct ronde_error *error)
{
    const struct ronde_selector *selector = &race->autotune.selector;
    struct ronde_measured *table = &part->table;
    const uint32_t first = table->row_count;
    uint64_t last = UINT64_MAX;
    RONDE_TRY(add_rows(part, &selector->choice, error));
    for (uint32_t k = 0; k < table->size_count; k++) {
        const uint64_t count = ronde_collective_count(request->collective, request->ranks,
                                                      table->bytes[k], part->options->what.dtype);
        struct ronde_decision decision;
        struct ronde_benchmark *benchmark = NULL;
        if (count != last)
            RONDE_TRY(ronde_race_pick(race, count, &decision, &benchmark, error));
        for (uint32_t i = 0; i < selector->choice.count; i++)
            table->rows[first + i].time_us[k] =
                selector->choice.candidates[i].is_eligible ? selector->quotes[i].time_ns / 1e3 : 0.0;
        last = count;
    }
    return RONDE_OK;
}

/* One collective. What the backend cannot run has no rows. */
static enum ronde_status race_collective(struct part *part, enum ronde_collective collective,
                                         struct ronde_error *error)
{
    const struct ronde_options *options = part->options;
    const struct ronde_measured *table = &part->table;
    struct ronde_comm *comm = part->comm;
    struct ronde_compile_request request = {.collective = collective,
                                            .ranks = options->what.ranks[0]};
    const struct ronde_input_range shape = {
        .collective = collective,
        .ranks = request.ranks,
        .count = ronde_collective_count(collective, request.ranks,
                                        table->bytes[table->size_count - 1], options->what.dtype),
        .dtype = options->what.dtype,
        .op = options->what.op};
    struct ronde_race race = {.target = NULL};
    struct ronde_memory memory = {.ranks = 0};
    struct ronde_error why = {RONDE_OK, 0, ""};
    enum ronde_status status =
        ronde_memory_create_only(&shape, comm ? ronde_comm_rank(comm) : RONDE_NONE,
                                 comm ? ronde_comm_mem(comm) : NULL, &memory, &why);
    if (status == RONDE_OK) {
        memory.near = &part->target.bind;
        status = ronde_race_open(options, &request, comm, true, &race, &why);
    }
    RONDE_THEN(status,
               ronde_race_enter(&race, &part->target, &memory, part->engine, shape.count, &why));
    RONDE_THEN(status, race_sizes(part, &race, &request, &why));
    ronde_race_close(&race);
    ronde_memory_destroy(&memory);
    if (status == RONDE_OK || status == RONDE_UNSUPPORTED)
        return RONDE_OK;
    return ronde_fail(error, status, "%s on %u ranks: %.400s", ronde_collective_text(collective),
                      request.ranks, why.message);
}

static bool is_wanted(const struct ronde_options *options, enum ronde_collective collective)
{
    return options->argument_count == 0 ||
           strcmp(options->arguments[0], ronde_collective_text(collective)) == 0;
}

/* The sizes of the sweep, as columns. Errors: BAD_ARGUMENT for too many or none. */
static enum ronde_status tune_sizes(const struct ronde_options *options,
                                    struct ronde_measured *table, struct ronde_error *error)
{
    for (uint64_t bytes = options->sizes.min_bytes; bytes != 0;
         bytes = ronde_options_next_size(&options->sizes, bytes)) {
        if (table->size_count == RONDE_MEASURED_MAX_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor makes fewer",
                              RONDE_MEASURED_MAX_SIZES);
        table->bytes[table->size_count++] = bytes;
    }
    return table->size_count > 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT, "-b is to be at least one byte");
}

/* The communicator is the target's once there is one. */
/*
 * Measures a part, one number of ranks in one round, and in the first process writes it to --output. A body of
 * ronde_job_run; without processes the communicator is NULL, else it is the part's to destroy. Returns the exit code.
 */
static int run_part(const struct ronde_options *options, struct ronde_comm *comm)
{
    struct ronde_error error = {0};
    struct part part = {.options = options, .comm = comm};
    snprintf(part.table.machine, sizeof part.table.machine, "a part");
    snprintf(part.table.date, sizeof part.table.date, "now");
    part.table.cores = 1;
    enum ronde_status status = tune_sizes(options, &part.table, &error);
    RONDE_THEN(status, open_target(&part, &error));
    for (int c = 0; c < RONDE_COLLECTIVE_COUNT && status == RONDE_OK; c++)
        if (is_wanted(options, (enum ronde_collective)c))
            status = race_collective(&part, (enum ronde_collective)c, &error);
    snprintf(part.table.backend, sizeof part.table.backend, "%s", options->backend.name);
    if (status == RONDE_OK && (!comm || ronde_comm_rank(comm) == 0))
        status = ronde_measured_write(&part.table, options->output.path, &error);
    ronde_mem_free(ronde_mem_default(), part.table.rows, part.table.capacity,
                   sizeof *part.table.rows);
    if (comm && !part.target.self)
        ronde_comm_destroy(comm);
    ronde_target_close(&part.target);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}

/* The result of `ronde tune`: medians of the rounds, and the rows of before that were not measured. */

static int compare_times(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The median over the rounds of a time; all rounds have the same rows. */
static double median_time(const struct ronde_tuning *session, uint32_t index, uint32_t row,
                          uint32_t size)
{
    double times[RONDE_TUNE_ROUNDS];
    const uint32_t n = session->rounds;
    for (uint32_t round = 0; round < n; round++)
        times[round] = session->parts[round][index]->rows[row].time_us[size];
    qsort(times, n, sizeof times[0], compare_times);
    return (times[n / 2] + times[(n - 1) / 2]) / 2.0;
}

/* The table at the path, if it was measured on this machine at these sizes. */
static struct ronde_measured *read_old(const char *path, const struct ronde_measured *table)
{
    struct ronde_measured *old = NULL;
    struct ronde_error why = {0};
    if (access(path, F_OK) != 0 ||
        ronde_measured_read(path, ronde_mem_default(), &old, &why) != RONDE_OK)
        return NULL;
    if (strcmp(old->backend, table->backend) == 0 && strcmp(old->machine, table->machine) == 0 &&
        old->cores == table->cores && old->size_count == table->size_count &&
        memcmp(old->bytes, table->bytes, table->size_count * sizeof table->bytes[0]) == 0)
        return old;
    ronde_measured_destroy(old, ronde_mem_default());
    return NULL;
}

static bool is_renewed(const struct ronde_measured *table, uint32_t measured,
                       const struct ronde_measured_row *old)
{
    for (uint32_t i = 0; i < measured; i++)
        if (table->rows[i].collective == old->collective && table->rows[i].ranks == old->ranks)
            return true;
    return false;
}

/* The rows that were measured, then those of before that were not. */
static enum ronde_status fill_rows(const struct ronde_tuning *session, struct ronde_measured *table,
                                   struct ronde_error *error)
{
    size_t most = session->old ? session->old->row_count : 0;
    for (uint32_t i = 0; i < session->rank_counts; i++)
        most += session->parts[0][i]->row_count;
    table->rows = ronde_mem_new(ronde_mem_default(), most, sizeof *table->rows);
    if (!table->rows)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", most);
    table->capacity = most;
    for (uint32_t i = 0; i < session->rank_counts; i++)
        for (uint32_t r = 0; r < session->parts[0][i]->row_count; r++) {
            struct ronde_measured_row *row = &table->rows[table->row_count++];
            *row = session->parts[0][i]->rows[r];
            for (uint32_t k = 0; k < table->size_count; k++)
                row->time_us[k] = median_time(session, i, r, k);
        }
    const uint32_t measured = table->row_count;
    for (uint32_t r = 0; session->old && r < session->old->row_count; r++)
        if (!is_renewed(table, measured, &session->old->rows[r]))
            table->rows[table->row_count++] = session->old->rows[r];
    return RONDE_OK;
}

/* Writes the medians of all rounds to the path of the result, and says so. Errors: NO_MEMORY, IO. */
static enum ronde_status tune_write(struct ronde_tuning *session, struct ronde_error *error)
{
    const struct ronde_measured *part = session->parts[0][0];
    struct ronde_measured table = *part;
    const time_t now = time(NULL);
    struct tm day;
    const bool has_cores = ronde_job_is_wanted(table.backend) || strcmp(table.backend, "cpu") == 0;
    table.rows = NULL;
    table.row_count = 0;
    table.capacity = 0;
    table.cores = has_cores ? ronde_usable_cores() : UINT32_MAX;
    ronde_machine_line(table.backend, ronde_usable_cores(), table.machine, sizeof table.machine);
    if (!gmtime_r(&now, &day) || strftime(table.date, sizeof table.date, "%Y-%m-%d", &day) == 0)
        return ronde_fail(error, RONDE_IO, "the system does not know the date");
    session->old = read_old(session->path, &table);
    enum ronde_status status = fill_rows(session, &table, error);
    RONDE_THEN(status, ronde_measured_write(&table, session->path, error));
    if (status == RONDE_OK)
        printf("%s: %u rows, medians of %u rounds\n", session->path, table.row_count,
               session->rounds);
    ronde_mem_free(ronde_mem_default(), table.rows, table.capacity, sizeof *table.rows);
    return status;
}

/* Where --budget is not given, s. */
#define DEFAULT_BUDGET_S 100.0

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Only what this machine alone runs is measured: a table of a network would be one of its placement, too. */
static enum ronde_status check_backend(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    struct ronde_launcher launcher = {.name = NULL};
    const struct ronde_executor *executor = ronde_executor_find(options->backend.name);
    if (executor && !executor->has_clock)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s has no clock: it takes what cpu would; try --backend cpu",
                          executor->name);
    if (executor && !executor->moves_data)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s moves no data: its times say nothing about algorithms",
                          executor->name);
    if (executor && executor->spans_hosts)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "tune measures one machine; for networks ronde calibrate -o FILE writes a "
            "platform for --topo");
    if (!ronde_job_is_wanted(options->backend.name))
        return ronde_backend_find(options->backend.name, error) ? RONDE_OK : RONDE_BAD_ARGUMENT;
    const enum ronde_status status = ronde_launcher_find(NULL, NULL, &launcher, error);
    const bool is_launched = status == RONDE_OK && launcher.name && launcher.ranks > 1;
    if (status == RONDE_OK)
        ronde_launcher_close(&launcher);
    return is_launched ? ronde_fail(error, RONDE_BAD_ARGUMENT,
                                    "tune makes its processes itself: start it alone, without a "
                                    "launcher")
                       : status;
}

/* -N, else 2, 4, 8 and, where there are more, all cores. */
static enum ronde_status list_ranks(struct ronde_tuning *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const uint32_t cores = ronde_usable_cores();
    if (options->what.rank_counts > RONDE_TUNE_RANK_COUNTS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "-N: more than %u numbers of ranks",
                          RONDE_TUNE_RANK_COUNTS);
    for (uint32_t i = 0; i < options->what.rank_counts; i++)
        session->ranks[session->rank_counts++] = options->what.ranks[i];
    for (uint32_t ranks = 2; ranks <= 8 && options->what.rank_counts == 0; ranks *= 2)
        session->ranks[session->rank_counts++] = ranks;
    if (options->what.rank_counts == 0 && cores > 8)
        session->ranks[session->rank_counts++] = cores;
    return RONDE_OK;
}

static enum ronde_status find_path(struct ronde_tuning *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    if (options->output.path && (size_t)snprintf(session->path, sizeof session->path, "%s",
                                                 options->output.path) >= sizeof session->path)
        return ronde_fail(error, RONDE_IO, "%s: path too long", options->output.path);
    if (!options->output.path && !ronde_measured_path(RONDE_MEASURED_USER, options->backend.name,
                                                      session->path, sizeof session->path))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "where to? neither HOME nor XDG_CONFIG_HOME is set: -o FILE");
    return RONDE_OK;
}

/* Runs a part and reads what it has written. */
static enum ronde_status measure_part(struct ronde_tuning *session, uint32_t round, uint32_t index,
                                      int *out_code, struct ronde_error *error)
{
    struct ronde_options options = *session->options;
    char path[RONDE_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s.part.%ld", session->path, (long)getpid());
    options.what.ranks[0] = session->ranks[index];
    options.what.rank_counts = 1;
    options.output.path = path;
    ronde_note("round %u, %u ranks on %s", round + 1, options.what.ranks[0], options.backend.name);
    *out_code = ronde_job_is_wanted(options.backend.name) ? ronde_job_run(&options, NULL, run_part)
                                                          : run_part(&options, NULL);
    enum ronde_status status = RONDE_OK;
    if (*out_code == RONDE_EXIT_OK)
        status =
            ronde_measured_read(path, ronde_mem_default(), &session->parts[round][index], error);
    (void)unlink(path);
    return status;
}

/* Another round begins only if it is likely to end in time; the first one always does. */
static enum ronde_status measure_all(struct ronde_tuning *session, int *out_code,
                                     struct ronde_error *error)
{
    const double budget_s = *(const double *)session->options->own > 0.0
                                ? *(const double *)session->options->own
                                : DEFAULT_BUDGET_S;
    const double start_s = now_s();
    *out_code = RONDE_EXIT_OK;
    for (uint32_t round = 0; round < RONDE_TUNE_ROUNDS; round++) {
        for (uint32_t i = 0; i < session->rank_counts; i++) {
            RONDE_TRY(measure_part(session, round, i, out_code, error));
            if (*out_code != RONDE_EXIT_OK)
                return RONDE_OK;
        }
        session->rounds++;
        const double each_s = (now_s() - start_s) / session->rounds;
        if (now_s() - start_s + each_s > budget_s)
            break;
    }
    return RONDE_OK;
}

/* What to type next: `auto` reads the user's table by itself, another file where it is told to look. */
static void print_next(const struct ronde_tuning *session)
{
    const struct ronde_options *options = session->options;
    const char *const slash = options->output.path ? strrchr(session->path, '/') : NULL;
    const int folder = slash ? (int)(slash - session->path) : 1;
    printf("What `auto` takes by it:  ");
    if (options->output.path)
        printf("RONDE_TUNE_DIR=%.*s ", folder, slash ? session->path : ".");
    printf("ronde plan %s -N %u --backend %s\n",
           options->argument_count > 0 ? options->arguments[0] : "all_reduce", session->ranks[0],
           options->backend.name);
    if (options->output.path)
        printf("RONDE_TUNE_DIR names the folder; the file is to be called %s.txt there.\n",
               options->backend.name);
}

static enum ronde_status tune_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_tuning session = {.options = options};
    struct ronde_measured sizes = {.size_count = 0};
    enum ronde_collective collective = RONDE_ALL_REDUCE;

    enum ronde_status status = check_backend(options, error);
    if (status == RONDE_OK && options->argument_count > 0)
        status = ronde_parse_collective(options->arguments[0], &collective, error);
    RONDE_THEN(status, tune_sizes(options, &sizes, error));
    RONDE_THEN(status, list_ranks(&session, error));
    RONDE_THEN(status, find_path(&session, error));
    RONDE_THEN(status, measure_all(&session, &call->code, error));
    if (status == RONDE_OK && call->code == RONDE_EXIT_OK)
        status = tune_write(&session, error);
    if (status == RONDE_OK && call->code == RONDE_EXIT_OK)
        print_next(&session);
    for (uint32_t round = 0; round < RONDE_TUNE_ROUNDS; round++)
        for (uint32_t i = 0; i < session.rank_counts; i++)
            ronde_measured_destroy(session.parts[round][i], ronde_mem_default());
    ronde_measured_destroy(session.old, ronde_mem_default());
    return status;
}

static const struct ronde_option own_rows[] = {
    {"budget", 0, "SECONDS", ronde_take_positive, 0, NULL, 0, false,
     "measure in as many rounds as this long allows, one at least (default 100)"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_AS(several, what, "ranks"),
    RONDE_TAKES_ROWS(RONDE_SECTION_ENGINE, own_rows, double, NULL),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(backend, "backend"),
    RONDE_TAKES(engine, "timeout"),
    RONDE_TAKES(output, "output"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_tune = {
    .name = "tune",
    .arguments = "[COLLECTIVE]",
    .summary = "measure all algorithms on this machine, for -a auto",
    .examples =
        "  ronde tune\n  ronde tune --backend proc --budget 300\n"
        "  ronde tune all_reduce -N 4 -b 8 -e 1M -o tables/cpu.txt\n"
        "The table goes to the user's configuration, where `auto` finds it "
        "($XDG_CONFIG_HOME/ronde/tune\n"
        "or ~/.config/ronde/tune), unless -o names another file. Nobody else should use the "
        "machine.\n",
    .uses = uses,
    .max_arguments = 1,
    .is_rare = true,
    .run = tune_command,
};
