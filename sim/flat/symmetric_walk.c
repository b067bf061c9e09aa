/*
 * The recurrence on vectors: one operation of the quotient is one vector of finish times over all (folded) positions,
 *
 *   F_s[p] = max(F of the lane's step before [p], F of dependencies [p], F of the sender [p - d] + alpha[p - d],
 *                F of the receive that frees the slot [p + d], release[p]) + delay + bytes[p] / rate[p -> p + d].
 *
 * The edges are those of the graph and every element is computed by the same operations in the same order, so the times
 * are equal to the last bit. Positions are worked on in tiles that stay in the nearest cache while edge after edge is
 * added to them.
 */
#include "symmetric_run.h"

#include <math.h>
#include <string.h>

/* Positions worked on at once: 8 KiB of times. */
#define TILE 1024u

/* The predecessors of an operation, ready for all positions. */
static void find_sources(struct ronde_sim_run *run, uint32_t index)
{
    const struct ronde_dag *dag = run->quotient->dag;
    const struct ronde_dag_op *op = &dag->ops[index];
    for (uint32_t i = 0; i < op->edge_count; i++) {
        const struct ronde_dag_edge *edge = &dag->edges[op->first_edge + i];
        struct ronde_sim_source *source = &run->sources[i];
        const uint32_t offset = ronde_quotient_offset(run->quotient, index, edge);
        const uint32_t folded = ronde_sim_group_map(&run->fold.full, &run->fold.folded, offset);
        source->times = ronde_sim_slot(run, run->plan.slot_of[edge->op]);
        source->shift = ronde_sim_group_shift(&run->fold.folded, folded);
        source->way = edge->is_message
                          ? &run->fold.each[run->ways->way_of[ronde_sim_send_of(run, edge->op)]]
                          : NULL;
    }
}

/* Lets a tile of an operation wait for one predecessor. */
static void wait_for(const struct ronde_sim_run *run, const struct ronde_sim_source *source,
                     double *out, uint32_t first, uint32_t end)
{
    uint32_t length;
    for (uint32_t p = first; p < end; p += length) {
        const uint32_t q = ronde_sim_shifted(run, &source->shift, p);
        length = ronde_sim_run_length(&source->shift, p, end);
        if (!source->way)
            run->kernels->max(out + p, source->times + q, length);
        else if (source->way->is_latency_even)
            run->kernels->max_plus(out + p, source->times + q, source->way->latency_ns[0], length);
        else
            run->kernels->max_plus_each(out + p, source->times + q, source->way->latency_ns + q,
                                        length);
    }
}

/*
 * The earliest start of a tile: releases, zero, or the step before on the lane, which is the last predecessor and has
 * waited for its release. Returns how many predecessors are left.
 */
static uint32_t begin_tile(const struct ronde_sim_run *run, uint32_t edges, double *out,
                           uint32_t first, uint32_t end)
{
    const size_t bytes = (end - first) * sizeof *out;
    const struct ronde_sim_source *before = edges > 0 ? &run->sources[edges - 1] : NULL;
    if (before && !before->way && before->shift.offset == 0)
        memcpy(out + first, before->times + first, bytes);
    else if (run->fold.release_ns)
        memcpy(out + first, run->fold.release_ns + first, bytes);
    else
        memset(out + first, 0, bytes);
    return before && !before->way && before->shift.offset == 0 ? edges - 1 : edges;
}

/* Flows of equal messages over routes of different rates; most operations repeat the message before. */
static const double *flows_of(struct ronde_sim_run *run, uint32_t way, double bytes)
{
    struct ronde_sim_traffic *traffic = &run->traffic[way];
    if (traffic->flow_bytes != bytes)
        run->kernels->flow(traffic->flow_ns, bytes, run->fold.each[way].rate_GBps, run->count);
    traffic->flow_bytes = bytes;
    return traffic->flow_ns;
}

