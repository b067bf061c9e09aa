/* What the prover finds in schedules written by hand, which no algorithm and no mutant of one comes near. */
#include "ronde/builder.h"
#include "ronde/text.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

/*
 * Ranks 1 and 2 share a program that reads its block twice while lane 1 receives block 2. Out of place nothing is wrong;
 * in place that is the block of rank 2, which the second send still reads.
 */
static const char shifted_race[] = "ronde 1\n"
                                   "collective all_gather\n"
                                   "ranks 3\n"
                                   "peers absolute\n"
                                   "program 0 scratch 2 positions 0\n"
                                   "    copy in[0] out[0]\n"
                                   "    recv out[1] <- @1\n"
                                   "    recv out[2] <- @2\n"
                                   "    send out[2] -> @1:1\n"
                                   "    send out[2] -> @2:1\n"
                                   "    recv scratch[0] <- @1\n"
                                   "    recv scratch[1] <- @2\n"
                                   "    send out[0] -> @1\n"
                                   "    send out[1] -> @1\n"
                                   "    send out[0] -> @2\n"
                                   "    send out[1] -> @2\n"
                                   "program 1 positions 1 2\n"
                                   "  lane 0\n"
                                   "    send in[0] -> @0\n"
                                   "    send in[0] -> @0\n"
                                   "    recv out[0] <- @0\n"
                                   "    recv out[1] <- @0\n"
                                   "  lane 1\n"
                                   "    recv out[2] <- @0:1\n";

/** A program is searched for races once, but in place a rank's own block lies elsewhere at each position. */
static void races_of_a_shared_program_are_found_at_every_position(void)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_read(shifted_race, strlen(shifted_race), "shifted",
                                        ronde_mem_default(), NULL, &schedule, &error),
                    RONDE_REJECTED);
    const bool is_found = strstr(error.message, "(in place)") && strstr(error.message, "rank 2");
    CU_ASSERT(is_found);
    if (!is_found)
        suite_note("%s", error.message);
    ronde_schedule_destroy(schedule);
}

/** Two ranks that each send so many messages before they receive one: as many slots are the least. */
static struct ronde_schedule *read_exchange(uint32_t messages)
{
    char text[4096];
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    size_t length = (size_t)snprintf(text, sizeof text,
                                     "ronde 1\ncollective all_gather\nranks 2\nchunks %u\n"
                                     "rotate out\nprogram 0\nlane 0\n",
                                     messages);
    for (uint32_t i = 0; i < messages; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "send in[%u] -> +1\n", i);
    for (uint32_t i = 0; i < messages; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "recv out[%u] <- -1\n",
                                   messages + i);
    length += (size_t)snprintf(text + length, sizeof text - length,
                               "lane 1\ncopy in[0+%u] out[0+%u]\n", messages, messages);
    CU_ASSERT_EQUAL(ronde_schedule_read(text, length, "exchange", ronde_mem_default(), NULL,
                                        &schedule, &error),
                    RONDE_OK);
    if (!schedule)
        suite_note("%s", error.message);
    CU_ASSERT_FATAL(schedule != NULL);
    return schedule;
}

static void the_least_depth_is_found_exactly(void)
{
    for (uint32_t messages = 1; messages <= 40; messages++) {
        struct ronde_schedule *exchange = read_exchange(messages);
        struct ronde_proof expansion;
        CU_ASSERT_EQUAL(exchange->proof.min_depth, messages);
        CU_ASSERT(exchange->proof.quotient);
        CU_ASSERT_EQUAL(ronde_schedule_prove_expansion(exchange, ronde_mem_default(), &expansion,
                                                       NULL),
                        RONDE_OK);
        CU_ASSERT_EQUAL(expansion.min_depth, messages);
        ronde_schedule_destroy(exchange);
    }
}

/** A rank without a source keeps its output: one that is written all the same is wrong. */
static void who_receives_nothing_is_left_alone(void)
{
    static const uint32_t sources[] = {RONDE_NONE, 0};
    struct ronde_builder *builder = NULL;
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand out = ronde_chunks(RONDE_OUT, 0, 1);
    const struct ronde_compile_request request = {.collective = RONDE_SEND_RECV,
                                                  .ranks = 2,
                                                  .source_of = sources};
    const struct ronde_transfer wanted = {.from = 0, .to = 1, .source = in, .target = out};
    CU_ASSERT_FATAL(ronde_builder_create(&request, ronde_mem_default(), &builder, NULL) == RONDE_OK);
    ronde_builder_transfer(builder, &wanted);
    ronde_builder_copy(builder, 0, 0, in, out);
    CU_ASSERT_EQUAL(ronde_schedule_finish(builder, NULL, &schedule, &error), RONDE_REJECTED);
    CU_ASSERT(strstr(error.message, "the output of a rank that receives nothing is written") != NULL);
}

int main(void)
{
    static const struct suite_case cases[] = {
#define CASE(name) {#name, name}
        CASE(races_of_a_shared_program_are_found_at_every_position),
        CASE(the_least_depth_is_found_exactly),
        CASE(who_receives_nothing_is_left_alone),
    };
    return suite_run("prove_by_hand", cases, sizeof cases / sizeof cases[0]);
}
