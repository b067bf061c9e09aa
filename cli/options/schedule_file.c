/* Schedules from files, as the command line names them. See schedule_file.h. */
#include "schedule_file.h"

#include "cli/cmd/nccl_log.h"

bool ronde_is_schedule_file(const struct ronde_options *options)
{
    return options->nccl_log ||
           (options->argument_count > 0 && ronde_is_file(options->arguments[0]));
}

/* What an algorithm would be asked for is decided in the file: nothing that is said beside it may be ignored. */
static enum ronde_status check_options(const struct ronde_options *options, uint32_t ranks,
                                       struct ronde_error *error)
{
    const char *path = options->arguments[0];
    if (options->algorithm_count > 0 || options->shape.count > 0 || options->channels > 0 ||
        options->pairs.ranks > 0 || options->root > 0 || options->all_roots)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s is a schedule, which has its algorithm, root, shape, channels and "
                          "pairs: leave out -a, -r, --shape, --channels and --pairs",
                          path);
    if (options->rank_counts > 1 || (options->rank_counts == 1 && options->ranks[0] != ranks))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s is for %u ranks: leave out -N", path,
                          ranks);
    return RONDE_OK;
}

enum ronde_status
ronde_schedule_file_read(const struct ronde_options *options, struct ronde_msccl_facts *out_facts,
                         struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                         struct ronde_error *error)
{
    if (options->nccl_log) {
        if (out_facts)
            *out_facts = (struct ronde_msccl_facts){.is_msccl = false};
        const enum ronde_status built = ronde_nccl_log_schedule(options, out_schedule, error);
        if (built == RONDE_OK && out_proof)
            *out_proof = (*out_schedule)->proof;
        return built;
    }
    enum ronde_status status = ronde_schedule_file_inspect(options->arguments[0], out_facts,
                                                           out_proof, out_schedule, error);
    if (status == RONDE_OK)
        status = check_options(options, (*out_schedule)->ranks, error);
    if (status != RONDE_OK) {
        ronde_schedule_destroy(*out_schedule);
        *out_schedule = NULL;
    }
    return status;
}

enum ronde_status ronde_schedule_text_write(const struct ronde_options *options, char *text,
                                            size_t bytes, struct ronde_error *error)
{
    struct ronde_sink sink = {0};
    enum ronde_status status = ronde_sink_open(options, &sink, error);
    if (status == RONDE_OK && fwrite(text, 1, bytes, sink.file) != bytes)
        status = ronde_fail(error, RONDE_DEVICE, "schedule could not be written");
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
    const enum ronde_status closed = ronde_sink_close(&sink, status == RONDE_OK ? error : NULL);
    return status == RONDE_OK ? closed : status;
}
