/*
 * Pages of --html: what must be in them, what must not, and, where there is a Chromium, what a browser makes of each, in light
 * and dark: nothing loaded, no errors, numbers by pointer and key, pictures that enlarge, words that can be read, and the same
 * picture as the one in tests/data/pages.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER RONDE_SCRATCH_DIR "/html_test"
#define PAGE FOLDER "/page.html"
#define EXAMPLES RONDE_SOURCE_DIR "/docs/examples"

/* Bytes of a page that is forwarded. */
#define MOST_BYTES 1000000u

/* False after a visible skip: machines want libxml2. */
static bool has_everything(void)
{
    if (RONDE_ALL_COMPONENTS)
        return true;
    suite_skip("built without libxml2 or jansson (apt: libxml2-dev, libjansson-dev)");
    return false;
}

static int shell(const char *command)
{
    char *text = NULL;
    const int code = files_command(command, &text);
    free(text);
    return code;
}

/* The page of a command, which ends with `code`; the caller frees it. */
static char *page_of(const char *arguments, int code)
{
    char command[1600];
    (void)remove(PAGE);
    (void)shell("mkdir -p " FOLDER);
    snprintf(command, sizeof command, "%s --html " PAGE, arguments);
    free(said_by_ronde(command, code));
    char *page = files_read(PAGE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    return page;
}

static bool has(const char *page, const char *part)
{
    if (strstr(page, part))
        return true;
    suite_note("not in the page: %s", part);
    return false;
}

/* What every page has; one without a curve and a picture shows nothing. */
static void expect_page(char *page, const char *answer, const char *figure)
{
    CU_ASSERT(strlen(page) < MOST_BYTES);
    CU_ASSERT(has(page, "<h1>"));
    CU_ASSERT(has(page, answer));
    CU_ASSERT(has(page, "How sure?"));
    CU_ASSERT(has(page, "Made by <code>ronde "));
    CU_ASSERT(has(page, figure));
    CU_ASSERT(has(page, "The data (CSV)"));
    CU_ASSERT(has(page, "prefers-color-scheme:dark"));
    CU_ASSERT(has(page, "</html>"));
    /* Nothing is loaded: the only addresses are the names of SVG's language. */
    CU_ASSERT_PTR_NULL(strstr(page, "src="));
    CU_ASSERT_PTR_NULL(strstr(page, "href="));
    CU_ASSERT_PTR_NULL(strstr(page, "url("));
    CU_ASSERT_PTR_NULL(strstr(page, "@import"));
    free(page);
}

/* Where NCCL's own choice is the fastest there is no change of who is. */
static void equals_do_not_take_turns(void)
{
    if (!has_everything())
        return;
    char *page = page_of("plan all_reduce --style nccl --topo H100-cluster01 -N 64 -b 1K -e 1G", 0);
    CU_ASSERT_PTR_NULL(strstr(page, "from here"));
    expect_page(page, "its own choice takes up to 1.", "class=\"band f1\"");
}

static void each_command_answers_shows_and_has_its_data(void)
{
    if (!has_everything())
        return;
    expect_page(page_of("sim all_reduce -a ring -N 8 --topo crossbar-64 -b 64K -e 1M", 0),
                "all_reduce by ring on 8 ranks of crossbar-64: 1 MiB takes ", "critical path");
    expect_page(page_of("sim all_reduce -a ring -N 8 --topo dgx-h100 -b 1M -e 1M "
                        "--degrade n0g0_v_UP=.5",
                        0),
                "all_reduce by ring on 8 ranks of ",
                "coloured by how busy their busier direction is");
    expect_page(page_of("sim all_reduce -a ring -N 8 --topo dgx-h100 -b 1M -e 1M "
                        "--degrade n0g0_v_UP=.5",
                        0),
                "Which links are busy", " fault\" d=\"");
    expect_page(page_of("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 64K", 0),
                "all_reduce of 8 ranks on crossbar-64: direct_one_step is the fastest, from 9.375 "
                "KiB on direct",
                "from here: direct");
    expect_page(page_of("doctor " EXAMPLES "/nccl-tests.log --topo H100-cluster01", 1),
                "most likely half of the NVLinks are missing", "class=\"band f1\"");
    expect_page(page_of("explain " RONDE_SOURCE_DIR
                        "/tests/data/traces/kineto --topo H100-cluster01",
                        0),
                "rank 2 is late", "waiting for others");
    /* Rows of a log beside traces are no calls of the step, and alone they are what is answered for. */
    expect_page(page_of("explain " RONDE_SOURCE_DIR "/tests/data/traces/kineto " EXAMPLES
                        "/nccl-tests.log --topo H100-cluster01",
                        0),
                "rank 2 is late; all_reduce of 512 KiB takes ", "waiting for others");
    free(said_by_ronde("explain " EXAMPLES "/nccl-tests.log --topo H100-cluster01 --html " PAGE, 0));
    char *of_log = files_read(PAGE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(of_log);
    CU_ASSERT(has(of_log, "What nccl-tests measured; all_reduce of 4 GiB takes 2.26 times what "));
    free(of_log);
    expect_page(page_of("workload sim " RONDE_SOURCE_DIR
                        "/tests/data/workload/step.workload -a ring "
                        "--topo dgx-h100",
                        0),
                "communication that nothing hides", "Where does the step's time go?");
    expect_page(page_of("validate all_reduce --published " EXAMPLES
                        "/nccl-tests.log --system H100-cluster01",
                        0),
                "predictions are off by ", "busbw over size");
    /* A point and a place on the line of one engine for each of four algorithms, on two axes, for three numbers of ranks. */
    char *page =
        page_of("validate all_reduce --from " RONDE_SOURCE_DIR "/docs/results/cpu-validate.jsonl",
                0);
    size_t marks = 0;
    for (const char *at = page; (at = strstr(at, "data-size=\"32 KiB\"")); at++)
        marks++;
    CU_ASSERT_EQUAL(marks, 2 * 4 * 2 * 3);
    expect_page(page, "name the faster algorithm at 103 of the 122 sizes",
                "and is that as predicted");
}

/* What a command prints with a page is what it prints without, and then which file was written. */
static void expect_same(const char *arguments)
{
    char with[600];
    snprintf(with, sizeof with, "%s --html " PAGE, arguments);
    char *plain = said_by_ronde(arguments, 0), *beside = said_by_ronde(with, 0);
    /* A page has a time for every algorithm, which JSON shows. */
    CU_ASSERT(strstr(arguments, "--json") || strncmp(plain, beside, strlen(plain)) == 0);
    free(beside);
    free(plain);
}

static void what_is_printed_is_the_same(void)
{
    static const char *const forms[] = {"", "--json", "--csv", "--wide"};
    char arguments[400];
    if (!has_everything())
        return;
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        snprintf(arguments, sizeof arguments,
                 "plan all_reduce -N 4 --topo crossbar-64 -b 1M -e 1M %s", forms[f]);
        expect_same(arguments);
    }
    /* Here the times of those that lose are no less than others' by much, and winners change between the sizes. */
    free(said_by_ronde("topo generate dgx-h100 --nodes 2 --fabric rail -o " FOLDER "/two.xml", 0));
    expect_same("plan all_reduce --topo " FOLDER "/two.xml -b 1M -e 64M");
}

/* Names of files are text, whatever they look like. */
#define EVIL "<script>alert(1)</script>&amp;.log"

static void names_are_text_and_never_markup(void)
{
    if (!has_everything())
        return;
    (void)shell("mkdir -p '" FOLDER "/<script>alert(1)<' && cp " EXAMPLES "/nccl-tests.log '" FOLDER
                "/" EVIL "'");
    char *page = page_of("doctor '" FOLDER "/" EVIL "' --topo H100-cluster01", 1);
    CU_ASSERT_PTR_NULL(strstr(page, "<script>alert"));
    CU_ASSERT(has(page, "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;.log"));
    free(page);
}

static void a_command_that_fails_leaves_the_page_that_was(void)
{
    if (!has_everything())
        return;
    (void)shell("mkdir -p " FOLDER);
    CU_ASSERT(files_write(PAGE, "before"));
    said_expect("plan all_reduce -N 4 -a ring --topo crossbar-64 --html " PAGE, 2, "");
    char *page = files_read(PAGE);
    CU_ASSERT_STRING_EQUAL(page, "before");
    free(page);
    said_expect("sim all_reduce -a ring -N 4 --topo crossbar-64 -e 8 --html -", 2, "name a file");
    said_expect("sim all_reduce -a ring -N 4 --topo crossbar-64 -e 8 --html /nowhere/x.html", 2,
                "/nowhere/x");
}

/* A long run has more steps than a page has room for: what is drawn melts. */
static void a_long_run_stays_below_a_megabyte(void)
{
    if (!has_everything())
        return;
    char *page = page_of("sim all_reduce -a ring -N 64 --topo crossbar-64 -b 64M -e 64M", 0);
    CU_ASSERT(strlen(page) < MOST_BYTES);
    CU_ASSERT(has(page, "class=\"picture"));
    free(page);
}

/* ---- A browser ---------------------------------------------------------------------------------------------------- */

/* Pages that a browser looks at, each with what it is asked for and what the command ends with. */
static const struct look {
    const char *name, *arguments;
    int code;
} looks[] = {
    {"plan", "plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 16M -f 4", 0},
    {"sim", "sim all_reduce -a ring -N 8 --topo dgx-h100 -b 64K -e 16M -f 4 --degrade n0g0_v_UP=.5",
     0},
    {"doctor", "doctor " EXAMPLES "/nccl-tests.log --topo H100-cluster01", 1},
    {"validate",
     "validate all_reduce --published " EXAMPLES "/nccl-tests.log --system H100-cluster01", 0},
    {"workload",
     "workload sim " RONDE_SOURCE_DIR "/tests/data/workload/step.workload -a ring --topo dgx-h100",
     0},
    {"explain", "explain " RONDE_SOURCE_DIR "/tests/data/traces/kineto --topo H100-cluster01", 0},
};

#define LOOKS (sizeof looks / sizeof looks[0])
#define PAGES RONDE_SOURCE_DIR "/tests/data/pages"
#define BROWSER                                                                                    \
    "cd " FOLDER " && HOME=" FOLDER " timeout 120 chromium --headless=new --no-sandbox "           \
    "--disable-gpu --disable-dev-shm-usage --hide-scrollbars --force-device-scale-factor=1 "       \
    "--window-size=1000,1400 "

static bool has_browser(void)
{
    if (RONDE_SANITIZE[0] != '\0') {
        suite_skip("a browser sees the same pages of every configuration: release shows them");
        return false;
    }
    if (shell("command -v chromium") == 0)
        return true;
    suite_skip("no chromium to look at a page with (apt: chromium)");
    return false;
}

/* What a browser is asked for ends with a title, which is its verdict. */
static void expect_verdict(const char *name, const char *command)
{
    char *said = said_by(command, 0);
    CU_ASSERT_STRING_EQUAL(said, "<title>all is well\n");
    if (strcmp(said, "<title>all is well\n") != 0)
        suite_note("%s: %s", name, said);
    free(said);
}

/* The page of a command with the probe in it, below its name. */
static void write_probed(const struct look *look)
{
    char path[400];
    char *page = page_of(look->arguments, look->code), *probe = files_read(PAGES "/probe.js");
    const char *head = strstr(page, "<head>");
    FILE *file = NULL;
    snprintf(path, sizeof path, FOLDER "/%s.html", look->name);
    file = fopen(path, "w");
    CU_ASSERT_FATAL(head && probe && file);
    fprintf(file, "%.*s<head><script>\n%s</script>\n%s", (int)(head - page), page, probe,
            head + strlen("<head>"));
    CU_ASSERT_EQUAL(fclose(file), 0);
    free(probe);
    free(page);
}

/* Keys, words and colours are looked at; the picture is then in the folder, "plan-light.png". */
static void look_at(const char *name, const char *scheme)
{
    char command[1200];
    snprintf(command, sizeof command,
             BROWSER "--blink-settings=preferredColorScheme=%d --screenshot=%s-%s.png --dump-dom "
                     "'file://" FOLDER "/%s.html#%s' 2>/dev/null | grep -o -m 1 '<title>[^<]*'",
             strncmp(scheme, "dark", 4) == 0 ? 0 : 1, name, scheme, name, scheme);
    expect_verdict(name, command);
}

/* A picture beside the one that is kept, for compare.js. */
static void add_pair(FILE *script, const char *name, const char *scheme, const char *as)
{
    fprintf(script,
            "printf '<img class=\"%s\" title=\"%s-%s\" src=\"data:image/png;base64,%%s\">\\n' "
            "\"$(base64 -w0 <%s-%s.png)\"\n",
            as, name, scheme, name, scheme);
    fprintf(script,
            "[ ! -e " PAGES "/%s-%.5s.png ] || printf '<img class=\"kept\" title=\"%s-%s\" "
            "src=\"data:image/png;base64,%%s\">\\n' \"$(base64 -w0 <" PAGES "/%s-%.5s.png)\"\n",
            name, scheme, name, scheme, name, scheme);
}

/* All pictures at once: a browser takes longer to start than to compare. */
static void compare_pictures(void)
{
    FILE *script = fopen(FOLDER "/compare.sh", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(script);
    fputs("cd " FOLDER "\necho '<body><script>'\ncat " PAGES "/compare.js\necho '</script>'\n",
          script);
    for (size_t i = 0; i < LOOKS; i++) {
        add_pair(script, looks[i].name, "light", "shot");
        add_pair(script, looks[i].name, "dark", "shot");
    }
    add_pair(script, "plan", "light-without", "shot other");
    CU_ASSERT_EQUAL(fclose(script), 0);
    CU_ASSERT_EQUAL(shell("sh " FOLDER "/compare.sh >" FOLDER "/compare.html"), 0);
    CU_ASSERT_EQUAL(shell(BROWSER "--dump-dom file://" FOLDER
                                  "/compare.html >compared.html 2>/dev/null"),
                    0);
    if (!getenv("RONDE_UPDATE_GOLDEN")) {
        expect_verdict("compare.html (RONDE_UPDATE_GOLDEN=1 keeps the pictures)",
                       "grep -o -m 1 '<title>[^<]*' " FOLDER "/compared.html");
        return;
    }
    CU_ASSERT_EQUAL(
        shell("cd " FOLDER " && sed -n 's/.*fifth \\([a-z]*-[a-z]*\\) \\([^<]*\\).*/\\1 \\2/p' "
              "compared.html | while read -r name data; do echo \"$data\" | base64 -d >" PAGES
              "/$name.png; done"),
        0);
}

static void a_browser_shows_each_page_as_it_is_kept(void)
{
    if (!has_everything() || !has_browser())
        return;
    for (size_t i = 0; i < LOOKS; i++) {
        write_probed(&looks[i]);
        look_at(looks[i].name, "light");
        look_at(looks[i].name, "dark");
    }
    /* A picture that lacks a curve must not pass for the same. */
    look_at("plan", "light-without");
    compare_pictures();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"equals_do_not_take_turns", equals_do_not_take_turns},
        {"each_command_answers_shows_and_has_its_data", each_command_answers_shows_and_has_its_data},
        {"what_is_printed_is_the_same", what_is_printed_is_the_same},
        {"names_are_text_and_never_markup", names_are_text_and_never_markup},
        {"a_command_that_fails_leaves_the_page_that_was",
         a_command_that_fails_leaves_the_page_that_was},
        {"a_long_run_stays_below_a_megabyte", a_long_run_stays_below_a_megabyte},
        {"a_browser_shows_each_page_as_it_is_kept", a_browser_shows_each_page_as_it_is_kept},
    };
    return suite_run("html", cases, sizeof cases / sizeof cases[0]);
}
