/* --style openmpi and mpich: the library's choice, replayed as it sends: whole blocks in one channel. See styles.h. */
#include "cli/options/topology.h"
#include "styles.h"

#include "cli/options/requests.h"
#include "cli/print/printer.h"

#include "ronde/mpi_rules.h"
#include "ronde/setup.h"

#include <math.h>
#include <string.h>

/* Algorithms of a library for one collective. */
#define MOST_RIVALS 8u

/* A message is never cut. */
#define WHOLE_BYTES (UINT64_C(1) << 40)

/* An algorithm compiled for the ranks, once it was needed. */
struct rival {
    const char *name;
    struct ronde_candidate candidate;
    struct ronde_forecast forecast;
    bool is_open;        /* it was compiled */
    bool is_unsupported; /* for so many ranks it cannot be */
    double us;           /* of the size at hand; not a number where there is none */
};

struct session {
    const struct ronde_options *options;
    enum ronde_mpi_library library;
    enum ronde_collective collective;
    struct ronde_platform *platform;
    struct ronde_tune_options how;
    uint32_t ranks;
    struct rival rivals[MOST_RIVALS];
    uint32_t rival_count;
    struct ronde_sink *sink;
    bool is_plan;
};

static const struct ronde_column columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 12, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 6, false},
    {"library_algorithm", "library takes", "", RONDE_CELL_PLAIN, -24, false},
    {"algorithm", "which is", "", RONDE_CELL_PLAIN, -20, false},
    {"time_us", "time", "(us)", RONDE_CELL_US, 9, false},
    {"algbw_GBps", "algbw", "(GB/s)", RONDE_CELL_GBPS, 7, false},
    {"busbw_GBps", "busbw", "(GB/s)", RONDE_CELL_GBPS, 7, false}};

static const struct ronde_column plan_columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 12, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 6, false},
    {"library_algorithm", "library takes", "", RONDE_CELL_PLAIN, -24, false},
    {"library_time_us", "time", "(us)", RONDE_CELL_US, 9, false},
    {"algorithm", "fastest it has", "", RONDE_CELL_PLAIN, -20, false},
    {"time_us", "time", "(us)", RONDE_CELL_US, 9, false},
    {"slower", "slower", "(x)", RONDE_CELL_RATIO, 6, false}};

bool ronde_is_mpi_style(const char *style)
{
    for (unsigned l = 0; l < RONDE_MPI_LIBRARY_COUNT; l++)
        if (strcmp(style, ronde_mpi_library_text((enum ronde_mpi_library)l)) == 0)
            return true;
    return false;
}

static enum ronde_status check_options(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    while (strcmp(options->style, ronde_mpi_library_text(session->library)) != 0)
        session->library++;
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "which collective is missing");
    if (!options->machine.topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--style %s wants --topo with a platform file (ronde calibrate "
                          "--from-table makes one of an MPI machine)",
                          options->style);
    if (options->what.algorithm_count > 0 || options->what.channels > 0 ||
        options->what.shape.count > 0 || options->what.pairs.ranks > 0 || options->what.nccl_log ||
        options->engine.placement || options->engine.synthesize || options->backend.is_given ||
        options->output.plot)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--style %s says what the library takes by itself, rank r on host r: leave "
            "out -a, --channels, --shape, --pairs, --nccl-log, --placement, "
            "--synthesize, --backend and --plot",
            options->style);
    if (strcmp(options->engine.name, "price") == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--style %s replays what the library takes: leave out --engine price",
                          options->style);
    if (options->sizes.min_bytes == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--style %s: a call of 0 bytes moves nothing; sizes (-b) are 1 and more",
                          options->style);
    return ronde_parse_collective(options->arguments[0], &session->collective, error);
}

/* ---- Replays ---------------------------------------------------------------------------------------------------- */

