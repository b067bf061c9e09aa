/* The platform reader, and what is computed from a platform, on arbitrary bytes. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "ronde/synthesize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory a file may ask for: clusters of a million hosts are legal and too slow here. */
#define HEAP_BYTES_MAX ((size_t)64 << 20)

/* Hosts whose routes are asked for, and ranks that are priced and replayed. */
#define HOSTS_MAX 6u

/* The longest route looked at; longer ones are counted and cut. */
#define ROUTE_MAX 64u

/* An input under test. */
struct subject {
    struct fuzz_verdict *verdict;
    struct heap heap;
    struct ronde_mem mem;
    struct ronde_platform *platform;
};

/* A status is one that the function documents, and comes with a message. */
static bool is_fine(struct subject *subject, const char *what, enum ronde_status status,
                    const struct ronde_error *error)
{
    const bool is_expected = status == RONDE_OK || status == RONDE_BAD_INPUT ||
                             status == RONDE_UNSUPPORTED ||
                             (status == RONDE_NO_MEMORY && subject->heap.over_limit > 0);
    if (!is_expected || (status != RONDE_OK && error->message[0] == '\0'))
        fuzz_complain(subject->verdict, "%s: '%s' with \"%s\"", what, ronde_status_text(status),
                      error->message);
    return status == RONDE_OK;
}

/* The reader takes a path: a file without a name in memory has one, and needs no cleaning up. */
static bool read_bytes(struct subject *subject, const unsigned char *data, size_t bytes)
{
    char path[64];
    struct ronde_error error = {0};
    const int file = memfd_create("platform.xml", 0);
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes) {
        fuzz_complain(subject->verdict, "no file in memory");
        return false;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const enum ronde_status status =
        ronde_platform_read(path, &subject->mem, &subject->platform, &error);
    close(file);
    if ((status == RONDE_OK) != (subject->platform != NULL))
        fuzz_complain(subject->verdict, "status '%s' with%s a platform", ronde_status_text(status),
                      subject->platform ? "" : "out");
    snprintf(subject->verdict->refusal, sizeof subject->verdict->refusal, "%s", error.message);
    return is_fine(subject, "read", status, &error);
}

static bool is_number(double value)
{
    return isfinite(value) && value >= 0;
}

static void check_facts(struct subject *subject, const struct ronde_platform_facts *facts)
{
    const struct ronde_time_params *time = &facts->time;
    const double values[] = {
        time->alpha_ns,  time->step_ns,   time->launch_ns,           time->gamma_GBps,
        time->copy_GBps, time->lane_GBps, facts->shared.memory_GBps, facts->shared.core_step_ns};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (!is_number(values[i]))
            fuzz_complain(subject->verdict, "fact %zu is %g", i, values[i]);
    if (facts->hosts == 0)
        fuzz_complain(subject->verdict, "a platform without hosts");
    for (uint32_t i = 0; i < ronde_platform_link_count(subject->platform); i++) {
        const struct ronde_link *link = ronde_platform_link(subject->platform, i);
        if (!(link->rate_GBps > 0) || !is_number(link->latency_ns))
            fuzz_complain(subject->verdict, "link %s: %g GB/s, %g ns", link->name, link->rate_GBps,
                          link->latency_ns);
    }
}

static void check_route(struct subject *subject, uint32_t src, uint32_t dst)
{
    uint32_t links[ROUTE_MAX];
    uint32_t count = 0;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_platform_route(subject->platform, src, dst, ROUTE_MAX, links, &count, &error);
    if (!is_fine(subject, "route", status, &error))
        return;
    for (uint32_t i = 0; i < count && i < ROUTE_MAX; i++)
        if (links[i] >= ronde_platform_link_count(subject->platform))
            fuzz_complain(subject->verdict, "route %u to %u: link %u", src, dst, links[i]);
}

static void check_network(struct subject *subject, uint32_t ranks)
{
    struct ronde_network network;
    bool is_uniform;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_platform_network(subject->platform, ranks, 0, &network, &is_uniform, &error);
    if (is_fine(subject, "network", status, &error) &&
        (!is_number(network.latency_ns) || isnan(network.port_GBps) || network.port_GBps < 0))
        fuzz_complain(subject->verdict, "network: %g ns, %g GB/s", network.latency_ns,
                      network.port_GBps);
}

/* A small ring on the first hosts takes a time that is a number. */
static void check_replay(struct subject *subject, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = ranks};
    const struct ronde_load load = {.count = 100, .dtype = RONDE_FLOAT32};
    const struct ronde_time_params *time = &ronde_platform_facts(subject->platform)->time;
    struct ronde_schedule *schedule = NULL;
    struct ronde_dag *dag = NULL;
    struct ronde_error error = {0};
    struct ronde_sim_result result;
    enum ronde_status status = ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error);
    if (status == RONDE_OK)
        status = ronde_dag_create(schedule, &load, time, ronde_mem_default(), &dag, &error);
    if (status == RONDE_OK)
        status = ronde_sim_flat(subject->platform, dag, NULL, &subject->mem, &result, &error);
    if (is_fine(subject, "replay", status, &error) && !is_number(result.time_ns))
        fuzz_complain(subject->verdict, "a ring takes %g ns", result.time_ns);
    subject->verdict->runs += status == RONDE_OK;
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

/* Bounds are no smaller than nothing, and what is packed for the first hosts is proved and no faster than its bound. */
static void check_synthesis(struct subject *subject, uint32_t ranks)
{
    const struct ronde_synthesis_request request = {.collective = RONDE_ALL_GATHER,
                                                    .ranks = ranks,
                                                    .trees = 1};
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis made = {.trees = 0};
    struct ronde_error error = {0};
    if (ranks < 2)
        return;
    const enum ronde_status status =
        ronde_synthesize(subject->platform, &request, &subject->mem, &schedule, &made, &error);
    if (is_fine(subject, "synthesize", status, &error) &&
        (!(made.bound.GBps > 0) || !(made.GBps <= made.bound.GBps * (1 + 1e-6)) ||
         !is_number(made.bound.latency_ns)))
        fuzz_complain(subject->verdict, "synthesis: %g of %g GB/s, latency %g ns", made.GBps,
                      made.bound.GBps, made.bound.latency_ns);
    ronde_schedule_destroy(schedule);
}

static void use(struct subject *subject)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(subject->platform);
    const uint32_t hosts = facts->hosts < HOSTS_MAX ? facts->hosts : HOSTS_MAX;
    subject->verdict->is_accepted = true;
    check_facts(subject, facts);
    for (uint32_t src = 0; src < hosts; src++)
        for (uint32_t dst = 0; dst < hosts; dst++)
            check_route(subject, src, dst);
    check_network(subject, hosts);
    check_replay(subject, hosts);
    check_synthesis(subject, hosts);
}

void fuzz_platform(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct subject subject = {.verdict = out_verdict};
    memset(out_verdict, 0, sizeof *out_verdict);
    subject.heap = heap_start(SIZE_MAX, true);
    subject.heap.limit_bytes = HEAP_BYTES_MAX;
    subject.mem = heap_mem(&subject.heap);
    if (read_bytes(&subject, data, bytes))
        use(&subject);
    ronde_platform_destroy(subject.platform);
    fuzz_expect_no_leak(subject.verdict, &subject.heap);
}
