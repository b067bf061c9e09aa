/*
 * NCCL's <system> and RCCL's: CPUs, the PCI tree below them, GPUs with their NVLinks, NICs with their ports. Elements
 * that are in no table are skipped with what is in them, as NCCL does, and the import says so; numbers are not trusted.
 */
#include "import_reader.h"
#include "nccl_rates.h"

#include <math.h>
#include <string.h>

/* Most hosts of one file: the racks that NVLink joins have 18. */
#define MAX_HOSTS 64u

/* State of one reading; host hashes distinguish the machines of a merged file. */
struct nccl {
    struct ronde_import_reader *reader;
    const char *link;          /* element of a GPU's links: nvlink or xgmi */
    char hosts[MAX_HOSTS][32]; /* host_hash of each host */
    uint32_t host_count;       /* of these */
    uint32_t host;             /* that is read */
    struct ronde_nccl_nets nets;
    xmlNode *gpus[RONDE_MAX_PLACES]; /* <gpu> of a place, or NULL */
};

/* The number of a host_hash; a file without any describes one host. */
static enum ronde_status find_host(struct nccl *nccl, xmlNode *node, uint32_t *out_host)
{
    char hash[RONDE_ATTRIBUTE_BYTES];
    RONDE_TRY(ronde_import_text(nccl->reader, node, "host_hash", hash));
    hash[sizeof nccl->hosts[0] - 1] = '\0';
    for (*out_host = 0; *out_host < nccl->host_count; (*out_host)++)
        if (strcmp(nccl->hosts[*out_host], hash) == 0)
            return RONDE_OK;
    if (nccl->host_count == MAX_HOSTS)
        return ronde_import_fail(nccl->reader, node, "more than %u hosts", MAX_HOSTS);
    memcpy(nccl->hosts[nccl->host_count++], hash, sizeof nccl->hosts[0]);
    return RONDE_OK;
}

/* The rate to other CPUs follows from the make. */
static enum ronde_status rate_cpu(struct nccl *nccl, xmlNode *node, uint32_t place)
{
    char arch[RONDE_ATTRIBUTE_BYTES];
    char vendor[RONDE_ATTRIBUTE_BYTES];
    struct ronde_nccl_cpu cpu = {arch, vendor, 0, 0};
    struct ronde_import_reader *reader = nccl->reader;
    enum ronde_status status = ronde_import_text(reader, node, "arch", arch);
    RONDE_THEN(status, ronde_import_text(reader, node, "vendor", vendor));
    RONDE_THEN(status,
               ronde_import_integer(reader, node, "familyid", UINT32_MAX - 1, 0, &cpu.family));
    RONDE_THEN(status, ronde_import_integer(reader, node, "modelid", UINT32_MAX - 1, 0, &cpu.model));
    RONDE_PLACE(reader->import, place)->cpu_GBps = ronde_nccl_cpu_GBps(&cpu);
    return status;
}

/* numaid is any integer, also -1, and unique on its host. */
static enum ronde_status name_cpu(struct nccl *nccl, xmlNode *node, uint32_t place)
{
    struct ronde_import *import = nccl->reader->import;
    struct ronde_import_place *self = RONDE_PLACE(import, place);
    char numa[RONDE_ATTRIBUTE_BYTES];
    RONDE_TRY(ronde_import_text(nccl->reader, node, "numaid", numa));
    const char *digits = numa[0] == '-' ? numa + 1 : numa;
    if (digits[0] == '\0' || strlen(digits) > 9 || digits[strspn(digits, "0123456789")] != '\0')
        return ronde_import_fail(nccl->reader, node, "numaid is '%s', expected an integer", numa);
    if (self->host > 0)
        (void)snprintf(self->name, sizeof self->name, "host%u-cpu%.10s", self->host, numa);
    else
        (void)snprintf(self->name, sizeof self->name, "cpu%.10s", numa);
    for (uint32_t i = 0; i < place; i++)
        if (strcmp(RONDE_PLACE(import, i)->name, self->name) == 0)
            return ronde_import_fail(nccl->reader, node, "a second cpu %s; the first is on line %u",
                                     numa, RONDE_PLACE(import, i)->line);
    return RONDE_OK;
}

/* Elements that are in no table. */
static enum ronde_status skip(struct nccl *nccl, const xmlNode *node)
{
    if (node->type == XML_ELEMENT_NODE)
        ronde_import_note(nccl->reader->import, RONDE_REMARK_SKIPPED, ronde_import_line(node));
    return RONDE_OK;
}

