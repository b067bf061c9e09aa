/* From the command line to what lab/ and predict/ take. See requests.h. */
#include "requests.h"

#include "cli/print/printer.h"
#include "cli/print/report.h"
#include "topology.h"
#include "values.h"

#include "ronde/limits.h"
#include "ronde/schedules.h"
#include "ronde/synthesize.h"

#include <stdlib.h>
#include <string.h>

/* What most commands ask of their command line: one collective, one number of ranks, one algorithm at most. */
static enum ronde_status check_single(const struct ronde_options *options,
                                      enum ronde_collective *out_collective,
                                      struct ronde_error *error)
{
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "which collective? `ronde list` names them");
    RONDE_TRY(ronde_parse_collective(options->arguments[0], out_collective, error));
    if (options->what.rank_counts > 1 || options->what.algorithm_count > 1)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "one number of ranks and one algorithm at a time; sweep and validate take several");
    return RONDE_OK;
}

/* Pairs are named by rank, and only send_recv has any. */
static enum ronde_status add_pairs(const struct ronde_options *options,
                                   struct ronde_compile_request *request, struct ronde_error *error)
{
    if (options->what.pairs.ranks == 0)
        return RONDE_OK;
    if (request->collective != RONDE_SEND_RECV)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--pairs are for send_recv, not for %s",
                          ronde_collective_text(request->collective));
    if (options->what.pairs.ranks > request->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--pairs name rank %u, there are %u ranks",
                          options->what.pairs.ranks - 1, request->ranks);
    if (request->ranks > RONDE_MAX_PAIRED_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--pairs: %u ranks, at most %u",
                          request->ranks, RONDE_MAX_PAIRED_RANKS);
    request->source_of = options->what.pairs.source_of;
    return RONDE_OK;
}

enum ronde_status ronde_compile_request_of(const struct ronde_options *options,
                                           enum ronde_collective collective, uint32_t ranks,
                                           struct ronde_compile_request *out_request,
                                           struct ronde_error *error)
{
    const struct ronde_grid *shape = &options->what.shape;
    struct ronde_compile_request request = {.collective = collective,
                                            .ranks = ranks,
                                            .root = options->what.root,
                                            .channels = options->what.channels,
                                            .shape_count = shape->count};
    memcpy(request.shape, shape->radix, sizeof request.shape);
    if (request.root >= ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "root %u is not below %u ranks", request.root,
                          ranks);
    if (shape->count > 0 && ronde_shape_ranks(shape) != ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--shape is that of %u ranks, not of %u",
                          ronde_shape_ranks(shape), ranks);
    RONDE_TRY(add_pairs(options, &request, error));
    *out_request = request;
    return RONDE_OK;
}

enum ronde_status
ronde_open_request(const struct ronde_options *options, const struct ronde_platform *platform,
                   struct ronde_compile_request *out_request, struct ronde_error *error)
{
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    uint32_t ranks = options->what.ranks[0];
    RONDE_TRY(check_single(options, &collective, error));
    if (options->what.rank_counts == 0)
        RONDE_TRY(ronde_default_ranks(options, platform, &ranks, error));
    return ronde_compile_request_of(options, collective, ranks, out_request, error);
}

enum ronde_status ronde_single_request(const struct ronde_options *options,
                                       const struct ronde_platform *platform, bool is_predicted,
                                       struct ronde_compile_request *out_request,
                                       struct ronde_error *error)
{
    struct ronde_compile_request request;
    RONDE_TRY(ronde_open_request(options, platform, &request, error));
    if (options->what.algorithm_count == 0 && !ronde_first_algorithm(&request))
        return ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm does %s on %u ranks",
                          ronde_collective_text(request.collective), request.ranks);
    if (ronde_limit_check(RONDE_LIMIT_RANKS, request.ranks, error) != RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (options->what.algorithm_count > 0) {
        const struct ronde_algorithm *found =
            (is_predicted
                 ? ronde_parse_carried
                 : ronde_parse_algorithm)(request.collective, options->what.algorithms[0], error);
        if (!found)
            return RONDE_BAD_ARGUMENT;
        request.algorithm = found->name;
    }
    *out_request = request;
    return RONDE_OK;
}

