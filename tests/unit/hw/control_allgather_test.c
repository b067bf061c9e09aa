/*
 * Allgather over the control channel, with peers that the test plays: what is exchanged, in which order, and what each
 * rank is told where it fails.
 */
#include "support/buffers.h"
#include "support/heap.h"
#include "support/suite.h"
#include "unit/hw/channel.h"

#include "ronde/attach.h"
#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Longest part that fits into the sockets of all ranks at once. */
#define MOST_BYTES 1000u

static unsigned char byte_of(uint32_t rank, size_t at)
{
    return (unsigned char)(rank * 37 + at * 11 + 1);
}

static void fill_part(uint32_t rank, unsigned char *part, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        part[k] = byte_of(rank, k);
}

static bool is_result(const unsigned char *all, uint32_t ranks, size_t bytes)
{
    for (uint32_t rank = 0; rank < ranks; rank++)
        for (size_t k = 0; k < bytes; k++)
            if (all[rank * bytes + k] != byte_of(rank, k))
                return false;
    return true;
}

static enum ronde_status gather(struct channel *channel, const void *mine, size_t bytes, void *all)
{
    memset(&channel->error, 0, sizeof channel->error);
    return ronde_control_allgather(channel->control, mine, bytes, all, &channel->error);
}

static void expect_text(const struct channel *channel, const char *text)
{
    if (!strstr(channel->error.message, text))
        suite_note("\"%s\" lacks \"%s\"", channel->error.message, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(channel->error.message, text));
}

/* A channel on a counting heap, and the heap is empty in the end. */
struct fixture {
    struct heap heap;
    struct ronde_mem mem;
    struct channel channel;
};

static bool begin(struct fixture *fixture, uint32_t rank, uint32_t ranks)
{
    fixture->heap = heap_start(SIZE_MAX, false);
    fixture->mem = heap_mem(&fixture->heap);
    return channel_open(&fixture->channel, rank, ranks, &fixture->mem);
}

static void end(struct fixture *fixture)
{
    channel_close(&fixture->channel);
    CU_ASSERT_EQUAL(fixture->heap.live_blocks, 0);
    CU_ASSERT_EQUAL(fixture->heap.wrong_sizes, 0);
}

/* Parts arrive in any order, some while rank 0 does something else. */
static void gather_at_root(uint32_t ranks, size_t bytes, uint64_t seed)
{
    struct fixture fixture;
    struct channel *channel = &fixture.channel;
    unsigned char part[MOST_BYTES], all[CHANNEL_RANKS * MOST_BYTES];
    if (!begin(&fixture, 0, ranks))
        return;
    for (uint32_t k = 0; k + 1 < ranks; k++) {
        const uint32_t rank = 1 + (uint32_t)((k * 7 + seed) % (ranks - 1));
        const bool is_new = !channel->control->inboxes[rank].is_full;
        CU_ASSERT((ranks - 1) % 7 == 0 || is_new);
        fill_part(rank, part, bytes);
        channel_send(channel, rank, RONDE_FRAME_ALLGATHER_PART, part, (uint32_t)bytes);
        if ((seed + k) % 2 == 0)
            CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    }
    fill_part(0, part, bytes);
    CU_ASSERT_EQUAL(gather(channel, part, bytes, all), RONDE_OK);
    CU_ASSERT(is_result(all, ranks, bytes));
    for (uint32_t rank = 1; rank < ranks; rank++) {
        uint32_t got = 0;
        memset(all, 0, sizeof all);
        CU_ASSERT_EQUAL(channel_receive(channel, rank, all, sizeof all, &got),
                        RONDE_FRAME_ALLGATHER_RESULT);
        CU_ASSERT_EQUAL(got, ranks * bytes);
        CU_ASSERT(is_result(all, ranks, bytes));
        channel_expect_nothing(channel, rank);
    }
    end(&fixture);
}

static void rank_0_returns_all_parts_in_order_of_ranks(void)
{
    static const size_t bytes[] = {0, 1, 3, 4, 16, 257, MOST_BYTES};
    static const uint32_t ranks[] = {2, 3, 5, 9, 13};
    for (size_t b = 0; b < sizeof bytes / sizeof bytes[0]; b++)
        for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; r++)
            gather_at_root(ranks[r], bytes[b], b + 3 * r);
}

