/**
 * The fuzz targets on what is known: golden texts, refused ones, shipped platforms, the corpus that fuzzing found, and
 * a hundred changed copies of each. Needs no fuzzing engine; ./dev fuzz searches on.
 */
#include "fuzz/target.h"

#include "support/buffers.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/msccl.h"
#include "ronde/mscclpp.h"
#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Changed copies of each file: most where a sanitizer watches. */
#define COPIES (strlen(RONDE_SANITIZE) > 0 ? 100u : 50u)

/* Room that a changed copy may grow by. */
#define GROWTH 1024u

/* A target and what it met. */
struct replay {
    void (*target)(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);
    unsigned inputs;
    unsigned accepted;
    unsigned runs;
    unsigned complaints;
};

/* Complaints name what to replay: the file, and the seed of the change. */
static void try_input(struct replay *replay, const unsigned char *data, size_t bytes,
                      const char *path, unsigned copy)
{
    struct fuzz_verdict verdict;
    replay->target(data, bytes, &verdict);
    replay->inputs++;
    replay->accepted += verdict.is_accepted;
    replay->runs += verdict.runs;
    if (verdict.complaint[0] == '\0')
        return;
    replay->complaints++;
    if (replay->complaints <= 5)
        suite_note("%s, copy %u: %s", path, copy, verdict.complaint);
}

