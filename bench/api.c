/*
 * What the calls of ronde.h cost: the same all_reduce by ronde_comm_run and ronde_comm_wait of a
 * loaded program, by ronde_all_reduce that waits, by a request that is waited for, and by one that is
 * left to the progress thread, while its caller sleeps until the callback: two threads are woken. In
 * turns, so that other load on the machine hits all alike; the table shows the median of the rounds.
 *
 * bench_api [RANKS [BYTES]]: ranks are forked processes on this machine.
 */
#include "ronde/hw.h"
#include "ronde/ronde.h"
#include "ronde/schedules.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 31u
#define WAYS 4u
#define MAX_RANKS 64u

/* One rank's side. */
struct side {
    struct ronde_comm *comm;
    struct ronde_schedule *schedule;
    struct ronde_comm_program *program;
    struct ronde_launch launch;
    void *in[MAX_RANKS];
    void *out[MAX_RANKS];
    uint64_t count;
    sem_t over; /* posted by the callback */
};

static enum ronde_status run_bare(struct side *side, struct ronde_error *error)
{
    struct ronde_result result;
    const enum ronde_status status = ronde_comm_run(side->program, &side->launch, error);
    return status == RONDE_OK ? ronde_comm_wait(side->program, &result, error) : status;
}

static enum ronde_status run_call(struct side *side, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(side->comm);
    return ronde_all_reduce(side->comm, side->in[rank], side->out[rank], side->count, RONDE_FLOAT32,
                            RONDE_SUM, NULL, NULL, error);
}

static enum ronde_status run_request(struct side *side, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(side->comm);
    struct ronde_request *request = NULL;
    enum ronde_status status =
        ronde_all_reduce(side->comm, side->in[rank], side->out[rank], side->count, RONDE_FLOAT32,
                         RONDE_SUM, NULL, &request, error);
    if (status == RONDE_OK)
        status = ronde_request_wait(request, 0, error);
    ronde_request_free(request);
    return status;
}

static void post(void *over, enum ronde_status status, const struct ronde_error *error)
{
    (void)status;
    (void)error;
    (void)sem_post(over);
}

static enum ronde_status run_left(struct side *side, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(side->comm);
    struct ronde_request *request = NULL;
    enum ronde_status status =
        ronde_all_reduce(side->comm, side->in[rank], side->out[rank], side->count, RONDE_FLOAT32,
                         RONDE_SUM, NULL, &request, error);
    if (status != RONDE_OK)
        return status;
    ronde_on_complete(request, post, &side->over);
    while (sem_wait(&side->over) != 0)
        continue;
    status = ronde_request_wait(request, 0, error);
    ronde_request_free(request);
    return status;
}

/* A way to run it. */
struct way {
    const char *name;
    enum ronde_status (*run)(struct side *side, struct ronde_error *error);
    enum ronde_progress progress;
    uint32_t runs; /* of a round, after a quarter as many */
};

static const struct way ways[WAYS] = {
    {"run and wait of a loaded program", run_bare, RONDE_PROGRESS_CALLER, 20000},
    {"ronde_all_reduce", run_call, RONDE_PROGRESS_CALLER, 20000},
    {"with a request, by the caller", run_request, RONDE_PROGRESS_CALLER, 20000},
    {"by the thread, its caller asleep", run_left, RONDE_PROGRESS_THREAD, 2000},
};

