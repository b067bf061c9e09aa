/*
 * Replay on the cores of one machine: workers that poll the lanes of their ranks the way the cpu backend does, and steps
 * that take as long as it takes to reach their data.
 *
 *  - There are as many workers as cores, or ranks if they are fewer; each has a block of neighbouring ranks, and polls
 *    their lanes in turn, up to a burst of steps of each (hw/cpu/cpu_backend.c). A poll that finds nothing to do costs a little.
 *  - A step takes its core's time, and what its bytes take (cores_steps.c). That depends on where they lie: which core
 *    touched them last, and what else it touched since (cores_cache.c).
 *  - A counter (a message posted, a slot freed) is visible to another core after the latency of the route, to its own
 *    at once.
 *  - The same run comes before, as often as it takes to use all slots: buffers and slots lie where a run leaves them, as
 *    in whatever is run again and again.
 *
 * Constants are those of the platform file, measured between two cores and within one; docs/results/validation.md.
 */
#include "cores.h"

#include "engine/execute/burst.h"
#include "sim/check.h"

#include <math.h>
#include <string.h>

/* A lane: its operations in order. */
struct lane {
    uint32_t next; /* into lane_ops */
    uint32_t first;
    uint32_t end;
};

/* A core at work. The first is the caller's, which prepares the lanes of all. */
struct worker {
    double clock_ns; /* of its next poll */
    uint32_t first_lane;
    uint32_t end_lane;
    uint32_t lane;  /* to poll next */
    uint32_t burst; /* steps of it in a row */
    bool has_moved; /* since the sweep began */
    bool is_idle;   /* waits for a counter; for one of another worker if its clock is INFINITY */
};

/* The state of a replay. */
struct cores {
    struct ronde_sim_scene scene;
    struct ronde_store store;
    struct ronde_sim_operands operands;
    struct ronde_sim_caches caches;
    struct worker *workers;
    uint32_t worker_count;
    uint32_t *worker_of; /* per rank */
    bool *has_begun;     /* per rank and channel */
    struct lane *lanes;
    uint32_t lane_count;
    uint32_t *lane_ops; /* operations lane by lane */
    double *end_ns;     /* per operation; INFINITY before it has begun */
    double step_ns;
    double poll_ns;
    double start_ns;
    double line_ns;   /* fetching a counter that another core has changed */
    double launch_ns; /* of a run, without the rank of the ping-pong that measured it */
    double begin_ns;  /* when the caller's core polls first */
    double wake_ns;   /* when the others do */
    double flight_ns; /* from a change until it can be fetched */
};

/* When the end of an operation is visible to another rank, maybe on another core. */
static double visible_ns(const struct cores *cores, uint32_t op, uint32_t rank)
{
    const uint32_t src = cores->scene.dag->ops[op].src;
    const bool is_near = cores->worker_of[src] == cores->worker_of[rank];
    return cores->end_ns[op] + (is_near ? 0.0 : cores->flight_ns);
}

/* When an operation may begin if `before` is over, or RONDE_NONE; INFINITY while that is not known. */
static double ready_ns(const struct cores *cores, uint32_t op, uint32_t before)
{
    const struct ronde_dag_op *self = &cores->scene.dag->ops[op];
    const double *release_ns = cores->scene.options->release_ns;
    double ready = release_ns ? release_ns[self->src] : 0.0;
    for (uint32_t e = self->first_edge; e < self->first_edge + self->edge_count; e++)
        if (cores->scene.dag->edges[e].op != before)
            ready = fmax(ready, visible_ns(cores, cores->scene.dag->edges[e].op, self->src));
    return ready;
}

/* A rank's core polls again when a counter changes, if it has nothing else to do until then. */
static void wake_worker(struct cores *cores, uint32_t op, uint32_t rank)
{
    struct worker *worker = &cores->workers[cores->worker_of[rank]];
    if (worker->is_idle)
        worker->clock_ns = fmin(worker->clock_ns, visible_ns(cores, op, rank));
}

/* How many operations of a lane a worker executes as one: those that are joined, as far as they could be executed now. */
static uint32_t joined_count(const struct cores *cores, const struct worker *worker,
                             const struct lane *lane)
{
    const uint32_t *ops = &cores->lane_ops[lane->next];
    uint32_t count = 1;
    while (lane->next + count < lane->end &&
           ronde_sim_operands_are_joined(&cores->operands, ops[count - 1]) &&
           ready_ns(cores, ops[count], ops[count - 1]) <= worker->clock_ns)
        count++;
    return count;
}

