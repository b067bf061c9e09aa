#include "support/said.h"

#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *said_by(const char *command, int code)
{
    char *said = NULL;
    const int status = files_command(command, &said);
    CU_ASSERT_EQUAL(status, code);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    if (status != code)
        suite_note("%s: exit %d: %.600s", command, status, said);
    return said;
}

/* The streams of `ronde ARGUMENTS` that a redirection leaves. */
static char *run(const char *arguments, const char *redirection, int code)
{
    char command[4096];
    const int length =
        snprintf(command, sizeof command, "'%s' %s %s", suite_ronde(), arguments, redirection);
    CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof command);
    return said_by(command, code);
}

char *said_by_ronde(const char *arguments, int code)
{
    return run(arguments, "2>&1", code);
}

char *said_on_stdout(const char *arguments, int code)
{
    return run(arguments, "2>/dev/null", code);
}

void said_has(char *said, const char *part)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(said, part));
    if (!strstr(said, part))
        suite_note("no \"%s\" in %.600s", part, said);
    free(said);
}

void said_lacks(char *said, const char *part)
{
    CU_ASSERT_PTR_NULL(strstr(said, part));
    if (strstr(said, part))
        suite_note("\"%s\" in %.600s", part, said);
    free(said);
}

void said_has_words(char *said, const char *words)
{
    char *to = said;
    for (const char *from = said; *from;) {
        if (*from != '\n') {
            *to++ = *from++;
            continue;
        }
        from += 1 + strspn(from + 1, "# ");
        *to++ = ' ';
    }
    *to = '\0';
    said_has(said, words);
}

void said_expect_row(const char *arguments, int code, const char *cells)
{
    char *said = said_by_ronde(arguments, code), *to = said;
    for (const char *from = said; *from; from++)
        if (*from != ' ' || from[1] != ' ')
            *to++ = *from;
    *to = '\0';
    said_has(said, cells);
}

void said_expect(const char *arguments, int code, const char *part)
{
    said_has(said_by_ronde(arguments, code), part);
}

void said_prints(const char *arguments, int code, const char *part)
{
    said_has(said_on_stdout(arguments, code), part);
}

void said_refuses(const char *arguments, int code, const char *part)
{
    char *said = run(arguments, "2>&1 >/dev/null", code);
    const char *end = strchr(said, '\n');
    CU_ASSERT_EQUAL(strncmp(said, "ronde: ", 7), 0);
    CU_ASSERT(end && end[1] == '\0');
    said_has(said, part);
}
