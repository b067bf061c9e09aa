/**
 * Logs of nccl-tests of any shape (groups, containers of one host name, GPUs that are masked, several runs, processes that do not
 * know each other), disturbed in drawn ways. What is read is what was measured: no other number, of no other call, without a word;
 * a row that nothing hit is read, and where one is missing something says so. RONDE_TEST_SCALE is how many.
 */
#include "disturb.h"

#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Parts of a log are rows, and what says of a run what it is. */
enum { MOST_RUNS = 5, MOST_ROWS = 60, SAYS = 100, FAILURE = 110 };

/** What a log is of. */
enum shape {
    PLAIN,
    GROUPS, /**< NCCL_TESTS_SPLIT: the log is of the first of several that ran beside each other */
    CONTAINERS, /**< nodes of one name */
    MASKED,     /**< every process sees a part of the GPUs of its node, numbered from 0 */
    SPARSE,     /**< some processes are not listed: Ray leaves out what is alike */
    TWO_RUNS,   /**< one after the other */
    STRANGERS,  /**< processes that measure themselves, after each other or mixed */
    SHAPE_COUNT
};
static const char *const shape_names[SHAPE_COUNT] = {"plain",  "groups",   "containers", "masked",
                                                     "sparse", "two runs", "strangers"};

struct run {
    const char *test;
    enum ronde_collective collective;
    uint32_t ranks, nodes, listed;
};

/** A row as it was measured: part of the disturbed log by its number. */
struct row {
    const struct run *run;
    uint64_t bytes;
    double us[2];
    bool has_wrong; /**< values */
};

static struct disturbed log_;
static struct run runs[MOST_RUNS];
static unsigned run_count;
static struct row rows[MOST_ROWS];
static unsigned row_count;
static bool has_failed;

static unsigned draw(unsigned bound)
{
    return disturb_draw(&log_, bound);
}

static const struct {
    const char *test;
    enum ronde_collective collective;
    const char *words;
    bool is_blocks; /**< count is of a block, one a rank */
} tests[] = {{"all_reduce", RONDE_ALL_REDUCE, "sum      -1", false},
             {"all_gather", RONDE_ALL_GATHER, "none      -1", true},
             {"reduce_scatter", RONDE_REDUCE_SCATTER, "sum      -1", true},
             {"broadcast", RONDE_BROADCAST, "none       0", false},
             {"alltoall", RONDE_ALL_TO_ALL, "none      -1", true},
             {"sendrecv", RONDE_SEND_RECV, "sum      -1", false}};

/* As nccl-tests prints times: five digits or so; returns what is written. */
static double write_time(char out[16], double us)
{
    snprintf(out, 16, us >= 10000 ? "%.0f" : us >= 1000 ? "%.1f" : "%.2f", us);
    return strtod(out, NULL);
}

static void add_row(const struct run *run, unsigned test, uint64_t bytes, bool has_columns)
{
    char time[2][16], cells[256];
    size_t used = 0;
    if (row_count == MOST_ROWS)
        return;
    struct row *row = &rows[row_count];
    *row = (struct row){run, bytes, {0}, draw(200) == 0};
    for (unsigned h = 0; h < 2; h++) {
        const double us = 5 + draw(2000) / 100. + (double)bytes / (1e3 * (50 + draw(300)));
        row->us[h] = write_time(time[h], us);
        used += (size_t)snprintf(cells + used, sizeof cells - used, "  %7s  %6.2f  %6.2f  %5s",
                                 time[h], (double)bytes / us / 1e3,
                                 (double)bytes / us / 1e3 *
                                     ronde_collective_bus_factor(run->collective, run->ranks),
                                 row->has_wrong                                  ? "7"
                                 : h == 1 && run->collective == RONDE_ALL_TO_ALL ? "N/A"
                                                                                 : "0");
    }
    disturb_add(&log_, (int)row_count++, "%12llu  %12llu     float     %s%s%s",
                (unsigned long long)bytes,
                (unsigned long long)(bytes / 4 / (tests[test].is_blocks ? run->ranks : 1)),
                tests[test].words, cells, has_columns ? "     RING    LL128      24" : "");
}

/* "#  Rank ...": where the processes are. */
static void list_ranks(enum shape shape, const struct run *run, unsigned group, uint32_t pid)
{
    const uint32_t groups = shape == GROUPS ? group : 1, all = run->ranks * groups;
    const bool is_contiguous = draw(2) == 0;
    const uint32_t per_node = run->ranks / run->nodes * (is_contiguous ? 1 : groups);
    const uint32_t seen = shape == MASKED ? 1 + draw(2) : per_node;
    for (uint32_t r = 0; r < all; r++) {
        const uint32_t local = r % per_node;
        if (shape == SPARSE && r > 0 && r + 1 < all)
            continue;
        disturb_add(
            &log_, SAYS + (int)(run - runs),
            "#  Rank %2u Group %2u Pid %6u on     node%02u device %2u [0000:%02x:00] NVIDIA "
            "H100 80GB HBM3%s",
            r, is_contiguous ? r / run->ranks : r % groups, pid + r,
            shape == CONTAINERS ? 1 : 1 + r / per_node, local % seen, 0x1b + 9 * local,
            shape == SPARSE && r > 0 ? " [repeated 7x across cluster]" : "");
    }
}

