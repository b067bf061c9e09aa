/*
 * Every public header compiles alone, as C11 and as C++17, under the strictest warnings: a user's project may have them
 * on, and may include any one of ours first.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNINGS "-Wall -Wextra -Wpedantic -Wconversion -Werror"

/** How one language compiles a header. */
struct language {
    const char *compiler;
    const char *flags;
};

static const char includes[] = " -I'" RONDE_SOURCE_DIR "/engine/include'"
                               " -I'" RONDE_SOURCE_DIR "/formats/include'"
                               " -I'" RONDE_SOURCE_DIR "/predict/include'"
                               " -I'" RONDE_SOURCE_DIR "/nccl/include'"
                               " -I'" RONDE_SOURCE_DIR "/lab/include'"
                               " -I'" RONDE_SOURCE_DIR "/schedules/include'"
                               " -I'" RONDE_SOURCE_DIR "/topologies/include'"
                               " -I'" RONDE_SOURCE_DIR "/sim/include'"
                               " -I'" RONDE_SOURCE_DIR "/hw/include'"
                               " -I'" RONDE_SOURCE_DIR "/api/include'";

/** The compiler's status for an empty source after -include of the header; *out_said is what it printed. */
static int compile_alone(const struct language *language, const char *header, char **out_said)
{
    char command[8192];
    snprintf(command, sizeof command,
             "'%s' %s " WARNINGS " %s -fsyntax-only -include '%s' /dev/null 2>&1",
             language->compiler, language->flags, includes, header);
    return files_command(command, out_said);
}

static void check_header(const char *path, void *context)
{
    if (!strstr(path, "/include/ronde/"))
        return;
    char *said;
    const int status = compile_alone(context, path, &said);
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        suite_note("%s\n%s", path, said ? said : "");
    free(said);
}

static void check_folders(struct language language)
{
    static const char *const folders[] = {"engine",  "schedules", "topologies", "sim", "hw",
                                          "formats", "predict",   "nccl",       "api", "lab"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        CU_ASSERT(files_walk(folders[i], ".h", check_header, &language) > 0);
}

static void each_header_compiles_alone_as_c11(void)
{
    check_folders((struct language){RONDE_CC, "-std=c11 -Wshadow -x c"});
}

static void each_header_compiles_alone_as_cxx17(void)
{
    /* A build without SimGrid never looks for a C++ compiler. */
    char *version;
    const char *compiler = RONDE_CXX[0] ? RONDE_CXX : "c++";
    char command[4096];
    snprintf(command, sizeof command, "'%s' --version 2>/dev/null", compiler);
    const int status = files_command(command, &version);
    free(version);
    if (status != 0)
        suite_skip("no C++ compiler here (apt: g++)");
    else
        /* No -Wshadow: g++ means by it that a struct and a function of one name, legal in both, hide each other. */
        check_folders((struct language){compiler, "-std=c++17 -x c++"});
}

static void a_header_that_leans_on_another_is_caught(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/leaning.h", RONDE_SCRATCH_DIR);
    CU_ASSERT_FATAL(files_write(path, "uint32_t undeclared_type(void);\n"));
    const struct language c11 = {RONDE_CC, "-std=c11 -Wshadow -x c"};
    char *said;
    CU_ASSERT_NOT_EQUAL(compile_alone(&c11, path, &said), 0);
    CU_ASSERT(said && strstr(said, "uint32_t"));
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"each_header_compiles_alone_as_c11", each_header_compiles_alone_as_c11},
        {"each_header_compiles_alone_as_cxx17", each_header_compiles_alone_as_cxx17},
        {"a_header_that_leans_on_another_is_caught", a_header_that_leans_on_another_is_caught},
    };
    return suite_run("headers", cases, sizeof cases / sizeof cases[0]);
}
