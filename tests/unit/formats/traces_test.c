/*
 * Readers of traces: gzip against texts of known bytes, numbers and texts of JSON by hand, pickles that would run something, and
 * events of Kineto's as versions of torch wrote them. What is refused names file and place.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/heap.h"
#include "support/suite.h"

#include "formats/traces/gather.h"
#include "formats/traces/json_pull.h"

#include "ronde/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a text; the caller closes it. */
static enum ronde_status read_text(struct ronde_traces *traces, enum ronde_trace_format format,
                                   const char *text, size_t bytes, struct ronde_error *error)
{
    *error = (struct ronde_error){0};
    ronde_traces_open(traces, ronde_mem_default());
    enum ronde_status status = ronde_traces_add_text(traces, text, bytes, "input_3", format, error);
    return status == RONDE_OK ? ronde_traces_join(traces, error) : status;
}

static const struct ronde_trace_call *call(const struct ronde_traces *traces, uint32_t index)
{
    return (const struct ronde_trace_call *)traces->calls.items + index;
}

static const struct ronde_job_group *group_of(const struct ronde_traces *traces,
                                              const struct ronde_trace_call *of)
{
    CU_ASSERT_NOT_EQUAL_FATAL(of->group, RONDE_TRACE_NONE);
    return (const struct ronde_job_group *)traces->groups.items + of->group;
}

static struct pull_span span(const char *text)
{
    return (struct pull_span){text, strlen(text)};
}

/* A member of gzip's of "abcabc..." eight times, by fixed codes and stored. */
#define GZIP_FIXED                                                                                 \
    "\037\213\010\000\000\000\000\000\000\377\113\114"                                             \
    "\112\116\304\206\000\067\017\040\001\030\000\000\000"

