/* A machine from a table of what others have measured. See ronde/calibrate_table.h. */
#include "lab/calibrate/probes.h"
#include "lab/measure/collective_rows.h"

#include "ronde/calibrate.h"
#include "ronde/output_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Priors are shares, so that a machine twice as slow is predicted twice as slow. Of the shortest message a fifth is on its
 * way (0.5 us by Tofu-D, of 2.5 by MPI: Ajima et al., CLUSTER 2018); the rest is what sender and receiver spend. Of that
 * way, in a network of Tofu's kind, a fifth is a hop (0.1 us there).
 */
#define LATENCY_SHARE 0.2
#define HOP_SHARE 0.2
/* Inside a node, a message of no bytes takes so much of one between nodes; and bytes are copied by a processor, as sums are. */
#define INSIDE_SHARE 0.2
/* Consecutive nodes that share a switch where nobody says how they were allocated: leaves have 10 to 32 hosts. */
#define GROUP_HOSTS 16u
/* Messages up to here show the way, not the sum; sums are seen from here on. */
#define SHORT_BYTES 2048.0
#define SUMMED_BYTES 4096.0
/* A sum that takes no time that can be seen is so many times as fast as a message. */
#define UNSEEN 100.0
/* The longest messages may be under way at the rate of the last two sizes, were it not more than twice that of the last. */
#define MOST_SLOPE 2.0

/*
 * Exchanges of so many bytes and more that take longer by this share than fewer bytes do in proportion go through memory that the
 * library allocates in every call: below, allocators keep what was freed (glibc up to 32 MiB). Where the fewer bytes may have
 * been in caches, which hold so much at most, half of it is taken for sums that are not.
 */
#define FRESH_BYTES 16777216.0
#define FRESH_SHARE 0.15
#define CACHE_BYTES 134217728.0
/* Buffers of an exchange: input, output and what is received. */
#define EXCHANGE_BUFFERS 3.0

/* A size and what it takes: a message, or an exchange with its sum. */
struct point {
    double bytes;
    double ns;
};

struct points {
    struct point *points;
    uint32_t count;
};

/* What is fitted. */
struct fit {
    const struct ronde_calibrate_table *table;
    struct message_rows rows;
    struct points messages;
    struct points exchanges;
    double rate_GBps;
    double latency_ns;
    bool has_groups;
    struct ronde_calibration_report *report;
};

static int by_bytes(const void *a, const void *b)
{
    const struct point *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? -1 : 1;
    return (left->ns > right->ns) - (left->ns < right->ns);
}

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts by size and keeps the median of each. */
static void sort_points(struct points *list)
{
    uint32_t kept = 0;
    qsort(list->points, list->count, sizeof *list->points, by_bytes);
    for (uint32_t first = 0, end; first < list->count; first = end) {
        for (end = first + 1;
             end < list->count && list->points[end].bytes == list->points[first].bytes; end++) {
        }
        list->points[kept++] = list->points[first + (end - first - 1) / 2];
    }
    list->count = kept;
}

/* A message's time between the sizes that were measured; beyond them at the rate of the longest. */
static double message_ns(const struct fit *fit, double bytes)
{
    const struct point *at = fit->messages.points, *last = at + fit->messages.count - 1;
    if (bytes <= at->bytes)
        return at->ns;
    if (bytes >= last->bytes)
        return last->ns + (bytes - last->bytes) / fit->rate_GBps;
    while (at[1].bytes < bytes)
        at++;
    return at->ns + (at[1].ns - at->ns) * (bytes - at->bytes) / (at[1].bytes - at->bytes);
}

/* The spread that the rows of a kind have in the median, by what the table says of each. */
static double spread_of(const struct fit *fit, enum message_row_kind kind)
{
    double *spreads = malloc((fit->rows.count + 1) * sizeof *spreads);
    uint32_t count = 0;
    for (uint32_t i = 0; spreads && i < fit->rows.count; i++)
        if (fit->rows.rows[i].kind == kind)
            spreads[count++] = fit->rows.rows[i].spread;
    if (count > 0)
        qsort(spreads, count, sizeof *spreads, by_value);
    const double median = count > 0 ? spreads[count / 2] : 0;
    free(spreads);
    return median;
}

