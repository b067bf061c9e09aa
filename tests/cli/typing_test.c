/* What people type who come from other benchmarks, other launchers, or from nowhere: it runs, or they are told how to say it. */
#include "support/suite.h"

#include "support/built_with.h"
#include "support/said.h"

#include "ronde/collective.h"

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLATFORM RONDE_SCRATCH_DIR "/typing.xml"
#define SCHEDULE RONDE_SCRATCH_DIR "/typing.ronde"
#define POINT " --backend host -b 64 -e 64 -n 1 -w 0"

/* Runs a shell command, $RONDE in it being the program, its complaints with what it says; free the text. */
static char *shell(const char *command, int code)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "RONDE=\"%s\"; ( %s ) 2>&1", suite_ronde(), command);
    return said_by(whole, code);
}

static void expect(const char *command, int code, const char *part)
{
    said_has(shell(command, code), part);
}

static bool has_all_components(void)
{
#if RONDE_ALL_COMPONENTS
    return true;
#else
    suite_skip("this build lacks a component");
    return false;
#endif
}

static void names_of_others_are_understood(void)
{
    expect("$RONDE run AllReduce -N 2 -o SUM -d Float" POINT, 0, "all_reduce auto, 2 ranks");
    expect("$RONDE run allreduce -N 2 -o MAX" POINT, 0, "max");
    expect("$RONDE check ALL_GATHER -a ring -N 2", 0, "all_gather ring on 2 ranks: proved");
    expect("$RONDE check ReduceScatter -a ring -N 2", 0, "reduce_scatter ring on 2 ranks: proved");
    expect("$RONDE run all_reduce -N 2 -o SUMM" POINT, 2, "unknown operator \"SUMM\"");
    expect("$RONDE run AllReduc -N 2", 2, "did you mean all_reduce?");
}

static void letters_of_others_point_to_ours(void)
{
    expect("$RONDE sim all_reduce -g 8", 2, "sim: unknown option -g; the number of ranks is -N");
    expect("$RONDE sim all_reduce -t8", 2, "sim: unknown option -t8; the number of ranks is -N");
    expect("$RONDE sim all_reduce -p 4", 2, "sim: unknown option -p; the number of ranks is -N");
    expect("$RONDE list -g", 2, "list: unknown option -g; see ronde list --help");
}

static void a_collective_typed_as_a_command_is_shown_how(void)
{
    expect("$RONDE all_reduce -N 4", 2,
           "all_reduce is a collective, not a command; did you mean ronde run all_reduce?");
    expect("$RONDE AllGather", 2, "did you mean ronde run AllGather?");
}

/* Where nothing says how many ranks there are: the hosts of the machine, else two. */
static void ranks_have_a_default(void)
{
    expect("$RONDE check all_reduce -a ring", 0, "all_reduce ring on 2 ranks: proved");
    expect("$RONDE convert all_reduce -a ring", 0, "ranks 2\n");
    expect("$RONDE run all_reduce -a ring" POINT, 0, "all_reduce ring, 2 ranks, backend host");
    if (!has_all_components())
        return;
    expect("$RONDE sim all_reduce -a ring -b 1K -e 1K --topo crossbar-64", 0, "ring, 64 ranks on");
    expect("$RONDE sim --engine price all_reduce -a ring -b 1K -e 1K --topo fat-tree-2to1-64", 0,
           "ring, 64 ranks on");
    expect("$RONDE sim all_reduce -a ring --topo no-such-machine", 2, "no-such-machine");
    expect("$RONDE run all_reduce -a ring --backend proc -b 64 -e 64 -n 1 -w 0", 0, "ring, 2 ranks");
}

static void help_says_what_an_option_takes(void)
{
    char *said = shell("$RONDE run --help", 0);
    for (int i = 0; i < RONDE_DTYPE_COUNT; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(said, ronde_dtype_text((enum ronde_dtype)i)));
    for (int i = 0; i < RONDE_OP_COUNT; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(said, ronde_op_text((enum ronde_op)i)));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "(default 20)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "them (default:"));
    free(said);
}

/* Rows of a table for programs. */
static unsigned count_rows(const char *command, const char *part)
{
    unsigned count = 0;
    char *said = shell(command, 0);
    for (const char *at = said; (at = strstr(at, part)) != NULL; at++)
        count++;
    free(said);
    return count;
}

static void all_goes_through_types_operators_and_roots(void)
{
    unsigned pairs = 0, bands = 0;
    for (int d = 0; d < RONDE_DTYPE_COUNT; d++)
        bands += ronde_op_refusal(RONDE_BAND, (enum ronde_dtype)d) ? 0 : 1;
    for (int d = 0; d < RONDE_DTYPE_COUNT; d++)
        for (int o = 0; o < RONDE_OP_COUNT; o++)
            pairs += ronde_op_refusal((enum ronde_op)o, (enum ronde_dtype)d) ? 0 : 1;
    CU_ASSERT_EQUAL(count_rows("$RONDE run all_reduce -N 2 -d all -o all -a ring --csv" POINT,
                               "\nmeasured,"),
                    2 * pairs);
    CU_ASSERT_EQUAL(count_rows("$RONDE run all_reduce -N 2 -d all -o band -a ring --csv" POINT,
                               ",band,"),
                    2 * bands);
    CU_ASSERT_EQUAL(count_rows("$RONDE run all_gather -N 2 -o all -d all -r all --csv" POINT,
                               "\nmeasured,"),
                    2 * RONDE_DTYPE_COUNT);
    CU_ASSERT_EQUAL(count_rows("$RONDE run broadcast -N 3 -r all -d all --csv" POINT,
                               "\nmeasured,"),
                    3 * 2 * RONDE_DTYPE_COUNT);
    char *said = shell("$RONDE run broadcast -N 3 -a binomial -r all" POINT, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "\n# root 1; schedule "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "\n# root 2; schedule "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "# Out of bounds values : 0 OK"));
    free(said);
    expect("$RONDE run all_reduce -d all -d int8 -N 2 -a ring" POINT, 0, "    int8    sum ");
    expect("$RONDE sim all_reduce -d all -N 2", 2, "unknown element type \"all\"");
    if (RONDE_ALL_COMPONENTS)
        expect("$RONDE run broadcast --backend proc -N 2 -r all -d all -b 64 -e 64 -n 1 -w 0", 0,
               "0 OK");
}

