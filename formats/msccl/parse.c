/* The XML of an MSCCL file: what its root element says, and the ranks in it. See plan.h. */
#include "algo.h"
#include "engine/text/refuse.h"
#include "topologies/read/document.h"

#include <inttypes.h>
#include <libxml/tree.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the readers of an MSCCL file's XML share: the file and where its refusal goes, attributes with their ranges.
 * Only for files that are built with libxml2. */

/** Longest attribute that the runtimes read, with its zero. */
#define MSCCL_ATTRIBUTE_BYTES 256u

/** "attribute is not there" of a number. */
#define MSCCL_MISSING INT32_MIN

/** The file being read. */
struct msccl_reader {
    struct msccl_algo *algo;   /**< what is filled in */
    struct ronde_error *error; /**< why it was refused */
};

/* Attributes of an MSCCL file: numbers, flags and names, each refused with its line. */

/* Largest number of chunks, offsets and channels: proving takes memory for each chunk. */
#define MOST_CHUNKS (1 << 24)

/* An element's line; 1 where libxml2 does not know it. */
static uint32_t msccl_node_line(const xmlNode *node)
{
    const long line = xmlGetLineNo(node);
    return line > 0 ? (uint32_t)line : 1;
}

/* "path:line: message". */
RONDE_FORMAT(3, 4)
static enum ronde_status msccl_fail(struct msccl_reader *reader, const xmlNode *node,
                                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status = ronde_refuse_line(reader->error, reader->algo->path,
                                                       msccl_node_line(node), format, arguments);
    va_end(arguments);
    return status;
}

/* Returns NO_MEMORY. */
static enum ronde_status msccl_fail_memory(struct msccl_reader *reader)
{
    return ronde_fail(reader->error, RONDE_NO_MEMORY, "%s: no memory for the file",
                      reader->algo->path);
}

/* Whether a node is an element of that name. */
static bool msccl_is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

/* "" where it is absent; *out_is_there may be NULL. */
static enum ronde_status msccl_take_text(struct msccl_reader *reader, xmlNode *node,
                                         const char *name, char text[MSCCL_ATTRIBUTE_BYTES],
                                         bool *out_is_there)
{
    text[0] = '\0';
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    if (out_is_there)
        *out_is_there = value != NULL;
    if (!value)
        return RONDE_OK;
    const int bytes = snprintf(text, MSCCL_ATTRIBUTE_BYTES, "%s", (const char *)value);
    xmlFree(value);
    if (bytes < 0 || (unsigned)bytes >= MSCCL_ATTRIBUTE_BYTES)
        return msccl_fail(reader, node, "%s of <%s> is longer than %u characters", name,
                          (const char *)node->name, MSCCL_ATTRIBUTE_BYTES - 1);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return msccl_fail(reader, node, "%s of <%s> has a control character", name,
                              (const char *)node->name);
    return RONDE_OK;
}

/* A decimal number of at least `least`; MSCCL_MISSING where it is absent. */
static enum ronde_status msccl_take_number(struct msccl_reader *reader, xmlNode *node,
                                           const char *name, int32_t least, int32_t *out_number)
{
    char text[MSCCL_ATTRIBUTE_BYTES];
    bool is_there;
    *out_number = MSCCL_MISSING;
    const enum ronde_status status = msccl_take_text(reader, node, name, text, &is_there);
    if (status != RONDE_OK || !is_there)
        return status;
    char *end = text;
    const long number = strtol(text, &end, 10);
    const bool is_number =
        end != text && *end == '\0' && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    if (!is_number || number < least || number > MOST_CHUNKS)
        return msccl_fail(reader, node,
                          "%s of <%s> is '%s', expected a number from %" PRId32 " to %d", name,
                          (const char *)node->name, text, least, MOST_CHUNKS);
    *out_number = (int32_t)number;
    return RONDE_OK;
}

