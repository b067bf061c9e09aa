/** The rules of MPI libraries as tables. See ronde/mpi_rules.h. */
#include "ronde/mpi_rules.h"

#include "ronde/mem.h"

#include <string.h>

/** For what numbers of ranks a rule is. */
enum ranks { ANY, POWER };

struct rule {
    enum ronde_collective collective;
    uint32_t ranks_below; /**< 0 = any */
    uint64_t bytes_below; /**< 0 = any */
    enum ranks ranks;
    struct ronde_mpi_algorithm algorithm;
};

#define RULE(collective, ranks, bytes, kind, theirs, ours)                                         \
    {RONDE_##collective, ranks, bytes, kind, {theirs, ours}},

static const struct rule openmpi[] = {
#include "openmpi.def"
};
static const struct rule mpich[] = {
#include "mpich.def"
};

static const struct {
    const char *name;
    const struct rule *rules;
    size_t count;
} libraries[RONDE_MPI_LIBRARY_COUNT] = {
    [RONDE_MPI_OPENMPI] = {"openmpi", openmpi, sizeof openmpi / sizeof openmpi[0]},
    [RONDE_MPI_MPICH] = {"mpich", mpich, sizeof mpich / sizeof mpich[0]},
};

const char *ronde_mpi_library_text(enum ronde_mpi_library library)
{
    return libraries[library].name;
}

/**
 * Bytes as the rules count them: Open MPI's what a rank hands in for others or gets for itself, one block; MPICH's allgather
 * all blocks.
 */
static uint64_t call_bytes(enum ronde_mpi_library library, enum ronde_collective collective,
                           uint32_t ranks, uint64_t bytes)
{
    const bool is_whole = library == RONDE_MPI_MPICH && collective == RONDE_ALL_GATHER;
    const bool is_of_blocks = collective == RONDE_ALL_GATHER || collective == RONDE_GATHER ||
                              collective == RONDE_SCATTER || collective == RONDE_ALL_TO_ALL;
    return is_of_blocks && !is_whole ? bytes / ranks : bytes;
}

static bool applies(const struct rule *rule, enum ronde_collective collective, uint32_t ranks,
                    uint64_t bytes)
{
    const bool is_power = (ranks & (ranks - 1)) == 0;
    return rule->collective == collective && (rule->ranks_below == 0 || ranks < rule->ranks_below) &&
           (rule->bytes_below == 0 || bytes < rule->bytes_below) && (rule->ranks == ANY || is_power);
}

enum ronde_status ronde_mpi_choose(enum ronde_mpi_library library, enum ronde_collective collective,
                                   uint32_t ranks, uint64_t bytes, struct ronde_mpi_algorithm *out,
                                   struct ronde_error *error)
{
    const uint64_t counted = call_bytes(library, collective, ranks, bytes);
    for (size_t i = 0; i < libraries[library].count; i++)
        if (applies(&libraries[library].rules[i], collective, ranks, counted)) {
            *out = libraries[library].rules[i].algorithm;
            return RONDE_OK;
        }
    return ronde_fail(error, RONDE_UNSUPPORTED, "%s's rules for %s are not known",
                      libraries[library].name, ronde_collective_text(collective));
}

/** Whether an earlier rule of the collective has the same algorithm. */
static bool is_repeated(const struct rule *rules, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (rules[i].collective == rules[at].collective && rules[i].algorithm.ours &&
            strcmp(rules[i].algorithm.ours, rules[at].algorithm.ours) == 0)
            return true;
    return false;
}

const char *ronde_mpi_rival(enum ronde_mpi_library library, enum ronde_collective collective,
                            uint32_t i)
{
    const struct rule *rules = libraries[library].rules;
    for (size_t at = 0; at < libraries[library].count; at++)
        if (rules[at].collective == collective && rules[at].algorithm.ours &&
            !is_repeated(rules, at) && i-- == 0)
            return rules[at].algorithm.ours;
    return NULL;
}
