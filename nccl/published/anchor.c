/**
 * Numbers of one machine from its own measurements: rates and latencies of the places that its rows cross, and the launch. See
 * published.h.
 *
 * Rows inside a node say nothing of the network. Rows between nodes go through both places, and of some the links inside decide
 * (NVLSTree on two nodes of eight H100), so all that rows go through is fitted, and held to the constants where they do not feel it. What
 * is left after it says whether the rows are of the machine that is described at all.
 */
#include "lower.h"

#include "nccl/model/setting.h"

#include "ronde/stats.h"

#include <math.h>
#include <stdio.h>

/** The weight of a start: rows of one system err alike. */
static const double own_start_weight = .04;

/**
 * Logarithmic distance from a start that costs as much. Rates carry over from one call to others of the machine, so they may go far, and
 * so may the rate at which a host launches on GPUs in turn, which is the same for all calls; what small calls are off by besides is not, so
 * launch and hops are held: left free, they make the median of left-out systems worse by a sixth.
 */
static const double rate_spread = .2, launch_spread = .05, hop_spread = .1;

/** Bytes up to which a call's time is latency for the most part. */
static const uint64_t most_latency_bytes = 65536;

/** Times by which a machine's own rows may be off in the median once it is fitted to them. No published system's are by 1.6. */
static const double most_off = 2;

/** Sends and receives: few channels limit these, not the links. */
static bool is_point(const struct ronde_published_row *row)
{
    return row->choice.algorithm == RONDE_NCCL_POINT;
}

/** Whether `row` says more of a machine than `than`, or is nearer to what anyone measures first: all_reduce on few nodes. */
static bool is_before(const struct ronde_published_row *row, const struct ronde_published_row *than)
{
    if (is_point(row) != is_point(than))
        return is_point(than);
    if (row->call.collective != than->call.collective &&
        (row->call.collective == RONDE_ALL_REDUCE || than->call.collective == RONDE_ALL_REDUCE))
        return row->call.collective == RONDE_ALL_REDUCE;
    return row->call.nodes < than->call.nodes;
}

static bool is_candidate(const struct ronde_published_row *row, uint32_t system)
{
    return row->system == system && row->state == RONDE_PUBLISHED_PREDICTED && !row->is_wrong;
}

size_t ronde_published_mark_anchor(struct ronde_published *published, uint32_t system, bool is_whole)
{
    struct ronde_published_row *first = NULL;
    size_t count = 0;
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (is_candidate(row, system) && (!first || is_before(row, first)))
            first = row;
    }
    const struct ronde_nccl_call call = first ? first->call : (struct ronde_nccl_call){.bytes = 0};
    for (size_t r = 0; first && r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (!is_candidate(row, system) || (!is_whole && (row->call.collective != call.collective ||
                                                         row->call.nodes != call.nodes)))
            continue;
        row->state = RONDE_PUBLISHED_FITTED;
        count++;
    }
    return count;
}

static bool is_fitted(const struct ronde_published_row *row, uint32_t system)
{
    return row->system == system && row->state == RONDE_PUBLISHED_FITTED;
}

/** What an anchor's rows are: how many, where they lie, whether latency is most of the time of some. */
static struct ronde_published_anchor look_at(const struct ronde_published *published,
                                             uint32_t system)
{
    const struct ronde_nccl_machine *machine = &published->systems[system].machine;
    struct ronde_published_anchor anchor = {.inside = {.rate = 1, .latency = 1},
                                            .between = {.rate = 1, .latency = 1}};
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        anchor.wrong += row->system == system && row->is_wrong;
        if (!is_fitted(row, system))
            continue;
        const struct ronde_nccl_call call = ronde_nccl_join(machine, &row->call).call;
        anchor.rows++;
        anchor.inside.is_fitted = anchor.inside.is_fitted || call.ranks > call.nodes;
        anchor.inside.is_ending = anchor.inside.is_ending || call.nodes == 1;
        anchor.between.is_fitted = anchor.between.is_fitted || call.nodes > 1;
        anchor.has_small = anchor.has_small || row->call.bytes <= most_latency_bytes;
    }
    anchor.between.is_ending = anchor.between.is_fitted;
    return anchor;
}

