/*
 * ronde run in several processes: forked, or started one by one.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/comm.h"
#include "ronde/executors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Output and exit status of a command line, in which RONDE stands for the program. */
static int run(const char *words, char **said)
{
    char command[2048];
    snprintf(command, sizeof command, "{ RONDE='%s'; %s; } 2>&1", suite_ronde(), words);
    return files_command(command, said);
}

static void expect(const char *words, int code, const char *part)
{
    char *said = NULL;
    const int got = run(words, &said);
    CU_ASSERT_EQUAL(got, code);
    CU_ASSERT_PTR_NOT_NULL(said);
    CU_ASSERT(said && strstr(said, part) != NULL);
    if (got != code || !said || !strstr(said, part))
        suite_note("%s\nexit %d: %s", words, got, said ? said : "");
    free(said);
}

#define POINT " -b 64 -e 64 -n 3 -w 1 "

static void forked_ranks_check_and_measure(void)
{
    expect("$RONDE run all_reduce -N 3 --backend proc" POINT, 0, "Out of bounds values : 0 OK");
    expect("$RONDE run all_gather -N 4 --backend proc --slot 64 --depth 2 -b 4K -e 4K -n 2", 0,
           "Out of bounds values : 0 OK");
    expect("$RONDE run broadcast -N 2 -r 1 --backend proc -c 0" POINT, 0, "Not checked");
    expect("$RONDE run broadcast -N 2 --backend proc -c 0 -b 64 -e 256 -n 2 -w 1 | "
           "grep -c -E '^ +(64|256) +float32 '",
           0, "4\n");
    expect("$RONDE run all_reduce -N 3 --backend proc --protocol pull" POINT, 0,
           "Out of bounds values : 0 OK");
    expect("$RONDE run all_reduce -N 3 --backend proc --protocol push -b 64 -e 1M -n 2 -w 1", 0,
           "Out of bounds values : 0 OK");
    expect("$RONDE run all_gather -N 3 --backend proc --buffers user -b 1M -e 1M -n 2", 0,
           "Out of bounds values : 0 OK");
    expect("$RONDE run barrier -N 3 --backend proc -n 3", 0, "Out of bounds values : 0 OK");
    expect("$RONDE run all_reduce -N 1 --backend proc" POINT, 0, "Out of bounds values : 0 OK");
}

static void ranks_started_one_by_one_meet(void)
{
    char words[512];
    const char *const both = "$RONDE run all_reduce -N 2 --backend proc" POINT;
    /* On one machine the token alone is enough. */
    snprintf(words, sizeof words,
             "%s --rank 1 --token one-by-one-%d & %s --rank 0 --token one-by-one-%d; wait", both,
             (int)getpid(), both, (int)getpid());
    expect(words, 0, "Out of bounds values : 0 OK");
    /* As a launcher would. */
    snprintf(words, sizeof words,
             "export RONDE_RANKS=2 RONDE_TOKEN=launched-%d; RONDE_RANK=1 $RONDE run all_reduce "
             "--backend proc" POINT "& RONDE_RANK=0 $RONDE run all_reduce --backend proc" POINT
             "; wait",
             (int)getpid());
    expect(words, 0, ", 2 ranks, backend proc");
}

/* Rank 0 with one end of a command line, rank 1 with another. */
static void expect_quarrel(const char *of_rank_0, const char *of_rank_1, const char *part)
{
    char words[512];
    const char *const both = "$RONDE run all_reduce -N 2 --backend proc";
    snprintf(words, sizeof words,
             "%s --rank 1 --token terms-%d %s >/dev/null 2>&1 & %s --rank 0 --token terms-%d %s; "
             "CODE=$?; wait; exit $CODE",
             both, (int)getpid(), of_rank_1, both, (int)getpid(), of_rank_0);
    expect(words, 1, part);
}

static void ranks_that_were_told_different_things_say_so(void)
{
    expect_quarrel("-b 64 -e 64 -n 3", "-b 64 -e 64 -n 5",
                   "rank 0 was started with -n 3, rank 1 with -n 5: give all ranks the same");
    expect_quarrel("-b 64 -e 64 -c 0", "-b 64 -e 64", "-c 0, rank 1 with -c 1");
    expect_quarrel("-b 64 -e 64 -w 5", "-b 64 -e 64", "-w 5, rank 1 with no -w");
    expect_quarrel("-b 64 -e 64", "-b 64 -e 128", "-e 64, rank 1 with -e 128");
    expect_quarrel("-b 64 -e 64 -d int32", "-b 64 -e 64", "disagree about the element type");
    expect_quarrel("-b 64 -e 64 -a tree", "-b 64 -e 64 -a ring",
                   "rank 0 was started with -a tree, rank 1 with -a ring");
    expect_quarrel("-b 64 -e 64 -a race", "-b 64 -e 64", "with -a race, rank 1 with no -a");
    expect_quarrel("-b 64 -e 64 --channels 2", "-b 64 -e 64", "disagree about the schedule");
}

