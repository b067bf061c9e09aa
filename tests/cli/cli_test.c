/* The `ronde` command as a user meets it: exit codes, one-line errors, machine-readable output. */
#include "support/files.h"
#include "support/said.h"
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

/* What runs in every build, and the real thing where there is one. */
#if RONDE_ALL_COMPONENTS
#define BACKEND "cpu"
#else
#define BACKEND "host"
#endif

/* A file of this test, as a path and as a word of a command. */
#define PATH(name) RONDE_SCRATCH_DIR "/cli_" name
#define WORD(name) "\"" PATH(name) "\""

static void help_and_version_are_on_stdout(void)
{
    said_prints("--version", 0, "ronde 0.");
    said_prints("--help", 0, "Exit codes:");
    said_prints("help", 0, "Exit codes:");
    said_prints("help run", 0, "--minbytes=SIZE");
    said_prints("run --help", 0, "Examples:");
    said_prints("run -h", 0, "Examples:");
    free(said_by_ronde("", 2));
}

static void unknown_names_suggest_the_nearest(void)
{
    said_refuses("lst", 2, "did you mean list?");
    said_refuses("frobnicate", 2, "unknown command");
    said_refuses("help frobnicate", 2, "unknown command");
    said_refuses("run all_reduc -N 2", 2, "did you mean all_reduce?");
    said_refuses("run nothing -N 2", 2, "unknown collective");
    said_refuses("run all_reduce -a rng -N 2", 2, "did you mean ring?");
    said_refuses("run all_reduce -a zzzzzz -N 2", 2, "zzzzzz");
    said_refuses("run all_reduce -N 2 --itres 3", 2, "did you mean --iters?");
    said_refuses("run all_reduce -N 2 --backend gpu", 2, "gpu");
    said_refuses("run all_reduce -N 2 -d flot32", 2, "did you mean float32?");
    said_refuses("run all_reduce -N 2 -o summ", 2, "did you mean sum?");
}

static void impossible_ranks_are_refused(void)
{
    static const char *const numbers[] = {
        "0", "-1", "1048577", "1.5", "x", "\"\"", "99999999999999999999"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "check all_reduce -a ring -N %s", numbers[i]);
        said_refuses(arguments, 2, "ranks");
    }
    said_refuses("check all_reduce -a ring -N", 2, "option -N needs a value");
    said_refuses("check nothing", 2, "unknown collective");
    said_refuses("convert broadcast -a binomial -N 4 -r 4", 2, "root 4");
}

static void one_rank_works(void)
{
    said_prints("check all_reduce -a ring -N 1", 0, "proved");
    said_prints("run all_reduce -a ring -N 1 --backend host -b 64 -e 64 -n 1 -w 0", 0, "OK");
    said_prints("run all_reduce -a ring -N 2 --backend host -b 64 -e 64 -n 1 -w 3", 0,
                "# 3 warm-ups, 1 ");
    said_prints("run all_reduce -a ring -N 2 --backend host -b 64 -e 64 -n 1", 0,
                "# warm-up until stable, 5 to 1000 runs, 1 iterations");
    said_prints("run all_reduce -a ring -N 2 --backend host -b 64 -e 64 -n 1", 0,
                "# Warm-up runs  ");
}

static void as_many_runs_are_measured_as_are_asked_for(void)
{
    said_prints("run all_reduce -N 2 -b 8 -e 8 -n 1234 -c 0 --backend host --csv", 0, ",1234,");
    said_refuses("run all_reduce -N 2 -b 8 -e 8 -n 0", 2, "iters 0");
}

static void check_tells_the_account(void)
{
    said_prints("check all_reduce -a ring -N 4", 0, "minimum depth  2");
    said_prints("check all_reduce -a ring -N 4", 0, "1.5 blocks by the busiest rank");
    said_prints("check all_reduce -a ring -N 4", 0, "v-form         none\n");
    said_prints("check all_gather -a bruck -N 8", 0, "v-form         known_to_all\n");
    said_prints("check all_to_all -a bruck -N 8", 0, "v-form         none\n");
    said_prints("check all_to_all -a pairwise -N 8", 0, "v-form         direct\n");
    said_prints("list", 0, "  bruck                    known_to_all  ");
    said_prints("list", 0, "  pairwise                 direct        ");
    said_prints("check --all -N 2..5", 0, " 0 rejected");
    said_prints("check --all all_reduce -N 4", 0, "recursive_doubling");
    said_prints("check all_reduce -a ring -N 8 --expand", 0, "every rank's steps");
}

