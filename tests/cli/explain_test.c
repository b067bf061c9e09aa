/*
 * The command explain: what it prints for people and for programs, which files of a folder it takes, what it refuses.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/field.h"
#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACES RONDE_SOURCE_DIR "/tests/data/traces"
#define FOLDER RONDE_SCRATCH_DIR "/explain_test"

/* Rows of programs need jansson. */
static bool has_json(void)
{
    const char *text = NULL;
    const bool is_there = ronde_json_available(&text);
    if (!is_there)
        suite_skip("%s", text);
    return is_there;
}

static void people_get_a_table_and_what_to_do(void)
{
    said_expect("explain " TRACES "/kineto", 0, "18 calls by 4 of 4 ranks, 1 step");
    said_expect_row("explain " TRACES "/kineto", 0, "2,3 2/2 all_reduce 512K 6 41.58");
    said_expect("explain " TRACES "/kineto", 0, "4 calls are not explained");
    said_expect("explain " TRACES "/kineto", 0, "rank 2 is late: a rank that waits for it loses");
    said_expect("explain " TRACES "/kineto/rank0.json", 0, "1 of 4 ranks");
    said_expect("explain " TRACES "/kineto/rank0.json", 0, "times are upper bounds");
    said_expect("explain " TRACES "/kineto --step 4", 0, "1 step");
    CU_ASSERT(
        files_write(FOLDER ".log",
                    "{\"schemaVersion\": 1, \"traceEvents\": [{\"cat\": \"kernel\", \"name\": "
                    "\"ncclKernel_X\", \"ts\": 1, \"dur\": 5, \"args\": {\"Collective name\": "
                    "\"allreduce\", \"In msg nelems\": 2, \"dtype\": \"Float\", \"Group size\": "
                    "9, \"Process Group Ranks\": \"[0, 1, 3, 7, 12, 13, 15, 20, 31]\"}}]}"));
    said_expect_row("explain " FOLDER ".log", 0, "0,1,3,7..(9) 1/9 all_reduce 8");
    said_lacks(said_by_ronde("explain " FOLDER ".log", 0), "which ranks take part");
    CU_ASSERT(
        files_write(FOLDER ".log",
                    "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", "
                    "\"rank\": 3, \"world_size\": 8}, \"traceEvents\": [{\"cat\": \"kernel\", "
                    "\"name\": \"ncclKernel_X\", \"ts\": 1, \"dur\": 5, \"args\": {\"Collective "
                    "name\": \"allreduce\", \"In msg nelems\": 2, \"dtype\": \"Float\"}}]}"));
    said_expect("explain " FOLDER ".log", 0, "which ranks take part in 1 calls is not");
    said_expect("explain " TRACES "/inspector", 0, "the last line was cut off");
    said_expect("explain " TRACES "/prometheus", 0, "means of calls, waiting included");
    said_expect("explain " TRACES "/recorder", 0, "rank 2 is late");
    said_expect("explain " TRACES "/kineto " TRACES "/recorder", 0, "are counted twice");
    said_expect("explain " TRACES "/kineto " TRACES "/kineto/../kineto/rank0.json", 0,
                "18 calls by 4 of 4 ranks, 1 step");
    said_expect("explain " RONDE_SOURCE_DIR "/docs/examples/nccl-tests.log", 0,
                "what nccl-tests measured");
}

static void programs_get_the_keys_they_were_promised(void)
{
    static const char keys[] =
        "\"ranks\": [2, 3], \"collective\": \"all_reduce\", \"bytes\": 524288, \"calls\": 6, "
        "\"unknown\": 0, \"time_us\": 41.58";
    if (!has_json())
        return;
    said_expect("explain --json " TRACES "/kineto", 0, keys);
    said_expect("explain --json " TRACES "/kineto", 0,
                "\"expected_us\": null, \"expected_low_us\": null, \"expected_high_us\": null, "
                "\"late_rank\": 2, \"late_share\": 1.0, \"waiting_us\": 500.");
    said_expect("explain --json " TRACES "/kineto --topo H100-cluster01", 0,
                "\"expected_high_us\": 1");
    said_expect("explain --json " TRACES "/kineto", 0,
                "{\"ranks\": [0, 1, 2, 3], \"collective\": null, \"bytes\": null, \"calls\": 0, "
                "\"unknown\": 4, \"time_us\": null");
    said_expect("explain --csv " TRACES "/kineto", 0, "\n2;3,all_reduce,524288,6,0,41.58");
}

/* A dump of a rank of two that has come to a call, which one of them has not begun. */
static void write_dump(const char *path, int call, const char *state, int completed)
{
    char text[800];
    snprintf(
        text, sizeof text,
        "{\"version\": \"2.10\", \"pg_config\": {\"0\": {\"name\": \"0\", \"ranks\": \"[0, 1]\"}}, "
        "\"pg_status\": {\"0\": {\"last_completed_collective\": \"%d\"}}, \"entries\": "
        "[{\"pg_id\": 0, \"process_group\": [\"0\", \"x\"], \"collective_seq_id\": %d, "
        "\"profiling_name\": \"nccl:all_reduce\", \"input_sizes\": [[4]], \"input_dtypes\": "
        "[\"Float\"], \"is_p2p\": false, \"output_sizes\": [[4]], \"output_dtypes\": [\"Float\"], "
        "\"state\": \"%s\"}]}",
        completed, call, state);
    CU_ASSERT(files_write(path, text));
}

