/* Which rank of which launcher this process is. See ronde/comm.h; docs/notes/processes.md has the table. */
#include "hw/bootstrap/pmi.h"
#include "hw/bootstrap/pmix.h"
#include "ronde/comm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A launcher's variables; all but the optional ones must be set, or it is not this launcher. */
struct dialect {
    const char *name;
    const char *rank;
    const char *ranks;
    const char *marker;   /* one more that must be set, or NULL */
    const char *host;     /* optional: rank 0's host */
    const char *port;     /* optional: rank 0's port */
    const char *token;    /* optional: the job */
    uint16_t port_offset; /* added to port, which the launcher itself listens at */
    const char *part;     /* optional: which of the job's steps this is; several may run at once */
    const char *hosts;    /* optional: the ranks' hosts, in order */
    const char *hosts_count; /* optional: how many hosts */
    const char *ranks_here;  /* optional: ranks on this host */
    bool has_pmix;           /* it may be PMIX_NAMESPACE's server */
};

static const struct dialect by_hand = {.name = "ronde",
                                       .rank = "RONDE_RANK",
                                       .ranks = "RONDE_RANKS",
                                       .host = "RONDE_HOST",
                                       .port = "RONDE_PORT",
                                       .token = "RONDE_TOKEN"};
static const struct dialect torchrun = {.name = "torchrun",
                                        .rank = "RANK",
                                        .ranks = "WORLD_SIZE",
                                        .marker = "MASTER_ADDR",
                                        .host = "MASTER_ADDR",
                                        .port = "MASTER_PORT",
                                        .token = "TORCHELASTIC_RUN_ID",
                                        .port_offset = 1};
static const struct dialect open_mpi = {.name = "open mpi",
                                        .rank = "OMPI_COMM_WORLD_RANK",
                                        .ranks = "OMPI_COMM_WORLD_SIZE",
                                        .token = "PMIX_NAMESPACE",
                                        .ranks_here = "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        .has_pmix = true};
static const struct dialect pmi = {.name = "pmi",
                                   .rank = "PMI_RANK",
                                   .ranks = "PMI_SIZE",
                                   .token = "PMI_JOBID"};
static const struct dialect mvapich = {.name = "mvapich",
                                       .rank = "MV2_COMM_WORLD_RANK",
                                       .ranks = "MV2_COMM_WORLD_SIZE"};
/* SLURM_* alone proves nothing: `salloc` sets it too, where another launcher starts the ranks; a step has SLURM_STEP_ID. */
static const struct dialect slurm = {.name = "slurm",
                                     .rank = "SLURM_PROCID",
                                     .ranks = "SLURM_NTASKS",
                                     .marker = "SLURM_STEP_ID",
                                     .token = "SLURM_JOB_ID",
                                     .part = "SLURM_STEP_ID",
                                     .hosts = "SLURM_STEP_NODELIST",
                                     .hosts_count = "SLURM_STEP_NUM_NODES",
                                     .has_pmix = true};
/* For these two rank or ranks are queried from the launcher: read_hydra_port, read_pmix_ranks. */
static const struct dialect hydra_port = {.name = "pmi", .rank = "PMI_ID", .ranks = "PMI_PORT"};
static const struct dialect pmix = {.name = "pmix",
                                    .rank = "PMIX_RANK",
                                    .ranks = "PMIX_NAMESPACE",
                                    .token = "PMIX_NAMESPACE",
                                    .has_pmix = true};

static const char *read_environment(void *self, const char *name)
{
    (void)self;
    return getenv(name);
}

struct environment {
    ronde_lookup lookup;
    void *self;
};

/* A variable that is set and not empty, or NULL. */
static const char *get_variable(const struct environment *variables, const char *name)
{
    const char *text = name ? variables->lookup(variables->self, name) : NULL;
    return text && *text ? text : NULL;
}

static enum ronde_status read_number(const struct environment *variables,
                                     const struct dialect *dialect, const char *name, uint32_t most,
                                     uint32_t *out, struct ronde_error *error)
{
    const char *text = get_variable(variables, name);
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || number > most)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s=\"%.64s\" is not a number from 0 to %u",
                          dialect->name, name, text, most);
    *out = (uint32_t)number;
    return RONDE_OK;
}

static enum ronde_status copy_text(const struct dialect *dialect, const char *name, const char *text,
                                   char *to, size_t bytes, struct ronde_error *error)
{
    if (strlen(text) >= bytes)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s is longer than %zu characters",
                          dialect->name, name, bytes - 1);
    memcpy(to, text, strlen(text) + 1);
    return RONDE_OK;
}

