/**
 * Matching of tagged messages, in one process and without a transport: a state of this rank alone, into which messages
 * are put as if they had arrived from peers.
 */
#include "support/buffers.h"
#include "support/heap.h"
#include "support/suite.h"

#include "hw/p2p/path.h"

#include <string.h>

#define PEERS 3u

/* A rank's messages, and what it knows of its peers. */
struct rank {
    struct heap heap;
    struct ronde_mem mem;
    struct ronde_p2p_node posted[RONDE_P2P_BINS];
    struct ronde_p2p_node unexpected[RONDE_P2P_BINS];
    struct ronde_p2p_peer peers[PEERS];
    struct ronde_p2p_state state;
};

static void open_rank(struct rank *rank)
{
    memset(rank, 0, sizeof *rank);
    rank->heap = heap_start(SIZE_MAX, true);
    rank->mem = heap_mem(&rank->heap);
    rank->state.mem = &rank->mem;
    rank->state.posted = rank->posted;
    rank->state.unexpected = rank->unexpected;
    for (uint32_t bin = 0; bin < RONDE_P2P_BINS; bin++) {
        ronde_p2p_list_init(&rank->posted[bin]);
        ronde_p2p_list_init(&rank->unexpected[bin]);
    }
    for (uint32_t k = 0; k < PEERS; k++)
        rank->peers[k] = (struct ronde_p2p_peer){.state = &rank->state, .rank = k};
    ronde_p2p_pool_open(&rank->state.messages, &rank->mem, sizeof(struct ronde_p2p_message), 8);
    ronde_p2p_buffers_open(&rank->state);
}

/* Nothing may be left allocated, nor freed with another length. */
static void close_rank(struct rank *rank)
{
    ronde_p2p_pool_close(&rank->state.messages);
    for (uint32_t k = 0; k < RONDE_P2P_BUFFER_CLASSES; k++)
        ronde_p2p_pool_close(&rank->state.buffers[k]);
    CU_ASSERT_EQUAL(rank->heap.live_blocks, 0);
    CU_ASSERT_EQUAL(rank->heap.wrong_sizes, 0);
}

/* A receive that has been posted; whether a message was there for it. */
static bool post(struct rank *rank, struct ronde_p2p *receive, uint32_t source, uint64_t tag,
                 void *buffer, uint64_t bytes)
{
    *receive =
        (struct ronde_p2p){.state = &rank->state, .source = source, .buffer = buffer, .bytes = bytes};
    receive->status.tag = tag;
    ronde_p2p_list_init(&receive->node);
    rank->state.pending++;
    return ronde_p2p_match(receive);
}

static struct ronde_p2p_arrival eager(struct rank *rank, uint32_t source, uint64_t tag,
                                      const void *data, uint64_t bytes)
{
    return (struct ronde_p2p_arrival){.kind = RONDE_P2P_EAGER,
                                      .peer = &rank->peers[source],
                                      .tag = tag,
                                      .bytes = bytes,
                                      .data = data};
}

/* A message of one byte arrives. */
static bool arrive(struct rank *rank, uint32_t source, uint64_t tag, char data)
{
    const struct ronde_p2p_arrival arrival = eager(rank, source, tag, &data, 1);
    return ronde_p2p_arrive(&rank->state, &arrival);
}

static bool is_done(const struct ronde_p2p *receive)
{
    return receive->stage == RONDE_P2P_DONE;
}

static void a_posted_receive_takes_the_message(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char byte = 0;
    open_rank(&rank);
    CU_ASSERT_FALSE(post(&rank, &receive, 1, 5, &byte, 1));
    CU_ASSERT_TRUE(arrive(&rank, 1, 5, 'a'));
    CU_ASSERT_TRUE(is_done(&receive));
    CU_ASSERT_EQUAL(byte, 'a');
    CU_ASSERT_EQUAL(receive.status.source, 1);
    CU_ASSERT_EQUAL(receive.status.bytes, 1);
    CU_ASSERT_FALSE(receive.status.is_truncated);
    CU_ASSERT_EQUAL(rank.state.pending, 0);
    /* What is taken at once is not kept. */
    CU_ASSERT_EQUAL(rank.heap.requests, 0);
    close_rank(&rank);
}

