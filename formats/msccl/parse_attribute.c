/* Attributes of an MSCCL file: numbers, flags and names, each refused with its line. See parse.h. */
#include "parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest number of chunks, offsets and channels: proving takes memory for each chunk. */
#define MOST_CHUNKS (1 << 24)

uint32_t msccl_node_line(const xmlNode *node)
{
    const long line = xmlGetLineNo(node);
    return line > 0 ? (uint32_t)line : 1;
}

/* "path:line: message". */
enum ronde_status msccl_fail(struct msccl_reader *reader, const xmlNode *node, const char *format,
                             ...)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const uint32_t line = msccl_node_line(node);
    return ronde_fail_at(reader->error, RONDE_BAD_INPUT, line, "%s:%" PRIu32 ": %s",
                         reader->algo->path, line, message);
}

enum ronde_status msccl_fail_memory(struct msccl_reader *reader)
{
    return ronde_fail(reader->error, RONDE_NO_MEMORY, "%s: no memory for the file",
                      reader->algo->path);
}

bool msccl_is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

/* "" where it is absent; *out_is_there may be NULL. */
enum ronde_status msccl_take_text(struct msccl_reader *reader, xmlNode *node, const char *name,
                                  char text[MSCCL_ATTRIBUTE_BYTES], bool *out_is_there)
{
    text[0] = '\0';
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    if (out_is_there)
        *out_is_there = value != NULL;
    if (!value)
        return RONDE_OK;
    const int bytes = snprintf(text, MSCCL_ATTRIBUTE_BYTES, "%s", (const char *)value);
    xmlFree(value);
    if (bytes < 0 || (unsigned)bytes >= MSCCL_ATTRIBUTE_BYTES)
        return msccl_fail(reader, node, "%s of <%s> is longer than %u characters", name,
                          (const char *)node->name, MSCCL_ATTRIBUTE_BYTES - 1);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return msccl_fail(reader, node, "%s of <%s> has a control character", name,
                              (const char *)node->name);
    return RONDE_OK;
}

/* A decimal number of at least `least`; MSCCL_MISSING where it is absent. */
enum ronde_status msccl_take_number(struct msccl_reader *reader, xmlNode *node, const char *name,
                                    int32_t least, int32_t *out_number)
{
    char text[MSCCL_ATTRIBUTE_BYTES];
    bool is_there;
    *out_number = MSCCL_MISSING;
    const enum ronde_status status = msccl_take_text(reader, node, name, text, &is_there);
    if (status != RONDE_OK || !is_there)
        return status;
    char *end = text;
    const long number = strtol(text, &end, 10);
    const bool is_number =
        end != text && *end == '\0' && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    if (!is_number || number < least || number > MOST_CHUNKS)
        return msccl_fail(reader, node,
                          "%s of <%s> is '%s', expected a number from %" PRId32 " to %d", name,
                          (const char *)node->name, text, least, MOST_CHUNKS);
    *out_number = (int32_t)number;
    return RONDE_OK;
}

/* The same where it has to be there. */
enum ronde_status msccl_need_number(struct msccl_reader *reader, xmlNode *node, const char *name,
                                    int32_t least, int32_t *out_number)
{
    const enum ronde_status status = msccl_take_number(reader, node, name, least, out_number);
    if (status == RONDE_OK && *out_number == MSCCL_MISSING)
        return msccl_fail(reader, node, "<%s> has no attribute %s", (const char *)node->name, name);
    return status;
}

/* 0 or 1; `fallback` where it is absent. */
enum ronde_status msccl_take_flag(struct msccl_reader *reader, xmlNode *node, const char *name,
                                  bool fallback, bool *out_flag)
{
    int32_t number;
    const enum ronde_status status = msccl_take_number(reader, node, name, 0, &number);
    if (status == RONDE_OK && number > 1)
        return msccl_fail(reader, node, "%s of <%s> is neither 0 nor 1", name,
                          (const char *)node->name);
    *out_flag = number == MSCCL_MISSING ? fallback : number == 1;
    return status;
}

/* i, o or s. */
enum ronde_status msccl_need_buffer(struct msccl_reader *reader, xmlNode *node, const char *name,
                                    uint8_t *out_buffer)
{
    static const char letters[] = "ios";
    char text[MSCCL_ATTRIBUTE_BYTES];
    const enum ronde_status status = msccl_take_text(reader, node, name, text, NULL);
    if (status != RONDE_OK)
        return status;
    const char *at = text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
    if (!at)
        return msccl_fail(reader, node, "%s of <%s> is '%s', expected i, o or s", name,
                          (const char *)node->name, text);
    *out_buffer = (uint8_t)(at - letters);
    return RONDE_OK;
}
