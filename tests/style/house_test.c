/*
 * The house stays in order: how many files there are, how long one is, that a name stands once in a room, that a private
 * header serves several files, and that no text says in pictures what can be said plainly.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILES 900u
#define MOST_CLI_FILES 100u
#define MOST_LINES 550u
#define PATH_BYTES 256u

static const char *const rooms[] = {"engine",  "schedules", "topologies", "sim", "hw",  "formats",
                                    "predict", "nccl",      "lab",        "api", "cli", "bench"};
static const char *const suffixes[] = {".c", ".h"};

/* What was found in a room. */
struct room {
    char paths[MOST_FILES][PATH_BYTES]; /* below the root */
    unsigned count;
};

static struct room room;

static void list_file(const char *path, void *context)
{
    struct room *to = context;
    CU_ASSERT_FATAL(to->count < MOST_FILES);
    snprintf(to->paths[to->count++], PATH_BYTES, "%s", path + strlen(RONDE_SOURCE_DIR) + 1);
}

static void list_room(const char *folder)
{
    room.count = 0;
    for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++)
        (void)files_walk(folder, suffixes[s], list_file, &room);
}

static void files_are_few(void)
{
    unsigned count = 0;
    for (size_t r = 0; r < sizeof rooms / sizeof rooms[0]; r++) {
        list_room(rooms[r]);
        CU_ASSERT(room.count > 0);
        CU_ASSERT(strcmp(rooms[r], "cli") != 0 || room.count <= MOST_CLI_FILES);
        count += room.count;
    }
    CU_ASSERT(count <= MOST_FILES);
}

static const char *name_of(unsigned file)
{
    return strrchr(room.paths[file], '/') + 1;
}

static void names_stand_once_in_a_room(void)
{
    for (size_t r = 0; r < sizeof rooms / sizeof rooms[0]; r++) {
        list_room(rooms[r]);
        for (unsigned a = 0; a < room.count; a++)
            for (unsigned b = 0; b < a; b++)
                if (strcmp(name_of(a), name_of(b)) == 0) {
                    CU_FAIL("a name stands twice in a room");
                    suite_note("%s and %s", room.paths[a], room.paths[b]);
                }
    }
}

/* Words that were there once. */
static const char *const pictures[] = {
    "stands at its door",
    "who answers at",
    "in other words;",
    "One voice of a host",
    "takes time but coming",
    "which the format has not",
    "who has no use for",
    "when it is a reproach",
    "behind its last whole line",
    "takes it all the same",
    "stands too late in",

    "_queue_hurry",
    "_queue_tend",
    "_lock_take",
    "_lock_give",
    "struct roster",
};

static void check_length(const char *path, const char *text)
{
    unsigned lines = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    CU_ASSERT(lines <= MOST_LINES);
    if (lines > MOST_LINES)
        suite_note("%s has %u lines", path, lines);
}

static void check_test(const char *path, void *context)
{
    char *text = files_read(path);
    (void)context;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    check_length(path, text);
    free(text);
}

static void check_text(const char *path, void *context)
{
    char *text = files_read(path);
    (void)context;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    check_length(path, text);
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
        const bool is_there = strstr(text, pictures[i]);
        CU_ASSERT(!is_there);
        if (is_there)
            suite_note("%s: \"%s\": say what is", path, pictures[i]);
    }
    free(text);
}

static void texts_are_short_and_plain(void)
{
    for (size_t r = 0; r < sizeof rooms / sizeof rooms[0]; r++)
        for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++)
            (void)files_walk(rooms[r], suffixes[s], check_text, NULL);
}

static void tests_are_short(void)
{
    for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++)
        CU_ASSERT(files_walk("tests", suffixes[s], check_test, NULL) > 0);
}

/* Private headers that are included fewer than three times; the first comment of each says why it is a file of its own. */
static const char *const of_few[] = {
    "cli/html/figures.h",         "engine/execute/convert.h",
    "engine/execute/narrow.h",    "engine/execute/operand.h",
    "engine/execute/result.h",    "engine/execute/stream.h",
    "engine/execute/wide.h",      "engine/execute/zero_copy.h",
    "formats/traces/kineto.h",    "hw/cuda/block_begin.h",
    "hw/cuda/device.h",           "hw/cuda/kernels.h",

    "hw/cuda/runtime.h",          "hw/shm/eager.h",
    "sim/flat/symmetric_loops.h", "sim/machines/ports.h",
};

#define LEAST_USERS 3u
#define MOST_HEADERS 256u

static struct {
    char path[PATH_BYTES];
    unsigned users;
} headers[MOST_HEADERS];
static unsigned header_count;

static void add_header(const char *path, void *context)
{
    (void)context;
    if (strstr(path, "/include/ronde/"))
        return;
    CU_ASSERT_FATAL(header_count < MOST_HEADERS);
    snprintf(headers[header_count++].path, PATH_BYTES, "%s", path + strlen(RONDE_SOURCE_DIR) + 1);
}

/* One more user of the header that a file of `folder` means by a name: from the root, or beside it. */
static void add_user(const char *folder, size_t folder_length, const char *name, size_t length)
{
    for (unsigned h = 0; h < header_count; h++) {
        const char *path = headers[h].path;
        const bool is_beside = strncmp(path, folder, folder_length) == 0 &&
                               strlen(path) == folder_length + length &&
                               strncmp(path + folder_length, name, length) == 0;
        headers[h].users +=
            is_beside || (strlen(path) == length && strncmp(path, name, length) == 0);
    }
}

static void count_users(const char *path, void *context)
{
    static const char include[] = "#include \"";
    const char *folder = path + strlen(RONDE_SOURCE_DIR) + 1, *name = strrchr(folder, '/') + 1;
    char *text = files_read(path);
    (void)context;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (const char *at = text; (at = strstr(at, include)) != NULL;) {
        at += strlen(include);
        add_user(folder, (size_t)(name - folder), at, strcspn(at, "\"\n"));
    }
    free(text);
}

static bool is_of_few(const char *path)
{
    for (size_t i = 0; i < sizeof of_few / sizeof of_few[0]; i++)
        if (strcmp(of_few[i], path) == 0)
            return true;
    return false;
}

static void private_headers_serve_three_files_or_say_why(void)
{
    static const char *const users[] = {".c", ".h", ".cu", ".cpp"};
    unsigned few = 0;
    for (size_t r = 0; r < sizeof rooms / sizeof rooms[0]; r++)
        (void)files_walk(rooms[r], ".h", add_header, NULL);
    for (size_t s = 0; s < sizeof users / sizeof users[0]; s++) {
        for (size_t r = 0; r < sizeof rooms / sizeof rooms[0]; r++)
            (void)files_walk(rooms[r], users[s], count_users, NULL);
        (void)files_walk("tests", users[s], count_users, NULL);
    }
    for (unsigned h = 0; h < header_count; h++) {
        const bool is_right = (headers[h].users < LEAST_USERS) == is_of_few(headers[h].path);
        few += headers[h].users < LEAST_USERS;
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note(
                "%s has %u users: move it into one, or say why not and name it in this test; "
                "named here, it has fewer than %u",
                headers[h].path, headers[h].users, LEAST_USERS);
    }
    CU_ASSERT_EQUAL(few, sizeof of_few / sizeof of_few[0]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(files_are_few),
        SUITE_CASE(names_stand_once_in_a_room),
        SUITE_CASE(texts_are_short_and_plain),
        SUITE_CASE(tests_are_short),
        SUITE_CASE(private_headers_serve_three_files_or_say_why),
    };
    return suite_run("house", cases, sizeof cases / sizeof cases[0]);
}
