/*
 * Frames of the control channel, against peers that send what no rank sends: every one of them is refused or reported,
 * and all other ranks get the reason.
 */
#include "support/buffers.h"
#include "support/heap.h"
#include "support/suite.h"
#include "unit/hw/channel.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define RANKS 4u

static void with_ranks(void (*run)(struct channel *channel), uint32_t rank)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct channel channel;
    if (channel_open(&channel, rank, RANKS, &mem))
        run(&channel);
    channel_close(&channel);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

/* What rank 1 sends, what it becomes, and whether rank 1 itself is told. */
struct hostile {
    const char *what;
    uint32_t kind;
    uint32_t bytes; /* that the head promises */
    const void *data;
    size_t length; /* of the data */
    enum ronde_status status;
    const char *text;
    bool is_told;
};

static const struct ronde_report wrong_activity = {.activity = RONDE_ACTIVITY_COUNT,
                                                   .waits_for = RONDE_NONE};
static const struct ronde_report wrong_rank = {.activity = RONDE_ACTIVITY_RUN, .waits_for = RANKS};
static const struct ronde_timeout_notice wrong_notice = {1,
                                                         {.activity = UINT32_MAX,
                                                          .waits_for = RONDE_NONE}};
static const struct ronde_alarm no_failure = {.status = RONDE_OK, .text = "all is well"};
static const struct ronde_alarm no_status = {.status = RONDE_CANCELLED + 1, .text = "?"};
static const unsigned char bytes_of_a_part[4] = {1, 2, 3, 4};

#define REFUSED RONDE_IO, "rank 1 sends what is no message of ronde", true
#define NO_ALARM RONDE_IO, "an alarm has come that is no message of ronde", false
#define LOST RONDE_DEVICE, "rank 1 was lost: its connection has ended", false

static const struct hostile hostiles[] = {
    {"a kind of frame that is none", 0x72640000u, 0, NULL, 0, REFUSED},
    {"a kind behind the last", RONDE_FRAME_TIMED_OUT + 1, 0, NULL, 0, REFUSED},
    {"zeros", 0, 0, NULL, 0, REFUSED},
    {"the other byte order", 0x02006472u, 0, NULL, 0, REFUSED},
    {"a second CONNECTED", RONDE_FRAME_CONNECTED, 0, NULL, 0, REFUSED},
    {"a result from a rank that has none", RONDE_FRAME_ALLGATHER_RESULT, 0, NULL, 0, REFUSED},
    {"a report without bytes", RONDE_FRAME_STATUS, 0, NULL, 0, REFUSED},
    {"a report that is too short", RONDE_FRAME_STATUS, 4, bytes_of_a_part, 4, REFUSED},
    {"a report that promises gigabytes", RONDE_FRAME_STATUS, UINT32_MAX, &wrong_rank,
     sizeof wrong_rank, REFUSED},
    {"a report of no activity", RONDE_FRAME_STATUS, sizeof wrong_activity, &wrong_activity,
     sizeof wrong_activity, REFUSED},
    {"a report of a wait for no rank", RONDE_FRAME_STATUS, sizeof wrong_rank, &wrong_rank,
     sizeof wrong_rank, REFUSED},
    {"a report that ends early", RONDE_FRAME_STATUS, sizeof wrong_rank, &wrong_rank,
     sizeof wrong_rank - 1, LOST},
    {"a notice that is too short", RONDE_FRAME_TIMED_OUT, sizeof wrong_rank, &wrong_rank,
     sizeof wrong_rank, REFUSED},
    {"a notice of no activity", RONDE_FRAME_TIMED_OUT, sizeof wrong_notice, &wrong_notice,
     sizeof wrong_notice, REFUSED},
    {"a notice that ends early", RONDE_FRAME_TIMED_OUT, sizeof wrong_notice, &wrong_notice, 9, LOST},
    {"a part beyond the limit", RONDE_FRAME_ALLGATHER_PART, (1u << 26) / RANKS + 1, NULL, 0, REFUSED},
    {"a part that ends early", RONDE_FRAME_ALLGATHER_PART, 5, bytes_of_a_part, 4, LOST},
    {"an alarm without bytes", RONDE_FRAME_ALARM, 0, NULL, 0, NO_ALARM},
    {"an alarm that promises gigabytes", RONDE_FRAME_ALARM, UINT32_MAX, &no_failure,
     sizeof no_failure, NO_ALARM},
    {"an alarm about nothing", RONDE_FRAME_ALARM, sizeof no_failure, &no_failure, sizeof no_failure,
     NO_ALARM},
    {"an alarm of no status", RONDE_FRAME_ALARM, sizeof no_status, &no_status, sizeof no_status,
     NO_ALARM},
    {"an alarm that ends early", RONDE_FRAME_ALARM, sizeof no_failure, &no_failure, 100, NO_ALARM},
};

