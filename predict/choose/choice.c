/** Choosing an algorithm: candidates, their prices on a flat network, the cheapest. See choice.h. */
#include "ronde/pieces.h"
#include "ronde/setup.h"

#include "outline.h"

#include "ronde/split.h"
#include "ronde/synthesize.h"

#include <math.h>
#include <string.h>

/** Closed forms that differ by less say the same: they are sums of a few thousand rounded terms. */
#define ROUNDING 1e-9

/** How far above the bounds that are left a winner's time may be, and a runner-up's, which is only to be compared with. */
#define WINNER_SLACK 0.005
#define SECOND_SLACK 0.1

/** A pricer's engines, as records name them. */
static const char closed_form[] = "closed_form";
static const char longest_path[] = "dag";

/** Room for one candidate more, zeroed and not counted yet. */
static struct ronde_candidate *new_candidate(struct ronde_choice *choice, struct ronde_error *error)
{
    if (!ronde_mem_grow(choice->mem, &choice->candidates, &choice->capacity,
                        (size_t)choice->count + 1, sizeof *choice->candidates)) {
        ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u candidates", choice->count + 1);
        return NULL;
    }
    choice->candidates[choice->count] = (struct ronde_candidate){.own = NULL};
    return &choice->candidates[choice->count];
}

enum ronde_status ronde_choice_add(struct ronde_choice *choice,
                                   struct ronde_candidate **out_candidate, struct ronde_error *error)
{
    *out_candidate = new_candidate(choice, error);
    if (!*out_candidate)
        return RONDE_NO_MEMORY;
    choice->count++;
    return RONDE_OK;
}

enum ronde_status
ronde_choice_take(struct ronde_choice *choice, const struct ronde_compile_request *request,
                  const char *name, struct ronde_schedule *schedule,
                  struct ronde_candidate **out_candidate, struct ronde_error *error)
{
    const enum ronde_status status = ronde_choice_add(choice, out_candidate, error);
    if (status != RONDE_OK) {
        ronde_schedule_destroy(schedule);
        return status;
    }
    **out_candidate = (struct ronde_candidate){.request = *request,
                                               .schedule = schedule,
                                               .own = schedule,
                                               .is_eligible = !schedule->proof.rank_dependent_bits,
                                               .placement = RONDE_PLACE_AUTO};
    (*out_candidate)->request.algorithm = name;
    (*out_candidate)->request.channels = schedule->channel_count;
    return RONDE_OK;
}

/** Whether a schedule was refused for its size alone: nothing is wrong with it that the prover knows of. */
static bool is_too_large(enum ronde_status status, const struct ronde_proof *proof)
{
    return status == RONDE_REJECTED && proof->finding_count > 0 &&
           proof->findings[0].code == RONDE_FINDING_NOT_PROVED;
}

static enum ronde_status
add_algorithm(struct ronde_choice *choice, const struct ronde_algorithm *algorithm,
              const struct ronde_compile_request *request, struct ronde_error *error)
{
    struct ronde_candidate *candidate = new_candidate(choice, error);
    if (!candidate)
        return RONDE_NO_MEMORY;
    struct ronde_proof proof;
    *candidate = (struct ronde_candidate){.algorithm = algorithm, .request = *request};
    candidate->request.algorithm = algorithm->name;
    const enum ronde_status status =
        ronde_compile(&candidate->request, choice->mem, &proof, &candidate->own, error);
    if (status != RONDE_OK)
        return is_too_large(status, &proof) ? RONDE_UNSUPPORTED : status;
    candidate->schedule = candidate->own;
    candidate->is_eligible = !candidate->own->proof.rank_dependent_bits;
    choice->count++;
    return RONDE_OK;
}

