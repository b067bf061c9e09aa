/*
 * Spread results: which sends lowering has the summing step write for, and which it must not; that they lie at their receivers
 * before they are sent; and that every bit is that of the specification, whatever order lanes are polled in.
 */
#include "drive.h"
#include "engine/execute/interp.h"
#include "engine/execute/loaded.h"
#include "support/buffers.h"
#include "support/schedule.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

/* --- which results are spread -------------------------------------------------------------- */

static unsigned count_spread(const struct ronde_schedule *schedule)
{
    unsigned sends = 0;
    for (uint32_t p = 0; p < schedule->program_count; p++)
        for (uint32_t s = 0; s < schedule->programs[p].step_count; s++)
            sends += (schedule->programs[p].steps[s].flags & RONDE_FLAG_SPREAD) != 0;
    return sends;
}

/* A schedule's sends that are spread are those of its lists. */
static void expect_count(const struct ronde_schedule *schedule, unsigned expected, const char *what)
{
    unsigned listed = 0;
    for (uint32_t p = 0; p < schedule->program_count; p++) {
        const struct ronde_program *program = &schedule->programs[p];
        for (uint32_t s = 0; program->spread && s < program->step_count; s++) {
            const bool is_send = program->steps[s].op == RONDE_STEP_SEND;
            for (uint32_t at = is_send ? RONDE_NONE : program->spread[s]; at != RONDE_NONE;
                 at = program->spread[at])
                listed += (program->steps[at].flags & RONDE_FLAG_SPREAD) != 0;
        }
    }
    CU_ASSERT_EQUAL(count_spread(schedule), expected);
    CU_ASSERT_EQUAL(listed, expected);
    if (count_spread(schedule) != expected || listed != expected)
        suite_note("%s: %u spread, %u listed", what, count_spread(schedule), listed);
}

static void sums_that_all_keep_are_spread(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t ranks;
        unsigned sends;
    } cases[] = {
        {RONDE_ALL_REDUCE, "direct", 2, 1},
        {RONDE_ALL_REDUCE, "direct", 8, 7},
        {RONDE_ALL_REDUCE, "direct", RONDE_JOINED_OPERANDS + 1, RONDE_JOINED_OPERANDS},
        {RONDE_ALL_REDUCE, "direct", RONDE_JOINED_OPERANDS + 2, 0},
        {RONDE_ALL_REDUCE, "hierarchical_direct", 8, 7},
        {RONDE_REDUCE_SCATTER, "direct", 8, 0},
        {RONDE_ALL_GATHER, "direct", 8, 0},
        {RONDE_ALL_REDUCE, "direct_one_step", 8, 0},
        {RONDE_ALL_REDUCE, "ring", 8, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct ronde_schedule *schedule =
            schedule_compile(cases[k].collective, cases[k].algorithm, cases[k].ranks);
        expect_count(schedule, cases[k].sends, cases[k].algorithm);
        ronde_schedule_destroy(schedule);
    }
}

#define HEADER                                                                                     \
    "ronde 1\n"                                                                                    \
    "collective all_reduce\n"                                                                      \
    "algorithm hand\n"                                                                             \
    "ranks 3\n"                                                                                    \
    "peers absolute\n"

/* Rank 0 adds up the blocks of 1 and 2, and sends them the sum. */
#define OWNER                                                                                      \
    "program 0 positions 0\n"                                                                      \
    "    rrc in[0] out[0] <- @1\n"                                                                 \
    "    rrc out[0] out[0] <- @2\n"                                                                \
    "    send out[0] -> @1\n"                                                                      \
    "    send out[0] -> @2\n"

static void expect_spread(const char *text, unsigned expected)
{
    struct ronde_schedule *schedule = schedule_read(text);
    expect_count(schedule, expected, text);
    ronde_schedule_destroy(schedule);
}

