/*
 * The contender that is ronde: ranks as threads (cpu) or as processes (proc), through the library's public headers.
 *
 * The algorithm of a point is the registry's fastest in a short race before the point is measured, or the one that the
 * command line names; protocol and piece size are the backend's own choice.
 */
#include "contender.h"

#include "ronde/comm.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a heat a candidate runs for about so long, or at least once. */
#define RACE_NS 5e6
#define RACE_RUNS 5000.0
/*
 * With more ranks than cores the same steps take up to twice as long from one heat to the next, with who shares a core
 * with whom. So whoever is not much slower than the fastest in the first heat runs in all of them, in turns, and medians
 * count; but for points so long that a run is its own mean.
 */
#define HEATS 5u
#define CLOSE 1.6
#define LONG_NS 2e7
/* Short runs so many times touch every slot of every connection, twice: pages that are new cost more than a run. */
#define SLOTS 16.0
/* Whoever is so much slower in a first run that is a long one does not race: long points would take minutes. */
#define HOPELESS 3.0
/* Who comes later in the registry has to win by more than noise: with few ranks many algorithms are the same steps. */
#define CLEARLY 0.97
/* A run that takes so long has failed. */
#define TIMEOUT_NS 60000000000u

/* ronde's side of the bench. */
struct side {
    const struct ronde_backend *backend;
    void *opened;            /* the backend's; the communicator of processes */
    struct ronde_comm *comm; /* of processes, or NULL */
    uint32_t ranks;
    const char *only; /* the algorithm that was asked for, or NULL */
    struct ronde_schedule *schedule;
    void *program;
    struct ronde_launch launch;
    enum ronde_protocol protocol;   /* of the last run */
    struct ronde_schedule *barrier; /* of processes */
    void *barrier_program;
    char label[96];
};

static bool complain(const struct ronde_error *error)
{
    fprintf(stderr, "ronde: %s\n", error->message);
    return false;
}

static enum ronde_collective collective_of(enum contender_collective collective)
{
    static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_BROADCAST,
                                                        RONDE_ALL_GATHER};
    return collectives[collective];
}

static void close_program(struct side *side)
{
    if (side->program)
        side->backend->unload(side->program);
    ronde_schedule_destroy(side->schedule);
    side->program = NULL;
    side->schedule = NULL;
}

/* Loads an algorithm for a point; false without a word where it cannot serve it. */
static bool open_program(struct side *side, const char *algorithm,
                         const struct contender_point *point)
{
    const struct ronde_request request = {.collective = collective_of(point->collective),
                                          .algorithm = algorithm,
                                          .ranks = side->ranks};
    struct ronde_error why_not = {0};
    close_program(side);
    side->launch = (struct ronde_launch){.count = point->count,
                                         .dtype = RONDE_FLOAT32,
                                         .op = RONDE_SUM,
                                         .in = point->in,
                                         .out = point->out,
                                         .timeout_ns = TIMEOUT_NS};
    return ronde_compile(&request, ronde_mem_default(), NULL, &side->schedule, &why_not) ==
               RONDE_OK &&
           side->backend->supports(side->opened, side->schedule, &side->launch, &why_not) ==
               RONDE_OK &&
           side->backend->load(side->opened, side->schedule, &side->program, &why_not) == RONDE_OK;
}

static bool run_program(struct side *side, void *program, const struct ronde_launch *launch)
{
    struct ronde_error error = {0};
    struct ronde_result result = {0};
    void *started = NULL;
    if (side->backend->run(program, launch, &started, &error) != RONDE_OK ||
        side->backend->wait(started, &result, &error) != RONDE_OK)
        return complain(&error);
    side->protocol = result.protocol;
    return true;
}

static bool run(void *self, const struct contender_point *point)
{
    struct side *side = self;
    (void)point;
    return run_program(side, side->program, &side->launch);
}

/* Threads are together between runs. */
static bool meet(void *self)
{
    struct side *side = self;
    void *const none[CONTENDER_RANKS] = {0};
    const struct ronde_launch launch = {.in = none, .out = none, .timeout_ns = TIMEOUT_NS};
    return !side->comm || run_program(side, side->barrier_program, &launch);
}

