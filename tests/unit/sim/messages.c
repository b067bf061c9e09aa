/* Graphs of messages by hand: the algorithms of the known answers, written from their description alone. */
#include "messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t messages_add(struct messages *messages, uint32_t src, uint32_t dst, double bytes,
                      double delay_ns)
{
    struct ronde_dag *dag = &messages->dag;
    void *ops = dag->ops;
    if (!ronde_mem_grow(ronde_mem_default(), &ops, &messages->op_capacity,
                        (size_t)dag->op_count + 1, sizeof *dag->ops))
        abort();
    dag->ops = ops;
    dag->ops[dag->op_count] = (struct ronde_dag_op){.src = src,
                                                    .dst = dst,
                                                    .bytes = (uint64_t)bytes,
                                                    .delay_ns = delay_ns,
                                                    .first_edge = dag->edge_count};
    dag->ranks = src >= dag->ranks ? src + 1 : dag->ranks;
    dag->ranks = dst >= dag->ranks ? dst + 1 : dag->ranks;
    return dag->op_count++;
}

static void add_edge(struct messages *messages, uint32_t earlier, bool is_message)
{
    struct ronde_dag *dag = &messages->dag;
    void *edges = dag->edges;
    if (!ronde_mem_grow(ronde_mem_default(), &edges, &messages->edge_capacity,
                        (size_t)dag->edge_count + 1, sizeof *dag->edges))
        abort();
    dag->edges = edges;
    dag->edges[dag->edge_count++] = (struct ronde_dag_edge){.op = earlier, .is_message = is_message};
    dag->ops[dag->op_count - 1].edge_count++;
}

void messages_after(struct messages *messages, uint32_t earlier)
{
    add_edge(messages, earlier, false);
}

void messages_after_arrival(struct messages *messages, uint32_t earlier)
{
    add_edge(messages, earlier, true);
}

void messages_free(struct messages *messages)
{
    const struct ronde_mem *mem = ronde_mem_default();
    ronde_mem_free(mem, messages->dag.ops, messages->op_capacity, sizeof *messages->dag.ops);
    ronde_mem_free(mem, messages->dag.edges, messages->edge_capacity, sizeof *messages->dag.edges);
    memset(messages, 0, sizeof *messages);
}

/* 2(m-1) steps over m ranks in an order; a rank passes on what it got and what it sent is over. */
static void ring(struct messages *messages, const struct messages_request *request,
                 const uint32_t *order, uint32_t count, double chunk)
{
    const uint32_t base = messages->dag.op_count;
    for (uint32_t step = 0; step < 2 * (count - 1); step++) {
        const bool is_sum = step >= 1 && step <= count - 1;
        for (uint32_t i = 0; i < count; i++) {
            messages_add(messages, order[i], order[(i + 1) % count], chunk,
                         request->alpha_ns + (is_sum ? request->reduce_ns : 0));
            if (step == 0)
                continue;
            messages_after(messages, base + (step - 1) * count + (i + count - 1) % count);
            messages_after(messages, base + (step - 1) * count + i);
        }
    }
}

/* One ring over all ranks; `stride` leaves its group of four at every hop. */
static void plain_ring(struct messages *messages, const struct messages_request *request,
                       bool is_strided)
{
    const uint32_t n = request->ranks;
    uint32_t order[1024];
    for (uint32_t i = 0; i < n && i < 1024; i++)
        order[i] = is_strided ? i * 4 % n + i * 4 / n : i;
    ring(messages, request, order, n, request->bytes / n);
}

/* Nodes of eight: per index one ring over the nodes. */
static void same_ring(struct messages *messages, const struct messages_request *request)
{
    const uint32_t nodes = request->ranks / 8;
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        uint32_t order[128];
        for (uint32_t node = 0; node < nodes && node < 128; node++)
            order[node] = node * 8 + gpu;
        ring(messages, request, order, nodes, request->bytes / nodes);
    }
}

