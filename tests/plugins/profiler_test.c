/**
 * libnccl-profiler-ronde.so as NCCL loads it and tells it of events, in all versions of its interface: the records that come
 * of them, another profiler behind it, what is bounded, and 64 ranks at once.
 */
#include "plugins/profiler_host.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS RONDE_SCRATCH_DIR "/plugins_profiler.jsonl"
#define NEXT_LOG RONDE_SCRATCH_DIR "/plugins_next.log"

static void set_up(void)
{
    (void)unlink(RECORDS);
    setenv("RONDE_PROFILER_FILE", RECORDS, 1);
    unsetenv("RONDE_PROFILER_NEXT");
    unsetenv("RONDE_PROFILER_TIMES");
}

/* When channel `channel` of a collective of a rank runs, by the GPU's clock. */
static uint64_t begin_of(const struct host_comm *comm, uint64_t seq, int channel)
{
    return UINT64_C(1790000000000000000) + seq * 1000000 + (uint64_t)(comm->rank * 100 + channel);
}

static uint64_t end_of(uint64_t seq, int channel)
{
    return UINT64_C(1790000000000000000) + seq * 1000000 + 50000 - (uint64_t)channel;
}

/* What NCCL's proxy thread has to tell of a collective once it was handed over. */
struct work {
    const struct profiler_host *host;
    const struct host_comm *comm;
    struct host_coll coll;
    void *handle;
};

static void tell_channels(const struct work *work)
{
    void *handles[8] = {NULL};
    for (int c = 0; c < work->coll.channels; c++) {
        const struct event_kernel_v4 kernel = {(uint8_t)c, begin_of(work->comm, work->coll.seq, c)};
        if (work->handle)
            handles[c] = profiler_host_event(work->host, work->comm, EVENT_KERNEL, work->handle,
                                             &kernel, sizeof kernel);
    }
    for (int c = 0; c < work->coll.channels; c++) {
        profiler_host_state(work->host, handles[c], STATE_KERNEL_STOP, end_of(work->coll.seq, c));
        profiler_host_stop(work->host, handles[c]);
    }
}

static void tell_network(const struct work *work)
{
    const struct event_proxy_op op = {getpid(), 0, 1, 2, 1 << 17, 1};
    void *handle =
        profiler_host_event(work->host, work->comm, EVENT_PROXY_OP, work->handle, &op, sizeof op);
    profiler_host_state(work->host, handle, 19, 0);
    profiler_host_stop(work->host, handle);
}

/* A collective is handed over: parents come before it and stop with it, children come later. */
static struct work hand_over(const struct profiler_host *host, const struct host_comm *comm,
                             struct host_coll coll)
{
    const struct event_group_api group_api = {false, 1};
    const struct event_coll_api coll_api = {"AllReduce", coll.count, "ncclFloat32", 0, NULL, false};
    void *group =
        profiler_host_event(host, comm, EVENT_GROUP_API, NULL, &group_api, sizeof group_api);
    coll.parent = profiler_host_event(host, comm, EVENT_COLL_API, group, &coll_api, sizeof coll_api);
    profiler_host_stop(host, coll.parent);
    coll.group = profiler_host_event(host, comm, EVENT_GROUP, NULL, NULL, 0);
    const struct work work = {host, comm, coll, profiler_host_coll(host, comm, &coll)};
    profiler_host_stop(host, work.handle);
    profiler_host_stop(host, coll.group);
    profiler_host_stop(host, group);
    return work;
}

static struct host_coll coll_of(uint64_t seq)
{
    return (struct host_coll){.seq = seq,
                              .collective = seq % 2 ? ABI_ALL_GATHER : ABI_ALL_REDUCE,
                              .count = 1024,
                              .channels = 4,
                              .is_ring = seq % 2};
}

/* The line of a record; NULL where there is none. `room` holds a copy of it. */
static const char *find_record(const char *text, const char *comm, int rank, uint64_t seq,
                               char room[2048])
{
    char keys[3][64];
    snprintf(keys[0], sizeof keys[0], "\"rank\": %d, ", rank);
    snprintf(keys[1], sizeof keys[1], "\"comm\": \"%s\"", comm);
    snprintf(keys[2], sizeof keys[2], "\"seq\": %" PRIu64 ", ", seq);
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        snprintf(room, 2048, "%.*s", (int)strcspn(at, "\n"), at);
        if (strstr(room, keys[0]) && strstr(room, keys[1]) && strstr(room, keys[2]))
            return room;
    }
    return NULL;
}

