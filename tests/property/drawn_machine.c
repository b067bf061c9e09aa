/* See drawn_machine.h. */
#include "drawn_machine.h"

#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

double drawn_rate(const struct ronde_platform *platform, const char *name)
{
    for (uint32_t l = 0; l < ronde_platform_link_count(platform); l++)
        if (strcmp(ronde_platform_link(platform, l)->name, name) == 0)
            return ronde_platform_link(platform, l)->rate_GBps;
    return 0;
}

bool drawn_is_said(const struct ronde_import *import, const char *part)
{
    char line[256];
    for (uint32_t r = 0; ronde_import_remark(import, r, line, sizeof line); r++)
        if (strstr(line, part))
            return true;
    return false;
}

void drawn_file(const char *text, size_t bytes, int *out_file, char path[64])
{
    *out_file = memfd_create("machine", 0);
    CU_ASSERT_FATAL(*out_file >= 0 && write(*out_file, text, bytes) == (ssize_t)bytes);
    snprintf(path, 64, "/proc/self/fd/%d", *out_file);
}
