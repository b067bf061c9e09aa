/* ronde list: what is here, and why something is missing. */
#define _POSIX_C_SOURCE 200809L

#include "cli/draw/gnuplot.h"
#include "cli/draw/screen.h"
#include "cli/options/option_groups.h"
#include "cli/options/topology.h"
#include "commands.h"
#include "styles.h"

#include "ronde/comm.h"
#include "ronde/data_files.h"
#include "ronde/executors.h"
#include "ronde/gpus.h"
#include "ronde/measured.h"
#include "ronde/msccl.h"
#include "ronde/mscclpp.h"
#include "ronde/sim.h"
#include "ronde/traces.h"
#include "ronde/workload.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line of the list. */
struct entry {
    const char *kind;  /* algorithm, topology, backend, component */
    const char *group; /* the collective of an algorithm, else NULL */
    const char *name;
    bool is_available;
    const char *text;
    const char *v_form; /* of an algorithm, else NULL */
};

/* Most ranks for which v-forms are listed: enough for every stage of every algorithm, and no power of two. */
#define LISTED_RANKS 12u

/* One line for people, one object for programs. */
static enum ronde_status print_entry(struct ronde_sink *sink, const struct entry *entry,
                                     struct ronde_error *error)
{
    if (ronde_sink_is_table(sink)) {
        int at = fprintf(sink->file, "  %-24s ", entry->name);
        if (entry->v_form)
            at += fprintf(sink->file, "%-13s ", entry->v_form);
        if (!entry->is_available)
            at += fprintf(sink->file, "MISSING: ");
        ronde_screen_hang(sink->file, sink->width, at > 0 ? (uint32_t)at : 0, entry->text);
        return RONDE_OK;
    }
    const struct ronde_field fields[] = {
        ronde_field_text("kind", entry->kind),
        ronde_field_text("collective", entry->group),
        ronde_field_text("name", entry->name),
        ronde_field_boolean("available", entry->is_available),
        ronde_field_text("text", entry->text),
        ronde_field_text("v_form", entry->v_form),
    };
    return ronde_sink_row(sink, &RONDE_ROW(fields), error);
}

/* The same of what has no collective. */
static enum ronde_status print_item(struct ronde_sink *sink, const char *kind, const char *name,
                                    bool is_here, const char *text, struct ronde_error *error)
{
    const struct entry entry = {kind, NULL, name, is_here, text, NULL};
    return print_entry(sink, &entry, error);
}

static void print_heading(struct ronde_sink *sink, const char *heading)
{
    if (ronde_sink_is_table(sink))
        fprintf(sink->file, "%s\n", heading);
}

static enum ronde_status print_entries(struct ronde_sink *sink, const char *heading,
                                       const struct entry *entries, size_t count,
                                       struct ronde_error *error)
{
    print_heading(sink, heading);
    for (size_t i = 0; i < count; i++)
        RONDE_TRY(print_entry(sink, &entries[i], error));
    return RONDE_OK;
}

/* Known only by proving a schedule. */
static enum ronde_status find_v_form(const struct ronde_algorithm *algorithm,
                                     const char **out_v_form, struct ronde_error *error)
{
    struct ronde_compile_request request = {.collective = algorithm->collective,
                                            .algorithm = algorithm->name,
                                            .ranks = LISTED_RANKS};
    struct ronde_schedule *schedule = NULL;
    while (request.ranks > 1 && algorithm->supports(&request, NULL) != RONDE_OK)
        request.ranks--;
    const enum ronde_status status =
        ronde_compile(&request, ronde_mem_default(), NULL, &schedule, error);
    if (status == RONDE_OK)
        *out_v_form = ronde_v_form_text(schedule->v_form);
    ronde_schedule_destroy(schedule);
    return status;
}

/* A collective without any algorithm is not shown: there is nothing to ask for. */
static enum ronde_status list_collectives(struct ronde_sink *sink, struct ronde_error *error)
{
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    enum ronde_status status = RONDE_OK;

    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const char *name = ronde_collective_text((enum ronde_collective)c);
        for (uint32_t i = 0, shown = 0; status == RONDE_OK && i < total; i++) {
            if (all[i]->collective != (enum ronde_collective)c)
                continue;
            if (shown++ == 0 && ronde_sink_is_table(sink))
                fprintf(sink->file, "%-26s v-form\n", name);
            struct entry entry = {"algorithm", name, all[i]->name, true, all[i]->summary, NULL};
            status = find_v_form(all[i], &entry.v_form, error);
            RONDE_THEN(status, print_entry(sink, &entry, error));
        }
    }
    return status;
}

