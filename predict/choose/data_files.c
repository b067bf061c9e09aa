/** Where shipped files are. See data_files.h. */
#define _GNU_SOURCE

#include "ronde/data_files.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Names below share/ronde of an installation, and below the root of the sources. */
static const struct {
    const char *installed;
    const char *source;
} names[RONDE_DATA_KIND_COUNT] = {
    [RONDE_DATA_TOPOLOGIES] = {"topologies", "topologies"},
    [RONDE_DATA_TABLES] = {"tune", "predict/tables"},
    [RONDE_DATA_NCCL] = {"nccl", "nccl/model/constants"},
    [RONDE_DATA_MACHINES] = {"machines", "topologies/published"},
};

/** Joins up to four parts; takes the result if it can be read. */
static bool readable(char *out_path, size_t bytes, const char *const parts[4])
{
    char path[RONDE_PATH_BYTES];
    const int length =
        snprintf(path, sizeof path, "%s%s%s%s", parts[0], parts[1], parts[2], parts[3]);
    if (length < 0 || (size_t)length >= sizeof path || (size_t)length >= bytes ||
        access(path, R_OK) != 0)
        return false;
    memcpy(out_path, path, (size_t)length + 1);
    return true;
}

/** Cuts the last part of a path; false where it is not absolute. */
static bool cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (path[0] != '/')
        return false;
    *slash = '\0';
    return true;
}

/** The folder of the shared library, or of a program that was started by its whole path and has this linked in. */
static bool library_folder(char *out_path, size_t bytes)
{
    Dl_info info;
    if (dladdr((const void *)names, &info) == 0 || !info.dli_fname ||
        strlen(info.dli_fname) >= bytes)
        return false;
    memcpy(out_path, info.dli_fname, strlen(info.dli_fname) + 1);
    return cut_name(out_path);
}

static bool program_folder(char *out_path, size_t bytes)
{
    const ssize_t length = readlink("/proc/self/exe", out_path, bytes - 1);
    if (length <= 0)
        return false;
    out_path[length] = '\0';
    return cut_name(out_path);
}

bool ronde_data_folder(enum ronde_data_kind kind, enum ronde_data_place place, char *out_path,
                       size_t bytes)
{
    char folder[RONDE_PATH_BYTES];
    if (kind >= RONDE_DATA_KIND_COUNT)
        return false;
    const char *const installed = names[kind].installed;
    switch (place) {
    case RONDE_DATA_LIBRARY:
        return library_folder(folder, sizeof folder) &&
               readable(out_path, bytes,
                        (const char *[]){folder, RONDE_DATA_FROM_LIB "/ronde/", installed, ""});
    case RONDE_DATA_PROGRAM:
        return program_folder(folder, sizeof folder) &&
               readable(out_path, bytes,
                        (const char *[]){folder, RONDE_DATA_FROM_BIN "/ronde/", installed, ""});
    case RONDE_DATA_SOURCE:
        return readable(out_path, bytes,
                        (const char *[]){RONDE_DATA_SOURCES "/", names[kind].source, "", ""});
    case RONDE_DATA_PREFIX:
        return readable(out_path, bytes,
                        (const char *[]){RONDE_DATA_INSTALLED "/ronde/", installed, "", ""});
    case RONDE_DATA_PLACE_COUNT:
        break;
    }
    return false;
}

bool ronde_topologies_folder(char *out_path, size_t bytes)
{
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT; p++)
        if (ronde_data_folder(RONDE_DATA_TOPOLOGIES, (enum ronde_data_place)p, out_path, bytes))
            return true;
    return false;
}

void ronde_find_topology(const char *text, char *out_path, size_t bytes)
{
    char folder[RONDE_PATH_BYTES];
    if (readable(out_path, bytes, (const char *[]){text, "", "", ""}))
        return;
    /* A shipped name has no slash; anything else was meant as a path and is reported as such. */
    if (text[0] && !strchr(text, '/') && ronde_topologies_folder(folder, sizeof folder) &&
        (readable(out_path, bytes, (const char *[]){folder, "/", text, ""}) ||
         readable(out_path, bytes, (const char *[]){folder, "/", text, ".xml"})))
        return;
    snprintf(out_path, bytes, "%s", text);
}
