/* From trees to a schedule. See emit.h. */
#include "emit.h"

#include "ronde/synthesize.h"

#include <stdlib.h>

/* An edge of a tree, as a message. */
struct tree_message {
    uint32_t tree;   /* of the forest */
    uint32_t from;   /* rank */
    uint32_t to;     /* rank */
    uint32_t depth;  /* of the edge's lower end */
    uint32_t height; /* of the tree below it */
};

/* What building holds. */
struct building {
    const struct ronde_emission *emission;
    struct ronde_store *pool;
    struct ronde_builder *builder;
    uint32_t *lanes;    /* per rank: lanes so far */
    uint32_t *received; /* per rank: connections it receives by */
    uint32_t *keeps; /* per edge of `up`: scratch chunk plus 1 of the rank's partial sum; 0 = none yet */
    uint32_t *kept;                /* per rank: scratch chunks so far */
    struct tree_message *messages; /* of one forest */
    uint32_t *room;                /* per rank */
    bool *is_used;                 /* per pair, up and down: a connection there is */
    bool shares_lanes;             /* of a pair of ranks */
    bool *is_held_back; /* per tree: what runs down it leaves its root by the lane that what runs up it enters by */
    uint32_t height;
};

static uint32_t edge_of(const struct building *building, uint32_t tree, uint32_t rank)
{
    return tree * building->emission->ranks + rank;
}

/* What is counted by rank is counted once where all ranks run one program. */
static uint32_t row_of(const struct building *building, uint32_t rank)
{
    return building->emission->symmetry ? 0 : rank;
}

/*
 * The chunk of a message where a buffer holds the blocks of all roots, or the one block that all trees cut. Turned trees
 * are stated as seen by the sender, which is position 0.
 */
static uint32_t whole_chunk(const struct building *building, const struct tree_message *message)
{
    const struct ronde_emission *emission = building->emission;
    if (!emission->symmetry)
        return message->tree;
    return ronde_symmetry_seen(emission->symmetry, 0, message->from) * emission->trees +
           message->tree;
}

/* Its chunk where a buffer holds the root's block alone. */
static uint32_t own_chunk(const struct building *building, uint32_t tree)
{
    return tree % building->emission->trees;
}

/* --- edges of trees as messages, in an order in which none waits for a later one --------------- */

/* From the roots down, level by level. */
static int compare_down(const void *left, const void *right)
{
    const struct tree_message *a = left, *b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->height != b->height)
        return a->height > b->height ? -1 : 1;
    if (a->tree != b->tree)
        return a->tree < b->tree ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

/* From the leaves up; of a rank's children those first that wait for fewer others. */
static int compare_up(const void *left, const void *right)
{
    return -compare_down(left, right);
}

/*
 * Lists the messages of a forest, level by level: from the roots down, or from the leaves up. `room` has a number for each
 * rank, `messages` room for each edge of each tree. Returns how many there are, and the height of the highest tree.
 */
static uint32_t tree_messages(const struct ronde_forest *forest, bool is_up, uint32_t *room,
                              struct tree_message *messages, uint32_t *out_height)
{
    const uint32_t n = forest->ways->ranks;
    uint32_t count = 0, highest = 0;
    for (uint32_t t = 0; t < forest->tree_count; t++) {
        const uint32_t *parent = forest->parent + (size_t)t * n, root = forest->root[t];
        ronde_forest_heights(forest, t, room);
        if (room[root] > highest)
            highest = room[root];
        for (uint32_t v = 0; v < n; v++)
            if (v != root)
                messages[count++] = (struct tree_message){.tree = t,
                                                          .from = is_up ? v : parent[v],
                                                          .to = is_up ? parent[v] : v,
                                                          .depth = ronde_forest_depth(forest, t, v),
                                                          .height = room[v]};
    }
    *out_height = highest;
    if (count > 1)
        qsort(messages, count, sizeof *messages, is_up ? compare_up : compare_down);
    return count;
}

