/* Commands in several processes. See team.h. */
#include "job.h"

#include "children.h"
#include "cli/options/requests.h"
#include "cli/print/report.h"

#include "ronde/bind.h"
#include "ronde/comm.h"
#include "ronde/executors.h"
#include "ronde/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A rank that a SIGSTOP has stopped may stay so as long as a run may take (the default of --timeout) and a little. */
#define RUN_S 60.0
#define STOPPED_S 2.0

/* A rendezvous as the options and the launcher say it. */
struct rendezvous {
    struct ronde_join join;         /* of the first rank that is made here, or of this process */
    struct ronde_launcher launcher; /* how its ranks meet; without a name where the join says it */
    uint32_t here;                  /* ranks made here, or 1 */
    char host[256];
    char token[RONDE_TOKEN_BYTES];
    bool is_made_here;      /* by forking */
    struct ronde_bind bind; /* what the ranks made here keep to */
    FILE *held;             /* stderr of ranks 2 and on; NULL where there is no temporary file */
};

bool ronde_job_is_wanted(const char *backend)
{
    const struct ronde_executor *executor = ronde_executor_find(backend);
    return executor && executor->ranks == RONDE_RANKS_PROCESSES;
}

static void print_note(void *self, const char *text)
{
    (void)self;
    ronde_note("ronde: %s", text);
}

static struct ronde_comm_options comm_options(const struct ronde_options *options)
{
    const struct ronde_executor *backend = ronde_executor_find(options->backend.name);
    const struct ronde_executor *narrowed =
        options->backend.transport ? ronde_executor_find(options->backend.transport) : NULL;
    const char *host_id = getenv("RONDE_HOST_ID");
    return (struct ronde_comm_options){
        .transport = narrowed ? narrowed->transport : backend->job_transport,
        .timeout_ns = (uint64_t)(options->engine.timeout_s * 1e9),
        .plan = {options->engine.slot_bytes, options->engine.depth},
        .host_id = host_id && *host_id ? host_id : NULL,
        .note = print_note,
    };
}

/* --transport chooses among the transports between hosts where --backend names one that leaves it open. */
static enum ronde_status check_transport(const struct ronde_options *options,
                                         struct ronde_error *error)
{
    const struct ronde_executor *backend = ronde_executor_find(options->backend.name);
    const struct ronde_executor *narrowed =
        options->backend.transport ? ronde_executor_find(options->backend.transport) : NULL;
    const char *reason = NULL;
    if (options->backend.transport && backend->transport == backend->job_transport)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--transport belongs to --backend ucx");
    if (options->backend.transport && (!narrowed || !narrowed->spans_hosts))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown transport \"%s\"; there are %s and %s",
                          options->backend.transport, ronde_transport_text(RONDE_TRANSPORT_HYBRID),
                          ronde_transport_text(RONDE_TRANSPORT_UCX));
    if (!ronde_transport_available(comm_options(options).transport, &reason))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", reason);
    return RONDE_OK;
}

