/*
 * A calibration as a platform file. The private links of the cluster carry the lane rate and its backbone the memory
 * bandwidth, so that plain SimGrid gives sensible answers; ronde itself takes everything from the props. Numbers are
 * printed with 17 digits in ronde's own units: reading them back gives the same doubles.
 */
#include "elements.h"
#include "platform.h"

#include <math.h>
#include <string.h>

/* Every number with its name, once: the check and the writer walk the same list. */
struct fact {
    const char *name;
    double value;
};

#define FACTS 25

/* rate 0 is written as 0: it means unlimited on both sides. */
static void list_facts(const struct ronde_calibration *calibration, struct fact *facts)
{
    const struct ronde_time_params *time = &calibration->time;
    const struct ronde_shared_host *shared = &calibration->shared;
    const struct fact list[FACTS] = {
        {"alpha_ns", time->alpha_ns},
        {"step_ns", time->step_ns},
        {"launch_ns", time->launch_ns},
        {"gamma_GBps", time->gamma_GBps},
        {"copy_GBps", time->copy_GBps},
        {"lane_GBps", time->lane_GBps},
        {"memory_GBps", shared->memory_GBps},
        {"core_step_ns", shared->core_step_ns},
        {"latency_ns", calibration->latency_ns},
        {"spread", calibration->worst_spread},
        {"segment_bytes", calibration->packets.segment_bytes},
        {"header_bytes", calibration->packets.header_bytes},
        {"burst_bytes", calibration->packets.burst_bytes},
        {"switch_ns", calibration->packets.switch_ns},
        {"processors", (double)calibration->packets.processors},
        {"jitter_ns", calibration->packets.jitter_ns},
        {"jitter_GBps", calibration->packets.jitter_GBps},
        {"reverse_share", calibration->packets.reverse_share},
        {"poll_ns", calibration->caches.poll_ns},
        {"start_ns", calibration->caches.start_ns},
        {"wake_ns", calibration->caches.wake_ns},
        {"line_ns", calibration->caches.line_ns},
        {"core_bytes", calibration->caches.core_bytes},
        {"combine_GBps", calibration->caches.combine_GBps},
        {"sums_in_place", (double)time->sums_in_place},
    };
    memcpy(facts, list, sizeof list);
}

/* A curve with its name; a list as of facts. */
struct named_curve {
    const char *name;
    const struct ronde_curve *curve;
};

#define CURVES 9

static void list_curves(const struct ronde_calibration *calibration, struct named_curve *curves)
{
    const struct ronde_cache_facts *caches = &calibration->caches;
    const struct named_curve list[CURVES] = {
        {"copy_curve", &calibration->copy_curve},
        {"gamma_curve", &calibration->gamma_curve},
        {"read_curve", &caches->read},
        {"write_curve", &caches->write},
        {"cross_copy_curve", &caches->cross_copy},
        {"cross_combine_curve", &caches->cross_combine},
        {"cross_write_curve", &caches->cross_write},
        {"remote_read_curve", &caches->remote_read},
        {"remote_write_curve", &caches->remote_write},
    };
    memcpy(curves, list, sizeof list);
}

static bool is_curve(const struct ronde_curve *curve)
{
    for (uint32_t i = 0; i < curve->count && i < RONDE_MAX_CURVE; i++)
        if (!isfinite(curve->bytes[i]) || !isfinite(curve->GBps[i]) || curve->GBps[i] <= 0 ||
            curve->bytes[i] <= (i > 0 ? curve->bytes[i - 1] : 0))
            return false;
    return curve->count <= RONDE_MAX_CURVE;
}

static bool is_sized(const struct ronde_sized_ns *sized)
{
    for (uint32_t i = 0; i < sized->count && i < RONDE_MAX_SIZED; i++)
        if (!isfinite(sized->bytes[i]) || !isfinite(sized->ns[i]) || sized->ns[i] < 0 ||
            sized->bytes[i] <= (i > 0 ? sized->bytes[i - 1] : 0))
            return false;
    return sized->count <= RONDE_MAX_SIZED;
}

