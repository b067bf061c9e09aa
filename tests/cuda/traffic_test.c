/*
 * The floors that times on a GPU are held against: what schedules move is what their papers state, never less than any
 * algorithm must, and docs/reference/golden/cuda-floors.md is the table that the benchmark prints.
 */
#include "cuda/traffic.h"
#include "support/built_with.h"
#include "support/golden.h"
#include "support/suite.h"

#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Divisible by every count of chunks that occurs. */
#define SIZE_BYTES (UINT64_C(2520) << 20)

/* What an algorithm moves among n ranks, in sizes. */
static double moved(enum ronde_collective collective, const char *algorithm, uint32_t ranks,
                    uint32_t channels)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks,
                                                  .channels = channels};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error) ==
                    RONDE_OK);
    const double bytes = traffic_of(schedule, SIZE_BYTES);
    ronde_schedule_destroy(schedule);
    return bytes / (double)SIZE_BYTES;
}

static void expect(double got, double expected)
{
    CU_ASSERT_DOUBLE_EQUAL(got, expected, 1e-9 * expected);
}

static void schedules_move_what_is_known_of_them(void)
{
    for (uint32_t n = 2; n <= 8; n++) {
        /* A step that reduces reads two and writes one, one that gathers reads and writes one. */
        expect(moved(RONDE_ALL_REDUCE, "ring", n, 1), 5.0 * (n - 1));
        expect(moved(RONDE_ALL_REDUCE, "ring", n, 4), 5.0 * (n - 1));
        /* Every rank copies its own block, and those of the others in turn. */
        expect(moved(RONDE_ALL_GATHER, "ring", n, 2), 2.0 * n);
        expect(moved(RONDE_BROADCAST, "chain", n, 2), 2.0 * n);
        expect(moved(RONDE_REDUCE_SCATTER, "ring", n, 1), 3.0 * (n - 1));
        /* Whose messages are all there reads n operands at once and writes one, or as many as there are outputs. */
        expect(moved(RONDE_REDUCE_SCATTER, "direct", n, 1), n + 1.0);
        expect(moved(RONDE_ALL_REDUCE, "direct", n, 1), 2.0 * n);
        expect(moved(RONDE_ALL_TO_ALL, "direct", n, 1), 2.0 * n);
        expect(moved(RONDE_SCATTER, "direct", n, 1), 2.0);
    }
}

static void nothing_moves_less_than_it_must(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t n = 2; n <= 9; n++) {
            const struct ronde_compile_request request = {.collective = all[a]->collective,
                                                          .algorithm = all[a]->name,
                                                          .ranks = n,
                                                          .channels = 1};
            if (all[a]->supports(&request, NULL) != RONDE_OK)
                continue;
            const double least = traffic_least(all[a]->collective, n, SIZE_BYTES);
            const double got = moved(all[a]->collective, all[a]->name, n, 1) * (double)SIZE_BYTES;
            CU_ASSERT(got >= least * (1 - 1e-9));
            if (got < least * (1 - 1e-9))
                suite_note("%s %s of %u: %.3f of %.3f", ronde_collective_text(all[a]->collective),
                           all[a]->name, n, got / (double)SIZE_BYTES, least / (double)SIZE_BYTES);
        }
}

static void the_table_is_the_documented_one(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_FATAL(file != NULL);
    fputs("# Floors of all algorithms on one GPU\n\n"
          "`cuda_bench --floors`; written by `RONDE_UPDATE_GOLDEN=1 "
          "build/tests/test_cuda_traffic`. [cuda.md](../../notes/cuda.md) says "
          "what is\ncounted.\n\n",
          file);
    CU_ASSERT(traffic_print(file, 0));
    CU_ASSERT_FATAL(fclose(file) == 0);
    golden_compare("docs/reference/golden/cuda-floors.md", text);
    free(text);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"schedules_move_what_is_known_of_them", schedules_move_what_is_known_of_them},
        {"nothing_moves_less_than_it_must", nothing_moves_less_than_it_must},
        {"the_table_is_the_documented_one", the_table_is_the_documented_one},
    };
    return suite_run("traffic", cases, sizeof cases / sizeof cases[0]);
}
