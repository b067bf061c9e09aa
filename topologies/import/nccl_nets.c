/* Ports of NICs in NCCL's files. See import_reader.h. */
#include "import_reader.h"

#include <string.h>

/* What names a net among those of its host; longer attributes are cut. */
struct ronde_nccl_net {
    uint32_t host;
    char key[128];
};

/* Elements that may contain nets, and nets. */
static bool has_device(const xmlNode *node)
{
    for (const xmlNode *child = node->children; child; child = child->next) {
        xmlNode *own = (xmlNode *)(uintptr_t)child;
        if (ronde_import_is(child, "net") && xmlHasProp(own, (const xmlChar *)"dev"))
            return true;
        if ((ronde_import_is(child, "cpu") || ronde_import_is(child, "pci") ||
             ronde_import_is(child, "nic")) &&
            has_device(child))
            return true;
    }
    return false;
}

void ronde_nccl_nets_open(struct ronde_nccl_nets *nets, struct ronde_import_reader *reader,
                          const xmlNode *root)
{
    *nets = (struct ronde_nccl_nets){.reader = reader, .has_devices = has_device(root)};
}

void ronde_nccl_nets_close(struct ronde_nccl_nets *nets)
{
    ronde_list_free(nets->reader->import->mem, &nets->seen, sizeof(struct ronde_nccl_net));
}

/* Number, guid and port; false where it has no number, or an attribute that is refused later. */
static bool key_of(const struct ronde_nccl_nets *nets, xmlNode *net, char key[128])
{
    static const char *const names[] = {"dev", "guid", "port"};
    char text[3][RONDE_ATTRIBUTE_BYTES];
    struct ronde_error ignored = {0};
    struct ronde_import_reader reader = *nets->reader;
    reader.error = &ignored;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (ronde_import_text(&reader, net, names[i], text[i]) != RONDE_OK)
            return false;
    (void)snprintf(key, 128, "%.40s/%.40s/%.40s", text[0], text[1], text[2]);
    return text[0][0] != '\0';
}

static bool is_seen(const struct ronde_nccl_nets *nets, xmlNode *net, uint32_t host)
{
    const struct ronde_nccl_net *seen = nets->seen.items;
    char key[128];
    if (!key_of(nets, net, key))
        return false;
    for (uint32_t i = 0; i < nets->seen.count; i++)
        if (seen[i].host == host && strcmp(seen[i].key, key) == 0)
            return true;
    return false;
}

bool ronde_nccl_nic_is_repeated(const struct ronde_nccl_nets *nets, xmlNode *nic, uint32_t host)
{
    uint32_t known = 0;
    for (xmlNode *child = nic->children; child; child = child->next) {
        if (!ronde_import_is(child, "net"))
            continue;
        if (!is_seen(nets, child, host))
            return false;
        known++;
    }
    return known > 0;
}

/* Keeps a net's key; false: no memory. */
static bool note(struct ronde_nccl_nets *nets, xmlNode *net, uint32_t host)
{
    struct ronde_nccl_net seen = {.host = host};
    return !key_of(nets, net, seen.key) ||
           ronde_list_append(nets->reader->import->mem, &nets->seen, &seen, sizeof seen);
}

enum ronde_status ronde_nccl_net_read(struct ronde_nccl_nets *nets, xmlNode *node, uint32_t host,
                                      uint32_t place)
{
    struct ronde_import *import = nets->reader->import;
    char name[RONDE_ATTRIBUTE_BYTES];
    char speed[RONDE_ATTRIBUTE_BYTES];
    double Mbps = 0;
    RONDE_TRY(ronde_import_text(nets->reader, node, "name", name));
    RONDE_TRY(ronde_import_text(nets->reader, node, "speed", speed));
    if (speed[0] != '\0' &&
        (!ronde_parse_number(speed, &Mbps) || Mbps > 1e12 || (Mbps > 0 && Mbps < 1)))
        return ronde_import_fail(nets->reader, node, "speed is '%s', expected Mbit/s", speed);
    if (nets->has_devices && !xmlHasProp(node, (const xmlChar *)"dev")) {
        ronde_import_note(import, RONDE_REMARK_FUSED_NET, ronde_import_line(node));
        return RONDE_OK;
    }
    if (is_seen(nets, node, host)) {
        ronde_import_note(import, RONDE_REMARK_REPEATED_NET, ronde_import_line(node));
        return RONDE_OK;
    }
    if (!note(nets, node, host))
        return ronde_fail(nets->reader->error, RONDE_NO_MEMORY, "no memory for the ports of NICs");
    if (Mbps <= 0) {
        ronde_import_note(import, RONDE_REMARK_NET_SPEED, ronde_import_line(node));
        Mbps = 10000;
    }
    ronde_import_add_port(RONDE_PLACE(import, place), name, Mbps / 8000);
    return RONDE_OK;
}