static bool receives_message(const struct ronde_dag *dag, uint32_t op)
{
    return dag->ops[op].edge_count > 0 && dag->edges[dag->ops[op].first_edge].is_message;
}

/* What a step costs the worker. */
static void spend(struct cores *cores, struct worker *worker, struct ronde_sim_turn turn,
                  uint32_t op)
{
    const struct ronde_dag *dag = cores->scene.dag;
    const uint32_t actor = ronde_sim_operands_actor(&cores->operands, op);
    if (cores->scene.options->out_start_ns)
        cores->scene.options->out_start_ns[op] = worker->clock_ns;
    worker->clock_ns += cores->step_ns;
    if (turn.core > 0 && !cores->has_begun[actor])
        worker->clock_ns += cores->start_ns;
    cores->has_begun[actor] = true;
    if (receives_message(dag, op) &&
        cores->worker_of[dag->ops[dag->edges[dag->ops[op].first_edge].op].src] != turn.core)
        worker->clock_ns += cores->line_ns;
    worker->clock_ns += ronde_sim_operands_move(&cores->operands, &cores->caches, turn, op);
}

/* Executes steps as one; all are over when the last is, and workers that may wait for them poll again. */
static void execute(struct cores *cores, struct worker *worker, const uint32_t *ops, uint32_t count)
{
    const struct ronde_dag *dag = cores->scene.dag;
    const uint32_t core = (uint32_t)(worker - cores->workers);
    for (uint32_t k = 0; k < count; k++)
        spend(cores, worker, (struct ronde_sim_turn){core, k > 0, k + 1 < count}, ops[k]);
    for (uint32_t k = 0; k < count; k++) {
        const struct ronde_dag_op *self = &dag->ops[ops[k]];
        cores->end_ns[ops[k]] = worker->clock_ns;
        wake_worker(cores, ops[k], self->dst);
        if (receives_message(dag, ops[k]))
            wake_worker(cores, ops[k], dag->ops[dag->edges[self->first_edge].op].src);
    }
}

/* A sweep is over. Without a step in it the worker goes on when the first of its lanes can. */
static void end_sweep(struct cores *cores, struct worker *worker)
{
    double wake_ns = INFINITY;
    worker->lane = worker->first_lane;
    for (uint32_t l = worker->first_lane; l < worker->end_lane && !worker->has_moved; l++)
        if (cores->lanes[l].next < cores->lanes[l].end)
            wake_ns =
                fmin(wake_ns, ready_ns(cores, cores->lane_ops[cores->lanes[l].next], RONDE_NONE));
    worker->is_idle = !worker->has_moved;
    if (worker->is_idle)
        worker->clock_ns = fmax(worker->clock_ns, wake_ns);
    worker->has_moved = false;
}

/* One poll of one lane. */
static void poll(struct cores *cores, struct worker *worker)
{
    worker->is_idle = false;
    if (worker->lane == worker->end_lane) {
        end_sweep(cores, worker);
        return;
    }
    struct lane *lane = &cores->lanes[worker->lane];
    const bool is_done = lane->next == lane->end;
    if (!is_done && worker->burst < RONDE_BURST_STEPS &&
        ready_ns(cores, cores->lane_ops[lane->next], RONDE_NONE) <= worker->clock_ns) {
        const uint32_t count = joined_count(cores, worker, lane);
        execute(cores, worker, &cores->lane_ops[lane->next], count);
        lane->next += count;
        worker->has_moved = true;
        worker->burst++;
        return;
    }
    if (!is_done && worker->burst < RONDE_BURST_STEPS)
        worker->clock_ns += cores->poll_ns;
    worker->burst = 0;
    worker->lane++;
}

/* The worker that polls next: nothing that happens later can change what it finds. */
static struct worker *next_worker(struct cores *cores)
{
    struct worker *next = &cores->workers[0];
    for (uint32_t w = 1; w < cores->worker_count; w++)
        if (cores->workers[w].clock_ns < next->clock_ns)
            next = &cores->workers[w];
    return next;
}