/* Before the first byte: a refused calibration leaves an empty file, not half a one. */
static enum ronde_status check(const struct ronde_calibration *calibration,
                               const struct fact *facts, struct ronde_error *error)
{
    for (uint32_t i = 0; i < FACTS; i++)
        if (!isfinite(facts[i].value) || facts[i].value < 0)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "calibration: %s is %g, expected a finite number >= 0", facts[i].name,
                              facts[i].value);
    struct named_curve curves[CURVES];
    list_curves(calibration, curves);
    for (uint32_t i = 0; i < CURVES; i++)
        if (!is_curve(curves[i].curve))
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "calibration: a curve needs at most %u ascending points and rates > "
                              "0, %s has others",
                              RONDE_MAX_CURVE, curves[i].name);
    if (!is_sized(&calibration->time.send) || !is_sized(&calibration->time.receive) ||
        !is_sized(&calibration->time.combine) || !is_sized(&calibration->time.fresh))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "calibration: times by size need at most %u ascending points of at "
                          "least 0 ns",
                          RONDE_MAX_SIZED);
    if (calibration->max_ranks == 0 || calibration->max_ranks > RONDE_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "calibration: %u ranks, expected 1 to %u",
                          calibration->max_ranks, RONDE_MAX_RANKS);
    if (strlen(calibration->measured_by) >= sizeof((struct ronde_platform_facts *)0)->measured_by)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "calibration: measured_by has %zu bytes",
                          strlen(calibration->measured_by));
    if (calibration->time.lane_GBps == 0 && calibration->shared.memory_GBps == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "calibration: neither lane_GBps nor memory_GBps is known, so links "
                          "would have no bandwidth");
    return ronde_write_network_check(calibration, error);
}

static void put_curve(FILE *file, const char *name, const struct ronde_curve *curve)
{
    if (curve->count == 0)
        return;
    fprintf(file, "    <prop id=\"ronde.%s\" value=\"", name);
    for (uint32_t i = 0; i < curve->count; i++)
        fprintf(file, "%s%.17g:%.17g", i > 0 ? " " : "", curve->bytes[i], curve->GBps[i]);
    fputs("\"/>\n", file);
}

static void put_sized(FILE *file, const char *name, const struct ronde_sized_ns *sized)
{
    if (sized->count == 0)
        return;
    fprintf(file, "    <prop id=\"ronde.%s\" value=\"", name);
    for (uint32_t i = 0; i < sized->count; i++)
        fprintf(file, "%s%.17g:%.17g", i > 0 ? " " : "", sized->bytes[i], sized->ns[i]);
    fputs("\"/>\n", file);
}

/* The latency is not a prop but a property of the links; see put_cluster. */
static void put_facts(FILE *file, const struct ronde_calibration *calibration,
                      const struct fact *facts)
{
    for (uint32_t i = 0; i < FACTS; i++)
        if (strcmp(facts[i].name, "latency_ns") != 0)
            fprintf(file, "    <prop id=\"ronde.%s\" value=\"%.17g\"/>\n", facts[i].name,
                    facts[i].value);
    struct named_curve curves[CURVES];
    list_curves(calibration, curves);
    for (uint32_t i = 0; i < CURVES; i++)
        put_curve(file, curves[i].name, curves[i].curve);
    put_sized(file, "send_ns", &calibration->time.send);
    put_sized(file, "receive_ns", &calibration->time.receive);
    put_sized(file, "combine_ns", &calibration->time.combine);
    put_sized(file, "fresh_ns", &calibration->time.fresh);
    if (calibration->channels > 0)
        fprintf(file, "    <prop id=\"ronde.channels\" value=\"%u\"/>\n", calibration->channels);
    fprintf(file, "    <prop id=\"ronde.cores\" value=\"%u\"/>\n", calibration->shared.cores);
    fprintf(file, "    <prop id=\"ronde.slot_bytes\" value=\"%llu\"/>\n",
            (unsigned long long)calibration->slot_bytes);
    ronde_put_prop(file, "machine", calibration->machine);
    ronde_put_prop(file, "measured_by", calibration->measured_by);
    ronde_put_prop(file, "measured_on", calibration->measured_on);
}

enum ronde_status ronde_platform_write(const struct ronde_calibration *calibration, FILE *file,
                                       struct ronde_error *error)
{
    struct fact facts[FACTS];
    list_facts(calibration, facts);
    RONDE_TRY(check(calibration, facts, error));
    char comment[128];
    snprintf(comment, sizeof comment, "%s; measured, see the props.",
             calibration->shared.cores > 0 ? "One machine whose ranks share its memory and cores"
                                           : ronde_write_network_title(calibration));
    ronde_elements_open(file, comment, "machine",
                        calibration->network.group_count > 1 ? "DijkstraCache" : "Full");
    put_facts(file, calibration, facts);
    ronde_write_network(calibration, file);
    return ronde_elements_close(file, error);
}

/* Text that a platform file has as it is. */

void ronde_plain_text(char *out, size_t bytes, const char *text, const char *more)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
    size_t used = 0;
    for (; text[used] != '\0' && used + 1 < bytes; used++) {
        const bool is_safe = strchr(safe, text[used]) || strchr(more, text[used]);
        /* Two in a row end a comment. */
        const bool is_second = text[used] == '-' && used > 0 && out[used - 1] == '-';
        out[used] = is_safe && !is_second ? text[used] : '_';
    }
    out[used] = '\0';
}
