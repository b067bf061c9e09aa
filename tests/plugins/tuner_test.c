/**
 * libnccl-tuner-ronde.so as NCCL loads and asks it, in all versions of its interface: what it changes and what it leaves, files
 * that are none, records of NCCL's costs, and 64 ranks at once.
 */
#include "plugins/tuner_host.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_PATH RONDE_SCRATCH_DIR "/plugins_tuner.tuner"
#define RECORD_PATH RONDE_SCRATCH_DIR "/plugins_tuner.jsonl"

/* Ring/LL, Ring/Simple, Tree/Simple as NCCL counts them. */
enum { RING_LL = 3, RING_SIMPLE = 5, TREE_SIMPLE = 2 };

/*
 * Of 2, 4 and 8 nodes of 4 ranks. By 1 K all three are alike; by 4 K Ring/Simple is twice as fast as Ring/LL, by 16 K three
 * times on 4 nodes and twice on 8; Tree/Simple is 10 % faster than Ring/Simple at 16 K.
 */
static const char made[] = "ronde-tuner 1\n"
                           "# a comment\n"
                           "columns Ring/LL Ring/Simple Tree/Simple\n"
                           "shape 1 4\n"
                           "all_reduce 1024 1 30 10 10\n"
                           "all_reduce 16384 1 30 10 10\n"
                           "shape 4 16\n"
                           "all_reduce 1024 1 10.0 10.0 10.0\n"
                           "all_reduce 4096 1 20.0 10.0 -\n"
                           "all_reduce 16384 1 30 10 9\n"
                           "all_gather 1024 1.5 20 10 -\n"
                           "shape 8 32\n"
                           "all_reduce 1024 1 10 10 10\n"
                           "all_reduce 4096 1 20 10 -\n"
                           "all_reduce 16384 1 20 10 9\n"
                           "end\n";

static void write_text(const char *text)
{
    CU_ASSERT_FATAL(files_write(FILE_PATH, text));
    setenv("RONDE_TUNER_FILE", FILE_PATH, 1);
    unsetenv("RONDE_TUNER_MARGIN");
    unsetenv("RONDE_TUNER_RECORD");
}

/* What NCCL takes of three costs once the plug-in was asked. */
static int taken_of(const struct tuner_host *host, void *context, struct host_call call,
                    float ring_ll, float ring_simple, float tree_simple)
{
    float costs[HOST_COSTS];
    for (int i = 0; i < HOST_COSTS; i++)
        costs[i] = -1;
    costs[RING_LL] = ring_ll;
    costs[RING_SIMPLE] = ring_simple;
    costs[TREE_SIMPLE] = tree_simple;
    call.algorithms = ABI_ALGORITHMS;
    CU_ASSERT(tuner_host_ask(host, context, &call, costs));
    return tuner_host_taken(costs, ABI_ALGORITHMS);
}

/* The same where NCCL would take Ring/LL. */
static int taken(const struct tuner_host *host, void *context, enum abi_collective collective,
                 size_t bytes)
{
    const struct host_call call = {.collective = collective, .bytes = bytes, .pipe_ops = 1};
    return taken_of(host, context, call, 5, 6, 7);
}

static void it_changes_what_is_surely_slower(void)
{
    struct tuner_host host;
    write_text(made);
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    void *four = tuner_host_init(&host, 16, 4);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 1024), RING_LL);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 4096), RING_SIMPLE);
    /* The fastest of several; between two sizes both have to agree; beyond the file's nothing is known. */
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 16384), TREE_SIMPLE);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 10000), RING_SIMPLE);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 2000), RING_LL);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 16385), RING_LL);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 8), RING_LL);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_REDUCE_SCATTER, 4096), RING_LL);
    /* Twice as fast, of which 1.5 times may be the model's fault. */
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_GATHER, 1024), RING_SIMPLE);
    tuner_host_finish(&host, four);
    tuner_host_close(&host);
}

