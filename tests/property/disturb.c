/* See disturb.h. */
#include "disturb.h"

#include "support/buffers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

unsigned disturb_draw(struct disturbed *log, unsigned bound)
{
    return bound == 0 ? 0 : (unsigned)(buffers_draw(&log->random) % bound);
}

void disturb_add(struct disturbed *log, int part, const char *format, ...)
{
    struct disturb_line *line = &log->line[log->count];
    va_list arguments;
    if (log->count == DISTURB_LINES)
        return;
    log->count++;
    *line = (struct disturb_line){.part = part};
    va_start(arguments, format);
    (void)vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
}

/* Puts a piece into a line. */
static void put(struct disturb_line *line, size_t at, const char *piece)
{
    const size_t length = strlen(line->text), more = strlen(piece);
    if (length + more >= sizeof line->text)
        return;
    memmove(line->text + at + more, line->text + at, length - at + 1);
    memcpy(line->text + at, piece, more);
}

static void hurt(struct disturbed *log, unsigned line)
{
    if (log->line[line].part >= 0)
        log->is_hurt[log->line[line].part] = true;
}

/* Room for a line behind another; false where there is none. */
static bool make_room(struct disturbed *log, unsigned at)
{
    if (log->count == DISTURB_LINES)
        return false;
    memmove(&log->line[at + 1], &log->line[at], (log->count - at) * sizeof log->line[0]);
    log->count++;
    return true;
}

static void put_prefix(struct disturbed *log)
{
    static const char *const prefixes[] = {"[1,%u]<stdout>:",
                                           "[1,%u]<stdout>: ",
                                           "[%u]",
                                           "[%u] ",
                                           "%u: ",
                                           "(RayWorker pid=400%u) ",
                                           "(RayWorker pid=400%u, ip=10.0.0.3) ",
                                           "\033[36m(RayWorker pid=%u)\033[0m ",
                                           "[default%u]:",
                                           "gpu-%u: ",
                                           "[gpu-%u:mpi] ",
                                           "2026-01-31T12:34:5%u.789Z "};
    char prefix[64];
    snprintf(prefix, sizeof prefix, prefixes[disturb_draw(log, COUNT(prefixes))],
             disturb_draw(log, 8));
    for (unsigned l = 0; l < log->count; l++) {
        put(&log->line[l], 0, prefix);
        log->line[l].prefix += (unsigned)strlen(prefix);
    }
}

/* One of some pieces at any place of some lines. */
static void put_pieces(struct disturbed *log, const char *const *pieces, unsigned count)
{
    for (unsigned times = 1 + disturb_draw(log, 12); times > 0; times--) {
        struct disturb_line *line = &log->line[disturb_draw(log, log->count)];
        const unsigned length = (unsigned)strlen(line->text);
        if (!line->has_piece && length >= line->prefix)
            put(line, line->prefix + disturb_draw(log, length - line->prefix + 1),
                pieces[disturb_draw(log, count)]);
        line->has_piece = true;
    }
}

static void put_tags(struct disturbed *log)
{
    static const char *const tags[] = {"[1,0]<stdout>:", "[1,13]<stdout>:", "[1,2]<stderr>:"};
    put_pieces(log, tags, COUNT(tags));
}

static void put_colours(struct disturbed *log)
{
    static const char *const colours[] = {"\033[0m",   "\033[1;31m", "\033[K",      "\033[?25l",
                                          "\033[?25h", "\033(B",     "\033[38;5;9m"};
    put_pieces(log, colours, COUNT(colours));
}

static void double_lines(struct disturbed *log)
{
    const unsigned one_in = disturb_draw(log, 3) == 0 ? 4 : 1;
    for (unsigned l = log->count; l-- > 0;)
        if (disturb_draw(log, one_in) == 0)
            (void)make_room(log, l);
}

static const char *noise(struct disturbed *log)
{
    static const char *const lines[] = {
        "gpu-1:4004:4104 [0] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [receive] via NET/IB/0/GDRDMA",
        "gpu-0:4000:4100 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1",
        "gpu-0:4001:4101 [1] NCCL INFO P2P Chunksize set to 131072",
        "Warning: Permanently added 'worker-1,10.0.0.2' (ED25519) to the list of known hosts.",
        "srun: job 1234 queued and waiting for resources",
        "",
        "INFO 11-27 12:00:00 worker.py:153] loading 8192 of 70553706496 bytes",
        "libibverbs: Warning: no userspace device-specific driver found"};
    return lines[disturb_draw(log, COUNT(lines))];
}