static void command_lines_that_make_no_team_are_refused(void)
{
    expect("$RONDE run all_reduce --backend proc --rank 0 --token t" POINT, 2, "-N is missing");
    expect("$RONDE run all_reduce -N 2 --backend proc --rank 0" POINT, 2, "need --token");
    expect("$RONDE run all_reduce -N 2 --backend proc --token t" POINT, 2, "--rank is missing");
    expect("$RONDE run all_reduce -N 2 --backend proc --rank 2 --token t" POINT, 2,
           "rank 2 of 2 ranks does not exist");
    expect("$RONDE run all_reduce -N 2 --backend proc --rank 0 --token t --join nowhere" POINT, 2,
           "is not HOST:PORT");
    expect("$RONDE run all_reduce -N 2 --backend proc --rank 0 --token t --join :77" POINT, 2,
           "is not HOST:PORT");
    expect("RONDE_RANK=0 RONDE_RANKS=3 $RONDE run all_reduce -N 2 --backend proc" POINT, 2,
           "ronde has started 3 processes");
    expect("$RONDE run all_reduce -N 2 --backend proc --buffers odd" POINT, 2,
           "there are registered, user");
    expect("$RONDE run all_reduce -N 3 -a recursive_halving --backend proc" POINT, 2,
           "recursive_halving");
}

/* Two processes of one job, which nobody has told that they are processes. */
static void what_is_for_processes_takes_their_backend(void)
{
    char words[512];
    const char *const both = "$RONDE run all_reduce -N 2" POINT;
    snprintf(words, sizeof words,
             "%s --rank 1 --token taken-%d & %s --rank 0 --token taken-%d; wait", both,
             (int)getpid(), both, (int)getpid());
    expect(words, 0, ", 2 ranks, backend proc");
    snprintf(words, sizeof words, "%s --rank 0..1 --join 127.0.0.1:%d --token taken", both,
             22000 + (int)(getpid() % 8000));
    expect(words, 0, ", 2 ranks, backend proc");
    expect("$RONDE run all_reduce -N 2 --buffers user" POINT, 0, ", 2 ranks, backend proc");
    /* Under a launcher, whose number of ranks is taken, with and without -N. */
    snprintf(words, sizeof words,
             "export RONDE_RANKS=2 RONDE_TOKEN=taken-%d; RONDE_RANK=1 $RONDE run all_reduce" POINT
             "& RONDE_RANK=0 $RONDE run all_reduce -N 2" POINT "; wait",
             (int)getpid());
    expect(words, 0, ", 2 ranks, backend proc");
    /* A process that a launcher has started alone is none of several. */
    struct ronde_machine machine;
    const bool has_cpu =
        ronde_executor_probe(ronde_executor_find("cpu"), &machine, NULL) == RONDE_OK;
    expect("RONDE_RANK=0 RONDE_RANKS=1 $RONDE run all_reduce -N 2" POINT, has_cpu ? 0 : 3,
           has_cpu ? ", backend cpu" : "cpu: built without");
}

static void what_the_backend_has_no_use_for_is_refused(void)
{
    expect("$RONDE run all_reduce -N 2 --backend cpu --rank 0 --token t" POINT, 2,
           "--rank is for ranks that are processes, backends proc, ucx, hybrid; those of cpu are "
           "threads");
    expect("$RONDE run all_reduce -N 2 --backend host --buffers registered" POINT, 2,
           "--buffers is for ranks that are processes");
    expect("$RONDE run all_reduce -N 2 --backend cpu --transport ucx" POINT, 2,
           "--transport is for ranks that are processes");
    expect("$RONDE run all_reduce -N 2 --launcher ssh" POINT, 2, "--hosts is missing");
    expect("$RONDE run all_reduce -N 2 --seed 3" POINT, 2,
           "--seed orders the steps of --backend "
           "host; cpu has no use for it");
    expect("$RONDE run all_reduce -N 2 --backend proc --seed 3" POINT, 2, "proc has no use for it");
    expect("$RONDE run all_reduce -N 2 --backend host --seed 3" POINT, 0,
           "Out of bounds values : 0 OK");
}

