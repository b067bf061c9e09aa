/*
 * ronde where its surroundings lack something: closed streams, full disks, narrow limits, little memory. Each is an error
 * that says what is missing, soon.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "cli/draw/gnuplot.h"
#include "ronde/field.h"
#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POINT " -b 64 -e 64 -n 3 -w 1 "
#define SWEEP "$RONDE sweep all_reduce -a ring,tree -N 2,4 --bytes 8:64:x2 --topo crossbar-64 "

/* Output and exit status of a command line, in which RONDE stands for the program and FILE for a file of the test. */
static int run(const char *words, char **said)
{
    char command[2048];
    snprintf(command, sizeof command,
             "{ RONDE='%s'; FILE='%s/surroundings-%d'; rm -f \"$FILE\"; %s; } 2>&1", suite_ronde(),
             RONDE_SCRATCH_DIR, (int)getpid(), words);
    return files_command(command, said);
}

static void expect(const char *words, int code, const char *part)
{
    char *said = NULL;
    const int got = run(words, &said);
    const bool has_part = said && strstr(said, part) != NULL;
    CU_ASSERT_EQUAL(got, code);
    CU_ASSERT_TRUE(has_part);
    if (got != code || !has_part)
        suite_note("%s\nexit %d: %.600s", words, got, said ? said : "");
    free(said);
}

static void a_closed_input_is_no_listener(void)
{
    expect("$RONDE run all_reduce -N 2 --backend proc --timeout 20" POINT "<&-", 0,
           "Out of bounds values : 0 OK");
    expect("$RONDE run all_reduce -N 2 --backend proc --rank 0 --token - --timeout 20 <&-", 2,
           "is no token");
}

static void a_closed_output_is_an_error_and_spoils_no_file(void)
{
    const char *text = NULL;
    expect("$RONDE topo generate rail --nodes 2 >&-", 4, "could not be written");
    expect("$RONDE --help >&-", 4, "has arrived at standard output");
    expect("$RONDE topo generate rail --nodes 2 -o $FILE >&-; echo exit $? >&2; head -1 $FILE >&2",
           0, "exit 0\n<?xml");
    if (!ronde_json_available(&text) || !ronde_topologies_available(&text)) {
        suite_note("%s", text);
        return;
    }
    /* The table of winners goes to the output, the results to their file. */
    expect(SWEEP "-o $FILE >&- 2>/dev/null; echo exit $?; grep -vc '^{\"' $FILE; rm $FILE", 0,
           "exit 4\n0\n");
}

static void a_full_disk_is_an_error_of_the_run(void)
{
    const char *text = NULL;
    expect("$RONDE --help >/dev/full", 4, "has arrived at standard output");
    expect("$RONDE help run >/dev/full", 4, "has arrived at standard output");
    expect("$RONDE run --help >/dev/full", 4, "has arrived at standard output");
    expect("$RONDE --version >/dev/full", 4, "has arrived at standard output");
    expect("$RONDE list >/dev/full", 4, "could not be written");
    expect("$RONDE convert all_reduce -a ring -N 4 -o /dev/full", 4, "could not be written");
    expect("$RONDE topo generate torus 8x8 -o /dev/full", 4, "could not be written");
    expect("$RONDE run all_reduce -N 2 --backend host" POINT "--output /dev/full", 4,
           "could not be written");
    /* A file that is named and cannot be made is another mistake than a disk without room. */
    expect("$RONDE convert all_reduce -a ring -N 4 -o /no/such/folder/file", 2, "cannot be written");
    if (!ronde_topologies_available(&text)) {
        suite_note("%s", text);
        return;
    }
    expect("$RONDE sim all_reduce -a ring -N 4 --topo crossbar-64 -b 1K -e 1K --trace /dev/full", 4,
           "/dev/full: could not be written: No space left");
    if (!ronde_plot_available(&text) || !ronde_json_available(&text)) {
        suite_note("%s", text);
        return;
    }
    expect(SWEEP "--map /dev/full", 4, "/dev/full: could not be written: No space left");
    expect(SWEEP "--plot /dev/full", 4, "/dev/full: could not be written: No space left");
    expect(SWEEP "--plot /no/such/folder/plot.svg", 2, "No such file or directory");
    expect(SWEEP "--map $FILE >/dev/null 2>&1 && grep -c '</svg>' $FILE; rm $FILE", 0, "1\n");
}

