/**
 * A log as an anchor: which numbers of a machine its rows tell, found again from rows that were made with them, and why a log
 * is none.
 */
#include "support/files.h"
#include "support/suite.h"

#include "nccl_shipped.h"

#include "ronde/published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char log_path[] = "published_anchor_all_reduce.log";

/** What a log is made of: calls of so many ranks and nodes, on a machine of such constants. */
struct part {
    uint32_t ranks, nodes;
    uint64_t least_bytes;
    double factor;       /**< times as long as the constants say */
    uint32_t wrong_from; /**< of its 11 rows at most, those from this one on have wrong results */
};

static void write_part(FILE *file, const struct ronde_nccl_constants *truth, const struct part *part)
{
    struct ronde_nccl_call call = {RONDE_ALL_REDUCE, part->ranks, part->nodes, 0, part->least_bytes};
    struct ronde_nccl_choice choice;
    fprintf(file, "# nThread 1 nGpus 1 minBytes 8\n");
    for (uint32_t r = 0; r < part->ranks; r++)
        fprintf(file, "#  Rank %2u Group  0 Pid %u on node%u device %2u [0x%02x] GPU\n", r, 100 + r,
                r / (part->ranks / part->nodes), r % (part->ranks / part->nodes), r % 8);
    fputs("# size count type redop root time algbw busbw #wrong\n", file);
    for (uint32_t row = 0; call.bytes <= UINT64_C(1) << 30; call.bytes *= 4, row++) {
        const double us = part->factor *
                          (part->ranks > 1 ? nccl_chosen_us(truth, &nccl_h100, &call, &choice) : 5);
        const double rate_GBps = (double)call.bytes / us / 1e3;
        fprintf(file, "%llu %llu float sum -1 %.4f %.4f %.4f %u\n", (unsigned long long)call.bytes,
                (unsigned long long)call.bytes / 4, us, rate_GBps,
                rate_GBps * ronde_collective_bus_factor(call.collective, call.ranks),
                row >= part->wrong_from);
    }
}

/** What comes of such a log. */
struct made {
    struct ronde_nccl_constants fitted;
    struct ronde_nccl_bands bands;
    struct ronde_published_anchor anchor;
    struct ronde_error error;
    char text[RONDE_PUBLISHED_ANCHOR_BYTES];
};

static enum ronde_status anchor_to(const struct ronde_nccl_constants *truth,
                                   const struct part *parts, size_t count, struct made *made)
{
    const struct ronde_published_request request = {.path = log_path, .folder = "no-such-folder"};
    static struct ronde_published log;
    FILE *file = fopen(log_path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (size_t p = 0; p < count; p++)
        write_part(file, truth, &parts[p]);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    *made = (struct made){.fitted = nccl_shipped()};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_bands_read(NULL, &made->bands, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_published_open(&request, ronde_mem_default(), &log, &made->error),
                          RONDE_OK);
    ronde_published_choose(&log, &made->fitted);
    ronde_published_describe(&log, 0, &nccl_h100, &made->fitted);
    const enum ronde_status status =
        ronde_published_anchor_to(&log, 0, log_path, &made->fitted, &made->bands, &made->anchor,
                                  &made->error);
    if (status == RONDE_OK)
        ronde_published_anchor_text(&made->anchor, made->text);
    ronde_published_close(&log);
    CU_ASSERT_EQUAL(unlink(log_path), 0);
    return status;
}

/** A number that few rows tell is held to what the constants say, by a tenth here. */
static bool is_near(double value, double truth)
{
    return fabs(value / truth - 1) < .12;
}

/* One node says nothing of NICs, and only bands of calls inside a node become narrower. */
static void one_node_tells_of_itself(void)
{
    static const struct part part = {8, 1, 1024, 1, 99};
    static struct made made;
    struct ronde_nccl_bands whole;
    struct ronde_nccl_constants truth = nccl_shipped();
    truth.links = .7;
    CU_ASSERT_EQUAL_FATAL(anchor_to(&truth, &part, 1, &made), RONDE_OK);
    CU_ASSERT_EQUAL(made.anchor.rows, 11);
    CU_ASSERT(is_near(made.fitted.links, .7));
    CU_ASSERT_EQUAL(made.fitted.nics, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.text, "rate of links times 0.7"));
    CU_ASSERT_PTR_NULL(strstr(made.text, "NICs"));
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_bands_read(NULL, &whole, NULL), RONDE_OK);
    ronde_nccl_bands_anchor(&whole, false);
    CU_ASSERT_EQUAL(memcmp(&whole, &made.bands, sizeof whole), 0);
}

/* A log of both tells of both, whichever comes first. */
static void two_places_are_told_apart(void)
{
    static const struct part parts[] = {{4, 4, 1024, 1, 99}, {8, 1, 1024, 1, 99}};
    static struct made made;
    struct ronde_nccl_constants truth = nccl_shipped();
    truth.links = .8;
    truth.nics = .6;
    CU_ASSERT_EQUAL_FATAL(anchor_to(&truth, parts, 2, &made), RONDE_OK);
    CU_ASSERT_EQUAL(made.anchor.rows, 22);
    CU_ASSERT(is_near(made.fitted.links, .8));
    CU_ASSERT(is_near(made.fitted.nics, .6));
    CU_ASSERT_PTR_NOT_NULL(strstr(made.text, "rate of links times 0."));
    CU_ASSERT_PTR_NOT_NULL(strstr(made.text, "rate of NICs times 0.6"));
}

