/*
 * The network of the replay with packets: links as token buckets that serve packets in the order of their arrival.
 *
 * A bucket of B bytes and a rate r lets a packet of b bytes go once it has b tokens; it gains r a second and holds B at
 * most. With U, the time at which it will have worked off what has come at its rate (Turner's leaky bucket as a meter):
 *
 *     U0     = max(U, arrival)
 *     leaves = max(arrival, U0 + (b - B) / r)          U = U0 + b / r
 *
 * Where B holds no packet, the link is a cable: it has a packet for b / r, and takes it up as soon as it begins to arrive,
 * so that an idle one passes it on as it comes. A bucket waits for the end of a packet, and lets it go at once if B allows.
 *
 * A packet that arrives has the receiver acknowledge it, which takes a share of the way back (facts->reverse_share).
 */
#include "ports.h"
#include "sim/check.h"

#include <math.h>

/* Of a handshake, with everything around it. */
#define HANDSHAKE_BYTES 224.0

/* When a packet leaves a link at which it arrives. */
static double serve(struct ronde_sim_bucket *bucket, double at_ns, double bytes, double burst)
{
    if (bucket->rate_GBps == 0)
        return at_ns;
    const double begin_ns = ronde_sim_later(bucket->used_ns, at_ns);
    bucket->used_ns = begin_ns + bytes / bucket->rate_GBps;
    return ronde_sim_later(at_ns, begin_ns + (bytes - burst) / bucket->rate_GBps);
}

double ronde_sim_net_waking_ns(const struct ronde_sim_net *net, double bytes)
{
    const double more_ns = net->facts->jitter_GBps > 0 ? bytes / net->facts->jitter_GBps : 0.0;
    return net->facts->jitter_ns + more_ns;
}

/* The way of what wakes its receiver: the rest of its latency is what it takes that to wake, in the mean. */
static double way_ns(const struct ronde_sim_net *net, const struct ronde_sim_route *way,
                     double bytes)
{
    return fmax(way->path.latency_ns - ronde_sim_net_waking_ns(net, bytes), 0.0);
}

/* A link of a way. */
static struct ronde_sim_bucket *bucket_at(const struct ronde_sim_net *net,
                                          const struct ronde_sim_route *way, uint32_t hop)
{
    return &net->buckets[net->ways.hops[way->first_hop + hop]];
}

/* Bytes of a packet; a message of nothing is one packet of nothing. */
static double packet_bytes(const struct ronde_sim_net *net, uint64_t bytes, uint32_t packet)
{
    const double whole = net->facts->segment_bytes;
    const double left = (double)bytes - packet * whole;
    return whole > 0 && left > whole ? whole : left;
}

static bool is_last(const struct ronde_sim_net *net, uint64_t bytes, uint32_t packet)
{
    const double whole = net->facts->segment_bytes;
    return whole == 0 || (double)bytes <= (packet + 1.0) * whole;
}

/* What a message's way is, */
static const struct ronde_sim_route *route_of(const struct ronde_sim_net *net, uint32_t op)
{
    return &net->ways.all[net->routes.of_op[op]];
}

/* and the way back. */
static const struct ronde_sim_route *back_of(const struct ronde_sim_net *net, uint32_t op)
{
    return &net->ways.all[net->back_of[net->routes.of_op[op]]];
}

/* A bucket that held no packet would never let one go. */
static bool is_cable(const struct ronde_sim_net *net)
{
    return net->facts->burst_bytes == 0 || net->facts->burst_bytes < net->facts->segment_bytes;
}

/* What stands around a message beside its data goes with its last packet. */
static double head_bytes(const struct ronde_sim_net *net, uint64_t bytes, uint32_t packet)
{
    return is_last(net, bytes, packet) ? net->facts->header_bytes : 0.0;
}

/*
 * What a link passes at once of a packet with so much around its data. A cable takes its time for that, too, which is in
 * the latency: that is measured with messages that are little else.
 */
static double burst_of(const struct ronde_sim_net *net, double head)
{
    return is_cable(net) ? head : net->facts->burst_bytes;
}

/*
 * When a packet whose end leaves a link of its way comes to the next: its beginning does at a cable, but not before this
 * link passed that on, nor so early that the next one would be done with it before its end is there.
 */