static bool has(const char *record, const char *part)
{
    const bool is_there = record && strstr(record, part);
    if (!is_there)
        suite_note("no %s in %s", part, record ? record : "nothing");
    return is_there;
}

/* What each version says: all of them what ran and how; since 3 when, since 4 by the GPU's clock and of which communicator. */
static void check_record(const char *text, const struct profiler_host *host,
                         const struct host_comm *comm, uint64_t seq)
{
    char room[2048], part[128];
    const char *record = find_record(text, "0xabc", comm->rank, seq, room);
    CU_ASSERT(
        has(record, seq % 2 ? "\"collective\": \"all_gather\"" : "\"collective\": \"all_reduce\""));
    CU_ASSERT(has(record, seq % 2 ? "\"algorithm\": \"Ring\", \"protocol\": \"Simple\""
                                  : "\"algorithm\": \"Tree\", \"protocol\": \"LL\""));
    CU_ASSERT(has(record, "\"channels\": 4, "));
    CU_ASSERT(has(record, "\"comm_name\": \"a?b\""));
    CU_ASSERT(has(record, "\"complete\": true"));
    if (host->version >= 4) {
        snprintf(part, sizeof part, "\"start_ns\": %" PRIu64 ", \"stop_ns\": %" PRIu64 ", ",
                 begin_of(comm, seq, 0), end_of(seq, 0));
        CU_ASSERT(has(record, part));
        CU_ASSERT(has(record, "\"ranks\": 4, \"nodes\": 2"));
        CU_ASSERT(has(record, seq % 2 ? "\"bytes\": 16384" : "\"bytes\": 4096"));
    } else {
        CU_ASSERT(has(record, "\"ranks\": null, \"nodes\": null"));
        CU_ASSERT(has(record, seq % 2 ? "\"bytes\": null, \"count\": 1024" : "\"bytes\": 4096"));
    }
    CU_ASSERT(has(record, host->version >= 4 ? "\"clock\": \"gpu\"" : "\"clock\": \"host\""));
}

static void records_say_what_ran(void)
{
    for (int version = PROFILER_OLDEST; version <= PROFILER_NEWEST; version++) {
        struct profiler_host host;
        struct host_comm comm = {"a\"b", 0xabc, 2, 4, 3, NULL};
        set_up();
        if (!profiler_host_open(&host, version))
            return;
        profiler_host_init(&host, &comm);
        CU_ASSERT_EQUAL(atomic_load(&host_mask), version >= 6 ? 0x1046 : version >= 3 ? 0x46 : 0xe);
        for (uint64_t seq = 0; seq < 4; seq++) {
            const struct work work = hand_over(&host, &comm, coll_of(seq));
            tell_channels(&work);
            tell_network(&work);
        }
        profiler_host_finalize(&host, &comm);
        profiler_host_close(&host);
        char *text = files_read(RECORDS);
        CU_ASSERT_FATAL(text != NULL);
        for (uint64_t seq = 0; seq < 4; seq++)
            check_record(text, &host, &comm, seq);
        CU_ASSERT(has(text, "\"kind\": \"nccl_run_end\""));
        CU_ASSERT(has(text, "\"records\": 4, \"lost\": 0"));
        free(text);
    }
}

/* Sends, and collectives of the copy engine; without times where nobody asks for them. */
static void sends_and_copies_are_records_too(void)
{
    struct profiler_host host;
    struct host_comm comm = {"pp", 0xabc, 2, 4, 1, NULL};
    struct event_p2p_v5 send = {"Send", NULL, "ncclBfloat16", 512, 2, 1, NULL};
    struct event_ce_coll copy = {.seq = 9, .func = "AllGather", .count = 8, .datatype = "ncclInt8"};
    set_up();
    if (!profiler_host_open(&host, PROFILER_NEWEST))
        return;
    setenv("RONDE_PROFILER_TIMES", "0", 1);
    profiler_host_init(&host, &comm);
    CU_ASSERT_EQUAL(atomic_load(&host_mask), EVENT_COLL | EVENT_P2P | EVENT_CE_COLL);
    profiler_host_stop(&host,
                       profiler_host_event(&host, &comm, EVENT_P2P, NULL, &send, sizeof send));
    profiler_host_stop(&host,
                       profiler_host_event(&host, &comm, EVENT_CE_COLL, NULL, &copy, sizeof copy));
    profiler_host_finalize(&host, &comm);
    profiler_host_close(&host);
    char *text = files_read(RECORDS), room[2048];
    CU_ASSERT(has(text, "\"collective\": \"send\", \"algorithm\": null"));
    CU_ASSERT(has(text, "\"bytes\": 1024, \"count\": 512, \"dtype\": \"bfloat16\", \"peer\": 2, "
                        "\"channels\": 1, \"time_ns\": null"));
    CU_ASSERT(has(find_record(text, "0xabc", 1, 9, room),
                  "\"algorithm\": \"CopyEngine\", \"protocol\": null"));
    free(text);
}

