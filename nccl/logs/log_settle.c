/** What a run of nccl-tests was, from all that its log has said, and from its rates where that was not enough. */
#define _POSIX_C_SOURCE 200809L

#include "log_run.h"

#include "nccl/published/reader.h"
#include "said.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const via_texts[] = {
#define RONDE_TEXT(name, text, what) what,
    RONDE_LOG_VIA_LIST(RONDE_TEXT)
#undef RONDE_TEXT
};

const char *ronde_log_via_text(enum ronde_log_via via)
{
    return via < RONDE_LOG_VIA_COUNT ? via_texts[via] : "?";
}

/** What cannot be read costs itself; where no row can, the first of it is the reason. */
void log_leave_out(struct ronde_log_facts *facts, uint32_t line, const char *why)
{
    if (facts->unread_count++ == 0) {
        facts->unread_line = line;
        snprintf(facts->unread, sizeof facts->unread, "%s", why);
    }
}

bool log_run_host(struct log_run *run, const char *name, size_t length)
{
    const uint64_t hash = nccl_hash(name, name + length);
    for (uint32_t h = 0; h < run->hosts; h++)
        if (run->host[h] == hash)
            return true;
    if (run->hosts == LOG_MAX_HOSTS)
        return false;
    run->host[run->hosts++] = hash;
    return true;
}

/** Where a rank is, the first time it is listed: "host device  0 [0x07] GPU". False beyond LOG_MAX_HOSTS. */
static bool place_rank(struct log_run *run, struct ronde_log_facts *facts, const char *host,
                       const char *on)
{
    unsigned device = 0;
    const char *slot = strchr(on, '['), *end = strchr(on, ']');
    run->placed++;
    if (sscanf(on, " device %7u", &device) == 1 && device < LOG_MAX_DEVICES) {
        const uint64_t address = nccl_hash(slot, end);
        if (run->device_ranks[device]++ == 0)
            run->device_slot[device] = address;
        run->is_renumbered = run->is_renumbered || run->device_slot[device] != address;
    }
    if (strncmp(end, "] ", 2) == 0 && facts->gpu[0] == '\0')
        snprintf(facts->gpu, sizeof facts->gpu, "%.*s", (int)strcspn(end + 2, "\r\n"), end + 2);
    return log_run_host(run, host, strcspn(host, " "));
}

/** Whether a rank is placed already; one beyond LOG_MOST_PLACED never is. */
static bool is_placed(struct log_run *run, unsigned rank)
{
    if (rank >= LOG_MOST_PLACED)
        return false;
    const uint64_t bit = UINT64_C(1) << rank % 64, was = run->is_placed[rank / 64] & bit;
    run->is_placed[rank / 64] |= bit;
    return was != 0;
}

/** "#  Rank  0 Group  0 Pid   7 on  host device  0 [0x07] GPU", as far as it is there. */
struct rank_line {
    const char *at, *host, *on; /**< "Rank", the host's name, " device"; NULL = not there */
    unsigned rank, group;
    bool has_rank, has_group, has_place, is_whole;
};

static struct rank_line rank_line_of(const char *text)
{
    struct rank_line line = {.at = strstr(text, "Rank ")};
    unsigned device = 0;
    char slot = '\0';
    line.has_rank = line.at && sscanf(line.at, "Rank %7u%c", &line.rank, &slot) == 2 && slot == ' ';
    line.host = line.at ? strstr(line.at, " on ") : NULL;
    line.on = strstr(line.host ? line.host + 3 : text, " device ");
    line.has_place = line.on && strchr(line.on, ']') &&
                     sscanf(line.on, " device %7u %c", &device, &slot) == 2 && slot == '[';
    if (!line.has_rank || !line.host || !line.has_place)
        return line;
    const char *group = strstr(line.at, "Group ");
    line.has_group = group && group < line.host && sscanf(group, "Group %7u", &line.group) == 1;
    line.host += 4 + strspn(line.host + 4, " ");
    const char *end = line.host + strcspn(line.host, " ");
    line.is_whole = end + strspn(end, " ") == line.on + 1;
    return line;
}

