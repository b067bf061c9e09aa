/* State and control of libraries built on communicators. See ronde/attach.h. */
#include "ronde/attach.h"

#include "hw/comm/comm.h"

struct ronde_attachment *ronde_comm_attachment(const struct ronde_comm *comm)
{
    return __atomic_load_n(&comm->attachment, __ATOMIC_ACQUIRE);
}

static bool progress_hook(void *self)
{
    struct ronde_attachment *attachment = self;
    return attachment->progress_hook(attachment);
}

struct ronde_attachment *ronde_comm_attach(struct ronde_comm *comm,
                                           struct ronde_attachment *attachment)
{
    struct ronde_attachment *present = NULL;
    if (!__atomic_compare_exchange_n(&comm->attachment, &present, attachment, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return present;
    ronde_control_set_attachment_hook(comm->control, progress_hook, attachment);
    return attachment;
}

void ronde_comm_enter(struct ronde_comm *comm)
{
    struct ronde_attachment *attachment = ronde_comm_attachment(comm);
    if (attachment)
        attachment->enter(attachment);
}

void ronde_comm_leave(struct ronde_comm *comm)
{
    struct ronde_attachment *attachment = ronde_comm_attachment(comm);
    if (attachment)
        attachment->leave(attachment);
}

const struct ronde_mem *ronde_comm_allocator(const struct ronde_comm *comm)
{
    return comm->mem;
}

void ronde_comm_limit(struct ronde_comm *comm, uint64_t timeout_ns)
{
    ronde_control_set_timeout(comm->control, timeout_ns ? timeout_ns : comm->options.timeout_ns);
}

void ronde_comm_limit_run(struct ronde_comm_program *program, double deadline_ns)
{
    program->deadline_ns = deadline_ns;
}

void ronde_comm_hurry(struct ronde_comm *comm, double deadline_ns)
{
    ronde_control_hurry(comm->control, deadline_ns);
}

void ronde_comm_run_rest(struct ronde_comm_program *program)
{
    if (program->idle > 0)
        ronde_comm_rest(program->comm, program->idle);
}

void ronde_comm_set_background(struct ronde_comm *comm, bool is_background)
{
    comm->is_background = is_background;
}

void ronde_comm_fail(struct ronde_comm *comm, const struct ronde_error *why)
{
    ronde_control_alarm(comm->control, why);
}

enum ronde_status ronde_comm_failure(struct ronde_comm *comm, struct ronde_error *error)
{
    return ronde_control_check(comm->control, error);
}
