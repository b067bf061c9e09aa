/*
 * Pairs of hosts of a rig, all at once. See calibrate_pairs.h.
 *
 * A machine is faster in one minute than in the next. So lengths and sizes take turns in many rounds; each round says by
 * itself what a hop takes, and the rounds' medians are what counts.
 */
#include "calibrate_pairs.h"

#include "lab/calibrate/probes.h"
#include "netns_workers.h"

#include "ronde/hw.h"

#include <math.h>

/* A length and a size of what is thrown; in the order of `throws`. */
enum throw { FEW, MANY, FEW_LONG, MANY_LONG, THROW_COUNT };

/* Lengths are odd. */
#define HOPS 3u
#define MORE_HOPS 43u
#define MORE_LONG_HOPS 33u

static const struct {
    uint32_t hops;
    uint64_t bytes;
} throws[THROW_COUNT] = {
    [FEW] = {HOPS, 4},
    [MANY] = {MORE_HOPS, 4},
    [FEW_LONG] = {HOPS, RONDE_PAIRS_BYTES},
    [MANY_LONG] = {MORE_LONG_HOPS, RONDE_PAIRS_BYTES},
};

/* Rounds, and how many of them must be undisturbed. */
#define ROUNDS 9u
#define ROUNDS_NEEDED 5u

/* What is asked of every round: ns, and bytes on the wire. */
enum quantity { WORK, SHORT_JITTER, LONG_JITTER, SHORT_HOP, LONG_HOP, WIRE, QUANTITY_COUNT };

/* The workers, and what their rounds have said. */
struct pairs {
    uint32_t ranks;
    struct ronde_schedule *schedules[THROW_COUNT];
    struct ronde_netns_job jobs[THROW_COUNT];
    struct ronde_netns_workers *workers;
    double found[QUANTITY_COUNT][ROUNDS];
    uint32_t rounds;
};

/* Throws of one kind. */
struct thrown {
    struct ronde_stats stats; /* what they took each rank */
    double work_ns;           /* processor time of all of them */
    double wire_bytes;        /* that they sent */
};

static enum ronde_status open_netns(struct pairs *pairs, const char *rig,
                                    const struct ronde_benchmark_options *options, uint32_t hosts,
                                    struct ronde_error *error)
{
    const struct ronde_netns_plan plan = {.rig = rig,
                                          .ranks = pairs->ranks,
                                          .is_oversubscribed = hosts > ronde_usable_cores(),
                                          .options = *options,
                                          .jobs = pairs->jobs,
                                          .job_count = THROW_COUNT};
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < THROW_COUNT; i++) {
        status = ronde_probe_make_pairs(pairs->ranks, throws[i].hops, &pairs->schedules[i], error);
        pairs->jobs[i] = (struct ronde_netns_job){pairs->schedules[i], throws[i].bytes / 4};
    }
    return status == RONDE_OK ? ronde_netns_open(&plan, &pairs->workers, error) : status;
}

static enum ronde_status run_throw(const struct pairs *pairs, enum throw which, struct thrown *out,
                                   struct ronde_error *error)
{
    static const struct ronde_netns_effort effort = {9, 1};
    const struct ronde_netns_run run = {which, throws[which].bytes / 4, false, true};
    struct ronde_netns_tally tally = {0, 0};
    const struct ronde_netns_work before = ronde_netns_work(pairs->workers);
    const enum ronde_status status =
        ronde_netns_measure(pairs->workers, &run, 1, &effort, &out->stats, &tally, error);
    const struct ronde_netns_work after = ronde_netns_work(pairs->workers);
    const double runs = after.runs - before.runs;
    out->work_ns = (after.processor_ns - before.processor_ns) / runs;
    out->wire_bytes = (after.wire_bytes - before.wire_bytes) / runs;
    return status;
}

/* Hops scatter each by itself, so that their variances add up. */
static double jitter(const struct ronde_stats *few, const struct ronde_stats *many, double hops)
{
    const double more = many->scatter * many->scatter - few->scatter * few->scatter;
    return sqrt(fmax(more, 0.0) / hops);
}