enum ronde_status ronde_choice_init(const struct ronde_compile_request *request,
                                    const struct ronde_mem *mem, struct ronde_choice *out_choice,
                                    struct ronde_error *error)
{
    struct ronde_choice choice = {.mem = mem};
    struct ronde_error why = {RONDE_OK, 0, ""};
    enum ronde_status status = RONDE_OK;
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    *out_choice = choice;
    for (uint32_t i = 0; i < total && status == RONDE_OK; i++) {
        if (all[i]->collective != request->collective)
            continue;
        why = (struct ronde_error){RONDE_OK, 0, ""};
        status = add_algorithm(&choice, all[i], request, &why);
        /* What does not serve the request or is too large to prove does not compete; what else goes wrong is wrong for all. */
        if (status == RONDE_UNSUPPORTED)
            status = RONDE_OK;
    }
    if (status == RONDE_OK && choice.count == 0)
        status = RONDE_UNSUPPORTED;
    if (status != RONDE_OK) {
        ronde_choice_fini(&choice);
        return ronde_fail(error, status, "%s", why.message);
    }
    *out_choice = choice;
    return RONDE_OK;
}

enum ronde_status ronde_choice_offer(struct ronde_choice *choice,
                                     const struct ronde_schedule *schedule, const char *name,
                                     struct ronde_error *error)
{
    const struct ronde_compile_request *first = &choice->candidates[0].request;
    if (schedule->collective != first->collective || schedule->ranks != first->ranks ||
        schedule->root != first->root)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s is %s on %u ranks with root %u, others are %s on %u with root %u",
                          name ? name : schedule->algorithm,
                          ronde_collective_text(schedule->collective), schedule->ranks,
                          schedule->root, ronde_collective_text(first->collective), first->ranks,
                          first->root);
    struct ronde_compile_request request = *first;
    struct ronde_candidate *candidate = new_candidate(choice, error);
    if (!candidate)
        return RONDE_NO_MEMORY;
    request.algorithm = name ? name : schedule->algorithm;
    request.channels = schedule->channel_count;
    *candidate = (struct ronde_candidate){.request = request,
                                          .schedule = schedule,
                                          .is_eligible = !schedule->proof.rank_dependent_bits};
    choice->count++;
    return RONDE_OK;
}

/* Set-ups of one request share a schedule, which one of them owns. */
struct ronde_schedule *ronde_choice_take_schedule(struct ronde_choice *choice, uint32_t candidate)
{
    const struct ronde_schedule *schedule = choice->candidates[candidate].schedule;
    for (uint32_t i = 0; i < choice->count; i++) {
        struct ronde_schedule *own = choice->candidates[i].own;
        if (own != schedule)
            continue;
        choice->candidates[i].own = NULL;
        return own;
    }
    return NULL;
}

void ronde_candidate_close(struct ronde_candidate *candidate, const struct ronde_mem *mem)
{
    ronde_sim_memo_destroy(candidate->memo);
    ronde_outline_destroy(candidate->outline, mem);
    ronde_schedule_destroy(candidate->own);
    ronde_mem_free(mem, candidate->host_of, candidate->request.ranks, sizeof *candidate->host_of);
    ronde_mem_free(mem, candidate->orders, candidate->orders_count, sizeof *candidate->orders);
    *candidate = (struct ronde_candidate){.own = NULL};
}

void ronde_choice_fini(struct ronde_choice *choice)
{
    for (uint32_t i = 0; i < choice->count; i++)
        ronde_candidate_close(&choice->candidates[i], choice->mem);
    if (choice->mem)
        ronde_mem_free(choice->mem, choice->candidates, choice->capacity,
                       sizeof *choice->candidates);
    *choice = (struct ronde_choice){.mem = NULL};
}

uint32_t ronde_choice_find(const struct ronde_choice *choice, const char *algorithm)
{
    for (uint32_t i = 0; i < choice->count; i++)
        if (strcmp(choice->candidates[i].request.algorithm, algorithm) == 0)
            return i;
    return RONDE_NONE;
}

/** Of two that take as long: whether a has less to do, in fewer lanes; a price does not know all that a step costs. */
static bool is_simpler(const struct ronde_schedule *a, const struct ronde_schedule *b)
{
    const uint64_t a_steps = a->proof.steps * a->channel_count;
    const uint64_t b_steps = b->proof.steps * b->channel_count;
    return a_steps != b_steps
               ? a_steps < b_steps
               : a->max_lane_count * a->channel_count < b->max_lane_count * b->channel_count;
}

/** Set-ups of one algorithm are not each other's runners-up, nor are schedules made for the machine. */
static bool is_of(const struct ronde_choice *choice, uint32_t candidate, uint32_t other)
{
    if (other == RONDE_NONE)
        return false;
    const char *one = choice->candidates[candidate].request.algorithm;
    const char *two = choice->candidates[other].request.algorithm;
    return strcmp(ronde_algorithm_family(one), ronde_algorithm_family(two)) == 0;
}

