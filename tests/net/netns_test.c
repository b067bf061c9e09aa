/*
 * UCX between hosts: network namespaces that the test makes, joined by a bridge; a link that goes down and comes back.
 *
 * Nothing outside the namespaces is touched; where they are not permitted every case is skipped.
 */
#include "net/run.h"
#include "support/suite.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Hosts, and ranks of each where they share some: both can be asked for by RONDE_TEST_HOSTS, RONDE_TEST_RANKS_PER_HOST. */
#define HOSTS 4u
#define RANKS_PER_HOST 2u

/* Random collectives between the hosts, times ranks: with many ranks each takes long. */
#define RUNS_BY_RANKS 240u

static struct team_result results[TEAM_MAX];

/* What the children need to know of their parent's namespaces. */
struct rig {
    int owner; /* in the names, so that two tests do not meet */
    uint16_t port;
    uint32_t hosts;
    uint32_t per_host;   /* ranks */
    const char *address; /* of the hosts, without their numbers */
    const char *mask;    /* of their network, and how an address is to be added */
};

/* The hosts' network, of either version. */
#define NETWORK_4 "10.77.0.", "/24"
#define NETWORK_6 "fd77::", "/64 nodad"

static uint32_t ranks_of(const struct rig *rig)
{
    return rig->hosts * rig->per_host;
}

/* A command of the shell; false if it fails. */
static bool shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool shell(const char *format, ...)
{
    char command[400];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(command, sizeof command - 16, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof command - 16)
        return false;
    strcat(command, " 2>/dev/null");
    return system(command) == 0;
}

static void tear_down(const struct rig *rig)
{
    for (uint32_t host = 0; host < rig->hosts; host++)
        (void)shell("ip netns del ronde-%d-h%u", rig->owner, host);
    (void)shell("ip netns del ronde-%d-bridge", rig->owner);
}

/* A host: its namespace, and a cable from there to the bridge. */
static bool add_host(const struct rig *rig, uint32_t host)
{
    const int owner = rig->owner;
    return shell("ip netns add ronde-%d-h%u", owner, host) &&
           shell(
               "ip -n ronde-%d-h%u link add eth0 type veth peer name port%u netns ronde-%d-bridge",
               owner, host, host, owner) &&
           shell("ip -n ronde-%d-h%u addr add %s%u%s dev eth0", owner, host, rig->address, host + 1,
                 rig->mask) &&
           shell("ip -n ronde-%d-h%u link set lo up", owner, host) &&
           shell("ip -n ronde-%d-h%u link set eth0 up", owner, host) &&
           shell("ip -n ronde-%d-bridge link set port%u master bridge up", owner, host);
}

/* False, after a visible skip, where namespaces or UCX are not to be had. */
static bool set_up(struct rig *rig)
{
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_skip("%s", reason);
        return false;
    }
    if (system("command -v ip >/dev/null") != 0) {
        suite_skip("ip is not installed (apt: iproute2)");
        return false;
    }
    bool is_up = shell("ip netns add ronde-%d-bridge", rig->owner) &&
                 shell("ip -n ronde-%d-bridge link add bridge type bridge", rig->owner) &&
                 shell("ip -n ronde-%d-bridge link set bridge up", rig->owner);
    for (uint32_t host = 0; host < rig->hosts && is_up; host++)
        is_up = add_host(rig, host);
    if (is_up)
        return true;
    tear_down(rig);
    suite_skip("network namespaces are not permitted here");
    return false;
}

/* Moves the process to its host, where it meets the others at rank 0's address. */
static bool enter(const struct team_member *member, const struct rig *rig,
                  struct ronde_join *out_join)
{
    static char first[32];
    char path[80];
    snprintf(first, sizeof first, "%s1", rig->address);
    snprintf(path, sizeof path, "/run/netns/ronde-%d-h%u", rig->owner,
             member->join.rank / rig->per_host);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_there = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    if (fd >= 0)
        close(fd);
    if (member->join.has_listener)
        close(member->join.listener);
    *out_join = member->join;
    out_join->has_listener = false;
    out_join->host = first;
    out_join->port = rig->port;
    /* The hosts are one machine to UCX, too. */
    return is_there && setenv("UCX_TLS", "tcp,self", 1) == 0 &&
           setenv("UCX_NET_DEVICES", "eth0", 1) == 0;
}

/* What hosts of one rank and hosts of several ranks make of the same wish. */
static bool has_nearest_way(const struct rig *rig, const struct ronde_comm *comm)
{
    return ronde_comm_transport(comm) ==
           (rig->per_host == 1 ? RONDE_TRANSPORT_UCX : RONDE_TRANSPORT_HYBRID);
}

