/**
 * The reader against malformed texts: every golden text cut at every byte and changed in thousands of places, and texts
 * made to cost as much as possible. Each ends in a schedule that round-trips or in one line of error.
 */
#include "support/files.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Seed of every random choice here. */
#define SEED 20261121u

/** Changes tried on each golden text. */
#define MUTATIONS 2000u

static const struct ronde_mem *mem(void)
{
    return ronde_mem_default();
}

/* --- what every reading must be -------------------------------------------------------------------------------- */

/* An accepted text: its canonical form reads back as the same schedule and prints as itself. */
static bool is_stable(const struct ronde_schedule *schedule)
{
    char *first = NULL;
    char *second = NULL;
    size_t first_bytes = 0;
    size_t second_bytes = 0;
    struct ronde_schedule *again = NULL;
    bool is_same = false;
    if (ronde_schedule_print(schedule, mem(), &first, &first_bytes, NULL) == RONDE_OK &&
        ronde_schedule_read(first, first_bytes, "again", mem(), NULL, &again, NULL) == RONDE_OK &&
        ronde_schedule_print(again, mem(), &second, &second_bytes, NULL) == RONDE_OK)
        is_same = first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0 &&
                  again->hash == schedule->hash;
    if (first)
        ronde_mem_free(mem(), first, first_bytes + 1, 1);
    if (second)
        ronde_mem_free(mem(), second, second_bytes + 1, 1);
    ronde_schedule_destroy(again);
    return is_same;
}

/* A refused text: one line, and a line number within the text exactly when the text is malformed. */
static bool is_explained(enum ronde_status status, const struct ronde_error *error, uint32_t lines)
{
    if (strchr(error->message, '\n') || error->message[0] == '\0' || error->status != status)
        return false;
    if (status == RONDE_BAD_INPUT)
        return error->line >= 1 && error->line <= lines + 1;
    return status == RONDE_REJECTED && error->line == 0;
}

/** Counts of a sweep. */
struct tally {
    unsigned accepted;
    unsigned malformed;
    unsigned rejected;
};

/* Reads a text from a block of exactly its size, so that the sanitizer sees a look beyond its end. */
static void try_text(const char *text, size_t bytes, struct tally *tally)
{
    char *exact = malloc(bytes + (bytes == 0));
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    uint32_t lines = 1;
    CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
    memcpy(exact, text, bytes);
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    const enum ronde_status status =
        ronde_schedule_read(exact, bytes, "swept", mem(), NULL, &schedule, &error);
    const bool is_right =
        status == RONDE_OK ? is_stable(schedule) : !schedule && is_explained(status, &error, lines);
    if (!is_right)
        suite_note("line %u: %s, from\n%.*s", error.line, error.message, (int)bytes, text);
    CU_ASSERT_TRUE(is_right);
    tally->accepted += status == RONDE_OK;
    tally->malformed += status == RONDE_BAD_INPUT;
    tally->rejected += status == RONDE_REJECTED;
    ronde_schedule_destroy(schedule);
    free(exact);
}

static void report(const struct tally *tally)
{
    suite_note("%u texts: %u malformed, %u rejected, %u accepted and stable",
               tally->malformed + tally->rejected + tally->accepted, tally->malformed,
               tally->rejected, tally->accepted);
}

/* --- sweeps ---------------------------------------------------------------------------------------------------- */

static void cut_everywhere(const char *path, void *context)
{
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t bytes = strlen(text) + 1; bytes-- > 0;)
        try_text(text, bytes, context);
    free(text);
}

static void truncated_texts_end_well(void)
{
    struct tally tally = {0};
    const unsigned files = files_walk("tests/golden", ".ronde", cut_everywhere, &tally);
    report(&tally);
    /* At least the whole text of each file is accepted, and its last blank line may go. */
    CU_ASSERT_TRUE(files > 0 && tally.accepted >= 2 * files);
    CU_ASSERT_TRUE(tally.malformed > 100 * files);
    CU_ASSERT_TRUE(tally.rejected > files);
}

/** xorshift32, so that the sweep is the same everywhere. */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* A byte that is likely to matter, or now and then any byte; most digits become digits, which mean something. */
static char random_byte(uint32_t *state, char old)
{
    static const char likely[] = "0123456789  \n\n+-@:.[]()<>^,#rsconeidutag";
    const uint32_t number = next_random(state);
    if (old >= '0' && old <= '9' && number % 8 != 0)
        return likely[(number >> 8) % 10];
    return number % 8 == 0 ? (char)(number >> 8) : likely[(number >> 8) % (sizeof likely - 1)];
}

/** What one mutation sweep walks with. */
struct mutation {
    struct tally tally;
    uint32_t random;
};

/* Replaces, removes or inserts one byte; `out` has room for one more. Returns the new length. */
static size_t mutate(const char *text, size_t bytes, uint32_t *random, char *out)
{
    const size_t place = next_random(random) % bytes;
    const uint32_t kind = next_random(random) % 4;
    const size_t removed = kind == 0 ? 0 : 1;
    const size_t inserted = kind == 1 ? 0 : 1;
    memcpy(out, text, place);
    out[place] = random_byte(random, text[place]);
    memcpy(out + place + inserted, text + place + removed, bytes - place - removed);
    return bytes + inserted - removed;
}

