/* Replays that are cancelled: before they begin, at every allocation on their way, and by a signal in the middle. */
#define _DEFAULT_SOURCE /* setitimer */

#include "support/suite.h"

#include "ronde/sim.h"
#include "unit/leaves.h"
#include "unit/platform_text.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

/* Two leaves of eight hosts; an uplink carries all of its ports, or four of them. */
static const struct leaves_shape wide = {2, 8, 400, 100};
static const struct leaves_shape narrow = {2, 8, 200, 100};

/* What only the engines of their own need: cores with caches. */
#define PROP(name, value) "<prop id=\"ronde." name "\" value=\"" value "\"/>"
static const char cores_text[] = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">" PROP(
    "step_ns", "84") PROP("core_step_ns", "20") PROP("memory_GBps", "100")
    PROP("combine_GBps", "100") PROP("cross_copy_curve", "64:2") PROP("cross_combine_curve", "64:1")
        PROP("cross_write_curve", "64:4") PROP("core_bytes", "1e9") PROP("read_curve",
                                                                         "1:10") PROP("write_curve",
                                                                                      "1:10")
            PROP("cores",
                 "2") "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" "
                      "bw=\"100GBps\" "
                      "lat=\"500ns\" bb_bw=\"100GBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\"/>"
                      "</zone></platform>";

/* A job and what becomes of it. */
struct stage {
    struct ronde_schedule *schedule;
    struct ronde_load load;
    struct ronde_time_params params;
    struct ronde_cancel cancel;
    struct ronde_error error;
};

static void stage_begin(struct stage *stage, const char *algorithm, uint32_t ranks, uint64_t pieces)
{
    memset(stage, 0, sizeof *stage);
    stage->schedule = leaves_compile(RONDE_ALL_REDUCE, algorithm, ranks);
    stage->load = leaves_load(stage->schedule, pieces, 65536);
}

static enum ronde_status replay(struct stage *stage, const struct ronde_platform *platform,
                                const char *engine, const struct ronde_mem *mem)
{
    const struct ronde_sim_job job = {platform, stage->schedule, &stage->load, &stage->params};
    const struct ronde_sim_options options = {.cancel = &stage->cancel};
    struct ronde_sim_result result;
    stage->error = (struct ronde_error){0};
    return ronde_sim_job_run(&job, engine, &options, mem, &result, &stage->error);
}

static void expect_cancelled(struct stage *stage, const struct ronde_platform *platform,
                             const char *engine)
{
    const enum ronde_status status = replay(stage, platform, engine, ronde_mem_default());
    CU_ASSERT_EQUAL(status, RONDE_CANCELLED);
    CU_ASSERT_STRING_EQUAL(stage->error.message, "the replay was cancelled");
    if (status != RONDE_CANCELLED)
        suite_note("%s: %s: %s", engine, ronde_status_text(status), stage->error.message);
}

static void no_engine_replays_what_was_cancelled_before(void)
{
    static const char *const engines[] = {"auto",      "flat",  "maxmin",
                                          "flat_fifo", "ports", "extrapolate"};
    static const char *const algorithms[] = {"ring", "double_tree"};
    struct leaves leaves;
    struct stage stage;
    if (!leaves_begin(&leaves, &narrow))
        return;
    for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
        stage_begin(&stage, algorithms[a], 16, 64);
        ronde_cancel_request(&stage.cancel);
        for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++)
            expect_cancelled(&stage, leaves.platform, engines[e]);
        ronde_schedule_destroy(stage.schedule);
    }
    leaves_end(&leaves);
}

static void cores_are_not_replayed_either(void)
{
    struct stage stage;
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(cores_text);
    stage_begin(&stage, "ring", 4, 1);
    CU_ASSERT_EQUAL(replay(&stage, platform, "cores", ronde_mem_default()), RONDE_OK);
    ronde_cancel_request(&stage.cancel);
    expect_cancelled(&stage, platform, "cores");
    ronde_schedule_destroy(stage.schedule);
    ronde_platform_destroy(platform);
}

/* Memory that requests the end with one of its allocations. */
struct trigger {
    struct ronde_cancel *cancel;
    uint32_t count; /* of allocations so far */
    uint32_t at;    /* the one that requests it */
};

static void *resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct trigger *trigger = self;
    if (new_bytes > 0 && trigger->count++ == trigger->at)
        ronde_cancel_request(trigger->cancel);
    return ronde_mem_resize(ronde_mem_default(), old, old_bytes, new_bytes);
}

