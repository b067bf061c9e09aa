/** Descriptions of machines. See nccl_model.h; the format is in topologies/published/README.md. */
#include "words.h"

#include "ronde/data_files.h"
#include "ronde/nccl_model.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/** What a line may say. */
enum key {
    NAME,
    GENERATION,
    GPUS,
    LINK,
    NVLINK_NODES,
    NVLINK,
    PCIE,
    GPU_PATH,
    CPU,
    SOCKETS,
    NICS,
    NIC_RATE,
    NET_LATENCY,
    FABRIC,
    NIC_PATH,
    PROCESSES,
    GPU, /**< from here on in the operator's words */
    INSIDE,
    BETWEEN,
    NOTES,
    KEY_COUNT
};

static const char *const keys[KEY_COUNT] = {
    "name",     "generation", "gpus",    "link",   "nvlink_nodes", "nvlink_GBps",    "pcie_GBps",
    "gpu_path", "cpu",        "sockets", "nics",   "nic_GBps",     "net_latency_us", "fabric",
    "nic_path", "processes",  "gpu",     "inside", "between",      "notes"};

/** A line of each key that cannot be left out everywhere, for who has left it out. */
static const char *const examples[KEY_COUNT] = {
    [NAME] = "name mine",       [GENERATION] = "generation hopper", [GPUS] = "gpus 8",
    [LINK] = "link switch",     [NVLINK] = "nvlink_GBps 450",       [PCIE] = "pcie_GBps 63",
    [NIC_RATE] = "nic_GBps 50", [FABRIC] = "fabric infiniband"};

static const char *const nic_paths[] = {"switch", "bridge"};
static const char *const processes[] = {"per_gpu", "one", "one_node"};

/** Bytes of a line of words, NUL included. */
#define SAID_BYTES 256

/** A description that is read. */
struct reading {
    struct ronde_nccl_machine *to;
    bool has[KEY_COUNT];
    uint32_t line[KEY_COUNT];               /**< where */
    char said[KEY_COUNT - GPU][SAID_BYTES]; /**< by key */
};

/** The words of a line, a blank between. */
static void join(const struct ronde_nccl_words *words, char out[SAID_BYTES])
{
    size_t used = 0;
    for (uint32_t w = 1; w < words->count && used < SAID_BYTES; w++)
        used += (size_t)snprintf(out + used, SAID_BYTES - used, "%s%s", w > 1 ? " " : "",
                                 words->word[w]);
}

static enum ronde_status take_name(const struct ronde_nccl_words *words, char *out,
                                   struct ronde_error *error)
{
    if (strlen(words->word[1]) >= RONDE_NCCL_NAME_BYTES)
        return ronde_nccl_words_refuse(words, error, "longer than %u characters",
                                       RONDE_NCCL_NAME_BYTES - 1);
    memcpy(out, words->word[1], strlen(words->word[1]) + 1);
    return RONDE_OK;
}

static enum ronde_status take_count(const struct ronde_nccl_words *words, uint32_t low,
                                    uint32_t *out, struct ronde_error *error)
{
    double number = 0;
    const enum ronde_status status = ronde_nccl_words_number(words, 1, low, 1024, &number, error);
    if (status != RONDE_OK)
        return status;
    /* What is refused may not fit into an integer at all. */
    if (number != (uint32_t)number)
        return ronde_nccl_words_refuse(words, error, "is to be a whole number");
    *out = (uint32_t)number;
    return RONDE_OK;
}