static int is_platform(const struct dirent *file)
{
    const size_t length = strlen(file->d_name);
    return length > 4 && strcmp(file->d_name + length - 4, ".xml") == 0;
}

/* A shipped file that cannot be read is listed with its error, not left out. */
static enum ronde_status list_topology(struct ronde_sink *sink, const char *folder,
                                       const char *file, struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES], name[256], text[RONDE_ERROR_MESSAGE_BYTES];
    struct ronde_platform *platform = NULL;
    struct ronde_error why = {0};
    bool is_read = true;
    snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - 4), file);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, file) >= sizeof path)
        return ronde_fail(error, RONDE_IO, "%s: path too long", folder);
    if (ronde_platform_read(path, ronde_mem_default(), &platform, &why) == RONDE_OK) {
        const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
        if (facts->description[0] != '\0')
            snprintf(text, sizeof text, "%s", facts->description);
        else
            snprintf(text, sizeof text, "%u hosts", facts->hosts);
    } else {
        /* Without the reader its one line per file would only repeat the component's. */
        is_read = why.status != RONDE_BAD_INPUT;
        snprintf(text, sizeof text, "%s",
                 why.status == RONDE_UNAVAILABLE ? "platform file" : why.message);
    }
    ronde_platform_destroy(platform);
    return print_item(sink, "topology", name, is_read, text, error);
}

/* In alphabetical order, so that two runs print the same. */
static enum ronde_status list_topologies(struct ronde_sink *sink, struct ronde_error *error)
{
    char folder[RONDE_PATH_BYTES];
    struct dirent **files = NULL;
    enum ronde_status status = RONDE_OK;
    if (!ronde_topologies_folder(folder, sizeof folder))
        return RONDE_OK;
    const int count = scandir(folder, &files, is_platform, alphasort);
    if (count > 0)
        print_heading(sink, "topologies");
    for (int i = 0; i < count; i++) {
        RONDE_THEN(status, list_topology(sink, folder, files[i]->d_name, error));
        free(files[i]);
    }
    free(files);
    return status;
}

/* A description of a machine, for --topo and NCCL's model; one that cannot be read is listed with its error. */
static enum ronde_status list_machine(struct ronde_sink *sink, const char *name,
                                      struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES], text[512] = "";
    struct ronde_nccl_machine machine;
    struct ronde_error why = {0};
    ronde_find_nccl_machine(name, path, sizeof path);
    const bool is_read = ronde_nccl_machine_read(path, &machine, &why) == RONDE_OK;
    if (is_read) {
        FILE *file = fmemopen(text, sizeof text, "w");
        if (!file)
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a line");
        ronde_print_nccl_machine(file, &machine);
        fclose(file);
    }
    return print_item(sink, "machine", name, is_read, is_read ? text : why.message, error);
}

static enum ronde_status list_machines(struct ronde_sink *sink, struct ronde_error *error)
{
    struct ronde_shipped_names names;
    ronde_shipped_machines_read(&names);
    if (names.count > 0)
        print_heading(sink, "described machines");
    for (uint32_t i = 0; i < names.count; i++)
        RONDE_TRY(list_machine(sink, names.name[i], error));
    return RONDE_OK;
}

/* One line of the list. What is absent says itself what is missing; a transport knows of the machine only what it is. */
static enum ronde_status list_executor(struct ronde_sink *sink, const char *kind,
                                       const struct ronde_executor *executor,
                                       struct ronde_error *error)
{
    struct ronde_machine machine = {.description = ""};
    struct ronde_error why_not = {0};
    const bool is_here = ronde_executor_probe(executor, &machine, &why_not) == RONDE_OK;
    const bool is_of_processes = executor->ranks == RONDE_RANKS_PROCESSES;
    const char *text = is_of_processes ? executor->summary : machine.description;
    return print_item(sink, kind, executor->name, is_here, is_here ? text : why_not.message, error);
}

/* The rows of the registry whose ranks are processes, or the others. */
static enum ronde_status list_executors(struct ronde_sink *sink, bool are_processes,
                                        struct ronde_error *error)
{
    uint32_t count = 0;
    const struct ronde_executor *all = ronde_executors(&count);
    print_heading(sink, are_processes ? "transports" : "backends");
    for (uint32_t e = 0; e < count; e++)
        if ((all[e].ranks == RONDE_RANKS_PROCESSES) == are_processes)
            RONDE_TRY(list_executor(sink, are_processes ? "transport" : "backend", &all[e], error));
    return RONDE_OK;
}