/* The first name of "rack[1-2]n[03-05,07],login": "rack1n03". */
static void copy_first_host(const char *list, char *to, size_t bytes)
{
    size_t used = 0;
    for (const char *at = list; *at && *at != ',' && used + 1 < bytes; at++) {
        if (*at == '[') {
            const size_t first = strcspn(at + 1, "-,]");
            used += (size_t)snprintf(to + used, bytes - used, "%.*s", (int)first, at + 1);
            used = used < bytes ? used : bytes - 1;
            at += strcspn(at, "]");
            if (*at == '\0')
                break;
        } else {
            to[used++] = *at;
        }
    }
    to[used] = '\0';
}

/* A port hashed from the token, below the systems' ephemeral range: two jobs collide only by chance. */
static uint16_t port_of(const char *token)
{
    uint32_t hash = 2166136261u;
    for (; *token; token++)
        hash = (hash ^ (unsigned char)*token) * 16777619u;
    return (uint16_t)(20000u + hash % 10000u);
}

/* Ranks of one host use the rendezvous file of the job's name; those of several connect to rank 0's host. */
static void read_hosts(const struct environment *variables, const struct dialect *dialect,
                       struct ronde_launcher *out)
{
    const char *list = get_variable(variables, dialect->hosts);
    const char *count = get_variable(variables, dialect->hosts_count);
    if (!list || !count || strcmp(count, "1") == 0)
        return;
    copy_first_host(list, out->host, sizeof out->host);
    out->port = port_of(out->token);
}

/* Address and token of the rendezvous, as far as the launcher's variables have them. */
static enum ronde_status read_address(const struct environment *variables,
                                      const struct dialect *dialect, struct ronde_launcher *out,
                                      struct ronde_error *error)
{
    const char *host = get_variable(variables, dialect->host);
    const char *token = get_variable(variables, dialect->token);
    const char *part = get_variable(variables, dialect->part);
    uint32_t port = 0;
    enum ronde_status status = RONDE_OK;
    if (host && get_variable(variables, dialect->port)) {
        status = read_number(variables, dialect, dialect->port, UINT16_MAX - 1u, &port, error);
        RONDE_THEN(status,
                   copy_text(dialect, dialect->host, host, out->host, sizeof out->host, error));
        out->port = (uint16_t)(port + dialect->port_offset);
    }
    if (token && status == RONDE_OK)
        status = copy_text(dialect, dialect->token, token, out->token, sizeof out->token, error);
    const size_t used = strlen(out->token);
    if (part && used > 0 && status == RONDE_OK) {
        out->token[used] = '.';
        status = copy_text(dialect, dialect->part, part, out->token + used + 1,
                           sizeof out->token - used - 1, error);
    }
    if (status == RONDE_OK)
        read_hosts(variables, dialect, out);
    return status;
}

/* PMI_FD if it is a socket, else 0: an inherited variable of an outer PMI launcher names no open socket. */
static int find_pmi(const struct environment *variables)
{
    const char *text = get_variable(variables, "PMI_FD");
    const int fd = text ? atoi(text) : 0;
    return ronde_pmi_is_socket(fd) ? fd : 0;
}

/* Slurm's PMIx server names jobs so: with this value no other PMIx launcher is nested inside Slurm's. */
static bool is_slurms_pmix(const struct environment *variables)
{
    static const char marker[] = "slurm.pmix.";
    const char *name = get_variable(variables, "PMIX_NAMESPACE");
    return name && strncmp(name, marker, sizeof marker - 1) == 0;
}

/* Ranks of one host need no process manager: the rendezvous file has the address. */
static bool is_one_host(const struct environment *variables, const struct dialect *dialect,
                        const struct ronde_launcher *found)
{
    const char *hosts = get_variable(variables, dialect->hosts_count);
    const char *ranks = get_variable(variables, dialect->ranks_here);
    return found->token[0] && ((hosts && strcmp(hosts, "1") == 0) ||
                               (ranks && strtoull(ranks, NULL, 10) == found->ranks));
}

/* A process manager of the same launcher, as far as variables show. */
static void find_manager(const struct environment *variables, const struct dialect *dialect,
                         struct ronde_launcher *out)
{
    const char *pmi_rank = get_variable(variables, pmi.rank);
    const bool is_slurm = dialect == &slurm;
    const bool has_pmi =
        dialect == &pmi || (is_slurm && pmi_rank && strtoull(pmi_rank, NULL, 10) == out->rank);
    if (out->is_open || is_one_host(variables, dialect, out))
        return;
    if (dialect->has_pmix && get_variable(variables, "PMIX_NAMESPACE") &&
        is_slurm == is_slurms_pmix(variables)) {
        out->manager = RONDE_MANAGER_PMIX;
    } else if (has_pmi && find_pmi(variables) > 0) {
        out->manager = RONDE_MANAGER_PMI;
        out->pmi = find_pmi(variables);
    }
}