/** A word of a list. */
static enum ronde_status take_word(const struct ronde_nccl_words *words, enum key key,
                                   struct ronde_nccl_machine *to, struct ronde_error *error)
{
    static const struct {
        const char *const *names;
        uint32_t count;
    } lists[KEY_COUNT] = {
        [GENERATION] = {ronde_nccl_generations, RONDE_NCCL_GENERATION_COUNT},
        [LINK] = {ronde_nccl_links, RONDE_NCCL_LINK_COUNT},
        [GPU_PATH] = {ronde_nccl_gpu_paths, RONDE_NCCL_GPU_PATH_COUNT},
        [CPU] = {ronde_nccl_cpus, RONDE_NCCL_CPU_COUNT},
        [FABRIC] = {ronde_nccl_fabrics, RONDE_NCCL_FABRIC_COUNT},
        [NIC_PATH] = {nic_paths, 2},
        [PROCESSES] = {processes, 3},
    };
    uint32_t at = 0;
    const enum ronde_status status =
        ronde_nccl_words_name(words, 1, lists[key].names, lists[key].count, &at, error);
    if (key == GENERATION)
        to->generation = (enum ronde_nccl_generation)at;
    else if (key == LINK)
        to->link = (enum ronde_nccl_link)at;
    else if (key == GPU_PATH)
        to->gpu_path = (enum ronde_nccl_gpu_path)at;
    else if (key == CPU)
        to->cpu = (enum ronde_nccl_vendor)at;
    else if (key == FABRIC)
        to->fabric = (enum ronde_nccl_fabric)at;
    else if (key == NIC_PATH)
        to->behind_bridge = at == 1;
    else
        to->is_one_process = at == 1, to->is_one_on_one_node = at == 2;
    return status;
}

static enum ronde_status take_value(const struct ronde_nccl_words *words, enum key key,
                                    struct ronde_nccl_machine *to, struct ronde_error *error)
{
    switch (key) {
    case NAME:
        return take_name(words, to->name, error);
    case GPUS:
        return take_count(words, 1, &to->gpus, error);
    case SOCKETS:
        return take_count(words, 1, &to->sockets, error);
    case NVLINK_NODES:
        return take_count(words, 1, &to->nvlink_nodes, error);
    case NICS:
        return take_count(words, 0, &to->nics, error);
    case NVLINK:
        return ronde_nccl_words_number(words, 1, 1, 1e5, &to->nvlink_GBps, error);
    case PCIE:
        return ronde_nccl_words_number(words, 1, 1, 1e5, &to->pcie_GBps, error);
    case NIC_RATE:
        return ronde_nccl_words_number(words, 1, 0.01, 1e5, &to->nic_GBps, error);
    case NET_LATENCY:
        return ronde_nccl_words_number(words, 1, 0.01, 1e6, &to->net_latency_us, error);
    default:
        return take_word(words, key, to, error);
    }
}

static enum ronde_status take(void *self, const struct ronde_nccl_words *words,
                              struct ronde_error *error)
{
    struct reading *reading = self;
    for (unsigned k = 0; k < KEY_COUNT; k++) {
        if (strcmp(words->word[0], keys[k]) != 0)
            continue;
        if (reading->has[k])
            return ronde_nccl_words_refuse(words, error, "is there twice");
        if (words->count < 2 || (words->count != 2 && k < GPU))
            return ronde_nccl_words_refuse(words, error, "is to have one value");
        reading->has[k] = true;
        reading->line[k] = words->line;
        if (k >= GPU) {
            join(words, reading->said[k - GPU]);
            return RONDE_OK;
        }
        return take_value(words, (enum key)k, reading->to, error);
    }
    char there[256] = "";
    for (unsigned k = 0; k < KEY_COUNT; k++) {
        const size_t used = strlen(there);
        snprintf(there + used, sizeof there - used, "%s%s", k > 0 ? ", " : "", keys[k]);
    }
    return ronde_nccl_words_refuse(words, error,
                                   "no such line of a machine's description: there are %s", there);
}

