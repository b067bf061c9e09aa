/*
 * What every backend checks of a launch alike, and the run-once convenience. See ronde/backend.h.
 */
#include "engine/execute/loaded.h"

#include "ronde/split.h"

/* Depth that hides the latency of credits; more than this never measured faster. */
#define DEFAULT_DEPTH 8u

/* The longest chunk of any channel decides; the shorter ones send empty pieces at the end. */
static uint64_t pieces_for(uint64_t pieces, uint64_t elements, uint64_t piece_elements)
{
    const uint64_t needed = elements / piece_elements + (elements % piece_elements != 0);
    return needed > pieces ? needed : pieces;
}

uint64_t ronde_piece_count(const struct ronde_schedule *schedule, uint64_t count,
                           uint32_t dtype_bytes, uint64_t slot_bytes)
{
    const uint64_t piece_elements = ronde_piece_bytes(schedule, slot_bytes) / dtype_bytes;
    uint64_t pieces = 1;
    /* A barrier has no blocks to cut, whatever the count. */
    if (ronde_schedule_blocks(schedule, true) == 0)
        return pieces;
    for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
        const struct ronde_slice slice = ronde_slice_of(schedule, channel, count, dtype_bytes);
        pieces = pieces_for(pieces, ronde_slice_chunk_max(&slice), piece_elements);
    }
    return pieces;
}

uint64_t ronde_piece_count_v(const struct ronde_schedule *schedule, uint64_t count,
                             uint32_t dtype_bytes, uint64_t slot_bytes)
{
    const uint64_t piece_elements = ronde_piece_bytes(schedule, slot_bytes) / dtype_bytes;
    uint64_t pieces = 1;
    for (uint32_t channel = 0; channel < schedule->channel_count; channel++)
        pieces = pieces_for(pieces, ronde_chunk_most(schedule, channel, count, dtype_bytes),
                            piece_elements);
    return pieces;
}

uint32_t ronde_launch_depth(const struct ronde_schedule *schedule, const struct ronde_launch *launch)
{
    if (launch->depth > 0)
        return launch->depth;
    const uint32_t least = schedule->proof.min_depth;
    return least > DEFAULT_DEPTH ? least : DEFAULT_DEPTH;
}

/* Enumerators come from outside and index tables further down. */
static enum ronde_status check_kind(const struct ronde_schedule *schedule,
                                    const struct ronde_launch *launch, struct ronde_error *error)
{
    if ((unsigned)launch->protocol >= RONDE_PROTOCOL_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: protocol %u, there are %u",
                          (unsigned)launch->protocol, (unsigned)RONDE_PROTOCOL_COUNT);
    if ((unsigned)launch->level >= RONDE_LEVEL_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: level %u, there are %u",
                          (unsigned)launch->level, (unsigned)RONDE_LEVEL_COUNT);
    if (!ronde_level_is_here(launch->level))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "launch: level %s, this build and processor go up to %s",
                          ronde_level_text(launch->level), ronde_level_text(ronde_level_widest()));
    if ((unsigned)launch->dtype >= RONDE_DTYPE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: dtype %u, there are %u",
                          (unsigned)launch->dtype, (unsigned)RONDE_DTYPE_COUNT);
    const bool reduces = ronde_collective_traits(schedule->collective)->reduces;
    if (reduces && (unsigned)launch->op >= RONDE_OP_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: op %u, there are %u",
                          (unsigned)launch->op, (unsigned)RONDE_OP_COUNT);
    if (schedule->is_unscaled && (launch->op == RONDE_AVG || launch->op == RONDE_PREMUL_SUM))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "launch: op %s, %s %s does not say which operands are to be scaled",
                          ronde_op_text(launch->op), ronde_collective_text(schedule->collective),
                          schedule->algorithm);
    if (!reduces && (launch->op == RONDE_AVG || launch->op == RONDE_PREMUL_SUM))
        return ronde_fail(error, RONDE_UNSUPPORTED, "launch: op %s, %s reduces nothing",
                          ronde_op_text(launch->op), ronde_collective_text(schedule->collective));
    const char *refusal = reduces ? ronde_op_refusal(launch->op, launch->dtype) : NULL;
    if (refusal)
        return ronde_fail(error, RONDE_UNSUPPORTED, "launch: op %s, dtype %s: %s",
                          ronde_op_text(launch->op), ronde_dtype_text(launch->dtype), refusal);
    if (reduces && launch->op == RONDE_PREMUL_SUM && !launch->factors)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: factors is NULL, premul_sum needs one per rank");
    return RONDE_OK;
}