static void a_rank_that_never_comes_is_a_failure(void)
{
    char words[256];
    snprintf(words, sizeof words,
             "$RONDE run all_reduce -N 2 --backend proc --rank 0 --token absent-%d --timeout 0.3",
             (int)getpid());
    expect(words, 4, "have not arrived at rank 0 within 0.3 s: 1");
}

static void results_are_printed_once(void)
{
    char *said = NULL;
    CU_ASSERT_EQUAL(run("$RONDE run all_reduce -N 3 --backend proc --csv" POINT, &said), 0);
    unsigned lines = 0;
    for (const char *at = said; at && *at; at++)
        lines += *at == '\n';
    /* A head, and a line for each placement. */
    CU_ASSERT_EQUAL(lines, 3);
    CU_ASSERT(said && strstr(said, "proc") != NULL);
    free(said);
}

/* A launcher that tells its host apart by name only; the host "lost" cannot be reached. */
static void write_launcher(char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/launcher-%d", RONDE_SCRATCH_DIR, (int)getpid());
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("#!/bin/sh\n[ $1 = lost ] && exit 255\nexport RONDE_HOST_ID=$1\nshift\nexec \"$@\"\n",
          file);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(chmod(path, 0700), 0);
}

static void expect_hosts(const char *words, int code, const char *part)
{
    char path[400];
    char line[1024];
    write_launcher(path, sizeof path);
    snprintf(line, sizeof line, "$RONDE run all_reduce --launcher %s -n 3 -w 1 %s", path, words);
    expect(line, code, part);
    (void)remove(path);
}

static void hosts_get_equal_shares_of_the_ranks(void)
{
    const char *reason = NULL;
    expect_hosts("-N 3 --backend proc --hosts localhost,b -b 64 -e 64", 0,
                 "Out of bounds values : 0 OK");
    expect_hosts("--backend proc --hosts=localhost,b,c -b 64 -e 64", 0, "3 ranks, backend proc");
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_note("%s", reason);
        return;
    }
    expect_hosts("-N 4 --backend ucx --hosts localhost,b -b 64 -e 64", 0, "backend hybrid");
    expect_hosts("-N 4 --backend ucx --transport ucx --hosts localhost,b -b 64 -e 64", 0,
                 "backend ucx");
}

static void a_host_that_cannot_be_reached_ends_the_others(void)
{
    expect_hosts("-N 4 --backend proc --hosts localhost,lost -b 64 -e 64", 4,
                 "host lost: its launcher ended with code 255");
}

/*
 * A launcher that leaves what it has started behind when it is ended, as ssh does. Every process it starts holds the pipe
 * "over" open for writing, whose reader so learns when the last of them has gone.
 */
static void ranks_on_hosts_end_with_the_command(void)
{
    char folder[400];
    char words[1600];
    snprintf(folder, sizeof folder, "%s/remote-%d", RONDE_SCRATCH_DIR, (int)getpid());
    snprintf(words, sizeof words,
             "mkdir %s; cd %s; mkfifo over said; "
             "printf '#!/bin/sh\\nexec 9>over; export RONDE_HOST_ID=$1; shift; \"$@\"\\n' >launch; "
             "chmod +x launch; timeout 100 cat over & READER=$!; "
             "$RONDE run all_reduce -N 4 --backend proc --hosts localhost,b --launcher ./launch "
             "-b 1M -e 1M -n 10000000 -c 0 >said & RUN=$!; "
             "exec 8<said; read HEAD <&8; kill -TERM $RUN; wait $READER && echo all over; "
             "cd ..; rm -r %s",
             folder, folder, folder);
    expect(words, 0, "all over");
}

static void hosts_that_make_no_sense_are_refused(void)
{
    expect_hosts("-N 2 --backend cpu --hosts a,b -b 64 -e 64", 2,
                 "--hosts is for ranks that are processes");
    expect_hosts("-N 2 --backend proc --hosts a,b,c -b 64 -e 64", 2, "2 ranks on 3 hosts");
    expect_hosts("-N 2 --backend proc --hosts , -b 64 -e 64", 2, "are needed");
    expect_hosts("-N 2 --backend proc --hosts a,-b -b 64 -e 64", 2, "is no host");
    expect_hosts("-N 2 --backend proc --hosts a,b --output 'a file' -b 64 -e 64", 2,
                 "argument \"a file\" contains characters the remote shell would change");
    expect("$RONDE run all_reduce -N 2 --backend proc --hosts a,b --launcher ' '" POINT, 2,
           "is no command");
    expect("$RONDE run all_reduce -N 2 --backend proc --transport ucx" POINT, 2,
           "belongs to --backend ucx");
    expect("$RONDE run all_reduce -N 2 --backend ucx --transport carrier" POINT, 2,
           "unknown transport \"carrier\"");
    expect("$RONDE run all_reduce -N 4 --backend proc --rank 2..4 --token t" POINT, 2,
           "rank 4 of 4 ranks does not exist");
    expect("$RONDE run all_reduce -N 4 --backend proc --rank 2..x --token t" POINT, 2,
           "rank \"x\" is not a whole number");
    expect("$RONDE run all_reduce -N 4 --backend proc --rank 2 --token - </dev/null" POINT, 2,
           "is no token");
}

