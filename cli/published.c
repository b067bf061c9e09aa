/* ronde validate --published: measured, modelled and NCCL's own formula, by system. See published.h. */
#include "published.h"

#include "common.h"
#include "report.h"
#include "table.h"

#include "ronde/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Misses that a document shows. */
#define WORST 10u

/* How much of a system a prediction has seen. */
enum mode { NOMINAL, SMALLEST, LEAVE_ONE_OUT, MODE_COUNT };

static const struct {
    const char *name;  /* as typed */
    const char *title; /* as printed */
    const char *says;
} modes[MODE_COUNT] = {
    [NOMINAL] = {"nominal", "nominal",
                 "the hardware's description and the shipped constants; nothing is "
                 "fitted to the system by itself"},
    [SMALLEST] = {"smallest", "fit",
                  "launch, latencies inside and between nodes and link efficiency "
                  "fitted to the smallest number of ranks and one collective there, "
                  "those rows not counted"},
    [LEAVE_ONE_OUT] = {"leave-one-out", "leave-one-system-out",
                       "the shipped constants fitted again to all systems but "
                       "the one that is predicted"},
};

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants; /* as shipped */
    struct ronde_nccl_constants fitted;    /* those of the last prediction */
    struct ronde_published published;
    struct ronde_sink sink;
    bool is_markdown;
};

/* The mode of --fit; MODE_COUNT with `constants`. */
static enum ronde_status find_mode(const char *text, unsigned *out, struct ronde_error *error)
{
    *out = NOMINAL;
    if (!text)
        return RONDE_OK;
    for (*out = 0; *out < MODE_COUNT; ++*out)
        if (strcmp(text, modes[*out].name) == 0)
            return RONDE_OK;
    return strcmp(text, "constants") == 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--fit \"%s\" is not nominal, smallest, leave-one-out or constants",
                            text);
}

/* Predicts one system from what the mode allows. */
static void predict(struct session *session, unsigned mode, uint32_t system)
{
    struct ronde_published *published = &session->published;
    session->fitted = session->constants;
    if (mode == SMALLEST)
        ronde_published_fit_system(published, system, &session->fitted);
    if (mode == LEAVE_ONE_OUT)
        ronde_published_fit_constants(published, system, &session->fitted);
    ronde_published_predict(published, system, &session->fitted);
}

/* Rows that an earlier mode has fitted count again. */
static void forget_fit(struct ronde_published *published)
{
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].state == RONDE_PUBLISHED_FITTED)
            published->rows[r].state = RONDE_PUBLISHED_PREDICTED;
}

static double error_of(const struct ronde_published_row *row)
{
    return row->predicted_us / row->measured_us - 1;
}

/* A row as a record. */
static enum ronde_status print_row(struct session *session, unsigned mode,
                                   const struct ronde_published_row *row, struct ronde_error *error)
{
    const bool is_predicted = row->state <= RONDE_PUBLISHED_FITTED;
    const struct ronde_field fields[] = {
        ronde_field_text("mode", modes[mode].title),
        ronde_field_text("system", session->published.systems[row->system].name),
        ronde_field_integer("line", row->line),
        ronde_field_text("state", ronde_published_state_text(row->state)),
        ronde_field_text("collective", row->state == RONDE_PUBLISHED_NOT_MODELLED
                                           ? NULL
                                           : ronde_collective_text(row->call.collective)),
        ronde_field_integer("ranks", row->call.ranks),
        ronde_field_integer("nodes", row->call.nodes),
        ronde_field_integer("bytes", row->call.bytes),
        ronde_field_text("forced_algorithm", ronde_nccl_algorithm_text(row->wish.algorithm)),
        ronde_field_text("forced_protocol", ronde_nccl_protocol_text(row->wish.protocol)),
        ronde_field_text("algorithm",
                         is_predicted ? ronde_nccl_algorithm_text(row->choice.algorithm) : NULL),
        ronde_field_text("protocol",
                         is_predicted ? ronde_nccl_protocol_text(row->choice.protocol) : NULL),
        ronde_field_real("measured_us", row->measured_us),
        ronde_field_real("predicted_us", is_predicted ? row->predicted_us : NAN),
        ronde_field_real("nccl_us", is_predicted && row->nccl_us > 0 ? row->nccl_us : NAN),
        ronde_field_real("error", is_predicted ? error_of(row) : NAN)};
    const struct ronde_row record = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(&session->sink, &record, error);
}

