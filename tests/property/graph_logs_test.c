/**
 * Logs of NCCL and RCCL with drawn rings and trees, of several versions and of one or two communicators, processes mixed and
 * disturbed in drawn ways. What is read is what was stated; where a statement is lost and no other says as much, the log is refused,
 * or has no trees and says why. And rings as graph files of NCCL, which have them and are no logs or machines. RONDE_TEST_SCALE is how
 * many.
 */
#include "disturb.h"
#include "drawn_machine.h"

#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/nccl_graph.h"
#include "ronde/nccl_graph_file.h"
#include "ronde/schedules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 16, MOST_CHANNELS = 4 };

/* Parts: what rank 0 says of a whole ring, a rank of its neighbours in one, of its trees, and of who it is. */
enum { ORDERS = 0, EDGES = MOST_CHANNELS, TREES = EDGES + MOST_CHANNELS * MOST_RANKS };
enum { NAMES = TREES + MOST_RANKS };

/** What one communicator is. */
struct truth {
    uint32_t ranks, nodes, channels;
    uint32_t next[MOST_CHANNELS][MOST_RANKS];
    struct ronde_nccl_branch branch[MOST_CHANNELS][MOST_RANKS];
};

/** How a version logs. */
struct style {
    bool has_names;   /**< commId, since 2.17 */
    bool has_edges;   /**< GRAPH: "Ring NN : " */
    bool is_rccl;     /**< says which communicator behind the trees */
    bool has_other;   /**< there is a communicator of fewer ranks, which may come first */
    bool is_one_only; /**< the log of rank 0's process alone */
};

static struct disturbed log_;
static struct truth truth;

static unsigned draw(unsigned bound)
{
    return disturb_draw(&log_, bound);
}

static void draw_truth(struct truth *out, uint32_t ranks)
{
    uint32_t order[MOST_RANKS];
    memset(out, 0xff, sizeof *out);
    out->ranks = ranks;
    out->nodes = 1 + (ranks % 2 == 0 && ranks > 2 ? draw(2) : 0);
    out->channels = 1 + draw(MOST_CHANNELS);
    for (uint32_t c = 0; c < out->channels; c++) {
        for (uint32_t r = 0; r < ranks; r++)
            order[r] = r;
        for (uint32_t r = ranks - 1; r > 1; r--) {
            const uint32_t with = 1 + draw(r), swap = order[r];
            order[r] = order[with];
            order[with] = swap;
        }
        for (uint32_t r = 0; r < ranks; r++)
            out->next[c][order[r]] = order[(r + 1) % ranks];
        /* Each hangs below one before it that has room. */
        for (uint32_t r = 1, above, d; r < ranks; r++) {
            do {
                above = order[draw(r)];
                for (d = 0; d < RONDE_NCCL_MOST_CHILDREN; d++)
                    if (out->branch[c][above].down[d] == RONDE_NONE)
                        break;
            } while (d == RONDE_NCCL_MOST_CHILDREN);
            out->branch[c][above].down[d] = order[r];
            out->branch[c][order[r]].up = above;
        }
    }
}

#define SAY(part, ...) say(rank, per_node, part, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static void say(uint32_t rank, uint32_t per_node, int part,
                                                      const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    disturb_add(&log_, part, "gpu-%u:%u:%u [%u] NCCL INFO %s", rank / per_node, 4000 + rank,
                4100 + rank, rank % per_node, text);
}

static void say_order(const struct truth *of, uint32_t per_node, uint32_t c, int part)
{
    char ranks[200];
    size_t used = 0;
    const uint32_t rank = 0;
    uint32_t at = 0;
    do {
        used += (size_t)snprintf(ranks + used, sizeof ranks - used, " %u", at);
        at = of->next[c][at];
    } while (at != 0);
    SAY(part, "Channel %02u/%02u :%s", c, of->channels, ranks);
}

static uint32_t before(const struct truth *of, uint32_t c, uint32_t rank)
{
    uint32_t at = 0;
    while (of->next[c][at] != rank)
        at++;
    return at;
}

