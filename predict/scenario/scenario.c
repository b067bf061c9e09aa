/* Statements of a scenario. Single ones and files share the parser; a file adds its name and the line to what is wrong. */
#include "ronde/scenario.h"

#include "ronde/mem.h"
#include "ronde/schedule_file.h"
#include "ronde/schedules.h"
#include "ronde/topologies.h"
#include "ronde/values.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond these a time is a slip, or a rank that slows down or speeds up is another machine. */
#define MOST_NS 1e18
#define LEAST_SLOW 1e-6
#define MOST_SLOW 1e6

/* Longest line of a file. */
#define LINE_BYTES 1024

/* Copies what stands before `separator` and returns what follows it, or NULL where there is none or it is too long. */
static const char *cut(const char *text, char separator, char *out_head, size_t bytes)
{
    const char *at = strchr(text, separator);
    if (!at || (size_t)(at - text) >= bytes)
        return NULL;
    memcpy(out_head, text, (size_t)(at - text));
    out_head[at - text] = '\0';
    return at + 1;
}

/* A number above or equal to 0 with nothing after it but `unit`, which may be "". */
static bool parse_real(const char *text, double *out_number, const char **out_unit)
{
    char *end = NULL;
    const bool starts_well = (text[0] >= '0' && text[0] <= '9') || text[0] == '.';
    *out_number = starts_well ? strtod(text, &end) : 0.0;
    *out_unit = end;
    return starts_well && isfinite(*out_number) && strcspn(text, "xX") >= (size_t)(end - text);
}

/* 2ms, 1.5us, 300ns, 1s: a time without a unit would be a guess. */
static enum ronde_status parse_time(const char *text, double *out_ns, struct ronde_error *error)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *unit = NULL;
    double number = 0;
    const bool is_number = parse_real(text, &number, &unit);
    for (size_t i = 0; is_number && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *out_ns = number * units[i].ns;
            if (*out_ns <= MOST_NS)
                return RONDE_OK;
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "time \"%s\" is more than %gs", text,
                              MOST_NS / 1e9);
        }
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "time \"%s\" is not a number with ns, us, ms or s",
                      text);
}

/* Numbers that a factor may be; 0 takes a link out. */
struct factors {
    const char *what;
    double least, most;
    bool may_be_0;
};

static enum ronde_status parse_factor(struct factors allowed, const char *text, double *out_factor,
                                      struct ronde_error *error)
{
    const char *rest = NULL;
    const bool is_number = parse_real(text, out_factor, &rest) && *rest == '\0';
    const bool is_out = allowed.may_be_0 && *out_factor == 0;
    if (is_number && (is_out || (*out_factor >= allowed.least && *out_factor <= allowed.most)))
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\" is not %sa number from %g to %g",
                      allowed.what, text, allowed.may_be_0 ? "0 or " : "", allowed.least,
                      allowed.most);
}

static enum ronde_status too_many(const char *keyword, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "more than %u times %s", RONDE_SCENARIO_STATEMENTS,
                      keyword);
}

/* Adds hosts first .. last, which is bounded by the most ranks there can be. */
static enum ronde_status add_hosts(struct ronde_host_list *hosts, uint64_t first, uint64_t last,
                                   struct ronde_error *error)
{
    if (last < first || last - first >= RONDE_MAX_RANKS - hosts->count)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "hosts %llu-%llu are none or too many",
                          (unsigned long long)first, (unsigned long long)last);
    const uint32_t more = (uint32_t)(last - first) + 1;
    if (!ronde_mem_grow(ronde_mem_default(), &hosts->all, &hosts->capacity,
                        (size_t)hosts->count + more, sizeof *hosts->all))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u hosts", hosts->count + more);
    for (uint32_t i = 0; i < more; i++)
        hosts->all[hosts->count++] = (uint32_t)first + i;
    return RONDE_OK;
}

