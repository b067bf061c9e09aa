/* Text reader, prover and host executor on arbitrary bytes. See target.h. */
#include "fuzz/target.h"

#include "support/buffers.h"
#include "support/heap.h"

#include "ronde/engine.h"

#include <stdio.h>
#include <string.h>

/* What is run: larger schedules are proved only. The sums stay exact up to 16 ranks in every element type. */
#define RANKS_MAX 16u
#define STEPS_MAX 4096u
#define CHANNELS_MAX 8u

/* Images of a launch; a text may ask for 2^24 chunks with a few letters. */
#define IMAGE_BYTES_MAX ((size_t)1 << 20)

/* Memory a text may ask for: beyond it the refusal is NO_MEMORY, and rightly so. */
#define HEAP_BYTES_MAX ((size_t)64 << 20)

/* Launches per accepted text. */
#define LAUNCHES 4u

/* An input under test. */
struct subject {
    struct fuzz_verdict *verdict;
    struct heap heap;
    struct ronde_mem mem;
    struct ronde_schedule *schedule;
    uint64_t random; /* launches are drawn from a hash of the input: the same file, the same runs */
};

/* FNV-1a. */
static uint64_t hash_bytes(const unsigned char *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

static void read_text(struct subject *subject, const char *text, size_t bytes)
{
    struct ronde_error error = {0};
    struct ronde_proof proof;
    const enum ronde_status status = ronde_schedule_read(text, bytes, "input", &subject->mem,
                                                         &proof, &subject->schedule, &error);
    if ((status == RONDE_OK) != (subject->schedule != NULL))
        fuzz_complain(subject->verdict, "status '%s' with%s a schedule", ronde_status_text(status),
                      subject->schedule ? "" : "out");
    if (status == RONDE_OK)
        return;
    const bool is_expected = status == RONDE_BAD_INPUT || status == RONDE_REJECTED ||
                             (status == RONDE_NO_MEMORY && subject->heap.over_limit > 0);
    if (!is_expected || error.status != status || error.message[0] == '\0')
        fuzz_complain(subject->verdict, "refused as '%s' with error '%s' \"%s\"",
                      ronde_status_text(status), ronde_status_text(error.status), error.message);
    if (status == RONDE_REJECTED && proof.ok)
        fuzz_complain(subject->verdict, "rejected (%s), and the proof holds", error.message);
}

/* Whether a printed text reads back as the same schedule and prints as the same text. */
static void check_text(struct subject *subject, const char *text, size_t bytes)
{
    struct ronde_schedule *again = NULL;
    struct ronde_error error = {0};
    char *printed = NULL;
    size_t printed_bytes = 0;
    if (ronde_schedule_read(text, bytes, "printed", ronde_mem_default(), NULL, &again, &error) !=
        RONDE_OK) {
        fuzz_complain(subject->verdict, "its printed form is refused: %s", error.message);
        return;
    }
    if (again->hash != subject->schedule->hash)
        fuzz_complain(subject->verdict, "its printed form has another hash");
    if (ronde_schedule_print(again, ronde_mem_default(), &printed, &printed_bytes, &error) !=
        RONDE_OK)
        fuzz_complain(subject->verdict, "its printed form does not print: %s", error.message);
    else if (printed_bytes != bytes || memcmp(printed, text, bytes) != 0)
        fuzz_complain(subject->verdict, "its printed form prints as another text");
    if (printed)
        ronde_mem_free(ronde_mem_default(), printed, printed_bytes + 1, 1);
    ronde_schedule_destroy(again);
}

static void check_print(struct subject *subject)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_schedule_print(subject->schedule, ronde_mem_default(), &text, &bytes, &error);
    if (status != RONDE_OK) {
        fuzz_complain(subject->verdict, "does not print: %s", error.message);
        return;
    }
    check_text(subject, text, bytes);
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
}

/* What must come out of send_recv, whose pairs only the schedule knows. */
static bool expect_pairs(const struct ronde_schedule *schedule, struct buffers *expected)
{
    struct buffers source;
    if (!buffers_create(&expected->shape, &source))
        return false;
    const size_t bytes = (size_t)expected->shape.count * ronde_dtype_bytes(expected->shape.dtype);
    for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
        const uint32_t from = ronde_schedule_source(schedule, rank);
        if (from != RONDE_NONE && bytes > 0)
            memcpy(expected->out[rank], source.in[from], bytes);
    }
    buffers_destroy(&source);
    return true;
}

/* Memory as it must be after the run; false when there is no memory. */
static bool expect(const struct ronde_schedule *schedule, const struct buffers_shape *shape,
                   struct buffers *out_expected)
{
    if (!buffers_create(shape, out_expected))
        return false;
    const bool is_made = schedule->collective == RONDE_SEND_RECV
                             ? expect_pairs(schedule, out_expected)
                             : buffers_expect(out_expected);
    if (!is_made)
        buffers_destroy(out_expected);
    return is_made;
}

/* A schedule that clobbers may leave anything in its input, and in the rest of shared memory: only outputs count. */
static void forget_the_rest(struct buffers *actual, const struct buffers *expected)
{
    const struct buffers_shape *shape = &actual->shape;
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    const size_t block = (size_t)shape->count * ronde_dtype_bytes(shape->dtype);
    const size_t in = ronde_collective_in_blocks(shape->collective, shape->ranks) * block;
    const size_t out = ronde_collective_out_blocks(shape->collective, shape->ranks) * block;
    const size_t shared = shape->in_place && out > in ? out : in;
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        const size_t start = rank * actual->rank_bytes + actual->in_offset;
        const bool has_output = !traits->out_at_root || rank == shape->root;
        const size_t first = (size_t)((unsigned char *)actual->out[rank] - actual->images);
        for (size_t at = start; at < start + shared; at++)
            if (!has_output || at < first || at >= first + out)
                actual->images[at] = expected->images[at];
    }
}