/* Lines of a rank on a communicator; `own` is whether it is the one that is asked for. */
static void add_rank(const struct truth *of, const struct style *style, uint32_t rank, bool own)
{
    const uint32_t per_node = truth.ranks / truth.nodes;
    char trees[400];
    size_t used = 0;
    if (style->has_names)
        SAY(NAMES,
            "ncclCommInitRankConfig comm 0xab%x%u rank %u nranks %u cudaDev %u nvmlDev %u busId "
            "%x000 "
            "commId 0x77aa5%d - Init START",
            rank, own, rank, of->ranks, rank % per_node, rank % per_node, 0x1b + rank, own);
    for (uint32_t c = 0; rank == 0 && c < of->channels; c++)
        say_order(of, per_node, c, own ? ORDERS + (int)c : -1);
    for (uint32_t c = 0; style->has_edges && c < of->channels; c++)
        SAY(own ? EDGES + (int)(rank * MOST_CHANNELS + c) : -1, "Ring %02u : %u -> %u -> %u", c,
            before(of, c, rank), rank, of->next[c][rank]);
    for (uint32_t c = 0; c < of->channels; c++) {
        const struct ronde_nccl_branch *at = &of->branch[c][rank];
        used += (size_t)snprintf(trees + used, sizeof trees - used, "%s[%u] %d/%d/%d->%u->%d",
                                 c > 0 ? " " : "", c, (int)at->down[0], (int)at->down[1],
                                 (int)at->down[2], rank, (int)at->up);
    }
    SAY(own ? TREES + (int)rank : -1, "Trees %s%s", trees,
        style->is_rccl ? " comm 0xabc0 nRanks 08 busId 1b000" : "");
    SAY(-1, "P2P Chunksize set to 131072");
}

/* Processes write at once: the lines of each stay in their order. */
static void mix(const unsigned *first, uint32_t ranks)
{
    static struct disturb_line own[DISTURB_LINES];
    unsigned at[MOST_RANKS];
    const unsigned count = log_.count;
    memcpy(own, log_.line, count * sizeof own[0]);
    memcpy(at, first, ranks * sizeof at[0]);
    for (log_.count = 0; log_.count < count;) {
        const uint32_t rank = draw(ranks);
        if (at[rank] < first[rank + 1])
            log_.line[log_.count++] = own[at[rank]++];
    }
}

static struct style make_log(uint64_t seed)
{
    unsigned first[MOST_RANKS + 1] = {0};
    memset(&log_, 0, sizeof log_);
    log_.random = seed;
    struct style style = {draw(3) > 0, draw(3) > 0, draw(4) == 0, false, draw(8) == 0};
    static struct truth other;
    const uint32_t ranks = 3 + draw(MOST_RANKS - 2);
    const bool is_other_first = draw(2) == 0;
    style.has_other = draw(4) == 0;
    draw_truth(&truth, ranks);
    draw_truth(&other, 2 + draw(ranks - 2));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (int turn = 0; turn < 2 && (!style.is_one_only || rank == 0); turn++) {
            const bool own = (turn == 0) != is_other_first;
            if (own || (style.has_other && rank < other.ranks))
                add_rank(own ? &truth : &other, &style, rank, own);
        }
        first[rank + 1] = log_.count;
    }
    if (draw(2) == 0)
        mix(first, ranks);
    for (unsigned times = 1 + draw(2); times > 0; times--)
        disturb(&log_, draw(DISTURB_WAYS));
    return style;
}

/* Whether something that was not hit says where a rank sends to. */
static bool is_stated(const struct style *style, uint32_t c, uint32_t rank)
{
    const uint32_t next = truth.next[c][rank];
    if (!log_.is_hurt[ORDERS + c])
        return true;
    return style->has_edges && !style->is_one_only &&
           (!log_.is_hurt[EDGES + rank * MOST_CHANNELS + c] ||
            !log_.is_hurt[EDGES + next * MOST_CHANNELS + c]);
}

