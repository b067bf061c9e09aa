/**
 * Wherever `auto` picks flat, SimGrid gives the same, to 1e-9, and so does maxmin wherever flows share links: random small
 * platforms, schedules and loads.
 */
#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "support/buffers.h"
#include "support/built_with.h"
#include "support/suite.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** The one tolerance, relative. */
#define TOLERANCE 1e-9
/** Loads that must have been compared. */
#define MOST_COMPARED 320u
/** Loads drawn at most. */
#define MOST_TRIALS 1500u
/** SimGrid takes a microsecond a message here, and a child process each. */
#define MOST_OPS 6000u
#define MOST_HOSTS 12u

/** A platform file being written. */
struct text {
    char bytes[16384];
    size_t length;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(text->bytes + text->length, sizeof text->bytes - text->length, format, arguments);
    va_end(arguments);
    CU_ASSERT_FATAL(length >= 0 && (size_t)length < sizeof text->bytes - text->length);
    text->length += (size_t)length;
}

/** lo .. hi. */
static uint32_t pick(uint64_t *random, uint32_t lo, uint32_t hi)
{
    return lo + (uint32_t)(buffers_draw(random) % (hi - lo + 1));
}

/** A link of a random rate and latency; equal ones are common, as on real machines. */
static void put_link(struct text *text, const char *name, uint32_t number, uint64_t *random)
{
    static const char *const policies[] = {"SPLITDUPLEX", "SPLITDUPLEX", "SHARED", "FATPIPE"};
    put(text, "<link id=\"%s%u\" bandwidth=\"%uMBps\" latency=\"%uns\" sharing_policy=\"%s\"/>",
        name, number, pick(random, 0, 3) ? 10000 : pick(random, 900, 30000),
        pick(random, 0, 2) * 650, policies[pick(random, 0, 3)]);
}

/** Hosts 0 .. hosts-1 of a zone, in which `points` says between which two every link lies. */
static void put_hosts(struct text *text, uint32_t hosts)
{
    for (uint32_t i = 0; i < hosts; i++)
        put(text, "<host id=\"h%u\" speed=\"1Gf\"/>", i);
}

/** A route of one link, which is named with a direction where it has two. */
static void put_route(struct text *text, const char *src, const char *dst, const char *link)
{
    char find[64];
    snprintf(find, sizeof find, "<link id=\"%s\"", link);
    const char *found = strstr(text->bytes, find);
    const char *end = found ? strstr(found, "/>") : NULL;
    const char *split = found ? strstr(found, "SPLITDUPLEX") : NULL;
    CU_ASSERT_FATAL(found != NULL);
    put(text, "<route src=\"%s\" dst=\"%s\"><link_ctn id=\"%s\"%s/></route>", src, dst, link,
        split && split < end ? " direction=\"UP\"" : "");
}

/** Hosts around routers, each router joined to one before it: a star, a chain or any tree. */
static void put_tree(struct text *text, uint32_t hosts, uint32_t routers, uint64_t *random)
{
    char src[16], dst[16], link[16];
    put(text, "<zone id=\"w\" routing=\"Floyd\">");
    put_hosts(text, hosts);
    for (uint32_t i = 0; i < routers; i++)
        put(text, "<router id=\"r%u\"/>", i);
    for (uint32_t i = 0; i < hosts; i++)
        put_link(text, "p", i, random);
    for (uint32_t i = 1; i < routers; i++)
        put_link(text, "u", i, random);
    for (uint32_t i = 0; i < hosts; i++) {
        snprintf(src, sizeof src, "h%u", i);
        snprintf(dst, sizeof dst, "r%u", i % routers);
        snprintf(link, sizeof link, "p%u", i);
        put_route(text, src, dst, link);
    }
    for (uint32_t i = 1; i < routers; i++) {
        snprintf(src, sizeof src, "r%u", i);
        snprintf(dst, sizeof dst, "r%u", pick(random, 0, i - 1));
        snprintf(link, sizeof link, "u%u", i);
        put_route(text, src, dst, link);
    }
    put(text, "</zone></platform>\n");
}

