/* Replays for the tests of their explanations. */
#include "replayed.h"

#include "support/suite.h"
#include "unit/platform_text.h"

#include "ronde/schedules.h"

#include <string.h>

const char replayed_crossbar[] =
    "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\"><cluster id=\"h\" prefix=\"h\" suffix=\"\" radical=\"0-7\" "
    "speed=\"1Gf\" bw=\"10GBps\" lat=\"500ns\"/></platform>\n";

bool replayed_open(struct replayed *replayed, const char *text)
{
    memset(replayed, 0, sizeof *replayed);
    return platform_text_keep(text, replayed->path, &replayed->platform);
}

bool replayed_compile(struct replayed *replayed, enum ronde_collective collective,
                      const char *algorithm, uint32_t ranks, uint64_t count, uint64_t slot_bytes,
                      const struct ronde_time_params *params)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    const struct ronde_load load = {.count = count, .dtype = RONDE_FLOAT32, .slot_bytes = slot_bytes};
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = ronde_compile(&request, mem, NULL, &schedule, &replayed->error);
    if (status == RONDE_OK)
        status =
            ronde_dag_create_named(schedule, &load, params, mem, &replayed->dag, &replayed->error);
    ronde_schedule_destroy(schedule);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    return status == RONDE_OK;
}

static void free_times(struct replayed *replayed)
{
    const struct ronde_mem *mem = ronde_mem_default();
    ronde_mem_free(mem, replayed->options.out_start_ns, replayed->times, sizeof(double));
    ronde_mem_free(mem, replayed->options.out_finish_ns, replayed->times, sizeof(double));
}

enum ronde_status replayed_run(struct replayed *replayed, const struct ronde_dag *dag,
                               const char *engine)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_sim_options *options = &replayed->options;
    free_times(replayed);
    replayed->times = dag->op_count;
    options->out_start_ns = ronde_mem_new(mem, dag->op_count, sizeof(double));
    options->out_finish_ns = ronde_mem_new(mem, dag->op_count, sizeof(double));
    replayed->replay = (struct ronde_replay){replayed->platform, dag, options, 0};
    replayed->error = (struct ronde_error){RONDE_OK, 0, ""};
    if (strcmp(engine, "flat") == 0)
        return ronde_sim_flat(replayed->platform, dag, options, mem, &replayed->result,
                              &replayed->error);
    if (strcmp(engine, "maxmin") == 0)
        return ronde_sim_maxmin(replayed->platform, dag, options, mem, &replayed->result,
                                &replayed->error);
    return ronde_sim_simgrid(replayed->platform, dag, options, &replayed->result, &replayed->error);
}

void replayed_free(struct replayed *replayed)
{
    free_times(replayed);
    ronde_dag_destroy(replayed->dag, ronde_mem_default());
    platform_text_drop(replayed->path, replayed->platform);
}
