/* Kinds of calls. See kind.h. */
#include "api/kind.h"

#include <string.h>

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
