/** Words of a table's cells. See reader.h. */
#include "reader.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Bytes of a word that is looked at. */
#define WORD_BYTES 64

/** Largest whole number that every floating number up to it can tell from its neighbours. */
static const double most_whole = 9007199254740992.0;

/** A name in small letters, blanks as joints, without nccl-tests' "_perf". */
static void plain_name(const char *text, char out[WORD_BYTES])
{
    static const char ending[] = "_perf";
    size_t bytes = 0;
    for (; text[bytes] && bytes + 1 < WORD_BYTES; bytes++)
        out[bytes] = text[bytes] == ' ' ? '_' : (char)tolower((unsigned char)text[bytes]);
    out[bytes] = '\0';
    if (bytes > strlen(ending) && strcmp(out + bytes - strlen(ending), ending) == 0)
        out[bytes - strlen(ending)] = '\0';
}

/** What is left of a heading: letters and digits, "GB/s" as GBps and a micro sign as u. */
static void plain_heading(const char *text, char out[WORD_BYTES])
{
    static const char *const micro[] = {"\xc2\xb5", "\xce\xbc"};
    size_t bytes = 0;
    for (; *text && bytes + 1 < WORD_BYTES; text++) {
        const bool is_micro = strncmp(text, micro[0], 2) == 0 || strncmp(text, micro[1], 2) == 0;
        if (isalnum((unsigned char)*text) || *text == '/' || is_micro)
            out[bytes++] = is_micro       ? 'u'
                           : *text == '/' ? 'p'
                                          : (char)tolower((unsigned char)*text);
    }
    out[bytes] = '\0';
}

bool table_heading(const char *text, const char *name)
{
    static const char *const others[][2] = {{"size", "bytes"},
                                            {"sizeb", "bytes"},
                                            {"sizebytes", "bytes"},
                                            {"ranks", "gpus"},
                                            {"ngpus", "gpus"}};
    char said[WORD_BYTES], meant[WORD_BYTES];
    plain_heading(text, said);
    plain_heading(name, meant);
    for (size_t o = 0; o < sizeof others / sizeof others[0]; o++)
        if (strcmp(said, others[o][0]) == 0 && strcmp(name, others[o][1]) == 0)
            return true;
    return strcmp(said, meant) == 0;
}

bool table_collective(const char *text, enum ronde_collective *out)
{
    char name[WORD_BYTES];
    plain_name(text, name);
    return ronde_collective_parse(name, out);
}

/** Whether a cell leaves the choice to NCCL. */
static bool is_no_wish(const char *text)
{
    static const char *const words[] = {"", "auto", "default", "none", "n/a", "-"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (strcasecmp(text, words[w]) == 0)
            return true;
    return false;
}

bool table_algorithm(const char *text, enum ronde_nccl_algorithm *out)
{
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++) {
        *out = (enum ronde_nccl_algorithm)a;
        if (strcasecmp(text, ronde_nccl_algorithm_text(*out)) == 0)
            return true;
    }
    *out = RONDE_NCCL_ALGORITHM_COUNT;
    return is_no_wish(text);
}

bool table_protocol(const char *text, enum ronde_nccl_protocol *out)
{
    for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
        *out = (enum ronde_nccl_protocol)p;
        if (strcasecmp(text, ronde_nccl_protocol_text(*out)) == 0)
            return true;
    }
    *out = RONDE_NCCL_PROTOCOL_COUNT;
    return is_no_wish(text);
}

/** NCCL_VERSION_CODE: 2804 is 2.8.4, and from 2.9 on 22902 is 2.29.2. */
static bool version_of_code(unsigned long code, uint32_t *out)
{
    if (code >= 2000 && code < 2900)
        *out = 200 + (uint32_t)(code / 100 % 10);
    else if (code >= 20900 && code < 100000)
        *out = (uint32_t)(100 * (code / 10000) + code / 100 % 100);
    else
        return false;
    return true;
}

/** One or two digits of a version; false where there are none or more. */
static bool take_digits(const char **text, uint32_t *out)
{
    const size_t digits = strspn(*text, "0123456789");
    *out = 0;
    for (size_t i = 0; i < digits && i < 2; i++)
        *out = *out * 10 + (uint32_t)((*text)[i] - '0');
    *text += digits;
    return digits == 1 || digits == 2;
}

bool table_version(const char *text, uint32_t *out)
{
    const char *at = text + strcspn(text, "0123456789");
    uint32_t major = 0, minor = 0;
    if (at > text && strchr("-+.", at[-1]))
        return false;
    const size_t digits = strspn(at, "0123456789");
    if (digits >= 4 && at[digits] == '\0')
        return version_of_code(strtoul(at, NULL, 10), out);
    if (!take_digits(&at, &major) || *at++ != '.' || !take_digits(&at, &minor) || major == 0 ||
        (*at != '\0' && !strchr(".+- ", *at)))
        return false;
    *out = 100 * major + minor;
    return true;
}

bool table_whole(const char *text, uint64_t *out)
{
    char *end = NULL;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*end == '\0')
        return errno == 0;
    if (text[strspn(text, "0123456789.eE+")] != '\0')
        return false;
    const double number = strtod(text, &end);
    if (*end != '\0' || !(number <= most_whole) || number != floor(number))
        return false;
    *out = (uint64_t)number;
    return true;
}

double table_rounding(const char *text)
{
    const char *point = strchr(text, '.');
    if (text[strspn(text, "0123456789.")] != '\0')
        return 0;
    return .5 * pow(10, point ? -(double)strlen(point + 1) : 0);
}
