/**
 * Every kind of violation from a text of a few lines that has it and nothing else: its code, where it is, and that the text
 * with the fault taken out is proved. What a file may do without harm is told apart from it.
 */
#include "support/suite.h"

#include "ronde/text.h"

#include <stdio.h>
#include <string.h>

#define TWO "ronde 1\ncollective all_reduce\nranks 2\npeers absolute\n"

/** A text and what is found first in it. */
struct faulty_text {
    const char *text;
    enum ronde_finding_code code; /**< RONDE_FINDING_COUNT = nothing */
    uint32_t rank, lane, step;    /**< RONDE_NONE = does not matter */
};

#define FINE RONDE_FINDING_COUNT, RONDE_NONE, RONDE_NONE, RONDE_NONE

static enum ronde_status read_text(const char *text, struct ronde_proof *proof,
                                   struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    memset(proof, 0, sizeof *proof);
    *error = (struct ronde_error){.status = RONDE_OK};
    const enum ronde_status status =
        ronde_schedule_read(text, strlen(text), "text", ronde_mem_default(), proof, &schedule,
                            error);
    CU_ASSERT_EQUAL(schedule != NULL, status == RONDE_OK);
    ronde_schedule_destroy(schedule);
    return status;
}

static void check(const struct faulty_text *faulty)
{
    struct ronde_proof proof;
    struct ronde_error error;
    const enum ronde_status status = read_text(faulty->text, &proof, &error);
    const bool is_fine = faulty->code == RONDE_FINDING_COUNT;
    const struct ronde_finding *first = &proof.findings[0];
    CU_ASSERT_EQUAL(status, is_fine ? RONDE_OK : RONDE_REJECTED);
    CU_ASSERT_EQUAL(proof.ok, is_fine);
    CU_ASSERT_EQUAL(proof.finding_count > 0, !is_fine);
    if (status != (is_fine ? RONDE_OK : RONDE_REJECTED))
        suite_note("%s\n%s", faulty->text, error.message);
    if (is_fine || proof.finding_count == 0)
        return;
    CU_ASSERT_EQUAL(first->code, faulty->code);
    CU_ASSERT(faulty->rank == RONDE_NONE || first->rank == faulty->rank);
    CU_ASSERT(faulty->lane == RONDE_NONE || first->lane == faulty->lane);
    CU_ASSERT(faulty->step == RONDE_NONE || first->step == faulty->step);
    CU_ASSERT(first->text[0] != '\0');
    /* What a person reads is the first finding, with its kind or its sentence. */
    CU_ASSERT(strstr(error.message, first->text) != NULL);
    if (first->code != faulty->code || (faulty->rank != RONDE_NONE && first->rank != faulty->rank) ||
        (faulty->step != RONDE_NONE && first->step != faulty->step))
        suite_note("%s, rank %u, lane %u, step %u: %s", ronde_finding_text(first->code),
                   first->rank, first->lane, first->step, first->text);
}

#define CHECK_ALL(list)                                                                            \
    for (size_t i = 0; i < sizeof(list) / sizeof(list)[0]; i++)                                    \
    check(&(list)[i])

/* What one end sends the other has to receive, as many messages and as many chunks. */
static void messages_must_match(void)
{
    static const struct faulty_text texts[] = {
        {TWO "program 0 positions 0\nsend in[0] -> @1\nrrc in[0] out[0] <- @1\n"
             "program 1 positions 1\nsend in[0] -> @0\nrrc in[0] out[0] <- @0\n",
         FINE},
        {TWO "program 0 positions 0\nsend in[0] -> @1\nrrc in[0] out[0] <- @1\n"
             "program 1 positions 1\nsend in[0] -> @0\nsend in[0] -> @0\nrrc in[0] out[0] <- @0\n",
         RONDE_FINDING_UNMATCHED, RONDE_NONE, RONDE_NONE, RONDE_NONE},
        {TWO "program 0 positions 0\nsend in[0] -> @1\nrrc in[0] out[0] <- @1\n"
             "program 1 positions 1\nsend in[0] -> @0:1\nrrc in[0] out[0] <- @0\n",
         RONDE_FINDING_UNMATCHED, RONDE_NONE, RONDE_NONE, RONDE_NONE},
        {TWO "chunks 2\nprogram 0 positions 0\nsend in[0+2] -> @1\nrrc in[0+2] out[0+2] <- @1\n"
             "program 1 positions 1\nsend in[0+2] -> @0\nrrc in[0] out[0] <- @0\n"
             "copy out[0] out[1]\n",
         RONDE_FINDING_UNMATCHED, 1, 0, 1},
    };
    CHECK_ALL(texts);
}

