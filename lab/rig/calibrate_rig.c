/* Calibration between the hosts of a rig. See rig.h. */
#include "lab/calibrate/probes.h"
#include "rig.h"

#include "ronde/benchmark.h"
#include "ronde/hw.h"
#include "ronde/sim.h"

#include <math.h>
#include <string.h>

/* What hosts of a rig do with all of them at work: messages both ways in all pairs at once, so that caches and
 * processors are as awake, and as much in demand, as in a collective. */

/** Bytes of a long message. */
#define RONDE_PAIRS_BYTES 65536u

/** A time per hop, found in several rounds. */
struct ronde_pairs_estimate {
    double value_ns; /**< median; 0 where it cannot be told from nothing */
    double notch_ns; /**< how far off that may be */
    double hop_ns;   /**< what a hop takes in all */
};

/** What the pairs say. */
struct ronde_pairs_report {
    struct ronde_pairs_estimate work; /**< processor time of a message of 4 bytes, hosts and switch */
    struct ronde_pairs_estimate short_jitter; /**< deviation of a hop of 4 bytes */
    struct ronde_pairs_estimate long_jitter;  /**< the same of RONDE_PAIRS_BYTES */
    double wire_bytes; /**< of a message of 4 bytes, with the credit and the acknowledgements that come with it */
    double wire_notch; /**< how far off that may be, bytes */
};

/* Pairs of hosts of a rig, all at once. A machine is faster in one minute than in the next. So lengths and sizes
 * take turns in many rounds; each round says by itself what a hop takes, and the rounds' medians are what counts. */

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
        status = ronde_probe_make(RONDE_PROBE_PAIRS, pairs->ranks, throws[i].hops, 1,
                                  &pairs->schedules[i], error);
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

/*
 * Measures, in so many of the rig's hosts as make pairs. What scatters whole runs (which processor a host happens to be on)
 * looks like jitter of hops, the shorter the hops the more. Errors: those of ronde_netns_open and ronde_netns_measure; REJECTED where others keep the
 * machine busy.
 */
static enum ronde_status
pairs_measure(const char *rig, const struct ronde_calibrate_options *options, uint32_t hosts,
              struct ronde_pairs_report *out_report, struct ronde_error *error)
{
    const uint32_t even = hosts - hosts % 2;
    struct pairs pairs = {.ranks = even < RONDE_PROBE_RANKS ? even : RONDE_PROBE_RANKS};
    enum ronde_status status = open_netns(&pairs, rig, &options->benchmark, hosts, error);
    for (uint32_t round = 0; status == RONDE_OK && round < ROUNDS; round++) {
        /* What came before takes as long as all rounds, and has no parts. */
        ronde_reporter_say(&options->reporter, 0.5 + 0.5 * round / ROUNDS,
                           "calibrate: all pairs of hosts at once");
        status = play_round(&pairs, error);
    }
    ronde_netns_close(pairs.workers);
    for (uint32_t i = 0; i < THROW_COUNT; i++)
        ronde_schedule_destroy(pairs.schedules[i]);
    if (status == RONDE_OK && pairs.rounds < ROUNDS_NEEDED)
        status = ronde_fail(error, RONDE_REJECTED,
                            "others disturbed %u of %u rounds: nothing can be calibrated while the "
                            "machine is busy",
                            ROUNDS - pairs.rounds, ROUNDS);
    if (status == RONDE_OK)
        conclude(&pairs, out_report);
    return status;
}

/* What is measured; in the order of `probes`: short ones first. */
enum item {
    FEW_HOPS,
    MANY_HOPS,
    FEW_MESSAGES,
    MANY_MESSAGES,
    SHORT_STREAM,
    STREAM,
    LONG_STREAM,
    EXCHANGE,
    LONG_EXCHANGE,
    REDUCE,
    ITEM_COUNT
};

#define MESSAGES 8u
#define MORE_MESSAGES 56u

/* Slots enough for everything: nothing here waits for a free one. */
#define DEPTH 64u

/*
 * A short stream is one piece that lasts several times what a port may pass at once; the others are long enough for
 * their difference to be some hundred times the spread of a run.
 */
#define SHORT_BYTES (64u << 10)
#define MEDIUM_BYTES (512u << 10)
#define LONG_BYTES (2u << 20)

/* Headers of a full packet beyond its device's own: IP and TCP with time stamps. */
#define HEADER_BYTES 52.0

