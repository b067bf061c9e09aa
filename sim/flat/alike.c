/*
 * Hosts that nothing tells apart: whatever a position does at a time, all do. Their times are those of one, which the
 * steps of position 0 give by themselves, and a host receives when it sends: the links of one host see all there is.
 */
#include "sim/check.h"
#include "sim/routes.h"
#include "symmetric.h"

#include <math.h>

/* The state of a replay. */
struct one {
    const struct ronde_sim_job *job;
    const struct ronde_sim_options *options;
    const struct ronde_mem *mem;
    struct ronde_error *error;
    struct ronde_alike alike;
    struct ronde_path path; /* between any two ranks */
    struct ronde_certificate certificate;
    double end_ns;
    double launch_ns;
    double busy_ns; /* what messages cost a rank, all channels */
    double least_ns;
};

static enum ronde_status no_memory(const struct one *one)
{
    return ronde_fail(one->error, RONDE_NO_MEMORY, "no memory to replay %u ranks that are alike",
                      one->job->schedule->ranks);
}

static enum ronde_status refuse(const struct one *one, const char *why)
{
    return ronde_fail(one->error, RONDE_UNSUPPORTED, "%u ranks are not alike: %s",
                      one->job->schedule->ranks, why);
}

/* Latency and rate of the one kind of route there is. */
static enum ronde_status find_path(struct one *one)
{
    struct ronde_sim_routes routes = {0};
    struct ronde_sim_search search = {.platform = one->job->platform,
                                      .options = one->options,
                                      .mem = one->mem,
                                      .error = one->error,
                                      .alpha_ns = one->job->params->alpha_ns,
                                      .lane_GBps = one->job->params->lane_GBps,
                                      .routes = &routes};
    uint32_t route = 0;
    enum ronde_status status = ronde_sim_search_begin(&search);
    RONDE_THEN(status, ronde_sim_search_find(&search, 0, 1, &route));
    if (status == RONDE_OK)
        one->path = routes.all[route].path;
    ronde_sim_search_end(&search);
    ronde_sim_routes_free(&routes, one->mem);
    return status;
}

static bool is_among(const uint32_t *links, uint32_t count, uint32_t link)
{
    bool is = false;
    for (uint32_t i = 0; i < count; i++)
        is = is || links[i] == link;
    return is;
}

/* Whether the backbone has enough for all lanes at once; then nobody need look at it again. */
static bool spares_backbone(struct one *one)
{
    const struct ronde_schedule *schedule = one->job->schedule;
    const uint32_t backbone = one->alike.backbone;
    const double lanes =
        (double)schedule->ranks * schedule->channel_count * schedule->programs[0].lane_count;
    if (backbone == RONDE_NONE || one->certificate.uses[backbone].is_exempt)
        return true;
    one->certificate.uses[backbone].is_exempt = true;
    return lanes * one->path.rate_GBps <=
           ronde_platform_link(one->job->platform, backbone)->rate_GBps;
}

/* What a flow does on the links of one host: it leaves, and one like it arrives. */
static void show(struct one *one, const struct ronde_flow *flow, ronde_flow_say say)
{
    for (uint32_t i = 0; i < one->alike.up_count; i++)
        say(&one->certificate, one->alike.up[i], flow);
    for (uint32_t i = 0; i < one->alike.down_count; i++)
        say(&one->certificate, one->alike.down[i], flow);
}

/* For a pointer: the function is one to be inlined. */
static void note(struct ronde_certificate *certificate, uint32_t link, const struct ronde_flow *flow)
{
    if (!certificate->uses[link].is_exempt)
        ronde_certificate_note(certificate, link, flow);
}

static void carry(struct one *one, double bytes)
{
    const double all = one->job->schedule->ranks;
    for (uint32_t i = 0; i < one->alike.up_count; i++)
        ronde_certificate_carry(&one->certificate, one->alike.up[i],
                                one->alike.up[i] == one->alike.backbone ? bytes * all : bytes, 1);
    for (uint32_t i = 0; i < one->alike.down_count; i++) {
        const uint32_t link = one->alike.down[i];
        const bool is_backbone = link == one->alike.backbone;
        if (!is_backbone || !is_among(one->alike.up, one->alike.up_count, link))
            ronde_certificate_carry(&one->certificate, link, is_backbone ? bytes * all : bytes, 1);
    }
}