/* On two nodes of eight H100 large calls are NVLSTree's, which the links inside limit: they are what follows. */
static void links_inside_count_between_nodes(void)
{
    static const struct part part = {16, 2, 1024, 1, 99};
    static struct made made;
    struct ronde_nccl_constants truth = nccl_shipped();
    truth.links = .6;
    CU_ASSERT_EQUAL_FATAL(anchor_to(&truth, &part, 1, &made), RONDE_OK);
    CU_ASSERT(is_near(made.fitted.links, .6));
}

/* Large messages alone say nothing of latencies, and that is said. */
static void large_sizes_tell_rates_alone(void)
{
    static const struct part part = {8, 1, 1 << 28, 1, 99};
    static struct made made;
    const struct ronde_nccl_constants truth = nccl_shipped();
    CU_ASSERT_EQUAL_FATAL(anchor_to(&truth, &part, 1, &made), RONDE_OK);
    CU_ASSERT_EQUAL(made.fitted.inside, 1);
    CU_ASSERT_STRING_EQUAL(
        made.text, "rate of links times 1.00, no size up to 64 KiB tells latency and launch");
}

/* No fit makes a machine of another one: 20 times as slow, or a tenth. */
static void another_machine_is_refused(void)
{
    static const struct part slow = {8, 1, 1024, 20, 99}, fast = {8, 1, 1024, .1, 99};
    static struct made made;
    const struct ronde_nccl_constants truth = nccl_shipped();
    CU_ASSERT_EQUAL(anchor_to(&truth, &slow, 1, &made), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.error.message, "times what h100 takes"));
    CU_ASSERT_EQUAL(anchor_to(&truth, &fast, 1, &made), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.error.message, "times what h100 takes"));
}

/* A time of a wrong result may be the time of anything. */
static void wrong_results_are_left_out(void)
{
    static const struct part some = {8, 1, 1024, 1, 8}, all = {8, 1, 1024, 1, 0};
    static struct made made;
    const struct ronde_nccl_constants truth = nccl_shipped();
    CU_ASSERT_EQUAL_FATAL(anchor_to(&truth, &some, 1, &made), RONDE_OK);
    CU_ASSERT_EQUAL(made.anchor.rows, 8);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.text, "; left out: 3 with wrong results"));
    CU_ASSERT_EQUAL(anchor_to(&truth, &all, 1, &made), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.error.message, ": results are wrong (#wrong)"));
}

/* Where no row tells anything, the first that is large enough says why. */
static void reasons_are_those_of_rows(void)
{
    static const struct part lone = {1, 1, 1 << 20, 1, 99}, wide = {16, 1, 8, 1, 99};
    static struct made made;
    const struct ronde_nccl_constants truth = nccl_shipped();
    CU_ASSERT_EQUAL(anchor_to(&truth, &lone, 1, &made), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.error.message, "line 4: a rank alone sends nothing"));
    CU_ASSERT_EQUAL(anchor_to(&truth, &wide, 1, &made), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.error.message, "h100 has 8 GPUs a node, not 16"));
}

/* An option that says what a log does not is named where there is one. */
static void no_option_is_named_that_is_not_there(void)
{
    static const char head[] = "# size count type redop root time algbw busbw #wrong\n";
    static const char *const rows[] = {"16777216 4194304 float sum -1 100.00 167.77 314.57 0\n",
                                       "#  Rank  0 Pid 1 on a device  0 [0x1b] GPU\n"
                                       "#  Rank  1 Pid 2 on a device  1 [0x1c] GPU\n"
                                       "8 2 float none -1 20.00 0.00 0.00 0\n"};
    static const char *const said[] = {": keep them in it", ": name it in the file's name"};
    for (unsigned r = 0; r < 2; r++) {
        static struct ronde_published log;
        struct ronde_error error = {.status = RONDE_OK};
        char text[1024];
        const struct ronde_published_request request = {.path = "anchor.log", .is_alone = true};
        snprintf(text, sizeof text, "%s%s", head, rows[r]);
        CU_ASSERT_FATAL(files_write(request.path, text));
        CU_ASSERT_EQUAL(ronde_published_open(&request, ronde_mem_default(), &log, &error),
                        RONDE_BAD_INPUT);
        if (!strstr(error.message, said[r]))
            suite_note("%s", error.message);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, said[r]));
        ronde_published_close(&log);
        CU_ASSERT_EQUAL(unlink(request.path), 0);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"one_node_tells_of_itself", one_node_tells_of_itself},
        {"two_places_are_told_apart", two_places_are_told_apart},
        {"links_inside_count_between_nodes", links_inside_count_between_nodes},
        {"large_sizes_tell_rates_alone", large_sizes_tell_rates_alone},
        {"another_machine_is_refused", another_machine_is_refused},
        {"wrong_results_are_left_out", wrong_results_are_left_out},
        {"reasons_are_those_of_rows", reasons_are_those_of_rows},
        {"no_option_is_named_that_is_not_there", no_option_is_named_that_is_not_there},
    };
    return suite_run("published_anchor", cases, sizeof cases / sizeof cases[0]);
}
