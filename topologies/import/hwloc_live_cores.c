/* Processors in hwloc's order. See ronde/processors.h. */
#include "hwloc_collect.h"

/* Reads the machine, or makes one up; devices are left out, which spares most of the time that takes. */
static enum ronde_status discover(hwloc_topology_t topology, const char *synthetic,
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

enum ronde_status ronde_hwloc_collect(hwloc_topology_t topology, hwloc_const_bitmap_t among,
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
    enum ronde_status status = discover(topology, synthetic, error);
    if (status == RONDE_OK)
        status = ronde_hwloc_collect(topology, hwloc_topology_get_topology_cpuset(topology), mem,
                                     out_list, out_count, error);
    hwloc_topology_destroy(topology);
    return status;
}
