/*
 * Traces, read back by a JSON parser: slices nest, arrows have two ends inside slices of their own, times are sorted,
 * names that need escapes survive, long runs are cut to whole ranks.
 */
#include "support/built_with.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "replayed.h"

#include "ronde/trace.h"

#include <jansson.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct ronde_time_params params = {.alpha_ns = 200,
                                                .step_ns = 50,
                                                .gamma_GBps = 40,
                                                .copy_GBps = 80};

/* A trace of a collective on 8 hosts, and its text; free the text. */
static char *write_trace_by(const char *engine, struct replayed *replayed, const char *algorithm,
                            const char *name, uint32_t max_steps, uint32_t *out_ranks)
{
    const struct ronde_trace_group group = {name, 0, 7};
    struct ronde_why why;
    char *text = NULL;
    size_t bytes = 0;
    if (!replayed_open(replayed, replayed_crossbar) ||
        !replayed_compile(replayed, RONDE_ALL_REDUCE, algorithm, 7, 20000, 4096, &params))
        return NULL;
    CU_ASSERT_EQUAL(replayed_run(replayed, replayed->dag, engine), RONDE_OK);
    bool *on_path = calloc(replayed->dag->op_count, sizeof *on_path);
    CU_ASSERT_EQUAL(ronde_why_find(&replayed->replay, ronde_mem_default(), on_path, &why,
                                   &replayed->error),
                    RONDE_OK);
    const struct ronde_trace trace = {.replay = replayed->replay,
                                      .why = &why,
                                      .on_path = on_path,
                                      .groups = &group,
                                      .group_count = 1,
                                      .is_shared = strcmp(engine, "flat") != 0,
                                      .max_steps = max_steps};
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(ronde_trace_write(&trace, ronde_mem_default(), file, out_ranks, &replayed->error),
                    RONDE_OK);
    fclose(file);
    free(on_path);
    return text;
}

static char *write_trace(struct replayed *replayed, const char *algorithm, const char *name,
                         uint32_t max_steps, uint32_t *out_ranks)
{
    return write_trace_by("flat", replayed, algorithm, name, max_steps, out_ranks);
}

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    CU_ASSERT_PTR_NOT_NULL(root);
    if (!root)
        suite_note("line %d: %s", error.line, error.text);
    return root;
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static double number_of(const json_t *event, const char *key)
{
    const json_t *number = json_object_get(event, key);
    return json_is_number(number) ? json_number_value(number) : NAN;
}

static bool is_phase(const json_t *event, const char *phase)
{
    return strcmp(text_of(event, "ph"), phase) == 0;
}

static bool is_same_thread(const json_t *a, const json_t *b)
{
    return number_of(a, "pid") == number_of(b, "pid") && number_of(a, "tid") == number_of(b, "tid");
}

/* Within half a thousandth of a nanosecond: the file has whole ones. */
#define SLACK_US 5e-7

/* Slices of a thread follow one another: none begins before the one before it is over. */
static void expect_slices_to_nest(const json_t *events)
{
    const size_t count = json_array_size(events);
    size_t slices = 0, wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *event = json_array_get(events, i);
        if (!is_phase(event, "X"))
            continue;
        slices++;
        wrong += !(number_of(event, "dur") >= 0 && number_of(event, "ts") >= 0);
        for (size_t k = i; k-- > 0;) {
            const json_t *before = json_array_get(events, k);
            if (!is_phase(before, "X") || !is_same_thread(before, event))
                continue;
            wrong += number_of(before, "ts") + number_of(before, "dur") >
                     number_of(event, "ts") + SLACK_US;
            break;
        }
    }
    CU_ASSERT(slices > 0);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Whether some slice of the event's thread is open at its time. */
static bool is_inside_a_slice(const json_t *events, const json_t *event)
{
    const double at = number_of(event, "ts");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *slice = json_array_get(events, i);
        if (is_phase(slice, "X") && is_same_thread(slice, event) &&
            at >= number_of(slice, "ts") - SLACK_US &&
            at <= number_of(slice, "ts") + number_of(slice, "dur") + SLACK_US)
            return true;
    }
    return false;
}

/* Every tail has one head with the same id, name and category, on another process, and not before it. */
static size_t expect_arrows_to_pair(const json_t *events)
{
    size_t tails = 0, heads = 0, pairs = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *tail = json_array_get(events, i);
        heads += is_phase(tail, "f") ? 1 : 0;
        if (!is_phase(tail, "s"))
            continue;
        tails++;
        for (size_t k = 0; k < json_array_size(events); k++) {
            const json_t *head = json_array_get(events, k);
            pairs += is_phase(head, "f") && number_of(head, "id") == number_of(tail, "id") &&
                     strcmp(text_of(head, "name"), text_of(tail, "name")) == 0 &&
                     strcmp(text_of(head, "cat"), text_of(tail, "cat")) == 0 &&
                     strcmp(text_of(head, "bp"), "e") == 0 &&
                     number_of(head, "pid") != number_of(tail, "pid") &&
                     number_of(head, "ts") >= number_of(tail, "ts") &&
                     is_inside_a_slice(events, head) && is_inside_a_slice(events, tail);
        }
    }
    CU_ASSERT_EQUAL(tails, heads);
    CU_ASSERT_EQUAL(tails, pairs);
    return tails;
}

