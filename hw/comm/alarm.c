/* Failures of other ranks: looking for them, and announcing one. */
#include "hw/comm/comm.h"

/* Done only periodically, as it takes longer than a short run: balancing processors, polling the control channel. */
enum ronde_status ronde_comm_check(struct ronde_comm *comm, double now_ns, struct ronde_error *error)
{
    comm->checked_ns = now_ns;
    if (comm->wire->cpu_balance)
        comm->wire->cpu_balance(comm, now_ns);
    return ronde_control_check(comm->control, error);
}

void ronde_comm_abort(struct ronde_comm *comm)
{
    if (comm)
        ronde_control_abort(comm->control);
}
