/*
 * Workloads whose collectives became messages take as long as before, for every algorithm; what is under way at once, in
 * order, or waits for a start still is and does.
 */
#include "support/built_with.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/platform_text.h"

#include "ronde/gpt.h"
#include "ronde/schedules.h"
#include "ronde/workload_sim.h"

#include <math.h>
#include <string.h>

static const char machine_text[] =
    "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>"
    "<platform version='4.1'><zone id='z' routing='Full'><cluster id='c' prefix='h' suffix='' "
    "radical='0-15' speed='1Gf' bw='10GBps' lat='500ns'/></zone></platform>";

/* Two families, a collective behind a start, two in a row that wait for nothing, a message with the tag that is next. */
static const char everything[] =
    "ronde-workload 1\nranks 4\ngroups tp 0-1 2-3\ngroups dp 0,2 1,3\ngroups all 0-3\n"
    "on 0-1\n a compute 1us\n b all_reduce tp 4K after a\n c all_reduce dp 4K after b\n"
    " s send 1K to +2 after a\n d all_reduce all 8K after a\n e all_reduce all 8K\n z barrier all "
    "after e\n"
    "on 2-3\n b all_reduce tp 4K\n r recv 1K from -2\n c all_reduce dp 4K after b r\n"
    " d all_reduce all 8K\n e all_reduce all 8K\n f compute 2us after d\n z barrier all after e "
    "f\n";

/* A file that stays: pipelined schedules are tried by SimGrid, which opens it again. */
static struct ronde_platform *crossbar(void)
{
    struct ronde_platform *platform = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(RONDE_SOURCE_DIR "/topologies/crossbar-64.xml",
                                              ronde_mem_default(), &platform, NULL),
                          RONDE_OK);
    return platform;
}

static struct ronde_workload *parse(const char *text)
{
    struct ronde_workload *workload = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_workload_parse(text, strlen(text), "t", ronde_mem_default(),
                                               &workload, &error),
                          RONDE_OK);
    return workload;
}

static double time_of(const struct ronde_workload *workload, const struct ronde_workload_sim *how)
{
    struct ronde_workload_result result;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_workload_simulate(workload, how, ronde_mem_default(), &result, &error);
    const double time_ns = status == RONDE_OK ? result.time_ns : NAN;
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    ronde_workload_result_free(&result);
    return time_ns;
}

static uint32_t count_kind(const struct ronde_workload *workload, enum ronde_work_kind kind)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < workload->work_count; w++)
        count += workload->works[w].kind == kind;
    return count;
}

/* The step and its expanded form, which is freed. */
static void expect_the_same(const struct ronde_workload *workload,
                            const struct ronde_workload_sim *how)
{
    struct ronde_workload *expanded = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_workload_expand(workload, how, ronde_mem_default(), &expanded, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK) {
        suite_note("%s: %s", how->algorithm, error.message);
        return;
    }
    const double before_ns = time_of(workload, how), after_ns = time_of(expanded, how);
    const bool is_same = fabs(after_ns - before_ns) <= 1e-9 * before_ns;
    CU_ASSERT(is_same);
    if (!is_same)
        suite_note("%s: %.12g ns, expanded %.12g ns", how->algorithm, before_ns, after_ns);
    CU_ASSERT_EQUAL(count_kind(expanded, RONDE_WORK_COLLECTIVE), 0);
    CU_ASSERT_EQUAL(count_kind(expanded, RONDE_WORK_SEND), count_kind(expanded, RONDE_WORK_RECV));
    ronde_workload_destroy(expanded);
}

