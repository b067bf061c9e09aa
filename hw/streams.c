/* What the caches hold, and from which size on to bypass them. See streams.h. */
#include "hw/streams.h"

#include <unistd.h>

/* What a core of a server's processor has at least. */
#define CACHE_BYTES ((uint64_t)1 << 20)

/* Streaming pays from so many times what the second-level caches of the cores hold. */
#define STREAM_CACHES 2u

uint64_t ronde_core_cache_bytes(void)
{
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : CACHE_BYTES;
}

uint64_t ronde_stream_from_bytes(uint32_t cores)
{
    return STREAM_CACHES * cores * ronde_core_cache_bytes();
}
