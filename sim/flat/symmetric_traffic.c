/*
 * What a symmetric replay sends: totals for the utilisation of links, and the flows on links that the certificate has
 * to watch.
 */
#include "symmetric_run.h"

/* Bytes an operation sends at a folded position. */
static double bytes_at(const struct ronde_sim_run *run, uint32_t index,
                       const struct ronde_sim_parcel *parcel, uint32_t position)
{
    return run->quotient->is_uniform
               ? (double)run->quotient->dag->ops[index].bytes
               : parcel->bytes[ronde_sim_shifted(run, &parcel->shift, position)];
}

/* Records in the certificate the flows of an operation on the links that are watched. */
static void show_flows(struct ronde_sim_run *run, uint32_t index, uint32_t way,
                       const struct ronde_sim_parcel *parcel)
{
    const struct ronde_sim_traffic *traffic = &run->traffic[way];
    const double *finish_ns = ronde_sim_slot(run, run->plan.slot_of[index]);
    struct ronde_certificate *certificate = run->walk->certificate;
    struct ronde_flow flow = {0};
    double bytes = 0;
    uint32_t position = RONDE_NONE;
    for (size_t i = traffic->first_watch; i < traffic->first_watch + traffic->watch_count; i++) {
        const struct ronde_sim_watch *watch = &run->watches[i];
        if (watch->position != position) {
            position = watch->position;
            bytes = bytes_at(run, index, parcel, position);
            flow.rate_GBps = run->fold.each[way].rate_GBps[position];
            flow.end_ns = finish_ns[position];
            flow.start_ns = flow.end_ns - bytes / flow.rate_GBps;
        }
        if (bytes > 0 && run->walk->is_sweep)
            ronde_certificate_put(certificate, watch->link, &flow);
        else if (bytes > 0)
            ronde_certificate_note(certificate, watch->link, &flow);
    }
}

void ronde_sim_traffic_count(struct ronde_sim_run *run, uint32_t index)
{
    const uint32_t send = ronde_sim_send_of(run, index);
    if (send == RONDE_NONE)
        return;
    const uint32_t way = run->ways->way_of[send];
    struct ronde_sim_traffic *traffic = &run->traffic[way];
    struct ronde_sim_parcel parcel = {0};
    traffic->messages++;
    traffic->even_bytes += (double)run->quotient->dag->ops[index].bytes;
    if (!run->quotient->is_uniform) {
        uint32_t length;
        parcel = ronde_sim_parcel_of(run, index);
        for (uint32_t p = 0; p < run->count; p += length) {
            const double *bytes = parcel.bytes + ronde_sim_shifted(run, &parcel.shift, p);
            length = ronde_sim_run_length(&parcel.shift, p, (uint32_t)run->count);
            for (uint32_t i = 0; i < length; i++)
                traffic->bytes[p + i] += bytes[i];
        }
    }
    show_flows(run, index, way, &parcel);
}

/* Visits the links of all positions' routes of one offset: counts those to watch, and lists them if there is room. */
static size_t list_watches(const struct ronde_sim_run *run, uint32_t way,
                           struct ronde_sim_watch *out_watches)
{
    const uint32_t *routes = ronde_sim_ways_at(run->ways, run->channel, way);
    size_t count = 0;
    for (uint32_t p = 0; p < run->fold.full.count; p++) {
        const struct ronde_sim_route *route = &run->ways->routes.all[routes[p]];
        for (uint32_t k = 0; k < route->hop_count; k++) {
            const uint32_t link = run->ways->routes.hops[route->first_hop + k];
            if (run->walk->certificate->uses[link].is_exempt)
                continue;
            if (out_watches)
                out_watches[count] = (struct ronde_sim_watch){run->fold.of[p], link};
            count++;
        }
    }
    return count;
}

/* What every link carried for one offset. */
static void add_cargo(const struct ronde_sim_run *run, uint32_t way)
{
    const uint32_t *routes = ronde_sim_ways_at(run->ways, run->channel, way);
    const struct ronde_sim_traffic *traffic = &run->traffic[way];
    for (uint32_t p = 0; p < run->fold.full.count; p++) {
        const struct ronde_sim_route *route = &run->ways->routes.all[routes[p]];
        const uint32_t *links = run->ways->routes.hops + route->first_hop;
        const double bytes = traffic->bytes ? traffic->bytes[run->fold.of[p]] : traffic->even_bytes;
        for (uint32_t k = 0; k < route->hop_count; k++)
            ronde_certificate_carry(run->walk->certificate, links[k], bytes, traffic->messages);
    }
}

/* Lists the links to watch. */
static bool make_watches(struct ronde_sim_run *run)
{
    for (uint32_t way = 0; way < run->ways->offset_count; way++) {
        run->traffic[way].first_watch = run->watch_count;
        run->traffic[way].watch_count = list_watches(run, way, NULL);
        run->watch_count += run->traffic[way].watch_count;
    }
    run->watches = ronde_store_new(&run->store, run->watch_count, sizeof *run->watches);
    for (uint32_t way = 0; run->watches && way < run->ways->offset_count; way++)
        (void)list_watches(run, way, run->watches + run->traffic[way].first_watch);
    return !run->store.is_short;
}

/* Vectors of the offsets: flows where rates differ, bytes where chunks do. */
static bool make_numbers(struct ronde_sim_run *run)
{
    const uint32_t ways = run->ways->offset_count;
    run->traffic = ronde_store_new(&run->store, ways, sizeof *run->traffic);
    run->numbers = ronde_store_new(&run->store, 2 * (size_t)ways * run->count, sizeof *run->numbers);
    if (run->store.is_short)
        return false;
    for (uint32_t way = 0; way < ways; way++) {
        double *numbers = run->numbers + 2 * (size_t)way * run->count;
        run->traffic[way].flow_ns = numbers;
        run->traffic[way].bytes = run->quotient->is_uniform ? NULL : numbers + run->count;
    }
    return true;
}

bool ronde_sim_traffic_make(struct ronde_sim_run *run)
{
    return make_numbers(run) && make_watches(run);
}

void ronde_sim_traffic_carry(const struct ronde_sim_run *run)
{
    for (uint32_t way = 0; way < run->ways->offset_count; way++)
        add_cargo(run, way);
}