static void every_algorithm_takes_as_long_as_its_messages(void)
{
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = crossbar();
    struct ronde_workload *workload = parse(everything);
    uint32_t tried = 0;
    for (uint32_t a = 0; a < count; a++) {
        const struct ronde_workload_sim how = {.platform = platform,
                                               .engine = "maxmin",
                                               .algorithm = all[a]->name};
        const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                      .algorithm = all[a]->name,
                                                      .ranks = 4};
        if (all[a]->collective != RONDE_ALL_REDUCE || all[a]->supports(&request, NULL) != RONDE_OK)
            continue;
        expect_the_same(workload, &how);
        tried++;
    }
    CU_ASSERT(tried >= 5);
    ronde_workload_destroy(workload);
    ronde_platform_destroy(platform);
}

static void a_training_step_takes_as_long_as_its_messages(void)
{
    const struct ronde_gpt gpt = {.layers = 4,
                                  .hidden = 256,
                                  .seq = 128,
                                  .vocab = 1000,
                                  .batch = 8,
                                  .tp = 2,
                                  .dp = 2,
                                  .pp = 2,
                                  .micro = 4,
                                  .flops = 1e14,
                                  .dtype = RONDE_BFLOAT16};
    struct ronde_error error = {0};
    char *text = NULL;
    size_t bytes = 0;
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT_EQUAL(ronde_gpt_print(&gpt, ronde_mem_default(), &text, &bytes, &error), RONDE_OK);
    if (!text) {
        suite_note("%s", error.message);
        return;
    }
    struct ronde_platform *platform = platform_text_good(machine_text);
    struct ronde_workload *workload = parse(text);
    expect_the_same(workload, &(struct ronde_workload_sim){.platform = platform,
                                                           .engine = "maxmin",
                                                           .algorithm = "ring"});
    ronde_workload_destroy(workload);
    ronde_platform_destroy(platform);
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
}

static void expect_refusal(const char *text, const char *algorithm, enum ronde_status status,
                           const char *part)
{
    struct ronde_platform *platform = platform_text_good(machine_text);
    struct ronde_workload *workload = parse(text), *expanded = NULL;
    struct ronde_error error = {0};
    const struct ronde_workload_sim how = {.platform = platform, .algorithm = algorithm};
    CU_ASSERT_EQUAL(ronde_workload_expand(workload, &how, ronde_mem_default(), &expanded, &error),
                    status);
    CU_ASSERT_PTR_NULL(expanded);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, part));
    if (!strstr(error.message, part))
        suite_note("%s", error.message);
    ronde_workload_destroy(workload);
    ronde_platform_destroy(platform);
}

static void what_cannot_be_expanded_is_refused(void)
{
    if (!suite_can_read_platforms())
        return;
    expect_refusal(everything, "rings", RONDE_BAD_ARGUMENT, "no collective has an algorithm");
    expect_refusal("ronde-workload 1\nranks 17\n", "ring", RONDE_BAD_INPUT, "16 hosts");
    expect_refusal("num_ranks 2\nrank 0 {\nl0: send 8b to 1 tag 3\n}\nrank 1 {\nl0: recv 8b from 0 "
                   "tag -1\n}\n",
                   "ring", RONDE_UNSUPPORTED, "t:6: a receive of any tag");
}

static enum ronde_status expand_once(const void *context, const struct ronde_mem *mem,
                                     struct ronde_error *error)
{
    struct ronde_workload *workload = parse(everything), *expanded = NULL;
    const struct ronde_workload_sim how = {.platform = context, .algorithm = "ring"};
    const enum ronde_status status = ronde_workload_expand(workload, &how, mem, &expanded, error);
    ronde_workload_destroy(expanded);
    ronde_workload_destroy(workload);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(machine_text);
    const struct sweep sweep = {"expansion", expand_once, platform};
    CU_ASSERT(sweep_run(&sweep) > 0);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_algorithm_takes_as_long_as_its_messages",
         every_algorithm_takes_as_long_as_its_messages},
        {"a_training_step_takes_as_long_as_its_messages",
         a_training_step_takes_as_long_as_its_messages},
        {"what_cannot_be_expanded_is_refused", what_cannot_be_expanded_is_refused},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
    };
    return suite_run("workload_expand", cases, sizeof cases / sizeof cases[0]);
}
