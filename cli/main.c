/* ronde: the dispatch table. */
#include "cli/cmd/commands.h"
#include "cli/options/nccl_tests.h"
#include "cli/options/stdin_file.h"
#include "cli/print/report.h"
#include "ronde/field.h"

#include "ronde/comm.h"
#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "ronde/topologies.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What every command that walks sizes takes. */
#define SWEEP " minbytes maxbytes stepbytes stepfactor datatype "
#define WHAT " ranks algorithm root channels shape pairs "
/* What takes a file of another tool in place of an algorithm. */
#define GIVEN " nccl-log "
#define PRINT " json csv output "
/* What names a machine, and what is missing of it. */
#define MACHINE " topo nodes fabric degrade without nics "

static const struct ronde_command commands[] = {
    {"list", "", "what is here: collectives, algorithms, topologies, backends, components",
     "  ronde list\n  ronde list --json\n", " wide" PRINT, 0, false, ronde_cmd_list},
    {"compile", "FILE|COLLECTIVE", "print or store a schedule",
     "  ronde compile all_reduce -a ring -N 8\n"
     "  ronde compile all_reduce -a double_tree -N 8 -o double_tree.ronde\n"
     "  ronde compile all_reduce -a auto -b 64M -N 8 --topo dgx-h100\n",
     WHAT GIVEN "minbytes datatype slot depth backend output" MACHINE, 1, false, ronde_cmd_compile},
    {"convert", "FILE|COLLECTIVE [FILE]", "a schedule from one format into another",
     "  ronde convert my.ronde my.xml\n  ronde convert msccl.xml schedule.ronde\n"
     "  ronde convert all_reduce ring.xml -a ring -N 8 --dialect rccl\n"
     "  ronde convert msccl.xml --to ronde\n"
     "  ronde convert all_reduce -a ring -N 4 --to nccl-graph --topo A6000-NV-4 -o graph.xml\n"
     "  ronde convert all_reduce ring.goal -a ring -N 8 -b 1M\n",
     WHAT GIVEN "minbytes datatype slot topo to dialect output ", 2, false, ronde_cmd_convert},
    {"check", "FILE|COLLECTIVE", "prove a schedule; accounting and minimum depth",
     "  ronde check my.ronde\n  ronde check all_reduce -a ring -N 16384\n"
     "  ronde check --all -N 2..33\n",
     WHAT GIVEN "expand all markdown verbose" PRINT, 1, false, ronde_cmd_check},
    {"run", "FILE|COLLECTIVE", "execute, compare with the specification and measure",
     "  ronde run all_reduce -a ring -N 4 -b 8 -e 64M -f 4\n"
     "  ronde run all_gather -N 4 --backend host -b 1K -e 1K\n"
     "  ronde run all_reduce -b 8 -e 128M -f 2 -g 4\n"
     "  ronde run all_reduce -N 4 --backend proc\n"
     "  ronde run all_reduce -N 8 --backend ucx --hosts node0,node1\n",
     WHAT GIVEN SWEEP
     "op iters warmup_iters check slot depth protocol seed timeout backend rank"
     " join token buffers bind transport hosts launcher topo style ngpus nthreads wide" PRINT,
     1, true, ronde_cmd_run},
    {"sim", "FILE|COLLECTIVE", "replay a schedule on a platform file",
     "  ronde sim all_reduce -a ring -N 16 --topo crossbar-64\n"
     "  ronde sim all_reduce -a tree -N 8 --topo machine.xml --engine simgrid -b 1M -e 64M\n"
     "  ronde sim all_reduce -a ring -N 1024 --topo dgx-h100-pod --why --trace out.json\n"
     "  ronde sim my.ronde --topo crossbar-64 -b 1M -e 1M\n"
     "  ronde sim all_reduce --nccl-log nccl.log -a tree --topo dgx-h100-pod\n"
     "  ronde sim all_reduce --style nccl -N 64 -b 1K -e 1G --topo Alps-GH200\n",
     WHAT GIVEN SWEEP "slot depth timeout engine placement with background straggler scenario"
                      " cfg native-latency why trace timeline style wide synthesize" MACHINE PRINT,
     1, false, ronde_cmd_sim},
    {"sweep", "COLLECTIVE", "replay algorithms on a grid of ranks and sizes, in parallel",
     "  ronde sweep all_reduce -a ring,double_tree -N 8:1024:x2 --bytes 8:1G:x4 --topo"
     " dgx-h100-pod\n      --output sweep.jsonl --plot time.svg --map winners.svg\n"
     "  ronde sweep all_reduce --topo dgx-h100-pod --bytes 1K:1G:x16\n"
     "  ronde sweep all_reduce -a ring,tree -N 8:64:x2 --topo crossbar-64 --output s.jsonl "
     "--resume\n"
     "  ronde sweep all_reduce -a ring,tree -N 8:64:x2 --topo crossbar-64 --shard 0/4 > "
     "part0.jsonl\n",
     WHAT SWEEP
     "bytes slot depth timeout engine jobs shard resume plot map output wide synthesize " MACHINE,
     1, false, ronde_cmd_sweep},
    {"price", "FILE|COLLECTIVE", "closed form and longest path of a schedule on a platform file",
     "  ronde price all_reduce -a ring -N 16 --topo crossbar-64\n"
     "  ronde price all_reduce -a tree -N 8 --topo machine.xml --json\n",
     WHAT GIVEN SWEEP "slot depth wide synthesize" MACHINE PRINT, 1, false, ronde_cmd_price},
    {"plan", "COLLECTIVE", "best algorithm per size on a machine, and why",
     "  ronde plan all_reduce --topo dgx-h100-pod -b 8 -e 1G\n"
     "  ronde plan broadcast -N 16 --topo crossbar-64 --slot 64K --plot plan.svg\n"
     "  ronde plan all_reduce -N 4 --backend cpu\n"
     "  ronde plan all_reduce --style nccl -N 64 -b 1K -e 1G --topo Alps-GH200\n"
     "  ronde plan all_reduce --style nccl -N 8 --topo Alps-GH200 --to nccl-tuner -o tuner.csv\n",
     WHAT SWEEP "slot depth engine backend plot style to wide synthesize" MACHINE PRINT, 1, false,
     ronde_cmd_plan},
    {"bound", "COLLECTIVE", "the least time any schedule can take on a machine, and what limits it",
     "  ronde bound all_gather --topo dgx-h100-pod\n"
     "  ronde bound all_reduce --topo pod.xml --without n5g0_c --json\n",
     " ranks root pairs " SWEEP MACHINE PRINT, 1, false, ronde_cmd_bound},
    {"synthesize", "COLLECTIVE", "make the schedule that a machine's links allow at best, proved",
     "  ronde synthesize all_gather --topo pod.xml -o forest.ronde --plot trees.svg\n"
     "  ronde synthesize all_reduce --topo pod.xml --without n5g0_c -o around.ronde\n"
     "  ronde synthesize all_gather --topo pod.xml --for 64K -o quick.ronde\n"
     "  ronde synthesize broadcast -r 3 --topo pod.xml --trees 4 -o forest.ronde\n",
     " ranks root trees connections for plot output " MACHINE, 1, false, ronde_cmd_synthesize},
    {"tune", "[COLLECTIVE]", "measure all algorithms on this machine, for -a auto",
     "  ronde tune\n  ronde tune --backend proc --budget 300\n"
     "  ronde tune all_reduce -N 4 -b 8 -e 1M -o tables/cpu.txt\n"
     "The table goes to the user's configuration, where `auto` finds it "
     "($XDG_CONFIG_HOME/ronde/tune\n"
     "or ~/.config/ronde/tune), unless -o names another file. Nobody else should use the "
     "machine.\n",
     " ranks minbytes maxbytes stepbytes stepfactor bytes timeout backend budget output ", 1, false,
     ronde_cmd_tune},
    {"calibrate", "", "measure this machine and write it as a platform file",
     "  ronde calibrate -o machine.xml\n  ronde calibrate -N 64 --json\n",
     " ranks slot depth timeout backend rig json csv output ", 0, false, ronde_cmd_calibrate},
    {"validate", "[COLLECTIVE]", "measured, replayed and priced side by side",
     "  ronde validate all_reduce -a ring,tree -N 2,4 --topo machine.xml\n"
     "  ronde validate all_reduce -a ring,tree,double_tree -N 2,4,8 -e 64M --topo machine.xml"
     " --plot validate.svg\n"
     "  ronde validate all_reduce --from docs/results/cpu-validate.jsonl --plot again.svg\n"
     "  ronde validate --published nccl.csv --system Alps-GH200 --fit smallest\n",
     WHAT SWEEP "op iters warmup_iters slot depth timeout backend rig plot records from published "
                "system auto-topo replay fit markdown wide" MACHINE PRINT,
     1, false, ronde_cmd_validate},
    {"doctor", "LOG [COLLECTIVE]",
     "whether nccl-tests' numbers are what the hardware should give, and what may be wrong",
     "  ronde doctor all_reduce.log --topo machine.txt\n"
     "  ronde doctor all_reduce.json --topo H100-cluster01 --json\n"
     "  ronde doctor pasted.txt all_gather --shape 2x8 --topo machine.txt\n"
     "LOG is what nccl-tests prints, the JSON of its -J, or a table as for validate --published.\n"
     "COLLECTIVE and -N or --shape say what a log leaves out. Exit code 1: something is wrong.\n",
     " ranks shape system wide" MACHINE PRINT, 2, false, ronde_cmd_doctor},
    {"topo", "show|generate|import|check [FILE|KIND [SHAPE]]",
     "platform files: pictures, generators, importers, checks; each has its own --help",
     "  ronde topo show crossbar-64\n  ronde topo generate rail --nodes 16 -o pod.xml\n"
     "  ronde topo generate torus 8x8x8 -o torus.xml\n"
     "  ronde topo import nccl-topo.xml --nodes 4 --fabric rail -o cluster.xml\n"
     "  ronde topo check pod.xml\n  ronde topo show --local\n",
     " local degrade without nodes gpus nvlink nics multicast levels shape oversubscription fabric "
     "nic-GBps "
     "nvlink-GBps "
     "memory-GBps" PRINT,
     3, false, ronde_cmd_topo},
    {"workload", "sim|gpt|convert [FILE [FILE]]",
     "steps of programs: replayed on a platform file, made, written in other formats",
     "  ronde workload sim step.workload --topo dgx-h100-pod\n"
     "  ronde workload gpt --layers 24 --hidden 2048 --tp 8 --dp 4 -o step.workload\n"
     "  ronde workload convert step.workload step.et\n"
     "Each verb has its own --help.\n",
     " ranks model layers hidden seq batch vocab tp dp pp micro dtype flops bucket "
     "sequence-parallel "
     "algorithm "
     "timeout engine what-if style trace to" MACHINE PRINT,
     3, false, ronde_cmd_workload},
    {"demo", "", "the tour, then ring, tree and double tree: predicted and measured",
     "  ronde demo\n  ronde demo --verbose\n  ronde demo --output /tmp/demo\n"
     "  ronde demo --operation all --world-size 4\n  ronde demo --operation reduce_scatter\n"
     "Operations are the collectives, the compositions mean, argmax, softmax, ring, halves and\n"
     "groups, and all.\n",
     " operation world-size backend output verbose ", 0, false, ronde_cmd_demo},
    {"completion", "bash|zsh|fish", "what a shell completes behind ronde, for its configuration",
     "  ronde completion bash > ~/.local/share/bash-completion/completions/ronde\n"
     "  ronde completion zsh > ~/.zfunc/_ronde\n"
     "  ronde completion fish > ~/.config/fish/completions/ronde.fish\n",
     " output ", 1, false, ronde_cmd_completion},
    {"manual", "[COMMAND]", "a page for man, of a command or of all together",
     "  ronde manual > ronde.1\n  ronde manual run | man -l -\n", " output ", 1, false,
     ronde_cmd_manual},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

const struct ronde_command *ronde_commands(uint32_t *out_count)
{
    *out_count = COMMAND_COUNT;
    return commands;
}

static const struct ronde_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* With the nearest name, as everywhere; who types a collective first, as other benchmarks are called, is shown how. */
static int refuse_command(const char *name)
{
    const char *names[COMMAND_COUNT];
    struct ronde_error error = {0};
    struct ronde_error no_collective = {0};
    enum ronde_collective collective;
    if (ronde_parse_collective(name, &collective, &no_collective) == RONDE_OK) {
        ronde_fail(&error, RONDE_BAD_ARGUMENT,
                   "%s is a collective, not a command; did you mean ronde run %s?", name, name);
        return ronde_report(&error);
    }
    for (uint32_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *nearest = ronde_nearest(name, names, COMMAND_COUNT);
    if (nearest)
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "unknown command \"%s\"; did you mean %s?", name,
                   nearest);
    else
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "unknown command \"%s\"; see ronde help", name);
    return ronde_report(&error);
}

