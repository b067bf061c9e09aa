/** What commands say, held to an exit status; what differs fails the test and is shown. */
#ifndef RONDE_TESTS_SUPPORT_SAID_H
#define RONDE_TESTS_SUPPORT_SAID_H

/** Runs a shell command; returns its standard output, which the caller frees. */
char *said_by(const char *command, int code);

/** The same for `ronde ARGUMENTS`, both streams. */
char *said_by_ronde(const char *arguments, int code);

/** What was said holds `part`; frees it. */
void said_has(char *said, const char *part);

/** `ronde ARGUMENTS` ends with `code` and says `part` on one of its streams. */
void said_expect(const char *arguments, int code, const char *part);

#endif
