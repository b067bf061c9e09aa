/* Who chooses the algorithm. See chooser.h. */
#include "chooser.h"

#include "given.h"
#include "table.h"

#include <string.h>

/* The machine that stands for a backend nobody has measured on: what its ranks are most often joined by. */
static const struct {
    const char *backend;
    const char *topology;
} typical[] = {
    {"ucx", "ethernet-16"},
    {"hybrid", "ethernet-16"},
    {"cuda", "dgx-h100"},
};

bool ronde_is_auto(const struct ronde_options *options)
{
    if (ronde_is_given(options) || options->algorithm_count > 1)
        return false;
    return options->algorithm_count == 0 || strcmp(options->algorithms[0], "auto") == 0;
}

/* Prices on a platform that was read before, or here, as so many ranks see it. */
static enum ronde_status open_platform(struct ronde_chooser *chooser,
                                       const struct ronde_platform *platform, uint32_t ranks,
                                       struct ronde_error *error)
{
    const struct ronde_platform *used = platform ? platform : chooser->own;
    const enum ronde_status status =
        ronde_appraiser_open(used, chooser->options, ranks, &chooser->appraiser, error);
    if (status != RONDE_OK)
        return status;
    chooser->pricer = ronde_appraiser_pricer(&chooser->appraiser);
    snprintf(chooser->basis, sizeof chooser->basis, "price on %s (%s)",
             ronde_platform_facts(used)->name, ronde_platform_path(used));
    return RONDE_OK;
}

/* Ranks beyond the hosts of a typical machine see the network of all its hosts. */
static enum ronde_status open_typical(struct ronde_chooser *chooser, const char *topology,
                                      const char *backend, struct ronde_error *error)
{
    struct ronde_options options = *chooser->options;
    const uint32_t ranks = chooser->choice.candidates[0].request.ranks;
    options.topo = topology;
    enum ronde_status status = ronde_open_platform(&options, &chooser->own, error);
    if (status != RONDE_OK)
        return status;
    const uint32_t hosts = ronde_platform_facts(chooser->own)->hosts;
    status = open_platform(chooser, NULL, ranks < hosts ? ranks : hosts, error);
    if (status != RONDE_OK)
        return status;
    chooser->appraiser.is_stretched = ranks > hosts;
    const size_t length = strlen(chooser->basis);
    snprintf(chooser->basis + length, sizeof chooser->basis - length,
             ", which stands for %s; --topo names another machine", backend);
    return RONDE_OK;
}

static enum ronde_status open_measured(struct ronde_chooser *chooser,
                                       const struct ronde_measured *table, uint32_t cores,
                                       struct ronde_error *error)
{
    const struct ronde_request *request = &chooser->choice.candidates[0].request;
    if (!ronde_measured_look(table, request->collective, request->ranks, cores, &chooser->measured))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "no times of %s on %s are known: name an algorithm with -a, or a machine "
                          "with --topo",
                          ronde_collective_text(request->collective), table->backend);
    chooser->pricer = ronde_measured_pricer(&chooser->measured);
    snprintf(chooser->basis, sizeof chooser->basis,
             "times measured on %s, %u ranks, %s; --topo prices another machine, -a race measures "
             "this one",
             table->backend, chooser->measured.ranks, table->machine);
    return RONDE_OK;
}

/* host runs what cpu runs, in order: what is fast there says something of neither, so it gets what cpu would. */
static const struct ronde_measured *find_table(const char *backend)
{
    return ronde_measured_find(strcmp(backend, "host") == 0 ? "cpu" : backend);
}

static enum ronde_status open_backend(struct ronde_chooser *chooser, const char *backend,
                                      uint32_t cores, struct ronde_error *error)
{
    const struct ronde_measured *table = find_table(backend);
    if (table)
        return open_measured(chooser, table, cores, error);
    for (size_t i = 0; i < sizeof typical / sizeof typical[0]; i++)
        if (strcmp(typical[i].backend, backend) == 0)
            return open_typical(chooser, typical[i].topology, backend, error);
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "nothing is known of how fast %s is: name an algorithm with -a, or a machine "
                      "with --topo",
                      backend);
}

