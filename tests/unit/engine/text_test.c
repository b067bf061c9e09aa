/** The text form: what is read is what was written, print is canonical, and every malformed text is refused by line. */
#include "support/files.h"
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ronde_mem *mem(void)
{
    return ronde_mem_default();
}

/* The printed form of a schedule; free it with free_text. */
static char *print(const struct ronde_schedule *schedule)
{
    char *text = NULL;
    size_t bytes = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_print(schedule, mem(), &text, &bytes, NULL), RONDE_OK);
    CU_ASSERT_FATAL(text && strlen(text) == bytes);
    return text;
}

static void free_text(char *text)
{
    ronde_mem_free(mem(), text, strlen(text) + 1, 1);
}

/* A schedule is printed as expected, and what is read of that is the same schedule and printed the same. */
static void check_printed(const struct ronde_schedule *schedule, const char *expected)
{
    char *printed = print(schedule);
    struct ronde_schedule *again = schedule_read(printed);
    char *reprinted = print(again);
    if (strcmp(printed, expected) != 0)
        suite_note("printed\n%sexpected\n%s", printed, expected);
    CU_ASSERT_EQUAL(strcmp(printed, expected), 0);
    CU_ASSERT_EQUAL(strcmp(reprinted, expected), 0);
    CU_ASSERT_EQUAL(again->hash, schedule->hash);
    CU_ASSERT_EQUAL(again->proof.min_depth, schedule->proof.min_depth);
    CU_ASSERT_EQUAL(again->proof.messages, schedule->proof.messages);
    free_text(reprinted);
    ronde_schedule_destroy(again);
    free_text(printed);
}

/* Reads a text and compares its canonical form; the canonical form must be its own. */
static void check_canonical(const char *text, const char *canonical)
{
    struct ronde_schedule *schedule = schedule_read(text);
    check_printed(schedule, canonical);
    ronde_schedule_destroy(schedule);
}

static void hand_written_text_becomes_canonical(void)
{
    check_canonical("# a comment first\r\n"
                    "\n"
                    "ronde\t1\n"
                    "ranks 2#right behind\n"
                    "collective all-reduce\n"
                    "chunks 1 # the default\n"
                    "channel\n"
                    "program 0 scratch 0 positions 1-0\n"
                    "send in[0+1]->+1\n"
                    "\t rrc in[ 0 ] out [0]<--1 \r\n"
                    "lane 1\n"
                    "nop after 0.1 0.0",
                    "ronde 1\n"
                    "collective all_reduce\n"
                    "algorithm custom\n"
                    "ranks 2\n"
                    "\n"
                    "program 0 positions 0 1\n"
                    "  lane 0\n"
                    "    send in[0] -> +1\n"
                    "    rrc in[0] out[0] <- +1\n"
                    "  lane 1\n"
                    "    nop after 0.1 0.0\n");
}

static void aliases_become_operations(void)
{
    check_canonical("ronde 1\ncollective all_reduce\nranks 2\nprogram 0 positions 0 1\n"
                    "send in[0] -> +1\n"
                    "copy in[0] out[0]\n"
                    "rr out[0] <- +1\n"
                    "send in[0+0] -> +1:1\n"
                    "wait <- +1:1\n",
                    "ronde 1\n"
                    "collective all_reduce\n"
                    "algorithm custom\n"
                    "ranks 2\n"
                    "\n"
                    "program 0 positions 0 1\n"
                    "    send in[0] -> +1\n"
                    "    copy in[0] out[0]\n"
                    "    rrc out[0] out[0] <- +1\n"
                    "    signal -> +1:1\n"
                    "    wait <- +1:1\n");
}

