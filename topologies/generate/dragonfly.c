/*
 * Dragonfly (J. Kim, W. Dally, S. Scott, D. Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008):
 * groups of routers that are all joined to each other, and one cable between any two groups. Routes are minimal: at
 * most one cable inside the first group, one between groups, one inside the last. A group is a zone; the cables between
 * groups are routes written out, since with one cable per pair there is nothing to choose.
 */
#include "generator.h"

/* Hosts where none are asked for. */
#define HOSTS 72u
/* Ports of a Slingshot switch, 200 Gbit/s each. */
#define PORT_GBPS 25.0
/* Latency a Slingshot switch adds. */
#define SLINGSHOT_NS 350.0

/* The network, decided. */
struct dragonfly {
    struct ronde_elements to;
    uint32_t hosts; /* the last router may have fewer */
    uint32_t groups;
    uint32_t routers;      /* of a group */
    uint32_t router_hosts; /* of a full router */
    uint32_t cables;       /* to other groups, of a router */
};

/* Balanced, as the paper recommends: twice as many routers in a group as hosts or cables at a router. */
static void balance(struct dragonfly *dragonfly)
{
    uint32_t ports = 1;
    while ((uint64_t)2 * ports * ports * (2 * ports * ports + 1) < dragonfly->hosts)
        ports++;
    dragonfly->router_hosts = ports;
    dragonfly->routers = 2 * ports;
    dragonfly->groups = ronde_parts_of(dragonfly->hosts, 2 * ports * ports);
}

/* The router of `group` that has the cable to another group: cables are dealt out in the order of the groups. */
static uint32_t gateway(const struct dragonfly *dragonfly, uint32_t group, uint32_t other)
{
    const uint32_t turn = (other + dragonfly->groups - group - 1) % dragonfly->groups;
    return turn / dragonfly->cables;
}

/* Routers and the cables between them; host h hangs on router h / router_hosts, counted through all groups. */
static void put_group(const struct dragonfly *dragonfly, uint32_t group)
{
    const struct ronde_elements *to = &dragonfly->to;
    const struct ronde_link_element port = ronde_duplex(PORT_GBPS, 500);
    const struct ronde_link_element cable = ronde_duplex(PORT_GBPS, SLINGSHOT_NS);
    const uint32_t routers = dragonfly->routers;
    const uint32_t size = routers * dragonfly->router_hosts;
    const uint32_t first = group * size;
    const uint32_t last = first + size < dragonfly->hosts ? first + size : dragonfly->hosts;
    ronde_put(to, RONDE_ELEMENT_ZONE, "group%u DijkstraCache", group);
    for (uint32_t i = 0; i < routers; i++)
        ronde_put(to, RONDE_ELEMENT_ROUTER, "r%u-%u", group, i);
    for (uint32_t host = first; host < last; host++) {
        ronde_put(to, RONDE_ELEMENT_HOST, "h%u", host);
        ronde_put_link(to, port, "h%u_c", host);
    }
    for (uint32_t i = 0; i < routers; i++)
        for (uint32_t j = i + 1; j < routers; j++)
            ronde_put_link(to, cable, "g%u_%u-%u", group, i, j);
    for (uint32_t host = first; host < last; host++)
        ronde_put(to, RONDE_ELEMENT_ROUTE, "h%u r%u-%u >h%u_c", host, group,
                  (host - first) / dragonfly->router_hosts, host);
    for (uint32_t i = 0; i < routers; i++)
        for (uint32_t j = i + 1; j < routers; j++)
            ronde_put(to, RONDE_ELEMENT_ROUTE, "r%u-%u r%u-%u >g%u_%u-%u", group, i, group, j,
                      group, i, j);
    ronde_put(to, RONDE_ELEMENT_ZONE_END, "%s", "");
}