static void compare(struct subject *subject, struct buffers *actual, const struct buffers *expected)
{
    char text[256];
    if (subject->schedule->clobbers)
        forget_the_rest(actual, expected);
    if (buffers_differ(actual, expected, text, sizeof text))
        fuzz_complain(subject->verdict, "%s, %s, %s of %llu %s: %s",
                      ronde_collective_text(actual->shape.collective),
                      actual->shape.in_place ? "in place" : "out of place",
                      ronde_op_text(actual->shape.op), (unsigned long long)actual->shape.count,
                      ronde_dtype_text(actual->shape.dtype), text);
}

static void run(struct subject *subject, void *self, const struct buffers_shape *shape)
{
    static const uint64_t slots[] = {16, 64, 0};
    struct buffers actual;
    struct buffers expected;
    struct ronde_result result;
    struct ronde_error error = {0};
    uint64_t *random = &subject->random;
    if (!expect(subject->schedule, shape, &expected))
        return;
    if (buffers_create(shape, &actual)) {
        struct ronde_launch launch = buffers_launch(&actual);
        launch.slot_bytes = slots[buffers_draw(random) % 3];
        launch.depth = subject->schedule->proof.min_depth + (uint32_t)(buffers_draw(random) % 2);
        launch.seed = buffers_draw(random);
        if (ronde_backend_run_once(&ronde_backend_host, self, subject->schedule, &launch, &result,
                                   &error) != RONDE_OK)
            fuzz_complain(subject->verdict, "proved, but depth %u, seed %llu: %s", launch.depth,
                          (unsigned long long)launch.seed, error.message);
        else
            compare(subject, &actual, &expected);
        subject->verdict->runs++;
        buffers_destroy(&actual);
    }
    buffers_destroy(&expected);
}

/* Replaces what the collective or the schedule does not have. */
static void settle(const struct ronde_schedule *schedule, struct buffers_shape *shape)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const bool has_data = ronde_collective_in_blocks(shape->collective, shape->ranks) > 0;
    if (!ronde_schedule_has_form(schedule, shape->in_place))
        shape->in_place = !shape->in_place;
    if (!traits->reduces ||
        (schedule->is_unscaled && (shape->op == RONDE_AVG || shape->op == RONDE_PREMUL_SUM)))
        shape->op = RONDE_SUM;
    /* Tables know send_recv as the shift only, are not for schedules in place only, and what is clobbered would have to be
       told from the gaps. */
    if (!has_data || schedule->collective == RONDE_SEND_RECV || schedule->clobbers ||
        !ronde_schedule_has_form(schedule, false))
        shape->blocks = BUFFERS_ADJACENT;
    if (buffers_vary(shape) && schedule->v_form == RONDE_V_NONE)
        shape->blocks = BUFFERS_SEPARATE;
}

/* A launch drawn from the input: both placements in turn, counts around the number of chunks. */
static void run_some(struct subject *subject, void *self)
{
    const struct ronde_schedule *schedule = subject->schedule;
    const uint64_t chunks = (uint64_t)schedule->chunks_per_block * schedule->channel_count;
    uint64_t *random = &subject->random;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        struct buffers_shape shape = {.collective = schedule->collective,
                                      .ranks = schedule->ranks,
                                      .root = schedule->root,
                                      .in_place = i % 2 == 1,
                                      .data = BUFFERS_SMALL};
        shape.dtype = (enum ronde_dtype)(buffers_draw(random) % RONDE_DTYPE_COUNT);
        do
            shape.op = (enum ronde_op)(buffers_draw(random) % RONDE_OP_COUNT);
        while (!reference_is_defined(shape.dtype, shape.op));
        shape.blocks = (enum buffers_blocks)(buffers_draw(random) % BUFFERS_BLOCKS_COUNT);
        shape.seed = buffers_draw(random);
        const uint64_t grain = 16 / ronde_dtype_bytes(shape.dtype);
        const uint64_t most = buffers_draw(random) % 4 == 0 ? 20 : (chunks + 2) * grain * 3;
        shape.count = buffers_draw(random) % most;
        settle(schedule, &shape);
        if (buffers_bytes(&shape) <= IMAGE_BYTES_MAX)
            run(subject, self, &shape);
    }
}

static bool is_small(const struct ronde_schedule *schedule)
{
    return schedule->ranks <= RANKS_MAX && schedule->channel_count <= CHANNELS_MAX &&
           schedule->proof.steps <= STEPS_MAX && schedule->proof.min_depth <= STEPS_MAX;
}

static void use(struct subject *subject)
{
    struct ronde_machine machine;
    void *self;
    subject->verdict->is_accepted = true;
    check_print(subject);
    if (!is_small(subject->schedule))
        return;
    if (ronde_backend_host.probe(&machine, NULL) != RONDE_OK ||
        ronde_backend_host.open(&machine, ronde_mem_default(), &self, NULL) != RONDE_OK) {
        fuzz_complain(subject->verdict, "host does not open");
        return;
    }
    run_some(subject, self);
    ronde_backend_host.close(self);
}

void fuzz_schedule(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct subject subject = {.verdict = out_verdict, .random = hash_bytes(data, bytes)};
    memset(out_verdict, 0, sizeof *out_verdict);
    subject.heap = heap_start(SIZE_MAX, true);
    subject.heap.limit_bytes = HEAP_BYTES_MAX;
    subject.mem = heap_mem(&subject.heap);
    read_text(&subject, (const char *)data, bytes);
    if (subject.schedule)
        use(&subject);
    ronde_schedule_destroy(subject.schedule);
    fuzz_expect_no_leak(subject.verdict, &subject.heap);
}