enum ronde_status ronde_chooser_open(const struct ronde_options *options,
                                     const struct ronde_request *request,
                                     struct ronde_chooser *out_chooser, struct ronde_error *error)
{
    *out_chooser = (struct ronde_chooser){.options = options};
    const enum ronde_status status =
        ronde_choice_init(request, ronde_mem_default(), &out_chooser->choice, error);
    if (status != RONDE_OK)
        return status;
    const uint32_t count = out_chooser->choice.count;
    out_chooser->quotes = ronde_mem_new(ronde_mem_default(), count, sizeof *out_chooser->quotes);
    return out_chooser->quotes
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u prices", count);
}

enum ronde_status ronde_chooser_rely(struct ronde_chooser *chooser,
                                     const struct ronde_platform *platform, const char *backend,
                                     uint32_t cores, struct ronde_error *error)
{
    const uint32_t ranks = chooser->choice.candidates[0].request.ranks;
    enum ronde_status status = RONDE_OK;
    if (!platform && !chooser->options->topo)
        return open_backend(chooser, backend, cores, error);
    if (!platform)
        status = ronde_open_platform(chooser->options, &chooser->own, error);
    return status == RONDE_OK ? open_platform(chooser, platform, ranks, error) : status;
}

void ronde_chooser_close(struct ronde_chooser *chooser)
{
    ronde_mem_free(ronde_mem_default(), chooser->quotes, chooser->choice.count,
                   sizeof *chooser->quotes);
    ronde_choice_fini(&chooser->choice);
    ronde_platform_destroy(chooser->own);
    *chooser = (struct ronde_chooser){.options = NULL};
}

static struct ronde_load load_of(const struct ronde_chooser *chooser, uint64_t count)
{
    if (chooser->appraiser.platform)
        return ronde_appraiser_load(&chooser->appraiser, count);
    return (struct ronde_load){.count = count,
                               .dtype = chooser->options->dtype,
                               .slot_bytes = chooser->options->slot_bytes,
                               .depth = chooser->options->depth};
}

enum ronde_status ronde_chooser_decide(struct ronde_chooser *chooser, uint64_t count,
                                       struct ronde_decision *out_decision,
                                       struct ronde_error *error)
{
    struct ronde_decision decision = {.load = load_of(chooser, count)};
    const enum ronde_status status = ronde_choice_price(&chooser->choice, &decision.load,
                                                        &chooser->pricer, chooser->quotes, error);
    if (status != RONDE_OK)
        return status;
    decision.best = ronde_choice_best(&chooser->choice, chooser->quotes, RONDE_NONE);
    decision.second = ronde_choice_best(&chooser->choice, chooser->quotes, decision.best);
    if (decision.best == RONDE_NONE)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "nobody knows how fast any algorithm of %s is: name one with -a",
                          ronde_collective_text(chooser->choice.candidates[0].request.collective));
    *out_decision = decision;
    return RONDE_OK;
}

void ronde_chooser_say(const struct ronde_chooser *chooser, const struct ronde_decision *decision,
                       char *out_text, size_t bytes)
{
    const struct ronde_quote *best = &chooser->quotes[decision->best];
    const int length = snprintf(out_text, bytes, "%s: %s us (%s)",
                                chooser->choice.candidates[decision->best].request.algorithm,
                                ronde_cell_us(best->time_ns).text, best->engine);
    if (decision->second != RONDE_NONE && length > 0 && (size_t)length < bytes)
        snprintf(out_text + length, bytes - (size_t)length, ", next %s %s us",
                 chooser->choice.candidates[decision->second].request.algorithm,
                 ronde_cell_us(chooser->quotes[decision->second].time_ns).text);
}