/* Offsets are printed the shorter way round, half way as positive; orders and positions as runs of three or more. */
static void offsets_and_runs_are_printed_short(void)
{
    check_canonical("ronde 1\ncollective broadcast\nroot 3\nranks 4\nclobbers\n"
                    "channel weight 2 order 3 2 1 0\nchannel order 3 0 2-1\n"
                    "program 0 positions 0\n"
                    "send in[0] -> +3\nsend in[0] -> -2\nsend in[0] -> -3\ncopy in[0] out[0]\n"
                    "program 1 positions 3\nrecv out[0] <- -3\n"
                    "program 2 positions 2\nrecv out[0] <- +2\n"
                    "program 3 positions 1\nrecv out[0] <- +3\n",
                    "ronde 1\n"
                    "collective broadcast\n"
                    "algorithm custom\n"
                    "ranks 4\n"
                    "root 3\n"
                    "clobbers\n"
                    "channel weight 2 order 3-0\n"
                    "channel weight 1 order 3 0 2 1\n"
                    "\n"
                    "program 0 positions 0\n"
                    "    send in[0] -> -1\n"
                    "    send in[0] -> +2\n"
                    "    send in[0] -> +1\n"
                    "    copy in[0] out[0]\n"
                    "\n"
                    "program 1 positions 3\n"
                    "    recv out[0] <- +1\n"
                    "\n"
                    "program 2 positions 2\n"
                    "    recv out[0] <- +2\n"
                    "\n"
                    "program 3 positions 1\n"
                    "    recv out[0] <- -1\n");
}

/* Everything a step can have: strided ranges, scratch, tags, absolute peers, dependencies up and down the lanes. */
#define EVEN "[0+2 run 1 stride 2]"
#define ODD "[1+2 run 1 stride 2]"
#define RICH_PROGRAM(position, peer)                                                               \
    "\nprogram " position " scratch 3 positions " position "\n"                                    \
    "  lane 0\n"                                                                                   \
    "    send in" EVEN " -> @" peer ":3\n"                                                         \
    "    recv scratch[1+2] <- @" peer ":3\n"                                                       \
    "    copy in" EVEN " out" EVEN " after 1.0\n"                                                  \
    "    reduce scratch[1+2] out" EVEN "\n"                                                        \
    "  lane 1\n"                                                                                   \
    "    send in" ODD " -> @" peer "\n"                                                            \
    "    rrc in" ODD " out" ODD " <- @" peer "\n"                                                  \
    "    nop after 0.3 0.0\n"
static const char rich[] = "ronde 1\n"
                           "collective all_reduce\n"
                           "algorithm odd_and-even.2\n"
                           "ranks 2\n"
                           "chunks 4\n"
                           "peers absolute\n"
                           "strict\n" RICH_PROGRAM("0", "1") RICH_PROGRAM("1", "0");

static void check_rich_header(const struct ronde_schedule *schedule)
{
    CU_ASSERT_EQUAL(schedule->collective, RONDE_ALL_REDUCE);
    CU_ASSERT_STRING_EQUAL(schedule->algorithm, "odd_and-even.2");
    CU_ASSERT_EQUAL(schedule->ranks, 2);
    CU_ASSERT_EQUAL(schedule->chunks_per_block, 4);
    CU_ASSERT_EQUAL(schedule->symmetry, RONDE_SYMMETRY_NONE);
    CU_ASSERT_TRUE(schedule->absolute_peers);
    CU_ASSERT_FALSE(schedule->allow_dead_work);
    CU_ASSERT_FALSE(schedule->clobbers);
    CU_ASSERT_EQUAL(schedule->channel_count, 1);
    CU_ASSERT_EQUAL(schedule->channels[0].weight, 1);
    CU_ASSERT_EQUAL(schedule->program_count, 2);
    CU_ASSERT_EQUAL(schedule->program_of[0], 0);
    CU_ASSERT_EQUAL(schedule->program_of[1], 1);
}

