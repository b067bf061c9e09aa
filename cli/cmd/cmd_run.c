/* ronde run: execute, check against host, measure; nccl-tests' table. */
#include "cli/launch/job.h"
#include "cli/options/lab_options.h"
#include "cli/options/schedule_file.h"
#include "cli/options/tune_options.h"
#include "cli/print/report.h"
#include "cli/print/run_nccl_tests.h"
#include "commands.h"
#include "run.h"
#include "run_backend.h"
#include "run_variants.h"

#include "ronde/hw.h"

#include <inttypes.h>
#include <string.h>

/* Who runs this size, and a line where that changes. */
static enum ronde_status pick(struct ronde_run_session *session, uint64_t count,
                              struct ronde_error *error)
{
    const struct ronde_benchmark *last = session->benchmark;
    struct ronde_decision decision;
    char text[RONDE_DECISION_BYTES];
    if (!session->is_autotuned)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_race_pick(&session->race, count, &decision, &session->benchmark, error);
    if (status != RONDE_OK)
        return status;
    ronde_run_note_slot(session);
    if (!ronde_sink_is_table(&session->sink))
        return session->race.autotune.is_autotune ? ronde_run_print_autotune(session, count, error)
                                                  : RONDE_OK;
    if (session->benchmark != last && !session->is_nccl_tests && !session->race.autotune.only_hears) {
        ronde_selector_say(&session->race.autotune.selector, &decision, text, sizeof text);
        fprintf(session->sink.file, "# algorithm %s; schedule %016" PRIx64 "\n", text,
                session->benchmark->schedule->hash);
    }
    return RONDE_OK;
}

/* The sweep. Buffers are those of the largest size. */
static enum ronde_status run_sizes(struct ronde_run_session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_compile_request *request = &session->request;
    uint64_t last = UINT64_MAX, bytes = options->min_bytes;
    enum ronde_status status = RONDE_OK;
    do {
        const uint64_t count =
            ronde_record_count(request->collective, request->ranks, bytes, options->dtype);
        /* Several small sizes can mean the same count when every rank has a block of its own. */
        if (count != last)
            status = pick(session, count, error);
        if (count != last && status == RONDE_OK)
            status = ronde_run_size(session, count, error);
        last = count;
        bytes = ronde_options_next_size(options, bytes);
    } while (status == RONDE_OK && bytes != 0);
    return status;
}

/* A backend by its name, or the communicator of the processes. */
static enum ronde_status open_target(struct ronde_run_session *session, struct ronde_error *error)
{
    struct ronde_target *target = &session->target;
    session->engine = session->options->backend;
    if (!session->comm)
        return ronde_target_open(session->engine, session->options->is_unbound, target, error);
    const enum ronde_status status = ronde_backend_comm.probe(&target->machine, error);
    target->backend = &ronde_backend_comm;
    target->self = session->comm;
    /* A process knows its own processors; the communicator knows whether all together have enough. */
    if (status == RONDE_OK && !ronde_comm_is_oversubscribed(session->comm))
        target->machine.cores = ronde_comm_ranks(session->comm);
    session->engine = ronde_transport_text(ronde_comm_transport(session->comm));
    return status;
}

/* What runs: a schedule that was named or given, or any algorithm that serves the request. */
static enum ronde_status open_subject(struct ronde_run_session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    enum ronde_status status = RONDE_OK;
    session->is_autotuned = ronde_is_auto(options) || ronde_is_autotune(options);
    if (!session->is_autotuned) {
        status = ronde_schedule_file_or_compiled(options, &session->given, error);
        if (status != RONDE_OK)
            return status;
        session->request = ronde_schedule_file_request(session->given);
        session->request.algorithm = session->given->algorithm;
        return RONDE_OK;
    }
    status = ronde_open_request(options, &session->request, error);
    return status == RONDE_OK ? ronde_race_open(options, &session->request, session->comm,
                                                ronde_is_autotune(options), &session->race, error)
                              : status;
}

/* Buffers of the largest size. */
static enum ronde_status open_memory(struct ronde_run_session *session, uint64_t count,
                                     struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_input_range shape = {.collective = session->request.collective,
                                            .ranks = session->request.ranks,
                                            .root = session->request.root,
                                            .count = count,
                                            .dtype = options->dtype,
                                            .op = options->op};
    enum ronde_status status = ronde_memory_check(session->comm, session->comm ? 1 : shape.ranks,
                                                  ronde_memory_bytes(&shape), error);
    if (status == RONDE_OK)
        status =
            ronde_memory_create_only(&shape,
                                     session->comm ? ronde_comm_rank(session->comm) : RONDE_NONE,
                                     session->comm ? ronde_run_memory(session) : NULL,
                                     &session->memory, error);
    if (status == RONDE_OK)
        session->memory.near = &session->target.bind;
    return status;
}

