/* What every command refuses before it does anything: exit 2, one line that says what to do instead, nothing on stdout. */
#include "support/suite.h"

#include "support/built_with.h"
#include "support/files.h"

#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is typed behind `ronde`, and what is said. */
struct refusal {
    const char *arguments;
    const char *message;
};

/* One stream of a command; free the text. */
static char *run(const char *arguments, const char *streams, int *out_code)
{
    char command[2048], source[1024], *said = NULL;
    CU_ASSERT_TRUE_FATAL(suite_source(source, sizeof source, "tests/golden"));
    snprintf(command, sizeof command, "cd '%s/../..' && \"%s\" %s %s </dev/null", source,
             suite_ronde(), arguments, streams);
    *out_code = files_command(command, &said);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    return said;
}

static void expect(const struct refusal *refusal)
{
    int code = 0;
    char *said = run(refusal->arguments, "2>&1", &code);
    const char *end = strchr(said, '\n');
    const bool is_right = code == 2 && strncmp(said, "ronde: ", 7) == 0 && end && end[1] == '\0' &&
                          strstr(said, refusal->message);
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("ronde %s: exit %d, %.300s", refusal->arguments, code, said);
    free(said);
}

static void expect_all(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect(&refusals[i]);
}

#define EXPECT_ALL(refusals) expect_all(refusals, sizeof(refusals) / sizeof(refusals)[0])

static void what_is_missing_is_named(void)
{
    static const struct refusal refusals[] = {
        {"run", "which collective? `ronde list` names them"},
        {"check", "which collective? `ronde list` names them"},
        {"convert", "which collective? `ronde list` names them"},
        {"sim all_reduce -N 4", "on which machine? --topo is missing"},
        {"bound all_reduce", "on which machine? --topo is missing"},
        {"synthesize all_reduce -N 4", "on which machine? --topo is missing"},
        {"workload sim step.workload", "on which machine? --topo is missing"},
        {"validate --from /dev/null", "--from: of which collective is missing"},
        {"doctor", "which log is missing: the output of nccl-tests, its JSON, or a table"},
        {"workload", "workload: which verb? there are sim, gpt, convert"},
        {"workload sim", "which workload? name its file"},
        {"workload convert", "which workload? name its file"},
        {"workload gpt", "which model? say --model, or --layers and --hidden"},
        {"topo check", "topo check: which file?"},
        {"topo generate", "topo generate: which kind? there are crossbar, ethernet"},
    };
    EXPECT_ALL(refusals);
}

/* Without a component these say that first. */
static void grids_are_of_a_machine(void)
{
#if RONDE_ALL_COMPONENTS
    static const struct refusal refusals[] = {
        {"sweep", "on which machine? --topo is missing"},
        {"validate -N 2", "on which machine? --topo is missing"},
    };
    EXPECT_ALL(refusals);
#else
    suite_skip("this build lacks a component");
#endif
}

