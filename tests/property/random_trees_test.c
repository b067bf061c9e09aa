/**
 * Schedules over random trees: each slice of the data goes its own ways, over random lanes, with chunks in runs, over channels
 * of random weights and orders. They are proved, do on `host` what the collective says, and their text reads back as
 * themselves, however it is spaced.
 */
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/builder.h"
#include "ronde/engine.h"
#include "ronde/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 7u
#define CHUNKS_MAX 6u
#define LANES 3u

/** What is drawn. */
struct wood {
    uint64_t random;
    enum ronde_collective collective;
    uint32_t ranks, chunks, channels;
    uint32_t orders[3][RANKS_MAX];
    struct ronde_builder *builder;
};

static uint32_t draw(struct wood *wood, uint32_t below)
{
    return (uint32_t)(buffers_draw(&wood->random) % below);
}

/** A random order of 0 .. count - 1; with `is_first_kept` 0 stays where it is. */
static void shuffle(struct wood *wood, uint32_t *out, uint32_t count, bool is_first_kept)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = i;
    for (uint32_t i = count - 1; i > (is_first_kept ? 1u : 0u); i--) {
        const uint32_t first = is_first_kept ? 1 : 0, k = first + draw(wood, i - first + 1);
        const uint32_t kept = out[i];
        out[i] = out[k];
        out[k] = kept;
    }
}

static void pass(struct wood *wood, uint32_t from, uint32_t to, struct ronde_operand what,
                 bool reduces)
{
    const struct ronde_transfer transfer = {.from = from,
                                            .to = to,
                                            .from_lane = draw(wood, LANES),
                                            .to_lane = draw(wood, LANES),
                                            .source = what,
                                            .target = what,
                                            .with = what,
                                            .reduces = reduces};
    ronde_builder_transfer(wood->builder, &transfer);
}

/** Every position gets the slice from one that has it, in random order and not always the first. */
static void spread(struct wood *wood, uint32_t source, struct ronde_operand what)
{
    uint32_t others[RANKS_MAX], has[RANKS_MAX] = {source}, count = 1;
    shuffle(wood, others, wood->ranks, false);
    for (uint32_t i = 0; i < wood->ranks; i++)
        if (others[i] != source) {
            pass(wood, has[draw(wood, count)], others[i], what, false);
            has[count++] = others[i];
        }
}

/** Every position adds what it has to one that comes later in a random order, whose last is the target. */
static void collect(struct wood *wood, uint32_t target, struct ronde_operand what)
{
    uint32_t order[RANKS_MAX], others[RANKS_MAX], count = 0;
    shuffle(wood, others, wood->ranks, false);
    for (uint32_t i = 0; i < wood->ranks; i++)
        if (others[i] != target)
            order[count++] = others[i];
    order[count++] = target;
    for (uint32_t i = 0; i + 1 < count; i++)
        pass(wood, order[i], order[i + 1 + draw(wood, count - i - 1)], what, true);
}

/** One slice by trees of its own: reduced to some position first, then to all. */
static void plant_slice(struct wood *wood, uint32_t owner, struct ronde_operand what)
{
    const uint32_t middle = wood->collective == RONDE_ALL_REDUCE ? draw(wood, wood->ranks) : owner;
    if (wood->collective == RONDE_ALL_REDUCE)
        collect(wood, middle, what);
    spread(wood, middle, what);
}

/** Slices of random lengths, or every second chunk and then the others. */
static void plant_block(struct wood *wood, uint32_t block, uint32_t owner)
{
    const uint32_t start = block * wood->chunks;
    if (wood->chunks > 2 && draw(wood, 2) == 0) {
        plant_slice(wood, owner, ronde_chunk_runs(RONDE_OUT, start, (wood->chunks + 1) / 2, 1, 2));
        plant_slice(wood, owner, ronde_chunk_runs(RONDE_OUT, start + 1, wood->chunks / 2, 1, 2));
        return;
    }
    for (uint32_t first = 0, count; first < wood->chunks; first += count) {
        count = 1 + draw(wood, wood->chunks - first);
        plant_slice(wood, owner, ronde_chunks(RONDE_OUT, start + first, count));
    }
}