static void add_knob(struct published_fit *fit, double *value, double spread, double most)
{
    fit->knobs[fit->count++] = (struct published_knob){value, *value, spread, most, false};
}

/** A place's efficiency, and its latency where rows tell of it: large messages alone say nothing of latencies. */
static void take_place(struct published_fit *fit, const struct ronde_published_anchor *anchor,
                       const struct ronde_published_place *place, double *rate, double *latency)
{
    if (!place->is_fitted)
        return;
    add_knob(fit, rate, rate_spread, 2);
    if (anchor->has_small)
        add_knob(fit, latency, hop_spread, 1e6);
}

/**
 * Takes what an anchor says of the launch: how long the host needs for one GPU where a process launches on all of a node in turn,
 * which then hides what a kernel takes, else the kernel's own.
 */
static const double *take_launch(struct published_fit *fit, const struct ronde_nccl_machine *machine,
                                 bool is_in_turn, struct ronde_nccl_constants *constants)
{
    double *launch = &constants->launch_us;
    if (is_in_turn)
        launch = &constants->all[RONDE_NCCL_COMMON_launch_us_per_gpu].value;
    else
        *launch = ronde_nccl_launch_us(constants, machine);
    add_knob(fit, launch, is_in_turn ? rate_spread : launch_spread, 1e6);
    return launch;
}

struct ronde_published_anchor ronde_published_fit_system(const struct ronde_published *published,
                                                         uint32_t system,
                                                         struct ronde_nccl_constants *constants)
{
    const struct ronde_nccl_machine *machine = &published->systems[system].machine;
    struct ronde_published_anchor anchor = look_at(published, system);
    if (anchor.rows == 0)
        return anchor;
    struct published_fit fit = {.published = published,
                                .constants = constants,
                                .state = RONDE_PUBLISHED_FITTED,
                                .start_weight = own_start_weight};
    anchor.launch_us = ronde_nccl_launch_us(constants, machine);
    const double *launch = &anchor.launch_us;
    if (anchor.has_small) {
        anchor.is_in_turn = ronde_nccl_is_in_turn(machine, anchor.between.is_fitted ? 2 : 1);
        launch = take_launch(&fit, machine, anchor.is_in_turn, constants);
    }
    take_place(&fit, &anchor, &anchor.inside, &constants->links, &constants->inside);
    take_place(&fit, &anchor, &anchor.between, &constants->nics, &constants->between);
    published_weigh(&fit, system);
    published_lower(&fit);
    anchor.inside.rate = constants->links;
    anchor.inside.latency = constants->inside;
    anchor.between.rate = constants->nics;
    anchor.between.latency = constants->between;
    anchor.launch_us = *launch;
    return anchor;
}

/* A log as an anchor, as a user names one. */

/** Why a row cannot be fitted to. */
static const char *why_not(const struct ronde_published *published,
                           const struct ronde_published_row *row, struct ronde_error *room)
{
    if (row->state == RONDE_PUBLISHED_SMALL)
        return "fewer bytes than 1 KiB";
    if (row->is_wrong)
        return "results are wrong (#wrong)";
    const char *why = ronde_published_why_of(published, row, room);
    return why[0] != '\0' ? why : ronde_published_state_text(row->state);
}

