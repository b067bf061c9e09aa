/* Machines by name, and what is missing of them. See topology.h. */
#include "topology.h"

#include "ronde/data_files.h"
#include "ronde/nccl_node.h"
#include "ronde/scenario.h"
#include "ronde/values.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum ronde_status ronde_parse_fabric(const char *text, enum ronde_fabric *out_fabric,
                                     struct ronde_error *error)
{
    const char *names[RONDE_FABRIC_COUNT];
    uint32_t which = 0;

    for (uint32_t i = 0; i < RONDE_FABRIC_COUNT; i++)
        names[i] = ronde_fabric_name((enum ronde_fabric)i);
    const enum ronde_status status =
        ronde_name_parse("unknown fabric", text, names, RONDE_FABRIC_COUNT, &which, error);
    *out_fabric = (enum ronde_fabric)which;
    return status;
}

static int by_alphabet(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Adds names in a folder that end in suffix, without it, in the order of the alphabet. */
static void add_shipped(const char *folder, const char *suffix, struct ronde_shipped_names *out)
{
    DIR *const directory = opendir(folder);
    const uint32_t first = out->count;
    for (struct dirent *entry;
         directory && out->count < RONDE_SHIPPED_MOST && (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        const size_t length = dot ? (size_t)(dot - entry->d_name) : 0;
        if (length == 0 || length >= RONDE_SHIPPED_NAME_BYTES || strcmp(dot, suffix) != 0)
            continue;
        memcpy(out->name[out->count], entry->d_name, length);
        out->name[out->count++][length] = '\0';
    }
    if (directory)
        (void)closedir(directory);
    qsort(out->name + first, out->count - first, sizeof out->name[0], by_alphabet);
}

static void add_machines(struct ronde_shipped_names *out)
{
    char folder[RONDE_PATH_BYTES];
    const uint32_t first = out->count;
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT && out->count == first; p++)
        if (ronde_data_folder(RONDE_DATA_MACHINES, (enum ronde_data_place)p, folder, sizeof folder))
            add_shipped(folder, ".txt", out);
}

void ronde_shipped_machines_read(struct ronde_shipped_names *out)
{
    out->count = 0;
    add_machines(out);
}

void ronde_shipped_read(struct ronde_shipped_names *out)
{
    char folder[RONDE_PATH_BYTES];
    out->count = 0;
    if (ronde_topologies_folder(folder, sizeof folder))
        add_shipped(folder, ".xml", out);
    add_machines(out);
}

/* The name nearest to a text, or else the first that begins with it; or NULL. */
static const char *nearest_name(const struct ronde_shipped_names *names, const char *text)
{
    const char *pointers[RONDE_SHIPPED_MOST];
    for (uint32_t i = 0; i < names->count; i++)
        pointers[i] = names->name[i];
    const char *nearest = ronde_nearest(text, pointers, names->count);
    for (uint32_t i = 0; !nearest && i < names->count; i++)
        if (text[0] != '\0' && strncmp(names->name[i], text, strlen(text)) == 0)
            nearest = names->name[i];
    return nearest;
}

enum ronde_status ronde_refuse_machine(const char *text, enum ronde_status status,
                                       struct ronde_error *error)
{
    struct ronde_shipped_names names;
    ronde_shipped_read(&names);
    const char *nearest = nearest_name(&names, text);
    return ronde_fail(error, status,
                      "%.200s: neither a file nor a machine that is shipped%s%s%s; `ronde "
                      "list` names these",
                      text, nearest ? "; did you mean " : "", nearest ? nearest : "",
                      nearest ? "?" : "");
}

/* Names that all --without together may have. */
#define MAX_NAMES 1024u

/* Bytes of a file that are looked at for its root element: prologues and comments are shorter. */
#define SNIFFED_BYTES 65536u

/* Behind prologue, comments and declarations: the first element of a text, or NULL. */
static const char *first_element(const char *text)
{
    const char *at = strchr(text, '<');
    while (at && (at[1] == '?' || at[1] == '!')) {
        const bool is_comment = strncmp(at, "<!--", 4) == 0;
        const char *end = strstr(at, is_comment ? "-->" : ">");
        at = end ? strchr(end, '<') : NULL;
    }
    return at ? at + 1 : NULL;
}

/* Whether the root element says that NCCL, RCCL or hwloc wrote a file, each of which describes one node. */
static bool is_dump(const char *path)
{
    static const char *const roots[] = {"system", "topology"};
    char *text = calloc(SNIFFED_BYTES + 1, 1);
    FILE *file = text ? fopen(path, "r") : NULL;
    bool is_one = false;
    if (file) {
        (void)!fread(text, 1, SNIFFED_BYTES, file);
        (void)fclose(file);
        const char *element = first_element(text);
        for (size_t i = 0; element && i < sizeof roots / sizeof roots[0]; i++)
            is_one = is_one || (strncmp(element, roots[i], strlen(roots[i])) == 0 &&
                                strchr(" \t\r\n>", element[strlen(roots[i])]));
    }
    free(text);
    return is_one;
}

/* Of some lines (topologies/published/README.md). What they hold need not be given. */
static enum ronde_status describe(const char *path, const struct ronde_import_request *request,
                                  struct ronde_import **out_import, struct ronde_error *error)
{
    struct ronde_nccl_machine machine;
    struct ronde_nccl_constants constants;
    if (request->nic_GBps > 0 || request->nvlink_GBps > 0 || request->memory_GBps > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: a description has its rates in it: leave out --nic-GBps, "
                          "--nvlink-GBps and --memory-GBps",
                          path);
    RONDE_TRY(ronde_nccl_machine_read(path, &machine, error));
    RONDE_TRY(ronde_nccl_constants_read(NULL, &constants, error));
    const struct ronde_node_description node = ronde_nccl_node_of_machine(&machine, &constants);
    return ronde_import_describe(&node, request, ronde_mem_default(), out_import, error);
}

enum ronde_status ronde_node_open(const struct ronde_import_request *request,
                                  struct ronde_import **out_import, struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    if (request->path) {
        ronde_find_nccl_machine(request->path, path, sizeof path);
        if (ronde_is_nccl_machine(path))
            return describe(path, request, out_import, error);
    }
    return ronde_import_read(request, ronde_mem_default(), out_import, error);
}

/* What --topo and the options beside it say. */
struct topology_request {
    const char *text;   /* what --topo names */
    uint32_t nodes;     /* of what describes one node */
    uint32_t ranks;     /* 0 = not known */
    const char *fabric; /* joins them; NULL = a switch */
};

/* Nodes that so many ranks need: one is opened to see how many each has. */
static enum ronde_status count_nodes(const struct topology_request *request,
                                     struct ronde_import_request *import_request,
                                     struct ronde_error *error)
{
    struct ronde_import *import = NULL;
    import_request->nodes = request->nodes > 0 ? request->nodes : 1;
    if (request->nodes > 0 || request->ranks == 0)
        return RONDE_OK;
    const enum ronde_status status = ronde_node_open(import_request, &import, error);
    const uint32_t each = status == RONDE_OK ? ronde_import_summary(import).hosts : 0;
    if (each > 0)
        import_request->nodes = (request->ranks + each - 1) / each;
    ronde_import_destroy(import);
    return status;
}

static enum ronde_status open_node(const struct topology_request *request,
                                   struct ronde_platform **out_platform, struct ronde_error *error)
{
    struct ronde_import *import = NULL;
    struct ronde_import_request node = {.path = strcmp(request->text, "live") == 0 ? NULL
                                                                                   : request->text};
    enum ronde_status status =
        request->fabric ? ronde_parse_fabric(request->fabric, &node.fabric, error) : RONDE_OK;
    RONDE_THEN(status, count_nodes(request, &node, error));
    RONDE_THEN(status, ronde_node_open(&node, &import, error));
    RONDE_THEN(status, ronde_import_platform(import, request->text, ronde_mem_default(),
                                             out_platform, error));
    ronde_import_destroy(import);
    return status;
}

/* What has its nodes in it takes no others. */
static enum ronde_status refuse_nodes(const struct topology_request *request,
                                      struct ronde_error *error)
{
    return request->nodes == 0 && !request->fabric
               ? RONDE_OK
               : ronde_fail(
                     error, RONDE_BAD_ARGUMENT,
                     "%s: a platform file says itself how many nodes there are and what joins "
                     "them: leave out --nodes and --fabric",
                     request->text);
}

/*
 * Opens a machine: the path of a platform file, of a dump of NCCL or hwloc or of a description (topologies/published/README.md),
 * the name of a shipped one, or `live`. What is not a platform file describes one node; there are `nodes` of them, 0 = as many
 * as so many ranks need, or one. Owner: the caller destroys it. Errors: those of the readers; BAD_ARGUMENT for a name that is
 * not there.
 */
static enum ronde_status open_topology(const struct topology_request *request,
                                       struct ronde_platform **out_platform,
                                       struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES], described[RONDE_PATH_BYTES];
    const char *reason = NULL, *text = request->text;
    *out_platform = NULL;
    ronde_find_topology(text, path, sizeof path);
    ronde_find_nccl_machine(text, described, sizeof described);
    const bool is_there = access(path, F_OK) == 0;
    if ((!is_there && (strcmp(text, "live") == 0 || access(described, F_OK) == 0)) ||
        (is_there && (ronde_is_nccl_machine(path) || is_dump(path))))
        return open_node(request, out_platform, error);
    /* What has a slash is a path, and the system knows best what is wrong with it. */
    if (ronde_topologies_available(&reason) && !strchr(text, '/') && !is_there)
        return ronde_refuse_machine(text, RONDE_BAD_ARGUMENT, error);
    RONDE_TRY(refuse_nodes(request, error));
    return ronde_platform_read(path, ronde_mem_default(), out_platform, error);
}

