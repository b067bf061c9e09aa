/*
 * hwloc's matrices of bandwidths between GPUs, NVSwitches and packages, in MB/s. Rows and columns are objects by type
 * and number ("OSDev:802"), or by number alone where all have one type; numbers and values are text in several pieces.
 */
#include "import_reader.h"

#include <string.h>

/* Most rows; a rack has 72 GPUs and 18 switches. */
#define MAX_ROWS 256u

/* A matrix being read. */
struct matrix {
    struct ronde_import_reader *reader;
    const xmlNode *node;              /* of it */
    const char *word;                 /* of its links */
    char type[RONDE_ATTRIBUTE_BYTES]; /* of all rows, "" where each says its own */
    uint32_t places[MAX_ROWS];        /* of each row; NONE where an object is no place */
    uint32_t rows;                    /* announced */
};

/* Where reading stands in the text of the pieces of one name. */
struct cursor {
    const xmlNode *piece; /* element, or NULL at the end */
    xmlChar *text;        /* its content, to be freed */
    const char *at;       /* in the text */
};

/* The next element of that name from here on; the text before it is given back. */
static void open_piece(struct cursor *cursor, const xmlNode *piece, const char *name)
{
    while (piece && !ronde_import_is(piece, name))
        piece = piece->next;
    xmlFree(cursor->text);
    cursor->piece = piece;
    cursor->text = piece ? xmlNodeGetContent(piece) : NULL;
    cursor->at = cursor->text ? (const char *)cursor->text : "";
}

/* The next word of all pieces; false at the end, or if it is too long. */
static bool next_word(struct cursor *cursor, const char *name, char word[64])
{
    static const char blanks[] = " \t\r\n";
    cursor->at += strspn(cursor->at, blanks);
    while (*cursor->at == '\0' && cursor->piece) {
        open_piece(cursor, cursor->piece->next, name);
        cursor->at += strspn(cursor->at, blanks);
    }
    const size_t length = strcspn(cursor->at, blanks);
    if (length == 0 || length >= 64)
        return false;
    memcpy(word, cursor->at, length);
    word[length] = '\0';
    cursor->at += length;
    return true;
}

/* The object of a type and number below a node, or NULL; OSDev means the device it belongs to. */
static const xmlNode *find_object(xmlNode *node, const char *type, const char *number)
{
    for (xmlNode *child = node->children; child; child = child->next) {
        if (!ronde_import_is(child, "object"))
            continue;
        if (ronde_import_has(child, "gp_index", number) && ronde_import_has(child, "type", type))
            return strcmp(type, "OSDev") == 0 ? child->parent : child;
        const xmlNode *found = find_object(child, type, number);
        if (found)
            return found;
    }
    return NULL;
}

/* "OSDev:802", or "802" in a matrix of one type. */
static enum ronde_status read_row(struct matrix *matrix, xmlNode *root, const char *word,
                                  uint32_t row)
{
    char type[64];
    const char *colon = strchr(word, ':');
    (void)snprintf(type, sizeof type, "%.*s", colon ? (int)(colon - word) : 63,
                   colon ? word : matrix->type);
    const xmlNode *object = find_object(root, type, colon ? colon + 1 : word);
    if (!object)
        return ronde_import_fail(matrix->reader, matrix->node,
                                 "the matrix names %s, which is no object of this file", word);
    matrix->places[row] =
        object->_private ? (uint32_t)((uintptr_t)object->_private - 1) : RONDE_NONE;
    return RONDE_OK;
}

/* As many as announced, or the file is damaged. */
static enum ronde_status read_rows(struct matrix *matrix, xmlNode *root)
{
    struct cursor cursor = {NULL, NULL, ""};
    char word[64];
    enum ronde_status status = RONDE_OK;
    uint32_t row = 0;
    open_piece(&cursor, matrix->node->children, "indexes");
    for (; row < matrix->rows && status == RONDE_OK && next_word(&cursor, "indexes", word); row++)
        status = read_row(matrix, root, word, row);
    xmlFree(cursor.text);
    if (status == RONDE_OK && row < matrix->rows)
        return ronde_import_fail(matrix->reader, matrix->node, "%u indexes, expected %u", row,
                                 matrix->rows);
    return status;
}

