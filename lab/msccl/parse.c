/* The XML of an MSCCL file: elements and attributes to lists. The only file here that uses libxml2. */
#include "algo.h"

#include "topologies/read/document.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest attribute that the runtimes read, with its zero. */
#define ATTRIBUTE_BYTES 256u

/* Largest number of chunks, offsets and channels: proving takes memory for each chunk. */
#define MOST_CHUNKS (1 << 24)

/* "attribute is not there" of a number. */
#define MISSING INT32_MIN

/* The file being read. */
struct reader {
    struct msccl_algo *algo;
    struct ronde_error *error;
};

static uint32_t line_of(const xmlNode *node)
{
    const long line = xmlGetLineNo(node);
    return line > 0 ? (uint32_t)line : 1;
}

static enum ronde_status fail(struct reader *reader, const xmlNode *node, const char *format, ...)
    RONDE_FORMAT(3, 4);

/* "path:line: message". */
static enum ronde_status fail(struct reader *reader, const xmlNode *node, const char *format, ...)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const uint32_t line = line_of(node);
    return ronde_fail_at(reader->error, RONDE_BAD_INPUT, line, "%s:%" PRIu32 ": %s",
                         reader->algo->path, line, message);
}

static enum ronde_status fail_memory(struct reader *reader)
{
    return ronde_fail(reader->error, RONDE_NO_MEMORY, "%s: no memory for the file",
                      reader->algo->path);
}

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

/* --- attributes ------------------------------------------------------------------------------ */

/* "" where it is absent; *out_is_there may be NULL. */
static enum ronde_status take_text(struct reader *reader, xmlNode *node, const char *name,
                                   char text[ATTRIBUTE_BYTES], bool *out_is_there)
{
    text[0] = '\0';
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    if (out_is_there)
        *out_is_there = value != NULL;
    if (!value)
        return RONDE_OK;
    const int bytes = snprintf(text, ATTRIBUTE_BYTES, "%s", (const char *)value);
    xmlFree(value);
    if (bytes < 0 || (unsigned)bytes >= ATTRIBUTE_BYTES)
        return fail(reader, node, "%s of <%s> is longer than %u characters", name,
                    (const char *)node->name, ATTRIBUTE_BYTES - 1);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return fail(reader, node, "%s of <%s> has a control character", name,
                        (const char *)node->name);
    return RONDE_OK;
}

/* A decimal number of at least `least`; MISSING where it is absent. */
static enum ronde_status take_number(struct reader *reader, xmlNode *node, const char *name,
                                     int32_t least, int32_t *out_number)
{
    char text[ATTRIBUTE_BYTES];
    bool is_there;
    *out_number = MISSING;
    const enum ronde_status status = take_text(reader, node, name, text, &is_there);
    if (status != RONDE_OK || !is_there)
        return status;
    char *end = text;
    const long number = strtol(text, &end, 10);
    const bool is_number =
        end != text && *end == '\0' && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    if (!is_number || number < least || number > MOST_CHUNKS)
        return fail(reader, node, "%s of <%s> is '%s', expected a number from %" PRId32 " to %d",
                    name, (const char *)node->name, text, least, MOST_CHUNKS);
    *out_number = (int32_t)number;
    return RONDE_OK;
}

/* The same where it has to be there. */
static enum ronde_status need_number(struct reader *reader, xmlNode *node, const char *name,
                                     int32_t least, int32_t *out_number)
{
    const enum ronde_status status = take_number(reader, node, name, least, out_number);
    if (status == RONDE_OK && *out_number == MISSING)
        return fail(reader, node, "<%s> has no attribute %s", (const char *)node->name, name);
    return status;
}

/* 0 or 1; `fallback` where it is absent. */
static enum ronde_status take_flag(struct reader *reader, xmlNode *node, const char *name,
                                   bool fallback, bool *out_flag)
{
    int32_t number;
    const enum ronde_status status = take_number(reader, node, name, 0, &number);
    if (status == RONDE_OK && number > 1)
        return fail(reader, node, "%s of <%s> is neither 0 nor 1", name, (const char *)node->name);
    *out_flag = number == MISSING ? fallback : number == 1;
    return status;
}

/* i, o or s. */
static enum ronde_status need_buffer(struct reader *reader, xmlNode *node, const char *name,
                                     uint8_t *out_buffer)
{
    static const char letters[] = "ios";
    char text[ATTRIBUTE_BYTES];
    const enum ronde_status status = take_text(reader, node, name, text, NULL);
    if (status != RONDE_OK)
        return status;
    const char *at = text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
    if (!at)
        return fail(reader, node, "%s of <%s> is '%s', expected i, o or s", name,
                    (const char *)node->name, text);
    *out_buffer = (uint8_t)(at - letters);
    return RONDE_OK;
}

