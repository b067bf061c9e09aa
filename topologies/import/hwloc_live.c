/*
 * hwloc describes this machine as XML, which the reader of lstopo files then reads: one reader for both, and its
 * errors. Files are not given to hwloc: what it cannot use it drops without a line number.
 */
#include "hwloc_live.h"

#include "ronde/gpu_places.h"
#include "ronde/import.h"
#include "ronde/ir.h"
#include "ronde/processors.h"

#include <hwloc.h>
#include <string.h>

/*
 * All devices: hwloc leaves bridges and PCI devices out unless told to keep them. Displays are no GPUs to compute on,
 * and what the pci component reports, the linux one reads from the kernel without the library in between (which never
 * frees its tables). Nor are libraries that compute on GPUs used where places on PCIe are all that is asked for.
 */
static const char *const unwanted[] = {"gl", "pci", "cuda", "nvml", "opencl", "rsmi", "levelzero"};
enum { NO_DISPLAYS = 2, NO_LIBRARIES = sizeof unwanted / sizeof unwanted[0] };

static enum ronde_status discover(hwloc_topology_t topology, const char *file, size_t without,
                                  struct ronde_error *error)
{
    for (size_t i = 0; i < without; i++)
        (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            unwanted[i]);
    if ((!file || hwloc_topology_set_xml(topology, file) == 0) &&
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc_topology_load(topology) == 0)
        return RONDE_OK;
    return file ? ronde_fail(error, RONDE_BAD_INPUT, "%s: hwloc does not read it", file)
                : ronde_fail(error, RONDE_DEVICE, "hwloc cannot look at this machine");
}

/* Opens hwloc on a file, or on this machine; the caller destroys *out_topology after a success. */
static enum ronde_status open_topology(const char *file, size_t without,
                                       hwloc_topology_t *out_topology, struct ronde_error *error)
{
    if (hwloc_topology_init(out_topology) != 0)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for hwloc");
    const enum ronde_status status = discover(*out_topology, file, without, error);
    if (status != RONDE_OK)
        hwloc_topology_destroy(*out_topology);
    return status;
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
    RONDE_TRY(open_topology(NULL, NO_DISPLAYS, &topology, error));
    const enum ronde_status status = export_text(topology, mem, out_text, out_bytes, error);
    hwloc_topology_destroy(topology);
    return status;
}

bool ronde_import_can_ask_machine(const char **out_reason)
{
    *out_reason = "hwloc";
    return true;
}

/* Processors in hwloc's order. */

/* Reads the machine, or makes one up; devices are left out, which spares most of the time that takes. */
static enum ronde_status discover_cores(hwloc_topology_t topology, const char *synthetic,
                                        struct ronde_error *error)
{
    if (synthetic && hwloc_topology_set_synthetic(topology, synthetic) != 0)
        return ronde_fail(error, RONDE_BAD_INPUT, "hwloc does not read '%.100s'", synthetic);
    if (hwloc_topology_load(topology) != 0)
        return ronde_fail(error, RONDE_DEVICE, "hwloc cannot look at this machine");
    return RONDE_OK;
}

/* Number of the object of a kind that a processor is part of; machines without the kind have one of it. */
static uint32_t number_of(hwloc_topology_t topology, hwloc_obj_t processor, hwloc_obj_type_t type)
{
    const hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology, type, processor);
    return object ? object->logical_index : 0;
}

/* Memory hangs beside the tree, of the smallest part of the machine that it is near to. */
static uint32_t node_of(hwloc_obj_t processor)
{
    hwloc_obj_t object = processor;
    while (object && object->memory_arity == 0)
        object = object->parent;
    return object ? object->memory_first_child->logical_index : 0;
}