/* One value. The several switches of a machine are one place, and what leads to each of them adds up. */
static enum ronde_status add_value(struct matrix *matrix, uint32_t row, uint32_t column,
                                   const char *word)
{
    struct ronde_import *import = matrix->reader->import;
    const uint32_t from = matrix->places[row];
    const uint32_t to = matrix->places[column];
    uint64_t MBps;
    const char *at = word;
    if (!ronde_parse_integer(&at, 1000000000u, &MBps) || *at != '\0')
        return ronde_import_fail(matrix->reader, matrix->node,
                                 "value %u of row %u is '%s', expected MB/s", column, row, word);
    if (from == RONDE_NONE || to == RONDE_NONE || from == to || MBps == 0)
        return RONDE_OK;
    const enum ronde_place_kind kinds[2] = {RONDE_PLACE(import, from)->kind,
                                            RONDE_PLACE(import, to)->kind};
    if (kinds[0] != RONDE_PLACE_GPU && kinds[1] != RONDE_PLACE_GPU)
        return RONDE_OK;
    return ronde_import_added(matrix->reader, matrix->node,
                              ronde_import_add_rate(import, matrix->word, from, to,
                                                    (double)MBps / 1000));
}

/* Row by row. */
static enum ronde_status read_values(struct matrix *matrix)
{
    struct cursor cursor = {NULL, NULL, ""};
    char word[64];
    enum ronde_status status = RONDE_OK;
    const uint32_t count = matrix->rows * matrix->rows;
    uint32_t value = 0;
    open_piece(&cursor, matrix->node->children, "u64values");
    for (; value < count && status == RONDE_OK && next_word(&cursor, "u64values", word); value++)
        status = add_value(matrix, value / matrix->rows, value % matrix->rows, word);
    xmlFree(cursor.text);
    if (status == RONDE_OK && value < count)
        return ronde_import_fail(matrix->reader, matrix->node, "%u values, expected %u", value,
                                 count);
    return status;
}

/* Words of the links whose bandwidths hwloc has matrices of. */
static const char *word_of(const char *name)
{
    static const char *const words[][2] = {{"NVLinkBandwidth", "nvlink"},
                                           {"XGMIBandwidth", "xgmi"},
                                           {"XeLinkBandwidth", "xelink"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], name) == 0)
            return words[i][1];
    return NULL;
}

/* Matrices of latencies and of NUMA nodes are none of ours. */
static enum ronde_status read_matrix(struct ronde_import_reader *reader, xmlNode *node,
                                     xmlNode *root)
{
    struct matrix matrix = {.reader = reader, .node = node};
    char name[RONDE_ATTRIBUTE_BYTES];
    RONDE_TRY(ronde_import_text(reader, node, "name", name));
    if (!(matrix.word = word_of(name)))
        return RONDE_OK;
    RONDE_TRY(ronde_import_text(reader, node, "type", matrix.type));
    RONDE_TRY(ronde_import_integer(reader, node, "nbobjs", MAX_ROWS, 0, &matrix.rows));
    RONDE_TRY(read_rows(&matrix, root));
    return read_values(&matrix);
}

/* They stand behind the objects, at the top level; hetero means rows of several types. */
enum ronde_status ronde_hwloc_read_matrices(struct ronde_import_reader *reader, xmlNode *root)
{
    for (xmlNode *child = root->children; child; child = child->next)
        if (ronde_import_is(child, "distances2") || ronde_import_is(child, "distances2hetero"))
            RONDE_TRY(read_matrix(reader, child, root));
    return RONDE_OK;
}
