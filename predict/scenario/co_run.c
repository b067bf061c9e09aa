/*
 * A scenario is one graph: the graphs of all collectives, and a chain of messages for each background flow. How often
 * a flow repeats is not known before the run, which it slows down; so it is guessed, and the run repeated with more
 * messages as long as some flow was over before the collectives were.
 */
#include "co_run.h"

#include "ronde/dag.h"
#include "ronde/schedule_file.h"
#include "ronde/schedules.h"
#include "ronde/values.h"

#include <math.h>
#include <string.h>

/* Messages of a background flow at most; a million fill the graph without telling more than fewer, longer ones. */
#define MAX_REPEATS (1u << 20)

/* Graphs of one run. */
struct parts {
    struct ronde_dag *dags[RONDE_MAX_PARTS];
    struct ronde_scene_part scene_parts[RONDE_MAX_PARTS];
    uint32_t flow_hosts[RONDE_SCENARIO_STATEMENTS][2];
    uint32_t repeats[RONDE_SCENARIO_STATEMENTS];
    uint32_t collectives; /* that come before the flows */
    uint32_t count;
};

/* The schedule of a companion from a file, which has its own number of ranks. */
static enum ronde_status read_companion(const struct ronde_companion *companion, uint32_t hosts,
                                        struct ronde_schedule **out_schedule,
                                        struct ronde_error *error)
{
    RONDE_TRY(ronde_schedule_file_open(companion->path, NULL, out_schedule, error));
    if ((*out_schedule)->ranks != hosts)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--with: %s is for %u ranks, not for %u: name its hosts, as in "
                          "FILE:SIZE:0-%u",
                          companion->path, (*out_schedule)->ranks, hosts,
                          (*out_schedule)->ranks - 1);
    return RONDE_OK;
}

static enum ronde_status check_hosts(const struct ronde_host_list *hosts,
                                     const struct ronde_platform *platform,
                                     struct ronde_error *error)
{
    const uint32_t there = ronde_platform_facts(platform)->hosts;
    for (uint32_t i = 0; hosts->all && i < hosts->count; i++)
        if (hosts->all[i] >= there)
            return ronde_fail(error, RONDE_BAD_INPUT, "--with: host %u of %u hosts of %s",
                              hosts->all[i], there, ronde_platform_path(platform));
    return RONDE_OK;
}

/* A companion's ranks: one per host it names, else where those of the main collective are. NULL: no memory. */
static uint32_t *hosts_of(const struct ronde_host_list *hosts,
                          const struct ronde_forecast *forecast, uint32_t ranks)
{
    const uint32_t *all = hosts->all ? hosts->all : forecast->sim.host_of;
    uint32_t *host_of = ronde_mem_new(ronde_mem_default(), ranks, sizeof *host_of);
    for (uint32_t r = 0; host_of && r < ranks; r++)
        host_of[r] = all ? all[r] : r;
    return host_of;
}

/* A companion is set up as it would be alone, so that it takes what `sim` says of it. */
static enum ronde_status open_companion(struct ronde_co_run *co_run, uint32_t index,
                                        const struct ronde_forecast *forecast,
                                        struct ronde_error *error)
{
    const struct ronde_companion *companion = &co_run->scenario->companions[index];
    const struct ronde_host_list *hosts = &companion->hosts;
    const uint32_t ranks = hosts->all ? hosts->count : forecast->schedule->ranks;
    struct ronde_setup setup = {.platform = forecast->platform,
                                .request = {.collective = companion->collective,
                                            .algorithm = companion->algorithm,
                                            .ranks = ranks}};
    RONDE_TRY(check_hosts(hosts, forecast->platform, error));
    if (companion->path[0]) {
        RONDE_TRY(read_companion(companion, ranks, &co_run->given[index], error));
        setup.given = co_run->given[index];
        setup.request = ronde_schedule_file_request(setup.given);
    }
    uint32_t *host_of = hosts_of(hosts, forecast, ranks);
    if (!host_of)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    setup.host_of = host_of;
    const enum ronde_status status =
        ronde_candidate_open(&setup, ronde_mem_default(), &co_run->companions[index], error);
    ronde_mem_free(ronde_mem_default(), host_of, ranks, sizeof *host_of);
    if (status != RONDE_OK)
        return status;
    struct ronde_forecast *own = &co_run->forecasts[index];
    *own = *forecast;
    own->schedule = co_run->companions[index].schedule;
    own->request = co_run->companions[index].request;
    own->sim.host_of = co_run->companions[index].host_of;
    ronde_forecast_set_count(own, ronde_record_count(setup.request.collective, ranks,
                                                     companion->bytes, own->load.dtype));
    return RONDE_OK;
}

