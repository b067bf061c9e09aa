/* Names of the files of one kind that a folder has. */
#ifndef RONDE_CLI_SHIPPED_NAMES_H
#define RONDE_CLI_SHIPPED_NAMES_H

#include <stdint.h>

/* The most files looked at, and the longest of their names. */
#define RONDE_SHIPPED_MOST 64u
#define RONDE_SHIPPED_NAME_BYTES 64u

struct ronde_shipped_names {
    char name[RONDE_SHIPPED_MOST][RONDE_SHIPPED_NAME_BYTES];
    uint32_t count;
};

/* Names in folder that end in suffix, without it, in the order of the alphabet; none where there is no such folder. */
void ronde_shipped_names_read(const char *folder, const char *suffix,
                              struct ronde_shipped_names *out);

/* The name nearest to text, or NULL. */
const char *ronde_shipped_nearest(const struct ronde_shipped_names *names, const char *text);

#endif
