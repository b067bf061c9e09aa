/**
 * What is done with an arbitrary input, as functions: libFuzzer calls them (libfuzzer/), and so does an ordinary test
 * that replays the corpus (fuzz_test.c). An input is never wrong; what the library makes of it can be.
 */
#ifndef RONDE_TESTS_FUZZ_TARGET_H
#define RONDE_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What became of an input. */
struct fuzz_verdict {
    bool is_accepted;    /**< it was read and proved */
    unsigned runs;       /**< launches of it that were run and compared */
    char complaint[512]; /**< what the library did wrong; "" if nothing */
    char refusal[512];   /**< why a platform was not accepted; "" where it was */
};

struct heap;

/** Says what the library did wrong; the first complaint stays. */
__attribute__((format(printf, 2, 3))) void fuzz_complain(struct fuzz_verdict *verdict,
                                                         const char *format, ...);

/** Complains of blocks that are left, or were freed as if they were of another size. */
void fuzz_expect_no_leak(struct fuzz_verdict *verdict, const struct heap *heap);

/**
 * Reads bytes as a schedule. A refusal must carry a reason. What is accepted must print as a text that reads back as
 * the same schedule and, up to 16 ranks and 4096 steps, run on `host` in random interleavings with no more slots than
 * the prover asks for, and leave exactly what the collective defines. Nothing may leak.
 */
void fuzz_schedule(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as a platform file. A refusal must carry a reason; of what is accepted every number must be usable: facts
 * finite, routes within their bounds, prices of a small network not NaN. Nothing may leak.
 */
void fuzz_platform(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as a machine description of NCCL, RCCL or hwloc. A refusal must carry a reason; what is accepted must be
 * written as a platform file that fuzz_platform accepts and finds usable. Nothing may leak.
 */
void fuzz_import(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as measurements: a CSV table, a log of nccl-tests or its JSON. A refusal must carry a reason; the rows of
 * what is accepted must be measurements that can be predicted and scored. Nothing may leak.
 */
void fuzz_measured(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as a table that a machine is made of, CSV or what osu_latency prints. A refusal must carry a reason; what is
 * accepted must be written as a platform file that can be read.
 */
void fuzz_calibration(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as an MSCCL file. A refusal must carry a reason, a rejection a finding; the text of what is accepted must pass
 * fuzz_schedule, and what can be written of it must read back and be written as the same bytes. Nothing may leak.
 */
void fuzz_msccl(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as a workload, ronde's own form or GOAL, and as a Chakra trace. A refusal must carry a reason; indices of what
 * is accepted are in range, its messages match or say why not, and as GOAL it comes back. Nothing may leak.
 */
void fuzz_workload(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as an MSCCL++ plan. A refusal must carry a reason; the text of what is accepted must pass fuzz_schedule. Nothing
 * may leak.
 */
void fuzz_mscclpp(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as a log of NCCL. A refusal must carry a reason; rings and trees that are accepted must become schedules. Nothing
 * may leak.
 */
void fuzz_nccl_graph(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Reads bytes as traces of each kind, and as gzip. A refusal must carry a reason; what is accepted must become rows whose
 * numbers are none or make sense. Nothing may leak.
 */
void fuzz_traces(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict);

/**
 * Changes a text the way a text of lines, words and numbers changes: lines dropped, doubled, swapped, numbers moved by
 * a little, words exchanged, bytes changed. Returns the new length, at most `capacity`. The same seed does the same.
 */
size_t fuzz_mutate_text(unsigned char *data, size_t bytes, size_t capacity, uint64_t seed);

/**
 * Changes an input by its structure, as what it is: JSON, XML, lines of cells, length-delimited protobuf, a pickle. Values,
 * elements, fields are left out, doubled, exchanged, wrapped, replaced; the rest stays well-formed. Otherwise as above.
 */
size_t fuzz_mutate_structure(unsigned char *data, size_t bytes, size_t capacity, uint64_t seed);

#endif
