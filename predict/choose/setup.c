/** Candidates on a machine: channels, grids, places and rings. See setup.h. */
#include "ronde/setup.h"

#include "outline.h"

#include "ronde/collective.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/** Rings are not better for loading the busiest link less by this. */
#define SAME_LOAD 0.01

/** A machine, looked at once for all candidates. */
struct site {
    const struct ronde_platform *platform;
    const struct ronde_mem *mem;
    struct ronde_nodes nodes;
    uint32_t channels; /* of its rings; 0 = not looked for yet */
    /* The last request whose channels were compared, since another placement of its ranks changes none; NULL = none yet. */
    const struct ronde_algorithm *compared;
    struct ronde_compile_request compared_request;
    bool differ;
};

/** A candidate while it is made. */
struct making {
    const struct ronde_setup *setup;
    struct site *site;
    const struct ronde_candidate *known; /* whose schedules may be used again; they outlive it */
    uint32_t known_count;
    struct ronde_candidate *candidate;
    struct ronde_error *error;
};

static struct site site_of(const struct ronde_platform *platform, const struct ronde_mem *mem)
{
    return (struct site){.platform = platform,
                         .mem = mem,
                         .channels = ronde_platform_facts(platform)->channels};
}

static bool is_asked(const struct making *making, enum ronde_placement placement)
{
    return making->setup->is_placed && making->setup->placement == placement;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

/** Where ranks sit; nowhere in particular where rank r is on host r, which engines take as the machine's own order. */
static enum ronde_status place(struct making *making)
{
    const struct ronde_setup *setup = making->setup;
    struct ronde_candidate *candidate = making->candidate;
    const uint32_t ranks = setup->request.ranks;
    candidate->is_placed = setup->is_placed;
    /* A library whose channels are known lays no rings. */
    const bool keeps_order =
        ranks > RONDE_MOST_LAID_RANKS || ronde_platform_facts(making->site->platform)->channels > 0;
    candidate->placement = setup->is_placed ? setup->placement
                           : keeps_order    ? RONDE_PLACE_FILE
                                            : RONDE_PLACE_AUTO;
    candidate->host_of = ronde_mem_new(making->site->mem, ranks, sizeof *candidate->host_of);
    if (!candidate->host_of)
        return ronde_fail(making->error, RONDE_NO_MEMORY, "no memory to place %u ranks", ranks);
    if (setup->host_of)
        memcpy(candidate->host_of, setup->host_of, ranks * sizeof *candidate->host_of);
    else
        RONDE_TRY(ronde_place(&making->site->nodes, candidate->placement, ranks, candidate->host_of,
                              making->error));
    return RONDE_OK;
}

static void forget_identity(struct making *making)
{
    struct ronde_candidate *candidate = making->candidate;
    if (making->setup->host_of ||
        !ronde_is_identity(candidate->host_of, making->setup->request.ranks))
        return;
    ronde_mem_free(making->site->mem, candidate->host_of, making->setup->request.ranks,
                   sizeof *candidate->host_of);
    candidate->host_of = NULL;
}

/* ---- Channels and rings ----------------------------------------------------------------------------------------- */

/** Whether the rings of a machine cannot be found (only SimGrid knows its routes) and nobody asked for them. */
static bool has_no_rings(const struct making *making, enum ronde_status status)
{
    return (status == RONDE_UNSUPPORTED || status == RONDE_BAD_INPUT) &&
           !is_asked(making, RONDE_PLACE_AUTO);
}

/** Rings of so many channels, and the busiest link's load for a GB that each passes on. */
static enum ronde_status find_rings(const struct making *making, uint32_t channels,
                                    uint32_t *out_orders, struct ronde_rings_found *out_found)
{
    const struct ronde_compile_request *request = &making->candidate->request;
    const bool is_rooted = ronde_collective_traits(request->collective)->has_root;
    const struct ronde_rings rings = {.host_of = making->candidate->host_of,
                                      .ranks = request->ranks,
                                      .channels = channels,
                                      .first_rank = is_rooted ? request->root : 0};
    struct ronde_error why = {RONDE_OK, 0, ""};
    const enum ronde_status status =
        ronde_place_rings(making->site->platform, &making->site->nodes, &rings, making->site->mem,
                          out_orders, out_found, &why);
    /* What is done without is no reason of a failure that comes later. */
    return status == RONDE_OK || has_no_rings(making, status)
               ? status
               : ronde_fail(making->error, status, "%s", why.message);
}

/** The fewest channels whose rings load the busiest link least: as many as a node's NICs, or a torus's directions. */
static enum ronde_status best_channels(const struct making *making, uint32_t *out_channels)
{
    static const uint32_t tries[] = {1, 2, 3, 4, 6, 7, 8, 12, RONDE_MOST_SETUP_CHANNELS};
    const uint32_t ranks = making->candidate->request.ranks;
    const size_t entries = (size_t)ranks * RONDE_MOST_SETUP_CHANNELS;
    uint32_t *orders = ronde_mem_new(making->site->mem, entries, sizeof *orders);
    enum ronde_status status = RONDE_OK;
    double least = INFINITY;
    *out_channels = 1;
    if (!orders)
        return ronde_fail(making->error, RONDE_NO_MEMORY, "no memory for rings of %u ranks", ranks);
    for (size_t i = 0; i < sizeof tries / sizeof tries[0] && status == RONDE_OK; i++) {
        struct ronde_rings_found found = {.busiest_load = 0};
        status = find_rings(making, tries[i], orders, &found);
        const double load = found.busiest_load / tries[i];
        if (status == RONDE_OK && load < least * (1 - SAME_LOAD)) {
            least = load;
            *out_channels = tries[i];
        }
    }
    ronde_mem_free(making->site->mem, orders, entries, sizeof *orders);
    return has_no_rings(making, status) ? RONDE_OK : status;
}

static bool is_one_request(const struct ronde_compile_request *a,
                           const struct ronde_compile_request *b)
{
    return a->channels == b->channels && a->channel_orders == b->channel_orders &&
           a->shape_count == b->shape_count &&
           memcmp(a->shape, b->shape, a->shape_count * sizeof *a->shape) == 0;
}

/** Compiles, unless another candidate's schedule is of the same request. */
static enum ronde_status compile(struct making *making)
{
    struct ronde_candidate *candidate = making->candidate;
    ronde_schedule_destroy(candidate->own);
    candidate->own = NULL;
    for (uint32_t i = 0; i < making->known_count; i++)
        if (is_one_request(&candidate->request, &making->known[i].request)) {
            candidate->schedule = making->known[i].schedule;
            return RONDE_OK;
        }
    const enum ronde_status status =
        ronde_compile(&candidate->request, making->site->mem, NULL, &candidate->own, making->error);
    candidate->schedule = candidate->own;
    return status;
}

static bool is_one_order(const struct ronde_schedule *schedule, uint32_t a, uint32_t b)
{
    const uint32_t *left = schedule->channels[a].order, *right = schedule->channels[b].order;
    return left == right ||
           (left && right && memcmp(left, right, schedule->ranks * sizeof *left) == 0);
}

/** Whether channels beyond the algorithm's own `base` would be others than those. */
static bool has_other_channels(const struct ronde_schedule *schedule, uint32_t base)
{
    for (uint32_t channel = base; channel < schedule->channel_count; channel++)
        if (!is_one_order(schedule, channel, channel % base))
            return true;
    return false;
}

static bool passes_nothing_on(enum ronde_collective collective)
{
    return collective == RONDE_ALL_TO_ALL || collective == RONDE_SCATTER ||
           collective == RONDE_GATHER;
}

/** Whether channels would go other ways through the machine: rings that are laid, and trees of several heads. */
static enum ronde_status find_whether_channels_differ(struct making *making, bool *out_differ)
{
    struct ronde_candidate *candidate = making->candidate;
    struct site *site = making->site;
    const bool is_route = candidate->schedule->traffic.is_route;
    const uint32_t base = candidate->schedule->channel_count;
    *out_differ = is_route && candidate->placement == RONDE_PLACE_AUTO;
    /* Where nothing is passed on, more channels are more messages at once, of which the machine's rings say nothing. */
    if (is_route || site->nodes.source == RONDE_NODES_SINGLE ||
        passes_nothing_on(candidate->request.collective) ||
        candidate->request.ranks > RONDE_MOST_LAID_RANKS)
        return RONDE_OK;
    if (site->compared != candidate->algorithm ||
        !is_one_request(&site->compared_request, &candidate->request)) {
        const struct ronde_compile_request request = candidate->request;
        candidate->request.channels = 2;
        RONDE_TRY(compile(making));
        site->compared = candidate->algorithm;
        site->compared_request = request;
        site->differ = has_other_channels(candidate->schedule, base);
    }
    *out_differ = site->differ;
    return RONDE_OK;
}

/** Compiles with the channels asked for; where none are, with those of the machine where these differ from one another. */
static enum ronde_status compile_for_machine(struct making *making)
{
    struct ronde_candidate *candidate = making->candidate;
    struct ronde_compile_request *request = &candidate->request;
    bool differ = false;
    uint32_t *machine_channels = &making->site->channels;
    enum ronde_status status = compile(making);
    if (status != RONDE_OK || request->channels > 0 || request->channel_orders || request->order ||
        request->ranks < 2)
        return status;
    status = find_whether_channels_differ(making, &differ);
    if (status == RONDE_OK && differ && *machine_channels == 0)
        status = best_channels(making, machine_channels);
    const uint32_t channels = differ && *machine_channels > 1 ? *machine_channels : 0;
    const bool is_compiled = request->channels == channels;
    request->channels = channels;
    return status == RONDE_OK && !is_compiled ? compile(making) : status;
}

/** The schedule under orders that were found; one that is right in its own order alone keeps that. */
static enum ronde_status reorder(struct making *making, const char *pattern)
{
    struct ronde_candidate *candidate = making->candidate;
    struct ronde_schedule *applied = NULL;
    struct ronde_error why = {RONDE_OK, 0, ""};
    const enum ronde_status status = ronde_schedule_reorder(candidate->schedule, candidate->orders,
                                                            making->site->mem, &applied, &why);
    if (status == RONDE_REJECTED)
        return RONDE_OK;
    if (status != RONDE_OK)
        return ronde_fail(making->error, status, "%s", why.message);
    ronde_schedule_destroy(candidate->own);
    candidate->schedule = candidate->own = applied;
    candidate->request.channels = applied->channel_count;
    candidate->request.channel_orders = candidate->orders;
    candidate->rings = pattern;
    return RONDE_OK;
}

/** Lays what goes from neighbour to neighbour through the machine, where the order of the ranks is not that already. */
static enum ronde_status apply(struct making *making)
{
    struct ronde_candidate *candidate = making->candidate;
    const struct ronde_compile_request *request = &making->setup->request;
    struct ronde_rings_found found;
    bool is_plain = true;
    if (candidate->placement != RONDE_PLACE_AUTO || !candidate->schedule->traffic.is_route ||
        request->order || request->channel_orders ||
        (making->setup->given && !is_asked(making, RONDE_PLACE_AUTO)))
        return RONDE_OK;
    candidate->orders_count = (size_t)candidate->schedule->channel_count * request->ranks;
    candidate->orders =
        ronde_mem_new(making->site->mem, candidate->orders_count, sizeof *candidate->orders);
    if (!candidate->orders)
        return ronde_fail(making->error, RONDE_NO_MEMORY, "no memory for %u orders of %u ranks",
                          candidate->schedule->channel_count, request->ranks);
    const enum ronde_status status =
        find_rings(making, candidate->schedule->channel_count, candidate->orders, &found);
    if (has_no_rings(making, status))
        return RONDE_OK;
    for (uint32_t c = 0; status == RONDE_OK && c < candidate->schedule->channel_count; c++)
        is_plain &=
            ronde_is_identity(candidate->orders + (size_t)c * request->ranks, request->ranks);
    return status == RONDE_OK && !is_plain ? reorder(making, found.pattern) : status;
}

/* ---- Candidates ------------------------------------------------------------------------------------------------- */

static enum ronde_status make(struct making *making)
{
    const uint32_t ranks = making->setup->request.ranks, hosts = making->site->nodes.host_count;
    if (ranks > hosts)
        return ronde_fail(making->error, RONDE_BAD_INPUT, "%s has %u hosts, fewer than %u ranks",
                          ronde_platform_path(making->site->platform), hosts, ranks);
    RONDE_TRY(place(making));
    RONDE_TRY(ronde_grid_find(making->site->platform, &making->site->nodes, making->site->mem,
                              making->candidate, making->error));
    if (!making->setup->given)
        RONDE_TRY(compile_for_machine(making));
    RONDE_TRY(apply(making));
    if (making->setup->keeps_ranks)
        RONDE_TRY(ronde_candidate_keep_ranks(making->candidate, making->site->mem, making->error));
    forget_identity(making);
    return RONDE_OK;
}

/** Makes a candidate on a site, of the schedules of others where these are of the same request. */
static enum ronde_status open_candidate(const struct ronde_setup *setup, struct site *site,
                                        const struct ronde_candidate *known, uint32_t known_count,
                                        struct ronde_candidate *out_candidate,
                                        struct ronde_error *error)
{
    struct ronde_candidate candidate = {.request = setup->request, .schedule = setup->given};
    struct making making = {setup, site, known, known_count, &candidate, error};
    if (!setup->given)
        candidate.algorithm =
            ronde_algorithm_find(setup->request.collective, setup->request.algorithm, error);
    if (!setup->given && !candidate.algorithm)
        return RONDE_BAD_ARGUMENT;
    const enum ronde_status status = make(&making);
    if (status != RONDE_OK) {
        ronde_candidate_close(&candidate, site->mem);
        return status;
    }
    candidate.is_eligible = !candidate.schedule->proof.rank_dependent_bits;
    *out_candidate = candidate;
    return RONDE_OK;
}

enum ronde_status ronde_candidate_open(const struct ronde_setup *setup, const struct ronde_mem *mem,
                                       struct ronde_candidate *out_candidate,
                                       struct ronde_error *error)
{
    struct site site = site_of(setup->platform, mem);
    enum ronde_status status = ronde_nodes_find(setup->platform, mem, &site.nodes, error);
    RONDE_THEN(status, open_candidate(setup, &site, NULL, 0, out_candidate, error));
    ronde_nodes_free(&site.nodes, mem);
    return status;
}

struct ronde_forecast ronde_candidate_forecast(const struct ronde_candidate *candidate,
                                               const struct ronde_platform *platform,
                                               const struct ronde_tune_options *options)
{
    struct ronde_forecast forecast =
        ronde_forecast_of(platform, candidate->schedule, &candidate->request, options);
    forecast.sim.host_of = candidate->host_of;
    return forecast;
}

const char *ronde_candidate_label(const struct ronde_candidate *candidate,
                                  char out_text[RONDE_SETUP_LABEL_BYTES])
{
    const enum ronde_placement placement = candidate->placement;
    out_text[0] = '\0';
    if (candidate->rings)
        snprintf(out_text, RONDE_SETUP_LABEL_BYTES, "auto: %s", candidate->rings);
    else if (candidate->is_placed && placement != RONDE_PLACE_FILE)
        snprintf(out_text, RONDE_SETUP_LABEL_BYTES, "%s", ronde_placement_text(placement));
    return out_text;
}

/* ---- All set-ups of a choice ------------------------------------------------------------------------------------ */

/** The list of candidates that takes the place of a choice's. */
struct setting_up {
    struct site site;
    struct ronde_choice all;
    const struct ronde_tune_options *options;
    struct ronde_error *error;
};

static bool is_same_set_up(const struct ronde_candidate *a, const struct ronde_candidate *b)
{
    const size_t bytes = a->request.ranks * sizeof *a->host_of;
    return a->schedule->hash == b->schedule->hash &&
           (a->host_of == b->host_of ||
            (a->host_of && b->host_of && memcmp(a->host_of, b->host_of, bytes) == 0));
}

/** Adds a set-up, unless it is one of those from `first` on. What does not serve the request, or has no way, is left out. */
static enum ronde_status add(struct setting_up *up, const struct ronde_candidate *base,
                             const struct ronde_setup *setup, uint32_t first)
{
    const struct ronde_mem *mem = up->site.mem;
    struct ronde_candidate candidate;
    struct ronde_error why = {RONDE_OK, 0, ""};
    const bool is_first = first == up->all.count;
    const enum ronde_status status =
        open_candidate(setup, &up->site, is_first ? base : up->all.candidates + first,
                       is_first ? 1 : up->all.count - first, &candidate, &why);
    if (status == RONDE_UNSUPPORTED || status == RONDE_REJECTED)
        return RONDE_OK;
    if (status != RONDE_OK)
        return ronde_fail(up->error, status, "%s", why.message);
    /* Hosts that nobody named may have been cut off, while those of the first placement were not. */
    bool is_out =
        setup->is_placed && !up->options->is_placed && candidate.host_of &&
        !ronde_hosts_are_joined(up->site.platform, candidate.host_of, candidate.request.ranks, mem);
    for (uint32_t i = first; i < up->all.count && !is_out; i++)
        is_out = is_same_set_up(&candidate, &up->all.candidates[i]);
    if (is_out) {
        ronde_candidate_close(&candidate, mem);
        return RONDE_OK;
    }
    struct ronde_candidate *room;
    const enum ronde_status added = ronde_choice_add(&up->all, &room, up->error);
    if (added == RONDE_OK)
        *room = candidate;
    else
        ronde_candidate_close(&candidate, mem);
    return added;
}

/**
 * More channels than the machine has ways for: flows that share links take turns by them, or find what others leave. Of
 * collectives in which nothing is passed on, all algorithms are tried up to so many steps; elsewhere pieces do as much, and those
 * that are cut into none on few ranks.
 */
#define MOST_TURNING_STEPS (UINT64_C(1) << 17)
#define MOST_TURNING_RANKS 32u
/** Steps of `direct` up to which it is tried on more, as scatter has few. */
#define MOST_DIRECT_STEPS 2048u

/**
 * Whether four and more copies are tried whatever fewer have come to. Rings and NCCL's trees are where hosts keep their order;
 * `direct` is where hosts are scattered, too, unless direct_parallel has all its messages flow at once.
 */
static bool takes_turns(const struct ronde_candidate *base, enum ronde_placement placement)
{
    const char *name = base->request.algorithm;
    const uint64_t steps = base->schedule->proof.steps * base->schedule->channel_count;
    const bool is_direct = strcmp(name, "direct") == 0;
    if (is_direct && ronde_algorithm_find(base->request.collective, "direct_parallel", NULL))
        return false;
    if (base->request.ranks > MOST_TURNING_RANKS && !(is_direct && steps <= MOST_DIRECT_STEPS))
        return false;
    if (strcmp(name, "ring") == 0 || strcmp(name, "nccl_tree") == 0)
        return placement == RONDE_PLACE_FILE;
    return is_direct &&
           (placement != RONDE_PLACE_AUTO || passes_nothing_on(base->request.collective));
}

/** With copies of its channels, those of the set-up `of`: twice as many, then twice as many as these and so on. */
static enum ronde_status add_turns(struct setting_up *up, const struct ronde_candidate *base,
                                   struct ronde_setup *setup, uint32_t first, uint32_t of)
{
    const uint64_t steps = base->schedule->proof.steps * base->schedule->channel_count;
    const bool is_free = takes_turns(base, setup->placement);
    const bool is_any = passes_nothing_on(base->request.collective) && up->all.count > of;
    for (uint32_t channels = is_any ? 2 : 4; channels <= RONDE_MOST_SETUP_CHANNELS; channels *= 2) {
        const uint32_t before = up->all.count;
        if (!is_free && (!is_any || steps * channels > MOST_TURNING_STEPS))
            break;
        setup->request.channels = channels;
        RONDE_TRY(add(up, base, setup, first));
        if (up->all.count == before || (is_free && channels >= 4))
            continue;
        up->all.candidates[before].turns_of = of + 1;
        of = before;
    }
    return RONDE_OK;
}

/** With the channels of the machine, half of them, and the algorithm's own. */
static enum ronde_status add_channels(struct setting_up *up, const struct ronde_candidate *base,
                                      struct ronde_setup *setup, uint32_t first)
{
    const uint32_t before = up->all.count;
    enum ronde_status status = add(up, base, setup, first);
    if (status != RONDE_OK || setup->request.channels > 0 || setup->given)
        return status;
    const uint32_t most = up->all.count > before ? up->all.candidates[before].request.channels : 0;
    for (uint32_t channels = most / 2; channels > 0 && status == RONDE_OK;
         channels = channels > 2 ? 2 : channels - 1) {
        setup->request.channels = channels;
        status = add(up, base, setup, first);
    }
    RONDE_THEN(status, add_turns(up, base, setup, first, before));
    setup->request.channels = 0;
    return status;
}

/** The schedule of the base outlives it, if a set-up has it. */
static void hand_over(struct setting_up *up, struct ronde_candidate *base, uint32_t first)
{
    for (uint32_t i = first; base->own && i < up->all.count; i++)
        if (up->all.candidates[i].schedule == base->own) {
            up->all.candidates[i].own = base->own;
            base->own = NULL;
        }
}

static enum ronde_status add_placements(struct setting_up *up, const struct ronde_candidate *base)
{
    static const enum ronde_placement tries[] = {RONDE_PLACE_AUTO, RONDE_PLACE_FILE,
                                                 RONDE_PLACE_SCATTERED};
    const uint32_t first = up->all.count;
    struct ronde_setup setup = {.platform = up->site.platform,
                                .request = base->request,
                                .given = base->own ? NULL : base->schedule,
                                .is_placed = up->options->is_placed,
                                .placement = up->options->placement,
                                .keeps_ranks = up->options->keeps_ranks};
    if (up->options->is_placed)
        return add_channels(up, base, &setup, first);
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        setup.is_placed = i > 0;
        setup.placement = tries[i];
        RONDE_TRY(add_channels(up, base, &setup, first));
    }
    return RONDE_OK;
}