/* Delay and flow where every position moves the same bytes. */
static void finish_even(struct ronde_sim_run *run, uint32_t index, double *out, uint32_t first,
                        uint32_t end)
{
    const struct ronde_dag_op *op = &run->quotient->dag->ops[index];
    const uint32_t send = op->bytes > 0 ? ronde_sim_send_of(run, index) : RONDE_NONE;
    const uint32_t way = send != RONDE_NONE ? run->ways->way_of[send] : 0;
    const double bytes = (double)op->bytes;
    if (send == RONDE_NONE)
        run->kernels->finish(out + first, op->delay_ns, 0, end - first);
    else if (run->fold.each[way].is_rate_even)
        run->kernels->finish(out + first, op->delay_ns, bytes / run->fold.each[way].rate_GBps[0],
                             end - first);
    else
        run->kernels->finish_each(out + first, op->delay_ns, flows_of(run, way, bytes) + first,
                                  end - first);
}

/* Flags of a step that change what its message costs. */
#define APART (RONDE_FLAG_SOURCE_RANGE | RONDE_FLAG_DESTINATION_RANGE)

/* The step of position 0 that an operation comes from. */
static const struct ronde_step *step_of(const struct ronde_sim_run *run, uint32_t index)
{
    const struct ronde_dag_origin *origin = &run->quotient->dag->origins[index];
    return &run->program->steps[run->program->lane_first[origin->lane] + origin->step];
}

static struct ronde_sim_costs costs_of(const struct ronde_sim_run *run, bool reduces)
{
    const struct ronde_time_params *params = &run->quotient->params;
    return (struct ronde_sim_costs){params->step_ns,
                                    reduces && params->gamma_GBps > 0 ? params->gamma_GBps
                                                                      : INFINITY,
                                    params->copy_GBps > 0 ? params->copy_GBps : INFINITY};
}

/* Delays where every position moves bytes of its own; what depends on their size is looked up one by one. */
static void find_delays(const struct ronde_sim_run *run, const struct ronde_step *step,
                        const double *bytes, double *out_ns)
{
    const struct ronde_time_params *params = &run->quotient->params;
    const struct ronde_sim_costs costs =
        costs_of(run, ronde_step_reduces((enum ronde_step_op)step->op));
    run->kernels->delay(out_ns, bytes, &costs, run->count);
    for (size_t p = 0; run->is_sized && p < run->count; p++)
        out_ns[p] += ronde_time_sized_ns(params, run->ways->job->schedule, step, bytes[p]);
}

/* The quote of an operation whose rate is even or that sends nothing, made when it is not at hand. */
static const struct ronde_sim_quote *quote_of(struct ronde_sim_run *run, uint32_t index,
                                              uint32_t send)
{
    const uint32_t from = run->plan.bytes_from[index];
    const struct ronde_step *step = step_of(run, index);
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    const uint8_t apart = (uint8_t)(step->flags & APART);
    const bool is_output = step->destination == RONDE_OUT;
    const bool is_single = step->chunk_count == 1;
    for (uint32_t i = 0; i < RONDE_SIM_QUOTES; i++) {
        const struct ronde_sim_quote *quote = &run->quotes[i];
        if (quote->from == from && quote->send == send && quote->op == op &&
            quote->apart == apart && quote->is_single == is_single && quote->is_output == is_output)
            return quote;
    }
    struct ronde_sim_quote *quote = &run->quotes[run->next_quote++ % RONDE_SIM_QUOTES];
    const double *bytes = ronde_sim_slot(run, run->plan.bytes_slot[from]);
    const double rate_GBps =
        send != RONDE_NONE ? run->fold.each[run->ways->way_of[send]].rate_GBps[0] : INFINITY;
    *quote = (struct ronde_sim_quote){
        from, send, op, apart, is_single, is_output, quote->delay_ns, quote->flow_ns};
    find_delays(run, step, bytes, quote->delay_ns);
    run->kernels->flow_bytes(quote->flow_ns, bytes, rate_GBps, run->count);
    return quote;
}

