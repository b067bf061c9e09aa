/* The collectives with blocks of different lengths. See ronde/ronde.h. */
#include "ronde/ronde.h"

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

enum ronde_status ronde_all_gather_v(struct ronde_comm *comm, const void *in, void *out,
                                     const uint64_t *counts, const uint64_t *offsets,
                                     enum ronde_dtype dtype, void *stream,
                                     struct ronde_request **out_request, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm);
    const struct ronde_blocks in_blocks = {counts ? &counts[rank] : NULL, &at_start, NULL};
    const struct ronde_blocks out_blocks = {counts, offsets, NULL};
    const struct ronde_call call = {.collective = RONDE_ALL_GATHER,
                                    .in = in,
                                    .out = out,
                                    .count = longest_of(comm, counts),
                                    .dtype = dtype,
                                    .is_v = true,
                                    .in_blocks = &in_blocks,
                                    .out_blocks = &out_blocks,
                                    .stream = stream};
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
    const struct ronde_call call = {.collective = RONDE_REDUCE_SCATTER,
                                    .in = in,
                                    .out = out,
                                    .count = longest_of(comm, counts),
                                    .dtype = dtype,
                                    .op = op,
                                    .is_v = true,
                                    .in_blocks = &in_blocks,
                                    .out_blocks = &out_blocks,
                                    .stream = stream};
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
    const struct ronde_call call = {.collective = RONDE_ALL_TO_ALL,
                                    .in = in,
                                    .out = out,
                                    .count = max_count,
                                    .dtype = dtype,
                                    .is_v = true,
                                    .in_blocks = &in_blocks,
                                    .out_blocks = &out_blocks,
                                    .stream = stream};
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
    const struct ronde_call call = {.collective = RONDE_GATHER,
                                    .in = in,
                                    .out = out,
                                    .count = max_count,
                                    .dtype = dtype,
                                    .root = root,
                                    .is_v = true,
                                    .in_blocks = &in_blocks,
                                    .out_blocks = &out_blocks,
                                    .stream = stream};
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
    const struct ronde_call call = {.collective = RONDE_SCATTER,
                                    .in = in,
                                    .out = out,
                                    .count = max_count,
                                    .dtype = dtype,
                                    .root = root,
                                    .is_v = true,
                                    .in_blocks = &in_blocks,
                                    .out_blocks = &out_blocks,
                                    .stream = stream};
    return ronde_start(comm, &call, out_request, error);
}
