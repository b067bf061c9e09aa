/**
 * Pages of the system's, of which devices pin whole ones: a page is pinned once, so what is pinned shares none.
 */
#ifndef RONDE_HW_PAGE_H
#define RONDE_HW_PAGE_H

#include <stdint.h>
#include <unistd.h>

/** Bytes of a page. */
static inline uint64_t ronde_page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/** The least whole number of pages for so many bytes, in bytes. */
static inline uint64_t ronde_page_up(uint64_t bytes)
{
    const uint64_t page = ronde_page_bytes();
    return (bytes + page - 1) / page * page;
}

/** The first page that begins in a block or at it. */
static inline unsigned char *ronde_page_in(void *block)
{
    return (unsigned char *)(uintptr_t)ronde_page_up((uintptr_t)block);
}

#endif
