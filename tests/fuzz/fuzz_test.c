/**
 * The fuzz targets on what is known: golden texts, refused ones, shipped platforms, the corpus that fuzzing found, and
 * a hundred changed copies of each; then on inputs of each kind whose structure is changed. Needs no fuzzing engine; ./dev fuzz
 * searches on.
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
#include <time.h>

/* Changed copies of each file: most where a sanitizer watches. */
#define COPIES (strlen(RONDE_SANITIZE) > 0 ? 100u : 50u)

/* Room that a changed copy may grow by. */
#define GROWTH 1024u

/* The same of a copy whose structure is changed. */
#define STRUCTURE_GROWTH (64u << 10)

/* Larger files are left to their changed bytes. */
#define MOST_STRUCTURED_BYTES (256u << 10)

/* Seconds that one input may take: under a sanitizer those of a machine that does other things, too. */
#define MOST_SECONDS 20.0

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
    const clock_t start = clock();
    replay->target(data, bytes, &verdict);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > MOST_SECONDS)
        fuzz_complain(&verdict, "took %.1f s", seconds);
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

/* A kind of input: what reads it, and which files there are of it. */
struct kind {
    const char *name;
    void (*target)(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);
    bool (*available)(const char **out_reason); /* NULL = always */
    const char *files[8];                       /* folder and ending, by turns */
};

static const struct kind kinds[] = {
    {"schedules",
     fuzz_schedule,
     NULL,
     {"tests/golden", ".ronde", "tests/invalid", ".ronde", "tests/fuzz/corpus", ".ronde"}},
    {"platforms",
     fuzz_platform,
     ronde_topologies_available,
     {"topologies", ".xml", "tests/invalid", ".xml", "tests/fuzz/corpus", ".xml"}},
    {"machines", fuzz_import, ronde_topologies_available, {"tests/data/import", ".xml"}},
    {"measurements",
     fuzz_measured,
     NULL,
     {"tests/data/nccl-logs", ".log", "tests/data/nccl-logs", ".csv", "tests/data/nccl-logs",
      ".json"}},
    {"tables", fuzz_calibration, NULL, {"tests/data/mpi", ".csv", "tests/data/mpi", ".txt"}},
    {"MSCCL", fuzz_msccl, ronde_msccl_available, {"tests/data/msccl", ".xml"}},
    {"MSCCL++", fuzz_mscclpp, ronde_mscclpp_available, {"tests/data/mscclpp", ".json"}},
    {"NCCL's logs", fuzz_nccl_graph, NULL, {"tests/data/nccl-graph", ".log"}},
    {"workloads",
     fuzz_workload,
     NULL,
     {"tests/data/workload", ".workload", "tests/data/workload", ".goal", "tests/data/workload",
      ".et"}},
    {"traces of torch.profiler",
     fuzz_traces,
     NULL,
     {"tests/data/traces/kineto", "", "docs/examples/dlrm-v100x8", "worker0.json.gz"}},
    {"logs of NCCL Inspector", fuzz_traces, NULL, {"tests/data/traces/inspector", ""}},
    {"Prometheus texts", fuzz_traces, NULL, {"tests/data/traces/prometheus", ""}},
    {"traces of NCCL's example", fuzz_traces, NULL, {"tests/data/traces/example", ""}},
    {"records of runs", fuzz_traces, NULL, {"tests/data/traces/runs", ""}},
    {"flight recorders", fuzz_traces, NULL, {"tests/data/traces/recorder", ""}},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static bool is_there(const struct kind *kind)
{
    const char *reason = NULL;
    if (!kind->available || kind->available(&reason))
        return true;
    suite_note("%s are not read here: %s", kind->name, reason);
    return false;
}

static void walk(const struct kind *kind, void (*visit)(const char *path, void *context),
                 void *context)
{
    for (size_t f = 0; kind->files[f]; f += 2)
        CU_ASSERT(files_walk(kind->files[f], kind->files[f + 1], visit, context) > 0);
}

static void report(const struct kind *kind, const struct replay *replay)
{
    suite_note("%s: %u inputs, %u accepted, %u runs, %u complaints", kind->name, replay->inputs,
               replay->accepted, replay->runs, replay->complaints);
    CU_ASSERT_EQUAL(replay->complaints, 0);
    CU_ASSERT(replay->accepted > 0 && replay->runs > 0);
    /* Of traces some reader takes nearly everything: what it cannot use is a remark. */
    CU_ASSERT(replay->accepted < replay->inputs || replay->target == fuzz_traces);
}

static void what_is_accepted_is_sound(void)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct replay replay = {.target = kinds[k].target};
        if (!is_there(&kinds[k]))
            continue;
        walk(&kinds[k], replay_file, &replay);
        report(&kinds[k], &replay);
    }
}