/* One item of a list of hosts: 3 or 0-7. */
static enum ronde_status parse_range(const char *text, struct ronde_host_list *hosts,
                                     struct ronde_error *error)
{
    char head[32];
    const char *tail = cut(text, '-', head, sizeof head);
    uint64_t first = 0, last = 0;
    RONDE_TRY(ronde_number_parse("host", tail ? head : text, 0, UINT32_MAX - 1, &first, error));
    last = first;
    if (tail)
        RONDE_TRY(ronde_number_parse("host", tail, 0, UINT32_MAX - 1, &last, error));
    return add_hosts(hosts, first, last, error);
}

static enum ronde_status parse_hosts(const char *text, struct ronde_host_list *hosts,
                                     struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    while (text && status == RONDE_OK) {
        char item[64];
        const char *rest = cut(text, ',', item, sizeof item);
        status = parse_range(rest ? item : text, hosts, error);
        text = rest;
    }
    return status;
}

/* COLL:ALGO: or FILE: of a companion; what follows, or NULL with the error. */
static const char *parse_what(const char *value, struct ronde_companion *companion,
                              struct ronde_error *error)
{
    char what[sizeof companion->path], algorithm[64];
    const char *rest = cut(value, ':', what, sizeof what);
    if (rest && ronde_is_file(what)) {
        memcpy(companion->path, what, sizeof what);
        return rest;
    }
    rest = rest ? cut(rest, ':', algorithm, sizeof algorithm) : NULL;
    if (!rest) {
        (void)ronde_fail(error, RONDE_BAD_ARGUMENT,
                         "\"%s\" is neither COLLECTIVE:ALGORITHM:SIZE[:HOSTS] nor "
                         "FILE:SIZE[:HOSTS], e.g. all_reduce:ring:4M:0-7",
                         value);
        return NULL;
    }
    if (ronde_parse_collective(what, &companion->collective, error) != RONDE_OK)
        return NULL;
    const struct ronde_algorithm *found =
        ronde_parse_algorithm(companion->collective, algorithm, error);
    companion->algorithm = found ? found->name : NULL;
    return found ? rest : NULL;
}

/* COLL:ALGO:SIZE[:HOSTS] or FILE:SIZE[:HOSTS] */
static enum ronde_status add_companion(struct ronde_scenario *scenario, const char *value,
                                       struct ronde_error *error)
{
    char size[64];
    if (scenario->companion_count == RONDE_SCENARIO_STATEMENTS)
        return too_many("with", error);
    struct ronde_companion *companion = &scenario->companions[scenario->companion_count++];
    const char *rest = parse_what(value, companion, error);
    if (!rest)
        return RONDE_BAD_ARGUMENT;
    const char *hosts = cut(rest, ':', size, sizeof size);
    const enum ronde_status status = ronde_size_parse(hosts ? size : rest, &companion->bytes, error);
    return status == RONDE_OK && hosts ? parse_hosts(hosts, &companion->hosts, error) : status;
}

/* S>D:SIZE */
static enum ronde_status add_background(struct ronde_scenario *scenario, const char *value,
                                        struct ronde_error *error)
{
    char src[32], dst[32];
    const char *rest = cut(value, '>', src, sizeof src);
    const char *size = rest ? cut(rest, ':', dst, sizeof dst) : NULL;
    struct ronde_background background = {0, 0, 0};
    if (!size)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "\"%s\" is not S>D:SIZE, e.g. 0>4:1M", value);
    RONDE_TRY(ronde_count_parse("host", src, 0, &background.src, error));
    RONDE_TRY(ronde_count_parse("host", dst, 0, &background.dst, error));
    RONDE_TRY(ronde_size_parse(size, &background.bytes, error));
    if (background.src == background.dst || background.bytes == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "\"%s\": a flow needs two hosts and at least one byte", value);
    if (scenario->background_count == RONDE_SCENARIO_STATEMENTS)
        return too_many("background", error);
    scenario->backgrounds[scenario->background_count++] = background;
    return RONDE_OK;
}

