/*
 * Matching against a plain model: random messages between all ranks, posted and received in random order over every
 * transport; and what of that allocates, or needs a thread.
 */
#include "net/run.h"
#include "net/tagged.h"
#include "support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

#define MESSAGES 240u
#define MOST_BYTES 60000u

/* Tags below this are received from a named rank, this one and higher from any; one source alone uses the last. */
#define ANY_TAG 4u
#define MIXED_TAG 6u
#define TAGS 7u
#define RANKS 4u

/* A message of the script that all ranks draw alike. */
struct drawn {
    uint32_t from;
    uint32_t to;
    uint32_t tag;
    uint64_t bytes;
    uint64_t order; /* among those of its source, receiver and tag */
};

/* A post of this rank, and its buffer. */
struct post {
    struct ronde_p2p *p2p;
    unsigned char *buffer;
    uint64_t bytes;
    uint32_t source;
    uint32_t tag;
    bool is_send;
    bool is_over;
    struct ronde_p2p_status got;
};

struct script {
    uint64_t first_tag; /* others have others: a rank may be a script ahead, and receives from any rank would take it */
    struct drawn messages[MESSAGES];
    uint64_t order[RANKS][RANKS][TAGS];
    struct post posts[2 * MESSAGES];
    uint32_t count;
};

static uint64_t draw(uint64_t *random, uint64_t below)
{
    return buffers_draw(random) % below;
}

static uint64_t draw_bytes(uint64_t *random)
{
    const uint64_t kind = draw(random, 10);
    if (kind < 2)
        return 0;
    return draw(random, kind < 7 ? 200 : kind < 9 ? 9000 : MOST_BYTES);
}

static void draw_script(struct script *script, uint64_t *random)
{
    memset(script, 0, sizeof *script);
    for (uint32_t k = 0; k < MESSAGES; k++) {
        struct drawn *message = &script->messages[k];
        message->from = (uint32_t)draw(random, RANKS);
        message->to = (uint32_t)draw(random, RANKS);
        message->tag = (uint32_t)draw(random, TAGS);
        if (message->tag == MIXED_TAG)
            message->from = (message->to + 1) % RANKS;
        message->bytes = draw_bytes(random);
        message->order = script->order[message->from][message->to][message->tag]++;
    }
}

/* What a message holds: its order leads the data where there is room, and says how it goes on. */
static uint64_t number_of(const struct drawn *message)
{
    return message->order * TAGS + message->tag;
}

/* This rank's sends in the order of the script, and a receive for each message to it. */
static void list_posts(struct script *script, uint32_t rank, uint64_t *random)
{
    struct post receives[MESSAGES];
    uint32_t receive_count = 0;
    uint32_t next_message = 0;
    for (uint32_t k = 0; k < MESSAGES; k++) {
        const struct drawn *message = &script->messages[k];
        const bool is_any =
            message->tag >= ANY_TAG && (message->tag != MIXED_TAG || draw(random, 2) == 0);
        if (message->to == rank)
            receives[receive_count++] =
                (struct post){.bytes = MOST_BYTES,
                              .source = is_any ? RONDE_ANY_RANK : message->from,
                              .tag = message->tag};
    }
    for (uint32_t k = receive_count; k > 1; k--) {
        const uint32_t other = (uint32_t)draw(random, k);
        const struct post swapped = receives[k - 1];
        receives[k - 1] = receives[other];
        receives[other] = swapped;
    }
    /* Sends and receives take turns at random. */
    for (uint32_t received = 0; received < receive_count || next_message < MESSAGES;) {
        if (received < receive_count && (next_message == MESSAGES || draw(random, 3) == 0)) {
            script->posts[script->count++] = receives[received++];
            continue;
        }
        const struct drawn *message = &script->messages[next_message++];
        if (message->from == rank)
            script->posts[script->count++] = (struct post){.bytes = message->bytes,
                                                           .source = next_message - 1,
                                                           .tag = message->tag,
                                                           .is_send = true};
    }
}

static enum ronde_status post_one(struct ronde_comm *comm, const struct script *script,
                                  struct post *post, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm);
    post->buffer = ronde_mem_new(ronde_mem_default(), (size_t)post->bytes + 1, 1);
    if (!post->buffer)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a test");
    if (!post->is_send)
        return ronde_comm_recv_post(comm, post->buffer, post->bytes, post->source,
                                    script->first_tag + post->tag, &post->p2p, error);
    const struct drawn *message = &script->messages[post->source];
    tagged_fill(post->buffer, post->bytes, rank, number_of(message));
    return ronde_comm_send_post(comm, post->buffer, post->bytes, message->to,
                                script->first_tag + post->tag, &post->p2p, error);
}