static enum ronde_status list_backends(struct ronde_sink *sink, struct ronde_error *error)
{
    return list_executors(sink, false, error);
}

static enum ronde_status list_transports(struct ronde_sink *sink, struct ronde_error *error)
{
    return list_executors(sink, true, error);
}

/* A version of CUDA as people write it, or that there is none. */
static void write_cuda(char *text, size_t bytes, uint32_t version)
{
    if (version == 0)
        snprintf(text, bytes, "none");
    else
        snprintf(text, bytes, "%u.%u", version / 1000, version % 1000 / 10);
}

/* What the driver, if there is one, and this build say; both have to be there for the cuda backend. */
static enum ronde_status list_gpus(struct ronde_sink *sink, struct ronde_error *error)
{
    struct ronde_gpu_survey survey;
    struct ronde_error why = {0};
    char text[256], name[32], cuda[16];
    const bool is_here = ronde_gpu_survey(ronde_mem_default(), &survey, &why) == RONDE_OK;
    print_heading(sink, "gpus");
    write_cuda(cuda, sizeof cuda, survey.cuda);
    snprintf(text, sizeof text, "%.79s, for CUDA up to %s", survey.driver, cuda);
    enum ronde_status status =
        print_item(sink, "gpu", "driver", is_here, is_here ? text : why.message, error);
    write_cuda(cuda, sizeof cuda, ronde_gpu_runtime());
    RONDE_THEN(status,
               print_item(sink, "gpu", "runtime", ronde_gpu_runtime() > 0,
                          ronde_gpu_runtime() > 0
                              ? cuda
                              : "built without CUDA (pip install ronde-cuda, or -DRONDE_CUDA=ON)",
                          error));
    for (uint32_t g = 0; g < survey.count && status == RONDE_OK; g++) {
        const struct ronde_gpu_facts *facts = &survey.gpus[g];
        snprintf(name, sizeof name, "gpu %u", g);
        snprintf(text, sizeof text, "%.63s, %.0f GiB, %.31s, %u NVLinks, %u of them into switches",
                 facts->name, (double)facts->memory_bytes / (1u << 30), facts->bus, facts->nvlinks,
                 facts->switch_links);
        status = print_item(sink, "gpu", name, true, text, error);
    }
    return status;
}

/* Whether the network takes what GPUs send from their memory. */
static enum ronde_status list_gpu_direct(struct ronde_sink *sink, struct ronde_error *error)
{
    struct ronde_error why_not = {0};
    const bool is_here = ronde_gpu_direct_probe(&why_not) == RONDE_OK;
    return print_item(sink, "gpu", "gpudirect", is_here,
                      is_here ? "UCX reads and writes memory of GPUs (built, never run)"
                              : why_not.message,
                      error);
}

/* A table that `auto` reads; one that cannot be read is listed with its error, which `auto` would give. */
static enum ronde_status list_table(struct ronde_sink *sink, const char *backend, const char *path,
                                    struct ronde_error *error)
{
    char text[RONDE_PATH_BYTES + 512];
    struct ronde_measured *table = NULL;
    struct ronde_error why = {0};
    const bool is_read = ronde_measured_read(path, ronde_mem_default(), &table, &why) == RONDE_OK;
    if (is_read) {
        const int length = snprintf(text, sizeof text, "%u rows, %s, %s (%s)", table->row_count,
                                    table->machine, table->date, path);
        if (table->unknown_rows > 0)
            snprintf(text + length, sizeof text - (size_t)length,
                     ", %u rows of algorithms that this version lacks", table->unknown_rows);
    } else {
        snprintf(text, sizeof text, "%s", why.message);
    }
    ronde_measured_destroy(table, ronde_mem_default());
    return print_item(sink, "table", backend, is_read, text, error);
}

/* Those of a backend or transport, the one that is asked first first. */
static enum ronde_status list_tables_of(struct ronde_sink *sink, const char *backend,
                                        struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    for (uint32_t place = 0; place < RONDE_MEASURED_PLACES; place++)
        if (ronde_measured_path(place, backend, path, sizeof path) && access(path, F_OK) == 0)
            RONDE_TRY(list_table(sink, backend, path, error));
    return RONDE_OK;
}

/* What `auto` knows of the speed of each backend and transport. */
static enum ronde_status list_tables(struct ronde_sink *sink, struct ronde_error *error)
{
    uint32_t count = 0;
    const struct ronde_executor *all = ronde_executors(&count);
    print_heading(sink, "measured tables (ronde tune makes this machine's)");
    for (uint32_t e = 0; e < count; e++)
        RONDE_TRY(list_tables_of(sink, all[e].name, error));
    return RONDE_OK;
}