/** What no line says, from what the words come to. */
static void fill(struct reading *reading, const struct ronde_nccl_machine *from)
{
    struct ronde_nccl_machine *to = reading->to;
    const bool *has = reading->has;
    to->generation = has[GENERATION] ? to->generation : from->generation;
    to->link = has[LINK] ? to->link : from->link;
    to->nvlink_nodes = has[NVLINK_NODES] ? to->nvlink_nodes : from->nvlink_nodes;
    to->nvlink_GBps = has[NVLINK] ? to->nvlink_GBps : from->nvlink_GBps;
    to->pcie_GBps = has[PCIE] ? to->pcie_GBps : from->pcie_GBps;
    to->gpu_path = has[GPU_PATH] ? to->gpu_path : from->gpu_path;
    to->cpu = has[CPU] ? to->cpu : from->cpu;
    to->sockets = has[SOCKETS] ? to->sockets : from->sockets;
    to->nics = has[NICS] ? to->nics : from->nics;
    to->nic_GBps = has[NIC_RATE] ? to->nic_GBps : from->nic_GBps;
    to->fabric = has[FABRIC] ? to->fabric : from->fabric;
    to->behind_bridge = has[NIC_PATH] ? to->behind_bridge : from->behind_bridge;
    to->is_one_process = has[PROCESSES] ? to->is_one_process : from->is_one_process;
    to->is_one_on_one_node = has[PROCESSES] && to->is_one_on_one_node;
}

/** "1 GPU" and "1x NVIDIA", but not "11 GPU"; a superchip that is a computer by itself. */
static bool says_one(const char *text)
{
    static const char *const words[] = {"1 GPU",      "1-GPU", "1x ",      "1 x ",
                                        "single GPU", "GB10",  "DGX Spark"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        const char *at = strstr(text, words[w]);
        if (at && (at == text || !isdigit((unsigned char)at[-1])))
            return true;
    }
    return false;
}

/** What lines of words come to, where there are any; lines of values go before them. */
static enum ronde_status understand(struct reading *reading, const char *path,
                                    struct ronde_error *error)
{
    struct ronde_nccl_machine of_words;
    struct ronde_error why = {.status = RONDE_OK};
    const struct ronde_nccl_words_of words = {.gpu = reading->said[GPU - GPU],
                                              .inside = reading->said[INSIDE - GPU],
                                              .between = reading->said[BETWEEN - GPU],
                                              .notes = reading->said[NOTES - GPU],
                                              .gpus = reading->to->gpus};
    if (!reading->has[GPU])
        return RONDE_OK;
    if (ronde_nccl_machine_of_words(&words, &of_words, &why) != RONDE_OK) {
        /* What is not understood is the GPU, without which nothing is, or the network. */
        const enum key at = of_words.gpus == 0 ? GPU : BETWEEN;
        return ronde_fail_at(error, RONDE_BAD_INPUT, reading->line[at], "%s:%u: %s: %s; %s", path,
                             reading->line[at], keys[at], why.message,
                             at == GPU
                                 ? "instead of this line generation, link and others say what it is"
                                 : "instead of this line nics, nic_GBps and fabric say what it is");
    }
    /* One is what is taken where nothing is said. */
    const bool says_gpus = of_words.gpus > 1 || says_one(words.gpu) || says_one(words.inside);
    if (!reading->has[GPUS] && says_gpus)
        reading->to->gpus = of_words.gpus;
    reading->has[GPUS] = reading->has[GPUS] || says_gpus;
    fill(reading, &of_words);
    reading->has[GENERATION] = reading->has[LINK] = true;
    /* Words of one node say nothing of NICs, those of slots nothing of NVLink. */
    reading->has[NVLINK] = reading->to->nvlink_GBps > 0;
    reading->has[PCIE] = reading->to->pcie_GBps > 0;
    reading->has[NIC_RATE] = reading->to->nic_GBps > 0;
    reading->has[FABRIC] = reading->has[FABRIC] || of_words.nics > 0;
    return RONDE_OK;
}