static void one_rank_gathers_from_itself(void)
{
    struct fixture fixture;
    unsigned char part[5], all[5] = {0};
    if (!begin(&fixture, 0, 1))
        return;
    fill_part(0, part, sizeof part);
    CU_ASSERT_EQUAL(gather(&fixture.channel, part, sizeof part, all), RONDE_OK);
    CU_ASSERT_EQUAL(memcmp(part, all, sizeof part), 0);
    CU_ASSERT_EQUAL(gather(&fixture.channel, NULL, 0, NULL), RONDE_OK);
    end(&fixture);
}

static void another_rank_sends_its_part_and_receives_all(void)
{
    static const uint32_t sizes[] = {0, 1, 12, MOST_BYTES};
    unsigned char part[MOST_BYTES], all[3 * MOST_BYTES], sent[MOST_BYTES];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct fixture fixture;
        const uint32_t bytes = sizes[s];
        uint32_t got = 0;
        if (!begin(&fixture, 2, 3))
            return;
        for (uint32_t rank = 0; rank < 3; rank++)
            fill_part(rank, all + rank * bytes, bytes);
        channel_send(&fixture.channel, 0, RONDE_FRAME_ALLGATHER_RESULT, all, 3 * bytes);
        memset(all, 0, sizeof all);
        fill_part(2, part, bytes);
        CU_ASSERT_EQUAL(gather(&fixture.channel, part, bytes, all), RONDE_OK);
        CU_ASSERT(is_result(all, 3, bytes));
        CU_ASSERT_EQUAL(channel_receive(&fixture.channel, 0, sent, sizeof sent, &got),
                        RONDE_FRAME_ALLGATHER_PART);
        CU_ASSERT_EQUAL(got, bytes);
        CU_ASSERT_EQUAL(memcmp(sent, part, bytes), 0);
        end(&fixture);
    }
}

/* A result is left where it is by calls that only look for alarms, however often they look. */
static void a_result_waits_for_its_call(void)
{
    struct fixture fixture;
    const uint64_t values[2] = {11, 22};
    uint64_t all[2] = {0, 0};
    if (!begin(&fixture, 1, 2))
        return;
    channel_send(&fixture.channel, 0, RONDE_FRAME_ALLGATHER_RESULT, values, sizeof values);
    for (uint32_t k = 0; k < 3; k++)
        CU_ASSERT_EQUAL(channel_check(&fixture.channel), RONDE_OK);
    CU_ASSERT_EQUAL(gather(&fixture.channel, &values[1], sizeof values[1], all), RONDE_OK);
    CU_ASSERT_EQUAL(memcmp(all, values, sizeof all), 0);
    end(&fixture);
}

static void parts_of_other_lengths_are_refused_by_all(void)
{
    static const uint32_t others[] = {0, 3, 5, 4000};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        struct fixture fixture;
        unsigned char part[4000] = {0}, all[12];
        char text[96];
        if (!begin(&fixture, 0, 3))
            return;
        channel_send(&fixture.channel, 1, RONDE_FRAME_ALLGATHER_PART, part, 4);
        channel_send(&fixture.channel, 2, RONDE_FRAME_ALLGATHER_PART, part, others[k]);
        snprintf(text, sizeof text, "rank 2 and rank 0 gather different things: %u bytes and 4",
                 others[k]);
        CU_ASSERT_EQUAL(gather(&fixture.channel, part, 4, all), RONDE_REJECTED);
        expect_text(&fixture.channel, text);
        channel_expect_alarm(&fixture.channel, 1, RONDE_REJECTED, text);
        channel_expect_alarm(&fixture.channel, 2, RONDE_REJECTED, text);
        end(&fixture);
    }
}