static void compiled_text_is_read_back(void)
{
    free(said_on_stdout("convert all_reduce -a ring -N 4 -o " WORD("ring.ronde"), 0));
    said_prints("check " WORD("ring.ronde"), 0, "all_reduce ring on 4 ranks: proved");
}

#define GIVEN "\"" RONDE_SOURCE_DIR "/docs/examples/two_nodes.ronde\""

/* What a user wrote goes through everything that ours go through. */
static void given_schedules_run_and_are_replayed(void)
{
    said_prints("convert " GIVEN, 0, "algorithm two_nodes\n");
    said_prints("run " GIVEN " --backend host -b 8 -e 4K -n 1 -w 0", 0, "0 OK");
    said_prints("run " GIVEN " --backend " BACKEND " -b 8 -e 4K -n 1 -w 0 -o max", 0, "0 OK");
    said_refuses("run " GIVEN " -N 5", 2, "two_nodes.ronde is for 4 ranks: leave out -N");
    said_refuses("run " GIVEN " -a ring", 2, "two_nodes.ronde is a schedule");
    said_refuses("check " GIVEN " --channels 2", 2, "leave out -a, -r, --shape, --channels");
    if (!suite_has_components())
        return;
    /* A formula belongs to an algorithm of ours; the longest path is anybody's. */
    said_prints("sim " GIVEN " --topo crossbar-64 -b 1000000 -e 1000000 --engine simgrid --csv", 0,
                ",two_nodes,4,");
    said_prints("sim " GIVEN " --topo crossbar-64 -b 1M -e 1M --placement scattered,auto", 0,
                "flat scattered\n");
    said_prints("sim --engine price " GIVEN " --topo crossbar-64 -b 1M -e 1M", 0, "        dag ");
    said_lacks(said_on_stdout("sim --engine price " GIVEN " --topo crossbar-64 -e 8", 0),
               "closed_form");
    said_refuses("sim " GIVEN " -N 8 --topo crossbar-64", 2, "leave out -N");
}

static void shapes_imply_the_ranks(void)
{
    said_prints("check all_reduce -a hierarchical --shape 4x8", 0,
                "hierarchical on 32 ranks: proved");
    said_prints("check all_reduce -a torus --shape 2x3x4", 0, "torus on 24 ranks: proved");
    said_prints("convert all_reduce -a torus --shape 3x2", 0, "shape 3 2\n");
    said_prints("run all_reduce -a torus --shape 2x3 --backend host -b 64 -e 64 -n 1 -w 0", 0,
                "0 OK");
    said_refuses("check all_reduce -a torus --shape 4x8 -N 31", 2, "32 ranks, not of 31");
    said_refuses("check all_reduce -a torus --shape 4x0", 2, "digit 0 is outside");
    said_refuses("check all_reduce -a torus --shape 4x", 2, "digit \"\"");
    said_refuses("check all_reduce -a torus --shape 1x2x1x2x1x1x1", 2, "more than 6 digits");
    said_refuses("check all_reduce -a torus --shape 2048x1024", 2, "more than 1048576 ranks");
    said_refuses("check all_reduce -a hierarchical --shape 2x2x2", 2, "2 digits");
}

static void pairs_say_who_sends_to_whom(void)
{
    said_prints("convert send_recv -N 4 --pairs '0>1,2>3'", 0, "pairs 0 -> 1 2 -> 3");
    said_prints("run send_recv -N 5 --pairs '0>1,0>2,4>0' --backend host -b 64 -e 64 -n 1 -w 0", 0,
                "0 OK");
    said_prints("run send_recv -N 5 --pairs '3>1,1>3' --backend " BACKEND " -b 64 -e 4K -n 1 -w 0",
                0, "0 OK");
    said_refuses("check send_recv -N 4 --pairs '0>1,2>1'", 2, "rank 1 receives from 0 already");
    said_refuses("check send_recv -N 4 --pairs '0>4'", 2, "name rank 4, there are 4 ranks");
    said_refuses("check send_recv -N 4 --pairs 0,1", 2, "\"0\" is not source>destination");
    said_refuses("check send_recv -N 4 --pairs '0>'", 2, "pairs: rank \"\"");
    said_refuses("check send_recv -N 4 --pairs '0>4096'", 2, "4096 is outside 0 .. 4095");
    said_refuses("check send_recv -N 5000 --pairs '0>1'", 2, "5000 ranks, at most 4096");
    said_refuses("check all_gather -N 4 --pairs '0>1'", 2, "for send_recv, not for all_gather");
}

