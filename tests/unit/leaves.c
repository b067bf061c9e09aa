/* Leaf-and-spine platforms for the tests of what contends. */
#include "leaves.h"

#include "ronde/schedules.h"
#include "ronde/split.h"
#include "support/built_with.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_platform(FILE *file, const struct leaves_shape *shape)
{
    fputs("<?xml version=\"1.0\"?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"leaves\" routing=\"Dijkstra\">\n",
          file);
    for (uint32_t leaf = 0; leaf < shape->leaves; leaf++)
        fprintf(file,
                "<cluster id=\"leaf%u\" prefix=\"h\" suffix=\"\" radical=\"%u-%u\" speed=\"1Gf\" "
                "bw=\"50GBps\" lat=\"500ns\" router_id=\"top%u\"/>\n",
                leaf, leaf * shape->hosts_per_leaf, (leaf + 1) * shape->hosts_per_leaf - 1, leaf);
    fputs("<zone id=\"core\" routing=\"Full\"><router id=\"spine\"/></zone>\n", file);
    for (uint32_t leaf = 0; leaf < shape->leaves; leaf++)
        fprintf(file,
                "<link id=\"up%u\" bandwidth=\"%gGBps\" latency=\"%gns\" "
                "sharing_policy=\"SPLITDUPLEX\"/>\n",
                leaf, shape->uplink_GBps, shape->uplink_ns);
    for (uint32_t leaf = 0; leaf < shape->leaves; leaf++)
        fprintf(file,
                "<zoneRoute src=\"leaf%u\" dst=\"core\" gw_src=\"top%u\" gw_dst=\"spine\">"
                "<link_ctn id=\"up%u\" direction=\"UP\"/></zoneRoute>\n",
                leaf, leaf, leaf);
    fputs("</zone></platform>\n", file);
}

bool leaves_begin(struct leaves *leaves, const struct leaves_shape *shape)
{
    const char *reason;
    struct ronde_error error = {0};
    memset(leaves, 0, sizeof *leaves);
    if (!ronde_topologies_available(&reason)) {
        suite_skip("%s", reason);
        return false;
    }
    snprintf(leaves->path, sizeof leaves->path, "%s/leaves-XXXXXX", RONDE_SCRATCH_DIR);
    const int descriptor = mkstemp(leaves->path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    CU_ASSERT_PTR_NOT_NULL(file);
    if (!file)
        return false;
    write_platform(file, shape);
    fclose(file);
    CU_ASSERT_EQUAL(ronde_platform_read(leaves->path, ronde_mem_default(), &leaves->platform, &error),
                    RONDE_OK);
    if (!leaves->platform)
        suite_note("%s", error.message);
    return leaves->platform != NULL;
}

void leaves_end(struct leaves *leaves)
{
    ronde_platform_destroy(leaves->platform);
    if (leaves->path[0])
        unlink(leaves->path);
}

bool leaves_have_simgrid(void)
{
    const char *reason;
    if (ronde_sim_simgrid_available(&reason))
        return true;
    suite_skip("%s", reason);
    return false;
}

struct ronde_schedule *leaves_compile(enum ronde_collective collective, const char *algorithm,
                                      uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks,
                                                  .channels = 1};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error);
    CU_ASSERT(status == RONDE_OK || status == RONDE_UNSUPPORTED);
    return schedule;
}

struct ronde_dag *leaves_graph(const struct ronde_schedule *schedule, const struct ronde_load *load,
                               const struct ronde_time_params *params)
{
    struct ronde_dag *dag = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_dag_create(schedule, load, params, ronde_mem_default(), &dag, &error),
                    RONDE_OK);
    if (!dag)
        suite_note("%s", error.message);
    return dag;
}

struct ronde_load leaves_load(const struct ronde_schedule *schedule, uint64_t pieces,
                              uint64_t piece_bytes)
{
    return (struct ronde_load){.count = pieces * piece_bytes / 4 * schedule->chunks_per_block *
                                        schedule->channel_count,
                               .dtype = RONDE_FLOAT32,
                               .slot_bytes = piece_bytes * schedule->max_chunk_count};
}
