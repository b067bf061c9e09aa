/**
 * What the readers of an MSCCL file's XML share: the file and where its refusal goes, attributes with their ranges. Only for
 * files that are built with libxml2.
 */
#ifndef RONDE_FORMATS_MSCCL_PARSE_H
#define RONDE_FORMATS_MSCCL_PARSE_H

#include "algo.h"

#include <libxml/tree.h>

/** Longest attribute that the runtimes read, with its zero. */
#define MSCCL_ATTRIBUTE_BYTES 256u

/** "attribute is not there" of a number. */
#define MSCCL_MISSING INT32_MIN

/** The file being read. */
struct msccl_reader {
    struct msccl_algo *algo;   /**< what is filled in */
    struct ronde_error *error; /**< why it was refused */
};

/** An element's line; 1 where libxml2 does not know it. */
uint32_t msccl_node_line(const xmlNode *node);

/** Refuses a file at an element: "path:line: message". Returns BAD_INPUT. */
enum ronde_status msccl_fail(struct msccl_reader *reader, const xmlNode *node, const char *format,
                             ...) RONDE_FORMAT(3, 4);

/** Returns NO_MEMORY. */
enum ronde_status msccl_fail_memory(struct msccl_reader *reader);

/** Whether a node is an element of that name. */
bool msccl_is_element(const xmlNode *node, const char *name);

/** An attribute as text, "" where it is absent; *out_is_there may be NULL. */
enum ronde_status msccl_take_text(struct msccl_reader *reader, xmlNode *node, const char *name,
                                  char text[MSCCL_ATTRIBUTE_BYTES], bool *out_is_there);

/** A decimal number of at least `least`; MSCCL_MISSING where it is absent. */
enum ronde_status msccl_take_number(struct msccl_reader *reader, xmlNode *node, const char *name,
                                    int32_t least, int32_t *out_number);

/** The same where it has to be there. */
enum ronde_status msccl_need_number(struct msccl_reader *reader, xmlNode *node, const char *name,
                                    int32_t least, int32_t *out_number);

/** 0 or 1; `fallback` where it is absent. */
enum ronde_status msccl_take_flag(struct msccl_reader *reader, xmlNode *node, const char *name,
                                  bool fallback, bool *out_flag);

/** i, o or s, as enum ronde_buffer. */
enum ronde_status msccl_need_buffer(struct msccl_reader *reader, xmlNode *node, const char *name,
                                    uint8_t *out_buffer);

/** All <gpu> below the root, sorted by id, with their threadblocks and steps. (parse_rank.c) */
enum ronde_status msccl_parse_gpus(struct msccl_reader *reader, xmlNode *root);

#endif
