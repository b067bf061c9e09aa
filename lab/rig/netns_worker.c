/* A process in a host of a rig. See rig.h. */
#include "rig.h"

#include "ronde/comm.h"
#include "ronde/hw.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* How much of the machine others use. */

/* Other processes may keep so many processors busy. */
#define OTHERS_CORES 0.3

/*
 * A host of virtual machines may take so much of a processor. What it takes stops the token buckets, which lose what they
 * would have passed meanwhile: 14 % of a stream of 200 Mbit/s where 6 % of a processor was taken.
 */
#define STOLEN_CORES 0.02

static double ticks_to_ns(unsigned long long ticks)
{
    const long per_second = sysconf(_SC_CLK_TCK);
    return per_second > 0 ? (double)ticks * 1e9 / (double)per_second : 0.0;
}

/* Interrupts are left out: those of the network under test are among them. */
static void read_processors(struct ronde_cpu_noise *reading)
{
    unsigned long long user = 0, nice = 0, system = 0, stolen = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (!file)
        return;
    if (fscanf(file, "cpu %llu %llu %llu %*u %*u %*u %*u %llu", &user, &nice, &system, &stolen) ==
        4) {
        reading->busy_ns = ticks_to_ns(user + nice + system);
        reading->stolen_ns = ticks_to_ns(stolen);
    }
    fclose(file);
}

double ronde_process_ns(pid_t process)
{
    char path[48];
    double running_ns = 0.0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)process);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0.0;
    if (fscanf(file, "%lf", &running_ns) != 1)
        running_ns = 0.0;
    fclose(file);
    return running_ns;
}

/** Processor time of this process, ns. */
static double read_own_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0.0;
    return 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct ronde_cpu_noise ronde_cpu_noise_read(pid_t helper)
{
    struct ronde_cpu_noise reading = {.at_ns = ronde_clock_ns(), .own_ns = read_own_ns()};
    read_processors(&reading);
    if (helper > 0)
        reading.own_ns += ronde_process_ns(helper);
    return reading;
}

bool ronde_cpu_noise_disturbs(const struct ronde_cpu_noise *before,
                              const struct ronde_cpu_noise *after, double netns_ns)
{
    const double span_ns = after->at_ns - before->at_ns;
    const double others_ns =
        after->busy_ns - before->busy_ns - (after->own_ns - before->own_ns) - netns_ns;
    const double stolen_ns = after->stolen_ns - before->stolen_ns;
    return others_ns > OTHERS_CORES * span_ns || stolen_ns > STOLEN_CORES * span_ns;
}

/* Where rank 0 listens, in the network that tests/rig/up makes. */
#define RENDEZVOUS_HOST "10.77.0.1"
#define RENDEZVOUS_PORT 7700

/* A job as a rank has it. */
struct part {
    struct ronde_benchmark benchmark;
    struct ronde_memory memory;
};

/* A rank, in its host. */
struct rank {
    const struct ronde_netns_worker *worker;
    struct ronde_target target;
    struct part *parts;
    double own_ns;     /* processor time at the last answer */
    double wire_bytes; /* sent until then */
};

static enum ronde_status enter_host(const struct ronde_netns_worker *worker,
                                    struct ronde_error *error)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/ronde-%s-%u", worker->plan->rig, worker->rank);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "%s: no such host; tests/rig/up makes a cluster and prints its name",
                          path);
    const int moved = setns(space, CLONE_NEWNET);
    close(space);
    return moved == 0 ? RONDE_OK
                      : ronde_fail(error, RONDE_UNAVAILABLE, "%s: %s", path, strerror(errno));
}

/*
 * The hosts are one machine to UCX, too, so it is told to go through the network. Messages go out as they are posted:
 * asking the receiver first would cost a round trip each.
 */
static bool choose_transport(void)
{
    return setenv("UCX_TLS", "tcp,self", 0) == 0 && setenv("UCX_NET_DEVICES", "eth0", 0) == 0 &&
           setenv("UCX_RNDV_THRESH", "inf", 0) == 0;
}