static void begin(struct wood *wood, uint64_t seed)
{
    static const enum ronde_collective collectives[] = {RONDE_BROADCAST, RONDE_ALL_REDUCE,
                                                        RONDE_ALL_GATHER};
    wood->random = seed * 0x9e3779b97f4a7c15u + 1;
    wood->collective = collectives[draw(wood, 3)];
    wood->ranks = 2 + draw(wood, RANKS_MAX - 1);
    wood->chunks = 1 + draw(wood, CHUNKS_MAX);
    wood->channels = 1 + draw(wood, 3);
    const struct ronde_compile_request request = {.collective = wood->collective,
                                                  .ranks = wood->ranks};
    CU_ASSERT_EQUAL_FATAL(ronde_builder_create(&request, ronde_mem_default(), &wood->builder, NULL),
                          RONDE_OK);
    ronde_builder_chunks(wood->builder, wood->chunks);
    for (uint32_t k = 0; k < wood->channels; k++) {
        shuffle(wood, wood->orders[k], wood->ranks, wood->collective == RONDE_BROADCAST);
        ronde_builder_channel(wood->builder, 1 + draw(wood, 5),
                              draw(wood, 3) > 0 ? wood->orders[k] : NULL);
    }
}

static struct ronde_schedule *plant(struct wood *wood, uint64_t seed)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {.status = RONDE_OK};
    begin(wood, seed);
    const bool has_blocks = wood->collective == RONDE_ALL_GATHER;
    for (uint32_t rank = 0; rank < (wood->collective == RONDE_BROADCAST ? 1 : wood->ranks); rank++)
        ronde_builder_copy(wood->builder, rank, draw(wood, LANES),
                           ronde_chunks(RONDE_IN, 0, wood->chunks),
                           ronde_chunks(RONDE_OUT, has_blocks ? rank * wood->chunks : 0,
                                        wood->chunks));
    for (uint32_t block = 0; block < (has_blocks ? wood->ranks : 1); block++)
        plant_block(wood, block, has_blocks ? block : 0);
    const enum ronde_status status = ronde_schedule_finish(wood->builder, NULL, &schedule, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("wood %llu, %s of %u ranks, %u chunks: %s", (unsigned long long)seed,
                   ronde_collective_text(wood->collective), wood->ranks, wood->chunks,
                   error.message);
    return schedule;
}

/** The text of a schedule; free it with free. */
static char *text_of(const struct ronde_schedule *schedule)
{
    char *text = NULL, *copy;
    size_t bytes = 0;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, &error),
                          RONDE_OK);
    copy = strdup(text);
    CU_ASSERT_EQUAL(strlen(text), bytes);
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    return copy;
}

/** The same with blanks, tabs, carriage returns, comments and empty lines wherever they mean nothing. */
static char *loosen(struct wood *wood, const char *text)
{
    char *loose = malloc(12 * strlen(text) + 1), *to = loose;
    CU_ASSERT_PTR_NOT_NULL_FATAL(loose);
    for (const char *from = text; *from; from++) {
        const bool is_blank = *from == ' ', is_end = *from == '\n';
        if (is_end && draw(wood, 3) == 0)
            to += sprintf(to, "  # x\r");
        if (is_blank && draw(wood, 3) == 0)
            *to++ = '\t';
        *to++ = *from;
        if (is_end && draw(wood, 4) == 0)
            to += sprintf(to, "\n#\n");
        if (is_end && draw(wood, 3) == 0)
            *to++ = ' ';
    }
    *to = '\0';
    return loose;
}

static struct ronde_schedule *read_back(const char *text)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {.status = RONDE_OK};
    const enum ronde_status status =
        ronde_schedule_read(text, strlen(text), "wood", ronde_mem_default(), NULL, &schedule,
                            &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s\n%s", error.message, text);
    return schedule;
}

