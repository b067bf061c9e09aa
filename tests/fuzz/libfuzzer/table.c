/* libFuzzer's entry for fuzz_measured on CSV tables, whose header an input need not find; built by the preset fuzz only. */
#include "fuzz/libfuzzer/entry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    static const char head[] = "system,gpus,nodes,nccl_version,collective,algorithm,protocol,bytes,"
                               "time_us,algbw_GBps,inplace,notes\n";
    const size_t head_bytes = sizeof head - 1;
    unsigned char *table = malloc(head_bytes + bytes);
    if (!table)
        return 0;
    memcpy(table, head, head_bytes);
    if (bytes > 0)
        memcpy(table + head_bytes, data, bytes);
    const int result = fuzz_entry(fuzz_measured, table, head_bytes + bytes);
    free(table);
    return result;
}