/*
 * Meets the others. How a rank waits is decided then, by how many processors all of them may use: few ranks that stand
 * for many pretend to have one, the same one.
 */
static enum ronde_status join_rendezvous(const struct ronde_netns_plan *plan,
                                         const struct ronde_join *rendezvous,
                                         const struct ronde_comm_options *choices,
                                         struct ronde_comm **out_comm, struct ronde_error *error)
{
    cpu_set_t usable, one;
    size_t first = 0;
    CPU_ZERO(&usable);
    CPU_ZERO(&one);
    const bool is_known = sched_getaffinity(0, sizeof usable, &usable) == 0;
    while (first + 1 < CPU_SETSIZE && !CPU_ISSET(first, &usable))
        first++;
    CPU_SET(first, &one);
    const bool pretends =
        plan->is_oversubscribed && is_known && sched_setaffinity(0, sizeof one, &one) == 0;
    const enum ronde_status status =
        ronde_comm_join(rendezvous, choices, ronde_mem_default(), out_comm, error);
    if (pretends)
        (void)sched_setaffinity(0, sizeof usable, &usable);
    return status;
}

static enum ronde_status join(struct rank *rank, struct ronde_error *error)
{
    const struct ronde_netns_worker *worker = rank->worker;
    const struct ronde_benchmark_options *options = &worker->plan->options;
    const struct ronde_join rendezvous = {.host = RENDEZVOUS_HOST,
                                          .port = RENDEZVOUS_PORT,
                                          .token = worker->token,
                                          .rank = worker->rank,
                                          .ranks = worker->plan->ranks};
    const struct ronde_comm_options choices = {.transport = RONDE_TRANSPORT_UCX,
                                               .plan = {options->slot_bytes, options->depth}};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = enter_host(worker, error);
    if (status == RONDE_OK && !choose_transport())
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for the environment");
    RONDE_THEN(status, join_rendezvous(worker->plan, &rendezvous, &choices, &comm, error));
    RONDE_THEN(status, ronde_backend_comm.probe(&rank->target.machine, error));
    rank->target.backend = &ronde_backend_comm;
    rank->target.self = comm;
    return status;
}

static enum ronde_status load(struct rank *rank, const struct ronde_netns_job *job,
                              struct part *part, struct ronde_error *error)
{
    RONDE_TRY(ronde_benchmark_open(&rank->target, job->schedule, &rank->worker->plan->options,
                                   &part->benchmark, error));
    struct ronde_input_range shape = part->benchmark.shape;
    shape.count = job->max_count;
    const enum ronde_status status =
        ronde_memory_create_only(&shape, rank->worker->rank, ronde_mem_default(), &part->memory,
                                 error);
    ronde_benchmark_aim(&part->benchmark, &part->memory, shape.count, false);
    if (status == RONDE_OK)
        ronde_memory_fill(&part->memory, &part->benchmark.shape, RONDE_PATTERN_ANY);
    return status;
}

static enum ronde_status load_all(struct rank *rank, struct ronde_error *error)
{
    const struct ronde_netns_plan *plan = rank->worker->plan;
    rank->parts = ronde_mem_new(ronde_mem_default(), plan->job_count, sizeof *rank->parts);
    if (!rank->parts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u jobs", plan->job_count);
    for (uint32_t j = 0; j < plan->job_count; j++)
        RONDE_TRY(load(rank, &plan->jobs[j], &rank->parts[j], error));
    return RONDE_OK;
}

/* Asked of the device, which is the one of the rank's own network by now. */
static double read_mtu(void)
{
    struct ifreq request;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "eth0");
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool has_told = any >= 0 && ioctl(any, SIOCGIFMTU, &request) == 0;
    if (any >= 0)
        close(any);
    return has_told ? request.ifr_mtu : 0.0;
}

