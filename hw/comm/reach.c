/* Reading other ranks' memory. See reach.h. */
#include "hw/comm/reach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where a rank can be read from, for a try. */
struct probe {
    uint64_t address; /* of a word that holds its own address and rank */
    int32_t process;
    uint32_t reserved;
};

/* How a rank's tries went. */
struct finding {
    int32_t reason; /* errno of the first that failed, or 0 */
    uint32_t rank;  /* whose it was */
};

/* One call reads everything or fails: a part of it means that the rest cannot be read. */
static int read_memory(int32_t process, const void *from, void *to, uint64_t bytes)
{
    const struct iovec here = {to, (size_t)bytes};
    const struct iovec there = {(void *)(uintptr_t)from, (size_t)bytes};
    const ssize_t got = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (got < 0)
        return errno;
    return (uint64_t)got == bytes ? 0 : EFAULT;
}

static uint64_t word_of(uint64_t address, uint32_t rank)
{
    return address ^ rank;
}

/* Reads the probe of every other rank of the host; stops at the first that cannot be read. */
static struct finding try_all(const struct ronde_comm *comm, struct ronde_reach *reach,
                              const struct probe *probes)
{
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        struct ronde_other *other = &reach->others[rank];
        uint64_t word = 0;
        if (rank == comm->rank || !ronde_comm_is_near(comm, rank))
            continue;
        other->process = probes[rank].process;
        /* Numbers of processes are used again: this keeps to the one that was met. */
        other->descriptor = (int)syscall(SYS_pidfd_open, other->process, 0);
        if (other->descriptor < 0)
            return (struct finding){errno, rank};
        const int reason = read_memory(other->process, (const void *)(uintptr_t)probes[rank].address,
                                       &word, sizeof word);
        if (reason != 0 || word != word_of(probes[rank].address, rank))
            return (struct finding){reason ? reason : EFAULT, rank};
    }
    return (struct finding){0, 0};
}

static void close_descriptors(struct ronde_reach *reach)
{
    for (uint32_t rank = 0; rank < reach->ranks; rank++) {
        if (reach->others[rank].descriptor >= 0)
            close(reach->others[rank].descriptor);
        reach->others[rank].descriptor = -1;
    }
}

/* One voice of a host is enough. */
static void note_refusal(const struct ronde_comm *comm, uint32_t reader,
                         const struct finding *refused)
{
    char text[200];
    if (comm->rank != comm->leaders[comm->rank] || !comm->options.note)
        return;
    snprintf(text, sizeof text,
             "rank %u cannot read the memory of rank %u (%s): buffers that are not from "
             "ronde_comm_mem are copied through slots",
             reader, refused->rank, strerror(refused->reason));
    comm->options.note(comm->options.note_self, text);
}

/* The kernel is asked only if it lets every rank of the host read every other: a sender need not know who reads. */
static enum ronde_status try_kernel(struct ronde_comm *comm, struct ronde_reach *reach,
                                    struct probe *probes, struct finding *findings,
                                    struct ronde_error *error)
{
    const volatile uint64_t word = word_of((uint64_t)(uintptr_t)&word, comm->rank);
    const struct probe mine = {(uint64_t)(uintptr_t)&word, (int32_t)getpid(), 0};
    enum ronde_status status = ronde_star_allgather(comm->star, &mine, sizeof mine, probes, error);
    if (status != RONDE_OK)
        return status;
    const struct finding found = try_all(comm, reach, probes);
    status = ronde_star_allgather(comm->star, &found, sizeof found, findings, error);
    if (status != RONDE_OK)
        return status;
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        if (findings[rank].reason != 0 && ronde_comm_is_near(comm, rank)) {
            note_refusal(comm, rank, &findings[rank]);
            close_descriptors(reach);
            return RONDE_OK;
        }
    reach->has_kernel = true;
    return RONDE_OK;
}

enum ronde_status ronde_reach_open(struct ronde_comm *comm, const struct ronde_sign *signs,
                                   struct ronde_reach *out_reach, struct ronde_error *error)
{
    const struct ronde_mem *mem = comm->mem;
    struct probe *probes = ronde_mem_new(mem, comm->ranks, sizeof *probes);
    struct finding *findings = ronde_mem_new(mem, comm->ranks, sizeof *findings);
    out_reach->signs = signs;
    out_reach->ranks = comm->ranks;
    out_reach->others = ronde_mem_new(mem, comm->ranks, sizeof *out_reach->others);
    for (uint32_t rank = 0; out_reach->others && rank < comm->ranks; rank++)
        out_reach->others[rank].descriptor = -1;
    enum ronde_status status =
        probes && findings && out_reach->others
            ? RONDE_OK
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator of %u ranks",
                         comm->ranks);
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = try_kernel(comm, out_reach, probes, findings, error);
    ronde_mem_free(mem, probes, comm->ranks, sizeof *probes);
    ronde_mem_free(mem, findings, comm->ranks, sizeof *findings);
    return status;
}

