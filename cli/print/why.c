/* Explanations as text and as fields. */
#include "why.h"

#include <string.h>

static double fraction(const struct ronde_why *why, enum ronde_why_part part)
{
    return why->time_ns > 0 ? why->part_ns[part] / why->time_ns : 0;
}

/* Who has most of the largest part: a link, else a rank. */
static void blame(const struct ronde_why *why, const struct ronde_platform *platform,
                  char *out_text, size_t bytes)
{
    const struct ronde_link *link = ronde_platform_link(platform, why->bottleneck_link);
    int used = link ? snprintf(out_text, bytes, ": %.80s", link->name)
                    : snprintf(out_text, bytes, ": rank %u", why->bottleneck_rank);
    if (used > 0 && why->blamed > 1)
        snprintf(out_text + used, bytes - (size_t)used, " and %u more", why->blamed - 1);
}

void ronde_why_sentence(const struct ronde_why *why, const struct ronde_platform *platform,
                        char *out_text, size_t bytes)
{
    char text[128] = "";
    if (why->path_steps == 0) {
        snprintf(out_text, bytes, "nothing to do");
        return;
    }
    /* Latency is nobody's: it is the number of messages that counts. */
    if (why->largest == RONDE_WHY_LATENCY)
        snprintf(text, sizeof text, ": %u messages one after another", why->path_messages);
    else if (why->blamed > 0)
        blame(why, platform, text, sizeof text);
    snprintf(out_text, bytes, "%s, %.0f%% of the critical path%s",
             ronde_why_part_text(why->largest), 100.0 * fraction(why, why->largest), text);
}

void ronde_why_print(const struct ronde_why *why, const struct ronde_platform *platform, FILE *file)
{
    char text[160];
    ronde_why_sentence(why, platform, text, sizeof text);
    fprintf(file, "#   bottleneck     %s\n#   critical path ", text);
    for (uint32_t part = 0; part < RONDE_WHY_PART_COUNT; part++)
        if (why->part_ns[part] > 0)
            fprintf(file, " %s %.1f%%;", ronde_why_part_text((enum ronde_why_part)part),
                    100.0 * fraction(why, (enum ronde_why_part)part));
    fprintf(file, " steps %u; messages %u\n", why->path_steps, why->path_messages);
    if (why->link_count == 0)
        return;
    fputs("#   busiest links ", file);
    for (uint32_t i = 0; i < why->link_count; i++)
        fprintf(file, " %s %.0f%%", ronde_platform_link(platform, why->links[i])->name,
                100.0 * why->utilisation[i]);
    fputc('\n', file);
}

void ronde_why_layout(const struct ronde_why *why, const struct ronde_platform *platform,
                      struct ronde_why_row *out)
{
    struct ronde_field *field = out->fields;
    ronde_why_sentence(why, platform, out->bottleneck, sizeof out->bottleneck);
    *field++ = ronde_field_text("bottleneck", out->bottleneck);
    for (uint32_t part = 0; part < RONDE_WHY_PART_COUNT; part++) {
        snprintf(out->names[part], sizeof out->names[part], "%s_fraction",
                 ronde_why_part_key((enum ronde_why_part)part));
        *field++ = ronde_field_real(out->names[part], fraction(why, (enum ronde_why_part)part));
    }
    *field++ = ronde_field_integer("path_steps", why->path_steps);
    *field++ = ronde_field_integer("path_messages", why->path_messages);
    for (uint32_t i = 0; i < why->link_count; i++) {
        out->links[i][0] =
            ronde_field_text("link", ronde_platform_link(platform, why->links[i])->name);
        out->links[i][1] = ronde_field_real("utilisation", why->utilisation[i]);
        out->link_rows[i] = (struct ronde_row){out->links[i], 2};
    }
    *field++ = ronde_field_text("busiest_link", why->link_count > 0 ? out->links[0][0].text : NULL);
    *field++ =
        ronde_field_real("busiest_utilisation", why->link_count > 0 ? why->utilisation[0] : 0);
    *field++ = (struct ronde_field){.name = "links",
                                    .kind = RONDE_FIELD_ROWS,
                                    .rows = out->link_rows,
                                    .count = why->link_count};
    out->row = (struct ronde_row){out->fields, (size_t)(field - out->fields)};
}
