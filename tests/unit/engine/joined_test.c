/*
 * Joined steps: which ones lowering joins and which ones it must not; that an executor combines as many operands at once as have
 * arrived, and no step waits for another's; and that every bit is that of the specification, which takes step by step.
 */
#include "drive.h"
#include "engine/execute/interp.h"
#include "engine/execute/loaded.h"
#include "support/buffers.h"
#include "support/schedule.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

/* --- which steps are joined ---------------------------------------------------------------- */

static unsigned count_joined(const struct ronde_schedule *schedule)
{
    unsigned joined = 0;
    for (uint32_t p = 0; p < schedule->program_count; p++)
        for (uint32_t s = 0; s < schedule->programs[p].step_count; s++)
            joined += (schedule->programs[p].steps[s].flags & RONDE_FLAG_JOINED) != 0;
    return joined;
}

static void sums_of_many_messages_are_joined(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t ranks;
        unsigned joined;
    } cases[] = {
        {RONDE_REDUCE_SCATTER, "direct", 8, 6},
        {RONDE_ALL_REDUCE, "direct", 8, 6},
        {RONDE_REDUCE_SCATTER, "direct", 2, 0},
        {RONDE_ALL_REDUCE, "hierarchical_direct", 8, 6},
        /* ^2 with ^3 and ^1, ^4 with ^5, ^6 with ^7 and the two sums before */
        {RONDE_ALL_REDUCE, "direct_one_step", 8, 2 + 1 + 3},
        {RONDE_ALL_REDUCE, "ring", 8, 0},
        {RONDE_ALL_REDUCE, "recursive_doubling", 8, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct ronde_schedule *schedule =
            schedule_compile(cases[k].collective, cases[k].algorithm, cases[k].ranks);
        CU_ASSERT_EQUAL(count_joined(schedule), cases[k].joined);
        if (count_joined(schedule) != cases[k].joined)
            suite_note("%s %u: %u", cases[k].algorithm, cases[k].ranks, count_joined(schedule));
        ronde_schedule_destroy(schedule);
    }
}

/* More messages than there is room for are joined in parts. */
static void no_more_are_joined_than_there_is_room_for(void)
{
    const uint32_t ranks = RONDE_JOINED_OPERANDS + 2;
    struct ronde_schedule *schedule = schedule_compile(RONDE_REDUCE_SCATTER, "direct", ranks);
    CU_ASSERT_EQUAL(count_joined(schedule), ranks - 3);
    ronde_schedule_destroy(schedule);
}

#define HEADER                                                                                     \
    "ronde 1\n"                                                                                    \
    "collective reduce\n"                                                                          \
    "algorithm apart\n"                                                                            \
    "ranks 3\n"

/* Rank 0 combines two messages in a way of its own; the others send theirs. */
#define SENDERS                                                                                    \
    "program 1 positions 1\n"                                                                      \
    "    send in[0] -> @0\n"                                                                       \
    "program 2 positions 2\n"                                                                      \
    "    send in[0] -> @0\n"

static void expect_joined(const char *text, unsigned joined)
{
    struct ronde_schedule *schedule = schedule_read(text);
    CU_ASSERT_EQUAL(count_joined(schedule), joined);
    if (count_joined(schedule) != joined)
        suite_note("%u joined, expected %u: %s", count_joined(schedule), joined, text);
    ronde_schedule_destroy(schedule);
}

