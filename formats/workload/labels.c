/* A hash table of names: FNV-1a, linear probing, at most half full. */
#include "labels.h"

#include "ronde/mem.h"

#include <string.h>

static uint64_t hash_of(struct label_text text)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < text.bytes; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * 1099511628211u;
    return hash ^ (hash >> 32);
}

/* The slot of a name: its own, or the free one where it would be. */
static struct label_slot *slot_of(const struct labels *labels, struct label_text text)
{
    size_t at = (size_t)hash_of(text) & (labels->slot_count - 1);
    for (;; at = (at + 1) & (labels->slot_count - 1)) {
        struct label_slot *slot = &labels->slots[at];
        if (!slot->is_used ||
            (slot->text.bytes == text.bytes && memcmp(slot->text.at, text.at, text.bytes) == 0))
            return slot;
    }
}

const uint64_t *labels_find(const struct labels *labels, struct label_text text)
{
    if (labels->slot_count == 0)
        return NULL;
    const struct label_slot *slot = slot_of(labels, text);
    return slot->is_used ? &slot->value : NULL;
}

static bool enlarge(struct labels *labels)
{
    struct labels larger = {.mem = labels->mem,
                            .slot_count = labels->slot_count ? 2 * labels->slot_count : 64};
    larger.slots = ronde_mem_new(labels->mem, larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < labels->slot_count; i++)
        if (labels->slots[i].is_used)
            *slot_of(&larger, labels->slots[i].text) = labels->slots[i];
    larger.count = labels->count;
    ronde_mem_free(labels->mem, labels->slots, labels->slot_count, sizeof *labels->slots);
    *labels = larger;
    return true;
}

bool labels_add(struct labels *labels, struct label_text text, uint64_t value)
{
    if (2 * (labels->count + 1) > labels->slot_count && !enlarge(labels))
        return false;
    *slot_of(labels, text) = (struct label_slot){text, value, true};
    labels->count++;
    return true;
}

void labels_clear(struct labels *labels)
{
    if (labels->count > 0)
        memset(labels->slots, 0, labels->slot_count * sizeof *labels->slots);
    labels->count = 0;
}

void labels_free(struct labels *labels)
{
    ronde_mem_free(labels->mem, labels->slots, labels->slot_count, sizeof *labels->slots);
    labels->slots = NULL;
    labels->slot_count = 0;
    labels->count = 0;
}
