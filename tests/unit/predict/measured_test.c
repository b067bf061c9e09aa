/**
 * Times measured on a backend: which rows apply to a launch, what lies between sizes, that files are read as written and
 * refused where they are malformed, and that the shipped tables name algorithms there are.
 */
#include "support/suite.h"

#include "support/built_with.h"

#include "ronde/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/** Most candidates of any collective. */
#define MOST_CANDIDATES 32

/* Two algorithms of broadcast, and one of them on more ranks than cores. */
static struct ronde_measured_row rows[] = {
    {RONDE_BROADCAST, "binomial", 2, {1, 1, 2, 4, 8, 16, 32, 64}},
    {RONDE_BROADCAST, "chain", 2, {2, 2, 2, 2, 4, 8, 16, 32}},
    {RONDE_BROADCAST, "chain", 6, {3, 3, 3, 3, 3, 3, 3, 3}},
    {RONDE_BROADCAST, "binomial", 12, {5, 5, 5, 0, 5, 5, 5, 5}},
};

static const struct ronde_measured table = {
    .backend = "paper",
    .machine = "4 cores",
    .cores = 4,
    .size_count = 8,
    .bytes = {8, 64, 512, 4096, 32768, 262144, 2097152, 16777216},
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
};

static struct ronde_choice open_broadcast(uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = RONDE_BROADCAST, .ranks = ranks};
    struct ronde_choice choice;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_init(&request, ronde_mem_default(), &choice, &error),
                          RONDE_OK);
    CU_ASSERT_FATAL(choice.count < MOST_CANDIDATES);
    return choice;
}

/** The time of an algorithm for so many bytes, ns. */
static double time_of(const struct ronde_choice *choice, const struct ronde_measured_view *view,
                      const char *algorithm, uint64_t bytes)
{
    const struct ronde_load load = {.count = bytes, .dtype = RONDE_UINT8};
    const struct ronde_pricer pricer = ronde_measured_pricer(view);
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_price(choice, &load, &pricer, quotes, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(quotes[0].engine, "measured");
    return quotes[ronde_choice_find(choice, algorithm)].time_ns;
}

/*
 * From 512 to 4,096 bytes binomial goes from 2 to 4 us: at their geometric mean, 1,448 bytes, it takes sqrt(8) us. Beyond
 * the last size it grows with the bytes.
 */
static void times_lie_on_lines_between_logarithms(void)
{
    struct ronde_choice choice = open_broadcast(2);
    struct ronde_measured_view view;
    CU_ASSERT_FATAL(ronde_measured_look(&table, RONDE_BROADCAST, 2, 4, &view));
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 1), 1000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 8), 1000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 512), 2000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 1448), 2828.4, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 4096), 4000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 3u << 24), 192000, 1e-6);
    ronde_choice_fini(&choice);
}

/* binomial and chain meet at 512 bytes, where binomial stands first. */
static void winner_is_the_measured_one(void)
{
    struct ronde_choice choice = open_broadcast(2);
    struct ronde_measured_view view;
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_FATAL(ronde_measured_look(&table, RONDE_BROADCAST, 2, 4, &view));
    const struct ronde_pricer pricer = ronde_measured_pricer(&view);
    for (uint64_t bytes = 8; bytes <= 1u << 20; bytes *= 4) {
        const struct ronde_load load = {.count = bytes, .dtype = RONDE_UINT8};
        CU_ASSERT_EQUAL(ronde_choice_price(&choice, &load, &pricer, quotes, &error), RONDE_OK);
        const uint32_t best = ronde_choice_best(&choice, quotes, RONDE_NONE);
        const uint32_t second = ronde_choice_best(&choice, quotes, best);
        CU_ASSERT_STRING_EQUAL(choice.candidates[best].request.algorithm,
                               bytes <= 512 ? "binomial" : "chain");
        /* The other two were not measured: they are no runners-up. */
        CU_ASSERT_STRING_EQUAL(choice.candidates[second].request.algorithm,
                               bytes <= 512 ? "chain" : "binomial");
    }
    ronde_choice_fini(&choice);
}