/* Loads what was named, and asks whether it runs. */
static enum ronde_status open_named(struct ronde_run_session *session, uint64_t count,
                                    struct ronde_error *error)
{
    const struct ronde_benchmark_options how = ronde_benchmark_options_of(session->options);
    const enum ronde_status status =
        ronde_benchmark_open(&session->target, session->given, &how, &session->named, error);
    if (status != RONDE_OK)
        return status;
    session->benchmark = &session->named;
    ronde_run_note_slot(session);
    ronde_benchmark_aim(session->benchmark, &session->memory, count,
                        !ronde_benchmark_has_placement(session->benchmark, false));
    return session->target.backend->supports(session->target.self, session->given,
                                             &session->benchmark->launch, error);
}

/* Buffers, and what was named or may be chosen, loaded on the largest count. */
static enum ronde_status enter_subject(struct ronde_run_session *session, struct ronde_error *error)
{
    const uint64_t count = ronde_record_count(session->request.collective, session->request.ranks,
                                              session->options->max_bytes, session->options->dtype);
    const enum ronde_status status = open_memory(session, count, error);
    if (status != RONDE_OK)
        return status;
    return session->is_autotuned ? ronde_race_enter(&session->race, &session->target,
                                                    &session->memory, session->engine, count, error)
                                 : open_named(session, count, error);
}

/* What the next type, operator or root has of its own. */
static void close_subject(struct ronde_run_session *session)
{
    ronde_benchmark_close(&session->named);
    ronde_race_close(&session->race);
    ronde_memory_destroy(&session->memory);
    ronde_schedule_destroy(session->given);
    session->benchmark = NULL;
    session->given = NULL;
    session->named = (struct ronde_benchmark){0};
    session->race = (struct ronde_race){0};
    session->memory = (struct ronde_memory){0};
}

/* Everything that can be refused is refused here, on the largest count, before the first row. */
static enum ronde_status open_session(struct ronde_run_session *session, struct ronde_error *error)
{
    enum ronde_status status = open_subject(session, error);
    if (status == RONDE_OK)
        status = open_target(session, error);
    if (status == RONDE_OK)
        status = enter_subject(session, error);
    return status == RONDE_OK ? ronde_sink_open(session->options, &session->sink, error) : status;
}

/* Goes on to the next of -d all, -o all and -r all; *out_is_over where there is none. */
static enum ronde_status open_next(struct ronde_run_session *session, struct ronde_options *options,
                                   bool *out_is_over, struct ronde_error *error)
{
    const struct ronde_compile_request request = session->request;
    const uint64_t hash = session->given ? session->given->hash : 0;
    *out_is_over = !ronde_variant_next(options, request.collective, request.ranks);
    if (*out_is_over)
        return RONDE_OK;
    close_subject(session);
    enum ronde_status status = open_subject(session, error);
    if (status == RONDE_OK)
        status = enter_subject(session, error);
    if (status == RONDE_OK && session->given && session->given->hash != hash &&
        !session->is_nccl_tests && ronde_sink_is_table(&session->sink))
        fprintf(session->sink.file, "# root %u; schedule %016" PRIx64 "\n", options->root,
                session->given->hash);
    return status;
}

/* The table: of one type, operator and root, or of all of them. */
static enum ronde_status run_variants(struct ronde_run_session *session,
                                      struct ronde_options *options, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    bool is_over = false;
    if (ronde_sink_is_table(&session->sink))
        ronde_run_print_head(session);
    while (status == RONDE_OK && !is_over) {
        status = run_sizes(session, error);
        if (status == RONDE_OK)
            status = open_next(session, options, &is_over, error);
    }
    if (status == RONDE_OK && ronde_sink_is_table(&session->sink))
        ronde_run_print_verdict(session);
    return status;
}

/* The whole command, alone or as one process of several. */
static int run(const struct ronde_options *options, struct ronde_comm *comm)
{
    struct ronde_error error = {0};
    struct ronde_options own = *options;
    struct ronde_run_session session = {.options = &own, .comm = comm};
    ronde_variant_first(&own);
    ronde_machine_line(options->backend, comm ? ronde_comm_processors(comm) : ronde_usable_cores(),
                       session.machine, sizeof session.machine);
    enum ronde_status status = ronde_run_is_nccl_tests(options, &session.is_nccl_tests, &error);
    if (status == RONDE_OK)
        status = open_session(&session, &error);
    if (status == RONDE_OK)
        status = run_variants(&session, &own, &error);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK)
        status = error.status;
    close_subject(&session);
    /* The target owns the communicator from the moment it has it. */
    if (comm && !session.target.self)
        ronde_comm_destroy(comm);
    ronde_target_close(&session.target);
    if (status != RONDE_OK)
        return ronde_report(&error);
    return session.wrong ? RONDE_EXIT_NO : RONDE_EXIT_OK;
}

int ronde_cmd_run(const struct ronde_options *given)
{
    struct ronde_options options = *given;
    struct ronde_launcher launcher;
    struct ronde_error error = {0};
    if (ronde_run_backend(&options, &launcher, &error) != RONDE_OK) {
        ronde_launcher_close(&launcher);
        return ronde_report(&error);
    }
    return ronde_job_is_wanted(options.backend) ? ronde_job_run(&options, &launcher, run)
                                                : run(&options, NULL);
}
