/** Schedules that only run in place or never do, that overwrite their input, and that are not scaled. */
#include "support/suite.h"

#include "unit/checked.h"

#include "ronde/backend.h"
#include "ronde/text.h"

#include <string.h>

#define RING                                                                                       \
    "ranks 2\nplacement in_place\n"                                                                \
    "program 0 positions 0 1\nsend in[0] -> +1\nrrc in[0] in[0] <- +1\n"

#define ALL_REDUCE "ronde 1\ncollective all_reduce\n"

/* Each rank's own block is where it belongs already. */
static const char gather[] = "ronde 1\ncollective all_gather\nranks 2\nplacement in_place\n"
                             "program 0 positions 0\nsend out[0] -> +1\nrecv out[1] <- +1\n"
                             "program 1 positions 1\nsend in[0] -> +1\nrecv out[0] <- +1\n";

static const char overwriting[] = ALL_REDUCE "clobbers\n" RING;

static const char unscaled[] =
    ALL_REDUCE "clobbers\nunscaled\nranks 2\nplacement in_place\n"
               "program 0 scratch 1 positions 0 1\nsend in[0] -> +1\nrecv scratch[0] <- +1\n"
               "reduce scratch[0] in[0]\n";

/* In place the message would overwrite what is still to be sent. */
#define TWO_LANES                                                                                  \
    "program 0 positions 0 1\nlane 0\nsend in[0] -> +1\n"                                          \
    "lane 1\nrecv out[0] <- +1\nreduce in[0] out[0]\n"

/* Out of place too, an input may be used as memory. */
static const char scatter[] =
    "ronde 1\ncollective reduce_scatter\nclobbers\nranks 2\nplacement out_of_place\n"
    "program 0 positions 0\nsend in[1] -> +1\nrrc in[0] in[0] <- +1\ncopy in[0] out[0]\n"
    "program 1 positions 1\nsend in[0] -> +1\nrrc in[1] in[1] <- +1\ncopy in[1] out[0]\n";

static struct ronde_schedule *read_text(const char *text, struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    *error = (struct ronde_error){0};
    (void)!ronde_schedule_read(text, strlen(text), "t", ronde_mem_default(), NULL, &schedule, error);
    return schedule;
}

static void expect_refusal(const char *text, const char *message)
{
    struct ronde_error error;
    struct ronde_schedule *schedule = read_text(text, &error);
    CU_ASSERT_PTR_NULL(schedule);
    CU_ASSERT_STRING_EQUAL(error.message, message);
    if (strcmp(error.message, message) != 0)
        suite_note("\"%s\"", error.message);
    ronde_schedule_destroy(schedule);
}

static void what_a_form_leaves_out_is_refused_without_it(void)
{
    expect_refusal(ALL_REDUCE RING, "input_written: rank 0 lane 0 step 1: the input is written");
    expect_refusal("ronde 1\ncollective all_gather\nranks 2\n"
                   "program 0 positions 0\nsend in[0] -> +1\nrecv out[1] <- +1\n"
                   "program 1 positions 1\nsend in[0] -> +1\nrecv out[0] <- +1\n",
                   "wrong_value: rank 0 chunk 0: the output is never written");
    expect_refusal(ALL_REDUCE "clobbers\nranks 2\nplacement in_place\n"
                              "program 0 scratch 1 positions 0 1\nsend in[0] -> +1\n"
                              "recv scratch[0] <- +1\nreduce scratch[0] in[0]\n",
                   "marks: rank 1 lane 0 step 2 chunk 0: reduces into an unmodified input "
                   "(in place)");
    expect_refusal("ronde 1\ncollective all_to_all\nranks 2\nplacement in_place\n"
                   "program 0 positions 0 1\nnop\n",
                   "t:4: all_to_all has no form in place: leave 'placement' out");
    expect_refusal(ALL_REDUCE "placement anywhere\nranks 2\n",
                   "t:3: expected 'out_of_place' or 'in_place', found 'anywhere'");
}

static void a_form_that_races_is_refused(void)
{
    struct ronde_error error;
    struct ronde_schedule *schedule = read_text(ALL_REDUCE "ranks 2\n" TWO_LANES, &error);
    CU_ASSERT_PTR_NULL(schedule);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "(in place)"));
    schedule = read_text(ALL_REDUCE "ranks 2\nplacement out_of_place\n" TWO_LANES, &error);
    CU_ASSERT_PTR_NOT_NULL(schedule);
    ronde_schedule_destroy(schedule);
}

