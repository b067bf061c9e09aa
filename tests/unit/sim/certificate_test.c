/*
 * The certificate of flat, where flows of a link are recorded in any order: free if and only if no
 * link is overloaded.
 */
#include "support/suite.h"

#include "messages.h"
#include "ronde/sim.h"
#include "support/buffers.h"
#include "swept.h"
#include "unit/leaves.h"

/* Two leaves of eight hosts; an uplink carries four ports. */
static const struct leaves_shape two_leaves = {2, 8, 200, 100};

/* A message of a megabyte takes a port of 50 GB/s that long. */
#define MESSAGE_BYTES 1e6
#define SLOT_NS 20000.0

/* More slots than a link remembers spans, so that some orders are decided by the sweep. */
#define SLOTS 150u
#define TRIALS 60u

/* When messages start, in an order that is not that of time. */
struct starts {
    double at_ns[SLOTS + 1];
    uint32_t count;
};

/* Some of the slots, each at most once; `reach` is how far from its place a start may get. */
static struct starts draw_starts(uint64_t *random, uint32_t reach)
{
    struct starts starts = {.count = 0};
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (buffers_draw(random) % 4 != 0)
            starts.at_ns[starts.count++] = slot * SLOT_NS;
    for (uint32_t i = 0; i + 1 < starts.count; i++) {
        const uint32_t left = starts.count - i;
        const uint32_t other = i + (uint32_t)(buffers_draw(random) % (left < reach ? left : reach));
        const double at_ns = starts.at_ns[i];
        starts.at_ns[i] = starts.at_ns[other];
        starts.at_ns[other] = at_ns;
    }
    return starts;
}

/* Adds one that begins in the middle of another, somewhere among the rest. */
static void add_overlap(struct starts *starts, uint64_t *random)
{
    const double at_ns = starts->at_ns[buffers_draw(random) % starts->count] + SLOT_NS / 2;
    const uint32_t place = (uint32_t)(buffers_draw(random) % (starts->count + 1));
    starts->at_ns[starts->count++] = starts->at_ns[place];
    starts->at_ns[place] = at_ns;
}

static bool is_free(const struct leaves *leaves, const struct ronde_dag *dag)
{
    struct ronde_sim_result result;
    struct ronde_error error;
    CU_ASSERT_EQUAL(ronde_sim_flat(leaves->platform, dag, NULL, ronde_mem_default(), &result, &error),
                    RONDE_OK);
    return result.is_contention_free;
}

/* All from hosts of a leaf to one of them, whose port takes them one by one. */
static bool is_port_free(const struct leaves *leaves, const struct starts *starts)
{
    struct messages messages = {.op_capacity = 0};
    for (uint32_t i = 0; i < starts->count; i++)
        messages_add(&messages, 1 + i % 7, 0, MESSAGE_BYTES, starts->at_ns[i]);
    const bool answer = is_free(leaves, &messages.dag);
    messages_free(&messages);
    return answer;
}

static void disjoint_flows_in_any_order_are_free_and_one_overlap_is_not(void)
{
    static const uint32_t reaches[] = {1, 2, 8, 40, SLOTS};
    struct leaves leaves;
    uint64_t random = 20;
    if (!leaves_begin(&leaves, &two_leaves))
        return;
    for (uint32_t benchmark = 0; benchmark < TRIALS; benchmark++) {
        struct starts starts =
            draw_starts(&random, reaches[benchmark % (sizeof reaches / sizeof *reaches)]);
        CU_ASSERT(is_port_free(&leaves, &starts));
        add_overlap(&starts, &random);
        CU_ASSERT(!is_port_free(&leaves, &starts));
    }
    leaves_end(&leaves);
}

/* Flows in every slot, `width` at a time, all through one uplink and none sharing a port: 200 GB/s carry four. */
static void add_columns(struct messages *messages, uint32_t width, uint64_t *random)
{
    for (uint32_t host = 0; host < width; host++) {
        const struct starts starts = draw_starts(random, SLOTS);
        for (uint32_t i = 0; i < starts.count; i++)
            messages_add(messages, host, 8 + host, MESSAGE_BYTES, starts.at_ns[i]);
    }
}

static void an_uplink_is_free_up_to_its_width(void)
{
    struct leaves leaves;
    uint64_t random = 21;
    if (!leaves_begin(&leaves, &two_leaves))
        return;
    for (uint32_t width = 1; width <= 6; width++) {
        struct messages messages = {.op_capacity = 0};
        add_columns(&messages, width, &random);
        CU_ASSERT_EQUAL(is_free(&leaves, &messages.dag), width <= 4);
        messages_free(&messages);
    }
    leaves_end(&leaves);
}

/* Fitting and sweeping have memory of their own. */
static void allocation_failures_are_clean(void)
{
    struct leaves leaves;
    struct messages messages = {.op_capacity = 0};
    uint64_t random = 22;
    if (!leaves_begin(&leaves, &two_leaves))
        return;
    add_columns(&messages, 4, &random);
    swept_graph(ronde_sim_flat, leaves.platform, &messages.dag, 10);
    messages_free(&messages);
    leaves_end(&leaves);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"disjoint_flows_in_any_order_are_free_and_one_overlap_is_not",
         disjoint_flows_in_any_order_are_free_and_one_overlap_is_not},
        {"an_uplink_is_free_up_to_its_width", an_uplink_is_free_up_to_its_width},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("certificate", cases, sizeof cases / sizeof *cases);
}
