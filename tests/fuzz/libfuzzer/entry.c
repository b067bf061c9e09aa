#include "fuzz/libfuzzer/entry.h"

#include <stdio.h>
#include <stdlib.h>

int fuzz_entry(fuzz_target target, const unsigned char *data, size_t bytes)
{
    struct fuzz_verdict verdict;
    target(data, bytes, &verdict);
    if (verdict.complaint[0] != '\0') {
        fprintf(stderr, "complaint: %s\n", verdict.complaint);
        abort();
    }
    return 0;
}

/* libFuzzer's own changes find what nobody thought of; ours keep texts readable, so that the prover is reached. */
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t capacity, unsigned seed)
{
    if (bytes == 0 || seed % 4 == 0)
        return LLVMFuzzerMutate(data, bytes, capacity);
    return fuzz_mutate_text(data, bytes, capacity, seed);
}
