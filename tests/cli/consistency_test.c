/*
 * One question has one answer: the time of an algorithm, and the best algorithm with its time, are the same numbers from
 * `sim`, `sweep` and `plan`, and for calls of a step from `workload sim`, on machines of twelve kinds, from 1 KiB to 1 GiB: with parts missing or slow, and described, too.
 */
#include "support/buffers.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRATCH RONDE_SCRATCH_DIR "/consistency"
/* A processor is taken, and given back, for at most so long at once. */
#define LONGEST_PAUSE_MS 8

#define SIZES " -b 1K -e 1G -f 1024 --json"
#define SIZE_COUNT 3u

/* A machine: a shipped one, or what a command writes to a file. */
static const struct machine {
    const char *name;
    const char *make; /* NULL = shipped */
    const char *ranks;
    const char *words; /* more of them, or NULL */
} machines[] = {
    {SCRATCH "-pod.xml", "topo generate dgx-h100 --nodes 2 --fabric rail", "16", NULL},
    {SCRATCH "-pod.xml", NULL, "16", "--without n0g3_c"},
    {SCRATCH "-pod.xml", NULL, "16", "--degrade n0g3_c=.1"},
    {SCRATCH "-pod.xml", NULL, "15", "--without n1g7"},
    {SCRATCH "-pod.xml", NULL, "16", "--nics 4"},
    {"fat-tree-2to1-64", NULL, "16", NULL},
    {"dragonfly-72", NULL, "16", NULL},
    {"torus-8x8", NULL, "16", NULL},
    {"torus-8x8", NULL, "16", "--without chips_link_from_0_to_1"},
    {"pcie-8", NULL, "8", NULL},
    {"docs/examples/pod-dead-nic.xml", NULL, "16", NULL},
    {"AWS-p5-2node", NULL, "16", NULL},
};

#define MACHINES (sizeof machines / sizeof machines[0])

static const struct question {
    const char *collective;
    const char *algorithm; /* one of those whose channels, rings or pieces are decided */
} questions[] = {
    {"all_reduce", "ring"},     {"all_reduce", "nccl_tree"}, {"broadcast", "double_tree"},
    {"reduce_scatter", "ring"}, {"all_gather", "ring"},      {"all_to_all", "direct"},
};

#define QUESTIONS (sizeof questions / sizeof questions[0])

static bool has_everything(void)
{
#if RONDE_ALL_COMPONENTS
    return true;
#else
    suite_skip("built without libxml2, jansson or SimGrid");
    return false;
#endif
}

static void make_machine(const struct machine *machine)
{
    char command[1024];
    if (!machine->make)
        return;
    snprintf(command, sizeof command, "cd '%s' && '%s' %s -o '%s'", RONDE_SOURCE_DIR, suite_ronde(),
             machine->make, machine->name);
    free(said_by(command, 0));
}

/* The values of a field of JSON lines, in their order; false where there are not as many as sizes. */
static bool find_values(const char *said, const char *field, char values[SIZE_COUNT][128])
{
    char key[64];
    uint32_t count = 0;
    const int length = snprintf(key, sizeof key, "\"%s\": ", field);
    for (const char *line = said; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = strncmp(line, "{\"kind\": \"change\"", 17) == 0 ? NULL : strstr(line, key);
        const char *end = strchr(line, '\n');
        if (!at || (end && at > end) || count == SIZE_COUNT)
            continue;
        at += length;
        const size_t bytes = *at == '"' ? strcspn(at + 1, "\"") : strcspn(at, ",}");
        snprintf(values[count++], sizeof values[0], "%.*s", (int)bytes, at + (*at == '"'));
    }
    return count == SIZE_COUNT;
}

static char *ask(const char *words, const struct machine *machine)
{
    char command[1024];
    snprintf(command, sizeof command, "cd '%s' && '%s' %s -N %s --topo '%s' %s 2>/dev/null",
             RONDE_SOURCE_DIR, suite_ronde(), words, machine->ranks, machine->name,
             machine->words ? machine->words : "");
    return said_by(command, 0);
}

