/*
 * Calibration: probes, and the constants that make the time model say what they took.
 *
 * Every constant is solved for from the model's own words for a point-to-point probe; no collective
 * enters a fit. Where the machine has two values and the model one, a choice is left, and it is a
 * choice: copy_GBps is the geometric mean of a stream between two cores and of streams within every
 * core at once. The second used to be a stream within one core alone; that was changed after a
 * comparison had been seen, so the comparison is no blind test of this constant.
 */
#define _POSIX_C_SOURCE 200809L

#include "ronde/calibrate.h"

#include "probes.h"

#include "ronde/caches.h"
#include "ronde/distance.h"
#include "ronde/hw.h"

#include <math.h>
#include <time.h>

/*
 * Hops and messages of the short and the long run of a slope: long enough that the slope is
 * hundreds of clock ticks.
 */
#define FEW_HOPS 3u
#define MANY_HOPS 403u
#define FEW_MESSAGES 32u
#define MANY_MESSAGES 1056u

/* Hops of messages of 64 B to 32 KiB; longer ones, to 256 KiB, cost what remote_write_curve says. */
#define LONG_HOPS 43u
#define HOPPING 10u
#define MESSAGES 13u
#define SHORTEST_BYTES 64u

/* Ranks that wait beside a ping-pong within a core. */
#define WAITING_RANKS 8u

/* Sizes of streams, bytes: from within the private caches to beyond any. */
static const uint64_t sizes_of_core[] = {64u << 10, 256u << 10, 1u << 20,
                                         4u << 20,  16u << 20,  64u << 20};
#define STREAMS (sizeof sizes_of_core / sizeof sizes_of_core[0])

/* The same for one of a GPU's hundred multiprocessors. */
static const uint64_t sizes_of_block[STREAMS] = {4u << 10,   16u << 10, 64u << 10,
                                                 256u << 10, 1u << 20,  2u << 20};

/* How long calibration waits, in all, for processors to be as far from each other as they usually are. */
#define PATIENCE_NS 3e10

/* What is calibrated, and what with. */
struct bench {
    const struct ronde_calibrate_options *options;
    uint32_t cores; /* processors of this machine, multiprocessors of GPUs */
    bool is_device; /* ranks are blocks of GPUs: a run has them all at once, as channels */
    struct ronde_benchmark_options how; /* with the slot in use */
    uint64_t slot_bytes;
    const uint64_t *stream_bytes;    /* STREAMS sizes */
    struct ronde_distance *distance; /* between processors; NULL where there is none */
    double line_ns;                  /* the distance that is kept */
};

/* A probe in its surroundings. */
struct setup {
    enum ronde_probe probe;
    uint32_t length;
    uint64_t bytes;      /* of the block */
    uint32_t cores_each; /* 0 = all */
    uint32_t members;
    bool in_place;
    uint32_t ranks;
};

/* What is measured at two lengths: their difference has neither launch nor wake-up in it. */
enum slope {
    HOP,
    MESSAGE,      /* between two cores */
    NEAR_MESSAGE, /* within one core */
    NEAR_HOP,
    PAIR, /* that stays within its core: what comes with ranks, and not with messages, is in what is left at no hop */
    TWO_PAIRS, /* the same with two pairs each core */
    WAKING, /* two ranks that both begin at once, each on a core of its own, one of which has to wake first */
    WAITING, /* as NEAR_HOP beside ranks that wait, all on one core: each is polled again and again */
    LONG_HOP, /* between two cores, of SHORTEST_BYTES and of all lengths up to HOPPING doublings */
    SLOPE_COUNT = LONG_HOP + HOPPING
};

/* Runs of the slopes that every backend has. */
#define SMALL_RUNS (2u * PAIR)

/* Probes that take as long as ronde_caches_measure. */
#define CACHES 40u

/* Bytes of a short message. */
#define GRAIN 16u

