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

/* Slot of a key, or the free one where it belongs. */
static uint32_t slot_of(const struct ronde_names *names, const char *key)
{
    const uint32_t mask = names->capacity - 1;
    uint32_t slot = hash_of(key) & mask;
    while (names->keys[slot] && strcmp(names->keys[slot], key) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

/* An empty table has no slots to probe. */
uint32_t ronde_names_find(const struct ronde_names *names, const char *key)
{
    if (names->count == 0)
        return RONDE_NONE;
    const uint32_t slot = slot_of(names, key);
    return names->keys[slot] ? names->values[slot] : RONDE_NONE;
}

/* The names themselves belong to the platform. */
void ronde_names_free(struct ronde_names *names, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, names->keys, names->capacity, sizeof *names->keys);
    ronde_mem_free(mem, names->values, names->capacity, sizeof *names->values);
    *names = (struct ronde_names){NULL, NULL, 0, 0};
}

/* Doubles the table, so that at most half of it is used and probing stays short. */
static enum ronde_status enlarge(struct ronde_names *names, const struct ronde_mem *mem)
{
    struct ronde_names larger = {NULL, NULL, names->capacity ? names->capacity * 2 : 16, 0};
    larger.keys = ronde_mem_new(mem, larger.capacity, sizeof *larger.keys);
    larger.values = ronde_mem_new(mem, larger.capacity, sizeof *larger.values);
    if (!larger.keys || !larger.values) {
        ronde_names_free(&larger, mem);
        return RONDE_NO_MEMORY;
    }
    for (uint32_t i = 0; i < names->capacity; i++) {
        if (!names->keys[i])
            continue;
        const uint32_t slot = slot_of(&larger, names->keys[i]);
        larger.keys[slot] = names->keys[i];
        larger.values[slot] = names->values[i];
    }
    larger.count = names->count;
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
    const uint32_t slot = slot_of(names, key);
    names->keys[slot] = key;
    names->values[slot] = value;
    names->count++;
    return RONDE_OK;
}
