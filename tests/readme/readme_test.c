/*
 * README and docs cannot drift: every marked console block is run. RONDE_UPDATE_GOLDEN=1 rewrites the outputs instead of
 * comparing them; read the diff before committing it.
 *
 * Commands run in a sandbox that looks like the repository after ./dev build: build/ronde is the program under test.
 */
#include "readme/console.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SANDBOX RONDE_SCRATCH_DIR "/readme"

/** Exit status of `ronde` where a component is missing. */
#define EXIT_MISSING 3

/** What happened so far. */
struct tally {
    enum console_mark mark; /**< which blocks this test runs */
    unsigned ran;
    unsigned missing;
};

static bool make_sandbox(void)
{
    static const char command[] =
        "rm -rf '" SANDBOX "' && mkdir -p '" SANDBOX "/build' && ln -s '" RONDE_BINARY "' '" SANDBOX
        "/build/ronde' && for name in topologies schedules docs tests README.md; do "
        "ln -s '" RONDE_SOURCE_DIR "'/$name '" SANDBOX "'/$name; done";
    char *said;
    const int status = files_command(command, &said);
    free(said);
    return status == 0;
}

/** Runs a command of a block; *out_text is what it printed. */
static int run_entry(const struct console_entry *entry, char **out_text)
{
    char command[8192];
    snprintf(command, sizeof command, "cd '" SANDBOX "' && { %.*s\n} 2>/dev/null",
             (int)entry->command_bytes, entry->command);
    return files_command(command, out_text);
}

/** Whether the output is what the block shows, under the block's mark. */
static bool matches(const struct console_entry *entry, const char *said)
{
    const size_t bytes = strlen(said);
    if (entry->mark == CONSOLE_GOLDEN)
        return bytes == entry->output_bytes && memcmp(said, entry->output, bytes) == 0;
    char *shown = console_shape(entry->output, entry->output_bytes);
    char *actual = console_shape(said, bytes);
    const bool is_same = shown && actual && *shown && strcmp(shown, actual) == 0;
    free(shown);
    free(actual);
    return is_same;
}

static void check_entry(const char *path, const struct console_entry *entry, struct tally *tally)
{
    char *said = NULL;
    const int status = run_entry(entry, &said);
    /* A pipe shows its last command's status: one that had nothing to read prints nothing. */
    const bool is_empty = status == 0 && said && !*said && entry->output_bytes > 0;
    const bool is_missing = (status == EXIT_MISSING || is_empty) && !RONDE_ALL_COMPONENTS;
    tally->missing += is_missing;
    tally->ran++;
    const bool is_right = is_missing || (status == 0 && said && matches(entry, said));
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s:%u: $ %.*s\n--- exit %d, printed\n%s---", path, entry->line,
                   (int)entry->command_bytes, entry->command, status, said ? said : "");
    free(said);
}

static void check_document(const char *path, void *context)
{
    struct tally *tally = context;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    struct console_reader reader = console_open(text);
    struct console_entry entry;
    while (console_next(&reader, &entry)) {
        CU_ASSERT_NOT_EQUAL(entry.mark, CONSOLE_UNMARKED);
        if (entry.mark == CONSOLE_UNMARKED)
            suite_note("%s:%u: console block without golden, shape or manual", path, entry.line);
        if (entry.mark == tally->mark)
            check_entry(path, &entry, tally);
    }
    free(text);
}

/** Rewrites the outputs of a document; commands that fail keep what they had, and fail the test. */
static void update_document(const char *path, void *context)
{
    const struct tally *tally = context;
    char *text = files_read(path);
    char *updated = NULL;
    size_t updated_bytes = 0;
    FILE *out = open_memstream(&updated, &updated_bytes);
    CU_ASSERT_FATAL(text && out);
    const char *copied = text;
    struct console_reader reader = console_open(text);
    struct console_entry entry;
    while (console_next(&reader, &entry)) {
        char *said = NULL;
        if (entry.mark != tally->mark)
            continue;
        const bool is_new = run_entry(&entry, &said) == 0 && said;
        CU_ASSERT(is_new);
        if (is_new) {
            fwrite(copied, 1, (size_t)(entry.output - copied), out);
            fputs(said, out);
            copied = entry.output + entry.output_bytes;
        }
        free(said);
    }
    fputs(copied, out);
    fclose(out);
    CU_ASSERT(strcmp(text, updated) == 0 || files_write(path, updated));
    free(updated);
    free(text);
}