static void it_leaves_what_it_does_not_know(void)
{
    static const struct host_call calls[] = {{ABI_ALL_REDUCE, 4096, 2, 0, 0},
                                             {ABI_ALL_REDUCE, 4096, 1, 1, 0},
                                             {(enum abi_collective)7, 4096, 1, 0, 0}};
    struct tuner_host host;
    write_text(made);
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    void *four = tuner_host_init(&host, 16, 4);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        CU_ASSERT_EQUAL(taken_of(&host, four, calls[i], 5, 6, 7), RING_LL);
    const struct host_call call = {ABI_ALL_REDUCE, 16384, 1, 0, 0};
    /* Impossible, or priced far too high: rings of fp8. */
    CU_ASSERT_EQUAL(taken_of(&host, four, call, 5, -1, -1), RING_LL);
    CU_ASSERT_EQUAL(taken_of(&host, four, call, 5, 6, -1), RING_SIMPLE);
    CU_ASSERT_EQUAL(taken_of(&host, four, call, 5, 6 * 1024, -1), RING_LL);
    CU_ASSERT_EQUAL(taken_of(&host, four, call, NAN, 6, -1), RING_SIMPLE);
    tuner_host_finish(&host, four);
    tuner_host_close(&host);
}

/* A number of nodes between two of the file's; one that only one side of is known; unequal nodes; one rank. */
static void shapes_between_need_both_neighbours(void)
{
    static const struct {
        size_t ranks, nodes, bytes;
        int taken;
    } cases[] = {{24, 6, 4096, RING_SIMPLE},  {24, 6, 16384, TREE_SIMPLE},
                 {32, 8, 16384, TREE_SIMPLE}, {8, 2, 4096, RING_LL},
                 {36, 9, 4096, RING_LL},      {17, 4, 4096, RING_LL},
                 {8, 4, 4096, RING_LL},       {1, 1, 4096, RING_LL},
                 {4, 1, 1024, RING_SIMPLE},   {16, 0, 4096, RING_LL}};
    struct tuner_host host;
    write_text(made);
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *context = NULL;
        if (cases[i].nodes > 0)
            context = tuner_host_init(&host, cases[i].ranks, cases[i].nodes);
        CU_ASSERT_EQUAL(taken(&host, context, ABI_ALL_REDUCE, cases[i].bytes), cases[i].taken);
        tuner_host_finish(&host, context);
    }
    tuner_host_close(&host);
}

static void the_margin_says_how_sure(void)
{
    static const struct {
        const char *margin;
        int taken;
    } cases[] = {{"", RING_SIMPLE},
                 {"5", RING_SIMPLE},
                 {"99.9%", RING_SIMPLE},
                 {"101", RING_LL},
                 {"0", RING_SIMPLE},
                 {"-5", RING_LL},
                 {"much", RING_LL},
                 {"5 %", RING_LL},
                 {"1e9", RING_LL},
                 {".", RING_LL},
                 {"5%%", RING_LL},
                 {"1.2.3", RING_LL},
                 {"99999999999999999999", RING_LL}};
    struct tuner_host host;
    write_text(made);
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("RONDE_TUNER_MARGIN", cases[i].margin, 1);
        (void)tuner_host_warning();
        void *context = tuner_host_init(&host, 16, 4);
        CU_ASSERT_EQUAL(taken(&host, context, ABI_ALL_REDUCE, 4096), cases[i].taken);
        /* Not understood is said. */
        CU_ASSERT_EQUAL(strstr(tuner_host_warning(), "RONDE_TUNER_MARGIN") != NULL,
                        cases[i].taken == RING_LL && strcmp(cases[i].margin, "101") != 0);
        tuner_host_finish(&host, context);
    }
    tuner_host_close(&host);
}