/* Newer files have gin and rma beside net: other faces of the same port. */
static enum ronde_status read_nic(struct nccl *nccl, xmlNode *node, uint32_t place)
{
    for (xmlNode *child = node->children; child; child = child->next)
        RONDE_TRY(ronde_import_is(child, "net")
                      ? ronde_nccl_net_read(&nccl->nets, child, nccl->host, place)
                      : skip(nccl, child));
    return RONDE_OK;
}

/* <gpu> elements of a PCI device: several are parts of it (mlopart), or ranks that run on it (NCCL 2.30). */
static uint32_t count_gpus(const xmlNode *pci)
{
    uint32_t count = 0;
    for (const xmlNode *child = pci->children; child; child = child->next)
        count += ronde_import_is(child, "gpu");
    return count;
}

/* What a PCI element is: by what it holds, else by its class. */
static enum ronde_place_kind kind_of(const xmlNode *node, const char *class)
{
    bool is_leaf = true;
    for (const xmlNode *child = node->children; child; child = child->next)
        is_leaf = is_leaf && child->type != XML_ELEMENT_NODE;
    if (ronde_import_child(node, "nic"))
        return RONDE_PLACE_NIC;
    if (count_gpus(node) > 1)
        return RONDE_PLACE_DEVICE;
    if (ronde_import_child(node, "gpu") || (is_leaf && strncmp(class, "0x03", 4) == 0))
        return RONDE_PLACE_GPU;
    return is_leaf && strncmp(class, "0x02", 4) == 0 ? RONDE_PLACE_NIC : RONDE_PLACE_SWITCH;
}

/* The link to the parent. */
static enum ronde_status rate_pci(struct nccl *nccl, xmlNode *node, uint32_t place)
{
    struct ronde_import *import = nccl->reader->import;
    char speed[RONDE_ATTRIBUTE_BYTES];
    uint32_t lanes;
    bool is_known;
    RONDE_TRY(ronde_import_text(nccl->reader, node, "link_speed", speed));
    RONDE_TRY(ronde_import_integer(nccl->reader, node, "link_width", 64, 0, &lanes));
    RONDE_PLACE(import, place)->up_GBps = ronde_nccl_pcie_GBps(speed, lanes, &is_known);
    if (!is_known)
        ronde_import_note(import, RONDE_REMARK_PCIE_SPEED, ronde_import_line(node));
    return RONDE_OK;
}

/* The rank in the communicator, else NVML's index; a file for NCCL_TOPO_FILE may leave out both. */
static enum ronde_status read_gpu(struct nccl *nccl, xmlNode *node, uint32_t place)
{
    uint32_t device;
    struct ronde_import *import = nccl->reader->import;
    if (RONDE_PLACE(import, place)->kind == RONDE_PLACE_DEVICE) {
        RONDE_TRY(ronde_import_place_of(nccl->reader, node, RONDE_PLACE_GPU, place, &place));
        RONDE_PLACE(import, place)->up_GBps = RONDE_IMPORT_LOCAL_GBPS;
        RONDE_PLACE(import, place)->bus =
            RONDE_PLACE(import, RONDE_PLACE(import, place)->parent)->bus;
    }
    nccl->gpus[place] = node;
    struct ronde_import_place *self = RONDE_PLACE(import, place);
    RONDE_TRY(ronde_import_integer(nccl->reader, node, "dev", RONDE_MAX_RANKS, RONDE_NONE, &device));
    return ronde_import_integer(nccl->reader, node, "rank", RONDE_MAX_RANKS, device, &self->rank);
}

static enum ronde_status read_pci(struct nccl *nccl, xmlNode *node, uint32_t parent, uint32_t depth);

/* What may stand in a PCI element. */
static enum ronde_status read_pci_child(struct nccl *nccl, xmlNode *node, uint32_t place,
                                        uint32_t depth)
{
    if (ronde_import_is(node, "pci"))
        return read_pci(nccl, node, place, depth + 1);
    if (ronde_import_is(node, "gpu"))
        return read_gpu(nccl, node, place);
    if (ronde_import_is(node, "nic"))
        return read_nic(nccl, node, place);
    /* Links between switches are read once all switches are known. */
    return ronde_import_is(node, "pcilink") ? RONDE_OK : skip(nccl, node);
}