static void an_unexpected_message_waits_with_its_data(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char byte = 0;
    open_rank(&rank);
    CU_ASSERT_TRUE(arrive(&rank, 2, 7, 'b'));
    CU_ASSERT_TRUE(post(&rank, &receive, 2, 7, &byte, 1));
    CU_ASSERT_EQUAL(byte, 'b');
    CU_ASSERT_EQUAL(receive.status.source, 2);
    /* It is gone, and its place is used again. */
    CU_ASSERT_FALSE(post(&rank, &receive, 2, 7, &byte, 1));
    const size_t requests = rank.heap.requests;
    CU_ASSERT_TRUE(arrive(&rank, 2, 8, 'c'));
    CU_ASSERT_EQUAL(rank.heap.requests, requests);
    close_rank(&rank);
}

static void tag_and_source_must_both_fit(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char byte = 0;
    open_rank(&rank);
    CU_ASSERT_FALSE(post(&rank, &receive, 1, 5, &byte, 1));
    CU_ASSERT_TRUE(arrive(&rank, 1, 6, 'x'));
    CU_ASSERT_TRUE(arrive(&rank, 0, 5, 'y'));
    CU_ASSERT_TRUE(arrive(&rank, 1, 5 + ((uint64_t)1 << 63), 'z'));
    CU_ASSERT_FALSE(is_done(&receive));
    CU_ASSERT_TRUE(arrive(&rank, 1, 5, 'a'));
    CU_ASSERT_TRUE(is_done(&receive));
    CU_ASSERT_EQUAL(byte, 'a');
    close_rank(&rank);
}

static void receives_of_one_message_get_it_in_their_order(void)
{
    struct rank rank;
    struct ronde_p2p receives[4];
    char bytes[4] = {0};
    static const uint32_t sources[] = {RONDE_ANY_RANK, 1, RONDE_ANY_RANK, 1};
    open_rank(&rank);
    for (uint32_t k = 0; k < 4; k++)
        CU_ASSERT_FALSE(post(&rank, &receives[k], sources[k], 9, &bytes[k], 1));
    /* Rank 2 serves only who takes any rank; rank 1 then the first that is left. */
    CU_ASSERT_TRUE(arrive(&rank, 1, 9, 'a'));
    CU_ASSERT_TRUE(arrive(&rank, 2, 9, 'b'));
    CU_ASSERT_TRUE(arrive(&rank, 1, 9, 'c'));
    CU_ASSERT_TRUE(arrive(&rank, 1, 9, 'd'));
    CU_ASSERT_NSTRING_EQUAL(bytes, "acbd", 4);
    close_rank(&rank);
}

static void messages_of_one_rank_are_received_in_their_order(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char bytes[6] = {0};
    open_rank(&rank);
    for (uint32_t k = 0; k < 6; k++)
        CU_ASSERT_TRUE(arrive(&rank, k % 2, 3, (char)('a' + k)));
    /* b d are rank 1's; any rank gets whichever came first. */
    static const uint32_t sources[] = {1, RONDE_ANY_RANK, 1, RONDE_ANY_RANK, 0, 1};
    for (uint32_t k = 0; k < 6; k++)
        CU_ASSERT_TRUE(post(&rank, &receive, sources[k], 3, &bytes[k], 1));
    CU_ASSERT_NSTRING_EQUAL(bytes, "badcef", 6);
    close_rank(&rank);
}

static void tags_of_one_bin_are_kept_apart(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char byte = 0;
    open_rank(&rank);
    /* More tags than bins: some share one. */
    for (uint64_t tag = 0; tag < 2 * RONDE_P2P_BINS; tag++)
        CU_ASSERT_TRUE(arrive(&rank, 0, tag, (char)(tag % 100)));
    for (uint64_t tag = 2 * RONDE_P2P_BINS; tag-- > 0;) {
        CU_ASSERT_TRUE(post(&rank, &receive, 0, tag, &byte, 1));
        CU_ASSERT_EQUAL(byte, (char)(tag % 100));
    }
    close_rank(&rank);
}

