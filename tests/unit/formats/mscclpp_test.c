/** MSCCL++ plans: what each operation means, which are wrong, which have no counterpart, and ours as plans. */
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/checked.h"

#include "ronde/mscclpp.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 8192

/* What came of a plan. */
struct outcome {
    struct ronde_proof proof;
    struct ronde_schedule *schedule;
    struct ronde_error error;
    enum ronde_status status;
};

static struct outcome read_text(const char *text)
{
    struct outcome outcome = {.schedule = NULL};
    outcome.status = ronde_mscclpp_read(text, strlen(text), "f", ronde_mem_default(),
                                        &outcome.proof, &outcome.schedule, &outcome.error);
    CU_ASSERT_EQUAL(outcome.schedule != NULL, outcome.status == RONDE_OK);
    return outcome;
}

/* Visibly, once a test. */
static bool is_missing(void)
{
    const char *reason;
    if (ronde_mscclpp_available(&reason))
        return false;
    suite_skip("no MSCCL++ plan can be read: %s", reason);
    return true;
}

/* --- two ranks that do alike ----------------------------------------------------------------- */

#define CHANNELS "\"channels\":[{\"channel_type\":\"memory\",\"channel_ids\":[0]}]"
#define REFS                                                                                       \
    "\"remote_buffer_refs\":[{\"access_channel_type\":\"memory\",\"remote_buffer_ids\":[0,1,2]}]"
#define REMOTE(rank, kind)                                                                         \
    "{\"rank\":" rank ",\"type\":\"" kind "\",\"access_channel_types\":[\"memory\"]}"
#define ENDS(rank)                                                                                 \
    "\"channels\":[{\"channel_type\":\"memory\",\"connected_to\":[" rank "]}],\"remote_buffers\":" \
    "[" REMOTE(rank, "i") "," REMOTE(rank, "o") "," REMOTE(rank, "s") "],\"semaphores\":[{"        \
                                                                      "\"init_value\":0}]"

#define CH ",\"channel_ids\":[0],\"channel_type\":\"memory\"}"
#define SIGNAL "{\"name\":\"signal\"" CH
#define WAIT "{\"name\":\"wait\"" CH
#define NOP "{\"name\":\"nop\"}"
#define AT(kind, index) "{\"type\":\"" kind "\",\"index\":" index ",\"size\":1}"
#define THERE(id, index) "{\"buffer_id\":" id ",\"index\":" index ",\"size\":1}"
#define OP(name, sources, targets)                                                                 \
    "{\"name\":\"" name "\",\"src_buff\":[" sources "],\"dst_buff\":[" targets "]" CH

/* A plan of two ranks with a threadblock each: the same operations, or those of rank 1. */
static void write_plan(char *text, const char *collective, const char *sizes, const char *in_place,
                       const char *ops0, const char *ops1)
{
    (void)snprintf(text, TEXT_BYTES,
                   "{\"name\":\"try\",\"collective\":\"%s\",\"protocol\":\"Simple\",\"inplace\":%s,"
                   "\"max_message_size\":18446744073709551615,\"gpus\":["
                   "{\"id\":0,%s,\"threadblocks\":[{\"id\":0,\"ops\":[%s]," CHANNELS "," REFS
                   "}]," ENDS("1") "},"
                                   "{\"id\":1,%s,\"threadblocks\":[{\"id\":0,\"ops\":[%s]," CHANNELS
                                   "," REFS "}]," ENDS("0") "}]}",
                   collective, in_place, sizes, ops0, sizes, ops1);
}

#define ONE "\"input_chunks\":1,\"output_chunks\":1,\"scratch_chunks\":2"
#define GATHER "\"input_chunks\":1,\"output_chunks\":2,\"scratch_chunks\":2"

/* Puts its input into the other's scratch, adds what came. */
#define PUT_ADD                                                                                    \
    OP("put", AT("i", "0"), THERE("2", "0"))                                                       \
    "," NOP "," SIGNAL "," WAIT "," NOP "," OP("re", AT("i", "0") "," AT("s", "0"), AT("o", "0"))
#define READ_ADD                                                                                   \
    SIGNAL "," WAIT "," OP("rre", AT("i", "0") "," THERE("0", "0"), AT("o", "0")) "," SIGNAL       \
                                                                                  "," WAIT
#define PACKET_ADD                                                                                 \
    OP("ppkt", AT("i", "0"), THERE("2", "0"))                                                      \
    "," OP("repkt", AT("i", "0") "," AT("s", "0"), AT("o", "0"))

