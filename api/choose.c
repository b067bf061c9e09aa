/* Choosing an algorithm. See choose.h. */
#include "api/choose.h"

#include "ronde/select.h"

#include <stdio.h>

struct ronde_compile_request ronde_kind_request(const struct ronde_kind *kind, uint32_t ranks,
                                                uint32_t *sources)
{
    struct ronde_compile_request request = {.collective = ronde_kind_collective(kind),
                                            .ranks = ranks,
                                            .root = ronde_kind_root(kind)};
    const uint32_t shift = ronde_kind_shift(kind) % ranks;
    if (request.collective != RONDE_SEND_RECV)
        return request;
    request.source_of = kind->source_of;
    for (uint32_t rank = 0; !kind->source_of && rank < ranks; rank++)
        sources[rank] = (rank + ranks - shift) % ranks;
    if (!kind->source_of)
        request.source_of = sources;
    return request;
}

enum ronde_status ronde_choose(const struct ronde_comm *comm, const struct ronde_kind *kind,
                               const char *backend, const struct ronde_mem *mem,
                               char algorithm[RONDE_ALGORITHM_BYTES], struct ronde_error *error)
{
    const uint32_t ranks = ronde_comm_ranks(comm);
    struct ronde_selection selection;
    uint32_t *sources = ronde_mem_new(mem, ranks, sizeof *sources);
    if (!sources)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    const struct ronde_select_query query = {
        .request = ronde_kind_request(kind, ranks, sources),
        .count = ronde_kind_bytes(kind),
        .dtype = RONDE_UINT8,
        .needs_v_form = ronde_kind_is_v(kind),
        .backend = backend,
        .cores = ronde_comm_processors(comm),
        .is_one_host = ronde_comm_transport(comm) == RONDE_TRANSPORT_SHM,
    };
    const enum ronde_status status = ronde_select(&query, mem, &selection, error);
    if (status == RONDE_OK)
        snprintf(algorithm, RONDE_ALGORITHM_BYTES, "%s", selection.algorithm);
    ronde_mem_free(mem, sources, ranks, sizeof *sources);
    return status;
}