static const struct hostile *current;

static void meet_hostile(struct channel *channel)
{
    const struct ronde_frame_head head = {current->kind, current->bytes};
    channel_write(channel, 1, &head, sizeof head);
    if (current->length > 0)
        channel_write(channel, 1, current->data, current->length);
    (void)shutdown(channel->peers[1], SHUT_WR);
    if (!channel_expect_failure(channel, current->status, current->text))
        suite_note("after %s", current->what);
    for (uint32_t rank = current->is_told ? 1 : 2; rank < RANKS; rank++)
        channel_expect_alarm(channel, rank, current->status, current->text);
    if (!current->is_told)
        channel_expect_nothing(channel, 1);
}

static void hostile_frames_fail_the_channel_on_all_ranks(void)
{
    for (size_t k = 0; k < sizeof hostiles / sizeof hostiles[0]; k++) {
        current = &hostiles[k];
        with_ranks(meet_hostile, 0);
    }
}

/* Rank 0 as the peer: what only it may receive is refused by the others. */
static void meet_at_leaf(struct channel *channel)
{
    const struct ronde_frame_head head = {current->kind, current->bytes};
    channel_write(channel, 0, &head, sizeof head);
    if (current->length > 0)
        channel_write(channel, 0, current->data, current->length);
    (void)shutdown(channel->peers[0], SHUT_WR);
    if (!channel_expect_failure(channel, current->status, current->text))
        suite_note("after %s", current->what);
}

static void frames_for_rank_0_are_refused_by_others(void)
{
    static const struct ronde_report sound = {.activity = RONDE_ACTIVITY_NONE,
                                              .waits_for = RONDE_NONE};
    static const struct ronde_timeout_notice notice = {1,
                                                       {.activity = RONDE_ACTIVITY_NONE,
                                                        .waits_for = RONDE_NONE}};
    static const char text[] = "rank 0 sends what is no message of ronde";
    static const struct hostile wrong[] = {
        {"a part", RONDE_FRAME_ALLGATHER_PART, 4, bytes_of_a_part, 4, RONDE_IO, text, true},
        {"a report", RONDE_FRAME_STATUS, sizeof sound, &sound, sizeof sound, RONDE_IO, text, true},
        {"a notice", RONDE_FRAME_TIMED_OUT, sizeof notice, &notice, sizeof notice, RONDE_IO, text,
         true},
        {"a second CONNECTED", RONDE_FRAME_CONNECTED, 0, NULL, 0, RONDE_IO, text, true},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        current = &wrong[k];
        with_ranks(meet_at_leaf, 2);
    }
}

static void receive_in_halves(struct channel *channel)
{
    const struct ronde_frame_head head = {RONDE_FRAME_LEAVE, 0};
    channel_write(channel, 2, &head, 1);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    channel_write(channel, 2, (const char *)&head + 1, 6);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    CU_ASSERT_FALSE(ronde_control_has_left(channel->control, 2));
    channel_write(channel, 2, (const char *)&head + 7, 1);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    CU_ASSERT_TRUE(ronde_control_has_left(channel->control, 2));
}

