/* Leaf-and-spine platforms for the tests of what contends. */
#include "leaves.h"

#include "platform_text.h"

#include "ronde/schedules.h"
#include "ronde/split.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

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
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    write_platform(file, shape);
    fclose(file);
    const bool is_there = platform_text_keep(text, leaves->path, &leaves->platform);
    free(text);
    return is_there;
}

void leaves_end(struct leaves *leaves)
{
    platform_text_drop(leaves->path, leaves->platform);
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
