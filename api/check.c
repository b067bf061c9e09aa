/* What is refused before an operation begins. See cache.h. */
#include "cache.h"

#include "ronde/ronde.h"

#include <stdlib.h>
#include <string.h>

/* Where the blocks of a call's two buffers lie on this rank, and what is refused of that. */

/** One of a call's two buffers on this rank. */
struct ronde_side {
    const char *name; /**< "in", "out" */
    const void *start;
    const struct ronde_blocks *blocks; /**< NULL: blocks of the call's count, one after another */
    uint64_t block_count;              /**< 0: this rank has none */
};

/* Kinds of calls. */

/* Where the parts of `what` begin. */
enum { CLASS_BIT = 0, COLLECTIVE_BIT = 8, V_BIT = 16, TABLE_BIT = 17, NUMBER_BIT = 32 };

static uint64_t part(const struct ronde_kind *kind, unsigned bit, uint64_t mask)
{
    return kind->what >> bit & mask;
}

enum ronde_collective ronde_kind_collective(const struct ronde_kind *kind)
{
    return (enum ronde_collective)part(kind, COLLECTIVE_BIT, 0xff);
}

uint32_t ronde_kind_root(const struct ronde_kind *kind)
{
    const bool has_root = ronde_collective_traits(ronde_kind_collective(kind))->has_root;
    return has_root ? (uint32_t)part(kind, NUMBER_BIT, UINT32_MAX) : 0;
}

uint32_t ronde_kind_shift(const struct ronde_kind *kind)
{
    return (uint32_t)part(kind, NUMBER_BIT, UINT32_MAX);
}

bool ronde_kind_is_v(const struct ronde_kind *kind)
{
    return part(kind, V_BIT, 1) != 0;
}

/* Class k > 0 holds 2^(k-1) .. 2^k - 1 bytes. */
uint64_t ronde_kind_bytes(const struct ronde_kind *kind)
{
    const unsigned class = (unsigned)part(kind, CLASS_BIT, 0xff);
    const uint64_t first = class > 0 ? UINT64_C(1) << (class - 1) : 0;
    return first + first / 2;
}

static unsigned class_of(uint64_t bytes)
{
    return bytes > 0 ? 64u - (unsigned)__builtin_clzll(bytes) : 0;
}

struct ronde_kind ronde_kind_of(const struct ronde_call *call, uint64_t count)
{
    const bool is_barrier = call->collective == RONDE_BARRIER;
    const uint64_t bytes = is_barrier ? 0 : count * ronde_dtype_bytes(call->dtype);
    const bool is_pairs = call->collective == RONDE_SEND_RECV;
    struct ronde_kind kind = {(uint64_t)class_of(bytes) << CLASS_BIT, NULL};
    kind.what |= (uint64_t)call->collective << COLLECTIVE_BIT;
    kind.what |= (uint64_t)call->is_v << V_BIT;
    if (is_pairs && call->source_of) {
        kind.what |= UINT64_C(1) << TABLE_BIT;
        kind.source_of = call->source_of;
    } else if (is_pairs) {
        kind.what |= (uint64_t)call->shift << NUMBER_BIT;
    } else if (ronde_collective_traits(call->collective)->has_root) {
        kind.what |= (uint64_t)call->root << NUMBER_BIT;
    }
    return kind;
}

bool ronde_kind_is_same(const struct ronde_kind *a, const struct ronde_kind *b, uint32_t ranks)
{
    return a->what == b->what &&
           (!a->source_of || memcmp(a->source_of, b->source_of, ranks * sizeof *a->source_of) == 0);
}

/* FNV-1a over the entries. */
uint64_t ronde_kind_digest(const struct ronde_kind *kind, uint32_t ranks)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    if (!kind->source_of)
        return 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        digest = (digest ^ kind->source_of[rank]) * UINT64_C(0x100000001b3);
    return digest;
}

/* Blocks that tables describe: where they end, and which of them overlap. */

/* So many blocks need no memory of the allocator's. */
#define FEW_BLOCKS 64u