static const struct probe {
    enum ronde_probe probe;
    uint32_t length;
    uint64_t bytes;
    bool in_place;
} probes[ITEM_COUNT] = {
    [FEW_HOPS] = {RONDE_PROBE_PING_PONG, HOPS, 4, true},
    [MANY_HOPS] = {RONDE_PROBE_PING_PONG, MORE_HOPS, 4, true},
    [FEW_MESSAGES] = {RONDE_PROBE_MESSAGES, MESSAGES, 16 * MESSAGES, true},
    [MANY_MESSAGES] = {RONDE_PROBE_MESSAGES, MORE_MESSAGES, 16 * MORE_MESSAGES, true},
    [SHORT_STREAM] = {RONDE_PROBE_STREAM, 1, SHORT_BYTES, true},
    [STREAM] = {RONDE_PROBE_STREAM, 1, MEDIUM_BYTES, true},
    [LONG_STREAM] = {RONDE_PROBE_STREAM, 1, LONG_BYTES, true},
    [EXCHANGE] = {RONDE_PROBE_EXCHANGE, 1, MEDIUM_BYTES, true},
    [LONG_EXCHANGE] = {RONDE_PROBE_EXCHANGE, 1, LONG_BYTES, true},
    [REDUCE] = {RONDE_PROBE_REDUCE, 1, LONG_BYTES, false},
};

/* Everything that is measured, and what of. */
struct raw {
    struct ronde_schedule *schedules[ITEM_COUNT];
    struct ronde_netns_job jobs[ITEM_COUNT];
    struct ronde_netns_run runs[ITEM_COUNT];
    struct ronde_stats stats[ITEM_COUNT];
    double mtu_bytes;
};

static enum ronde_status compile(struct raw *raw, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < ITEM_COUNT; i++) {
        const uint64_t count = probes[i].bytes / sizeof(float);
        status =
            ronde_probe_make(probes[i].probe, 2, probes[i].length, 1, &raw->schedules[i], error);
        raw->jobs[i] = (struct ronde_netns_job){raw->schedules[i], count};
        raw->runs[i] = (struct ronde_netns_run){i, count, probes[i].in_place, false};
    }
    return status;
}

static enum ronde_status measure(const char *rig, const struct ronde_calibrate_options *options,
                                 uint32_t hosts, struct raw *raw, struct ronde_error *error)
{
    /* What is over soon takes longer at some times than at others, for longer than a round. */
    static const struct ronde_netns_effort often = {9, 9}, seldom = {9, 3};
    const struct ronde_netns_plan plan = {.rig = rig,
                                          .ranks = 2,
                                          .is_oversubscribed = hosts > ronde_usable_cores(),
                                          .options = options->benchmark,
                                          .jobs = raw->jobs,
                                          .job_count = ITEM_COUNT};
    struct ronde_netns_tally tally = {0, 0};
    struct ronde_netns_workers *workers = NULL;
    enum ronde_status status = compile(raw, error);
    RONDE_THEN(status, ronde_netns_open(&plan, &workers, error));
    if (status == RONDE_OK)
        raw->mtu_bytes = ronde_netns_mtu(workers);
    ronde_reporter_say(&options->reporter, RONDE_REPORTER_UNCOUNTED,
                       "calibrate: messages between two hosts");
    RONDE_THEN(status,
               ronde_netns_measure(workers, raw->runs, STREAM, &often, raw->stats, &tally, error));
    RONDE_THEN(status, ronde_netns_measure(workers, &raw->runs[STREAM], ITEM_COUNT - STREAM,
                                           &seldom, &raw->stats[STREAM], &tally, error));
    ronde_netns_close(workers);
    for (uint32_t i = 0; status == RONDE_OK && i < ITEM_COUNT; i++)
        if (raw->stats[i].count == 0)
            status = ronde_fail(error, RONDE_REJECTED,
                                "%u of %u repetitions were disturbed by others: nothing can be "
                                "calibrated while the machine is busy",
                                tally.discarded, tally.discarded + tally.kept);
    return status;
}

/* ns per unit between two runs. */
static double slope(const struct raw *raw, enum item few, enum item many, double units)
{
    return fmax((raw->stats[many].median - raw->stats[few].median) / units, 0.0);
}

/* Of a constant, not of a run: how far off the median may be. Runs of half a millisecond have wild tails. */
static double spread(const struct raw *raw, enum item item)
{
    const struct ronde_stats *stats = &raw->stats[item];
    return stats->median > 0.0 ? stats->notch / stats->median : 0.0;
}