/* The times of a command. */
static void find_times(const char *words, const struct machine *machine, char times[SIZE_COUNT][128])
{
    char *said = ask(words, machine);
    const bool has_all = find_values(said, "time_ns", times);
    CU_ASSERT(has_all);
    if (!has_all)
        suite_note("%s on %s: %.300s", words, machine->name, said);
    free(said);
}

static void compare(const char *left, const char *right, const struct machine *machine,
                    const char *what)
{
    CU_ASSERT_STRING_EQUAL(left, right);
    if (strcmp(left, right) != 0)
        suite_note("%s on %s: %s ns and %s ns", what, machine->name, left, right);
}

/* An algorithm by name: replayed alone, and as a point of a grid. */
static void check_named(const struct question *question, const struct machine *machine)
{
    char words[256], sim[SIZE_COUNT][128], sweep[SIZE_COUNT][128];
    snprintf(words, sizeof words, "sim %s -a %s" SIZES, question->collective, question->algorithm);
    find_times(words, machine, sim);
    snprintf(words, sizeof words, "sweep %s -a %s --bytes 1K:1G:x1024", question->collective,
             question->algorithm);
    find_times(words, machine, sweep);
    for (uint32_t i = 0; i < SIZE_COUNT; i++)
        compare(sim[i], sweep[i], machine, words);
}

/* The best: as planned, as replayed without -a, and as replayed with the options that the plan names. */
static void check_best(const char *collective, const struct machine *machine)
{
    static const char *const sizes[SIZE_COUNT] = {"1K", "1M", "1G"};
    char words[512], plan[SIZE_COUNT][128], sim[SIZE_COUNT][128];
    char algorithms[SIZE_COUNT][128], options[SIZE_COUNT][128], again[SIZE_COUNT][128];
    snprintf(words, sizeof words, "plan %s" SIZES, collective);
    char *said = ask(words, machine);
    CU_ASSERT_FATAL(find_values(said, "time_ns", plan) &&
                    find_values(said, "algorithm", algorithms) &&
                    find_values(said, "options", options));
    free(said);
    snprintf(words, sizeof words, "sim %s" SIZES, collective);
    find_times(words, machine, sim);
    for (uint32_t i = 0; i < SIZE_COUNT; i++) {
        compare(plan[i], sim[i], machine, words);
        snprintf(words, sizeof words, "sim %s -a %s %s -b %s -e %s --json", collective,
                 algorithms[i], options[i], sizes[i], sizes[i]);
        said = ask(words, machine);
        const char *at = strstr(said, "\"time_ns\": ");
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        snprintf(again[i], sizeof again[i], "%.*s", (int)strcspn(at + 11, ",}"), at + 11);
        compare(plan[i], again[i], machine, words);
        free(said);
    }
}

/* The number of a field in a line of JSON. */
static double number_in(const char *line, const char *field)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", field);
    const char *at = strstr(line, key);
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

/* How much longer than planned a call of a step takes alone, which leaves ranks where they are; plans differ by half a percent. */
static void compare_call(const char *line, const char *plans, const struct machine *machine)
{
    const double bytes = number_in(line, "bytes");
    const char *plan = plans;
    /* What so many ranks cannot share is left out of a plan's bytes. */
    while (plan && !(fabs(number_in(plan, "bytes") / bytes - 1) < 0.1))
        plan = strchr(plan, '\n') ? strchr(plan, '\n') + 1 : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    const double call_ns = number_in(line, "fastest_alone_ns"),
                 plan_ns = number_in(plan, "time_ns");
    const char *placement = strstr(plan, "\"placement\": ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(placement);
    const bool is_moved = strncmp(placement + 13, "\"scattered", 10) == 0;
    const bool is_right =
        call_ns >= 0.995 * plan_ns && (is_moved || call_ns <= 1.006 * plan_ns) && call_ns > 0;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: a call of %.0f bytes takes %.1f ns, planned %.1f", machine->name, bytes,
                   call_ns, plan_ns);
}

