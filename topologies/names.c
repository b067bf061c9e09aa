/* The hash from names to indices. */
#include "platform.h"

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