static void check_rich_program(const struct ronde_program *program)
{
    static const uint32_t lanes[] = {0, 4, 7};
    static const uint32_t dependencies[] = {4, 3, 0};
    CU_ASSERT_EQUAL_FATAL(program->step_count, 7);
    CU_ASSERT_EQUAL_FATAL(program->lane_count, 2);
    CU_ASSERT_EQUAL(memcmp(program->lane_first, lanes, sizeof lanes), 0);
    CU_ASSERT_EQUAL_FATAL(program->dependency_count, 3);
    CU_ASSERT_EQUAL(memcmp(program->dependencies, dependencies, sizeof dependencies), 0);
    CU_ASSERT_EQUAL(program->scratch_chunks, 3);
    CU_ASSERT_EQUAL_FATAL(program->connection_count, 4);
    CU_ASSERT_TRUE(program->connections[0].is_send);
    CU_ASSERT_FALSE(program->connections[1].is_send);
    CU_ASSERT_EQUAL(program->connections[0].tag, 3);
    CU_ASSERT_EQUAL(program->connections[2].tag, 0);
    CU_ASSERT_EQUAL(program->connections[3].peer, 1);
}

static void check_rich_steps(const struct ronde_program *program)
{
    const struct ronde_step *copy = &program->steps[2];
    CU_ASSERT_EQUAL(copy->op, RONDE_STEP_COPY);
    CU_ASSERT_EQUAL(copy->source, RONDE_IN);
    CU_ASSERT_EQUAL(copy->destination, RONDE_OUT);
    CU_ASSERT_EQUAL(copy->chunk_count, 2);
    CU_ASSERT_EQUAL(copy->send, RONDE_NONE);
    CU_ASSERT_EQUAL(copy->receive, RONDE_NONE);
    CU_ASSERT_TRUE(copy->flags & RONDE_FLAG_SOURCE_RANGE);
    CU_ASSERT_TRUE(copy->flags & RONDE_FLAG_DESTINATION_RANGE);
    CU_ASSERT_NOT_EQUAL(copy->source_chunk, copy->destination_chunk);
    CU_ASSERT_EQUAL(program->ranges[copy->source_chunk].stride, 2);
    CU_ASSERT_EQUAL(copy->dependency_count, 1);
    const struct ronde_step *receive = &program->steps[1];
    CU_ASSERT_EQUAL(receive->destination, RONDE_SCRATCH);
    CU_ASSERT_EQUAL(receive->destination_chunk, 1);
    CU_ASSERT_EQUAL(receive->source, RONDE_BUFFER_COUNT);
    CU_ASSERT_EQUAL(receive->receive, 1);
    const struct ronde_step *last = &program->steps[6];
    CU_ASSERT_EQUAL(last->op, RONDE_STEP_NOP);
    CU_ASSERT_EQUAL(last->dependency_count, 2);
    CU_ASSERT_EQUAL(last->destination, RONDE_BUFFER_COUNT);
}

static void every_field_is_read(void)
{
    struct ronde_schedule *schedule = schedule_read(rich);
    check_rich_header(schedule);
    check_rich_program(&schedule->programs[0]);
    check_rich_steps(&schedule->programs[0]);
    ronde_schedule_destroy(schedule);
    check_canonical(rich, rich);
}

/* Recursive doubling: partners differ in one bit, so every position runs the program of position 0. */
static void xor_symmetry_is_read_and_printed(void)
{
    static const char text[] = "ronde 1\n"
                               "collective all_reduce\n"
                               "algorithm custom\n"
                               "ranks 4\n"
                               "xor\n"
                               "\n"
                               "program 0\n"
                               "    send in[0] -> ^1\n"
                               "    rrcs in[0] out[0] <- ^1 -> ^2\n"
                               "    rrc out[0] out[0] <- ^2\n";
    struct ronde_schedule *schedule = schedule_read(text);
    CU_ASSERT_EQUAL(schedule->symmetry, RONDE_SYMMETRY_XOR);
    CU_ASSERT_PTR_NULL(schedule->program_of);
    CU_ASSERT_EQUAL(schedule->programs[0].connections[0].peer, 1);
    ronde_schedule_destroy(schedule);
    check_canonical(text, text);
}