static void put_noise(struct disturbed *log)
{
    for (unsigned times = 1 + disturb_draw(log, 10); times > 0; times--) {
        const unsigned at = disturb_draw(log, log->count);
        if (make_room(log, at)) {
            log->line[at] = (struct disturb_line){.part = -1};
            snprintf(log->line[at].text, sizeof log->line[at].text, "%s", noise(log));
        }
    }
}

static void glue(struct disturbed *log)
{
    const unsigned at = disturb_draw(log, log->count - 1);
    log->line[at].is_glued = true;
    hurt(log, at);
    hurt(log, at + 1);
}

static void break_line(struct disturbed *log)
{
    const unsigned at = disturb_draw(log, log->count);
    const size_t place = disturb_draw(log, (unsigned)strlen(log->line[at].text) + 1);
    if (!make_room(log, at))
        return;
    hurt(log, at);
    memmove(log->line[at + 1].text, log->line[at].text + place,
            strlen(log->line[at].text + place) + 1);
    log->line[at].text[place] = '\0';
    log->line[at].is_glued = false;
    if (disturb_draw(log, 2) == 0 && make_room(log, at + 1)) {
        log->line[at + 1] = (struct disturb_line){.part = -1};
        snprintf(log->line[at + 1].text, sizeof log->line[at + 1].text, "%s", noise(log));
        log->line[at].is_glued = disturb_draw(log, 2) == 0;
    }
}

static void overrun(struct disturbed *log)
{
    const unsigned at = disturb_draw(log, log->count);
    hurt(log, at);
    put(&log->line[at], disturb_draw(log, (unsigned)strlen(log->line[at].text) + 1), noise(log));
}

static void repeat(struct disturbed *log)
{
    for (unsigned times = 1 + disturb_draw(log, 4); times > 0; times--) {
        struct disturb_line *line = &log->line[disturb_draw(log, log->count)];
        put(line, strlen(line->text), " [repeated 7x across cluster]");
    }
}

static void cut_end(struct disturbed *log)
{
    const unsigned at = log->count / 2 + disturb_draw(log, (log->count + 1) / 2);
    log->line[at].text[disturb_draw(log, (unsigned)strlen(log->line[at].text) + 1)] = '\0';
    log->line[at].is_glued = true;
    for (unsigned l = at; l < log->count; l++)
        hurt(log, l);
    log->count = at + 1;
    log->is_cut = true;
}

void disturb(struct disturbed *log, enum disturb_way way)
{
    static const struct {
        const char *name;
        void (*change)(struct disturbed *log);
    } ways[DISTURB_WAYS] = {[DISTURB_NOT] = {"none", NULL},
                            [DISTURB_PREFIX] = {"prefix", put_prefix},
                            [DISTURB_TAGS] = {"tags", put_tags},
                            [DISTURB_COLOURS] = {"colours", put_colours},
                            [DISTURB_CRLF] = {"CRLF", NULL},
                            [DISTURB_TWICE] = {"twice", double_lines},
                            [DISTURB_NOISE] = {"noise", put_noise},
                            [DISTURB_GLUED] = {"glued", glue},
                            [DISTURB_BROKEN] = {"broken", break_line},
                            [DISTURB_OVERRUN] = {"overrun", overrun},
                            [DISTURB_REPEATED] = {"repeated", repeat},
                            [DISTURB_CUT] = {"cut", cut_end}};
    const size_t used = strlen(log->ways);
    snprintf(log->ways + used, sizeof log->ways - used, "%s%s", used > 0 ? ", " : "",
             ways[way].name);
    if (way == DISTURB_CRLF)
        log->end = "\r\n";
    else if (ways[way].change)
        ways[way].change(log);
}

char *disturb_text(struct disturbed *log, size_t *out_bytes)
{
    const char *end = log->end ? log->end : "\n";
    char *text = malloc((size_t)log->count * (DISTURB_LINE_BYTES + 2) + 1), *to = text;
    for (unsigned l = 0; text && l < log->count; l++)
        to += sprintf(to, "%s%s", log->line[l].text, log->line[l].is_glued ? "" : end);
    *out_bytes = text ? (size_t)(to - text) : 0;
    return text;
}
