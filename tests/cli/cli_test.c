/* The `ronde` command as a user meets it: exit codes, one-line errors, machine-readable output. */
#include "support/suite.h"

#include "support/built_with.h"

#include "ronde/backend.h"
#include "ronde/collective.h"
#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/msccl.h"
#include "ronde/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What runs in every build, and the real thing where there is one. */
#if RONDE_ALL_COMPONENTS
#define BACKEND "cpu"
#else
#define BACKEND "host"
#endif

#define TEXT_BYTES 65536
#define COMMAND_BYTES 4096

/* What a command did. */
struct outcome {
    int code;              /* exit code; -1 when it died of a signal */
    char text[TEXT_BYTES]; /* stdout, or stderr where asked for */
};

/* Runs `ronde ARGUMENTS` under `before` (variables, or ""), keeping one of its two streams. */
static struct outcome run_with(const char *before, const char *arguments, bool keeps_errors)
{
    static struct outcome outcome;
    char command[COMMAND_BYTES];
    outcome = (struct outcome){.code = -1};
    const int length = snprintf(command, sizeof command, "%s \"%s\" %s %s", before, suite_ronde(),
                                arguments, keeps_errors ? "2>&1 >/dev/null" : "2>/dev/null");
    CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof command);
    FILE *pipe = popen(command, "r");
    CU_ASSERT_FATAL(pipe != NULL);
    const size_t bytes = fread(outcome.text, 1, sizeof outcome.text - 1, pipe);
    outcome.text[bytes] = '\0';
    const int status = pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

static struct outcome run(const char *arguments)
{
    return run_with("", arguments, false);
}

static void expect(const char *arguments, int code, const char *part)
{
    const struct outcome outcome = run(arguments);
    CU_ASSERT(outcome.code == code);
    CU_ASSERT(strstr(outcome.text, part) != NULL);
    if (outcome.code != code || !strstr(outcome.text, part))
        suite_note("ronde %s: exit %d, %.200s", arguments, outcome.code, outcome.text);
}

/* A refusal is one line on stderr that begins with the program's name. */
static void expect_refusal(const char *arguments, int code, const char *part)
{
    const struct outcome outcome = run_with("", arguments, true);
    const char *end = strchr(outcome.text, '\n');
    CU_ASSERT(outcome.code == code);
    CU_ASSERT(strncmp(outcome.text, "ronde: ", 7) == 0);
    CU_ASSERT(end != NULL && end[1] == '\0');
    CU_ASSERT(strstr(outcome.text, part) != NULL);
    if (outcome.code != code || !strstr(outcome.text, part))
        suite_note("ronde %s: exit %d, %.200s", arguments, outcome.code, outcome.text);
}

static void write_scratch(char *path, size_t bytes, const char *name, const char *text)
{
    const int length = snprintf(path, bytes, "%s/%s", RONDE_SCRATCH_DIR, name);
    CU_ASSERT_FATAL(length > 0 && (size_t)length < bytes);
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void help_and_version_are_on_stdout(void)
{
    expect("--version", 0, "ronde 0.");
    expect("--help", 0, "Exit codes:");
    expect("help", 0, "Exit codes:");
    expect("help run", 0, "--minbytes=SIZE");
    expect("run --help", 0, "Examples:");
    expect("run -h", 0, "Examples:");
    CU_ASSERT(run_with("", "", true).code == 2);
}

static void unknown_names_suggest_the_nearest(void)
{
    expect_refusal("lst", 2, "did you mean list?");
    expect_refusal("frobnicate", 2, "unknown command");
    expect_refusal("help frobnicate", 2, "unknown command");
    expect_refusal("run all_reduc -N 2", 2, "did you mean all_reduce?");
    expect_refusal("run nothing -N 2", 2, "unknown collective");
    expect_refusal("run all_reduce -a rng -N 2", 2, "did you mean ring?");
    expect_refusal("run all_reduce -a zzzzzz -N 2", 2, "zzzzzz");
    expect_refusal("run all_reduce -N 2 --itres 3", 2, "did you mean --iters?");
    expect_refusal("run all_reduce -N 2 --backend gpu", 2, "gpu");
    expect_refusal("run all_reduce -N 2 -d flot32", 2, "did you mean float32?");
    expect_refusal("run all_reduce -N 2 -o summ", 2, "did you mean sum?");
}

static void impossible_ranks_are_refused(void)
{
    static const char *const numbers[] = {
        "0", "-1", "1048577", "1.5", "x", "\"\"", "99999999999999999999"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "check all_reduce -a ring -N %s", numbers[i]);
        expect_refusal(arguments, 2, "ranks");
    }
    expect_refusal("check all_reduce -a ring -N", 2, "option -N needs a value");
    expect_refusal("check nothing", 2, "unknown collective");
    expect_refusal("convert broadcast -a binomial -N 4 -r 4", 2, "root 4");
}

