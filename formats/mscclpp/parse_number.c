/* Numbers of a plan, and refusals that say where they stand. See parse.h. */
#include "parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Largest number of chunks: proving takes memory for each. */
#define MOST_CHUNKS (1 << 24)

enum ronde_status mscclpp_refuse(const struct mscclpp_place *place, enum ronde_status status,
                                 const char *format, ...)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (place->tb)
        return mscclpp_fail(place->plan, status, &place->base, "%s", message);
    if (place->gpu)
        return ronde_fail(place->plan->error, status, "%s: gpu %" PRIu32 ": %s", place->plan->path,
                          place->base.rank, message);
    return ronde_fail(place->plan->error, status, "%s: %s", place->plan->path, message);
}

bool mscclpp_whole(const json_t *value, uint32_t end, uint32_t *out_number)
{
    const double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= 0.0 && number < end) ||
        number != (double)(uint32_t)number)
        return false;
    *out_number = (uint32_t)number;
    return true;
}

enum ronde_status mscclpp_take(const struct mscclpp_place *place, const json_t *object,
                               const char *name, uint32_t *out_number)
{
    if (!mscclpp_whole(json_object_get(object, name), MOST_CHUNKS + 1, out_number))
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "%s is no number from 0 to %d", name,
                              MOST_CHUNKS);
    return RONDE_OK;
}