/* Bytes of a file, which need not be text; NULL if it cannot be read. */
static unsigned char *read_bytes(const char *path, size_t *out_bytes)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    unsigned char *data = NULL;
    if (fstat(fileno(file), &info) == 0) {
        *out_bytes = (size_t)info.st_size;
        data = malloc(*out_bytes + GROWTH);
    }
    if (data && fread(data, 1, *out_bytes, file) != *out_bytes) {
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

/* The inputs are in blocks of their own, so that the sanitizer sees a read beyond their end. */
static void try_exact(struct replay *replay, const unsigned char *data, size_t bytes,
                      const char *path, unsigned copy)
{
    unsigned char *exact = malloc(bytes > 0 ? bytes : 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
    memcpy(exact, data, bytes);
    try_input(replay, exact, bytes, path, copy);
    free(exact);
}

static void replay_file(const char *path, void *context)
{
    struct replay *replay = context;
    size_t bytes = 0;
    unsigned char *original = read_bytes(path, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(original);
    unsigned char *changed = malloc(bytes + GROWTH);
    CU_ASSERT_PTR_NOT_NULL_FATAL(changed);
    try_exact(replay, original, bytes, path, 0);
    for (unsigned copy = 1; copy <= COPIES; copy++) {
        memcpy(changed, original, bytes);
        const size_t length = fuzz_mutate_text(changed, bytes, bytes + GROWTH, copy);
        try_exact(replay, changed, length, path, copy);
    }
    free(changed);
    free(original);
}

static void report(const struct replay *replay)
{
    suite_note("%u inputs, %u accepted, %u runs", replay->inputs, replay->accepted, replay->runs);
    CU_ASSERT_EQUAL(replay->complaints, 0);
    CU_ASSERT(replay->accepted > 0 && replay->runs > 0);
    CU_ASSERT(replay->accepted < replay->inputs);
}

static void accepted_schedules_do_what_they_claim(void)
{
    static const char *const folders[] = {"tests/golden", "tests/invalid", "tests/fuzz/corpus"};
    struct replay replay = {.target = fuzz_schedule};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        CU_ASSERT(files_walk(folders[i], ".ronde", replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_platforms_are_usable(void)
{
    static const char *const folders[] = {"topologies", "tests/invalid", "tests/fuzz/corpus"};
    struct replay replay = {.target = fuzz_platform};
    const char *reason;
    if (!ronde_topologies_available(&reason)) {
        suite_skip("no platform can be read: %s", reason);
        return;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        CU_ASSERT(files_walk(folders[i], ".xml", replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_machines_become_usable_platforms(void)
{
    struct replay replay = {.target = fuzz_import};
    const char *reason;
    if (!ronde_topologies_available(&reason)) {
        suite_skip("nothing can be imported: %s", reason);
        return;
    }
    CU_ASSERT(files_walk("tests/data/import", ".xml", replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_measurements_can_be_predicted(void)
{
    static const char *const endings[] = {".log", ".csv", ".json"};
    struct replay replay = {.target = fuzz_measured};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        CU_ASSERT(files_walk("tests/data/nccl-logs", endings[i], replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_tables_become_machines(void)
{
    static const char *const endings[] = {".csv", ".txt"};
    struct replay replay = {.target = fuzz_calibration};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        CU_ASSERT(files_walk("tests/data/mpi", endings[i], replay_file, &replay) > 0);
    report(&replay);
}

static void machines_of_the_vectors_too(void)
{
    static const char *const files[] = {"nccl-topo/azure-ncv4-topo.xml",
                                        "nccl-topo/azure-ndv5-topo.xml",
                                        "nccl-topo/oci-H100-topology.xml",
                                        "nccl-topo/rccl-topo_8p1h_2.xml",
                                        "hwloc/power8gpudistances.xml"};
    struct replay replay = {.target = fuzz_import};
    const char *reason;
    char path[512];
    char relative[128];
    if (!ronde_topologies_available(&reason)) {
        suite_skip("nothing can be imported: %s", reason);
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(relative, sizeof relative, "vectors/%s", files[i]);
        if (!suite_shared(path, sizeof path, relative))
            return;
        replay_file(path, &replay);
    }
    report(&replay);
}

static void accepted_msccl_files_do_what_they_claim(void)
{
    struct replay replay = {.target = fuzz_msccl};
    const char *reason;
    if (!ronde_msccl_available(&reason)) {
        suite_skip("no MSCCL file can be read: %s", reason);
        return;
    }
    CU_ASSERT(files_walk("tests/data/msccl", ".xml", replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_workloads_are_sound(void)
{
    static const char *const endings[] = {".workload", ".goal", ".et"};
    struct replay replay = {.target = fuzz_workload};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        CU_ASSERT(files_walk("tests/data/workload", endings[i], replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_plans_do_what_they_claim(void)
{
    struct replay replay = {.target = fuzz_mscclpp};
    const char *reason;
    if (!ronde_mscclpp_available(&reason)) {
        suite_skip("no MSCCL++ plan can be read: %s", reason);
        return;
    }
    CU_ASSERT(files_walk("tests/data/mscclpp", ".json", replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_traces_become_rows(void)
{
    struct replay replay = {.target = fuzz_traces};
    CU_ASSERT(files_walk("tests/data/traces", "", replay_file, &replay) > 0);
    CU_ASSERT(files_walk("docs/examples/dlrm-v100x8", "worker0.json.gz", replay_file, &replay) > 0);
    report(&replay);
}

static void accepted_nccl_logs_can_be_replayed(void)
{
    struct replay replay = {.target = fuzz_nccl_graph};
    CU_ASSERT(files_walk("tests/data/nccl-graph", ".log", replay_file, &replay) > 0);
    report(&replay);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"accepted_schedules_do_what_they_claim", accepted_schedules_do_what_they_claim},
        {"accepted_platforms_are_usable", accepted_platforms_are_usable},
        {"accepted_machines_become_usable_platforms", accepted_machines_become_usable_platforms},
        {"accepted_measurements_can_be_predicted", accepted_measurements_can_be_predicted},
        {"accepted_tables_become_machines", accepted_tables_become_machines},
        {"machines_of_the_vectors_too", machines_of_the_vectors_too},
        {"accepted_plans_do_what_they_claim", accepted_plans_do_what_they_claim},
        {"accepted_nccl_logs_can_be_replayed", accepted_nccl_logs_can_be_replayed},
        {"accepted_traces_become_rows", accepted_traces_become_rows},
        {"accepted_msccl_files_do_what_they_claim", accepted_msccl_files_do_what_they_claim},
        {"accepted_workloads_are_sound", accepted_workloads_are_sound},
    };
    return suite_run("fuzz", cases, sizeof cases / sizeof cases[0]);
}
