/*
 * Max-min sharing for one position of each kind. Rates are found by filling (maxmin_share.c), and filling treats what is
 * one kind alike; so all flows of a kind have one rate, begin and end together, and the replay of one of them, on one link
 * of each kind, is the replay of all. Nothing is left out and nothing is rounded beyond what the order of sums does.
 */
#include "forward_graph.h"
#include "maxmin_share.h"
#include "sim/check.h"
#include "sim/job.h"

#include <inttypes.h>
#include <string.h>

/* The state of a replay. */
struct fold {
    struct ronde_sim_folding folding;
    uint32_t channels;
    struct ronde_sim_forward walk;
    struct ronde_error *error;
};

static enum ronde_status refuse(const struct fold *fold, const char *why)
{
    return ronde_fail(fold->error, RONDE_UNSUPPORTED, "%s on %u ranks cannot be folded: %s",
                      fold->folding.job->schedule->algorithm, fold->folding.job->schedule->ranks,
                      why);
}

/* What a fold is not for. */
static enum ronde_status check(const struct fold *fold)
{
    const struct ronde_sim_job *job = fold->folding.job;
    const struct ronde_sim_options *options = fold->folding.options;
    if (job->schedule->symmetry == RONDE_SYMMETRY_NONE)
        return refuse(fold, "it has a program per position");
    if ((unsigned)job->load->dtype >= RONDE_DTYPE_COUNT)
        return refuse(fold, "its data type does not exist");
    if (options->out_start_ns || options->out_finish_ns)
        return refuse(fold, "it keeps no times of single operations");
    if (ronde_sim_has_flags(job->platform, options))
        return refuse(fold, "flags are SimGrid's");
    RONDE_TRY(ronde_sim_refuse_shared(job->platform, "maxmin", fold->error));
    return ronde_sim_check_hosts(job->platform, job->schedule->ranks, options, fold->error);
}

/* One position of every channel. */
static enum ronde_status make_quotients(struct fold *fold)
{
    const struct ronde_sim_job *job = fold->folding.job;
    fold->folding.quotients = ronde_store_new(&fold->folding.store, fold->channels, sizeof(void *));
    if (!fold->folding.quotients)
        return ronde_fail(fold->error, RONDE_NO_MEMORY, "no memory for %u channels", fold->channels);
    for (uint32_t c = 0; c < fold->channels; c++) {
        const struct ronde_quotient_request request = {job->schedule, c, job->load, job->params};
        RONDE_TRY(ronde_quotient_create(&request, fold->folding.store.mem,
                                        &fold->folding.quotients[c], fold->error));
        if (!fold->folding.quotients[c]->is_uniform && ronde_time_is_sized(job->params))
            return refuse(fold, "chunks differ, and what messages cost depends on them");
    }
    return RONDE_OK;
}

/* Whether what is left is small enough to be replayed; asked before anything of that size is made. */
static enum ronde_status check_size(const struct fold *fold, uint32_t positions)
{
    const struct ronde_sim_job *job = fold->folding.job;
    const uint64_t ops = ronde_sim_job_steps(job) / job->schedule->ranks;
    return ops <= RONDE_SIM_MOST_FOLDED_OPS / positions
               ? RONDE_OK
               : ronde_fail(fold->error, RONDE_UNSUPPORTED,
                            "%s on %u ranks, %u of which the machine tells apart: %" PRIu64
                            " steps of each are more than the %u that are replayed",
                            job->schedule->algorithm, job->schedule->ranks, positions, ops,
                            RONDE_SIM_MOST_FOLDED_OPS);
}

static enum ronde_status replay(struct fold *fold, struct ronde_sim_result *out_result)
{
    const struct ronde_sim_folding *folding = &fold->folding;
    fold->walk =
        (struct ronde_sim_forward){.scene = {folding->job->platform, folding->quotients[0]->dag,
                                             folding->options, folding->store.mem, fold->error},
                                   .queue = {.mem = folding->store.mem}};
    enum ronde_status status = ronde_sim_folded_graph_make(folding, &fold->walk.graph, fold->error);
    RONDE_THEN(status, ronde_sim_maxmin_walk(&fold->walk, out_result));
    out_result->is_symmetric = true;
    ronde_sim_forward_close(&fold->walk);
    return status;
}

static void free_quotients(struct fold *fold)
{
    for (uint32_t c = 0; fold->folding.quotients && c < fold->channels; c++)
        ronde_quotient_destroy(fold->folding.quotients[c], fold->folding.store.mem);
}

enum ronde_status ronde_sim_folded(const struct ronde_sim_job *job,
                                   const struct ronde_sim_options *options,
                                   const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                   struct ronde_error *error)
{
    struct fold fold = {.folding = {.job = job,
                                    .options = options ? options : &ronde_sim_defaults,
                                    .store = {.mem = mem}},
                        .channels = job->schedule->channel_count,
                        .error = error};
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = check(&fold);
    RONDE_THEN(status, check_size(&fold, 1));
    RONDE_THEN(status, make_quotients(&fold));
    RONDE_THEN(status, ronde_sim_folding_make(&fold.folding, error));
    RONDE_THEN(status, check_size(&fold, fold.folding.folded.count));
    RONDE_THEN(status, replay(&fold, out_result));
    free_quotients(&fold);
    ronde_store_clear(&fold.folding.store);
    return status;
}
