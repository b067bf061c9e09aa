/*
 * A user's folder as containers and other programs leave it: missing, of another, with anything in the place of the tables of
 * measured times. It costs the table, with a line on standard error at most, and the answer is the one without it.
 *
 * Drawn anew each day (RONDE_TEST_SEED repeats one): 16 of them, 1,000 where RONDE_TEST_SCALE asks for more than 100.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/measured.h"
#include "ronde/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = RONDE_SCRATCH_DIR "/homes-XXXXXX";
static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state += 0x9e3779b97f4a7c15u;
    return (uint32_t)(ronde_mix64(state) % below);
}

/* What stands in the place of a table, T; TABLE is a good one. */
static const char *const tables[] = {
    ":",                                        /* nothing */
    ": >$T",                                    /* empty */
    "head -c $N $TABLE >$T",                    /* cut */
    "head -n 3 $TABLE >$T",                     /* cut at a line */
    "head -c $N /dev/urandom >$T",              /* noise */
    "truncate -s 1T $T",                        /* giant, of zeros */
    "cat $TABLE $TABLE >$T; truncate -s 1G $T", /* giant */
    "yes '# a remark' | head -c 4M >$T",        /* remarks alone */
    "tr 0-9 a-j <$TABLE >$T",                   /* no numbers */
    "tr '\\n' '\\r' <$TABLE >$T",               /* another system's lines */
    "sed 's/backend .*/backend other/' $TABLE >$T",
    "cp '$RONDE' $T",     /* a program */
    "mkfifo $T",          /* a pipe that nobody writes into */
    "mkdir $T",           /* a folder */
    "ln -s $T $T",        /* a link to itself */
    "ln -s nowhere $T",   /* a link to nothing */
    "ln -s /dev/zero $T", /* devices */
    "ln -s /dev/stdin $T",
    "cp $TABLE $T; chmod 0 $T",           /* of others */
    "cp $TABLE $T; chmod 0 ${T%/*}",      /* in a folder of others */
    "cp $TABLE $T; chmod 0 $HOME_FOLDER", /* in a home of others */
};

/* What is in the place of one of the folders that lead to it. */
static const char *const places[] = {
    ":",
    ":",
    ":",
    "rm -rf $P; : >$P",
    "rm -rf $P; mkfifo $P",
    "rm -rf $P; ln -s $P $P",
    "rm -rf $P; ln -s /dev/full $P",
    "chmod 0 $P",
};

/* How the variables are set; H is the folder, relative to where the command is started or not. */
static const char *const variables[] = {
    "HOME=$D/home XDG_CONFIG_HOME=",
    "-u XDG_CONFIG_HOME HOME=$D/home",
    "-u HOME XDG_CONFIG_HOME=$D/home/.config",
    "HOME= XDG_CONFIG_HOME=$D/home/.config",
    "-u XDG_CONFIG_HOME HOME=home",
    "HOME=/nonexistent XDG_CONFIG_HOME=home/.config",
    "-u HOME -u XDG_CONFIG_HOME",
    "HOME= XDG_CONFIG_HOME=",
    "-u XDG_CONFIG_HOME HOME=/dev/null",
    "-u XDG_CONFIG_HOME HOME=/proc/self",
};

static const char *const commands[] = {
    "plan all_reduce -N 4 --backend %s -b 1K -e 4K",
    "convert all_reduce -a auto --backend %s -N 4 -b 4K",
    "plan broadcast -N 2 --backend %s -b 1K -e 1K --json",
};

#define DRAWN(list) list[draw(sizeof(list) / sizeof(list)[0])]

/* Root may read everything: another user runs the command where one can. */
static const char *user = "";

static char *run(const char *before, const char *set, const char *line)
{
    char command[4096], *said = NULL;
    snprintf(
        command, sizeof command,
        "exec 2>&1; cd '%s' && chmod -R u+rwx . && rm -rf home && "
        "mkdir -p home/.config/ronde/tune && D=$PWD && RONDE='%s' && HOME_FOLDER=$D/home && %s; "
        "timeout 120 %s env -u RONDE_TUNE_DIR %s $RONDE %s >out 2>err </dev/null; echo code $?; "
        "echo lines $(grep -c . err); head -c 300 err; echo; echo answer; "
        "grep -v '^#' out | sed 's/\"basis\":.*//'",
        folder, suite_ronde(), before, user, set, line);
    (void)files_command(command, &said);
    return said;
}

static int lines_of(const char *said)
{
    const char *lines = strstr(said, "lines ");
    return lines ? atoi(lines + 6) : -1;
}

/* The answer to the letter, and a line more on standard error at most. */
static bool is_alike(const char *said, const char *expected)
{
    const char *ours = strstr(said, "\nanswer\n"), *theirs = strstr(expected, "\nanswer\n");
    const int more = lines_of(said) - lines_of(expected);
    return strncmp(said, "code 0\n", 7) == 0 && ours && theirs && strlen(ours) > 20 &&
           strcmp(ours, theirs) == 0 && more >= 0 && more <= 1;
}

static void attempt(const char *backend)
{
    char line[128], before[1024], place[64];
    static const char *const levels[] = {"home", "home/.config", "home/.config/ronde",
                                         "home/.config/ronde/tune"};
    snprintf(line, sizeof line, DRAWN(commands), backend);
    snprintf(place, sizeof place, "%s", DRAWN(levels));
    const char *const table = DRAWN(tables), *const way = DRAWN(places), *const set = DRAWN(variables);
    snprintf(
        before, sizeof before,
        "N=%u TABLE='" RONDE_SOURCE_DIR "/predict/tables/%s.txt' "
        "T=$D/home/.config/ronde/tune/%s.txt P=$D/%s; { %s; } 2>/dev/null; { %s; } 2>/dev/null",
        1 + draw(8000), backend, backend, place, table, way);
    char *expected = run(":", "HOME=/nonexistent XDG_CONFIG_HOME=", line);
    char *said = run(before, set, line);
    const bool is = is_alike(said, expected);
    CU_ASSERT(is);
    if (!is)
        suite_note("env %s ronde %s, after %s, %s at %s: %.500s", set, line, table, way, place,
                   said);
    free(expected);
    free(said);
}

static void a_home_costs_its_table_alone(void)
{
    static const char other[] = "setpriv --reuid=54321 --regid=54321 --clear-groups";
    const unsigned count = suite_number("RONDE_TEST_SCALE", 100) > 100 ? 1000 : 16;
    char command[512], *said = NULL;
    state = suite_seed();
    snprintf(command, sizeof command, "chmod 755 '%s' && %s test -x '%s' 2>&1", folder, other,
             suite_ronde());
    if (files_command(command, &said) == 0)
        user = other;
    free(said);
    for (unsigned i = 0; i < count; i++)
        attempt(draw(2) ? "cpu" : "proc");
}

int main(void)
{
    static const struct suite_case cases[] = {SUITE_CASE(a_home_costs_its_table_alone)};
    char command[256], *said = NULL;
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    const int code = suite_run_with_components("homes", cases, 1);
    snprintf(command, sizeof command, "chmod -R u+rwx '%s'; rm -rf '%s'", folder, folder);
    (void)files_command(command, &said);
    free(said);
    return code;
}
