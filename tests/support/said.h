/** What commands say, held to an exit status; what differs fails the test and is shown. */
#ifndef RONDE_TESTS_SUPPORT_SAID_H
#define RONDE_TESTS_SUPPORT_SAID_H

/** Runs a shell command; returns its standard output, which the caller frees. */
char *said_by(const char *command, int code);

/** The same for `ronde ARGUMENTS`, both streams. */
char *said_by_ronde(const char *arguments, int code);

/** The same, its standard output alone. */
char *said_on_stdout(const char *arguments, int code);

/** What was said holds `part`; frees it. */
void said_has(char *said, const char *part);

/** What was said lacks `part`; frees it. */
void said_lacks(char *said, const char *part);

/** The same as said_has for words that may be broken over lines: where, depends on the length of a path among them. */
void said_has_words(char *said, const char *words);

/** `ronde ARGUMENTS` ends with `code` and says `part` on one of its streams. */
void said_expect(const char *arguments, int code, const char *part);

/** `ronde ARGUMENTS` ends with `code` and prints `part` on its standard output. */
void said_prints(const char *arguments, int code, const char *part);

/** `ronde ARGUMENTS` refuses with `code`: on stderr is one line that begins with the program's name and has `part`. */
void said_refuses(const char *arguments, int code, const char *part);

/** The same as said_expect for cells of a table, one blank between two of them however wide its columns are. */
void said_expect_row(const char *arguments, int code, const char *cells);

#endif