static enum ronde_status print_rows(struct session *session, unsigned mode, uint32_t system,
                                    struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t r = 0; status == RONDE_OK && r < session->published.count; r++)
        if (session->published.rows[r].system == system)
            status = print_row(session, mode, &session->published.rows[r], error);
    return status;
}

static const struct ronde_column columns[] = {{"system", "", 24},        {"predicted", "(rows)", 9},
                                              {"fitted", "(rows)", 6},   {"faulty", "(rows)", 6},
                                              {"other", "(rows)", 6},    {"median", "(error)", 8},
                                              {"p90", "(error)", 8},     {"NCCL", "(median)", 8},
                                              {"winners", "(right)", 8}, {"falls", "(noise)", 7}};

#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

static const struct ronde_table table = {columns, COLUMN_COUNT, 2};

static void print_head(const struct session *session, unsigned mode)
{
    FILE *file = session->sink.file;
    if (!session->is_markdown) {
        fprintf(file, "# ronde %s: %s, %s: %s\n#\n", RONDE_VERSION, session->options->published,
                modes[mode].title, modes[mode].says);
        ronde_table_head(file, &table);
        return;
    }
    fprintf(file, "\n### %s\n\nPredicted from %s.\n\n", modes[mode].title, modes[mode].says);
    fprintf(
        file,
        "| system | predicted rows | fitted | faulty | other | median | p90 | NCCL's "
        "formula, median | winners right | falls |\n|---|---|---|---|---|---|---|---|---|---|\n");
}

static struct ronde_cell percent(double error, bool is_there)
{
    struct ronde_cell cell = {"-"};
    if (is_there)
        snprintf(cell.text, sizeof cell.text, "%.1f%%", 100 * error);
    return cell;
}

static void print_score(const struct session *session, const char *name,
                        const struct ronde_published_score *score)
{
    const size_t predicted = score->count[RONDE_PUBLISHED_PREDICTED];
    struct ronde_cell winners = {"-"};
    if (score->duels > 0)
        snprintf(winners.text, sizeof winners.text, "%u/%u", score->winners, score->duels);
    const struct ronde_cell cells[COLUMN_COUNT] = {
        ronde_cell_text(name),
        ronde_cell_integer(predicted),
        ronde_cell_integer(score->count[RONDE_PUBLISHED_FITTED]),
        ronde_cell_integer(score->count[RONDE_PUBLISHED_FAULTY]),
        ronde_cell_integer(score->count[RONDE_PUBLISHED_SMALL] +
                           score->count[RONDE_PUBLISHED_NOT_MODELLED] +
                           score->count[RONDE_PUBLISHED_NOT_DESCRIBED]),
        percent(score->median, predicted > 0),
        percent(score->p90, predicted > 0),
        percent(score->nccl_median, predicted > 0),
        winners,
        percent(score->falls, true)};
    if (!session->is_markdown) {
        ronde_table_row(session->sink.file, &table, cells);
        return;
    }
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        fprintf(session->sink.file, "| %s ", cells[c].text);
    fprintf(session->sink.file, "|\n");
}

/* All systems in one mode. */
static enum ronde_status show_mode(struct session *session, unsigned mode, struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(&session->sink);
    enum ronde_status status = RONDE_OK;
    if (is_table)
        print_head(session, mode);
    for (uint32_t s = 0; status == RONDE_OK && s < session->published.system_count; s++) {
        struct ronde_published_score score;
        ronde_progress("%s: %s", modes[mode].name, session->published.systems[s].name);
        predict(session, mode, s);
        status = ronde_published_score_of(&session->published, s, &score, error);
        if (status == RONDE_OK && is_table)
            print_score(session, session->published.systems[s].name, &score);
        if (status == RONDE_OK && !is_table)
            status = print_rows(session, mode, s, error);
    }
    ronde_progress_end();
    return status;
}

static int by_miss(const void *left, const void *right)
{
    const struct ronde_published_row *const a = *(const struct ronde_published_row *const *)left;
    const struct ronde_published_row *const b = *(const struct ronde_published_row *const *)right;
    const double misses[] = {fabs(log(a->predicted_us / a->measured_us)),
                             fabs(log(b->predicted_us / b->measured_us))};
    return misses[0] < misses[1] ? 1 : misses[0] > misses[1] ? -1 : 0;
}

