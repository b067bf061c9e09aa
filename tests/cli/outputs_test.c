/*
 * Every option that writes a file, where the file cannot be written, or is something else than a file: a failure is one line
 * that names the file and the reason, and leaves what was there; success takes its place whole.
 *
 * The list is held to the tables of options: one that is added without a row here fails. A sample is tried, another each day;
 * all of it where RONDE_TEST_SCALE asks for more than 100.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "cli/cmd/commands.h"
#include "cli/draw/gnuplot.h"
#include "cli/options/option_groups.h"
#include "ronde/field.h"
#include "ronde/mix.h"
#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIM "sim all_reduce -a ring -N 8 --topo crossbar-64 -b 1K -e 1K"
#define SWEEP "sweep all_reduce -a ring,tree -N 2,4 --bytes 8:16:x2 --topo crossbar-64"
#define PLAN "plan all_reduce -N 4 --topo crossbar-64 -b 1K -e 1K"
#define VALIDATE "validate all_reduce --from $SRC/docs/results/cpu-validate.jsonl"
#define DOCTOR "doctor $SRC/docs/examples/nccl-tests.log --topo H100-cluster01"
#define EXPLAIN "explain $SRC/docs/examples/dlrm-v100x8"
#define WORKLOAD "workload sim step.workload --topo crossbar-64"

/* An option that writes, and a command line that has it write soon. */
struct writer {
    const char *command, *option;
    const char *line; /* the option and its value stand behind it */
    bool is_slow;     /* measures: only where all is tried */
    bool grows;       /* goes on with what is there, or refuses to */
};

static const struct writer writers[] = {
    {"run", "output", "run all_reduce -N 2 --backend host -b 64 -e 64 -n 1 -w 0", false, false},
    {"check", "output", "check all_reduce -a ring -N 4", false, false},
    {"convert", "output", "convert all_reduce -a ring -N 4", false, false},
    {"convert", "output", "convert all_reduce -a ring -N 4 -b 1K --to goal", false, false},
    {"sim", "trace", SIM, false, false},
    {"sim", "timeline", SIM, false, false},
    {"sim", "output", SIM, false, false},
    {"sim", "plot", SIM, false, false},
    {"sim", "html", SIM, false, false},
    {"sweep", "map", SWEEP, false, false},
    {"sweep", "output", SWEEP, false, true},
    {"sweep", "plot", SWEEP, false, false},
    {"plan", "output", PLAN, false, false},
    {"plan", "output", "plan --style nccl --topo H100-cluster01 --to nccl-tuner", true, false},
    {"plan", "plot", PLAN, false, false},
    {"plan", "html", PLAN, false, false},
    {"validate", "records",
     "validate all_reduce -a ring -N 2 --topo crossbar-64 -b 1K -e 1K -n 1 -w 0", true, false},
    {"validate", "output", VALIDATE, false, false},
    {"validate", "plot", VALIDATE, false, false},
    {"validate", "html", VALIDATE, false, false},
    {"calibrate", "output", "calibrate --from-table $SRC/docs/examples/mpi-fugaku-8.csv -N 8", true,
     false},
    {"tune", "output", "tune all_reduce -N 2 --bytes 8:16:x2 --budget 1", true, false},
    {"doctor", "output", DOCTOR, false, false},
    {"doctor", "plot", DOCTOR, false, false},
    {"doctor", "html", DOCTOR, false, false},
    {"explain", "output", EXPLAIN, false, false},
    {"explain", "html", EXPLAIN, false, false},
    {"bound", "output", "bound all_reduce -N 4 --topo crossbar-64 -b 1K -e 1K", false, false},
    {"synthesize", "output", "synthesize all_gather -N 4 --topo crossbar-64", false, false},
    {"synthesize", "plot", "synthesize all_gather -N 4 --topo crossbar-64", false, false},
    {"list", "output", "list", false, false},
    {"topo show", "output", "topo show crossbar-64", false, false},
    {"topo generate", "output", "topo generate torus 4x4", false, false},
    {"topo import", "output", "topo import H100-cluster01", false, false},
    {"topo check", "output", "topo check $SRC/topologies/crossbar-64.xml", false, false},
    {"workload sim", "trace", WORKLOAD, false, false},
    {"workload sim", "timeline", WORKLOAD, false, false},
    {"workload sim", "output", WORKLOAD, false, false},
    {"workload sim", "plot", WORKLOAD, false, false},
    {"workload sim", "html", WORKLOAD, false, false},
    {"workload gpt", "output", "workload gpt --layers 2 --hidden 1024 --tp 2 --dp 2", false, false},
    {"workload convert", "output", "workload convert step.workload --topo crossbar-64 --to goal",
     false, false},
};

