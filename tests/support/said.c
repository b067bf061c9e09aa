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

char *said_by_ronde(const char *arguments, int code)
{
    char command[4096];
    const int length = snprintf(command, sizeof command, "'%s' %s 2>&1", suite_ronde(), arguments);
    CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof command);
    return said_by(command, code);
}

void said_has(char *said, const char *part)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(said, part));
    if (!strstr(said, part))
        suite_note("no \"%s\" in %.600s", part, said);
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