/* The edges of a forest in `messages`; returns how many. */
static uint32_t list_messages(struct building *building, const struct ronde_forest *forest,
                              bool is_up)
{
    uint32_t height = 0;
    const uint32_t count = tree_messages(forest, is_up, building->room, building->messages, &height);
    building->height += height;
    return count;
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

/*
 * Down: a lane for each end of each message, so that no child waits for another. Up: one for each tree, in which a rank
 * adds and passes on: leaves then cannot run ahead of the ranks above them, who would be left with idle links. Where all
 * ranks run one program, each has the place of every rank in some turned copy of a tree, and a lane for each place.
 *
 * With a limit to connections, messages between two ranks share a lane at either end. Lanes are in the order of
 * messages, level by level, so that no two wait for each other.
 */
static void share_lanes(struct building *building, bool is_up, struct ronde_transfer *transfer)
{
    const uint32_t n = building->emission->ranks, ways = is_up ? 0 : n;
    const struct ronde_wiring_symmetry *symmetry = building->emission->symmetry;
    const uint32_t back = symmetry ? ronde_symmetry_seen(symmetry, 0, transfer->to) : transfer->from;
    bool *is_used = &building->is_used[((size_t)transfer->from * n + transfer->to) * 2 + !is_up];
    transfer->from_lane = 2 * (ways + transfer->to);
    transfer->to_lane = 2 * (ways + back) + 1;
    building->received[row_of(building, transfer->to)] += !*is_used;
    *is_used = true;
}

/*
 * Trees that data runs up and down at once: a root that takes in the next piece only when the one before is on its way down
 * keeps the two together. Else what runs up takes its share of links first, and what runs down has them alone in the end.
 */
static bool holds_back(struct building *building, const struct tree_message *message)
{
    const struct ronde_emission *emission = building->emission;
    if (!emission->is_joint || message->from != emission->down->root[message->tree] ||
        building->is_held_back[message->tree])
        return false;
    building->is_held_back[message->tree] = true;
    return true;
}

static void open_lanes(struct building *building, const struct tree_message *message, bool is_up,
                       struct ronde_transfer *transfer)
{
    const uint32_t n = building->emission->ranks;
    const uint32_t from = row_of(building, message->from), to = row_of(building, message->to);
    if (building->shares_lanes) {
        share_lanes(building, is_up, transfer);
        return;
    }
    if (!is_up) {
        transfer->from_lane =
            holds_back(building, message) ? message->tree : building->lanes[from]++;
        transfer->to_lane = building->lanes[to]++;
    } else if (building->emission->symmetry) {
        transfer->from_lane = message->tree * n + message->from;
        transfer->to_lane = message->tree * n + message->to;
    } else {
        transfer->from_lane = transfer->to_lane = message->tree;
    }
    building->received[to]++;
}

/* Ranks of rooted collectives stand in their order but for the root, which changes places with rank 0. */
static uint32_t position_of(const struct ronde_emission *emission, uint32_t rank)
{
    if (!ronde_collective_traits(emission->collective)->has_root)
        return rank;
    return rank == emission->root ? 0 : rank == 0 ? emission->root : rank;
}

/* A message between its ranks, or as position 0 sends it. */
static struct ronde_transfer transfer_of(const struct building *building,
                                         const struct tree_message *message)
{
    const struct ronde_wiring_symmetry *symmetry = building->emission->symmetry;
    struct ronde_transfer transfer = {.from = position_of(building->emission, message->from),
                                      .to = position_of(building->emission, message->to)};
    if (symmetry) {
        transfer.from = 0;
        transfer.to = ronde_symmetry_seen(symmetry, message->to, message->from);
    }
    return transfer;
}

/* ---- Down: copies ------------------------------------------------------------------------------------------------ */

/* What a rank of a tree passes on: what it received, or the root its own. */
static struct ronde_operand held(const struct building *building,
                                 const struct tree_message *message, bool is_root)
{
    if (!is_root || building->emission->up)
        return ronde_chunks(RONDE_OUT, whole_chunk(building, message), 1);
    return ronde_chunks(RONDE_IN, own_chunk(building, message->tree), 1);
}

static void state_down(struct building *building)
{
    const struct ronde_forest *forest = building->emission->down;
    const uint32_t count = list_messages(building, forest, false);
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_message *message = &building->messages[i];
        struct ronde_transfer transfer = transfer_of(building, message);
        transfer.source = held(building, message, message->from == forest->root[message->tree]);
        transfer.target = ronde_chunks(RONDE_OUT, whole_chunk(building, message), 1);
        open_lanes(building, message, false, &transfer);
        ronde_builder_transfer(building->builder, &transfer);
    }
}