static void add_run(enum shape shape)
{
    struct run *run = &runs[run_count++];
    const unsigned test = draw(sizeof tests / sizeof tests[0]), group = 2 + draw(3);
    const bool has_columns = draw(6) == 0;
    const unsigned step = 1 + draw(3);
    *run = (struct run){tests[test].test, tests[test].collective, 0, 1 + draw(4), 0};
    if (shape == CONTAINERS && run->nodes == 1)
        run->nodes = 2;
    run->ranks = run->nodes * (2 + draw(7));
    disturb_add(&log_, -1, "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809");
    disturb_add(&log_, SAYS + (int)(run - runs), "# Collective test starting: %s_perf", run->test);
    disturb_add(&log_, -1,
                "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4294967296 step: 2(factor) warmup "
                "iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0");
    disturb_add(&log_, -1, "#");
    disturb_add(&log_, -1, "# Using devices");
    list_ranks(shape, run, group, 9000 + 100 * run_count);
    disturb_add(&log_, -1, "#");
    disturb_add(&log_, -1,
                "#       size         count      type   redop    root     time   algbw   busbw "
                "#wrong     time   algbw   busbw #wrong%s",
                has_columns ? "    algo   proto nchannels" : "");
    disturb_add(&log_, -1,
                "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)     "
                "       (us)  (GB/s)  (GB/s)       ");
    for (uint64_t bytes = 1024 * run->ranks; bytes < UINT64_C(1) << 33; bytes <<= step)
        add_row(run, test, bytes, has_columns);
    disturb_add(&log_, -1, "# Out of bounds values : 0 OK");
    disturb_add(&log_, -1, "# Avg bus bandwidth    : 99.3 ");
}

/* Processes of `per` GPUs that write at once, or one after the other. */
static void add_strangers(void)
{
    const unsigned count = 3 + draw(2), per = draw(2) == 0 ? 1 : 4;
    static struct disturb_line own[MOST_RUNS][64];
    unsigned length[MOST_RUNS] = {0}, done[MOST_RUNS] = {0}, left = 0;
    const bool is_mixed = per > 1 || draw(2) == 0;
    for (unsigned p = 0; p < count; p++) {
        struct run *run = &runs[run_count++];
        *run = (struct run){"all_reduce", RONDE_ALL_REDUCE, per, 1, 0};
        const unsigned first = log_.count;
        disturb_add(&log_, -1, "# nThread 1 nGpus %u minBytes 8 maxBytes 4294967296", per);
        disturb_add(&log_, -1, "# Using devices");
        list_ranks(PLAIN, run, 1, 7000 + 100 * p);
        disturb_add(&log_, -1,
                    "#       size         count      type   redop    root     time   algbw   busbw "
                    "#wrong     time   algbw   busbw #wrong");
        for (uint64_t bytes = 1024; bytes < UINT64_C(1) << 30; bytes *= 16)
            add_row(run, 0, bytes, false);
        disturb_add(&log_, -1, "# Out of bounds values : 0 OK");
        length[p] = log_.count - first;
        left += length[p];
        memcpy(own[p], &log_.line[first], length[p] * sizeof own[p][0]);
    }
    for (log_.count -= is_mixed ? left : 0; is_mixed && left > 0;) {
        const unsigned p = draw(count);
        if (done[p] == length[p])
            continue;
        log_.line[log_.count++] = own[p][done[p]++];
        left--;
    }
}

static enum shape make_log(uint64_t seed)
{
    memset(&log_, 0, sizeof log_);
    log_.random = seed;
    run_count = row_count = 0;
    const enum shape shape = draw(2) == 0 ? PLAIN : draw(SHAPE_COUNT);
    if (shape == STRANGERS)
        add_strangers();
    else
        add_run(shape);
    if (shape == TWO_RUNS)
        add_run(PLAIN);
    has_failed = draw(10) == 0;
    if (has_failed)
        disturb_add(&log_, FAILURE,
                    "gpu-1: Test NCCL failure common.cu:958 'unhandled system error'");
    for (unsigned times = 1 + draw(2); times > 0; times--)
        disturb(&log_, draw(DISTURB_WAYS));
    return shape;
}