static void one_rank_works(void)
{
    expect("check all_reduce -a ring -N 1", 0, "proved");
    expect("run all_reduce -a ring -N 1 --backend host -b 64 -e 64 -n 1 -w 0", 0, "OK");
    expect("run all_reduce -a ring -N 2 --backend host -b 64 -e 64 -n 1 -w 3", 0,
           "# 3 warm-ups, 1 ");
    expect("run all_reduce -a ring -N 2 --backend host -b 64 -e 64 -n 1", 0,
           "# warm-up until stable, 5 to 1000 runs, 1 iterations");
    expect("run all_reduce -a ring -N 2 --backend host -b 64 -e 64 -n 1", 0, "# Warm-up runs  ");
}

static void as_many_runs_are_measured_as_are_asked_for(void)
{
    expect("run all_reduce -N 2 -b 8 -e 8 -n 1234 -c 0 --backend host --csv", 0, ",1234,");
    expect_refusal("run all_reduce -N 2 -b 8 -e 8 -n 0", 2, "iters 0");
}

static void check_tells_the_account(void)
{
    expect("check all_reduce -a ring -N 4", 0, "minimum depth  2");
    expect("check all_reduce -a ring -N 4", 0, "1.5 blocks by the busiest rank");
    expect("check all_reduce -a ring -N 4", 0, "v-form         none\n");
    expect("check all_gather -a bruck -N 8", 0, "v-form         known_to_all\n");
    expect("check all_to_all -a bruck -N 8", 0, "v-form         none\n");
    expect("check all_to_all -a pairwise -N 8", 0, "v-form         direct\n");
    expect("list", 0, "  bruck                    known_to_all  ");
    expect("list", 0, "  pairwise                 direct        ");
    expect("check --all -N 2..5", 0, " 0 rejected");
    expect("check --all all_reduce -N 4", 0, "recursive_doubling");
    expect("check all_reduce -a ring -N 8 --expand", 0, "every rank's steps");
}

static void compiled_text_is_read_back(void)
{
    char arguments[COMMAND_BYTES], path[COMMAND_BYTES / 2];
    write_scratch(path, sizeof path, "cli_ring.ronde", "");
    snprintf(arguments, sizeof arguments, "convert all_reduce -a ring -N 4 -o \"%s\"", path);
    CU_ASSERT(run(arguments).code == 0);
    snprintf(arguments, sizeof arguments, "check \"%s\"", path);
    expect(arguments, 0, "all_reduce ring on 4 ranks: proved");
}

#define GIVEN "\"" RONDE_SOURCE_DIR "/docs/examples/two_nodes.ronde\""