/* Every position of a 2 by 3 torus sends its block to the five others; offsets are added digit by digit. */
static void shapes_are_read_and_printed(void)
{
    check_canonical("ronde 1\ncollective all_gather\nranks 6\nrotate out\nshape 2 3\nprogram 0\n"
                    "send in[0] -> (0,1)\nsend in[0] -> (0,2)\nsend in[0] -> (1,0)\n"
                    "send in[0] -> (-1,-2)\nsend in[0] -> (1,2)\ncopy in[0] out[0]\n"
                    "recv out[2] <- (0,2)\nrecv out[1] <- (0,1)\nrecv out[3] <- (1,0)\n"
                    "recv out[5] <- (1,2)\nrecv out[4] <- (1,1)\n",
                    "ronde 1\n"
                    "collective all_gather\n"
                    "algorithm custom\n"
                    "ranks 6\n"
                    "shape 2 3\n"
                    "rotate out\n"
                    "\n"
                    "program 0\n"
                    "    send in[0] -> (0,1)\n"
                    "    send in[0] -> (0,-1)\n"
                    "    send in[0] -> (1,0)\n"
                    "    send in[0] -> (1,1)\n"
                    "    send in[0] -> (1,-1)\n"
                    "    copy in[0] out[0]\n"
                    "    recv out[2] <- (0,-1)\n"
                    "    recv out[1] <- (0,1)\n"
                    "    recv out[3] <- (1,0)\n"
                    "    recv out[5] <- (1,-1)\n"
                    "    recv out[4] <- (1,1)\n");
}

static void pairs_are_read_and_printed(void)
{
    static const char text[] = "ronde 1\n"
                               "collective send_recv\n"
                               "algorithm custom\n"
                               "ranks 3\n"
                               "pairs 2 -> 0 0 -> 2\n"
                               "\n"
                               "program 0 positions 0\n"
                               "    send in[0] -> -1\n"
                               "    recv out[0] <- -1\n"
                               "\n"
                               "program 1 positions 1\n"
                               "\n"
                               "program 2 positions 2\n"
                               "    send in[0] -> +1\n"
                               "    recv out[0] <- +1\n";
    struct ronde_schedule *schedule = schedule_read(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule->source_of);
    CU_ASSERT_EQUAL(schedule->source_of[0], 2);
    CU_ASSERT_EQUAL(schedule->source_of[1], RONDE_NONE);
    CU_ASSERT_EQUAL(schedule->source_of[2], 0);
    ronde_schedule_destroy(schedule);
    check_canonical(text, text);
    /* "pairs" alone: no rank receives, which differs from no "pairs" line. */
    check_canonical("ronde 1\ncollective send_recv\nranks 2\npairs\nprogram 0 positions 0 1\n",
                    "ronde 1\ncollective send_recv\nalgorithm custom\nranks 2\npairs\n\n"
                    "program 0 positions 0 1\n");
}

/* Connections get their numbers in order of first use, whatever sorting does to find equal ones. */
static void connections_are_numbered_by_first_use(void)
{
    char text[4096];
    char *at = text;
    at += sprintf(at, "ronde 1\ncollective all_reduce\nranks 2\nprogram 0 positions 0 1\n"
                      "send in[0] -> +1\nrrc in[0] out[0] <- +1\n");
    static const uint32_t tags[] = {9, 3, 7, 3, 9, 1, 7, 0, 1};
    static const uint32_t numbers[] = {2, 4, 6, 4, 2, 8, 6, 0, 8};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        at += sprintf(at, "signal -> +1:%u\nwait <- +1:%u\n", tags[i], tags[i]);
    struct ronde_schedule *schedule = schedule_read(text);
    const struct ronde_program *program = &schedule->programs[0];
    CU_ASSERT_EQUAL(program->connection_count, 10);
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        CU_ASSERT_EQUAL(program->steps[2 + 2 * i].send, numbers[i]);
        CU_ASSERT_EQUAL(program->steps[3 + 2 * i].receive, numbers[i] + 1);
    }
    ronde_schedule_destroy(schedule);
}

