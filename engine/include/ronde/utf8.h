/**
 * Texts from outside (names in files, names of files) as characters: what is UTF-8, and what a terminal would act on.
 * Pure functions.
 */
#ifndef RONDE_UTF8_H
#define RONDE_UTF8_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Bytes of the character that a zero-terminated text begins with, 1 to 4; 0 at its end, and where it begins with none:
 * overlong forms, surrogates and what lies beyond U+10FFFF are none.
 */
RONDE_API size_t ronde_utf8_bytes(const char *text);

/** Whether a character of the text is a control character (C0, DEL, C1), line ends and tabs included, or is none. */
RONDE_API bool ronde_utf8_has_control(const char *text);

/** Room that ronde_utf8_mend needs for a text of so many bytes, its zero included. */
#define RONDE_UTF8_MENDED_BYTES(length) (3 * (size_t)(length) + 1)

/** Copies a text; each byte that is of no character becomes U+FFFD, as other programs show such names. */
RONDE_API void ronde_utf8_mend(const char *text, char *out_text);

#ifdef __cplusplus
}
#endif
#endif
