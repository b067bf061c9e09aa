/*
 * Handshake records: when two ranks run the same, which of two differences is named, and what a record that is older or
 * newer than expected means.
 */
#include "hw/comm/comm_parts.h"
#include "ronde/schedules.h"
#include "support/suite.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 4 };

/* Two ranks of a host, this one and rank 2; rank 3 is on another. */
struct fixture {
    struct ronde_comm comm;
    uint32_t leaders[RANKS];
    struct ronde_handshake local[RANKS * RONDE_HANDSHAKES];
    struct ronde_handshake remote[RANKS * RONDE_HANDSHAKES];
    struct ronde_handshake mine;
};

static struct ronde_handshake record(uint64_t sequence)
{
    struct ronde_handshake handshake;
    memset(&handshake, 0, sizeof handshake);
    handshake.sequence = sequence;
    handshake.schedule = UINT64_C(0x1234567890abcdef);
    handshake.collective = RONDE_ALL_REDUCE;
    handshake.ranks = RANKS;
    handshake.count = 1000;
    handshake.dtype = RONDE_FLOAT32;
    handshake.op = RONDE_SUM;
    handshake.slot_bytes = 4096;
    handshake.depth = 8;
    snprintf(handshake.algorithm, sizeof handshake.algorithm, "ring");
    return handshake;
}

static void begin(struct fixture *fixture, uint64_t sequence)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->comm.rank = 1;
    fixture->comm.ranks = RANKS;
    fixture->leaders[3] = 3;
    fixture->comm.leaders = fixture->leaders;
    fixture->comm.local_handshakes = fixture->local;
    fixture->comm.remote_handshakes = fixture->remote;
    fixture->mine = record(sequence);
}

static void publish(struct fixture *fixture, uint32_t rank, const struct ronde_handshake *handshake)
{
    struct ronde_handshake *all = rank == 3 ? fixture->remote : fixture->local;
    ronde_handshake_put(&all[rank * RONDE_HANDSHAKES + handshake->sequence % RONDE_HANDSHAKES],
                        handshake);
}

static enum ronde_handshake_state check(const struct fixture *fixture, uint32_t rank,
                                        struct ronde_error *error)
{
    bool offers = false;
    memset(error, 0, sizeof *error);
    return ronde_handshake_check(&fixture->comm, rank, &fixture->mine, &offers, error);
}

static void a_record_is_found_once_it_is_published(void)
{
    struct ronde_error error;
    for (uint32_t rank = 2; rank < RANKS; rank++)
        for (uint64_t sequence = 1; sequence < 3 * RONDE_HANDSHAKES; sequence += 7) {
            struct fixture fixture;
            begin(&fixture, sequence);
            CU_ASSERT_EQUAL(check(&fixture, rank, &error), RONDE_HANDSHAKE_ABSENT);
            publish(&fixture, rank, &fixture.mine);
            CU_ASSERT_EQUAL(check(&fixture, rank, &error), RONDE_HANDSHAKE_SAME);
            CU_ASSERT_EQUAL(error.status, RONDE_OK);
        }
}

/* The ring of records is used again: the one of 64 runs before is not taken for this run's. */
static void a_record_of_an_earlier_round_is_absent(void)
{
    struct fixture fixture;
    struct ronde_error error;
    begin(&fixture, 5 + RONDE_HANDSHAKES);
    const struct ronde_handshake old = record(5);
    publish(&fixture, 2, &old);
    CU_ASSERT_EQUAL(check(&fixture, 2, &error), RONDE_HANDSHAKE_ABSENT);
}

static void a_rank_that_has_gone_on_without_this_one_is_an_error(void)
{
    struct fixture fixture;
    struct ronde_error error;
    begin(&fixture, 5);
    const struct ronde_handshake later = record(5 + RONDE_HANDSHAKES);
    publish(&fixture, 2, &later);
    CU_ASSERT_EQUAL(check(&fixture, 2, &error), RONDE_HANDSHAKE_OTHER);
    CU_ASSERT_EQUAL(error.status, RONDE_REJECTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "1 has come to run 5, 2 to run 69 without it"));
}

static void whether_messages_are_offered_is_passed_on_and_not_compared(void)
{
    for (uint64_t offers = 0; offers < 2; offers++) {
        struct fixture fixture;
        struct ronde_error error = {0};
        bool found = offers == 0;
        begin(&fixture, 9);
        struct ronde_handshake theirs = fixture.mine;
        theirs.offers = offers;
        publish(&fixture, 3, &theirs);
        CU_ASSERT_EQUAL(ronde_handshake_check(&fixture.comm, 3, &fixture.mine, &found, &error),
                        RONDE_HANDSHAKE_SAME);
        CU_ASSERT_EQUAL(found, offers == 1);
    }
}