/** No row of it can be fitted to: the reason of the first that is large enough, or of the first. */
static enum ronde_status fail_empty(const struct ronde_published *published, uint32_t system,
                                    const char *path, struct ronde_error *error)
{
    const char *name = published->systems[system].machine.name;
    const struct ronde_published_row *first = NULL;
    struct ronde_error room;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system == system && (!first || (first->state == RONDE_PUBLISHED_SMALL &&
                                                 row->state != RONDE_PUBLISHED_SMALL)))
            first = row;
    }
    if (!first)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: no time in it is of %s", path, name);
    return ronde_fail(error, RONDE_BAD_INPUT,
                      "%s: no time in it is of a call of at least %u B that %s can make and the "
                      "model has; line %u: %s",
                      path, RONDE_PUBLISHED_LEAST_BYTES, name, first->line,
                      why_not(published, first, &room));
}

/** The median of log(measured / predicted) of fitted rows. */
static enum ronde_status find_off(const struct ronde_published *published, uint32_t system,
                                  const struct ronde_nccl_constants *constants, double *out,
                                  struct ronde_error *error)
{
    const struct ronde_nccl_machine *machine = &published->systems[system].machine;
    double *offs = ronde_mem_new(published->mem, published->count, sizeof *offs);
    size_t count = 0;
    if (!offs)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", published->count);
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (is_fitted(row, system))
            offs[count++] = log(row->measured_us / ronde_nccl_execution_us(constants, machine,
                                                                           &row->call, row->choice));
    }
    *out = ronde_stats_of(offs, count).median;
    ronde_mem_free(published->mem, offs, published->count, sizeof *offs);
    return RONDE_OK;
}

enum ronde_status
ronde_published_anchor_to(struct ronde_published *published, uint32_t system, const char *path,
                          struct ronde_nccl_constants *constants, struct ronde_nccl_bands *bands,
                          struct ronde_published_anchor *out, struct ronde_error *error)
{
    double off = 0;
    if (ronde_published_mark_anchor(published, system, true) == 0)
        return fail_empty(published, system, path, error);
    *out = ronde_published_fit_system(published, system, constants);
    RONDE_TRY(find_off(published, system, constants, &off, error));
    if (fabs(off) > log(most_off))
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: its times are %.3g times what %s takes by its description, which no "
                          "fit makes good: describe the machine that was measured; `ronde doctor "
                          "%s` says what may be wrong with it",
                          path, exp(off), published->systems[system].machine.name, path);
    out->off = off;
    if (out->inside.is_ending)
        ronde_nccl_bands_anchor(bands, false);
    if (out->between.is_ending)
        ronde_nccl_bands_anchor(bands, true);
    return RONDE_OK;
}

/** "rate of links times 0.95, latency inside a node times 1.02, " of a place that rows were of. Returns what was written. */
static int print_place(const struct ronde_published_anchor *anchor,
                       const struct ronde_published_place *place, const char *rate,
                       const char *latency, char *out, size_t bytes)
{
    out[0] = '\0';
    if (!place->is_fitted)
        return 0;
    const int used = snprintf(out, bytes, "%s times %.2f, ", rate, place->rate);
    return anchor->has_small ? used + snprintf(out + used, bytes - (size_t)used, "%s times %.2f, ",
                                               latency, place->latency)
                             : used;
}

void ronde_published_anchor_text(const struct ronde_published_anchor *anchor,
                                 char out[RONDE_PUBLISHED_ANCHOR_BYTES])
{
    const size_t bytes = RONDE_PUBLISHED_ANCHOR_BYTES;
    int used =
        print_place(anchor, &anchor->inside, "rate of links", "latency inside a node", out, bytes);
    used += print_place(anchor, &anchor->between, "rate of NICs", "latency between nodes",
                        out + used, bytes - (size_t)used);
    used += anchor->has_small ? snprintf(out + used, bytes - (size_t)used, "launch %.1f us%s",
                                         anchor->launch_us, anchor->is_in_turn ? " a GPU" : "")
                              : snprintf(out + used, bytes - (size_t)used,
                                         "no size up to 64 KiB tells latency and launch");
    if (anchor->wrong > 0)
        snprintf(out + used, bytes - (size_t)used, "; left out: %zu with wrong results",
                 anchor->wrong);
}