static enum ronde_status collect_messages(struct fit *fit, struct ronde_error *error)
{
    for (uint32_t i = 0; i < fit->rows.count; i++) {
        const struct message_row *row = &fit->rows.rows[i];
        if (row->kind == MESSAGE_HOPS)
            fit->messages.points[fit->messages.count++] =
                (struct point){row->bytes, row->ns / row->hops};
    }
    sort_points(&fit->messages);
    return fit->messages.count >= 2
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_INPUT,
                            "%s: %u sizes of single messages, at least 2 are needed: rows of "
                            "all_gather by ring or send_recv",
                            fit->table->path, fit->messages.count);
}

/* What links carry: the most that a message came to, or what the longest two differ by, which leaves out what comes first. */
static void fit_rate(struct fit *fit)
{
    const struct points *messages = &fit->messages;
    const struct point *last = &messages->points[messages->count - 1];
    double most = 0;
    for (uint32_t i = 0; i < messages->count; i++)
        most = fmax(most, messages->points[i].bytes / messages->points[i].ns);
    const double slope = (last->bytes - last[-1].bytes) / (last->ns - last[-1].ns);
    fit->rate_GBps = slope > most ? fmin(slope, MOST_SLOPE * most) : most;
    fit->latency_ns = LATENCY_SHARE * messages->points[0].ns;
}

/* The place of the i-th of `count` among `total`, the first and the last included. */
static uint32_t spread_out(uint32_t i, uint32_t count, uint32_t total)
{
    return count > 1 ? (uint32_t)((uint64_t)i * (total - 1) / (count - 1)) : 0;
}

static void fit_ends(struct fit *fit)
{
    struct ronde_time_params *time = &fit->report->calibration.time;
    const uint32_t total = fit->messages.count;
    const uint32_t count = total < RONDE_MAX_SIZED ? total : RONDE_MAX_SIZED;
    for (uint32_t i = 0; i < count; i++) {
        const struct point *at = &fit->messages.points[spread_out(i, count, total)];
        const double flow_ns = at->bytes / fit->rate_GBps;
        time->send.bytes[i] = at->bytes;
        time->send.ns[i] = fmax(at->ns - flow_ns - fit->latency_ns, 0) / 2;
    }
    time->send.count = count;
    time->receive = time->send;
}

/* What an exchange takes, of which those that only bring the result are messages. */
static void collect_exchanges(struct fit *fit)
{
    for (uint32_t i = 0; i < fit->rows.count; i++) {
        const struct message_row *row = &fit->rows.rows[i];
        if (row->kind == MESSAGE_EXCHANGES)
            fit->exchanges.points[fit->exchanges.count++] =
                (struct point){row->bytes, (row->ns - row->copies * message_ns(fit, row->bytes)) /
                                               (row->hops - row->copies)};
    }
    sort_points(&fit->exchanges);
}

/* Rounds of exchanges in a row, of those on the most ranks. */
static double most_rounds(const struct fit *fit)
{
    double most = 0;
    for (uint32_t i = 0; i < fit->rows.count; i++)
        if (fit->rows.rows[i].kind == MESSAGE_EXCHANGES)
            most = fmax(most, fit->rows.rows[i].hops - fit->rows.rows[i].copies);
    return most;
}

/*
 * Whether partial sums that have no room in the output are made without a copy of the input: calls that would have to allocate one
 * take no longer than shorter ones do in proportion. Tables without such rows do not say; most libraries copy.
 */
static bool sums_in_place(const struct fit *fit, double shorter_bytes, double longer_bytes)
{
    const struct message_row *shorter = NULL, *longer = NULL;
    for (uint32_t i = 0; i < fit->rows.count; i++) {
        const struct message_row *row = &fit->rows.rows[i];
        if (row->kind != MESSAGE_PARTIALS)
            continue;
        if (row->bytes <= shorter_bytes && (!shorter || row->bytes > shorter->bytes))
            shorter = row;
        if (row->bytes >= longer_bytes && (!longer || row->bytes > longer->bytes))
            longer = row;
    }
    return shorter && longer &&
           longer->ns * (1 - FRESH_SHARE) < shorter->ns * longer->bytes / shorter->bytes;
}

