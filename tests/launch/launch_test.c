/*
 * Real launchers: srun under a Slurm of the test's own, ssh to a server of the test's own, mpirun and hydra on hosts of the
 * test's own. Absent ones are skipped.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A script ends so where what it needs is not here. */
#define ABSENT 77

/* What ranks do, in a shell, and what rank 0 prints when all was right. */
#define POINT " -b 4K -e 4K -n 3 -w 1"
#define RIGHT "Out of bounds values : 0 OK"

/* Where a script and all that it starts work. */
static void name_folder(char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/launch-%d", RONDE_SCRATCH_DIR, (int)getpid());
}

/* Runs words of a shell under a script of this folder; what they print, or NULL after a visible skip. */
static char *run_under(const char *script, const char *words, int *out_code)
{
    char folder[400];
    char path[400];
    char command[4096];
    char *said = NULL;
    name_folder(folder, sizeof folder);
    if (!suite_source(path, sizeof path, script))
        return NULL;
    snprintf(command, sizeof command, "RONDE='%s' %s %s bash -c '%s' 2>&1", suite_ronde(), path,
             folder, words);
    *out_code = files_command(command, &said);
    if (*out_code != ABSENT)
        return said;
    suite_skip("%.*s", said ? (int)strcspn(said, "\n") : 0, said ? said : "");
    free(said);
    return NULL;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* So many runs of the words must be right, and all of them together end with a code. */
static void expect(const char *script, const char *words, int code, const char *part, unsigned times)
{
    int got = 0;
    char *said = run_under(script, words, &got);
    if (!said)
        return;
    CU_ASSERT_EQUAL(got, code);
    CU_ASSERT_EQUAL(count_of(said, part), times);
    if (got != code || count_of(said, part) != times)
        suite_note("%s\nexit %d: %s", words, got, said);
    free(said);
}

#define SLURM "tests/launch/with-slurm"
#define SSHD "tests/launch/with-sshd"
#define HOSTS "tests/launch/with-hosts"

/* PMIx's own library leaves some bytes behind, which is no fault of ours. */
#define NO_LEAKS "export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0; "

/* Ends as an absent script does where a launcher is not here. */
#define NEEDS(tool, package)                                                                       \
    "command -v " tool " >/dev/null || { echo \"" tool " is not installed (apt: " package          \
    ")\"; exit 77; }; "

static void srun_starts_ranks_on_one_host(void)
{
    expect(SLURM, "srun -Q -N 1 -n 4 $RONDE run all_reduce --backend proc" POINT, 0, RIGHT, 1);
}

/* They are told apart, or one's ranks would connect to another's rank 0. */
static void steps_of_one_job_run_side_by_side(void)
{
    expect(SLURM,
           "salloc -Q -N 1 bash -c \"for K in 1 2 3; do "
           "srun -Q --overlap -n 2 $RONDE run all_reduce --backend proc --timeout 30" POINT
           " & done; wait\"",
           0, RIGHT, 3);
}

/* Rank 0's host follows from Slurm's list of hosts alone. */
static void srun_starts_ranks_on_several_hosts(void)
{
    expect(SLURM,
           "srun -Q -N 3 -n 6 $RONDE run all_reduce --backend proc" POINT
           " && srun -Q -N 3 -n 6 -m cyclic $RONDE run all_gather --backend proc" POINT,
           0, RIGHT, 2);
}

static void hosts_of_slurm_reach_each_other_by_ucx(void)
{
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_skip("%s", reason);
        return;
    }
    expect(SLURM,
           "export UCX_TLS=tcp,self; srun -Q -N 2 -n 4 bash -c "
           "\"RONDE_HOST_ID=\\$SLURMD_NODENAME exec $RONDE run all_reduce --backend ucx" POINT
           "\" && srun -Q -N 2 -n 4 $RONDE run all_reduce --backend ucx --transport ucx" POINT,
           0, RIGHT, 2);
}

/* A shell of one task is no rank, whatever its environment holds. */
static void a_shell_of_srun_forks_ranks(void)
{
    expect(SLURM, "srun -Q -n 1 $RONDE run all_reduce -N 3 --backend proc" POINT, 0, RIGHT, 1);
}