/** What every library has is worth a hundredth over a schedule that was made for the machine, which has to be brought there. */
#define MADE 1.01

double ronde_candidate_compared(const struct ronde_candidate *candidate, double time_ns)
{
    return time_ns * (ronde_is_synthesized(candidate->request.algorithm) ? MADE : 1);
}

static double compared_ns(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                          uint32_t candidate)
{
    return ronde_candidate_compared(&choice->candidates[candidate], quotes[candidate].time_ns);
}

/** The time of a candidate as compared; INFINITY of none. */
static double time_of(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                      uint32_t candidate)
{
    return candidate == RONDE_NONE ? INFINITY : compared_ns(choice, quotes, candidate);
}

/**
 * Whose price is the cheapest of: those that have a time, of these those without copies of channels; those that have a bound or
 * promise less than their time, of these who is not long to replay.
 */
enum priced { TIMED, SINGLE, OPEN, OPEN_SHORT };

/** What is to be settled of a quote: its bound, or what it promises. INFINITY: nothing. */
static double open_ns(const struct ronde_quote *quote)
{
    return quote->is_bound                  ? quote->time_ns
           : quote->promised_slot_bytes > 0 ? quote->promised_ns
                                            : INFINITY;
}

static double priced_ns(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                        uint32_t candidate, enum priced priced)
{
    const struct ronde_quote *quote = &quotes[candidate];
    return ronde_candidate_compared(&choice->candidates[candidate],
                                    priced >= OPEN ? open_ns(quote) : quote->time_ns);
}

/**
 * Copies of channels are of interest where what they are copies of is as near the best without any, where they promise as much as is
 * worth their replay, and more than FIRST doublings where fewer have gained.
 */
#define NEAR 1.5
#define WORTH 0.98
#define GAINED 0.995
#define FIRST 2u

/** What copies are held against: the best time, and the best without copies; 0: nothing is as near. */
struct best {
    double all_ns, single_ns;
};

/** Whether a candidate's channels are copies of those of one that is not near the best, or promise nothing. */
static bool is_idle_copy(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                         uint32_t candidate, const struct best *best)
{
    uint32_t of = candidate, doublings = 0;
    double least_ns = INFINITY;
    for (; choice->candidates[of].turns_of > 0; doublings++) {
        if (!quotes[of].is_bound)
            least_ns = fmin(least_ns, compared_ns(choice, quotes, of));
        of = choice->candidates[of].turns_of - 1;
    }
    const double of_ns = compared_ns(choice, quotes, of);
    return doublings > 0 && (quotes[of].is_bound || of_ns > NEAR * best->single_ns ||
                             (doublings > FIRST && least_ns > GAINED * of_ns) ||
                             priced_ns(choice, quotes, candidate, OPEN) > WORTH * best->all_ns);
}

static bool is_priced(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                      const struct ronde_load *load, const struct best *best, uint32_t candidate,
                      enum priced priced)
{
    const struct ronde_candidate *one = &choice->candidates[candidate];
    return one->is_eligible && isfinite(priced_ns(choice, quotes, candidate, priced)) &&
           (priced >= OPEN || !quotes[candidate].is_bound) &&
           (priced != SINGLE || one->turns_of == 0) &&
           (priced < OPEN || !is_idle_copy(choice, quotes, candidate, best)) &&
           (priced != OPEN_SHORT || ronde_candidate_cut_steps(one, load) < RONDE_LONG_STEPS);
}

/** The cheapest of those; of open ones, load and known say who is long, and which copies are of interest. */
static uint32_t find_cheapest(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                              const struct ronde_load *load, const struct best *known,
                              uint32_t without, enum priced priced)
{
    uint32_t best = RONDE_NONE;
    for (uint32_t i = 0; i < choice->count; i++) {
        const struct ronde_candidate *candidates = choice->candidates;
        if (is_of(choice, i, without) || !is_priced(choice, quotes, load, known, i, priced))
            continue;
        /* Equal but for rounding is equal, so that the last bit of a sum decides nothing. */
        const double least_ns =
            best == RONDE_NONE ? INFINITY : priced_ns(choice, quotes, best, priced);
        const double ns = priced_ns(choice, quotes, i, priced);
        const bool is_as_fast = ns <= least_ns * (1.0 + ROUNDING);
        if (ns < least_ns * (1.0 - ROUNDING) ||
            (is_as_fast && is_simpler(candidates[i].schedule, candidates[best].schedule)))
            best = i;
    }
    return best;
}

