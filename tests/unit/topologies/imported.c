/* See imported.h. */
#include "unit/topologies/imported.h"

#include "support/built_with.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Notes what went wrong; the assertion stands at the caller. */
static bool went_well(const char *what, enum ronde_status status, const struct ronde_error *error)
{
    if (status != RONDE_OK)
        suite_note("%s: %s", what, error->message);
    return status == RONDE_OK;
}

/* Writes an import to a file of its own and reads that. */
bool imported_read_back(const struct ronde_import *import, struct imported *machine)
{
    char path[] = RONDE_SCRATCH_DIR "/import-XXXXXX";
    struct ronde_error error = {0};
    const int number = mkstemp(path);
    FILE *file = number < 0 ? NULL : fdopen(number, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    bool is_fine = went_well("write", ronde_import_write(import, file, &error), &error);
    machine->file_bytes = ftell(file);
    fclose(file);
    is_fine = is_fine &&
              went_well("read back",
                        ronde_platform_read(path, ronde_mem_default(), &machine->platform, &error),
                        &error);
    unlink(path);
    return is_fine;
}

static void collect_remarks(const struct ronde_import *import, char *text, size_t bytes)
{
    char line[256];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; ronde_import_remark(import, i, line, sizeof line) && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s\n", line);
}

/* The whole way; *out_machine is to be closed where it succeeds. */
bool imported_machine(const struct ronde_import_request *request, struct imported *out_machine)
{
    struct ronde_error error = {0};
    struct ronde_import *import = NULL;
    memset(out_machine, 0, sizeof *out_machine);
    const enum ronde_status status =
        ronde_import_read(request, ronde_mem_default(), &import, &error);
    if (!went_well(request->path ? request->path : "live", status, &error))
        return false;
    out_machine->summary = ronde_import_summary(import);
    collect_remarks(import, out_machine->remarks, sizeof out_machine->remarks);
    const bool is_fine = imported_read_back(import, out_machine);
    ronde_import_destroy(import);
    return is_fine;
}

void imported_close(struct imported *machine)
{
    ronde_platform_destroy(machine->platform);
    machine->platform = NULL;
}

/* False after a skip where nothing can be imported at all. */
bool imported_can(void)
{
    const char *reason;
    if (ronde_topologies_available(&reason))
        return true;
    suite_skip("nothing can be imported: %s", reason);
    return false;
}

/* Imports a file of tests/data/import. */
bool imported_sample(const char *name, uint32_t nodes, enum ronde_fabric fabric,
                     struct imported *out_machine)
{
    char path[512];
    char relative[128];
    const struct ronde_import_request request = {.path = path,
                                                 .nodes = nodes,
                                                 .fabric = fabric,
                                                 .nic_GBps = 12.5};
    snprintf(relative, sizeof relative, "tests/data/import/%s", name);
    if (!suite_source(path, sizeof path, relative))
        return false;
    const bool is_fine = imported_machine(&request, out_machine);
    CU_ASSERT(is_fine);
    return is_fine;
}

/* Names of the links of a route, between blanks; "" where there is none. */
void imported_route(const struct imported *machine, uint32_t src, uint32_t dst, char text[512])
{
    uint32_t links[32];
    uint32_t count = 0;
    size_t used = 0;
    struct ronde_error error = {0};
    text[0] = '\0';
    if (!went_well("route",
                   ronde_platform_route(machine->platform, src, dst, 32, links, &count, &error),
                   &error))
        return;
    for (uint32_t i = 0; i < count && i < 32 && used < 512; i++)
        used += (size_t)snprintf(text + used, 512 - used, "%s%s", i > 0 ? " " : "",
                                 ronde_platform_link(machine->platform, links[i])->name);
}

void imported_assert_route(const struct imported *machine, uint32_t src, uint32_t dst,
                           const char *expected)
{
    char text[512];
    imported_route(machine, src, dst, text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        suite_note("%u to %u: %s, expected %s", src, dst, text, expected);
}

/* Rate of a link, 0 where there is none of that name. */
double imported_rate(const struct imported *machine, const char *name)
{
    for (uint32_t i = 0; i < ronde_platform_link_count(machine->platform); i++) {
        const struct ronde_link *link = ronde_platform_link(machine->platform, i);
        if (strcmp(link->name, name) == 0)
            return link->rate_GBps;
    }
    return 0;
}
