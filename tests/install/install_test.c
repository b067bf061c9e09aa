/**
 * What `cmake --install` leaves behind is enough: installed, moved elsewhere, used by programs outside the repository
 * through the CMake package and through pkg-config, as C11 and as C++17, static and shared. The examples of docs/guide/plugin.md
 * are built and run that way too.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Folders: where it is installed first, where it is moved to, and where consumers are built. */
#define SCRATCH RONDE_SCRATCH_DIR "/install"

/* Builds that stay from run to run are one generator's: CMake refuses another's. */
#define SHARED_BUILD SCRATCH "/shared-by-" RONDE_GENERATOR
#define REFUSED_BUILD SCRATCH "/refused-by-" RONDE_GENERATOR

/* What the consumer prints at its end. */
#define CONSUMER_SAYS "sums 10 10 10 10, algorithms compile, 0 failures"

/* What docs/examples/star.c prints. */
#define STAR_SAYS "10 10 10 10 in"

/* What docs/examples/all_reduce.c prints where it is alone. */
#define SUM_SAYS "1 ranks add up to 1"

/* Runs a command that must succeed and say something; notes what it said if not. */
__attribute__((format(printf, 2, 3))) static bool says(const char *expected, const char *format, ...)
{
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    CU_ASSERT_FATAL(length > 0 && (size_t)length + 8 < sizeof command);
    memcpy(command + length, " 2>&1", 6);
    char *said = NULL;
    const int status = files_command(command, &said);
    const bool is_right = status == 0 && said && strstr(said, expected);
    if (!is_right)
        suite_note("%s: exit %d: %.1500s", command, status, said ? said : "");
    CU_ASSERT_TRUE(is_right);
    free(said);
    return is_right;
}

static bool has(const char *command)
{
    char line[256];
    char *said = NULL;
    snprintf(line, sizeof line, "command -v %s", command);
    const int status = files_command(line, &said);
    free(said);
    return status == 0;
}

/* Whether this build can be asked at all: instrumented libraries link into instrumented programs only. */
static bool can_test(void)
{
    if (RONDE_SANITIZE[0] != '\0') {
        suite_skip("libraries built with -fsanitize are not what is installed");
        return false;
    }
    return true;
}

/* Installs a build, and moves the installation so that no path of the first place works any more. */
static bool install(const char *build, const char *kind)
{
    return says("", "rm -rf '%s/%s' && mkdir -p '%s/%s'", SCRATCH, kind, SCRATCH, kind) &&
           says("rondeConfig.cmake", "'%s' --install '%s' --prefix '" SCRATCH "/%s/first'",
                RONDE_CMAKE, build, kind) &&
           says("", "mv '" SCRATCH "/%s/first' '" SCRATCH "/%s/moved'", kind, kind);
}

/* The installed command finds its own topologies and measured tables, not those of the sources, and reads a schedule by hand. */
static void check_command(const char *kind)
{
    says("", "cd '" SCRATCH "/%s/moved/share/ronde/topologies' && cp crossbar-64.xml of-my-own.xml",
         kind);
    says("of-my-own", "'" SCRATCH "/%s/moved/bin/ronde' list", kind);
    says(kind,
         "cd '" SCRATCH "/%s/moved/share/ronde/tune' && sed -i 's/^machine .*/machine %s/' "
         "cpu.txt && unset RONDE_TUNE_DIR && export XDG_CONFIG_HOME='" SCRATCH "/none' && '" SCRATCH
         "/%s/moved/bin/ronde' plan broadcast -N 4 -b 8 -e 8",
         kind, kind, kind);
    says("proved",
         "cd '" SCRATCH "/%s/moved' && bin/ronde check share/doc/ronde/examples/two_nodes.ronde",
         kind);
}

static void run_consumer(const char *kind, const char *program)
{
    says(CONSUMER_SAYS, "'" SCRATCH "/%s/%s' '%s/docs/examples/two_nodes.ronde'", kind, program,
         RONDE_SOURCE_DIR);
}

/* The consumer's own project, on the moved installation. */
static void check_cmake_package(const char *kind)
{
    const bool is_built =
        says("Build files have been written",
             "'%s' -G '%s' -S '%s/tests/install/consumer' -B '" SCRATCH "/%s/consumer' "
             "-DCMAKE_C_COMPILER='%s' -DCMAKE_PREFIX_PATH='" SCRATCH "/%s/moved' "
             "-DRONDE_WANTED_VERSION=0.1 -DRONDE_EXAMPLES='" SCRATCH
             "/%s/moved/share/doc/ronde/examples'",
             RONDE_CMAKE, RONDE_GENERATOR, RONDE_SOURCE_DIR, kind, RONDE_CC, kind, kind) &&
        says("consumer_c", "'%s' --build '" SCRATCH "/%s/consumer'", RONDE_CMAKE, kind);
    if (!is_built)
        return;
    run_consumer(kind, "consumer/consumer_c");
    says(STAR_SAYS, "'" SCRATCH "/%s/consumer/star'", kind);
    says(SUM_SAYS, "'" SCRATCH "/%s/consumer/all_reduce'", kind);
    if (has("'" SCRATCH "/static/consumer/consumer_cxx'") ||
        has("'" SCRATCH "/shared/consumer/consumer_cxx'"))
        run_consumer(kind, "consumer/consumer_cxx");
    else
        suite_note("no C++ compiler: not built as C++17");
}