/* Eight rings over everything, each with an eighth, shifted by one index against one another. */
static void rail_rings(struct messages *messages, const struct messages_request *request)
{
    for (uint32_t c = 0; c < 8; c++) {
        uint32_t order[1024];
        for (uint32_t i = 0; i < request->ranks && i < 1024; i++)
            order[i] = i / 8 * 8 + (i + c) % 8;
        ring(messages, request, order, request->ranks, request->bytes / 8 / request->ranks);
    }
}

/* A rank that has the vector sends it on, to the farthest child first. */
static void bcast_from(struct messages *messages, const struct messages_request *request,
                       uint32_t rank, uint32_t reach, uint32_t parent)
{
    uint32_t last = parent;
    for (; reach >= 1; reach /= 2) {
        const uint32_t sent =
            messages_add(messages, rank, rank + reach, request->bytes, request->alpha_ns);
        if (last != UINT32_MAX)
            messages_after(messages, last);
        bcast_from(messages, request, rank + reach, reach / 2, sent);
        last = sent;
    }
}

/* log2 n exchanges of the whole vector. */
static void doubling(struct messages *messages, const struct messages_request *request)
{
    const uint32_t n = request->ranks;
    uint32_t step = 0;
    for (uint32_t reach = 1; reach < n; reach *= 2, step++)
        for (uint32_t rank = 0; rank < n; rank++) {
            messages_add(messages, rank, rank ^ reach, request->bytes,
                         request->alpha_ns + (step > 0 ? request->reduce_ns : 0));
            if (step == 0)
                continue;
            messages_after(messages, (step - 1) * n + rank);
            messages_after(messages, (step - 1) * n + (rank ^ (reach / 2)));
        }
}

/* Everything at once. */
static void at_once(struct messages *messages, const struct messages_request *request)
{
    const uint32_t n = request->ranks;
    const double bytes = request->bytes;
    uint32_t steps = 0;
    (void)sscanf(request->extra, "steps=%u", &steps);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            const bool is_incast = strcmp(request->algorithm, "incast") == 0 && j == 0;
            const bool is_shift = strcmp(request->algorithm, "shift") == 0 && j == (i + steps) % n;
            const bool is_opposite =
                strcmp(request->algorithm, "opp") == 0 && i + j == n - 1 && (i == 0 || j == 0);
            const bool is_any = strcmp(request->algorithm, "a2a") == 0;
            if (i != j && (is_any || is_incast || is_shift || is_opposite))
                messages_add(messages, i, j, bytes, request->alpha_ns);
        }
}

/* f=SRC:DST:BYTES:START, separated by spaces. */
static void listed(struct messages *messages, const struct messages_request *request)
{
    for (const char *at = strstr(request->extra, "f="); at; at = strstr(at + 2, "f=")) {
        unsigned src;
        unsigned dst;
        double bytes;
        double start_s;
        if (sscanf(at, "f=%u:%u:%lf:%lf", &src, &dst, &bytes, &start_s) == 4)
            messages_add(messages, src, dst, bytes, start_s * 1e9);
    }
}

bool messages_build(struct messages *messages, const struct messages_request *request)
{
    const char *name = request->algorithm;
    if (strcmp(name, "ring") == 0 || strcmp(name, "stride") == 0)
        plain_ring(messages, request, name[0] == 's');
    else if (strcmp(name, "same") == 0)
        same_ring(messages, request);
    else if (strcmp(name, "rails") == 0)
        rail_rings(messages, request);
    else if (strcmp(name, "bcast") == 0)
        bcast_from(messages, request, 0, request->ranks / 2, UINT32_MAX);
    else if (strcmp(name, "recdbl") == 0)
        doubling(messages, request);
    else if (strcmp(name, "flows") == 0)
        listed(messages, request);
    else
        at_once(messages, request);
    return messages->dag.op_count > 0;
}