static enum ronde_status collect(hwloc_topology_t topology, hwloc_const_bitmap_t among,
                                 const struct ronde_mem *mem, struct ronde_processor **out_list,
                                 uint32_t *out_count, struct ronde_error *error)
{
    const int count = hwloc_get_nbobjs_inside_cpuset_by_type(topology, among, HWLOC_OBJ_PU);
    if (count < 1)
        return ronde_fail(error, RONDE_DEVICE, "hwloc sees no processor");
    struct ronde_processor *list = ronde_mem_new(mem, (size_t)count, sizeof *list);
    if (!list)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %d processors", count);
    hwloc_obj_t processor = NULL;
    for (int k = 0; k < count; k++) {
        processor =
            hwloc_get_next_obj_inside_cpuset_by_type(topology, among, HWLOC_OBJ_PU, processor);
        /* A machine without core objects has a core for each processor. */
        const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, processor);
        list[k] =
            (struct ronde_processor){.cpu = processor->os_index,
                                     .core = core ? core->logical_index : processor->logical_index,
                                     .node = node_of(processor),
                                     .package = number_of(topology, processor, HWLOC_OBJ_PACKAGE)};
    }
    *out_list = list;
    *out_count = (uint32_t)count;
    return RONDE_OK;
}

enum ronde_status ronde_processors_list(const char *synthetic, const struct ronde_mem *mem,
                                        struct ronde_processor **out_list, uint32_t *out_count,
                                        struct ronde_error *error)
{
    hwloc_topology_t topology;
    *out_list = NULL;
    *out_count = 0;
    if (hwloc_topology_init(&topology) != 0)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for hwloc");
    enum ronde_status status = discover_cores(topology, synthetic, error);
    RONDE_THEN(status, collect(topology, hwloc_topology_get_topology_cpuset(topology), mem,
                               out_list, out_count, error));
    hwloc_topology_destroy(topology);
    return status;
}

/* GPUs on PCIe and what they are near. Libraries that compute on GPUs are not used: starting one takes a second,
 * and its threads would not outlive a fork. Where hwloc is given a file that was written with them, their names for
 * devices are in it. */

/* NVIDIA's number on PCIe, and what displays and 3D controllers begin with; switches of NVLink are bridges. */
#define VENDOR 0x10deu
#define CLASS 0x03u

static bool is_gpu(hwloc_obj_t device)
{
    return device->attr->pcidev.vendor_id == VENDOR && device->attr->pcidev.class_id >> 8 == CLASS;
}

static void write_bus(hwloc_obj_t device, char *text, size_t bytes)
{
    const struct hwloc_pcidev_attr_s *at = &device->attr->pcidev;
    snprintf(text, bytes, "%04x:%02x:%02x.%x", at->domain, at->bus, at->dev, at->func);
}

/* Parents to climb from one object to one that has the other below it. */
static uint32_t distance(hwloc_obj_t from, hwloc_obj_t to)
{
    uint32_t climbed = 0;
    for (hwloc_obj_t meet = from; meet; meet = meet->parent, climbed++)
        for (hwloc_obj_t below = to; below; below = below->parent)
            if (below == meet)
                return climbed;
    return climbed;
}

/*
 * A network card that InfiniBand's interface lists too is two objects; that name is what UCX and
 * NCCL use.
 */
static void find_nic(hwloc_topology_t topology, hwloc_obj_t gpu, char *name, size_t bytes)
{
    uint32_t nearest = UINT32_MAX;
    bool is_fabric = false;
    for (hwloc_obj_t device = NULL; (device = hwloc_get_next_osdev(topology, device));) {
        const bool is_network = device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
        const bool is_other = device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
        const uint32_t far = distance(gpu, device);
        if ((!is_network && !is_other) || far > nearest || (far == nearest && is_fabric >= is_other))
            continue;
        nearest = far;
        is_fabric = is_other;
        snprintf(name, bytes, "%s", device->name);
    }
}