/* Handles that are none, a parent of another process, a channel whose collective is over, one that never ends. */
static void what_comes_at_odd_times_does_no_harm(void)
{
    struct profiler_host host;
    struct host_comm comm = {"tp", 0xabc, 1, 4, 0, NULL}, none = {.context = NULL};
    const struct event_proxy_op foreign = {getpid() + 1, 0, 1, 2, 1 << 17, 1};
    set_up();
    if (!profiler_host_open(&host, PROFILER_NEWEST))
        return;
    profiler_host_init(&host, &comm);
    const struct profiler_v1 *calls = host.symbol;
    CU_ASSERT_EQUAL(calls->stop(NULL), ABI_SUCCESS);
    CU_ASSERT_EQUAL(calls->state(NULL, STATE_KERNEL_STOP, NULL), ABI_SUCCESS);
    CU_ASSERT_PTR_NULL(hand_over(&host, &none, coll_of(0)).handle);
    CU_ASSERT_PTR_NULL(
        profiler_host_event(&host, &comm, EVENT_PROXY_OP, (void *)0x40, &foreign, sizeof foreign));
    const struct work over = hand_over(&host, &comm, coll_of(1));
    tell_channels(&over);
    tell_channels(&over);
    /* Half told of when it all ends. */
    struct work half = hand_over(&host, &comm, coll_of(2));
    half.coll.channels = 2;
    tell_channels(&half);
    (void)hand_over(&host, &comm, coll_of(3));
    profiler_host_finalize(&host, &comm);
    profiler_host_finalize(&host, &none);
    profiler_host_close(&host);
    char *text = files_read(RECORDS), room[2048];
    CU_ASSERT(has(find_record(text, "0xabc", 0, 1, room), "\"complete\": true"));
    CU_ASSERT(
        has(find_record(text, "0xabc", 0, 2, room), "\"clock\": \"gpu\", \"complete\": false"));
    CU_ASSERT(has(find_record(text, "0xabc", 0, 3, room), "\"time_ns\": null"));
    CU_ASSERT(has(text, "\"records\": 3, \"lost\": 0"));
    free(text);
}

/* Collectives that never end take so much memory and no more; what there is no room for is counted. */
static void memory_is_bounded(void)
{
    enum { STARTED = 20000 };
    struct profiler_host host;
    struct host_comm comm = {"dp", 0xabc, 1, 4, 0, NULL};
    unsigned kept = 0;
    set_up();
    if (!profiler_host_open(&host, PROFILER_NEWEST))
        return;
    profiler_host_init(&host, &comm);
    for (uint64_t seq = 0; seq < STARTED; seq++) {
        const struct host_coll coll = coll_of(seq);
        kept += profiler_host_coll(&host, &comm, &coll) != NULL;
    }
    CU_ASSERT_EQUAL(kept, 16384);
    profiler_host_finalize(&host, &comm);
    profiler_host_close(&host);
    char *text = files_read(RECORDS);
    const char *end = text ? strstr(text, "nccl_run_end") : NULL;
    CU_ASSERT_FATAL(end != NULL);
    unsigned long records = 0, lost = 0;
    CU_ASSERT_EQUAL(sscanf(strstr(end, "\"records\""), "\"records\": %lu, \"lost\": %lu", &records,
                           &lost),
                    2);
    CU_ASSERT_EQUAL(records + lost, STARTED);
    free(text);
}

static void files_that_cannot_be_written_ask_for_nothing(void)
{
    static const char *const paths[] = {"/no/such/folder/file", RONDE_SCRATCH_DIR, "%q"};
    struct profiler_host host;
    struct host_comm comm = {"x", 1, 1, 2, 0, NULL};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        set_up();
        setenv("RONDE_PROFILER_FILE", paths[i], 1);
        if (!profiler_host_open(&host, PROFILER_NEWEST))
            return;
        profiler_host_init(&host, &comm);
        CU_ASSERT(has(profiler_host_warning(), "RONDE_PROFILER_FILE"));
        CU_ASSERT_EQUAL(atomic_load(&host_mask), 0);
        CU_ASSERT_PTR_NULL(hand_over(&host, &comm, coll_of(0)).handle);
        profiler_host_finalize(&host, &comm);
        profiler_host_close(&host);
    }
}