/* Version 2 sees no costs: it answers where a choice that every GPU has is better than all, and nothing is forced. */
static void version_2_answers_only_the_best_of_all(void)
{
    struct tuner_host host;
    write_text(made);
    if (!tuner_host_open(&host, 2))
        return;
    void *four = tuner_host_init(&host, 16, 4);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 4096), RING_SIMPLE);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 1024), RING_LL);
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 16384), TREE_SIMPLE);
    tuner_host_finish(&host, four);
    setenv("NCCL_PROTO", "LL", 1);
    four = tuner_host_init(&host, 16, 4);
    unsetenv("NCCL_PROTO");
    CU_ASSERT_EQUAL(taken(&host, four, ABI_ALL_REDUCE, 4096), RING_LL);
    tuner_host_finish(&host, four);
    tuner_host_close(&host);
}

/* Each is refused with file and line, and NCCL is left alone. */
static void files_that_are_none_change_nothing(void)
{
#define HEAD "ronde-tuner 1\n"
#define COLUMNS HEAD "columns Ring/LL Ring/Simple\n"
#define SHAPE COLUMNS "shape 4 16\n"
#define ROW SHAPE "all_reduce 4096 1 20 10\n"
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", ":0: no line \"end\""},
        {"ronde-tuner 2\nend\n", ":1: not a ronde-tuner file of version 1"},
        {"<xml/>\n", ":1: not a ronde-tuner file"},
        {HEAD "shape 4 16\n", ":2: a shape before the columns"},
        {HEAD "columns\n", ":2: no columns"},
        {HEAD "columns Ring/LL Ring/LL\n", "there twice"},
        {HEAD "columns Ring\n", "not one of NCCL's"},
        {HEAD "columns Ring/LLL\n", "not one of NCCL's"},
        {COLUMNS "columns Ring/LL\n", ":3: columns a second time"},
        {HEAD "columns Tree/LL Tree/LL128 Tree/Simple Ring/LL Ring/LL128 Ring/Simple NVLS/LL "
              "NVLS/LL128 NVLS/Simple PAT/LL PAT/LL128 PAT/Simple NVLSTree/Simple\n",
         "more than 12 columns"},
        {COLUMNS "shape 4\n", ":3: expected: shape NODES RANKS"},
        {COLUMNS "shape 4 18\n", "equally many"},
        {COLUMNS "shape 0 0\n", "expected: shape"},
        {COLUMNS "shape -4 16\n", "expected: shape"},
        {COLUMNS "shape 4 16 1\n", "expected: shape"},
        {COLUMNS "shape 99999999999999999999 99999999999999999999\n", "expected: shape"},
        {SHAPE "shape 4 16\n", "do not ascend"},
        {SHAPE "alltoall 4096 1 20 10\n", "neither a collective"},
        {SHAPE "all_reduce 4096 1 20\n", ":4: expected 2 times"},
        {SHAPE "all_reduce 4096 1 20 10 5\n", "more times than columns"},
        {SHAPE "all_reduce 4096 1 20 nan\n", "expected 2 times"},
        {SHAPE "all_reduce 4096 1 20 -10\n", "expected 2 times"},
        {SHAPE "all_reduce 4096 1 20 1e1\n", "expected 2 times"},
        {SHAPE "all_reduce 4096 1 20 1,5\n", "expected 2 times"},
        {SHAPE "all_reduce 4096 1 20 0\n", "expected 2 times"},
        {SHAPE "all_reduce 4096 0.5 20 10\n", "by how much"},
        {SHAPE "all_reduce x 1 20 10\n", "sizes are to be"},
        {SHAPE "all_reduce\n", "sizes are to be"},
        {ROW "all_reduce 4096 1 20 10\n", ":5: sizes are to be whole numbers that ascend"},
        {ROW, "no line \"end\": the file was cut off"},
        {ROW "end\nshape 8 32\n", ":6: something behind the end"},
        {ROW "end", ":5: a line of more than"},
    };
    struct tuner_host host;
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text(cases[i].text);
        (void)tuner_host_warning();
        void *context = tuner_host_init(&host, 16, 4);
        CU_ASSERT_EQUAL(taken(&host, context, ABI_ALL_REDUCE, 4096), RING_LL);
        const char *warning = tuner_host_warning();
        CU_ASSERT(strstr(warning, FILE_PATH ":") != NULL && strstr(warning, cases[i].reason) != NULL);
        if (!strstr(warning, cases[i].reason))
            suite_note("case %zu: %s", i, warning);
        tuner_host_finish(&host, context);
    }
    tuner_host_close(&host);
}