/* How much longer exchanges are than shorter ones in proportion. */
static double beyond_ns(const struct point *base, const struct point *at)
{
    return at->ns - base->ns * at->bytes / base->bytes;
}

/* Memory that is allocated in every call costs a call and no round; it is left out of the exchanges. */
static void fit_fresh(struct fit *fit)
{
    struct point *points = fit->exchanges.points;
    struct ronde_sized_ns *fresh = &fit->report->calibration.time.fresh;
    const double rounds = most_rounds(fit);
    uint32_t at = 1;
    while (at < fit->exchanges.count &&
           (points[at].bytes < FRESH_BYTES ||
            beyond_ns(&points[at - 1], &points[at]) < FRESH_SHARE * points[at].ns))
        at++;
    if (at >= fit->exchanges.count)
        return;
    const struct point base = points[at - 1];
    const double share = EXCHANGE_BUFFERS * base.bytes > CACHE_BYTES ? 1 : 0.5;
    fit->report->calibration.time.sums_in_place = sums_in_place(fit, base.bytes, points[at].bytes);
    fresh->bytes[fresh->count++] = fmax(base.bytes, points[at].bytes / 2);
    for (; at < fit->exchanges.count && fresh->count < RONDE_MAX_SIZED; at++) {
        const double ns = fmax(share * beyond_ns(&base, &points[at]), 0);
        fresh->bytes[fresh->count] = points[at].bytes;
        fresh->ns[fresh->count++] = rounds * ns;
        points[at].ns -= ns;
    }
    const double ns = fresh->ns[fresh->count - 1];
    if (ns > 0)
        ronde_calibration_note(
            fit->report, "fresh_GBps", "GB/s", fresh->bytes[fresh->count - 1] / ns,
            spread_of(fit, MESSAGE_EXCHANGES),
            share < 1 ? "half of what long exchanges take beyond shorter ones in proportion, which "
                        "is a guess: memory allocated in every call"
                      : "what long exchanges take beyond shorter ones in proportion: memory "
                        "allocated in every call");
}

/* How much longer short exchanges are on their way than short messages of a ring, whose hosts are neighbours; sums add to it. */
static double far_ns(const struct fit *fit)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < fit->exchanges.count; i++) {
        const struct point *at = &fit->exchanges.points[i];
        if (at->bytes <= SHORT_BYTES)
            least = fmin(least, at->ns - message_ns(fit, at->bytes));
    }
    return isfinite(least) && least > 0 ? least : 0;
}

static uint32_t most_exchanging(const struct fit *fit)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < fit->rows.count; i++)
        if (fit->rows.rows[i].kind == MESSAGE_EXCHANGES && fit->rows.rows[i].ranks > most)
            most = fit->rows.rows[i].ranks;
    return most;
}

static void group_consecutive(struct ronde_calibrated_network *network, uint32_t ranks)
{
    uint32_t hosts = GROUP_HOSTS * network->node_hosts;
    while ((ranks + hosts - 1) / hosts > RONDE_MOST_GROUPS)
        hosts *= 2;
    for (uint32_t first = 0; first < ranks; first += hosts)
        network->group_hosts[network->group_count++] = ranks - first < hosts ? ranks - first : hosts;
}

/* Where hosts are: in the shape of the job, in the groups of the allocation, or in groups of consecutive ranks. */
static enum ronde_status fit_network(struct fit *fit, struct ronde_error *error)
{
    const struct ronde_calibrate_table *table = fit->table;
    struct ronde_calibrated_network *network = &fit->report->calibration.network;
    bool is_known = false;
    network->node_hosts = table->node_ranks > 0 ? table->node_ranks : 1;
    network->axis_count = table->axis_count;
    memcpy(network->shape, table->shape, sizeof network->shape);
    if (table->axis_count > 0)
        return RONDE_OK;
    if (table->alloc_path) {
        RONDE_TRY(message_groups_read(table, network, &is_known, error));
    }
    if (!is_known && most_exchanging(fit) > GROUP_HOSTS * network->node_hosts)
        group_consecutive(network, table->ranks);
    network->far_ns = network->group_count > 1 ? far_ns(fit) : 0;
    fit->has_groups = network->far_ns > 0;
    if (!fit->has_groups)
        network->group_count = 0;
    else
        ronde_calibration_note(
            fit->report, "far_ns", "ns", network->far_ns, spread_of(fit, MESSAGE_EXCHANGES),
            is_known ? "short exchanges, beyond a message: between groups of the allocation"
                     : "short exchanges, beyond a message: between each 16 consecutive ranks, "
                       "which is a guess");
    return RONDE_OK;
}