/* The element itself first: what is in it hangs from it. */
static enum ronde_status read_pci(struct nccl *nccl, xmlNode *node, uint32_t parent, uint32_t depth)
{
    struct ronde_import_reader *reader = nccl->reader;
    char class[RONDE_ATTRIBUTE_BYTES];
    uint32_t place = RONDE_NONE;
    if (depth > RONDE_MAX_PCI_DEPTH)
        return ronde_import_fail(reader, node, "pci nested deeper than %u", RONDE_MAX_PCI_DEPTH);
    RONDE_TRY(ronde_import_text(reader, node, "class", class));
    RONDE_TRY(ronde_import_place_of(reader, node, kind_of(node, class), parent, &place));
    RONDE_TRY(ronde_import_busid(reader, node, "busid", place));
    RONDE_TRY(rate_pci(nccl, node, place));
    for (xmlNode *child = node->children; child; child = child->next)
        RONDE_TRY(read_pci_child(nccl, child, place, depth));
    return RONDE_OK;
}

/*
 * A NIC without a PCI parent: sockets, or a virtual machine's. No limit of the path to it is known.
 */
static enum ronde_status read_local_nic(struct nccl *nccl, xmlNode *node, uint32_t cpu)
{
    uint32_t place;
    if (ronde_nccl_nic_is_repeated(&nccl->nets, node, nccl->host)) {
        ronde_import_note(nccl->reader->import, RONDE_REMARK_REPEATED_NET, ronde_import_line(node));
        return RONDE_OK;
    }
    RONDE_TRY(ronde_import_place_of(nccl->reader, node, RONDE_PLACE_NIC, cpu, &place));
    return read_nic(nccl, node, place);
}

/* A NUMA domain with everything below it. */
static enum ronde_status read_cpu(struct nccl *nccl, xmlNode *node)
{
    struct ronde_import *import = nccl->reader->import;
    uint32_t place = RONDE_NONE;
    uint32_t host = 0;
    RONDE_TRY(find_host(nccl, node, &host));
    RONDE_TRY(ronde_import_place_of(nccl->reader, node, RONDE_PLACE_CPU, RONDE_NONE, &place));
    RONDE_PLACE(import, place)->host = host;
    nccl->host = host;
    RONDE_TRY(name_cpu(nccl, node, place));
    RONDE_TRY(rate_cpu(nccl, node, place));
    for (xmlNode *child = node->children; child; child = child->next) {
        if (ronde_import_is(child, "pci"))
            RONDE_TRY(read_pci(nccl, child, place, 0));
        else if (ronde_import_is(child, "nic"))
            RONDE_TRY(read_local_nic(nccl, child, place));
        else
            RONDE_TRY(skip(nccl, child));
    }
    return RONDE_OK;
}

/* Rate of one link of a GPU. */
static enum ronde_status link_rate(struct nccl *nccl, xmlNode *gpu, double *out_GBps)
{
    char gcn[RONDE_ATTRIBUTE_BYTES];
    uint32_t sm;
    bool is_known = true;
    RONDE_TRY(ronde_import_text(nccl->reader, gpu, "gcn", gcn));
    RONDE_TRY(ronde_import_integer(nccl->reader, gpu, "sm", 100000, 0, &sm));
    const bool is_xgmi = strcmp(nccl->link, "xgmi") == 0;
    if (!is_xgmi && sm == 0)
        return ronde_import_fail(nccl->reader, gpu,
                                 "a gpu with nvlink but without sm, from which "
                                 "the rate of a link follows");
    *out_GBps = is_xgmi ? ronde_nccl_xgmi_GBps(gcn, &is_known) : ronde_nccl_nvlink_GBps(sm);
    if (!is_known)
        ronde_import_note(nccl->reader->import, RONDE_REMARK_GCN, ronde_import_line(gpu));
    return RONDE_OK;
}

/* To another GPU only in this direction: the peer has an element of its own. */
static enum ronde_status add_nvlink(struct nccl *nccl, xmlNode *node, uint32_t gpu, double GBps)
{
    struct ronde_import *import = nccl->reader->import;
    char target[RONDE_ATTRIBUTE_BYTES];
    char class[RONDE_ATTRIBUTE_BYTES];
    uint32_t centre = RONDE_NONE;
    RONDE_TRY(ronde_import_text(nccl->reader, node, "target", target));
    RONDE_TRY(ronde_import_text(nccl->reader, node, "tclass", class));
    if (strncmp(class, "0x068001", 8) == 0)
        return ronde_import_add_duplex(import, nccl->link, gpu, ronde_import_root(import, gpu),
                                       GBps, GBps);
    if (strncmp(class, "0x068000", 8) == 0) {
        RONDE_TRY(ronde_import_nvswitch(import, &centre));
        return ronde_import_add_duplex(import, nccl->link, gpu, centre, GBps, GBps);
    }
    const uint32_t peer = ronde_import_find(import, RONDE_PLACE(import, gpu)->host, target);
    if (peer == gpu || peer == RONDE_PLACE(import, gpu)->parent)
        ronde_import_note(import, RONDE_REMARK_SELF_LINK, ronde_import_line(node));
    else if (peer == RONDE_NONE || (RONDE_PLACE(import, peer)->kind != RONDE_PLACE_GPU &&
                                    RONDE_PLACE(import, peer)->kind != RONDE_PLACE_DEVICE))
        ronde_import_note(import, RONDE_REMARK_LOST_LINK, ronde_import_line(node));
    else
        return ronde_import_add_rate(import, nccl->link, gpu, peer, GBps);
    return RONDE_OK;
}

