/* Commands in several processes. See team.h. */
#include "team.h"

#include "common.h"
#include "report.h"

#include "ronde/hw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A rendezvous as the options and the launcher say it. */
struct meeting {
    struct ronde_join join;
    char host[256];
    char token[RONDE_TOKEN_BYTES];
    bool is_made_here; /* by forking */
};

bool ronde_team_is_wanted(const char *backend)
{
    return strcmp(backend, ronde_transport_text(RONDE_TRANSPORT_PROC)) == 0 ||
           strcmp(backend, ronde_transport_text(RONDE_TRANSPORT_UCX)) == 0;
}

static void print_note(void *self, const char *text)
{
    (void)self;
    ronde_note("ronde: %s", text);
}

static struct ronde_comm_options comm_options(const struct ronde_options *options)
{
    const bool is_ucx = strcmp(options->backend, ronde_transport_text(RONDE_TRANSPORT_UCX)) == 0;
    return (struct ronde_comm_options){
        .transport = is_ucx ? RONDE_TRANSPORT_UCX : RONDE_TRANSPORT_PROC,
        .timeout_ns = (uint64_t)(options->timeout_s * 1e9),
        .plan = {options->slot_bytes, options->depth},
        .note = print_note,
    };
}

/* "host:port", "[::1]:port". */
static enum ronde_status parse_address(const char *text, struct meeting *out,
                                       struct ronde_error *error)
{
    const char *colon = strrchr(text, ':');
    uint64_t port = 0;
    const size_t length = colon ? (size_t)(colon - text) : 0;
    const bool is_bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (length == 0 || length >= sizeof out->host)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--join \"%s\" is not HOST:PORT", text);
    const enum ronde_status status =
        ronde_number_parse("port", colon + 1, 1, UINT16_MAX, &port, error);
    snprintf(out->host, sizeof out->host, "%.*s", (int)(length - 2 * is_bracketed),
             text + is_bracketed);
    out->join.host = out->host;
    out->join.port = (uint16_t)port;
    return status;
}

/* Who this process is: what the options say, else a launcher, else nobody yet. */
static enum ronde_status find_rank(const struct ronde_options *options, struct meeting *out,
                                   struct ronde_error *error)
{
    struct ronde_launcher launcher;
    const uint32_t wanted = options->rank_counts > 0 ? options->ranks[0] : 0;
    enum ronde_status status = RONDE_OK;
    memset(&launcher, 0, sizeof launcher);
    if (options->rank == RONDE_NONE)
        status = ronde_launcher_find(NULL, NULL, &launcher, error);
    if (status != RONDE_OK)
        return status;
    out->is_made_here = options->rank == RONDE_NONE && !launcher.name;
    out->join.rank = launcher.name ? launcher.rank : options->rank;
    out->join.ranks = launcher.name ? launcher.ranks : wanted;
    if (launcher.name && wanted > 0 && wanted != launcher.ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "-N %u, but %s has started %u processes",
                          wanted, launcher.name, launcher.ranks);
    if (out->join.ranks == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "how many ranks: -N is missing");
    if (launcher.host[0]) {
        memcpy(out->host, launcher.host, sizeof launcher.host);
        out->join.host = out->host;
        out->join.port = launcher.port;
    }
    memcpy(out->token, launcher.token, sizeof launcher.token);
    return RONDE_OK;
}

/* Options and surroundings, before any process is made. */
static enum ronde_status find_meeting(const struct ronde_options *options, struct meeting *out,
                                      struct ronde_error *error)
{
    memset(out, 0, sizeof *out);
    enum ronde_status status = find_rank(options, out, error);
    if (status == RONDE_OK && options->join)
        status = parse_address(options->join, out, error);
    if (status != RONDE_OK)
        return status;
    if (out->is_made_here && (options->join || options->token))
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--join and --token belong to processes that others start: --rank is missing");
    if (options->token && strlen(options->token) >= sizeof out->token)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--token has more than %zu characters",
                          sizeof out->token - 1);
    if (options->token)
        snprintf(out->token, sizeof out->token, "%s", options->token);
    out->join.token = out->token;
    if (!out->is_made_here && out->token[0] == '\0')
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "processes that others start need --token, the same on all ranks");
    return RONDE_OK;
}

/* One process: meets the others and does its part. Results are rank 0's to print. */
static int take_part(const struct ronde_options *options, const struct meeting *meeting,
                     ronde_team_body body)
{
    struct ronde_options own = *options;
    const struct ronde_comm_options choices = comm_options(options);
    struct ronde_comm *comm = NULL;
    struct ronde_error error = {0};
    own.ranks[0] = meeting->join.ranks;
    own.rank_counts = 1;
    if (meeting->join.rank > 0) {
        own.output = "/dev/null";
        own.json = false;
        own.csv = false;
    }
    if (ronde_comm_join(&meeting->join, &choices, ronde_mem_default(), &comm, &error) != RONDE_OK)
        return ronde_report(&error);
    return body(&own, comm);
}

