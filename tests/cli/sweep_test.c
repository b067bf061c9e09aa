/* `ronde sweep`: whole, in shards, resumed; refusals; pictures; what happens when a process dies. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "cli/draw/gnuplot.h"
#include "cli/launch/children.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRID                                                                                       \
    "all_reduce -a ring,tree,recursive_doubling -N 2:16:x2,5 --bytes 8:4M:x8 --slot 64K --topo "   \
    "crossbar-64"

/* Runs `ronde sweep ARGUMENTS`, in a folder; its complaints go to `err` there. Returns its results; free them. */
static char *sweep(const char *folder, const char *arguments, int code)
{
    char command[2048];
    snprintf(command, sizeof command, "cd \"%s\" && \"%s\" sweep %s 2>err", folder, suite_ronde(),
             arguments);
    return said_by(command, code);
}

/* A folder of its own, removed by the shell at the end of the test. */
static void make_folder(char folder[64])
{
    snprintf(folder, 64, "/tmp/ronde-sweep-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r \"%s\"", folder);
    free(said_by(command, 0));
}

static char *shell(const char *folder, const char *line)
{
    char command[1280];
    snprintf(command, sizeof command, "cd \"%s\" && %s", folder, line);
    return said_by(command, 0);
}

static bool is_possible(void)
{
#if RONDE_ALL_COMPONENTS
    return true;
#else
    suite_skip("built without libxml2, jansson or SimGrid (apt: libxml2-dev, libjansson-dev, "
               "libsimgrid-dev)");
    return false;
#endif
}

/* The same points whether done at once, in shards or in two goes. */
static void shards_and_resumption_give_the_whole(void)
{
    char folder[64];
    if (!is_possible())
        return;
    make_folder(folder);
    char *table = sweep(folder, GRID " --output all.jsonl --jobs 2", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(table, "recursive_doubling"));
    for (int i = 0; i < 3; i++) {
        char arguments[512];
        snprintf(arguments, sizeof arguments, GRID " --shard %d/3 >> shards.jsonl", i);
        free(sweep(folder, arguments, 0));
    }
    /* Cut in the middle of a line, as by a kill. */
    free(shell(folder, "head -c 9000 all.jsonl > again.jsonl"));
    char *resumed = sweep(folder, GRID " --output again.jsonl --resume", 0);
    CU_ASSERT_STRING_EQUAL(resumed, table);
    char *differences =
        shell(folder, "for f in all shards again; do sort -u $f.jsonl | cksum; done "
                      "| uniq | wc -l; sort all.jsonl | uniq -d | wc -l; wc -l < all.jsonl");
    CU_ASSERT(strncmp(differences, "1\n0\n", 4) == 0);
    suite_note("%d points", atoi(differences + 4));
    CU_ASSERT(atoi(differences + 4) > 60);
    free(differences);
    free(resumed);
    free(table);
    remove_folder(folder);
}

/* CSV is JSON's lines under a head: the same points with the same times, labels joined. */
static void csv_has_what_json_has(void)
{
    static const char grid[] =
        "all_reduce -a ring,tree -N 4,8 --bytes 1K:1M:x32 --topo crossbar-64 --jobs 1 ";
    char folder[64], arguments[256];
    if (!is_possible())
        return;
    make_folder(folder);
    snprintf(arguments, sizeof arguments, "%s--json", grid);
    char *json = sweep(folder, arguments, 0);
    snprintf(arguments, sizeof arguments, "%s--csv", grid);
    char *csv = sweep(folder, arguments, 0);
    char *plain = sweep(folder, grid, 0);
    CU_ASSERT_STRING_EQUAL(plain, json);
    CU_ASSERT_EQUAL_FATAL(strncmp(csv, "kind,engine,collective,algorithm,ranks,bytes,", 45), 0);
    const char *line = csv;
    unsigned lines = 0;
    for (const char *at = json; (at = strstr(at, "\"time_ns\": ")) != NULL; at++, lines++) {
        char time[64];
        at += strlen("\"time_ns\": ");
        snprintf(time, sizeof time, ",%.17g,", strtod(at, NULL));
        line = strchr(line, '\n');
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
        line++;
        const char *cell = strstr(line, time);
        CU_ASSERT(cell && cell < strchr(line, '\n'));
    }
    CU_ASSERT_EQUAL(lines, 12);
    CU_ASSERT_PTR_NOT_NULL(strstr(csv, ",symmetric,"));
    free(plain);
    free(csv);
    free(json);
    remove_folder(folder);
}

static void expect_refusal(const char *folder, const char *arguments, const char *words)
{
    free(sweep(folder, arguments, 2));
    char *said = shell(folder, "cat err");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, words));
    if (!strstr(said, words))
        suite_note("ronde sweep %s: %.200s", arguments, said);
    free(said);
}