/* A count of 0 is a link that is down; of those of a device a part has its share. */
static enum ronde_status read_nvlink(struct nccl *nccl, xmlNode *node, uint32_t gpu, uint32_t parts)
{
    uint32_t count;
    double GBps = 0;
    RONDE_TRY(ronde_import_integer(nccl->reader, node, "count", 1024, 1, &count));
    RONDE_TRY(link_rate(nccl, node->parent, &GBps));
    if (count == 0)
        return RONDE_OK;
    return ronde_import_added(nccl->reader, node, add_nvlink(nccl, node, gpu, count * GBps / parts));
}

/* bw is MB/s of one link. */
static enum ronde_status read_c2c(struct nccl *nccl, xmlNode *node, uint32_t gpu)
{
    uint32_t count;
    double MBps;
    RONDE_TRY(ronde_import_integer(nccl->reader, node, "count", 1024, 1, &count));
    RONDE_TRY(ronde_import_number(nccl->reader, node, "bw", 0, &MBps));
    if (!(MBps * count >= 1) || MBps > 1e9)
        return ronde_import_fail(nccl->reader, node, "c2c of %g MB/s, %u links", MBps, count);
    struct ronde_import *import = nccl->reader->import;
    const double GBps = MBps * count / 1000;
    return ronde_import_added(nccl->reader, node,
                              ronde_import_add_duplex(import, "c2c", gpu,
                                                      ronde_import_root(import, gpu), GBps, GBps));
}

/*
 * Everything a GPU has besides its PCI link. Each GPU of a device names all links of the device: parts of a GPU have NVLinks
 * of their own, an even share, and the link to the CPU together; ranks on one GPU share all of it.
 */
static enum ronde_status read_links(struct nccl *nccl, xmlNode *gpu, uint32_t place)
{
    const uint32_t above = RONDE_PLACE(nccl->reader->import, place)->parent;
    const bool is_shared =
        above != RONDE_NONE && RONDE_PLACE(nccl->reader->import, above)->kind == RONDE_PLACE_DEVICE;
    const bool is_part = is_shared && xmlHasProp(gpu, (const xmlChar *)"mlopart");
    const bool is_first = ronde_import_child(gpu->parent, "gpu") == gpu;
    const uint32_t owner = is_shared ? above : place;
    if (is_shared && is_first)
        ronde_import_note(nccl->reader->import, RONDE_REMARK_SHARED_GPU, ronde_import_line(gpu));
    for (xmlNode *child = gpu->children; child; child = child->next) {
        if (ronde_import_is(child, nccl->link) && is_part)
            RONDE_TRY(read_nvlink(nccl, child, place, count_gpus(gpu->parent)));
        else if (ronde_import_is(child, nccl->link) && (is_first || !is_shared))
            RONDE_TRY(read_nvlink(nccl, child, owner, 1));
        else if (ronde_import_is(child, "c2c") && (is_first || !is_shared))
            RONDE_TRY(read_c2c(nccl, child, owner));
        else if (ronde_import_is(child, nccl->link) || ronde_import_is(child, "c2c"))
            continue;
        else
            RONDE_TRY(skip(nccl, child));
    }
    return RONDE_OK;
}

/* NCCL takes such a link for as fast as anything; it carries what the switches carry. */
static enum ronde_status read_pcilink(struct nccl *nccl, xmlNode *node)
{
    struct ronde_import *import = nccl->reader->import;
    char ends[2][RONDE_ATTRIBUTE_BYTES];
    uint32_t host = 0;
    uint32_t places[2];
    const xmlNode *cpu = node;
    while (!ronde_import_is(cpu, "cpu"))
        cpu = cpu->parent;
    RONDE_TRY(ronde_import_text(nccl->reader, node->parent, "busid", ends[0]));
    RONDE_TRY(ronde_import_text(nccl->reader, node, "target", ends[1]));
    RONDE_TRY(find_host(nccl, (xmlNode *)(uintptr_t)cpu, &host));
    for (uint32_t i = 0; i < 2; i++)
        places[i] = ronde_import_find(import, host, ends[i]);
    for (uint32_t i = 0; i < 2; i++)
        if (places[i] != RONDE_NONE && ronde_import_is_ambiguous(import, places[i]))
            return ronde_import_fail(nccl->reader, node,
                                     "a pcilink of %s, which several bridges are called", ends[i]);
    if (places[1] == RONDE_NONE || places[0] == places[1]) {
        ronde_import_note(import, RONDE_REMARK_LOST_LINK, ronde_import_line(node));
        return RONDE_OK;
    }
    return ronde_import_added(nccl->reader, node,
                              ronde_import_add_rate(import, "pcilink", places[0], places[1],
                                                    INFINITY));
}

