/* The registry of executors. See ronde/executors.h. */
#include "ronde/executors.h"

#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>

static const struct ronde_executor executors[] = {
    {.name = "host",
     .summary = "the specification: one step of one rank at a time",
     .ranks = RONDE_RANKS_CALLER,
     .backend = &ronde_backend_host,
     .moves_data = true,
     /* It runs what cpu runs, in order. */
     .times_of = "cpu"},
    {.name = "cpu",
     .summary = "threads of this process, which share its memory",
     .ranks = RONDE_RANKS_THREADS,
     .backend = &ronde_backend_cpu,
     .moves_data = true,
     .has_clock = true},
    {.name = "cuda",
     .summary = "GPUs: blocks of a kernel that stays on the device for a run",
     .ranks = RONDE_RANKS_DEVICES,
     .backend = &ronde_backend_cuda,
     .moves_data = true,
     .has_clock = true},
    {.name = "null",
     .summary = "moves no data: what a launch costs before it moves any",
     .ranks = RONDE_RANKS_CALLER,
     .backend = &ronde_backend_null,
     .has_clock = true,
     .times_of = "cpu"},
    {.name = "proc",
     .summary = "ranks are processes of one machine",
     .ranks = RONDE_RANKS_PROCESSES,
     .backend = &ronde_backend_comm,
     .transport = RONDE_TRANSPORT_SHM,
     .job_transport = RONDE_TRANSPORT_SHM,
     .moves_data = true,
     .has_clock = true},
    {.name = "ucx",
     .summary = "ranks are processes, on any machines UCX connects",
     .ranks = RONDE_RANKS_PROCESSES,
     .backend = &ronde_backend_comm,
     .transport = RONDE_TRANSPORT_UCX,
     .job_transport = RONDE_TRANSPORT_HYBRID,
     .moves_data = true,
     .has_clock = true,
     .spans_hosts = true},
    {.name = "hybrid",
     .summary = "shared memory inside a machine, UCX between them",
     .ranks = RONDE_RANKS_PROCESSES,
     .backend = &ronde_backend_comm,
     .transport = RONDE_TRANSPORT_HYBRID,
     .job_transport = RONDE_TRANSPORT_HYBRID,
     .moves_data = true,
     .has_clock = true,
     .spans_hosts = true},
};

#define EXECUTOR_COUNT ((uint32_t)(sizeof executors / sizeof executors[0]))

const struct ronde_executor *ronde_executors(uint32_t *out_count)
{
    *out_count = EXECUTOR_COUNT;
    return executors;
}

const struct ronde_executor *ronde_executor_find(const char *name)
{
    for (uint32_t e = 0; e < EXECUTOR_COUNT; e++)
        if (strcmp(executors[e].name, name) == 0)
            return &executors[e];
    return NULL;
}

const char *ronde_executor_times_of(const char *name)
{
    const struct ronde_executor *executor = ronde_executor_find(name);
    return executor && executor->times_of ? executor->times_of : name;
}

enum ronde_status ronde_executor_probe(const struct ronde_executor *executor,
                                       struct ronde_machine *out_machine,
                                       struct ronde_error *why_not)
{
    const char *reason = NULL;
    if (executor->ranks == RONDE_RANKS_PROCESSES &&
        !ronde_transport_available(executor->transport, &reason)) {
        memset(out_machine, 0, sizeof *out_machine);
        return ronde_fail(why_not, RONDE_UNAVAILABLE, "%s", reason);
    }
    return executor->backend->probe(out_machine, why_not);
}

void ronde_executor_names(bool are_processes, char *out_text, size_t bytes)
{
    out_text[0] = '\0';
    for (uint32_t e = 0; e < EXECUTOR_COUNT; e++) {
        const size_t used = strlen(out_text);
        if ((executors[e].ranks == RONDE_RANKS_PROCESSES) == are_processes)
            snprintf(out_text + used, bytes - used, "%s%s", used ? ", " : "", executors[e].name);
    }
}

const char *ronde_ranks_text(enum ronde_ranks ranks)
{
    static const char *const texts[] = {RONDE_RANKS_LIST(RONDE_LIST_TEXT)};
    return (unsigned)ranks < RONDE_RANKS_COUNT ? texts[ranks] : "?";
}

const struct ronde_backend *ronde_backend_find(const char *name, struct ronde_error *error)
{
    char here[RONDE_ERROR_MESSAGE_BYTES / 4];
    char processes[RONDE_ERROR_MESSAGE_BYTES / 4];
    const struct ronde_executor *executor = ronde_executor_find(name);
    if (executor && executor->ranks != RONDE_RANKS_PROCESSES)
        return executor->backend;
    ronde_executor_names(false, here, sizeof here);
    ronde_executor_names(true, processes, sizeof processes);
    (void)ronde_fail(error, RONDE_BAD_ARGUMENT,
                     "no backend \"%.64s\", there are: %s; and, with processes as ranks, %s "
                     "(ronde/comm.h)",
                     name, here, processes);
    return NULL;
}
