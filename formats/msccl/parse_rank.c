/* Ranks of an MSCCL file, their threadblocks and steps. See parse.h. */
#include "parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

enum ronde_status msccl_parse_gpus(struct msccl_reader *reader, xmlNode *root)
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