/* Everything that names its other end by busid. */
static enum ronde_status read_all_links(struct nccl *nccl, xmlNode *node)
{
    for (xmlNode *child = node->children; child; child = child->next) {
        if (ronde_import_is(child, "pcilink") && ronde_import_is(node, "pci"))
            RONDE_TRY(read_pcilink(nccl, child));
        else if (ronde_import_is(child, "cpu") || ronde_import_is(child, "pci"))
            RONDE_TRY(read_all_links(nccl, child));
    }
    return RONDE_OK;
}

/* The number of GPUs is all that a file must have; everything else has a default. */
static enum ronde_status check_gpus(struct nccl *nccl, const xmlNode *root)
{
    const struct ronde_import *import = nccl->reader->import;
    uint32_t devices = 0;
    for (uint32_t i = 0; i < import->places.count; i++) {
        if (RONDE_PLACE(import, i)->kind == RONDE_PLACE_GPU)
            return RONDE_OK;
        devices += RONDE_PLACE(import, i)->kind != RONDE_PLACE_CPU ? 1 : 0;
    }
    return ronde_import_fail(nccl->reader, root,
                             "no GPU: none of the %u PCI devices has a gpu element or class 0x03; "
                             "NCCL fills in such a file while it runs, NCCL_TOPO_DUMP_FILE writes "
                             "the result",
                             devices);
}

/* Two GPUs of one rank would be one host. */
static enum ronde_status check_ranks(struct nccl *nccl)
{
    const struct ronde_import *import = nccl->reader->import;
    for (uint32_t i = 0; i < import->places.count; i++)
        for (uint32_t j = 0; j < i && nccl->gpus[i]; j++) {
            const struct ronde_import_place *a = RONDE_PLACE(import, j);
            const struct ronde_import_place *b = RONDE_PLACE(import, i);
            /* Without ranks the GPUs of a device have its number, and their order. */
            const bool is_one_device = nccl->gpus[j] &&
                                       nccl->gpus[j]->parent == nccl->gpus[i]->parent &&
                                       !xmlHasProp(nccl->gpus[i], (const xmlChar *)"rank");
            if (nccl->gpus[j] && !is_one_device && a->rank == b->rank && a->rank != RONDE_NONE &&
                a->host == b->host)
                return ronde_import_fail(
                    nccl->reader, nccl->gpus[i],
                    "a second gpu of rank (or dev) %u; the first is on line %u", b->rank, a->line);
        }
    return RONDE_OK;
}

/* Links come last: they name places that may stand further down in the file. */
enum ronde_status ronde_nccl_read(struct ronde_import_reader *reader, xmlNode *root)
{
    struct nccl nccl = {.reader = reader};
    char version[RONDE_ATTRIBUTE_BYTES];
    enum ronde_status status = ronde_import_text(reader, root, "version", version);
    if (status != RONDE_OK)
        return status;
    const bool is_rccl = strcmp(version, "2") == 0;
    if (!is_rccl && strcmp(version, "1") != 0)
        return ronde_import_fail(reader, root,
                                 "version of <system> is '%s', expected 1 (NCCL) or 2 (RCCL)",
                                 version);
    nccl.link = is_rccl ? "xgmi" : "nvlink";
    reader->import->kind = is_rccl ? "RCCL topology" : "NCCL topology";
    reader->import->rates = "bandwidths by NCCL's tables";
    ronde_nccl_nets_open(&nccl.nets, reader, root);
    for (xmlNode *child = root->children; child && status == RONDE_OK; child = child->next)
        status = ronde_import_is(child, "cpu") ? read_cpu(&nccl, child) : skip(&nccl, child);
    ronde_nccl_nets_close(&nccl.nets);
    RONDE_THEN(status, check_gpus(&nccl, root));
    RONDE_THEN(status, check_ranks(&nccl));
    for (uint32_t i = 0; i < reader->import->places.count && status == RONDE_OK; i++)
        if (nccl.gpus[i])
            status = read_links(&nccl, nccl.gpus[i], i);
    return status == RONDE_OK ? read_all_links(&nccl, root) : status;
}
