/*
 * ronde sweep: a grid of replays, a process per (ranks, algorithm), results as JSON Lines, or as CSV.
 *
 * Every line is written when it is known, so that a sweep that was ended goes on with --resume where it stopped.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/draw/gnuplot.h"
#include "cli/draw/screen.h"
#include "cli/launch/children.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/printer.h"
#include "cli/print/report.h"
#include "commands.h"
#include "ronde/predicted.h"
#include "ronde/schedule_file.h"
#include "ronde/setup.h"
#include "ronde/synthesize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command's own options. */
struct sweep_options {
    const char *map;   /* --map; NULL = none */
    const char *shard; /* --shard i/n; NULL = all */
    bool resume;       /* --resume */
    uint32_t jobs;     /* --jobs; 0 = one a core */
};

static const struct sweep_options *own_of(const struct ronde_options *options)
{
    return options->own;
}

/* Longest line of an earlier output; ours are a few hundred bytes. */
#define LINE_BYTES 65536

/* One (ranks, algorithm) that a process does. */
struct unit {
    uint32_t rank_index;
    uint32_t algorithm_index;
};

struct session {
    const struct ronde_options *options;
    bool is_of_all; /* algorithms, as none was named */
    struct ronde_platform *platform;
    struct ronde_sweep sweep;
    struct ronde_sink *sink;
    struct unit *units;
    uint32_t unit_count;
    size_t done_before; /* points of an earlier run */
    uint32_t failed;    /* units whose process failed */
};

/* ---- In a child ------------------------------------------------------------------------------------------------- */

static enum ronde_status request_of(const struct session *session, struct unit unit,
                                    struct ronde_compile_request *out_request,
                                    struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const enum ronde_status status =
        ronde_compile_request_of(options, session->sweep.options.collective,
                                 options->what.ranks[unit.rank_index], out_request, error);
    const char *name = options->what.algorithms[unit.algorithm_index];
    out_request->algorithm = name;
    if (status != RONDE_OK || !ronde_name_puts(name))
        return status;
    const struct ronde_algorithm *found = ronde_parse_carried(out_request->collective, name, error);
    out_request->algorithm = found ? found->name : NULL;
    return found ? RONDE_OK : RONDE_BAD_ARGUMENT;
}

/* `name`: what the grid calls it: of a file, its path; `chosen`: what that stands for here, or NULL. */
static enum ronde_status replay_point(struct ronde_forecast *forecast,
                                      const struct ronde_sweep_point *point, const char *name,
                                      const char *chosen, const char *engine, FILE *out,
                                      struct ronde_error *error)
{
    struct ronde_record record;
    struct ronde_sink sink = {.file = out, .json = true};
    ronde_forecast_set_count(forecast, point->count);
    enum ronde_status status = ronde_record_replay(forecast, engine, &record, NULL, error);
    if (status == RONDE_OK) {
        record.algorithm = name;
        if (chosen)
            ronde_record_label(&record, chosen);
        status = ronde_sink_record(&sink, &record, error);
    }
    fflush(out);
    return status;
}

/* A schedule from a file serves the ranks that it has. */
static enum ronde_status read_given(const struct ronde_compile_request *request,
                                    struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    const char *path = request->algorithm;
    RONDE_TRY(ronde_schedule_file_open(path, NULL, out_schedule, error));
    const struct ronde_schedule *given = *out_schedule;
    if (given->collective != request->collective)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s is %s, not %s", path,
                          ronde_collective_text(given->collective),
                          ronde_collective_text(request->collective));
    return given->ranks == request->ranks
               ? RONDE_OK
               : ronde_fail(error, RONDE_UNSUPPORTED, "it is for %u ranks", given->ranks);
}

/* Whether files are what they should be is known before anything is replayed. */
static enum ronde_status check_files(const struct ronde_options *options,
                                     const struct ronde_sweep_options *how,
                                     struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t a = 0; a < options->what.algorithm_count && status == RONDE_OK; a++) {
        const struct ronde_compile_request request = {.collective = how->collective,
                                                      .algorithm = options->what.algorithms[a]};
        struct ronde_schedule *given = NULL;
        if (!ronde_is_file(options->what.algorithms[a]))
            continue;
        status = read_given(&request, &given, error);
        ronde_schedule_destroy(given);
        /* Of other ranks than some of the grid: a gap. */
        if (status == RONDE_UNSUPPORTED)
            status = RONDE_OK;
    }
    return status;
}

