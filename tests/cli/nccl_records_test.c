/**
 * What the command says of NCCL for programs: columns whose numbers follow from one another, the same as JSON, files of the
 * model that read back, and options that exclude each other.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/record.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/doctor.h"
#include "ronde/field.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE RONDE_SCRATCH_DIR "/nccl_records_test.csv"
#define LOG RONDE_SCRATCH_DIR "/nccl_records_test.log"
#define HEAD                                                                                       \
    "system,gpus,nodes,nccl_version,collective,algorithm,protocol,bytes,time_us,algbw_GBps,"       \
    "notes,gpu,interconnect_intra\n"
#define TAIL ",,NVIDIA A100-SXM4-40GB,NVLink3 NVSwitch 8 GPU\n"

/** A row of sim --style nccl --csv. */
struct nccl_record {
    char machine[64], collective[32], algorithm[16], protocol[16];
    unsigned ranks, nodes;
    uint64_t bytes;
    double us, alg_GBps, bus_GBps, nccl_us;
};

static bool take_record(const char *line, struct nccl_record *out)
{
    return sscanf(line, "nccl,%63[^,],%31[^,],%u,%u,%" SCNu64 ",%15[^,],%15[^,],%lf,%lf,%lf,%lf",
                  out->machine, out->collective, &out->ranks, &out->nodes, &out->bytes,
                  out->algorithm, out->protocol, &out->us, &out->alg_GBps, &out->bus_GBps,
                  &out->nccl_us) == 11;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* algbw is bytes over time, busbw nccl-tests' share of it; a row for each number of ranks, each size and each collective. */
static void rates_follow_from_times(void)
{
    static const struct {
        const char *collective;
        double twice; /**< factor is `twice` (n-1)/n; 0 = 1 */
    } rows[] = {{"all_reduce", 2},
                {"all_gather", 1},
                {"reduce_scatter", 1},
                {"broadcast", 0},
                {"reduce", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char arguments[256];
        unsigned count = 0;
        struct nccl_record before = {.us = 0};
        snprintf(arguments, sizeof arguments,
                 "sim %s --style nccl -N 8,16,64 -b 1K -e 4M -f 4 --topo H100-cluster01 --csv",
                 rows[i].collective);
        char *said = said_by_ronde(arguments, 0);
        CU_ASSERT_EQUAL(strncmp(said, "style,machine,collective,ranks,nodes,bytes,", 43), 0);
        for (char *line = strchr(said, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
            struct nccl_record record;
            CU_ASSERT_FATAL(take_record(line + 1, &record));
            const double share = (record.ranks - 1.) / record.ranks;
            CU_ASSERT(is_near(record.alg_GBps, (double)record.bytes / record.us / 1e3));
            CU_ASSERT(is_near(record.bus_GBps,
                              record.alg_GBps * (rows[i].twice > 0 ? rows[i].twice * share : 1)));
            CU_ASSERT_STRING_EQUAL(record.collective, rows[i].collective);
            CU_ASSERT_EQUAL(record.nodes, record.ranks / 8);
            /* NCCL's next choice may be faster than its last; of one choice more bytes take longer. */
            CU_ASSERT(record.ranks != before.ranks || record.us >= before.us ||
                      strcmp(record.algorithm, before.algorithm) != 0 ||
                      strcmp(record.protocol, before.protocol) != 0);
            CU_ASSERT(record.nccl_us > 0);
            before = record;
            count++;
        }
        CU_ASSERT_EQUAL(count, 3 * 7);
        free(said);
    }
}

/* What is fastest is no slower than what NCCL takes, and no tree where NCCL has none. */
static void the_fastest_is_one_that_nccl_has(void)
{
    static const char *const machines[] = {"H100-cluster01", "A6000-NV-4", "Perlmutter-A100"};
    static const char *const collectives[] = {"all_reduce", "all_gather", "reduce_scatter",
                                              "broadcast"};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++)
        for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
            char arguments[256];
            snprintf(arguments, sizeof arguments,
                     "plan %s --style nccl -N 4 -b 1K -e 1G -f 32 --topo %s --csv", collectives[c],
                     machines[m]);
            char *said = said_by_ronde(arguments, 0);
            CU_ASSERT(c == 0 || !strstr(said, "Tree"));
            for (char *line = strchr(said, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
                double nccl_us = 0, us = 0;
                CU_ASSERT_EQUAL(sscanf(line + 1,
                                       "nccl,%*[^,],%*[^,],%*u,%*u,%*u,%*[^,],%*[^,],%lf,%*[^,],"
                                       "%*[^,],%lf",
                                       &nccl_us, &us),
                                2);
                CU_ASSERT(us > 0 && us <= nccl_us);
            }
            free(said);
        }
}

/* The same numbers as one object a line. */
static void objects_have_the_columns(void)
{
    static const char *const keys[] = {"style",   "machine",    "collective", "ranks",
                                       "nodes",   "bytes",      "algorithm",  "protocol",
                                       "time_us", "algbw_GBps", "busbw_GBps", "nccl_us",
                                       "kind"};
    const char *reason;
    struct nccl_record record;
    if (!ronde_json_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
#define SIM "sim all_reduce --style nccl -N 8 -b 1M -e 1M --topo H100-cluster01 "
    char *object = said_by_ronde(SIM "--json", 0), *columns = said_by_ronde(SIM "--csv", 0);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        CU_ASSERT_PTR_NOT_NULL(record_value(object, keys[k]));
    CU_ASSERT_FATAL(strchr(columns, '\n') && take_record(strchr(columns, '\n') + 1, &record));
    CU_ASSERT_EQUAL(atof(record_value(object, "time_us")), record.us);
    CU_ASSERT_EQUAL(atof(record_value(object, "bytes")), (double)record.bytes);
    CU_ASSERT_EQUAL(strncmp(record_value(object, "algorithm"), record.algorithm,
                            strlen(record.algorithm)),
                    0);
    free(object);
    free(columns);
}

/* Rows of two systems of one machine each, 2 to 8 ranks. */
static void write_systems(void)
{
    FILE *file = fopen(TABLE, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs(HEAD, file);
    for (unsigned s = 0; s < 2; s++)
        for (uint64_t bytes = 1024; bytes <= 1 << 28; bytes *= 16) {
            const double us = 20 + s + (double)bytes / 150e3;
            fprintf(file, "%s,8,1,2.18.5,all_reduce,auto,auto,%" PRIu64 ",%.6g,%.6g" TAIL,
                    s ? "ABCI-A100" : "Perlmutter-A100", bytes, us, (double)bytes / us / 1e3);
        }
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* --fit spread prints spread.txt: what is printed is read. */
static void a_spread_that_is_printed_is_read(void)
{
    char folder[] = RONDE_SCRATCH_DIR "/spread_XXXXXX", file[4096];
    struct ronde_doctor_spread spread;
    struct ronde_error error = {.status = RONDE_OK};
    unsigned known = 0;
    write_systems();
    char *said =
        said_by_ronde("validate --published " TABLE " --auto-topo --fit spread 2>/dev/null", 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/spread.txt", folder);
    CU_ASSERT_FATAL(files_write(file, said));
    CU_ASSERT_EQUAL(ronde_doctor_spread_read(folder, &spread, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s: %s", error.message, said);
    for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
        CU_ASSERT_EQUAL(spread.systems[1][c], 0);
        known += spread.systems[0][c] == 2;
    }
    CU_ASSERT(known >= 3);
    CU_ASSERT_EQUAL(unlink(file) + rmdir(folder) + unlink(TABLE), 0);
    free(said);
}

/* What is left out is the system that is shown: --system changes what is printed, not what is fitted. */
static void leaving_one_out_is_fitted_to_the_whole_table(void)
{
    /* One system as predicted, the other a quarter slower, which moves the constants that the first is predicted by. */
    static const double us[][2] = {{13.3, 22.7}, {15.5, 24.5}, {15.6, 27.7}, {53.6, 76.7}, {487, 656}};
    FILE *file = fopen(TABLE, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs("system,gpus,nodes,nccl_version,collective,bytes,time_us\n", file);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned k = 0; k < 5; k++)
            fprintf(file, "%s,%u,1,2.18.5,all_reduce,%u,%g\n", s ? "ABCI-A100" : "Perlmutter-A100",
                    s ? 8 : 4, 1024u << 4 * k, us[k][s]);
    CU_ASSERT_EQUAL(fclose(file), 0);
    char *all = said_by_ronde("validate --published " TABLE " --fit leave-one-out --csv", 0);
    char *one = said_by_ronde("validate --published " TABLE
                              " --fit leave-one-out --csv --system Perlmutter-A100",
                              0);
    const char *rows = strchr(one, '\n');
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    CU_ASSERT_PTR_NOT_NULL(strstr(rows, "Perlmutter-A100"));
    CU_ASSERT_PTR_NULL(strstr(rows, "ABCI-A100"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, rows));
    free(all);
    free(one);
    said_expect("validate --published " TABLE " --fit constants --system Perlmutter-A100", 2,
                "leave out --system");
    CU_ASSERT_EQUAL(unlink(TABLE), 0);
}

/* Options that say two things, or nothing to what is read. */
static void options_that_exclude_each_other_are_refused(void)
{
    write_systems();
    said_expect("validate --published " TABLE " --markdown --csv", 2,
                "--markdown prints every mode");
    said_expect("validate --published " TABLE " --markdown --fit anchored", 2, "--markdown");
    said_expect("validate --published " TABLE " --auto-topo --topo A6000-NV-4", 2, "one of them");
    said_expect("validate --published '" RONDE_SOURCE_DIR
                "/tests/data/nccl-logs/two-runs.log' --auto-topo",
                2, "--auto-topo is for tables");
    said_expect("validate --published " TABLE " --auto-topo", 0, "link switch, NVLink 300 GB/s");
    said_expect("sim --style nccl -N 8 --topo H100-cluster01", 2, "which collective is missing");
    said_expect("sim all_reduce --style nccl -N 8", 2, "--topo");
    CU_ASSERT_EQUAL(unlink(TABLE), 0);
}

/* A log's own words are quoted beside the fault that they name, and what was forced beside its sizes. */
static void the_doctor_quotes_the_log(void)
{
    FILE *file = fopen(LOG, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs("export NCCL_ALGO=Ring\nexport NCCL_PROTO=Simple\n"
          "host:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n"
          "# nThread 1 nGpus 8 minBytes 1024\n# Collective test starting: all_reduce_perf\n"
          "# size count type redop root time algbw busbw #wrong\n",
          file);
    for (unsigned k = 26; k <= 32; k++) {
        const double bytes = (double)(UINT64_C(1) << k), GBps = 12;
        fprintf(file, "%.0f %.0f float sum -1 %.1f %.2f %.2f 0\n", bytes, bytes / 4,
                bytes / GBps / 1e3, GBps, 1.75 * GBps);
    }
    CU_ASSERT_EQUAL(fclose(file), 0);
    said_expect("doctor " LOG " --topo H100-cluster01", 1, "the log itself: NCCL_P2P_DISABLE=1");
    said_expect_row("doctor " LOG " --topo H100-cluster01", 1, " Ring Simple ");
    said_expect("doctor " LOG " --topo H100-cluster01", 1, "P2P off");
    CU_ASSERT_EQUAL(unlink(LOG), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rates_follow_from_times", rates_follow_from_times},
        {"the_fastest_is_one_that_nccl_has", the_fastest_is_one_that_nccl_has},
        {"objects_have_the_columns", objects_have_the_columns},
        {"a_spread_that_is_printed_is_read", a_spread_that_is_printed_is_read},
        {"leaving_one_out_is_fitted_to_the_whole_table",
         leaving_one_out_is_fitted_to_the_whole_table},
        {"options_that_exclude_each_other_are_refused", options_that_exclude_each_other_are_refused},
        {"the_doctor_quotes_the_log", the_doctor_quotes_the_log},
    };
    return suite_run("nccl_records", cases, sizeof cases / sizeof cases[0]);
}
