/**
 * The XML side of the platform reader: one file per kind of element. A file is read tag by tag (document.h), so that it
 * takes no more memory than what becomes of it.
 *
 * Each element is a row of a table: attributes it must and may have, where it may stand, its reader and what it may hold.
 * What is in no table is refused with its line, so no part of a file is ignored.
 */
#ifndef RONDE_TOPOLOGIES_READ_READER_H
#define RONDE_TOPOLOGIES_READ_READER_H

#include "document.h"

#include "topologies/platform.h"

/** Number of ronde.* props (rows of the table in facts.c). */
#define RONDE_FACT_COUNT 51

/** Zones in zones: deeper nesting has no use, and it bounds the recursion in the routing. */
#define RONDE_ZONE_DEPTH 16u

/** What may not be mixed in one zone (SimGrid's DTD: inner zones, or hosts and routers). */
enum ronde_group { RONDE_GROUP_ANY, RONDE_GROUP_ZONES, RONDE_GROUP_HOSTS };

struct ronde_xml_reader;

/** A row of an element table. */
struct ronde_element {
    const char *name;       /**< of the element */
    const char *required;   /**< attributes, separated by spaces */
    const char *optional;   /**< attributes, separated by spaces */
    unsigned stage;         /**< elements of a later stage may not precede earlier ones */
    enum ronde_group group; /**< what it may not be mixed with */
    /** Reads its tag; `zone` is where it stands. */
    enum ronde_status (*read)(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                              uint32_t zone);
    const struct ronde_element *inside; /**< rows of what it may hold; NULL = nothing */
    size_t inside_count;                /**< of those */
    /** After all it holds, `zone` being where those stand; NULL = nothing is left to do. */
    enum ronde_status (*end)(struct ronde_xml_reader *reader, uint32_t line, uint32_t zone);
};

/** An element whose end has not come yet, and what its parts have shown so far. */
struct ronde_open_element {
    const struct ronde_element *element;
    uint32_t line;          /**< of its tag */
    uint32_t zone;          /**< where its parts stand */
    unsigned stage;         /**< of its last part */
    enum ronde_group group; /**< of its parts */
};

/** Elements in elements: <platform>, zones, a host and its prop, and what is refused inside that. */
#define RONDE_ELEMENT_DEPTH (RONDE_ZONE_DEPTH + 4u)

/** State of one reading. */
struct ronde_xml_reader {
    const struct ronde_element *root;                    /**< <platform> (read.c) */
    struct ronde_platform *platform;                     /**< being filled */
    struct ronde_error *error;                           /**< the caller's */
    uint32_t fact_lines[RONDE_FACT_COUNT];               /**< line of each prop, 0 while unseen */
    const char *rank_hosts;                              /**< value of ronde.rank_hosts, or NULL */
    struct ronde_open_element open[RONDE_ELEMENT_DEPTH]; /**< from <platform> inwards */
    uint32_t depth;                                      /**< of those */
    uint32_t inner;             /**< where the parts of what is being read stand */
    struct ronde_route route;   /**< the one that is open */
    bool has_way_back;          /**< it holds both ways */
    struct ronde_list way_back; /**< uint32_t: its links so far, each turned round */
};

/** Fails with BAD_INPUT and "path:line: message". */
enum ronde_status ronde_reader_fail(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const char *format, ...) RONDE_FORMAT(3, 4);

/** The same for a line remembered from earlier. */
enum ronde_status ronde_reader_fail_line(struct ronde_xml_reader *reader, uint32_t line,
                                         const char *format, ...) RONDE_FORMAT(3, 4);

/** Fails with NO_MEMORY. */
enum ronde_status ronde_reader_no_memory(struct ronde_xml_reader *reader);

/** OK stays OK; NO_MEMORY gets its message. */
enum ronde_status ronde_reader_added(struct ronde_xml_reader *reader, enum ronde_status status);

/** Whether a word stands in a list separated by spaces. */
bool ronde_reader_lists(const char *words, const char *word);