enum ronde_status ronde_reach_reserve(struct ronde_reach *reach, const struct ronde_mem *mem,
                                      uint64_t bytes, struct ronde_error *error)
{
    if (!reach->has_kernel || bytes <= reach->bounce_bytes)
        return RONDE_OK;
    unsigned char *bounce = ronde_mem_new(mem, (size_t)bytes, 1);
    if (!bounce)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to read %llu bytes of another rank",
                          (unsigned long long)bytes);
    ronde_mem_free(mem, reach->bounce, reach->bounce_bytes, 1);
    reach->bounce = bounce;
    reach->bounce_bytes = (size_t)bytes;
    return RONDE_OK;
}

void ronde_reach_close(struct ronde_reach *reach, const struct ronde_mem *mem)
{
    if (reach->others) {
        close_descriptors(reach);
        for (uint32_t rank = 0; rank < reach->ranks; rank++)
            ronde_window_close(&reach->others[rank].window);
    }
    ronde_mem_free(mem, reach->others, reach->ranks, sizeof *reach->others);
    ronde_mem_free(mem, reach->bounce, reach->bounce_bytes, 1);
    *reach = (struct ronde_reach){0};
}

/* Whether a process has ended; what was read before it had was its own. */
static bool has_ended(const struct ronde_other *other)
{
    struct pollfd end = {other->descriptor, POLLIN, 0};
    return poll(&end, 1, 0) != 0;
}

/* Whether an offer lies in what its rank shows of its heap by now. */
static bool is_in_heap(const struct ronde_sign *sign, const struct ronde_offer *offer)
{
    const uint64_t bytes = __atomic_load_n(&sign->bytes, __ATOMIC_ACQUIRE);
    const uint64_t offset = (uint64_t)(uintptr_t)offer->start - sign->start;
    return offset < bytes && offer->bytes <= bytes - offset;
}

static const unsigned char *ask_kernel(struct ronde_reach *reach, uint32_t rank,
                                       const struct ronde_offer *offer, unsigned char *place,
                                       struct ronde_error *error)
{
    const struct ronde_other *other = &reach->others[rank];
    unsigned char *const to = place ? place : reach->bounce;
    int reason = EPERM;
    if (reach->has_kernel && (place || offer->bytes <= reach->bounce_bytes))
        reason = read_memory(other->process, offer->start, to, offer->bytes);
    if (reason == 0 && has_ended(other))
        reason = ESRCH;
    if (reason == 0)
        return to;
    (void)ronde_fail(error, RONDE_DEVICE, "the memory of rank %u cannot be read: %s", rank,
                     reason == ESRCH ? "its process has ended" : strerror(reason));
    return NULL;
}

const unsigned char *ronde_reach_find(struct ronde_reach *reach, uint32_t rank,
                                      const struct ronde_offer *offer, unsigned char *place,
                                      struct ronde_error *error)
{
    struct ronde_window *window = &reach->others[rank].window;
    const struct ronde_sign *sign = &reach->signs[rank];
    const unsigned char *found = ronde_window_find(window, offer->start, offer->bytes);
    if (found)
        return found;
    if (!is_in_heap(sign, offer))
        return ask_kernel(reach, rank, offer, place, error);
    if (!ronde_window_open(window, sign)) {
        (void)ronde_fail(error, RONDE_DEVICE, "the memory of rank %u cannot be mapped: %s", rank,
                         strerror(errno));
        return NULL;
    }
    return ronde_window_find(window, offer->start, offer->bytes);
}

unsigned char *ronde_reach_place(struct ronde_reach *reach, uint32_t rank, uint64_t theirs,
                                 uint64_t bytes)
{
    struct ronde_window *window = &reach->others[rank].window;
    const struct ronde_sign *sign = &reach->signs[rank];
    if (__atomic_load_n(&sign->bytes, __ATOMIC_ACQUIRE) > window->bytes &&
        !ronde_window_open(window, sign))
        return NULL;
    return ronde_window_find(window, (const void *)(uintptr_t)theirs, bytes);
}