/* Posts in order, tests at random in between, and then waits for all, in an order of its own. */
static enum ronde_status play(struct ronde_comm *comm, struct script *script, uint64_t *random,
                              struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < script->count && status == RONDE_OK; k++) {
        status = post_one(comm, script, &script->posts[k], error);
        struct post *other = &script->posts[draw(random, k + 1)];
        if (status == RONDE_OK && draw(random, 2) == 0 && !other->is_over)
            status = ronde_p2p_test(other->p2p, &other->is_over, &other->got, error);
    }
    const uint32_t first = (uint32_t)draw(random, script->count);
    for (uint32_t k = 0; k < script->count && status == RONDE_OK; k++) {
        struct post *post = &script->posts[(first + k) % script->count];
        status = tagged_wait(comm, post->p2p, &post->got, error);
    }
    return status;
}

/* In the order in which they were posted, receives of one source and tag must have got its messages in order. */
static void check_script(const struct team_member *member, const struct script *script)
{
    uint64_t seen[RANKS][TAGS];
    memset(seen, 0, sizeof seen);
    const uint32_t rank = member->join.rank;
    for (uint32_t k = 0; k < script->count; k++) {
        const struct post *post = &script->posts[k];
        if (post->is_send)
            continue;
        const struct ronde_p2p_status *got = &post->got;
        if (!team_check(member, got->source < RANKS && got->tag == script->first_tag + post->tag,
                        "a tag is wrong") ||
            !team_check(member, post->source == RONDE_ANY_RANK || got->source == post->source,
                        "a source is wrong"))
            return;
        const uint64_t order = seen[got->source][post->tag]++;
        const struct drawn *message = script->messages;
        while (message->from != got->source || message->to != rank || message->tag != post->tag ||
               message->order != order)
            if (++message == script->messages + MESSAGES) {
                (void)team_check(member, false, "a message came twice");
                return;
            }
        (void)team_check(member,
                         got->bytes == message->bytes &&
                             tagged_holds(post->buffer, got->bytes, got->source, number_of(message)),
                         "a receive got another message than in the model");
    }
}

static enum ronde_status play_scripts(const struct team_member *member, struct ronde_error *error)
{
    static struct script script;
    const uint64_t scripts = suite_is_sample() ? 2 : 6;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    for (uint64_t k = 0; k < scripts && status == RONDE_OK; k++) {
        uint64_t common = 1000 + k;
        uint64_t own = 77 + k * RANKS + member->join.rank;
        draw_script(&script, &common);
        script.first_tag = UINT64_MAX - TAGS * (k + 1);
        list_posts(&script, member->join.rank, &own);
        status = play(comm, &script, &own, error);
        if (status == RONDE_OK)
            check_script(member, &script);
        for (uint32_t p = 0; p < script.count; p++)
            ronde_mem_free(ronde_mem_default(), script.posts[p].buffer,
                           (size_t)script.posts[p].bytes + 1, 1);
    }
    (void)team_check(member, status != RONDE_OK || ronde_comm_p2p_pending(comm) == 0,
                     "something is still pending");
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void play_on_four(void)
{
    team_run_expecting(RANKS, play_scripts, NULL, results, RONDE_OK);
}

static void random_messages_match_as_the_model_says(void)
{
    tagged_over_all(play_on_four);
}

/* Counts what is allocated. */
static void *count_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    const struct ronde_mem *mem = ronde_mem_default();
    *(uint64_t *)self += old == NULL;
    return mem->resize(mem->self, old, old_bytes, new_bytes);
}

/* One round: messages of all kinds to the next rank, half of them before their receives are posted. */
static enum ronde_status go_round(struct ronde_comm *comm, unsigned char *data,
                                  struct ronde_error *error)
{
    static const uint64_t sizes[8] = {0, 8, 300, 5000, 20000, 200000, 100, 9000};
    const uint32_t ranks = ronde_comm_ranks(comm);
    const uint32_t next = (ronde_comm_rank(comm) + 1) % ranks;
    const uint32_t before = (ronde_comm_rank(comm) + ranks - 1) % ranks;
    struct ronde_p2p *posted[16];
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < 16 && status == RONDE_OK; k++)
        status = k < 8 ? ronde_comm_send_post(comm, data, sizes[k], next, k, &posted[k], error)
                       : ronde_comm_recv_post(comm, data + (k - 7) * 200000, sizes[k - 8], before,
                                              k - 8, &posted[k], error);
    for (uint32_t k = 0; k < 16 && status == RONDE_OK; k++)
        status = tagged_wait(comm, posted[k], NULL, error);
    return status == RONDE_OK ? ronde_comm_allgather(comm, NULL, 0, NULL, error) : status;
}

static enum ronde_status count_rounds(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char data[9 * 200000];
    uint64_t allocated = 0;
    const struct ronde_mem mem = {count_resize, &allocated};
    const struct ronde_comm_options options = team_options(TAGGED_SECONDS);
    struct ronde_comm *comm = NULL;
    enum ronde_status status = ronde_comm_join(&member->join, &options, &mem, &comm, error);
    for (uint32_t k = 0; k < 10 && status == RONDE_OK; k++)
        status = go_round(comm, data, error);
    const uint64_t before = allocated;
    uint64_t gathers = allocated;
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    gathers = allocated - gathers;
    for (uint32_t k = 0; k < 50 && status == RONDE_OK; k++)
        status = go_round(comm, data, error);
    /* How many messages arrive before they are asked for differs by round; a round never has more than it posts. */
    (void)team_check(member, allocated - before <= 51 * gathers + 16,
                     "messages allocate memory in the steady state");
    ronde_comm_destroy(comm);
    return status;
}