static void what_may_be_in_use_is_not_written(void)
{
    /* The control. */
    expect_spread(HEADER OWNER "program 1 positions 1 2\n"
                               "    send in[0] -> @0\n"
                               "    recv out[0] <- @0\n",
                  2);
    /* In place, a step that comes after the credit reads what is written. */
    expect_spread(HEADER OWNER "program 1 positions 1\n"
                               "    send in[0] -> @0\n"
                               "    recv out[0] <- @0\n"
                               "program 2 scratch 1 positions 2\n"
                               "    send in[0] -> @0\n"
                               "    copy in[0] scratch[0]\n"
                               "    recv out[0] <- @0\n",
                  1);
    /* A step of another lane does. */
    expect_spread(HEADER OWNER "program 1 positions 1\n"
                               "    send in[0] -> @0\n"
                               "    recv out[0] <- @0\n"
                               "program 2 scratch 1 positions 2\n"
                               "  lane 0\n"
                               "    send in[0] -> @0\n"
                               "    recv out[0] <- @0 after 1.0\n"
                               "  lane 1\n"
                               "    copy in[0] scratch[0]\n",
                  1);
    /* Another rank may: nothing says when rank 1 has read what 2 has sent it. */
    expect_spread(HEADER OWNER "program 1 scratch 1 positions 1\n"
                               "  lane 0\n"
                               "    send in[0] -> @0\n"
                               "    recv out[0] <- @0\n"
                               "  lane 1\n"
                               "    recv scratch[0] <- @2\n"
                               "program 2 positions 2\n"
                               "    send in[0] -> @1\n"
                               "    send in[0] -> @0\n"
                               "    recv out[0] <- @0\n",
                  1);
    /* Rank 2's block comes by way of rank 1, so rank 0 knows nothing of it. */
    expect_spread(HEADER "program 0 positions 0\n"
                         "    rrc in[0] out[0] <- @1\n"
                         "    send out[0] -> @2\n"
                         "    send out[0] -> @1\n"
                         "program 1 scratch 1 positions 1\n"
                         "    rrc in[0] scratch[0] <- @2\n"
                         "    send scratch[0] -> @0\n"
                         "    recv out[0] <- @0\n"
                         "program 2 positions 2\n"
                         "    send in[0] -> @1\n"
                         "    recv out[0] <- @0\n",
                  1);
}

static void what_is_not_kept_as_it_is_is_not_spread(void)
{
    /* Rank 2 keeps the sum elsewhere first. */
    expect_spread(HEADER OWNER "program 1 positions 1\n"
                               "    send in[0] -> @0\n"
                               "    recv out[0] <- @0\n"
                               "program 2 scratch 1 positions 2\n"
                               "    send in[0] -> @0\n"
                               "    recv scratch[0] <- @0\n"
                               "    copy scratch[0] out[0]\n",
                  1);
    /* The sum is moved before it is sent: another step wrote what is sent. */
    expect_spread(HEADER "program 0 scratch 1 positions 0\n"
                         "    rrc in[0] scratch[0] <- @1\n"
                         "    rrc scratch[0] scratch[0] <- @2\n"
                         "    copy scratch[0] out[0]\n"
                         "    send out[0] -> @1\n"
                         "    send out[0] -> @2\n"
                         "program 1 positions 1 2\n"
                         "    send in[0] -> @0\n"
                         "    recv out[0] <- @0\n",
                  0);
}

/* --- execution ----------------------------------------------------------------------------- */

/* Polls lanes at random, favourites far more often than others, until nothing moves; true when all are done. */
static bool drive_at_random(struct drive *drive, uint64_t *random)
{
    const uint32_t lanes = drive->loaded->lane_count;
    const uint32_t favourite = (uint32_t)(buffers_draw(random) % lanes);
    for (uint32_t idle = 0; idle < 64 * lanes;) {
        const uint64_t drawn = buffers_draw(random);
        const uint32_t lane = drawn % 4 != 0 ? favourite : (uint32_t)(drawn / 4 % lanes);
        idle = ronde_lane_poll(&drive->loaded->lanes[lane]) == RONDE_POLL_PROGRESSED ? 0 : idle + 1;
    }
    bool has_moved = true;
    while (has_moved) {
        has_moved = false;
        for (uint32_t l = 0; l < lanes; l++)
            has_moved |= ronde_lane_poll(&drive->loaded->lanes[l]) == RONDE_POLL_PROGRESSED;
    }
    return ronde_loaded_blocked(drive->loaded) == NULL;
}