/* Random schedules, each run some times. */
static enum ronde_status run_draws(const struct team_member *member, struct ronde_comm *comm,
                                   uint32_t runs, struct ronde_error *error)
{
    const struct ronde_comm_plan plan = {0, 0};
    uint64_t random = 77;
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < runs && status == RONDE_OK; k += 3) {
        struct ronde_schedule *schedule = run_draw_schedule(ronde_comm_ranks(comm), &random);
        struct ronde_comm_program *program = NULL;
        status = ronde_comm_load(comm, schedule, &plan, &program, error);
        for (uint32_t again = 0; again < 3 && status == RONDE_OK; again++)
            status = run_random(member, comm, program, schedule, &random, error);
        ronde_comm_unload(program);
        ronde_schedule_destroy(schedule);
    }
    return status;
}

static enum ronde_status work_between_hosts(const struct team_member *member,
                                            struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(30);
    const struct rig *rig = member->self;
    struct ronde_join join;
    struct ronde_comm *comm = NULL;
    if (!team_check(member, enter(member, rig, &join), "no way into the host"))
        return RONDE_DEVICE;
    enum ronde_status status = ronde_comm_join(&join, &options, ronde_mem_default(), &comm, error);
    if (status == RONDE_OK)
        (void)team_check(member, has_nearest_way(rig, comm), "the wrong transport");
    if (status == RONDE_OK)
        status = run_draws(member, comm, RUNS_BY_RANKS / join.ranks, error);
    /* Groups meet at addresses that the communicator knows. */
    struct ronde_comm *pair = NULL;
    if (status == RONDE_OK)
        status = ronde_comm_split(comm, join.rank / 2, 0, &pair, error);
    if (status == RONDE_OK)
        status = run_sums(member, pair, "ring", 3, error);
    ronde_comm_destroy(pair);
    ronde_comm_destroy(comm);
    return status;
}

static void expect_hosts(struct rig rig, team_part part)
{
    if (!set_up(&rig))
        return;
    CU_ASSERT(team_run(ranks_of(&rig), part, &rig, results));
    team_expect(results, ranks_of(&rig), RONDE_OK);
    tear_down(&rig);
}

static void hosts_leave_what_host_leaves(void)
{
    expect_hosts((struct rig){(int)getpid(), 7700, HOSTS, 1, NETWORK_4}, work_between_hosts);
}

static void hosts_that_know_only_version_6_work_alike(void)
{
    expect_hosts((struct rig){(int)getpid(), 7700, HOSTS, 1, NETWORK_6}, work_between_hosts);
}

/* A callback over another communicator stands in for a launcher's, which knows no addresses. */
static enum ronde_status gather_through(void *self, const void *mine, size_t bytes, void *out_all,
                                        struct ronde_error *error)
{
    return ronde_comm_allgather(self, mine, bytes, out_all, error);
}

/*
 * All hosts bear one name, which none of them knows but as its own. Ranks of the first host meet through the loopback;
 * groups that one of them leads are met by ranks of the others all the same.
 */
static enum ronde_status come_by_callback(const struct team_member *member,
                                          struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(30);
    const struct rig *rig = member->self;
    struct ronde_join join;
    struct ronde_comm *helper = NULL;
    struct ronde_comm *comm = NULL;
    struct ronde_comm *group = NULL;
    if (!team_check(member, enter(member, rig, &join), "no way into the host"))
        return RONDE_DEVICE;
    enum ronde_status status = ronde_comm_join(&join, &options, ronde_mem_default(), &helper, error);
    const struct ronde_bootstrap callback = {helper, join.rank, join.ranks, gather_through};
    if (status == RONDE_OK)
        status = ronde_comm_create(&callback, &options, ronde_mem_default(), &comm, error);
    if (status == RONDE_OK)
        (void)team_check(member, has_nearest_way(rig, comm), "the wrong transport");
    if (status == RONDE_OK)
        status = ronde_comm_split(comm, join.rank % rig->per_host, 0, &group, error);
    if (status == RONDE_OK)
        status = run_sums(member, group, "ring", 3, error);
    ronde_comm_destroy(group);
    group = NULL;
    /* The last host's last rank leads. */
    if (status == RONDE_OK)
        status = ronde_comm_split(comm, 0, join.ranks - join.rank, &group, error);
    if (status == RONDE_OK)
        status = run_sums(member, group, "ring", 3, error);
    ronde_comm_destroy(group);
    ronde_comm_destroy(comm);
    ronde_comm_destroy(helper);
    return status;
}

static void a_callback_joins_hosts_that_bear_one_name(void)
{
    expect_hosts((struct rig){(int)getpid(), 7700, HOSTS, RANKS_PER_HOST, NETWORK_4},
                 come_by_callback);
}

static void a_callback_joins_hosts_that_know_only_version_6(void)
{
    expect_hosts((struct rig){(int)getpid(), 7700, HOSTS, RANKS_PER_HOST, NETWORK_6},
                 come_by_callback);
}

