/**
 * What the two libFuzzer programs share: a complaint is a crash, and texts are changed as texts half of the time.
 */
#ifndef RONDE_TESTS_FUZZ_ENTRY_H
#define RONDE_TESTS_FUZZ_ENTRY_H

#include "fuzz/target.h"

/** A target of target.h. */
typedef void (*fuzz_target)(const unsigned char *data, size_t bytes,
                            struct fuzz_verdict *out_verdict);

/** Runs a target on an input and takes the process down if it complains. */
int fuzz_entry(fuzz_target target, const unsigned char *data, size_t bytes);

/** libFuzzer's hooks, which it finds by name. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t capacity, unsigned seed);
size_t LLVMFuzzerMutate(unsigned char *data, size_t bytes, size_t capacity);

#endif
