/**
 * Reading records that `ronde` prints (JSON, an object a line), for tests that look at single values.
 */
#ifndef RONDE_TESTS_RECORD_H
#define RONDE_TESTS_RECORD_H

/** Where the value behind a key begins, behind its opening quote if it is a text; NULL if the record has no such key. */
const char *record_value(const char *record, const char *key);

#endif
