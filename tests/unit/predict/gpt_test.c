/** Steps of GPT-like models: sizes against the formulas of the papers, and the pipeline's bubble. */
#include "support/suite.h"

#include "unit/platform_text.h"

#include "ronde/gpt.h"
#include "ronde/workload_sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct ronde_gpt small = {.layers = 4,
                                       .hidden = 256,
                                       .seq = 128,
                                       .batch = 8,
                                       .vocab = 1000,
                                       .tp = 2,
                                       .dp = 2,
                                       .pp = 2,
                                       .micro = 2,
                                       .dtype = RONDE_BFLOAT16,
                                       .flops = 1e9,
                                       .bucket_bytes = 1};

static struct ronde_workload *make(const struct ronde_gpt *gpt)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_workload *workload = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_gpt_print(gpt, ronde_mem_default(), &text, &bytes, &error),
                          RONDE_OK);
    if (ronde_workload_parse(text, bytes, "gpt", ronde_mem_default(), &workload, &error) != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
    return workload;
}

/* What all ranks compute, and what they put into collectives of a family, or messages. */
struct totals {
    double compute_ns;
    uint64_t tp_bytes, tp_calls, dp_bytes, dp_calls, sent_bytes, sends;
};

static struct totals add_up(const struct ronde_workload *workload)
{
    struct totals totals = {0};
    for (uint32_t w = 0; w < workload->work_count; w++) {
        const struct ronde_work *work = &workload->works[w];
        if (work->kind == RONDE_WORK_COMPUTE)
            totals.compute_ns += work->duration_ns;
        if (work->kind == RONDE_WORK_SEND) {
            totals.sends++;
            totals.sent_bytes += work->bytes;
        }
        if (work->kind != RONDE_WORK_COLLECTIVE)
            continue;
        const char *family =
            ronde_workload_text(workload, workload->families[workload->groups[work->group].family]);
        if (strcmp(family, "tp") == 0) {
            totals.tp_calls++;
            totals.tp_bytes += work->bytes;
        } else {
            totals.dp_calls++;
            totals.dp_bytes += work->bytes;
        }
    }
    return totals;
}

/* 72 B s l h^2 (1 + s / 6h + V / 12 l h), over all ranks; the paper has 96 and V / 16 l h with recomputation. */
static double operations(const struct ronde_gpt *gpt)
{
    const double b = gpt->batch, s = gpt->seq, l = gpt->layers, h = gpt->hidden, v = gpt->vocab;
    return 72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
}

static void sizes_are_those_of_the_papers(void)
{
    struct ronde_workload *workload = make(&small);
    const struct totals totals = add_up(workload);
    /* Times are printed as whole nanoseconds, of 200 ms and more in all. */
    CU_ASSERT_DOUBLE_EQUAL(totals.compute_ns * 1e-9 * small.flops / operations(&small), 1, 1e-5);
    /* Two all_reduces of b s h a layer and pass: 2 passes x 2 x 4 layers x 2 microbatches, on 2 x 2 ranks of a stage's. */
    const uint64_t activation = 2 * 128 * 256 * 2;
    CU_ASSERT_EQUAL(totals.tp_calls, 2 * 2 * 4 * 2 * 4);
    CU_ASSERT_EQUAL(totals.tp_bytes, totals.tp_calls * activation);
    /* One stage sends forwards, the other backwards: each of 4 ranks and 2 microbatches. */
    CU_ASSERT_EQUAL(totals.sends, 2 * 4 * 2);
    CU_ASSERT_EQUAL(totals.sent_bytes, totals.sends * activation);
    /* Each of 4 ranks of a stage reduces 2 of the layers, each of which two ranks share, and its part of the words. */
    const uint64_t layer = 12 * 256 * 256 + 13 * 256, words = 1000 * 256;
    CU_ASSERT_EQUAL(totals.dp_calls, 2 * 4 * 3);
    CU_ASSERT_EQUAL(totals.dp_bytes, 4 * (4 * layer + 2 * words + 128 * 256) / 2 * 2);
    ronde_workload_destroy(workload);
}

static void sequences_are_split_into_two_collectives_each(void)
{
    struct ronde_gpt gpt = small;
    gpt.splits_sequence = true;
    struct ronde_workload *workload = make(&gpt);
    const struct totals totals = add_up(workload);
    const uint64_t activation = 2 * 128 * 256 * 2;
    CU_ASSERT_EQUAL(totals.tp_calls, 2 * 2 * 2 * 4 * 2 * 4);
    CU_ASSERT_EQUAL(totals.tp_bytes, totals.tp_calls * activation);
    CU_ASSERT_EQUAL(totals.sent_bytes, totals.sends * activation / 2);
    ronde_workload_destroy(workload);
}