/* A field, another value for it, and the word for it. */
static const struct {
    size_t offset;
    size_t bytes;
    uint64_t value;
    const char *word;
} fields[] = {
    {offsetof(struct ronde_handshake, collective), 4, RONDE_ALL_GATHER, "about the collective"},
    {offsetof(struct ronde_handshake, root), 4, 2, "about the root"},
    {offsetof(struct ronde_handshake, schedule), 8, 1, "about the schedule"},
    {offsetof(struct ronde_handshake, count), 8, 999, "about the count"},
    {offsetof(struct ronde_handshake, dtype), 4, RONDE_INT8, "about the element type"},
    {offsetof(struct ronde_handshake, op), 4, RONDE_MAX, "about the operator"},
    {offsetof(struct ronde_handshake, slot_bytes), 8, 1, "about the slot"},
    {offsetof(struct ronde_handshake, depth), 4, 1, "about the depth"},
};

#define FIELDS (sizeof fields / sizeof fields[0])

static void change(struct ronde_handshake *handshake, size_t field)
{
    const uint32_t narrow = (uint32_t)fields[field].value;
    if (fields[field].bytes == sizeof narrow)
        memcpy((char *)handshake + fields[field].offset, &narrow, sizeof narrow);
    else
        memcpy((char *)handshake + fields[field].offset, &fields[field].value,
               sizeof fields[field].value);
}

static void every_field_that_differs_is_named(void)
{
    for (size_t field = 0; field < FIELDS; field++) {
        struct fixture fixture;
        struct ronde_error error;
        begin(&fixture, 3);
        struct ronde_handshake theirs = fixture.mine;
        change(&theirs, field);
        publish(&fixture, 2, &theirs);
        CU_ASSERT_EQUAL(check(&fixture, 2, &error), RONDE_HANDSHAKE_OTHER);
        CU_ASSERT_EQUAL(error.status, RONDE_REJECTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, fields[field].word));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "ranks 1 and 2 disagree"));
    }
}

/* Of two fields that differ the one that explains more is named: it stands further up in the table. */
static void of_two_differences_the_first_is_named(void)
{
    for (size_t field = 0; field < FIELDS; field++)
        for (size_t later = field + 1; later < FIELDS; later++) {
            struct ronde_error error = {0};
            const struct ronde_handshake mine = record(1);
            struct ronde_handshake theirs = mine;
            change(&theirs, later);
            change(&theirs, field);
            CU_ASSERT_EQUAL(ronde_handshake_refuse(0, &mine, 3, &theirs, &error), RONDE_REJECTED);
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, fields[field].word));
        }
}

static void both_records_are_in_the_message(void)
{
    struct ronde_error error = {0};
    const struct ronde_handshake mine = record(1);
    struct ronde_handshake theirs = mine;
    theirs.collective = RONDE_BROADCAST;
    theirs.root = 3;
    snprintf(theirs.algorithm, sizeof theirs.algorithm, "chain");
    CU_ASSERT_EQUAL(ronde_handshake_refuse(7, &mine, 9, &theirs, &error), RONDE_REJECTED);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(error.message,
               "7 runs all_reduce ring of 4 ranks (root 0, count 1000, float32 sum, slot "
               "4096, depth 8, schedule 1234567890abcdef)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "9 runs broadcast chain of 4 ranks (root 3"));
    /* Where nothing is reduced no operator is named. */
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "float32, slot 4096, depth 8"));
}

static void every_word_but_the_number_is_in_the_digest(void)
{
    const struct ronde_handshake mine = record(1);
    const uint64_t digest = ronde_handshake_digest(&mine);
    for (size_t byte = 0; byte < sizeof mine; byte++) {
        struct ronde_handshake other = mine;
        ((unsigned char *)&other)[byte] ^= 0x40;
        const bool is_number = byte < sizeof mine.sequence;
        CU_ASSERT_EQUAL(ronde_handshake_digest(&other) == digest, is_number);
    }
}