/* --- steps ----------------------------------------------------------------------------------- */

static enum ronde_status read_op(struct reader *reader, xmlNode *node, uint8_t *out_op)
{
    char text[ATTRIBUTE_BYTES];
    const enum ronde_status status = take_text(reader, node, "type", text, NULL);
    if (status != RONDE_OK)
        return status;
    for (uint8_t op = 0; op < MSCCL_OP_COUNT; op++)
        if (strcmp(msccl_ops[op].word, text) == 0) {
            *out_op = op;
            return RONDE_OK;
        }
    return fail(reader, node,
                "type of <%s> is '%s', expected nop, s, r, rcs, rrs, rrc, rrcs, cpy or re",
                (const char *)node->name, text);
}

/* One side of a step; the side that is not used may hold anything. */
static enum ronde_status read_side(struct reader *reader, xmlNode *node, const char *buffer,
                                   const char *offset, bool is_used, uint8_t *out_buffer,
                                   int32_t *out_offset)
{
    *out_buffer = RONDE_BUFFER_COUNT;
    *out_offset = 0;
    if (!is_used)
        return RONDE_OK;
    const enum ronde_status status = need_buffer(reader, node, buffer, out_buffer);
    return status == RONDE_OK ? need_number(reader, node, offset, -1, out_offset) : status;
}

static enum ronde_status read_operands(struct reader *reader, xmlNode *node, struct msccl_step *step)
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
        status = take_number(reader, node, "cnt", 0, &count);
    if (status != RONDE_OK || step->op == MSCCL_NOP)
        return status;
    if (count == MISSING && is_compact)
        count = 1;
    if (count < 1)
        return fail(reader, node, "cnt of <%s> is missing or 0", (const char *)node->name);
    step->cnt = (uint32_t)count;
    return RONDE_OK;
}

static enum ronde_status read_dependency(struct reader *reader, xmlNode *node,
                                         struct msccl_step *step)
{
    enum ronde_status status = take_number(reader, node, "depid", -1, &step->depid);
    if (status == RONDE_OK)
        status = take_number(reader, node, "deps", -1, &step->deps);
    if (status == RONDE_OK)
        status = take_flag(reader, node, "hasdep", false, &step->hasdep);
    if (step->depid < 0)
        step->depid = -1;
    if (status == RONDE_OK && step->depid >= 0 && step->deps < 0)
        return fail(reader, node, "depid without deps");
    return status;
}

static enum ronde_status read_step(struct reader *reader, xmlNode *node, struct msccl_tb *tb)
{
    struct msccl_algo *algo = reader->algo;
    int32_t number;
    enum ronde_status status =
        need_number(reader, node, algo->is_compact ? "step" : "s", 0, &number);
    if (status == RONDE_OK && (uint32_t)number != tb->step_count)
        return fail(reader, node, "step %" PRId32 " where step %" PRIu32 " is due", number,
                    tb->step_count);
    struct msccl_step step = {.line = line_of(node), .waits_step = RONDE_NONE};
    if (status == RONDE_OK)
        status = read_op(reader, node, &step.op);
    if (status == RONDE_OK)
        status = read_operands(reader, node, &step);
    if (status == RONDE_OK)
        status = read_dependency(reader, node, &step);
    if (status != RONDE_OK)
        return status;
    struct msccl_step *kept = msccl_list_add(algo->mem, &algo->steps, sizeof *kept);
    if (!kept)
        return fail_memory(reader);
    *kept = step;
    tb->step_count++;
    return RONDE_OK;
}

/* --- threadblocks and ranks ------------------------------------------------------------------ */