/** Routers in a ring, an odd number so that no two ways are equally long, with a host or more each. */
static void put_ring(struct text *text, uint32_t hosts, uint64_t *random)
{
    const uint32_t routers = 2 * pick(random, 1, 3) + 1;
    char src[16], dst[16], link[16];
    put(text, "<zone id=\"w\" routing=\"Dijkstra\">");
    put_hosts(text, hosts);
    for (uint32_t i = 0; i < routers; i++)
        put(text, "<router id=\"r%u\"/>", i);
    for (uint32_t i = 0; i < hosts; i++)
        put_link(text, "p", i, random);
    for (uint32_t i = 0; i < routers; i++)
        put_link(text, "u", i, random);
    for (uint32_t i = 0; i < hosts + routers; i++) {
        const bool is_port = i < hosts;
        const uint32_t k = is_port ? i : i - hosts;
        snprintf(src, sizeof src, "%s%u", is_port ? "h" : "r", k);
        snprintf(dst, sizeof dst, "r%u", is_port ? k % routers : (k + 1) % routers);
        snprintf(link, sizeof link, "%s%u", is_port ? "p" : "u", k);
        put_route(text, src, dst, link);
    }
    put(text, "</zone></platform>\n");
}

/** A crossbar, with or without a backbone. */
static void put_cluster(struct text *text, uint32_t hosts, uint64_t *random)
{
    put(text,
        "<cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"0-%u\" speed=\"1Gf\" bw=\"%uMBps\" "
        "lat=\"%uns\"",
        hosts - 1, pick(random, 1000, 50000), pick(random, 0, 2000));
    if (pick(random, 0, 3) == 0)
        put(text, " bb_bw=\"%uMBps\" bb_lat=\"100ns\"", pick(random, 50000, 900000));
    put(text, "/></platform>\n");
}

/** A random platform; the file stays until the caller removes it. */
static struct ronde_platform *draw_platform(uint32_t hosts, uint64_t *random, char *path,
                                            size_t path_bytes)
{
    struct text text = {.length = 0};
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    put(&text, "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
               "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">");
    switch (pick(random, 0, 3)) {
    case 0:
        put_cluster(&text, hosts, random);
        break;
    case 1:
        put_tree(&text, hosts, 1, random);
        break;
    case 2:
        put_tree(&text, hosts, pick(random, 2, 5), random);
        break;
    default:
        put_ring(&text, hosts, random);
    }
    snprintf(path, path_bytes, "%s/flat-simgrid-XXXXXX", RONDE_SCRATCH_DIR);
    const int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    CU_ASSERT_FATAL(file != NULL);
    fputs(text.bytes, file);
    fclose(file);
    if (ronde_platform_read(path, ronde_mem_default(), &platform, &error) != RONDE_OK)
        suite_note("%s\n%s", error.message, text.bytes);
    CU_ASSERT_FATAL(platform != NULL);
    return platform;
}

/** A random schedule of any algorithm; NULL where that does not support the ranks. */
static struct ronde_schedule *draw_schedule(uint32_t ranks, uint64_t *random)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    const struct ronde_algorithm *algorithm = algorithms[pick(random, 0, count - 1)];
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = pick(random, 0, 4) == 0 ? 2 : 0};
    struct ronde_schedule *schedule = NULL;
    if (algorithm->supports(&request, NULL) == RONDE_OK)
        CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) ==
                        RONDE_OK);
    return schedule;
}

/** What came out. */
struct tally {
    unsigned compared;   /**< certified loads */
    unsigned symmetric;  /**< of them on the quotient */
    unsigned contended;  /**< loads in which flows shared links */
    double worst;        /**< relative difference of the certified */
    double worst_shared; /**< of the others */
};