/* Hydra with -pmi-port: the rank comes in the reply to the handshake at PMI_PORT. */
static enum ronde_status read_hydra_port(const struct environment *variables,
                                         struct ronde_launcher *out, struct ronde_error *error)
{
    const enum ronde_status status =
        ronde_pmi_connect(get_variable(variables, "PMI_PORT"), get_variable(variables, "PMI_ID"),
                          &out->pmi, &out->rank, &out->ranks, error);
    out->manager = RONDE_MANAGER_PMI;
    out->is_open = status == RONDE_OK;
    return status;
}

/* The number of ranks is queried through PMIx. */
static enum ronde_status read_pmix_ranks(struct ronde_launcher *out, struct ronde_error *error)
{
    const enum ronde_status status = ronde_pmix_ranks(&out->ranks, error);
    out->manager = RONDE_MANAGER_PMIX;
    out->is_open = status == RONDE_OK;
    return status;
}

static enum ronde_status read_ranks(const struct environment *variables,
                                    const struct dialect *dialect, struct ronde_launcher *out,
                                    struct ronde_error *error)
{
    if (dialect == &hydra_port)
        return read_hydra_port(variables, out, error);
    RONDE_TRY(read_number(variables, dialect, dialect->rank, RONDE_MAX_RANKS, &out->rank, error));
    return dialect == &pmix ? read_pmix_ranks(out, error)
                            : read_number(variables, dialect, dialect->ranks, RONDE_MAX_RANKS,
                                          &out->ranks, error);
}

static enum ronde_status read_set(const struct environment *variables, const struct dialect *dialect,
                                  struct ronde_launcher *out, struct ronde_error *error)
{
    out->name = dialect->name;
    RONDE_TRY(read_ranks(variables, dialect, out, error));
    if (out->rank >= out->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s=%u, but %s=%u", dialect->name,
                          dialect->rank, out->rank, dialect->ranks, out->ranks);
    RONDE_TRY(read_address(variables, dialect, out, error));
    find_manager(variables, dialect, out);
    return RONDE_OK;
}

/* Slurm's task is this very process: other launchers' variables in its environment are inherited from outer ones. */
static bool is_slurms_task(const struct environment *variables)
{
    const char *process = get_variable(variables, "SLURM_TASK_PID");
    return process && strtoull(process, NULL, 10) == (unsigned long long)getpid();
}

static bool has_pmi_socket(const struct environment *variables)
{
    return find_pmi(variables) > 0;
}

/*
 * The first complete set in this order counts whose marker, if any, is set. Nested launchers inherit the outer ones'
 * variables: first come those set by hand, then what only the innermost launcher can have set, this process's own
 * number, an open socket, a PMIx server of its own; then those that seldom enclose others.
 */
static const struct {
    const struct dialect *dialect;
    bool (*is_innermost)(const struct environment *variables);
} order[] = {
    {&by_hand, NULL},
    {&torchrun, NULL},
    {&slurm, is_slurms_task},
    {&pmi, has_pmi_socket},
    {&slurm, is_slurms_pmix},
    {&open_mpi, NULL},
    {&pmi, NULL},
    {&mvapich, NULL},
    {&slurm, NULL},
    {&hydra_port, NULL},
    {&pmix, NULL},
};

enum ronde_status ronde_launcher_find(ronde_lookup lookup, void *self,
                                      struct ronde_launcher *out_launcher, struct ronde_error *error)
{
    const struct environment variables = {lookup ? lookup : read_environment, self};
    struct ronde_launcher found;
    memset(&found, 0, sizeof found);
    memset(out_launcher, 0, sizeof *out_launcher);
    out_launcher->ranks = 1;
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
        const struct dialect *dialect = order[k].dialect;
        if (!get_variable(&variables, dialect->rank) || !get_variable(&variables, dialect->ranks) ||
            (dialect->marker && !get_variable(&variables, dialect->marker)) ||
            (order[k].is_innermost && !order[k].is_innermost(&variables)))
            continue;
        const enum ronde_status status = read_set(&variables, dialect, &found, error);
        if (status == RONDE_OK)
            *out_launcher = found;
        else
            ronde_launcher_close(&found);
        return status;
    }
    return RONDE_OK;
}

void ronde_launcher_close(struct ronde_launcher *launcher)
{
    if (launcher->is_open && launcher->manager == RONDE_MANAGER_PMIX)
        ronde_pmix_leave();
    if (launcher->is_open && launcher->manager == RONDE_MANAGER_PMI) {
        ronde_pmi_finalize(launcher->pmi);
        close(launcher->pmi);
    }
    memset(launcher, 0, sizeof *launcher);
}