/* Every line of the other profiler's log; parents are handles that it gave out itself. */
static void check_next(int version, unsigned colls)
{
    char *text = files_read(NEXT_LOG);
    unsigned seen = 0, ops = 0, stops = 0, starts = 0;
    long last_coll = 0;
    CU_ASSERT_FATAL(text != NULL);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long type;
        long number, parent;
        char func[32];
        stops += strncmp(line, "stop ", 5) == 0;
        if (sscanf(line, "%lu %ld parent %ld %31s", &type, &number, &parent, func) != 4)
            continue;
        CU_ASSERT(parent >= 0 && parent < number && number <= 1000);
        starts++;
        /* CollApi before version 5 is not known, and a group is the parent. */
        if (type == EVENT_COLL) {
            CU_ASSERT(parent > 0 && seen++ < colls);
            CU_ASSERT(strcmp(func, "AllReduce") == 0);
            last_coll = number;
        }
        if (type == EVENT_PROXY_OP) {
            CU_ASSERT_EQUAL(parent, last_coll);
            ops++;
        }
        CU_ASSERT(version >= 5 || type < 256);
        CU_ASSERT(type != EVENT_KERNEL && type != EVENT_P2P);
    }
    CU_ASSERT(seen == colls && ops == colls && stops == starts);
    free(text);
}

/* In its own version, converted from NCCL's newest. */
static void another_profiler_sees_what_it_asks_for(void)
{
    static const struct {
        const char *library;
        int version;
    } nexts[] = {{RONDE_NCCL_NEXT_6, 6}, {RONDE_NCCL_NEXT_4, 4}, {RONDE_NCCL_NEXT_1, 1}};
    for (size_t i = 0; i < sizeof nexts / sizeof nexts[0]; i++) {
        struct profiler_host host;
        struct host_comm comm = {"world", 0xabc, 2, 4, 3, NULL};
        set_up();
        setenv("RONDE_PROFILER_NEXT", nexts[i].library, 1);
        setenv("NEXT_LOG", NEXT_LOG, 1);
        if (!profiler_host_open(&host, PROFILER_NEWEST))
            return;
        profiler_host_init(&host, &comm);
        CU_ASSERT_EQUAL(atomic_load(&host_mask), 0x1046 | EVENT_PROXY_OP);
        for (uint64_t seq = 0; seq < 8; seq += 2) {
            const struct work work = hand_over(&host, &comm, coll_of(seq));
            tell_network(&work);
            tell_channels(&work);
        }
        profiler_host_finalize(&host, &comm);
        profiler_host_close(&host);
        char *text = files_read(RECORDS);
        for (uint64_t seq = 0; seq < 8; seq += 2) {
            char room[2048];
            CU_ASSERT(has(find_record(text, "0xabc", 3, seq, room), "\"complete\": true"));
        }
        free(text);
        check_next(nexts[i].version, 4);
    }
}

