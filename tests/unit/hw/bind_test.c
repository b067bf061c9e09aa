/* Processors and groups of them: on machines that hwloc makes up, and on this one. */
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/bind.h"
#include "ronde/engine.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two packages with two memories each of eight cores; false after a visible skip. */
static bool make_up(const char *text, struct ronde_processor **out_list, uint32_t *out_count)
{
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_processors_list(text, ronde_mem_default(), out_list, out_count, &error);
    if (status == RONDE_UNAVAILABLE) {
        suite_skip("%s", error.message);
        return false;
    }
    CU_ASSERT_FATAL(status == RONDE_OK);
    return true;
}

static void forget(struct ronde_processor *list, uint32_t count)
{
    ronde_mem_free(ronde_mem_default(), list, count, sizeof *list);
}

static void processors_are_listed_with_core_memory_and_package(void)
{
    struct ronde_processor *list;
    uint32_t count;
    if (!make_up("package:2 numa:2 core:8 pu:2", &list, &count))
        return;
    CU_ASSERT_EQUAL(count, 64);
    for (uint32_t k = 0; k < count; k++) {
        CU_ASSERT_EQUAL(list[k].core, k / 2);
        CU_ASSERT_EQUAL(list[k].node, k / 16);
        CU_ASSERT_EQUAL(list[k].package, k / 32);
    }
    forget(list, count);
}

/* Processors that the system numbers by turns (threads of a core far apart) are listed side by side. */
static void threads_of_a_core_are_listed_side_by_side(void)
{
    struct ronde_processor *list;
    uint32_t count;
    if (!make_up("package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", &list, &count))
        return;
    static const uint32_t cpus[] = {0, 4, 1, 5, 2, 6, 3, 7};
    CU_ASSERT_EQUAL_FATAL(count, 8);
    for (uint32_t k = 0; k < count; k++) {
        CU_ASSERT_EQUAL(list[k].cpu, cpus[k]);
        CU_ASSERT_EQUAL(list[k].core, k / 2);
    }
    /* Two workers: a package each. */
    const struct ronde_bind_group second = ronde_bind_group(list, count, 2, 1);
    CU_ASSERT(second.begin == 4 && second.end == 8);
    forget(list, count);
}

static void a_text_that_is_no_machine_is_refused(void)
{
    struct ronde_processor *list;
    uint32_t count;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_processors_list("no machine", ronde_mem_default(), &list, &count, &error);
    CU_ASSERT(status == RONDE_BAD_INPUT || status == RONDE_UNAVAILABLE);
    CU_ASSERT(list == NULL && count == 0 && strlen(error.message) > 0);
}

/* Ranks on the made-up machine: first processor, processors, memory. */
static void ranks_spread_over_cores_in_order_and_stay_on_one_memory(void)
{
    struct ronde_processor *list;
    uint32_t count;
    if (!make_up("package:2 numa:2 core:8 pu:1", &list, &count))
        return;
    static const struct {
        uint32_t ranks, rank, cpu, cpus, node;
    } wanted[] = {{1, 0, 0, 8, 0},    {2, 0, 0, 8, 0},   {2, 1, 16, 8, 2},  {3, 1, 10, 6, 1},
                  {3, 2, 21, 3, 2},   {4, 1, 8, 8, 1},   {4, 3, 24, 8, 3},  {8, 1, 4, 4, 0},
                  {8, 2, 8, 4, 1},    {8, 7, 28, 4, 3},  {16, 5, 10, 2, 1}, {32, 0, 0, 1, 0},
                  {32, 17, 17, 1, 2}, {32, 31, 31, 1, 3}};
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        const struct ronde_bind_group group =
            ronde_bind_group(list, count, wanted[k].ranks, wanted[k].rank);
        CU_ASSERT_EQUAL(list[group.begin].cpu, wanted[k].cpu);
        CU_ASSERT_EQUAL(group.end - group.begin, wanted[k].cpus);
        for (uint32_t p = group.begin; p < group.end; p++)
            CU_ASSERT_EQUAL(list[p].node, wanted[k].node);
    }
    const struct ronde_bind_group none = ronde_bind_group(list, count, 33, 5);
    CU_ASSERT_EQUAL(none.begin, none.end);
    CU_ASSERT_FALSE(ronde_bind_take(list, none));
    forget(list, count);
}