/* A listener at the loopback that the forked processes inherit: no port can be taken in between. */
static enum ronde_status open_listener(struct meeting *meeting, struct ronde_error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    uint64_t secret[2];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, (int)meeting->join.ranks) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
        getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        if (fd >= 0)
            close(fd);
        return ronde_fail(error, RONDE_DEVICE, "the system refuses a listening socket");
    }
    snprintf(meeting->host, sizeof meeting->host, "127.0.0.1");
    snprintf(meeting->token, sizeof meeting->token, "%016llx%016llx", (unsigned long long)secret[0],
             (unsigned long long)secret[1]);
    meeting->join.host = meeting->host;
    meeting->join.port = ntohs(address.sin_port);
    meeting->join.listener = fd;
    return RONDE_OK;
}

/*
 * Where every rank has processors of its own it keeps to them, as under mpirun: two ranks that poll each other on one
 * processor are a thousand times slower. Where there are more ranks than processors the system decides.
 */
static void take_seat(uint32_t rank, uint32_t ranks)
{
    cpu_set_t usable;
    cpu_set_t own;
    uint32_t index = 0;
    CPU_ZERO(&usable);
    CPU_ZERO(&own);
    const uint32_t cores = ronde_usable_cores();
    if (ranks > cores || sched_getaffinity(0, sizeof usable, &usable) != 0)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable) && (uint64_t)index++ * ranks / cores == rank)
            CPU_SET(cpu, &own);
    (void)sched_setaffinity(0, sizeof own, &own);
}

/* Never returns: a forked process ends with its part, and with its parent, whose list it has no use for. */
static void be_rank(const struct ronde_options *options, struct meeting *meeting, pid_t *list,
                    uint32_t rank, ronde_team_body body)
{
    ronde_mem_free(ronde_mem_default(), list, meeting->join.ranks, sizeof *list);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    take_seat(rank, meeting->join.ranks);
    meeting->join.rank = rank;
    if (rank > 0) {
        close(meeting->join.listener);
        meeting->join.listener = 0;
    }
    /* One voice is enough, and rank 0 hears of everything but its own end. */
    if (rank > 1)
        (void)!freopen("/dev/null", "w", stderr);
    exit(take_part(options, meeting, body));
}

/* Takes all exits; the verdict is rank 0's unless another did not end well. */
static int await_ranks(const pid_t *ranks, uint32_t count, uint32_t started)
{
    int code = started == count ? RONDE_EXIT_OK : RONDE_EXIT_FAILED;
    for (uint32_t rank = 0; rank < started; rank++) {
        int state = 0;
        if (waitpid(ranks[rank], &state, 0) != ranks[rank])
            continue;
        if (WIFSIGNALED(state)) {
            ronde_note("ronde: rank %u was ended by signal %d", rank, WTERMSIG(state));
            code = RONDE_EXIT_FAILED;
        } else if (rank == 0 || code == RONDE_EXIT_OK) {
            code = WEXITSTATUS(state);
        }
    }
    return code;
}

static int fork_all(const struct ronde_options *options, struct meeting *meeting,
                    ronde_team_body body)
{
    struct ronde_error error = {0};
    const uint32_t count = meeting->join.ranks;
    uint32_t started = 0;
    if (open_listener(meeting, &error) != RONDE_OK)
        return ronde_report(&error);
    pid_t *ranks = ronde_mem_new(ronde_mem_default(), count, sizeof *ranks);
    fflush(NULL);
    for (; ranks && started < count; started++) {
        ranks[started] = fork();
        if (ranks[started] < 0)
            break;
        if (ranks[started] == 0)
            be_rank(options, meeting, ranks, started, body);
    }
    close(meeting->join.listener);
    if (started < count)
        ronde_note("ronde: the system refuses process %u of %u", started + 1, count);
    const int code = await_ranks(ranks, count, started);
    ronde_mem_free(ronde_mem_default(), ranks, count, sizeof *ranks);
    return code;
}

int ronde_team_run(const struct ronde_options *options, ronde_team_body body)
{
    struct ronde_error error = {0};
    struct meeting meeting;
    const char *reason = NULL;
    if (!ronde_transport_available(comm_options(options).transport, &reason)) {
        (void)ronde_fail(&error, RONDE_UNAVAILABLE, "%s", reason);
        return ronde_report(&error);
    }
    if (find_meeting(options, &meeting, &error) != RONDE_OK)
        return ronde_report(&error);
    return meeting.is_made_here ? fork_all(options, &meeting, body)
                                : take_part(options, &meeting, body);
}
