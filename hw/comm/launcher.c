/* Which rank of which launcher this process is. See ronde/comm.h; docs/processes.md has the table. */
#include "ronde/comm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
};

/*
 * In this order, the first complete set counts. SLURM_* alone says nothing: it is there inside `salloc` too, where the
 * ranks are another launcher's; a step has SLURM_STEP_ID.
 */
static const struct dialect dialects[] = {
    {.name = "ronde",
     .rank = "RONDE_RANK",
     .ranks = "RONDE_RANKS",
     .host = "RONDE_HOST",
     .port = "RONDE_PORT",
     .token = "RONDE_TOKEN"},
    {.name = "torchrun",
     .rank = "RANK",
     .ranks = "WORLD_SIZE",
     .sign = "MASTER_ADDR",
     .host = "MASTER_ADDR",
     .port = "MASTER_PORT",
     .token = "TORCHELASTIC_RUN_ID",
     .port_offset = 1},
    {.name = "open mpi",
     .rank = "OMPI_COMM_WORLD_RANK",
     .ranks = "OMPI_COMM_WORLD_SIZE",
     .token = "PMIX_NAMESPACE"},
    {.name = "pmi", .rank = "PMI_RANK", .ranks = "PMI_SIZE", .token = "PMI_JOBID"},
    {.name = "mvapich", .rank = "MV2_COMM_WORLD_RANK", .ranks = "MV2_COMM_WORLD_SIZE"},
    {.name = "slurm",
     .rank = "SLURM_PROCID",
     .ranks = "SLURM_NTASKS",
     .sign = "SLURM_STEP_ID",
     .token = "SLURM_JOB_ID",
     .part = "SLURM_STEP_ID",
     .hosts = "SLURM_STEP_NODELIST",
     .hosts_count = "SLURM_STEP_NUM_NODES"},
};

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

static enum ronde_status read_set(const struct asking *asking, const struct dialect *dialect,
                                  struct ronde_launcher *out, struct ronde_error *error)
{
    out->name = dialect->name;
    enum ronde_status status =
        ask_number(asking, dialect, dialect->rank, RONDE_MAX_RANKS, &out->rank, error);
    if (status == RONDE_OK)
        status = ask_number(asking, dialect, dialect->ranks, RONDE_MAX_RANKS, &out->ranks, error);
    if (status == RONDE_OK && out->rank >= out->ranks)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s=%u, but %s=%u", dialect->name,
                            dialect->rank, out->rank, dialect->ranks, out->ranks);
    return status == RONDE_OK ? read_address(asking, dialect, out, error) : status;
}

enum ronde_status ronde_launcher_find(ronde_lookup lookup, void *self,
                                      struct ronde_launcher *out_launcher, struct ronde_error *error)
{
    const struct asking asking = {lookup ? lookup : ask_environment, self};
    struct ronde_launcher found;
    memset(&found, 0, sizeof found);
    memset(out_launcher, 0, sizeof *out_launcher);
    out_launcher->ranks = 1;
    for (size_t d = 0; d < sizeof dialects / sizeof dialects[0]; d++) {
        const struct dialect *dialect = &dialects[d];
        if (!ask(&asking, dialect->rank) || !ask(&asking, dialect->ranks) ||
            (dialect->sign && !ask(&asking, dialect->sign)))
            continue;
        const enum ronde_status status = read_set(&asking, dialect, &found, error);
        if (status == RONDE_OK)
            *out_launcher = found;
        return status;
    }
    return RONDE_OK;
}