/* Ranks with cores of their own, and ranks that take turns, are not each other's neighbours. */
static void rows_are_those_of_the_nearest_ranks_alike(void)
{
    static const struct {
        uint32_t ranks, cores, expected;
    } cases[] = {{2, 4, 2}, {4, 4, 2},  {64, 64, 2}, {5, 4, 6},   {6, 2, 6},
                 {8, 4, 6}, {9, 4, 12}, {99, 4, 12}, {99, 100, 2}};
    struct ronde_measured_view view = {.table = NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT(
            ronde_measured_look(&table, RONDE_BROADCAST, cases[i].ranks, cases[i].cores, &view));
        CU_ASSERT_EQUAL(view.ranks, cases[i].expected);
    }
    CU_ASSERT(!ronde_measured_look(&table, RONDE_REDUCE, 2, 4, &view));
}

/* A size that was left out has no time on either side of it; elsewhere the row applies. */
static void what_was_not_measured_is_not_guessed(void)
{
    struct ronde_choice choice = open_broadcast(12);
    struct ronde_measured_view view;
    CU_ASSERT_FATAL(ronde_measured_look(&table, RONDE_BROADCAST, 12, 4, &view));
    CU_ASSERT_EQUAL(time_of(&choice, &view, "binomial", 64), 5000);
    CU_ASSERT(isinf(time_of(&choice, &view, "binomial", 1000)));
    CU_ASSERT(isinf(time_of(&choice, &view, "binomial", 4096)));
    CU_ASSERT(isinf(time_of(&choice, &view, "binomial", 5000)));
    CU_ASSERT(isinf(time_of(&choice, &view, "chain", 64)));
    CU_ASSERT_EQUAL(time_of(&choice, &view, "binomial", 32768), 5000);
    ronde_choice_fini(&choice);
}

/** Rows of a collective, or of one algorithm of it, on so many ranks. */
static uint32_t count_rows(const struct ronde_measured *shipped, enum ronde_collective collective,
                           const char *algorithm, uint32_t ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shipped->row_count; i++)
        count += shipped->rows[i].collective == collective && shipped->rows[i].ranks == ranks &&
                 (!algorithm || strcmp(shipped->rows[i].algorithm, algorithm) == 0);
    return count;
}

/* Every time of a row above zero, every name one of the registry. */
static void check_rows(const struct ronde_measured *shipped)
{
    for (uint32_t i = 0; i < shipped->row_count; i++) {
        const struct ronde_measured_row *row = &shipped->rows[i];
        struct ronde_error error = {0};
        CU_ASSERT(ronde_algorithm_find(row->collective, row->algorithm, &error) != NULL);
        CU_ASSERT_EQUAL(count_rows(shipped, row->collective, row->algorithm, row->ranks), 1);
        for (uint32_t k = 0; k < shipped->size_count; k++)
            CU_ASSERT(row->time_us[k] > 0.0);
    }
}