enum ronde_status ronde_co_run_open(const struct ronde_scenario *scenario,
                                    const struct ronde_platform *healthy,
                                    const struct ronde_forecast *forecast,
                                    struct ronde_co_run *out_co_run, struct ronde_error *error)
{
    const uint32_t ranks = forecast->schedule->ranks;
    memset(out_co_run, 0, sizeof *out_co_run);
    out_co_run->scenario = scenario;
    out_co_run->healthy = healthy;
    for (uint32_t i = 0; i < scenario->straggler_count; i++)
        if (scenario->stragglers[i].rank >= ranks)
            return ronde_scenario_refuse(scenario, RONDE_SCENARIO_STRAGGLER, i,
                                         ronde_fail(error, RONDE_BAD_ARGUMENT,
                                                    "--straggler: rank %u of %u ranks",
                                                    scenario->stragglers[i].rank, ranks),
                                         error);
    for (uint32_t i = 0; i < scenario->companion_count; i++)
        RONDE_TRY(ronde_scenario_refuse(scenario, RONDE_SCENARIO_WITH, i,
                                        open_companion(out_co_run, i, forecast, error), error));
    return RONDE_OK;
}

/* "all_reduce ring 4M on 8 ranks" */
static void name_collective(struct ronde_co_run_part *part, const struct ronde_forecast *forecast)
{
    const struct ronde_schedule *schedule = forecast->schedule;
    char size[RONDE_SIZE_TEXT_BYTES];
    const uint64_t bytes = ronde_record_bytes(schedule->collective, schedule->ranks,
                                              forecast->load.count, forecast->load.dtype);
    snprintf(part->name, sizeof part->name, "%s %s %s on %u ranks",
             ronde_collective_text(schedule->collective), schedule->algorithm,
             ronde_size_text(bytes, size), schedule->ranks);
}

/* A collective: what it takes alone on the healthy machine, and its graph on the machine as it is. */
static enum ronde_status add_collective(struct ronde_co_run *co_run,
                                        const struct ronde_forecast *forecast, const char *engine,
                                        struct parts *parts, struct ronde_error *error)
{
    struct ronde_co_run_part *part = &co_run->parts[parts->count];
    struct ronde_forecast alone = *forecast;
    struct ronde_record record;
    alone.platform = co_run->healthy;
    RONDE_TRY(ronde_record_replay(&alone, engine, &record, NULL, error));
    memset(part, 0, sizeof *part);
    name_collective(part, forecast);
    part->alone_ns = record.time_ns;
    RONDE_TRY(ronde_forecast_graph(forecast, &parts->dags[parts->count], error));
    parts->scene_parts[parts->count] =
        (struct ronde_scene_part){parts->dags[parts->count], forecast->sim.host_of};
    parts->count++;
    return RONDE_OK;
}

/* Bytes a flow can move per nanosecond where it is alone. */
static enum ronde_status rate_of(const struct ronde_platform *platform,
                                 const struct ronde_background *flow, double *out_GBps,
                                 struct ronde_error *error)
{
    uint32_t links[1024], count = 0;
    const uint32_t hosts = ronde_platform_facts(platform)->hosts;
    if (flow->src >= hosts || flow->dst >= hosts)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: background from host %u to %u of %u hosts",
                          ronde_platform_path(platform), flow->src, flow->dst, hosts);
    const enum ronde_status status =
        ronde_platform_route(platform, flow->src, flow->dst, sizeof links / sizeof links[0], links,
                             &count, error);
    *out_GBps = INFINITY;
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        *out_GBps = fmin(*out_GBps, ronde_platform_link(platform, links[i])->rate_GBps);
    return status;
}

static enum ronde_status set_repeats(const struct ronde_background *flow, double repeats,
                                     uint32_t *out_repeats, struct ronde_error *error)
{
    if (!(repeats < MAX_REPEATS))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "background %u>%u: %.0f messages of %llu bytes would last as long as the "
                          "collectives, at most %u are replayed; make them larger",
                          flow->src, flow->dst, repeats, (unsigned long long)flow->bytes,
                          MAX_REPEATS);
    *out_repeats = (uint32_t)repeats;
    return RONDE_OK;
}