/* What a user wrote goes through everything that ours go through. */
static void given_schedules_run_and_are_replayed(void)
{
    expect("convert " GIVEN, 0, "algorithm two_nodes\n");
    expect("run " GIVEN " --backend host -b 8 -e 4K -n 1 -w 0", 0, "0 OK");
    expect("run " GIVEN " --backend " BACKEND " -b 8 -e 4K -n 1 -w 0 -o max", 0, "0 OK");
    expect_refusal("run " GIVEN " -N 5", 2, "two_nodes.ronde is for 4 ranks: leave out -N");
    expect_refusal("run " GIVEN " -a ring", 2, "two_nodes.ronde is a schedule");
    expect_refusal("check " GIVEN " --channels 2", 2, "leave out -a, -r, --shape, --channels");
    if (!RONDE_ALL_COMPONENTS) {
        suite_skip("built without libxml2 or SimGrid");
        return;
    }
    /* A formula belongs to an algorithm of ours; the longest path is anybody's. */
    expect("sim " GIVEN " --topo crossbar-64 -b 1000000 -e 1000000 --engine simgrid --csv", 0,
           ",two_nodes,4,");
    expect("sim " GIVEN " --topo crossbar-64 -b 1M -e 1M --placement scattered,auto", 0,
           "flat scattered\n");
    expect("sim --engine price " GIVEN " --topo crossbar-64 -b 1M -e 1M", 0, "        dag ");
    CU_ASSERT(
        !strstr(run("sim --engine price " GIVEN " --topo crossbar-64 -e 8").text, "closed_form"));
    expect_refusal("sim " GIVEN " -N 8 --topo crossbar-64", 2, "leave out -N");
}

static void shapes_imply_the_ranks(void)
{
    expect("check all_reduce -a hierarchical --shape 4x8", 0, "hierarchical on 32 ranks: proved");
    expect("check all_reduce -a torus --shape 2x3x4", 0, "torus on 24 ranks: proved");
    expect("convert all_reduce -a torus --shape 3x2", 0, "shape 3 2\n");
    expect("run all_reduce -a torus --shape 2x3 --backend host -b 64 -e 64 -n 1 -w 0", 0, "0 OK");
    expect_refusal("check all_reduce -a torus --shape 4x8 -N 31", 2, "32 ranks, not of 31");
    expect_refusal("check all_reduce -a torus --shape 4x0", 2, "digit 0 is outside");
    expect_refusal("check all_reduce -a torus --shape 4x", 2, "digit \"\"");
    expect_refusal("check all_reduce -a torus --shape 1x2x1x2x1", 2, "more than 4 digits");
    expect_refusal("check all_reduce -a torus --shape 2048x1024", 2, "more than 1048576 ranks");
    expect_refusal("check all_reduce -a hierarchical --shape 2x2x2", 2, "2 digits");
}

static void pairs_say_who_sends_to_whom(void)
{
    expect("convert send_recv -N 4 --pairs '0>1,2>3'", 0, "pairs 0 -> 1 2 -> 3");
    expect("run send_recv -N 5 --pairs '0>1,0>2,4>0' --backend host -b 64 -e 64 -n 1 -w 0", 0,
           "0 OK");
    expect("run send_recv -N 5 --pairs '3>1,1>3' --backend " BACKEND " -b 64 -e 4K -n 1 -w 0", 0,
           "0 OK");
    expect_refusal("check send_recv -N 4 --pairs '0>1,2>1'", 2, "rank 1 receives from 0 already");
    expect_refusal("check send_recv -N 4 --pairs '0>4'", 2, "name rank 4, there are 4 ranks");
    expect_refusal("check send_recv -N 4 --pairs 0,1", 2, "\"0\" is not source>destination");
    expect_refusal("check send_recv -N 4 --pairs '0>'", 2, "pairs: rank \"\"");
    expect_refusal("check send_recv -N 4 --pairs '0>4096'", 2, "4096 is outside 0 .. 4095");
    expect_refusal("check send_recv -N 5000 --pairs '0>1'", 2, "5000 ranks, at most 4096");
    expect_refusal("check all_gather -N 4 --pairs '0>1'", 2, "for send_recv, not for all_gather");
}

static void survey_options_stand_together_or_not_at_all(void)
{
    expect_refusal("check all_reduce -N 4 --markdown", 2, "go with --all");
    expect_refusal("check all_reduce -N 4 --verbose", 2, "go with --all");
    expect_refusal("check --all -a ring", 2, "--all excludes -a");
    expect_refusal("check --all --expand", 2, "--all excludes -a and --expand");
    expect_refusal("check --all --markdown --csv", 2, "--markdown excludes");
    expect_refusal("check --all nothing", 2, "unknown collective");
    expect_refusal("check --all -N 2,3 -r 2", 2, "root 2 is not below 2 ranks");
}

