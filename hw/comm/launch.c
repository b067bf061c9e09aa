/*
 * Ranks that a launcher has started. See ronde/comm.h.
 *
 * Whoever hands bytes round before there is a communicator is a herald; what is told is the same for all of them. Where
 * none answers the ranks meet as they did before there were any: at an address, or at a file of one machine.
 */
#include "hw/comm/comm.h"
#include "hw/comm/pmi.h"
#include "hw/comm/pmix.h"
#include "ronde/hw.h"

#include <unistd.h>

/* A launcher's manager, asked. */
struct inquiry {
    const struct ronde_launcher *launcher;
    const struct ronde_mem *mem;
    double deadline_ns;
    bool is_silent; /* nobody answers: there may be another way */
};

static enum ronde_status tell_by_manager(void *self, void *data, size_t bytes,
                                         struct ronde_error *error)
{
    struct inquiry *inquiry = self;
    const struct ronde_launcher *launcher = inquiry->launcher;
    const struct ronde_pmi pmi = {launcher->pmi, launcher->rank, inquiry->deadline_ns};
    const struct ronde_pmix pmix = {inquiry->mem, launcher->rank, launcher->ranks,
                                    inquiry->deadline_ns, launcher->is_open};
    const enum ronde_status status = launcher->manager == RONDE_MANAGER_PMI
                                         ? ronde_pmi_share(&pmi, data, bytes, error)
                                         : ronde_pmix_share(&pmix, data, bytes, error);
    if (launcher->is_open && launcher->manager == RONDE_MANAGER_PMI)
        close(launcher->pmi);
    inquiry->is_silent = status == RONDE_UNAVAILABLE;
    return status;
}

/* Where the launcher says, or at the file of one machine. */
static enum ronde_status
meet_without(const struct ronde_launcher *launcher, const struct ronde_comm_options *options,
             const struct ronde_mem *mem, struct ronde_comm **out_comm, struct ronde_error *error)
{
    const struct ronde_join join = {.host = launcher->host[0] ? launcher->host : NULL,
                                    .port = launcher->port,
                                    .token = launcher->token,
                                    .rank = launcher->rank,
                                    .ranks = launcher->ranks};
    if (launcher->token[0] == '\0')
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "processes that others start need --token, the same on all ranks");
    return ronde_comm_join(&join, options, mem, out_comm, error);
}

enum ronde_status ronde_comm_launch(const struct ronde_launcher *launcher,
                                    const struct ronde_comm_options *options,
                                    const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                    struct ronde_error *error)
{
    const uint64_t timeout_ns = options->timeout_ns ? options->timeout_ns : RONDE_COMM_TIMEOUT_NS;
    struct inquiry inquiry = {launcher, mem, ronde_clock_ns() + (double)timeout_ns, false};
    const struct ronde_herald herald = {&inquiry, launcher->rank, launcher->ranks, tell_by_manager};
    struct ronde_error tried = {0};
    struct ronde_error why = {0};
    *out_comm = NULL;
    if (launcher->manager == RONDE_MANAGER_NONE)
        return meet_without(launcher, options, mem, out_comm, error);
    enum ronde_status status = ronde_comm_meet(&herald, options, mem, out_comm, &tried);
    if (status == RONDE_OK)
        return status;
    if (!inquiry.is_silent)
        return ronde_fail(error, status, "%s", tried.message);
    status = meet_without(launcher, options, mem, out_comm, &why);
    return status == RONDE_OK ? status
                              : ronde_fail(error, status, "%.300s; tried before: %.180s",
                                           why.message, tried.message);
}
