/**
 * Views: hosts of a machine in another order and fewer of them have the routes, and the nodes, that they have in the whole.
 */
#include "support/built_with.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/platform_text.h"

#include "ronde/generate.h"
#include "ronde/place.h"

#include <stdio.h>
#include <string.h>

#define MAX_LINKS 64u

static struct ronde_platform *pod(uint32_t nodes)
{
    const struct ronde_generate_request request = {.kind = "dgx-h100",
                                                   .nodes = nodes,
                                                   .fabric = RONDE_FABRIC_RAIL};
    return platform_text_generated(&request);
}

static struct ronde_platform *view_of(const struct ronde_platform *whole, const uint32_t *hosts,
                                      uint32_t count)
{
    struct ronde_platform *view = NULL;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_platform_view(whole, hosts, count, ronde_mem_default(), &view,
                                              &error),
                          RONDE_OK);
    return view;
}

static bool is_one_route(const struct ronde_platform *whole, const struct ronde_platform *view,
                         const uint32_t *hosts, uint32_t src, uint32_t dst)
{
    uint32_t left[MAX_LINKS], right[MAX_LINKS], left_count = 0, right_count = 0;
    struct ronde_error error = {.status = RONDE_OK};
    return ronde_platform_route(view, src, dst, MAX_LINKS, left, &left_count, &error) == RONDE_OK &&
           ronde_platform_route(whole, hosts[src], hosts[dst], MAX_LINKS, right, &right_count,
                                &error) == RONDE_OK &&
           left_count == right_count && memcmp(left, right, left_count * sizeof *left) == 0;
}

static void check_routes(const struct ronde_platform *whole, const uint32_t *hosts, uint32_t count)
{
    struct ronde_platform *view = view_of(whole, hosts, count);
    CU_ASSERT_EQUAL(ronde_platform_facts(view)->hosts, count);
    for (uint32_t src = 0; src < count; src++) {
        CU_ASSERT_STRING_EQUAL(ronde_platform_host(view, src),
                               ronde_platform_host(whole, hosts[src]));
        for (uint32_t dst = 0; dst < count; dst++)
            CU_ASSERT(src == dst || is_one_route(whole, view, hosts, src, dst));
    }
    CU_ASSERT_PTR_NULL(ronde_platform_host(view, count));
    ronde_platform_destroy(view);
}

/* Also of ways around what is out, which depend on who goes. */
static void routes_are_those_of_the_whole(void)
{
    static const uint32_t hosts[] = {9, 3, 17, 30, 4, 12, 22};
    static const char *const out[] = {"n1g1_c", "n2g1"};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *whole = pod(4);
    struct ronde_error error = {.status = RONDE_OK};
    check_routes(whole, hosts, 7);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_without(whole, out, 2, &error), RONDE_OK);
    check_routes(whole, hosts, 7);
    ronde_platform_destroy(whole);
}

/* Nodes are the whole machine's; hosts of one each are a machine of single hosts. */
static void nodes_are_those_of_the_whole(void)
{
    static const uint32_t some[] = {8, 0, 1, 9, 2}, rail[] = {0, 8, 16, 24};
    static const uint32_t expected[] = {0, 1, 1, 0, 1};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *whole = pod(4);
    struct ronde_platform *view = view_of(whole, some, 5);
    struct ronde_nodes nodes;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_nodes_find(view, ronde_mem_default(), &nodes, &error), RONDE_OK);
    CU_ASSERT_EQUAL(nodes.count, 2);
    for (uint32_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(nodes.node_of[i], expected[i]);
    ronde_nodes_free(&nodes, ronde_mem_default());
    ronde_platform_destroy(view);
    view = view_of(whole, rail, 4);
    CU_ASSERT_EQUAL_FATAL(ronde_nodes_find(view, ronde_mem_default(), &nodes, &error), RONDE_OK);
    CU_ASSERT_EQUAL(nodes.source, RONDE_NODES_SINGLE);
    CU_ASSERT_EQUAL(nodes.count, 4);
    ronde_nodes_free(&nodes, ronde_mem_default());
    ronde_platform_destroy(view);
    ronde_platform_destroy(whole);
}

static void a_host_that_is_not_there_is_an_error(void)
{
    static const uint32_t hosts[] = {0, 16};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *whole = pod(2), *view;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_platform_view(whole, hosts, 2, ronde_mem_default(), &view, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NULL(view);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "host 16 of 16"));
    ronde_platform_destroy(whole);
}

static enum ronde_status view_again(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    static const uint32_t hosts[] = {9, 3, 1};
    struct ronde_platform *view;
    const enum ronde_status status = ronde_platform_view(context, hosts, 3, mem, &view, error);
    CU_ASSERT_EQUAL(view != NULL, status == RONDE_OK);
    ronde_platform_destroy(view);
    return status;
}

static void no_memory_is_survived(void)
{
    static const char *const out[] = {"n1g1_c"};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *whole = pod(2);
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_platform_without(whole, out, 1, &error), RONDE_OK);
    const struct sweep sweep = {"a view", view_again, whole};
    CU_ASSERT(sweep_run(&sweep) > 5);
    ronde_platform_destroy(whole);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"routes_are_those_of_the_whole", routes_are_those_of_the_whole},
        {"nodes_are_those_of_the_whole", nodes_are_those_of_the_whole},
        {"a_host_that_is_not_there_is_an_error", a_host_that_is_not_there_is_an_error},
        {"no_memory_is_survived", no_memory_is_survived},
    };
    return suite_run("view", cases, sizeof cases / sizeof cases[0]);
}