/* Everybody keeps its own input: well-formed, and not the sum. */
static void a_wrong_schedule_is_rejected_with_exit_1(void)
{
    static const char wrong[] = "ronde 1\ncollective all_reduce\nalgorithm wrong\nranks 2\n"
                                "chunks 2\nrotate in out\n\nprogram 0\n"
                                "    copy in[0] out[0]\n    copy in[1] out[1]\n";
    char arguments[COMMAND_BYTES], path[COMMAND_BYTES / 2];
    write_scratch(path, sizeof path, "cli_wrong.ronde", wrong);
    snprintf(arguments, sizeof arguments, "check \"%s\"", path);
    expect(arguments, 1, "REJECTED");
    expect(arguments, 1, "wrong_value");
}

static void unreadable_schedules_name_file_and_line(void)
{
    char arguments[COMMAND_BYTES], path[COMMAND_BYTES / 2];
    write_scratch(path, sizeof path, "cli_bad.ronde", "ronde 1\ncollective nothing\n");
    snprintf(arguments, sizeof arguments, "check \"%s\"", path);
    expect_refusal(arguments, 2, "cli_bad.ronde:2: ");
    expect_refusal("check no/such.ronde", 2, "no/such.ronde: cannot be read: No such file");
    expect_refusal("check /", 2, "not a regular file");
    write_scratch(path, sizeof path, "cli_empty.ronde", "");
    snprintf(arguments, sizeof arguments, "check \"%s\"", path);
    expect_refusal(arguments, 2, "cli_empty.ronde");
}

static void null_is_measured_and_nothing_is_checked(void)
{
    expect("run all_reduce -N 3 --backend null -b 300 -e 300 -n 1 -w 0", 0,
           "# Not checked (no data is moved)");
    expect("run all_reduce -N 3 -a ring --backend null -b 300 -e 300 -n 1 -w 0", 0,
           "checked against nothing: no data is moved");
    expect_refusal("demo --backend null", 2, "there is no result to show");
    /* A build without SimGrid or libxml2 refuses the file before. */
    if (RONDE_ALL_COMPONENTS)
        expect_refusal("validate all_reduce -a ring -N 2 --backend null --topo crossbar-64", 2,
                       "its times say nothing about a machine");
}

/* All rows of the registry, so that a new one is listed and named wherever people look. */
static void every_executor_is_listed_and_named_by_help(void)
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        char line[64];
        snprintf(line, sizeof line, "\n  %-24s ", executors[e].name);
        expect("list", 0, line);
        expect("run --help", 0, executors[e].name);
        expect_refusal("run all_reduce -N 2 --backend abacus", 2, executors[e].name);
    }
}

/* Every type with every operator, on host against the definition and on the real thing against host. */
static void every_type_and_operator_comes_out_right(void)
{
    static const char *const backends[] = {"host", BACKEND};
    for (uint32_t d = 0; d < RONDE_DTYPE_COUNT; d++)
        for (uint32_t o = 0; o < RONDE_OP_COUNT; o++)
            for (size_t b = 0; b < 2; b++) {
                char arguments[256];
                if (suite_is_sample() && (d + o + b) % 4 != 0)
                    continue;
                snprintf(arguments, sizeof arguments,
                         "run all_reduce -N 3 -d %s -o %s --backend %s -b 300 -e 300 -n 1 -w 0",
                         ronde_dtype_text((enum ronde_dtype)d), ronde_op_text((enum ronde_op)o),
                         backends[b]);
                const char *refusal = ronde_op_refusal((enum ronde_op)o, (enum ronde_dtype)d);
                if (refusal)
                    expect_refusal(arguments, 2, refusal);
                else
                    expect(arguments, 0, "# Out of bounds values : 0 OK");
            }
    expect_refusal("run all_reduce -N 3 -d zzzzzzzzzzzz", 2, "float8_e5m2, bool, int16, uint16");
    expect_refusal("run all_reduce -N 3 -o qqqqqqqqqqqq", 2, "premul_sum, band, bor, bxor");
    expect("run all_gather -N 3 -d bool --backend host -b 300 -e 300 -n 1 -w 0", 0, "0 OK");
    expect("run all_reduce -N 3 -d short -o product --backend host -e 8 -n 1 -w 0", 0, "int16");
    expect_refusal("run broadcast -N 3 -o avg --backend host -e 8", 2, "broadcast reduces nothing");
}