static void a_message_that_is_too_long_leaves_the_buffer_alone(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char two[2] = {'-', '-'};
    open_rank(&rank);
    const struct ronde_p2p_arrival arrival = eager(&rank, 1, 4, "abc", 3);
    for (int is_first = 0; is_first < 2; is_first++) {
        if (is_first)
            CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &arrival));
        CU_ASSERT_EQUAL(post(&rank, &receive, 1, 4, two, 2), is_first == 1);
        if (!is_first)
            CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &arrival));
        CU_ASSERT_TRUE(is_done(&receive));
        CU_ASSERT_TRUE(receive.status.is_truncated);
        CU_ASSERT_EQUAL(receive.status.bytes, 3);
        CU_ASSERT_NSTRING_EQUAL(two, "--", 2);
    }
    close_rank(&rank);
}

static void a_shorter_message_leaves_the_rest_alone(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char four[4] = {'-', '-', '-', '-'};
    open_rank(&rank);
    const struct ronde_p2p_arrival two = eager(&rank, 1, 4, "ab", 2);
    const struct ronde_p2p_arrival none = eager(&rank, 1, 4, NULL, 0);
    CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &two));
    CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &none));
    CU_ASSERT_TRUE(post(&rank, &receive, 1, 4, four, 4));
    CU_ASSERT_NSTRING_EQUAL(four, "ab--", 4);
    CU_ASSERT_TRUE(post(&rank, &receive, 1, 4, NULL, 0));
    CU_ASSERT_EQUAL(receive.status.bytes, 0);
    close_rank(&rank);
}

static void data_of_every_length_are_kept_whole(void)
{
    static const uint64_t lengths[] = {0,    1,    127,  128,  129,   1023, 1024,
                                       1025, 8191, 8192, 8193, 32767, 32768};
    static unsigned char data[RONDE_P2P_MOST_EAGER_BYTES];
    static unsigned char buffer[RONDE_P2P_MOST_EAGER_BYTES + 1];
    struct rank rank;
    struct ronde_p2p receive;
    open_rank(&rank);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const uint64_t bytes = lengths[i];
        memset(data, (int)i + 1, sizeof data);
        memset(buffer, 0, sizeof buffer);
        const struct ronde_p2p_arrival arrival = eager(&rank, 0, 1, data, bytes);
        CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &arrival));
        memset(data, 0xee, sizeof data);
        CU_ASSERT_TRUE(post(&rank, &receive, 0, 1, buffer, sizeof buffer));
        CU_ASSERT_EQUAL(receive.status.bytes, bytes);
        CU_ASSERT(bytes == 0 || (buffer[0] == i + 1 && buffer[bytes - 1] == i + 1));
        CU_ASSERT_EQUAL(buffer[bytes], 0);
    }
    close_rank(&rank);
}

static void the_window_gets_back_what_was_received(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char byte;
    open_rank(&rank);
    struct ronde_p2p_peer *peer = &rank.peers[0];
    CU_ASSERT_TRUE(ronde_p2p_may_be_eager(peer, 1));
    CU_ASSERT_EQUAL(peer->charged, 65);
    CU_ASSERT_TRUE(arrive(&rank, 0, 1, 'a'));
    CU_ASSERT_EQUAL(peer->returned, 0);
    CU_ASSERT_TRUE(post(&rank, &receive, 0, 1, &byte, 1));
    CU_ASSERT_EQUAL(peer->returned, 65);
    CU_ASSERT_EQUAL(peer->credited, 65);
    close_rank(&rank);
}

static void the_window_is_full_to_the_byte(void)
{
    struct rank rank;
    open_rank(&rank);
    struct ronde_p2p_peer *peer = &rank.peers[1];
    CU_ASSERT_FALSE(ronde_p2p_may_be_eager(peer, RONDE_P2P_WINDOW_BYTES - 63));
    CU_ASSERT_EQUAL(peer->charged, 0);
    CU_ASSERT_TRUE(ronde_p2p_may_be_eager(peer, RONDE_P2P_WINDOW_BYTES - 128));
    CU_ASSERT_FALSE(ronde_p2p_may_be_eager(peer, 1));
    CU_ASSERT_TRUE(ronde_p2p_may_be_eager(peer, 0));
    CU_ASSERT_FALSE(ronde_p2p_may_be_eager(peer, 0));
    peer->credited = 64;
    CU_ASSERT_TRUE(ronde_p2p_may_be_eager(peer, 0));
    close_rank(&rank);
}

