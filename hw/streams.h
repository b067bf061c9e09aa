/**
 * From which size on results that are not read soon are written past the caches: one rule for threads and processes.
 */
#ifndef RONDE_HW_STREAMS_H
#define RONDE_HW_STREAMS_H

#include <stdint.h>

/** Bytes of a core's second-level cache; 1 MiB where the system does not say. */
uint64_t ronde_core_cache_bytes(void);

/** Bytes of the buffers of all ranks that share so many cores from which on streaming pays. See hw/README.md. */
uint64_t ronde_stream_from_bytes(uint32_t cores);

#endif