static void half_a_head_is_waited_for(void)
{
    with_ranks(receive_in_halves, 0);
}

static void end_in_a_head(struct channel *channel)
{
    const struct ronde_frame_head head = {RONDE_FRAME_LEAVE, 0};
    channel_write(channel, 2, &head, 5);
    channel_drop(channel, 2);
    (void)channel_expect_failure(channel, RONDE_DEVICE, "rank 2 was lost");
    channel_expect_alarm(channel, 1, RONDE_DEVICE, "rank 2 was lost");
}

static void a_connection_that_ends_in_a_head_is_a_lost_rank(void)
{
    with_ranks(end_in_a_head, 0);
}

static void leave_orderly(struct channel *channel)
{
    channel_send(channel, 1, RONDE_FRAME_LEAVE, NULL, 0);
    channel_drop(channel, 1);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    CU_ASSERT_TRUE(ronde_control_has_left(channel->control, 1));
    CU_ASSERT_FALSE(ronde_control_has_left(channel->control, 2));
    CU_ASSERT_FALSE(ronde_control_has_left(channel->control, 0));
    channel_expect_nothing(channel, 2);
    /* What fails later goes to those that are still there. */
    channel_alarm(channel, 2, RONDE_REJECTED, "rank 2 has had enough");
    (void)channel_expect_failure(channel, RONDE_REJECTED, "rank 2 has had enough");
    channel_expect_alarm(channel, 3, RONDE_REJECTED, "rank 2 has had enough");
    channel_expect_nothing(channel, 2);
}

static void a_rank_that_leaves_is_not_lost(void)
{
    with_ranks(leave_orderly, 0);
}

static void end_without_leave(struct channel *channel)
{
    channel_drop(channel, 3);
    (void)channel_expect_failure(channel, RONDE_DEVICE, "rank 3 was lost: its connection has ended");
    for (uint32_t rank = 1; rank < 3; rank++)
        channel_expect_alarm(channel, rank, RONDE_DEVICE, "rank 3 was lost");
}

static void a_connection_that_ends_is_a_lost_rank(void)
{
    with_ranks(end_without_leave, 0);
}

static void leave_with_a_part(struct channel *channel)
{
    channel_send(channel, 1, RONDE_FRAME_ALLGATHER_PART, bytes_of_a_part, 4);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    channel_send(channel, 1, RONDE_FRAME_LEAVE, NULL, 0);
    (void)channel_expect_failure(channel, RONDE_DEVICE, "rank 1 was lost");
    channel_expect_alarm(channel, 2, RONDE_DEVICE, "rank 1 was lost");
}

static void who_leaves_in_an_allgather_is_lost(void)
{
    with_ranks(leave_with_a_part, 0);
}

static void send_two_alarms(struct channel *channel)
{
    channel_alarm(channel, 2, RONDE_NO_MEMORY, "the second to come");
    channel_alarm(channel, 1, RONDE_REJECTED, "the first to be read");
    (void)channel_expect_failure(channel, RONDE_REJECTED, "the first to be read");
    channel_expect_alarm(channel, 2, RONDE_REJECTED, "the first to be read");
    channel_expect_alarm(channel, 3, RONDE_REJECTED, "the first to be read");
    /* An alarm of its own comes too late as well. */
    struct ronde_error late = {0};
    (void)ronde_fail(&late, RONDE_IO, "too late");
    ronde_control_alarm(channel->control, &late);
    (void)channel_expect_failure(channel, RONDE_REJECTED, "the first to be read");
    channel_expect_nothing(channel, 3);
}

static void the_first_failure_stays(void)
{
    with_ranks(send_two_alarms, 0);
}

