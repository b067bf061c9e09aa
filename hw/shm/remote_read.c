/* Reading other ranks' memory. See remote_read.h. */
#include "hw/shm/remote_read.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A word in a rank's memory, for others to read as a probe. */
struct probe {
    uint64_t address; /* of a word that is its own address xor rank */
    int32_t process;
    uint32_t reserved;
};

/* The result of a rank's probes. */
struct probe_result {
    int32_t reason; /* errno of the first probe that failed, or 0 */
    uint32_t rank;  /* whose memory was read */
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
static struct probe_result probe_all(const struct ronde_comm *comm,
                                     struct ronde_remote_read *remote, const struct probe *probes)
{
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        struct ronde_remote_rank *other = &remote->others[rank];
        uint64_t word = 0;
        if (rank == comm->rank || !ronde_comm_is_local(comm, rank))
            continue;
        other->process = probes[rank].process;
        /* Process ids are reused: a pidfd stays with this process. */
        other->fd = (int)syscall(SYS_pidfd_open, other->process, 0);
        if (other->fd < 0)
            return (struct probe_result){errno, rank};
        const int reason = read_memory(other->process, (const void *)(uintptr_t)probes[rank].address,
                                       &word, sizeof word);
        if (reason != 0 || word != word_of(probes[rank].address, rank))
            return (struct probe_result){reason ? reason : EFAULT, rank};
    }
    return (struct probe_result){0, 0};
}

static void close_descriptors(struct ronde_remote_read *remote)
{
    for (uint32_t rank = 0; rank < remote->ranks; rank++) {
        if (remote->others[rank].fd >= 0)
            close(remote->others[rank].fd);
        remote->others[rank].fd = -1;
    }
}

/* The host's first rank reports it for all. */
static void note_refusal(const struct ronde_comm *comm, uint32_t reader,
                         const struct probe_result *refused)
{
    char text[200];
    if (comm->rank != comm->leaders[comm->rank] || !comm->options.note)
        return;
    snprintf(text, sizeof text,
             "rank %u cannot read the memory of rank %u (%s): buffers that are not from "
             "ronde_comm_mem are copied through slots",
             reader, refused->rank, strerror(refused->reason));
    ronde_comm_note(comm, text);
}

/* CMA is used only if every rank of the host can read every other: a sender then need not know which rank reads. */
static enum ronde_status probe_cma(struct ronde_comm *comm, struct ronde_remote_read *remote,
                                   struct probe *probes, struct probe_result *results,
                                   struct ronde_error *error)
{
    const volatile uint64_t word = word_of((uint64_t)(uintptr_t)&word, comm->rank);
    const struct probe mine = {(uint64_t)(uintptr_t)&word, (int32_t)getpid(), 0};
    RONDE_TRY(ronde_control_allgather(comm->control, &mine, sizeof mine, probes, error));
    const struct probe_result found = probe_all(comm, remote, probes);
    RONDE_TRY(ronde_control_allgather(comm->control, &found, sizeof found, results, error));
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        if (results[rank].reason != 0 && ronde_comm_is_local(comm, rank)) {
            note_refusal(comm, rank, &results[rank]);
            close_descriptors(remote);
            return RONDE_OK;
        }
    remote->has_cma = true;
    return RONDE_OK;
}

enum ronde_status
ronde_remote_read_open(struct ronde_comm *comm, const struct ronde_memory_descriptor *descriptors,
                       struct ronde_remote_read *out_remote, struct ronde_error *error)
{
    const struct ronde_mem *mem = comm->mem;
    struct probe *probes = ronde_mem_new(mem, comm->ranks, sizeof *probes);
    struct probe_result *results = ronde_mem_new(mem, comm->ranks, sizeof *results);
    out_remote->descriptors = descriptors;
    out_remote->ranks = comm->ranks;
    out_remote->others = ronde_mem_new(mem, comm->ranks, sizeof *out_remote->others);
    for (uint32_t rank = 0; out_remote->others && rank < comm->ranks; rank++)
        out_remote->others[rank].fd = -1;
    enum ronde_status status =
        probes && results && out_remote->others
            ? RONDE_OK
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator of %u ranks",
                         comm->ranks);
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status, probe_cma(comm, out_remote, probes, results, error));
    ronde_mem_free(mem, probes, comm->ranks, sizeof *probes);
    ronde_mem_free(mem, results, comm->ranks, sizeof *results);
    return status;
}

