/* ronde compile: the text of a schedule. */
#include "cli/options/schedule_file.h"
#include "cli/options/tune_options.h"
#include "cli/print/report.h"
#include "commands.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/text.h"

#include <string.h>

/* The schedule that is fastest for the size of -b, on the machine or the backend of the options. */
static enum ronde_status choose(const struct ronde_options *options,
                                struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct ronde_compile_request request;
    struct ronde_tune_options how = ronde_tune_options_of(options);
    struct ronde_selector selector = {.quotes = NULL};
    struct ronde_decision decision;
    char text[RONDE_DECISION_BYTES], basis[RONDE_BASIS_BYTES];
    /* A schedule says how its rings go, and not where ranks sit. */
    how.is_placed = true;
    how.placement = RONDE_PLACE_AUTO;
    enum ronde_status status = ronde_open_request(options, &request, error);
    if (status == RONDE_OK)
        status = ronde_selector_open(&how, &request, &selector, error);
    if (status == RONDE_OK)
        status = ronde_selector_rely(&selector, NULL, ronde_executor_times_of(options->backend),
                                     ronde_usable_cores(), error);
    if (status == RONDE_OK)
        status = ronde_selector_decide(&selector,
                                       ronde_record_count(request.collective, request.ranks,
                                                          options->min_bytes, options->dtype),
                                       &decision, error);
    if (status == RONDE_OK) {
        ronde_selector_say(&selector, &decision, text, sizeof text);
        ronde_note("algorithm %s, by %s", text, ronde_basis_text(&selector, basis));
        *out_schedule = ronde_choice_take_schedule(&selector.choice, decision.best);
    }
    ronde_selector_close(&selector);
    return status;
}

int ronde_cmd_compile(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_schedule *schedule = NULL;
    char *text = NULL;
    size_t bytes = 0;
    /* Without -a it is the registry's first: a text that did not change with a table's numbers is what files are kept for. */
    const bool is_auto =
        options->algorithm_count == 1 && strcmp(options->algorithms[0], "auto") == 0;
    enum ronde_status status = is_auto || ronde_is_forest(options)
                                   ? choose(options, &schedule, &error)
                                   : ronde_schedule_file_or_compiled(options, &schedule, &error);
    if (status == RONDE_OK)
        status = ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, &error);
    if (status == RONDE_OK)
        status = ronde_schedule_text_write(options, text, bytes, &error);
    ronde_schedule_destroy(schedule);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
