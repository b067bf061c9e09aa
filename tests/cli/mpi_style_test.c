/** --style openmpi and mpich: what the library takes, what it costs, and what else it has. */
#include "support/built_with.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static bool has_machines(void)
{
#if RONDE_ALL_COMPONENTS
    return true;
#else
    suite_skip("built without libxml2, jansson or SimGrid");
    return false;
#endif
}

static void choices_are_replayed(void)
{
    if (!has_machines())
        return;
    said_expect("sim all_reduce --style mpich --topo crossbar-64 -b 2K -e 4K -f 2", 0,
                "recursive_doubling       recursive_doubling");
    said_expect("sim all_reduce --style mpich --topo crossbar-64 -b 2K -e 4K -f 2", 0,
                "reduce_scatter_allgather rabenseifner_nearest");
    /* The same time as by name, as whole blocks in one channel. */
    char *own =
        said_by_ronde("sim all_gather -a ring -N 48 --topo crossbar-64 -b 1M -e 1M --slot 1T "
                      "--channels 1 --placement file --json",
                      0);
    char *style =
        said_by_ronde("sim all_gather --style mpich -N 48 --topo crossbar-64 -b 1M -e 1M --json", 0);
    const char *ns = strstr(own, "\"time_ns\": "), *us = strstr(style, "\"time_us\": ");
    CU_ASSERT_FATAL(ns && us);
    CU_ASSERT_DOUBLE_EQUAL(strtod(ns + 11, NULL) / 1e3, strtod(us + 11, NULL), 1e-6);
    free(own);
    free(style);
}

static void what_is_not_known_has_no_time(void)
{
    if (!has_machines())
        return;
    said_expect("sim broadcast --style mpich -N 48 --topo crossbar-64 -b 1M -e 1M --csv", 0,
                ",scatter_ring_allgather,");
    said_expect("plan broadcast --style mpich -N 48 --topo crossbar-64 -b 1M -e 1M", 0,
                "scatter_ring_allgather           - scatter_allgather");
}

static void what_belongs_to_others_is_refused(void)
{
    static const struct {
        const char *words, *says;
    } wrong[] = {
        {"sim all_reduce --style openmpi -N 4", "wants --topo with a platform file"},
        {"sim --style openmpi --topo crossbar-64", "which collective is missing"},
        {"sim all_reduce --style mpich --topo crossbar-64 -a ring", "leave out -a"},
        {"sim all_reduce --style mpich --topo crossbar-64 -b 0", "a call of 0 bytes"},
        {"sim all_reduce --style mpich --topo crossbar-64 --why", "leave out --why"},
        {"sim all_reduce --style mpich --topo crossbar-64 --placement scattered", "leave out -a"},
        {"plan all_reduce --style mpich --topo crossbar-64 --shape 8x8", "leave out -a"},
        {"sim all_reduce --style mpich --topo crossbar-64 --engine price", "--engine price"},
        {"plan all_reduce --style mpi --topo crossbar-64", "none of nccl, openmpi and mpich"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        said_expect(wrong[i].words, 2, wrong[i].says);
    if (!has_machines())
        return;
    said_expect("sim barrier --style mpich --topo crossbar-64", 2, "are not known");
    /* What cannot be replayed is said, and no dash. */
    said_expect("sim all_reduce --style mpich --topo crossbar-64 --engine foo", 2, "foo");
    said_expect("sim all_reduce --style mpich --topo crossbar-64 -N 100", 2, "100");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"choices_are_replayed", choices_are_replayed},
        {"what_is_not_known_has_no_time", what_is_not_known_has_no_time},
        {"what_belongs_to_others_is_refused", what_belongs_to_others_is_refused},
    };
    return suite_run("mpi_style", cases, sizeof cases / sizeof cases[0]);
}
