/* What stands in for hwloc where it was not built in. */
#include "hwloc_live.h"

#include "ronde/gpu_places.h"
#include "ronde/import.h"
#include "ronde/processors.h"

#include <stddef.h>

static const char reason[] = "built without hwloc and libxml2 (install libhwloc-dev, libxml2-dev)";

enum ronde_status ronde_hwloc_describe_machine(const struct ronde_mem *mem, char **out_text,
                                               size_t *out_bytes, struct ronde_error *error)
{
    (void)mem;
    *out_text = NULL;
    *out_bytes = 0;
    return ronde_fail(error, RONDE_UNAVAILABLE, "this machine cannot be asked: %s", reason);
}

bool ronde_import_can_ask_machine(const char **out_reason)
{
    *out_reason = reason;
    return false;
}

/* What stands in for the processors of hwloc_live.c in a build without hwloc. */

enum ronde_status ronde_processors_list(const char *synthetic, const struct ronde_mem *mem,
                                        struct ronde_processor **out_list, uint32_t *out_count,
                                        struct ronde_error *error)
{
    (void)synthetic;
    (void)mem;
    *out_list = NULL;
    *out_count = 0;
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "built without hwloc and libxml2 (install libhwloc-dev, libxml2-dev)");
}

/* What stands in for the GPUs of hwloc_live.c in a build without hwloc. */

static enum ronde_status refuse(struct ronde_error *error)
{
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "built without hwloc and libxml2 (install libhwloc-dev, libxml2-dev)");
}

enum ronde_status ronde_gpu_places_list(const char *file, const struct ronde_mem *mem,
                                        struct ronde_gpu_place **out_list, uint32_t *out_count,
                                        struct ronde_error *error)
{
    (void)file;
    (void)mem;
    *out_list = NULL;
    *out_count = 0;
    return refuse(error);
}

enum ronde_status ronde_gpu_places_near(const char *file, const char *bus,
                                        const struct ronde_mem *mem,
                                        struct ronde_processor **out_list, uint32_t *out_count,
                                        struct ronde_error *error)
{
    (void)file;
    (void)bus;
    (void)mem;
    *out_list = NULL;
    *out_count = 0;
    return refuse(error);
}
