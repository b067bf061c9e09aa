/**
 * The layer table as data, and the two questions asked of it: may this file include that, may this archive need that.
 */
#ifndef RONDE_TESTS_LAYERS_H
#define RONDE_TESTS_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

/** What a file of `folder` includes: `target` is "<name>" or "\"name\"" as written. Returns NULL if it may, else why not. */
const char *layers_refuse_include(const char *folder, const char *file, const char *target);

/** Whether an archive of the inner layers may need an external symbol; `member` is the object file that needs it. */
bool layers_allow_symbol(const char *member, const char *symbol);

/** Calls back for each include line of a source text with the target as written, delimiters included. */
void layers_each_include(const char *text, void (*visit)(const char *target, void *context),
                         void *context);

#endif
