/* Placements by name, and which host a rank gets. */
#include "ronde/place.h"

#include <string.h>

static const char *const placement_texts[] = {
#define PLACEMENT_TEXT(name, text, summary) text,
    RONDE_PLACEMENT_LIST(PLACEMENT_TEXT)
#undef PLACEMENT_TEXT
};

const char *ronde_placement_text(enum ronde_placement placement)
{
    return (uint32_t)placement < RONDE_PLACEMENT_COUNT ? placement_texts[placement] : "?";
}

bool ronde_placement_parse(const char *text, enum ronde_placement *out_placement)
{
    for (uint32_t i = 0; i < RONDE_PLACEMENT_COUNT; i++)
        if (strcmp(placement_texts[i], text) == 0) {
            *out_placement = (enum ronde_placement)i;
            return true;
        }
    return false;
}

/* Round after round every node gives its next host, until it has none left. */
static void scatter(const struct ronde_nodes *nodes, uint32_t ranks, uint32_t *out_host_of)
{
    uint32_t rank = 0;
    for (uint32_t round = 0; rank < ranks; round++)
        for (uint32_t node = 0; node < nodes->count && rank < ranks; node++) {
            const uint32_t at = nodes->first[node] + round;
            if (at < nodes->first[node + 1])
                out_host_of[rank++] = nodes->hosts[at];
        }
}

enum ronde_status ronde_place(const struct ronde_nodes *nodes, enum ronde_placement placement,
                              uint32_t ranks, uint32_t *out_host_of, struct ronde_error *error)
{
    if (ranks > nodes->host_count)
        return ronde_fail(error, RONDE_BAD_INPUT, "%u ranks cannot be placed on %u hosts", ranks,
                          nodes->host_count);
    switch (placement) {
    case RONDE_PLACE_SCATTERED:
        scatter(nodes, ranks, out_host_of);
        return RONDE_OK;
    case RONDE_PLACE_PACKED:
    case RONDE_PLACE_AUTO:
        memcpy(out_host_of, nodes->hosts, ranks * sizeof *out_host_of);
        return RONDE_OK;
    case RONDE_PLACE_FILE:
    case RONDE_PLACEMENT_COUNT:
        break;
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        out_host_of[rank] = rank;
    return RONDE_OK;
}