/* The same where it has to be there. */
static enum ronde_status msccl_need_number(struct msccl_reader *reader, xmlNode *node,
                                           const char *name, int32_t least, int32_t *out_number)
{
    const enum ronde_status status = msccl_take_number(reader, node, name, least, out_number);
    if (status == RONDE_OK && *out_number == MSCCL_MISSING)
        return msccl_fail(reader, node, "<%s> has no attribute %s", (const char *)node->name, name);
    return status;
}

/* 0 or 1; `fallback` where it is absent. */
static enum ronde_status msccl_take_flag(struct msccl_reader *reader, xmlNode *node,
                                         const char *name, bool fallback, bool *out_flag)
{
    int32_t number;
    const enum ronde_status status = msccl_take_number(reader, node, name, 0, &number);
    if (status == RONDE_OK && number > 1)
        return msccl_fail(reader, node, "%s of <%s> is neither 0 nor 1", name,
                          (const char *)node->name);
    *out_flag = number == MSCCL_MISSING ? fallback : number == 1;
    return status;
}

/* i, o or s. */
static enum ronde_status msccl_need_buffer(struct msccl_reader *reader, xmlNode *node,
                                           const char *name, uint8_t *out_buffer)
{
    static const char letters[] = "ios";
    char text[MSCCL_ATTRIBUTE_BYTES];
    const enum ronde_status status = msccl_take_text(reader, node, name, text, NULL);
    if (status != RONDE_OK)
        return status;
    const char *at = text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
    if (!at)
        return msccl_fail(reader, node, "%s of <%s> is '%s', expected i, o or s", name,
                          (const char *)node->name, text);
    *out_buffer = (uint8_t)(at - letters);
    return RONDE_OK;
}

/* Ranks of an MSCCL file, their threadblocks and steps. */

static enum ronde_status read_op(struct msccl_reader *reader, xmlNode *node, uint8_t *out_op)
{
    char text[MSCCL_ATTRIBUTE_BYTES];
    const enum ronde_status status = msccl_take_text(reader, node, "type", text, NULL);
    if (status != RONDE_OK)
        return status;
    for (uint8_t op = 0; op < MSCCL_OP_COUNT; op++)
        if (strcmp(msccl_ops[op].word, text) == 0) {
            *out_op = op;
            return RONDE_OK;
        }
    return msccl_fail(reader, node,
                      "type of <%s> is '%s', expected nop, s, r, rcs, rrs, rrc, rrcs, cpy or re",
                      (const char *)node->name, text);
}

/* One side of a step; the side that is not used may hold anything. */
static enum ronde_status read_side(struct msccl_reader *reader, xmlNode *node, const char *buffer,
                                   const char *offset, bool is_used, uint8_t *out_buffer,
                                   int32_t *out_offset)
{
    *out_buffer = RONDE_BUFFER_COUNT;
    *out_offset = 0;
    if (!is_used)
        return RONDE_OK;
    const enum ronde_status status = msccl_need_buffer(reader, node, buffer, out_buffer);
    return status == RONDE_OK ? msccl_need_number(reader, node, offset, -1, out_offset) : status;
}

static enum ronde_status read_operands(struct msccl_reader *reader, xmlNode *node,
                                       struct msccl_step *step)
{
    const bool is_compact = reader->algo->is_compact;
    const struct msccl_op_row *row = &msccl_ops[step->op];
    int32_t count;
    enum ronde_status status =
        read_side(reader, node, is_compact ? "buf" : "srcbuf", is_compact ? "off" : "srcoff",
                  row->reads, &step->src, &step->srcoff);
    if (status == RONDE_OK)
        status = read_side(reader, node, is_compact ? "buf" : "dstbuf",
                           is_compact ? "off" : "dstoff", row->writes, &step->dst, &step->dstoff);
    if (status == RONDE_OK)
        status = msccl_take_number(reader, node, "cnt", 0, &count);
    if (status != RONDE_OK || step->op == MSCCL_NOP)
        return status;
    if (count == MSCCL_MISSING && is_compact)
        count = 1;
    if (count < 1)
        return msccl_fail(reader, node, "cnt of <%s> is missing or 0", (const char *)node->name);
    step->cnt = (uint32_t)count;
    return RONDE_OK;
}

