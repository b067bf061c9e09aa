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

static const struct plugin_word funcs[] = {{"Broadcast", "broadcast", 0},
                                           {"Reduce", "reduce", 0},
                                           {"AllGather", "all_gather", 0},
                                           {"ReduceScatter", "reduce_scatter", 0},
                                           {"AllReduce", "all_reduce", 0},
                                           {"SendRecv", "SendRecv", 0},
                                           {"Send", "send", 0},
                                           {"Recv", "recv", 0},
                                           {"AlltoAll", "all_to_all", 0},
                                           {"AllToAll", "all_to_all", 0},
                                           {"Gather", "gather", 0},
                                           {"Scatter", "scatter", 0}};
static const struct plugin_word types[] = {
    {"ncclInt8", "int8", 1},         {"ncclUint8", "uint8", 1},
    {"ncclInt32", "int32", 4},       {"ncclUint32", "uint32", 4},
    {"ncclInt64", "int64", 8},       {"ncclUint64", "uint64", 8},
    {"ncclFloat16", "float16", 2},   {"ncclFloat32", "float32", 4},
    {"ncclFloat64", "float64", 8},   {"ncclBfloat16", "bfloat16", 2},
    {"ncclFloat8e4m3", "f8e4m3", 1}, {"ncclFloat8e5m2", "f8e5m2", 1}};
static const struct plugin_word algorithms[ABI_ALGORITHMS] = {{"TREE", "Tree", 0},
                                                              {"RING", "Ring", 0},
                                                              {"COLLNET_DIRECT", "CollNetDirect", 0},
                                                              {"COLLNET_CHAIN", "CollNetChain", 0},
                                                              {"NVLS", "NVLS", 0},
                                                              {"NVLS_TREE", "NVLSTree", 0},
                                                              {"PAT", "PAT", 0}};
static const struct plugin_word protocols[ABI_PROTOCOLS] = {{"LL", "LL", 0},
                                                            {"LL128", "LL128", 0},
                                                            {"SIMPLE", "Simple", 0}};

#define COUNT(words) (int)(sizeof(words) / sizeof(words)[0])
const struct plugin_words plugin_funcs = {funcs, COUNT(funcs), 8},
                          plugin_types = {types, COUNT(types), COUNT(types)},
                          plugin_algorithms = {algorithms, ABI_ALGORITHMS, ABI_ALGORITHMS},
                          plugin_protocols = {protocols, ABI_PROTOCOLS, ABI_PROTOCOLS};

const struct plugin_word *plugin_word_find(const struct plugin_words *words, const char *theirs)
{
    for (int w = 0; theirs && w < words->count; w++)
        if (strcmp(words->all[w].theirs, theirs) == 0)
            return &words->all[w];
    return NULL;
}

const char *plugin_collective(int collective)
{
    return collective >= 0 && collective < ABI_COLLECTIVES ? funcs[collective].ours : NULL;
}

const char *plugin_algorithm(int algorithm)
{
    return algorithm >= 0 && algorithm < ABI_ALGORITHMS ? algorithms[algorithm].ours : NULL;
}

const char *plugin_protocol(int protocol)
{
    return protocol >= 0 && protocol < ABI_PROTOCOLS ? protocols[protocol].ours : NULL;
}

bool plugin_choice_parse(const char *text, size_t bytes, int *out_algorithm, int *out_protocol)
{
    for (int a = 0; a < ABI_ALGORITHMS; a++)
        for (int p = 0; p < ABI_PROTOCOLS; p++) {
            char pair[48];
            const int length =
                snprintf(pair, sizeof pair, "%s/%s", algorithms[a].ours, protocols[p].ours);
            if (bytes != (size_t)length || memcmp(text, pair, bytes) != 0)
                continue;
            *out_algorithm = a;
            *out_protocol = p;
            return true;
        }
    return false;
}

size_t plugin_decimal(const char *text, double *out)
{
    double unit = 0;
    size_t at = 0;
    for (*out = 0; (text[at] >= '0' && text[at] <= '9') || (text[at] == '.' && unit <= 0); at++) {
        if (text[at] == '.') {
            unit = 1;
            continue;
        }
        unit /= 10;
        *out = unit > 0 ? *out + unit * (text[at] - '0') : 10 * *out + (text[at] - '0');
    }
    return at == 1 && *text == '.' ? 0 : at;
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