static void plans_mean_what_their_operations_do(void)
{
    static const struct {
        const char *collective, *sizes, *ops0, *ops1;
        enum ronde_collective meant;
        uint64_t messages;
    } rows[] = {
        {"allreduce", ONE, PUT_ADD, PUT_ADD, RONDE_ALL_REDUCE, 2},
        {"allreduce", ONE, READ_ADD, READ_ADD, RONDE_ALL_REDUCE, 2},
        {"allreduce", ONE, PACKET_ADD, PACKET_ADD, RONDE_ALL_REDUCE, 2},
        {"allgather", GATHER,
         OP("put", AT("i", "0"), THERE("1", "0")) "," OP("copy", AT("i", "0"),
                                                         AT("o", "0")) "," NOP "," SIGNAL "," WAIT,
         OP("put", AT("i", "0"), THERE("1", "1")) "," OP("copy", AT("i", "0"),
                                                         AT("o", "1")) "," NOP "," SIGNAL "," WAIT,
         RONDE_ALL_GATHER, 2},
        {"allgather", GATHER,
         SIGNAL "," WAIT "," OP("get", THERE("0", "0"), AT("o", "1")) "," OP("copy", AT("i", "0"),
                                                                             AT("o", "0")),
         SIGNAL "," WAIT "," OP("get", THERE("0", "0"), AT("o", "0")) "," OP("copy", AT("i", "0"),
                                                                             AT("o", "1")),
         RONDE_ALL_GATHER, 2},
        /* Rank 0 reduces and sends the sum back as packets. */
        {"allreduce", ONE,
         OP("respkt", AT("i", "0") "," AT("s", "0"), AT("o", "0") "," THERE("2", "1")),
         OP("ppkt", AT("i", "0"), THERE("2", "0")) "," OP("upkt", AT("s", "1"), AT("o", "0")),
         RONDE_ALL_REDUCE, 2},
        /* The same by put with signal and by a sum that is sent on. */
        {"allreduce", ONE,
         WAIT "," OP("res", AT("i", "0") "," AT("s", "0"),
                     AT("o", "0") "," THERE("2", "1")) "," NOP "," SIGNAL,
         OP("pws", AT("i", "0"), THERE("2", "0")) "," WAIT "," OP("copy", AT("s", "1"), AT("o", "0")),
         RONDE_ALL_REDUCE, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !is_missing(); i++) {
        char text[TEXT_BYTES];
        write_plan(text, rows[i].collective, rows[i].sizes, "false", rows[i].ops0, rows[i].ops1);
        CU_ASSERT(ronde_mscclpp_is(text, strlen(text)));
        struct outcome outcome = read_text(text);
        CU_ASSERT_EQUAL(outcome.status, RONDE_OK);
        if (outcome.status != RONDE_OK) {
            suite_note("row %zu: %s", i, outcome.error.message);
            continue;
        }
        CU_ASSERT_EQUAL(outcome.schedule->collective, rows[i].meant);
        CU_ASSERT_EQUAL(outcome.proof.messages, rows[i].messages);
        checked_run("host", outcome.schedule, RONDE_SUM);
        checked_run("cpu", outcome.schedule, RONDE_SUM);
        ronde_schedule_destroy(outcome.schedule);
    }
}

/* --- what is wrong --------------------------------------------------------------------------- */

static void faults_are_found_where_they_are(void)
{
    static const struct {
        const char *ops0, *ops1;
        enum ronde_status status;
        const char *message;
    } rows[] = {
        /* In place: what the other still reads is overwritten. */
        {SIGNAL "," WAIT "," OP("rre", AT("i", "0") "," THERE("0", "0"), AT("i", "0")),
         SIGNAL "," WAIT "," OP("rre", AT("i", "0") "," THERE("0", "0"), AT("i", "0")),
         RONDE_REJECTED, "f: gpu 0 threadblock 0 op 2: race: on chunk 0 of gpu 0 with gpu 1 "},
        {WAIT "," SIGNAL, WAIT "," SIGNAL, RONDE_REJECTED,
         "f: gpu 0 threadblock 0 op 0: cycle: never runs"},
        {WAIT, NOP, RONDE_REJECTED,
         "f: gpu 0 threadblock 0 op 0: cycle: waits for a signal of gpu 1 that is never given"},
        {OP("put", AT("i", "1"), THERE("2", "0")) "," SIGNAL, WAIT, RONDE_REJECTED,
         "f: gpu 0 threadblock 0 op 0: bounds: i[1+1] of 1 chunks of gpu 0"},
        {OP("upkt", AT("s", "0"), AT("o", "0")), NOP, RONDE_REJECTED,
         "f: gpu 0 threadblock 0 op 0: cycle: waits for packets in s[0+1], of which some never"},
        {PUT_ADD, OP("put", AT("i", "0"), THERE("2", "0")) "," NOP "," SIGNAL "," WAIT "," NOP,
         RONDE_REJECTED, "f: wrong_value: rank 1 chunk 0: "},
        {OP("put", AT("i", "0"), THERE("2", "0")), NOP, RONDE_UNSUPPORTED,
         "f: gpu 0 threadblock 0 op 0: no signal of this threadblock behind the put"},
        {OP("rre", AT("i", "0") "," THERE("0", "0"), AT("o", "0")), NOP, RONDE_UNSUPPORTED,
         "f: gpu 0 threadblock 0 op 0: no wait of this threadblock before the read"},
        {"{\"name\":\"glres\"}", NOP, RONDE_UNSUPPORTED,
         "f: gpu 0 threadblock 0 op 0: glres: a switch reduces"},
        {"{\"name\":\"sem_acquire\",\"semaphore_ids\":[0]}", NOP, RONDE_REJECTED,
         "f: gpu 0 threadblock 0 op 0: cycle: acquires semaphore 0 more often"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !is_missing(); i++) {
        char text[TEXT_BYTES];
        write_plan(text, "allreduce", ONE, i == 0 ? "true" : "false", rows[i].ops0, rows[i].ops1);
        struct outcome outcome = read_text(text);
        CU_ASSERT_EQUAL(outcome.status, rows[i].status);
        CU_ASSERT_EQUAL(strncmp(outcome.error.message, rows[i].message, strlen(rows[i].message)), 0);
        if (strncmp(outcome.error.message, rows[i].message, strlen(rows[i].message)) != 0)
            suite_note("row %zu: \"%s\"", i, outcome.error.message);
        ronde_schedule_destroy(outcome.schedule);
    }
}

static void malformed_plans_are_refused(void)
{
    static const struct {
        const char *text, *message;
        enum ronde_status status;
    } rows[] = {
        {"{\n\"name\": }", "f:2: not well-formed JSON: ", RONDE_BAD_INPUT},
        {"{}", "f: collective is '', expected allreduce", RONDE_BAD_INPUT},
        {"{\"collective\":\"broadcast\"}", "f: collective is 'broadcast', expected",
         RONDE_UNSUPPORTED},
        {"{\"collective\":\"allreduce\"}", "f: gpus is no list of 1 to 4096", RONDE_BAD_INPUT},
        {"{\"collective\":\"alltoall\",\"inplace\":true}", "f: all_to_all has no form in place",
         RONDE_UNSUPPORTED},
        {"{\"collective\":\"allreduce\",\"gpus\":[{\"id\":1}]}", "f: gpu 0: id 1 where 0 is due",
         RONDE_BAD_INPUT},
        {"{\"collective\":\"allreduce\",\"gpus\":[{\"id\":0}]}",
         "f: gpu 0: input_chunks is no number", RONDE_BAD_INPUT},
        {"{\"collective\":\"allreduce\",\"gpus\":[{\"id\":0,\"input_chunks\":1,"
         "\"output_chunks\":1,\"scratch_chunks\":0}]}",
         "f: gpu 0: no list of threadblocks", RONDE_BAD_INPUT},
        {"{\"collective\":\"allreduce\",\"gpus\":[{\"id\":0,\"input_chunks\":1,"
         "\"output_chunks\":1,\"scratch_chunks\":0,\"threadblocks\":[{\"id\":0,\"ops\":[{"
         "\"name\":\"fly\"}]}]}]}",
         "f: gpu 0 threadblock 0 op 0: operation 'fly' is none", RONDE_BAD_INPUT},
        {"{\"collective\":\"allreduce\",\"gpus\":[{\"id\":0,\"input_chunks\":1,"
         "\"output_chunks\":2,\"scratch_chunks\":0,\"threadblocks\":[]}]}",
         "f: gpu 0: 1 input and 2 output chunks", RONDE_BAD_INPUT},
        {"{\"collective\":\"allreduce\",\"gpus\":[{\"id\":0,\"input_chunks\":1,"
         "\"output_chunks\":1,\"scratch_chunks\":0,\"threadblocks\":[{\"id\":0,\"ops\":[" SIGNAL
         "]}]}]}",
         "f: gpu 0 threadblock 0 op 0: channel 0 is none", RONDE_BAD_INPUT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !is_missing(); i++) {
        struct outcome outcome = read_text(rows[i].text);
        CU_ASSERT_EQUAL(outcome.status, rows[i].status);
        CU_ASSERT_EQUAL(strncmp(outcome.error.message, rows[i].message, strlen(rows[i].message)), 0);
        if (strncmp(outcome.error.message, rows[i].message, strlen(rows[i].message)) != 0)
            suite_note("row %zu: \"%s\"", i, outcome.error.message);
        ronde_schedule_destroy(outcome.schedule);
    }
    CU_ASSERT(!ronde_mscclpp_is("ronde 1\n", 8));
    CU_ASSERT(!ronde_mscclpp_is("<algo/>", 7));
}

/* --- ours as plans --------------------------------------------------------------------------- */

/* Whether it went out; what came back is run where that is quick. */
static bool go_out_and_back(const struct ronde_schedule *before, bool is_run)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_error error = {0};
    struct ronde_schedule *after = NULL;
    const enum ronde_status status =
        ronde_mscclpp_print(before, ronde_mem_default(), &text, &bytes, &error);
    CU_ASSERT(status == RONDE_OK || status == RONDE_UNSUPPORTED);
    CU_ASSERT_EQUAL(text != NULL, status == RONDE_OK);
    if (status != RONDE_OK && status != RONDE_UNSUPPORTED)
        suite_note("%s", error.message);
    if (!text)
        return false;
    CU_ASSERT_EQUAL(ronde_mscclpp_read(text, bytes, "f", ronde_mem_default(), NULL, &after, &error),
                    RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(after);
    CU_ASSERT_EQUAL(after->collective, before->collective);
    CU_ASSERT_EQUAL(after->ranks, before->ranks);
    CU_ASSERT(after->proof.messages >= before->proof.messages * before->channel_count);
    if (is_run)
        checked_run("host", after, RONDE_SUM);
    ronde_schedule_destroy(after);
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
    return true;
}

static void every_algorithm_goes_out_and_back(void)
{
    uint32_t count = 0;
    unsigned written = 0, refused = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count && !is_missing(); a++)
        for (uint32_t ranks = 2; ranks <= (suite_is_sample() ? 4u : 8u); ranks++) {
            const struct ronde_compile_request request = {.collective = all[a]->collective,
                                                          .algorithm = all[a]->name,
                                                          .ranks = ranks};
            struct ronde_schedule *before = NULL;
            (void)!ronde_compile(&request, ronde_mem_default(), NULL, &before, NULL);
            if (!before)
                continue;
            const bool has_one = before->collective == RONDE_ALL_REDUCE ||
                                 before->collective == RONDE_ALL_GATHER ||
                                 before->collective == RONDE_REDUCE_SCATTER ||
                                 before->collective == RONDE_ALL_TO_ALL;
            const bool is_out = go_out_and_back(before, ranks <= 4);
            CU_ASSERT(!is_out || has_one);
            CU_ASSERT(is_out || !has_one || ranks > 4);
            written += is_out;
            refused += !is_out;
            ronde_schedule_destroy(before);
        }
    if (written > 0)
        suite_note("%u written, %u refused", written, refused);
}

/* --- memory ---------------------------------------------------------------------------------- */

static enum ronde_status read_once(const void *context, const struct ronde_mem *mem,
                                   struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    const char *text = context;
    const enum ronde_status status =
        ronde_mscclpp_read(text, strlen(text), "f", mem, NULL, &schedule, error);
    CU_ASSERT_EQUAL(schedule != NULL, status == RONDE_OK);
    ronde_schedule_destroy(schedule);
    return status;
}

static enum ronde_status print_once(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    const enum ronde_status status = ronde_mscclpp_print(context, mem, &text, &bytes, error);
    CU_ASSERT_EQUAL(text != NULL, status == RONDE_OK);
    if (text)
        ronde_mem_free(mem, text, bytes + 1, 1);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    char text[TEXT_BYTES];
    const struct ronde_compile_request request = {.collective = RONDE_ALL_GATHER,
                                                  .algorithm = "ring",
                                                  .ranks = 2};
    struct ronde_schedule *schedule = NULL;
    if (is_missing())
        return;
    write_plan(text, "allreduce", ONE, "false", PUT_ADD, PUT_ADD);
    const struct sweep reading = {"read", read_once, text};
    CU_ASSERT(sweep_run(&reading) > 0);
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL), RONDE_OK);
    const struct sweep printing = {"print", print_once, schedule};
    CU_ASSERT(sweep_run(&printing) > 0);
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"plans_mean_what_their_operations_do", plans_mean_what_their_operations_do},
        {"faults_are_found_where_they_are", faults_are_found_where_they_are},
        {"malformed_plans_are_refused", malformed_plans_are_refused},
        {"every_algorithm_goes_out_and_back", every_algorithm_goes_out_and_back},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
    };
    return suite_run("mscclpp", cases, sizeof cases / sizeof cases[0]);
}
