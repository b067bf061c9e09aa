/*
 * The tables of files in the READMEs of the rooms: a name in a first column is a file of the room, and where a room's table
 * is to be whole, every source file of the room is in it. Names go stale when files are renamed, and nobody reads them
 * more trustingly than who is new.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128u
#define MOST_FILES 512u

/* A room, its README, and what of it. */
struct room {
    const char *folder;
    bool is_whole; /* every .c file is named */
};

static const struct room rooms[] = {
    {"engine", false}, {"schedules", false}, {"topologies", false}, {"sim", false},
    {"hw", false},     {"formats", true},    {"predict", true},     {"nccl", true},
    {"lab", true},     {"api", false},       {"cli", true},         {"bench", false},
};

/* Paths below the root of the sources. */
static struct {
    char paths[MOST_FILES][NAME_BYTES];
    unsigned count;
} listed;

static void list_file(const char *path, void *context)
{
    (void)context;
    const char *relative = path + strlen(RONDE_SOURCE_DIR) + 1;
    CU_ASSERT_FATAL(listed.count < MOST_FILES && strlen(relative) < NAME_BYTES);
    snprintf(listed.paths[listed.count++], NAME_BYTES, "%s", relative);
}

static void list_room(const char *folder)
{
    static const char *const suffixes[] = {".c", ".h", ".cpp", ".cu", ".sh", ".def", ".awk"};
    listed.count = 0;
    for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++)
        (void)files_walk(folder, suffixes[s], list_file, NULL);
    CU_ASSERT(listed.count > 0);
}

/* Whether a path of the room is the name, or ends in it behind a slash. */
static bool is_in_room(const char *name)
{
    /* A table of a folder below the room may go up from there. */
    while (strncmp(name, "../", 3) == 0)
        name += 3;
    const size_t length = strlen(name);
    for (unsigned k = 0; k < listed.count; k++) {
        const size_t bytes = strlen(listed.paths[k]);
        if (bytes > length && listed.paths[k][bytes - length - 1] == '/' &&
            strcmp(listed.paths[k] + bytes - length, name) == 0)
            return true;
    }
    return false;
}

/* Whether it is named as a source file, and by its whole name. */
static bool is_file_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && !strpbrk(name, "*<> ") &&
           (strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0 || strcmp(dot, ".cpp") == 0 ||
            strcmp(dot, ".cu") == 0 || strcmp(dot, ".sh") == 0);
}

/* Between two backticks of a first column; returns what follows, NULL at its end. */
static const char *next_name(const char *at, const char *end, char name[NAME_BYTES])
{
    const char *start = memchr(at, '`', (size_t)(end - at));
    const char *stop = start ? memchr(start + 1, '`', (size_t)(end - start - 1)) : NULL;
    if (!stop || (size_t)(stop - start) >= NAME_BYTES)
        return NULL;
    snprintf(name, NAME_BYTES, "%.*s", (int)(stop - start - 1), start + 1);
    return stop + 1;
}

static unsigned check_row(const struct room *room, const char *row)
{
    char name[NAME_BYTES];
    unsigned names = 0;
    const char *end = strchr(row + 1, '|');
    for (const char *at = row; end && (at = next_name(at, end, name));) {
        if (!is_file_name(name))
            continue;
        names++;
        CU_ASSERT(is_in_room(name));
        if (!is_in_room(name))
            suite_note("%s/README.md: `%s` is no file of %s/", room->folder, name, room->folder);
    }
    return names;
}

/* Where a table of files begins: its first column is headed so. */
static bool is_head(const char *line)
{
    return strncmp(line, "| file |", 8) == 0 || strncmp(line, "| files |", 9) == 0;
}

static unsigned check_tables(const struct room *room, const char *text)
{
    bool is_table = false;
    unsigned names = 0;
    for (const char *line = text; line && *line;) {
        is_table = is_head(line) || (is_table && *line == '|');
        if (is_table)
            names += check_row(room, line);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return names;
}

/* Every .c file by its path below the room, in backticks. */
static void check_whole(const struct room *room, const char *text)
{
    for (unsigned k = 0; k < listed.count; k++) {
        char name[NAME_BYTES + 4];
        const char *path = listed.paths[k] + strlen(room->folder) + 1;
        if (strcmp(strrchr(path, '.'), ".c") != 0)
            continue;
        snprintf(name, sizeof name, "`%s`", path);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, name));
        if (!strstr(text, name))
            suite_note("%s/README.md has no row for `%s`", room->folder, path);
    }
}

static void tables_name_the_files_that_are_there(void)
{
    unsigned names = 0;
    for (size_t k = 0; k < sizeof rooms / sizeof rooms[0]; k++) {
        char relative[NAME_BYTES], path[1024];
        snprintf(relative, sizeof relative, "%s/README.md", rooms[k].folder);
        if (!suite_source(path, sizeof path, relative))
            return;
        char *text = files_read(path);
        CU_ASSERT_PTR_NOT_NULL(text);
        if (!text) {
            suite_note("%s is missing", relative);
            continue;
        }
        list_room(rooms[k].folder);
        names += check_tables(&rooms[k], text);
        if (rooms[k].is_whole)
            check_whole(&rooms[k], text);
        free(text);
    }
    suite_note("%u names in tables", names);
    CU_ASSERT(names > 150);
}

/* Names with a folder of the repository in front, in any line of the project's other pages. */
static void check_page(const char *path, void *context)
{
    char name[NAME_BYTES], full[1024];
    unsigned *names = context;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const char *end = text + strlen(text);
    for (const char *at = text; (at = next_name(at, end, name));) {
        bool is_path = false;
        for (size_t k = 0; k < sizeof rooms / sizeof rooms[0]; k++) {
            const size_t bytes = strlen(rooms[k].folder);
            is_path |= strncmp(name, rooms[k].folder, bytes) == 0 && name[bytes] == '/';
        }
        if (!is_path || !is_file_name(name))
            continue;
        ++*names;
        if (!suite_source(full, sizeof full, name))
            continue;
        char *there = files_read(full);
        CU_ASSERT_PTR_NOT_NULL(there);
        if (!there)
            suite_note("%s names `%s`, which is not there", path, name);
        free(there);
    }
    free(text);
}

static void pages_name_the_files_that_are_there(void)
{
    unsigned names = 0;
    CU_ASSERT(files_walk("docs", ".md", check_page, &names) > 10);
    suite_note("%u names in pages", names);
    CU_ASSERT(names > 30);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"tables_name_the_files_that_are_there", tables_name_the_files_that_are_there},
        {"pages_name_the_files_that_are_there", pages_name_the_files_that_are_there},
    };
    return suite_run("readme", cases, sizeof cases / sizeof cases[0]);
}