static bool is_open(const struct ronde_sweep_point *point)
{
    return point->is_wanted && !point->is_done;
}

/* Schedules made for the machine, and the best of all for "auto", are chosen size by size; a label says which. */
static enum ronde_status do_chosen(const struct session *session, struct unit unit, FILE *out,
                                   struct ronde_error *error)
{
    struct ronde_tune_options how = ronde_tune_options_of(session->options);
    struct ronde_compile_request request;
    struct ronde_selector selector = {.quotes = NULL};
    char chosen[64];
    const char *name = session->options->what.algorithms[unit.algorithm_index];
    how.only = ronde_is_synthesized(name) ? name : NULL;
    enum ronde_status status = request_of(session, unit, &request, error);
    RONDE_THEN(status, ronde_selector_open(&how, &request, &selector, error));
    RONDE_THEN(status, ronde_selector_use(&selector, session->platform, NULL, 0, error));
    for (uint32_t s = 0; s < session->sweep.options.size_count && status == RONDE_OK; s++) {
        const struct ronde_sweep_point *point =
            ronde_sweep_at(&session->sweep, unit.rank_index, unit.algorithm_index, s);
        struct ronde_decision decision;
        if (!is_open(point))
            continue;
        status = ronde_selector_decide(&selector, point->count, &decision, error);
        if (status != RONDE_OK)
            break;
        struct ronde_forecast forecast = ronde_decision_forecast(&selector, &decision);
        snprintf(chosen, sizeof chosen, "by %s", forecast.request.algorithm);
        status = replay_point(&forecast, point, name, how.only ? NULL : chosen,
                              session->options->engine.name, out, error);
    }
    ronde_selector_close(&selector);
    return status;
}

/* Compiled or read once, replayed at every size that is still open. */
static enum ronde_status do_unit(const struct session *session, struct unit unit, FILE *out,
                                 struct ronde_error *error)
{
    struct ronde_tune_options how = ronde_tune_options_of(session->options);
    const char *name = session->options->what.algorithms[unit.algorithm_index];
    how.puts = ronde_name_puts(name);
    struct ronde_setup setup = {.platform = session->platform};
    struct ronde_candidate candidate;
    struct ronde_schedule *given = NULL;
    enum ronde_status status = request_of(session, unit, &setup.request, error);
    if (status == RONDE_OK && ronde_is_file(name))
        status = read_given(&setup.request, &given, error);
    setup.given = given;
    RONDE_THEN(status, ronde_candidate_open(&setup, ronde_mem_default(), &candidate, error));
    if (status != RONDE_OK) {
        ronde_schedule_destroy(given);
        return status;
    }
    struct ronde_forecast forecast = ronde_candidate_forecast(&candidate, session->platform, &how);
    status = ronde_forecast_check(&forecast, error);
    for (uint32_t s = 0; s < session->sweep.options.size_count && status == RONDE_OK; s++) {
        const struct ronde_sweep_point *point =
            ronde_sweep_at(&session->sweep, unit.rank_index, unit.algorithm_index, s);
        if (is_open(point))
            status = replay_point(&forecast, point, name, NULL, session->options->engine.name, out,
                                  error);
    }
    ronde_candidate_close(&candidate, ronde_mem_default());
    ronde_schedule_destroy(given);
    return status;
}

/* An algorithm that does not serve so many ranks leaves a gap; everything else is a failure. */
static int work(void *self, uint32_t task, FILE *out)
{
    const struct session *session = self;
    const struct unit unit = session->units[task];
    struct ronde_error error = {0};
    const bool is_chosen =
        ronde_sweep_chooses(session->options->what.algorithms[unit.algorithm_index]);
    const enum ronde_status status =
        is_chosen ? do_chosen(session, unit, out, &error) : do_unit(session, unit, out, &error);
    if (status == RONDE_OK || (status == RONDE_UNSUPPORTED && session->is_of_all))
        return RONDE_EXIT_OK;
    ronde_note("ronde: %s on %u ranks: %s", session->options->what.algorithms[unit.algorithm_index],
               session->options->what.ranks[unit.rank_index], error.message);
    return status == RONDE_UNSUPPORTED ? RONDE_EXIT_OK : ronde_exit_code(status);
}

