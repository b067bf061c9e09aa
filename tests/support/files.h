/**
 * Files and commands, for the tests that look at the repository itself.
 */
#ifndef RONDE_TESTS_FILES_H
#define RONDE_TESTS_FILES_H

#include <stdbool.h>
#include <stddef.h>

/** A whole file as a zero-terminated string, or NULL if it cannot be read. Free it with free. */
char *files_read(const char *path);

/** Writes a whole file; false if that failed. */
bool files_write(const char *path, const char *text);

/** Called with the path of a file, absolute, and `context`. */
typedef void (*files_visitor)(const char *path, void *context);

/**
 * Visits the files below a folder of the repository whose names end in `suffix`, in alphabetical order; build folders
 * and hidden ones are left out. Returns how many were visited.
 */
unsigned files_walk(const char *folder, const char *suffix, files_visitor visit, void *context);

/** Runs a shell command; *out_text is its standard output (free it). Returns the exit status, 128 + n for a signal. */
int files_command(const char *command, char **out_text);

#endif
