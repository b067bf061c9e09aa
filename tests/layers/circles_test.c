/*
 * Files of a room that call each other in a circle have no order in which they can be read. The linker's own tables say which
 * do; those that may are listed, with why.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILES 256u
#define NAME_BYTES 64

/* Circles that stay: whatever else calls in a circle fails, and so does a row that has become wrong. */
static const struct row {
    const char *room;
    const char *files;
    const char *why;
} allowed[] = {
    {"api", "advance.c direct.c group.c message.c open.c progress.c queue.c request.c stream.c",
     "one queue: whoever waits drives it, and driving ends what others wait for"},
    {"hw", "matching.c net.c p2p.c p2p_net.c shm.c transport.c ucx_links.c wire.c",
     "messages: what arrives below is matched above, and then fetched below"},
    {"hw", "control_frame.c stall_diagnosis.c",
     "a notice that a rank waits too long, while frames are read, has all ranks' frames read"},
};

/* A room's files, and who calls whom: directly, then over others. */
struct room {
    char names[MOST_FILES][NAME_BYTES];
    unsigned count;
    bool calls[MOST_FILES][MOST_FILES];
};

/* A symbol and the file that defines it. */
struct symbol {
    const char *name;
    unsigned file;
};

static unsigned file_of(struct room *room, const char *name)
{
    for (unsigned i = 0; i < room->count; i++)
        if (strcmp(room->names[i], name) == 0)
            return i;
    CU_ASSERT_FATAL(room->count < MOST_FILES && strlen(name) < NAME_BYTES);
    strcpy(room->names[room->count], name);
    return room->count++;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct symbol *)left)->name, ((const struct symbol *)right)->name);
}

/* "archive:file.c.o: [address] T name", cut into file.c, T and name; false for other lines. */
static bool cut(char *line, const char **out_file, char *out_kind, const char **out_name)
{
    char *file = strstr(line, ".a:");
    char *object = file ? strstr(file, ".o:") : NULL;
    char *name = strrchr(line, ' ');
    if (!object || !name || name - object < 4)
        return false;
    *out_file = file + 3;
    *out_kind = name[-1];
    *out_name = name + 1;
    *object = '\0';
    return true;
}

/* Fills in who calls whom from an nm listing, which is taken apart. */
static void read_calls(struct room *room, char *listing)
{
    size_t lines = 1, defined = 0, needed = 0;
    for (const char *at = listing; *at; at++)
        lines += *at == '\n';
    struct symbol *definitions = calloc(lines, sizeof *definitions);
    struct symbol *needs = calloc(lines, sizeof *needs);
    CU_ASSERT_FATAL(definitions && needs);
    char *rest = NULL;
    for (char *line = strtok_r(listing, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *file, *name;
        char kind;
        if (!cut(line, &file, &kind, &name))
            continue;
        const struct symbol symbol = {name, file_of(room, file)};
        if (kind == 'U')
            needs[needed++] = symbol;
        else if (strchr("TDBR", kind))
            definitions[defined++] = symbol;
    }
    qsort(definitions, defined, sizeof *definitions, by_name);
    for (size_t i = 0; i < needed; i++) {
        const struct symbol *found =
            bsearch(&needs[i], definitions, defined, sizeof *definitions, by_name);
        if (found && found->file != needs[i].file)
            room->calls[needs[i].file][found->file] = true;
    }
    free(definitions);
    free(needs);
}

/* Warshall: over any others, too. */
static void close_calls(struct room *room)
{
    for (unsigned via = 0; via < room->count; via++)
        for (unsigned from = 0; from < room->count; from++)
            for (unsigned to = 0; to < room->count && room->calls[from][via]; to++)
                room->calls[from][to] |= room->calls[via][to];
}

static bool lists(const char *files, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(files, name); at; at = strstr(at + 1, name))
        if ((at == files || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* The row that a file's circle may have; the whole circle has to be in it. */
static const struct row *row_of(const char *name, const struct room *room, unsigned file)
{
    for (size_t r = 0; r < sizeof allowed / sizeof allowed[0]; r++) {
        bool is_whole = strcmp(allowed[r].room, name) == 0;
        for (unsigned other = 0; other < room->count && is_whole; other++)
            is_whole = !room->calls[file][other] || !room->calls[other][file] ||
                       lists(allowed[r].files, room->names[other]);
        if (is_whole)
            return &allowed[r];
    }
    return NULL;
}

/* Notes what a file's circle holds, once for each. */
static void tell(const char *name, const struct room *room, unsigned file)
{
    char text[1024] = "";
    for (unsigned other = 0; other < room->count; other++)
        if (room->calls[file][other] && room->calls[other][file]) {
            if (other < file)
                return;
            strncat(text, " ", sizeof text - strlen(text) - 1);
            strncat(text, room->names[other], sizeof text - strlen(text) - 1);
        }
    suite_note("%s: files that call each other in a circle:%s", name, text);
}

static void check_room(const char *name, struct room *room, bool is_used[])
{
    for (unsigned file = 0; file < room->count; file++) {
        const struct row *row = room->calls[file][file] ? row_of(name, room, file) : NULL;
        CU_ASSERT(!room->calls[file][file] || row);
        if (row)
            is_used[row - allowed] = true;
        else if (room->calls[file][file])
            tell(name, room, file);
    }
}

/* The archive of a room, which a build may lack. */
static bool archive_of(const char *name, char *path, size_t bytes)
{
    const int length = snprintf(path, bytes, "%s/%s/libronde_%s.a", RONDE_BUILD_DIR, name, name);
    FILE *file = length > 0 && (size_t)length < bytes ? fopen(path, "rb") : NULL;
    if (file)
        (void)fclose(file);
    return file != NULL;
}

static void files_call_each_other_in_no_circle(void)
{
    static const char *const rooms[] = {"engine", "schedules", "topologies", "sim",
                                        "hw",     "formats",   "predict",    "nccl",
                                        "lab",    "api",       "cli"};
    bool is_used[sizeof allowed / sizeof allowed[0]] = {false};
    unsigned looked_at = 0;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        char path[4096], command[8192], *listing = NULL;
        if (!archive_of(rooms[i], path, sizeof path))
            continue;
        snprintf(command, sizeof command, "'%s' -A '%s' 2>/dev/null", RONDE_NM, path);
        struct room *room = calloc(1, sizeof *room);
        CU_ASSERT_FATAL(room != NULL);
        if (files_command(command, &listing) == 0 && listing) {
            read_calls(room, listing);
            close_calls(room);
            check_room(rooms[i], room, is_used);
            looked_at += room->count;
        }
        free(listing);
        free(room);
    }
    if (looked_at == 0) {
        suite_skip("%s lists no symbols here", RONDE_NM);
        return;
    }
    CU_ASSERT(looked_at > 300);
    for (size_t r = 0; r < sizeof allowed / sizeof allowed[0]; r++) {
        CU_ASSERT(is_used[r]);
        if (!is_used[r])
            suite_note("%s: no circle any more, strike the row: %s", allowed[r].room,
                       allowed[r].files);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(files_call_each_other_in_no_circle),
    };
    return suite_run("circles", cases, sizeof cases / sizeof cases[0]);
}