/* One that is newer than NCCL, is not there, or is this one. */
static void other_profilers_that_are_none_are_refused(void)
{
    static const struct {
        const char *name;
        int version;
        const char *reason;
    } cases[] = {{RONDE_NCCL_NEXT_6, 5, "no profiler of a version that NCCL knows"},
                 {RONDE_NCCL_PROFILER, 6, "is this profiler itself"},
                 {RONDE_NCCL_TUNER, 6, "no profiler"},
                 {"/no/such/library.so", 6, "/no/such/library.so"},
                 {"nothing-of-this-name", 6, "libnccl-profiler-nothing-of-this-name.so"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profiler_host host;
        struct host_comm comm = {"x", 0xabc, 1, 2, 0, NULL};
        set_up();
        setenv("RONDE_PROFILER_NEXT", cases[i].name, 1);
        if (!profiler_host_open(&host, cases[i].version))
            return;
        profiler_host_init(&host, &comm);
        CU_ASSERT(has(profiler_host_warning(), cases[i].reason));
        const struct work work = hand_over(&host, &comm, coll_of(0));
        tell_channels(&work);
        profiler_host_finalize(&host, &comm);
        profiler_host_close(&host);
        char *text = files_read(RECORDS), room[2048];
        CU_ASSERT(has(find_record(text, "0xabc", 0, 0, room), "\"complete\": true"));
        free(text);
    }
}

/* As many lines as fit the buffer of lines: however late its thread comes, none is lost. */
enum { RANKS = 64, COLLS = 6 };

/* A rank: its calling thread, and the proxy's, which is told of collectives through a pipe of NCCL's own making. */
struct rank {
    const struct profiler_host *host;
    struct host_comm world, tp;
    struct work works[COLLS];
    int handed_over;
    pthread_mutex_t lock;
    pthread_cond_t more;
};

static void *run_proxy(void *argument)
{
    struct rank *rank = argument;
    for (int i = 0; i < COLLS; i++) {
        pthread_mutex_lock(&rank->lock);
        while (rank->handed_over <= i)
            pthread_cond_wait(&rank->more, &rank->lock);
        pthread_mutex_unlock(&rank->lock);
        tell_network(&rank->works[i]);
        tell_channels(&rank->works[i]);
    }
    return NULL;
}

static void *run_rank(void *argument)
{
    struct rank *rank = argument;
    pthread_t proxy;
    profiler_host_init(rank->host, &rank->world);
    profiler_host_init(rank->host, &rank->tp);
    (void)pthread_create(&proxy, NULL, run_proxy, rank);
    for (int i = 0; i < COLLS; i++) {
        const struct host_comm *comm = i % 2 ? &rank->tp : &rank->world;
        const struct work work = hand_over(rank->host, comm, coll_of((uint64_t)i));
        pthread_mutex_lock(&rank->lock);
        rank->works[i] = work;
        rank->handed_over++;
        pthread_cond_signal(&rank->more);
        pthread_mutex_unlock(&rank->lock);
    }
    pthread_join(proxy, NULL);
    profiler_host_finalize(rank->host, &rank->tp);
    profiler_host_finalize(rank->host, &rank->world);
    return NULL;
}

static unsigned count_threads(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

static void run_ranks(const struct profiler_host *host, struct rank *ranks)
{
    pthread_t threads[RANKS];
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (struct rank){.host = host,
                                 .world = {"world", 0xabc, 8, RANKS, r, NULL},
                                 .tp = {"tp", 0x100 + (uint64_t)r / 8, 1, 8, r % 8, NULL}};
        pthread_mutex_init(&ranks[r].lock, NULL);
        pthread_cond_init(&ranks[r].more, NULL);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[r], NULL, run_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
}

/* Nothing is lost, no thread is left when the library goes, and another profiler behind makes no difference. */
static void ranks_in_threads_lose_nothing(void)
{
    static struct rank ranks[RANKS];
    for (int with_next = 0; with_next < 2; with_next++)
        for (int version = PROFILER_NEWEST; version >= PROFILER_OLDEST; version -= 3 - with_next) {
            struct profiler_host host;
            unsigned lines = 0, complete = 0;
            set_up();
            unsetenv("NEXT_LOG");
            if (with_next)
                setenv("RONDE_PROFILER_NEXT", RONDE_NCCL_NEXT_4, 1);
            if (with_next && version < 4)
                continue;
            if (!profiler_host_open(&host, version))
                return;
            const unsigned before = count_threads();
            run_ranks(&host, ranks);
            CU_ASSERT(count_threads() <= before + (RONDE_SANITIZE[0] != '\0'));
            profiler_host_close(&host);
            char *text = files_read(RECORDS);
            CU_ASSERT_FATAL(text != NULL);
            for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                lines += strstr(line, "\"nccl_run\"") != NULL;
                complete += strstr(line, "\"complete\": true") != NULL;
            }
            CU_ASSERT_EQUAL(lines, RANKS * COLLS);
            CU_ASSERT_EQUAL(complete, RANKS * COLLS);
            free(text);
        }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"records_say_what_ran", records_say_what_ran},
        {"sends_and_copies_are_records_too", sends_and_copies_are_records_too},
        {"what_comes_at_odd_times_does_no_harm", what_comes_at_odd_times_does_no_harm},
        {"memory_is_bounded", memory_is_bounded},
        {"files_that_cannot_be_written_ask_for_nothing",
         files_that_cannot_be_written_ask_for_nothing},
        {"another_profiler_sees_what_it_asks_for", another_profiler_sees_what_it_asks_for},
        {"other_profilers_that_are_none_are_refused", other_profilers_that_are_none_are_refused},
        {"ranks_in_threads_lose_nothing", ranks_in_threads_lose_nothing},
    };
    return suite_run("plugins_profiler", cases, sizeof cases / sizeof cases[0]);
}