/* Where in place would overwrite what is still to be sent there is no such column. */
static void collectives_without_a_form_in_place_run_out_of_place(void)
{
    expect("run all_to_all -N 3 --backend " BACKEND " -b 64 -e 64 -n 1 -w 0 | grep -c float32", 0,
           "1\n");
    expect("run all_to_all -N 3 --backend host -b 64 -e 64 -n 1 -w 0", 0, "0 OK");
    const struct outcome outcome =
        run("run send_recv -N 3 --backend host -b 64 -e 64 -n 1 -w 0 --csv");
    CU_ASSERT(strstr(outcome.text, ",false,") != NULL && !strstr(outcome.text, ",true,"));
}

static void run_checks_against_host(void)
{
    expect("run all_reduce -N 2 --backend host -b 64 -e 64 -n 1 -w 0", 0,
           "checked against the collective's definition");
    expect("run all_reduce -a tree -N 3 --backend " BACKEND " -b 8 -e 4K -f 8 -n 3 -w 1", 0,
           "# Out of bounds values : 0 OK");
    expect("run all_gather -N 3 --backend " BACKEND " -b 8 -e 4K -f 8 -n 2 -w 0 -d uint8", 0,
           "uint8");
    expect("run reduce_scatter -N 4 --backend " BACKEND " -b 8 -e 4K -n 2 -w 0 -d double -o prod",
           0, "prod");
    expect("run broadcast -N 5 -r 3 --backend " BACKEND " -b 1K -e 1K -n 2 -w 0", 0,
           "# Avg bus bandwidth");
}

static void platform_files_that_cannot_be_used_are_refused(void)
{
    char arguments[COMMAND_BYTES], path[COMMAND_BYTES / 2];
    if (!RONDE_ALL_COMPONENTS) {
        suite_skip("built without libxml2 or SimGrid");
        return;
    }
    expect_refusal("sim all_reduce -N 4", 2, "--topo is missing");
    expect_refusal("sim all_reduce -N 4 --topo no/such.xml", 2, "no/such.xml");
    write_scratch(path, sizeof path, "cli_bad.xml", "not XML at all\n");
    snprintf(arguments, sizeof arguments, "sim all_reduce -N 4 --topo \"%s\"", path);
    expect_refusal(arguments, 2, "cli_bad.xml:1: ");
    write_scratch(path, sizeof path, "cli_other.xml", "<?xml version=\"1.0\"?>\n<other/>\n");
    expect_refusal(arguments, 2, "cli_bad.xml:1: ");
    snprintf(arguments, sizeof arguments, "sim --engine price all_reduce -N 4 --topo \"%s\"", path);
    expect_refusal(arguments, 2, "cli_other.xml:2: ");
    expect_refusal("sim all_reduce -a ring -N 65 --topo crossbar-64", 2, "64 hosts");
    expect_refusal("sim all_reduce -a ring -N 4 --topo crossbar-64 --engine magic -e 8", 2,
                   "unknown engine");
}

static void engines_agree_on_a_crossbar(void)
{
    char flat[TEXT_BYTES], simgrid[TEXT_BYTES];
    if (!RONDE_ALL_COMPONENTS) {
        suite_skip("built without libxml2 or SimGrid");
        return;
    }
    const char *arguments = "sim all_reduce -a ring -N 8 --topo crossbar-64 -b 1M -e 1M --csv";
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command, "%s --engine flat | tail -1 | cut -d, -f15", arguments);
    strcpy(flat, run(command).text);
    snprintf(command, sizeof command, "%s --engine simgrid | tail -1 | cut -d, -f15", arguments);
    strcpy(simgrid, run(command).text);
    const double a = strtod(flat, NULL), b = strtod(simgrid, NULL);
    CU_ASSERT(a > 0.0);
    CU_ASSERT(b > a * (1.0 - 1e-9) && b < a * (1.0 + 1e-9));
}

