/* Tagged messages in tests. See tagged.h. */
#include "net/tagged.h"

#include "ronde/hw.h"
#include "support/suite.h"

#include <stdlib.h>

void tagged_over_all(void (*run)(void))
{
    const char *reason = NULL;
    team_transport = RONDE_TRANSPORT_SHM;
    team_ranks_per_host = 0;
    run();
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_note("over shared memory alone: %s", reason);
        return;
    }
    /* The hosts are one machine to UCX, too. */
    CU_ASSERT_EQUAL_FATAL(setenv("UCX_TLS", "tcp,self", 1), 0);
    team_transport = RONDE_TRANSPORT_UCX;
    run();
    team_transport = RONDE_TRANSPORT_HYBRID;
    team_ranks_per_host = 2;
    run();
    team_transport = RONDE_TRANSPORT_SHM;
    team_ranks_per_host = 0;
}

enum ronde_status tagged_join(const struct team_member *member, struct ronde_comm **out_comm,
                              struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(TAGGED_SECONDS);
    return ronde_comm_join(&member->join, &options, ronde_mem_default(), out_comm, error);
}

/* The byte at a place of a message. */
static unsigned char byte_of(uint64_t at, uint32_t rank, uint64_t number)
{
    return (unsigned char)((at * 131 + (at >> 8) * 17 + rank * 29 + number * 7 + 1) % 251);
}

void tagged_fill(unsigned char *buffer, uint64_t bytes, uint32_t rank, uint64_t number)
{
    for (uint64_t at = 0; at < bytes; at++)
        buffer[at] = byte_of(at, rank, number);
}

bool tagged_holds(const unsigned char *buffer, uint64_t bytes, uint32_t rank, uint64_t number)
{
    for (uint64_t at = 0; at < bytes; at++)
        if (buffer[at] != byte_of(at, rank, number))
            return false;
    return true;
}

enum ronde_status tagged_wait(struct ronde_comm *comm, struct ronde_p2p *p2p,
                              struct ronde_p2p_status *out_status, struct ronde_error *error)
{
    const double limit_ns = TAGGED_SECONDS * 1e9 * (double)team_patience();
    const double until_ns = ronde_clock_ns() + limit_ns;
    enum ronde_status status = RONDE_OK;
    bool is_done = false;
    for (uint32_t idle = 1; status == RONDE_OK && !is_done; idle++) {
        status = ronde_p2p_test(p2p, &is_done, out_status, error);
        if (is_done || status != RONDE_OK)
            break;
        ronde_comm_p2p_rest(comm, idle);
        if (idle % 64 == 0 && ronde_clock_ns() > until_ns)
            status = ronde_fail(error, RONDE_TIMEOUT, "rank %u: a message did not come",
                                ronde_comm_rank(comm));
    }
    ronde_p2p_release(p2p);
    return status;
}

enum ronde_status tagged_send(struct ronde_comm *comm, const void *buffer, uint64_t bytes,
                              uint32_t peer, uint64_t tag, struct ronde_error *error)
{
    struct ronde_p2p *p2p = NULL;
    const enum ronde_status status =
        ronde_comm_send_post(comm, buffer, bytes, peer, tag, &p2p, error);
    return status == RONDE_OK ? tagged_wait(comm, p2p, NULL, error) : status;
}

enum ronde_status tagged_receive(struct ronde_comm *comm, void *buffer, uint64_t bytes,
                                 uint32_t peer, uint64_t tag, struct ronde_p2p_status *out_status,
                                 struct ronde_error *error)
{
    struct ronde_p2p *p2p = NULL;
    const enum ronde_status status =
        ronde_comm_recv_post(comm, buffer, bytes, peer, tag, &p2p, error);
    return status == RONDE_OK ? tagged_wait(comm, p2p, out_status, error) : status;
}
