/** A machine from a table: what was put into the table is found again, and what is no table is refused with its line. */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/calibrate_table.h"
#include "ronde/collective_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "system,collective,algorithm,ranks,bytes,time_us\n"

/** A text as a file; the caller removes and frees its path. */
static char *file_of(const char *text)
{
    char *path = strdup("/tmp/ronde-table-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    const int descriptor = mkstemp(path);
    CU_ASSERT_FATAL(descriptor >= 0);
    close(descriptor);
    CU_ASSERT_FATAL(files_write(path, text));
    return path;
}

static enum ronde_status fit(const char *text, struct ronde_calibrate_table table,
                             struct ronde_calibration_report *report, struct ronde_error *error)
{
    char *path = file_of(text);
    table.path = path;
    *error = (struct ronde_error){0};
    const enum ronde_status status = ronde_calibrate_from_table(&table, report, error);
    remove(path);
    free(path);
    return status;
}

/** The machine of these tests: eager to 10,000 bytes, 5 GB/s on the wire, sums at 4 GB/s, and so much more between groups. */
struct machine {
    double far_ns;
    double slower; /**< all times, this many times */
};

static double message_ns(double bytes)
{
    return 2000 + bytes / 5 + (bytes > 10000 ? 3000 : 0);
}

static void put_row(char **to, const struct machine *machine, const char *collective,
                    const char *algorithm, unsigned ranks, double bytes, double ns)
{
    *to += sprintf(*to, "x,%s,%s,%u,%.0f,%.9f\n", collective, algorithm, ranks, bytes,
                   machine->slower * ns / 1e3);
}

/** Rings on 8 ranks and doubling on so many. */
static void write_table(char *text, const struct machine *machine, unsigned ranks, bool backwards)
{
    unsigned rounds = 0;
    while (2u << rounds <= ranks)
        rounds++;
    const bool has_rest = ranks != 1u << rounds;
    text += sprintf(text, HEADER);
    for (unsigned i = 0; i <= 6; i++) {
        const double bytes = 32 * pow(8, backwards ? 6 - i : i);
        const double exchange_ns = message_ns(bytes) + bytes / 4 + machine->far_ns;
        put_row(&text, machine, "all_gather", "ring", 8, bytes, 7 * message_ns(bytes / 8));
        put_row(&text, machine, "all_reduce", "recursive_doubling", ranks, bytes,
                rounds * exchange_ns + has_rest * (exchange_ns + message_ns(bytes)));
        put_row(&text, machine, "all_reduce", "rabenseifner", ranks, bytes, 1e9);
    }
}

static void expect_machine(const struct ronde_calibration_report *report, double slower,
                           double far_ns)
{
    const struct ronde_calibration *is = &report->calibration;
    CU_ASSERT_DOUBLE_EQUAL(is->time.lane_GBps, 5 / slower, 1e-6);
    /* the sum of the shortest is in it */
    CU_ASSERT_DOUBLE_EQUAL(is->network.far_ns, (far_ns > 0 ? far_ns + 8 : 0) * slower, 1e-2);
    CU_ASSERT_EQUAL_FATAL(is->time.send.count, 7);
    for (uint32_t i = 0; i < is->time.send.count; i++) {
        const double bytes = is->time.send.bytes[i];
        const double ends_ns = 2 * is->time.send.ns[i];
        const double first_ns = message_ns(4);
        CU_ASSERT_DOUBLE_EQUAL(ends_ns / slower, message_ns(bytes) - bytes / 5 - 0.2 * first_ns,
                               1e-2);
        CU_ASSERT(is->time.receive.ns[i] == is->time.send.ns[i]);
    }
    /* Between 16 KiB and the threshold lies no size that was measured, so sums there are not what they were. */
    for (uint32_t i = 0; i < is->gamma_curve.count; i++)
        if (is->gamma_curve.bytes[i] > 100000)
            CU_ASSERT_DOUBLE_EQUAL(is->gamma_curve.GBps[i], 4 / slower, 0.02 / slower);
    CU_ASSERT(is->channels == 1 && is->max_ranks == 64);
}

static void a_machine_is_found_again(void)
{
    static struct ronde_calibration_report report;
    const struct ronde_calibrate_table table = {.ranks = 64};
    struct ronde_error error;
    char text[8192];
    const struct machine one = {0, 1}, far = {700, 1}, slow = {700, 2};
    write_table(text, &one, 8, false);
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    expect_machine(&report, 1, 0);
    CU_ASSERT_EQUAL(report.calibration.network.group_count, 0);
    /* Rows in another order; 48 ranks, of which 16 hand in their blocks to others; groups by a guess. */
    write_table(text, &far, 48, true);
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    expect_machine(&report, 1, 700);
    CU_ASSERT_EQUAL(report.calibration.network.group_count, 4);
    CU_ASSERT_EQUAL(report.calibration.network.group_hosts[3], 16);
    /* Twice as slow is twice as slow. */
    write_table(text, &slow, 48, false);
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    expect_machine(&report, 2, 700);
}

/* What is written says how ranks count along the axes. */
static void expect_axes(const struct ronde_calibration *calibration, uint32_t axes)
{
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    char *path = file_of("");
    FILE *file = fopen(path, "w");
    const char *reason = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(ronde_platform_write(calibration, file, &error), RONDE_OK);
    fclose(file);
    if (ronde_topologies_available(&reason)) {
        CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error),
                              RONDE_OK);
        CU_ASSERT_EQUAL(ronde_platform_facts(platform)->rank_axes, axes);
        ronde_platform_destroy(platform);
    }
    remove(path);
    free(path);
}

