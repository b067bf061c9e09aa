/* Traces of torch.profiler: the file as a whole, and one event. See kineto.h. */
#include "kineto.h"

#include "gather.h"

#include <string.h>

/* Intervals of compute that are kept apart until they are united. */
#define MOST_INTERVALS (1u << 20)

/* Times beyond this, a century or two, are none; sums of four have room. */
#define MOST_NS (INT64_MAX / 4)

/* Bytes of a name that decide what it is. */
#define NAME_BYTES 96

/* The members of an event that matter. */
struct event {
    struct pull_span category, name, device, lane, start, duration, arguments;
};

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Members in one walk; false where it is no object. */
static bool take_members(struct pull_span span, struct event *out)
{
    struct pull_walk walk = pull_walk(span);
    struct pull_span key, value;
    *out = (struct event){.name = {NULL, 0}};
    while (walk.is_object && pull_step(&walk, &key, &value)) {
        if (pull_key_is(key, "cat"))
            out->category = value;
        else if (pull_key_is(key, "name"))
            out->name = value;
        else if (pull_key_is(key, "pid"))
            out->device = value;
        else if (pull_key_is(key, "tid"))
            out->lane = value;
        else if (pull_key_is(key, "ts"))
            out->start = value;
        else if (pull_key_is(key, "dur"))
            out->duration = value;
        else if (pull_key_is(key, "args"))
            out->arguments = value;
    }
    return walk.is_object && !walk.is_bad;
}

static struct ronde_trace_process *process_of(const struct kineto *kineto)
{
    return (struct ronde_trace_process *)kineto->traces->processes.items + kineto->process;
}

static bool take_ranks(struct kineto *kineto, struct kineto_group *group, struct pull_span ranks)
{
    return gather_ranks(kineto->source, ranks, &group->ranks, &group->is_cut, group->name,
                        ", which end before here,");
}

/* Numbers as they are, texts by a hash: both tell apart. */
static uint64_t identity_of(struct pull_span span)
{
    int64_t value = 0;
    if (!span.at)
        return RONDE_TRACE_NO_NUMBER;
    return pull_integer(span, &value) ? (uint64_t)value : gather_hash(0, span.at, span.bytes);
}

static uint64_t number_in(struct pull_span arguments, const char *name)
{
    int64_t value = 0;
    return gather_number(pull_member(arguments, name), &value) ? (uint64_t)value
                                                               : RONDE_TRACE_NO_NUMBER;
}

/* A number of 32 bits; 0 where it is not said. */
static uint32_t small_in(struct pull_span arguments, const char *name)
{
    const uint64_t value = number_in(arguments, name);
    return value <= RONDE_MAX_RANKS ? (uint32_t)value : 0;
}

/* Elements: old versions kept 32 bits of them, with a sign. */
static int64_t elements_in(struct pull_span arguments, const char *name)
{
    int64_t value = -1;
    const struct pull_span span = pull_member(arguments, name);
    if (!span.at || !pull_integer(span, &value))
        return -1;
    return value < 0 && value >= INT32_MIN ? value + (INT64_C(1) << 32) : value;
}

/* Start and end in ns; false where the event has none. */
static bool times_of(const struct event *event, int64_t *out_start, int64_t *out_end)
{
    int64_t start = 0, duration = 0;
    if (!event->start.at || !pull_scaled(event->start, 3, &start) || start < 0 || start > MOST_NS)
        return false;
    if (event->duration.at &&
        (!pull_scaled(event->duration, 3, &duration) || duration < 0 || duration > MOST_NS))
        return false;
    *out_start = start;
    *out_end = start + duration;
    return true;
}