static void what_others_need_is_not_joined(void)
{
    /* The control: as it is when nothing is in the way. */
    expect_joined(HEADER "peers absolute\n"
                         "program 0 positions 0\n"
                         "    rrc in[0] out[0] <- @1\n"
                         "    rrc out[0] out[0] <- @2\n" SENDERS,
                  1);
    /* The sum so far is kept for a copy. */
    expect_joined(HEADER "peers absolute\n"
                         "program 0 scratch 2 positions 0\n"
                         "    rrc in[0] scratch[0] <- @1\n"
                         "    rrc scratch[0] out[0] <- @2\n"
                         "    copy scratch[0] scratch[1]\n" SENDERS,
                  0);
    /* Another lane reads it, before the next step overwrites it. */
    expect_joined(HEADER "peers absolute\n"
                         "program 0 scratch 1 positions 0\n"
                         "  lane 0\n"
                         "    rrc in[0] out[0] <- @1\n"
                         "    rrc out[0] out[0] <- @2 after 1.0\n"
                         "  lane 1\n"
                         "    copy out[0] scratch[0] after 0.0\n" SENDERS,
                  0);
    /* A result on the right is combined in another order. */
    expect_joined(HEADER "peers absolute\n"
                         "program 0 scratch 2 positions 0\n"
                         "    recv scratch[0] <- @1\n"
                         "    rrc in[0] scratch[1] <- @2\n"
                         "    reduce scratch[1] scratch[0]\n"
                         "    copy scratch[0] out[0]\n" SENDERS,
                  0);
    /* It is taken over by a step that is not the next. */
    expect_joined(HEADER "peers absolute\n"
                         "program 0 scratch 2 positions 0\n"
                         "    rrc in[0] scratch[0] <- @1\n"
                         "    recv scratch[1] <- @2\n"
                         "    reduce scratch[1] scratch[0]\n"
                         "    copy scratch[0] out[0]\n" SENDERS,
                  0);
}

/* Two chunks come together and are combined one by one: no step of two hands on to one of one. */
static void different_lengths_are_not_joined(void)
{
    static const char senders[] = "program 1 positions 1\n"
                                  "    send in[0+2] -> @0\n"
                                  "program 2 positions 2\n"
                                  "    send in[0] -> @0\n"
                                  "    send in[1] -> @0\n";
    char text[1024];
    snprintf(text, sizeof text,
             HEADER "chunks 2\n"
                    "peers absolute\n"
                    "program 0 positions 0\n"
                    "    rrc in[0+2] out[0+2] <- @1\n"
                    "    rrc out[0] out[0] <- @2\n"
                    "    rrc out[1] out[1] <- @2\n"
                    "%s",
             senders);
    expect_joined(text, 0);
}

/* Both sums would be made chunk by chunk: the first one's result lies where its second operand has yet to be read. */
static void what_would_be_overwritten_too_early_is_not_joined(void)
{
    static const char senders[] = "program 1 positions 1\n"
                                  "    send in[0+2] -> @0\n"
                                  "program 2 positions 2\n"
                                  "    send in[0+2] -> @0\n";
    for (uint32_t to = 0; to < 2; to++) {
        char text[1024];
        snprintf(text, sizeof text,
                 HEADER "chunks 2\n"
                        "peers absolute\n"
                        "program 0 scratch 4 positions 0\n"
                        "    copy in[0+2] scratch[0+2]\n"
                        "    rrc scratch[0+2] scratch[2+2] <- @1\n"
                        "    rrc scratch[2+2] scratch[%u+2] <- @2\n"
                        "    copy scratch[%u+2] out[0+2]\n"
                        "%s",
                 to, to, senders);
        expect_joined(text, to == 0);
    }
}

/* Both messages come on one connection: the second lies in the next slot. */
static void messages_of_one_connection_are_not_joined(void)
{
    expect_joined("ronde 1\n"
                  "collective all_reduce\n"
                  "algorithm twice\n"
                  "ranks 3\n"
                  "peers absolute\n"
                  "program 0 scratch 1 positions 0\n"
                  "    rrc in[0] out[0] <- @1\n"
                  "    rrc out[0] out[0] <- @1\n"
                  "    send out[0] -> @1\n"
                  "program 1 positions 1\n"
                  "  lane 0\n"
                  "    send in[0] -> @0\n"
                  "    rs 1 <- @2 -> @0\n"
                  "  lane 1\n"
                  "    rcs out[0] <- @0 -> @2\n"
                  "program 2 positions 2\n"
                  "    send in[0] -> @1\n"
                  "    recv out[0] <- @1\n",
                  0);
}

/* --- execution ----------------------------------------------------------------------------- */

static struct ronde_lane *lane_of(const struct drive *drive, uint32_t rank, uint32_t lane)
{
    return &drive->loaded->lanes[drive->loaded->tasks[rank].first_lane + lane];
}