static void survey_options_stand_together_or_not_at_all(void)
{
    said_refuses("check all_reduce -N 4 --markdown", 2, "go with --all");
    said_refuses("check all_reduce -N 4 --verbose", 2, "go with --all");
    said_refuses("check --all -a ring", 2, "--all excludes -a");
    said_refuses("check --all --expand", 2, "--all excludes -a and --expand");
    said_refuses("check --all --markdown --csv", 2, "--markdown excludes");
    said_refuses("check --all nothing", 2, "unknown collective");
    said_refuses("check --all -N 2,3 -r 2", 2, "root 2 is not below 2 ranks");
}

/* Everybody keeps its own input: well-formed, and not the sum. */
static void a_wrong_schedule_is_rejected_with_exit_1(void)
{
    static const char wrong[] = "ronde 1\ncollective all_reduce\nalgorithm wrong\nranks 2\n"
                                "chunks 2\nrotate in out\n\nprogram 0\n"
                                "    copy in[0] out[0]\n    copy in[1] out[1]\n";
    CU_ASSERT_FATAL(files_write(PATH("wrong.ronde"), wrong));
    said_prints("check " WORD("wrong.ronde"), 1, "REJECTED");
    said_prints("check " WORD("wrong.ronde"), 1, "wrong_value");
}

static void unreadable_schedules_name_file_and_line(void)
{
    CU_ASSERT_FATAL(files_write(PATH("bad.ronde"), "ronde 1\ncollective nothing\n"));
    CU_ASSERT_FATAL(files_write(PATH("empty.ronde"), ""));
    said_refuses("check " WORD("bad.ronde"), 2, "cli_bad.ronde:2: ");
    said_refuses("check no/such.ronde", 2, "no/such.ronde: cannot be read: No such file");
    said_refuses("check /", 2, "not a regular file");
    said_refuses("check " WORD("empty.ronde"), 2, "cli_empty.ronde");
}

static void null_is_measured_and_nothing_is_checked(void)
{
    said_prints("run all_reduce -N 3 --backend null -b 300 -e 300 -n 1 -w 0", 0,
                "# Not checked (no data is moved)");
    said_prints("run all_reduce -N 3 -a ring --backend null -b 300 -e 300 -n 1 -w 0", 0,
                "checked against nothing: no data is moved");
    said_refuses("demo --backend null", 2, "there is no result to show");
    /* A build without SimGrid or libxml2 refuses the file before. */
    if (RONDE_ALL_COMPONENTS)
        said_refuses("validate all_reduce -a ring -N 2 --backend null --topo crossbar-64", 2,
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
        said_prints("list", 0, line);
        said_prints("run --help", 0, executors[e].name);
        said_refuses("run all_reduce -N 2 --backend abacus", 2, executors[e].name);
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
                    said_refuses(arguments, 2, refusal);
                else
                    said_prints(arguments, 0, "# Out of bounds values : 0 OK");
            }
    said_refuses("run all_reduce -N 3 -d zzzzzzzzzzzz", 2, "float8_e5m2, bool, int16, uint16");
    said_refuses("run all_reduce -N 3 -o qqqqqqqqqqqq", 2, "premul_sum, band, bor, bxor");
    said_prints("run all_gather -N 3 -d bool --backend host -b 300 -e 300 -n 1 -w 0", 0, "0 OK");
    said_prints("run all_reduce -N 3 -d short -o product --backend host -e 8 -n 1 -w 0", 0, "int16");
    said_refuses("run broadcast -N 3 -o avg --backend host -e 8", 2, "broadcast reduces nothing");
}

/* Where in place would overwrite what is still to be sent there is no such column. */
static void collectives_without_a_form_in_place_run_out_of_place(void)
{
    said_prints("run all_to_all -N 3 --backend " BACKEND " -b 64 -e 64 -n 1 -w 0 | grep -c float32",
                0, "1\n");
    said_prints("run all_to_all -N 3 --backend host -b 64 -e 64 -n 1 -w 0", 0, "0 OK");
    said_prints("run send_recv -N 3 --backend host -b 64 -e 64 -n 1 -w 0 --csv", 0, ",false,");
    said_lacks(said_on_stdout("run send_recv -N 3 --backend host -b 64 -e 64 -n 1 -w 0 --csv", 0),
               ",true,");
}