static void records_are_one_json_object_per_line(void)
{
    if (!RONDE_ALL_COMPONENTS) {
        suite_skip("built without jansson");
        return;
    }
    const struct outcome outcome =
        run("run all_reduce -a ring -N 2 --backend host -b 8 -e 32 -n 1 -w 0 --json");
    size_t lines = 0;
    CU_ASSERT(outcome.code == 0);
    for (const char *at = outcome.text; *at; at = strchr(at, '\n') + 1) {
        CU_ASSERT(strncmp(at, "{\"kind\": \"measured\", \"engine\": \"host\"", 37) == 0);
        CU_ASSERT_FATAL(strchr(at, '\n') != NULL);
        lines++;
    }
    /* Two sizes, out of place and in place. */
    CU_ASSERT(lines == 4);
    expect("check all_reduce -a ring -N 4 --json", 0,
           "{\"ok\": true, \"collective\": \"all_reduce\", \"algorithm\": \"ring\", \"ranks\": 4, "
           "\"min_depth\": 2, ");
    expect("check all_gather -a ring -N 4 --json", 0,
           "\"quotient\": true, \"v_form\": \"known_to_all\", \"received_max\": 3.0, "
           "\"received_bound\": 3.0, \"errors\": []}");
    expect("list --json", 0, "\"name\": \"ring\", \"available\": true");
    expect("list --json", 0, "\"v_form\": \"known_to_all\"}");
}

static void csv_has_one_header(void)
{
    const struct outcome outcome =
        run("run all_reduce -a ring -N 2 --backend host -b 8 -e 32 -n 1 -w 0 --csv");
    CU_ASSERT(strncmp(outcome.text, "kind,engine,", 12) == 0);
    CU_ASSERT(strstr(outcome.text + 1, "kind,engine,") == NULL);
}

static void a_plot_without_gnuplot_is_a_missing_component(void)
{
    if (!RONDE_ALL_COMPONENTS) {
        suite_skip("built without libxml2 or SimGrid");
        return;
    }
    const struct outcome outcome =
        run_with("PATH=/nonexistent",
                 "validate all_reduce -a ring -N 2 -e 8 --topo crossbar-64 --plot x.svg", true);
    CU_ASSERT(outcome.code == 3);
    CU_ASSERT(strstr(outcome.text, "gnuplot-nox") != NULL);
    const struct outcome list = run_with("PATH=/nonexistent", "list", false);
    CU_ASSERT(list.code == 0);
    CU_ASSERT(strstr(list.text, "gnuplot-nox") != NULL);
}

/* A stored run is summed up and drawn again: the same points, and no measurement. */
static void validate_draws_an_earlier_run_again(void)
{
    char path[512], arguments[1024];
    CU_ASSERT_TRUE_FATAL(suite_source(path, sizeof path, "docs/results/cpu-validate.jsonl"));
    snprintf(arguments, sizeof arguments, "validate all_reduce --from %s", path);
    if (run(arguments).code == 3) {
        suite_skip("no JSON is read here");
        return;
    }
    expect(arguments, 0, "96 points: median  15.1%  p95  39.4%  worst  49.6% (double_tree, 4 ranks");
    snprintf(arguments, sizeof arguments, "validate --from %s", path);
    expect_refusal(arguments, 2, "of which collective");
    snprintf(arguments, sizeof arguments, "validate barrier --from %s", path);
    expect_refusal(arguments, 2, "no times of barrier");
    snprintf(arguments, sizeof arguments, "validate all_reduce --json --from %s", path);
    expect_refusal(arguments, 2, "prints no records");
    expect_refusal("validate all_reduce --from /nowhere.jsonl", 2, "cannot be read");
}

