/*
 * Who stalls the others: rank 0's diagnosis of reports that the test writes, so that every chain and cycle of waits can
 * be had, in one thread and without waiting. Real stalls are in net/stall_diagnosis.
 */
#include "support/buffers.h"
#include "support/heap.h"
#include "support/suite.h"
#include "unit/hw/channel.h"

#include <stdio.h>
#include <string.h>

/* What a rank reports besides activity and peer. */
enum { GONE = -1, IN_ALLGATHER = -2, IDLE = -3, UNKNOWN = -4, UNSENT = -5, SILENT = -6 };

/* What each rank does: a rank it waits for, or one of the above; `unbegun` by bits. */
struct story {
    const char *what;
    uint32_t ranks;
    uint32_t from; /* the rank whose time limit has passed */
    int waits[8];
    unsigned unbegun;
    const char *text;
    const char *other; /* in the same message */
};

static void fill_report(int waits, uint32_t rank, bool is_unbegun, struct ronde_report *out)
{
    memset(out, 0, sizeof *out);
    out->waits_for = RONDE_NONE;
    out->activity = waits == IN_ALLGATHER ? RONDE_ACTIVITY_ALLGATHER
                    : waits == IDLE       ? RONDE_ACTIVITY_NONE
                                          : RONDE_ACTIVITY_RUN;
    if (out->activity != RONDE_ACTIVITY_RUN)
        return;
    out->waits_for = waits == UNKNOWN  ? RONDE_UNKNOWN_RANK
                     : waits == UNSENT ? RONDE_SILENT_RANK
                                       : (uint32_t)waits;
    out->run = 40 + rank;
    out->still_ns = UINT64_C(1500000000);
    out->is_unbegun = is_unbegun;
    snprintf(out->name, sizeof out->name, "all_reduce ring");
    snprintf(out->reason, sizeof out->reason, "rank %u waits for %d", rank, waits);
}

/* A story that is being told, and whether the others have answered. */
struct telling {
    struct channel *channel;
    const struct story *story;
    bool is_answered;
};

static void send_reports(const struct telling *telling)
{
    const struct story *story = telling->story;
    for (uint32_t rank = 1; rank < story->ranks; rank++) {
        struct ronde_report report;
        if (rank == story->from || story->waits[rank] == GONE || story->waits[rank] == SILENT)
            continue;
        fill_report(story->waits[rank], rank, (story->unbegun >> rank & 1u) != 0, &report);
        channel_send(telling->channel, rank, RONDE_FRAME_STATUS, &report, sizeof report);
    }
}

/* Rank 0 describes itself when it begins to ask, so the others' answers are in their sockets when it looks for them. */
static void describe_root(void *self, struct ronde_report *out)
{
    struct telling *telling = self;
    fill_report(telling->story->waits[0], 0, telling->story->unbegun & 1u, out);
    if (!telling->is_answered)
        send_reports(telling);
    telling->is_answered = true;
}

static enum ronde_status diagnose(struct channel *channel, const struct story *story)
{
    struct telling telling = {channel, story, false};
    struct ronde_timeout_notice notice = {UINT64_C(2500000000), {0}};
    ronde_control_set_describe(channel->control, describe_root, &telling);
    channel->control->is_gathering = story->waits[0] == IN_ALLGATHER;
    for (uint32_t rank = 1; rank < story->ranks; rank++)
        if (story->waits[rank] == GONE) {
            channel_send(channel, rank, RONDE_FRAME_LEAVE, NULL, 0);
            CU_ASSERT_EQUAL(channel_check(channel), RONDE_OK);
        }
    memset(&channel->error, 0, sizeof channel->error);
    if (story->from == 0)
        return ronde_control_timed_out(channel->control, 2.5e9, &channel->error);
    fill_report(story->waits[story->from], story->from, (story->unbegun >> story->from & 1u) != 0,
                &notice.report);
    channel_send(channel, story->from, RONDE_FRAME_TIMED_OUT, &notice, sizeof notice);
    return channel_check(channel);
}

static bool has(const struct channel *channel, const char *text)
{
    const bool is_there = strstr(channel->error.message, text) != NULL;
    if (!is_there)
        suite_note("\"%s\" lacks \"%s\"", channel->error.message, text);
    CU_ASSERT(is_there);
    return is_there;
}

