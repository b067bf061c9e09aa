/* What measuring and printing both ask of a session. See run.h. */
#include "run.h"

#include "ronde/hw.h"

const struct ronde_mem *ronde_run_memory(const struct ronde_run_session *session)
{
    return session->options->has_user_buffers ? ronde_mem_default() : ronde_comm_mem(session->comm);
}

bool ronde_run_has_registered(const struct ronde_run_session *session)
{
    return session->comm && ronde_run_memory(session) != ronde_mem_default();
}

bool ronde_run_is_unbound(const struct ronde_run_session *session)
{
    return session->options->is_unbound && session->target.machine.devices == 0;
}

bool ronde_run_is_checked(const struct ronde_run_session *session)
{
    return session->options->check && ronde_target_moves_data(&session->target);
}