/* One cable for each pair of groups. */
static void put_cables(const struct dragonfly *dragonfly)
{
    const struct ronde_link_element cable = ronde_duplex(PORT_GBPS, SLINGSHOT_NS);
    for (uint32_t a = 0; a < dragonfly->groups; a++)
        for (uint32_t b = a + 1; b < dragonfly->groups; b++)
            ronde_put_link(&dragonfly->to, cable, "global%u-%u", a, b);
    for (uint32_t a = 0; a < dragonfly->groups; a++)
        for (uint32_t b = a + 1; b < dragonfly->groups; b++)
            ronde_put(&dragonfly->to, RONDE_ELEMENT_ZONE_ROUTE,
                      "group%u group%u r%u-%u r%u-%u >global%u-%u", a, b, a,
                      gateway(dragonfly, a, b), b, gateway(dragonfly, b, a), a, b);
}

/* Sizes from a shape, or balanced for a number of hosts. */
static enum ronde_status decide(const struct ronde_generate_request *request,
                                struct dragonfly *dragonfly, struct ronde_error *error)
{
    const uint32_t *shape = request->shape;
    if (request->axis_count > 0 && (request->axis_count != 3 || request->nodes > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "the shape of a dragonfly is GROUPSxROUTERSxHOSTS, e.g. 9x4x2; nodes "
                          "follow from it");
    dragonfly->hosts = request->nodes > 0 ? request->nodes : HOSTS;
    if (request->axis_count == 0) {
        balance(dragonfly);
    } else {
        dragonfly->groups = shape[0];
        dragonfly->routers = shape[1];
        dragonfly->router_hosts = shape[2];
        dragonfly->hosts = shape[0] * shape[1] * shape[2];
    }
    /* One cable per pair of groups and per pair of routers is quadratic, as it is in the machine room. */
    if (dragonfly->groups > 1024 || dragonfly->routers > 256)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a dragonfly of %u groups of %u routers, at most 1024 of 256",
                          dragonfly->groups, dragonfly->routers);
    dragonfly->cables =
        dragonfly->groups > 1 ? ronde_parts_of(dragonfly->groups - 1, dragonfly->routers) : 0;
    return RONDE_OK;
}

enum ronde_status ronde_generate_dragonfly(const struct ronde_generate_request *request, FILE *file,
                                           struct ronde_error *error)
{
    struct dragonfly dragonfly = {.to = {file, 4}};
    char name[64];
    char description[160];
    RONDE_TRY(decide(request, &dragonfly, error));
    snprintf(name, sizeof name, "dragonfly-%u", dragonfly.hosts);
    snprintf(description, sizeof description,
             "%u hosts, %u groups of %u routers, 25 GB/s cables, one between any two groups",
             dragonfly.hosts, dragonfly.groups, dragonfly.routers);
    const struct ronde_opening opening = {
        .name = name,
        .routing = "Full",
        .description = description,
        .source =
            "Slingshot: 200 Gbit/s ports, 350 ns a switch (De Sensi et al., SC 2020); form: Kim et "
            "al., ISCA 2008",
        .comment =
            "  Groups of routers that are all joined to each other, and one cable between any two "
            "groups (J. Kim, W. Dally,\n"
            "  S. Scott, D. Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA "
            "2008). "
            "Routes are minimal.\n\n"
            "  Nominal, not measured. Rates: Slingshot, 64 ports of 200 Gbit/s a switch, 350 ns "
            "each "
            "(D. De Sensi et al.: An\n"
            "  In-Depth Analysis of the Slingshot Interconnect, SC 2020). Latency: 500 ns per "
            "port, so "
            "1 us on one switch as in\n"
            "  crossbar-64.xml, and 350 ns for each further one; the length of cables is left "
            "out.\n"};
    ronde_generator_open(file, &opening);
    for (uint32_t group = 0; group < dragonfly.groups; group++)
        put_group(&dragonfly, group);
    put_cables(&dragonfly);
    return ronde_elements_close(file, error);
}