static size_t count_phase(const json_t *events, const char *phase)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(events); i++)
        count += is_phase(json_array_get(events, i), phase);
    return count;
}

static void traces_are_valid(void)
{
    static const char *const algorithms[] = {"ring", "double_tree", "rabenseifner"};
    for (size_t a = 0; a < 3; a++) {
        struct replayed replayed;
        uint32_t ranks = 0;
        char *text = write_trace(&replayed, algorithms[a], "all_reduce", 0, &ranks);
        if (!text)
            return;
        json_t *root = parse(text);
        const json_t *events = json_object_get(root, "traceEvents");
        CU_ASSERT_EQUAL(ranks, 7);
        CU_ASSERT_EQUAL(count_phase(events, "X"), replayed.dag->op_count);
        expect_slices_to_nest(events);
        size_t messages = 0;
        for (uint32_t i = 0; i < replayed.dag->edge_count; i++)
            messages += replayed.dag->edges[i].is_message ? 1 : 0;
        CU_ASSERT_EQUAL(expect_arrows_to_pair(events), messages);
        json_decref(root);
        free(text);
        replayed_free(&replayed);
    }
}

/* Counters of the busiest links never go back in time, never exceed the port, and end at nothing. */
static void counters_follow_the_load(void)
{
    struct replayed replayed;
    uint32_t ranks = 0;
    char *text = write_trace(&replayed, "ring", "all_reduce", 0, &ranks);
    if (!text)
        return;
    json_t *root = parse(text);
    const json_t *events = json_object_get(root, "traceEvents");
    const json_t *last = NULL;
    size_t counters = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (!is_phase(event, "C"))
            continue;
        const double rate = number_of(json_object_get(event, "args"), "GB/s");
        const bool goes_on = last && strcmp(text_of(last, "name"), text_of(event, "name")) == 0;
        counters++;
        CU_ASSERT(rate >= 0 && rate <= 10 * (1 + 1e-6));
        if (goes_on)
            CU_ASSERT(number_of(event, "ts") > number_of(last, "ts"));
        if (last && !goes_on)
            CU_ASSERT_EQUAL(number_of(json_object_get(last, "args"), "GB/s"), 0);
        last = event;
    }
    CU_ASSERT(counters >= 2 * RONDE_WHY_LINKS);
    json_decref(root);
    free(text);
    replayed_free(&replayed);
}

/* What a counter says flowed, in the bytes of its link over the whole run. */
static double counted_bytes(const json_t *events, const char *link, double *out_most)
{
    double bytes = 0, rate = 0, since_us = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (!is_phase(event, "C") || strcmp(text_of(event, "name"), link) != 0)
            continue;
        bytes += rate * 1000 * (number_of(event, "ts") - since_us);
        since_us = number_of(event, "ts");
        rate = number_of(json_object_get(event, "args"), "GB/s");
        *out_most = fmax(*out_most, rate);
    }
    return bytes;
}

/*
 * Flows of a double tree meet at ports and change their rates while they flow. Their means added up to 73 GB/s on a port
 * of 50; now no counter is beyond its port, and what it counts is what the port carried.
 */
static void counters_of_shared_links_are_what_flowed(void)
{
    struct replayed replayed;
    struct ronde_why why;
    uint32_t ranks = 0;
    char *text = write_trace_by("maxmin", &replayed, "double_tree", "all_reduce", 0, &ranks);
    if (!text)
        return;
    CU_ASSERT_EQUAL(ronde_why_find(&replayed.replay, ronde_mem_default(), NULL, &why, NULL),
                    RONDE_OK);
    json_t *root = parse(text);
    const json_t *events = json_object_get(root, "traceEvents");
    for (uint32_t i = 0; i < why.link_count; i++) {
        const struct ronde_link *link = ronde_platform_link(replayed.platform, why.links[i]);
        double most = 0;
        const double bytes = counted_bytes(events, link->name, &most);
        const double carried = why.utilisation[i] * link->rate_GBps * replayed.result.time_ns;
        CU_ASSERT(most > 0.5 * link->rate_GBps && most <= link->rate_GBps * (1 + 1e-5));
        CU_ASSERT(fabs(bytes / carried - 1) < 0.01);
        if (fabs(bytes / carried - 1) >= 0.01)
            suite_note("%s: %.0f bytes counted, %.0f carried", link->name, bytes, carried);
    }
    CU_ASSERT(why.link_count > 0);
    json_decref(root);
    free(text);
    replayed_free(&replayed);
}

