/* A communicator's UCX worker and its endpoints. See net.h. */
#include "hw/ucx/net.h"

#include "hw/p2p/state.h"

#include "ronde/hw.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/debug.h>
#include <unistd.h>

/* Limit of closing endpoints, in which sent messages are flushed. */
#define CLOSE_NS 2e9

/* Descriptors that a worker opens over TCP and shared memory, and some more for other devices. */
#define WORKER_FILES 32u

/* The longest sleep of a step: some of UCX's transports have timers only. */
#define STEP_MS 2

static enum ronde_status fail_ucx(ucs_status_t status, const char *what, struct ronde_error *error)
{
    return ronde_fail(error, status == UCS_ERR_NO_MEMORY ? RONDE_NO_MEMORY : RONDE_DEVICE,
                      "ucx: %s: %s", what, ucs_status_string(status));
}

void ronde_net_fail(struct ronde_net *net, uint32_t rank, ucs_status_t status)
{
    (void)ronde_fail(&net->failure, RONDE_DEVICE, "ucx: rank %u was lost: %s", rank,
                     ucs_status_string(status));
}

void ronde_net_lose(struct ronde_remote *remote, ucs_status_t status)
{
    remote->is_gone = true;
    remote->net->has_losses = true;
    snprintf(remote->reason, sizeof remote->reason, "%s", ucs_status_string(status));
}

/*
 * The peer has closed or failed; what it had sent has arrived before. It only is an error once a lane waits for that
 * peer.
 */
static void on_endpoint_error(void *self, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint;
    ronde_net_lose(self, status);
}

static ucs_status_t on_handshake(void *self, const void *head, size_t head_bytes, void *data,
                                 size_t bytes, const ucp_am_recv_param_t *param)
{
    const struct ronde_net *net = self;
    struct ronde_handshake_head message;
    (void)data;
    (void)bytes;
    (void)param;
    if (head_bytes != sizeof message)
        return UCS_OK;
    memcpy(&message, head, sizeof message);
    if (message.rank < net->comm->ranks)
        ronde_handshake_put(
            &net->comm->remote_handshakes[message.rank * RONDE_HANDSHAKES +
                                          message.handshake.sequence % RONDE_HANDSHAKES],
            &message.handshake);
    return UCS_OK;
}

/* Checks that the descriptors a worker needs at first can be opened: UCX aborts the process if they cannot. */
static enum ronde_status check_files(struct ronde_error *error)
{
    int files[WORKER_FILES];
    uint32_t count = 0;
    while (count < WORKER_FILES && (files[count] = eventfd(0, EFD_CLOEXEC)) >= 0)
        count++;
    for (uint32_t k = 0; k < count; k++)
        close(files[k]);
    if (count == WORKER_FILES)
        return RONDE_OK;
    return ronde_fail(error, RONDE_DEVICE,
                      "ucx: a worker needs %u files, more than this process may open (ulimit -n)",
                      WORKER_FILES);
}

/*
 * Non-blocking connects, unless the user sets otherwise: where a peer dies during a blocking one, UCX frees an endpoint
 * that it still returns, and aborts the process (1.13: uct_tcp_ep_connect; 1.18: uct_tcp_ep_destroy_progress). Up to 1.14
 * options of transports are named without the transport (github.com/openucx/ucx/issues/8649); each warns of the other name.
 */
static void connect_without_waiting(ucp_config_t *config)
{
    unsigned major, minor, release;
    ucp_get_version(&major, &minor, &release);
    const bool is_short = major == 1 && minor <= 14;
    if (!getenv("UCX_TCP_CONN_NB"))
        (void)ucp_config_modify(config, is_short ? "CONN_NB" : "TCP_CONN_NB", "y");
}

