/*
 * Rings through a mesh, found by taking some away and laying them again.
 *
 * A full mesh of n ranks has n-1 directed Hamiltonian cycles that share no link unless n is 4 or 6 (Tillson 1980); there is
 * no such theorem for partial ones. The cheapest cycle at a given load is found exactly (Held and Karp); all of them together
 * by chance: two or three are taken away and laid again by prices with a little noise, which is kept unless it is worse.
 * A price grows with the cube of a link's load, so that a link twice used costs more than two used once. The noise is the
 * same in every run.
 */
#include "rings.h"

#include <math.h>
#include <string.h>

#define FULL_SETS (1u << (RONDE_MOST_CYCLE_RANKS - 1))
#define MOST_ARCS (RONDE_MOST_CYCLE_RANKS * RONDE_MOST_CYCLE_RANKS)

/* Tries before the best is taken as it is; 8 ranks with 7 cycles want some hundreds. */
#define TRIES 6000u
#define MOST_TAKEN 3u

/* What is searched. */
struct work {
    const struct ronde_mesh *mesh;
    uint32_t channels;
    uint32_t *cycles; /* channel by channel */
    double *load;     /* per link, ns per GB */
    double slowest;   /* link's own time, the scale of prices */
    double price[MOST_ARCS];
    double cheapest[FULL_SETS][RONDE_MOST_CYCLE_RANKS]; /* of a set of ranks and its last */
    uint8_t before[FULL_SETS][RONDE_MOST_CYCLE_RANKS];
    uint64_t chance;
};

/* What all cycles cost. */
struct cost {
    double busiest, total;
};

/* A number below 1 (Knuth's MMIX generator). */
static double chance(struct work *work)
{
    work->chance = work->chance * 6364136223846793005u + 1442695040888963407u;
    return (double)(work->chance >> 33) / 2147483648.;
}

static double cube(double x)
{
    return x * x * x;
}

/* What one hop more costs on links as they are loaded. */
static double price_of(const struct work *work, uint32_t hop)
{
    const struct ronde_mesh *mesh = work->mesh;
    double price = 0;
    for (uint32_t i = mesh->first[hop]; i < mesh->first[hop + 1]; i++) {
        const double load = work->load[mesh->links[i]], own = mesh->own[mesh->links[i]];
        price += cube((load + own) / work->slowest) - cube(load / work->slowest);
    }
    return price;
}

static void set_prices(struct work *work)
{
    for (uint32_t hop = 0; hop < work->mesh->size * work->mesh->size; hop++)
        work->price[hop] = price_of(work, hop) * (1 + .5 * chance(work));
}

/* Loads the links of a cycle, or takes the load away. */
static void put(struct work *work, const uint32_t *cycle, double sign)
{
    const struct ronde_mesh *mesh = work->mesh;
    for (uint32_t i = 0; i < mesh->size; i++) {
        const uint32_t hop = cycle[i] * mesh->size + cycle[(i + 1) % mesh->size];
        for (uint32_t l = mesh->first[hop]; l < mesh->first[hop + 1]; l++)
            work->load[mesh->links[l]] += sign * mesh->own[mesh->links[l]];
    }
}

/* Ways from rank 0 through sets of the other ranks (bit r - 1 is rank r), each set after those it contains. */
static void fill_sets(struct work *work)
{
    const uint32_t size = work->mesh->size, others = size - 1;
    for (uint32_t set = 1; set < 1u << others; set++)
        for (uint32_t last = 0; last < others; last++) {
            double *best = &work->cheapest[set][last];
            const uint32_t rest = set & ~(1u << last);
            *best = set == 1u << last ? work->price[last + 1] : INFINITY;
            for (uint32_t b = 0; (set >> last & 1) && b < others; b++) {
                const double way =
                    rest >> b & 1 ? work->cheapest[rest][b] + work->price[(b + 1) * size + last + 1]
                                  : INFINITY;
                if (way < *best) {
                    *best = way;
                    work->before[set][last] = (uint8_t)b;
                }
            }
        }
}

/* The cheapest cycle by the prices that are set. */
static void apply(struct work *work, uint32_t *out_cycle)
{
    const uint32_t size = work->mesh->size, others = size - 1;
    uint32_t set = (1u << others) - 1, last = 0;
    fill_sets(work);
    for (uint32_t r = 1; r < others; r++)
        if (work->cheapest[set][r] + work->price[(r + 1) * size] <
            work->cheapest[set][last] + work->price[(last + 1) * size])
            last = r;
    out_cycle[0] = 0;
    for (uint32_t at = others; at > 0; at--) {
        const uint32_t before = work->before[set][last];
        out_cycle[at] = last + 1;
        set &= ~(1u << last);
        last = before;
    }
}

static void lay_again(struct work *work, uint32_t channel)
{
    uint32_t *cycle = work->cycles + (size_t)channel * work->mesh->size;
    set_prices(work);
    apply(work, cycle);
    put(work, cycle, 1);
}

