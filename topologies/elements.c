/* The elements of platform files. See elements.h. */
#include "elements.h"

#include <stdarg.h>
#include <string.h>

/* More than the words of any element have. */
#define TEXT_BYTES 512u

/* What is written: @ is the next word, * all words that are left, as links. */
static const char *const templates[] = {
    [RONDE_ELEMENT_HOST] = "<host id=\"@\" speed=\"1Gf\"/>\n",
    [RONDE_ELEMENT_ROUTER] = "<router id=\"@\"/>\n",
    [RONDE_ELEMENT_ZONE] = "<zone id=\"@\" routing=\"@\">\n",
    [RONDE_ELEMENT_ZONE_END] = "</zone>\n",
    [RONDE_ELEMENT_SWITCH] = "<zone id=\"@\" routing=\"Full\"><router id=\"@\"/></zone>\n",
    [RONDE_ELEMENT_ROUTE] = "<route src=\"@\" dst=\"@\">*</route>\n",
    [RONDE_ELEMENT_WAY] = "<route src=\"@\" dst=\"@\" symmetrical=\"NO\">*</route>\n",
    [RONDE_ELEMENT_ZONE_ROUTE] =
        "<zoneRoute src=\"@\" dst=\"@\" gw_src=\"@\" gw_dst=\"@\">*</zoneRoute>\n",
    [RONDE_ELEMENT_ROUTE_BEGIN] = "<route src=\"@\" dst=\"@\">",
    [RONDE_ELEMENT_WAY_BEGIN] = "<route src=\"@\" dst=\"@\" symmetrical=\"NO\">",
};

void ronde_elements_open(FILE *file, const char *comment, const char *name, const char *routing)
{
    const bool is_short = !strchr(comment, '\n');
    fprintf(file,
            "<?xml version=\"1.0\"?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<!--%s%s%s-->\n"
            "<platform version=\"4.1\">\n"
            "  <zone id=\"%s\" routing=\"%s\">\n",
            is_short ? " " : "\n", comment, is_short ? " " : "", name, routing);
}

enum ronde_status ronde_elements_close(FILE *file, struct ronde_error *error)
{
    fputs("  </zone>\n</platform>\n", file);
    if (fflush(file) != 0 || ferror(file))
        return ronde_fail(error, RONDE_DEVICE, "writing the platform file failed");
    return RONDE_OK;
}

/* Only printable ASCII passes: the file is read by more than one parser. */
void ronde_put_prop(FILE *file, const char *name, const char *text)
{
    fprintf(file, "    <prop id=\"ronde.%s\" value=\"", name);
    for (; text && *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", file);
        else if (c == '<')
            fputs("&lt;", file);
        else if (c == '"')
            fputs("&quot;", file);
        else
            fputc(c < 0x20 || c > 0x7e ? '?' : c, file);
    }
    fputs("\"/>\n", file);
}

/* The next word of a text, "" at its end. */
static const char *take_word(char **cursor)
{
    char *word = *cursor + strspn(*cursor, " ");
    *cursor = word + strcspn(word, " ");
    if (**cursor)
        *(*cursor)++ = '\0';
    return word;
}

void ronde_put_hop(const struct ronde_elements *to, char way, const char *link)
{
    fprintf(to->file, "<link_ctn id=\"%s\"%s/>", link,
            way == '>'   ? " direction=\"UP\""
            : way == '<' ? " direction=\"DOWN\""
                         : "");
}

void ronde_put_route_end(const struct ronde_elements *to)
{
    fputs("</route>\n", to->file);
}

void ronde_put(const struct ronde_elements *to, enum ronde_file_element element, const char *format,
               ...)
{
    char text[TEXT_BYTES], *cursor = text;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(to->file, "%*s", to->indent, "");
    for (const char *c = templates[element]; *c; c += *c != '\0') {
        const size_t plain = strcspn(c, "@*");
        fwrite(c, 1, plain, to->file);
        c += plain;
        if (*c == '@')
            fputs(take_word(&cursor), to->file);
        for (const char *word; *c == '*' && *(word = take_word(&cursor));)
            ronde_put_hop(to, *word, word + (*word == '>' || *word == '<'));
    }
}

void ronde_put_link(const struct ronde_elements *to, struct ronde_link_element link,
                    const char *format, ...)
{
    va_list arguments;
    fprintf(to->file, "%*s<link id=\"", to->indent, "");
    va_start(arguments, format);
    vfprintf(to->file, format, arguments);
    va_end(arguments);
    fprintf(to->file, "\" bandwidth=\"%.15gGBps\" latency=\"%.15gns\" sharing_policy=\"%s\"",
            link.GBps, link.latency_ns, link.policy);
    if (link.ports)
        fprintf(to->file, "><prop id=\"ports\" value=\"%s\"/></link>\n", link.ports);
    else
        fputs("/>\n", to->file);
}

void ronde_put_cluster(const struct ronde_elements *to, const struct ronde_cluster_element *cluster,
                       const char *format, ...)
{
    const int digits = cluster->is_measured ? 17 : 15;
    va_list arguments;
    fprintf(to->file,
            "%*s<cluster id=\"%s\" prefix=\"%s\" suffix=\"\" radical=\"%u-%u\" speed=\"1Gf\"%s"
            "bw=\"%.*gGBps\" lat=\"%.*gns\"",
            to->indent, "", cluster->id, cluster->prefix, cluster->first, cluster->last,
            cluster->is_measured ? "\n             " : " ", digits, cluster->GBps, digits,
            cluster->latency_ns);
    va_start(arguments, format);
    vfprintf(to->file, format, arguments);
    va_end(arguments);
    fputs("/>\n", to->file);
}