/** A line that other output broke costs what it says; that a rank is there counts. */
static void leave_torn(struct log_run *run, struct ronde_log_facts *facts, uint32_t line,
                       const struct rank_line *torn, const char *text)
{
    const char *comment = strchr(text, '#');
    const bool is_begin = torn->has_rank && comment && comment < torn->at;
    run->torn[0] += is_begin;
    run->torn[1] += !is_begin && torn->has_place;
    if (is_begin || torn->has_place)
        log_leave_out(facts, line, "a line on a rank that is not whole");
}

enum ronde_status log_run_rank(struct log_run *run, struct ronde_log_facts *facts, const char *path,
                               uint32_t line, const char *text, struct ronde_error *error)
{
    const struct rank_line said = rank_line_of(text);
    if (!said.is_whole || (run->has_groups && !said.has_group)) {
        leave_torn(run, facts, line, &said, text);
        return RONDE_OK;
    }
    const uint64_t place = nccl_hash(said.at, said.at + strcspn(said.at, "\r\n"));
    if (is_placed(run, said.rank)) {
        /* Some launchers write every line twice. */
        if (facts->separate_line == 0 && said.rank < LOG_KEPT_PLACES &&
            place != run->place[said.rank])
            facts->separate_line = line;
        return RONDE_OK;
    }
    if (said.rank < LOG_KEPT_PLACES)
        run->place[said.rank] = place;
    run->has_groups = run->has_groups || said.has_group;
    /* Groups do the same beside each other: the log is of one of them. */
    run->group_ranks[said.group > 0]++;
    if (run->group_ranks[1] > 0)
        run->ranks = run->group_ranks[0];
    else if (said.rank >= run->ranks)
        run->ranks = said.rank + 1;
    return said.group > 0 || place_rank(run, facts, said.host, said.on)
               ? RONDE_OK
               : ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: more than %u hosts", path,
                               line, LOG_MAX_HOSTS);
}

/** How far busbw over algbw may be from its factor: both are printed with two decimals. */
static const double factor_slack = .02;

/** Ranks that a factor can still tell apart: 2(n-1)/n of 16 and 17 ranks differ by 0.4 %. */
static const double most_told_by_factor = 16;

void log_run_row(struct log_run *run, const struct log_row *row)
{
    const struct log_half *half = &row->half[row->half[0].is_there ? 0 : 1];
    run->has_rows = true;
    run->is_test_new = false;
    if (half->is_there && half->rate_GBps > 0 &&
        (half->bus_GBps > run->clearest_GBps || run->clearest_GBps <= 0)) {
        run->clearest = *row;
        run->clearest.half[0] = *half;
        run->clearest.half[1] = row->half[1];
        run->clearest_GBps = half->bus_GBps > 0 ? half->bus_GBps : 1e-9;
    }
}

/** busbw over algbw; negative where no row is large enough to tell. */
static double factor_of(const struct log_run *run)
{
    const struct log_half *half = &run->clearest.half[0];
    return run->clearest_GBps > 0 && half->rate_GBps >= .5 ? half->bus_GBps / half->rate_GBps : -1;
}

static bool fits(double factor, double expected)
{
    return factor < 0 || fabs(factor - expected) <= factor_slack * fmax(1, expected);
}

