/* The collectives with blocks of one length. See ronde/ronde.h. */
#include "ronde/ronde.h"

enum ronde_status ronde_broadcast(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                                  enum ronde_dtype dtype, uint32_t root, void *stream,
                                  struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_BROADCAST,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .root = root,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_scatter(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                                enum ronde_dtype dtype, uint32_t root, void *stream,
                                struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_SCATTER,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .root = root,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_gather(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                               enum ronde_dtype dtype, uint32_t root, void *stream,
                               struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_GATHER,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .root = root,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_all_gather(struct ronde_comm *comm, const void *in, void *out,
                                   uint64_t count, enum ronde_dtype dtype, void *stream,
                                   struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_ALL_GATHER,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_reduce(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                               enum ronde_dtype dtype, enum ronde_op op, uint32_t root, void *stream,
                               struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_REDUCE,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .op = op,
                                    .root = root,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_all_reduce(struct ronde_comm *comm, const void *in, void *out,
                                   uint64_t count, enum ronde_dtype dtype, enum ronde_op op,
                                   void *stream, struct ronde_request **out_request,
                                   struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_ALL_REDUCE,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .op = op,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_reduce_scatter(struct ronde_comm *comm, const void *in, void *out,
                                       uint64_t count, enum ronde_dtype dtype, enum ronde_op op,
                                       void *stream, struct ronde_request **out_request,
                                       struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_REDUCE_SCATTER,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .op = op,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_all_to_all(struct ronde_comm *comm, const void *in, void *out,
                                   uint64_t count, enum ronde_dtype dtype, void *stream,
                                   struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_ALL_TO_ALL,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_barrier(struct ronde_comm *comm, void *stream,
                                struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_BARRIER, .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_send_recv(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                                  enum ronde_dtype dtype, const uint32_t *source_of, void *stream,
                                  struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_SEND_RECV,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .source_of = source_of,
                                    .shift = 1,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_shift(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                              enum ronde_dtype dtype, uint32_t distance, void *stream,
                              struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = RONDE_SEND_RECV,
                                    .in = in,
                                    .out = out,
                                    .count = count,
                                    .dtype = dtype,
                                    .shift = distance,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}
