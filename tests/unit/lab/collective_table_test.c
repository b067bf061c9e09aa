/** Tables of collectives beside their replay: what counts, how far off it is, and which algorithm is named. */
#include "support/files.h"
#include "support/suite.h"
#include "unit/platform_text.h"

#include "ronde/collective_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "collective,algorithm_meaning,ppn,ranks,bytes,time_us_median,notes,memory\n"

/** Four hosts, 1 us and 10 GB/s between any two; constants as from a table, or of nowhere. */
#define PLATFORM(measured_by)                                                                      \
    "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"          \
    "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-3\" "        \
    "speed=\"1Gf\" bw=\"10GBps\" lat=\"500ns\"><prop id=\"ronde.channels\" value=\"1\"/>"          \
    "<prop id=\"ronde.measured_by\" value=\"" measured_by "\"/></cluster></platform>"

static void put_file(char *path, const char *text)
{
    const int descriptor = mkstemp(path);
    CU_ASSERT_FATAL(descriptor >= 0);
    close(descriptor);
    CU_ASSERT_FATAL(files_write(path, text));
}

static enum ronde_status read_with(const char *text, const char *meanings,
                                   struct ronde_collective_table *table, struct ronde_error *error)
{
    char path[] = "/tmp/ronde-table-XXXXXX", known[] = "/tmp/ronde-known-XXXXXX";
    put_file(path, text);
    put_file(known, meanings ? meanings : "");
    *error = (struct ronde_error){0};
    const enum ronde_status status =
        ronde_collective_table_read(path, meanings ? known : NULL, table, error);
    CU_ASSERT_EQUAL(ronde_collective_table_is(path),
                    status == RONDE_OK || strstr(text, HEADER) != NULL || meanings != NULL);
    remove(path);
    remove(known);
    return status;
}

static enum ronde_status read_table(const char *text, struct ronde_collective_table *table,
                                    struct ronde_error *error)
{
    return read_with(text, NULL, table, error);
}

static unsigned count_of(const struct ronde_collective_table *table, enum ronde_table_state state)
{
    unsigned count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += table->rows[i].state == state;
    return count;
}

/** A broadcast by binomial takes 2 x 100 + 2 us, a chain 3 x 100 + 3, a ring of all_gather 3 x 25 + 3. */
static const char measured[] = HEADER "broadcast,binomial,1,4,1000000,101,,host\n"
                                      "broadcast,chain,1,4,1000000,303,,host\n"
                                      "broadcast,binomial,1,4,4,8.0032,,\n"
                                      "broadcast,chain,1,4,4,3.0012,,\n"
                                      "all_gather,ring,1,4,1000000,78,,\n"
                                      "broadcast,chain,1,8,4,1,,\n"
                                      "broadcast,chain,4,4,4,1,,\n"
                                      "broadcast,chain,1,4,4,1,FAULTY: no,\n"
                                      "broadcast,chain,1,4,4,1,segments of 4 bytes,\n"
                                      "broadcast,chain,1,4,4,1,,cuda\n"
                                      "broadcast,fanfare,1,4,4,1,,\n"
                                      "fanfare,chain,1,4,4,1,,\n"
                                      "broadcast,,1,4,4,1,,\n";

