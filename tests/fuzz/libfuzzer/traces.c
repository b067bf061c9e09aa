/* libFuzzer's entry for fuzz_traces; built by the preset fuzz only. */
#include "fuzz/libfuzzer/entry.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    return fuzz_entry(fuzz_traces, data, bytes);
}
