/* What all readers of elements share: the walk over a table of them, attributes, errors with their line. */
#include "reader.h"

#include "ronde/utf8.h"

#include <stdarg.h>
#include <string.h>

/* path:line: in front, where editors look for it. */
static enum ronde_status fail_with(struct ronde_xml_reader *reader, uint32_t line,
                                   const char *format, va_list arguments)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        message[0] = '\0';
    return ronde_fail_at(reader->error, RONDE_BAD_INPUT, line, "%s:%u: %s", reader->platform->path,
                         line, message);
}

/* libxml2 returns -1 for an unknown line. */
uint32_t ronde_reader_line(const xmlNode *node)
{
    const long line = xmlGetLineNo(node);
    return line > 0 ? (uint32_t)line : 0;
}

enum ronde_status ronde_reader_fail(struct ronde_xml_reader *reader, const xmlNode *node,
                                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status = fail_with(reader, ronde_reader_line(node), format, arguments);
    va_end(arguments);
    return status;
}

enum ronde_status ronde_reader_fail_line(struct ronde_xml_reader *reader, uint32_t line,
                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status = fail_with(reader, line, format, arguments);
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

/*
 * Copied out of libxml2's memory, for the document is gone before the platform is. Names are printed on terminals, which
 * act on control characters; XML lets them in as &#155; and the like.
 */
enum ronde_status ronde_reader_text(struct ronde_xml_reader *reader, xmlNode *node,
                                    const char *name, const char **out_value)
{
    *out_value = "";
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    if (!value)
        return RONDE_OK;
    const bool has_control = ronde_utf8_has_control((const char *)value);
    *out_value =
        has_control ? "" : ronde_platform_text(reader->platform, (const char *)value, "", "");
    xmlFree(value);
    if (has_control)
        return ronde_reader_fail(reader, node, "%s of <%s> has a control character", name,
                                 (const char *)node->name);
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

enum ronde_status ronde_reader_attributes(struct ronde_xml_reader *reader, xmlNode *node,
                                          const struct ronde_element *element)
{
    for (const xmlAttr *attr = node->properties; attr; attr = attr->next) {
        const char *name = (const char *)attr->name;
        if (!ronde_reader_lists(element->required, name) &&
            !ronde_reader_lists(element->optional, name))
            return ronde_reader_fail(reader, node, "unknown attribute %s of <%s>, expected: %s %s",
                                     name, element->name, element->required, element->optional);
    }
    const char *word = element->required;
    while (*word) {
        char name[32];
        const size_t length = strcspn(word, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
        if (!xmlHasProp(node, (const xmlChar *)name))
            return ronde_reader_fail(reader, node, "<%s> has no attribute %s", element->name, name);
        word += length;
        word += strspn(word, " ");
    }
    return RONDE_OK;
}

/* What the elements of one parent have shown so far. */
struct order {
    unsigned stage;
    enum ronde_group group;
};

/* SimGrid's parser insists on this order; found here, the message says what the order is. */
static enum ronde_status check_order(struct ronde_xml_reader *reader, const xmlNode *node,
                                     const struct ronde_element *element, struct order *order)
{
    const char *parent = (const char *)node->parent->name;
    if (element->stage < order->stage)
        return ronde_reader_fail(reader, node,
                                 "<%s> stands too late in <%s>: props come first, "
                                 "then parts, then routes",
                                 element->name, parent);
    order->stage = element->stage;
    if (element->group == RONDE_GROUP_ANY)
        return RONDE_OK;
    if (order->group != RONDE_GROUP_ANY && order->group != element->group)
        return ronde_reader_fail(reader, node,
                                 "<%s> in a zone that already holds %s; a zone has "
                                 "either zones and clusters or hosts and routers",
                                 element->name,
                                 order->group == RONDE_GROUP_ZONES ? "zones" : "hosts");
    order->group = element->group;
    return RONDE_OK;
}

/* Anything that is not an element must be a comment or blank. */
static enum ronde_status check_filler(struct ronde_xml_reader *reader, const xmlNode *node)
{
    if (node->type == XML_COMMENT_NODE || node->type == XML_PI_NODE || xmlIsBlankNode(node))
        return RONDE_OK;
    return ronde_reader_fail(reader, node->parent ? node->parent : node, "text inside <%s>",
                             node->parent ? (const char *)node->parent->name : "?");
}

/* The one place where elements are looked up: whatever is in no row of the table ends here. */
enum ronde_status ronde_reader_walk(struct ronde_xml_reader *reader, xmlNode *node, uint32_t zone,
                                    const struct ronde_element *table, size_t count)
{
    struct order order = {0, RONDE_GROUP_ANY};
    enum ronde_status status = RONDE_OK;
    for (xmlNode *child = node->children; child && status == RONDE_OK; child = child->next) {
        if (child->type != XML_ELEMENT_NODE) {
            status = check_filler(reader, child);
            continue;
        }
        size_t row = 0;
        while (row < count && strcmp(table[row].name, (const char *)child->name) != 0)
            row++;
        if (row == count)
            return ronde_reader_fail(reader, child, "unknown element <%s> in <%s>",
                                     (const char *)child->name, (const char *)node->name);
        status = ronde_reader_attributes(reader, child, &table[row]);
        if (status == RONDE_OK)
            status = check_order(reader, child, &table[row], &order);
        if (status == RONDE_OK)
            status = table[row].read(reader, child, zone);
    }
    return status;
}
