/*
 * Random workloads of calculations and messages: what must hold of every replay. Items wait for what they depend on, a
 * cpu does one thing at a time, times add up, nothing is faster than without contention, and GOAL keeps all of it.
 */
#include "support/suite.h"

#include "support/buffers.h"
#include "unit/platform_text.h"

#include "ronde/workload_sim.h"

#include <math.h>
#include <string.h>

#define RANKS 5u
#define CPUS 2u
#define ROUNDS 40u
#define LATENCY_NS 1000.0
#define PORT_GBps 10.0

static const char machine_text[] =
    "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>"
    "<platform version='4.1'><zone id='z' routing='Full'><cluster id='c' prefix='h' suffix='' "
    "radical='0-4' speed='1Gf' bw='10GBps' lat='500ns'/></zone></platform>";

/* Items of one rank so far. */
struct draft {
    struct ronde_workload *workload;
    uint32_t latest[RANKS][3]; /* the last items of a rank, the newest first */
    uint32_t counts[RANKS];
};

/* Adds an item that waits for some of the last of its rank. */
static void add(struct draft *draft, struct ronde_work work, uint64_t *random)
{
    uint32_t *latest = draft->latest[work.rank];
    work.line = draft->workload->work_count + 1;
    CU_ASSERT_EQUAL_FATAL(ronde_workload_add(draft->workload, &work, NULL), RONDE_OK);
    const uint32_t index = draft->workload->work_count - 1;
    for (uint32_t i = 0; i < 3 && i < draft->counts[work.rank]; i++) {
        const uint64_t drawn = buffers_draw(random) % 6;
        const struct ronde_work_dep dep = {latest[i], drawn == 0};
        if (drawn < 3)
            CU_ASSERT_EQUAL_FATAL(ronde_workload_depend(draft->workload, dep, NULL), RONDE_OK);
    }
    latest[2] = latest[1];
    latest[1] = latest[0];
    latest[0] = index;
    draft->counts[work.rank]++;
}

/* Both ends of a message are added at once, so that nothing can wait in a circle. */
static void add_message(struct draft *draft, uint64_t *random)
{
    const uint32_t src = (uint32_t)(buffers_draw(random) % RANKS);
    const uint32_t dst = (src + 1 + (uint32_t)(buffers_draw(random) % (RANKS - 1))) % RANKS;
    const uint64_t bytes = buffers_draw(random) % 8 == 0 ? 0 : buffers_draw(random) % 100000;
    const uint32_t tag = (uint32_t)(buffers_draw(random) % 3);
    /* What comes from rank 0 is taken whatever its tag. */
    add(draft,
        (struct ronde_work){
            .kind = RONDE_WORK_SEND, .rank = src, .peer = dst, .tag = tag, .bytes = bytes},
        random);
    add(draft,
        (struct ronde_work){.kind = RONDE_WORK_RECV,
                            .rank = dst,
                            .peer = src,
                            .tag = src == 0 ? RONDE_WORK_ANY_TAG : tag,
                            .bytes = bytes},
        random);
}

static struct ronde_workload *draw(uint64_t *random)
{
    struct draft draft = {NULL, {{0}}, {0}};
    CU_ASSERT_EQUAL_FATAL(ronde_workload_create(RANKS, "drawn", ronde_mem_default(),
                                                &draft.workload, NULL),
                          RONDE_OK);
    const uint32_t items = 5 + (uint32_t)(buffers_draw(random) % 60);
    for (uint32_t i = 0; i < items; i++)
        if (buffers_draw(random) % 2)
            add_message(&draft, random);
        else
            add(&draft,
                (struct ronde_work){.kind = RONDE_WORK_COMPUTE,
                                    .rank = (uint32_t)(buffers_draw(random) % RANKS),
                                    .cpu = (uint32_t)(buffers_draw(random) % CPUS),
                                    .duration_ns = (double)(buffers_draw(random) % 9) * 1000},
                random);
    return draft.workload;
}

static struct ronde_workload_result simulate(const struct ronde_workload *workload,
                                             const struct ronde_platform *platform,
                                             const char *engine)
{
    const struct ronde_workload_sim how = {.platform = platform, .engine = engine};
    struct ronde_workload_result result = {0};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_workload_simulate(workload, &how, ronde_mem_default(), &result, &error),
                    RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    return result;
}

/* Later by more than rounding. */
static bool is_later(double a_ns, double b_ns)
{
    return a_ns > b_ns + 1e-9 * (1 + b_ns);
}

/* Items that end before what they wait for, or calculate for another time than they should. */
static uint32_t early_items(const struct ronde_workload *workload,
                            const struct ronde_workload_result *result)
{
    uint32_t wrong = 0;
    for (uint32_t w = 0; w < workload->work_count; w++) {
        const struct ronde_work *work = &workload->works[w];
        const double start_ns = result->start_ns[w], end_ns = result->end_ns[w];
        wrong += is_later(start_ns, end_ns) || is_later(end_ns, result->time_ns);
        if (work->kind == RONDE_WORK_COMPUTE)
            wrong += fabs(end_ns - start_ns - work->duration_ns) > 1e-6;
        if (work->kind == RONDE_WORK_SEND)
            wrong += is_later((double)work->bytes / PORT_GBps, end_ns - start_ns);
        for (uint32_t d = 0; d < work->dep_count; d++) {
            const struct ronde_work_dep dep = workload->deps[work->first_dep + d];
            const double before_ns =
                dep.on_start ? result->start_ns[dep.work] : result->end_ns[dep.work];
            wrong += is_later(before_ns, end_ns) ||
                     (work->kind != RONDE_WORK_RECV && is_later(before_ns, start_ns));
        }
    }
    return wrong;
}

