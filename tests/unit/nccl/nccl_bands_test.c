/**
 * How sure the model is: bands.txt is read line by line or refused, every call has a band, and bands of a table hold what they say of
 * the systems that they were made without.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "nccl_bands_XXXXXX";

static enum ronde_status read_text(const char *text, struct ronde_nccl_bands *out,
                                   struct ronde_error *error)
{
    char path[64];
    *error = (struct ronde_error){.status = RONDE_OK};
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/bands.txt", folder);
    CU_ASSERT_FATAL(files_write(path, text));
    const enum ronde_status status = ronde_nccl_bands_read(folder, out, error);
    CU_ASSERT_EQUAL(unlink(path) + rmdir(folder), 0);
    return status;
}

static void shipped_bands_hold_what_is_predicted(void)
{
    struct ronde_nccl_bands bands;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_bands_read(NULL, &bands, &error), RONDE_OK);
    for (unsigned k = 0; k < RONDE_NCCL_BAND_KIND_COUNT; k++)
        for (unsigned s = 0; s < RONDE_NCCL_BAND_SIZES; s++) {
            CU_ASSERT(bands.at[k][s].low > .3 && bands.at[k][s].low < 1);
            CU_ASSERT(bands.at[k][s].high > 1 && bands.at[k][s].high < 4);
        }
}

static void wrong_lines_are_refused_with_their_line(void)
{
    static const char *const lines[] = {"nvlink",
                                        "nvlink 0 .9 1.1",
                                        "nvlink 0 .9 1.1 3 4",
                                        "rope 0 .9 1.1 3",
                                        "nvlink 4 .9 1.1 3",
                                        "nvlink -1 .9 1.1 3",
                                        "nvlink 0 1.1 2 3",
                                        "nvlink 0 .9 .95 3",
                                        "nvlink 0 0 1.1 3",
                                        "nvlink 0 .9 inf 3",
                                        "nvlink 0 .9 x 3",
                                        "nvlink 0 .9 1.1 -3"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[128];
        struct ronde_nccl_bands bands;
        struct ronde_error error;
        snprintf(text, sizeof text, "pcie 0 .9 1.1 3\n%s\n", lines[i]);
        CU_ASSERT_EQUAL(read_text(text, &bands, &error), RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, 2);
    }
}

static void what_no_line_says_is_named(void)
{
    struct ronde_nccl_bands bands;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text("nvlink 0 .9 1.1 3\n", &bands, &error), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no line says nvlink 1"));
}

static void kinds_are_by_what_joins_the_ranks(void)
{
    static const struct {
        enum ronde_node_link link;
        enum ronde_nccl_fabric fabric;
        uint32_t ranks, nodes, nvlink_nodes;
        enum ronde_nccl_band_kind kind;
    } rows[] = {{RONDE_NODE_SWITCH, RONDE_NCCL_INFINIBAND, 8, 1, 1, RONDE_NCCL_BAND_NVLINK},
                {RONDE_NODE_PCIE, RONDE_NCCL_INFINIBAND, 8, 1, 1, RONDE_NCCL_BAND_PCIE},
                {RONDE_NODE_PAIRS, RONDE_NCCL_INFINIBAND, 4, 1, 1, RONDE_NCCL_BAND_PCIE},
                {RONDE_NODE_PAIRS, RONDE_NCCL_INFINIBAND, 2, 1, 1, RONDE_NCCL_BAND_NVLINK},
                {RONDE_NODE_SWITCH, RONDE_NCCL_INFINIBAND, 16, 2, 1, RONDE_NCCL_BAND_VERBS},
                {RONDE_NODE_SWITCH, RONDE_NCCL_ROCE, 16, 2, 1, RONDE_NCCL_BAND_VERBS},
                {RONDE_NODE_SWITCH, RONDE_NCCL_ROCE, 16, 2, 2, RONDE_NCCL_BAND_NVLINK},
                {RONDE_NODE_MESH, RONDE_NCCL_SLINGSHOT, 16, 2, 1, RONDE_NCCL_BAND_LIBFABRIC},
                {RONDE_NODE_SWITCH, RONDE_NCCL_EFA, 16, 2, 1, RONDE_NCCL_BAND_LIBFABRIC},
                {RONDE_NODE_SWITCH, RONDE_NCCL_TCPXO, 16, 2, 1, RONDE_NCCL_BAND_SOCKETS},
                {RONDE_NODE_SWITCH, RONDE_NCCL_ETHERNET, 16, 2, 1, RONDE_NCCL_BAND_SOCKETS}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_machine machine = {.gpus = 8,
                                                   .nics = 8,
                                                   .link = rows[r].link,
                                                   .fabric = rows[r].fabric,
                                                   .nvlink_nodes = rows[r].nvlink_nodes};
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, rows[r].ranks, rows[r].nodes, 0, 8};
        CU_ASSERT_EQUAL(ronde_nccl_band_kind_of(&machine, &call), rows[r].kind);
    }
}

#define SYSTEMS 10u
#define ROWS 40u

/** Systems whose times are off by up to a factor each, evenly; the last is off by far more. */
static void make(struct ronde_published *table, struct ronde_published_row rows[SYSTEMS * ROWS])
{
    *table = (struct ronde_published){.rows = rows,
                                      .count = (size_t)SYSTEMS * ROWS,
                                      .system_count = SYSTEMS,
                                      .mem = ronde_mem_default()};
    for (uint32_t r = 0; r < SYSTEMS * ROWS; r++) {
        const uint32_t system = r / ROWS;
        const double at = r % ROWS / (ROWS - 1.) * 2 - 1;
        table->systems[system].machine =
            (struct ronde_nccl_machine){.gpus = 8, .link = RONDE_NODE_SWITCH};
        rows[r] = (struct ronde_published_row){.system = system,
                                               .call = {RONDE_ALL_REDUCE, 8, 1, 0, 1024},
                                               .predicted_us = 10,
                                               .measured_us = 10 * exp(.3 * at)};
        if (system == SYSTEMS - 1)
            rows[r].measured_us *= 5;
    }
}