static void bad_sweeps_are_refused(void)
{
    char folder[64];
    if (!is_possible())
        return;
    make_folder(folder);
    expect_refusal(folder, GRID " --shard 3/3", "shard \"3/3\"");
    expect_refusal(folder, GRID " --shard x", "shard \"x\"");
    expect_refusal(folder, GRID " --resume", "--resume needs --output");
    expect_refusal(folder, GRID " --resume --csv --output x.csv", "leave out --csv");
    expect_refusal(folder, "--topo crossbar-64", "say which collective");
    expect_refusal(folder, "all_reduc --topo crossbar-64", "did you mean all_reduce?");
    expect_refusal(folder, "all_reduce -N 8 -a rong --topo crossbar-64", "did you mean");
    expect_refusal(folder, GRID " --bytes 8:1M", "not of the form");
    expect_refusal(folder, "all_reduce -N 70,80 --topo crossbar-64",
                   "70 ranks, but it has 64 hosts");
    expect_refusal(folder, "all_gather -a recursive_doubling_swing -N 5 --topo crossbar-64",
                   "no algorithm of these serves so many ranks");
    free(sweep(folder, GRID " --output all.jsonl", 0));
    expect_refusal(folder, GRID " --output all.jsonl", "go on with --resume");
    free(shell(folder, "sed s/all_reduce/reduce/ all.jsonl > other.jsonl"));
    expect_refusal(folder, GRID " --output other.jsonl --resume",
                   "other.jsonl:1: a record of another");
    free(shell(folder, "(head -1 all.jsonl; echo nonsense) > junk.jsonl"));
    expect_refusal(folder, GRID " --output junk.jsonl --resume", "junk.jsonl:2: not a JSON object");
    remove_folder(folder);
}

/* A file that nothing could be written to is not left behind; one that was there is. */
static void a_full_disk_leaves_no_empty_file(void)
{
    char folder[64], line[1024];
    if (!is_possible())
        return;
    make_folder(folder);
    free(shell(folder, ": > old.jsonl"));
    for (int is_old = 0; is_old < 2; is_old++) {
        snprintf(line, sizeof line,
                 "(ulimit -f 0; \"%s\" sweep all_reduce -a ring -N 2 -b 8 -e 8 --topo crossbar-64 "
                 "-o %s.jsonl > /dev/null 2>&1); echo $?",
                 suite_ronde(), is_old ? "old" : "new");
        char *code = shell(folder, line);
        CU_ASSERT_EQUAL(atoi(code), 4);
        free(code);
    }
    char *files = shell(folder, "ls");
    CU_ASSERT_STRING_EQUAL(files, "old.jsonl\n");
    free(files);
    remove_folder(folder);
}

/* Without -a and -N: every algorithm that serves them, on all hosts; those that do not are left out without a word. */
static void what_is_not_named_is_everything(void)
{
    char folder[64];
    if (!is_possible())
        return;
    make_folder(folder);
    free(sweep(folder, "all_reduce --bytes 64K:64K:x2 --topo crossbar-64 --output r.jsonl", 0));
    char *said = shell(folder, "grep -c '\"ranks\": 64' r.jsonl; wc -l < r.jsonl; cat err");
    unsigned ours = 0, rows = 0;
    CU_ASSERT_EQUAL(sscanf(said, "%u %u", &ours, &rows), 2);
    CU_ASSERT_EQUAL(ours, rows);
    CU_ASSERT(rows >= 8);
    CU_ASSERT_PTR_NULL(strstr(said, "ronde: "));
    free(said);
    said = shell(folder, "grep -c '\"algorithm\": \"ring\"' r.jsonl");
    CU_ASSERT_EQUAL(atoi(said), 1);
    free(said);
    remove_folder(folder);
}

/* What plan says, as a line of the grid: a label has the algorithm. */
static void auto_is_what_is_planned(void)
{
    char folder[64];
    if (!is_possible())
        return;
    make_folder(folder);
    free(sweep(folder, "all_reduce -a auto,ring -N 8 -b 1M -e 1M --topo dgx-h100 --output r.jsonl",
               0));
    char *said = shell(folder, "grep '\"algorithm\": \"auto\"' r.jsonl");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "\"time_ns\": 4677.79"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "\"by forest_wide\""));
    free(said);
    said_expect("plan all_reduce -N 8 -b 1M -e 1M --topo dgx-h100 --json", 0,
                "\"algorithm\": \"forest_wide\"");
    remove_folder(folder);
}

