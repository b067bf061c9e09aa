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

/* Longest attribute that the runtimes read, with its zero. */
#define ATTRIBUTE_BYTES 256u

/* "attribute is not there" of a number. */
#define MISSING INT32_MIN

/* Largest number of chunks, offsets and channels: proving takes memory for each chunk. */
#define MOST_CHUNKS (1 << 24)

/* The file being read. The first refusal is kept; what is read behind it has no meaning. */
struct reader {
    struct msccl_algo *algo; /* what is filled in */
    struct ronde_error *error;
    enum ronde_status status;
};

/* --- attributes: numbers, flags and names, each refused with its line ------------------------- */

/* An element's line; 1 where libxml2 does not know it. */
static uint32_t line_of(const xmlNode *node)
{
    const long line = xmlGetLineNo(node);
    return line > 0 ? (uint32_t)line : 1;
}

static const char *name_of(const xmlNode *node)
{
    return (const char *)node->name;
}

/* "path:line: message". Returns false. */
RONDE_FORMAT(3, 4)
static bool refuse(struct reader *reader, const xmlNode *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (reader->status == RONDE_OK)
        reader->status =
            ronde_refuse_line(reader->error, reader->algo->path, line_of(node), format, arguments);
    va_end(arguments);
    return false;
}

/* Appends an item to one of the lists. */
static void keep(struct reader *reader, struct ronde_list *list, const void *item, size_t item_bytes)
{
    if (reader->status == RONDE_OK && !ronde_list_append(reader->algo->mem, list, item, item_bytes))
        reader->status = ronde_fail(reader->error, RONDE_NO_MEMORY, "%s: no memory for the file",
                                    reader->algo->path);
}

/* Whether a node is an element of that name. */
static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp(name_of(node), name) == 0;
}

/* An attribute's text; false, and "", where it is absent or refused. */
static bool take_text(struct reader *reader, xmlNode *node, const char *name,
                      char text[ATTRIBUTE_BYTES])
{
    text[0] = '\0';
    xmlChar *value = reader->status == RONDE_OK ? xmlGetNoNsProp(node, (const xmlChar *)name) : NULL;
    if (!value)
        return false;
    const int bytes = snprintf(text, ATTRIBUTE_BYTES, "%s", (const char *)value);
    xmlFree(value);
    if (bytes < 0 || (unsigned)bytes >= ATTRIBUTE_BYTES)
        return refuse(reader, node, "%s of <%s> is longer than %u characters", name, name_of(node),
                      ATTRIBUTE_BYTES - 1);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return refuse(reader, node, "%s of <%s> has a control character", name, name_of(node));
    return true;
}

/* A decimal number of at least `least`; MISSING where it is absent. */
static int32_t take_number(struct reader *reader, xmlNode *node, const char *name, int32_t least)
{
    char text[ATTRIBUTE_BYTES];
    if (!take_text(reader, node, name, text))
        return MISSING;
    char *end = text;
    const long number = strtol(text, &end, 10);
    const bool is_number =
        end != text && *end == '\0' && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    if (is_number && number >= least && number <= MOST_CHUNKS)
        return (int32_t)number;
    refuse(reader, node, "%s of <%s> is '%s', expected a number from %" PRId32 " to %d", name,
           name_of(node), text, least, MOST_CHUNKS);
    return MISSING;
}

/* The same where it has to be there. */
static int32_t need_number(struct reader *reader, xmlNode *node, const char *name, int32_t least)
{
    const int32_t number = take_number(reader, node, name, least);
    if (number == MISSING)
        refuse(reader, node, "<%s> has no attribute %s", name_of(node), name);
    return number;
}

/* 0 or 1; `fallback` where it is absent. */
static bool take_flag(struct reader *reader, xmlNode *node, const char *name, bool fallback)
{
    const int32_t number = take_number(reader, node, name, 0);
    if (number > 1)
        refuse(reader, node, "%s of <%s> is neither 0 nor 1", name, name_of(node));
    return number == MISSING ? fallback : number == 1;
}

/* --- ranks, their threadblocks and steps ------------------------------------------------------ */