static void what_excludes_one_another_is_said(void)
{
    static const struct refusal refusals[] = {
        {"run all_reduce -N 2 --json --csv", "--json and --csv exclude each other"},
        {"demo --operation broadcast -o b", "write no files: leave out --output"},
        {"check --markdown", "check: --markdown and --verbose go with --all"},
        {"check all_reduce -N 2 --verbose", "check: --markdown and --verbose go with --all"},
        {"check --all -a ring", "check: --all excludes -a and --expand"},
        {"check --all --expand", "check: --all excludes -a and --expand"},
        {"check --all --markdown --json", "check: --markdown excludes --json and --csv"},
        {"validate all_reduce --from /dev/null --json", "--from prints no records: it reads them"},
        {"validate --published /dev/null --markdown --json",
         "--markdown prints every mode, and no records"},
        {"validate --published /dev/null -a ring", "--published measures nothing"},
        {"validate --published /dev/null --from /dev/null", "--published measures nothing"},
        {"validate --published /dev/null --records r.jsonl", "leave out --records"},
        {"plan all_reduce -N 4 -a ring",
         "plan compares all algorithms, and with -a files of schedules besides: leave out -a"},
        {"plan all_reduce -N 4 --to nccl-tuner", "only --style nccl knows"},
        {"plan all_reduce -N 4 --synthesize", "--synthesize needs a machine: --topo"},
        {"plan all_reduce -N 4 --style nccl",
         "--style nccl wants --topo with a machine's description"},
        {"plan all_reduce -N 8 --style foo", "--style \"foo\" is none of nccl, openmpi and mpich"},
        {"run all_reduce -N 2 --style foo", "--style \"foo\" is not nccl-tests"},
        {"topo generate torus 4x4 --shape 4x4",
         "topo generate: \"4x4\" and --shape both say the shape"},
        {"topo show --local topologies/crossbar-64.xml",
         "topo show --local: no file, it shows this machine"},
        {"run all_reduce --pairs '0>1' -N 2", "--pairs are for send_recv, not for all_reduce"},
        {"sim --engine price all_reduce -N 2,4",
         "one number of ranks and one algorithm at a time; sweep and validate take several"},
        {"sim --engine price all_reduce -a ring,tree -N 2",
         "one number of ranks and one algorithm at a time"},
        {"run all_reduce -N 2 -g 3 -t 2", "-g and -t make 6 ranks, which -N is not"},
    };
    EXPECT_ALL(refusals);
}

static void names_that_are_none_list_those_there_are(void)
{
    static const struct refusal refusals[] = {
        {"frobnicate", "unknown command \"frobnicate\""},
        {"topo nope", "topo: unknown verb \"nope\"; there are show, generate, import, check"},
        {"workload gen", "workload: unknown verb \"gen\"; there are sim, gpt, convert"},
        {"topo generate ringy", "topo generate: unknown kind \"ringy\"; there are crossbar"},
        {"topo generate dgx-h100 --fabric foo",
         "unknown fabric \"foo\"; there are crossbar, rail, fat-tree"},
        {"topo import x --fabric foo",
         "unknown fabric \"foo\"; there are crossbar, rail, fat-tree"},
        {"run all_reduce -N 2 -d float99",
         "unknown element type \"float99\"; did you mean float32?"},
        {"sim --engine price broadcast -a rabenseifner -N 4",
         "broadcast has no algorithm 'rabenseifner'; it has: binomial"},
        {"run all_reduce -a ring+puts -N 2",
         "all_reduce has no algorithm 'ring+puts'; it has: ring"},
        {"sim all_reduce -a NVLSTree -N 8",
         "NVLSTree is NCCL's: here hierarchical_direct_tree on a machine of `ronde topo generate"},
        {"sim all_reduce -a collnetchain -N 8", "networks that add are not modelled; or --style"},
        {"sim all_reduce -a nccl -N 8", "\"nccl\" is a library and no algorithm; --style nccl is"},
        {"sim broadcast -a OpenMPI -N 8", "--style openmpi is what it takes by itself"},
        {"demo walk", "demo: unexpected argument \"walk\""},
        {"demo -N 200", "demo: unknown option -N; see ronde demo --help"},
        {"check - -", "check: unexpected argument \"-\""},
        {"list --output ''", "list: option --output has an empty value"},
        {"sim all_reduce --topo=", "sim: option --topo has an empty value"},
    };
    EXPECT_ALL(refusals);
}

#define LOG "docs/examples/nccl-tests.log"

