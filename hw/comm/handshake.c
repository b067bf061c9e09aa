/* Handshake records: what ranks publish before data moves. See comm_parts.h. */
#include "hw/comm/comm_parts.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct ronde_handshake) == 128, "a record fills a pair of cache lines");

/* Text of one record in a mismatch, bytes. */
#define SIDE_BYTES 200

void ronde_handshake_fill(struct ronde_handshake *handshake, const struct ronde_schedule *schedule)
{
    const bool has_root = ronde_collective_traits(schedule->collective)->has_root;
    memset(handshake, 0, sizeof *handshake);
    handshake->schedule = schedule->hash;
    handshake->collective = schedule->collective;
    handshake->root = has_root ? schedule->root : 0;
    handshake->ranks = schedule->ranks;
    snprintf(handshake->algorithm, sizeof handshake->algorithm, "%s", schedule->algorithm);
}

/* The words of a record; the first is the sequence number. */
#define HANDSHAKE_WORDS (sizeof(struct ronde_handshake) / sizeof(uint64_t))

_Static_assert(offsetof(struct ronde_handshake, sequence) == 0, "a record begins with its number");

uint64_t ronde_handshake_digest(const struct ronde_handshake *handshake)
{
    uint64_t words[HANDSHAKE_WORDS];
    uint64_t digest = 0;
    memcpy(words, handshake, sizeof words);
    for (size_t i = 1; i < HANDSHAKE_WORDS; i++) {
        digest = (digest ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 32;
    }
    return digest;
}

/*
 * A sequence lock: a reader that sees one of the new words also sees that the old number is gone, as every store is a
 * release. A word that does not change is not written: its cache line stays shared with its readers.
 */
void ronde_handshake_put(struct ronde_handshake *to, const struct ronde_handshake *handshake)
{
    uint64_t words[HANDSHAKE_WORDS];
    uint64_t *shown = &to->sequence;
    memcpy(words, handshake, sizeof words);
    __atomic_store_n(shown, 0, __ATOMIC_RELAXED);
    for (size_t i = 1; i < HANDSHAKE_WORDS; i++)
        if (__atomic_load_n(&shown[i], __ATOMIC_RELAXED) != words[i])
            __atomic_store_n(&shown[i], words[i], __ATOMIC_RELEASE);
    __atomic_store_n(shown, handshake->sequence, __ATOMIC_RELEASE);
}

/* The reader's side: every load is an acquire; the last one reads the number again. */
static uint64_t take(const struct ronde_handshake *from, struct ronde_handshake *out_handshake)
{
    uint64_t words[HANDSHAKE_WORDS];
    const uint64_t *shown = &from->sequence;
    for (size_t i = 0; i < HANDSHAKE_WORDS; i++)
        words[i] = __atomic_load_n(&shown[i], __ATOMIC_ACQUIRE);
    memcpy(out_handshake, words, sizeof words);
    return __atomic_load_n(shown, __ATOMIC_RELAXED);
}

bool ronde_handshake_is_same(const struct ronde_handshake *left, const struct ronde_handshake *right)
{
    const size_t first = sizeof left->sequence;
    const size_t end = offsetof(struct ronde_handshake, offers);
    return memcmp((const char *)left + first, (const char *)right + first, end - first) == 0;
}

static void describe(const struct ronde_handshake *handshake, char text[SIDE_BYTES])
{
    const bool reduces =
        ronde_collective_traits((enum ronde_collective)handshake->collective)->reduces;
    snprintf(text, SIDE_BYTES,
             "%s %.24s of %u ranks (root %u, count %llu, %s%s%s, slot %llu, depth %u, "
             "schedule %016llx)",
             ronde_collective_text((enum ronde_collective)handshake->collective),
             handshake->algorithm, handshake->ranks, handshake->root,
             (unsigned long long)handshake->count,
             ronde_dtype_text((enum ronde_dtype)handshake->dtype), reduces ? " " : "",
             reduces ? ronde_op_text((enum ronde_op)handshake->op) : "",
             (unsigned long long)handshake->slot_bytes, handshake->depth,
             (unsigned long long)handshake->schedule);
}

/* The first field in which two records differ, as text. */
static const char *difference(const struct ronde_handshake *left,
                              const struct ronde_handshake *right)
{
    if (left->collective != right->collective)
        return "collective";
    if (left->root != right->root)
        return "root";
    if (left->schedule != right->schedule)
        return "schedule";
    if (left->count != right->count)
        return "count";
    if (left->dtype != right->dtype)
        return "element type";
    if (left->op != right->op)
        return "operator";
    return left->slot_bytes != right->slot_bytes ? "slot" : "depth";
}

enum ronde_status
ronde_handshake_refuse(uint32_t rank, const struct ronde_handshake *handshake, uint32_t other,
                       const struct ronde_handshake *other_handshake, struct ronde_error *error)
{
    char here[SIDE_BYTES];
    char there[SIDE_BYTES];
    describe(handshake, here);
    describe(other_handshake, there);
    return ronde_fail(error, RONDE_REJECTED,
                      "ranks %u and %u disagree about the %s: %u runs %s; %u runs %s", rank, other,
                      difference(handshake, other_handshake), rank, here, other, there);
}

enum ronde_handshake_state ronde_handshake_check(const struct ronde_comm *comm, uint32_t rank,
                                                 const struct ronde_handshake *mine,
                                                 bool *out_offers, struct ronde_error *error)
{
    const struct ronde_handshake *handshakes =
        ronde_comm_is_local(comm, rank) ? comm->local_handshakes : comm->remote_handshakes;
    const struct ronde_handshake *shown =
        &handshakes[(size_t)rank * RONDE_HANDSHAKES + mine->sequence % RONDE_HANDSHAKES];
    struct ronde_handshake theirs;
    const uint64_t sequence = __atomic_load_n(&shown->sequence, __ATOMIC_ACQUIRE);
    if (sequence < mine->sequence)
        return RONDE_HANDSHAKE_ABSENT;
    const uint64_t now = take(shown, &theirs);
    if (sequence > mine->sequence || now != sequence) {
        (void)ronde_fail(error, RONDE_REJECTED,
                         "ranks %u and %u disagree about what they run: %u has come to run %llu, "
                         "%u to run %llu without it",
                         comm->rank, rank, comm->rank, (unsigned long long)mine->sequence, rank,
                         (unsigned long long)(now > sequence ? now : sequence));
        return RONDE_HANDSHAKE_OTHER;
    }
    *out_offers = theirs.offers != 0;
    if (ronde_handshake_is_same(mine, &theirs))
        return RONDE_HANDSHAKE_SAME;
    (void)ronde_handshake_refuse(comm->rank, mine, rank, &theirs, error);
    return RONDE_HANDSHAKE_OTHER;
}
