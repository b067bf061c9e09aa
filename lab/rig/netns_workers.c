/* Processes in the hosts of a virtual cluster, and measurements with them. See rig.h. */
#include "rig.h"

#include "ronde/comm.h"
#include "ronde/hw.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ranks are told this long before a run begins, so that the last of them knows in time. */
#define LEAD_NS 1.5e6

/* The system counts processor time in hundredths of a second: shorter spans cannot be judged. */
#define JUDGED_NS 1.5e8

/* A rank. */
struct member {
    pid_t process;
    int orders;
};

struct ronde_netns_workers {
    struct member members[RONDE_NETNS_RANKS];
    uint32_t ranks;    /* started */
    pid_t helper;      /* the switch of the rig, or 0 */
    double own_ns;     /* processor time of the ranks, all runs */
    double wire_bytes; /* sent by them */
    uint32_t runs;
    double mtu_bytes;
};

/* Orders to all ranks, then the answers of all; the first bad one is the verdict. */
static enum ronde_status listen_to(struct ronde_netns_workers *workers,
                                   struct ronde_netns_reply *out_all, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t rank = 0; rank < workers->ranks; rank++) {
        struct ronde_netns_reply *reply = &out_all[rank];
        if (read(workers->members[rank].orders, reply, sizeof *reply) != (ssize_t)sizeof *reply) {
            *reply = (struct ronde_netns_reply){.status = RONDE_DEVICE};
            snprintf(reply->message, sizeof reply->message, "its process has ended");
        }
        workers->own_ns += reply->own_ns;
        workers->wire_bytes += reply->wire_bytes;
        if (reply->status != RONDE_OK && status == RONDE_OK)
            status = ronde_fail(error, reply->status, "host %u: %.200s", rank, reply->message);
    }
    return status;
}

static enum ronde_status order_all(struct ronde_netns_workers *workers,
                                   const struct ronde_netns_order *order,
                                   struct ronde_netns_reply *out_all, struct ronde_error *error)
{
    for (uint32_t rank = 0; rank < workers->ranks; rank++)
        if (send(workers->members[rank].orders, order, sizeof *order, MSG_NOSIGNAL) !=
            (ssize_t)sizeof *order)
            return ronde_fail(error, RONDE_DEVICE, "host %u: its process has ended", rank);
    return listen_to(workers, out_all, error);
}

/* A rig with a switch says which process that is; another has none. */
static pid_t find_helper(const char *rig)
{
    char path[256];
    int helper = 0;
    snprintf(path, sizeof path, "/run/ronde-%s-switch.pid", rig);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%d", &helper) != 1)
        helper = 0;
    fclose(file);
    return helper;
}

static enum ronde_status start_rank(struct ronde_netns_workers *workers,
                                    const struct ronde_netns_plan *plan, const char *token,
                                    struct ronde_error *error)
{
    struct member *member = &workers->members[workers->ranks];
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return ronde_fail(error, RONDE_DEVICE, "the system refuses a socket");
    fflush(NULL);
    member->process = fork();
    if (member->process == 0) {
        const struct ronde_netns_worker worker = {plan, workers->ranks, token, pair[1]};
        close(pair[0]);
        for (uint32_t rank = 0; rank < workers->ranks; rank++)
            close(workers->members[rank].orders);
        ronde_netns_be_rank(&worker);
    }
    close(pair[1]);
    if (member->process < 0) {
        close(pair[0]);
        return ronde_fail(error, RONDE_DEVICE, "the system refuses process %u", workers->ranks);
    }
    member->orders = pair[0];
    workers->ranks++;
    return RONDE_OK;
}

static enum ronde_status start_all(struct ronde_netns_workers *workers,
                                   const struct ronde_netns_plan *plan, struct ronde_error *error)
{
    struct ronde_netns_reply replies[RONDE_NETNS_RANKS];
    char token[RONDE_TOKEN_BYTES];
    RONDE_TRY(ronde_token_draw(token, error));
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        RONDE_TRY(start_rank(workers, plan, token, error));
    RONDE_TRY(listen_to(workers, replies, error));
    workers->mtu_bytes = replies[0].mtu_bytes;
    return RONDE_OK;
}

double ronde_netns_mtu(const struct ronde_netns_workers *workers)
{
    return workers->mtu_bytes;
}