/* Waiting in a circle, whatever the slots: of steps of two lanes, or of messages of two ranks. */
static void circles_never_end(void)
{
    static const struct faulty_text texts[] = {
        /* In place what is to be sent is written over by what came. */
        {TWO "program 0 positions 0\nrrc in[0] out[0] <- @1\nsend in[0] -> @1\n"
             "program 1 positions 1\nsend in[0] -> @0\nrrc in[0] out[0] <- @0\n",
         RONDE_FINDING_MARKS, 0, 0, 1},
        {TWO "placement out_of_place\n"
             "program 0 positions 0\nrrc in[0] out[0] <- @1\nsend in[0] -> @1\n"
             "program 1 positions 1\nsend in[0] -> @0\nrrc in[0] out[0] <- @0\n",
         FINE},
        {TWO "program 0 positions 0 1\nlane 0\nsend in[0] -> @1\nlane 1\nnop\n",
         RONDE_FINDING_UNMATCHED, RONDE_NONE, RONDE_NONE, RONDE_NONE},
        {TWO "program 0 positions 0\nrrc in[0] out[0] <- @1\nsend in[0] -> @1\n"
             "program 1 positions 1\nrrc in[0] out[0] <- @0\nsend in[0] -> @0\n",
         RONDE_FINDING_CYCLE, RONDE_NONE, 0, 0},
        {TWO "program 0 positions 0\nlane 0\nsend in[0] -> @1 after 1.0\nlane 1\n"
             "rrc in[0] out[0] <- @1 after 0.0\n"
             "program 1 positions 1\nsend in[0] -> @0\nrrc in[0] out[0] <- @0\n",
         RONDE_FINDING_CYCLE, 0, RONDE_NONE, RONDE_NONE},
    };
    CHECK_ALL(texts);
}

#define PEER "program 1 positions 1\nsend in[0] -> @0\nrrc in[0] out[0] <- @0\n"

/* Two lanes and one chunk, nothing between them: one of them has to write for it to be a fault. */
static void unordered_writes_race(void)
{
    static const struct faulty_text texts[] = {
        {TWO "program 0 positions 0\nlane 0\nsend in[0] -> @1\nlane 1\nrrc in[0] out[0] <- @1 "
             "after 0.0\n" PEER,
         FINE},
        /* Out of place nothing is wrong; in place the message is written over what is still to be sent. */
        {TWO
         "program 0 positions 0\nlane 0\nsend in[0] -> @1\nlane 1\nrrc in[0] out[0] <- @1\n" PEER,
         RONDE_FINDING_RACE, 0, RONDE_NONE, RONDE_NONE},
        {TWO "placement out_of_place\nprogram 0 positions 0\nlane 0\nsend in[0] -> @1\nlane 1\n"
             "rrc in[0] out[0] <- @1\n" PEER,
         FINE},
        {TWO "program 0 scratch 1 positions 0\nlane 0\nsend in[0] -> @1\nrrc in[0] out[0] <- @1\n"
             "copy out[0] scratch[0]\nlane 1\ncopy out[0] scratch[0] after 0.1\n" PEER,
         RONDE_FINDING_RACE, 0, RONDE_NONE, RONDE_NONE},
    };
    CHECK_ALL(texts);
}

/* Memory that nobody has written holds anything. */
static void what_was_never_written_is_undefined(void)
{
    static const struct faulty_text texts[] = {
        {TWO
         "program 0 scratch 1 positions 0\nsend scratch[0] -> @1\nrrc in[0] out[0] <- @1\n" PEER,
         RONDE_FINDING_UNDEFINED, 0, 0, 0},
        {"ronde 1\ncollective broadcast\nranks 2\npeers absolute\n"
         "program 0 positions 0\nsend out[0] -> @1\ncopy in[0] out[0]\n"
         "program 1 positions 1\nrecv out[0] <- @0\n",
         RONDE_FINDING_UNDEFINED, 0, 0, 0},
        {"ronde 1\ncollective broadcast\nranks 2\npeers absolute\nplacement in_place\n"
         "program 0 positions 0\nsend out[0] -> @1\n"
         "program 1 positions 1\nrecv out[0] <- @0\n",
         FINE},
    };
    CHECK_ALL(texts);
}