/* The group that arguments name, kept once; NONE where they name none. */
static bool find_group(struct kineto *kineto, struct pull_span arguments, uint32_t *out)
{
    const struct pull_span name = pull_member(arguments, "Process Group Name"),
                           ranks = pull_member(arguments, "Process Group Ranks"),
                           start = pull_member(arguments, "Global rank start");
    const uint32_t size = small_in(arguments, "Group size");
    const uint64_t hash = gather_hash(gather_hash(size, name.at, name.bytes), ranks.at, ranks.bytes);
    struct kineto_group *groups = kineto->groups.items;
    uint32_t g = 0;
    *out = RONDE_TRACE_NONE;
    if (!name.at && !ranks.at)
        return true;
    while (g < kineto->groups.count && groups[g].hash != hash)
        g++;
    if (g == kineto->groups.count) {
        struct kineto_group *group =
            ronde_list_push(kineto->traces->mem, &kineto->groups, sizeof *group);
        if (!group)
            return source_no_memory(kineto->source);
        (void)pull_text(name, group->name, sizeof group->name);
        if (!take_ranks(kineto, group, ranks))
            return false;
        group->hash = hash;
        group->size = size;
        group->group = RONDE_TRACE_NONE;
    }
    groups = kineto->groups.items;
    /* Only records of the host have them. */
    if (start.at && groups[g].stride == 0) {
        groups[g].start = small_in(arguments, "Global rank start");
        groups[g].stride = small_in(arguments, "Global rank stride");
    }
    *out = g;
    return true;
}

/* A record out of "Collective name" and what stands beside it. */
static bool add_record(struct kineto *kineto, const struct event *event, struct ronde_list *to)
{
    char name[NAME_BYTES], type[32];
    const struct pull_span arguments = event->arguments;
    struct kineto_record record = {.thread = identity_of(event->lane)};
    if (!find_group(kineto, arguments, &record.group))
        return false;
    (void)pull_text(pull_member(arguments, "Collective name"), name, sizeof name);
    (void)pull_text(pull_member(arguments, "dtype"), type, sizeof type);
    record.collective = name_collective(name, &record.is_call);
    record.external = number_in(arguments, "External id");
    record.sequence = number_in(arguments, "Seq");
    record.in = elements_in(arguments, "In msg nelems");
    record.out = elements_in(arguments, "Out msg nelems");
    record.type_bytes = name_type_bytes(type);
    record.size = small_in(arguments, "Group size");
    (void)times_of(event, &record.start_ns, &record.end_ns);
    return source_keep(kineto->source, to, &record, sizeof record);
}

/* Elements of the first of `Input Dims`; below 0 where it is a list of tensors, whose sizes are left out. */
static int64_t elements_of_dims(struct pull_span arguments)
{
    struct pull_walk walk = pull_walk(pull_item(pull_member(arguments, "Input Dims"), 0));
    struct pull_span key, value;
    int64_t elements = 1, dim = 0;
    bool is_any = false;
    while (pull_step(&walk, &key, &value)) {
        if (!pull_integer(value, &dim) || dim < 0 || (dim > 0 && elements > INT64_MAX / 2 / dim))
            return -1;
        elements *= dim;
        is_any = true;
    }
    return is_any && !walk.is_bad ? elements : -1;
}

/* nccl:all_reduce of a host's thread: what was called there, with the shape of its first tensor. */
static bool add_annotation(struct kineto *kineto, const struct event *event, const char *name)
{
    char type[32];
    struct kineto_record record = {.external = number_in(event->arguments, "External id"),
                                   .thread = identity_of(event->lane),
                                   .sequence = RONDE_TRACE_NO_NUMBER,
                                   .in = elements_of_dims(event->arguments),
                                   .out = -1,
                                   .group = RONDE_TRACE_NONE};
    (void)pull_text(pull_item(pull_member(event->arguments, "Input type"), 0), type, sizeof type);
    record.collective = name_collective(name, &record.is_call);
    record.type_bytes = name_type_bytes(type);
    (void)times_of(event, &record.start_ns, &record.end_ns);
    return source_keep(kineto->source, &kineto->annotations, &record, sizeof record);
}

static bool add_step(struct kineto *kineto, const struct event *event, const char *name)
{
    struct kineto_step step = {.number = 0};
    for (const char *at = name + strlen("ProfilerStep#"); *at >= '0' && *at <= '9'; at++)
        if (step.number < RONDE_TRACE_NONE / 20)
            step.number = step.number * 10 + (uint32_t)(*at - '0');
    return !times_of(event, &step.start_ns, &step.end_ns) ||
           source_keep(kineto->source, &kineto->steps, &step, sizeof step);
}