/* Any machine, any number of workers: groups are not empty, disjoint, in order, and split no core that they need not. */
static void groups_are_disjoint_and_whole_cores(void)
{
    static const char *const machines[] = {"package:1 core:6 pu:2", "package:2 numa:3 core:4 pu:2",
                                           "numa:1 core:7 pu:1", "package:3 numa:1 core:5 pu:4"};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        struct ronde_processor *list;
        uint32_t count;
        if (!make_up(machines[m], &list, &count))
            return;
        const uint32_t cores = list[count - 1].core + 1;
        for (uint32_t workers = 1; workers <= count; workers++) {
            uint32_t end = 0;
            for (uint32_t worker = 0; worker < workers; worker++) {
                const struct ronde_bind_group group = ronde_bind_group(list, count, workers, worker);
                CU_ASSERT(group.begin >= end && group.end > group.begin && group.end <= count);
                CU_ASSERT_EQUAL(list[group.begin].node, list[group.end - 1].node);
                if (workers <= cores && group.begin > 0)
                    CU_ASSERT_NOT_EQUAL(list[group.begin].core, list[group.begin - 1].core);
                if (workers <= cores && group.end < count)
                    CU_ASSERT_NOT_EQUAL(list[group.end].core, list[group.end - 1].core);
                end = group.end;
            }
        }
        forget(list, count);
    }
}

static void this_machine_has_what_the_system_reports(void)
{
    struct ronde_bind bind;
    cpu_set_t usable;
    CPU_ZERO(&usable);
    CU_ASSERT_FATAL(sched_getaffinity(0, sizeof usable, &usable) == 0);
    CU_ASSERT_FATAL(ronde_bind_open(ronde_mem_default(), &bind, NULL) == RONDE_OK);
    struct ronde_processor *list = ronde_mem_new(ronde_mem_default(), bind.count, sizeof *list);
    CU_ASSERT_FATAL(list != NULL);
    CU_ASSERT_EQUAL(ronde_bind_usable(&bind, list), (uint32_t)CPU_COUNT(&usable));
    suite_note("%u processors by %s", bind.count, bind.source);
    /* One processor is all that is left. */
    const struct ronde_bind_group one = {0, 1};
    char text[64];
    char number[16];
    CU_ASSERT(ronde_bind_take(list, one));
    CU_ASSERT_EQUAL(ronde_usable_cores(), 1);
    ronde_bind_text(text, sizeof text);
    snprintf(number, sizeof number, "%u", list[0].cpu);
    CU_ASSERT_STRING_EQUAL(text, number);
    const uint32_t cpu = list[0].cpu;
    CU_ASSERT_EQUAL(ronde_bind_usable(&bind, list), 1);
    CU_ASSERT_EQUAL(list[0].cpu, cpu);
    CU_ASSERT(sched_setaffinity(0, sizeof usable, &usable) == 0);
    ronde_mem_free(ronde_mem_default(), list, bind.count, sizeof *list);
    ronde_bind_close(&bind);
    CU_ASSERT(bind.list == NULL && bind.count == 0);
}

/* Processors the threads of this process may use but for the calling one; returns how many threads. */
static uint32_t masks_of_others(cpu_set_t masks[8])
{
    uint32_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        const int thread = atoi(task->d_name);
        if (thread > 0 && thread != getpid() && count < 8 &&
            sched_getaffinity(thread, sizeof masks[0], &masks[count]) == 0)
            count++;
    }
    if (tasks)
        closedir(tasks);
    return count;
}