static void a_send_to_itself_ends_with_its_receive(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    struct ronde_p2p send = {.state = &rank.state, .is_send = true};
    char byte = 0;
    open_rank(&rank);
    ronde_p2p_list_init(&send.node);
    rank.state.pending = 1;
    const struct ronde_p2p_arrival own = {.kind = RONDE_P2P_OWN,
                                          .peer = &rank.peers[0],
                                          .tag = 2,
                                          .bytes = 1,
                                          .data = "s",
                                          .cookie = (uint64_t)(uintptr_t)&send};
    CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &own));
    CU_ASSERT_FALSE(is_done(&send));
    CU_ASSERT_TRUE(post(&rank, &receive, RONDE_ANY_RANK, 2, &byte, 1));
    CU_ASSERT_EQUAL(byte, 's');
    CU_ASSERT_TRUE(is_done(&send));
    CU_ASSERT_EQUAL(rank.state.pending, 0);
    /* It was not eager, so no window has room for it again. */
    CU_ASSERT_EQUAL(rank.peers[0].returned, 0);
    close_rank(&rank);
}

static void a_stored_message_is_listed_or_received(void)
{
    struct rank rank;
    struct ronde_p2p receive;
    char byte = 0;
    open_rank(&rank);
    const struct ronde_p2p_arrival arrival = eager(&rank, 1, 6, "k", 1);
    struct ronde_p2p_message *message = ronde_p2p_store(&rank.state, &arrival);
    CU_ASSERT_PTR_NOT_NULL_FATAL(message);
    ronde_p2p_arrive_stored(&rank.state, message);
    CU_ASSERT_TRUE(post(&rank, &receive, 1, 6, &byte, 1));
    CU_ASSERT_EQUAL(byte, 'k');
    CU_ASSERT_FALSE(post(&rank, &receive, 1, 6, &byte, 1));
    message = ronde_p2p_store(&rank.state, &arrival);
    CU_ASSERT_PTR_NOT_NULL_FATAL(message);
    ronde_p2p_arrive_stored(&rank.state, message);
    CU_ASSERT_TRUE(is_done(&receive));
    close_rank(&rank);
}

static void without_memory_a_message_is_not_stored(void)
{
    static const uint64_t lengths[] = {1, 129, 8193};
    static const unsigned char data[RONDE_P2P_MOST_EAGER_BYTES];
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (size_t refused = 0; refused < (lengths[i] > RONDE_P2P_INLINE_BYTES ? 2 : 1); refused++) {
            struct rank rank;
            open_rank(&rank);
            rank.heap.refuse_at = refused;
            const struct ronde_p2p_arrival arrival = eager(&rank, 0, 1, data, lengths[i]);
            CU_ASSERT_FALSE(ronde_p2p_arrive(&rank.state, &arrival));
            CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &arrival));
            close_rank(&rank);
        }
}

static void elements_of_a_pool_are_distinct_aligned_and_used_again(void)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_p2p_pool pool;
    unsigned char *elements[7];
    ronde_p2p_pool_open(&pool, &mem, 17, 3);
    CU_ASSERT_EQUAL(pool.element_bytes, 32);
    for (int i = 0; i < 7; i++) {
        elements[i] = ronde_p2p_pool_take(&pool);
        CU_ASSERT_PTR_NOT_NULL_FATAL(elements[i]);
        CU_ASSERT_EQUAL((uintptr_t)elements[i] % 16, 0);
        memset(elements[i], i, 32);
    }
    for (int i = 0; i < 7; i++)
        CU_ASSERT(elements[i][0] == i && elements[i][31] == i);
    CU_ASSERT_EQUAL(heap.requests, 3);
    ronde_p2p_pool_give(&pool, elements[4]);
    CU_ASSERT_PTR_EQUAL(ronde_p2p_pool_take(&pool), elements[4]);
    ronde_p2p_pool_close(&pool);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

/* What is posted and what arrives, in order, for a matching that is written down the plain way. */
struct plain {
    struct {
        uint32_t source;
        uint64_t tag;
        uint32_t got; /* number of its message; RONDE_NONE = none yet */
    } receives[400];
    uint32_t receive_count;
    struct {
        uint32_t source;
        uint64_t tag;
        bool is_taken;
    } messages[400];
    uint32_t message_count;
};