/* Options whose files are read; those that take `-` say so by their taker. And the one that names a folder. */
#define FOLDER_COMMAND "demo"

/* What is in the way, and what is to come of it. */
enum outcome { WHOLE, REFUSED, EITHER };

struct obstacle {
    const char *name;
    const char *before; /* said by the shell in the folder of the target t/x */
    const char *limits; /* said by the shell that becomes the command */
    const char *target;
    enum outcome outcome;
    const char *reason; /* of a refusal */
    bool has_old;       /* t/x holds a line before */
    bool is_elsewhere;  /* what is written arrives in `got`, and t is as it was */
};

static const struct obstacle obstacles[] = {
    {"nothing", "", "", "t/x", WHOLE, "", true, false},
    {"nothing, no file yet", "", "", "t/x", WHOLE, "", false, false},
    {"a link", "ln -s t/x link", "", "link", WHOLE, "", true, false},
    {"a pipe", "mkfifo p; cat p >got &", "", "p", WHOLE, "", true, true},
    {"standard output", "", "", "/dev/stdout", WHOLE, "", true, true},
    {"a full device", "", "", "/dev/full", REFUSED, "No space left on device", true, false},
    {"a full disk", "", "ulimit -f 0", "t/x", REFUSED, "File too large", true, false},
    {"a full disk, no file yet", "", "ulimit -f 0", "t/x", REFUSED, "File too large", false, false},
    {"a folder", "mkdir t/d", "", "t/d", REFUSED, "Is a directory", true, false},
    {"a folder that is missing", "", "", "t/no/x", REFUSED, "No such file or directory", true, false},
    {"a file as folder", "", "", "t/x/y", REFUSED, "Not a directory", true, false},
    {"a link to nowhere", "ln -s no/x t/l", "", "t/l", REFUSED, "No such file or directory", true,
     false},
    {"4 descriptors", "", "ulimit -n 4", "t/x", EITHER, "", true, false},
    {"5 descriptors", "", "ulimit -n 5", "t/x", EITHER, "", true, false},
    {"6 descriptors", "", "ulimit -n 6", "t/x", EITHER, "", true, false},
    {"7 descriptors", "", "ulimit -n 7", "t/x", EITHER, "", true, false},
    {"8 descriptors", "", "ulimit -n 8", "t/x", EITHER, "", true, false},
    {"9 descriptors", "", "ulimit -n 9", "t/x", EITHER, "", true, false},
    {"10 descriptors", "", "ulimit -n 10", "t/x", EITHER, "", true, false},
    {"12 descriptors", "", "ulimit -n 12", "t/x", EITHER, "", true, false},
};

#define OBSTACLES (sizeof obstacles / sizeof obstacles[0])
#define WRITERS (sizeof writers / sizeof writers[0])

/* Rights bind every user but root. */
#define USER "setpriv --reuid=54321 --regid=54321 --clear-groups env HOME=/nonexistent "

static const struct obstacle rights[] = {
    {"a file of others", "chmod 755 t; chmod 644 t/x", "", "t/x", REFUSED, "Permission denied",
     true, false},
    {"a folder of others", "chmod 755 t", "", "t/x", REFUSED, "Permission denied", false, false},
    {"a file in a folder of others", "chmod 755 t; chmod 666 t/x", "", "t/x", WHOLE, "", true, false},
};

static char folder[] = RONDE_SCRATCH_DIR "/outputs-XXXXXX";

