/*
 * Which launcher started a process: one complete set of variables, never a mixture.
 */
#include "support/suite.h"

#include "ronde/comm.h"

#include <string.h>

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

static void nobody_started_a_process_without_variables(void)
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

static void steps_of_a_slurm_job_are_told_apart(void)
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
        /* What Slurm never says does no harm. */
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
        {"nobody_started_a_process_without_variables", nobody_started_a_process_without_variables},
        {"every_launcher_is_known_by_its_set", every_launcher_is_known_by_its_set},
        {"steps_of_a_slurm_job_are_told_apart", steps_of_a_slurm_job_are_told_apart},
        {"ranks_of_several_slurm_hosts_meet_at_the_first",
         ranks_of_several_slurm_hosts_meet_at_the_first},
        {"the_first_complete_set_counts_and_none_is_completed_by_another",
         the_first_complete_set_counts_and_none_is_completed_by_another},
        {"a_set_that_contradicts_itself_is_refused", a_set_that_contradicts_itself_is_refused},
    };
    return suite_run("launcher", cases, sizeof cases / sizeof cases[0]);
}
