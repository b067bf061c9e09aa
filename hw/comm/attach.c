/*
 * Which process a communicator belongs to: a forked child inherits its memory, but no part in it; and what a library built
 * on communicators has there. See comm_parts.h, ronde/attach.h.
 */
#include "hw/comm/comm_parts.h"

#include <sys/mman.h>
#include <unistd.h>

/* Generations given out in this process and those that it was forked from. */
static uint32_t last_generation;

/* A page of this process whose first word the system zeroes in a forked child: getpid() would take as long as a short message. */
static uint32_t *generation_page;

static uint32_t *map_page(void)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    uint32_t *present = NULL;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0 &&
        __atomic_compare_exchange_n(&generation_page, &present, (uint32_t *)page, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return page;
    (void)munmap(page, bytes);
    return present;
}

uint32_t ronde_process_generation(void)
{
    uint32_t *page = __atomic_load_n(&generation_page, __ATOMIC_ACQUIRE);
    if (!page && !(page = map_page()))
        return (uint32_t)getpid();
    uint32_t generation = __atomic_load_n(page, __ATOMIC_RELAXED);
    if (generation > 0)
        return generation;
    /* Another thread may be faster; its number is as good. */
    const uint32_t mine = __atomic_add_fetch(&last_generation, 1, __ATOMIC_RELAXED);
    return __atomic_compare_exchange_n(page, &generation, mine, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED)
               ? mine
               : generation;
}

enum ronde_status ronde_comm_check_process(const struct ronde_comm *comm, struct ronde_error *error)
{
    if (!comm)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the communicator is NULL");
    if (comm->generation == ronde_process_generation())
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "this process was forked after rank %u made the communicator, which is its "
                      "parent's alone; make one here",
                      comm->rank);
}

bool ronde_comm_is_foreign(const struct ronde_comm *comm)
{
    return !comm || comm->generation != ronde_process_generation();
}

/* State and control of libraries built on communicators. */

struct ronde_attachment *ronde_comm_attachment(const struct ronde_comm *comm)
{
    return __atomic_load_n(&comm->attachment, __ATOMIC_ACQUIRE);
}

struct ronde_attachment *ronde_comm_attach(struct ronde_comm *comm,
                                           struct ronde_attachment *attachment)
{
    struct ronde_attachment *present = NULL;
    return __atomic_compare_exchange_n(&comm->attachment, &present, attachment, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
               ? attachment
               : present;
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

void ronde_comm_set_background(struct ronde_comm *comm, bool is_background)
{
    comm->is_background = is_background;
}

void ronde_comm_note(const struct ronde_comm *comm, const char *text)
{
    if (comm->options.note)
        comm->options.note(comm->options.note_self, text);
}

void ronde_comm_fail(struct ronde_comm *comm, const struct ronde_error *why)
{
    if (!ronde_comm_is_foreign(comm))
        ronde_control_alarm(comm->control, why);
}

enum ronde_status ronde_comm_failure(struct ronde_comm *comm, struct ronde_error *error)
{
    return ronde_control_check(comm->control, error);
}