/* ---- In the parent ---------------------------------------------------------------------------------------------- */

/* Points of an earlier run say nothing of how long the rest takes. */
static void show_progress(const struct session *session)
{
    const double wanted = (double)(session->sweep.wanted - session->done_before);
    const double share = (double)(session->sweep.done - session->done_before) / fmax(wanted, 1);
    ronde_progress_part(share, share, "replayed %zu of %zu points", session->sweep.done,
                        session->sweep.wanted);
}

/* A process's line, which is JSON, under the keys that every record has. */
static enum ronde_status print_csv(struct ronde_sink *sink, const char *line,
                                   struct ronde_error *error)
{
    static char texts[LINE_BYTES];
    const struct ronde_record any = {.kind = RONDE_RECORD_SIMULATED};
    struct ronde_record_row row;
    ronde_record_layout(&any, &row);
    RONDE_TRY(ronde_json_read(line, row.fields, row.row.count, texts, sizeof texts, error));
    return ronde_sink_row(sink, &row.row, error);
}

static enum ronde_status on_line(void *self, const char *line, struct ronde_error *error)
{
    struct session *session = self;
    struct ronde_sink *sink = session->sink;
    RONDE_TRY(ronde_sweep_take(&session->sweep, line, error));
    ronde_progress_hide();
    if (sink->csv)
        RONDE_TRY(print_csv(sink, line, error));
    else
        fprintf(sink->file, "%s\n", line);
    if (fflush(sink->file) != 0 || ferror(sink->file))
        return ronde_fail(error, RONDE_DEVICE, "cannot write a result");
    show_progress(session);
    return RONDE_OK;
}

static void on_end(void *self, uint32_t task, int code)
{
    struct session *session = self;
    const struct unit unit = session->units[task];
    session->failed += code != RONDE_EXIT_OK;
    if (code < 0)
        ronde_note("ronde: %s on %u ranks: its process died of signal %d",
                   session->options->what.algorithms[unit.algorithm_index],
                   session->options->what.ranks[unit.rank_index], -code);
}

/* Most ranks first: they take longest, and nobody waits for one of them alone at the end. */
static enum ronde_status list_units(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const size_t most = (size_t)options->what.rank_counts * options->what.algorithm_count;
    session->units = calloc(most, sizeof *session->units);
    if (!session->units)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu schedules", most);
    for (uint32_t r = options->what.rank_counts; r-- > 0;)
        for (uint32_t a = 0; a < options->what.algorithm_count; a++)
            if (ronde_sweep_is_open(&session->sweep, r, a))
                session->units[session->unit_count++] = (struct unit){r, a};
    return RONDE_OK;
}

/* Takes the whole lines of an earlier output; *out_bytes is where they end: a line cut short is done again. */
static enum ronde_status take_earlier(struct ronde_sweep *sweep, FILE *file, const char *path,
                                      long *out_bytes, struct ronde_error *error)
{
    static char line[LINE_BYTES];
    enum ronde_status status = RONDE_OK;
    for (uint32_t number = 1; status == RONDE_OK && fgets(line, sizeof line, file); number++) {
        const size_t length = strlen(line);
        struct ronde_error why = {0};
        if (length == 0 || line[length - 1] != '\n')
            break;
        line[length - 1] = '\0';
        status = ronde_sweep_take(sweep, line, &why);
        if (status != RONDE_OK)
            return ronde_fail(error, status, "%s:%u: %s", path, number, why.message);
        *out_bytes = ftell(file);
    }
    return RONDE_OK;
}

/* What is there stays; a file that does not exist yet is no error. */
static enum ronde_status resume(struct session *session, struct ronde_error *error)
{
    const char *path = session->options->output.path;
    long bytes = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return RONDE_OK;
    const enum ronde_status status = take_earlier(&session->sweep, file, path, &bytes, error);
    fclose(file);
    if (status == RONDE_OK && truncate(path, bytes) != 0)
        return ronde_fail(error, RONDE_IO, "%s: cannot be truncated after its last complete line",
                          path);
    return status;
}

