/*
 * Where the ranks are, and which transport that leaves for each pair of them. See comm_parts.h.
 *
 * A host is a set of ranks that map each other's memory: one boot of one kernel, one PID namespace, the right to open
 * each other's descriptors (tried, not assumed), and the same host_id, which the caller may choose. Without a chosen
 * one it is the network namespace, so that the hosts a test makes of one kernel are hosts.
 */
#include "hw/comm/comm_parts.h"
#include "hw/streams.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A UUID of 36 characters, and a newline. */
#define BOOT_BYTES 40

/* What a rank sends about its locality. */
struct locality {
    char boot[BOOT_BYTES];          /* the kernel's boot_id */
    char host[RONDE_HOST_ID_BYTES]; /* the caller's host_id, or the network namespace's */
    uint64_t processes;             /* the PID namespace */
    int32_t process;                /* its PID there */
    uint32_t transport;             /* requested; the same on all ranks */
    cpu_set_t cpus;                 /* this rank's affinity mask; launchers may give each its own */
};

/* Inode of one of a process's namespaces; 0 where it cannot be read, as for another user's process. */
static uint64_t space_of(int32_t process, const char *kind)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", process, kind);
    return stat(path, &about) == 0 ? about.st_ino : 0;
}

/* The kernel's boot_id; empty where it cannot be read. */
static void read_boot(char boot[BOOT_BYTES])
{
    memset(boot, 0, BOOT_BYTES);
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, boot, BOOT_BYTES - 1) < 0)
        memset(boot, 0, BOOT_BYTES);
    if (fd >= 0)
        close(fd);
    boot[strcspn(boot, "\n")] = '\0';
}

void ronde_comm_name_network(char text[RONDE_NETWORK_BYTES])
{
    char boot[BOOT_BYTES];
    read_boot(boot);
    snprintf(text, RONDE_NETWORK_BYTES, "%s %llu", boot,
             (unsigned long long)space_of((int32_t)getpid(), "net"));
}

static void fill_locality(const struct ronde_comm *comm, struct locality *out)
{
    memset(out, 0, sizeof *out);
    read_boot(out->boot);
    out->process = (int32_t)getpid();
    out->processes = space_of(out->process, "pid");
    if (comm->options.host_id)
        snprintf(out->host, sizeof out->host, "%s", comm->options.host_id);
    else
        snprintf(out->host, sizeof out->host, "network %llu",
                 (unsigned long long)space_of(out->process, "net"));
    out->transport = comm->options.transport;
    /* A machine with more processors than the set holds counts as one: its ranks then wait without polling. */
    if (sched_getaffinity(0, sizeof out->cpus, &out->cpus) != 0)
        CPU_SET(0, &out->cpus);
}

static bool shares_kernel(const struct locality *left, const struct locality *right)
{
    return memcmp(left->boot, right->boot, sizeof left->boot) == 0;
}

/* Whether two ranks could map each other's memory, as far as their localities show. */
static bool shares_memory(const struct locality *left, const struct locality *right, bool same_host)
{
    return shares_kernel(left, right) && left->processes == right->processes &&
           (!same_host || memcmp(left->host, right->host, sizeof left->host) == 0);
}

/* The first rank of a host is its leader; with UCX everywhere every rank is a host of its own. */
static void find_leaders(struct ronde_comm *comm, const struct locality *localities)
{
    const enum ronde_transport wanted = comm->options.transport;
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        uint32_t leader = wanted == RONDE_TRANSPORT_UCX ? rank : 0;
        while (!shares_memory(&localities[leader], &localities[rank], wanted != RONDE_TRANSPORT_SHM))
            leader++;
        comm->leaders[rank] = leader;
    }
}

/* A rank that cannot open its leader's memory is a host of its own. Collective. */
static enum ronde_status try_leaders(struct ronde_comm *comm, const struct locality *localities,
                                     struct ronde_error *error)
{
    const struct locality *leader = &localities[comm->leaders[comm->rank]];
    const uint32_t mine = space_of(leader->process, "pid") == leader->processes
                              ? comm->leaders[comm->rank]
                              : comm->rank;
    return ronde_control_allgather(comm->control, &mine, sizeof mine, comm->leaders, error);
}