/* Calculations of one cpu that run at the same time. */
static uint32_t overlaps(const struct ronde_workload *workload,
                         const struct ronde_workload_result *result)
{
    uint32_t wrong = 0;
    for (uint32_t a = 0; a < workload->work_count; a++)
        for (uint32_t b = 0; b < a; b++) {
            const struct ronde_work *one = &workload->works[a], *other = &workload->works[b];
            if (one->kind != RONDE_WORK_COMPUTE || other->kind != RONDE_WORK_COMPUTE ||
                one->rank != other->rank || one->cpu != other->cpu)
                continue;
            wrong += is_later(result->end_ns[a], result->start_ns[b]) &&
                     is_later(result->end_ns[b], result->start_ns[a]) && one->duration_ns > 0 &&
                     other->duration_ns > 0;
        }
    return wrong;
}

/* The n-th receive of a pair and tag ends no sooner than a latency behind the n-th send. */
static uint32_t early_messages(const struct ronde_workload *workload,
                               const struct ronde_workload_result *result)
{
    uint32_t wrong = 0;
    for (uint32_t r = 1; r < workload->work_count; r++)
        if (workload->works[r].kind == RONDE_WORK_RECV)
            /* Both ends were added one after the other, and a pair's messages are matched in order. */
            wrong += workload->works[r - 1].kind != RONDE_WORK_SEND ||
                     is_later(result->end_ns[r - 1] + LATENCY_NS, result->end_ns[r]);
    return wrong;
}

/* Where the time of a step goes adds up to it, by rank, by family and along the critical path. */
static void expect_sums(const struct ronde_workload_result *result)
{
    const struct ronde_workload_rank *mean = &result->mean, *worst = &result->worst;
    double exposed_ns = 0, path_ns = result->path_compute_ns;
    const double slack_ns = 1e-9 * (1 + result->time_ns);
    for (uint32_t f = 0; f < result->family_count; f++) {
        exposed_ns += result->families[f].exposed_ns;
        path_ns += result->families[f].path_ns;
    }
    CU_ASSERT_DOUBLE_EQUAL(mean->compute_ns + mean->exposed_ns + mean->idle_ns, result->time_ns,
                           slack_ns);
    CU_ASSERT_DOUBLE_EQUAL(worst->compute_ns + worst->exposed_ns + worst->idle_ns, result->time_ns,
                           slack_ns);
    CU_ASSERT(!is_later(mean->exposed_ns, worst->exposed_ns) && result->worst_rank < RANKS);
    CU_ASSERT_DOUBLE_EQUAL(exposed_ns, mean->exposed_ns, slack_ns);
    CU_ASSERT_DOUBLE_EQUAL(path_ns, result->time_ns, slack_ns);
}

/* What is written as GOAL is read back as the same items, and takes as long. */
static void expect_goal(const struct ronde_workload *workload,
                        const struct ronde_platform *platform, double time_ns)
{
    struct ronde_workload *read = NULL;
    char *text = NULL;
    size_t bytes = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_goal_print(workload, ronde_mem_default(), &text, &bytes, NULL),
                          RONDE_OK);
    CU_ASSERT_TRUE(ronde_goal_is(text, bytes));
    CU_ASSERT_EQUAL_FATAL(ronde_workload_parse(text, bytes, "g", ronde_mem_default(), &read, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL(read->work_count, workload->work_count);
    CU_ASSERT_EQUAL(read->dep_count, workload->dep_count);
    struct ronde_workload_result result = simulate(read, platform, "maxmin");
    CU_ASSERT_DOUBLE_EQUAL(result.time_ns, time_ns, 1e-9 * (1 + time_ns));
    ronde_workload_result_free(&result);
    ronde_workload_destroy(read);
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
}

static void replays_keep_what_items_wait_for(void)
{
    uint64_t random = 31;
    uint32_t contended = 0;
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(machine_text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct ronde_workload *workload = draw(&random);
        struct ronde_workload_result shared = simulate(workload, platform, "maxmin");
        struct ronde_workload_result alone = simulate(workload, platform, "flat");
        CU_ASSERT_EQUAL(early_items(workload, &shared), 0);
        CU_ASSERT_EQUAL(early_items(workload, &alone), 0);
        CU_ASSERT_EQUAL(early_messages(workload, &shared), 0);
        CU_ASSERT_EQUAL(overlaps(workload, &shared), 0);
        expect_sums(&shared);
        expect_sums(&alone);
        CU_ASSERT_FALSE(is_later(alone.time_ns, shared.time_ns));
        contended += is_later(shared.time_ns, alone.time_ns);
        expect_goal(workload, platform, shared.time_ns);
        ronde_workload_result_free(&shared);
        ronde_workload_result_free(&alone);
        ronde_workload_destroy(workload);
    }
    suite_note("%u of %u took longer for sharing links", contended, ROUNDS);
    CU_ASSERT(contended > 3);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"replays_keep_what_items_wait_for", replays_keep_what_items_wait_for},
    };
    return suite_run("workload_random", cases, sizeof cases / sizeof cases[0]);
}