/* Latency, launch and step costs. */
static void fit_small(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    const double hop_ns = slope(raw, FEW_HOPS, MANY_HOPS, MORE_HOPS - HOPS);
    fit->time.step_ns = slope(raw, FEW_MESSAGES, MANY_MESSAGES, MORE_MESSAGES - MESSAGES);
    fit->latency_ns = fmax(hop_ns - fit->time.step_ns, 0.0);
    fit->time.launch_ns = fmax(raw->stats[FEW_HOPS].median - HOPS * hop_ns, 0.0);
    ronde_calibration_note(report, "launch_ns", "ns", fit->time.launch_ns, spread(raw, FEW_HOPS),
                           "4-byte ping-pong, at no hop");
    ronde_calibration_note(report, "latency_ns", "ns", fit->latency_ns, spread(raw, MANY_HOPS),
                           "4-byte ping-pong, per hop, without the step");
    ronde_calibration_note(report, "step_ns", "ns", fit->time.step_ns, spread(raw, MANY_MESSAGES),
                           "16-byte messages in a row, per message");
}

/* Rates, and what ports do beside them. */
static void fit_ports(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    const double units = LONG_BYTES - MEDIUM_BYTES;
    const double alone = slope(raw, STREAM, LONG_STREAM, units);
    const double both = fmax(slope(raw, EXCHANGE, LONG_EXCHANGE, units), alone);
    /*
     * Sends await no cards, so a stream is one hop of a ping-pong and its bytes. Launch and hop come from the same runs as
     * their sum does: alone, noise may have cut the launch off at nothing.
     */
    const double hop_ns = slope(raw, FEW_HOPS, MANY_HOPS, MORE_HOPS - HOPS);
    const double one_hop_ns = raw->stats[FEW_HOPS].median - (HOPS - 1) * hop_ns;
    const double sooner_ns = one_hop_ns + SHORT_BYTES * alone - raw->stats[SHORT_STREAM].median;
    fit->time.lane_GBps = 1.0 / both;
    fit->packets.segment_bytes = raw->mtu_bytes - HEADER_BYTES;
    fit->packets.reverse_share = both / alone - 1.0;
    /* A bucket holds a packet, or there is none: less is what warm processors are faster than those that slept. */
    const double burst_bytes = sooner_ns / alone;
    fit->packets.burst_bytes = burst_bytes < fit->packets.segment_bytes ? 0.0 : burst_bytes;
    ronde_calibration_note(report, "lane_GBps", "GB/s", fit->time.lane_GBps,
                           spread(raw, LONG_EXCHANGE), "exchange of 512 KiB and 2 MiB, each way");
    ronde_calibration_note(report, "reverse_share", "", fit->packets.reverse_share,
                           spread(raw, LONG_STREAM), "exchange against stream: acknowledgements");
    ronde_calibration_note(report, "burst_bytes", "B", fit->packets.burst_bytes,
                           spread(raw, SHORT_STREAM),
                           fit->packets.burst_bytes > 0.0
                               ? "64 KiB stream after a pause, against the rate"
                               : "64 KiB stream after a pause: less than a packet");
    ronde_calibration_note(report, "segment_bytes", "B", fit->packets.segment_bytes, 0.0,
                           "MTU of the device, without headers");
}

/* What stands around a message is what its sender's device counts, less the word of a free slot that goes with it. */
static void fit_header(const struct ronde_pairs_report *pairs,
                       struct ronde_calibration_report *report)
{
    const double header_bytes =
        fmax(pairs->wire_bytes - sizeof(float) - RONDE_SIM_CREDIT_BYTES, 0.0);
    report->calibration.packets.header_bytes = header_bytes;
    ronde_calibration_note(report, "header_bytes", "B", header_bytes,
                           header_bytes > 0.0 ? pairs->wire_notch / header_bytes : 0.0,
                           "4-byte ping-pong, all pairs: sent per message, without "
                           "the word of a free slot");
}

/* One of the pairs' constants; relative to what it is of where it is nothing. */
static void note_pairs(struct ronde_calibration_report *report, const char *name, double value_ns,
                       const struct ronde_pairs_estimate *of, const char *how)
{
    const double whole_ns = of->value_ns > 0.0 ? of->value_ns : of->hop_ns;
    const double sure = whole_ns > 0.0 ? of->notch_ns / whole_ns : 0.0;
    ronde_calibration_note(report, name, "ns", value_ns, sure, how);
}