/* What --degrade says, as the scenario's statements of that name: with nothing in it that is to be freed. */
static enum ronde_status read_degraded(const struct ronde_options *options,
                                       struct ronde_scenario *out, struct ronde_error *error)
{
    *out = (struct ronde_scenario){.degraded_count = 0};
    for (uint32_t i = 0; i < options->machine.degrade.count; i++) {
        struct ronde_error why = {0};
        const enum ronde_status status =
            ronde_scenario_add(out, "degrade", options->machine.degrade.list[i], &why);
        if (status != RONDE_OK)
            return ronde_fail(error, status, "--degrade: %s", why.message);
    }
    return RONDE_OK;
}

bool ronde_degrades_links(const struct ronde_options *options)
{
    struct ronde_scenario scenario;
    struct ronde_error why = {0};
    bool degrades = read_degraded(options, &scenario, &why) != RONDE_OK;
    for (uint32_t i = 0; i < scenario.degraded_count; i++)
        degrades |= scenario.degraded[i].factor != 0;
    return degrades;
}

enum ronde_status ronde_degrade_links(const struct ronde_options *options,
                                      struct ronde_platform *platform, struct ronde_error *error)
{
    struct ronde_scenario scenario;
    RONDE_TRY(read_degraded(options, &scenario, error));
    for (uint32_t i = 0; i < scenario.degraded_count; i++)
        if (scenario.degraded[i].factor != 0)
            RONDE_TRY(ronde_platform_degrade(platform, scenario.degraded[i].link,
                                             scenario.degraded[i].factor, error));
    return RONDE_OK;
}