/* Quotes, backslashes and control characters of a name come back as they were. */
static void names_survive(void)
{
    static const char name[] = "a \"job\" \\ of\ttwo\nlines";
    struct replayed replayed;
    uint32_t ranks = 0;
    bool is_found = false;
    char *text = write_trace(&replayed, "ring", name, 0, &ranks);
    if (!text)
        return;
    json_t *root = parse(text);
    const json_t *events = json_object_get(root, "traceEvents");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *arguments = json_object_get(json_array_get(events, i), "args");
        is_found |= strstr(text_of(arguments, "name"), name) != NULL;
    }
    CU_ASSERT(is_found);
    json_decref(root);
    free(text);
    replayed_free(&replayed);
}

/* Too many steps: whole ranks are left out, and arrows from or to them; the file says how many there are. */
static void long_runs_are_cut_to_whole_ranks(void)
{
    struct replayed replayed;
    uint32_t ranks = 0;
    char *text = write_trace(&replayed, "ring", "all_reduce", 100, &ranks);
    if (!text)
        return;
    json_t *root = parse(text);
    const json_t *events = json_object_get(root, "traceEvents");
    const size_t slices = count_phase(events, "X");
    CU_ASSERT(ranks > 0 && ranks < 7);
    CU_ASSERT(slices <= 100);
    CU_ASSERT_EQUAL(slices * 7, (size_t)replayed.dag->op_count * ranks);
    CU_ASSERT(expect_arrows_to_pair(events) < slices);
    CU_ASSERT_STRING_EQUAL(text_of(json_object_get(root, "otherData"), "ranks"), "7");
    json_decref(root);
    free(text);
    replayed_free(&replayed);
}

/* Without times or names there is nothing to write; a full disk is an error. */
static void what_cannot_be_written_is_an_error(void)
{
    struct replayed replayed;
    uint32_t ranks = 0;
    free(write_trace(&replayed, "ring", "x", 0, &ranks));
    if (!replayed.platform)
        return;
    const struct ronde_trace_group group = {"x", 0, 7};
    struct ronde_trace trace = {.replay = replayed.replay, .groups = &group, .group_count = 1};
    FILE *full = fopen("/dev/full", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(full);
    CU_ASSERT_EQUAL(ronde_trace_write(&trace, ronde_mem_default(), full, NULL, &replayed.error),
                    RONDE_DEVICE);
    fclose(full);
    const struct ronde_sim_options without = {0};
    trace.replay.options = &without;
    CU_ASSERT_EQUAL(ronde_trace_write(&trace, ronde_mem_default(), stderr, NULL, &replayed.error),
                    RONDE_BAD_ARGUMENT);
    replayed_free(&replayed);
}

static enum ronde_status write_nowhere(const void *trace, const struct ronde_mem *mem,
                                       struct ronde_error *error)
{
    FILE *file = fopen("/dev/null", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const enum ronde_status status = ronde_trace_write(trace, mem, file, NULL, error);
    fclose(file);
    return status;
}

static void allocation_failures_are_clean(void)
{
    struct replayed replayed;
    uint32_t ranks = 0;
    char *text = write_trace(&replayed, "ring", "x", 0, &ranks);
    if (!text)
        return;
    free(text);
    struct ronde_why why;
    CU_ASSERT_EQUAL(ronde_why_find(&replayed.replay, ronde_mem_default(), NULL, &why, NULL),
                    RONDE_OK);
    const struct ronde_trace_group group = {"x", 0, 7};
    struct ronde_trace trace = {.replay = replayed.replay,
                                .why = &why,
                                .groups = &group,
                                .group_count = 1};
    const struct sweep sweep = {.what = "trace", .operation = write_nowhere, .context = &trace};
    CU_ASSERT(sweep_run(&sweep) > 3);
    trace.is_shared = true;
    CU_ASSERT(sweep_run(&sweep) > 10);
    replayed_free(&replayed);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"traces_are_valid", traces_are_valid},
        {"counters_follow_the_load", counters_follow_the_load},
        {"counters_of_shared_links_are_what_flowed", counters_of_shared_links_are_what_flowed},
        {"names_survive", names_survive},
        {"long_runs_are_cut_to_whole_ranks", long_runs_are_cut_to_whole_ranks},
        {"what_cannot_be_written_is_an_error", what_cannot_be_written_is_an_error},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("trace", cases, sizeof cases / sizeof cases[0]);
}
