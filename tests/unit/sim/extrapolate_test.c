/* Verified continuation against replays in full: right, or refused. */
#include "support/suite.h"

#include "ronde/sim.h"
#include "swept.h"
#include "unit/leaves.h"
#include "unit/platform_text.h"

#include <math.h>
#include <string.h>

/* A job, what the extrapolation said of it, and what the replay in full says. */
struct comparison {
    struct leaves leaves;
    struct ronde_schedule *schedule;
    struct ronde_load load;
    struct ronde_time_params params;
    uint32_t host_of[256];
    struct ronde_sim_options options;
    struct ronde_sim_result result;
    struct ronde_error error;
    enum ronde_status status;
};

static bool begin(struct comparison *it, const struct leaves_shape *shape, const char *algorithm)
{
    memset(it, 0, sizeof *it);
    if (!leaves_begin(&it->leaves, shape))
        return false;
    it->schedule =
        leaves_compile(RONDE_ALL_REDUCE, algorithm, shape->leaves * shape->hosts_per_leaf);
    CU_ASSERT_FATAL(it->schedule != NULL);
    it->params.step_ns = 300;
    it->params.alpha_ns = 250;
    return true;
}

static void end(struct comparison *it)
{
    ronde_schedule_destroy(it->schedule);
    leaves_end(&it->leaves);
}

static struct ronde_sim_job job_of(const struct comparison *it)
{
    return (struct ronde_sim_job){it->leaves.platform, it->schedule, &it->load, &it->params};
}

static void extrapolate(struct comparison *it)
{
    const struct ronde_sim_job job = job_of(it);
    it->error = (struct ronde_error){RONDE_OK, 0, ""};
    it->status =
        ronde_sim_extrapolate(&job, &it->options, ronde_mem_default(), &it->result, &it->error);
}

/* Time of the whole graph, by whichever engine is exact. */
static double full_ns(const struct comparison *it)
{
    struct ronde_dag *dag = leaves_graph(it->schedule, &it->load, &it->params);
    struct ronde_sim_result result = {0};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_sim_auto(it->leaves.platform, dag, &it->options, ronde_mem_default(),
                                   &result, &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(result.window, 0);
    ronde_dag_destroy(dag, ronde_mem_default());
    return result.time_ns;
}

/* The extrapolation must have worked and agree with the replay in full. */
static void expect_right(struct comparison *it, const char *engine, double tolerance)
{
    extrapolate(it);
    CU_ASSERT_EQUAL(it->status, RONDE_OK);
    if (it->status != RONDE_OK) {
        suite_note("%s", it->error.message);
        return;
    }
    const double full = full_ns(it);
    const double difference = fabs(it->result.time_ns - full) / full;
    CU_ASSERT(difference <= tolerance);
    CU_ASSERT(it->result.window >= 8);
    CU_ASSERT(it->result.slope_difference <= 1e-9);
    CU_ASSERT_STRING_EQUAL(it->result.engine, engine);
    suite_note(
        "%s on %u ranks: %.3f us, windows of %u periods, slopes differ by %.1e, time by %.1e",
        it->schedule->algorithm, it->schedule->ranks, it->result.time_ns / 1e3, it->result.window,
        it->result.slope_difference, difference);
}

/* Every hop leaves its leaf: rank r sits on leaf r modulo leaves. */
static void scatter(struct comparison *it, const struct leaves_shape *shape)
{
    for (uint32_t rank = 0; rank < shape->leaves * shape->hosts_per_leaf; rank++)
        it->host_of[rank] = rank % shape->leaves * shape->hosts_per_leaf + rank / shape->leaves;
    it->options.host_of = it->host_of;
}

/* Eight flows share an uplink of 200 GB/s all the time; reduction makes the first half slower than the second. */
static void rings_over_shared_uplinks(void)
{
    for (uint32_t leaves = 8; leaves <= 16; leaves += 8)
        for (double gamma_GBps = 0; gamma_GBps <= 100; gamma_GBps += 100) {
            const struct leaves_shape shape = {leaves, 8, 200, 130};
            struct comparison it;
            if (!suite_has_simgrid() || !begin(&it, &shape, "ring"))
                return;
            scatter(&it, &shape);
            it.params.gamma_GBps = gamma_GBps;
            it.load =
                (struct ronde_load){.count = 16384u * it.schedule->ranks, .dtype = RONDE_FLOAT32};
            expect_right(&it, "maxmin", 1e-3);
            CU_ASSERT(strncmp(it.result.busiest_link, "up", 2) == 0);
            end(&it);
        }
}

/* Each phase has its own slope: one for both would be half the reduction time off. */
static void phases_with_and_without_reduction_have_slopes_of_their_own(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){1, 128, 50, 0}, "ring"))
        return;
    it.params.gamma_GBps = 100;
    it.params.launch_ns = 5000;
    it.load = (struct ronde_load){.count = 16384u * 128, .dtype = RONDE_FLOAT32};
    expect_right(&it, "flat", 1e-12);
    /* 254 messages of 64 KiB at 50 GB/s over 1 us, alpha and a step; 127 of them were added up before. */
    const double message = 65536 / 50.0 + 1000 + 250 + 300;
    CU_ASSERT_DOUBLE_EQUAL(it.result.time_ns, 5000 + 254 * message + 127 * 655.36 + 300,
                           1e-6 * it.result.time_ns);
    end(&it);
}

