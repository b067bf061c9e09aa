/** Rows and systems of a table that is being read. See reader.h. */
#include "reader.h"

#include <string.h>

enum ronde_status published_system(struct ronde_published *to, const char *path, uint32_t line,
                                   const char *name, uint32_t *out, struct ronde_error *error)
{
    for (*out = 0; *out < to->system_count; ++*out)
        if (strcmp(to->systems[*out].name, name) == 0)
            return RONDE_OK;
    if (to->system_count == RONDE_PUBLISHED_MAX_SYSTEMS)
        return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: more than %u systems", path,
                             line, RONDE_PUBLISHED_MAX_SYSTEMS);
    if (*name == '\0' || strlen(name) >= RONDE_NCCL_NAME_BYTES || strchr(name, '/'))
        return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                             "%s:%u: \"%.40s\" is no name of a system", path, line, name);
    memcpy(to->systems[to->system_count++].name, name, strlen(name) + 1);
    return RONDE_OK;
}

void published_state(struct ronde_published_row *row, bool is_modelled, bool is_faulty)
{
    row->state = is_faulty                                       ? RONDE_PUBLISHED_FAULTY
                 : !is_modelled                                  ? RONDE_PUBLISHED_NOT_MODELLED
                 : !(row->measured_us > 0)                       ? RONDE_PUBLISHED_UNMEASURED
                 : row->call.bytes < RONDE_PUBLISHED_LEAST_BYTES ? RONDE_PUBLISHED_SMALL
                                                                 : RONDE_PUBLISHED_PREDICTED;
}

enum ronde_status published_add(struct ronde_published *to, const struct ronde_published_row *row,
                                struct ronde_error *error)
{
    void *rows = to->rows;
    if (!ronde_mem_grow(to->mem, &rows, &to->capacity, to->count + 1, sizeof *to->rows))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", to->count + 1);
    to->rows = rows;
    to->rows[to->count++] = *row;
    return RONDE_OK;
}
