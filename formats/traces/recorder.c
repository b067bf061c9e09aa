/*
 * Dumps of torch's flight recorder: JSON, or a pickle that is first written as such (pickle.h). A call's time is duration_ms, of
 * events on the GPU; when the watchdog discovered its start and end says nothing of how long it took.
 */
#include "gather.h"
#include "json_pull.h"
#include "pickle.h"

#include <string.h>

/* A group of pg_config, and of an entry. */
struct named_group {
    char name[64];
    struct ronde_list ranks; /* of uint32_t */
};

/* A call whose group waits for pg_config, which may come behind the entries. */
struct entry {
    uint64_t group;    /* a hash of its name */
    uint32_t call;     /* index */
    uint32_t standing; /* index; NONE */
    char name[64];
};

/* How far a group's calls have come: by pg_status and by the entries. Below 0: not said. */
struct standing {
    int64_t id; /* pg_id */
    uint32_t group;
    int64_t enqueued, started, completed;
};

struct recorder {
    struct source *source;
    struct ronde_traces *traces;
    uint32_t process;
    struct ronde_list groups;    /* of struct named_group */
    struct ronde_list entries;   /* of struct entry */
    struct ronde_list standings; /* of struct standing */
    uint32_t timed, ended;       /* entries with a duration, entries that are over */
};

static bool read_config(struct recorder *recorder, struct pull_span config)
{
    struct pull_walk walk = pull_walk(config);
    struct pull_span key, value;
    while (pull_step(&walk, &key, &value)) {
        struct named_group *group =
            ronde_list_push(recorder->traces->mem, &recorder->groups, sizeof *group);
        bool is_cut = false;
        if (!group)
            return source_no_memory(recorder->source);
        (void)pull_text(pull_member(value, "name"), group->name, sizeof group->name);
        if (!gather_ranks(recorder->source, pull_member(value, "ranks"), &group->ranks, &is_cut,
                          group->name, " in pg_config"))
            return false;
    }
    return true;
}

/* The group of such a name in pg_config; NULL where it says none. */
static struct named_group *named(const struct recorder *recorder, const char *name)
{
    struct named_group *groups = recorder->groups.items;
    for (uint32_t g = 0; name[0] && g < recorder->groups.count; g++)
        if (strcmp(groups[g].name, name) == 0)
            return &groups[g];
    return NULL;
}

/* The standing of a group by its pg_id; NONE without memory, which is refused. */
static uint32_t find_standing(struct recorder *recorder, int64_t id)
{
    const struct standing *there = recorder->standings.items;
    for (uint32_t s = 0; s < recorder->standings.count; s++)
        if (there[s].id == id)
            return s;
    const struct standing standing = {id, RONDE_TRACE_NONE, -1, -1, -1};
    return source_keep(recorder->source, &recorder->standings, &standing, sizeof standing)
               ? recorder->standings.count - 1
               : RONDE_TRACE_NONE;
}

static void raise(int64_t *to, struct pull_span number)
{
    int64_t value = 0;
    if (gather_number(number, &value) && value > *to)
        *to = value;
}

static bool read_standings(struct recorder *recorder, struct pull_span statuses)
{
    struct pull_walk walk = pull_walk(statuses);
    struct pull_span key, value;
    int64_t id = 0;
    while (pull_step(&walk, &key, &value)) {
        if (!pull_integer(key, &id))
            continue;
        const uint32_t at = find_standing(recorder, id);
        if (at == RONDE_TRACE_NONE)
            return false;
        struct standing *standing = (struct standing *)recorder->standings.items + at;
        raise(&standing->enqueued, pull_member(value, "last_enqueued_collective"));
        raise(&standing->started, pull_member(value, "last_started_collective"));
        raise(&standing->completed, pull_member(value, "last_completed_collective"));
    }
    return true;
}

/* What an entry of a group says of that. */
static bool stand(struct recorder *recorder, struct pull_span span, struct entry *entry)
{
    const struct pull_span number = pull_member(span, "collective_seq_id"),
                           state = pull_member(span, "state");
    int64_t id = 0;
    const struct pull_span said = pull_member(span, "pg_id");
    if (pull_key_is(pull_member(span, "is_p2p"), "true") || !said.at || !pull_integer(said, &id))
        return true;
    entry->standing = find_standing(recorder, id);
    if (entry->standing == RONDE_TRACE_NONE)
        return false;
    struct standing *standing = (struct standing *)recorder->standings.items + entry->standing;
    raise(&standing->enqueued, number);
    if (pull_is(state, "started") || pull_is(state, "completed"))
        raise(&standing->started, number);
    if (pull_is(state, "completed"))
        raise(&standing->completed, number);
    return true;
}