/* All lanes from their beginning; *out_end_ns is when the last operation is over. */
static enum ronde_status run(struct cores *cores, double *out_end_ns)
{
    enum ronde_status status = RONDE_OK;
    const uint32_t count = cores->scene.dag->op_count;
    double end_ns = 0;
    for (uint32_t op = 0; op < count; op++)
        cores->end_ns[op] = INFINITY;
    memset(cores->has_begun, 0, cores->operands.actor_count * sizeof *cores->has_begun);
    for (uint32_t l = 0; l < cores->lane_count; l++)
        cores->lanes[l].next = cores->lanes[l].first;
    for (uint32_t w = 0; w < cores->worker_count; w++) {
        struct worker *worker = &cores->workers[w];
        worker->clock_ns = w == 0 ? cores->begin_ns : cores->wake_ns;
        worker->lane = worker->first_lane;
        worker->burst = 0;
        worker->has_moved = false;
        worker->is_idle = false;
    }
    for (struct worker *next = next_worker(cores); status == RONDE_OK && next->clock_ns < INFINITY;
         next = next_worker(cores)) {
        poll(cores, next);
        status = ronde_sim_check_cancel(&cores->scene);
    }
    for (uint32_t op = 0; op < count; op++)
        end_ns = fmax(end_ns, cores->end_ns[op]);
    *out_end_ns = end_ns;
    return status;
}

/* Neighbouring ranks share a core, as the backend assigns them. */
static enum ronde_status make_workers(struct cores *cores)
{
    const uint32_t ranks = cores->scene.dag->ranks;
    const uint32_t usable = ronde_platform_facts(cores->scene.platform)->shared.cores;
    cores->worker_count = ranks < usable ? ranks : usable;
    cores->workers = ronde_store_new(&cores->store, cores->worker_count, sizeof *cores->workers);
    cores->worker_of = ronde_store_new(&cores->store, ranks, sizeof *cores->worker_of);
    cores->has_begun =
        ronde_store_new(&cores->store, cores->operands.actor_count, sizeof *cores->has_begun);
    if (cores->store.is_short)
        return ronde_sim_no_memory(&cores->scene);
    for (uint32_t w = 0; w < cores->worker_count; w++) {
        const uint64_t first = (uint64_t)ranks * w / cores->worker_count;
        const uint64_t end = (uint64_t)ranks * (w + 1) / cores->worker_count;
        for (uint64_t rank = first; rank < end; rank++)
            cores->worker_of[rank] = w;
    }
    return RONDE_OK;
}

/* Lanes in the order in which they are polled: rank, channel, lane. */
static uint32_t lane_of(const struct cores *cores, uint32_t op)
{
    const struct ronde_schedule *schedule = cores->operands.job->schedule;
    const struct ronde_dag_origin *origin = &cores->scene.dag->origins[op];
    return (cores->scene.dag->ops[op].src * schedule->channel_count + origin->channel) *
               schedule->max_lane_count +
           origin->lane;
}

/* The operations of a lane are in the order of the graph, which is theirs. */
static enum ronde_status make_lanes(struct cores *cores)
{
    const struct ronde_dag *dag = cores->scene.dag;
    const struct ronde_schedule *schedule = cores->operands.job->schedule;
    const uint32_t rank_lanes = schedule->channel_count * schedule->max_lane_count;
    uint32_t first = 0;
    cores->lane_count = dag->ranks * rank_lanes;
    cores->lanes = ronde_store_new(&cores->store, cores->lane_count, sizeof *cores->lanes);
    cores->lane_ops = ronde_store_new(&cores->store, dag->op_count, sizeof *cores->lane_ops);
    cores->end_ns = ronde_store_new(&cores->store, dag->op_count, sizeof *cores->end_ns);
    if (cores->store.is_short)
        return ronde_sim_no_memory(&cores->scene);
    for (uint32_t op = 0; op < dag->op_count; op++)
        cores->lanes[lane_of(cores, op)].end++;
    for (uint32_t l = 0; l < cores->lane_count; l++) {
        const uint32_t count = cores->lanes[l].end;
        cores->lanes[l] = (struct lane){first, first, first};
        first += count;
    }
    for (uint32_t op = 0; op < dag->op_count; op++)
        cores->lane_ops[cores->lanes[lane_of(cores, op)].end++] = op;
    for (uint32_t rank = dag->ranks; rank-- > 0;) {
        cores->workers[cores->worker_of[rank]].first_lane = rank * rank_lanes;
    }
    for (uint32_t rank = 0; rank < dag->ranks; rank++)
        cores->workers[cores->worker_of[rank]].end_lane = (rank + 1) * rank_lanes;
    return RONDE_OK;
}