/* Runs two ranks on two threads; the smallest mask of the other thread afterwards, or 0 if there is none. */
static int processors_of_the_worker(bool is_unbound, const struct ronde_bind *listed)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 2};
    const struct buffers_shape shape = {.collective = RONDE_ALL_REDUCE,
                                        .ranks = 2,
                                        .count = 1000,
                                        .dtype = RONDE_FLOAT32,
                                        .data = BUFFERS_SMALL,
                                        .seed = 1};
    const struct ronde_backend *cpu = &ronde_backend_cpu;
    struct ronde_machine machine;
    struct ronde_schedule *schedule;
    struct ronde_result result;
    struct buffers buffers;
    cpu_set_t masks[8];
    void *self, *program, *run;
    int fewest = 0;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(cpu->probe(&machine, NULL) == RONDE_OK);
    machine.alone_bytes = 0;
    machine.is_unbound = is_unbound;
    machine.bind = listed;
    CU_ASSERT_FATAL(cpu->open(&machine, ronde_mem_default(), &self, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(cpu->load(self, schedule, &program, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(buffers_create(&shape, &buffers));
    const struct ronde_launch launch = buffers_launch(&buffers);
    CU_ASSERT(cpu->run(program, &launch, &run, NULL) == RONDE_OK);
    CU_ASSERT(cpu->wait(run, &result, NULL) == RONDE_OK);
    const uint32_t others = masks_of_others(masks);
    for (uint32_t k = 0; k < others; k++)
        fewest = fewest == 0 || CPU_COUNT(&masks[k]) < fewest ? CPU_COUNT(&masks[k]) : fewest;
    buffers_destroy(&buffers);
    cpu->unload(program);
    cpu->close(self);
    ronde_schedule_destroy(schedule);
    return fewest;
}

static void workers_stay_in_their_group_unless_unbound(void)
{
    struct ronde_machine machine;
    struct ronde_error error = {0};
    if (ronde_backend_cpu.probe(&machine, &error) != RONDE_OK || machine.cores < 2) {
        suite_skip("no cpu backend, or one processor: %s", error.message);
        return;
    }
    const int cores = (int)machine.cores;
    CU_ASSERT(processors_of_the_worker(false, NULL) <= cores / 2);
    CU_ASSERT_EQUAL(processors_of_the_worker(true, NULL), cores);
    /* A list that the caller passes is the one that counts: one processor is too few for two workers. */
    struct ronde_bind bind;
    CU_ASSERT_FATAL(ronde_bind_open(ronde_mem_default(), &bind, NULL) == RONDE_OK);
    const struct ronde_bind one = {.mem = bind.mem, .list = bind.list, .count = 1};
    CU_ASSERT(processors_of_the_worker(false, &bind) <= cores / 2);
    CU_ASSERT_EQUAL(processors_of_the_worker(false, &one), cores);
    ronde_bind_close(&bind);
    /* The calling thread is never restricted. */
    CU_ASSERT_EQUAL(ronde_usable_cores(), machine.cores);
}

/* What visits have recorded. */
struct visits {
    cpu_set_t before;
    uint32_t ranks;
    int most; /* processors that a visit might use */
};

static void see(void *context, uint32_t rank)
{
    struct visits *visits = context;
    cpu_set_t mask;
    CU_ASSERT_EQUAL(rank, visits->ranks++);
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof mask, &mask), 0);
    visits->most = CPU_COUNT(&mask) > visits->most ? CPU_COUNT(&mask) : visits->most;
}

static void ranks_are_visited_where_they_run(void)
{
    struct ronde_bind bind;
    cpu_set_t after;
    CU_ASSERT_FATAL(ronde_bind_open(ronde_mem_default(), &bind, NULL) == RONDE_OK);
    for (uint32_t ranks = 1; ranks < 40; ranks += 3) {
        struct visits visits = {.ranks = 0};
        CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof visits.before, &visits.before), 0);
        const int processors = CPU_COUNT(&visits.before);
        ronde_bind_visit(&bind, ranks, see, &visits);
        CU_ASSERT_EQUAL(visits.ranks, ranks);
        CU_ASSERT(visits.most >= 1);
        CU_ASSERT(ranks == 1 || processors == 1 || visits.most < processors);
        CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof after, &after), 0);
        CU_ASSERT(CPU_EQUAL(&after, &visits.before));
    }
    ronde_bind_close(&bind);
    struct visits alone = {.ranks = 0};
    ronde_bind_visit(NULL, 3, see, &alone);
    CU_ASSERT_EQUAL(alone.ranks, 3);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"processors_are_listed_with_core_memory_and_package",
         processors_are_listed_with_core_memory_and_package},
        {"threads_of_a_core_are_listed_side_by_side", threads_of_a_core_are_listed_side_by_side},
        {"a_text_that_is_no_machine_is_refused", a_text_that_is_no_machine_is_refused},
        {"ranks_spread_over_cores_in_order_and_stay_on_one_memory",
         ranks_spread_over_cores_in_order_and_stay_on_one_memory},
        {"groups_are_disjoint_and_whole_cores", groups_are_disjoint_and_whole_cores},
        {"this_machine_has_what_the_system_reports", this_machine_has_what_the_system_reports},
        {"workers_stay_in_their_group_unless_unbound", workers_stay_in_their_group_unless_unbound},
        {"ranks_are_visited_where_they_run", ranks_are_visited_where_they_run},
    };
    return suite_run("bind", cases, sizeof cases / sizeof cases[0]);
}