/* LINK=FACTOR, 0 for a link that is out; names of links may hold '='. */
static enum ronde_status add_degraded(struct ronde_scenario *scenario, const char *value,
                                      struct ronde_error *error)
{
    struct ronde_degraded degraded = {"", 0};
    const char *equals = strrchr(value, '=');
    if (!equals || equals == value || (size_t)(equals - value) >= sizeof degraded.link)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "\"%s\" is not LINK=FACTOR, e.g. nic0=0.5",
                          value);
    memcpy(degraded.link, value, (size_t)(equals - value));
    RONDE_TRY(parse_factor((struct factors){"factor", RONDE_LEAST_LINK_FACTOR,
                                            RONDE_MOST_LINK_FACTOR, true},
                           equals + 1, &degraded.factor, error));
    if (scenario->degraded_count == RONDE_SCENARIO_STATEMENTS)
        return too_many("degrade", error);
    scenario->degraded[scenario->degraded_count++] = degraded;
    return RONDE_OK;
}

/* One of a straggler's settings. */
static enum ronde_status set_straggler(struct ronde_straggler *straggler, const char *setting,
                                       bool *has_rank, struct ronde_error *error)
{
    char key[16];
    const char *value = cut(setting, '=', key, sizeof key);
    if (value && strcmp(key, "rank") == 0) {
        *has_rank = true;
        return ronde_count_parse("rank", value, 0, &straggler->rank, error);
    }
    if (value && strcmp(key, "delay") == 0)
        return parse_time(value, &straggler->delay_ns, error);
    if (value && strcmp(key, "slow") == 0)
        return parse_factor((struct factors){"slow", LEAST_SLOW, MOST_SLOW, false}, value,
                            &straggler->slow_down, error);
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "\"%s\" is not rank=R, delay=TIME or slow=FACTOR",
                      setting);
}

/* rank=R,delay=TIME,slow=FACTOR in any order; a rank with neither delay nor slow is a slip. */
static enum ronde_status add_straggler(struct ronde_scenario *scenario, const char *value,
                                       struct ronde_error *error)
{
    struct ronde_straggler straggler = {0, 0, 1};
    bool has_rank = false;
    for (const char *text = value; text;) {
        char setting[64];
        const char *rest = cut(text, ',', setting, sizeof setting);
        RONDE_TRY(set_straggler(&straggler, rest ? setting : text, &has_rank, error));
        text = rest;
    }
    if (!has_rank || !(strstr(value, "delay=") || strstr(value, "slow=")))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "\"%s\" is not rank=R,delay=TIME, e.g. rank=7,delay=2ms", value);
    if (scenario->straggler_count == RONDE_SCENARIO_STATEMENTS)
        return too_many("straggler", error);
    scenario->stragglers[scenario->straggler_count++] = straggler;
    return RONDE_OK;
}

/* The statements: keyword, parser, and how many there are. */
static const struct {
    const char *keyword;
    enum ronde_status (*add)(struct ronde_scenario *scenario, const char *value,
                             struct ronde_error *error);
    size_t count;
} statements[] = {
    [RONDE_SCENARIO_WITH] = {"with", add_companion, offsetof(struct ronde_scenario, companion_count)},
    [RONDE_SCENARIO_BACKGROUND] = {"background", add_background,
                                   offsetof(struct ronde_scenario, background_count)},
    [RONDE_SCENARIO_DEGRADE] = {"degrade", add_degraded,
                                offsetof(struct ronde_scenario, degraded_count)},
    [RONDE_SCENARIO_STRAGGLER] = {"straggler", add_straggler,
                                  offsetof(struct ronde_scenario, straggler_count)},
};

#define STATEMENT_COUNT (sizeof statements / sizeof statements[0])

static enum ronde_status add_statement(struct ronde_scenario *scenario, size_t kind,
                                       const char *value, struct ronde_error *error)
{
    const uint32_t *count =
        (const uint32_t *)(const void *)((char *)scenario + statements[kind].count);
    RONDE_TRY(statements[kind].add(scenario, value, error));
    scenario->lines[kind][*count - 1] = scenario->line;
    return RONDE_OK;
}