/** What cannot be left out given the rest; KEY_COUNT where nothing is missing. */
static enum key missing(const struct reading *reading)
{
    const struct ronde_nccl_machine *machine = reading->to;
    const bool nvlink = machine->link != RONDE_NCCL_PCIE;
    const enum key always[] = {NAME, GENERATION, GPUS, LINK};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (!reading->has[always[i]])
            return always[i];
    if (nvlink && !reading->has[NVLINK])
        return NVLINK;
    if (machine->link >= RONDE_NCCL_PAIRS && !reading->has[PCIE])
        return PCIE;
    if (machine->nics > 0 && !reading->has[NIC_RATE])
        return NIC_RATE;
    return machine->nics > 0 && !reading->has[FABRIC] ? FABRIC : KEY_COUNT;
}

enum ronde_status ronde_nccl_machine_read(const char *path, struct ronde_nccl_machine *out,
                                          struct ronde_error *error)
{
    struct reading reading = {.to = out};
    *out = (struct ronde_nccl_machine){.sockets = 1};
    const enum ronde_status status = ronde_nccl_words_read(path, take, &reading, error);
    if (status != RONDE_OK)
        return status;
    if (understand(&reading, path, error) != RONDE_OK)
        return RONDE_BAD_INPUT;
    const enum key what = missing(&reading);
    if (what != KEY_COUNT)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: no line says %s, as in \"%s\"", path,
                          keys[what], examples[what]);
    return RONDE_OK;
}

/* Where descriptions of machines are. */

void ronde_find_nccl_machine(const char *text, char *out_path, size_t bytes)
{
    char folder[RONDE_PATH_BYTES];
    snprintf(out_path, bytes, "%s", text);
    if (access(text, R_OK) == 0 || strchr(text, '/'))
        return;
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT; p++) {
        if (!ronde_data_folder(RONDE_DATA_MACHINES, (enum ronde_data_place)p, folder, sizeof folder))
            continue;
        if (snprintf(out_path, bytes, "%s/%s.txt", folder, text) < (int)bytes &&
            access(out_path, R_OK) == 0)
            return;
    }
    snprintf(out_path, bytes, "%s", text);
}

static bool is_platform(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".xml") == 0;
}

bool ronde_is_nccl_machine(const char *path)
{
    char text[256];
    if (is_platform(path))
        return false;
    FILE *file = fopen(path, "r");
    const bool has_line = file && fgets(text, sizeof text, file);
    if (file)
        (void)fclose(file);
    const char *at = has_line ? text + strspn(text, " \t\r\n") : "<";
    return *at == '#' || (*at >= 'a' && *at <= 'z');
}

/* Which NCCL a machine had at a date that is all that is known. */

/** Months from a release to where it is found installed: those of tables that state both version and date. */
enum { LAG_MONTHS = 4 };

/** First releases of minor versions (tags of github.com/NVIDIA/nccl): year, month, 100 major + minor. */
static const struct {
    uint16_t year, month, version;
} releases[] = {{2020, 7, 207}, {2020, 11, 208}, {2021, 4, 209},  {2021, 7, 210}, {2021, 9, 211},
                {2022, 3, 212}, {2022, 6, 213},  {2022, 8, 214},  {2022, 9, 215}, {2022, 12, 216},
                {2023, 3, 217}, {2023, 5, 218},  {2023, 10, 219}, {2024, 2, 220}, {2024, 4, 221},
                {2024, 6, 222}, {2024, 9, 223},  {2024, 12, 224}, {2025, 1, 225}, {2025, 3, 226},
                {2025, 5, 227}, {2025, 9, 228},  {2025, 12, 229}, {2026, 5, 230}};

uint32_t ronde_nccl_version_at(uint32_t year, uint32_t month)
{
    uint32_t version = releases[0].version;
    for (size_t r = 0; r < sizeof releases / sizeof releases[0]; r++)
        if (12u * releases[r].year + releases[r].month + LAG_MONTHS <= 12 * year + month)
            version = releases[r].version;
    return version;
}