static double comes_ns(const struct ronde_sim_net *net, const struct ronde_sim_route *way,
                       uint32_t next_hop, double bytes, double leaves_ns)
{
    if (next_hop >= way->hop_count || !is_cable(net))
        return leaves_ns;
    const double rate_GBps = fmax(bucket_at(net, way, next_hop - 1)->rate_GBps,
                                  bucket_at(net, way, next_hop)->rate_GBps);
    return rate_GBps > 0 ? leaves_ns - bytes / rate_GBps : leaves_ns;
}

bool ronde_sim_net_post(struct ronde_sim_net *net, uint32_t op, double at_ns)
{
    const struct ronde_sim_route *route = route_of(net, op);
    const uint64_t bytes = net->scene->dag->ops[op].bytes;
    bool fits = true;
    if (route->hop_count == 0)
        return ronde_sim_queue_push(&net->queue, at_ns + way_ns(net, route, (double)bytes),
                                    (struct ronde_sim_arrival){at_ns, op, 0, RONDE_SIM_DELIVERY});
    struct ronde_sim_bucket *first = bucket_at(net, route, 0);
    for (uint32_t packet = 0; fits; packet++) {
        const double part = packet_bytes(net, bytes, packet);
        const double head = head_bytes(net, bytes, packet);
        const double leaves_ns = serve(first, at_ns, part + head, burst_of(net, head));
        const double next_ns = ronde_sim_later(at_ns, comes_ns(net, route, 1, part, leaves_ns));
        fits = ronde_sim_queue_push(&net->queue, next_ns + way_ns(net, route, (double)bytes),
                                    (struct ronde_sim_arrival){at_ns, op, packet, 1});
        if (is_last(net, bytes, packet))
            break;
    }
    return fits;
}

/* Acknowledgements queue behind whatever goes their way, and count at both of its ends. */
static void acknowledge(struct ronde_sim_net *net, uint32_t op, double at_ns, double bytes)
{
    const struct ronde_sim_route *back = back_of(net, op);
    const double share = bytes * net->facts->reverse_share;
    if (back->hop_count == 0 || share == 0)
        return;
    (void)serve(bucket_at(net, back, 0), at_ns, share, share);
    if (back->hop_count > 1)
        (void)serve(bucket_at(net, back, back->hop_count - 1), at_ns, share, share);
}

double *ronde_sim_net_processor(const struct ronde_sim_net *net)
{
    double *free_ns = net->processors;
    for (uint32_t i = 1; i < net->processor_count; i++)
        if (net->processors[i] < *free_ns)
            free_ns = &net->processors[i];
    return free_ns;
}

/*
 * What carries the packets of all hosts (a switch that is a program, the kernel they share) does so on the processors
 * that there are. A packet that arrives alone is not delayed; that is part of the latency.
 */
static double pass_switch(struct ronde_sim_net *net, double at_ns)
{
    double *free_ns = ronde_sim_net_processor(net);
    if (net->facts->switch_ns == 0)
        return at_ns;
    at_ns = ronde_sim_later(at_ns, *free_ns);
    *free_ns = at_ns + net->facts->switch_ns;
    return at_ns;
}

bool ronde_sim_net_pass(struct ronde_sim_net *net, double at_ns,
                        const struct ronde_sim_arrival *packet)
{
    const struct ronde_sim_route *route = route_of(net, packet->op);
    const uint64_t message_bytes = net->scene->dag->ops[packet->op].bytes;
    const double bytes = packet_bytes(net, message_bytes, packet->kind);
    const double head = head_bytes(net, message_bytes, packet->kind);
    const double burst =
        is_cable(net) ? head : ronde_sim_later(bytes + head, net->facts->burst_bytes);
    struct ronde_sim_arrival next = *packet;
    if (packet->hop == 1)
        at_ns = pass_switch(net, at_ns);
    double leaves_ns = at_ns;
    if (packet->hop < route->hop_count)
        leaves_ns = serve(bucket_at(net, route, packet->hop), at_ns, bytes + head, burst);
    next.hop++;
    if (next.hop < route->hop_count)
        return ronde_sim_queue_push(&net->queue,
                                    ronde_sim_later(at_ns, comes_ns(net, route, next.hop, bytes,
                                                                    leaves_ns)),
                                    next);
    acknowledge(net, packet->op, at_ns, bytes);
    if (!is_last(net, message_bytes, packet->kind))
        return true;
    next.hop = RONDE_SIM_DELIVERY;
    return ronde_sim_queue_push(&net->queue, leaves_ns, next);
}