/* Sums by the bytes that a rank works on, its input and output: caches are faster than what lies behind them. */
static void fit_sums(struct fit *fit)
{
    struct ronde_calibration *to = &fit->report->calibration;
    const double unseen_GBps = UNSEEN * fit->rate_GBps;
    const double way_ns = fit->has_groups ? to->network.far_ns : 0;
    uint32_t first = 0;
    while (first < fit->exchanges.count && fit->exchanges.points[first].bytes < SUMMED_BYTES)
        first++;
    const uint32_t total = fit->exchanges.count - first;
    const uint32_t count = total < RONDE_MAX_CURVE ? total : RONDE_MAX_CURVE;
    for (uint32_t i = 0; i < count; i++) {
        const struct point *at = &fit->exchanges.points[first + spread_out(i, count, total)];
        const double sum_ns = at->ns - message_ns(fit, at->bytes) - way_ns;
        to->gamma_curve.bytes[i] = 2 * at->bytes;
        to->gamma_curve.GBps[i] = sum_ns > 0 ? fmin(at->bytes / sum_ns, unseen_GBps) : unseen_GBps;
    }
    to->gamma_curve.count = count;
    if (count == 0)
        return;
    to->time.gamma_GBps = to->gamma_curve.GBps[0];
    ronde_calibration_note(
        fit->report, "gamma_GBps", "GB/s", to->gamma_curve.GBps[count - 1],
        spread_of(fit, MESSAGE_EXCHANGES),
        "long exchanges, beyond a message, of the longest; the file has all sizes");
}

/*
 * Ranks of a node. What their messages do not need is moved from their ends to the way between nodes, so that a message there takes
 * as long as before.
 */
static void fit_inside(struct fit *fit)
{
    struct ronde_calibration *to = &fit->report->calibration;
    struct ronde_calibrated_network *network = &to->network;
    const double saved_ns = (1 - INSIDE_SHARE) * to->time.send.ns[0];
    const double least_GBps = fit->rate_GBps / network->node_hosts;
    const uint32_t sums = to->gamma_curve.count;
    if (network->node_hosts < 2)
        return;
    for (uint32_t i = 0; i < to->time.send.count; i++)
        to->time.send.ns[i] = fmax(to->time.send.ns[i] - saved_ns, 0);
    to->time.receive = to->time.send;
    network->node_ns = INSIDE_SHARE * to->latency_ns;
    to->latency_ns += 2 * saved_ns;
    network->node_GBps = fit->rate_GBps;
    if (sums > 0)
        network->node_GBps = fmin(fmax(to->gamma_curve.GBps[sums - 1], least_GBps), fit->rate_GBps);
    ronde_calibration_note(
        fit->report, "node_GBps", "GB/s", network->node_GBps, spread_of(fit, MESSAGE_EXCHANGES),
        "inside a node: as long sums, no less than a rank's share of the node's port; a guess");
}

static void describe(struct fit *fit)
{
    struct ronde_calibration_report *report = fit->report;
    struct ronde_calibration *to = &report->calibration;
    const bool has_shape = fit->table->axis_count > 0;
    const char *name = strrchr(fit->table->path, '/');
    const double spread = spread_of(fit, MESSAGE_HOPS);
    to->time.lane_GBps = fit->rate_GBps;
    to->latency_ns = (has_shape ? HOP_SHARE : 1) * fit->latency_ns;
    to->time.alpha_ns = fit->latency_ns - to->latency_ns;
    to->channels = 1;
    to->slot_bytes = (uint64_t)1 << 40;
    to->max_ranks = fit->table->ranks;
    to->worst_spread = spread;
    ronde_calibration_note(fit->report, "latency_ns", "ns", fit->latency_ns, spread,
                           "a fifth of the shortest message, which is a guess");
    ronde_calibration_note(fit->report, "send_ns", "ns", to->time.send.ns[0], spread,
                           "half of the rest of the shortest message; the file has all sizes");
    ronde_calibration_note(fit->report, "receive_ns", "ns", to->time.receive.ns[0], spread,
                           "the other half");
    ronde_calibration_note(fit->report, "lane_GBps", "GB/s", fit->rate_GBps, spread,
                           "the longest message, or what the longest two differ by");
    snprintf(report->machine, sizeof report->machine, "the machine of %.120s",
             name ? name + 1 : fit->table->path);
    snprintf(report->measured_by, sizeof report->measured_by,
             "ronde calibrate %s --from-table, %u rows", RONDE_VERSION, fit->rows.count);
    snprintf(report->measured_on, sizeof report->measured_on, "as the table");
    to->machine = report->machine;
    to->measured_by = report->measured_by;
    to->measured_on = report->measured_on;
}