/* Halves of a block are different parts: one is not combined with the other, nor stored in its place. */
static void parts_must_agree(void)
{
    static const struct faulty_text texts[] = {
        {TWO "chunks 2\nprogram 0 positions 0 1\nsend in[0+2] -> @1\nrrc in[0+2] out[0+2] <- @1\n",
         RONDE_FINDING_UNMATCHED, RONDE_NONE, RONDE_NONE, RONDE_NONE},
        {"ronde 1\ncollective all_reduce\nranks 2\nchunks 2\nprogram 0 positions 0 1\n"
         "send in[0+2] -> +1\nrrc in[0+2] out[0+2] <- +1\n",
         FINE},
        {"ronde 1\ncollective all_reduce\nranks 2\nchunks 2\nprogram 0 positions 0 1\n"
         "send in[0] -> +1\nsend in[1] -> +1\nrrc in[1] out[1] <- +1\nrrc in[0] out[0] <- +1\n",
         RONDE_FINDING_EXTENT, RONDE_NONE, 0, 2},
        {"ronde 1\ncollective all_reduce\nranks 2\nchunks 2\nprogram 0 positions 0 1\n"
         "send in[0+2] -> +1\nrrc in[0+2] out[0+2] <- +1\ncopy out[0] out[1]\n",
         RONDE_FINDING_EXTENT, RONDE_NONE, 0, 2},
    };
    CHECK_ALL(texts);
}

/* A contribution twice in a sum is one too many, also when a copy of it comes a long way. */
static void contributions_count_once(void)
{
    static const struct faulty_text texts[] = {
        {"ronde 1\ncollective all_reduce\nranks 2\nprogram 0 positions 0 1\n"
         "send in[0] -> +1\nrrc in[0] out[0] <- +1\nsend out[0] -> +1\nrrc out[0] out[0] <- +1\n",
         RONDE_FINDING_TWICE, RONDE_NONE, 0, 3},
        {"ronde 1\ncollective all_reduce\nranks 3\nprogram 0 positions 0 1 2\n"
         "send in[0] -> +1\nrrcs in[0] out[0] <- -1 -> +1\nrrc out[0] out[0] <- -1\n",
         RONDE_FINDING_TWICE, RONDE_NONE, 0, 2},
        /* Each of the three once: what arrives is of the two before. */
        {"ronde 1\ncollective all_reduce\nranks 3\nplacement out_of_place\n"
         "program 0 positions 0 1 2\n"
         "send in[0] -> +1\nrrcs in[0] out[0] <- -1 -> +1\nrrc in[0] out[0] <- -1\n",
         FINE},
    };
    CHECK_ALL(texts);
}

/* What comes out is not what the collective says: another rank's, a part of a sum, too much of it. */
static void outputs_must_be_as_defined(void)
{
    static const struct faulty_text texts[] = {
        {TWO "program 0 positions 0\nsend in[0] -> @1\nrrc in[0] out[0] <- @1\n"
             "program 1 positions 1\nsend in[0] -> @0\nrecv out[0] <- @0\n",
         RONDE_FINDING_WRONG_VALUE, 1, RONDE_NONE, RONDE_NONE},
        {"ronde 1\ncollective reduce\nranks 2\npeers absolute\n"
         "program 0 positions 0\nrecv out[0] <- @1\n"
         "program 1 positions 1\nsend in[0] -> @0\n",
         RONDE_FINDING_WRONG_VALUE, 0, RONDE_NONE, RONDE_NONE},
        {"ronde 1\ncollective all_gather\nranks 2\npeers absolute\n"
         "program 0 positions 0\nsend in[0] -> @1\ncopy in[0] out[0]\nrecv out[1] <- @1\n"
         "program 1 positions 1\nsend in[0] -> @0\ncopy in[0] out[0]\nrecv out[1] <- @0\n",
         RONDE_FINDING_WRONG_VALUE, 1, RONDE_NONE, RONDE_NONE},
        {"ronde 1\ncollective reduce_scatter\nranks 2\npeers absolute\n"
         "program 0 positions 0\nsend in[0] -> @1\nrrc in[1] out[0] <- @1\n"
         "program 1 positions 1\nsend in[1] -> @0\nrrc in[0] out[0] <- @0\n",
         RONDE_FINDING_WRONG_VALUE, 0, RONDE_NONE, RONDE_NONE},
    };
    CHECK_ALL(texts);
}

/* The input belongs to the user, out of place. */
static void inputs_are_left_alone(void)
{
    static const struct faulty_text texts[] = {
        {TWO "clobbers\nprogram 0 positions 0\nsend in[0] -> @1\nrrc in[0] in[0] <- @1\n"
             "copy in[0] out[0]\n" PEER,
         FINE},
        {TWO "program 0 positions 0\nsend in[0] -> @1\nrrc in[0] in[0] <- @1\n"
             "copy in[0] out[0]\n" PEER,
         RONDE_FINDING_INPUT_WRITTEN, 0, 0, 1},
    };
    CHECK_ALL(texts);
}