/* Roots keep their own blocks, too: chunk by chunk, as the widest step decides how long pieces are. */
static void state_own(struct building *building)
{
    const struct ronde_emission *emission = building->emission;
    const uint32_t positions = emission->symmetry ? 1 : emission->ranks;
    for (uint32_t r = 0; r < positions; r++) {
        if (emission->collective == RONDE_BROADCAST && r != emission->root)
            continue;
        const uint32_t first = emission->collective == RONDE_BROADCAST ? 0 : r * emission->trees;
        const uint32_t lane = building->lanes[r]++;
        for (uint32_t k = 0; k < emission->trees; k++)
            ronde_builder_copy(building->builder, position_of(emission, r), lane,
                               ronde_chunks(RONDE_IN, k, 1), ronde_chunks(RONDE_OUT, first + k, 1));
    }
}

/* ---- Up: reductions ---------------------------------------------------------------------------------------------- */

/* Where a rank gathers the sum of a tree: the output if it is its own or everybody's, else scratch. */
static struct ronde_operand sum_of(struct building *building, const struct tree_message *message,
                                   uint32_t rank)
{
    const struct ronde_emission *emission = building->emission;
    if (emission->down)
        return ronde_chunks(RONDE_OUT, whole_chunk(building, message), 1);
    if (rank == emission->up->root[message->tree])
        return ronde_chunks(RONDE_OUT, own_chunk(building, message->tree), 1);
    uint32_t *keeps = &building->keeps[edge_of(building, message->tree, rank)];
    if (*keeps == 0)
        *keeps = ++building->kept[row_of(building, rank)];
    return ronde_chunks(RONDE_SCRATCH, *keeps - 1, 1);
}

static void state_up(struct building *building, const struct tree_message *messages, uint32_t count,
                     bool *has_sum)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_message *message = &messages[i];
        const struct ronde_operand own = ronde_chunks(RONDE_IN, whole_chunk(building, message), 1);
        const bool sends_sum = has_sum[edge_of(building, message->tree, message->from)];
        bool *adds_sum = &has_sum[edge_of(building, message->tree, message->to)];
        struct ronde_transfer transfer = transfer_of(building, message);
        transfer.reduces = true;
        transfer.source = sends_sum ? sum_of(building, message, message->from) : own;
        transfer.target = sum_of(building, message, message->to);
        transfer.with = *adds_sum ? transfer.target : own;
        *adds_sum = true;
        open_lanes(building, message, true, &transfer);
        ronde_builder_transfer(building->builder, &transfer);
    }
}

/* Scratch is declared before any fact: the chunks of the rank that keeps most. */
static uint32_t count_scratch(struct building *building, uint32_t count)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        (void)sum_of(building, &building->messages[i], building->messages[i].to);
    for (uint32_t r = 0; r < building->emission->ranks; r++)
        if (building->kept[r] > most)
            most = building->kept[r];
    return most;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static bool make_room(struct building *building)
{
    const struct ronde_emission *emission = building->emission;
    const struct ronde_forest *any = emission->up ? emission->up : emission->down;
    const size_t edges = (size_t)any->tree_count * emission->ranks, n = emission->ranks;
    building->lanes = ronde_store_new(building->pool, n, sizeof *building->lanes);
    building->received = ronde_store_new(building->pool, n, sizeof *building->received);
    building->kept = ronde_store_new(building->pool, n, sizeof *building->kept);
    building->room = ronde_store_new(building->pool, n, sizeof *building->room);
    building->is_used = ronde_store_new(building->pool, 2 * n * n, sizeof *building->is_used);
    building->is_held_back =
        ronde_store_new(building->pool, any->tree_count, sizeof *building->is_held_back);
    building->keeps = ronde_store_new(building->pool, edges, sizeof *building->keeps);
    building->messages = ronde_store_new(building->pool, edges, sizeof *building->messages);
    return !building->pool->is_short;
}

static uint32_t chunks_of(const struct ronde_emission *emission)
{
    if (emission->is_joint)
        return emission->up->tree_count;
    return emission->collective == RONDE_ALL_REDUCE ? emission->ranks * emission->trees
                                                    : emission->trees;
}

