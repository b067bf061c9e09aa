/* The collectives with blocks of one length. See ronde/ronde.h. */
#include "ronde/ronde.h"

/* What every collective is told. */
static struct ronde_call call_of(enum ronde_collective collective, const void *in, void *out,
                                 uint64_t count, enum ronde_dtype dtype, void *stream)
{
    return (struct ronde_call){.collective = collective,
                               .in = in,
                               .out = out,
                               .count = count,
                               .dtype = dtype,
                               .stream = stream};
}

enum ronde_status ronde_broadcast(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                                  enum ronde_dtype dtype, uint32_t root, void *stream,
                                  struct ronde_request **out_request, struct ronde_error *error)
{
    struct ronde_call call = call_of(RONDE_BROADCAST, in, out, count, dtype, stream);
    call.root = root;
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_scatter(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                                enum ronde_dtype dtype, uint32_t root, void *stream,
                                struct ronde_request **out_request, struct ronde_error *error)
{
    struct ronde_call call = call_of(RONDE_SCATTER, in, out, count, dtype, stream);
    call.root = root;
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_gather(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                               enum ronde_dtype dtype, uint32_t root, void *stream,
                               struct ronde_request **out_request, struct ronde_error *error)
{
    struct ronde_call call = call_of(RONDE_GATHER, in, out, count, dtype, stream);
    call.root = root;
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_all_gather(struct ronde_comm *comm, const void *in, void *out,
                                   uint64_t count, enum ronde_dtype dtype, void *stream,
                                   struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = call_of(RONDE_ALL_GATHER, in, out, count, dtype, stream);
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_reduce(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                               enum ronde_dtype dtype, enum ronde_op op, uint32_t root, void *stream,
                               struct ronde_request **out_request, struct ronde_error *error)
{
    struct ronde_call call = call_of(RONDE_REDUCE, in, out, count, dtype, stream);
    call.op = op;
    call.root = root;
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_all_reduce(struct ronde_comm *comm, const void *in, void *out,
                                   uint64_t count, enum ronde_dtype dtype, enum ronde_op op,
                                   void *stream, struct ronde_request **out_request,
                                   struct ronde_error *error)
{
    struct ronde_call call = call_of(RONDE_ALL_REDUCE, in, out, count, dtype, stream);
    call.op = op;
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_reduce_scatter(struct ronde_comm *comm, const void *in, void *out,
                                       uint64_t count, enum ronde_dtype dtype, enum ronde_op op,
                                       void *stream, struct ronde_request **out_request,
                                       struct ronde_error *error)
{
    struct ronde_call call = call_of(RONDE_REDUCE_SCATTER, in, out, count, dtype, stream);
    call.op = op;
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_all_to_all(struct ronde_comm *comm, const void *in, void *out,
                                   uint64_t count, enum ronde_dtype dtype, void *stream,
                                   struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = call_of(RONDE_ALL_TO_ALL, in, out, count, dtype, stream);
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
    struct ronde_call call = call_of(RONDE_SEND_RECV, in, out, count, dtype, stream);
    call.source_of = source_of;
    call.shift = 1;
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_shift(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                              enum ronde_dtype dtype, uint32_t distance, void *stream,
                              struct ronde_request **out_request, struct ronde_error *error)
{
    struct ronde_call call = call_of(RONDE_SEND_RECV, in, out, count, dtype, stream);
    call.shift = distance;
    return ronde_start(comm, &call, out_request, error);
}

/* The collectives with blocks of different lengths. */

/* A block that begins where its buffer does. */
static const uint64_t at_start = 0;

/* The longest of all blocks: what a rank that knows them all need not ask for. */
static uint64_t longest_of(const struct ronde_comm *comm, const uint64_t *counts)
{
    const uint32_t ranks = ronde_comm_ranks(comm);
    uint64_t longest = 0;
    for (uint32_t rank = 0; counts && rank < ranks; rank++)
        longest = counts[rank] > longest ? counts[rank] : longest;
    return longest;
}

static void set_blocks(struct ronde_call *call, const struct ronde_blocks *in,
                       const struct ronde_blocks *out)
{
    call->is_v = true;
    call->in_blocks = in;
    call->out_blocks = out;
}

enum ronde_status ronde_all_gather_v(struct ronde_comm *comm, const void *in, void *out,
                                     const uint64_t *counts, const uint64_t *offsets,
                                     enum ronde_dtype dtype, void *stream,
                                     struct ronde_request **out_request, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm);
    const struct ronde_blocks in_blocks = {counts ? &counts[rank] : NULL, &at_start, NULL};
    const struct ronde_blocks out_blocks = {counts, offsets, NULL};
    struct ronde_call call =
        call_of(RONDE_ALL_GATHER, in, out, longest_of(comm, counts), dtype, stream);
    set_blocks(&call, &in_blocks, &out_blocks);
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status
ronde_reduce_scatter_v(struct ronde_comm *comm, const void *in, void *out, const uint64_t *counts,
                       const uint64_t *offsets, enum ronde_dtype dtype, enum ronde_op op,
                       void *stream, struct ronde_request **out_request, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm);
    const struct ronde_blocks in_blocks = {counts, offsets, NULL};
    const struct ronde_blocks out_blocks = {counts ? &counts[rank] : NULL, &at_start, NULL};
    struct ronde_call call =
        call_of(RONDE_REDUCE_SCATTER, in, out, longest_of(comm, counts), dtype, stream);
    call.op = op;
    set_blocks(&call, &in_blocks, &out_blocks);
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status
ronde_all_to_all_v(struct ronde_comm *comm, const void *in, const uint64_t *in_counts,
                   const uint64_t *in_offsets, void *out, const uint64_t *out_counts,
                   const uint64_t *out_offsets, uint64_t max_count, enum ronde_dtype dtype,
                   void *stream, struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_blocks in_blocks = {in_counts, in_offsets, NULL};
    const struct ronde_blocks out_blocks = {out_counts, out_offsets, NULL};
    struct ronde_call call = call_of(RONDE_ALL_TO_ALL, in, out, max_count, dtype, stream);
    set_blocks(&call, &in_blocks, &out_blocks);
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_gather_v(struct ronde_comm *comm, const void *in, uint64_t in_count,
                                 void *out, const uint64_t *out_counts, const uint64_t *out_offsets,
                                 uint64_t max_count, enum ronde_dtype dtype, uint32_t root,
                                 void *stream, struct ronde_request **out_request,
                                 struct ronde_error *error)
{
    const struct ronde_blocks in_blocks = {&in_count, &at_start, NULL};
    const struct ronde_blocks out_blocks = {out_counts, out_offsets, NULL};
    struct ronde_call call = call_of(RONDE_GATHER, in, out, max_count, dtype, stream);
    call.root = root;
    set_blocks(&call, &in_blocks, &out_blocks);
    return ronde_start(comm, &call, out_request, error);
}

enum ronde_status ronde_scatter_v(struct ronde_comm *comm, const void *in,
                                  const uint64_t *in_counts, const uint64_t *in_offsets, void *out,
                                  uint64_t out_count, uint64_t max_count, enum ronde_dtype dtype,
                                  uint32_t root, void *stream, struct ronde_request **out_request,
                                  struct ronde_error *error)
{
    const struct ronde_blocks in_blocks = {in_counts, in_offsets, NULL};
    const struct ronde_blocks out_blocks = {&out_count, &at_start, NULL};
    struct ronde_call call = call_of(RONDE_SCATTER, in, out, max_count, dtype, stream);
    call.root = root;
    set_blocks(&call, &in_blocks, &out_blocks);
    return ronde_start(comm, &call, out_request, error);
}