/*
 * Process managers that srun offers to MPI, on one host and on several, for one command and for two in a row; what this
 * Slurm lacks is left out.
 */
static void process_managers_of_srun_join_hosts(void)
{
    expect(SLURM,
           NO_LEAKS "RUN=\"$RONDE run all_reduce --backend proc" POINT "\"; "
                    "for KIND in none pmi2 pmix; do "
                    "if srun -Q --mpi=$KIND true 2>/dev/null; then "
                    "srun -Q -N 1 -n 3 --mpi=$KIND $RUN && srun -Q -N 3 -n 6 --mpi=$KIND "
                    "bash -c \"$RUN && $RUN\" || exit 1; "
                    "else for K in 1 2 3; do echo \"" RIGHT "\"; done; fi; done",
           0, RIGHT, 9);
}

/* Slurm writes down where hosts meet; only a manager has them meet elsewhere. */
static void a_process_manager_comes_before_the_list_of_hosts(void)
{
    expect(SLURM,
           NO_LEAKS
           "srun -Q --mpi=pmi2 true 2>/dev/null || { echo this Slurm has no PMI; exit 77; }; "
           "export SLURM_STEP_NODELIST=no.such.host.invalid; "
           "srun -Q -N 3 -n 6 --mpi=pmi2 bash -c \"SLURM_STEP_NODELIST=no.such.host.invalid "
           "exec $RONDE run all_reduce --backend proc" POINT "\"",
           0, RIGHT, 1);
}

/* Task 1 never becomes a rank. */
static void a_task_that_ends_early_is_named(void)
{
    expect(SLURM,
           "srun -Q -N 1 -n 3 bash -c \"[ \\$SLURM_PROCID = 1 ] || exec $RONDE run all_reduce "
           "--backend proc --timeout 2" POINT "\"; [ $? = 4 ]",
           0, "have not arrived at rank 0 within 2 s: 1", 2);
}

/*
 * The outer launcher's variables are all there. Each of the two Open MPIs that srun starts has a folder of its own: both make
 * the one below /tmp otherwise, and the second calls that an error.
 */
static void launchers_inside_launchers_are_told_apart(void)
{
    expect(
        SLURM,
        NEEDS("mpirun.openmpi", "openmpi-bin") NEEDS("mpiexec.hydra", "mpich") NO_LEAKS
        "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
        "RUN=\"$RONDE run all_reduce --backend proc" POINT "\"; "
        "MPI=\"mpirun.openmpi --host localhost:4 --mca plm isolated --mca ras ^slurm "
        "--oversubscribe -n\"; HYDRA=\"mpiexec.hydra -launcher fork -rmk user -n\"; "
        "srun -Q -N 1 -n 2 --mpi=pmi2 sh -c \"d=\\$(mktemp -d); TMPDIR=\\$d \\\"\\$@\\\"; s=\\$?; "
        "rm -rf \\$d; exit \\$s\" sh $MPI 3 $RUN && srun -Q -N 1 -n 2 "
        "--mpi=pmi2 $HYDRA 3 $RUN "
        "&& $MPI 1 srun -Q -N 1 -n 3 --mpi=none $RUN && $HYDRA 1 $MPI 3 $RUN && "
        "$MPI 1 $HYDRA 3 $RUN",
        0, RIGHT, 7);
}

/* Rank 0's address comes from PMIx alone. */
static void mpirun_starts_ranks_on_several_hosts(void)
{
    const char *reason = NULL;
    if (!ronde_pmix_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    expect(HOSTS,
           NEEDS("mpirun.openmpi", "openmpi-bin") NO_LEAKS
           "$MPIRUN $RONDE run all_reduce --backend proc" POINT
           " && $MPIRUN $RONDE run all_gather --backend proc --join 10.88.0.1:7700" POINT,
           0, RIGHT, 2);
}

/* Nor but PMI, over hydra's socket and at its port. */
static void hydra_starts_ranks_on_several_hosts(void)
{
    expect(HOSTS,
           NEEDS("mpiexec.hydra",
                 "mpich") "$HYDRA $RONDE run all_reduce --backend proc" POINT
                          " && $HYDRA -pmi-port $RONDE run all_gather --backend proc" POINT,
           0, RIGHT, 2);
}

static void hosts_of_mpirun_and_hydra_reach_each_other_by_ucx(void)
{
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason) || !ronde_pmix_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    expect(HOSTS,
           NEEDS("mpirun.openmpi", "openmpi-bin") NEEDS("mpiexec.hydra", "mpich") NO_LEAKS
           "export UCX_TLS=tcp,self; $MPIRUN -x UCX_TLS $RONDE run all_reduce --backend ucx" POINT
           " && $HYDRA $RONDE run all_reduce --backend ucx" POINT,
           0, RIGHT, 2);
}