/* With the longer of the two lengths; a message in a row is a chunk of the block. */
static const struct setup slopes[] = {
    [HOP] = {RONDE_PROBE_PING_PONG, MANY_HOPS, GRAIN, 0, 1, true, 2},
    [MESSAGE] = {RONDE_PROBE_MESSAGES, MANY_MESSAGES, GRAIN, 0, 1, true, 2},
    [NEAR_MESSAGE] = {RONDE_PROBE_MESSAGES, MANY_MESSAGES, GRAIN, 1, 1, true, 2},
    [NEAR_HOP] = {RONDE_PROBE_PING_PONG, MANY_HOPS, GRAIN, 1, 1, true, 2},
    [PAIR] = {RONDE_PROBE_PAIRS, MANY_HOPS, GRAIN, 2, 1, false, 4},
    [TWO_PAIRS] = {RONDE_PROBE_PAIRS, MANY_HOPS, GRAIN, 2, 1, false, 8},
    [WAKING] = {RONDE_PROBE_PAIRS, MANY_HOPS, GRAIN, 0, 1, false, 2},
    [WAITING] = {RONDE_PROBE_WAITING, MANY_HOPS, GRAIN, 1, 1, true, 2 + WAITING_RANKS},
    [LONG_HOP] = {RONDE_PROBE_PING_PONG, LONG_HOPS, SHORTEST_BYTES, 0, 1, true, 2},
};

/* Raw measurements, ns unless said otherwise. */
struct raw {
    const struct bench *bench;
    uint32_t done, probes; /* measured, and all of them */
    struct ronde_stats few[SLOPE_COUNT], many[SLOPE_COUNT];
    struct ronde_stats across[STREAMS];    /* stream, two cores */
    struct ronde_stats all_cores[STREAMS]; /* stream, every core */
    struct ronde_stats reduce[STREAMS];    /* reduce, one core */
};

/*
 * One probe on one set of cores. The schedule lives as long as the measurement. Members on a device are channels of one
 * run: kernels of several threads would begin at different times.
 */
