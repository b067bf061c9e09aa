/* A node's numbers as people write them. See generate.h. */
#include "ronde/generate.h"

#include "ronde/collective.h"
#include "topologies/platform.h"

#include <string.h>

/* Room for a rate. */
#define RATE_BYTES 32u

/* "450GBps", and as data sheets have it: "450GB/s", "400Gbit/s". A number alone has no unit here, whatever SimGrid takes it for. */
static bool parse_rate(const char *text, double *out_GBps)
{
    static const char *const spellings[][2] = {{"bit/s", "bps"}, {"B/s", "Bps"}, {"b/s", "bps"}};
    char plain[RATE_BYTES];
    const size_t length = strlen(text);
    if (length == 0 || length >= sizeof plain || !strchr("sS", text[length - 1]))
        return false;
    memcpy(plain, text, length + 1);
    for (size_t s = 0; s < sizeof spellings / sizeof spellings[0]; s++) {
        const size_t tail = strlen(spellings[s][0]);
        if (length > tail && strcmp(plain + length - tail, spellings[s][0]) == 0)
            memcpy(plain + length - tail, spellings[s][1], strlen(spellings[s][1]) + 1);
    }
    return ronde_parse_bandwidth(plain, out_GBps) && *out_GBps > 0 && *out_GBps <= 1e6;
}

static enum ronde_status set_nvlink(struct ronde_node_description *node, const char *text,
                                    struct ronde_error *error)
{
    double rate_GBps = 0;
    if (!parse_rate(text, &rate_GBps))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "nvlink \"%.32s\" is no rate of all links of a GPU, one direction; as "
                          "450GBps, 450GB/s, 3600Gbps",
                          text);
    node->nvlink_GBps = rate_GBps;
    return RONDE_OK;
}

static enum ronde_status set_nics(struct ronde_node_description *node, const char *text,
                                  struct ronde_error *error)
{
    const char *cursor = text;
    uint64_t count = 0;
    double rate_GBps = 0;
    if (!ronde_parse_integer(&cursor, RONDE_MAX_RANKS, &count) || count == 0 || *cursor != 'x' ||
        !parse_rate(cursor + 1, &rate_GBps))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "nics \"%.32s\" is no COUNTxRATE of the NICs of a node, one direction; "
                          "as 8x50GBps, 8x400Gbps",
                          text);
    node->nics = (uint32_t)count;
    node->nic_GBps = rate_GBps;
    return RONDE_OK;
}

enum ronde_status ronde_generate_node_words(struct ronde_node_description *node, const char *nvlink,
                                            const char *nics, struct ronde_error *error)
{
    enum ronde_status status = nvlink ? set_nvlink(node, nvlink, error) : RONDE_OK;
    if (status == RONDE_OK && nics)
        status = set_nics(node, nics, error);
    return status;
}
