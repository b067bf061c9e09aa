/* Flows as intervals on links, and the most load that any link has. */
#include "certificate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ronde_certificate_open(struct ronde_certificate *certificate,
                            const struct ronde_platform *platform, const struct ronde_mem *mem)
{
    memset(certificate, 0, sizeof *certificate);
    certificate->platform = platform;
    certificate->mem = mem;
    certificate->link_count = ronde_platform_link_count(platform);
    certificate->uses = ronde_mem_new(mem, certificate->link_count, sizeof *certificate->uses);
    for (uint32_t l = 0; certificate->uses && l < certificate->link_count; l++)
        certificate->uses[l].is_exempt = ronde_platform_link(platform, l)->is_fatpipe;
    return certificate->uses != NULL;
}

static void free_sweep(struct ronde_certificate *certificate)
{
    const struct ronde_mem *mem = certificate->mem;
    ronde_mem_free(mem, certificate->ends, certificate->end_count, sizeof *certificate->ends);
    ronde_mem_free(mem, certificate->next, certificate->link_count, sizeof *certificate->next);
    certificate->ends = NULL;
    certificate->next = NULL;
}

static void free_fits(struct ronde_certificate *certificate)
{
    ronde_mem_free(certificate->mem, certificate->fits, certificate->fit_count,
                   sizeof *certificate->fits);
    certificate->fits = NULL;
}

void ronde_certificate_close(struct ronde_certificate *certificate)
{
    free_sweep(certificate);
    free_fits(certificate);
    ronde_mem_free(certificate->mem, certificate->uses, certificate->link_count,
                   sizeof *certificate->uses);
}

/* Whether the sweep looks at a link. */
static bool is_swept(const struct ronde_certificate *certificate, uint32_t link)
{
    return certificate->uses[link].overlaps && !certificate->uses[link].is_exempt;
}

void ronde_certificate_overlap(struct ronde_certificate *certificate, uint32_t link,
                               const struct ronde_flow *flow)
{
    struct ronde_link_use *use = &certificate->uses[link];
    const double rate_GBps = ronde_platform_link(certificate->platform, link)->rate_GBps;
    /* Flows may be recorded out of order: this one may have ended before the other began. */
    const bool is_pair = use->busy_from_ns < flow->end_ns * (1 - RONDE_CERTIFICATE_TOLERANCE);
    use->overlaps = true;
    use->is_overloaded |=
        is_pair && use->busy_GBps + flow->rate_GBps > rate_GBps * (1 + RONDE_CERTIFICATE_TOLERANCE);
    certificate->is_refuted |= use->is_overloaded && !use->is_exempt;
}

enum ronde_verdict ronde_certificate_verdict(const struct ronde_certificate *certificate)
{
    enum ronde_verdict verdict = RONDE_VERDICT_FREE;
    for (uint32_t l = 0; l < certificate->link_count; l++) {
        if (!is_swept(certificate, l))
            continue;
        if (certificate->uses[l].is_overloaded)
            return RONDE_VERDICT_OVERLOADED;
        verdict = RONDE_VERDICT_OPEN;
    }
    return verdict;
}

/* Makes room to fit the flows of overlapping links. */
static bool fit_begin(struct ronde_certificate *certificate)
{
    certificate->fit_count = 0;
    for (uint32_t l = 0; l < certificate->link_count; l++)
        certificate->uses[l].fit = is_swept(certificate, l) ? (uint32_t)++certificate->fit_count : 0;
    certificate->fits =
        ronde_mem_new(certificate->mem, certificate->fit_count, sizeof *certificate->fits);
    for (uint32_t l = 0; certificate->fits && l < certificate->link_count; l++)
        certificate->uses[l].overlaps &= certificate->uses[l].fit == 0;
    return certificate->fits != NULL;
}

/* A remembered span; 0 is the last one. */
static struct ronde_busy_span *span_at(struct ronde_fit *fit, uint32_t back)
{
    return &fit->spans[(fit->last - back) % RONDE_CERTIFICATE_SPANS];
}