/* The rows that are furthest off, whatever they are. */
static enum ronde_status print_worst(struct session *session, struct ronde_error *error)
{
    const struct ronde_published *published = &session->published;
    const struct ronde_published_row **rows =
        ronde_mem_new(published->mem, published->count, sizeof *rows);
    size_t count = 0;
    FILE *file = session->sink.file;
    if (!rows)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", published->count);
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].state == RONDE_PUBLISHED_PREDICTED)
            rows[count++] = &published->rows[r];
    qsort(rows, count, sizeof *rows, by_miss);
    fprintf(file, "\n### The worst ten misses (nominal)\n\n| system | line | call | forced | as | "
                  "measured us | predicted us | ratio |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t r = 0; r < count && r < WORST; r++) {
        const struct ronde_published_row *row = rows[r];
        fprintf(file,
                "| %s | %u | %s, %u ranks on %u nodes, %s | %s/%s | %s/%s | %.1f | %.1f | %.2f |\n",
                published->systems[row->system].name, row->line,
                ronde_collective_text(row->call.collective), row->call.ranks, row->call.nodes,
                ronde_cell_size(row->call.bytes).text,
                ronde_nccl_algorithm_text(row->wish.algorithm),
                ronde_nccl_protocol_text(row->wish.protocol),
                ronde_nccl_algorithm_text(row->choice.algorithm),
                ronde_nccl_protocol_text(row->choice.protocol), row->measured_us, row->predicted_us,
                row->predicted_us / row->measured_us);
    }
    ronde_mem_free(published->mem, rows, published->count, sizeof *rows);
    return RONDE_OK;
}

/* A document: every mode, and the worst of the first. */
static enum ronde_status show_all(struct session *session, struct ronde_error *error)
{
    enum ronde_status status = show_mode(session, NOMINAL, error);
    if (status == RONDE_OK)
        status = print_worst(session, error);
    if (status == RONDE_OK)
        status = show_mode(session, SMALLEST, error);
    forget_fit(&session->published);
    return status == RONDE_OK ? show_mode(session, LEAVE_ONE_OUT, error) : status;
}

/* The shipped constants, fitted anew to all systems: lines for their files. */
static void show_constants(struct session *session)
{
    session->fitted = session->constants;
    ronde_published_fit_constants(&session->published, UINT32_MAX, &session->fitted);
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
        char name[64];
        const struct ronde_nccl_constant *constant = &session->fitted.all[i];
        if (!(constant->start > 0))
            continue;
        ronde_nccl_constant_name(i, name, sizeof name);
        fprintf(session->sink.file, "%s %.4g start %.4g\n", name, constant->value, constant->start);
    }
}

/* --topo with --system: another machine than the description of the one system. */
static enum ronde_status take_machine(struct session *session, struct ronde_error *error)
{
    struct ronde_nccl_machine machine;
    if (!session->options->topo || !session->options->system)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_nccl_machine_read(session->options->topo, &machine, error);
    if (status == RONDE_OK)
        ronde_published_describe(&session->published, 0, &machine, &session->constants);
    return status;
}

static enum ronde_status show(struct session *session, unsigned mode, struct ronde_error *error)
{
    if (mode == MODE_COUNT) {
        show_constants(session);
        return RONDE_OK;
    }
    return session->is_markdown ? show_all(session, error) : show_mode(session, mode, error);
}

int ronde_validate_published(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct session session = {.options = options, .is_markdown = options->markdown};
    unsigned mode = NOMINAL;
    enum ronde_status status = find_mode(options->fit, &mode, &error);
    if (status == RONDE_OK && options->argument_count > 0)
        status = ronde_fail(&error, RONDE_BAD_ARGUMENT,
                            "--published takes all collectives of the table, not \"%s\"",
                            options->arguments[0]);
    if (status == RONDE_OK && options->markdown && (options->json || options->csv || options->fit))
        status =
            ronde_fail(&error, RONDE_BAD_ARGUMENT, "--markdown prints every mode, and no records");
    if (status == RONDE_OK)
        status = ronde_nccl_constants_read(NULL, &session.constants, &error);
    if (status == RONDE_OK)
        status =
            ronde_published_read(options->published, options->system ? NULL : options->topo,
                                 options->system, ronde_mem_default(), &session.published, &error);
    if (status == RONDE_OK) {
        ronde_published_choose(&session.published, &session.constants);
        status = take_machine(&session, &error);
    }
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &session.sink, &error);
    if (status == RONDE_OK)
        status = show(&session, mode, &error);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK &&
        status == RONDE_OK)
        status = error.status;
    if (session.published.mem)
        ronde_published_close(&session.published);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
