/*
 * Statements put together to rings and trees: every rank in every ring, one cycle each; every rank in every tree, parents and
 * children agreeing. What is stated twice has to be the same; what nobody states is an error that says how to log it.
 */
#include "said.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The communicator that is put together. */
struct settling {
    struct nccl_log *log;
    struct ronde_nccl_graph *graph;
    uint32_t communicator;
};

/* Refuses what is put together: "name: what", and with a line "name:line: what". Returns false. */
RONDE_FORMAT(3, 4)
static bool refuse(const struct nccl_log *log, uint32_t line, const char *format, ...)
{
    char what[RONDE_ERROR_MESSAGE_BYTES], where[16] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (line > 0)
        (void)snprintf(where, sizeof where, ":%" PRIu32, line);
    (void)ronde_fail_at(log->error, RONDE_BAD_INPUT, line, "%s%s: %s", log->name, where, what);
    return false;
}

static const struct nccl_said *said_at(const struct nccl_log *log, uint32_t i)
{
    return (const struct nccl_said *)log->said.items + i;
}

static bool no_memory(const struct settling *settling)
{
    (void)ronde_fail(settling->log->error, RONDE_NO_MEMORY, "%s: no memory for rings and trees",
                     settling->log->name);
    return false;
}

static void raise_to(uint32_t rank, uint32_t *io_ranks)
{
    if (rank != RONDE_NONE && rank + 1 > *io_ranks)
        *io_ranks = rank + 1;
}

/* As many as are named. */
static uint32_t ranks_of(const struct nccl_log *log, uint32_t communicator)
{
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < log->said.count; i++) {
        const struct nccl_said *said = said_at(log, i);
        if (said->communicator != communicator)
            continue;
        raise_to(said->rank, &ranks);
        if (!said->is_tree)
            raise_to(said->next, &ranks);
        raise_to(said->is_tree ? said->branch.up : RONDE_NONE, &ranks);
        for (unsigned d = 0; said->is_tree && d < RONDE_NCCL_MOST_CHILDREN; d++)
            raise_to(said->branch.down[d], &ranks);
    }
    for (uint32_t i = 0; i < log->sizes.count; i++) {
        const struct nccl_size *size = (const struct nccl_size *)log->sizes.items + i;
        if (size->communicator == communicator && ranks > 0 && size->is_sure)
            return size->ranks;
        if (size->communicator == communicator && ranks > 0)
            raise_to(size->ranks - 1, &ranks);
    }
    return ranks;
}

/* Whether so much is stated of a communicator that it may be a ring of its ranks. */
static bool may_be_whole(const struct nccl_log *log, uint32_t communicator, uint32_t ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < log->said.count; i++)
        count += said_at(log, i)->communicator == communicator;
    return count >= ranks;
}

/* Of the wanted size, or the largest; of several the first of which enough is stated. */
static bool choose(struct nccl_log *log, uint32_t wanted, uint32_t *out_communicator,
                   uint32_t *out_ranks)
{
    *out_ranks = 0;
    for (uint32_t c = 0; c < log->communicators; c++) {
        const uint32_t ranks = ranks_of(log, c);
        const bool is_better = ranks > *out_ranks ||
                               (ranks == *out_ranks && ranks > 0 && may_be_whole(log, c, ranks) &&
                                !may_be_whole(log, *out_communicator, ranks));
        if (is_better && (wanted == 0 || ranks == wanted)) {
            *out_communicator = c;
            *out_ranks = ranks;
        }
    }
    if (log->cuts.count > 0 && *out_ranks == 0)
        return refuse(log, ((struct nccl_cut *)log->cuts.items)->line,
                      "the ring is cut off after 128 characters, and no line "
                      "\"Ring NN : \" tells the rest: NCCL_DEBUG_SUBSYS=INIT,GRAPH prints them");
    if (*out_ranks > 0)
        return true;
    if (log->communicators > 0 && wanted > 0)
        return refuse(log, 0, "none of its %" PRIu32 " communicators has %" PRIu32 " ranks",
                      log->communicators, wanted);
    return refuse(log, 0,
                  "no rings and no trees; NCCL prints them with NCCL_DEBUG=INFO and "
                  "NCCL_DEBUG_SUBSYS=INIT,GRAPH");
}

