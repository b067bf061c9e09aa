/* What all generators write alike: the head of a file. See generator.h. */
#include "generator.h"

void ronde_generator_open(FILE *file, const struct ronde_opening *opening)
{
    ronde_elements_open(file, opening->comment, opening->name, opening->routing);
    ronde_put_prop(file, "description", opening->description);
    ronde_put_prop(file, "source", opening->source);
    if (opening->node_hosts > 0)
        fprintf(file, "    <prop id=\"ronde.node_hosts\" value=\"%u\"/>\n", opening->node_hosts);
    if (opening->multicasts)
        ronde_put_prop(file, "multicast", "1");
}

uint32_t ronde_parts_of(uint32_t total, uint32_t size)
{
    return (total + size - 1) / size;
}
