/*
 * Memory that ranks read of each other without help: registered, or through the kernel (CMA).
 */
#include "hw/shm/remote_read.h"
#include "net/large.h"
#include "net/run.h"
#include "support/suite.h"

#include "ronde/schedules.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* A reader in the same process maps registered memory as one in another process does. */
static void registered_memory_is_read_through_a_mapping(void)
{
    struct ronde_memory_descriptor descriptor = {0};
    struct ronde_registered_memory registered;
    struct ronde_memory_mapping mapping = {0};
    ronde_registered_memory_init(&registered, &descriptor, ronde_mem_default());
    CU_ASSERT_FALSE(ronde_memory_mapping_open(&mapping, &descriptor));
    char *first = ronde_mem_new(&registered.own, 10, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    strcpy(first, "first");
    CU_ASSERT_FATAL(ronde_memory_mapping_open(&mapping, &descriptor));
    const unsigned char *seen = ronde_memory_mapping_find(&mapping, (unsigned char *)first, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
    CU_ASSERT_PTR_NOT_EQUAL(seen, (unsigned char *)first);
    CU_ASSERT_STRING_EQUAL((const char *)seen, "first");
    /* Beyond the end of the mapping, until it is opened again. */
    char *large = ronde_mem_new(&registered.own, 5u << 20, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    strcpy(large, "large");
    CU_ASSERT_PTR_NULL(ronde_memory_mapping_find(&mapping, (unsigned char *)large, 5u << 20));
    CU_ASSERT_FATAL(ronde_memory_mapping_open(&mapping, &descriptor));
    seen = ronde_memory_mapping_find(&mapping, (unsigned char *)large, 5u << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
    CU_ASSERT_STRING_EQUAL((const char *)seen, "large");
    /* A mapping outlives the registered memory. */
    ronde_registered_memory_close(&registered);
    CU_ASSERT_STRING_EQUAL((const char *)seen, "large");
    ronde_memory_mapping_close(&mapping);
}

static void registered_memory_reuses_gaps_and_finds_its_blocks(void)
{
    struct ronde_memory_descriptor descriptor = {0};
    struct ronde_registered_memory registered;
    void *blocks[4];
    ronde_registered_memory_init(&registered, &descriptor, ronde_mem_default());
    for (size_t k = 0; k < 4; k++) {
        blocks[k] = ronde_mem_new(&registered.own, 3000, 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[k]);
        memset(blocks[k], (int)k + 1, 3000);
    }
    const uint64_t used = descriptor.bytes;
    CU_ASSERT(ronde_registered_memory_holds(&registered, blocks[1], 3000));
    CU_ASSERT_FALSE(ronde_registered_memory_holds(&registered, blocks[1], 10000));
    CU_ASSERT_FALSE(ronde_registered_memory_holds(&registered, &registered, 1));
    ronde_mem_free(&registered.own, blocks[1], 3000, 1);
    CU_ASSERT_FALSE(ronde_registered_memory_holds(&registered, blocks[1], 3000));
    unsigned char *again = ronde_mem_new(&registered.own, 3000, 1);
    CU_ASSERT_PTR_EQUAL(again, blocks[1]);
    CU_ASSERT_EQUAL(again[0], 0);
    CU_ASSERT_EQUAL(descriptor.bytes, used);
    /* Growing keeps what is there. */
    unsigned char *grown = registered.own.resize(registered.own.self, blocks[3], 3000, 200000);
    CU_ASSERT_PTR_NOT_NULL_FATAL(grown);
    CU_ASSERT_EQUAL(grown[2999], 4);
    /* More than the machine has is refused, and leaves everything as it was. */
    CU_ASSERT_PTR_NULL(ronde_mem_new(&registered.own, SIZE_MAX / 4, 1));
    CU_ASSERT_EQUAL(((unsigned char *)blocks[2])[0], 3);
    ronde_registered_memory_close(&registered);
}

/* Every send that ranks apart may offer waits out of place for nothing that it does not wait for in place. */
static void mixed_placements_wait_for_no_more_than_one(void)
{
    static const uint32_t sizes[] = {2, 3, 4, 6, 8, 9};
    uint32_t algorithm_count;
    uint64_t sends = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&algorithm_count);
    for (uint32_t k = 0; k < algorithm_count * 6; k++) {
        const struct ronde_algorithm *algorithm = algorithms[k / 6];
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        if (!ronde_collective_traits(algorithm->collective)->has_in_place ||
            run_compile(algorithm->collective, algorithm->name, sizes[k % 6], 0, &schedule,
                        &error) != RONDE_OK)
            continue;
        for (uint32_t p = 0; p < schedule->program_count; p++) {
            const struct ronde_program *program = &schedule->programs[p];
            for (uint32_t s = 0; s < program->step_count; s++) {
                const uint8_t buffered = RONDE_FLAG_BUFFERED | RONDE_FLAG_BUFFERED_IN_PLACE;
                const struct ronde_step_lowering *lowering = &program->lowering[s];
                if ((program->steps[s].flags & buffered) != 0 ||
                    lowering->reuse_step[0] == RONDE_NONE)
                    continue;
                CU_ASSERT_EQUAL(lowering->reuse_step[0], lowering->reuse_step[1]);
                sends++;
            }
        }
        ronde_schedule_destroy(schedule);
    }
    CU_ASSERT(sends >= 50);
}

static struct large_how how_of(bool is_registered)
{
    return (struct large_how){RONDE_PROTOCOL_PULL, is_registered, NULL};
}

/* Rank 1 offers what it has and dies; the others may be reading it. */
static enum ronde_status die_offering(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    struct large large;
    enum ronde_status status =
        large_open(member, how_of(*(const bool *)member->self), &options, &large, error);
    bool is_done = false;
    if (status == RONDE_OK)
        status = large_run(member, &large, error);
    if (status == RONDE_OK)
        status = ronde_comm_run(large.program, &large.launch, error);
    if (status == RONDE_OK)
        status = ronde_comm_test(large.program, &is_done, error);
    if (status == RONDE_OK && member->join.rank == 1)
        raise(SIGKILL);
    while (status == RONDE_OK && !is_done)
        status = ronde_comm_test(large.program, &is_done, error);
    large_close(&large);
    return status;
}

static void a_rank_that_dies_offering_is_named(void)
{
    for (int is_registered = 0; is_registered < 2; is_registered++) {
        const bool flag = is_registered != 0;
        CU_ASSERT_FATAL(team_run(3, die_offering, &flag, results));
        CU_ASSERT_EQUAL(results[1].signal, SIGKILL);
        for (uint32_t rank = 0; rank < 3; rank += 2) {
            team_expect(&results[rank], 1, RONDE_DEVICE);
            CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1"));
            if (!strstr(results[rank].message, "rank 1"))
                suite_note("rank %u: \"%s\" %s", rank, results[rank].message, results[rank].failure);
        }
    }
}

/* Makes the kernel refuse to read other processes, as containers do. */
static bool forbid_reading(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void store_note(void *self, const char *text)
{
    snprintf(self, 256, "%s", text);
}

/* Rank 2 may not read: the ranks of its host copy what is not registered, and go on to pull what is. */
static enum ronde_status be_forbidden(const struct team_member *member, struct ronde_error *error)
{
    char note[256] = "";
    struct ronde_comm_options options = team_options(20);
    options.note = store_note;
    options.note_self = note;
    if (member->join.rank == 2 && !forbid_reading()) {
        member->result->number = 1;
        return RONDE_OK;
    }
    enum ronde_status status = RONDE_OK;
    for (int is_registered = 0; is_registered < 2 && status == RONDE_OK; is_registered++) {
        struct team_member again = *member;
        char token[32];
        snprintf(token, sizeof token, "forbidden-%u-%d", member->join.port, is_registered);
        again.join.token = token;
        again.join.host = NULL;
        again.join.has_listener = false;
        struct large large;
        status = large_open(&again, how_of(is_registered != 0), &options, &large, error);
        const bool is_pulled = large.launch.protocol == RONDE_PROTOCOL_PULL;
        const bool is_elsewhere = team_ranks_per_host == 2 && member->join.rank < 2;
        (void)team_check(member,
                         status != RONDE_OK || is_pulled == (is_registered != 0 || is_elsewhere),
                         "what the kernel refuses is not copied");
        if (status == RONDE_OK)
            status = large_run(member, &large, error);
        large_close(&large);
    }
    const uint32_t reporter = team_ranks_per_host == 2 ? 2 : 0;
    (void)team_check(member,
                     member->join.rank != reporter ||
                         strstr(note, "rank 2 cannot read the memory of"),
                     "no note was given");
    return status;
}

static void cma_that_is_refused_is_noted_and_done_without(void)
{
    CU_ASSERT_FATAL(team_run(3, be_forbidden, NULL, results));
    if (results[2].number == 1)
        suite_skip("the system lets no process filter its calls");
    team_expect(results, 3, RONDE_OK);
}

/* Open descriptors, and mappings of memory without a name. */
static size_t count_things(void)
{
    size_t count = 0;
    char line[512];
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:ronde") != NULL;
    if (maps)
        fclose(maps);
    return count;
}

/* Communicators are made and destroyed; the first makes what a process keeps to its end. */
static enum ronde_status come_and_go(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    enum ronde_status status = RONDE_OK;
    size_t before = 0;
    for (int k = 0; k < 4 && status == RONDE_OK; k++) {
        struct team_member again = *member;
        struct large large;
        char token[32];
        snprintf(token, sizeof token, "go-%u-%d", member->join.port, k);
        again.join.token = token;
        again.join.host = NULL;
        again.join.has_listener = false;
        status = large_open(&again, how_of(k % 2 == 0), &options, &large, error);
        if (status == RONDE_OK)
            status = large_run(member, &large, error);
        large_close(&large);
        const size_t now = count_things();
        (void)team_check(member, k == 0 || now == before, "descriptors or mappings are left");
        before = now;
    }
    return status;
}

static void communicators_leave_nothing_open(void)
{
    team_run_expecting(3, come_and_go, NULL, results, RONDE_OK);
}

/* An all_gather of two blocks, the first of which rank 1 takes for longer than rank 0 has it. */
static enum ronde_status misjudge(const struct team_member *member, struct ronde_error *error)
{
    const uint32_t rank = member->join.rank;
    const struct ronde_comm_options options = team_options(20);
    const uint64_t counts[2] = {rank == 0 ? LARGE_COUNT - 1000 : LARGE_COUNT, LARGE_COUNT};
    struct large large;
    enum ronde_status status =
        large_open(member, how_of(*(const bool *)member->self), &options, &large, error);
    ronde_comm_unload(large.program);
    ronde_schedule_destroy(large.schedule);
    large.program = NULL;
    large.schedule = NULL;
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_GATHER, "ring", 2, 0, &large.schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(large.comm, large.schedule, NULL, &large.program, error);
    float *const out = ronde_mem_new(large.mem, 2 * LARGE_COUNT, sizeof *out);
    if (status == RONDE_OK && !out)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for a test");
    if (status == RONDE_OK) {
        const uint64_t offsets[2] = {0, LARGE_COUNT};
        const uint64_t none = 0;
        struct ronde_blocks in_blocks[2];
        struct ronde_blocks out_blocks[2];
        in_blocks[rank] = (struct ronde_blocks){.counts = &counts[rank], .offsets = &none};
        out_blocks[rank] = (struct ronde_blocks){.counts = counts, .offsets = offsets};
        large.out[rank] = out;
        large.launch.in_blocks = in_blocks;
        large.launch.out_blocks = out_blocks;
        status = run_launch(large.program, &large.launch, error);
    }
    ronde_mem_free(large.mem, out, 2 * LARGE_COUNT, sizeof *out);
    large_close(&large);
    return status;
}

static void lengths_that_differ_are_found_before_anything_is_read(void)
{
    for (int is_registered = 0; is_registered < 2; is_registered++) {
        const bool flag = is_registered != 0;
        team_run_expecting(2, misjudge, &flag, results, RONDE_REJECTED);
        for (uint32_t rank = 0; rank < 2; rank++)
            CU_ASSERT_PTR_NOT_NULL(
                strstr(results[rank].message, "message length differs from what rank 0 sent"));
    }
}

/* The same where ranks share memory in twos and use UCX between these pairs. */
static bool use_hybrid(void)
{
    const char *reason = NULL;
    if (ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason)) {
        team_transport = RONDE_TRANSPORT_HYBRID;
        team_ranks_per_host = 2;
        return true;
    }
    suite_skip("%s", reason);
    return false;
}

static void use_proc(void)
{
    team_transport = RONDE_TRANSPORT_SHM;
    team_ranks_per_host = 0;
}

static void of_several_hosts_a_rank_that_dies_offering_is_named(void)
{
    if (!use_hybrid())
        return;
    a_rank_that_dies_offering_is_named();
    use_proc();
}

static void of_several_hosts_each_probes_cma_by_itself(void)
{
    if (!use_hybrid())
        return;
    CU_ASSERT_FATAL(team_run(4, be_forbidden, NULL, results));
    use_proc();
    if (results[2].number == 1)
        suite_skip("the system lets no process filter its calls");
    team_expect(results, 4, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"registered_memory_is_read_through_a_mapping", registered_memory_is_read_through_a_mapping},
        {"registered_memory_reuses_gaps_and_finds_its_blocks",
         registered_memory_reuses_gaps_and_finds_its_blocks},
        {"mixed_placements_wait_for_no_more_than_one", mixed_placements_wait_for_no_more_than_one},
        {"a_rank_that_dies_offering_is_named", a_rank_that_dies_offering_is_named},
        {"cma_that_is_refused_is_noted_and_done_without",
         cma_that_is_refused_is_noted_and_done_without},
        {"communicators_leave_nothing_open", communicators_leave_nothing_open},
        {"lengths_that_differ_are_found_before_anything_is_read",
         lengths_that_differ_are_found_before_anything_is_read},
        {"of_several_hosts_a_rank_that_dies_offering_is_named",
         of_several_hosts_a_rank_that_dies_offering_is_named},
        {"of_several_hosts_each_probes_cma_by_itself", of_several_hosts_each_probes_cma_by_itself},
    };
    return suite_run("remote_read", cases, sizeof cases / sizeof cases[0]);
}