static void send_a_long_alarm(struct channel *channel)
{
    struct ronde_alarm alarm = {.status = RONDE_IO};
    memset(alarm.text, 'x', sizeof alarm.text);
    channel_send(channel, 1, RONDE_FRAME_ALARM, &alarm, sizeof alarm);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_IO);
    CU_ASSERT_EQUAL(strlen(channel->error.message), RONDE_ERROR_MESSAGE_BYTES - 1);
}

static void an_alarm_without_an_end_is_cut(void)
{
    with_ranks(send_a_long_alarm, 0);
}

static void abort_it(struct channel *channel)
{
    struct ronde_error error = {0};
    char text[64];
    const uint32_t own = channel->control->rank;
    snprintf(text, sizeof text, "rank %u aborted the communicator", own);
    CU_ASSERT_EQUAL(ronde_control_known(channel->control, &error), RONDE_OK);
    ronde_control_abort(channel->control);
    CU_ASSERT_EQUAL(ronde_control_known(channel->control, &error), RONDE_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(error.message, text);
    (void)channel_expect_failure(channel, RONDE_TIMEOUT, text);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if (channel->peers[rank] >= 0)
            channel_expect_alarm(channel, rank, RONDE_TIMEOUT, text);
}

static void an_abort_reaches_all(void)
{
    with_ranks(abort_it, 0);
    with_ranks(abort_it, 3);
}

static void describe_a_run(void *self, struct ronde_report *out)
{
    const uint32_t *peer = self;
    CU_ASSERT_EQUAL(out->waits_for, RONDE_NONE);
    out->activity = RONDE_ACTIVITY_RUN;
    out->waits_for = *peer;
    out->run = 7;
}

static void ask_for_status(struct channel *channel)
{
    uint32_t peer = 2, bytes = 0;
    struct ronde_report report;
    channel_send(channel, 0, RONDE_FRAME_STATUS_QUERY, NULL, 0);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    CU_ASSERT_EQUAL(channel_receive(channel, 0, &report, sizeof report, &bytes), RONDE_FRAME_STATUS);
    CU_ASSERT_EQUAL(report.activity, RONDE_ACTIVITY_NONE);
    CU_ASSERT_EQUAL(report.waits_for, RONDE_NONE);
    ronde_control_set_describe(channel->control, describe_a_run, &peer);
    channel_send(channel, 0, RONDE_FRAME_STATUS_QUERY, NULL, 0);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    CU_ASSERT_EQUAL(channel_receive(channel, 0, &report, sizeof report, &bytes), RONDE_FRAME_STATUS);
    CU_ASSERT_EQUAL(bytes, sizeof report);
    CU_ASSERT_EQUAL(report.activity, RONDE_ACTIVITY_RUN);
    CU_ASSERT_EQUAL(report.waits_for, 2);
    CU_ASSERT_EQUAL(report.run, 7);
    channel_expect_nothing(channel, 0);
}

static void a_query_is_answered_with_what_the_rank_does(void)
{
    with_ranks(ask_for_status, 1);
}

static void report_unasked(struct channel *channel)
{
    static const struct ronde_report sound = {.activity = RONDE_ACTIVITY_RUN,
                                              .waits_for = RONDE_UNKNOWN_RANK};
    channel_send(channel, 2, RONDE_FRAME_STATUS, &sound, sizeof sound);
    CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
    for (uint32_t rank = 1; rank < RANKS; rank++)
        channel_expect_nothing(channel, rank);
}

static void a_report_that_comes_late_is_dropped(void)
{
    with_ranks(report_unasked, 0);
}

static void leave_at_the_end(struct channel *channel)
{
    int copies[RANKS];
    uint32_t kind[2] = {0, 0};
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        copies[rank] = channel->peers[rank];
        (void)shutdown(copies[rank], SHUT_WR);
    }
    ronde_control_destroy(channel->control);
    channel->control = NULL;
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        CU_ASSERT_EQUAL(recv(copies[rank], kind, sizeof kind, MSG_DONTWAIT), (ssize_t)sizeof kind);
        CU_ASSERT_EQUAL(kind[0], RONDE_FRAME_LEAVE);
        CU_ASSERT_EQUAL(kind[1], 0);
        CU_ASSERT_EQUAL(recv(copies[rank], kind, 1, MSG_DONTWAIT), 0);
    }
}