/* To stdout when asked for, to stderr when it is a reproach. */
static int print_help(FILE *file, int code)
{
    fputs("ronde compiles collectives into step schedules, proves them, runs them, replays and "
          "prices them.\n\nUsage: ronde COMMAND [OPTION...]\n\nCommands:\n",
          file);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nronde COMMAND --help tells the options of a command; ronde --version the version.\n"
          "Exit codes: 0 done, 1 the answer is no (wrong result, failed proof), 2 bad usage or\n"
          "input, 3 a component is missing, 4 the run failed.\n",
          file);
    return code;
}

/* Executors that work here, and what joins processes. */
static void print_executors(void)
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        struct ronde_machine machine;
        struct ronde_error why_not = {0};
        if (ronde_executor_probe(&executors[e], &machine, &why_not) == RONDE_OK)
            printf(" %s", executors[e].name);
    }
}

/* Features are asked, not remembered from the build. */
static int print_version(void)
{
    const char *text = NULL, *reason = NULL;
    printf("ronde %s (features:", RONDE_VERSION);
    print_executors();
    if (ronde_sim_simgrid_available(&text))
        printf(" simgrid");
    if (ronde_topologies_available(&reason))
        printf(" xml");
    if (ronde_json_available(&text))
        printf(" json");
    printf(")\n");
    return RONDE_EXIT_OK;
}