/* Adds a span of its own, before the `back` spans that are later; the oldest may be forgotten. */
static void insert_span(struct ronde_fit *fit, uint32_t back, const struct ronde_flow *flow)
{
    if (fit->count < RONDE_CERTIFICATE_SPANS)
        fit->count++;
    else
        fit->forgets = true;
    if (back == RONDE_CERTIFICATE_SPANS)
        return;
    /* At the end all others are a place further back at once. */
    if (back == 0)
        fit->last++;
    for (uint32_t i = fit->count - 1; back > 0 && i > back; i--)
        *span_at(fit, i) = *span_at(fit, i - 1);
    *span_at(fit, back) = (struct ronde_busy_span){flow->start_ns, flow->end_ns};
}

/* Closes the gap between a span and the one after it. */
static void join_spans(struct ronde_fit *fit, uint32_t back)
{
    span_at(fit, back - 1)->from_ns = span_at(fit, back)->from_ns;
    fit->count--;
    for (uint32_t i = back; i < fit->count; i++)
        *span_at(fit, i) = *span_at(fit, i + 1);
}

/* Whether what ends is over when the other starts: touching is not overlapping. */
static bool is_before(double end_ns, double start_ns)
{
    return start_ns >= end_ns * (1 - RONDE_CERTIFICATE_TOLERANCE);
}

static bool touches(double end_ns, double start_ns)
{
    return start_ns <= end_ns * (1 + RONDE_CERTIFICATE_TOLERANCE);
}

/*
 * Puts a flow between the spans; false where it overlaps one, or may overlap one that is no longer
 * stored.
 */
static bool fit_in(struct ronde_fit *fit, const struct ronde_flow *flow)
{
    uint32_t back = 0;
    while (back < fit->count && is_before(flow->end_ns, span_at(fit, back)->from_ns))
        back++;
    struct ronde_busy_span *before = back < fit->count ? span_at(fit, back) : NULL;
    struct ronde_busy_span *after = back > 0 ? span_at(fit, back - 1) : NULL;
    if (before ? !is_before(before->until_ns, flow->start_ns) : fit->forgets)
        return false;
    const bool is_joined = before && touches(before->until_ns, flow->start_ns);
    const bool joins = after && touches(flow->end_ns, after->from_ns);
    if (is_joined && joins)
        join_spans(fit, back);
    else if (joins)
        after->from_ns = flow->start_ns;
    else if (is_joined)
        before->until_ns = fmax(before->until_ns, flow->end_ns);
    else
        insert_span(fit, back, flow);
    return true;
}

static void fit(struct ronde_certificate *certificate, uint32_t link, const struct ronde_flow *flow)
{
    struct ronde_link_use *use = &certificate->uses[link];
    if (use->fit != 0 && !use->overlaps)
        use->overlaps = !fit_in(&certificate->fits[use->fit - 1], flow);
}

/* The verdict once all flows have been fitted. */
static enum ronde_verdict fit_end(struct ronde_certificate *certificate)
{
    free_fits(certificate);
    return ronde_certificate_verdict(certificate);
}

uint64_t ronde_certificate_sweep_flows(const struct ronde_certificate *certificate)
{
    uint64_t flows = 0;
    for (uint32_t l = 0; l < certificate->link_count; l++)
        flows += is_swept(certificate, l) ? certificate->uses[l].flows : 0;
    return flows;
}

bool ronde_certificate_sweep_begin(struct ronde_certificate *certificate)
{
    certificate->end_count = 2 * ronde_certificate_sweep_flows(certificate);
    certificate->ends =
        ronde_mem_new(certificate->mem, certificate->end_count, sizeof *certificate->ends);
    certificate->next =
        ronde_mem_new(certificate->mem, certificate->link_count, sizeof *certificate->next);
    if (!certificate->ends || !certificate->next) {
        free_sweep(certificate);
        return false;
    }
    size_t first = 0;
    for (uint32_t l = 0; l < certificate->link_count; l++) {
        certificate->next[l] = first;
        first += is_swept(certificate, l) ? 2 * (size_t)certificate->uses[l].flows : 0;
    }
    return true;
}

