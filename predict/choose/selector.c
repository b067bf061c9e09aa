/** Choosing an algorithm. See selector.h. */
#define _POSIX_C_SOURCE 200809L

#include "ronde/selector.h"
#include "outline.h"
#include "ronde/values.h"

#include "ronde/data_files.h"
#include "ronde/pieces.h"
#include "ronde/setup.h"
#include "ronde/synthesize.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** The machine that stands for a backend nobody has measured on: what its ranks are most often joined by. */
static const struct {
    const char *backend;
    const char *topology;
} typical[] = {
    {"ucx", "ethernet-16"},
    {"hybrid", "ethernet-16"},
    {"cuda", "dgx-h100"},
};

/** Reads a platform by its path or its shipped name. */
static enum ronde_status read_platform(const char *topology, struct ronde_platform **out_platform,
                                       struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    ronde_find_topology(topology, path, sizeof path);
    return ronde_platform_read(path, ronde_mem_default(), out_platform, error);
}

static void drop_quotes(struct ronde_selector *selector)
{
    ronde_mem_free(ronde_mem_default(), selector->quotes, selector->choice.count,
                   sizeof *selector->quotes);
    selector->quotes = NULL;
}

static enum ronde_status reserve_quotes(struct ronde_selector *selector, struct ronde_error *error)
{
    const uint32_t count = selector->choice.count;
    selector->quotes = ronde_mem_new(ronde_mem_default(), count, sizeof *selector->quotes);
    return selector->quotes ? RONDE_OK
                            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u prices", count);
}

/** Candidates as they run on the machine: there are more than before. */
static enum ronde_status set_up(struct ronde_selector *selector,
                                const struct ronde_platform *platform, struct ronde_error *error)
{
    drop_quotes(selector);
    RONDE_TRY(ronde_choice_set_up(&selector->choice, platform, &selector->options, error));
    return reserve_quotes(selector, error);
}

/** Prices on a platform that was read before, or here, as so many ranks see it. */
static enum ronde_status open_platform(struct ronde_selector *selector,
                                       const struct ronde_platform *platform, uint32_t ranks,
                                       struct ronde_error *error)
{
    const struct ronde_platform *used = platform ? platform : selector->own;
    RONDE_TRY(ronde_platform_pricer_open(used, &selector->options, ranks,
                                         &selector->platform_pricer, error));
    if (!selector->options.is_run && ranks == selector->choice.candidates[0].request.ranks)
        RONDE_TRY(set_up(selector, used, error));
    selector->pricer = ronde_platform_pricer_pricer(&selector->platform_pricer);
    selector->basis = RONDE_BASIS_PLATFORM;
    snprintf(selector->words, sizeof selector->words, "price on %s (%s)",
             ronde_platform_facts(used)->name, ronde_platform_path(used));
    return RONDE_OK;
}

/** Ranks beyond the hosts of a typical machine see the network of all its hosts. */
static enum ronde_status open_typical(struct ronde_selector *selector, const char *topology,
                                      const char *backend, struct ronde_error *error)
{
    const uint32_t ranks = selector->choice.candidates[0].request.ranks;
    RONDE_TRY(read_platform(topology, &selector->own, error));
    const uint32_t hosts = ronde_platform_facts(selector->own)->hosts;
    RONDE_TRY(open_platform(selector, NULL, ranks < hosts ? ranks : hosts, error));
    selector->platform_pricer.is_stretched = ranks > hosts;
    const size_t length = strlen(selector->words);
    selector->basis = RONDE_BASIS_TYPICAL;
    snprintf(selector->words + length, sizeof selector->words - length, ", which stands for %s",
             backend);
    return RONDE_OK;
}

/** Whether any table is there: then a collective it lacks is worth a word. */
static bool has_table(const char *backend)
{
    char path[RONDE_PATH_BYTES];
    for (uint32_t place = 0; place < RONDE_MEASURED_PLACES; place++)
        if (ronde_measured_path(place, backend, path, sizeof path) && access(path, F_OK) == 0)
            return true;
    return false;
}

/** Looks for measured times of the backend; leaves the table NULL where there are none. */
static enum ronde_status open_measured(struct ronde_selector *selector, const char *backend,
                                       uint32_t cores, struct ronde_error *error)
{
    const struct ronde_compile_request *request = &selector->choice.candidates[0].request;
    RONDE_TRY(ronde_measured_find(backend, request->collective, request->ranks, cores,
                                  ronde_mem_default(), &selector->table, &selector->measured, error));
    if (!selector->table)
        return RONDE_OK;
    selector->pricer = ronde_measured_pricer(&selector->measured);
    selector->basis = RONDE_BASIS_MEASURED;
    snprintf(selector->words, sizeof selector->words, "times measured on %s, %u ranks, %s, %s",
             backend, selector->measured.ranks, selector->table->machine, selector->table->date);
    ronde_measured_say(selector->measured.left_out, selector->words, sizeof selector->words);
    return RONDE_OK;
}