/* --- built-in algorithms --------------------------------------------------------------------------------------- */

/* Compiles, prints, reads, prints: equal text, equal hash. False if the algorithm does not serve the request. */
static bool round_trip(const struct ronde_compile_request *request,
                       const struct ronde_algorithm *algorithm)
{
    if (algorithm->supports(request, NULL) != RONDE_OK)
        return false;
    struct ronde_schedule *schedule = schedule_compile_request(request, NULL);
    char *text = print(schedule);
    check_printed(schedule, text);
    free_text(text);
    ronde_schedule_destroy(schedule);
    return true;
}

/* What no algorithm asks for: messages passed on unread, peers by number, tags, runs between each other. */
static void check_file(const char *path, void *context)
{
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    struct ronde_schedule *schedule = schedule_read(text);
    char *printed = print(schedule);
    (void)context;
    check_printed(schedule, printed);
    free_text(printed);
    ronde_schedule_destroy(schedule);
    free(text);
}

static void files_written_by_hand_round_trip(void)
{
    CU_ASSERT(files_walk("tests/data/schedules", ".ronde", check_file, NULL) > 0);
}

static void algorithms_round_trip(void)
{
    static const uint32_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                     11, 12, 13, 14, 15, 16, 17, 33, 64, 100};
    uint32_t count = 0;
    uint32_t trips = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
            struct ronde_compile_request request = {.collective = algorithms[i]->collective,
                                                    .algorithm = algorithms[i]->name,
                                                    .ranks = sizes[n]};
            const bool has_root = ronde_collective_traits(request.collective)->has_root;
            request.root = has_root ? sizes[n] / 2 : 0;
            request.channels = (uint32_t)n % 3;
            trips += round_trip(&request, algorithms[i]);
        }
    suite_note("%u schedules of %u algorithms", trips, count);
    CU_ASSERT_TRUE(trips > 10 * count);
}

static void a_large_ring_is_small_and_round_trips(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 16384};
    const struct ronde_algorithm *ring = ronde_algorithm_find(RONDE_ALL_REDUCE, "ring", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ring);
    CU_ASSERT_TRUE(round_trip(&request, ring));
}

/* --- refusals -------------------------------------------------------------------------------------------------- */

/* What the first line of a file in tests/invalid announces: "# LINE: fragment" or "# rejected: fragment". */
struct expectation {
    bool is_rejected;
    uint32_t line;
    char fragment[256];
};

static bool read_expectation(const char *text, struct expectation *out)
{
    memset(out, 0, sizeof *out);
    if (sscanf(text, "# rejected: %255[^\n]", out->fragment) == 1)
        out->is_rejected = true;
    else if (sscanf(text, "# %u: %255[^\n]", &out->line, out->fragment) != 2)
        return false;
    return true;
}

static bool fits(const struct expectation *expected, enum ronde_status status,
                 const struct ronde_error *error)
{
    char place[64];
    snprintf(place, sizeof place, "bad.ronde:%u: ", expected->line);
    if (status != error->status || error->line != expected->line ||
        !strstr(error->message, expected->fragment) || strchr(error->message, '\n'))
        return false;
    if (expected->is_rejected)
        return status == RONDE_REJECTED;
    return status == RONDE_BAD_INPUT && strncmp(error->message, place, strlen(place)) == 0;
}

static void check_refusal(const char *path, void *context)
{
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    struct expectation expected;
    const bool is_announced = read_expectation(text, &expected);
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_schedule_read(text, strlen(text), "bad.ronde", mem(), NULL, &schedule, &error);
    const bool is_right = is_announced && !schedule && fits(&expected, status, &error);
    if (!is_right)
        suite_note("%s: %s, line %u: %s", path, ronde_status_text(status), error.line,
                   error.message);
    CU_ASSERT_TRUE(is_right);
    *(unsigned *)context += expected.is_rejected;
    ronde_schedule_destroy(schedule);
    free(text);
}

