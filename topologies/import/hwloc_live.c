/*
 * hwloc describes this machine as XML, which the reader of lstopo files then reads: one reader for both, and its
 * errors. Files are not given to hwloc: what it cannot use it drops without a line number.
 */
#include "hwloc_live.h"

#include "ronde/import.h"

#include <hwloc.h>
#include <string.h>

/*
 * All devices: hwloc leaves bridges and PCI devices out unless told to keep them. Displays are no GPUs to compute on,
 * and what the pci component reports, the linux one reads from the kernel without the library in between (which never
 * frees its tables).
 */
static enum ronde_status discover(hwloc_topology_t topology, struct ronde_error *error)
{
    static const char *const unwanted[] = {"gl", "pci"};
    for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++)
        (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            unwanted[i]);
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
        hwloc_topology_load(topology) != 0)
        return ronde_fail(error, RONDE_DEVICE, "hwloc cannot look at this machine");
    return RONDE_OK;
}

/* hwloc's buffer belongs to hwloc and ends with a zero byte. */
static enum ronde_status export_text(hwloc_topology_t topology, const struct ronde_mem *mem,
                                     char **out_text, size_t *out_bytes, struct ronde_error *error)
{
    char *buffer = NULL;
    int bytes = 0;
    if (hwloc_topology_export_xmlbuffer(topology, &buffer, &bytes, 0) != 0 || bytes < 2)
        return ronde_fail(error, RONDE_DEVICE, "hwloc cannot describe this machine");
    const size_t count = (size_t)bytes - 1;
    char *text = ronde_mem_new(mem, count, 1);
    if (text) {
        memcpy(text, buffer, count);
        *out_text = text;
        *out_bytes = count;
    }
    hwloc_free_xmlbuffer(topology, buffer);
    return text ? RONDE_OK
                : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu bytes of hwloc XML", count);
}

enum ronde_status ronde_hwloc_describe_machine(const struct ronde_mem *mem, char **out_text,
                                               size_t *out_bytes, struct ronde_error *error)
{
    hwloc_topology_t topology;
    *out_text = NULL;
    *out_bytes = 0;
    if (hwloc_topology_init(&topology) != 0)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for hwloc");
    enum ronde_status status = discover(topology, error);
    if (status == RONDE_OK)
        status = export_text(topology, mem, out_text, out_bytes, error);
    hwloc_topology_destroy(topology);
    return status;
}

bool ronde_import_can_ask_machine(const char **out_reason)
{
    *out_reason = "hwloc";
    return true;
}