static void a_result_of_another_length_is_refused(void)
{
    struct fixture fixture;
    unsigned char all[64] = {0};
    if (!begin(&fixture, 1, 3))
        return;
    channel_send(&fixture.channel, 0, RONDE_FRAME_ALLGATHER_RESULT, all, 15);
    CU_ASSERT_EQUAL(gather(&fixture.channel, all, 4, all), RONDE_REJECTED);
    expect_text(&fixture.channel, "rank 0 and rank 1 gather different things: 5 bytes and 4");
    end(&fixture);
}

static void too_many_bytes_are_refused_before_any_is_sent(void)
{
    static const uint32_t ranks[] = {1, 2, 16};
    for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; r++) {
        struct fixture fixture;
        unsigned char byte = 0;
        if (!begin(&fixture, 0, ranks[r]))
            return;
        CU_ASSERT_EQUAL(gather(&fixture.channel, &byte, (1u << 26) / ranks[r] + 1, &byte),
                        RONDE_BAD_ARGUMENT);
        expect_text(&fixture.channel, "are too many");
        CU_ASSERT_EQUAL(channel_check(&fixture.channel), RONDE_OK);
        for (uint32_t rank = 1; rank < ranks[r]; rank++)
            channel_expect_nothing(&fixture.channel, rank);
        end(&fixture);
    }
}

static void a_rank_that_has_left_is_named(void)
{
    struct fixture fixture;
    uint64_t mine = 1, all[3];
    if (!begin(&fixture, 0, 3))
        return;
    channel_send(&fixture.channel, 1, RONDE_FRAME_ALLGATHER_PART, &mine, sizeof mine);
    channel_send(&fixture.channel, 2, RONDE_FRAME_LEAVE, NULL, 0);
    CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_DEVICE);
    expect_text(&fixture.channel, "rank 2 has left the communicator");
    channel_expect_alarm(&fixture.channel, 1, RONDE_DEVICE, "rank 2 has left the communicator");
    /* A later call says the same, at once. */
    CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_DEVICE);
    expect_text(&fixture.channel, "rank 2 has left the communicator");
    end(&fixture);
}

static void where_rank_0_has_left_nothing_is_gathered(void)
{
    struct fixture fixture;
    uint64_t mine = 1, all[3];
    if (!begin(&fixture, 2, 3))
        return;
    channel_send(&fixture.channel, 0, RONDE_FRAME_LEAVE, NULL, 0);
    CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_DEVICE);
    expect_text(&fixture.channel, "rank 0 was lost");
    end(&fixture);
}

static void a_result_that_ends_early_is_a_lost_rank(void)
{
    struct fixture fixture;
    const struct ronde_frame_head head = {RONDE_FRAME_ALLGATHER_RESULT, 24};
    uint64_t mine = 1, all[3] = {0};
    if (!begin(&fixture, 2, 3))
        return;
    channel_write(&fixture.channel, 0, &head, sizeof head);
    channel_write(&fixture.channel, 0, all, 23);
    (void)shutdown(fixture.channel.peers[0], SHUT_WR);
    CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_DEVICE);
    expect_text(&fixture.channel, "rank 0 was lost");
    end(&fixture);
}

/* The part lies in front of the alarm in the same socket, and rank 0 does not gather yet. */
static void a_part_hides_no_alarm_behind_it(void)
{
    struct fixture fixture;
    uint64_t mine = 1;
    if (!begin(&fixture, 0, 3))
        return;
    channel_send(&fixture.channel, 1, RONDE_FRAME_ALLGATHER_PART, &mine, sizeof mine);
    channel_alarm(&fixture.channel, 1, RONDE_UNAVAILABLE, "no more paper");
    CU_ASSERT_EQUAL(channel_check(&fixture.channel), RONDE_OK);
    (void)channel_expect_failure(&fixture.channel, RONDE_UNAVAILABLE, "no more paper");
    channel_expect_alarm(&fixture.channel, 2, RONDE_UNAVAILABLE, "no more paper");
    end(&fixture);
}