/* Elements of all tensors of "[[2, 3], [4]]"; below 0 where that is none. */
static int64_t elements_of(struct pull_span sizes)
{
    struct pull_walk tensors = pull_walk(sizes);
    struct pull_span key, tensor, dim;
    int64_t total = 0, size = 0;
    bool is_any = false;
    while (pull_step(&tensors, &key, &tensor)) {
        struct pull_walk dims = pull_walk(tensor);
        int64_t elements = 1;
        is_any = true;
        while (pull_step(&dims, &key, &dim)) {
            if (!pull_integer(dim, &size) || size < 0 ||
                (size > 0 && elements > INT64_MAX / 2 / size))
                return -1;
            elements *= size;
        }
        if (total > INT64_MAX / 2 - elements)
            return -1;
        total += elements;
    }
    return is_any && !tensors.is_bad ? total : -1;
}

/* Takes back the members of a coalesced call, which come before it and have its number; what they are together. */
static void take_members(struct recorder *recorder, const struct entry *entry, uint64_t sequence,
                         struct ronde_trace_call *out)
{
    struct ronde_list *calls = &recorder->traces->calls, *entries = &recorder->entries;
    uint64_t bytes = 0;
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    bool is_alike = true;
    uint32_t members = 0;
    while (entries->count > 0) {
        const struct entry *last = (const struct entry *)entries->items + entries->count - 1;
        const struct ronde_trace_call *call =
            (const struct ronde_trace_call *)calls->items + last->call;
        if (last->group != entry->group || call->sequence != sequence ||
            call->duration_ns != RONDE_TRACE_NO_TIME || last->call + 1 != calls->count)
            break;
        is_alike = is_alike && (members == 0 || call->collective == collective) &&
                   call->bytes != RONDE_TRACE_NO_NUMBER && bytes <= UINT64_MAX / 2 - call->bytes / 2;
        collective = call->collective;
        bytes += call->bytes;
        members++;
        entries->count--;
        calls->count--;
    }
    if (members > 0 && is_alike) {
        out->collective = collective;
        out->bytes = bytes;
    }
}

/* What an entry says, but for its group. */
static void fill(struct recorder *recorder, struct pull_span span, const struct entry *entry,
                 enum ronde_collective collective, struct ronde_trace_call *call)
{
    char text[64];
    int64_t value = 0;
    const struct pull_span pair = pull_member(span, "is_p2p"),
                           time = pull_member(span, "duration_ms");
    const bool is_pair = pull_key_is(pair, "true");
    struct pull_span number = pull_member(span, is_pair ? "p2p_seq_id" : "collective_seq_id");
    if (!number.at)
        number = pull_member(span, "seq_id");
    if (gather_number(number, &value))
        call->sequence = (uint64_t)value;
    (void)pull_text(pull_item(pull_member(span, "input_dtypes"), 0), text, sizeof text);
    const uint32_t type_bytes = name_type_bytes(text);
    const int64_t in = elements_of(pull_member(span, "input_sizes")),
                  out = elements_of(pull_member(span, "output_sizes"));
    call->collective = collective;
    const struct named_group *group = named(recorder, entry->name);
    call->bytes = name_call_bytes(collective, group ? group->ranks.count : 0, in, out, type_bytes);
    (void)pull_text(pull_member(span, "state"), text, sizeof text);
    const bool is_over = strcmp(text, "completed") == 0;
    recorder->ended += is_over;
    if (is_over && time.at && pull_scaled(time, 6, &value) && value > 0) {
        call->duration_ns = value;
        recorder->timed++;
    }
}

static bool read_entry(void *self, struct pull_span span)
{
    struct recorder *recorder = self;
    if (span.at[0] != '{') {
        recorder->source->at -= span.bytes;
        return source_refuse(recorder->source, "an entry that is no object of JSON");
    }
    char name[64];
    bool is_call = false;
    struct entry entry = {.standing = RONDE_TRACE_NONE};
    (void)pull_text(pull_member(span, "profiling_name"), name, sizeof name);
    const enum ronde_collective collective = name_collective(name, &is_call);
    if (!is_call)
        return true;
    struct ronde_trace_call *to = gather_call(recorder->traces, recorder->process);
    if (!to)
        return source_no_memory(recorder->source);
    (void)pull_text(pull_item(pull_member(span, "process_group"), 0), entry.name, sizeof entry.name);
    entry.group = gather_hash(0, entry.name, strlen(entry.name));
    fill(recorder, span, &entry, collective, to);
    if (collective == RONDE_COLLECTIVE_COUNT) {
        struct ronde_list *calls = &recorder->traces->calls;
        struct ronde_trace_call call = *to;
        calls->count--;
        take_members(recorder, &entry, call.sequence, &call);
        if (!source_keep(recorder->source, calls, &call, sizeof call))
            return false;
    }
    entry.call = recorder->traces->calls.count - 1;
    return stand(recorder, span, &entry) &&
           source_keep(recorder->source, &recorder->entries, &entry, sizeof entry);
}

