/* Making, splitting and destroying communicators. See comm_parts.h. */
#include "hw/bootstrap/socket.h"
#include "hw/comm/comm_parts.h"
#include "hw/p2p/path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Address record of a new communicator: what its rank 0 sends the others. */
struct address {
    uint32_t color;
    uint32_t key;
    uint16_t port;
    char host[RONDE_ADDRESSES_BYTES];
    char network[RONDE_NETWORK_BYTES];
    char token[RONDE_TOKEN_BYTES];
};

_Static_assert(sizeof(struct address) <= 512, "ronde_bootstrap's callback is promised no more");

const struct ronde_comm_options *ronde_comm_options_or_none(const struct ronde_comm_options *options)
{
    static const struct ronde_comm_options none;
    return options ? options : &none;
}

static enum ronde_status check_options(const struct ronde_comm_options *options,
                                       struct ronde_error *error)
{
    const char *reason = NULL;
    if ((unsigned)options->transport >= RONDE_TRANSPORT_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "transport %u, there are %u",
                          (unsigned)options->transport, (unsigned)RONDE_TRANSPORT_COUNT);
    if (!ronde_transport_available(options->transport, &reason))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", reason);
    if (options->host_id && strlen(options->host_id) >= RONDE_HOST_ID_BYTES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a host's name has at most %u characters",
                          RONDE_HOST_ID_BYTES - 1);
    return RONDE_OK;
}

enum ronde_status ronde_comm_join(const struct ronde_join *join,
                                  const struct ronde_comm_options *options,
                                  const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                  struct ronde_error *error)
{
    *out_comm = NULL;
    mem = mem ? mem : ronde_mem_default();
    options = ronde_comm_options_or_none(options);
    enum ronde_status status = check_options(options, error);
    struct ronde_comm *comm = status == RONDE_OK ? ronde_mem_new(mem, 1, sizeof *comm) : NULL;
    if (!comm) {
        ronde_join_close(join);
        return status != RONDE_OK
                   ? status
                   : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator");
    }
    comm->mem = mem;
    comm->generation = ronde_process_generation();
    comm->options = *options;
    if (options->host_id) {
        snprintf(comm->host_id, sizeof comm->host_id, "%s", options->host_id);
        comm->options.host_id = comm->host_id;
    }
    comm->rank = join->rank;
    comm->ranks = join->ranks;
    status = ronde_control_create(join, options, mem, &comm->control, error);
    if (status == RONDE_OK) {
        ronde_control_set_describe(comm->control, ronde_comm_describe_run, comm);
        status = ronde_comm_find_locality(comm, error);
    }
    RONDE_THEN(status, ronde_p2p_open(comm, error));
    RONDE_THEN(status, comm->wire->open(comm, error));
    if (status != RONDE_OK) {
        ronde_comm_destroy(comm);
        return status;
    }
    *out_comm = comm;
    return RONDE_OK;
}

/* The join of a rank of a new communicator, from its first rank's address. A listener (-1 = none) is the caller's until it is used. */
static struct ronde_join join_of(const struct address *address, int listener, uint32_t rank,
                                 uint32_t ranks)
{
    return (struct ronde_join){.host = address->host,
                               .port = address->port,
                               .has_listener = listener >= 0,
                               .listener = listener,
                               .token = address->token,
                               .rank = rank,
                               .ranks = ranks};
}

/* Opens a listener at all of this machine's addresses and fills in its port and token. */
static enum ronde_status open_address(struct address *out, int *out_listener,
                                      struct ronde_error *error)
{
    RONDE_TRY(ronde_token_draw(out->token, error));
    RONDE_TRY(ronde_socket_listen(NULL, 0, out_listener, error));
    out->port = ronde_socket_port(*out_listener);
    return RONDE_OK;
}

