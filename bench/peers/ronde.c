/*
 * The contender that is ronde: an executor of its registry, through the library's public headers.
 *
 * The algorithm of a point is the registry's fastest in a short race before the point is measured, or the one that the
 * command line names; protocol and piece size are the backend's own choice.
 */
#include "contender.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time that a candidate runs in a round, at least one run. */
#define ROUND_NS 3e6
#define ROUND_RUNS 2000u
/*
 * With more ranks than cores the same steps take up to twice as long from one moment to the next, with the order in
 * which ranks are scheduled. So candidates not much slower than the fastest in the first round run in all of them, in
 * turns, and medians count; but for points so long that a run is its own mean. All that run in turns stay loaded: to
 * load a program ranks sleep until all have come, and wake up on any core.
 */
#define ROUNDS 7u
#define CLOSE 1.6
#define LONG_NS 2e7
/*
 * Before its first round a candidate runs for so long without counting: pages that are new cost more than a run, and ranks
 * that have just woken need some milliseconds to spread over the cores. It is so many runs at most until all ranks
 * compare how long they took.
 */
#define WARM_NS 5e6
#define WARM_RUNS 256u
/*
 * An algorithm later in the registry has to win by more than noise: with few ranks many algorithms are the same steps.
 */
#define CLEARLY 0.97
/* A run that takes so long has failed. */
#define TIMEOUT_NS 60000000000u

/* A schedule that is loaded. */
struct loaded {
    struct ronde_schedule *schedule;
    void *program;
};

/* ronde's side of the bench. */
struct side {
    const struct ronde_backend *backend;
    void *opened;            /* the backend's; the communicator of processes */
    struct ronde_comm *comm; /* of processes, or NULL */
    uint32_t ranks;
    const char *only;             /* the algorithm that was requested, or NULL */
    struct ronde_launch launch;   /* of the point */
    struct loaded chosen;         /* for the point */
    struct loaded barrier;        /* of processes, */
    struct loaded highest;        /* and what finds their largest value */
    enum ronde_protocol protocol; /* of the last run */
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

static void unload(const struct side *side, struct loaded *loaded)
{
    if (loaded->program)
        side->backend->unload(loaded->program);
    ronde_schedule_destroy(loaded->schedule);
    *loaded = (struct loaded){0};
}

/* Loads an algorithm for a launch; `why_not` where it cannot serve it. */
static bool load(struct side *side, const struct ronde_compile_request *request,
                 const struct ronde_launch *launch, struct loaded *out, struct ronde_error *why_not)
{
    *out = (struct loaded){0};
    if (ronde_compile(request, ronde_mem_default(), NULL, &out->schedule, why_not) == RONDE_OK &&
        side->backend->supports(side->opened, out->schedule, launch, why_not) == RONDE_OK &&
        side->backend->load(side->opened, out->schedule, &out->program, why_not) == RONDE_OK)
        return true;
    unload(side, out);
    return false;
}

/* Loads an algorithm for the point; false without a message where it cannot serve it. */
static bool load_for_point(struct side *side, const struct contender_point *point,
                           const char *algorithm, struct loaded *out)
{
    const struct ronde_compile_request request = {.collective = collective_of(point->collective),
                                                  .algorithm = algorithm,
                                                  .ranks = side->ranks};
    struct ronde_error why_not = {0};
    return load(side, &request, &side->launch, out, &why_not);
}

static bool run_program(const struct side *side, void *program, const struct ronde_launch *launch,
                        enum ronde_protocol *out_protocol)
{
    struct ronde_error error; /* clearing all of it would take as long as a tenth of a short run */
    struct ronde_result result = {0};
    void *started = NULL;
    error.status = RONDE_OK;
    if (side->backend->run(program, launch, &started, &error) != RONDE_OK ||
        side->backend->wait(started, &result, &error) != RONDE_OK)
        return complain(&error);
    *out_protocol = result.protocol;
    return true;
}

static bool run(void *self, const struct contender_point *point)
{
    struct side *side = self;
    (void)point;
    return run_program(side, side->chosen.program, &side->launch, &side->protocol);
}

/* A launch of the two helpers of processes, which are run outside what is timed. */
static struct ronde_launch helper_launch(uint64_t count, void *const *in, void *const *out)
{
    return (struct ronde_launch){.count = count,
                                 .dtype = RONDE_FLOAT64,
                                 .op = RONDE_MAX,
                                 .in = in,
                                 .out = out,
                                 .timeout_ns = TIMEOUT_NS};
}

/* Threads are together between runs. */
static bool meet(void *self)
{
    struct side *side = self;
    void *const none[CONTENDER_RANKS] = {0};
    const struct ronde_launch launch = helper_launch(0, none, none);
    enum ronde_protocol unused;
    return !side->comm || run_program(side, side->barrier.program, &launch, &unused);
}

/* By an all_reduce, as MPI's ranks do: they go on without having slept. */
static double max(void *self, double value)
{
    struct side *side = self;
    double highest = value;
    void *in[CONTENDER_RANKS] = {0}, *out[CONTENDER_RANKS] = {0};
    enum ronde_protocol unused;
    if (!side->comm)
        return value;
    in[ronde_comm_rank(side->comm)] = &value;
    out[ronde_comm_rank(side->comm)] = &highest;
    const struct ronde_launch launch = helper_launch(1, in, out);
    /* A rank that fails ends the communicator, and so the next run of all: it need not be reported here. */
    (void)run_program(side, side->highest.program, &launch, &unused);
    return highest;
}

/* ---- The race ------------------------------------------------------------------------------------------------------ */

/* An algorithm that races. */
struct candidate {
    const char *name;
    struct loaded loaded; /* while it is in the race */
    uint32_t rounds;
    double took_ns[ROUNDS]; /* in order of time */
};

/* Most algorithms of a collective. */
#define CANDIDATES 32u

/* Mean of some runs, on the slowest rank: the same number on all ranks. */
static bool time_runs(struct side *side, const struct candidate *candidate, uint32_t runs,
                      double *out_ns)
{
    const double start_ns = ronde_clock_ns();
    for (uint32_t i = 0; i < runs; i++)
        if (!run_program(side, candidate->loaded.program, &side->launch, &side->protocol))
            return false;
    *out_ns = max(side, (ronde_clock_ns() - start_ns) / runs);
    return true;
}

/* Whole runs of so long that fit into some time, at least one. */
static uint32_t runs_in(double time_ns, double run_ns, uint32_t most)
{
    const double runs = time_ns / run_ns;
    return runs < 1.0 ? 1 : runs < most ? (uint32_t)runs : most;
}

/* Touches memory, spreads ranks over cores, and estimates how long a run takes. */
static bool warm_up(struct side *side, const struct candidate *candidate, double *io_ns)
{
    for (double left_ns = WARM_NS; left_ns > 0.0;) {
        const uint32_t runs = runs_in(left_ns, *io_ns, WARM_RUNS);
        if (!time_runs(side, candidate, runs, io_ns))
            return false;
        left_ns -= runs * *io_ns;
    }
    return true;
}

/* One more round of so many runs that it takes its time. False for a failure. */
static bool run_round(struct side *side, struct candidate *candidate)
{
    const uint32_t runs = runs_in(ROUND_NS, candidate->took_ns[0], ROUND_RUNS);
    double took_ns = 0.0;
    uint32_t at = candidate->rounds;
    if (!time_runs(side, candidate, runs, &took_ns))
        return false;
    for (; at > 0 && candidate->took_ns[at - 1] > took_ns; at--)
        candidate->took_ns[at] = candidate->took_ns[at - 1];
    candidate->took_ns[at] = took_ns;
    candidate->rounds++;
    return true;
}

/* The fastest of those that have run in so many rounds, by their medians; NULL where there is none. */
static const struct candidate *fastest(const struct candidate *candidates, uint32_t count,
                                       uint32_t rounds)
{
    const struct candidate *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].rounds == rounds &&
            (!best || candidates[i].took_ns[rounds / 2] < CLEARLY * best->took_ns[rounds / 2]))
            best = &candidates[i];
    return best;
}