/* Calls of a step that name no algorithm run as planned. */
static void check_step(const char *collective, const struct machine *machine)
{
    char command[1024], words[256];
    FILE *file = fopen(SCRATCH "-step", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file, "ronde-workload 1\nranks %s\ngroups all 0-%d\non 0-%d\n", machine->ranks,
            atoi(machine->ranks) - 1, atoi(machine->ranks) - 1);
    for (const char *size = "KMG"; *size; size++)
        fprintf(file, "%c %s all 1%c\n", *size, collective, *size);
    fclose(file);
    snprintf(words, sizeof words, "plan %s" SIZES, collective);
    char *plans = ask(words, machine);
    snprintf(command, sizeof command,
             "cd '%s' && '%s' workload sim '%s' --topo '%s' %s --json | grep '\"call\"'",
             RONDE_SOURCE_DIR, suite_ronde(), SCRATCH "-step", machine->name,
             machine->words ? machine->words : "");
    char *said = said_by(command, 0);
    uint32_t calls = 0;
    for (const char *line = said; *line; line += strcspn(line, "\n") + 1, calls++)
        compare_call(line, plans, machine);
    CU_ASSERT_EQUAL(calls, SIZE_COUNT);
    unlink(SCRATCH "-step");
    free(said);
    free(plans);
}

/* Of machines and questions every fourth pair, another of them on each machine; all with RONDE_TEST_SCALE above 100. */
static size_t stride(void)
{
    return suite_number("RONDE_TEST_SCALE", 100) > 100 ? 1 : 4;
}

static void one_question_has_one_answer(void)
{
    if (!has_everything())
        return;
    for (size_t m = 0; m < MACHINES; m++) {
        make_machine(&machines[m]);
        for (size_t q = m % stride(); q < QUESTIONS; q += stride()) {
            check_named(&questions[q], &machines[m]);
            check_best(questions[q].collective, &machines[m]);
            check_step(questions[q].collective, &machines[m]);
        }
    }
    for (size_t m = 0; m < MACHINES; m++)
        if (machines[m].make)
            unlink(machines[m].name);
}

/* What a command prints whose processor is taken from it again and again, as on a busy machine; the caller frees it. */
static char *said_with_pauses(const char *command, uint64_t *random)
{
    int status = -1;
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    for (bool stops = true; waitpid(child, &status, WNOHANG) == 0; stops = !stops) {
        (void)kill(child, stops ? SIGSTOP : SIGCONT);
        (void)poll(NULL, 0, 1 + (int)(buffers_draw(random) % LONGEST_PAUSE_MS));
    }
    CU_ASSERT_EQUAL(status, 0);
    return files_read(SCRATCH "-said");
}

/* What is chosen is counted, and never timed: pauses anywhere change nothing. */
static void busy_machines_answer_the_same(void)
{
    const int runs = suite_number("RONDE_TEST_SCALE", 100) > 100 ? 20 : 5;
    static const char *const commands[] = {
        "sim all_reduce -a double_tree -N 64 -b 1K -e 256M -f 64 --slot 4M --json --topo "
        "crossbar-64",
        "plan all_reduce -N 16 -b 1K -e 64M -f 256 --json --topo fat-tree-2to1-64",
        "sim all_to_all -N 12 -b 1M -e 1M --json --topo dragonfly-72",
    };
    uint64_t random = 1;
    if (!has_everything())
        return;
    for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++) {
        char command[1024];
        snprintf(command, sizeof command, "exec '%s' %s >'" SCRATCH "-said'", suite_ronde(),
                 commands[c]);
        char *first = said_on_stdout(commands[c], 0);
        for (int run = 1; run < runs; run++) {
            char *again = said_with_pauses(command, &random);
            CU_ASSERT_STRING_EQUAL(first, again);
            free(again);
        }
        free(first);
    }
    unlink(SCRATCH "-said");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"one_question_has_one_answer", one_question_has_one_answer},
        {"busy_machines_answer_the_same", busy_machines_answer_the_same},
    };
    return suite_run("consistency", cases, sizeof cases / sizeof cases[0]);
}