static enum ronde_status open_context(uint32_t ranks, ucp_context_h *out_context,
                                      struct ronde_error *error)
{
    ucp_config_t *config = NULL;
    ucp_params_t params;
    ronde_ucx_return_signals();
    memset(&params, 0, sizeof params);
    params.field_mask =
        UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.estimated_num_eps = ranks;
    params.name = "ronde";
    /* Creating the context already starts a thread that needs descriptors. */
    const enum ronde_status checked = check_files(error);
    if (checked != RONDE_OK)
        return checked;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return fail_ucx(status, "reading its configuration", error);
    connect_without_waiting(config);
    status = ucp_init(&params, config, out_context);
    ucp_config_release(config);
    return status == UCS_OK ? RONDE_OK : fail_ucx(status, "starting", error);
}

enum ronde_status ronde_gpu_direct_probe(struct ronde_error *why_not)
{
    ucp_context_h context = NULL;
    int type;
    struct ronde_error why = {0};
    if (open_context(1, &context, &why) != RONDE_OK)
        return ronde_fail(why_not, RONDE_UNAVAILABLE, "%s", why.message);
    const bool is_here = ronde_ucx_reaches_devices(context, &type);
    ucp_cleanup(context);
    return is_here ? RONDE_OK
                   : ronde_fail(why_not, RONDE_UNAVAILABLE,
                                "UCX %s reports no CUDA memory (its module for CUDA is not here): "
                                "messages between machines go through the host's memory",
                                ucp_get_version_string());
}

static ucs_status_t set_handler(struct ronde_net *net, enum ronde_net_kind kind,
                                ucp_am_recv_callback_t handler)
{
    ucp_am_handler_param_t params;
    memset(&params, 0, sizeof params);
    params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                        UCP_AM_HANDLER_PARAM_FIELD_ARG;
    params.id = (unsigned)kind;
    params.cb = handler;
    params.arg = net;
    return ucp_worker_set_am_recv_handler(net->worker, &params);
}

static enum ronde_status open_worker(struct ronde_net *net, struct ronde_error *error)
{
    ucp_worker_params_t params;
    /* The context has taken some of the free descriptors. */
    const enum ronde_status checked = check_files(error);
    if (checked != RONDE_OK)
        return checked;
    memset(&params, 0, sizeof params);
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    ucs_status_t status = ucp_worker_create(net->context, &params, &net->worker);
    if (status == UCS_OK)
        status = set_handler(net, RONDE_NET_DATA, ronde_net_on_data);
    if (status == UCS_OK)
        status = set_handler(net, RONDE_NET_CREDIT, ronde_net_on_credit);
    if (status == UCS_OK)
        status = set_handler(net, RONDE_NET_HANDSHAKE, on_handshake);
    if (status == UCS_OK)
        status = set_handler(net, RONDE_NET_P2P, ronde_p2p_net_on_message);
    if (status == UCS_OK)
        status = set_handler(net, RONDE_NET_P2P_CREDIT, ronde_p2p_net_on_credit);
    if (status == UCS_OK)
        status = ucp_worker_get_efd(net->worker, &net->event_fd);
    if (status == UCS_ERR_NO_MEMORY)
        return fail_ucx(status,
                        "making a worker (where /dev/shm is small or absent UCX_TLS=^shm does "
                        "without it)",
                        error);
    return status == UCS_OK ? RONDE_OK : fail_ucx(status, "making a worker", error);
}

/* The local part; comm->net_self is set as soon as there is something to release. */
static enum ronde_status open_alone(struct ronde_comm *comm, struct ronde_error *error)
{
    struct ronde_net *net = ronde_mem_new(comm->mem, 1, sizeof *net);
    comm->net_self = net;
    if (!net)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for UCX");
    net->comm = comm;
    net->remotes = ronde_mem_new(comm->mem, comm->ranks, sizeof *net->remotes);
    comm->remote_handshakes = ronde_mem_new(comm->mem, (size_t)comm->ranks * RONDE_HANDSHAKES,
                                            sizeof *comm->remote_handshakes);
    if (!net->remotes || !comm->remote_handshakes)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        net->remotes[rank].net = net;
        net->remotes[rank].rank = rank;
    }
    RONDE_TRY(open_context(comm->ranks, &net->context, error));
    net->reaches_devices = ronde_ucx_reaches_devices(net->context, &net->device_memory);
    return open_worker(net, error);
}

