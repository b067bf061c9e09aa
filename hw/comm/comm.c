/* Making, dividing and leaving communicators. See ronde/comm.h. */
#include "hw/comm/comm.h"
#include "hw/comm/socket.h"
#include "ronde/hw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* How a new star is found: what rank 0 of it tells the others. */
struct invitation {
    uint32_t color;
    uint32_t key;
    uint16_t port;
    char host[RONDE_ADDRESSES_BYTES];
    char network[RONDE_NETWORK_BYTES];
    char token[RONDE_TOKEN_BYTES];
};

_Static_assert(sizeof(struct invitation) <= 512, "ronde_bootstrap's callback is promised no more");

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
    enum ronde_status status = check_options(options, error);
    struct ronde_comm *comm = status == RONDE_OK ? ronde_mem_new(mem, 1, sizeof *comm) : NULL;
    if (!comm) {
        if (join->listener > 0)
            close(join->listener);
        return status != RONDE_OK
                   ? status
                   : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator");
    }
    comm->mem = mem;
    comm->process = (int32_t)getpid();
    comm->options = *options;
    if (options->host_id) {
        snprintf(comm->host_id, sizeof comm->host_id, "%s", options->host_id);
        comm->options.host_id = comm->host_id;
    }
    comm->rank = join->rank;
    comm->ranks = join->ranks;
    status = ronde_star_create(join, options, mem, &comm->star, error);
    if (status == RONDE_OK) {
        ronde_star_set_account(comm->star, ronde_comm_account, comm);
        status = ronde_comm_find_sites(comm, error);
    }
    if (status == RONDE_OK)
        status = comm->wire->open(comm, error);
    if (status != RONDE_OK) {
        ronde_comm_destroy(comm);
        return status;
    }
    *out_comm = comm;
    return RONDE_OK;
}

enum ronde_status ronde_token_draw(char token[RONDE_TOKEN_BYTES], struct ronde_error *error)
{
    uint64_t number[2];
    if (getrandom(number, sizeof number, 0) != (ssize_t)sizeof number)
        return ronde_fail(error, RONDE_DEVICE, "the system gives no random numbers");
    snprintf(token, RONDE_TOKEN_BYTES, "%016llx%016llx", (unsigned long long)number[0],
             (unsigned long long)number[1]);
    return RONDE_OK;
}

/* The join of a rank of a new star, as its first rank has invited to it. A listener is the caller's until it is used. */
static struct ronde_join join_of(const struct invitation *invitation, int listener, uint32_t rank,
                                 uint32_t ranks)
{
    return (struct ronde_join){
        invitation->host, invitation->port, listener, invitation->token, rank, ranks};
}

/* Opens a door at all of this machine's addresses and writes an invitation to it. */
static enum ronde_status invite(struct invitation *out, int *out_listener, struct ronde_error *error)
{
    enum ronde_status status = ronde_token_draw(out->token, error);
    if (status == RONDE_OK)
        status = ronde_socket_listen(NULL, 0, out_listener, error);
    if (status == RONDE_OK)
        out->port = ronde_socket_port(*out_listener);
    return status;
}

enum ronde_status ronde_comm_meet(const struct ronde_herald *herald,
                                  const struct ronde_comm_options *options,
                                  const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                  struct ronde_error *error)
{
    struct invitation mine;
    int listener = 0;
    *out_comm = NULL;
    memset(&mine, 0, sizeof mine);
    enum ronde_status status = herald->rank == 0 ? invite(&mine, &listener, error) : RONDE_OK;
    /* All names and addresses of the machine: nothing is known about which of them the others reach. */
    ronde_socket_own_hosts(mine.host);
    ronde_comm_name_network(mine.network);
    struct invitation first = mine;
    /* Also after a failure: the others are waiting, and an invitation without a port tells them. */
    const enum ronde_status told = herald->tell(herald->self, &first, sizeof first, error);
    if (status == RONDE_OK)
        status = told;
    if (status == RONDE_OK && first.port == 0)
        status = ronde_fail(error, RONDE_IO, "rank 0 could not open a rendezvous");
    if (status != RONDE_OK) {
        if (listener > 0)
            close(listener);
        return status;
    }
    /* Machines may bear each other's name, and name spaces of one kernel do. */
    if (strcmp(mine.network, first.network) == 0 && strcmp(mine.host, first.host) == 0)
        snprintf(first.host, sizeof first.host, "127.0.0.1");
    const struct ronde_join join = join_of(&first, listener, herald->rank, herald->ranks);
    return ronde_comm_join(&join, options, mem, out_comm, error);
}