static void destroying_says_leave_to_all(void)
{
    with_ranks(leave_at_the_end, 0);
}

/* What a foreign program might send: words, some of them kinds of frames, with any lengths. */
static size_t draw_stream(uint64_t *state, uint32_t words[64])
{
    const size_t count = 1 + buffers_draw(state) % 64;
    for (size_t k = 0; k < count; k++)
        words[k] = buffers_draw(state) % 4 == 0
                       ? RONDE_FRAME_CONNECTED + (uint32_t)(buffers_draw(state) % 9)
                       : (uint32_t)(buffers_draw(state) >> (32 + buffers_draw(state) % 32));
    return count * sizeof words[0] - buffers_draw(state) % 4;
}

/* Whichever it is, the channel fails by itself, once, and tells the others once. */
static void meet_noise(struct channel *channel)
{
    static uint64_t state = 1;
    uint32_t words[64];
    struct ronde_alarm alarm;
    uint32_t bytes = 0;
    channel_write(channel, 1, words, draw_stream(&state, words));
    (void)shutdown(channel->peers[1], SHUT_WR);
    enum ronde_status status = RONDE_OK;
    for (uint32_t poll = 0; poll < 100 && status == RONDE_OK; poll++) {
        /* A rank that has left by a frame of its own is gone: nothing more can come from it. */
        if (ronde_control_has_left(channel->control, 1))
            return;
        status = channel_check(channel);
    }
    CU_ASSERT_NOT_EQUAL(status, RONDE_OK);
    CU_ASSERT_NOT_EQUAL(channel->error.message[0], '\0');
    for (uint32_t rank = 2; rank < RANKS && status != RONDE_OK; rank++) {
        memset(&alarm, 0, sizeof alarm);
        while (channel_receive(channel, rank, &alarm, sizeof alarm, &bytes) ==
               RONDE_FRAME_STATUS_QUERY)
            continue;
        CU_ASSERT_EQUAL(alarm.status, status);
        CU_ASSERT_STRING_EQUAL(alarm.text, channel->error.message);
        channel_expect_nothing(channel, rank);
    }
}

static void noise_never_does_more_than_fail(void)
{
    for (uint32_t stream = 0; stream < 300; stream++)
        with_ranks(meet_noise, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"hostile_frames_fail_the_channel_on_all_ranks",
         hostile_frames_fail_the_channel_on_all_ranks},
        {"frames_for_rank_0_are_refused_by_others", frames_for_rank_0_are_refused_by_others},
        {"half_a_head_is_waited_for", half_a_head_is_waited_for},
        {"a_connection_that_ends_in_a_head_is_a_lost_rank",
         a_connection_that_ends_in_a_head_is_a_lost_rank},
        {"a_rank_that_leaves_is_not_lost", a_rank_that_leaves_is_not_lost},
        {"a_connection_that_ends_is_a_lost_rank", a_connection_that_ends_is_a_lost_rank},
        {"who_leaves_in_an_allgather_is_lost", who_leaves_in_an_allgather_is_lost},
        {"the_first_failure_stays", the_first_failure_stays},
        {"an_alarm_without_an_end_is_cut", an_alarm_without_an_end_is_cut},
        {"an_abort_reaches_all", an_abort_reaches_all},
        {"a_query_is_answered_with_what_the_rank_does", a_query_is_answered_with_what_the_rank_does},
        {"a_report_that_comes_late_is_dropped", a_report_that_comes_late_is_dropped},
        {"destroying_says_leave_to_all", destroying_says_leave_to_all},
        {"noise_never_does_more_than_fail", noise_never_does_more_than_fail},
    };
    return suite_run("control_frames", cases, sizeof cases / sizeof cases[0]);
}
