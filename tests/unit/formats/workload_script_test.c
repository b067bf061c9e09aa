/* Ronde's form of workloads: sets of ranks, sizes and times at their limits, and the trace of one rank given to many. */
#include "support/suite.h"

#include "ronde/workload.h"

#include <stdio.h>
#include <string.h>

static enum ronde_status parse(const char *text, struct ronde_workload **out_workload,
                               struct ronde_error *error)
{
    memset(error, 0, sizeof *error);
    return ronde_workload_parse(text, strlen(text), "f", ronde_mem_default(), out_workload, error);
}

static struct ronde_workload *good(const char *text)
{
    struct ronde_workload *workload = NULL;
    struct ronde_error error;
    CU_ASSERT_EQUAL(parse(text, &workload, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
    return workload;
}

/* A set of ranks of 16, as who computes. */
static void sets_are_ranges_with_strides(void)
{
    static const struct {
        const char *set;
        uint32_t ranks; /* bit per rank */
    } rows[] = {
        {"0", 0x0001},       {"15", 0x8000},     {"0-15", 0xffff},      {"3-3", 0x0008},
        {"0-15:2", 0x5555},  {"1-15:2", 0xaaaa}, {"0-14:7", 0x4081},    {"2-5:9", 0x0004},
        {"0-15:16", 0x0001}, {"1,3,5", 0x002a},  {"0-1,14-15", 0xc003}, {"5,0-2", 0x0027},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        uint32_t ranks = 0;
        snprintf(text, sizeof text, "ronde-workload 1\nranks 16\non %s\n x compute 1us\n",
                 rows[i].set);
        struct ronde_workload *workload = good(text);
        for (uint32_t w = 0; w < workload->work_count; w++) {
            CU_ASSERT((ranks >> workload->works[w].rank & 1) == 0);
            ranks |= 1u << workload->works[w].rank;
        }
        CU_ASSERT_EQUAL(ranks, rows[i].ranks);
        ronde_workload_destroy(workload);
    }
}

/* Members of a group are in the order in which they are named. */
static void groups_keep_the_order_of_their_ranks(void)
{
    static const uint32_t expected[] = {3, 1, 0, 2, 7, 5, 4, 6};
    struct ronde_workload *workload =
        good("ronde-workload 1\nranks 8\ngroups g 3,1,0,2 7,5,4,6\non 0-7\n x all_gather g 8\n");
    CU_ASSERT_EQUAL_FATAL(workload->group_count, 2);
    CU_ASSERT_EQUAL(workload->family_count, 1);
    for (uint32_t i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(workload->members[i], expected[i]);
    for (uint32_t w = 0; w < workload->work_count; w++)
        CU_ASSERT_EQUAL(workload->works[w].group, workload->works[w].rank / 4);
    ronde_workload_destroy(workload);
}

static void sizes_and_times_are_read_with_their_units(void)
{
    static const struct {
        const char *words;
        double ns;
    } times[] = {{"0ns", 0},       {"1ns", 1},      {"1.5us", 1500}, {"2ms", 2e6},
                 {"1s", 1e9},      {"1e3ns", 1000}, {"0.001us", 1},  {"1000000000s", 1e18},
                 {"1e18ns", 1e18}, {"007us", 7000}};
    static const struct {
        const char *words;
        uint64_t bytes;
    } sizes[] = {{"0", 0},         {"1", 1},         {"1K", 1024},
                 {"3M", 3u << 20}, {"1G", 1u << 30}, {"9007199254740992", 1ull << 53}};
    char text[160];
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        snprintf(text, sizeof text, "ronde-workload 1\nranks 1\non 0\n x compute %s\n",
                 times[i].words);
        struct ronde_workload *workload = good(text);
        CU_ASSERT_DOUBLE_EQUAL(workload->works[0].duration_ns, times[i].ns, 1e-12 * times[i].ns);
        ronde_workload_destroy(workload);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        snprintf(text, sizeof text, "ronde-workload 1\nranks 2\non 0\n x send %s to 1\n",
                 sizes[i].words);
        struct ronde_workload *workload = good(text);
        CU_ASSERT_EQUAL(workload->works[0].bytes, sizes[i].bytes);
        ronde_workload_destroy(workload);
    }
}

#define TWO "ronde-workload 1\nranks 2\n"

#define GIANT "ronde-workload 1\nranks 131072\n"
#define FOUR(name)                                                                                 \
    name "0 compute 1ns\n" name "1 compute 1ns\n" name "2 compute 1ns\n" name "3 compute 1ns\n"

static void what_is_beyond_the_limits_is_refused(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {TWO "on 0,1,0\n", "f:3: more ranks than there are"},
        /* 17 lines of 131,072 ranks: refused before they are made. */
        {GIANT "on 0-131071\n" FOUR("a") FOUR("b") FOUR("c") FOUR("d") "e compute 1ns\n",
         "f:21: 2228224 items of a workload are more than 2097152; the variable RONDE_MAX_ITEMS"},
        {GIANT "groups a 0\ngroups b 0\ngroups c 0\ngroups d 0\ngroups e 0\ngroups f 0\n"
               "groups g 0\ngroups h 0\ngroups i 0\ngroups j 0\ngroups k 0\ngroups l 0\n"
               "groups m 0\ngroups n 0\ngroups o 0\ngroups p 0\ngroups q 0\n",
         "f:19: 2228224 items of a workload are more than 2097152"},
        {TWO "on\n", "f:3: expected ranks, such as 0-7 or 0-56:8"},
        {TWO "on ,0\n", "f:3: rank \"\" is not a whole number"},
        {TWO "on 0-\n", "f:3: rank \"\" is not a whole number"},
        {TWO "on 0:\n", "f:3: stride \"\" is not a whole number"},
        {TWO "on 0-1:3\n", "f:3: stride 3 is outside 1 .. 2"},
        {TWO "groups g 0,0\n", "f:3: rank 0 is in two groups, or twice in one"},
        {TWO "groups g 0-1\non 0\n x compute 1us\ngroups h 0-1\n",
         "f:6: \"h\" is neither compute, send, recv nor a collective"},
        {TWO "on 0\n x send 9007199254740993 to 1\n",
         "f:4: size \"9007199254740993\" is not a whole number of bytes up to 8P"},
        {TWO "on 0\n x compute 1.1e18ns\n",
         "f:4: time \"1.1e18ns\" is not a number with ns, us, ms or s"},
        {TWO "on 0\n x compute nans\n", "f:4: time \"nans\" is not a number"},
        {TWO "on 0\n x compute 0x10ns\n", "f:4: time \"0x10ns\" is not a number"},
        {TWO "on 0\n x compute 5 us\n", "f:4: time \"5\" is not a number"},
        {TWO "on 0\n x compute 1us cpu 4294967295\n",
         "f:4: cpu 4294967295 is outside 0 .. 4294967294"},
        {TWO "on 0\n x send 8 to 1 tag 4294967295\n",
         "f:4: tag 4294967295 is outside 0 .. 4294967294"},
        {TWO "on 0\n x send 8 to +0\n", "f:4: distance 0 is outside 1 .. 1"},
        {TWO "on 0\n x send 8 to +\n", "f:4: distance \"\" is not a whole number"},
        {TWO "on 0\n x send 8 to\n", "f:4: rank \"\" is not a whole number"},
        {TWO "on 0\n x recv 8 to 1\n", "f:4: expected \"from\""},
        {"ronde-workload 1 1\nranks 2\n", "f:1: \"1\" is one word too many"},
        {"ronde-workload\nranks 2\n", "f:1: version \"\" is not a whole number"},
        {"ronde-workload 1\n# nothing\n\n", "f:4: expected \"ranks N\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_workload *workload = NULL;
        struct ronde_error error;
        const enum ronde_status status = parse(rows[i].text, &workload, &error);
        const bool is_right = status == RONDE_BAD_INPUT && !workload &&
                              strncmp(error.message, rows[i].message, strlen(rows[i].message)) == 0;
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note("expected \"%s\", got \"%s\"", rows[i].message, error.message);
        ronde_workload_destroy(workload);
    }
}

/* Every rank gets the items, the names and the dependencies of the one; groups become those of all. */
static void a_trace_of_one_is_given_to_many(void)
{
    struct ronde_workload *one =
        good("ronde-workload 1\nranks 1\ngroups tp 0\ngroups dp 0\non 0\n a compute 3us cpu 1\n"
             " b all_reduce tp 64 after a\n c broadcast dp 8 root 0 with chain after a b\n");
    struct ronde_workload *many = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_workload_repeat(one, 5, ronde_mem_default(), &many, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(many->ranks, 5);
    CU_ASSERT_EQUAL(many->work_count, 15);
    CU_ASSERT_EQUAL(many->dep_count, 15);
    CU_ASSERT_EQUAL(many->family_count, 2);
    CU_ASSERT_EQUAL_FATAL(many->group_count, 2);
    for (uint32_t g = 0; g < 2; g++) {
        CU_ASSERT_EQUAL(many->groups[g].member_count, 5);
        CU_ASSERT_STRING_EQUAL(ronde_workload_text(many, many->groups[g].name),
                               g == 0 ? "tp" : "dp");
        for (uint32_t r = 0; r < 5; r++)
            CU_ASSERT_EQUAL(many->members[many->groups[g].first_member + r], r);
    }
    for (uint32_t w = 0; w < many->work_count; w++) {
        const struct ronde_work *work = &many->works[w], *origin = &one->works[w % 3];
        CU_ASSERT_EQUAL(work->rank, w / 3);
        CU_ASSERT(work->kind == origin->kind && work->bytes == origin->bytes &&
                  work->duration_ns == origin->duration_ns && work->cpu == origin->cpu &&
                  work->algorithm == origin->algorithm && work->dep_count == origin->dep_count);
        CU_ASSERT_STRING_EQUAL(ronde_workload_text(many, work->name),
                               ronde_workload_text(one, origin->name));
        for (uint32_t d = 0; d < work->dep_count; d++)
            CU_ASSERT_EQUAL(many->deps[work->first_dep + d].work,
                            one->deps[origin->first_dep + d].work + w / 3 * 3);
    }
    ronde_workload_destroy(many);
    ronde_workload_destroy(one);
}

static void what_is_of_certain_ranks_is_not_given_to_others(void)
{
    static const struct {
        const char *text;
        uint32_t ranks;
        enum ronde_status status;
        const char *message;
    } rows[] = {
        {TWO "on 0\n x compute 1us\n", 4, RONDE_BAD_ARGUMENT,
         "f has 2 ranks: only the trace of one can be given to others"},
        {"ronde-workload 1\nranks 1\non 0\n x compute 1us\n", 0, RONDE_BAD_ARGUMENT,
         "0 ranks: a workload has 1 to 131072"},
        {"ronde-workload 1\nranks 1\non 0\n x compute 1us\n", 131073, RONDE_BAD_ARGUMENT,
         "131073 ranks: a workload has"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_workload *one = good(rows[i].text), *many = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_workload_repeat(one, rows[i].ranks, ronde_mem_default(), &many, &error),
                        rows[i].status);
        CU_ASSERT_PTR_NULL(many);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[i].message));
        ronde_workload_destroy(one);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"sets_are_ranges_with_strides", sets_are_ranges_with_strides},
        {"groups_keep_the_order_of_their_ranks", groups_keep_the_order_of_their_ranks},
        {"sizes_and_times_are_read_with_their_units", sizes_and_times_are_read_with_their_units},
        {"what_is_beyond_the_limits_is_refused", what_is_beyond_the_limits_is_refused},
        {"a_trace_of_one_is_given_to_many", a_trace_of_one_is_given_to_many},
        {"what_is_of_certain_ranks_is_not_given_to_others",
         what_is_of_certain_ranks_is_not_given_to_others},
    };
    return suite_run("workload_script", cases, sizeof cases / sizeof cases[0]);
}
