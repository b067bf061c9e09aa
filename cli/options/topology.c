/* Machines by name. See topology.h. */
#include "topology.h"
#include "cli/cmd/nccl_machine.h"
#include "shipped_names.h"

#include "ronde/data_files.h"

#include <string.h>
#include <unistd.h>

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
    struct ronde_shipped_names names = {.count = 0};
    if (ronde_topologies_folder(path, sizeof path))
        ronde_shipped_names_read(path, ".xml", &names);
    const char *nearest = ronde_shipped_nearest(&names, text);
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