static enum ronde_status read_dependency(struct msccl_reader *reader, xmlNode *node,
                                         struct msccl_step *step)
{
    enum ronde_status status = msccl_take_number(reader, node, "depid", -1, &step->depid);
    if (status == RONDE_OK)
        status = msccl_take_number(reader, node, "deps", -1, &step->deps);
    if (status == RONDE_OK)
        status = msccl_take_flag(reader, node, "hasdep", false, &step->hasdep);
    if (step->depid < 0)
        step->depid = -1;
    if (status == RONDE_OK && step->depid >= 0 && step->deps < 0)
        return msccl_fail(reader, node, "depid without deps");
    return status;
}

static enum ronde_status read_step(struct msccl_reader *reader, xmlNode *node, struct msccl_tb *tb)
{
    struct msccl_algo *algo = reader->algo;
    int32_t number;
    enum ronde_status status =
        msccl_need_number(reader, node, algo->is_compact ? "step" : "s", 0, &number);
    if (status == RONDE_OK && (uint32_t)number != tb->step_count)
        return msccl_fail(reader, node, "step %" PRId32 " where step %" PRIu32 " is due", number,
                          tb->step_count);
    struct msccl_step step = {.line = msccl_node_line(node), .waits_step = RONDE_NONE};
    if (status == RONDE_OK)
        status = read_op(reader, node, &step.op);
    if (status == RONDE_OK)
        status = read_operands(reader, node, &step);
    if (status == RONDE_OK)
        status = read_dependency(reader, node, &step);
    if (status != RONDE_OK)
        return status;
    struct msccl_step *kept = ronde_list_push(algo->mem, &algo->steps, sizeof *kept);
    if (!kept)
        return msccl_fail_memory(reader);
    *kept = step;
    tb->step_count++;
    return RONDE_OK;
}

/* --- threadblocks and ranks ------------------------------------------------------------------ */

static enum ronde_status read_tb(struct msccl_reader *reader, xmlNode *node, struct msccl_gpu *gpu)
{
    struct msccl_algo *algo = reader->algo;
    struct msccl_tb tb = {.first_step = algo->steps.count, .line = msccl_node_line(node)};
    int32_t id, chan;
    enum ronde_status status = msccl_need_number(reader, node, "id", 0, &id);
    if (status == RONDE_OK)
        status = msccl_need_number(reader, node, "send", -1, &tb.send);
    if (status == RONDE_OK)
        status = msccl_need_number(reader, node, "recv", -1, &tb.recv);
    if (status == RONDE_OK)
        status = msccl_need_number(reader, node, "chan", 0, &chan);
    if (status != RONDE_OK)
        return status;
    tb.id = (uint32_t)id;
    tb.chan = (uint32_t)chan;
    for (xmlNode *child = node->children; child && status == RONDE_OK; child = child->next)
        if (msccl_is_element(child, algo->is_compact ? "op" : "step"))
            status = read_step(reader, child, &tb);
    struct msccl_tb *kept =
        status == RONDE_OK ? ronde_list_push(algo->mem, &algo->tbs, sizeof *kept) : NULL;
    if (!kept)
        return status == RONDE_OK ? msccl_fail_memory(reader) : status;
    *kept = tb;
    gpu->tb_count++;
    return RONDE_OK;
}

static enum ronde_status read_copy(struct msccl_reader *reader, xmlNode *node, struct msccl_gpu *gpu)
{
    struct msccl_algo *algo = reader->algo;
    int32_t from, to;
    enum ronde_status status = msccl_need_number(reader, node, "i_off", 0, &from);
    if (status == RONDE_OK)
        status = msccl_need_number(reader, node, "o_off", 0, &to);
    if (status != RONDE_OK)
        return status;
    struct msccl_copy *copy = ronde_list_push(algo->mem, &algo->copies, sizeof *copy);
    if (!copy)
        return msccl_fail_memory(reader);
    *copy = (struct msccl_copy){(uint32_t)from, (uint32_t)to, msccl_node_line(node)};
    gpu->copy_count++;
    return RONDE_OK;
}