/* One compiler call by pkg-config; `flags` is --static where libraries are archives. */
static void compile_by_pkg_config(const char *kind, const char *compiler, const char *source,
                                  const char *program)
{
    const char *flags = strcmp(kind, "static") == 0 ? "--static" : "";
    says("",
         "cd '" SCRATCH "/%s' && PKG_CONFIG_PATH=\"$PWD/moved/" RONDE_LIBDIR "/pkgconfig\" && "
         "export PKG_CONFIG_PATH && %s -Wall -Wextra -Wpedantic -Werror '%s/%s' -o %s "
         "$(pkg-config %s --cflags --libs ronde) -Wl,-rpath,\"$PWD/moved/" RONDE_LIBDIR "\"",
         kind, compiler, RONDE_SOURCE_DIR, source, program, flags);
}

static void check_pkg_config(const char *kind)
{
    if (!has("pkg-config")) {
        suite_note("no pkg-config here");
        return;
    }
    compile_by_pkg_config(kind, RONDE_CC " -std=c11", "tests/install/consumer/consumer.c", "by_c");
    run_consumer(kind, "by_c");
    compile_by_pkg_config(kind, RONDE_CC " -std=c11", "docs/examples/star.c", "by_star");
    says(STAR_SAYS, "'" SCRATCH "/%s/by_star'", kind);
    compile_by_pkg_config(kind, RONDE_CC " -std=c11", "docs/examples/all_reduce.c", "by_sum");
    says(SUM_SAYS, "'" SCRATCH "/%s/by_sum'", kind);
    if (RONDE_CXX[0] == '\0') {
        suite_note("built without C++: not compiled as C++17");
        return;
    }
    compile_by_pkg_config(kind, RONDE_CXX " -std=c++17", "tests/install/consumer/consumer.cpp",
                          "by_cxx");
    run_consumer(kind, "by_cxx");
}

/* Before 1.0 another minor version is another interface. */
static void check_version_is_refused(const char *version)
{
    says("version: 0.1.0",
         "! '%s' -G '%s' -S '%s/tests/install/consumer' -B '" REFUSED_BUILD "' "
         "-DCMAKE_C_COMPILER='%s' -DCMAKE_PREFIX_PATH='" SCRATCH
         "/static/moved' -DRONDE_WANTED_VERSION=%s",
         RONDE_CMAKE, RONDE_GENERATOR, RONDE_SOURCE_DIR, RONDE_CC, version);
}

static void static_installation_works_wherever_it_is_moved(void)
{
    if (!can_test() || !install(RONDE_BUILD_DIR, "static"))
        return;
    check_command("static");
    says("libnccl-tuner-ronde.so", "ls '" SCRATCH "/static/moved/" RONDE_LIBDIR "'");
    check_cmake_package("static");
    check_pkg_config("static");
    check_version_is_refused("0.0");
    check_version_is_refused("0.2");
}

/*
 * A build of its own: the tests themselves need static libraries. What is in question is where things are and what they
 * export, whatever the build type (RONDE_CHOICES).
 */
static void shared_installation_works_wherever_it_is_moved(void)
{
    if (!can_test())
        return;
    const bool is_built =
        says("Build files have been written",
             "'%s' -G '%s' -S '%s' -B '" SHARED_BUILD "' "
             "-DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_LIBDIR=" RONDE_LIBDIR " " RONDE_CHOICES,
             RONDE_CMAKE, RONDE_GENERATOR, RONDE_SOURCE_DIR) &&
        says("", "'%s' --build '" SHARED_BUILD "' --parallel 2", RONDE_CMAKE);
    if (!is_built || !install(SHARED_BUILD, "shared"))
        return;
    says("libronde_engine.so", "ls '" SCRATCH "/shared/moved/" RONDE_LIBDIR "'");
    check_command("shared");
    check_cmake_package("shared");
    check_pkg_config("shared");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"static_installation_works_wherever_it_is_moved",
         static_installation_works_wherever_it_is_moved},
        {"shared_installation_works_wherever_it_is_moved",
         shared_installation_works_wherever_it_is_moved},
    };
    return suite_run("install", cases, sizeof cases / sizeof cases[0]);
}
