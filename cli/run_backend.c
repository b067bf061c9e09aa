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

enum ronde_status ronde_run_backend(struct ronde_options *options,
                                    struct ronde_launcher *out_launcher, struct ronde_error *error)
{
    memset(out_launcher, 0, sizeof *out_launcher);
    if (options->has_backend)
        return check_uses(options, error);
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
    if (has_processes)
        options->backend = process_backend(options);
    return check_uses(options, error);
}