static void validate_sums_up_what_it_measured(void)
{
    char arguments[COMMAND_BYTES], path[COMMAND_BYTES / 2];
    if (!RONDE_ALL_COMPONENTS) {
        suite_skip("built without libxml2 or SimGrid");
        return;
    }
    write_scratch(path, sizeof path, "cli_records.jsonl", "");
    snprintf(arguments, sizeof arguments,
             "validate all_reduce -a ring,tree -N 2 -b 64 -e 64 --topo crossbar-64");
    expect(arguments, 0, "# errors, |predicted - measured| / measured");
    expect(arguments, 0, "# ring or tree, 2 ranks");
    snprintf(arguments, sizeof arguments,
             "validate all_reduce -a ring,tree -N 2 -b 64 -e 64 --topo crossbar-64 --json "
             "--output \"%s\"",
             path);
    CU_ASSERT(run(arguments).code == 0);
    char line[4096];
    size_t lines = 0;
    FILE *file = fopen(path, "r");
    CU_ASSERT_FATAL(file != NULL);
    while (fgets(line, sizeof line, file))
        lines++;
    fclose(file);
    /* Measured, replayed and priced, twice; of both predictions the score of the pair, and the sum. */
    CU_ASSERT(lines == 6 + 4);
    /* Algorithms that serve all numbers of ranks, where none is named. */
    const struct outcome all = run("validate all_gather -N 2,3 -b 64 -e 64 --topo crossbar-64");
    CU_ASSERT(all.code == 0);
    CU_ASSERT(strstr(all.text, " bruck ") != NULL);
    expect_refusal("validate --topo crossbar-64", 2, "a collective is needed");
}

static void outputs_that_cannot_be_written_are_refused(void)
{
    expect_refusal("convert all_reduce -a ring -N 2 -o /no/such/dir/x", 2, "cannot be written");
    expect_refusal("list --output /no/such/dir/x", 2, "cannot be written");
}

/* MSCCL files stand where schedules do, and convert writes them. */
#define PAIRS "\"" RONDE_SOURCE_DIR "/tests/data/msccl/pairs-all_reduce.xml\""
#define CHAIN "\"" RONDE_SOURCE_DIR "/tests/data/msccl/chain-broadcast.xml\""

static void schedules_of_others_are_taken(void)
{
    const char *reason;
    if (!ronde_msccl_available(&reason)) {
        suite_skip("no MSCCL file can be read: %s", reason);
        expect_refusal("check " PAIRS, 3, "install libxml2-dev");
        return;
    }
    expect("check " PAIRS, 0, "all_reduce pairs on 3 ranks: proved");
    expect("check " PAIRS, 0, "protocol LL, 9 threadblocks, 27 steps, 9 of them nops");
    expect("convert " PAIRS, 0, "placement in_place\n");
    expect("run " PAIRS " --backend host -b 64 -e 4K -n 1 -w 0", 0, "# Out of bounds values : 0 OK");
    expect("run " CHAIN " --backend host -b 64 -e 4K -n 1 -w 0", 0, "# Out of bounds values : 0 OK");
    expect_refusal("check " PAIRS " -N 4", 2, "pairs-all_reduce.xml is for 3 ranks: leave out -N");
    expect_refusal("run " PAIRS " --backend host -b 64 -e 64 -n 1 -w 0 -o avg", 2,
                   "does not say which operands are to be scaled");
}

/* The same bits as host's, in threads and in processes. */
static void schedules_of_others_run_everywhere(void)
{
    const char *reason;
    struct ronde_machine machine;
    struct ronde_error why = {0};
    if (!ronde_msccl_available(&reason)) {
        suite_skip("no MSCCL file can be read: %s", reason);
        return;
    }
    if (ronde_backend_cpu.probe(&machine, &why) != RONDE_OK) {
        suite_skip("%s", why.message);
        return;
    }
    expect("run " PAIRS " --backend cpu -b 64 -e 16K -n 1 -w 0", 0, "# Out of bounds values : 0 OK");
    expect("run " PAIRS " --backend proc -b 64 -e 16K -n 1 -w 0", 0,
           "# Out of bounds values : 0 OK");
    expect("run " CHAIN " --backend proc -b 64 -e 16K -n 1 -w 0", 0,
           "# Out of bounds values : 0 OK");
    expect("sim " PAIRS " -b 64K -e 64K --topo crossbar-64", 0, "all_reduce pairs, 3 ranks");
    expect("sim --engine price " PAIRS " -b 64K -e 64K --topo crossbar-64", 0,
           "all_reduce pairs, 3 ranks");
    const char *version = NULL;
    if (ronde_sim_simgrid_available(&version))
        expect("sim " PAIRS " -b 64K -e 64K --topo crossbar-64 --engine simgrid", 0, "simgrid");
}

