/* What all ranks of a communicator exchange outside runs, failures of others, and waiting for them. See comm_parts.h. */
#include "hw/comm/comm_parts.h"
#include "hw/pause.h"

#include <sched.h>
#include <stdio.h>

enum ronde_status ronde_comm_allgather(struct ronde_comm *comm, const void *mine, size_t bytes,
                                       void *out_all, struct ronde_error *error)
{
    RONDE_TRY(ronde_comm_check_process(comm, error));
    ronde_comm_enter(comm);
    const enum ronde_status status =
        ronde_control_allgather(comm->control, mine, bytes, out_all, error);
    ronde_comm_leave(comm);
    return status;
}

/* What another rank had shown is gone where it has ended, or has been told to by a third: an alarm says which. */
static enum ronde_status prefer_alarm(struct ronde_comm *comm, struct ronde_error *error)
{
    struct ronde_error alarm = {0};
    if (ronde_control_linger(comm->control, RONDE_CONTROL_GRACE_NS, &alarm) == RONDE_OK)
        return RONDE_DEVICE;
    if (error)
        *error = alarm;
    return alarm.status;
}

enum ronde_status ronde_comm_agree(struct ronde_comm *comm, enum ronde_status status,
                                   struct ronde_error *error)
{
    if (status == RONDE_DEVICE)
        status = prefer_alarm(comm, error);
    /* A rank's error is sent whole, so that all ranks return the same text. */
    struct ronde_error mine = {.status = status};
    if (status == RONDE_OK && comm->ranks == 1)
        return RONDE_OK;
    if (status != RONDE_OK)
        snprintf(mine.message, sizeof mine.message, "%s", error ? error->message : "it failed");
    struct ronde_error *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    if (!all) {
        ronde_control_abort(comm->control);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    }
    enum ronde_status verdict =
        ronde_control_allgather(comm->control, &mine, sizeof mine, all, error);
    for (uint32_t rank = 0; rank < comm->ranks && verdict == RONDE_OK; rank++)
        if (all[rank].status != RONDE_OK)
            verdict =
                ronde_fail(error, all[rank].status, "rank %u: %.480s", rank, all[rank].message);
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status != RONDE_OK ? status : verdict;
}

/* Done only periodically, as it takes longer than a short run: balancing processors, polling the control channel. */
enum ronde_status ronde_comm_check(struct ronde_comm *comm, double now_ns, struct ronde_error *error)
{
    comm->checked_ns = now_ns;
    if (comm->wire->shared)
        comm->wire->shared->cpu_balance(comm, now_ns);
    return ronde_control_check(comm->control, error);
}

void ronde_comm_abort(struct ronde_comm *comm)
{
    if (!ronde_comm_is_foreign(comm))
        ronde_control_abort(comm->control);
}

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

void ronde_comm_run_rest(struct ronde_comm_program *program)
{
    if (program->idle > 0)
        ronde_comm_rest(program->comm, program->idle);
}
