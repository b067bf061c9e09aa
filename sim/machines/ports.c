/*
 * Replay with packets: hosts that run schedules the way the executor between hosts does, and ports that serve packets.
 *
 * The time model lets a lane wait until its bytes have left. An executor with slots does not: what is sent waits in a
 * slot, then in a socket, then at the port, in the order in which it was posted, and the lane goes on. Where ports are
 * overloaded, as in trees, that order decides which message is late, so it is replayed rather than averaged:
 *
 *  - Hosts exchange handshakes when they begin (hw/comm/run_handshake.c): one sends at once, but takes no message
 *    before the handshakes of all its senders have come, and none is done before it has those of all its peers.
 *  - A host is one processor. It sweeps over its lanes, up to a burst of steps of each, then posts what they have sent, one
 *    message of each connection in turns, and goes on as long as there is something to do. Then it sends credits for
 *    freed slots, and sleeps until something arrives.
 *  - A step takes its delay, and is over. Its message is cut into packets, which queue at every link (ports_net.c).
 *  - A freed slot can be used by the sender once the credit has arrived.
 *  - Hosts of a virtual cluster share the processors of one machine, and wait for one (facts->processors). How long a
 *    host that sleeps takes to wake is random (facts->jitter_ns): schedules that fall out of step do so by chance.
 *
 * Constants are those of the platform file. docs/results/validation.md compares with measurements.
 */
#include "ports.h"

#include "ronde/mix.h"

#include "engine/execute/burst.h"
#include "sim/check.h"

#include <math.h>
#include <string.h>

/*
 * Replays whose median is reported where hosts wake at random times: odd, and as many as a point of a measurement has
 * in a round.
 */
#define CHANCES 9u

/* Kinds of a successor, beside its index. */
#define MESSAGE 0x80000000u
#define CREDIT 0x40000000u
#define INDEX 0x3fffffffu

/* A message that a sweep has posted, and its turn. */
struct posted {
    uint32_t op;
    uint32_t turn; /* messages of its connection before it in this sweep */
};

/* A rank. */
struct host {
    double open_ns;       /* when it may begin */
    double handshakes_ns; /* when it may take messages */
    double wake_ns;       /* when it is to wake: an event at another time is out of date */
    double busy_ns;       /* until when its processor works */
    uint32_t lane;        /* its first; they end where the next host's begin */
    uint32_t freed;       /* operations whose credits are not sent yet, linked through `next_freed`:
                      index + 1 */
    bool is_to_wake;      /* there is an event for it */
    bool is_sweeping;
    bool has_sent_handshake; /* its first handshake */
    bool has_begun;          /* where processors are shared: it has got one */
};

/* A lane: its operations in order. */
struct lane {
    uint32_t next; /* into lane_ops */
    uint32_t end;
};

/* The state of a replay. */
struct ports {
    struct ronde_sim_scene scene;
    struct ronde_store store;
    struct ronde_sim_net net;
    uint32_t *waits;      /* per operation, predecessors that are not over */
    uint32_t *first_next; /* per operation and one more, into next */
    uint32_t *next;       /* successors, marked */
    uint32_t *next_freed; /* per operation: see host */
    struct host *hosts;   /* one more than ranks */
    struct lane *lanes;
    uint32_t lane_count;
    uint32_t *lane_ops; /* operations lane by lane */
    struct posted *posted;
    size_t posted_capacity;
    uint32_t posted_count;
    uint64_t chance; /* state of the generator of wake-up times */
    double begun_ns; /* when the last host began, where they share processors */
    double end_ns;
};

static const struct ronde_dag_op *op_at(const struct ports *ports, uint32_t op)
{
    return &ports->scene.dag->ops[op];
}

/* A host has something to poll; it does so when its processor is free. */
static bool wake(struct ports *ports, uint32_t rank, double at_ns)
{
    struct host *host = &ports->hosts[rank];
    const double when_ns = ronde_sim_later(ronde_sim_later(at_ns, host->open_ns), host->busy_ns);
    if (host->is_sweeping || (host->is_to_wake && host->wake_ns <= when_ns))
        return true;
    host->is_to_wake = true;
    host->wake_ns = when_ns;
    return ronde_sim_queue_push(&ports->net.queue, when_ns,
                                (struct ronde_sim_arrival){when_ns, rank, 0, RONDE_SIM_WAKING});
}