/* The verdict goes to all that are still there, rank by rank after the question. */
static void expect_told(const struct channel *channel, const struct story *story)
{
    for (uint32_t rank = 1; rank < story->ranks; rank++) {
        unsigned char none[8];
        uint32_t bytes = 0;
        if (story->waits[rank] == GONE)
            continue;
        if (rank != story->from)
            CU_ASSERT_EQUAL(channel_receive(channel, rank, none, sizeof none, &bytes),
                            RONDE_FRAME_STATUS_QUERY);
        channel_expect_alarm(channel, rank, RONDE_TIMEOUT, channel->error.message);
    }
}

static void tell(const struct story *story)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct channel channel;
    if (!channel_open(&channel, 0, story->ranks, &mem))
        return;
    CU_ASSERT_EQUAL(diagnose(&channel, story), RONDE_TIMEOUT);
    const bool is_right = has(&channel, story->text) && has(&channel, "took longer than 2.5 s");
    if (!is_right || (story->other && !has(&channel, story->other)))
        suite_note("where %s", story->what);
    expect_told(&channel, story);
    channel_close(&channel);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

static const struct story stories[] = {
    {"rank 1 waits for an idle rank", 3, 1, {1, 2, IDLE}, 2, "rank 2 has not begun run 41", NULL},
    {"all wait along a chain", 4, 1, {1, 2, 3, IDLE}, 0, "3 ranks wait for it", NULL},
    {"one waits, one idles elsewhere", 4, 1, {IDLE, 2, IDLE, IDLE}, 0, "1 rank waits for it", NULL},
    {"the awaited rank stands still in its run",
     3,
     1,
     {IDLE, 2, IDLE},
     0,
     "rank 2 stands still in run 41 (all_reduce ring)",
     "it answers, and is in no run"},
    {"the awaited rank has left",
     3,
     1,
     {IDLE, 2, GONE},
     2,
     "it has left the communicator",
     "rank 2 has not begun run 41"},
    {"one has left that nobody waits for",
     4,
     1,
     {IDLE, 2, IDLE, GONE},
     0,
     "rank 2 stands still",
     "1 rank waits"},
    {"two wait for each other",
     3,
     1,
     {IDLE, 2, 1},
     0,
     "the run took longer",
     "rank 2 waits for 1 (run 42, still for 1.5 s)"},
    {"a cycle of four, seen from its side", 5, 1, {IDLE, 2, 3, 4, 2}, 0, "(run 4", "; rank "},
    {"a rank waits for itself", 2, 1, {IDLE, 1}, 0, "rank 1 waits for 1 (run 41", "; rank 1"},
    {"a rank of a run waits for nobody", 3, 1, {IDLE, 2, UNKNOWN}, 0, "the run took longer", NULL},
    {"messages do not leave, and a rank is silent",
     4,
     1,
     {UNSENT, UNSENT, IDLE, SILENT},
     0,
     "rank 3 stands still in run 41 (all_reduce ring)",
     "2 ranks wait for it"},
    {"messages do not leave, and all reply", 3, 1, {IDLE, UNSENT, IDLE}, 0, "rank 1 waits for", NULL},
    {"ranks gather, one does not come",
     4,
     1,
     {IN_ALLGATHER, IN_ALLGATHER, IN_ALLGATHER, IDLE},
     0,
     "a gathering took longer than 2.5 s: rank 3 has not come to gather",
     "it answers, and is in no run; 3 ranks wait for it"},
    {"one gathers, the others run",
     3,
     1,
     {2, IN_ALLGATHER, 0},
     0,
     "a gathering took longer",
     "rank 0 waits for 2"},
    {"one has left an allgather",
     3,
     1,
     {IN_ALLGATHER, IN_ALLGATHER, GONE},
     0,
     "rank 2 has not come to gather: it has left the communicator; 2 ranks wait for it",
     NULL},
    {"rank 0 is late itself",
     3,
     0,
     {1, 2, IDLE},
     0,
     "2 ranks wait for it",
     "rank 2 stands still in run 41"},
    {"rank 0 is the one that all wait for",
     4,
     2,
     {IDLE, 0, 1, 2},
     0xe,
     "rank 0 has not begun run 41",
     "3 ranks wait for it"},
    {"a device waits without knowing for whom",
     4,
     1,
     {UNKNOWN, UNKNOWN, UNKNOWN, IDLE},
     0,
     "rank 3 stands still in run 4",
     "3 ranks wait for it"},
};

