/* What all readers of elements share: the tables they are looked up in, attributes, errors with their line. */
#include "reader.h"
#include "engine/text/refuse.h"

#include "ronde/utf8.h"

#include <stdarg.h>
#include <string.h>

enum ronde_status ronde_reader_fail(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status =
        ronde_refuse_line(reader->error, reader->platform->path, tag->line, format, arguments);
    va_end(arguments);
    return status;
}

enum ronde_status ronde_reader_fail_line(struct ronde_xml_reader *reader, uint32_t line,
                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status =
        ronde_refuse_line(reader->error, reader->platform->path, line, format, arguments);
    va_end(arguments);
    return status;
}

enum ronde_status ronde_reader_no_memory(struct ronde_xml_reader *reader)
{
    return ronde_fail(reader->error, RONDE_NO_MEMORY, "%s: no memory for the platform",
                      reader->platform->path);
}

enum ronde_status ronde_reader_added(struct ronde_xml_reader *reader, enum ronde_status status)
{
    return status == RONDE_OK ? RONDE_OK : ronde_reader_no_memory(reader);
}

const char *ronde_reader_value(const struct ronde_tag *tag, const char *name)
{
    for (uint32_t i = 0; i < tag->count; i++)
        if (strcmp(tag->attributes[i].name, name) == 0)
            return tag->attributes[i].value;
    return "";
}

enum ronde_status ronde_reader_text(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const char *name, const char **out_value)
{
    *out_value = ronde_platform_text(reader->platform, ronde_reader_value(tag, name), "", "");
    return *out_value ? RONDE_OK : ronde_reader_no_memory(reader);
}

bool ronde_reader_lists(const char *words, const char *word)
{
    const size_t length = strlen(word);
    while (*words) {
        const size_t next = strcspn(words, " ");
        if (next == length && strncmp(words, word, length) == 0)
            return true;
        words += next;
        words += strspn(words, " ");
    }
    return false;
}

/* Names are printed on terminals, which act on control characters; XML lets them in as &#155; and the like. */
static enum ronde_status check_values(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      const struct ronde_element *element)
{
    for (uint32_t i = 0; i < tag->count; i++) {
        const char *name = tag->attributes[i].name;
        if (!ronde_reader_lists(element->required, name) &&
            !ronde_reader_lists(element->optional, name))
            return ronde_reader_fail(reader, tag, "unknown attribute %s of <%s>, expected: %s %s",
                                     name, element->name, element->required, element->optional);
        if (ronde_utf8_has_control(tag->attributes[i].value))
            return ronde_reader_fail(reader, tag, "%s of <%s> has a control character", name,
                                     tag->name);
    }
    return RONDE_OK;
}

static bool has_attribute(const struct ronde_tag *tag, const char *name, size_t length)
{
    for (uint32_t i = 0; i < tag->count; i++)
        if (strncmp(tag->attributes[i].name, name, length) == 0 &&
            tag->attributes[i].name[length] == '\0')
            return true;
    return false;
}

/* Every attribute must be known, and every required one there. */
static enum ronde_status check_attributes(struct ronde_xml_reader *reader,
                                          const struct ronde_tag *tag,
                                          const struct ronde_element *element)
{
    RONDE_TRY(check_values(reader, tag, element));
    for (const char *word = element->required; *word; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        if (!has_attribute(tag, word, length))
            return ronde_reader_fail(reader, tag, "<%s> has no attribute %.*s", element->name,
                                     (int)length, word);
        word += length;
    }
    return RONDE_OK;
}

/* SimGrid's parser insists on this order; found here, the message says what the order is. */
static enum ronde_status check_order(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     const struct ronde_element *element,
                                     struct ronde_open_element *parent)
{
    if (element->stage < parent->stage)
        return ronde_reader_fail(reader, tag,
                                 "<%s> must come earlier in <%s>: props come first, "
                                 "then parts, then routes",
                                 element->name, parent->element->name);
    parent->stage = element->stage;
    if (element->group == RONDE_GROUP_ANY)
        return RONDE_OK;
    if (parent->group != RONDE_GROUP_ANY && parent->group != element->group)
        return ronde_reader_fail(reader, tag,
                                 "<%s> in a zone that already holds %s; a zone has "
                                 "either zones and clusters or hosts and routers",
                                 element->name,
                                 parent->group == RONDE_GROUP_ZONES ? "zones" : "hosts");
    parent->group = element->group;
    return RONDE_OK;
}

/* The row of an element; NULL where its parent may not hold it. */
static const struct ronde_element *
find_row(const struct ronde_element *root, const struct ronde_open_element *parent, const char *name)
{
    if (!parent)
        return strcmp(root->name, name) == 0 ? root : NULL;
    for (size_t i = 0; i < parent->element->inside_count; i++)
        if (strcmp(parent->element->inside[i].name, name) == 0)
            return &parent->element->inside[i];
    return NULL;
}

/* The one place where elements are looked up: whatever is in no row of the table ends here. */
static enum ronde_status on_start(void *user, const struct ronde_tag *tag)
{
    struct ronde_xml_reader *reader = user;
    struct ronde_open_element *parent = reader->depth ? &reader->open[reader->depth - 1] : NULL;
    const struct ronde_element *element = find_row(reader->root, parent, tag->name);
    if (!element && !parent)
        return ronde_reader_fail(reader, tag, "root element is <%s>, expected <platform>",
                                 tag->name);
    if (!element)
        return ronde_reader_fail(reader, tag, "unknown element <%s> in <%s>", tag->name,
                                 parent->element->name);
    if (reader->depth == RONDE_ELEMENT_DEPTH)
        return ronde_reader_fail(reader, tag, "elements nested deeper than %u", reader->depth);
    enum ronde_status status = check_attributes(reader, tag, element);
    if (status == RONDE_OK && parent)
        status = check_order(reader, tag, element, parent);
    reader->inner = parent ? parent->zone : RONDE_NONE;
    RONDE_THEN(status, element->read(reader, tag, reader->inner));
    reader->open[reader->depth++] =
        (struct ronde_open_element){element, tag->line, reader->inner, 0, RONDE_GROUP_ANY};
    return status;
}

static enum ronde_status on_end(void *user)
{
    struct ronde_xml_reader *reader = user;
    const struct ronde_open_element *open = &reader->open[--reader->depth];
    return open->element->end ? open->element->end(reader, open->line, open->zone) : RONDE_OK;
}

/* Anything that is not an element must be a comment or blank. */
static enum ronde_status on_text(void *user)
{
    struct ronde_xml_reader *reader = user;
    const struct ronde_open_element *open = &reader->open[reader->depth - 1];
    return ronde_reader_fail_line(reader, open->line, "text inside <%s>", open->element->name);
}

struct ronde_document_events ronde_reader_events(struct ronde_xml_reader *reader)
{
    return (struct ronde_document_events){reader, on_start, on_end, on_text};
}