/* A block that is not empty. */
struct extent {
    uintptr_t start;
    uintptr_t end;
    uint64_t block;
    bool is_out;     /* of the output, else of the input */
    bool is_written; /* of the output, or of an input that the collective destroys */
};

/* What one call's blocks become. */
struct extents {
    struct extent *items;
    uint64_t count;
    bool is_sorted;
};

static uint64_t count_of(const struct ronde_call *call, const struct ronde_side *side,
                         uint64_t block)
{
    return side->blocks && side->blocks->counts ? side->blocks->counts[block] : call->count;
}

/* The elements between the start of a buffer and a block. */
static uint64_t offset_of(const struct ronde_call *call, const struct ronde_side *side,
                          uint64_t block)
{
    if (side->blocks && side->blocks->pointers)
        return 0;
    return side->blocks && side->blocks->offsets ? side->blocks->offsets[block]
                                                 : block * call->count;
}

static enum ronde_status find_extent(const struct ronde_call *call, const struct ronde_side *side,
                                     uint64_t block, struct extent *out, struct ronde_error *error)
{
    const uint64_t element_bytes = ronde_dtype_bytes(call->dtype);
    const uint64_t most = (uint64_t)INT64_MAX / element_bytes;
    const uint64_t count = count_of(call, side, block);
    const uint64_t offset = offset_of(call, side, block);
    const void *start =
        side->blocks && side->blocks->pointers ? side->blocks->pointers[block] : side->start;
    if (count > 0 && !start)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: block %llu of %s is NULL",
                          ronde_collective_text(call->collective), (unsigned long long)block,
                          side->name);
    if (count > 0 && (count > most || offset > most - count ||
                      (offset + count) * element_bytes > UINTPTR_MAX - (uintptr_t)start))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: block %llu of %s, %llu elements at offset %llu, ends beyond the "
                          "address space",
                          ronde_collective_text(call->collective), (unsigned long long)block,
                          side->name, (unsigned long long)count, (unsigned long long)offset);
    *out = (struct extent){.block = block};
    if (count == 0)
        return RONDE_OK;
    out->start = (uintptr_t)start + (uintptr_t)(offset * element_bytes);
    out->end = out->start + (uintptr_t)(count * element_bytes);
    return RONDE_OK;
}

static void add(struct extents *extents, const struct extent *extent)
{
    if (extent->start == extent->end)
        return;
    if (extents->count > 0 && extents->items[extents->count - 1].start > extent->start)
        extents->is_sorted = false;
    extents->items[extents->count++] = *extent;
}

/* The rank's own blocks, which in place are one and the same. */
struct own {
    uint64_t in;
    bool is_in_place;
};

static enum ronde_status find_own(const struct ronde_call *call, const struct ronde_side *in,
                                  const struct ronde_side *out, uint32_t rank, struct own *own,
                                  struct ronde_error *error)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    struct extent input = {0};
    struct extent output = {0};
    *own = (struct own){traits->in_per_rank ? rank : 0, false};
    if (!traits->has_in_place || in->block_count == 0 || out->block_count == 0)
        return RONDE_OK;
    enum ronde_status status = find_extent(call, in, own->in, &input, error);
    RONDE_THEN(status, find_extent(call, out, traits->out_per_rank ? rank : 0, &output, error));
    own->is_in_place =
        input.end > input.start && input.start == output.start && input.end == output.end;
    return status;
}

static enum ronde_status collect(const struct ronde_call *call, const struct ronde_side *in,
                                 const struct ronde_side *out, uint32_t rank,
                                 struct extents *extents, struct ronde_error *error)
{
    struct own own;
    enum ronde_status status = find_own(call, in, out, rank, &own, error);
    for (uint64_t b = 0; b < out->block_count && status == RONDE_OK; b++) {
        struct extent extent = {0};
        status = find_extent(call, out, b, &extent, error);
        extent.is_out = true;
        extent.is_written = true;
        add(extents, &extent);
    }
    for (uint64_t b = 0; b < in->block_count && status == RONDE_OK; b++) {
        struct extent extent = {0};
        status = find_extent(call, in, b, &extent, error);
        /* In place partial results go where the input lies. */
        extent.is_written = own.is_in_place && ronde_collective_traits(call->collective)->reduces;
        if (!own.is_in_place || b != own.in)
            add(extents, &extent);
    }
    return status;
}

