/**
 * Records of what NCCL ran (libnccl-profiler-ronde.so) as `validate` and `doctor` read them: which time a call took when ranks
 * came late, what counts as one row, and what is left out or refused.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS RONDE_SCRATCH_DIR "/nccl_runs_test.jsonl"
#define VALIDATE "validate --published " RUNS " --topo H100-cluster01 "

static bool is_there(void)
{
    const char *reason;
    const bool has_json = ronde_json_available(&reason);
    if (!has_json)
        suite_skip("%s", reason);
    return has_json;
}

static void add(FILE *file, const char *collective, const char *algorithm, int rank, int seq,
                int bytes, int time_ns, const char *complete)
{
    fprintf(
        file,
        "{\"kind\": \"nccl_run\", \"engine\": \"nccl\", \"collective\": \"%s\", \"algorithm\": "
        "\"%s\", "
        "\"protocol\": \"Simple\", \"ranks\": 8, \"nodes\": 1, \"rank\": %d, \"comm\": \"0xabc\", "
        "\"comm_name\": null, \"seq\": %d, \"bytes\": %d, \"count\": 1, \"dtype\": \"int8\", "
        "\"root\": 0, "
        "\"channels\": 4, \"time_ns\": %d, \"clock\": \"gpu\", \"complete\": %s, \"interface\": "
        "6}\n",
        collective, algorithm, rank, seq, bytes, time_ns, complete);
}

/* Ranks 0 and 1 of three calls: the later one's time counts, of calls the median; the others are rows of their own or none. */
static void calls_take_what_they_take_the_last_rank(void)
{
    static const int times_ns[3][2] = {{90000, 20000}, {30000, 70000}, {40000, 40000}};
    if (!is_there())
        return;
    FILE *file = fopen(RUNS, "w");
    CU_ASSERT_FATAL(file != NULL);
    for (int rank = 0; rank < 2; rank++)
        for (int seq = 0; seq < 3; seq++)
            add(file, "all_reduce", "Ring", rank, seq, 1 << 20, times_ns[seq][rank], "true");
    add(file, "all_reduce", "Tree", 0, 3, 1 << 20, 50000, "true");
    add(file, "all_reduce", "Ring", 0, 4, 1 << 20, 1, "false");
    add(file, "all_reduce", "PAT", 0, 5, 1 << 20, 60000, "true");
    add(file, "send", "Ring", 0, 6, 1 << 20, 60000, "true");
    fputs("{\"kind\": \"nccl_run_end\", \"records\": 10, \"lost\": 0}\n", file);
    fputs("{\"kind\": \"nccl_run\", \"collec", file);
    fclose(file);
    char *said = said_by_ronde(VALIDATE "--json", 0);
    CU_ASSERT(strstr(said, "\"forced_algorithm\": \"Ring\", \"forced_protocol\": \"Simple\"") !=
              NULL);
    CU_ASSERT(strstr(said, "\"measured_us\": 30.0") != NULL);
    CU_ASSERT(strstr(said, "\"measured_us\": 50.0") != NULL);
    CU_ASSERT(strstr(said, "\"measured_us\": 0.00") == NULL);
    CU_ASSERT(strstr(said, "\"line\": 8, \"state\": \"refused\"") != NULL);
    free(said);
    said_expect(VALIDATE, 0, ":8: no time, or not of all channels");
    said_expect(VALIDATE, 0, ":10: a send, a receive");
    said_expect(VALIDATE, 0, ":12: the last line is cut off");
}

static void doctor_reads_them_too(void)
{
    if (!is_there())
        return;
    FILE *file = fopen(RUNS, "w");
    CU_ASSERT_FATAL(file != NULL);
    /* A second for 1 GiB on eight H100 is far too slow. */
    for (int seq = 0; seq < 4; seq++)
        add(file, "all_reduce", "Ring", 0, seq, 1 << 30, 1000000000, "true");
    fclose(file);
    said_expect("doctor " RUNS " --topo H100-cluster01", 1, "WRONG");
}

static void what_is_no_record_is_refused(void)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"kind\": \"nccl_run\"}\n", "no record of a collective"},
        {"{\"kind\": \"nccl_run_end\"}\n", "no record of a collective"},
        {"{\"kind\": \"nccl_run\"}\n{}\n", ":2: not a record of RONDE_PROFILER_FILE"},
        {"{\"kind\": \"nccl_run\"}\n[]\n", ":2: not a JSON object"},
        {"{\"kind\": \"nccl_run\"}\n{\"kind\"\n", ":2: not a JSON object"},
    };
    if (!is_there())
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_FATAL(files_write(RUNS, cases[i].text));
        said_expect(VALIDATE, 2, cases[i].reason);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"calls_take_what_they_take_the_last_rank", calls_take_what_they_take_the_last_rank},
        {"doctor_reads_them_too", doctor_reads_them_too},
        {"what_is_no_record_is_refused", what_is_no_record_is_refused},
    };
    return suite_run("nccl_runs", cases, sizeof cases / sizeof cases[0]);
}