static void a_second_part_before_the_first_is_taken_is_refused(void)
{
    struct fixture fixture;
    uint64_t mine = 1;
    if (!begin(&fixture, 0, 2))
        return;
    channel_send(&fixture.channel, 1, RONDE_FRAME_ALLGATHER_PART, &mine, sizeof mine);
    channel_send(&fixture.channel, 1, RONDE_FRAME_ALLGATHER_PART, &mine, sizeof mine);
    CU_ASSERT_EQUAL(channel_check(&fixture.channel), RONDE_OK);
    (void)channel_expect_failure(&fixture.channel, RONDE_IO, "rank 1 sends what is no message");
    end(&fixture);
}

static void an_alarm_ends_the_wait_on_either_side(void)
{
    for (uint32_t own = 0; own < 2; own++) {
        struct fixture fixture;
        uint64_t mine = 1, all[2];
        if (!begin(&fixture, own, 2))
            return;
        channel_alarm(&fixture.channel, 1 - own, RONDE_NO_MEMORY, "out of paper");
        CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_NO_MEMORY);
        expect_text(&fixture.channel, "out of paper");
        CU_ASSERT_FALSE(fixture.channel.control->is_gathering);
        end(&fixture);
    }
}

static void no_memory_for_a_part_is_told_to_all(void)
{
    struct fixture fixture;
    uint64_t mine = 1, all[3];
    if (!begin(&fixture, 0, 3))
        return;
    fixture.heap.refuse_at = fixture.heap.requests;
    channel_send(&fixture.channel, 2, RONDE_FRAME_ALLGATHER_PART, &mine, sizeof mine);
    CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_NO_MEMORY);
    expect_text(&fixture.channel, "no memory for 8 bytes of rank 2");
    for (uint32_t rank = 1; rank < 3; rank++)
        channel_expect_alarm(&fixture.channel, rank, RONDE_NO_MEMORY,
                             "no memory for 8 bytes of rank 2");
    end(&fixture);
}

/* What a rank drives while it waits: here the peer it waits for. */
struct driven {
    struct channel *channel;
    uint32_t calls;
    uint32_t needed; /* calls until the peer sends its part */
    int answer;      /* the hook's */
};

static void drive_peer(struct driven *driven)
{
    const uint64_t part = 5;
    if (++driven->calls == driven->needed)
        channel_send(driven->channel, 1, RONDE_FRAME_ALLGATHER_PART, &part, sizeof part);
}

static int progress_hook(void *self)
{
    struct driven *driven = self;
    drive_peer(driven);
    return driven->answer;
}

static struct driven *waited;

static bool wait_hook(void)
{
    drive_peer(waited);
    return true;
}

static void expect_driven(struct driven *driven)
{
    uint64_t mine = 3, all[2] = {0, 0};
    CU_ASSERT_EQUAL(gather(driven->channel, &mine, sizeof mine, all), RONDE_OK);
    CU_ASSERT_EQUAL(all[0], 3);
    CU_ASSERT_EQUAL(all[1], 5);
    CU_ASSERT(driven->calls >= driven->needed);
}

static void what_a_wait_drives_may_end_it(void)
{
    static const int answers[] = {-1, RONDE_CONTROL_SOON};
    for (size_t k = 0; k < sizeof answers / sizeof answers[0]; k++) {
        struct fixture fixture;
        struct driven driven = {&fixture.channel, 0, 5, answers[k]};
        if (!begin(&fixture, 0, 2))
            return;
        ronde_control_set_progress_hook(fixture.channel.control, progress_hook, &driven);
        /* Without a wait nothing is driven. */
        CU_ASSERT_EQUAL(channel_check(&fixture.channel), RONDE_OK);
        CU_ASSERT_EQUAL(driven.calls, 0);
        expect_driven(&driven);
        end(&fixture);
    }
    struct fixture fixture;
    struct driven driven = {&fixture.channel, 0, 5, 0};
    if (!begin(&fixture, 0, 2))
        return;
    waited = &driven;
    ronde_comm_set_wait_hook(wait_hook);
    expect_driven(&driven);
    ronde_comm_set_wait_hook(NULL);
    end(&fixture);
}