/* A herald that gathers from all what only rank 0 has to say. */
struct gatherer {
    const struct ronde_bootstrap *bootstrap;
    const struct ronde_mem *mem;
};

static enum ronde_status tell_by_gathering(void *self, void *data, size_t bytes,
                                           struct ronde_error *error)
{
    const struct gatherer *gatherer = self;
    const struct ronde_bootstrap *bootstrap = gatherer->bootstrap;
    char *all = ronde_mem_new(gatherer->mem, bootstrap->ranks, bytes);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u invitations", bootstrap->ranks);
    const enum ronde_status status = bootstrap->allgather(bootstrap->self, data, bytes, all, error);
    if (status == RONDE_OK)
        memcpy(data, all, bytes);
    ronde_mem_free(gatherer->mem, all, bootstrap->ranks, bytes);
    return status;
}

enum ronde_status ronde_comm_create(const struct ronde_bootstrap *bootstrap,
                                    const struct ronde_comm_options *options,
                                    const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                    struct ronde_error *error)
{
    struct gatherer gatherer = {bootstrap, mem};
    const struct ronde_herald herald = {&gatherer, bootstrap->rank, bootstrap->ranks,
                                        tell_by_gathering};
    *out_comm = NULL;
    if (bootstrap->ranks == 0 || bootstrap->rank >= bootstrap->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "rank %u of %u ranks does not exist",
                          bootstrap->rank, bootstrap->ranks);
    return ronde_comm_meet(&herald, options, mem, out_comm, error);
}

/* Whether a rank of the same color comes before another in the new communicator. */
static bool is_before(const struct invitation *all, uint32_t left, uint32_t right)
{
    return all[left].key != all[right].key ? all[left].key < all[right].key : left < right;
}

/*
 * Whose connection to rank 0 is the loopback's sits on rank 0's machine: the others reach it where they reach rank 0.
 * Where rank 0 itself knows no other address, all ranks are there.
 */
static void replace_loopbacks(struct invitation *all, uint32_t ranks)
{
    for (uint32_t rank = 1; rank < ranks; rank++)
        if (ronde_socket_is_loopback(all[rank].host))
            memcpy(all[rank].host, all[0].host, sizeof all[0].host);
}

/* This rank's place among those of its color. */
static struct ronde_join find_place(const struct ronde_comm *comm, const struct invitation *all,
                                    int listener)
{
    uint32_t first = comm->rank;
    uint32_t place = 0;
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        if (all[rank].color != all[comm->rank].color)
            continue;
        count++;
        place += is_before(all, rank, comm->rank);
        first = is_before(all, rank, first) ? rank : first;
    }
    return join_of(&all[first], first == comm->rank ? listener : 0, place, count);
}

/* Whoever does not come to a part of a communicator may be lost, and the whole has heard of it. */
static enum ronde_status join_part(struct ronde_comm *comm, const struct ronde_join *join,
                                   struct ronde_comm **out_comm, struct ronde_error *error)
{
    struct ronde_error why = {0};
    const enum ronde_status status =
        ronde_comm_join(join, &comm->options, comm->mem, out_comm, &why);
    if (status == RONDE_OK)
        return RONDE_OK;
    const enum ronde_status news = ronde_star_check(comm->star, error);
    return news == RONDE_OK ? ronde_fail(error, status, "%s", why.message) : news;
}