static void run_documents(enum console_mark mark)
{
    const char *update = getenv("RONDE_UPDATE_GOLDEN");
    const bool is_update = update && strcmp(update, "1") == 0;
    struct tally tally = {mark, 0, 0};
    CU_ASSERT_FATAL(make_sandbox());
    files_visitor visit = is_update ? update_document : check_document;
    visit(RONDE_SOURCE_DIR "/README.md", &tally);
    files_walk("docs", ".md", visit, &tally);
    CU_ASSERT(is_update || tally.ran > 0);
    if (tally.missing > 0)
        suite_skip("%u of %u commands need a component that is off here", tally.missing, tally.ran);
}

static void golden_blocks_print_what_they_show(void)
{
    run_documents(CONSOLE_GOLDEN);
}

static void measured_blocks_keep_their_shape(void)
{
    run_documents(CONSOLE_SHAPE);
}

static void the_reader_finds_commands_and_outputs(void)
{
    static const char text[] =
        "a\n```console golden\n$ one\nx\ny\n$ two\n```\n```console\n$ three\n```\n"
        "```sh\n$ not ours\n```\n";
    struct console_reader reader = console_open(text);
    struct console_entry entry;
    CU_ASSERT_FATAL(console_next(&reader, &entry));
    CU_ASSERT(entry.mark == CONSOLE_GOLDEN && entry.line == 3 && entry.command_bytes == 3);
    CU_ASSERT_NSTRING_EQUAL(entry.output, "x\ny\n", entry.output_bytes);
    CU_ASSERT_FATAL(console_next(&reader, &entry));
    CU_ASSERT(entry.mark == CONSOLE_GOLDEN && entry.line == 6 && entry.output_bytes == 0);
    CU_ASSERT_FATAL(console_next(&reader, &entry));
    CU_ASSERT(entry.mark == CONSOLE_UNMARKED && entry.line == 9);
    CU_ASSERT(!console_next(&reader, &entry));
}

static bool same_shape(const char *a, const char *b)
{
    char *first = console_shape(a, strlen(a));
    char *second = console_shape(b, strlen(b));
    const bool is_same = first && second && *first && strcmp(first, second) == 0;
    free(first);
    free(second);
    return is_same;
}

static void shapes_ignore_numbers_and_nothing_else(void)
{
    CU_ASSERT(same_shape("note 1\nsize  time\n   8   1.5\n  16   2.5\n", "size time\n 8 91.25\n"));
    CU_ASSERT(!same_shape("size  time\n  8  1.5\n", "size  span\n  8  1.5\n"));
    CU_ASSERT(
        !same_shape("size  time\n (B)  (us)\n  8  1.5\n", "size  time\n (B)  (ms)\n  8  1.5\n"));
    CU_ASSERT(
        !same_shape("size  time\n (B)  (us)\n  8  1.5\n", "size  span\n (B)  (us)\n  8  1.5\n"));
    CU_ASSERT(same_shape("took 5 s\nsize\n  8  1.5\nall of 2 ok\n",
                         "took 6 s\nsize\n 9  1\nall of 3 ok\n"));
    CU_ASSERT(!same_shape("size  time\n  8  1.5\n", "size  time\n  8  1.5  2\n"));
    CU_ASSERT(!same_shape("no table\n", "no table\n"));
}

static void golden_comparison_sees_one_byte(void)
{
    const struct console_entry entry = {CONSOLE_GOLDEN, 1, "x", 1, "8 bytes\n", 8};
    CU_ASSERT(matches(&entry, "8 bytes\n"));
    CU_ASSERT(!matches(&entry, "9 bytes\n"));
    CU_ASSERT(!matches(&entry, "8 bytes\n\n"));
    CU_ASSERT(!matches(&entry, ""));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_reader_finds_commands_and_outputs", the_reader_finds_commands_and_outputs},
        {"shapes_ignore_numbers_and_nothing_else", shapes_ignore_numbers_and_nothing_else},
        {"golden_comparison_sees_one_byte", golden_comparison_sees_one_byte},
        {"golden_blocks_print_what_they_show", golden_blocks_print_what_they_show},
        {"measured_blocks_keep_their_shape", measured_blocks_keep_their_shape},
    };
    return suite_run("readme", cases, sizeof cases / sizeof cases[0]);
}