/* First guess: as many as fit into the longest collective alone. */
static enum ronde_status guess_repeats(const struct ronde_co_run *co_run,
                                       const struct ronde_platform *machine, struct parts *parts,
                                       struct ronde_error *error)
{
    double longest_ns = 0;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < parts->collectives; i++)
        longest_ns = fmax(longest_ns, co_run->parts[i].alone_ns);
    for (uint32_t i = 0; i < co_run->scenario->background_count && status == RONDE_OK; i++) {
        const struct ronde_background *flow = &co_run->scenario->backgrounds[i];
        double rate = 0;
        status = rate_of(machine, flow, &rate, error);
        RONDE_THEN(status, set_repeats(flow, ceil(longest_ns * rate / (double)flow->bytes) + 1,
                                       &parts->repeats[i], error));
        status =
            ronde_scenario_refuse(co_run->scenario, RONDE_SCENARIO_BACKGROUND, i, status, error);
    }
    return status;
}

/* The chains of all flows, in place of those of the run before. */
static enum ronde_status add_flows(struct ronde_co_run *co_run, struct parts *parts,
                                   struct ronde_error *error)
{
    parts->count = parts->collectives;
    for (uint32_t i = 0; i < co_run->scenario->background_count; i++) {
        const struct ronde_background *flow = &co_run->scenario->backgrounds[i];
        struct ronde_co_run_part *part = &co_run->parts[parts->count];
        struct ronde_dag **dag = &parts->dags[parts->count];
        char size[RONDE_SIZE_TEXT_BYTES];
        ronde_dag_destroy(*dag, ronde_mem_default());
        RONDE_TRY(ronde_scene_flow(flow->bytes, parts->repeats[i], ronde_mem_default(), dag, error));
        parts->flow_hosts[i][0] = flow->src;
        parts->flow_hosts[i][1] = flow->dst;
        parts->scene_parts[parts->count] = (struct ronde_scene_part){*dag, parts->flow_hosts[i]};
        *part = (struct ronde_co_run_part){.repeats = parts->repeats[i]};
        snprintf(part->name, sizeof part->name, "background %u>%u %s", flow->src, flow->dst,
                 ronde_size_text(flow->bytes, size));
        parts->count++;
    }
    co_run->part_count = parts->count;
    return RONDE_OK;
}

/* All parts at once, once. */
static enum ronde_status replay_once(struct ronde_co_run *co_run, const struct parts *parts,
                                     const struct ronde_forecast *forecast, const char *engine,
                                     struct ronde_kept *kept, struct ronde_error *error)
{
    const struct ronde_scenario *scenario = co_run->scenario;
    ronde_kept_release(kept);
    RONDE_TRY(ronde_scene_create(parts->scene_parts, parts->count, scenario->stragglers,
                                 scenario->straggler_count, ronde_mem_default(), &kept->scene,
                                 error));
    kept->sim = forecast->sim;
    kept->sim.host_of = kept->scene->host_of;
    kept->sim.release_ns = scenario->straggler_count > 0 ? kept->scene->release_ns : NULL;
    RONDE_TRY(ronde_scene_keep(kept, forecast->platform, engine, error));
    for (uint32_t i = 0; i < parts->count; i++)
        co_run->parts[i].together_ns = ronde_scene_end_ns(kept->scene, kept->sim.out_finish_ns, i);
    return RONDE_OK;
}

/* Whether every flow lasted; one that did not gets half as many messages again as it seems to need. */
static enum ronde_status prolong_flows(const struct ronde_co_run *co_run, struct parts *parts,
                                       bool *out_lasted, struct ronde_error *error)
{
    double end_ns = 0;
    enum ronde_status status = RONDE_OK;
    *out_lasted = true;
    for (uint32_t i = 0; i < parts->collectives; i++)
        end_ns = fmax(end_ns, co_run->parts[i].together_ns);
    for (uint32_t i = parts->collectives; i < parts->count && status == RONDE_OK; i++) {
        const uint32_t flow = i - parts->collectives;
        const double own_ns = co_run->parts[i].together_ns;
        if (own_ns >= end_ns)
            continue;
        *out_lasted = false;
        status = set_repeats(&co_run->scenario->backgrounds[flow],
                             ceil(1.5 * parts->repeats[flow] * end_ns / own_ns) + 1,
                             &parts->repeats[flow], error);
        status =
            ronde_scenario_refuse(co_run->scenario, RONDE_SCENARIO_BACKGROUND, flow, status, error);
    }
    return status;
}