static bool add_launch(struct kineto *kineto, const struct event *event, const char *name)
{
    int64_t end = 0;
    struct kineto_launch launch = {.correlation = number_in(event->arguments, "correlation"),
                                   .external = number_in(event->arguments, "External id"),
                                   .thread = identity_of(event->lane),
                                   .is_graph = strstr(name, "GraphLaunch") != NULL};
    return launch.correlation == RONDE_TRACE_NO_NUMBER || !times_of(event, &launch.start_ns, &end) ||
           source_keep(kineto->source, &kineto->launches, &launch, sizeof launch);
}

static bool add_computing(struct kineto *kineto, const struct event *event)
{
    struct kineto_interval interval;
    if (!times_of(event, &interval.start_ns, &interval.end_ns))
        return true;
    if (kineto->computing.count >= MOST_INTERVALS && kineto->computing.count % MOST_INTERVALS == 0)
        kineto_unite(&kineto->computing);
    return source_keep(kineto->source, &kineto->computing, &interval, sizeof interval);
}

static bool add_kernel(struct kineto *kineto, const struct event *event)
{
    struct kineto_kernel kernel = {.device = identity_of(event->device),
                                   .lane = identity_of(event->lane),
                                   .correlation = number_in(event->arguments, "correlation"),
                                   .external = number_in(event->arguments, "External id"),
                                   .name = gather_hash(0, event->name.at, event->name.bytes),
                                   .record = RONDE_TRACE_NONE};
    if (!times_of(event, &kernel.start_ns, &kernel.end_ns))
        return source_refuse(kineto->source,
                             "the kernel that ends here has no times: \"ts\" and \"dur\" are to be "
                             "microseconds");
    if (pull_member(event->arguments, "Collective name").at) {
        if (!add_record(kineto, event, &kineto->records))
            return false;
        kernel.record = kineto->records.count - 1;
    }
    return source_keep(kineto->source, &kineto->kernels, &kernel, sizeof kernel);
}

/* What NCCL's and RCCL's kernels are called: up to 2.18, since 2.19, symmetric ones. */
static bool is_collective_kernel(const char *name)
{
    return starts(name, "ncclKernel") || starts(name, "ncclDevKernel") ||
           starts(name, "ncclSymDevKernel") || starts(name, "ncclSymk") ||
           strstr(name, "ncclDevKernel") != NULL;
}

static bool on_host(struct kineto *kineto, const struct event *event, const char *name)
{
    if (starts(name, "record_param_comms"))
        return !pull_member(event->arguments, "Collective name").at ||
               add_record(kineto, event, &kineto->host);
    if (starts(name, "gloo:"))
        kineto->is_gloo = true;
    if (starts(name, "nccl:") || starts(name, "gloo:"))
        return add_annotation(kineto, event, name);
    return !starts(name, "ProfilerStep#") || add_step(kineto, event, name);
}

/* One event. */
static bool take_event(void *self, struct pull_span span)
{
    struct kineto *kineto = self;
    struct event event;
    char name[NAME_BYTES];
    if (!take_members(span, &event)) {
        kineto->source->at -= span.bytes;
        return source_refuse(kineto->source, "an event that is no object of JSON");
    }
    const bool is_on_device =
        pull_is(event.category, "kernel") || pull_is(event.category, "Kernel");
    const bool is_on_host = pull_is(event.category, "cpu_op") ||
                            pull_is(event.category, "user_annotation") ||
                            pull_is(event.category, "Operator");
    if (!is_on_device && !is_on_host && !pull_is(event.category, "cuda_runtime") &&
        !pull_is(event.category, "cuda_driver") && !pull_is(event.category, "Runtime") &&
        !pull_is(event.category, "hip_runtime"))
        return true;
    (void)pull_text(event.name, name, sizeof name);
    if (is_on_device)
        return is_collective_kernel(name) ? add_kernel(kineto, &event)
                                          : add_computing(kineto, &event);
    return is_on_host ? on_host(kineto, &event, name)
                      : !strstr(name, "Launch") || add_launch(kineto, &event, name);
}

/* Traces of torch.profiler: the file as a whole. */

static uint32_t number_of(struct pull_span span)
{
    int64_t value = 0;
    return gather_number(span, &value) && value < RONDE_MAX_RANKS ? (uint32_t)value
                                                                  : RONDE_TRACE_NONE;
}

