/*
 * Where data lies. A core finds what it touched itself in the nearer of its caches the less it has touched since; what
 * another core wrote comes out of that core's cache, unless that core has touched so much since that it was pushed out.
 *
 * How much a core touched since is counted exactly, each byte once (the stack distance of Mattson, Gecsei, Slutz and
 * Traiger, IBM Systems Journal 9(2), 1970). What a distance costs is not computed but measured: the curves of the
 * platform file know how large the caches are and how they replace.
 */
#include "cores.h"

#include <math.h>

/* ns of so many bytes at a point of a curve. */
static double cost_ns(const struct ronde_curve *curve, double at, double bytes)
{
    return bytes / ronde_curve_GBps(curve, at, INFINITY);
}

/*
 * The same between cores. A message has at least the cost of the shortest that was measured, a line, however little is
 * in it; a part of a message has that part of it.
 */
static double cross_ns(const struct ronde_curve *curve, const struct ronde_sim_access *access)
{
    const double message = fmax(access->message_bytes, curve->bytes[0]);
    return cost_ns(curve, message, message) * access->bytes / access->message_bytes;
}

static void add(struct ronde_sim_touches *touches, uint32_t at, double bytes)
{
    touches->total += bytes;
    for (uint32_t k = at + 1; k <= touches->capacity; k += k & (0u - k))
        touches->sums[k - 1] += bytes;
}

/* Bytes touched after a touch. */
static double bytes_since(const struct ronde_sim_touches *touches, uint32_t at)
{
    double until = 0;
    for (uint32_t k = at + 1; k > 0; k &= k - 1)
        until += touches->sums[k - 1];
    return touches->total - until;
}

static void forget(struct ronde_sim_caches *caches, struct ronde_sim_holder *holder)
{
    if (holder->core != RONDE_SIM_NO_CORE)
        add(&caches->touches[holder->core], holder->at, -holder->bytes);
    holder->core = RONDE_SIM_NO_CORE;
}

/* A core touches something, and holds it from now on. */
static void note(struct ronde_sim_caches *caches, struct ronde_sim_holder *holder,
                 const struct ronde_sim_access *access)
{
    struct ronde_sim_touches *touches = &caches->touches[access->core];
    forget(caches, holder);
    *holder = (struct ronde_sim_holder){access->core, touches->count++, access->bytes};
    add(touches, holder->at, holder->bytes);
}

/* What lies between a holder and what it holds; all there is where no core holds it. */
static double distance(const struct ronde_sim_caches *caches, const struct ronde_sim_holder *holder)
{
    return holder->core == RONDE_SIM_NO_CORE
               ? INFINITY
               : bytes_since(&caches->touches[holder->core], holder->at);
}

/*
 * The share of what a core touched so long ago that its own cache has lost: as much as its own reads have become slower
 * on the way from half of the cache to twice as much. For files without curves of what other cores have lost.
 */
static double lost_share(const struct ronde_sim_caches *caches, double bytes)
{
    const struct ronde_cache_facts *facts = &caches->facts->caches;
    const double near = cost_ns(&facts->read, facts->core_bytes / 2.0, 1.0);
    const double far = cost_ns(&facts->read, facts->core_bytes * 2.0, 1.0);
    const double here = cost_ns(&facts->read, bytes, 1.0);
    return far > near ? fmin(fmax((here - near) / (far - near), 0.0), 1.0) : 0.0;
}

/* What crosses, and what is known of it. */
struct crossing {
    const struct ronde_curve *cross;  /* over the bytes of a message, through slots used in turns */
    const struct ronde_curve *remote; /* over what the other core has touched since */
    double apart;                     /* bytes: what it has touched since here */
    double measured_apart;            /* the same in the measurement of `cross` */
    double own_ns;                    /* without another core */
};

/*
 * Data that the other core touched longer ago than where crossing was measured lies elsewhere: in a cache that both cores
 * share, in one of the other's that they do not, in memory. The difference is that of the measured curve.
 */