/* Once the sum of a chunk is computed all ranks have it, though none has been sent it. */
static void sums_lie_where_they_are_kept_before_they_are_sent(void)
{
    for (uint32_t ranks = 2; ranks <= 8; ranks += 3) {
        struct drive drive;
        const uint64_t chunk = 4 * UINT64_C(2500);
        struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "direct", ranks);
        const struct buffers_shape shape =
            drive_shape(schedule, UINT64_C(2500) * ranks, RONDE_FLOAT32, RONDE_SUM, ranks == 5);
        drive_begin(&drive, schedule, &shape, RONDE_PROTOCOL_PUSH, 1 << 20, ranks == 8);
        struct ronde_task *tasks = drive.loaded->tasks;
        for (uint32_t rank = 0; rank < ranks; rank++)
            for (uint32_t k = 1; k < ranks; k++)
                CU_ASSERT_EQUAL(ronde_lane_poll(&drive.loaded->lanes[tasks[rank].first_lane]),
                                RONDE_POLL_PROGRESSED);
        struct ronde_lane *adds = &drive.loaded->lanes[tasks[0].first_lane + 1];
        CU_ASSERT_EQUAL(ronde_lane_poll(adds), RONDE_POLL_PROGRESSED);
        CU_ASSERT_EQUAL(adds->done, ranks - 1);
        for (uint32_t rank = 1; rank < ranks; rank++)
            CU_ASSERT(
                memcmp(tasks[0].base[RONDE_OUT], tasks[rank].base[RONDE_OUT], (size_t)chunk) == 0);
        uint64_t random = ranks;
        CU_ASSERT(drive_at_random(&drive, &random));
        drive_expect_hosts_bits(&drive, "direct");
        drive_end(&drive);
    }
}

static void every_bit_is_the_specifications(void)
{
    uint64_t random = 3;
    for (unsigned way = 0; way < 48; way++) {
        static const enum ronde_dtype dtypes[] = {RONDE_FLOAT32, RONDE_BFLOAT16, RONDE_INT8,
                                                  RONDE_FLOAT64};
        static const enum ronde_op ops[] = {RONDE_SUM, RONDE_PREMUL_SUM, RONDE_AVG};
        struct drive drive;
        const uint32_t ranks = 2 + way % 5;
        struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "direct", ranks);
        const struct buffers_shape shape =
            drive_shape(schedule, way % 7 == 0 ? 3 : 1500 * ranks + way, dtypes[way % 4],
                        way % 4 == 2 ? RONDE_MAX : ops[way % 3], way / 2 % 2 == 1);
        /* Pieces of a chunk, or a piece. */
        drive_begin(&drive, schedule, &shape, RONDE_PROTOCOL_PUSH, way % 3 == 0 ? 512 : 1 << 20,
                    way % 2 == 0);
        CU_ASSERT(drive_at_random(&drive, &random));
        drive_expect_hosts_bits(&drive, "direct");
        drive_end(&drive);
    }
}