/* Time of one run, ns. */
static enum ronde_status measure(struct side *side, const struct way *way, double *out_ns,
                                 struct ronde_error *error)
{
    enum ronde_status status = ronde_comm_progress(side->comm, way->progress, error);
    for (uint32_t k = 0; k < way->runs / 4 && status == RONDE_OK; k++)
        status = way->run(side, error);
    const double start_ns = ronde_clock_ns();
    for (uint32_t k = 0; k < way->runs && status == RONDE_OK; k++)
        status = way->run(side, error);
    *out_ns = (ronde_clock_ns() - start_ns) / way->runs;
    return status;
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

/* The program that the call has chosen, loaded once more for the bare loop. */
static enum ronde_status load(struct side *side, struct ronde_error *error)
{
    char algorithm[RONDE_ALGORITHM_BYTES];
    ronde_comm_algorithm(side->comm, algorithm);
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = algorithm,
                                                  .ranks = ronde_comm_ranks(side->comm)};
    enum ronde_status status =
        ronde_compile(&request, ronde_mem_default(), NULL, &side->schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(side->comm, side->schedule, NULL, &side->program, error);
    side->launch = (struct ronde_launch){.count = side->count,
                                         .dtype = RONDE_FLOAT32,
                                         .op = RONDE_SUM,
                                         .in = side->in,
                                         .out = side->out};
    return status;
}

static void print(double values[WAYS][ROUNDS], double added[WAYS][ROUNDS], uint32_t ranks,
                  uint64_t bytes)
{
    printf("all_reduce, %u rank%s, %llu B, ns, median of %u rounds\n", ranks, ranks == 1 ? "" : "s",
           (unsigned long long)bytes, ROUNDS);
    for (uint32_t k = 0; k < WAYS; k++)
        printf("  %-34s %8.1f  %+.1f\n", ways[k].name, median(values[k]), median(added[k]));
}

static enum ronde_status race(struct side *side, struct ronde_error *error)
{
    static double values[WAYS][ROUNDS];
    static double added[WAYS][ROUNDS]; /* to the bare run of the same round */
    enum ronde_status status = run_call(side, error);
    if (status == RONDE_OK)
        status = load(side, error);
    for (uint32_t round = 0; round < ROUNDS && status == RONDE_OK; round++) {
        for (uint32_t k = 0; k < WAYS && status == RONDE_OK; k++) {
            const uint32_t at = (k + round) % WAYS;
            status = measure(side, &ways[at], &values[at][round], error);
        }
        for (uint32_t k = 0; k < WAYS; k++)
            added[k][round] = values[k][round] - values[0][round];
    }
    if (status == RONDE_OK && ronde_comm_rank(side->comm) == 0)
        print(values, added, ronde_comm_ranks(side->comm), side->count * sizeof(float));
    return status;
}

static int be_rank(const char *token, uint32_t rank, uint32_t ranks, uint64_t count)
{
    static struct side side;
    const struct ronde_join join = {.token = token, .rank = rank, .ranks = ranks};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    struct ronde_error error = {0};
    enum ronde_status status =
        ronde_comm_join(&join, &options, ronde_mem_default(), &side.comm, &error);
    side.count = count;
    if (sem_init(&side.over, 0, 0) != 0)
        status = ronde_fail(&error, RONDE_DEVICE, "no semaphore");
    side.in[rank] = calloc(count + 1, sizeof(float));
    side.out[rank] = calloc(count + 1, sizeof(float));
    if (status == RONDE_OK && side.in[rank] && side.out[rank])
        status = race(&side, &error);
    ronde_comm_unload(side.program);
    ronde_comm_destroy(side.comm);
    ronde_schedule_destroy(side.schedule);
    free(side.in[rank]);
    free(side.out[rank]);
    if (status != RONDE_OK)
        fprintf(stderr, "rank %u: %s\n", rank, error.message);
    return status == RONDE_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    const uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2;
    const uint64_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 8;
    char token[RONDE_TOKEN_BYTES];
    struct ronde_error error = {0};
    int failures = 0;
    if (ranks == 0 || ranks > MAX_RANKS || ronde_token_draw(token, &error) != RONDE_OK)
        return 2;
    for (uint32_t rank = 1; rank < ranks; rank++)
        if (fork() == 0)
            return be_rank(token, rank, ranks, bytes / sizeof(float));
    failures = be_rank(token, 0, ranks, bytes / sizeof(float));
    for (int state = 0; wait(&state) > 0;)
        failures += state != 0;
    return failures;
}