/* The groups that calls name, where pg_config says their ranks. */
static bool place_entries(struct recorder *recorder)
{
    const struct entry *entries = recorder->entries.items;
    for (uint32_t e = 0; e < recorder->entries.count; e++) {
        const struct named_group *found = named(recorder, entries[e].name);
        if (!found || found->ranks.count == 0)
            continue;
        const uint32_t group =
            gather_group_of_ranks(recorder->traces, found->ranks.items, found->ranks.count);
        if (group == RONDE_TRACE_NONE)
            return source_no_memory(recorder->source);
        ((struct ronde_trace_call *)recorder->traces->calls.items)[entries[e].call].group = group;
        if (entries[e].standing != RONDE_TRACE_NONE)
            ((struct standing *)recorder->standings.items)[entries[e].standing].group = group;
    }
    return true;
}

/* For the comparison with other ranks. */
static bool keep_standings(struct recorder *recorder)
{
    const struct standing *from = recorder->standings.items;
    for (uint32_t s = 0; s < recorder->standings.count; s++) {
        const struct trace_standing to = {from[s].group, recorder->process, from[s].enqueued,
                                          from[s].started, from[s].completed};
        if (to.group != RONDE_TRACE_NONE && to.enqueued >= 0 &&
            !source_keep(recorder->source, &recorder->traces->standings, &to, sizeof to))
            return false;
    }
    return true;
}

static bool read_object(struct recorder *recorder)
{
    bool is_first = true, is_read = pull_expect(recorder->source, '{');
    char key[32];
    while (is_read && pull_next_key(recorder->source, &is_first, key, sizeof key)) {
        struct pull_span value;
        if (strcmp(key, "entries") == 0)
            is_read = pull_items(recorder->source, read_entry, recorder);
        else
            is_read = pull_take(recorder->source, &value) &&
                      (strcmp(key, "pg_config") != 0 || read_config(recorder, value)) &&
                      (strcmp(key, "pg_status") != 0 || read_standings(recorder, value));
    }
    return recorder->source->status == RONDE_OK && pull_end(recorder->source) &&
           place_entries(recorder) && keep_standings(recorder);
}

/* The rank is in the file's name alone: its last number. */
static uint32_t rank_of_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint32_t rank = RONDE_TRACE_NONE;
    for (const char *at = name; *at; at++) {
        if (*at < '0' || *at > '9')
            continue;
        for (rank = 0; *at >= '0' && *at <= '9'; at++)
            rank = rank < RONDE_MAX_RANKS ? rank * 10 + (uint32_t)(*at - '0') : rank;
        at--;
    }
    return rank < RONDE_MAX_RANKS ? rank : RONDE_TRACE_NONE;
}

static bool read_text(struct recorder *recorder)
{
    struct ronde_traces *traces = recorder->traces;
    struct ronde_trace_process *process =
        gather_process(traces, RONDE_TRACE_RECORDER, recorder->source->path, &recorder->process);
    if (!process)
        return source_no_memory(recorder->source);
    process->rank = rank_of_name(recorder->source->path);
    const bool is_read = read_object(recorder);
    if (recorder->entries.count > 0 && recorder->timed == 0)
        gather_remark(traces,
                      "%s: TORCH_NCCL_ENABLE_TIMING=1 makes NCCL's calls measured; sizes and "
                      "numbers of calls are all that is said",
                      recorder->ended > 0
                          ? "the flight recorder has no durations"
                          : "the flight recorder saw no call end, as gloo's never do");
    struct named_group *groups = recorder->groups.items;
    for (uint32_t g = 0; g < recorder->groups.count; g++)
        ronde_list_free(traces->mem, &groups[g].ranks, sizeof(uint32_t));
    ronde_list_free(traces->mem, &recorder->groups, sizeof(struct named_group));
    ronde_list_free(traces->mem, &recorder->entries, sizeof(struct entry));
    ronde_list_free(traces->mem, &recorder->standings, sizeof(struct standing));
    return is_read;
}

bool recorder_read(struct source *source, struct ronde_traces *traces)
{
    struct recorder recorder = {.source = source, .traces = traces};
    struct pickle_text json = {.bytes = NULL};
    struct source text;
    const char first = pull_peek(source);
    if (first == '{' || source->status != RONDE_OK)
        return first == '{' && read_text(&recorder);
    if (pickle_to_json(source, &json)) {
        source_open_text(&text, source->path, json.bytes, json.used, traces->mem, source->error);
        recorder.source = &text;
        (void)read_text(&recorder);
        source->status = source_close(&text);
    }
    pickle_text_free(traces->mem, &json);
    return source->status == RONDE_OK;
}
