/**
 * Published measurements when memory runs out: reading, scoring, crossovers and verdicts fail as NO_MEMORY at every single
 * allocation, leave nothing behind, and leave the rows as they were.
 */
#include "support/files.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "ronde/published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROWS 40u

static const char path[] = "published_memory_test.csv";

static const struct ronde_nccl_machine machine = {.name = "made",
                                                  .generation = RONDE_NCCL_AMPERE,
                                                  .link = RONDE_NODE_SWITCH,
                                                  .gpus = 8,
                                                  .sockets = 2,
                                                  .nvlink_GBps = 300};

/** A table in place: Ring is faster beyond 1 MiB, Tree below; predictions cross at another size. */
static struct {
    struct ronde_published table;
    struct ronde_published_row rows[ROWS];
} made;

static void make(void)
{
    memset(&made, 0, sizeof made);
    made.table.rows = made.rows;
    made.table.mem = ronde_mem_default();
    made.table.count = ROWS;
    made.table.system_count = 1;
    made.table.systems[0].machine = machine;
    made.table.systems[0].is_described = true;
    for (uint32_t r = 0; r < ROWS; r++) {
        const bool is_ring = r % 2 == 0;
        const uint64_t bytes = (uint64_t)1024 << (r / 2);
        const bool is_large = bytes > 1 << 20, is_largest = bytes > 1 << 24;
        made.rows[r] =
            (struct ronde_published_row){.line = r + 2,
                                         .call = {RONDE_ALL_REDUCE, 8, 1, 229, bytes},
                                         .wish = {is_ring ? RONDE_NCCL_RING : RONDE_NCCL_TREE,
                                                  RONDE_NCCL_SIMPLE},
                                         .measured_us = is_ring == is_large ? 10 : 20,
                                         .predicted_us = is_ring == is_largest ? 10 : 15};
    }
}

static enum ronde_status score(const void *context, const struct ronde_mem *mem,
                               struct ronde_error *error)
{
    struct ronde_published_score found;
    (void)context;
    made.table.mem = mem;
    const enum ronde_status status = ronde_published_score_of(&made.table, 0, &found, error);
    if (status == RONDE_OK)
        CU_ASSERT(found.duels == ROWS / 2 && found.count[RONDE_PUBLISHED_PREDICTED] == ROWS);
    if (status != RONDE_OK)
        CU_ASSERT(found.duels == 0 && found.median == 0);
    made.table.mem = ronde_mem_default();
    return status;
}

static enum ronde_status cross(const void *context, const struct ronde_mem *mem,
                               struct ronde_error *error)
{
    struct ronde_published_crossover found[4];
    size_t count = 77;
    (void)context;
    made.table.mem = mem;
    const enum ronde_status status =
        ronde_published_crossovers(&made.table, 0, 4, found, &count, error);
    CU_ASSERT_EQUAL(count, status == RONDE_OK ? 2 : 0);
    made.table.mem = ronde_mem_default();
    return status;
}

static void scores_and_crossovers_fail_cleanly(void)
{
    struct ronde_published_score unused;
    struct ronde_error error = {.status = RONDE_OK};
    const struct sweep scores = {"score", score, NULL}, crossovers = {"crossovers", cross, NULL};
    make();
    CU_ASSERT_EQUAL(sweep_run(&scores), 2);
    /* Winners are a score's. */
    CU_ASSERT_EQUAL(ronde_published_score_of(&made.table, 0, &unused, &error), RONDE_OK);
    CU_ASSERT_EQUAL(sweep_run(&crossovers), 2);
    for (uint32_t r = 0; r < ROWS; r++) {
        CU_ASSERT_EQUAL(made.rows[r].line, r + 2);
        CU_ASSERT_EQUAL(made.rows[r].state, RONDE_PUBLISHED_PREDICTED);
    }
}