enum ronde_status ronde_schedule_file_or_compiled(const struct ronde_options *options,
                                                  struct ronde_schedule **out_schedule,
                                                  struct ronde_error *error)
{
    struct ronde_compile_request request;
    if (ronde_is_schedule_file(options))
        return ronde_schedule_file_read(options, NULL, NULL, out_schedule, error);
    RONDE_TRY(ronde_single_request(options, NULL, false, &request, error));
    return ronde_compile(&request, ronde_mem_default(), NULL, out_schedule, error);
}

/* Each option struct of lab/ takes the few of the command line's fields that its module reads. */

struct ronde_benchmark_options ronde_benchmark_options_of(const struct ronde_options *options)
{
    return (struct ronde_benchmark_options){
        .dtype = options->what.dtype,
        .op = options->what.op,
        .slot_bytes = options->engine.slot_bytes,
        .depth = options->engine.depth,
        .protocol = options->backend.protocol,
        .seed = options->backend.seed,
        .timeout_ns =
            options->engine.timeout_s > 0.0 ? (uint64_t)(options->engine.timeout_s * 1e9) : 0,
    };
}

struct ronde_calibrate_options ronde_calibrate_options_of(const struct ronde_options *options)
{
    return (struct ronde_calibrate_options){.backend = options->backend.name,
                                            .benchmark = ronde_benchmark_options_of(options),
                                            .reporter = ronde_progress_reporter()};
}

/* The values of one repeated option. */
static enum ronde_status add_all(struct ronde_scenario *scenario, const char *keyword,
                                 const char *const *values, uint32_t count,
                                 struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++) {
        struct ronde_error own = {RONDE_OK, 0, ""};
        status = ronde_scenario_add(scenario, keyword, values[i], &own);
        if (status != RONDE_OK)
            status = ronde_fail(error, status, "--%s: %s", keyword, own.message);
    }
    return status;
}

enum ronde_status ronde_scenario_of(const struct ronde_scenario_options *said,
                                    struct ronde_scenario *out_scenario, struct ronde_error *error)
{
    struct ronde_scenario *all = out_scenario;
    memset(all, 0, sizeof *all);
    RONDE_TRY(said->file ? ronde_scenario_read(all, said->file, error) : RONDE_OK);
    RONDE_TRY(add_all(all, "with", said->with.list, said->with.count, error));
    RONDE_TRY(add_all(all, "background", said->background.list, said->background.count, error));
    return add_all(all, "straggler", said->straggler.list, said->straggler.count, error);
}

enum ronde_status ronde_open_as_it_is(const struct ronde_options *options,
                                      const struct ronde_scenario *scenario,
                                      struct ronde_platform **out_platform,
                                      struct ronde_platform **out_healthy, struct ronde_error *error)
{
    RONDE_TRY(ronde_open_healthy_platform(options, out_platform, error));
    if (!ronde_degrades_links(options) && scenario->degraded_count == 0)
        return RONDE_OK;
    RONDE_TRY(ronde_platform_copy(*out_platform, ronde_mem_default(), out_healthy, error));
    RONDE_TRY(ronde_degrade_links(options, *out_platform, error));
    return ronde_scenario_degrade(scenario, *out_platform, error);
}

/* "2/8": the third of eight. */
static enum ronde_status parse_shard(const char *text, uint32_t *out_index, uint32_t *out_count,
                                     struct ronde_error *error)
{
    unsigned long index = 0, count = 1;
    char *end = NULL;
    if (text) {
        index = strtoul(text, &end, 10);
        count = *end == '/' && end != text ? strtoul(end + 1, &end, 10) : 0;
        if (*end != '\0' || count == 0 || count > 1000000 || index >= count || strchr(text, '-'))
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "shard \"%s\" is not i/n with i from 0 to n - 1", text);
    }
    *out_index = (uint32_t)index;
    *out_count = (uint32_t)count;
    return RONDE_OK;
}

static enum ronde_status list_sizes(const struct ronde_options *options,
                                    struct ronde_sweep_options *out_sweep, struct ronde_error *error)
{
    uint64_t bytes = options->sizes.min_bytes;
    do {
        if (out_sweep->size_count == RONDE_MAX_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor than %llu makes fewer",
                              RONDE_MAX_SIZES, (unsigned long long)options->sizes.factor);
        out_sweep->sizes[out_sweep->size_count++] = bytes;
        bytes = ronde_options_next_size(&options->sizes, bytes);
    } while (bytes != 0);
    return RONDE_OK;
}