static enum ronde_status measure(struct raw *raw, const struct setup *setup,
                                 struct ronde_stats *out_stats, struct ronde_error *error)
{
    const struct bench *bench = raw->bench;
    /* Long runs need their share of the window too: five at least. */
    static const struct ronde_effort effort = {3, 5, RONDE_MAX_SAMPLES, 6e7};
    const uint32_t channels = bench->is_device ? setup->members : 1;
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status =
        ronde_probe_make(setup->probe, setup->ranks, setup->length, channels, &schedule, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_parallel_probe parallel = {.backend = bench->options->backend,
                                                  .schedule = schedule,
                                                  .options = &bench->how,
                                                  .count = channels * (setup->bytes / sizeof(float)),
                                                  .in_place = setup->in_place,
                                                  .cores_each =
                                                      bench->is_device ? 0 : setup->cores_each,
                                                  .members = setup->members / channels};
    do {
        ronde_distance_await(bench->distance);
        status = ronde_parallel_probe_measure(&parallel, &effort, out_stats, error);
    } while (status == RONDE_OK && !ronde_distance_held(bench->distance));
    raw->done++;
    ronde_schedule_destroy(schedule);
    return status;
}

/* Every probe has the same effort, so their number says how long all of it takes; caches count as CACHES of them. */
static void say(const struct raw *raw, const char *what)
{
    ronde_reporter_say(&raw->bench->options->reporter, (double)raw->done / raw->probes,
                       "calibrate: %s", what);
}

/* The setup of a slope's long run. */
static struct setup long_run(uint32_t which)
{
    struct setup setup = slopes[which < LONG_HOP ? which : LONG_HOP];
    setup.bytes <<= which > LONG_HOP ? which - LONG_HOP : 0;
    return setup;
}

static uint32_t short_length(const struct setup *setup)
{
    return setup->probe == RONDE_PROBE_MESSAGES ? FEW_MESSAGES : FEW_HOPS;
}

/* Slopes one after another, the short run of each first. */
static enum ronde_status measure_slopes(struct raw *raw, uint32_t first, uint32_t end,
                                        struct ronde_error *error)
{
    for (uint32_t run = 2 * first; run < 2 * end; run++) {
        struct setup setup = long_run(run / 2);
        if (run % 2 == 0)
            setup.length = short_length(&setup);
        if (setup.probe == RONDE_PROBE_MESSAGES)
            setup.bytes *= setup.length;
        say(raw, run < SMALL_RUNS ? "latency and step costs" : "caches");
        RONDE_TRY(
            measure(raw, &setup, run % 2 == 0 ? &raw->few[run / 2] : &raw->many[run / 2], error));
    }
    return RONDE_OK;
}

/* Sizes on the outside, so that a disturbance of the machine hits all kinds of one size alike. */
static enum ronde_status measure_streams(struct raw *raw, struct ronde_error *error)
{
    const uint32_t cores = raw->bench->cores;
    for (size_t i = 0; i < STREAMS; i++) {
        const uint64_t bytes = raw->bench->stream_bytes[i];
        /* In place, so that the sender's own copy moves nothing. */
        const struct setup across = {RONDE_PROBE_STREAM, 1, bytes, 0, 1, true, 2};
        const struct setup parallel = {RONDE_PROBE_STREAM, 1, bytes, 1, cores, true, 2};
        const struct setup reduce = {RONDE_PROBE_REDUCE, 1, bytes, 1, cores, false, 2};
        say(raw, "copies and reductions");
        RONDE_TRY(measure(raw, &across, &raw->across[i], error));
        RONDE_TRY(measure(raw, &parallel, &raw->all_cores[i], error));
        RONDE_TRY(measure(raw, &reduce, &raw->reduce[i], error));
    }
    return RONDE_OK;
}

/* ns per hop or message. */
static double slope(const struct raw *raw, uint32_t which)
{
    const struct setup setup = long_run(which);
    return fmax((raw->many[which].median - raw->few[which].median) /
                    (setup.length - short_length(&setup)),
                0.0);
}

static double worst_of(double a, double b)
{
    return a > b ? a : b;
}

/* Latency, launch and step costs. */
static void fit_small(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    const double hop_ns = slope(raw, HOP);
    fit->time.step_ns = slope(raw, MESSAGE);
    fit->shared.core_step_ns = slope(raw, NEAR_MESSAGE) / 2.0;
    fit->latency_ns = fmax(hop_ns - fit->time.step_ns, 0.0);
    fit->time.launch_ns = fmax(raw->few[HOP].median - FEW_HOPS * hop_ns, 0.0);
    ronde_calibration_note(report, "launch_ns", "ns", fit->time.launch_ns,
                           ronde_stats_spread(&raw->few[HOP]),
                           "ping-pong between two ranks, at no hop");
    ronde_calibration_note(report, "latency_ns", "ns", fit->latency_ns,
                           ronde_stats_spread(&raw->many[HOP]),
                           "ping-pong, per hop, without the step");
    ronde_calibration_note(report, "step_ns", "ns", fit->time.step_ns,
                           ronde_stats_spread(&raw->many[MESSAGE]),
                           "16-byte messages in a row between two ranks, per message");
    ronde_calibration_note(report, "core_step_ns", "ns", fit->shared.core_step_ns,
                           ronde_stats_spread(&raw->many[NEAR_MESSAGE]),
                           raw->bench->is_device
                               ? "half of it: blocks of a GPU have a core each"
                               : "the same with both ranks on one core, per step");
}

/* ns per byte of the moving part of a stream of one size. */
static double cost_at(const struct raw *raw, const struct ronde_stats *runs, size_t i,
                      double steps_ns)
{
    const struct bench *bench = raw->bench;
    return fmax(runs[i].median / (double)bench->stream_bytes[i] -
                    steps_ns / (double)bench->slot_bytes,
                1e-6);
}

/*
 * Copies: at each size the mean of what two cores do together (a core then works on one block) and
 * what every core does by itself at the same time (on two). The constant is the median of the curve.
 */
static void fit_copy(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    double costs[STREAMS], spread = 0.0;
    for (size_t i = 0; i < STREAMS; i++) {
        const double across = cost_at(raw, raw->across, i, fit->time.step_ns);
        const double within = cost_at(raw, raw->all_cores, i, 2.0 * fit->shared.core_step_ns) / 2.0;
        costs[i] = sqrt(across * within);
        spread = worst_of(spread, ronde_stats_spread(&raw->across[i]));
        spread = worst_of(spread, ronde_stats_spread(&raw->all_cores[i]));
        fit->copy_curve.bytes[i] = (double)raw->bench->stream_bytes[i] * sqrt(2.0);
        fit->copy_curve.GBps[i] = 1.0 / costs[i];
    }
    fit->copy_curve.count = STREAMS;
    fit->time.copy_GBps = 1.0 / ronde_stats_of(costs, STREAMS).median;
    ronde_calibration_note(
        report, "copy_GBps", "GB/s", fit->time.copy_GBps, spread,
        "one-way streams, 64 KiB to 64 MiB (the file has all): two cores, and every core at once");
}

/* Reductions beyond the copy, every core at once, each on two and a half blocks in the mean. */
static void fit_gamma(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    double costs[STREAMS], spread = 0.0;
    for (size_t i = 0; i < STREAMS; i++) {
        costs[i] = fmax((raw->reduce[i].median - raw->all_cores[i].median) /
                            (double)raw->bench->stream_bytes[i],
                        1e-6);
        spread = worst_of(spread, ronde_stats_spread(&raw->reduce[i]));
        fit->gamma_curve.bytes[i] = 2.5 * (double)raw->bench->stream_bytes[i];
        fit->gamma_curve.GBps[i] = 1.0 / costs[i];
    }
    fit->gamma_curve.count = STREAMS;
    fit->time.gamma_GBps = 1.0 / ronde_stats_of(costs, STREAMS).median;
    ronde_calibration_note(report, "gamma_GBps", "GB/s", fit->time.gamma_GBps, spread,
                           "the same into a sum, every core at once, beyond the copy");
}

/*
 * Memory: what all cores together move at the size that suits them best. What lies beyond the
 * caches is in the curves already, which were measured with every core at work.
 */
static void fit_memory(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    double least = INFINITY, spread = 0.0;
    for (size_t i = 0; i < STREAMS; i++) {
        least = fmin(least, cost_at(raw, raw->all_cores, i, 2.0 * fit->shared.core_step_ns));
        spread = worst_of(spread, ronde_stats_spread(&raw->all_cores[i]));
    }
    fit->shared.cores = raw->bench->cores;
    /* Send and receive each read and write a byte. */
    fit->shared.memory_GBps = 4.0 * fit->shared.cores / least;
    ronde_calibration_note(report, "memory_GBps", "GB/s", fit->shared.memory_GBps, spread,
                           "the best of them on every core at once, bytes read and written");
    ronde_calibration_note(report, "cores", "", fit->shared.cores, 0.0, "usable by this process");
    ronde_calibration_note(report, "slot_bytes", "B", (double)fit->slot_bytes, 0.0,
                           "what the streams were cut into");
}

/* Where data lies: of processors only, and only where there are two for data to cross between. */
static bool has_caches(const struct bench *bench)
{
    return !bench->is_device && bench->cores >= 2;
}

static enum ronde_status measure_caches(struct raw *raw, struct ronde_calibration_report *report,
                                        struct ronde_error *error)
{
    if (!has_caches(raw->bench))
        return RONDE_OK;
    const enum ronde_status status = measure_slopes(raw, PAIR, SLOPE_COUNT, error);
    say(raw, "caches");
    return status == RONDE_OK ? ronde_caches_measure(ronde_mem_default(), raw->bench->distance,
                                                     &report->calibration.caches, error)
                              : status;
}

/*
 * Polling a lane that cannot go on: how much longer a hop within a core takes beside ranks that wait, each of which is
 * polled once while both sides have a step. What is left of a hop alone is no measure of it: a step of a message that goes
 * to and fro takes less than one of many messages in a row, which core_step_ns is.
 */
static double find_poll_ns(const struct raw *raw)
{
    return fmax(slope(raw, WAITING) - slope(raw, NEAR_HOP), 0.0) / (WAITING_RANKS / 2.0);
}

/* Writing what crosses: what makes a replayed hop of each length take as long as it took. */
static void fit_crossing(const struct raw *raw, struct ronde_cache_facts *caches)
{
    struct ronde_curve *curve = &caches->cross_write;
    for (uint32_t k = 0; k < MESSAGES; k++) {
        const double bytes = (double)((uint64_t)SHORTEST_BYTES << k);
        curve->bytes[k] = bytes;
        curve->GBps[k] =
            ronde_curve_GBps(&caches->remote_write, RONDE_CROSSING_SLOTS * bytes, INFINITY);
        if (k >= HOPPING)
            continue;
        const double beyond_ns = slope(raw, LONG_HOP + k) - slope(raw, HOP);
        curve->GBps[k] = bytes / ronde_crossing_write_ns(caches, bytes, beyond_ns);
    }
    curve->count = MESSAGES;
}

static void fit_caches(const struct raw *raw, struct ronde_calibration_report *report)
{
    struct ronde_calibration *fit = &report->calibration;
    struct ronde_cache_facts *caches = &fit->caches;
    if (caches->read.count == 0)
        return;
    caches->line_ns = raw->bench->line_ns;
    fit_crossing(raw, caches);
    caches->poll_ns = find_poll_ns(raw);
    const double pair_ns = raw->few[PAIR].median - FEW_HOPS * slope(raw, PAIR);
    const double two_pairs_ns = raw->few[TWO_PAIRS].median - FEW_HOPS * slope(raw, TWO_PAIRS);
    caches->start_ns = fmax((two_pairs_ns - pair_ns) / 2.0, 0.0);
    caches->wake_ns =
        fmax(raw->few[WAKING].median - FEW_HOPS * slope(raw, WAKING) - caches->start_ns, 0.0);
    const uint32_t last = caches->cross_copy.count - 1;
    ronde_calibration_note(report, "line_ns", "ns", caches->line_ns, 0.0,
                           "a cache line from a processor to the next, the same in all of this");
    ronde_calibration_note(report, "poll_ns", "ns", caches->poll_ns,
                           ronde_stats_spread(&raw->many[WAITING]),
                           "ping-pong on one core beside 8 waiting ranks and alone, per rank");
    ronde_calibration_note(report, "start_ns", "ns", caches->start_ns,
                           ronde_stats_spread(&raw->few[TWO_PAIRS]),
                           "two pairs a core and one, at no hop, per rank");
    ronde_calibration_note(report, "wake_ns", "ns", caches->wake_ns,
                           ronde_stats_spread(&raw->few[WAKING]),
                           "two ranks that both begin at once, at no hop, without start_ns");
    ronde_calibration_note(report, "combine_GBps", "GB/s", caches->combine_GBps, 0.0,
                           "sums in the nearest cache, all cores");
    ronde_calibration_note(report, "cross_copy", "GB/s", caches->cross_copy.GBps[last], 0.0,
                           "reading what another core wrote, 256 KiB (the file has all sizes)");
    ronde_calibration_note(report, "cross_write", "GB/s", caches->cross_write.GBps[last], 0.0,
                           "writing what another core has read, 256 KiB");
}

void ronde_calibration_note(struct ronde_calibration_report *report, const char *name,
                            const char *unit, double value, double spread, const char *how)
{
    report->constants[report->constant_count++] =
        (struct ronde_constant){name, unit, value, spread, how};
}

void ronde_calibration_describe(struct ronde_calibration_report *report, const char *engine,
                                const char *what)
{
    struct ronde_calibration *fit = &report->calibration;
    const time_t now = time(NULL);
    struct tm date;
    ronde_machine_line(engine, ronde_usable_cores(), report->machine, sizeof report->machine);
    snprintf(report->measured_by, sizeof report->measured_by, "ronde calibrate %s, %s",
             RONDE_VERSION, what);
    if (!gmtime_r(&now, &date) ||
        !strftime(report->measured_on, sizeof report->measured_on, "%Y-%m-%d", &date))
        snprintf(report->measured_on, sizeof report->measured_on, "unknown");
    fit->machine = report->machine;
    fit->measured_by = report->measured_by;
    fit->measured_on = report->measured_on;
    for (uint32_t i = 0; i < report->constant_count; i++)
        fit->worst_spread = worst_of(fit->worst_spread, report->constants[i].spread);
}

/* What the backend is like; the slot in use is the options' or its own. */
static enum ronde_status open_bench(const struct ronde_calibrate_options *options,
                                    struct bench *out_bench, struct ronde_error *error)
{
    struct ronde_target target = {0};
    RONDE_TRY(ronde_target_open_modelled(options->backend, &target, error));
    out_bench->is_device = target.machine.devices > 0;
    out_bench->cores = out_bench->is_device ? target.machine.cores : ronde_usable_cores();
    out_bench->slot_bytes = options->benchmark.slot_bytes ? options->benchmark.slot_bytes
                                                          : target.machine.default_slot_bytes;
    out_bench->stream_bytes = out_bench->is_device ? sizes_of_block : sizes_of_core;
    ronde_target_close(&target);
    return RONDE_OK;
}

/* All is measured at the distance that processors have at most times; where they have none, so be it. */
static enum ronde_status watch_processors(struct bench *bench, struct ronde_error *error)
{
    struct ronde_error none = {0};
    if (bench->is_device)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_distance_open(ronde_mem_default(), &bench->distance, &none);
    if (status == RONDE_UNAVAILABLE)
        return RONDE_OK;
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s", none.message);
    bench->line_ns = ronde_distance_usual_ns(bench->distance);
    ronde_distance_keep(bench->distance, bench->line_ns, PATIENCE_NS);
    return RONDE_OK;
}

/* Everything, in turns. */
static enum ronde_status measure_all(struct raw *raw, struct ronde_calibration_report *report,
                                     struct ronde_error *error)
{
    raw->probes =
        3 * (uint32_t)STREAMS + (has_caches(raw->bench) ? 2 * SLOPE_COUNT + CACHES : 2 * PAIR);
    enum ronde_status status = measure_slopes(raw, HOP, PAIR, error);
    RONDE_THEN(status, measure_streams(raw, error));
    RONDE_THEN(status, measure_caches(raw, report, error));
    ronde_reporter_end(&raw->bench->options->reporter);
    return status;
}

enum ronde_status ronde_calibrate(const struct ronde_calibrate_options *options, uint32_t max_ranks,
                                  struct ronde_calibration_report *out_report,
                                  struct ronde_error *error)
{
    struct bench bench = {.options = options, .how = options->benchmark};
    struct raw raw = {.bench = &bench};
    struct ronde_calibration_report report = {.calibration = {.max_ranks = max_ranks}};
    enum ronde_status status = open_bench(options, &bench, error);
    bench.how.slot_bytes = bench.slot_bytes;
    bench.how.dtype = RONDE_FLOAT32;
    bench.how.op = RONDE_SUM;
    RONDE_THEN(status, watch_processors(&bench, error));
    RONDE_THEN(status, measure_all(&raw, &report, error));
    report.moved = ronde_distance_missed(bench.distance);
    ronde_distance_close(bench.distance);
    if (status != RONDE_OK)
        return status;
    *out_report = report;
    out_report->calibration.slot_bytes = bench.slot_bytes;
    fit_small(&raw, out_report);
    fit_copy(&raw, out_report);
    fit_gamma(&raw, out_report);
    fit_memory(&raw, out_report);
    fit_caches(&raw, out_report);
    char backend[48];
    snprintf(backend, sizeof backend, "backend %s", options->backend);
    ronde_calibration_describe(out_report, options->backend, backend);
    return RONDE_OK;
}
