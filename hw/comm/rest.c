/* Waiting for other ranks: polling for a while, then asleep. See comm.h. */
#include "hw/comm/comm.h"
#include "hw/pause.h"

#include <sched.h>

/* Empty polls before a rank sleeps: few where another rank waits for the processor. */
#define SPINS 400u
#define SPINS_OVERSUBSCRIBED 2u

/* The same of a thread in the background, which does not yield meanwhile: as long as a message takes. */
#define PAUSES_IN_BACKGROUND 100u

bool ronde_comm_spin(const struct ronde_comm *comm, uint32_t idle)
{
    if (idle >= (comm->is_oversubscribed ? SPINS_OVERSUBSCRIBED : SPINS))
        return false;
    sched_yield();
    return true;
}

/* Beside threads that compute: they would be yielded to for a whole time slice, and waking preempts them. */
static bool spin_in_background(uint32_t idle)
{
    if (idle < PAUSES_IN_BACKGROUND)
        ronde_pause_core();
    return idle < PAUSES_IN_BACKGROUND;
}

void ronde_comm_rest(struct ronde_comm *comm, uint32_t idle)
{
    const bool spins = comm->is_background ? spin_in_background(idle) : comm->wire->spin(comm, idle);
    if (!spins && comm->wire->sleep_begin(comm))
        comm->wire->sleep(comm);
}