/* The first round; long runs are one after a first that was cold. False for a failure. */
static bool qualify(struct side *side, const struct contender_point *point,
                    struct candidate *candidate)
{
    double *took_ns = &candidate->took_ns[0];
    if (!load_for_point(side, point, candidate->name, &candidate->loaded))
        return true;
    if (!time_runs(side, candidate, 1, took_ns) || !time_runs(side, candidate, 1, took_ns))
        return false;
    if (*took_ns <= ROUND_NS)
        return warm_up(side, candidate, took_ns) && run_round(side, candidate);
    candidate->rounds = 1;
    return true;
}

/* Unloads those that are out of the race. */
static void dismiss(struct side *side, struct candidate *candidates, uint32_t count, double limit_ns)
{
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].rounds == 0 || candidates[i].took_ns[0] > limit_ns) {
            unload(side, &candidates[i].loaded);
            candidates[i].rounds = 0;
        }
}

/* All of a collective's; returns how many there are, 0 for a failure. Those that are close remain loaded. */
static uint32_t begin_race(struct side *side, const struct contender_point *point,
                           struct candidate candidates[CANDIDATES])
{
    uint32_t total = 0, count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total && count < CANDIDATES; i++) {
        if (all[i]->collective != collective_of(point->collective))
            continue;
        candidates[count] = (struct candidate){.name = all[i]->name};
        if (!qualify(side, point, &candidates[count++]))
            return 0;
        const struct candidate *best = fastest(candidates, count, 1);
        dismiss(side, candidates, count, best ? CLOSE * best->took_ns[0] : 0.0);
    }
    return count;
}