/* Hosts that share processors wait for them and, asleep, for their turn. */
static void fit_pairs(const struct ronde_pairs_report *pairs,
                      struct ronde_calibration_report *report)
{
    struct ronde_packet_facts *packets = &report->calibration.packets;
    const struct ronde_pairs_estimate *longs = &pairs->long_jitter;
    /* Short messages are taken to scatter no more than long ones: see pairs_measure. */
    const struct ronde_pairs_estimate *shorts =
        pairs->short_jitter.value_ns < longs->value_ns ? &pairs->short_jitter : longs;
    /* To wake is a part of the latency. */
    const double latency_ns = report->calibration.latency_ns;
    const double short_ns = fmin(shorts->value_ns, latency_ns);
    const bool scatter_more =
        longs->value_ns - shorts->value_ns > longs->notch_ns + shorts->notch_ns;
    const double more_ns = scatter_more ? fmin(longs->value_ns, latency_ns) - short_ns : 0.0;
    packets->processors = ronde_usable_cores();
    /* A host's step takes its processor by itself. */
    packets->switch_ns = fmax(pairs->work.value_ns - report->calibration.time.step_ns, 0.0);
    packets->jitter_ns = short_ns;
    packets->jitter_GBps = more_ns > 0.0 ? RONDE_PAIRS_BYTES / more_ns : 0.0;
    note_pairs(report, "switch_ns", packets->switch_ns, &pairs->work,
               "processor time of a message beside the step: 4-byte ping-pong, all pairs at once");
    note_pairs(report, "jitter_ns", short_ns, shorts,
               short_ns > 0.0 ? "the same: how far the hops of a rank scatter"
                              : "the same: hops of a rank do not scatter beyond noise");
    ronde_calibration_note(report, "jitter_GBps", "GB/s", packets->jitter_GBps,
                           more_ns > 0.0 ? (longs->notch_ns + shorts->notch_ns) / more_ns : 0.0,
                           more_ns > 0.0
                               ? "64 KiB ping-pong, all pairs at once: what it scatters beyond"
                               : "64 KiB ping-pong, all pairs at once: scatters no more");
}

/* A sum that cannot be told from the stream beside it costs nothing: most networks are slower than any processor. */
static void fit_gamma(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    const double beyond_ns = raw->stats[REDUCE].median - raw->stats[LONG_STREAM].median;
    const double noise_ns = raw->stats[REDUCE].notch + raw->stats[LONG_STREAM].notch;
    fit->time.gamma_GBps = beyond_ns > noise_ns ? LONG_BYTES / beyond_ns : 0.0;
    ronde_calibration_note(report, "gamma_GBps", "GB/s", fit->time.gamma_GBps, spread(raw, REDUCE),
                           fit->time.gamma_GBps > 0.0 ? "2 MiB stream into a sum, beyond the stream"
                                                      : "2 MiB stream into a sum: no different");
    ronde_calibration_note(report, "slot_bytes", "B", (double)fit->slot_bytes, 0.0,
                           "what messages were cut into");
}

enum ronde_status ronde_calibrate_rig(const char *rig, const struct ronde_calibrate_options *options,
                                      uint32_t hosts, struct ronde_calibration_report *out_report,
                                      struct ronde_error *error)
{
    struct ronde_calibrate_options used = *options;
    struct ronde_benchmark_options *how = &used.benchmark;
    struct raw raw;
    memset(&raw, 0, sizeof raw);
    how->dtype = RONDE_FLOAT32;
    how->op = RONDE_SUM;
    how->depth = DEPTH;
    how->protocol = RONDE_PROTOCOL_STAGED;
    how->slot_bytes = how->slot_bytes ? how->slot_bytes : RONDE_RIG_SLOT_BYTES;
    struct ronde_pairs_report pairs = {0};
    enum ronde_status status = measure(rig, &used, hosts, &raw, error);
    RONDE_THEN(status, pairs_measure(rig, &used, hosts, &pairs, error));
    ronde_reporter_end(&options->reporter);
    if (status == RONDE_OK && slope(&raw, STREAM, LONG_STREAM, 1.0) <= 0.0)
        status = ronde_fail(error, RONDE_REJECTED,
                            "a long stream took no longer than a shorter one: there is no rate");
    for (uint32_t i = 0; i < ITEM_COUNT; i++)
        ronde_schedule_destroy(raw.schedules[i]);
    if (status != RONDE_OK)
        return status;
    *out_report = (struct ronde_calibration_report){0};
    out_report->calibration.slot_bytes = how->slot_bytes;
    out_report->calibration.max_ranks = hosts;
    fit_small(&raw, out_report);
    fit_ports(&raw, out_report);
    fit_header(&pairs, out_report);
    fit_gamma(&raw, out_report);
    fit_pairs(&pairs, out_report);
    ronde_calibration_describe(out_report, "ucx", "between two hosts of a rig, ucx");
    return RONDE_OK;
}