enum ronde_status ronde_remote_read_reserve(struct ronde_remote_read *remote,
                                            const struct ronde_mem *mem, uint64_t bytes,
                                            struct ronde_error *error)
{
    if (!remote->has_cma || bytes <= remote->bounce_bytes)
        return RONDE_OK;
    unsigned char *bounce = ronde_mem_new(mem, (size_t)bytes, 1);
    if (!bounce)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to read %llu bytes of another rank",
                          (unsigned long long)bytes);
    ronde_mem_free(mem, remote->bounce, remote->bounce_bytes, 1);
    remote->bounce = bounce;
    remote->bounce_bytes = (size_t)bytes;
    return RONDE_OK;
}

void ronde_remote_read_close(struct ronde_remote_read *remote, const struct ronde_mem *mem)
{
    if (remote->others) {
        close_descriptors(remote);
        for (uint32_t rank = 0; rank < remote->ranks; rank++)
            ronde_memory_mapping_close(&remote->others[rank].mapping);
    }
    ronde_mem_free(mem, remote->others, remote->ranks, sizeof *remote->others);
    ronde_mem_free(mem, remote->bounce, remote->bounce_bytes, 1);
    *remote = (struct ronde_remote_read){0};
}

/* Whether a process has ended; if not, what was read before came from it. */
static bool has_ended(const struct ronde_remote_rank *other)
{
    struct pollfd end = {other->fd, POLLIN, 0};
    return poll(&end, 1, 0) != 0;
}

/* Whether an offer lies in what its rank's descriptor covers by now. */
static bool is_in_registered(const struct ronde_memory_descriptor *descriptor,
                             const struct ronde_offer *offer)
{
    const uint64_t bytes = __atomic_load_n(&descriptor->bytes, __ATOMIC_ACQUIRE);
    const uint64_t offset = (uint64_t)(uintptr_t)offer->start - descriptor->start;
    return offset < bytes && offer->bytes <= bytes - offset;
}

bool ronde_remote_read_can_find(const struct ronde_remote_read *remote, uint32_t rank,
                                const struct ronde_offer *offer)
{
    return remote->has_cma || is_in_registered(&remote->descriptors[rank], offer);
}

static const unsigned char *read_by_cma(struct ronde_remote_read *remote, uint32_t rank,
                                        const struct ronde_offer *offer, unsigned char *place,
                                        struct ronde_error *error)
{
    const struct ronde_remote_rank *other = &remote->others[rank];
    unsigned char *const to = place ? place : remote->bounce;
    int reason = EPERM;
    if (remote->has_cma && (place || offer->bytes <= remote->bounce_bytes))
        reason = read_memory(other->process, offer->start, to, offer->bytes);
    if (reason == 0 && has_ended(other))
        reason = ESRCH;
    if (reason == 0)
        return to;
    (void)ronde_fail(error, RONDE_DEVICE, "the memory of rank %u cannot be read: %s", rank,
                     reason == ESRCH ? "its process has ended" : strerror(reason));
    return NULL;
}

const unsigned char *ronde_remote_read_find(struct ronde_remote_read *remote, uint32_t rank,
                                            const struct ronde_offer *offer, unsigned char *place,
                                            struct ronde_error *error)
{
    struct ronde_memory_mapping *mapping = &remote->others[rank].mapping;
    const struct ronde_memory_descriptor *descriptor = &remote->descriptors[rank];
    const unsigned char *found = ronde_memory_mapping_find(mapping, offer->start, offer->bytes);
    if (found)
        return found;
    if (!is_in_registered(descriptor, offer))
        return read_by_cma(remote, rank, offer, place, error);
    if (!ronde_memory_mapping_open(mapping, descriptor)) {
        (void)ronde_fail(error, RONDE_DEVICE, "the memory of rank %u cannot be mapped: %s", rank,
                         strerror(errno));
        return NULL;
    }
    return ronde_memory_mapping_find(mapping, offer->start, offer->bytes);
}

unsigned char *ronde_remote_write_address(struct ronde_remote_read *remote, uint32_t rank,
                                          uint64_t theirs, uint64_t bytes)
{
    struct ronde_memory_mapping *mapping = &remote->others[rank].mapping;
    const struct ronde_memory_descriptor *descriptor = &remote->descriptors[rank];
    if (__atomic_load_n(&descriptor->bytes, __ATOMIC_ACQUIRE) > mapping->bytes &&
        !ronde_memory_mapping_open(mapping, descriptor))
        return NULL;
    return ronde_memory_mapping_find(mapping, (const void *)(uintptr_t)theirs, bytes);
}