/* Ranks that an algorithm does not serve are no error: another one does. */
static enum ronde_status open_rival(struct session *session, struct rival *rival,
                                    struct ronde_error *error)
{
    const struct ronde_setup setup = {.platform = session->platform,
                                      .request = {.collective = session->collective,
                                                  .algorithm = rival->name,
                                                  .ranks = session->ranks,
                                                  .root = session->options->what.root,
                                                  .channels = 1},
                                      .is_placed = true,
                                      .placement = RONDE_PLACE_FILE};
    struct ronde_error why = {RONDE_OK, 0, ""};
    const enum ronde_status status =
        ronde_candidate_open(&setup, ronde_mem_default(), &rival->candidate, &why);
    rival->is_unsupported = status == RONDE_UNSUPPORTED;
    rival->is_open = status == RONDE_OK;
    if (rival->is_open)
        rival->forecast =
            ronde_candidate_forecast(&rival->candidate, session->platform, &session->how);
    return rival->is_open || rival->is_unsupported
               ? RONDE_OK
               : ronde_fail_at(error, status, why.line, "%s", why.message);
}

/* All of ronde's algorithms that the library has. */
static void name_rivals(struct session *session)
{
    const char *name;
    session->rival_count = 0;
    while (session->rival_count < MOST_RIVALS &&
           (name = ronde_mpi_rival(session->library, session->collective, session->rival_count)))
        session->rivals[session->rival_count++] = (struct rival){.name = name};
}

static void close_rivals(struct session *session)
{
    while (session->rival_count > 0) {
        struct rival *rival = &session->rivals[--session->rival_count];
        if (rival->is_open)
            ronde_candidate_close(&rival->candidate, ronde_mem_default());
    }
}

/* A rival that does not serve so many ranks, or takes too many steps to replay, has no time. */
static enum ronde_status find_time(struct session *session, struct rival *rival, uint64_t bytes,
                                   struct ronde_error *error)
{
    struct ronde_prediction prediction;
    struct ronde_error why = {RONDE_OK, 0, ""};
    enum ronde_status status = RONDE_OK;
    if (!rival->is_open && !rival->is_unsupported)
        status = open_rival(session, rival, error);
    if (status != RONDE_OK || rival->is_unsupported)
        return status;
    ronde_forecast_set_count(&rival->forecast,
                             ronde_collective_count(session->collective, session->ranks, bytes,
                                                    session->options->what.dtype));
    status =
        ronde_forecast_replay(&rival->forecast, session->options->engine.name, &prediction, &why);
    if (status == RONDE_OK)
        rival->us = prediction.time_ns / 1e3;
    return status == RONDE_OK || status == RONDE_UNSUPPORTED
               ? RONDE_OK
               : ronde_fail_at(error, status, why.line, "%s", why.message);
}

static bool is_of(const struct rival *rival, const struct ronde_mpi_algorithm *algorithm)
{
    return algorithm->ours && strcmp(rival->name, algorithm->ours) == 0;
}

/* Times of what the library takes; for a plan of all that it has. */
static enum ronde_status find_times(struct session *session, uint64_t bytes,
                                    const struct ronde_mpi_algorithm *taken,
                                    struct ronde_error *error)
{
    for (uint32_t i = 0; i < session->rival_count; i++) {
        struct rival *rival = &session->rivals[i];
        rival->us = NAN;
        if (session->is_plan || is_of(rival, taken))
            RONDE_TRY(find_time(session, rival, bytes, error));
    }
    return RONDE_OK;
}

/* NULL where none has a time. */
static const struct rival *fastest_of(const struct session *session)
{
    const struct rival *fastest = NULL;
    for (uint32_t i = 0; i < session->rival_count; i++)
        if (isfinite(session->rivals[i].us) && (!fastest || session->rivals[i].us < fastest->us))
            fastest = &session->rivals[i];
    return fastest;
}