static uint32_t number_of(const char *variable, uint32_t otherwise)
{
    const char *text = getenv(variable);
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void ranks_of_a_host_share_memory_and_reach_the_others(void)
{
    const uint32_t hosts = number_of("RONDE_TEST_HOSTS", HOSTS);
    const uint32_t per_host = number_of("RONDE_TEST_RANKS_PER_HOST", RANKS_PER_HOST);
    CU_ASSERT_FATAL(hosts * per_host <= TEAM_MAX);
    expect_hosts((struct rig){(int)getpid(), 7700, hosts, per_host, NETWORK_4}, work_between_hosts);
    suite_note("%u hosts of %u ranks", hosts, per_host);
}

/* Sums until the link of the last host is cut; then again over a new communicator. */
static enum ronde_status lose_a_link(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(30);
    const struct ronde_comm_plan plan = {0, 0};
    const struct rig *rig = member->self;
    struct ronde_join join;
    struct ronde_comm *comm = NULL;
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = NULL;
    if (!team_check(member, enter(member, rig, &join), "no way into the host"))
        return RONDE_DEVICE;
    enum ronde_status status = ronde_comm_join(&join, &options, ronde_mem_default(), &comm, error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 3, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", join.ranks, 0, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(comm, schedule, &plan, &program, error);
    if (status == RONDE_OK && join.rank == 0)
        (void)team_check(member,
                         shell("ip -n ronde-%d-bridge link set port%u down", rig->owner,
                               rig->hosts - 1),
                         "the link stays up");
    if (status == RONDE_OK) {
        struct run_sum sum;
        struct ronde_launch launch = run_sum_launch(&sum, join.rank);
        launch.timeout_ns = UINT64_C(1500000000);
        /* Ranks that are not cut off may still be through with the first. */
        for (uint32_t k = 0; k < 3 && status == RONDE_OK; k++)
            status = run_launch(program, &launch, error);
    }
    ronde_comm_unload(program);
    ronde_comm_destroy(comm);
    ronde_schedule_destroy(schedule);
    comm = NULL;
    if (join.rank == 0)
        (void)team_check(member,
                         shell("ip -n ronde-%d-bridge link set port%u up", rig->owner,
                               rig->hosts - 1),
                         "the link stays down");
    /* The kernel looks once a second which links are up again. */
    if (join.rank == 0)
        sleep(1);
    struct ronde_error unexpected = {0};
    join.port++;
    enum ronde_status second =
        ronde_comm_join(&join, &options, ronde_mem_default(), &comm, &unexpected);
    if (second == RONDE_OK)
        second = run_sums(member, comm, "ring", 3, &unexpected);
    (void)team_check(member, second == RONDE_OK, unexpected.message);
    ronde_comm_destroy(comm);
    return status;
}

static void expect_cut_and_mended(uint32_t per_host)
{
    struct rig rig = {(int)getpid(), 7700, HOSTS, per_host, NETWORK_4};
    if (!set_up(&rig))
        return;
    CU_ASSERT(team_run(ranks_of(&rig), lose_a_link, &rig, results));
    for (uint32_t rank = 0; rank < ranks_of(&rig); rank++) {
        CU_ASSERT_EQUAL(results[rank].failures, 0);
        CU_ASSERT_EQUAL(results[rank].exit_code, 0);
        CU_ASSERT(results[rank].status == RONDE_TIMEOUT || results[rank].status == RONDE_DEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank "));
        CU_ASSERT(results[rank].status == RONDE_DEVICE ||
                  strstr(results[rank].message, "its host does not answer"));
        if (results[rank].failures > 0)
            suite_note("rank %u: \"%s\", then %s", rank, results[rank].message,
                       results[rank].failure);
    }
    suite_note("rank 0: %s", results[0].message);
    tear_down(&rig);
}

static void a_cut_link_is_an_error_and_a_mended_one_works(void)
{
    expect_cut_and_mended(1);
}

static void a_host_that_is_cut_off_is_an_error_for_all_its_ranks(void)
{
    expect_cut_and_mended(RANKS_PER_HOST);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"hosts_leave_what_host_leaves", hosts_leave_what_host_leaves},
        {"hosts_that_know_only_version_6_work_alike", hosts_that_know_only_version_6_work_alike},
        {"a_callback_joins_hosts_that_bear_one_name", a_callback_joins_hosts_that_bear_one_name},
        {"a_callback_joins_hosts_that_know_only_version_6",
         a_callback_joins_hosts_that_know_only_version_6},
        {"a_cut_link_is_an_error_and_a_mended_one_works",
         a_cut_link_is_an_error_and_a_mended_one_works},
        {"ranks_of_a_host_share_memory_and_reach_the_others",
         ranks_of_a_host_share_memory_and_reach_the_others},
        {"a_host_that_is_cut_off_is_an_error_for_all_its_ranks",
         a_host_that_is_cut_off_is_an_error_for_all_its_ranks},
    };
    team_transport = RONDE_TRANSPORT_HYBRID;
    return suite_run("netns", cases, sizeof cases / sizeof cases[0]);
}
