/* Messages over UCX in a build without it: no rank needs them. See path.h. */
#include "hw/p2p/path.h"

enum ronde_status ronde_p2p_net_connect(struct ronde_p2p_peer *peer, struct ronde_error *error)
{
    (void)peer;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s", ronde_wire_ucx_missing);
}

void ronde_p2p_net_send(struct ronde_p2p *send)
{
    (void)send;
}

void ronde_p2p_net_fetch(struct ronde_p2p *receive)
{
    (void)receive;
}

void ronde_p2p_net_return(struct ronde_p2p_peer *peer)
{
    (void)peer;
}

bool ronde_p2p_net_round(struct ronde_p2p_state *state)
{
    (void)state;
    return false;
}

const struct ronde_p2p_peer *ronde_p2p_net_lost(const struct ronde_p2p_state *state,
                                                const char **out_reason)
{
    (void)state;
    (void)out_reason;
    return NULL;
}

void ronde_p2p_net_abort(struct ronde_p2p_state *state)
{
    (void)state;
}