/* The end moves forward by the tolerance, so that touching is not overlapping. */
void ronde_certificate_put(struct ronde_certificate *certificate, uint32_t link,
                           const struct ronde_flow *flow)
{
    if (!is_swept(certificate, link))
        return;
    struct ronde_flow_end *ends = &certificate->ends[certificate->next[link]];
    const double slack =
        fmin(flow->end_ns * RONDE_CERTIFICATE_TOLERANCE, (flow->end_ns - flow->start_ns) / 2);
    ends[0] = (struct ronde_flow_end){flow->start_ns, flow->rate_GBps};
    ends[1] = (struct ronde_flow_end){flow->end_ns - slack, -flow->rate_GBps};
    certificate->next[link] += 2;
}

/* Ends before starts at the same instant: touching is not overlapping. */
static int compare_ends(const void *left, const void *right)
{
    const struct ronde_flow_end *a = left;
    const struct ronde_flow_end *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->rate_GBps < b->rate_GBps ? -1 : a->rate_GBps > b->rate_GBps;
}

/* The most load a link has at any time. */
static double peak(struct ronde_flow_end *ends, size_t count)
{
    double now = 0;
    double most = 0;
    qsort(ends, count, sizeof *ends, compare_ends);
    for (size_t i = 0; i < count; i++) {
        now += ends[i].rate_GBps;
        most = fmax(most, now);
    }
    return most;
}

bool ronde_certificate_sweep_end(struct ronde_certificate *certificate)
{
    bool is_free = true;
    size_t first = 0;
    for (uint32_t l = 0; l < certificate->link_count && is_free; l++) {
        const double rate_GBps = ronde_platform_link(certificate->platform, l)->rate_GBps;
        const size_t count = certificate->next[l] - first;
        is_free =
            peak(certificate->ends + first, count) <= rate_GBps * (1 + RONDE_CERTIFICATE_TOLERANCE);
        first = certificate->next[l];
    }
    free_sweep(certificate);
    return is_free;
}

enum ronde_status
ronde_certificate_decide(struct ronde_certificate *certificate,
                         enum ronde_status (*repeat)(void *self, ronde_flow_say say), void *self,
                         bool *out_is_free, struct ronde_error *error)
{
    static const char short_of_memory[] = "no memory to certify a replay";
    enum ronde_status status = RONDE_OK;
    enum ronde_verdict verdict = ronde_certificate_verdict(certificate);
    if (verdict == RONDE_VERDICT_OPEN) {
        if (!fit_begin(certificate))
            return ronde_fail(error, RONDE_NO_MEMORY, "%s", short_of_memory);
        status = repeat(self, fit);
        verdict = fit_end(certificate);
    }
    *out_is_free = verdict == RONDE_VERDICT_FREE;
    if (verdict != RONDE_VERDICT_OPEN || status != RONDE_OK)
        return status;
    if (!ronde_certificate_sweep_begin(certificate))
        return ronde_fail(error, RONDE_NO_MEMORY, "%s", short_of_memory);
    status = repeat(self, ronde_certificate_put);
    *out_is_free = ronde_certificate_sweep_end(certificate);
    return status;
}

void ronde_certificate_busiest(const struct ronde_certificate *certificate, double span_ns,
                               struct ronde_sim_result *result)
{
    for (uint32_t l = 0; span_ns > 0 && l < certificate->link_count; l++) {
        const struct ronde_link *link = ronde_platform_link(certificate->platform, l);
        const double use = certificate->uses[l].bytes / (link->rate_GBps * span_ns);
        /* A fatpipe has its rate for every flow: there is nothing to use up. */
        if (link->is_fatpipe || use <= result->busiest_utilisation)
            continue;
        result->busiest_utilisation = use;
        (void)snprintf(result->busiest_link, sizeof result->busiest_link, "%s", link->name);
    }
}