enum ronde_status ronde_netns_open(const struct ronde_netns_plan *plan,
                                   struct ronde_netns_workers **out_netns, struct ronde_error *error)
{
    const char *reason = NULL;
    *out_netns = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", reason);
    if (plan->ranks < 2 || plan->ranks > RONDE_NETNS_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a rig has 2 to %u hosts, not %u",
                          RONDE_NETNS_RANKS, plan->ranks);
    struct ronde_netns_workers *workers = ronde_mem_new(ronde_mem_default(), 1, sizeof *workers);
    if (!workers)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u hosts", plan->ranks);
    workers->helper = find_helper(plan->rig);
    const enum ronde_status status = start_all(workers, plan, error);
    if (status != RONDE_OK) {
        ronde_netns_close(workers);
        return status;
    }
    *out_netns = workers;
    return RONDE_OK;
}

void ronde_netns_close(struct ronde_netns_workers *workers)
{
    const struct ronde_netns_order quit = {.verb = RONDE_NETNS_QUIT};
    if (!workers)
        return;
    for (uint32_t rank = 0; rank < workers->ranks; rank++)
        (void)send(workers->members[rank].orders, &quit, sizeof quit, MSG_NOSIGNAL);
    for (uint32_t rank = 0; rank < workers->ranks; rank++) {
        close(workers->members[rank].orders);
        (void)waitpid(workers->members[rank].process, NULL, 0);
    }
    ronde_mem_free(ronde_mem_default(), workers, 1, sizeof *workers);
}

struct ronde_netns_work ronde_netns_work(const struct ronde_netns_workers *workers)
{
    const double helper_ns = workers->helper > 0 ? ronde_process_ns(workers->helper) : 0.0;
    return (struct ronde_netns_work){workers->own_ns + helper_ns, workers->wire_bytes,
                                     workers->runs};
}

/** Compares results with those of the host backend, as ronde_benchmark_check. *out_wrong: elements of all ranks. */
static enum ronde_status check_workers(struct ronde_netns_workers *workers,
                                       const struct ronde_netns_run *run, uint64_t *out_wrong,
                                       struct ronde_error *error)
{
    struct ronde_netns_reply replies[RONDE_NETNS_RANKS];
    const struct ronde_netns_order order = {RONDE_NETNS_CHECK, *run, 0.0};
    const enum ronde_status status = order_all(workers, &order, replies, error);
    *out_wrong = 0;
    for (uint32_t rank = 0; status == RONDE_OK && rank < workers->ranks; rank++)
        *out_wrong += replies[rank].wrong;
    return status;
}

/* Samples of a run on their way. */
struct series {
    double samples[RONDE_MAX_SAMPLES + RONDE_NETNS_RANKS]; /* a repetition more than can be asked for */
    uint32_t count;
    uint32_t each; /* of a repetition */
};

/* Runs once; a run lasts from when the last rank has begun. */
static enum ronde_status repeat(struct ronde_netns_workers *workers,
                                const struct ronde_netns_run *run, struct series *series,
                                struct ronde_error *error)
{
    struct ronde_netns_reply replies[RONDE_NETNS_RANKS];
    const struct ronde_netns_order order = {RONDE_NETNS_RUN, *run, ronde_clock_ns() + LEAD_NS};
    double *samples = &series->samples[series->count];
    double start_ns = 0.0;
    const enum ronde_status status = order_all(workers, &order, replies, error);
    workers->runs++;
    if (status != RONDE_OK)
        return status;
    for (uint32_t rank = 0; rank < workers->ranks; rank++)
        start_ns = replies[rank].start_ns > start_ns ? replies[rank].start_ns : start_ns;
    samples[0] = 0.0;
    for (uint32_t rank = 0; rank < workers->ranks; rank++) {
        const double took_ns = replies[rank].end_ns - start_ns;
        if (run->by_rank)
            samples[rank] = took_ns;
        else if (took_ns > samples[0])
            samples[0] = took_ns;
    }
    series->count += series->each;
    return RONDE_OK;
}

/* Repetitions that are judged together. */
struct span {
    struct ronde_cpu_noise before;
    double own_before_ns;
    uint32_t first; /* sample of the series */
};

static struct span begin_span(const struct ronde_netns_workers *workers, const struct series *series)
{
    return (struct span){ronde_cpu_noise_read(workers->helper), workers->own_ns, series->count};
}

/* Drops what others disturbed; true if the span is over. */
static bool judge(const struct ronde_netns_workers *workers, const struct span *span, bool must_end,
                  struct series *series, struct ronde_netns_tally *tally)
{
    const struct ronde_cpu_noise after = ronde_cpu_noise_read(workers->helper);
    const double span_ns = after.at_ns - span->before.at_ns;
    if (span_ns < JUDGED_NS && !must_end)
        return false;
    const double own_ns = workers->own_ns - span->own_before_ns;
    const uint32_t runs = (series->count - span->first) / series->each;
    if (ronde_cpu_noise_disturbs(&span->before, &after, own_ns)) {
        series->count = span->first;
        tally->discarded += runs;
    } else {
        tally->kept += runs;
    }
    return true;
}

