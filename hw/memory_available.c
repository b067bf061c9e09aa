/*
 * Memory that is left. See ronde/memory_available.h.
 *
 * A control group's limit is not an error of the allocation that goes beyond it: the system kills a process of the group
 * when the pages are touched. The files are described in the kernel's Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst.
 */
#include "ronde/memory_available.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096

/* The files of a version of control groups. */
struct version {
    const char *controller; /* in /proc/self/cgroup */
    const char *mount;
    const char *limit;
    const char *usage;
    const char *cached[2]; /* of memory.stat: memory of files, which the system drops before it kills */
};

static const struct version versions[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}},
    {"memory",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file"}},
};

/* The number after a word at the beginning of a line; 0 if there is none. */
static uint64_t find_number(const char *path, const char *word)
{
    char line[256];
    uint64_t number = 0;
    const size_t length = strlen(word);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, word, length) == 0 && strchr(": ", line[length]) &&
            sscanf(line + length, "%*[: ]%" SCNu64, &number) == 1)
            break;
    if (file)
        (void)fclose(file);
    return number;
}

/* The number a file consists of; false if there is none, as where a limit is "max". */
static bool read_number(const char *folder, const char *name, uint64_t *out)
{
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    const bool is_read = file && fscanf(file, "%" SCNu64, out) == 1;
    if (file)
        (void)fclose(file);
    return is_read;
}

/* A limit counts if it leaves less than what is known so far. */
static void take_group(const char *folder, const char *name, const struct version *version,
                       struct ronde_memory_available *io_available)
{
    char path[PATH_BYTES + 64];
    uint64_t limit, usage;
    if (!read_number(folder, version->limit, &limit) || !read_number(folder, version->usage, &usage))
        return;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    const uint64_t cached =
        find_number(path, version->cached[0]) + find_number(path, version->cached[1]);
    const uint64_t used = usage > cached ? usage - cached : 0;
    const uint64_t left = limit > used ? limit - used : 0;
    if (left >= io_available->bytes)
        return;
    io_available->bytes = left;
    snprintf(io_available->limit, sizeof io_available->limit, "%s of control group %.40s",
             version->limit, name[0] ? name : "/");
}

/* A group and all that enclose it, as far as they can be seen from here. */
static void take_groups(const char *root, const struct version *version, char *name,
                        struct ronde_memory_available *io_available)
{
    char folder[PATH_BYTES];
    for (;;) {
        if (snprintf(folder, sizeof folder, "%s%s%s", root, version->mount, name) <
            (int)sizeof folder)
            take_group(folder, name, version, io_available);
        char *slash = strrchr(name, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* The group's name in a line of /proc/self/cgroup, "4:memory:/a/b" or "0::/a/b"; NULL where it is another controller's. */
static char *find_name(char *line, const char *controller)
{
    char *from = strchr(line, ':');
    char *to = from ? strchr(from + 1, ':') : NULL;
    if (!to)
        return NULL;
    *to = '\0';
    to[1 + strcspn(to + 1, "\n")] = '\0';
    char *name = to + 1;
    const size_t length = strlen(name);
    if (strcmp(from + 1, controller) != 0)
        return NULL;
    if (length > 0 && name[length - 1] == '/')
        name[length - 1] = '\0';
    return name;
}

struct ronde_memory_available ronde_memory_available(const char *root)
{
    struct ronde_memory_available available = {UINT64_MAX, "nothing"};
    char path[PATH_BYTES];
    char line[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    const uint64_t free_KiB = find_number(path, "MemAvailable");
    if (free_KiB > 0) {
        available.bytes = (free_KiB + find_number(path, "SwapFree")) * 1024;
        snprintf(available.limit, sizeof available.limit, "the machine");
    }
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
            char copy[PATH_BYTES];
            memcpy(copy, line, sizeof copy);
            char *name = find_name(copy, versions[v].controller);
            if (name)
                take_groups(root, &versions[v], name, &available);
        }
    if (file)
        (void)fclose(file);
    return available;
}
