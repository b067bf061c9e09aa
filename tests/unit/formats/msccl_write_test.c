/** Schedules as MSCCL files: every algorithm goes out and comes back as what it was, or is refused with the reason. */
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/checked.h"

#include "ronde/msccl.h"
#include "ronde/schedules.h"
#include "ronde/text.h"

#include <stdio.h>
#include <string.h>

static const struct ronde_msccl_style rccl = {RONDE_MSCCL_OF_RCCL, RONDE_MSCCL_PROTOCOL_COUNT};
static const struct ronde_msccl_style msccl = {RONDE_MSCCL_OF_MSCCL, RONDE_MSCCL_PROTOCOL_COUNT};

/* A printed file. */
struct file {
    char *text;
    size_t bytes;
    struct ronde_error error;
    enum ronde_status status;
};

static struct file print(const struct ronde_schedule *schedule,
                         const struct ronde_msccl_style *style)
{
    struct file file = {NULL, 0, {0}, RONDE_OK};
    file.status = ronde_msccl_print(schedule, style, ronde_mem_default(), &file.text, &file.bytes,
                                    &file.error);
    CU_ASSERT_EQUAL(file.text != NULL, file.status == RONDE_OK);
    return file;
}

static void free_file(struct file *file)
{
    if (file->text)
        ronde_mem_free(ronde_mem_default(), file->text, file->bytes + 1, 1);
}

static struct ronde_schedule *read_file(const struct file *file, struct ronde_msccl_facts *facts)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    (void)!ronde_msccl_read(file->text, file->bytes, "f", ronde_mem_default(), facts, NULL,
                            &schedule, &error);
    if (!schedule)
        suite_note("%s", error.message);
    return schedule;
}

static struct ronde_schedule *compile(const struct ronde_compile_request *request)
{
    struct ronde_schedule *schedule = NULL;
    (void)!ronde_compile(request, ronde_mem_default(), NULL, &schedule, NULL);
    return schedule;
}

/* Visibly, once a test. */
static bool is_missing(void)
{
    const char *reason;
    if (ronde_msccl_available(&reason))
        return false;
    suite_skip("no MSCCL file can be read: %s", reason);
    return true;
}

/* --- out and back ---------------------------------------------------------------------------- */

/* Messages of several chunks that lie apart go out one by one. */
static void expect_same(const struct ronde_schedule *before, const struct ronde_schedule *after,
                        const struct ronde_msccl_facts *facts)
{
    CU_ASSERT_EQUAL(after->collective, before->collective);
    CU_ASSERT_EQUAL(after->ranks, before->ranks);
    CU_ASSERT_EQUAL(after->root, before->root);
    CU_ASSERT(after->proof.messages >= before->proof.messages * before->channel_count);
    CU_ASSERT(after->proof.min_depth <= facts->runtime_depth);
    CU_ASSERT_STRING_EQUAL(facts->unfit, "");
    CU_ASSERT_EQUAL(ronde_schedule_has_form(after, true), ronde_schedule_has_form(before, true));
}

/* What came back goes out as the same file: nothing was lost on the way. */
static void expect_same_file(const struct ronde_schedule *after, const struct file *file,
                             const struct ronde_msccl_style *style)
{
    struct file again = print(after, style);
    CU_ASSERT(again.status == RONDE_OK && again.bytes == file->bytes &&
              memcmp(again.text, file->text, file->bytes) == 0);
    if (again.status != RONDE_OK)
        suite_note("%s", again.error.message);
    free_file(&again);
}

/* Returns whether the schedule went out. */
static bool go_out_and_back(const struct ronde_schedule *before, bool is_run)
{
    struct ronde_msccl_facts facts;
    struct file file = print(before, &rccl);
    struct ronde_schedule *after = file.status == RONDE_OK ? read_file(&file, &facts) : NULL;
    CU_ASSERT(file.status == RONDE_OK || file.status == RONDE_UNSUPPORTED);
    CU_ASSERT_EQUAL(after != NULL, file.status == RONDE_OK);
    if (after) {
        expect_same(before, after, &facts);
        expect_same_file(after, &file, &rccl);
        if (is_run)
            checked_run("host", after, RONDE_SUM);
    }
    ronde_schedule_destroy(after);
    free_file(&file);
    return file.status == RONDE_OK;
}