/* Every collective on every number of ranks. An algorithm that is new may wait for a quiet machine, and is then named. */
static void check_shipped(const char *backend)
{
    char relative[64], path[1024];
    struct ronde_measured *shipped = NULL;
    struct ronde_error error = {0};
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    snprintf(relative, sizeof relative, "predict/tables/%s.txt", backend);
    CU_ASSERT_FATAL(suite_source(path, sizeof path, relative));
    CU_ASSERT_EQUAL_FATAL(ronde_measured_read(path, ronde_mem_default(), &shipped, &error),
                          RONDE_OK);
    CU_ASSERT_STRING_EQUAL(shipped->backend, backend);
    CU_ASSERT(shipped->cores > 0 && strstr(shipped->machine, "cores") != NULL);
    CU_ASSERT_EQUAL(shipped->unknown_rows, 0);
    check_rows(shipped);
    for (uint32_t ranks = 2; ranks <= 8; ranks *= 2) {
        for (int c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
            CU_ASSERT(count_rows(shipped, (enum ronde_collective)c, NULL, ranks) > 0);
        for (uint32_t i = 0; i < total; i++)
            if (count_rows(shipped, all[i]->collective, all[i]->name, ranks) == 0)
                suite_note("%s: %s %s on %u ranks was not measured: ronde tune", backend,
                           ronde_collective_text(all[i]->collective), all[i]->name, ranks);
    }
    ronde_measured_destroy(shipped, ronde_mem_default());
}

static void shipped_tables_are_whole(void)
{
    check_shipped("cpu");
    check_shipped("proc");
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

#define FOLDER RONDE_SCRATCH_DIR "/measured"

/* What is written is read back: every number of a table, and the texts. */
static void files_are_read_as_they_were_written(void)
{
    static struct ronde_measured_row own[] = {
        {RONDE_BROADCAST, "binomial", 2, {0.25, 1.5}},
        {RONDE_BARRIER, "tree", 3, {1e9, 0}},
    };
    const struct ronde_measured written = {.backend = "paper",
                                           .machine = "a machine, 4 cores",
                                           .date = "2026-01-02",
                                           .cores = 4,
                                           .size_count = 2,
                                           .bytes = {8, 1u << 20},
                                           .rows = own,
                                           .row_count = 2};
    struct ronde_measured *back = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_measured_write(&written, FOLDER "/made/for/it/paper.txt", &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_measured_read(FOLDER "/made/for/it/paper.txt", ronde_mem_default(),
                                              &back, &error),
                          RONDE_OK);
    CU_ASSERT_STRING_EQUAL(back->backend, "paper");
    CU_ASSERT_STRING_EQUAL(back->machine, "a machine, 4 cores");
    CU_ASSERT_STRING_EQUAL(back->date, "2026-01-02");
    CU_ASSERT_EQUAL(back->cores, 4);
    CU_ASSERT_EQUAL_FATAL(back->size_count, 2);
    CU_ASSERT_EQUAL(back->bytes[1], 1u << 20);
    CU_ASSERT_EQUAL_FATAL(back->row_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(back->rows[i].collective, own[i].collective);
        CU_ASSERT_STRING_EQUAL(back->rows[i].algorithm, own[i].algorithm);
        CU_ASSERT_EQUAL(back->rows[i].ranks, own[i].ranks);
        CU_ASSERT_EQUAL(back->rows[i].time_us[0], own[i].time_us[0]);
        CU_ASSERT_EQUAL(back->rows[i].time_us[1], own[i].time_us[1]);
    }
    ronde_measured_destroy(back, ronde_mem_default());
    CU_ASSERT_EQUAL(ronde_measured_write(&written, FOLDER "/made/for/it", &error), RONDE_IO);
}

/* Where each file of tests/invalid is wrong, and what is said of it. */
static const struct {
    const char *file;
    uint32_t line;
    const char *said;
} invalid[] = {
    {"empty", 0, "ends without a line of backend"},
    {"no-version", 1, "the first line is not \"ronde measured times 1\""},
    {"other-version", 1, "the first line is not \"ronde measured times 1\""},
    {"backend-twice", 3, "a second line of backend"},
    {"backend-long", 2, "backend is to have 1 to 31 characters"},
    {"machine-empty", 3, "machine is to have 1 to 191 characters"},
    {"cores-zero", 5, "cores \"0\" is not a whole number above 0"},
    {"bytes-none", 6, "bytes without a size"},
    {"bytes-descend", 6, "size 64 does not ascend"},
    {"bytes-fraction", 6, "size \"1K\" is not a whole number of bytes"},
    {"bytes-too-many", 6, "more than 32 sizes"},
    {"header-missing", 6, "a row before the line of date"},
    {"no-rows-no-bytes", 5, "ends without a line of bytes"},
    {"row-short", 8, "a row is a collective, an algorithm, ranks and times"},
    {"row-ranks", 8, "ranks \"two\" is not a whole number above 0"},
    {"row-time-missing", 8, "2 times for 3 sizes"},
    {"row-time-more", 8, "more times than the 3 sizes"},
    {"row-time-negative", 8, "time \"-1\" is not a number of microseconds"},
    {"row-time-nan", 8, "time \"nan\" is not a number of microseconds"},
    {"row-time-infinite", 8, "time \"1e999\" is not a number of microseconds"},
    {"row-twice", 9, "a second row of broadcast binomial on 2 ranks"},
    {"line-too-long", 3,
     "a line without its end: cut off, of 2047 bytes or more, or with a zero byte"},
};

static void malformed_files_are_refused_with_their_line(void)
{
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
        char relative[96], path[1024], place[1100];
        struct ronde_measured *found = (struct ronde_measured *)(uintptr_t)1;
        struct ronde_error error = {0};
        snprintf(relative, sizeof relative, "tests/invalid/table-%s.txt", invalid[i].file);
        CU_ASSERT_FATAL(suite_source(path, sizeof path, relative));
        snprintf(place, sizeof place, "%s:%u: %s", path, invalid[i].line, invalid[i].said);
        CU_ASSERT_EQUAL(ronde_measured_read(path, ronde_mem_default(), &found, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NULL(found);
        CU_ASSERT_EQUAL(error.line, invalid[i].line);
        CU_ASSERT_STRING_EQUAL(error.message, place);
        if (strcmp(error.message, place) != 0)
            suite_note("%s: %s", invalid[i].file, error.message);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fputs(text, file) >= 0 && fclose(file) == 0);
}

#define HEAD                                                                                       \
    "ronde measured times 1\nbackend cpu\nmachine mine\ndate 2026-01-02\ncores 64\nbytes 8\n"

/* A table may come from a version that knows more; what it says of the rest still holds. */
static void rows_of_unknown_algorithms_are_counted(void)
{
    struct ronde_measured *found = NULL;
    struct ronde_error error = {0};
    write_file(FOLDER "/unknown.txt", HEAD "broadcast of_tomorrow 2 1\nall_swap ring 2 1\n"
                                           "broadcast chain 2 1\n");
    CU_ASSERT_EQUAL_FATAL(ronde_measured_read(FOLDER "/unknown.txt", ronde_mem_default(), &found,
                                              &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(found->row_count, 1);
    CU_ASSERT_EQUAL(found->unknown_rows, 2);
    ronde_measured_destroy(found, ronde_mem_default());
}

/** Which machine speaks for 4 ranks on 64 cores. */
static void check_found(enum ronde_collective collective, const char *machine)
{
    struct ronde_measured *found = NULL;
    struct ronde_measured_view view;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_measured_find("cpu", collective, 4, 64, ronde_mem_default(), &found,
                                              &view, &error),
                          RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT(strstr(found->machine, machine) != NULL);
    CU_ASSERT_PTR_EQUAL(view.table, found);
    ronde_measured_destroy(found, ronde_mem_default());
}

/* The named folder before the user's, that before the shipped; a table that lacks the collective is passed over. */
static void tables_are_found_in_order(void)
{
    struct ronde_measured *found = NULL;
    struct ronde_measured_view view;
    struct ronde_error error = {0};
    /* What an earlier run of this program has left. */
    (void)remove(FOLDER "/config/ronde/tune/cpu.txt");
    (void)remove(FOLDER "/proc.txt");
    write_file(FOLDER "/cpu.txt", HEAD "broadcast chain 4 1\n");
    CU_ASSERT_EQUAL_FATAL(setenv("XDG_CONFIG_HOME", FOLDER "/config", 1), 0);
    CU_ASSERT_EQUAL_FATAL(setenv("RONDE_TUNE_DIR", FOLDER, 1), 0);
    check_found(RONDE_BROADCAST, "mine");
    check_found(RONDE_BARRIER, "2 usable cores");
    CU_ASSERT_EQUAL_FATAL(unsetenv("RONDE_TUNE_DIR"), 0);
    check_found(RONDE_BROADCAST, "2 usable cores");
    const struct ronde_measured own = {.backend = "cpu",
                                       .machine = "the user's",
                                       .date = "2026-01-02",
                                       .cores = 64,
                                       .size_count = 1,
                                       .bytes = {8},
                                       .rows = rows,
                                       .row_count = 1};
    CU_ASSERT_EQUAL_FATAL(ronde_measured_write(&own, FOLDER "/config/ronde/tune/cpu.txt", &error),
                          RONDE_OK);
    check_found(RONDE_BROADCAST, "the user's");
    CU_ASSERT_EQUAL_FATAL(setenv("RONDE_TUNE_DIR", FOLDER, 1), 0);
    check_found(RONDE_BROADCAST, "mine");
    CU_ASSERT_EQUAL(ronde_measured_find("cuda", RONDE_BROADCAST, 4, 64, ronde_mem_default(), &found,
                                        &view, &error),
                    RONDE_OK);
    CU_ASSERT(!found && !view.table);
    /* What is there and wrong is not passed over. */
    write_file(FOLDER "/cpu.txt", HEAD "broadcast chain 4\n");
    CU_ASSERT_EQUAL(ronde_measured_find("cpu", RONDE_BROADCAST, 4, 64, ronde_mem_default(), &found,
                                        &view, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(error.line, 7);
    error = (struct ronde_error){0};
    write_file(FOLDER "/proc.txt", HEAD "broadcast chain 4 1\n");
    CU_ASSERT_EQUAL(ronde_measured_find("proc", RONDE_BROADCAST, 4, 64, ronde_mem_default(), &found,
                                        &view, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT(strstr(error.message, "times of cpu in the place of proc") != NULL);
}

/* One of the user's own that cannot be used costs itself: the next place is asked, and what is wrong is said. */
static void a_damaged_table_of_the_user_is_left_out(void)
{
    static const char path[] = FOLDER "/config/ronde/tune/cpu.txt";
    static const char *const texts[] = {"",
                                        "ronde measured times 1\n",
                                        "\x7f"
                                        "ELF",
                                        "ronde measured times 1\nbackend proc\n",
                                        HEAD "broadcast chain 4 12",
                                        NULL,
                                        NULL};
    CU_ASSERT_EQUAL_FATAL(setenv("XDG_CONFIG_HOME", FOLDER "/config", 1), 0);
    CU_ASSERT_EQUAL_FATAL(unsetenv("RONDE_TUNE_DIR"), 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ronde_measured *found = NULL;
        struct ronde_measured_view view;
        struct ronde_error error = {0};
        (void)remove(path);
        /* The last are no files: a folder, and a pipe that nobody writes into. */
        if (texts[i])
            write_file(path, texts[i]);
        else
            CU_ASSERT_EQUAL_FATAL(texts[i - 1] ? mkdir(path, 0700) : mkfifo(path, 0600), 0);
        CU_ASSERT_EQUAL(ronde_measured_find("cpu", RONDE_BROADCAST, 4, 64, ronde_mem_default(),
                                            &found, &view, &error),
                        RONDE_OK);
        CU_ASSERT(found && strstr(found->machine, "2 usable cores"));
        CU_ASSERT(strstr(view.left_out, path) != NULL);
        ronde_measured_destroy(found, ronde_mem_default());
    }
    CU_ASSERT_EQUAL(remove(path), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"times_lie_on_lines_between_logarithms", times_lie_on_lines_between_logarithms},
        {"winner_is_the_measured_one", winner_is_the_measured_one},
        {"rows_are_those_of_the_nearest_ranks_alike", rows_are_those_of_the_nearest_ranks_alike},
        {"what_was_not_measured_is_not_guessed", what_was_not_measured_is_not_guessed},
        {"shipped_tables_are_whole", shipped_tables_are_whole},
        {"files_are_read_as_they_were_written", files_are_read_as_they_were_written},
        {"malformed_files_are_refused_with_their_line", malformed_files_are_refused_with_their_line},
        {"rows_of_unknown_algorithms_are_counted", rows_of_unknown_algorithms_are_counted},
        {"tables_are_found_in_order", tables_are_found_in_order},
        {"a_damaged_table_of_the_user_is_left_out", a_damaged_table_of_the_user_is_left_out},
    };
    return suite_run("measured", cases, sizeof cases / sizeof cases[0]);
}
