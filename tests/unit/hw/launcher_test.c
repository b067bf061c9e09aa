/*
 * Which launcher started a process: one complete set of variables, never a mixture.
 */
#include "support/suite.h"

#include "ronde/comm.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An environment: names and values, ended by NULL. */
static const char *look_up(void *self, const char *name)
{
    const char *const *variables = self;
    for (; *variables; variables += 2)
        if (strcmp(*variables, name) == 0)
            return variables[1];
    return NULL;
}

static struct ronde_launcher find(const char *const *variables)
{
    struct ronde_launcher launcher;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_launcher_find(look_up, (void *)variables, &launcher, &error), RONDE_OK);
    return launcher;
}

static void a_process_without_variables_has_no_launcher(void)
{
    const char *const none[] = {NULL};
    const struct ronde_launcher launcher = find(none);
    CU_ASSERT_PTR_NULL(launcher.name);
    CU_ASSERT_EQUAL(launcher.rank, 0);
    CU_ASSERT_EQUAL(launcher.ranks, 1);
}

static void every_launcher_is_known_by_its_set(void)
{
    const char *const torchrun[] = {"RANK",        "3",           "WORLD_SIZE",
                                    "8",           "MASTER_ADDR", "10.0.0.1",
                                    "MASTER_PORT", "29500",       "TORCHELASTIC_RUN_ID",
                                    "job7",        NULL};
    const char *const open_mpi[] = {
        "OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2", "PMIX_NAMESPACE", "1234.1", NULL};
    const char *const pmi[] = {"PMI_RANK", "0", "PMI_SIZE", "4", NULL};
    const char *const slurm[] = {
        "SLURM_PROCID", "5", "SLURM_NTASKS", "6", "SLURM_STEP_ID", "0", "SLURM_JOB_ID", "99", NULL};
    struct ronde_launcher launcher = find(torchrun);
    CU_ASSERT_STRING_EQUAL(launcher.name, "torchrun");
    CU_ASSERT_EQUAL(launcher.rank, 3);
    CU_ASSERT_EQUAL(launcher.ranks, 8);
    CU_ASSERT_STRING_EQUAL(launcher.host, "10.0.0.1");
    /* Its own store sits at MASTER_PORT. */
    CU_ASSERT_EQUAL(launcher.port, 29501);
    CU_ASSERT_STRING_EQUAL(launcher.token, "job7");
    launcher = find(open_mpi);
    CU_ASSERT_STRING_EQUAL(launcher.name, "open mpi");
    CU_ASSERT_STRING_EQUAL(launcher.token, "1234.1");
    CU_ASSERT_STRING_EQUAL(launcher.host, "");
    launcher = find(pmi);
    CU_ASSERT_STRING_EQUAL(launcher.name, "pmi");
    CU_ASSERT_EQUAL(launcher.ranks, 4);
    launcher = find(slurm);
    CU_ASSERT_STRING_EQUAL(launcher.name, "slurm");
    CU_ASSERT_EQUAL(launcher.rank, 5);
}

/* A step of Slurm's on some hosts. */
static struct ronde_launcher find_step(const char *step, const char *hosts, const char *count)
{
    const char *const variables[] = {"SLURM_PROCID",
                                     "0",
                                     "SLURM_NTASKS",
                                     "4",
                                     "SLURM_STEP_ID",
                                     step,
                                     "SLURM_JOB_ID",
                                     "99",
                                     "SLURM_STEP_NODELIST",
                                     hosts,
                                     "SLURM_STEP_NUM_NODES",
                                     count,
                                     NULL};
    return find(variables);
}

static void steps_of_a_slurm_job_are_distinguished(void)
{
    const struct ronde_launcher first = find_step("0", "n0", "1");
    const struct ronde_launcher second = find_step("1", "n0", "1");
    CU_ASSERT_STRING_EQUAL(first.token, "99.0");
    CU_ASSERT_STRING_EQUAL(second.token, "99.1");
    /* Ranks of one host need no address. */
    CU_ASSERT_STRING_EQUAL(first.host, "");
}