/* What is out, name by name. */
struct names {
    char *text; /* all of them, which `at` points into */
    const char *at[MAX_NAMES];
    uint32_t count;
};

static enum ronde_status add_names(struct names *names, char *text, struct ronde_error *error)
{
    char *rest = NULL;
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (names->count == MAX_NAMES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "--without: more than %u names", MAX_NAMES);
        names->at[names->count++] = name;
    }
    return RONDE_OK;
}

/* All texts in one, with commas. */
static enum ronde_status collect_names(const struct ronde_options *options, struct names *names,
                                       struct ronde_error *error)
{
    const struct ronde_texts *without = &options->machine.without;
    struct ronde_scenario scenario;
    size_t bytes = 0;
    RONDE_TRY(read_degraded(options, &scenario, error));
    FILE *file = open_memstream(&names->text, &bytes);

    for (uint32_t i = 0; file && i < without->count; i++)
        fprintf(file, "%s,", without->list[i]);
    for (uint32_t i = 0; file && i < scenario.degraded_count; i++)
        if (scenario.degraded[i].factor == 0)
            fprintf(file, "%s,", scenario.degraded[i].link);
    if (!file || fclose(file) != 0)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the names of --without");
    for (uint32_t i = 0; i < without->count; i++)
        if (!without->list[i][0])
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "--without: of what?");
    return add_names(names, names->text, error);
}

/* --nics COUNT: so many of each node are left. */
static enum ronde_status keep_nics(const char *text, struct ronde_platform *platform,
                                   struct ronde_error *error)
{
    char *end = NULL;
    const unsigned long count = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || count > UINT32_MAX || text[0] == '-')
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--nics %s: expected how many NICs of each node are left", text);
    return ronde_platform_keep_nics(platform, (uint32_t)count, error);
}

static enum ronde_status take_out(const struct ronde_options *options,
                                  struct ronde_platform *platform, struct ronde_error *error)
{
    struct names names = {.count = 0};
    enum ronde_status status = collect_names(options, &names, error);
    if (status == RONDE_OK && options->machine.nics)
        status = keep_nics(options->machine.nics, platform, error);
    RONDE_THEN(status, ronde_platform_without(platform, names.at, names.count, error));
    free(names.text);
    return status;
}

static uint32_t most_ranks(const struct ronde_options *options)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < options->what.rank_counts; i++)
        most = options->what.ranks[i] > most ? options->what.ranks[i] : most;
    if (most == 0 && options->what.shape.count == 2)
        most = options->what.shape.radix[0] * options->what.shape.radix[1];
    return most;
}

enum ronde_status ronde_machine_open(const struct ronde_options *options,
                                     struct ronde_platform **out_platform, struct ronde_error *error)
{
    const struct topology_request request = {options->machine.topo, options->machine.nodes,
                                             most_ranks(options), options->machine.fabric};
    enum ronde_status status = open_topology(&request, out_platform, error);
    RONDE_THEN(status, take_out(options, *out_platform, error));
    if (status != RONDE_OK) {
        ronde_platform_destroy(*out_platform);
        *out_platform = NULL;
    }
    return status;
}

enum ronde_status ronde_open_healthy_platform(const struct ronde_options *options,
                                              struct ronde_platform **out_platform,
                                              struct ronde_error *error)
{
    if (!options->machine.topo)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "on which machine? --topo is missing; `ronde list` names the shipped ones");
    return ronde_machine_open(options, out_platform, error);
}

enum ronde_status ronde_open_argument(const struct ronde_options *options, uint32_t argument,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    struct ronde_options as_topo = *options;
    as_topo.machine.topo = options->arguments[argument];
    return ronde_open_platform(&as_topo, out_platform, error);
}

enum ronde_status ronde_open_platform(const struct ronde_options *options,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    RONDE_TRY(ronde_open_healthy_platform(options, out_platform, error));
    return ronde_degrade_links(options, *out_platform, error);
}
