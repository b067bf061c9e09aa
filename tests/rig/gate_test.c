/*
 * Predictions against measurements on two virtual clusters, made by tests/rig/up and taken down again:
 *
 *   A  kernel rig, 4 hosts of 200 Mbit/s, 256 KiB to 4 MiB: bandwidth and ranking
 *   B  switch with a delay of 500 us, 1 KiB to 1 MiB: latency and crossover
 *
 * Constants come from point-to-point messages on the same rig, minutes before. A busy machine fails no gate:
 * repetitions that others disturbed are thrown away, points that scatter too much are left out, and where too few
 * remain, or too much was thrown away, the gate is skipped with the numbers. A gate that misses is measured again, twice
 * at most.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/record.h"
#include "support/suite.h"

#include "ronde/comm.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_POINTS 64u
#define ALGORITHMS 3u

/* Where others disturbed a greater share of the repetitions, they disturbed the rest unseen. */
#define MOST_DISTURBED 0.1

/* What a gate requires. */
struct gate {
    const char *name;
    const char *rig;     /* arguments of tests/rig/up behind hosts, rate and name */
    const char *sizes;   /* options of ronde validate */
    double most_scatter; /* (median - min) / min of a point that counts */
    double most_median;  /* of the errors */
    double most_worst;
    double most_cost; /* of taking the predicted winner */
};

/* A point: an algorithm at a size. */
struct point {
    char algorithm[32];
    double bytes;
    double measured_ns;
    double min_ns;
    double predicted_ns;
};

struct points {
    struct point list[MAX_POINTS];
    uint32_t count;
};

/* Runs a command of the shell; its output and exit status. */
static int shell(char **said, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int shell(char **said, const char *format, ...)
{
    char command[2048];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof command)
        return -1;
    return files_command(command, said);
}

static bool is_value(const char *record, const char *key, const char *value)
{
    const char *at = record_value(record, key);
    return at && strncmp(at, value, strlen(value)) == 0 && strchr("\",", at[strlen(value)]);
}

static double number_of(const char *record, const char *key)
{
    const char *at = record_value(record, key);
    return at ? strtod(at, NULL) : 0.0;
}

/* The measurement comes before its predictions: they belong to the last point. */
static void note_record(struct points *points, const char *record)
{
    if (is_value(record, "kind", "measured") && points->count < MAX_POINTS) {
        struct point *point = &points->list[points->count++];
        const char *name = record_value(record, "algorithm");
        *point = (struct point){.bytes = number_of(record, "bytes"),
                                .measured_ns = number_of(record, "time_ns"),
                                .min_ns = number_of(record, "min_ns")};
        for (size_t i = 0; name && name[i] != '"' && i < sizeof point->algorithm - 1; i++)
            point->algorithm[i] = name[i];
    } else if (is_value(record, "engine", "ports") && points->count > 0) {
        points->list[points->count - 1].predicted_ns = number_of(record, "time_ns");
    }
}

static void read_points(const char *path, struct points *points)
{
    char line[2048];
    FILE *file = fopen(path, "r");
    points->count = 0;
    while (file && fgets(line, sizeof line, file))
        note_record(points, line);
    if (file)
        fclose(file);
}

static double error_of(const struct point *point)
{
    return fabs(point->predicted_ns / point->measured_ns - 1.0);
}

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Points that scatter no more than the gate allows; moved to the front. */
static uint32_t keep_quiet_ones(const struct gate *gate, struct points *points)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        const struct point point = points->list[i];
        if (point.measured_ns > 0.0 && point.measured_ns <= point.min_ns * (1.0 + gate->most_scatter))
            points->list[kept++] = point;
    }
    return kept;
}

/* By how much the algorithm that is predicted to win is slower than the one that does, at the size of a point. */
static double cost_at(const struct points *points, uint32_t count, double bytes)
{
    const struct point *predicted = NULL, *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct point *point = &points->list[i];
        if (point->bytes != bytes)
            continue;
        if (!predicted || point->predicted_ns < predicted->predicted_ns)
            predicted = point;
        if (!best || point->measured_ns < best->measured_ns)
            best = point;
    }
    return predicted ? predicted->measured_ns / best->measured_ns - 1.0 : 0.0;
}

/* What came out. */
struct verdict {
    uint32_t kept; /* points that are quiet enough, */
    uint32_t total;
    double median; /* and their errors */
    double worst;
    double cost;
    double disturbed; /* share of the repetitions */
};

/* The line of validate that counts repetitions: "# 174 repetitions, and 5 that others disturbed". */
static double disturbed_share(const char *said)
{
    const char *at = strstr(said, " repetitions, and ");
    while (at && at > said && at[-1] != ' ')
        at--;
    unsigned kept = 0, disturbed = 0;
    CU_ASSERT(at && sscanf(at, "%u repetitions, and %u that", &kept, &disturbed) == 2);
    return kept + disturbed > 0 ? (double)disturbed / (kept + disturbed) : 1.0;
}

static bool is_quiet_enough(const struct verdict *verdict)
{
    return 3 * verdict->kept >= 2 * verdict->total && verdict->disturbed <= MOST_DISTURBED;
}