/* A short message queues with all others where it is sent; what it takes itself is in the latency. When it arrives. */
static double send_note(struct ronde_sim_net *net, const struct ronde_sim_route *way, double bytes,
                        double at_ns)
{
    const double burst = ronde_sim_later(bytes, burst_of(net, 0.0));
    const double leaves_ns =
        way->hop_count > 0 ? serve(bucket_at(net, way, 0), at_ns, bytes, burst) : at_ns;
    return leaves_ns + way->path.latency_ns;
}

double ronde_sim_net_handshake(struct ronde_sim_net *net, uint32_t way, double at_ns)
{
    return send_note(net, &net->ways.all[way], HANDSHAKE_BYTES, at_ns);
}

bool ronde_sim_net_credit(struct ronde_sim_net *net, uint32_t op, double at_ns)
{
    const double there_ns = send_note(net, back_of(net, op), RONDE_SIM_CREDIT_BYTES, at_ns);
    return ronde_sim_queue_push(&net->queue, fmax(there_ns - net->facts->jitter_ns, at_ns),
                                (struct ronde_sim_arrival){at_ns, op, 0, RONDE_SIM_CREDIT});
}

/* Routes, which are distinct pairs, keep their numbers; the ways back that are none of them come behind. */
static enum ronde_status find_ways(struct ronde_sim_net *net)
{
    struct ronde_sim_search search = ronde_sim_search_for(net->scene, &net->ways);
    const uint32_t count = net->routes.count;
    uint32_t way = 0;
    net->back_of = ronde_mem_new(net->scene->mem, count, sizeof *net->back_of);
    enum ronde_status status =
        net->back_of ? ronde_sim_search_begin(&search) : ronde_sim_no_memory(net->scene);
    for (uint32_t i = 0; i < 2 * count && status == RONDE_OK; i++) {
        const uint64_t key = net->routes.all[i % count].key;
        const uint32_t ends[2] = {(uint32_t)(key >> 32), (uint32_t)key};
        const bool is_back = i >= count;
        status = ronde_sim_search_find(&search, ends[is_back], ends[!is_back], &way);
        if (is_back)
            net->back_of[i - count] = way;
    }
    ronde_sim_search_end(&search);
    return status;
}

enum ronde_status ronde_sim_net_make(const struct ronde_sim_scene *scene,
                                     struct ronde_sim_net *out_net)
{
    struct ronde_sim_net *net = out_net;
    net->scene = scene;
    net->facts = &ronde_platform_facts(scene->platform)->packets;
    net->queue.mem = scene->mem;
    net->processor_count = net->facts->processors > 0 ? net->facts->processors : 1;
    RONDE_TRY(ronde_sim_routes_make(scene, &net->routes));
    RONDE_TRY(find_ways(net));
    net->bucket_count = ronde_platform_link_count(scene->platform);
    net->buckets = ronde_mem_new(scene->mem, net->bucket_count, sizeof *net->buckets);
    net->processors = ronde_mem_new(scene->mem, net->processor_count, sizeof *net->processors);
    if (!net->buckets || !net->processors)
        return ronde_sim_no_memory(scene);
    for (uint32_t l = 0; l < net->bucket_count; l++) {
        const struct ronde_link *link = ronde_platform_link(scene->platform, l);
        /* The file's rate is what goes each way while both are busy: acknowledgements come on top of it. */
        net->buckets[l].rate_GBps =
            link->is_fatpipe ? 0 : link->rate_GBps * (1.0 + net->facts->reverse_share);
    }
    return RONDE_OK;
}

void ronde_sim_net_free(struct ronde_sim_net *net)
{
    if (!net->scene)
        return;
    const struct ronde_mem *mem = net->scene->mem;
    ronde_mem_free(mem, net->processors, net->processor_count, sizeof *net->processors);
    ronde_mem_free(mem, net->buckets, net->bucket_count, sizeof *net->buckets);
    ronde_mem_free(mem, net->back_of, net->routes.count, sizeof *net->back_of);
    ronde_sim_routes_free(&net->routes, mem);
    ronde_sim_routes_free(&net->ways, mem);
    ronde_sim_queue_free(&net->queue);
}