/* What is linked in or found on the PATH, and the package that brings what is not. */
static enum ronde_status list_components(struct ronde_sink *sink, struct ronde_error *error)
{
    static const struct {
        const char *name;
        bool (*is_available)(const char **out_text);
    } components[] = {{"simgrid", ronde_sim_simgrid_available},
                      {"libxml2", ronde_topologies_available},
                      {"jansson", ronde_json_available},
                      {"pmix", ronde_pmix_available},
                      {"gnuplot", ronde_plot_available},
                      {"protobuf", ronde_chakra_available},
                      {"zlib", ronde_traces_gzip_available}};

    print_heading(sink, "components");
    for (size_t i = 0; i < sizeof components / sizeof components[0]; i++) {
        const char *text = NULL;
        const bool is_here = components[i].is_available(&text);
        RONDE_TRY(print_item(sink, "component", components[i].name, is_here,
                             text ? text : "built in", error));
    }
    return RONDE_OK;
}

/* Files that stand where a collective could, and what writes them; then those of workloads. */
static enum ronde_status list_formats(struct ronde_sink *sink, struct ronde_error *error)
{
    char text[160];
    const char *library = NULL, *chakra = NULL;
    const bool is_here = ronde_msccl_available(&library);
    const bool has_chakra = ronde_chakra_available(&chakra);
    (void)snprintf(text, sizeof text,
                   is_here ? "MSCCL algorithms: read (%s), written by ronde convert"
                           : "MSCCL algorithms are only written: %s",
                   library);
    char plans[160];
    const bool has_plans = ronde_mscclpp_available(&library);
    (void)snprintf(plans, sizeof plans,
                   has_plans ? "MSCCL++ execution plans: read (%s), written by ronde convert"
                             : "MSCCL++ execution plans are only written: %s",
                   library);
    const struct entry entries[] = {
        {"format", NULL, "ronde", true, "schedules as text: read and written", NULL},
        {"format", NULL, "msccl", is_here, text, NULL},
        {"format", NULL, "mscclpp", has_plans, plans, NULL},
        {"format", NULL, "goal", true,
         "LogGOPSim's GOAL: schedules and workloads are written, workloads read", NULL},
        {"format", NULL, "chakra", has_chakra,
         has_chakra ? "Chakra execution traces: schedules and workloads are written, workloads read"
                    : chakra,
         NULL},
        {"format", NULL, "workload", true, "ronde's own form of workloads: read", NULL},
    };
    return print_entries(sink, "formats of schedules and workloads", entries,
                         sizeof entries / sizeof entries[0], error);
}

/* What NCCL loads, by the name that its variables take. */
static enum ronde_status list_plugins(struct ronde_sink *sink, struct ronde_error *error)
{
    static const struct entry entries[] = {
        {"plugin", NULL, "libnccl-tuner-ronde.so", true,
         "NCCL_TUNER_PLUGIN=ronde: choices by the file that ronde plan --to nccl-tuner writes, "
         "NCCL's "
         "own costs as records",
         NULL},
        {"plugin", NULL, "libnccl-profiler-ronde.so", true,
         "NCCL_PROFILER_PLUGIN=ronde: what NCCL ran as records, for ronde doctor and validate", NULL},
    };
    return print_entries(sink, "plug-ins for NCCL", entries, sizeof entries / sizeof entries[0],
                         error);
}

static enum ronde_status list_command(struct ronde_invocation *call, struct ronde_error *error)
{
    static enum ronde_status (*const parts[])(struct ronde_sink * sink,
                                              struct ronde_error * error) = {
        list_collectives, list_topologies, list_machines,   list_backends,
        list_gpus,        list_gpu_direct, list_transports, list_tables,
        list_formats,     list_plugins,    list_components};

    RONDE_TRY(ronde_sink_open(call->options, &call->sink, error));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        RONDE_TRY(parts[i](&call->sink, error));
    return RONDE_OK;
}

static const struct ronde_option_use uses[] = {
    RONDE_TAKES(output, "json csv wide output"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_list = {
    .name = "list",
    .arguments = "",
    .summary = "what is here: collectives, algorithms, topologies, backends, components",
    .examples = "  ronde list\n  ronde list --json\n",
    .uses = uses,
    .max_arguments = 0,
    .run = list_command,
};