static void a_shape_has_hops(void)
{
    static struct ronde_calibration_report report;
    const struct machine far = {700, 1};
    const struct ronde_calibrate_table table = {.ranks = 64, .shape = {4, 4, 4}, .axis_count = 3};
    const struct ronde_calibrate_table other = {.ranks = 64, .shape = {4, 4}, .axis_count = 2};
    struct ronde_error error;
    char text[8192];
    write_table(text, &far, 64, false);
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    const struct ronde_calibration *is = &report.calibration;
    CU_ASSERT(is->network.axis_count == 3 && is->network.group_count == 0);
    CU_ASSERT_DOUBLE_EQUAL(is->latency_ns + is->time.alpha_ns, 0.2 * message_ns(4), 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(is->latency_ns, 0.04 * message_ns(4), 1e-3);
    expect_axes(is, 3);
    CU_ASSERT_EQUAL(fit(text, other, &report, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(error.message, "the shape has 16 hosts for 64 ranks");
}

/*
 * Three rounds of sums at 4 GB/s; from `fresh_bytes` on a call takes 0.5 ns a byte more, for memory that it allocates. Where the sizes
 * below may have been in caches half of it is taken for slower sums.
 */
static void memory_of_every_call_is_found(void)
{
    static struct ronde_calibration_report report;
    const struct ronde_calibrate_table table = {.ranks = 8};
    const double mebi = 1048576;
    static const double fresh_bytes[] = {64, 512};
    struct ronde_error error;
    for (int i = 0; i < 2; i++) {
        const struct machine one = {0, 1};
        char text[8192], *at = text + sprintf(text, HEADER);
        for (double bytes = 8 * mebi; bytes <= 512 * mebi; bytes *= 8) {
            const double call_ns = bytes >= fresh_bytes[i] * mebi ? 0.5 * bytes : 0;
            put_row(&at, &one, "all_gather", "ring", 8, bytes, 7 * bytes / 8 / 5);
            put_row(&at, &one, "all_reduce", "recursive_doubling", 8, bytes,
                    3 * (bytes / 5 + bytes / 4) + call_ns);
        }
        CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
        const struct ronde_sized_ns *fresh = &report.calibration.time.fresh;
        const double share = i == 0 ? 0.5 : 1;
        CU_ASSERT_EQUAL_FATAL(fresh->count, i == 0 ? 3 : 2);
        CU_ASSERT_EQUAL(ronde_sized_ns_at(fresh, fresh_bytes[i] * mebi / 2), 0);
        CU_ASSERT_DOUBLE_EQUAL(ronde_sized_ns_at(fresh, 512 * mebi), share * 256 * mebi, 1);
        const struct ronde_curve *sums = &report.calibration.gamma_curve;
        CU_ASSERT_DOUBLE_EQUAL(1 / sums->GBps[sums->count - 1], 0.25 + (1 - share) * 0.5 / 3, 1e-6);
    }
}

/* A reduce_scatter that takes eight times as long for eight times the bytes allocates nothing; without it, or longer, a copy is taken for granted. */
static void a_copy_of_the_input_shows_in_reduce_scatter(void)
{
    static struct ronde_calibration_report report;
    const struct ronde_calibrate_table table = {.ranks = 8};
    const double mebi = 1048576;
    struct ronde_error error;
    for (unsigned i = 0; i < 3; i++) {
        const struct machine one = {0, 1};
        char text[8192], *at = text + sprintf(text, HEADER);
        for (double bytes = 8 * mebi; bytes <= 512 * mebi; bytes *= 8) {
            const double call_ns = bytes > 64 * mebi ? 0.5 * bytes : 0;
            put_row(&at, &one, "all_gather", "ring", 8, bytes, 7 * bytes / 8 / 5);
            put_row(&at, &one, "all_reduce", "recursive_doubling", 8, bytes,
                    3 * (bytes / 5 + bytes / 4) + call_ns);
            if (i > 0)
                put_row(&at, &one, "reduce_scatter", "ring", 8, bytes,
                        7 * (bytes / 8 / 5 + bytes / 8 / 4) + (i == 1 ? 0 : call_ns));
        }
        CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
        CU_ASSERT_EQUAL(report.calibration.time.sums_in_place, i == 1);
    }
}

/** Replays rows of three collectives on the machine of a table. */
static void predict(const char *text, struct ronde_collective_table *rows)
{
    static struct ronde_calibration_report report;
    const struct ronde_calibrate_table table = {.ranks = 64};
    const struct ronde_tune_options options = {.slot_bytes = (uint64_t)1 << 40};
    struct ronde_platform *platform = NULL;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    char *machine = file_of("");
    FILE *file = fopen(machine, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(ronde_platform_write(&report.calibration, file, &error), RONDE_OK);
    fclose(file);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(machine, ronde_mem_default(), &platform, &error),
                          RONDE_OK);
    char *asked = file_of("collective,algorithm,ranks,bytes,time_us_median\n"
                          "all_gather,bruck,64,6400,1\nall_gather,bruck,64,6400000,1\n"
                          "reduce_scatter,recursive_halving,64,640000,1\n"
                          "gather,direct,64,640000,1\nbroadcast,binomial_nearest,64,8,1\n");
    CU_ASSERT_EQUAL_FATAL(ronde_collective_table_read(asked, NULL, rows, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_collective_table_predict(rows, platform, &options, NULL, NULL, &error),
                    RONDE_OK);
    ronde_platform_destroy(platform);
    remove(machine);
    remove(asked);
    free(machine);
    free(asked);
}

static void rename_systems(char *text)
{
    for (char *at = text; (at = strstr(at, "\nx,")) != NULL;)
        at[1] = 'y';
}

/** Names of systems and the order of rows mean nothing, and a machine twice as slow is twice as slow in all that it predicts. */
static void predictions_go_with_times_and_nothing_else(void)
{
    const struct machine one = {700, 1}, slow = {700, 2};
    struct ronde_collective_table first, other;
    char text[8192];
    if (!suite_can_read_platforms())
        return;
    write_table(text, &one, 64, false);
    predict(text, &first);
    for (int i = 0; i < 3; i++) {
        write_table(text, i == 2 ? &slow : &one, 64, i == 1);
        if (i == 0)
            rename_systems(text);
        predict(text, &other);
        CU_ASSERT(first.count == 5 && other.count == 5);
        for (size_t k = 0; k < first.count; k++) {
            const double is_ns = other.rows[k].predicted_ns, was_ns = first.rows[k].predicted_ns;
            CU_ASSERT(was_ns > 0);
            CU_ASSERT_DOUBLE_EQUAL(is_ns / was_ns, i == 2 ? 2 : 1, i == 2 ? 1e-6 : 0);
        }
        ronde_collective_table_close(&other);
    }
    ronde_collective_table_close(&first);
}

static void what_osu_latency_prints_is_a_table(void)
{
    static struct ronde_calibration_report report;
    struct ronde_error error;
    const struct ronde_calibrate_table table = {.ranks = 4};
    const char *text = "\n# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n"
                       "0                       1.01\n1                       1.00\n"
                       "4096                    2.00\n1048576                 87.04\n";
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    const struct ronde_calibration *is = &report.calibration;
    CU_ASSERT_DOUBLE_EQUAL(is->time.lane_GBps, (1048576 - 4096) / 85040.0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(is->latency_ns, 200, 1e-9);
    CU_ASSERT(is->time.send.count == 3 && is->gamma_curve.count == 0);
    CU_ASSERT_EQUAL(fit("# OSU MPI Bandwidth Test v7.3\n# Size   Bandwidth (MB/s)\n1 2.1\n", table,
                        &report, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT(strstr(error.message, ":1: \"OSU MPI Bandwidth Test v7.3\" is no test of messages") !=
              NULL);
    CU_ASSERT_EQUAL(fit("srun: job 7\n\n# OSU MPI Allgather Latency Test v5.6\n1 2.1\n2 2.1\n",
                        table, &report, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT(strstr(error.message, ":3: \"OSU MPI Allgather Latency Test v5.6\" is no test") !=
              NULL);
    /* What a launcher says, lines of DOS, more columns. */
    CU_ASSERT_EQUAL_FATAL(
        fit("12 nodes given\r\n# OSU MPI-CUDA Latency Test v5.9\r\n# Size  Latency (us)\r\n"
            "1     1.00   0.9 1.1 1000\r\n4096  2.00  1.9 2.1 1000\r\n",
            table, &report, &error),
        RONDE_OK);
    CU_ASSERT(report.calibration.time.send.count == 2);
    CU_ASSERT_EQUAL(fit("# OSU\n1 fast\n", table, &report, &error), RONDE_BAD_INPUT);
    CU_ASSERT(strstr(error.message, ":2: expected a size and a time") != NULL);
}

static void allocations_are_groups(void)
{
    static struct ronde_calibration_report report;
    const struct machine far = {700, 1};
    struct ronde_error error;
    char text[8192];
    write_table(text, &far, 64, false);
    char *alloc = file_of("run,ranks,groups\na,64,40*2 24*7\nb,64,16*1 3 47*5\nc,8,8*1\nd,8,8*1 2\n"
                          "e,4,x*3\n");
    struct ronde_calibrate_table table = {.ranks = 64, .alloc_path = alloc, .run = "b"};
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    const struct ronde_calibrated_network *network = &report.calibration.network;
    CU_ASSERT(network->group_count == 3 && network->group_hosts[1] == 1 &&
              network->group_hosts[2] == 47);
    table.run = NULL;
    CU_ASSERT_EQUAL(fit(text, table, &report, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "several runs of 64 ranks; --run says which") != NULL);
    table.run = "z"; /* not there: a guess, and said to be one */
    CU_ASSERT_EQUAL_FATAL(fit(text, table, &report, &error), RONDE_OK);
    CU_ASSERT_EQUAL(network->group_count, 4);
    table = (struct ronde_calibrate_table){.ranks = 8, .alloc_path = alloc, .run = "d"};
    CU_ASSERT_EQUAL(fit(text, table, &report, &error), RONDE_BAD_INPUT);
    CU_ASSERT(strstr(error.message, ":5: the groups have 9 ranks and not 8") != NULL);
    table = (struct ronde_calibrate_table){.ranks = 4, .alloc_path = alloc};
    CU_ASSERT_EQUAL(fit(text, table, &report, &error), RONDE_BAD_INPUT);
    CU_ASSERT(strstr(error.message, ":6: groups \"x*3\": expected") != NULL);
    remove(alloc);
    free(alloc);
    table.alloc_path = "/no/such/file";
    CU_ASSERT_EQUAL(fit(text, table, &report, &error), RONDE_IO);
}

/* Inside a node a fifth of a short message; between nodes all of it, over a port that is the node's. */
static void ranks_of_a_node_share_its_port(void)
{
    static struct ronde_calibration_report report;
    const struct ronde_calibrate_table two = {.ranks = 8, .node_ranks = 2},
                                       three = {.ranks = 8, .node_ranks = 3};
    const struct machine near = {0, 1};
    struct ronde_error error;
    char text[8192];
    write_table(text, &near, 8, false);
    CU_ASSERT_EQUAL_FATAL(fit(text, two, &report, &error), RONDE_OK);
    const struct ronde_calibration *is = &report.calibration;
    const double short_ns = message_ns(4), ends_ns = 2 * is->time.send.ns[0];
    CU_ASSERT_EQUAL(is->network.node_hosts, 2);
    CU_ASSERT_DOUBLE_EQUAL(is->network.node_ns + ends_ns, short_ns / 5, 1);
    CU_ASSERT_DOUBLE_EQUAL(is->latency_ns + ends_ns, short_ns, 1);
    CU_ASSERT_DOUBLE_EQUAL(is->network.node_GBps, 4, 1e-6); /* as sums */
    CU_ASSERT_EQUAL(fit(text, three, &report, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "3 ranks a node"));
}

static void what_is_no_table_is_refused(void)
{
    static const struct {
        const char *text;
        const char *said;
    } bad[] = {
        {"", "is empty"},
        {"system,collective\n", ":1: no column algorithm"},
        {"collective,algorithm,ranks,bytes\n", ":1: no column time_us"},
        {HEADER, "0 sizes of single messages, at least 2"},
        {HEADER "x,all_gather,ring,0,8,1\n", ":2: ranks \"0\" is not a whole number"},
        {HEADER "x,all_gather,ring,2.5,8,1\n", ":2: ranks \"2.5\""},
        {HEADER "x,all_gather,ring,2,-8,1\n", ":2: bytes \"-8\""},
        {HEADER "x,all_gather,ring,2,8,0\n", ":2: the time \"0\""},
        {HEADER "x,all_gather,ring,2,8,nan\n", ":2: the time \"nan\""},
        {HEADER "x,all_gather,ring,2,8\n", ":2: the time \"\""},
        {HEADER "x,all_gather,ring,2,8,1\nx,all_gather,ring,2,8,1\n", "1 sizes of single messages"},
        {HEADER "x,all_gather,ring,2,8,\"1\n", ":2: a quote"},
    };
    static struct ronde_calibration_report report;
    const struct ronde_calibrate_table table = {.ranks = 4};
    struct ronde_error error;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(fit(bad[i].text, table, &report, &error), RONDE_BAD_INPUT);
        const bool is_said = strstr(error.message, bad[i].said) != NULL;
        CU_ASSERT(is_said);
        if (!is_said)
            suite_note("%s: %s", bad[i].said, error.message);
    }
    const struct ronde_calibrate_table absent = {.path = "/no/such/table", .ranks = 4};
    CU_ASSERT_EQUAL(ronde_calibrate_from_table(&absent, &report, &error), RONDE_IO);
}

/** Times that fall with the size, or are all alike, give a machine that can be written all the same. */
static void odd_times_are_survived(void)
{
    static const char *const odd[] = {
        HEADER "x,all_gather,ring,2,8,5\nx,all_gather,ring,2,80,5\n",
        HEADER
        "x,all_gather,ring,2,8,5\nx,all_gather,ring,2,80,3\n"
        "x,all_reduce,recursive_doubling,64,8,1\nx,all_reduce,recursive_doubling,64,8000,1\n",
        HEADER "x,send_recv,direct,2,1,1e-6\nx,send_recv,direct,2,1e18,1e15\n",
    };
    static struct ronde_calibration_report report;
    const struct ronde_calibrate_table table = {.ranks = 33};
    struct ronde_error error;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        FILE *file = tmpfile();
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL(fit(odd[i], table, &report, &error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_platform_write(&report.calibration, file, &error), RONDE_OK);
        CU_ASSERT(isfinite(report.calibration.time.lane_GBps) &&
                  report.calibration.time.lane_GBps > 0);
        fclose(file);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_machine_is_found_again", a_machine_is_found_again},
        {"a_shape_has_hops", a_shape_has_hops},
        {"memory_of_every_call_is_found", memory_of_every_call_is_found},
        {"a_copy_of_the_input_shows_in_reduce_scatter", a_copy_of_the_input_shows_in_reduce_scatter},
        {"predictions_go_with_times_and_nothing_else", predictions_go_with_times_and_nothing_else},
        {"what_osu_latency_prints_is_a_table", what_osu_latency_prints_is_a_table},
        {"allocations_are_groups", allocations_are_groups},
        {"ranks_of_a_node_share_its_port", ranks_of_a_node_share_its_port},
        {"what_is_no_table_is_refused", what_is_no_table_is_refused},
        {"odd_times_are_survived", odd_times_are_survived},
    };
    return suite_run("calibrate_table", cases, sizeof cases / sizeof cases[0]);
}
