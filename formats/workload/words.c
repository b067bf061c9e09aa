/* Words, numbers, sizes and times of a text. */
#include "engine/text/refuse.h"
#include "readers.h"

#include "ronde/mem.h"
#include "ronde/values.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Longest word of a number, a size or a time. */
#define VALUE_BYTES 64

/* Beyond these a time is a slip. */
#define MOST_NS 1e18

void words_refuse(struct words *words, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (words->status == RONDE_OK)
        words->status = ronde_refuse_line(words->error, words->path, words->line, format, arguments);
    va_end(arguments);
}

void words_keep(struct words *words, enum ronde_status status)
{
    if (words->status == RONDE_OK)
        words->status = status;
}

bool words_append(struct words *words, const struct ronde_mem *mem, struct ronde_list *list,
                  const void *item, size_t item_bytes)
{
    if (words->status == RONDE_OK && !ronde_list_append(mem, list, item, item_bytes))
        words->status = ronde_fail(words->error, RONDE_NO_MEMORY, "no memory for a workload");
    return words->status == RONDE_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct label_text words_next(struct words *words)
{
    while (words->at < words->bytes && is_blank(words->text[words->at]))
        words->at++;
    struct label_text word = {words->text + words->at, 0};
    if (words->status != RONDE_OK || words->at >= words->bytes || *word.at == '#')
        return word;
    while (words->at < words->bytes && words->text[words->at] != '\n' &&
           !is_blank(words->text[words->at])) {
        words->at++;
        word.bytes++;
    }
    return word;
}

bool words_line(struct words *words)
{
    while (words->status == RONDE_OK && words->at < words->bytes) {
        const size_t at = words->at;
        const bool has_word = words_next(words).bytes > 0;
        if (has_word) {
            words->at = at;
            return true;
        }
        while (words->at < words->bytes && words->text[words->at] != '\n')
            words->at++;
        words->line += words->at < words->bytes;
        words->at++;
    }
    return false;
}

bool words_is(struct label_text word, const char *text)
{
    return word.bytes == strlen(text) && memcmp(word.at, text, word.bytes) == 0;
}

/* The word as a text of its own; "" where it is too long to be a value. */
static char *copy(struct label_text word, char text[VALUE_BYTES])
{
    const size_t bytes = word.bytes < VALUE_BYTES ? word.bytes : 0;
    memcpy(text, word.at, bytes);
    text[bytes] = '\0';
    return text;
}

uint64_t words_number(struct words *words, struct label_text word, const char *what, uint64_t low,
                      uint64_t high)
{
    char text[VALUE_BYTES];
    uint64_t number = 0;
    struct ronde_error why = {RONDE_OK, 0, ""};
    if (ronde_number_parse(what, copy(word, text), low, high, &number, &why) != RONDE_OK)
        words_refuse(words, "%s", why.message);
    return words->status == RONDE_OK ? number : 0;
}

uint64_t words_size(struct words *words, struct label_text word)
{
    char text[VALUE_BYTES];
    uint64_t bytes = 0;
    struct ronde_error why = {RONDE_OK, 0, ""};
    if (ronde_size_parse(copy(word, text), &bytes, &why) != RONDE_OK)
        words_refuse(words, "%s", why.message);
    return words->status == RONDE_OK ? bytes : 0;
}

double words_time(struct words *words, struct label_text word)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char text[VALUE_BYTES];
    char *unit = copy(word, text);
    const bool starts_well = text[0] >= '0' && text[0] <= '9' && !strpbrk(text, "xX");
    const double number = starts_well ? strtod(text, &unit) : 0;
    for (size_t i = 0; starts_well && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0 && number * units[i].ns <= MOST_NS)
            return number * units[i].ns;
    words_refuse(words, "time \"%.*s\" is not a number with ns, us, ms or s", (int)word.bytes,
                 word.at);
    return 0;
}

/* A hash table of names: FNV-1a, linear probing, at most half full. */

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
