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
    CU_ASSERT(suite_source(expected, sizeof expected, "predict/tables"));
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

/* Each kind in the sources: the folder that its readers look into. */
static void each_kind_has_its_folder(void)
{
    static const struct {
        enum ronde_data_kind kind;
        const char *folder, *file;
    } kinds[] = {{RONDE_DATA_TOPOLOGIES, "topologies", "crossbar-64.xml"},
                 {RONDE_DATA_TABLES, "predict/tables", "cpu.txt"},
                 {RONDE_DATA_NCCL, "nccl/model/constants", "common.txt"},
                 {RONDE_DATA_MACHINES, "topologies/published", "Alps-GH200.txt"}};
    CU_ASSERT_EQUAL(sizeof kinds / sizeof kinds[0], RONDE_DATA_KIND_COUNT);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        char path[RONDE_PATH_BYTES], expected[RONDE_PATH_BYTES], file[2 * RONDE_PATH_BYTES];
        CU_ASSERT_FATAL(ronde_data_folder(kinds[k].kind, RONDE_DATA_SOURCE, path, sizeof path));
        CU_ASSERT(suite_source(expected, sizeof expected, kinds[k].folder));
        CU_ASSERT_STRING_EQUAL(path, expected);
        snprintf(file, sizeof file, "%s/%s", path, kinds[k].file);
        CU_ASSERT_EQUAL(access(file, R_OK), 0);
    }
}

static void a_kind_that_does_not_exist_is_nowhere(void)
{
    for (unsigned place = 0; place <= RONDE_DATA_PLACE_COUNT; place++)
        for (unsigned beyond = 0; beyond < 3; beyond++) {
            char path[64] = "as it was";
            CU_ASSERT_FALSE(ronde_data_folder((enum ronde_data_kind)(RONDE_DATA_KIND_COUNT + beyond),
                                              (enum ronde_data_place)place, path, sizeof path));
            CU_ASSERT_STRING_EQUAL(path, "as it was");
        }
}

/* A path that does not fit is cut in the answer, which is for an error, and nothing beyond it is written. */
static void answers_end_within_their_room(void)
{
    static const char *const names[] = {"crossbar-64", "no-such-machine-of-a-longer-name"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (size_t room = 1; room < 40; room++) {
            char path[64];
            memset(path, '~', sizeof path);
            ronde_find_topology(names[k], path, room);
            CU_ASSERT_PTR_NOT_NULL_FATAL(memchr(path, '\0', room));
            CU_ASSERT(path[0] == '/' || strncmp(path, names[k], strlen(path)) == 0);
            for (size_t at = room; at < sizeof path; at++)
                CU_ASSERT_EQUAL(path[at], '~');
        }
}

/* A name with a slash is a path alone, though the shipped folder has that file; so is one that is too long to be joined. */
static void paths_are_not_looked_for_elsewhere(void)
{
    static char longest[2 * RONDE_PATH_BYTES], path[2 * RONDE_PATH_BYTES];
    ronde_find_topology("published/Alps-GH200.txt", path, sizeof path);
    CU_ASSERT_STRING_EQUAL(path, "published/Alps-GH200.txt");
    memset(longest, 'x', sizeof longest - 1);
    ronde_find_topology(longest, path, sizeof path);
    CU_ASSERT_STRING_EQUAL(path, longest);
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
        {"each_kind_has_its_folder", each_kind_has_its_folder},
        {"a_kind_that_does_not_exist_is_nowhere", a_kind_that_does_not_exist_is_nowhere},
        {"answers_end_within_their_room", answers_end_within_their_room},
        {"paths_are_not_looked_for_elsewhere", paths_are_not_looked_for_elsewhere},
    };
    return suite_run("data_files", cases, sizeof cases / sizeof cases[0]);
}