/* Of two communicators without names a rank may have the second one only, and a name that is hit is another: refused. */
static bool is_mixed_up(const struct style *style)
{
    return (style->has_other && !style->has_names) || log_.is_hurt[NAMES];
}

static bool are_rings_stated(const struct style *style)
{
    bool are = !is_mixed_up(style);
    for (uint32_t c = 0; c < truth.channels; c++)
        for (uint32_t rank = 0; rank < truth.ranks; rank++)
            are = are && is_stated(style, c, rank);
    return are;
}

static bool are_trees_stated(const struct style *style)
{
    bool are = !style->is_one_only && !is_mixed_up(style);
    for (uint32_t rank = 0; rank < truth.ranks; rank++)
        are = are && !log_.is_hurt[TREES + rank];
    return are;
}

static const char *find_fault(const struct style *style, const struct ronde_nccl_graph *graph)
{
    const bool has_note = graph->unread_line > 0 || graph->repeated_line > 0;
    if (graph->ranks != truth.ranks)
        return has_note || log_.is_cut ? NULL : "another number of ranks";
    for (uint32_t i = 0; i < graph->rings * graph->ranks; i++)
        if (graph->next[i] != truth.next[i / graph->ranks][i % graph->ranks])
            return "another ring";
    for (uint32_t i = 0; i < graph->trees * graph->ranks; i++)
        if (memcmp(&graph->branch[i], &truth.branch[i / graph->ranks][i % graph->ranks],
                   sizeof graph->branch[i]) != 0)
            return "another tree";
    if (graph->rings != truth.channels && are_rings_stated(style))
        return "fewer rings than are stated";
    if (graph->trees != truth.channels && are_trees_stated(style))
        return "fewer trees than are stated";
    if (graph->rings > 0 && graph->rings < truth.channels && !has_note && !log_.is_cut)
        return "rings missing without a word";
    return NULL;
}