static void each_verb_of_topo_has_its_own_help(void)
{
    char *said = shell("$RONDE topo generate --help", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "Usage: ronde topo generate "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "--oversubscription"));
    CU_ASSERT_PTR_NULL(strstr(said, "--memory-GBps"));
    CU_ASSERT_PTR_NULL(strstr(said, "--json"));
    free(said);
    expect("$RONDE topo --help import", 0, "Usage: ronde topo import ");
    expect("$RONDE help topo show", 0, "Usage: ronde topo show ");
    expect("$RONDE help topo", 0, "show|generate|import|check");
    expect("$RONDE topo show --gpus 4 x.xml", 2, "topo show: unknown option --gpus");
    expect("$RONDE topo --levels 2 check", 2, "topo check: unknown option --levels");
}

static void an_unknown_machine_points_to_the_list(void)
{
    if (!has_all_components())
        return;
    expect("$RONDE sim all_reduce -a ring -N 4 --topo dgx-h10", 2,
           "dgx-h10: neither a file nor a machine that is shipped; did you mean dgx-h100?; "
           "`ronde list` names these");
    expect("$RONDE sim all_reduce -N 4 --topo H100-cluster1", 2, "did you mean H100-cluster01?");
    expect("$RONDE topo show zzzzzzzzzzzz", 2, "`ronde list` names these");
    expect("$RONDE topo check no-such.xml", 2, "neither a file nor a machine that is shipped");
    expect("$RONDE sim all_reduce -N 4 --topo dgx-h100 --nodes 2", 2,
           "dgx-h100: a platform file says itself how many nodes there are");
    expect("$RONDE sim all_reduce -N 4 -b 1K -e 1K --topo H100-cluster01", 0, "4 ranks on");
    expect("$RONDE topo check ./no-such.xml", 2, "./no-such.xml: cannot be opened: No such file");
}

/* A pipe is read once, and a machine twice: by us and by SimGrid in a process of its own. */
static void standard_input_is_a_file_everywhere(void)
{
    expect("$RONDE convert all_reduce -a ring -N 4 | $RONDE check -", 0, "ring on 4 ranks: proved");
    expect("$RONDE convert all_reduce -a ring -N 4 | $RONDE check /dev/stdin", 0, "proved");
    expect("$RONDE convert all_reduce -a ring -N 4 | $RONDE run -" POINT, 0, "0 OK");
    expect("echo junk | $RONDE check -", 2, "/dev/stdin:1: ");
    if (!has_all_components())
        return;
    expect("$RONDE convert all_reduce -a ring -N 4 | $RONDE run - --backend proc -n 1 -w 0 -e 8", 0,
           "0 OK");
    expect("$RONDE topo generate rail --nodes 2 | $RONDE topo check -", 0, "rail-16");
    expect("$RONDE topo generate rail --nodes 2 | $RONDE topo show /dev/stdin", 0,
           "rail-16: 16 hosts");
    expect("$RONDE topo generate rail --nodes 2 | $RONDE sim all_reduce -a ring --engine simgrid "
           "-b 1K -e 1K --topo -",
           0, "ring, 16 ranks on rail-16 (/dev/stdin)");
    expect("$RONDE topo generate rail --nodes 2 >" PLATFORM "; $RONDE topo check - <" PLATFORM, 0,
           "rail-16");
    expect("echo 'degrade n0g0_c=0.5' | $RONDE sim all_reduce -a ring -b 1K -e 1K --topo " PLATFORM
           " --scenario -",
           0, "scenario");
    expect("$RONDE topo check - <&-", 2, "/dev/stdin");
    expect("echo | $RONDE sim - --topo -", 2, "only one input can be -");
    char path[512], command[1024];
    if (!suite_source(path, sizeof path, "tests/data/import/mesh.xml"))
        return;
    snprintf(command, sizeof command, "cat \"%s\" | $RONDE topo import - --nic-GBps 25", path);
    expect(command, 0, "<platform version=\"4.1\">");
}