enum ronde_status ronde_scenario_refuse(const struct ronde_scenario *scenario,
                                        enum ronde_scenario_kind kind, uint32_t index,
                                        enum ronde_status status, struct ronde_error *error)
{
    const uint32_t line = scenario->lines[kind][index];
    struct ronde_error why = {0};
    if (line == 0 || !error || (status != RONDE_BAD_ARGUMENT && status != RONDE_BAD_INPUT))
        return status;
    (void)ronde_fail_at(&why, status, line, "%.200s:%u: %.300s", scenario->path, line,
                        error->message);
    *error = why;
    return status;
}

enum ronde_status ronde_scenario_add(struct ronde_scenario *scenario, const char *keyword,
                                     const char *value, struct ronde_error *error)
{
    const char *names[STATEMENT_COUNT];
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        names[i] = statements[i].keyword;
        if (strcmp(keyword, names[i]) == 0)
            return add_statement(scenario, i, value, error);
    }
    const char *nearest = ronde_nearest(keyword, names, STATEMENT_COUNT);
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown statement \"%.40s\"; %s%s", keyword,
                      nearest ? "did you mean " : "there are with, background, degrade, straggler",
                      nearest ? nearest : "");
}

/* One line: nothing, a comment, or a keyword and its value. */
static enum ronde_status read_line(struct ronde_scenario *scenario, char *line,
                                   struct ronde_error *error)
{
    static const char blanks[] = " \t\r\n";
    line[strcspn(line, "#")] = '\0';
    const char *keyword = strtok(line, blanks);
    if (!keyword)
        return RONDE_OK;
    const char *value = strtok(NULL, blanks);
    const char *more = value ? strtok(NULL, blanks) : NULL;
    if (!value || more)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "\"%.40s\" takes one value without blanks",
                          keyword);
    return ronde_scenario_add(scenario, keyword, value, error);
}

enum ronde_status ronde_scenario_read(struct ronde_scenario *scenario, const char *path,
                                      struct ronde_error *error)
{
    char line[LINE_BYTES];
    enum ronde_status status = RONDE_OK;
    FILE *file = fopen(path, "r");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    scenario->path = path;
    for (unsigned number = 1; status == RONDE_OK && fgets(line, sizeof line, file); number++) {
        struct ronde_error own = {RONDE_OK, 0, ""};
        scenario->line = number;
        if (!strchr(line, '\n') && !feof(file))
            status = ronde_fail(&own, RONDE_BAD_ARGUMENT, "the line has more than %d characters",
                                LINE_BYTES - 2);
        else
            status = read_line(scenario, line, &own);
        if (status == RONDE_BAD_ARGUMENT)
            status = ronde_fail(error, RONDE_BAD_INPUT, "%s:%u: %s", path, number, own.message);
        else if (status != RONDE_OK)
            status = ronde_fail(error, status, "%s", own.message);
    }
    if (status == RONDE_OK && ferror(file))
        status = ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
    scenario->line = 0;
    fclose(file);
    return status;
}

enum ronde_status ronde_scenario_degrade(const struct ronde_scenario *scenario,
                                         struct ronde_platform *platform, struct ronde_error *error)
{
    for (uint32_t i = 0; i < scenario->degraded_count; i++) {
        const struct ronde_degraded *degraded = &scenario->degraded[i];
        const char *name = degraded->link;
        const enum ronde_status status =
            degraded->factor == 0 ? ronde_platform_without(platform, &name, 1, error)
                                  : ronde_platform_degrade(platform, name, degraded->factor, error);
        RONDE_TRY(ronde_scenario_refuse(scenario, RONDE_SCENARIO_DEGRADE, i, status, error));
    }
    return RONDE_OK;
}

bool ronde_scenario_is_empty(const struct ronde_scenario *scenario)
{
    return scenario->companion_count + scenario->background_count + scenario->degraded_count +
               scenario->straggler_count ==
           0;
}

void ronde_scenario_free(struct ronde_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->companion_count; i++) {
        struct ronde_host_list *hosts = &scenario->companions[i].hosts;
        ronde_mem_free(ronde_mem_default(), hosts->all, hosts->capacity, sizeof *hosts->all);
    }
    memset(scenario, 0, sizeof *scenario);
}