static void ranks_may_be_made_in_groups(void)
{
    char words[512];
    const char *const both = "$RONDE run all_reduce -N 4 --backend proc" POINT;
    snprintf(words, sizeof words,
             "echo groups-%d | %s --rank 1..3 --token - & %s --rank 0 --token groups-%d; wait",
             (int)getpid(), both, both, (int)getpid());
    expect(words, 0, "Out of bounds values : 0 OK");
}

/* A launcher that is installed starts two ranks, which find each other by what it calls the job. */
static bool launch_with(const char *launcher, const char *options)
{
    char words[512];
    char *path = NULL;
    snprintf(words, sizeof words, "command -v %s", launcher);
    const bool is_here = run(words, &path) == 0;
    free(path);
    if (!is_here) {
        suite_note("%s is not installed", launcher);
        return false;
    }
    snprintf(words, sizeof words, "%s %s -n 2 $RONDE run all_reduce --backend proc" POINT, launcher,
             options);
    expect(words, 0, ", 2 ranks, backend proc");
    /* One job and one table, also where nobody says that ranks are processes. */
    snprintf(words, sizeof words,
             "%s %s -n 2 $RONDE run all_reduce -N 2" POINT "| grep -c 'ranks, backend proc'",
             launcher, options);
    expect(words, 0, "1\n");
    return true;
}

static void mpi_launchers_start_ranks(void)
{
    const bool has_open = launch_with("mpirun.openmpi", "--allow-run-as-root --oversubscribe");
    const bool has_mpich = launch_with("mpiexec.hydra", "");
    if (!has_open && !has_mpich)
        suite_skip("neither Open MPI nor MPICH is installed (apt: openmpi-bin, mpich)");
}

/* torchrun says where its own store is; the ranks meet beside it. */
static void the_environment_of_torchrun_is_enough(void)
{
    char words[512];
    snprintf(words, sizeof words,
             "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d TORCHELASTIC_RUN_ID=job; "
             "RANK=1 $RONDE run all_reduce --backend proc" POINT
             "& RANK=0 $RONDE run all_reduce --backend proc" POINT "; wait",
             21000 + (int)(getpid() % 8000));
    expect(words, 0, ", 2 ranks, backend proc");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"forked_ranks_check_and_measure", forked_ranks_check_and_measure},
        {"ranks_started_one_by_one_meet", ranks_started_one_by_one_meet},
        {"ranks_that_were_told_different_things_say_so",
         ranks_that_were_told_different_things_say_so},
        {"command_lines_that_make_no_team_are_refused", command_lines_that_make_no_team_are_refused},
        {"what_is_for_processes_takes_their_backend", what_is_for_processes_takes_their_backend},
        {"what_the_backend_has_no_use_for_is_refused", what_the_backend_has_no_use_for_is_refused},
        {"a_rank_that_never_comes_is_a_failure", a_rank_that_never_comes_is_a_failure},
        {"results_are_printed_once", results_are_printed_once},
        {"mpi_launchers_start_ranks", mpi_launchers_start_ranks},
        {"the_environment_of_torchrun_is_enough", the_environment_of_torchrun_is_enough},
        {"ranks_may_be_made_in_groups", ranks_may_be_made_in_groups},
        {"hosts_get_equal_shares_of_the_ranks", hosts_get_equal_shares_of_the_ranks},
        {"a_host_that_cannot_be_reached_ends_the_others",
         a_host_that_cannot_be_reached_ends_the_others},
        {"ranks_on_hosts_end_with_the_command", ranks_on_hosts_end_with_the_command},
        {"hosts_that_make_no_sense_are_refused", hosts_that_make_no_sense_are_refused},
    };
    return suite_run("processes", cases, sizeof cases / sizeof cases[0]);
}