/* Data that is moved and reaches no output: a fault where the file says strict, a number else. */
static void strict_files_move_nothing_in_vain(void)
{
    static const char dead[] = "program 0 scratch 1 positions 0\nsend in[0] -> @1\n"
                               "rrc in[0] out[0] <- @1\nrecv scratch[0] <- @1:1\n"
                               "program 1 positions 1\nsend in[0] -> @0\n"
                               "rrc in[0] out[0] <- @0\nsend out[0] -> @0:1\n";
    struct ronde_proof proof;
    struct ronde_error error;
    char text[512];
    snprintf(text, sizeof text, TWO "%s", dead);
    CU_ASSERT_EQUAL(read_text(text, &proof, &error), RONDE_OK);
    CU_ASSERT_EQUAL(proof.dead_chunks, 1);
    CU_ASSERT(proof.ok && proof.finding_count == 0);
    snprintf(text, sizeof text, TWO "strict\n%s", dead);
    const struct faulty_text strict = {text, RONDE_FINDING_DEAD_WORK, RONDE_NONE, RONDE_NONE,
                                       RONDE_NONE};
    check(&strict);
}

/*
 * premul_sum scales unmodified inputs where they are read, and avg complete results where they arise: a step of which that is
 * so for some chunks only cannot tell. Here chunk 0 is complete, and chunk 1 lacks rank 2, whose second half comes later.
 */
static void a_step_that_completes_half_is_refused(void)
{
    static const char body[] =
        "program 0 scratch 2 positions 0\n"
        "rrc in[0] scratch[0] <- @2\n" /* halves of 0 and 2 */
        "copy in[1] scratch[1]\n"
        "rrc scratch[0+2] out[0+2] <- @1\n" /* the first is complete, the second lacks rank 2 */
        "rrc out[1] out[1] <- @2\n"
        "send out[0+2] -> @1\nsend out[0+2] -> @2\n"
        "program 1 positions 1\nsend in[0+2] -> @0\nrecv out[0+2] <- @0\n"
        "program 2 positions 2\nsend in[0] -> @0\nsend in[1] -> @0\nrecv out[0+2] <- @0\n";
    char text[1024];
    snprintf(text, sizeof text,
             "ronde 1\ncollective all_reduce\nranks 3\npeers absolute\nchunks 2\n%s", body);
    const struct faulty_text marked = {text, RONDE_FINDING_MARKS, 0, 0, 2};
    check(&marked);
    snprintf(text, sizeof text,
             "ronde 1\ncollective all_reduce\nranks 3\npeers absolute\nchunks 2\nunscaled\n%s",
             body);
    const struct faulty_text unscaled = {text, FINE};
    check(&unscaled);
}

/* Eight findings are kept, all are counted. */
static void more_findings_are_counted(void)
{
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "ronde 1\ncollective all_gather\nranks 12\nprogram 0 positions "
                                   "0-11\n");
    for (int block = 0; block < 12; block++)
        used += (size_t)snprintf(text + used, sizeof text - used, "copy in[0] out[%d]\n", block);
    struct ronde_proof proof;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text(text, &proof, &error), RONDE_REJECTED);
    CU_ASSERT(proof.finding_count > RONDE_MAX_FINDINGS);
    for (unsigned f = 0; f < RONDE_MAX_FINDINGS; f++) {
        CU_ASSERT(proof.findings[f].code < RONDE_FINDING_COUNT);
        CU_ASSERT(proof.findings[f].text[0] != '\0');
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"messages_must_match", messages_must_match},
        {"circles_never_end", circles_never_end},
        {"unordered_writes_race", unordered_writes_race},
        {"what_was_never_written_is_undefined", what_was_never_written_is_undefined},
        {"parts_must_agree", parts_must_agree},
        {"contributions_count_once", contributions_count_once},
        {"outputs_must_be_as_defined", outputs_must_be_as_defined},
        {"inputs_are_left_alone", inputs_are_left_alone},
        {"strict_files_move_nothing_in_vain", strict_files_move_nothing_in_vain},
        {"a_step_that_completes_half_is_refused", a_step_that_completes_half_is_refused},
        {"more_findings_are_counted", more_findings_are_counted},
    };
    return suite_run("findings_by_code", cases, sizeof cases / sizeof cases[0]);
}
