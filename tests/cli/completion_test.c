/** Completions and man pages: what shells and roff make of them, and that nothing of the tables is missing. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The program that makes them at build time. */
#define PAGES RONDE_PAGES

#define SCRIPT RONDE_SCRATCH_DIR "/completion_test"

static bool is_here(const char *program)
{
    char command[128], *said = NULL;
    snprintf(command, sizeof command, "command -v %s 2>&1", program);
    const bool is_found = files_command(command, &said) == 0;
    free(said);
    return is_found;
}

/* A shell reads its completions without a word; one that is not installed is skipped. */
static void expect_syntax(const char *shell, const char *check)
{
    char command[1024];
    if (!is_here(shell)) {
        suite_skip("no %s (apt: %s)", shell, shell);
        return;
    }
    snprintf(command, sizeof command, "'%s' completion %s > '%s' && %s '%s' 2>&1", PAGES, shell,
             SCRIPT, check, SCRIPT);
    char *said = said_by(command, 0);
    CU_ASSERT_STRING_EQUAL(said, "");
    free(said);
}

static void bash_reads_its_completions(void)
{
    expect_syntax("bash", "bash -n");
}

static void zsh_reads_its_completions(void)
{
    expect_syntax("zsh", "zsh -n");
}

static void fish_reads_its_completions(void)
{
    expect_syntax("fish", "fish --no-execute");
}

/* What bash offers behind some words, of which the last is being typed. */
static char *offered(const char *words, int last)
{
    char command[2048];
    snprintf(command, sizeof command,
             "bash -c 'source <(\"%s\" completion bash); COMP_WORDS=(%s); COMP_CWORD=%d; _ronde; "
             "echo \" ${COMPREPLY[*]} \"' 2>&1",
             PAGES, words, last);
    return said_by(command, 0);
}

static void bash_offers_what_fits(void)
{
    static const struct {
        const char *words;
        int last;
        const char *part, *not_part;
    } rows[] = {
        {"ronde pl", 1, " plan ", " run "},
        {"ronde help conv", 2, " convert ", " run "},
        {"ronde run all_r", 2, " all_reduce ", "all_gather"},
        {"ronde run all_reduce --warm", 3, " --warmup_iters ", "--iters"},
        {"ronde sim all_reduce --warm", 3, "  ", "--warmup_iters"},
        {"ronde run all_reduce -d floa", 4, " float32 float64 ", "int8"},
        {"ronde run all_reduce --backend = h", 5, " host ", "cpu"},
        {"ronde run all_reduce -o m", 4, " min max ", "sum"},
        {"ronde check all_reduce -a recu", 4, " recursive_doubling ", "ring"},
        {"ronde sim all_reduce --engine si", 4, " simgrid ", "flat"},
        {"ronde sim all_reduce --topo Alps", 4, " Alps-GH200 ", "crossbar"},
        {"ronde workload g", 2, " gpt ", "sim"},
        {"ronde topo gen", 2, " generate ", "show"},
        {"ronde convert a.xml --to ch", 4, " chakra ", "goal"},
        {"ronde synthesize all", 2, " all_gather all_reduce ", "all_to_all"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && is_here("bash"); i++) {
        char *said = offered(rows[i].words, rows[i].last);
        CU_ASSERT(strstr(said, rows[i].part) && !strstr(said, rows[i].not_part));
        if (!strstr(said, rows[i].part) || strstr(said, rows[i].not_part))
            suite_note("%s: %s", rows[i].words, said);
        free(said);
    }
}

/* --- man pages ------------------------------------------------------------------------------- */

/* The words behind "ronde-" in the overview: the commands. */
static unsigned collect_commands(char names[64][32])
{
    unsigned count = 0;
    char *said = said_by("'" PAGES "' manual", 0);
    for (char *at = strstr(said, ".BR ronde\\-"); at && count < 64;
         at = strstr(at + 1, ".BR ronde\\-"))
        CU_ASSERT_EQUAL(sscanf(at, ".BR ronde\\-%31[a-z]", names[count++]), 1);
    free(said);
    return count;
}

/* Every option that --help names is in the page, and in the completions of every shell. */
static void expect_options(const char *name, char *const *completions)
{
    char arguments[1024];
    snprintf(arguments, sizeof arguments, "'" PAGES "' manual %.31s", name);
    char *page = said_by(arguments, 0);
    snprintf(arguments, sizeof arguments, "%.31s --help all", name);
    char *help = said_by_ronde(arguments, 0);
    unsigned options = 0;
    for (char *at = strstr(help, " --"); at; at = strstr(at + 1, " --")) {
        char option[64], escaped[128], word[80];
        if (sscanf(at, " --%63[A-Za-z_-]", option) != 1)
            continue;
        size_t used = 0;
        for (const char *c = option; *c && used + 3 < sizeof escaped; c++)
            used += (size_t)snprintf(escaped + used, sizeof escaped - used,
                                     *c == '-' ? "\\-" : "%c", *c);
        CU_ASSERT_PTR_NOT_NULL(strstr(page, escaped));
        snprintf(word, sizeof word, "--%s", option);
        CU_ASSERT_PTR_NOT_NULL(strstr(completions[0], word));
        CU_ASSERT_PTR_NOT_NULL(strstr(completions[1], word));
        options++;
    }
    CU_ASSERT(options > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(page, ".SH NAME\nronde\\-"));
    free(help);
    free(page);
}

static void pages_and_completions_have_every_option(void)
{
    char names[64][32];
    char *const completions[] = {said_by("'" PAGES "' completion bash", 0),
                                 said_by("'" PAGES "' completion zsh", 0)};
    const unsigned count = collect_commands(names);
    CU_ASSERT(count > 15);
    for (unsigned c = 0; c < count; c++)
        expect_options(names[c], completions);
    free(completions[0]);
    free(completions[1]);
}

static void roff_has_nothing_to_say_of_the_pages(void)
{
    char names[64][32], command[1024];
    if (!is_here("groff")) {
        suite_skip("no groff (apt: groff)");
        return;
    }
    const unsigned count = collect_commands(names);
    for (unsigned c = 0; c <= count; c++) {
        snprintf(command, sizeof command, "'%s' manual %s | groff -man -ww -Tutf8 2>&1 >/dev/null",
                 PAGES, c < count ? names[c] : "");
        char *said = said_by(command, 0);
        CU_ASSERT_STRING_EQUAL(said, "");
        free(said);
    }
}

static void what_there_is_no_page_of_is_refused(void)
{
    char command[1024];
    snprintf(command, sizeof command, "'%s' manual nosuch 2>&1", PAGES);
    char *said = said_by(command, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "manual [COMMAND]"));
    free(said);
    snprintf(command, sizeof command, "'%s' completion ksh 2>&1", PAGES);
    said = said_by(command, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "bash|zsh|fish"));
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"bash_reads_its_completions", bash_reads_its_completions},
        {"zsh_reads_its_completions", zsh_reads_its_completions},
        {"fish_reads_its_completions", fish_reads_its_completions},
        {"bash_offers_what_fits", bash_offers_what_fits},
        {"pages_and_completions_have_every_option", pages_and_completions_have_every_option},
        {"roff_has_nothing_to_say_of_the_pages", roff_has_nothing_to_say_of_the_pages},
        {"what_there_is_no_page_of_is_refused", what_there_is_no_page_of_is_refused},
    };
    return suite_run("completion", cases, sizeof cases / sizeof cases[0]);
}
