/*
 * Traces of NCCL's example profiler: an array of events in pairs, "b" and "e", of which a call has its channels within its own.
 * Ids come again when their pool does, and times of events are of the thread that enqueues: a call's duration is that of its
 * channels, by the GPU's clock, from the first one's start to the last end that was seen.
 */
#include "gather.h"

/* A reader, and the call whose events are read. */
struct example {
    struct source *source;
    struct ronde_traces *traces;
    uint32_t process;
    uint32_t call;             /* index; NONE */
    int64_t start_ns, stop_ns; /* of its channels; NO_TIME */
};

/* Its communicator, whose size the files do not say. */
static bool find_group(struct example *example, struct pull_span args, uint32_t *out)
{
    const struct pull_span hash = pull_member(args, "CommHash");
    int64_t rank = 0;
    *out = RONDE_TRACE_NONE;
    if (!hash.at)
        return true;
    if (!gather_number(pull_member(args, "Rank"), &rank) || rank >= RONDE_MAX_RANKS)
        return source_refuse(
            example->source,
            "a call, which ends before here, without its rank in the communicator");
    *out = gather_group_of_key(example->traces, gather_hash(0, hash.at, hash.bytes), 0);
    return (*out != RONDE_TRACE_NONE &&
            gather_member(example->traces, *out, (uint32_t)rank, example->process)) ||
           source_no_memory(example->source);
}

/* What a call says of itself. Without the size of its communicator the bytes of some are not known. */
static bool begin_call(struct example *example, struct pull_span event, bool is_pair)
{
    const struct pull_span args = pull_member(event, "args");
    char text[48];
    bool is_call = false;
    uint32_t group = RONDE_TRACE_NONE;
    int64_t count = -1, sequence = -1;
    if (!find_group(example, args, &group))
        return false;
    struct ronde_trace_call *call = gather_call(example->traces, example->process);
    if (!call)
        return source_no_memory(example->source);
    example->call = example->traces->calls.count - 1;
    example->start_ns = example->stop_ns = RONDE_TRACE_NO_TIME;
    (void)pull_text(pull_member(event, "name"), text, sizeof text);
    call->collective = name_collective(text, &is_call);
    call->group = is_pair ? RONDE_TRACE_NONE : group;
    if (!is_pair && gather_number(pull_member(args, "SeqNum"), &sequence))
        call->sequence = (uint64_t)sequence;
    (void)pull_text(pull_member(args, "Datatype"), text, sizeof text);
    const bool is_part = call->collective == RONDE_ALL_GATHER ||
                         call->collective == RONDE_REDUCE_SCATTER ||
                         call->collective == RONDE_ALL_TO_ALL || call->collective == RONDE_GATHER ||
                         call->collective == RONDE_SCATTER;
    const uint32_t bytes = name_type_bytes(text);
    if (gather_number(pull_member(args, "Count"), &count) && bytes > 0 && count <= INT64_MAX / 16)
        *(is_part ? &call->in_bytes : &call->bytes) = (uint64_t)count * bytes;
    if (is_part)
        gather_remark(
            example->traces,
            "NCCL's example profiler does not say how many ranks a communicator has: sizes "
            "of calls in which each rank has a part are not known");
    return true;
}

/* A channel of the call; an end of 0 was not seen. */
static void add_channel(struct example *example, struct pull_span args)
{
    int64_t start = 0, stop = 0;
    if (gather_number(pull_member(args, "StartGpuClk"), &start) && start > 0 &&
        (example->start_ns == RONDE_TRACE_NO_TIME || start < example->start_ns))
        example->start_ns = start;
    if (gather_number(pull_member(args, "StopGpuClk"), &stop) && stop > example->stop_ns && stop > 0)
        example->stop_ns = stop;
}

static void end_call(struct example *example)
{
    struct ronde_trace_call *calls = example->traces->calls.items;
    if (example->call == RONDE_TRACE_NONE)
        return;
    struct ronde_trace_call *call = calls + example->call;
    call->start_ns = example->start_ns;
    if (example->start_ns != RONDE_TRACE_NO_TIME && example->stop_ns >= example->start_ns)
        call->duration_ns = example->stop_ns - example->start_ns;
    example->call = RONDE_TRACE_NONE;
}

static bool take_event(void *self, struct pull_span event)
{
    struct example *example = self;
    const struct pull_span kind = pull_member(event, "cat");
    const bool begins = pull_is(pull_member(event, "ph"), "b");
    const bool is_pair = pull_is(kind, "P2P");
    if (is_pair || pull_is(kind, "COLL")) {
        end_call(example);
        return !begins || begin_call(example, event, is_pair);
    }
    if (begins && example->call != RONDE_TRACE_NONE && pull_is(kind, "GPU"))
        add_channel(example, pull_member(event, "args"));
    return true;
}

bool example_read(struct source *source, struct ronde_traces *traces)
{
    struct example example = {.source = source, .traces = traces, .call = RONDE_TRACE_NONE};
    if (!gather_process(traces, RONDE_TRACE_EXAMPLE, source->path, &example.process))
        return source_no_memory(source);
    const bool is_read = pull_items(source, take_event, &example);
    end_call(&example);
    return is_read && pull_end(source);
}
