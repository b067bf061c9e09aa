/* ronde explain: which collectives of a job are slow, what they should cost, who is late. */
#include "cli/options/option_groups.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "styles.h"

#include "ronde/explain.h"
#include "ronde/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Files of a job: what is named, and what is in folders that are ----------------------------------------------- */

struct job_file {
    char *path;
    bool is_named; /* itself, not its folder */
    dev_t device;  /* with `inode`: which file it is, by whatever path */
    ino_t inode;
};

/* Files of a job at most: a rank each. */
#define MOST_FILES 65536u

/* A file that is named beside its folder is one file, whose calls count once. */
static bool is_there(struct ronde_list *files, const struct stat *info, bool is_named)
{
    struct job_file *all = files->items;
    for (uint32_t i = 0; i < files->count; i++)
        if (all[i].device == info->st_dev && all[i].inode == info->st_ino) {
            all[i].is_named |= is_named;
            return true;
        }
    return false;
}

static enum ronde_status add(struct ronde_list *files, const char *folder, const char *name,
                             const struct stat *info, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const size_t bytes = strlen(name) + (folder ? strlen(folder) + 1 : 0) + 1;

    if (is_there(files, info, folder == NULL))
        return RONDE_OK;
    if (files->count == MOST_FILES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%.200s: more than %u files of one job", name,
                          MOST_FILES);
    char *path = ronde_mem_new(mem, bytes, 1);
    struct job_file *file = path ? ronde_list_push(mem, files, sizeof *file) : NULL;
    if (!file) {
        ronde_mem_free(mem, path, bytes, 1);
        return ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", name);
    }
    snprintf(path, bytes, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    *file = (struct job_file){path, folder == NULL, info->st_dev, info->st_ino};
    return RONDE_OK;
}

static bool is_file(const char *folder, const char *name, struct stat *out_info)
{
    char path[1024];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           stat(path, out_info) == 0 && S_ISREG(out_info->st_mode);
}

/* Ranks in the order of their numbers: rank2 comes before rank10. */
static enum ronde_status add_folder(struct ronde_list *files, const char *folder,
                                    struct ronde_error *error)
{
    struct dirent **entries = NULL;
    enum ronde_status status = RONDE_OK;
    const int count = scandir(folder, &entries, NULL, versionsort);
    if (count < 0)
        return ronde_fail(error, RONDE_IO, "%.200s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat info;
        const char *name = entries[i]->d_name;
        if (status == RONDE_OK && name[0] != '.' && is_file(folder, name, &info))
            status = add(files, folder, name, &info, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Adds a file, or the files of a folder in the order of their names; not those of its folders. Errors: IO, NO_MEMORY. */
static enum ronde_status job_files_add(struct ronde_list *files, const char *path,
                                       struct ronde_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return ronde_fail(error, RONDE_IO, "%.200s: %s", path, strerror(errno));
    return S_ISDIR(info.st_mode) ? add_folder(files, path, error)
                                 : add(files, NULL, path, &info, error);
}

/* Frees them. */
static void job_files_close(struct ronde_list *files)
{
    struct job_file *all = files->items;
    for (uint32_t i = 0; i < files->count; i++)
        ronde_mem_free(ronde_mem_default(), all[i].path, strlen(all[i].path) + 1, 1);
    ronde_list_free(ronde_mem_default(), files, sizeof *all);
}

/* What is the command's own. */
struct explain_options {
    uint32_t step;  /* NONE = all */
    const char *to; /* another form than a table; NULL */
};

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_list files; /* of struct job_file */
    struct ronde_list logs;  /* of uint32_t: files that are none of the traces' kinds */
    struct ronde_traces traces;
    struct ronde_explanation found;
    struct ronde_nccl_site site;
    struct ronde_nccl_constants constants;
    struct ronde_doctor_spread spread;
    struct ronde_published published; /* the log that is read */
    struct ronde_diagnosis diagnosis;
    bool has_diagnosis;
    struct ronde_sink *sink;
};

static enum ronde_status name_files(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "which traces is missing: files or folders of torch.profiler, NCCL "
                          "Inspector or torch's flight recorder, logs of nccl-tests");
    for (uint32_t a = 0; a < options->argument_count; a++)
        RONDE_TRY(job_files_add(&session->files, options->arguments[a], error));
    return RONDE_OK;
}

/* A file of a folder that is no trace is passed over; one that was named may be a log of nccl-tests. */
static enum ronde_status read_file(struct session *session, uint32_t file, uint32_t *read,
                                   struct ronde_error *error)
{
    const struct job_file *is = (const struct job_file *)session->files.items + file;
    const char *path = is->path;
    enum ronde_trace_format format;
    RONDE_TRY(ronde_trace_sniff(path, ronde_mem_default(), &format, error));
    if (format == RONDE_TRACE_FORMAT_COUNT && !is->is_named)
        return RONDE_OK;
    if (format == RONDE_TRACE_FORMAT_COUNT) {
        uint32_t *log = ronde_list_push(ronde_mem_default(), &session->logs, sizeof *log);
        if (!log)
            return ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", path);
        *log = file;
        return RONDE_OK;
    }
    const double files = session->files.count;
    ronde_progress_part(file / files, (file + 1) / files, "reading %s", path);
    ++*read;
    return ronde_traces_add(&session->traces, path, format, error);
}

static enum ronde_status read_files(struct session *session, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    uint32_t read = 0;
    for (uint32_t f = 0; status == RONDE_OK && f < session->files.count; f++)
        status = read_file(session, f, &read, error);
    ronde_progress_end();
    if (status == RONDE_OK && read + session->logs.count == 0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%.200s: no traces in it; a folder is one job, and its folders are not "
                          "looked into",
                          session->options->arguments[0]);
    return status == RONDE_OK ? ronde_traces_join(&session->traces, error) : status;
}

/* A named file that is no trace: a log of nccl-tests, or refused as what it is not. */
static enum ronde_status add_log(struct session *session, const char *path,
                                 struct ronde_error *error)
{
    const struct ronde_published_request request = {.path = path};
    struct ronde_published *published = &session->published;
    struct ronde_error why = {0};
    RONDE_TRY(ronde_refuse_compressed(path, error));
    enum ronde_status status = ronde_published_open(&request, ronde_mem_default(), published, &why);
    if (status == RONDE_OK && published->log.is_log)
        status = ronde_explanation_add_log(&session->found, published, &why);
    else if (status != RONDE_NO_MEMORY && status != RONDE_IO)
        status = ronde_fail(error, RONDE_BAD_INPUT,
                            "%.200s: neither a trace of torch.profiler, nor NCCL Inspector's log, "
                            "nor a flight recorder's dump, nor a log of nccl-tests%s%.150s",
                            path, why.message[0] ? ": " : "", why.message);
    if (published->mem)
        ronde_published_close(published);
    return status == RONDE_OK ? RONDE_OK : ronde_fail(error, status, "%s", why.message);
}

static enum ronde_status add_logs(struct session *session, struct ronde_error *error)
{
    const struct job_file *files = session->files.items;
    const uint32_t *logs = session->logs.items;
    for (uint32_t l = 0; l < session->logs.count; l++)
        RONDE_TRY(add_log(session, files[logs[l]].path, error));
    return RONDE_OK;
}

/* The machine comes first: what is wrong with its name is said before gigabytes are read. */
static enum ronde_status open_machine(struct session *session, struct ronde_error *error)
{
    if (!session->options->machine.topo)
        return RONDE_OK;
    RONDE_TRY(ronde_nccl_constants_read(NULL, &session->constants, error));
    RONDE_TRY(ronde_doctor_spread_read(NULL, &session->spread, error));
    return ronde_nccl_site_open(session->options, &session->site, error);
}

/* What rows should take. A call that the platform cannot have, or the model has not, has no expectation. */
static enum ronde_status expect(struct session *session, struct ronde_error *error)
{
    struct ronde_explain_row *rows = session->found.rows.items;
    for (uint32_t r = 0; session->options->machine.topo && r < session->found.rows.count; r++) {
        struct ronde_nccl_call call;
        struct ronde_error why = {0};
        if (!ronde_explain_call(&rows[r], &session->site.machine, &call))
            continue;
        const enum ronde_status status =
            ronde_nccl_site_limits_of(&session->site, &call, &rows[r].limits, &why);
        if (status == RONDE_NO_MEMORY)
            return ronde_fail(error, status, "%s", why.message);
        if (status == RONDE_OK)
            ronde_explain_expect(&rows[r], &call, &session->site.machine, &session->constants,
                                 &session->spread);
    }
    return RONDE_OK;
}

/* --to: what else can be written than a table. */
static enum ronde_status check_form(const struct session *session, struct ronde_error *error)
{
    const struct explain_options *own = session->options->own;
    const struct ronde_output_options *output = &session->options->output;
    if (own->to && strcmp(own->to, "workload") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--to \"%s\" is not workload", own->to);
    return own->to && (output->json || output->csv)
               ? ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--to workload is a file of its own form: leave out --json and --csv")
               : RONDE_OK;
}

static enum ronde_status explain(struct session *session, struct ronde_error *error)
{
    const struct explain_options *own = session->options->own;
    RONDE_TRY(check_form(session, error));
    RONDE_TRY(name_files(session, error));
    RONDE_TRY(open_machine(session, error));
    RONDE_TRY(ronde_sink_open(session->options, session->sink, error));
    RONDE_TRY(read_files(session, error));
    if (own->to)
        return ronde_explain_workload(&session->traces, own->step, ronde_mem_default(),
                                      session->sink->file, error);
    RONDE_TRY(
        ronde_explain(&session->traces, own->step, ronde_mem_default(), &session->found, error));
    RONDE_TRY(add_logs(session, error));
    RONDE_TRY(expect(session, error));
    if (session->options->machine.topo)
        RONDE_TRY(ronde_explain_diagnose(&session->found, &session->site.machine,
                                         &session->constants, &session->spread, &session->diagnosis,
                                         &session->has_diagnosis, error));
    const struct ronde_explain_view view = {
        .sink = session->sink,
        .traces = &session->traces,
        .found = &session->found,
        .machine = session->options->machine.topo ? &session->site.machine : NULL,
        .constants = &session->constants,
        .diagnosis = session->has_diagnosis ? &session->diagnosis : NULL};
    return ronde_explain_print(&view, error);
}

static enum ronde_status explain_command(struct ronde_invocation *call, struct ronde_error *error)
{
    static struct session session;

    session = (struct session){.options = call->options, .sink = &call->sink};
    ronde_traces_open(&session.traces, ronde_mem_default());
    session.found.mem = ronde_mem_default();
    const enum ronde_status status = explain(&session, error);
    ronde_explanation_close(&session.found);
    ronde_traces_close(&session.traces);
    job_files_close(&session.files);
    ronde_list_free(ronde_mem_default(), &session.logs, sizeof(uint32_t));
    ronde_nccl_site_close(&session.site);
    return status;
}

static const struct explain_options defaults = {.step = RONDE_TRACE_NONE};

static const struct ronde_option own_rows[] = {
    {"step", 0, "N", ronde_take_count, offsetof(struct explain_options, step), NULL, 0, false,
     "only the calls of ProfilerStep#N"},
    {"to", 0, "FORMAT", ronde_take_text, offsetof(struct explain_options, to), "workload", 0, false,
     "workload: the step as ronde workload sim reads it, of traces of all ranks"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, own_rows, struct explain_options, &defaults),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(output, "json csv wide output html"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_explain = {
    .name = "explain",
    .arguments = "FILE|FOLDER...",
    .summary = "which collectives of a job are slow, what they should cost, and who was late",
    .examples = "  ronde explain traces/\n"
                "  ronde explain rank0.json.gz --topo H100-cluster01\n"
                "  ronde explain nccl-inspector-1234/ --json\n"
                "  ronde explain traces/ --step 5 --to workload -o step.workload\n"
                "Files are traces of torch.profiler, NCCL Inspector's logs, and dumps of torch's "
                "flight recorder,\n.gz or not, of one job; the more of its ranks, the better.\n",
    .uses = uses,
    .unpacks = true,
    .max_arguments = RONDE_MAX_ARGUMENTS,
    .run = explain_command,
};