/* More sizes than there is room for, a line without an end, a NUL: nothing is written beyond what is there. */
static void large_files_are_bounded(void)
{
    static char text[1 << 16];
    struct tuner_host host;
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    for (int kind = 0; kind < 3; kind++) {
        size_t used = (size_t)snprintf(text, sizeof text, "%s", SHAPE);
        for (int i = 1; kind == 0 && i <= 65; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "all_reduce %d 1 2 1\n", i);
        if (kind == 1)
            memset(text + used, '7', 30000);
        write_text(text);
        if (kind == 2) {
            FILE *file = fopen(FILE_PATH, "a");
            CU_ASSERT_FATAL(file != NULL);
            fwrite("all\0reduce\n", 1, 11, file);
            fclose(file);
        }
        (void)tuner_host_warning();
        void *context = tuner_host_init(&host, 16, 4);
        CU_ASSERT_EQUAL(taken(&host, context, ABI_ALL_REDUCE, 2), RING_LL);
        CU_ASSERT(strstr(tuner_host_warning(), kind == 0 ? ":68: more than 64 sizes"
                                                         : ":4: a line of more than") != NULL);
        tuner_host_finish(&host, context);
        memset(text, 0, sizeof text);
    }
    tuner_host_close(&host);
}

/* What would make NCCL wait, or is not there. */
static void what_is_no_file_is_refused(void)
{
    static const char *const paths[] = {RONDE_SCRATCH_DIR, "/no/such/file", "/dev/zero",
                                        RONDE_SCRATCH_DIR "/plugins_tuner.fifo"};
    struct tuner_host host;
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    (void)unlink(paths[3]);
    CU_ASSERT_EQUAL(mkfifo(paths[3], 0600), 0);
    write_text(made);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        setenv("RONDE_TUNER_FILE", paths[i], 1);
        setenv("RONDE_TUNER_RECORD", paths[i], 1);
        (void)tuner_host_warning();
        void *context = tuner_host_init(&host, 16, 4);
        CU_ASSERT_EQUAL(taken(&host, context, ABI_ALL_REDUCE, 4096), RING_LL);
        CU_ASSERT(strstr(tuner_host_warning(), "RONDE_TUNER_RECORD") != NULL);
        tuner_host_finish(&host, context);
    }
    unsetenv("RONDE_TUNER_RECORD");
    unsetenv("RONDE_TUNER_FILE");
    void *context = tuner_host_init(&host, 16, 4);
    CU_ASSERT(strstr(tuner_host_information(), "RONDE_TUNER_FILE is not set") != NULL);
    CU_ASSERT_EQUAL(taken(&host, context, ABI_ALL_REDUCE, 4096), RING_LL);
    tuner_host_finish(&host, context);
    tuner_host_close(&host);
}

/* Choices that are changed on so many nodes of four ranks, by the file that was written last. */
static unsigned count_changes(const struct tuner_host *host, size_t nodes, const char *margin)
{
    unsigned changes = 0;
    setenv("RONDE_TUNER_MARGIN", margin, 1);
    void *context = tuner_host_init(host, 4 * nodes, nodes);
    for (int c = 0; c < ABI_COLLECTIVES; c++)
        for (size_t bytes = 8; bytes <= (size_t)1 << 34; bytes *= 2) {
            float costs[HOST_COSTS];
            const struct host_call call = {(enum abi_collective)c, bytes, 1, 0, ABI_ALGORITHMS};
            tuner_host_costs(&call, 4 * nodes, nodes, costs);
            const int was = tuner_host_taken(costs, ABI_ALGORITHMS);
            CU_ASSERT(tuner_host_ask(host, context, &call, costs));
            changes += tuner_host_taken(costs, ABI_ALGORITHMS) != was;
        }
    tuner_host_finish(host, context);
    unsetenv("RONDE_TUNER_MARGIN");
    return changes;
}

