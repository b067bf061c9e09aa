/*
 * hwloc's <topology>: packages become CPUs, bridges PCI switches, and PCI devices GPUs or NICs. Without GPUs the ranks
 * are the cores, which share one memory. hwloc names PCI speeds as rates (15.75 GB/s for Gen3 x16, NCCL says 12), and
 * they are taken as they are.
 */
#include "import_reader.h"

#include "nccl_rates.h"

#include <math.h>
#include <string.h>

/* State of one reading. */
struct hwloc {
    struct ronde_import_reader *reader;
    xmlNode *root;
    uint32_t machine;  /* CPU for devices that sit in no package, or NONE */
    uint32_t packages; /* so far */
    uint32_t threads;  /* hardware threads, where there are no core objects */
};

/* Value of an <info> child, "" without one. */
static enum ronde_status find_info(struct hwloc *hwloc, const xmlNode *node, const char *wanted,
                                   char value[RONDE_ATTRIBUTE_BYTES])
{
    char name[RONDE_ATTRIBUTE_BYTES];
    value[0] = '\0';
    for (xmlNode *child = node->children; child; child = child->next) {
        if (!ronde_import_is(child, "info"))
            continue;
        RONDE_TRY(ronde_import_text(hwloc->reader, child, "name", name));
        if (strcmp(name, wanted) == 0)
            return ronde_import_text(hwloc->reader, child, "value", value);
    }
    return RONDE_OK;
}

/* The same as a number; hwloc writes decimal ones. */
static enum ronde_status find_number(struct hwloc *hwloc, const xmlNode *node, const char *wanted,
                                     uint32_t *out_value)
{
    char text[RONDE_ATTRIBUTE_BYTES];
    const char *at = text;
    uint64_t value = 0;
    RONDE_TRY(find_info(hwloc, node, wanted, text));
    if (text[0] != '\0' && (!ronde_parse_integer(&at, UINT32_MAX - 1, &value) || *at != '\0'))
        return ronde_import_fail(hwloc->reader, node, "%s is '%s', expected an integer", wanted,
                                 text);
    *out_value = (uint32_t)value;
    return RONDE_OK;
}

/* NCCL's word for an architecture; version 3 of the format keeps it at the root, version 2 with the machine. */
static enum ronde_status find_arch(struct hwloc *hwloc, const char **out_arch)
{
    static const char *const words[][2] = {{"x86_64", "x86_64"},
                                           {"aarch64", "arm64"},
                                           {"ppc64le", "ppc64"},
                                           {"ppc64", "ppc64"}};
    char text[RONDE_ATTRIBUTE_BYTES];
    const xmlNode *machine = ronde_import_child(hwloc->root, "object");
    enum ronde_status status = find_info(hwloc, hwloc->root, "Architecture", text);
    if (status == RONDE_OK && text[0] == '\0' && machine)
        status = find_info(hwloc, machine, "Architecture", text);
    *out_arch = "";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], text) == 0)
            *out_arch = words[i][1];
    return status;
}

/* hwloc knows no rates between CPUs; NCCL has a table by make. */
static enum ronde_status rate_cpu(struct hwloc *hwloc, const xmlNode *node, uint32_t place)
{
    char vendor[RONDE_ATTRIBUTE_BYTES] = "";
    struct ronde_nccl_cpu cpu = {"", vendor, 0, 0};
    enum ronde_status status = find_arch(hwloc, &cpu.arch);
    RONDE_THEN(status, find_info(hwloc, node, "CPUVendor", vendor));
    RONDE_THEN(status, find_number(hwloc, node, "CPUFamilyNumber", &cpu.family));
    RONDE_THEN(status, find_number(hwloc, node, "CPUModelNumber", &cpu.model));
    RONDE_PLACE(hwloc->reader->import, place)->cpu_GBps = ronde_nccl_cpu_GBps(&cpu);
    return status;
}

/* The matrices name objects by number, and find the place again through the node. */
static void bind(xmlNode *node, uint32_t place)
{
    node->_private = (void *)((uintptr_t)place + 1);
}

/* A package, or the machine where hwloc lists no packages. */
static enum ronde_status add_cpu(struct hwloc *hwloc, xmlNode *node, uint32_t *out_place)
{
    struct ronde_import *import = hwloc->reader->import;
    RONDE_TRY(ronde_import_place_of(hwloc->reader, node, RONDE_PLACE_CPU, RONDE_NONE, out_place));
    struct ronde_import_place *self = RONDE_PLACE(import, *out_place);
    if (ronde_import_is(node, "topology"))
        (void)snprintf(self->name, sizeof self->name, "machine");
    else
        (void)snprintf(self->name, sizeof self->name, "cpu%u", hwloc->packages++);
    bind(node, *out_place);
    return rate_cpu(hwloc, node, *out_place);
}

