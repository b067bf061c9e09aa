/* Which backend a run takes. See run_backend.h. */
#include "run_backend.h"

#include "ronde/executors.h"

#include <string.h>

/* The first option given that is only for ranks that are processes; NULL = none. */
static const char *process_option(const struct ronde_options *options)
{
    const struct {
        bool is_given;
        const char *name;
    } all[] = {
        {options->rank != RONDE_NONE, "--rank"},   {options->join != NULL, "--join"},
        {options->token != NULL, "--token"},       {options->hosts != NULL, "--hosts"},
        {options->launcher != NULL, "--launcher"}, {options->transport != NULL, "--transport"},
        {options->has_buffers, "--buffers"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_given)
            return all[i].name;
    return NULL;
}

/* Nothing that was said is ignored. */
static enum ronde_status check_uses(const struct ronde_options *options, struct ronde_error *error)
{
    const struct ronde_executor *executor = ronde_executor_find(options->backend);
    const bool has_processes = executor && executor->ranks == RONDE_RANKS_PROCESSES;
    const char *option = process_option(options);
    char names[128];
    if (options->has_seed && strcmp(options->backend, "host") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--seed orders the steps of --backend host; %s has no use for it",
                          options->backend);
    if (options->launcher && !options->hosts)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--launcher starts processes on hosts: --hosts is missing");
    if (!option || has_processes || !executor)
        return RONDE_OK;
    ronde_executor_names(true, names, sizeof names);
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "%s is for ranks that are processes, backends %s; those of %s are %s", option,
                      names, options->backend, ronde_ranks_text(executor->ranks));
}

/* What joins processes wherever they are, as far as it is in this build. */
static const char *process_backend(const struct ronde_options *options)
{
    const char *reason = NULL;
    if (options->transport)
        return "ucx";
    return ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason) ? "hybrid" : "proc";
}

/* -g and -t are of this process; of several processes each is a rank. */
static enum ronde_status take_own_ranks(struct ronde_options *options, bool has_processes,
                                        struct ronde_error *error)
{
    const uint64_t own =
        (options->ngpus ? options->ngpus : 1ull) * (options->nthreads ? options->nthreads : 1ull);
    if (options->ngpus == 0 && options->nthreads == 0)
        return RONDE_OK;
    if (has_processes && own > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "-g and -t: a process is one rank here; start as many processes instead");
    if (has_processes)
        return RONDE_OK;
    if (own > RONDE_MAX_RANKS || (options->rank_counts > 0 && options->ranks[0] != own))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "-g and -t make %llu ranks, which -N is not",
                          (unsigned long long)own);
    options->ranks[0] = (uint32_t)own;
    options->rank_counts = 1;
    return RONDE_OK;
}

enum ronde_status ronde_run_backend(struct ronde_options *options,
                                    struct ronde_launcher *out_launcher, struct ronde_error *error)
{
    memset(out_launcher, 0, sizeof *out_launcher);
    if (options->has_backend) {
        const enum ronde_status status =
            take_own_ranks(options, process_option(options) != NULL, error);
        return status == RONDE_OK ? check_uses(options, error) : status;
    }
    bool has_processes = process_option(options) != NULL;
    if (!has_processes && !options->has_seed) {
        const enum ronde_status status = ronde_launcher_find(NULL, NULL, out_launcher, error);
        if (status != RONDE_OK)
            return status;
        /* What was started alone, such as a shell of Slurm's (srun --pty), is no rank of several. */
        has_processes = out_launcher->name && out_launcher->ranks > 1;
        if (!has_processes)
            ronde_launcher_close(out_launcher);
    }
    const enum ronde_status status = take_own_ranks(options, has_processes, error);
    if (status != RONDE_OK)
        return status;
    if (has_processes)
        options->backend = process_backend(options);
    return check_uses(options, error);
}