/* A descriptor of the hook's: it is called again when that is readable. */
static void a_descriptor_of_the_hook_ends_a_wait(void)
{
    struct fixture fixture;
    int pair[2];
    if (!begin(&fixture, 0, 2) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return;
    struct driven driven = {&fixture.channel, 0, 3, pair[0]};
    CU_ASSERT_EQUAL(send(pair[1], "", 1, 0), 1);
    ronde_control_set_progress_hook(fixture.channel.control, progress_hook, &driven);
    expect_driven(&driven);
    ronde_control_set_progress_hook(fixture.channel.control, NULL, NULL);
    end(&fixture);
    close(pair[0]);
    close(pair[1]);
}

/* The deadline that another thread brings forward is that of the error, too. */
static void a_deadline_brought_forward_ends_the_wait(void)
{
    struct fixture fixture;
    static const struct ronde_report idle = {.activity = RONDE_ACTIVITY_NONE,
                                             .waits_for = RONDE_NONE};
    uint64_t mine = 3, all[2];
    if (!begin(&fixture, 0, 2))
        return;
    /* The answer to the question that rank 0 is going to ask. */
    channel_send(&fixture.channel, 1, RONDE_FRAME_STATUS, &idle, sizeof idle);
    ronde_control_hurry(fixture.channel.control, ronde_clock_ns() - 1.0);
    CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_TIMEOUT);
    expect_text(&fixture.channel, "a gathering took longer than");
    expect_text(&fixture.channel, "rank 1 has not come to gather: it answers, and is in no run");
    end(&fixture);
}

static void a_new_time_limit_takes_back_a_hurry(void)
{
    struct fixture fixture;
    const uint64_t part = 5;
    uint64_t mine = 3, all[2];
    if (!begin(&fixture, 0, 2))
        return;
    ronde_control_hurry(fixture.channel.control, ronde_clock_ns() - 1.0);
    ronde_control_set_timeout(fixture.channel.control, 0);
    CU_ASSERT_EQUAL(fixture.channel.control->timeout_ns, RONDE_COMM_TIMEOUT_NS);
    channel_send(&fixture.channel, 1, RONDE_FRAME_ALLGATHER_PART, &part, sizeof part);
    CU_ASSERT_EQUAL(gather(&fixture.channel, &mine, sizeof mine, all), RONDE_OK);
    end(&fixture);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rank_0_returns_all_parts_in_order_of_ranks", rank_0_returns_all_parts_in_order_of_ranks},
        {"one_rank_gathers_from_itself", one_rank_gathers_from_itself},
        {"another_rank_sends_its_part_and_receives_all",
         another_rank_sends_its_part_and_receives_all},
        {"a_result_waits_for_its_call", a_result_waits_for_its_call},
        {"parts_of_other_lengths_are_refused_by_all", parts_of_other_lengths_are_refused_by_all},
        {"a_result_of_another_length_is_refused", a_result_of_another_length_is_refused},
        {"too_many_bytes_are_refused_before_any_is_sent",
         too_many_bytes_are_refused_before_any_is_sent},
        {"a_rank_that_has_left_is_named", a_rank_that_has_left_is_named},
        {"where_rank_0_has_left_nothing_is_gathered", where_rank_0_has_left_nothing_is_gathered},
        {"a_result_that_ends_early_is_a_lost_rank", a_result_that_ends_early_is_a_lost_rank},
        {"a_part_hides_no_alarm_behind_it", a_part_hides_no_alarm_behind_it},
        {"a_second_part_before_the_first_is_taken_is_refused",
         a_second_part_before_the_first_is_taken_is_refused},
        {"an_alarm_ends_the_wait_on_either_side", an_alarm_ends_the_wait_on_either_side},
        {"no_memory_for_a_part_is_told_to_all", no_memory_for_a_part_is_told_to_all},
        {"what_a_wait_drives_may_end_it", what_a_wait_drives_may_end_it},
        {"a_descriptor_of_the_hook_ends_a_wait", a_descriptor_of_the_hook_ends_a_wait},
        {"a_deadline_brought_forward_ends_the_wait", a_deadline_brought_forward_ends_the_wait},
        {"a_new_time_limit_takes_back_a_hurry", a_new_time_limit_takes_back_a_hurry},
    };
    return suite_run("control_allgather", cases, sizeof cases / sizeof cases[0]);
}