/* --- rings ----------------------------------------------------------------------------------- */

static bool set_next(const struct settling *settling, uint32_t line, uint32_t ring, uint32_t rank,
                     uint32_t to)
{
    uint32_t *next = &settling->graph->next[(size_t)ring * settling->graph->ranks + rank];
    if (*next != RONDE_NONE && *next != to)
        return refuse(settling->log, line,
                      "ring %" PRIu32 " goes from rank %" PRIu32 " to %" PRIu32
                      " here and to %" PRIu32 " before: is this another communicator's?",
                      ring, rank, to, *next);
    *next = to;
    return true;
}

/* Whether a statement names ranks that there are not, as numbers do that another line's go on; it is left out. */
static bool is_beyond(const struct settling *settling, const struct nccl_said *said)
{
    const uint32_t ranks = settling->graph->ranks;
    bool is = said->rank >= ranks || (!said->is_tree && said->next >= ranks);
    for (unsigned d = 0; said->is_tree && d < RONDE_NCCL_MOST_CHILDREN; d++)
        is = is || (said->branch.down[d] != RONDE_NONE && said->branch.down[d] >= ranks);
    is = is || (said->is_tree && said->branch.up != RONDE_NONE && said->branch.up >= ranks);
    if (is)
        nccl_leave_out(settling->log, said->line, "ranks that the communicator has not");
    return is;
}

/*
 * Whether a ring's statement is to be left out: of a whole ring that has fewer ranks than there are, and of a last line that may be
 * cut, where others say something else.
 */
static bool is_short(const struct settling *settling, const struct nccl_said *said)
{
    const struct ronde_nccl_graph *graph = settling->graph;
    const uint32_t next = graph->next[(size_t)said->channel * graph->ranks + said->rank];
    const bool is_cut =
        said->order > 0 && said->order < graph->ranks && said->order != NCCL_OLD_MOST_RANKS;
    const bool is_other = said->is_open && next != RONDE_NONE && next != said->next;
    if (is_cut || is_other)
        nccl_leave_out(settling->log, said->line, "a ring that ends before its last rank");
    return is_cut || is_other;
}

/* What is stated; and rings of which as many ranks are printed as old versions do are whole where there are no more. */
static bool fill_rings(const struct settling *settling)
{
    const struct nccl_log *log = settling->log;
    const struct nccl_cut *cuts = log->cuts.items;
    for (uint32_t i = 0; i < log->said.count; i++) {
        const struct nccl_said *said = said_at(log, i);
        if (!said->is_tree && said->communicator == settling->communicator &&
            !is_beyond(settling, said) && !is_short(settling, said) &&
            !set_next(settling, said->line, said->channel, said->rank, said->next))
            return false;
    }
    for (uint32_t i = 0; i < log->cuts.count; i++)
        if (cuts[i].communicator == settling->communicator && cuts[i].last != RONDE_NONE &&
            settling->graph->ranks == NCCL_OLD_MOST_RANKS &&
            !set_next(settling, cuts[i].line, cuts[i].channel, cuts[i].last, cuts[i].first))
            return false;
    return true;
}

/* One cycle through all ranks. */
static bool check_ring(const struct settling *settling, uint32_t ring)
{
    const struct ronde_nccl_graph *graph = settling->graph;
    const uint32_t *next = graph->next + (size_t)ring * graph->ranks;
    uint32_t at = 0;
    for (uint32_t seen = 1; seen <= graph->ranks; seen++) {
        if (next[at] == RONDE_NONE)
            return refuse(settling->log, 0,
                          "nothing says where rank %" PRIu32 " sends to in ring %" PRIu32
                          " of %" PRIu32
                          " ranks; NCCL_DEBUG_SUBSYS=INIT,GRAPH on every rank prints it",
                          at, ring, graph->ranks);
        at = next[at];
        if (at == 0 && seen < graph->ranks)
            return refuse(settling->log, 0,
                          "ring %" PRIu32 " is back at rank 0 after %" PRIu32 " of %" PRIu32
                          " ranks",
                          ring, seen, graph->ranks);
    }
    if (at != 0)
        return refuse(settling->log, 0, "ring %" PRIu32 " does not come back to rank 0", ring);
    return true;
}