/* A gnuplot without the terminal for PDF is found before anything is replayed. */
static void a_gnuplot_without_pdf_is_a_missing_component(void)
{
    if (!suite_can_read_platforms())
        return;
    expect("mkdir -p $FILE.bin; printf '#!/bin/sh\\ncat >/dev/null\\nexit 1\\n' > "
           "$FILE.bin/gnuplot; chmod +x $FILE.bin/gnuplot; PATH=$FILE.bin:$PATH $RONDE plan "
           "all_reduce -N 4 --topo crossbar-64 --plot $FILE.pdf; echo exit $?; rm -r $FILE.bin",
           0, "no terminal pdfcairo, which draws PDF (package gnuplot-nox has it)");
    expect("$RONDE synthesize all_gather -N 4 --topo crossbar-64 --plot $FILE.pdf", 2,
           "pictures are SVG");
}

/* A PDF ends in compressed bytes and its mark: a zero among them is not its end, and one without a mark is not whole. */
static void a_picture_is_whole_whatever_its_bytes(void)
{
    if (!suite_can_read_platforms())
        return;
    static const char plan[] =
        "mkdir -p $FILE.bin; cat >$FILE.bin/gnuplot <<'END'\n#!/bin/sh\ncat >/dev/null\n"
        "printf 'a\\0b %%s\\n' '%s'\nEND\nchmod +x $FILE.bin/gnuplot; PATH=$FILE.bin:$PATH $RONDE "
        "plan "
        "all_reduce -N 4 -b 1K -e 1K --topo crossbar-64 --plot $FILE.pdf >/dev/null; echo exit $?; "
        "rm -rf $FILE.bin $FILE.pdf";
    char words[1024];
    snprintf(words, sizeof words, plan, "%%EOF");
    expect(words, 0, "exit 0");
    snprintf(words, sizeof words, plan, "");
    expect(words, 0, "gnuplot has not drawn it");
}

/* What a user has set up for gnuplot is of other pictures. */
static void a_gnuplot_that_is_set_up_draws_the_same(void)
{
    const char *text = NULL;
    if (!suite_can_read_platforms())
        return;
    if (!ronde_plot_available(&text)) {
        suite_skip("%s", text);
        return;
    }
    expect("mkdir -p $FILE.home; echo exit >$FILE.home/.gnuplot; HOME=$FILE.home $RONDE plan "
           "all_reduce -N 4 -b 1K -e 1K --topo crossbar-64 --plot $FILE.svg >/dev/null; echo exit "
           "$?; grep -c '</svg>' $FILE.svg; rm -r $FILE.home $FILE.svg",
           0, "exit 0\n1\n");
}

/* Descriptors: with too few of them rank 0 says so at once, whether or not one is left to tell the others with. */
static void few_descriptors_are_an_error_soon(void)
{
    for (int limit = 5; limit <= 6; limit++) {
        char words[200];
        snprintf(words, sizeof words,
                 "ulimit -n %d; timeout 10 $RONDE run all_reduce -N 2 --backend proc" POINT
                 "; code=$?; [ $code -ne 0 ] && [ $code -ne 124 ]",
                 limit);
        expect(words, 0, "Too many open files");
    }
}

/* A command that fails leaves the file of an earlier one, and nothing beside it. */
static void a_failure_leaves_files_as_they_were(void)
{
    const char *text = NULL;
#define OLD "mkdir $FILE; echo old > $FILE/x; "
#define SHOW "; echo exit $?; ls -A $FILE; cat $FILE/x; rm -r $FILE"
    expect(
        OLD
        "trap '' XFSZ; ulimit -f 1; $RONDE topo generate torus 8x8x8 -o $FILE/x 2>/dev/null" SHOW,
        0, "exit 4\nx\nold\n");
    if (!ronde_topologies_available(&text)) {
        suite_note("%s", text);
        return;
    }
    expect(
        OLD
        "trap '' XFSZ; ulimit -f 1; $RONDE sim all_reduce -a ring -N 32 --topo crossbar-64 -b 1M "
        "-e 1M --trace $FILE/x >/dev/null 2>&1" SHOW,
        0, "exit 4\nx\nold\n");
    expect(
        OLD
        "$RONDE sim all_reduce -a ring,tree -N 4 --topo crossbar-64 -b 1K -e 1K --engine none -o "
        "$FILE/x 2>/dev/null" SHOW,
        0, "exit 2\nx\nold\n");
#undef OLD
#undef SHOW
}

