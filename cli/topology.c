/* Machines by name. See topology.h. */
#include "topology.h"
#include "nccl_machine.h"

#include "ronde/data_files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Shipped files among which a nearest name is looked for, and the longest of their names. */
#define MAX_SHIPPED 64u
#define NAME_BYTES 64u

/* Names without .xml; returns how many. */
static uint32_t list_shipped(char names[MAX_SHIPPED][NAME_BYTES])
{
    char folder[RONDE_PATH_BYTES];
    uint32_t count = 0;
    DIR *const directory = ronde_topologies_folder(folder, sizeof folder) ? opendir(folder) : NULL;
    for (struct dirent *entry; directory && count < MAX_SHIPPED && (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        const size_t length = dot ? (size_t)(dot - entry->d_name) : 0;
        if (length == 0 || length >= NAME_BYTES || strcmp(dot, ".xml") != 0)
            continue;
        memcpy(names[count], entry->d_name, length);
        names[count++][length] = '\0';
    }
    if (directory)
        (void)closedir(directory);
    return count;
}

static enum ronde_status fail_description(const char *text, const char *path,
                                          struct ronde_error *error)
{
    return ronde_fail(error, RONDE_BAD_INPUT,
                      "%s describes a machine, for --style nccl and doctor; a platform file is "
                      "made of it by `ronde topo import %s --nodes N -o machine.xml`",
                      path, text);
}

static enum ronde_status fail_name(const char *text, struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    ronde_find_nccl_machine(text, path, sizeof path);
    if (access(path, F_OK) == 0)
        return fail_description(text, text, error);
    char names[MAX_SHIPPED][NAME_BYTES];
    const char *pointers[MAX_SHIPPED];
    const uint32_t count = list_shipped(names);
    for (uint32_t i = 0; i < count; i++)
        pointers[i] = names[i];
    const char *nearest = ronde_nearest(text, pointers, count);
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "%s: neither a file nor a shipped topology%s%s%s; `ronde list` names these",
                      text, nearest ? "; did you mean " : "", nearest ? nearest : "",
                      nearest ? "?" : "");
}

enum ronde_status ronde_topology_open(const char *text, struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    const char *reason = NULL;
    *out_platform = NULL;
    ronde_find_topology(text, path, sizeof path);
    /* What has a slash is a path, and the system knows best what is wrong with it. */
    if (ronde_topologies_available(&reason) && !strchr(text, '/') && access(path, F_OK) != 0)
        return fail_name(text, error);
    if (ronde_is_nccl_machine(path))
        return fail_description(text, path, error);
    return ronde_platform_read(path, ronde_mem_default(), out_platform, error);
}