/* Shows all flows of a channel whose times are known. */
static void show_all(struct one *one, const struct ronde_dag *dag, const double *finish_ns,
                     ronde_flow_say say)
{
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const double bytes = (double)dag->ops[i].bytes;
        const struct ronde_flow flow = {finish_ns[i] - bytes / one->path.rate_GBps, finish_ns[i],
                                        one->path.rate_GBps};
        if (dag->ops[i].bytes == 0)
            continue;
        show(one, &flow, say);
        if (say == note)
            carry(one, bytes);
    }
}

/* One channel; `say` gets its flows. */
static enum ronde_status replay_channel(struct one *one, uint32_t channel, ronde_flow_say say)
{
    const struct ronde_sim_job *job = one->job;
    const struct ronde_quotient_request request = {job->schedule, channel, job->load, job->params};
    struct ronde_quotient *quotient = NULL;
    enum ronde_status status = ronde_cancel_check(one->options->cancel, "the replay", one->error);
    RONDE_THEN(status, ronde_quotient_create(&request, one->mem, &quotient, one->error));
    if (status != RONDE_OK)
        return status;
    const struct ronde_dag *dag = quotient->dag;
    double *finish_ns = ronde_mem_new(one->mem, dag->op_count, sizeof *finish_ns);
    const struct ronde_dag_timing timing = {.paths = &one->path, .out_finish_ns = finish_ns};
    if (!quotient->is_uniform)
        status = refuse(one, "their chunks differ");
    else if (!finish_ns)
        status = no_memory(one);
    if (status == RONDE_OK) {
        one->end_ns = fmax(one->end_ns, ronde_dag_advance(dag, &timing, 0, dag->op_count));
        one->launch_ns = dag->launch_ns;
        one->least_ns = dag->least_ns;
        one->busy_ns += dag->busy_ns;
        show_all(one, dag, finish_ns, say);
    }
    ronde_mem_free(one->mem, finish_ns, dag->op_count, sizeof *finish_ns);
    ronde_quotient_destroy(quotient, one->mem);
    return status;
}

static enum ronde_status replay(void *self, ronde_flow_say say)
{
    struct one *one = self;
    for (uint32_t i = 0; i < one->job->schedule->channel_count; i++)
        RONDE_TRY(replay_channel(one, i, say));
    return RONDE_OK;
}

static enum ronde_status replay_alike(struct one *one, struct ronde_sim_result *out_result)
{
    enum ronde_status status = find_path(one);
    if (status == RONDE_OK && one->path.rate_GBps <= 0)
        status = refuse(one, "nothing limits their flows");
    if (status == RONDE_OK &&
        !ronde_certificate_open(&one->certificate, one->job->platform, one->mem))
        status = no_memory(one);
    else if (status == RONDE_OK && !spares_backbone(one))
        status = refuse(one, "they share a backbone that may be full");
    RONDE_THEN(status, replay(one, note));
    if (status == RONDE_OK) {
        out_result->engine = "flat";
        out_result->is_symmetric = true;
        one->end_ns = fmax(one->end_ns, fmax(one->busy_ns, one->least_ns));
        out_result->time_ns = one->end_ns + one->launch_ns;
        ronde_certificate_busiest(&one->certificate, one->end_ns, out_result);
        status = ronde_certificate_decide(&one->certificate, replay, one,
                                          &out_result->is_contention_free, one->error);
    }
    ronde_certificate_close(&one->certificate);
    return status;
}

enum ronde_status ronde_sim_alike(const struct ronde_sim_job *job,
                                  const struct ronde_sim_options *options,
                                  const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                  struct ronde_error *error)
{
    struct one one = {.job = job, .options = options, .mem = mem, .error = error};
    if (options->release_ns || job->schedule->ranks < 2)
        return refuse(&one, "they are released at times of their own, or there is but one");
    RONDE_TRY(ronde_platform_alike(job->platform, options->host_of, job->schedule->ranks, mem,
                                   &one.alike, error));
    return one.alike.is_alike ? replay_alike(&one, out_result) : refuse(&one, "their hosts differ");
}