static bool go_on(struct ronde_lane *lane)
{
    bool has_moved = false;
    while (ronde_lane_poll(lane) == RONDE_POLL_PROGRESSED)
        has_moved = true;
    return has_moved;
}

/* First all that send, so that as much as possible has arrived; true when all lanes are done. */
static bool drive_all(struct drive *drive)
{
    bool has_moved = true;
    while (has_moved) {
        has_moved = false;
        for (uint32_t index = 0; index < drive->schedule->max_lane_count; index++)
            for (uint32_t l = 0; l < drive->loaded->lane_count; l++)
                if (drive->loaded->lanes[l].index == index)
                    has_moved |= go_on(&drive->loaded->lanes[l]);
    }
    return ronde_loaded_blocked(drive->loaded) == NULL;
}

static void what_has_arrived_is_combined_at_once(void)
{
    static const uint32_t ranks = 8;
    for (int pulls = 0; pulls < 2; pulls++) {
        struct drive drive;
        struct ronde_schedule *schedule = schedule_compile(RONDE_REDUCE_SCATTER, "direct", ranks);
        const struct buffers_shape shape =
            drive_shape(schedule, 5001, RONDE_FLOAT32, RONDE_SUM, false);
        drive_begin(&drive, schedule, &shape, pulls ? RONDE_PROTOCOL_PULL : RONDE_PROTOCOL_STAGED,
                    1 << 20, false);
        struct ronde_lane *lane = lane_of(&drive, 0, 1);
        const uint32_t first = lane->first;
        CU_ASSERT_EQUAL(ronde_lane_poll(lane), RONDE_POLL_BLOCKED);
        /* Messages come from rank 7 down. Three have arrived, and one for which another has to be waited. */
        for (uint32_t rank = ranks - 1; rank >= 3; rank--)
            if (rank != 4)
                go_on(lane_of(&drive, rank, 0));
        CU_ASSERT_EQUAL(ronde_lane_poll(lane), RONDE_POLL_PROGRESSED);
        CU_ASSERT_EQUAL(lane->step, first + 3);
        CU_ASSERT_EQUAL(lane->done, 3);
        CU_ASSERT_EQUAL(ronde_lane_poll(lane), RONDE_POLL_BLOCKED);
        CU_ASSERT_EQUAL(lane->reason, RONDE_REASON_MESSAGE);
        go_on(lane_of(&drive, 4, 0));
        go_on(lane_of(&drive, 2, 0));
        go_on(lane_of(&drive, 1, 0));
        CU_ASSERT_EQUAL(ronde_lane_poll(lane), RONDE_POLL_PROGRESSED);
        CU_ASSERT_EQUAL(lane->done, ranks - 1);
        CU_ASSERT(drive_all(&drive));
        drive_expect_hosts_bits(&drive, "reduce_scatter");
        drive_end(&drive);
    }
}

/* What is handed on is not written: the output is as it was until the last operand has come. */
static void sums_on_the_way_are_not_written(void)
{
    struct drive drive;
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "direct_one_step", 8);
    const struct buffers_shape shape = drive_shape(schedule, 100, RONDE_FLOAT32, RONDE_SUM, false);
    drive_begin(&drive, schedule, &shape, RONDE_PROTOCOL_STAGED, 1 << 20, false);
    const struct ronde_task *task = &drive.loaded->tasks[0];
    const uint64_t bytes = task->scratch_stride * task->chunks[RONDE_SCRATCH];
    memset(task->base[RONDE_SCRATCH], 0x5a, (size_t)bytes);
    CU_ASSERT(drive_all(&drive));
    /* Of three chunks of scratch the first never holds anything: what comes there goes on at once. */
    for (uint64_t at = 0; at < 100 * sizeof(float); at++)
        CU_ASSERT_EQUAL(task->base[RONDE_SCRATCH][at], 0x5a);
    drive_expect_hosts_bits(&drive, "direct_one_step");
    drive_end(&drive);
}

