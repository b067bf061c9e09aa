/* The table of executors. See ronde/hw.h. */
#include "ronde/hw.h"

#include "ronde/comm.h"

#include <stdio.h>
#include <string.h>

static const struct ronde_backend *const backends[] = {&ronde_backend_host, &ronde_backend_cpu,
                                                       &ronde_backend_cuda};

#define BACKEND_COUNT ((uint32_t)(sizeof backends / sizeof backends[0]))

const struct ronde_backend *const *ronde_backends(uint32_t *out_count)
{
    *out_count = BACKEND_COUNT;
    return backends;
}

const struct ronde_backend *ronde_backend_find(const char *name, struct ronde_error *error)
{
    char names[RONDE_ERROR_MESSAGE_BYTES / 2] = "";
    for (uint32_t b = 0; b < BACKEND_COUNT; b++) {
        if (strcmp(backends[b]->name, name) == 0)
            return backends[b];
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", backends[b]->name);
    }
    (void)ronde_fail(error, RONDE_BAD_ARGUMENT,
                     "no backend \"%.64s\", there are: %s; and %s and %s, whose ranks are "
                     "processes (ronde/comm.h)",
                     name, names, ronde_transport_text(RONDE_TRANSPORT_PROC),
                     ronde_transport_text(RONDE_TRANSPORT_UCX));
    return NULL;
}