/* Ends: each turn adds half to a flow that is too short, up to the most there can be. */
static enum ronde_status replay_all(struct ronde_co_run *co_run, struct parts *parts,
                                    const struct ronde_forecast *forecast, const char *engine,
                                    struct ronde_kept *kept, struct ronde_error *error)
{
    bool lasted = false;
    RONDE_TRY(guess_repeats(co_run, forecast->platform, parts, error));
    while (!lasted) {
        RONDE_TRY(add_flows(co_run, parts, error));
        RONDE_TRY(replay_once(co_run, parts, forecast, engine, kept, error));
        RONDE_TRY(prolong_flows(co_run, parts, &lasted, error));
    }
    return RONDE_OK;
}

/* Steps of all collectives: a scenario's graph has them all. */
static uint64_t steps_of(const struct ronde_co_run *co_run, const struct ronde_forecast *forecast)
{
    uint64_t steps = ronde_forecast_steps(forecast);
    for (uint32_t i = 0; i < co_run->scenario->companion_count; i++)
        steps += ronde_forecast_steps(&co_run->forecasts[i]);
    return steps;
}

/* Whether one collective is all there is, on other links or with ranks that are late: no graph is needed for that. */
static bool is_one_job(const struct ronde_scenario *scenario)
{
    bool is_slow = false;
    for (uint32_t i = 0; i < scenario->straggler_count; i++)
        is_slow = is_slow || scenario->stragglers[i].slow_down != 1.0;
    return scenario->companion_count == 0 && scenario->background_count == 0 && !is_slow;
}

/* When each rank enters. */
static double *releases_of(const struct ronde_scenario *scenario, uint32_t ranks)
{
    double *release_ns = ronde_mem_new(ronde_mem_default(), ranks, sizeof *release_ns);
    for (uint32_t i = 0; release_ns && i < scenario->straggler_count; i++)
        release_ns[scenario->stragglers[i].rank] =
            fmax(release_ns[scenario->stragglers[i].rank], scenario->stragglers[i].delay_ns);
    return release_ns;
}

/* The healthy machine and the machine as it is, by whatever engine reaches so many steps. */
static enum ronde_status
run_as_job(struct ronde_co_run *co_run, const struct ronde_forecast *forecast, const char *engine,
           struct ronde_record *out_record, struct ronde_kept *out_kept, struct ronde_error *error)
{
    const uint32_t ranks = forecast->schedule->ranks;
    struct ronde_forecast alone = *forecast, as_it_is = *forecast;
    struct ronde_co_run_part *part = &co_run->parts[0];
    double *release_ns = releases_of(co_run->scenario, ranks);
    if (!release_ns)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    alone.platform = co_run->healthy;
    as_it_is.sim.release_ns = co_run->scenario->straggler_count > 0 ? release_ns : NULL;
    enum ronde_status status = ronde_record_replay(&alone, engine, out_record, NULL, error);
    *part = (struct ronde_co_run_part){.alone_ns = out_record->time_ns};
    RONDE_THEN(status, ronde_record_replay(&as_it_is, engine, out_record, &out_kept->result, error));
    ronde_mem_free(ronde_mem_default(), release_ns, ranks, sizeof *release_ns);
    if (status != RONDE_OK)
        return status;
    name_collective(part, forecast);
    part->together_ns = out_record->time_ns;
    co_run->part_count = 1;
    ronde_record_label(out_record, "scenario");
    return RONDE_OK;
}