/* The verb that a word names, which has a help of its own; else the command. */
static const struct ronde_command *part_of(const struct ronde_command *command, const char *word)
{
    const struct ronde_command *verb = command->run == ronde_cmd_topo ? ronde_topo_verb(word)
                                       : command->run == ronde_cmd_workload
                                           ? ronde_workload_verb(word)
                                           : NULL;
    return verb ? verb : command;
}

/* Options first: help of a command must work where the command would not. */
static int run_command(const struct ronde_command *command, int argc, char **argv)
{
    struct ronde_options options;
    struct ronde_error error = {0};
    if (ronde_options_parse(command, argc, argv, &options, &error) != RONDE_OK)
        return ronde_report(&error);
    if (options.help) {
        ronde_options_help(part_of(command, options.arguments[0]), stdout);
        return RONDE_EXIT_OK;
    }
    if (ronde_stdin_to_file(&options, &error) != RONDE_OK)
        return ronde_report(&error);
    return command->run(&options);
}

/* `ronde help COMMAND` is `ronde COMMAND --help`. */
static int help_command(int argc, char **argv)
{
    if (argc < 2)
        return print_help(stdout, RONDE_EXIT_OK);
    const struct ronde_command *command = find_command(argv[1]);
    if (!command)
        return refuse_command(argv[1]);
    ronde_options_help(part_of(command, argc > 2 ? argv[2] : NULL), stdout);
    return RONDE_EXIT_OK;
}