/* What ranks would receive by, were every message to have a connection of its own. */
static uint32_t count_edges(struct building *building, const struct ronde_forest *forest, bool is_up)
{
    const uint32_t n = building->emission->ranks;
    uint32_t most = 0;
    for (uint32_t r = 0; r < n; r++)
        building->room[r] = 0;
    for (uint32_t edge = 0; forest && edge < forest->tree_count * n; edge++)
        if (forest->parent[edge] != RONDE_NONE)
            building->room[row_of(building, is_up ? forest->parent[edge] : edge % n)]++;
    for (uint32_t r = 0; r < n; r++)
        if (building->room[r] > most)
            most = building->room[r];
    return most;
}

/* Lanes that a tree or a pair of ranks has, before those that are opened one by one. */
static void reserve_lanes(struct building *building)
{
    const struct ronde_emission *emission = building->emission;
    const uint32_t edges =
        count_edges(building, emission->up, true) + count_edges(building, emission->down, false);
    building->shares_lanes = emission->connections > 0 && edges > emission->connections;
    const uint32_t places = emission->symmetry ? emission->ranks : 1;
    const uint32_t reserved = building->shares_lanes ? 4 * emission->ranks
                              : emission->up         ? emission->up->tree_count * places
                                                     : 0;
    for (uint32_t r = 0; r < emission->ranks; r++)
        building->lanes[r] = reserved;
}

static enum ronde_status build(struct building *building, struct ronde_error *error)
{
    const struct ronde_emission *emission = building->emission;
    const size_t edges = emission->up ? (size_t)emission->up->tree_count * emission->ranks : 1;
    bool *has_sum = ronde_store_new(building->pool, edges, sizeof *has_sum);
    if (!has_sum)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a schedule of %u ranks",
                          emission->ranks);
    reserve_lanes(building);
    ronde_builder_chunks(building->builder, chunks_of(emission));
    if (emission->symmetry) {
        ronde_builder_rotate(building->builder, emission->up, emission->down, false);
        ronde_builder_rotate_shape(building->builder, emission->symmetry->radix,
                                   emission->symmetry->digits);
    }
    if (emission->up) {
        const uint32_t count = list_messages(building, emission->up, true);
        ronde_builder_scratch(building->builder, count_scratch(building, count));
        state_up(building, building->messages, count, has_sum);
    } else {
        state_own(building);
    }
    if (emission->down)
        state_down(building);
    return RONDE_OK;
}

/* The most that a rank receives by. Errors: UNSUPPORTED where it is more than asked for. */
static enum ronde_status count_connections(const struct building *building, uint32_t *out_most,
                                           struct ronde_error *error)
{
    const struct ronde_emission *emission = building->emission;
    *out_most = 0;
    for (uint32_t r = 0; r < emission->ranks; r++)
        if (building->received[r] > *out_most)
            *out_most = building->received[r];
    if (emission->connections > 0 && *out_most > emission->connections)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%u connections into a rank: these trees need %u, one from each "
                          "neighbour; fewer --trees may need fewer",
                          emission->connections, *out_most);
    return RONDE_OK;
}

enum ronde_status ronde_emit(const struct ronde_emission *emission, struct ronde_store *pool,
                             struct ronde_schedule **out_schedule,
                             struct ronde_emitted *out_emitted, struct ronde_error *error)
{
    struct building building = {.emission = emission, .pool = pool};
    const uint32_t n = emission->ranks;
    uint32_t *order = ronde_store_new(pool, n, sizeof *order);
    const struct ronde_compile_request request = {
        .collective = emission->collective,
        .algorithm = RONDE_SYNTHESIZED,
        .ranks = n,
        .root = emission->root,
        .order = ronde_collective_traits(emission->collective)->has_root ? order : NULL};
    for (uint32_t r = 0; order && r < n; r++)
        order[r] = position_of(emission, r); /* an exchange of two is its own inverse */
    if (!order || !make_room(&building))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a schedule of %u ranks",
                          emission->ranks);
    enum ronde_status status = ronde_builder_create(&request, pool->mem, &building.builder, error);
    RONDE_THEN(status, build(&building, error));
    RONDE_THEN(status, count_connections(&building, &out_emitted->connections, error));
    if (status != RONDE_OK) {
        ronde_builder_destroy(building.builder);
        return status;
    }
    out_emitted->height = building.height;
    return ronde_schedule_finish(building.builder, NULL, out_schedule, error);
}