static void mutate_often(const char *path, void *context)
{
    struct mutation *mutation = context;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const size_t bytes = strlen(text);
    char *changed = malloc(bytes + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(changed);
    for (uint32_t i = 0; i < MUTATIONS; i++) {
        const size_t length = mutate(text, bytes, &mutation->random, changed);
        try_text(changed, length, &mutation->tally);
    }
    free(changed);
    free(text);
}

static void mutated_texts_end_well(void)
{
    struct mutation mutation = {.random = SEED};
    const unsigned files = files_walk("tests/golden", ".ronde", mutate_often, &mutation);
    suite_note("seed %u", SEED);
    report(&mutation.tally);
    CU_ASSERT_TRUE(files > 0 && mutation.tally.accepted > files);
    CU_ASSERT_TRUE(mutation.tally.malformed > 100 * files);
    CU_ASSERT_TRUE(mutation.tally.rejected > 5 * files);
}

/* --- cost ------------------------------------------------------------------------------------------------------ */

/** Most bytes a text may hold on to per byte of its own, and per rank; and what every reading may. */
#define BYTES_PER_BYTE 64u
#define BYTES_PER_RANK 64u
#define BYTES_AT_LEAST 65536u

/** What the runs in orders may ask for: 2^22 entries and one per byte, of 4 bytes each. */
#define BYTES_OF_ORDERS ((size_t)1 << 24)

/* Lines are repeated, numbered if they contain a %u, and followed by one that is malformed: reading, no proving. */
static void check_cost(uint32_t ranks, const char *start, const char *line, uint32_t repeats,
                       size_t free_bytes)
{
    const size_t room = 256 + strlen(start) + repeats * (strlen(line) + 20);
    char *text = malloc(room);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    size_t bytes =
        (size_t)snprintf(text, room, "ronde 1\ncollective all_reduce\nranks %u\n%s", ranks, start);
    for (uint32_t i = 0; i < repeats; i++) {
        const char *number = strchr(line, '%');
        const int head = (int)(number ? number - line : (ptrdiff_t)strlen(line));
        bytes += (size_t)sprintf(text + bytes, "%.*s", head, line);
        for (; number; number = strchr(number + 1, '%'))
            bytes += (size_t)sprintf(text + bytes, "%u%.*s", i, (int)strcspn(number + 1, "%"),
                                     number + 1);
    }
    bytes += (size_t)snprintf(text + bytes, room - bytes, "\n?\n");
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem counted = heap_mem(&heap);
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_read(text, bytes, "costly", &counted, NULL, &schedule, &error),
                    RONDE_BAD_INPUT);
    const bool is_last_line = strstr(error.message, "found '?'") != NULL;
    if (!is_last_line)
        suite_note("%s", error.message);
    CU_ASSERT_TRUE(is_last_line);
    const size_t bound = BYTES_PER_BYTE * bytes + BYTES_PER_RANK * (size_t)ranks + free_bytes;
    if (heap.peak_bytes > bound)
        suite_note("%zu bytes for a text of %zu", heap.peak_bytes, bytes);
    CU_ASSERT_TRUE(heap.peak_bytes <= bound);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    free(text);
}

static void memory_follows_the_size_of_the_text(void)
{
    static const char one[] = "program 0 positions 0\n";
    check_cost(2, one, "nop\n", 20000, BYTES_AT_LEAST);
    check_cost(2, one, "wait<--1\n", 20000, BYTES_AT_LEAST);
    check_cost(2, one, "wait<--1:%\n", 20000, BYTES_AT_LEAST);
    check_cost(2, one, "rs 0<--1->-1\n", 20000, BYTES_AT_LEAST);
    check_cost(2, one, "lane %\nnop\n", 20000, BYTES_AT_LEAST);
    check_cost(2, "program 0 scratch 4 positions 0\n",
               "copy scratch[0+0 run 1 stride 0] scratch[0+0 run 1 stride 0]\n", 20000,
               BYTES_AT_LEAST);
    check_cost(2, "program 0 positions 0\nlane 0\nnop after", " 1.0", 20000, BYTES_AT_LEAST);
    check_cost(2, "", "channel\n", 20000, BYTES_AT_LEAST);
    check_cost(20001, "", "program % positions %\n", 20000, BYTES_AT_LEAST);
    check_cost(1048576, "", "program % positions %\n", 1000, BYTES_AT_LEAST);
    check_cost(1048576, "", "program % positions %\nwait<--1\n", 1000, BYTES_AT_LEAST);
    check_cost(2, "", "\n", 20000, BYTES_AT_LEAST);
    check_cost(2, "", "#\n", 20000, BYTES_AT_LEAST);
}

/* Runs make orders short to write; a budget keeps a short text from allocating gigabytes. */
static void orders_have_a_budget(void)
{
    check_cost(1048576, "", "channel order 0-1048575\n", 4, BYTES_OF_ORDERS);
    check_cost(16384, "", "channel order 16383-0\n", 100, BYTES_OF_ORDERS);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"truncated_texts_end_well", truncated_texts_end_well},
        {"mutated_texts_end_well", mutated_texts_end_well},
        {"memory_follows_the_size_of_the_text", memory_follows_the_size_of_the_text},
        {"orders_have_a_budget", orders_have_a_budget},
    };
    return suite_run("text_sweep", cases, sizeof cases / sizeof cases[0]);
}