enum ronde_status ronde_sweep_options_of(const struct ronde_options *options, const char *shard,
                                         struct ronde_sweep_options *out_options,
                                         struct ronde_error *error)
{
    struct ronde_sweep_options sweep = {.dtype = options->what.dtype,
                                        .ranks = options->what.ranks,
                                        .rank_counts = options->what.rank_counts,
                                        .algorithms = options->what.algorithms,
                                        .algorithm_count = options->what.algorithm_count};
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "sweep: say which collective");
    RONDE_TRY(ronde_parse_collective(options->arguments[0], &sweep.collective, error));
    RONDE_TRY(list_sizes(options, &sweep, error));
    RONDE_TRY(parse_shard(shard, &sweep.shard, &sweep.shards, error));
    *out_options = sweep;
    return RONDE_OK;
}

/* The sweep ends at the largest size even where the factor steps over it: crossovers sit at the ends. */
static enum ronde_status list_compared_sizes(const struct ronde_options *options,
                                             struct ronde_compare_options *out_options,
                                             struct ronde_error *error)
{
    uint32_t count = 0;
    for (uint64_t bytes = options->sizes.min_bytes; count < RONDE_MAX_SIZES;) {
        out_options->sizes[count++] = bytes;
        if (bytes == options->sizes.max_bytes)
            break;
        bytes = ronde_options_next_size(&options->sizes, bytes);
        bytes = bytes ? bytes : options->sizes.max_bytes;
    }
    if (out_options->sizes[count - 1] != options->sizes.max_bytes)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "more than %u sizes", RONDE_MAX_SIZES);
    out_options->size_count = count;
    return RONDE_OK;
}

/* Every number of ranks has the root, shape and pairs that were asked for. */
static enum ronde_status find_request(const struct ronde_options *options,
                                      struct ronde_compile_request *out_request,
                                      struct ronde_error *error)
{
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    RONDE_TRY(ronde_parse_collective(options->arguments[0], &collective, error));
    for (uint32_t r = 0; r < options->what.rank_counts; r++)
        RONDE_TRY(ronde_compile_request_of(options, collective, options->what.ranks[r], out_request,
                                           error));
    return RONDE_OK;
}

enum ronde_status
ronde_compare_options_of(const struct ronde_options *options, const struct ronde_platform *platform,
                         struct ronde_compare_options *out_options, struct ronde_error *error)
{
    struct ronde_compare_options compare = {.algorithms = options->what.algorithms,
                                            .algorithm_count = options->what.algorithm_count,
                                            .ranks = options->what.ranks,
                                            .rank_counts = options->what.rank_counts,
                                            .backend = options->backend.name,
                                            .benchmark = ronde_benchmark_options_of(options),
                                            .reporter = ronde_progress_reporter()};
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a collective is needed, e.g. all_reduce -a ring,tree -N 2,4");
    RONDE_TRY(find_request(options, &compare.request, error));
    RONDE_TRY(list_compared_sizes(options, &compare, error));
    const struct ronde_tune_options how = ronde_tune_options_of(options);
    compare.forecast = ronde_forecast_of(platform, NULL, &compare.request, &how);
    *out_options = compare;
    return RONDE_OK;
}

/* The few of the command line's fields that predict/ reads, --placement, and decisions in words. */

struct ronde_tune_options ronde_tune_options_of(const struct ronde_options *options)
{
    return (struct ronde_tune_options){
        .dtype = options->what.dtype,
        .op = options->what.op,
        .slot_bytes = options->engine.slot_bytes,
        .depth = options->engine.depth,
        .engine = options->engine.name,
        .cfg = options->engine.cfg.list,
        .puts = options->what.algorithm_count == 1 && ronde_name_puts(options->what.algorithms[0]),
        .native_latency = options->engine.native_latency,
        .timeout_ns =
            options->engine.timeout_s > 0.0 ? (uint64_t)(options->engine.timeout_s * 1e9) : 0,
        .progress = ronde_replay_progress(),
        .topology = options->machine.topo,
        .forests = options->engine.synthesize ? RONDE_FORESTS_ALL : RONDE_FORESTS_QUICK,
        .only = ronde_is_forest(options) ? options->what.algorithms[0] : NULL,
    };
}

bool ronde_is_forest(const struct ronde_options *options)
{
    return !ronde_is_schedule_file(options) && options->what.algorithm_count == 1 &&
           ronde_is_synthesized(options->what.algorithms[0]);
}