static double crossing_ns(const struct ronde_sim_caches *caches,
                          const struct ronde_sim_access *access, const struct crossing *crossing)
{
    const double ns = cross_ns(crossing->cross, access);
    if (crossing->remote->count == 0) {
        const double lost = lost_share(caches, crossing->apart);
        return lost * crossing->own_ns + (1.0 - lost) * ns;
    }
    const double here = cost_ns(crossing->remote, crossing->apart, access->bytes);
    const double there = cost_ns(crossing->remote, crossing->measured_apart, access->bytes);
    return fmax(ns + here - there, fmin(ns, here));
}

double ronde_sim_caches_read(struct ronde_sim_caches *caches, const struct ronde_sim_access *access,
                             bool combines)
{
    const struct ronde_cache_facts *facts = &caches->facts->caches;
    struct ronde_sim_segment *segment = &caches->segments[access->segment];
    const bool owns = segment->owner.core == access->core;
    struct ronde_sim_holder *holder = owns ? &segment->owner : &segment->reader;
    double ns;
    if (holder->core == access->core) {
        ns = cost_ns(&facts->read, distance(caches, holder), access->bytes);
    } else {
        const double apart = distance(caches, &segment->owner);
        const struct crossing crossing = {.cross =
                                              combines ? &facts->cross_combine : &facts->cross_copy,
                                          .remote = &facts->remote_read,
                                          .apart = apart,
                                          .measured_apart = access->message_bytes,
                                          .own_ns = cost_ns(&facts->read, apart, access->bytes)};
        ns = segment->owner.core == RONDE_SIM_NO_CORE ? crossing.own_ns
                                                      : crossing_ns(caches, access, &crossing);
    }
    note(caches, holder, access);
    return ns;
}

double ronde_sim_caches_write(struct ronde_sim_caches *caches, const struct ronde_sim_access *access)
{
    const struct ronde_cache_facts *facts = &caches->facts->caches;
    struct ronde_sim_segment *segment = &caches->segments[access->segment];
    const bool owns = segment->owner.core == access->core;
    const struct ronde_sim_holder *own = owns ? &segment->owner : &segment->reader;
    const struct ronde_sim_holder *other = owns ? &segment->reader : &segment->owner;
    const double near = own->core == access->core ? distance(caches, own) : INFINITY;
    const double nearest = fmin(near, distance(caches, other));
    double ns = cost_ns(&facts->write, nearest, access->bytes);
    if (other->core != RONDE_SIM_NO_CORE) {
        const struct crossing crossing = {.cross = &facts->cross_write,
                                          .remote = &facts->remote_write,
                                          .apart = nearest,
                                          .measured_apart =
                                              RONDE_CROSSING_SLOTS * access->message_bytes,
                                          .own_ns = ns};
        ns = crossing_ns(caches, access, &crossing);
    }
    forget(caches, &segment->reader);
    note(caches, &segment->owner, access);
    return ns;
}

bool ronde_sim_caches_make(struct ronde_sim_caches *caches, size_t segments, uint32_t cores,
                           const uint32_t *touches, struct ronde_store *store)
{
    caches->segments = ronde_store_new(store, segments, sizeof *caches->segments);
    caches->touches = ronde_store_new(store, cores, sizeof *caches->touches);
    for (size_t s = 0; caches->segments && s < segments; s++) {
        caches->segments[s].owner.core = RONDE_SIM_NO_CORE;
        caches->segments[s].reader.core = RONDE_SIM_NO_CORE;
    }
    for (uint32_t core = 0; caches->touches && core < cores; core++) {
        struct ronde_sim_touches *touched = &caches->touches[core];
        touched->sums = ronde_store_new(store, touches[core], sizeof *touched->sums);
        touched->capacity = touches[core];
    }
    return !store->is_short;
}