/*
 * Chunks that differ by a grain, and a last one that is short: the load grows until they are equal, which the result
 * records.
 */
static void chunks_need_not_be_equal(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){1, 128, 50, 0}, "ring"))
        return;
    it.load = (struct ronde_load){.count = 16384u * 128 + 77, .dtype = RONDE_FLOAT32};
    expect_right(&it, "flat", 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(it.result.size_difference, 435.0 / (16384 * 128 + 77), 1e-12);
    /* Where a grain more is too much, no window is alike. */
    it.load.count = 2048u * 128 + 77;
    extrapolate(&it);
    CU_ASSERT_EQUAL(it.status, RONDE_UNSUPPORTED);
    end(&it);
}

/* Pieces are periods too; the last is short. Nested: the steps of each piece are continued as well. */
static void pieces_are_continued(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){1, 64, 50, 0}, "ring"))
        return;
    it.load = (struct ronde_load){.count = 64 * 16384 * 10 + 5001,
                                  .dtype = RONDE_FLOAT32,
                                  .slot_bytes = 16384};
    expect_right(&it, "flat", 1e-9);
    ronde_schedule_destroy(it.schedule);
    it.schedule = leaves_compile(RONDE_BROADCAST, "chain", 64);
    it.load.count = 4096 * 300 + 5;
    expect_right(&it, "flat", 1e-9);
    end(&it);
}

/* Phases on several lanes and of several dimensions. */
static void phases_of_several_rings_are_continued(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){8, 64, 3200, 0}, "hierarchical"))
        return;
    it.load = (struct ronde_load){.count = 1024 * 512, .dtype = RONDE_FLOAT32};
    it.params.gamma_GBps = 200;
    expect_right(&it, "flat", 1e-9);
    ronde_schedule_destroy(it.schedule);
    it.schedule = leaves_compile(RONDE_ALL_GATHER, "ring", 512);
    it.load.count = 4096;
    it.params.gamma_GBps = 0;
    expect_right(&it, "flat", 1e-9);
    end(&it);
}

/*
 * A ring over leaves of 48 hosts crosses a slower link once in 48 steps. The latest rank's end moves on evenly in short
 * windows, but not every rank's does: windows of 8 and 24 must be seen through, one of 48 is right.
 */
static void a_rare_slow_link_is_not_overlooked(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){5, 48, 2400, 5000}, "ring"))
        return;
    it.load = (struct ronde_load){.count = 16384u * 240, .dtype = RONDE_FLOAT32};
    expect_right(&it, "flat", 1e-9);
    CU_ASSERT_EQUAL(it.result.window, 48);
    end(&it);
}

