/* See shipped_names.h. */
#include "shipped_names.h"

#include "ronde/values.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int by_alphabet(const void *a, const void *b)
{
    return strcmp(a, b);
}

void ronde_shipped_names_read(const char *folder, const char *suffix,
                              struct ronde_shipped_names *out)
{
    DIR *const directory = opendir(folder);
    out->count = 0;
    for (struct dirent *entry;
         directory && out->count < RONDE_SHIPPED_MOST && (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        const size_t length = dot ? (size_t)(dot - entry->d_name) : 0;
        if (length == 0 || length >= RONDE_SHIPPED_NAME_BYTES || strcmp(dot, suffix) != 0)
            continue;
        memcpy(out->name[out->count], entry->d_name, length);
        out->name[out->count++][length] = '\0';
    }
    if (directory)
        (void)closedir(directory);
    qsort(out->name, out->count, sizeof out->name[0], by_alphabet);
}

const char *ronde_shipped_nearest(const struct ronde_shipped_names *names, const char *text)
{
    const char *pointers[RONDE_SHIPPED_MOST];
    for (uint32_t i = 0; i < names->count; i++)
        pointers[i] = names->name[i];
    return ronde_nearest(text, pointers, names->count);
}
