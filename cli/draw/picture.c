/* Names of pictures. See picture.h. */
#include "picture.h"

#include <string.h>
#include <strings.h>

bool ronde_picture_is_svg(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".svg") == 0;
}

enum ronde_status ronde_picture_check(const char *path, struct ronde_error *error)
{
    static const char *const others[] = {".png", ".pdf", ".jpg", ".jpeg", ".gif", ".ps",
                                         ".eps", ".bmp", ".tif", ".tiff", ".webp"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof others / sizeof others[0]; i++)
        if (strcasecmp(dot, others[i]) == 0)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "%s: pictures are SVG; call it x.svg, of which rsvg-convert or "
                              "inkscape makes a %s",
                              path, others[i] + 1);
    return RONDE_OK;
}
