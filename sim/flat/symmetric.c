/* The replay of a symmetric schedule: routes, channel after channel, certificate. */
#include "symmetric.h"

#include "sim/check.h"
#include "sim/job.h"

#include <math.h>
#include <string.h>

/* Flows a sweep may hold: 32 bytes each. */
#define MOST_SWEPT_FLOWS (1u << 26)

/* The state of a replay. */
struct symmetric {
    struct ronde_sim_ways ways;
    struct ronde_certificate certificate;
    struct ronde_error *error;
    bool may_stop; /* once the certificate is refuted */
    uint64_t most_watched;
};

/* Channels share nothing but links. */
static enum ronde_status walk_channels(struct symmetric *symmetric, struct ronde_sim_walk *walk)
{
    const uint32_t channels = symmetric->ways.job->schedule->channel_count;
    for (uint32_t channel = 0; channel < channels; channel++)
        RONDE_TRY(ronde_sim_walk_channel(walk, channel, symmetric->error));
    return RONDE_OK;
}

static enum ronde_status no_memory(const struct symmetric *symmetric)
{
    return ronde_fail(symmetric->error, RONDE_NO_MEMORY, "no memory to certify a replay of %u ranks",
                      symmetric->ways.job->schedule->ranks);
}

/*
 * Links that some timing might overload are watched; where that leaves it undecided, the replay is
 * done again for the sweep. More flows than a sweep holds are not certified.
 */
static enum ronde_status certify(struct symmetric *symmetric, struct ronde_sim_walk *walk,
                                 struct ronde_sim_result *result)
{
    struct ronde_certificate *certificate = &symmetric->certificate;
    ronde_certificate_busiest(certificate, walk->end_ns, result);
    const enum ronde_verdict verdict = ronde_certificate_verdict(certificate);
    result->is_contention_free = verdict == RONDE_VERDICT_FREE;
    if (verdict != RONDE_VERDICT_OPEN ||
        ronde_certificate_sweep_flows(certificate) > MOST_SWEPT_FLOWS)
        return RONDE_OK;
    if (!ronde_certificate_sweep_begin(certificate))
        return no_memory(symmetric);
    walk->is_sweep = true;
    RONDE_TRY(walk_channels(symmetric, walk));
    result->is_contention_free = ronde_certificate_sweep_end(certificate);
    return RONDE_OK;
}

static enum ronde_status replay(struct symmetric *symmetric, struct ronde_sim_result *out_result)
{
    struct ronde_sim_walk walk = {.ways = &symmetric->ways,
                                  .certificate = &symmetric->certificate,
                                  .may_stop = symmetric->may_stop,
                                  .most_watched = symmetric->most_watched};
    enum ronde_status status = ronde_sim_ways_make(&symmetric->ways, symmetric->error);
    if (status != RONDE_OK)
        return status;
    if (!ronde_certificate_open(&symmetric->certificate, symmetric->ways.job->platform,
                                symmetric->ways.store.mem) ||
        !ronde_sim_ways_exempt(&symmetric->ways, &symmetric->certificate))
        status = no_memory(symmetric);
    RONDE_THEN(status, walk_channels(symmetric, &walk));
    if (status == RONDE_OK) {
        out_result->engine = "flat";
        out_result->is_symmetric = true;
        walk.end_ns = fmax(walk.end_ns, fmax(walk.busy_ns, walk.least_ns));
        out_result->time_ns = walk.end_ns + walk.launch_ns;
        status = certify(symmetric, &walk, out_result);
    }
    ronde_certificate_close(&symmetric->certificate);
    return status;
}

static enum ronde_status run(struct symmetric *symmetric, struct ronde_sim_result *out_result)
{
    const struct ronde_sim_job *job = symmetric->ways.job;
    const struct ronde_schedule *schedule = job->schedule;
    const struct ronde_mem *mem = symmetric->ways.store.mem;
    struct ronde_error *const error = symmetric->error;
    memset(out_result, 0, sizeof *out_result);
    if (schedule->symmetry == RONDE_SYMMETRY_NONE)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s on %u ranks has a program per position: only its graph can be replayed",
            schedule->algorithm, schedule->ranks);
    if (symmetric->ways.options->out_start_ns || symmetric->ways.options->out_finish_ns)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "a replay on the quotient keeps no times of single operations");
    if ((unsigned)job->load->dtype < RONDE_DTYPE_COUNT &&
        ronde_sim_job_steps(job) / schedule->ranks > RONDE_SIM_MOST_GRAPH_OPS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s on %u ranks: a rank has more than the %u steps that are replayed",
                          schedule->algorithm, schedule->ranks, RONDE_SIM_MOST_GRAPH_OPS);
    enum ronde_status status = ronde_sim_refuse_shared(job->platform, "flat", error);
    RONDE_THEN(status, ronde_sim_check_hosts(job->platform, schedule->ranks,
                                             symmetric->ways.options, error));
    if (status != RONDE_OK)
        return status;
    /* Its own record: what it cannot do is no failure. */
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    status = ronde_sim_alike(job, symmetric->ways.options, mem, out_result, &refusal);
    if (status != RONDE_UNSUPPORTED)
        return status == RONDE_OK ? status : ronde_fail(error, status, "%s", refusal.message);
    memset(out_result, 0, sizeof *out_result);
    status = replay(symmetric, out_result);
    ronde_sim_ways_free(&symmetric->ways);
    return status;
}

enum ronde_status ronde_sim_symmetric(const struct ronde_sim_job *job,
                                      const struct ronde_sim_options *options,
                                      const struct ronde_mem *mem,
                                      struct ronde_sim_result *out_result, struct ronde_error *error)
{
    struct symmetric symmetric = {.ways = {.job = job,
                                           .options = options ? options : &ronde_sim_defaults,
                                           .store = {.mem = mem}},
                                  .error = error,
                                  .most_watched = UINT64_MAX};
    return run(&symmetric, out_result);
}

enum ronde_status ronde_sim_symmetric_if_free(const struct ronde_sim_job *job,
                                              const struct ronde_sim_options *options,
                                              const struct ronde_mem *mem, uint64_t most_watched,
                                              struct ronde_sim_result *out_result,
                                              struct ronde_error *error)
{
    struct symmetric symmetric = {.ways = {.job = job, .options = options, .store = {.mem = mem}},
                                  .error = error,
                                  .may_stop = true,
                                  .most_watched = most_watched};
    return run(&symmetric, out_result);
}