uint32_t ronde_choice_best(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                           uint32_t without)
{
    return find_cheapest(choice, quotes, NULL, NULL, without, TIMED);
}

/** A closer bound, or the time instead of one, if that is not above the time of another, which may not be the fastest; a promise kept. */
static enum ronde_status settle(const struct ronde_choice *choice, uint32_t candidate,
                                const struct ronde_load *load, const struct ronde_pricer *pricer,
                                double other_ns, struct ronde_quote *quotes,
                                struct ronde_error *error)
{
    struct ronde_candidate *one = &choice->candidates[candidate];
    const uint32_t fastest = ronde_choice_best(choice, quotes, RONDE_NONE);
    const double own = ronde_candidate_compared(one, 1.0);
    return pricer->settle(pricer->self, one, load, other_ns / own * (1.0 + 2 * ROUNDING),
                          time_of(choice, quotes, fastest) / own, &quotes[candidate], error);
}

/**
 * Settles the cheapest bound or promise until some time is less than all that are left, or less than `slack` of itself above them.
 * Long replays wait for a time that can end them.
 */
static enum ronde_status
settle_best(const struct ronde_choice *choice, const struct ronde_load *load,
            const struct ronde_pricer *pricer, uint32_t without, double slack,
            struct ronde_quote *quotes, struct ronde_error *error)
{
    while (true) {
        const uint32_t best = ronde_choice_best(choice, quotes, without);
        const double best_ns = time_of(choice, quotes, best);
        struct best known = {0, 0};
        /* A runner-up, which is only to be compared with, goes without copies. */
        if (without == RONDE_NONE)
            known =
                (struct best){best_ns,
                              time_of(choice, quotes,
                                      find_cheapest(choice, quotes, NULL, NULL, without, SINGLE))};
        uint32_t next = RONDE_NONE;
        if (best == RONDE_NONE)
            next = find_cheapest(choice, quotes, load, &known, without, OPEN_SHORT);
        if (next == RONDE_NONE)
            next = find_cheapest(choice, quotes, load, &known, without, OPEN);
        if (next == RONDE_NONE || best_ns * (1.0 - slack) <= priced_ns(choice, quotes, next, OPEN))
            break;
        RONDE_TRY(settle(choice, next, load, pricer, best_ns, quotes, error));
    }
    return RONDE_OK;
}

enum ronde_status ronde_choice_price(const struct ronde_choice *choice,
                                     const struct ronde_load *load,
                                     const struct ronde_pricer *pricer,
                                     struct ronde_quote *out_quotes, struct ronde_error *error)
{
    for (uint32_t i = 0; i < choice->count; i++)
        RONDE_TRY(pricer->price(pricer->self, &choice->candidates[i], load, choice->mem,
                                &out_quotes[i], error));
    RONDE_TRY(settle_best(choice, load, pricer, RONDE_NONE, WINNER_SLACK, out_quotes, error));
    const uint32_t best = ronde_choice_best(choice, out_quotes, RONDE_NONE);
    return settle_best(choice, load, pricer, best, SECOND_SLACK, out_quotes, error);
}

bool ronde_choice_is_first(const struct ronde_choice *choice, uint32_t candidate)
{
    return ronde_choice_find(choice, choice->candidates[candidate].request.algorithm) == candidate;
}

uint32_t ronde_choice_least_of(const struct ronde_choice *choice, const struct ronde_quote *quotes,
                               uint32_t of)
{
    uint32_t least = RONDE_NONE;
    for (uint32_t i = 0; i < choice->count; i++)
        if (is_of(choice, i, of) &&
            (least == RONDE_NONE || quotes[i].time_ns < quotes[least].time_ns))
            least = i;
    return least;
}