static double max(void *self, double value)
{
    struct side *side = self;
    struct ronde_error error = {0};
    double all[CONTENDER_RANKS];
    if (!side->comm)
        return value;
    if (ronde_comm_allgather(side->comm, &value, sizeof value, all, &error) != RONDE_OK) {
        complain(&error);
        return value;
    }
    for (uint32_t rank = 0; rank < side->ranks; rank++)
        if (all[rank] > value)
            value = all[rank];
    return value;
}

/* Mean of some runs, on the slowest rank. */
static bool time_runs(struct side *side, double runs, double *out_ns)
{
    const double start_ns = ronde_clock_ns();
    for (double i = 0.0; i < runs; i++)
        if (!run(side, NULL))
            return false;
    *out_ns = max(side, (ronde_clock_ns() - start_ns) / runs);
    return true;
}

/* One candidate's time. Its first runs bring memory and threads up and do not count, unless it is hopeless. */
static bool race(struct side *side, double best_ns, double *out_ns)
{
    double first_ns = 0.0;
    if (!time_runs(side, 1.0, &first_ns) || !time_runs(side, 1.0, out_ns))
        return false;
    if (best_ns > 0.0 && *out_ns > HOPELESS * best_ns && *out_ns > RACE_NS)
        return true;
    if (*out_ns * SLOTS < RACE_NS && !time_runs(side, SLOTS, out_ns))
        return false;
    const double runs = RACE_NS / *out_ns;
    return runs < 2.0 || time_runs(side, runs < RACE_RUNS ? runs : RACE_RUNS, out_ns);
}

/* An algorithm that races. */
struct candidate {
    const char *name;
    uint32_t heats;
    double took_ns[HEATS]; /* in order of time */
};

/* Most algorithms of a collective. */
#define CANDIDATES 32u

/* One more heat; a candidate that cannot serve the point stays without. False for a failure. */
static bool run_heat(struct side *side, const struct contender_point *point,
                     struct candidate *candidate, double best_ns)
{
    double took_ns = 0.0;
    uint32_t at = candidate->heats;
    if (!open_program(side, candidate->name, point))
        return true;
    if (!race(side, best_ns, &took_ns))
        return false;
    for (; at > 0 && candidate->took_ns[at - 1] > took_ns; at--)
        candidate->took_ns[at] = candidate->took_ns[at - 1];
    candidate->took_ns[at] = took_ns;
    candidate->heats++;
    return true;
}

/* The fastest of those that have run in so many heats, by their medians; NULL where there is none. */
static const struct candidate *fastest(const struct candidate *candidates, uint32_t count,
                                       uint32_t heats)
{
    const struct candidate *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].heats == heats &&
            (!best || candidates[i].took_ns[heats / 2] < CLEARLY * best->took_ns[heats / 2]))
            best = &candidates[i];
    return best;
}

/* The first heat, of all of a collective's; returns how many there are, 0 for a failure. */
static uint32_t qualify(struct side *side, const struct contender_point *point,
                        struct candidate candidates[CANDIDATES])
{
    uint32_t total = 0, count = 0;
    const struct ronde_algorithm *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total && count < CANDIDATES; i++) {
        if (all[i].collective != collective_of(point->collective))
            continue;
        const struct candidate *best = fastest(candidates, count, 1);
        candidates[count] = (struct candidate){.name = all[i].name};
        if (!run_heat(side, point, &candidates[count], best ? best->took_ns[0] : 0.0))
            return 0;
        count++;
    }
    return count;
}

/* The fastest algorithm's name, the same on all ranks; NULL where none serves the point. */
static const char *choose(struct side *side, const struct contender_point *point)
{
    struct candidate candidates[CANDIDATES];
    const uint32_t count = qualify(side, point, candidates);
    const struct candidate *best = fastest(candidates, count, 1);
    if (!best || best->took_ns[0] > LONG_NS)
        return best ? best->name : NULL;
    const double limit_ns = CLOSE * best->took_ns[0];
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].heats > 0 && candidates[i].took_ns[0] > limit_ns)
            candidates[i].heats = 0;
    for (uint32_t heat = 1; heat < HEATS; heat++)
        for (uint32_t i = 0; i < count; i++)
            if (candidates[i].heats == heat && !run_heat(side, point, &candidates[i], 0.0))
                return NULL;
    best = fastest(candidates, count, HEATS);
    return best ? best->name : NULL;
}

