/*
 * ./dev as a script: shellcheck accepts it, and it obeys the environment's choice of components and keeps those made by
 * hand. Nothing is configured or installed: its functions are asked what CMake would be told. And its site is built.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER RONDE_SCRATCH_DIR "/dev"

/* Runs a command in the repository without what the caller's environment says of components. The caller frees. */
static char *said_by(const char *command, int expected)
{
    char whole[4096];
    char *said = NULL;
    const int length =
        snprintf(whole, sizeof whole,
                 "cd '" RONDE_SOURCE_DIR "' && unset RONDE_SIMGRID RONDE_UCX && %s", command);
    CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof whole);
    const int status = files_command(whole, &said);
    CU_ASSERT_EQUAL(status, expected);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    if (status != expected)
        suite_note("%s: exit %d: %.1000s", command, status, said);
    return said;
}

/* What CMake is told for a purpose; the folder, and so what was said there before, stays. */
static char *choices(const char *environment, const char *purpose)
{
    char command[512];
    snprintf(command, sizeof command,
             "%s bash -c '. ./dev help >/dev/null; component_choices \"" FOLDER "\" %s'",
             environment, purpose);
    return said_by(command, 0);
}

static void expect_choice(const char *environment, const char *purpose, const char *choice,
                          bool is_there)
{
    char *said = choices(environment, purpose);
    CU_ASSERT_EQUAL(strstr(said, choice) != NULL, is_there);
    if ((strstr(said, choice) != NULL) != is_there)
        suite_note("%s, %s: %s", environment, purpose, said);
    free(said);
}

/* As CMake leaves it, as far as it is read. */
static void have_cache(const char *line)
{
    FILE *cache = fopen(FOLDER "/CMakeCache.txt", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
    CU_ASSERT(fprintf(cache, "%s\n", line) > 0);
    CU_ASSERT_EQUAL(fclose(cache), 0);
}

static void begin(void)
{
    free(said_by("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'", 0));
}

static void the_environment_chooses_any_component_while_it_is_set(void)
{
    static const char *const purposes[] = {"use", "tests"};
    for (size_t i = 0; i < 2; i++) {
        begin();
        expect_choice("RONDE_SIMGRID=OFF", purposes[i], "-DRONDE_SIMGRID=OFF\n", true);
        have_cache("RONDE_SIMGRID:STRING=OFF");
        expect_choice("RONDE_UCX=ON", purposes[i], "-DRONDE_UCX=ON\n", true);
        begin();
        expect_choice("RONDE_SIMGRID=OFF", purposes[i], "-DRONDE_SIMGRID=OFF\n", true);
        have_cache("RONDE_SIMGRID:STRING=OFF");
        expect_choice("", purposes[i], "-DRONDE_SIMGRID=AUTO\n", true);
    }
}

static void what_somebody_chose_by_hand_stays(void)
{
    begin();
    free(choices("RONDE_UCX=OFF", "use"));
    have_cache("RONDE_SIMGRID:STRING=OFF");
    expect_choice("", "use", "RONDE_SIMGRID", false);
    expect_choice("", "tests", "RONDE_SIMGRID", false);
    expect_choice("RONDE_SIMGRID=ON", "use", "-DRONDE_SIMGRID=ON\n", true);
}

static void other_words_are_refused_in_one_line(void)
{
    char *said = said_by("RONDE_UCX=off ./dev help 2>&1", 2);
    CU_ASSERT_STRING_EQUAL(said,
                           "RONDE_UCX=off: not a choice; set it to ON, OFF or AUTO, or unset it\n");
    free(said);
}

static void the_scripts_are_sound(void)
{
    char *found = NULL;
    const int has_checker = files_command("command -v shellcheck", &found);
    free(found);
    if (has_checker != 0)
        suite_skip("no shellcheck here (apt: shellcheck)");
    else
        free(said_by("shellcheck dev tests/*.sh tests/packages/*.sh bindings/packages/*.sh 2>&1", 0));
}

/* In a network name space of its own, which has no network. */
static void the_site_is_built_without_a_network(void)
{
    if (!suite_has_components())
        return;
    char *missing = said_by("bash -c '. ./dev help >/dev/null; has_mkdocs && unshare -rn true' "
                            "2>&1 || echo missing",
                            0);
    if (strstr(missing, "missing"))
        suite_skip("no MkDocs with its theme, or no name spaces (apt: mkdocs-material)");
    else
        free(said_by("rm -rf '" FOLDER "-site' && mkdir -p '" FOLDER "-site' && "
                     "unshare -rn bash -c '. ./dev help >/dev/null; build_site \"" FOLDER
                     "-site\" \"" RONDE_BINARY "\" mkdocs' 2>&1",
                     0));
    free(missing);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_environment_chooses_any_component_while_it_is_set",
         the_environment_chooses_any_component_while_it_is_set},
        {"what_somebody_chose_by_hand_stays", what_somebody_chose_by_hand_stays},
        {"other_words_are_refused_in_one_line", other_words_are_refused_in_one_line},
        {"the_site_is_built_without_a_network", the_site_is_built_without_a_network},
        {"the_scripts_are_sound", the_scripts_are_sound},
    };
    return suite_run("dev", cases, sizeof cases / sizeof cases[0]);
}