static enum ronde_status open_backend(struct ronde_selector *selector, const char *backend,
                                      uint32_t cores, struct ronde_error *error)
{
    const struct ronde_compile_request *request = &selector->choice.candidates[0].request;
    enum ronde_status status = open_measured(selector, backend, cores, error);
    if (status != RONDE_OK || selector->table)
        return status;
    const struct ronde_measured_view looked = selector->measured;
    for (size_t i = 0; i < sizeof typical / sizeof typical[0]; i++)
        if (strcmp(typical[i].backend, backend) == 0) {
            status = open_typical(selector, typical[i].topology, backend, error);
            ronde_measured_say(looked.left_out, selector->words, sizeof selector->words);
            return status;
        }
    if (looked.left_out[0])
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "nothing is known of how fast %s is, for its table is left out (%s): name "
            "an algorithm with -a, or a machine with --topo",
            backend, looked.left_out);
    if (has_table(backend))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "no times of %s on %s are known: name an algorithm with -a, or a machine "
                          "with --topo",
                          ronde_collective_text(request->collective), backend);
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "nothing is known of how fast %s is: name an algorithm with -a, or a machine "
                      "with --topo",
                      backend);
}

enum ronde_status ronde_selector_open(const struct ronde_tune_options *options,
                                      const struct ronde_compile_request *request,
                                      struct ronde_selector *out_selector, struct ronde_error *error)
{
    *out_selector = (struct ronde_selector){.options = *options};
    RONDE_TRY(ronde_choice_init(request, ronde_mem_default(), &out_selector->choice, error));
    return reserve_quotes(out_selector, error);
}

enum ronde_status ronde_selector_offer(struct ronde_selector *selector,
                                       const struct ronde_schedule *schedule, const char *name,
                                       struct ronde_error *error)
{
    drop_quotes(selector);
    RONDE_TRY(ronde_choice_offer(&selector->choice, schedule, name, error));
    return reserve_quotes(selector, error);
}

enum ronde_status ronde_selector_use(struct ronde_selector *selector,
                                     const struct ronde_platform *platform, const char *backend,
                                     uint32_t cores, struct ronde_error *error)
{
    const uint32_t ranks = selector->choice.candidates[0].request.ranks;
    if (!platform && !selector->options.topology)
        return open_backend(selector, backend, cores, error);
    if (!platform)
        RONDE_TRY(read_platform(selector->options.topology, &selector->own, error));
    return open_platform(selector, platform, ranks, error);
}

void ronde_selector_close(struct ronde_selector *selector)
{
    drop_quotes(selector);
    ronde_choice_fini(&selector->choice);
    ronde_platform_destroy(selector->own);
    ronde_measured_destroy(selector->table, ronde_mem_default());
    *selector = (struct ronde_selector){.quotes = NULL};
}

enum ronde_status ronde_selector_borrow(const struct ronde_selector *selector,
                                        struct ronde_selector *out_selector,
                                        struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t count = selector->choice.count;
    struct ronde_candidate *candidates = ronde_mem_new(mem, count, sizeof *candidates);
    *out_selector = *selector;
    out_selector->own = NULL;
    out_selector->table = NULL;
    out_selector->quotes = NULL;
    out_selector->choice = (struct ronde_choice){.mem = mem, .candidates = candidates};
    if (!candidates)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u candidates", count);
    out_selector->choice.count = count;
    out_selector->choice.capacity = count;
    for (uint32_t i = 0; i < count; i++) {
        struct ronde_candidate *lent = &selector->choice.candidates[i];
        if (!lent->outline)
            lent->outline = ronde_outline_create(mem);
        candidates[i] = *lent;
        candidates[i].own = NULL;
        candidates[i].memo = NULL;
        if (!lent->outline)
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a price of %s",
                              lent->request.algorithm);
    }
    out_selector->pricer = ronde_platform_pricer_pricer(&out_selector->platform_pricer);
    return reserve_quotes(out_selector, error);
}

void ronde_selector_return(struct ronde_selector *selector)
{
    for (uint32_t i = 0; i < selector->choice.count; i++) {
        selector->choice.candidates[i].outline = NULL;
        selector->choice.candidates[i].host_of = NULL;
        selector->choice.candidates[i].orders = NULL;
    }
    if (selector->choice.mem)
        ronde_selector_close(selector);
}