static void run_checks_against_host(void)
{
    said_prints("run all_reduce -N 2 --backend host -b 64 -e 64 -n 1 -w 0", 0,
                "checked against the collective's definition");
    said_prints("run all_reduce -a tree -N 3 --backend " BACKEND " -b 8 -e 4K -f 8 -n 3 -w 1", 0,
                "# Out of bounds values : 0 OK");
    said_prints("run all_gather -N 3 --backend " BACKEND " -b 8 -e 4K -f 8 -n 2 -w 0 -d uint8", 0,
                "uint8");
    said_prints("run reduce_scatter -N 4 --backend " BACKEND
                " -b 8 -e 4K -n 2 -w 0 -d double -o prod",
                0, "prod");
    said_prints("run broadcast -N 5 -r 3 --backend " BACKEND " -b 1K -e 1K -n 2 -w 0", 0,
                "# Avg bus bandwidth");
}

static void platform_files_that_cannot_be_used_are_refused(void)
{
    if (!suite_has_components())
        return;
    CU_ASSERT_FATAL(files_write(PATH("bad.xml"), "not XML at all\n"));
    CU_ASSERT_FATAL(files_write(PATH("other.xml"), "<?xml version=\"1.0\"?>\n<other/>\n"));
    said_refuses("sim all_reduce -N 4", 2, "--topo is missing");
    said_refuses("sim all_reduce -N 4 --topo no/such.xml", 2, "no/such.xml");
    said_refuses("sim all_reduce -N 4 --topo " WORD("bad.xml"), 2, "cli_bad.xml:1: ");
    said_refuses("sim --engine price all_reduce -N 4 --topo " WORD("other.xml"), 2,
                 "cli_other.xml:2: ");
    said_refuses("sim all_reduce -a ring -N 65 --topo crossbar-64", 2, "64 hosts");
    said_refuses("sim all_reduce -a ring -N 4 --topo crossbar-64 --engine magic -e 8", 2,
                 "unknown engine");
}

/* The time of an engine. */
static double time_by(const char *engine)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments,
             "sim all_reduce -a ring -N 8 --topo crossbar-64 -b 1M -e 1M --csv --engine %s "
             "| tail -1 | cut -d, -f15",
             engine);
    char *said = said_on_stdout(arguments, 0);
    const double time = strtod(said, NULL);
    free(said);
    return time;
}

static void engines_agree_on_a_crossbar(void)
{
    if (!suite_has_components())
        return;
    const double a = time_by("flat"), b = time_by("simgrid");
    CU_ASSERT(a > 0.0);
    CU_ASSERT(b > a * (1.0 - 1e-9) && b < a * (1.0 + 1e-9));
}

static void records_are_one_json_object_per_line(void)
{
    if (!suite_has_components())
        return;
    char *said =
        said_on_stdout("run all_reduce -a ring -N 2 --backend host -b 8 -e 32 -n 1 -w 0 --json", 0);
    size_t lines = 0;
    for (const char *at = said; *at; at = strchr(at, '\n') + 1) {
        CU_ASSERT(strncmp(at, "{\"kind\": \"measured\", \"engine\": \"host\"", 37) == 0);
        CU_ASSERT_FATAL(strchr(at, '\n') != NULL);
        lines++;
    }
    free(said);
    /* Two sizes, out of place and in place. */
    CU_ASSERT(lines == 4);
    said_prints(
        "check all_reduce -a ring -N 4 --json", 0,
        "{\"ok\": true, \"collective\": \"all_reduce\", \"algorithm\": \"ring\", \"ranks\": 4, "
        "\"min_depth\": 2, ");
    said_prints("check all_gather -a ring -N 4 --json", 0,
                "\"quotient\": true, \"v_form\": \"known_to_all\", \"received_max\": 3.0, "
                "\"received_bound\": 3.0, \"errors\": []}");
    said_prints("list --json", 0, "\"name\": \"ring\", \"available\": true");
    said_prints("list --json", 0, "\"v_form\": \"known_to_all\"}");
}