/* Runs a writer there, and prints its code, what is in t, whether the old line is, and what it said of itself. */
static char *try(const struct writer *writer, const struct obstacle *obstacle, const char *user)
{
    char command[4096], *said = NULL;
    snprintf(
        command, sizeof command,
        "exec 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; "
        "cd '%s' && rm -rf t link p got o e && mkdir t && mkfifo o e && "
        "SRC='" RONDE_SOURCE_DIR "' && %s { %s\n}; cat o >out & cat e >err & "
        "(%s; exec timeout 120 %s '%s' %s --%s %s) >o 2>e </dev/null; echo code $?; wait; "
        "[ -s got ] || mv out got; echo in $(ls -A t); [ \"$(cat t/x 2>&1)\" = old ] && echo old; "
        "[ -s t/x ] && echo new; [ -L link ] && echo link; [ -s got ] && echo got; "
        "grep -a '^ronde: ' err; grep -ac '^ronde: ' err",
        folder, obstacle->has_old && !writer->grows ? "echo old >t/x &&" : "",
        obstacle->before[0] ? obstacle->before : ":", obstacle->limits[0] ? obstacle->limits : ":",
        user, suite_ronde(), writer->line, writer->option, obstacle->target);
    (void)files_command(command, &said);
    return said;
}

static bool has(const char *said, const char *part)
{
    return strstr(said, part) != NULL;
}

static bool is_whole(const char *said, const struct obstacle *obstacle, bool has_old)
{
    if (!has(said, "code 0\n") && !has(said, "code 1\n"))
        return false;
    if (obstacle->is_elsewhere)
        return has(said, "\ngot\n") && (has_old ? has(said, "in x\nold\n") : has(said, "in\n"));
    const bool is_link = strcmp(obstacle->target, "link") == 0;
    return has(said, "in x\nnew\n") && is_link == has(said, "\nlink\n");
}

static bool is_picture(const struct writer *writer)
{
    return strcmp(writer->option, "plot") == 0 || strcmp(writer->option, "map") == 0;
}

static bool is_sweep(const struct writer *writer)
{
    return strcmp(writer->command, "sweep") == 0;
}

/* One line, of the target, and nothing has changed. */
static bool is_refused(const struct writer *writer, const struct obstacle *obstacle,
                       const char *said, bool has_old)
{
    const bool is_code = has(said, "code 2\n") || has(said, "code 4\n");
    const bool is_as_before = has_old ? has(said, "\nold\n") : !has(said, "\nnew\n");
    const bool has_left =
        has(said, ".part ") || has(said, ".part\nold") || (!has_old && has(said, "in x\n"));
    const bool is_named = obstacle->outcome == EITHER || has(said, obstacle->target);
    /* gnuplot's own file may be in the way of the limit first. */
    const bool is_reason = has(said, obstacle->reason) || (is_picture(writer) && has(said, "/tmp"));
    /* Points of a sweep are processes that say so each, and its results stay to be gone on with. */
    const bool is_one = has(said, "\n1\n") || (is_sweep(writer) && obstacle->outcome == EITHER);
    return is_code && (writer->grows || (is_as_before && !has_left)) && is_named && is_reason &&
           is_one;
}

static bool is_right(const struct writer *writer, const struct obstacle *obstacle, const char *said)
{
    const bool has_old = obstacle->has_old && !writer->grows;
    return (obstacle->outcome != REFUSED && is_whole(said, obstacle, has_old)) ||
           (obstacle->outcome != WHOLE && is_refused(writer, obstacle, said, has_old));
}

/* A sweep goes on with what is there; a tuned table makes its folders, and has its parts beside it. */
static bool serves(const struct writer *writer, const struct obstacle *obstacle)
{
    const bool is_of_folder = has(obstacle->target, "/no/") || has(obstacle->name, "in a folder");
    return !(writer->grows && (has(obstacle->target, "x/y") || has(obstacle->before, "t/x"))) &&
           !(strcmp(writer->command, "tune") == 0 && is_of_folder);
}