/* "host:port", "[::1]:port". */
static enum ronde_status parse_address(const char *text, struct rendezvous *out,
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
static enum ronde_status find_rank(const struct ronde_options *options, struct rendezvous *out,
                                   struct ronde_error *error)
{
    struct ronde_launcher *launcher = &out->launcher;
    const uint32_t wanted = options->what.rank_counts > 0 ? options->what.ranks[0] : 0;
    if (options->backend.rank == RONDE_NONE && !launcher->name)
        RONDE_TRY(ronde_launcher_find(NULL, NULL, launcher, error));
    /* A process that was started alone, such as a shell of Slurm's (srun --pty), is none of the ranks that it makes. */
    if (launcher->ranks == 1 && wanted > 1)
        ronde_launcher_close(launcher);
    out->is_made_here = options->backend.rank == RONDE_NONE && !launcher->name;
    out->join.rank = launcher->name      ? launcher->rank
                     : out->is_made_here ? 0
                                         : options->backend.rank;
    out->here = launcher->name ? 1 : options->backend.rank_span;
    out->join.ranks = launcher->name ? launcher->ranks : wanted;
    if (launcher->name && wanted > 0 && wanted != launcher->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "-N %u, but %s has started %u processes",
                          wanted, launcher->name, launcher->ranks);
    if (out->join.ranks == 0 && out->is_made_here)
        RONDE_TRY(ronde_default_ranks(options, NULL, &out->join.ranks, error));
    if (out->join.ranks == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "how many ranks: -N is missing");
    if (out->is_made_here)
        out->here = out->join.ranks;
    if (ronde_limit_check(RONDE_LIMIT_PROCESSES, out->here, error) != RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (out->join.rank + out->here > out->join.ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "rank %u of %u ranks does not exist",
                          out->join.rank + out->here - 1, out->join.ranks);
    return RONDE_OK;
}

/* The first line of input, where a command line would show the secret to everybody. */
static enum ronde_status read_token(char *token, size_t bytes, struct ronde_error *error)
{
    if (!fgets(token, (int)bytes, stdin) || !strchr(token, '\n'))
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--token -: the first line of input is no token of at most %zu characters", bytes - 2);
    token[strcspn(token, "\n")] = '\0';
    return RONDE_OK;
}

/* Options and surroundings, before any process is made. `out` comes zeroed, but for a launcher that is known. */
static enum ronde_status find_rendezvous(const struct ronde_options *options,
                                         struct rendezvous *out, struct ronde_error *error)
{
    enum ronde_status status = find_rank(options, out, error);
    if (status == RONDE_OK && options->backend.join)
        status = parse_address(options->backend.join, out, error);
    if (status != RONDE_OK)
        return status;
    memcpy(out->token, out->launcher.token, sizeof out->token);
    if (out->is_made_here && (options->backend.join || options->backend.token))
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--join and --token belong to processes that others start: --rank is missing");
    if (options->backend.token && strlen(options->backend.token) >= sizeof out->token)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--token has more than %zu characters",
                          sizeof out->token - 1);
    if (options->backend.token && strcmp(options->backend.token, "-") == 0)
        status = read_token(out->token, sizeof out->token, error);
    else if (options->backend.token)
        snprintf(out->token, sizeof out->token, "%s", options->backend.token);
    out->join.token = out->token;
    memcpy(out->launcher.token, out->token, sizeof out->token);
    /* Who is told where to meet asks nobody else. */
    if (options->backend.join)
        ronde_launcher_close(&out->launcher);
    if (status == RONDE_OK && !out->is_made_here && !out->launcher.name && out->token[0] == '\0')
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "processes that others start need --token, the same on all ranks");
    return status;
}

static enum ronde_status join(const struct rendezvous *rendezvous,
                              const struct ronde_comm_options *choices,
                              struct ronde_comm **out_comm, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    return rendezvous->launcher.name
               ? ronde_comm_launch(&rendezvous->launcher, choices, mem, out_comm, error)
               : ronde_comm_join(&rendezvous->join, choices, mem, out_comm, error);
}

/* ---- What the ranks of a team must have been told alike: how often they run what, and whether they look at it ------ */

/* The collective, then options whose value is a number. Those that a schedule or a launch follows from are compared there. */
#define TOLD_TEXTS 8u

/* What a rank was told, in the words of the command line. */
struct settings {
    char texts[TOLD_TEXTS][32]; /* no collective, "", where the argument is a file, whose path may differ */
    char algorithm[RONDE_MAX_NAMES_BYTES + 8];
};

/* The names of -a as they were given. */
static void fill_algorithm(const struct ronde_options *options, char *text, size_t bytes)
{
    snprintf(text, bytes, options->what.algorithm_count > 0 ? "-a " : "no -a");
    for (uint32_t a = 0; a < options->what.algorithm_count; a++) {
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%s", a ? "," : "", options->what.algorithms[a]);
    }
}

static void fill_settings(const struct ronde_options *options, struct settings *out)
{
    const struct {
        const char *word;
        uint64_t value;
    } terms[TOLD_TEXTS - 1] = {{"-b", options->sizes.min_bytes},
                               {"-e", options->sizes.max_bytes},
                               {"-i", options->sizes.step_bytes},
                               {"-f", options->sizes.factor},
                               {"-n", options->backend.iterations},
                               {"-w", options->backend.warmups},
                               {"-c", options->backend.check}};
    enum ronde_collective collective;

    if (options->argument_count > 0 && ronde_collective_parse(options->arguments[0], &collective))
        snprintf(out->texts[0], sizeof out->texts[0], "%s", ronde_collective_text(collective));
    for (uint32_t t = 1; t < TOLD_TEXTS; t++)
        snprintf(out->texts[t], sizeof out->texts[t], "%s %llu", terms[t - 1].word,
                 (unsigned long long)terms[t - 1].value);
    if (options->backend.warmups == RONDE_NONE)
        snprintf(out->texts[6], sizeof out->texts[6], "no -w");
    fill_algorithm(options, out->algorithm, sizeof out->algorithm);
}