enum ronde_status ronde_co_run_run(struct ronde_co_run *co_run,
                                   const struct ronde_forecast *forecast, const char *engine,
                                   bool keeps, struct ronde_record *out_record,
                                   struct ronde_kept *out_kept, struct ronde_error *error)
{
    struct parts parts = {.count = 0};
    const uint64_t steps = steps_of(co_run, forecast);
    if ((!keeps || steps > RONDE_KEPT_STEPS) && is_one_job(co_run->scenario))
        return run_as_job(co_run, forecast, engine, out_record, out_kept, error);
    if (steps > RONDE_KEPT_STEPS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "a scenario of several collectives, flows or slow ranks is one graph of "
                          "at most %u steps, and this one has %llu: use larger pieces",
                          RONDE_KEPT_STEPS, (unsigned long long)steps);
    enum ronde_status status = add_collective(co_run, forecast, engine, &parts, error);
    for (uint32_t i = 0; i < co_run->scenario->companion_count && status == RONDE_OK; i++)
        status = ronde_scenario_refuse(co_run->scenario, RONDE_SCENARIO_WITH, i,
                                       add_collective(co_run, &co_run->forecasts[i], engine, &parts,
                                                      error),
                                       error);
    parts.collectives = parts.count;
    RONDE_THEN(status, replay_all(co_run, &parts, forecast, engine, out_kept, error));
    for (uint32_t i = 0; i < RONDE_MAX_PARTS; i++)
        ronde_dag_destroy(parts.dags[i], ronde_mem_default());
    if (status != RONDE_OK)
        return status;
    /* The engine's time and busiest link are of everything that ran, which is longer than the main collective. */
    const struct ronde_why *why = &out_kept->why;
    out_kept->result.time_ns = co_run->parts[0].together_ns;
    out_kept->result.busiest_utilisation = why->link_count > 0 ? why->utilisation[0] : 0;
    snprintf(out_kept->result.busiest_link, sizeof out_kept->result.busiest_link, "%s",
             why->link_count > 0 ? ronde_platform_link(forecast->platform, why->links[0])->name
                                 : "");
    *out_record = ronde_record_replayed(forecast, &out_kept->result);
    ronde_record_label(out_record, "scenario");
    return RONDE_OK;
}

uint32_t ronde_co_run_groups(const struct ronde_co_run *co_run, const struct ronde_kept *kept,
                             struct ronde_trace_group groups[RONDE_MAX_PARTS])
{
    for (uint32_t i = 0; i < co_run->part_count; i++)
        groups[i] =
            (struct ronde_trace_group){co_run->parts[i].name, kept->scene->places[i].first_rank,
                                       kept->scene->places[i].ranks};
    return co_run->part_count;
}

void ronde_co_run_close(struct ronde_co_run *co_run)
{
    for (uint32_t i = 0; i < RONDE_SCENARIO_STATEMENTS; i++) {
        ronde_candidate_close(&co_run->companions[i], ronde_mem_default());
        ronde_schedule_destroy(co_run->given[i]);
    }
    memset(co_run, 0, sizeof *co_run);
}

/* Arrivals: a barrier graph in which only the ranks' arrival times count. */

/* When each rank's last operation is over; a rank that has none leaves as it comes. */
static void find_leaving(const struct ronde_dag *dag, const double *come_ns,
                         const double *finish_ns, double *out_leave_ns)
{
    for (uint32_t rank = 0; rank < dag->ranks; rank++)
        out_leave_ns[rank] = come_ns[rank];
    for (uint32_t i = 0; i < dag->op_count; i++) {
        double *leave_ns = &out_leave_ns[dag->ops[i].src];
        *leave_ns = finish_ns[i] > *leave_ns ? finish_ns[i] : *leave_ns;
    }
}

enum ronde_status ronde_arrivals_replay(const struct ronde_schedule *schedule, const double *come_ns,
                                        double *out_leave_ns, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_load load = {.count = 1, .dtype = RONDE_UINT8};
    const struct ronde_time_params params = {0};
    struct ronde_dag *dag = NULL;
    enum ronde_status status = ronde_dag_create(schedule, &load, &params, mem, &dag, error);
    if (status != RONDE_OK)
        return status;
    const uint32_t ops = dag->op_count;
    const struct ronde_path free_of_charge = {0.0, 0.0};
    double *finish_ns = ronde_mem_new(mem, ops, sizeof *finish_ns);
    if (finish_ns) {
        const struct ronde_dag_timing timing = {.paths = &free_of_charge,
                                                .release_ns = come_ns,
                                                .out_finish_ns = finish_ns};
        ronde_dag_longest_path(dag, &timing);
        find_leaving(dag, come_ns, finish_ns, out_leave_ns);
    } else {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to replay %u parts", ops);
    }
    ronde_mem_free(mem, finish_ns, ops, sizeof *finish_ns);
    ronde_dag_destroy(dag, mem);
    return status;
}
