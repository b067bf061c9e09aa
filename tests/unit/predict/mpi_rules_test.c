/** Rules of MPI libraries: every call has one, what it means here is there, and thresholds are those of their sources. */
#include "support/suite.h"

#include "ronde/mpi_rules.h"
#include "ronde/schedules.h"

#include <string.h>

static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE,     RONDE_ALL_GATHER,
                                                    RONDE_REDUCE_SCATTER, RONDE_ALL_TO_ALL,
                                                    RONDE_BROADCAST,      RONDE_REDUCE,
                                                    RONDE_GATHER,         RONDE_SCATTER};

#define COLLECTIVES (sizeof collectives / sizeof collectives[0])

static void check_call(enum ronde_mpi_library library, enum ronde_collective collective,
                       uint32_t ranks, uint64_t bytes)
{
    struct ronde_mpi_algorithm taken = {NULL, NULL};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_mpi_choose(library, collective, ranks, bytes, &taken, &error),
                          RONDE_OK);
    CU_ASSERT(taken.theirs && taken.theirs[0]);
    if (!taken.ours)
        return;
    CU_ASSERT_PTR_NOT_NULL(ronde_algorithm_find(collective, taken.ours, NULL));
    const char *rival;
    uint32_t i = 0;
    while ((rival = ronde_mpi_rival(library, collective, i)) && strcmp(rival, taken.ours) != 0)
        i++;
    CU_ASSERT_PTR_NOT_NULL(rival);
}

static void every_call_has_a_rule(void)
{
    for (unsigned library = 0; library < RONDE_MPI_LIBRARY_COUNT; library++)
        for (size_t c = 0; c < COLLECTIVES; c++)
            for (uint32_t ranks = 2; ranks < 10000; ranks += 1 + ranks / 3)
                for (uint64_t bytes = 1; bytes < UINT64_C(1) << 36; bytes *= 3)
                    check_call((enum ronde_mpi_library)library, collectives[c], ranks, bytes);
}

static const struct {
    enum ronde_mpi_library library;
    enum ronde_collective collective;
    uint32_t ranks;
    uint64_t bytes;
    const char *theirs;
} known[] = {
    {RONDE_MPI_OPENMPI, RONDE_ALL_REDUCE, 6, 15, "ring"},
    {RONDE_MPI_OPENMPI, RONDE_ALL_REDUCE, 6, 16, "recursive_doubling"},
    {RONDE_MPI_OPENMPI, RONDE_ALL_REDUCE, 6, 8192, "rabenseifner"},
    {RONDE_MPI_OPENMPI, RONDE_ALL_REDUCE, 300, 4095, "nonoverlapping"},
    {RONDE_MPI_OPENMPI, RONDE_ALL_REDUCE, 300, 4096, "rabenseifner"},
    {RONDE_MPI_OPENMPI, RONDE_ALL_TO_ALL, 2, 2 * 3, "two_proc"},
    {RONDE_MPI_OPENMPI, RONDE_ALL_TO_ALL, 4, 4 * 8192, "linear"},
    {RONDE_MPI_MPICH, RONDE_ALL_REDUCE, 64, 2048, "recursive_doubling"},
    {RONDE_MPI_MPICH, RONDE_ALL_REDUCE, 64, 2049, "reduce_scatter_allgather"},
    {RONDE_MPI_MPICH, RONDE_BROADCAST, 7, 1 << 30, "binomial"},
    {RONDE_MPI_MPICH, RONDE_BROADCAST, 64, 12287, "binomial"},
    {RONDE_MPI_MPICH, RONDE_BROADCAST, 64, 12288, "scatter_recursive_doubling_allgather"},
    {RONDE_MPI_MPICH, RONDE_BROADCAST, 48, 12288, "scatter_ring_allgather"},
    {RONDE_MPI_MPICH, RONDE_ALL_GATHER, 64, 524287, "recursive_doubling"},
    {RONDE_MPI_MPICH, RONDE_ALL_GATHER, 48, 81919, "brucks"},
    {RONDE_MPI_MPICH, RONDE_ALL_GATHER, 48, 81920, "ring"},
    {RONDE_MPI_MPICH, RONDE_ALL_TO_ALL, 7, 7 * 256, "scattered"},
    {RONDE_MPI_MPICH, RONDE_ALL_TO_ALL, 8, 8 * 256, "brucks"},
    {RONDE_MPI_MPICH, RONDE_ALL_TO_ALL, 8, 8 * 32769, "pairwise"},
};

static void thresholds_are_those_of_the_sources(void)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct ronde_mpi_algorithm taken = {"", NULL};
        const enum ronde_status status =
            ronde_mpi_choose(known[i].library, known[i].collective, known[i].ranks, known[i].bytes,
                             &taken, NULL);
        CU_ASSERT_EQUAL(status, RONDE_OK);
        CU_ASSERT_STRING_EQUAL(taken.theirs, known[i].theirs);
        if (strcmp(taken.theirs, known[i].theirs) != 0)
            suite_note("%s %s of %u ranks: %s", ronde_mpi_library_text(known[i].library),
                       ronde_collective_text(known[i].collective), known[i].ranks, taken.theirs);
    }
}

static void what_has_no_rules_is_refused(void)
{
    struct ronde_mpi_algorithm taken;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_mpi_choose(RONDE_MPI_MPICH, RONDE_SEND_RECV, 4, 8, &taken, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(error.message, "mpich's rules for send_recv are not known");
    CU_ASSERT_PTR_NULL(ronde_mpi_rival(RONDE_MPI_MPICH, RONDE_SEND_RECV, 0));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_call_has_a_rule", every_call_has_a_rule},
        {"thresholds_are_those_of_the_sources", thresholds_are_those_of_the_sources},
        {"what_has_no_rules_is_refused", what_has_no_rules_is_refused},
    };
    return suite_run("mpi_rules", cases, sizeof cases / sizeof cases[0]);
}
