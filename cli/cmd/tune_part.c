/* One number of ranks in one round of `ronde tune`, in the processes that run it. See tune.h. */
#include "tune.h"

#include "cli/print/report.h"
#include "race.h"

#include "ronde/executors.h"
#include "ronde/hw.h"

#include <string.h>

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
    part->engine = part->options->backend;
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
    enum ronde_status status = add_rows(part, &selector->choice, error);
    for (uint32_t k = 0; k < table->size_count && status == RONDE_OK; k++) {
        const uint64_t count = ronde_collective_count(request->collective, request->ranks,
                                                      table->bytes[k], part->options->dtype);
        struct ronde_decision decision;
        struct ronde_benchmark *benchmark = NULL;
        if (count != last)
            status = ronde_race_pick(race, count, &decision, &benchmark, error);
        for (uint32_t i = 0; i < selector->choice.count && status == RONDE_OK; i++)
            table->rows[first + i].time_us[k] =
                selector->choice.candidates[i].is_eligible ? selector->quotes[i].time_ns / 1e3 : 0.0;
        last = count;
    }
    return status;
}

/* One collective. What the backend cannot run has no rows. */
static enum ronde_status race_collective(struct part *part, enum ronde_collective collective,
                                         struct ronde_error *error)
{
    const struct ronde_options *options = part->options;
    const struct ronde_measured *table = &part->table;
    struct ronde_comm *comm = part->comm;
    struct ronde_compile_request request = {.collective = collective, .ranks = options->ranks[0]};
    const struct ronde_input_range shape = {
        .collective = collective,
        .ranks = request.ranks,
        .count = ronde_collective_count(collective, request.ranks,
                                        table->bytes[table->size_count - 1], options->dtype),
        .dtype = options->dtype,
        .op = options->op};
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
    if (status == RONDE_OK)
        status = ronde_race_enter(&race, &part->target, &memory, part->engine, shape.count, &why);
    if (status == RONDE_OK)
        status = race_sizes(part, &race, &request, &why);
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

enum ronde_status ronde_tune_sizes(const struct ronde_options *options,
                                   struct ronde_measured *table, struct ronde_error *error)
{
    for (uint64_t bytes = options->min_bytes; bytes != 0;
         bytes = ronde_options_next_size(options, bytes)) {
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
int ronde_tune_part(const struct ronde_options *options, struct ronde_comm *comm)
{
    struct ronde_error error = {0};
    struct part part = {.options = options, .comm = comm};
    snprintf(part.table.machine, sizeof part.table.machine, "a part");
    snprintf(part.table.date, sizeof part.table.date, "now");
    part.table.cores = 1;
    enum ronde_status status = ronde_tune_sizes(options, &part.table, &error);
    if (status == RONDE_OK)
        status = open_target(&part, &error);
    for (int c = 0; c < RONDE_COLLECTIVE_COUNT && status == RONDE_OK; c++)
        if (is_wanted(options, (enum ronde_collective)c))
            status = race_collective(&part, (enum ronde_collective)c, &error);
    snprintf(part.table.backend, sizeof part.table.backend, "%s", options->backend);
    if (status == RONDE_OK && (!comm || ronde_comm_rank(comm) == 0))
        status = ronde_measured_write(&part.table, options->output, &error);
    ronde_mem_free(ronde_mem_default(), part.table.rows, part.table.capacity,
                   sizeof *part.table.rows);
    if (comm && !part.target.self)
        ronde_comm_destroy(comm);
    ronde_target_close(&part.target);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