static bool plain_fits(const struct plain *plain, uint32_t receive, uint32_t message)
{
    return plain->receives[receive].got == RONDE_NONE && !plain->messages[message].is_taken &&
           plain->receives[receive].tag == plain->messages[message].tag &&
           (plain->receives[receive].source == RONDE_ANY_RANK ||
            plain->receives[receive].source == plain->messages[message].source);
}

/* After each step at most one pair fits: the new receive and the first message, or the first receive and the new message. */
static void plain_match(struct plain *plain)
{
    for (uint32_t r = 0; r < plain->receive_count; r++)
        for (uint32_t m = 0; m < plain->message_count; m++)
            if (plain_fits(plain, r, m)) {
                plain->receives[r].got = m;
                plain->messages[m].is_taken = true;
            }
}

/* Many orders of posts and arrivals on few tags: every receive has the message that the plain matching gives it. */
static void any_order_is_matched_as_by_hand(void)
{
    enum { STEPS = 400 };
    static struct plain plain;
    static struct ronde_p2p receives[STEPS];
    uint32_t got[STEPS], wrong = 0;
    uint64_t state = 3;
    for (uint32_t round = 0; round < 60; round++) {
        struct rank rank;
        open_rank(&rank);
        memset(&plain, 0, sizeof plain);
        for (uint32_t step = 0; step < STEPS; step++) {
            const uint64_t tag = buffers_draw(&state) % (1 + round % 7) * (RONDE_P2P_BINS + round);
            const uint32_t source = (uint32_t)(buffers_draw(&state) % PEERS);
            const uint32_t r = plain.receive_count, m = plain.message_count;
            if (buffers_draw(&state) % 2 == 0) {
                const bool is_any = buffers_draw(&state) % 3 == 0;
                plain.receives[r].source = is_any ? RONDE_ANY_RANK : source;
                plain.receives[r].tag = tag;
                plain.receives[r].got = RONDE_NONE;
                plain.receive_count++;
                got[r] = RONDE_NONE;
                (void)post(&rank, &receives[r], plain.receives[r].source, tag, &got[r], sizeof *got);
            } else {
                plain.messages[m].source = source;
                plain.messages[m].tag = tag;
                plain.message_count++;
                const struct ronde_p2p_arrival arrival = eager(&rank, source, tag, &m, sizeof m);
                CU_ASSERT_TRUE(ronde_p2p_arrive(&rank.state, &arrival));
            }
            plain_match(&plain);
        }
        for (uint32_t r = 0; r < plain.receive_count; r++)
            wrong +=
                got[r] != plain.receives[r].got || is_done(&receives[r]) != (got[r] != RONDE_NONE);
        close_rank(&rank);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_posted_receive_takes_the_message", a_posted_receive_takes_the_message},
        {"an_unexpected_message_waits_with_its_data", an_unexpected_message_waits_with_its_data},
        {"tag_and_source_must_both_fit", tag_and_source_must_both_fit},
        {"receives_of_one_message_get_it_in_their_order",
         receives_of_one_message_get_it_in_their_order},
        {"messages_of_one_rank_are_received_in_their_order",
         messages_of_one_rank_are_received_in_their_order},
        {"tags_of_one_bin_are_kept_apart", tags_of_one_bin_are_kept_apart},
        {"a_message_that_is_too_long_leaves_the_buffer_alone",
         a_message_that_is_too_long_leaves_the_buffer_alone},
        {"a_shorter_message_leaves_the_rest_alone", a_shorter_message_leaves_the_rest_alone},
        {"data_of_every_length_are_kept_whole", data_of_every_length_are_kept_whole},
        {"the_window_gets_back_what_was_received", the_window_gets_back_what_was_received},
        {"the_window_is_full_to_the_byte", the_window_is_full_to_the_byte},
        {"a_send_to_itself_ends_with_its_receive", a_send_to_itself_ends_with_its_receive},
        {"a_stored_message_is_listed_or_received", a_stored_message_is_listed_or_received},
        {"without_memory_a_message_is_not_stored", without_memory_a_message_is_not_stored},
        {"any_order_is_matched_as_by_hand", any_order_is_matched_as_by_hand},
        {"elements_of_a_pool_are_distinct_aligned_and_used_again",
         elements_of_a_pool_are_distinct_aligned_and_used_again},
    };
    return suite_run("matching", cases, sizeof cases / sizeof cases[0]);
}