static struct ronde_load load_of(const struct ronde_selector *selector, uint64_t count)
{
    if (selector->platform_pricer.platform)
        return ronde_platform_pricer_load(&selector->platform_pricer, count);
    return (struct ronde_load){.count = count,
                               .dtype = selector->options.dtype,
                               .slot_bytes = selector->options.slot_bytes,
                               .depth = selector->options.depth};
}

/** Why nothing was decided. */
static enum ronde_status fail_to_decide(const struct ronde_selector *selector,
                                        struct ronde_error *error)
{
    const struct ronde_compile_request *request = &selector->choice.candidates[0].request;
    if (selector->options.only)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s of %s: exact engines have too much work at this size; --engine "
                          "flat_fifo may do it in seconds, longer pieces (--slot) are less work",
                          selector->options.only, ronde_collective_text(request->collective));
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "nobody knows how fast any algorithm of %s is: name one with -a",
                      ronde_collective_text(request->collective));
}

enum ronde_status ronde_selector_decide(struct ronde_selector *selector, uint64_t count,
                                        struct ronde_decision *out_decision,
                                        struct ronde_error *error)
{
    struct ronde_decision decision = {.load = load_of(selector, count)};
    RONDE_TRY(ronde_choice_price(&selector->choice, &decision.load, &selector->pricer,
                                 selector->quotes, error));
    decision.best = ronde_choice_best(&selector->choice, selector->quotes, RONDE_NONE);
    decision.second = ronde_choice_best(&selector->choice, selector->quotes, decision.best);
    if (decision.best == RONDE_NONE)
        return fail_to_decide(selector, error);
    decision.may_be_nearer =
        decision.second != RONDE_NONE && selector->quotes[decision.second].promised_ns > 0;
    decision.slot_bytes = selector->platform_pricer.platform
                              ? selector->quotes[decision.best].slot_bytes
                              : decision.load.slot_bytes;
    *out_decision = decision;
    return RONDE_OK;
}

struct ronde_forecast ronde_decision_forecast(const struct ronde_selector *selector,
                                              const struct ronde_decision *decision)
{
    struct ronde_forecast forecast =
        ronde_candidate_forecast(&selector->choice.candidates[decision->best],
                                 selector->platform_pricer.platform, &selector->options);
    forecast.slot_bytes = decision->slot_bytes;
    return forecast;
}

const char *ronde_candidate_options(const struct ronde_candidate *candidate,
                                    const struct ronde_load *load, uint64_t slot_bytes,
                                    char out_text[RONDE_SETUP_OPTIONS_BYTES])
{
    struct ronde_load by_default = *load;
    char slot[RONDE_SIZE_TEXT_BYTES];
    size_t used = 0;
    out_text[0] = '\0';
    ronde_load_cut(&by_default, candidate->schedule);
    /* A schedule that was offered, or made for the machine, has its own. */
    if (candidate->algorithm && candidate->request.channels > 0)
        used += (size_t)snprintf(out_text, RONDE_SETUP_OPTIONS_BYTES, " --channels %u",
                                 candidate->request.channels);
    if (candidate->placement != RONDE_PLACE_AUTO)
        used += (size_t)snprintf(out_text + used, RONDE_SETUP_OPTIONS_BYTES - used,
                                 " --placement %s", ronde_placement_text(candidate->placement));
    /* 0: its messages are whole by itself, whatever slot was asked for. By name, what is made for the machine is cut anew. */
    if (slot_bytes > 0 &&
        (slot_bytes != by_default.slot_bytes || ronde_is_synthesized(candidate->request.algorithm)))
        snprintf(out_text + used, RONDE_SETUP_OPTIONS_BYTES - used, " --slot %s",
                 ronde_size_text(slot_bytes, slot));
    if (out_text[0] == ' ')
        memmove(out_text, out_text + 1, strlen(out_text));
    return out_text;
}

const char *ronde_decision_options(const struct ronde_selector *selector,
                                   const struct ronde_decision *decision,
                                   char out_text[RONDE_SETUP_OPTIONS_BYTES])
{
    const struct ronde_candidate *candidate = &selector->choice.candidates[decision->best];
    out_text[0] = '\0';
    if (!selector->platform_pricer.platform)
        return out_text;
    (void)ronde_candidate_options(candidate, &decision->load, decision->slot_bytes, out_text);
    if (selector->options.forests == RONDE_FORESTS_ALL &&
        ronde_is_synthesized(candidate->request.algorithm)) {
        const size_t used = strlen(out_text);
        snprintf(out_text + used, RONDE_SETUP_OPTIONS_BYTES - used, "%s--synthesize",
                 used > 0 ? " " : "");
    }
    return out_text;
}