static enum ronde_status check_transports(const struct ronde_comm *comm,
                                          const struct locality *localities,
                                          struct ronde_error *error)
{
    for (uint32_t rank = 1; rank < comm->ranks; rank++)
        if (localities[rank].transport != localities[0].transport)
            return ronde_fail(error, RONDE_REJECTED, "rank 0 wants transport %s, rank %u wants %s",
                              ronde_transport_text((enum ronde_transport)localities[0].transport),
                              rank,
                              ronde_transport_text((enum ronde_transport)localities[rank].transport));
    return RONDE_OK;
}

/* One host needs no network; hosts of one rank each have no memory to share. */
static enum ronde_status choose_transport(struct ronde_comm *comm, struct ronde_error *error)
{
    const char *reason = NULL;
    uint32_t hosts = 0;
    uint32_t outsider = 0;
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        hosts += comm->leaders[rank] == rank;
        outsider = outsider == 0 ? comm->leaders[rank] : outsider;
    }
    comm->transport = hosts == 1             ? RONDE_TRANSPORT_SHM
                      : hosts == comm->ranks ? RONDE_TRANSPORT_UCX
                                             : RONDE_TRANSPORT_HYBRID;
    if (comm->options.transport == RONDE_TRANSPORT_UCX)
        comm->transport = RONDE_TRANSPORT_UCX;
    if (comm->options.transport == RONDE_TRANSPORT_SHM && hosts > 1)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "rank 0 and rank %u are on different machines or in different "
                          "containers: they share no memory",
                          outsider);
    if (!ronde_transport_available(comm->transport, &reason))
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "rank 0 and rank %u are on different hosts, and there is only shared "
                          "memory: %s",
                          outsider, reason);
    comm->wire = comm->transport == RONDE_TRANSPORT_SHM   ? &ronde_wire_shm
                 : comm->transport == RONDE_TRANSPORT_UCX ? &ronde_wire_ucx
                                                          : &ronde_wire_hybrid;
    return RONDE_OK;
}

/* Ranks of several hosts may be processes of one kernel, and then share its processors all the same. */
static void count_processors(struct ronde_comm *comm, const struct locality *localities)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        if (!shares_kernel(&localities[rank], &localities[comm->rank]))
            continue;
        comm->ranks_here++;
        CPU_OR(&cpus, &cpus, &localities[rank].cpus);
    }
    comm->processors = (uint32_t)CPU_COUNT(&cpus);
    comm->is_oversubscribed = comm->ranks_here > comm->processors;
    /* This machine's ranks touch their share of all ranks' buffers. */
    comm->stream_from_bytes =
        ronde_stream_from_bytes(comm->is_oversubscribed ? comm->processors : comm->ranks_here) *
        comm->ranks / comm->ranks_here;
}

enum ronde_status ronde_comm_find_locality(struct ronde_comm *comm, struct ronde_error *error)
{
    struct locality locality;
    fill_locality(comm, &locality);
    struct locality *localities = ronde_mem_new(comm->mem, comm->ranks, sizeof *localities);
    comm->leaders = ronde_mem_new(comm->mem, comm->ranks, sizeof *comm->leaders);
    enum ronde_status status =
        localities && comm->leaders
            ? ronde_control_allgather(comm->control, &locality, sizeof locality, localities, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator of %u ranks",
                         comm->ranks);
    RONDE_THEN(status, check_transports(comm, localities, error));
    if (status == RONDE_OK) {
        count_processors(comm, localities);
        find_leaders(comm, localities);
        status = try_leaders(comm, localities, error);
    }
    RONDE_THEN(status, choose_transport(comm, error));
    ronde_mem_free(comm->mem, localities, comm->ranks, sizeof *localities);
    return status;
}

bool ronde_transport_available(enum ronde_transport transport, const char **out_reason)
{
    const bool needs_ucx = transport == RONDE_TRANSPORT_UCX || transport == RONDE_TRANSPORT_HYBRID;
    *out_reason = needs_ucx ? ronde_wire_ucx_missing : NULL;
    return !*out_reason;
}

const char *ronde_transport_text(enum ronde_transport transport)
{
    static const char *const texts[] = {RONDE_TRANSPORT_LIST(RONDE_LIST_TEXT)};
    return (unsigned)transport < RONDE_TRANSPORT_COUNT ? texts[transport] : "?";
}
