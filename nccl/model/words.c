/** Lines of words. See plugin_words.h. */
#define _POSIX_C_SOURCE 200809L

#include "words.h"

#include "ronde/catalogue.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Longest line, its newline and NUL included. */
#define LINE_BYTES 512

/** What some editors put before the first line (UTF-8). */
static const char byte_order_mark[] = "\xef\xbb\xbf";

enum ronde_status ronde_nccl_words_refuse(const struct ronde_nccl_words *words,
                                          struct ronde_error *error, const char *format, ...)
{
    char what[384];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return ronde_fail_at(error, RONDE_BAD_INPUT, words->line, "%s:%u: %.40s: %s", words->path,
                         words->line, words->word[0], what);
}

enum ronde_status ronde_nccl_words_number(const struct ronde_nccl_words *words, uint32_t at,
                                          double low, double high, double *out,
                                          struct ronde_error *error)
{
    char *end = NULL;
    if (at >= words->count)
        return ronde_nccl_words_refuse(words, error, "a number is missing");
    *out = strtod(words->word[at], &end);
    if (end == words->word[at] || *end != '\0' || !isfinite(*out) || *out < low || *out > high)
        return ronde_nccl_words_refuse(words, error, "\"%.40s\" is not a number from %g to %g",
                                       words->word[at], low, high);
    return RONDE_OK;
}

enum ronde_status ronde_nccl_words_name(const struct ronde_nccl_words *words, uint32_t at,
                                        const char *const *names, uint32_t count, uint32_t *out,
                                        struct ronde_error *error)
{
    char there[160] = "";
    for (uint32_t i = 0; i < count && at < words->count; i++)
        if (strcmp(words->word[at], names[i]) == 0) {
            *out = i;
            return RONDE_OK;
        }
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(there);
        snprintf(there + used, sizeof there - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return ronde_nccl_words_refuse(words, error, "is to be one of %s", there);
}

/** Cuts a line at blanks; the comment is gone already. */
static enum ronde_status cut(char *text, struct ronde_nccl_words *words, struct ronde_error *error)
{
    char *rest = NULL;
    words->count = 0;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        if (words->count == RONDE_NCCL_MAX_WORDS)
            return ronde_nccl_words_refuse(words, error, "more than %u words", RONDE_NCCL_MAX_WORDS);
        words->word[words->count++] = word;
    }
    return RONDE_OK;
}

static enum ronde_status read_lines(FILE *file, const char *path, ronde_nccl_take take, void *self,
                                    struct ronde_error *error)
{
    struct ronde_nccl_words words = {.path = path, .word = {"line"}};
    char text[LINE_BYTES];
    while (fgets(text, sizeof text, file)) {
        words.line++;
        /* Without a newline it is the last line, or too long, or a zero byte hides the rest of it. */
        if (!strchr(text, '\n') && !feof(file))
            return ronde_nccl_words_refuse(&words, error, "longer than %u bytes, or has a zero byte",
                                           (unsigned)sizeof text - 2);
        text[strcspn(text, "#")] = '\0';
        const bool is_marked = words.line == 1 && strncmp(text, byte_order_mark, 3) == 0;
        RONDE_TRY(cut(is_marked ? text + 3 : text, &words, error));
        if (words.count > 0)
            RONDE_TRY(take(self, &words, error));
    }
    if (ferror(file))
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
    return RONDE_OK;
}

enum ronde_status ronde_nccl_words_read(const char *path, ronde_nccl_take take, void *self,
                                        struct ronde_error *error)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    const enum ronde_status status = read_lines(file, path, take, self, error);
    fclose(file);
    return status;
}

/* Words and enumerations. */

const char *const ronde_nccl_generations[] = {"cdna2",      "cdna3", "pascal", "volta",    "ampere",
                                              "ampere_rtx", "ada",   "hopper", "blackwell"};
const char *const ronde_nccl_links[] = {"switch", "mesh", "pairs", "pcie"};
const char *const ronde_nccl_gpu_paths[] = {"bridge", "switch", "host"};
const char *const ronde_nccl_fabrics[] = {"infiniband", "slingshot", "efa",     "tcpx",
                                          "tcpxo",      "roce",      "ethernet"};
const char *const ronde_nccl_cpus[] = {"intel", "amd", "arm"};

static const char *const algorithms[] = {"Ring", "Tree", "NVLS", "NVLSTree", "auto"};
static const char *const protocols[] = {"LL", "LL128", "Simple", "auto"};

const char *ronde_nccl_algorithm_text(enum ronde_nccl_algorithm algorithm)
{
    if (algorithm == RONDE_NCCL_POINT)
        return "P2P";
    if (algorithm == RONDE_NCCL_PAIRS)
        return "AllPairs";
    return algorithms[algorithm < RONDE_NCCL_ALGORITHM_COUNT ? algorithm : RONDE_NCCL_ALGORITHM_COUNT];
}

const char *ronde_nccl_protocol_text(enum ronde_nccl_protocol protocol)
{
    return protocols[protocol < RONDE_NCCL_PROTOCOL_COUNT ? protocol : RONDE_NCCL_PROTOCOL_COUNT];
}

const char *ronde_nccl_generation_text(enum ronde_nccl_generation generation)
{
    return generation < RONDE_NCCL_GENERATION_COUNT ? ronde_nccl_generations[generation] : "?";
}

bool ronde_nccl_generation_find(const char *gpu, enum ronde_nccl_generation *out)
{
    const struct ronde_gpu_sheet *part = ronde_gpu_find(gpu);
    for (unsigned g = 0; part && g < RONDE_NCCL_GENERATION_COUNT; g++)
        if (strcmp(ronde_nccl_generations[g], part->generation) == 0) {
            *out = (enum ronde_nccl_generation)g;
            return true;
        }
    return false;
}

const char *ronde_nccl_link_text(enum ronde_node_link link)
{
    return link <= RONDE_NODE_PCIE ? ronde_nccl_links[link] : "?";
}

const char *ronde_nccl_fabric_text(enum ronde_nccl_fabric fabric)
{
    return fabric < RONDE_NCCL_FABRIC_COUNT ? ronde_nccl_fabrics[fabric] : "?";
}