/* Addresses differ in length: first their lengths, then all of them padded to the longest. */
static enum ronde_status allgather_padded(struct ronde_net *net, const ucp_address_t *mine,
                                          uint64_t bytes, struct ronde_error *error)
{
    struct ronde_comm *comm = net->comm;
    uint64_t *lengths = ronde_mem_new(comm->mem, comm->ranks, sizeof *lengths);
    unsigned char *padded = NULL;
    enum ronde_status status =
        lengths ? ronde_control_allgather(comm->control, &bytes, sizeof bytes, lengths, error)
                : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u addresses", comm->ranks);
    for (uint32_t rank = 0; rank < comm->ranks && status == RONDE_OK; rank++)
        net->address_bytes =
            lengths[rank] > net->address_bytes ? (size_t)lengths[rank] : net->address_bytes;
    if (status == RONDE_OK) {
        padded = ronde_mem_new(comm->mem, net->address_bytes, 1);
        net->addresses = ronde_mem_new(comm->mem, comm->ranks, net->address_bytes);
        if (!padded || !net->addresses)
            status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u addresses", comm->ranks);
    }
    if (status == RONDE_OK) {
        memcpy(padded, mine, (size_t)bytes);
        status = ronde_control_allgather(comm->control, padded, net->address_bytes, net->addresses,
                                         error);
    }
    ronde_mem_free(comm->mem, padded, net->address_bytes, 1);
    ronde_mem_free(comm->mem, lengths, comm->ranks, sizeof *lengths);
    return status;
}

/* While a rank waits on the control channel it must still reply to peers' endpoint handshakes, or these stall. */
static int progress_hook(void *self)
{
    const struct ronde_net *net = self;
    while (ucp_worker_progress(net->worker) > 0)
        ;
    const int wanted = ronde_p2p_progress_hook(net->comm);
    return wanted == RONDE_CONTROL_SOON ? wanted : ronde_net_wait_fd(net);
}

int ronde_net_wait_fd(const struct ronde_net *net)
{
    /* Refused while events are pending. */
    return ucp_worker_arm(net->worker) == UCS_OK ? net->event_fd : -1;
}

void ronde_net_step(const struct ronde_net *net)
{
    struct pollfd event = {-1, POLLIN, 0};
    if (ucp_worker_progress(net->worker) > 0)
        return;
    event.fd = ronde_net_wait_fd(net);
    if (event.fd >= 0)
        (void)poll(&event, 1, STEP_MS);
}

enum ronde_status ronde_net_open(struct ronde_comm *comm, struct ronde_error *error)
{
    ucp_address_t *mine = NULL;
    size_t bytes = 0;
    enum ronde_status status = open_alone(comm, error);
    struct ronde_net *net = comm->net_self;
    if (status == RONDE_OK) {
        const ucs_status_t got = ucp_worker_get_address(net->worker, &mine, &bytes);
        if (got != UCS_OK)
            status = fail_ucx(got, "asking for an address", error);
    }
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status, allgather_padded(net, mine, bytes, error));
    if (mine)
        ucp_worker_release_address(net->worker, mine);
    if (status == RONDE_OK)
        ronde_control_set_progress_hook(comm->control, progress_hook, net);
    return status;
}

