/**
 * Rings through a mesh: each visits every rank once, on full meshes no two share a link where theory has it so, on partial
 * meshes hops that are not wired are left alone, and where all hops share a wire nothing is gained.
 */
#include "support/suite.h"

#include "topologies/place/rings.h"

#include <string.h>

#define MOST RONDE_MOST_CYCLE_RANKS
#define MOST_CHANNELS 16u

/** A mesh by hand: a link per hop, some of them slow. */
struct made {
    struct ronde_mesh mesh;
    double own[MOST * MOST + MOST];
    uint32_t first[MOST * MOST + 1], links[2 * MOST * MOST];
    uint32_t cycles[MOST_CHANNELS * MOST];
    double busiest;
};

/** Hops of 1 ns per GB; those that `is_slow` says of 100. */
static void make(struct made *made, uint32_t size, bool (*is_slow)(uint32_t from, uint32_t to))
{
    uint32_t at = 0;
    memset(made, 0, sizeof *made);
    for (uint32_t hop = 0; hop < size * size; hop++) {
        made->first[hop] = at;
        made->own[hop] = is_slow && is_slow(hop / size, hop % size) ? 100 : 1;
        if (hop / size != hop % size)
            made->links[at++] = hop;
        made->first[hop + 1] = at;
    }
    made->mesh = (struct ronde_mesh){size, size * size, made->own, made->first, made->links};
}

static void find(struct made *made, uint32_t channels)
{
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_mesh_cycles(&made->mesh, channels, ronde_mem_default(),
                                            made->cycles, &made->busiest, &error),
                          RONDE_OK);
}

/** How often the most used hop is used; every channel is asserted to visit every rank once. */
static uint32_t most_used(const struct made *made, uint32_t channels)
{
    uint32_t used[MOST * MOST] = {0}, most = 0;
    const uint32_t size = made->mesh.size;
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t *cycle = made->cycles + (size_t)c * size;
        uint32_t seen = 0;
        CU_ASSERT_EQUAL(cycle[0], 0);
        for (uint32_t i = 0; i < size; i++) {
            const uint32_t now = ++used[cycle[i] * size + cycle[(i + 1) % size]];
            seen |= 1u << cycle[i];
            most = now > most ? now : most;
        }
        CU_ASSERT_EQUAL(seen, (1u << size) - 1);
    }
    return most;
}

/* n-1 cycles that share nothing: all n but 4 and 6 (Tillson 1980), for which one hop is shared; fewer are there always. */
static void full_meshes_are_used_up(void)
{
    static struct made made;
    for (uint32_t size = 3; size <= MOST; size++)
        for (uint32_t channels = 1; channels < size; channels++) {
            const bool is_impossible = (size == 4 || size == 6) && channels == size - 1;
            make(&made, size, NULL);
            find(&made, channels);
            const uint32_t most = most_used(&made, channels);
            if (most != (is_impossible ? 2 : 1))
                suite_note("%u cycles of %u: %u", channels, size, most);
            CU_ASSERT_EQUAL(most, is_impossible ? 2 : 1);
            CU_ASSERT_DOUBLE_EQUAL(made.busiest, most, 1e-9);
        }
}

static void twice_as_many_use_all_twice(void)
{
    static struct made made;
    make(&made, 8, NULL);
    find(&made, 14);
    CU_ASSERT_EQUAL(most_used(&made, 14), 2);
    make(&made, 4, NULL);
    find(&made, 6);
    CU_ASSERT_EQUAL(most_used(&made, 6), 2);
}

/* DGX-1V: two meshes of four, each GPU joined to the one opposite. */
static bool is_not_in_a_cube(uint32_t from, uint32_t to)
{
    return from / 4 != to / 4 && from % 4 != to % 4;
}

static void slow_hops_are_left_alone(void)
{
    static struct made made;
    make(&made, 8, is_not_in_a_cube);
    for (uint32_t channels = 1; channels <= 4; channels++) {
        find(&made, channels);
        (void)most_used(&made, channels);
        CU_ASSERT(made.busiest < 3);
    }
}

/* One wire out of every rank, as into a switch: no order is better than another. */
static void a_switch_takes_any(void)
{
    static struct made made;
    make(&made, 5, NULL);
    for (uint32_t hop = 0; hop < 25; hop++)
        for (uint32_t l = made.first[hop]; l < made.first[hop + 1]; l++)
            made.links[l] = hop / 5;
    find(&made, 3);
    (void)most_used(&made, 3);
    CU_ASSERT_DOUBLE_EQUAL(made.busiest, 3, 1e-9);
}

static void the_same_mesh_gives_the_same_cycles(void)
{
    static struct made first, second;
    make(&first, 8, NULL);
    make(&second, 8, NULL);
    find(&first, 7);
    find(&second, 7);
    CU_ASSERT_EQUAL(memcmp(first.cycles, second.cycles, sizeof first.cycles), 0);
}

static void *none(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    uint32_t *left = self;
    if (new_bytes > 0 && (*left)-- == 0) {
        *left = 0;
        return NULL;
    }
    return ronde_mem_resize(NULL, old, old_bytes, new_bytes);
}

static void no_memory_is_survived(void)
{
    static struct made made;
    make(&made, 8, NULL);
    for (uint32_t granted = 0; granted < 3; granted++) {
        uint32_t left = granted;
        const struct ronde_mem mem = {none, &left};
        struct ronde_error error = {.status = RONDE_OK};
        CU_ASSERT_EQUAL(ronde_mesh_cycles(&made.mesh, 7, &mem, made.cycles, &made.busiest, &error),
                        RONDE_NO_MEMORY);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"full_meshes_are_used_up", full_meshes_are_used_up},
        {"twice_as_many_use_all_twice", twice_as_many_use_all_twice},
        {"slow_hops_are_left_alone", slow_hops_are_left_alone},
        {"a_switch_takes_any", a_switch_takes_any},
        {"the_same_mesh_gives_the_same_cycles", the_same_mesh_gives_the_same_cycles},
        {"no_memory_is_survived", no_memory_is_survived},
    };
    return suite_run("cycles", cases, sizeof cases / sizeof cases[0]);
}