/** An engine of ours and SimGrid; returns how far they are apart. */
static double difference_of(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                            const char *engine, struct ronde_sim_result *out_result)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_sim_result simgrid = {0};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_sim_job_run(job, engine, options, mem, out_result, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_sim_job_run(job, "simgrid", options, mem, &simgrid, &error),
                          RONDE_OK);
    const double difference = fabs(out_result->time_ns - simgrid.time_ns) / simgrid.time_ns;
    CU_ASSERT(difference <= TOLERANCE);
    if (difference > TOLERANCE)
        suite_note("%s on %u ranks, %llu elements, slot %llu, %s: %s %.17g ns, simgrid %.17g ns",
                   job->schedule->algorithm, job->schedule->ranks,
                   (unsigned long long)job->load->count, (unsigned long long)job->load->slot_bytes,
                   ronde_platform_path(job->platform), out_result->engine, out_result->time_ns,
                   simgrid.time_ns);
    return difference;
}

/** Flat where auto certifies it, else maxmin, and SimGrid. */
static void compare(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                    struct tally *tally)
{
    struct ronde_sim_result result = {0};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_sim_job_run(job, "flat", options, ronde_mem_default(), &result,
                                            &error),
                          RONDE_OK);
    if (!result.is_contention_free) {
        const double difference = difference_of(job, options, "maxmin", &result);
        CU_ASSERT_STRING_EQUAL(result.engine, "maxmin");
        tally->worst_shared = fmax(tally->worst_shared, difference);
        tally->contended++;
        return;
    }
    tally->worst = fmax(tally->worst, difference_of(job, options, "auto", &result));
    CU_ASSERT_STRING_EQUAL(result.engine, "flat");
    tally->symmetric += result.is_symmetric;
    tally->compared++;
}

/** One random load on one random platform. */
static void try_one(uint64_t *random, struct tally *tally)
{
    const uint32_t hosts = pick(random, 2, MOST_HOSTS);
    struct ronde_schedule *schedule = draw_schedule(pick(random, 2, hosts), random);
    char path[256];
    if (!schedule)
        return;
    struct ronde_platform *platform = draw_platform(hosts, random, path, sizeof path);
    const struct ronde_load load = {.count = pick(random, 1, 4000),
                                    .dtype = RONDE_FLOAT32,
                                    .slot_bytes = pick(random, 0, 2) ? 0 : 4096};
    struct ronde_time_params params = {.alpha_ns = pick(random, 0, 1) * 431.0,
                                       .step_ns = pick(random, 0, 1) * 97.0,
                                       .launch_ns = 1000,
                                       .gamma_GBps = pick(random, 0, 1) * 29.0,
                                       .lane_GBps = pick(random, 0, 1) * 4.0};
    if (pick(random, 0, 2) == 0) {
        params.send = (struct ronde_sized_ns){2, {16, 4000}, {pick(random, 0, 500), 2000}};
        params.receive = (struct ronde_sized_ns){2, {64, 900}, {333, pick(random, 0, 900)}};
    }
    double releases_ns[MOST_HOSTS];
    for (uint32_t i = 0; i < MOST_HOSTS; i++)
        releases_ns[i] = pick(random, 0, 3) * 812.5;
    const struct ronde_sim_options options = {.release_ns = pick(random, 0, 2) ? NULL : releases_ns};
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    if (schedule->proof.steps * schedule->channel_count * (load.slot_bytes ? 4000 * 4 / 16 : 1) <=
        MOST_OPS * 50ull)
        compare(&job, &options, tally);
    ronde_platform_destroy(platform);
    unlink(path);
    ronde_schedule_destroy(schedule);
}

static void replays_equal_simgrid(void)
{
    const char *reason = NULL;
    struct tally tally = {0};
    uint64_t random = 20;
    if (!ronde_topologies_available(&reason) || !ronde_sim_simgrid_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    for (uint32_t trial = 0; trial < MOST_TRIALS && tally.compared < MOST_COMPARED; trial++)
        try_one(&random, &tally);
    suite_note("%u loads compared, %u on the quotient, worst difference %.1e; %u contended, %.1e",
               tally.compared, tally.symmetric, tally.worst, tally.contended, tally.worst_shared);
    CU_ASSERT(tally.compared >= 300);
    CU_ASSERT(tally.symmetric >= 50 && tally.contended >= 50);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"replays_equal_simgrid", replays_equal_simgrid},
    };
    return suite_run("flat_simgrid", cases, sizeof cases / sizeof cases[0]);
}