/* A run in one of twelve ways: long or short, streamed or not, by any protocol, in place or not. */
static void expect_every_bit(const struct ronde_compile_request *request, enum ronde_dtype dtype,
                             enum ronde_op op, unsigned way)
{
    struct drive drive;
    char what[128];
    struct ronde_schedule *schedule = schedule_compile_request(request, NULL);
    /* Chunks of more than a block of any type, and not a whole number of them. */
    const uint64_t count = way < 6 ? 4099 * (uint64_t)schedule->chunks_per_block : 3;
    const struct buffers_shape shape = drive_shape(schedule, count, dtype, op, way % 2 == 1);
    drive_begin(&drive, schedule, &shape, (enum ronde_protocol)(way / 2 % 3 + 1), 1 << 20,
                way % 3 == 0);
    CU_ASSERT(drive_all(&drive));
    snprintf(what, sizeof what, "%s of %u, %s %s, way %u", request->algorithm, request->ranks,
             ronde_dtype_text(dtype), ronde_op_text(op), way);
    drive_expect_hosts_bits(&drive, what);
    drive_end(&drive);
}

static void every_bit_is_the_specifications(void)
{
    static const struct ronde_compile_request cases[] = {
        {.collective = RONDE_REDUCE_SCATTER, .algorithm = "direct", .ranks = 5},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "direct", .ranks = 4},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "direct_one_step", .ranks = 8},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "direct_one_step", .ranks = 5}};
    unsigned way = 0;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        for (int dtype = 0; dtype < RONDE_DTYPE_COUNT; dtype++)
            for (int op = 0; op < RONDE_OP_COUNT; op++)
                if (!ronde_op_refusal((enum ronde_op)op, (enum ronde_dtype)dtype))
                    expect_every_bit(&cases[k], (enum ronde_dtype)dtype, (enum ronde_op)op,
                                     way++ % 12);
        for (unsigned each = 0; each < 12; each++) {
            expect_every_bit(&cases[k], RONDE_FLOAT32, RONDE_AVG, each);
            expect_every_bit(&cases[k], RONDE_BFLOAT16, RONDE_PREMUL_SUM, each);
        }
    }
}

/* Schedules broken at random: those that are proved all the same, and have joined steps, must still be right. */
static void what_is_proved_is_joined_right(void)
{
    static const char *const algorithms[] = {"direct", "direct_one_step", "hierarchical_direct"};
    uint64_t random = 5;
    unsigned accepted = 0, lost = 0;
    for (unsigned k = 0; k < 3000; k++) {
        struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, algorithms[k % 3], 4);
        const unsigned joined = count_joined(schedule);
        struct ronde_schedule *mutant = drive_mutant(schedule, k % 2 == 0, &random);
        if (!mutant)
            continue;
        const unsigned before = joined * mutant->program_count;
        struct drive drive;
        char what[64];
        const struct buffers_shape shape =
            drive_shape(mutant, 67, RONDE_FLOAT32, RONDE_SUM, k % 4 < 2);
        accepted++;
        lost += count_joined(mutant) != before;
        drive_begin(&drive, mutant, &shape, (enum ronde_protocol)(k % 3 + 1), 1 << 20, false);
        CU_ASSERT(drive_all(&drive));
        snprintf(what, sizeof what, "mutant %u of %s", k, algorithms[k % 3]);
        drive_expect_hosts_bits(&drive, what);
        drive_end(&drive);
    }
    suite_note("%u mutants are proved, %u of them join other steps", accepted, lost);
    CU_ASSERT(accepted > 100 && lost > 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(sums_of_many_messages_are_joined),
        SUITE_CASE(no_more_are_joined_than_there_is_room_for),
        SUITE_CASE(what_others_need_is_not_joined),
        SUITE_CASE(different_lengths_are_not_joined),
        SUITE_CASE(what_would_be_overwritten_too_early_is_not_joined),
        SUITE_CASE(messages_of_one_connection_are_not_joined),
        SUITE_CASE(what_has_arrived_is_combined_at_once),
        SUITE_CASE(sums_on_the_way_are_not_written),
        SUITE_CASE(every_bit_is_the_specifications),
        SUITE_CASE(what_is_proved_is_joined_right),
    };
    return suite_run("joined", cases, sizeof cases / sizeof cases[0]);
}
