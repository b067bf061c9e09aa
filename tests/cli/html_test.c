/*
 * Pages of --html: what must be in them, what must not, and, where there is a Chromium, what a browser makes of one: nothing
 * loaded, no errors, numbers by pointer and key, pictures that enlarge, text that stays text.
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

static void each_command_answers_shows_and_has_its_data(void)
{
    if (!has_everything())
        return;
    expect_page(page_of("sim all_reduce -a ring -N 8 --topo crossbar-64 -b 64K -e 1M", 0),
                "all_reduce by ring on 8 ranks of crossbar-64: 1 MiB takes ", "critical path");
    expect_page(page_of("sim all_reduce -a ring -N 8 --topo dgx-h100 -b 1M -e 1M "
                        "--degrade n0g0_v_UP=.5",
                        0),
                "all_reduce by ring on 8 ranks of ", "of what its busier direction can carry");
    expect_page(page_of("sim all_reduce -a ring -N 8 --topo dgx-h100 -b 1M -e 1M "
                        "--degrade n0g0_v_UP=.5",
                        0),
                "Which links are busy", " fault\" d=\"");
    expect_page(page_of("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 64K", 0),
                "all_reduce of 8 ranks on crossbar-64: direct_one_step, from 9.38K on direct",
                "from here: direct");
    expect_page(page_of("doctor " EXAMPLES "/nccl-tests.log --topo H100-cluster01", 1),
                "most likely half of the NVLinks are missing", "class=\"band f1\"");
    expect_page(page_of("explain " RONDE_SOURCE_DIR
                        "/tests/data/traces/kineto --topo H100-cluster01",
                        0),
                "rank 2 is late", "waiting for others");
    expect_page(page_of("workload sim " RONDE_SOURCE_DIR
                        "/tests/data/workload/step.workload -a ring "
                        "--topo dgx-h100",
                        0),
                "communication that nothing hides", "Where does the step's time go?");
    expect_page(page_of("validate all_reduce --published " EXAMPLES
                        "/nccl-tests.log --system H100-cluster01",
                        0),
                "predictions are off by ", "busbw over size");
}

/* Rows for programs are the same with a page and without. */
static void what_is_printed_is_the_same(void)
{
    static const char *const forms[] = {"", "--json", "--csv", "--wide"};
    if (!has_everything())
        return;
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        char arguments[400], with[600];
        snprintf(arguments, sizeof arguments,
                 "plan all_reduce -N 4 --topo crossbar-64 -b 1M -e 1M %s", forms[f]);
        snprintf(with, sizeof with,
                 "plan all_reduce -N 4 --topo crossbar-64 -b 1M -e 1M %s --html " PAGE, forms[f]);
        char *plain = said_by_ronde(arguments, 0), *beside = said_by_ronde(with, 0);
        /* A page has a time for every candidate, which JSON shows; behind it stands which file was written. */
        CU_ASSERT(strcmp(forms[f], "--json") == 0 || strncmp(plain, beside, strlen(plain)) == 0);
        free(beside);
        free(plain);
    }
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

/*
 * Stands before all else of the page: what goes wrong is noted, and when all is there a person is played. Its verdict is the
 * title, which the browser is asked for.
 */