static struct verdict judge(const struct gate *gate, struct points *points)
{
    double errors[MAX_POINTS];
    struct verdict verdict = {.total = points->count, .kept = keep_quiet_ones(gate, points)};
    for (uint32_t i = 0; i < verdict.kept; i++) {
        const struct point *point = &points->list[i];
        errors[i] = error_of(point);
        verdict.cost = fmax(verdict.cost, cost_at(points, verdict.kept, point->bytes));
        if (errors[i] > gate->most_worst)
            suite_note("%s at %.0f bytes: measured %.1f us, predicted %.1f us", point->algorithm,
                       point->bytes, point->measured_ns / 1e3, point->predicted_ns / 1e3);
    }
    qsort(errors, verdict.kept, sizeof *errors, compare_doubles);
    verdict.median = verdict.kept ? errors[verdict.kept / 2] : 0.0;
    verdict.worst = verdict.kept ? errors[verdict.kept - 1] : 0.0;
    suite_note("%s: %u of %u points quiet enough; median error %.1f%%, worst %.1f%%, cost of the "
               "predicted winner %.1f%%",
               gate->name, verdict.kept, verdict.total, 100.0 * verdict.median,
               100.0 * verdict.worst, 100.0 * verdict.cost);
    return verdict;
}

static bool is_met(const struct gate *gate, const struct verdict *verdict)
{
    return verdict->median <= gate->most_median && verdict->worst <= gate->most_worst &&
           verdict->cost <= gate->most_cost;
}

/* Calibrates and measures on a rig that is up; false after a skip or a failure of the program. */
static bool measure(const struct gate *gate, const char *rig, struct verdict *out_verdict)
{
    char records[300];
    char *said = NULL;
    struct points points;
    snprintf(records, sizeof records, "%s/%s.jsonl", RONDE_SCRATCH_DIR, rig);
    int code = shell(&said, "%s calibrate --backend ucx --rig %s -N 4 -o %s.xml 2>&1",
                     suite_ronde(), rig, records);
    /* A machine too busy to calibrate is a skip. */
    if (code == 1) {
        suite_skip("%s: %.200s", gate->name, said);
    } else if (code == 0) {
        free(said);
        code = shell(&said,
                     "%s validate all_reduce -a ring,rabenseifner,recursive_doubling -N 4 -f 4 %s "
                     "--rig %s --topo %s.xml --records %s 2>&1",
                     suite_ronde(), gate->sizes, rig, records, records);
        CU_ASSERT_EQUAL(code, 0);
        suite_note("%s", said ? said : "");
        read_points(records, &points);
        *out_verdict = judge(gate, &points);
        out_verdict->disturbed = disturbed_share(said ? said : "");
    } else {
        CU_FAIL("the rig cannot be calibrated");
        suite_note("exit %d: %s", code, said ? said : "");
    }
    free(said);
    return code == 0;
}

/* Not all that disturbs a machine shows in its counters: what misses three times has missed. */
static void run_gate(const struct gate *gate, const char *rig)
{
    struct verdict verdict;
    bool is_enough = true;
    for (uint32_t attempt = 0; attempt < 3; attempt++) {
        if (!measure(gate, rig, &verdict))
            return;
        CU_ASSERT(verdict.total >= 3 * ALGORITHMS);
        is_enough = is_quiet_enough(&verdict);
        if (is_enough && is_met(gate, &verdict))
            return;
    }
    if (!is_enough) {
        suite_skip(
            "%s: only %u of %u points were quiet enough on this machine, and others disturbed "
            "%.0f%% of the repetitions",
            gate->name, verdict.kept, verdict.total, 100.0 * verdict.disturbed);
        return;
    }
    CU_ASSERT(is_met(gate, &verdict));
}

/* Whether anything can be measured here; else the case has been skipped. */
static bool is_possible(void)
{
    const char *reason = NULL;
    if (strlen(RONDE_SANITIZE) > 0)
        suite_skip("a build with sanitizers is measured for errors, not for time");
    else if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason))
        suite_skip("%s", reason);
    else if (!RONDE_ALL_COMPONENTS)
        suite_skip("a component is missing that reads platforms, replays them or prints records");
    else
        return true;
    return false;
}

static void pass(const struct gate *gate)
{
    char rig[40];
    char *said = NULL;
    if (!is_possible())
        return;
    snprintf(rig, sizeof rig, "gate%d", (int)getpid());
    if (shell(&said, "%s/tests/rig/up 4 200mbit %s %s 2>&1", RONDE_SOURCE_DIR, rig, gate->rig) == 0)
        run_gate(gate, rig);
    else
        suite_skip("no virtual cluster here: %.200s", said ? said : "");
    free(said);
    said = NULL;
    CU_ASSERT_EQUAL(shell(&said, "%s/tests/rig/down %s 2>&1", RONDE_SOURCE_DIR, rig), 0);
    free(said);
    /* Nothing is left behind. */
    said = NULL;
    (void)shell(&said, "ip netns list 2>/dev/null | grep -c 'ronde-%s-'", rig);
    CU_ASSERT(!said || strtol(said, NULL, 10) == 0);
    free(said);
}

static void gate_a_bandwidth_and_ranking(void)
{
    static const struct gate gate = {
        "gate A", "9000 18000", "-b 256K -e 4M", 0.05, 0.03, 0.08, 0.05,
    };
    pass(&gate);
}

static void gate_b_latency_and_crossover(void)
{
    static const struct gate gate = {
        "gate B", "9000 500us " RONDE_TAPSWITCH, "-b 1K -e 1M", 0.25, 0.08, 0.20, 0.05,
    };
    pass(&gate);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"gate_a_bandwidth_and_ranking", gate_a_bandwidth_and_ranking},
        {"gate_b_latency_and_crossover", gate_b_latency_and_crossover},
    };
    return suite_run("gate", cases, sizeof cases / sizeof cases[0]);
}