enum ronde_status ronde_net_connect(struct ronde_net *net, uint32_t rank, struct ronde_error *error)
{
    struct ronde_remote *remote = &net->remotes[rank];
    ucp_ep_params_t params;
    if (remote->endpoint)
        return RONDE_OK;
    memset(&params, 0, sizeof params);
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address =
        (const ucp_address_t *)(const void *)(net->addresses + rank * net->address_bytes);
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = on_endpoint_error;
    params.err_handler.arg = remote;
    const ucs_status_t status = ucp_ep_create(net->worker, &params, &remote->endpoint);
    if (status == UCS_OK)
        return RONDE_OK;
    remote->endpoint = NULL;
    /* The peer may have received an alarm before this rank, and left. */
    const enum ronde_status notices =
        ronde_control_linger(net->comm->control, RONDE_CONTROL_GRACE_NS, error);
    if (notices != RONDE_OK)
        return notices;
    return ronde_fail(error, RONDE_DEVICE, "ucx: no way to rank %u: %s", rank,
                      ucs_status_string(status));
}

/* Closes an endpoint, flushing what was sent on it, unless its peer is gone. */
static void disconnect(struct ronde_net *net, struct ronde_remote *remote, double deadline_ns)
{
    ucp_request_param_t params;
    if (!remote->endpoint)
        return;
    memset(&params, 0, sizeof params);
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = remote->is_gone ? UCP_EP_CLOSE_FLAG_FORCE : 0;
    void *request = ucp_ep_close_nbx(remote->endpoint, &params);
    remote->endpoint = NULL;
    if (!UCS_PTR_IS_PTR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && ronde_clock_ns() < deadline_ns)
        ronde_net_step(net);
    ucp_request_free(request);
}

void ronde_net_close(struct ronde_comm *comm)
{
    struct ronde_net *net = comm->net_self;
    if (!net)
        return;
    const double deadline_ns = ronde_clock_ns() + CLOSE_NS;
    ronde_control_set_progress_hook(comm->control, NULL, NULL);
    for (uint32_t rank = 0; net->remotes && rank < comm->ranks; rank++)
        disconnect(net, &net->remotes[rank], deadline_ns);
    if (net->worker)
        ucp_worker_destroy(net->worker);
    ronde_links_free_orphans(net);
    if (net->context)
        ucp_cleanup(net->context);
    ronde_mem_free(comm->mem, net->addresses, comm->ranks, net->address_bytes);
    ronde_mem_free(comm->mem, comm->remote_handshakes, (size_t)comm->ranks * RONDE_HANDSHAKES,
                   sizeof *comm->remote_handshakes);
    ronde_mem_free(comm->mem, net->remotes, comm->ranks, sizeof *net->remotes);
    ronde_mem_free(comm->mem, net, 1, sizeof *net);
    comm->remote_handshakes = NULL;
    comm->net_self = NULL;
}

/* Signals that UCX has taken. As soon as libucs is loaded it catches SIGHUP, upon which it would enter a debug
 * mode, and the signals of crashes (ucs_debug_init of src/ucs/debug/debug.c; UCX_DEBUG_SIGNO, UCX_HANDLE_ERRORS,
 * UCX_ERROR_SIGNALS). A program that is linked with ronde has not asked for that, may not use UCX at all, and is to
 * end when its terminal is closed. */

static bool is_asked_for(void)
{
    return getenv("UCX_DEBUG_SIGNO") || getenv("UCX_HANDLE_ERRORS") || getenv("UCX_ERROR_SIGNALS");
}

/* Whether a handler lies in libucs. */
static bool is_of_ucx(const struct sigaction *action)
{
    Dl_info where;
    const bool has_info = (action->sa_flags & SA_SIGINFO) != 0;
    const void *handler = has_info ? (const void *)(size_t)action->sa_sigaction
                                   : (const void *)(size_t)action->sa_handler;
    if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)
        return false;
    return dladdr(handler, &where) != 0 && where.dli_fname && strstr(where.dli_fname, "libucs");
}

__attribute__((constructor)) void ronde_ucx_return_signals(void)
{
    struct sigaction action;
    for (int number = 1; number < NSIG && !is_asked_for(); number++)
        if (sigaction(number, NULL, &action) == 0 && is_of_ucx(&action))
            ucs_debug_disable_signal(number);
}
