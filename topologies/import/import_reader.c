/* What the readers of all kinds share: attributes, their values, and where something is wrong. */
#include "import_reader.h"

#include "ronde/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

uint32_t ronde_import_line(const xmlNode *node)
{
    const long line = xmlGetLineNo(node);
    return line > 0 ? (uint32_t)line : 0;
}

enum ronde_status ronde_import_fail(struct ronde_import_reader *reader, const xmlNode *node,
                                    const char *format, ...)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    const uint32_t line = ronde_import_line(node);
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        message[0] = '\0';
    va_end(arguments);
    /* What hwloc reports of this machine is in no file, so there is no line to name. */
    if (!reader->import->request.path)
        return ronde_fail(reader->error, RONDE_BAD_INPUT, "%s: %s", reader->path, message);
    return ronde_fail_at(reader->error, RONDE_BAD_INPUT, line, "%s:%u: %s", reader->path, line,
                         message);
}

enum ronde_status ronde_import_added(struct ronde_import_reader *reader, const xmlNode *node,
                                     enum ronde_status status)
{
    if (status == RONDE_BAD_INPUT)
        return ronde_import_fail(reader, node, "more than %u processors, switches and devices",
                                 RONDE_MAX_PLACES);
    if (status != RONDE_OK)
        return ronde_fail(reader->error, status, "%s: no memory for the machine", reader->path);
    return RONDE_OK;
}

enum ronde_status ronde_import_place_of(struct ronde_import_reader *reader, const xmlNode *node,
                                        enum ronde_place_kind kind, uint32_t parent,
                                        uint32_t *out_place)
{
    return ronde_import_added(reader, node,
                              ronde_import_add_place(reader->import, kind, parent,
                                                     ronde_import_line(node), out_place));
}

bool ronde_import_is(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

xmlNode *ronde_import_child(const xmlNode *node, const char *name)
{
    xmlNode *child = node->children;
    while (child && !ronde_import_is(child, name))
        child = child->next;
    return child;
}

/* Compared in libxml2's memory: attributes that only have to match may be of any length. */
bool ronde_import_has(xmlNode *node, const char *name, const char *value)
{
    xmlChar *found = xmlGetNoNsProp(node, (const xmlChar *)name);
    const bool is_equal = found && strcmp((const char *)found, value) == 0;
    xmlFree(found);
    return is_equal;
}

/* Longer values belong to no such file; cutting them off would make two names one. */
enum ronde_status ronde_import_text(struct ronde_import_reader *reader, xmlNode *node,
                                    const char *name, char text[RONDE_ATTRIBUTE_BYTES])
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    const size_t bytes = value ? strlen((const char *)value) : 0;
    const bool has_control = value && ronde_utf8_has_control((const char *)value);
    text[0] = '\0';
    if (value && bytes < RONDE_ATTRIBUTE_BYTES && !has_control)
        memcpy(text, value, bytes + 1);
    xmlFree(value);
    if (has_control)
        return ronde_import_fail(reader, node, "%s of <%s> has a control character", name,
                                 (const char *)node->name);
    return bytes < RONDE_ATTRIBUTE_BYTES
               ? RONDE_OK
               : ronde_import_fail(reader, node, "%s of <%s> has %zu bytes, at most %u fit", name,
                                   (const char *)node->name, bytes, RONDE_ATTRIBUTE_BYTES - 1);
}

/* Negative rates and counts do not exist. */
enum ronde_status ronde_import_number(struct ronde_import_reader *reader, xmlNode *node,
                                      const char *name, double fallback, double *out_value)
{
    char text[RONDE_ATTRIBUTE_BYTES];
    const enum ronde_status status = ronde_import_text(reader, node, name, text);
    *out_value = fallback;
    if (status != RONDE_OK || text[0] == '\0')
        return status;
    if (!ronde_parse_number(text, out_value) || *out_value < 0)
        return ronde_import_fail(reader, node, "%s of <%s> is '%s', expected a number of at least 0",
                                 name, (const char *)node->name, text);
    return RONDE_OK;
}

