/** One algorithm for one launch. See select.h. */
#include "ronde/select.h"

#include <stdio.h>
#include <string.h>

/** Ranks of several hosts: one switch of 100 Gbit/s ports, TCP. */
static const struct ronde_network several_hosts = {.latency_ns = 20e3, .port_GBps = 12.5};

/** Ranks of one host: messages through shared memory, copied by one core. */
static const struct ronde_network one_host = {.time = {.copy_GBps = 8, .gamma_GBps = 8},
                                              .latency_ns = 200,
                                              .port_GBps = 8};

/** Where a slot is not given: the network transports' own. */
#define SLOT_BYTES 65536u

/** The candidates of a query, and what they take. */
struct candidates {
    struct ronde_choice choice;
    struct ronde_quote *quotes; /**< choice.count of them */
};

/** The cheapest, or RONDE_NONE where the pricer has no time for any. */
static enum ronde_status pick(const struct candidates *all, const struct ronde_load *load,
                              const struct ronde_pricer *pricer, uint32_t *out_best,
                              struct ronde_error *error)
{
    const enum ronde_status status =
        ronde_choice_price(&all->choice, load, pricer, all->quotes, error);
    *out_best =
        status == RONDE_OK ? ronde_choice_best(&all->choice, all->quotes, RONDE_NONE) : RONDE_NONE;
    return status;
}

static enum ronde_status
ask_platform(const struct ronde_select_query *query, const struct candidates *all,
             struct ronde_selection *selection, uint32_t *out_best, struct ronde_error *error)
{
    const struct ronde_tune_options options = {.dtype = query->dtype,
                                               .op = query->op,
                                               .slot_bytes = query->slot_bytes};
    struct ronde_platform_pricer own;
    RONDE_TRY(
        ronde_platform_pricer_open(query->platform, &options, query->request.ranks, &own, error));
    const struct ronde_load load = ronde_platform_pricer_load(&own, query->count);
    const struct ronde_pricer pricer = ronde_platform_pricer_pricer(&own);
    selection->basis = RONDE_BASIS_PLATFORM;
    snprintf(selection->words, sizeof selection->words, "price on %s (%s)",
             ronde_platform_facts(query->platform)->name, ronde_platform_path(query->platform));
    return pick(all, &load, &pricer, out_best, error);
}

static struct ronde_load load_of(const struct ronde_select_query *query)
{
    return (struct ronde_load){.count = query->count,
                               .dtype = query->dtype,
                               .slot_bytes = query->slot_bytes ? query->slot_bytes : SLOT_BYTES};
}

static enum ronde_status ask_table(const struct ronde_select_query *query,
                                   const struct candidates *all, const struct ronde_mem *mem,
                                   struct ronde_selection *selection, uint32_t *out_best,
                                   struct ronde_error *error)
{
    const struct ronde_load load = load_of(query);
    struct ronde_measured *table = NULL;
    struct ronde_measured_view view;
    enum ronde_status status =
        ronde_measured_find(query->backend, query->request.collective, query->request.ranks,
                            query->cores, mem, &table, &view, error);
    if (status == RONDE_OK && table) {
        const struct ronde_pricer pricer = ronde_measured_pricer(&view);
        selection->basis = RONDE_BASIS_MEASURED;
        snprintf(selection->words, sizeof selection->words, "times measured on %s, %u ranks, %s, %s",
                 query->backend, view.ranks, table->machine, table->date);
        status = pick(all, &load, &pricer, out_best, error);
    }
    memcpy(selection->left_out, view.left_out, sizeof selection->left_out);
    ronde_measured_destroy(table, mem);
    return status;
}

static enum ronde_status ask_default(const struct ronde_select_query *query,
                                     const struct candidates *all, struct ronde_selection *selection,
                                     uint32_t *out_best, struct ronde_error *error)
{
    const struct ronde_load load = load_of(query);
    const struct ronde_pricer pricer =
        ronde_network_pricer(query->is_one_host ? &one_host : &several_hosts);
    selection->basis = RONDE_BASIS_DEFAULT;
    snprintf(selection->words, sizeof selection->words, "price on a nominal network of %s",
             query->is_one_host ? "ranks of one host" : "hosts at 100 Gbit/s");
    return pick(all, &load, &pricer, out_best, error);
}

/** Asks one after another until something has a time for a candidate. */
static enum ronde_status decide(const struct ronde_select_query *query,
                                const struct candidates *all, const struct ronde_mem *mem,
                                struct ronde_selection *selection, struct ronde_error *error)
{
    uint32_t best = RONDE_NONE;
    if (query->platform)
        RONDE_TRY(ask_platform(query, all, selection, &best, error));
    if (best == RONDE_NONE && query->backend)
        RONDE_TRY(ask_table(query, all, mem, selection, &best, error));
    if (best == RONDE_NONE)
        RONDE_TRY(ask_default(query, all, selection, &best, error));
    if (best == RONDE_NONE)
        return ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm of %s has %s on %u ranks",
                          ronde_collective_text(query->request.collective),
                          query->needs_v_form ? "blocks of different lengths" : "a price",
                          query->request.ranks);
    ronde_measured_say(selection->left_out, selection->words, sizeof selection->words);
    selection->algorithm = all->choice.candidates[best].algorithm->name;
    selection->time_ns = all->quotes[best].time_ns;
    return RONDE_OK;
}

enum ronde_status ronde_select(const struct ronde_select_query *query, const struct ronde_mem *mem,
                               struct ronde_selection *out_selection, struct ronde_error *error)
{
    struct candidates all = {.quotes = NULL};
    struct ronde_selection selection = {.algorithm = NULL};
    RONDE_TRY(ronde_choice_init(&query->request, mem, &all.choice, error));
    const uint32_t count = all.choice.count;
    /* What cannot do what is asked is not chosen, whatever it costs. */
    for (uint32_t c = 0; c < count; c++)
        if (query->needs_v_form && all.choice.candidates[c].schedule->v_form == RONDE_V_NONE)
            all.choice.candidates[c].is_eligible = false;
    all.quotes = ronde_mem_new(mem, count, sizeof *all.quotes);
    const enum ronde_status status =
        all.quotes ? decide(query, &all, mem, &selection, error)
                   : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u prices", count);
    if (status == RONDE_OK)
        *out_selection = selection;
    ronde_mem_free(mem, all.quotes, count, sizeof *all.quotes);
    ronde_choice_fini(&all.choice);
    return status;
}