/* Commands that can do without a machine take nothing that is said of one, and none that would change nothing. */
static void what_would_be_ignored_is_refused(void)
{
    static const struct refusal refusals[] = {
        {"plan all_reduce -N 4 --nodes 3", "--nodes on which machine? --topo is missing"},
        {"explain " LOG " --without n0", "--without on which machine? --topo is missing"},
        {"validate --published " LOG " --nics 1", "--nics on which machine? --topo is missing"},
        {"convert all_reduce -a ring -N 4 --to ronde --degrade a=.5",
         "--degrade on which machine?"},
        {"doctor " LOG " --fabric rail", "--fabric on which machine? --topo is missing"},
        {"plan all_reduce -N 2 --topo crossbar-64 --backend cpu", "leave out --backend"},
        {"plan all_reduce -N 2 --engine flat",
         "without --topo nothing is replayed: leave out --engine"},
        {"plan all_reduce -N 8 --style nccl --topo H100-cluster01 -a Ring",
         "leave out --algorithm"},
        {"sim all_reduce -N 8 --style nccl --topo H100-cluster01 --placement packed",
         "replays nothing: leave out --placement"},
        {"sim all_reduce -N 8 --style nccl --topo H100-cluster01 --fabric rail",
         "a description has its network in it, of which all is there: leave out --fabric"},
        {"sim all_reduce -a ring -N 4 --steps --why", "shows the schedule alone: leave out --why"},
        {"sim all_reduce -a ring -N 4 --topo crossbar-64 --synthesize", "leave out --synthesize"},
        {"check --all --nccl-log nix", "check: --all has its own schedules: leave out --nccl-log"},
        {"convert tests/golden/all_reduce-ring-4.ronde --topo nix", "as it is: leave out --topo"},
        {"convert all_reduce -a ring -N 4 --backend nix", "leave out --backend"},
        {"doctor " LOG " --topo H100-cluster01 --system nix", "leave out --system"},
        {"doctor " LOG " --topo H100-cluster01 --fabric nix", "unknown fabric \"nix\"; there are"},
        {"sweep all_reduce -N 4 --topo crossbar-64 --engine nix",
         "unknown engine \"nix\"; there are"},
        {"validate --published " LOG " --iters 3", "measures nothing, and takes all sizes of its"},
        {"validate --published docs/examples/mpi-fugaku-8.csv --topo crossbar-64 --system nix",
         "leave out --system"},
        {"validate all_reduce --from /dev/null -N 3", "--from sums up what its file has"},
        {"validate all_reduce --replay --topo crossbar-64",
         "--published is missing: leave out --replay"},
        {"run all_reduce -a ring -N 2 --topo nix", "--topo nix changes nothing here"},
        {"run tests/golden/all_reduce-ring-4.ronde --topo nix", "--topo nix changes nothing here"},
    };
    EXPECT_ALL(refusals);
}

static void values_that_are_none_say_what_one_looks_like(void)
{
    static const struct refusal refusals[] = {
        {"run all_reduce -N 0", "ranks 0 is outside 1 .. 1048576"},
        {"run all_reduce -N 4..2",
         "ranks 4..2: a range ascends and all of -N has at most 1024 numbers"},
        {"sweep all_reduce -N 1..2000",
         "ranks 1..2000: a range ascends and all of -N has at most 1024"},
        {"run all_reduce -N 2 --slot 8", "slot 8 is less than 16 bytes"},
        {"run send_recv -N 2 --pairs 0-1", "pairs: \"0-1\" is not source>destination, e.g. 0>1"},
        {"run send_recv -N 2 --pairs '0>x'", "pairs: rank \"x\" is not a whole number"},
        {"run send_recv -N 2 --pairs 'x>0'", "pairs: rank \"x\" is not a whole number"},
    };
    EXPECT_ALL(refusals);
}

/* Processes: who starts whom. */
static void launches_that_cannot_be_are_refused(void)
{
    static const struct refusal refusals[] = {
        {"run all_reduce -N 2 --launcher ssh",
         "--launcher starts processes on hosts: --hosts is missing"},
        {"run all_reduce -N 2 --hosts 'a b;c'",
         "--hosts: argument \"a b;c\" contains characters the remote shell would change"},
        {"run all_reduce -N 100000 --backend proc",
         "100000 ranks as processes of one machine are more than 1024; the variable "
         "RONDE_MAX_PROCESSES"},
        {"tune --backend host", "host has no clock: it takes what cpu would; try --backend cpu"},
        {"tune --backend null", "null moves no data: its times say nothing about algorithms"},
    };
    EXPECT_ALL(refusals);
}

#define GOLDEN "tests/golden/all_reduce-ring-4.ronde"