static bool settle_rings(const struct settling *settling)
{
    struct ronde_nccl_graph *graph = settling->graph;
    const size_t count = (size_t)graph->rings * graph->ranks;
    if (count == 0)
        return true;
    const struct nccl_log *log = settling->log;
    if (count > (size_t)log->said.count + log->cuts.count)
        return refuse(log, 0,
                      "%" PRIu32 " rings of %" PRIu32
                      " ranks, of which not all say their neighbours%s; "
                      "NCCL_DEBUG_SUBSYS=INIT,GRAPH on every rank prints them",
                      graph->rings, graph->ranks,
                      log->cuts.count > 0 ? " (NCCL up to 2.11 prints 20 ranks of a ring)" : "");
    graph->next = ronde_mem_new(graph->mem, count, sizeof *graph->next);
    if (!graph->next)
        return no_memory(settling);
    for (size_t i = 0; i < count; i++)
        graph->next[i] = RONDE_NONE;
    if (!fill_rings(settling))
        return false;
    for (uint32_t ring = 0; ring < graph->rings; ring++)
        if (!check_ring(settling, ring))
            return false;
    return true;
}

/* --- trees ----------------------------------------------------------------------------------- */

static bool is_same(const struct ronde_nccl_branch *a, const struct ronde_nccl_branch *b)
{
    bool is_equal = a->up == b->up;
    for (unsigned d = 0; d < RONDE_NCCL_MOST_CHILDREN; d++)
        is_equal = is_equal && a->down[d] == b->down[d];
    return is_equal;
}

/* A place that nobody has stated has itself as parent. */
static bool fill_trees(const struct settling *settling)
{
    const struct nccl_log *log = settling->log;
    const struct ronde_nccl_graph *graph = settling->graph;
    for (uint32_t i = 0; i < log->said.count; i++) {
        const struct nccl_said *said = said_at(log, i);
        if (!said->is_tree || said->communicator != settling->communicator ||
            is_beyond(settling, said))
            continue;
        struct ronde_nccl_branch *branch =
            &graph->branch[(size_t)said->channel * graph->ranks + said->rank];
        if (branch->up != said->rank && !is_same(branch, &said->branch))
            return refuse(log, said->line,
                          "the place of rank %" PRIu32 " in tree %" PRIu32
                          " is another than before: is this another communicator's?",
                          said->rank, said->channel);
        *branch = said->branch;
    }
    return true;
}

static bool has_child(const struct ronde_nccl_branch *branch, uint32_t child)
{
    for (unsigned d = 0; d < RONDE_NCCL_MOST_CHILDREN; d++)
        if (branch->down[d] == child)
            return true;
    return false;
}

/* The child of a rank behind one of its children; the first one behind RONDE_NONE. */
static uint32_t child_behind(const struct ronde_nccl_branch *branch, uint32_t child)
{
    bool is_behind = child == RONDE_NONE;
    for (unsigned d = 0; d < RONDE_NCCL_MOST_CHILDREN; d++) {
        if (is_behind && branch->down[d] != RONDE_NONE)
            return branch->down[d];
        is_behind = is_behind || branch->down[d] == child;
    }
    return RONDE_NONE;
}

/* Ranks at and below one, of a tree whose neighbours agree: down to first children, up to the next of these. */
static uint32_t count_below(const struct ronde_nccl_branch *tree, uint32_t root)
{
    uint32_t count = 1, at = root, from = RONDE_NONE;
    for (;;) {
        const uint32_t child = child_behind(&tree[at], from);
        if (child != RONDE_NONE) {
            count++;
            at = child;
            from = RONDE_NONE;
        } else if (at == root) {
            return count;
        } else {
            from = at;
            at = tree[at].up;
        }
    }
}

