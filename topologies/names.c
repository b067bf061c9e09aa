/* The hash from names to indices. */
#include "platform.h"

#include "ronde/gpu_places.h"
#include "ronde/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a, 32 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv): short names, nothing adversarial depends on it. */
static uint32_t hash_of(const char *key)
{
    uint32_t hash = 2166136261u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619u;
    return hash;
}

/* The entry of a key, or the free one where it belongs. Names are looked at only where their hashes are the same. */
static struct ronde_name *entry_of(const struct ronde_names *names, const char *key, uint32_t hash)
{
    const uint32_t mask = names->capacity - 1;
    uint32_t slot = hash & mask;
    while (names->all[slot].key &&
           (names->all[slot].hash != hash || strcmp(names->all[slot].key, key) != 0))
        slot = (slot + 1) & mask;
    return &names->all[slot];
}

/* An empty table has no entries to probe. */
uint32_t ronde_names_find(const struct ronde_names *names, const char *key)
{
    if (names->count == 0)
        return RONDE_NONE;
    const struct ronde_name *entry = entry_of(names, key, hash_of(key));
    return entry->key ? entry->value : RONDE_NONE;
}

/* The names themselves belong to the platform. */
void ronde_names_free(struct ronde_names *names, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, names->all, names->capacity, sizeof *names->all);
    *names = (struct ronde_names){NULL, 0, 0};
}

/* Doubles the table, so that at most half of it is used and probing stays short. No two of its names are the same. */
static enum ronde_status enlarge(struct ronde_names *names, const struct ronde_mem *mem)
{
    struct ronde_names larger = {NULL, names->capacity ? names->capacity * 2 : 16, names->count};
    const uint32_t mask = larger.capacity - 1;
    larger.all = ronde_mem_new(mem, larger.capacity, sizeof *larger.all);
    if (!larger.all)
        return RONDE_NO_MEMORY;
    for (uint32_t i = 0; i < names->capacity; i++) {
        if (!names->all[i].key)
            continue;
        uint32_t slot = names->all[i].hash & mask;
        while (larger.all[slot].key)
            slot = (slot + 1) & mask;
        larger.all[slot] = names->all[i];
    }
    ronde_names_free(names, mem);
    *names = larger;
    return RONDE_OK;
}

/* The caller has looked for the name before: a second one would need a message with its line. */
enum ronde_status ronde_names_add(struct ronde_names *names, const struct ronde_mem *mem,
                                  const char *key, uint32_t value)
{
    if (names->count >= names->capacity / 2 && enlarge(names, mem) != RONDE_OK)
        return RONDE_NO_MEMORY;
    const uint32_t hash = hash_of(key);
    *entry_of(names, key, hash) = (struct ronde_name){key, hash, value};
    names->count++;
    return RONDE_OK;
}

/* Places of PCIe as text. */

/* "0000:65:00.0", upper or lower case, any number of digits; false for anything else. */
static bool read_bus(const char *text, unsigned out_numbers[4])
{
    char rest;
    return sscanf(text, "%8x:%2x:%2x.%1x%c", &out_numbers[0], &out_numbers[1], &out_numbers[2],
                  &out_numbers[3], &rest) == 4;
}

bool ronde_bus_is_same(const char *left, const char *right)
{
    unsigned a[4];
    unsigned b[4];
    return read_bus(left, a) && read_bus(right, b) && a[0] == b[0] && a[1] == b[1] &&
           a[2] == b[2] && a[3] == b[3];
}

/* Bounds for what few lines ask for. */

static const struct {
    const char *variable;
    uint64_t usual;
    uint64_t most;
    const char *what;
} bounds[RONDE_LIMIT_COUNT] = {
#define RONDE_ROW(name, variable, usual, most, what) {variable, usual, most, what},
    RONDE_LIMIT_LIST(RONDE_ROW)
#undef RONDE_ROW
};

/* What the variable says, where that is a number from 1 to the highest bound; else the usual one. */
static uint64_t bound_of(enum ronde_limit limit)
{
    const char *text = getenv(bounds[limit].variable);
    char *end = NULL;
    if (!text || *text < '0' || *text > '9')
        return bounds[limit].usual;
    const unsigned long long value = strtoull(text, &end, 10);
    return *end == '\0' && value > 0 && value <= bounds[limit].most ? value : bounds[limit].usual;
}

enum ronde_status ronde_limit_check(enum ronde_limit limit, uint64_t wanted,
                                    struct ronde_error *error)
{
    const uint64_t bound = bound_of(limit);
    if (wanted <= bound)
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "%llu %s are more than %llu; the variable %s raises that, up to %llu",
                      (unsigned long long)wanted, bounds[limit].what, (unsigned long long)bound,
                      bounds[limit].variable, (unsigned long long)bounds[limit].most);
}

enum ronde_status ronde_limit_check_file(enum ronde_limit limit, uint64_t wanted, const char *path,
                                         uint32_t line, struct ronde_error *error)
{
    struct ronde_error why = {0};
    if (ronde_limit_check(limit, wanted, &why) == RONDE_OK)
        return RONDE_OK;
    return line > 0 ? ronde_fail_at(error, RONDE_BAD_INPUT, line, "%.200s:%u: %.300s", path, line,
                                    why.message)
                    : ronde_fail(error, RONDE_BAD_INPUT, "%.200s: %.300s", path, why.message);
}