static double time_of(const struct session *session, const struct ronde_mpi_algorithm *algorithm)
{
    for (uint32_t i = 0; i < session->rival_count; i++)
        if (is_of(&session->rivals[i], algorithm))
            return session->rivals[i].us;
    return NAN;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

static enum ronde_status print_choice(struct session *session, uint64_t bytes,
                                      const struct ronde_mpi_algorithm *taken, double us,
                                      struct ronde_error *error)
{
    static const struct ronde_table table = RONDE_TABLE(columns);
    const double algbw_GBps = (double)bytes / us / 1e3;
    const struct ronde_field fields[] = {
        ronde_field_text("style", session->options->style),
        ronde_field_text("collective", ronde_collective_text(session->collective)),
        ronde_field_integer("ranks", session->ranks),
        ronde_field_integer("bytes", bytes),
        ronde_field_text("library_algorithm", taken->theirs),
        ronde_field_text("algorithm", taken->ours ? taken->ours : ""),
        ronde_field_real("time_us", us),
        ronde_field_real("algbw_GBps", algbw_GBps),
        ronde_field_real("busbw_GBps", algbw_GBps * ronde_collective_bus_factor(session->collective,
                                                                                session->ranks)),
        ronde_field_text("kind", "simulated")};
    return ronde_sink_print(session->sink, &table, &RONDE_ROW(fields), error);
}

static enum ronde_status print_plan(struct session *session, uint64_t bytes,
                                    const struct ronde_mpi_algorithm *taken, double us,
                                    struct ronde_error *error)
{
    static const struct ronde_table table = RONDE_TABLE(plan_columns);
    const struct rival *fastest = fastest_of(session);
    const double least_us = fastest ? fastest->us : NAN;
    const struct ronde_field fields[] = {ronde_field_text("style", session->options->style),
                                         ronde_field_text("collective", ronde_collective_text(
                                                                            session->collective)),
                                         ronde_field_integer("ranks", session->ranks),
                                         ronde_field_integer("bytes", bytes),
                                         ronde_field_text("library_algorithm", taken->theirs),
                                         ronde_field_real("library_time_us", us),
                                         ronde_field_text("algorithm", fastest ? fastest->name : ""),
                                         ronde_field_real("time_us", least_us),
                                         ronde_field_real("slower", us / least_us),
                                         ronde_field_text("kind", "simulated")};
    return ronde_sink_print(session->sink, &table, &RONDE_ROW(fields), error);
}

static enum ronde_status show_size(struct session *session, uint64_t bytes,
                                   struct ronde_error *error)
{
    struct ronde_mpi_algorithm taken;
    RONDE_TRY(ronde_mpi_choose(session->library, session->collective, session->ranks, bytes, &taken,
                               error));
    RONDE_TRY(find_times(session, bytes, &taken, error));
    const double us = time_of(session, &taken);
    return session->is_plan ? print_plan(session, bytes, &taken, us, error)
                            : print_choice(session, bytes, &taken, us, error);
}

static enum ronde_status show_ranks(struct session *session, uint32_t ranks,
                                    struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    session->ranks = ranks;
    name_rivals(session);
    for (uint64_t bytes = session->options->sizes.min_bytes; status == RONDE_OK && bytes != 0;
         bytes = ronde_options_next_size(&session->options->sizes, bytes))
        status = show_size(session, bytes, error);
    close_rivals(session);
    return status;
}

static enum ronde_status show(struct session *session, struct ronde_error *error)
{
    static const struct ronde_table table = RONDE_TABLE(columns), plan = RONDE_TABLE(plan_columns);
    const struct ronde_options *options = session->options;
    if (ronde_sink_is_table(session->sink)) {
        ronde_sink_say(session->sink, "ronde %s: %s as %s chooses by its own rules, replayed on %s",
                       RONDE_VERSION, ronde_collective_text(session->collective), options->style,
                       ronde_platform_facts(session->platform)->name);
        ronde_sink_say(session->sink,
                       "rules by ranks and bytes, for operations that commute; whole blocks, one "
                       "channel; no time: ronde has no algorithm that sends the same messages");
        ronde_sink_head(session->sink, session->is_plan ? &plan : &table);
    }
    if (options->what.rank_counts == 0)
        return show_ranks(session, ronde_platform_facts(session->platform)->hosts, error);
    for (uint32_t r = 0; r < options->what.rank_counts; r++)
        RONDE_TRY(show_ranks(session, options->what.ranks[r], error));
    return RONDE_OK;
}

enum ronde_status ronde_mpi_style(struct ronde_invocation *call, bool is_plan,
                                  struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct session session = {.options = options,
                              .sink = &call->sink,
                              .is_plan = is_plan,
                              .how = ronde_tune_options_of(options)};

    enum ronde_status status = check_options(&session, error);
    if (session.how.slot_bytes == 0)
        session.how.slot_bytes = WHOLE_BYTES;
    RONDE_THEN(status, ronde_open_platform(options, &call->platform, error));
    session.platform = call->platform;
    RONDE_THEN(status, ronde_sink_open(options, &call->sink, error));
    return status == RONDE_OK ? show(&session, error) : status;
}
