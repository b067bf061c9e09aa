/*
 * What the ranks of a team must have been told alike: how often they run what, and whether they look at it. A rank that
 * runs once more than another would wait for it until time is over, and neither could say why.
 */
#include "job.h"

#include "ronde/comm.h"

/* Options, in the words of the command line. Those that a schedule or a launch follows from are compared there. */
enum term {
    TERM_MIN,
    TERM_MAX,
    TERM_STEP,
    TERM_FACTOR,
    TERM_ITERATIONS,
    TERM_WARMUPS,
    TERM_CHECK,
    TERMS
};

static const char *const words[TERMS] = {"-b", "-e", "-i", "-f", "-n", "-w", "-c"};

/* An option and its value, or that it was left out. */
static void describe(char text[32], uint32_t term, uint64_t value)
{
    if (term == TERM_WARMUPS && value == RONDE_NONE)
        snprintf(text, 32, "no %s", words[term]);
    else
        snprintf(text, 32, "%s %llu", words[term], (unsigned long long)value);
}

static enum ronde_status compare(const uint64_t *all, uint32_t ranks, struct ronde_error *error)
{
    for (uint32_t rank = 1; rank < ranks; rank++)
        for (uint32_t term = 0; term < TERMS; term++) {
            char first[32], other[32];
            if (all[rank * TERMS + term] == all[term])
                continue;
            describe(first, term, all[term]);
            describe(other, term, all[rank * TERMS + term]);
            return ronde_fail(
                error, RONDE_REJECTED,
                "rank 0 was started with %s, rank %u with %s: give all ranks the same", first, rank,
                other);
        }
    return RONDE_OK;
}

enum ronde_status ronde_settings_compare(const struct ronde_options *options,
                                         struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t ranks = ronde_comm_ranks(comm);
    const uint64_t mine[TERMS] = {
        [TERM_MIN] = options->min_bytes,         [TERM_MAX] = options->max_bytes,
        [TERM_STEP] = options->step_bytes,       [TERM_FACTOR] = options->factor,
        [TERM_ITERATIONS] = options->iterations, [TERM_WARMUPS] = options->warmups,
        [TERM_CHECK] = options->check,
    };
    uint64_t *all = ronde_mem_new(ronde_mem_default(), ranks, sizeof mine);
    /* The others are waiting, and hear of it when this rank leaves. */
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    enum ronde_status status = ronde_comm_allgather(comm, mine, sizeof mine, all, error);
    if (status == RONDE_OK)
        status = compare(all, ranks, error);
    ronde_mem_free(ronde_mem_default(), all, ranks, sizeof mine);
    return status;
}