/* Hydra hangs up on a second command of one launch; its ranks meet by a token then. */
static void the_error_names_what_was_tried(void)
{
    expect(HOSTS,
           NEEDS("mpiexec.hydra", "mpich") "RUN=\"$RONDE run all_reduce --backend proc" POINT
                                           "\"; mpiexec.hydra -n 2 bash -c "
                                           "\"$RUN && $RUN --token second && ! $RUN\" 2>&1 | grep "
                                           "-E \"tried before: pmi|" RIGHT
                                           "\" | cut -c 1-120 | sort | uniq -c",
           0, "2 # " RIGHT, 1);
}

static void ssh_starts_ranks_on_hosts(void)
{
    expect(SSHD,
           "$RONDE run all_reduce -N 4 --backend proc --hosts localhost,127.0.0.1 "
           "--launcher \"$SSH\"" POINT
           " && $RONDE run all_reduce -N 2 --backend proc --hosts ::1,127.0.0.1 "
           "--launcher \"$SSH\"" POINT,
           0, RIGHT, 2);
}

static void hosts_of_ssh_reach_each_other_by_ucx(void)
{
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_skip("%s", reason);
        return;
    }
    expect(SSHD,
           "export UCX_TLS=tcp,self; $RONDE run all_reduce -N 4 --backend ucx --transport ucx "
           "--hosts localhost,127.0.0.1 --launcher \"$SSH\"" POINT,
           0, RIGHT, 1);
}

static void a_host_without_a_server_is_named(void)
{
    expect(SSHD,
           "$RONDE run all_reduce -N 2 --backend proc --hosts localhost,no.such.host.invalid "
           "--launcher \"$SSH\"" POINT,
           4, "ronde: host no.such.host.invalid: its launcher ended with code 255", 1);
}

/*
 * ssh ends with the command that started it; what it has started would not. Each rank's first file is a pipe whose reader
 * learns when the last of them has gone.
 */
static void ranks_of_ssh_end_with_the_command(void)
{
    char folder[400];
    char words[2048];
    name_folder(folder, sizeof folder);
    snprintf(
        words, sizeof words,
        "cd %s; mkfifo over said; printf \"#!/bin/bash\\nexec 9>%s/over; exec \\\"\\$@\\\"\\n\" "
        ">held; chmod +x held; printf \"#!/bin/bash\\nHOST=\\$1; shift; "
        "exec $SSH \\$HOST %s/held \\\"\\$@\\\"\\n\" >launch; chmod +x launch; "
        "timeout 100 cat over & READER=$!; "
        "$RONDE run all_reduce -N 4 --backend proc --hosts localhost,127.0.0.1 "
        "--launcher ./launch -b 1M -e 1M -n 10000000 -c 0 >said & RUN=$!; "
        "exec 8<said; read HEAD <&8; kill -TERM $RUN; wait $READER && echo all over",
        folder, folder, folder);
    expect(SSHD, words, 0, "all over", 1);
}

/* What docs/examples/all_reduce.c says as rank 0 of so many. */
#define SUM_OF_3 "3 ranks add up to 6"
#define SUM_OF_6 "6 ranks add up to 21"

/* A program of the library's user, started by words of a shell. */
static void expect_example(const char *words, const char *part, unsigned times)
{
    char command[2048];
    char *said = NULL;
    snprintf(command, sizeof command, "PROGRAM='%s'; { %s } 2>&1", RONDE_EXAMPLE, words);
    const int code = files_command(command, &said);
    if (code == ABSENT) {
        suite_skip("%.*s", (int)strcspn(said, "\n"), said);
    } else {
        CU_ASSERT_EQUAL(code, 0);
        CU_ASSERT_EQUAL(count_of(said, part), times);
        if (code != 0 || count_of(said, part) != times)
            suite_note("%s\nexit %d: %s", words, code, said);
    }
    free(said);
}