/* What `ronde plan` writes of a machine is read without complaint, and more margin means fewer changes. */
static void files_that_ronde_writes_are_read(void)
{
    static const size_t nodes[] = {1, 2, 9, 20};
    struct tuner_host host;
    write_text(made);
    said_expect("plan --style nccl --topo Alps-GH200 --nodes 20 -o " FILE_PATH, 0, "");
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    unsigned all = 0;
    (void)tuner_host_warning();
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        const unsigned few = count_changes(&host, nodes[i], "400");
        const unsigned some = count_changes(&host, nodes[i], "5");
        CU_ASSERT(strstr(tuner_host_information(), "has times") != NULL);
        CU_ASSERT(few <= some && some < ABI_COLLECTIVES * 32);
        all += some;
    }
    CU_ASSERT_STRING_EQUAL(tuner_host_warning(), "");
    CU_ASSERT(all > 0);
    tuner_host_close(&host);
}

/* One rank of many at once. */
struct rank {
    const struct tuner_host *host;
    size_t ranks, nodes;
    int algorithms;
    uint64_t answers; /* a hash of all that it is told */
    bool is_fine;
};

enum { RANKS = 64 };

static void *ask_everything(void *argument)
{
    struct rank *rank = argument;
    void *context = tuner_host_init(rank->host, rank->ranks, rank->nodes);
    rank->is_fine = true;
    for (int c = 0; c < ABI_COLLECTIVES; c++)
        for (size_t bytes = 8; bytes <= (size_t)1 << 30; bytes *= 4)
            for (int variant = 0; variant < 3; variant++) {
                float costs[HOST_COSTS];
                const struct host_call call = {(enum abi_collective)c, bytes, variant == 1 ? 4 : 1,
                                               variant == 2, rank->algorithms};
                tuner_host_costs(&call, rank->ranks, rank->nodes, costs);
                rank->is_fine = tuner_host_ask(rank->host, context, &call, costs) && rank->is_fine;
                rank->answers =
                    rank->answers * 31 + (uint64_t)(tuner_host_taken(costs, rank->algorithms) + 2);
            }
    tuner_host_finish(rank->host, context);
    return NULL;
}

/* Contexts of 64 ranks made, asked and ended at once; half of them of another communicator. */
static void ranks_in_threads_answer_alike(void)
{
    write_text(made);
    for (int version = HOST_OLDEST; version <= HOST_NEWEST; version++) {
        struct tuner_host host;
        struct rank ranks[RANKS];
        pthread_t threads[RANKS];
        if (!tuner_host_open(&host, version))
            return;
        for (int r = 0; r < RANKS; r++) {
            ranks[r] =
                (struct rank){&host, r % 2 ? 16 : 32, r % 2 ? 4 : 8, version > 3 ? 7 : 6, 0, false};
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[r], NULL, ask_everything, &ranks[r]), 0);
        }
        for (int r = 0; r < RANKS; r++)
            pthread_join(threads[r], NULL);
        for (int r = 0; r < RANKS; r++)
            CU_ASSERT(ranks[r].is_fine && ranks[r].answers == ranks[r % 2].answers);
        tuner_host_close(&host);
    }
}