/* The system ends who goes beyond this limit by SIGXFSZ, unless it is asked before. */
static void a_limit_of_files_is_an_error(void)
{
    expect("ulimit -f 65536; $RONDE run all_reduce -N 2 --backend proc" POINT, 0,
           "Out of bounds values : 0 OK");
    expect("ulimit -f 8; $RONDE run all_reduce -N 2 --backend proc" POINT, 4, "(ulimit -f)");
    expect("ulimit -f 8; $RONDE run all_reduce -N 2 --backend proc --buffers user" POINT, 4,
           "(ulimit -f)");
    expect("ulimit -f 8; $RONDE topo generate rail --nodes 64 -o $FILE", 4,
           "could not be written: File too large");
}

static void a_limit_of_descriptors_is_an_error(void)
{
    expect("ulimit -n 7; $RONDE run all_reduce -N 8 -a ring --backend proc" POINT, 4,
           "Too many open files");
}

/* Processes are counted by user: one that nobody else uses, and that may run the program. */
static void a_limit_of_processes_is_an_error(void)
{
    char *said = NULL;
    const int can = run("setpriv --reuid=54321 --clear-groups bash -c 'test -x '$RONDE", &said);
    free(said);
    if (can != 0) {
        suite_skip("no other user can be used to run %s here (setpriv, bash)", suite_ronde());
        return;
    }
    expect("setpriv --reuid=54321 --clear-groups env HOME=/nonexistent bash -c \"ulimit -u 4; "
           "exec $RONDE run all_reduce -N 8 -a ring --backend proc" POINT "\"",
           4, "the system refuses process");
}

static void more_memory_than_there_is_is_refused(void)
{
    expect("$RONDE run all_reduce -N 2 -a ring --backend host -b 64T -e 64T", 4,
           "buffers of 2 ranks take 262144.0 GiB, and ");
    expect("$RONDE run all_reduce -N 2 -a ring --backend proc -b 64T -e 64T", 4,
           "buffers of 2 ranks take 262144.0 GiB, and ");
}

/* Both versions of control groups; the shell joins the group, and what it starts is in it. */
#define GROUP                                                                                      \
    "for TOP in /sys/fs/cgroup/memory /sys/fs/cgroup; do GROUP=$TOP/ronde-test-$$; "               \
    "LIMIT=memory.max; [ $TOP = /sys/fs/cgroup ] || LIMIT=memory.limit_in_bytes; "                 \
    "mkdir $GROUP 2>/dev/null && echo 268435456 2>/dev/null >$GROUP/$LIMIT && break; "             \
    "rmdir $GROUP 2>/dev/null; GROUP=; done; [ -n \"$GROUP\" ] || exit 77; "

static void a_control_group_is_asked_before_it_kills(void)
{
    char *said = NULL;
    const int can = run(GROUP "rmdir $GROUP", &said);
    free(said);
    if (can != 0) {
        suite_skip("no control group of memory can be made here");
        return;
    }
    expect(GROUP
           "(sh -c 'echo $PPID' >$GROUP/cgroup.procs; exec $RONDE run all_reduce -N 4 -a ring "
           "--backend proc -n 1 -w 0 -b 64M -e 64M); CODE=$?; sleep 0.2; rmdir $GROUP; exit "
           "$CODE",
           4, "of control group");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_closed_input_is_no_listener", a_closed_input_is_no_listener},
        {"a_closed_output_is_an_error_and_spoils_no_file",
         a_closed_output_is_an_error_and_spoils_no_file},
        {"a_full_disk_is_an_error_of_the_run", a_full_disk_is_an_error_of_the_run},
        {"a_gnuplot_without_pdf_is_a_missing_component",
         a_gnuplot_without_pdf_is_a_missing_component},
        {"a_picture_is_whole_whatever_its_bytes", a_picture_is_whole_whatever_its_bytes},
        {"a_gnuplot_that_is_set_up_draws_the_same", a_gnuplot_that_is_set_up_draws_the_same},
        {"few_descriptors_are_an_error_soon", few_descriptors_are_an_error_soon},
        {"a_failure_leaves_files_as_they_were", a_failure_leaves_files_as_they_were},
        {"a_limit_of_files_is_an_error", a_limit_of_files_is_an_error},
        {"a_limit_of_descriptors_is_an_error", a_limit_of_descriptors_is_an_error},
        {"a_limit_of_processes_is_an_error", a_limit_of_processes_is_an_error},
        {"more_memory_than_there_is_is_refused", more_memory_than_there_is_is_refused},
        {"a_control_group_is_asked_before_it_kills", a_control_group_is_asked_before_it_kills},
    };
    return suite_run("surroundings", cases, sizeof cases / sizeof cases[0]);
}
