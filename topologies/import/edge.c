/* A link between two places as links of a platform file. */
#include "machine.h"

#include <math.h>

/* Written so that two infinities are equal. */
bool ronde_import_is_symmetric(const struct ronde_import_edge *edge)
{
    return !(edge->GBps[0] < edge->GBps[1]) && !(edge->GBps[0] > edge->GBps[1]);
}

uint32_t ronde_import_links(const struct ronde_import_edge *edge)
{
    uint32_t links = 0;
    for (uint32_t way = 0; way < 2; way++)
        links += isfinite(edge->GBps[way]) && edge->GBps[way] > 0 ? 1 : 0;
    return ronde_import_is_symmetric(edge) && links == 2 ? 1 : links;
}