/* All kinds in turns. A round in which others disturbed one of them says nothing. */
static enum ronde_status play_round(struct pairs *pairs, struct ronde_error *error)
{
    const double hops = MORE_HOPS - HOPS, long_hops = MORE_LONG_HOPS - HOPS;
    struct thrown thrown[THROW_COUNT];
    enum ronde_status status = RONDE_OK;
    bool is_whole = true;
    for (enum throw i = FEW; status == RONDE_OK && i < THROW_COUNT; i++) {
        status = run_throw(pairs, i, &thrown[i], error);
        is_whole &= status == RONDE_OK && thrown[i].stats.count > 0;
    }
    if (status != RONDE_OK || !is_whole)
        return status;
    const double found[QUANTITY_COUNT] = {
        [WORK] = (thrown[MANY].work_ns - thrown[FEW].work_ns) / (hops * pairs->ranks),
        [WIRE] = (thrown[MANY].wire_bytes - thrown[FEW].wire_bytes) / (hops * pairs->ranks),
        [SHORT_JITTER] = jitter(&thrown[FEW].stats, &thrown[MANY].stats, hops),
        [LONG_JITTER] = jitter(&thrown[FEW_LONG].stats, &thrown[MANY_LONG].stats, long_hops),
        [SHORT_HOP] = (thrown[MANY].stats.median - thrown[FEW].stats.median) / hops,
        [LONG_HOP] = (thrown[MANY_LONG].stats.median - thrown[FEW_LONG].stats.median) / long_hops,
    };
    for (enum quantity q = WORK; q < QUANTITY_COUNT; q++)
        pairs->found[q][pairs->rounds] = found[q];
    pairs->rounds++;
    return RONDE_OK;
}

static struct ronde_pairs_estimate estimate(struct pairs *pairs, enum quantity what, double hop_ns)
{
    const struct ronde_stats stats = ronde_stats_of(pairs->found[what], pairs->rounds);
    return (struct ronde_pairs_estimate){stats.median > stats.notch ? stats.median : 0.0,
                                         stats.notch, hop_ns};
}

static void conclude(struct pairs *pairs, struct ronde_pairs_report *out_report)
{
    const double hop_ns = ronde_stats_of(pairs->found[SHORT_HOP], pairs->rounds).median;
    const double long_hop_ns = ronde_stats_of(pairs->found[LONG_HOP], pairs->rounds).median;
    out_report->work = estimate(pairs, WORK, hop_ns);
    out_report->short_jitter = estimate(pairs, SHORT_JITTER, hop_ns);
    out_report->long_jitter = estimate(pairs, LONG_JITTER, long_hop_ns);
    const struct ronde_stats wire = ronde_stats_of(pairs->found[WIRE], pairs->rounds);
    out_report->wire_bytes = wire.median;
    out_report->wire_notch = wire.notch;
}

enum ronde_status ronde_pairs_measure(const char *rig, const struct ronde_benchmark_options *options,
                                      uint32_t hosts, struct ronde_pairs_report *out_report,
                                      struct ronde_error *error)
{
    const uint32_t even = hosts - hosts % 2;
    struct pairs pairs = {.ranks = even < RONDE_PROBE_RANKS ? even : RONDE_PROBE_RANKS};
    enum ronde_status status = open_netns(&pairs, rig, options, hosts, error);
    for (uint32_t round = 0; status == RONDE_OK && round < ROUNDS; round++)
        status = play_round(&pairs, error);
    ronde_netns_close(pairs.workers);
    for (uint32_t i = 0; i < THROW_COUNT; i++)
        ronde_schedule_destroy(pairs.schedules[i]);
    if (status == RONDE_OK && pairs.rounds < ROUNDS_NEEDED)
        status = ronde_fail(error, RONDE_REJECTED,
                            "other processes disturbed %u of %u rounds: nothing can be calibrated "
                            "while the machine is busy",
                            ROUNDS - pairs.rounds, ROUNDS);
    if (status == RONDE_OK)
        conclude(&pairs, out_report);
    return status;
}