/* A group of pg_config: {pg_name, pg_size, ranks} and others. */
static bool add_config(struct kineto *kineto, struct pull_span item)
{
    struct kineto_group *group =
        ronde_list_push(kineto->traces->mem, &kineto->config, sizeof *group);
    if (!group)
        return source_no_memory(kineto->source);
    const uint32_t size = number_of(pull_member(item, "pg_size"));
    (void)pull_text(pull_member(item, "pg_name"), group->name, sizeof group->name);
    group->size = size != RONDE_TRACE_NONE ? size : 0;
    return take_ranks(kineto, group, pull_member(item, "ranks"));
}

static bool take_distributed(struct kineto *kineto, struct pull_span info)
{
    struct ronde_trace_process *process = process_of(kineto);
    struct pull_walk walk = pull_walk(pull_member(info, "pg_config"));
    struct pull_span key, item;
    process->rank = number_of(pull_member(info, "rank"));
    const uint32_t world = number_of(pull_member(info, "world_size"));
    process->world = world == RONDE_TRACE_NONE ? 0 : world;
    while (!walk.is_object && pull_step(&walk, &key, &item))
        if (!add_config(kineto, item))
            return false;
    return true;
}

/* One member of the file's object. */
static bool read_member(struct kineto *kineto, const char *key)
{
    struct pull_span value;
    if (strcmp(key, "traceEvents") == 0)
        return pull_items(kineto->source, take_event, kineto);
    if (!pull_take(kineto->source, &value))
        return false;
    if (strcmp(key, "distributedInfo") == 0)
        return take_distributed(kineto, value);
    /* What times count from. */
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        return (pull_integer(value, &kineto->base_ns) && kineto->base_ns >= 0 &&
                kineto->base_ns <= MOST_NS) ||
               source_refuse(kineto->source,
                             "baseTimeNanoseconds, which ends here, is no time since 1970");
    if (strcmp(key, "host_name") == 0) {
        struct ronde_trace_process *process = process_of(kineto);
        process->has_host = pull_text(value, process->host, sizeof process->host);
    }
    return true;
}

static bool read_object(struct kineto *kineto)
{
    bool is_first = true;
    char key[32];
    if (!pull_expect(kineto->source, '{'))
        return false;
    while (pull_next_key(kineto->source, &is_first, key, sizeof key))
        if (!read_member(kineto, key))
            return false;
    return kineto->source->status == RONDE_OK;
}

static void free_groups(struct kineto *kineto, struct ronde_list *groups)
{
    struct kineto_group *items = groups->items;
    for (uint32_t g = 0; g < groups->count; g++)
        ronde_list_free(kineto->traces->mem, &items[g].ranks, sizeof(uint32_t));
    ronde_list_free(kineto->traces->mem, groups, sizeof *items);
}

static void close_kineto(struct kineto *kineto)
{
    const struct ronde_mem *mem = kineto->traces->mem;
    free_groups(kineto, &kineto->groups);
    free_groups(kineto, &kineto->config);
    ronde_list_free(mem, &kineto->records, sizeof(struct kineto_record));
    ronde_list_free(mem, &kineto->host, sizeof(struct kineto_record));
    ronde_list_free(mem, &kineto->annotations, sizeof(struct kineto_record));
    ronde_list_free(mem, &kineto->launches, sizeof(struct kineto_launch));
    ronde_list_free(mem, &kineto->kernels, sizeof(struct kineto_kernel));
    ronde_list_free(mem, &kineto->computing, sizeof(struct kineto_interval));
    ronde_list_free(mem, &kineto->steps, sizeof(struct kineto_step));
}

bool kineto_read(struct source *source, struct ronde_traces *traces)
{
    struct kineto kineto = {.source = source, .traces = traces};
    if (!gather_process(traces, RONDE_TRACE_KINETO, source->path, &kineto.process))
        return source_no_memory(source);
    const bool is_read = (pull_peek(source) == '[' ? pull_items(source, take_event, &kineto)
                                                   : read_object(&kineto)) &&
                         pull_end(source) && kineto_join(&kineto);
    close_kineto(&kineto);
    return is_read;
}
