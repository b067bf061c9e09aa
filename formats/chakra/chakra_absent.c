/* Stands in for chakra_read.c and chakra_write.c where protobuf-c was not found. */
#include "ronde/workload.h"

static const char missing[] = "built without protobuf-c (packages libprotobuf-c-dev and "
                              "protobuf-c-compiler), so no Chakra trace is read or written";

bool ronde_chakra_available(const char **out_text)
{
    *out_text = missing;
    return false;
}

enum ronde_status ronde_chakra_parse(const struct ronde_chakra_file *files, uint32_t ranks,
                                     const char *prefix, const struct ronde_mem *mem,
                                     struct ronde_workload **out_workload, struct ronde_error *error)
{
    (void)files;
    (void)ranks;
    (void)mem;
    *out_workload = NULL;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s: %s", prefix, missing);
}

enum ronde_status ronde_chakra_read(const char *path, const struct ronde_mem *mem,
                                    struct ronde_workload **out_workload, struct ronde_error *error)
{
    return ronde_chakra_parse(NULL, 0, path, mem, out_workload, error);
}

enum ronde_status ronde_chakra_write(const struct ronde_workload *workload, const char *prefix,
                                     const struct ronde_mem *mem, struct ronde_error *error)
{
    (void)workload;
    (void)mem;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s: %s", prefix, missing);
}