static int compare_tbs(const void *left, const void *right)
{
    const struct msccl_tb *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Steps name threadblocks by number, so these are 0, 1, 2, ... in any order. */
static enum ronde_status sort_tbs(struct msccl_reader *reader, xmlNode *node,
                                  const struct msccl_gpu *gpu)
{
    if (gpu->tb_count == 0)
        return RONDE_OK;
    qsort(msccl_tb_at(reader->algo, gpu, 0), gpu->tb_count, sizeof(struct msccl_tb), compare_tbs);
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        if (msccl_tb_at(reader->algo, gpu, t)->id != t)
            return msccl_fail(reader, node,
                              "threadblocks of rank %" PRIu32 " are not numbered 0 to %" PRIu32,
                              gpu->id, gpu->tb_count - 1);
    return RONDE_OK;
}

static enum ronde_status read_sizes(struct msccl_reader *reader, xmlNode *node,
                                    struct msccl_gpu *gpu)
{
    static const char *const names[RONDE_BUFFER_COUNT] = {"i_chunks", "o_chunks", "s_chunks"};
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++) {
        int32_t chunks;
        const enum ronde_status status = msccl_need_number(reader, node, names[buffer], 0, &chunks);
        if (status != RONDE_OK)
            return status;
        gpu->chunks[buffer] = (uint32_t)chunks;
    }
    return RONDE_OK;
}

static enum ronde_status read_gpu(struct msccl_reader *reader, xmlNode *node)
{
    struct msccl_algo *algo = reader->algo;
    struct msccl_gpu gpu = {.first_tb = algo->tbs.count,
                            .first_copy = algo->copies.count,
                            .line = msccl_node_line(node)};
    int32_t id;
    enum ronde_status status = msccl_need_number(reader, node, "id", 0, &id);
    if (status == RONDE_OK)
        status = read_sizes(reader, node, &gpu);
    gpu.id = (uint32_t)id;
    for (xmlNode *child = node->children; child && status == RONDE_OK; child = child->next) {
        if (msccl_is_element(child, "tb"))
            status = read_tb(reader, child, &gpu);
        else if (msccl_is_element(child, "copy"))
            status = read_copy(reader, child, &gpu);
    }
    if (status == RONDE_OK)
        status = sort_tbs(reader, node, &gpu);
    struct msccl_gpu *kept =
        status == RONDE_OK ? ronde_list_push(algo->mem, &algo->gpus, sizeof *kept) : NULL;
    if (!kept)
        return status == RONDE_OK ? msccl_fail_memory(reader) : status;
    *kept = gpu;
    return RONDE_OK;
}

static int compare_gpus(const void *left, const void *right)
{
    const struct msccl_gpu *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* All <gpu> below the root, sorted by id, with their threadblocks and steps. */
static enum ronde_status msccl_parse_gpus(struct msccl_reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    enum ronde_status status = RONDE_OK;
    for (xmlNode *child = root->children; child && status == RONDE_OK; child = child->next)
        if (msccl_is_element(child, "gpu"))
            status = read_gpu(reader, child);
    if (status != RONDE_OK)
        return status;
    if (algo->gpus.count != algo->ranks)
        return msccl_fail(reader, root, "%" PRIu32 " <gpu> for ngpus %" PRIu32, algo->gpus.count,
                          algo->ranks);
    qsort(algo->gpus.items, algo->ranks, sizeof(struct msccl_gpu), compare_gpus);
    for (uint32_t g = 0; g < algo->ranks; g++)
        if (msccl_gpu_at(algo, g)->id != g)
            return msccl_fail(reader, root, "the ids of <gpu> are not 0 to %" PRIu32,
                              algo->ranks - 1);
    return RONDE_OK;
}

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