static void write_names(hwloc_obj_t gpu, char *names, size_t bytes)
{
    size_t used = 0;
    for (hwloc_obj_t child = gpu->io_first_child; child; child = child->next_sibling) {
        const size_t length = child->name ? strlen(child->name) : 0;
        if (child->type != HWLOC_OBJ_OS_DEVICE || length == 0 || used + length + 2 > bytes)
            continue;
        used += (size_t)snprintf(names + used, bytes - used, "%s%s", used ? " " : "", child->name);
    }
}

static void write_place(hwloc_topology_t topology, hwloc_obj_t gpu, struct ronde_gpu_place *place)
{
    const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, gpu);
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, near);
    write_bus(gpu, place->bus, sizeof place->bus);
    if (gpu->name)
        snprintf(place->product, sizeof place->product, "%s", gpu->name);
    else
        snprintf(place->product, sizeof place->product, "%04x:%04x", gpu->attr->pcidev.vendor_id,
                 gpu->attr->pcidev.device_id);
    write_names(gpu, place->names, sizeof place->names);
    find_nic(topology, gpu, place->nic, sizeof place->nic);
    hwloc_bitmap_list_snprintf(place->processors, sizeof place->processors, near->cpuset);
    place->node = hwloc_bitmap_weight(near->nodeset) == 1
                      ? (uint32_t)hwloc_bitmap_first(near->nodeset)
                      : RONDE_NONE;
    place->package = near->type == HWLOC_OBJ_PACKAGE ? near->os_index
                     : package                       ? package->os_index
                                                     : RONDE_NONE;
    place->slot_GBps = (double)gpu->attr->pcidev.linkspeed;
}

static uint32_t count_gpus(hwloc_topology_t topology)
{
    uint32_t count = 0;
    for (hwloc_obj_t device = NULL; (device = hwloc_get_next_pcidev(topology, device));)
        count += is_gpu(device);
    return count;
}

enum ronde_status ronde_gpu_places_list(const char *file, const struct ronde_mem *mem,
                                        struct ronde_gpu_place **out_list, uint32_t *out_count,
                                        struct ronde_error *error)
{
    hwloc_topology_t topology;
    *out_list = NULL;
    *out_count = 0;
    RONDE_TRY(open_topology(file, NO_LIBRARIES, &topology, error));
    const uint32_t count = count_gpus(topology);
    struct ronde_gpu_place *list = count > 0 ? ronde_mem_new(mem, count, sizeof *list) : NULL;
    uint32_t written = 0;
    for (hwloc_obj_t device = NULL; list && (device = hwloc_get_next_pcidev(topology, device));)
        if (is_gpu(device))
            write_place(topology, device, &list[written++]);
    hwloc_topology_destroy(topology);
    if (count > 0 && !list)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u GPUs", count);
    *out_list = list;
    *out_count = count;
    return RONDE_OK;
}

/* The device at a place of PCIe, or NULL. */
static hwloc_obj_t find_device(hwloc_topology_t topology, const char *bus)
{
    char at[32];
    hwloc_obj_t device = NULL;
    while ((device = hwloc_get_next_pcidev(topology, device))) {
        write_bus(device, at, sizeof at);
        if (ronde_bus_is_same(at, bus))
            break;
    }
    return device;
}

enum ronde_status ronde_gpu_places_near(const char *file, const char *bus,
                                        const struct ronde_mem *mem,
                                        struct ronde_processor **out_list, uint32_t *out_count,
                                        struct ronde_error *error)
{
    hwloc_topology_t topology;
    *out_list = NULL;
    *out_count = 0;
    RONDE_TRY(open_topology(file, NO_LIBRARIES, &topology, error));
    const hwloc_obj_t device = find_device(topology, bus);
    const enum ronde_status status =
        device ? collect(topology, hwloc_get_non_io_ancestor_obj(topology, device)->cpuset, mem,
                         out_list, out_count, error)
               : ronde_fail(error, RONDE_BAD_ARGUMENT, "no device of PCIe is at %.32s", bus);
    hwloc_topology_destroy(topology);
    return status;
}
