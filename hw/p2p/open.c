/* A communicator's state of tagged messages: created and released. See path.h. */
#include "hw/p2p/path.h"
#include "ronde/hw.h"

/* On leaving, a rank waits so long for slots for its queued control messages. */
#define LEAVE_NS 1e9

/* Of one slab. */
#define REQUESTS_PER_SLAB 32u
#define MESSAGES_PER_SLAB 32u

static bool open_tables(struct ronde_p2p_state *state)
{
    const uint32_t ranks = state->comm->ranks;
    state->peers = ronde_mem_new(state->mem, ranks, sizeof(struct ronde_p2p_peer *));
    state->local_rank = ronde_mem_new(state->mem, ranks, sizeof *state->local_rank);
    state->posted = ronde_mem_new(state->mem, RONDE_P2P_BINS, sizeof *state->posted);
    state->unexpected = ronde_mem_new(state->mem, RONDE_P2P_BINS, sizeof *state->unexpected);
    if (!state->peers || !state->local_rank || !state->posted || !state->unexpected)
        return false;
    for (uint32_t bin = 0; bin < RONDE_P2P_BINS; bin++) {
        ronde_p2p_list_init(&state->posted[bin]);
        ronde_p2p_list_init(&state->unexpected[bin]);
    }
    return true;
}

enum ronde_status ronde_p2p_open(struct ronde_comm *comm, struct ronde_error *error)
{
    struct ronde_p2p_state *state = ronde_mem_new(comm->mem, 1, sizeof *state);
    comm->p2p = state;
    if (!state)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator");
    state->comm = comm;
    state->mem = comm->mem;
    ronde_p2p_list_init(&state->ended);
    ronde_p2p_list_init(&state->reading);
    ronde_p2p_list_init(&state->shm_peers);
    ronde_p2p_list_init(&state->net_peers);
    ronde_p2p_pool_open(&state->requests, comm->mem, sizeof(struct ronde_p2p), REQUESTS_PER_SLAB);
    ronde_p2p_pool_open(&state->messages, comm->mem, sizeof(struct ronde_p2p_message),
                        MESSAGES_PER_SLAB);
    ronde_p2p_buffers_open(state);
    if (!open_tables(state))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for messages of %u ranks", comm->ranks);
    ronde_p2p_shm_plan(state);
    ronde_control_set_progress_hook(comm->control, ronde_p2p_progress_hook, comm);
    return RONDE_OK;
}

/* Whether control messages to other ranks are still queued. */
static bool has_controls(const struct ronde_p2p_state *state)
{
    for (const struct ronde_p2p_node *at = state->shm_peers.next; at != &state->shm_peers;
         at = at->next)
        if (ronde_p2p_list_first(&((const struct ronde_p2p_peer *)at)->controls))
            return true;
    return false;
}

void ronde_p2p_leave(struct ronde_comm *comm)
{
    struct ronde_p2p_state *state = comm->p2p;
    struct ronde_error why = {0};
    if (!state || !state->peers)
        return;
    const double until_ns = ronde_clock_ns() + LEAVE_NS;
    for (uint32_t idle = 1; has_controls(state) && ronde_clock_ns() < until_ns; idle++) {
        if (ronde_comm_p2p_progress(comm, NULL, &why) != RONDE_OK)
            break;
        ronde_comm_p2p_rest(comm, idle);
    }
    /* Data that was offered and not read is gone once this rank has left. */
    if (state->pending > 0 && comm->wire->shared)
        comm->wire->shared->withdraw(comm);
}

void ronde_p2p_close(struct ronde_comm *comm)
{
    struct ronde_p2p_state *state = comm->p2p;
    const struct ronde_mem *mem = comm->mem;
    if (!state)
        return;
    ronde_control_set_progress_hook(comm->control, NULL, NULL);
    for (uint32_t rank = 0; state->peers && rank < comm->ranks; rank++)
        ronde_mem_free(mem, state->peers[rank], 1, sizeof *state->peers[rank]);
    ronde_p2p_pool_close(&state->requests);
    ronde_p2p_pool_close(&state->messages);
    for (uint32_t k = 0; k < RONDE_P2P_BUFFER_CLASSES; k++)
        ronde_p2p_pool_close(&state->buffers[k]);
    ronde_mem_free(mem, state->peers, comm->ranks, sizeof(struct ronde_p2p_peer *));
    ronde_mem_free(mem, state->local_rank, comm->ranks, sizeof *state->local_rank);
    ronde_mem_free(mem, state->posted, RONDE_P2P_BINS, sizeof *state->posted);
    ronde_mem_free(mem, state->unexpected, RONDE_P2P_BINS, sizeof *state->unexpected);
    ronde_mem_free(mem, state, 1, sizeof *state);
    comm->p2p = NULL;
}