static void csv_has_one_header(void)
{
    char *said =
        said_on_stdout("run all_reduce -a ring -N 2 --backend host -b 8 -e 32 -n 1 -w 0 --csv", 0);
    CU_ASSERT(strncmp(said, "kind,engine,", 12) == 0);
    CU_ASSERT(strstr(said + 1, "kind,engine,") == NULL);
    free(said);
}

static void a_plot_without_gnuplot_is_a_missing_component(void)
{
    if (!suite_has_components())
        return;
    said_has(said_by("PATH=/nonexistent '" RONDE_BINARY "' validate all_reduce -a ring -N 2 -e 8 "
                     "--topo crossbar-64 --plot x.svg 2>&1 >/dev/null",
                     3),
             "gnuplot-nox");
    said_has(said_by("PATH=/nonexistent '" RONDE_BINARY "' list 2>/dev/null", 0), "gnuplot-nox");
}

/* A stored run is summed up and drawn again: the same points, and no measurement. */
static void validate_draws_an_earlier_run_again(void)
{
#define STORED "--from \"" RONDE_SOURCE_DIR "/docs/results/cpu-validate.jsonl\""
    if (!suite_has_components())
        return;
    said_prints("validate all_reduce " STORED, 0,
                "all points         96  15.1%  39.4%  49.6%   -3.9%  double_tree 4 32K\n");
    said_refuses("validate " STORED, 2, "of which collective");
    said_refuses("validate barrier " STORED, 2, "no times of barrier");
    said_refuses("validate all_reduce --json " STORED, 2, "prints no records");
    said_refuses("validate all_reduce --from /nowhere.jsonl", 2, "cannot be read");
}

