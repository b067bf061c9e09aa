/* The XML of an MSCCL file: what its root element says, and the ranks in it. See parse.h. */
#include "parse.h"

#include "topologies/read/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Without an attribute, which the oldest files lack, the collective is the word that the name begins with. */
static enum ronde_status read_collective(struct msccl_reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    char text[MSCCL_ATTRIBUTE_BYTES];
    bool is_there;
    const enum ronde_status status = msccl_take_text(reader, root, "coll", text, &is_there);
    if (status != RONDE_OK)
        return status;
    if (!is_there) {
        size_t length = strspn(algo->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        (void)snprintf(text, sizeof text, "%.*s", (int)length, algo->name);
        for (char *at = text; *at; at++)
            *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
    algo->is_custom = strcmp(text, "custom") == 0;
    algo->goes_backward = strstr(algo->name, "back") != NULL;
    if (algo->is_custom) {
        algo->collective = RONDE_SEND_RECV;
        return RONDE_OK;
    }
    if (strcmp(text, "reducescatter") == 0)
        (void)snprintf(text, sizeof text, "reduce_scatter");
    if (!ronde_collective_parse(text, &algo->collective) || algo->collective == RONDE_BARRIER ||
        algo->collective == RONDE_SEND_RECV)
        return msccl_fail(reader, root, "collective '%s' is none that is known", text);
    return RONDE_OK;
}

static enum ronde_status read_protocol(struct msccl_reader *reader, xmlNode *root)
{
    char text[MSCCL_ATTRIBUTE_BYTES];
    bool is_there;
    const enum ronde_status status = msccl_take_text(reader, root, "proto", text, &is_there);
    if (status != RONDE_OK || !is_there)
        return status;
    for (unsigned i = 0; i < RONDE_MSCCL_PROTOCOL_COUNT; i++)
        if (strcmp(msccl_protocols[i].text, text) == 0) {
            reader->algo->protocol = (enum ronde_msccl_protocol)i;
            return RONDE_OK;
        }
    return msccl_fail(reader, root, "proto is '%s', expected Simple, LL or LL128", text);
}

/* Two flags where the second is there, else one that says which of the two it is. */
static enum ronde_status read_forms(struct msccl_reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    enum ronde_status status = msccl_take_flag(reader, root, "inplace", false, &algo->in_place);
    if (status == RONDE_OK)
        status = msccl_take_flag(reader, root, "outofplace", !algo->in_place, &algo->out_of_place);
    if (status == RONDE_OK && !algo->in_place && !algo->out_of_place)
        return msccl_fail(reader, root,
                          "neither inplace nor outofplace: no call would ever run this");
    return status;
}

/* Compact files may leave out nchunksperloop: then it is the size of the largest user buffer. */
static enum ronde_status read_chunks(struct msccl_reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    int32_t chunks;
    const enum ronde_status status = msccl_take_number(reader, root, "nchunksperloop", 1, &chunks);
    if (status != RONDE_OK)
        return status;
    algo->chunks = chunks == MSCCL_MISSING ? 0 : (uint32_t)chunks;
    for (uint32_t g = 0; chunks == MSCCL_MISSING && g < algo->ranks; g++)
        for (unsigned buffer = RONDE_IN; buffer <= RONDE_OUT; buffer++)
            if (msccl_gpu_at(algo, g)->chunks[buffer] > algo->chunks)
                algo->chunks = msccl_gpu_at(algo, g)->chunks[buffer];
    const struct ronde_collective_traits *traits = ronde_collective_traits(algo->collective);
    const bool has_blocks = traits->in_per_rank || traits->out_per_rank;
    if (algo->chunks == 0)
        return msccl_fail(reader, root, "no nchunksperloop, and no buffer that has chunks");
    if (has_blocks && algo->chunks % algo->ranks != 0)
        return msccl_fail(reader, root,
                          "nchunksperloop %" PRIu32 " is not a multiple of ngpus %" PRIu32,
                          algo->chunks, algo->ranks);
    return RONDE_OK;
}

/* Compact files have `op` where the others have `step`. */
static bool has_op(const xmlNode *root)
{
    for (const xmlNode *gpu = root->children; gpu; gpu = gpu->next)
        for (const xmlNode *tb = msccl_is_element(gpu, "gpu") ? gpu->children : NULL; tb;
             tb = tb->next)
            for (const xmlNode *step = msccl_is_element(tb, "tb") ? tb->children : NULL; step;
                 step = step->next)
                if (msccl_is_element(step, "op"))
                    return true;
    return false;
}

static enum ronde_status read_algo(struct msccl_reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    int32_t ranks;
    if (!msccl_is_element(root, "algo"))
        return msccl_fail(reader, root, "root element is <%s>, an MSCCL file has <algo>",
                          (const char *)root->name);
    enum ronde_status status = msccl_take_text(reader, root, "name", algo->name, NULL);
    if (status == RONDE_OK)
        status = msccl_need_number(reader, root, "ngpus", 1, &ranks);
    if (status != RONDE_OK)
        return status;
    if (ranks > (int32_t)RONDE_MAX_RANKS)
        return msccl_fail(reader, root, "ngpus %" PRId32 " is more than %u", ranks, RONDE_MAX_RANKS);
    algo->ranks = (uint32_t)ranks;
    algo->is_compact = has_op(root);
    int32_t channels = MSCCL_MISSING;
    status = read_collective(reader, root);
    if (status == RONDE_OK)
        status = msccl_take_number(reader, root, "nchannels", 0, &channels);
    algo->channels = channels > 0 ? (uint32_t)channels : 0;
    if (status == RONDE_OK)
        status = read_protocol(reader, root);
    if (status == RONDE_OK)
        status = read_forms(reader, root);
    if (status == RONDE_OK)
        status = msccl_parse_gpus(reader, root);
    return status == RONDE_OK ? read_chunks(reader, root) : status;
}

enum ronde_status msccl_parse(const char *text, size_t bytes, struct msccl_algo *algo,
                              struct ronde_error *error)
{
    struct msccl_reader reader = {algo, error};
    xmlDoc *document = NULL;
    enum ronde_status status = ronde_document_parse(algo->path, text, bytes, &document, error);
    if (status != RONDE_OK)
        return status;
    status = read_algo(&reader, xmlDocGetRootElement(document));
    xmlFreeDoc(document);
    return status;
}

bool ronde_msccl_available(const char **out_reason)
{
    *out_reason = "libxml2 " LIBXML_DOTTED_VERSION;
    return true;
}
