/* Links that are slower than the file says. See without_links.h. */
#include "without_links.h"

#include <stdlib.h>
#include <string.h>

/* Room for the name of a link. */
#define NAME_BYTES 256u

static enum ronde_status change_link(struct ronde_platform *platform, const char *text,
                                     struct ronde_error *error)
{
    char name[NAME_BYTES];
    const char *sign = strrchr(text, '=');
    char *end = NULL;
    const double factor = sign ? strtod(sign + 1, &end) : 0;
    if (!sign || sign == text || end == sign + 1 || *end != '\0' ||
        (size_t)(sign - text) >= sizeof name)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--degrade %s: expected LINK=FACTOR", text);
    memcpy(name, text, (size_t)(sign - text));
    name[sign - text] = '\0';
    return factor == 0 ? ronde_platform_take_down(platform, name, error)
                       : ronde_platform_degrade(platform, name, factor, error);
}

enum ronde_status ronde_without_links(const struct ronde_options *options,
                                      struct ronde_platform *platform, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < options->degrade_count; i++)
        status = change_link(platform, options->degrade[i], error);
    return status;
}