bool ronde_is_chosen(const struct ronde_options *options)
{
    return ronde_is_auto(options) || ronde_is_forest(options);
}

bool ronde_is_auto(const struct ronde_options *options)
{
    if (ronde_is_schedule_file(options) || options->what.algorithm_count > 1)
        return false;
    return options->what.algorithm_count == 0 || strcmp(options->what.algorithms[0], "auto") == 0;
}

bool ronde_is_autotune(const struct ronde_options *options)
{
    return options->what.algorithm_count == 1 && strcmp(options->what.algorithms[0], "race") == 0;
}

const char *ronde_basis_text(const struct ronde_selector *selector, char out_text[RONDE_BASIS_BYTES])
{
    static const char *const advice[] = {
        [RONDE_BASIS_NONE] = "",
        [RONDE_BASIS_MEASURED] = "; --topo prices another machine, -a race measures this one",
        [RONDE_BASIS_PLATFORM] = "",
        [RONDE_BASIS_TYPICAL] = "; --topo names another machine",
        [RONDE_BASIS_DEFAULT] = "",
        [RONDE_BASIS_RACE] = "",
    };
    snprintf(out_text, RONDE_BASIS_BYTES, "%s%s", selector->words, advice[selector->basis]);
    return out_text;
}

void ronde_selector_say(const struct ronde_selector *selector,
                        const struct ronde_decision *decision, char *out_text, size_t bytes)
{
    const struct ronde_quote *best = &selector->quotes[decision->best];
    char set_up[RONDE_SETUP_OPTIONS_BYTES];
    const int length = snprintf(out_text, bytes, "%s%s%s: %s us (%s)",
                                selector->choice.candidates[decision->best].request.algorithm,
                                ronde_decision_options(selector, decision, set_up)[0] ? " " : "",
                                set_up, ronde_cell_us(best->time_ns).text, best->engine);
    if (decision->second != RONDE_NONE && length > 0 && (size_t)length < bytes)
        snprintf(out_text + length, bytes - (size_t)length, ", next %s %s us",
                 selector->choice.candidates[decision->second].request.algorithm,
                 ronde_cell_us(selector->quotes[decision->second].time_ns).text);
}

/* The placement of a word of the list, or its nearest name in the error. */
static enum ronde_status parse_one(const char *word, enum ronde_placement *out_placement,
                                   struct ronde_error *error)
{
    const char *names[RONDE_PLACEMENT_COUNT];
    uint32_t which = 0;

    for (uint32_t i = 0; i < RONDE_PLACEMENT_COUNT; i++)
        names[i] = ronde_placement_text((enum ronde_placement)i);
    const enum ronde_status status =
        ronde_name_parse("--placement: unknown", word, names, RONDE_PLACEMENT_COUNT, &which, error);
    *out_placement = (enum ronde_placement)which;
    return status;
}

/* Adds one that is not there yet. */
static enum ronde_status add(struct ronde_placements *placements, enum ronde_placement placement,
                             struct ronde_error *error)
{
    for (uint32_t i = 0; i < placements->count; i++)
        if (placements->list[i] == placement)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "--placement: %s is given twice",
                              ronde_placement_text(placement));
    placements->list[placements->count++] = placement;
    return RONDE_OK;
}

enum ronde_status ronde_placements_parse(const char *text, struct ronde_placements *out_placements,
                                         struct ronde_error *error)
{
    struct ronde_placements placements = {.count = 0};
    enum ronde_status status = RONDE_OK;
    for (const char *at = text ? text : "auto"; at && status == RONDE_OK;) {
        char word[32];
        enum ronde_placement placement;
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), at);
        status = parse_one(word, &placement, error);
        RONDE_THEN(status, add(&placements, placement, error));
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    *out_placements = placements;
    return status;
}

/* The number of ranks without -N. */

/* The fewest that have anything to say to each other. */
#define LEAST_RANKS 2u

enum ronde_status ronde_default_ranks(const struct ronde_options *options,
                                      const struct ronde_platform *platform, uint32_t *out_ranks,
                                      struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_platform *opened = NULL;
    enum ronde_status status = RONDE_OK;

    *out_ranks = LEAST_RANKS;
    if (ronde_is_schedule_file(options))
        status = ronde_schedule_file_read(options, NULL, NULL, &schedule, error);
    else if (options->machine.topo && !platform)
        status = ronde_machine_open(options, &opened, error);
    if (status == RONDE_OK && schedule)
        *out_ranks = schedule->ranks;
    else if (status == RONDE_OK && (platform || opened))
        *out_ranks = ronde_platform_facts(platform ? platform : opened)->hosts;
    ronde_platform_destroy(opened);
    ronde_schedule_destroy(schedule);
    return status;
}