/* Of 40 hosts no window is a multiple: refused, and the message says what differs. */
static void uneven_progress_is_refused(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){5, 40, 2000, 5000}, "ring"))
        return;
    it.load = (struct ronde_load){.count = 16384u * 200, .dtype = RONDE_FLOAT32};
    extrapolate(&it);
    CU_ASSERT_EQUAL(it.status, RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(it.error.message, "periods of steps 1 to 198 (rrs) of lane 0 take differs by"));
    end(&it);
}

/* Max-min sharing makes long pipelines of trees chaotic: refused, unless it happens to be right. */
static void pipelined_trees_are_refused_or_right(void)
{
    struct comparison it;
    if (!suite_has_simgrid() || !begin(&it, &(struct leaves_shape){4, 8, 400, 130}, "double_tree"))
        return;
    it.load = leaves_load(it.schedule, 160, 65536);
    extrapolate(&it);
    if (it.status == RONDE_OK) {
        expect_right(&it, "simgrid", 1e-3);
    } else {
        CU_ASSERT_EQUAL(it.status, RONDE_UNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(it.error.message, "periods of pieces take differs by"));
        suite_note("%s", it.error.message);
    }
    end(&it);
}

/* Short programs in one piece, and callers who want the times of operations. */
static void what_has_no_periods_is_refused(void)
{
    double finish_ns[1];
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){1, 16, 50, 0}, "recursive_doubling"))
        return;
    it.load = (struct ronde_load){.count = 1000, .dtype = RONDE_FLOAT32};
    extrapolate(&it);
    CU_ASSERT_EQUAL(it.status, RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(it.error.message, "recursive_doubling on 16 ranks has neither 32 alike steps"));
    it.options.out_finish_ns = finish_ns;
    extrapolate(&it);
    CU_ASSERT_EQUAL(it.status, RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(it.error.message, "keeps no times"));
    end(&it);
}

/* The replay's own errors come through. */
static void errors_of_the_replay_are_passed_on(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){1, 64, 50, 0}, "ring"))
        return;
    ronde_schedule_destroy(it.schedule);
    it.schedule = leaves_compile(RONDE_ALL_REDUCE, "ring", 65);
    it.load = (struct ronde_load){.count = 65 * 1024, .dtype = RONDE_FLOAT32};
    extrapolate(&it);
    CU_ASSERT_EQUAL(it.status, RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(it.error.message, "65 ranks, but it has 64 hosts"));
    it.load.dtype = RONDE_DTYPE_COUNT;
    extrapolate(&it);
    CU_ASSERT_EQUAL(it.status, RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(it.error.message, "does not exist"));
    end(&it);
}

static void allocation_failures_are_clean(void)
{
    struct comparison it;
    if (!begin(&it, &(struct leaves_shape){1, 40, 50, 0}, "ring"))
        return;
    it.load = (struct ronde_load){.count = 40 * 1024, .dtype = RONDE_FLOAT32};
    const struct ronde_sim_job job = job_of(&it);
    swept_job(ronde_sim_extrapolate, &job, 20);
    end(&it);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rings_over_shared_uplinks", rings_over_shared_uplinks},
        {"phases_with_and_without_reduction_have_slopes_of_their_own",
         phases_with_and_without_reduction_have_slopes_of_their_own},
        {"chunks_need_not_be_equal", chunks_need_not_be_equal},
        {"pieces_are_continued", pieces_are_continued},
        {"phases_of_several_rings_are_continued", phases_of_several_rings_are_continued},
        {"a_rare_slow_link_is_not_overlooked", a_rare_slow_link_is_not_overlooked},
        {"uneven_progress_is_refused", uneven_progress_is_refused},
        {"pipelined_trees_are_refused_or_right", pipelined_trees_are_refused_or_right},
        {"what_has_no_periods_is_refused", what_has_no_periods_is_refused},
        {"errors_of_the_replay_are_passed_on", errors_of_the_replay_are_passed_on},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("extrapolate", cases, sizeof cases / sizeof *cases);
}
