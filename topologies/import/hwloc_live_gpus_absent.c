/* What stands in for hwloc_live_gpus.c in a build without hwloc. */
#include "ronde/gpu_places.h"

#include <stddef.h>

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