enum ronde_status ronde_comm_split(struct ronde_comm *comm, uint32_t color, uint32_t key,
                                   struct ronde_comm **out_comm, struct ronde_error *error)
{
    *out_comm = NULL;
    struct invitation mine;
    int listener = 0;
    memset(&mine, 0, sizeof mine);
    struct invitation *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    enum ronde_status status =
        all ? invite(&mine, &listener, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u invitations", comm->ranks);
    /* Every rank invites: who leads its color is known only afterwards. */
    mine.color = color;
    mine.key = key;
    ronde_star_host(comm->star, mine.host, sizeof mine.host);
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = ronde_star_allgather(comm->star, &mine, sizeof mine, all, error);
    if (status == RONDE_OK && color != RONDE_NONE) {
        replace_loopbacks(all, comm->ranks);
        const struct ronde_join join = find_place(comm, all, listener);
        if (join.listener > 0)
            listener = 0;
        status = join_part(comm, &join, out_comm, error);
    }
    if (listener > 0)
        close(listener);
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status;
}

void ronde_comm_destroy(struct ronde_comm *comm)
{
    /* A child forked since would say farewell in its parent's name. */
    if (!comm || comm->process != (int32_t)getpid())
        return;
    if (comm->wire)
        comm->wire->close(comm);
    ronde_mem_free(comm->mem, comm->leaders, comm->ranks, sizeof *comm->leaders);
    /* What has come meanwhile rank 0 still passes on: to the others it would be rank 0 that has left them. */
    struct ronde_error passed = {0};
    if (comm->star)
        (void)ronde_star_check(comm->star, &passed);
    ronde_star_destroy(comm->star);
    ronde_mem_free(comm->mem, comm, 1, sizeof *comm);
}

uint32_t ronde_comm_rank(const struct ronde_comm *comm)
{
    return comm->rank;
}

uint32_t ronde_comm_ranks(const struct ronde_comm *comm)
{
    return comm->ranks;
}

uint32_t ronde_comm_processors(const struct ronde_comm *comm)
{
    return comm->processors;
}

bool ronde_comm_is_crowded(const struct ronde_comm *comm)
{
    return comm->is_crowded;
}

enum ronde_transport ronde_comm_transport(const struct ronde_comm *comm)
{
    return comm->transport;
}

const struct ronde_mem *ronde_comm_mem(struct ronde_comm *comm)
{
    return comm->wire->memory ? comm->wire->memory(comm) : comm->mem;
}

enum ronde_status ronde_comm_allgather(struct ronde_comm *comm, const void *mine, size_t bytes,
                                       void *out_all, struct ronde_error *error)
{
    return ronde_star_allgather(comm->star, mine, bytes, out_all, error);
}

enum ronde_status ronde_comm_agree(struct ronde_comm *comm, enum ronde_status status,
                                   struct ronde_error *error)
{
    /* A rank's error travels whole, so that all ranks say the same. */
    struct ronde_error mine = {.status = status};
    if (status == RONDE_OK && comm->ranks == 1)
        return RONDE_OK;
    if (status != RONDE_OK)
        snprintf(mine.message, sizeof mine.message, "%s", error ? error->message : "it failed");
    struct ronde_error *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    if (!all) {
        ronde_star_abort(comm->star);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    }
    enum ronde_status verdict = ronde_star_allgather(comm->star, &mine, sizeof mine, all, error);
    for (uint32_t rank = 0; rank < comm->ranks && verdict == RONDE_OK; rank++)
        if (all[rank].status != RONDE_OK)
            verdict =
                ronde_fail(error, all[rank].status, "rank %u: %.480s", rank, all[rank].message);
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status != RONDE_OK ? status : verdict;
}

void ronde_comm_abort(struct ronde_comm *comm)
{
    if (comm)
        ronde_star_abort(comm->star);
}

bool ronde_transport_available(enum ronde_transport transport, const char **out_reason)
{
    const bool needs_ucx = transport == RONDE_TRANSPORT_UCX || transport == RONDE_TRANSPORT_HYBRID;
    *out_reason = needs_ucx ? ronde_wire_ucx_missing : NULL;
    return !*out_reason;
}

const char *ronde_transport_text(enum ronde_transport transport)
{
    static const char *const texts[] = {
#define TRANSPORT_TEXT(name, text) text,
        RONDE_TRANSPORT_LIST(TRANSPORT_TEXT)
#undef TRANSPORT_TEXT
    };
    return (unsigned)transport < RONDE_TRANSPORT_COUNT ? texts[transport] : "?";
}