/* The same where what a step costs depends on the size of its message. */
static void finish_sized(const struct ronde_sim_run *run, const struct ronde_step *step,
                         const double *bytes, const double *rate_GBps, uint32_t length, double *out)
{
    const struct ronde_time_params *params = &run->quotient->params;
    const struct ronde_sim_costs costs =
        costs_of(run, ronde_step_reduces((enum ronde_step_op)step->op));
    for (uint32_t i = 0; i < length; i++) {
        const double stage_ns = bytes[i] / costs.gamma_GBps + bytes[i] / costs.copy_GBps;
        const double delay_ns =
            costs.step_ns + stage_ns +
            ronde_time_sized_ns(params, run->ways->job->schedule, step, bytes[i]);
        out[i] = out[i] + delay_ns + bytes[i] / rate_GBps[i];
    }
}

/* Delay and flow where positions move different bytes. */
static void finish_uneven(struct ronde_sim_run *run, uint32_t index, double *out, uint32_t first,
                          uint32_t end)
{
    const uint32_t send = ronde_sim_send_of(run, index);
    const struct ronde_sim_way *way =
        send != RONDE_NONE ? &run->fold.each[run->ways->way_of[send]] : NULL;
    const struct ronde_sim_quote *quote =
        way && !way->is_rate_even ? NULL : quote_of(run, index, send);
    const struct ronde_step *step = step_of(run, index);
    const struct ronde_sim_costs costs =
        costs_of(run, ronde_step_reduces((enum ronde_step_op)step->op));
    const struct ronde_sim_parcel parcel = ronde_sim_parcel_of(run, index);
    uint32_t length;
    for (uint32_t p = first; p < end; p += length) {
        const uint32_t q = ronde_sim_shifted(run, &parcel.shift, p);
        length = ronde_sim_run_length(&parcel.shift, p, end);
        if (quote)
            run->kernels->finish_pair(out + p, quote->delay_ns + q, quote->flow_ns + q, length);
        else if (!run->is_sized)
            run->kernels->finish_bytes(out + p, parcel.bytes + q, way->rate_GBps + p, &costs,
                                       length);
        else
            finish_sized(run, step, parcel.bytes + q, way->rate_GBps + p, length, out + p);
    }
}

/* Times of one operation at all positions. */
static void compute(struct ronde_sim_run *run, uint32_t index)
{
    const uint32_t edges = run->quotient->dag->ops[index].edge_count;
    double *out = ronde_sim_slot(run, run->plan.slot_of[index]);
    find_sources(run, index);
    for (uint32_t first = 0; first < run->count; first += TILE) {
        const uint32_t end = run->count - first < TILE ? (uint32_t)run->count : first + TILE;
        const uint32_t left = begin_tile(run, edges, out, first, end);
        for (uint32_t i = 0; i < left; i++)
            wait_for(run, &run->sources[i], out, first, end);
        if (run->quotient->is_uniform)
            finish_even(run, index, out, first, end);
        else
            finish_uneven(run, index, out, first, end);
    }
}

/* Bytes of an operation that is the first to send them. */
static void load_bytes(struct ronde_sim_run *run, uint32_t index)
{
    double *bytes = ronde_sim_slot(run, run->plan.bytes_slot[index]);
    for (uint32_t p = 0; p < run->count; p++)
        bytes[p] = (double)ronde_quotient_bytes(run->quotient, index, p);
}

/* All operations. */
static enum ronde_status replay(struct ronde_sim_run *run, struct ronde_error *error)
{
    const struct ronde_dag *dag = run->quotient->dag;
    enum ronde_status status = RONDE_OK;
    run->walk->launch_ns = dag->launch_ns;
    run->walk->least_ns = dag->least_ns;
    if (!run->walk->is_sweep)
        run->walk->busy_ns += dag->busy_ns;
    for (uint32_t i = 0; i < dag->op_count && status == RONDE_OK; i++) {
        if (run->walk->may_stop && run->walk->certificate->is_refuted)
            break;
        status = ronde_cancel_check(run->ways->options->cancel, "the replay", error);
        if (run->plan.bytes_from && run->plan.bytes_from[i] == i)
            load_bytes(run, i);
        compute(run, i);
        ronde_sim_traffic_count(run, i);
        if (!run->plan.is_last[i])
            continue;
        const double end_ns =
            run->kernels->most(ronde_sim_slot(run, run->plan.slot_of[i]), run->count);
        run->walk->end_ns = fmax(run->walk->end_ns, end_ns);
    }
    return status;
}

