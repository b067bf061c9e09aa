/* Names of collectives and types in traces. See gather.h. */
#include "gather.h"

#include "ronde/traces.h"

#include <string.h>
#include <strings.h>

/* Names without prefix, '_' before and "_base", "_coalesced", "_oop" behind; without blanks and '_'. */
static const struct {
    const char *name;
    enum ronde_collective collective;
} collectives[] = {
    {"allreduce", RONDE_ALL_REDUCE},
    {"allgather", RONDE_ALL_GATHER},
    {"allgatherv", RONDE_ALL_GATHER},
    {"allgatherintotensor", RONDE_ALL_GATHER},
    {"reducescatter", RONDE_REDUCE_SCATTER},
    {"reducescatterv", RONDE_REDUCE_SCATTER},
    {"reducescattertensor", RONDE_REDUCE_SCATTER},
    {"alltoall", RONDE_ALL_TO_ALL},
    {"alltoallv", RONDE_ALL_TO_ALL},
    {"alltoallsingle", RONDE_ALL_TO_ALL},
    {"broadcast", RONDE_BROADCAST},
    {"reduce", RONDE_REDUCE},
    {"gather", RONDE_GATHER},
    {"scatter", RONDE_SCATTER},
    {"send", RONDE_SEND_RECV},
    {"recv", RONDE_SEND_RECV},
    {"recvanysource", RONDE_SEND_RECV},
    {"sendrecv", RONDE_SEND_RECV},
};

/* Of groups of calls, whose records have no sizes of their own. */
static const char *const without_sizes[] = {"coalesced", "batchisendirecv", "groupend"};

/* Cuts an ending off. */
static void cut(char *text, const char *ending)
{
    const size_t length = strlen(text), bytes = strlen(ending);
    if (length > bytes && strcmp(text + length - bytes, ending) == 0)
        text[length - bytes] = '\0';
}

enum ronde_collective name_collective(const char *name, bool *out_is_call)
{
    char word[48];
    size_t used = 0;
    const char *colon = strchr(name, ':');
    for (const char *at = colon ? colon + 1 : name; *at && *at != ' ' && used + 1 < sizeof word;
         at++)
        if (*at != '_')
            word[used++] = (char)(*at >= 'A' && *at <= 'Z' ? *at + ('a' - 'A') : *at);
    word[used] = '\0';
    cut(word, "coalesced");
    cut(word, "oop");
    cut(word, "base");
    *out_is_call = true;
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++)
        if (strcmp(word, collectives[i].name) == 0)
            return collectives[i].collective;
    *out_is_call = false;
    for (size_t i = 0; i < sizeof without_sizes / sizeof without_sizes[0]; i++)
        *out_is_call = *out_is_call || strcmp(word, without_sizes[i]) == 0;
    return RONDE_COLLECTIVE_COUNT;
}

static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {
    {"float", 4},
    {"float32", 4},
    {"double", 8},
    {"float64", 8},
    {"half", 2},
    {"float16", 2},
    {"bfloat16", 2},
    {"long", 8},
    {"long int", 8},
    {"int64", 8},
    {"int", 4},
    {"int32", 4},
    {"short", 2},
    {"short int", 2},
    {"int16", 2},
    {"char", 1},
    {"signed char", 1},
    {"int8", 1},
    {"byte", 1},
    {"unsigned char", 1},
    {"uint8", 1},
    {"bool", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"float8e4m3", 1},
    {"float8e5m2", 1},
    {"complexfloat", 8},
    {"complexdouble", 16},
};

uint32_t name_type_bytes(const char *name)
{
    const char *colon = strrchr(name, ':');
    const char *word = colon ? colon + 1 : name;
    word += strncasecmp(word, "nccl", 4) == 0 ? 4 : 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcasecmp(word, types[i].name) == 0)
            return types[i].bytes;
    return 0;
}

/* Elements that count; below 0 = not known. */
static int64_t call_elements(enum ronde_collective collective, uint32_t ranks, int64_t in,
                             int64_t out)
{
    const int64_t n = ranks, more = in > out ? in : out;
    switch (collective) {
    case RONDE_ALL_GATHER:
        return out > 0 ? out : n > 0 && in >= 0 && in < INT64_MAX / n ? in * n : -1;
    case RONDE_REDUCE_SCATTER:
        /* Some versions say n times what goes in. */
        return out > 0 && n > 1 && out < INT64_MAX / n / n && (in <= 0 || in == out * n * n)
                   ? out * n
                   : in;
    case RONDE_ALL_REDUCE:
    case RONDE_BROADCAST:
    case RONDE_REDUCE:
    case RONDE_SEND_RECV:
        return in > 0 ? in : out;
    case RONDE_ALL_TO_ALL:
    case RONDE_GATHER:
    case RONDE_SCATTER:
        return more;
    case RONDE_BARRIER:
        return 0;
    case RONDE_COLLECTIVE_COUNT:
        return -1;
    }
    return -1;
}

uint64_t name_call_bytes(enum ronde_collective collective, uint32_t ranks, int64_t in, int64_t out,
                         uint32_t type_bytes)
{
    const int64_t elements = call_elements(collective, ranks, in, out);
    return elements < 0 || type_bytes == 0 || elements > INT64_MAX / 16
               ? RONDE_TRACE_NO_NUMBER
               : (uint64_t)elements * type_bytes;
}
