/* ronde doctor: whether a log of nccl-tests is what the machine should give, and what may be wrong. */
#include "cli/print/doctor_print.h"
#include "cli/print/report.h"
#include "commands.h"
#include "nccl_machine.h"

#include <string.h>

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants;
    struct ronde_doctor_spread spread;
    struct ronde_nccl_site site; /* of --topo */
    struct ronde_published published;
    struct ronde_sink sink;
    struct ronde_diagnosis diagnosis;
    bool is_wrong;
};

/* A log of other GPUs than the description's says nothing about them. */
static enum ronde_status check_gpu(const struct session *session, struct ronde_error *error)
{
    const struct ronde_nccl_machine *machine = &session->published.systems[0].machine;
    const char *gpu = session->published.log.gpu;
    enum ronde_nccl_generation generation;
    if (!ronde_nccl_generation_find(gpu, &generation) || generation == machine->generation)
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_INPUT,
                      "%s was measured on \"%s\" (%s), --topo %s describes %s GPUs",
                      session->options->arguments[0], gpu, ronde_nccl_generation_text(generation),
                      machine->name, ronde_nccl_generation_text(machine->generation));
}

static bool is_one_shape(const struct ronde_nccl_call *a, const struct ronde_nccl_call *b)
{
    return a->collective == b->collective && a->ranks == b->ranks && a->nodes == b->nodes;
}

/* What links of a platform leave, where all rows are of one collective of the same ranks, as those of a log are. */
static enum ronde_status limit_by_links(struct session *session, struct ronde_error *error)
{
    const struct ronde_published *published = &session->published;
    struct ronde_error ignored = {0};
    for (size_t r = 0; r < published->count; r++)
        if (!is_one_shape(&published->rows[r].call, &published->rows[0].call))
            return RONDE_OK;
    return published->count > 0 &&
                   ronde_nccl_call_check(&session->site.machine, &published->rows[0].call,
                                         &ignored) == RONDE_OK
               ? ronde_nccl_site_limit(&session->site, &published->rows[0].call, NULL, error)
               : RONDE_OK;
}

/* --topo, or the description that is shipped for --system. */
static enum ronde_status take_machine(struct session *session, struct ronde_error *error)
{
    struct ronde_published *published = &session->published;
    const char *path = session->options->arguments[0];
    if (published->system_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has %u systems: --system names one", path,
                          published->system_count);
    if (!session->options->topo && !published->systems[0].is_described)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "the machine is missing: --topo with its description "
            "(topologies/published/README.md), or --system with a shipped one's name");
    if (!session->options->topo)
        return check_gpu(session, error);
    enum ronde_status status = ronde_nccl_site_open(session->options, &session->site, error);
    if (status == RONDE_OK)
        status = limit_by_links(session, error);
    if (status != RONDE_OK)
        return status;
    ronde_published_describe(published, 0, &session->site.machine, &session->constants);
    return check_gpu(session, error);
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
    struct ronde_doctor_view view = {.sink = &session->sink,
                                     .published = &session->published,
                                     .spread = &session->spread,
                                     .path = session->options->arguments[0]};
    enum ronde_status status = ronde_doctor_print_log(&view, &session->is_wrong, error);
    for (int faulty = 0; status == RONDE_OK && faulty < 2; faulty++) {
        const struct ronde_doctor_request request = {.published = &session->published,
                                                     .is_faulty = faulty,
                                                     .constants = &session->constants,
                                                     .spread = &session->spread};
        if (!has_rows(&session->published, faulty))
            continue;
        view.is_faulty = faulty;
        status = ronde_doctor(&request, &session->diagnosis, error);
        /* What is wrong with a log already needs no numbers. */
        if (status != RONDE_OK && status != RONDE_NO_MEMORY && session->is_wrong)
            return RONDE_OK;
        if (status == RONDE_OK)
            status = ronde_doctor_print(&view, &session->diagnosis, error);
        session->is_wrong = session->is_wrong || (status == RONDE_OK && session->diagnosis.is_wrong);
    }
    return status;
}

static enum ronde_status read_all(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    struct ronde_published_request request;
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "which log is missing: the output of nccl-tests, its JSON, or a table");
    enum ronde_status status =
        ronde_log_request_of(options, options->arguments[0], 1, &request, error);
    if (status == RONDE_OK)
        status = ronde_nccl_constants_read(NULL, &session->constants, error);
    if (status == RONDE_OK)
        status = ronde_doctor_spread_read(NULL, &session->spread, error);
    if (status == RONDE_OK)
        status = ronde_published_open(&request, ronde_mem_default(), &session->published, error);
    if (status != RONDE_OK)
        return status;
    ronde_published_choose(&session->published, &session->constants);
    return take_machine(session, error);
}

int ronde_cmd_doctor(const struct ronde_options *options)
{
    static struct session session;
    struct ronde_error error = {0};
    session = (struct session){.options = options};
    enum ronde_status status = read_all(&session, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &session.sink, &error);
    if (status == RONDE_OK)
        status = diagnose(&session, &error);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK &&
        status == RONDE_OK)
        status = error.status;
    if (session.published.mem)
        ronde_published_close(&session.published);
    ronde_nccl_site_close(&session.site);
    if (status != RONDE_OK)
        return ronde_report(&error);
    return session.is_wrong ? RONDE_EXIT_NO : RONDE_EXIT_OK;
}