static void schedules_are_converted(void)
{
    char arguments[512];
    const char *reason;
    const bool is_read = ronde_msccl_available(&reason);
    snprintf(arguments, sizeof arguments, "convert all_reduce -a ring -N 4 \"%s/ring.xml\"",
             RONDE_SCRATCH_DIR);
    expect(arguments, 0, "");
    if (is_read) {
        snprintf(arguments, sizeof arguments, "check \"%s/ring.xml\"", RONDE_SCRATCH_DIR);
        expect(arguments, 0, "all_reduce ring on 4 ranks: proved");
        expect("convert " PAIRS " --to ronde", 0, "ronde 1\ncollective all_reduce\n");
    }
    expect("convert reduce_scatter -a ring -N 3 --to msccl --dialect rccl", 0,
           "coll=\"reducescatter\"");
    expect("convert all_reduce -a ring -N 4", 0, "algorithm ring\n");
    expect_refusal("convert all_reduce -a ring -N 4 --to gaol", 2, "unknown format \"gaol\"");
    expect_refusal("convert all_reduce -N 4 --to msccl --dialect nccl", 2, "unknown dialect");
    expect_refusal("convert all_reduce -N 4 --to ronde --dialect rccl", 2, "is for MSCCL files");
    expect_refusal("convert all_reduce -N 4 a.xml -o b.xml", 2, "two outputs");
    expect_refusal("convert barrier -N 4 --to msccl", 2, "the format has no such collective");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"help_and_version_are_on_stdout", help_and_version_are_on_stdout},
        {"unknown_names_suggest_the_nearest", unknown_names_suggest_the_nearest},
        {"impossible_ranks_are_refused", impossible_ranks_are_refused},
        {"one_rank_works", one_rank_works},
        {"as_many_runs_are_measured_as_are_asked_for", as_many_runs_are_measured_as_are_asked_for},
        {"check_tells_the_account", check_tells_the_account},
        {"given_schedules_run_and_are_replayed", given_schedules_run_and_are_replayed},
        {"shapes_imply_the_ranks", shapes_imply_the_ranks},
        {"pairs_say_who_sends_to_whom", pairs_say_who_sends_to_whom},
        {"survey_options_stand_together_or_not_at_all", survey_options_stand_together_or_not_at_all},
        {"compiled_text_is_read_back", compiled_text_is_read_back},
        {"a_wrong_schedule_is_rejected_with_exit_1", a_wrong_schedule_is_rejected_with_exit_1},
        {"unreadable_schedules_name_file_and_line", unreadable_schedules_name_file_and_line},
        {"run_checks_against_host", run_checks_against_host},
        {"null_is_measured_and_nothing_is_checked", null_is_measured_and_nothing_is_checked},
        {"every_executor_is_listed_and_named_by_help", every_executor_is_listed_and_named_by_help},
        {"every_type_and_operator_comes_out_right", every_type_and_operator_comes_out_right},
        {"collectives_without_a_form_in_place_run_out_of_place",
         collectives_without_a_form_in_place_run_out_of_place},
        {"platform_files_that_cannot_be_used_are_refused",
         platform_files_that_cannot_be_used_are_refused},
        {"engines_agree_on_a_crossbar", engines_agree_on_a_crossbar},
        {"records_are_one_json_object_per_line", records_are_one_json_object_per_line},
        {"csv_has_one_header", csv_has_one_header},
        {"a_plot_without_gnuplot_is_a_missing_component",
         a_plot_without_gnuplot_is_a_missing_component},
        {"validate_draws_an_earlier_run_again", validate_draws_an_earlier_run_again},
        {"validate_sums_up_what_it_measured", validate_sums_up_what_it_measured},
        {"outputs_that_cannot_be_written_are_refused", outputs_that_cannot_be_written_are_refused},
        {"schedules_of_others_are_taken", schedules_of_others_are_taken},
        {"schedules_of_others_run_everywhere", schedules_of_others_run_everywhere},
        {"schedules_are_converted", schedules_are_converted},
    };
    return suite_run("cli", cases, sizeof cases / sizeof cases[0]);
}