static enum ronde_status compare_two(const char *mine, const char *theirs, uint32_t rank,
                                     struct ronde_error *error)
{
    return !*mine || !*theirs || strcmp(mine, theirs) == 0
               ? RONDE_OK
               : ronde_fail(
                     error, RONDE_REJECTED,
                     "rank 0 was started with %.160s, rank %u with %.160s: give all ranks the "
                     "same",
                     mine, rank, theirs);
}

static enum ronde_status compare(const struct settings *all, uint32_t ranks,
                                 struct ronde_error *error)
{
    for (uint32_t rank = 1; rank < ranks; rank++) {
        for (uint32_t t = 0; t < TOLD_TEXTS; t++)
            RONDE_TRY(compare_two(all[0].texts[t], all[rank].texts[t], rank, error));
        RONDE_TRY(compare_two(all[0].algorithm, all[rank].algorithm, rank, error));
    }
    return RONDE_OK;
}

/* A rank that runs once more than another would wait for it until time is over, and neither could say why. Collective. */
static enum ronde_status compare_settings(const struct ronde_options *options,
                                          struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t ranks = ronde_comm_ranks(comm);
    struct settings mine = {.algorithm = ""};

    fill_settings(options, &mine);
    struct settings *all = ronde_mem_new(ronde_mem_default(), ranks, sizeof mine);
    /* The others are waiting, and hear of it when this rank leaves. */
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    enum ronde_status status = ronde_comm_allgather(comm, &mine, sizeof mine, all, error);
    RONDE_THEN(status, compare(all, ranks, error));
    ronde_mem_free(ronde_mem_default(), all, ranks, sizeof mine);
    return status;
}

/* ---- One process ------------------------------------------------------------------------------------------------- */

/* One process: meets the others and does its part. Results are rank 0's to print. */
static int take_part(const struct ronde_options *options, const struct rendezvous *rendezvous,
                     ronde_job_body body)
{
    struct ronde_options own = *options;
    const struct ronde_comm_options choices = comm_options(options);
    struct ronde_comm *comm = NULL;
    struct ronde_error error = {0};
    own.what.ranks[0] = rendezvous->join.ranks;
    own.what.rank_counts = 1;
    if (rendezvous->join.rank > 0) {
        own.output.path = "/dev/null";
        own.output.json = false;
        own.output.csv = false;
    }
    if (join(rendezvous, &choices, &comm, &error) != RONDE_OK)
        return ronde_report(&error);
    if (compare_settings(options, comm, &error) == RONDE_OK)
        return body(&own, comm);
    ronde_comm_destroy(comm);
    return ronde_report(&error);
}

/* A listener at the loopback that the forked processes inherit: no port can be taken in between. */
static enum ronde_status open_listener(struct rendezvous *rendezvous, struct ronde_error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    RONDE_TRY(ronde_token_draw(rendezvous->token, error));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, (int)rendezvous->join.ranks) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        if (fd >= 0)
            close(fd);
        return ronde_fail(error, RONDE_DEVICE, "the system refuses a listening socket");
    }
    snprintf(rendezvous->host, sizeof rendezvous->host, "127.0.0.1");
    rendezvous->join.host = rendezvous->host;
    rendezvous->join.port = ntohs(address.sin_port);
    rendezvous->join.has_listener = true;
    rendezvous->join.listener = fd;
    return RONDE_OK;
}

/* Only rank 0 listens. */
static void close_listener(struct rendezvous *rendezvous)
{
    if (rendezvous->join.has_listener)
        close(rendezvous->join.listener);
    rendezvous->join.has_listener = false;
}

/*
 * Where every rank has processors of its own it keeps to them, as under mpirun: two ranks that poll each other on one
 * processor are a thousand times slower. Where there are more ranks than processors the system decides.
 */
static void bind_rank(struct ronde_bind *bind, uint32_t index, uint32_t ranks)
{
    const uint32_t count = ronde_bind_usable(bind, bind->list);
    (void)ronde_bind_take(bind->list, ronde_bind_group(bind->list, count, ranks, index));
    ronde_bind_close(bind);
}

/* Never returns: a forked process ends with its part. */
static void be_rank(const struct ronde_options *options, struct rendezvous *rendezvous,
                    uint32_t index, ronde_job_body body)
{
    bind_rank(&rendezvous->bind, index, rendezvous->here);
    rendezvous->join.rank += index;
    if (rendezvous->join.rank > 0)
        close_listener(rendezvous);
    /* One rank per host writes to stderr; rank 0 reports every failure but its own. */
    if (index > 0 && rendezvous->join.rank > 1 &&
        (!rendezvous->held || dup2(fileno(rendezvous->held), STDERR_FILENO) < 0))
        (void)!freopen("/dev/null", "w", stderr);
    exit(take_part(options, rendezvous, body));
}

