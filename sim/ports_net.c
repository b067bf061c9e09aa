/*
 * The network of the replay with packets: links as token buckets that serve packets in the order of their arrival.
 *
 * A bucket of B bytes and a rate r lets a packet of b bytes go once it has b tokens; it gains r a second and holds B at
 * most. With U, the time at which it will have worked off what has come at its rate (Turner's leaky bucket as a meter):
 *
 *     U0     = max(U, arrival)
 *     leaves = max(arrival, U0 + (b - B) / r)          U = U0 + b / r
 *
 * B = 0 is a cable, which takes b / r for a packet. Behind the first link B is at least a whole packet: the link before
 * has stretched it already, and a port that is idle passes it on as it comes.
 *
 * A packet that arrives has the receiver acknowledge it, which takes a share of the way back (facts->reverse_share).
 */
#include "check.h"
#include "ports.h"

#include <math.h>

/* Of a message that only says that slots are free, with everything around it. */
#define CREDIT_BYTES 128.0

/* When a packet leaves a link at which it arrives. */
static double serve(struct ronde_sim_bucket *bucket, double at_ns, double bytes, double burst)
{
    if (bucket->rate_GBps == 0)
        return at_ns;
    const double begin_ns = ronde_sim_later(bucket->used_ns, at_ns);
    bucket->used_ns = begin_ns + bytes / bucket->rate_GBps;
    return ronde_sim_later(at_ns, begin_ns + (bytes - burst) / bucket->rate_GBps);
}

static struct ronde_sim_bucket *bucket_at(const struct ronde_sim_net *net,
                                          const struct ronde_sim_routes *routes,
                                          const struct ronde_sim_route *route, uint32_t hop)
{
    return &net->buckets[routes->hops[route->first_hop + hop]];
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

/* What a message's way is. */
static const struct ronde_sim_route *route_of(const struct ronde_sim_net *net, uint32_t op)
{
    return &net->routes.all[net->routes.of_op[op]];
}

bool ronde_sim_net_post(struct ronde_sim_net *net, uint32_t op, double at_ns)
{
    const struct ronde_sim_route *route = route_of(net, op);
    const uint64_t bytes = net->scene->dag->ops[op].bytes;
    bool fits = true;
    if (route->hop_count == 0)
        return ronde_sim_queue_push(&net->queue, at_ns + route->path.latency_ns,
                                    (struct ronde_sim_arrival){at_ns, op, 0, RONDE_SIM_DELIVERY});
    struct ronde_sim_bucket *first = bucket_at(net, &net->routes, route, 0);
    for (uint32_t packet = 0; fits; packet++) {
        const double leaves_ns =
            serve(first, at_ns, packet_bytes(net, bytes, packet), net->facts->burst_bytes);
        fits = ronde_sim_queue_push(&net->queue, leaves_ns + route->path.latency_ns,
                                    (struct ronde_sim_arrival){at_ns, op, packet, 1});
        if (is_last(net, bytes, packet))
            break;
    }
    return fits;
}

/* Acknowledgements queue behind whatever goes their way, and count at both of its ends. */
static void acknowledge(struct ronde_sim_net *net, uint32_t op, double at_ns, double bytes)
{
    const struct ronde_sim_route *back = &net->back.all[net->routes.of_op[op]];
    const double share = bytes * net->facts->reverse_share;
    if (back->hop_count == 0 || share == 0)
        return;
    (void)serve(bucket_at(net, &net->back, back, 0), at_ns, share, share);
    if (back->hop_count > 1)
        (void)serve(bucket_at(net, &net->back, back, back->hop_count - 1), at_ns, share, share);
}

/*
 * What carries the packets of all hosts (a switch that is a program, the kernel they share) takes them one by one: none
 * follows another sooner than that takes. Who comes alone is not delayed; that is part of the latency.
 */
static double pass_switch(struct ronde_sim_net *net, double at_ns, double bytes)
{
    const struct ronde_packet_facts *facts = net->facts;
    const double takes_ns =
        facts->switch_ns + (facts->switch_GBps > 0 ? bytes / facts->switch_GBps : 0.0);
    if (takes_ns > 0)
        net->switched_ns = at_ns = ronde_sim_later(at_ns, net->switched_ns + takes_ns);
    return at_ns;
}

bool ronde_sim_net_pass(struct ronde_sim_net *net, double at_ns,
                        const struct ronde_sim_arrival *packet)
{
    const struct ronde_sim_route *route = route_of(net, packet->op);
    const uint64_t message_bytes = net->scene->dag->ops[packet->op].bytes;
    const double bytes = packet_bytes(net, message_bytes, packet->kind);
    struct ronde_sim_arrival next = *packet;
    if (packet->hop == 1)
        at_ns = pass_switch(net, at_ns, bytes);
    double leaves_ns = at_ns;
    if (packet->hop < route->hop_count)
        leaves_ns = serve(bucket_at(net, &net->routes, route, packet->hop), at_ns, bytes,
                          ronde_sim_later(bytes, ronde_sim_later(net->facts->segment_bytes,
                                                                 net->facts->burst_bytes)));
    next.hop++;
    if (next.hop < route->hop_count)
        return ronde_sim_queue_push(&net->queue, leaves_ns, next);
    acknowledge(net, packet->op, at_ns, bytes);
    if (!is_last(net, message_bytes, packet->kind))
        return true;
    next.hop = RONDE_SIM_DELIVERY;
    return ronde_sim_queue_push(&net->queue, leaves_ns, next);
}

bool ronde_sim_net_credit(struct ronde_sim_net *net, uint32_t op, double at_ns)
{
    const struct ronde_sim_route *back = &net->back.all[net->routes.of_op[op]];
    double leaves_ns = at_ns;
    if (back->hop_count > 0)
        leaves_ns = serve(bucket_at(net, &net->back, back, 0), at_ns, CREDIT_BYTES,
                          ronde_sim_later(CREDIT_BYTES, net->facts->burst_bytes));
    return ronde_sim_queue_push(&net->queue, leaves_ns + back->path.latency_ns,
                                (struct ronde_sim_arrival){at_ns, op, 0, RONDE_SIM_CREDIT});
}

/* The way back of every route, numbered alike: routes are distinct pairs, and so are their reverses. */
static enum ronde_status find_back(struct ronde_sim_net *net)
{
    struct ronde_sim_search search = ronde_sim_search_for(net->scene, &net->back);
    enum ronde_status status = ronde_sim_search_begin(&search);
    for (uint32_t i = 0; i < net->routes.count && status == RONDE_OK; i++) {
        const uint64_t key = net->routes.all[i].key;
        uint32_t unused = 0;
        status = ronde_sim_search_find(&search, (uint32_t)key, (uint32_t)(key >> 32), &unused);
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
    net->switched_ns = -INFINITY;
    enum ronde_status status = ronde_sim_routes_make(scene, &net->routes);
    if (status == RONDE_OK)
        status = find_back(net);
    if (status != RONDE_OK)
        return status;
    net->bucket_count = ronde_platform_link_count(scene->platform);
    net->buckets = ronde_mem_new(scene->mem, net->bucket_count, sizeof *net->buckets);
    if (!net->buckets)
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
    ronde_mem_free(mem, net->buckets, net->bucket_count, sizeof *net->buckets);
    ronde_sim_routes_free(&net->routes, mem);
    ronde_sim_routes_free(&net->back, mem);
    ronde_sim_queue_free(&net->queue);
}