static uint8_t read_op(struct reader *reader, xmlNode *node)
{
    char text[ATTRIBUTE_BYTES];
    uint8_t op = 0;
    (void)take_text(reader, node, "type", text);
    while (op < MSCCL_OP_COUNT && strcmp(msccl_ops[op].word, text) != 0)
        op++;
    if (op < MSCCL_OP_COUNT)
        return op;
    refuse(reader, node, "type of <%s> is '%s', expected nop, s, r, rcs, rrs, rrc, rrcs, cpy or re",
           name_of(node), text);
    return MSCCL_NOP;
}

/* One side of a step, a buffer being i, o or s; the side that is not used may hold anything. */
static void read_side(struct reader *reader, xmlNode *node, const char *buffer, const char *offset,
                      bool is_used, uint8_t *out_buffer, int32_t *out_offset)
{
    static const char letters[] = "ios";
    char text[ATTRIBUTE_BYTES];
    *out_buffer = RONDE_BUFFER_COUNT;
    *out_offset = 0;
    if (!is_used)
        return;
    (void)take_text(reader, node, buffer, text);
    const char *at = text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
    if (at)
        *out_buffer = (uint8_t)(at - letters);
    else
        refuse(reader, node, "%s of <%s> is '%s', expected i, o or s", buffer, name_of(node), text);
    *out_offset = need_number(reader, node, offset, -1);
}

static void read_operands(struct reader *reader, xmlNode *node, struct msccl_step *step)
{
    const bool is_compact = reader->algo->is_compact;
    const struct msccl_op_row *row = &msccl_ops[step->op];
    read_side(reader, node, is_compact ? "buf" : "srcbuf", is_compact ? "off" : "srcoff",
              row->reads, &step->src, &step->srcoff);
    read_side(reader, node, is_compact ? "buf" : "dstbuf", is_compact ? "off" : "dstoff",
              row->writes, &step->dst, &step->dstoff);
    const int32_t count = take_number(reader, node, "cnt", 0);
    if (step->op == MSCCL_NOP)
        return;
    step->cnt = count > 0 ? (uint32_t)count : 1;
    if (count == 0 || (count == MISSING && !is_compact))
        refuse(reader, node, "cnt of <%s> is missing or 0", name_of(node));
}

static void read_dependency(struct reader *reader, xmlNode *node, struct msccl_step *step)
{
    step->depid = take_number(reader, node, "depid", -1);
    step->deps = take_number(reader, node, "deps", -1);
    step->hasdep = take_flag(reader, node, "hasdep", false);
    if (step->depid < 0)
        step->depid = -1;
    if (step->depid >= 0 && step->deps < 0)
        refuse(reader, node, "depid without deps");
}

static void read_step(struct reader *reader, xmlNode *node, struct msccl_tb *tb)
{
    struct msccl_algo *algo = reader->algo;
    const int32_t number = need_number(reader, node, algo->is_compact ? "step" : "s", 0);
    if ((uint32_t)number != tb->step_count)
        refuse(reader, node, "step %" PRId32 " where step %" PRIu32 " is due", number,
               tb->step_count);
    struct msccl_step step = {.line = line_of(node), .waits_step = RONDE_NONE};
    step.op = read_op(reader, node);
    read_operands(reader, node, &step);
    read_dependency(reader, node, &step);
    keep(reader, &algo->steps, &step, sizeof step);
    tb->step_count++;
}

static void read_tb(struct reader *reader, xmlNode *node, struct msccl_gpu *gpu)
{
    struct msccl_algo *algo = reader->algo;
    struct msccl_tb tb = {.first_step = algo->steps.count, .line = line_of(node)};
    tb.id = (uint32_t)need_number(reader, node, "id", 0);
    tb.send = need_number(reader, node, "send", -1);
    tb.recv = need_number(reader, node, "recv", -1);
    tb.chan = (uint32_t)need_number(reader, node, "chan", 0);
    for (xmlNode *child = node->children; child && reader->status == RONDE_OK; child = child->next)
        if (is_element(child, algo->is_compact ? "op" : "step"))
            read_step(reader, child, &tb);
    keep(reader, &algo->tbs, &tb, sizeof tb);
    gpu->tb_count++;
}