static enum ronde_status read_log(struct ronde_published *table, struct ronde_error *error)
{
    char path[64];
    size_t bytes = 0;
    char *text = disturb_text(&log_, &bytes);
    const int file = memfd_create("log", 0);
    const struct ronde_published_request request = {.path = path, .folder = "/nonexistent"};
    CU_ASSERT_FATAL(text && file >= 0 && write(file, text, bytes) == (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const enum ronde_status status =
        ronde_published_open(&request, ronde_mem_default(), table, error);
    close(file);
    free(text);
    return status;
}

/* The measured row that one is, of its call if there is one; -1 for none. */
static int row_of(const struct ronde_published_row *read)
{
    int found = -1;
    for (unsigned r = 0; r < row_count; r++)
        if (rows[r].bytes == read->call.bytes && rows[r].us[read->is_in_place] == read->measured_us &&
            (found < 0 || rows[r].run->ranks == read->call.ranks))
            found = (int)r;
    return found;
}

static bool complain(char *out, size_t bytes, const char *what, uint64_t size, double us)
{
    snprintf(out, bytes, "%s: %llu B, %g us", what, (unsigned long long)size, us);
    return false;
}

/* Whether a row, or what its run is, was hit. */
static bool is_hurt(unsigned row)
{
    bool is_run_hurt = log_.is_hurt[SAYS + (rows[row].run - runs)];
    /* Who writes in the middle of others is what they are, too. */
    for (unsigned r = 0; r < run_count && run_count > 2; r++)
        is_run_hurt = is_run_hurt || log_.is_hurt[SAYS + r];
    return log_.is_hurt[row] || is_run_hurt;
}

/* Whether a log is read as it should be; else what is wrong. */
static bool is_right(enum shape shape, const struct ronde_published *table, char *out, size_t bytes)
{
    const struct ronde_log_facts *said = &table->log;
    const bool has_note =
        said->unread_count > 0 || said->unfinished_line > 0 || said->separate_line > 0;
    unsigned found[MOST_ROWS] = {0};
    for (size_t r = 0; r < table->count; r++) {
        const struct ronde_published_row *read = &table->rows[r];
        const int at = row_of(read);
        if (at < 0)
            return complain(out, bytes, "nobody measured", read->call.bytes, read->measured_us);
        const struct run *run = rows[at].run;
        for (unsigned same = 0; same < row_count; same++)
            if (rows[same].bytes == read->call.bytes &&
                rows[same].us[read->is_in_place] == read->measured_us)
                found[same] |= 1u << read->is_in_place;
        if (!said->separate_line &&
            (read->call.ranks != run->ranks ||
             (read->call.nodes != run->nodes && read->call.nodes > 0) ||
             read->call.collective != run->collective) &&
            !has_note)
            return complain(out, bytes, "of another call", read->call.ranks, read->call.nodes);
    }
    if (has_failed && !log_.is_hurt[FAILURE] && !said->failure_line)
        return complain(out, bytes, "failed without a word", 0, 0);
    for (unsigned r = 0; r < row_count; r++) {
        if (rows[r].has_wrong && found[r] && said->wrong_line == 0)
            return complain(out, bytes, "wrong values without a word", rows[r].bytes, 0);
        if (found[r] == 3)
            continue;
        if (!is_hurt(r) && !(shape == STRANGERS && has_note))
            return complain(out, bytes, "not read", rows[r].bytes, rows[r].us[0]);
        if (!has_note && !log_.is_cut)
            return complain(out, bytes, "missing without a word", rows[r].bytes, rows[r].us[0]);
    }
    return true;
}

/* Whether a row is left that nothing hit. */
static bool has_rows(void)
{
    for (unsigned r = 0; r < row_count; r++)
        if (!is_hurt(r))
            return true;
    return false;
}

static void disturbed_logs_are_read_as_they_were_measured(void)
{
    const uint64_t tries = suite_number("RONDE_TEST_SCALE", 100);
    const uint64_t only = suite_number("RONDE_TEST_SEED", 0);
    unsigned wrong = 0, refused = 0;
    for (uint64_t seed = only > 0 ? only : 1; seed <= (only > 0 ? only : tries); seed++) {
        struct ronde_published table;
        struct ronde_error error = {0};
        char why[200] = "";
        const enum shape shape = make_log(seed);
        const enum ronde_status status = read_log(&table, &error);
        if (status != RONDE_OK)
            snprintf(why, sizeof why, "%.190s", has_rows() ? error.message : "");
        const bool is_good = status == RONDE_OK ? is_right(shape, &table, why, sizeof why)
                                                : !has_rows() && error.message[0];
        refused += status != RONDE_OK;
        if (!is_good && ++wrong <= 20)
            suite_note("%llu, %s, %s: %s", (unsigned long long)seed, shape_names[shape], log_.ways,
                       why);
        ronde_published_close(&table);
    }
    suite_note("%llu logs, %u refused, %u wrong", (unsigned long long)tries, refused, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(disturbed_logs_are_read_as_they_were_measured),
    };
    return suite_run("logs", cases, sizeof cases / sizeof cases[0]);
}