/* Ranks and algorithms of a grid without -N and -a. */

static bool serves_all_ranks(const struct ronde_algorithm *algorithm,
                             const struct ronde_options *options)
{
    for (uint32_t r = 0; r < options->what.rank_counts; r++) {
        struct ronde_compile_request request;
        struct ronde_error unused = {0};
        if (ronde_compile_request_of(options, algorithm->collective, options->what.ranks[r],
                                     &request, &unused) != RONDE_OK)
            return false;
        request.algorithm = algorithm->name;
        if (algorithm->supports(&request, &unused) != RONDE_OK)
            return false;
    }
    return true;
}

enum ronde_status ronde_default_grid(const struct ronde_platform *platform, bool must_serve_all,
                                     struct ronde_options *options, struct ronde_error *error)
{
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    if (options->what.rank_counts == 0)
        options->what.ranks[options->what.rank_counts++] = ronde_platform_facts(platform)->hosts;
    if (options->what.algorithm_count > 0 || options->argument_count == 0)
        return RONDE_OK;
    RONDE_TRY(ronde_parse_collective(options->arguments[0], &collective, error));
    for (uint32_t i = 0; i < total; i++) {
        if (all[i]->collective != collective ||
            (must_serve_all && !serves_all_ranks(all[i], options)))
            continue;
        if (options->what.algorithm_count == RONDE_MAX_NAMES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u algorithms: say which with -a", RONDE_MAX_NAMES);
        options->what.algorithms[options->what.algorithm_count++] = all[i]->name;
    }
    return RONDE_OK;
}

/* Schedules from files, as the command line names them. */

bool ronde_is_schedule_file(const struct ronde_options *options)
{
    return options->what.nccl_log ||
           (options->argument_count > 0 && ronde_is_file(options->arguments[0]));
}

/* What an algorithm would be asked for is decided in the file: nothing that is said beside it may be ignored. */
static enum ronde_status check_options(const struct ronde_options *options, uint32_t ranks,
                                       struct ronde_error *error)
{
    const char *path = options->arguments[0];
    if (options->what.algorithm_count > 0 || options->what.shape.count > 0 ||
        options->what.channels > 0 || options->what.pairs.ranks > 0 || options->what.root > 0 ||
        options->what.all_roots)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s is a schedule, which has its algorithm, root, shape, channels and "
                          "pairs: leave out -a, -r, --shape, --channels and --pairs",
                          path);
    if (options->what.rank_counts > 1 ||
        (options->what.rank_counts == 1 && options->what.ranks[0] != ranks))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s is for %u ranks: leave out -N", path,
                          ranks);
    return RONDE_OK;
}

enum ronde_status
ronde_schedule_file_read(const struct ronde_options *options, struct ronde_msccl_facts *out_facts,
                         struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                         struct ronde_error *error)
{
    if (options->what.nccl_log) {
        if (out_facts)
            *out_facts = (struct ronde_msccl_facts){.is_msccl = false};
        const enum ronde_status built = ronde_nccl_log_schedule(options, out_schedule, error);
        if (built == RONDE_OK && out_proof)
            *out_proof = (*out_schedule)->proof;
        return built;
    }
    enum ronde_status status = ronde_schedule_file_inspect(options->arguments[0], out_facts,
                                                           out_proof, out_schedule, error);
    RONDE_THEN(status, check_options(options, (*out_schedule)->ranks, error));
    if (status != RONDE_OK) {
        ronde_schedule_destroy(*out_schedule);
        *out_schedule = NULL;
    }
    return status;
}

enum ronde_status ronde_schedule_text_write(const struct ronde_options *options, char *text,
                                            size_t bytes, struct ronde_error *error)
{
    struct ronde_sink sink = {0};
    enum ronde_status status = ronde_sink_open(options, &sink, error);
    if (status == RONDE_OK && fwrite(text, 1, bytes, sink.file) != bytes)
        status = ronde_fail(error, RONDE_DEVICE, "schedule could not be written");
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
    return ronde_sink_close(&sink, status, error);
}
