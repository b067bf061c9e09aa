/* Loaded schedules: decisions of a rank loaded alone equal those of all ranks loaded together. */
#include "support/suite.h"

#include "engine/execute/loaded.h"
#include "ronde/schedules.h"

enum { RANKS = 4, COUNT = 1000 };

/* What all ranks have: an input of one block each, and an output of one block of every rank. */
#define ALL_BYTES ((uint64_t)RANKS * (RANKS + 1) * COUNT * sizeof(float))

static struct ronde_schedule *new_schedule(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_GATHER,
                                                  .algorithm = "direct",
                                                  .ranks = RANKS};
    struct ronde_error error = {0};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error), RONDE_OK);
    return schedule;
}

/* Whether a run of one rank streams where streaming begins at so many bytes. */
static bool streams_from(struct ronde_loaded *loaded, uint64_t from_bytes)
{
    static float in[COUNT], out[COUNT * RANKS];
    void *const inputs[RANKS] = {in}, *const outputs[RANKS] = {out};
    const struct ronde_launch launch = {.count = COUNT,
                                        .dtype = RONDE_FLOAT32,
                                        .in = inputs,
                                        .out = outputs};
    const struct ronde_habits habits = {.slot_bytes = 1024,
                                        .pull_from_bytes = {UINT64_MAX, UINT64_MAX},
                                        .stream_from_bytes = from_bytes};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_loaded_prepare(loaded, &launch, &habits, &error), RONDE_OK);
    return loaded->frame.streams;
}

static void a_rank_alone_streams_from_what_all_ranks_touch(void)
{
    struct ronde_schedule *schedule = new_schedule();
    struct ronde_loaded *loaded = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_loaded_create_rank(schedule, 0, ronde_mem_default(), &loaded, &error),
                          RONDE_OK);
    CU_ASSERT_TRUE(streams_from(loaded, ALL_BYTES));
    CU_ASSERT_FALSE(streams_from(loaded, ALL_BYTES + 1));
    CU_ASSERT_FALSE(streams_from(loaded, UINT64_MAX));
    ronde_loaded_destroy(loaded);
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_rank_alone_streams_from_what_all_ranks_touch",
         a_rank_alone_streams_from_what_all_ranks_touch},
    };
    return suite_run("loaded", cases, sizeof cases / sizeof cases[0]);
}