static void a_program_runs_alone_and_by_hand(void)
{
    expect_example("$PROGRAM;", "1 ranks add up to 1", 1);
    expect_example(
        "for R in 0 1 2; do RONDE_RANK=$R RONDE_RANKS=3 RONDE_TOKEN=by-hand-$$ $PROGRAM & "
        "done; wait;",
        SUM_OF_3, 1);
}

static void a_program_runs_under_mpirun(void)
{
    expect_example(NEEDS("mpirun.openmpi", "openmpi-bin") NO_LEAKS
                   "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
                   "mpirun.openmpi --oversubscribe -n 3 $PROGRAM;",
                   SUM_OF_3, 1);
}

static void a_program_runs_under_hydra(void)
{
    expect_example(NEEDS("mpirun.mpich", "mpich") "mpirun.mpich -n 3 $PROGRAM;", SUM_OF_3, 1);
}

/* torchrun is its environment, whose port the next one is ronde's. */
static void a_program_runs_under_torchrun(void)
{
    expect_example("export WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 TORCHELASTIC_RUN_ID=run-$$ "
                   "MASTER_PORT=$((20000 + $$ % 9000)); "
                   "for R in 0 1 2; do RANK=$R LOCAL_RANK=$R $PROGRAM & done; wait;",
                   SUM_OF_3, 1);
}

static void a_program_runs_under_srun(void)
{
    expect(SLURM,
           "srun -Q -N 1 -n 3 " RONDE_EXAMPLE " && srun -Q -N 3 -n 6 " RONDE_EXAMPLE
           " | sed \"s/" SUM_OF_6 "/" SUM_OF_3 "/\"",
           0, SUM_OF_3, 2);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_program_runs_alone_and_by_hand", a_program_runs_alone_and_by_hand},
        {"a_program_runs_under_mpirun", a_program_runs_under_mpirun},
        {"a_program_runs_under_hydra", a_program_runs_under_hydra},
        {"a_program_runs_under_torchrun", a_program_runs_under_torchrun},
        {"a_program_runs_under_srun", a_program_runs_under_srun},
        {"srun_starts_ranks_on_one_host", srun_starts_ranks_on_one_host},
        {"steps_of_one_job_run_side_by_side", steps_of_one_job_run_side_by_side},
        {"srun_starts_ranks_on_several_hosts", srun_starts_ranks_on_several_hosts},
        {"hosts_of_slurm_reach_each_other_by_ucx", hosts_of_slurm_reach_each_other_by_ucx},
        {"a_shell_of_srun_forks_ranks", a_shell_of_srun_forks_ranks},
        {"process_managers_of_srun_join_hosts", process_managers_of_srun_join_hosts},
        {"a_process_manager_comes_before_the_list_of_hosts",
         a_process_manager_comes_before_the_list_of_hosts},
        {"launchers_inside_launchers_are_told_apart", launchers_inside_launchers_are_told_apart},
        {"mpirun_starts_ranks_on_several_hosts", mpirun_starts_ranks_on_several_hosts},
        {"hydra_starts_ranks_on_several_hosts", hydra_starts_ranks_on_several_hosts},
        {"hosts_of_mpirun_and_hydra_reach_each_other_by_ucx",
         hosts_of_mpirun_and_hydra_reach_each_other_by_ucx},
        {"the_error_names_what_was_tried", the_error_names_what_was_tried},
        {"a_task_that_ends_early_is_named", a_task_that_ends_early_is_named},
        {"ssh_starts_ranks_on_hosts", ssh_starts_ranks_on_hosts},
        {"hosts_of_ssh_reach_each_other_by_ucx", hosts_of_ssh_reach_each_other_by_ucx},
        {"a_host_without_a_server_is_named", a_host_without_a_server_is_named},
        {"ranks_of_ssh_end_with_the_command", ranks_of_ssh_end_with_the_command},
    };
    return suite_run("launch", cases, sizeof cases / sizeof cases[0]);
}