static const char probe[] =
    "<script>\n"
    "const wrong = [];\n"
    "addEventListener('error', e => wrong.push('error ' + e.message));\n"
    "addEventListener('securitypolicyviolation', e => wrong.push('loads ' + e.blockedURI));\n"
    "console.error = console.warn = (...a) => wrong.push('console ' + a.join(' '));\n"
    "addEventListener('load', () => {\n"
    "  const must = (is, what) => { if (!is) wrong.push(what); };\n"
    "  const key = (to, name) => to.dispatchEvent(new KeyboardEvent('keydown', {key: name, "
    "bubbles: "
    "true}));\n"
    "  const chart = document.querySelector('svg.chart');\n"
    "  const says = chart.parentNode.querySelector('.readout');\n"
    "  must(chart.tabIndex === 0, 'the chart takes no focus');\n"
    "  key(chart, 'ArrowRight');\n"
    "  must(/^64 KiB: /.test(says.textContent), 'first key says ' + says.textContent);\n"
    "  key(chart, 'End');\n"
    "  must(/^1 MiB: .*bound: .* GB\\/s.*ring \\(predicted\\): .* GB\\/s/.test(says.textContent),\n"
    "    'last key says ' + says.textContent);\n"
    "  const box = chart.getBoundingClientRect();\n"
    "  chart.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width * .08,\n"
    "    clientY: box.top + 20}));\n"
    "  must(/^64 KiB: /.test(says.textContent), 'pointer says ' + says.textContent);\n"
    "  const zoom = document.querySelector('.zoom'), svg = zoom.shadowRoot.querySelector('svg');\n"
    "  const whole = svg.viewBox.baseVal.width;\n"
    "  key(zoom, '+');\n"
    "  must(svg.viewBox.baseVal.width < whole, '+ does not enlarge');\n"
    "  key(zoom, 'ArrowRight');\n"
    "  must(svg.viewBox.baseVal.x > 0, 'the arrow does not move');\n"
    "  key(zoom, '0');\n"
    "  must(svg.viewBox.baseVal.width === whole, '0 does not show all');\n"
    "  zoom.previousElementSibling.click();\n"
    "  must(zoom.parentNode.querySelectorAll('button').length === 3, 'no buttons');\n"
    "  must(document.querySelectorAll('script').length === 2, 'a foreign script');\n"
    "  must(document.documentElement.scrollWidth <= innerWidth, 'wider than the window');\n"
    "  for (const s of document.querySelectorAll('svg.chart text')) {\n"
    "    const r = s.getBoundingClientRect(), c = s.closest('svg').getBoundingClientRect();\n"
    "    must(r.width === 0 || (r.left >= c.left - 1 && r.right <= c.right + 1), 'clipped: ' + "
    "s.textContent);\n"
    "  }\n"
    "  must(performance.getEntriesByType('resource').length === 0, 'something was loaded');\n"
    "  must(matchMedia('(prefers-color-scheme: dark)').matches ===\n"
    "    (getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)'), 'light and "
    "dark');\n"
    "  document.title = wrong.length ? 'WRONG ' + wrong.join(' | ') : 'all is well';\n"
    "});\n"
    "</script>\n";

static bool has_browser(void)
{
    if (shell("command -v chromium") == 0)
        return true;
    suite_skip("no chromium to look at a page with (apt: chromium)");
    return false;
}

static void expect_browser(const char *option)
{
    char command[1200];
    snprintf(command, sizeof command,
             "HOME=" FOLDER " timeout 60 chromium --headless=new --no-sandbox --disable-gpu "
             "--disable-dev-shm-usage --window-size=1100,900 %s --dump-dom file://" PAGE
             " 2>/dev/null | grep -o -m 1 '<title>[^<]*' | head -1",
             option);
    char *said = said_by(command, 0);
    CU_ASSERT_STRING_EQUAL(said, "<title>all is well\n");
    if (strcmp(said, "<title>all is well\n") != 0)
        suite_note("%s", said);
    free(said);
}

static void a_browser_shows_it_and_its_keys_work(void)
{
    if (!has_everything() || !has_browser())
        return;
    char *page = page_of("sim all_reduce -a ring -N 8 --topo crossbar-64 -b 64K -e 1M -f 4", 0);
    const char *head = strstr(page, "<head>");
    const size_t before = head ? (size_t)(head - page) + strlen("<head>") : 0;
    char *probed = malloc(strlen(page) + sizeof probe);
    if (probed) {
        memcpy(probed, page, before);
        strcpy(probed + before, probe);
        strcat(probed, page + before);
        CU_ASSERT(files_write(PAGE, probed));
    }
    free(probed);
    free(page);
    expect_browser("");
    expect_browser("--force-dark-mode");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"each_command_answers_shows_and_has_its_data", each_command_answers_shows_and_has_its_data},
        {"what_is_printed_is_the_same", what_is_printed_is_the_same},
        {"names_are_text_and_never_markup", names_are_text_and_never_markup},
        {"a_command_that_fails_leaves_the_page_that_was",
         a_command_that_fails_leaves_the_page_that_was},
        {"a_long_run_stays_below_a_megabyte", a_long_run_stays_below_a_megabyte},
        {"a_browser_shows_it_and_its_keys_work", a_browser_shows_it_and_its_keys_work},
    };
    return suite_run("html", cases, sizeof cases / sizeof cases[0]);
}
