/* GPUs on PCIe and what they are near to: on a machine that was recorded, on this one, and on files that are none. */
#include "support/built_with.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/gpu_places.h"

#include <stdio.h>
#include <string.h>

#define RECORDED RONDE_SOURCE_DIR "/tests/data/hwloc/four-gpus.xml"

/* Lists the GPUs of a machine; false after a visible skip. */
static bool list_places(const char *file, struct ronde_gpu_place **out_list, uint32_t *out_count)
{
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_gpu_places_list(file, ronde_mem_default(), out_list, out_count, &error);
    if (status == RONDE_UNAVAILABLE) {
        suite_skip("%s", error.message);
        return false;
    }
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    return true;
}

static void places_say_memory_package_rate_and_network(void)
{
    static const struct {
        const char *bus, *names, *nic, *processors;
        uint32_t package;
    } expected[] = {{"0000:10:00.0", "cuda0 nvml0", "mlx5_0", "0,2", 0},
                    {"0000:11:00.0", "cuda1 nvml1", "mlx5_0", "0,2", 0},
                    {"0000:12:00.0", "cuda2 nvml2", "mlx5_1", "1,3", 1},
                    {"0000:13:00.0", "cuda3 nvml3", "mlx5_1", "1,3", 1}};
    struct ronde_gpu_place *list;
    uint32_t count;
    if (!list_places(RECORDED, &list, &count))
        return;
    CU_ASSERT_EQUAL_FATAL(count, 4);
    for (uint32_t g = 0; g < count; g++) {
        CU_ASSERT_STRING_EQUAL(list[g].bus, expected[g].bus);
        CU_ASSERT_STRING_EQUAL(list[g].names, expected[g].names);
        CU_ASSERT_STRING_EQUAL(list[g].nic, expected[g].nic);
        CU_ASSERT_STRING_EQUAL(list[g].processors, expected[g].processors);
        CU_ASSERT_EQUAL(list[g].package, expected[g].package);
        CU_ASSERT_EQUAL(list[g].node, expected[g].package);
        CU_ASSERT(list[g].slot_GBps > 63.0 && list[g].slot_GBps < 63.1);
        CU_ASSERT_STRING_EQUAL(list[g].product, "10de:2330");
    }
    ronde_mem_free(ronde_mem_default(), list, count, sizeof *list);
}

static void processors_near_a_gpu_are_listed(void)
{
    struct ronde_processor *list;
    struct ronde_error error = {0};
    uint32_t count;
    /* As NVML writes it. */
    const enum ronde_status status =
        ronde_gpu_places_near(RECORDED, "00000000:13:00.0", ronde_mem_default(), &list, &count,
                              &error);
    if (status == RONDE_UNAVAILABLE) {
        suite_skip("%s", error.message);
        return;
    }
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    for (uint32_t k = 0; k < count; k++) {
        CU_ASSERT_EQUAL(list[k].cpu, 1 + 2 * k);
        CU_ASSERT_EQUAL(list[k].core, 2 + k);
        CU_ASSERT_EQUAL(list[k].node, 1);
        CU_ASSERT_EQUAL(list[k].package, 1);
    }
    ronde_mem_free(ronde_mem_default(), list, count, sizeof *list);
    CU_ASSERT_EQUAL(ronde_gpu_places_near(RECORDED, "0000:77:00.0", ronde_mem_default(), &list,
                                          &count, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT(list == NULL && count == 0);
    CU_ASSERT_STRING_EQUAL(error.message, "no device of PCIe is at 0000:77:00.0");
}

/* hwloc would describe this machine instead if it were called in another way. */
static void a_file_that_is_no_machine_is_refused(void)
{
    static const char *const files[] = {"/nowhere/machine.xml",
                                        RONDE_SOURCE_DIR "/topologies/crossbar-64.xml"};
    for (uint32_t f = 0; f < 2; f++) {
        struct ronde_gpu_place *list;
        struct ronde_error error = {0};
        uint32_t count;
        const enum ronde_status status =
            ronde_gpu_places_list(files[f], ronde_mem_default(), &list, &count, &error);
        CU_ASSERT(status == RONDE_BAD_INPUT || status == RONDE_UNAVAILABLE);
        CU_ASSERT(list == NULL && count == 0 && error.message[0] != '\0');
    }
}

static void this_machine_can_be_asked(void)
{
    struct ronde_gpu_place *list;
    uint32_t count;
    if (!list_places(NULL, &list, &count))
        return;
    suite_note("%u GPUs", count);
    for (uint32_t g = 0; g < count; g++)
        CU_ASSERT(ronde_bus_is_same(list[g].bus, list[g].bus) && list[g].processors[0] != '\0');
    ronde_mem_free(ronde_mem_default(), list, count, sizeof *list);
}

static void a_lack_of_memory_leaves_nothing(void)
{
    struct ronde_gpu_place *places;
    struct ronde_processor *processors;
    struct ronde_error error = {0};
    uint32_t count;
    struct heap heap = heap_start(0, false);
    const struct ronde_mem mem = heap_mem(&heap);
    const enum ronde_status status = ronde_gpu_places_list(RECORDED, &mem, &places, &count, &error);
    CU_ASSERT(status == RONDE_NO_MEMORY || status == RONDE_UNAVAILABLE);
    CU_ASSERT(places == NULL && count == 0);
    CU_ASSERT_EQUAL(ronde_gpu_places_near(RECORDED, "0000:10:00.0", &mem, &processors, &count,
                                          &error),
                    status);
    CU_ASSERT(processors == NULL && count == 0);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

static void places_are_compared_as_numbers(void)
{
    CU_ASSERT(ronde_bus_is_same("0000:0a:00.0", "00000000:0A:00.0"));
    CU_ASSERT(!ronde_bus_is_same("0000:0a:00.0", "0000:0b:00.0"));
    CU_ASSERT(!ronde_bus_is_same("0001:0a:00.0", "0000:0a:00.0"));
    CU_ASSERT(!ronde_bus_is_same("", ""));
    CU_ASSERT(!ronde_bus_is_same("0000:0a:00.0 ", "0000:0a:00.0"));
    CU_ASSERT(!ronde_bus_is_same("gpu", "gpu"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"places_say_memory_package_rate_and_network", places_say_memory_package_rate_and_network},
        {"processors_near_a_gpu_are_listed", processors_near_a_gpu_are_listed},
        {"a_file_that_is_no_machine_is_refused", a_file_that_is_no_machine_is_refused},
        {"this_machine_can_be_asked", this_machine_can_be_asked},
        {"a_lack_of_memory_leaves_nothing", a_lack_of_memory_leaves_nothing},
        {"places_are_compared_as_numbers", places_are_compared_as_numbers},
    };
    return suite_run("gpu_places", cases, sizeof cases / sizeof cases[0]);
}