static bool is_sample(void)
{
    return suite_number("RONDE_TEST_SCALE", 100) <= 100;
}

static unsigned tried;

static void attempt(const struct writer *writer, const struct obstacle *obstacle, const char *user)
{
    const char *text = NULL;
    if (!serves(writer, obstacle) || (is_picture(writer) && !ronde_plot_available(&text)))
        return;
    char *said = try(writer, obstacle, user);
    const bool is = is_right(writer, obstacle, said);
    CU_ASSERT(is);
    tried++;
    if (!is)
        suite_note("ronde %s --%s, %s: %.700s", writer->line, writer->option, obstacle->name, said);
    free(said);
}

/* Every so many, from one that differs from day to day. */
static void attempt_all(const struct obstacle *list, size_t count, const char *user, unsigned sample)
{
    const uint64_t pairs = WRITERS * count;
    const uint64_t step = is_sample() ? pairs / sample : 1;
    const uint64_t first = is_sample() ? suite_seed() % step : 0;
    for (uint64_t i = first; i < pairs; i += step)
        if (!is_sample() || !writers[i / count].is_slow)
            attempt(&writers[i / count], &list[i % count], user);
    suite_note("%u attempts", tried);
}

/* ---- The list ------------------------------------------------------------------------------------------------------ */

static bool is_listed(const char *command, const char *option)
{
    for (size_t w = 0; w < WRITERS; w++)
        if (strcmp(writers[w].command, command) == 0 && strcmp(writers[w].option, option) == 0)
            return true;
    return strcmp(command, FOLDER_COMMAND) == 0;
}

static void see(const struct ronde_command *command, const struct ronde_own_option *own,
                void *context)
{
    const struct ronde_option *option = own->option;
    const bool says_so = strncmp(option->help, "write", 5) == 0;
    const bool is_file = option->value && strcmp(option->value, "FILE") == 0;
    (void)context;
    CU_ASSERT(is_file || !says_so);
    const bool is = !is_file || option->take == ronde_take_input ||
                    option->take == ronde_take_algorithms || is_listed(command->name, option->name);
    CU_ASSERT(is);
    if (!is)
        suite_note("%s --%s is not in the list of this test", command->name, option->name);
}

static void every_option_of_a_file_is_listed(void)
{
    uint32_t count = 0;
    const struct ronde_command *const *commands = ronde_commands(&count);
    for (uint32_t c = 0; c < count; c++) {
        if (!commands[c]->verbs)
            ronde_options_visit(commands[c], see, NULL);
        for (uint32_t v = 0; v < commands[c]->verb_count; v++)
            ronde_options_visit(&commands[c]->verbs[v], see, NULL);
    }
}

/* ---- The attempts -------------------------------------------------------------------------------------------------- */

static void a_file_is_whole_or_as_it_was(void)
{
    attempt_all(obstacles, OBSTACLES, "", 36);
}

static void rights_of_others_are_kept(void)
{
    char command[512], *said = NULL;
    snprintf(command, sizeof command,
             "chmod 777 '%s'; " USER "sh -c \"test -x '%s' && test -w '%s'\"", folder,
             suite_ronde(), folder);
    const bool can = files_command(command, &said) == 0;
    free(said);
    if (!can) {
        suite_skip("no other user can be used to run %s here (setpriv, root)", suite_ronde());
        return;
    }
    attempt_all(rights, sizeof rights / sizeof rights[0], USER, 6);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(every_option_of_a_file_is_listed),
        SUITE_CASE(a_file_is_whole_or_as_it_was),
        SUITE_CASE(rights_of_others_are_kept),
    };
    char command[1024], *said = NULL;
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    snprintf(command, sizeof command,
             "cd '%s' && '%s' workload gpt --layers 2 --hidden 1024 --tp 2 "
             "--dp 2 -o step.workload",
             folder, suite_ronde());
    (void)files_command(command, &said);
    free(said);
    const int code = suite_run_with_components("outputs", cases, sizeof cases / sizeof cases[0]);
    said = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)files_command(command, &said);
    free(said);
    return code;
}