enum ronde_status ronde_comm_bootstrap(const struct ronde_root_broadcast *root_broadcast,
                                       const struct ronde_comm_options *options,
                                       const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                       struct ronde_error *error)
{
    struct address mine;
    int listener = -1;
    *out_comm = NULL;
    memset(&mine, 0, sizeof mine);
    enum ronde_status status =
        root_broadcast->rank == 0 ? open_address(&mine, &listener, error) : RONDE_OK;
    /* All names and addresses of the machine: which of them the others reach is not known. */
    ronde_socket_own_hosts(mine.host);
    ronde_comm_name_network(mine.network);
    struct address first = mine;
    /* Also after a failure: the others are in the broadcast, and port 0 makes them fail too. */
    const enum ronde_status announced =
        root_broadcast->announce(root_broadcast->self, &first, sizeof first, error);
    RONDE_THEN(status, announced);
    if (status == RONDE_OK && first.port == 0)
        status = ronde_fail(error, RONDE_IO, "rank 0 could not open a rendezvous");
    if (status != RONDE_OK) {
        if (listener >= 0)
            close(listener);
        return status;
    }
    /* Machines may have the same name, and network namespaces of one kernel do. */
    if (strcmp(mine.network, first.network) == 0 && strcmp(mine.host, first.host) == 0)
        snprintf(first.host, sizeof first.host, "127.0.0.1");
    const struct ronde_join join =
        join_of(&first, listener, root_broadcast->rank, root_broadcast->ranks);
    return ronde_comm_join(&join, options, mem, out_comm, error);
}

/* A broadcast made of an allgather, of which only rank 0's part is used. */
struct allgatherer {
    const struct ronde_bootstrap *bootstrap;
    const struct ronde_mem *mem;
};

static enum ronde_status broadcast_by_allgather(void *self, void *data, size_t bytes,
                                                struct ronde_error *error)
{
    const struct allgatherer *allgatherer = self;
    const struct ronde_bootstrap *bootstrap = allgatherer->bootstrap;
    char *all = ronde_mem_new(allgatherer->mem, bootstrap->ranks, bytes);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u invitations", bootstrap->ranks);
    const enum ronde_status status = bootstrap->allgather(bootstrap->self, data, bytes, all, error);
    if (status == RONDE_OK)
        memcpy(data, all, bytes);
    ronde_mem_free(allgatherer->mem, all, bootstrap->ranks, bytes);
    return status;
}

enum ronde_status ronde_comm_create(const struct ronde_bootstrap *bootstrap,
                                    const struct ronde_comm_options *options,
                                    const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                    struct ronde_error *error)
{
    struct allgatherer allgatherer = {bootstrap, mem};
    const struct ronde_root_broadcast root_broadcast = {&allgatherer, bootstrap->rank,
                                                        bootstrap->ranks, broadcast_by_allgather};
    *out_comm = NULL;
    if (bootstrap->ranks == 0 || bootstrap->rank >= bootstrap->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "rank %u of %u ranks does not exist",
                          bootstrap->rank, bootstrap->ranks);
    return ronde_comm_bootstrap(&root_broadcast, options, mem, out_comm, error);
}

/* Whether a rank of the same color comes before another in the new communicator. */
static bool is_before(const struct address *all, uint32_t left, uint32_t right)
{
    return all[left].key != all[right].key ? all[left].key < all[right].key : left < right;
}

/*
 * A rank connected to rank 0 through the loopback is on rank 0's machine: the others reach it at rank 0's address.
 * Where rank 0 itself has only the loopback's, all ranks are there.
 */
static void replace_loopbacks(struct address *all, uint32_t ranks)
{
    for (uint32_t rank = 1; rank < ranks; rank++)
        if (ronde_socket_is_loopback(all[rank].host))
            memcpy(all[rank].host, all[0].host, sizeof all[0].host);
}

/* This rank's position among those of its color. */
static struct ronde_join find_position(const struct ronde_comm *comm, const struct address *all,
                                       int listener)
{
    uint32_t first = comm->rank;
    uint32_t position = 0;
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        if (all[rank].color != all[comm->rank].color)
            continue;
        count++;
        position += is_before(all, rank, comm->rank);
        first = is_before(all, rank, first) ? rank : first;
    }
    return join_of(&all[first], first == comm->rank ? listener : -1, position, count);
}