static void pictures_are_svg(void)
{
    if (!has_all_components())
        return;
    expect("cd " RONDE_SCRATCH_DIR "; rm -f x.png; $RONDE topo show crossbar-64 -o x.png", 2,
           "x.png: pictures are SVG");
    expect("test -e " RONDE_SCRATCH_DIR "/x.png", 1, "");
    expect("$RONDE plan all_reduce --topo crossbar-64 -b 8 -e 8 --plot x.jpg", 2, "makes a jpg");
    expect("$RONDE sim all_reduce -N 2 -a ring --topo crossbar-64 -e 8 --timeline x.jpg", 2,
           "makes a jpg");
    expect("cd " RONDE_SCRATCH_DIR
           "; $RONDE topo show crossbar-64 -o typing.SVG; head -c 5 typing.SVG",
           0, "<svg ");
}

/* What the program prints on a terminal of so many columns; free the text. */
static char *on_terminal(const char *arguments, unsigned short columns)
{
    const struct winsize size = {.ws_row = 50, .ws_col = columns};
    char *said = NULL, block[4096];
    size_t bytes = 0;
    int terminal = -1, state = 0;
    FILE *text = open_memstream(&said, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const pid_t child = forkpty(&terminal, NULL, NULL, &size);
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        char command[2048];
        snprintf(command, sizeof command, "exec \"%s\" %s", suite_ronde(), arguments);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    /* The last reader of a terminal whose program has ended is told EIO. */
    for (ssize_t got; (got = read(terminal, block, sizeof block)) > 0;)
        fwrite(block, 1, (size_t)got, text);
    close(terminal);
    CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
    CU_ASSERT_EQUAL(state, 0);
    fclose(text);
    return said;
}

/* The longest line that is no comment, but for the heads of columns. A terminal ends lines by \r\n. */
static size_t longest_row(const char *text)
{
    size_t longest = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const size_t length = strcspn(line, "\r\n");
        if (line[0] != '#' || strncmp(line, "#  ", 3) == 0)
            longest = length > longest ? length : longest;
        if (!line[strcspn(line, "\n")])
            break;
    }
    return longest;
}

/* Tables are 100 characters wide at most, on a terminal and elsewhere, unless --wide asks for all columns. */
static void tables_fit_a_hundred_characters(void)
{
    static const char run[] =
        "run all_reduce -a ring -N 2 -b 1M -e 1M -n 1 -w 0 -c 0 --backend null";
    char command[512];
    char *said = on_terminal(run, 200);
    CU_ASSERT(longest_row(said) <= 100);
    CU_ASSERT_PTR_NULL(strstr(said, "p95"));
    free(said);
    said = said_by_ronde(run, 0);
    CU_ASSERT(longest_row(said) <= 100);
    free(said);
    snprintf(command, sizeof command, "%s --wide", run);
    said = on_terminal(command, 100);
    CU_ASSERT(longest_row(said) > 100);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "p95"));
    free(said);
    said = on_terminal("list", 100);
    CU_ASSERT(longest_row(said) <= 100);
    free(said);
    said = on_terminal("list --wide", 100);
    CU_ASSERT(longest_row(said) > 100);
    free(said);
    if (!has_all_components())
        return;
    said = on_terminal("sim all_reduce -a ring -b 1G -e 1G --topo dgx-h100-pod", 100);
    CU_ASSERT(longest_row(said) <= 100);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "symmetric"));
    free(said);
    free(shell("rm -f " RONDE_SCRATCH_DIR "/typing.jsonl", 0));
    said = on_terminal("sweep all_reduce -N 2:64:x2 --bytes 1K:1M:x32 --topo crossbar-64 "
                       "--output " RONDE_SCRATCH_DIR "/typing.jsonl 2>/dev/null",
                       100);
    CU_ASSERT(longest_row(said) <= 100);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "64 ranks\r\n"));
    free(said);
    said = on_terminal("plan all_reduce -N 64 -b 1M -e 1M --topo dgx-h100-pod", 100);
    CU_ASSERT(longest_row(said) <= 100);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "runner-up"));
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"names_of_others_are_understood", names_of_others_are_understood},
        {"letters_of_others_point_to_ours", letters_of_others_point_to_ours},
        {"a_collective_typed_as_a_command_is_shown_how",
         a_collective_typed_as_a_command_is_shown_how},
        {"ranks_have_a_default", ranks_have_a_default},
        {"help_says_what_an_option_takes", help_says_what_an_option_takes},
        {"all_goes_through_types_operators_and_roots", all_goes_through_types_operators_and_roots},
        {"each_verb_of_topo_has_its_own_help", each_verb_of_topo_has_its_own_help},
        {"an_unknown_machine_points_to_the_list", an_unknown_machine_points_to_the_list},
        {"standard_input_is_a_file_everywhere", standard_input_is_a_file_everywhere},
        {"pictures_are_svg", pictures_are_svg},
        {"tables_fit_a_hundred_characters", tables_fit_a_hundred_characters},
    };
    return suite_run("typing", cases, sizeof cases / sizeof cases[0]);
}
