/**
 * Golden files: what a program of the tests writes is compared with a file of the repository. RONDE_UPDATE_GOLDEN=1 in the
 * environment writes the file instead; read the diff before committing it.
 */
#ifndef RONDE_TESTS_GOLDEN_H
#define RONDE_TESTS_GOLDEN_H

/**
 * Holds `text` to a file, whose path is relative to the repository. A file that is missing or differs fails the test, with
 * the command that writes it.
 */
void golden_compare(const char *relative, const char *text);

#endif