/* Records call staged what NCCL does: simple. */
static const char *prepare(void *self, const struct contender_point *point)
{
    struct side *side = self;
    const char *algorithm = side->only ? side->only : choose(side, point);
    if (!algorithm || !open_program(side, algorithm, point) || !run(side, point)) {
        fprintf(stderr, "ronde: %s does not serve %s on %u ranks\n",
                algorithm ? algorithm : "no algorithm",
                contender_collective_text(point->collective), side->ranks);
        return NULL;
    }
    snprintf(side->label, sizeof side->label, "%s %s", algorithm,
             side->protocol == RONDE_PROTOCOL_STAGED ? "simple"
                                                     : ronde_protocol_text(side->protocol));
    return side->label;
}

static bool open_threads(struct side *side)
{
    struct ronde_machine machine;
    struct ronde_error error = {0};
    side->backend = &ronde_backend_cpu;
    if (side->backend->probe(&machine, &error) != RONDE_OK ||
        side->backend->open(&machine, ronde_mem_default(), &side->opened, &error) != RONDE_OK)
        return complain(&error);
    return true;
}

static bool open_processes(struct side *side, uint32_t rank, const char *token)
{
    const struct ronde_join join = {.token = token, .rank = rank, .ranks = side->ranks};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_PROC};
    struct ronde_error error = {0};
    if (ronde_comm_join(&join, &options, ronde_mem_default(), &side->comm, &error) != RONDE_OK)
        return complain(&error);
    side->backend = &ronde_backend_comm;
    side->opened = side->comm;
    const struct ronde_request barrier = {.collective = RONDE_BARRIER,
                                          .algorithm = "dissemination",
                                          .ranks = side->ranks};
    if (ronde_compile(&barrier, ronde_mem_default(), NULL, &side->barrier, &error) != RONDE_OK ||
        side->backend->load(side->opened, side->barrier, &side->barrier_program, &error) != RONDE_OK)
        return complain(&error);
    return true;
}

/* Buffers such as other ranks read in place. */
static void *allocate(void *self, size_t bytes)
{
    const struct side *side = self;
    return ronde_mem_new(ronde_comm_mem(side->comm), bytes, 1);
}

static void release(void *self, void *memory, size_t bytes)
{
    const struct side *side = self;
    ronde_mem_free(ronde_comm_mem(side->comm), memory, bytes, 1);
}

int main(int argc, char **argv)
{
    /* FOLDER RANKS ALGORITHM, and of a process its RANK and the job's TOKEN */
    if (argc != 4 && argc != 6) {
        fprintf(stderr, "usage: %s FOLDER RANKS ALGORITHM|fastest [RANK TOKEN]\n", argv[0]);
        return 2;
    }
    const bool has_threads = argc == 4;
    const int rank = has_threads ? 0 : atoi(argv[4]), ranks = atoi(argv[2]);
    struct side side = {.ranks = (uint32_t)ranks,
                        .only = strcmp(argv[3], "fastest") == 0 ? NULL : argv[3]};
    struct contender contender = {.rank = rank,
                                  .ranks = ranks,
                                  .holds_all = has_threads,
                                  .self = &side,
                                  .prepare = prepare,
                                  .run = run,
                                  .max = max,
                                  .meet = meet,
                                  .allocate = has_threads ? NULL : allocate,
                                  .release = has_threads ? NULL : release};
    if (!has_threads)
        contender_pin(rank, ranks);
    if (has_threads ? !open_threads(&side) : !open_processes(&side, (uint32_t)rank, argv[5]))
        return 3;
    const int status = contender_serve(&contender, argv[1]);
    close_program(&side);
    side.backend->unload(side.barrier_program);
    ronde_schedule_destroy(side.barrier);
    side.backend->close(side.opened);
    return status;
}