/** Whether two proofs found the same. */
static bool is_same_proof(const struct ronde_proof *a, const struct ronde_proof *b)
{
    return a->ok == b->ok && a->min_depth == b->min_depth && a->critical_path == b->critical_path &&
           a->steps == b->steps && a->messages == b->messages &&
           a->sent_chunks_max == b->sent_chunks_max &&
           a->received_chunks_max == b->received_chunks_max &&
           a->reduced_chunks_max == b->reduced_chunks_max && a->dead_chunks == b->dead_chunks &&
           a->rank_dependent_bits == b->rank_dependent_bits;
}

static void texts_read_back_as_themselves(void)
{
    const uint64_t woods = 2 * suite_number("RONDE_TEST_SCALE", 100);
    for (uint64_t seed = 1; seed <= woods; seed++) {
        struct wood wood;
        struct ronde_schedule *schedule = plant(&wood, seed);
        if (!schedule)
            continue;
        char *text = text_of(schedule), *loose = loosen(&wood, text);
        const char *const texts[] = {text, loose};
        for (unsigned t = 0; t < 2; t++) {
            struct ronde_schedule *same = read_back(texts[t]);
            if (!same)
                continue;
            char *again = text_of(same);
            CU_ASSERT_STRING_EQUAL(again, text);
            CU_ASSERT_EQUAL(same->hash, schedule->hash);
            CU_ASSERT(is_same_proof(&same->proof, &schedule->proof));
            CU_ASSERT_EQUAL(memcmp(&same->traffic, &schedule->traffic, sizeof same->traffic), 0);
            free(again);
            ronde_schedule_destroy(same);
        }
        free(loose);
        free(text);
        ronde_schedule_destroy(schedule);
    }
}

/** Runs a schedule in a random interleaving and compares it with the definition. */
static void run_once(const struct wood *wood, const struct ronde_schedule *schedule, void *host,
                     bool in_place)
{
    struct buffers actual, expected;
    char text[256];
    struct ronde_result result;
    struct ronde_error error = {.status = RONDE_OK};
    const struct buffers_shape shape = {.collective = wood->collective,
                                        .ranks = wood->ranks,
                                        .count = 1 + wood->random % 200,
                                        .dtype = RONDE_INT32,
                                        .op = RONDE_SUM,
                                        .in_place = in_place,
                                        .seed = wood->random};
    CU_ASSERT_FATAL(buffers_create(&shape, &actual) && buffers_create(&shape, &expected));
    CU_ASSERT_FATAL(buffers_expect(&expected));
    struct ronde_launch launch = buffers_launch(&actual);
    launch.depth = schedule->proof.min_depth;
    launch.seed = wood->random | 1;
    CU_ASSERT_EQUAL(ronde_backend_run_once(&ronde_backend_host, host, schedule, &launch, &result,
                                           &error),
                    RONDE_OK);
    const bool is_wrong = buffers_differ(&actual, &expected, text, sizeof text);
    CU_ASSERT(!is_wrong);
    if (is_wrong || error.status != RONDE_OK)
        suite_note("%s on %u: %s%s", ronde_collective_text(wood->collective), wood->ranks,
                   is_wrong ? text : "", error.message);
    buffers_destroy(&actual);
    buffers_destroy(&expected);
}

/* At the least depth, in place and not. */
static void trees_do_what_their_collective_says(void)
{
    const uint64_t woods = 2 * suite_number("RONDE_TEST_SCALE", 100);
    struct ronde_machine machine;
    void *host = NULL;
    CU_ASSERT_FATAL(ronde_backend_host.probe(&machine, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_backend_host.open(&machine, ronde_mem_default(), &host, NULL) == RONDE_OK);
    for (uint64_t seed = 1001; seed <= 1000 + woods; seed++) {
        struct wood wood;
        struct ronde_schedule *schedule = plant(&wood, seed);
        for (unsigned in_place = 0; schedule && in_place < 2; in_place++)
            run_once(&wood, schedule, host, in_place);
        ronde_schedule_destroy(schedule);
    }
    ronde_backend_host.close(host);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"texts_read_back_as_themselves", texts_read_back_as_themselves},
        {"trees_do_what_their_collective_says", trees_do_what_their_collective_says},
    };
    return suite_run("random_trees", cases, sizeof cases / sizeof cases[0]);
}