/* What has left eth0 since there is one; 0 where the system does not say. The files of /sys are another network's. */
static double read_wire(void)
{
    char line[512];
    double sent_bytes = 0.0;
    FILE *file = fopen("/proc/self/net/dev", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *counters = strstr(line, "eth0:");
        if (counters)
            (void)sscanf(counters, "eth0: %*s %*s %*s %*s %*s %*s %*s %*s %lf", &sent_bytes);
    }
    if (file)
        fclose(file);
    return sent_bytes;
}

static void sleep_until(double at_ns)
{
    const struct timespec at = {(time_t)(at_ns / 1e9),
                                (long)(at_ns - 1e9 * (double)(time_t)(at_ns / 1e9))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

static enum ronde_status run(struct part *part, const struct ronde_netns_order *order,
                             struct ronde_netns_reply *reply, struct ronde_error *error)
{
    double elapsed_ns = 0.0;
    ronde_benchmark_aim(&part->benchmark, &part->memory, order->run.count, order->run.in_place);
    sleep_until(order->start_ns);
    reply->start_ns = ronde_clock_ns();
    const enum ronde_status status = ronde_benchmark_run(&part->benchmark, &elapsed_ns, error);
    reply->end_ns = ronde_clock_ns();
    return status;
}

static enum ronde_status check(struct part *part, const struct ronde_netns_order *order,
                               struct ronde_netns_reply *reply, struct ronde_error *error)
{
    uint64_t wrong[2] = {0, 0};
    const enum ronde_status status =
        ronde_benchmark_check(&part->benchmark, &part->memory, order->run.count, wrong, error);
    reply->wrong = wrong[0] + wrong[1];
    return status;
}

static bool answer(struct rank *rank, enum ronde_status status, const struct ronde_error *error,
                   struct ronde_netns_reply *reply)
{
    const double own_ns = read_own_ns();
    const double wire_bytes = read_wire();
    reply->status = status;
    reply->own_ns = own_ns - rank->own_ns;
    reply->wire_bytes = wire_bytes - rank->wire_bytes;
    rank->own_ns = own_ns;
    rank->wire_bytes = wire_bytes;
    if (status != RONDE_OK)
        snprintf(reply->message, sizeof reply->message, "%.200s", error->message);
    return write(rank->worker->orders, reply, sizeof *reply) == (ssize_t)sizeof *reply &&
           status == RONDE_OK;
}

/* Until it is told to quit, or nobody is there to tell. */
static void serve(struct rank *rank)
{
    struct ronde_netns_order order;
    bool goes_on = true;
    while (goes_on && read(rank->worker->orders, &order, sizeof order) == (ssize_t)sizeof order &&
           order.verb != RONDE_NETNS_QUIT) {
        struct ronde_netns_reply reply = {0};
        struct ronde_error error = {0};
        struct part *part = &rank->parts[order.run.job];
        const enum ronde_status status = order.verb == RONDE_NETNS_RUN
                                             ? run(part, &order, &reply, &error)
                                             : check(part, &order, &reply, &error);
        goes_on = answer(rank, status, &error, &reply);
    }
}

_Noreturn void ronde_netns_be_rank(const struct ronde_netns_worker *worker)
{
    struct rank rank = {.worker = worker};
    struct ronde_error error = {0};
    struct ronde_netns_reply reply = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Sleeping ranks are woken when they asked to be, not some tens of microseconds later. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    enum ronde_status status = join(&rank, &error);
    RONDE_THEN(status, load_all(&rank, &error));
    reply.mtu_bytes = read_mtu();
    if (answer(&rank, status, &error, &reply))
        serve(&rank);
    for (uint32_t j = 0; rank.parts && j < worker->plan->job_count; j++) {
        ronde_benchmark_close(&rank.parts[j].benchmark);
        ronde_memory_destroy(&rank.parts[j].memory);
    }
    ronde_mem_free(ronde_mem_default(), rank.parts, worker->plan->job_count, sizeof *rank.parts);
    ronde_comm_destroy(rank.target.self);
    /* What the parent had open and buffered is its own to close. */
    _exit(0);
}