/** Whether any set-up of a candidate is asked for. */
static bool is_weighed(const struct setting_up *up, const struct ronde_candidate *candidate)
{
    return !up->options->only || strcmp(up->options->only, candidate->request.algorithm) == 0;
}

enum ronde_status
ronde_choice_set_up(struct ronde_choice *choice, const struct ronde_platform *platform,
                    const struct ronde_tune_options *options, struct ronde_error *error)
{
    struct setting_up up = {.site = site_of(platform, choice->mem),
                            .all = {.mem = choice->mem},
                            .options = options,
                            .error = error};
    enum ronde_status status = ronde_nodes_find(platform, choice->mem, &up.site.nodes, error);
    for (uint32_t i = 0; i < choice->count && status == RONDE_OK; i++) {
        const uint32_t first = up.all.count;
        if (!is_weighed(&up, &choice->candidates[i]))
            continue;
        status = add_placements(&up, &choice->candidates[i]);
        hand_over(&up, &choice->candidates[i], first);
    }
    RONDE_THEN(status, ronde_choice_add_forests(&up.all, &choice->candidates[0].request, platform,
                                                options, error));
    if (status == RONDE_OK && up.all.count == 0)
        status =
            ronde_fail(error, RONDE_UNSUPPORTED, "%s: no %s of %s is possible there",
                       ronde_platform_path(platform), options->only ? options->only : "algorithm",
                       ronde_collective_text(choice->candidates[0].request.collective));
    ronde_nodes_free(&up.site.nodes, choice->mem);
    if (status != RONDE_OK) {
        ronde_choice_fini(&up.all);
        return status;
    }
    ronde_choice_fini(choice);
    *choice = up.all;
    return RONDE_OK;
}