static void read_copy(struct reader *reader, xmlNode *node, struct msccl_gpu *gpu)
{
    const uint32_t from = (uint32_t)need_number(reader, node, "i_off", 0),
                   to = (uint32_t)need_number(reader, node, "o_off", 0);
    const struct msccl_copy copy = {from, to, line_of(node)};
    keep(reader, &reader->algo->copies, &copy, sizeof copy);
    gpu->copy_count++;
}

/* Of threadblocks and ranks: their numbers come first. */
static int by_id(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Steps name threadblocks by number, so these are 0, 1, 2, ... in any order. */
static void sort_tbs(struct reader *reader, xmlNode *node, const struct msccl_gpu *gpu)
{
    if (reader->status != RONDE_OK || gpu->tb_count == 0)
        return;
    qsort(msccl_tb_at(reader->algo, gpu, 0), gpu->tb_count, sizeof(struct msccl_tb), by_id);
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        if (msccl_tb_at(reader->algo, gpu, t)->id != t)
            refuse(reader, node, "threadblocks of rank %" PRIu32 " are not numbered 0 to %" PRIu32,
                   gpu->id, gpu->tb_count - 1);
}

static void read_gpu(struct reader *reader, xmlNode *node)
{
    static const char *const sizes[RONDE_BUFFER_COUNT] = {"i_chunks", "o_chunks", "s_chunks"};
    struct msccl_algo *algo = reader->algo;
    struct msccl_gpu gpu = {.first_tb = algo->tbs.count,
                            .first_copy = algo->copies.count,
                            .line = line_of(node)};
    gpu.id = (uint32_t)need_number(reader, node, "id", 0);
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        gpu.chunks[buffer] = (uint32_t)need_number(reader, node, sizes[buffer], 0);
    for (xmlNode *child = node->children; child && reader->status == RONDE_OK; child = child->next) {
        if (is_element(child, "tb"))
            read_tb(reader, child, &gpu);
        else if (is_element(child, "copy"))
            read_copy(reader, child, &gpu);
    }
    sort_tbs(reader, node, &gpu);
    keep(reader, &algo->gpus, &gpu, sizeof gpu);
}

/* All <gpu> below the root, sorted by id, with their threadblocks and steps. */
static void read_gpus(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    for (xmlNode *child = root->children; child && reader->status == RONDE_OK; child = child->next)
        if (is_element(child, "gpu"))
            read_gpu(reader, child);
    if (algo->gpus.count != algo->ranks)
        refuse(reader, root, "%" PRIu32 " <gpu> for ngpus %" PRIu32, algo->gpus.count, algo->ranks);
    if (reader->status != RONDE_OK)
        return;
    qsort(algo->gpus.items, algo->ranks, sizeof(struct msccl_gpu), by_id);
    for (uint32_t g = 0; g < algo->ranks; g++)
        if (msccl_gpu_at(algo, g)->id != g)
            refuse(reader, root, "the ids of <gpu> are not 0 to %" PRIu32, algo->ranks - 1);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Without an attribute, which the oldest files lack, the collective is the word that the name begins with. */
static void read_collective(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    char text[ATTRIBUTE_BYTES];
    if (!take_text(reader, root, "coll", text)) {
        size_t length = strspn(algo->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        (void)snprintf(text, sizeof text, "%.*s", (int)length, algo->name);
        for (char *at = text; *at; at++)
            *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
    algo->is_custom = strcmp(text, "custom") == 0;
    algo->goes_backward = strstr(algo->name, "back") != NULL;
    if (algo->is_custom) {
        algo->collective = RONDE_SEND_RECV;
        return;
    }
    if (strcmp(text, "reducescatter") == 0)
        (void)snprintf(text, sizeof text, "reduce_scatter");
    if (!ronde_collective_parse(text, &algo->collective) || algo->collective == RONDE_BARRIER ||
        algo->collective == RONDE_SEND_RECV)
        refuse(reader, root, "collective '%s' is none that is known", text);
}

static void read_protocol(struct reader *reader, xmlNode *root)
{
    char text[ATTRIBUTE_BYTES];
    unsigned protocol = 0;
    if (!take_text(reader, root, "proto", text))
        return;
    while (protocol < RONDE_MSCCL_PROTOCOL_COUNT && strcmp(msccl_protocols[protocol].text, text) != 0)
        protocol++;
    if (protocol < RONDE_MSCCL_PROTOCOL_COUNT)
        reader->algo->protocol = (enum ronde_msccl_protocol)protocol;
    else
        refuse(reader, root, "proto is '%s', expected Simple, LL or LL128", text);
}

/* Two flags where the second is there, else one that says which of the two it is. */
static void read_forms(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    algo->in_place = take_flag(reader, root, "inplace", false);
    algo->out_of_place = take_flag(reader, root, "outofplace", !algo->in_place);
    if (!algo->in_place && !algo->out_of_place)
        refuse(reader, root, "neither inplace nor outofplace: no call would ever run this");
}

/* Compact files may leave out nchunksperloop: then it is the size of the largest user buffer. */
static void read_chunks(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    const int32_t chunks = take_number(reader, root, "nchunksperloop", 1);
    if (reader->status != RONDE_OK)
        return;
    algo->chunks = chunks == MISSING ? 0 : (uint32_t)chunks;
    for (uint32_t g = 0; chunks == MISSING && g < algo->ranks; g++)
        for (unsigned buffer = RONDE_IN; buffer <= RONDE_OUT; buffer++)
            if (msccl_gpu_at(algo, g)->chunks[buffer] > algo->chunks)
                algo->chunks = msccl_gpu_at(algo, g)->chunks[buffer];
    const struct ronde_collective_traits *traits = ronde_collective_traits(algo->collective);
    const bool has_blocks = traits->in_per_rank || traits->out_per_rank;
    if (algo->chunks == 0)
        refuse(reader, root, "no nchunksperloop, and no buffer that has chunks");
    if (has_blocks && algo->chunks % algo->ranks != 0)
        refuse(reader, root, "nchunksperloop %" PRIu32 " is not a multiple of ngpus %" PRIu32,
               algo->chunks, algo->ranks);
}

/* Compact files have `op` where the others have `step`. */
static bool has_op(const xmlNode *root)
{
    for (const xmlNode *gpu = root->children; gpu; gpu = gpu->next)
        for (const xmlNode *tb = is_element(gpu, "gpu") ? gpu->children : NULL; tb; tb = tb->next)
            for (const xmlNode *step = is_element(tb, "tb") ? tb->children : NULL; step;
                 step = step->next)
                if (is_element(step, "op"))
                    return true;
    return false;
}

/* A platform file, a dump of NCCL's or of hwloc's. */
static bool is_machine(const xmlNode *root)
{
    return is_element(root, "platform") || is_element(root, "system") ||
           is_element(root, "topology");
}

static void read_algo(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    if (!is_element(root, "algo"))
        refuse(reader, root, "root element is <%s>, an MSCCL file has <algo>%s", name_of(root),
               is_machine(root) ? "; a machine is named by --topo" : "");
    (void)take_text(reader, root, "name", algo->name);
    const int32_t ranks = need_number(reader, root, "ngpus", 1);
    if (ranks > (int32_t)RONDE_MAX_RANKS)
        refuse(reader, root, "ngpus %" PRId32 " is more than %u", ranks, RONDE_MAX_RANKS);
    if (reader->status != RONDE_OK)
        return;
    algo->ranks = (uint32_t)ranks;
    algo->is_compact = has_op(root);
    read_collective(reader, root);
    const int32_t channels = take_number(reader, root, "nchannels", 0);
    algo->channels = channels > 0 ? (uint32_t)channels : 0;
    read_protocol(reader, root);
    read_forms(reader, root);
    if (reader->status == RONDE_OK)
        read_gpus(reader, root);
    read_chunks(reader, root);
}

enum ronde_status msccl_parse(const char *text, size_t bytes, struct msccl_algo *algo,
                              struct ronde_error *error)
{
    struct reader reader = {algo, error, RONDE_OK};
    xmlDoc *document = NULL;
    RONDE_TRY(ronde_document_parse(algo->path, text, bytes, &document, error));
    read_algo(&reader, xmlDocGetRootElement(document));
    xmlFreeDoc(document);
    return reader.status;
}

bool ronde_msccl_available(const char **out_reason)
{
    *out_reason = "libxml2 " LIBXML_DOTTED_VERSION;
    return true;
}