static void disturbed_logs_state_what_they_stated(void)
{
    const uint64_t tries = suite_number("RONDE_TEST_SCALE", 100);
    const uint64_t only = suite_number("RONDE_TEST_SEED", 0);
    unsigned wrong = 0, refused = 0, treeless = 0;
    for (uint64_t seed = only > 0 ? only : 1; seed <= (only > 0 ? only : tries); seed++) {
        struct ronde_nccl_graph *graph = NULL;
        struct ronde_error error = {0};
        size_t bytes = 0;
        const struct style style = make_log(seed);
        char *text = disturb_text(&log_, &bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        const enum ronde_status status =
            ronde_nccl_graph_parse(text, bytes, "log", 0, ronde_mem_default(), &graph, &error);
        const char *fault = status == RONDE_OK         ? find_fault(&style, graph)
                            : are_rings_stated(&style) ? error.message
                                                       : NULL;
        refused += status != RONDE_OK;
        treeless += status == RONDE_OK && graph->trees == 0;
        if (fault && ++wrong <= 20)
            suite_note("%llu, %u ranks, %s: %s", (unsigned long long)seed, truth.ranks, log_.ways,
                       fault);
        ronde_nccl_graph_destroy(graph);
        free(text);
    }
    suite_note("%llu logs, %u refused, %u without trees, %u wrong", (unsigned long long)tries,
               refused, treeless, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* The truth's rings as a schedule whose channels are those, each as often as drawn. */
static struct ronde_schedule *ring_schedule(uint32_t times, struct ronde_error *error)
{
    static uint32_t orders[64 * MOST_CHANNELS * MOST_RANKS];
    struct ronde_schedule *schedule = NULL;
    for (uint32_t c = 0; c < times * truth.channels; c++)
        for (uint32_t i = 0, rank = 0; i < truth.ranks; i++) {
            orders[c * truth.ranks + i] = rank;
            rank = truth.next[c % truth.channels][rank];
        }
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = truth.ranks,
                                                  .channels = times * truth.channels,
                                                  .channel_orders = orders};
    return ronde_compile(&request, ronde_mem_default(), NULL, &schedule, error) == RONDE_OK
               ? schedule
               : NULL;
}

/* Reads as NCCL does: every channel of both graphs is a ring of the truth, in its order. */
static bool are_channels(const char *text, uint32_t times)
{
    const char *at = text;
    uint32_t channels = 0;
    for (unsigned graph = 0; graph < 2; graph++) {
        unsigned id, pattern, count;
        at = strstr(at, "<graph ");
        if (!at ||
            sscanf(at, "<graph id=\"%u\" pattern=\"%u\" crossnic=\"0\" nchannels=\"%u\"", &id,
                   &pattern, &count) != 3 ||
            id != graph || pattern != 4 - graph || count != times * truth.channels)
            return false;
        for (channels = 0; channels < count && (at = strstr(at, "<channel>")); channels++)
            for (uint32_t i = 0, rank = 0; i < truth.ranks; i++) {
                unsigned dev, is;
                at = strstr(at, "<gpu ");
                if (!at || sscanf(at++, "<gpu dev=\"%x\" rank=\"%u\"/>", &dev, &is) != 2 ||
                    is != rank || dev != rank)
                    return false;
                rank = truth.next[channels % truth.channels][rank];
            }
        if (channels != count)
            return false;
    }
    return !strstr(at, "<channel>");
}

/* Neither is what the file is, and both readers say what it is. */
static bool is_told_apart(const char *text, size_t bytes)
{
    struct ronde_nccl_graph *graph = NULL;
    struct ronde_import *import = NULL;
    struct ronde_error error[2] = {{0}, {0}};
    char path[64];
    int file;
    drawn_file(text, bytes, &file, path);
    const struct ronde_import_request request = {.path = path, .nodes = 1};
    const bool is = ronde_nccl_graph_parse(text, bytes, "dump", 0, ronde_mem_default(), &graph,
                                           &error[0]) == RONDE_BAD_INPUT &&
                    strstr(error[0].message, "dump: this is XML, as NCCL writes it for "
                                             "NCCL_GRAPH_DUMP_FILE");
    const enum ronde_status status =
        ronde_import_read(&request, ronde_mem_default(), &import, &error[1]);
    close(file);
    return is && (status == RONDE_UNAVAILABLE ||
                  (status == RONDE_BAD_INPUT && strstr(error[1].message, "a graph of NCCL")));
}

static void graph_files_have_the_rings_and_are_told_apart(void)
{
    const struct ronde_nccl_node_links links = {.bus_GBps = 200, .path = "NVL"};
    const uint64_t tries = suite_number("RONDE_TEST_SCALE", 100);
    unsigned wrong = 0, refused = 0;
    for (uint64_t seed = 1; seed <= tries; seed++) {
        struct ronde_error error = {0};
        char *text = NULL;
        size_t bytes = 0;
        memset(&log_, 0, sizeof log_);
        log_.random = seed;
        draw_truth(&truth, 2 + draw(MOST_RANKS - 1));
        const uint32_t times = 1 + draw(10);
        struct ronde_schedule *schedule = ring_schedule(times, &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
        const enum ronde_status status =
            ronde_nccl_graph_file_print(schedule, &links, ronde_mem_default(), &text, &bytes,
                                        &error);
        const bool has_many = times * truth.channels > 32; /* NCCL's array */
        const bool is_right = has_many ? status == RONDE_UNSUPPORTED
                                       : status == RONDE_OK && are_channels(text, times) &&
                                             is_told_apart(text, bytes);
        refused += has_many;
        if (!is_right && ++wrong <= 5)
            suite_note("%llu: %u ranks, %u x %u channels: %.200s", (unsigned long long)seed,
                       truth.ranks, times, truth.channels, error.message);
        ronde_mem_free(ronde_mem_default(), text, text ? bytes + 1 : 0, 1);
        ronde_schedule_destroy(schedule);
    }
    suite_note("%llu graph files, %u refused, %u wrong", (unsigned long long)tries, refused, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(disturbed_logs_state_what_they_stated),
        SUITE_CASE(graph_files_have_the_rings_and_are_told_apart),
    };
    return suite_run("graph_logs", cases, sizeof cases / sizeof cases[0]);
}
