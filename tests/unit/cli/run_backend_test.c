/*
 * What executes a run: which backend options and launchers call for, and that no option is taken without being used.
 */
#include "support/suite.h"

#include "cli/cmd/run.h"

#include "ronde/executors.h"

#include <stdlib.h>
#include <string.h>

/* Nothing given: the defaults of ronde_options_parse as far as they count here. */
static struct ronde_options none(void)
{
    return (struct ronde_options){.backend.name = "cpu", .backend.rank = RONDE_NONE};
}

/* The options that only processes have a use for. */
static const char *give(struct ronde_options *options, uint32_t which)
{
    switch (which) {
    case 0:
        options->backend.rank = 0;
        return "--rank";
    case 1:
        options->backend.join = "host:5000";
        return "--join";
    case 2:
        options->backend.token = "secret";
        return "--token";
    case 3:
        options->backend.hosts = "a,b";
        return "--hosts";
    case 4:
        options->backend.transport = "tcp";
        return "--transport";
    case 5:
        options->backend.has_buffers = true;
        return "--buffers";
    default:
        return NULL;
    }
}

#define PROCESS_OPTIONS 6u

/* Chooses; what was found of a launcher is closed. */
static enum ronde_status choose(struct ronde_options *options, struct ronde_error *error)
{
    struct ronde_launcher launcher;
    memset(error, 0, sizeof *error);
    const enum ronde_status status = ronde_run_backend(options, &launcher, error);
    ronde_launcher_close(&launcher);
    return status;
}

static void started_by_nobody_threads_run(void)
{
    struct ronde_options options = none();
    struct ronde_error error;
    struct ronde_launcher launcher;
    CU_ASSERT_EQUAL_FATAL(clearenv(), 0);
    CU_ASSERT_EQUAL(ronde_run_backend(&options, &launcher, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(options.backend.name, "cpu");
    CU_ASSERT_PTR_NULL(launcher.name);
    ronde_launcher_close(&launcher);
}

/* hybrid goes everywhere; a build without it has proc, of one machine. */
static void options_of_processes_call_for_processes(void)
{
    const char *reason = NULL;
    const bool has_hybrid = ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason);
    for (uint32_t which = 0; which < PROCESS_OPTIONS; which++) {
        struct ronde_options options = none();
        struct ronde_error error;
        const char *name = give(&options, which);
        CU_ASSERT_EQUAL(choose(&options, &error), RONDE_OK);
        CU_ASSERT_STRING_EQUAL(options.backend.name, options.backend.transport ? "ucx"
                                                     : has_hybrid              ? "hybrid"
                                                                               : "proc");
        if (error.status != RONDE_OK)
            suite_note("%s: %s", name, error.message);
    }
}

/* Every row of the registry by every option: only where ranks are processes may it stand. */
static void a_backend_refuses_what_it_has_no_use_for(void)
{
    uint32_t count = 0, refused = 0;
    const struct ronde_executor *all = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++)
        for (uint32_t which = 0; which < PROCESS_OPTIONS; which++) {
            struct ronde_options options = none();
            struct ronde_error error;
            const char *name = give(&options, which);
            options.backend.is_given = true;
            options.backend.name = all[e].name;
            const bool has_processes = all[e].ranks == RONDE_RANKS_PROCESSES;
            const enum ronde_status status = choose(&options, &error);
            CU_ASSERT_EQUAL(status, has_processes ? RONDE_OK : RONDE_BAD_ARGUMENT);
            CU_ASSERT_STRING_EQUAL(options.backend.name, all[e].name);
            if (has_processes)
                continue;
            refused++;
            CU_ASSERT_EQUAL(strncmp(error.message, name, strlen(name)), 0);
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, ronde_ranks_text(all[e].ranks)));
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "backends proc"));
        }
    CU_ASSERT(refused >= PROCESS_OPTIONS);
}

/* An order of steps is host's to follow; a seed for any other would do nothing. */
static void a_seed_is_for_host_alone(void)
{
    uint32_t count = 0;
    const struct ronde_executor *all = ronde_executors(&count);
    struct ronde_options options = none();
    struct ronde_error error;
    for (uint32_t e = 0; e < count; e++) {
        options = none();
        options.backend.has_seed = true;
        options.backend.is_given = true;
        options.backend.name = all[e].name;
        CU_ASSERT_EQUAL(choose(&options, &error),
                        strcmp(all[e].name, "host") == 0 ? RONDE_OK : RONDE_BAD_ARGUMENT);
    }
    options = none();
    options.backend.has_seed = true;
    CU_ASSERT_EQUAL(choose(&options, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "cpu has no use for it"));
}

static void a_launcher_is_nothing_without_hosts(void)
{
    struct ronde_options options = none();
    struct ronde_error error;
    options.backend.launcher = "ssh";
    CU_ASSERT_EQUAL(choose(&options, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--hosts is missing"));
    options.backend.hosts = "a";
    CU_ASSERT_EQUAL(choose(&options, &error), RONDE_OK);
    /* A name that is no backend's is refused where backends are opened, not here. */
    options = none();
    options.backend.is_given = true;
    options.backend.name = "gpus";
    options.backend.hosts = "a";
    CU_ASSERT_EQUAL(choose(&options, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(options.backend.name, "gpus");
}

/* One of several is a rank; one that is alone is a shell in which somebody types. */
static void one_of_several_that_were_started_is_a_rank(void)
{
    for (uint32_t ranks = 1; ranks <= 3; ranks++) {
        const char digits[] = {(char)('0' + ranks), '\0'};
        struct ronde_options options = none();
        struct ronde_launcher launcher;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL_FATAL(clearenv(), 0);
        CU_ASSERT_EQUAL(setenv("RONDE_RANK", "0", 1), 0);
        CU_ASSERT_EQUAL(setenv("RONDE_RANKS", digits, 1), 0);
        CU_ASSERT_EQUAL(ronde_run_backend(&options, &launcher, &error), RONDE_OK);
        CU_ASSERT_EQUAL(strcmp(options.backend.name, "cpu") == 0, ranks == 1);
        CU_ASSERT_EQUAL(launcher.name != NULL, ranks > 1);
        CU_ASSERT_EQUAL(launcher.name ? launcher.ranks : 1, ranks);
        ronde_launcher_close(&launcher);
        /* Who names a backend is not asked again. */
        options = none();
        options.backend.is_given = true;
        options.backend.name = "host";
        CU_ASSERT_EQUAL(ronde_run_backend(&options, &launcher, &error), RONDE_OK);
        CU_ASSERT_PTR_NULL(launcher.name);
        CU_ASSERT_STRING_EQUAL(options.backend.name, "host");
    }
    struct ronde_options options = none();
    struct ronde_error error;
    CU_ASSERT_EQUAL(setenv("RONDE_RANK", "7", 1), 0);
    CU_ASSERT_EQUAL(choose(&options, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "RONDE_RANK"));
    CU_ASSERT_EQUAL(clearenv(), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"started_by_nobody_threads_run", started_by_nobody_threads_run},
        {"options_of_processes_call_for_processes", options_of_processes_call_for_processes},
        {"a_backend_refuses_what_it_has_no_use_for", a_backend_refuses_what_it_has_no_use_for},
        {"a_seed_is_for_host_alone", a_seed_is_for_host_alone},
        {"a_launcher_is_nothing_without_hosts", a_launcher_is_nothing_without_hosts},
        {"one_of_several_that_were_started_is_a_rank", one_of_several_that_were_started_is_a_rank},
    };
    return suite_run("run_backend", cases, sizeof cases / sizeof cases[0]);
}