/* Results that hours went into are not overwritten by a forgotten option. */
static enum ronde_status open_output(struct session *session, struct ronde_error *error)
{
    const char *path = session->options->output.path;
    struct stat found;
    const bool csv = session->options->output.csv;
    *session->sink = (struct ronde_sink){.file = stdout, .json = !csv, .csv = csv};
    if (own_of(session->options)->resume && csv)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--resume goes on with JSON lines: leave out --csv");
    if (own_of(session->options)->resume && !path)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--resume needs --output, the file to go on with");
    if (!path)
        return RONDE_OK;
    if (own_of(session->options)->resume) {
        RONDE_TRY(resume(session, error));
    } else if (stat(path, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0) {
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s holds results: go on with --resume, or remove it", path);
    }
    const enum ronde_status status = ronde_output_file_append(path, &session->sink->output, error);
    session->sink->file = session->sink->output.file;
    return status;
}

static uint32_t job_count(const struct ronde_options *options)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (own_of(options)->jobs)
        return own_of(options)->jobs;
    return cores > 0 ? (uint32_t)cores : 1;
}

/* Characters of the column of sizes, and of what stands in a column besides the name: two blanks before, the gain behind. */
#define SIZE_COLUMN 12
#define GAIN_WIDTH 8

/* The longest name of a winner, and no less than most have. */
static int name_width(const struct session *session)
{
    size_t longest = 14;
    double gain = 0.0;
    for (uint32_t s = 0; s < session->sweep.options.size_count; s++)
        for (uint32_t r = 0; r < session->options->what.rank_counts; r++) {
            const uint32_t winner = ronde_sweep_winner(&session->sweep, r, s, &gain);
            const size_t length =
                winner == RONDE_NONE ? 0 : strlen(session->options->what.algorithms[winner]);
            longest = length > longest ? length : longest;
        }
    return (int)longest;
}

/* The columns of some numbers of ranks. */
static void print_columns(const struct session *session, FILE *file, int width, uint32_t first,
                          uint32_t last)
{
    const struct ronde_options *options = session->options;
    double gain = 0.0;
    fprintf(file, "#%*s", SIZE_COLUMN - 1, "size");
    for (uint32_t r = first; r < last; r++)
        fprintf(file, "  %*u ranks", width, options->what.ranks[r]);
    fputc('\n', file);
    for (uint32_t s = 0; s < session->sweep.options.size_count; s++) {
        fprintf(file, "%*s", SIZE_COLUMN, ronde_cell_size(session->sweep.options.sizes[s]).text);
        for (uint32_t r = first; r < last; r++) {
            const uint32_t winner = ronde_sweep_winner(&session->sweep, r, s, &gain);
            if (winner == RONDE_NONE)
                fprintf(file, "  %*s", width + GAIN_WIDTH - 2, "-");
            else
                fprintf(file, "  %*s %5.2f", width, options->what.algorithms[winner], gain);
        }
        fputc('\n', file);
    }
}

/*
 * Ranks down, sizes across would be too wide: sizes down, a column per number of ranks; on a terminal as many of them side
 * by side as fit.
 */
static void print_winners(const struct session *session, FILE *file)
{
    const uint32_t counts = session->options->what.rank_counts;
    const uint32_t room = session->options->output.wide ? 0 : ronde_screen_terminal(file);
    const int width = name_width(session);
    const uint32_t fitting =
        room > SIZE_COLUMN ? (room - SIZE_COLUMN) / (uint32_t)(width + GAIN_WIDTH) : 0;
    const uint32_t block = room == 0 ? counts : fitting > 0 ? fitting : 1;
    fputs("# fastest of the replayed, each as sim -a sets it up (times slower: the next one);\n"
          "#   plan tries other channels, placements and pieces besides\n",
          file);
    for (uint32_t first = 0; first < counts; first += block)
        print_columns(session, file, width, first, first + block < counts ? first + block : counts);
}

/* Pictures last; the table goes where the results do not. */
static enum ronde_status conclude(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    print_winners(session, options->output.path ? stdout : stderr);
    if (options->output.plot)
        RONDE_TRY(ronde_sweep_plot(&session->sweep, options->output.plot, error));
    if (own_of(options)->map)
        RONDE_TRY(ronde_sweep_map(&session->sweep, own_of(options)->map, error));
    return RONDE_OK;
}