/* Loads the fastest algorithm, the same on all ranks, and returns its name; NULL where none serves the point. */
static const char *choose(struct side *side, const struct contender_point *point)
{
    struct candidate candidates[CANDIDATES];
    const uint32_t count = begin_race(side, point, candidates);
    const struct candidate *best = fastest(candidates, count, 1);
    const uint32_t rounds = best && best->took_ns[0] <= LONG_NS ? ROUNDS : 1;
    for (uint32_t round = 1; round < rounds; round++)
        for (uint32_t i = 0; i < count; i++)
            if (candidates[i].rounds == round && !run_round(side, &candidates[i]))
                return NULL;
    best = fastest(candidates, count, rounds);
    for (uint32_t i = 0; best && i < count; i++) {
        if (&candidates[i] == best)
            side->chosen = candidates[i].loaded;
        else
            unload(side, &candidates[i].loaded);
    }
    return best ? best->name : NULL;
}

/* Records name staged as NCCL does: simple. */
static const char *prepare(void *self, const struct contender_point *point)
{
    struct side *side = self;
    const char *algorithm = side->only;
    unload(side, &side->chosen);
    side->launch = (struct ronde_launch){.count = point->count,
                                         .dtype = RONDE_FLOAT32,
                                         .op = RONDE_SUM,
                                         .in = point->in,
                                         .out = point->out,
                                         .timeout_ns = TIMEOUT_NS};
    if (algorithm)
        (void)load_for_point(side, point, algorithm, &side->chosen);
    else
        algorithm = choose(side, point);
    if (!side->chosen.program || !run(side, point)) {
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

/* All ranks in this process. */
static bool open_here(struct side *side, const struct ronde_machine *machine)
{
    struct ronde_error error = {0};
    return side->backend->open(machine, ronde_mem_default(), &side->opened, &error) == RONDE_OK ||
           complain(&error);
}

static bool open_processes(struct side *side, enum ronde_transport transport, uint32_t rank,
                           const char *token)
{
    const struct ronde_join join = {.token = token, .rank = rank, .ranks = side->ranks};
    const struct ronde_comm_options options = {.transport = transport};
    struct ronde_error error = {0};
    if (ronde_comm_join(&join, &options, ronde_mem_default(), &side->comm, &error) != RONDE_OK)
        return complain(&error);
    side->opened = side->comm;
    const struct ronde_compile_request barrier = {.collective = RONDE_BARRIER,
                                                  .algorithm = "dissemination",
                                                  .ranks = side->ranks};
    const struct ronde_compile_request highest = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "recursive_doubling",
                                                  .ranks = side->ranks};
    void *const none[CONTENDER_RANKS] = {0};
    const struct ronde_launch nothing = helper_launch(0, none, none);
    return (load(side, &barrier, &nothing, &side->barrier, &error) &&
            load(side, &highest, &nothing, &side->highest, &error)) ||
           complain(&error);
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

/* Opens a row of the registry; a rank that is a process joins the job of its token. */
static bool open_side(struct side *side, const struct ronde_executor *executor, uint32_t rank,
                      const char *token)
{
    struct ronde_machine machine;
    struct ronde_error error = {0};
    if (ronde_executor_probe(executor, &machine, &error) != RONDE_OK)
        return complain(&error);
    side->backend = executor->backend;
    return executor->ranks == RONDE_RANKS_PROCESSES
               ? open_processes(side, executor->transport, rank, token)
               : open_here(side, &machine);
}

int main(int argc, char **argv)
{
    /* FOLDER RANKS ALGORITHM EXECUTOR, and of a process its RANK and the job's TOKEN */
    const struct ronde_executor *executor = argc > 4 ? ronde_executor_find(argv[4]) : NULL;
    const bool are_processes = executor && executor->ranks == RONDE_RANKS_PROCESSES;
    if (!executor || argc != (are_processes ? 7 : 5)) {
        fprintf(stderr, "usage: %s FOLDER RANKS ALGORITHM|fastest EXECUTOR [RANK TOKEN]\n", argv[0]);
        return 2;
    }
    const int rank = are_processes ? atoi(argv[5]) : 0, ranks = atoi(argv[2]);
    struct side side = {.ranks = (uint32_t)ranks,
                        .only = strcmp(argv[3], "fastest") == 0 ? NULL : argv[3]};
    struct contender contender = {.rank = rank,
                                  .ranks = ranks,
                                  .holds_all = !are_processes,
                                  .self = &side,
                                  .prepare = prepare,
                                  .run = run,
                                  .max = max,
                                  .meet = meet,
                                  .allocate = are_processes ? allocate : NULL,
                                  .release = are_processes ? release : NULL};
    if (are_processes)
        contender_pin(rank, ranks);
    if (!open_side(&side, executor, (uint32_t)rank, are_processes ? argv[6] : NULL))
        return 3;
    const int status = contender_serve(&contender, argv[1]);
    unload(&side, &side.chosen);
    unload(&side, &side.barrier);
    unload(&side, &side.highest);
    side.backend->close(side.opened);
    return status;
}