/* More ranks than hosts is one schedule's failure, not the sweep's. */
static void what_fails_leaves_the_rest(void)
{
    char folder[64];
    if (!is_possible())
        return;
    make_folder(folder);
    free(sweep(
        folder,
        "all_reduce -a ring,tree -N 8,65 --bytes 1K:1M:x32 --topo crossbar-64 --output r.jsonl", 4));
    char *said = shell(folder, "wc -l < r.jsonl; cat err");
    CU_ASSERT(atoi(said) == 6);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "tree on 65 ranks:"));
    free(said);
    remove_folder(folder);
}

static void pictures_are_drawn(void)
{
    char folder[64];
    const char *why = NULL;
    if (!is_possible())
        return;
    if (!ronde_plot_available(&why)) {
        suite_skip("%s", why);
        return;
    }
    make_folder(folder);
    free(sweep(folder, GRID " --output r.jsonl --plot time.svg --map map.svg", 0));
    char *said =
        shell(folder,
              "grep -c '</svg>' time.svg map.svg; grep -o 'the fastest on how many' map.svg");
    CU_ASSERT_STRING_EQUAL(said, "time.svg:1\nmap.svg:1\nthe fastest on how many\n");
    free(said);
    remove_folder(folder);
}

/* What the pool's parent saw. */
struct seen {
    uint32_t lines[4];
    int codes[4];
    uint32_t stop_at; /* refuse lines once so many have come */
    uint32_t total;
};

/* Task 2 dies of a signal in the middle of a line, task 3 says so itself. */
static int pool_work(void *self, uint32_t task, FILE *out)
{
    (void)self;
    for (uint32_t i = 0; i < 100 * (task + 1); i++)
        fprintf(out, "%u line %u\n", task, i);
    if (task == 2) {
        fputs("2 half a", out);
        fflush(out);
        raise(SIGKILL);
    }
    return task == 3 ? 7 : 0;
}

static enum ronde_status pool_line(void *self, const char *line, struct ronde_error *error)
{
    struct seen *seen = self;
    if (++seen->total == seen->stop_at)
        return ronde_fail(error, RONDE_BAD_INPUT, "enough");
    CU_ASSERT(line[0] >= '0' && line[0] <= '3' && strncmp(line + 1, " line ", 6) == 0);
    seen->lines[(line[0] - '0') & 3]++;
    return RONDE_OK;
}

static void pool_end(void *self, uint32_t task, int code)
{
    struct seen *seen = self;
    seen->codes[task] = code;
}

static void a_pool_survives_its_processes(void)
{
    struct seen seen = {{0}, {-1, -1, -1, -1}, 0, 0};
    struct ronde_error error = {0};
    struct ronde_pool pool = {&seen, 4, 2, pool_work, pool_line, pool_end};
    CU_ASSERT_EQUAL(ronde_pool_run(&pool, &error), RONDE_OK);
    for (uint32_t task = 0; task < 4; task++)
        CU_ASSERT_EQUAL(seen.lines[task], 100 * (task + 1));
    CU_ASSERT(seen.codes[0] == 0 && seen.codes[1] == 0);
    CU_ASSERT(seen.codes[2] == -SIGKILL && seen.codes[3] == 7);
    seen = (struct seen){{0}, {0}, 50, 0};
    CU_ASSERT_EQUAL(ronde_pool_run(&pool, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(seen.total, 50);
}

/* The time of the first record of a command's lines that says so. */
static double time_of(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "\"%s\" %s", suite_ronde(), arguments);
    char *text = said_by(command, 0);
    const char *at = text ? strstr(text, "\"time_ns\": ") : NULL;
    CU_ASSERT_PTR_NOT_NULL(at);
    const double time_ns = at ? strtod(at + strlen("\"time_ns\": "), NULL) : 0.0;
    free(text);
    return time_ns;
}

/* One question, three commands: pieces are cut alike, and so are the times. A plan prices algorithms one by one, too. */
static void sweeps_and_plans_cut_as_sim_does(void)
{
    static const char *const names[] = {"ring", "tree", "double_tree", "hierarchical_tree"};
    static const char *const sizes[] = {"64K", "16M", "256M"};
    static const char on[] = "--topo dgx-h100-pod -N 64";
    if (!is_possible())
        return;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        char command[512];
        snprintf(command, sizeof command, "\"%s\" plan all_reduce %s -b %s -e %s --json",
                 suite_ronde(), on, sizes[k], sizes[k]);
        char *plan = said_by(command, 0);
        for (size_t a = 0; plan && a < sizeof names / sizeof names[0]; a++) {
            char asked[256], quoted[64];
            snprintf(asked, sizeof asked, "sim all_reduce -a %s %s -b %s -e %s --json", names[a],
                     on, sizes[k], sizes[k]);
            const double sim_ns = time_of(asked);
            snprintf(asked, sizeof asked, "sweep all_reduce -a %s %s -b %s -e %s 2>/dev/null",
                     names[a], on, sizes[k], sizes[k]);
            CU_ASSERT_EQUAL(time_of(asked), sim_ns);
            snprintf(quoted, sizeof quoted, "\"algorithm\": \"%s\", \"time_ns\": ", names[a]);
            const char *quote = strstr(plan, quoted);
            CU_ASSERT_PTR_NOT_NULL(quote);
            const double plan_ns = quote ? strtod(quote + strlen(quoted), NULL) : 0.0;
            /* What is no winner keeps its bound where flows share links. */
            CU_ASSERT(plan_ns <= sim_ns * (1 + 1e-9));
        }
        free(plan);
    }
}