static void the_rank_at_the_end_of_the_chain_is_named(void)
{
    for (size_t k = 0; k < sizeof stories / sizeof stories[0]; k++)
        tell(&stories[k]);
}

/* The answer known from how the graph was made: a forest, each rank waiting for a rank drawn before it. */
static void draw_forest(uint64_t *state, struct story *out, uint32_t roots[8], uint32_t sizes[8])
{
    uint32_t names[8];
    memset(out, 0, sizeof *out);
    out->ranks = 2 + (uint32_t)(buffers_draw(state) % 7);
    for (uint32_t k = 0; k < out->ranks; k++) {
        names[k] = k;
        sizes[k] = 0;
    }
    for (uint32_t k = out->ranks; k-- > 1;) {
        const uint32_t other = (uint32_t)(buffers_draw(state) % (k + 1));
        const uint32_t name = names[k];
        names[k] = names[other];
        names[other] = name;
    }
    for (uint32_t k = 0; k < out->ranks; k++) {
        const bool is_root = k == 0 || buffers_draw(state) % 4 == 0;
        const uint32_t parent = is_root ? names[k] : names[buffers_draw(state) % k];
        out->waits[names[k]] = is_root ? IDLE : (int)parent;
        roots[names[k]] = is_root ? names[k] : roots[parent];
        sizes[roots[names[k]]] += !is_root;
    }
}

static void in_any_forest_of_waits_the_root_is_named(void)
{
    uint64_t state = 7;
    uint32_t told = 0;
    while (told < 200) {
        struct story story;
        uint32_t roots[8], sizes[8];
        char text[64], count[64];
        draw_forest(&state, &story, roots, sizes);
        story.from = (uint32_t)(buffers_draw(&state) % story.ranks);
        if (roots[story.from] == story.from)
            continue;
        const uint32_t root = roots[story.from];
        snprintf(text, sizeof text, ": rank %u stands still in run", root);
        snprintf(count, sizeof count, "; %u rank%s for it", sizes[root],
                 sizes[root] == 1 ? " waits" : "s wait");
        story.text = text;
        story.other = count;
        story.what = "a forest of waits";
        tell(&story);
        told++;
    }
}

/* In a graph with a cycle whoever is named waits, and the message says for whom. */
static void in_any_cycle_a_rank_and_its_peer_are_named(void)
{
    for (uint32_t ranks = 2; ranks <= 8; ranks++)
        for (uint32_t length = 1; length < ranks; length++) {
            struct story story = {"a cycle", ranks, 1, {0}, 0, "(run 4", "; rank "};
            for (uint32_t rank = 0; rank < ranks; rank++)
                story.waits[rank] = IDLE;
            for (uint32_t k = 0; k < length; k++)
                story.waits[1 + k] = (int)(1 + (k + 1) % length);
            tell(&story);
        }
}

/* Nobody answers: after half a second rank 0 names the silent one, whose socket still holds the question. */
static void a_rank_that_does_not_reply_is_named(void)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_timeout_notice notice = {UINT64_C(2500000000), {0}};
    struct channel channel;
    if (!channel_open(&channel, 0, 3, mem))
        return;
    fill_report(2, 1, true, &notice.report);
    channel_send(&channel, 1, RONDE_FRAME_TIMED_OUT, &notice, sizeof notice);
    CU_ASSERT_EQUAL(channel_check(&channel), RONDE_TIMEOUT);
    (void)has(&channel, "rank 2 has not begun run 41 (all_reduce ring): its host does not answer");
    channel_close(&channel);
}

/* A rank that waits for an allgather's result has sent its part, so it is not asked. */
static void a_rank_whose_part_is_here_is_not_asked(void)
{
    struct ronde_timeout_notice notice = {UINT64_C(2500000000), {0}};
    struct channel channel;
    if (!channel_open(&channel, 0, 3, ronde_mem_default()))
        return;
    channel_send(&channel, 2, RONDE_FRAME_ALLGATHER_PART, &notice, 8);
    CU_ASSERT_EQUAL(channel_check(&channel), RONDE_OK);
    notice.report.activity = RONDE_ACTIVITY_ALLGATHER;
    notice.report.waits_for = RONDE_NONE;
    channel_send(&channel, 1, RONDE_FRAME_TIMED_OUT, &notice, sizeof notice);
    CU_ASSERT_EQUAL(channel_check(&channel), RONDE_TIMEOUT);
    (void)has(&channel,
              "rank 0 has not come to gather: it answers, and is in no run; 2 ranks wait");
    channel_expect_alarm(&channel, 2, RONDE_TIMEOUT, "rank 0 has not come to gather");
    channel_close(&channel);
}