/* Counts what each core will touch, so that no touch needs memory. */
static enum ronde_status make_caches(struct cores *cores)
{
    const struct ronde_dag *dag = cores->scene.dag;
    const uint64_t most = (uint64_t)cores->operands.runs * RONDE_SIM_TOUCHES *
                          cores->operands.job->schedule->max_chunk_count;
    uint32_t *touches = ronde_store_new(&cores->store, cores->worker_count, sizeof *touches);
    bool fits = touches != NULL && most * dag->op_count < UINT32_MAX;
    for (uint32_t op = 0; fits && op < dag->op_count; op++)
        touches[cores->worker_of[dag->ops[op].src]] += (uint32_t)most;
    fits = fits && ronde_sim_caches_make(&cores->caches, cores->operands.segment_count,
                                         cores->worker_count, touches, &cores->store);
    return fits ? RONDE_OK : ronde_sim_no_memory(&cores->scene);
}

static enum ronde_status prepare(struct cores *cores)
{
    if (!ronde_sim_operands_make(&cores->operands, &cores->store))
        return ronde_sim_no_memory(&cores->scene);
    RONDE_TRY(make_workers(cores));
    RONDE_TRY(make_lanes(cores));
    return make_caches(cores);
}

/* What an engine of one machine requires of it. */
static enum ronde_status check_platform(const struct ronde_platform *platform,
                                        struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    if (ronde_platform_has_caches(platform))
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "%s: %s; ronde calibrate --backend cpu writes a file with both",
                      ronde_platform_path(platform),
                      facts->shared.cores == 0 ? "ranks share no cores (ronde.cores)"
                                               : "nothing is known of its caches "
                                                 "(ronde.read_curve and its like)");
}

/*
 * How a run begins. The ping-pong that measured the launch is begun by the caller's core, and while its first message is on
 * the way the other core wakes: what is left of it at no hop is less than waking takes, by up to a hop. Files that do not
 * say what waking takes have one sum for both.
 */
static void find_beginning(struct cores *cores, const struct ronde_cache_facts *facts)
{
    const double launch_ns = cores->scene.dag->launch_ns;
    if (facts->wake_ns <= 0) {
        cores->launch_ns = fmax(launch_ns - cores->start_ns, 0.0);
        return;
    }
    cores->begin_ns = fmin(launch_ns, facts->wake_ns + cores->start_ns);
    cores->wake_ns = facts->wake_ns;
}

/*
 * A hop between cores, as a short ping-pong measures it, is the step's own time, two lines that the receiver fetches (the
 * counter and the data), and whatever is left: that is how long a changed counter takes to arrive while both cores do
 * something else.
 */
static enum ronde_status find_flight(struct cores *cores)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(cores->scene.platform);
    const struct ronde_curve *curve = &facts->caches.cross_copy;
    struct ronde_network network;
    bool is_uniform;
    RONDE_TRY(ronde_platform_network(cores->scene.platform, cores->scene.dag->ranks, 0, &network,
                                     &is_uniform, cores->scene.error));
    cores->step_ns = facts->shared.core_step_ns;
    cores->poll_ns = facts->caches.poll_ns;
    cores->start_ns = facts->caches.start_ns;
    find_beginning(cores, &facts->caches);
    cores->line_ns = curve->bytes[0] / curve->GBps[0];
    cores->flight_ns = fmax(ronde_network_alpha_ns(&network) + facts->time.step_ns -
                                cores->step_ns - 2.0 * cores->line_ns,
                            0.0);
    return RONDE_OK;
}

enum ronde_status ronde_sim_cores(const struct ronde_sim_job *job, const struct ronde_dag *dag,
                                  const struct ronde_sim_options *options,
                                  const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                  struct ronde_error *error)
{
    options = options ? options : &ronde_sim_defaults;
    struct cores cores = {.scene = {job->platform, dag, options, mem, error},
                          .operands = {.job = job, .dag = dag},
                          .caches = {.facts = ronde_platform_facts(job->platform)},
                          .store = {.mem = mem}};
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = ronde_sim_check(job->platform, dag, options, error);
    RONDE_THEN(status, check_platform(job->platform, error));
    RONDE_THEN(status, ronde_sim_refuse_groups(dag, "cores", error));
    RONDE_THEN(status, find_flight(&cores));
    RONDE_THEN(status, prepare(&cores));
    for (uint32_t k = 0; status == RONDE_OK && k < cores.operands.runs; k++)
        status = run(&cores, &out_result->time_ns);
    out_result->time_ns += cores.launch_ns;
    if (status == RONDE_OK && options->out_finish_ns)
        memcpy(options->out_finish_ns, cores.end_ns, dag->op_count * sizeof *cores.end_ns);
    out_result->engine = "cores";
    out_result->is_contention_free = true;
    ronde_store_clear(&cores.store);
    return status;
}
