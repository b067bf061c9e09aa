/* What ranks show each other before data moves. See comm.h. */
#include "hw/comm/comm.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct ronde_card) == 128, "a card fills a pair of cache lines");

/* Room for one side of a disagreement. */
#define SIDE_BYTES 200

void ronde_card_fill(struct ronde_card *card, const struct ronde_schedule *schedule)
{
    const bool has_root = ronde_collective_traits(schedule->collective)->has_root;
    memset(card, 0, sizeof *card);
    card->schedule = schedule->hash;
    card->collective = schedule->collective;
    card->root = has_root ? schedule->root : 0;
    card->ranks = schedule->ranks;
    snprintf(card->algorithm, sizeof card->algorithm, "%s", schedule->algorithm);
}

/* The words of a card; the first is the sequence number. */
#define CARD_WORDS (sizeof(struct ronde_card) / sizeof(uint64_t))

_Static_assert(offsetof(struct ronde_card, sequence) == 0, "a card begins with its number");

uint64_t ronde_card_digest(const struct ronde_card *card)
{
    uint64_t words[CARD_WORDS];
    uint64_t digest = 0;
    memcpy(words, card, sizeof words);
    for (size_t i = 1; i < CARD_WORDS; i++) {
        digest = (digest ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 32;
    }
    return digest;
}

/*
 * Whoever sees one of the new words sees that the old number is gone: every store releases what is before it. A word that
 * stays is not written: its line stays with those who have read it.
 */
void ronde_card_put(struct ronde_card *to, const struct ronde_card *card)
{
    uint64_t words[CARD_WORDS];
    uint64_t *shown = &to->sequence;
    memcpy(words, card, sizeof words);
    __atomic_store_n(shown, 0, __ATOMIC_RELAXED);
    for (size_t i = 1; i < CARD_WORDS; i++)
        if (__atomic_load_n(&shown[i], __ATOMIC_RELAXED) != words[i])
            __atomic_store_n(&shown[i], words[i], __ATOMIC_RELEASE);
    __atomic_store_n(shown, card->sequence, __ATOMIC_RELEASE);
}

/* The other side: every load is over before the next, the last of which looks at the number again. */
static uint64_t take(const struct ronde_card *from, struct ronde_card *out_card)
{
    uint64_t words[CARD_WORDS];
    const uint64_t *shown = &from->sequence;
    for (size_t i = 0; i < CARD_WORDS; i++)
        words[i] = __atomic_load_n(&shown[i], __ATOMIC_ACQUIRE);
    memcpy(out_card, words, sizeof words);
    return __atomic_load_n(shown, __ATOMIC_RELAXED);
}

bool ronde_card_is_same(const struct ronde_card *left, const struct ronde_card *right)
{
    const size_t first = sizeof left->sequence;
    const size_t end = offsetof(struct ronde_card, offers);
    return memcmp((const char *)left + first, (const char *)right + first, end - first) == 0;
}

static void describe(const struct ronde_card *card, char text[SIDE_BYTES])
{
    const bool reduces = ronde_collective_traits((enum ronde_collective)card->collective)->reduces;
    snprintf(text, SIDE_BYTES,
             "%s %.24s of %u ranks (root %u, count %llu, %s%s%s, slot %llu, depth %u, "
             "schedule %016llx)",
             ronde_collective_text((enum ronde_collective)card->collective), card->algorithm,
             card->ranks, card->root, (unsigned long long)card->count,
             ronde_dtype_text((enum ronde_dtype)card->dtype), reduces ? " " : "",
             reduces ? ronde_op_text((enum ronde_op)card->op) : "",
             (unsigned long long)card->slot_bytes, card->depth, (unsigned long long)card->schedule);
}

/* The first thing in which two cards differ, in words. */
static const char *difference(const struct ronde_card *left, const struct ronde_card *right)
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

enum ronde_status ronde_card_refuse(uint32_t rank, const struct ronde_card *card, uint32_t other,
                                    const struct ronde_card *other_card, struct ronde_error *error)
{
    char here[SIDE_BYTES];
    char there[SIDE_BYTES];
    describe(card, here);
    describe(other_card, there);
    return ronde_fail(error, RONDE_REJECTED,
                      "ranks %u and %u disagree about the %s: %u runs %s; %u runs %s", rank, other,
                      difference(card, other_card), rank, here, other, there);
}

enum ronde_card_state ronde_card_check(const struct ronde_comm *comm, uint32_t rank,
                                       const struct ronde_card *mine, bool *out_offers,
                                       struct ronde_error *error)
{
    const struct ronde_card *cards =
        ronde_comm_is_near(comm, rank) ? comm->near_cards : comm->far_cards;
    const struct ronde_card *shown =
        &cards[(size_t)rank * RONDE_CARDS + mine->sequence % RONDE_CARDS];
    struct ronde_card theirs;
    const uint64_t sequence = __atomic_load_n(&shown->sequence, __ATOMIC_ACQUIRE);
    if (sequence < mine->sequence)
        return RONDE_CARD_ABSENT;
    const uint64_t now = take(shown, &theirs);
    if (sequence > mine->sequence || now != sequence) {
        (void)ronde_fail(error, RONDE_REJECTED,
                         "ranks %u and %u disagree about what they run: %u has come to run %llu, "
                         "%u to run %llu without it",
                         comm->rank, rank, comm->rank, (unsigned long long)mine->sequence, rank,
                         (unsigned long long)(now > sequence ? now : sequence));
        return RONDE_CARD_OTHER;
    }
    *out_offers = theirs.offers != 0;
    if (ronde_card_is_same(mine, &theirs))
        return RONDE_CARD_SAME;
    (void)ronde_card_refuse(comm->rank, mine, rank, &theirs, error);
    return RONDE_CARD_OTHER;
}
