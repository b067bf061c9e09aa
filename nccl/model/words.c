/** Lines of words. See words.h. */
#define _POSIX_C_SOURCE 200809L

#include "words.h"

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
    enum ronde_status status = RONDE_OK;
    while (status == RONDE_OK && fgets(text, sizeof text, file)) {
        words.line++;
        /* Without a newline it is the last line, or too long, or a zero byte hides the rest of it. */
        if (!strchr(text, '\n') && !feof(file))
            return ronde_nccl_words_refuse(&words, error, "longer than %u bytes, or has a zero byte",
                                           (unsigned)sizeof text - 2);
        text[strcspn(text, "#")] = '\0';
        const bool is_marked = words.line == 1 && strncmp(text, byte_order_mark, 3) == 0;
        status = cut(is_marked ? text + 3 : text, &words, error);
        if (status == RONDE_OK && words.count > 0)
            status = take(self, &words, error);
    }
    if (status == RONDE_OK && ferror(file))
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
    return status;
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