static enum ronde_status read_tb(struct reader *reader, xmlNode *node, struct msccl_gpu *gpu)
{
    struct msccl_algo *algo = reader->algo;
    struct msccl_tb tb = {.first_step = algo->steps.count, .line = line_of(node)};
    int32_t id, chan;
    enum ronde_status status = need_number(reader, node, "id", 0, &id);
    if (status == RONDE_OK)
        status = need_number(reader, node, "send", -1, &tb.send);
    if (status == RONDE_OK)
        status = need_number(reader, node, "recv", -1, &tb.recv);
    if (status == RONDE_OK)
        status = need_number(reader, node, "chan", 0, &chan);
    if (status != RONDE_OK)
        return status;
    tb.id = (uint32_t)id;
    tb.chan = (uint32_t)chan;
    for (xmlNode *child = node->children; child && status == RONDE_OK; child = child->next)
        if (is_element(child, algo->is_compact ? "op" : "step"))
            status = read_step(reader, child, &tb);
    struct msccl_tb *kept =
        status == RONDE_OK ? msccl_list_add(algo->mem, &algo->tbs, sizeof *kept) : NULL;
    if (!kept)
        return status == RONDE_OK ? fail_memory(reader) : status;
    *kept = tb;
    gpu->tb_count++;
    return RONDE_OK;
}

static enum ronde_status read_copy(struct reader *reader, xmlNode *node, struct msccl_gpu *gpu)
{
    struct msccl_algo *algo = reader->algo;
    int32_t from, to;
    enum ronde_status status = need_number(reader, node, "i_off", 0, &from);
    if (status == RONDE_OK)
        status = need_number(reader, node, "o_off", 0, &to);
    if (status != RONDE_OK)
        return status;
    struct msccl_copy *copy = msccl_list_add(algo->mem, &algo->copies, sizeof *copy);
    if (!copy)
        return fail_memory(reader);
    *copy = (struct msccl_copy){(uint32_t)from, (uint32_t)to, line_of(node)};
    gpu->copy_count++;
    return RONDE_OK;
}

static int compare_tbs(const void *left, const void *right)
{
    const struct msccl_tb *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Steps name threadblocks by number, so these are 0, 1, 2, ... in any order. */
static enum ronde_status sort_tbs(struct reader *reader, xmlNode *node, const struct msccl_gpu *gpu)
{
    if (gpu->tb_count == 0)
        return RONDE_OK;
    qsort(msccl_tb_at(reader->algo, gpu, 0), gpu->tb_count, sizeof(struct msccl_tb), compare_tbs);
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        if (msccl_tb_at(reader->algo, gpu, t)->id != t)
            return fail(reader, node,
                        "threadblocks of rank %" PRIu32 " are not numbered 0 to %" PRIu32, gpu->id,
                        gpu->tb_count - 1);
    return RONDE_OK;
}

static enum ronde_status read_sizes(struct reader *reader, xmlNode *node, struct msccl_gpu *gpu)
{
    static const char *const names[RONDE_BUFFER_COUNT] = {"i_chunks", "o_chunks", "s_chunks"};
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++) {
        int32_t chunks;
        const enum ronde_status status = need_number(reader, node, names[buffer], 0, &chunks);
        if (status != RONDE_OK)
            return status;
        gpu->chunks[buffer] = (uint32_t)chunks;
    }
    return RONDE_OK;
}

static enum ronde_status read_gpu(struct reader *reader, xmlNode *node)
{
    struct msccl_algo *algo = reader->algo;
    struct msccl_gpu gpu = {.first_tb = algo->tbs.count,
                            .first_copy = algo->copies.count,
                            .line = line_of(node)};
    int32_t id;
    enum ronde_status status = need_number(reader, node, "id", 0, &id);
    if (status == RONDE_OK)
        status = read_sizes(reader, node, &gpu);
    gpu.id = (uint32_t)id;
    for (xmlNode *child = node->children; child && status == RONDE_OK; child = child->next) {
        if (is_element(child, "tb"))
            status = read_tb(reader, child, &gpu);
        else if (is_element(child, "copy"))
            status = read_copy(reader, child, &gpu);
    }
    if (status == RONDE_OK)
        status = sort_tbs(reader, node, &gpu);
    struct msccl_gpu *kept =
        status == RONDE_OK ? msccl_list_add(algo->mem, &algo->gpus, sizeof *kept) : NULL;
    if (!kept)
        return status == RONDE_OK ? fail_memory(reader) : status;
    *kept = gpu;
    return RONDE_OK;
}