/** Ranks: listed, told by NCCL, or, where one process is all that is known, what the factor of all_reduce says. */
static uint32_t find_ranks(const struct log_run *run)
{
    const double factor = factor_of(run), by_factor = 2 / (2 - factor);
    uint32_t ranks = run->processes * run->per_process;
    const uint32_t torn = run->torn[0] > run->torn[1] ? run->torn[0] : run->torn[1];
    ranks = run->ranks > ranks ? run->ranks : ranks;
    if (run->group_ranks[1] == 0 && run->ranks > 0 && run->placed + torn > ranks)
        ranks = run->placed + torn;
    ranks = run->told_ranks > ranks ? run->told_ranks : ranks;
    if (ranks > 0)
        return ranks > run->per_process ? ranks : run->per_process;
    if (run->per_process > 1 && factor >= 0 &&
        (fits(factor, ronde_collective_bus_factor(RONDE_ALL_REDUCE, run->per_process)) ||
         fits(factor, ronde_collective_bus_factor(RONDE_ALL_GATHER, run->per_process))))
        return run->per_process;
    if (factor > 1.2 && factor < 2 && by_factor < most_told_by_factor &&
        fabs(by_factor - round(by_factor)) < .15)
        return (uint32_t)round(by_factor);
    return 0;
}

/** A collective in the name of the file: "2nodes-AllReduce.log". */
static bool collective_of_name(const char *path, enum ronde_collective *out)
{
    static const struct {
        const char *text;
        enum ronde_collective collective;
    } names[] = {
        {"allreduce", RONDE_ALL_REDUCE},
        {"allgather", RONDE_ALL_GATHER},
        {"reducescatter", RONDE_REDUCE_SCATTER},
        {"broadcast", RONDE_BROADCAST},
        {"bcast", RONDE_BROADCAST},
        {"alltoall", RONDE_ALL_TO_ALL},
        {"sendrecv", RONDE_SEND_RECV},
    };
    char plain[256];
    size_t length = 0;
    const char *slash = strrchr(path, '/');
    for (const char *at = slash ? slash + 1 : path; *at && length + 1 < sizeof plain; at++)
        if (isalpha((unsigned char)*at))
            plain[length++] = (char)tolower((unsigned char)*at);
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(plain, names[i].text)) {
            *out = names[i].collective;
            return true;
        }
    return false;
}

/** By factor, operator and root. all_gather and alltoall differ in their check in place alone, and old logs lack it. */
static bool collective_of_rates(const struct log_run *run, uint32_t ranks,
                                enum ronde_collective *out)
{
    const struct log_row *row = &run->clearest;
    const double factor = factor_of(run);
    const bool is_checked_in_place = row->half[1].is_there && row->half[1].has_wrong;
    if (factor < 0 || ranks < 2)
        return false;
    if (ranks == 2 && fits(factor, 1) && !row->has_root)
        *out = is_checked_in_place || !row->is_reduction ? RONDE_ALL_REDUCE : RONDE_SEND_RECV;
    else if (fits(factor, ronde_collective_bus_factor(RONDE_ALL_REDUCE, ranks)) &&
             row->is_reduction && !row->has_root)
        *out = RONDE_ALL_REDUCE;
    else if (fits(factor, 1) && row->has_root)
        *out = row->is_reduction ? RONDE_REDUCE : RONDE_BROADCAST;
    else if (fits(factor, 1))
        *out = RONDE_SEND_RECV;
    else if (fits(factor, ronde_collective_bus_factor(RONDE_ALL_GATHER, ranks)) && row->is_reduction)
        *out = RONDE_REDUCE_SCATTER;
    else if (fits(factor, ronde_collective_bus_factor(RONDE_ALL_GATHER, ranks)) &&
             is_checked_in_place)
        *out = RONDE_ALL_GATHER;
    else
        return false;
    return *out != RONDE_ALL_REDUCE || row->is_reduction;
}

