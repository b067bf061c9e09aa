/*
 * What is left of a machine's memory, and of what control groups allow: read from copies of /proc and /sys.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/memory_available.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MiB ((uint64_t)1 << 20)

static char root[400];

/* A file of the copy, whose folders are made. */
static void put(const char *path, const char *text)
{
    char whole[800], command[900];
    char *said = NULL;
    snprintf(whole, sizeof whole, "%s%s", root, path);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", whole);
    CU_ASSERT_EQUAL(files_command(command, &said), 0);
    free(said);
    CU_ASSERT_TRUE(files_write(whole, text));
}

static void begin(void)
{
    snprintf(root, sizeof root, "%s/memory-%d", RONDE_SCRATCH_DIR, (int)getpid());
}

static void end(void)
{
    char command[500];
    char *said = NULL;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CU_ASSERT_EQUAL(files_command(command, &said), 0);
    free(said);
}

static void expect(uint64_t bytes, const char *limit)
{
    const struct ronde_memory_available available = ronde_memory_available(root);
    CU_ASSERT_EQUAL(available.bytes, bytes);
    CU_ASSERT_STRING_EQUAL(available.limit, limit);
}

static void without_any_file_nothing_is_known(void)
{
    begin();
    const struct ronde_memory_available available = ronde_memory_available(root);
    CU_ASSERT_EQUAL(available.bytes, UINT64_MAX);
}

static void a_machine_has_what_is_available_and_its_swap(void)
{
    begin();
    put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:  77 kB\nMemAvailable:    8192 kB\n"
                         "SwapTotal: 4096 kB\nSwapFree:        1024 kB\n");
    expect(9 * MiB, "the machine");
    end();
}

static void the_narrowest_of_nested_groups_counts(void)
{
    begin();
    put("/proc/meminfo", "MemAvailable:  1048576 kB\n");
    put("/proc/self/cgroup", "0::/job/step\n");
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    put("/sys/fs/cgroup/job/step/memory.current", "1048576\n");
    expect(1024 * MiB, "the machine");
    put("/sys/fs/cgroup/job/memory.max", "104857600\n");
    put("/sys/fs/cgroup/job/memory.current", "94371840\n");
    expect(10 * MiB, "memory.max of control group /job");
    /* Files that were read can be dropped. */
    put("/sys/fs/cgroup/job/memory.stat", "anon 5\nfile 9\ninactive_file 1048576\nactive_file "
                                          "2097152\nactive_file_x 7\n");
    expect(13 * MiB, "memory.max of control group /job");
    put("/sys/fs/cgroup/job/step/memory.max", "1048576\n");
    expect(0, "memory.max of control group /job/step");
    end();
}

/* In a container the group's name is the host's, and its files are at the top. */
static void groups_of_the_first_version_are_read_too(void)
{
    begin();
    put("/proc/meminfo", "MemAvailable:  1048576 kB\n");
    put("/proc/self/cgroup", "5:devices:/x\n4:memory:/docker/a1b2\n1:name=systemd:/\n0::/\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
    put("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file 524288\n");
    expect(MiB + MiB / 2, "memory.limit_in_bytes of control group /");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    expect(1024 * MiB, "the machine");
    end();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"without_any_file_nothing_is_known", without_any_file_nothing_is_known},
        {"a_machine_has_what_is_available_and_its_swap",
         a_machine_has_what_is_available_and_its_swap},
        {"the_narrowest_of_nested_groups_counts", the_narrowest_of_nested_groups_counts},
        {"groups_of_the_first_version_are_read_too", groups_of_the_first_version_are_read_too},
    };
    return suite_run("memory_available", cases, sizeof cases / sizeof cases[0]);
}
