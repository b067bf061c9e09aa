/*
 * ronde tune: times of all algorithms on this machine, for `auto`.
 *
 * A part is one number of ranks in one round: every collective raced at every size, by the processes that the backend
 * wants, whose first writes what it measured as a table beside the result. Rounds go on while there is time; the result
 * has the medians of the parts.
 */
#include "cli/launch/job.h"
#include "cli/print/report.h"
#include "commands.h"
#include "tune.h"

#include "ronde/executors.h"
#include "ronde/hw.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

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
    const struct ronde_executor *executor = ronde_executor_find(options->backend);
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
    if (!ronde_job_is_wanted(options->backend))
        return ronde_backend_find(options->backend, error) ? RONDE_OK : RONDE_BAD_ARGUMENT;
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
    if (options->rank_counts > RONDE_TUNE_RANK_COUNTS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "-N: more than %u numbers of ranks",
                          RONDE_TUNE_RANK_COUNTS);
    for (uint32_t i = 0; i < options->rank_counts; i++)
        session->ranks[session->rank_counts++] = options->ranks[i];
    for (uint32_t ranks = 2; ranks <= 8 && options->rank_counts == 0; ranks *= 2)
        session->ranks[session->rank_counts++] = ranks;
    if (options->rank_counts == 0 && cores > 8)
        session->ranks[session->rank_counts++] = cores;
    return RONDE_OK;
}

static enum ronde_status find_path(struct ronde_tuning *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    if (options->output && (size_t)snprintf(session->path, sizeof session->path, "%s",
                                            options->output) >= sizeof session->path)
        return ronde_fail(error, RONDE_IO, "%s: path too long", options->output);
    if (!options->output && !ronde_measured_path(RONDE_MEASURED_USER, options->backend,
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
    options.ranks[0] = session->ranks[index];
    options.rank_counts = 1;
    options.output = path;
    ronde_note("round %u, %u ranks on %s", round + 1, options.ranks[0], options.backend);
    *out_code = ronde_job_is_wanted(options.backend) ? ronde_job_run(&options, NULL, ronde_tune_part)
                                                     : ronde_tune_part(&options, NULL);
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
    const double budget_s =
        session->options->budget_s > 0.0 ? session->options->budget_s : DEFAULT_BUDGET_S;
    const double start_s = now_s();
    enum ronde_status status = RONDE_OK;
    *out_code = RONDE_EXIT_OK;
    for (uint32_t round = 0; round < RONDE_TUNE_ROUNDS; round++) {
        for (uint32_t i = 0; i < session->rank_counts; i++) {
            status = measure_part(session, round, i, out_code, error);
            if (status != RONDE_OK || *out_code != RONDE_EXIT_OK)
                return status;
        }
        session->rounds++;
        const double each_s = (now_s() - start_s) / session->rounds;
        if (now_s() - start_s + each_s > budget_s)
            break;
    }
    return status;
}

/* What to type next: `auto` reads the user's table by itself, another file where it is told to look. */
static void print_next(const struct ronde_tuning *session)
{
    const struct ronde_options *options = session->options;
    const char *const slash = options->output ? strrchr(session->path, '/') : NULL;
    const int folder = slash ? (int)(slash - session->path) : 1;
    printf("What `auto` takes by it:  ");
    if (options->output)
        printf("RONDE_TUNE_DIR=%.*s ", folder, slash ? session->path : ".");
    printf("ronde plan %s -N %u --backend %s\n",
           options->argument_count > 0 ? options->arguments[0] : "all_reduce", session->ranks[0],
           options->backend);
    if (options->output)
        printf("RONDE_TUNE_DIR names the folder; the file is to be called %s.txt there.\n",
               options->backend);
}

int ronde_cmd_tune(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_tuning session = {.options = options};
    struct ronde_measured sizes = {.size_count = 0};
    enum ronde_collective collective = RONDE_ALL_REDUCE;
    int code = RONDE_EXIT_OK;
    enum ronde_status status = check_backend(options, &error);
    if (status == RONDE_OK && options->argument_count > 0)
        status = ronde_parse_collective(options->arguments[0], &collective, &error);
    if (status == RONDE_OK)
        status = ronde_tune_sizes(options, &sizes, &error);
    if (status == RONDE_OK)
        status = list_ranks(&session, &error);
    if (status == RONDE_OK)
        status = find_path(&session, &error);
    if (status == RONDE_OK)
        status = measure_all(&session, &code, &error);
    if (status == RONDE_OK && code == RONDE_EXIT_OK)
        status = ronde_tune_write(&session, &error);
    if (status == RONDE_OK && code == RONDE_EXIT_OK)
        print_next(&session);
    for (uint32_t round = 0; round < RONDE_TUNE_ROUNDS; round++)
        for (uint32_t i = 0; i < session.rank_counts; i++)
            ronde_measured_destroy(session.parts[round][i], ronde_mem_default());
    ronde_measured_destroy(session.old, ronde_mem_default());
    return status == RONDE_OK ? code : ronde_report(&error);
}
