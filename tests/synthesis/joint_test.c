/**
 * all_reduce by trees that data runs up and down at once, on machines whose ranks are unequal; and what is said meanwhile.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"
#include "synthesis/loads.h"

#include "ronde/synthesize.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RANKS 8u
#define TEXT_BYTES (64u << 10)

/* A ring of 8 hosts whose cable from the last to the first has a third of the rate of the others. */
static struct ronde_platform *open_ring(void)
{
    static char text[TEXT_BYTES];
    const char *path = RONDE_SCRATCH_DIR "/joint-ring.xml";
    struct ronde_platform *platform = NULL;
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
                                   "\"https://simgrid.org/simgrid.dtd\">\n<platform "
                                   "version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n");
    for (uint32_t r = 0; r < RANKS; r++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "<host id=\"p%u\" speed=\"1Gf\"/>\n", r);
    for (uint32_t r = 0; r < RANKS; r++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "<link id=\"w%u\" bandwidth=\"%uGBps\" latency=\"1us\" "
                                 "sharing_policy=\"SPLITDUPLEX\"/>\n",
                                 r, r + 1 < RANKS ? 30 : 10);
    for (uint32_t i = 0; i < RANKS; i++)
        for (uint32_t j = 0; j < RANKS; j++) {
            const uint32_t ahead = (j + RANKS - i) % RANKS;
            if (i == j)
                continue;
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "<route src=\"p%u\" dst=\"p%u\" symmetrical=\"NO\">", i, j);
            for (uint32_t at = i; at != j;) {
                const bool is_ahead = 2 * ahead <= RANKS;
                const uint32_t next = (at + (is_ahead ? 1 : RANKS - 1)) % RANKS;
                used += (size_t)snprintf(text + used, sizeof text - used,
                                         "<link_ctn id=\"w%u\" direction=\"%s\"/>",
                                         is_ahead ? at : next, is_ahead ? "UP" : "DOWN");
                at = next;
            }
            used += (size_t)snprintf(text + used, sizeof text - used, "</route>\n");
        }
    snprintf(text + used, sizeof text - used, "</zone></platform>\n");
    CU_ASSERT(files_write(path, text));
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL), RONDE_OK);
    unlink(path);
    return platform;
}

/* What was said of a synthesis. */
struct heard {
    uint32_t routes, trees, proofs;
    bool is_possible; /* no more was done than there is */
};

static void hear(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct heard *heard = context;
    heard->routes += strcmp(phase, "finding routes") == 0;
    heard->trees += strcmp(phase, "growing trees") == 0;
    heard->proofs += strcmp(phase, "proving the schedule") == 0;
    heard->is_possible = heard->is_possible && done <= total;
}

static struct ronde_synthesis make(const struct ronde_platform *platform, bool is_in_series,
                                   struct heard *heard)
{
    const struct ronde_synthesis_request request = {.collective = RONDE_ALL_REDUCE,
                                                    .ranks = RANKS,
                                                    .is_in_series = is_in_series,
                                                    .progress = {hear, heard}};
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis made;
    *heard = (struct heard){.is_possible = true};
    CU_ASSERT_EQUAL_FATAL(ronde_synthesize(platform, &request, ronde_mem_default(), &schedule,
                                           &made, NULL),
                          RONDE_OK);
    CU_ASSERT(schedule->proof.ok);
    if (made.is_joint)
        CU_ASSERT_DOUBLE_EQUAL(loads_GBps(schedule, platform), made.GBps, 1e-9 * made.GBps);
    ronde_schedule_destroy(schedule);
    return made;
}

/*
 * Cables carry 440 GB/s in all, and each tree sends 14 messages: 440/14 = 31.4 GB/s. In series the ranks at the slow cable take
 * in 7 of 8 blocks at 40 GB/s, twice: 22.9.
 */
static void unequal_ranks_are_leaves_of_joint_trees(void)
{
    struct heard heard;
    struct ronde_platform *platform = open_ring();
    if (!platform)
        return;
    const struct ronde_synthesis joint = make(platform, false, &heard);
    CU_ASSERT(joint.is_joint);
    CU_ASSERT(joint.GBps <= joint.bound.certain_GBps * (1 + 1e-9));
    CU_ASSERT(joint.GBps > 1.3 * joint.bound.GBps);
    const struct ronde_synthesis series = make(platform, true, &heard);
    CU_ASSERT(!series.is_joint);
    CU_ASSERT(series.GBps <= series.bound.GBps * (1 + 1e-9));
    ronde_platform_destroy(platform);
}

static void who_waits_is_told_what_is_done(void)
{
    struct heard heard;
    struct ronde_platform *platform = open_ring();
    if (!platform)
        return;
    (void)make(platform, true, &heard);
    CU_ASSERT_EQUAL(heard.routes, 1);
    CU_ASSERT(heard.trees >= 2 * RANKS);
    CU_ASSERT_EQUAL(heard.proofs, 1);
    CU_ASSERT(heard.is_possible);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"unequal_ranks_are_leaves_of_joint_trees", unequal_ranks_are_leaves_of_joint_trees},
        {"who_waits_is_told_what_is_done", who_waits_is_told_what_is_done},
    };
    return suite_run_with_components("joint", cases, sizeof cases / sizeof *cases);
}