static void print_and_read_keep_the_form(void)
{
    static const char *const texts[] = {gather, overwriting, unscaled, scatter};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ronde_error error;
        struct ronde_schedule *schedule = read_text(texts[i], &error);
        char *text = NULL;
        size_t bytes = 0;
        CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
        CU_ASSERT_EQUAL_FATAL(ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes,
                                                   NULL),
                              RONDE_OK);
        struct ronde_schedule *again = read_text(text, &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(again);
        CU_ASSERT_EQUAL(again->hash, schedule->hash);
        CU_ASSERT_EQUAL(again->form, schedule->form);
        CU_ASSERT_EQUAL(again->is_unscaled, schedule->is_unscaled);
        CU_ASSERT_EQUAL(again->clobbers, schedule->clobbers);
        ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
        ronde_schedule_destroy(again);
        ronde_schedule_destroy(schedule);
    }
}

static void run_on(const char *backend, const char *text, enum ronde_op op)
{
    struct ronde_error error;
    struct ronde_schedule *schedule = read_text(text, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    checked_run(backend, schedule, op);
    ronde_schedule_destroy(schedule);
}

static void every_form_computes_what_it_should(void)
{
    static const char *const backends[] = {"host", "cpu"};
    for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++) {
        run_on(backends[b], gather, RONDE_SUM);
        run_on(backends[b], overwriting, RONDE_SUM);
        run_on(backends[b], overwriting, RONDE_AVG);
        run_on(backends[b], overwriting, RONDE_PREMUL_SUM);
        run_on(backends[b], unscaled, RONDE_SUM);
        run_on(backends[b], scatter, RONDE_SUM);
        run_on(backends[b], scatter, RONDE_PREMUL_SUM);
        run_on(backends[b], ALL_REDUCE "ranks 2\nplacement out_of_place\n" TWO_LANES, RONDE_AVG);
    }
}

static void expect_launch(const char *text, bool in_place, enum ronde_op op, const char *message)
{
    float memory[2][2][4] = {{{0}}};
    void *in[2] = {memory[0][0], memory[0][1]};
    void *out[2] = {memory[!in_place][0], memory[!in_place][1]};
    const struct ronde_launch launch = {
        .count = 2, .dtype = RONDE_FLOAT32, .op = op, .in = in, .out = out};
    struct ronde_error error;
    struct ronde_schedule *schedule = read_text(text, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    CU_ASSERT_EQUAL(ronde_launch_check(schedule, &launch, &error),
                    message[0] ? error.status : RONDE_OK);
    CU_ASSERT_STRING_EQUAL(error.message, message);
    if (strcmp(error.message, message) != 0)
        suite_note("\"%s\"", error.message);
    ronde_schedule_destroy(schedule);
}

static void launches_that_a_schedule_excludes_are_refused(void)
{
    expect_launch(overwriting, true, RONDE_SUM, "");
    expect_launch(overwriting, false, RONDE_SUM,
                  "launch: in and out of rank 0 are not the same memory, all_reduce custom runs in "
                  "place only");
    expect_launch(ALL_REDUCE "ranks 2\nplacement out_of_place\n" TWO_LANES, true, RONDE_SUM,
                  "launch: in and out of rank 0 are the same memory, all_reduce cannot run in "
                  "place");
    expect_launch(ALL_REDUCE "ranks 2\nplacement out_of_place\n" TWO_LANES, false, RONDE_SUM, "");
    expect_launch(unscaled, true, RONDE_AVG,
                  "launch: op avg, all_reduce custom does not say which operands are to be scaled");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_a_form_leaves_out_is_refused_without_it",
         what_a_form_leaves_out_is_refused_without_it},
        {"a_form_that_races_is_refused", a_form_that_races_is_refused},
        {"print_and_read_keep_the_form", print_and_read_keep_the_form},
        {"every_form_computes_what_it_should", every_form_computes_what_it_should},
        {"launches_that_a_schedule_excludes_are_refused",
         launches_that_a_schedule_excludes_are_refused},
    };
    return suite_run("form", cases, sizeof cases / sizeof cases[0]);
}