/* Devices of a machine without packages in hwloc hang from the machine as a whole. */
static enum ronde_status find_parent(struct hwloc *hwloc, uint32_t *parent)
{
    if (*parent != RONDE_NONE)
        return RONDE_OK;
    const enum ronde_status status =
        hwloc->machine == RONDE_NONE ? add_cpu(hwloc, hwloc->root, &hwloc->machine) : RONDE_OK;
    *parent = hwloc->machine;
    return status;
}

/*
 * Whether a library that computes on GPUs names the device: display adapters are of class 03, too.
 */
static enum ronde_status has_compute(struct hwloc *hwloc, const xmlNode *node, bool *out_has)
{
    static const char *const starts[] = {"cuda", "nvml", "rsmi", "ze", "opencl"};
    char name[RONDE_ATTRIBUTE_BYTES];
    *out_has = false;
    for (xmlNode *child = node->children; child; child = child->next) {
        if (!ronde_import_is(child, "object"))
            continue;
        RONDE_TRY(ronde_import_text(hwloc->reader, child, "name", name));
        for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
            *out_has = *out_has || strncmp(name, starts[i], strlen(starts[i])) == 0;
    }
    return RONDE_OK;
}

/* What a PCI device is to a collective, by the class in front of pci_type; CPU stands for nothing at all. */
static enum ronde_status kind_of(struct hwloc *hwloc, xmlNode *node, enum ronde_place_kind *out_kind)
{
    char type[RONDE_ATTRIBUTE_BYTES];
    char subtype[RONDE_ATTRIBUTE_BYTES];
    bool is_compute = false;
    enum ronde_status status = ronde_import_text(hwloc->reader, node, "pci_type", type);
    RONDE_THEN(status, ronde_import_text(hwloc->reader, node, "subtype", subtype));
    RONDE_THEN(status, has_compute(hwloc, node, &is_compute));
    *out_kind = RONDE_PLACE_CPU;
    if (strcmp(subtype, "NVSwitch") == 0)
        *out_kind = RONDE_PLACE_NVSWITCH;
    else if (is_compute || strncmp(type, "0302", 4) == 0 || strncmp(type, "0380", 4) == 0 ||
             strncmp(type, "1200", 4) == 0)
        *out_kind = RONDE_PLACE_GPU;
    else if (strncmp(type, "02", 2) == 0)
        *out_kind = RONDE_PLACE_NIC;
    return status;
}

/* A bridge or device below *parent, which becomes it. */
static enum ronde_status add_pci(struct hwloc *hwloc, xmlNode *node, enum ronde_place_kind kind,
                                 uint32_t *parent)
{
    struct ronde_import *import = hwloc->reader->import;
    double GBps = 0;
    uint32_t place = RONDE_NONE;
    RONDE_TRY(find_parent(hwloc, parent));
    RONDE_TRY(ronde_import_number(hwloc->reader, node, "pci_link_speed", 0, &GBps));
    if (GBps > 0 && (GBps < RONDE_LEAST_GBPS || GBps > RONDE_MOST_GBPS))
        return ronde_import_fail(hwloc->reader, node, "pci_link_speed of <%s> is %g GB/s",
                                 (const char *)node->name, GBps);
    RONDE_TRY(ronde_import_place_of(hwloc->reader, node, kind, *parent, &place));
    RONDE_TRY(ronde_import_busid(hwloc->reader, node, "pci_busid", place));
    if (GBps > 0)
        RONDE_PLACE(import, place)->up_GBps = GBps;
    bind(node, place);
    *parent = place;
    return RONDE_OK;
}

/* Disks, display adapters and the like are left out. */
static enum ronde_status read_device(struct hwloc *hwloc, xmlNode *node, uint32_t parent)
{
    enum ronde_place_kind kind;
    uint32_t place;
    RONDE_TRY(kind_of(hwloc, node, &kind));
    if (kind == RONDE_PLACE_CPU)
        return RONDE_OK;
    if (kind != RONDE_PLACE_NVSWITCH)
        return add_pci(hwloc, node, kind, &parent);
    RONDE_TRY(ronde_import_added(hwloc->reader, node,
                                 ronde_import_nvswitch(hwloc->reader->import, &place)));
    bind(node, place);
    return RONDE_OK;
}

static enum ronde_status read_children(struct hwloc *hwloc, xmlNode *node, uint32_t parent,
                                       uint32_t depth);