/* Measured between 1 and 2 MiB, predicted between 16 and 32; room for one, for none. */
static void crossovers_are_counted_beyond_their_room(void)
{
    struct ronde_published_score unused;
    struct ronde_error error = {.status = RONDE_OK};
    make();
    CU_ASSERT_EQUAL(ronde_published_score_of(&made.table, 0, &unused, &error), RONDE_OK);
    for (size_t room = 0; room <= 3; room++) {
        struct ronde_published_crossover found[4];
        size_t count = 0;
        memset(found, 0xff, sizeof found);
        CU_ASSERT_EQUAL(ronde_published_crossovers(&made.table, 0, room, found, &count, &error),
                        RONDE_OK);
        CU_ASSERT_EQUAL(count, 2);
        CU_ASSERT(room < 1 || (found[0].below_bytes == 1 << 20 && !found[0].is_predicted &&
                               found[0].call.bytes == 2 << 20));
        CU_ASSERT(room < 2 || (found[1].below_bytes == 1 << 24 && found[1].is_predicted &&
                               found[1].from == RONDE_NCCL_TREE && found[1].to == RONDE_NCCL_RING));
        CU_ASSERT(room > 0 || found[0].below_bytes == UINT64_MAX);
        CU_ASSERT(room > 1 || found[1].below_bytes == UINT64_MAX);
        CU_ASSERT_EQUAL(found[2].below_bytes, UINT64_MAX);
    }
}

static enum ronde_status read_file(const void *context, const struct ronde_mem *mem,
                                   struct ronde_error *error)
{
    const struct ronde_published_request request = {.path = path,
                                                    .folder = "no-such-folder",
                                                    .is_auto = *(const bool *)context};
    struct ronde_published table;
    const enum ronde_status status = ronde_published_open(&request, mem, &table, error);
    ronde_published_close(&table);
    CU_ASSERT(table.count == 0 && table.rows == NULL);
    return status;
}

/* A table of many rows, which grow, and machines by words. */
static void reading_fails_cleanly(void)
{
    static char text[16384];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "system,collective,algorithm,protocol,gpus,nodes,bytes,time_us,"
                                   "algbw_GBps,nccl_version,notes,gpu,interconnect_intra\n");
    for (unsigned r = 0; r < 100; r++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 r % 3 == 0 ? "faulty,all_reduce,,,8,3,64,5,,,,,\n" : "");
    for (unsigned r = 0; r < 100; r++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "s%u,all_reduce,auto,auto,8,1,1048576,50,20.97,2.29.2,,NVIDIA "
                                 "A100,NVLink3 NVSwitch 8 GPU\n",
                                 r % 7);
    CU_ASSERT_FATAL(used < sizeof text && files_write(path, text));
    for (unsigned is_auto = 0; is_auto < 2; is_auto++) {
        const bool wish = is_auto == 1;
        const struct sweep sweep = {"read", read_file, &wish};
        CU_ASSERT(sweep_run(&sweep) >= 2);
    }
    CU_ASSERT_EQUAL(unlink(path), 0);
}

/* Closing is for whatever was opened, also for what was closed before. */
static void closing_twice_is_allowed(void)
{
    struct ronde_published table = {.mem = ronde_mem_default()};
    ronde_published_close(&table);
    ronde_published_close(&table);
    CU_ASSERT(table.count == 0 && table.mem == ronde_mem_default());
}

/* Five months after a release it is expected, and from then on until the next. */
static void versions_follow_their_releases(void)
{
    static const struct {
        uint32_t year, month, version;
    } rows[] = {{2000, 1, 207}, {2020, 11, 207}, {2021, 3, 207},  {2021, 4, 208}, {2021, 9, 209},
                {2023, 1, 214}, {2023, 2, 215},  {2024, 2, 218},  {2024, 3, 219}, {2024, 6, 219},
                {2024, 7, 220}, {2025, 6, 225},  {2025, 12, 227}, {2026, 2, 228}, {2026, 4, 228},
                {2026, 5, 229}, {2026, 9, 229},  {2026, 10, 230}, {2099, 12, 230}};
    uint32_t before = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CU_ASSERT_EQUAL(ronde_nccl_version_at(rows[i].year, rows[i].month), rows[i].version);
        if (ronde_nccl_version_at(rows[i].year, rows[i].month) != rows[i].version)
            suite_note("%u-%u: %u", rows[i].year, rows[i].month,
                       ronde_nccl_version_at(rows[i].year, rows[i].month));
    }
    for (uint32_t month = 0; month < 12 * 12; month++) {
        const uint32_t version = ronde_nccl_version_at(2019 + month / 12, month % 12 + 1);
        CU_ASSERT(version >= before && version - before <= 207);
        before = version;
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"scores_and_crossovers_fail_cleanly", scores_and_crossovers_fail_cleanly},
        {"crossovers_are_counted_beyond_their_room", crossovers_are_counted_beyond_their_room},
        {"reading_fails_cleanly", reading_fails_cleanly},
        {"closing_twice_is_allowed", closing_twice_is_allowed},
        {"versions_follow_their_releases", versions_follow_their_releases},
    };
    return suite_run("published_memory", cases, sizeof cases / sizeof cases[0]);
}