static void bands_hold_four_of_five(void)
{
    static struct ronde_published table;
    static struct ronde_published_row rows[SYSTEMS * ROWS];
    struct ronde_nccl_bands bands;
    struct ronde_published_sureness sure;
    struct ronde_error error = {.status = RONDE_OK};
    make(&table, rows);
    CU_ASSERT_EQUAL_FATAL(ronde_published_bands_of(&table, &bands, &error), RONDE_OK);
    CU_ASSERT_EQUAL(bands.systems[RONDE_NCCL_BAND_NVLINK][0], SYSTEMS);
    CU_ASSERT_EQUAL(bands.systems[RONDE_NCCL_BAND_PCIE][0], 0);
    /* Nine of ten systems are off by 0.74 to 1.35 times, evenly; a band holds 0.82 of all rows. */
    CU_ASSERT_DOUBLE_EQUAL(log(bands.at[RONDE_NCCL_BAND_NVLINK][0].high), .3 * .82 / .9, .016);
    CU_ASSERT_DOUBLE_EQUAL(bands.at[RONDE_NCCL_BAND_NVLINK][0].low *
                               bands.at[RONDE_NCCL_BAND_NVLINK][0].high,
                           1, 1e-9);
    /* What no system tells is what its kin do. */
    CU_ASSERT_EQUAL(bands.at[RONDE_NCCL_BAND_PCIE][0].high,
                    bands.at[RONDE_NCCL_BAND_NVLINK][0].high);
    CU_ASSERT_EQUAL_FATAL(ronde_published_sureness_of(&table, &sure, &error), RONDE_OK);
    CU_ASSERT_EQUAL(sure.rows, SYSTEMS * ROWS);
    CU_ASSERT((double)sure.inside > .75 * (double)sure.rows &&
              (double)sure.inside < .9 * (double)sure.rows);
    CU_ASSERT(sure.width > 1.4 && sure.width < exp(.6) + 1e-9);
}

/* Large calls of the anchor's place are known better, and nothing else is. */
static void an_anchor_narrows_bands_of_its_place(void)
{
    struct ronde_nccl_bands before, after;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_bands_read(NULL, &before, &error), RONDE_OK);
    for (int several = 0; several < 2; several++) {
        after = before;
        ronde_nccl_bands_anchor(&after, several);
        for (unsigned k = 0; k < RONDE_NCCL_BAND_KIND_COUNT; k++)
            for (unsigned s = 0; s < RONDE_NCCL_BAND_SIZES; s++) {
                const struct ronde_nccl_band was = before.at[k][s], is = after.at[k][s];
                const bool is_narrower = log(is.high / is.low) < .9 * log(was.high / was.low);
                CU_ASSERT_EQUAL(is_narrower, s >= 2 && (k >= RONDE_NCCL_BAND_VERBS) == several);
                CU_ASSERT(is.low >= was.low - 1e-12 && is.low <= 1);
                CU_ASSERT(is.high <= was.high + 1e-12 && is.high >= 1);
            }
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"shipped_bands_hold_what_is_predicted", shipped_bands_hold_what_is_predicted},
        {"wrong_lines_are_refused_with_their_line", wrong_lines_are_refused_with_their_line},
        {"what_no_line_says_is_named", what_no_line_says_is_named},
        {"kinds_are_by_what_joins_the_ranks", kinds_are_by_what_joins_the_ranks},
        {"bands_hold_four_of_five", bands_hold_four_of_five},
        {"an_anchor_narrows_bands_of_its_place", an_anchor_narrows_bands_of_its_place},
    };
    return suite_run("nccl_bands", cases, sizeof cases / sizeof cases[0]);
}