enum ronde_status ronde_import_integer(struct ronde_import_reader *reader, xmlNode *node,
                                       const char *name, uint32_t limit, uint32_t fallback,
                                       uint32_t *out_value)
{
    char text[RONDE_ATTRIBUTE_BYTES];
    uint64_t value = 0;
    const char *at = text;
    const enum ronde_status status = ronde_import_text(reader, node, name, text);
    *out_value = fallback;
    if (status != RONDE_OK || text[0] == '\0')
        return status;
    if (!ronde_parse_integer(&at, limit, &value) || *at != '\0')
        return ronde_import_fail(reader, node, "%s of <%s> is '%s', expected an integer up to %u",
                                 name, (const char *)node->name, text, limit);
    *out_value = (uint32_t)value;
    return RONDE_OK;
}

/* One hexadecimal field of a busid and what ends it; adds it to the number. */
static bool take_field(const char **at, size_t max_digits, char end, uint64_t *number)
{
    const size_t digits = strspn(*at, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > max_digits || (*at)[digits] != end)
        return false;
    *number = *number << 8 | strtoul(*at, NULL, 16);
    *at += digits + (end != '\0' ? 1 : 0);
    return true;
}

/* Hypervisors give bridges ids that are taken. Switches are told apart by how many places before them have the id. */
static void note_repeated(struct ronde_import *import, uint32_t place, const char *busid)
{
    struct ronde_import_place *self = RONDE_PLACE(import, place);
    for (uint32_t i = 0; i < place; i++)
        self->repeat += RONDE_PLACE(import, i)->host == self->host &&
                                strcmp(RONDE_PLACE(import, i)->busid, busid) == 0
                            ? 1
                            : 0;
    ronde_import_note(import, RONDE_REMARK_REPEATED, self->line);
}

enum ronde_status ronde_import_busid(struct ronde_import_reader *reader, xmlNode *node,
                                     const char *attribute, uint32_t place)
{
    struct ronde_import_place *self = RONDE_PLACE(reader->import, place);
    char text[RONDE_ATTRIBUTE_BYTES];
    uint64_t bus = 0;
    const char *at = text;
    RONDE_TRY(ronde_import_text(reader, node, attribute, text));
    if (!take_field(&at, 8, ':', &bus) || !take_field(&at, 2, ':', &bus) ||
        !take_field(&at, 2, '.', &bus) || !take_field(&at, 1, '\0', &bus))
        return ronde_import_fail(reader, node,
                                 "%s of <%s> is '%s', expected domain:bus:device.function",
                                 attribute, (const char *)node->name, text);
    const uint32_t other = ronde_import_find(reader->import, self->host, text);
    if (other != RONDE_NONE && self->kind != RONDE_PLACE_SWITCH &&
        RONDE_PLACE(reader->import, other)->kind != RONDE_PLACE_SWITCH)
        return ronde_import_fail(reader, node, "a second device %s; the first is on line %u", text,
                                 RONDE_PLACE(reader->import, other)->line);
    if (other != RONDE_NONE)
        note_repeated(reader->import, place, text);
    self->bus = bus;
    (void)snprintf(self->busid, sizeof self->busid, "%.31s", text);
    return RONDE_OK;
}

/* Names beyond the room are left out; rates are not. */
void ronde_import_add_port(struct ronde_import_place *nic, const char *name, double GBps)
{
    char safe[48];
    const size_t used = strlen(nic->ports);
    ronde_plain_text(safe, sizeof safe, name, "");
    (void)snprintf(nic->ports + used, sizeof nic->ports - used, "%s%s:%gGBps", used > 0 ? " " : "",
                   safe, GBps);
    nic->net_GBps += GBps;
    nic->port_count++;
}