/* Joins a part. A missing rank may be lost, which the whole communicator's channel then reports: that error comes first. */
static enum ronde_status join_part(struct ronde_comm *comm, const struct ronde_join *join,
                                   struct ronde_comm **out_comm, struct ronde_error *error)
{
    struct ronde_error why = {0};
    const enum ronde_status status =
        ronde_comm_join(join, &comm->options, comm->mem, out_comm, &why);
    if (status == RONDE_OK)
        return RONDE_OK;
    const enum ronde_status notices = ronde_control_check(comm->control, error);
    return notices == RONDE_OK ? ronde_fail(error, status, "%s", why.message) : notices;
}

static enum ronde_status split(struct ronde_comm *comm, uint32_t color, uint32_t key,
                               struct ronde_comm **out_comm, struct ronde_error *error)
{
    struct address mine;
    int listener = -1;
    memset(&mine, 0, sizeof mine);
    struct address *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    enum ronde_status status =
        all ? open_address(&mine, &listener, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u invitations", comm->ranks);
    /* Every rank opens a listener: which is first of its color is known only afterwards. */
    mine.color = color;
    mine.key = key;
    ronde_control_host(comm->control, mine.host, sizeof mine.host);
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status, ronde_control_allgather(comm->control, &mine, sizeof mine, all, error));
    if (status == RONDE_OK && color != RONDE_NONE) {
        replace_loopbacks(all, comm->ranks);
        const struct ronde_join join = find_position(comm, all, listener);
        if (join.has_listener)
            listener = -1;
        status = join_part(comm, &join, out_comm, error);
    }
    if (listener >= 0)
        close(listener);
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status;
}

enum ronde_status ronde_comm_split(struct ronde_comm *comm, uint32_t color, uint32_t key,
                                   struct ronde_comm **out_comm, struct ronde_error *error)
{
    *out_comm = NULL;
    RONDE_TRY(ronde_comm_check_process(comm, error));
    ronde_comm_enter(comm);
    const enum ronde_status status = split(comm, color, key, out_comm, error);
    ronde_comm_leave(comm);
    return status;
}

void ronde_comm_destroy(struct ronde_comm *comm)
{
    /* A child forked since would send LEAVE on its parent's connections. */
    if (ronde_comm_is_foreign(comm))
        return;
    struct ronde_attachment *attachment = ronde_comm_attachment(comm);
    if (attachment)
        attachment->close(attachment);
    ronde_comm_release_programs(comm);
    ronde_p2p_leave(comm);
    if (comm->wire)
        comm->wire->close(comm);
    ronde_p2p_close(comm);
    ronde_mem_free(comm->mem, comm->leaders, comm->ranks, sizeof *comm->leaders);
    /* Rank 0 still forwards alarms that have arrived meanwhile: to the others it would look as if rank 0 had left. */
    struct ronde_error ignored = {0};
    if (comm->control)
        (void)ronde_control_check(comm->control, &ignored);
    ronde_control_destroy(comm->control);
    ronde_mem_free(comm->mem, comm, 1, sizeof *comm);
}

uint32_t ronde_comm_rank(const struct ronde_comm *comm)
{
    return comm ? comm->rank : 0;
}

uint32_t ronde_comm_ranks(const struct ronde_comm *comm)
{
    return comm ? comm->ranks : 0;
}

uint32_t ronde_comm_processors(const struct ronde_comm *comm)
{
    return comm->processors;
}

bool ronde_comm_is_oversubscribed(const struct ronde_comm *comm)
{
    return comm->is_oversubscribed;
}

enum ronde_transport ronde_comm_transport(const struct ronde_comm *comm)
{
    return comm->transport;
}

const struct ronde_mem *ronde_comm_mem(struct ronde_comm *comm)
{
    return comm->wire->shared && !ronde_comm_is_foreign(comm) ? comm->wire->shared->memory(comm)
                                                              : comm->mem;
}