static void buckets_are_whole_layers(void)
{
    struct ronde_gpt gpt = small;
    gpt.bucket_bytes = (uint64_t)1 << 40;
    struct ronde_workload *workload = make(&gpt);
    const struct totals all = add_up(workload);
    CU_ASSERT_EQUAL(all.dp_calls, 2 * 4 * 2);
    ronde_workload_destroy(workload);
    gpt = small;
    workload = make(&gpt);
    CU_ASSERT_EQUAL(all.dp_bytes, add_up(workload).dp_bytes);
    ronde_workload_destroy(workload);
}

/*
 * Links that cost nothing: m microbatches through p equal stages take (m + p - 1) of one's two passes (Narayanan et al.,
 * section 2.2.1, the bubble is (p - 1) / m of the rest).
 */
static void the_bubble_of_a_pipeline_is_the_papers(void)
{
    static const char machine[] =
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>"
        "<platform version='4.1'><zone id='z' routing='Full'><cluster id='c' prefix='h' suffix='' "
        "radical='0-15' speed='1Gf' bw='1000000GBps' lat='0ns'/></zone></platform>";
    static const uint32_t shapes[][2] = {{1, 1}, {2, 1}, {2, 4}, {4, 2}, {4, 4}, {4, 9}, {8, 16}};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct ronde_gpt gpt = small;
        struct ronde_workload_result result;
        struct ronde_error error = {0};
        gpt.tp = gpt.dp = 1;
        gpt.layers = 8;
        gpt.vocab = 0;
        gpt.pp = shapes[i][0];
        gpt.batch = gpt.micro = shapes[i][1];
        struct ronde_workload *workload = make(&gpt);
        const struct ronde_workload_sim how = {.platform = platform_text_good(machine),
                                               .engine = "maxmin"};
        CU_ASSERT_EQUAL(ronde_workload_simulate(workload, &how, ronde_mem_default(), &result, &error),
                        RONDE_OK);
        const double both = operations(&gpt) / gpt.micro / gpt.pp / gpt.flops * 1e9;
        CU_ASSERT_DOUBLE_EQUAL(result.time_ns / both, gpt.micro + gpt.pp - 1.0, 1e-3);
        CU_ASSERT_DOUBLE_EQUAL(result.mean.compute_ns / both, gpt.micro, 1e-3);
        ronde_workload_result_free(&result);
        ronde_workload_destroy(workload);
        struct ronde_platform *platform;
        memcpy(&platform, &how.platform, sizeof platform);
        ronde_platform_destroy(platform);
    }
}

static void what_does_not_divide_is_refused(void)
{
    static const struct {
        struct ronde_gpt change;
        const char *message;
    } cases[] = {
        {{.layers = 3}, "3 layers do not divide into 2 stages"},
        {{.hidden = 255}, "a hidden size of 255 does not divide by tp 2"},
        {{.batch = 6}, "a batch of 6 sequences does not divide into dp 2 x 2 microbatches"},
        {{.tp = 65536}, "tp 65536 x dp 2 x pp 2: more than 131072 ranks"},
        {{.layers = 1000000000},
         "16000000000 lines of a workload are more than 1048576; the variable RONDE_MAX_LINES "
         "raises that, up to 268435456"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ronde_gpt *change = &cases[i].change;
        struct ronde_gpt gpt = small;
        struct ronde_error error = {0};
        char *text = NULL;
        size_t bytes = 0;
        gpt.layers = change->layers ? change->layers : gpt.layers;
        gpt.hidden = change->hidden ? change->hidden : gpt.hidden;
        gpt.batch = change->batch ? change->batch : gpt.batch;
        gpt.tp = change->tp ? change->tp : gpt.tp;
        CU_ASSERT_EQUAL(ronde_gpt_print(&gpt, ronde_mem_default(), &text, &bytes, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(text);
        CU_ASSERT_STRING_EQUAL(error.message, cases[i].message);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"sizes_are_those_of_the_papers", sizes_are_those_of_the_papers},
        {"sequences_are_split_into_two_collectives_each",
         sequences_are_split_into_two_collectives_each},
        {"buckets_are_whole_layers", buckets_are_whole_layers},
        {"the_bubble_of_a_pipeline_is_the_papers", the_bubble_of_a_pipeline_is_the_papers},
        {"what_does_not_divide_is_refused", what_does_not_divide_is_refused},
    };
    return suite_run("gpt", cases, sizeof cases / sizeof cases[0]);
}