static void every_algorithm_goes_out_and_back(void)
{
    uint32_t count = 0;
    unsigned written = 0, refused = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    const uint32_t step = suite_is_sample() ? 5 : 1;
    for (uint32_t a = 0; a < count && !is_missing(); a++)
        for (uint32_t ranks = 2; ranks <= 16; ranks += step) {
            const struct ronde_compile_request request = {.collective = all[a]->collective,
                                                          .algorithm = all[a]->name,
                                                          .ranks = ranks,
                                                          .root = 0};
            struct ronde_schedule *before = compile(&request);
            if (!before)
                continue;
            const bool is_out = go_out_and_back(before, ranks <= 6);
            const bool has_none =
                before->collective == RONDE_BARRIER || before->collective == RONDE_SEND_RECV;
            CU_ASSERT(!is_out || !has_none);
            /* Only what is large does not fit. */
            CU_ASSERT(is_out || has_none || ranks > 8);
            if (!is_out && !has_none && ranks <= 8)
                suite_note("%s %s on %u ranks", ronde_collective_text(before->collective),
                           all[a]->name, ranks);
            written += is_out;
            refused += !is_out;
            ronde_schedule_destroy(before);
        }
    if (written > 0)
        suite_note("%u written, %u refused", written, refused);
}

static void roots_channels_and_orders_come_back(void)
{
    static const uint32_t order[5] = {0, 3, 1, 4, 2};
    static const struct ronde_compile_request requests[] = {
        {.collective = RONDE_BROADCAST, .algorithm = "binomial", .ranks = 5, .root = 3},
        {.collective = RONDE_BROADCAST, .algorithm = "double_tree", .ranks = 6, .root = 5},
        {.collective = RONDE_SCATTER, .algorithm = "binomial", .ranks = 6, .root = 2},
        {.collective = RONDE_GATHER, .algorithm = "binomial", .ranks = 7, .root = 6},
        {.collective = RONDE_REDUCE, .algorithm = "rabenseifner", .ranks = 4, .root = 1},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "ring", .ranks = 4, .channels = 3},
        {.collective = RONDE_ALL_GATHER, .algorithm = "ring", .ranks = 5, .order = order},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "double_tree", .ranks = 5, .order = order},
        {.collective = RONDE_ALL_REDUCE,
         .algorithm = "hierarchical",
         .ranks = 8,
         .shape_count = 2,
         .shape = {2, 4}},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0] && !is_missing(); i++) {
        struct ronde_schedule *before = compile(&requests[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(before);
        CU_ASSERT(go_out_and_back(before, true));
        ronde_schedule_destroy(before);
    }
}

/* --- both spellings, and what does not fit --------------------------------------------------- */

static struct file print_request(enum ronde_collective collective, const char *algorithm,
                                 uint32_t ranks, const struct ronde_msccl_style *style)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = compile(&request);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    struct file file = print(schedule, style);
    ronde_schedule_destroy(schedule);
    return file;
}

static void each_runtime_has_its_spelling(void)
{
    struct file file = print_request(RONDE_REDUCE_SCATTER, "ring", 3, &msccl);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(file.text, "coll=\"reduce_scatter\" inplace=\"0\">"));
    free_file(&file);
    file = print_request(RONDE_REDUCE_SCATTER, "ring", 3, &rccl);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(file.text,
                                  "coll=\"reducescatter\" inplace=\"1\" outofplace=\"1\" "
                                  "minBytes=\"0\" maxBytes=\"0\">"));
    free_file(&file);
}

static void what_does_not_fit_is_refused_with_the_reason(void)
{
    static const struct ronde_msccl_style simple = {RONDE_MSCCL_OF_MSCCL, RONDE_MSCCL_SIMPLE};
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t ranks;
        const struct ronde_msccl_style *style;
        const char *message;
    } rows[] = {
        {RONDE_BARRIER, "tree", 4, &rccl,
         "barrier tree cannot be an MSCCL file: the format has no such collective"},
        {RONDE_GATHER, "direct", 4, &msccl,
         "gather direct cannot be an MSCCL file: only RCCL's dialect has this collective"},
        {RONDE_ALL_REDUCE, "ring", 64, &rccl,
         "all_reduce ring cannot be an MSCCL file: a threadblock of rank 0 has 127 steps, RCCL "
         "takes 64"},
        {RONDE_ALL_GATHER, "direct", 80, &rccl,
         "all_gather direct cannot be an MSCCL file: rank 0 needs 159 threadblocks, RCCL has 64"},
        {RONDE_ALL_TO_ALL, "bruck", 6, &simple,
         "all_to_all bruck cannot be an MSCCL file: it blocks with fewer than 3 messages in "
         "flight, and a connection of protocol Simple holds 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct file file =
            print_request(rows[i].collective, rows[i].algorithm, rows[i].ranks, rows[i].style);
        CU_ASSERT_EQUAL(file.status, RONDE_UNSUPPORTED);
        CU_ASSERT_STRING_EQUAL(file.error.message, rows[i].message);
        if (strcmp(file.error.message, rows[i].message) != 0)
            suite_note("\"%s\"", file.error.message);
        free_file(&file);
    }
}