static void validate_sums_up_what_it_measured(void)
{
#define MEASURED "validate all_reduce -a ring,tree -N 2 -b 64 -e 64 --topo crossbar-64"
    if (!suite_has_components())
        return;
    said_prints(MEASURED, 0, "# errors, |predicted - measured| / measured");
    said_prints(MEASURED, 0, "# ring or tree, 2 ranks");
    free(said_on_stdout(MEASURED " --json --output " WORD("records.jsonl"), 0));
    char *records = files_read(PATH("records.jsonl"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(records);
    size_t lines = 0;
    for (const char *at = records; *at; at++)
        lines += *at == '\n';
    free(records);
    /* Measured, replayed and priced, twice; of both predictions the score of the pair, and the sum. */
    CU_ASSERT(lines == 6 + 4);
    /* Algorithms that serve all numbers of ranks, where none is named. */
    said_prints("validate all_gather -N 2,3 -b 64 -e 64 --topo crossbar-64", 0, " bruck ");
    said_refuses("validate --topo crossbar-64", 2, "a collective is needed");
}

static void outputs_that_cannot_be_written_are_refused(void)
{
    said_refuses("convert all_reduce -a ring -N 2 -o /no/such/dir/x", 2, "cannot be written");
    said_refuses("list --output /no/such/dir/x", 2, "cannot be written");
}

/* MSCCL files stand where schedules do, and convert writes them. */
#define PAIRS "\"" RONDE_SOURCE_DIR "/tests/data/msccl/pairs-all_reduce.xml\""
#define CHAIN "\"" RONDE_SOURCE_DIR "/tests/data/msccl/chain-broadcast.xml\""

static void schedules_of_others_are_taken(void)
{
    const char *reason;
    if (!ronde_msccl_available(&reason)) {
        suite_skip("no MSCCL file can be read: %s", reason);
        said_refuses("check " PAIRS, 3, "install libxml2-dev");
        return;
    }
    said_prints("check " PAIRS, 0, "all_reduce pairs on 3 ranks: proved");
    said_prints("check " PAIRS, 0, "protocol LL, 9 threadblocks, 27 steps, 9 of them nops");
    said_prints("convert " PAIRS, 0, "placement in_place\n");
    said_prints("run " PAIRS " --backend host -b 64 -e 4K -n 1 -w 0", 0,
                "# Out of bounds values : 0 OK");
    said_prints("run " CHAIN " --backend host -b 64 -e 4K -n 1 -w 0", 0,
                "# Out of bounds values : 0 OK");
    said_refuses("check " PAIRS " -N 4", 2, "pairs-all_reduce.xml is for 3 ranks: leave out -N");
    said_refuses("run " PAIRS " --backend host -b 64 -e 64 -n 1 -w 0 -o avg", 2,
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
    said_prints("run " PAIRS " --backend cpu -b 64 -e 16K -n 1 -w 0", 0,
                "# Out of bounds values : 0 OK");
    said_prints("run " PAIRS " --backend proc -b 64 -e 16K -n 1 -w 0", 0,
                "# Out of bounds values : 0 OK");
    said_prints("run " CHAIN " --backend proc -b 64 -e 16K -n 1 -w 0", 0,
                "# Out of bounds values : 0 OK");
    said_prints("sim " PAIRS " -b 64K -e 64K --topo crossbar-64", 0, "all_reduce pairs, 3 ranks");
    said_prints("sim --engine price " PAIRS " -b 64K -e 64K --topo crossbar-64", 0,
                "all_reduce pairs, 3 ranks");
    const char *version = NULL;
    if (ronde_sim_simgrid_available(&version))
        said_prints("sim " PAIRS " -b 64K -e 64K --topo crossbar-64 --engine simgrid", 0, "simgrid");
}

static void schedules_are_converted(void)
{
    const char *reason;
    said_prints("convert all_reduce -a ring -N 4 " WORD("ring.xml"), 0, "");
    if (ronde_msccl_available(&reason)) {
        said_prints("check " WORD("ring.xml"), 0, "all_reduce ring on 4 ranks: proved");
        said_prints("convert " PAIRS " --to ronde", 0, "ronde 1\ncollective all_reduce\n");
    }
    said_prints("convert reduce_scatter -a ring -N 3 --to msccl --dialect rccl", 0,
                "coll=\"reducescatter\"");
    said_prints("convert all_reduce -a ring -N 4", 0, "algorithm ring\n");
    said_refuses("convert all_reduce -a ring -N 4 --to gaol", 2, "unknown format \"gaol\"");
    said_refuses("convert all_reduce -N 4 --to msccl --dialect nccl", 2, "unknown dialect");
    said_refuses("convert all_reduce -N 4 --to ronde --dialect rccl", 2, "is for MSCCL files");
    said_refuses("convert all_reduce -N 4 a.xml -o b.xml", 2, "two outputs");
    said_refuses("convert barrier -N 4 --to msccl", 2, "the format has no such collective");
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(help_and_version_are_on_stdout),
        SUITE_CASE(unknown_names_suggest_the_nearest),
        SUITE_CASE(impossible_ranks_are_refused),
        SUITE_CASE(one_rank_works),
        SUITE_CASE(as_many_runs_are_measured_as_are_asked_for),
        SUITE_CASE(check_tells_the_account),
        SUITE_CASE(given_schedules_run_and_are_replayed),
        SUITE_CASE(shapes_imply_the_ranks),
        SUITE_CASE(pairs_say_who_sends_to_whom),
        SUITE_CASE(survey_options_stand_together_or_not_at_all),
        SUITE_CASE(compiled_text_is_read_back),
        SUITE_CASE(a_wrong_schedule_is_rejected_with_exit_1),
        SUITE_CASE(unreadable_schedules_name_file_and_line),
        SUITE_CASE(run_checks_against_host),
        SUITE_CASE(null_is_measured_and_nothing_is_checked),
        SUITE_CASE(every_executor_is_listed_and_named_by_help),
        SUITE_CASE(every_type_and_operator_comes_out_right),
        SUITE_CASE(collectives_without_a_form_in_place_run_out_of_place),
        SUITE_CASE(platform_files_that_cannot_be_used_are_refused),
        SUITE_CASE(engines_agree_on_a_crossbar),
        SUITE_CASE(records_are_one_json_object_per_line),
        SUITE_CASE(csv_has_one_header),
        SUITE_CASE(a_plot_without_gnuplot_is_a_missing_component),
        SUITE_CASE(validate_draws_an_earlier_run_again),
        SUITE_CASE(validate_sums_up_what_it_measured),
        SUITE_CASE(outputs_that_cannot_be_written_are_refused),
        SUITE_CASE(schedules_of_others_are_taken),
        SUITE_CASE(schedules_of_others_run_everywhere),
        SUITE_CASE(schedules_are_converted),
    };
    return suite_run("cli", cases, sizeof cases / sizeof cases[0]);
}
