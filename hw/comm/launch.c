/*
 * Ranks that a launcher has started. See comm_parts.h.
 *
 * Rank 0's address is broadcast by the launcher's process manager, in the same form for all of them. Where none replies
 * the ranks rendezvous without one: at an address, or by a rendezvous file on one machine.
 */
#include "hw/bootstrap/pmi.h"
#include "hw/bootstrap/pmix.h"
#include "hw/comm/comm_parts.h"

#include "ronde/hw.h"

#include <unistd.h>

/* A broadcast by a launcher's process manager. */
struct manager_broadcast {
    const struct ronde_launcher *launcher;
    const struct ronde_mem *mem;
    double deadline_ns;
    bool is_silent; /* no reply: another rendezvous may work */
};

static enum ronde_status broadcast_by_manager(void *self, void *data, size_t bytes,
                                              struct ronde_error *error)
{
    struct manager_broadcast *manager_broadcast = self;
    const struct ronde_launcher *launcher = manager_broadcast->launcher;
    const struct ronde_pmi pmi = {launcher->pmi, launcher->rank, manager_broadcast->deadline_ns};
    const struct ronde_pmix pmix = {manager_broadcast->mem, launcher->rank, launcher->ranks,
                                    manager_broadcast->deadline_ns, launcher->is_open};
    const enum ronde_status status = launcher->manager == RONDE_MANAGER_PMI
                                         ? ronde_pmi_share(&pmi, data, bytes, error)
                                         : ronde_pmix_share(&pmix, data, bytes, error);
    if (launcher->is_open && launcher->manager == RONDE_MANAGER_PMI)
        close(launcher->pmi);
    manager_broadcast->is_silent = status == RONDE_UNAVAILABLE;
    return status;
}

/* At the launcher's host and port, or by the rendezvous file of one machine. */
static enum ronde_status
join_without_manager(const struct ronde_launcher *launcher,
                     const struct ronde_comm_options *options, const struct ronde_mem *mem,
                     struct ronde_comm **out_comm, struct ronde_error *error)
{
    const struct ronde_join join = {.host = launcher->host[0] ? launcher->host : NULL,
                                    .port = launcher->port,
                                    .token = launcher->token,
                                    .rank = launcher->rank,
                                    .ranks = launcher->ranks};
    char drawn[RONDE_TOKEN_BYTES];
    /* A process that no launcher has started is rank 0 of 1, and needs no token. */
    if (launcher->token[0] == '\0' && launcher->ranks == 1) {
        const struct ronde_join alone = {.token = drawn, .ranks = 1};
        RONDE_TRY(ronde_token_draw(drawn, error));
        return ronde_comm_join(&alone, options, mem, out_comm, error);
    }
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
    options = ronde_comm_options_or_none(options);
    const uint64_t timeout_ns = options->timeout_ns ? options->timeout_ns : RONDE_COMM_TIMEOUT_NS;
    struct manager_broadcast manager_broadcast = {launcher, mem,
                                                  ronde_clock_ns() + (double)timeout_ns, false};
    const struct ronde_root_broadcast root_broadcast = {&manager_broadcast, launcher->rank,
                                                        launcher->ranks, broadcast_by_manager};
    struct ronde_error tried = {0};
    struct ronde_error why = {0};
    *out_comm = NULL;
    if (launcher->manager == RONDE_MANAGER_NONE)
        return join_without_manager(launcher, options, mem, out_comm, error);
    enum ronde_status status = ronde_comm_bootstrap(&root_broadcast, options, mem, out_comm, &tried);
    if (status == RONDE_OK)
        return status;
    if (!manager_broadcast.is_silent)
        return ronde_fail(error, status, "%s", tried.message);
    status = join_without_manager(launcher, options, mem, out_comm, &why);
    return status == RONDE_OK ? status
                              : ronde_fail(error, status, "%.300s; tried before: %.180s",
                                           why.message, tried.message);
}