/* Numbers that would deadlock, divide by zero or overflow later. */
static enum ronde_status check_sizes(const struct ronde_schedule *schedule,
                                     const struct ronde_launch *launch, struct ronde_error *error)
{
    if (launch->slot_bytes > 0 && launch->slot_bytes < RONDE_GRAIN_BYTES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: slot_bytes %llu, at least %u",
                          (unsigned long long)launch->slot_bytes, RONDE_GRAIN_BYTES);
    if (launch->depth > 0 && launch->depth < schedule->proof.min_depth)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: depth %u, this schedule needs at least %u", launch->depth,
                          schedule->proof.min_depth);
    const uint32_t most = ronde_collective_most_blocks(schedule->collective, schedule->ranks);
    const uint64_t block_bytes_max = (uint64_t)INT64_MAX / (most > 0 ? most : 1);
    if (launch->count > block_bytes_max / ronde_dtype_bytes(launch->dtype))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: count %llu, a buffer would exceed the address space",
                          (unsigned long long)launch->count);
    return RONDE_OK;
}

/* One of a collective's two buffers, as a launch describes it. */
struct side {
    const char *name;
    void *const *buffers;
    const struct ronde_blocks *blocks; /* per rank, or NULL */
    uint32_t block_count;
    bool at_root; /* only the root has it */
};

static struct side side_of(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                           bool is_input)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const uint32_t blocks = ronde_schedule_blocks(schedule, is_input);
    if (is_input)
        return (struct side){"in", launch->in, launch->in_blocks, blocks, traits->in_at_root};
    return (struct side){"out", launch->out, launch->out_blocks, blocks, traits->out_at_root};
}

/* Elements of a block of a rank. */
static uint64_t count_of(const struct side *side, const struct ronde_launch *launch, uint32_t rank,
                         uint32_t block)
{
    const uint64_t *counts = side->blocks ? side->blocks[rank].counts : NULL;
    return counts ? counts[block] : launch->count;
}

struct ronde_stretch ronde_launch_block(const struct ronde_schedule *schedule,
                                        const struct ronde_launch *launch, uint32_t rank,
                                        bool is_input, uint32_t block)
{
    const struct side side = side_of(schedule, launch, is_input);
    const struct ronde_blocks *blocks = side.blocks ? &side.blocks[rank] : NULL;
    const uint32_t element_bytes = ronde_dtype_bytes(launch->dtype);
    struct ronde_stretch stretch = {NULL, 0};
    if (side.at_root && rank != schedule->root)
        return stretch;
    if (blocks && blocks->pointers)
        stretch.start = blocks->pointers[block];
    else if (side.buffers && side.buffers[rank])
        stretch.start =
            (unsigned char *)side.buffers[rank] +
            (blocks && blocks->offsets ? blocks->offsets[block] : block * launch->count) *
                element_bytes;
    if (stretch.start)
        stretch.bytes = count_of(&side, launch, rank, block) * element_bytes;
    return stretch;
}

/* A table of blocks: where each is, and that it is no longer than the launch says. *out_varies: some is shorter. */
static enum ronde_status check_table(const struct side *side, const struct ronde_launch *launch,
                                     uint32_t rank, bool *out_varies, struct ronde_error *error)
{
    const struct ronde_blocks *blocks = &side->blocks[rank];
    for (uint32_t b = 0; b < side->block_count; b++) {
        const uint64_t count = count_of(side, launch, rank, b);
        if (count > launch->count)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "launch: block %u of %s of rank %u has %llu elements, count is %llu",
                              b, side->name, rank, (unsigned long long)count,
                              (unsigned long long)launch->count);
        if (count > 0 && blocks->pointers && !blocks->pointers[b])
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "launch: block %u of %s of rank %u is NULL and has %llu elements", b,
                              side->name, rank, (unsigned long long)count);
        *out_varies |= count != launch->count;
    }
    if (blocks->counts && !blocks->offsets && !blocks->pointers)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: blocks of %s of rank %u have counts, but neither offsets nor "
                          "pointers",
                          side->name, rank);
    return RONDE_OK;
}

