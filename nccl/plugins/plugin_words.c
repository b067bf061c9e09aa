/** Names, numbers and files of both plug-ins. See plugin_words.h. */
#define _GNU_SOURCE

#include "plugin_words.h"

#include "tuner_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const collectives[ABI_COLLECTIVES] = {"broadcast", "reduce", "all_gather",
                                                         "reduce_scatter", "all_reduce"};
static const char *const algorithms[ABI_ALGORITHMS] = {"Tree",         "Ring", "CollNetDirect",
                                                       "CollNetChain", "NVLS", "NVLSTree",
                                                       "PAT"};
static const char *const protocols[ABI_PROTOCOLS] = {"LL", "LL128", "Simple"};

const char *plugin_collective(int collective)
{
    return collective >= 0 && collective < ABI_COLLECTIVES ? collectives[collective] : NULL;
}

const char *plugin_algorithm(int algorithm)
{
    return algorithm >= 0 && algorithm < ABI_ALGORITHMS ? algorithms[algorithm] : NULL;
}

const char *plugin_protocol(int protocol)
{
    return protocol >= 0 && protocol < ABI_PROTOCOLS ? protocols[protocol] : NULL;
}

bool plugin_choice_parse(const char *text, size_t bytes, int *out_algorithm, int *out_protocol)
{
    for (int a = 0; a < ABI_ALGORITHMS; a++)
        for (int p = 0; p < ABI_PROTOCOLS; p++) {
            const size_t first = strlen(algorithms[a]), second = strlen(protocols[p]);
            if (bytes != first + 1 + second || memcmp(text, algorithms[a], first) != 0 ||
                text[first] != '/' || memcmp(text + first + 1, protocols[p], second) != 0)
                continue;
            *out_algorithm = a;
            *out_protocol = p;
            return true;
        }
    return false;
}

void plugin_number(double value, char *out_text, size_t bytes)
{
    snprintf(out_text, bytes, "%.9g", value);
    for (char *at = out_text; *at; at++)
        if (!strchr("0123456789+-e.", *at))
            *at = '.';
}

/** Appends as much as fits; false where it does not. */
static bool append(char *path, size_t *used, const char *text)
{
    const size_t bytes = strlen(text);
    if (bytes >= PLUGIN_PATH_BYTES - *used)
        return false;
    memcpy(path + *used, text, bytes + 1);
    *used += bytes;
    return true;
}

/** What a letter behind % stands for; false for a letter that stands for nothing. */
static bool expand(char letter, char *out_text, size_t bytes)
{
    switch (letter) {
    case 'h':
        if (gethostname(out_text, bytes) != 0)
            snprintf(out_text, bytes, "host");
        out_text[bytes - 1] = '\0';
        return true;
    case 'p':
        snprintf(out_text, bytes, "%ld", (long)getpid());
        return true;
    case '%':
        snprintf(out_text, bytes, "%%");
        return true;
    default:
        return false;
    }
}

bool plugin_path(const char *pattern, char out_path[PLUGIN_PATH_BYTES])
{
    size_t used = 0;
    out_path[0] = '\0';
    for (const char *at = pattern; *at; at++) {
        char text[256] = {*at, '\0'};
        if (*at == '%' && !expand(*++at, text, sizeof text))
            return false;
        if (!append(out_path, &used, text))
            return false;
    }
    return used > 0;
}

int plugin_append_open(const char *path)
{
    struct stat facts;
    /* A pipe without a reader would hold up the application: neither opening nor writing may wait. */
    const int file =
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file >= 0 && (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))) {
        close(file);
        errno = EINVAL;
        return -1;
    }
    return file;
}

bool plugin_write(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t done = write(file, text, bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        text += done;
        bytes -= (size_t)done;
    }
    return true;
}