/* Whatever it was doing: nothing is left behind, which the sanitizers see, and most of the points are before its end. */
static void cancel_everywhere(const struct ronde_platform *platform, const char *algorithm,
                              const char *engine)
{
    struct stage stage;
    uint32_t cancelled = 0, points = 0;
    bool is_reached = true;
    stage_begin(&stage, algorithm, 16, 64);
    for (; is_reached; points++) {
        struct trigger trigger = {&stage.cancel, 0, points};
        const struct ronde_mem mem = {resize, &trigger};
        stage.cancel = (struct ronde_cancel){0};
        const enum ronde_status status = replay(&stage, platform, engine, &mem);
        CU_ASSERT(status == RONDE_OK || status == RONDE_CANCELLED);
        cancelled += status == RONDE_CANCELLED;
        is_reached = trigger.count > points;
        CU_ASSERT(is_reached || status == RONDE_OK);
    }
    CU_ASSERT(2 * cancelled > points);
    ronde_schedule_destroy(stage.schedule);
}

static void a_replay_can_be_cancelled_at_every_allocation(void)
{
    static const char *const engines[] = {"flat", "maxmin", "flat_fifo", "ports", "auto"};
    struct leaves leaves;
    if (!leaves_begin(&leaves, &wide))
        return;
    for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++)
        cancel_everywhere(leaves.platform, "double_tree", engines[e]);
    cancel_everywhere(leaves.platform, "ring", "flat");
    leaves_end(&leaves);
}

static struct ronde_cancel by_signal;

static void on_alarm(int number)
{
    (void)number;
    ronde_cancel_request(&by_signal);
}

/* Requests the end from a signal handler in a moment: by then the replay is under way, and far from its end. */
static enum ronde_status
run_with_alarm(enum ronde_status (*run)(const struct ronde_platform *, const struct ronde_dag *,
                                        const struct ronde_sim_options *, struct ronde_error *),
               const struct ronde_platform *platform, uint64_t pieces)
{
    const struct itimerval moment = {{0, 0}, {0, 50000}};
    const struct ronde_sim_options options = {.cancel = &by_signal};
    struct stage stage;
    stage_begin(&stage, "double_tree", 16, pieces);
    struct ronde_dag *dag = leaves_graph(stage.schedule, &stage.load, &stage.params);
    by_signal = (struct ronde_cancel){0};
    (void)signal(SIGALRM, on_alarm);
    CU_ASSERT_EQUAL_FATAL(setitimer(ITIMER_REAL, &moment, NULL), 0);
    const enum ronde_status status = run(platform, dag, &options, &stage.error);
    (void)signal(SIGALRM, SIG_IGN);
    suite_note("%u operations: %s", dag->op_count, stage.error.message);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(stage.schedule);
    return status;
}

static enum ronde_status
run_maxmin(const struct ronde_platform *platform, const struct ronde_dag *dag,
           const struct ronde_sim_options *options, struct ronde_error *error)
{
    struct ronde_sim_result result;
    return ronde_sim_maxmin(platform, dag, options, ronde_mem_default(), &result, error);
}

static enum ronde_status
run_simgrid(const struct ronde_platform *platform, const struct ronde_dag *dag,
            const struct ronde_sim_options *options, struct ronde_error *error)
{
    struct ronde_sim_result result;
    return ronde_sim_simgrid(platform, dag, options, &result, error);
}

static void a_signal_handler_cancels_a_long_replay(void)
{
    struct leaves leaves;
    if (!leaves_begin(&leaves, &narrow))
        return;
    CU_ASSERT_EQUAL(run_with_alarm(run_maxmin, leaves.platform, 10000), RONDE_CANCELLED);
    leaves_end(&leaves);
}

static void a_signal_handler_cancels_simgrid(void)
{
    struct leaves leaves;
    if (!suite_has_simgrid() || !leaves_begin(&leaves, &narrow))
        return;
    CU_ASSERT_EQUAL(run_with_alarm(run_simgrid, leaves.platform, 10000), RONDE_CANCELLED);
    leaves_end(&leaves);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"no_engine_replays_what_was_cancelled_before", no_engine_replays_what_was_cancelled_before},
        {"cores_are_not_replayed_either", cores_are_not_replayed_either},
        {"a_replay_can_be_cancelled_at_every_allocation",
         a_replay_can_be_cancelled_at_every_allocation},
        {"a_signal_handler_cancels_a_long_replay", a_signal_handler_cancels_a_long_replay},
        {"a_signal_handler_cancels_simgrid", a_signal_handler_cancels_simgrid},
    };
    return suite_run("cancel", cases, sizeof cases / sizeof cases[0]);
}