/* Between 0 and 1. */
static double draw(struct ports *ports)
{
    const uint64_t bits = ronde_mix64(ports->chance += RONDE_MIX_STEP);
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

/*
 * How long a host that sleeps takes to wake this time: exponential, so that the mean, which is in the latency, is the
 * standard deviation.
 */
static double draw_waking(struct ports *ports, double bytes)
{
    const double mean_ns = ronde_sim_net_waking_ns(&ports->net, bytes);
    return mean_ns > 0 ? -log(draw(ports)) * mean_ns : 0.0;
}

/*
 * How much later than the others a host begins: all begin by the clock, but with jitter a random draw decides which
 * gets a processor first. Roots of trees are no exception.
 */
static double draw_turn(struct ports *ports)
{
    return ports->net.facts->jitter_ns > 0 ? draw(ports) : 0.0;
}

/* One predecessor less: what came over the network, if `bytes` says so. A host that is awake finds it by polling. */
static bool satisfy(struct ports *ports, uint32_t op, double bytes, double at_ns)
{
    const uint32_t rank = op_at(ports, op)->src;
    if (--ports->waits[op] > 0 || ports->hosts[rank].is_sweeping)
        return true;
    return wake(ports, rank,
                ports->hosts[rank].is_to_wake ? at_ns : at_ns + draw_waking(ports, bytes));
}

/* What follows an operation on its own host may go on; the sender that waits for its slot gets a credit. */
static bool finish(struct ports *ports, uint32_t op, double at_ns)
{
    struct host *host = &ports->hosts[op_at(ports, op)->src];
    bool frees_slot = false;
    bool fits = true;
    for (uint32_t k = ports->first_next[op]; k < ports->first_next[op + 1] && fits; k++) {
        frees_slot |= (ports->next[k] & CREDIT) != 0;
        if ((ports->next[k] & (MESSAGE | CREDIT)) == 0)
            fits = satisfy(ports, ports->next[k], 0.0, at_ns);
    }
    if (frees_slot) {
        ports->next_freed[op] = host->freed;
        host->freed = op + 1;
    }
    if (ports->scene.options->out_finish_ns)
        ports->scene.options->out_finish_ns[op] = at_ns;
    ports->end_ns = ronde_sim_later(ports->end_ns, at_ns);
    return fits;
}

static bool is_same_connection(const struct ronde_dag *dag, uint32_t a, uint32_t b)
{
    return dag->origins[a].channel == dag->origins[b].channel &&
           dag->origins[a].send == dag->origins[b].send;
}

/* Records a message of this sweep, with its turn. */
static bool note_posted(struct ports *ports, uint32_t op)
{
    struct posted posted = {op, 0};
    if (!ronde_mem_grow(ports->scene.mem, &ports->posted, &ports->posted_capacity,
                        (size_t)ports->posted_count + 1, sizeof *ports->posted))
        return false;
    for (uint32_t i = 0; i < ports->posted_count; i++)
        posted.turn += is_same_connection(ports->scene.dag, ports->posted[i].op, op);
    ports->posted[ports->posted_count++] = posted;
    return true;
}

/* Whether an operation takes a message: that comes first among what it waits for. */
static bool receives(const struct ronde_dag *dag, uint32_t op)
{
    const struct ronde_dag_op *self = &dag->ops[op];
    return self->edge_count > 0 && dag->edges[self->first_edge].is_message;
}

/* The host's next step on a lane; false if it has to wait. */
static bool can_run(const struct ports *ports, const struct host *host, const struct lane *lane)
{
    if (lane->next == lane->end || ports->waits[ports->lane_ops[lane->next]] > 0)
        return false;
    return host->busy_ns >= host->handshakes_ns ||
           !receives(ports->scene.dag, ports->lane_ops[lane->next]);
}

static bool run_step(struct ports *ports, struct host *host, struct lane *lane)
{
    const uint32_t op = ports->lane_ops[lane->next++];
    if (ports->scene.options->out_start_ns)
        ports->scene.options->out_start_ns[op] = host->busy_ns;
    host->busy_ns += op_at(ports, op)->delay_ns;
    return finish(ports, op, host->busy_ns) &&
           (op_at(ports, op)->src == op_at(ports, op)->dst || note_posted(ports, op));
}

/* Whether a message goes before another of the same sweep. */
static bool is_before(const struct ronde_dag *dag, const struct posted *a, const struct posted *b)
{
    const struct ronde_dag_origin *left = &dag->origins[a->op], *right = &dag->origins[b->op];
    if (a->turn != b->turn)
        return a->turn < b->turn;
    return left->channel != right->channel ? left->channel < right->channel
                                           : left->send < right->send;
}

/* Posts what the lanes have sent: some few messages, sorted by insertion. */
static bool post_all(struct ports *ports, double at_ns)
{
    bool fits = true;
    for (uint32_t i = 1; i < ports->posted_count; i++) {
        const struct posted moved = ports->posted[i];
        uint32_t to = i;
        for (; to > 0 && is_before(ports->scene.dag, &moved, &ports->posted[to - 1]); to--)
            ports->posted[to] = ports->posted[to - 1];
        ports->posted[to] = moved;
    }
    for (uint32_t i = 0; i < ports->posted_count && fits; i++)
        fits = ronde_sim_net_post(&ports->net, ports->posted[i].op, at_ns);
    ports->posted_count = 0;
    return fits;
}

/* Nothing is left to do: sends the peers credits for the slots that are free again. */
static bool send_credits(struct ports *ports, struct host *host, double at_ns)
{
    bool fits = true;
    for (uint32_t freed = host->freed; freed != 0 && fits; freed = ports->next_freed[freed - 1])
        for (uint32_t k = ports->first_next[freed - 1]; k < ports->first_next[freed] && fits; k++)
            if ((ports->next[k] & CREDIT) != 0)
                fits = ronde_sim_net_credit(&ports->net, ports->next[k] & INDEX, at_ns);
    host->freed = 0;
    return fits;
}

/* Where hosts share processors, the one that a host works on next; NULL where each has its own. */
static double *processor_of(const struct ports *ports)
{
    return ports->net.facts->processors > 0 ? ronde_sim_net_processor(&ports->net) : NULL;
}

/*
 * A host takes up the processor it has got. Launches take processors, too, so that some hosts have sent before others
 * begin; a run is timed from when the last one does.
 */
static void take_up(struct ports *ports, struct host *host, double *processor_ns)
{
    host->busy_ns = ronde_sim_later(host->busy_ns, *processor_ns);
    if (host->has_begun)
        return;
    host->has_begun = true;
    ports->begun_ns = ronde_sim_later(ports->begun_ns, host->busy_ns);
    *processor_ns = host->busy_ns += ports->scene.dag->launch_ns;
}

/* One sweep. A host that found something to do sweeps again when it has done it. */
static bool sweep(struct ports *ports, uint32_t rank, double at_ns)
{
    struct host *host = &ports->hosts[rank];
    double *processor_ns = processor_of(ports);
    bool has_moved = false;
    bool fits = true;
    host->is_to_wake = false;
    host->is_sweeping = true;
    host->busy_ns = at_ns;
    if (processor_ns)
        take_up(ports, host, processor_ns);
    for (uint32_t l = host->lane; l < host[1].lane && fits; l++) {
        struct lane *lane = &ports->lanes[l];
        for (uint32_t step = 0; step < RONDE_BURST_STEPS && fits && can_run(ports, host, lane);
             step++) {
            fits = run_step(ports, host, lane);
            has_moved = true;
        }
    }
    host->is_sweeping = false;
    if (processor_ns && has_moved)
        *processor_ns = host->busy_ns;
    fits = fits && post_all(ports, host->busy_ns);
    if (has_moved)
        return fits && wake(ports, rank, host->busy_ns);
    if (host->busy_ns < host->handshakes_ns)
        fits = fits && wake(ports, rank, host->handshakes_ns);
    return fits && send_credits(ports, host, at_ns);
}

/* A message has arrived: the operation that consumes it may go on. */
static bool deliver(struct ports *ports, uint32_t op, double at_ns)
{
    bool fits = true;
    for (uint32_t k = ports->first_next[op]; k < ports->first_next[op + 1] && fits; k++)
        if ((ports->next[k] & MESSAGE) != 0)
            fits = satisfy(ports, ports->next[k] & INDEX, (double)op_at(ports, op)->bytes, at_ns);
    return fits;
}

/* Whether a host is still to wake at this time. */
static bool is_awaited(const struct host *host, double at_ns)
{
    return host->is_to_wake && !(host->wake_ns < at_ns) && !(host->wake_ns > at_ns);
}

static bool happen(struct ports *ports, double at_ns, const struct ronde_sim_arrival *event)
{
    switch (event->hop) {
    case RONDE_SIM_WAKING:
        return !is_awaited(&ports->hosts[event->op], at_ns) || sweep(ports, event->op, at_ns);
    case RONDE_SIM_DELIVERY:
        return deliver(ports, event->op, at_ns);
    case RONDE_SIM_CREDIT:
        return satisfy(ports, event->op, 0.0, at_ns);
    default:
        return ronde_sim_net_pass(&ports->net, at_ns, event);
    }
}

/* The earliest time at which a host begins. */
static double release_of(const struct ports *ports, uint32_t rank)
{
    const double *release_ns = ports->scene.options->release_ns;
    return release_ns ? release_ns[rank] : 0.0;
}

/*
 * Handshakes: from a host to all it has a route to or from. The time of its first one is in the
 * cost of a launch.
 */
static void send_handshakes(struct ports *ports)
{
    for (uint32_t rank = 0; rank < ports->scene.dag->ranks; rank++) {
        ports->hosts[rank].open_ns = release_of(ports, rank);
        ports->hosts[rank].handshakes_ns = ports->hosts[rank].open_ns;
    }
    for (uint32_t way = 0; way < ports->net.ways.count; way++) {
        const uint64_t key = ports->net.ways.all[way].key;
        struct host *from = &ports->hosts[key >> 32], *to = &ports->hosts[(uint32_t)key];
        if (from == to)
            continue;
        double there_ns = from->open_ns + ports->net.ways.all[way].path.latency_ns;
        if (from->has_sent_handshake)
            there_ns = ronde_sim_net_handshake(&ports->net, way, from->open_ns);
        from->has_sent_handshake = true;
        if (way < ports->net.routes.count)
            to->handshakes_ns = ronde_sim_later(to->handshakes_ns, there_ns);
        ports->end_ns = ronde_sim_later(ports->end_ns, there_ns);
    }
}

static enum ronde_status replay(struct ports *ports, struct ronde_sim_result *out_result)
{
    const struct ronde_sim_scene *scene = &ports->scene;
    const struct ronde_sim_arrival *batch;
    double at_ns;
    uint32_t count = 1;
    enum ronde_status status = RONDE_OK;
    bool fits = true;
    send_handshakes(ports);
    for (uint32_t rank = 0; rank < scene->dag->ranks && fits; rank++)
        fits = wake(ports, rank, ports->hosts[rank].open_ns + draw_turn(ports));
    while (fits && count > 0 && status == RONDE_OK) {
        status = ronde_sim_check_cancel(scene);
        fits = ronde_sim_queue_pop(&ports->net.queue, &at_ns, &batch, &count);
        for (uint32_t i = 0; fits && i < count; i++)
            fits = happen(ports, at_ns, &batch[i]);
    }
    if (!fits)
        return ronde_sim_no_memory(scene);
    if (status != RONDE_OK)
        return status;
    out_result->engine = "ports";
    out_result->time_ns = ports->net.facts->processors > 0 ? ports->end_ns - ports->begun_ns
                                                           : ports->end_ns + scene->dag->launch_ns;
    out_result->is_contention_free = true;
    return RONDE_OK;
}

/* Successors of every operation, from the predecessors that the graph lists. */
static void link_successors(struct ports *ports)
{
    const struct ronde_dag *dag = ports->scene.dag;
    for (uint32_t e = 0; e < dag->edge_count; e++)
        ports->first_next[dag->edges[e].op + 1]++;
    for (uint32_t op = 0; op < dag->op_count; op++)
        ports->first_next[op + 1] += ports->first_next[op];
    for (uint32_t op = 0; op < dag->op_count; op++)
        for (uint32_t k = 0; k < dag->ops[op].edge_count; k++) {
            const struct ronde_dag_edge *edge = &dag->edges[dag->ops[op].first_edge + k];
            const uint32_t kind = edge->is_message ? MESSAGE : edge->is_credit ? CREDIT : 0;
            ports->next[ports->first_next[edge->op]++] = op | kind;
            ports->waits[op]++;
        }
    /* Filling moved every beginning to its end, which is the next one's beginning. */
    for (uint32_t op = dag->op_count; op > 0; op--)
        ports->first_next[op] = ports->first_next[op - 1];
    ports->first_next[0] = 0;
}

/* Lanes of all ranks have the same numbers: as many channels as any rank has, and lanes of each. */
static uint32_t lane_of(const struct ports *ports, uint32_t op, const uint32_t shape[2])
{
    const struct ronde_dag_origin *origin = &ports->scene.dag->origins[op];
    return (op_at(ports, op)->src * shape[0] + origin->channel) * shape[1] + origin->lane;
}

static enum ronde_status make_lanes(struct ports *ports)
{
    const struct ronde_dag *dag = ports->scene.dag;
    uint32_t shape[2] = {1, 1};
    for (uint32_t op = 0; op < dag->op_count; op++) {
        const struct ronde_dag_origin *origin = &dag->origins[op];
        shape[0] = origin->channel >= shape[0] ? origin->channel + 1 : shape[0];
        shape[1] = origin->lane >= shape[1] ? origin->lane + 1 : shape[1];
    }
    ports->lane_count = dag->ranks * shape[0] * shape[1];
    ports->lanes = ronde_store_new(&ports->store, ports->lane_count, sizeof *ports->lanes);
    if (ports->store.is_short)
        return ronde_sim_no_memory(&ports->scene);
    for (uint32_t op = 0; op < dag->op_count; op++)
        ports->lanes[lane_of(ports, op, shape)].end++;
    for (uint32_t l = 0, first = 0; l < ports->lane_count; l++) {
        const uint32_t count = ports->lanes[l].end;
        ports->lanes[l] = (struct lane){first, first};
        first += count;
    }
    for (uint32_t op = 0; op < dag->op_count; op++)
        ports->lane_ops[ports->lanes[lane_of(ports, op, shape)].end++] = op;
    for (uint32_t rank = 0; rank <= dag->ranks; rank++)
        ports->hosts[rank].lane = rank * shape[0] * shape[1];
    return RONDE_OK;
}

static enum ronde_status prepare(struct ports *ports)
{
    const struct ronde_sim_scene *scene = &ports->scene;
    const struct ronde_dag *dag = scene->dag;
    ports->waits = ronde_store_new(&ports->store, dag->op_count, sizeof *ports->waits);
    ports->first_next =
        ronde_store_new(&ports->store, (size_t)dag->op_count + 1, sizeof *ports->first_next);
    ports->next = ronde_store_new(&ports->store, dag->edge_count, sizeof *ports->next);
    ports->next_freed = ronde_store_new(&ports->store, dag->op_count, sizeof *ports->next_freed);
    ports->lane_ops = ronde_store_new(&ports->store, dag->op_count, sizeof *ports->lane_ops);
    ports->hosts = ronde_store_new(&ports->store, (size_t)dag->ranks + 1, sizeof *ports->hosts);
    if (ports->store.is_short)
        return ronde_sim_no_memory(scene);
    link_successors(ports);
    RONDE_TRY(make_lanes(ports));
    return ronde_sim_net_make(scene, &ports->net);
}

static void release(struct ports *ports)
{
    const struct ronde_mem *mem = ports->scene.mem;
    ronde_sim_net_free(&ports->net);
    ronde_store_clear(&ports->store);
    ronde_mem_free(mem, ports->posted, ports->posted_capacity, sizeof *ports->posted);
}

/* One replay, with one random seed. */
static enum ronde_status replay_once(const struct ronde_sim_scene *scene, uint64_t chance,
                                     struct ronde_sim_result *out_result)
{
    struct ports ports = {.scene = *scene, .store = {.mem = scene->mem}, .chance = chance << 32};
    enum ronde_status status = prepare(&ports);
    RONDE_THEN(status, replay(&ports, out_result));
    release(&ports);
    return status;
}

/*
 * The replay whose time is in the middle of several, each with its own seed; without jitter all of
 * them are one.
 */
static enum ronde_status replay_median(const struct ronde_sim_scene *scene,
                                       struct ronde_sim_result *out_result)
{
    double sorted_ns[CHANCES];
    uint64_t sorted[CHANCES];
    enum ronde_status status = RONDE_OK;
    if (ronde_platform_facts(scene->platform)->packets.jitter_ns == 0)
        return replay_once(scene, 0, out_result);
    for (uint32_t i = 0; status == RONDE_OK && i < CHANCES; i++) {
        uint32_t to = i;
        status = replay_once(scene, i, out_result);
        for (; to > 0 && sorted_ns[to - 1] > out_result->time_ns; to--) {
            sorted_ns[to] = sorted_ns[to - 1];
            sorted[to] = sorted[to - 1];
        }
        sorted_ns[to] = out_result->time_ns;
        sorted[to] = i;
    }
    /* Once more, so that the times of its operations are the ones that are kept. */
    return status == RONDE_OK ? replay_once(scene, sorted[CHANCES / 2], out_result) : status;
}

enum ronde_status ronde_sim_ports(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                  const struct ronde_sim_options *options,
                                  const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                  struct ronde_error *error)
{
    options = options ? options : &ronde_sim_defaults;
    const struct ronde_sim_scene scene = {platform, dag, options, mem, error};
    memset(out_result, 0, sizeof *out_result);
    RONDE_TRY(ronde_sim_check(platform, dag, options, error));
    RONDE_TRY(ronde_sim_refuse_shared(platform, "ports", error));
    RONDE_TRY(ronde_sim_refuse_groups(dag, "ports", error));
    if (dag->op_count > INDEX || (dag->op_count > 0 && !dag->origins))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "ports replays named graphs of up to %u operations (%u given)", INDEX,
                          dag->op_count);
    return replay_median(&scene, out_result);
}