static void digests_of_runs_differ(void)
{
    for (uint64_t run = 1; run < 2 * RONDE_HANDSHAKES; run++)
        for (uint64_t earlier = 0; earlier < run; earlier++)
            CU_ASSERT_NOT_EQUAL(ronde_handshake_digest_in_run(42, earlier),
                                ronde_handshake_digest_in_run(42, run));
}

static void a_renewed_record_is_the_same_with_another_number(void)
{
    struct fixture fixture;
    struct ronde_error error;
    begin(&fixture, 2);
    publish(&fixture, 2, &fixture.mine);
    fixture.mine.sequence = 2 + RONDE_HANDSHAKES;
    CU_ASSERT_EQUAL(check(&fixture, 2, &error), RONDE_HANDSHAKE_ABSENT);
    ronde_handshake_renew(&fixture.local[2 * RONDE_HANDSHAKES + 2], fixture.mine.sequence);
    CU_ASSERT_EQUAL(check(&fixture, 2, &error), RONDE_HANDSHAKE_SAME);
}

static struct ronde_handshake record_of(enum ronde_collective collective, const char *algorithm,
                                        uint32_t root)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = RANKS,
                                                  .root = root};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    struct ronde_handshake handshake;
    memset(&handshake, 0xff, sizeof handshake);
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                          RONDE_OK);
    ronde_handshake_fill(&handshake, schedule);
    CU_ASSERT_EQUAL(handshake.schedule, schedule->hash);
    ronde_schedule_destroy(schedule);
    return handshake;
}

/* Ranks compile for themselves: equal requests must give equal records, to the last byte. */
static void equal_schedules_have_equal_records(void)
{
    const struct ronde_handshake first = record_of(RONDE_BROADCAST, "chain", 2);
    const struct ronde_handshake same = record_of(RONDE_BROADCAST, "chain", 2);
    const struct ronde_handshake root = record_of(RONDE_BROADCAST, "chain", 1);
    const struct ronde_handshake other = record_of(RONDE_BROADCAST, "binomial", 2);
    CU_ASSERT_EQUAL(memcmp(&first, &same, sizeof first), 0);
    CU_ASSERT_EQUAL(first.root, 2);
    CU_ASSERT_EQUAL(first.ranks, RANKS);
    CU_ASSERT_STRING_EQUAL(first.algorithm, "chain");
    CU_ASSERT_NOT_EQUAL(ronde_handshake_digest(&first), ronde_handshake_digest(&root));
    CU_ASSERT_NOT_EQUAL(ronde_handshake_digest(&first), ronde_handshake_digest(&other));
    CU_ASSERT_NOT_EQUAL(first.schedule, other.schedule);
}

/* The longest chain of waits is that of runs ahead: their records must still be there. */
static void ranks_ahead_of_each_other_overwrite_no_record(void)
{
    for (uint32_t ranks = 2; ranks <= 4 * RONDE_HANDSHAKES; ranks++) {
        const uint32_t lead = ronde_comm_lead(ranks);
        CU_ASSERT((uint64_t)(lead + 1) * (ranks - 1) < RONDE_HANDSHAKES || lead == 0);
        CU_ASSERT(lead <= ronde_comm_lead(ranks - 1) || ranks == 2);
    }
    CU_ASSERT_EQUAL(ronde_comm_lead(2), 31);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_record_is_found_once_it_is_published", a_record_is_found_once_it_is_published},
        {"a_record_of_an_earlier_round_is_absent", a_record_of_an_earlier_round_is_absent},
        {"a_rank_that_has_gone_on_without_this_one_is_an_error",
         a_rank_that_has_gone_on_without_this_one_is_an_error},
        {"whether_messages_are_offered_is_passed_on_and_not_compared",
         whether_messages_are_offered_is_passed_on_and_not_compared},
        {"every_field_that_differs_is_named", every_field_that_differs_is_named},
        {"of_two_differences_the_first_is_named", of_two_differences_the_first_is_named},
        {"both_records_are_in_the_message", both_records_are_in_the_message},
        {"every_word_but_the_number_is_in_the_digest", every_word_but_the_number_is_in_the_digest},
        {"digests_of_runs_differ", digests_of_runs_differ},
        {"a_renewed_record_is_the_same_with_another_number",
         a_renewed_record_is_the_same_with_another_number},
        {"equal_schedules_have_equal_records", equal_schedules_have_equal_records},
        {"ranks_ahead_of_each_other_overwrite_no_record",
         ranks_ahead_of_each_other_overwrite_no_record},
    };
    return suite_run("handshake", cases, sizeof cases / sizeof cases[0]);
}