/*
 * Nops that stand for what they wait for; steps that pass on between different tags or keep nothing, which the format takes
 * apart; blocks that lie apart.
 */
static void what_the_format_lacks_is_written_otherwise(void)
{
    static const char *const texts[] = {
        "ronde 1\ncollective all_reduce\nranks 2\nplacement out_of_place\n"
        "program 0 scratch 1 positions 0 1\n"
        "  lane 0\n    send in[0] -> +1\n    nop after 1.1 2.0\n    nop after 1.0\n"
        "    reduce scratch[0] out[0]\n"
        "  lane 1\n    recv scratch[0] <- +1\n    nop after 2.0\n"
        "  lane 2\n    copy in[0] out[0]\n",
        "ronde 1\ncollective broadcast\nranks 3\nchunks 2\n"
        "program 0 positions 0\nsend in[0+2] -> +1:1\ncopy in[0+2] out[0+2]\n"
        "program 1 positions 1\nrcs out[0+2] <- -1:1 -> +1:2\n"
        "program 2 positions 2\nrecv out[0+2] <- -1:2\n",
        "ronde 1\ncollective reduce\nranks 3\n"
        "program 0 positions 0\nrrc in[0] out[0] <- +1:2\n"
        "program 1 positions 1\nrrs in[0] <- +1:1 -> -1:2\n"
        "program 2 positions 2\nsend in[0] -> -1:1\n",
        "ronde 1\ncollective scatter\nranks 3\n"
        "program 0 positions 0\nsend in[1] -> +1\nsend in[2] -> +1\ncopy in[0] out[0]\n"
        "program 1 positions 1\nrecv out[0] <- -1\nrs 1 <- -1 -> +1\n"
        "program 2 positions 2\nrecv out[0] <- -1\n",
        "ronde 1\ncollective all_gather\nranks 2\nchunks 4\n"
        "program 0 positions 0\nsend in[0+2 run 1 stride 3] -> +1\nsend in[1+2] -> +1\n"
        "recv out[4+2 run 1 stride 3] <- +1\nrecv out[5+2] <- +1\ncopy in[0+4] out[0+4]\n"
        "program 1 positions 1\nsend in[0+2 run 1 stride 3] -> +1\nsend in[1+2] -> +1\n"
        "recv out[0+2 run 1 stride 3] <- +1\nrecv out[1+2] <- +1\ncopy in[0+4] out[4+4]\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && !is_missing(); i++) {
        struct ronde_schedule *before = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_schedule_read(texts[i], strlen(texts[i]), "t", ronde_mem_default(),
                                            NULL, &before, &error),
                        RONDE_OK);
        if (!before)
            suite_note("%s", error.message);
        else
            CU_ASSERT(go_out_and_back(before, true));
        ronde_schedule_destroy(before);
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

static enum ronde_status print_once(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    const enum ronde_status status = ronde_msccl_print(context, &rccl, mem, &text, &bytes, error);
    CU_ASSERT_EQUAL(text != NULL, status == RONDE_OK);
    if (text)
        ronde_mem_free(mem, text, bytes + 1, 1);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    static const struct ronde_compile_request requests[] = {
        {.collective = RONDE_ALL_TO_ALL, .algorithm = "bruck", .ranks = 3},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "double_tree", .ranks = 3},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct ronde_schedule *schedule = compile(&requests[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
        const struct sweep sweep = {requests[i].algorithm, print_once, schedule};
        CU_ASSERT(sweep_run(&sweep) > 0);
        ronde_schedule_destroy(schedule);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_algorithm_goes_out_and_back", every_algorithm_goes_out_and_back},
        {"roots_channels_and_orders_come_back", roots_channels_and_orders_come_back},
        {"each_runtime_has_its_spelling", each_runtime_has_its_spelling},
        {"what_does_not_fit_is_refused_with_the_reason",
         what_does_not_fit_is_refused_with_the_reason},
        {"what_the_format_lacks_is_written_otherwise", what_the_format_lacks_is_written_otherwise},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
    };
    return suite_run("msccl_write", cases, sizeof cases / sizeof cases[0]);
}
