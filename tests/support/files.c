#include "support/files.h"

#include "support/built_with.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/** Longest path the tests handle. */
#define PATH_BYTES 4096

/** Everything a stream yields; NULL when there is no memory. */
static char *read_stream(FILE *stream)
{
    size_t capacity = 1 << 16;
    size_t used = 0;
    char *text = malloc(capacity);
    while (text) {
        used += fread(text + used, 1, capacity - used - 1, stream);
        if (used + 1 < capacity)
            break;
        capacity *= 2;
        char *larger = realloc(text, capacity);
        if (!larger)
            free(text);
        text = larger;
    }
    if (text)
        text[used] = '\0';
    return text;
}

char *files_read(const char *path)
{
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return NULL;
    char *text = read_stream(stream);
    fclose(stream);
    return text;
}

bool files_write(const char *path, const char *text)
{
    FILE *stream = fopen(path, "wb");
    if (!stream)
        return false;
    const bool is_written = fputs(text, stream) >= 0;
    return fclose(stream) == 0 && is_written;
}

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t length = strlen(name);
    const size_t tail = strlen(suffix);
    return length >= tail && strcmp(name + length - tail, suffix) == 0;
}

static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strncmp(entry->d_name, "build", 5) != 0;
}

static unsigned walk(const char *path, const char *suffix, files_visitor visit, void *context)
{
    struct dirent **entries;
    const int count = scandir(path, &entries, is_wanted, alphasort);
    unsigned visited = 0;
    for (int i = 0; i < count; i++) {
        char child[PATH_BYTES];
        const int length = snprintf(child, sizeof child, "%s/%s", path, entries[i]->d_name);
        struct stat info;
        if (length > 0 && length < PATH_BYTES && stat(child, &info) == 0) {
            if (S_ISDIR(info.st_mode)) {
                visited += walk(child, suffix, visit, context);
            } else if (has_suffix(child, suffix)) {
                visit(child, context);
                visited++;
            }
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return visited;
}

unsigned files_walk(const char *folder, const char *suffix, files_visitor visit, void *context)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", RONDE_SOURCE_DIR, folder);
    return walk(path, suffix, visit, context);
}

int files_command(const char *command, char **out_text)
{
    *out_text = NULL;
    FILE *stream = popen(command, "r");
    if (!stream)
        return -1;
    *out_text = read_stream(stream);
    const int status = pclose(stream);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