enum ronde_status ronde_choice_settle(const struct ronde_choice *choice,
                                      const struct ronde_load *load,
                                      const struct ronde_pricer *pricer, struct ronde_quote *quotes,
                                      struct ronde_error *error)
{
    for (uint32_t i = 0; i < choice->count; i++) {
        uint32_t least = ronde_choice_least_of(choice, quotes, i);
        while (isfinite(open_ns(&quotes[least]))) {
            RONDE_TRY(settle(choice, least, load, pricer, INFINITY, quotes, error));
            least = ronde_choice_least_of(choice, quotes, i);
        }
    }
    return RONDE_OK;
}

enum ronde_status ronde_choice_time(const struct ronde_choice *choice, uint32_t candidate,
                                    const struct ronde_load *load, const struct ronde_pricer *pricer,
                                    struct ronde_quote *out_quote, struct ronde_error *error)
{
    RONDE_TRY(pricer->price(pricer->self, &choice->candidates[candidate], load, choice->mem,
                            out_quote, error));
    while (isfinite(open_ns(out_quote)))
        RONDE_TRY(pricer->settle(pricer->self, &choice->candidates[candidate], load, INFINITY,
                                 INFINITY, out_quote, error));
    return RONDE_OK;
}

uint64_t ronde_candidate_steps(const struct ronde_candidate *candidate,
                               const struct ronde_load *load)
{
    const struct ronde_schedule *schedule = candidate->schedule;
    const uint64_t pieces =
        load->slot_bytes ? ronde_piece_count(schedule, load->count, ronde_dtype_bytes(load->dtype),
                                             load->slot_bytes)
                         : 1;
    return schedule->proof.steps * schedule->channel_count * pieces;
}

uint64_t ronde_candidate_cut_steps(const struct ronde_candidate *candidate,
                                   const struct ronde_load *load)
{
    struct ronde_load cut = *load;
    ronde_load_cut(&cut, candidate->schedule);
    return ronde_candidate_steps(candidate, &cut);
}

/** Whether ports change nothing: the formula then speaks of flows that are all as fast as alone. */
static bool is_alone(const struct ronde_candidate *candidate, const struct ronde_load *load,
                     const struct ronde_network *network, double time_ns)
{
    struct ronde_network portless = *network;
    const double port_GBps = network->port_GBps;
    if (port_GBps > 0 && !(portless.time.lane_GBps > 0 && portless.time.lane_GBps < port_GBps))
        portless.time.lane_GBps = port_GBps;
    portless.port_GBps = 0;
    const double portless_ns =
        candidate->algorithm->price(&candidate->request, load, &portless).time_ns;
    return fabs(time_ns - portless_ns) <= ROUNDING * time_ns;
}

static enum ronde_status price_path(const struct ronde_candidate *candidate,
                                    const struct ronde_load *load,
                                    const struct ronde_network *network, const struct ronde_mem *mem,
                                    struct ronde_quote *out_quote, struct ronde_error *error)
{
    *out_quote = (struct ronde_quote){.engine = longest_path,
                                      .is_exact = candidate->algorithm || network->port_GBps == 0};
    return ronde_dag_price(candidate->schedule, load, network, mem, &out_quote->time_ns, error);
}

/** The network pricer. */
static enum ronde_status price_on_network(const void *self, struct ronde_candidate *candidate,
                                          const struct ronde_load *load, const struct ronde_mem *mem,
                                          struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct ronde_network *network = self;
    if (!candidate->algorithm)
        return price_path(candidate, load, network, mem, out_quote, error);
    const struct ronde_price price = candidate->algorithm->price(&candidate->request, load, network);
    /* Closed forms add what messages cost their ends to alpha, which a pipeline does not. */
    const bool is_exact = price.is_exact && !ronde_time_is_sized(&network->time);
    if (!is_exact && is_alone(candidate, load, network, price.time_ns) &&
        ronde_candidate_steps(candidate, load) <= RONDE_MOST_PRICED_STEPS)
        return price_path(candidate, load, network, mem, out_quote, error);
    *out_quote =
        (struct ronde_quote){.time_ns = price.time_ns, .engine = closed_form, .is_exact = is_exact};
    return RONDE_OK;
}

struct ronde_pricer ronde_network_pricer(const struct ronde_network *network)
{
    return (struct ronde_pricer){.self = network, .price = price_on_network};
}
