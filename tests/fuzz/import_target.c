/* The importers on arbitrary bytes: what they accept must become a platform that the reader accepts. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "ronde/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Importers take a path: a file without a name in memory has one. Numbers of nodes follow from the input. */
static enum ronde_status read_bytes(const unsigned char *data, size_t bytes,
                                    const struct ronde_mem *mem, struct ronde_import **out_import,
                                    struct ronde_error *error)
{
    char path[64];
    const int file = memfd_create("machine.xml", 0);
    const struct ronde_import_request request = {
        .path = path,
        .nodes = 1 + (uint32_t)(bytes % 3),
        .fabric = bytes % 2 == 0 ? RONDE_FABRIC_CROSSBAR : RONDE_FABRIC_FAT_TREE,
        .nic_GBps = 10,
        .memory_GBps = 20,
    };
    *out_import = NULL;
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes)
        return ronde_fail(error, RONDE_IO, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const enum ronde_status status = ronde_import_read(&request, mem, out_import, error);
    close(file);
    return status;
}

/* The platform file goes through the platform's own target, which must take it. */
static void check_platform(const struct ronde_import *import, struct fuzz_verdict *verdict)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_error error = {0};
    FILE *file = open_memstream(&text, &bytes);
    if (!file || ronde_import_write(import, file, &error) != RONDE_OK) {
        fuzz_complain(verdict, "writing: %s", error.message);
    } else {
        fflush(file);
        fuzz_platform((const unsigned char *)text, bytes, verdict);
        if (!verdict->is_accepted)
            fuzz_complain(verdict, "the platform is refused: %s; it begins %.200s",
                          verdict->refusal, text);
    }
    if (file)
        fclose(file);
    free(text);
}

void fuzz_import(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    memset(out_verdict, 0, sizeof *out_verdict);
    const enum ronde_status status = read_bytes(data, bytes, &mem, &import, &error);
    if (status == RONDE_OK)
        check_platform(import, out_verdict);
    else if ((status != RONDE_BAD_INPUT && status != RONDE_BAD_ARGUMENT) ||
             error.message[0] == '\0' || import)
        fuzz_complain(out_verdict, "'%s' with \"%s\"", ronde_status_text(status), error.message);
    ronde_import_destroy(import);
    fuzz_expect_no_leak(out_verdict, &heap);
}