static void rows_are_predicted_and_scored(void)
{
    struct ronde_collective_table table;
    struct ronde_table_score score;
    struct ronde_error error;
    const struct ronde_tune_options options = {.slot_bytes = 1u << 30};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(PLATFORM("hand"));
    CU_ASSERT_EQUAL_FATAL(read_table(measured, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_predict(&table, platform, &options, NULL, NULL,
                                                         &error),
                          RONDE_OK);
    CU_ASSERT(count_of(&table, RONDE_TABLE_PREDICTED) == 5);
    CU_ASSERT(count_of(&table, RONDE_TABLE_OTHER) == 2);
    CU_ASSERT(count_of(&table, RONDE_TABLE_UNKNOWN) == 6);
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_score(&table, 0, table.count, &score, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(score.rows, 5);
    CU_ASSERT_DOUBLE_EQUAL(score.median, 0, 1e-9); /* three are what was replayed */
    CU_ASSERT_DOUBLE_EQUAL(score.p90, 1, 1e-9);    /* one takes half as long */
    CU_ASSERT_DOUBLE_EQUAL(score.lean, 0, 1e-9);   /* and one four times */
    /* Binomial is named at both sizes; at the smaller a chain is the faster by far. */
    const struct ronde_table_winners winners = ronde_collective_table_winners(&table);
    CU_ASSERT(winners.points == 2 && winners.right == 1);
    CU_ASSERT_DOUBLE_EQUAL(winners.lost, (8.0032 / 3.0012 - 1) / 2, 1e-9);
    ronde_collective_table_close(&table);
    ronde_platform_destroy(platform);
}

/* The row of four ranks a node is that of a machine with such nodes, and those of one are not. */
static void ranks_of_a_node_are_those_of_the_machine(void)
{
    struct ronde_collective_table table;
    struct ronde_error error;
    const struct ronde_tune_options options = {.slot_bytes = 1u << 30};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform =
        platform_text_good(PLATFORM("hand\"/><prop id=\"ronde.node_hosts\" value=\"4"));
    CU_ASSERT_EQUAL_FATAL(read_table(measured, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_predict(&table, platform, &options, NULL, NULL,
                                                         &error),
                          RONDE_OK);
    CU_ASSERT(count_of(&table, RONDE_TABLE_PREDICTED) == 1);
    CU_ASSERT(count_of(&table, RONDE_TABLE_OTHER) == 6);
    ronde_collective_table_close(&table);
    CU_ASSERT_EQUAL(read_table(HEADER "broadcast,chain,5,4,4,1,,\n", &table, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(error.message, ":2: ppn \"5\" is not a whole number from 1 to 4"));
    ronde_collective_table_close(&table);
    ronde_platform_destroy(platform);
}

static void what_constants_come_from_does_not_count(void)
{
    struct ronde_collective_table table;
    struct ronde_table_score score;
    struct ronde_error error;
    const struct ronde_tune_options options = {.slot_bytes = 1u << 30};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(PLATFORM("ronde calibrate --from-table"));
    CU_ASSERT_EQUAL_FATAL(read_table(measured, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_predict(&table, platform, &options, "flat", NULL,
                                                         &error),
                          RONDE_OK);
    CU_ASSERT(count_of(&table, RONDE_TABLE_PREDICTED) == 4);
    CU_ASSERT(count_of(&table, RONDE_TABLE_FITTED) == 1);
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_score(&table, 0, table.count, &score, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(score.rows, 4);
    ronde_collective_table_close(&table);
    /* No engine of that name: rows are refused, not lost. */
    CU_ASSERT_EQUAL_FATAL(read_table(measured, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_predict(&table, platform, &options, "bagpipes",
                                                         NULL, &error),
                          RONDE_OK);
    CU_ASSERT(count_of(&table, RONDE_TABLE_REFUSED) == 5);
    ronde_collective_table_close(&table);
    ronde_platform_destroy(platform);
}

static void names_of_others_have_meanings(void)
{
    static const char rows[] = "collective,algorithm,algorithm_meaning,ranks,bytes,time_us_median\n"
                               "broadcast,bine_lat,,4,4,1\n"
                               "broadcast,bine_lat,chain,4,4,1\n"
                               "reduce,bine_lat,,4,4,1\n";
    static const char meanings[] = "collective,algorithm,ronde_algorithm\n"
                                   "broadcast,bine_lat,binomial_bine\n"
                                   "reduce,bine_lat,binomial_bine+puts\n";
    static const struct {
        const char *meanings, *message;
    } wrong[] = {
        {"collective,algorithm\n", ":1: no column ronde_algorithm"},
        {"", ": no column collective"},
        {"collective,algorithm,ronde_algorithm\nfanfare,a,ring\n", ":2: \"fanfare\" is no"},
        {"collective,algorithm,ronde_algorithm\nreduce,a,fanfare\n", ":2: reduce has no algorithm"},
        {"collective,algorithm,ronde_algorithm\nreduce,a,ring+put\n",
         ":2: reduce has no algorithm"},
        {"collective,algorithm,ronde_algorithm\nreduce,a,+puts\n", ":2: reduce has no algorithm"},
        {"collective,algorithm,ronde_algorithm\nreduce,,chain\n", ":2: the name \"\" has not 1"},
    };
    struct ronde_collective_table table;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(read_with(rows, meanings, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL(count_of(&table, RONDE_TABLE_PREDICTED), 3);
    CU_ASSERT_STRING_EQUAL(table.rows[0].algorithm, "binomial_bine");
    CU_ASSERT_STRING_EQUAL(table.rows[2].algorithm, "binomial_bine+puts");
    ronde_collective_table_close(&table);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CU_ASSERT_EQUAL(read_with(rows, wrong[i].meanings, &table, &error), RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, wrong[i].message));
        ronde_collective_table_close(&table);
    }
}

/* Three hops of a chain, 50 ns more each: their senders are told where to. */
static void a_meaning_says_that_a_library_puts(void)
{
    struct ronde_collective_table table;
    struct ronde_error error;
    const struct ronde_tune_options options = {.slot_bytes = 1u << 30};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform =
        platform_text_good(PLATFORM("hand\"/><prop id=\"ronde.send_ns\" value=\"4:50"));
    CU_ASSERT_EQUAL_FATAL(read_table(HEADER "broadcast,chain,1,4,4,1,,\n"
                                            "broadcast,chain+puts,1,4,4,1,,\n",
                                     &table, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_predict(&table, platform, &options, NULL, NULL,
                                                         &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(count_of(&table, RONDE_TABLE_PREDICTED), 2);
    CU_ASSERT_DOUBLE_EQUAL(table.rows[1].predicted_ns - table.rows[0].predicted_ns, 150, 1e-6);
    ronde_collective_table_close(&table);
    ronde_platform_destroy(platform);
}

/* Rows of two libraries are not rivals. */
static void winners_are_of_one_library(void)
{
    static const char rows[] = "library,collective,algorithm_meaning,ranks,bytes,time_us_median\n"
                               "a,broadcast,chain,4,4,1\n"
                               "b,broadcast,binomial,4,4,1\n"
                               "b,broadcast,direct,4,4,1\n";
    struct ronde_collective_table table;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(read_table(rows, &table, &error), RONDE_OK);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].predicted_ns = table.rows[i].measured_ns;
    CU_ASSERT_EQUAL(ronde_collective_table_winners(&table).points, 1);
    ronde_collective_table_close(&table);
}

static void what_is_no_table_is_refused(void)
{
    struct ronde_collective_table table;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_table("system,collective,gpus,bytes\n", &table, &error), RONDE_BAD_INPUT);
    ronde_collective_table_close(&table);
    CU_ASSERT_EQUAL(read_table(HEADER "broadcast,chain,1,4,4,slow,,\n", &table, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT(strstr(error.message, ":2: the time \"slow\"") != NULL);
    ronde_collective_table_close(&table);
    CU_ASSERT_FALSE(ronde_collective_table_is("/no/such/file"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rows_are_predicted_and_scored", rows_are_predicted_and_scored},
        {"ranks_of_a_node_are_those_of_the_machine", ranks_of_a_node_are_those_of_the_machine},
        {"what_constants_come_from_does_not_count", what_constants_come_from_does_not_count},
        {"names_of_others_have_meanings", names_of_others_have_meanings},
        {"a_meaning_says_that_a_library_puts", a_meaning_says_that_a_library_puts},
        {"winners_are_of_one_library", winners_are_of_one_library},
        {"what_is_no_table_is_refused", what_is_no_table_is_refused},
    };
    return suite_run("collective_table", cases, sizeof cases / sizeof cases[0]);
}