/* A buffer of a rank, if it has one: memory, or a table that says where each block is. */
static enum ronde_status check_side(const struct ronde_schedule *schedule, bool is_input,
                                    const struct ronde_launch *launch, uint32_t rank,
                                    bool *out_varies, struct ronde_error *error)
{
    const struct side side = side_of(schedule, launch, is_input);
    const bool has_pointers = side.blocks && side.blocks[rank].pointers;
    if (side.at_root && rank != schedule->root)
        return RONDE_OK;
    if (!has_pointers && (!side.buffers || !side.buffers[rank]))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: %s of rank %u is NULL, %s needs it",
                          side.name, rank, ronde_collective_text(schedule->collective));
    return side.blocks ? check_table(&side, launch, rank, out_varies, error) : RONDE_OK;
}

/* An output block and the input block that goes into it, each by the table of the rank that owns it. */
struct pair {
    uint32_t to_rank;
    uint32_t to_block;
    uint32_t from_rank;
    uint32_t from_block;
};

static enum ronde_status check_pair(const struct ronde_schedule *schedule,
                                    const struct ronde_launch *launch, struct pair pair,
                                    struct ronde_error *error)
{
    const struct side in = side_of(schedule, launch, true);
    const struct side out = side_of(schedule, launch, false);
    const uint64_t from = count_of(&in, launch, pair.from_rank, pair.from_block);
    const uint64_t to = count_of(&out, launch, pair.to_rank, pair.to_block);
    if (from == to)
        return RONDE_OK;
    return ronde_fail(
        error, RONDE_BAD_ARGUMENT,
        "launch: block %u of in of rank %u has %llu elements, block %u of out of rank "
        "%u has %llu",
        pair.from_block, pair.from_rank, (unsigned long long)from, pair.to_block, pair.to_rank,
        (unsigned long long)to);
}

/* Every input block is as long as every output block it goes into. */
static enum ronde_status check_lengths(const struct ronde_schedule *schedule,
                                       const struct ronde_launch *launch, struct ronde_error *error)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const struct side out = side_of(schedule, launch, false);
    enum ronde_status status = RONDE_OK;
    for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
        if (out.at_root && rank != schedule->root)
            continue;
        for (uint32_t from = 0; from < schedule->ranks && status == RONDE_OK; from++) {
            const bool is_source = schedule->collective == RONDE_SEND_RECV
                                       ? ronde_schedule_source(schedule, rank) == from
                                       : !traits->in_at_root || from == schedule->root;
            const struct pair pair = {rank, traits->out_per_rank ? from : 0, from,
                                      traits->in_per_rank ? rank : 0};
            if (is_source)
                status = check_pair(schedule, launch, pair, error);
        }
    }
    return status;
}

/* Where the buffers of a rank are as in place: the smaller one is its own block of the larger. */
static bool is_in_place(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                        uint32_t rank)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const uint64_t own = rank * launch->count * ronde_dtype_bytes(launch->dtype);
    const bool is_one_size = traits->in_per_rank == traits->out_per_rank;
    return (uintptr_t)launch->in[rank] + (!is_one_size && traits->in_per_rank ? own : 0) ==
           (uintptr_t)launch->out[rank] + (!is_one_size && traits->out_per_rank ? own : 0);
}