/* What was fed is what was written: every cost in full, and calls that are repeated once. */
static void records_are_the_costs_that_were_fed(void)
{
    struct tuner_host host;
    write_text(made);
    (void)unlink(RECORD_PATH);
    setenv("RONDE_TUNER_RECORD", RECORD_PATH, 1);
    if (!tuner_host_open(&host, HOST_NEWEST))
        return;
    void *context = tuner_host_init(&host, 32, 8);
    for (int turn = 0; turn < 2; turn++)
        for (size_t bytes = 1024; bytes <= 4096; bytes *= 2) {
            float costs[HOST_COSTS];
            const struct host_call call = {ABI_ALL_REDUCE, bytes, 1, 0, ABI_ALGORITHMS};
            tuner_host_costs(&call, 32, 8, costs);
            CU_ASSERT(tuner_host_ask(&host, context, &call, costs));
        }
    tuner_host_finish(&host, context);
    tuner_host_close(&host);
    unsetenv("RONDE_TUNER_RECORD");
    char *text = files_read(RECORD_PATH), *at = text;
    CU_ASSERT_FATAL(text != NULL);
    for (size_t bytes = 1024; bytes <= 4096; bytes *= 2) {
        float costs[HOST_COSTS];
        char head[256];
        const struct host_call call = {ABI_ALL_REDUCE, bytes, 1, 0, ABI_ALGORITHMS};
        tuner_host_costs(&call, 32, 8, costs);
        const int used =
            snprintf(head, sizeof head,
                     "{\"kind\": \"nccl_table\", \"engine\": \"nccl\", \"collective\": "
                     "\"all_reduce\", \"ranks\": 32, \"nodes\": 8, \"bytes\": %zu, "
                     "\"pipe_ops\": 1, \"registered\": false, \"interface\": 6",
                     bytes);
        CU_ASSERT(strncmp(at, head, (size_t)used) == 0);
        char *ring = strstr(at, "\"Ring/LL128\": "), *tree = strstr(at, "\"NVLSTree/Simple\": ");
        CU_ASSERT_FATAL(ring != NULL && tree != NULL);
        CU_ASSERT_EQUAL(strtof(ring + 14, NULL), costs[ABI_RING * ABI_PROTOCOLS + ABI_LL128]);
        CU_ASSERT_EQUAL(strtof(tree + 19, NULL), costs[ABI_NVLS_TREE * ABI_PROTOCOLS + ABI_SIMPLE]);
        at = strchr(at, '\n') + 1;
    }
    CU_ASSERT_EQUAL(*at, '\0');
    free(text);
}

/* No more than 2048 different calls of a communicator, however many there are. */
static void records_are_bounded(void)
{
    struct tuner_host host;
    unsigned lines = 0;
    write_text(made);
    (void)unlink(RECORD_PATH);
    setenv("RONDE_TUNER_RECORD", RECORD_PATH, 1);
    if (!tuner_host_open(&host, 4))
        return;
    void *context = tuner_host_init(&host, 32, 8);
    for (size_t bytes = 1; bytes <= 5000; bytes++)
        (void)taken(&host, context, ABI_ALL_REDUCE, bytes);
    tuner_host_finish(&host, context);
    tuner_host_close(&host);
    unsetenv("RONDE_TUNER_RECORD");
    char *text = files_read(RECORD_PATH);
    CU_ASSERT_FATAL(text != NULL);
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    CU_ASSERT_EQUAL(lines, 2048);
    free(text);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"it_changes_what_is_surely_slower", it_changes_what_is_surely_slower},
        {"it_leaves_what_it_does_not_know", it_leaves_what_it_does_not_know},
        {"shapes_between_need_both_neighbours", shapes_between_need_both_neighbours},
        {"the_margin_says_how_sure", the_margin_says_how_sure},
        {"version_2_answers_only_the_best_of_all", version_2_answers_only_the_best_of_all},
        {"files_that_are_none_change_nothing", files_that_are_none_change_nothing},
        {"large_files_are_bounded", large_files_are_bounded},
        {"what_is_no_file_is_refused", what_is_no_file_is_refused},
        {"files_that_ronde_writes_are_read", files_that_ronde_writes_are_read},
        {"ranks_in_threads_answer_alike", ranks_in_threads_answer_alike},
        {"records_are_the_costs_that_were_fed", records_are_the_costs_that_were_fed},
        {"records_are_bounded", records_are_bounded},
    };
    return suite_run("plugins_tuner", cases, sizeof cases / sizeof cases[0]);
}