static bool is_one_of(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

/* The kernel's own set of signals, in bytes (_NSIG of the kernel / 8). */
#define KERNEL_SET_BYTES 8u

/* The signals that were blocked when the program was started. */
static sigset_t mask_at_start;

/*
 * UCX's library catches SIGHUP while it is loaded, and hw/ucx/signals.c gives it back; one that comes in between would be
 * lost. What stands in .preinit_array runs before the libraries' own beginnings. A plain system call: a sanitizer's
 * sigprocmask does not work yet.
 */
static void hold_signals(void)
{
    sigset_t all;
    memset(&all, 0xff, sizeof all);
    (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask_at_start, KERNEL_SET_BYTES);
}

__attribute__((section(".preinit_array"), used)) static void (*hold)(void) = hold_signals;

/*
 * A program may be started without its standard streams. The next file it opened would then be one of them, and take what
 * is printed, or a socket count as none. What cannot be printed is an error: a stream for writing is opened for reading.
 */
static bool open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
            return false;
    return true;
}

/* The exit code, unless what the command has printed did not all arrive. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (code != RONDE_EXIT_OK)
        return code;
    ronde_note("ronde: not all that was printed has arrived at standard output: is it closed, or "
               "its disk full?");
    return RONDE_EXIT_FAILED;
}

static int run_words(int argc, char **argv)
{
    if (argc < 2)
        return print_help(stderr, RONDE_EXIT_USAGE);
    if (is_one_of(argv[1], "--help", "-h"))
        return print_help(stdout, RONDE_EXIT_OK);
    if (is_one_of(argv[1], "--version", "-V"))
        return print_version();
    if (strcmp(argv[1], "help") == 0)
        return help_command(argc - 1, argv + 1);
    const struct ronde_command *command = find_command(argv[1]);
    return command ? run_command(command, argc - 1, argv + 1) : refuse_command(argv[1]);
}

/* A link that is named like a program of nccl-tests. */
static int run_nccl_tests(int argc, char **argv)
{
    struct ronde_nccl_tests words;
    struct ronde_error error = {0};
    bool is_help;
    if (ronde_nccl_tests_translate(argc, argv, &words, &is_help, &error) != RONDE_OK)
        return ronde_report(&error);
    return is_help ? RONDE_EXIT_OK : run_command(find_command("run"), words.count, words.words);
}

int main(int argc, char **argv)
{
    (void)sigprocmask(SIG_SETMASK, &mask_at_start, NULL);
    if (!open_standard_streams())
        return RONDE_EXIT_FAILED;
    /* A file that may grow no longer (ulimit -f) is an error like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* Rows appear as they are measured, in pipes too. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    const bool is_link = argc > 0 && ronde_is_nccl_tests(argv[0]);
    return finish(is_link ? run_nccl_tests(argc, argv) : run_words(argc, argv));
}
