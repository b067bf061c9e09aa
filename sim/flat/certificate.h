/**
 * The certificate of a max-plus replay: whether any link was ever overloaded.
 *
 * Flows are recorded one after another. Where those of a link come in the order of time and each begins when the one
 * before has ended, as they do on ports, that decides it; so does one pair of overlapping flows that overload a link.
 * Where flows overlap, or merely come in another order, and no pair was too much, the replay passes them a second time,
 * to be fitted between those before; only for links where one does not fit it puts them, and a sweep over the intervals
 * adds up the rates.
 */
#ifndef RONDE_SIM_CERTIFICATE_H
#define RONDE_SIM_CERTIFICATE_H

#include "ronde/sim.h"

/** Relative slack: what differs by less is the same instant, and a link that full is not overfull. */
#define RONDE_CERTIFICATE_TOLERANCE 1e-9

/** One message on its way. */
struct ronde_flow {
    double start_ns;  /**< its first byte leaves */
    double end_ns;    /**< its last byte has left */
    double rate_GBps; /**< in between */
};

/** What is known of a link after the flows so far. */
struct ronde_link_use {
    double busy_from_ns;  /**< start of the flow that ends last */
    double busy_until_ns; /**< its end */
    double busy_GBps;     /**< its rate */
    double bytes;         /**< carried */
    uint64_t flows;       /**< at least those noted */
    bool is_exempt;       /**< a fatpipe, or known to have enough for whatever may come */
    bool overlaps; /**< a flow began before the last one ended; once fitted, before another did */
    bool is_overloaded; /**< two flows at once were more than it has */
    uint32_t fit;       /**< which of `fits` is its own while flows are being fitted, index + 1 */
};

/** Spans a link remembers while flows are being fitted; flows of one link are rarely further out of order. */
#define RONDE_CERTIFICATE_SPANS 32u

/** A time without a pause in which a link is busy with one flow after another. */
struct ronde_busy_span {
    double from_ns;  /**< start of the first */
    double until_ns; /**< end of the last */
};

/** The last spans of a link. */
struct ronde_fit {
    uint32_t last;  /**< index of the last one, modulo their number; the others go back in time */
    uint32_t count; /**< remembered */
    bool forgets;   /**< there were more */
    struct ronde_busy_span spans[RONDE_CERTIFICATE_SPANS];
};

/** One end of a flow on a link. */
struct ronde_flow_end {
    double at_ns;
    double rate_GBps; /**< negative where the flow ends */
};

/** A certificate in the making. Start from ronde_certificate_open. */
struct ronde_certificate {
    const struct ronde_platform *platform;
    const struct ronde_mem *mem;
    uint32_t link_count;
    struct ronde_link_use *uses; /**< per link */
    struct ronde_fit *fits;      /**< per link that is fitted */
    size_t fit_count;            /**< its entries */
    size_t *next;                /**< sweep: per link, where its next flow goes */
    struct ronde_flow_end *ends; /**< sweep: grouped by link */
    size_t end_count;
    bool is_refuted; /**< some link was overloaded: whatever follows, the verdict is known */
};

/** Starts with no flows; false when there is no memory. Close it in any case. */
bool ronde_certificate_open(struct ronde_certificate *certificate,
                            const struct ronde_platform *platform, const struct ronde_mem *mem);

/** Frees it. */
void ronde_certificate_close(struct ronde_certificate *certificate);

/** Records that a flow begins before the one that ends last has ended. */
void ronde_certificate_overlap(struct ronde_certificate *certificate, uint32_t link,
                               const struct ronde_flow *flow);

/**
 * Records when a link is busy with a flow; what it carries is added up elsewhere, a route at a
 * time.
 */
static inline void ronde_certificate_note(struct ronde_certificate *certificate, uint32_t link,
                                          const struct ronde_flow *flow)
{
    struct ronde_link_use *use = &certificate->uses[link];
    if (flow->start_ns < use->busy_until_ns * (1 - RONDE_CERTIFICATE_TOLERANCE))
        ronde_certificate_overlap(certificate, link, flow);
    if (flow->end_ns < use->busy_until_ns)
        return;
    use->busy_from_ns = flow->start_ns;
    use->busy_until_ns = flow->end_ns;
    use->busy_GBps = flow->rate_GBps;
}

/**
 * Adds what flows recorded on a link, or not worth recording, carry: all of it, before the
 * functions that follow.
 */
static inline void ronde_certificate_carry(struct ronde_certificate *certificate, uint32_t link,
                                           double bytes, uint64_t flows)
{
    certificate->uses[link].bytes += bytes;
    certificate->uses[link].flows += flows;
}

/** What is known once all flows have been recorded. */
enum ronde_verdict {
    RONDE_VERDICT_FREE,       /**< no link was overloaded */
    RONDE_VERDICT_OVERLOADED, /**< one was */
    RONDE_VERDICT_OPEN        /**< flows overlap: all must be fitted, then put for the sweep */
};

/** The verdict. */
enum ronde_verdict ronde_certificate_verdict(const struct ronde_certificate *certificate);

/** What is done with a flow that was recorded. */
typedef void (*ronde_flow_say)(struct ronde_certificate *certificate, uint32_t link,
                               const struct ronde_flow *flow);

/**
 * Decides whether no link was overloaded. What recording left open is fitted: each flow between those of its link that came
 * before; and then put for the sweep. `repeat` passes all flows, as they were recorded, to what it is given. Errors: its own;
 * NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_certificate_decide(struct ronde_certificate *certificate,
                         enum ronde_status (*repeat)(void *self, ronde_flow_say say), void *self,
                         bool *out_is_free, struct ronde_error *error);

/** Flows that the sweep would hold. */
uint64_t ronde_certificate_sweep_flows(const struct ronde_certificate *certificate);

/** Makes room for the flows of overlapping links; false when there is no memory. */
bool ronde_certificate_sweep_begin(struct ronde_certificate *certificate);

/** Puts a flow on a link, as it was recorded. */
void ronde_certificate_put(struct ronde_certificate *certificate, uint32_t link,
                           const struct ronde_flow *flow);

/** Whether no link was overloaded, once all flows have been put. */
bool ronde_certificate_sweep_end(struct ronde_certificate *certificate);

/** Names the link with the largest utilisation over `span_ns`. */
void ronde_certificate_busiest(const struct ronde_certificate *certificate, double span_ns,
                               struct ronde_sim_result *result);

#endif