/* What a rank's end means. */
static int judge_rank(void *self, uint32_t index, int state)
{
    const struct rendezvous *rendezvous = self;
    if (WIFEXITED(state))
        return WEXITSTATUS(state);
    ronde_note("ronde: rank %u was ended by signal %d", rendezvous->join.rank + index,
               WTERMSIG(state));
    return RONDE_EXIT_FAILED;
}

/* Rank 0 may not know why another has failed, where that was before they had met. */
static void print_held(const struct rendezvous *rendezvous)
{
    char line[RONDE_ERROR_MESSAGE_BYTES + 16];
    if (!rendezvous->held)
        return;
    rewind(rendezvous->held);
    if (fgets(line, sizeof line, rendezvous->held))
        ronde_note("%.*s", (int)strcspn(line, "\n"), line);
}

/* Makes all ranks of this host; returns the exit code. */
static int fork_ranks(const struct ronde_options *options, struct rendezvous *rendezvous,
                      struct ronde_children *children, ronde_job_body body)
{
    int code = RONDE_EXIT_OK;
    bool is_cut = false;
    fflush(NULL);
    for (uint32_t index = 0; index < rendezvous->here && code == RONDE_EXIT_OK; index++) {
        const pid_t pid = ronde_children_fork(children);
        if (pid == 0)
            be_rank(options, rendezvous, index, body);
        if (pid < 0) {
            ronde_note("ronde: the system refuses process %u of %u: %s", index + 1,
                       rendezvous->here, strerror(errno));
            code = RONDE_EXIT_FAILED;
        }
    }
    ronde_bind_close(&rendezvous->bind);
    close_listener(rendezvous);
    code = ronde_children_await(children, code, &is_cut);
    if (is_cut)
        print_held(rendezvous);
    return code;
}

static int fork_all(const struct ronde_options *options, struct rendezvous *rendezvous,
                    ronde_job_body body)
{
    const double limit_s = options->engine.timeout_s > 0 ? options->engine.timeout_s : RUN_S;
    struct ronde_children children = {.stop_limit_ns = (limit_s + STOPPED_S) * 1e9,
                                      .kind = "rank",
                                      .first = rendezvous->join.rank,
                                      .judge = judge_rank,
                                      .self = rendezvous};
    struct ronde_error error = {0};
    if (rendezvous->is_made_here && open_listener(rendezvous, &error) != RONDE_OK)
        return ronde_report(&error);
    if (!options->backend.is_unbound &&
        ronde_bind_open(ronde_mem_default(), &rendezvous->bind, &error) != RONDE_OK)
        return ronde_report(&error);
    if (ronde_children_open(&children, rendezvous->here, &error) != RONDE_OK)
        return ronde_report(&error);
    rendezvous->held = tmpfile();
    const int code = fork_ranks(options, rendezvous, &children, body);
    ronde_children_close(&children);
    if (rendezvous->held)
        fclose(rendezvous->held);
    return code;
}

static bool may_use_ucx(const struct ronde_options *options)
{
    const char *reason = NULL;
    return comm_options(options).transport != RONDE_TRANSPORT_SHM &&
           ronde_transport_available(RONDE_TRANSPORT_UCX, &reason);
}

int ronde_job_run(const struct ronde_options *options, struct ronde_launcher *launcher,
                  ronde_job_body body)
{
    struct ronde_error error = {0};
    struct rendezvous rendezvous = {0};
    struct ronde_shm_folder folder = {0};
    if (launcher)
        rendezvous.launcher = *launcher;
    if (check_transport(options, &error) != RONDE_OK) {
        ronde_launcher_close(&rendezvous.launcher);
        return ronde_report(&error);
    }
    if (options->backend.hosts && options->backend.rank == RONDE_NONE)
        return ronde_remote_launch_run(options);
    if (find_rendezvous(options, &rendezvous, &error) != RONDE_OK) {
        ronde_launcher_close(&rendezvous.launcher);
        return ronde_report(&error);
    }
    ronde_remote_launch_follow();
    if (may_use_ucx(options))
        ronde_shm_folder_open(&folder);
    const int code = rendezvous.is_made_here || rendezvous.here > 1
                         ? fork_all(options, &rendezvous, body)
                         : take_part(options, &rendezvous, body);
    ronde_shm_folder_close(&folder);
    return code;
}
