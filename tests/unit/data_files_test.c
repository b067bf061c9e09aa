/* Where shipped files are found: in which order, by which names, and what does not fit or is not there. */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/data_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A place that was never made, since this build was not installed, is none; the sources are there. */
static void the_source_tree_has_both_kinds(void)
{
    char path[RONDE_PATH_BYTES], expected[RONDE_PATH_BYTES];
    CU_ASSERT(ronde_data_folder(RONDE_DATA_TOPOLOGIES, RONDE_DATA_SOURCE, path, sizeof path));
    CU_ASSERT(suite_source(expected, sizeof expected, "topologies"));
    CU_ASSERT_STRING_EQUAL(path, expected);
    CU_ASSERT(ronde_data_folder(RONDE_DATA_TABLES, RONDE_DATA_SOURCE, path, sizeof path));
    CU_ASSERT(suite_source(expected, sizeof expected, "tune/tables"));
    CU_ASSERT_STRING_EQUAL(path, expected);
}

static void a_place_that_does_not_exist_leaves_the_path_alone(void)
{
    char path[64] = "as it was";
    CU_ASSERT_FALSE(ronde_data_folder(RONDE_DATA_TABLES, RONDE_DATA_PLACE_COUNT, path, sizeof path));
    CU_ASSERT_STRING_EQUAL(path, "as it was");
    /* Tests lie in tests/ of a build: no share/ronde is beside them. */
    CU_ASSERT_FALSE(ronde_data_folder(RONDE_DATA_TOPOLOGIES, RONDE_DATA_PROGRAM, path, sizeof path));
    CU_ASSERT_STRING_EQUAL(path, "as it was");
}

/* Every length of room: the whole path or nothing, and never a byte beyond. */
static void a_path_that_does_not_fit_is_not_cut(void)
{
    char whole[RONDE_PATH_BYTES];
    CU_ASSERT_FATAL(ronde_data_folder(RONDE_DATA_TABLES, RONDE_DATA_SOURCE, whole, sizeof whole));
    const size_t length = strlen(whole);
    for (size_t room = 1; room < length + 4; room++) {
        char *path = malloc(room);
        CU_ASSERT_PTR_NOT_NULL_FATAL(path);
        path[0] = '\0';
        const bool fits = ronde_data_folder(RONDE_DATA_TABLES, RONDE_DATA_SOURCE, path, room);
        CU_ASSERT_EQUAL(fits, room > length);
        CU_ASSERT_STRING_EQUAL(path, fits ? whole : "");
        free(path);
    }
}

static void topologies_are_found_by_name(void)
{
    char folder[RONDE_PATH_BYTES], expected[2 * RONDE_PATH_BYTES], path[RONDE_PATH_BYTES];
    static const char *const names[] = {"crossbar-64", "crossbar-64.xml"};
    CU_ASSERT_FATAL(ronde_topologies_folder(folder, sizeof folder));
    snprintf(expected, sizeof expected, "%s/crossbar-64.xml", folder);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        ronde_find_topology(names[k], path, sizeof path);
        CU_ASSERT_STRING_EQUAL(path, expected);
        CU_ASSERT_EQUAL(access(path, R_OK), 0);
    }
}

/* What is not there comes back as it was typed, for the error that will name it. */
static void what_is_not_there_stays_what_it_was(void)
{
    static const char *const names[] = {"no-such-machine",    "no-such-machine.xml",
                                        "./crossbar-64",      "/nonexistent/crossbar-64.xml",
                                        "../crossbar-64.xml", ""};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        char path[RONDE_PATH_BYTES];
        ronde_find_topology(names[k], path, sizeof path);
        CU_ASSERT_STRING_EQUAL(path, names[k]);
    }
}

/* A file of the user's goes before a shipped one of its name. */
static void a_file_that_can_be_read_is_itself(void)
{
    char folder[] = "/tmp/ronde-data-XXXXXX", path[RONDE_PATH_BYTES], before[RONDE_PATH_BYTES];
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    CU_ASSERT(files_write("crossbar-64", "mine"));
    ronde_find_topology("crossbar-64", path, sizeof path);
    CU_ASSERT_STRING_EQUAL(path, "crossbar-64");
    ronde_find_topology("crossbar-64.xml", path, sizeof path);
    CU_ASSERT_EQUAL(path[0], '/');
    CU_ASSERT_EQUAL(unlink("crossbar-64"), 0);
    CU_ASSERT_EQUAL(chdir(before), 0);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_source_tree_has_both_kinds", the_source_tree_has_both_kinds},
        {"a_place_that_does_not_exist_leaves_the_path_alone",
         a_place_that_does_not_exist_leaves_the_path_alone},
        {"a_path_that_does_not_fit_is_not_cut", a_path_that_does_not_fit_is_not_cut},
        {"topologies_are_found_by_name", topologies_are_found_by_name},
        {"what_is_not_there_stays_what_it_was", what_is_not_there_stays_what_it_was},
        {"a_file_that_can_be_read_is_itself", a_file_that_can_be_read_is_itself},
    };
    return suite_run("data_files", cases, sizeof cases / sizeof cases[0]);
}
