/* Schedules from files. See ronde/schedule_file.h. */
#include "ronde/schedule_file.h"

#include "ronde/mem.h"
#include "ronde/mscclpp.h"
#include "ronde/text.h"

#include "whole_file.h"

#include <string.h>

bool ronde_is_file(const char *word)
{
    enum ronde_collective unused;
    return !ronde_collective_parse(word, &unused) && (strchr(word, '.') || strchr(word, '/'));
}

enum ronde_status ronde_schedule_file_open(const char *path, struct ronde_proof *out_proof,
                                           struct ronde_schedule **out_schedule,
                                           struct ronde_error *error)
{
    return ronde_schedule_file_inspect(path, NULL, out_proof, out_schedule, error);
}

enum ronde_status ronde_schedule_file_inspect(const char *path, struct ronde_msccl_facts *out_facts,
                                              struct ronde_proof *out_proof,
                                              struct ronde_schedule **out_schedule,
                                              struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    char *text = NULL;
    size_t bytes = 0;
    *out_schedule = NULL;
    if (out_facts)
        memset(out_facts, 0, sizeof *out_facts);
    enum ronde_status status = ronde_whole_file_read(path, &text, &bytes, error);
    if (status != RONDE_OK)
        return status;
    /* By what is in it: names end in anything. */
    status =
        ronde_mscclpp_is(text, bytes)
            ? ronde_mscclpp_read(text, bytes, path, mem, out_proof, out_schedule, error)
        : ronde_msccl_is(text, bytes)
            ? ronde_msccl_read(text, bytes, path, mem, out_facts, out_proof, out_schedule, error)
            : ronde_schedule_read(text, bytes, path, mem, out_proof, out_schedule, error);
    ronde_whole_file_free(text, bytes);
    return status;
}

struct ronde_compile_request ronde_schedule_file_request(const struct ronde_schedule *schedule)
{
    return (struct ronde_compile_request){.collective = schedule->collective,
                                          .ranks = schedule->ranks,
                                          .root = schedule->root,
                                          .channels = schedule->channel_count};
}