static void ranks_of_several_slurm_hosts_meet_at_the_first(void)
{
    static const char *const lists[][2] = {
        {"n[0-3]", "n0"},
        {"node[003-005,007],login1", "node003"},
        {"rack[1-2]n[7,9]-ib", "rack1n7-ib"},
        {"alpha,beta", "alpha"},
        {"10.0.0.[17-18]", "10.0.0.17"},
        /* Variables that Slurm never sets do no harm. */
        {"n[", "n"},
        {"n[1", "n1"},
        {"[]", ""},
    };
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        CU_ASSERT_STRING_EQUAL(find_step("0", lists[k][0], "2").host, lists[k][1]);
    const struct ronde_launcher first = find_step("0", "n[0-1]", "2");
    CU_ASSERT(first.port >= 20000 && first.port < 30000);
    CU_ASSERT_EQUAL(first.port, find_step("0", "n[0-1]", "2").port);
    CU_ASSERT_NOT_EQUAL(first.port, find_step("1", "n[0-1]", "2").port);
    char longest[2000];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CU_ASSERT_EQUAL(strlen(find_step("0", longest, "2").host), sizeof first.host - 1);
    longest[1] = '[';
    CU_ASSERT_EQUAL(strlen(find_step("0", longest, "2").host), sizeof first.host - 1);
}

static void the_first_complete_set_counts_and_none_is_completed_by_another(void)
{
    /* mpirun inside an allocation of Slurm. */
    const char *const nested[] = {"SLURM_PROCID",
                                  "0",
                                  "SLURM_NTASKS",
                                  "1",
                                  "SLURM_STEP_ID",
                                  "0",
                                  "OMPI_COMM_WORLD_RANK",
                                  "1",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "2",
                                  NULL};
    /* An interactive shell of Slurm: no step. */
    const char *const shell[] = {"SLURM_PROCID", "0", "SLURM_NTASKS", "4", NULL};
    /* Half of one and half of another. */
    const char *const halves[] = {"RANK", "1", "OMPI_COMM_WORLD_SIZE", "2", "PMI_SIZE", "3", NULL};
    const char *const own[] = {"RONDE_RANK",  "1",    "RONDE_RANKS", "2",          "RONDE_HOST",
                               "h",           "RANK", "0",           "WORLD_SIZE", "1",
                               "MASTER_ADDR", "x",    "RONDE_PORT",  "77",         NULL};
    const char *const empty[] = {"RANK", "", "WORLD_SIZE", "2", "MASTER_ADDR", "x", NULL};
    CU_ASSERT_STRING_EQUAL(find(nested).name, "open mpi");
    CU_ASSERT_PTR_NULL(find(shell).name);
    CU_ASSERT_PTR_NULL(find(halves).name);
    CU_ASSERT_PTR_NULL(find(empty).name);
    const struct ronde_launcher launcher = find(own);
    CU_ASSERT_STRING_EQUAL(launcher.name, "ronde");
    CU_ASSERT_STRING_EQUAL(launcher.host, "h");
    CU_ASSERT_EQUAL(launcher.port, 77);
}

/* Several nested launchers; the variables that only the innermost can have set decide. */
static struct ronde_launcher find_nested(const char *task, const char *job, const char *socket)
{
    const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                     "1",
                                     "OMPI_COMM_WORLD_SIZE",
                                     "2",
                                     "PMI_RANK",
                                     "2",
                                     "PMI_SIZE",
                                     "4",
                                     "SLURM_PROCID",
                                     "3",
                                     "SLURM_NTASKS",
                                     "6",
                                     "SLURM_STEP_ID",
                                     "0",
                                     "SLURM_JOB_ID",
                                     "9",
                                     "SLURM_TASK_PID",
                                     task,
                                     "PMIX_NAMESPACE",
                                     job,
                                     "PMI_FD",
                                     socket,
                                     NULL};
    return find(variables);
}

