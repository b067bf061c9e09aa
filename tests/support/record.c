#include "support/record.h"

#include <stdio.h>
#include <string.h>

const char *record_value(const char *record, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(record, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    return at + strspn(at, " \"");
}
