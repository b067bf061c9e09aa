/* Loads of links. See loads.h. */
#include "synthesis/loads.h"

#include "support/suite.h"

#include "ronde/cursor.h"

#include <math.h>
#include <stdlib.h>

#define MOST_LINKS 64u

/* Adds the chunks that a rank sends to the links on their ways. */
static void add_rank(const struct ronde_schedule *schedule, const struct ronde_platform *platform,
                     uint32_t rank, double *load)
{
    const struct ronde_view view = ronde_view_open(schedule, 0, rank);
    uint32_t links[MOST_LINKS], count = 0;
    for (uint32_t s = 0; s < view.program->step_count; s++) {
        const struct ronde_step *step = &view.program->steps[s];
        if (!ronde_step_sends((enum ronde_step_op)step->op))
            continue;
        const uint32_t peer = ronde_view_peer(&view, step->send);
        CU_ASSERT_EQUAL_FATAL(ronde_platform_route(platform, rank, peer, MOST_LINKS, links, &count,
                                                   NULL),
                              RONDE_OK);
        CU_ASSERT_FATAL(count <= MOST_LINKS);
        for (uint32_t l = 0; l < count; l++)
            load[links[l]] += step->chunk_count;
    }
}

double loads_GBps(const struct ronde_schedule *schedule, const struct ronde_platform *platform)
{
    const uint32_t links = ronde_platform_link_count(platform);
    double longest = 0, *load = calloc(links, sizeof *load);
    CU_ASSERT_EQUAL_FATAL(schedule->channel_count, 1);
    for (uint32_t r = 0; r < schedule->ranks; r++)
        add_rank(schedule, platform, r, load);
    for (uint32_t l = 0; l < links; l++) {
        const struct ronde_link *link = ronde_platform_link(platform, l);
        if (!link->is_fatpipe && load[l] > 0)
            longest = fmax(longest, load[l] / link->rate_GBps);
    }
    free(load);
    CU_ASSERT(longest > 0);
    const bool has_blocks =
        schedule->collective == RONDE_ALL_GATHER || schedule->collective == RONDE_REDUCE_SCATTER;
    const double blocks = has_blocks ? schedule->ranks : 1;
    return longest > 0 ? blocks * schedule->chunks_per_block / longest : 0;
}
