/* What all generators write alike: head and end of a file, links, the core. */
#include "generator.h"

void ronde_generator_open(FILE *file, const struct ronde_opening *opening)
{
    fprintf(file,
            "<?xml version=\"1.0\"?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<!--\n%s-->\n"
            "<platform version=\"4.1\">\n"
            "  <zone id=\"%s\" routing=\"%s\">\n"
            "    <prop id=\"ronde.description\" value=\"%s\"/>\n"
            "    <prop id=\"ronde.source\" value=\"%s\"/>\n",
            opening->comment, opening->name, opening->routing, opening->description,
            opening->source);
    if (opening->node_hosts > 0)
        fprintf(file, "    <prop id=\"ronde.node_hosts\" value=\"%u\"/>\n", opening->node_hosts);
    if (opening->multicasts)
        fputs("    <prop id=\"ronde.multicast\" value=\"1\"/>\n", file);
}

enum ronde_status ronde_generator_close(FILE *file, struct ronde_error *error)
{
    fputs("  </zone>\n</platform>\n", file);
    if (fflush(file) != 0 || ferror(file))
        return ronde_fail(error, RONDE_DEVICE, "writing the platform file failed");
    return RONDE_OK;
}

void ronde_generator_link(FILE *file, const char *id, double GBps, double latency_ns)
{
    fprintf(file,
            "    <link id=\"%s\" bandwidth=\"%.15gGBps\" latency=\"%.15gns\" "
            "sharing_policy=\"SPLITDUPLEX\"/>\n",
            id, GBps, latency_ns);
}

void ronde_generator_core(FILE *file)
{
    fputs("    <zone id=\"core\" routing=\"Full\"><router id=\"spine\"/></zone>\n", file);
}

uint32_t ronde_parts_of(uint32_t total, uint32_t size)
{
    return (total + size - 1) / size;
}
