/*
 * <cluster topology="TORUS">: every host has a link to the next one on each axis, named as SimGrid 3.32 names them,
 * ID_link_from_HOST_to_NEXT with hosts counted from 0. They are entered as routes between neighbours, along which
 * route.c goes.
 */
#include "reader.h"

#include <string.h>

/* "8,8,8": as many hosts as the product says. */
static enum ronde_status read_axes(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   struct ronde_zone *zone, uint32_t hosts)
{
    const char *text = ronde_reader_value(tag, "topo_parameters");
    uint64_t product = 1;
    for (const char *at = text;; at++) {
        uint64_t length;
        if (zone->axis_count == RONDE_TORUS_AXES || !ronde_parse_integer(&at, hosts, &length) ||
            length == 0 || (*at != ',' && *at != '\0'))
            return ronde_reader_fail(
                reader, tag, "topo_parameters is '%s', expected at most %u axes such as 4,4", text,
                RONDE_TORUS_AXES);
        zone->axes[zone->axis_count++] = (uint32_t)length;
        /* Six such factors could overflow: once there are too many, it stays so. */
        product = product * length > hosts ? (uint64_t)hosts + 1 : product * length;
        if (*at == '\0')
            break;
    }
    return product == hosts ? RONDE_OK
                            : ronde_reader_fail(reader, tag,
                                                "a torus of '%s' has another number of hosts than "
                                                "radical, %u",
                                                text, hosts);
}

/* What all links of a torus have in common. */
struct torus {
    struct ronde_xml_reader *reader;
    const struct ronde_tag *tag;
    struct ronde_link link; /* its name is that of the cluster */
    enum ronde_link_sharing sharing;
    uint32_t first; /* point of host 0; the others follow */
};

/* One way between two neighbours over one link. */
static enum ronde_status add_way(const struct torus *torus, uint32_t src, uint32_t dst,
                                 uint32_t link)
{
    struct ronde_platform *platform = torus->reader->platform;
    const struct ronde_hops hops = {platform->hops.count, 1};
    const uint32_t from = torus->first + src, to = torus->first + dst;
    const struct ronde_route way = {from, to, from, to, torus->tag->line, hops};
    return ronde_platform_add_hop(platform, link) == RONDE_OK &&
                   ronde_list_append(platform->mem, &platform->routes, &way, sizeof way)
               ? RONDE_OK
               : ronde_reader_no_memory(torus->reader);
}

/* The link from a host to the next on an axis, and both ways over it unless routes have no use for it. */
static enum ronde_status add_link(const struct torus *torus, uint32_t host, uint32_t next,
                                  bool is_way)
{
    struct ronde_link link = torus->link;
    char ranks[64];
    uint32_t up_down[2];
    (void)snprintf(ranks, sizeof ranks, "%u_to_%u", host, next);
    link.name = ronde_platform_text(torus->reader->platform, torus->link.name, "_link_from_", ranks);
    if (!link.name)
        return ronde_reader_no_memory(torus->reader);
    enum ronde_status status =
        ronde_reader_new_link(torus->reader, torus->tag, &link, torus->sharing, up_down);
    if (status == RONDE_OK && is_way)
        status = add_way(torus, host, next, up_down[0]);
    return status == RONDE_OK && is_way ? add_way(torus, next, host, up_down[1]) : status;
}

/* The links of one host. On a ring of two the second link goes unused, as it does in SimGrid; on one of one, too. */
static enum ronde_status add_links(const struct torus *torus, const struct ronde_zone *zone,
                                   uint32_t host)
{
    enum ronde_status status = RONDE_OK;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < zone->axis_count && status == RONDE_OK; i++) {
        const uint32_t length = zone->axes[i];
        const bool is_last = host / stride % length == length - 1;
        const uint32_t next = is_last ? host - (length - 1) * stride : host + stride;
        status = add_link(torus, host, next, length > 2 || (length == 2 && !is_last));
        stride *= length;
    }
    return status;
}

enum ronde_status ronde_reader_torus(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t zone, const struct ronde_link *link,
                                     enum ronde_link_sharing sharing)
{
    struct ronde_platform *platform = reader->platform;
    struct ronde_zone *self = RONDE_AT(platform->zones, struct ronde_zone, zone);
    /* The router came first. */
    const uint32_t hosts = self->member_count - 1;
    const struct torus torus = {reader, tag, *link, sharing, platform->points.count - hosts};
    enum ronde_status status = read_axes(reader, tag, self, hosts);
    for (uint32_t host = 0; host < hosts && status == RONDE_OK; host++)
        status = add_links(&torus, self, host);
    self->kind = RONDE_ZONE_TORUS;
    return status;
}