/** What was run, as the surest source says; words on some line and names of files count where the rates agree. */
static enum ronde_status find_collective(const struct log_run *run,
                                         const struct ronde_published_request *request,
                                         uint32_t line, uint32_t ranks, enum ronde_collective *out,
                                         enum ronde_log_told *told, struct ronde_error *error)
{
    const double factor = factor_of(run);
    *told = RONDE_LOG_TOLD_TEST;
    *out = run->test ? run->test->collective : RONDE_ALL_REDUCE;
    /* A rank alone has no rates that tell, and nothing to predict. */
    if (ranks < 2)
        return RONDE_OK;
    if (run->test && (run->is_test_sure || fits(factor, ronde_collective_bus_factor(*out, ranks))))
        return RONDE_OK;
    *told = RONDE_LOG_TOLD_CALLER;
    *out = request->collective;
    if (request->has_collective)
        return RONDE_OK;
    *told = RONDE_LOG_TOLD_FILE_NAME;
    if (collective_of_name(request->path, out) &&
        fits(factor, ronde_collective_bus_factor(*out, ranks)))
        return RONDE_OK;
    *told = RONDE_LOG_TOLD_RATES;
    if (collective_of_rates(run, ranks, out))
        return RONDE_OK;
    return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                         "%s:%u: which collective this is of is not said: name it %sin the file's "
                         "name",
                         request->path, line, request->is_alone ? "" : "as COLLECTIVE, or ");
}

/** One algorithm that the model has, or auto: also for lists and for what is excluded. */
static bool find_wish(const struct log_forced *forced, struct ronde_nccl_choice *out)
{
    (void)table_algorithm(forced->algorithm, &out->algorithm);
    (void)table_protocol(forced->protocol, &out->protocol);
    return strncasecmp(forced->algorithm, "CollNet", 7) != 0 &&
           strcasecmp(forced->algorithm, "PAT") != 0;
}

/** Machines of one name, as containers have it: every device of several comes equally often. */
static uint32_t hosts_of(const struct log_run *run, uint32_t ranks)
{
    uint32_t devices = 0, times = run->device_ranks[0];
    /* As many as the machine that is described has: lines of ranks are missing, or one number is of several devices. */
    if (run->torn[0] + run->torn[1] > 0 || (run->placed > 0 && run->placed < ranks))
        return 0;
    for (uint32_t d = 0; d < LOG_MAX_DEVICES && run->hosts == 1; d++) {
        if (run->device_ranks[d] == 0)
            continue;
        devices++;
        times = run->device_ranks[d] == times ? times : 0;
    }
    return devices > 1 && times > 1 ? run->is_renumbered ? 0 : times : run->hosts;
}

enum ronde_status
log_run_settle(const struct log_run *run, const struct ronde_published_request *request,
               struct ronde_log_facts *facts, uint32_t line, struct ronde_published_row *out,
               bool *out_is_modelled, struct ronde_error *error)
{
    const uint32_t ranks = request->ranks > 0 ? request->ranks : find_ranks(run);
    const uint32_t nodes = request->nodes > 0 ? request->nodes : hosts_of(run, ranks);
    if (ranks == 0)
        return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                             "%s:%u: how many ranks took part is not said, there are no lines "
                             "\"# Rank ...\": %s",
                             request->path, line,
                             request->is_alone ? "keep them in it" : "-N says it");
    if (nodes > 0 && ranks % nodes != 0)
        return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                             "%s:%u: %u ranks are not equally many on %u nodes", request->path,
                             line, ranks, nodes);
    const enum ronde_status status =
        find_collective(run, request, line, ranks, &out->call.collective, &facts->told, error);
    out->call.ranks = ranks;
    out->call.nodes = nodes;
    out->call.version = run->version;
    *out_is_modelled = find_wish(&run->forced, &out->wish) && ranks > 1 && status == RONDE_OK &&
                       ronde_nccl_models(out->call.collective) &&
                       !(run->test && strcmp(run->test->name, "hypercube") == 0);
    return status;
}

void log_run_why(const struct log_run *run, uint32_t ranks, char *out, size_t bytes)
{
    struct ronde_nccl_choice ignored;
    if (ranks < 2)
        snprintf(out, bytes, "a rank alone sends nothing");
    else if (!find_wish(&run->forced, &ignored))
        snprintf(out, bytes, "algorithm \"%s\" is none that is modelled", run->forced.algorithm);
    else
        snprintf(out, bytes, "%s is none that is modelled", run->test ? run->test->name : "this");
}