/* Rank 2's block is needed after rank 0 has had it: what rank 0 wrote there too early, in place, would be in rank 1's sum. */
static const char *const late_readers[] = {HEADER "program 0 positions 0\n"
                                                  "    send in[0] -> @1\n"
                                                  "    rrc in[0] out[0] <- @1\n"
                                                  "    rrc out[0] out[0] <- @2\n"
                                                  "    send out[0] -> @2\n"
                                                  "program 1 positions 1\n"
                                                  "    send in[0] -> @0\n"
                                                  "    rrc in[0] out[0] <- @0\n"
                                                  "    rrc out[0] out[0] <- @2\n"
                                                  "program 2 positions 2\n"
                                                  "    send in[0] -> @0\n"
                                                  "    send in[0] -> @1\n"
                                                  "    recv out[0] <- @0\n",
                                           HEADER "program 0 positions 0\n"
                                                  "    send in[0] -> @1\n"
                                                  "    rrc in[0] out[0] <- @1\n"
                                                  "    rrc out[0] out[0] <- @2\n"
                                                  "    send out[0] -> @2\n"
                                                  "program 1 positions 1\n"
                                                  "    send in[0] -> @0\n"
                                                  "    rrc in[0] out[0] <- @0\n"
                                                  "    rrc out[0] out[0] <- @2\n"
                                                  "program 2 scratch 1 positions 2\n"
                                                  "  lane 0\n"
                                                  "    send in[0] -> @0\n"
                                                  "    copy in[0] scratch[0]\n"
                                                  "    recv out[0] <- @0\n"
                                                  "  lane 1\n"
                                                  "    send scratch[0] -> @1 after 0.1\n"};

static void late_readers_read_what_was_sent(void)
{
    uint64_t random = 7;
    for (unsigned k = 0; k < 200; k++) {
        struct drive drive;
        struct ronde_schedule *schedule = schedule_read(late_readers[k % 2]);
        const struct buffers_shape shape = drive_shape(schedule, 67, RONDE_FLOAT32, RONDE_SUM, true);
        CU_ASSERT_EQUAL(count_spread(schedule), 0);
        drive_begin(&drive, schedule, &shape, RONDE_PROTOCOL_PUSH, 32, false);
        CU_ASSERT(drive_at_random(&drive, &random));
        drive_expect_hosts_bits(&drive, late_readers[k % 2]);
        drive_end(&drive);
    }
}

/* Schedules broken at random: those that are proved all the same must still be right, in any order. */
static void what_is_proved_is_spread_right(void)
{
    uint64_t random = 5;
    unsigned accepted = 0, spread = 0;
    for (unsigned k = 0; k < 3000; k++) {
        struct ronde_schedule *schedule =
            k % 4 < 2 ? schedule_compile(RONDE_ALL_REDUCE, "direct", 3 + k % 2)
                      : schedule_read(late_readers[k % 2]);
        struct ronde_schedule *mutant = drive_mutant(schedule, k % 4 < 2 && k % 8 < 4, &random);
        if (!mutant)
            continue;
        struct drive drive;
        char what[64];
        const struct buffers_shape shape =
            drive_shape(mutant, 67, RONDE_FLOAT32, RONDE_SUM, k % 16 < 8);
        accepted++;
        spread += count_spread(mutant) > 0;
        drive_begin(&drive, mutant, &shape, RONDE_PROTOCOL_PUSH, 32, false);
        CU_ASSERT(drive_at_random(&drive, &random));
        snprintf(what, sizeof what, "mutant %u", k);
        drive_expect_hosts_bits(&drive, what);
        drive_end(&drive);
    }
    suite_note("%u mutants are proved, %u of them spread", accepted, spread);
    CU_ASSERT(spread > 100 && accepted - spread > 100);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(sums_that_all_keep_are_spread),
        SUITE_CASE(what_may_be_in_use_is_not_written),
        SUITE_CASE(what_is_not_kept_as_it_is_is_not_spread),
        SUITE_CASE(sums_lie_where_they_are_kept_before_they_are_sent),
        SUITE_CASE(every_bit_is_the_specifications),
        SUITE_CASE(late_readers_read_what_was_sent),
        SUITE_CASE(what_is_proved_is_spread_right),
    };
    return suite_run("spread", cases, sizeof cases / sizeof cases[0]);
}