/* Objects that are no place (caches, groups, NUMA nodes, host bridges) pass their parent on. */
static enum ronde_status read_object(struct hwloc *hwloc, xmlNode *node, uint32_t parent,
                                     uint32_t depth)
{
    char type[RONDE_ATTRIBUTE_BYTES];
    char busid[RONDE_ATTRIBUTE_BYTES];
    RONDE_TRY(ronde_import_text(hwloc->reader, node, "type", type));
    RONDE_TRY(ronde_import_text(hwloc->reader, node, "pci_busid", busid));
    if (strcmp(type, "PCIDev") == 0)
        return read_device(hwloc, node, parent);
    if (strcmp(type, "Package") == 0)
        RONDE_TRY(add_cpu(hwloc, node, &parent));
    else if (strcmp(type, "Bridge") == 0 && busid[0] != '\0')
        RONDE_TRY(add_pci(hwloc, node, RONDE_PLACE_SWITCH, &parent));
    else if (strcmp(type, "Core") == 0)
        hwloc->reader->import->cores++;
    else if (strcmp(type, "PU") == 0)
        hwloc->threads++;
    return read_children(hwloc, node, parent, depth);
}

/* Objects nest as deep as caches do, which is not deep; more is a mistake, and would end in the stack. */
static enum ronde_status read_children(struct hwloc *hwloc, xmlNode *node, uint32_t parent,
                                       uint32_t depth)
{
    if (depth > RONDE_MAX_HWLOC_DEPTH)
        return ronde_import_fail(hwloc->reader, node, "objects nested deeper than %u",
                                 RONDE_MAX_HWLOC_DEPTH);
    for (xmlNode *child = node->children; child; child = child->next)
        if (ronde_import_is(child, "object"))
            RONDE_TRY(read_object(hwloc, child, parent, depth + 1));
    return RONDE_OK;
}

/* Cores as ranks need the one number that no file has. */
static enum ronde_status check_cores(struct hwloc *hwloc)
{
    const struct ronde_import *import = hwloc->reader->import;
    if (import->cores == 0 || import->cores > RONDE_MAX_RANKS)
        return ronde_import_fail(hwloc->reader, hwloc->root, "neither GPUs nor cores");
    if (import->request.nodes > 1)
        return ronde_import_fail(hwloc->reader, hwloc->root,
                                 "no GPU; %u nodes can be joined only where ranks are GPUs",
                                 import->request.nodes);
    if (import->request.memory_GBps <= 0)
        return ronde_import_fail(hwloc->reader, hwloc->root,
                                 "no GPU, so the ranks are its %u cores, which share a memory of "
                                 "unknown rate; say --memory-GBps (`ronde calibrate` measures it)",
                                 import->cores);
    return RONDE_OK;
}

/* PCI Gen3 with 16 lanes, in hwloc's numbers. */
static const double gen3_x16_GBps = 15.75;

/* hwloc shows speeds to root only, and none of a slot that sleeps: such GPUs are taken for Gen3's, as NCCL takes them. */
static void rate_silent_gpus(struct ronde_import *import)
{
    for (uint32_t i = 0; i < import->places.count; i++) {
        struct ronde_import_place *gpu = RONDE_PLACE(import, i);
        if (gpu->kind != RONDE_PLACE_GPU || isfinite(gpu->up_GBps))
            continue;
        gpu->up_GBps = gen3_x16_GBps;
        ronde_import_note(import, RONDE_REMARK_PCIE_SPEED, gpu->line);
    }
}

/* Version 1 of the format has other names for nearly everything, and is no longer written. */
enum ronde_status ronde_hwloc_read(struct ronde_import_reader *reader, xmlNode *root)
{
    struct hwloc hwloc = {reader, root, RONDE_NONE, 0, 0};
    struct ronde_import *import = reader->import;
    char version[RONDE_ATTRIBUTE_BYTES];
    RONDE_TRY(ronde_import_text(reader, root, "version", version));
    if (strncmp(version, "2.", 2) != 0 && strncmp(version, "3.", 2) != 0)
        return ronde_import_fail(reader, root,
                                 "version of <topology> is '%s', expected that of hwloc 2 or 3",
                                 version);
    import->kind = import->request.path ? "hwloc topology" : "this machine, by hwloc";
    import->rates = "bandwidths as hwloc has them, between CPUs by NCCL's table";
    RONDE_TRY(read_children(&hwloc, root, RONDE_NONE, 0));
    if (import->cores == 0)
        import->cores = hwloc.threads;
    rate_silent_gpus(import);
    for (uint32_t i = 0; i < import->places.count; i++)
        if (RONDE_PLACE(import, i)->kind == RONDE_PLACE_GPU)
            return ronde_hwloc_read_matrices(reader, root);
    return check_cores(&hwloc);
}