static void without_memory_the_ranks_are_told_so(void)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_timeout_notice notice = {1, {0}};
    struct channel channel;
    if (!channel_open(&channel, 0, 3, &mem))
        return;
    notice.report.waits_for = RONDE_NONE;
    heap.refuse_at = heap.requests;
    channel_send(&channel, 2, RONDE_FRAME_TIMED_OUT, &notice, sizeof notice);
    CU_ASSERT_EQUAL(channel_check(&channel), RONDE_NO_MEMORY);
    (void)has(&channel, "no memory to ask 3 ranks what they wait for");
    channel_expect_alarm(&channel, 1, RONDE_NO_MEMORY, "no memory to ask");
    channel_close(&channel);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

/* The verdict of rank 0 is in the socket before the other rank's limit passes: it is what the rank returns. */
static void another_rank_returns_the_verdict_of_rank_0(void)
{
    struct channel channel;
    struct ronde_timeout_notice notice;
    uint32_t bytes = 0;
    if (!channel_open(&channel, 2, 3, ronde_mem_default()))
        return;
    channel_alarm(&channel, 0, RONDE_TIMEOUT, "rank 1 is asleep");
    CU_ASSERT_EQUAL(ronde_control_timed_out(channel.control, 3e9, &channel.error), RONDE_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(channel.error.message, "rank 1 is asleep");
    CU_ASSERT_EQUAL(channel_receive(&channel, 0, &notice, sizeof notice, &bytes),
                    RONDE_FRAME_TIMED_OUT);
    CU_ASSERT_EQUAL(bytes, sizeof notice);
    CU_ASSERT_EQUAL(notice.limit_ns, UINT64_C(3000000000));
    CU_ASSERT_EQUAL(notice.report.activity, RONDE_ACTIVITY_NONE);
    channel_close(&channel);
}

static void describe_wait(void *self, struct ronde_report *out)
{
    fill_report(*(const int *)self, 2, true, out);
}

/* Rank 0 says nothing for a second, or has left: the rank says what it knows itself. */
static void without_a_verdict_a_rank_reports_its_own_part(void)
{
    static const struct {
        int waits;
        bool has_left;
        const char *text;
    } rows[] = {
        {1, false, "rank 2 waits for 1 (run 42, still for 1.5 s); rank 0 is silent: its host does"},
        {0, true, "rank 0 has not begun run 42 (all_reduce ring); rank 0 is silent: it has left"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct channel channel;
        int waits = rows[k].waits;
        if (!channel_open(&channel, 2, 3, ronde_mem_default()))
            return;
        ronde_control_set_describe(channel.control, describe_wait, &waits);
        if (rows[k].has_left) {
            channel_send(&channel, 0, RONDE_FRAME_LEAVE, NULL, 0);
            CU_ASSERT_EQUAL(channel_check(&channel), RONDE_OK);
        }
        memset(&channel.error, 0, sizeof channel.error);
        CU_ASSERT_EQUAL(ronde_control_timed_out(channel.control, 4e9, &channel.error),
                        RONDE_TIMEOUT);
        (void)has(&channel, rows[k].text);
        (void)has(&channel, "the run took longer than 4 s");
        channel_close(&channel);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_rank_at_the_end_of_the_chain_is_named", the_rank_at_the_end_of_the_chain_is_named},
        {"in_any_forest_of_waits_the_root_is_named", in_any_forest_of_waits_the_root_is_named},
        {"in_any_cycle_a_rank_and_its_peer_are_named", in_any_cycle_a_rank_and_its_peer_are_named},
        {"a_rank_that_does_not_reply_is_named", a_rank_that_does_not_reply_is_named},
        {"a_rank_whose_part_is_here_is_not_asked", a_rank_whose_part_is_here_is_not_asked},
        {"without_memory_the_ranks_are_told_so", without_memory_the_ranks_are_told_so},
        {"another_rank_returns_the_verdict_of_rank_0", another_rank_returns_the_verdict_of_rank_0},
        {"without_a_verdict_a_rank_reports_its_own_part",
         without_a_verdict_a_rank_reports_its_own_part},
    };
    return suite_run("stall_report", cases, sizeof cases / sizeof cases[0]);
}
