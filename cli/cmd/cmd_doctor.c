/* ronde doctor: whether a log of nccl-tests is what the machine should give, and what may be wrong. */
#include "cli/draw/gnuplot.h"
#include "cli/options/option_groups.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "styles.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants;
    struct ronde_doctor_spread spread;
    struct ronde_nccl_bands bands;
    struct ronde_nccl_site site;  /* of --topo */
    struct ronde_published *logs; /* one each; the first has the rows of all once they are joined */
    uint32_t log_count;
    struct ronde_published *published; /* the first */
    char path[128];                    /* what all of them are called */
    struct ronde_sink *sink;
    struct ronde_diagnosis diagnosis;
    bool is_wrong;
};

static enum ronde_status check_gpu(const char *path, const struct ronde_published *published,
                                   struct ronde_error *error)
{
    return ronde_check_log_gpu(path, published->log.gpu, &published->systems[0].machine, error);
}

/* What links of a platform leave to each call that the machine can make. */
static enum ronde_status limit_by_links(struct session *session, struct ronde_published *published,
                                        struct ronde_error *error)
{
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        struct ronde_error ignored = {0};
        if (ronde_nccl_call_check(&session->site.machine, &row->call, &ignored) == RONDE_OK)
            RONDE_TRY(ronde_nccl_site_limits_of(&session->site, &row->call, &row->limits, error));
    }
    return RONDE_OK;
}

/* --topo, or the description that is shipped for --system. */
static enum ronde_status take_machine(struct session *session, const char *path,
                                      struct ronde_published *published, struct ronde_error *error)
{
    if (published->system_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has %u systems: --system names one", path,
                          published->system_count);
    if (session->options->machine.topo && published->log.is_log)
        RONDE_TRY(
            ronde_takes_none(session->options, "system", "--topo is the machine of a log", error));
    if (!session->options->machine.topo && !published->systems[0].is_described)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "the machine is missing: --topo with its description "
            "(topologies/published/README.md), or --system with a shipped one's name");
    if (!session->options->machine.topo)
        return check_gpu(path, published, error);
    if (session->site.machine.gpus == 0)
        RONDE_TRY(ronde_nccl_site_open(session->options, &session->site, error));
    RONDE_TRY(limit_by_links(session, published, error));
    ronde_published_describe(published, 0, &session->site.machine, &session->constants);
    return check_gpu(path, published, error);
}

static bool has_rows(const struct ronde_published *published, bool is_faulty)
{
    for (size_t r = 0; r < published->count; r++)
        if (is_faulty == (published->rows[r].state == RONDE_PUBLISHED_FAULTY))
            return true;
    return false;
}

/* What was measured, then what its source has marked as faulty. */
static enum ronde_status diagnose(struct session *session, struct ronde_error *error)
{
    struct ronde_doctor_view view = {.sink = session->sink,
                                     .spread = &session->spread,
                                     .bands = &session->bands};
    enum ronde_status status = RONDE_OK;
    bool has_verdict = false;
    for (uint32_t l = 0; status == RONDE_OK && l < session->log_count; l++) {
        view.published = &session->logs[l];
        view.path = session->options->arguments[l];
        status = ronde_doctor_print_log(&view, error);
    }
    for (uint32_t l = 1; status == RONDE_OK && l < session->log_count; l++)
        status = ronde_published_join(session->published, &session->logs[l], error);
    view.published = session->published;
    view.is_joint = session->log_count > 1;
    if (view.is_joint)
        view.path = session->path;
    session->is_wrong = view.trouble != NULL;
    for (int faulty = 0; status == RONDE_OK && faulty < 2; faulty++) {
        const struct ronde_doctor_request request = {.published = session->published,
                                                     .is_faulty = faulty,
                                                     .constants = &session->constants,
                                                     .spread = &session->spread};
        if (!has_rows(session->published, faulty))
            continue;
        view.is_faulty = faulty;
        status = ronde_doctor(&request, &session->diagnosis, error);
        /* What is wrong with a log already needs no numbers. */
        if (status != RONDE_OK && status != RONDE_NO_MEMORY && session->is_wrong) {
            status = RONDE_OK;
            break;
        }
        RONDE_THEN(status, ronde_doctor_print(&view, &session->diagnosis, error));
        ronde_doctor_page_rows(&view, &request);
        /* What a source itself marks says nothing of the machine where other rows do. */
        session->is_wrong |= !has_verdict && status == RONDE_OK && session->diagnosis.is_wrong;
        has_verdict = true;
    }
    return status == RONDE_OK && !has_verdict && view.trouble
               ? ronde_doctor_print(&view, NULL, error)
               : status;
}