static void the_innermost_launcher_counts(void)
{
    int ends[2];
    char own[16], open[16], closed[16];
    struct ronde_launcher launcher;
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(own, sizeof own, "%d", (int)getpid());
    snprintf(open, sizeof open, "%d", ends[0]);
    snprintf(closed, sizeof closed, "%d", ends[1]);
    (void)close(ends[1]);
    /* Slurm's own task, and a program that such a task has started by mpirun. */
    CU_ASSERT_STRING_EQUAL(find_nested(own, "17", closed).name, "slurm");
    launcher = find_nested("1", "17", closed);
    CU_ASSERT_STRING_EQUAL(launcher.name, "open mpi");
    CU_ASSERT_EQUAL(launcher.rank, 1);
    CU_ASSERT_EQUAL(launcher.manager, RONDE_MANAGER_PMIX);
    /* Open MPI closes what its own launcher has opened; hydra's processes have it open. */
    launcher = find_nested("1", "17", open);
    CU_ASSERT_STRING_EQUAL(launcher.name, "pmi");
    CU_ASSERT_EQUAL(launcher.rank, 2);
    CU_ASSERT_EQUAL(launcher.manager, RONDE_MANAGER_PMI);
    CU_ASSERT_EQUAL(launcher.pmi, ends[0]);
    /* A shell of srun --mpi=pmix under mpirun: Open MPI's server would have another name. */
    launcher = find_nested("1", "slurm.pmix.9.0", closed);
    CU_ASSERT_STRING_EQUAL(launcher.name, "slurm");
    CU_ASSERT_EQUAL(launcher.manager, RONDE_MANAGER_PMIX);
    CU_ASSERT_STRING_EQUAL(find_nested("1", "slurm.pmix.9.0", open).name, "pmi");
    /* A task of Slurm does not use the process manager of another launcher. */
    CU_ASSERT_EQUAL(find_nested(own, "17", open).manager, RONDE_MANAGER_NONE);
    (void)close(ends[0]);
}

static void ranks_of_one_host_need_no_manager(void)
{
    const char *const mpirun[] = {"OMPI_COMM_WORLD_RANK",
                                  "1",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "2",
                                  "PMIX_NAMESPACE",
                                  "17",
                                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                                  "2",
                                  NULL};
    const char *const srun[] = {"SLURM_PROCID",
                                "0",
                                "SLURM_NTASKS",
                                "2",
                                "SLURM_STEP_ID",
                                "0",
                                "SLURM_JOB_ID",
                                "9",
                                "PMIX_NAMESPACE",
                                "slurm.pmix.9.0",
                                "SLURM_STEP_NUM_NODES",
                                "1",
                                NULL};
    CU_ASSERT_EQUAL(find(mpirun).manager, RONDE_MANAGER_NONE);
    CU_ASSERT_STRING_EQUAL(find(mpirun).token, "17");
    CU_ASSERT_EQUAL(find(srun).manager, RONDE_MANAGER_NONE);
    CU_ASSERT_STRING_EQUAL(find(srun).token, "9.0");
}

/* Hydra's -pmi-port sends rank and ranks only on request. */
static void a_launcher_that_must_be_asked_and_is_not_there_is_named(void)
{
    const char *const port[] = {"PMI_ID", "1", "PMI_PORT", "nowhere", NULL};
    struct ronde_launcher launcher;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_launcher_find(look_up, (void *)port, &launcher, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NULL(launcher.name);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "PMI_PORT=\"nowhere\""));
}

static void a_set_that_contradicts_itself_is_refused(void)
{
    const char *const sets[][11] = {
        {"PMI_RANK", "4", "PMI_SIZE", "4", NULL},
        {"PMI_RANK", "one", "PMI_SIZE", "4", NULL},
        {"PMI_RANK", "-1", "PMI_SIZE", "4", NULL},
        {"PMI_RANK", "0", "PMI_SIZE", "99999999999", NULL},
        {"RANK", "0", "WORLD_SIZE", "1", "MASTER_ADDR", "x", "MASTER_PORT", "65536", NULL},
    };
    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        struct ronde_launcher launcher;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_launcher_find(look_up, (void *)sets[k], &launcher, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(launcher.name);
        CU_ASSERT(strstr(error.message, "PMI_") || strstr(error.message, "MASTER_PORT"));
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_process_without_variables_has_no_launcher", a_process_without_variables_has_no_launcher},
        {"every_launcher_is_known_by_its_set", every_launcher_is_known_by_its_set},
        {"steps_of_a_slurm_job_are_distinguished", steps_of_a_slurm_job_are_distinguished},
        {"ranks_of_several_slurm_hosts_meet_at_the_first",
         ranks_of_several_slurm_hosts_meet_at_the_first},
        {"the_first_complete_set_counts_and_none_is_completed_by_another",
         the_first_complete_set_counts_and_none_is_completed_by_another},
        {"the_innermost_launcher_counts", the_innermost_launcher_counts},
        {"ranks_of_one_host_need_no_manager", ranks_of_one_host_need_no_manager},
        {"a_launcher_that_must_be_asked_and_is_not_there_is_named",
         a_launcher_that_must_be_asked_and_is_not_there_is_named},
        {"a_set_that_contradicts_itself_is_refused", a_set_that_contradicts_itself_is_refused},
    };
    return suite_run("launcher", cases, sizeof cases / sizeof cases[0]);
}