static struct cost cost_of(const struct work *work)
{
    struct cost cost = {0, 0};
    for (uint32_t l = 0; l < work->mesh->link_room; l++) {
        cost.busiest = fmax(cost.busiest, work->load[l]);
        cost.total += cube(work->load[l] / work->slowest);
    }
    return cost;
}

/* The least that the links out of any rank leave of the busiest: it has every channel once. */
static double least_busiest(const struct ronde_mesh *mesh, uint32_t channels)
{
    double least = 0;
    for (uint32_t from = 0; from < mesh->size; from++) {
        double rate = 0;
        for (uint32_t to = 0; to < mesh->size; to++) {
            const uint32_t hop = from * mesh->size + to;
            bool is_new = mesh->first[hop] < mesh->first[hop + 1];
            for (uint32_t t = 0; is_new && t < to; t++) {
                const uint32_t other = from * mesh->size + t;
                is_new = mesh->first[other] == mesh->first[other + 1] ||
                         mesh->links[mesh->first[other]] != mesh->links[mesh->first[hop]];
            }
            rate += is_new ? 1 / mesh->own[mesh->links[mesh->first[hop]]] : 0;
        }
        least = rate > 0 ? fmax(least, channels / rate) : least;
    }
    return least;
}

/* Whole cycles where all links are alike. */
static double rounded_up(const struct ronde_mesh *mesh, double least)
{
    double own = 0;
    for (uint32_t l = 0; l < mesh->link_room; l++) {
        if (own > 0 && mesh->own[l] > 0 && mesh->own[l] != own)
            return least;
        own = fmax(own, mesh->own[l]);
    }
    return own > 0 ? ceil(least / own - 1e-9) * own : 0;
}

/* Takes a few away and lays them again; what is worse is undone. */
static struct cost try_again(struct work *work, struct cost cost, uint32_t *kept)
{
    const uint32_t size = work->mesh->size;
    const size_t bytes = (size_t)work->channels * size * sizeof *kept;
    uint32_t taken[MOST_TAKEN];
    const uint32_t count = work->channels < MOST_TAKEN ? work->channels : 2 + (chance(work) < .5);
    memcpy(kept, work->cycles, bytes);
    for (uint32_t t = 0; t < count; t++) {
        taken[t] = (uint32_t)(chance(work) * work->channels);
        for (uint32_t other = 0; other < t; other++)
            if (taken[other] == taken[t])
                return cost;
    }
    for (uint32_t t = 0; t < count; t++)
        put(work, work->cycles + (size_t)taken[t] * size, -1);
    for (uint32_t t = 0; t < count; t++)
        lay_again(work, taken[t]);
    const struct cost now = cost_of(work);
    if (now.total <= cost.total * (1 + 1e-9))
        return now;
    for (uint32_t t = 0; t < count; t++) {
        put(work, work->cycles + (size_t)taken[t] * size, -1);
        put(work, kept + (size_t)taken[t] * size, 1);
    }
    memcpy(work->cycles, kept, bytes);
    return cost;
}

static void search(struct work *work, uint32_t *kept, double *out_busiest)
{
    const double least =
        rounded_up(work->mesh, least_busiest(work->mesh, work->channels)) * (1 + 1e-9);
    for (uint32_t channel = 0; channel < work->channels; channel++)
        lay_again(work, channel);
    struct cost cost = cost_of(work);
    for (uint32_t i = 0; i < TRIES && cost.busiest > least && work->channels > 1; i++)
        cost = try_again(work, cost, kept);
    *out_busiest = cost.busiest;
}

enum ronde_status ronde_mesh_cycles(const struct ronde_mesh *mesh, uint32_t channels,
                                    const struct ronde_mem *mem, uint32_t *out_cycles,
                                    double *out_busiest, struct ronde_error *error)
{
    const size_t entries = (size_t)channels * mesh->size;
    struct work *work = ronde_mem_new(mem, 1, sizeof *work);
    double *load = ronde_mem_new(mem, mesh->link_room, sizeof *load);
    uint32_t *kept = ronde_mem_new(mem, entries, sizeof *kept);
    const bool is_there = work && load && kept;
    if (is_there) {
        *work = (struct work){
            .mesh = mesh, .channels = channels, .cycles = out_cycles, .load = load, .chance = 1};
        for (uint32_t l = 0; l < mesh->link_room; l++)
            work->slowest = fmax(work->slowest, mesh->own[l]);
        search(work, kept, out_busiest);
    }
    ronde_mem_free(mem, work, 1, sizeof *work);
    ronde_mem_free(mem, load, mesh->link_room, sizeof *load);
    ronde_mem_free(mem, kept, entries, sizeof *kept);
    return is_there ? RONDE_OK
                    : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u cycles of %u ranks",
                                 channels, mesh->size);
}