static int compare_gpus(const void *left, const void *right)
{
    const struct msccl_gpu *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

static enum ronde_status read_gpus(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    enum ronde_status status = RONDE_OK;
    for (xmlNode *child = root->children; child && status == RONDE_OK; child = child->next)
        if (is_element(child, "gpu"))
            status = read_gpu(reader, child);
    if (status != RONDE_OK)
        return status;
    if (algo->gpus.count != algo->ranks)
        return fail(reader, root, "%" PRIu32 " <gpu> for ngpus %" PRIu32, algo->gpus.count,
                    algo->ranks);
    qsort(algo->gpus.items, algo->ranks, sizeof(struct msccl_gpu), compare_gpus);
    for (uint32_t g = 0; g < algo->ranks; g++)
        if (msccl_gpu_at(algo, g)->id != g)
            return fail(reader, root, "the ids of <gpu> are not 0 to %" PRIu32, algo->ranks - 1);
    return RONDE_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Without an attribute, which the oldest files lack, the collective is the word that the name begins with. */
static enum ronde_status read_collective(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    char text[ATTRIBUTE_BYTES];
    bool is_there;
    const enum ronde_status status = take_text(reader, root, "coll", text, &is_there);
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
        return fail(reader, root, "collective '%s' is none that is known", text);
    return RONDE_OK;
}

static enum ronde_status read_protocol(struct reader *reader, xmlNode *root)
{
    char text[ATTRIBUTE_BYTES];
    bool is_there;
    const enum ronde_status status = take_text(reader, root, "proto", text, &is_there);
    if (status != RONDE_OK || !is_there)
        return status;
    for (unsigned i = 0; i < RONDE_MSCCL_PROTOCOL_COUNT; i++)
        if (strcmp(msccl_protocols[i].text, text) == 0) {
            reader->algo->protocol = (enum ronde_msccl_protocol)i;
            return RONDE_OK;
        }
    return fail(reader, root, "proto is '%s', expected Simple, LL or LL128", text);
}

/* Two flags where the second is there, else one that says which of the two it is. */
static enum ronde_status read_forms(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    enum ronde_status status = take_flag(reader, root, "inplace", false, &algo->in_place);
    if (status == RONDE_OK)
        status = take_flag(reader, root, "outofplace", !algo->in_place, &algo->out_of_place);
    if (status == RONDE_OK && !algo->in_place && !algo->out_of_place)
        return fail(reader, root, "neither inplace nor outofplace: no call would ever run this");
    return status;
}

/* Compact files may leave out nchunksperloop: then it is the size of the largest user buffer. */
static enum ronde_status read_chunks(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    int32_t chunks;
    const enum ronde_status status = take_number(reader, root, "nchunksperloop", 1, &chunks);
    if (status != RONDE_OK)
        return status;
    algo->chunks = chunks == MISSING ? 0 : (uint32_t)chunks;
    for (uint32_t g = 0; chunks == MISSING && g < algo->ranks; g++)
        for (unsigned buffer = RONDE_IN; buffer <= RONDE_OUT; buffer++)
            if (msccl_gpu_at(algo, g)->chunks[buffer] > algo->chunks)
                algo->chunks = msccl_gpu_at(algo, g)->chunks[buffer];
    const struct ronde_collective_traits *traits = ronde_collective_traits(algo->collective);
    const bool has_blocks = traits->in_per_rank || traits->out_per_rank;
    if (algo->chunks == 0)
        return fail(reader, root, "no nchunksperloop, and no buffer that has chunks");
    if (has_blocks && algo->chunks % algo->ranks != 0)
        return fail(reader, root, "nchunksperloop %" PRIu32 " is not a multiple of ngpus %" PRIu32,
                    algo->chunks, algo->ranks);
    return RONDE_OK;
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

static enum ronde_status read_algo(struct reader *reader, xmlNode *root)
{
    struct msccl_algo *algo = reader->algo;
    int32_t ranks;
    if (!is_element(root, "algo"))
        return fail(reader, root, "root element is <%s>, an MSCCL file has <algo>",
                    (const char *)root->name);
    enum ronde_status status = take_text(reader, root, "name", algo->name, NULL);
    if (status == RONDE_OK)
        status = need_number(reader, root, "ngpus", 1, &ranks);
    if (status != RONDE_OK)
        return status;
    if (ranks > (int32_t)RONDE_MAX_RANKS)
        return fail(reader, root, "ngpus %" PRId32 " is more than %u", ranks, RONDE_MAX_RANKS);
    algo->ranks = (uint32_t)ranks;
    algo->is_compact = has_op(root);
    status = read_collective(reader, root);
    if (status == RONDE_OK)
        status = read_protocol(reader, root);
    if (status == RONDE_OK)
        status = read_forms(reader, root);
    if (status == RONDE_OK)
        status = read_gpus(reader, root);
    return status == RONDE_OK ? read_chunks(reader, root) : status;
}

enum ronde_status msccl_parse(const char *text, size_t bytes, struct msccl_algo *algo,
                              struct ronde_error *error)
{
    struct reader reader = {algo, error};
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