static void numbers_keep_their_nanoseconds(void)
{
    static const struct {
        const char *text;
        unsigned digits;
        bool is_number;
        int64_t value;
    } cases[] = {
        {"4933047799970.003", 3, true, 4933047799970003},
        {"1790860126000001", 3, true, 1790860126000001000},
        {"1.5e3", 3, true, 1500000},
        {"1e-3", 3, true, 1},
        {"2.0006", 3, true, 2001},
        {"2.0004", 3, true, 2000},
        {"1.5e-3", 0, true, 0},
        {"-7", 0, true, -7},
        {"\"42\"", 0, true, 42},
        {"9223372036854775807", 3, false, 0},
        {"1e99", 3, false, 0},
        {"1e999", 3, false, 0},
        {"1.2.3", 3, false, 0},
        {"-", 0, false, 0},
        {"true", 0, false, 0},
        {"\"\"", 0, false, 0},
        {"1x", 0, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 0;
        const bool is_number = pull_scaled(span(cases[i].text), cases[i].digits, &value);
        if (is_number != cases[i].is_number || (is_number && value != cases[i].value))
            suite_note("%s: %d, %lld", cases[i].text, is_number, (long long)value);
        CU_ASSERT_EQUAL(is_number, cases[i].is_number);
        CU_ASSERT(!is_number || value == cases[i].value);
    }
}

static void members_and_texts_are_found(void)
{
    char text[16];
    const struct pull_span object = span(
        "{\"a\\\"\": {\"b\": [1, {\"c\": \"}]\"}, 3]}, \"b\" : \"x\\u00e9\\n\\\"\", \"d\":-1}");
    CU_ASSERT(pull_text(pull_member(object, "b"), text, sizeof text));
    CU_ASSERT_STRING_EQUAL(text, "x\xc3\xa9\n\"");
    CU_ASSERT(pull_is(pull_member(pull_item(pull_member(pull_member(object, "a\\\""), "b"), 1), "c"),
                      "}]"));
    CU_ASSERT_PTR_NULL(pull_member(object, "c").at);
    CU_ASSERT_PTR_NULL(pull_item(object, 0).at);
    struct pull_walk walk = pull_walk(span("[1 2]"));
    struct pull_span key, value;
    CU_ASSERT_FALSE(pull_step(&walk, &key, &value));
    CU_ASSERT(walk.is_bad);
}

static void names_are_collectives(void)
{
    static const struct {
        const char *name;
        enum ronde_collective collective;
        bool is_call;
    } cases[] = {
        {"allreduce", RONDE_ALL_REDUCE, true},
        {"nccl:all_reduce", RONDE_ALL_REDUCE, true},
        {"allreduce_coalesced", RONDE_ALL_REDUCE, true},
        {"_allgather_base", RONDE_ALL_GATHER, true},
        {"nccl:_all_gather_base", RONDE_ALL_GATHER, true},
        {"all_gather_into_tensor_coalesced", RONDE_ALL_GATHER, true},
        {"_reduce_scatter_base", RONDE_REDUCE_SCATTER, true},
        {"reduce_scatter_tensor_coalesced", RONDE_REDUCE_SCATTER, true},
        {"alltoall_base", RONDE_ALL_TO_ALL, true},
        {"all_to_allv", RONDE_ALL_TO_ALL, true},
        {"_broadcast_oop", RONDE_BROADCAST, true},
        {"nccl:send 0->1", RONDE_SEND_RECV, true},
        {"nccl:recv 1<-0", RONDE_SEND_RECV, true},
        {"ReduceScatter", RONDE_REDUCE_SCATTER, true},
        {"nccl:coalesced", RONDE_COLLECTIVE_COUNT, true},
        {"wait", RONDE_COLLECTIVE_COUNT, false},
        {"init", RONDE_COLLECTIVE_COUNT, false},
        {"", RONDE_COLLECTIVE_COUNT, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool is_call = false;
        CU_ASSERT_EQUAL(name_collective(cases[i].name, &is_call), cases[i].collective);
        CU_ASSERT_EQUAL(is_call, cases[i].is_call);
    }
    CU_ASSERT_EQUAL(name_type_bytes("c10::BFloat16"), 2);
    CU_ASSERT_EQUAL(name_type_bytes("long int"), 8);
    CU_ASSERT_EQUAL(name_type_bytes("quaternion"), 0);
    CU_ASSERT_EQUAL(name_call_bytes(RONDE_ALL_GATHER, 4, 10, 40, 4), 160);
    CU_ASSERT_EQUAL(name_call_bytes(RONDE_ALL_GATHER, 4, 10, -1, 4), 160);
    CU_ASSERT_EQUAL(name_call_bytes(RONDE_REDUCE_SCATTER, 4, 41, 10, 4), 164);
    CU_ASSERT_EQUAL(name_call_bytes(RONDE_REDUCE_SCATTER, 4, 160, 10, 4), 160);
    CU_ASSERT_EQUAL(name_call_bytes(RONDE_ALL_TO_ALL, 4, 10, 30, 1), 30);
    CU_ASSERT_EQUAL(name_call_bytes(RONDE_ALL_REDUCE, 4, -1, -1, 4), RONDE_TRACE_NO_NUMBER);
    CU_ASSERT_EQUAL(name_call_bytes(RONDE_ALL_REDUCE, 4, 10, 10, 0), RONDE_TRACE_NO_NUMBER);
}

/* One event each, as they are found; `kernels` go first and records behind, for events have no order. */
#define LAUNCH(correlation, external, ts)                                                          \
    "{\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"tid\":9,\"ts\":" #ts                \
    ",\"dur\":5,\"args\":{\"correlation\":" #correlation ",\"External id\":" #external "}}"
#define KERNEL(correlation, external, ts, dur)                                                     \
    "{\"cat\":\"kernel\",\"name\":\"ncclDevKernel_X\",\"pid\":0,\"tid\":7,\"ts\":" #ts             \
    ",\"dur\":" #dur ",\"args\":{\"correlation\":" #correlation ",\"External id\":" #external "}}"
#define RECORD(external, what, in, ranks)                                                          \
    "{\"cat\":\"cpu_op\",\"name\":\"record_param_comms\",\"tid\":9,\"ts\":1,\"dur\":2,\"args\":{"  \
    "\"External id\":" #external ",\"Collective name\":\"" what "\",\"In msg nelems\":" #in        \
    ",\"Out msg nelems\":" #in                                                                     \
    ",\"dtype\":\"Float\",\"Group size\":2,\"Process Group Name\":\"0\","                          \
    "\"Process Group Ranks\":\"" ranks "\",\"Seq\":" #external "}}"

static void records_are_found_in_every_way(void)
{
    static const char text[] =
        "{\"traceEvents\": [" KERNEL(11, 1, 100, 10) "," KERNEL(12, 1, 112, 8) "," /* two pieces */
        KERNEL(13, 77, 200.5, 3) "," KERNEL(13, 77, 200.5, 3) "," /* by its launch; twice */
        KERNEL(14, 14, 300, 4) ","                                /* by an annotation */
        KERNEL(15, 5, 400, 5) ","                                 /* of a graph's replay */
        KERNEL(16, 16, 10, 5) ","                                 /* of before the window */
        KERNEL(17, 6, 500, 1) ","                                 /* of what is no call */
        LAUNCH(13, 2, 190) "," LAUNCH(
            14, 14, 290) ","
                         "{\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"tid\":9,\"ts\":"
                         "1,\"args\":{"
                         "\"correlation\":15,\"External id\":5}},"
                         "{\"cat\":\"user_annotation\",\"name\":\"nccl:all_reduce\",\"tid\":9,"
                         "\"ts\":280,\"dur\":30,"
                         "\"args\":{\"Input Dims\":[[3,5]],\"Input type\":[\"c10::Half\"]}},"
                         "{\"cat\":\"user_annotation\",\"name\":\"nccl:broadcast\",\"tid\":8,"
                         "\"ts\":285,\"dur\":30,"
                         "\"args\":{}}," RECORD(1, "allreduce", 100, "[0, 3]") "," RECORD(
                             2, "_allgather_base",
                             50, "[0, ...]") "," RECORD(5, "allreduce", 7,
                                                        "[0, 3]") "," RECORD(6,
                                                                             "wait", 0, "[0, 3]") ","
                                                                                                  "{\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":95,\"dur\":10,\"args\":{}}"
                                                                                                  "], \"distributedInfo\": {\"rank\": 3, \"world_size\": 4, \"pg_config\": [{\"pg_name\": "
                                                                                                  "\"0\", \"pg_size\": 2, \"ranks\": [0, 3]}]}, \"baseTimeNanoseconds\": 1000}";
    struct ronde_traces traces;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text(&traces, RONDE_TRACE_KINETO, text, sizeof text - 1, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(traces.calls.count, 5);
    /* In the order of starts: the one of before, the pieces, the launch's, the annotation's, the graph's. */
    CU_ASSERT_EQUAL(call(&traces, 0)->collective, RONDE_COLLECTIVE_COUNT);
    const struct ronde_trace_call *pieces = call(&traces, 1), *launched = call(&traces, 2);
    CU_ASSERT_EQUAL(pieces->collective, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(pieces->bytes, 400);
    CU_ASSERT_EQUAL(pieces->duration_ns, 20000);
    CU_ASSERT_EQUAL(pieces->exposed_ns, 15000);
    CU_ASSERT_EQUAL(pieces->start_ns, 101000);
    CU_ASSERT_EQUAL(pieces->sequence, 1);
    CU_ASSERT_EQUAL(launched->collective, RONDE_ALL_GATHER);
    CU_ASSERT_EQUAL(launched->bytes, 200);
    CU_ASSERT_EQUAL(launched->duration_ns, 3000);
    /* Cut ranks are those of pg_config, and the same group. */
    CU_ASSERT_EQUAL(launched->group, pieces->group);
    CU_ASSERT_EQUAL(group_of(&traces, launched)->count, 2);
    CU_ASSERT_EQUAL(group_of(&traces, launched)->ranks[1], 3);
    CU_ASSERT_EQUAL(call(&traces, 3)->collective, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(call(&traces, 3)->bytes, 30);
    CU_ASSERT_EQUAL(call(&traces, 3)->group, RONDE_TRACE_NONE);
    CU_ASSERT_EQUAL(call(&traces, 4)->collective, RONDE_COLLECTIVE_COUNT);
    ronde_traces_close(&traces);
}

static void members_of_a_coalesced_call_are_summed(void)
{
    static const char text[] =
        "{\"entries\": ["
        "{\"profiling_name\":\"nccl:all_gather\",\"process_group\":[\"g\",\"\"],"
        "\"collective_seq_id\":\"4\",\"input_sizes\":[[8]],\"output_sizes\":[[16]],"
        "\"input_dtypes\":[\"Float\"],\"state\":\"completed\"},"
        "{\"profiling_name\":\"nccl:all_gather\",\"process_group\":[\"g\",\"\"],"
        "\"collective_seq_id\":4,\"input_sizes\":[[2,2]],\"output_sizes\":[[2,4]],"
        "\"input_dtypes\":[\"Float\"],\"state\":\"completed\"},"
        "{\"profiling_name\":\"nccl:coalesced\",\"process_group\":[\"g\",\"\"],"
        "\"collective_seq_id\":4,\"input_sizes\":[],\"state\":\"completed\",\"duration_ms\":0.25}],"
        "\"pg_config\": {\"g\": {\"name\": \"g\", \"ranks\": \"[1, 3]\"}}}";
    struct ronde_traces traces;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text(&traces, RONDE_TRACE_RECORDER, text, sizeof text - 1, &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(traces.calls.count, 1);
    CU_ASSERT_EQUAL(call(&traces, 0)->collective, RONDE_ALL_GATHER);
    CU_ASSERT_EQUAL(call(&traces, 0)->bytes, 96);
    CU_ASSERT_EQUAL(call(&traces, 0)->duration_ns, 250000);
    CU_ASSERT_EQUAL(group_of(&traces, call(&traces, 0))->ranks[0], 1);
    ronde_traces_close(&traces);
}

struct refusal {
    enum ronde_trace_format format;
    const char *text;
    size_t bytes; /* 0: its length */
    const char *says;
};

static void hostile_files_are_refused_with_their_place(void)
{
    static const struct refusal refusals[] = {
        {RONDE_TRACE_KINETO, "", 0, "input_3: byte 0: the file ends where '{' is expected"},
        {RONDE_TRACE_KINETO, "{\"a\": }", 0, "byte 6: '}' where a value is expected"},
        {RONDE_TRACE_KINETO, "{\"traceEvents\": [{\"a\": 1", 0, "the end of a value"},
        {RONDE_TRACE_KINETO, "{\"traceEvents\": [1]}", 0, "byte 17: an event that is no object"},
        {RONDE_TRACE_KINETO, "{\"traceEvents\": [{\"a\" 1}]}", 0, "an event that is no object"},
        {RONDE_TRACE_KINETO, "{\"traceEvents\": [{]}]}", 0, "a bracket that closes none"},
        {RONDE_TRACE_KINETO, "[{\"cat\":\"kernel\",\"name\":\"ncclKernel_X\",\"ts\":\"soon\"}]", 0,
         "has no times"},
        {RONDE_TRACE_KINETO, "{\"baseTimeNanoseconds\": -1}", 0, "no time since 1970"},
        {RONDE_TRACE_RECORDER, "{\"entries\": [3]}", 0, "an entry that is no object"},
        {RONDE_TRACE_RECORDER,
         "\x80\x02"
         "cos\nsystem\nX\x02\0\0\0lsR.",
         22, "byte 2: opcode 0x63 is none of plain data"},
        {RONDE_TRACE_RECORDER, "\x80\x02}q\x00", 5, "it was cut off"},
        {RONDE_TRACE_RECORDER, "\x80\x02s.", 4, "takes values that are not there"},
        {RONDE_TRACE_RECORDER,
         "\x80\x02]q\x00h\x00"
         "a.",
         9, "contains itself"},
        {RONDE_TRACE_RECORDER, "\x80\x02X\xff\xff\xff\x7f.", 8, "it was cut off"},
        {RONDE_TRACE_RECORDER, "\x80\x02j\xff\xff\xff\x7f.", 8, "takes values that are not there"},
        {RONDE_TRACE_INSPECTOR, "{}\n{\"coll_perf\": {}}\n", 0,
         "input_3:2: a record without a communicator's id"},
        {RONDE_TRACE_INSPECTOR, "\n{\"a\"\n", 0, "input_3:2: no object of JSON"},
        {RONDE_TRACE_RUNS, "{\"kind\": \"nccl_run\", \"comm\": \"0x1\", \"rank\": -1}\n", 0,
         "input_3:1: a record without a communicator's id, rank and number of ranks; this is read "
         "as "
         "records of ronde's profiler plug-in"},
        {RONDE_TRACE_EXAMPLE, "[{\"cat\": \"COLL\", \"ph\": \"b\", \"args\": {\"CommHash\": 1}}]",
         0, "byte 52: a call, which ends before here, without its rank"},
        {RONDE_TRACE_PROMETHEUS, "nccl_collective_exec_time_microseconds{a=\"b\"} x\n", 0,
         "input_3:1: a metric without"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *refusal = &refusals[i];
        struct ronde_traces traces;
        struct ronde_error error;
        const size_t bytes = refusal->bytes > 0 ? refusal->bytes : strlen(refusal->text);
        const enum ronde_status status =
            read_text(&traces, refusal->format, refusal->text, bytes, &error);
        if (status != RONDE_BAD_INPUT || !strstr(error.message, refusal->says))
            suite_note("%zu: %s", i, error.message);
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, refusal->says));
        ronde_traces_close(&traces);
    }
}

static const char scratch[] = RONDE_SCRATCH_DIR "/traces_test.tmp";

static void write_file(const char *bytes, size_t count)
{
    FILE *file = fopen(scratch, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

/* Reads bytes as a file of lines, all of it. */
static enum ronde_status read_file(const char *bytes, size_t count, struct ronde_error *error)
{
    struct ronde_traces traces;
    write_file(bytes, count);
    *error = (struct ronde_error){0};
    ronde_traces_open(&traces, ronde_mem_default());
    const enum ronde_status status =
        ronde_traces_add(&traces, scratch, RONDE_TRACE_PROMETHEUS, error);
    ronde_traces_close(&traces);
    remove(scratch);
    return status;
}

/* Writes bytes as a file and says what it is. */
static enum ronde_status sniff(const char *bytes, size_t count, enum ronde_trace_format *out,
                               struct ronde_error *error)
{
    write_file(bytes, count);
    *error = (struct ronde_error){0};
    const enum ronde_status status = ronde_trace_sniff(scratch, ronde_mem_default(), out, error);
    remove(scratch);
    return status;
}

static void files_are_told_apart_by_what_is_in_them(void)
{
    static const struct {
        const char *text;
        enum ronde_trace_format format;
    } cases[] = {
        {"{\"schemaVersion\": 1, \"traceEvents\": []}", RONDE_TRACE_KINETO},
        {"[{\"ph\": \"X\"}]", RONDE_TRACE_KINETO},
        {"[\n{\"name\": \"Group API\", \"ph\": \"b\"}", RONDE_TRACE_EXAMPLE},
        {"{\"kind\": \"nccl_run\", \"engine\": \"nccl\"}\n", RONDE_TRACE_RUNS},
        {"{\"kind\": \"nccl_cost\", \"engine\": \"nccl\"}\n", RONDE_TRACE_FORMAT_COUNT},
        {"{\"version\": \"2.10\", \"pg_config\": {}}", RONDE_TRACE_RECORDER},
        {"\x80\x02}.", RONDE_TRACE_RECORDER},
        {"{\"header\": {}}\n", RONDE_TRACE_INSPECTOR},
        {"# HELP nccl_bus_bandwidth_gbs x\n", RONDE_TRACE_PROMETHEUS},
        {"# nThread 1 nGpus 8\n", RONDE_TRACE_FORMAT_COUNT},
        {"", RONDE_TRACE_FORMAT_COUNT},
    };
    enum ronde_trace_format format;
    struct ronde_error error;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL(sniff(cases[i].text, strlen(cases[i].text), &format, &error), RONDE_OK);
        CU_ASSERT_EQUAL(format, cases[i].format);
    }
}

/* Every allocation of reading a file fails once. */
static void sweep(const char *path, void *context)
{
    unsigned *tried = context;
    enum ronde_trace_format format;
    struct ronde_error error = {0};
    enum ronde_status status = RONDE_NO_MEMORY;
    CU_ASSERT_EQUAL(ronde_trace_sniff(path, ronde_mem_default(), &format, &error), RONDE_OK);
    CU_ASSERT_NOT_EQUAL(format, RONDE_TRACE_FORMAT_COUNT);
    for (size_t k = 0; status != RONDE_OK && k < 500; k++) {
        struct heap heap = heap_start(k, k % 2 == 0);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_traces traces;
        error = (struct ronde_error){0};
        ronde_traces_open(&traces, &mem);
        status = ronde_traces_add(&traces, path, format, &error);
        if (status == RONDE_OK)
            status = ronde_traces_join(&traces, &error);
        CU_ASSERT(status == RONDE_OK || status == RONDE_NO_MEMORY);
        ronde_traces_close(&traces);
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    }
    CU_ASSERT_EQUAL(status, RONDE_OK);
    ++*tried;
}

static void a_lack_of_memory_is_survived(void)
{
    unsigned tried = 0;
    CU_ASSERT_EQUAL(files_walk("tests/data/traces", "", sweep, &tried), 19);
    CU_ASSERT_EQUAL(tried, 19);
}

static void gzip_is_decoded_and_checked(void)
{
    char path[600];
    unsigned tried = 0;
    const char *missing = "";
    enum ronde_trace_format format;
    struct ronde_error error;
    static const char gzip[] = GZIP_FIXED;
    char wrong[sizeof gzip - 1];
    if (!ronde_traces_gzip_available(&missing)) {
        CU_ASSERT_EQUAL(read_file(gzip, sizeof gzip - 1, &error), RONDE_UNAVAILABLE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, missing));
        suite_skip("no zlib");
        return;
    }
    memcpy(wrong, gzip, sizeof wrong);
    wrong[sizeof wrong - 7] ^= 1;
    CU_ASSERT_EQUAL(sniff(gzip, sizeof gzip - 1, &format, &error), RONDE_OK);
    CU_ASSERT_EQUAL(read_file(wrong, sizeof wrong, &error), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "byte 21: incorrect data check"));
    CU_ASSERT_EQUAL(read_file(gzip, sizeof gzip - 1, &error), RONDE_OK);
    CU_ASSERT_EQUAL(read_file(gzip, sizeof gzip - 4, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(read_file(gzip, sizeof gzip - 12, &error), RONDE_BAD_INPUT);
    CU_ASSERT(suite_source(path, sizeof path, "docs/examples/dlrm-v100x8/worker0.json.gz"));
    sweep(path, &tried);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"numbers_keep_their_nanoseconds", numbers_keep_their_nanoseconds},
        {"members_and_texts_are_found", members_and_texts_are_found},
        {"names_are_collectives", names_are_collectives},
        {"records_are_found_in_every_way", records_are_found_in_every_way},
        {"members_of_a_coalesced_call_are_summed", members_of_a_coalesced_call_are_summed},
        {"hostile_files_are_refused_with_their_place", hostile_files_are_refused_with_their_place},
        {"files_are_told_apart_by_what_is_in_them", files_are_told_apart_by_what_is_in_them},
        {"gzip_is_decoded_and_checked", gzip_is_decoded_and_checked},
        {"a_lack_of_memory_is_survived", a_lack_of_memory_is_survived},
    };
    return suite_run("traces", cases, sizeof cases / sizeof cases[0]);
}