/* How the two buffers of a rank must lie for a schedule that does not leave it open. */
static enum ronde_status check_sharing(const struct ronde_schedule *schedule,
                                       const struct ronde_launch *launch, uint32_t rank,
                                       struct ronde_error *error)
{
    const bool may[2] = {ronde_schedule_has_form(schedule, false),
                         ronde_schedule_has_form(schedule, true)};
    const bool has_tables = launch->in_blocks || launch->out_blocks;
    /* Ranks other than the root use one of their buffers. */
    const bool is_other =
        ronde_collective_traits(schedule->collective)->has_root && rank != schedule->root;
    if (has_tables && !may[0])
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "launch: blocks by table, %s %s runs in place only",
                          ronde_collective_text(schedule->collective), schedule->algorithm);
    if ((may[0] && may[1]) || has_tables || is_other || !launch->in || !launch->out ||
        !launch->in[rank] || !launch->out[rank] || may[is_in_place(schedule, launch, rank)])
        return RONDE_OK;
    if (may[1])
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: in and out of rank %u are not the same memory, %s %s runs in "
                          "place only",
                          rank, ronde_collective_text(schedule->collective), schedule->algorithm);
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "launch: in and out of rank %u are the same memory, %s cannot run in place",
                      rank, ronde_collective_text(schedule->collective));
}

/* Ranks whose buffers are looked at. */
struct members {
    uint32_t first;
    uint32_t end;
};

/* All inputs, then all outputs. *out_varies: some block is shorter than the launch says. */
static enum ronde_status check_buffers(const struct ronde_schedule *schedule,
                                       const struct ronde_launch *launch, struct members members,
                                       bool *out_varies, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (int is_output = 0; is_output < 2; is_output++)
        for (uint32_t rank = members.first; rank < members.end && status == RONDE_OK; rank++)
            status = check_side(schedule, is_output == 0, launch, rank, out_varies, error);
    for (uint32_t rank = members.first; rank < members.end && status == RONDE_OK; rank++)
        status = check_sharing(schedule, launch, rank, error);
    return status;
}

/* Blocks of different lengths need a schedule that leaves blocks where they belong. */
static enum ronde_status check_v_form(const struct ronde_schedule *schedule,
                                      struct ronde_error *error)
{
    if (schedule->v_form != RONDE_V_NONE)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "launch: blocks differ in length, and %s %s puts blocks where others belong",
                      ronde_collective_text(schedule->collective), schedule->algorithm);
}

/* Everything but whether the blocks of different ranks fit together. */
static enum ronde_status check_members(const struct ronde_schedule *schedule,
                                       const struct ronde_launch *launch, struct members members,
                                       bool *out_varies, struct ronde_error *error)
{
    const bool has_data = ronde_schedule_blocks(schedule, true) > 0;
    enum ronde_status status = check_kind(schedule, launch, error);
    *out_varies = false;
    RONDE_THEN(status, check_sizes(schedule, launch, error));
    if (status == RONDE_OK && has_data && launch->count > 0)
        status = check_buffers(schedule, launch, members, out_varies, error);
    return status == RONDE_OK && *out_varies ? check_v_form(schedule, error) : status;
}

enum ronde_status ronde_launch_check(const struct ronde_schedule *schedule,
                                     const struct ronde_launch *launch, struct ronde_error *error)
{
    const struct members all = {0, schedule->ranks};
    bool varies;
    const enum ronde_status status = check_members(schedule, launch, all, &varies, error);
    return status == RONDE_OK && varies ? check_lengths(schedule, launch, error) : status;
}

enum ronde_status ronde_launch_check_rank(const struct ronde_schedule *schedule,
                                          const struct ronde_launch *launch, uint32_t rank,
                                          struct ronde_error *error)
{
    const struct members one = {rank, rank + 1};
    bool varies;
    return check_members(schedule, launch, one, &varies, error);
}

enum ronde_status ronde_backend_run_once(const struct ronde_backend *backend, void *self,
                                         const struct ronde_schedule *schedule,
                                         const struct ronde_launch *launch,
                                         struct ronde_result *out_result, struct ronde_error *error)
{
    void *program;
    RONDE_TRY(backend->load(self, schedule, &program, error));
    void *run;
    enum ronde_status status = backend->run(program, launch, &run, error);
    RONDE_THEN(status, backend->wait(run, out_result, error));
    backend->unload(program);
    return status;
}

const char *ronde_protocol_text(enum ronde_protocol protocol)
{
    static const char *const texts[] = {RONDE_PROTOCOL_LIST(RONDE_LIST_TEXT)};
    return (unsigned)protocol < RONDE_PROTOCOL_COUNT ? texts[protocol] : "?";
}
