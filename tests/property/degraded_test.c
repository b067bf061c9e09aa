/**
 * A machine with a slower link has no faster plan: whatever is found for it may be used on the whole one, where no step takes longer.
 * On tori, whose trees are packed on the classes of a symmetry while they are whole, and for each rank where a link is slower;
 * and on nodes with NICs, where trees of one root must not cross to another node and back. And one with a NIC less has a plan that is
 * made for it, too.
 */
#include "support/built_with.h"
#include "support/suite.h"

#include "ronde/generate.h"
#include "ronde/record.h"
#include "ronde/selector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** The plan of the whole machine takes longer than that of the other, at most: replays with other messages round otherwise. */
#define MOST_SLOWER 0.005

/** How fast the slower link is, of what it was. */
#define FACTOR 0.99

/** Sizes of a plan. */
#define SIZES 3u

static const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .engine = "auto"};

/** What a plan takes at each size, in ns. */
struct times {
    double ns[SIZES];
};

/** Room for the name of a file. */
#define PATH_BYTES 512

/** A machine, what is asked of it and which link is slower. */
struct degraded {
    struct ronde_generate_request machine;
    uint32_t ranks;
    enum ronde_collective collective;
    uint64_t least_bytes; /**< each further size is 16 times the one before */
    uint32_t sizes;       /**< SIZES at most */
    const char *slower;
};

/** The machine, and its file, which replays read again. */
static struct ronde_platform *generate(const struct ronde_generate_request *request,
                                       char path[PATH_BYTES])
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    snprintf(path, PATH_BYTES, "%s/degraded-XXXXXX", RONDE_SCRATCH_DIR);
    const int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_EQUAL_FATAL(ronde_generate(request, file, &error), RONDE_OK);
    fclose(file);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error),
                          RONDE_OK);
    return platform;
}

static struct times plan(const struct ronde_platform *platform, const struct degraded *degraded)
{
    const struct ronde_compile_request request = {.collective = degraded->collective,
                                                  .ranks = degraded->ranks};
    struct ronde_error error = {0};
    struct ronde_selector selector;
    struct times times = {{0}};
    CU_ASSERT_EQUAL_FATAL(ronde_selector_open(&options, &request, &selector, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_selector_use(&selector, platform, NULL, 0, &error), RONDE_OK);
    for (uint32_t i = 0; i < degraded->sizes; i++) {
        struct ronde_decision decision;
        const uint64_t count = ronde_record_count(degraded->collective, degraded->ranks,
                                                  degraded->least_bytes << (4 * i), RONDE_FLOAT32);
        CU_ASSERT_EQUAL_FATAL(ronde_selector_decide(&selector, count, &decision, &error), RONDE_OK);
        times.ns[i] = selector.quotes[decision.best].time_ns;
    }
    ronde_selector_close(&selector);
    return times;
}

/** Compares plans of a machine before and after a link became slower; how much longer the former take, at most. */
static double compare(const struct degraded *degraded)
{
    char path[PATH_BYTES];
    struct ronde_platform *platform = generate(&degraded->machine, path);
    struct ronde_error error = {0};
    double most = -1;
    const struct times whole = plan(platform, degraded);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_degrade(platform, degraded->slower, FACTOR, &error),
                          RONDE_OK);
    const struct times slower = plan(platform, degraded);
    ronde_platform_destroy(platform);
    unlink(path);
    for (uint32_t i = 0; i < degraded->sizes; i++)
        most = fmax(most, whole.ns[i] / slower.ns[i] - 1);
    suite_note("%s on a %s of %u: %.1f us and, with a slower link, %.1f; at most %.4f longer",
               ronde_collective_text(degraded->collective), degraded->machine.kind, degraded->ranks,
               whole.ns[SIZES - 1] / 1e3, slower.ns[SIZES - 1] / 1e3, most);
    return most;
}

static void a_slower_link_makes_no_plan_of_a_torus_faster(void)
{
    static const uint32_t shapes[][2] = {{7, 5}, {16, 2}, {5, 5}};
    static const enum ronde_collective collectives[] = {RONDE_ALL_GATHER, RONDE_REDUCE_SCATTER};
    if (!suite_can_read_platforms())
        return;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
            const struct degraded degraded = {.machine = {.kind = "torus",
                                                          .fabric = RONDE_FABRIC_COUNT,
                                                          .axis_count = 2,
                                                          .shape = {shapes[s][0], shapes[s][1]}},
                                              .ranks = shapes[s][0] * shapes[s][1],
                                              .collective = collectives[c],
                                              .least_bytes = UINT64_C(1) << 20,
                                              .sizes = SIZES,
                                              .slower = "chips_link_from_0_to_1_UP"};
            CU_ASSERT(compare(&degraded) <= MOST_SLOWER);
        }
}

static void a_slower_link_makes_no_plan_of_nodes_faster(void)
{
    static const enum ronde_collective collectives[] = {RONDE_BROADCAST, RONDE_REDUCE};
    if (!suite_can_read_platforms())
        return;
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
        const struct degraded degraded = {.machine = {.kind = "dgx-a100",
                                                      .fabric = RONDE_FABRIC_COUNT,
                                                      .nodes = 2},
                                          .ranks = 16,
                                          .collective = collectives[c],
                                          .least_bytes = UINT64_C(1) << 16,
                                          .sizes = SIZES,
                                          .slower = "n0g0_v_UP"};
        CU_ASSERT(compare(&degraded) <= MOST_SLOWER);
    }
}

/** A NIC that is out, and how many times as long a plan for the rest takes, at most: 2.1 was seen. */
#define NIC "n5g0_c"
#define MOST_TIMES 2.5

static void a_pod_without_a_nic_has_trees_of_its_own(void)
{
    static const struct degraded degraded = {.machine = {.kind = "dgx-h100",
                                                         .fabric = RONDE_FABRIC_RAIL,
                                                         .nodes = 12},
                                             .ranks = 96,
                                             .collective = RONDE_ALL_GATHER,
                                             .least_bytes = UINT64_C(1) << 18,
                                             .sizes = 1};
    static const char *const out[] = {NIC};
    char path[PATH_BYTES];
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = generate(&degraded.machine, path);
    const double whole_ns = plan(platform, &degraded).ns[0];
    CU_ASSERT_EQUAL_FATAL(ronde_platform_without(platform, out, 1, &error), RONDE_OK);
    const double without_ns = plan(platform, &degraded).ns[0];
    ronde_platform_destroy(platform);
    unlink(path);
    CU_ASSERT(without_ns >= whole_ns);
    CU_ASSERT(without_ns <= MOST_TIMES * whole_ns);
    suite_note("all_gather of 12 nodes: %.1f us, without a NIC %.1f", whole_ns / 1e3,
               without_ns / 1e3);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_slower_link_makes_no_plan_of_a_torus_faster",
         a_slower_link_makes_no_plan_of_a_torus_faster},
        {"a_slower_link_makes_no_plan_of_nodes_faster", a_slower_link_makes_no_plan_of_nodes_faster},
        {"a_pod_without_a_nic_has_trees_of_its_own", a_pod_without_a_nic_has_trees_of_its_own},
    };
    return suite_run("degraded", cases, sizeof cases / sizeof cases[0]);
}