/* One turn of one run. Spans last until they can be judged, if need be by running more often than asked for. */
static enum ronde_status
take_turn(struct ronde_netns_workers *workers, const struct ronde_netns_run *run, uint32_t reps,
          struct series *series, struct ronde_netns_tally *tally, struct ronde_error *error)
{
    const uint32_t first = series->count;
    const uint32_t wanted = first + reps * series->each;
    enum ronde_status status = repeat(workers, run, series, error);
    series->count = first;
    struct span span = begin_span(workers, series);
    for (uint32_t tries = 0;
         status == RONDE_OK && series->count + series->each <= RONDE_MAX_SAMPLES; tries++) {
        status = repeat(workers, run, series, error);
        const bool is_judged = judge(workers, &span, tries >= 2 * reps, series, tally);
        if (is_judged && (series->count >= wanted || tries >= 2 * reps))
            break;
        if (is_judged)
            span = begin_span(workers, series);
    }
    return status;
}

enum ronde_status ronde_netns_measure(struct ronde_netns_workers *workers,
                                      const struct ronde_netns_run *runs, uint32_t count,
                                      const struct ronde_netns_effort *effort,
                                      struct ronde_stats *out_stats,
                                      struct ronde_netns_tally *io_tally, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct series *series = ronde_mem_new(mem, count, sizeof *series);
    enum ronde_status status = RONDE_OK;
    if (!series)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the samples of %u runs", count);
    for (uint32_t i = 0; i < count; i++)
        series[i].each = runs[i].by_rank ? workers->ranks : 1;
    for (uint32_t round = 0; round < effort->rounds; round++)
        for (uint32_t i = 0; status == RONDE_OK && i < count; i++)
            status = take_turn(workers, &runs[i], effort->reps, &series[i], io_tally, error);
    for (uint32_t i = 0; status == RONDE_OK && i < count; i++) {
        const uint32_t kept = series[i].count / series[i].each;
        const bool is_enough = 2 * kept >= effort->reps * effort->rounds;
        out_stats[i] = ronde_stats_of_turns(series[i].samples, is_enough ? series[i].count : 0,
                                            series[i].each);
    }
    ronde_mem_free(mem, series, count, sizeof *series);
    return status;
}

/* Schedules of a comparison in the hosts of a rig. */

/* A run takes milliseconds here, and its spread is what the network makes it: repetitions are counted, not timed. */
static const struct ronde_netns_effort effort = {9, 2};

static enum ronde_status open_job(void *self, const struct ronde_measurer_job *job,
                                  struct ronde_error *error)
{
    struct ronde_rig_measurer *rig = self;
    for (uint32_t i = 0; i < job->count; i++)
        rig->jobs[i] = (struct ronde_netns_job){job->schedules[i], job->max_count};
    rig->count = job->count;
    const struct ronde_netns_plan plan = {.rig = rig->rig,
                                          .ranks = job->schedules[0]->ranks,
                                          .options = job->options,
                                          .jobs = rig->jobs,
                                          .job_count = job->count};
    return ronde_netns_open(&plan, &rig->workers, error);
}

static enum ronde_status check(void *self, uint32_t schedule, uint64_t count, uint64_t out_wrong[2],
                               struct ronde_error *error)
{
    struct ronde_rig_measurer *rig = self;
    const struct ronde_netns_run run = {.job = schedule, .count = count};
    out_wrong[1] = 0;
    return check_workers(rig->workers, &run, &out_wrong[0], error);
}

static enum ronde_status measure(void *self, uint64_t count, double window_ns,
                                 struct ronde_stats *out_stats, struct ronde_error *error)
{
    struct ronde_rig_measurer *rig = self;
    struct ronde_netns_run runs[RONDE_MEASURED_SCHEDULES];
    (void)window_ns;
    for (uint32_t i = 0; i < rig->count; i++)
        runs[i] = (struct ronde_netns_run){.job = i, .count = count};
    return ronde_netns_measure(rig->workers, runs, rig->count, &effort, out_stats, &rig->tally,
                               error);
}

static void describe(const void *self, struct ronde_record *record)
{
    (void)self;
    record->engine = "ucx";
    ronde_record_label(record, "rig");
}

static void close_job(void *self)
{
    struct ronde_rig_measurer *rig = self;
    ronde_netns_close(rig->workers);
    rig->workers = NULL;
    rig->count = 0;
}

struct ronde_measurer ronde_rig_measurer(struct ronde_rig_measurer *rig)
{
    return (struct ronde_measurer){.self = rig,
                                   .open = open_job,
                                   .check = check,
                                   .measure = measure,
                                   .describe = describe,
                                   .close = close_job,
                                   .is_network = true};
}