static void count_on_three(void)
{
    team_run_expecting(3, count_rounds, NULL, results, RONDE_OK);
}

static void the_steady_state_allocates_nothing(void)
{
    tagged_over_all(count_on_three);
}

/* A progress thread, and the thread that posts; the lock is not held in sleep. */
struct sleeper {
    pthread_mutex_t lock;
    struct ronde_comm *comm;
    bool is_over;
    enum ronde_status status;
    struct ronde_error error;
};

static void *make_progress(void *self)
{
    struct sleeper *sleeper = self;
    for (bool goes_on = true; goes_on;) {
        bool has_moved = false;
        (void)pthread_mutex_lock(&sleeper->lock);
        if (sleeper->status == RONDE_OK)
            sleeper->status = ronde_comm_p2p_progress(sleeper->comm, &has_moved, &sleeper->error);
        goes_on = !sleeper->is_over && sleeper->status == RONDE_OK;
        const bool may_sleep = goes_on && !has_moved && ronde_comm_sleep_begin(sleeper->comm);
        (void)pthread_mutex_unlock(&sleeper->lock);
        if (may_sleep)
            ronde_comm_sleep(sleeper->comm);
    }
    return NULL;
}

/* Sends a message round the ranks, many times; what this thread posts wakes the other one. */
static enum ronde_status pass_on(struct sleeper *sleeper, const struct team_member *member,
                                 struct ronde_error *error)
{
    static unsigned char data[50000];
    const uint32_t ranks = member->join.ranks;
    const uint32_t next = (member->join.rank + 1) % ranks;
    const uint32_t before = (member->join.rank + ranks - 1) % ranks;
    for (uint32_t k = 0; k < 400; k++) {
        const uint64_t bytes = k % 2 == 0 ? 100 : sizeof data;
        const bool sends = k / 2 % 2 == (member->join.rank == 0 ? 0u : 1u);
        struct ronde_p2p *p2p = NULL;
        bool is_done = false;
        (void)pthread_mutex_lock(&sleeper->lock);
        enum ronde_status status =
            sends ? ronde_comm_send_post(sleeper->comm, data, bytes, next, k, &p2p, error)
                  : ronde_comm_recv_post(sleeper->comm, data, bytes, before, k, &p2p, error);
        (void)pthread_mutex_unlock(&sleeper->lock);
        ronde_comm_wake(sleeper->comm);
        while (status == RONDE_OK && !is_done) {
            (void)pthread_mutex_lock(&sleeper->lock);
            status = ronde_p2p_test(p2p, &is_done, NULL, error);
            (void)pthread_mutex_unlock(&sleeper->lock);
            if (!is_done)
                (void)sched_yield();
        }
        (void)pthread_mutex_lock(&sleeper->lock);
        ronde_p2p_release(p2p);
        (void)pthread_mutex_unlock(&sleeper->lock);
        if (status != RONDE_OK)
            return status;
    }
    return RONDE_OK;
}

static enum ronde_status progress_by_thread(const struct team_member *member,
                                            struct ronde_error *error)
{
    static struct sleeper sleeper = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    enum ronde_status status = tagged_join(member, &sleeper.comm, error);
    if (status == RONDE_OK && pthread_create(&thread, NULL, make_progress, &sleeper) != 0)
        return ronde_fail(error, RONDE_DEVICE, "no thread");
    if (status == RONDE_OK) {
        status = pass_on(&sleeper, member, error);
        (void)pthread_mutex_lock(&sleeper.lock);
        sleeper.is_over = true;
        (void)pthread_mutex_unlock(&sleeper.lock);
        ronde_comm_wake(sleeper.comm);
        (void)pthread_join(thread, NULL);
        (void)team_check(member, sleeper.status == RONDE_OK, sleeper.error.message);
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(sleeper.comm, NULL, 0, NULL, error);
    ronde_comm_destroy(sleeper.comm);
    return status;
}

static void progress_of_two(void)
{
    team_run_expecting(2, progress_by_thread, NULL, results, RONDE_OK);
}

static void a_progress_thread_sleeps_without_the_lock(void)
{
    tagged_over_all(progress_of_two);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"random_messages_match_as_the_model_says", random_messages_match_as_the_model_says},
        {"the_steady_state_allocates_nothing", the_steady_state_allocates_nothing},
        {"a_progress_thread_sleeps_without_the_lock", a_progress_thread_sleeps_without_the_lock},
    };
    return suite_run("p2p_model", cases, sizeof cases / sizeof cases[0]);
}
