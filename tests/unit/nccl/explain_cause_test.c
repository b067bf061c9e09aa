/*
 * What would help a job: the fault that explains logs and traces together, which one of them alone leaves open, and the other
 * placement of its groups.
 */
#include "nccl_shipped.h"
#include "nccl_tests_log.h"

#include "support/heap.h"
#include "support/suite.h"

#include "ronde/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "explain_cause_test.log";

static struct ronde_nccl_constants constants;
static struct ronde_doctor_spread spread;

static void read_shipped(void)
{
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(NULL, &constants, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_doctor_spread_read(NULL, &spread, &error), RONDE_OK);
}

/* Adds what a machine measures of a collective. */
static void add_log(struct ronde_explanation *found, const struct ronde_nccl_machine *machine,
                    enum ronde_collective collective, const char *program)
{
    const struct log_of log = {machine, 8, 1, "", 0, 1, 1ull << 32, program, collective};
    const struct ronde_published_request request = {.path = path, .folder = "."};
    struct ronde_published published;
    struct ronde_error error = {0};
    CU_ASSERT_FATAL(nccl_tests_log_write(path, &log));
    CU_ASSERT_EQUAL_FATAL(ronde_published_open(&request, ronde_mem_default(), &published, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(ronde_explanation_add_log(found, &published, &error), RONDE_OK);
    ronde_published_close(&published);
}

/* What all rows should take on the machine. */
static void expect_rows(struct ronde_explanation *found, const struct ronde_nccl_machine *machine)
{
    struct ronde_explain_row *rows = found->rows.items;
    for (uint32_t r = 0; r < found->rows.count; r++) {
        struct ronde_nccl_call call;
        if (ronde_explain_call(&rows[r], machine, &call))
            ronde_explain_expect(&rows[r], &call, machine, &constants, &spread);
    }
}

/* Probability of a fault by all rows; below 0 where nothing is wrong. */
static double probability_of(const struct ronde_explanation *found, const char *key)
{
    struct ronde_diagnosis diagnosis;
    struct ronde_error error = {0};
    bool has = false;
    CU_ASSERT_EQUAL_FATAL(ronde_explain_diagnose(found, &nccl_h100, &constants, &spread, &diagnosis,
                                                 &has, &error),
                          RONDE_OK);
    CU_ASSERT(has);
    for (uint32_t c = 0; diagnosis.is_wrong && c < diagnosis.cause_count; c++)
        if (diagnosis.causes[c].variant && strcmp(diagnosis.causes[c].variant->key, key) == 0)
            return diagnosis.causes[c].probability;
    return -1;
}

/* Rings at half the rate may be missing links or a capped connection: alltoall beside them tells. */
static void logs_of_one_machine_tell_together(void)
{
    struct ronde_nccl_machine half = nccl_h100;
    half.nvlink_GBps = 225;
    for (int capped = 0; capped < 2; capped++) {
        struct ronde_explanation found = {.mem = ronde_mem_default()};
        read_shipped();
        add_log(&found, &half, RONDE_ALL_REDUCE, NULL);
        expect_rows(&found, &nccl_h100);
        CU_ASSERT(probability_of(&found, "nvlink_half") > .5);
        CU_ASSERT(probability_of(&found, "connection_capped") > .1);
        add_log(&found, &half, RONDE_SEND_RECV, "sendrecv_perf");
        add_log(&found, capped ? &nccl_h100 : &half, RONDE_ALL_TO_ALL, "alltoall_perf");
        expect_rows(&found, &nccl_h100);
        suite_note("capped %.2f, half %.2f", probability_of(&found, "connection_capped"),
                   probability_of(&found, "nvlink_half"));
        CU_ASSERT(probability_of(&found, capped ? "connection_capped" : "nvlink_half") > .8);
        ronde_explanation_close(&found);
    }
}

static void a_machine_as_described_has_no_cause(void)
{
    struct ronde_explanation found = {.mem = ronde_mem_default()};
    struct ronde_diagnosis diagnosis;
    struct ronde_error error = {0};
    bool has = true;
    read_shipped();
    CU_ASSERT_EQUAL(ronde_explain_diagnose(&found, &nccl_h100, &constants, &spread, &diagnosis,
                                           &has, &error),
                    RONDE_OK);
    CU_ASSERT_FALSE(has);
    add_log(&found, &nccl_h100, RONDE_ALL_REDUCE, NULL);
    add_log(&found, &nccl_h100, RONDE_ALL_TO_ALL, "alltoall_perf");
    expect_rows(&found, &nccl_h100);
    CU_ASSERT(probability_of(&found, "nvlink_half") < 0);
    ronde_explanation_close(&found);
}

/* A row of a job of 16 ranks on two nodes. */
static void add_row(struct ronde_explanation *found, const uint32_t *ranks, uint32_t count,
                    uint64_t bytes, uint64_t hidden)
{
    struct ronde_explain_row *row = ronde_list_push(found->mem, &found->rows, sizeof *row);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    *row = (struct ronde_explain_row){.ranks = ranks,
                                      .rank_count = count,
                                      .size = count,
                                      .seen = count,
                                      .collective = RONDE_ALL_REDUCE,
                                      .bytes = bytes,
                                      .calls = 10,
                                      .time_us = 1e5,
                                      .exposed_us = 100,
                                      .hidden_us = (double)hidden,
                                      .late_rank = RONDE_TRACE_NONE};
}

static void groups_that_cross_nodes_may_be_placed_within(void)
{
    static const uint32_t pair[] = {0, 1}, across[] = {0, 2, 4, 6, 8, 10, 12, 14};
    struct ronde_explanation found = {.mem = ronde_mem_default(), .steps = 1, .ranks = 16};
    struct ronde_explain_placement place;
    read_shipped();
    /* Little in pairs, much across. */
    add_row(&found, pair, 2, 1 << 16, 0);
    add_row(&found, across, 8, 1 << 28, 0);
    expect_rows(&found, &nccl_h100);
    CU_ASSERT(ronde_explain_place(&found, &nccl_h100, &constants, &place));
    CU_ASSERT(place.inner == 2 && place.outer == 8);
    CU_ASSERT(place.other_us < .5 * place.now_us);
    /* The other way round. */
    struct ronde_explain_row *rows = found.rows.items;
    rows[0].bytes = 1 << 28;
    rows[1].bytes = 1 << 16;
    expect_rows(&found, &nccl_h100);
    CU_ASSERT_FALSE(ronde_explain_place(&found, &nccl_h100, &constants, &place));
    ronde_list_free(found.mem, &found.rows, sizeof *rows);
}

/* What is computed beside slows a kernel: that says nothing of links. */
static void calls_beside_compute_are_no_evidence(void)
{
    static const uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct ronde_explanation found = {.mem = ronde_mem_default(), .steps = 1, .ranks = 8};
    struct ronde_diagnosis diagnosis;
    struct ronde_error error = {0};
    bool has = true;
    read_shipped();
    add_row(&found, ranks, 8, 1 << 28, 100);
    expect_rows(&found, &nccl_h100);
    CU_ASSERT_EQUAL(ronde_explain_diagnose(&found, &nccl_h100, &constants, &spread, &diagnosis,
                                           &has, &error),
                    RONDE_OK);
    CU_ASSERT_FALSE(has);
    ((struct ronde_explain_row *)found.rows.items)->hidden_us = 10;
    CU_ASSERT_EQUAL(ronde_explain_diagnose(&found, &nccl_h100, &constants, &spread, &diagnosis,
                                           &has, &error),
                    RONDE_OK);
    CU_ASSERT(has && diagnosis.is_wrong);
    ronde_list_free(found.mem, &found.rows, sizeof(struct ronde_explain_row));
}

/* Where NCCL opens two channels of sockets for a fast NIC more are advised; where it opens many they are not. */
static void channels_are_advised_where_few_limit(void)
{
    static const struct ronde_nccl_machine tcp = {.name = "tcp",
                                                  .generation = RONDE_NCCL_AMPERE,
                                                  .link = RONDE_NODE_SWITCH,
                                                  .fabric = RONDE_NCCL_ETHERNET,
                                                  .gpus = 8,
                                                  .sockets = 2,
                                                  .nics = 1,
                                                  .nvlink_GBps = 300,
                                                  .nic_GBps = 12.5};
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_call call = {.collective = RONDE_ALL_REDUCE,
                                   .ranks = 16,
                                   .nodes = 2,
                                   .bytes = 1 << 28};
    struct ronde_nccl_choice choice;
    double us = 0;
    read_shipped();
    (void)ronde_nccl_choose(&constants, &tcp, &call, any, &choice);
    const double own_us = ronde_nccl_execution_us(&constants, &tcp, &call, choice);
    struct ronde_nccl_machine many = tcp;
    many.min_channels = 32;
    const double most_us = ronde_nccl_execution_us(&constants, &many, &call, choice);
    const uint32_t channels = ronde_nccl_more_channels(&constants, &tcp, &call, own_us, &us);
    suite_note("own %.0f us, 32 channels %.0f, %u channels %.0f", own_us, most_us, channels, us);
    CU_ASSERT(channels >= 4 && channels <= 32 && us < own_us && us <= 1.02 * most_us);
    CU_ASSERT_EQUAL(ronde_nccl_more_channels(&constants, &tcp, &call, .9 * us, &us), 0);
    call.ranks = 8;
    call.nodes = 1;
    (void)ronde_nccl_choose(&constants, &nccl_h100, &call, any, &choice);
    CU_ASSERT_EQUAL(ronde_nccl_more_channels(&constants, &nccl_h100, &call,
                                             .9 * ronde_nccl_execution_us(&constants, &nccl_h100,
                                                                          &call, choice),
                                             &us),
                    0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"logs_of_one_machine_tell_together", logs_of_one_machine_tell_together},
        {"a_machine_as_described_has_no_cause", a_machine_as_described_has_no_cause},
        {"groups_that_cross_nodes_may_be_placed_within",
         groups_that_cross_nodes_may_be_placed_within},
        {"channels_are_advised_where_few_limit", channels_are_advised_where_few_limit},
        {"calls_beside_compute_are_no_evidence", calls_beside_compute_are_no_evidence},
    };
    return suite_run("explain_cause", cases, sizeof cases / sizeof cases[0]);
}