static enum ronde_status run(struct session *session, struct ronde_error *error)
{
    enum ronde_status status = list_units(session, error);
    const struct ronde_pool pool = {.self = session,
                                    .tasks = session->unit_count,
                                    .jobs = job_count(session->options),
                                    .work = work,
                                    .on_line = on_line,
                                    .on_end = on_end};
    session->done_before = session->sweep.done;
    show_progress(session);
    RONDE_THEN(status, ronde_pool_run(&pool, error));
    ronde_progress_end();
    if (status == RONDE_OK && session->sweep.wanted > 0 && session->sweep.done == 0 &&
        session->failed == 0 && session->sweep.options.shards <= 1)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "sweep: no algorithm of these serves so many ranks; leave out -a");
    return status == RONDE_OK ? conclude(session, error) : status;
}

/* What is missing is said before an hour of replaying. */
static enum ronde_status check_components(const struct ronde_options *options,
                                          struct ronde_error *error)
{
    const char *text = NULL;
    if (!ronde_json_available(&text))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", text);
    RONDE_TRY(ronde_plot_check(options->output.plot, error));
    return ronde_plot_check(own_of(options)->map, error);
}

static enum ronde_status sweep_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_options own = *options;
    struct session session = {.options = &own,
                              .is_of_all = options->what.algorithm_count == 0,
                              .sink = &call->sink};
    struct ronde_sweep_options how;

    enum ronde_status status = check_components(options, error);
    RONDE_THEN(status, ronde_open_platform(options, &call->platform, error));
    session.platform = call->platform;
    RONDE_THEN(status, ronde_default_grid(session.platform, false, &own, error));
    RONDE_THEN(status, ronde_sweep_options_of(&own, own_of(options)->shard, &how, error));
    RONDE_THEN(status, check_files(&own, &how, error));
    RONDE_THEN(status, ronde_sweep_open(&how, session.platform, &session.sweep, error));
    RONDE_THEN(status, open_output(&session, error));
    RONDE_THEN(status, run(&session, error));
    free(session.units);
    ronde_sweep_close(&session.sweep);
    call->code = session.failed ? RONDE_EXIT_FAILED : RONDE_EXIT_OK;
    return status;
}

#define OWN(member) offsetof(struct sweep_options, member)

static const struct ronde_option own_rows[] = {
    {"map", 0, "FILE", ronde_take_plot, OWN(map), NULL, 0, false,
     "write an SVG of the fastest algorithm by ranks and bytes"},
    {"resume", 0, NULL, ronde_take_switch, OWN(resume), NULL, 0, false,
     "keep what the output file holds, do the rest"},
    {"jobs", 0, "COUNT", ronde_take_count, OWN(jobs), NULL, 1, false,
     "processes at a time (default: one a core)"},
    {"shard", 0, "I/N", ronde_take_text, OWN(shard), NULL, 0, true,
     "only every N-th point, from the I-th (0 .. N-1)"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_AS(several, what, NULL),
    RONDE_TAKES_ROWS(RONDE_SECTION_OUTPUT, own_rows, struct sweep_options, NULL),
    RONDE_TAKES(what, "datatype root shape pairs channels"),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(engine, "engine slot synthesize depth timeout"),
    RONDE_TAKES(output, "json csv plot output wide"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_sweep = {
    .name = "sweep",
    .arguments = "COLLECTIVE",
    .summary = "replay algorithms on a grid of ranks and sizes, in parallel",
    .examples =
        "  ronde sweep all_reduce -a ring,double_tree -N 8:1024:x2 --bytes 8:1G:x4 --topo"
        " dgx-h100-pod\n      --output sweep.jsonl --plot time.svg --map winners.svg\n"
        "  ronde sweep all_reduce --topo dgx-h100-pod --bytes 1K:1G:x16\n"
        "  ronde sweep all_reduce -a ring,tree -N 8:64:x2 --topo crossbar-64 --output s.jsonl "
        "--resume\n"
        "  ronde sweep all_reduce -a ring,tree -N 8:64:x2 --topo crossbar-64 --shard 0/4 > "
        "part0.jsonl\n",
    .uses = uses,
    .max_arguments = 1,
    .is_rare = true,
    .run = sweep_command,
};
