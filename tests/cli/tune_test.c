/**
 * `ronde tune` from the command to what `auto` then takes: the table it writes is found, read and believed, other
 * collectives' rows stay, and what cannot be measured or written leaves everything as it was.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/hw.h"
#include "ronde/measured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER RONDE_SCRATCH_DIR "/tune"
#define TABLE FOLDER "/ronde/tune/cpu.txt"

/** Tiny sizes, one round at least. */
#define TINY " -N 2 -b 8 -e 512 -f 8 --budget 0.01"

/* Runs ronde where only the scratch folder's tables are before the shipped ones. Lines are broken by the folder's length. */
static void check_says(const char *arguments, int code, const char *expected)
{
    char command[2048];
    snprintf(command, sizeof command,
             "unset RONDE_TUNE_DIR; XDG_CONFIG_HOME='" FOLDER "' '%s' %s 2>&1", suite_ronde(),
             arguments);
    said_has_words(said_by(command, code), expected);
}

static void start_anew(void)
{
    char *said = NULL;
    CU_ASSERT_EQUAL_FATAL(files_command("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'", &said), 0);
    free(said);
}

/** Rows of a collective in the table that was written. */
static uint32_t rows_of(const char *path, enum ronde_collective collective)
{
    struct ronde_measured *table = NULL;
    struct ronde_error error = {0};
    uint32_t count = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_measured_read(path, ronde_mem_default(), &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL(table->size_count, 3);
    for (uint32_t i = 0; i < table->row_count; i++) {
        CU_ASSERT_EQUAL(table->rows[i].ranks, 2);
        for (uint32_t k = 0; k < 3; k++)
            CU_ASSERT(table->rows[i].time_us[k] > 0.0);
        count += table->rows[i].collective == collective;
    }
    ronde_measured_destroy(table, ronde_mem_default());
    return count;
}

/** Algorithms of a collective. */
static uint32_t algorithms_of(enum ronde_collective collective)
{
    uint32_t total = 0, count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total; i++)
        count += all[i]->collective == collective;
    return count;
}

/** Whether ranks can be threads here; else the test is skipped. */
static bool has_threads(void)
{
    struct ronde_machine machine;
    struct ronde_error why_not = {0};
    if (ronde_backend_cpu.probe(&machine, &why_not) == RONDE_OK)
        return true;
    suite_skip("%s", why_not.message);
    return false;
}

static void what_is_measured_is_what_auto_takes(void)
{
    if (!has_threads())
        return;
    start_anew();
    check_says("tune broadcast" TINY, 0, TABLE ": ");
    CU_ASSERT_EQUAL(rows_of(TABLE, RONDE_BROADCAST), algorithms_of(RONDE_BROADCAST));
    check_says("list", 0, "(" TABLE ")");
    /* The machine's line of our own table, which no shipped one has. */
    char *said = NULL;
    CU_ASSERT_EQUAL(files_command("sed -i 's/^machine .*/machine the one of this test/' '" TABLE "'",
                                  &said),
                    0);
    free(said);
    check_says("plan broadcast -N 2 -b 8 -e 8", 0, "the one of this test");
    check_says("run broadcast -N 2 -b 8 -e 8 -n 1 -w 0", 0, "the one of this test");
    /* A collective that it lacks: the next table speaks. */
    check_says("plan barrier -N 2", 0, "2 usable cores");
}

static void other_rows_stay(void)
{
    if (!has_threads())
        return;
    start_anew();
    check_says("tune broadcast" TINY, 0, "rows");
    check_says("tune barrier" TINY, 0, "rows");
    CU_ASSERT_EQUAL(rows_of(TABLE, RONDE_BROADCAST), algorithms_of(RONDE_BROADCAST));
    CU_ASSERT_EQUAL(rows_of(TABLE, RONDE_BARRIER), algorithms_of(RONDE_BARRIER));
    check_says("tune barrier" TINY, 0, "rows");
    CU_ASSERT_EQUAL(rows_of(TABLE, RONDE_BARRIER), algorithms_of(RONDE_BARRIER));
}

static void processes_are_measured_too(void)
{
    start_anew();
    check_says("tune barrier --backend proc -o '" FOLDER "/proc.txt'" TINY, 0,
               "RONDE_TUNE_DIR=" FOLDER " ronde plan barrier -N 2 --backend proc");
    CU_ASSERT_EQUAL(rows_of(FOLDER "/proc.txt", RONDE_BARRIER), algorithms_of(RONDE_BARRIER));
}

static void what_cannot_be_done_is_refused(void)
{
    if (!has_threads())
        return;
    start_anew();
    check_says("tune --backend host", 2, "host has no clock");
    check_says("tune --backend null", 2, "null moves no data");
    check_says("tune --backend hybrid", 2, "tune measures one machine");
    check_says("tune --backend ucx", 2, "tune measures one machine");
    check_says("tune all_reduced", 2, "did you mean all_reduce?");
    check_says("tune barrier -b 0", 2, "-b is to be at least one byte");
    check_says("tune barrier --budget 0", 2, "budget");
    check_says("tune barrier -o /proc/none/cpu.txt" TINY, 2, "/proc/none/cpu.txt");
    char *said = NULL;
    CU_ASSERT_EQUAL(files_command("ls -A '" FOLDER "'", &said), 0);
    CU_ASSERT_STRING_EQUAL(said, "");
    free(said);
}

/** A table of the user's that is malformed is left out by `auto`, with its line; one that was named stops it. */
static void malformed_tables_are_left_out_or_stop_auto(void)
{
    if (!has_threads())
        return;
    start_anew();
    check_says("tune barrier" TINY, 0, "rows");
    char *said = NULL;
    CU_ASSERT_EQUAL(files_command("sed -i 's/^cores .*/cores many/' '" TABLE "'", &said), 0);
    free(said);
    check_says("plan barrier -N 2", 0, "a table is left out: " TABLE ":7:");
    CU_ASSERT_EQUAL(setenv("RONDE_TUNE_DIR", FOLDER "/ronde/tune", 1), 0);
    said_has_words(said_by_ronde("plan barrier -N 2", 2), TABLE ":7: cores \"many\"");
    CU_ASSERT_EQUAL(unsetenv("RONDE_TUNE_DIR"), 0);
    check_says("list", 0, "MISSING: " TABLE ":7: cores \"many\"");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_measured_is_what_auto_takes", what_is_measured_is_what_auto_takes},
        {"other_rows_stay", other_rows_stay},
        {"processes_are_measured_too", processes_are_measured_too},
        {"what_cannot_be_done_is_refused", what_cannot_be_done_is_refused},
        {"malformed_tables_are_left_out_or_stop_auto", malformed_tables_are_left_out_or_stop_auto},
    };
    return suite_run("tune", cases, sizeof cases / sizeof cases[0]);
}
