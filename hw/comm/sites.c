/*
 * Where the ranks are, and which wire that leaves for each pair of them. See comm.h.
 *
 * A host is a set of ranks that map each other's memory: one boot of one kernel, one name space of process numbers, the
 * right to open each other's descriptors (tried, not assumed), and the same name of the host, which the caller may
 * choose. Without a chosen name it is the network's name space, so that the hosts a test makes of one kernel are hosts.
 */
#include "hw/comm/comm.h"
#include "hw/streams.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fruitless polls before a rank sleeps: none of use where another waits for the processor. */
#define SPINS 400u
#define SPINS_CROWDED 2u

/* A number of 36 characters, and a line's end. */
#define BOOT_BYTES 40

/* What a rank tells of its place. */
struct site {
    char boot[BOOT_BYTES];          /* the kernel's number of this boot */
    char host[RONDE_HOST_ID_BYTES]; /* the caller's name of the host, or the network's */
    uint64_t processes;             /* the name space of process numbers */
    int32_t process;                /* its number there */
    uint32_t transport;             /* wanted; all ranks must want the same */
    cpu_set_t cpus;                 /* this rank may use; launchers give each of its own */
};

/* The number of one of a process's name spaces; 0 where it cannot be asked, as of a process of somebody else's. */
static uint64_t space_of(int32_t process, const char *kind)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", process, kind);
    return stat(path, &about) == 0 ? about.st_ino : 0;
}

/* The kernel's number of this boot; nothing where it does not say. */
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

static void fill_site(const struct ronde_comm *comm, struct site *out)
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
    /* A machine beyond what the set holds counts as one processor: its ranks then wait without polling. */
    if (sched_getaffinity(0, sizeof out->cpus, &out->cpus) != 0)
        CPU_SET(0, &out->cpus);
}

static bool shares_kernel(const struct site *left, const struct site *right)
{
    return memcmp(left->boot, right->boot, sizeof left->boot) == 0;
}

/* Whether two ranks could map each other's memory, as far as their names for each other tell. */
static bool shares_memory(const struct site *left, const struct site *right, bool same_host)
{
    return shares_kernel(left, right) && left->processes == right->processes &&
           (!same_host || memcmp(left->host, right->host, sizeof left->host) == 0);
}

/* The first rank of the same host leads it; with UCX everywhere every rank is a host of its own. */
static void find_leaders(struct ronde_comm *comm, const struct site *sites)
{
    const enum ronde_transport wanted = comm->options.transport;
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        uint32_t leader = wanted == RONDE_TRANSPORT_UCX ? rank : 0;
        while (!shares_memory(&sites[leader], &sites[rank], wanted != RONDE_TRANSPORT_PROC))
            leader++;
        comm->leaders[rank] = leader;
    }
}

/* A rank that cannot open its leader's memory is a host of its own. Collective. */
static enum ronde_status try_leaders(struct ronde_comm *comm, const struct site *sites,
                                     struct ronde_error *error)
{
    const struct site *leader = &sites[comm->leaders[comm->rank]];
    const uint32_t mine = space_of(leader->process, "pid") == leader->processes
                              ? comm->leaders[comm->rank]
                              : comm->rank;
    return ronde_star_allgather(comm->star, &mine, sizeof mine, comm->leaders, error);
}

static enum ronde_status check_wishes(const struct ronde_comm *comm, const struct site *sites,
                                      struct ronde_error *error)
{
    for (uint32_t rank = 1; rank < comm->ranks; rank++)
        if (sites[rank].transport != sites[0].transport)
            return ronde_fail(error, RONDE_REJECTED, "rank 0 wants transport %s, rank %u wants %s",
                              ronde_transport_text((enum ronde_transport)sites[0].transport), rank,
                              ronde_transport_text((enum ronde_transport)sites[rank].transport));
    return RONDE_OK;
}

/* One host needs no network; hosts of one rank each have no memory to share. */
static enum ronde_status choose_wire(struct ronde_comm *comm, struct ronde_error *error)
{
    const char *reason = NULL;
    uint32_t hosts = 0;
    uint32_t stranger = 0;
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        hosts += comm->leaders[rank] == rank;
        stranger = stranger == 0 ? comm->leaders[rank] : stranger;
    }
    comm->transport = hosts == 1             ? RONDE_TRANSPORT_PROC
                      : hosts == comm->ranks ? RONDE_TRANSPORT_UCX
                                             : RONDE_TRANSPORT_HYBRID;
    if (comm->options.transport == RONDE_TRANSPORT_UCX)
        comm->transport = RONDE_TRANSPORT_UCX;
    if (comm->options.transport == RONDE_TRANSPORT_PROC && hosts > 1)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "rank 0 and rank %u are on different machines or in different "
                          "containers: they share no memory",
                          stranger);
    if (!ronde_transport_available(comm->transport, &reason))
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "rank 0 and rank %u are on different hosts, and there is only shared "
                          "memory: %s",
                          stranger, reason);
    comm->wire = comm->transport == RONDE_TRANSPORT_PROC  ? &ronde_wire_proc
                 : comm->transport == RONDE_TRANSPORT_UCX ? &ronde_wire_ucx
                                                          : &ronde_wire_hybrid;
    return RONDE_OK;
}

/* Ranks of several hosts may be processes of one kernel, and compete for its processors all the same. */
static void count_processors(struct ronde_comm *comm, const struct site *sites)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        if (!shares_kernel(&sites[rank], &sites[comm->rank]))
            continue;
        comm->ranks_here++;
        CPU_OR(&cpus, &cpus, &sites[rank].cpus);
    }
    comm->processors = (uint32_t)CPU_COUNT(&cpus);
    comm->is_crowded = comm->ranks_here > comm->processors;
    /* What this machine's ranks touch is their share of what all ranks do. */
    comm->stream_from_bytes =
        ronde_stream_from_bytes(comm->is_crowded ? comm->processors : comm->ranks_here) *
        comm->ranks / comm->ranks_here;
}

enum ronde_status ronde_comm_find_sites(struct ronde_comm *comm, struct ronde_error *error)
{
    struct site site;
    fill_site(comm, &site);
    struct site *sites = ronde_mem_new(comm->mem, comm->ranks, sizeof *sites);
    comm->leaders = ronde_mem_new(comm->mem, comm->ranks, sizeof *comm->leaders);
    enum ronde_status status =
        sites && comm->leaders ? ronde_star_allgather(comm->star, &site, sizeof site, sites, error)
                               : ronde_fail(error, RONDE_NO_MEMORY,
                                            "no memory for a communicator of %u ranks", comm->ranks);
    if (status == RONDE_OK)
        status = check_wishes(comm, sites, error);
    if (status == RONDE_OK) {
        count_processors(comm, sites);
        find_leaders(comm, sites);
        status = try_leaders(comm, sites, error);
    }
    if (status == RONDE_OK)
        status = choose_wire(comm, error);
    ronde_mem_free(comm->mem, sites, comm->ranks, sizeof *sites);
    return status;
}

bool ronde_comm_spin(const struct ronde_comm *comm, uint32_t idle)
{
    if (idle >= (comm->is_crowded ? SPINS_CROWDED : SPINS))
        return false;
    sched_yield();
    return true;
}

bool ronde_comm_is_near(const struct ronde_comm *comm, uint32_t rank)
{
    return comm->leaders[rank] == comm->leaders[comm->rank];
}
