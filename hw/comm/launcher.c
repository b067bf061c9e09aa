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
    const char *sign;     /* one more that must be there, or NULL */
    const char *host;     /* maybe: where rank 0 is */
    const char *port;     /* maybe: there */
    const char *token;    /* maybe: the job */
    uint16_t port_offset; /* the launcher itself sits at its port */
};

/*
 * In this order, the first complete set counts. SLURM_* alone says nothing: it is there inside `salloc` too, where the
 * ranks are another launcher's; a step has SLURM_STEP_ID.
 */
static const struct dialect dialects[] = {
    {"ronde", "RONDE_RANK", "RONDE_RANKS", NULL, "RONDE_HOST", "RONDE_PORT", "RONDE_TOKEN", 0},
    {"torchrun", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_ADDR", "MASTER_PORT",
     "TORCHELASTIC_RUN_ID", 1},
    {"open mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL, NULL, "PMIX_NAMESPACE",
     0},
    {"pmi", "PMI_RANK", "PMI_SIZE", NULL, NULL, NULL, "PMI_JOBID", 0},
    {"mvapich", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL, NULL, NULL, NULL, 0},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID", NULL, NULL, "SLURM_JOB_ID", 0},
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

/* Where the ranks meet, as far as the launcher says it. */
static enum ronde_status read_address(const struct asking *asking, const struct dialect *dialect,
                                      struct ronde_launcher *out, struct ronde_error *error)
{
    const char *host = ask(asking, dialect->host);
    const char *token = ask(asking, dialect->token);
    uint32_t port = 0;
    if (host && ask(asking, dialect->port)) {
        const enum ronde_status status =
            ask_number(asking, dialect, dialect->port, UINT16_MAX - 1u, &port, error);
        if (status != RONDE_OK)
            return status;
        if (strlen(host) >= sizeof out->host)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s is longer than %zu characters",
                              dialect->name, dialect->host, sizeof out->host - 1);
        snprintf(out->host, sizeof out->host, "%s", host);
        out->port = (uint16_t)(port + dialect->port_offset);
    }
    if (token && strlen(token) >= sizeof out->token)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s is longer than %zu characters",
                          dialect->name, dialect->token, sizeof out->token - 1);
    snprintf(out->token, sizeof out->token, "%s", token ? token : "");
    return RONDE_OK;
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