static void malformed_files_are_refused_by_line(void)
{
    unsigned rejected = 0;
    const unsigned files = files_walk("tests/invalid", ".ronde", check_refusal, &rejected);
    suite_note("%u files, %u of them well-formed and rejected", files, rejected);
    CU_ASSERT_TRUE(files >= 130);
    CU_ASSERT_TRUE(rejected >= 7);
}

static void bytes_that_are_no_text_are_refused(void)
{
    static const struct {
        const char *text;
        size_t bytes;
        uint32_t line;
        const char *fragment;
    } rows[] = {
        {"", 0, 1, "the text is empty"},
        {"\n\n", 2, 3, "the text is empty"},
        {"ronde 1\n\0\n", 10, 2, "found byte 0x00"},
        {"\xef\xbb\xbfronde 1\n", 11, 1, "found byte 0xef"},
        {"ronde 1\ncollective all_reduce", 29, 2, "no 'ranks' line"},
        {"ronde 1", UINT32_MAX, 0, "4294967295 bytes are more than 2^32 - 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_schedule_read(rows[i].text, rows[i].bytes, "bytes", mem(), NULL,
                                            &schedule, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NULL(schedule);
        CU_ASSERT_EQUAL(error.line, rows[i].line);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[i].fragment));
        CU_ASSERT_PTR_NULL(strchr(error.message, '\n'));
    }
}

static void the_error_record_is_optional(void)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof = {.ok = true};
    CU_ASSERT_EQUAL(ronde_schedule_read("x", 1, "x", mem(), &proof, &schedule, NULL),
                    RONDE_BAD_INPUT);
    CU_ASSERT_FALSE(proof.ok);
    CU_ASSERT_PTR_NULL(schedule);
}

/* --- the manual ------------------------------------------------------------------------------------------------ */

static void examples_of_the_manual_hold(void)
{
    static const char fence[] = "```ronde\n";
    char path[1024];
    if (!suite_source(path, sizeof path, "docs/reference/schedule-format.md"))
        return;
    char *manual = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(manual);
    unsigned examples = 0;
    for (char *at = strstr(manual, fence); at; at = strstr(at, fence)) {
        char *text = at + strlen(fence);
        char *end = strstr(text, "```");
        CU_ASSERT_PTR_NOT_NULL_FATAL(end);
        *end = '\0';
        struct ronde_schedule *schedule = schedule_read(text);
        CU_ASSERT_TRUE(schedule->proof.ok && schedule->proof.dead_chunks == 0);
        CU_ASSERT_EQUAL(schedule->collective, RONDE_ALL_REDUCE);
        ronde_schedule_destroy(schedule);
        examples++;
        at = end + 1;
    }
    CU_ASSERT_EQUAL(examples, 2);
    free(manual);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(hand_written_text_becomes_canonical),
        SUITE_CASE(aliases_become_operations),
        SUITE_CASE(offsets_and_runs_are_printed_short),
        SUITE_CASE(every_field_is_read),
        SUITE_CASE(xor_symmetry_is_read_and_printed),
        SUITE_CASE(shapes_are_read_and_printed),
        SUITE_CASE(pairs_are_read_and_printed),
        SUITE_CASE(connections_are_numbered_by_first_use),
        SUITE_CASE(files_written_by_hand_round_trip),
        SUITE_CASE(algorithms_round_trip),
        SUITE_CASE(a_large_ring_is_small_and_round_trips),
        SUITE_CASE(malformed_files_are_refused_by_line),
        SUITE_CASE(bytes_that_are_no_text_are_refused),
        SUITE_CASE(the_error_record_is_optional),
        SUITE_CASE(examples_of_the_manual_hold),
    };
    return suite_run("text", cases, sizeof cases / sizeof cases[0]);
}