/* What is found beyond rows are records of kinds, in which readers of rows find no calls. */
static void findings_are_records_of_kinds(void)
{
    static const char traces[] = "explain --json " TRACES "/kineto --topo H100-cluster01";
    static const char hang[] = "explain --json " FOLDER "_rank_0 " FOLDER "_rank_1";
    if (!has_json())
        return;
    said_expect(traces, 0,
                "{\"kind\": \"verdict\", \"ranks\": [], \"collective\": null, \"bytes\": null, "
                "\"calls\": 0, \"machine\": \"H100-cluster01\", \"is_wrong\": true, \"healthy\": ");
    said_expect(traces, 0, "{\"kind\": \"cause\", \"ranks\": [], ");
    said_expect(traces, 0, "\"cause\": \"something_else\", \"text\": null, \"check\": null, ");
    said_expect(traces, 0,
                "{\"kind\": \"advice\", \"ranks\": [0, 1, 2, 3], \"collective\": \"all_gather\", "
                "\"bytes\": 1048576, \"calls\": 0, \"algorithm\": \"Ring\", \"protocol\": "
                "\"LL128\", \"channels\": null, \"time_us\": ");
    write_dump(FOLDER "_rank_0", 41, "started", 40);
    write_dump(FOLDER "_rank_1", 39, "completed", 39);
    said_expect(hang, 0,
                "{\"kind\": \"hang\", \"ranks\": [0, 1], \"collective\": null, \"bytes\": null, "
                "\"calls\": 0, \"call\": 41, \"waiting\": 1, \"behind\": 1, \"behind_rank\": 1, "
                "\"has_enqueued\": false, \"last_call\": 39, \"text\": \"call 41 of ");
}

static void a_folder_is_a_job_and_other_files_are_passed_over(void)
{
    char *said = NULL;
    CU_ASSERT_EQUAL(files_command("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "/more' && cp '" TRACES
                                  "'/recorder/* '" FOLDER "' && echo notes > '" FOLDER
                                  "/notes.txt'",
                                  &said),
                    0);
    free(said);
    said_expect("explain " FOLDER, 0, "by 4 ranks");
    said_expect("explain " FOLDER "/more", 2, "no traces in it; a folder is one job");
    said_expect("explain " FOLDER "/notes.txt", 2, "neither a trace of torch.profiler");
    said_expect("explain " FOLDER "/none", 2, "/none: No such file");
}

static void what_is_wrong_is_said_before_and_with_its_place(void)
{
    said_expect("explain", 2, "which traces is missing");
    said_expect("explain " TRACES "/kineto --topo H100-cluster1", 2, "did you mean H100-cluster01?");
    said_expect("explain " TRACES "/kineto --step 9", 2, "no calls in that step");
    said_expect("explain " TRACES "/inspector --step 9", 2, "mark no steps");
    CU_ASSERT(files_write(FOLDER ".json",
                          "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0, "
                          "\"world_size\": 9}, \"traceEvents\": []}"));
    said_expect("explain " FOLDER ".json " TRACES "/kineto", 2,
                "of a job of 4 ranks, and " FOLDER ".json of one of 9: name the files of one job");
    CU_ASSERT(files_write(FOLDER ".json", "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": "));
    said_expect("explain " FOLDER ".json", 2, "explain_test.json: byte 44: the file ends");
    CU_ASSERT(files_write(FOLDER ".log", "{\"header\": {}, \"coll_perf\": {\"coll\": 3}}\n"));
    said_expect("explain " FOLDER ".log", 2, "explain_test.log:1: a record without");
}

/* The step as a workload is what workload sim reads: the groups' calls, and the rank whose calculations are longest. */
static void the_step_is_a_workload(void)
{
    static const char sim[] =
        "workload sim " FOLDER ".workload --style nccl --topo " RONDE_SOURCE_DIR
        "/topologies/dgx-h100.xml";
    if (!suite_can_read_platforms())
        return;
    said_expect("explain " TRACES "/kineto --to workload -o " FOLDER ".workload", 0, "");
    said_expect_row(sim, 0, "g2 all_reduce 524288 2 12");
    said_expect_row(sim, 0, "g4 all_gather 1048576 4 6");
    /* Rank 3 waits for rank 2, six times 500 us of a step of 4.7 ms. */
    said_expect(sim, 0, "exposed is rank 3: compute 2");
    said_expect("explain " TRACES "/kineto --step 4 --to workload", 0, "\non 3\n");
    said_expect("explain " TRACES "/kineto/rank0.json --to workload", 2, "no call of a group");
    said_expect("explain " TRACES "/inspector --to workload", 2, "no call of a group");
    said_expect("explain " TRACES "/kineto --to goal", 2, "--to \"goal\" is not workload");
    said_expect("explain " TRACES "/kineto --to workload --json", 2, "leave out --json and --csv");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"people_get_a_table_and_what_to_do", people_get_a_table_and_what_to_do},
        {"programs_get_the_keys_they_were_promised", programs_get_the_keys_they_were_promised},
        {"the_step_is_a_workload", the_step_is_a_workload},
        {"findings_are_records_of_kinds", findings_are_records_of_kinds},
        {"a_folder_is_a_job_and_other_files_are_passed_over",
         a_folder_is_a_job_and_other_files_are_passed_over},
        {"what_is_wrong_is_said_before_and_with_its_place",
         what_is_wrong_is_said_before_and_with_its_place},
    };
    return suite_run("explain", cases, sizeof cases / sizeof cases[0]);
}
