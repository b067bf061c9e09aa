/* What targets say of the library. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include <stdarg.h>
#include <stdio.h>

void fuzz_complain(struct fuzz_verdict *verdict, const char *format, ...)
{
    va_list arguments;
    if (verdict->complaint[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(verdict->complaint, sizeof verdict->complaint, format, arguments);
    va_end(arguments);
}

void fuzz_expect_no_leak(struct fuzz_verdict *verdict, const struct heap *heap)
{
    if (heap->live_blocks > 0 || heap->wrong_sizes > 0)
        fuzz_complain(verdict, "%zu blocks leaked, %zu freed with a wrong size", heap->live_blocks,
                      heap->wrong_sizes);
}
