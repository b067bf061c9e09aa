/* Workloads from files, by what is in them. */
#include "readers.h"

#include "formats/whole_file.h"

enum ronde_status ronde_workload_read(const char *path, const struct ronde_mem *mem,
                                      struct ronde_workload **out_workload,
                                      struct ronde_error *error)
{
    char *data = NULL;
    size_t bytes = 0;
    *out_workload = NULL;
    if (ronde_chakra_is(path))
        return ronde_chakra_read(path, mem, out_workload, error);
    RONDE_TRY(ronde_whole_file_read(path, mem, &data, &bytes, error));
    const enum ronde_status status =
        ronde_workload_parse(data, bytes, path, mem, out_workload, error);
    ronde_whole_file_free(mem, data, bytes);
    return status;
}