/* The same algorithm by a library that puts, beside it in one grid. */
static void a_library_that_puts_is_swept_as_in_sim(void)
{
    static const char on[] = "--topo torus-8x8 -b 1M -e 1M";
    char asked[256];
    if (!is_possible())
        return;
    snprintf(asked, sizeof asked, "sim broadcast -a binomial_bine+puts %s --json", on);
    const double sim_ns = time_of(asked);
    snprintf(asked, sizeof asked, "sweep broadcast -a binomial_bine+puts %s 2>/dev/null", on);
    CU_ASSERT_EQUAL(time_of(asked), sim_ns);
    snprintf(asked, sizeof asked, "sweep broadcast -a binomial_bine,binomial_bine+puts %s", on);
    said_expect(asked, 0, "\"algorithm\": \"binomial_bine+puts\"");
    said_expect(asked, 0, "\"labels\": [\"puts\"]");
    said_refuses("sweep broadcast -a binomial_bin+puts --topo torus-8x8", 2,
                 "did you mean binomial_bine?");
}

/* A file goes by its path, and has results for the ranks that it has. */
static void files_of_schedules_are_swept_and_planned(void)
{
    char folder[64];
    if (!is_possible())
        return;
    make_folder(folder);
    setenv("RONDE", suite_ronde(), 1);
    free(shell(folder, "\"$RONDE\" convert all_reduce -a rabenseifner -N 8 -o mine.ronde"));
    char *said =
        sweep(folder, "all_reduce -a ring,mine.ronde -N 4,8 --bytes 1K:1M:x1024 --topo crossbar-64",
              0);
    char *same =
        sweep(folder, "all_reduce -a rabenseifner -N 8 --bytes 1K:1M:x1024 --topo crossbar-64", 0);
    uint32_t found = 0;
    for (const char *at = said;
         (at = strstr(at, "\"algorithm\": \"mine.ronde\", \"ranks\": 8")) != NULL; at++)
        found++;
    CU_ASSERT_EQUAL(found, 2);
    CU_ASSERT_PTR_NULL(strstr(said, "\"algorithm\": \"mine.ronde\", \"ranks\": 4"));
    /* The same steps take the same time. */
    for (const char *at = same; (at = strstr(at, "\"time_ns\": ")) != NULL; at++) {
        char time[64];
        snprintf(time, sizeof time, "%.*s", (int)strcspn(at, ","), at);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, time));
    }
    free(same);
    free(said);
    said = shell(
        folder,
        "\"$RONDE\" plan all_reduce -N 8 -a mine.ronde --topo crossbar-64 -b 1M -e 1M --json");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "\"algorithm\": \"mine.ronde\""));
    free(said);
    free(sweep(folder, "all_gather -a ring,mine.ronde -N 8 --bytes 1K:1K:x2 --topo crossbar-64", 2));
    said = shell(folder, "cat err");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "mine.ronde is all_reduce, not all_gather"));
    free(said);
    remove_folder(folder);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"files_of_schedules_are_swept_and_planned", files_of_schedules_are_swept_and_planned},
        {"sweeps_and_plans_cut_as_sim_does", sweeps_and_plans_cut_as_sim_does},
        {"a_library_that_puts_is_swept_as_in_sim", a_library_that_puts_is_swept_as_in_sim},
        {"shards_and_resumption_give_the_whole", shards_and_resumption_give_the_whole},
        {"csv_has_what_json_has", csv_has_what_json_has},
        {"bad_sweeps_are_refused", bad_sweeps_are_refused},
        {"a_full_disk_leaves_no_empty_file", a_full_disk_leaves_no_empty_file},
        {"what_is_not_named_is_everything", what_is_not_named_is_everything},
        {"auto_is_what_is_planned", auto_is_what_is_planned},
        {"what_fails_leaves_the_rest", what_fails_leaves_the_rest},
        {"pictures_are_drawn", pictures_are_drawn},
        {"a_pool_survives_its_processes", a_pool_survives_its_processes},
    };
    return suite_run("sweep", cases, sizeof cases / sizeof cases[0]);
}