static int compare_starts(const void *left, const void *right)
{
    const struct extent *a = left;
    const struct extent *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static enum ronde_status refuse(const struct ronde_call *call, const struct extent *first,
                                const struct extent *second, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: block %llu of %s and block %llu of %s overlap",
                      ronde_collective_text(call->collective), (unsigned long long)first->block,
                      first->is_out ? "out" : "in", (unsigned long long)second->block,
                      second->is_out ? "out" : "in");
}

/* In the order of their starts each is compared with what reaches farthest before it, of all and of what is written. */
static enum ronde_status find_overlap(const struct ronde_call *call, const struct extents *extents,
                                      struct ronde_error *error)
{
    const struct extent *farthest = NULL;
    const struct extent *written = NULL;
    for (uint64_t k = 0; k < extents->count; k++) {
        const struct extent *at = &extents->items[k];
        const struct extent *before = at->is_written ? farthest : written;
        if (before && before->end > at->start)
            return refuse(call, before, at, error);
        if (!farthest || at->end > farthest->end)
            farthest = at;
        if (at->is_written && (!written || at->end > written->end))
            written = at;
    }
    return RONDE_OK;
}

/*
 * Refuses blocks of tables that end beyond the address space, and blocks that overlap where one of them is written, but for
 * the rank's own in place. Time: O(blocks) where they ascend, else that of sorting them. Errors: BAD_ARGUMENT naming the
 * blocks; NO_MEMORY.
 */
static enum ronde_status blocks_check(const struct ronde_call *call, const struct ronde_side *in,
                                      const struct ronde_side *out, uint32_t rank,
                                      const struct ronde_mem *mem, struct ronde_error *error)
{
    struct extent few[FEW_BLOCKS];
    const uint64_t most = in->block_count + out->block_count;
    struct extents extents = {few, 0, true};
    if (most > FEW_BLOCKS)
        extents.items = ronde_mem_new(mem, (size_t)most, sizeof *extents.items);
    if (!extents.items)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to check %llu blocks",
                          (unsigned long long)most);
    enum ronde_status status = collect(call, in, out, rank, &extents, error);
    if (status == RONDE_OK && !extents.is_sorted)
        qsort(extents.items, (size_t)extents.count, sizeof *extents.items, compare_starts);
    RONDE_THEN(status, find_overlap(call, &extents, error));
    if (extents.items != few)
        ronde_mem_free(mem, extents.items, (size_t)most, sizeof *extents.items);
    return status;
}

static struct ronde_side side_of(const struct ronde_call *call, bool is_input, uint32_t rank,
                                 uint32_t ranks)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const bool is_absent =
        (is_input ? traits->in_at_root : traits->out_at_root) && rank != call->root;
    if (is_input)
        return (struct ronde_side){"in", call->in, call->in_blocks,
                                   is_absent ? 0
                                             : ronde_collective_in_blocks(call->collective, ranks)};
    return (struct ronde_side){"out", call->out, call->out_blocks,
                               is_absent ? 0 : ronde_collective_out_blocks(call->collective, ranks)};
}

static enum ronde_status check_names(const struct ronde_call *call, uint32_t ranks,
                                     struct ronde_error *error)
{
    if ((unsigned)call->collective >= RONDE_COLLECTIVE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "collective %u, there are %u",
                          (unsigned)call->collective, (unsigned)RONDE_COLLECTIVE_COUNT);
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const char *name = ronde_collective_text(call->collective);
    if (call->collective == RONDE_BARRIER)
        return RONDE_OK;
    if ((unsigned)call->dtype >= RONDE_DTYPE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: dtype %u, there are %u", name,
                          (unsigned)call->dtype, (unsigned)RONDE_DTYPE_COUNT);
    if (traits->reduces && (unsigned)call->op >= RONDE_OP_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: op %u, there are %u", name,
                          (unsigned)call->op, (unsigned)RONDE_OP_COUNT);
    if (traits->reduces && call->op == RONDE_PREMUL_SUM && !call->factor)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: premul_sum needs a factor (ronde_start with call.factor)", name);
    if (traits->has_root && call->root >= ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: root %u, the communicator has %u ranks",
                          name, call->root, ranks);
    /* Both buffers of all ranks are then below the end of the address space. */
    if (call->count > (uint64_t)INT64_MAX / ranks / ronde_dtype_bytes(call->dtype))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: count %llu, a buffer would exceed the address space", name,
                          (unsigned long long)call->count);
    return RONDE_OK;
}

