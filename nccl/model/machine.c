/** Descriptions of machines. See nccl_model.h; the format is in topologies/published/README.md. */
#include "words.h"

#include "ronde/data_files.h"
#include "ronde/nccl_model.h"

#include <ctype.h>
#include <stddef.h>
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

static const char *const nic_paths[] = {"switch", "bridge"};
static const char *const processes[] = {"per_gpu", "one", "one_node"};

/** What the value of a line is: a text, a whole number, a number, one of some words, or an operator's words. */
enum kind { TEXT, COUNT, REAL, WORD, SAID };

#define AT(member) offsetof(struct ronde_nccl_machine, member)
#define NAMES(names) .low = 0, .high = sizeof(names) / sizeof(names)[0], .words = (names)

static const struct line {
    const char *key;
    const char *example; /**< where the line cannot be left out everywhere: for who has left it out */
    enum kind kind;
    size_t at; /**< of the value in a machine; 0 = it goes into several */
    double low, high;
    const char *const *words; /**< `high` of them */
} lines[KEY_COUNT] = {
    [NAME] = {"name", "name mine", TEXT},
    [GENERATION] = {"generation", "generation hopper", WORD, AT(generation),
                    NAMES(ronde_nccl_generations)},
    [GPUS] = {"gpus", "gpus 8", COUNT, AT(gpus), 1, 1024},
    [LINK] = {"link", "link switch", WORD, AT(link), NAMES(ronde_nccl_links)},
    [NVLINK_NODES] = {"nvlink_nodes", NULL, COUNT, AT(nvlink_nodes), 1, 1024},
    [NVLINK] = {"nvlink_GBps", "nvlink_GBps 450", REAL, AT(nvlink_GBps), 1, 1e5},
    [PCIE] = {"pcie_GBps", "pcie_GBps 63", REAL, AT(pcie_GBps), 1, 1e5},
    [GPU_PATH] = {"gpu_path", NULL, WORD, AT(gpu_path), NAMES(ronde_nccl_gpu_paths)},
    [CPU] = {"cpu", NULL, WORD, AT(cpu), NAMES(ronde_nccl_cpus)},
    [SOCKETS] = {"sockets", NULL, COUNT, AT(sockets), 1, 1024},
    [NICS] = {"nics", NULL, COUNT, AT(nics), 0, 1024},
    [NIC_RATE] = {"nic_GBps", "nic_GBps 50", REAL, AT(nic_GBps), .01, 1e5},
    [NET_LATENCY] = {"net_latency_us", NULL, REAL, AT(net_latency_us), .01, 1e6},
    [FABRIC] = {"fabric", "fabric infiniband", WORD, AT(fabric), NAMES(ronde_nccl_fabrics)},
    [NIC_PATH] = {"nic_path", NULL, WORD, 0, NAMES(nic_paths)},
    [PROCESSES] = {"processes", NULL, WORD, 0, NAMES(processes)},
    [GPU] = {"gpu", NULL, SAID},
    [INSIDE] = {"inside", NULL, SAID},
    [BETWEEN] = {"between", NULL, SAID},
    [NOTES] = {"notes", NULL, SAID},
};

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

static enum ronde_status take_value(const struct ronde_nccl_words *words, enum key key,
                                    struct ronde_nccl_machine *to, struct ronde_error *error)
{
    const struct line *line = &lines[key];
    void *at = (char *)to + line->at;
    double number = 0;
    uint32_t word = 0;
    if (line->kind == TEXT)
        return take_name(words, to->name, error);
    if (line->kind == WORD)
        RONDE_TRY(ronde_nccl_words_name(words, 1, line->words, (uint32_t)line->high, &word, error));
    else
        RONDE_TRY(ronde_nccl_words_number(words, 1, line->low, line->high, &number, error));
    /* What is refused may not fit into an integer at all. */
    if (line->kind == COUNT && number != (uint32_t)number)
        return ronde_nccl_words_refuse(words, error, "is to be a whole number");
    if (line->kind == COUNT)
        word = (uint32_t)number;
    if (key == NIC_PATH)
        to->behind_bridge = word == 1;
    else if (key == PROCESSES)
        to->is_one_process = word == 1, to->is_one_on_one_node = word == 2;
    else if (line->kind == REAL)
        memcpy(at, &number, sizeof number);
    else
        memcpy(at, &word, sizeof word); /* enumerations have the size of a number */
    return RONDE_OK;
}

static enum ronde_status take(void *self, const struct ronde_nccl_words *words,
                              struct ronde_error *error)
{
    struct reading *reading = self;
    for (unsigned k = 0; k < KEY_COUNT; k++) {
        if (strcmp(words->word[0], lines[k].key) != 0)
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
        snprintf(there + used, sizeof there - used, "%s%s", k > 0 ? ", " : "", lines[k].key);
    }
    return ronde_nccl_words_refuse(words, error,
                                   "no such line of a machine's description: there are %s", there);
}

/** What no line says, from what the words come to. */
static void fill(struct reading *reading, const struct ronde_nccl_machine *from)
{
    struct ronde_nccl_machine *to = reading->to;
    const bool *has = reading->has;
    for (unsigned k = 0; k < KEY_COUNT; k++)
        if (!has[k] && k != GPUS && lines[k].at > 0)
            memcpy((char *)to + lines[k].at, (const char *)from + lines[k].at,
                   lines[k].kind == REAL ? sizeof(double) : sizeof(uint32_t));
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
                             reading->line[at], lines[at].key, why.message,
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
    const bool nvlink = machine->link != RONDE_NODE_PCIE;
    const enum key always[] = {NAME, GENERATION, GPUS, LINK};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (!reading->has[always[i]])
            return always[i];
    if (nvlink && !reading->has[NVLINK])
        return NVLINK;
    if (machine->link >= RONDE_NODE_PAIRS && !reading->has[PCIE])
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
    RONDE_TRY(ronde_nccl_words_read(path, take, &reading, error));
    if (understand(&reading, path, error) != RONDE_OK)
        return RONDE_BAD_INPUT;
    const enum key what = missing(&reading);
    if (what != KEY_COUNT)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: no line says %s, as in \"%s\"", path,
                          lines[what].key, lines[what].example);
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

/** Months from a release to where it is found installed: the median of the published tables that state both version and date. */
enum { LAG_MONTHS = 5 };

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