/* Files of a kind that are not too large. */
struct paths {
    char path[512][256];
    size_t count;
};

static void keep_path(const char *path, void *context)
{
    struct paths *paths = context;
    struct stat info;
    if (stat(path, &info) == 0 && info.st_size <= MOST_STRUCTURED_BYTES && paths->count < 512 &&
        strlen(path) < sizeof paths->path[0])
        strcpy(paths->path[paths->count++], path);
}

static void try_structure(struct replay *replay, const char *path, unsigned copy, uint64_t seed)
{
    size_t bytes = 0;
    unsigned char *original = read_bytes(path, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(original);
    unsigned char *changed = malloc(bytes + STRUCTURE_GROWTH);
    CU_ASSERT_PTR_NOT_NULL_FATAL(changed);
    memcpy(changed, original, bytes);
    bytes = fuzz_mutate_structure(changed, bytes, bytes + STRUCTURE_GROWTH, seed);
    try_exact(replay, changed, bytes, path, copy);
    free(changed);
    free(original);
}

/* RONDE_TEST_SCALE is their number a kind (but for a sample, which is smaller); others each day. */
static void changed_structures_are_refused_or_sound(void)
{
    static struct paths paths;
    const uint64_t mutants = suite_number("RONDE_TEST_SCALE", 100), seed = suite_seed();
    for (size_t k = 0; k < KINDS; k++) {
        struct replay replay = {.target = kinds[k].target};
        uint64_t random = seed + k;
        if (!is_there(&kinds[k]))
            continue;
        paths.count = 0;
        walk(&kinds[k], keep_path, &paths);
        for (uint64_t m = 0; m < mutants; m++) {
            const char *path = paths.path[buffers_draw(&random) % paths.count];
            try_structure(&replay, path, (unsigned)m, buffers_draw(&random));
        }
        suite_note("%s: %u changed structures, %u accepted, %u complaints", kinds[k].name,
                   replay.inputs, replay.accepted, replay.complaints);
        CU_ASSERT_EQUAL(replay.complaints, 0);
    }
}

static void machines_of_the_vectors_too(void)
{
    static const char *const files[] = {"nccl-topo/azure-ncv4-topo.xml",
                                        "nccl-topo/azure-ndv5-topo.xml",
                                        "nccl-topo/oci-H100-topology.xml",
                                        "nccl-topo/rccl-topo_8p1h_2.xml",
                                        "hwloc/power8gpudistances.xml"};
    const struct kind kind = {.name = "machines"};
    struct replay replay = {.target = fuzz_import};
    char path[512];
    char relative[128];
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(relative, sizeof relative, "vectors/%s", files[i]);
        if (!suite_shared(path, sizeof path, relative))
            return;
        replay_file(path, &replay);
    }
    report(&kind, &replay);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_accepted_is_sound", what_is_accepted_is_sound},
        {"changed_structures_are_refused_or_sound", changed_structures_are_refused_or_sound},
        {"machines_of_the_vectors_too", machines_of_the_vectors_too},
    };
    return suite_run("fuzz", cases, sizeof cases / sizeof cases[0]);
}