static enum ronde_status check_side(const struct ronde_call *call, const struct ronde_side *side,
                                    struct ronde_error *error)
{
    const char *name = ronde_collective_text(call->collective);
    const struct ronde_blocks *blocks = side->blocks;
    bool has_elements = call->count > 0;
    if (side->block_count == 0)
        return RONDE_OK;
    if (call->is_v && (!blocks || !blocks->counts))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: is_v, but %s has no table of counts",
                          name, side->name);
    if (blocks && blocks->counts && !call->is_v)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: %s has a table of counts, but is_v is not set", name, side->name);
    if (call->is_v) {
        has_elements = false;
        for (uint64_t b = 0; b < side->block_count; b++)
            has_elements |= blocks->counts[b] > 0;
    }
    if (has_elements && !side->start && !(blocks && blocks->pointers))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s is NULL", name, side->name);
    if (call->is_v && has_elements && !blocks->offsets && !blocks->pointers)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: %s has counts, but neither offsets nor pointers", name, side->name);
    return RONDE_OK;
}

/* In place is what NCCL means by it; buffers that overlap otherwise would be overwritten before they are read. */
static enum ronde_status check_overlap(const struct ronde_call *call, const struct ronde_side *in,
                                       const struct ronde_side *out, uint32_t rank,
                                       struct ronde_error *error)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const uint64_t block = call->count * ronde_dtype_bytes(call->dtype);
    const uintptr_t in_start = (uintptr_t)in->start;
    const uintptr_t out_start = (uintptr_t)out->start;
    if (in->block_count == 0 || out->block_count == 0 ||
        in_start >= out_start + out->block_count * block ||
        out_start >= in_start + in->block_count * block)
        return RONDE_OK;
    const uintptr_t own = rank * block;
    const bool is_in_place =
        in_start + (traits->in_per_rank ? own : 0) == out_start + (traits->out_per_rank ? own : 0);
    if (is_in_place && traits->has_in_place)
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: in and out overlap%s",
                      ronde_collective_text(call->collective),
                      traits->has_in_place ? ", and not as in place"
                                           : ", and it has no form in place");
}

enum ronde_status ronde_call_check(const struct ronde_call *call, uint32_t rank, uint32_t ranks,
                                   const struct ronde_mem *mem, struct ronde_error *error)
{
    if (!call)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the call is NULL");
    RONDE_TRY(check_names(call, ranks, error));
    if (call->collective == RONDE_BARRIER)
        return RONDE_OK;
    const struct ronde_side in = side_of(call, true, rank, ranks);
    const struct ronde_side out = side_of(call, false, rank, ranks);
    RONDE_TRY(check_side(call, &in, error));
    RONDE_TRY(check_side(call, &out, error));
    return in.blocks || out.blocks ? blocks_check(call, &in, &out, rank, mem, error)
                                   : check_overlap(call, &in, &out, rank, error);
}

uint64_t ronde_call_longest(const struct ronde_call *call, uint32_t rank, uint32_t ranks)
{
    uint64_t longest = 0;
    for (int is_input = 0; is_input < 2; is_input++) {
        const struct ronde_side side = side_of(call, is_input != 0, rank, ranks);
        for (uint64_t b = 0; b < side.block_count; b++)
            longest = side.blocks->counts[b] > longest ? side.blocks->counts[b] : longest;
    }
    return longest;
}