/* Logs stand first; what follows them and is no file says of which collective they are, where they don't. */
static uint32_t count_logs(const struct ronde_options *options)
{
    const uint32_t last = options->argument_count - 1;
    return last > 0 && access(options->arguments[last], F_OK) != 0 &&
                   !strpbrk(options->arguments[last], "./")
               ? last
               : last + 1;
}

static enum ronde_status read_log(struct session *session, uint32_t log, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    struct ronde_published *published = &session->logs[log];
    struct ronde_published_request request;
    RONDE_TRY(ronde_log_request_of(options, options->arguments[log],
                                   *(const char *const *)options->own, session->log_count, &request,
                                   error));
    RONDE_TRY(ronde_published_open(&request, ronde_mem_default(), published, error));
    if (published->is_table)
        ronde_published_keep_best(published);
    ronde_published_choose(published, &session->constants);
    return take_machine(session, request.path, published, error);
}

/* All logs are of one machine: --topo, or the shipped one of the first. */
static enum ronde_status read_logs(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    session->log_count = count_logs(options);
    session->logs = ronde_mem_new(ronde_mem_default(), session->log_count, sizeof *session->logs);
    session->published = session->logs;
    enum ronde_status status = RONDE_OK;
    if (!session->logs)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u logs", session->log_count);
    for (uint32_t l = 0; status == RONDE_OK && l < session->log_count; l++)
        status = read_log(session, l, error);
    snprintf(session->path, sizeof session->path, "%.90s and %u more", options->arguments[0],
             session->log_count - 1);
    return status;
}

static enum ronde_status read_all(struct session *session, struct ronde_error *error)
{
    if (session->options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "which log is missing: the output of nccl-tests, its JSON, or a table");
    RONDE_TRY(ronde_nccl_constants_read(NULL, &session->constants, error));
    RONDE_TRY(ronde_doctor_spread_read(NULL, &session->spread, error));
    RONDE_TRY(ronde_nccl_bands_read(NULL, &session->bands, error));
    RONDE_TRY(read_logs(session, error));
    return ronde_nccl_anchor(session->options, &session->published->systems[0].machine,
                             &session->constants, &session->bands, error);
}

/* --plot: measured points on the lines that are expected. */
static enum ronde_status draw(struct session *session, struct ronde_error *error)
{
    if (!session->options->output.plot)
        return RONDE_OK;
    ronde_published_predict(session->published, 0, &session->constants);
    return ronde_published_plot(session->published, session->options->output.plot, false, NULL,
                                error);
}

static enum ronde_status doctor_command(struct ronde_invocation *call, struct ronde_error *error)
{
    static struct session session;
    const struct ronde_options *options = call->options;

    session = (struct session){.options = options, .sink = &call->sink};
    enum ronde_status status = ronde_plot_check(options->output.plot, error);
    RONDE_THEN(status, read_all(&session, error));
    RONDE_THEN(status, ronde_sink_open(options, session.sink, error));
    RONDE_THEN(status, diagnose(&session, error));
    RONDE_THEN(status, draw(&session, error));
    for (uint32_t l = 0; session.logs && l < session.log_count; l++)
        if (session.logs[l].mem)
            ronde_published_close(&session.logs[l]);
    ronde_mem_free(ronde_mem_default(), session.logs, session.log_count, sizeof *session.logs);
    ronde_nccl_site_close(&session.site);
    call->code = session.is_wrong ? RONDE_EXIT_NO : RONDE_EXIT_OK;
    return status;
}

static const struct ronde_option own_rows[] = {
    {"system", 0, "NAME", ronde_take_text, 0, NULL, 0, false,
     "the system of a table that is diagnosed"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, own_rows, const char *, NULL),
    RONDE_TAKES(what, "ranks shape anchor"),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(output, "json csv wide output plot html"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_doctor = {
    .name = "doctor",
    .arguments = "LOG... [COLLECTIVE]",
    .summary =
        "whether nccl-tests' numbers are what the hardware should give, and what may be wrong",
    .examples = "  ronde doctor all_reduce.log --topo machine.txt\n"
                "  ronde doctor all_reduce.json --topo H100-cluster01 --json\n"
                "  ronde doctor all_reduce.log sendrecv.log alltoall.log --topo H100-cluster01\n"
                "  ronde doctor pasted.txt all_gather --shape 2x8 --topo machine.txt\n"
                "LOG is what nccl-tests prints, the JSON of its -J, or a table as for validate "
                "--published;\nseveral are of one machine and tell together what one leaves open.\n"
                "COLLECTIVE and -N or --shape say what a log leaves out. Exit code 1: something is "
                "wrong.\n",
    .uses = uses,
    .max_arguments = RONDE_MAX_ARGUMENTS,
    .run = doctor_command,
};