static enum ronde_status fit_all(struct fit *fit, struct ronde_error *error)
{
    RONDE_TRY(collect_messages(fit, error));
    fit_rate(fit);
    fit_ends(fit);
    describe(fit);
    collect_exchanges(fit);
    fit_fresh(fit);
    RONDE_TRY(fit_network(fit, error));
    fit_sums(fit);
    fit_inside(fit);
    return RONDE_OK;
}

static enum ronde_status check_shape(const struct ronde_calibrate_table *table,
                                     struct ronde_error *error)
{
    uint64_t hosts = 1;
    for (uint32_t axis = 0; axis < table->axis_count; axis++)
        hosts *= table->shape[axis];
    if (table->node_ranks > 1 && (table->axis_count > 0 || table->ranks % table->node_ranks != 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%u ranks a node: expected no shape, and a number that divides %u ranks",
                          table->node_ranks, table->ranks);
    return table->axis_count == 0 || hosts == table->ranks
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT, "the shape has %llu hosts for %u ranks",
                            (unsigned long long)hosts, table->ranks);
}

enum ronde_status ronde_calibrate_from_table(const struct ronde_calibrate_table *table,
                                             struct ronde_calibration_report *out_report,
                                             struct ronde_error *error)
{
    struct fit fit = {.table = table, .report = out_report};
    memset(out_report, 0, sizeof *out_report);
    enum ronde_status status = check_shape(table, error);
    RONDE_THEN(status, message_rows_read(table->path, &fit.rows, error));
    if (status == RONDE_OK) {
        fit.messages.points = malloc((fit.rows.count + 1) * sizeof *fit.messages.points);
        fit.exchanges.points = malloc((fit.rows.count + 1) * sizeof *fit.exchanges.points);
        status =
            fit.messages.points && fit.exchanges.points
                ? fit_all(&fit, error)
                : ronde_fail(error, RONDE_NO_MEMORY, "no memory to fit %u rows", fit.rows.count);
    }
    free(fit.messages.points);
    free(fit.exchanges.points);
    message_rows_free(&fit.rows);
    return status;
}

/* From a calibration to the platform file that later runs of the command read. */

enum ronde_status ronde_calibration_store(const struct ronde_calibration_report *report,
                                          const char *path, struct ronde_error *error)
{
    struct ronde_output_file output;
    RONDE_TRY(ronde_output_file_open(path, &output, error));
    const enum ronde_status status = ronde_platform_write(&report->calibration, output.file, error);
    const enum ronde_status closed = ronde_output_file_close(&output, status, error);
    return status == RONDE_OK ? closed : status;
}

uint32_t ronde_calibration_unsure(const struct ronde_calibration_report *report)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->constant_count; i++)
        count += report->constants[i].spread > RONDE_ABSURD_SPREAD;
    return count;
}

enum ronde_status ronde_calibration_check(const struct ronde_calibration_report *report,
                                          struct ronde_error *error)
{
    for (uint32_t i = 0; i < report->constant_count; i++)
        if (report->constants[i].spread > RONDE_ABSURD_SPREAD)
            return ronde_fail(error, RONDE_REJECTED,
                              "%s varies by %.0f%%, more than %.0f%%: not written; is this machine "
                              "busy?",
                              report->constants[i].name, 100.0 * report->constants[i].spread,
                              100.0 * RONDE_ABSURD_SPREAD);
    return RONDE_OK;
}