static void conversions_name_their_format_once(void)
{
    static const struct refusal refusals[] = {
        {"convert " GOLDEN " out.foo", "convert into which format?"},
        {"convert " GOLDEN " --to ronde --dialect rccl", "--dialect is for MSCCL files"},
        {"convert " GOLDEN " --to msccl --dialect nope",
         "unknown dialect \"nope\"; there are msccl, rccl"},
        {"convert " GOLDEN " b.ronde --output c.ronde",
         "two outputs: b.ronde and --output c.ronde"},
        {"check " GOLDEN " -N 7", "all_reduce-ring-4.ronde is for 4 ranks: leave out -N"},
        {"check " GOLDEN " -a ring",
         "all_reduce-ring-4.ronde is a schedule, which has its algorithm, root, shape"},
    };
    EXPECT_ALL(refusals);
}

#define ON " --topo topologies/crossbar-64.xml"

static void requests_a_machine_cannot_meet_are_refused(void)
{
    static const struct refusal refusals[] = {
        {"plan -N 4" ON, "which collective? `ronde list` names them"},
        {"plan -N 4 --to foo --style nccl" ON, "--to \"foo\" is not nccl-tuner"},
        {"synthesize scatter -N 4" ON, "scatter is not made of trees; all_gather, reduce_scatter"},
        {"synthesize all_gather -N 1" ON, "1 rank: a tree joins at least 2"},
        {"synthesize all_gather -N 65" ON, "crossbar-64.xml: 65 ranks on 64 hosts"},
        {"sim all_reduce -a ring -N 4 --degrade a" ON,
         "--degrade: \"a\" is not LINK=FACTOR, e.g. nic0=0.5"},
        {"sim all_reduce -a ring -N 4 --background x" ON,
         "--background: \"x\" is not S>D:SIZE, e.g. 0>4:1M"},
        {"sim all_reduce -a ring -N 4 --with x" ON,
         "--with: \"x\" is neither COLLECTIVE:ALGORITHM:SIZE[:HOSTS] nor"},
        {"sweep all_reduce --resume" ON, "--resume needs --output, the file to go on with"},
    };
    if (suite_can_read_platforms())
        EXPECT_ALL(refusals);
}

/* Whatever is refused, --help of the same command is not, and the streams are not mixed up. */
static void help_is_an_answer_and_a_refusal_is_none(void)
{
    static const char *const commands[] = {"run",           "sim",          "plan",   "check",
                                           "topo generate", "workload gpt", "doctor", "tune",
                                           "convert",       "demo"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char arguments[64];
        int code = 0;
        snprintf(arguments, sizeof arguments, "%s --help", commands[i]);
        char *help = run(arguments, "2>/dev/null", &code);
        CU_ASSERT_EQUAL(code, 0);
        CU_ASSERT(strlen(help) > 200);
        free(help);
        snprintf(arguments, sizeof arguments, "%s --no-such-option", commands[i]);
        char *answer = run(arguments, "2>/dev/null", &code);
        CU_ASSERT_EQUAL(code, 2);
        CU_ASSERT_STRING_EQUAL(answer, "");
        free(answer);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_missing_is_named", what_is_missing_is_named},
        {"what_would_be_ignored_is_refused", what_would_be_ignored_is_refused},
        {"grids_are_of_a_machine", grids_are_of_a_machine},
        {"what_excludes_one_another_is_said", what_excludes_one_another_is_said},
        {"names_that_are_none_list_those_there_are", names_that_are_none_list_those_there_are},
        {"values_that_are_none_say_what_one_looks_like",
         values_that_are_none_say_what_one_looks_like},
        {"launches_that_cannot_be_are_refused", launches_that_cannot_be_are_refused},
        {"conversions_name_their_format_once", conversions_name_their_format_once},
        {"requests_a_machine_cannot_meet_are_refused", requests_a_machine_cannot_meet_are_refused},
        {"help_is_an_answer_and_a_refusal_is_none", help_is_an_answer_and_a_refusal_is_none},
    };
    return suite_run("refusals", cases, sizeof cases / sizeof cases[0]);
}
