/** What the prover says of schedules read from text: the whole sentence, with rank, lane, step and chunk. */
#include "support/suite.h"

#include "ronde/text.h"

#include <stdio.h>
#include <string.h>

/* A schedule behind its first line, and the error it is refused with. */
struct row {
    const char *text;
    const char *message;
};

static void expect_rows(const struct row *rows, size_t count)
{
    char text[1024];
    for (size_t i = 0; i < count; i++) {
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        const int bytes = snprintf(text, sizeof text, "ronde 1\n%s", rows[i].text);
        CU_ASSERT_EQUAL(ronde_schedule_read(text, (size_t)bytes, "t", ronde_mem_default(), NULL,
                                            &schedule, &error),
                        RONDE_REJECTED);
        CU_ASSERT_PTR_NULL(schedule);
        CU_ASSERT_STRING_EQUAL(error.message, rows[i].message);
        if (strcmp(error.message, rows[i].message) != 0)
            suite_note("\"%s\"", error.message);
        ronde_schedule_destroy(schedule);
    }
}

#define ALL_REDUCE "collective all_reduce\nranks 2\n"
#define ALL_GATHER "collective all_gather\nranks 2\n"
#define BOTH "program 0 positions 0 1\n"

static void wrong_values_are_told(void)
{
    static const struct row rows[] = {
        {ALL_REDUCE BOTH "nop\n", "wrong_value: rank 0 chunk 0: the output is never written"},
        {ALL_REDUCE BOTH "copy in[0] out[0]\n",
         "wrong_value: rank 0 chunk 0: the output does not hold every rank's contribution once"},
        {ALL_REDUCE BOTH "copy in[0] out[0]\nreduce in[0] out[0]\n",
         "twice: rank 0 lane 0 step 1 chunk 0: a contribution is combined twice"},
        {ALL_GATHER BOTH "send in[0] -> +1\nrecv out[0] <- +1\ncopy in[0] out[1]\n",
         "wrong_value: rank 0 chunk 0: the output comes from rank 1 instead of 0"},
        {"collective broadcast\nranks 2\nprogram 0 positions 0\ncopy in[0] out[0]\n"
         "program 1 positions 1\ncopy in[0] out[0]\n",
         "undefined: rank 1 lane 0 step 0 chunk 0: reads data nobody wrote"},
        {"collective send_recv\nranks 2\npairs 0 -> 1\n" BOTH
         "send in[0] -> +1\nrecv out[0] <- +1\n",
         "wrong_value: rank 0 chunk 0: the output of a rank that receives nothing is written"},
    };
    expect_rows(rows, sizeof rows / sizeof rows[0]);
}

static void data_that_is_not_there_is_told(void)
{
    static const struct row rows[] = {
        {ALL_REDUCE "program 0 scratch 1 positions 0 1\ncopy scratch[0] out[0]\n",
         "undefined: rank 0 lane 0 step 0 chunk 0: reads data nobody wrote"},
        {ALL_REDUCE BOTH "send out[0] -> +1\nrrc in[0] out[0] <- +1\n",
         "undefined: rank 0 lane 0 step 0 chunk 0: reads data nobody wrote"},
        {"collective gather\nranks 2\nprogram 0 positions 0\ncopy in[0] out[0]\n"
         "recv out[1] <- +1\nprogram 1 positions 1\nsend in[0] -> +1\ncopy in[0] out[1]\n",
         "bounds: rank 1 lane 0 step 1 chunk 1: writes the output of a rank that is not the root"},
    };
    expect_rows(rows, sizeof rows / sizeof rows[0]);
}

static void messages_that_do_not_fit_are_told(void)
{
    static const struct row rows[] = {
        {ALL_REDUCE "chunks 2\n" BOTH "send in[0+2] -> +1\nrecv out[0] <- +1\n",
         "unmatched: rank 1 lane 0 step 1: expects a message of 1 chunks, gets 2"},
        {ALL_REDUCE BOTH "send in[0] -> +1\n",
         "unmatched: rank 0: sends to rank 1 (tag 0), which has no such connection"},
        {ALL_REDUCE BOTH "rrc in[0] out[0] <- +1\n",
         "unmatched: rank 0: receives from rank 1 (tag 0), which has no such connection"},
        {ALL_REDUCE BOTH "rrc in[0] out[0] <- +1\nsend in[0] -> +1\n",
         "cycle: rank 0 lane 0 step 0: rrc never starts: it waits for a message"},
        {ALL_REDUCE BOTH "send in[0] -> +0\nrrc in[0] out[0] <- +0\n",
         "bounds: rank 0: connection 0 leads to 0, which is no other rank"},
    };
    expect_rows(rows, sizeof rows / sizeof rows[0]);
}

static void parts_in_the_wrong_place_are_told(void)
{
    static const struct row rows[] = {
        {ALL_REDUCE "chunks 2\n" BOTH "send in[0] -> +1\nrrc in[1] out[1] <- +1\n",
         "extent: rank 1 lane 0 step 1 chunk 1: combines data of different chunks"},
        {ALL_REDUCE "chunks 2\n" BOTH "copy in[0] out[1]\n",
         "extent: rank 0 lane 0 step 0 chunk 1: stores another part of a block than the "
         "destination holds"},
        {ALL_REDUCE BOTH "send in[0] -> +1\nrrc in[0] in[0] <- +1\ncopy in[0] out[0]\n",
         "input_written: rank 0 lane 0 step 1: the input is written"},
    };
    expect_rows(rows, sizeof rows / sizeof rows[0]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"wrong_values_are_told", wrong_values_are_told},
        {"data_that_is_not_there_is_told", data_that_is_not_there_is_told},
        {"messages_that_do_not_fit_are_told", messages_that_do_not_fit_are_told},
        {"parts_in_the_wrong_place_are_told", parts_in_the_wrong_place_are_told},
    };
    return suite_run("findings_text", cases, sizeof cases / sizeof cases[0]);
}