/* Parents and children name each other, and a child is named once. */
static bool agrees(const struct ronde_nccl_branch *tree, uint32_t rank)
{
    const struct ronde_nccl_branch *own = &tree[rank];
    if (own->up != RONDE_NONE && !has_child(&tree[own->up], rank))
        return false;
    for (unsigned d = 0; d < RONDE_NCCL_MOST_CHILDREN; d++) {
        if (own->down[d] != RONDE_NONE && tree[own->down[d]].up != rank)
            return false;
        for (unsigned before = 0; before < d; before++)
            if (own->down[d] != RONDE_NONE && own->down[d] == own->down[before])
                return false;
    }
    return true;
}

static bool check_tree(const struct settling *settling, uint32_t number)
{
    const struct ronde_nccl_graph *graph = settling->graph;
    const struct ronde_nccl_branch *tree = graph->branch + (size_t)number * graph->ranks;
    uint32_t roots = 0, root = 0;
    for (uint32_t rank = 0; rank < graph->ranks; rank++) {
        if (!agrees(tree, rank))
            return refuse(settling->log, 0,
                          "tree %" PRIu32 ": rank %" PRIu32
                          " and its neighbours do not agree on who is above whom",
                          number, rank);
        root = tree[rank].up == RONDE_NONE ? rank : root;
        roots += tree[rank].up == RONDE_NONE;
    }
    if (roots != 1 || count_below(tree, root) != graph->ranks)
        return refuse(settling->log, 0,
                      "tree %" PRIu32 " has %" PRIu32 " roots, or ranks that are below none",
                      number, roots);
    return true;
}

/* Trees are in the lines of every rank: with those of some there are none. */
static bool is_whole(const struct ronde_nccl_graph *graph)
{
    for (uint32_t tree = 0; tree < graph->trees; tree++)
        for (uint32_t rank = 0; rank < graph->ranks; rank++)
            if (graph->branch[(size_t)tree * graph->ranks + rank].up == rank)
                return false;
    return true;
}

static bool are_trees(const struct settling *settling)
{
    struct ronde_nccl_graph *graph = settling->graph;
    if (!fill_trees(settling))
        return false;
    for (uint32_t tree = 0; is_whole(graph) && tree < graph->trees; tree++)
        if (!check_tree(settling, tree))
            return false;
    return true;
}

/* Trees that contradict each other cost themselves, where there are rings. */
static bool settle_trees(const struct settling *settling)
{
    struct ronde_nccl_graph *graph = settling->graph;
    const size_t count = (size_t)graph->trees * graph->ranks;
    if (count == 0 || count > settling->log->said.count) {
        graph->trees = 0;
        return true;
    }
    graph->branch = ronde_mem_new(graph->mem, count, sizeof *graph->branch);
    if (!graph->branch)
        return no_memory(settling);
    for (size_t i = 0; i < count; i++)
        graph->branch[i].up = (uint32_t)(i % graph->ranks);
    const bool are = are_trees(settling);
    if (!are && graph->rings == 0)
        return false;
    if (!are)
        (void)snprintf(graph->treeless, sizeof graph->treeless, "%.*s",
                       (int)sizeof graph->treeless - 1, settling->log->error->message);
    if (!are || !is_whole(graph)) {
        ronde_mem_free(graph->mem, graph->branch, count, sizeof *graph->branch);
        graph->branch = NULL;
        graph->trees = 0;
    }
    return true;
}

bool nccl_log_settle(struct nccl_log *log, uint32_t ranks, struct ronde_nccl_graph *graph)
{
    struct settling settling = {log, graph, 0};
    const bool is_chosen = choose(log, ranks, &settling.communicator, &graph->ranks);
    graph->hosts = log->hosts;
    graph->communicators = log->communicators;
    for (uint32_t i = 0; is_chosen && i < log->said.count; i++) {
        const struct nccl_said *said = said_at(log, i);
        uint32_t *count = said->is_tree ? &graph->trees : &graph->rings;
        const uint32_t least = said->rings > said->channel ? said->rings : said->channel + 1;
        if (said->communicator == settling.communicator && least > *count)
            *count = least;
    }
    return is_chosen && settle_rings(&settling) && settle_trees(&settling);
}