/* What the operations need: room for predecessors, quotes, the pool. */
static bool make_pool(struct ronde_sim_run *run)
{
    const struct ronde_dag *dag = run->quotient->dag;
    uint32_t sources = 0;
    for (uint32_t i = 0; i < dag->op_count; i++)
        if (dag->ops[i].edge_count > sources)
            sources = dag->ops[i].edge_count;
    run->sources = ronde_store_new(&run->store, sources, sizeof *run->sources);
    run->quoted = ronde_store_new(&run->store,
                                  run->quotient->is_uniform ? 0 : 2 * RONDE_SIM_QUOTES * run->count,
                                  sizeof *run->quoted);
    run->pool = ronde_store_new(&run->store, run->plan.slot_count * run->count, sizeof *run->pool);
    for (uint32_t i = 0; run->quoted && i < RONDE_SIM_QUOTES; i++) {
        double *numbers = run->quotient->is_uniform ? NULL : run->quoted + 2 * i * run->count;
        run->quotes[i] = (struct ronde_sim_quote){.from = RONDE_NONE,
                                                  .delay_ns = numbers,
                                                  .flow_ns = numbers ? numbers + run->count : NULL};
    }
    return !run->store.is_short;
}

/* Flows on links that are watched, all operations together. */
static uint64_t count_watched(const struct ronde_sim_run *run)
{
    uint64_t watched = 0;
    for (uint32_t i = 0; i < run->quotient->dag->op_count; i++) {
        const uint32_t send = ronde_sim_send_of(run, i);
        watched += send == RONDE_NONE ? 0 : run->traffic[run->ways->way_of[send]].watch_count;
    }
    return watched;
}

enum ronde_status ronde_sim_walk_channel(struct ronde_sim_walk *walk, uint32_t channel,
                                         struct ronde_error *error)
{
    const struct ronde_sim_job *job = walk->ways->job;
    const struct ronde_quotient_request request = {job->schedule, channel, job->load, job->params};
    struct ronde_sim_run run = {.walk = walk,
                                .ways = walk->ways,
                                .store = {.mem = walk->ways->store.mem},
                                .channel = channel,
                                .program = &job->schedule->programs[0],
                                .kernels = ronde_sim_kernels_here(),
                                .is_sized = ronde_time_is_sized(job->params)};
    enum ronde_status status = ronde_quotient_create(&request, run.store.mem, &run.quotient, error);
    if (status != RONDE_OK)
        return status;
    if (run.quotient->dag->busy_ns > 0 && !run.quotient->is_uniform) {
        ronde_quotient_destroy(run.quotient, run.store.mem);
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s on %u ranks: lanes share a processor, and chunks differ",
                          job->schedule->algorithm, job->schedule->ranks);
    }
    bool fits =
        ronde_sim_fold_make(run.ways, channel, run.quotient->is_uniform, &run.store, &run.fold);
    run.count = run.fold.folded.count;
    fits = fits && ronde_sim_plan_make(run.quotient, &run.fold.folded, &run.store, &run.plan) &&
           ronde_sim_traffic_make(&run) && make_pool(&run);
    if (fits && count_watched(&run) > walk->most_watched) {
        status = ronde_fail(error, RONDE_UNSUPPORTED,
                            "%s on %u ranks has too many flows on links that may be full",
                            job->schedule->algorithm, job->schedule->ranks);
    } else if (fits) {
        status = replay(&run, error);
        if (status == RONDE_OK && !walk->is_sweep)
            ronde_sim_traffic_carry(&run);
    } else {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to replay %u operations of %zu ranks",
                            run.quotient->dag->op_count, run.count);
    }
    ronde_store_clear(&run.store);
    ronde_quotient_destroy(run.quotient, run.store.mem);
    return status;
}
