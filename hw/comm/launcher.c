/* Which rank of which launcher this process is. See ronde/comm.h; docs/processes.md has the table. */
#include "hw/comm/pmi.h"
#include "hw/comm/pmix.h"
#include "ronde/comm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A launcher's variables; all of those without "maybe" must be there, or it is not this launcher. */
struct dialect {
    const char *name;
    const char *rank;
    const char *ranks;
    const char *sign;        /* one more that must be there, or NULL */
    const char *host;        /* maybe: where rank 0 is */
    const char *port;        /* maybe: there */
    const char *token;       /* maybe: the job */
    uint16_t port_offset;    /* the launcher itself sits at its port */
    const char *part;        /* maybe: which of the job's runs this is; several may go on at once */
    const char *hosts;       /* maybe: where the ranks are, in order */
    const char *hosts_count; /* maybe: how many these are */
    const char *ranks_here;  /* maybe: how many of the ranks are on this host */
    bool has_pmix;           /* maybe: it is PMIX_NAMESPACE's server */
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
                                        .sign = "MASTER_ADDR",
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
/* SLURM_* alone says nothing: it is there inside `salloc` too, where the ranks are another's; a step has SLURM_STEP_ID. */
static const struct dialect slurm = {.name = "slurm",
                                     .rank = "SLURM_PROCID",
                                     .ranks = "SLURM_NTASKS",
                                     .sign = "SLURM_STEP_ID",
                                     .token = "SLURM_JOB_ID",
                                     .part = "SLURM_STEP_ID",
                                     .hosts = "SLURM_STEP_NODELIST",
                                     .hosts_count = "SLURM_STEP_NUM_NODES",
                                     .has_pmix = true};
/* These two tell rank or ranks only when asked: read_hydra_port, read_pmix. */
static const struct dialect hydra_port = {.name = "pmi", .rank = "PMI_ID", .ranks = "PMI_PORT"};
static const struct dialect pmix = {.name = "pmix",
                                    .rank = "PMIX_RANK",
                                    .ranks = "PMIX_NAMESPACE",
                                    .token = "PMIX_NAMESPACE",
                                    .has_pmix = true};

static const char *ask_environment(void *self, const char *name)
{
    (void)self;
    return getenv(name);
}

struct asking {
    ronde_lookup lookup;
    void *self;
};

/* A variable that is there and not empty, or NULL. */
static const char *ask(const struct asking *asking, const char *name)
{
    const char *text = name ? asking->lookup(asking->self, name) : NULL;
    return text && *text ? text : NULL;
}

static enum ronde_status ask_number(const struct asking *asking, const struct dialect *dialect,
                                    const char *name, uint32_t most, uint32_t *out,
                                    struct ronde_error *error)
{
    const char *text = ask(asking, name);
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

/* A port that all runs of all jobs share no more often than chance has it, below those that systems hand out. */
static uint16_t port_of(const char *token)
{
    uint32_t hash = 2166136261u;
    for (; *token; token++)
        hash = (hash ^ (unsigned char)*token) * 16777619u;
    return (uint16_t)(20000u + hash % 10000u);
}

/* Ranks of one host find each other by the job's name; those of several do where the launcher has put rank 0. */
static void read_hosts(const struct asking *asking, const struct dialect *dialect,
                       struct ronde_launcher *out)
{
    const char *list = ask(asking, dialect->hosts);
    const char *count = ask(asking, dialect->hosts_count);
    if (!list || !count || strcmp(count, "1") == 0)
        return;
    copy_first_host(list, out->host, sizeof out->host);
    out->port = port_of(out->token);
}

/* Where the ranks meet, and in whose name, as far as the launcher says it. */
static enum ronde_status read_address(const struct asking *asking, const struct dialect *dialect,
                                      struct ronde_launcher *out, struct ronde_error *error)
{
    const char *host = ask(asking, dialect->host);
    const char *token = ask(asking, dialect->token);
    const char *part = ask(asking, dialect->part);
    uint32_t port = 0;
    enum ronde_status status = RONDE_OK;
    if (host && ask(asking, dialect->port)) {
        status = ask_number(asking, dialect, dialect->port, UINT16_MAX - 1u, &port, error);
        if (status == RONDE_OK)
            status = copy_text(dialect, dialect->host, host, out->host, sizeof out->host, error);
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
        read_hosts(asking, dialect, out);
    return status;
}

/* The socket PMI_FD; 0 where it is none, as in a process whose launcher was itself started by PMI's. */
static int find_pmi(const struct asking *asking)
{
    const char *text = ask(asking, "PMI_FD");
    const int fd = text ? atoi(text) : 0;
    return ronde_pmi_is_socket(fd) ? fd : 0;
}

/* Slurm's server calls jobs so; whose variable says it, was started by nobody further inside who speaks PMIx. */
static bool is_slurms_pmix(const struct asking *asking)
{
    static const char sign[] = "slurm.pmix.";
    const char *name = ask(asking, "PMIX_NAMESPACE");
    return name && strncmp(name, sign, sizeof sign - 1) == 0;
}

/* Ranks of one host need no manager: a file tells them all. */
static bool is_one_host(const struct asking *asking, const struct dialect *dialect,
                        const struct ronde_launcher *found)
{
    const char *hosts = ask(asking, dialect->hosts_count);
    const char *ranks = ask(asking, dialect->ranks_here);
    return found->token[0] && ((hosts && strcmp(hosts, "1") == 0) ||
                               (ranks && strtoull(ranks, NULL, 10) == found->ranks));
}

/* A manager of the same launcher, as far as variables tell. */
static void find_manager(const struct asking *asking, const struct dialect *dialect,
                         struct ronde_launcher *out)
{
    const char *pmi_rank = ask(asking, pmi.rank);
    const bool is_slurm = dialect == &slurm;
    const bool has_pmi =
        dialect == &pmi || (is_slurm && pmi_rank && strtoull(pmi_rank, NULL, 10) == out->rank);
    if (out->is_open || is_one_host(asking, dialect, out))
        return;
    if (dialect->has_pmix && ask(asking, "PMIX_NAMESPACE") && is_slurm == is_slurms_pmix(asking)) {
        out->manager = RONDE_MANAGER_PMIX;
    } else if (has_pmi && find_pmi(asking) > 0) {
        out->manager = RONDE_MANAGER_PMI;
        out->pmi = find_pmi(asking);
    }
}

/* Who introduces itself at a port is told its rank. */
static enum ronde_status read_hydra_port(const struct asking *asking, struct ronde_launcher *out,
                                         struct ronde_error *error)
{
    const enum ronde_status status = ronde_pmi_enter(ask(asking, "PMI_PORT"), ask(asking, "PMI_ID"),
                                                     &out->pmi, &out->rank, &out->ranks, error);
    out->manager = RONDE_MANAGER_PMI;
    out->is_open = status == RONDE_OK;
    return status;
}

/* PMIx says how many there are. */
static enum ronde_status read_pmix_ranks(struct ronde_launcher *out, struct ronde_error *error)
{
    const enum ronde_status status = ronde_pmix_ranks(&out->ranks, error);
    out->manager = RONDE_MANAGER_PMIX;
    out->is_open = status == RONDE_OK;
    return status;
}

static enum ronde_status read_ranks(const struct asking *asking, const struct dialect *dialect,
                                    struct ronde_launcher *out, struct ronde_error *error)
{
    if (dialect == &hydra_port)
        return read_hydra_port(asking, out, error);
    const enum ronde_status status =
        ask_number(asking, dialect, dialect->rank, RONDE_MAX_RANKS, &out->rank, error);
    if (status != RONDE_OK)
        return status;
    return dialect == &pmix
               ? read_pmix_ranks(out, error)
               : ask_number(asking, dialect, dialect->ranks, RONDE_MAX_RANKS, &out->ranks, error);
}

static enum ronde_status read_set(const struct asking *asking, const struct dialect *dialect,
                                  struct ronde_launcher *out, struct ronde_error *error)
{
    out->name = dialect->name;
    enum ronde_status status = read_ranks(asking, dialect, out, error);
    if (status == RONDE_OK && out->rank >= out->ranks)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s=%u, but %s=%u", dialect->name,
                            dialect->rank, out->rank, dialect->ranks, out->ranks);
    if (status == RONDE_OK)
        status = read_address(asking, dialect, out, error);
    if (status == RONDE_OK)
        find_manager(asking, dialect, out);
    return status;
}

/* Slurm's task is this very process: whatever else is in its environment came from further outside. */
static bool is_slurms_task(const struct asking *asking)
{
    const char *process = ask(asking, "SLURM_TASK_PID");
    return process && strtoull(process, NULL, 10) == (unsigned long long)getpid();
}

static bool has_pmi_socket(const struct asking *asking)
{
    return find_pmi(asking) > 0;
}

/*
 * In this order, the first complete set counts whose sign, if any, is there. Launchers inherit the variables of those
 * they were started by: first comes what people say themselves, then what only the innermost launcher can have left, a
 * process's own number, an open socket, a server of its own; then those that are seldom around others.
 */
static const struct {
    const struct dialect *dialect;
    bool (*is_innermost)(const struct asking *asking);
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
    const struct asking asking = {lookup ? lookup : ask_environment, self};
    struct ronde_launcher found;
    memset(&found, 0, sizeof found);
    memset(out_launcher, 0, sizeof *out_launcher);
    out_launcher->ranks = 1;
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
        const struct dialect *dialect = order[k].dialect;
        if (!ask(&asking, dialect->rank) || !ask(&asking, dialect->ranks) ||
            (dialect->sign && !ask(&asking, dialect->sign)) ||
            (order[k].is_innermost && !order[k].is_innermost(&asking)))
            continue;
        const enum ronde_status status = read_set(&asking, dialect, &found, error);
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
        ronde_pmi_leave(launcher->pmi);
        close(launcher->pmi);
    }
    memset(launcher, 0, sizeof *launcher);
}
