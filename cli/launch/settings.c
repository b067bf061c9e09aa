/*
 * What the ranks of a team must have been told alike: how often they run what, and whether they look at it. A rank that
 * runs once more than another would wait for it until time is over, and neither could say why.
 */
#include "job.h"

#include "ronde/comm.h"

#include <string.h>

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

/* What a rank was told. */
struct settings {
    uint64_t terms[TERMS];
    char algorithm[RONDE_MAX_NAMES_BYTES]; /* of -a; "" = not given */
    char collective[32]; /* "" where the argument is a file, whose path may differ */
};

static enum ronde_status refuse(const char *first, uint32_t rank, const char *other,
                                struct ronde_error *error)
{
    return ronde_fail(
        error, RONDE_REJECTED,
        "rank 0 was started with %.160s, rank %u with %.160s: give all ranks the same", first, rank,
        other);
}

static void describe_algorithm(char text[160], const char *algorithm)
{
    snprintf(text, 160, algorithm[0] ? "-a %.150s" : "no -a", algorithm);
}

static enum ronde_status compare_two(const struct settings *mine, const struct settings *theirs,
                                     uint32_t rank, struct ronde_error *error)
{
    char first[160], other[160];
    if (strcmp(mine->collective, theirs->collective) != 0 && mine->collective[0] &&
        theirs->collective[0])
        return refuse(mine->collective, rank, theirs->collective, error);
    for (uint32_t term = 0; term < TERMS; term++) {
        if (mine->terms[term] == theirs->terms[term])
            continue;
        describe(first, term, mine->terms[term]);
        describe(other, term, theirs->terms[term]);
        return refuse(first, rank, other, error);
    }
    if (strcmp(mine->algorithm, theirs->algorithm) == 0)
        return RONDE_OK;
    describe_algorithm(first, mine->algorithm);
    describe_algorithm(other, theirs->algorithm);
    return refuse(first, rank, other, error);
}

static enum ronde_status compare(const struct settings *all, uint32_t ranks,
                                 struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t rank = 1; rank < ranks && status == RONDE_OK; rank++)
        status = compare_two(&all[0], &all[rank], rank, error);
    return status;
}

/* The names of -a as they were given, and the collective, where one is named. */
static void fill_names(const struct ronde_options *options, struct settings *out)
{
    enum ronde_collective collective;
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        const size_t used = strlen(out->algorithm);
        snprintf(out->algorithm + used, sizeof out->algorithm - used, "%s%s", a ? "," : "",
                 options->algorithms[a]);
    }
    if (options->argument_count > 0 && ronde_collective_parse(options->arguments[0], &collective))
        snprintf(out->collective, sizeof out->collective, "%s", ronde_collective_text(collective));
}

enum ronde_status ronde_settings_compare(const struct ronde_options *options,
                                         struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t ranks = ronde_comm_ranks(comm);
    struct settings mine = {.terms = {
                                [TERM_MIN] = options->min_bytes,
                                [TERM_MAX] = options->max_bytes,
                                [TERM_STEP] = options->step_bytes,
                                [TERM_FACTOR] = options->factor,
                                [TERM_ITERATIONS] = options->iterations,
                                [TERM_WARMUPS] = options->warmups,
                                [TERM_CHECK] = options->check,
                            }};
    fill_names(options, &mine);
    struct settings *all = ronde_mem_new(ronde_mem_default(), ranks, sizeof mine);
    /* The others are waiting, and hear of it when this rank leaves. */
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    enum ronde_status status = ronde_comm_allgather(comm, &mine, sizeof mine, all, error);
    if (status == RONDE_OK)
        status = compare(all, ranks, error);
    ronde_mem_free(ronde_mem_default(), all, ranks, sizeof mine);
    return status;
}