/** What reads a file: its root is <platform>. */
struct ronde_document_events ronde_reader_events(struct ronde_xml_reader *reader);

/** Value of an attribute, "" when absent; lives as long as the tag. */
const char *ronde_reader_value(const struct ronde_tag *tag, const char *name);

/** The same, as long as the platform. Errors: NO_MEMORY. */
enum ronde_status ronde_reader_text(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const char *name, const char **out_value);

/** A bandwidth above 0; `fallback` when the attribute is absent or empty. */
enum ronde_status ronde_reader_bandwidth(struct ronde_xml_reader *reader,
                                         const struct ronde_tag *tag, const char *name,
                                         double fallback, double *out_GBps);

/** A time of at least 0; 0 when the attribute is absent, and when it is empty and not required. */
enum ronde_status ronde_reader_time(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const char *name, bool is_required, double *out_ns);

/** Number of the value of an attribute in a list of words; 0 when absent. Errors: BAD_INPUT lists the words. */
enum ronde_status ronde_reader_choice(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      const char *name, const char *const *words, size_t count,
                                      uint32_t *out_index);

/** Checks that a host, router or zone of this name can be added. */
enum ronde_status ronde_reader_new_point(struct ronde_xml_reader *reader,
                                         const struct ronde_tag *tag, const char *name);

/** How flows share a link; order of the words in values.c. */
enum ronde_link_sharing {
    RONDE_SHARING_DEFAULT,
    RONDE_SHARING_SHARED,
    RONDE_SHARING_FATPIPE,
    RONDE_SHARING_SPLIT,
    RONDE_SHARING_FULL
};

/** The words of sharing_policy for ronde_reader_choice, and how many. */
extern const char *const ronde_sharing_words[];
#define RONDE_SHARING_COUNT 5

/** A new link, one or two directed ones; *out_up and *out_down are equal unless it is split. */
enum ronde_status ronde_reader_new_link(struct ronde_xml_reader *reader,
                                        const struct ronde_tag *tag, struct ronde_link *link,
                                        enum ronde_link_sharing sharing, uint32_t out_up_down[2]);

/** Rows of what a zone and the platform itself may hold: zones and clusters. */
extern const struct ronde_element ronde_inner_zones[];
#define RONDE_INNER_ZONE_COUNT 4

/**
 * After the hosts of a torus: its links and the ways between neighbours. `link` has the name of the cluster and the
 * numbers of every link. Errors: BAD_INPUT for bad axes; NO_MEMORY.
 */
enum ronde_status ronde_reader_torus(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t zone, const struct ronde_link *link,
                                     enum ronde_link_sharing sharing);

/** <zone> and its old name <AS>. */
enum ronde_status ronde_read_zone(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                  uint32_t parent);
/** After the last part of a zone. */
enum ronde_status ronde_end_zone(struct ronde_xml_reader *reader, uint32_t line, uint32_t zone);
/** <cluster>. */
enum ronde_status ronde_read_cluster(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t parent);
/** <route>. */
enum ronde_status ronde_read_route(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone);
/** <link_ctn>. */
enum ronde_status ronde_read_link_ctn(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      uint32_t zone);
/** After the last <link_ctn> of a route of either kind. */
enum ronde_status ronde_end_route(struct ronde_xml_reader *reader, uint32_t line, uint32_t zone);
/** <zoneRoute> and its old name <ASroute>. */
enum ronde_status ronde_read_zone_route(struct ronde_xml_reader *reader,
                                        const struct ronde_tag *tag, uint32_t zone);
/** <prop> of a zone, cluster or host: ronde's facts. */
enum ronde_status ronde_read_prop(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                  uint32_t zone);
/** <prop> of a link, where ronde has no facts. */
enum ronde_status ronde_read_foreign_prop(struct ronde_xml_reader *reader,
                                          const struct ronde_tag *tag, uint32_t zone);

/** After the last element: rank order, memory link. */
enum ronde_status ronde_reader_finish_facts(struct ronde_xml_reader *reader);

#endif
